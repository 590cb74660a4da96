/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "sim/sim_scenario.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sim/sim.h"
#include "tool_error.h"

#define TEXT_MAX (1u << 20) /* octets of a scenario */

/* What is being read. */
struct reader {
	struct sim_scenario *scenario;
	const char *path;
	char *folder;
	int line;
	char **words;
	guint count;
};

static bool
complain(const struct reader *reader, GError **error, const char *what, const char *word)
{
	return tool_fail(error, TOOL_ERROR_USAGE, "%s:%d: %s%s%s", reader->path, reader->line, what,
			 word != NULL ? ": " : "", word != NULL ? word : "");
}

/* --- words -------------------------------------------------------------------------------- */

/* The number and the unit at the begin of a text; NULL: it is no time. */
static const char *
parse_span(const char *text, uint64_t *ns)
{
	static const struct {
		const char *unit;
		uint64_t ns;
	} units[] = {{"ns", 1},
		     {"us", 1000},
		     {"ms", 1000000},
		     {"s", 1000000000},
		     {"m", UINT64_C(60) * 1000000000}};
	char *end = NULL;
	uint64_t number;

	if (!g_ascii_isdigit(*text))
		return NULL;
	number = g_ascii_strtoull(text, &end, 10);
	for (size_t i = 0; i < G_N_ELEMENTS(units); i++) {
		size_t len = strlen(units[i].unit);

		if (strncmp(end, units[i].unit, len) != 0 || g_ascii_isalpha(end[len]))
			continue;
		if (number > UINT64_C(86400) * 1000000000 / units[i].ns)
			return NULL; /* more than a day */
		*ns = number * units[i].ns;
		return end + len;
	}
	return NULL;
}

static bool
parse_time(const char *text, uint64_t *first, uint64_t *last)
{
	const char *rest = parse_span(text, first);

	if (rest == NULL)
		return false;
	*last = *first;
	if (strncmp(rest, "..", 2) == 0)
		rest = parse_span(rest + 2, last);
	return rest != NULL && *rest == '\0' && *first <= *last;
}

static int
find_node(const struct reader *reader, const char *name)
{
	for (guint i = 0; i < reader->scenario->nodes->len; i++) {
		const struct sim_node_plan *node = g_ptr_array_index(reader->scenario->nodes, i);

		if (strcmp(node->name, name) == 0)
			return (int)i;
	}
	return -1;
}

static bool
want_node(const struct reader *reader, const char *name, unsigned *out, GError **error)
{
	int found = find_node(reader, name);

	if (found < 0)
		return complain(reader, error, "there is no node of that name above this line",
				name);
	*out = (unsigned)found;
	return true;
}

/* N or N..M, from 1 on. */
static bool
parse_numbers(const char *text, uint64_t *first, uint64_t *last)
{
	g_auto(GStrv) ends = g_strsplit(text, "..", 2);
	guint count = g_strv_length(ends);

	if (count < 1 || !g_ascii_string_to_unsigned(ends[0], 10, 1, 1000000, first, NULL))
		return false;
	*last = *first;
	return count == 1 || g_ascii_string_to_unsigned(ends[1], 10, *first, 1000000, last, NULL);
}

/*
 * Take "at message N [of NODE]" or "inside message N [of NODE]" from the end of the line. Without
 * "of NODE" it is a message of the node that the statement is about, which is its second word.
 */
static bool
take_message(struct reader *reader, struct sim_when *when, bool *taken, GError **error)
{
	bool other = reader->count >= 6 && strcmp(reader->words[reader->count - 2], "of") == 0;
	guint words = other ? 5 : 3, at = reader->count - words;
	const char *name = other ? reader->words[reader->count - 1] : reader->words[1];
	unsigned node = 0;

	*taken = reader->count > words && strcmp(reader->words[at + 1], "message") == 0 &&
		 (strcmp(reader->words[at], "at") == 0 || strcmp(reader->words[at], "inside") == 0);
	if (!*taken)
		return true;
	if (!parse_numbers(reader->words[at + 2], &when->first, &when->last))
		return complain(reader, error,
				"expected the number of a message, such as 3 or 1..10",
				reader->words[at + 2]);
	if (!want_node(reader, name, &node, error))
		return false;
	when->sender = (int)node;
	when->inside = strcmp(reader->words[at], "inside") == 0;
	reader->scenario->triggers = true;
	reader->count = at;
	return true;
}

