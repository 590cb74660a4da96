/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Asynchronous events [IT 14] whose causes an application can produce, on either side: the event at
 * the side that refuses, and the event at its peer. An iWARP peer is notified by a Terminate. An
 * InfiniBand requester learns everything from its completion, and an InfiniBand responder knows
 * fewer kinds. Causes that need a broken peer or adapter are in test-itapi-async-wire.c and
 * -async-faults.c.
 */

#include <string.h>

#include "it_pair.h"

#define NOTHING                   ((it_event_type_t)0)
#define EVENTS(iwarp, infiniband) ((const it_event_type_t[2]){iwarp, infiniband})

struct scene {
	struct pair *pair;
	bool iwarp;
	bool free;              /* which side reports what is not settled by a claim */
	it_evd_handle_t active; /* the affiliated events of either side */
	it_evd_handle_t passive;
};

static void
scene_open(struct scene *s, struct pair *pair)
{
	s->pair = pair;
	s->iwarp = pair->active.info->transport_type == IT_IWARP_TCP_TRANSPORT;
	s->free = pair_certified();
	pair_ok(it_evd_create(pair->active.ia, IT_ASYNC_AFF_EVENT_STREAM, 0, 16, 1, NULL,
			      &s->active, NULL));
	pair_ok(it_evd_create(pair->passive.ia, IT_ASYNC_AFF_EVENT_STREAM, 0, 16, 1, NULL,
			      &s->passive, NULL));
}

static void
expect(it_evd_handle_t evd, it_event_type_t number, it_ep_handle_t ep)
{
	it_event_t event;

	if (number == NOTHING)
		return;
	event = end_expect(evd, number);
	g_assert_true(event.aff_async.cause.ep == ep);
}

/*
 * No claim says which side reports a fault that no completion reports. So such an event is allowed: one of these two,
 * for that endpoint.
 */
static void
allow(it_evd_handle_t evd, it_event_type_t one, it_event_type_t other, it_ep_handle_t ep)
{
	it_event_t event;

	if (it_evd_dequeue(evd, &event) != IT_SUCCESS)
		return;
	if (event.event_number != other)
		g_assert_cmphex(event.event_number, ==, one);
	g_assert_cmphex(event.event_number, !=, NOTHING);
	g_assert_true(event.aff_async.cause.ep == ep);
}

/*
 * Each side must get the event of its transport, the first of the two on iWARP and the second on InfiniBand, and the
 * end of its connection, and no other event.
 */
static void
events_close(struct scene *s, const it_event_type_t active[2], const it_event_type_t passive[2])
{
	struct pair *pair = s->pair;
	unsigned which = s->iwarp ? 0 : 1;

	if (s->free) {
		allow(s->active, active[0], active[1], pair->active.ep);
		allow(s->passive, passive[0], passive[1], pair->passive.ep);
	} else {
		expect(s->active, active[which], pair->active.ep);
		expect(s->passive, passive[which], pair->passive.ep);
	}
	end_expect_none(s->active);
	end_expect_none(s->passive);
	pair_ok(it_evd_free(s->active));
	pair_ok(it_evd_free(s->passive));
}

