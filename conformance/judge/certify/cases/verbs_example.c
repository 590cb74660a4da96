/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The first steps of every provider: data moves, a queue that is in use is not destroyed. */

#include "cert_node.h"

/* A Send arrives whole, with its length, and both sides are told. */
static void
send_arrives(struct cert *cert)
{
	struct cert_node *near = cert_node_open(cert), *far = cert_node_open(cert);
	struct cert_end *a = cert_end_new(near, NULL), *b = cert_end_new(far, NULL);
	struct cert_region *from = cert_region_new(near, 4096, CERT_ALL);
	struct cert_region *into = cert_region_new(far, 4096, CERT_ALL);
	struct ri_sge source = cert_sge(from, 0, 4096), sink = cert_sge(into, 0, 4096);
	struct ri_wc wc;

	cert_connect(a, b);
	cert_fill(from->at, from->length, 1);
	cert_post_recv(b, 2, &sink, 1);
	cert_post_send(a, 3, &source, 1, 0);
	wc = cert_wc_is(b, true, 2, RI_WC_SUCCESS);
	CERT_UINT(cert, wc.byte_len, ==, 4096);
	CERT_UINT(cert, wc.opcode, ==, RI_OP_RECV);
	CERT_UINT(cert, wc.qp_ctx, ==, b->ctx);
	cert_expect_fill(cert, "what arrived", into->at, into->length, 1);
	wc = cert_wc_is(a, false, 3, RI_WC_SUCCESS);
	CERT_UINT(cert, wc.opcode, ==, RI_OP_SEND);
}

/* A completion queue with a queue pair is busy, and still works after the refusal. */
static void
queue_is_busy(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct cert_end *end = cert_end_new(node, NULL);

	CERT_VERB(cert, RI_ERR_BUSY, node->p->cq->destroy(end->scq));
	CERT_VERB(cert, RI_ERR_BUSY, node->p->cq->destroy(end->rcq));
	CERT_UINT(cert, node->p->fast->cq_depth(end->uscq), ==, 0);
}

static const struct cert_case cases[] = {
	{.id = "verbs.first.0001",
	 .title = "A Send arrives whole, and both sides get one completion",
	 .rule = "[RI 3.1] [RI 3.3]",
	 .settles = "max_send_sge max_recv_sge",
	 .run = send_arrives},
	{.id = "verbs.first.0002",
	 .title = "A completion queue that a queue pair uses cannot be destroyed",
	 .rule = "[RI 2.2.3]",
	 .run = queue_is_busy},
};

CERT_SET(verbs_example, cases);
