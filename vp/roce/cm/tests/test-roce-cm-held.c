/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Requests that come while a listener is closed for a moment: held, refused in time, and no more of them than there are places. */
#include "cm_sim.h"

#define PORT  7174
#define HELD  (1000 * MS) /* from the end of a listener on */
#define MOST  16
#define FLOOD 1000

static void
accept_all(struct sim_node *node, const struct vrc_event *event)
{
	struct vrc_params params = sim_params(node, 0);

	params.qpn = 0x22;
	if (event->cm.kind == RI_CM_REQUEST)
		g_assert_cmpint(vrc_accept(node->cm, event->number, &params), ==, RI_SUCCESS);
}

/* A side that has just closed its listener: the moment at which it did. */
static uint64_t
start(struct sim *sim)
{
	sim_start(sim, 5);
	sim->b.on_event = accept_all;
	vrc_listen_free(sim->b.cm, sim_listen(&sim->b, PORT, 4));
	return sim->now;
}

static void
check_refused(struct sim *sim, guint number)
{
	struct vrc_mad rej;

	g_assert_cmpuint(sim_count_mads(sim, VRC_REJ), ==, number);
	sim_last_mad(sim, VRC_REJ, &rej);
	g_assert_cmpuint(rej.rej.reason, ==, VRC_REJ_NO_SERVICE);
}

/* The next listener gets the request, with its own context. */
static void
opened_again(void)
{
	struct sim sim RI_AT_END(sim_stop);
	uint64_t since = start(&sim);

	(void)sim_connect(&sim.a, PORT);
	sim_run(&sim, since + 300 * MS);
	g_assert_cmpuint(sim_count_mads(&sim, VRC_REJ), ==, 0);
	g_assert_cmpuint(sim_counts(&sim.b).conns, ==, 0);
	(void)sim_listen(&sim.b, PORT + 1, 4);
	sim_run(&sim, since + 400 * MS);
	g_assert_null(sim_event(&sim.a, RI_CM_ESTABLISHED, 0));
	(void)sim_listen(&sim.b, PORT, 4);
	sim_run(&sim, since + 500 * MS);
	g_assert_nonnull(sim_event(&sim.a, RI_CM_ESTABLISHED, 0));
	g_assert_cmpuint(sim_event(&sim.b, RI_CM_REQUEST, 0)->cm.ctx, ==, 55);
	g_assert_cmpuint(sim_count_events(&sim.b, RI_CM_REQUEST), ==, 1);
}

/* No listener comes: the refusal is sent once, when the time is over. After that nothing is held. */
static void
refused_late(void)
{
	struct sim sim RI_AT_END(sim_stop);
	uint64_t since = start(&sim);

	(void)sim_connect(&sim.a, PORT);
	sim_run(&sim, since + HELD - 100 * MS);
	g_assert_cmpuint(sim_count_mads(&sim, VRC_REJ), ==, 0);
	sim_run(&sim, since + HELD + 100 * MS);
	check_refused(&sim, 1);
	g_assert_cmpint(sim_event(&sim.a, RI_CM_FAILED, 0)->cm.reason, ==, RI_CM_REASON_REFUSED);
	(void)sim_connect(&sim.a, PORT);
	sim_run(&sim, since + HELD + 200 * MS);
	check_refused(&sim, 2);
}

/* A service that nobody listened to is refused at once, and so is a held request when the manager ends. */
static void
refused_at_once(void)
{
	struct sim sim RI_AT_END(sim_stop);
	uint64_t since = start(&sim);
	const struct vrc_config config = {.host = &sim.host, .path_mtu = 1024, .max_conns = 1};

	(void)sim_connect(&sim.a, PORT + 1);
	sim_run(&sim, since + 100 * MS);
	check_refused(&sim, 1);
	(void)sim_connect(&sim.a, PORT);
	sim_run(&sim, since + 200 * MS);
	check_refused(&sim, 1);
	vrc_cm_free(sim.b.cm);
	check_refused(&sim, 2);
	sim.b.cm = vrc_cm_new(&config); /* for sim_stop */
}

