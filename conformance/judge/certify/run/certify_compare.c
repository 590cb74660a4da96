/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Two reports in JSON: what has become worse, where the profiles differ, and how the figures compare. */

#include <stdio.h>
#include <string.h>

#include <json-glib/json-glib.h>

#include "certify_run.h"

/* A figure that has become worse or better by less is noise. */
#define FIGURE_NOISE 0.10

static const char *
text_of(JsonObject *object, const char *name)
{
	return json_object_get_string_member_with_default(object, name, "");
}

/* The element of an array whose member @name has this text; NULL: there is none. */
static JsonObject *
element_of(JsonObject *report, const char *array, const char *name, const char *text)
{
	JsonArray *all = json_object_has_member(report, array)
				 ? json_object_get_array_member(report, array)
				 : NULL;

	for (guint i = 0; all != NULL && i < json_array_get_length(all); i++) {
		JsonObject *one = json_array_get_object_element(all, i);

		if (one != NULL && strcmp(text_of(one, name), text) == 0)
			return one;
	}
	return NULL;
}

static guint
length_of(JsonObject *report, const char *array)
{
	return json_object_has_member(report, array)
		       ? json_array_get_length(json_object_get_array_member(report, array))
		       : 0;
}

static JsonObject *
nth_of(JsonObject *report, const char *array, guint i)
{
	return json_array_get_object_element(json_object_get_array_member(report, array), i);
}

/* Outcomes that differ. Counts the cases that passed before and do not pass now. */
static unsigned
cases_compare(JsonObject *before, JsonObject *after)
{
	unsigned regressions = 0;

	for (guint i = 0; i < length_of(before, "cases"); i++) {
		JsonObject *old = nth_of(before, "cases", i);
		JsonObject *new = element_of(after, "cases", "id", text_of(old, "id"));
		const char *was = text_of(old, "outcome");
		const char *is = new != NULL ? text_of(new, "outcome") : "missing";
		bool worse = strcmp(is, "failed") == 0 || strcmp(was, "passed") == 0;

		if (strcmp(was, is) == 0)
			continue;
		regressions += worse;
		printf("%-11s %s: %s -> %s%s%s\n", worse ? "regression" : "difference",
		       text_of(old, "id"), was, is, new != NULL &&worse ? ": " : "",
		       new != NULL &&worse ? text_of(new, "seen") : "");
	}
	for (guint i = 0; i < length_of(after, "cases"); i++) {
		JsonObject *new = nth_of(after, "cases", i);
		bool failed = strcmp(text_of(new, "outcome"), "failed") == 0;

		if (element_of(before, "cases", "id", text_of(new, "id")) != NULL)
			continue;
		regressions += failed;
		printf("%-11s %s: new, %s\n", failed ? "regression" : "difference",
		       text_of(new, "id"), text_of(new, "outcome"));
	}
	return regressions;
}

/* What the adapters say of themselves, and whether it is true. */
static unsigned
claims_compare(JsonObject *before, JsonObject *after)
{
	unsigned regressions = 0;

	for (guint i = 0; i < length_of(before, "claims"); i++) {
		JsonObject *old = nth_of(before, "claims", i);
		const char *name = text_of(old, "attribute");
		JsonObject *new = element_of(after, "claims", "attribute", name);

		if (new == NULL) {
			printf("semantics   %s: is no attribute any more\n", name);
			continue;
		}
		if (strcmp(text_of(old, "value"), text_of(new, "value")) != 0)
			printf("semantics   %s: %s -> %s\n", name, text_of(old, "value"),
			       text_of(new, "value"));
		if (strcmp(text_of(new, "truth"), "refuted") == 0 &&
		    strcmp(text_of(old, "truth"), "refuted") != 0) {
			printf("regression  %s: refuted by %s\n", name, text_of(new, "by"));
			regressions++;
		}
	}
	return regressions;
}

static void
figures_compare(JsonObject *before, JsonObject *after)
{
	for (guint i = 0; i < length_of(before, "figures"); i++) {
		JsonObject *old = nth_of(before, "figures", i);

		for (guint k = 0; k < length_of(after, "figures"); k++) {
			JsonObject *new = nth_of(after, "figures", k);
			double x = json_object_get_double_member_with_default(old, "x", 0);
			double was = json_object_get_double_member_with_default(old, "y", 0);
			double is = json_object_get_double_member_with_default(new, "y", 0);
			double part = was > 0 ? is / was - 1 : 0;

			if (strcmp(text_of(old, "curve"), text_of(new, "curve")) != 0 ||
			    x < json_object_get_double_member_with_default(new, "x", -1) ||
			    x > json_object_get_double_member_with_default(new, "x", -1) ||
			    (part < FIGURE_NOISE && part > -FIGURE_NOISE))
				continue;
			printf("figure      %s at %.0f: %.4g -> %.4g %s (%+.0f %%)\n",
			       text_of(old, "curve"), x, was, is, text_of(old, "unit"), part * 100);
		}
	}
}

int
certify_compare(const char *before, const char *after)
{
	g_autoptr(JsonParser) old_parser = json_parser_new(), new_parser = json_parser_new();
	g_autoptr(GError) error = NULL;
	JsonObject *old = certify_json_read(old_parser, before, &error);
	JsonObject *new = old != NULL ? certify_json_read(new_parser, after, &error) : NULL;
	unsigned regressions;

	if (new == NULL) {
		fprintf(stderr, "it-certify: %s\n", error->message);
		return 2;
	}
	regressions = cases_compare(old, new) + claims_compare(old, new);
	figures_compare(old, new);
	printf("%u regressions\n", regressions);
	return regressions > 0 ? 1 : 0;
}
