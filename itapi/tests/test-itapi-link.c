/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Regions without memory, and the requests that give them memory and take it away: it_lmr_create_unlinked,
 * it_lmr_link, it_lmr_unlink [IT 8.9]. On adapters without such regions every call must return that status.
 */
#include <unistd.h>

#include "it_privileged.h"

#define ABSOLUTE IT_ADDR_MODE_ABSOLUTE
#define LINKS    (PRIVILEGED_OPS | PRIVILEGED_LINKS | PRIVILEGED_PAGES)
#define RELATIVE IT_ADDR_MODE_RELATIVE

static it_lmr_handle_t
unlinked(struct end *end, size_t pieces)
{
	it_lmr_handle_t lmr = NULL;

	g_assert_cmpint(it_lmr_create_unlinked(end->pz, pieces, IT_LMR_FLAG_NON_SHAREABLE, 0, &lmr),
			==, IT_SUCCESS);
	return lmr;
}

static bool
is_linked(it_lmr_handle_t lmr)
{
	it_lmr_param_t params;

	g_assert_cmpint(it_lmr_query(lmr, IT_LMR_PARAM_LINKED, &params), ==, IT_SUCCESS);
	return params.linked;
}

/* Link with all rights and addresses from 0. */
static it_rmr_context_t
link_all(struct end *end, it_lmr_handle_t lmr, const struct pieces *p, it_length_t length)
{
	it_rmr_context_t context = 0;

	g_assert_cmpint(it_lmr_link(lmr, NULL, &p->iobl, length, RELATIVE, IT_PRIV_ALL, end->ep, 77,
				    IT_COMPLETION_FLAG, &context),
			==, IT_SUCCESS);
	return context;
}

static void
expect_link(struct end *end, it_dto_cookie_t cookie, it_dto_status_t status)
{
	it_event_t event = end_expect(end->request, IT_LMR_LINK_CMPL_EVENT);

	g_assert_cmpuint(event.dto_cmpl.cookie, ==, cookie);
	g_assert_cmpint(event.dto_cmpl.dto_status, ==, status);
	g_assert_cmpuint(event.dto_cmpl.transferred_length, ==, 0);
	g_assert_true(event.dto_cmpl.ep == end->ep);
}

static void
expect_broken(struct pair *pair)
{
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
}

/* A region without memory is created, and cannot be used before it is linked. */
static void
test_create_unlinked(struct pair *pair)
{
	struct end *end = &pair->active;
	it_lmr_handle_t lmr = (it_lmr_handle_t)end;
	it_lmr_param_t params;

	g_assert_cmpint(it_lmr_create_unlinked(NULL, 1, 0, 0, &lmr), ==, IT_ERR_INVALID_PZ);
	g_assert_null(lmr);
	g_assert_cmpint(it_lmr_create_unlinked(end->pz, 1, 0, 0, NULL), ==, IT_ERR_FAULT);
	if (!privileged_has(PRIVILEGED_LINKS)) {
		g_assert_cmpint(it_lmr_create_unlinked(end->pz, 1, 0, 0, &lmr), ==,
				IT_ERR_OP_NOT_SUPPORTED);
		return;
	}
	g_assert_cmpint(it_lmr_create_unlinked(end->pz, 0, 0, 0, &lmr), ==, IT_ERR_INVALID_IOBL);
	g_assert_cmpint(it_lmr_create_unlinked(end->pz, 1000000, 0, 0, &lmr), ==,
			IT_ERR_INVALID_IOBL);
	g_assert_cmpint(it_lmr_create_unlinked(end->pz, 1, IT_LMR_FLAG_SHARED, 3, &lmr), ==,
			IT_ERR_INVALID_FLAGS);
	g_assert_cmpint(it_lmr_create_unlinked(end->pz, 1, (it_lmr_flag_t)0x80, 0, &lmr), ==,
			IT_ERR_INVALID_FLAGS);
	lmr = unlinked(end, PIECES);
	g_assert_cmpint(it_lmr_query(lmr, IT_LMR_PARAM_ALL, &params), ==, IT_SUCCESS);
	g_assert_false(params.linked);
	g_assert_cmpuint(params.iobl_num_elts, ==, PIECES);
	g_assert_cmpuint(params.length, ==, 0);
	g_assert_true(params.pz == end->pz);
	g_assert_cmpint(it_lmr_free(lmr), ==, IT_SUCCESS);
	g_assert_cmpint(it_lmr_free(lmr), ==, IT_ERR_INVALID_LMR);
}

