/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Queue pairs: states and the moves between them, flushing, slots. */

#include "verbs_reset.h"

/* --- states ------------------------------------------------------------------------------ */

static void
expect_move(struct cert_end *end, enum ri_qp_state to, enum ri_status expected)
{
	enum ri_qp_state before = (enum ri_qp_state)cert_end_attr(end).state;

	cert_note(end->node->cert, "from %s to %s", ri_qp_state_name(before), ri_qp_state_name(to));
	CERT_UINT(end->node->cert, cert_end_move(end, to), ==, expected);
	if (expected != RI_SUCCESS)
		CERT_UINT(end->node->cert, cert_end_attr(end).state, ==, before);
}

static void
moves_from_idle(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct cert_end *end = cert_end_new(node, NULL);

	CERT_UINT(cert, cert_end_attr(end).state, ==, RI_QPS_IDLE);
	expect_move(end, RI_QPS_IDLE, RI_SUCCESS);
	expect_move(end, RI_QPS_CONNECTING, RI_ERR_INVALID_STATE);
	expect_move(end, RI_QPS_RTS, RI_ERR_INVALID_STATE);
	expect_move(end, RI_QPS_CLOSING, RI_ERR_INVALID_STATE);
	expect_move(end, RI_QPS_TERMINATE, RI_ERR_INVALID_STATE);
	expect_move(end, RI_QPS_ERROR, RI_SUCCESS);
	CERT_UINT(cert, cert_end_attr(end).state, ==, RI_QPS_ERROR);
}

static void
moves_from_error(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct cert_end *end = cert_end_new(node, NULL);

	expect_move(end, RI_QPS_ERROR, RI_SUCCESS);
	expect_move(end, RI_QPS_ERROR, RI_SUCCESS);
	expect_move(end, RI_QPS_CONNECTING, RI_ERR_INVALID_STATE);
	expect_move(end, RI_QPS_RTS, RI_ERR_INVALID_STATE);
	expect_move(end, RI_QPS_CLOSING, RI_ERR_INVALID_STATE);
	expect_move(end, RI_QPS_TERMINATE, RI_ERR_INVALID_STATE);
}

static void
moves_from_rts(struct cert *cert)
{
	struct pair pair;

	pair_connected(&pair, cert);
	expect_move(pair.a, RI_QPS_IDLE, RI_ERR_INVALID_STATE);
	expect_move(pair.a, RI_QPS_CONNECTING, RI_ERR_INVALID_STATE);
	cert_note(cert, "the connection stands as before");
	cert_post_recv(pair.b, 1, &pair.sink, 1);
	cert_post_send(pair.a, 2, &pair.source, 1, 0);
	cert_wc_is(pair.b, true, 1, RI_WC_SUCCESS);
	cert_wc_is(pair.a, false, 2, RI_WC_SUCCESS);
	expect_move(pair.a, RI_QPS_ERROR, RI_SUCCESS);
	cert_wait_end(pair.a);
	cert_wait_end(pair.b);
	CERT_UINT(cert, cert_end_attr(pair.a).state, ==, RI_QPS_ERROR);
	CERT_UINT(cert, cert_end_attr(pair.b).state, ==, RI_QPS_ERROR);
}

/* An end: both sides are in ERROR, their receives are flushed, and nothing comes behind. */
static void
ends_by(struct cert *cert, enum ri_qp_state state)
{
	struct pair pair;

	pair_connected(&pair, cert);
	cert_post_recv(pair.a, 1, &pair.source, 1);
	cert_post_recv(pair.b, 2, &pair.sink, 1);
	expect_move(pair.a, state, RI_SUCCESS);
	cert_wait_end(pair.a);
	cert_wait_end(pair.b);
	CERT_UINT(cert, pair.near->p->fast->cq_depth(pair.a->urcq), ==, 1);
	CERT_UINT(cert, pair.far->p->fast->cq_depth(pair.b->urcq), ==, 1);
	cert_wc_is(pair.a, true, 1, RI_WC_FLUSHED);
	cert_wc_is(pair.b, true, 2, RI_WC_FLUSHED);
	CERT_UINT(cert, cert_end_attr(pair.a).state, ==, RI_QPS_ERROR);
	CERT_UINT(cert, cert_end_attr(pair.b).state, ==, RI_QPS_ERROR);
	cert_wait_quiescent(pair.a);
	cert_wc_none(pair.a, true);
	cert_wc_none(pair.b, true);
	cert_wc_none(pair.a, false);
}

