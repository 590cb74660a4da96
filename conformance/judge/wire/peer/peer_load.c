/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "peer_load.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "peer_stack.h"

/* Entries of a folder of /proc, or -1. */
static int
entries_of(const char *path)
{
	GDir *folder = g_dir_open(path, 0, NULL);
	int count = 0;

	if (folder == NULL)
		return -1;
	while (g_dir_read_name(folder) != NULL)
		count++;
	g_dir_close(folder);
	return count - 1; /* the folder itself is open, too */
}

/* KiB of memory that are in use, or 0. */
static guint64
memory_of_process(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long long all = 0;
	unsigned long long resident = 0;

	if (file == NULL)
		return 0;
	if (fscanf(file, "%llu %llu", &all, &resident) != 2)
		resident = 0;
	fclose(file);
	return resident * (guint64)sysconf(_SC_PAGESIZE) / 1024;
}

gboolean
peer_ask_load(char *const *words, GString *answer, GError **error)
{
	struct timespec used = {0};
	int descriptors = entries_of("/proc/self/fd");

	(void)words;
	if (descriptors < 0)
		return peer_fail(error, "cannot read /proc/self/fd");
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	g_string_append_printf(
		answer, " descriptors=%d memory=%" G_GUINT64_FORMAT " processor=%" G_GUINT64_FORMAT,
		descriptors, memory_of_process(),
		(guint64)used.tv_sec * 1000 + (guint64)used.tv_nsec / 1000000);
	return TRUE;
}
