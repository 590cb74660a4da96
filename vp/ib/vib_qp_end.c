/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * States of queue pairs, and their ends.
 *
 * An end closes the gate first. From then on no post reaches the device: the thread that posts completes its request as
 * flushed (vib_post.c), because not every device flushes what is posted after an error. A disconnect also closes the gate
 * before it notifies the peer. Then the device's queue pair is moved to its error state and flushes its requests. A timer
 * polls until all completions are in the CQs; when the time is over, this file flushes the rest. Then the event of the end
 * is raised, once [RI 8.2].
 *
 * Everything under vib_qp::lock; events are raised without it, on the service thread.
 */
#include "vib_qp_end.h"

#include <errno.h>
#include <string.h>

#include "vib_chain.h"
#include "vib_cq.h"
#include "vib_objects.h"
#include "vib_profile.h"
#include "vib_ring.h"
#include "vib_states.h"
#include "vib_why.h"

#define GONE_NS  (50 * UINT64_C(1000) * 1000)   /* the longest drain of a device that has failed */
#define LOOK_NS  (200 * UINT64_C(1000))         /* between two looks at a queue that drains */
#define DRAIN_NS (1000 * UINT64_C(1000) * 1000) /* the longest drain */
#define LOST_NS  (1000 * UINT64_C(1000) * 1000) /* for the event of an end that a post has found */

/* The only writer of the state. False: there is no such move. */
static bool
qp_move(struct vib_qp *qp, enum vib_move move)
{
	enum ri_qp_state next = vib_states_next((enum ri_qp_state)qp->state, move);

	if (next == RI_QPS_NONE || qp->dying)
		return false;
	qp->state = next;
	return true;
}

uint32_t
vib_qp_state(const struct vib_qp *qp)
{
	bool failed = qp->user.bare && (atomic_load(&qp->user.gate) & VIB_GATE_FLUSH) != 0;

	/* Before a peer's queue pair runs, the gate is another one. */
	return failed && qp->state != RI_QPS_IDLE ? RI_QPS_ERROR : qp->state;
}

/* --- the device's queue pair --------------------------------------------------------------------- */

enum ri_status
vib_qp_device_modify(struct vib_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int error;

	if (qp->number)
		return RI_SUCCESS; /* the application moves its own */
	/* Without Reads and atomics there is no right to them, and some devices refuse it. */
	if ((mask & IBV_QP_ACCESS_FLAGS) != 0)
		attr->qp_access_flags = vib_access(qp->init.access) &
					(qp->user.uc ? (unsigned)IBV_ACCESS_REMOTE_WRITE
						     : ~(unsigned)IBV_ACCESS_MW_BIND);
	error = ibv_modify_qp(qp->user.qp, attr, mask);
	return error == 0 ? RI_SUCCESS : vib_failure(qp->pd->context->rnic, error);
}