/* Take what says when from the end of the line; *timed: it is there. */
static bool
take_when(struct reader *reader, struct sim_when *when, bool *timed, GError **error)
{
	const char *value = reader->count >= 3 ? reader->words[reader->count - 1] : "";
	const char *word = reader->count >= 3 ? reader->words[reader->count - 2] : "";
	unsigned node = 0;

	*when = (struct sim_when){.after = -1, .sender = -1};
	if (!take_message(reader, when, timed, error))
		return false;
	if (*timed)
		return true;
	*timed = strcmp(word, "at") == 0 || strcmp(word, "after") == 0;
	if (!*timed)
		return true;
	if (strcmp(word, "at") == 0) {
		if (!parse_time(value, &when->first, &when->last))
			return complain(reader, error, "no time, such as 2ms or 1ms..5ms", value);
	} else {
		if (!want_node(reader, value, &node, error))
			return false;
		when->after = (int)node;
	}
	reader->count -= 2;
	return true;
}

/* --- statements ----------------------------------------------------------------------------- */

static bool
is_name(const char *word)
{
	if (!g_ascii_isalpha(*word) || strlen(word) > 31)
		return false;
	for (; *word != '\0'; word++)
		if (!g_ascii_isalnum(*word) && *word != '-' && *word != '_')
			return false;
	return true;
}

static void
node_plan_free(gpointer plan)
{
	struct sim_node_plan *node = plan;

	g_free(node->name);
	g_free(node->program);
	g_ptr_array_unref(node->arguments);
	g_free(node);
}

static bool
read_node(struct reader *reader, GError **error)
{
	struct sim_node_plan *node;
	struct sim_when when;
	bool daemon, timed;

	daemon = reader->count > 3 && strcmp(reader->words[reader->count - 1], "daemon") == 0;
	if (daemon)
		reader->count--;
	if (!take_when(reader, &when, &timed, error))
		return false;
	if (when.sender >= 0)
		return complain(reader, error, "a node begins at a time, or after another", NULL);
	if (reader->count < 3)
		return complain(reader, error, "wanted: node NAME PROGRAM ARGUMENT...", NULL);
	if (!is_name(reader->words[1]))
		return complain(
			reader, error,
			"invalid name of a node: it has letters, digits, - and _, at most 31",
			reader->words[1]);
	if (find_node(reader, reader->words[1]) >= 0)
		return complain(reader, error, "a second node of that name", reader->words[1]);
	if (reader->scenario->nodes->len == SIM_NODES_MAX)
		return complain(reader, error, "more than 64 nodes", NULL);
	node = g_new0(struct sim_node_plan, 1);
	node->name = g_strdup(reader->words[1]);
	node->program = g_path_is_absolute(reader->words[2])
				? g_strdup(reader->words[2])
				: g_build_filename(reader->folder, reader->words[2], NULL);
	node->arguments = g_ptr_array_new_with_free_func(g_free);
	for (guint i = 2; i < reader->count; i++)
		g_ptr_array_add(node->arguments, g_strdup(reader->words[i]));
	node->when = when;
	node->daemon = daemon;
	node->line = reader->line;
	g_ptr_array_add(reader->scenario->nodes, node);
	return true;
}

static void
step_plan_free(gpointer plan)
{
	struct sim_step_plan *step = plan;

	g_free(step->command);
	g_free(step);
}

