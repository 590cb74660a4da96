/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Data transfers on a real adapter, with both ends in this process and every octet verified [IT 7], [IT 8], [IT
 * 15.7].
 */

#include <string.h>

#include "it_pair.h"

#define SIGNALED IT_COMPLETION_FLAG
/* Offsets in the buffer: an end sends from the first and receives to the second. */
#define SOURCE 0
#define SINK   (END_BUFFER / 2)

static void
paint(struct end *end, size_t offset, size_t length, unsigned int seed)
{
	for (size_t i = 0; i < length; i++)
		end->buffer[offset + i] = (unsigned char)(i * 31 + (i >> 8) + seed);
}

static void
check_paint(const struct end *end, size_t offset, size_t length, unsigned int seed)
{
	for (size_t i = 0; i < length; i++) {
		if (end->buffer[offset + i] != (unsigned char)(i * 31 + (i >> 8) + seed))
			g_error("octet %zu of %zu is wrong", i, length);
	}
}

/* The next completion, which must be this one. */
static it_dto_cmpl_event_t
completed(it_evd_handle_t evd, it_event_type_t number, it_ep_handle_t ep, it_dto_cookie_t cookie,
	  it_dto_status_t status)
{
	it_event_t event = end_done(evd, number, cookie, status);

	g_assert_true(event.dto_cmpl.ep == ep);
	g_assert_null(event.dto_cmpl.unlinked_mr_handle);
	return event.dto_cmpl;
}

static void
post_recv(struct end *end, size_t offset, size_t length, it_dto_cookie_t cookie)
{
	it_lmr_triplet_t segment = end_segment(end, offset, length);

	g_assert_cmpint(it_post_recv((it_handle_t)end->ep, &segment, 1, cookie, 0), ==, IT_SUCCESS);
}

/* A Send from four segments that are out of order in memory to three segments of the receiver, in several sizes. */
static void
test_send(struct pair *pair)
{
	static const size_t sizes[] = {4, 64, 1000, 4096, 65536, 100000};
	struct end *a = &pair->active, *b = &pair->passive;

	pair_establish(pair);
	for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
		size_t n = sizes[i], q = n / 4, r = n / 2;
		it_lmr_triplet_t out[] = {end_segment(a, SOURCE, q), end_segment(a, SOURCE + q, q),
					  end_segment(a, SOURCE + 2 * q, 0),
					  end_segment(a, SOURCE + 2 * q, n - 2 * q)};
		it_lmr_triplet_t in[] = {end_segment(b, SINK, 1), end_segment(b, SINK + 1, r),
					 end_segment(b, SINK + 1 + r, END_BUFFER / 2 - 1 - r)};
		it_dto_cmpl_event_t event;

		paint(a, SOURCE, n, (unsigned int)i);
		memset(b->buffer + SINK, 0xee, END_BUFFER / 2);
		g_assert_cmpint(it_post_recv((it_handle_t)b->ep, in,
					     pair_merge(in, 3, b->attr.max_recv_segments), 100 + i,
					     0),
				==, IT_SUCCESS);
		g_assert_cmpint(it_post_send(a->ep, out,
					     pair_merge(out, 4, a->attr.max_send_segments), 200 + i,
					     SIGNALED),
				==, IT_SUCCESS);
		event = completed(b->recv, IT_DTO_RC_RECV_CMPL_EVENT, b->ep, 100 + i,
				  IT_DTO_SUCCESS);
		g_assert_cmpuint(event.transferred_length, ==, n);
		check_paint(b, SINK, n, (unsigned int)i);
		g_assert_cmpint(b->buffer[SINK + n], ==, 0xee);
		event = completed(a->request, IT_DTO_SEND_CMPL_EVENT, a->ep, 200 + i,
				  IT_DTO_SUCCESS);
		g_assert_cmpuint(event.transferred_length, ==, n);
	}
	/* Transfers of length 0. */
	g_assert_cmpint(it_post_recv((it_handle_t)b->ep, NULL, 0, 1, SIGNALED), ==, IT_SUCCESS);
	g_assert_cmpint(it_post_send(a->ep, NULL, 0, 2, SIGNALED | IT_SOLICITED_WAIT_FLAG), ==,
			IT_SUCCESS);
	g_assert_cmpuint(completed(b->recv, IT_DTO_RC_RECV_CMPL_EVENT, b->ep, 1, IT_DTO_SUCCESS)
				 .transferred_length,
			 ==, 0);
	completed(a->request, IT_DTO_SEND_CMPL_EVENT, a->ep, 2, IT_DTO_SUCCESS);
	pair_disconnect(pair);
}

