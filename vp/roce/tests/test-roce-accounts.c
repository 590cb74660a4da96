/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The counters, timers and records of the engine: how much is retransmitted for one loss, when a
 * timer fires, how far a window grows, which requests are still to be answered, and which queue
 * pair is in which list. vro_sim.c checks each queue pair's counts whenever packets have arrived.
 */
#include <string.h>

#include "vro_sim.h"

#define STEP UINT64_C(100000) /* ns */
#define LONG UINT64_C(500000000)

struct scene {
	struct sim *sim;
	struct sim_qp *pair[2];
};

static void
scene_open(struct scene *s)
{
	memset(s, 0, sizeof(*s));
	s->sim = sim_new(1, false);
	sim_pair(s->sim, ROCE_RC, 256, 7, 9, s->pair);
}

static void
post(struct scene *s, int side, uint64_t id, uint8_t opcode, uint32_t length)
{
	const struct ri_sge sge = sim_sge(s->pair[side], 0, length);
	const struct ri_wr wr = sim_request(s->pair[side], id, opcode, &sge, 16384);

	sim_post(s->pair[side], &wr);
}

/* All that the side has sent since the last look. */
static void
sent_is(struct scene *s, int side, const char *lines)
{
	sim_poll(s->pair[side]);
	g_assert_cmpstr(s->pair[side]->sent->str, ==, lines);
	g_string_truncate(s->pair[side]->sent, 0);
}

/* A packet of an answer to the first Read comes, and others do not. */
static void
answer_comes(struct scene *s, uint32_t number)
{
	const struct vro_qp *qp = &s->pair[0]->qp;
	struct vro_engine *engine = &s->sim->sides[0].engine;
	struct roce_flow flow = {.source_port = 1000, .destination_port = ROCE_UDP_PORT};
	const struct roce_packet p = {.opcode = ROCE_READ_MIDDLE,
				      .pkey = ROCE_PKEY,
				      .qpn = qp->qpn,
				      .psn = roce_add(7, number),
				      .payload_length = qp->path.mtu};
	uint8_t octets[ROCE_PACKET_MAX] = {0};
	size_t len;

	memcpy(flow.source, s->sim->sides[1].gid, 16);
	memcpy(flow.destination, s->sim->sides[0].gid, 16);
	len = roce_packet_write(octets, &p) + p.payload_length;
	len = roce_icrc_seal(&flow, octets, len);
	vro_engine_packet(engine, &flow, false, octets, len);
	vro_engine_flush(engine);
}

/* A packet of an answer is lost: what is asked for again is asked for once, though each packet behind the gap shows it. */
static void
test_once(void)
{
	struct scene s;
	uint64_t once;

	scene_open(&s);
	const uint64_t *repeated = &s.sim->sides[0].engine.counts[VRO_REPEATED];

	post(&s, 0, 1, RI_OP_RDMA_READ, 8192);
	answer_comes(&s, 1);
	once = *repeated;
	g_assert_cmpuint(once, >, 0);
	for (uint32_t number = 2; number < 8; number++) {
		answer_comes(&s, number);
		g_assert_cmpuint(*repeated, ==, once);
	}
	sim_run(s.sim, LONG);
	sent_is(&s, 0, "1 RI_OP_RDMA_READ RI_WC_SUCCESS\n");
	sim_free(&s.sim);
}

/* A timer that waits for an answer is moved when the peer asks for a shorter wait. */
static void
test_earlier(void)
{
	struct scene s;

	scene_open(&s);
	s.sim->sides[0].engine.probe = s.pair[0]->qp.tx.probe = 0;
	s.pair[0]->qp.path.timeout = 18; /* 1 s */
	s.pair[1]->qp.path.rnr_timer = 16;
	for (uint64_t i = 0; i < 3; i++) {
		g_autofree char *line =
			g_strdup_printf("%u RI_OP_SEND RI_WC_SUCCESS\n", (unsigned)i);

		post(&s, 0, i, RI_OP_SEND, 100);
		sim_run(s.sim, STEP);
		g_assert_true(s.pair[0]->qp.tx.halted);
		sim_receive(s.pair[1], i, 0, 100);
		sim_run(s.sim, roce_rnr_time(16) + STEP);
		sent_is(&s, 0, line);
	}
	sim_free(&s.sim);
}

