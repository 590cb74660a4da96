/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A change is made as a whole or not at all. If it is refused because of one attribute, no other
 * attribute may have changed. If it is made, all new values must apply, and attributes that it does
 * not name must be unchanged.
 */

#include "verbs_line.h"

/* --- a modify that is refused ----------------------------------------------------------------- */

static void
expect_unmodified(struct cert_end *end, const struct ri_qp_attr *before)
{
	struct ri_qp_attr after = cert_end_attr(end);
	struct cert *cert = end->node->cert;

	CERT_UINT(cert, after.state, ==, before->state);
	CERT_UINT(cert, after.access, ==, before->access);
	CERT_UINT(cert, after.ird, ==, before->ird);
	CERT_UINT(cert, after.ord, ==, before->ord);
	CERT_UINT(cert, after.qkey, ==, before->qkey);
}

/* Each attribute that can be refused, beside others that could be changed. */
static void
refused_in(struct cert_end *end)
{
	const struct ri_rnic_attr *most = &end->node->attr;
	const struct ri_qp_attr before = cert_end_attr(end);
	struct ri_qp_attr good = before;
	struct cert *cert = end->node->cert;
	const uint32_t all = RI_QP_ATTR_ACCESS | RI_QP_ATTR_IRD | RI_QP_ATTR_ORD;

	good.state = RI_QPS_RTS; /* no modify leads there */
	good.access ^= RI_ACCESS_REMOTE_WRITE;
	good.ird = before.ird > 1 ? before.ird - 1 : before.ird;
	good.ord = before.ord > 1 ? before.ord - 1 : before.ord;
	good.soft_limit = good.hard_limit = 1;
	good.qkey = before.qkey ^ 1;

	struct {
		const char *what;
		struct ri_qp_attr attr;
		uint32_t mask;
	} rows[] = {
		{"ORD is too large", good, all},
		{"IRD is too large", good, all},
		{"no queue pair is moved to RTS", good, all | RI_QP_ATTR_STATE},
		{"a soft limit without a shared queue", good, all | RI_QP_ATTR_SOFT},
		{"a hard limit without a shared queue", good, all | RI_QP_ATTR_HARD},
		{"a Q_Key of a connection", good, all | RI_QP_ATTR_QKEY},
		{"an attribute that does not exist", good, all | UINT32_C(1) << 30},
	};
	rows[0].attr.ord = most->max_ord + 1;
	rows[1].attr.ird = most->max_ird + 1;
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		enum ri_status status;

		if ((i == 0 && most->max_ord == UINT32_MAX) ||
		    (i == 1 && most->max_ird == UINT32_MAX))
			continue;
		cert_note(cert, "%s, in the state %s", rows[i].what,
			  ri_qp_state_name((enum ri_qp_state)before.state));
		CERT_VERB_VOID(cert, status = end->node->p->qp->modify(end->qp, &rows[i].attr,
								       rows[i].mask));
		CERT_UINT(cert, status, !=, RI_SUCCESS);
		expect_unmodified(end, &before);
	}
}

static void
modify_refused(struct cert *cert)
{
	struct pair pair;

	pair_open(&pair, cert, NULL);
	refused_in(pair.a);
	cert_connect(pair.a, pair.b);
	refused_in(pair.a);
	CERT_UINT(cert, cert_end_move(pair.a, RI_QPS_ERROR), ==, RI_SUCCESS);
	cert_wait_end(pair.a);
	cert_wait_quiescent(pair.a);
	refused_in(pair.a);
}

/* --- registration anew -------------------------------------------------------------------------- */

#define BYTES 128u

/* A region that moves, and a peer for each of two protection domains. */
struct mover {
	struct cert *cert;
	struct cert_node *near, *far;
	struct cert_region *from;
	struct ri_pd *pds[2];
	struct cert_end *a[2], *b[2]; /* b[i] is of pds[i] */
	struct ri_mr *mr;
	uint32_t stag;
};

static void
mover_connect(struct mover *mover, unsigned which)
{
	struct ri_pd *own = mover->far->pd;

	mover->a[which] = cert_end_new(mover->near, NULL);
	mover->far->pd = mover->pds[which];
	mover->b[which] = cert_end_new(mover->far, NULL);
	mover->far->pd = own;
	cert_connect(mover->a[which], mover->b[which]);
}

