/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Makes cases from scripts. The lines of a case are kept as text until its end. Then each
 * combination of its variables' values, and each role, becomes a case of its own: the variables are
 * replaced in the text, and the lines are parsed.
 */

#include "wire_script.h"

#include <stdio.h>
#include <string.h>

#define RANGE_MAX 4096u

/* The lines of one case, before its variables are replaced. */
struct draft {
	GPtrArray *lines;     /* char * */
	GArray *numbers;      /* guint: their numbers */
	GPtrArray *variables; /* char **: names, then values; each with colons between its parts */
};

/* What is under way while a file is read. */
struct reader {
	const char *file;
	GPtrArray *cases;
};

void
wire_case_free(gpointer data)
{
	struct wire_case *one = data;

	g_free(one->id);
	g_free(one->title);
	g_free(one->clause);
	g_free(one->file);
	g_free(one->needs);
	g_hash_table_unref(one->set);
	g_ptr_array_unref(one->regions);
	g_ptr_array_unref(one->steps);
	g_free(one);
}

static void
step_free(gpointer data)
{
	struct wire_step *step = data;

	g_strfreev(step->words);
	g_free(step);
}

static void
region_free(gpointer data)
{
	struct wire_region *region = data;

	g_free(region->name);
	g_free(region->options);
	g_free(region);
}

static void
strv_free(gpointer data)
{
	g_strfreev(data);
}

static void
draft_begin(struct draft *draft)
{
	draft->lines = g_ptr_array_new_with_free_func(g_free);
	draft->numbers = g_array_new(FALSE, FALSE, sizeof(guint));
	draft->variables = g_ptr_array_new_with_free_func(strv_free);
}

static void
draft_end(struct draft *draft)
{
	g_ptr_array_unref(draft->lines);
	g_array_unref(draft->numbers);
	g_ptr_array_unref(draft->variables);
}

/* The words of a line; blanks between them do not count. */
static char **
words_of(const char *line)
{
	g_auto(GStrv) parts = g_strsplit_set(line, " \t", -1);
	GPtrArray *words = g_ptr_array_new();

	for (char **part = parts; *part != NULL; part++) {
		if (**part != '\0')
			g_ptr_array_add(words, g_strdup(*part));
	}
	g_ptr_array_add(words, NULL);
	return (char **)g_ptr_array_free(words, FALSE);
}

/* "each NAME VALUE...": a range 3..7 is five values. */
static gboolean
variable_read(struct draft *draft, const char *line, GError **error)
{
	g_auto(GStrv) words = words_of(line);
	g_autoptr(GPtrArray) values = g_ptr_array_new_with_free_func(g_free);

	for (char **word = words + 1; *word != NULL; word++) {
		guint from;
		guint to;
		char rest;

		if (sscanf(*word, "%u..%u%c", &from, &to, &rest) != 2) {
			g_ptr_array_add(values, g_strdup(*word));
			continue;
		}
		if (from > to || to - from > RANGE_MAX)
			return wire_fail(error, WIRE_ERROR_SCRIPT, "'%s' is not a range", *word);
		for (guint value = from; value <= to; value++)
			g_ptr_array_add(values, g_strdup_printf("%u", value));
	}
	if (values->len < 2)
		return wire_fail(error, WIRE_ERROR_SCRIPT, "'each' wants a name and values");
	g_ptr_array_add(values, NULL);
	g_ptr_array_add(draft->variables, g_ptr_array_free(g_steal_pointer(&values), FALSE));
	return TRUE;
}

/* Replace ${NAME} by the value; both may have parts between colons. */
static char *
variable_put(const char *text, const char *name, const char *value)
{
	g_auto(GStrv) names = g_strsplit(name, ":", -1);
	g_auto(GStrv) values = g_strsplit(value, ":", -1);
	GString *out = g_string_new(text);

	for (guint i = 0; names[i] != NULL && values[i] != NULL; i++) {
		g_autofree char *mark = g_strdup_printf("${%s}", names[i]);

		g_string_replace(out, mark, values[i], 0);
	}
	return g_string_free(out, FALSE);
}

