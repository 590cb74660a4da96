/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Inline data: the post reads it, even from memory that no region covers, and the provider does not
 * read that memory again. Also data that is too long, operations that cannot be inline, and an
 * adapter without the claim. Data that is not inline must not be changed by the case until its
 * request completes, since it may be read until then. Freedoms: late.
 */

#include <string.h>

#include "verbs_pair.h"
#include "verbs_ud.h"

#define NO_STAG   0xdeadbe01u /* of no region; inline segments have none */
#define MOST      512u        /* octets that are tried, if the adapter grants more */
#define IN_FLIGHT 4u

static struct ri_qp_init
inline_init(const struct cert_node *node, uint32_t octets)
{
	struct ri_qp_init init = cert_end_defaults(node);

	init.max_inline = octets;
	return init;
}

/* A connected pair whose queue pairs may send up to @p octets inline. */
static void
inline_connected(struct pair *pair, struct cert *cert, uint32_t octets)
{
	struct cert_node *node = cert_node_open(cert);
	struct ri_qp_init init = inline_init(node, octets);

	cert_node_close(node);
	pair_open(pair, cert, &init);
	cert_connect(pair->a, pair->b);
}

static struct ri_sge
inline_sge(const uint8_t *at, size_t length)
{
	return (struct ri_sge){.addr = (uintptr_t)at, .length = (uint32_t)length, .stag = NO_STAG};
}

/* Several are posted from one buffer before anything moves, and the buffer has other content after each post. */
static void
sends(struct cert *cert)
{
	uint32_t limit = MIN(MOST, cert_attr(cert)->max_inline);
	uint8_t buffer[MOST];
	struct ri_sge sge, sink;
	struct pair pair;

	inline_connected(&pair, cert, limit);
	for (uint32_t length = 0; length <= limit; length += length < 70           ? 1
							     : limit - length < 40 ? 1
										   : 37) {
		for (uint32_t i = 0; i < IN_FLIGHT; i++) {
			sink = cert_sge(pair.into, i * 1024, MOST + 1);
			memset(pair.into->at + i * 1024, 0x5a, MOST + 1);
			cert_post_recv(pair.b, i, &sink, 1);
		}
		for (uint32_t i = 0; i < IN_FLIGHT; i++) {
			cert_fill(buffer, length, length + i);
			sge = inline_sge(buffer, length);
			cert_post_send(pair.a, i, &sge, 1, RI_WR_INLINE);
			memset(buffer, 0xee, sizeof(buffer));
		}
		for (uint32_t i = 0; i < IN_FLIGHT; i++) {
			struct ri_wc wc = cert_wc_is(pair.b, true, i, RI_WC_SUCCESS);

			CERT_UINT(cert, wc.byte_len, ==, length);
			wc = cert_wc_is(pair.a, false, i, RI_WC_SUCCESS);
			CERT_UINT(cert, wc.opcode, ==, RI_OP_SEND);
			cert_expect_fill(cert, "what arrived", pair.into->at + i * 1024, length,
					 length + i);
			CERT_UINT(cert, pair.into->at[i * 1024 + length], ==, 0x5a);
		}
	}
}

static void
writes(struct cert *cert)
{
	uint32_t limit = MIN(MOST, cert_attr(cert)->max_inline);
	const uint32_t lengths[] = {0, 1, limit / 2, limit - 1, limit};
	uint8_t buffer[MOST];
	struct pair pair;

	inline_connected(&pair, cert, limit);
	for (size_t i = 0; i < G_N_ELEMENTS(lengths); i++) {
		uint32_t length = lengths[i];
		struct ri_sge sge = inline_sge(buffer, length);

		memset(pair.into->at, 0x5a, MOST + 1);
		cert_fill(buffer, length, 9 + length);
		cert_post(pair.a, &(struct ri_wr){.wr_id = i,
						  .opcode = RI_OP_RDMA_WRITE,
						  .sgl = &sge,
						  .num_sge = 1,
						  .flags = RI_WR_SIGNALED | RI_WR_INLINE,
						  .u.remote = {.addr = (uintptr_t)pair.into->at,
							       .stag = pair.into->stag}});
		memset(buffer, 0xee, sizeof(buffer));
		cert_post_recv(pair.b, i, NULL, 0);
		cert_post_send(pair.a, 100 + i, NULL, 0, 0);
		cert_wc_is(pair.b, true, i, RI_WC_SUCCESS);
		cert_expect_fill(cert, "what was written", pair.into->at, length, 9 + length);
		CERT_UINT(cert, pair.into->at[length], ==, 0x5a);
		cert_wc_is(pair.a, false, i, RI_WC_SUCCESS);
		cert_wc_is(pair.a, false, 100 + i, RI_WC_SUCCESS);
	}
}

