/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A packet must be retransmitted after its source memory, or the memory into which its response
 * goes, was deregistered. A message may invalidate the region it is sent from, and a program may
 * deregister memory when it has the peer's answer. If the peer has received the packet, the
 * repetition is harmless; if the packet was lost, the request fails.
 */
#include "vro_sim.h"

#define SHORT  UINT64_C(15000) /* ns until the last packet is repeated */
#define SECOND UINT64_C(1000000000)

/* What the wire does, and when the memory goes. */
struct story {
	const char *name;
	bool lost;     /* the first packet of the message */
	bool behind;   /* a second message follows it */
	bool receives; /* the peer has a receive from the start */
	enum when {
		AT_ONCE,
		FIRST_ANSWER,
		ACKNOWLEDGEMENT
	} gone_on; /* the memory goes then */
	const char *sent;
};

static const struct story stories[] = {
	{"its acknowledgement is under way", false, false, true, FIRST_ANSWER,
	 "1 RI_OP_SEND RI_WC_SUCCESS\n"},
	{"it was lost, and nobody asks for it", true, false, true, AT_ONCE,
	 "1 RI_OP_SEND RI_WC_TRANSPORT\n"},
	{"it was lost, and the peer asks for it", true, true, true, AT_ONCE,
	 "1 RI_OP_SEND RI_WC_LOCAL_PROTECTION\n2 RI_OP_SEND RI_WC_FLUSHED\n"},
	{"there was no receive", false, false, false, FIRST_ANSWER,
	 "1 RI_OP_SEND RI_WC_LOCAL_PROTECTION\n"},
	{"there was no receive, and then one has taken it", false, false, false, ACKNOWLEDGEMENT,
	 "1 RI_OP_SEND RI_WC_SUCCESS\n"},
};

struct telling {
	const struct story *story;
	guint sent[2]; /* packets of each side */
	bool gone;
};

static void
region_revoke(struct sim_side *side)
{
	const struct vro_qp *qp = &side->qps[0]->qp;

	g_assert_cmpint(vsw_mem_invalidate(side->mem, &qp->in.who, side->stag, false), ==,
			VSW_MEM_OK);
}

static bool
tell(struct sim *sim, int from, const struct roce_packet *p)
{
	struct telling *telling = sim->arg;
	const struct story *story = telling->story;
	guint number = ++telling->sent[from];

	bool acknowledges =
		(p->opcode & 0x1f) == ROCE_ACK && (p->syndrome & ROCE_SYN_KIND) == ROCE_SYN_ACK;
	if (from == 1 && !telling->gone &&
	    (story->gone_on == FIRST_ANSWER ||
	     (story->gone_on == ACKNOWLEDGEMENT && acknowledges))) {
		telling->gone = true;
		region_revoke(&sim->sides[0]);
		sim->wire.delay = 1000; /* the answer comes late */
		sim->wire.far = 100 * SHORT;
	}
	return !(from == 0 && number == 1 && story->lost);
}

static void
source(gconstpointer data)
{
	struct telling telling = {.story = data};
	const struct story *story = data;
	struct sim *sim RI_AT_END(sim_free) = sim_new(1, false);
	struct sim_qp *pair[2];

	sim_pair(sim, ROCE_RC, 256, 7, 9, pair);
	sim->sides[0].engine.probe = pair[0]->qp.tx.probe = SHORT;
	pair[0]->qp.path.retries = pair[0]->qp.tx.retries = 2;
	sim->filter = tell;
	sim->arg = &telling;
	const struct ri_sge sge = sim_sge(pair[0], 0, 64);
	const struct ri_wr first = sim_request(pair[0], 1, RI_OP_SEND, &sge, 0);
	const struct ri_wr second = sim_request(pair[0], 2, RI_OP_SEND, &sge, 0);

	for (unsigned i = 0; i < 2 && story->receives; i++)
		sim_receive(pair[1], 8 + i, 4096, 64);
	sim_post(pair[0], &first);
	if (story->behind)
		sim_post(pair[0], &second);
	if (story->gone_on == AT_ONCE)
		region_revoke(&sim->sides[0]);
	if (!story->receives) {
		sim_run(sim, 20 * SHORT);
		sim_receive(pair[1], 8, 4096, 64);
	}
	sim_run(sim, 5 * SECOND);
	sim_poll(pair[0]);
	g_assert_cmpstr(pair[0]->sent->str, ==, story->sent);
	g_assert_cmpuint(sim->sides[0].engine.counts[VRO_PROBES], >, 0);
	g_assert_cmpuint(pair[0]->failures, ==, g_str_has_suffix(story->sent, "SUCCESS\n") ? 0 : 1);
}

/*
 * A Send without a completion does not ask for an acknowledgement. The peer receives it,
 * invalidates the region it was sent from, and acknowledges it before that; so it need not be
 * retransmitted [WIRE 16.4.1].
 */
