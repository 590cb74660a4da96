/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What a flag means it means beside all others: each set of flags that a request may have, and the fence behind each request that asks. */

#include <string.h>

#include "verbs_pair.h"

/* --- Sends ----------------------------------------------------------------------------------- */

#define FLAGS 6u

static const struct {
	uint32_t flag;
	const char *name;
} flags[FLAGS] = {
	{RI_WR_SOLICITED, "solicited"}, {RI_WR_INVALIDATE, "invalidate"},
	{RI_WR_IMMEDIATE, "immediate"}, {RI_WR_INLINE, "inline"},
	{RI_WR_READ_FENCE, "fence"},    {RI_WR_NOTIFY, "notify"},
};

/* The flags of a set; 0 also if the adapter takes no such set. */
static uint32_t
flags_of(const struct cert *cert, unsigned set)
{
	const struct ri_rnic_attr *attr = cert_attr(cert);
	uint32_t found = 0;

	for (unsigned i = 0; i < FLAGS; i++)
		found |= (set >> i & 1) != 0 ? flags[i].flag : 0;
	if (((found & RI_WR_INVALIDATE) != 0 && !attr->send_invalidate) ||
	    ((found & RI_WR_IMMEDIATE) != 0 && (attr->immediate_with & RI_IMMEDIATE_SEND) == 0) ||
	    ((found & RI_WR_INLINE) != 0 && (!attr->inline_data || attr->max_inline < 16)) ||
	    ((found & RI_WR_NOTIFY) != 0 && !attr->cq_notify_flag) ||
	    (found & (RI_WR_INVALIDATE | RI_WR_IMMEDIATE)) == (RI_WR_INVALIDATE | RI_WR_IMMEDIATE))
		return 0;
	return found;
}

/* One Send with this set of flags: each flag of the completions says what was asked for, and nothing else. */
static void
send_with(struct pair *pair, uint32_t set, uint32_t length, bool notify)
{
	struct ri_sge source = cert_sge(pair->from, 0, length);
	struct cert_region *region = NULL;
	struct cert *cert = pair->cert;
	struct ri_wr wr = {.wr_id = set,
			   .opcode = RI_OP_SEND,
			   .sgl = &source,
			   .num_sge = 1,
			   .flags = set | RI_WR_SIGNALED};
	const struct ri_recv_wr recv = {
		.wr_id = 1, .sgl = &pair->sink, .num_sge = 1, .flags = notify ? RI_WR_NOTIFY : 0u};
	bool solicited = notify || (set & RI_WR_SOLICITED) != 0;
	struct ri_wc wc;

	if ((set & RI_WR_INVALIDATE) != 0) {
		region = cert_region_new(pair->far, 16, CERT_ALL);
		wr.inv_stag = region->stag;
	}
	if ((set & RI_WR_IMMEDIATE) != 0)
		wr.imm = 0xa0b00000 + set;
	cert_fill(pair->from->at, length, set);
	CERT_FAST(cert, RI_SUCCESS, pair->far->p->fast->post_rq(pair->b->uqp, &recv));
	cert_post(pair->a, &wr);
	wc = cert_wc_is(pair->b, true, 1, RI_WC_SUCCESS);
	CERT_UINT(cert, wc.opcode, ==, RI_OP_RECV);
	CERT_UINT(cert, wc.byte_len, ==, length);
	CERT_UINT(cert, wc.flags & RI_WC_RECEIVE, ==, RI_WC_RECEIVE);
	CERT_UINT(cert, wc.flags & RI_WC_INVALIDATED, ==, region != NULL ? RI_WC_INVALIDATED : 0u);
	CERT_UINT(cert, wc.flags & RI_WC_IMMEDIATE, ==,
		  (set & RI_WR_IMMEDIATE) != 0 ? RI_WC_IMMEDIATE : 0u);
	if (cert_attr(cert)->solicited_works)
		CERT_UINT(cert, wc.flags & RI_WC_SOLICITED, ==, solicited ? RI_WC_SOLICITED : 0u);
	if (region != NULL)
		CERT_UINT(cert, wc.inv_stag, ==, wr.inv_stag);
	if ((set & RI_WR_IMMEDIATE) != 0)
		CERT_UINT(cert, wc.imm, ==, wr.imm);
	cert_expect_fill(cert, "what was sent", pair->into->at, length, set);
	wc = cert_wc_is(pair->a, false, set, RI_WC_SUCCESS);
	CERT_UINT(cert, wc.opcode, ==, RI_OP_SEND);
	CERT_UINT(cert, wc.byte_len, ==, length);
	if (cert_attr(cert)->cq_notify_flag && cert_attr(cert)->solicited_works)
		CERT_UINT(cert, wc.flags & RI_WC_SOLICITED, ==,
			  (set & RI_WR_NOTIFY) != 0 ? RI_WC_SOLICITED : 0u);
	if (region != NULL)
		cert_region_free(region);
}