/* Regions without memory are created up to a limit of the administrator. */
static void
test_create_resources(struct pair *pair)
{
	it_lmr_handle_t lmr;

	(void)pair;
	if (!privileged_needs(LINKS))
		return;
	char *text = g_strdup_printf("[policy]\nprivileged-uids = %u\n[limits.client]\nmr = 1\n",
				     (unsigned)getuid());
	policy_set(text);
	g_free(text);
	struct end end RI_AT_END(end_close);
	g_assert_true(end_open(&end)); /* this registers its buffer */
	policy_for_all();
	g_assert_cmpint(it_lmr_create_unlinked(end.pz, 1, 0, 0, &lmr), ==, IT_ERR_RESOURCES);
}

/* A link holds for the requests posted behind it; an unlink ends the peer's rights. */
static void
test_life(struct pair *pair)
{
	struct end *a = &pair->active;
	struct end *b = &pair->passive;
	it_lmr_triplet_t segment = end_segment(b, 0, 3000);
	unsigned int flags = IT_COMPLETION_FLAG;
	it_rmr_context_t context, later;
	it_lmr_handle_t lmr;
	it_lmr_param_t params;

	if (!privileged_needs(LINKS))
		return;
	struct pieces p RI_AT_END(pieces_free);
	pieces_make(&p);
	p.iobl.fbo = 700;
	if (a->info->unlink_fence_support)
		flags |= IT_UNLINK_FENCE_FLAG;
	privileged_establish(pair);
	lmr = unlinked(a, PIECES);
	pieces_fill(&p, 0, 9000, 5);
	context = link_all(a, lmr, &p, 9000);
	/* Posted behind the link without waiting for it. */
	it_lmr_triplet_t source = {.lmr = lmr, .length = 9000};
	g_assert_cmpint(it_post_rdma_write(a->ep, &source, 1, 2, IT_COMPLETION_FLAG,
					   it_make_rdma_addr_absolute(b->buffer), b->context),
			==, IT_SUCCESS);
	expect_link(a, 77, IT_DTO_SUCCESS);
	end_expect(a->request, IT_DTO_RDMA_WRITE_CMPL_EVENT);
	pattern_check(b->buffer, 9000, 5);
	g_assert_cmpint(it_lmr_query(lmr, IT_LMR_PARAM_ALL, &params), ==, IT_SUCCESS);
	g_assert_true(params.linked);
	g_assert_cmphex(params.rmr_context, ==, context);
	g_assert_cmpuint(params.length, ==, 9000);
	g_assert_cmpint(params.addr_mode, ==, RELATIVE);
	g_assert_cmpint(params.privs, ==, IT_PRIV_ALL);
	/* The peer can access it. */
	pattern_fill(b->buffer, 3000, 8);
	g_assert_cmpint(
		it_post_rdma_write(b->ep, &segment, 1, 3, IT_COMPLETION_FLAG, 6000, context), ==,
		IT_SUCCESS);
	end_expect(b->request, IT_DTO_RDMA_WRITE_CMPL_EVENT);
	pieces_check(&p, 6000, 3000, 8);
	g_assert_cmpint(it_lmr_unlink(lmr, a->ep, 5, (it_dto_flags_t)flags), ==, IT_SUCCESS);
	expect_link(a, 5, IT_DTO_SUCCESS);
	g_assert_false(is_linked(lmr));
	/* Unlinking an unlinked region succeeds; other memory gets another key. */
	g_assert_cmpint(it_lmr_unlink(lmr, a->ep, 6, IT_COMPLETION_FLAG), ==, IT_SUCCESS);
	expect_link(a, 6, IT_DTO_SUCCESS);
	p.iobl.fbo = 0;
	later = link_all(a, lmr, &p, 100);
	g_assert_cmphex(later, !=, context);
	expect_link(a, 77, IT_DTO_SUCCESS);
	/* The old key is invalid. */
	g_assert_cmpint(it_post_rdma_write(b->ep, &segment, 1, 7, IT_COMPLETION_FLAG, 0, context),
			==, IT_SUCCESS);
	expect_broken(pair);
	end_next(b->request);
	g_assert_cmpint(it_lmr_free(lmr), ==, IT_SUCCESS);
}

