/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Work requests: their identity, what takes effect before the request behind it, several that fail, requests kept back. */

#include <string.h>
#include <sys/resource.h>

#include "verbs_pair.h"

#define PAGE    4096u
#define RIGHTS  (RI_ACCESS_REMOTE_READ | RI_ACCESS_REMOTE_WRITE)
#define POSTS   256u
#define NOTHING 200u /* rounds of progress in which nothing may happen */

/* --- identity ------------------------------------------------------------------------------ */

static const uint64_t ids[] = {0,
			       1,
			       UINT64_C(0x00000000ffffffff),
			       UINT64_C(0x0123456789abcdef),
			       UINT64_C(0x8000000000000000),
			       UINT64_C(0xffffffff00000000),
			       UINT64_MAX};

static void
all_bits(struct cert *cert)
{
	struct pair pair;

	pair_connected(&pair, cert);
	for (size_t i = 0; i < G_N_ELEMENTS(ids); i++) {
		cert_post_recv(pair.b, ids[i], &pair.sink, 1);
		cert_post_send(pair.a, ~ids[i], &pair.source, 1, 0);
		cert_wc_is(pair.b, true, ids[i], RI_WC_SUCCESS);
		cert_wc_is(pair.a, false, ~ids[i], RI_WC_SUCCESS);
	}
}

/* Requests tell their success if they are asked to, receives always. */
static void
signals(struct cert *cert)
{
	struct pair pair;
	struct ri_wr wr = {.opcode = RI_OP_SEND, .num_sge = 1};

	pair_connected(&pair, cert);
	wr.sgl = &pair.source;
	for (uint64_t id = 0; id < 8; id++) {
		cert_post_recv(pair.b, id, &pair.sink, 1);
		wr.wr_id = id;
		wr.flags = id % 4 == 3 ? RI_WR_SIGNALED : 0;
		cert_post(pair.a, &wr);
	}
	for (uint64_t id = 0; id < 8; id++)
		cert_wc_is(pair.b, true, id, RI_WC_SUCCESS);
	cert_wc_is(pair.a, false, 3, RI_WC_SUCCESS);
	cert_wc_is(pair.a, false, 7, RI_WC_SUCCESS);
	cert_wc_none(pair.a, false);
}

/* --- effect before the request behind ------------------------------------------------------ */

/* b's request, and right behind it a Send that tells a, which then does what the request allows or forbids. */
static void
post_and_tell(struct pair *pair, const struct ri_wr *wr)
{
	cert_post_recv(pair->a, 80, NULL, 0);
	cert_post(pair->b, wr);
	cert_post_send(pair->b, 81, NULL, 0, 0);
	cert_wc_is(pair->a, true, 80, RI_WC_SUCCESS);
}

/* a writes 64 bytes to that place of b's memory at once. */
static void
write_at_once(struct pair *pair, uint8_t *at, uint32_t stag, bool granted)
{
	struct ri_sge target = {.addr = (uintptr_t)at, .length = 64, .stag = stag};
	struct ri_sge back = {.addr = pair->source.addr, .stag = pair->source.stag};

	cert_fill(pair->from->at, 64, 1);
	cert_fill(at, 64, 2);
	cert_post_rdma(pair->a, RI_OP_RDMA_WRITE, 82, &pair->source, &target);
	if (!granted) {
		cert_wait_end(pair->a);
		cert_wait_end(pair->b);
		cert_expect_fill(pair->cert, "memory that is not written", at, 64, 2);
		return;
	}
	cert_post_rdma(pair->a, RI_OP_RDMA_READ, 83, &back, &target);
	cert_wc_is(pair->a, false, 82, RI_WC_SUCCESS);
	cert_wc_is(pair->a, false, 83, RI_WC_SUCCESS);
	cert_expect_fill(pair->cert, "what was written", at, 64, 1);
}

static struct ri_wr
bind_of(const struct pair *pair, uint32_t stag)
{
	return (struct ri_wr){.wr_id = 50,
			      .opcode = RI_OP_BIND_MW,
			      .flags = RI_WR_SIGNALED,
			      .u.bind = {.mw_stag = stag,
					 .mr_stag = pair->into->stag,
					 .addr = (uintptr_t)pair->into->at,
					 .length = 64,
					 .access = RIGHTS}};
}

static struct ri_mw *
window_new(struct pair *pair, uint32_t *stag)
{
	struct ri_mw *mw = NULL;

	CERT_VERB(pair->cert, RI_SUCCESS,
		  pair->far->p->mem->mw_alloc(pair->far->pd, RI_MW_NARROW, &mw, stag));
	*stag = (*stag & ~0xffu) | ((*stag + 1) & 0xff);
	return mw;
}

