/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A peer that sends false acknowledgements or stays silent at the worst moment, and packets that
 * are delayed until packet numbers have wrapped: the requester's record of lost packets must stay
 * right.
 */
#include <string.h>

#include "vro_sim.h"
#include "vsw_answers.h"

#define SHORT  UINT64_C(15000) /* ns until the last packet is repeated */
#define SECOND UINT64_C(1000000000)
#define MTU    256

static bool
is_ack(int from, const struct roce_packet *p)
{
	return from == 1 && (p->opcode & 0x1f) == ROCE_ACK &&
	       (p->syndrome & ROCE_SYN_KIND) == ROCE_SYN_ACK;
}

/* --- a message whose memory went while its acknowledgement was lost --------------------------- */

struct spent {
	const char *name;
	uint32_t length;
	guint lost; /* acknowledgements that are lost, the first one excepted if the message is long */
	uint64_t probe; /* ns; 0: only a timeout finds what is lost */
	uint8_t retries;
};

static const struct spent cases[] = {
	{"short", 64, 4, SHORT, 0},
	{"long", 3 * MTU, 4, SHORT, 0},
	{"timeouts", 64, 2, 0, 7},
};

struct spending {
	const struct spent *spent;
	struct sim_side *side;
	uint32_t stag;
	uint32_t last; /* number of the message's last packet */
	guint acks;
	bool gone;
};

/* The peer's word that it has a part of a long message comes; that of the whole is lost for a while. */
static bool
spend(struct sim *sim, int from, const struct roce_packet *p)
{
	struct spending *s = sim->arg;

	if (!is_ack(from, p))
		return true;
	if (!s->gone) {
		s->gone = true;
		g_assert_cmpint(vsw_mem_invalidate(s->side->mem, &s->side->qps[0]->qp.in.who,
						   s->stag, false),
				==, VSW_MEM_OK);
	}
	return roce_diff(p->psn, s->last) < 0 || ++s->acks > s->spent->lost;
}

/* What is posted behind the message is executed once, in order, and not before it. */
static void
spent(gconstpointer data)
{
	struct spending s = {.spent = data};
	struct sim *sim RI_AT_END(sim_free) = sim_new(1, false);
	struct sim_side *side = &sim->sides[0];
	struct sim_qp *pair[2];
	struct vsw_mem_entry *mr, *mw;
	uint32_t window;
	const struct ri_mr_init init = {.addr = (uint64_t)(uintptr_t)side->memory,
					.length = SIM_ROOM,
					.access = SIM_ALL,
					.key = 0x11};
	struct ri_wr bind = {.wr_id = 2, .opcode = RI_OP_BIND_MW, .flags = RI_WR_SIGNALED};

	sim_pair(sim, ROCE_RC, MTU, 7, 9, pair);
	side->engine.probe = pair[0]->qp.tx.probe = s.spent->probe;
	pair[0]->qp.path.retries = pair[0]->qp.tx.retries = s.spent->retries;
	g_assert_cmpint(vsw_mr_reg(side->mem, &sim->pd, 1, &init, &mr, &s.stag), ==, RI_SUCCESS);
	g_assert_cmpint(vsw_mw_alloc(side->mem, &sim->pd, RI_MW_NARROW, &mw, &window), ==,
			RI_SUCCESS);
	s.side = side;
	s.last = roce_add(7, (s.spent->length - 1) / MTU);
	sim->filter = spend;
	sim->arg = &s;
	for (unsigned i = 0; i < 2; i++)
		sim_receive(pair[1], 8 + i, 4096 + i * 1024, 1024);
	struct ri_sge sge = sim_sge(pair[0], 0, s.spent->length);
	sge.stag = s.stag;
	const struct ri_wr first = sim_request(pair[0], 1, RI_OP_SEND, &sge, 0);
	const struct ri_sge other = sim_sge(pair[0], 0, 64);
	const struct ri_wr last = sim_request(pair[0], 3, RI_OP_SEND, &other, 0);

	bind.u.bind = (struct ri_wr_bind){.mw_stag = window | 0x33,
					  .mr_stag = side->stag,
					  .addr = (uint64_t)(uintptr_t)side->memory,
					  .length = 512,
					  .access = RI_ACCESS_REMOTE_WRITE};
	if (s.spent->length > MTU)
		pair[0]->qp.tx.window = 4; /* the second packet of three asks */
	sim_post(pair[0], &first);
	sim_post(pair[0], &bind);
	sim_post(pair[0], &last);
	sim_run(sim, 5 * SECOND);
	for (int i = 0; i < 2; i++)
		sim_poll(pair[i]);
	g_assert_cmpstr(pair[0]->sent->str, ==,
			"1 RI_OP_SEND RI_WC_SUCCESS\n2 RI_OP_BIND_MW RI_WC_SUCCESS\n"
			"3 RI_OP_SEND RI_WC_SUCCESS\n");
	g_assert_cmpuint(pair[0]->failures, ==, 0);
	g_assert_cmpuint(s.acks, >, s.spent->lost);
	vsw_mw_free(mw);
	g_assert_cmpint(vsw_mr_dereg(mr), ==, RI_SUCCESS);
}

