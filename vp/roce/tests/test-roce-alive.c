/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Peers that live, and peers that say nothing any more, while nothing is under way. */
#include "vro_sim.h"

#include "ri_wire.h"

#define SECOND UINT64_C(1000000000)
#define QUIET  (10 * SECOND)

static struct sim *
pair_new(uint64_t first, uint64_t second, struct sim_qp *pair[2])
{
	struct sim *sim = sim_new(1, false);

	sim->sides[0].engine.keep_alive = first;
	sim->sides[1].engine.keep_alive = second;
	sim_pair(sim, ROCE_RC, 1024, 0xfffffe, 7, pair);
	vro_qp_kick(&pair[0]->qp);
	vro_qp_kick(&pair[1]->qp);
	return sim;
}

static uint64_t
asked(const struct sim *sim, int side)
{
	return sim->sides[side].engine.counts[VRO_ALIVE];
}

static void
send_one(struct sim_qp *pair[2], uint64_t id)
{
	struct ri_sge sge = sim_sge(pair[0], 0, 8);
	struct ri_wr wr = sim_request(pair[0], id, RI_OP_SEND, &sge, 0);

	sim_post(pair[0], &wr);
}

/* A peer that is asked answers, whether anything was ever sent or not; no receive is taken, and the numbers stay. */
static void
living(void)
{
	struct sim_qp *pair[2];
	struct sim *sim RI_AT_END(sim_free) = pair_new(QUIET, QUIET, pair);

	sim_receive(pair[1], 1, 0, 64);
	sim_receive(pair[1], 2, 64, 64);
	for (uint64_t i = 1; i <= 2; i++) {
		uint64_t before = asked(sim, 0) + asked(sim, 1);

		sim_run(sim, 20 * QUIET);
		g_assert_cmpuint(asked(sim, 0) + asked(sim, 1) - before, >=, 8);
		g_assert_cmpuint(asked(sim, 0) + asked(sim, 1) - before, <=, 40);
		send_one(pair, i);
		sim_run(sim, SECOND);
		sim_poll(pair[0]);
		sim_poll(pair[1]);
	}
	g_assert_cmpuint(pair[0]->failures + pair[1]->failures, ==, 0);
	g_assert_cmpstr(pair[1]->received->str, ==,
			"1 RI_OP_RECV RI_WC_SUCCESS 8 4\n2 RI_OP_RECV RI_WC_SUCCESS 8 4\n");
	g_assert_cmpuint(sim->sides[0].engine.counts[VRO_TIMEOUTS], ==, 0);
}

static bool
second_is_dead(struct sim *sim, int from, const struct roce_packet *p)
{
	(void)sim;
	(void)p;
	return from == 0;
}

/* Between six and seven times the silence; what was sent before does not matter. */
static void
silent(void)
{
	for (int sends = 0; sends < 2; sends++) {
		struct sim_qp *pair[2];
		struct sim *sim RI_AT_END(sim_free) = pair_new(QUIET, QUIET, pair);

		sim_receive(pair[1], 1, 0, 64);
		if (sends != 0)
			send_one(pair, 1);
		sim_run(sim, SECOND);
		sim->filter = second_is_dead;
		sim_run(sim, 6 * QUIET - 2 * SECOND);
		g_assert_cmpuint(pair[0]->failures, ==, 0);
		sim_run(sim, QUIET + 3 * SECOND);
		g_assert_cmpuint(pair[0]->failures, ==, 1);
		g_assert_cmpuint(pair[0]->event, ==, RI_EVENT_QP_WR_ERROR);
		g_assert_cmpuint(asked(sim, 0), ==, VRO_ALIVE_ASKS);
	}
}

static bool
first_answers_lost(struct sim *sim, int from, const struct roce_packet *p)
{
	(void)p;
	return from == 0 || asked(sim, 0) >= VRO_ALIVE_ASKS / 2;
}

