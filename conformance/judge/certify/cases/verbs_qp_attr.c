/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Queue pairs: attributes that change, RDMA Reads at a time, destruction. */

#include "verbs_pair.h"

/* --- attributes that change ---------------------------------------------------------------- */

static void
unknown_bits(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct cert_end *end = cert_end_new(node, NULL);
	struct ri_qp_attr attr = cert_end_attr(end);

	attr.state = RI_QPS_ERROR;
	for (unsigned bit = 8; bit < 32; bit++)
		CERT_VERB(cert, RI_ERR_INVALID_ARG,
			  node->p->qp->modify(end->qp, &attr, 1u << bit | RI_QP_ATTR_STATE));
	CERT_UINT(cert, cert_end_attr(end).state, ==, RI_QPS_IDLE);
}

/* One attribute is refused, so the others stay, too. */
static void
all_or_nothing(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct cert_end *end = cert_end_new(node, NULL);
	struct ri_qp_attr before = cert_end_attr(end), attr = before, after;
	enum ri_status status;

	if (node->attr.max_ord == UINT32_MAX || node->attr.max_ord < 1)
		return;
	attr.state = RI_QPS_ERROR;
	attr.ord = node->attr.max_ord + 1;
	/* Without the claim both reasons hold, and a provider may look for either first. */
	CERT_VERB_VOID(cert, status = node->p->qp->modify(end->qp, &attr,
							  RI_QP_ATTR_STATE | RI_QP_ATTR_ORD));
	if (node->attr.ord_increasable || status != RI_ERR_UNSUPPORTED)
		CERT_UINT(cert, status, ==, RI_ERR_LIMIT);
	attr.state = RI_QPS_RTS;
	attr.ord = 1;
	CERT_VERB(cert, RI_ERR_INVALID_STATE,
		  node->p->qp->modify(end->qp, &attr, RI_QP_ATTR_STATE | RI_QP_ATTR_ORD));
	after = cert_end_attr(end);
	CERT_UINT(cert, after.state, ==, before.state);
	CERT_UINT(cert, after.ord, ==, before.ord);
}

static void
limits_without_srq(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct cert_end *end = cert_end_new(node, NULL);
	struct ri_qp_attr attr = {.soft_limit = 1, .hard_limit = 1};

	CERT_VERB(cert, RI_ERR_INVALID_ARG, node->p->qp->modify(end->qp, &attr, RI_QP_ATTR_SOFT));
	CERT_VERB(cert, RI_ERR_INVALID_ARG, node->p->qp->modify(end->qp, &attr, RI_QP_ATTR_HARD));
}

static void
ord_raised(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct ri_qp_init init = cert_end_defaults(node);
	struct ri_qp_attr attr = {.ord = node->attr.max_ord};

	init.ord = 1;
	struct cert_end *end = cert_end_new(node, &init);
	CERT_UINT(cert, cert_end_attr(end).ord, ==, 1);
	CERT_VERB(cert, RI_SUCCESS, node->p->qp->modify(end->qp, &attr, RI_QP_ATTR_ORD));
	CERT_UINT(cert, cert_end_attr(end).ord, ==, node->attr.max_ord);
}

static void
ord_lowered(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct cert_end *end = cert_end_new(node, NULL);
	struct ri_qp_attr attr = {.ord = 1};

	CERT_VERB(cert, RI_SUCCESS, node->p->qp->modify(end->qp, &attr, RI_QP_ATTR_ORD));
	CERT_UINT(cert, cert_end_attr(end).ord, ==, 1);
}

static void
ird_changed(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct cert_end *end = cert_end_new(node, NULL);
	struct ri_qp_attr attr = {.ird = node->attr.max_ird};

	CERT_VERB(cert, RI_SUCCESS, node->p->qp->modify(end->qp, &attr, RI_QP_ATTR_IRD));
	CERT_UINT(cert, cert_end_attr(end).ird, ==, node->attr.max_ird);
	attr.ird = 1;
	CERT_VERB(cert, RI_SUCCESS, node->p->qp->modify(end->qp, &attr, RI_QP_ATTR_IRD));
	CERT_UINT(cert, cert_end_attr(end).ird, ==, 1);
	if (node->attr.max_ird < UINT32_MAX) {
		attr.ird = node->attr.max_ird + 1;
		CERT_VERB(cert, RI_ERR_LIMIT, node->p->qp->modify(end->qp, &attr, RI_QP_ATTR_IRD));
		CERT_UINT(cert, cert_end_attr(end).ird, ==, 1);
	}
}