/* A region without memory cannot hold data. */
static void
test_unlinked_is_nowhere(struct pair *pair)
{
	struct end *a = &pair->active;
	it_lmr_triplet_t segment = {.length = 8};

	if (!privileged_needs(LINKS))
		return;
	privileged_establish(pair);
	segment.lmr = unlinked(a, 1);
	g_assert_cmpint(it_post_send(a->ep, &segment, 1, 1, IT_COMPLETION_FLAG), ==, IT_SUCCESS);
	it_event_t event = end_expect(a->request, IT_DTO_SEND_CMPL_EVENT);
	g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_ERR_LOCAL_PROTECTION);
	expect_broken(pair);
	g_assert_cmpint(it_lmr_free(segment.lmr), ==, IT_SUCCESS);
}

/* A linked region cannot be linked again: the completion says so and the connection ends. */
static void
test_linked_twice(struct pair *pair)
{
	struct end *a = &pair->active;
	it_lmr_handle_t lmr;

	if (!privileged_needs(LINKS))
		return;
	struct pieces p RI_AT_END(pieces_free);
	pieces_make(&p);
	privileged_establish(pair);
	lmr = unlinked(a, PIECES);
	(void)link_all(a, lmr, &p, 100);
	expect_link(a, 77, IT_DTO_SUCCESS);
	(void)link_all(a, lmr, &p, 100);
	expect_link(a, 77, IT_DTO_ERR_LOCAL_MM_OPERATION);
	expect_broken(pair);
	/* After the end, links are flushed. */
	(void)link_all(a, lmr, &p, 100);
	expect_link(a, 77, IT_DTO_ERR_FLUSHED);
	g_assert_cmpint(it_lmr_unlink(lmr, a->ep, 4, 0), ==, IT_SUCCESS);
	expect_link(a, 4, IT_DTO_ERR_FLUSHED);
	g_assert_cmpint(it_lmr_free(lmr), ==, IT_SUCCESS);
}

/* A region of another zone than the endpoint's is refused like an unknown one. */
static void
test_other_zone(struct pair *pair)
{
	struct end *a = &pair->active;
	it_pz_handle_t own = a->pz, other;
	it_lmr_handle_t lmr;

	if (!privileged_needs(LINKS))
		return;
	struct pieces p RI_AT_END(pieces_free);
	pieces_make(&p);
	privileged_establish(pair);
	g_assert_cmpint(it_pz_create(a->ia, &other), ==, IT_SUCCESS);
	a->pz = other;
	lmr = unlinked(a, PIECES);
	a->pz = own;
	(void)link_all(a, lmr, &p, 100);
	expect_link(a, 77, IT_DTO_ERR_LOCAL_MM_OPERATION);
	expect_broken(pair);
	g_assert_cmpint(it_lmr_free(lmr), ==, IT_SUCCESS);
	g_assert_cmpint(it_pz_free(other), ==, IT_SUCCESS);
}