static void
sends(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct ri_qp_init init = cert_end_defaults(node);
	struct pair pair;

	cert_node_close(node);
	init.max_inline = MIN(16, cert_attr(cert)->max_inline);
	pair_open(&pair, cert, &init);
	cert_connect(pair.a, pair.b);
	for (unsigned set = 0; set < 1u << FLAGS; set++) {
		uint32_t found = flags_of(cert, set);

		if (set != 0 && found == 0)
			continue;
		for (unsigned way = 0; way < 4; way++) {
			bool notify = way >= 2;
			GString *names = g_string_new("a Send");

			for (unsigned i = 0; i < FLAGS; i++)
				if ((set >> i & 1) != 0)
					g_string_append_printf(names, ", %s", flags[i].name);
			cert_note(cert, "%s%s", names->str,
				  notify ? "; a receive with notify" : "");
			g_string_free(names, TRUE);
			if (!notify || cert_attr(cert)->cq_notify_flag)
				send_with(&pair, found, way % 2 * 16, notify);
		}
	}
}

/* --- the fence -------------------------------------------------------------------------------- */

/* What a request asks the peer for, a fenced one behind it sends on. */
static void
fenced(struct pair *pair, enum ri_opcode ask, enum ri_opcode tell, const struct cert_region *word)
{
	struct ri_sge here = cert_sge(pair->from, 0, 8);
	struct cert *cert = pair->cert;
	uint64_t there = cert_random(cert);
	uint8_t *target = pair->into->at + 512;
	struct ri_wr first = {.wr_id = 1,
			      .opcode = (uint8_t)ask,
			      .sgl = &here,
			      .num_sge = 1,
			      .flags = RI_WR_SIGNALED,
			      .u.remote = {.addr = (uintptr_t)word->at,
					   .stag = word->stag,
					   .operand = there,
					   .swap = 3}};
	struct ri_wr second = {.wr_id = 2,
			       .opcode = (uint8_t)tell,
			       .sgl = &here,
			       .num_sge = 1,
			       .flags = RI_WR_SIGNALED | RI_WR_READ_FENCE,
			       .u.remote = {.addr = (uintptr_t)target, .stag = pair->into->stag}};
	struct ri_sge sink = cert_sge(pair->into, 512, 8);

	memcpy(word->at, &there, sizeof(there));
	memset(pair->from->at, 0, 8);
	cert_post_recv(pair->b, 3, &sink, 1);
	cert_post(pair->a, &first);
	cert_post(pair->a, &second);
	if (tell == RI_OP_RDMA_WRITE)
		cert_post_send(pair->a, 4, NULL, 0, 0);
	cert_wc_is(pair->b, true, 3, RI_WC_SUCCESS);
	CERT_BYTES(cert, target, &there, sizeof(there));
	cert_wc_is(pair->a, false, 1, RI_WC_SUCCESS);
	cert_wc_is(pair->a, false, 2, RI_WC_SUCCESS);
	if (tell == RI_OP_RDMA_WRITE)
		cert_wc_is(pair->a, false, 4, RI_WC_SUCCESS);
}

static void
fences(struct cert *cert)
{
	static const enum ri_opcode asks[] = {RI_OP_RDMA_READ, RI_OP_FETCH_ADD, RI_OP_CMP_SWAP};
	static const enum ri_opcode tells[] = {RI_OP_SEND, RI_OP_RDMA_WRITE};
	bool atomics = cert_attr(cert)->atomics;
	struct cert_region *word;
	struct pair pair;

	pair_connected(&pair, cert);
	word = cert_region_new(pair.far, 8,
			       CERT_ALL | (atomics ? (uint32_t)RI_ACCESS_REMOTE_ATOMIC : 0u));
	for (size_t i = 0; i < (atomics ? G_N_ELEMENTS(asks) : 1); i++) {
		for (size_t j = 0; j < G_N_ELEMENTS(tells); j++) {
			cert_note(cert, "%s behind %s", ri_opcode_name(tells[j]),
				  ri_opcode_name(asks[i]));
			for (unsigned round = 0; round < 40; round++)
				fenced(&pair, asks[i], tells[j], word);
		}
	}
}

static const struct cert_case cases[] = {
	{.id = "verbs.flags.send.0001",
	 .title = "Each flag of a Send, and of its receive, means the same beside all others",
	 .rule = "[RI 3.1] [RI 7.3] [RI 10.6] [RI 10.49] [RI 10.50]",
	 .run = sends},
	{.id = "verbs.flags.fence.0001",
	 .title = "A fenced request has what each request before it has asked the peer for",
	 .rule = "[RI 3.2.2]",
	 .needs = "max_ird max_ord",
	 .run = fences},
};

CERT_SET(verbs_flags, cases);
