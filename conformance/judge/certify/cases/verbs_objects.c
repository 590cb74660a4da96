/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Objects: what keeps others from being destroyed, limits at and beyond, what a context leaves behind. */

#include "cert_host.h"
#include "verbs_pair.h"

#define COUNTED 70000u /* a limit up to which a case creates as many objects as there may be */
/* The same of queues: each may need a descriptor or a mapping, and a process has few of these. */
#define QUEUES_COUNTED 4096u

/* --- lifetimes ------------------------------------------------------------------------------ */

static void
domain_of_a_pair(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct cert_end *end = cert_end_new(node, NULL);
	struct ri_pd *other = NULL;

	CERT_VERB(cert, RI_ERR_BUSY, node->p->pd->destroy(node->pd));
	cert_note(cert, "it serves as before");
	cert_region_free(cert_region_new(node, 64, CERT_ALL));
	cert_end_free(end);
	CERT_VERB(cert, RI_SUCCESS, node->p->pd->create(node->context, &other));
	CERT_VERB(cert, RI_SUCCESS, node->p->pd->destroy(node->pd));
	node->pd = other;
}

static void
domain_of_a_region(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct ri_pd *pd = NULL;
	struct cert_region *region;

	CERT_VERB(cert, RI_SUCCESS, node->p->pd->create(node->context, &pd));
	region = cert_region_new_in(node, pd, 64, CERT_ALL);
	CERT_VERB(cert, RI_ERR_BUSY, node->p->pd->destroy(pd));
	cert_region_free(region);
	CERT_VERB(cert, RI_SUCCESS, node->p->pd->destroy(pd));
}

static void
domain_of_a_window(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	enum ri_mw_type type = node->attr.mw_narrow ? RI_MW_NARROW : RI_MW_WIDE;
	struct ri_pd *pd = NULL;
	struct ri_mw *mw = NULL;
	uint32_t stag;

	if (!node->attr.mw_narrow && !node->attr.mw_wide) {
		cert_skip(cert, "there may be windows, but none of any kind");
		return;
	}
	CERT_VERB(cert, RI_SUCCESS, node->p->pd->create(node->context, &pd));
	CERT_VERB(cert, RI_SUCCESS, node->p->mem->mw_alloc(pd, type, &mw, &stag));
	CERT_VERB(cert, RI_ERR_BUSY, node->p->pd->destroy(pd));
	CERT_VERB(cert, RI_SUCCESS, node->p->mem->mw_free(mw));
	CERT_VERB(cert, RI_SUCCESS, node->p->pd->destroy(pd));
}

static void
domain_of_a_shared_queue(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct ri_srq_attr attr = {.max_wr = 1, .max_sge = 1};
	struct ri_pd *pd = NULL;
	struct ri_srq *srq = NULL;
	struct ri_map map;

	attr.ctx = cert_ctx_new(node, RI_OBJECT_SRQ);
	CERT_VERB(cert, RI_SUCCESS, node->p->pd->create(node->context, &pd));
	CERT_VERB(cert, RI_SUCCESS, node->p->srq->create(pd, &attr, &srq, &map));
	CERT_VERB(cert, RI_ERR_BUSY, node->p->pd->destroy(pd));
	CERT_VERB(cert, RI_SUCCESS, node->p->srq->destroy(srq));
	CERT_VERB(cert, RI_SUCCESS, node->p->pd->destroy(pd));
}

static void
domain_of_a_handle(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct ri_ah_init init = {.dest = cert_address(node)};
	struct ri_pd *pd = NULL;
	struct ri_ah *ah = NULL;
	uint32_t id;

	CERT_VERB(cert, RI_SUCCESS, node->p->pd->create(node->context, &pd));
	CERT_VERB(cert, RI_SUCCESS, node->p->ah->create(pd, &init, &ah, &id));
	CERT_VERB(cert, RI_ERR_BUSY, node->p->pd->destroy(pd));
	CERT_VERB(cert, RI_SUCCESS, node->p->ah->destroy(ah));
	CERT_VERB(cert, RI_SUCCESS, node->p->pd->destroy(pd));
}