static gboolean
setting_read(struct wire_case *one, char **words, GError **error)
{
	for (char **word = words + 1; *word != NULL; word++) {
		const char *equals = strchr(*word, '=');

		if (equals == NULL)
			return wire_fail(error, WIRE_ERROR_SCRIPT, "'%s' is not a setting", *word);
		g_hash_table_insert(one->set, g_strndup(*word, (gsize)(equals - *word)),
				    g_strdup(equals + 1));
	}
	return TRUE;
}

static gboolean
region_read(struct wire_case *one, char **words, GError **error)
{
	struct wire_region *region;

	if (words[1] == NULL)
		return wire_fail(error, WIRE_ERROR_SCRIPT, "a region wants a name");
	region = g_new0(struct wire_region, 1);
	region->name = g_strdup(words[1]);
	region->options = g_strjoinv(" ", words + 2);
	g_ptr_array_add(one->regions, region);
	return TRUE;
}

/* One line with its variables replaced. */
static gboolean
line_read(struct wire_case *one, const char *line, guint number, GError **error)
{
	g_auto(GStrv) words = words_of(line);
	const char *rest = line + strlen(words[0]);
	struct wire_step *step;

	while (g_ascii_isspace(*rest))
		rest++;
	if (strcmp(words[0], "case") == 0 || strcmp(words[0], "role") == 0)
		return TRUE; /* read before */
	if (strcmp(words[0], "title") == 0) {
		g_free(one->title);
		one->title = g_strdup(rest);
	} else if (strcmp(words[0], "clause") == 0) {
		g_free(one->clause);
		one->clause = g_strdup(rest);
	} else if (strcmp(words[0], "needs") == 0) {
		g_free(one->needs);
		one->needs = g_strdup(rest);
	} else if (strcmp(words[0], "start") == 0) {
		one->started = strcmp(rest, "none") != 0;
	} else if (strcmp(words[0], "helper") == 0) {
		one->own_helper = strcmp(rest, "own") == 0;
	} else if (strcmp(words[0], "set") == 0) {
		return setting_read(one, words, error);
	} else if (strcmp(words[0], "region") == 0) {
		return region_read(one, words, error);
	} else {
		step = g_new0(struct wire_step, 1);
		step->words = g_steal_pointer(&words);
		step->line = number;
		g_ptr_array_add(one->steps, step);
	}
	return TRUE;
}

/* Append the parts of a value to an id; a part whose name begins with _ is left out. */
static void
id_append(GString *id, char *const *variable, const char *value)
{
	g_auto(GStrv) names = g_strsplit(variable[0], ":", -1);
	g_auto(GStrv) values = g_strsplit(value, ":", -1);

	for (guint i = 0; names[i] != NULL && values[i] != NULL; i++) {
		if (names[i][0] != '_')
			g_string_append_printf(id, "-%s", values[i]);
	}
}

/* A case of the draft for one combination of values. */
static struct wire_case *
case_make(const struct reader *reader, const struct draft *draft, char **values, gboolean as_client,
	  GError **error)
{
	struct wire_case *one = g_new0(struct wire_case, 1);
	g_autoptr(GString) id = g_string_new(NULL);
	const char *first = g_ptr_array_index(draft->lines, 0);
	gboolean good = TRUE;

	one->file = g_path_get_basename(reader->file);
	one->as_client = as_client;
	one->started = TRUE;
	one->set = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	one->regions = g_ptr_array_new_with_free_func(region_free);
	one->steps = g_ptr_array_new_with_free_func(step_free);
	for (guint i = 0; good && i < draft->lines->len; i++) {
		char *line = g_strdup(g_ptr_array_index(draft->lines, i));

		for (guint v = 0; v < draft->variables->len; v++) {
			char *const *variable = g_ptr_array_index(draft->variables, v);
			char *put = variable_put(line, variable[0], values[v]);

			g_free(line);
			line = put;
		}
		good = line_read(one, line, g_array_index(draft->numbers, guint, i), error);
		g_free(line);
	}
	g_string_append(id, first + strlen("case "));
	for (guint v = 0; v < draft->variables->len; v++)
		id_append(id, g_ptr_array_index(draft->variables, v), values[v]);
	g_string_append(id, as_client ? "/client" : "/server");
	one->id = g_strdup(id->str);
	if (good && (one->title == NULL || one->clause == NULL || one->steps->len == 0))
		good = wire_fail(error, WIRE_ERROR_SCRIPT,
				 "case %s wants a title, a clause and a step", one->id);
	if (good)
		return one;
	wire_case_free(one);
	return NULL;
}