/* A connected pair, and a window of b that is bound. */
static struct ri_mw *
bound_open(struct pair *pair, struct cert *cert, uint32_t *stag)
{
	struct ri_mw *mw;
	struct ri_wr wr;

	pair_connected(pair, cert);
	mw = window_new(pair, stag);
	wr = bind_of(pair, *stag);
	cert_post(pair->b, &wr);
	cert_wc_is(pair->b, false, 50, RI_WC_SUCCESS);
	return mw;
}

static struct ri_wr
invalidate_of(uint32_t stag)
{
	return (struct ri_wr){
		.wr_id = 51, .opcode = RI_OP_LOCAL_INV, .flags = RI_WR_SIGNALED, .inv_stag = stag};
}

static void
bind_before_send(struct cert *cert)
{
	struct pair pair;
	struct ri_mw *mw;
	struct ri_wr wr;
	uint32_t stag;

	pair_connected(&pair, cert);
	mw = window_new(&pair, &stag);
	wr = bind_of(&pair, stag);
	post_and_tell(&pair, &wr);
	write_at_once(&pair, pair.into->at, stag, true);
	cert_wc_is(pair.b, false, 50, RI_WC_SUCCESS);
	cert_wc_is(pair.b, false, 81, RI_WC_SUCCESS);
	CERT_VERB(cert, RI_SUCCESS, pair.far->p->mem->mw_free(mw));
}

static void
invalidate_before_send(struct cert *cert)
{
	struct pair pair;
	uint32_t stag;
	struct ri_mw *mw = bound_open(&pair, cert, &stag);
	struct ri_wr wr = invalidate_of(stag);

	post_and_tell(&pair, &wr);
	write_at_once(&pair, pair.into->at, stag, false);
	CERT_VERB(cert, RI_SUCCESS, pair.far->p->mem->mw_free(mw));
}

/* --- regions without memory ---------------------------------------------------------------- */

static _Alignas(PAGE) uint8_t page[PAGE];

/* A connected pair whose b is privileged, and a region of its side that waits for memory. */
static struct ri_mr *
reserved_open(struct pair *pair, struct cert *cert, uint32_t *stag)
{
	struct ri_mr_init reserve = {.access = CERT_ALL, .unlinked = true, .max_pages = 1};
	struct ri_mr *mr = NULL;
	struct ri_qp_init init;

	pair_open(pair, cert, NULL);
	init = cert_end_defaults(pair->far);
	init.privileged = true;
	pair->b = cert_end_new(pair->far, &init);
	cert_connect(pair->a, pair->b);
	CERT_VERB(cert, RI_SUCCESS, pair->far->p->mem->mr_reg(pair->far->pd, &reserve, &mr, stag));
	return mr;
}

static struct ri_wr
link_of(const uint64_t *pages, uint32_t stag)
{
	return (struct ri_wr){.wr_id = 52,
			      .opcode = RI_OP_FAST_REG,
			      .flags = RI_WR_SIGNALED,
			      .u.fast_reg = {.stag = stag,
					     .access = CERT_ALL,
					     .addr = *pages,
					     .length = PAGE,
					     .pages = pages,
					     .num_pages = 1,
					     .page_size = PAGE}};
}

static struct ri_wr
unlink_of(uint32_t stag)
{
	return (struct ri_wr){
		.wr_id = 53, .opcode = RI_OP_INV_MR, .flags = RI_WR_SIGNALED, .inv_stag = stag};
}

static void
register_before_send(struct cert *cert)
{
	const uint64_t pages[] = {(uintptr_t)page};
	struct pair pair;
	struct ri_mr *mr;
	struct ri_wr wr;
	uint32_t stag;

	mr = reserved_open(&pair, cert, &stag);
	stag = (stag & ~0xffu) | ((stag + 1) & 0xff);
	wr = link_of(pages, stag);
	post_and_tell(&pair, &wr);
	write_at_once(&pair, page, stag, true);
	cert_wc_is(pair.b, false, 52, RI_WC_SUCCESS);
	cert_wc_is(pair.b, false, 81, RI_WC_SUCCESS);
	wr = unlink_of(stag);
	post_and_tell(&pair, &wr);
	write_at_once(&pair, page, stag, false);
	CERT_VERB(cert, RI_SUCCESS, pair.far->p->mem->mr_dereg(mr));
}