/* Many requests: those that have no place are refused at once. Copies of those that wait take none, and get no answer. */
static void
flood(void)
{
	struct vrc_mad req;
	struct sim sim RI_AT_END(sim_stop);
	uint64_t since = start(&sim);

	sim.mute = &sim.a;
	(void)sim_connect(&sim.a, PORT);
	sim_last_mad(&sim, VRC_REQ, &req);
	for (guint i = 0; i < FLOOD; i++) {
		req.local_id = req.tid = 1 + i;
		req.req.qpn = 0x100 + i;
		for (guint copy = 0; copy < 2; copy++)
			if (copy == 0 || i < MOST)
				sim_inject_mad(&sim.b, &req);
	}
	check_refused(&sim, FLOOD - MOST);
	g_assert_cmpuint(sim_counts(&sim.b).conns, ==, 0);
	sim_run(&sim, since + HELD + 100 * MS);
	check_refused(&sim, FLOOD);
}

static void
open_and_close(struct sim *sim)
{
	struct vrc_listen *listen = sim_listen(&sim->b, PORT, 4);

	sim_run(sim, sim->now + 10 * MS);
	vrc_listen_free(sim->b.cm, listen);
}

/* A server that takes one connection at a time opens and closes its listener again and again: each gap is as long as the first. */
static void
closed_again(void)
{
	struct sim sim RI_AT_END(sim_stop);

	(void)start(&sim);
	for (guint gap = 1; gap <= 3 * MOST; gap++) {
		open_and_close(&sim);
		/* The time of that end is not over, and nearly so. */
		sim_run(&sim, sim.now + HELD - 200 * MS);
		open_and_close(&sim);
		uint64_t since = sim.now;

		sim_run(&sim, since + 250 * MS);
		(void)sim_connect(&sim.a, PORT);
		sim_run(&sim, since + HELD - 100 * MS);
		g_assert_cmpuint(sim_count_mads(&sim, VRC_REJ), ==, gap - 1);
		sim_run(&sim, since + HELD + 100 * MS);
		check_refused(&sim, gap);
	}
}

/* A peer gives its attempt up: the next listener does not hear of it, and its place is free for another one. */
static void
withdrawn(void)
{
	struct sim sim RI_AT_END(sim_stop);
	uint64_t since = start(&sim);
	struct vrc_mad stranger;
	guint64 number;

	for (guint i = 0; i <= MOST; i++) {
		number = sim_connect(&sim.a, PORT);
		sim_run(&sim, sim.now + 10 * MS);
		/* Another peer has another transaction. */
		sim_last_mad(&sim, VRC_REQ, &stranger);
		stranger = (struct vrc_mad){.attribute = VRC_REJ,
					    .local_id = stranger.local_id,
					    .tid = stranger.tid + 1,
					    .rej = {.reason = VRC_REJ_TIMEOUT}};
		sim_inject_mad(&sim.b, &stranger);
		if (i < MOST)
			vrc_abandon(sim.a.cm, number);
		sim_run(&sim, sim.now + 10 * MS);
	}
	/* Those of the attempts, and none of a refusal. */
	g_assert_cmpuint(sim_count_mads(&sim, VRC_REJ), ==, MOST);
	(void)sim_listen(&sim.b, PORT, MOST + 1);
	sim_run(&sim, since + HELD - 100 * MS);
	g_assert_cmpuint(sim_count_events(&sim.b, RI_CM_REQUEST), ==, 1);
	g_assert_cmpuint(sim_count_events(&sim.a, RI_CM_ESTABLISHED), ==, 1);
	g_assert_cmpuint(sim_count_mads(&sim, VRC_REP), ==, 1);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/roce/cm/held/opened-again", opened_again);
	g_test_add_func("/roce/cm/held/refused-late", refused_late);
	g_test_add_func("/roce/cm/held/refused-at-once", refused_at_once);
	g_test_add_func("/roce/cm/held/flood", flood);
	g_test_add_func("/roce/cm/held/closed-again", closed_again);
	g_test_add_func("/roce/cm/held/withdrawn", withdrawn);
	return g_test_run();
}