static void
ends_by_closing(struct cert *cert)
{
	ends_by(cert, RI_QPS_CLOSING);
}

static void
ends_by_terminate(struct cert *cert)
{
	ends_by(cert, RI_QPS_TERMINATE);
}

static void
ends_by_error(struct cert *cert)
{
	ends_by(cert, RI_QPS_ERROR);
}

/* The queue pair of an ended connection makes another one. */
static void
used_again(struct cert *cert)
{
	struct pair pair;

	pair_open(&pair, cert, NULL);
	for (unsigned round = 0; round < 3; round++) {
		cert_connect(pair.a, pair.b);
		cert_fill(pair.from->at, 64, round);
		cert_post_recv(pair.b, 1, &pair.sink, 1);
		cert_post_send(pair.a, 2, &pair.source, 1, 0);
		cert_wc_is(pair.b, true, 1, RI_WC_SUCCESS);
		cert_wc_is(pair.a, false, 2, RI_WC_SUCCESS);
		cert_expect_fill(cert, "what arrived", pair.into->at, 64, round);
		CERT_UINT(cert, cert_end_move(pair.a, RI_QPS_ERROR), ==, RI_SUCCESS);
		cert_wait_end(pair.a);
		cert_wait_end(pair.b);
		reset_events(pair.a);
		reset_events(pair.b);
		reset_end(pair.a);
		reset_end(pair.b);
		CERT_UINT(cert, cert_end_attr(pair.a).state, ==, RI_QPS_IDLE);
	}
}

static void
not_used_again(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct cert_end *end = cert_end_new(node, NULL);
	enum ri_status status;

	expect_move(end, RI_QPS_ERROR, RI_SUCCESS);
	status = cert_end_move(end, RI_QPS_IDLE);
	CERT_TRUE(cert, status == RI_ERR_UNSUPPORTED || status == RI_ERR_INVALID_STATE);
	CERT_UINT(cert, cert_end_attr(end).state, ==, RI_QPS_ERROR);
}

/* --- posts in each state ------------------------------------------------------------------ */

static void
kept_in_idle(struct cert *cert)
{
	struct pair pair;

	pair_open(&pair, cert, NULL);
	cert_fill(pair.from->at, 4096, 1);
	for (unsigned i = 0; i < 4; i++) {
		struct ri_sge source = cert_sge(pair.from, i * 64u, 64);
		struct ri_sge sink = cert_sge(pair.into, i * 64u, 64);

		cert_post_recv(pair.b, i, &sink, 1);
		cert_post_send(pair.a, i, &source, 1, 0);
	}
	cert_wc_none(pair.a, false);
	cert_wc_none(pair.b, true);
	CERT_TRUE(cert, !cert_end_attr(pair.a).quiescent);
	cert_connect(pair.a, pair.b);
	for (unsigned i = 0; i < 4; i++) {
		cert_wc_is(pair.b, true, i, RI_WC_SUCCESS);
		cert_wc_is(pair.a, false, i, RI_WC_SUCCESS);
	}
	cert_expect_fill(cert, "what arrived", pair.into->at, 256, 1);
}

static void
flushed_from_idle(struct cert *cert)
{
	struct pair pair;

	pair_open(&pair, cert, NULL);
	for (unsigned i = 0; i < 8; i++) {
		cert_post_recv(pair.a, i, &pair.source, 1);
		cert_post_send(pair.a, i, &pair.source, 1, 0);
	}
	CERT_UINT(cert, cert_end_move(pair.a, RI_QPS_ERROR), ==, RI_SUCCESS);
	for (unsigned i = 0; i < 8; i++) {
		struct ri_wc wc = cert_wc_is(pair.a, true, i, RI_WC_FLUSHED);

		CERT_UINT(cert, wc.opcode, ==, RI_OP_RECV);
		wc = cert_wc_is(pair.a, false, i, RI_WC_FLUSHED);
		CERT_UINT(cert, wc.opcode, ==, RI_OP_SEND);
	}
	cert_wc_none(pair.a, true);
	cert_wc_none(pair.a, false);
	CERT_UINT(cert, cert_cm_count(pair.near, RI_CM_BROKEN, pair.a->ctx), ==, 0);
	CERT_UINT(cert, cert_async_count(pair.near, RI_EVENT_NONE, pair.a->ctx), ==, 0);
}

