/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* A report that was written as JSON, read back: what certify_json.c writes. */

#include <stdio.h>
#include <string.h>

#include <json-glib/json-glib.h>

#include "certify_run.h"

static const char *
text_of(JsonObject *object, const char *name)
{
	return json_object_get_string_member_with_default(object, name, "");
}

/* NULL without the member. */
static char *
text_copy(JsonObject *object, const char *name)
{
	return g_strdup(json_object_get_string_member_with_default(object, name, NULL));
}

static double
number_of(JsonObject *object, const char *name)
{
	return json_object_get_double_member_with_default(object, name, 0);
}

JsonObject *
certify_json_read(JsonParser *parser, const char *path, GError **error)
{
	JsonNode *root;

	if (!json_parser_load_from_file(parser, path, error))
		return NULL;
	root = json_parser_get_root(parser);
	if (root == NULL || !JSON_NODE_HOLDS_OBJECT(root) ||
	    strcmp(text_of(json_node_get_object(root), "tool"), "it-certify") != 0 ||
	    json_object_get_int_member_with_default(json_node_get_object(root), "schema", 0) !=
		    CERTIFY_SCHEMA) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
			    "%s is no report of it-certify with schema %d", path, CERTIFY_SCHEMA);
		return NULL;
	}
	return json_node_get_object(root);
}

static enum certify_outcome
outcome_of(const char *name)
{
	for (unsigned i = 0; i < CERTIFY_OUTCOMES; i++) {
		if (strcmp(certify_outcome_name((enum certify_outcome)i), name) == 0)
			return (enum certify_outcome)i;
	}
	return CERTIFY_PENDING;
}

static enum certify_truth
truth_of(const char *name)
{
	for (unsigned i = 0; i < CERTIFY_TRUTHS; i++) {
		if (strcmp(certify_truth_name((enum certify_truth)i), name) == 0)
			return (enum certify_truth)i;
	}
	return CERTIFY_UNTESTED;
}

/* The command that repeats a case is "COMMAND --seed N --case ID". */
static void
again_read(struct certify_report *report, struct certify_case *one, const char *again)
{
	const char *end = g_strrstr(again, " --case ");
	const char *seed = end != NULL ? g_strrstr_len(again, end - again, " --seed ") : NULL;

	if (seed == NULL)
		return;
	one->seed = g_ascii_strtoull(seed + strlen(" --seed "), NULL, 10);
	g_free(report->again);
	report->again = g_strndup(again, (gsize)(seed - again));
}

static void
case_read(JsonArray *array, guint at, JsonNode *node, gpointer to)
{
	JsonObject *object = json_node_get_object(node);
	struct certify_report *report = to;
	enum certify_level level = certify_level_of(text_of(object, "level"));
	struct certify_case *one;

	(void)array;
	(void)at;
	if (level == CERTIFY_LEVELS)
		return;
	one = certify_case_add(report, text_of(object, "id"), level);
	one->title = text_copy(object, "title");
	one->rule = text_copy(object, "rule");
	one->settles = text_copy(object, "settles");
	one->outcome = outcome_of(text_of(object, "outcome"));
	one->reason = text_copy(object, "reason");
	one->where = text_copy(object, "where");
	one->what = text_copy(object, "what");
	one->expected = text_copy(object, "expected");
	one->seen = text_copy(object, "seen");
	one->output = text_copy(object, "output");
	one->took = number_of(object, "seconds");
	one->runs = (unsigned)json_object_get_int_member_with_default(object, "runs", 0);
	one->failed = (unsigned)json_object_get_int_member_with_default(object, "failures", 0);
	again_read(report, one, text_of(object, "again"));
}

static void
claim_read(JsonArray *array, guint at, JsonNode *node, gpointer to)
{
	JsonObject *object = json_node_get_object(node);
	struct certify_report *report = to;
	const char *truth = text_of(object, "truth");
	struct certify_claim *claim;

	(void)array;
	(void)at;
	certify_claim_add(report, text_of(object, "attribute"), text_of(object, "value"),
			  strcmp(truth, "for information") == 0);
	claim = g_ptr_array_index(report->claims, report->claims->len - 1);
	claim->truth = truth_of(truth);
	g_free(claim->by);
	claim->by = text_copy(object, "by");
}

static void
left_read(JsonArray *array, guint at, JsonNode *node, gpointer to)
{
	JsonObject *object = json_node_get_object(node);
	enum certify_level level = certify_level_of(text_of(object, "level"));

	(void)array;
	(void)at;
	if (level != CERTIFY_LEVELS)
		certify_left_add(
			to, level, text_of(object, "why"),
			(unsigned)json_object_get_int_member_with_default(object, "cases", 0));
}

static void
figure_read(JsonArray *array, guint at, JsonNode *node, gpointer to)
{
	JsonObject *object = json_node_get_object(node);

	(void)array;
	(void)at;
	certify_point_add(to, text_of(object, "curve"), text_of(object, "unit"),
			  number_of(object, "x"), number_of(object, "y"));
}

static void
fact_read(JsonObject *object, const char *name, JsonNode *node, gpointer to)
{
	(void)node;
	certify_fact_add(to, name, text_of(object, name));
}

static void
array_read(JsonObject *object, const char *name, JsonArrayForeach each,
	   struct certify_report *report)
{
	if (json_object_has_member(object, name))
		json_array_foreach_element(json_object_get_array_member(object, name), each,
					   report);
}

static void
report_read(struct certify_report *report, JsonObject *object)
{
	const char *scope = text_of(object, "scope");
	g_autoptr(GDateTime) began = g_date_time_new_from_iso8601(text_of(object, "began"), NULL);

	report->scope = g_intern_string(scope);
	report->seed = (uint64_t)json_object_get_int_member_with_default(object, "seed", 0);
	report->took = number_of(object, "seconds");
	report->began_us = began != NULL ? g_date_time_to_unix(began) * G_USEC_PER_SEC : 0;
	report->again = g_strdup("it-certify");
	if (json_object_has_member(object, "facts"))
		json_object_foreach_member(json_object_get_object_member(object, "facts"),
					   fact_read, report);
	array_read(object, "left out", left_read, report);
	array_read(object, "claims", claim_read, report);
	array_read(object, "cases", case_read, report);
	array_read(object, "figures", figure_read, report);
}

int
certify_page(const char *from, const char *to)
{
	g_autoptr(JsonParser) parser = json_parser_new();
	g_autoptr(GError) error = NULL;
	JsonObject *object = certify_json_read(parser, from, &error);
	bool good = false;

	if (object != NULL) {
		struct certify_report report;

		certify_report_init(&report);
		report_read(&report, object);
		good = certify_html_write(&report, to, &error);
		certify_report_clear(&report);
	}
	if (!good)
		fprintf(stderr, "it-certify: %s\n", error->message);
	return good ? 0 : 2;
}