/* A registered region outside every sharing group can be unlinked and linked to other memory. */
static void
test_registered(struct pair *pair)
{
	struct end *a = &pair->active;
	struct end *b = &pair->passive;
	it_lmr_triplet_t segment = end_segment(b, 0, 64);
	it_rmr_context_t context;
	it_lmr_handle_t lmr;

	if (!privileged_needs(LINKS))
		return;
	struct pieces p RI_AT_END(pieces_free);
	pieces_make(&p);
	privileged_establish(pair);
	g_assert_cmpint(it_lmr_create21(a->pz, a->buffer, NULL, 64, ABSOLUTE, IT_PRIV_ALL,
					IT_LMR_FLAG_NON_SHAREABLE, 0, &lmr, &context),
			==, IT_SUCCESS);
	g_assert_true(is_linked(lmr));
	g_assert_cmpint(
		it_lmr_modify(lmr, IT_LMR_PARAM_MEM_PRIV, &(it_lmr_param_t){.privs = IT_PRIV_ALL}),
		==, end_has(a, NEEDS_LMR_MODIFY) ? IT_SUCCESS : IT_ERR_OP_NOT_SUPPORTED);
	g_assert_cmpint(it_lmr_unlink(lmr, a->ep, 1, IT_COMPLETION_FLAG), ==, IT_SUCCESS);
	expect_link(a, 1, IT_DTO_SUCCESS);
	g_assert_false(is_linked(lmr));
	p.iobl.num_elts = 1;
	context = link_all(a, lmr, &p, 64);
	expect_link(a, 77, IT_DTO_SUCCESS);
	pattern_fill(b->buffer, 64, 2);
	g_assert_cmpint(it_post_rdma_write(b->ep, &segment, 1, 3, IT_COMPLETION_FLAG, 0, context),
			==, IT_SUCCESS);
	end_expect(b->request, IT_DTO_RDMA_WRITE_CMPL_EVENT);
	pieces_check(&p, 0, 64, 2);
	g_assert_cmpint(
		it_lmr_modify(lmr, IT_LMR_PARAM_MEM_PRIV, &(it_lmr_param_t){.privs = IT_PRIV_ALL}),
		==, IT_ERR_OP_NOT_SUPPORTED); /* a list is not one range */
	pair_disconnect(pair);
	g_assert_cmpint(it_lmr_free(lmr), ==, IT_SUCCESS);
}

/* A window on a region of several pieces spans them, and keeps the region from being unlinked. */
static void
test_window(struct pair *pair)
{
	struct end *a = &pair->active;
	struct end *b = &pair->passive;
	it_lmr_triplet_t segment = end_segment(b, 0, 9000);
	it_rmr_context_t context;
	it_lmr_handle_t lmr;
	it_rmr_handle_t rmr;
	it_lmr_param_t params;

	if (!privileged_needs(LINKS))
		return;
	struct pieces p RI_AT_END(pieces_free);
	pieces_make(&p);
	privileged_establish(pair);
	lmr = unlinked(a, PIECES);
	g_assert_cmpint(it_lmr_link(lmr, p.range, &p.iobl, 5 * p.size, ABSOLUTE, IT_PRIV_LOCAL,
				    a->ep, 1, 0, &context),
			==, IT_SUCCESS);
	g_assert_cmpint(it_rmr_create20(a->pz, IT_RMR_TYPE_DEFAULT, &rmr), ==, IT_SUCCESS);
	g_assert_cmpint(it_rmr_link(rmr, lmr, p.range + 500, 9000, ABSOLUTE, IT_PRIV_REMOTE_WRITE,
				    a->ep, 2, IT_COMPLETION_FLAG, &context),
			==, IT_SUCCESS);
	end_expect(a->request, IT_RMR_LINK_CMPL_EVENT);
	g_assert_cmpint(it_lmr_unlink(lmr, a->ep, 3, 0), ==, IT_ERR_LMR_BUSY);
	g_assert_cmpint(it_lmr_free(lmr), ==, IT_ERR_LMR_BUSY);
	pattern_fill(b->buffer, 9000, 4);
	g_assert_cmpint(it_post_rdma_write(b->ep, &segment, 1, 4, IT_COMPLETION_FLAG,
					   it_make_rdma_addr_absolute(p.range + 500), context),
			==, IT_SUCCESS);
	end_expect(b->request, IT_DTO_RDMA_WRITE_CMPL_EVENT);
	pieces_check(&p, 500, 9000, 4);
	g_assert_cmpint(it_rmr_free(rmr), ==, IT_SUCCESS);
	g_assert_cmpint(it_lmr_unlink(lmr, a->ep, 5, IT_COMPLETION_FLAG), ==, IT_SUCCESS);
	expect_link(a, 5, IT_DTO_SUCCESS);
	/* A region that was linked to a list has no range that could be registered again. */
	params.privs = IT_PRIV_LOCAL;
	g_assert_cmpint(it_lmr_modify(lmr, IT_LMR_PARAM_MEM_PRIV, &params), ==,
			IT_ERR_OP_NOT_SUPPORTED);
	pair_disconnect(pair);
	g_assert_cmpint(it_lmr_free(lmr), ==, IT_SUCCESS);
}

