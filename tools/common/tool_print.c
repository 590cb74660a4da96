/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <stdbool.h>
#include <stdio.h>

#include "tool_print.h"

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

void
tool_complain(const char *program, const char *message)
{
	g_autofree char *escaped = tool_escape(message);

	fprintf(stderr, "%s: %s\n", program, escaped);
}