/* A queue that several queue pairs use is busy until the last one is gone. */
static void
shared_completions(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct ri_qp_init init = cert_end_defaults(node);
	uint64_t cq_ctx = cert_ctx_new(node, RI_OBJECT_CQ);
	struct ri_qp *qp[3] = {NULL};
	struct ri_cq *cq = NULL;
	uint32_t entries = 16;
	struct ri_map map;

	CERT_VERB(cert, RI_SUCCESS,
		  node->p->cq->create(node->context, cq_ctx, &entries, &cq, &map));
	for (unsigned i = 0; i < 3; i++) {
		init = cert_end_defaults(node);
		init.ctx = cert_ctx_new(node, RI_OBJECT_QP);
		CERT_VERB(cert, RI_SUCCESS,
			  node->p->qp->create(node->pd, &init, cq, cq, NULL, &qp[i], &map));
	}
	for (unsigned i = 0; i < 3; i++) {
		CERT_VERB(cert, RI_ERR_BUSY, node->p->cq->destroy(cq));
		CERT_VERB(cert, RI_SUCCESS, node->p->qp->destroy(qp[i]));
	}
	CERT_VERB(cert, RI_SUCCESS, node->p->cq->destroy(cq));
}

/* A domain that nothing uses goes at the first attempt, whatever it was used for. */
static void
free_domains(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct ri_pd *pd = NULL;

	for (unsigned i = 0; i < 20; i++) {
		CERT_VERB(cert, RI_SUCCESS, node->p->pd->create(node->context, &pd));
		if (i % 2 == 1)
			cert_region_free(cert_region_new_in(node, pd, 64, CERT_ALL));
		CERT_VERB(cert, RI_SUCCESS, node->p->pd->destroy(pd));
	}
}

#define REFUSALS 8u

/* One creation of each kind that is refused; the last one is of a queue pair. */
static void
refuse_each(struct cert_end *end, struct ri_pd *pd)
{
	struct cert_node *node = end->node;
	uint32_t entries = node->attr.max_cqe + 1, stag;
	struct ri_qp_init init = cert_end_defaults(node);
	struct ri_srq_attr shared = {.ctx = 1, .max_wr = 0, .max_sge = 1};
	const struct ri_mr_init region = {.addr = (uintptr_t)&stag, .access = CERT_LOCAL};
	struct ri_cq *cq = NULL;
	struct ri_srq *srq = NULL;
	struct ri_mr *mr = NULL;
	struct ri_qp *qp = NULL;
	struct ri_map map;

	if (entries > 0)
		CERT_VERB(node->cert, RI_ERR_LIMIT,
			  node->p->cq->create(node->context, 1, &entries, &cq, &map));
	if (node->attr.srq)
		CERT_VERB(node->cert, RI_ERR_INVALID_ARG,
			  node->p->srq->create(pd, &shared, &srq, &map));
	CERT_VERB(node->cert, RI_ERR_INVALID_ARG, node->p->mem->mr_reg(pd, &region, &mr, &stag));
	init.ctx = 1;
	init.max_sq_wr = UINT32_MAX;
	if (node->attr.max_sq_wr < UINT32_MAX)
		CERT_VERB(node->cert, RI_ERR_LIMIT,
			  node->p->qp->create(pd, &init, end->scq, end->rcq, NULL, &qp, &map));
}

/* What is refused keeps neither its domain nor its queues, and no memory. */
static void
refused_whole(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct cert_end *end = cert_end_new(node, NULL);
	unsigned attached = cert_host_attached(cert_host(cert));
	struct ri_pd *pd = NULL;

	CERT_VERB(cert, RI_SUCCESS, node->p->pd->create(node->context, &pd));
	for (unsigned i = 0; i < REFUSALS; i++) {
		long kept = cert_host_blocks();

		refuse_each(end, pd);
		kept = cert_host_blocks() - kept;
		/* A table that has grown may stay, so the first refusal may keep something. */
		if (i > 0)
			CERT_UINT(cert, MAX(kept, 0), ==, 0);
	}
	CERT_UINT(cert, cert_host_attached(cert_host(cert)), ==, attached);
	CERT_VERB(cert, RI_SUCCESS, node->p->pd->destroy(pd));
	cert_end_free(end);
}