/* The peer of a domain writes or reads, and is granted it or not; then the connection is made anew. */
static void
mover_try(struct mover *mover, uint8_t *memory, unsigned which, enum ri_opcode opcode, bool granted)
{
	struct ri_sge local = cert_sge(mover->from, 0, BYTES);
	struct ri_sge remote = {.addr = (uintptr_t)memory, .length = BYTES, .stag = mover->stag};
	bool write = opcode == RI_OP_RDMA_WRITE;
	struct cert *cert = mover->cert;

	if (!write && mover->a[which]->init.ord == 0)
		return;
	cert_note(cert, "%s by the peer of the %s domain", ri_opcode_name(opcode),
		  which == 0 ? "first" : "second");
	cert_fill(mover->from->at, BYTES, 5);
	cert_fill(memory, BYTES, 6);
	cert_post_rdma(mover->a[which], opcode, 1, &local, &remote);
	if (granted) {
		cert_wc_is(mover->a[which], false, 1, RI_WC_SUCCESS);
		cert_post_recv(mover->b[which], 2, NULL, 0);
		cert_post_send(mover->a[which], 3, NULL, 0, 0);
		cert_wc_is(mover->a[which], false, 3, RI_WC_SUCCESS);
		cert_wc_is(mover->b[which], true, 2, RI_WC_SUCCESS);
	} else {
		cert_wait_end(mover->a[which]);
		cert_wait_end(mover->b[which]);
		cert_end_free(mover->a[which]);
		cert_end_free(mover->b[which]);
		cert_events_forget(mover->near);
		cert_events_forget(mover->far);
		mover_connect(mover, which);
	}
	cert_expect_fill(cert, "memory of the region", memory, BYTES, write && granted ? 5 : 6);
	cert_expect_fill(cert, "memory of the requester", mover->from->at, BYTES,
			 !write && granted ? 6 : 5);
}

/* Domain and rights of the region are exactly these. */
static void
mover_is(struct mover *mover, uint8_t *memory, unsigned which, uint32_t access)
{
	struct ri_mr_attr attr = {0};
	struct cert *cert = mover->cert;
	const uint32_t remote =
		RI_ACCESS_REMOTE_READ | RI_ACCESS_REMOTE_WRITE | RI_ACCESS_REMOTE_ATOMIC;

	CERT_VERB(cert, RI_SUCCESS, mover->far->p->mem->mr_query(mover->mr, &attr));
	CERT_UINT(cert, attr.access & remote, ==, access & remote);
	CERT_UINT(cert, attr.stag, ==, mover->stag);
	for (unsigned i = 0; i < 2; i++) {
		mover_try(mover, memory, i, RI_OP_RDMA_WRITE,
			  i == which && (access & RI_ACCESS_REMOTE_WRITE) != 0);
		mover_try(mover, memory, i, RI_OP_RDMA_READ,
			  i == which && (access & RI_ACCESS_REMOTE_READ) != 0);
	}
}

/* Re-register a region from each domain and set of rights to others, keeping its STag and with a new one. */
static void
rereg_whole(struct cert *cert)
{
	static uint8_t memory[BYTES] __attribute__((aligned(16)));
	static const struct {
		unsigned which;
		uint32_t rights;
	} steps[] = {
		{0, RI_ACCESS_REMOTE_READ | RI_ACCESS_REMOTE_WRITE},
		{1, RI_ACCESS_REMOTE_READ | RI_ACCESS_REMOTE_WRITE},
		{1, RI_ACCESS_REMOTE_READ},
		{0, RI_ACCESS_REMOTE_WRITE},
		{0, 0},
		{1, RI_ACCESS_REMOTE_WRITE},
	};

	for (unsigned keep = 0; keep < 2; keep++) {
		struct mover mover = {.cert = cert};
		struct ri_mr_init init = {
			.addr = (uintptr_t)memory, .length = BYTES, .keep_stag = keep != 0};

		mover.near = cert_node_open(cert);
		mover.far = cert_node_open(cert);
		mover.from = cert_region_new(mover.near, BYTES, CERT_ALL);
		for (unsigned i = 0; i < 2; i++) {
			CERT_VERB(cert, RI_SUCCESS,
				  mover.far->p->pd->create(mover.far->context, &mover.pds[i]));
			mover_connect(&mover, i);
		}
		for (size_t i = 0; i < G_N_ELEMENTS(steps); i++) {
			struct ri_pd *pd = mover.pds[steps[i].which];

			init.access = CERT_LOCAL | steps[i].rights;
			init.key = (uint8_t)(mover.stag + 1);
			cert_note(cert, "step %zu, with %s STag", i, keep != 0 ? "its" : "another");
			if (i == 0)
				CERT_VERB(cert, RI_SUCCESS,
					  mover.far->p->mem->mr_reg(pd, &init, &mover.mr,
								    &mover.stag));
			else
				CERT_VERB(cert, RI_SUCCESS,
					  mover.far->p->mem->mr_rereg(mover.mr, pd, &init,
								      &mover.stag));
			mover_is(&mover, memory, steps[i].which, init.access);
		}
		for (unsigned i = 0; i < 2; i++)
			cert_end_free(mover.b[i]);
		cert_note(cert, "the region is of the second domain alone");
		CERT_VERB(cert, RI_SUCCESS, mover.far->p->pd->destroy(mover.pds[0]));
		CERT_VERB(cert, RI_ERR_BUSY, mover.far->p->pd->destroy(mover.pds[1]));
		CERT_VERB(cert, RI_SUCCESS, mover.far->p->mem->mr_dereg(mover.mr));
		CERT_VERB(cert, RI_SUCCESS, mover.far->p->pd->destroy(mover.pds[1]));
		cert_node_close(mover.near);
		cert_node_close(mover.far);
	}
}

