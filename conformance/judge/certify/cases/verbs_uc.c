/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Unreliable connections. Both ends are on one adapter, so each message must arrive unless a rule
 * says that it is dropped. A message that is dropped must leave no trace at either end.
 */

#include <string.h>

#include "verbs_peer.h"

#define OTHER_STAG 0x5a5a5a01u

static void
uc_open(struct pair *pair, struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct ri_qp_init init = uc_init(node);

	cert_node_close(node);
	pair_open(pair, cert, &init);
	peer_up(pair->a, pair->b);
}

/* Neither end has failed or raised an event. */
static void
undisturbed(struct pair *pair)
{
	CERT_UINT(pair->cert, cert_end_attr(pair->a).state, ==, RI_QPS_RTS);
	CERT_UINT(pair->cert, cert_end_attr(pair->b).state, ==, RI_QPS_RTS);
	CERT_UINT(pair->cert, cert_async_ends(pair->near, pair->a->ctx), ==, 0);
	CERT_UINT(pair->cert, cert_async_ends(pair->far, pair->b->ctx), ==, 0);
}

/* A message that arrives in the receive @p id, which may have been posted long before. */
static void
next_takes(struct pair *pair, uint64_t id, uint32_t length)
{
	struct ri_sge source = cert_sge(pair->from, 0, length);
	struct ri_wc wc;

	cert_fill(pair->from->at, length, (uint32_t)id + 50);
	cert_post_send(pair->a, 1000 + id, &source, 1, 0);
	cert_wc_is(pair->a, false, 1000 + id, RI_WC_SUCCESS);
	wc = cert_wc(pair->b, true);
	CERT_UINT(pair->cert, wc.status, ==, RI_WC_SUCCESS);
	CERT_UINT(pair->cert, wc.byte_len, ==, length);
	cert_expect_fill(pair->cert, "what arrived", pair->into->at, length, (uint32_t)id + 50);
	undisturbed(pair);
}

static void
carries(struct cert *cert)
{
	static const uint32_t lengths[] = {0, 1, 64, 1024, 1025, 4096};
	struct pair pair;

	uc_open(&pair, cert);
	for (uint32_t i = 0; i < G_N_ELEMENTS(lengths); i++) {
		struct ri_sge source = cert_sge(pair.from, 0, lengths[i]);
		struct ri_sge sink = cert_sge(pair.into, 0, VERBS_MEMORY);
		struct ri_wc wc;

		cert_note(cert, "%u octets", lengths[i]);
		cert_fill(pair.from->at, lengths[i], i);
		memset(pair.into->at, 0x5a, VERBS_MEMORY);
		cert_post_recv(pair.b, i, &sink, 1);
		cert_post_send(pair.a, i, &source, 1, 0);
		wc = cert_wc_is(pair.a, false, i, RI_WC_SUCCESS);
		CERT_UINT(cert, wc.opcode, ==, RI_OP_SEND);
		wc = cert_wc_is(pair.b, true, i, RI_WC_SUCCESS);
		CERT_UINT(cert, wc.opcode, ==, RI_OP_RECV);
		CERT_UINT(cert, wc.byte_len, ==, lengths[i]);
		cert_expect_fill(cert, "what arrived", pair.into->at, lengths[i], i);
		cert_fill(pair.from->at, lengths[i], 100 + i);
		sink.length = lengths[i];
		cert_post_rdma(pair.a, RI_OP_RDMA_WRITE, 200 + i, &source, &sink);
		cert_wc_is(pair.a, false, 200 + i, RI_WC_SUCCESS);
		cert_note(cert, "a message behind the Write says that it was placed");
		cert_post_recv(pair.b, 300 + i, NULL, 0);
		cert_post_send(pair.a, 300 + i, NULL, 0, 0);
		cert_wc_is(pair.a, false, 300 + i, RI_WC_SUCCESS);
		cert_wc_is(pair.b, true, 300 + i, RI_WC_SUCCESS);
		cert_expect_fill(cert, "what was written", pair.into->at, lengths[i], 100 + i);
	}
	undisturbed(&pair);
}

