/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "vem_runtime.h"

#include <glib/gstdio.h>
#include <sys/stat.h>

char *
vem_runtime_begin(void)
{
	char *runtime = g_dir_make_tmp("itapi-shm-XXXXXX", NULL);

	g_assert_nonnull(runtime);
	g_setenv("XDG_RUNTIME_DIR", runtime, TRUE);
	return runtime;
}

/* A file, or a folder and all in it. The number of sockets. */
static unsigned
sockets_removed(const char *path)
{
	struct stat about;
	unsigned sockets = 0;

	g_assert_cmpint(g_lstat(path, &about), ==, 0);
	if (S_ISSOCK(about.st_mode)) {
		g_test_message("%s was left", path);
		sockets++;
	} else if (S_ISDIR(about.st_mode)) {
		g_autoptr(GDir) folder = g_dir_open(path, 0, NULL);

		g_assert_nonnull(folder);
		for (const char *name; (name = g_dir_read_name(folder)) != NULL;) {
			g_autofree char *inside = g_build_filename(path, name, NULL);

			sockets += sockets_removed(inside);
		}
	}
	g_assert_cmpint(g_remove(path), ==, 0);
	return sockets;
}

bool
vem_runtime_end(char *runtime)
{
	unsigned sockets = sockets_removed(runtime);

	g_free(runtime);
	return sockets == 0;
}
