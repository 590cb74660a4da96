/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The consequences of a change of a queue pair's state (vem_qp_move.c) and of its messages:
 * flushing, the message to the peer, upcalls. vem_qp_task does all of it on the service thread, and
 * so never inside a control verb. Its order: the queues are flushed, then the event that names a
 * fault is raised, then the end of the connection.
 *
 * The peer and connection management send messages to a queue pair, at most one of each kind.
 */
#include "vem_remote.h"
#include "vem_tap.h"
#include "vem_wire.h"

/* A message for the peer, if it is still there. */
static void
peer_send_message(struct vem_qp *qp, enum vem_msg message, uint32_t code,
		  const struct vem_hello *hello)
{
	/* A connection by attributes has no message for the peer, and the pair may be written just now. */
	struct vem_qp *peer =
		!atomic_load(&qp->by_peer) && qp->pair != NULL ? vem_peer_get(qp) : NULL;

	struct vem_remote *remote = atomic_load(&qp->remote);

	if (remote != NULL && !atomic_load(&qp->by_peer))
		vem_remote_message(remote, message, code, hello);
	if (peer == NULL)
		return;
	vem_wire_message(qp->rnic, peer, message, code, hello);
	vem_peer_put(qp);
}

/* The handshake is over at this side: raise ESTABLISHED, and only then let data move. */
static void
qp_come_up(struct vem_qp *qp, const struct vem_hello *hello)
{
	const struct ri_host *host = qp->rnic->host;

	struct vem_remote *remote = qp->tap != NULL ? atomic_load(&qp->remote) : NULL;

	if (remote != NULL && !atomic_load(&qp->by_peer) &&
	    atomic_load(&qp->state) == RI_QPS_CONNECTING)
		vem_tap_join(qp, remote);
	if (!vem_qp_move(qp, VEM_MOVE_UP, NULL))
		return;
	host->timer_stop(host->self, &qp->cm_timer);
	if (qp->tap != NULL && qp->passive && qp->pair != NULL) {
		struct vem_qp *active = vem_peer_get(qp);

		vem_tap_start(qp, active);
		if (active != NULL)
			vem_peer_put(qp);
	}
	vem_cm_tell(qp, RI_CM_ESTABLISHED, RI_CM_REASON_OTHER, hello);
	atomic_store(&qp->open, true);
	vem_sq_run(qp);
	vem_peer_sq_run(qp);
	if (qp->passive && qp->rnic->fabric->personality == VEM_IWARP)
		peer_send_message(qp, VEM_MSG_REPLY, 0, &qp->said);
	else if (!qp->passive && qp->rnic->fabric->personality == VEM_IB)
		peer_send_message(qp, VEM_MSG_CONFIRM, 0, &qp->said);
}

static void
reply_arrived(struct vem_qp *qp, const struct vem_hello *hello)
{
	const struct ri_host *host = qp->rnic->host;

	if (atomic_load(&qp->state) != RI_QPS_CONNECTING)
		return;
	qp->said.pdata_len = 0; /* the request has carried it */
	qp->said.field = false; /* the third message has no field for private data */
	if (hello->ird_ord && atomic_load(&qp->ord) > hello->ird)
		atomic_store(&qp->ord, hello->ird);
	if (!qp->to.three_way) {
		qp_come_up(qp, hello);
		return;
	}
	host->timer_stop(host->self, &qp->cm_timer);
	pthread_mutex_lock(&qp->rnic->fabric->lock);
	qp->replied = true;
	pthread_mutex_unlock(&qp->rnic->fabric->lock);
	vem_cm_tell(qp, RI_CM_REPLY, RI_CM_REASON_OTHER, hello);
}

/* The connection, or the attempt, ends from the other side. */
static void
peer_ended(struct vem_qp *qp, uint32_t messages, uint32_t code)
{
	bool trying = atomic_load(&qp->state) == RI_QPS_CONNECTING;
	struct vem_cause cause = {.kind = trying ? RI_CM_FAILED : RI_CM_BROKEN};

	if ((messages & VEM_MSG_REFUSED) != 0) {
		cause.kind = RI_CM_REJECTED;
		vem_qp_move(qp, VEM_MOVE_FAIL, &cause);
	}
	if ((messages & VEM_MSG_TERMINATE) != 0) {
		cause.async = RI_EVENT_QP_TERMINATE_RECEIVED;
		cause.detail = code;
		vem_qp_move(qp, VEM_MOVE_PEER_FAULT, &cause);
		cause.async = RI_EVENT_NONE;
	}
	if ((messages & VEM_MSG_CLOSE) != 0) {
		cause.kind = trying ? RI_CM_FAILED : RI_CM_DISCONNECTED;
		vem_qp_move(qp, VEM_MOVE_PEER_CLOSED, &cause);
	}
	if ((messages & VEM_MSG_LOST) != 0) {
		/* With iWARP that is a reset. InfiniBand notices it by its own requests, or not at all. */
		if (!trying && qp->rnic->fabric->personality == VEM_IWARP)
			cause.async = RI_EVENT_QP_LLP_RESET;
		vem_qp_move(qp, VEM_MOVE_LOST, &cause);
	}
}

