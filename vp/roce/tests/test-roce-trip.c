/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The requester adapts to the round-trip time of its path. A last packet must not be repeated
 * before its acknowledgement can have arrived, however far the peer is; and a window must open as
 * fast as acknowledgements arrive, until a packet is lost. In virtual time.
 */
#include "vro_sim.h"

#define MS    UINT64_C(1000000)
#define MTU   1024u
#define PROBE (2 * MS)

struct scene {
	struct sim *sim;
	struct sim_qp *pair[2];
	const uint64_t *counts; /* of the requester's engine */
};

static void
scene_open(struct scene *s, uint64_t distance)
{
	s->sim = sim_new(1, false);
	s->sim->sides[0].engine.probe = PROBE;
	s->sim->wire.distance = distance;
	sim_pair(s->sim, ROCE_RC, MTU, 7, 9, s->pair);
	s->pair[0]->qp.path.timeout = 20; /* 4 s */
	s->counts = s->sim->sides[0].engine.counts;
}

/* One request, until it is complete. */
static void
request_run(struct scene *s, uint8_t opcode, uint32_t length, bool signaled)
{
	const struct ri_sge sge = sim_sge(s->pair[0], 0, length);
	struct ri_wr wr = sim_request(s->pair[0], 1, opcode, &sge, 8192);

	if (!signaled)
		wr.flags = 0;
	sim_post(s->pair[0], &wr);
	sim_run(s->sim, 4000 * MS);
	sim_poll(s->pair[0]);
	g_assert_cmpuint(s->pair[0]->sent->len != 0, ==, signaled);
	g_string_truncate(s->pair[0]->sent, 0);
	g_assert_cmpuint(s->pair[0]->qp.tx.una, ==, s->pair[0]->qp.tx.end);
}

/* The first messages over a long path are repeated, since its length is not known; those behind them are not. */
static void
test_far(void)
{
	static const uint64_t distances[] = {MS, 5 * MS, 20 * MS, 100 * MS, 400 * MS};
	static const uint8_t opcodes[] = {RI_OP_RDMA_WRITE, RI_OP_RDMA_READ, RI_OP_FETCH_ADD};

	for (guint d = 0; d < G_N_ELEMENTS(distances); d++)
		for (guint o = 0; o < G_N_ELEMENTS(opcodes); o++) {
			uint32_t length = opcodes[o] == RI_OP_FETCH_ADD ? 8 : 3 * MTU;
			struct scene s;
			uint64_t probes, repeated;

			scene_open(&s, distances[d]);
			for (guint i = 0; i < 4; i++)
				request_run(&s, opcodes[o], length, true);
			probes = s.counts[VRO_PROBES];
			repeated = s.counts[VRO_REPEATED];
			g_assert_cmpuint(probes, <=, 10);
			for (guint i = 0; i < 20; i++)
				request_run(&s, opcodes[o], length, true);
			g_assert_cmpuint(s.counts[VRO_PROBES], ==, probes);
			g_assert_cmpuint(s.counts[VRO_REPEATED], ==, repeated);
			g_assert_cmpuint(s.counts[VRO_TIMEOUTS], ==, 0);
			sim_free(&s.sim);
		}
}

/* A Read is timed to the last packet of its answer. */
static bool
answer_is_slow(struct sim *sim, int from, const struct roce_packet *p)
{
	(void)p;
	if (from == 1)
		sim->wire.distance += 10 * MS;
	return true;
}

static void
test_whole(void)
{
	struct scene s;

	scene_open(&s, 0);
	s.sim->sides[0].engine.probe = s.pair[0]->qp.tx.probe = 100 * MS;
	s.sim->filter = answer_is_slow;
	request_run(&s, RI_OP_RDMA_READ, 3 * MTU, true);
	g_assert_cmpuint(s.pair[0]->qp.tx.trip.mean, >=, 30 * MS);
	g_assert_cmpuint(s.pair[0]->qp.tx.trip.mean, <, 31 * MS);
	sim_free(&s.sim);
}