static void
immediate(struct cert *cert)
{
	const uint8_t with = cert_attr(cert)->immediate_with;
	struct pair pair;

	uc_open(&pair, cert);
	for (unsigned i = 0; i < 2; i++) {
		struct ri_wr wr = {
			.wr_id = i,
			.opcode = i == 0 ? RI_OP_SEND : RI_OP_RDMA_WRITE,
			.sgl = &pair.source,
			.num_sge = 1,
			.flags = RI_WR_SIGNALED | RI_WR_IMMEDIATE,
			.imm = 0x11223344 + i,
			.u.remote = {.addr = (uintptr_t)pair.into->at, .stag = pair.into->stag}};
		struct ri_wc wc;

		if ((with & (i == 0 ? RI_IMMEDIATE_SEND : RI_IMMEDIATE_WRITE)) == 0)
			continue;
		cert_post_recv(pair.b, i, &pair.sink, 1);
		cert_post(pair.a, &wr);
		cert_wc_is(pair.a, false, i, RI_WC_SUCCESS);
		wc = cert_wc_is(pair.b, true, i, RI_WC_SUCCESS);
		CERT_UINT(cert, wc.opcode, ==, i == 0 ? RI_OP_RECV : RI_OP_RECV_WRITE);
		CERT_UINT(cert, wc.flags & RI_WC_IMMEDIATE, ==, RI_WC_IMMEDIATE);
		CERT_UINT(cert, wc.imm, ==, wr.imm);
		CERT_UINT(cert, wc.byte_len, ==, 64);
	}
	undisturbed(&pair);
}

/* No receive, and a Write with immediate data without one: dropped, without a wait for a receive. */
static void
no_receive(struct cert *cert)
{
	struct pair pair;

	uc_open(&pair, cert);
	for (uint64_t id = 1; id <= 3; id++) {
		cert_post_send(pair.a, id, &pair.source, 1, 0);
		cert_wc_is(pair.a, false, id, RI_WC_SUCCESS);
	}
	if ((cert_attr(cert)->immediate_with & RI_IMMEDIATE_WRITE) != 0) {
		cert_post(pair.a, &(struct ri_wr){.wr_id = 4,
						  .opcode = RI_OP_RDMA_WRITE,
						  .sgl = &pair.source,
						  .num_sge = 1,
						  .flags = RI_WR_SIGNALED | RI_WR_IMMEDIATE,
						  .u.remote = {.addr = (uintptr_t)pair.into->at,
							       .stag = pair.into->stag}});
		cert_wc_is(pair.a, false, 4, RI_WC_SUCCESS);
	}
	cert_wc_none(pair.b, true);
	cert_post_recv(pair.b, 5, &pair.sink, 1);
	cert_wc_none(pair.b, true);
	next_takes(&pair, 5, 16);
}

static void
short_receive(struct cert *cert)
{
	struct ri_sge large, small, whole;
	struct pair pair;

	uc_open(&pair, cert);
	large = cert_sge(pair.from, 0, 65);
	small = cert_sge(pair.into, 2048, 64);
	whole = cert_sge(pair.into, 0, 64);
	cert_post_recv(pair.b, 1, &small, 1);
	cert_post_send(pair.a, 2, &large, 1, 0);
	cert_wc_is(pair.a, false, 2, RI_WC_SUCCESS);
	cert_wc_none(pair.b, true);
	undisturbed(&pair);
	cert_note(cert, "the receive is still there, or was used up; one behind it is");
	cert_post_recv(pair.b, 3, &whole, 1);
	cert_fill(pair.from->at, 16, 9);
	large.length = 16;
	cert_post_send(pair.a, 4, &large, 1, 0);
	cert_wc_is(pair.a, false, 4, RI_WC_SUCCESS);
	struct ri_wc wc = cert_wc(pair.b, true);

	CERT_UINT(cert, wc.status, ==, RI_WC_SUCCESS);
	CERT_UINT(cert, wc.byte_len, ==, 16);
	cert_expect_fill(cert, "what arrived", pair.into->at + (wc.wr_id == 1 ? 2048 : 0), 16, 9);
	undisturbed(&pair);
}

