/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Files that are read and written, and the limits of a served folder. A path in a served folder is
 * walked one component at a time from a descriptor of the folder. Absolute paths, "..", and
 * symbolic links anywhere on the way are refused, so no path leads outside, even if another process
 * renames folders meanwhile. A file that is being written has a temporary name and gets its final
 * name when it is complete and verified.
 */
#ifndef CP_FILE_H
#define CP_FILE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct cp_source {
	int fd;
	uint64_t size;
	mode_t mode;
	struct timespec changed; /* when its content changed last, as the file system says */
};

struct cp_target {
	int folder;
	char *name; /* the final name */
	char *part; /* the temporary name */
	int fd;
	mode_t mode;
};

int cp_folder_open(const char *path, GError **error); /* descriptor, or -1 */

/*
 * Regular files only, whose size is that of their content. Files of the kernel, whose size is 0 while there is something to
 * read, are refused; others (a device, a pipe) are not even opened, since that may have an effect. From a served folder,
 * or (folder -1) by the user's own path.
 */
bool cp_source_open(struct cp_source *source, int folder, const char *path, GError **error);

/* After all was read: is the file what it was when it was opened? The error says how it differs. */
bool cp_source_unchanged(const struct cp_source *source, GError **error);
void cp_source_close(struct cp_source *source);

bool cp_target_open(struct cp_target *target, int folder, const char *path, mode_t mode,
		    GError **error);
void cp_target_set_mode(struct cp_target *target, mode_t mode);  /* the mode that it will have */
bool cp_target_commit(struct cp_target *target, GError **error); /* the file gets its name */
void cp_target_close(struct cp_target *target); /* a file without its final name is removed */

#endif /* CP_FILE_H */