/* --- limits -------------------------------------------------------------------------------- */

/* A queue pair with one size at its limit, and with one more. */
static void
sizes_of_a_pair(struct cert *cert)
{
	const struct ri_rnic_attr *attr = cert_attr(cert);
	const struct {
		const char *name;
		size_t at;
		uint32_t most;
		bool exact;
	} rows[] = {
		{"max_sq_wr", G_STRUCT_OFFSET(struct ri_qp_init, max_sq_wr), attr->max_sq_wr,
		 false},
		{"max_rq_wr", G_STRUCT_OFFSET(struct ri_qp_init, max_rq_wr), attr->max_rq_wr,
		 false},
		{"max_send_sge", G_STRUCT_OFFSET(struct ri_qp_init, max_send_sge),
		 attr->max_send_sge, false},
		{"max_recv_sge", G_STRUCT_OFFSET(struct ri_qp_init, max_recv_sge),
		 attr->max_recv_sge, false},
		{"max_write_sge", G_STRUCT_OFFSET(struct ri_qp_init, max_write_sge),
		 attr->max_write_sge, false},
		{"max_read_sge", G_STRUCT_OFFSET(struct ri_qp_init, max_read_sge),
		 attr->max_read_sge, false},
		{"max_ird", G_STRUCT_OFFSET(struct ri_qp_init, ird), attr->max_ird, true},
		{"max_ord", G_STRUCT_OFFSET(struct ri_qp_init, ord), attr->max_ord, true},
	};
	struct cert_node *node = cert_node_open(cert);
	struct cert_end *end = cert_end_new(node, NULL);

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		for (unsigned beyond = 0; beyond < 3; beyond++) {
			struct ri_qp_init init = cert_end_defaults(node);
			uint32_t asked = beyond == 2 ? UINT32_MAX : rows[i].most + beyond;
			struct ri_qp *qp = NULL;
			struct ri_map map;
			uint32_t seen;

			if (rows[i].most == UINT32_MAX && beyond > 0)
				continue;
			cert_note(cert, "%s is %u, asked for are %u", rows[i].name, rows[i].most,
				  asked);
			G_STRUCT_MEMBER(uint32_t, &init, rows[i].at) = asked;
			init.ctx = cert_ctx_new(node, RI_OBJECT_QP);
			CERT_VERB(cert, beyond > 0 ? RI_ERR_LIMIT : RI_SUCCESS,
				  node->p->qp->create(node->pd, &init, end->scq, end->rcq, NULL,
						      &qp, &map));
			if (beyond > 0)
				continue;
			seen = G_STRUCT_MEMBER(uint32_t, &init, rows[i].at);
			CERT_UINT(cert, seen, >=, asked);
			if (rows[i].exact)
				CERT_UINT(cert, seen, ==, asked);
			CERT_VERB(cert, RI_SUCCESS, node->p->qp->destroy(qp));
		}
	}
}

/* A refused creation has not changed what was asked for, and leaves room for a good one. */
static void
pair_without_queues(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct ri_qp_init init = cert_end_defaults(node);

	init.max_sq_wr = 0;
	cert_end_free(cert_end_new(node, &init));
	init = cert_end_defaults(node);
	init.max_rq_wr = 0;
	cert_end_free(cert_end_new(node, &init));
}

/* As many as the profile says, and not one more; then room again. */
static void
domains_at_the_limit(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	uint32_t most = node->attr.max_pd;
	g_autoptr(GPtrArray) made = g_ptr_array_new();
	struct ri_pd *pd = NULL;

	if (most > COUNTED) {
		cert_skip(cert, "the limit of %u is out of reach", most);
		return;
	}
	for (uint32_t i = 1; i < most; i++) { /* the node has one */
		CERT_VERB(cert, RI_SUCCESS, node->p->pd->create(node->context, &pd));
		g_ptr_array_add(made, pd);
	}
	CERT_VERB(cert, RI_ERR_RESOURCES, node->p->pd->create(node->context, &pd));
	for (guint i = 0; i < made->len; i++)
		CERT_VERB(cert, RI_SUCCESS, node->p->pd->destroy(g_ptr_array_index(made, i)));
	CERT_VERB(cert, RI_SUCCESS, node->p->pd->create(node->context, &pd));
	CERT_VERB(cert, RI_SUCCESS, node->p->pd->destroy(pd));
}

