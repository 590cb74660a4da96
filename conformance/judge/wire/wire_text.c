/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Words, numbers and octets of the scripts. */

#include "wire_script.h"

#include <string.h>

G_DEFINE_QUARK(wire_error, wire_error)

gboolean
wire_fail(GError **error, enum wire_error code, const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list args;

	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	g_set_error_literal(error, WIRE_ERROR, (gint)code, text);
	return FALSE;
}

const char *
wire_word_value(char *const *words, const char *key)
{
	gsize len = strlen(key);

	for (; *words != NULL; words++) {
		if (strncmp(*words, key, len) == 0 && (*words)[len] == '=')
			return *words + len + 1;
	}
	return NULL;
}

gboolean
wire_word_is_there(char *const *words, const char *word)
{
	return g_strv_contains((const char *const *)words, word);
}

/* One term of a sum. */
static gboolean
term_read(const char *term, GHashTable *names, guint64 *value, GError **error)
{
	const guint64 *known = names != NULL ? g_hash_table_lookup(names, term) : NULL;
	char *end = NULL;

	if (known != NULL) {
		*value = *known;
		return TRUE;
	}
	if (!g_ascii_isdigit(*term))
		return wire_fail(error, WIRE_ERROR_SCRIPT, "'%s' is neither a number nor a name",
				 term);
	*value = g_ascii_strtoull(term, &end, g_str_has_prefix(term, "0x") ? 16 : 10);
	if (*end != '\0')
		return wire_fail(error, WIRE_ERROR_SCRIPT, "'%s' is not a number", term);
	return TRUE;
}

gboolean
wire_number(const char *text, GHashTable *names, guint64 *value, GError **error)
{
	gboolean minus = FALSE;

	*value = 0;
	for (;;) {
		gsize len = strcspn(text, "+-");
		g_autofree char *term = g_strndup(text, len);
		guint64 one = 0;

		/* A name may have a minus inside: take the longest that is known. */
		while (text[len] == '-' && !g_ascii_isdigit(*text)) {
			gsize more = len + 1 + strcspn(text + len + 1, "+-");
			g_autofree char *longer = g_strndup(text, more);

			if (names == NULL || g_hash_table_lookup(names, longer) == NULL)
				break;
			g_free(term);
			term = g_steal_pointer(&longer);
			len = more;
		}
		if (!term_read(term, names, &one, error))
			return FALSE;
		*value = minus ? *value - one : *value + one;
		if (text[len] == '\0')
			return TRUE;
		minus = text[len] == '-';
		text += len + 1;
	}
}

GByteArray *
wire_octets(const char *text, GError **error)
{
	g_autoptr(GByteArray) octets = g_byte_array_new();

	for (; *text != '\0'; text += 2) {
		int high = g_ascii_xdigit_value(text[0]);
		int low = high < 0 ? -1 : g_ascii_xdigit_value(text[1]);
		guint8 octet = (guint8)(high << 4 | low);

		if (low < 0) {
			wire_fail(error, WIRE_ERROR_SCRIPT, "'%s' is not hexadecimal", text);
			return NULL;
		}
		g_byte_array_append(octets, &octet, 1);
	}
	return g_steal_pointer(&octets);
}
