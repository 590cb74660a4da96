/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The engine on a wire without losses: octets of all opcodes, lengths and path MTUs; the effect of
 * each error at both sides; waiting for receives; binds and fences; datagrams.
 */
#include <string.h>

#include "vro_sim.h"

#define SECOND UINT64_C(1000000000)

static struct sim *
pair_new(uint32_t mtu, struct sim_qp *pair[2])
{
	struct sim *sim = sim_new(7, false);

	sim_pair(sim, ROCE_RC, mtu, 0xfffff0, 0x500, pair);
	return sim;
}

/* The completions of the requests of a side, in words. */
static void
sent_is(struct sim_qp *q, const char *expected)
{
	sim_poll(q);
	g_assert_cmpstr(q->sent->str, ==, expected);
	g_string_truncate(q->sent, 0);
}

static void
received_is(struct sim_qp *q, const char *expected)
{
	sim_poll(q);
	g_assert_cmpstr(q->received->str, ==, expected);
	g_string_truncate(q->received, 0);
}

/* --- octets ------------------------------------------------------------------------------- */

/* A request in three segments that do not lie side by side, of `length` octets in all, and the octets beside its target. */
static void
transfer_one(struct sim *sim, struct sim_qp *pair[2], uint8_t opcode, uint32_t length)
{
	struct sim_qp *q = pair[0];
	uint8_t *mine = pair[0]->side->memory;
	uint8_t *theirs = pair[1]->side->memory;
	uint32_t a = length / 3, b = length / 5, c = length - a - b;
	struct ri_sge sge[3] = {sim_sge(q, 0, a), sim_sge(q, 20000, b), sim_sge(q, 40000, c)};
	struct ri_wr wr = sim_request(q, length, opcode, sge, 5);
	g_autofree uint8_t *joined = g_malloc(length + 1);
	g_autofree uint8_t *before = g_memdup2(theirs, SIM_ROOM);

	for (guint i = 0; i < SIM_ROOM; i++)
		mine[i] = (uint8_t)g_test_rand_int();
	wr.num_sge = 3;
	if (opcode == RI_OP_SEND)
		sim_receive(pair[1], 1, 5, length);
	sim_post(q, &wr);
	sim_run(sim, SECOND / 10);
	memcpy(joined, mine, a);
	memcpy(joined + a, mine + 20000, b);
	memcpy(joined + a + b, mine + 40000, c);
	g_assert_cmpmem(joined, length, theirs + 5, length);
	if (opcode != RI_OP_RDMA_READ) {
		g_assert_cmpmem(before, 5, theirs, 5);
		g_assert_cmpmem(before + 5 + length, SIM_ROOM - 5 - length, theirs + 5 + length,
				SIM_ROOM - 5 - length);
	} else {
		g_assert_cmpmem(before, SIM_ROOM, theirs, SIM_ROOM);
	}

	g_autofree char *line = g_strdup_printf("%u %s RI_WC_SUCCESS\n", length,
						ri_opcode_name((enum ri_opcode)opcode));

	sent_is(q, line);
}

static void
transfer(void)
{
	static const uint32_t mtus[] = {256, 512, 1024, 2048, 4096};
	static const uint8_t opcodes[] = {RI_OP_SEND, RI_OP_RDMA_WRITE, RI_OP_RDMA_READ};

	for (guint m = 0; m < G_N_ELEMENTS(mtus); m++) {
		uint32_t mtu = mtus[m];
		const uint32_t lengths[] = {0,   1,       3,       4,     mtu - 1,
					    mtu, mtu + 1, 2 * mtu, 19000, 2 * mtu + 5};
		struct sim_qp *pair[2];
		struct sim *sim RI_AT_END(sim_free) = pair_new(mtu, pair);

		for (guint o = 0; o < G_N_ELEMENTS(opcodes); o++)
			for (guint i = 0; i < G_N_ELEMENTS(lengths); i++)
				transfer_one(sim, pair, opcodes[o], lengths[i]);
		g_assert_cmpuint(sim->sides[0].engine.counts[VRO_REPEATED], ==, 0);
	}
}

static guint asked_at_once;

/* A long Read is asked for in parts, and no more parts at once than the window has room for. */
static bool
count_reads(struct sim *sim, int from, const struct roce_packet *p)
{
	const struct vro_requester *tx = &sim->sides[0].qps[0]->qp.tx;

	if (from == 0 && p->opcode == ROCE_READ_REQUEST) {
		guint now = ((p->psn - tx->una) & ROCE_24) + p->length / 256;

		g_assert_cmpuint(p->length, <=, 16 * 256);
		g_assert_cmpuint(now, <=, tx->window);
		asked_at_once = MAX(asked_at_once, now);
	}
	return true;
}

static void
long_read(void)
{
	struct sim_qp *pair[2];
	struct sim *sim RI_AT_END(sim_free) = pair_new(256, pair);
	struct ri_sge sge = sim_sge(pair[0], 1024, 40000);
	struct ri_wr wr = sim_request(pair[0], 9, RI_OP_RDMA_READ, &sge, 8192);

	sim->filter = count_reads;
	asked_at_once = 0;
	sim_post(pair[0], &wr);
	sim_run(sim, SECOND);
	sent_is(pair[0], "9 RI_OP_RDMA_READ RI_WC_SUCCESS\n");
	g_assert_cmpmem(pair[0]->side->memory + 1024, 40000, pair[1]->side->memory + 8192, 40000);
	g_assert_cmpuint(asked_at_once, >, 16);
	g_assert_cmpuint(asked_at_once, <=, VRO_WINDOW_MAX);
}

static GString *order_seen;

