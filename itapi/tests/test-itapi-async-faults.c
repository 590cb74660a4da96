/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Asynchronous events [IT 14] whose cause lies inside an adapter, or in a peer that breaks the protocol. They are
 * produced through the fault door of vp/emul, whose InfiniBand personality refuses faults that InfiniBand does
 * not have.
 */

#include <string.h>

#include "it_fault.h"
#include "it_shared.h"
#include "it_spigot.h"

struct async_evds {
	it_evd_handle_t active;
	it_evd_handle_t passive;
};

static it_evd_handle_t
evd_new(const struct end *end, it_event_type_t stream, it_evd_flags_t flags)
{
	it_evd_handle_t evd = NULL;

	pair_ok(it_evd_create(end->ia, stream, flags, 64, 1, NULL, &evd, NULL));
	return evd;
}

static void
async_evds_open(struct async_evds *evds, const struct pair *pair)
{
	evds->active = evd_new(&pair->active, IT_ASYNC_AFF_EVENT_STREAM, 0);
	evds->passive = evd_new(&pair->passive, IT_ASYNC_AFF_EVENT_STREAM, 0);
}

static void
async_evds_close(const struct async_evds *evds)
{
	end_expect_none(evds->active);
	end_expect_none(evds->passive);
	pair_ok(it_evd_free(evds->active));
	pair_ok(it_evd_free(evds->passive));
}

static void
expect_cause(it_evd_handle_t evd, it_event_type_t number, void *cause)
{
	it_event_t event = end_expect(evd, number);

	g_assert_true((void *)event.aff_async.cause.ep == cause);
}

/* --- the stream of an endpoint ------------------------------------------------------------ */

/* One fault: what it is, and which event it causes here and at the peer; 0: none. */
struct breaking {
	const char *how;
	it_event_type_t here;
	it_event_type_t there; /* on iWARP; an InfiniBand peer only sees the connection end */
	bool infiniband;
};

static const struct breaking breakings[] = {
	{"inside", IT_ASYNC_AFF_EP_FAILURE, IT_ASYNC_AFF_EP_R_ERROR, true},
	{"opcode", IT_ASYNC_AFF_EP_BAD_TRANSPORT_OPCODE, IT_ASYNC_AFF_EP_R_ERROR, true},
	{"access", IT_ASYNC_AFF_EP_L_ACCESS_VIOLATION, IT_ASYNC_AFF_EP_R_ACCESS_VIOLATION, true},
	{"bounds", IT_ASYNC_AFF_EP_L_ACCESS_VIOLATION, IT_ASYNC_AFF_EP_R_ACCESS_VIOLATION, true},
	{"version", IT_ASYNC_AFF_EP_L_TRANSPORT_ERROR, IT_ASYNC_AFF_EP_R_ERROR, false},
	{"queue", IT_ASYNC_AFF_EP_L_TRANSPORT_ERROR, IT_ASYNC_AFF_EP_R_ERROR, false},
	{"gap", IT_ASYNC_AFF_EP_L_RECV_ACCESS_VIOLATION, IT_ASYNC_AFF_EP_R_RECV_ACCESS_VIOLATION,
	 false},
	{"crc", IT_ASYNC_AFF_EP_L_LLP_ERROR, IT_ASYNC_AFF_EP_R_ERROR, false},
	{"reset", IT_ASYNC_AFF_EP_L_LLP_ERROR, IT_ASYNC_AFF_EP_L_LLP_ERROR, false},
	{"lost", IT_ASYNC_AFF_EP_L_LLP_ERROR, IT_ASYNC_AFF_EP_L_LLP_ERROR, false},
	{"gone", (it_event_type_t)0, IT_ASYNC_AFF_EP_L_LLP_ERROR, true},
};

static void
break_once(struct pair *pair, const struct faults *faults, const struct async_evds *evds,
	   const struct breaking *b)
{
	bool ib = pair->active.info->transport_type == IT_IB_TRANSPORT;
	g_autofree char *command = g_strdup_printf("fail qp last %s", b->how);

	g_test_message("%s", b->how);

	if (ib && !b->infiniband) {
		g_autofree char *answer = fault_query(faults->passive, command);

		g_assert_cmpstr(answer, !=, "ok");
		return;
	}
	pair_establish(pair);
	fault_say(faults->passive, command);
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	if (b->here != 0)
		expect_cause(evds->passive, b->here, pair->passive.ep);
	if (!ib)
		expect_cause(evds->active, b->there, pair->active.ep);
	end_reset(&pair->active);
	end_reset(&pair->passive);
}

