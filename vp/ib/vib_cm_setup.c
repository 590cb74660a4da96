/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Executes the steps of a connection: calls of librdmacm, moves of the queue pair, and its events.
 *
 *     InfiniBand, active:   resolve address, resolve route, INIT, REQ; REP: RTR, RTS, RTU, established
 *     InfiniBand, passive:  INIT, RTR, RTS, REP (vib_cm_accept.c); RTU: established
 *     iWARP:                the kernel makes the moves, and there is no third message
 *
 * A three-way set-up stops at the REP until the application confirms. All of this runs on the service
 * thread, except VIB_DO_DROP, VIB_DO_REFUSE, VIB_DO_LEAVE and VIB_DO_ABORT, which are parts of verbs.
 */
#include <errno.h>
#include <string.h>

#include "vib_cm.h"
#include "vib_events.h"
#include "vib_profile.h"
#include "vib_why.h"

#define NS_PER_MS    UINT64_C(1000000)
#define ROUTE_MS_MAX 10000                        /* for the resolution of a route */
#define LEAVE_TIME   (UINT64_C(2000) * NS_PER_MS) /* for the answer to a disconnect */
#define TIME_WAIT_MAX \
	(UINT64_C(10000) * NS_PER_MS) /* if the kernel does not tell the end of a time-wait */
#define RETRIES_NO_BUFFER 6 /* of a request that finds no receive; 7 would be indefinitely */

/* --- moves of the queue pair ---------------------------------------------------------------------- */

/* Bits of some kernels that mean nothing to libibverbs: source and VLAN of a RoCE path. */
#define MASK_OF_LIBIBVERBS (~(0xfu << 21))

static int
qp_move(struct vib_conn *conn, struct vib_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {.qp_state = state};
	int mask = 0;

	if (rdma_init_qp_attr(conn->id, &attr, &mask) != 0)
		return errno;
	mask = (int)((unsigned)mask & MASK_OF_LIBIBVERBS);
	if (mask == 0)
		return 0; /* the kernel moves it */
	if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0)
		attr.max_dest_rd_atomic = (uint8_t)conn->ird;
	if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0 && attr.max_rd_atomic > conn->ord)
		attr.max_rd_atomic = (uint8_t)conn->ord;
	enum ri_status status = vib_qp_device_modify(qp, &attr, mask);
	if (status == RI_SUCCESS)
		return 0;
	return status == RI_ERR_RESOURCES ? ENOMEM : EINVAL;
}

int
vib_conn_qp_init(struct vib_conn *conn, struct vib_qp *qp)
{
	return qp_move(conn, qp, IBV_QPS_INIT);
}

int
vib_conn_qp_ready(struct vib_conn *conn, struct vib_qp *qp)
{
	int error = qp_move(conn, qp, IBV_QPS_RTR);

	return error != 0 ? error : qp_move(conn, qp, IBV_QPS_RTS);
}

struct rdma_conn_param
vib_conn_param(const struct vib_conn *conn, const struct vib_qp *qp)
{
	const uint8_t most = vib_retries_most(conn->cm->rnic->quirk);

	return (struct rdma_conn_param){
		.private_data = conn->pdata_len != 0 ? conn->pdata : NULL,
		.private_data_len = (uint8_t)conn->pdata_len,
		.responder_resources = (uint8_t)conn->ird,
		.initiator_depth = (uint8_t)conn->ord,
		.retry_count = conn->retries && conn->retry_count < most ? conn->retry_count : most,
		.rnr_retry_count = conn->retries ? conn->rnr_retry : RETRIES_NO_BUFFER,
		.srq = qp->srq != NULL,
		.qp_num = qp->number ? qp->user.qpn : qp->user.qp->qp_num,
	};
}

/* --- events of the queue pair --------------------------------------------------------------------- */

static void
timer_set(struct vib_conn *conn, uint64_t deadline)
{
	const struct ri_host *host = conn->cm->rnic->host;

	host->timer_start(host->self, &conn->timer, deadline);
}

static void
timer_set_in(struct vib_conn *conn, uint64_t ns)
{
	const struct ri_host *host = conn->cm->rnic->host;

	timer_set(conn, host->now(host->self) + ns);
}

/* True: it ends by this call, and the caller says why. */
static bool
conn_end(struct vib_qp *qp, enum ri_cm_event_kind kind, enum ri_cm_reason reason)
{
	const struct ri_cm_event event = {.kind = kind, .reason = reason};

	return vib_qp_end(qp, &event, RI_EVENT_NONE);
}