static void
regions_at_the_limit(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	uint32_t most = node->attr.max_mr;
	g_autoptr(GPtrArray) made = g_ptr_array_new();
	static uint8_t memory[64];
	struct ri_mr_init init = {
		.addr = (uintptr_t)memory, .length = sizeof(memory), .access = CERT_LOCAL};
	struct ri_mr *mr = NULL;
	uint32_t stag;

	if (most > COUNTED) {
		cert_skip(cert, "the limit of %u is out of reach", most);
		return;
	}
	for (uint32_t i = 0; i < most; i++) {
		CERT_VERB(cert, RI_SUCCESS, node->p->mem->mr_reg(node->pd, &init, &mr, &stag));
		g_ptr_array_add(made, mr);
	}
	CERT_VERB(cert, RI_ERR_RESOURCES, node->p->mem->mr_reg(node->pd, &init, &mr, &stag));
	for (guint i = 0; i < made->len; i++)
		CERT_VERB(cert, RI_SUCCESS, node->p->mem->mr_dereg(g_ptr_array_index(made, i)));
	CERT_VERB(cert, RI_SUCCESS, node->p->mem->mr_reg(node->pd, &init, &mr, &stag));
	CERT_VERB(cert, RI_SUCCESS, node->p->mem->mr_dereg(mr));
}

static void
pairs_at_the_limit(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct cert_end *end = cert_end_new(node, NULL);
	uint32_t most = node->attr.max_qp;
	g_autoptr(GPtrArray) made = g_ptr_array_new();
	struct ri_qp_init init = cert_end_defaults(node), own;
	struct ri_qp *qp = NULL;
	struct ri_map map;

	if (most > QUEUES_COUNTED) {
		cert_skip(cert, "the limit of %u is out of reach", most);
		return;
	}
	for (uint32_t i = 1; i < most; i++) { /* one stands in `end` */
		own = init;
		own.ctx = cert_ctx_new(node, RI_OBJECT_QP);
		CERT_VERB(cert, RI_SUCCESS,
			  node->p->qp->create(node->pd, &own, end->scq, end->rcq, NULL, &qp, &map));
		g_ptr_array_add(made, qp);
	}
	own = init;
	CERT_VERB(cert, RI_ERR_RESOURCES,
		  node->p->qp->create(node->pd, &own, end->scq, end->rcq, NULL, &qp, &map));
	for (guint i = 0; i < made->len; i++)
		CERT_VERB(cert, RI_SUCCESS, node->p->qp->destroy(g_ptr_array_index(made, i)));
	cert_end_free(cert_end_new(node, NULL));
}

static void
queues_at_the_limit(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	uint32_t most = node->attr.max_cq;
	g_autoptr(GPtrArray) made = g_ptr_array_new();
	struct ri_cq *cq = NULL;
	uint32_t entries = 1;
	struct ri_map map;

	if (most > QUEUES_COUNTED) {
		cert_skip(cert, "the limit of %u is out of reach", most);
		return;
	}
	for (uint32_t i = 0; i < most; i++) {
		entries = 1;
		CERT_VERB(cert, RI_SUCCESS,
			  node->p->cq->create(node->context, 1, &entries, &cq, &map));
		g_ptr_array_add(made, cq);
	}
	CERT_VERB(cert, RI_ERR_RESOURCES,
		  node->p->cq->create(node->context, 1, &entries, &cq, &map));
	for (guint i = 0; i < made->len; i++)
		CERT_VERB(cert, RI_SUCCESS, node->p->cq->destroy(g_ptr_array_index(made, i)));
	entries = 1;
	CERT_VERB(cert, RI_SUCCESS, node->p->cq->create(node->context, 1, &entries, &cq, &map));
	CERT_VERB(cert, RI_SUCCESS, node->p->cq->destroy(cq));
}