/* What an RDMA Write places is what an RDMA Read gets back, in several sizes. */
static void
test_write_read(struct pair *pair)
{
	static const size_t sizes[] = {1, 8, 100, 4096, 70000, 120000};
	struct end *a = &pair->active, *b = &pair->passive;

	pair_establish(pair);
	for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
		size_t n = sizes[i], h = n / 2;
		it_lmr_triplet_t out[] = {end_segment(a, SOURCE, h),
					  end_segment(a, SOURCE + h, n - h)};
		it_lmr_triplet_t in = end_segment(a, SINK, n);
		it_rdma_addr_t addr = it_make_rdma_addr_absolute(b->buffer + SINK);

		paint(a, SOURCE, n, (unsigned int)i + 50);
		memset(b->buffer + SINK, 0xee, END_BUFFER / 2);
		memset(a->buffer + SINK, 0, END_BUFFER / 2);
		g_assert_cmpint(it_post_rdma_write(
					a->ep, out,
					pair_merge(out, 2, a->attr.srv.rc.max_rdma_write_segments),
					i, SIGNALED, addr, b->context),
				==, IT_SUCCESS);
		g_assert_cmpint(it_post_rdma_read(a->ep, &in, 1, i + 10,
						  SIGNALED | IT_BARRIER_FENCE_FLAG, addr,
						  b->context),
				==, IT_SUCCESS);
		g_assert_cmpuint(completed(a->request, IT_DTO_RDMA_WRITE_CMPL_EVENT, a->ep, i,
					   IT_DTO_SUCCESS)
					 .transferred_length,
				 ==, n);
		g_assert_cmpuint(completed(a->request, IT_DTO_RDMA_READ_CMPL_EVENT, a->ep, i + 10,
					   IT_DTO_SUCCESS)
					 .transferred_length,
				 ==, n);
		check_paint(b, SINK, n, (unsigned int)i + 50);
		check_paint(a, SINK, n, (unsigned int)i + 50);
		g_assert_cmpint(b->buffer[SINK + n], ==, 0xee);
	}
	/* An RDMA Read of length 0 as the end-to-end fence of [IT 7.5]: nothing is read and no key is checked. */
	g_assert_cmpint(it_post_rdma_read(a->ep, NULL, 0, 99, SIGNALED, 0, 0), ==, IT_SUCCESS);
	completed(a->request, IT_DTO_RDMA_READ_CMPL_EVENT, a->ep, 99, IT_DTO_SUCCESS);
	end_expect_none(b->recv);
	pair_disconnect(pair);
}

