/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What the scenario does to nodes, and when. */
#include "sim/sim.h"

/* A step whose time is drawn. */
struct pending {
	uint64_t at; /* RI_NEVER: it waits for a node, or is done */
	int after;   /* index of the node; -1: it has a time */
	bool start;  /* of a node */
	unsigned node;
	const struct sim_step_plan *plan; /* NULL: start */
};

static GArray *steps; /* of struct pending */

static void
add(const struct sim_when *when, unsigned node, const struct sim_step_plan *plan,
    struct sim_random *random)
{
	struct pending step = {.at = RI_NEVER,
			       .after = when->after,
			       .start = plan == NULL,
			       .node = node,
			       .plan = plan};

	if (when->after < 0)
		step.at = when->first + sim_random_below(random, when->last - when->first + 1);
	g_array_append_val(steps, step);
}

void
sim_script_begin(uint64_t seed)
{
	const struct sim_scenario *scenario = sim_scenario();
	struct sim_random random;

	steps = g_array_new(FALSE, FALSE, sizeof(struct pending));
	sim_random_seed(&random, seed, "script");
	for (unsigned i = 0; i < scenario->nodes->len; i++) {
		const struct sim_node_plan *node = g_ptr_array_index(scenario->nodes, i);

		add(&node->when, i, NULL, &random);
	}
	for (unsigned i = 0; i < scenario->steps->len; i++) {
		const struct sim_step_plan *step = g_ptr_array_index(scenario->steps, i);

		if (step->timed || step->deed != SIM_FAULT)
			add(&step->when, step->node, step, &random);
	}
}

uint64_t
sim_script_next(void)
{
	uint64_t next = RI_NEVER;

	for (guint i = 0; i < steps->len; i++)
		next = MIN(next, g_array_index(steps, struct pending, i).at);
	return next;
}

bool
sim_script_will_start(void)
{
	for (guint i = 0; i < steps->len; i++) {
		const struct pending *step = &g_array_index(steps, struct pending, i);

		if ((step->at != RI_NEVER || step->after >= 0) &&
		    (step->start || step->plan->deed == SIM_RESTART))
			return true;
	}
	return false;
}

void
sim_script_node_ended(const struct sim_node *node)
{
	for (guint i = 0; i < steps->len; i++) {
		struct pending *step = &g_array_index(steps, struct pending, i);

		if (step->after == (int)node->index) {
			step->after = -1;
			step->at = sim_now();
		}
	}
}

static void
restart(struct sim_node *node)
{
	if (node->state == SIM_NODE_RUNS)
		sim_node_end(node, 0, true);
	if (node->state == SIM_NODE_ENDED)
		sim_node_start(node);
}

static void
execute(const struct pending *step)
{
	static const char *const words[] = {[SIM_KILL] = "kill",
					    [SIM_RESTART] = "restart",
					    [SIM_PAUSE] = "pause",
					    [SIM_SLOW] = "slow",
					    [SIM_FAULT] = "fault"};
	struct sim_node *node = sim_node_of(step->node);
	g_autofree char *what = g_strdup_printf(
		"script: %s %s", step->start ? "start" : words[step->plan->deed], node->plan->name);

	sim_note(NULL, what, step->start || step->plan->command == NULL ? "" : step->plan->command);
	if (step->start) {
		sim_node_start(node);
		return;
	}
	switch (step->plan->deed) {
	case SIM_KILL:
		if (node->state == SIM_NODE_RUNS)
			sim_node_end(node, 0, true);
		break;
	case SIM_RESTART:
		restart(node);
		break;
	case SIM_PAUSE:
		node->paused = sim_now() + step->plan->value;
		break;
	case SIM_SLOW:
		node->slow = step->plan->value;
		break;
	case SIM_FAULT:
	default:
		sim_doors_command(node, step->plan->command);
		break;
	}
}

/* A node that is restarted must have ended first: its adapters are closed, which takes steps. */
static bool
must_wait(const struct pending *step)
{
	struct sim_node *node = sim_node_of(step->node);

	if (step->start || step->plan->deed != SIM_RESTART)
		return false;
	if (node->state == SIM_NODE_RUNS)
		sim_node_end(node, 0, true);
	return node->state == SIM_NODE_DIES;
}

bool
sim_script_do(void)
{
	for (guint i = 0; i < steps->len; i++) {
		struct pending *step = &g_array_index(steps, struct pending, i);
		struct pending due = *step;

		if (due.at > sim_now())
			continue;
		step->at = RI_NEVER;
		step->after = -1;
		if (must_wait(&due)) {
			step->after = (int)due.node; /* when the adapters are closed */
			continue;
		}
		execute(&due);
		return true;
	}
	return false;
}