static void
add_step(struct reader *reader, const struct sim_step_plan *step)
{
	struct sim_step_plan *own = g_memdup2(step, sizeof(*step));

	own->line = reader->line;
	g_ptr_array_add(reader->scenario->steps, own);
}

/* kill, restart, pause and slow. */
static bool
read_deed(struct reader *reader, enum sim_deed deed, GError **error)
{
	struct sim_step_plan step = {.deed = deed, .other = -1};
	bool valued = deed == SIM_PAUSE || deed == SIM_SLOW;
	uint64_t last = 0;

	if (!take_when(reader, &step.when, &step.timed, error))
		return false;
	if (reader->count != (valued ? 3 : 2))
		return complain(reader, error, "too few or too many words", reader->words[0]);
	if (!want_node(reader, reader->words[1], &step.node, error))
		return false;
	if (deed == SIM_PAUSE &&
	    (!parse_time(reader->words[2], &step.value, &last) || last != step.value))
		return complain(reader, error, "no time, such as 2ms", reader->words[2]);
	if (deed == SIM_SLOW) {
		if (!g_ascii_string_to_unsigned(reader->words[2], 10, 1, 1000000, &step.value,
						NULL))
			return complain(reader, error, "no factor between 1 and 1000000",
					reader->words[2]);
	}
	add_step(reader, &step);
	return true;
}

/* "for TIME", or nothing. */
static bool
read_span(struct reader *reader, struct sim_step_plan *step, GError **error)
{
	uint64_t last = 0;

	if (reader->count == 3 ||
	    (reader->count == 5 && strcmp(reader->words[3], "for") == 0 &&
	     parse_time(reader->words[4], &step->value, &last) && last == step->value && last > 0))
		return true;
	return complain(reader, error, "wanted: two nodes, and perhaps for TIME", reader->words[0]);
}

/* Read what follows "cut A B", "delay A B" and so on. */
static bool
read_path_value(struct reader *reader, struct sim_step_plan *step, GError **error)
{
	const char *word = reader->count > 3 ? reader->words[3] : "";

	if (step->deed == SIM_CUT || step->deed == SIM_HOLD)
		return read_span(reader, step, error);
	if (step->deed == SIM_HEAL)
		return reader->count == 3 ||
		       complain(reader, error, "wanted: heal, or heal A B", NULL);
	if (step->deed == SIM_DELAY) {
		if (reader->count == 4 && parse_time(word, &step->value, &step->most))
			return true;
		return complain(reader, error, "wanted: delay A B MIN..MAX, such as 1ms..5ms",
				NULL);
	}
	if (reader->count == 4 && g_ascii_string_to_unsigned(word, 10, 0, 100, &step->value, NULL))
		return true;
	return complain(reader, error, "wanted: drop A B PERCENT, of datagrams, between 0 and 100",
			NULL);
}

/* cut, hold, delay, drop and heal. */
static bool
read_path(struct reader *reader, enum sim_deed deed, GError **error)
{
	struct sim_step_plan step = {.deed = deed, .other = -1};
	unsigned other = 0;

	if (!take_when(reader, &step.when, &step.timed, error))
		return false;
	if (deed != SIM_HEAL || reader->count != 1) {
		if (reader->count < 3)
			return complain(reader, error, "which two nodes?", reader->words[0]);
		if (!want_node(reader, reader->words[1], &step.node, error) ||
		    !want_node(reader, reader->words[2], &other, error) ||
		    !read_path_value(reader, &step, error))
			return false;
		if (other == step.node)
			return complain(reader, error, "a node has no path to itself",
					reader->words[2]);
		step.other = (int)other;
	}
	reader->scenario->paths = true;
	add_step(reader, &step);
	return true;
}

