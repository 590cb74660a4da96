/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The actions of each step of an exchange, and how long each state lasts.
 *
 * Time-outs that the peer sends are limited: a code of 0 would make this side send 16 copies in a
 * millisecond, and one of 31 would keep memory for hours.
 */
#include <assert.h>
#include <string.h>

#include "vrc_conn.h"
#include "vrc_reason.h"

#define FIRST_WAIT_CODE 16 /* 268 ms to the first copy; twice that to each next one */
#define LAST_WAIT_CODE  20 /* 4.3 s */
#define TIME_CODE_MIN   14 /* what is believed: 67 ms */
#define TIME_CODE_MAX   22 /* 17 s */
#define MRA_CODE_MAX    25 /* 137 s */
#define MRA_SENT_CODE   24 /* what vrc_send_mra says */
#define ACK_CODE_MIN    8  /* 1 ms */
#define ACK_CODE_MAX    22
#define QUIET_FACTOR    4 /* a peer is given up after this many of its times without a copy */

typedef void vrc_act(struct vrc_conn *conn, const struct vrc_input *in);

static uint64_t
time_of(uint8_t code, uint8_t least, uint8_t most)
{
	uint8_t used = code < least ? least : code > most ? most : code;

	return UINT64_C(4096) << used;
}

static void
wait_for(struct vrc_conn *conn, uint64_t ns, uint8_t copies)
{
	conn->wait = ns;
	conn->copies_left = copies;
	conn->due = vrc_now(conn->cm) + ns;
}

/* --- events --------------------------------------------------------------------------------- */

/*
 * Queue an event. A connection has at most four pending: RI_CM_REPLY, RI_CM_ESTABLISHED, one end,
 * RI_CM_TIME_WAIT_OVER. A request that the consumer has not taken has only one.
 */
static void
raise(struct vrc_conn *conn, enum ri_cm_event_kind kind)
{
	if (conn->silent)
		return;
	assert(conn->pending_count < VRC_PENDING_MAX);
	conn->pending[conn->pending_count++] = (uint8_t)kind;
	if (conn->pending_count == 1)
		vrc_link_append(&conn->cm->ready, &conn->ready);
}

/* The one end of an attempt or a connection. */
static void
raise_end(struct vrc_conn *conn, enum ri_cm_event_kind kind, enum ri_cm_reason reason)
{
	if (conn->ended)
		return;
	conn->ended = true;
	conn->reason = reason;
	raise(conn, kind);
}

static void
hear(struct vrc_conn *conn, const struct vrc_mad *mad)
{
	conn->heard_len = (uint16_t)vrc_private_room(mad->attribute);
	memcpy(conn->heard, mad->private_data, conn->heard_len);
}

/* Linux sends RTU and DREQ without private data: zeros are none. */
static uint16_t
private_len_if_any(const struct vrc_mad *mad)
{
	size_t room = vrc_private_room(mad->attribute);

	for (size_t i = 0; i < room; i++) {
		if (mad->private_data[i] != 0)
			return (uint16_t)room;
	}
	return 0;
}

static void
hear_parting(struct vrc_conn *conn, const struct vrc_mad *mad)
{
	conn->parting_len = mad->attribute == VRC_REJ ? VRC_PDATA_REJECT : private_len_if_any(mad);
	memcpy(conn->parting, mad->private_data, conn->parting_len);
}

/* --- actions -------------------------------------------------------------------------------- */

static void
do_nothing(struct vrc_conn *conn, const struct vrc_input *in)
{
	(void)conn;
	(void)in;
}

static void
do_send(struct vrc_conn *conn, const struct vrc_input *in)
{
	(void)in;
	vrc_conn_send(conn);
}

/* In TIMEWAIT only a REJ is worth repeating. */
static void
do_repeat(struct vrc_conn *conn, const struct vrc_input *in)
{
	(void)in;
	if (conn->state != VRC_STATE_TIMEWAIT || conn->last_attribute == VRC_REJ)
		vrc_conn_send(conn);
}

static void
do_ask(struct vrc_conn *conn, const struct vrc_input *in)
{
	hear(conn, in->mad);
	raise(conn, conn->datagram ? RI_CM_SERVICE_REQUEST : RI_CM_REQUEST);
}

/* A copy says that the peer still wants an answer. */
static void
do_wait_on(struct vrc_conn *conn, const struct vrc_input *in)
{
	(void)in;
	wait_for(conn, conn->wait, 0);
}

