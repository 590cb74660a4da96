/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Patience is for one trouble: a queue pair that has got over one, at the last moment, bears the next one as long. Each trouble comes
 * ten times one step short of the end, beside the others, and at last goes one step further, which ends the queue pair.
 */
#include "vro_sim.h"

#define PATIENT 2 /* retries */
#define ROUNDS  10
#define STEP    UINT64_C(100000)           /* ns */
#define AWAY    (2 * (uint64_t)VRO_ABSENT) /* between two signs that nobody is there */

struct trouble {
	const char *name;
	enum vro_count count;  /* what tells its steps */
	bool muted;            /* nothing arrives */
	unsigned steps;        /* before it would end the queue pair */
	enum ri_wc_status end; /* which it then does with */
	const char *why;       /* says the log */
};

static const struct trouble troubles[] = {
	{"no receive", VRO_RNRS, false, PATIENT, RI_WC_RNR, "had no receive for it at 3 tries"},
	{"silence", VRO_TIMEOUTS, true, PATIENT, RI_WC_TRANSPORT,
	 "nothing since it was sent 3 times"},
	{"absence", VRO_COUNTS, true, PATIENT, RI_WC_TRANSPORT,
	 "no process receives at the peer's address"},
};

static bool
mute(struct sim *sim, int from, const struct roce_packet *p)
{
	(void)from;
	(void)p;
	return !*(const bool *)sim->arg;
}

static uint64_t
counted(const struct sim *sim, const struct trouble *trouble)
{
	return sim->sides[0].engine.counts[trouble->count] +
	       sim->sides[1].engine.counts[trouble->count];
}

/* Let the trouble take so many steps, since it was counted. */
static void
go_wrong(struct sim *sim, struct sim_qp *q, const struct trouble *trouble, unsigned steps,
	 uint64_t before)
{
	if (trouble->count == VRO_COUNTS) {
		for (unsigned i = 0; i < steps; i++) {
			vro_requester_absent(&q->qp);
			sim_run(sim, AWAY);
		}
		return;
	}

	for (unsigned i = 0; i < 20000 && counted(sim, trouble) < before + steps; i++)
		sim_run(sim, STEP);
	g_assert_cmpuint(counted(sim, trouble), ==, before + steps);
}

/* A Send that meets the trouble, and arrives when it is over. */
static void
survive(struct sim *sim, struct sim_qp *pair[2], const struct trouble *trouble, bool *muted)
{
	const struct ri_sge sge = sim_sge(pair[0], 0, 8);
	const struct ri_wr send = sim_request(pair[0], 1, RI_OP_SEND, &sge, 0);

	const uint64_t before = trouble->count != VRO_COUNTS ? counted(sim, trouble) : 0;

	g_string_truncate(pair[0]->sent, 0);
	*muted = trouble->muted;
	sim_post(pair[0], &send);
	sim_run(sim, STEP);
	go_wrong(sim, pair[0], trouble, trouble->steps, before);
	*muted = false;
	sim_receive(pair[1], 2, 64, 8);
	sim_run(sim, 20 * AWAY);
	sim_poll(pair[0]);
	sim_poll(pair[1]);
	g_assert_cmpstr(pair[0]->sent->str, ==, "1 RI_OP_SEND RI_WC_SUCCESS\n");
	g_assert_cmpuint(pair[0]->failures + pair[1]->failures, ==, 0);
}

static void
pair_open(struct sim **sim, struct sim_qp *pair[2], bool *muted)
{
	*sim = sim_new(1, false);
	(*sim)->filter = mute;
	(*sim)->arg = muted;
	*muted = false;
	sim_pair(*sim, ROCE_RC, 256, 7, 9, pair);
	for (int i = 0; i < 2; i++) {
		struct vro_qp *qp = &pair[i]->qp;

		qp->path.retries = qp->path.rnr_retries = PATIENT;
		qp->tx.retries = qp->tx.rnr_retries = PATIENT;
	}
}

static void
test_patience(void)
{
	for (unsigned last = 0; last < G_N_ELEMENTS(troubles); last++) {
		const struct trouble *trouble = &troubles[last];
		g_autofree char *end = NULL;
		struct sim_qp *pair[2];
		struct sim *sim;
		bool muted;

		pair_open(&sim, pair, &muted);
		/* Absence is told, and silence would end the pair meanwhile. */
		if (trouble->count == VRO_COUNTS)
			pair[0]->qp.path.timeout = 0;
		for (unsigned round = 0; round < ROUNDS; round++)
			survive(sim, pair, trouble, &muted);
		const struct ri_sge sge = sim_sge(pair[0], 0, 8);
		const struct ri_wr send = sim_request(pair[0], 3, RI_OP_SEND, &sge, 0);

		muted = trouble->muted;
		sim_post(pair[0], &send);
		sim_run(sim, STEP);
		if (trouble->count == VRO_COUNTS)
			go_wrong(sim, pair[0], trouble, trouble->steps + 1, 0);
		else
			sim_run(sim, 20 * AWAY);
		sim_poll(pair[0]);
		g_test_message("%s", trouble->name);
		end = g_strdup_printf("3 RI_OP_SEND %s\n",
				      trouble->end == RI_WC_RNR ? "RI_WC_RNR" : "RI_WC_TRANSPORT");
		g_assert_true(g_str_has_suffix(pair[0]->sent->str, end));
		g_assert_cmpuint(pair[0]->failures, ==, 1);
		g_assert_true(vth_logged(sim->vth, trouble->why));
		sim_free(sim);
	}
}

static bool
is_listed(const struct vro_qp *list, const struct vro_qp *qp)
{
	for (; list != NULL; list = list->next)
		if (list == qp)
			return true;
	return false;
}

/* A queue pair that leaves while the link is full is in no list any more, and the others go on. */
static void
test_leaves_full(void)
{
	struct sim *sim = sim_new(1, false);
	struct vro_engine *engine = &sim->sides[0].engine;
	struct sim_qp *pairs[2][2];

	sim->wire.limit = 2;
	for (unsigned i = 0; i < 2; i++)
		sim_pair(sim, ROCE_RC, 256, 7 + i, 9 + i, pairs[i]);
	for (unsigned i = 0; i < 2; i++) {
		const struct ri_sge sge = sim_sge(pairs[i][0], 0, 8192);
		const struct ri_wr write =
			sim_request(pairs[i][0], 1, RI_OP_RDMA_WRITE, &sge, 16384 * i);

		sim_post(pairs[i][0], &write);
	}
	for (unsigned i = 0; i < 10000 && !is_listed(engine->blocked, &pairs[0][0]->qp); i++)
		sim_run(sim, 100);
	g_assert_true(is_listed(engine->blocked, &pairs[0][0]->qp));
	vro_qp_leave(&pairs[0][0]->qp);
	g_assert_false(is_listed(engine->blocked, &pairs[0][0]->qp));
	g_assert_false(is_listed(engine->dirty, &pairs[0][0]->qp));
	sim_run(sim, AWAY);
	sim_poll(pairs[1][0]);
	g_assert_cmpstr(pairs[1][0]->sent->str, ==, "1 RI_OP_RDMA_WRITE RI_WC_SUCCESS\n");
	g_assert_cmpuint(pairs[0][0]->sent->len, ==, 0);
	sim_free(sim);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/roce/lives/patience", test_patience);
	g_test_add_func("/roce/lives/leaves-full", test_leaves_full);
	return g_test_run();
}