/* Each way in which a stream can fail raises its own event, and ends the connection on both sides. */
static void
test_streams(struct pair *pair)
{
	struct faults faults;
	struct async_evds evds;

	if (!faults_meet(&faults))
		return;
	async_evds_open(&evds, pair);
	for (size_t i = 0; i < G_N_ELEMENTS(breakings); i++)
		break_once(pair, &faults, &evds, &breakings[i]);
	async_evds_close(&evds);
	faults_part(&faults);
}

/* What a peer did after the endpoint was freed causes no event. */
static void
test_freed(struct pair *pair)
{
	struct faults faults;
	struct async_evds evds;

	if (!faults_meet(&faults))
		return;
	async_evds_open(&evds, pair);
	pair_establish(pair);
	pair_ok(it_ep_free(pair->active.ep));
	pair->active.ep = NULL;
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	fault_say(faults.passive,
		  "call pd_create 9 none"); /* every event that will come has come */
	if (pair->active.info->transport_type == IT_IWARP_TCP_TRANSPORT)
		expect_cause(evds.passive, IT_ASYNC_AFF_EP_L_LLP_ERROR, pair->passive.ep);
	async_evds_close(&evds);
	faults_part(&faults);
}

/* --- event dispatchers -------------------------------------------------------------------- */

/* The completion queue of an end's receive SEVD, which is the second one that the end made. */
#define RECEIVE_CQ "2"

/* A completion queue that fails raises an event for its SEVD, and breaks the endpoints on it. */
static void
test_sevd_failure(struct pair *pair)
{
	struct faults faults;
	struct async_evds evds;
	it_event_t event;
	it_lmr_triplet_t in = end_segment(&pair->passive, 0, 64);

	if (!faults_meet(&faults))
		return;
	async_evds_open(&evds, pair);
	pair_establish(pair);
	pair_ok(it_post_recv((it_handle_t)pair->passive.ep, &in, 1, 5, 0));
	fault_say(faults.passive, "fail cq " RECEIVE_CQ);
	expect_cause(evds.passive, IT_ASYNC_AFF_SEVD_OP_ERROR, pair->passive.recv);
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	event = end_expect(pair->passive.recv, IT_DTO_RC_RECV_CMPL_EVENT);
	g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_ERR_FLUSHED);
	if (pair->active.info->transport_type == IT_IWARP_TCP_TRANSPORT)
		expect_cause(evds.active, IT_ASYNC_AFF_EP_R_ERROR, pair->active.ep);
	async_evds_close(&evds);
	faults_part(&faults);
}

/* An overflow without a known cause is reported if the application asked for that event. */
static void
test_sevd_full(struct pair *pair)
{
	struct faults faults;
	struct async_evds evds;
	it_evd_param_t params = {.evd_flag = IT_EVD_OVERFLOW_NOTIFY};

	if (!faults_meet(&faults))
		return;
	async_evds_open(&evds, pair);
	fault_say(faults.passive, "full cq " RECEIVE_CQ);
	end_expect_none(evds.passive);
	pair_ok(it_evd_query(pair->passive.recv, IT_EVD_PARAM_OVERFLOWED, &params));
	while (!params.evd_overflowed)
		pair_ok(it_evd_query(pair->passive.recv, IT_EVD_PARAM_OVERFLOWED, &params));
	params.evd_overflowed = IT_FALSE;
	params.evd_flag = IT_EVD_OVERFLOW_NOTIFY;
	pair_ok(it_evd_modify(
		pair->passive.recv,
		(it_evd_param_mask_t)((unsigned)IT_EVD_PARAM_OVERFLOWED | IT_EVD_PARAM_FLAG),
		&params));
	pair_establish(pair);
	fault_say(faults.passive, "full cq " RECEIVE_CQ);
	expect_cause(evds.passive, IT_ASYNC_AFF_SEVD_FULL_ERROR, pair->passive.recv);
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	if (pair->active.info->transport_type == IT_IWARP_TCP_TRANSPORT)
		expect_cause(evds.active, IT_ASYNC_AFF_EP_R_ERROR, pair->active.ep);
	async_evds_close(&evds);
	faults_part(&faults);
}

/* --- shared receive queues ---------------------------------------------------------------- */