/* --- a completion queue that is resized ----------------------------------------------------------- */

static void
cq_resize(struct pair *pair, uint32_t entries)
{
	struct cert *cert = pair->cert;
	struct ri_map map;

	entries = MIN(entries, pair->far->attr.max_cqe);
	CERT_VERB(cert, RI_SUCCESS, pair->far->p->cq->resize(pair->b->rcq, &entries, &map));
	CERT_VERB(cert, RI_SUCCESS, pair->far->p->user->cq_remap(pair->b->urcq, &map));
}

/* A message that has arrived. */
static void
arrive(struct pair *pair, bool solicited)
{
	uint32_t before = pair->far->p->fast->cq_depth(pair->b->urcq);
	gint64 until = 0;

	cert_post_recv(pair->b, 1, &pair->sink, 1);
	cert_post_send(pair->a, 1, &pair->source, 1, solicited ? RI_WR_SOLICITED : 0u);
	cert_wc_is(pair->a, false, 1, RI_WC_SUCCESS);
	while (pair->far->p->fast->cq_depth(pair->b->urcq) == before)
		CERT_TRUE(pair->cert, cert_patience(pair->cert, &until));
}

static void
drain(struct pair *pair)
{
	while (pair->far->p->fast->cq_depth(pair->b->urcq) != 0)
		cert_wc_is(pair->b, true, 1, RI_WC_SUCCESS);
}

/* Armed before the resize; the upcall comes with the same completion as without one. */
static void
armed_across(struct pair *pair, enum ri_arm how, uint32_t count, uint32_t entries)
{
	unsigned before = cert_cq_events(pair->far, pair->b->rcq_ctx);
	unsigned due = how == RI_ARM_NEXT ? 1 : 3;
	struct cert *cert = pair->cert;
	gint64 until = 0;

	cert_note(cert, "armed as %d, and resized to %u", (int)how, entries);
	CERT_FAST(cert, RI_SUCCESS, pair->far->p->fast->arm_cq(pair->b->urcq, how, count));
	cq_resize(pair, entries);
	for (unsigned i = 1; i <= due; i++) {
		CERT_UINT(cert, cert_cq_events(pair->far, pair->b->rcq_ctx), ==, before);
		arrive(pair, i == 3);
	}
	while (cert_cq_events(pair->far, pair->b->rcq_ctx) == before)
		CERT_TRUE(cert, cert_patience(cert, &until));
	drain(pair);
}

/* What is present counts as it did: solicited or not, and how many. */
static void
present_across(struct pair *pair, uint32_t entries)
{
	const struct ri_fast_ops *fast = pair->far->p->fast;
	const struct ri_rnic_attr *attr = &pair->far->attr;
	struct cert *cert = pair->cert;

	cert_note(cert, "completions that are present, and a resize to %u", entries);
	arrive(pair, false);
	arrive(pair, false);
	cq_resize(pair, entries);
	if (attr->solicited_works)
		CERT_FAST(cert, RI_SUCCESS, fast->arm_cq(pair->b->urcq, RI_ARM_SOLICITED, 1));
	if (attr->cq_arm_count)
		CERT_FAST(cert, RI_ERR_NOT_EMPTY, fast->arm_cq(pair->b->urcq, RI_ARM_COUNT, 2));
	CERT_FAST(cert, RI_ERR_NOT_EMPTY, fast->arm_cq(pair->b->urcq, RI_ARM_NEXT, 1));
	arrive(pair, true);
	cq_resize(pair, entries + 8);
	if (attr->solicited_works)
		CERT_FAST(cert, RI_ERR_NOT_EMPTY, fast->arm_cq(pair->b->urcq, RI_ARM_SOLICITED, 1));
	if (attr->cq_arm_count)
		CERT_FAST(cert, RI_ERR_NOT_EMPTY, fast->arm_cq(pair->b->urcq, RI_ARM_COUNT, 3));
	drain(pair);
}

