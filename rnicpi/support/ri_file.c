/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "ri_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "ri_fd.h"

#define NAMES_TRIED 100

/* Replace %p. False: the name is too long. */
static bool
name_of(const char *pattern, unsigned number, char *path, size_t room)
{
	bool numbered = false;
	size_t at = 0;
	int n;

	for (; *pattern != '\0'; pattern++) {
		if (pattern[0] == '%' && pattern[1] == 'p') {
			n = snprintf(path + at, room - at, "%d", (int)getpid());
			numbered = true;
			pattern++;
		} else {
			n = snprintf(path + at, room - at, "%c", *pattern);
		}
		if (n < 0 || (size_t)n >= room - at)
			return false;
		at += (size_t)n;
	}
	n = 0;
	if (number > 0 && !numbered)
		n = snprintf(path + at, room - at, ".%d", (int)getpid());
	if (n < 0 || (size_t)n >= room - at)
		return false;
	at += (size_t)n;
	n = number > (numbered ? 0u : 1u) ? snprintf(path + at, room - at, ".%u", number + numbered)
					  : 0;
	return n >= 0 && (size_t)n < room - at;
}

int
ri_file_new(const char *name, char *path, size_t room)
{
	for (unsigned tried = 0; tried < NAMES_TRIED; tried++) {
		int fd;

		if (!name_of(name, tried, path, room)) {
			errno = ENAMETOOLONG;
			return -1;
		}
		fd = ri_fd_open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}