/* --- a peer that asks for much at once -------------------------------------------------------- */

#define READS       4u
#define READ_OCTETS (SIM_ROOM - MTU)
#define READ_COUNT  (READ_OCTETS / MTU) /* packets of an answer */

struct asking {
	uint32_t psn;  /* of the next answer that is to come */
	uint32_t sent; /* packets of answers */
	bool other;    /* the other connection was answered */
	uint32_t sent_before_other;
};

/* The answers come whole and in order. */
static bool
count_answers(struct sim *sim, int from, const struct roce_packet *p)
{
	struct asking *asking = sim->arg;
	uint32_t place = asking->sent % READ_COUNT;

	if (from == 0)
		return true;
	if ((p->opcode & 0x1f) == ROCE_ACK && !asking->other) {
		asking->other = true;
		asking->sent_before_other = asking->sent;
	}
	if ((roce_parts(p->opcode) & ROCE_IS_READ) == 0)
		return true;
	g_assert_cmpuint(p->psn, ==, asking->psn);
	g_assert_cmpuint(p->opcode, ==,
			 place == 0                ? ROCE_READ_FIRST
			 : place == READ_COUNT - 1 ? ROCE_READ_LAST
						   : ROCE_READ_MIDDLE);
	asking->psn = roce_add(asking->psn, 1);
	asking->sent++;
	return false;
}

/* Side 0 sends a Read Request that its requester knows nothing of. */
static void
read_forge(struct sim_qp *pair[2], uint32_t psn, uint32_t at, uint32_t length)
{
	struct sim *sim = pair[0]->side->sim;
	struct roce_flow flow = {.source_port = 1000, .destination_port = ROCE_UDP_PORT};
	const struct roce_packet p = {.opcode = ROCE_RC | ROCE_READ_REQUEST,
				      .pkey = ROCE_PKEY,
				      .qpn = pair[1]->qp.qpn,
				      .psn = psn,
				      .ack_request = true,
				      .va = (uint64_t)(uintptr_t)sim->sides[1].memory + at,
				      .rkey = sim->sides[1].stag,
				      .length = length};
	uint8_t octets[128];

	memcpy(flow.source, sim->sides[0].gid, sizeof(flow.source));
	memcpy(flow.destination, sim->sides[1].gid, sizeof(flow.destination));
	vro_engine_packet(&sim->sides[1].engine, &flow, false, octets,
			  roce_icrc_seal(&flow, octets, roce_packet_write(octets, &p)));
}

/*
 * Long Reads of one peer, new or retransmitted, must not delay the connection of another peer: its
 * response must leave before more than one turn of packets has been sent.
 */