static bool
order_note(struct sim *sim, int from, const struct roce_packet *p)
{
	(void)sim;
	if (from == 1)
		g_string_append(order_seen, (p->opcode & 0x1f) == ROCE_ACK ? "ack " : "message ");
	return true;
}

static void
order_is(const char *expected)
{
	g_assert_cmpstr(order_seen->str, ==, expected);
	g_string_truncate(order_seen, 0);
}

/* An acknowledgement that may wait goes behind a message that is posted meanwhile; a NAK does not wait. */
static void
held(void)
{
	struct sim_qp *pair[2];
	struct sim *sim RI_AT_END(sim_free) = pair_new(1024, pair);
	struct ri_sge sge = sim_sge(pair[0], 0, 100), answer_sge = sim_sge(pair[1], 0, 100);
	struct ri_wr wr = sim_request(pair[0], 1, RI_OP_SEND, &sge, 0);
	struct ri_wr answer = sim_request(pair[1], 2, RI_OP_SEND, &answer_sge, 0);
	struct vro_engine *engine = &pair[1]->side->engine;

	order_seen = g_string_new(NULL);
	sim->filter = order_note;
	/* It waits when the program has answered some messages at once, and no longer when it has not. */
	for (guint i = 0; i < VSW_ANSWERING + 6; i++) {
		bool waits = i >= VSW_ANSWERING && i <= VSW_ANSWERING + 4;
		bool answers = i < VSW_ANSWERING + 2;

		sim_receive(pair[0], 3, 1000, 100);
		sim_receive(pair[1], 3, 1000, 100);
		engine->hold = true;
		engine->round++;
		sim_post(pair[0], &wr);
		sim_run(sim, 100000);
		received_is(pair[1], "3 RI_OP_RECV RI_WC_SUCCESS 100 4\n");
		sent_is(pair[0], waits ? "" : "1 RI_OP_SEND RI_WC_SUCCESS\n");
		order_is(waits ? "" : "ack ");
		engine->hold = false;
		if (answers)
			sim_post(pair[1], &answer);
		vro_engine_flush(engine);
		order_is(!waits ? (answers ? "message " : "") : answers ? "message ack " : "ack ");
		sim_run(sim, SECOND / 100);
		sent_is(pair[0], waits ? "1 RI_OP_SEND RI_WC_SUCCESS\n" : "");
	}
	g_assert_cmpuint(pair[0]->side->engine.counts[VRO_REPEATED], ==, 0);
	engine->hold = true;
	sim_post(pair[0], &wr); /* there is no receive */
	sim_run(sim, 100000);
	order_is("ack ");
	g_assert_cmpuint(engine->counts[VRO_RNRS], ==, 1);
	sim_receive(pair[1], 3, 1000, 100);
	sim_run(sim, SECOND);
	order_is("ack ");
	pair[1]->qp.answering = VSW_ANSWERING;
	sim_receive(pair[1], 3, 1000, 100);
	sim_post(pair[0], &wr);
	sim_run(sim, 100000);
	order_is("");
	vro_engine_acks(engine);
	order_is("ack ");
	engine->hold = false;
	vro_engine_flush(engine);
	order_is("");
	g_string_free(order_seen, TRUE);
}

/* What the engine reports of a queue pair to the access layer. */
static void
counters_are(const struct sim_qp *q, uint64_t sent, uint64_t received, uint64_t retries)
{
	g_assert_cmpuint(q->qp.count->frames_sent, ==, sent);
	g_assert_cmpuint(q->qp.count->frames_received, ==, received);
	g_assert_cmpuint(q->qp.count->retries, ==, retries);
	g_assert_cmpuint(q->qp.count->crc_errors, ==, 0);
}

/* A burst of Sends is acknowledged by few packets, and only the requests that are to be signalled are completed. */
static void
coalesced(void)
{
	struct sim_qp *pair[2];
	struct sim *sim RI_AT_END(sim_free) = pair_new(1024, pair);
	struct ri_sge sge = sim_sge(pair[0], 0, 8);

	for (guint i = 0; i < 20; i++) {
		struct ri_wr wr = sim_request(pair[0], i, RI_OP_SEND, &sge, 0);

		wr.flags = i == 19 ? RI_WR_SIGNALED : 0;
		sim_receive(pair[1], i, 64 * i, 64);
		sim_post(pair[0], &wr);
	}
	sim_run(sim, SECOND);
	sent_is(pair[0], "19 RI_OP_SEND RI_WC_SUCCESS\n");
	g_assert_cmpuint(sim->sides[0].engine.counts[VRO_PACKETS_OUT], ==, 20);
	g_assert_cmpuint(sim->sides[1].engine.counts[VRO_PACKETS_OUT], ==, 1);
	counters_are(pair[0], 20, 1, 0);
	counters_are(pair[1], 1, 20, 0);
}

/* Counts the packets that ask for an acknowledgement. */
static bool
count_asking(struct sim *sim, int from, const struct roce_packet *p)
{
	guint *asking = sim->arg;

	*asking += from == 0 && p->ack_request;
	return true;
}

/* Post that many Sends that complete in silence, with their receives. */
static void
send_silently(struct sim_qp *pair[2], guint count)
{
	struct ri_sge sge = sim_sge(pair[0], 0, 8);

	for (guint i = 0; i < count; i++) {
		struct ri_wr wr = sim_request(pair[0], i, RI_OP_SEND, &sge, 0);

		wr.flags = 0;
		sim_receive(pair[1], i, 64 * i, 64);
		sim_post(pair[0], &wr);
	}
}

