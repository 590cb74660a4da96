/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The report as a tree of JSON, from which every form is made: TAP, JUnit, the HTML page, the
 * summary, the file. So a report that is read from a file gives the same output as the run itself.
 * report.schema.json of this folder describes the members.
 */

#include "certify_model.h"

#include <string.h>

#include "tool_json.h"

/* --- from a run ------------------------------------------------------------------------------ */

static void
json_optional(JsonBuilder *json, const char *name, const char *value)
{
	if (value != NULL)
		tool_json_text(json, name, value);
}

static void
json_array(JsonBuilder *json, const char *name)
{
	json_builder_set_member_name(json, name);
	json_builder_begin_array(json);
}

static void
case_json(JsonBuilder *json, const struct certify_report *report, const struct certify_case *one)
{
	g_autofree char *again = certify_again(report, one);

	json_builder_begin_object(json);
	tool_json_text(json, "id", one->id);
	tool_json_text(json, "level", certify_level_name(one->level));
	json_optional(json, "title", one->title);
	json_optional(json, "rule", one->rule);
	json_optional(json, "settles",
		      one->settles != NULL && *one->settles != '\0' ? one->settles : NULL);
	tool_json_text(json, "outcome", certify_outcome_name(one->outcome));
	json_optional(json, "reason", one->reason);
	if (one->outcome == CERTIFY_FAILED) {
		json_optional(json, "where", one->where);
		json_optional(json, "what", one->what);
		json_optional(json, "expected", one->expected);
		json_optional(json, "seen", one->seen);
		json_optional(json, "output", one->output);
		tool_json_text(json, "again", again);
	}
	tool_json_count(json, "runs", one->runs);
	tool_json_count(json, "failures", one->failed);
	tool_json_number(json, "seconds", one->took);
	json_builder_end_object(json);
}

static void
levels_json(JsonBuilder *json, const struct certify_report *report)
{
	json_array(json, "levels");
	for (unsigned level = 0; level < CERTIFY_LEVELS; level++) {
		json_builder_begin_object(json);
		tool_json_text(json, "level", certify_level_name((enum certify_level)level));
		tool_json_text(json, "verdict",
			       certify_level_verdict(report, (enum certify_level)level));
		for (unsigned outcome = 0; outcome < CERTIFY_OUTCOMES; outcome++)
			tool_json_count(json, certify_outcome_name((enum certify_outcome)outcome),
					certify_count(report, (enum certify_level)level,
						      (enum certify_outcome)outcome));
		json_builder_end_object(json);
	}
	json_builder_end_array(json);
}

static void
claims_json(JsonBuilder *json, const struct certify_report *report)
{
	json_array(json, "claims");
	for (guint i = 0; i < report->claims->len; i++) {
		const struct certify_claim *claim = g_ptr_array_index(report->claims, i);

		json_builder_begin_object(json);
		tool_json_text(json, "attribute", claim->name);
		tool_json_text(json, "value", claim->value);
		tool_json_text(json, "truth",
			       claim->informs ? "for information"
					      : certify_truth_name(claim->truth));
		json_optional(json, "by", claim->by);
		json_optional(json, "meaning", claim->meaning);
		json_builder_end_object(json);
	}
	json_builder_end_array(json);
}

static void
left_json(JsonBuilder *json, const struct certify_report *report)
{
	json_array(json, "left out");
	for (guint i = 0; i < report->left->len; i++) {
		const struct certify_left *left = g_ptr_array_index(report->left, i);

		json_builder_begin_object(json);
		tool_json_text(json, "level", certify_level_name(left->level));
		tool_json_count(json, "cases", left->cases);
		tool_json_text(json, "why", left->why);
		json_builder_end_object(json);
	}
	json_builder_end_array(json);
}

static void
figures_json(JsonBuilder *json, const struct certify_report *report)
{
	json_array(json, "figures");
	for (guint i = 0; i < report->points->len; i++) {
		const struct certify_point *point = g_ptr_array_index(report->points, i);

		json_builder_begin_object(json);
		tool_json_text(json, "curve", point->curve);
		tool_json_text(json, "unit", point->unit);
		tool_json_number(json, "x", point->x);
		tool_json_number(json, "y", point->y);
		json_builder_end_object(json);
	}
	json_builder_end_array(json);
}