/* NODE: COMMAND. Whether the command is right is known when an adapter has read it. */
static bool
read_fault(struct reader *reader, GError **error)
{
	g_autofree char *name = g_strndup(reader->words[0], strlen(reader->words[0]) - 1);
	struct sim_step_plan step = {.deed = SIM_FAULT, .other = -1};

	if (!want_node(reader, name, &step.node, error) ||
	    !take_when(reader, &step.when, &step.timed, error))
		return false;
	if (reader->count < 2)
		return complain(reader, error, "wanted: NODE: COMMAND, such as server: fail qp 1",
				NULL);
	GString *command = g_string_new(reader->words[1]);
	for (guint i = 2; i < reader->count; i++)
		g_string_append_printf(command, " %s", reader->words[i]);
	step.command = g_string_free(command, FALSE);
	add_step(reader, &step);
	return true;
}

static void
expect_free(gpointer plan)
{
	struct sim_expect *expect = plan;

	g_free(expect->text);
	g_free(expect->reached);
	g_free(expect);
}

/* expect reached NAME, and expect progress TIME. */
static bool
read_expect_of_all(struct reader *reader, GError **error)
{
	struct sim_expect expect = {0};
	uint64_t last = 0;

	if (strcmp(reader->words[1], "reached") == 0) {
		if (reader->scenario->expects->len >= SIM_REACHED_MAX)
			return complain(reader, error, "too many expectations", NULL);
		expect.reached = g_strdup(reader->words[2]);
		g_ptr_array_add(reader->scenario->expects, g_memdup2(&expect, sizeof(expect)));
		return true;
	}
	if (!parse_time(reader->words[2], &reader->scenario->progress, &last) ||
	    last != reader->scenario->progress || last == 0)
		return complain(reader, error, "wanted: expect progress TIME, such as 5s", NULL);
	return true;
}

static bool
read_expect(struct reader *reader, GError **error)
{
	struct sim_expect expect = {0};
	bool output = reader->count == 4 && strcmp(reader->words[1], "output") == 0;
	char *end = NULL;

	if (reader->count == 3 &&
	    (strcmp(reader->words[1], "reached") == 0 || strcmp(reader->words[1], "progress") == 0))
		return read_expect_of_all(reader, error);
	if (!output && (reader->count != 4 || strcmp(reader->words[1], "exit") != 0))
		return complain(
			reader, error,
			"wanted: expect exit NODE STATUS, expect output NODE TEXT, expect reached "
			"NAME, or expect progress TIME",
			NULL);
	if (!want_node(reader, reader->words[2], &expect.node, error))
		return false;
	if (output) {
		expect.text = g_strdup(reader->words[3]);
	} else if (strcmp(reader->words[3], "any") == 0) {
		expect.any = true;
	} else {
		expect.status = (int)g_ascii_strtoll(reader->words[3], &end, 10);
		if (*end != '\0' || end == reader->words[3] || expect.status < 0 ||
		    expect.status > 255)
			return complain(reader, error,
					"expected an exit status from 0 to 255, or 'any'",
					reader->words[3]);
	}
	g_ptr_array_add(reader->scenario->expects, g_memdup2(&expect, sizeof(expect)));
	return true;
}

static bool
read_until(struct reader *reader, GError **error)
{
	uint64_t last = 0;

	if (reader->count != 2 || !parse_time(reader->words[1], &reader->scenario->until, &last) ||
	    last != reader->scenario->until || last == 0)
		return complain(reader, error, "wanted: until TIME, such as until 30s", NULL);
	return true;
}

static bool
read_wire(struct reader *reader, GError **error)
{
	uint64_t last = 0;

	if (reader->count != 2 || !parse_time(reader->words[1], &reader->scenario->wire, &last) ||
	    last != reader->scenario->wire || last < 1000)
		return complain(reader, error, "wanted: wire TIME, of at least 1us", NULL);
	return true;
}

static bool
read_chaos(struct reader *reader, GError **error)
{
	if (reader->count != 2 || strcmp(reader->words[1], "legal") != 0)
		return complain(reader, error, "wanted: chaos legal", NULL);
	reader->scenario->legal = true;
	return true;
}

