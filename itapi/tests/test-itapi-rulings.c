/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Rulings [IT 17] that no other test covers: overflow, coalescing, contexts, conversion. */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "it_window.h"

static it_evd_handle_t
dispatcher(const struct end *end, it_event_type_t stream, it_evd_flags_t flags, size_t size)
{
	it_evd_handle_t evd = NULL;

	g_assert_cmpint(it_evd_create(end->ia, stream, flags, size, 1, NULL, &evd, NULL), ==,
			IT_SUCCESS);
	return evd;
}

static bool
overflowed(it_evd_handle_t evd)
{
	it_evd_param_t params;

	g_assert_cmpint(it_evd_query(evd, IT_EVD_PARAM_OVERFLOWED, &params), ==, IT_SUCCESS);
	return params.evd_overflowed == IT_TRUE;
}

/* Replace the active endpoint by one whose request SEVD is that one. */
static void
use_request_evd(struct end *end, it_evd_handle_t evd)
{
	it_evd_handle_t before = end->request;

	end->request = evd;
	end_new_ep(end);
	end->request = before;
}

/*
 * a completion for a full SEVD is lost and the endpoint breaks. In notify mode one affiliated event says so.
 * The overflowed state ends when the SEVD is modified, or in auto-reset mode when it has been drained.
 */
static void
overflow(struct pair *pair, it_evd_flags_t flags)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_evd_handle_t aff = dispatcher(a, IT_ASYNC_AFF_EVENT_STREAM, 0, 8);
	it_evd_handle_t full = dispatcher(a, IT_DTO_EVENT_STREAM, flags, 1);
	it_lmr_triplet_t out = end_segment(a, 0, 8);
	it_evd_param_t params;
	it_event_t event;
	size_t room;

	g_assert_cmpint(it_evd_query(full, IT_EVD_PARAM_QUEUE_SIZE, &params), ==, IT_SUCCESS);
	room = params.sevd_queue_size;
	a->attr.max_request_dtos = room + 8;
	use_request_evd(a, full);
	pair_establish(pair);
	for (size_t i = 0; i < room + 2; i++)
		(void)it_post_rdma_write(a->ep, &out, 1, i, IT_COMPLETION_FLAG,
					 it_make_rdma_addr_absolute(b->buffer), b->context);
	end_expect(a->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	end_next(b->cm_msg);
	g_assert_true(overflowed(full));
	if (flags & IT_EVD_OVERFLOW_NOTIFY) {
		event = end_expect(aff, IT_ASYNC_AFF_EP_SEVD_FULL_ERROR);
		g_assert_true(event.aff_async.cause.ep == a->ep);
	}
	end_expect_none(aff);
	for (size_t i = 0; it_evd_dequeue(full, &event) == IT_SUCCESS; i++)
		g_assert_cmpuint(i, <, room);
	g_assert_cmpint(overflowed(full), ==, (flags & IT_EVD_OVERFLOW_AUTO_RESET) == 0);
	params.evd_overflowed = IT_FALSE;
	g_assert_cmpint(it_evd_modify(full, IT_EVD_PARAM_OVERFLOWED, &params), ==, IT_SUCCESS);
	g_assert_false(overflowed(full));
	a->attr.max_request_dtos = 8;
	end_new_ep(a); /* frees the small one */
	end_reset(b);
	g_assert_cmpint(it_evd_free(full), ==, IT_SUCCESS);
	g_assert_cmpint(it_evd_free(aff), ==, IT_SUCCESS);
}

/* a SEVD that overflowed stays so until it is reset. */
static void
test_overflow_default(struct pair *pair)
{
	overflow(pair, IT_EVD_OVERFLOW_DEFAULT);
}

/* an overflow notifies where the application asked for that. */
static void
test_overflow_notify(struct pair *pair)
{
	overflow(pair, IT_EVD_OVERFLOW_NOTIFY);
}

/* a SEVD with automatic reset recovers from its overflow. */
static void
test_overflow_auto_reset(struct pair *pair)
{
	overflow(pair, IT_EVD_OVERFLOW_NOTIFY | IT_EVD_OVERFLOW_AUTO_RESET);
}

