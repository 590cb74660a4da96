/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Two reports in JSON: what has become worse, where the profiles differ, and how the figures compare. */

#include "certify_model.h"

#include <stdio.h>
#include <string.h>

/* A figure that has become worse or better by less is noise. */
#define FIGURE_NOISE 0.10

/* The element of an array whose member @name has this text; NULL: no element has it. */
static JsonObject *
element_of(JsonObject *report, const char *array, const char *name, const char *text)
{
	for (guint i = 0; i < model_length(report, array); i++) {
		JsonObject *one = model_element(report, array, i);

		if (one != NULL && model_is(one, name, text))
			return one;
	}
	return NULL;
}

/* Outcomes that differ. Counts the cases that passed before and do not pass now. */
static unsigned
cases_compare(JsonObject *before, JsonObject *after)
{
	unsigned regressions = 0;

	for (guint i = 0; i < model_length(before, "cases"); i++) {
		JsonObject *old = model_element(before, "cases", i);
		JsonObject *new = element_of(after, "cases", "id", model_text(old, "id"));
		const char *was = model_text(old, "outcome");
		const char *is = new != NULL ? model_text(new, "outcome") : "missing";
		bool worse = strcmp(is, "failed") == 0 || strcmp(was, "passed") == 0;

		if (strcmp(was, is) == 0)
			continue;
		regressions += worse;
		printf("%-11s %s: %s -> %s%s%s\n", worse ? "regression" : "difference",
		       model_text(old, "id"), was, is, new != NULL &&worse ? ": " : "",
		       new != NULL &&worse ? model_text(new, "seen") : "");
	}
	for (guint i = 0; i < model_length(after, "cases"); i++) {
		JsonObject *new = model_element(after, "cases", i);
		bool failed = strcmp(model_text(new, "outcome"), "failed") == 0;

		if (element_of(before, "cases", "id", model_text(new, "id")) != NULL)
			continue;
		regressions += failed;
		printf("%-11s %s: new, %s\n", failed ? "regression" : "difference",
		       model_text(new, "id"), model_text(new, "outcome"));
	}
	return regressions;
}

/* What the adapters say of themselves, and whether it is true. */
static unsigned
claims_compare(JsonObject *before, JsonObject *after)
{
	unsigned regressions = 0;

	for (guint i = 0; i < model_length(before, "claims"); i++) {
		JsonObject *old = model_element(before, "claims", i);
		const char *name = model_text(old, "attribute");
		JsonObject *new = element_of(after, "claims", "attribute", name);

		if (new == NULL) {
			printf("semantics   %s: is no attribute any more\n", name);
			continue;
		}
		if (strcmp(model_text(old, "value"), model_text(new, "value")) != 0)
			printf("semantics   %s: %s -> %s\n", name, model_text(old, "value"),
			       model_text(new, "value"));
		if (strcmp(model_text(new, "truth"), "refuted") == 0 &&
		    strcmp(model_text(old, "truth"), "refuted") != 0) {
			printf("regression  %s: refuted by %s\n", name, model_text(new, "by"));
			regressions++;
		}
	}
	return regressions;
}

static void
figures_compare(JsonObject *before, JsonObject *after)
{
	for (guint i = 0; i < model_length(before, "figures"); i++) {
		JsonObject *old = model_element(before, "figures", i);

		for (guint k = 0; k < model_length(after, "figures"); k++) {
			JsonObject *new = model_element(after, "figures", k);
			double x = model_number(old, "x");
			double was = model_number(old, "y"), is = model_number(new, "y");
			double part = was > 0 ? is / was - 1 : 0;

			if (strcmp(model_text(old, "curve"), model_text(new, "curve")) != 0 ||
			    x < model_number(new, "x") || x > model_number(new, "x") ||
			    (part < FIGURE_NOISE && part > -FIGURE_NOISE))
				continue;
			printf("figure      %s at %.0f: %.4g -> %.4g %s (%+.0f %%)\n",
			       model_text(old, "curve"), x, was, is, model_text(old, "unit"),
			       part * 100);
		}
	}
}

int
certify_compare(const char *before, const char *after)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(JsonNode) was = certify_model_read(before, &error);
	g_autoptr(JsonNode) is = was != NULL ? certify_model_read(after, &error) : NULL;
	unsigned regressions;

	if (is == NULL) {
		fprintf(stderr, "it-certify: %s\n", error->message);
		return 2;
	}
	regressions = cases_compare(json_node_get_object(was), json_node_get_object(is)) +
		      claims_compare(json_node_get_object(was), json_node_get_object(is));
	figures_compare(json_node_get_object(was), json_node_get_object(is));
	printf("%u regressions\n", regressions);
	return regressions > 0 ? 1 : 0;
}