/* A region with addresses from 0, as the source and as the target of a Write. */
static void
test_relative(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_lmr_triplet_t out = {.length = 500};
	it_lmr_handle_t near, far;
	it_rmr_context_t context;

	if (!a->info->addr_mode_relative_support) {
		pair_inapplicable("zero_based is not claimed");
		return;
	}
	g_assert_cmpint(it_lmr_create20(a->pz, a->buffer + 100, 1000, IT_ADDR_MODE_RELATIVE,
					IT_PRIV_LOCAL, 0, 0, &near, NULL),
			==, IT_SUCCESS);
	g_assert_cmpint(it_lmr_create20(b->pz, b->buffer + SINK, 1000, IT_ADDR_MODE_RELATIVE,
					IT_PRIV_ALL, 0, 0, &far, &context),
			==, IT_SUCCESS);
	pair_establish(pair);
	paint(a, 110, 500, 7);
	out.lmr = near;
	out.addr.rel = 10;
	g_assert_cmpint(it_post_rdma_write(a->ep, &out, 1, 1, SIGNALED,
					   it_make_rdma_addr_relative(20), context),
			==, IT_SUCCESS);
	completed(a->request, IT_DTO_RDMA_WRITE_CMPL_EVENT, a->ep, 1, IT_DTO_SUCCESS);
	g_assert_cmpint(it_post_rdma_read(a->ep, NULL, 0, 2, SIGNALED, 0, 0), ==, IT_SUCCESS);
	completed(a->request, IT_DTO_RDMA_READ_CMPL_EVENT, a->ep, 2, IT_DTO_SUCCESS);
	check_paint(b, SINK + 20, 500, 7);
	pair_disconnect(pair);
	g_assert_cmpint(it_lmr_free(near), ==, IT_SUCCESS);
	g_assert_cmpint(it_lmr_free(far), ==, IT_SUCCESS);
}

/* Suppressed completions [IT 7.3]: no event comes, and the next completion that is dequeued returns their slots. */
static void
test_suppressed(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_lmr_triplet_t out = end_segment(a, SOURCE, 64);
	it_rdma_addr_t addr = it_make_rdma_addr_absolute(b->buffer + SINK);

	pair_establish(pair);
	for (unsigned int round = 0; round < 20; round++) {
		for (unsigned int i = 0; i < REQUEST_SLOTS - 1; i++)
			g_assert_cmpint(it_post_rdma_write(a->ep, &out, 1, i, IT_COALESCE_WR_FLAG,
							   addr, b->context),
					==, IT_SUCCESS);
		g_assert_cmpint(it_post_rdma_write(a->ep, &out, 1, 1000 + round, SIGNALED, addr,
						   b->context),
				==, IT_SUCCESS);
		completed(a->request, IT_DTO_RDMA_WRITE_CMPL_EVENT, a->ep, 1000 + round,
			  IT_DTO_SUCCESS);
		end_expect_none(a->request);
	}
	pair_disconnect(pair);
}

/* A slot stays in use until its event is dequeued [IT 7.4], on both queues. */
static void
test_too_many(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_lmr_triplet_t out = end_segment(a, SOURCE, 8);
	it_rdma_addr_t addr = it_make_rdma_addr_absolute(b->buffer + SINK);
	it_status_t status = IT_SUCCESS;
	it_ep_param_t params;
	size_t posted = 0;

	g_assert_cmpint(it_ep_query(a->ep, IT_EP_PARAM_ALL, &params), ==, IT_SUCCESS);
	while ((status = it_post_recv((it_handle_t)a->ep, &out, 1, posted, 0)) == IT_SUCCESS)
		posted++;
	g_assert_cmpint(status, ==, IT_ERR_TOO_MANY_POSTS);
	g_assert_cmpuint(posted, ==, params.attr.max_recv_dtos);
	pair_establish(pair);
	posted = 0;
	while ((status = it_post_rdma_write(a->ep, &out, 1, posted, SIGNALED, addr, b->context)) ==
	       IT_SUCCESS)
		posted++;
	g_assert_cmpint(status, ==, IT_ERR_TOO_MANY_POSTS);
	g_assert_cmpuint(posted, ==, params.attr.max_request_dtos);
	completed(a->request, IT_DTO_RDMA_WRITE_CMPL_EVENT, a->ep, 0, IT_DTO_SUCCESS);
	g_assert_cmpint(it_post_rdma_write(a->ep, &out, 1, posted, SIGNALED, addr, b->context), ==,
			IT_SUCCESS);
	for (size_t i = 1; i <= posted; i++)
		completed(a->request, IT_DTO_RDMA_WRITE_CMPL_EVENT, a->ep, i, IT_DTO_SUCCESS);
	pair_disconnect(pair);
	for (size_t i = 0; i < params.attr.max_recv_dtos; i++)
		completed(a->recv, IT_DTO_RC_RECV_CMPL_EVENT, a->ep, i, IT_DTO_ERR_FLUSHED);
}