/* The S-RQ fails and says so; each endpoint breaks when it next needs a receive, not before. */
static void
test_srq(struct pair *pair)
{
	struct faults faults;
	struct shared s;
	struct shared_link first, second;
	bool iwarp = pair->active.info->transport_type == IT_IWARP_TCP_TRANSPORT;

	if (!faults_meet(&faults))
		return;
	shared_open(&s, pair);
	first = shared_connect(&s, 0, IT_HARD_HI_WATERMARK_DISABLE);
	second = shared_connect(&s, 0, IT_HARD_HI_WATERMARK_DISABLE);
	shared_post(&s, 1);
	shared_send(&s, &first, 1);
	g_assert_cmpuint(shared_receive(&s, first.passive), ==, 1);
	fault_say(faults.passive, "fail srq last");
	shared_expect(&s, IT_ASYNC_AFF_SRQ_CATASTROPHIC, s.srq);
	shared_send(&s, &second, 2);
	if (iwarp)
		shared_expect(&s, IT_ASYNC_AFF_EP_SRQ_ERROR, second.passive);
	g_assert_true(end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT).conn.ep ==
		      second.passive);
	g_assert_true(end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT).conn.ep ==
		      second.active);
	shared_expect_none(&s);
	shared_disconnect(&s, &first);
	shared_disconnect(&s, &second);
	shared_close(&s);
	faults_part(&faults);
}

/* --- the spigot --------------------------------------------------------------------------- */

/* Port down: an event says so and no data moves. Port up: an event says so and the waiting data moves. */
static void
test_spigot(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_evd_handle_t unaff = evd_new(a, IT_ASYNC_UNAFF_EVENT_STREAM, 0);
	it_lmr_triplet_t out = end_segment(a, 0, 8), in = end_segment(b, 0, 64);
	it_ep_handle_t other = NULL;
	struct faults faults;
	it_event_t event;

	if (faults_meet(&faults)) {
		pair_establish(pair);
		fault_say(faults.active, "port down");
		event = end_expect(unaff, IT_ASYNC_UNAFF_SPIGOT_OFFLINE);
		g_assert_true(event.unaff_async.ia == a->ia);
		g_assert_cmpuint(event.unaff_async.spigot_id, ==, 0);
		g_assert_false(end_is_online(a, 0));
		g_assert_true(end_is_online(b, 0));
		pair_ok(it_post_recv((it_handle_t)b->ep, &in, 1, 1, 0));
		pair_ok(it_post_send(a->ep, &out, 1, 1, IT_COMPLETION_FLAG));
		end_expect_none(a->request);
		pair_ok(it_ep_rc_create(a->pz, a->request, a->recv, a->cm_msg, IT_EP_NO_FLAG,
					&a->attr, &other));
		pair_ok(it_ep_connect(other, &pair->path, NULL, &pair->qual,
				      IT_CONNECT_FLAG_TWO_WAY, NULL, 0));
		event = end_expect(a->cm_msg, IT_CM_MSG_CONN_NONPEER_REJECT_EVENT);
		g_assert_cmpint(event.conn.reject_reason_code, ==, IT_CN_REJ_BAD_PATH);
		pair_ok(it_ep_free(other));
		end_expect_none(a->request);
		fault_say(faults.active, "port up");
		event = end_expect(unaff, IT_ASYNC_UNAFF_SPIGOT_ONLINE);
		g_assert_true(event.unaff_async.ia == a->ia);
		g_assert_true(end_is_online(a, 0));
		end_expect(b->recv, IT_DTO_RC_RECV_CMPL_EVENT);
		end_expect(a->request, IT_DTO_SEND_CMPL_EVENT);
		fault_say(faults.active, "port up"); /* the state agrees */
		end_expect_none(unaff);
		pair_disconnect(pair);
		faults_part(&faults);
	}
	pair_ok(it_evd_free(unaff));
}

static void
add(void)
{
	fault_begin();
	pair_add("async/inside/streams", test_streams);
	pair_add("async/inside/freed", test_freed);
	pair_add("async/inside/sevd-failure", test_sevd_failure);
	pair_add("async/inside/sevd-full", test_sevd_full);
	pair_add_for(NEEDS_SRQ, "async/inside/srq", test_srq);
	pair_add_for(NEEDS_SPIGOT_EVENTS, "async/inside/spigot", test_spigot);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