enum ri_status
vib_qp_device_init(struct vib_qp *qp)
{
	/* The port is that of the connection, which sets it again. */
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};

	return vib_qp_device_modify(
		qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

/* A queue pair for datagrams has no connection: it runs from its creation on [RI 4.3.3]. */
enum ri_status
vib_qp_device_run(struct vib_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
				   .port_num = (uint8_t)(qp->init.port + 1),
				   .qkey = qp->init.qkey};
	enum ri_status status = vib_qp_device_modify(
		qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);

	attr.qp_state = IBV_QPS_RTR;
	if (status == RI_SUCCESS)
		status = vib_qp_device_modify(qp, &attr, IBV_QP_STATE);
	attr.qp_state = IBV_QPS_RTS;
	if (status == RI_SUCCESS)
		status = vib_qp_device_modify(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
	return status;
}

bool
vib_qp_device_failed(const struct vib_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return !qp->number && ibv_query_qp(qp->user.qp, &attr, IBV_QP_STATE, &init) == 0 &&
	       attr.qp_state == IBV_QPS_ERR;
}

/* --- beginnings ------------------------------------------------------------------------------------ */

enum ri_status
vib_qp_begin(struct vib_qp *qp)
{
	return qp_move(qp, VIB_MOVE_BEGIN) ? RI_SUCCESS : RI_ERR_INVALID_STATE;
}

void
vib_qp_begin_undo(struct vib_qp *qp)
{
	(void)qp_move(qp, VIB_MOVE_UNDO);
}

void
vib_qp_raise(struct vib_qp *qp, struct ri_cm_event *event)
{
	const struct ri_upcalls *upcalls = qp->pd->context->rnic->upcalls;

	event->ctx = qp->ctx;
	upcalls->cm_event(upcalls->self, event);
}

bool
vib_qp_run(struct vib_qp *qp)
{
	unsigned int kept = VIB_GATE_KEPT;
	bool established;

	pthread_mutex_lock(&qp->lock);
	established = qp_move(qp, VIB_MOVE_ESTABLISHED);
	/* A receive that has failed before has closed the gate, and the end begins on the service thread. */
	if (established)
		(void)atomic_compare_exchange_strong(&qp->user.gate, &kept, VIB_GATE_OPEN);
	pthread_mutex_unlock(&qp->lock);
	if (!established)
		return false;
	if (!qp->number) {
		vib_cq_watch(qp->user.send_cq);
		vib_cq_watch(qp->user.recv_cq);
	}
	return true;
}

bool
vib_qp_established(struct vib_qp *qp, struct ri_cm_event *event)
{
	if (!vib_qp_run(qp))
		return false;
	vib_qp_raise(qp, event);
	return true;
}

bool
vib_qp_closing(struct vib_qp *qp)
{
	if (!qp_move(qp, VIB_MOVE_CLOSING))
		return false;
	/* The device's queue pair runs until the peer has answered; what is posted meanwhile must not [IT 7.6.2]. */
	atomic_store(&qp->user.gate, VIB_GATE_FLUSH);
	return true;
}

/* --- draining ---------------------------------------------------------------------------------------- */

/* Stage the two CQs. */
static void
stage_both(struct vib_qp *qp, bool all)
{
	struct ri_ucq *cqs[] = {qp->user.send_cq, qp->user.recv_cq};

	for (unsigned i = 0; i < 2; i++) {
		vsw_lock(&cqs[i]->lock);
		if (all)
			vib_cq_stage_all(cqs[i], NULL);
		else
			vib_cq_stage(cqs[i]);
		vib_cq_unlock(cqs[i]);
	}
}

/* Is the oldest that is not completed one which never went to the device? Then all behind it did not either. */
static bool
is_ours(const struct vib_ring *ring, struct ri_ucq *cq)
{
	bool ours;

	vsw_lock(&cq->lock);
	ours = vib_ring_open(ring) != 0 &&
	       (ring->slots[vib_ring_done(ring) & ring->mask].odd & VIB_SLOT_FAULT) != 0;
	vsw_unlock(&cq->lock);
	return ours;
}

/* Has the ring been completed up to `point`, as far as the device has it? A post that was refused may have been that point. */
static bool
is_past(const struct vib_ring *ring, struct ri_ucq *cq, uint32_t point)
{
	return (int32_t)(vib_ring_done(ring) - point) >= 0 || vib_ring_open(ring) == 0 ||
	       is_ours(ring, cq);
}

/* Are all requests completed that the device has, or is about to get? What is kept back it never gets. */
static bool
requests_are_past(const struct vib_qp *qp)
{
	const struct vib_chain *chain = &qp->user.chain;
	const struct vib_ring *ring = &qp->user.sq;
	const struct vib_slot *first;
	uint32_t taken;

	if (is_past(ring, qp->user.send_cq, qp->drain_sq))
		return true;
	taken = atomic_load(&chain->taken);
	if (taken == atomic_load(&chain->tail))
		return false;
	first = (const struct vib_slot *)(uintptr_t)chain->wrs[taken % VIB_CHAIN_ROOM].wr.wr_id;
	return first->place - 1 == vib_ring_done(ring);
}

/* Flush here what the device has not, and never will. */
static void
flush_rest(struct vib_qp *qp, bool send)
{
	struct ri_ucq *cq = send ? qp->user.send_cq : qp->user.recv_cq;

	vsw_lock(&cq->lock);
	vib_cq_stage_all(cq, NULL);
	while (vib_cq_flush_one(&qp->user, send))
		;
	vib_cq_unlock(cq);
}

/* The end is complete: raise it, unless that was done or the queue pair goes. */
static void
end_tell(struct vib_qp *qp)
{
	struct ri_cm_event event;
	uint32_t async;
	bool tell;

	pthread_mutex_lock(&qp->lock);
	tell = qp->ended && !qp->told;
	qp->told = qp->ended;
	event = qp->end;
	async = qp->end_async;
	pthread_mutex_unlock(&qp->lock);
	if (!tell)
		return;
	if (async != RI_EVENT_NONE)
		vib_raise(qp->pd->context->rnic, async, RI_OBJECT_QP, qp->ctx);
	if (event.kind != RI_CM_NONE)
		vib_qp_raise(qp, &event);
}

static void
drain_look(struct vib_qp *qp)
{
	const struct ri_host *host = qp->pd->context->rnic->host;
	uint64_t now = host->now(host->self);
	bool wait;

	if (qp->number) {
		end_tell(qp);
		return;
	}
	stage_both(qp, false);
	pthread_mutex_lock(&qp->lock);
	wait = now < qp->drain_until &&
	       (!requests_are_past(qp) || !is_past(&qp->user.rq, qp->user.recv_cq, qp->drain_rq));
	pthread_mutex_unlock(&qp->lock);
	if (wait) {
		vib_cq_tell(qp->send_cq);
		vib_cq_tell(qp->recv_cq);
		host->timer_start(host->self, &qp->drain, now + LOOK_NS);
		return;
	}
	flush_rest(qp, true);
	flush_rest(qp, false);
	vib_cq_tell(qp->send_cq);
	if (qp->recv_cq != qp->send_cq)
		vib_cq_tell(qp->recv_cq);
	end_tell(qp);
}

/* The state is ERROR: close the gate, have the device flush, and begin to drain. The caller owns qp->lock. */
static void
end_begin(struct vib_qp *qp, const struct ri_cm_event *event, uint32_t async)
{
	const struct ri_host *host = qp->pd->context->rnic->host;

	if (event != NULL)
		qp->end = *event;
	else
		qp->end.kind = RI_CM_NONE;
	qp->end_async = async;
	if (qp->user.bare && qp->end.kind != RI_CM_NONE) {
		/* Without a connection manager no connection can end, so the event must be one that is an end. */
		qp->end.kind = RI_CM_NONE;
		if (qp->end_async == RI_EVENT_NONE)
			qp->end_async = RI_EVENT_QP_CATASTROPHIC;
	}
	qp->ended = true;
	qp->told = false;
	atomic_store(&qp->user.gate, VIB_GATE_FLUSH);
	/* The device flushes everything that it has. */
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	int error = qp->number ? 0 : ibv_modify_qp(qp->user.qp, &attr, IBV_QP_STATE);

	/* A device that found the end by itself is there already, and some refuse the move then. */
	if (error != 0)
		vib_log(qp->pd->context->rnic, RI_LOG_DEBUG, "ibv_modify_qp to ERR: %s",
			ri_errno_text(error));
	qp->drain_sq = atomic_load(&qp->user.sq.tail);
	qp->drain_rq = atomic_load(&qp->user.rq.tail);
	/* A device that has failed may complete nothing any more; one whose removal waits for us flushes as ever [RI 12.1.12]. */
	qp->drain_until = host->now(host->self) +
			  (atomic_load(&qp->pd->context->rnic->failed) ? GONE_NS : DRAIN_NS);
	host->timer_start(host->self, &qp->drain, 0);
}

bool
vib_qp_end(struct vib_qp *qp, const struct ri_cm_event *event, uint32_t async)
{
	bool ends;

	pthread_mutex_lock(&qp->lock);
	ends = qp_move(qp, VIB_MOVE_END);
	if (ends)
		end_begin(qp, event, async);
	pthread_mutex_unlock(&qp->lock);
	return ends;
}

void
vib_qp_end_idle(struct vib_qp *qp)
{
	pthread_mutex_lock(&qp->lock);
	if (qp_move(qp, VIB_MOVE_ERROR))
		end_begin(qp, NULL, RI_EVENT_NONE);
	pthread_mutex_unlock(&qp->lock);
}

/* The device has failed a request or receive, or refused a request whose post had succeeded, or it named no object. */
static void
on_fail(void *arg)
{
	const struct ri_cm_event broken = {.kind = RI_CM_BROKEN};
	struct vib_qp *qp = arg;
	uint32_t async = RI_EVENT_NONE;

	if (!qp->user.bare)
		vib_cm_abort(qp); /* the peer may not know */
	else if (qp->user.fault.status == RI_WC_LOCAL_PROTECTION)
		async = RI_EVENT_QP_ACCESS; /* [IT 5.2] */
	if (vib_qp_end(qp, &broken, async))
		vib_why_fault(qp);
}

static void
on_drain(void *arg)
{
	struct vib_qp *qp = arg;
	unsigned int lost = VIB_GATE_LOST;
	bool ended;

	pthread_mutex_lock(&qp->lock);
	ended = qp->ended;
	pthread_mutex_unlock(&qp->lock);
	if (ended)
		drain_look(qp);
	else if (atomic_compare_exchange_strong(&qp->user.gate, &lost, VIB_GATE_FLUSH))
		on_fail(qp); /* nobody has told the end that a post has found */
}

bool
vib_qp_lost(struct ri_uqp *uqp, int error)
{
	struct vib_qp *qp = (struct vib_qp *)uqp;
	const struct ri_host *host = uqp->host;
	unsigned int open = VIB_GATE_OPEN;

	/* ENOTCONN is siw's, whose queries have no state [RI 12.3.11]. Before a connection there is no end. */
	if (error == ENOMEM || error == EINVAL || atomic_load(&qp->user.gate) == VIB_GATE_KEPT)
		return false;
	if (error != ENOTCONN && !vib_qp_device_failed(qp))
		return false;
	/* In this order: an end that begins meanwhile starts the timer behind this one. */
	host->timer_start(host->self, &qp->drain, host->now(host->self) + LOST_NS);
	if (!atomic_compare_exchange_strong(&uqp->gate, &open, VIB_GATE_LOST) &&
	    open != VIB_GATE_LOST)
		host->timer_start(host->self, &qp->drain, 0);
	return true;
}

void
vib_qp_end_last_wqe(struct vib_qp *qp)
{
	/* Receives that the device has taken from the SRQ are completed; a timer that waits for more need not. */
	const struct ri_host *host = qp->pd->context->rnic->host;

	pthread_mutex_lock(&qp->lock);
	if (qp->ended && !qp->told)
		host->timer_start(host->self, &qp->drain, 0);
	pthread_mutex_unlock(&qp->lock);
}

/* Call for every queue pair of the adapter; how many calls returned true. */
static unsigned
for_all(struct ri_rnic *rnic, bool (*call)(struct vib_qp *qp))
{
	unsigned count = 0;

	pthread_mutex_lock(&rnic->lock);
	for (struct vib_item *c = rnic->contexts.next; c != &rnic->contexts; c = c->next) {
		struct ri_context *context = vib_of(c, struct ri_context, item);

		pthread_mutex_lock(&context->lock);
		for (struct vib_item *q = context->qps.next; q != &context->qps; q = q->next)
			count += call(vib_of(q, struct vib_qp, item));
		pthread_mutex_unlock(&context->lock);
	}
	pthread_mutex_unlock(&rnic->lock);
	return count;
}

static bool
end_broken(struct vib_qp *qp)
{
	const struct ri_cm_event broken = {.kind = RI_CM_BROKEN};

	if (vib_qp_end(qp, &broken, RI_EVENT_NONE))
		vib_why_ended(qp, "the device has failed or was removed");
	return true;
}

void
vib_qp_end_all(struct ri_rnic *rnic)
{
	(void)for_all(rnic, end_broken);
}

static bool
end_is_pending(struct vib_qp *qp)
{
	bool pending;

	pthread_mutex_lock(&qp->lock);
	pending = qp->ended && !qp->told && !qp->dying;
	pthread_mutex_unlock(&qp->lock);
	return pending;
}

bool
vib_qp_end_pending(struct ri_rnic *rnic)
{
	return for_all(rnic, end_is_pending) != 0;
}

/* --- the life of a queue pair --------------------------------------------------------------------------- */

/* A peer that was connected by attributes has set its own. */
static void
depths_restore(struct vib_qp *qp)
{
	qp->ird = qp->init.ird;
	qp->ord = qp->init.ord;
}

void
vib_qp_end_init(struct vib_qp *qp)
{
	qp->state = RI_QPS_IDLE;
	depths_restore(qp);
	qp->drain = (struct ri_timer){.fire = on_drain, .arg = qp};
	qp->fail = (struct ri_task){.fire = on_fail, .arg = qp};
	atomic_store(&qp->user.gate, VIB_GATE_KEPT);
}

void
vib_qp_end_running(struct vib_qp *qp)
{
	pthread_mutex_lock(&qp->lock);
	(void)qp_move(qp, VIB_MOVE_BEGIN);
	(void)qp_move(qp, VIB_MOVE_ESTABLISHED);
	atomic_store(&qp->user.gate, VIB_GATE_OPEN);
	pthread_mutex_unlock(&qp->lock);
}

void
vib_qp_end_stop(struct vib_qp *qp)
{
	const struct ri_host *host = qp->pd->context->rnic->host;

	pthread_mutex_lock(&qp->lock);
	qp->dying = true;
	pthread_mutex_unlock(&qp->lock);
	host->task_stop(host->self, &qp->fail);
	host->timer_stop(host->self, &qp->drain);
}

/* All that was posted is completed, and nothing of it is in the device's queues any more. */
static bool
is_quiescent(struct vib_qp *qp)
{
	if (qp->number)
		return true;
	stage_both(qp, true);
	return vib_ring_open(&qp->user.sq) == 0 && vib_ring_open(&qp->user.rq) == 0;
}

enum ri_status
vib_qp_end_reset(struct vib_qp *qp, bool anew)
{
	const struct ri_rnic *rnic = qp->pd->context->rnic;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};
	const uint32_t rest = qp->user.ud ? RI_QPS_RTS : RI_QPS_IDLE;
	enum ri_status status = RI_SUCCESS;
	struct ibv_qp *former = NULL;
	uint32_t state;
	bool over;

	pthread_mutex_lock(&qp->lock);
	state = vib_qp_state(qp);
	over = state != RI_QPS_ERROR;
	if (over)
		status = state == rest ? RI_SUCCESS : RI_ERR_INVALID_STATE;
	if (!over && (!qp->told || !is_quiescent(qp)))
		status = RI_ERR_STILL_FLUSHING;
	pthread_mutex_unlock(&qp->lock);
	if (over || status != RI_SUCCESS)
		return status;
	if (!qp->user.ud && !anew && vib_cm_in_time_wait(qp))
		return RI_ERR_TIME_WAIT;
	vib_chain_wait(
		&qp->user); /* no thread is about to start what is stopped here: it is of this use of the queue pair */
	rnic->host->task_stop(rnic->host->self, &qp->fail);
	if (!qp->user.ud)
		vib_cm_forget(qp);
	pthread_mutex_lock(&qp->lock);
	status = rnic->quirk->no_reuse ? vib_qp_device_renew(qp, &former)
				       : vib_qp_device_modify(qp, &attr, IBV_QP_STATE);
	if (status == RI_SUCCESS)
		status = qp->user.ud ? vib_qp_device_run(qp) : vib_qp_device_init(qp);
	if (status == RI_SUCCESS) {
		(void)qp_move(qp, VIB_MOVE_RESET);
		vib_chain_reset(&qp->user.chain);
		qp->ended = false;
		qp->told = false;
		memset(&qp->user.fault, 0, sizeof(qp->user.fault));
		qp->user.bare = qp->user.ud;
		depths_restore(qp);
		atomic_store(&qp->user.gate, VIB_GATE_KEPT);
	}
	pthread_mutex_unlock(&qp->lock);
	if (former != NULL)
		(void)ibv_destroy_qp(former);
	if (status == RI_SUCCESS && qp->user.ud)
		vib_qp_end_running(qp);
	return status;
}
