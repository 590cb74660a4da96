/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Queue pairs that the application brings up itself: states, attributes, a peer that is not there, the end. */

#include "verbs_peer.h"

#include <string.h>

#define SHORT_TIMEOUT 10 /* 4 ms */

/* Both directions, and Reads, as over every connection. */
static void
carries(struct pair *pair)
{
	struct ri_sge far = cert_sge(pair->into, 512, 64);

	cert_fill(pair->from->at, 64, 1);
	cert_post_recv(pair->b, 1, &pair->sink, 1);
	cert_post_send(pair->a, 2, &pair->source, 1, 0);
	cert_wc_is(pair->b, true, 1, RI_WC_SUCCESS);
	cert_wc_is(pair->a, false, 2, RI_WC_SUCCESS);
	cert_expect_fill(pair->cert, "what arrived", pair->into->at, 64, 1);
	cert_fill(pair->into->at, 64, 2);
	cert_post_recv(pair->a, 3, &pair->source, 1);
	cert_post_send(pair->b, 4, &pair->sink, 1, 0);
	cert_wc_is(pair->a, true, 3, RI_WC_SUCCESS);
	cert_wc_is(pair->b, false, 4, RI_WC_SUCCESS);
	cert_expect_fill(pair->cert, "what came back", pair->from->at, 64, 2);
	cert_post_rdma(pair->a, RI_OP_RDMA_WRITE, 5, &pair->source, &far);
	cert_wc_is(pair->a, false, 5, RI_WC_SUCCESS);
	if (pair->a->init.ord > 0 && pair->b->init.ird > 0) {
		memset(pair->from->at, 0, 64);
		cert_post_rdma(pair->a, RI_OP_RDMA_READ, 6, &pair->source, &far);
		cert_wc_is(pair->a, false, 6, RI_WC_SUCCESS);
		cert_expect_fill(pair->cert, "what was read", pair->from->at, 64, 2);
	}
}

static void
brought_up(struct cert *cert)
{
	struct pair pair;

	pair_open(&pair, cert, NULL);
	peer_up(pair.a, pair.b);
	carries(&pair);
	for (int kind = RI_CM_NONE + 1; kind < RI_CM_KIND_COUNT; kind++) {
		CERT_UINT(cert, cert_cm_count(pair.near, (enum ri_cm_event_kind)kind, 0), ==, 0);
		CERT_UINT(cert, cert_cm_count(pair.far, (enum ri_cm_event_kind)kind, 0), ==, 0);
	}
}

/* One of the adapter's queue pairs is connected in one way, the next one in another. */
static void
beside(struct cert *cert)
{
	struct pair pair;
	struct cert_end *a, *b;

	pair_connected(&pair, cert);
	a = cert_end_new(pair.near, NULL);
	b = cert_end_new(pair.far, NULL);
	peer_up(a, b);
	carries(&pair);
	pair.a = a;
	pair.b = b;
	carries(&pair);
}

/* A side that only receives: its receives complete, its requests are kept until it may send. */
static void
receives_first(struct cert *cert)
{
	struct ri_peer to_a, to_b;
	struct pair pair;
	struct ri_wr wr = {.wr_id = 9, .opcode = RI_OP_SEND, .num_sge = 1, .flags = RI_WR_SIGNALED};
	enum ri_status status;

	pair_open(&pair, cert, NULL);
	to_b = peer_of(pair.a, pair.b);
	to_a = peer_of(pair.b, pair.a);
	peer_receive(pair.b, &to_a);
	cert_post_recv(pair.b, 1, &pair.sink, 1);
	wr.sgl = &pair.sink;
	status = pair.far->p->fast->post_sq(pair.b->uqp, &wr);
	if (pair_refuses(cert))
		cert_expect_status(cert, CERT_WHERE, "a request in CONNECTING", status,
				   RI_ERR_INVALID_STATE);
	else
		cert_expect_status(cert, CERT_WHERE, "a request in CONNECTING", status, RI_SUCCESS);
	peer_receive(pair.a, &to_b);
	peer_send(pair.a, &to_b);
	cert_post_recv(pair.a, 2, &pair.source, 1);
	cert_post_send(pair.a, 3, &pair.source, 1, 0);
	cert_wc_is(pair.b, true, 1, RI_WC_SUCCESS);
	cert_wc_is(pair.a, false, 3, RI_WC_SUCCESS);
	cert_wc_none(pair.b, false);
	CERT_UINT(cert, cert_end_attr(pair.b).state, ==, RI_QPS_CONNECTING);
	peer_send(pair.b, &to_a);
	if (status != RI_SUCCESS)
		cert_post(pair.b, &wr);
	cert_wc_is(pair.a, true, 2, RI_WC_SUCCESS);
	cert_wc_is(pair.b, false, 9, RI_WC_SUCCESS);
}