/* The peer invalidates the region with its message; the region can be linked again. */
static void
test_remote_unlink(struct pair *pair)
{
	struct end *a = &pair->active;
	struct end *b = &pair->passive;
	it_lmr_triplet_t here = end_segment(a, 0, 64);
	it_lmr_triplet_t there = end_segment(b, 0, 64);
	it_rmr_context_t context;
	it_lmr_handle_t lmr;
	it_event_t event;

	if (!privileged_needs(LINKS))
		return;
	struct pieces p RI_AT_END(pieces_free);
	pieces_make(&p);
	privileged_establish(pair);
	lmr = unlinked(a, PIECES);
	for (unsigned round = 0; round < 3; round++) {
		context = link_all(a, lmr, &p, 100);
		expect_link(a, 77, IT_DTO_SUCCESS);
		g_assert_true(is_linked(lmr));
		g_assert_cmpint(it_post_recv((it_handle_t)a->ep, &here, 1, 1, 0), ==, IT_SUCCESS);
		g_assert_cmpint(
			it_post_send_and_unlink(b->ep, &there, 1, 2, IT_COMPLETION_FLAG, context),
			==, IT_SUCCESS);
		event = end_expect(a->recv, IT_DTO_RC_RECV_CMPL_EVENT);
		g_assert_true(event.dto_cmpl.unlinked_mr_handle == (it_handle_t)lmr);
		end_expect(b->request, IT_DTO_SEND_CMPL_EVENT);
		g_assert_false(is_linked(lmr));
	}
	pair_disconnect(pair);
	g_assert_cmpint(it_lmr_free(lmr), ==, IT_SUCCESS);
}

/* --- what is refused --------------------------------------------------------------------- */

/* The arguments of the link under test; each test changes one of them. */
struct attempt {
	it_lmr_handle_t lmr;
	const void *addr;
	const it_iobl_t *iobl;
	it_length_t length;
	it_addr_mode_t mode;
	it_mem_priv_t privs;
	it_ep_handle_t ep;
	unsigned int flags;
};

static it_status_t
attempt(const struct attempt *t)
{
	it_rmr_context_t context;

	return it_lmr_link(t->lmr, t->addr, t->iobl, t->length, t->mode, t->privs, t->ep, 1,
			   (it_dto_flags_t)t->flags, &context);
}

#define REFUSED(member, value, status)                            \
	do {                                                      \
		struct attempt changed = good;                    \
		changed.member = (value);                         \
		g_assert_cmpint(attempt(&changed), ==, (status)); \
	} while (0)