/* Each MRA costs a copy, and without one it is ignored, so that a peer cannot prolong an exchange without end. */
static void
do_hold(struct vrc_conn *conn, const struct vrc_input *in)
{
	uint8_t left = conn->copies_left;

	if (left > 0)
		wait_for(conn, time_of(in->mad->mra.timeout, FIRST_WAIT_CODE, MRA_CODE_MAX),
			 left - 1);
}

static void
do_send_mra(struct vrc_conn *conn, const struct vrc_input *in)
{
	(void)in;
	if (conn->state == VRC_STATE_REP_RCVD) {
		vrc_send_mra(conn, VRC_ABOUT_REP);
		return;
	}
	vrc_send_mra(conn, VRC_ABOUT_REQ);
	conn->mra_sent = true;
	wait_for(conn, 2 * time_of(MRA_SENT_CODE, TIME_CODE_MIN, MRA_CODE_MAX), 0);
}

static void
do_confirm(struct vrc_conn *conn, const struct vrc_input *in)
{
	vrc_compose_rtu(conn, in);
	vrc_conn_send(conn);
	raise(conn, RI_CM_ESTABLISHED);
}

/* Two waits as powers of two, together: one more than the larger code if the smaller one counts. */
static uint8_t
times_joined(uint8_t a, uint8_t b)
{
	uint8_t larger = a > b ? a : b;
	uint8_t smaller = a > b ? b : a;

	if (smaller + 1 >= larger && larger < VRC_TIME_MAX)
		larger++;
	return larger;
}

/* On the wire 0 means no limit, and then a dead peer would not be noticed. */
uint8_t
vrc_ack_time(uint8_t code)
{
	if (code == 0 || code > ACK_CODE_MAX)
		return ACK_CODE_MAX;
	return code < ACK_CODE_MIN ? ACK_CODE_MIN : code;
}

static void
do_reply(struct vrc_conn *conn, const struct vrc_input *in)
{
	const struct vrc_mad_rep *rep = &in->mad->rep;
	const struct vrc_input none = {0};

	conn->remote_id = in->mad->local_id;
	conn->guid = rep->guid;
	conn->reach.qpn = rep->qpn;
	conn->reach.sq_psn = rep->psn;
	conn->reach.rnr_retry = rep->rnr_retry;
	conn->reach.ird = rep->initiator_depth;
	conn->reach.ord = rep->responder_depth;
	conn->peer_ird = rep->responder_depth;
	conn->peer_ord = rep->initiator_depth;
	conn->reach.timeout = vrc_ack_time(times_joined(rep->ack_delay, conn->reach.timeout));
	vrc_conn_qp_known(conn);
	hear(conn, in->mad);
	if (conn->three_way)
		raise(conn, RI_CM_REPLY);
	else
		(void)vrc_step(conn, VRC_STEP_CALL_CONFIRM, &none);
}

static void
do_rtu_again(struct vrc_conn *conn, const struct vrc_input *in)
{
	(void)in;
	if (conn->last_attribute == VRC_RTU)
		vrc_conn_send(conn);
}

static void
do_up(struct vrc_conn *conn, const struct vrc_input *in)
{
	conn->heard_len = 0;
	if (in->mad != NULL && in->mad->attribute == VRC_RTU) {
		conn->heard_len = private_len_if_any(in->mad);
		memcpy(conn->heard, in->mad->private_data, conn->heard_len);
	}
	raise(conn, RI_CM_ESTABLISHED);
}

static void
do_drep_again(struct vrc_conn *conn, const struct vrc_input *in)
{
	vrc_compose_drep(conn, in->mad->tid);
	vrc_conn_send(conn);
}

static void
do_drep(struct vrc_conn *conn, const struct vrc_input *in)
{
	do_drep_again(conn, in);
	hear_parting(conn, in->mad);
	raise_end(conn, RI_CM_DISCONNECTED, RI_CM_REASON_OTHER);
}

static void
do_drep_fail(struct vrc_conn *conn, const struct vrc_input *in)
{
	do_drep_again(conn, in);
	raise_end(conn, RI_CM_FAILED, RI_CM_REASON_OTHER);
}

static void
do_up_and_down(struct vrc_conn *conn, const struct vrc_input *in)
{
	do_up(conn, in);
	do_drep(conn, in);
}

static void
do_left(struct vrc_conn *conn, const struct vrc_input *in)
{
	(void)in;
	raise_end(conn, RI_CM_DISCONNECTED, RI_CM_REASON_OTHER);
}