static void
turns(gconstpointer data)
{
	bool again = data != NULL;
	struct asking asking = {.psn = 7};
	struct sim *sim RI_AT_END(sim_free) = sim_new(1, false);
	struct sim_qp *pair[2], *other[2];
	struct vro_engine *engine = &sim->sides[1].engine;

	sim_pair(sim, ROCE_RC, MTU, 7, 9, pair);
	sim_pair(sim, ROCE_RC, MTU, 1, 2, other);
	sim->filter = count_answers;
	sim->arg = &asking;
	sim_receive(other[1], 9, 4096, 64);
	const struct ri_sge sge = sim_sge(other[0], 0, 64);
	const struct ri_wr send = sim_request(other[0], 1, RI_OP_SEND, &sge, 0);

	for (int round = 0; round < (again ? 2 : 1); round++) {
		asking = (struct asking){.psn = 7};
		for (uint32_t i = 0; i < READS; i++)
			read_forge(pair, 7 + i * READ_COUNT, 0, READ_OCTETS);
		vro_engine_flush(engine);
		g_assert_cmpuint(asking.sent, ==, VRO_TURN);
		if (round == again)
			sim_post(other[0], &send);
		else
			for (uint32_t i = 1; i < READS; i++)
				vro_engine_flush(engine);
		sim_run(sim, SECOND);
		g_assert_cmpuint(asking.sent, ==, READS * READ_COUNT);
		g_assert_null(engine->later);
	}
	g_assert_true(asking.other);
	g_assert_cmpuint(asking.sent_before_other, <=, 2 * VRO_TURN);
	g_assert_cmpuint(engine->counts[VRO_DUPLICATES], ==, again ? READS : 0);
	sim_poll(other[0]);
	g_assert_cmpstr(other[0]->sent->str, ==, "1 RI_OP_SEND RI_WC_SUCCESS\n");
}

/* A queue pair that has more to send is closed: nothing runs it any more. */
static void
turn_closed(void)
{
	struct asking asking = {.psn = 7};
	struct sim *sim RI_AT_END(sim_free) = sim_new(1, false);
	struct sim_qp *pair[2];

	sim_pair(sim, ROCE_RC, MTU, 7, 9, pair);
	sim->filter = count_answers;
	sim->arg = &asking;
	for (uint32_t i = 0; i < READS; i++)
		read_forge(pair, 7 + i * READ_COUNT, 0, READ_OCTETS);
	vro_engine_flush(&sim->sides[1].engine);
	g_assert_true(sim->sides[1].engine.later == &pair[1]->qp);
	vro_qp_leave(&pair[1]->qp);
	g_assert_null(sim->sides[1].engine.later);
	sim_run(sim, SECOND);
	g_assert_cmpuint(asking.sent, ==, VRO_TURN);
}

/* The number 0 is in the middle of an answer that is being sent: what was sent of it can be asked for again, what was not cannot. */
static void
wrap(void)
{
	struct sim *sim RI_AT_END(sim_free) = sim_new(1, false);
	struct sim_qp *pair[2];
	const struct vro_responding *rx;
	const uint32_t first = 0xfffffe, before = 200;

	sim_pair(sim, ROCE_RC, MTU, first - before, 9, pair);
	rx = &pair[1]->qp.rx;
	read_forge(pair, first - before, 0, before * MTU);
	read_forge(pair, first, 0, before * MTU);
	vro_engine_flush(&sim->sides[1].engine);
	g_assert_cmpuint(rx->answered, ==, 1);
	g_assert_cmpuint(rx->at, ==, VRO_TURN - before);
	read_forge(pair, roce_add(first, rx->at), rx->at * MTU, MTU);
	g_assert_cmpuint(rx->again, ==, 0);
	read_forge(pair, roce_add(first, 3), 3 * MTU, MTU);
	g_assert_cmpuint(rx->again, ==, 1);
}