/* Likewise, and both connections are broken. */
static void
scene_close(struct scene *s, const it_event_type_t active[2], const it_event_type_t passive[2])
{
	end_expect(s->pair->active.cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	end_expect(s->pair->passive.cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	events_close(s, active, passive);
}

static void
write_to(const struct pair *pair, unsigned char *to, it_rmr_context_t context)
{
	it_lmr_triplet_t out = end_segment(&pair->active, 0, 8);

	pair_ok(it_post_rdma_write(pair->active.ep, &out, 1, 1, IT_COMPLETION_FLAG,
				   it_make_rdma_addr_absolute(to), context));
}

/* --- tagged messages ---------------------------------------------------------------------- */

/* An RDMA Write with a wrong key ends the connection, and an event of it names the access. */
static void
test_write_key(struct pair *pair)
{
	struct scene s;

	scene_open(&s, pair);
	pair_establish(pair);
	write_to(pair, pair->passive.buffer, pair->passive.context ^ 0x5500);
	scene_close(&s, EVENTS(IT_ASYNC_AFF_EP_R_ACCESS_VIOLATION, NOTHING),
		    EVENTS(IT_ASYNC_AFF_EP_L_ACCESS_VIOLATION, IT_ASYNC_AFF_EP_L_ACCESS_VIOLATION));
}

/* An RDMA Write beyond the end of its region ends the connection. */
static void
test_write_bounds(struct pair *pair)
{
	struct scene s;

	scene_open(&s, pair);
	pair_establish(pair);
	write_to(pair, pair->passive.buffer + END_BUFFER - 4, pair->passive.context);
	scene_close(&s, EVENTS(IT_ASYNC_AFF_EP_R_ACCESS_VIOLATION, NOTHING),
		    EVENTS(IT_ASYNC_AFF_EP_L_ACCESS_VIOLATION, IT_ASYNC_AFF_EP_L_ACCESS_VIOLATION));
}

/* An RDMA Read with a wrong key ends the connection. */
static void
test_read_key(struct pair *pair)
{
	it_lmr_triplet_t sink = end_segment(&pair->active, 0, 8);
	struct scene s;

	scene_open(&s, pair);
	pair_establish(pair);
	pair_ok(it_post_rdma_read(pair->active.ep, &sink, 1, 1, IT_COMPLETION_FLAG,
				  it_make_rdma_addr_absolute(pair->passive.buffer),
				  pair->passive.context ^ 0x5500));
	scene_close(&s, EVENTS(IT_ASYNC_AFF_EP_R_ACCESS_VIOLATION, NOTHING),
		    EVENTS(IT_ASYNC_AFF_EP_L_IRRQ_ACCESS_VIOLATION,
			   IT_ASYNC_AFF_EP_L_ACCESS_VIOLATION));
}

/* --- messages ----------------------------------------------------------------------------- */

/* No receive is posted for longer than the adapter waits. */
static void
test_no_receive(struct pair *pair)
{
	it_lmr_triplet_t out = end_segment(&pair->active, 0, 8);
	struct scene s;

	scene_open(&s, pair);
	pair_establish(pair);
	pair_ok(it_post_send(pair->active.ep, &out, 1, 1, IT_COMPLETION_FLAG));
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	if (s.iwarp)
		end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	else
		end_expect_broken_by_peer(&pair->passive);
	events_close(&s, EVENTS(IT_ASYNC_AFF_EP_R_RECV_ACCESS_VIOLATION, NOTHING),
		     EVENTS(IT_ASYNC_AFF_EP_L_RECV_ACCESS_VIOLATION, NOTHING));
}

/* The completion of the receive reports the error, so no event does. */
static void
test_too_long(struct pair *pair)
{
	it_lmr_triplet_t out = end_segment(&pair->active, 0, 65);
	it_lmr_triplet_t in = end_segment(&pair->passive, 0, 64);
	struct scene s;
	it_event_t event;

	scene_open(&s, pair);
	pair_establish(pair);
	pair_ok(it_post_recv((it_handle_t)pair->passive.ep, &in, 1, 1, 0));
	pair_ok(it_post_send(pair->active.ep, &out, 1, 1, IT_COMPLETION_FLAG));
	event = end_expect(pair->passive.recv, IT_DTO_RC_RECV_CMPL_EVENT);
	g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_ERR_LOCAL_LENGTH);
	scene_close(&s, EVENTS(IT_ASYNC_AFF_EP_R_RECV_LENGTH_ERROR, NOTHING),
		    EVENTS(NOTHING, NOTHING));
}

/*
 * The receive names memory that cannot be written: the Terminate has another code, and the peer learns only that
 * there was an error.
 */
static void
test_bad_receive(struct pair *pair)
{
	it_lmr_triplet_t out = end_segment(&pair->active, 0, 8);
	it_lmr_triplet_t in = end_segment(&pair->passive, 0, 64);
	struct scene s;
	it_event_t event;

	scene_open(&s, pair);
	pair_ok(it_lmr_create20(pair->passive.pz, pair->passive.buffer, 64, IT_ADDR_MODE_ABSOLUTE,
				IT_PRIV_LOCAL_READ, 0, 0, &in.lmr, NULL));
	pair_establish(pair);
	pair_ok(it_post_recv((it_handle_t)pair->passive.ep, &in, 1, 1, 0));
	pair_ok(it_post_send(pair->active.ep, &out, 1, 1, IT_COMPLETION_FLAG));
	event = end_expect(pair->passive.recv, IT_DTO_RC_RECV_CMPL_EVENT);
	g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_ERR_LOCAL_PROTECTION);
	scene_close(&s, EVENTS(IT_ASYNC_AFF_EP_R_ERROR, NOTHING), EVENTS(NOTHING, NOTHING));
	pair_ok(it_lmr_free(in.lmr));
}