/* Links of regions are refused where the adapter does not claim them. */
static void
test_not_supported(struct pair *pair)
{
	struct end *a = &pair->active;
	it_iobl_t iobl = {0};
	it_rmr_context_t context;

	g_assert_cmpint(it_lmr_link(NULL, NULL, &iobl, 1, 0, 0, a->ep, 0, 0, &context), ==,
			IT_ERR_INVALID_LMR);
	g_assert_cmpint(it_lmr_link(a->lmr, NULL, &iobl, 1, 0, 0, NULL, 0, 0, &context), ==,
			IT_ERR_INVALID_EP);
	g_assert_cmpint(it_lmr_link(a->lmr, NULL, NULL, 1, 0, 0, a->ep, 0, 0, &context), ==,
			IT_ERR_FAULT);
	g_assert_cmpint(it_lmr_link(a->lmr, NULL, &iobl, 1, 0, 0, a->ep, 0, 0, NULL), ==,
			IT_ERR_FAULT);
	g_assert_cmpint(it_lmr_unlink(NULL, a->ep, 0, 0), ==, IT_ERR_INVALID_LMR);
	g_assert_cmpint(it_lmr_unlink(a->lmr, NULL, 0, 0), ==, IT_ERR_INVALID_EP);
	/* Of another adapter. */
	g_assert_cmpint(it_lmr_unlink(a->lmr, pair->passive.ep, 0, 0), ==, IT_ERR_INVALID_EP);
	/* A region in a sharing group; and, on adapters without links, every region. */
	g_assert_cmpint(it_lmr_link(a->lmr, NULL, &iobl, 1, 0, 0, a->ep, 0, 0, &context), ==,
			IT_ERR_OP_NOT_SUPPORTED);
	g_assert_cmpint(it_lmr_unlink(a->lmr, a->ep, 0, 0), ==, IT_ERR_OP_NOT_SUPPORTED);
	if (!privileged_has(PRIVILEGED_DIRECT))
		return;
	g_assert_cmpint(it_lmr_link(a->info->direct_lmr_handle, NULL, &iobl, 1, 0, 0, a->ep, 0, 0,
				    &context),
			==, IT_ERR_OP_NOT_SUPPORTED);
	g_assert_cmpint(it_lmr_unlink(a->info->direct_lmr_handle, a->ep, 0, 0), ==,
			IT_ERR_OP_NOT_SUPPORTED);
}

/* A link of a region with wrong arguments is refused or completes with an error. */
static void
test_link_refused(struct pair *pair)
{
	struct end *a = &pair->active;
	it_ep_handle_t plain;
	it_iobl_t wrong;

	if (!privileged_needs(LINKS))
		return;
	struct pieces p RI_AT_END(pieces_free);
	pieces_make(&p);
	privileged_establish(pair);
	a->attr.priv_ops_enable = IT_FALSE;
	g_assert_cmpint(it_ep_rc_create(a->pz, a->request, a->recv, a->cm_msg, IT_EP_NO_FLAG,
					&a->attr, &plain),
			==, IT_SUCCESS);
	struct attempt good = {.lmr = unlinked(a, PIECES),
			       .addr = p.range,
			       .iobl = &p.iobl,
			       .length = 100,
			       .mode = ABSOLUTE,
			       .privs = IT_PRIV_LOCAL,
			       .ep = a->ep};
	wrong = p.iobl;
	wrong.fbo = 5;
	REFUSED(iobl, &wrong, IT_ERR_INVALID_IOBL); /* does not match the address */
	wrong.fbo = 0;
	wrong.num_elts = PIECES + 1;
	REFUSED(iobl, &wrong, IT_ERR_INVALID_IOBL); /* more than the region can hold */
	REFUSED(length, 0, IT_ERR_INVALID_LENGTH);
	REFUSED(length, PIECES * p.size + 1, IT_ERR_INVALID_LENGTH);
	REFUSED(mode, (it_addr_mode_t)9, IT_ERR_INVALID_ADDR_MODE);
	REFUSED(privs, IT_PRIV_NONE, IT_ERR_INVALID_PRIVS);
	REFUSED(privs, IT_PRIV_REMOTE_READ, IT_ERR_INVALID_PRIVS);
	REFUSED(ep, plain, IT_ERR_PRIV_OPS_UNAVAILABLE);
	REFUSED(flags, IT_UNLINK_FENCE_FLAG, IT_ERR_INVALID_DTO_FLAGS);
	REFUSED(flags, IT_SOLICITED_WAIT_FLAG, IT_ERR_INVALID_DTO_FLAGS);
	g_assert_cmpint(it_lmr_unlink(good.lmr, plain, 0, 0), ==, IT_ERR_PRIV_OPS_UNAVAILABLE);
	g_assert_cmpint(it_lmr_unlink(good.lmr, a->ep, 0, IT_SOLICITED_WAIT_FLAG), ==,
			IT_ERR_INVALID_DTO_FLAGS);
	g_assert_cmpint(it_ep_free(plain), ==, IT_SUCCESS);
	pair_disconnect(pair);
	end_reset(a);
	g_assert_cmpint(attempt(&good), ==, IT_ERR_INVALID_EP_STATE);
	g_assert_cmpint(it_lmr_unlink(good.lmr, a->ep, 0, 0), ==, IT_ERR_INVALID_EP_STATE);
	g_assert_cmpint(it_lmr_free(good.lmr), ==, IT_SUCCESS);
}

