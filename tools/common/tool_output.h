/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Results that a program gives its caller, on stdout or in a file. Results that are lost make the program fail. This
 * file needs the C library only, so the programs that do without the rest of tools/common use it, too.
 */
#ifndef TOOL_OUTPUT_H
#define TOOL_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * The first call of main(), before any descriptor is opened and any thread is created; further calls do nothing. When
 * the program ends, however it does so through exit(), stdout is closed as tool_output_end() does it. If output was
 * lost, a message on stderr says why, and an exit status of 0 becomes 1. A reader that has closed its pipe is such a
 * loss (EPIPE), and a file that may not become larger (EFBIG), so SIGPIPE and SIGXFSZ no longer end the program; in
 * programs that it starts they do. A standard descriptor that the caller has closed becomes one of /dev/null, so that
 * no file or socket gets its number: printing to stdout then fails (EBADF).
 */
void tool_output_watch(void);

/* Writes what stdout still buffers: 0, or the errno of the first failure so far. Any thread. */
int tool_output_flush(void);

/* Flushes and closes a stream to which results were written: 0, or the errno of the first failure. */
int tool_output_end(FILE *stream);

/*
 * Makes a file of these octets. Returns 0 or an errno. A regular file gets its name when all is written, so there is never a
 * part of it. What is not a regular file (a device, a pipe, /dev/stdout) is written to, and stays what it is.
 */
int tool_output_file(const char *path, const void *octets, size_t len);

#endif /* TOOL_OUTPUT_H */