static void
do_rejected(struct vrc_conn *conn, const struct vrc_input *in)
{
	enum ri_cm_reason reason = vrc_reason_of_rej(in->mad->rej.reason);

	conn->status = in->mad->rej.reason;
	hear_parting(conn, in->mad);
	raise_end(conn, reason == RI_CM_REASON_CONSUMER ? RI_CM_REJECTED : RI_CM_FAILED, reason);
}

static void
do_broken(struct vrc_conn *conn, const struct vrc_input *in)
{
	conn->status = in->mad->rej.reason;
	raise_end(conn, RI_CM_BROKEN, RI_CM_REASON_OTHER);
}

static void
do_time_out(struct vrc_conn *conn, const struct vrc_input *in)
{
	vrc_compose_rej(conn, VRC_REJ_TIMEOUT, in);
	vrc_conn_send(conn);
	raise_end(conn, RI_CM_FAILED, RI_CM_REASON_TIMEOUT);
}

static void
do_drop(struct vrc_conn *conn, const struct vrc_input *in)
{
	vrc_compose_rej(conn, VRC_REJ_TIMEOUT, in);
	vrc_conn_send(conn);
	raise_end(conn, RI_CM_DISCONNECTED, RI_CM_REASON_OTHER);
}

static void
do_leave(struct vrc_conn *conn, const struct vrc_input *in)
{
	vrc_compose_dreq(conn, in);
	vrc_conn_send(conn);
}

static void
do_stale(struct vrc_conn *conn, const struct vrc_input *in)
{
	do_leave(conn, in);
	raise_end(conn, RI_CM_BROKEN, RI_CM_REASON_STALE);
}

/* The owner knows nothing of a request that it has not taken. */
static void
do_gone(struct vrc_conn *conn, const struct vrc_input *in)
{
	(void)in;
	if (conn->told) {
		raise(conn, RI_CM_REQUEST_GONE);
		return;
	}
	conn->pending_count = 0;
	vrc_link_remove(&conn->ready);
}

static void
do_rej_stale(struct vrc_conn *conn, const struct vrc_input *in)
{
	struct vrc_mad_rej rej = {.about = VRC_ABOUT_REQ, .reason = VRC_REJ_STALE};

	if (conn->last_attribute == VRC_REJ)
		vrc_conn_send(conn);
	else
		vrc_send_rej(conn->cm, &conn->path, in->mad, &rej);
}

static void
do_service(struct vrc_conn *conn, const struct vrc_input *in)
{
	const struct vrc_mad_sidr_rep *rep = &in->mad->sidr_rep;

	conn->status = rep->status;
	conn->service_qpn = rep->status == VRC_SIDR_FOUND ? rep->qpn : 0;
	conn->service_qkey = rep->status == VRC_SIDR_FOUND ? rep->qkey : 0;
	hear(conn, in->mad);
	raise(conn, RI_CM_SERVICE_REPLY);
}

static void
do_no_service(struct vrc_conn *conn, const struct vrc_input *in)
{
	(void)in;
	conn->status = VRC_SIDR_REJECTED;
	raise(conn, RI_CM_SERVICE_REPLY);
}

static void
do_forget(struct vrc_conn *conn, const struct vrc_input *in)
{
	(void)in;
	raise(conn, RI_CM_TIME_WAIT_OVER);
}

static vrc_act *const actions[VRC_ACTION_COUNT] = {
	[VRC_DO_NOTHING] = do_nothing,
	[VRC_DO_SEND] = do_send,
	[VRC_DO_SEND_ONCE] = do_send,
	[VRC_DO_REPEAT] = do_repeat,
	[VRC_DO_ASK] = do_ask,
	[VRC_DO_WAIT_ON] = do_wait_on,
	[VRC_DO_HOLD] = do_hold,
	[VRC_DO_SEND_MRA] = do_send_mra,
	[VRC_DO_REPLY] = do_reply,
	[VRC_DO_CONFIRM] = do_confirm,
	[VRC_DO_RTU_AGAIN] = do_rtu_again,
	[VRC_DO_UP] = do_up,
	[VRC_DO_UP_AND_DOWN] = do_up_and_down,
	[VRC_DO_DREP] = do_drep,
	[VRC_DO_DREP_FAIL] = do_drep_fail,
	[VRC_DO_DREP_AGAIN] = do_drep_again,
	[VRC_DO_LEFT] = do_left,
	[VRC_DO_REJECTED] = do_rejected,
	[VRC_DO_BROKEN] = do_broken,
	[VRC_DO_TIME_OUT] = do_time_out,
	[VRC_DO_DROP] = do_drop,
	[VRC_DO_LEAVE] = do_leave,
	[VRC_DO_STALE] = do_stale,
	[VRC_DO_GONE] = do_gone,
	[VRC_DO_REJ_STALE] = do_rej_stale,
	[VRC_DO_SERVICE] = do_service,
	[VRC_DO_NO_SERVICE] = do_no_service,
	[VRC_DO_FORGET] = do_forget,
};