/* An established connection is over. InfiniBand remembers it for a while. */
static bool
conn_over(struct vib_conn *conn, struct vib_qp *qp, enum ri_cm_event_kind kind)
{
	timer_set(conn, RI_NEVER);
	if (!conn->cm->rnic->iwarp) {
		atomic_store(&conn->time_wait, true);
		timer_set_in(conn, TIME_WAIT_MAX);
	}
	return conn_end(qp, kind, RI_CM_REASON_OTHER);
}

void
vib_conn_time_wait_over(struct vib_conn *conn)
{
	struct ri_cm_event event = {.kind = RI_CM_TIME_WAIT_OVER};
	struct vib_qp *qp;

	pthread_mutex_lock(&conn->cm->lock);
	qp = conn->qp;
	pthread_mutex_unlock(&conn->cm->lock);
	if (!atomic_exchange(&conn->time_wait, false) || qp == NULL)
		return;
	timer_set(conn, RI_NEVER);
	vib_qp_raise(qp, &event);
}

/*
 * Copy the parameters of the peer's reply. librdmacm gives the depths as this side would use them,
 * so the peer's IRD is the number of Reads that this side may initiate.
 */
static void
note_reply(const struct vib_conn *conn, struct ri_cm_event *heard,
	   const struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;
	bool own = conn->cm->rnic->quirk->own_depths;

	memset(heard, 0, sizeof(*heard));
	heard->ird_ord_valid = true;
	heard->ird = own ? param->responder_resources : param->initiator_depth;
	heard->ord = own ? param->initiator_depth : param->responder_resources;
	vib_event_pdata(heard, param->private_data, param->private_data_len);
	vib_conn_reach(conn, &heard->reach);
}

/* --- the attempt fails ---------------------------------------------------------------------------- */

/*
 * Notify the peer of the end, if that does not block. While a REQ or REP is being repeated, the id
 * is destroyed, which sends a REJ: rdma_reject would leave that message outstanding, and a later
 * rdma_destroy_id would wait a minute for it.
 */
static void
tell_peer(struct vib_conn *conn)
{
	int failed = 0;

	switch (conn->before) {
	case VIB_PHASE_CONNECT:
	case VIB_PHASE_ACCEPT:
		if (!conn->cm->rnic->iwarp)
			vib_conn_cut(conn);
		break;
	case VIB_PHASE_REPLIED:
	case VIB_PHASE_CONFIRM:
		if (!conn->cm->rnic->iwarp)
			failed = rdma_reject_ece(conn->id, NULL,
						 0); /* not the application's refusal */
		break;
	case VIB_PHASE_UP:
		/* With iWARP the move of the queue pair resets the stream. */
		if (!conn->cm->rnic->iwarp)
			failed = rdma_disconnect(conn->id);
		break;
	case VIB_PHASE_NONE:
	case VIB_PHASE_NEW:
	case VIB_PHASE_ADDRESS:
	case VIB_PHASE_ROUTE:
	case VIB_PHASE_ASKED:
	case VIB_PHASE_LEAVE:
	case VIB_PHASE_OVER:
	case VIB_PHASE_COUNT:
	default:
		break;
	}
	if (failed != 0)
		vib_log(conn->cm->rnic, RI_LOG_DEBUG, "cannot notify the peer: %s",
			ri_errno_text(errno));
}

static void
fail_by_event(struct vib_conn *conn, struct vib_qp *qp, const struct rdma_cm_event *event)
{
	struct ri_cm_event outcome = {.kind = RI_CM_FAILED};
	enum ri_cm_reason reason =
		vib_reason_of_event(event->event, event->status, conn->cm->rnic->iwarp);

	if (reason == RI_CM_REASON_CONSUMER) {
		outcome.kind = RI_CM_REJECTED;
		vib_event_pdata(&outcome, event->param.conn.private_data,
				event->param.conn.private_data_len);
	} else {
		outcome.reason = reason;
		vib_log_qp(qp, RI_LOG_INFO, "an attempt to connect failed: %s, status %d",
			   rdma_event_str(event->event), event->status);
	}
	timer_set(conn, RI_NEVER);
	(void)vib_qp_end(qp, &outcome, RI_EVENT_NONE);
}

void
vib_conn_fail(struct vib_conn *conn, struct vib_qp *qp, const char *what, int error)
{
	enum vib_action action;

	if (!vib_conn_step(conn, VIB_STEP_CALL_ABORT, &action, &qp) || qp == NULL)
		return; /* it has failed in another way meanwhile */
	timer_set(conn, RI_NEVER);
	if (conn_end(qp, RI_CM_FAILED, vib_reason_of_errno(error)))
		vib_log_qp(qp, RI_LOG_INFO, "an attempt to connect failed: %s: %s", what,
			   ri_errno_text(error));
}