/* Send the peer the message that belongs to the cause, once. */
static void
peer_tell_end(struct vem_qp *qp)
{
	bool ib = qp->rnic->fabric->personality == VEM_IB;

	vsw_lock(&qp->lock);
	bool due = qp->ended && !qp->peer_told;
	uint32_t message = qp->cause.message;
	uint32_t code = qp->cause.code;
	qp->peer_told = qp->ended;
	vsw_unlock(&qp->lock);
	if (!due || message == 0)
		return;
	if (message == VEM_MSG_TERMINATE && ib)
		message = VEM_MSG_LOST;
	peer_send_message(qp, (enum vem_msg)message, code,
			  message == VEM_MSG_REFUSED ? &qp->said : NULL);
}

/* A queue pair that was connected must not be used again at once: old packets may still arrive. */
static void
time_wait_begin(struct vem_qp *qp)
{
	const struct ri_host *host = qp->rnic->host;
	uint64_t time_wait = qp->rnic->time_wait;

	if (time_wait != 0 && atomic_load(&qp->open) && !qp->ud && !atomic_load(&qp->by_peer))
		atomic_store(&qp->time_wait_until, host->now(host->self) + time_wait);
}

/* The end was raised; that of the time-wait follows. */
static void
time_wait_watch(struct vem_qp *qp)
{
	const struct ri_host *host = qp->rnic->host;
	uint64_t until = atomic_load(&qp->time_wait_until);

	if (until != 0)
		host->timer_start(host->self, &qp->wait_timer, until);
}

/* Raise the end events, once, after everything is flushed. */
static void
end_events_raise(struct vem_qp *qp)
{
	struct ri_async_event event = {.object = RI_OBJECT_QP, .ctx = qp->in.ctx};
	const struct ri_upcalls *up = qp->rnic->upcalls;

	vsw_lock(&qp->lock);
	bool due = qp->ended && !qp->told;
	struct vem_cause cause = qp->cause;
	struct vem_hello heard = qp->heard;
	qp->telling = due;
	if (due)
		time_wait_begin(qp);
	vsw_unlock(&qp->lock);
	if (!due)
		return;
	vem_tap_end(qp, &cause);
	if (cause.async != RI_EVENT_NONE) {
		event.event = cause.async;
		event.detail = cause.detail;
		up->async_event(up->self, &event);
	}
	if (cause.kind != RI_CM_NONE)
		vem_cm_tell(qp, (enum ri_cm_event_kind)cause.kind, (enum ri_cm_reason)cause.reason,
			    cause.kind == RI_CM_REJECTED ? &heard : NULL);
	time_wait_watch(qp);
	/* Only now may it be reset: the events were those of the old connection. */
	vsw_lock(&qp->lock);
	qp->telling = false;
	qp->told = true;
	vsw_unlock(&qp->lock);
}

/* The state flushes: end the connection. */
static void
qp_wind_up(struct vem_qp *qp)
{
	const struct ri_host *host = qp->rnic->host;

	vem_cm_withdraw(qp);
	host->timer_stop(host->self, &qp->cm_timer);
	peer_tell_end(qp);
	vem_sq_run(qp);
	vem_rq_run(qp);
	/* If another thread owns a role, it flushes and has this task run again. */
	if (!atomic_load(&qp->tx_flushed) || !atomic_load(&qp->rx_flushed))
		return;
	vem_qp_move(qp, VEM_MOVE_CLOSED, NULL);
	end_events_raise(qp);
}

void
vem_qp_task(void *arg)
{
	struct vem_qp *qp = arg;

	vsw_lock(&qp->lock);
	uint32_t messages = qp->messages;
	uint32_t code = qp->terminate_in;
	struct vem_hello heard = qp->heard;
	qp->messages = 0;
	vsw_unlock(&qp->lock);

	if ((messages & VEM_MSG_CONNECT) != 0)
		vem_cm_offer(qp);
	if ((messages & VEM_MSG_REPLY) != 0)
		reply_arrived(qp, &heard);
	if ((messages & (VEM_MSG_OPEN | VEM_MSG_CONFIRM)) != 0)
		qp_come_up(qp, (messages & VEM_MSG_CONFIRM) != 0 ? &heard : NULL);
	peer_ended(qp, messages, code);
	if (atomic_exchange(&qp->limits_new, false))
		vem_receive_limits(qp);
	if (atomic_exchange(&qp->recheck, false)) {
		vem_sq_run(qp);
		vem_peer_sq_run(qp);
	}
	if (vem_state_flushes(atomic_load(&qp->state)))
		qp_wind_up(qp);
}