/* --- identities ---------------------------------------------------------------------------- */

static void
numbers_of_pairs(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
	uint32_t count = MIN(60, node->attr.max_qp);

	for (uint32_t i = 0; i < count; i++) {
		struct ri_qp_attr attr = cert_end_attr(cert_end_new(node, NULL));

		CERT_UINT(cert, attr.qpn, <, 1u << 24);
		CERT_TRUE(cert, g_hash_table_add(seen, GUINT_TO_POINTER(attr.qpn + 1)));
	}
}

static void
query_of_a_pair(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct cert_end *end = cert_end_new(node, NULL);
	struct ri_qp_attr attr = cert_end_attr(end);

	CERT_UINT(cert, attr.state, ==, RI_QPS_IDLE);
	CERT_UINT(cert, attr.access, ==, end->init.access);
	CERT_UINT(cert, attr.ird, ==, end->init.ird);
	CERT_UINT(cert, attr.ord, ==, end->init.ord);
	CERT_UINT(cert, attr.max_sq_wr, ==, end->init.max_sq_wr);
	CERT_UINT(cert, attr.max_rq_wr, ==, end->init.max_rq_wr);
	CERT_UINT(cert, attr.max_send_sge, ==, end->init.max_send_sge);
	CERT_UINT(cert, attr.max_recv_sge, ==, end->init.max_recv_sge);
	CERT_UINT(cert, attr.max_write_sge, ==, end->init.max_write_sge);
	CERT_UINT(cert, attr.max_read_sge, ==, end->init.max_read_sge);
	CERT_UINT(cert, attr.terminate_len, ==, 0);
	cert_wait_quiescent(end);
}

static void
spigots(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct ri_port_attr port;

	for (uint32_t i = 0; i < node->attr.num_ports; i++) {
		port = (struct ri_port_attr){.size = sizeof(port)};
		CERT_VERB(cert, RI_SUCCESS, node->p->device->query_port(node->rnic, i, &port));
		CERT_UINT(cert, port.num_addrs, <=, RI_PORT_ADDR_MAX);
		CERT_UINT(cert, port.max_message, <=, node->attr.max_message_size);
	}
	port = (struct ri_port_attr){.size = sizeof(port)};
	CERT_VERB(cert, RI_ERR_INVALID_ARG,
		  node->p->device->query_port(node->rnic, node->attr.num_ports, &port));
	CERT_VERB(cert, RI_ERR_INVALID_ARG,
		  node->p->device->query_port(node->rnic, UINT32_MAX, &port));
}

/* --- what a context leaves ----------------------------------------------------------------- */

/* A context is closed with a connection and posted work: its peer gets an event, its owner gets none. */
static void
context_at_work(struct cert *cert)
{
	struct pair pair;

	pair_connected(&pair, cert);
	for (unsigned i = 0; i < 4; i++) {
		cert_post_recv(pair.a, i, &pair.source, 1);
		cert_post_recv(pair.b, i, &pair.sink, 1);
	}
	cert_node_close(pair.near);
	cert_wait_end(pair.b);
	for (unsigned i = 0; i < 4; i++)
		cert_wc_is(pair.b, true, i, RI_WC_FLUSHED);
	cert_note(cert, "the other adapter goes on");
	cert_end_new(pair.far, NULL);
}

/* Opened and closed again and again, with objects of each kind left inside. */
static void
opened_again(struct cert *cert)
{
	for (unsigned i = 0; i < 25; i++) {
		struct cert_node *node = cert_node_open(cert);

		cert_end_new(node, NULL);
		cert_region_new(node, 100, CERT_ALL);
		if (i % 3 == 0)
			cert_end_move(cert_end_new(node, NULL), RI_QPS_ERROR);
		cert_node_close(node);
	}
}

static void
created_again(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);

	for (unsigned i = 0; i < 300; i++) {
		struct cert_end *end = cert_end_new(node, NULL);
		struct cert_region *region = cert_region_new(node, 1 + i, CERT_ALL);

		cert_end_free(end);
		cert_region_free(region);
	}
}