/* --- steps ---------------------------------------------------------------------------------- */

/* A state begins: how long it lasts, and what becomes of the deadline and of the listener's count. */
static void
state_begin(struct vrc_conn *conn)
{
	struct vrc_cm *cm = conn->cm;
	uint64_t peer = time_of(conn->peer_time, TIME_CODE_MIN, TIME_CODE_MAX);
	uint64_t first = time_of(FIRST_WAIT_CODE, TIME_CODE_MIN, TIME_CODE_MAX);

	if (conn->state != VRC_STATE_REQ_HELD && conn->state != VRC_STATE_REP_HELD)
		conn->due = RI_NEVER;
	switch (conn->state) {
	case VRC_STATE_REQ_SENT:
	case VRC_STATE_SIDR_SENT:
		wait_for(conn, first, VRC_RETRIES_MAX);
		break;
	case VRC_STATE_REP_SENT:
		wait_for(conn, first, conn->peer_retries);
		break;
	case VRC_STATE_DREQ_SENT:
		wait_for(conn, first, VRC_RETRIES_MAX);
		conn->deadline = RI_NEVER;
		break;
	case VRC_STATE_REQ_RCVD:
		wait_for(conn, QUIET_FACTOR * peer, 0);
		break;
	case VRC_STATE_SIDR_RCVD:
		/* No message withdraws a query. Copies come at most `peer` apart, so one that comes late is heard. */
		wait_for(conn, peer + peer / 2, 0);
		break;
	case VRC_STATE_TIMEWAIT:
		wait_for(conn, time_of(conn->reach.timeout, TIME_CODE_MIN, TIME_CODE_MAX), 0);
		conn->deadline = RI_NEVER;
		break;
	case VRC_STATE_ANSWERED:
		/* A peer that waits because of an MRA asks again as late as that. */
		if (conn->mra_sent)
			peer += time_of(MRA_SENT_CODE, TIME_CODE_MIN, MRA_CODE_MAX);
		wait_for(conn, cm->remembered < cm->config.max_requests ? 2 * peer : 0, 0);
		cm->remembered++;
		break;
	case VRC_STATE_ESTABLISHED:
	case VRC_STATE_OVER:
		conn->deadline = RI_NEVER;
		break;
	case VRC_STATE_NONE:
	case VRC_STATE_NEW:
	case VRC_STATE_REQ_HELD:
	case VRC_STATE_REP_HELD:
	case VRC_STATE_REP_RCVD:
	case VRC_STATE_COUNT:
	default:
		break;
	}
	if (conn->state != VRC_STATE_REQ_RCVD && conn->state != VRC_STATE_SIDR_RCVD)
		vrc_request_uncount(conn);
}

/* The next copy follows after twice the time. */
static void
wait_longer(struct vrc_conn *conn)
{
	uint64_t most = time_of(LAST_WAIT_CODE, TIME_CODE_MIN, TIME_CODE_MAX);
	uint64_t longer = conn->wait < most / 2 ? conn->wait * 2 : most;

	wait_for(conn, longer, conn->copies_left > 0 ? conn->copies_left - 1 : 0);
}

bool
vrc_step_allowed(const struct vrc_conn *conn, enum vrc_step step)
{
	enum vrc_action action;

	return vrc_state_next(conn->state, step, &action) != VRC_STATE_NONE;
}

bool
vrc_step(struct vrc_conn *conn, enum vrc_step step, const struct vrc_input *in)
{
	enum vrc_action action;
	enum vrc_state old = conn->state;
	enum vrc_state next = vrc_state_next(old, step, &action);

	if (next == VRC_STATE_NONE)
		return false;
	conn->state = next;
	if (old == VRC_STATE_ANSWERED && next != old)
		conn->cm->remembered--;
	if (step == VRC_STEP_AGAIN)
		wait_longer(conn);
	else if (next != old)
		state_begin(conn);
	actions[action](conn, in);
	vrc_timer_update(conn);
	if (step != VRC_STEP_CALL_CONFIRM) /* else vrc_step may have called itself */
		vrc_conn_settle(conn);
	return true;
}

void
vrc_conn_settle(struct vrc_conn *conn)
{
	if (conn->state == VRC_STATE_OVER && conn->pending_count == 0)
		vrc_conn_free(conn);
}