static const struct {
	const char *word;
	enum sim_deed deed;
	bool (*read)(struct reader *reader, enum sim_deed deed, GError **error);
} deeds[] = {{"kill", SIM_KILL, read_deed},   {"restart", SIM_RESTART, read_deed},
	     {"pause", SIM_PAUSE, read_deed}, {"slow", SIM_SLOW, read_deed},
	     {"cut", SIM_CUT, read_path},     {"hold", SIM_HOLD, read_path},
	     {"delay", SIM_DELAY, read_path}, {"drop", SIM_DROP, read_path},
	     {"heal", SIM_HEAL, read_path}};

/* What happens to nodes and paths; *known: it is such a statement. */
static bool
read_step(struct reader *reader, bool *known, GError **error)
{
	const char *word = reader->words[0];

	*known = true;
	if (g_str_has_suffix(word, ":"))
		return read_fault(reader, error);
	for (size_t i = 0; i < G_N_ELEMENTS(deeds); i++)
		if (strcmp(word, deeds[i].word) == 0)
			return deeds[i].read(reader, deeds[i].deed, error);
	*known = false;
	return false;
}

static bool
read_statement(struct reader *reader, GError **error)
{
	const char *word = reader->words[0];
	bool known, good = read_step(reader, &known, error);

	if (known)
		return good;
	if (strcmp(word, "node") == 0)
		return read_node(reader, error);
	if (strcmp(word, "expect") == 0)
		return read_expect(reader, error);
	if (strcmp(word, "until") == 0)
		return read_until(reader, error);
	if (strcmp(word, "wire") == 0)
		return read_wire(reader, error);
	if (strcmp(word, "chaos") == 0)
		return read_chaos(reader, error);
	return complain(
		reader, error,
		"unknown statement; statements begin with node, kill, restart, pause, slow, cut, "
		"hold, delay, drop, heal, expect, until, wire, chaos, or the name of a "
		"node and a colon",
		word);
}

/* --- the whole text --------------------------------------------------------------------------- */

static bool
read_line(struct reader *reader, const char *line, GError **error)
{
	g_autoptr(GError) inner = NULL;
	g_auto(GStrv) words = NULL;
	gint count = 0;

	if (!g_shell_parse_argv(line, &count, &words, &inner)) {
		if (g_error_matches(inner, G_SHELL_ERROR, G_SHELL_ERROR_EMPTY_STRING))
			return true;
		return complain(reader, error, inner->message, NULL);
	}
	reader->words = words;
	reader->count = (guint)count;
	/* The words that a statement takes from the end stay in the array. */
	return read_statement(reader, error);
}

void
sim_scenario_free(struct sim_scenario *scenario)
{
	g_ptr_array_unref(scenario->nodes);
	g_ptr_array_unref(scenario->steps);
	g_ptr_array_unref(scenario->expects);
	g_free(scenario->folder);
	g_free(scenario);
}

/* @NODE may name a node that is written below. */
static bool
check_addresses(struct reader *reader, GError **error)
{
	for (guint i = 0; i < reader->scenario->nodes->len; i++) {
		const struct sim_node_plan *node = g_ptr_array_index(reader->scenario->nodes, i);

		reader->line = node->line;
		for (guint j = 1; j < node->arguments->len; j++) {
			const char *word = g_ptr_array_index(node->arguments, j);

			if (*word == '@' && find_node(reader, word + 1) < 0)
				return complain(reader, error, "there is no node of that name",
						word);
		}
	}
	return true;
}