static void
states(struct cert *cert)
{
	struct ri_peer to_b;
	struct pair pair;

	pair_open(&pair, cert, NULL);
	to_b = peer_of(pair.a, pair.b);
	CERT_VERB(cert, RI_ERR_INVALID_STATE, pair.near->p->peer->send(pair.a->qp, &to_b));
	CERT_UINT(cert, cert_end_attr(pair.a).state, ==, RI_QPS_IDLE);
	peer_receive(pair.a, &to_b);
	CERT_VERB(cert, RI_ERR_INVALID_STATE, pair.near->p->peer->receive(pair.a->qp, &to_b));
	peer_send(pair.a, &to_b);
	CERT_VERB(cert, RI_ERR_INVALID_STATE, pair.near->p->peer->receive(pair.a->qp, &to_b));
	CERT_VERB(cert, RI_ERR_INVALID_STATE, pair.near->p->peer->send(pair.a->qp, &to_b));
	CERT_UINT(cert, cert_end_attr(pair.a).state, ==, RI_QPS_RTS);
	CERT_UINT(cert, cert_end_move(pair.a, RI_QPS_ERROR), ==, RI_SUCCESS);
	CERT_VERB(cert, RI_ERR_INVALID_STATE, pair.near->p->peer->receive(pair.a->qp, &to_b));
	CERT_VERB(cert, RI_ERR_INVALID_STATE, pair.near->p->peer->send(pair.a->qp, &to_b));
}