static void
datagrams(struct cert *cert)
{
	uint32_t limit = MIN(MOST, cert_attr(cert)->max_inline);
	struct ri_qp_init init;
	uint8_t buffer[MOST];
	struct mail mail;

	mail_open(&mail, cert);
	limit = MIN(limit, mail.limit);
	init = ud_init(mail.near);
	init.max_inline = limit;
	mail.a = cert_end_new(mail.near, &init);
	for (uint32_t length = 0; length <= limit; length += MAX(limit / 2, 1)) {
		struct ri_sge sge = inline_sge(buffer, length);
		struct ri_wr wr = mail_wr(length, &sge, &mail.to);

		mail_offer(&mail, length, MOST);
		cert_fill(buffer, length, length);
		wr.flags |= RI_WR_INLINE;
		cert_post(mail.a, &wr);
		memset(buffer, 0xee, sizeof(buffer));
		mail_arrives(&mail, length, length);
		cert_wc_is(mail.a, false, length, RI_WC_SUCCESS);
		cert_expect_fill(cert, "what arrived", mail.into->at + UD_GRH, length, length);
	}
}

/* The segments lie apart, and one of them is empty. */
static void
segments(struct cert *cert)
{
	uint32_t limit = MIN(MOST, cert_attr(cert)->max_inline), part, count, at = 0;
	uint8_t buffer[4][MOST], whole[MOST];
	struct ri_sge sgl[4];
	struct pair pair;

	inline_connected(&pair, cert, limit);
	count = MIN(4, pair.a->init.max_send_sge);
	part = limit / count;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t length = i == 1 ? 0 : i == count - 1 ? limit - at : part;

		cert_fill(buffer[i], length, 40 + i);
		memcpy(whole + at, buffer[i], length);
		sgl[i] = inline_sge(buffer[i], length);
		at += length;
	}
	cert_post_recv(pair.b, 1,
		       &(struct ri_sge){.addr = (uintptr_t)pair.into->at,
					.length = MOST,
					.stag = pair.into->stag},
		       1);
	cert_post_send(pair.a, 2, sgl, count, RI_WR_INLINE);
	memset(buffer, 0xee, sizeof(buffer));
	CERT_UINT(cert, cert_wc_is(pair.b, true, 1, RI_WC_SUCCESS).byte_len, ==, at);
	cert_wc_is(pair.a, false, 2, RI_WC_SUCCESS);
	CERT_BYTES(cert, pair.into->at, whole, at);
}

/* The limit is what the queue pair was granted, to the octet. */
static void
too_long(struct cert *cert)
{
	uint32_t limit = cert_attr(cert)->max_inline;
	const uint32_t asked[] = {limit, MIN(1, limit), 0};
	g_autofree uint8_t *buffer = g_malloc0(limit + 100000);
	struct cert_node *node = cert_node_open(cert);
	struct ri_qp_init init = inline_init(node, limit + 1);
	struct cert_end *other = cert_end_new(node, NULL);
	struct ri_qp *qp = NULL;
	struct ri_map map;

	init.ctx = cert_ctx_new(node, RI_OBJECT_QP);
	CERT_VERB(cert, RI_ERR_LIMIT,
		  node->p->qp->create(node->pd, &init, other->scq, other->rcq, NULL, &qp, &map));
	for (size_t i = 0; i < G_N_ELEMENTS(asked); i++) {
		struct ri_wr wr = {.opcode = RI_OP_SEND, .flags = RI_WR_SIGNALED | RI_WR_INLINE};
		struct ri_sge sgl[2];
		struct pair pair;
		uint32_t granted;

		inline_connected(&pair, cert, asked[i]);
		granted = pair.a->init.max_inline;
		cert_note(cert, "%u octets granted for %u", granted, asked[i]);
		CERT_UINT(cert, granted, >=, asked[i]);
		CERT_UINT(cert, granted, <, limit + 100000);
		wr.sgl = sgl;
		wr.num_sge = 1;
		sgl[0] = inline_sge(buffer, granted + 1);
		CERT_FAST(cert, RI_ERR_LIMIT, pair.near->p->fast->post_sq(pair.a->uqp, &wr));
		if (pair.a->init.max_send_sge > 1) {
			wr.num_sge = 2;
			sgl[0].length = granted;
			sgl[1] = inline_sge(buffer, 1);
			CERT_FAST(cert, RI_ERR_LIMIT,
				  pair.near->p->fast->post_sq(pair.a->uqp, &wr));
		}
		cert_note(cert, "nothing was posted, and what fits still arrives");
		cert_post_recv(pair.b, 1, &pair.sink, 1);
		sgl[0] = inline_sge(buffer, MIN(granted, 64));
		cert_post_send(pair.a, 2, sgl, 1, granted > 0 ? RI_WR_INLINE : 0u);
		if (granted > 0)
			cert_wc_is(pair.a, false, 2, RI_WC_SUCCESS);
		cert_node_close(pair.near);
		cert_node_close(pair.far);
	}
}

