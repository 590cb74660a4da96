/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Windows on a real adapter: use, and unlinking by this side and by the peer [IT 8.5], [IT 8.6], [IT 15.6]. The
 * passive end has the memory, the active end uses it.
 */

#include <string.h>

#include "it_window.h"

static void
write_to(const struct pair *pair, it_rdma_addr_t addr, it_rmr_context_t context)
{
	it_lmr_triplet_t out = end_segment(&pair->active, 0, 100);

	g_assert_cmpint(it_post_rdma_write(pair->active.ep, &out, 1, 5, SIGNALED, addr, context),
			==, IT_SUCCESS);
}

/* A Write that the peer permits: it is in place. The completion of the Write itself does not say that. */
static void
write_well(const struct pair *pair, it_rdma_addr_t addr, it_rmr_context_t context)
{
	const struct end *a = &pair->active;

	write_to(pair, addr, context);
	end_done(a->request, IT_DTO_RDMA_WRITE_CMPL_EVENT, 5, IT_DTO_SUCCESS);
	g_assert_cmpint(it_post_rdma_read(a->ep, NULL, 0, 6, SIGNALED, 0, 0), ==, IT_SUCCESS);
	end_done(a->request, IT_DTO_RDMA_READ_CMPL_EVENT, 6, IT_DTO_SUCCESS);
}