/* Each attribute that is outside of its range, alone: nothing has changed, and the valid ones are still taken. */
static void
attributes(struct cert *cert)
{
	const struct ri_rnic_attr *attr = cert_attr(cert);
	struct ri_peer good, odd;
	struct pair pair;

	pair_open(&pair, cert, NULL);
	good = peer_of(pair.a, pair.b);
#define RECEIVE(expected, member, value)                                                  \
	do {                                                                              \
		odd = good;                                                               \
		odd.member = value;                                                       \
		cert_note(cert, "receive with %s = %lld", #member, (long long)(value));   \
		CERT_VERB(cert, expected, pair.near->p->peer->receive(pair.a->qp, &odd)); \
		CERT_UINT(cert, cert_end_attr(pair.a).state, ==, RI_QPS_IDLE);            \
	} while (0)
#define SEND(expected, member, value)                                                  \
	do {                                                                           \
		odd = good;                                                            \
		odd.member = value;                                                    \
		cert_note(cert, "send with %s = %lld", #member, (long long)(value));   \
		CERT_VERB(cert, expected, pair.near->p->peer->send(pair.a->qp, &odd)); \
		CERT_UINT(cert, cert_end_attr(pair.a).state, ==, RI_QPS_CONNECTING);   \
	} while (0)
	RECEIVE(RI_ERR_INVALID_ARG, qpn, 0x1000000);
	RECEIVE(RI_ERR_INVALID_ARG, rq_psn, 0x1000000);
	RECEIVE(RI_ERR_INVALID_ARG, path_mtu, 0);
	RECEIVE(RI_ERR_INVALID_ARG, path_mtu, 128);
	RECEIVE(RI_ERR_INVALID_ARG, path_mtu, 1000);
	RECEIVE(RI_ERR_INVALID_ARG, path_mtu, 8192);
	RECEIVE(RI_ERR_INVALID_ARG, min_rnr_timer, 32);
	RECEIVE(RI_ERR_INVALID_ARG, path.port, attr->num_ports);
	RECEIVE(RI_ERR_LIMIT, ird, attr->max_ird + 1);
	peer_receive(pair.a, &good);
	SEND(RI_ERR_INVALID_ARG, sq_psn, 0x1000000);
	SEND(RI_ERR_INVALID_ARG, timeout, 32);
	SEND(RI_ERR_INVALID_ARG, retry_count, 8);
	SEND(RI_ERR_INVALID_ARG, rnr_retry, 8);
	SEND(RI_ERR_LIMIT, ord, attr->max_ord + 1);
	peer_send(pair.a, &good);
	odd = peer_of(pair.b, pair.a);
	peer_receive(pair.b, &odd);
	peer_send(pair.b, &odd);
	carries(&pair);
#undef RECEIVE
#undef SEND
}

/* An address that no host has, and a source that is not this adapter's (203.0.113.0/24, RFC 5737). */
static void
no_route(struct cert *cert)
{
	const struct ri_addr nowhere = {.family = RI_ADDR_IPV4, .octets = {203, 0, 113, 7}};
	struct ri_peer to_b;
	struct pair pair;

	pair_open(&pair, cert, NULL);
	to_b = peer_of(pair.a, pair.b);
	to_b.path.source = nowhere;
	CERT_VERB(cert, RI_ERR_NO_ROUTE, pair.near->p->peer->receive(pair.a->qp, &to_b));
	CERT_UINT(cert, cert_end_attr(pair.a).state, ==, RI_QPS_IDLE);
	to_b.path.source = cert_address(pair.near);
	peer_receive(pair.a, &to_b);
}

/* Datagrams have no peer. */
static void
datagrams(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct ri_qp_init init = cert_end_defaults(node);
	struct cert_end *rc = cert_end_new(node, NULL), *ud;
	struct ri_peer peer;

	init.type = RI_QP_UD;
	init.max_write_sge = init.max_read_sge = init.ird = init.ord = init.access = 0;
	ud = cert_end_new(node, &init);
	peer = peer_of(rc, rc);
	CERT_VERB(cert, RI_ERR_UNSUPPORTED, node->p->peer->receive(ud->qp, &peer));
	CERT_UINT(cert, cert_end_attr(ud).state, ==, RI_QPS_RTS);
}

/* --- a peer that is not there -------------------------------------------------------------------- */

/* The first request fails after few tries, those behind it are flushed, and then the queue pair raises the event of its end. */
static void
fails(struct cert_end *end, const struct ri_sge *source)
{
	struct cert *cert = end->node->cert;

	for (uint64_t id = 1; id <= 3; id++)
		cert_post_send(end, id, source, 1, 0);
	cert_wc_is(end, false, 1, RI_WC_TRANSPORT);
	cert_wc_is(end, false, 2, RI_WC_FLUSHED);
	cert_wc_is(end, false, 3, RI_WC_FLUSHED);
	peer_ended(end);
	CERT_TRUE(cert, cert_end_attr(end).quiescent);
}

/* Another number, another number of the first packet, a peer that names somebody else, one that is not up. */
static void
missing_peer(struct cert *cert)
{
	static const char *const what[] = {"no such queue pair", "another packet number",
					   "the peer names another queue pair", "the peer is IDLE"};

	for (unsigned i = 0; i < G_N_ELEMENTS(what); i++) {
		struct ri_peer to_a, to_b;
		struct pair pair;

		cert_note(cert, "%s", what[i]);
		pair_open(&pair, cert, NULL);
		to_b = peer_of(pair.a, pair.b);
		to_a = peer_of(pair.b, pair.a);
		to_b.timeout = SHORT_TIMEOUT;
		to_b.retry_count = 1;
		if (i == 0)
			to_b.qpn = 0xfffffe;
		else if (i == 1)
			to_a.rq_psn = (to_a.rq_psn + 1000) & 0xffffff;
		else if (i == 2)
			to_a.qpn = 0xfffffe;
		if (i != 3)
			peer_receive(pair.b, &to_a);
		cert_post_recv(pair.b, 9, &pair.sink, 1);
		peer_receive(pair.a, &to_b);
		peer_send(pair.a, &to_b);
		fails(pair.a, &pair.source);
		/* On a wire whose packets do not name the sender's queue pair the message arrives, and only its answer does not. */
		if (i != 2)
			cert_wc_none(pair.b, true);
		CERT_UINT(cert, cert_end_attr(pair.b).state, ==,
			  i == 3 ? RI_QPS_IDLE : RI_QPS_CONNECTING);
		cert_node_close(pair.near);
		cert_node_close(pair.far);
	}
}

/* --- the end ------------------------------------------------------------------------------------- */

/* A pair that is up. The second end does not try for long when the first has left. */
static void
pair_to_leave(struct pair *pair, struct cert *cert)
{
	struct ri_peer to_a, to_b;

	pair_open(pair, cert, NULL);
	to_b = peer_of(pair->a, pair->b);
	to_a = peer_of(pair->b, pair->a);
	to_a.timeout = SHORT_TIMEOUT;
	to_a.retry_count = 1;
	peer_receive(pair->a, &to_b);
	peer_receive(pair->b, &to_a);
	peer_send(pair->a, &to_b);
	peer_send(pair->b, &to_a);
}

/* Nobody tells the peer, which notices when it sends. */
static void
ended_by_modify(struct cert *cert)
{
	struct pair pair;

	pair_to_leave(&pair, cert);
	cert_post_recv(pair.a, 9, &pair.source, 1);
	CERT_UINT(cert, cert_end_move(pair.a, RI_QPS_ERROR), ==, RI_SUCCESS);
	cert_wc_is(pair.a, true, 9, RI_WC_FLUSHED);
	cert_wc_none(pair.b, true);
	CERT_UINT(cert, cert_end_attr(pair.b).state, ==, RI_QPS_RTS);
	CERT_UINT(cert, cert_async_ends(pair.far, pair.b->ctx), ==, 0);
	fails(pair.b, &pair.sink);
}

static void
ended_by_destruction(struct cert *cert)
{
	struct pair pair;

	pair_to_leave(&pair, cert);
	cert_end_free(pair.a);
	cert_wc_none(pair.b, true);
	CERT_UINT(cert, cert_end_attr(pair.b).state, ==, RI_QPS_RTS);
	fails(pair.b, &pair.sink);
}

/* A queue pair that can be used again is IDLE then, and is brought up anew. */
static void
used_again(struct cert *cert)
{
	struct pair pair;

	pair_open(&pair, cert, NULL);
	for (unsigned i = 0; i < 3; i++) {
		gint64 until = 0;

		peer_up(pair.a, pair.b);
		carries(&pair);
		CERT_UINT(cert, cert_end_move(pair.a, RI_QPS_ERROR), ==, RI_SUCCESS);
		CERT_UINT(cert, cert_end_move(pair.b, RI_QPS_ERROR), ==, RI_SUCCESS);
		cert_wait_quiescent(pair.a);
		cert_wait_quiescent(pair.b);
		while (cert_end_move(pair.a, RI_QPS_IDLE) != RI_SUCCESS ||
		       cert_end_move(pair.b, RI_QPS_IDLE) != RI_SUCCESS)
			CERT_TRUE(cert, cert_patience(cert, &until));
		cert_events_forget(pair.near);
		cert_events_forget(pair.far);
	}
}

static void
up_with_tries(struct pair *pair, struct cert *cert, uint8_t tries, uint8_t timer)
{
	struct ri_peer to_a, to_b;

	pair_open(pair, cert, NULL);
	to_b = peer_of(pair->a, pair->b);
	to_a = peer_of(pair->b, pair->a);
	to_b.rnr_retry = to_a.rnr_retry = tries;
	to_b.min_rnr_timer = to_a.min_rnr_timer = timer;
	peer_receive(pair->a, &to_b);
	peer_receive(pair->b, &to_a);
	peer_send(pair->a, &to_b);
	peer_send(pair->b, &to_a);
}

/* A message that comes before its receive. False: the receive was later than `limit` microseconds, if there is one. */
static bool
waits(struct pair *pair, unsigned rounds, gint64 limit)
{
	gint64 begun = g_get_monotonic_time();
	struct cert *cert = pair->cert;

	cert_post_send(pair->a, 1, &pair->source, 1, 0);
	for (unsigned i = 0; i < rounds; i++)
		cert_progress(cert);
	CERT_UINT(cert, pair->far->p->fast->cq_depth(pair->b->urcq), ==, 0);
	cert_post_recv(pair->b, 2, &pair->sink, 1);
	if (limit != 0 && g_get_monotonic_time() - begun > limit)
		return false;
	cert_wc_is(pair->b, true, 2, RI_WC_SUCCESS);
	cert_wc_is(pair->a, false, 1, RI_WC_SUCCESS);
	return true;
}

/*
 * Each message has its full number of retries: more messages than retries wait for their receive,
 * one after another. All retries of one message take three times the interval between two; a
 * receive that is posted within half of that time is early enough.
 */
static void
tries_again(struct cert *cert)
{
	const gint64 between = 122880; /* microseconds: the code 27 */
	struct pair pair;

	up_with_tries(&pair, cert, 3, 27);
	for (unsigned i = 0; i < 5; i++) {
		cert_note(cert, "message %u", i + 1);
		if (!waits(&pair, 5, 3 * between / 2)) {
			cert_skip(cert, "this machine is too busy to be in time");
			return;
		}
	}
}

/* Seven tries have no end: many more than seven times 10 us pass. */
static void
tries_for_ever(struct cert *cert)
{
	struct pair pair;

	up_with_tries(&pair, cert, 7, 1);
	(void)waits(&pair, 200, 0);
	(void)waits(&pair, 5, 0);
}

static void
not_claimed(struct cert *cert)
{
	struct ri_peer peer;
	struct pair pair;

	pair_open(&pair, cert, NULL);
	peer = peer_of(pair.a, pair.b);
	CERT_VERB(cert, RI_ERR_UNSUPPORTED, pair.near->p->peer->receive(pair.a->qp, &peer));
	CERT_VERB(cert, RI_ERR_UNSUPPORTED, pair.near->p->peer->send(pair.a->qp, &peer));
	CERT_UINT(cert, cert_end_attr(pair.a).state, ==, RI_QPS_IDLE);
	cert_connect(pair.a, pair.b);
}

/* --- numbers of packets ------------------------------------------------------------------------ */

#define NUMBERS UINT32_C(0xffffff)

/* Messages of one packet and of several, with Reads among them: more packets than there are numbers behind each first one. */
static void
carries_packets(struct pair *pair)
{
	bool reads = pair->a->init.ord > 0 && pair->b->init.ird > 0;

	for (uint32_t i = 0; i < 4; i++) {
		size_t length = i % 2 == 0 ? VERBS_MEMORY : 1;
		struct ri_sge near = cert_sge(pair->from, 0, length);
		struct ri_sge far = cert_sge(pair->into, 0, length);

		cert_fill(pair->from->at, length, i);
		cert_post_recv(pair->b, 1, &far, 1);
		cert_post_send(pair->a, 2, &near, 1, 0);
		cert_wc_is(pair->b, true, 1, RI_WC_SUCCESS);
		cert_wc_is(pair->a, false, 2, RI_WC_SUCCESS);
		cert_expect_fill(pair->cert, "what arrived", pair->into->at, length, i);
		cert_fill(pair->from->at, length, i + 1);
		cert_post_rdma(pair->a, RI_OP_RDMA_WRITE, 3, &near, &far);
		cert_post_recv(pair->b, 4, NULL, 0);
		cert_post_send(pair->a, 5, NULL, 0, 0);
		cert_wc_is(pair->a, false, 3, RI_WC_SUCCESS);
		cert_wc_is(pair->a, false, 5, RI_WC_SUCCESS);
		cert_wc_is(pair->b, true, 4, RI_WC_SUCCESS);
		cert_expect_fill(pair->cert, "what was written", pair->into->at, length, i + 1);
		if (!reads)
			continue;
		cert_fill(pair->into->at, length, i + 2);
		cert_post_rdma(pair->a, RI_OP_RDMA_READ, 6, &near, &far);
		cert_wc_is(pair->a, false, 6, RI_WC_SUCCESS);
		cert_expect_fill(pair->cert, "what was read", pair->from->at, length, i + 2);
	}
}

/* The first packets of both sides have numbers around each place where a bit of them changes that a device may count by. */
static void
numbers_carry(struct cert *cert, const struct ri_qp_init *init)
{
	static const uint32_t edges[] = {0, 1u << 7, 1u << 8, 1u << 15, 1u << 16, 1u << 23};

	for (unsigned i = 0; i < 3 * G_N_ELEMENTS(edges); i++) {
		struct ri_peer to_a, to_b;
		struct pair pair;

		pair_open(&pair, cert, init);
		to_b = peer_of(pair.a, pair.b);
		to_a = peer_of(pair.b, pair.a);
		to_b.sq_psn = to_a.rq_psn = (edges[i / 3] - i % 3) & NUMBERS;
		to_a.sq_psn = to_b.rq_psn = (edges[i / 3] - (i + 1) % 3) & NUMBERS;
		cert_note(cert, "the first packets have the numbers %#x and %#x", to_b.sq_psn,
			  to_a.sq_psn);
		peer_receive(pair.a, &to_b);
		peer_receive(pair.b, &to_a);
		peer_send(pair.a, &to_b);
		peer_send(pair.b, &to_a);
		carries_packets(&pair);
		cert_node_close(pair.near);
		cert_node_close(pair.far);
	}
}

static void
numbers(struct cert *cert)
{
	numbers_carry(cert, NULL);
}

static void
numbers_unreliable(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct ri_qp_init init = uc_init(node);

	cert_node_close(node);
	numbers_carry(cert, &init);
}

static const struct cert_case cases[] = {
	{.id = "verbs.peer.up.0001",
	 .title = "Two queue pairs that are brought up by attributes carry data, and no event of a "
		  "connection comes",
	 .rule = "[RI 11.6.4] [RI 11.6.6] [RI 11.6.7]",
	 .needs = "cm_forms:RI_CM_PEER",
	 .settles = "cm_forms",
	 .run = brought_up},
	{.id = "verbs.peer.up.0002",
	 .title = "One queue pair is connected otherwise, and the next one by attributes",
	 .rule = "[RI 11.6.4]",
	 .needs = "cm_forms:RI_CM_PEER",
	 .run = beside},
	{.id = "verbs.peer.up.0003",
	 .title = "A side that may not send yet receives, and keeps its requests",
	 .rule = "[RI 11.6.6] [RI 10.46]",
	 .needs = "cm_forms:RI_CM_PEER",
	 .run = receives_first},
	{.id = "verbs.peer.count.0001",
	 .title = "Packets follow each other past the last number, whatever number the first one "
		  "has",
	 .rule = "[RI 11.6.4] [RI 11.6.6] [RI 11.6.7]",
	 .needs = "cm_forms:RI_CM_PEER",
	 .run = numbers},
	{.id = "verbs.peer.count.0002",
	 .title = "Packets of an unreliable connection follow each other past the last number",
	 .rule = "[RI 10.51] [RI 11.6.6] [RI 11.6.7]",
	 .needs = "cm_forms:RI_CM_PEER uc",
	 .run = numbers_unreliable},
	{.id = "verbs.peer.state.0001",
	 .title = "Each step is taken once, in its state",
	 .rule = "[RI 11.6.6] [RI 11.6.7]",
	 .needs = "cm_forms:RI_CM_PEER",
	 .run = states},
	{.id = "verbs.peer.range.0001",
	 .title = "Attributes outside of their ranges are refused and change nothing",
	 .rule = "[RI 11.6.4] [RI 11.6.6] [RI 11.6.7]",
	 .needs = "cm_forms:RI_CM_PEER",
	 .run = attributes},
	{.id = "verbs.peer.range.0002",
	 .title = "A source that is not of the adapter is refused",
	 .rule = "[RI 11.6.6]",
	 .needs = "cm_forms:RI_CM_PEER",
	 .run = no_route},
	{.id = "verbs.peer.range.0003",
	 .title = "A queue pair for datagrams has no peer",
	 .rule = "[RI 11.6.4]",
	 .needs = "cm_forms:RI_CM_PEER ud",
	 .run = datagrams},
	{.id = "verbs.peer.missing.0001",
	 .title = "If the peer is missing, or expects something else, the first request fails, and "
		  "the queue pair ends",
	 .rule = "[RI 11.6.7] [RI 11.6.8] [RI 8.2]",
	 .needs = "cm_forms:RI_CM_PEER",
	 .run = missing_peer},
	{.id = "verbs.peer.end.0001",
	 .title = "The end by modify is not told to the peer, which notices when it sends",
	 .rule = "[RI 11.6.8]",
	 .needs = "cm_forms:RI_CM_PEER",
	 .run = ended_by_modify},
	{.id = "verbs.peer.end.0002",
	 .title = "Destruction is not told to the peer, which notices when it sends",
	 .rule = "[RI 11.6.8]",
	 .needs = "cm_forms:RI_CM_PEER",
	 .run = ended_by_destruction},
	{.id = "verbs.peer.end.0003",
	 .title = "A queue pair that ended so can be brought up again",
	 .rule = "[RI 11.6.8] [RI 10.26]",
	 .needs = "cm_forms:RI_CM_PEER qp_reusable",
	 .run = used_again},
	{.id = "verbs.peer.tries.0001",
	 .title =
		 "Each message is tried as often as the attributes say, however many waited before",
	 .rule = "[RI 11.6.4] [RI 10.19]",
	 .needs = "cm_forms:RI_CM_PEER",
	 .run = tries_again},
	{.id = "verbs.peer.tries.0002",
	 .title = "Seven tries for a receive are tries without end",
	 .rule = "[RI 11.6.4] [RI 10.19]",
	 .needs = "cm_forms:RI_CM_PEER",
	 .run = tries_for_ever},
	{.id = "verbs.peer.absent.0001",
	 .title = "Without the claim both steps are refused, and the queue pair can be connected "
		  "otherwise",
	 .rule = "[RI 11.6.4] [RI 11.1.3]",
	 .needs = "!cm_forms:RI_CM_PEER",
	 .settles = "cm_forms",
	 .run = not_claimed},
};

CERT_SET(verbs_peer, cases);
