/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * On a terminal one line is printed each second, about the rounds since the line before. A summary
 * of all rounds is printed at the end, also when the user stops the program.
 */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ping.h"
#include "tool_error.h"
#include "tool_figures.h"
#include "tool_json.h"
#include "tool_signal.h"

#define LINE_NS UINT64_C(1000000000)

/* What was measured. */
struct run {
	struct tool_figures all;
	struct tool_figures lately; /* since the last line on the terminal */
	uint64_t begin;             /* ns */
	uint64_t line;              /* when that was printed */
	bool watched;               /* standard output is a terminal */
};

bool
ping_end_open(struct ping_end *end, struct tool_adapter *adapter, unsigned seconds,
	      struct tool_watch *watch, GError **error)
{
	struct tool_link_spec spec = tool_mail_spec(seconds);

	spec.watch = watch;
	memset(end, 0, sizeof(*end));
	return tool_link_make(&end->link, adapter, &spec, error) &&
	       tool_mail_open(&end->mail, &end->link, error);
}

bool
ping_end_buffers(struct ping_end *end, uint64_t size, GError **error)
{
	const struct tool_adapter *adapter = end->link.adapter;

	end->size = size;
	return tool_memory_make(&end->source, adapter, size, IT_PRIV_REMOTE_READ, false, error) &&
	       tool_memory_make(&end->sink, adapter, size, IT_PRIV_REMOTE_WRITE, false, error);
}

void
ping_end_close(struct ping_end *end)
{
	tool_link_close(&end->link);
	tool_mail_close(&end->mail);
	tool_memory_free(&end->source);
	tool_memory_free(&end->sink);
}

/* On a terminal a line each second; every round with --verbose. */
/* False: what it prints is lost, so there is no reason to go on. */
static bool
show_round(const struct ping *ping, struct run *run, uint64_t number, uint64_t ns, GError **error)
{
	uint64_t now = tool_now();

	if (ping->options.json)
		return true;
	if (ping->verbose) {
		printf("round %" G_GUINT64_FORMAT ": %" G_GUINT64_FORMAT
		       " octets verified, %.0f us\n",
		       number, ping->size, (double)ns / 1e3);
		return tool_output_good(error);
	}
	if (!run->watched || now - run->line < LINE_NS)
		return true;
	printf("%6.0f s %10" G_GUINT64_FORMAT " rounds, us: min %.0f, median %.0f, max %.0f\n",
	       (double)(now - run->begin) / 1e9, run->all.count, (double)run->lately.min / 1e3,
	       tool_figures_percentile(&run->lately, 0.5), (double)run->lately.max / 1e3);
	memset(&run->lately, 0, sizeof(run->lately));
	run->line = now;
	return tool_output_good(error);
}

static bool
make_rounds(const struct ping *ping, const struct ping_rounds *rounds, struct ping_end *end,
	    struct run *run, GError **error)
{
	run->begin = tool_now();
	run->line = run->begin;
	for (uint64_t number = 0; ping->count == 0 || number < ping->count; number++) {
		uint64_t begin = tool_now();
		uint64_t ns;

		if (tool_stopped())
			return tool_fail(error, TOOL_ERROR_INTERRUPTED, "interrupted");
		if (!rounds->round(end, number, error))
			return false;
		ns = tool_now() - begin;
		tool_figures_add(&run->all, ns);
		tool_figures_add(&run->lately, ns);
		if (!show_round(ping, run, number, ns, error))
			return false;
	}
	return true;
}

static void
report_run(const struct ping *ping, const struct run *run, bool stopped)
{
	double seconds = (double)(tool_now() - run->begin) / 1e9;
	g_autofree char *text = tool_figures_text(&run->all);
	JsonBuilder *json;

	if (!ping->options.json) {
		printf("%" G_GUINT64_FORMAT " round trips of %" G_GUINT64_FORMAT
		       " octets verified in %.1f s\nus: %s\n",
		       run->all.count, ping->size, seconds, text);
		return;
	}
	json = tool_json_begin(PING_PROGRAM);
	tool_json_boolean(json, "ok", true);
	tool_json_boolean(json, "stopped", stopped);
	tool_json_text(json, "adapter", ping->options.adapter);
	tool_json_text(json, "protocol", ping->rping ? "rping" : PING_PROGRAM);
	tool_json_count(json, "rounds", run->all.count);
	tool_json_count(json, "size", ping->size);
	tool_json_number(json, "seconds", seconds);
	tool_figures_json(&run->all, json);
	tool_json_print(json);
}

/* The rounds that were done count also if the user wants no more, or one failed. */
bool
ping_measure(struct ping *ping, const struct ping_rounds *rounds, struct ping_end *end,
	     GError **error)
{
	struct run run = {.watched = isatty(STDOUT_FILENO)};
	GError *trouble = NULL;
	bool good = make_rounds(ping, rounds, end, &run, &trouble) &&
		    (rounds->finish == NULL || rounds->finish(end, &trouble));
	bool stopped = g_error_matches(trouble, TOOL_ERROR, TOOL_ERROR_INTERRUPTED);

	if (good || stopped || (run.all.count > 0 && !ping->options.json))
		report_run(ping, &run, stopped);
	ping->options.told = stopped;
	if (trouble != NULL)
		g_propagate_error(error, trouble);
	return good;
}
