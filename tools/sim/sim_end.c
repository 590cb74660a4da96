/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* How a run ends, and its output: the result, the trace, and what each thread waits for. */
#include "sim/sim.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "sim/sim_real.h"

static const struct sim_options *options;
static struct sim_scenario *scenario;

const struct sim_options *
sim_options(void)
{
	return options;
}

struct sim_scenario *
sim_scenario(void)
{
	return scenario;
}

void
sim_end_begin(struct sim_scenario *the_scenario, const struct sim_options *the_options)
{
	scenario = the_scenario;
	options = the_options;
	options->result->hash = UINT64_C(14695981039346656037);
}

/* --- the trace ---------------------------------------------------------------------------------- */

void
sim_trace_line(const char *text)
{
	g_autofree char *line = g_strconcat(text, "\n", NULL);
	const char *next = line;

	/* The functions of this program would take it for output of the node that runs. */
	for (size_t left = strlen(line); left > 0;) {
		const ssize_t written = SIM_REAL(write)(STDOUT_FILENO, next, left);

		if (written < 0 && errno != EINTR)
			return;
		next += MAX(written, 0);
		left -= (size_t)MAX(written, 0);
	}
}

void
sim_note(const struct sim_thread *thread, const char *what, const char *detail)
{
	struct sim_result *result = options->result;
	const char *node = thread == NULL         ? "-"
			   : thread->node == NULL ? "adapters"
						  : thread->node->plan->name;
	char line[256];
	int len;

	len = g_snprintf(line, sizeof(line), "%" G_GUINT64_FORMAT ".%06u ms  %s",
			 sim_now() / 1000000, (unsigned)(sim_now() % 1000000), node);
	if (thread != NULL && thread->node != NULL && (thread->number > 1 || thread->reaper) &&
	    len < (int)sizeof(line))
		len += g_snprintf(line + len, sizeof(line) - (gulong)len,
				  thread->reaper ? "/end" : "/%u", thread->number);
	if (len < (int)sizeof(line))
		g_snprintf(line + len, sizeof(line) - (gulong)len, "  %s%s%s", what,
			   *detail != '\0' ? " " : "", detail);
	for (const char *c = line; *c != '\0'; c++)
		result->hash = (result->hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
	result->steps++;
	g_snprintf(result->running, sizeof(result->running), "%s", node);
	result->time = sim_now();
	if (options->trace)
		sim_trace_line(line);
}

/* --- waiting threads ----------------------------------------------------------------------------------- */

static void
tell_thread(GString *text, const struct sim_thread *thread)
{
	const char *call = thread->call != NULL ? thread->call : thread->wait;

	if (thread->node == NULL || thread->state == SIM_OVER || thread->state == SIM_FROZEN)
		return;
	g_string_append_printf(text, "  %s", thread->node->plan->name);
	if (thread->node->threads > 1)
		g_string_append_printf(text, ", thread %u,", thread->number);
	g_string_append_printf(text, " %s %s%s%s, since %" G_GUINT64_FORMAT ".%06u ms\n",
			       thread->state == SIM_BLOCKED ? "waits in"
			       : thread->idle               ? "polls in"
							    : "can run, in",
			       call != NULL ? call : "its own code",
			       thread->detail[0] != '\0' ? " for " : "", thread->detail,
			       thread->since / 1000000, (unsigned)(thread->since % 1000000));
}

/* A node without a thread to describe: it has not begun, or it has failed. */
static void
tell_node(GString *text, const struct sim_node *node)
{
	if (node->state == SIM_NODE_WAITS)
		g_string_append_printf(text, "  %s was not started\n", node->plan->name);
	else if (node->state == SIM_NODE_ENDED && node->killed)
		g_string_append_printf(text, "  %s was killed\n", node->plan->name);
	else if (node->state == SIM_NODE_ENDED && node->status != 0)
		g_string_append_printf(text, "  %s ended with %d%s%s\n", node->plan->name,
				       node->status, node->complaint != NULL ? ": " : "",
				       node->complaint != NULL ? node->complaint : "");
}

char *
sim_who_waits(void)
{
	GString *text = g_string_new(NULL);
	GSList *threads = NULL;

	for (struct sim_thread *thread = sim_threads(); thread != NULL; thread = thread->next)
		threads = g_slist_prepend(threads, thread); /* the oldest first */
	for (GSList *one = threads; one != NULL; one = one->next)
		tell_thread(text, one->data);
	for (unsigned i = 0; i < sim_node_count(); i++)
		tell_node(text, sim_node_of(i));
	if (text->len > 0)
		g_string_truncate(text, text->len - 1);
	g_slist_free(threads);
	return g_string_free(text, FALSE);
}

/* --- the end --------------------------------------------------------------------------------------- */

static _Noreturn void
leave(void)
{
	sim_node_streams_end();
	options->result->ended = true;
	options->result->time = sim_now();
	SIM_REAL(_exit)(0);
	__builtin_unreachable();
}

void
sim_fail(const char *kind, const char *format, ...)
{
	struct sim_result *result = options->result;
	va_list args;

	va_start(args, format);
	g_vsnprintf(result->text, sizeof(result->text), format, args);
	va_end(args);
	g_strlcpy(result->kind, kind, sizeof(result->kind));
	leave();
}

void
sim_stuck(const char *kind, const char *text)
{
	uint64_t since;

	if (scenario->progress == 0 || !sim_script_settled(&since))
		sim_fail(kind, "%s", text);
	sim_fail("no progress after all is healed",
		 "no progress after all is healed, at %" G_GUINT64_FORMAT ".%06u ms; %s",
		 since / 1000000, (unsigned)(since % 1000000), text);
}

void
sim_refuse(const char *call)
{
	const char *node =
		sim_me != NULL && sim_me->node != NULL ? sim_me->node->plan->name : "a callback";
	g_autofree char *kind = g_strdup_printf("%s calls %s()", node, call);

	sim_fail(kind, "%s calls %s(), which it-sim does not simulate", node, call);
}

static bool
has_line(const struct sim_node *node, const char *text)
{
	for (guint i = 0; i < node->lines->len; i++)
		if (strcmp(g_ptr_array_index(node->lines, i), text) == 0)
			return true;
	return strcmp(node->line[0]->str, text) == 0;
}

/* What is wrong with a node, as its expectation has it; NULL: nothing. */
static char *
judge_expect(const struct sim_expect *expect)
{
	const struct sim_node *node = sim_node_of(expect->node);
	const char *name = node->plan->name, *said = node->complaint;

	if (expect->any || expect->reached != NULL)
		return NULL; /* of places, all seeds together are judged */
	if (expect->text != NULL)
		return has_line(node, expect->text)
			       ? NULL
			       : g_strdup_printf("%s did not write '%.80s'", name, expect->text);
	if (node->state != SIM_NODE_ENDED)
		return g_strdup_printf("%s did not end; expected exit status %d", name,
				       expect->status);
	if (node->killed)
		return g_strdup_printf("%s was killed; expected exit status %d", name,
				       expect->status);
	if (node->status == expect->status)
		return NULL;
	return g_strdup_printf("%s ended with %d; expected %d%s%.100s", name, node->status,
			       expect->status, said != NULL ? ": " : "", said != NULL ? said : "");
}

static bool
is_expected(unsigned index)
{
	for (guint i = 0; i < scenario->expects->len; i++) {
		const struct sim_expect *expect = g_ptr_array_index(scenario->expects, i);

		if (expect->node == index && expect->text == NULL && expect->reached == NULL)
			return true;
	}
	return false;
}

/* What is wrong, and when the node ended that it is wrong with. */
struct verdict {
	char *kind; /* of the node that ended first, which often is the cause of the others */
	uint64_t ended;
	GPtrArray *all;
};

static void
judge(struct verdict *verdict, const struct sim_expect *expect)
{
	const struct sim_node *node = sim_node_of(expect->node);
	uint64_t ended = node->state == SIM_NODE_ENDED ? node->ended : RI_NEVER;
	char *wrong = judge_expect(expect);

	if (wrong == NULL)
		return;
	if (verdict->kind == NULL || ended < verdict->ended) {
		verdict->kind = wrong;
		verdict->ended = ended;
	}
	g_ptr_array_add(verdict->all, wrong);
}

/* The node of the kind comes first. */
static char *
verdict_text(const struct verdict *verdict)
{
	GString *text = g_string_new(verdict->kind);

	for (guint i = 0; i < verdict->all->len; i++)
		if (g_ptr_array_index(verdict->all, i) != verdict->kind)
			g_string_append_printf(text, "\n  %s",
					       (char *)g_ptr_array_index(verdict->all, i));
	return g_string_free(text, FALSE);
}

void
sim_finish(void)
{
	struct verdict verdict = {.all = g_ptr_array_new()};

	for (guint i = 0; i < scenario->expects->len; i++)
		judge(&verdict, g_ptr_array_index(scenario->expects, i));
	for (unsigned i = 0; i < sim_node_count(); i++) {
		const struct sim_expect zero = {.node = i};
		const struct sim_node *node = sim_node_of(i);

		if (node->state == SIM_NODE_ENDED && !node->killed && !is_expected(i))
			judge(&verdict, &zero);
	}
	if (verdict.kind != NULL)
		sim_fail(verdict.kind, "%s", verdict_text(&verdict));
	options->result->good = true;
	leave();
}