/* Requests whose completion nobody gets ask for no acknowledgement each: half of the send queue does, and a probe of the last one. */
static void
unasked(void)
{
	struct sim_qp *pair[2];
	struct sim *sim RI_AT_END(sim_free) = pair_new(1024, pair);
	struct vro_engine *engine = &sim->sides[0].engine;
	struct vro_requester *tx = &pair[0]->qp.tx;
	guint asking = 0;

	sim->filter = count_asking;
	sim->arg = &asking;
	engine->probe = SECOND / 1000;
	g_assert_cmpuint(tx->sq.size, ==, SIM_DEPTH);
	send_silently(pair, 10);
	sim_run(sim, SECOND / 2000);
	g_assert_cmpuint(asking, ==, 0);
	g_assert_cmpuint(engine->counts[VRO_PACKETS_OUT], ==, 10);
	g_assert_cmpuint(tx->una, !=, tx->end);
	sim_run(sim, SECOND);
	g_assert_cmpuint(tx->una, ==, tx->end);
	g_assert_cmpuint(asking, ==, 1);
	g_assert_cmpuint(engine->counts[VRO_PROBES], ==, 1);
	g_assert_cmpuint(engine->counts[VRO_PACKETS_OUT], ==, 11);
	asking = 0;
	tx->window = VRO_WINDOW_MAX;
	send_silently(pair, SIM_DEPTH / 2 - 1);
	sim_run(sim, SECOND / 2000);
	g_assert_cmpuint(asking, ==, 0);
	send_silently(pair, 1);
	sim_run(sim, SECOND / 2000);
	g_assert_cmpuint(asking, ==, 1);
	g_assert_cmpuint(tx->una, ==, tx->end);
	/* A smaller window asks earlier. */
	tx->window = 9;
	send_silently(pair, 5);
	sim_run(sim, SECOND / 2000);
	g_assert_cmpuint(asking, ==, 2);
	g_assert_cmpuint(tx->una, ==, tx->end);
	/* Without probes nobody asks later. */
	engine->probe = 0;
	send_silently(pair, 3);
	sim_run(sim, SECOND / 2000);
	g_assert_cmpuint(asking, ==, 5);
	g_assert_cmpuint(tx->una, ==, tx->end);
}

/* A Write of all memory, which never fits the budget as a whole with the others. */
static void
write_all(struct sim_qp *q, uint64_t id)
{
	struct ri_sge sge = sim_sge(q, 0, SIM_ROOM);
	struct ri_wr wr = sim_request(q, id, RI_OP_RDMA_WRITE, &sge, 0);

	sim_post(q, &wr);
}

/*
 * The octets in transit to a peer are limited by its receive buffer: a whole window of short
 * messages, fewer packets of the path MTU, and if both kinds are in transit, all count as long
 * ones.
 */
static void
budget(void)
{
	struct sim_qp *pair[2];
	struct sim *sim RI_AT_END(sim_free) = pair_new(4096, pair);
	struct vro_engine *engine = &sim->sides[0].engine;
	struct vro_requester *tx = &pair[0]->qp.tx;

	tx->window = VRO_WINDOW_MAX;
	for (int i = 0; i < 6; i++)
		write_all(pair[0], 0);
	g_assert_cmpuint(engine->counts[VRO_PACKETS_OUT], ==, VRO_BUDGET / 4096);
	g_assert_cmpuint(engine->sent[tx->peer], ==, VRO_BUDGET);
	sim_run(sim, SECOND);
	g_assert_cmpuint(engine->sent[tx->peer], ==, 0);
	sim_poll(pair[0]);
	engine->counts[VRO_PACKETS_OUT] = 0;
	tx->window = VRO_WINDOW_MAX;
	send_silently(pair, SIM_DEPTH - 1);
	g_assert_cmpuint(engine->counts[VRO_PACKETS_OUT], ==, SIM_DEPTH - 1);
	g_assert_cmpuint(engine->sent[tx->peer], <, VRO_BUDGET / 2);
	write_all(pair[0], 99);
	g_assert_cmpuint(engine->counts[VRO_PACKETS_OUT], <=, SIM_DEPTH);
	sim_run(sim, SECOND);
	g_assert_cmpuint(engine->sent[tx->peer], ==, 0);
	g_assert_cmpuint(engine->counts[VRO_REPEATED], ==, 0);
	sim_poll(pair[0]);
	g_assert_nonnull(strstr(pair[0]->sent->str, "99 RI_OP_RDMA_WRITE RI_WC_SUCCESS\n"));
}

/* --- errors ------------------------------------------------------------------------------- */

struct bad {
	const char *name;
	uint8_t opcode;
	uint32_t length;
	uint64_t away;   /* added to the remote address */
	uint32_t key;    /* changes the remote key */
	uint32_t access; /* of the responder's queue pair */
	uint32_t ird;
	const char *sent;     /* how the request completes */
	const char *received; /* how the first receive does */
	uint32_t event;       /* at the responder */
	const char *why;      /* says its log */
};

#define ALL_RIGHTS SIM_RIGHTS