/* Cases for each combination of the variables from number `at` on. */
static gboolean
cases_make(const struct reader *reader, const struct draft *draft, char **values, guint at,
	   gboolean as_client, GError **error)
{
	char *const *variable;

	if (at == draft->variables->len) {
		struct wire_case *one = case_make(reader, draft, values, as_client, error);

		if (one != NULL)
			g_ptr_array_add(reader->cases, one);
		return one != NULL;
	}
	variable = g_ptr_array_index(draft->variables, at);
	for (guint i = 1; variable[i] != NULL; i++) {
		values[at] = variable[i];
		if (!cases_make(reader, draft, values, at + 1, as_client, error))
			return FALSE;
	}
	return TRUE;
}

/* The roles that the draft asks for: both, unless a line says which. */
static gboolean
role_is_wanted(const struct draft *draft, const char *role)
{
	for (guint i = 0; i < draft->lines->len; i++) {
		const char *line = g_ptr_array_index(draft->lines, i);

		if (g_str_has_prefix(line, "role "))
			return strstr(line, role) != NULL;
	}
	return TRUE;
}

/* The draft is complete. */
static gboolean
draft_read(const struct reader *reader, const struct draft *draft, GError **error)
{
	g_autofree char **values = g_new0(char *, draft->variables->len + 1);

	if (draft->lines->len == 0)
		return TRUE;
	return (!role_is_wanted(draft, "client") ||
		cases_make(reader, draft, values, 0, TRUE, error)) &&
	       (!role_is_wanted(draft, "server") ||
		cases_make(reader, draft, values, 0, FALSE, error));
}

static gboolean
lines_read(const struct reader *reader, char **lines, guint *number, GError **error)
{
	struct draft draft;
	gboolean good = TRUE;

	draft_begin(&draft);
	for (guint i = 0; good && lines[i] != NULL; i++) {
		const char *line = g_strstrip(lines[i]);

		*number = i + 1;
		if (*line == '\0' || *line == '#')
			continue;
		if (g_str_has_prefix(line, "case ")) {
			good = draft_read(reader, &draft, error);
			draft_end(&draft);
			draft_begin(&draft);
		} else if (draft.lines->len == 0) {
			good = wire_fail(error, WIRE_ERROR_SCRIPT, "the first line is not a case");
		}
		if (good && g_str_has_prefix(line, "each ")) {
			good = variable_read(&draft, line, error);
		} else if (good) {
			g_ptr_array_add(draft.lines, g_strdup(line));
			g_array_append_val(draft.numbers, *number);
		}
	}
	good = good && draft_read(reader, &draft, error);
	draft_end(&draft);
	return good;
}

/* Ids name cases in lists of deviations and in reports. */
static gboolean
ids_differ(const GPtrArray *cases, GError **error)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);

	for (guint i = 0; i < cases->len; i++) {
		const struct wire_case *one = g_ptr_array_index(cases, i);

		if (!g_hash_table_add(seen, one->id))
			return wire_fail(error, WIRE_ERROR_SCRIPT, "two cases are called %s",
					 one->id);
	}
	return TRUE;
}

gboolean
wire_script_load(const char *path, GPtrArray *cases, GError **error)
{
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;
	struct reader reader = {.file = path, .cases = cases};
	guint before = cases->len;
	guint number = 0;

	if (!g_file_get_contents(path, &text, NULL, error))
		return FALSE;
	lines = g_strsplit(text, "\n", -1);
	if (lines_read(&reader, lines, &number, error) && ids_differ(cases, error))
		return TRUE;
	g_prefix_error(error, "%s:%u: ", path, number);
	g_ptr_array_set_size(cases, (gint)before);
	return FALSE;
}

guint64
wire_case_number(const struct wire_case *one, const char *name, guint64 otherwise)
{
	const char *text = g_hash_table_lookup(one->set, name);
	guint64 value;

	return text != NULL && wire_number(text, NULL, &value, NULL) ? value : otherwise;
}

const char *
wire_case_text(const struct wire_case *one, const char *name, const char *otherwise)
{
	const char *text = g_hash_table_lookup(one->set, name);

	return text != NULL ? text : otherwise;
}
