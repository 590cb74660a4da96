/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The faults that a tester can request.
 *
 * - A call: the nth call of a control verb from now on returns an error, once, and does nothing.
 * - The adapter: every connection ends as lost. When the events of all ends have been raised, that of the
 *   adapter's failure is. From the first moment on every verb fails but those that destroy, and no connection
 *   request reaches its listeners.
 * - The port: while it is down, nothing is sent. Established connections pause, as with a cable that is
 *   unplugged for a moment, and continue when the port is up again; a connection request finds no route.
 * - A queue pair: as if it had found that fault in what it received, or in itself. The peer gets the message
 *   that a real queue pair would send.
 * - A completion queue: every queue pair that uses it ends. The completions in it can still be polled.
 * - A shared receive queue: see vsw_srq_fail.
 *
 * All of it runs on the service thread, where upcalls are allowed. An object is used here only under its
 * context's lock; a thread that destroys an object removes it from the context's list first, under that lock.
 */
#include "vem_fault.h"

#include <string.h>

#include "vem_path.h"

static void adapter_task(void *arg);

void
vem_fault_init(struct ri_rnic *rnic)
{
	struct vem_faults *faults = &rnic->faults;

	pthread_mutex_init(&faults->lock, NULL);
	vsw_list_begin(&faults->contexts);
	faults->task = (struct ri_task){.fire = adapter_task, .arg = rnic};
	faults->control.fd = -1;
}

void
vem_fault_fini(struct ri_rnic *rnic)
{
	rnic->host->task_stop(rnic->host->self, &rnic->faults.task);
	vem_path_fini(rnic);
	pthread_mutex_destroy(&rnic->faults.lock);
}

void
vem_fault_join(struct ri_context *context)
{
	struct vem_faults *faults = &context->rnic->faults;

	pthread_mutex_lock(&faults->lock);
	vsw_list_add(&faults->contexts, &context->item);
	pthread_mutex_unlock(&faults->lock);
}

void
vem_fault_part(struct ri_context *context)
{
	struct vem_faults *faults = &context->rnic->faults;

	pthread_mutex_lock(&faults->lock);
	vsw_list_remove(&context->item);
	pthread_mutex_unlock(&faults->lock);
}

/* --- calls -------------------------------------------------------------------------------- */

void
vem_fault_call(struct ri_rnic *rnic, enum vem_call call, uint32_t nth, enum ri_status status)
{
	struct vem_faults *faults = &rnic->faults;

	pthread_mutex_lock(&faults->lock);
	faults->due[call].in = nth;
	faults->due[call].status = status;
	pthread_mutex_unlock(&faults->lock);
}

enum ri_status
vem_fault_due(struct ri_rnic *rnic, enum vem_call call)
{
	struct vem_faults *faults = &rnic->faults;
	enum ri_status status = RI_SUCCESS;

	if (vem_fault_dead(rnic))
		return RI_ERR_FATAL;
	pthread_mutex_lock(&faults->lock);
	if (faults->due[call].in != 0 && --faults->due[call].in == 0)
		status = (enum ri_status)faults->due[call].status;
	pthread_mutex_unlock(&faults->lock);
	return status;
}

/* --- objects ------------------------------------------------------------------------------ */

/* The object of that number in one context, or NULL; *number is reduced by its objects. With its lock. */
static struct vsw_item *
object_find_in_list(struct vsw_item *list, uint32_t *number)
{
	if (*number == 0)
		return vsw_list_empty(list) ? NULL : list->prev;
	for (struct vsw_item *i = list->next; i != list; i = i->next)
		if (--*number == 0)
			return i;
	return NULL;
}

/*
 * Search all contexts for object `number`; `place` is the offset of the list of that kind in a
 * context. On success the caller owns the lock of *where, and must release it.
 */
static struct vsw_item *
object_find(struct ri_rnic *rnic, size_t place, uint32_t number, struct ri_context **where)
{
	struct vem_faults *faults = &rnic->faults;
	struct vsw_item *found = NULL;

	pthread_mutex_lock(&faults->lock);
	for (struct vsw_item *i = faults->contexts.next; i != &faults->contexts; i = i->next) {
		struct ri_context *context = vsw_of(i, struct ri_context, item);
		pthread_mutex_lock(&context->base.lock);
		found = object_find_in_list((struct vsw_item *)(void *)((char *)context + place),
					    &number);
		if (found != NULL) {
			*where = context;
			break;
		}
		pthread_mutex_unlock(&context->base.lock);
	}
	pthread_mutex_unlock(&faults->lock);
	return found;
}

/* Call `act` for every queue pair of the adapter. */
static void
each_qp(struct ri_rnic *rnic, void (*act)(struct vem_qp *qp, void *arg), void *arg)
{
	struct vem_faults *faults = &rnic->faults;

	pthread_mutex_lock(&faults->lock);
	for (struct vsw_item *i = faults->contexts.next; i != &faults->contexts; i = i->next) {
		struct ri_context *context = vsw_of(i, struct ri_context, item);
		pthread_mutex_lock(&context->base.lock);
		for (struct vsw_item *q = context->qps.next; q != &context->qps; q = q->next)
			act(vsw_of(q, struct vem_qp, item), arg);
		pthread_mutex_unlock(&context->base.lock);
	}
	pthread_mutex_unlock(&faults->lock);
}