static void
refused_in_idle(struct cert *cert)
{
	struct pair pair;
	struct ri_wr wr = {.wr_id = 1, .opcode = RI_OP_SEND, .num_sge = 1, .flags = RI_WR_SIGNALED};

	pair_open(&pair, cert, NULL);
	wr.sgl = &pair.source;
	CERT_FAST(cert, RI_ERR_INVALID_STATE, pair.near->p->fast->post_sq(pair.a->uqp, &wr));
	cert_note(cert, "nothing was posted");
	CERT_UINT(cert, cert_end_move(pair.a, RI_QPS_ERROR), ==, RI_SUCCESS);
	cert_wc_none(pair.a, false);
}

static void
flushed_in_error(struct cert *cert)
{
	struct pair pair;
	struct ri_wr wr = {.wr_id = 9, .opcode = RI_OP_SEND, .num_sge = 1};

	pair_open(&pair, cert, NULL);
	CERT_UINT(cert, cert_end_move(pair.a, RI_QPS_ERROR), ==, RI_SUCCESS);
	for (unsigned i = 0; i < 40; i++) {
		cert_post_recv(pair.a, i, &pair.source, 1);
		cert_post_send(pair.a, i, &pair.source, 1, 0);
		cert_wc_is(pair.a, true, i, RI_WC_FLUSHED);
		cert_wc_is(pair.a, false, i, RI_WC_FLUSHED);
	}
	cert_note(cert, "a request that is not signalled");
	wr.sgl = &pair.source;
	cert_post(pair.a, &wr);
	cert_wc_is(pair.a, false, 9, RI_WC_FLUSHED);
}

/* What an ended connection leaves is flushed in order, and the end is told behind it. */
static void
flushed_in_order(struct cert *cert)
{
	struct pair pair;
	uint32_t count;

	pair_connected(&pair, cert);
	count = pair.b->init.max_rq_wr;
	for (uint32_t i = 0; i < count; i++)
		cert_post_recv(pair.b, i, &pair.sink, 1);
	for (unsigned i = 0; i < 3; i++) {
		cert_post_send(pair.a, i, &pair.source, 1, 0);
		cert_wc_is(pair.a, false, i, RI_WC_SUCCESS);
	}
	cert_wc_is(pair.b, true, 0, RI_WC_SUCCESS);
	cert_wc_is(pair.b, true, 1, RI_WC_SUCCESS);
	cert_wc_is(pair.b, true, 2, RI_WC_SUCCESS);
	cert_disconnect(pair.a, pair.b);
	CERT_UINT(cert, pair.far->p->fast->cq_depth(pair.b->urcq), ==, count - 3);
	for (uint32_t i = 3; i < count; i++)
		cert_wc_is(pair.b, true, i, RI_WC_FLUSHED);
	cert_wc_none(pair.b, true);
}

/* --- slots ------------------------------------------------------------------------------- */

static void
slots_of_requests(struct cert *cert)
{
	struct pair pair;
	struct ri_wr wr = {.opcode = RI_OP_SEND, .num_sge = 1};
	uint32_t count;

	pair_open(&pair, cert, NULL);
	count = pair.a->init.max_sq_wr;
	wr.sgl = &pair.source;
	for (uint32_t i = 0; i < count; i++) {
		wr.wr_id = i;
		wr.flags = i % 4 == 3 ? RI_WR_SIGNALED : 0;
		cert_post(pair.a, &wr);
	}
	cert_note(cert, "%u slots are taken", count);
	CERT_FAST(cert, RI_ERR_QUEUE_FULL, pair.near->p->fast->post_sq(pair.a->uqp, &wr));
	CERT_UINT(cert, cert_end_move(pair.a, RI_QPS_ERROR), ==, RI_SUCCESS);
	for (uint32_t i = 0; i < count; i++)
		cert_wc_is(pair.a, false, i, RI_WC_FLUSHED);
	cert_wc_none(pair.a, false);
	cert_note(cert, "all are free again");
	wr.wr_id = 99;
	cert_post(pair.a, &wr);
	cert_wc_is(pair.a, false, 99, RI_WC_FLUSHED);
}

