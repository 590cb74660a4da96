/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Lines of a recording. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "replay_file.h"
#include "tool_error.h"

#define HEAD    "itapi-record "
#define VERSION "1"

bool
replay_bad(const struct replay_reader *reader, const struct replay_line *line, GError **error,
	   const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list args;

	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	tool_fail(error, TOOL_ERROR_USAGE, "%s:%" G_GUINT64_FORMAT ": %s", reader->path,
		  line != NULL ? line->number + 1 : reader->last + 2, text);
	return false;
}

/* One line without its newline. False with no error: the file has ended. */
static bool
line_read(struct replay_reader *reader, char *text, GError **error)
{
	size_t length;

	memset(text, 0, REPLAY_LINE);
	if (fgets(text, REPLAY_LINE, reader->in) == NULL) {
		if (ferror(reader->in))
			return replay_bad(reader, NULL, error, "%s", g_strerror(errno));
		return false;
	}
	length = strlen(text);
	if (length == 0 || text[length - 1] != '\n')
		return replay_bad(
			reader, NULL, error,
			length + 1 < REPLAY_LINE
				? "the recording is cut: this line has no end, or octets of 0"
				: "the line is longer than any of a recording");
	text[length - 1] = '\0';
	for (size_t i = 0; i + 1 < length; i++)
		if (text[i] < ' ' || text[i] > '~')
			return replay_bad(reader, NULL, error, "this is not text");
	return true;
}

bool
replay_open(struct replay_reader *reader, const char *path, GError **error)
{
	char head[REPLAY_LINE];

	*reader = (struct replay_reader){.path = path, .in = fopen(path, "re")};
	if (reader->in == NULL) {
		tool_fail(error, TOOL_ERROR_USAGE, "%s: %s", path, g_strerror(errno));
		return false;
	}
	if (!line_read(reader, head, error) || !g_str_has_prefix(head, HEAD)) {
		g_clear_error(error);
		tool_fail(error, TOOL_ERROR_USAGE, "%s:1: this is not a recording of itapi", path);
		return false;
	}
	if (strcmp(head + strlen(HEAD), VERSION) != 0) {
		tool_fail(error, TOOL_ERROR_USAGE,
			  "%s:1: the recording has version %.20s, and this program reads " VERSION,
			  path, head + strlen(HEAD));
		return false;
	}
	return true;
}

void
replay_close(struct replay_reader *reader)
{
	if (reader->in != NULL)
		(void)fclose(reader->in);
	reader->in = NULL;
}

bool
replay_next(struct replay_reader *reader, struct replay_line *line, GError **error)
{
	GError *failure = NULL;
	char *rest, *word;

	line->number = reader->last + 1;
	if (!line_read(reader, line->text, &failure)) {
		reader->cut = failure == NULL && !reader->ended;
		if (failure != NULL)
			g_propagate_error(error, failure);
		return false;
	}
	if (reader->ended)
		return replay_bad(reader, line, error, "a line behind the end");
	if (!g_ascii_isdigit(line->text[0]) ||
	    g_ascii_strtoull(line->text, &rest, 10) != line->number || *rest != ' ')
		return replay_bad(reader, line, error,
				  "the line does not begin with %" G_GUINT64_FORMAT
				  ": lines are missing or out of order",
				  line->number);
	g_strlcpy(line->whole, rest + 1, sizeof(line->whole));
	line->count = 0;
	while ((word = strsep(&rest, " ")) != NULL) {
		if (*word == '\0')
			continue;
		if (line->count == REPLAY_WORDS)
			return replay_bad(reader, line, error, "the line has too many words");
		line->words[line->count++] = word;
	}
	if (line->count == 0)
		return replay_bad(reader, line, error, "the line is empty");
	reader->last++;
	reader->ended = strcmp(line->words[0], "end") == 0 && line->count == 1;
	return true;
}

/* --- words ----------------------------------------------------------------------------------------- */

const char *
replay_field(const struct replay_line *line, const char *name)
{
	size_t length = strlen(name);

	for (unsigned i = 1; i < line->count; i++)
		if (strncmp(line->words[i], name, length) == 0 && line->words[i][length] == '=')
			return line->words[i] + length + 1;
	return NULL;
}

bool
replay_number(const struct replay_reader *reader, const struct replay_line *line, const char *name,
	      uint64_t most, uint64_t *number, GError **error)
{
	const char *text = replay_field(line, name);
	char *end = NULL;

	if (text == NULL || !g_ascii_isdigit(*text))
		return replay_bad(reader, line, error, "there is no number %s=", name);
	errno = 0;
	*number = g_ascii_strtoull(text, &end, 0);
	if (errno != 0 || *end != '\0' || *number > most)
		return replay_bad(reader, line, error,
				  "%s=%s is not a number up to %" G_GUINT64_FORMAT, name, text,
				  most);
	return true;
}

bool
replay_object(const struct replay_reader *reader, const struct replay_line *line, unsigned word,
	      char letter, uint32_t *number, GError **error)
{
	const char *text = word < line->count ? line->words[word] : "";
	char *end = NULL;
	uint64_t value;

	if (text[0] != letter || !g_ascii_isdigit(text[1]))
		return replay_bad(reader, line, error, "word %u is not an object %c1, %c2, ...",
				  word + 1, letter, letter);
	value = g_ascii_strtoull(text + 1, &end, 10);
	if (*end != '\0' || value > REPLAY_OBJECTS)
		return replay_bad(reader, line, error, "%s is not an object, or one too many",
				  text);
	*number = (uint32_t)value;
	return true;
}

bool
replay_operation_read(const char *text, struct replay_operation *operation)
{
	char *end = NULL;
	uint64_t value;

	if ((text[0] != 'q' && text[0] != 's') || !g_ascii_isdigit(text[1]))
		return false;
	operation->letter = text[0];
	value = g_ascii_strtoull(text + 1, &end, 10);
	if (value > REPLAY_OBJECTS || end[0] != '.' || (end[1] != 's' && end[1] != 'r') ||
	    !g_ascii_isdigit(end[2]) || (text[0] == 's' && end[1] == 's'))
		return false;
	operation->object = (uint32_t)value;
	operation->queue = end[1];
	operation->number = g_ascii_strtoull(end + 2, &end, 10);
	return *end == '\0';
}

bool
replay_operation(const struct replay_reader *reader, const struct replay_line *line,
		 struct replay_operation *operation, GError **error)
{
	const char *text = line->count > 1 ? line->words[1] : "";

	return replay_operation_read(text, operation) ||
	       replay_bad(reader, line, error, "'%.40s' is not an operation such as q1.s1", text);
}

bool
replay_succeeded(const struct replay_line *line)
{
	return strcmp(line->words[line->count - 1], "ok") == 0;
}