static void
qp_act(struct vem_qp *qp, void *arg)
{
	(*(void (**)(struct vem_qp * qp)) arg)(qp);
}

void
vem_fault_each_qp(struct ri_rnic *rnic, void (*act)(struct vem_qp *qp))
{
	each_qp(rnic, qp_act, &act);
}

/* --- the adapter -------------------------------------------------------------------------- */

static void
qp_lose_connection(struct vem_qp *qp, void *arg)
{
	bool trying = atomic_load(&qp->state) == RI_QPS_CONNECTING;
	const struct vem_cause cause = {.kind = trying ? RI_CM_FAILED : RI_CM_BROKEN,
					.message = VEM_MSG_LOST};

	(void)arg;
	vem_qp_move(qp, VEM_MOVE_LOST, &cause);
}

static void
qp_end_is_raised(struct vem_qp *qp, void *arg)
{
	bool *all = arg;

	vsw_lock(&qp->lock);
	if (qp->ended && !qp->told)
		*all = false;
	vsw_unlock(&qp->lock);
}

/* Queue pairs end in tasks of their own, some only when another thread gives a role up; then raise the failure. */
static void
adapter_task(void *arg)
{
	struct ri_rnic *rnic = arg;
	const struct ri_upcalls *up = rnic->upcalls;
	const struct ri_async_event event = {.event = RI_EVENT_DEVICE_CATASTROPHIC,
					     .object = RI_OBJECT_RNIC};
	bool all = true;

	each_qp(rnic, qp_end_is_raised, &all);
	if (all)
		up->async_event(up->self, &event);
	else
		rnic->host->task_run(rnic->host->self, &rnic->faults.task);
}

void
vem_fault_adapter(struct ri_rnic *rnic)
{
	if (atomic_exchange(&rnic->faults.failed, true))
		return;
	vem_cm_rnic_close(rnic);
	each_qp(rnic, qp_lose_connection, NULL);
	rnic->host->task_run(rnic->host->self, &rnic->faults.task);
}

/* --- the port ----------------------------------------------------------------------------- */

void
vem_fault_port(struct ri_rnic *rnic, bool up)
{
	const struct ri_upcalls *upcalls = rnic->upcalls;
	const struct ri_async_event event = {
		.event = up ? RI_EVENT_PORT_ACTIVE : RI_EVENT_PORT_ERROR, .object = RI_OBJECT_PORT};

	if (atomic_exchange(&rnic->faults.offline, !up) == !up)
		return;
	atomic_store(&rnic->faults.apart, !up || rnic->wire_delay != 0 || rnic->captured);
	upcalls->async_event(upcalls->self, &event);
	if (up)
		vem_fault_each_qp(rnic, vem_run_soon);
}

/* --- queues ------------------------------------------------------------------------------- */

bool
vem_fault_qp(struct ri_rnic *rnic, uint32_t number, const struct vem_break *how)
{
	bool ib = rnic->fabric->personality == VEM_IB;
	struct vem_cause cause = {.kind = RI_CM_BROKEN,
				  .async = how->event,
				  .detail = how->code,
				  .message = how->code != 0 ? VEM_MSG_TERMINATE : VEM_MSG_LOST,
				  .code = how->code};
	struct ri_context *where = NULL;

	if (ib && !how->infiniband)
		return false;

	struct vsw_item *item = object_find(rnic, offsetof(struct ri_context, qps), number, &where);
	if (item == NULL)
		return false;

	struct vem_qp *qp = vsw_of(item, struct vem_qp, item);
	bool moved = vem_qp_move(qp, how->code != 0 ? VEM_MOVE_FAULT : VEM_MOVE_LOST, &cause);
	pthread_mutex_unlock(&where->base.lock);
	return moved;
}

bool
vem_fault_cq(struct ri_rnic *rnic, uint32_t number, uint32_t event)
{
	const struct ri_upcalls *up = rnic->upcalls;
	const struct vem_cause cause = {
		.kind = RI_CM_BROKEN, .message = VEM_MSG_TERMINATE, .code = 0x0207};
	struct ri_context *where = NULL;
	struct vsw_item *item =
		object_find(rnic, offsetof(struct ri_context, base.cqs), number, &where);

	if (item == NULL)
		return false;

	struct vsw_cq_object *cq = vsw_of(item, struct vsw_cq_object, item);
	const struct ri_async_event raised = {
		.event = event, .object = RI_OBJECT_CQ, .ctx = cq->cq.ctx};
	for (struct vsw_item *q = where->qps.next; q != &where->qps; q = q->next) {
		struct vem_qp *qp = vsw_of(q, struct vem_qp, item);
		if (qp->send_cq == cq || qp->recv_cq == cq)
			vem_qp_move(qp, VEM_MOVE_FAULT, &cause);
	}
	up->async_event(up->self, &raised);
	pthread_mutex_unlock(&where->base.lock);
	return true;
}

bool
vem_fault_srq(struct ri_rnic *rnic, uint32_t number)
{
	struct ri_context *where = NULL;
	struct vsw_item *item =
		object_find(rnic, offsetof(struct ri_context, base.srqs), number, &where);

	if (item == NULL)
		return false;
	vsw_srq_fail(&vsw_of(item, struct vsw_srq_object, item)->srq);
	pthread_mutex_unlock(&where->base.lock);
	return true;
}