/* Rights that are taken from a queue pair are missing from then on. */
static void
rights_changed(struct cert *cert)
{
	struct pair pair;
	struct ri_qp_attr attr = {.access = RI_ACCESS_REMOTE_READ};

	pair_open(&pair, cert, NULL);
	CERT_VERB(cert, RI_SUCCESS, pair.far->p->qp->modify(pair.b->qp, &attr, RI_QP_ATTR_ACCESS));
	CERT_UINT(cert, cert_end_attr(pair.b).access, ==, RI_ACCESS_REMOTE_READ);
	cert_connect(pair.a, pair.b);
	cert_post_rdma(pair.a, RI_OP_RDMA_READ, 1, &pair.source, &pair.sink);
	cert_wc_is(pair.a, false, 1, RI_WC_SUCCESS);
	cert_fill(pair.from->at, 64, 1);
	cert_fill(pair.into->at, 64, 2);
	cert_post_rdma(pair.a, RI_OP_RDMA_WRITE, 2, &pair.source, &pair.sink);
	cert_wait_end(pair.a);
	cert_wait_end(pair.b);
	cert_expect_fill(cert, "memory that is not written", pair.into->at, 64, 2);
}

static void
ord_kept(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct ri_qp_init init = cert_end_defaults(node);
	struct ri_qp_attr attr = {.ord = node->attr.max_ord};

	init.ord = attr.ord - 1;
	struct cert_end *end = cert_end_new(node, &init);
	CERT_VERB(cert, RI_ERR_UNSUPPORTED, node->p->qp->modify(end->qp, &attr, RI_QP_ATTR_ORD));
	CERT_UINT(cert, cert_end_attr(end).ord, ==, init.ord);
}

static void
ird_kept(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct ri_qp_init init = cert_end_defaults(node);
	struct ri_qp_attr attr = {.ird = node->attr.max_ird};

	init.ird = attr.ird - 1;
	struct cert_end *end = cert_end_new(node, &init);
	CERT_VERB(cert, RI_ERR_UNSUPPORTED, node->p->qp->modify(end->qp, &attr, RI_QP_ATTR_IRD));
	CERT_UINT(cert, cert_end_attr(end).ird, ==, init.ird);
}

static void
rights_fixed(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct cert_end *end = cert_end_new(node, NULL);
	struct ri_qp_attr attr = {.access = RI_ACCESS_REMOTE_READ};

	CERT_VERB(cert, RI_ERR_UNSUPPORTED, node->p->qp->modify(end->qp, &attr, RI_QP_ATTR_ACCESS));
	CERT_UINT(cert, cert_end_attr(end).access, ==, end->init.access);
}

/* --- Reads at a time ----------------------------------------------------------------------- */

static void
reads_without_ord(struct cert *cert)
{
	struct pair pair;
	struct ri_qp_init init;

	pair_open(&pair, cert, NULL);
	init = cert_end_defaults(pair.near);
	init.ord = 0;
	pair.a = cert_end_new(pair.near, &init);
	cert_connect(pair.a, pair.b);
	cert_post_rdma(pair.a, RI_OP_RDMA_READ, 1, &pair.source, &pair.sink);
	cert_wc_is(pair.a, false, 1, RI_WC_LOCAL_QP);
	cert_wait_end(pair.a);
	cert_wait_end(pair.b);
}