/* In ERROR a request is flushed at once, and keeps its slot until its completion is polled. */
static void
slots_in_error(struct cert *cert)
{
	struct pair pair;
	struct ri_wr wr = {.opcode = RI_OP_SEND, .num_sge = 1};
	uint32_t count;

	pair_connected(&pair, cert);
	count = pair.a->init.max_sq_wr;
	wr.sgl = &pair.source;
	CERT_UINT(cert, cert_end_move(pair.a, RI_QPS_ERROR), ==, RI_SUCCESS);
	cert_wait_end(pair.a);
	for (unsigned round = 0; round < 50; round++) {
		for (wr.wr_id = 0; wr.wr_id < count; wr.wr_id++)
			cert_post(pair.a, &wr);
		CERT_FAST(cert, RI_ERR_QUEUE_FULL, pair.near->p->fast->post_sq(pair.a->uqp, &wr));
		for (uint32_t i = 0; i < count; i++)
			cert_wc_is(pair.a, false, i, RI_WC_FLUSHED);
		cert_wc_none(pair.a, false);
	}
}

static void
slots_of_receives(struct cert *cert)
{
	struct pair pair;
	struct ri_recv_wr wr = {.wr_id = 1000, .num_sge = 1};
	uint32_t count;

	pair_connected(&pair, cert);
	count = pair.b->init.max_rq_wr;
	wr.sgl = &pair.sink;
	for (uint32_t i = 0; i < count; i++)
		cert_post_recv(pair.b, i, &pair.sink, 1);
	CERT_FAST(cert, RI_ERR_QUEUE_FULL, pair.far->p->fast->post_rq(pair.b->uqp, &wr));
	cert_post_send(pair.a, 1, &pair.source, 1, 0);
	cert_wc_is(pair.a, false, 1, RI_WC_SUCCESS);
	cert_wc_is(pair.b, true, 0, RI_WC_SUCCESS);
	cert_note(cert, "one slot is free again");
	cert_post_recv(pair.b, count, &pair.sink, 1);
	CERT_FAST(cert, RI_ERR_QUEUE_FULL, pair.far->p->fast->post_rq(pair.b->uqp, &wr));
}

/* A slot of a request without a completion is free when a later completion was polled. */
static void
slots_of_silent_requests(struct cert *cert)
{
	struct pair pair;
	struct ri_wr wr = {.opcode = RI_OP_RDMA_WRITE, .num_sge = 1};
	uint32_t count;

	pair_connected(&pair, cert);
	count = pair.a->init.max_sq_wr;
	wr.sgl = &pair.source;
	wr.u.remote.addr = pair.sink.addr;
	wr.u.remote.stag = pair.sink.stag;
	for (unsigned round = 0; round < 5; round++) {
		for (uint32_t i = 0; i < count; i++) {
			wr.wr_id = i;
			wr.flags = i == count - 1 ? RI_WR_SIGNALED : 0;
			cert_post(pair.a, &wr);
		}
		gint64 until = 0;
		while (pair.near->p->fast->cq_depth(pair.a->uscq) == 0)
			CERT_TRUE(cert, cert_patience(cert, &until));
		cert_note(cert, "all %u are done, and no completion was polled", count);
		CERT_FAST(cert, RI_ERR_QUEUE_FULL, pair.near->p->fast->post_sq(pair.a->uqp, &wr));
		cert_wc_is(pair.a, false, count - 1, RI_WC_SUCCESS);
	}
	cert_wc_none(pair.a, false);
}

/* A program that asks whether work is left is not told of the connection. */
static void
quiet_while_connected(struct cert *cert)
{
	struct pair pair;

	pair_connected(&pair, cert);
	for (unsigned round = 0; round < 3; round++) {
		cert_wait_quiescent(pair.a);
		cert_wait_quiescent(pair.b);
		cert_post_recv(pair.b, round, &pair.sink, 1);
		CERT_TRUE(cert, !cert_end_attr(pair.b).quiescent);
		cert_post_send(pair.a, round, &pair.source, 1, 0);
		cert_wc_is(pair.b, true, round, RI_WC_SUCCESS);
		cert_wc_is(pair.a, false, round, RI_WC_SUCCESS);
	}
	cert_wait_quiescent(pair.a);
	cert_wait_quiescent(pair.b);
	CERT_UINT(cert, cert_end_attr(pair.a).state, ==, RI_QPS_RTS);
	CERT_UINT(cert, cert_end_attr(pair.b).state, ==, RI_QPS_RTS);
}

