/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#ifndef RI_FILE_H
#define RI_FILE_H

#include <stddef.h>

/**
 * @file
 * Files that a variable of the environment names, one for each process: captures and recordings.
 */

/**
 * Make a new file for this process, with mode 0600. `%p` in the name is the number of the process. A file that exists is
 * kept, and no link is followed: the name then ends with `.` and the number of the process, or a further number.
 * @param name  the pattern
 * @param path  the name of the file
 * @param room  octets of path
 * @return the descriptor; -1, with errno set: there is no such file
 */
int ri_file_new(const char *name, char *path, size_t room);

#endif /* RI_FILE_H */