static void
cq_resized(struct cert *cert)
{
	static const uint32_t sizes[] = {100, 16, 40};
	const struct ri_rnic_attr *attr = cert_attr(cert);
	struct pair pair;

	pair_connected(&pair, cert);
	for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
		present_across(&pair, sizes[i]);
		armed_across(&pair, RI_ARM_NEXT, 1, sizes[i]);
		if (attr->solicited_works)
			armed_across(&pair, RI_ARM_SOLICITED, 1, sizes[i]);
		if (attr->cq_arm_count)
			armed_across(&pair, RI_ARM_COUNT, 3, sizes[i]);
	}
}

/* --- a shared queue that is resized ---------------------------------------------------------------- */

static uint32_t
srq_limit(struct line *line)
{
	struct ri_srq_attr seen = {0};

	CERT_VERB(line->cert, RI_SUCCESS, line->far->p->srq->query(line->shared.srq, &seen));
	return seen.limit;
}

static void
srq_change(struct line *line, uint32_t limit, uint32_t max_wr)
{
	struct ri_srq_attr attr = {.limit = limit, .max_wr = max_wr};
	struct ri_map map;

	CERT_VERB(line->cert, RI_SUCCESS,
		  line->far->p->srq->modify(line->shared.srq, &attr, max_wr != 0, &map));
	if (max_wr != 0)
		CERT_VERB(line->cert, RI_SUCCESS,
			  line->far->p->user->srq_remap(line->shared.usrq, &map));
}

/* Post receives, then take some of them by Sends. */
static void
srq_use(struct line *line, unsigned supply, unsigned take)
{
	line_supply(line, supply);
	line_consume(line, line->a, &line->shared.end, take);
}

static void
srq_resized(struct cert *cert)
{
	uint32_t most = MIN(32, cert_attr(cert)->max_srq_wr);
	struct line line;

	line_open(&line, cert);
	for (unsigned round = 0; round < 3; round++) {
		uint32_t size = round % 2 == 0 ? most : MIN(8, most);

		cert_note(cert, "round %u: a limit that is set stays when the queue is resized",
			  round);
		srq_use(&line, 4, 0);
		srq_change(&line, 3, 0);
		srq_change(&line, RI_SRQ_LIMIT_KEEP, size);
		CERT_UINT(cert, srq_limit(&line), ==, 3);
		srq_use(&line, 0, 1);
		CERT_UINT(cert, cert_async_count(line.far, RI_EVENT_SRQ_LIMIT, line.shared.ctx), ==,
			  0);
		srq_use(&line, 0, 1);
		(void)cert_async(line.far, RI_EVENT_SRQ_LIMIT, line.shared.ctx);
		cert_note(cert, "round %u: one that has fired stays off", round);
		srq_change(&line, RI_SRQ_LIMIT_KEEP, most);
		CERT_UINT(cert, srq_limit(&line), ==, 0);
		srq_use(&line, 2, 4);
		for (unsigned i = 0; i < 5; i++)
			cert_progress(cert);
		CERT_UINT(cert, cert_async_count(line.far, RI_EVENT_NONE, line.shared.ctx), ==, 0);
	}
	shared_free(&line.shared);
}

static const struct cert_case cases[] = {
	{.id = "verbs.whole.modify.0001",
	 .title = "A modify that is refused for one attribute changes no other",
	 .rule = "[RI 2.1.1]",
	 .run = modify_refused},
	{.id = "verbs.whole.region.0001",
	 .title = "Registration anew changes domain and rights, with the old STag, too",
	 .rule = "[RI 5.2.1] [RI 5.2.3]",
	 .needs = "reregister",
	 .settles = "reregister",
	 .run = rereg_whole},
	{.id = "verbs.whole.cq.0001",
	 .title = "A completion queue that is resized stays armed, and counts its completions as "
		  "before",
	 .rule = "[RI 10.16] [RI 7.1] [RI 7.3]",
	 .needs = "cq_resizable",
	 .settles = "cq_resizable",
	 .run = cq_resized},
	{.id = "verbs.whole.srq.0001",
	 .title = "A shared queue that is resized keeps its limit, set or off",
	 .rule = "[RI 10.16] [RI 6.4]",
	 .needs = "srq srq_limit srq_resizable",
	 .settles = "srq_resizable",
	 .run = srq_resized},
};

CERT_SET(verbs_whole, cases);