/* --- steps ------------------------------------------------------------------------------------------ */

static void
do_route(struct vib_conn *conn, struct vib_qp *qp)
{
	const struct ri_host *host = conn->cm->rnic->host;
	uint64_t now = host->now(host->self);
	uint64_t ms = conn->deadline > now ? (conn->deadline - now) / NS_PER_MS + 1 : 1;

	if (!vib_id_is_of(conn->id, conn->cm->rnic))
		vib_conn_fail(conn, qp, "the route leads through another adapter", ENETUNREACH);
	else if (rdma_resolve_route(conn->id, ms < ROUTE_MS_MAX ? (int)ms : ROUTE_MS_MAX) != 0)
		vib_conn_fail(conn, qp, "rdma_resolve_route", errno);
}

void
vib_conn_time(struct vib_conn *conn)
{
	if (conn->ack_timeout != 0)
		(void)rdma_set_option(conn->id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT,
				      &conn->ack_timeout, sizeof(conn->ack_timeout));
}

static void
do_request(struct vib_conn *conn, struct vib_qp *qp)
{
	int error = vib_conn_qp_init(conn, qp);

	if (error != 0) {
		vib_conn_fail(conn, qp, "the queue pair cannot be initialised", error);
		return;
	}
	vib_conn_time(conn);
	conn->param = vib_conn_param(conn, qp);
	if (conn->cm->rnic->iwarp)
		error = vib_conn_call(conn);
	else if (rdma_connect(conn->id, &conn->param) != 0)
		error = errno;
	if (error != 0)
		vib_conn_fail(conn, qp, "rdma_connect", error);
}

static void
do_leave(struct vib_conn *conn, struct vib_qp *qp)
{
	pthread_mutex_lock(&qp->lock);
	(void)vib_qp_closing(qp);
	pthread_mutex_unlock(&qp->lock);
	if (rdma_disconnect(conn->id) != 0)
		vib_log_qp(qp, RI_LOG_DEBUG, "rdma_disconnect: %s", ri_errno_text(errno));
	timer_set_in(conn, LEAVE_TIME);
}

/*
 * The connection is established. A verb may have ended it in the meantime, when the kernel could
 * not yet notify the peer; then the timer is still the attempt's.
 */
static void
conn_up(struct vib_conn *conn, struct vib_qp *qp, struct ri_cm_event *up)
{
	enum vib_phase phase;

	up->kind = RI_CM_ESTABLISHED;
	timer_set(conn, RI_NEVER);
	(void)vib_qp_established(qp, up);
	pthread_mutex_lock(&conn->cm->lock);
	phase = conn->phase;
	pthread_mutex_unlock(&conn->cm->lock);
	if (phase == VIB_PHASE_LEAVE)
		do_leave(conn, qp);
	else if (phase != VIB_PHASE_UP && !conn->cm->rnic->iwarp)
		(void)rdma_disconnect(conn->id);
}

static void
do_finish(struct vib_conn *conn, struct vib_qp *qp)
{
	int error = vib_conn_qp_ready(conn, qp);

	if (error == 0 && rdma_establish(conn->id) != 0)
		error = errno;
	if (error != 0) {
		(void)rdma_reject_ece(conn->id, NULL, 0);
		vib_conn_fail(conn, qp, "the set-up cannot be confirmed", error);
		return;
	}
	conn_up(conn, qp, &conn->heard);
}

static void
do_reply(struct vib_conn *conn, struct vib_qp *qp, const struct rdma_cm_event *event)
{
	enum vib_action action;

	note_reply(conn, &conn->heard, event);
	if (conn->three_way) {
		struct ri_cm_event reply = conn->heard;

		reply.kind = RI_CM_REPLY;
		conn->heard.pdata_present = false;
		conn->heard.pdata_len = 0;
		vib_qp_raise(qp, &reply);
	} else if (vib_conn_step(conn, VIB_STEP_CALL_CONFIRM, &action, &qp)) {
		vib_conn_finish(conn);
	}
}

static void
do_establish(struct vib_conn *conn, struct vib_qp *qp, const struct rdma_cm_event *event)
{
	struct ri_cm_event up = {0};

	/* The passive side has heard all of that with the request. */
	if (conn->before == VIB_PHASE_CONNECT)
		note_reply(conn, &up, event);
	else
		up.reach = conn->reach;
	conn_up(conn, qp, &up);
}

/*
 * The peer, or the stream, has ended the connection. A DREQ must be answered, and is an orderly
 * end, unless the device of this side has refused something before: then the peer's DREQ is only a
 * consequence of that refusal.
 */