/* Into memory that the peer may not name: another STag, memory without the right, beyond its end. */
static void
not_placed(struct cert *cert)
{
	struct cert_region *closed;
	struct ri_sge wrong[3];
	struct pair pair;

	uc_open(&pair, cert);
	closed = cert_region_new(pair.far, 64, CERT_LOCAL | RI_ACCESS_REMOTE_READ);
	wrong[0] = (struct ri_sge){.addr = (uintptr_t)pair.into->at,
				   .length = 64,
				   .stag = pair.into->stag ^ OTHER_STAG};
	wrong[1] = cert_sge(closed, 0, 64);
	wrong[2] = cert_sge(pair.into, VERBS_MEMORY - 63, 64);
	memset(pair.into->at, 0x5a, VERBS_MEMORY);
	memset(closed->at, 0x5a, 64);
	for (uint32_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
		cert_post_rdma(pair.a, RI_OP_RDMA_WRITE, i, &pair.source, &wrong[i]);
		cert_wc_is(pair.a, false, i, RI_WC_SUCCESS);
	}
	cert_wc_none(pair.b, true);
	for (uint32_t i = 0; i < 64; i++) {
		CERT_UINT(cert, pair.into->at[i], ==, 0x5a);
		CERT_UINT(cert, closed->at[i], ==, 0x5a);
		CERT_UINT(cert, pair.into->at[VERBS_MEMORY - 1 - i % 63], ==, 0x5a);
	}
	cert_post_recv(pair.b, 5, &pair.sink, 1);
	next_takes(&pair, 5, 16);
}

/* Messages to nobody leave, and nobody says more of them. */
static void
nobody_there(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct ri_qp_init init = uc_init(node);
	struct ri_peer to_b;
	struct pair pair;

	cert_node_close(node);
	pair_open(&pair, cert, &init);
	to_b = peer_of(pair.a, pair.b);
	to_b.qpn = 0xfffffe;
	peer_receive(pair.a, &to_b);
	peer_send(pair.a, &to_b);
	for (uint64_t id = 0; id < 8; id++) {
		cert_post_send(pair.a, id, &pair.source, 1, 0);
		cert_wc_is(pair.a, false, id, RI_WC_SUCCESS);
	}
	CERT_UINT(cert, cert_end_attr(pair.a).state, ==, RI_QPS_RTS);
	CERT_UINT(cert, cert_async_ends(pair.near, pair.a->ctx), ==, 0);
}

/* Receives come and go while messages arrive. Those that find one arrive in order, none twice and none in part. */
static void
in_order(struct cert *cert)
{
	uint32_t last = 0, got = 0, posted = 0;
	struct ri_sge sink, source;
	struct pair pair;
	struct ri_wc wc;

	uc_open(&pair, cert);
	source = cert_sge(pair.from, 0, 64);
	for (uint32_t number = 1; number <= 200; number++) {
		/* Each receive has a place of its own: the next message may come before this one is looked at. */
		if (posted - got < 4 && number % 3 != 0) {
			posted++;
			sink = cert_sge(pair.into, posted % 8 * 64, 64);
			cert_post_recv(pair.b, posted, &sink, 1);
		}
		for (unsigned i = 0; i < 16; i++)
			memcpy(pair.from->at + 4 * i, &number, sizeof(number));
		cert_post_send(pair.a, number, &source, 1, 0);
		cert_wc_is(pair.a, false, number, RI_WC_SUCCESS);
		for (unsigned i = 0; i < 10 && posted != got; i++) {
			uint32_t seen[16];

			if (pair.far->p->fast->poll_cq(pair.b->urcq, &wc, 1) == 0) {
				cert_progress(cert);
				continue;
			}
			CERT_UINT(cert, wc.status, ==, RI_WC_SUCCESS);
			CERT_UINT(cert, wc.wr_id, ==, ++got);
			memcpy(seen, pair.into->at + got % 8 * 64, sizeof(seen));
			CERT_UINT(cert, seen[0], >, last);
			CERT_UINT(cert, seen[0], <=, number);
			last = seen[0];
			for (unsigned j = 1; j < 16; j++)
				CERT_UINT(cert, seen[j], ==, last);
			break;
		}
	}
	CERT_UINT(cert, got, >=, 1);
	undisturbed(&pair);
}

static void
other_opcodes(struct cert *cert)
{
	static const enum ri_opcode opcodes[] = {RI_OP_RDMA_READ, RI_OP_FETCH_ADD, RI_OP_CMP_SWAP,
						 RI_OP_BIND_MW};
	struct pair pair;

	uc_open(&pair, cert);
	for (size_t i = 0; i < G_N_ELEMENTS(opcodes); i++) {
		struct ri_sge sge = cert_sge(pair.from, 0, 8);
		struct ri_wr wr = {
			.opcode = (uint8_t)opcodes[i],
			.sgl = &sge,
			.num_sge = opcodes[i] != RI_OP_BIND_MW,
			.flags = RI_WR_SIGNALED,
			.u.remote = {.addr = (uintptr_t)pair.into->at, .stag = pair.into->stag}};

		cert_note(cert, "%s", ri_opcode_name(opcodes[i]));
		CERT_FAST(cert, RI_ERR_UNSUPPORTED, pair.near->p->fast->post_sq(pair.a->uqp, &wr));
	}
	cert_post_recv(pair.b, 5, &pair.sink, 1);
	next_takes(&pair, 5, 16);
}

