/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The assertion of GLib that ended a test program, from what the program printed last. */

#include <string.h>

#include "certify_programs.h"

/*
 * Matches "ERROR:FILE:LINE:FUNCTION: assertion failed (A == B): (1 == 2)", and the forms with other
 * sentences, such as "'A' should be TRUE". The groups are the place, the expression, its values,
 * and the sentence of the other forms.
 */
#define ASSERTION \
	"ERROR:([^:\n]*:[0-9]+:[^:\n]*): (?:assertion failed \\((.*?)\\)(?:: \\((.*)\\))?|(.*))$"

static char *
group(const GMatchInfo *match, int number)
{
	char *text = g_match_info_fetch(match, number);

	return text != NULL && *text != '\0' ? text : (g_free(text), NULL);
}

bool
certify_assertion_read(const char *output, struct certify_assertion *found)
{
	g_autoptr(GRegex) regex = g_regex_new(ASSERTION, G_REGEX_MULTILINE, 0, NULL);
	g_autoptr(GMatchInfo) match = NULL;
	bool some = false;

	*found = (struct certify_assertion){0};
	g_regex_match(regex, output, 0, &match);
	/* Each is printed twice; the last one ended the program. */
	for (; g_match_info_matches(match); g_match_info_next(match, NULL)) {
		certify_assertion_clear(found);
		found->where = group(match, 1);
		found->what = group(match, 2);
		found->seen = group(match, 3);
		if (found->what == NULL)
			found->what = group(match, 4);
		some = found->where != NULL && found->what != NULL;
	}
	return some;
}

void
certify_assertion_clear(struct certify_assertion *found)
{
	g_free(found->where);
	g_free(found->what);
	g_free(found->seen);
	*found = (struct certify_assertion){0};
}