/* --- the peer ----------------------------------------------------------------------------- */

/* The peer's process dies, as this side sees it. */
static void
test_peer_gone(struct pair *pair)
{
	struct scene s;

	scene_open(&s, pair);
	pair_establish(pair);
	pair_ok(it_ep_free(pair->active.ep));
	pair->active.ep = NULL;
	end_expect_broken_by_peer(&pair->passive);
	if (s.free)
		allow(s.passive, IT_ASYNC_AFF_EP_L_LLP_ERROR, NOTHING, pair->passive.ep);
	else
		expect(s.passive, s.iwarp ? IT_ASYNC_AFF_EP_L_LLP_ERROR : NOTHING,
		       pair->passive.ep);
	end_expect_none(s.active);
	end_expect_none(s.passive);
	pair_ok(it_evd_free(s.active));
	pair_ok(it_evd_free(s.passive));
}

/* An orderly end is no error on either side. */
static void
test_orderly(struct pair *pair)
{
	struct scene s;

	scene_open(&s, pair);
	pair_establish(pair);
	pair_disconnect(pair);
	end_expect_none(s.active);
	end_expect_none(s.passive);
	pair_ok(it_evd_free(s.active));
	pair_ok(it_evd_free(s.passive));
}

/* --- dispatchers -------------------------------------------------------------------------- */

/*
 * A full SEVD of requests refuses the next request. In notify mode one affiliated event says that the SEVD
 * overflowed.
 */
static void
test_requests_full(struct pair *pair)
{
	it_evd_param_t params = {.sevd_queue_size = 1, .evd_flag = IT_EVD_OVERFLOW_NOTIFY};
	it_ep_handle_t eps[3] = {NULL};
	struct end *a = &pair->active;
	struct scene s;
	it_event_t event;
	unsigned refused = 0;

	scene_open(&s, pair);
	pair_ok(it_evd_modify(
		pair->passive.cm_req,
		(it_evd_param_mask_t)((unsigned)IT_EVD_PARAM_QUEUE_SIZE | IT_EVD_PARAM_FLAG),
		&params));
	pair_ok(it_evd_query(pair->passive.cm_req, IT_EVD_PARAM_QUEUE_SIZE, &params));
	g_assert_cmpuint(params.sevd_queue_size, <, G_N_ELEMENTS(eps));
	for (size_t i = 0; i < G_N_ELEMENTS(eps); i++) {
		pair_ok(it_ep_rc_create(a->pz, a->request, a->recv, a->cm_msg, IT_EP_NO_FLAG,
					&a->attr, &eps[i]));
		pair_ok(it_ep_connect(eps[i], &pair->path, NULL, &pair->qual,
				      IT_CONNECT_FLAG_TWO_WAY, NULL, 0));
	}
	event = end_expect(s.passive, IT_ASYNC_AFF_SEVD_FULL_ERROR);
	g_assert_true(event.aff_async.cause.sevd == pair->passive.cm_req);
	for (; refused < G_N_ELEMENTS(eps) - params.sevd_queue_size; refused++) {
		event = end_expect(a->cm_msg, IT_CM_MSG_CONN_NONPEER_REJECT_EVENT);
		g_assert_cmpint(event.conn.reject_reason_code, ==, pair_no_room());
	}
	end_expect_none(s.passive);
	for (size_t i = 0; i < G_N_ELEMENTS(eps); i++)
		pair_ok(it_ep_free(eps[i]));
	pair_ok(it_evd_free(s.active));
	pair_ok(it_evd_free(s.passive));
}

/* An event for a full SEVD is lost; the state of the endpoint is right nevertheless. */
static void
test_messages_full(struct pair *pair)
{
	it_evd_param_t params = {.sevd_queue_size = 1, .evd_flag = IT_EVD_OVERFLOW_NOTIFY};
	struct scene s;
	it_event_t event;

	scene_open(&s, pair);
	pair_ok(it_evd_modify(
		pair->active.cm_msg,
		(it_evd_param_mask_t)((unsigned)IT_EVD_PARAM_QUEUE_SIZE | IT_EVD_PARAM_FLAG),
		&params));
	pair_connect(pair);
	event = end_expect(pair->passive.cm_req, IT_CM_REQ_CONN_REQUEST_EVENT);
	pair_ok(it_ep_accept(pair->passive.ep, event.conn_req.cn_est_id, NULL, 0));
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	PAIR_UNTIL(end_state(&pair->active) == IT_EP_STATE_CONNECTED);
	/* ESTABLISHED fills it; the event of the end is lost. */
	pair_ok(it_ep_disconnect(pair->active.ep, NULL, 0));
	event = end_expect(s.active, IT_ASYNC_AFF_SEVD_FULL_ERROR);
	g_assert_true(event.aff_async.cause.sevd == pair->active.cm_msg);
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	end_expect_none(pair->active.cm_msg);
	end_reset(&pair->active);
	end_expect_none(s.active);
	pair_ok(it_evd_free(s.active));
	pair_ok(it_evd_free(s.passive));
}