static void
invalidator(void)
{
	struct sim *sim RI_AT_END(sim_free) = sim_new(1, false);
	struct sim_qp *pair[2];

	sim_pair(sim, ROCE_RC, 256, 7, 9, pair);
	sim->sides[0].engine.probe = pair[0]->qp.tx.probe = 5 * SHORT;
	for (int i = 0; i < 2; i++)
		sim_receive(pair[i], 8, 4096, 64);
	const struct ri_sge sge = sim_sge(pair[0], 0, 64);
	struct ri_wr send = sim_request(pair[0], 1, RI_OP_SEND, &sge, 0);
	struct ri_wr answer = sim_request(pair[1], 2, RI_OP_SEND, NULL, 0);

	send.flags &= ~(uint32_t)RI_WR_SIGNALED;
	answer.flags |= RI_WR_INVALIDATE;
	answer.inv_stag = sim->sides[0].stag;
	sim_post(pair[0], &send);
	sim_run(sim, SHORT);
	g_assert_true(pair[1]->qp.rx.unsaid);
	sim_post(pair[1], &answer);
	sim_run(sim, 5 * SECOND);
	for (int i = 0; i < 2; i++) {
		sim_poll(pair[i]);
		g_assert_cmpuint(pair[i]->failures, ==, 0);
	}
	g_assert_cmpstr(pair[0]->sent->str, ==, "");
	g_assert_cmpstr(pair[1]->sent->str, ==, "2 RI_OP_SEND RI_WC_SUCCESS\n");
	g_assert_nonnull(strstr(pair[0]->received->str, "8 RI_OP_RECV RI_WC_SUCCESS 0"));
}

/* The Read Request, to be played again. */
struct question {
	struct roce_packet packet;
	guint answers;
};

static bool
question_note(struct sim *sim, int from, const struct roce_packet *p)
{
	struct question *question = sim->arg;

	if (from == 0 && p->opcode == (ROCE_RC | ROCE_READ_REQUEST))
		question->packet = *p;
	if (from == 1)
		question->answers++;
	return true;
}

static void
play_again(struct sim *sim, const struct roce_packet *p)
{
	struct vro_engine *engine = &sim->sides[1].engine;
	struct roce_flow flow = {.source_port = 1000, .destination_port = ROCE_UDP_PORT};
	uint8_t octets[128] = {0};

	memcpy(flow.source, sim->sides[0].gid, sizeof(flow.source));
	memcpy(flow.destination, sim->sides[1].gid, sizeof(flow.destination));
	vro_engine_packet(engine, &flow, false, octets,
			  roce_icrc_seal(&flow, octets, roce_packet_write(octets, p)));
	vro_engine_flush(engine);
}

/* A duplicate of a Read that was answered: answered again while the right lasts, dropped in silence behind it. */
static void
question(void)
{
	struct question asked = {.answers = 0};
	struct sim *sim RI_AT_END(sim_free) = sim_new(1, false);
	struct sim_qp *pair[2];

	sim_pair(sim, ROCE_RC, 256, 7, 9, pair);
	sim->filter = question_note;
	sim->arg = &asked;
	const struct ri_sge sge = sim_sge(pair[0], 0, 64);
	const struct ri_wr read = sim_request(pair[0], 1, RI_OP_RDMA_READ, &sge, 4096);
	const struct ri_wr send = sim_request(pair[0], 2, RI_OP_SEND, NULL, 0);

	sim_post(pair[0], &read);
	sim_run(sim, SECOND);
	g_assert_cmpuint(asked.answers, ==, 1);
	play_again(sim, &asked.packet);
	sim_run(sim, SECOND);
	g_assert_cmpuint(asked.answers, ==, 2);
	region_revoke(&sim->sides[1]);
	play_again(sim, &asked.packet);
	sim_run(sim, SECOND);
	g_assert_cmpuint(asked.answers, ==, 2);
	g_assert_cmpint(pair[1]->qp.state, ==, VRO_RTS);
	g_assert_cmpuint(pair[1]->failures, ==, 0);
	sim_receive(pair[1], 9, 0, 0);
	sim_post(pair[0], &send);
	sim_run(sim, SECOND);
	sim_poll(pair[0]);
	g_assert_cmpstr(pair[0]->sent->str, ==,
			"1 RI_OP_RDMA_READ RI_WC_SUCCESS\n2 RI_OP_SEND RI_WC_SUCCESS\n");
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(stories); i++) {
		g_autofree char *path = g_strdup_printf("/roce/revoked/source/%s", stories[i].name);

		g_test_add_data_func(path, &stories[i], source);
	}
	g_test_add_func("/roce/revoked/invalidator", invalidator);
	g_test_add_func("/roce/revoked/question", question);
	return g_test_run();
}