/*
 * a request that may be held back is sent with the next request, or when the application looks for its
 * completion.
 */
static void
test_coalescing(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_lmr_triplet_t out = end_segment(a, 0, 8), in = end_segment(b, 0, 64);

	pair_establish(pair);
	for (uint64_t i = 0; i < 20; i++) {
		bool last = i % 2 == 1;

		g_assert_cmpint(it_post_recv((it_handle_t)b->ep, &in, 1, i, 0), ==, IT_SUCCESS);
		g_assert_cmpint(it_post_send(a->ep, &out, 1, i,
					     IT_COMPLETION_FLAG | (last ? 0 : IT_COALESCE_WR_FLAG)),
				==, IT_SUCCESS);
		if (last) {
			end_done(b->recv, IT_DTO_RC_RECV_CMPL_EVENT, i - 1, IT_DTO_SUCCESS);
			end_done(b->recv, IT_DTO_RC_RECV_CMPL_EVENT, i, IT_DTO_SUCCESS);
			end_done(a->request, IT_DTO_SEND_CMPL_EVENT, i - 1, IT_DTO_SUCCESS);
			end_done(a->request, IT_DTO_SEND_CMPL_EVENT, i, IT_DTO_SUCCESS);
		}
	}
	/* Alone, with no request behind it: a wait sends it. */
	g_assert_cmpint(it_post_recv((it_handle_t)b->ep, &in, 1, 77, 0), ==, IT_SUCCESS);
	g_assert_cmpint(it_post_send(a->ep, &out, 1, 77, IT_COMPLETION_FLAG | IT_COALESCE_WR_FLAG),
			==, IT_SUCCESS);
	end_done(a->request, IT_DTO_SEND_CMPL_EVENT, 77, IT_DTO_SUCCESS);
	end_done(b->recv, IT_DTO_RC_RECV_CMPL_EVENT, 77, IT_DTO_SUCCESS);
	pair_disconnect(pair);
}

/*
 * contexts and addresses are integers in the byte order of this machine, and applications swap them for the
 * wire themselves. A value that was swapped once too often is invalid.
 */