/* More Reads than ORD: they wait for each other, and all of them are done. */
static void
more_reads_than_ord(struct cert *cert)
{
	struct pair pair;
	struct ri_qp_init init;

	pair_open(&pair, cert, NULL);
	init = cert_end_defaults(pair.near);
	init.ord = 1;
	init.ird = 1;
	pair.a = cert_end_new(pair.near, &init);
	pair.b = cert_end_new(pair.far, &init);
	cert_connect(pair.a, pair.b);
	cert_fill(pair.into->at, 4096, 3);
	for (unsigned i = 0; i < 12; i++) {
		struct ri_sge sink = cert_sge(pair.from, i * 256u, 256);
		struct ri_sge source = cert_sge(pair.into, i * 256u, 256);

		cert_post_rdma(pair.a, RI_OP_RDMA_READ, i, &sink, &source);
	}
	for (unsigned i = 0; i < 12; i++)
		cert_wc_is(pair.a, false, i, RI_WC_SUCCESS);
	cert_expect_fill(cert, "what was read", pair.from->at, 12 * 256, 3);
}

/* --- sizes --------------------------------------------------------------------------------- */

/* Fewer slots than there are requests or receives outstanding, or more than the limit. */
static void
resize_refused(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct cert_end *end = cert_end_new(node, NULL);
	struct cert_region *region = cert_region_new(node, 64, CERT_ALL);
	struct ri_sge sge = cert_sge(region, 0, 64);
	struct ri_qp_attr few = {.max_sq_wr = 1, .max_rq_wr = 1, .max_send_sge = 1};
	struct ri_qp_attr many = {.max_sq_wr = node->attr.max_sq_wr + 1, .max_rq_wr = 1};
	uint32_t count = end->init.max_rq_wr;
	enum ri_status status;
	struct ri_map map;

	for (uint32_t id = 0; id < count; id++)
		cert_post_recv(end, id, &sge, 1);
	cert_note(cert, "%u receives are posted", count);
	few.max_sq_wr = end->init.max_sq_wr;
	cert_verb_begin(cert);
	status = node->p->qp->resize(end->qp, &few, &map);
	cert_verb_end(cert, CERT_WHERE, "resize");
	if (status == RI_SUCCESS) { /* a queue has a least size */
		CERT_UINT(cert, few.max_rq_wr, >=, count);
		CERT_VERB(cert, RI_SUCCESS, node->p->user->qp_remap(end->uqp, &few, &map));
	} else {
		CERT_UINT(cert, status, ==, RI_ERR_BUSY);
		CERT_UINT(cert, cert_end_attr(end).max_rq_wr, ==, count);
	}
	many.max_rq_wr = count;
	CERT_VERB(cert, RI_ERR_LIMIT, node->p->qp->resize(end->qp, &many, &map));
	CERT_UINT(cert, cert_end_attr(end).max_sq_wr, ==, end->init.max_sq_wr);
	CERT_UINT(cert, cert_end_move(end, RI_QPS_ERROR), ==, RI_SUCCESS);
	for (uint32_t id = 0; id < count; id++)
		cert_wc_is(end, true, id, RI_WC_FLUSHED);
	cert_wc_none(end, true);
}

/* --- destruction --------------------------------------------------------------------------- */

/* A queue pair that is destroyed leaves no completion behind, and its peer is told. */
static void
destroyed_at_work(struct cert *cert)
{
	struct pair pair;
	struct ri_wc wc;

	pair_connected(&pair, cert);
	for (unsigned i = 0; i < 4; i++)
		cert_post_recv(pair.a, i, &pair.source, 1);
	CERT_VERB_VOID(cert, pair.near->p->user->qp_close(pair.a->uqp));
	CERT_VERB(cert, RI_SUCCESS, pair.near->p->qp->destroy(pair.a->qp));
	cert_ctx_gone(pair.near, pair.a->ctx);
	cert_wait_end(pair.b);
	for (unsigned i = 0; i < 20; i++) {
		CERT_UINT(cert, pair.near->p->fast->poll_cq(pair.a->urcq, &wc, 1), ==, 0);
		CERT_UINT(cert, pair.near->p->fast->poll_cq(pair.a->uscq, &wc, 1), ==, 0);
		cert_progress(cert);
	}
	g_ptr_array_remove(pair.near->ends, pair.a); /* what is left of it is destroyed here */
	CERT_VERB_VOID(cert, pair.near->p->user->cq_close(pair.a->uscq));
	CERT_VERB_VOID(cert, pair.near->p->user->cq_close(pair.a->urcq));
	CERT_VERB(cert, RI_SUCCESS, pair.near->p->cq->destroy(pair.a->scq));
	CERT_VERB(cert, RI_SUCCESS, pair.near->p->cq->destroy(pair.a->rcq));
	g_free(pair.a);
}