/* A window that was halved grows by one for each window that was acknowledged, by Writes and by Reads. */
static void
test_growth(void)
{
	for (int read = 0; read < 2; read++) {
		const uint8_t opcode = read ? RI_OP_RDMA_READ : RI_OP_RDMA_WRITE;
		unsigned expected, got = 0;
		struct scene s;

		scene_open(&s);
		expected = s.pair[0]->qp.tx.window / 2;
		vro_requester_congested(&s.pair[0]->qp);
		for (uint64_t i = 0; i < 600; i++) {
			g_assert_cmpuint(s.pair[0]->qp.tx.window, ==, expected);
			post(&s, 0, i, opcode, 100);
			sim_run(s.sim, STEP);
			sim_poll(s.pair[0]);
			if (++got == expected) {
				expected++;
				got = 0;
			}
		}
		sim_free(&s.sim);
	}
}

/* An acknowledgement that waited for a message is sent alone; then the queue pair sends as before, time after time. */
static void
test_held(void)
{
	struct scene s;

	scene_open(&s);
	struct vro_engine *engine = &s.sim->sides[1].engine;
	struct vro_qp *qp = &s.pair[1]->qp;

	for (uint64_t i = 0; i < 3; i++) {
		qp->answering = VSW_ANSWERING;
		engine->hold = true;
		post(&s, 0, i, RI_OP_RDMA_WRITE, 100);
		for (unsigned k = 0; k < 100 && engine->held == NULL; k++)
			sim_run(s.sim, 1000);
		g_assert_true(engine->held == qp);
		vro_engine_acks(engine);
		engine->hold = false;
		g_assert_null(engine->held);
		g_assert_false(qp->listed);
		post(&s, 1, i, RI_OP_RDMA_WRITE, 100);
		sim_run(s.sim, LONG);
		for (int side = 0; side < 2; side++) {
			g_autofree char *line =
				g_strdup_printf("%u RI_OP_RDMA_WRITE RI_WC_SUCCESS\n", (unsigned)i);

			sent_is(&s, side, line);
		}
	}
	sim_free(&s.sim);
}

/* The answer to a Read has begun and waits for room. Returns it. */
static const struct vro_answer *
answer_waits(struct scene *s)
{
	const struct vro_responding *rx = &s->pair[1]->qp.rx;

	s->sim->wire.limit = 2;
	for (unsigned i = 0; i < 1000 && (rx->at == 0 || rx->answered == rx->asked); i++)
		sim_run(s->sim, 1000);
	g_assert_cmpuint(rx->at, >, 0);
	return &rx->answers[rx->answered % VRO_ANSWERS];
}

/* A request for any part of an answer that is still to come is not answered by itself. */
static void
test_pending(void)
{
	for (int32_t part = -1; part <= 2; part++) {
		struct scene s;

		scene_open(&s);
		post(&s, 0, 1, RI_OP_RDMA_READ, 4096);
		const struct vro_answer *a = answer_waits(&s);
		const struct vro_qp *qp = &s.pair[1]->qp;
		uint32_t at = qp->rx.at + (uint32_t)part;
		struct vro_engine *engine = &s.sim->sides[1].engine;
		struct roce_flow flow = {.source_port = 1000, .destination_port = ROCE_UDP_PORT};
		const struct roce_packet p = {.opcode = ROCE_READ_REQUEST,
					      .pkey = ROCE_PKEY,
					      .qpn = qp->qpn,
					      .psn = roce_add(a->first, at),
					      .va = a->remote.addr + at * qp->path.mtu,
					      .rkey = a->remote.stag,
					      .length = qp->path.mtu};
		uint8_t octets[256];
		size_t len;

		memcpy(flow.source, s.sim->sides[0].gid, 16);
		memcpy(flow.destination, s.sim->sides[1].gid, 16);
		len = roce_icrc_seal(&flow, octets, roce_packet_write(octets, &p));
		s.sim->wire.limit = 0;
		vro_engine_packet(engine, &flow, false, octets, len);
		g_test_message("part %d", part);
		g_assert_cmpuint(engine->counts[VRO_DUPLICATES], ==, 1);
		g_assert_cmpuint(qp->rx.again, ==, part < 0 ? 1 : 0);
		sim_run(s.sim, LONG);
		sent_is(&s, 0, "1 RI_OP_RDMA_READ RI_WC_SUCCESS\n");
		sim_free(&s.sim);
	}
}

