/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The steps of a scenario: kills, restarts, paths between nodes, and when each is due. */
#include "sim/sim.h"

/* A step whose time is drawn. */
struct pending {
	uint64_t at; /* RI_NEVER: it waits for a node, or is done */
	int after;   /* index of the node; -1: it has a time */
	bool start;  /* of a node */
	bool heals;  /* the end of a cut, or of a hold */
	unsigned node;
	uint64_t message;                 /* of the sender, that it waits for; 0: for none */
	const struct sim_step_plan *plan; /* NULL: start */
};

/* What lies between two nodes. */
struct path {
	enum sim_deed state;  /* SIM_HEAL, SIM_CUT or SIM_HOLD */
	uint64_t least, most; /* ns */
	uint64_t drop;
};

static GArray *steps; /* of struct pending */
static struct path paths[SIM_NODES_MAX][SIM_NODES_MAX];
static uint64_t changes;   /* of paths */
static uint64_t last_done; /* when the last step was done */

static void
add(const struct sim_when *when, unsigned node, const struct sim_step_plan *plan, int line)
{
	struct pending step = {.at = RI_NEVER,
			       .after = when->after,
			       .start = plan == NULL,
			       .node = node,
			       .plan = plan};
	uint64_t drawn = sim_scenario_draw(when, line, sim_options()->seed);

	if (when->sender >= 0)
		step.message = drawn;
	else if (when->after < 0)
		step.at = drawn;
	g_array_append_val(steps, step);
}

void
sim_script_begin(void)
{
	const struct sim_scenario *scenario = sim_scenario();

	steps = g_array_new(FALSE, FALSE, sizeof(struct pending));
	/* Those that there are: the whole table has 32 pages, and each seed begins with none. */
	for (unsigned i = 0; i < scenario->nodes->len; i++)
		for (unsigned j = 0; j < scenario->nodes->len; j++)
			paths[i][j].state = SIM_HEAL;
	for (unsigned i = 0; i < scenario->nodes->len; i++) {
		const struct sim_node_plan *node = g_ptr_array_index(scenario->nodes, i);

		add(&node->when, i, NULL, node->line);
	}
	for (unsigned i = 0; i < scenario->steps->len; i++) {
		const struct sim_step_plan *step = g_ptr_array_index(scenario->steps, i);

		if (step->timed || step->deed != SIM_FAULT)
			add(&step->when, step->node, step, step->line);
	}
}

void
sim_script_add(const struct sim_step_plan *step)
{
	struct sim_when now = {.first = sim_now(), .last = sim_now(), .after = -1, .sender = -1};

	add(step->timed ? &step->when : &now, step->node, step, step->line);
}

void
sim_script_message(const struct sim_node *sender, const struct sim_message *message)
{
	bool parted = message->write && message->length > 1;
	bool whole = message->placed == message->length;
	bool inside = parted ? message->placed > 0 && !whole : message->placed == 0;

	for (guint i = 0; i < steps->len; i++) {
		struct pending *step = &g_array_index(steps, struct pending, i);

		if (step->message == 0 || step->message != message->number ||
		    step->plan->when.sender != (int)sender->index ||
		    !(step->plan->when.inside ? inside : whole))
			continue;
		step->message = 0;
		step->at = sim_now();
	}
}

