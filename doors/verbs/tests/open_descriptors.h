/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* How many descriptors this process has open, to compare with a count before. */
#ifndef OPEN_DESCRIPTORS_H
#define OPEN_DESCRIPTORS_H

#include <glib.h>

static inline unsigned
open_descriptors(void)
{
	GDir *dir = g_dir_open("/proc/self/fd", 0, NULL);
	unsigned count = 0;

	while (g_dir_read_name(dir) != NULL)
		count++;
	g_dir_close(dir);
	return count;
}

#endif /* OPEN_DESCRIPTORS_H */