/* A refused post does not change the region. */
static void
test_too_many(struct pair *pair)
{
	struct end *a = &pair->active;
	it_rmr_context_t context = 0;
	it_lmr_handle_t lmr;
	it_lmr_param_t before, after;
	unsigned posted = 0;

	if (!privileged_needs(LINKS))
		return;
	struct pieces p RI_AT_END(pieces_free);
	pieces_make(&p);
	privileged_establish(pair);
	lmr = unlinked(a, PIECES);
	while (it_lmr_unlink(lmr, a->ep, 9, IT_COMPLETION_FLAG) == IT_SUCCESS)
		posted++;
	g_assert_cmpuint(posted, >=, REQUEST_SLOTS);
	g_assert_cmpint(it_lmr_unlink(lmr, a->ep, 9, 0), ==, IT_ERR_TOO_MANY_POSTS);
	g_assert_cmpint(it_lmr_query(lmr, IT_LMR_PARAM_ALL, &before), ==, IT_SUCCESS);
	g_assert_cmpint(
		it_lmr_link(lmr, NULL, &p.iobl, 64, RELATIVE, IT_PRIV_ALL, a->ep, 1, 0, &context),
		==, IT_ERR_TOO_MANY_POSTS);
	g_assert_cmpint(it_lmr_query(lmr, IT_LMR_PARAM_ALL, &after), ==, IT_SUCCESS);
	g_assert_cmphex(after.rmr_context, ==, before.rmr_context);
	g_assert_cmpuint(after.length, ==, before.length);
	for (unsigned i = 0; i < posted; i++)
		expect_link(a, 9, IT_DTO_SUCCESS);
	pair_disconnect(pair);
	g_assert_cmpint(it_lmr_free(lmr), ==, IT_SUCCESS);
}

static void
add(void)
{
	policy_for_all();
	pair_add("link/create-unlinked", test_create_unlinked);
	pair_add("link/create-resources", test_create_resources);
	pair_add_for(NEEDS_RELATIVE, "link/life", test_life);
	pair_add("link/unlinked-is-nowhere", test_unlinked_is_nowhere);
	pair_add_for(NEEDS_RELATIVE, "link/linked-twice", test_linked_twice);
	pair_add_for(NEEDS_RELATIVE, "link/other-zone", test_other_zone);
	pair_add_for(NEEDS_RELATIVE, "link/registered", test_registered);
	pair_add_for(NEEDS_WINDOWS, "link/window", test_window);
	pair_add_for(NEEDS_RELATIVE | NEEDS_REMOTE_UNLINK, "link/remote-unlink",
		     test_remote_unlink);
	pair_add("link/not-supported", test_not_supported);
	pair_add_for(NEEDS_REUSE, "link/link-refused", test_link_refused);
	pair_add_for(NEEDS_RELATIVE, "link/too-many", test_too_many);
}

int
main(int argc, char **argv)
{
	int status = pair_main(argc, argv, add);

	policy_set(NULL);
	return status;
}