/* Requests that ask for nothing are asked for by a probe, which is no repetition: the second one is not due later. */
static void
test_silent(void)
{
	struct scene s;

	scene_open(&s, 20 * MS);
	for (guint i = 0; i < 8; i++)
		request_run(&s, RI_OP_RDMA_WRITE, 64, true);
	for (guint i = 0; i < 10; i++) {
		uint64_t probes = s.counts[VRO_PROBES];

		request_run(&s, RI_OP_RDMA_WRITE, 64, false);
		g_assert_cmpuint(s.counts[VRO_PROBES], ==, probes + 1);
		g_assert_false(s.pair[0]->qp.tx.trip.doubtful);
	}
	g_assert_cmpuint(s.pair[0]->qp.tx.probe, <, 200 * MS);
	sim_free(&s.sim);
}

/* The path gets short again: a loss is found soon, but not before the setting says. */
static void
test_near(void)
{
	struct scene s;

	scene_open(&s, 100 * MS);
	for (guint i = 0; i < 8; i++)
		request_run(&s, RI_OP_RDMA_WRITE, 64, true);
	g_assert_cmpuint(s.pair[0]->qp.tx.probe, >, 200 * MS);
	s.sim->wire.distance = 0;
	for (guint i = 0; i < 100; i++)
		request_run(&s, RI_OP_RDMA_WRITE, 64, true);
	g_assert_cmpuint(s.pair[0]->qp.tx.probe, ==, PROBE);
	sim_free(&s.sim);
}

/* A message that is lost whenever it is sent for the first time does not make the path seem long. */
static bool
lose_first(struct sim *sim, int from, const struct roce_packet *p)
{
	const struct vro_requester *tx = &sim->sides[0].qps[0]->qp.tx;

	return from != 0 || roce_diff(p->psn, tx->end) < 0;
}

static void
test_losses(void)
{
	struct scene s;

	scene_open(&s, 0);
	s.sim->filter = lose_first;
	for (guint i = 0; i < 6; i++) {
		request_run(&s, RI_OP_RDMA_WRITE, 64, true);
		g_assert_cmpuint(s.pair[0]->qp.tx.trip.mean, ==, 0);
	}
	s.sim->filter = NULL;
	request_run(&s, RI_OP_RDMA_WRITE, 64, true);
	g_assert_cmpuint(s.pair[0]->qp.tx.probe, ==, PROBE);
	sim_free(&s.sim);
}

/* Nothing is lost, so the window doubles with each window that is acknowledged; a timeout begins anew, up to half of what it was. */
static void
test_window(void)
{
	for (int read = 0; read < 2; read++) {
		const uint8_t opcode = read ? RI_OP_RDMA_READ : RI_OP_RDMA_WRITE;
		struct vro_requester *tx;
		struct scene s;
		guint rounds = 0;

		scene_open(&s, 0);
		tx = &s.pair[0]->qp.tx;
		g_assert_cmpuint(tx->window, ==, 32);
		for (; tx->window < VRO_WINDOW_MAX; rounds++)
			request_run(&s, opcode, 32 * MTU, true);
		g_assert_cmpuint(rounds, ==, 3);
		s.sim->drop[0] = (gint)s.sim->sent;
		s.pair[0]->qp.path.timeout = 1; /* 8 us: before the probe */
		request_run(&s, opcode, MTU, true);
		g_assert_cmpuint(s.counts[VRO_TIMEOUTS], >, 0);
		g_assert_cmpuint(tx->threshold, ==, VRO_WINDOW_MAX / 2);
		s.pair[0]->qp.path.timeout = 20;
		request_run(&s, opcode, 32 * MTU, true);
		request_run(&s, opcode, 32 * MTU, true);
		g_assert_cmpuint(tx->window, >=, VRO_WINDOW_MAX / 2);
		request_run(&s, opcode, 32 * MTU, true);
		g_assert_cmpuint(tx->window, <=, VRO_WINDOW_MAX / 2 + 2);
		sim_free(&s.sim);
	}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/roce/trip/far", test_far);
	g_test_add_func("/roce/trip/whole", test_whole);
	g_test_add_func("/roce/trip/silent", test_silent);
	g_test_add_func("/roce/trip/near", test_near);
	g_test_add_func("/roce/trip/losses", test_losses);
	g_test_add_func("/roce/trip/window", test_window);
	return g_test_run();
}