/* One answer is enough. */
static void
lossy(void)
{
	struct sim_qp *pair[2];
	struct sim *sim RI_AT_END(sim_free) = pair_new(QUIET, 0, pair);

	sim->filter = first_answers_lost;
	sim_run(sim, 30 * QUIET);
	g_assert_cmpuint(pair[0]->failures, ==, 0);
	g_assert_cmpuint(asked(sim, 0), >, VRO_ALIVE_ASKS / 2);
}

/* The kernel says that nobody listens: it counts if somebody was asked, and an answer takes it back. */
static void
absent(void)
{
	struct sim_qp *pair[2];
	struct sim *sim RI_AT_END(sim_free) = pair_new(QUIET, QUIET, pair);

	sim_run(sim, SECOND);
	for (unsigned i = 0; i < 2 * VRO_ABSENCES; i++) {
		vro_requester_absent(&pair[0]->qp);
		sim_run(sim, 2 * VRO_ABSENT);
	}
	g_assert_cmpuint(pair[0]->failures, ==, 0);
	sim->filter = second_is_dead;
	sim_run(sim, 2 * QUIET);
	g_assert_cmpuint(asked(sim, 0), >, 0);
	vro_requester_absent(&pair[0]->qp);
	sim_run(sim, 2 * VRO_ABSENT);
	sim->filter = NULL;
	sim_run(sim, 2 * QUIET);
	g_assert_cmpuint(pair[0]->failures, ==, 0);
	sim->filter = second_is_dead;
	sim_run(sim, 2 * QUIET + QUIET / 4);
	for (unsigned i = 0; i < VRO_ABSENCES; i++) {
		g_assert_cmpuint(pair[0]->failures, ==, 0);
		vro_requester_absent(&pair[0]->qp);
		sim_run(sim, 2 * VRO_ABSENT);
	}
	g_assert_cmpuint(pair[0]->failures, ==, 1);
}

/* An error of the question itself is believed, one of another packet is not. */
static void
quoted(void)
{
	struct sim_qp *pair[2];
	struct sim *sim RI_AT_END(sim_free) = pair_new(QUIET, QUIET, pair);
	const struct vro_qp *qp = &pair[0]->qp;
	uint8_t head[ROCE_BTH] = {0};

	for (int was_asked = 0; was_asked < 2; was_asked++) {
		wire_store_be32(head + 4, qp->path.qpn);
		for (int ahead = -2; ahead <= 0; ahead++) {
			wire_store_be32(head + 8, (qp->tx.una + (uint32_t)ahead) & ROCE_24);
			g_assert_cmpint(vro_requester_quoted(qp, head, sizeof(head)), ==,
					was_asked != 0 && ahead == -1);
		}
		sim->filter = second_is_dead;
		sim_run(sim, 2 * QUIET);
	}
}

/* Nobody is asked if that is not wanted, or if the program said that its requests wait indefinitely. */
static void
off(void)
{
	for (int how = 0; how < 2; how++) {
		struct sim_qp *pair[2];
		struct sim *sim RI_AT_END(sim_free) = sim_new(1, false);

		for (int i = 0; i < 2; i++)
			sim->sides[i].engine.keep_alive = how == 0 ? 0 : QUIET;
		for (int i = 0; i < 2; i++)
			pair[i] = sim_qp_new(sim, i, ROCE_RC);
		for (int i = 0; i < 2; i++) {
			sim_path(pair[i], pair[1 - i], 1024);
			if (how == 1)
				pair[i]->qp.path.timeout = 0;
			vro_qp_to_rtr(&pair[i]->qp, 7);
			vro_qp_to_rts(&pair[i]->qp, 7);
			vro_qp_kick(&pair[i]->qp);
		}
		sim->filter = second_is_dead;
		sim_run(sim, 100 * QUIET);
		g_assert_cmpuint(asked(sim, 0) + asked(sim, 1), ==, 0);
		g_assert_cmpuint(pair[0]->failures, ==, 0);
	}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/roce/alive/living", living);
	g_test_add_func("/roce/alive/silent", silent);
	g_test_add_func("/roce/alive/lossy", lossy);
	g_test_add_func("/roce/alive/absent", absent);
	g_test_add_func("/roce/alive/quoted", quoted);
	g_test_add_func("/roce/alive/off", off);
	return g_test_run();
}
