/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Text of foreign origin on the terminal: from a peer, a file name, an adapter's name, a message that quotes one of
 * them. Such text may hold octets that control a terminal, or a line that looks like one of ours. All such text
 * passes tool_escape() before it is printed.
 */
#ifndef TOOL_PRINT_H
#define TOOL_PRINT_H

#include <glib.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The text with a backslash and "xNN" in place of every octet that is not part of a printable
 * character (control characters of both sets, line ends, marks that turn the writing direction,
 * octets that are not UTF-8, and all beyond ASCII if the locale is not UTF-8), and a backslash
 * doubled; so two texts never look alike. g_free() it.
 */
char *tool_escape(const char *text);

/* Octets for people: "999 B", "1.5 kB", "12.3 MB", ... in powers of 1000. */
#define TOOL_SIZE_TEXT 16
void tool_size(char *text, size_t room, uint64_t octets);

/*
 * A text to stderr, as it is. Any thread; never blocks: what stderr does not take waits, and is lost if it is too much.
 * At the end of the program it waits for a second.
 */
void tool_say(const char *text);
/* A line of the log, in the form of the library's (ri_log.h); level as of itx_log_writer_t. */
void tool_log_say(int level, const char *who, const char *what);
/* "program: message" on stderr, the message escaped. As tool_say(). */
void tool_complain(const char *program, const char *message);

#endif /* TOOL_PRINT_H */