/* --- what is not claimed ------------------------------------------------------------------- */

static void
expect_no_pair(struct cert *cert, struct ri_qp_init *init, enum ri_status expected)
{
	struct cert_node *node = cert_node_open(cert);
	struct cert_end *end = cert_end_new(node, NULL);
	struct ri_qp *qp = NULL;
	struct ri_map map;

	init->ctx = cert_ctx_new(node, RI_OBJECT_QP);
	CERT_VERB(cert, expected,
		  node->p->qp->create(node->pd, init, end->scq, end->rcq, NULL, &qp, &map));
}

static void
no_datagrams(struct cert *cert)
{
	struct ri_qp_init init = {.type = RI_QP_UD,
				  .max_sq_wr = 1,
				  .max_rq_wr = 1,
				  .max_send_sge = 1,
				  .max_recv_sge = 1,
				  .hard_limit = UINT32_MAX};

	expect_no_pair(cert, &init, RI_ERR_UNSUPPORTED);
}

static void
no_privileged_pairs(struct cert *cert)
{
	struct ri_qp_init init = {.max_sq_wr = 1,
				  .max_rq_wr = 1,
				  .max_send_sge = 1,
				  .max_recv_sge = 1,
				  .hard_limit = UINT32_MAX,
				  .privileged = true};

	expect_no_pair(cert, &init, RI_ERR_UNSUPPORTED);
}

/* Operations that the profile does not claim are refused when they are posted. */
static void
no_operations(struct cert *cert)
{
	const struct ri_rnic_attr *attr = cert_attr(cert);
	const struct {
		enum ri_opcode opcode;
		bool claimed;
	} rows[] = {
		{RI_OP_FETCH_ADD, attr->atomics},
		{RI_OP_CMP_SWAP, attr->atomics},
		{RI_OP_BIND_MW, attr->mw_narrow || attr->mw_wide},
		{RI_OP_FAST_REG, attr->fast_register},
		{RI_OP_INV_MR, attr->fast_register},
	};
	struct pair pair;
	struct ri_wr wr = {.wr_id = 1, .flags = RI_WR_SIGNALED};

	pair_looking_at_requests(&pair, cert);
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		if (rows[i].claimed)
			continue;
		cert_note(cert, "%s", ri_opcode_name(rows[i].opcode));
		wr.opcode = (uint8_t)rows[i].opcode;
		CERT_FAST(cert, RI_ERR_UNSUPPORTED, pair.near->p->fast->post_sq(pair.a->uqp, &wr));
	}
	CERT_UINT(cert, cert_end_move(pair.a, RI_QPS_ERROR), ==, RI_SUCCESS);
	cert_wc_none(pair.a, false);
}