/* The requester reads its memory through a region that its last registration opened only for writing. */
static void
register_without_reading(struct cert *cert)
{
	const uint64_t pages[] = {(uintptr_t)page};
	struct pair pair;
	struct ri_mr *mr;
	struct ri_wr wr;
	struct ri_sge sge = {.addr = *pages, .length = 8};

	mr = reserved_open(&pair, cert, &sge.stag);
	wr = link_of(pages, sge.stag);
	wr.u.fast_reg.access = RI_ACCESS_LOCAL_WRITE;
	cert_post(pair.b, &wr);
	cert_wc_is(pair.b, false, 52, RI_WC_SUCCESS);
	cert_post_recv(pair.a, 80, &pair.source, 1);
	cert_post_send(pair.b, 54, &sge, 1, 0);
	cert_wc_is(pair.b, false, 54,
		   pair.far->attr.local_read_revocable ? RI_WC_LOCAL_PROTECTION : RI_WC_SUCCESS);
	CERT_VERB(cert, RI_SUCCESS, pair.far->p->mem->mr_dereg(mr));
}

/* --- invalid already ----------------------------------------------------------------------- */

static void
invalidate_twice(struct pair *pair, const struct ri_wr *wr)
{
	for (unsigned i = 0; i < 2; i++) {
		cert_note(pair->cert, "invalidation %u", i + 1);
		cert_post(pair->b, wr);
		cert_wc_is(pair->b, false, wr->wr_id, RI_WC_SUCCESS);
	}
	cert_note(pair->cert, "the connection stands");
	cert_post_recv(pair->b, 90, NULL, 0);
	cert_post_send(pair->a, 91, NULL, 0, 0);
	cert_wc_is(pair->b, true, 90, RI_WC_SUCCESS);
}

static void
window_invalid_already(struct cert *cert)
{
	struct pair pair;
	uint32_t stag;
	struct ri_mw *mw = bound_open(&pair, cert, &stag);
	struct ri_wr wr = invalidate_of(stag);

	invalidate_twice(&pair, &wr);
	CERT_VERB(cert, RI_SUCCESS, pair.far->p->mem->mw_free(mw));
}

static void
region_invalid_already(struct cert *cert)
{
	const uint64_t pages[] = {(uintptr_t)page};
	struct pair pair;
	struct ri_mr *mr;
	struct ri_wr wr;
	uint32_t stag;

	mr = reserved_open(&pair, cert, &stag);
	wr = unlink_of(stag);
	cert_note(cert, "a region that never had memory");
	invalidate_twice(&pair, &wr);
	wr = link_of(pages, stag);
	cert_post(pair.b, &wr);
	cert_wc_is(pair.b, false, 52, RI_WC_SUCCESS);
	wr = unlink_of(stag);
	invalidate_twice(&pair, &wr);
	CERT_VERB(cert, RI_SUCCESS, pair.far->p->mem->mr_dereg(mr));
}

/* --- requests that fail -------------------------------------------------------------------- */

/* If several requests are faulty, the first completes with the error, those before it succeed, and those behind it are flushed. */
static void
one_error(struct cert *cert)
{
	struct pair pair;
	struct ri_sge wrong;

	pair_connected(&pair, cert);
	wrong = pair.source;
	wrong.stag ^= 1u << 20; /* of no region */
	for (uint64_t id = 0; id < 6; id++)
		cert_post_recv(pair.b, id, &pair.sink, 1);
	cert_post_send(pair.a, 0, &pair.source, 1, 0);
	cert_wc_is(pair.b, true, 0, RI_WC_SUCCESS);
	for (uint64_t id = 1; id < 6; id++)
		cert_post_send(pair.a, id, id == 2 ? &pair.source : &wrong, 1, 0);
	cert_wc_is(pair.a, false, 0, RI_WC_SUCCESS);
	cert_wc_is(pair.a, false, 1, RI_WC_LOCAL_PROTECTION);
	for (uint64_t id = 2; id < 6; id++)
		cert_wc_is(pair.a, false, id, RI_WC_FLUSHED);
	cert_wait_end(pair.a);
	cert_wait_end(pair.b);
	for (uint64_t id = 1; id < 6; id++)
		CERT_UINT(cert, cert_wc(pair.b, true).status, ==, RI_WC_FLUSHED);
}