/* A forbidden access: both ends break, and the window's octets do not change. */
static void
expect_refused(struct pair *pair, it_rdma_addr_t addr, it_rmr_context_t context)
{
	struct end *a = &pair->active, *b = &pair->passive;

	memset(a->buffer, 0x11, 200);
	memset(b->buffer + WINDOW, 0xee, WINDOW);
	write_to(pair, addr, context);
	end_expect(a->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	end_expect(b->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	end_next(
		a->request); /* IT_SUCCESS where the transport does not report it to the requester, else the status */
	for (size_t i = 0; i < WINDOW; i++)
		g_assert_cmpuint(b->buffer[WINDOW + i], ==, 0xee);
}

static void
reset_both(struct pair *pair)
{
	end_reset(&pair->active);
	end_reset(&pair->passive);
}

/* --- use ----------------------------------------------------------------------------------- */

/* The rights and range of the window count, not those of its region. Absolute and relative addresses. */
static void
test_access(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_rmr_handle_t rmr = window_make(b, IT_RMR_TYPE_DEFAULT);
	it_lmr_triplet_t in = end_segment(a, 1000, 50);
	it_rmr_param_t params;

	pair_establish(pair);
	for (int relative = 0; relative < 2; relative++) {
		it_rmr_context_t context =
			window_link(b, rmr, IT_PRIV_REMOTE,
				    relative ? IT_ADDR_MODE_RELATIVE : IT_ADDR_MODE_ABSOLUTE);
		it_rdma_addr_t base = relative ? it_make_rdma_addr_relative(0)
					       : it_make_rdma_addr_absolute(b->buffer + WINDOW);

		g_assert_cmpint(it_rmr_query(rmr, IT_RMR_PARAM_ALL, &params), ==, IT_SUCCESS);
		g_assert_cmpint(params.bound, ==, IT_TRUE);
		g_assert_true(params.lmr == b->lmr && params.addr == b->buffer + WINDOW);
		g_assert_cmpuint(params.length, ==, WINDOW);
		g_assert_cmpuint(params.rmr_context, ==, context);
		memset(a->buffer, 0x40 + relative, 100);
		write_to(pair, base + WINDOW - 100, context);
		end_done(a->request, IT_DTO_RDMA_WRITE_CMPL_EVENT, 5, IT_DTO_SUCCESS);
		g_assert_cmpint(
			it_post_rdma_read(a->ep, &in, 1, 6, SIGNALED, base + WINDOW - 50, context),
			==, IT_SUCCESS);
		end_done(a->request, IT_DTO_RDMA_READ_CMPL_EVENT, 6, IT_DTO_SUCCESS);
		g_assert_cmpuint(a->buffer[1000], ==, 0x40 + relative);
		g_assert_cmpuint(b->buffer[2 * WINDOW - 1], ==, 0x40 + relative);
		window_unlink(b, rmr, 0);
		g_assert_false(window_is_linked(rmr));
	}
	pair_disconnect(pair);
	g_assert_cmpint(it_rmr_free(rmr), ==, IT_SUCCESS);
}

/* Within the region of the window, but not in the window. */
static void
test_out_of_range(struct pair *pair)
{
	struct end *b = &pair->passive;
	it_rmr_handle_t rmr = window_make(b, IT_RMR_TYPE_DEFAULT);
	it_rdma_addr_t addr = it_make_rdma_addr_absolute(b->buffer + WINDOW);

	for (int i = 0; i < 2; i++) {
		it_rmr_context_t context;

		pair_establish(pair);
		context = window_link(b, rmr, IT_PRIV_REMOTE_WRITE, IT_ADDR_MODE_ABSOLUTE);
		expect_refused(pair, i == 0 ? addr + WINDOW - 99 : addr - 1, context);
		reset_both(pair);
	}
	g_assert_cmpint(it_rmr_free(rmr), ==, IT_SUCCESS);
}

/* Without the right, after the unlink, with the key of an earlier link. */
static void
test_refused(struct pair *pair)
{
	struct end *b = &pair->passive;
	it_rmr_handle_t rmr = window_make(b, IT_RMR_TYPE_DEFAULT);
	it_rdma_addr_t addr = it_make_rdma_addr_absolute(b->buffer + WINDOW);

	for (int i = 0; i < 3; i++) {
		it_rmr_context_t old;

		pair_establish(pair);
		old = window_link(b, rmr, i == 0 ? IT_PRIV_REMOTE_READ : IT_PRIV_REMOTE_WRITE,
				  IT_ADDR_MODE_ABSOLUTE);
		if (i >= 1)
			window_unlink(b, rmr, 0);
		if (i == 2)
			g_assert_cmpuint(
				window_link(b, rmr, IT_PRIV_REMOTE_WRITE, IT_ADDR_MODE_ABSOLUTE),
				!=, old);
		expect_refused(pair, addr, old);
		reset_both(pair);
	}
	g_assert_cmpint(it_rmr_free(rmr), ==, IT_SUCCESS);
}

/* Freeing an RMR ends its link; until then the region and the endpoint are in use. */
static void
test_busy(struct pair *pair)
{
	struct end *b = &pair->passive;
	it_rmr_handle_t rmr = window_make(b, IT_RMR_TYPE_NARROW);
	it_rdma_addr_t addr = it_make_rdma_addr_absolute(b->buffer + WINDOW);
	it_lmr_param_t params = {.privs = IT_PRIV_LOCAL};
	it_rmr_context_t context;

	pair_establish(pair);
	context = window_link(b, rmr, IT_PRIV_REMOTE, IT_ADDR_MODE_ABSOLUTE);
	g_assert_cmpint(it_lmr_free(b->lmr), ==, IT_ERR_LMR_BUSY);
	g_assert_cmpint(it_lmr_modify(b->lmr, IT_LMR_PARAM_MEM_PRIV, &params), ==,
			end_has(b, NEEDS_LMR_MODIFY) ? IT_ERR_LMR_BUSY : IT_ERR_OP_NOT_SUPPORTED);
	g_assert_cmpint(it_ep_free(b->ep), ==, IT_ERR_EP_BUSY);
	g_assert_cmpint(it_rmr_free(rmr), ==, IT_SUCCESS);
	expect_refused(pair, addr, context);
	reset_both(pair);
}

/* after a reset the next peer cannot use the link that was open before, under the same handle. */
static void
test_reset(struct pair *pair)
{
	struct end *b = &pair->passive;
	it_rmr_handle_t rmr = window_make(b, IT_RMR_TYPE_NARROW);
	it_rdma_addr_t addr = it_make_rdma_addr_absolute(b->buffer + WINDOW);
	it_rmr_context_t context;

	pair_establish(pair);
	context = window_link(b, rmr, IT_PRIV_REMOTE, IT_ADDR_MODE_ABSOLUTE);
	pair_disconnect(pair);
	reset_both(pair);
	g_assert_false(window_is_linked(rmr));
	pair_establish(pair);
	expect_refused(pair, addr, context);
	reset_both(pair);
	pair_establish(pair);
	context = window_link(b, rmr, IT_PRIV_REMOTE, IT_ADDR_MODE_ABSOLUTE);
	write_well(pair, addr, context);
	pair_disconnect(pair);
	g_assert_cmpint(it_rmr_free(rmr), ==, IT_SUCCESS);
}

/* An unlink with the fence flag waits for the Reads before it [IT 7.2]. */
static void
test_unlink_fence(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_rmr_handle_t rmr = window_make(a, IT_RMR_TYPE_DEFAULT);
	it_lmr_triplet_t in = end_segment(a, 0, 100000);

	pair_establish(pair);
	window_link(a, rmr, IT_PRIV_REMOTE, IT_ADDR_MODE_ABSOLUTE);
	memset(b->buffer, 0x5c, 100000);
	g_assert_cmpint(it_post_rdma_read(a->ep, &in, 1, 6, SIGNALED,
					  it_make_rdma_addr_absolute(b->buffer), b->context),
			==, IT_SUCCESS);
	g_assert_cmpint(it_rmr_unlink(rmr, a->ep, 7, SIGNALED | IT_UNLINK_FENCE_FLAG), ==,
			a->info->unlink_fence_support ? IT_SUCCESS : IT_ERR_INVALID_DTO_FLAGS);
	end_done(a->request, IT_DTO_RDMA_READ_CMPL_EVENT, 6, IT_DTO_SUCCESS);
	if (a->info->unlink_fence_support)
		end_done(a->request, IT_RMR_LINK_CMPL_EVENT, 7, IT_DTO_SUCCESS);
	g_assert_cmpuint(a->buffer[99999], ==, 0x5c);
	pair_disconnect(pair);
	g_assert_cmpint(it_rmr_free(rmr), ==, IT_SUCCESS);
}

/* Linking a linked narrow window is an error and ends the connection. */
static void
test_link_twice(struct pair *pair)
{
	struct end *b = &pair->passive;
	it_rmr_handle_t rmr = window_make(b, IT_RMR_TYPE_NARROW);
	it_rmr_context_t context;

	pair_establish(pair);
	window_link(b, rmr, IT_PRIV_REMOTE, IT_ADDR_MODE_ABSOLUTE);
	g_assert_cmpint(it_rmr_link(rmr, b->lmr, b->buffer, 64, IT_ADDR_MODE_ABSOLUTE,
				    IT_PRIV_REMOTE, b->ep, 9, 0, &context),
			==, IT_SUCCESS);
	end_done(b->request, IT_RMR_LINK_CMPL_EVENT, 9, IT_RMR_OPERATION_FAILED);
	end_expect(b->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	end_next(pair->active.cm_msg);
	g_assert_cmpint(it_rmr_free(rmr), ==, IT_SUCCESS);
	reset_both(pair);
}

/* A wide window may be linked again; then only the new key is valid, for every endpoint of its zone. */
static void
test_wide(struct pair *pair)
{
	struct end *b = &pair->passive;
	it_rdma_addr_t addr = it_make_rdma_addr_absolute(b->buffer + WINDOW);
	it_rmr_context_t first, second;
	it_rmr_handle_t rmr = window_make(b, IT_RMR_TYPE_WIDE);
	it_rmr_param_t params;

	pair_establish(pair);
	first = window_link(b, rmr, IT_PRIV_REMOTE, IT_ADDR_MODE_ABSOLUTE);
	second = window_link(b, rmr, IT_PRIV_REMOTE, IT_ADDR_MODE_ABSOLUTE);
	g_assert_cmpuint(first, !=, second);
	g_assert_cmpint(it_rmr_query(rmr, IT_RMR_PARAM_ALL, &params), ==, IT_SUCCESS);
	g_assert_cmpuint(params.rmr_context, ==, second);
	write_well(pair, addr, second);
	if (b->info->wide_rmr_unlink_support)
		window_unlink(b, rmr, 0);
	expect_refused(pair, addr, b->info->wide_rmr_unlink_support ? second : first);
	reset_both(pair);
	g_assert_cmpint(it_rmr_free(rmr), ==, IT_SUCCESS);
}

/* --- from afar ----------------------------------------------------------------------------- */

static void
post_receive(const struct end *end, it_dto_cookie_t cookie)
{
	it_lmr_triplet_t in = end_segment(end, 0, 1000);

	g_assert_cmpint(it_post_recv((it_handle_t)end->ep, &in, 1, cookie, 0), ==, IT_SUCCESS);
}

/* an unlink completes as a link does; the receive names the key that the peer invalidated. */
static void
test_send_and_unlink(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_rmr_handle_t rmr = window_make(b, IT_RMR_TYPE_NARROW);
	it_rdma_addr_t addr = it_make_rdma_addr_absolute(b->buffer + WINDOW);
	it_lmr_triplet_t out = end_segment(a, 0, 10);
	it_event_t event;

	g_assert_cmpint(it_post_send_and_unlink(a->ep, &out, 1, 3, SIGNALED, 1), ==,
			IT_ERR_INVALID_EP_STATE);
	pair_establish(pair);
	for (int i = 0; i < 300; i++) { /* more often than there are keys */
		it_rmr_context_t context =
			window_link(b, rmr, IT_PRIV_REMOTE_WRITE, IT_ADDR_MODE_ABSOLUTE);

		write_to(pair, addr, context);
		end_done(a->request, IT_DTO_RDMA_WRITE_CMPL_EVENT, 5, IT_DTO_SUCCESS);
		post_receive(b, 4);
		g_assert_cmpint(it_post_send_and_unlink(a->ep, &out, 1, 3, SIGNALED, context), ==,
				IT_SUCCESS);
		event = end_done(b->recv, IT_DTO_RC_RECV_CMPL_EVENT, 4, IT_DTO_SUCCESS);
		g_assert_true(event.dto_cmpl.unlinked_mr_handle == (it_handle_t)rmr);
		g_assert_cmpuint(event.dto_cmpl.transferred_length, ==, 10);
		end_done(a->request, IT_DTO_SEND_CMPL_EVENT, 3, IT_DTO_SUCCESS);
		g_assert_false(window_is_linked(rmr));
	}
	pair_disconnect(pair);
	g_assert_cmpint(it_rmr_free(rmr), ==, IT_SUCCESS);
}

/* The peer can also invalidate a region outside every sharing group, once. */
static void
test_send_and_unlink_lmr(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_lmr_triplet_t out = end_segment(a, 0, 10);
	it_rmr_context_t context = 0;
	it_lmr_param_t params = {0};
	it_lmr_handle_t lmr;
	it_event_t event;

	g_assert_cmpint(it_lmr_create21(b->pz, b->buffer + WINDOW, NULL, WINDOW,
					IT_ADDR_MODE_ABSOLUTE, IT_PRIV_ALL,
					IT_LMR_FLAG_NON_SHAREABLE, 0, &lmr, &context),
			==, IT_SUCCESS);
	pair_establish(pair);
	post_receive(b, 4);
	g_assert_cmpint(it_post_send_and_unlink(a->ep, &out, 1, 3, SIGNALED, context), ==,
			IT_SUCCESS);
	event = end_done(b->recv, IT_DTO_RC_RECV_CMPL_EVENT, 4, IT_DTO_SUCCESS);
	g_assert_true(event.dto_cmpl.unlinked_mr_handle == (it_handle_t)lmr);
	end_done(a->request, IT_DTO_SEND_CMPL_EVENT, 3, IT_DTO_SUCCESS);
	g_assert_cmpint(it_lmr_query(lmr, IT_LMR_PARAM_LINKED, &params), ==, IT_SUCCESS);
	g_assert_cmpint(params.linked, ==, IT_FALSE);
	expect_refused(pair, it_make_rdma_addr_absolute(b->buffer + WINDOW), context);
	g_assert_cmpint(it_lmr_free(lmr), ==, IT_SUCCESS);
	reset_both(pair);
}

/*
 * A window that the peer invalidated is linked through no endpoint any more: every endpoint of the zone may unlink it
 * again.
 */
static void
test_unlinked_is_free(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_rmr_handle_t rmr = window_make(b, IT_RMR_TYPE_NARROW);
	it_lmr_triplet_t out = end_segment(a, 0, 10);
	it_rmr_context_t context;
	it_ep_handle_t other;

	pair_establish(pair);
	g_assert_cmpint(it_ep_rc_create(b->pz, b->request, b->recv, b->cm_msg, IT_EP_NO_FLAG,
					&b->attr, &other),
			==, IT_SUCCESS);
	context = window_link(b, rmr, IT_PRIV_REMOTE, IT_ADDR_MODE_ABSOLUTE);
	g_assert_cmpint(it_rmr_unlink(rmr, other, 1, 0), ==, IT_ERR_INVALID_EP);
	post_receive(b, 4);
	g_assert_cmpint(it_post_send_and_unlink(a->ep, &out, 1, 3, SIGNALED, context), ==,
			IT_SUCCESS);
	end_done(b->recv, IT_DTO_RC_RECV_CMPL_EVENT, 4, IT_DTO_SUCCESS);
	end_done(a->request, IT_DTO_SEND_CMPL_EVENT, 3, IT_DTO_SUCCESS);
	g_assert_cmpint(it_rmr_unlink(rmr, other, 1, 0), ==, IT_ERR_INVALID_EP_STATE);
	g_assert_cmpint(it_ep_free(other), ==, IT_SUCCESS);
	g_assert_cmpint(it_rmr_free(rmr), ==, IT_SUCCESS);
	pair_disconnect(pair);
	reset_both(pair);
}

/* A message is sent from the region that it invalidates, from one endpoint of an adapter to another. */
static void
test_revokes_its_source(struct pair *pair)
{
	struct end *b = &pair->passive;
	it_rmr_context_t context = 0;
	it_lmr_triplet_t out = {.length = 10};
	it_lmr_handle_t lmr;
	it_ep_handle_t near;
	it_event_t event;

	g_assert_cmpint(it_lmr_create21(b->pz, b->buffer + WINDOW, NULL, WINDOW,
					IT_ADDR_MODE_ABSOLUTE, IT_PRIV_ALL,
					IT_LMR_FLAG_NON_SHAREABLE, 0, &lmr, &context),
			==, IT_SUCCESS);
	g_assert_cmpint(it_ep_rc_create(b->pz, b->request, b->recv, b->cm_msg, IT_EP_NO_FLAG,
					&b->attr, &near),
			==, IT_SUCCESS);
	g_assert_cmpint(it_ep_connect(near, &pair->path, NULL, &pair->qual, IT_CONNECT_FLAG_TWO_WAY,
				      NULL, 0),
			==, IT_SUCCESS);
	event = end_expect(b->cm_req, IT_CM_REQ_CONN_REQUEST_EVENT);
	g_assert_cmpint(it_ep_accept(b->ep, event.conn_req.cn_est_id, NULL, 0), ==, IT_SUCCESS);
	end_expect(b->cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	end_expect(b->cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);

	post_receive(b, 4);
	out.lmr = lmr;
	out.addr.abs = b->buffer + WINDOW;
	g_assert_cmpint(it_post_send_and_unlink(near, &out, 1, 3, SIGNALED, context), ==,
			IT_SUCCESS);
	event = end_done(b->recv, IT_DTO_RC_RECV_CMPL_EVENT, 4, IT_DTO_SUCCESS);
	g_assert_true(event.dto_cmpl.unlinked_mr_handle == (it_handle_t)lmr);
	end_done(b->request, IT_DTO_SEND_CMPL_EVENT, 3, IT_DTO_SUCCESS);
	g_assert_cmpint(it_ep_free(near), ==, IT_SUCCESS);
	end_next(b->cm_msg); /* the event of the end, of either kind */
	g_assert_cmpint(it_lmr_free(lmr), ==, IT_SUCCESS);
	end_reset(b);
}

enum bad_key {
	BAD_UNKNOWN,
	BAD_NOT_LINKED,
	BAD_SHAREABLE,
	BAD_OTHER_ZONE,
	BAD_COUNT
};

/* A Send that names what cannot be invalidated breaks the connection at the receiver. */
static void
test_bad_keys(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_lmr_triplet_t out = end_segment(a, 0, 10);
	it_rmr_context_t foreign = 0;
	it_lmr_handle_t lmr;
	it_pz_handle_t pz;

	g_assert_cmpint(it_pz_create(b->ia, &pz), ==, IT_SUCCESS);
	g_assert_cmpint(it_lmr_create21(pz, b->buffer, NULL, WINDOW, IT_ADDR_MODE_ABSOLUTE,
					IT_PRIV_ALL, IT_LMR_FLAG_NON_SHAREABLE, 0, &lmr, &foreign),
			==, IT_SUCCESS);
	for (int i = 0; i < BAD_COUNT; i++) {
		it_rmr_handle_t rmr = window_make(b, IT_RMR_TYPE_NARROW);
		it_rmr_context_t context;

		pair_establish(pair);
		context = window_link(b, rmr, IT_PRIV_REMOTE, IT_ADDR_MODE_ABSOLUTE);
		if (i == BAD_UNKNOWN)
			context ^= 0x80;
		if (i == BAD_SHAREABLE)
			context = b->context;
		if (i == BAD_OTHER_ZONE)
			context = foreign;
		if (i == BAD_NOT_LINKED)
			context = UINT64_MAX; /* not even a key of 32 bits */
		post_receive(b, 4);
		g_assert_cmpint(it_post_send_and_unlink(a->ep, &out, 1, 3, SIGNALED, context), ==,
				IT_SUCCESS);
		end_done(b->recv, IT_DTO_RC_RECV_CMPL_EVENT, 4, IT_DTO_ERR_LOCAL_PROTECTION);
		end_expect(b->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
		end_expect_broken_by_peer(a);
		end_next(a->request);
		g_assert_true(window_is_linked(rmr));
		g_assert_cmpint(it_rmr_free(rmr), ==, IT_SUCCESS);
		reset_both(pair);
	}
	g_assert_cmpint(it_lmr_free(lmr), ==, IT_SUCCESS);
	g_assert_cmpint(it_pz_free(pz), ==, IT_SUCCESS);
}

/* --- Reads into windows -------------------------------------------------------------------- */

/* An RDMA Read places its data in a window. */
static void
test_read_to_rmr(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_rmr_handle_t rmr = window_make(a, IT_RMR_TYPE_NARROW);
	it_rdma_addr_t from = it_make_rdma_addr_absolute(b->buffer);
	it_rmr_triplet_t in = {.rmr = rmr, .length = 100};
	it_event_t event;

	in.addr.abs = a->buffer + WINDOW;
	pair_establish(pair);
	if (!a->info->rdma_read_local_extensions) {
		it_lmr_triplet_t plain = end_segment(a, 0, 8);

		g_assert_cmpint(it_post_rdma_read_to_rmr(a->ep, &in, 1, 1, 0, from, b->context), ==,
				IT_ERR_OP_NOT_SUPPORTED);
		g_assert_cmpint(it_post_rdma_read(a->ep, &plain, 1, 1, IT_UNLINK_LOCAL_SINK, from,
						  b->context),
				==, IT_ERR_INVALID_DTO_FLAGS);
		pair_disconnect(pair);
		g_assert_cmpint(it_rmr_free(rmr), ==, IT_SUCCESS);
		return;
	}
	for (int unlinks = 0; unlinks < 2; unlinks++) {
		it_dto_flags_t flags = SIGNALED | (unlinks ? IT_UNLINK_LOCAL_SINK : 0);

		memset(b->buffer, 0x70 + unlinks, 100);
		if (unlinks == 0)
			window_link(a, rmr, IT_PRIV_REMOTE_WRITE, IT_ADDR_MODE_ABSOLUTE);
		g_assert_cmpint(it_post_rdma_read_to_rmr(a->ep, &in, 1, 2, flags, from, b->context),
				==, IT_SUCCESS);
		event = end_done(a->request, IT_DTO_RDMA_READ_CMPL_EVENT, 2, IT_DTO_SUCCESS);
		g_assert_true(event.dto_cmpl.unlinked_mr_handle ==
			      (unlinks ? (it_handle_t)rmr : NULL));
		g_assert_cmpuint(a->buffer[WINDOW + 99], ==, 0x70 + unlinks);
		g_assert_cmpint(window_is_linked(rmr), ==, !unlinks);
	}
	in.rmr = (it_rmr_handle_t)a->lmr;
	g_assert_cmpint(it_post_rdma_read_to_rmr(a->ep, &in, 1, 1, 0, from, b->context), ==,
			IT_ERR_INVALID_RMR);
	g_assert_cmpint(it_post_rdma_read_to_rmr(NULL, &in, 1, 1, 0, from, b->context), ==,
			IT_ERR_INVALID_EP);
	in.rmr = rmr;
	g_assert_cmpint(it_post_rdma_read_to_rmr(a->ep, &in, 1, 1, IT_SOLICITED_WAIT_FLAG, from,
						 b->context),
			==, IT_ERR_INVALID_DTO_FLAGS);
	g_assert_cmpint(it_post_rdma_read_to_rmr(a->ep, &in, 1000, 1, 0, from, b->context), ==,
			IT_ERR_INVALID_NUM_SEGMENTS);
	in.length = (it_length_t)UINT32_MAX + 10;
	g_assert_cmpint(it_post_rdma_read_to_rmr(a->ep, &in, 1, 1, 0, from, b->context), ==,
			IT_ERR_PAYLOAD_SIZE);
	/* The window is unlinked: the Read has no valid sink. */
	in.length = 100;
	g_assert_cmpint(it_post_rdma_read_to_rmr(a->ep, &in, 1, 2, SIGNALED, from, b->context), ==,
			IT_SUCCESS);
	end_done(a->request, IT_DTO_RDMA_READ_CMPL_EVENT, 2, IT_DTO_ERR_LOCAL_PROTECTION);
	end_expect(a->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	end_next(b->cm_msg);
	g_assert_cmpint(it_post_rdma_read_to_rmr(a->ep, &in, 1, 2, SIGNALED, from, b->context), ==,
			IT_SUCCESS);
	end_done(a->request, IT_DTO_RDMA_READ_CMPL_EVENT, 2, IT_DTO_ERR_FLUSHED);
	reset_both(pair);
	g_assert_cmpint(it_post_rdma_read_to_rmr(a->ep, &in, 1, 2, 0, from, b->context), ==,
			IT_ERR_INVALID_EP_STATE);
	g_assert_cmpint(it_rmr_free(rmr), ==, IT_SUCCESS);
}

static void
add_tests(void)
{
	pair_add_for(NEEDS_WINDOWS | NEEDS_UNLINK | NEEDS_RELATIVE, "rmr/access", test_access);
	pair_add_for(NEEDS_WINDOWS | NEEDS_UNLINK | NEEDS_REUSE, "rmr/out-of-range",
		     test_out_of_range);
	pair_add_for(NEEDS_WINDOWS | NEEDS_UNLINK | NEEDS_REUSE, "rmr/refused", test_refused);
	pair_add_for(NEEDS_NARROW, "rmr/busy", test_busy);
	pair_add_for(NEEDS_NARROW | NEEDS_REUSE, "rmr/r-37-reset", test_reset);
	pair_add_for(NEEDS_WINDOWS | NEEDS_UNLINK, "rmr/unlink-fence", test_unlink_fence);
	pair_add_for(NEEDS_NARROW, "rmr/link-twice", test_link_twice);
	pair_add_for(NEEDS_WIDE, "rmr/wide", test_wide);
	pair_add_for(NEEDS_NARROW | NEEDS_REMOTE_UNLINK, "rmr/r-17-send-and-unlink",
		     test_send_and_unlink);
	pair_add_for(NEEDS_REMOTE_UNLINK | NEEDS_LMR_UNLINK, "rmr/send-and-unlink-lmr",
		     test_send_and_unlink_lmr);
	pair_add_for(NEEDS_NARROW | NEEDS_UNLINK | NEEDS_REMOTE_UNLINK, "rmr/unlinked-is-free",
		     test_unlinked_is_free);
	pair_add_for(NEEDS_REMOTE_UNLINK | NEEDS_LMR_UNLINK, "rmr/revokes-its-source",
		     test_revokes_its_source);
	pair_add_for(NEEDS_NARROW | NEEDS_REMOTE_UNLINK, "rmr/bad-keys", test_bad_keys);
	pair_add_for(NEEDS_NARROW, "rmr/read-to-rmr", test_read_to_rmr);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add_tests);
}
