/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ri_log.h"
#include "ri_outlet.h"
#include "tool_print.h"

#define PATIENCE 1000 /* ms at exit, for a slow reader of stderr */

static bool
is_printable(gunichar c, bool utf8)
{
	GUnicodeType type = g_unichar_type(c);

	if (c < 0x80)
		return g_ascii_isprint((gchar)c);
	return utf8 && g_unichar_isprint(c) && type != G_UNICODE_LINE_SEPARATOR &&
	       type != G_UNICODE_PARAGRAPH_SEPARATOR;
}

/* Octets of the character at the head of the text; 1 where none begins. */
static size_t
octets_of(const char *text, gunichar *c)
{
	*c = g_utf8_get_char_validated(text, -1);
	if (*c == (gunichar)-1 || *c == (gunichar)-2)
		return 1;
	return (size_t)(g_utf8_next_char(text) - text);
}

char *
tool_escape(const char *text)
{
	GString *out = g_string_new(NULL);
	bool utf8 = g_get_charset(NULL);

	while (*text != '\0') {
		gunichar c;
		size_t len = octets_of(text, &c);

		if (c == '\\') {
			g_string_append(out, "\\\\");
		} else if (c < (gunichar)-2 && is_printable(c, utf8)) {
			g_string_append_len(out, text, (gssize)len);
		} else {
			for (size_t i = 0; i < len; i++)
				g_string_append_printf(out, "\\x%02x", (guint8)text[i]);
		}
		text += len;
	}
	return g_string_free(out, FALSE);
}

void
tool_size(char *text, size_t room, uint64_t octets)
{
	static const char units[] = " kMGTPE";
	double value = (double)octets;
	size_t unit = 0;

	for (; value >= 999.95 && unit + 2 < sizeof(units); unit++)
		value /= 1000;
	if (unit == 0)
		g_snprintf(text, (gulong)room, "%u B", (unsigned)octets);
	else
		g_snprintf(text, (gulong)room, "%.1f %cB", value, units[unit]);
}

static size_t
tell_lost(uint64_t lost, char *text, size_t room)
{
	return (size_t)g_snprintf(text, (gulong)room,
				  "%s: %" G_GUINT64_FORMAT
				  " texts were lost: stderr did not take them in time\n",
				  g_get_prgname(), lost);
}

static struct ri_outlet outlet = RI_OUTLET(tell_lost);
static bool directed;

static void
finish_texts(void)
{
	(void)ri_outlet_flush(&outlet, PATIENCE);
}

static void
outlet_begin(void)
{
	directed = ri_outlet_direct(&outlet, STDERR_FILENO);
	(void)atexit(finish_texts);
}

void
tool_say(const char *text)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, outlet_begin);
	if (directed)
		ri_outlet_write(&outlet, text, strlen(text), false);
	else
		fputs(text, stderr);
}

void
tool_log_say(int level, const char *who, const char *what)
{
	const char *program = g_get_prgname();
	g_autofree char *subject = tool_escape(who);
	g_autofree char *sentence = tool_escape(what);
	char line[RI_LOG_LINE];

	(void)ri_log_line(line, program != NULL ? program : "itapi", (enum ri_log_level)level,
			  subject, sentence);
	tool_say(line);
}

void
tool_complain(const char *program, const char *message)
{
	g_autofree char *escaped = tool_escape(message);
	g_autofree char *line = g_strdup_printf("%s: %s\n", program, escaped);

	tool_say(line);
}
