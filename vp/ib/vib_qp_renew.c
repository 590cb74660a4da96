/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Queue pairs that are not connected, when the interface below the device goes down [RI 12.3.16].
 *
 * A device with vib_quirk::down_breaks then moves such queue pairs to its error state. Neither a query nor an event of the
 * queue pair shows that; only the event of the port does. So at the port's event each queue pair in IDLE becomes *lame*: its
 * receives are flushed, also those that are posted later. When the port is active again, or an attempt begins, the queue pair
 * gets a new one of the device, with another number.
 *
 * A post cannot reach the device's queue pair that is replaced, since the gate is closed when the queue pair becomes lame. Nor
 * does a completion of it come later: this file moves it to its error state, and that call flushes.
 */
#include "vib_cq.h"
#include "vib_objects.h"
#include "vib_profile.h"
#include "vib_qp_end.h"

/* Take what the device has flushed, and flush the rest. The caller owns qp->lock; vib_cq_tell follows by the task. */
static void
receives_flush(struct vib_qp *qp)
{
	const struct ri_host *host = qp->pd->context->rnic->host;
	struct ri_ucq *cq = qp->user.recv_cq;

	vsw_lock(&cq->lock);
	vib_cq_stage_all(cq, NULL);
	while (vib_cq_flush_one(&qp->user, false))
		;
	vib_cq_unlock(cq);
	host->task_run(host->self, &qp->flushed);
}

/* On failure it stays lame. The caller owns qp->lock. */
static enum ri_status
qp_heal(struct vib_qp *qp, struct ibv_qp **former)
{
	enum ri_status status;

	if (!qp->lame || qp->state != RI_QPS_IDLE || qp->dying)
		return RI_SUCCESS;
	receives_flush(qp);
	status = vib_qp_device_renew(qp, former);
	if (status == RI_SUCCESS)
		status = vib_qp_device_init(qp);
	qp->lame = status != RI_SUCCESS;
	if (status == RI_SUCCESS)
		atomic_store(&qp->user.gate, VIB_GATE_KEPT);
	else
		vib_log(qp->pd->context->rnic, RI_LOG_WARNING,
			"a queue pair that its device has broken cannot be replaced");
	return status;
}

enum ri_status
vib_qp_heal(struct vib_qp *qp)
{
	struct ibv_qp *former = NULL;
	enum ri_status status;

	pthread_mutex_lock(&qp->lock);
	status = qp_heal(qp, &former);
	pthread_mutex_unlock(&qp->lock);
	if (former != NULL)
		(void)ibv_destroy_qp(former);
	return status;
}

/*
 * Handle an event of the port for one queue pair; this is done once, even if it fails. Returns the
 * device's former queue pair, which the caller must destroy; NULL if it was not replaced.
 */
static struct ibv_qp *
qp_follow(struct vib_qp *qp, bool up)
{
	uint32_t event = qp->pd->context->rnic->port_events;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	struct ibv_qp *former = NULL;

	if (qp->user.ud || qp->number || qp->port_event == event)
		return NULL;
	pthread_mutex_lock(&qp->lock);
	qp->port_event = event;
	if (up) {
		(void)!qp_heal(qp, &former);
	} else if (qp->state == RI_QPS_IDLE && !qp->dying && !qp->lame) {
		qp->lame = true;
		atomic_store(&qp->user.gate, VIB_GATE_FLUSH);
		(void)ibv_modify_qp(qp->user.qp, &attr, IBV_QP_STATE); /* it is there already */
		receives_flush(qp);
	}
	pthread_mutex_unlock(&qp->lock);
	return former;
}

/* All queue pairs of an adapter, up to the first one that had another of the device; that one is returned. */
static struct ibv_qp *
rnic_follow(struct ri_rnic *rnic, bool up)
{
	struct ibv_qp *former = NULL;

	pthread_mutex_lock(&rnic->lock);
	for (struct vib_item *i = rnic->contexts.next; i != &rnic->contexts && former == NULL;
	     i = i->next) {
		struct ri_context *context = vib_of(i, struct ri_context, item);

		pthread_mutex_lock(&context->lock);
		for (struct vib_item *k = context->qps.next; k != &context->qps && former == NULL;
		     k = k->next)
			former = qp_follow(vib_of(k, struct vib_qp, item), up);
		pthread_mutex_unlock(&context->lock);
	}
	pthread_mutex_unlock(&rnic->lock);
	return former;
}

void
vib_qp_port_event(struct ri_rnic *rnic, uint32_t event)
{
	struct ibv_qp *former;

	if (!rnic->quirk->down_breaks ||
	    (event != RI_EVENT_PORT_ERROR && event != RI_EVENT_PORT_ACTIVE))
		return;
	rnic->port_events++;
	/* One after the other, since no lock may be owned while one is destroyed. */
	while ((former = rnic_follow(rnic, event == RI_EVENT_PORT_ACTIVE)) != NULL)
		(void)ibv_destroy_qp(former);
}

static void
on_flushed(void *arg)
{
	const struct vib_qp *qp = arg;

	vib_cq_tell(qp->recv_cq);
}

void
vib_qp_renew_init(struct vib_qp *qp)
{
	qp->flushed = (struct ri_task){.fire = on_flushed, .arg = qp};
}

void
vib_qp_renew_stop(struct vib_qp *qp)
{
	const struct ri_host *host = qp->pd->context->rnic->host;

	host->task_stop(host->self, &qp->flushed);
}
