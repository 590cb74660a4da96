/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The calls of it_sim.h. */
#include "sim/it_sim.h"

#include <string.h>

#include "sim/sim.h"

#define PROPERTIES_MAX 64

struct property {
	const struct sim_node *node;
	unsigned life; /* of the node; in another one it is no longer there */
	const char *name;
	int (*holds)(void *arg);
	void *arg;
};

static struct property properties[PROPERTIES_MAX];
static unsigned count;

int
it_sim_do(const char *statement)
{
	struct sim_scenario *scenario = sim_scenario();
	bool paths = scenario->paths, triggers = scenario->triggers;
	g_autoptr(GError) error = NULL;
	const struct sim_step_plan *step = sim_scenario_add(scenario, statement, &error);

	if (step != NULL && scenario->paths && !paths)
		g_set_error_literal(
			&error, G_FILE_ERROR, 0,
			"it_sim_do: the scenario has no statement about paths, such as heal");
	else if (step != NULL && scenario->triggers && !triggers)
		g_set_error_literal(&error, G_FILE_ERROR, 0,
				    "it_sim_do: the scenario has no statement about messages");
	scenario->paths = paths;
	scenario->triggers = triggers;
	if (error != NULL) {
		(void)fprintf(stderr, "%s\n", error->message);
		return -1;
	}
	sim_script_add(step);
	return 0;
}

void
it_sim_reached(const char *name)
{
	const GPtrArray *expects = sim_scenario()->expects;

	for (guint i = 0; i < expects->len; i++) {
		const struct sim_expect *expect = g_ptr_array_index(expects, i);

		if (expect->reached != NULL && strcmp(expect->reached, name) == 0)
			sim_options()->result->reached |= UINT64_C(1) << i;
	}
	sim_note(sim_me, "reaches", name);
}

int
it_sim_always(const char *name, int (*holds)(void *arg), void *arg)
{
	if (count == PROPERTIES_MAX)
		return -1;
	properties[count++] =
		(struct property){sim_me->node, sim_me->node->lives, name, holds, arg};
	return 0;
}

void
it_sim_fail(const char *text)
{
	g_autofree char *kind = g_strdup_printf("%s: %.100s", sim_me->node->plan->name, text);

	sim_fail(kind, "%s: %s", sim_me->node->plan->name, text);
}

uint64_t
it_sim_now(void)
{
	return sim_now();
}

uint64_t
it_sim_random(uint64_t bound)
{
	return sim_random_below(&sim_me->node->random, bound);
}

void
sim_test_check(void)
{
	struct sim_thread *me = sim_me;

	for (unsigned i = 0; i < count; i++) {
		const struct property *property = &properties[i];
		const struct sim_node *node = property->node;
		bool holds;

		if (node->state != SIM_NODE_RUNS || node->lives != property->life)
			continue;
		sim_me = NULL; /* its calls are no steps */
		holds = property->holds(property->arg) != 0;
		sim_me = me;
		if (holds)
			continue;
		g_autofree char *kind = g_strdup_printf("%s: '%.80s' does not hold",
							node->plan->name, property->name);
		sim_fail(kind, "%s, at %" G_GUINT64_FORMAT ".%06u ms", kind, sim_now() / 1000000,
			 (unsigned)(sim_now() % 1000000));
	}
}