/* The key goes while an answer waits: the peer hears of it, and of nothing that was behind it. */
static void
test_revoked(void)
{
	struct scene s;
	struct vsw_mem_entry *mr;
	struct ri_wr wr;
	uint32_t stag;

	scene_open(&s);
	struct sim_side *side = &s.sim->sides[1];
	const struct ri_mr_init init = {.addr = (uint64_t)(uintptr_t)side->memory,
					.length = SIM_ROOM,
					.access = SIM_ALL,
					.key = 0x5b};
	const struct ri_sge sge = sim_sge(s.pair[0], 0, 4096);

	g_assert_cmpint(vsw_mr_reg(side->mem, &s.sim->pd, 1, &init, &mr, &stag), ==, RI_SUCCESS);
	wr = sim_request(s.pair[0], 1, RI_OP_RDMA_READ, &sge, 0);
	wr.u.remote.stag = stag;
	sim_post(s.pair[0], &wr);
	post(&s, 0, 2, RI_OP_RDMA_READ, 4096);
	(void)answer_waits(&s);
	g_assert_cmpint(vsw_mr_dereg(mr), ==, RI_SUCCESS);
	sim_run(s.sim, LONG);
	sent_is(&s, 0, "1 RI_OP_RDMA_READ RI_WC_REMOTE_ACCESS\n2 RI_OP_RDMA_READ RI_WC_FLUSHED\n");
	g_assert_cmpuint(s.pair[1]->failures, ==, 1);
	g_assert_cmpuint(s.pair[1]->event, ==, RI_EVENT_QP_ACCESS);
	sim_free(&s.sim);
}

/* A segment of no octets has no key that could be wrong, first, last or between, in each operation. */
static void
test_empty_segments(void)
{
	static const uint8_t opcodes[] = {RI_OP_SEND, RI_OP_RDMA_WRITE, RI_OP_RDMA_READ};

	for (unsigned i = 0; i < G_N_ELEMENTS(opcodes); i++)
		for (unsigned at = 0; at < 3; at++) {
			struct scene s;
			struct ri_sge sges[3];

			scene_open(&s);
			for (unsigned k = 0; k < 3; k++)
				sges[k] = sim_sge(s.pair[0], 1000 * k, 500);
			sges[at] = (struct ri_sge){.addr = 1, .stag = 0xdeadbeef, .length = 0};
			struct ri_wr wr = sim_request(s.pair[0], 1, opcodes[i], sges, 0);

			wr.num_sge = 3;
			sim_receive(s.pair[1], 1, 0, 1000);
			sim_post(s.pair[0], &wr);
			sim_run(s.sim, LONG);
			sim_poll(s.pair[0]);
			g_assert_nonnull(strstr(s.pair[0]->sent->str, "RI_WC_SUCCESS"));
			sim_free(&s.sim);
		}
}

/* Two queue pairs that share the budget of an address lose packets at all places: the sums stay right (vro_sim.c). */
static void
test_budget(void)
{
	for (uint32_t seed = 1; seed <= 20; seed++) {
		struct sim *sim RI_AT_END(sim_free) = sim_new(seed, false);
		struct sim_qp *pairs[2][2];

		sim->wire.lose = 30 * (seed % 4);
		sim->wire.duplicate = 10 * (seed % 3);
		sim->wire.limit = seed % 5 == 0 ? 8 : 0;
		for (unsigned i = 0; i < 2; i++)
			sim_pair(sim, ROCE_RC, ROCE_MTU_MAX, 7 + i, 9 + i, pairs[i]);
		for (unsigned k = 0; k < 12; k++)
			for (unsigned i = 0; i < 2; i++) {
				struct ri_sge sge = sim_sge(pairs[i][0], 0, 61440);
				struct ri_wr wr = sim_request(
					pairs[i][0], k,
					k % 3 == 2 ? RI_OP_RDMA_READ : RI_OP_RDMA_WRITE, &sge, 0);

				sim_post(pairs[i][0], &wr);
			}
		sim_run(sim, 20 * LONG);
		for (unsigned i = 0; i < 2; i++) {
			sim_poll(pairs[i][0]);
			g_assert_cmpuint(pairs[i][0]->failures, ==, 0);
			g_assert_cmpuint(pairs[i][0]->qp.tx.oldest, ==, 12);
		}
		for (unsigned i = 0; i < VRO_PEERS; i++)
			g_assert_cmpuint(sim->sides[0].engine.sent[i], ==, 0);
	}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/roce/accounts/once", test_once);
	g_test_add_func("/roce/accounts/earlier", test_earlier);
	g_test_add_func("/roce/accounts/growth", test_growth);
	g_test_add_func("/roce/accounts/held", test_held);
	g_test_add_func("/roce/accounts/pending", test_pending);
	g_test_add_func("/roce/accounts/revoked", test_revoked);
	g_test_add_func("/roce/accounts/empty-segments", test_empty_segments);
	g_test_add_func("/roce/accounts/budget", test_budget);
	return g_test_run();
}