static const struct cert_case cases[] = {
	{.id = "verbs.qp.modify.0001",
	 .title = "An unknown attribute is refused, and nothing changes",
	 .rule = "[RI 2.1.1]",
	 .run = unknown_bits},
	{.id = "verbs.qp.modify.0002",
	 .title = "A change that is refused in one part changes nothing",
	 .rule = "[RI 2.1.1]",
	 .run = all_or_nothing},
	{.id = "verbs.qp.modify.0003",
	 .title = "The limits of a shared receive queue need one",
	 .rule = "[RI 6.5]",
	 .run = limits_without_srq},
	{.id = "verbs.qp.modify.0004",
	 .title = "ORD can be raised to max_ord",
	 .rule = "[RI 10.15]",
	 .needs = "ord_increasable max_ord",
	 .settles = "ord_increasable max_ord",
	 .run = ord_raised},
	{.id = "verbs.qp.modify.0005",
	 .title = "ORD can be lowered on every adapter",
	 .rule = "[RI 10.15]",
	 .needs = "max_ord",
	 .run = ord_lowered},
	{.id = "verbs.qp.modify.0006",
	 .title = "IRD can be changed up to max_ird, and not beyond",
	 .rule = "[RI 10.15]",
	 .needs = "ird_modifiable max_ird",
	 .settles = "ird_modifiable max_ird",
	 .run = ird_changed},
	{.id = "verbs.qp.modify.0007",
	 .title = "The rights of a queue pair can be changed",
	 .rule = "[RI 10.14]",
	 .needs = "enables_modifiable max_ord max_ird",
	 .settles = "enables_modifiable",
	 .run = rights_changed},
	{.id = "verbs.qp.modify.0008",
	 .title = "The rights of a queue pair are fixed where a change is not claimed",
	 .rule = "[RI 10.14]",
	 .needs = "!enables_modifiable",
	 .settles = "enables_modifiable",
	 .run = rights_fixed},
	{.id = "verbs.qp.modify.0009",
	 .title = "ORD cannot be raised where that is not claimed",
	 .rule = "[RI 10.15]",
	 .needs = "!ord_increasable max_ord",
	 .settles = "ord_increasable",
	 .run = ord_kept},
	{.id = "verbs.qp.modify.0010",
	 .title = "IRD cannot be changed where that is not claimed",
	 .rule = "[RI 10.15]",
	 .needs = "!ird_modifiable max_ird",
	 .settles = "ird_modifiable",
	 .run = ird_kept},
	{.id = "verbs.qp.read.0001",
	 .title = "An RDMA Read fails on a queue pair with an ORD of 0",
	 .rule = "[RI 3.2.4]",
	 .needs = "max_ird",
	 .run = reads_without_ord},
	{.id = "verbs.qp.read.0002",
	 .title = "More RDMA Reads than ORD wait for each other",
	 .rule = "[RI 3.2.4]",
	 .needs = "max_ird max_ord",
	 .settles = "max_ird max_ord",
	 .run = more_reads_than_ord},
	{.id = "verbs.qp.size.0001",
	 .title = "A queue pair is not resized below what is outstanding or above the limit",
	 .rule = "[RI 10.16] [RI 2.1.1]",
	 .needs = "wq_resizable",
	 .settles = "wq_resizable",
	 .run = resize_refused},
	{.id = "verbs.qp.destroy.0001",
	 .title = "A queue pair that is destroyed leaves no completion, and its peer is told",
	 .rule = "[RI 2.1.4] [RI 2.2.3]",
	 .run = destroyed_at_work},
};

CERT_SET(verbs_qp_attr, cases);
