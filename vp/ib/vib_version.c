/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* See vib_version.h. */
#include "vib_version.h"
#include "ri_fd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
vib_line_read(const char *path, char line[VIB_LINE_ROOM])
{
	FILE *file = ri_fd_open_file(path);

	line[0] = '\0';
	if (file == NULL)
		return errno;
	if (fgets(line, VIB_LINE_ROOM, file) == NULL)
		line[0] = '\0';
	fclose(file);
	line[strcspn(line, "\n")] = '\0';
	return 0;
}

long
vib_version_of(const char *line)
{
	char *end;
	long version = strtol(line, &end, 10);

	return end == line || *end != '\0' || version < 0 ? -1 : version;
}