static const struct bad bads[] = {
	{"write-key", RI_OP_RDMA_WRITE, 600, 0, 0x100, ALL_RIGHTS, 4, "REMOTE_ACCESS", "FLUSHED",
	 RI_EVENT_QP_ACCESS, "RDMA Write is refused: 600 octets at "},
	{"write-end", RI_OP_RDMA_WRITE, 600, SIM_ROOM - 300, 0, ALL_RIGHTS, 4, "REMOTE_ACCESS",
	 "FLUSHED", RI_EVENT_QP_ACCESS, "outside of the bounds of the region"},
	{"write-right", RI_OP_RDMA_WRITE, 8, 0, 0, RI_ACCESS_REMOTE_READ, 4, "REMOTE_ACCESS",
	 "FLUSHED", RI_EVENT_QP_ACCESS, "(rdma_write_enable)"},
	{"read-key", RI_OP_RDMA_READ, 600, 0, 0x100, ALL_RIGHTS, 4, "REMOTE_ACCESS", "FLUSHED",
	 RI_EVENT_QP_ACCESS, "RDMA Read is refused: 600 octets at "},
	{"read-end", RI_OP_RDMA_READ, 600, SIM_ROOM - 300, 0, ALL_RIGHTS, 4, "REMOTE_ACCESS",
	 "FLUSHED", RI_EVENT_QP_ACCESS, "outside of the bounds of the region"},
	{"read-none", RI_OP_RDMA_READ, 8, 0, 0, ALL_RIGHTS, 0, "REMOTE_INVALID_REQ", "FLUSHED",
	 RI_EVENT_QP_OPCODE, "(rdma_read_ird is 0)"},
	{"atomic-odd", RI_OP_FETCH_ADD, 8, 4, 0, ALL_RIGHTS, 4, "REMOTE_INVALID_REQ", "FLUSHED",
	 RI_EVENT_QP_OPCODE, "not a multiple of 8"},
	{"atomic-right", RI_OP_CMP_SWAP, 8, 0, 0, RI_ACCESS_REMOTE_READ, 4, "REMOTE_ACCESS",
	 "FLUSHED", RI_EVENT_QP_ACCESS, "allows its peer no atomic operation"},
	{"send-long", RI_OP_SEND, 600, 0, 0, ALL_RIGHTS, 4, "REMOTE_INVALID_REQ", "LOCAL_LENGTH",
	 RI_EVENT_NONE, "is longer than its receive"},
};

/* The peer refuses: the request fails with what the NAK says, both queue pairs end, and no octet of memory has changed. */
static void
refused(void)
{
	for (guint i = 0; i < G_N_ELEMENTS(bads); i++) {
		const struct bad *bad = &bads[i];
		struct sim_qp *pair[2];
		struct sim *sim RI_AT_END(sim_free) = pair_new(256, pair);
		struct ri_sge sge = sim_sge(pair[0], 1024, bad->length);
		struct ri_wr wr = sim_request(pair[0], 1, bad->opcode, &sge, 0);
		struct ri_wr behind = sim_request(pair[0], 2, RI_OP_SEND, &sge, 0);
		g_autofree uint8_t *before = g_memdup2(pair[1]->side->memory, SIM_ROOM);
		g_autofree char *sent =
			g_strdup_printf("1 %s RI_WC_%s\n2 RI_OP_SEND RI_WC_FLUSHED\n",
					ri_opcode_name((enum ri_opcode)bad->opcode), bad->sent);
		g_autofree char *received =
			g_strdup_printf("7 RI_OP_RECV RI_WC_%s\n", bad->received);

		g_test_message("%s", bad->name);
		atomic_store(&pair[1]->qp.in.access, bad->access);
		atomic_store(&pair[1]->qp.in.ird, bad->ird);
		sim_receive(pair[1], 7, 32768, 256);
		if (bad->opcode != RI_OP_SEND) {
			wr.u.remote.addr += bad->away;
			wr.u.remote.stag ^= bad->key;
		}
		sim_post(pair[0], &wr);
		sim_post(pair[0], &behind);
		sim_run(sim, SECOND);
		sent_is(pair[0], sent);
		received_is(pair[1], received);
		g_assert_cmpint(pair[0]->qp.state, ==, VRO_ERROR);
		g_assert_cmpint(pair[1]->qp.state, ==, VRO_ERROR);
		g_assert_cmpint((int)pair[1]->event, ==, (int)bad->event);
		if (bad->opcode != RI_OP_SEND)
			g_assert_cmpmem(before, SIM_ROOM, pair[1]->side->memory, SIM_ROOM);
		g_assert_cmpuint(sim->sides[0].engine.counts[VRO_TIMEOUTS], ==, 0);
		g_assert_true(vth_logged(sim->vth, "the peer, refuses a request of this end"));
		g_assert_true(vth_logged(sim->vth, bad->why));
	}
}

/* What this side may not do fails here, behind the requests before it, and nothing of it is sent. */
static void
local_errors(void)
{
	static const uint8_t opcodes[] = {RI_OP_SEND, RI_OP_RDMA_WRITE, RI_OP_RDMA_READ,
					  RI_OP_FETCH_ADD};

	for (guint i = 0; i < G_N_ELEMENTS(opcodes); i++) {
		struct sim_qp *pair[2];
		struct sim *sim RI_AT_END(sim_free) = pair_new(256, pair);
		struct ri_sge good = sim_sge(pair[0], 0, 600), sge = sim_sge(pair[0], 1024, 8);
		struct ri_wr first = sim_request(pair[0], 1, RI_OP_RDMA_WRITE, &good, 0);
		struct ri_wr wr = sim_request(pair[0], 2, opcodes[i], &sge, 0);
		g_autofree char *sent = g_strdup_printf(
			"1 RI_OP_RDMA_WRITE RI_WC_SUCCESS\n2 %s RI_WC_LOCAL_PROTECTION\n",
			ri_opcode_name((enum ri_opcode)opcodes[i]));

		sge.stag ^= 0x100;
		sim_post(pair[0], &first);
		sim_post(pair[0], &wr);
		sim_run(sim, SECOND);
		sent_is(pair[0], sent);
		g_assert_cmpint(pair[0]->qp.state, ==, VRO_ERROR);
		g_assert_cmpint((int)pair[0]->event, ==, RI_EVENT_QP_WR_ERROR);
		g_assert_cmpint(pair[1]->qp.state, ==, VRO_RTS);
		g_assert_true(vth_logged(sim->vth, "a request of this end fails, "));
		g_assert_true(vth_logged(sim->vth, ": its segment 0: 8 octets at "));
	}
}

