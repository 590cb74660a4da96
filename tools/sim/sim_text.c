/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Writes a scenario as text, with the times that the seed has drawn in place of ranges. */
#include <string.h>

#include "sim/sim_scenario.h"

static const char *
name_of(const struct sim_scenario *scenario, int node)
{
	return ((const struct sim_node_plan *)g_ptr_array_index(scenario->nodes, (guint)node))
		->name;
}

/* A word that a shell reads as this one. */
static void
add_word(GString *line, const char *word)
{
	g_autofree char *quoted = g_shell_quote(word);
	bool plain = *word != '\0' && strpbrk(word, " \t'\"$`\\*?;&|<>()#") == NULL;

	g_string_append_printf(line, "%s%s", line->len > 0 ? " " : "", plain ? word : quoted);
}

static void
add_time(GString *line, const char *before, uint64_t ns)
{
	g_string_append_printf(line, " %s%s%" G_GUINT64_FORMAT "ns", before,
			       *before != '\0' ? " " : "", ns);
}

static void
add_when(GString *line, const struct sim_scenario *scenario, const struct sim_when *when,
	 int number, uint64_t seed)
{
	uint64_t drawn = sim_scenario_draw(when, number, seed);

	if (when->sender >= 0)
		g_string_append_printf(line, " %s message %" G_GUINT64_FORMAT " of %s",
				       when->inside ? "inside" : "at", drawn,
				       name_of(scenario, when->sender));
	else if (when->after >= 0)
		g_string_append_printf(line, " after %s", name_of(scenario, when->after));
	else
		add_time(line, "at", drawn);
}

static char *
node_line(const struct sim_scenario *scenario, const struct sim_node_plan *node, uint64_t seed)
{
	g_autofree char *program = g_canonicalize_filename(node->program, NULL);
	GString *line = g_string_new("node");

	add_word(line, node->name);
	add_word(line, program);
	for (guint i = 1; i < node->arguments->len; i++)
		add_word(line, g_ptr_array_index(node->arguments, i));
	add_when(line, scenario, &node->when, node->line, seed);
	if (node->daemon)
		g_string_append(line, " daemon");
	return g_string_free(line, FALSE);
}

/* What stands between the words of a step and its time. */
static void
add_value(GString *line, const struct sim_step_plan *step)
{
	switch (step->deed) {
	case SIM_PAUSE:
		add_time(line, "", step->value);
		break;
	case SIM_SLOW:
	case SIM_DROP:
		g_string_append_printf(line, " %" G_GUINT64_FORMAT, step->value);
		break;
	case SIM_CUT:
	case SIM_HOLD:
		if (step->value != 0)
			add_time(line, "for", step->value);
		break;
	case SIM_DELAY:
		g_string_append_printf(line, " %" G_GUINT64_FORMAT "ns..%" G_GUINT64_FORMAT "ns",
				       step->value, step->most);
		break;
	case SIM_FAULT:
		g_string_append_printf(line, " %s", step->command);
		break;
	case SIM_KILL:
	case SIM_RESTART:
	case SIM_HEAL:
	default:
		break;
	}
}

static char *
step_line(const struct sim_scenario *scenario, const struct sim_step_plan *step, uint64_t seed)
{
	static const char *const words[] = {
		[SIM_KILL] = "kill",   [SIM_RESTART] = "restart", [SIM_PAUSE] = "pause",
		[SIM_SLOW] = "slow",   [SIM_CUT] = "cut",         [SIM_HOLD] = "hold",
		[SIM_DELAY] = "delay", [SIM_DROP] = "drop",       [SIM_HEAL] = "heal"};
	const char *name = name_of(scenario, (int)step->node);
	GString *line = g_string_new(NULL);

	if (step->deed == SIM_FAULT)
		g_string_append_printf(line, "%s:", name);
	else if (step->deed == SIM_HEAL && step->other < 0)
		g_string_append(line, "heal");
	else
		g_string_append_printf(line, "%s %s", words[step->deed], name);
	if (step->other >= 0)
		g_string_append_printf(line, " %s", name_of(scenario, step->other));
	add_value(line, step);
	if (step->timed)
		add_when(line, scenario, &step->when, step->line, seed);
	return g_string_free(line, FALSE);
}

static char *
expect_line(const struct sim_scenario *scenario, const struct sim_expect *expect)
{
	GString *line = g_string_new("expect");

	if (expect->reached != NULL) {
		g_string_append(line, " reached");
		add_word(line, expect->reached);
		return g_string_free(line, FALSE);
	}
	g_string_append_printf(line, " %s %s", expect->text != NULL ? "output" : "exit",
			       name_of(scenario, (int)expect->node));
	if (expect->text != NULL)
		add_word(line, expect->text);
	else if (expect->any)
		g_string_append(line, " any");
	else
		g_string_append_printf(line, " %d", expect->status);
	return g_string_free(line, FALSE);
}

static void
add_settings(GPtrArray *lines, const struct sim_scenario *scenario)
{
	g_ptr_array_add(lines, g_strdup_printf("until %" G_GUINT64_FORMAT "ns", scenario->until));
	if (scenario->wire != 0)
		g_ptr_array_add(lines,
				g_strdup_printf("wire %" G_GUINT64_FORMAT "ns", scenario->wire));
	if (scenario->legal)
		g_ptr_array_add(lines, g_strdup("chaos legal"));
	if (scenario->progress != 0)
		g_ptr_array_add(lines, g_strdup_printf("expect progress %" G_GUINT64_FORMAT "ns",
						       scenario->progress));
}

GPtrArray *
sim_scenario_lines(const struct sim_scenario *scenario, uint64_t seed)
{
	GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);

	for (guint i = 0; i < scenario->nodes->len; i++)
		g_ptr_array_add(lines,
				node_line(scenario, g_ptr_array_index(scenario->nodes, i), seed));
	for (guint i = 0; i < scenario->steps->len; i++)
		g_ptr_array_add(lines,
				step_line(scenario, g_ptr_array_index(scenario->steps, i), seed));
	for (guint i = 0; i < scenario->expects->len; i++)
		g_ptr_array_add(lines,
				expect_line(scenario, g_ptr_array_index(scenario->expects, i)));
	add_settings(lines, scenario);
	return lines;
}