static const struct cert_case cases[] = {
	{.id = "verbs.object.busy.0001",
	 .title = "A protection domain with a queue pair is busy, and serves on",
	 .rule = "[RI 2.2.3] [RI 2.1.1]",
	 .run = domain_of_a_pair},
	{.id = "verbs.object.busy.0002",
	 .title = "A protection domain with a region is busy",
	 .rule = "[RI 2.2.3]",
	 .run = domain_of_a_region},
	{.id = "verbs.object.busy.0003",
	 .title = "A protection domain with a window is busy",
	 .rule = "[RI 2.2.3]",
	 .needs = "max_mw",
	 .run = domain_of_a_window},
	{.id = "verbs.object.busy.0004",
	 .title = "A protection domain with a shared receive queue is busy",
	 .rule = "[RI 2.2.3]",
	 .needs = "srq",
	 .run = domain_of_a_shared_queue},
	{.id = "verbs.object.busy.0005",
	 .title = "A protection domain with an address handle is busy",
	 .rule = "[RI 2.2.3]",
	 .needs = "ud",
	 .run = domain_of_a_handle},
	{.id = "verbs.object.busy.0006",
	 .title = "A completion queue is busy until its last queue pair is gone",
	 .rule = "[RI 2.2.3]",
	 .run = shared_completions},
	{.id = "verbs.object.free.0001",
	 .title = "A protection domain that nothing uses is destroyed at the first attempt",
	 .rule = "[RI 2.2.3]",
	 .run = free_domains},
	{.id = "verbs.object.free.0002",
	 .title = "A creation that is refused keeps nothing busy and no memory",
	 .rule = "[RI 2.1.1] [RI 2.2.3]",
	 .run = refused_whole},
	{.id = "verbs.object.limit.0001",
	 .title = "A queue pair of each size at its limit can be created, and none beyond",
	 .rule = "[RI 2.2.2] [RI 10]",
	 .settles = "max_sq_wr max_rq_wr max_send_sge max_recv_sge max_write_sge max_read_sge "
		    "max_ird max_ord",
	 .run = sizes_of_a_pair},
	{.id = "verbs.object.limit.0002",
	 .title = "A queue pair may have no send queue or no receive queue",
	 .rule = "[RI 2.2.2]",
	 .run = pair_without_queues},
	{.id = "verbs.object.limit.0003",
	 .title = "Exactly max_pd protection domains can exist",
	 .rule = "[RI 2.2.1] [RI 10]",
	 .settles = "max_pd",
	 .run = domains_at_the_limit},
	{.id = "verbs.object.limit.0004",
	 .title = "Exactly max_mr regions can exist",
	 .rule = "[RI 2.2.1] [RI 10]",
	 .settles = "max_mr",
	 .run = regions_at_the_limit,
	 .flags = CERT_SLOW,
	 .seconds = 600},
	{.id = "verbs.object.limit.0005",
	 .title = "Exactly max_qp queue pairs can exist",
	 .rule = "[RI 2.2.1] [RI 10]",
	 .settles = "max_qp",
	 .run = pairs_at_the_limit},
	{.id = "verbs.object.limit.0006",
	 .title = "Exactly max_cq completion queues can exist",
	 .rule = "[RI 2.2.1] [RI 10]",
	 .settles = "max_cq",
	 .run = queues_at_the_limit},
	{.id = "verbs.object.query.0001",
	 .title = "Queue pairs that exist together have different numbers of 24 bits",
	 .rule = "[RI 2.2.1]",
	 .run = numbers_of_pairs},
	{.id = "verbs.object.query.0002",
	 .title = "A query of a new queue pair tells what its creation reported",
	 .rule = "[RI 2.2.1] [RI 2.2.2]",
	 .run = query_of_a_pair},
	{.id = "verbs.object.query.0003",
	 .title = "Each spigot can be queried, and no other",
	 .rule = "[RI 2.2.1]",
	 .settles = "num_ports",
	 .run = spigots},
	{.id = "verbs.object.life.0001",
	 .title = "A context that is destroyed at work ends its connections, without events for "
		  "itself",
	 .rule = "[RI 2.2.4] [RI 2.1.4]",
	 .run = context_at_work},
	{.id = "verbs.object.life.0002",
	 .title = "An adapter can be opened and closed again and again",
	 .rule = "[RI 2.2.1] [RI 2.2.4]",
	 .run = opened_again},
	{.id = "verbs.object.life.0003",
	 .title = "Queue pairs and regions can be created and destroyed again and again",
	 .rule = "[RI 2.2.1]",
	 .run = created_again},
	{.id = "verbs.object.refused.0001",
	 .title = "A queue pair for datagrams is refused where none is claimed",
	 .rule = "[RI 10.34]",
	 .needs = "!ud",
	 .settles = "ud",
	 .run = no_datagrams},
	{.id = "verbs.object.refused.0002",
	 .title = "A privileged queue pair is refused where none is claimed",
	 .rule = "[RI 10.12]",
	 .needs = "!privileged_ops",
	 .settles = "privileged_ops direct_stag",
	 .run = no_privileged_pairs},
	{.id = "verbs.object.refused.0003",
	 .title = "Operations that are not claimed are refused when they are posted",
	 .rule = "[RI 10] [RI 2.1.1]",
	 .run = no_operations},
};

CERT_SET(verbs_objects, cases);