bool
sim_script_settled(uint64_t *since)
{
	const unsigned count = sim_node_count();

	for (guint i = 0; i < steps->len; i++)
		if (g_array_index(steps, struct pending, i).at != RI_NEVER)
			return false;
	for (unsigned i = 0; i < count * count; i++)
		if (paths[i / count][i % count].state != SIM_HEAL)
			return false;
	*since = last_done;
	/* A pause is done when it is over. */
	for (unsigned i = 0; i < count; i++) {
		if (sim_node_of(i)->paused > sim_now())
			return false;
		*since = MAX(*since, sim_node_of(i)->paused);
	}
	return true;
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

/* --- paths ----------------------------------------------------------------------------------- */

/* Tell the adapters of one node of the path to another one, or only that adapter. */
static void
path_tell(unsigned from, unsigned to, int door)
{
	static const char *const words[] = {
		[SIM_CUT] = "cut", [SIM_HOLD] = "hold", [SIM_HEAL] = "open"};
	const struct path *path = &paths[from][to];
	const char *name = sim_node_of(to)->plan->name;
	char *commands[] = {g_strdup_printf("path %s delay %" G_GUINT64_FORMAT
					    " %" G_GUINT64_FORMAT,
					    name, path->least / 1000, path->most / 1000),
			    g_strdup_printf("path %s drop %" G_GUINT64_FORMAT, name, path->drop),
			    g_strdup_printf("path %s %s", name, words[path->state])};

	for (size_t i = 0; i < G_N_ELEMENTS(commands); i++) {
		if (door >= 0)
			sim_doors_ask(sim_node_of(from), door, commands[i]);
		else
			sim_doors_command(sim_node_of(from), commands[i]);
		g_free(commands[i]);
	}
}

static void
path_change(unsigned a, unsigned b, const struct sim_step_plan *plan, bool heals)
{
	struct path *path = &paths[a][b];

	if (heals || plan->deed == SIM_CUT || plan->deed == SIM_HOLD)
		path->state = heals ? SIM_HEAL : plan->deed;
	if (plan->deed == SIM_HEAL)
		*path = (struct path){.state = SIM_HEAL};
	if (plan->deed == SIM_DELAY) {
		path->least = plan->value;
		path->most = plan->most;
	}
	if (plan->deed == SIM_DROP)
		path->drop = plan->value;
	paths[b][a] = *path;
	changes++;
	path_tell(a, b, -1);
	path_tell(b, a, -1);
}

static void
execute_path(const struct pending *step)
{
	const struct sim_step_plan *plan = step->plan;

	for (unsigned i = 0; plan->other < 0 && i < sim_node_count(); i++)
		for (unsigned j = 0; j < i; j++)
			path_change(i, j, plan, step->heals);
	if (plan->other < 0)
		return;
	path_change(plan->node, (unsigned)plan->other, plan, step->heals);
	if (step->heals || plan->value == 0 || (plan->deed != SIM_CUT && plan->deed != SIM_HOLD))
		return;

	struct pending end = *step;

	end.heals = true;
	end.at = sim_now() + plan->value;
	g_array_append_val(steps, end);
}

uint64_t
sim_script_paths(struct sim_node *node, int door)
{
	const uint64_t before = changes;

	for (unsigned i = 0; i < sim_node_count(); i++) {
		const struct path *path = &paths[node->index][i];

		if (path->state != SIM_HEAL || path->most != 0 || path->drop != 0)
			path_tell(node->index, i, door);
	}
	return changes - before;
}

/* --- steps ------------------------------------------------------------------------------------- */

static void
execute(const struct pending *step)
{
	static const char *const words[] = {
		[SIM_KILL] = "kill",   [SIM_RESTART] = "restart", [SIM_PAUSE] = "pause",
		[SIM_SLOW] = "slow",   [SIM_CUT] = "cut",         [SIM_HOLD] = "hold",
		[SIM_DELAY] = "delay", [SIM_DROP] = "drop",       [SIM_HEAL] = "heal",
		[SIM_FAULT] = "fault"};
	struct sim_node *node = sim_node_of(step->node);
	g_autofree char *what =
		g_strdup_printf("script: %s %s",
				step->start   ? "start"
				: step->heals ? "end of"
					      : words[step->plan->deed],
				step->heals ? words[step->plan->deed] : node->plan->name);
	const char *other = step->start || step->plan->other < 0
				    ? ""
				    : sim_node_of((unsigned)step->plan->other)->plan->name;

	sim_note(NULL, what,
		 step->start || step->plan->command == NULL ? other : step->plan->command);
	last_done = sim_now();
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
	case SIM_CUT:
	case SIM_HOLD:
	case SIM_DELAY:
	case SIM_DROP:
	case SIM_HEAL:
		execute_path(step);
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