static bool
lose_all(struct sim *sim, int from, const struct roce_packet *p)
{
	(void)p;
	return from != *(const int *)sim->arg;
}

/* A silent peer: after all repetitions, in the time that they take. */
static void
silence(void)
{
	struct sim_qp *pair[2];
	struct sim *sim RI_AT_END(sim_free) = pair_new(256, pair);
	struct ri_sge sge = sim_sge(pair[0], 0, 600);
	struct ri_wr wr = sim_request(pair[0], 1, RI_OP_RDMA_WRITE, &sge, 0);
	int deaf = 1;

	sim->filter = lose_all;
	sim->arg = &deaf;
	sim_post(pair[0], &wr);
	sim_run(sim, 8 * (UINT64_C(4096) << SIM_TIMEOUT) - SECOND / 1000);
	sent_is(pair[0], "");
	sim_run(sim, SECOND / 100);
	sent_is(pair[0], "1 RI_OP_RDMA_WRITE RI_WC_TRANSPORT\n");
	g_assert_cmpuint(sim->sides[0].engine.counts[VRO_TIMEOUTS], ==, 8);
	g_assert_true(vth_logged(sim->vth, "RDMA Write of 600 octets"));
	g_assert_true(vth_logged(sim->vth,
				 "acknowledged nothing since it was sent 8 times, 67108 us apart"));
	g_assert_cmpint(pair[1]->qp.state, ==, VRO_RTS);
}

/* No receive: the peer waits as long as the code says, and then sends again; or gives up. */
static void
not_ready(void)
{
	struct sim_qp *pair[2];
	struct sim *sim RI_AT_END(sim_free) = pair_new(256, pair);
	struct ri_sge sge = sim_sge(pair[0], 0, 600);
	struct ri_wr wr = sim_request(pair[0], 1, RI_OP_SEND, &sge, 0);
	struct ri_wr with = sim_request(pair[0], 2, RI_OP_RDMA_WRITE, &sge, 0);

	with.flags |= RI_WR_IMMEDIATE;
	with.imm = 0x5a5a5a5a;
	pair[1]->qp.path.rnr_timer = 14; /* 1.28 ms */
	sim_post(pair[0], &wr);
	sim_post(pair[0], &with);
	sim_run(sim, SECOND / 1000);
	g_assert_cmpuint(sim->sides[1].engine.counts[VRO_RNRS], ==, 1);
	g_assert_true(vth_logged(sim->vth,
				 "no receive is posted; the peer is to send it again in 1280 us"));
	sim_run(sim, SECOND / 10);
	g_assert_cmpuint(sim->sides[1].engine.counts[VRO_RNRS], >, 70);
	g_assert_cmpuint(sim->sides[1].engine.counts[VRO_RNRS], <, 80);
	g_assert_cmpuint(sim->sides[0].engine.counts[VRO_TIMEOUTS], ==, 0);
	sim_receive(pair[1], 5, 1024, 600);
	sim_run(sim, SECOND / 100);
	sent_is(pair[0], "1 RI_OP_SEND RI_WC_SUCCESS\n");
	received_is(pair[1], "5 RI_OP_RECV RI_WC_SUCCESS 600 4\n");
	g_assert_cmpmem(pair[0]->side->memory, 600, pair[1]->side->memory + 1024, 600);
	sim_receive(pair[1], 6, 0, 0);
	sim_run(sim, SECOND / 100);
	sent_is(pair[0], "2 RI_OP_RDMA_WRITE RI_WC_SUCCESS\n");
	received_is(pair[1], "6 RI_OP_RECV_WRITE RI_WC_SUCCESS 600 14 imm 5a5a5a5a\n");
	/* Twice more, and no more. */
	pair[0]->qp.path.rnr_retries = pair[0]->qp.tx.rnr_retries = 2;
	sim->sides[1].engine.counts[VRO_RNRS] = 0;
	g_assert_cmpuint(pair[0]->qp.count->retries, >, 70);
	pair[0]->qp.count->retries = sim->sides[0].engine.counts[VRO_REPEATED] = 0;
	sim_post(pair[0], &wr);
	sim_run(sim, SECOND);
	sent_is(pair[0], "1 RI_OP_SEND RI_WC_RNR\n");
	g_assert_cmpuint(sim->sides[1].engine.counts[VRO_RNRS], ==, 3);
	/* Two waits, and what was sent again after each. */
	g_assert_cmpuint(pair[0]->qp.count->retries, ==,
			 2 + sim->sides[0].engine.counts[VRO_REPEATED]);
	g_assert_cmpuint(sim->sides[0].engine.counts[VRO_REPEATED], >=, 2);
	g_assert_true(vth_logged(sim->vth, "had no receive for it at 3 tries (rnr_retry 2)"));
}

/* --- keys --------------------------------------------------------------------------------- */

/* A bind that reaches beyond its region fails here, and the log says so. */
static void
bind_refused(void)
{
	struct sim_qp *pair[2];
	struct sim *sim RI_AT_END(sim_free) = pair_new(256, pair);
	struct sim_side *side = pair[1]->side;
	struct vsw_mem_entry *mw = NULL;
	struct ri_wr bind = {.wr_id = 1, .opcode = RI_OP_BIND_MW, .flags = RI_WR_SIGNALED};
	uint32_t stag;

	g_assert_cmpint(vsw_mw_alloc(side->mem, &sim->pd, RI_MW_NARROW, &mw, &stag), ==,
			RI_SUCCESS);
	bind.u.bind =
		(struct ri_wr_bind){.mw_stag = stag | 1,
				    .mr_stag = side->stag,
				    .addr = (uint64_t)(uintptr_t)(side->memory + SIM_ROOM - 8),
				    .length = 512,
				    .access = RI_ACCESS_REMOTE_WRITE};
	sim_post(pair[1], &bind);
	sent_is(pair[1], "1 RI_OP_BIND_MW RI_WC_MW_BIND\n");
	g_assert_true(vth_logged(sim->vth, "outside of the bounds"));
	vsw_mw_free(mw);
}