/*
 * all requests and receives complete in posting order, before the event that ends the connection. Those that are
 * posted after that event are flushed at once.
 */
static void
test_flush(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_lmr_triplet_t out = end_segment(a, SOURCE, 64);
	it_event_t event;

	for (unsigned int i = 0; i < 5; i++) {
		post_recv(a, SINK, 100, i);
		post_recv(b, SINK, 100, 10 + i);
	}
	pair_establish(pair);
	g_assert_cmpint(it_ep_disconnect(b->ep, NULL, 0), ==, IT_SUCCESS);
	end_expect(b->cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	for (unsigned int i = 0; i < 5; i++) {
		g_assert_cmpint(it_evd_dequeue(b->recv, &event), ==, IT_SUCCESS);
		g_assert_cmpuint(event.dto_cmpl.cookie, ==, 10 + i);
		g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_ERR_FLUSHED);
		g_assert_cmpuint(event.dto_cmpl.transferred_length, ==, 0);
	}
	end_expect(a->cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	for (unsigned int i = 0; i < 5; i++) {
		g_assert_cmpint(it_evd_dequeue(a->recv, &event), ==, IT_SUCCESS);
		g_assert_cmpuint(event.dto_cmpl.cookie, ==, i);
		g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_ERR_FLUSHED);
	}
	g_assert_cmpint(it_post_send(a->ep, &out, 1, 77, 0), ==, IT_SUCCESS);
	completed(a->request, IT_DTO_SEND_CMPL_EVENT, a->ep, 77, IT_DTO_ERR_FLUSHED);
	post_recv(a, SINK, 100, 78);
	completed(a->recv, IT_DTO_RC_RECV_CMPL_EVENT, a->ep, 78, IT_DTO_ERR_FLUSHED);
	end_reset(a);
	end_reset(b);
	pair_establish(pair);
	pair_disconnect(pair);
}

