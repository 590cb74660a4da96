/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Files in which the kernel shows the version of an interface. */
#ifndef VIB_VERSION_H
#define VIB_VERSION_H

#define VIB_LINE_ROOM 64 /* of a line of such a file */

/* The first line of a file, empty if it has none. Returns 0 or an errno. */
int vib_line_read(const char *path, char line[VIB_LINE_ROOM]);
/* The version in such a line; -1: the line has none. */
long vib_version_of(const char *line);

#endif /* VIB_VERSION_H */