/* A Read of more than 2^31 octets is no request, whatever memory there is. */
static void
too_long(void)
{
	struct sim *sim RI_AT_END(sim_free) = sim_new(1, false);
	struct sim_qp *pair[2];

	sim_pair(sim, ROCE_RC, MTU, 7, 9, pair);
	read_forge(pair, 7, 0, VRO_MAX_MESSAGE + 1);
	g_assert_cmphex(pair[1]->qp.rx.nak, ==, ROCE_NAK_INVALID);
}

/* A peer that was promised three Reads may have four, as it has places for a power of two; and no fifth. */
static void
promised(void)
{
	struct sim *sim RI_AT_END(sim_free) = sim_new(1, false);
	struct sim_qp *pair[2];

	sim_pair(sim, ROCE_RC, MTU, 7, 9, pair);
	atomic_store(&pair[1]->qp.in.ird, 3);
	for (uint32_t i = 0; i < 5; i++) {
		g_assert_cmphex(pair[1]->qp.rx.nak, ==, 0);
		read_forge(pair, 7 + i, 0, MTU);
	}
	g_assert_cmphex(pair[1]->qp.rx.nak, ==, ROCE_NAK_INVALID);
}

/* --- ends that are full, and times ------------------------------------------------------------ */

/* The link is full when acknowledgements are to leave that were held: they leave when it is not. */
static void
held(void)
{
	struct sim *sim RI_AT_END(sim_free) = sim_new(1, false);
	struct sim_side *side = &sim->sides[1];
	struct sim_qp *pair[2];

	sim_pair(sim, ROCE_RC, MTU, 7, 9, pair);
	side->engine.keep_alive = sim->sides[0].engine.probe = 0;
	pair[1]->qp.answering = VSW_ANSWERING;
	side->engine.hold = true;
	sim_receive(pair[1], 8, 4096, 64);
	const struct ri_sge sge = sim_sge(pair[0], 0, 64);
	const struct ri_wr send = sim_request(pair[0], 1, RI_OP_SEND, &sge, 0);

	sim_post(pair[0], &send);
	sim_run(sim, SHORT);
	g_assert_true(side->engine.held == &pair[1]->qp);
	side->engine.hold = false;
	sim->wire.limit = 1;
	side->in_flight = 1;
	vro_engine_acks(&side->engine);
	g_assert_true(pair[1]->qp.rx.due);
	sim->wire.limit = 0;
	side->in_flight = 0;
	vro_engine_flush(&side->engine);
	g_assert_false(pair[1]->qp.rx.due);
	sim_run(sim, SHORT);
	sim_poll(pair[0]);
	g_assert_cmpstr(pair[0]->sent->str, ==, "1 RI_OP_SEND RI_WC_SUCCESS\n");
}

static bool
lose_some(struct sim *sim, int from, const struct roce_packet *p)
{
	guint *left = sim->arg;

	(void)p;
	if (from != 0 || *left == 0)
		return true;
	(*left)--;
	return false;
}

/* Each loss at the end of a message is found as soon as the first one, if a message in between was not lost. */
static void
soon(void)
{
	struct sim *sim RI_AT_END(sim_free) = sim_new(1, false);
	struct sim_qp *pair[2];
	guint left;

	sim_pair(sim, ROCE_RC, MTU, 7, 9, pair);
	sim->sides[0].engine.probe = pair[0]->qp.tx.probe = 10 * SHORT;
	sim->filter = lose_some;
	sim->arg = &left;
	for (guint round = 0; round < 6; round++) {
		const struct ri_sge sge = sim_sge(pair[0], 0, 64);
		const struct ri_wr write = sim_request(pair[0], 1, RI_OP_RDMA_WRITE, &sge, 4096);

		left = round % 2 == 0 ? 2 : 0;
		sim_post(pair[0], &write);
		sim_run(sim, 80 * SHORT);
		sim_poll(pair[0]);
		g_assert_cmpuint(pair[0]->sent->len, ==,
				 (round + 1) * strlen("1 RI_OP_RDMA_WRITE RI_WC_SUCCESS\n"));
	}
}