static void
test_contexts(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_lmr_triplet_t out = end_segment(a, 0, 8);
	uint64_t wire = it_hton64(b->context);

	g_assert_cmpuint(b->context >> 32, ==, 0);
	g_assert_cmpuint(it_ntoh64(wire), ==, b->context);
	pair_establish(pair);
	g_assert_cmpint(it_post_rdma_write(a->ep, &out, 1, 1, SIGNALED,
					   it_make_rdma_addr_absolute(b->buffer), it_ntoh64(wire)),
			==, IT_SUCCESS);
	end_done(a->request, IT_DTO_RDMA_WRITE_CMPL_EVENT, 1, IT_DTO_SUCCESS);
	g_assert_cmpint(it_post_rdma_write(a->ep, &out, 1, 2, SIGNALED,
					   it_make_rdma_addr_absolute(b->buffer),
					   b->context | UINT64_C(1) << 40),
			==, IT_SUCCESS);
	end_expect(a->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	end_expect(b->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	end_next(a->request);
	end_reset(a);
	end_reset(b);
}

/* an endpoint that waits for the peer's request in a conversion is in that state. */
static void
test_waits_for_request(struct pair *pair)
{
	struct end *b = &pair->passive;
	struct sockaddr_in sa = {.sin_family = AF_INET};
	socklen_t len = sizeof(sa);
	int listener, ours, theirs;

	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	g_assert_cmpint(bind(listener, (struct sockaddr *)&sa, sizeof(sa)), ==, 0);
	g_assert_cmpint(listen(listener, 1), ==, 0);
	g_assert_cmpint(getsockname(listener, (struct sockaddr *)&sa, &len), ==, 0);
	theirs = socket(AF_INET, SOCK_STREAM, 0);
	g_assert_cmpint(connect(theirs, (struct sockaddr *)&sa, len), ==, 0);
	ours = accept(listener, NULL, NULL);
	g_assert_cmpint(it_socket_convert(ours, b->ep, IT_SC_DEFAULT, (const unsigned char *)"", 0),
			==, IT_SUCCESS);
	g_assert_cmpint(end_state(b), ==, IT_EP_STATE_PASSIVE_WAIT_RDMA_TRANS_REQ);
	g_assert_cmpint(it_ep_disconnect(b->ep, NULL, 0), ==, IT_SUCCESS);
	end_expect(b->cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	end_reset(b);
	close(ours);
	close(theirs);
	close(listener);
}

/* a consumer that polls the last octet of a Write sees all octets before it. */
static void
test_ascending(struct pair *pair)
{
	enum {
		LENGTH = 100000
	};
	struct end *a = &pair->active, *b = &pair->passive;
	it_lmr_triplet_t out = end_segment(a, 0, LENGTH);
	volatile unsigned char *there = b->buffer;

#ifdef __SANITIZE_THREAD__
	g_test_skip("the race is the subject of the test");
	return;
#endif
	pair_establish(pair);
	for (unsigned round = 1; round < 30; round++) {
		it_event_t event;

		memset(a->buffer, (int)round, LENGTH);
		g_assert_cmpint(it_post_rdma_write(a->ep, &out, 1, round, SIGNALED,
						   it_make_rdma_addr_absolute(b->buffer),
						   b->context),
				==, IT_SUCCESS);
		while (there[LENGTH - 1] != round)
			(void)it_evd_dequeue(b->recv, &event); /* drives the adapter */
		for (size_t i = 0; i < LENGTH; i++)
			g_assert_cmpuint(there[i], ==, round);
		end_done(a->request, IT_DTO_RDMA_WRITE_CMPL_EVENT, round, IT_DTO_SUCCESS);
	}
	pair_disconnect(pair);
}

/* R-05 for attempts: whatever ends an attempt, posted requests are completed before the event of the end. */
static void
test_attempts(struct pair *pair)
{
	static const it_event_type_t ends[] = {IT_CM_MSG_CONN_PEER_REJECT_EVENT,
					       IT_CM_MSG_CONN_DISCONNECT_EVENT,
					       IT_CM_MSG_CONN_NONPEER_REJECT_EVENT};
	struct end *a = &pair->active, *b = &pair->passive;
	it_lmr_triplet_t in = end_segment(a, 0, 100);
	it_event_t event;

	for (int round = 0; round < 30; round++) {
		int way = round / 10;

		if (way == 2 && pair->listen != NULL) { /* the listener is gone */
			pair_ok(it_listen_free(pair->listen));
			pair->listen = NULL;
		}
		for (int i = 0; i < RECV_SLOTS; i++)
			pair_ok(it_post_recv((it_handle_t)a->ep, &in, 1, 1, 0));
		pair_connect(pair);
		if (way < 2)
			event = end_expect(b->cm_req, IT_CM_REQ_CONN_REQUEST_EVENT);
		if (way == 0)
			pair_ok(it_reject(event.conn_req.cn_est_id, NULL, 0));
		if (way == 1)
			pair_ok(it_ep_disconnect(a->ep, NULL, 0));
		end_expect(a->cm_msg, ends[way]);
		for (int i = 0; i < RECV_SLOTS; i++) {
			pair_ok(it_evd_dequeue(a->recv, &event));
			g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_ERR_FLUSHED);
		}
		end_reset(a);
	}
}

/* A connected passive endpoint with those rights; a refused access ends the connection at both ends. */
static void
establish_with(struct pair *pair, bool reads, bool writes, bool atomics)
{
	it_rc_only_attributes_t *rc = &pair->passive.attr.srv.rc;

	rc->rdma_read_enable = reads ? IT_TRUE : IT_FALSE;
	rc->rdma_write_enable = writes ? IT_TRUE : IT_FALSE;
	rc->atomics_enable = atomics ? IT_TRUE : IT_FALSE;
	end_new_ep(&pair->passive);
	pair_establish(pair);
}

static void
expect_broken(struct pair *pair)
{
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	end_reset(&pair->active);
	end_reset(&pair->passive);
}

/* a Read of length 0 is a Read: the endpoint's right is checked, the region is not. */
static void
test_read_of_nothing(struct pair *pair)
{
	struct end *a = &pair->active;
	it_rdma_addr_t nowhere = it_make_rdma_addr_absolute(NULL);
	it_event_t event;

	establish_with(pair, true, false, false);
	pair_ok(it_post_rdma_read(a->ep, NULL, 0, 1, IT_COMPLETION_FLAG, nowhere, 0x12345678));
	end_done(a->request, IT_DTO_RDMA_READ_CMPL_EVENT, 1, IT_DTO_SUCCESS);
	pair_disconnect(pair);
	end_reset(a);
	end_reset(&pair->passive);

	establish_with(pair, false, true, false);
	pair_ok(it_post_rdma_read(a->ep, NULL, 0, 2, IT_COMPLETION_FLAG, nowhere, 0x12345678));
	event = end_expect(a->request, IT_DTO_RDMA_READ_CMPL_EVENT);
	g_assert_cmpint(event.dto_cmpl.dto_status, !=, IT_DTO_SUCCESS);
	expect_broken(pair);
}

/* an endpoint that permits only atomics does not let the peer invalidate its regions. */
static void
test_unlink_needs_reads_or_writes(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_lmr_triplet_t out = end_segment(a, 0, 10), in = end_segment(b, 0, 1000);

	for (int rights = 0; rights < 8; rights++) {
		bool reads = (rights & 1) != 0, writes = (rights & 2) != 0, atomics = rights >= 4;
		it_rmr_context_t context = 0;
		it_lmr_param_t params = {0};
		it_lmr_handle_t lmr;

		if (atomics && b->info->atomic_support == IT_FALSE)
			break;
		pair_ok(it_lmr_create21(b->pz, b->buffer + WINDOW, NULL, WINDOW,
					IT_ADDR_MODE_ABSOLUTE, IT_PRIV_LOCAL | IT_PRIV_REMOTE,
					IT_LMR_FLAG_NON_SHAREABLE, 0, &lmr, &context));
		establish_with(pair, reads, writes, atomics);
		pair_ok(it_post_recv((it_handle_t)b->ep, &in, 1, 4, 0));
		pair_ok(it_post_send_and_unlink(a->ep, &out, 1, 3, 0, context));
		if (reads || writes) {
			end_done(b->recv, IT_DTO_RC_RECV_CMPL_EVENT, 4, IT_DTO_SUCCESS);
			pair_disconnect(pair);
			end_reset(a);
			end_reset(b);
		} else {
			it_event_t event = end_expect(b->recv, IT_DTO_RC_RECV_CMPL_EVENT);
			g_assert_cmpint(event.dto_cmpl.dto_status, !=, IT_DTO_SUCCESS);
			expect_broken(pair);
		}
		pair_ok(it_lmr_query(lmr, IT_LMR_PARAM_LINKED, &params));
		g_assert_cmpint(params.linked, ==, reads || writes ? IT_FALSE : IT_TRUE);
		pair_ok(it_lmr_free(lmr));
		while (it_evd_dequeue(a->request, &(it_event_t){0}) == IT_SUCCESS)
			; /* the refused Send, where the transport reports it */
	}
}

static void
add_tests(void)
{
	pair_add("rulings/r-05-attempts", test_attempts);
	pair_add_for(NEEDS_CONVERSION, "rulings/r-09-waits-for-request", test_waits_for_request);
	pair_add_for(NEEDS_OVERFLOW, "rulings/r-16-overflow-default", test_overflow_default);
	pair_add_for(NEEDS_OVERFLOW, "rulings/r-16-overflow-notify", test_overflow_notify);
	pair_add_for(NEEDS_OVERFLOW, "rulings/r-16-overflow-auto-reset", test_overflow_auto_reset);
	pair_add("rulings/r-18-coalescing", test_coalescing);
	pair_add("rulings/r-21-ascending", test_ascending);
	pair_add("rulings/r-25-contexts", test_contexts);
	pair_add_for(NEEDS_READS, "rulings/r-38-read-of-nothing", test_read_of_nothing);
	pair_add_for(NEEDS_REMOTE_UNLINK | NEEDS_LMR_UNLINK, "rulings/r-39-unlink-rights",
		     test_unlink_needs_reads_or_writes);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add_tests);
}