JsonNode *
certify_model(const struct certify_report *report)
{
	g_autoptr(JsonBuilder) json = tool_json_begin("it-certify");
	g_autoptr(GDateTime) began =
		g_date_time_new_from_unix_utc(report->began_us / G_USEC_PER_SEC);
	g_autofree char *when = g_date_time_format(began, "%FT%TZ");

	tool_json_count(json, "schema", CERTIFY_SCHEMA);
	tool_json_boolean(json, "certified", certify_is_good(report));
	tool_json_text(json, "scope", report->scope);
	tool_json_text(json, "began", when);
	tool_json_number(json, "seconds", report->took);
	tool_json_count(json, "seed", report->seed);
	json_builder_set_member_name(json, "facts");
	json_builder_begin_object(json);
	for (guint i = 0; i < report->facts->len; i++) {
		const struct certify_fact *fact = g_ptr_array_index(report->facts, i);
		g_autofree char *value = certify_text_clean(fact->value);

		tool_json_text(json, fact->name, value);
	}
	json_builder_end_object(json);
	levels_json(json, report);
	left_json(json, report);
	claims_json(json, report);
	json_array(json, "cases");
	for (guint i = 0; i < report->cases->len; i++)
		case_json(json, report, g_ptr_array_index(report->cases, i));
	json_builder_end_array(json);
	figures_json(json, report);
	json_builder_end_object(json);
	return json_builder_get_root(json);
}

/* --- in and out of a file -------------------------------------------------------------------- */

JsonNode *
certify_model_read(const char *path, GError **error)
{
	g_autoptr(JsonParser) parser = json_parser_new();
	JsonNode *root;
	JsonObject *model;

	if (!json_parser_load_from_file(parser, path, error))
		return NULL;
	root = json_parser_get_root(parser);
	model = root != NULL && JSON_NODE_HOLDS_OBJECT(root) ? json_node_get_object(root) : NULL;
	if (model != NULL && strcmp(model_text(model, "tool"), "it-certify") == 0 &&
	    model_count(model, "schema") == CERTIFY_SCHEMA &&
	    json_object_has_member(model, "facts") &&
	    JSON_NODE_HOLDS_OBJECT(json_object_get_member(model, "facts")))
		return json_parser_steal_root(parser);
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
		    "%s is not a report of it-certify with schema %d", path, CERTIFY_SCHEMA);
	return NULL;
}

bool
certify_json_write(JsonObject *model, const char *path, GError **error)
{
	g_autoptr(JsonNode) root = json_node_init_object(json_node_alloc(), model);
	g_autoptr(JsonGenerator) generator = json_generator_new();
	g_autofree char *text = NULL;
	gsize length;

	json_generator_set_root(generator, root);
	json_generator_set_pretty(generator, TRUE);
	text = json_generator_to_data(generator, &length);
	return certify_write(path, text, length, error);
}

/* --- its members ----------------------------------------------------------------------------- */

const char *
model_text(JsonObject *object, const char *name)
{
	return json_object_get_string_member_with_default(object, name, "");
}

double
model_number(JsonObject *object, const char *name)
{
	return json_object_get_double_member_with_default(object, name, 0);
}

gint64
model_count(JsonObject *object, const char *name)
{
	return json_object_get_int_member_with_default(object, name, 0);
}

bool
model_is(JsonObject *object, const char *name, const char *text)
{
	return strcmp(model_text(object, name), text) == 0;
}

guint
model_length(JsonObject *model, const char *array)
{
	return json_object_has_member(model, array)
		       ? json_array_get_length(json_object_get_array_member(model, array))
		       : 0;
}

JsonObject *
model_element(JsonObject *model, const char *array, guint i)
{
	return json_array_get_object_element(json_object_get_array_member(model, array), i);
}

const char *
model_verdict(JsonObject *model)
{
	if (!json_object_get_boolean_member_with_default(model, "certified", FALSE))
		return "not certified";
	return model_is(model, "scope", "part") ? "passed in part" : "certified";
}