/* The result of an atomic cannot be placed: the peer's word does not change. */
static void
sink(void)
{
	struct sim *sim RI_AT_END(sim_free) = sim_new(1, false);
	struct sim_side *side = &sim->sides[0];
	struct sim_qp *pair[2];
	struct vsw_mem_entry *mr;
	uint8_t before[8];
	const struct ri_mr_init init = {.addr = (uint64_t)(uintptr_t)side->memory,
					.length = SIM_ROOM,
					.access = RI_ACCESS_LOCAL_READ,
					.key = 0x11};

	sim_pair(sim, ROCE_RC, MTU, 7, 9, pair);
	struct ri_sge sge = sim_sge(pair[0], 0, 8);
	g_assert_cmpint(vsw_mr_reg(side->mem, &sim->pd, 1, &init, &mr, &sge.stag), ==, RI_SUCCESS);
	struct ri_wr add = sim_request(pair[0], 1, RI_OP_FETCH_ADD, &sge, 4096);

	add.u.remote.operand = 5;
	memcpy(before, sim->sides[1].memory + 4096, sizeof(before));
	sim_post(pair[0], &add);
	sim_run(sim, SECOND);
	sim_poll(pair[0]);
	g_assert_cmpstr(pair[0]->sent->str, ==, "1 RI_OP_FETCH_ADD RI_WC_LOCAL_PROTECTION\n");
	g_assert_cmpmem(before, sizeof(before), sim->sides[1].memory + 4096, sizeof(before));
	g_assert_cmpint(vsw_mr_dereg(mr), ==, RI_SUCCESS);
}

/* --- a connection that lasts ------------------------------------------------------------------ */

static void
message(struct sim_qp *pair[2])
{
	const struct ri_sge sge = sim_sge(pair[0], 0, 64);
	const struct ri_wr write = sim_request(pair[0], 1, RI_OP_RDMA_WRITE, &sge, 4096);

	sim_post(pair[0], &write);
	sim_run(pair[0]->side->sim, SECOND);
	sim_poll(pair[0]);
	g_assert_cmpuint(pair[0]->failures, ==, 0);
}

/* So many packets as half of all numbers were acknowledged, a part at a time: both ends are there. */
static void
numbers_pass(struct sim_qp *pair[2])
{
	struct vro_requester *tx = &pair[0]->qp.tx;

	for (int part = 0; part < 3; part++) {
		tx->psn = tx->una = tx->end = tx->asked = tx->long_end =
			roce_add(tx->psn, 0x2aaaab);
		pair[1]->qp.rx.psn = tx->psn;
		message(pair);
	}
}

/* A loss narrows the window however many packets have passed since the one before. */
static void
window(void)
{
	struct sim *sim RI_AT_END(sim_free) = sim_new(1, false);
	struct sim_qp *pair[2];
	uint32_t before;

	sim_pair(sim, ROCE_RC, MTU, 7, 9, pair);
	for (int round = 0; round < 2; round++) {
		before = pair[0]->qp.tx.window = 32;
		vro_requester_congested(&pair[0]->qp);
		g_assert_cmpuint(pair[0]->qp.tx.window, ==, before / 2);
		numbers_pass(pair);
	}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *path = g_strdup_printf("/roce/liar/spent/%s", cases[i].name);

		g_test_add_data_func(path, &cases[i], spent);
	}
	g_test_add_data_func("/roce/liar/turns/asked", NULL, turns);
	g_test_add_data_func("/roce/liar/turns/asked-again", "", turns);
	g_test_add_func("/roce/liar/turns/closed", turn_closed);
	g_test_add_func("/roce/liar/wrap", wrap);
	g_test_add_func("/roce/liar/too-long", too_long);
	g_test_add_func("/roce/liar/promised", promised);
	g_test_add_func("/roce/liar/held", held);
	g_test_add_func("/roce/liar/soon", soon);
	g_test_add_func("/roce/liar/sink", sink);
	g_test_add_func("/roce/liar/window", window);
	return g_test_run();
}
