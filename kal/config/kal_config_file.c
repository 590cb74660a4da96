/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The whole file is read into one buffer and parsed in place, so that there is only one allocation
 * that can fail.
 */
#include "kal_config_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ri_errno.h"
#include "ri_fd.h"

#define FILE_MAX 65536 /* octets; far more than any configuration needs */

const char kal_config_no_memory[] = "no memory";

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Without the blanks at both ends. */
static char *
strip_blanks(char *text)
{
	size_t length = strlen(text);

	while (length > 0 && is_blank(text[length - 1]))
		text[--length] = '\0';
	while (is_blank(*text))
		text++;
	return text;
}

/* In place. NULL, or what is wrong. */
static const char *
unescape_value(char *text)
{
	static const char names[] = "sntr\\";
	static const char means[] = " \n\t\r\\";
	char *out = text;

	for (; *text != '\0'; text++) {
		if (*text == '\\') {
			const char *name = text[1] != '\0' ? strchr(names, text[1]) : NULL;

			if (name == NULL)
				return "a backslash is followed by none of s, n, t, r and \\";
			*out++ = means[name - names];
			text++;
		} else {
			*out++ = *text;
		}
	}
	*out = '\0';
	return NULL;
}

/* A line that is no comment, without its end and without blanks around it. NULL, or what is wrong. */
static const char *
take_apart(char *text, struct kal_config_line *line)
{
	size_t length = strlen(text);
	char *equals = strchr(text, '=');
	char *value;

	line->key = NULL;
	line->value = NULL;
	if (text[0] == '[') {
		if (length < 3 || text[length - 1] != ']' || strcspn(text + 1, "[]") != length - 2)
			return "this is no [group]";
		text[length - 1] = '\0';
		line->group = text + 1;
		return NULL;
	}
	if (equals == NULL || equals == text)
		return "this is neither a [group] nor \"key = value\"";
	if (line->group == NULL)
		return "a key is before the first [group]";
	*equals = '\0';
	line->key = strip_blanks(text);
	value = strip_blanks(equals + 1);
	line->value = value;
	return unescape_value(value);
}

static void
explain_line(struct kal_why *why, const char *path, const struct kal_config_line *line,
	     const char *what)
{
	if (why == NULL)
		return;
	if (line->number == 0)
		(void)snprintf(why->text, sizeof(why->text), "%s: %s", path, what);
	else
		(void)snprintf(why->text, sizeof(why->text), "%s:%u: %s%s%s%s%s%s", path,
			       line->number, line->group != NULL ? "[" : "",
			       line->group != NULL ? line->group : "",
			       line->group != NULL ? "] " : "", line->key != NULL ? line->key : "",
			       line->key != NULL ? ": " : "", what);
}

/* The whole file, with a zero behind it. NULL: errno says why. */
static char *
read_all(const char *path, size_t *length)
{
	/* A FIFO that no process writes is an empty file: to open it does not wait, and then there is nothing to read. */
	int fd = ri_fd_open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK, 0);
	char *text = fd >= 0 ? calloc(1, FILE_MAX + 1) : NULL;
	ssize_t n = 1;
	int error = errno;

	*length = 0;
	if (fd >= 0)
		(void)fcntl(fd, F_SETFL, 0);
	while (text != NULL && n > 0 && *length <= FILE_MAX) {
		n = read(fd, text + *length, FILE_MAX + 1 - *length);
		error = n < 0 ? errno : *length > FILE_MAX ? EFBIG : 0;
		*length += n > 0 ? (size_t)n : 0;
	}
	if (text != NULL && (n < 0 || *length > FILE_MAX)) {
		error = n < 0 ? error : EFBIG;
		free(text);
		text = NULL;
	}
	if (fd >= 0)
		close(fd);
	errno = error;
	return text;
}

/* All lines. NULL, or what is wrong with `line`. */
static const char *
each_line(char *text, const char *(*set)(void *arg, const struct kal_config_line *line), void *arg,
	  struct kal_config_line *line)
{
	const char *what = NULL;

	while (what == NULL && text != NULL) {
		char *next = strchr(text, '\n');

		if (next != NULL)
			*next++ = '\0';
		line->number++;
		text = strip_blanks(text);
		if (*text != '\0' && *text != '#') {
			what = take_apart(text, line);
			if (what == NULL)
				what = set(arg, line);
		}
		text = next;
	}
	return what;
}

enum ri_status
kal_config_read(const char *path, const char *(*set)(void *arg, const struct kal_config_line *line),
		void *arg, struct kal_why *why)
{
	struct kal_config_line line = {0};
	const char *what;
	size_t length;
	char *text = read_all(path, &length);

	if (text == NULL) {
		int error = errno;

		explain_line(why, path, &line, ri_errno_text(error));
		return ri_errno_is_short(error) ? RI_ERR_RESOURCES : RI_ERR_INVALID_ARG;
	}
	what = strlen(text) != length ? "it has an octet that is zero"
				      : each_line(text, set, arg, &line);
	if (what != NULL)
		explain_line(why, path, &line, what);
	free(text);
	if (what == NULL)
		return RI_SUCCESS;
	return what == kal_config_no_memory ? RI_ERR_RESOURCES : RI_ERR_INVALID_ARG;
}