static void
too_many_segments(struct cert *cert)
{
	struct pair pair;
	struct ri_sge sgl[300];
	struct ri_wr wr = {.wr_id = 1, .sgl = sgl, .flags = RI_WR_SIGNALED};
	struct ri_recv_wr recv = {.wr_id = 1, .sgl = sgl};

	pair_looking_at_requests(&pair, cert);
	for (size_t i = 0; i < G_N_ELEMENTS(sgl); i++)
		sgl[i] = cert_sge(pair.from, 0, 1);
	const struct {
		enum ri_opcode opcode;
		uint32_t most;
	} rows[] = {
		{RI_OP_SEND, pair.a->init.max_send_sge},
		{RI_OP_RDMA_WRITE, pair.a->init.max_write_sge},
		{RI_OP_RDMA_READ, pair.a->init.max_read_sge},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		if (rows[i].most + 1 > G_N_ELEMENTS(sgl))
			continue;
		cert_note(cert, "%s with %u segments", ri_opcode_name(rows[i].opcode),
			  rows[i].most + 1);
		wr.opcode = (uint8_t)rows[i].opcode;
		wr.num_sge = (uint16_t)(rows[i].most + 1);
		CERT_FAST(cert, RI_ERR_LIMIT, pair.near->p->fast->post_sq(pair.a->uqp, &wr));
	}
	recv.num_sge = (uint16_t)MIN(pair.a->init.max_recv_sge + 1, G_N_ELEMENTS(sgl));
	if (recv.num_sge > pair.a->init.max_recv_sge)
		CERT_FAST(cert, RI_ERR_LIMIT, pair.near->p->fast->post_rq(pair.a->uqp, &recv));
	cert_note(cert, "nothing was posted");
	CERT_UINT(cert, cert_end_move(pair.a, RI_QPS_ERROR), ==, RI_SUCCESS);
	cert_wc_none(pair.a, false);
	cert_wc_none(pair.a, true);
}

static void
opcodes_that_are_none(struct cert *cert)
{
	struct pair pair;
	const uint8_t codes[] = {RI_OP_NONE, RI_OP_RECV, RI_OP_RECV_UD, RI_OP_COUNT, 255};
	struct ri_wr wr = {.wr_id = 1, .num_sge = 1, .flags = RI_WR_SIGNALED};

	pair_looking_at_requests(&pair, cert);
	wr.sgl = &pair.source;
	for (size_t i = 0; i < G_N_ELEMENTS(codes); i++) {
		cert_note(cert, "operation %u", codes[i]);
		wr.opcode = codes[i];
		CERT_FAST(cert, RI_ERR_UNSUPPORTED, pair.near->p->fast->post_sq(pair.a->uqp, &wr));
	}
	CERT_UINT(cert, cert_end_move(pair.a, RI_QPS_ERROR), ==, RI_SUCCESS);
	cert_wc_none(pair.a, false);
}