static void
do_hang_up(struct vib_conn *conn, struct vib_qp *qp, const struct rdma_cm_event *event)
{
	bool orderly = event->event == RDMA_CM_EVENT_DISCONNECTED && event->status == 0;

	/* What the device has found before comes by another descriptor, and says why the connection ends. */
	vib_events_catch_up(conn->cm->rnic);
	if (!conn->cm->rnic->iwarp) {
		orderly = orderly && !vib_qp_device_failed(qp);
		(void)rdma_disconnect(conn->id);
	}
	if (!conn_over(conn, qp, orderly ? RI_CM_DISCONNECTED : RI_CM_BROKEN))
		return;
	if (orderly)
		vib_why_ended(qp, "closed by the peer");
	else if (event->event == RDMA_CM_EVENT_DISCONNECTED && event->status == 0)
		vib_why_ended(qp, "the device of this end has refused something of the peer, and "
				  "does not say what");
	else
		vib_why_ended(qp, "%s, status %d", rdma_event_str(event->event), event->status);
}

void
vib_conn_do(struct vib_conn *conn, enum vib_action action, struct vib_qp *qp,
	    const struct rdma_cm_event *event)
{
	/* What a step without an event of librdmacm says: the failure is a local one. */
	static const struct rdma_cm_event none = {.event = RDMA_CM_EVENT_CONNECT_ERROR,
						  .status = -ECONNABORTED};
	bool was_up = conn->before == VIB_PHASE_UP || conn->before == VIB_PHASE_LEAVE;

	if (qp == NULL)
		return;
	if (event == NULL)
		event = &none;
	switch (action) {
	case VIB_DO_ROUTE:
		do_route(conn, qp);
		break;
	case VIB_DO_REQUEST:
		do_request(conn, qp);
		break;
	case VIB_DO_REPLY:
		do_reply(conn, qp, event);
		break;
	case VIB_DO_FINISH:
		do_finish(conn, qp);
		break;
	case VIB_DO_ESTABLISH:
		do_establish(conn, qp, event);
		break;
	case VIB_DO_FAIL:
		fail_by_event(conn, qp, event);
		break;
	case VIB_DO_TIMEOUT:
		tell_peer(conn);
		if (conn_end(qp, RI_CM_FAILED, RI_CM_REASON_TIMEOUT))
			vib_log_qp(qp, RI_LOG_INFO,
				   "an attempt to connect failed: its time is over");
		break;
	case VIB_DO_DROP:
		tell_peer(conn);
		timer_set(conn, RI_NEVER);
		if (conn_end(qp, RI_CM_DISCONNECTED, RI_CM_REASON_OTHER))
			vib_why_ended(qp, "given up by this end before it was established");
		break;
	case VIB_DO_REFUSE:
		timer_set(conn, RI_NEVER);
		if (conn_end(qp, RI_CM_NONE, RI_CM_REASON_OTHER))
			vib_why_ended(qp, "this end has refused the reply");
		break;
	case VIB_DO_LEAVE:
		do_leave(conn, qp);
		break;
	case VIB_DO_HANG_UP:
		do_hang_up(conn, qp, event);
		break;
	case VIB_DO_LEFT:
		if (conn_over(conn, qp, RI_CM_DISCONNECTED))
			vib_why_ended(qp, "closed by this end%s",
				      event == &none ? "; the peer did not answer within 2 seconds"
						     : "");
		break;
	case VIB_DO_ABORT:
		timer_set(conn, RI_NEVER);
		tell_peer(conn);
		break;
	case VIB_DO_LOSE:
		timer_set(conn, RI_NEVER);
		if (conn_end(qp, was_up ? RI_CM_BROKEN : RI_CM_FAILED, RI_CM_REASON_OTHER))
			vib_why_ended(qp, "the device is gone");
		break;
	case VIB_DO_NOTHING:
	case VIB_ACTION_COUNT:
	default:
		break;
	}
}

void
vib_conn_deadline(void *arg)
{
	struct vib_conn *conn = arg;
	enum vib_action action;
	struct vib_qp *qp;

	if (vib_conn_step(conn, VIB_STEP_DEADLINE, &action, &qp))
		vib_conn_do(conn, action, qp, NULL);
	else
		vib_conn_time_wait_over(conn);
}

void
vib_conn_finish(void *arg)
{
	struct vib_conn *conn = arg;
	enum vib_action action;
	struct vib_qp *qp;

	if (vib_conn_step(conn, VIB_STEP_TASK, &action, &qp))
		vib_conn_do(conn, action, qp, NULL);
}
