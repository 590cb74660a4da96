/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Shrinking: which statements of a scenario does a failure need? The scenario is written out with
 * the times that the seed draws, and runs of lines are left out, in halves, quarters and so on, as
 * long as the same seed fails in the same way. If a line that was left out defines a name that
 * another line uses, the text is not a valid scenario, and counts as not failing.
 */
#include <string.h>

#include "sim/sim_sweep.h"
#include "tool_error.h"

struct shrink {
	const struct sim_sweep_options *options;
	struct sim_shrunk *shrunk;
	GPtrArray *lines; /* of char * */
	bool *kept;
};

static char *
text_of(const struct shrink *shrink)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < shrink->lines->len; i++)
		if (shrink->kept[i])
			g_string_append_printf(text, "%s\n",
					       (const char *)g_ptr_array_index(shrink->lines, i));
	return g_string_free(text, FALSE);
}

/* How the seed fails with this scenario; NULL: it does not. */
static char *
kind_of(struct shrink *shrink, struct sim_scenario *scenario, GError **error)
{
	struct sim_sweep_options options = *shrink->options;
	struct sim_sweep sweep;
	char *kind = NULL;

	options.output = options.trace = options.twice = false;
	options.jobs = 1;
	shrink->shrunk->runs++;
	if (sim_sweep_run(scenario, &options, &sweep, error) && sweep.failures->len > 0)
		kind = g_strdup(
			((const struct sim_failure *)g_ptr_array_index(sweep.failures, 0))->kind);
	sim_sweep_clear(&sweep);
	return kind;
}

static bool
still_fails(struct shrink *shrink)
{
	g_autofree char *text = text_of(shrink), *kind = NULL;
	struct sim_scenario *scenario = sim_scenario_parse(shrink->options->path, text, NULL);

	if (scenario == NULL)
		return false;
	kind = kind_of(shrink, scenario, NULL);
	sim_scenario_free(scenario);
	return g_strcmp0(kind, shrink->shrunk->kind) == 0;
}

/* Leave `count` lines out that are kept, from the one at `*at` on; for good, if it still fails. Moves *at. */
static bool
leave_out(struct shrink *shrink, guint *at, guint count)
{
	g_autofree bool *before = g_memdup2(shrink->kept, sizeof(bool) * shrink->lines->len);
	guint left = 0, i = *at;

	for (; i < shrink->lines->len && left < count; i++) {
		left += shrink->kept[i];
		shrink->kept[i] = false;
	}
	*at = i;
	if (left == 0)
		return false;
	if (still_fails(shrink))
		return true;
	memcpy(shrink->kept, before, sizeof(bool) * shrink->lines->len);
	return false;
}

static guint
count_kept(const struct shrink *shrink)
{
	guint count = 0;

	for (guint i = 0; i < shrink->lines->len; i++)
		count += shrink->kept[i];
	return count;
}

static void
reduce(struct shrink *shrink)
{
	guint size = MAX(count_kept(shrink) / 2, 1);

	for (;;) {
		bool less = false;

		for (guint at = 0; at < shrink->lines->len;)
			less = leave_out(shrink, &at, size) || less;
		if (size == 1 && !less)
			return;
		if (!less)
			size = MAX(size / 2, 1);
	}
}

/* Statements about what happens. */
static guint
count_steps(const char *text)
{
	struct sim_scenario *scenario = sim_scenario_parse("", text, NULL);
	guint count = scenario != NULL ? scenario->steps->len : 0;

	if (scenario != NULL)
		sim_scenario_free(scenario);
	return count;
}

bool
sim_shrink(struct sim_scenario *scenario, const struct sim_sweep_options *options,
	   struct sim_shrunk *shrunk, GError **error)
{
	struct shrink shrink = {.options = options, .shrunk = shrunk};
	GError *inner = NULL;

	*shrunk = (struct sim_shrunk){.before = scenario->steps->len};
	shrunk->kind = kind_of(&shrink, scenario, &inner);
	if (inner != NULL) {
		g_propagate_error(error, inner);
		return false;
	}
	if (shrunk->kind == NULL)
		return true;
	shrink.lines = sim_scenario_lines(scenario, options->first);
	shrink.kept = g_new(bool, shrink.lines->len);
	memset(shrink.kept, true, sizeof(bool) * shrink.lines->len);
	if (still_fails(&shrink))
		reduce(&shrink);
	shrunk->text = text_of(&shrink);
	shrunk->after = count_steps(shrunk->text);
	g_ptr_array_unref(shrink.lines);
	g_free(shrink.kept);
	return true;
}

void
sim_shrunk_clear(struct sim_shrunk *shrunk)
{
	g_free(shrunk->kind);
	g_free(shrunk->text);
}