static const struct cert_case cases[] = {
	{.id = "verbs.qp.state.0001",
	 .title = "A queue pair begins in IDLE, from where only IDLE and ERROR can be asked for",
	 .rule = "[RI 4.3.1] [RI 4.3.2]",
	 .run = moves_from_idle},
	{.id = "verbs.qp.state.0002",
	 .title = "From ERROR nothing but ERROR and IDLE can be asked for",
	 .rule = "[RI 4.3.2]",
	 .run = moves_from_error},
	{.id = "verbs.qp.state.0003",
	 .title = "A connected queue pair refuses IDLE and CONNECTING and goes on",
	 .rule = "[RI 4.3.2] [RI 2.1.1]",
	 .run = moves_from_rts},
	{.id = "verbs.qp.state.0004",
	 .title = "A move to CLOSING ends both sides, with all completions first",
	 .rule = "[RI 4.3.2] [RI 8.2]",
	 .run = ends_by_closing},
	{.id = "verbs.qp.state.0005",
	 .title = "A move to TERMINATE ends both sides, with all completions first",
	 .rule = "[RI 4.3.2] [RI 8.2]",
	 .needs = "transport:RI_TRANSPORT_IWARP",
	 .run = ends_by_terminate},
	{.id = "verbs.qp.state.0006",
	 .title = "A move to ERROR ends both sides, with all completions first",
	 .rule = "[RI 4.3.2] [RI 8.2]",
	 .run = ends_by_error},
	{.id = "verbs.qp.state.0007",
	 .title = "A queue pair can be used for one connection after another",
	 .rule = "[RI 10.26] [RI 10.45]",
	 .needs = "qp_reusable",
	 .settles = "qp_reusable",
	 .run = used_again},
	{.id = "verbs.qp.state.0008",
	 .title = "A queue pair that cannot be used again stays in ERROR",
	 .rule = "[RI 10.26]",
	 .needs = "!qp_reusable",
	 .settles = "qp_reusable",
	 .run = not_used_again},
	{.id = "verbs.qp.post.0001",
	 .title = "What is posted in IDLE is kept, and runs in order when the connection stands",
	 .rule = "[RI 4.1.1] [RI 3.2.1] [RI 10.46]",
	 .needs = "!refuses:RI_REFUSES_UNCONNECTED_REQUESTS",
	 .settles = "refuses",
	 .run = kept_in_idle},
	{.id = "verbs.qp.post.0002",
	 .title = "What is posted in IDLE is flushed in order by a move to ERROR",
	 .rule = "[RI 4.1.1] [RI 3.3.2]",
	 .needs = "!refuses:RI_REFUSES_UNCONNECTED_REQUESTS",
	 .run = flushed_from_idle},
	{.id = "verbs.qp.post.0003",
	 .title = "What is posted in ERROR is flushed, signalled or not",
	 .rule = "[RI 4.1.1] [RI 3.3.2]",
	 .run = flushed_in_error},
	{.id = "verbs.qp.post.0004",
	 .title = "An end flushes what is left, in order, before it is told",
	 .rule = "[RI 3.2.1] [RI 8.2]",
	 .settles = "in_order_completion",
	 .run = flushed_in_order},
	{.id = "verbs.qp.post.0005",
	 .title = "A request with more segments than the queue pair takes is refused",
	 .rule = "[RI 10]",
	 .run = too_many_segments},
	{.id = "verbs.qp.post.0006",
	 .title = "What is no operation of a send queue is refused",
	 .rule = "[RI 3.1.1]",
	 .run = opcodes_that_are_none},
	{.id = "verbs.qp.post.0007",
	 .title = "A request that is posted in IDLE is refused where the profile says so",
	 .rule = "[RI 10.46]",
	 .needs = "refuses:RI_REFUSES_UNCONNECTED_REQUESTS",
	 .settles = "refuses",
	 .run = refused_in_idle},
	{.id = "verbs.qp.post.0008",
	 .title = "A connected queue pair is quiescent when all that was posted is completed",
	 .rule = "[RI 4.1.1]",
	 .run = quiet_while_connected},
	{.id = "verbs.qp.slot.0001",
	 .title = "A send queue takes exactly as many requests as it reports",
	 .rule = "[RI 3.2.7] [RI 2.2.2]",
	 .needs = "!refuses:RI_REFUSES_UNCONNECTED_REQUESTS",
	 .run = slots_of_requests},
	{.id = "verbs.qp.slot.0002",
	 .title = "A receive queue takes exactly as many receives as it reports",
	 .rule = "[RI 3.2.7] [RI 2.2.2]",
	 .run = slots_of_receives},
	{.id = "verbs.qp.slot.0003",
	 .title = "A slot without a completion is free when a later completion was polled, not "
		  "before",
	 .rule = "[RI 3.2.7] [RI 10.43]",
	 .run = slots_of_silent_requests},
	{.id = "verbs.qp.slot.0004",
	 .title = "A request that is flushed keeps its slot until its completion is polled",
	 .rule = "[RI 3.2.7] [RI 3.3.2]",
	 .run = slots_in_error},
};

CERT_SET(verbs_qp, cases);