/* Requests that carry no payload to the peer cannot be inline. */
static void
other_opcodes(struct cert *cert)
{
	static const enum ri_opcode opcodes[] = {RI_OP_RDMA_READ, RI_OP_FETCH_ADD, RI_OP_CMP_SWAP,
						 RI_OP_BIND_MW, RI_OP_LOCAL_INV};
	struct pair pair;

	inline_connected(&pair, cert, MIN(64, cert_attr(cert)->max_inline));
	for (size_t i = 0; i < G_N_ELEMENTS(opcodes); i++) {
		struct ri_sge sge = cert_sge(pair.from, 0, 8);
		struct ri_wr wr = {
			.opcode = (uint8_t)opcodes[i],
			.sgl = &sge,
			.num_sge = 1,
			.flags = RI_WR_SIGNALED | RI_WR_INLINE,
			.u.remote = {.addr = (uintptr_t)pair.into->at, .stag = pair.into->stag}};

		if (opcodes[i] == RI_OP_BIND_MW || opcodes[i] == RI_OP_LOCAL_INV)
			wr.num_sge = 0;
		cert_note(cert, "%s", ri_opcode_name(opcodes[i]));
		CERT_FAST(cert, RI_ERR_UNSUPPORTED, pair.near->p->fast->post_sq(pair.a->uqp, &wr));
	}
	CERT_UINT(cert, cert_end_attr(pair.a).state, ==, RI_QPS_RTS);
}

/*
 * The access layer never passes the flag to an adapter without the claim, so such an adapter may
 * ignore it. But data from memory that no region covers must not arrive.
 */
static void
not_claimed(struct cert *cert)
{
	static const uint8_t octets[8] = "no data";
	struct ri_sge sge = inline_sge(octets, sizeof(octets));
	struct ri_wr wr = {.opcode = RI_OP_SEND,
			   .sgl = &sge,
			   .num_sge = 1,
			   .flags = RI_WR_SIGNALED | RI_WR_INLINE};
	enum ri_status status;
	struct pair pair;

	pair_connected(&pair, cert);
	cert_post_recv(pair.b, 1, &pair.sink, 1);
	status = pair.near->p->fast->post_sq(pair.a->uqp, &wr);
	CERT_TRUE(cert,
		  status == RI_SUCCESS || status == RI_ERR_UNSUPPORTED || status == RI_ERR_LIMIT);
	if (status == RI_SUCCESS)
		CERT_TRUE(cert, cert_wc(pair.a, false).status != RI_WC_SUCCESS);
	CERT_TRUE(cert, memcmp(pair.into->at, octets, sizeof(octets)) != 0);
}

static const struct cert_case cases[] = {
	{.id = "verbs.inline.data.0001",
	 .title = "Inline Sends of each length arrive, from memory of no region that changes at "
		  "once",
	 .rule = "[RI 10.49] [RI 10.42]",
	 .needs = "inline_data",
	 .settles = "inline_data max_inline",
	 .run = sends},
	{.id = "verbs.inline.data.0002",
	 .title = "Inline Writes are placed, from memory of no region that changes at once",
	 .rule = "[RI 10.49] [RI 10.42]",
	 .needs = "inline_data",
	 .settles = "inline_data max_inline",
	 .run = writes},
	{.id = "verbs.inline.data.0003",
	 .title = "Inline datagrams arrive, from memory of no region that changes at once",
	 .rule = "[RI 10.49]",
	 .needs = "inline_data ud",
	 .run = datagrams},
	{.id = "verbs.inline.data.0004",
	 .title = "Several segments of an inline request arrive as one message",
	 .rule = "[RI 10.49]",
	 .needs = "inline_data",
	 .run = segments},
	{.id = "verbs.inline.limit.0001",
	 .title = "An inline request above what the queue pair was granted is refused, and nothing "
		  "is posted",
	 .rule = "[RI 10.49] [RI 10.42] [RI 2.2.2]",
	 .needs = "inline_data",
	 .settles = "inline_data max_inline",
	 .run = too_long},
	{.id = "verbs.inline.opcode.0001",
	 .title = "Only Sends, Writes and datagrams can be inline",
	 .rule = "[RI 10.49]",
	 .needs = "inline_data",
	 .run = other_opcodes},
	{.id = "verbs.inline.absent.0001",
	 .title = "Without the claim nothing arrives from memory of no region",
	 .rule = "[RI 10.49] [RI 10.42]",
	 .needs = "!inline_data",
	 .settles = "inline_data max_inline",
	 .run = not_claimed},
};

CERT_SET(verbs_inline, cases);