struct sim_scenario *
sim_scenario_parse(const char *path, const char *text, GError **error)
{
	struct reader reader = {.path = path, .folder = g_path_get_dirname(path)};
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	bool good = true;

	reader.scenario = g_new0(struct sim_scenario, 1);
	reader.scenario->nodes = g_ptr_array_new_with_free_func(node_plan_free);
	reader.scenario->steps = g_ptr_array_new_with_free_func(step_plan_free);
	reader.scenario->expects = g_ptr_array_new_with_free_func(expect_free);
	reader.scenario->until = SIM_UNTIL;
	for (guint i = 0; good && lines[i] != NULL; i++) {
		if (g_str_has_suffix(lines[i], "\r")) /* the end of a line, of some editors */
			lines[i][strlen(lines[i]) - 1] = '\0';
		reader.line = (int)i + 1;
		good = read_line(&reader, lines[i], error);
	}
	if (good && reader.scenario->nodes->len == 0)
		good = complain(&reader, error, "a scenario has at least one node", NULL);
	good = good && check_addresses(&reader, error);
	if ((reader.scenario->legal || reader.scenario->paths || reader.scenario->triggers) &&
	    reader.scenario->wire == 0)
		reader.scenario->wire = SIM_WIRE;
	reader.scenario->folder = reader.folder;
	if (good)
		return reader.scenario;
	sim_scenario_free(reader.scenario);
	return NULL;
}

/* All of a file, which may be a pipe. NULL: the error says why not. */
static char *
read_text(const char *path, GError **error)
{
	FILE *file = fopen(path, "re");
	char *text = g_malloc(TEXT_MAX + 2);
	size_t len = file != NULL ? fread(text, 1, TEXT_MAX + 1, file) : 0;
	const int number = errno;
	const char *why = file == NULL || ferror(file) != 0 ? g_strerror(number) : NULL;

	if (file != NULL)
		(void)fclose(file);
	if (why != NULL) {
		(void)tool_fail(error, TOOL_ERROR_USAGE, "%s: %s", path, why);
	} else if (len > TEXT_MAX) {
		(void)tool_fail(error, TOOL_ERROR_USAGE,
				"%s is not a scenario: it has more than %u octets", path, TEXT_MAX);
	} else {
		text[len] = '\0';
		if (strlen(text) == len)
			return text;
		/* Statements behind it would count for nothing. */
		(void)tool_fail(error, TOOL_ERROR_USAGE, "%s is not text: octet %zu is zero", path,
				strlen(text) + 1);
	}
	g_free(text);
	return NULL;
}

struct sim_scenario *
sim_scenario_read(const char *path, GError **error)
{
	static const char mark[] = "\xef\xbb\xbf"; /* before UTF-8, by some editors */
	g_autofree char *text = read_text(path, error);

	if (text == NULL)
		return NULL;
	return sim_scenario_parse(path, text + (g_str_has_prefix(text, mark) ? strlen(mark) : 0),
				  error);
}

const struct sim_step_plan *
sim_scenario_add(struct sim_scenario *scenario, const char *line, GError **error)
{
	struct reader reader = {
		.scenario = scenario, .path = "it_sim_do", .folder = scenario->folder};
	g_autoptr(GError) inner = NULL;
	g_auto(GStrv) words = NULL;
	gint count = 0;
	bool known, good;

	if (!g_shell_parse_argv(line, &count, &words, &inner)) {
		(void)complain(&reader, error, inner->message, NULL);
		return NULL;
	}
	reader.words = words;
	reader.count = (guint)count;
	reader.line = -(int)scenario->steps->len; /* a stream of draws that no line has */
	good = read_step(&reader, &known, error);
	if (!known)
		(void)complain(&reader, error,
			       "not a statement that a tester can make during a run", line);
	return good ? g_ptr_array_index(scenario->steps, scenario->steps->len - 1) : NULL;
}

uint64_t
sim_scenario_draw(const struct sim_when *when, int line, uint64_t seed)
{
	g_autofree char *purpose = g_strdup_printf("script %d", line);
	struct sim_random random;

	sim_random_seed(&random, seed, purpose);
	return when->first + sim_random_below(&random, when->last - when->first + 1);
}