/* A Send that arrives before the program has been notified of the connection must be retransmitted,
 * and takes no receive until then. If the program is not notified for long, the peer is told to
 * wait. */
static void
untold(void)
{
	struct sim_qp *pair[2];
	struct sim *sim RI_AT_END(sim_free) = pair_new(256, pair);
	struct ri_sge sge = sim_sge(pair[0], 0, 200);
	struct ri_wr wr = sim_request(pair[0], 3, RI_OP_SEND, &sge, 0);

	pair[1]->qp.untold = true;
	sim_receive(pair[1], 9, 8192, 512);
	sim_post(pair[0], &wr);
	sim_run(sim, SECOND / 250);
	g_assert_cmpuint(sim->sides[1].engine.counts[VRO_RNRS], ==, 0);
	sim_run(sim, SECOND / 10);
	received_is(pair[1], "");
	g_assert_cmpuint(sim->sides[1].engine.counts[VRO_RNRS], >, 0);
	vro_responder_told(&pair[1]->qp);
	vro_qp_kick(&pair[1]->qp);
	sim_run(sim, SECOND);
	received_is(pair[1], "9 RI_OP_RECV RI_WC_SUCCESS 200 4\n");
	sent_is(pair[0], "3 RI_OP_SEND RI_WC_SUCCESS\n");
}

/* A receive is posted, so a peer that does not wait for receives at all need not wait; packets behind the early one are no gap. */
static void
untold_impatient(void)
{
	struct sim_qp *pair[2];
	struct sim *sim RI_AT_END(sim_free) = pair_new(256, pair);
	struct ri_sge sge = sim_sge(pair[0], 0, 512);
	struct ri_wr wr = sim_request(pair[0], 3, RI_OP_SEND, &sge, 0);
	const uint64_t *counts = sim->sides[1].engine.counts;

	pair[0]->qp.path.rnr_retries = pair[0]->qp.tx.rnr_retries = 0;
	pair[1]->qp.untold = true;
	sim_receive(pair[1], 9, 8192, 512);
	sim_post(pair[0], &wr);
	sim_run(sim, SECOND / 2000);
	received_is(pair[1], "");
	vro_responder_told(&pair[1]->qp);
	vro_qp_kick(&pair[1]->qp);
	sim_run(sim, SECOND / 10000);
	received_is(pair[1], "9 RI_OP_RECV RI_WC_SUCCESS 512 4\n");
	sent_is(pair[0], "3 RI_OP_SEND RI_WC_SUCCESS\n");
	g_assert_cmpuint(counts[VRO_RNRS], ==, 0);
	g_assert_cmpuint(sim->sides[0].engine.counts[VRO_PROBES], ==, 0);
}

static guint early_sends;

static bool
watch_fence(struct sim *sim, int from, const struct roce_packet *p)
{
	const struct sim_qp *q = sim->sides[0].qps[0];

	if (from == 0 && p->opcode == (ROCE_RC | ROCE_SEND_ONLY) &&
	    q->qp.tx.oldest != q->qp.tx.current)
		early_sends++;
	return true;
}

/* A fenced request is sent when the Reads before it are complete. */
static void
fences(void)
{
	for (int fenced = 0; fenced < 2; fenced++) {
		struct sim_qp *pair[2];
		struct sim *sim RI_AT_END(sim_free) = pair_new(256, pair);
		struct ri_sge into = sim_sge(pair[0], 1024, 3000),
			      from = sim_sge(pair[0], 1024, 200);
		struct ri_wr read = sim_request(pair[0], 1, RI_OP_RDMA_READ, &into, 8192);
		struct ri_wr wr = sim_request(pair[0], 2, RI_OP_SEND, &from, 0);

		early_sends = 0;
		sim->filter = watch_fence;
		wr.flags |= fenced ? RI_WR_READ_FENCE : 0;
		sim_receive(pair[1], 9, 32768, 512);
		sim_post(pair[0], &read);
		sim_post(pair[0], &wr);
		sim_run(sim, SECOND);
		sent_is(pair[0], "1 RI_OP_RDMA_READ RI_WC_SUCCESS\n2 RI_OP_SEND RI_WC_SUCCESS\n");
		g_assert_cmpuint(early_sends, ==, fenced ? 0 : 1);
		if (fenced)
			g_assert_cmpmem(pair[1]->side->memory + 8192, 200,
					pair[1]->side->memory + 32768, 200);
	}
}

/* --- strangers ---------------------------------------------------------------------------- */

/* Send a packet to side 1 as if it came from side 0, or from a stranger. */
static void
inject(struct sim *sim, struct roce_packet *p, uint8_t from)
{
	struct roce_flow flow = {.source_port = 1000, .destination_port = ROCE_UDP_PORT};
	uint8_t octets[256] = {0};
	const uint8_t v4[4] = {192, 0, 2, from};

	roce_gid_of_v4(flow.source, v4);
	memcpy(flow.destination, sim->sides[1].gid, 16);
	p->pkey = ROCE_PKEY;

	size_t len = roce_packet_write(octets, p) + p->payload_length + roce_pad(p->payload_length);

	len = roce_icrc_seal(&flow, octets, len);
	vro_engine_packet(&sim->sides[1].engine, &flow, false, octets, len);
	vro_engine_flush(&sim->sides[1].engine);
}

