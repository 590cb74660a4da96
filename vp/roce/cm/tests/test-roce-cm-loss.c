/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Connections over a link that loses datagrams: exactly the k-th, each pair of two, and at random with a seed. Every run ends
 * with both sides in agreement: established at both, or refused at both; and ended at both, with nothing left.
 */
#include "cm_sim.h"

#define PORT 7174

enum story {
	STORY_ACTIVE_LEAVES = 0, /* connect, established, the active side disconnects */
	STORY_PASSIVE_LEAVES,
	STORY_BOTH_LEAVE,
	STORY_REJECTED,
	STORY_THREE_WAY,
	STORY_REFUSED, /* three-way: the active side refuses the reply */
	STORY_QUERY,   /* a datagram service */
	STORY_COUNT
};

struct app {
	enum story story;
	guint64 late; /* the application takes so long for each answer */
};

/* What an application does, when its time has come. */
struct chore {
	struct sim_node *node;
	guint64 at;
	struct vrc_event event;
};

static GPtrArray *chores;

static void
chore_do(struct chore *chore)
{
	struct sim_node *node = chore->node;
	const struct app *app = node->app;
	bool active = node == &node->sim->a;
	struct vrc_params params = sim_params(node, 0);
	struct ri_service_answer found = {.status = RI_SERVICE_FOUND, .qpn = 0x33, .qkey = 0x44};
	enum ri_status status = RI_SUCCESS;

	params.qpn = 0x22;
	switch ((int)chore->event.cm.kind) {
	case RI_CM_REQUEST:
		if (app->story == STORY_REJECTED)
			status = vrc_reject(node->cm, chore->event.number, RI_CM_REASON_CONSUMER,
					    NULL, 0);
		else
			status = vrc_accept(node->cm, chore->event.number, &params);
		break;
	case RI_CM_SERVICE_REQUEST:
		status = vrc_answer(node->cm, chore->event.number, &found);
		break;
	case RI_CM_REPLY:
		status = vrc_confirm(node->cm, chore->event.number, app->story != STORY_REFUSED,
				     NULL, 0);
		break;
	case RI_CM_ESTABLISHED:
		if (app->story == STORY_BOTH_LEAVE ||
		    (app->story == STORY_PASSIVE_LEAVES ? !active : active))
			status = vrc_disconnect(node->cm, chore->event.number, NULL, 0);
		break;
	default:
		break;
	}
	/* Meanwhile the peer may have ended it. */
	g_assert_true(status == RI_SUCCESS || status == RI_ERR_INVALID_STATE ||
		      status == RI_ERR_INVALID_HANDLE);
}

static void
chore_add(struct sim_node *node, const struct vrc_event *event)
{
	const struct app *app = node->app;
	struct chore *chore = g_new0(struct chore, 1);

	chore->node = node;
	chore->at = node->sim->now + app->late;
	chore->event = *event;
	g_ptr_array_add(chores, chore);
}

static void
run(struct sim *sim, guint64 until)
{
	while (sim->now < until) {
		struct chore *first = NULL;
		for (guint i = 0; i < chores->len; i++) {
			struct chore *chore = g_ptr_array_index(chores, i);
			if (first == NULL || chore->at < first->at)
				first = chore;
		}
		if (first == NULL || first->at > until) {
			guint before = chores->len;
			/* An application that has nothing to do is woken by an event. */
			guint64 due = MIN(vrc_cm_due(sim->a.cm), vrc_cm_due(sim->b.cm));
			sim_run(sim, sim->flying->len > 0 ? sim->now + MS : MIN(until, due));
			if (chores->len == before && sim->flying->len == 0 &&
			    MIN(vrc_cm_due(sim->a.cm), vrc_cm_due(sim->b.cm)) == RI_NEVER)
				return;
			continue;
		}
		sim_run(sim, MAX(first->at, sim->now));
		chore_do(first);
		g_ptr_array_remove(chores, first);
	}
}

static void
start(struct sim *sim, struct app *app, guint32 seed)
{
	sim_start(sim, seed);
	chores = g_ptr_array_new_with_free_func(g_free);
	sim->a.app = sim->b.app = app;
	sim->a.on_event = sim->b.on_event = chore_add;
	sim_listen(&sim->b, PORT, 8);
}

static void
stop(struct sim *sim)
{
	g_ptr_array_free(chores, TRUE);
	sim_stop(sim);
}

static void
begin(struct sim *sim, const struct app *app)
{
	struct vrc_params params = sim_params(&sim->a, PORT);
	guint64 number;

	params.three_way = app->story == STORY_THREE_WAY || app->story == STORY_REFUSED;
	if (app->story == STORY_QUERY)
		g_assert_cmpint(vrc_resolve(sim->a.cm, &params, &number), ==, RI_SUCCESS);
	else
		g_assert_cmpint(vrc_connect(sim->a.cm, &params, &number), ==, RI_SUCCESS);
}

static guint
ends(struct sim_node *node)
{
	return sim_count_events(node, RI_CM_DISCONNECTED) + sim_count_events(node, RI_CM_BROKEN);
}

static guint
failures(struct sim_node *node)
{
	return sim_count_events(node, RI_CM_FAILED) + sim_count_events(node, RI_CM_REJECTED);
}