/* The same with errors that the peer finds: a Read of a key that there is not, three times. */
static void
one_error_of_peer(struct cert *cert)
{
	unsigned own = 0;
	struct pair pair;
	struct ri_sge wrong;

	pair_connected(&pair, cert);
	wrong = pair.sink;
	wrong.stag ^= 1u << 20;
	for (uint64_t id = 0; id < 3; id++)
		cert_post_rdma(pair.a, RI_OP_RDMA_READ, id, &pair.source, &wrong);
	for (uint64_t id = 0; id < 3; id++) {
		struct ri_wc wc = cert_wc(pair.a, false);

		CERT_UINT(cert, wc.wr_id, ==, id);
		CERT_UINT(cert, wc.status, !=, RI_WC_SUCCESS);
		own += wc.status != RI_WC_FLUSHED;
	}
	CERT_UINT(cert, own, <=, 1);
	cert_wait_end(pair.a);
	cert_wait_end(pair.b);
}

/* --- requests that are kept back ----------------------------------------------------------- */

/* A request with RI_WR_COALESCE may wait, but not longer than until flush_sq or a request without the flag. */
static void
coalesced(struct cert *cert)
{
	struct pair pair;

	pair_connected(&pair, cert);
	for (uint64_t id = 0; id < 9; id++)
		cert_post_recv(pair.b, id, &pair.sink, 1);
	for (uint64_t id = 0; id < 4; id++)
		cert_post_send(pair.a, id, &pair.source, 1, RI_WR_COALESCE);
	pair.near->p->fast->flush_sq(pair.a->uqp);
	for (uint64_t id = 0; id < 4; id++) {
		cert_wc_is(pair.b, true, id, RI_WC_SUCCESS);
		cert_wc_is(pair.a, false, id, RI_WC_SUCCESS);
	}
	cert_note(cert, "a request without the flag");
	for (uint64_t id = 4; id < 8; id++)
		cert_post_send(pair.a, id, &pair.source, 1, id < 7 ? RI_WR_COALESCE : 0);
	for (uint64_t id = 4; id < 8; id++) {
		cert_wc_is(pair.b, true, id, RI_WC_SUCCESS);
		cert_wc_is(pair.a, false, id, RI_WC_SUCCESS);
	}
	cert_note(cert, "nothing is kept back");
	pair.near->p->fast->flush_sq(pair.a->uqp);
	cert_wc_none(pair.a, false);
	cert_wc_none(pair.b, true);
}

/* What is kept back does not hold up an end: it is flushed with the others. */
static void
coalesced_and_flushed(struct cert *cert)
{
	struct pair pair;

	pair_connected(&pair, cert);
	for (uint64_t id = 0; id < 4; id++)
		cert_post_send(pair.a, id, &pair.source, 1, RI_WR_COALESCE);
	CERT_UINT(cert, cert_end_move(pair.a, RI_QPS_ERROR), ==, RI_SUCCESS);
	cert_wait_end(pair.a);
	for (uint64_t id = 0; id < 4; id++)
		CERT_UINT(cert, cert_wc(pair.a, false).wr_id, ==, id);
	cert_wait_end(pair.b);
}

/* --- waiting ------------------------------------------------------------------------------- */