/* Answers that nobody asked for, packets of others and numbers out of range change nothing, and are not answered. */
static void
strangers(void)
{
	struct sim_qp *pair[2];
	struct sim *sim RI_AT_END(sim_free) = pair_new(256, pair);
	struct sim_qp *q = pair[1];
	uint64_t *faults = sim->sides[1].engine.faults;
	static const uint8_t answers[] = {ROCE_ACK, ROCE_READ_ONLY, ROCE_ATOMIC_ACK};
	static const uint8_t syndromes[] = {0x1f, 0x60, 0x61, 0x62, 0x63, 0x20, 0x40, 0xe0};
	guint before;

	sim_receive(q, 1, 0, 64);
	before = sim->sent;
	for (guint a = 0; a < G_N_ELEMENTS(answers); a++)
		for (guint s = 0; s < G_N_ELEMENTS(syndromes); s++)
			for (uint32_t psn = 0x4f0; psn < 0x510; psn++) {
				struct roce_packet p = {.opcode = answers[a],
							.qpn = q->qp.qpn,
							.psn = psn,
							.syndrome = syndromes[s]};

				inject(sim, &p, 1);
			}

	struct roce_packet p = {
		.opcode = ROCE_SEND_ONLY, .qpn = q->qp.qpn, .psn = 0xfffff0, .ack_request = true};

	inject(sim, &p, 3);
	g_assert_cmpuint(faults[ROCE_PEER_FAULT], ==, 1);
	p.qpn = 0x777;
	inject(sim, &p, 1);
	p.qpn = q->qp.qpn;
	p.opcode |= ROCE_UC;
	inject(sim, &p, 1);
	g_assert_cmpuint(faults[ROCE_QPN_FAULT], ==, 2);
	g_assert_cmpuint(sim->sent, ==, before);
	received_is(q, "");
	/* A number that is ahead is answered once. */
	p.opcode = ROCE_SEND_ONLY;
	for (uint32_t i = 1; i < 1000; i++) {
		p.psn = roce_add(0xfffff0, i * 7919);
		if (roce_diff(p.psn, 0xfffff0) > 0)
			inject(sim, &p, 1);
	}
	g_assert_cmpuint(sim->sent, ==, before + 1);
	received_is(q, "");
	g_assert_cmpint(q->qp.state, ==, VRO_RTS);
}

/* A peer that asks for more Reads than this side remembers, while none is answered yet. */
static void
too_many(void)
{
	struct sim_qp *pair[2];
	struct sim *sim RI_AT_END(sim_free) = pair_new(256, pair);
	struct sim_qp *q = pair[1];
	struct roce_packet p = {.opcode = ROCE_READ_REQUEST,
				.qpn = q->qp.qpn,
				.va = (uint64_t)(uintptr_t)q->side->memory,
				.rkey = q->side->stag,
				.length = 8};

	sim->wire.limit = 1;
	q->side->in_flight = 1; /* the link is full */
	for (uint32_t i = 0; i < 4; i++) {
		p.psn = roce_add(0xfffff0, i);
		inject(sim, &p, 1);
		g_assert_cmpuint(q->qp.rx.asked - q->qp.rx.answered, ==, i + 1);
		g_assert_cmpuint(q->qp.rx.nak, ==, 0);
	}
	p.psn = roce_add(0xfffff0, 4);
	inject(sim, &p, 1);
	g_assert_cmphex(q->qp.rx.nak, ==, ROCE_NAK_INVALID);
	q->side->in_flight = 0;
	sim->wire.limit = 0;
	vro_engine_ready(&q->side->engine);
	g_assert_cmpint(q->qp.state, ==, VRO_ERROR);
	g_assert_cmpuint(sim->sent, ==, 5); /* the four answers, and then the NAK */
	q->side->in_flight = 5;
}

static bool
lose_read(struct sim *sim, int from, const struct roce_packet *p)
{
	int *left = sim->arg;

	return from == 0 || p->opcode != ROCE_READ_ONLY || (*left)-- <= 0;
}

/* The answer to a Read is lost: the acknowledgement of what follows shows that, and no time is waited for. */
static void
lost_answer(void)
{
	struct sim_qp *pair[2];
	struct sim *sim RI_AT_END(sim_free) = pair_new(256, pair);
	struct ri_sge into = sim_sge(pair[0], 1024, 200);
	struct ri_wr read = sim_request(pair[0], 1, RI_OP_RDMA_READ, &into, 8192);
	struct ri_wr wr = sim_request(pair[0], 2, RI_OP_SEND, &into, 0);
	int left = 1;

	sim->filter = lose_read;
	sim->arg = &left;
	sim_receive(pair[1], 9, 32768, 512);
	sim_post(pair[0], &read);
	sim_run(sim, 15000); /* the answers do not go out together */
	sim_post(pair[0], &wr);
	sim_run(sim, SECOND);
	sent_is(pair[0], "1 RI_OP_RDMA_READ RI_WC_SUCCESS\n2 RI_OP_SEND RI_WC_SUCCESS\n");
	received_is(pair[1], "9 RI_OP_RECV RI_WC_SUCCESS 200 4\n");
	g_assert_cmpint(left, <, 1);
	g_assert_cmpuint(sim->sides[0].engine.counts[VRO_PROBES], ==, 0);
}