/* Both sides agree on what has happened; `sure`: and it is what the story says, since enough datagrams have arrived. */
static void
judge(struct sim *sim, const struct app *app, bool sure)
{
	guint up_a = sim_count_events(&sim->a, RI_CM_ESTABLISHED);
	guint up_b = sim_count_events(&sim->b, RI_CM_ESTABLISHED);
	bool fails = app->story == STORY_REJECTED || app->story == STORY_REFUSED;

	g_assert_cmpuint(sim_counts(&sim->a).conns, ==, 0);
	g_assert_cmpuint(sim_counts(&sim->b).conns, ==, 0);
	g_assert_cmpuint(sim_counts(&sim->b).requests, ==, 0);
	if (app->story == STORY_QUERY) {
		const struct vrc_event *reply = sim_event(&sim->a, RI_CM_SERVICE_REPLY, 0);
		g_assert_cmpuint(sim->a.events->len, ==, 1);
		if (sure)
			g_assert_cmpuint(reply->cm.qpn, ==, 0x33);
		return;
	}
	/* Each end is raised once, and each side that was established ends. */
	g_assert_cmpuint(up_a, <=, 1);
	g_assert_cmpuint(up_b, <=, sim_count_events(&sim->b, RI_CM_REQUEST));
	g_assert(up_b == 0 || up_a == 1);
	g_assert_cmpuint(ends(&sim->a), ==, up_a);
	g_assert_cmpuint(ends(&sim->b), ==, up_b);
	bool refused = app->story == STORY_REFUSED && sim_event(&sim->a, RI_CM_REPLY, 0) != NULL;
	g_assert_cmpuint(failures(&sim->a), ==, 1 - up_a - refused);
	if (sure) {
		g_assert_cmpuint(up_a, ==, !fails);
		g_assert_cmpuint(up_b, ==, !fails);
		g_assert_cmpuint(sim_count_events(&sim->b, RI_CM_REQUEST), ==, 1);
		g_assert_cmpuint(failures(&sim->b), ==, app->story == STORY_REFUSED);
	}
}

/* A run with these datagrams lost; returns how many were sent. */
static guint
run_story(enum story story, guint64 late, guint k, guint l)
{
	struct app app = {.story = story, .late = late};
	struct sim sim RI_AT_END(stop);

	start(&sim, &app, 7);
	sim.drops[0] = k;
	sim.drops[1] = l;
	begin(&sim, &app);
	run(&sim, sim.now + 400 * SEC);
	/* Nobody repeats the REJ of a side that refuses a reply: the REP is repeated instead, and gets it again. */
	judge(&sim, &app, true);
	guint sent = sim.sent;
	return sent;
}

static void
test_each(void)
{
	guint runs = 0;

	for (guint story = 0; story < STORY_COUNT; story++) {
		guint sent = run_story((enum story)story, 0, G_MAXUINT, G_MAXUINT);
		for (guint k = 0; k < sent + 3; k++, runs++)
			(void)run_story((enum story)story, 0, k, G_MAXUINT);
	}
	g_test_message("%u runs", runs);
}

static void
test_pairs(void)
{
	guint runs = 0;

	for (guint story = 0; story < STORY_COUNT; story++) {
		for (guint k = 0; k < 8; k++) {
			for (guint l = k + 1; l < 10; l++, runs++)
				(void)run_story((enum story)story, 0, k, l);
		}
	}
	g_test_message("%u runs", runs);
}

/* The applications are slow: copies come meanwhile, and MRAs answer them. */
static void
test_slow(void)
{
	for (guint story = 0; story < STORY_COUNT; story++) {
		for (guint k = 0; k < 8; k++)
			(void)run_story((enum story)story, 3 * SEC, k, G_MAXUINT);
	}
}

static void
test_random(void)
{
	guint seeds = g_test_slow() ? 20000 : 1500;
	guint ended[2] = {0};
	guint wanted = 0;

	for (guint32 seed = 0; seed < seeds; seed++) {
		struct app app = {.story = (enum story)(seed % STORY_COUNT),
				  .late = seed % 3 == 0 ? seed % 1000 * MS : 0};
		struct sim sim RI_AT_END(stop);

		start(&sim, &app, seed);
		sim.loss = seed % 5 * 0.1;
		sim.twice = seed % 4 * 0.15;
		sim.delay_max = seed % 2 == 0 ? 1500 * MS : 20 * MS;
		begin(&sim, &app);
		run(&sim, sim.now + 1000 * SEC);
		bool up = sim_event(&sim.a, RI_CM_ESTABLISHED, 0) != NULL;
		ended[up]++;
		wanted += app.story != STORY_REJECTED && app.story != STORY_REFUSED &&
			  app.story != STORY_QUERY;
		if (g_test_verbose())
			g_test_message("seed %u", seed);
		judge(&sim, &app, false);
		if (app.story != STORY_QUERY && up)
			g_assert_cmpuint(sim_count_events(&sim.b, RI_CM_ESTABLISHED), >=, 1);
	}
	g_test_message("%u runs established of %u that should be", ended[1], wanted);
	g_assert_cmpuint(ended[1], >=, wanted - wanted / 100);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/roce/cm/loss/each", test_each);
	g_test_add_func("/roce/cm/loss/pairs", test_pairs);
	g_test_add_func("/roce/cm/loss/slow", test_slow);
	g_test_add_func("/roce/cm/loss/random", test_random);
	return g_test_run();
}