/* How often this thread has slept so far. */
static long
sleeps(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

/* Requests and receives that the provider does not start yet: a thread that posts them need not sleep. */
static void
posts_do_not_wait(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct ri_qp_init init = cert_end_defaults(node);
	struct cert_end *end;
	uint32_t posts;
	long before;

	init.max_sq_wr = MIN(POSTS, node->attr.max_sq_wr);
	init.max_rq_wr = MIN(POSTS, node->attr.max_rq_wr);
	end = cert_end_new(node, &init);
	posts = MIN(init.max_sq_wr, init.max_rq_wr);
	before = sleeps();
	for (uint32_t id = 0; id < posts; id++) {
		cert_post_send(end, id, NULL, 0, 0);
		cert_post_recv(end, id, NULL, 0);
		(void)node->p->fast->cq_depth(end->uscq);
	}
	cert_note(cert, "%u posts of each kind, %ld sleeps", posts, sleeps() - before);
	/* The system may put the thread to sleep for reasons of its own, but not that often. */
	CERT_UINT(cert, sleeps() - before, <=, posts / 2);
}

/* --- spinning ------------------------------------------------------------------------------ */

/* It tells something about a processor, and does nothing: no request starts, no event comes. */
static void
futile(struct cert *cert)
{
	struct pair pair;
	struct ri_wc wc;

	pair_connected(&pair, cert);
	if (pair.near->p->fast->spin_futile == NULL) {
		cert_note(cert, "it is absent, which means: never");
		return;
	}
	for (unsigned i = 0; i < NOTHING; i++) {
		int told = pair.near->p->fast->spin_futile(pair.near->urnic);

		CERT_TRUE(cert, told == 0 || told == 1);
	}
	CERT_UINT(cert, pair.near->p->fast->poll_cq(pair.a->uscq, &wc, 1), ==, 0);
	cert_post_recv(pair.b, 1, &pair.sink, 1);
	cert_post_send(pair.a, 2, &pair.source, 1, 0);
	(void)pair.near->p->fast->spin_futile(pair.near->urnic);
	cert_wc_is(pair.b, true, 1, RI_WC_SUCCESS);
	cert_wc_is(pair.a, false, 2, RI_WC_SUCCESS);
}

static const struct cert_case cases[] = {
	{.id = "verbs.work.id.0001",
	 .title = "All 64 bits of a request and of a receive come back in their completions",
	 .rule = "[RI 3.1.2]",
	 .run = all_bits},
	{.id = "verbs.work.id.0002",
	 .title = "A request tells its success if it is signalled, a receive always",
	 .rule = "[RI 3.1.2]",
	 .run = signals},
	{.id = "verbs.work.effect.0001",
	 .title = "A bind has taken effect when the request behind it starts",
	 .rule = "[RI 3.2.3]",
	 .needs = "mw_narrow mw_key_owner:RI_KEY_CONSUMER max_ord max_ird",
	 .run = bind_before_send},
	{.id = "verbs.work.effect.0002",
	 .title = "An invalidation has taken effect when the request behind it starts",
	 .rule = "[RI 3.2.3]",
	 .needs = "mw_narrow mw_key_owner:RI_KEY_CONSUMER mw_narrow_unbind",
	 .run = invalidate_before_send},
	{.id = "verbs.work.effect.0003",
	 .title =
		 "A fast registration, and its end, have taken effect when the request behind them "
		 "starts",
	 .rule = "[RI 3.2.3] [RI 5.5.1]",
	 .needs = "fast_register reg_page_list max_ord max_ird",
	 .settles = "fast_register reg_page_list",
	 .run = register_before_send},
	{.id = "verbs.work.effect.0004",
	 .title =
		 "Local read is revocable by a fast registration exactly where the adapter says so",
	 .rule = "[RI 5.3.3] [RI 5.5.1]",
	 .needs = "fast_register reg_page_list",
	 .settles = "local_read_revocable",
	 .run = register_without_reading},
	{.id = "verbs.work.invalid.0001",
	 .title = "Invalidating a window that is invalid succeeds",
	 .rule = "[RI 5.2.2]",
	 .needs = "mw_narrow mw_key_owner:RI_KEY_CONSUMER mw_narrow_unbind",
	 .run = window_invalid_already},
	{.id = "verbs.work.invalid.0002",
	 .title = "Invalidating a region that is invalid succeeds",
	 .rule = "[RI 5.2.2]",
	 .needs = "fast_register reg_page_list",
	 .run = region_invalid_already},
	{.id = "verbs.work.error.0001",
	 .title = "Of several requests that are wrong one has an error of its own",
	 .rule = "[RI 3.2.6]",
	 .run = one_error},
	{.id = "verbs.work.error.0002",
	 .title = "Of several RDMA Reads that the peer refuses at most one has an error of its own",
	 .rule = "[RI 3.2.6]",
	 .needs = "max_ord max_ird",
	 .run = one_error_of_peer},
	{.id = "verbs.work.coalesce.0001",
	 .title = "Requests that may wait start with flush_sq or the first request that may not",
	 .rule = "[RI 2.3.2]",
	 .run = coalesced},
	{.id = "verbs.work.coalesce.0002",
	 .title = "Requests that wait are completed when their queue pair ends",
	 .rule = "[RI 2.3.2] [RI 8.2]",
	 .run = coalesced_and_flushed},
	{.id = "verbs.work.wait.0001",
	 .title = "A post does not put its thread to sleep",
	 .rule = "[RI 2.1.5]",
	 .needs = "!refuses:RI_REFUSES_UNCONNECTED_REQUESTS !kvp_in_process",
	 .run = posts_do_not_wait},
	{.id = "verbs.work.spin.0001",
	 .title = "The advice to a spinning thread costs no request and makes no upcall",
	 .rule = "[RI 2.3.2]",
	 .needs = "software",
	 .run = futile},
};

CERT_SET(verbs_work, cases);