/* A notification of congestion halves the window, once for what is under way; acknowledgements widen it again. */
static void
congestion(void)
{
	struct sim_qp *pair[2];
	struct sim *sim RI_AT_END(sim_free) = pair_new(256, pair);
	struct sim_qp *q = pair[1];
	struct roce_packet p = {
		.opcode = ROCE_CNP_OPCODE, .becn = true, .qpn = q->qp.qpn, .payload_length = 16};
	struct ri_sge sge = sim_sge(q, 0, 8192);
	struct ri_wr wr = sim_request(q, 1, RI_OP_RDMA_WRITE, &sge, 0);
	uint32_t window = q->qp.tx.window;

	sim_post(q, &wr);
	for (int i = 0; i < 5; i++)
		inject(sim, &p, 1);
	g_assert_cmpuint(q->qp.tx.window, ==, window / 2);
	sim_run(sim, SECOND);
	sent_is(q, "1 RI_OP_RDMA_WRITE RI_WC_SUCCESS\n");
	for (int i = 0; i < 400; i++) {
		sim_post(q, &wr);
		sim_run(sim, SECOND / 100);
		sent_is(q, "1 RI_OP_RDMA_WRITE RI_WC_SUCCESS\n");
	}
	g_assert_cmpuint(q->qp.tx.window, >, window);
	g_assert_cmpuint(q->qp.tx.window, ==, VRO_WINDOW_MAX);
	g_assert_cmpuint(sim->sides[1].engine.counts[VRO_CONGESTED], ==, 5);
}

/* --- datagrams ---------------------------------------------------------------------------- */

static void
datagrams(void)
{
	for (int v6 = 0; v6 < 2; v6++) {
		struct sim *sim RI_AT_END(sim_free) = sim_new(3, v6 != 0);
		struct sim_qp *pair[2];
		struct ri_sge sge;
		struct ri_wr wr = {.wr_id = 1, .opcode = RI_OP_SEND_UD, .num_sge = 1};

		for (int i = 0; i < 2; i++) {
			pair[i] = sim_qp_new(sim, i, ROCE_UD);
			pair[i]->qp.path.mtu = 1024;
			vro_qp_to_rtr(&pair[i]->qp, 0);
			vro_qp_to_rts(&pair[i]->qp, 0x77);
		}
		sge = sim_sge(pair[0], 100, 33);
		wr.sgl = &sge;
		wr.flags = RI_WR_SIGNALED | RI_WR_IMMEDIATE;
		wr.imm = 0xa5a5a5a5;
		wr.u.ud = (struct ri_wr_ud){.ah = 1, .qpn = pair[1]->qp.qpn, .qkey = 0x11111111};
		sim_post(pair[0], &wr); /* no receive: it is lost */
		sim_run(sim, SECOND);
		sim_receive(pair[1], 8, 4096, 72);
		sim_post(pair[0],
			 &wr); /* too long by one octet: it is lost, and the receive stays */
		sim_run(sim, SECOND);
		g_assert_cmpuint(sim->sides[1].engine.counts[VRO_DROPPED], ==, 2);
		wr.u.ud.qkey = 0x22222222;
		sge.length = 32;
		sim_post(pair[0], &wr);
		sim_run(sim, SECOND);
		g_assert_cmpuint(sim->sides[1].engine.faults[ROCE_QKEY_FAULT], ==, 1);
		wr.u.ud.qkey = VRO_KEY_CONTROLLED | 5; /* our own instead */
		sim_post(pair[0], &wr);
		sim_run(sim, SECOND);
		received_is(pair[1], "8 RI_OP_RECV_UD RI_WC_SUCCESS 72 1c imm a5a5a5a5\n");
		g_assert_cmpmem(sim->sides[0].memory + 100, 32, sim->sides[1].memory + 4136, 32);
		g_assert_cmphex(sim->sides[1].memory[4096 + (v6 ? 0 : 20)], ==, v6 ? 0x60 : 0x45);
		g_assert_cmpmem(sim->sides[1].memory + (v6 ? 4104 : 4128), v6 ? 16 : 4,
				sim->sides[0].gid + (v6 ? 0 : 12), v6 ? 16 : 4);
		sent_is(pair[0], "1 RI_OP_SEND_UD RI_WC_SUCCESS\n1 RI_OP_SEND_UD RI_WC_SUCCESS\n"
				 "1 RI_OP_SEND_UD RI_WC_SUCCESS\n1 RI_OP_SEND_UD RI_WC_SUCCESS\n");
		sge.length = 1025;
		sim_post(pair[0], &wr);
		sent_is(pair[0], "1 RI_OP_SEND_UD RI_WC_LOCAL_LENGTH\n");
		g_assert_cmpuint(pair[0]->failures, ==, 1);
	}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/roce/engine/transfer", transfer);
	g_test_add_func("/roce/engine/long-read", long_read);
	g_test_add_func("/roce/engine/coalesced", coalesced);
	g_test_add_func("/roce/engine/unasked", unasked);
	g_test_add_func("/roce/engine/budget", budget);
	g_test_add_func("/roce/engine/held", held);
	g_test_add_func("/roce/engine/refused", refused);
	g_test_add_func("/roce/engine/local-errors", local_errors);
	g_test_add_func("/roce/engine/silence", silence);
	g_test_add_func("/roce/engine/not-ready", not_ready);
	g_test_add_func("/roce/engine/bind-refused", bind_refused);
	g_test_add_func("/roce/engine/untold", untold);
	g_test_add_func("/roce/engine/untold-impatient", untold_impatient);
	g_test_add_func("/roce/engine/fences", fences);
	g_test_add_func("/roce/engine/strangers", strangers);
	g_test_add_func("/roce/engine/too-many", too_many);
	g_test_add_func("/roce/engine/lost-answer", lost_answer);
	g_test_add_func("/roce/engine/congestion", congestion);
	g_test_add_func("/roce/engine/datagrams", datagrams);
	return g_test_run();
}