/* no request runs after the disconnect has returned, however long the end of the connection takes. */
static void
test_after_disconnect(struct pair *pair)
{
	gint64 begin = 0;
	struct end *a = &pair->active, *b = &pair->passive;
	it_lmr_triplet_t out = end_segment(a, SOURCE, 64);

	for (guint round = 0; pair_round(round, 20, &begin); round++) {
		post_recv(b, SINK, 100, 1);
		pair_establish(pair);
		g_assert_cmpint(it_ep_disconnect(a->ep, NULL, 0), ==, IT_SUCCESS);
		g_assert_cmpint(it_post_send(a->ep, &out, 1, 2, IT_COMPLETION_FLAG), ==,
				IT_SUCCESS);
		completed(a->request, IT_DTO_SEND_CMPL_EVENT, a->ep, 2, IT_DTO_ERR_FLUSHED);
		completed(b->recv, IT_DTO_RC_RECV_CMPL_EVENT, b->ep, 1, IT_DTO_ERR_FLUSHED);
		end_expect(a->cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
		end_expect(b->cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
		end_reset(a);
		end_reset(b);
	}
}

/* [IT 7.6]: after a failed request there are only flushes, even if the disconnect was called before. */
static void
test_nothing_after_a_failure(struct pair *pair)
{
	gint64 begin = 0;
	struct end *a = &pair->active, *b = &pair->passive;
	it_lmr_triplet_t bad = end_segment(a, END_BUFFER - 4, 8);
	it_event_t event;

	for (guint round = 0; pair_round(round, 200, &begin); round++) {
		post_recv(b, SINK, 100, 1);
		post_recv(b, SINK, 100, 2);
		pair_establish(pair);
		for (int i = 0; i < 2; i++)
			g_assert_cmpint(it_post_send(a->ep, NULL, 0, 3, 0), ==, IT_SUCCESS);
		g_assert_cmpint(it_post_rdma_write(a->ep, &bad, 1, 4, 0, 0, 0), ==, IT_SUCCESS);
		g_assert_cmpint(it_post_rdma_write(a->ep, NULL, 0, 5, IT_COMPLETION_FLAG, 0, 0), ==,
				IT_SUCCESS);
		g_assert_cmpint(it_ep_disconnect(a->ep, NULL, 0), ==, IT_SUCCESS);
		do { /* requests that had not begun are flushed before */
			event = end_next(a->request);
			g_assert_cmpint(event.dto_cmpl.dto_status, !=, IT_DTO_SUCCESS);
		} while (event.dto_cmpl.cookie != 5);
		g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_ERR_FLUSHED);
		end_next(b->recv);
		end_next(b->recv);
		end_next(a->cm_msg); /* DISCONNECT or BROKEN: the first that came */
		end_next(b->cm_msg);
		end_reset(a);
		end_reset(b);
	}
}

/* [IT 7.3]: a Send that was transmitted before a Read ended is flushed, too, when the Read fails at its very end. */
static void
test_read_fails_last(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_lmr_triplet_t sink =
		end_segment(a, SINK, 64); /* its region cannot be invalidated by the peer */

	if (a->info->rdma_read_local_extensions != IT_TRUE) {
		pair_inapplicable("read_local_extensions is not claimed");
		return;
	}
	post_recv(b, SINK, 100, 1);
	pair_establish(pair);
	g_assert_cmpint(it_post_rdma_read(a->ep, &sink, 1, 2,
					  IT_COMPLETION_FLAG | IT_UNLINK_LOCAL_SINK,
					  it_make_rdma_addr_absolute(b->buffer), b->context),
			==, IT_SUCCESS);
	g_assert_cmpint(it_post_send(a->ep, NULL, 0, 3, IT_COMPLETION_FLAG), ==, IT_SUCCESS);
	completed(a->request, IT_DTO_RDMA_READ_CMPL_EVENT, a->ep, 2, IT_DTO_ERR_LOCAL_MM_OPERATION);
	completed(a->request, IT_DTO_SEND_CMPL_EVENT, a->ep, 3, IT_DTO_ERR_FLUSHED);
	end_next(b->recv); /* it may have arrived */
	end_expect(a->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	end_expect(b->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	end_reset(a);
	end_reset(b);
}

/* [IT 4.6]: a reset endpoint has all its slots, including those of suppressed completions. */
static void
test_reset_frees_slots(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_ep_param_t params;
	it_event_t event;

	g_assert_cmpint(it_ep_query(a->ep, IT_EP_PARAM_MAX_REQ_DTO, &params), ==, IT_SUCCESS);
	for (int round = 0; round < 3; round++) {
		pair_establish(pair);
		for (size_t i = 0; i + 1 < params.attr.max_request_dtos; i++)
			g_assert_cmpint(it_post_rdma_write(a->ep, NULL, 0, i, 0, 0, 0), ==,
					IT_SUCCESS);
		g_assert_cmpint(it_post_rdma_read(a->ep, NULL, 0, 99, 0, 0, 0), ==, IT_SUCCESS);
		g_assert_cmpint(it_ep_disconnect(b->ep, NULL, 0), ==, IT_SUCCESS);
		end_next(b->cm_msg);
		end_next(a->cm_msg);
		while (it_evd_dequeue(a->request, &(it_event_t){0}) == IT_SUCCESS)
			; /* flushes of requests that had not begun */
		end_reset(a);
		end_reset(b);

		/* The same after a failed attempt to connect. */
		pair_connect(pair);
		event = end_expect(b->cm_req, IT_CM_REQ_CONN_REQUEST_EVENT);
		g_assert_cmpint(it_reject(event.conn_req.cn_est_id, NULL, 0), ==, IT_SUCCESS);
		end_expect(a->cm_msg, IT_CM_MSG_CONN_PEER_REJECT_EVENT);
		for (size_t i = 0; i < params.attr.max_request_dtos; i++)
			g_assert_cmpint(it_post_rdma_write(a->ep, NULL, 0, i, 0, 0, 0), ==,
					IT_SUCCESS);
		for (size_t i = 0; i < params.attr.max_request_dtos; i++)
			completed(a->request, IT_DTO_RDMA_WRITE_CMPL_EVENT, a->ep, i,
				  IT_DTO_ERR_FLUSHED);
		end_reset(a);
	}
}

/* A failed attempt flushes, too [IT 4.2]. */
static void
test_flush_of_reject(struct pair *pair)
{
	struct end *a = &pair->active;
	it_event_t event;

	post_recv(a, SINK, 100, 5);
	pair_connect(pair);
	event = end_expect(pair->passive.cm_req, IT_CM_REQ_CONN_REQUEST_EVENT);
	g_assert_cmpint(it_reject(event.conn_req.cn_est_id, NULL, 0), ==, IT_SUCCESS);
	end_expect(a->cm_msg, IT_CM_MSG_CONN_PEER_REJECT_EVENT);
	completed(a->recv, IT_DTO_RC_RECV_CMPL_EVENT, a->ep, 5, IT_DTO_ERR_FLUSHED);
	end_reset(a);
}

/* A Write with a key that was never issued breaks both ends. */
static void
test_wrong_key(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_lmr_triplet_t out = end_segment(a, SOURCE, 64);

	pair_establish(pair);
	g_assert_cmpint(it_post_rdma_write(a->ep, &out, 1, 1, SIGNALED,
					   it_make_rdma_addr_absolute(b->buffer),
					   b->context ^ 0x55),
			==, IT_SUCCESS);
	end_next(a->request);
	end_expect(a->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	end_expect(b->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	end_reset(a);
	end_reset(b);
	pair_establish(pair);
	/* A context above 32 bits is no key, whatever its lower half. */
	g_assert_cmpint(it_post_rdma_write(a->ep, &out, 1, 1, SIGNALED,
					   it_make_rdma_addr_absolute(b->buffer),
					   b->context | UINT64_C(1) << 32),
			==, IT_SUCCESS);
	end_expect(b->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	end_expect(a->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
}

/* The bounds of a local segment are checked when the request runs. */
static void
test_local_bounds(struct pair *pair)
{
	struct end *a = &pair->active;
	it_lmr_triplet_t out = end_segment(a, END_BUFFER - 10, 64);

	pair_establish(pair);
	g_assert_cmpint(it_post_send(a->ep, &out, 1, 3, SIGNALED), ==, IT_SUCCESS);
	completed(a->request, IT_DTO_SEND_CMPL_EVENT, a->ep, 3, IT_DTO_ERR_LOCAL_PROTECTION);
	end_expect(a->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	end_expect_broken_by_peer(&pair->passive);
}

static it_status_t
write_it(struct end *end, const it_lmr_triplet_t *segments, size_t count, unsigned int flags)
{
	return it_post_rdma_write(end->ep, segments, count, 0, (it_dto_flags_t)flags, 0, 0);
}

static it_status_t
send_it(struct end *end, const it_lmr_triplet_t *segments, size_t count, unsigned int flags)
{
	return it_post_send(end->ep, segments, count, 0, (it_dto_flags_t)flags);
}

static it_status_t
recv_it(struct end *end, const it_lmr_triplet_t *segments, size_t count, unsigned int flags)
{
	return it_post_recv((it_handle_t)end->ep, segments, count, 0, (it_dto_flags_t)flags);
}

/* Posts return the statuses of their arguments, in the order of the standard. */
static void
test_statuses(struct pair *pair)
{
	struct end *a = &pair->active;
	it_lmr_triplet_t good = end_segment(a, 0, 8), foreign = end_segment(&pair->passive, 0, 8);
	it_lmr_triplet_t null = {.length = 8}, many[64], halves[2];
	size_t parts;
	it_ep_param_t params;

	for (size_t i = 0; i < G_N_ELEMENTS(many); i++)
		many[i] = good;
	g_assert_cmpint(it_post_send(NULL, &good, 1, 0, 0), ==, IT_ERR_INVALID_EP);
	g_assert_cmpint(it_post_rdma_write(NULL, &good, 1, 0, 0, 0, 0), ==, IT_ERR_INVALID_EP);
	g_assert_cmpint(it_post_rdma_read(NULL, &good, 1, 0, 0, 0, 0), ==, IT_ERR_INVALID_EP);
	g_assert_cmpint(it_post_recv(NULL, &good, 1, 0, 0), ==, IT_ERR_INVALID_HANDLE);
	g_assert_cmpint(it_post_recv((it_handle_t)a->pz, &good, 1, 0, 0), ==,
			IT_ERR_INVALID_HANDLE);
	g_assert_cmpint(it_post_recvfrom(a->ep, &good, 1, 0, 0), ==, IT_ERR_INVALID_EP_TYPE);
	g_assert_cmpint(it_post_sendto(a->ep, &good, 1, 0, 0, NULL), ==, IT_ERR_INVALID_EP_TYPE);
	/* Unconnected: the send queue refuses posts; the receive queue checks receives and keeps them. */
	g_assert_cmpint(send_it(a, &good, 1, 0), ==, IT_ERR_INVALID_EP_STATE);
	g_assert_cmpint(write_it(a, &good, 1, 0), ==, IT_ERR_INVALID_EP_STATE);
	/* Handles are checked before flags, and flags before the state [IT 1.2]. */
	g_assert_cmpint(send_it(a, &null, 1, 0x80), ==, IT_ERR_INVALID_LMR);
	g_assert_cmpint(send_it(a, &good, 1, 0x80), ==, IT_ERR_INVALID_DTO_FLAGS);
	g_assert_cmpint(recv_it(a, NULL, 1, 0), ==, IT_ERR_FAULT);
	g_assert_cmpint(recv_it(a, &null, 1, 0), ==, IT_ERR_INVALID_LMR);
	g_assert_cmpint(recv_it(a, &foreign, 1, 0), ==, IT_ERR_INVALID_LMR);
	g_assert_cmpint(recv_it(a, many, 64, 0), ==, IT_ERR_INVALID_NUM_SEGMENTS);
	g_assert_cmpint(recv_it(a, &good, (size_t)-1, 0), ==, IT_ERR_INVALID_NUM_SEGMENTS);
	g_assert_cmpint(recv_it(a, &good, 1, IT_SOLICITED_WAIT_FLAG), ==, IT_ERR_INVALID_DTO_FLAGS);
	g_assert_cmpint(recv_it(a, &good, 1, IT_BARRIER_FENCE_FLAG), ==, IT_ERR_INVALID_DTO_FLAGS);
	pair_establish(pair);
	g_assert_cmpint(send_it(a, NULL, 1, 0), ==, IT_ERR_FAULT);
	g_assert_cmpint(send_it(a, &null, 1, 0), ==, IT_ERR_INVALID_LMR);
	g_assert_cmpint(write_it(a, &foreign, 1, 0), ==, IT_ERR_INVALID_LMR);
	g_assert_cmpint(send_it(a, many, 64, 0), ==, IT_ERR_INVALID_NUM_SEGMENTS);
	g_assert_cmpint(write_it(a, many, 64, 0), ==, IT_ERR_INVALID_NUM_SEGMENTS);
	g_assert_cmpint(it_post_rdma_read(a->ep, many, 64, 0, 0, 0, 0), ==,
			IT_ERR_INVALID_NUM_SEGMENTS);
	g_assert_cmpint(send_it(a, &good, 1, IT_UNLINK_FENCE_FLAG), ==, IT_ERR_INVALID_DTO_FLAGS);
	g_assert_cmpint(send_it(a, &good, 1, IT_UNLINK_LOCAL_SINK), ==, IT_ERR_INVALID_DTO_FLAGS);
	g_assert_cmpint(write_it(a, &good, 1, IT_SOLICITED_WAIT_FLAG), ==,
			IT_ERR_INVALID_DTO_FLAGS);
	g_assert_cmpint(it_post_rdma_read(a->ep, &good, 1, 0, IT_SOLICITED_WAIT_FLAG, 0, 0), ==,
			IT_ERR_INVALID_DTO_FLAGS);
	g_assert_cmpint(it_ep_query(a->ep, IT_EP_PARAM_MAX_PAYLOAD, &params), ==, IT_SUCCESS);
	halves[0] = halves[1] = good;
	halves[0].length = halves[1].length = params.attr.max_dto_payload_size / 2 + 1;
	parts = pair_merge(halves, 2,
			   MIN(a->attr.max_send_segments, a->attr.srv.rc.max_rdma_write_segments));
	g_assert_cmpint(send_it(a, halves, parts, 0), ==, IT_ERR_PAYLOAD_SIZE);
	g_assert_cmpint(write_it(a, halves, parts, 0), ==, IT_ERR_PAYLOAD_SIZE);
	halves[0].length = UINT64_MAX;
	g_assert_cmpint(send_it(a, halves, parts, 0), ==, IT_ERR_PAYLOAD_SIZE);
	g_assert_cmpint(it_post_send_and_unlink(NULL, &good, 1, 0, 0, 1), ==, IT_ERR_INVALID_EP);
	pair_disconnect(pair);
	end_expect_none(a->request);
}

/* Many messages in both directions at once: none lost, none out of order. */
static void
test_stream(struct pair *pair)
{
	struct end *ends[2] = {&pair->active, &pair->passive};
	unsigned int sent[2] = {0, 0}, done[2] = {0, 0}, got[2] = {0, 0};

	for (unsigned int e = 0; e < 2; e++)
		for (unsigned int i = 0; i < RECV_SLOTS; i++)
			post_recv(ends[e], SINK + i * 64, 64, i);
	pair_establish(pair);
	while (got[0] < 2000 || got[1] < 2000) {
		for (unsigned int e = 0; e < 2; e++) {
			it_lmr_triplet_t out = end_segment(ends[e], SOURCE, 16);
			it_event_t event;

			/* Never more than the other end has posted receives for. */
			if (sent[e] < 2000 && sent[e] - got[1 - e] < RECV_SLOTS &&
			    sent[e] - done[e] < REQUEST_SLOTS) {
				g_assert_cmpint(
					it_post_send(ends[e]->ep, &out, 1, sent[e], SIGNALED), ==,
					IT_SUCCESS);
				sent[e]++;
			}
			while (it_evd_dequeue(ends[e]->request, &event) == IT_SUCCESS) {
				g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_SUCCESS);
				g_assert_cmpuint(event.dto_cmpl.cookie, ==, done[e]++);
			}
			while (it_evd_dequeue(ends[e]->recv, &event) == IT_SUCCESS) {
				g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_SUCCESS);
				g_assert_cmpuint(event.dto_cmpl.cookie, ==, got[e] % RECV_SLOTS);
				post_recv(ends[e], SINK + got[e] % RECV_SLOTS * 64, 64,
					  got[e] % RECV_SLOTS);
				got[e]++;
			}
		}
	}
	pair_disconnect(pair);
}

static void
add(void)
{
	pair_add("dto/r-23-send", test_send);
	pair_add_for(NEEDS_READS, "dto/write-read", test_write_read);
	pair_add("dto/relative", test_relative);
	pair_add("dto/suppressed", test_suppressed);
	pair_add("dto/too-many", test_too_many);
	pair_add("dto/flush", test_flush);
	pair_add("dto/r-04-after-disconnect", test_after_disconnect);
	pair_add("dto/nothing-after-a-failure", test_nothing_after_a_failure);
	pair_add("dto/read-fails-last", test_read_fails_last);
	pair_add_for(NEEDS_REUSE, "dto/reset-frees-slots", test_reset_frees_slots);
	pair_add("dto/flush-of-reject", test_flush_of_reject);
	pair_add("dto/wrong-key", test_wrong_key);
	pair_add("dto/r-19-local-bounds", test_local_bounds);
	pair_add("dto/statuses", test_statuses);
	pair_add("dto/stream", test_stream);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