/* Cause one affiliated event on the passive side by a Write with a wrong key, then connect again. */
static void
one_event(struct pair *pair)
{
	pair_establish(pair);
	write_to(pair, pair->passive.buffer, pair->passive.context ^ 0x5500);
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	end_reset(&pair->active);
	end_reset(&pair->passive);
}

/* Does the passive side report an access error? Of a certified adapter no claim says so, and then it is tried. */
static bool
reports_access(struct pair *pair)
{
	it_evd_handle_t evd = NULL;
	it_event_t event;
	bool reports;

	if (!pair_certified())
		return true;
	pair_ok(it_evd_create(pair->passive.ia, IT_ASYNC_AFF_EVENT_STREAM, 0, 4, 1, NULL, &evd,
			      NULL));
	one_event(pair);
	reports = it_evd_dequeue(evd, &event) == IT_SUCCESS;
	pair_ok(it_evd_free(evd));
	if (!reports)
		pair_inapplicable("the adapter reports no access error, and no claim says so");
	return reports;
}

/* Events for a full asynchronous SEVD are lost; connections are not disturbed. */
static void
test_async_full(struct pair *pair)
{
	it_evd_param_t params;
	it_evd_handle_t evd = NULL;
	it_event_t event;
	size_t room;

	if (!reports_access(pair))
		return;
	pair_ok(it_evd_create(pair->passive.ia, IT_ASYNC_AFF_EVENT_STREAM, IT_EVD_OVERFLOW_NOTIFY,
			      1, 1, NULL, &evd, NULL));
	pair_resize(evd, 1);
	pair_ok(it_evd_query(evd, IT_EVD_PARAM_QUEUE_SIZE, &params));
	room = params.sevd_queue_size;
	g_assert_cmpuint(room, <, 16);
	for (size_t i = 0; i < room + 2; i++)
		one_event(pair);
	for (size_t i = 0; i < room; i++) {
		event = end_expect(evd, IT_ASYNC_AFF_EP_L_ACCESS_VIOLATION);
		g_assert_true(event.aff_async.cause.ep == pair->passive.ep ||
			      !end_has(&pair->passive, NEEDS_REUSE)); /* of an earlier one */
	}
	end_expect_none(evd);
	one_event(pair);
	end_expect(evd, IT_ASYNC_AFF_EP_L_ACCESS_VIOLATION);
	pair_ok(it_evd_free(evd));
}

/* Without a SEVD for them events are discarded; a SEVD that is made later gets no earlier event. */
static void
test_unheard(struct pair *pair)
{
	it_evd_handle_t evd = NULL;
	it_ia_info_t *info = NULL;

	if (!reports_access(pair))
		return;
	one_event(pair);
	pair_ok(it_evd_create(pair->passive.ia, IT_ASYNC_AFF_EVENT_STREAM, 0, 4, 1, NULL, &evd,
			      NULL));
	end_expect_none(evd);
	pair_ok(it_ia_query(pair->passive.ia, &info));
	g_assert_true(info->affiliated_err_evd == evd);
	it_ia_info_free(info);
	one_event(pair);
	end_expect(evd, IT_ASYNC_AFF_EP_L_ACCESS_VIOLATION);
	pair_ok(it_evd_free(evd));
	one_event(pair);
}

static void
add(void)
{
	pair_add("async/write-key", test_write_key);
	pair_add("async/write-bounds", test_write_bounds);
	pair_add("async/read-key", test_read_key);
	pair_add_impatient(0, "async/no-receive", test_no_receive);
	pair_add("async/too-long", test_too_long);
	pair_add("async/bad-receive", test_bad_receive);
	pair_add("async/peer-gone", test_peer_gone);
	pair_add("async/orderly", test_orderly);
	pair_add("async/requests-full", test_requests_full);
	pair_add("async/messages-full", test_messages_full);
	pair_add("async/async-full", test_async_full);
	pair_add("async/unheard", test_unheard);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