/* A Send from memory that is not registered fails at the sender, and the peer does not notice. */
static void
own_fault(struct cert *cert)
{
	struct ri_sge wrong;
	struct pair pair;
	struct ri_wc wc;

	uc_open(&pair, cert);
	wrong = pair.source;
	wrong.stag ^= OTHER_STAG;
	cert_post_recv(pair.b, 1, &pair.sink, 1);
	cert_post_send(pair.a, 2, &wrong, 1, 0);
	cert_post_send(pair.a, 3, &pair.source, 1, 0);
	wc = cert_wc(pair.a, false);
	CERT_UINT(cert, wc.wr_id, ==, 2);
	CERT_TRUE(cert, wc.status != RI_WC_SUCCESS && wc.status != RI_WC_FLUSHED);
	cert_wc_is(pair.a, false, 3, RI_WC_FLUSHED);
	peer_ended(pair.a);
	cert_wc_none(pair.b, true);
	CERT_UINT(cert, cert_end_attr(pair.b).state, ==, RI_QPS_RTS);
}

static void
not_claimed(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct cert_end *other = cert_end_new(node, NULL);
	struct ri_qp_init init = uc_init(node);
	struct ri_qp *qp = NULL;
	struct ri_map map;

	if (cert_provider_raw(cert)->abi_minor < 7) {
		cert_skip(cert, "the provider is of a version without that type");
		return;
	}
	init.ctx = cert_ctx_new(node, RI_OBJECT_QP);
	CERT_VERB(cert, RI_ERR_UNSUPPORTED,
		  node->p->qp->create(node->pd, &init, other->scq, other->rcq, NULL, &qp, &map));
}

static const struct cert_case cases[] = {
	{.id = "verbs.uc.data.0001",
	 .title = "Sends and Writes over an unreliable connection arrive",
	 .rule = "[RI 10.51]",
	 .needs = "uc",
	 .settles = "uc",
	 .run = carries},
	{.id = "verbs.uc.data.0002",
	 .title = "They carry immediate data, if the adapter claims it",
	 .rule = "[RI 10.51] [RI 10.50]",
	 .needs = "uc immediate_with",
	 .run = immediate},
	{.id = "verbs.uc.data.0003",
	 .title = "The receiver gets a subset of the messages in the order in which they were sent",
	 .rule = "[RI 10.51]",
	 .needs = "uc",
	 .run = in_order},
	{.id = "verbs.uc.drop.0001",
	 .title = "A message that finds no receive is dropped, and neither end fails",
	 .rule = "[RI 10.51]",
	 .needs = "uc",
	 .settles = "uc",
	 .run = no_receive},
	{.id = "verbs.uc.drop.0002",
	 .title = "A message that is too long for its receive is dropped, and neither end fails",
	 .rule = "[RI 10.51]",
	 .needs = "uc",
	 .run = short_receive},
	{.id = "verbs.uc.drop.0003",
	 .title = "A Write that may not be placed is dropped whole, and neither end fails",
	 .rule = "[RI 10.51]",
	 .needs = "uc",
	 .run = not_placed},
	{.id = "verbs.uc.drop.0004",
	 .title = "Messages to a queue pair that does not exist complete when they have left",
	 .rule = "[RI 10.51] [RI 11.6.7]",
	 .needs = "uc",
	 .run = nobody_there},
	{.id = "verbs.uc.opcode.0001",
	 .title = "Reads, atomics and binds are refused",
	 .rule = "[RI 10.51]",
	 .needs = "uc",
	 .run = other_opcodes},
	{.id = "verbs.uc.fail.0001",
	 .title = "A fault of the sender's memory fails its request and its queue pair alone",
	 .rule = "[RI 10.51] [RI 8.2]",
	 .needs = "uc",
	 .run = own_fault},
	{.id = "verbs.uc.absent.0001",
	 .title = "Without the claim no such queue pair can be created",
	 .rule = "[RI 10.51] [RI 2.2.2]",
	 .needs = "!uc",
	 .settles = "uc",
	 .run = not_claimed},
};

CERT_SET(verbs_uc, cases);
