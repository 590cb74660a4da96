/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Queue pairs: creation, modification, query and destruction. Control path; states are in vib_qp_end.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vib_chain.h"
#include "vib_cq.h"
#include "vib_mcast.h"
#include "vib_number.h"
#include "vib_objects.h"
#include "vib_post.h"
#include "vib_profile.h"
#include "vib_qp_end.h"
#include "vib_ring.h"
#include "vib_why.h"

#define INLINE_BYTES    128 /* of a payload that the device copies while it is posted, if it can */
#define QKEY_CONTROLLED (1u << 31)

/* --- slots ----------------------------------------------------------------------------------- */

bool
vib_ring_create(struct vib_ring *ring, uint32_t room)
{
	uint32_t slots = 1;

	ring->room = room;
	if (room == 0)
		return true;
	while (slots < room)
		slots *= 2;
	ring->mask = slots - 1;
	ring->slots = (struct vib_slot *)calloc(slots, sizeof(*ring->slots));
	return ring->slots != NULL;
}

void
vib_ring_destroy(struct vib_ring *ring)
{
	free(ring->slots);
}

static void
slots_name(struct vib_ring *ring, struct ri_uqp *qp)
{
	for (uint32_t i = 0; ring->slots != NULL && i <= ring->mask; i++) {
		ring->slots[i].done.qp_ctx = qp->ctx;
		ring->slots[i].ring = ring;
		ring->slots[i].of.qp = qp;
	}
}

/* --- receives of an SRQ ------------------------------------------------------------------------ */

/* The caller owns the CQ's lock, also of the next function. */
static void
member_enter(struct ri_uqp *qp)
{
	struct ri_uqp **row = &qp->recv_cq->members[qp->qpn % VIB_CQ_ROWS];

	qp->next_member = *row;
	*row = qp;
}

static void
member_leave(struct ri_uqp *qp)
{
	struct ri_uqp **at = &qp->recv_cq->members[qp->qpn % VIB_CQ_ROWS];

	while (*at != NULL && *at != qp)
		at = &(*at)->next_member;
	if (*at != NULL)
		*at = qp->next_member;
}

/* --- creation ---------------------------------------------------------------------------------- */

/* A Q_Key with this bit is for privileged processes [RI 10.34]. */
static bool
qkey_forbidden(const struct ri_pd *pd, uint32_t qkey)
{
	return (qkey & QKEY_CONTROLLED) != 0 && !pd->context->owner.privileged;
}

static bool
type_is_there(const struct ri_rnic_attr *can, uint32_t type, bool shared)
{
	switch (type) {
	case RI_QP_RC:
		return true;
	case RI_QP_UD:
		return can->ud && !shared;
	case RI_QP_UC:
		return can->uc && !shared;
	default:
		return false;
	}
}

static uint32_t
larger_of(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static uint32_t
smaller_of(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* The most segments of a request. */
static uint32_t
request_sges(const struct ri_qp_init *init)
{
	return larger_of(init->max_send_sge, larger_of(init->max_write_sge, init->max_read_sge));
}

/* What the device's queue pair is made of. */
static struct ibv_qp_init_attr
verbs_attr(struct vib_qp *qp)
{
	const struct ri_qp_init *init = &qp->init;

	return (struct ibv_qp_init_attr){
		.qp_context = qp,
		.send_cq = qp->send_cq->user.cq,
		.recv_cq = qp->recv_cq->user.cq,
		.srq = qp->srq != NULL ? qp->srq->user.srq : NULL,
		.qp_type = qp->user.ud   ? IBV_QPT_UD
			   : qp->user.uc ? IBV_QPT_UC
					 : IBV_QPT_RC,
		.cap = {.max_send_wr = larger_of(init->max_sq_wr, 1),
			.max_recv_wr = qp->srq != NULL ? 0 : larger_of(init->max_rq_wr, 1),
			.max_send_sge = larger_of(request_sges(init), 1),
			.max_recv_sge = qp->srq != NULL ? 0 : larger_of(init->max_recv_sge, 1)},
	};
}

/*
 * Create the device's queue pair with the requested inline room, or, if copied payload can use
 * more, with the largest room that the device accepts. No attribute reports the maximum, so this
 * tries. *@p inline_bytes: the room for copied payload. NULL: errno gives the reason.
 */
static struct ibv_qp *
verbs_create(struct vib_qp *qp, uint32_t *inline_bytes)
{
	const uint32_t asked = qp->init.max_inline;
	struct ibv_qp *made = NULL;

	for (uint32_t bytes = larger_of(INLINE_BYTES, asked);;
	     bytes = bytes > 32 && bytes / 2 > asked ? bytes / 2 : asked) {
		struct ibv_qp_init_attr theirs = verbs_attr(qp);

		theirs.cap.max_inline_data = bytes;
		errno = 0;
		made = ibv_create_qp(qp->pd->pd, &theirs);
		*inline_bytes =
			smaller_of(theirs.cap.max_inline_data, smaller_of(bytes, INLINE_BYTES));
		if (made != NULL && theirs.cap.max_inline_data < asked) {
			(void)ibv_destroy_qp(made);
			errno = EINVAL;
			return NULL;
		}
		if (made != NULL || bytes == asked || (errno != EINVAL && errno != ENOMEM))
			return made;
	}
}

/* Slots and the device's queue pair. On failure the caller frees what there is. */
static enum ri_status
device_create(struct vib_qp *qp, const struct ri_qp_init *init)
{
	const struct ri_rnic *rnic = qp->pd->context->rnic;
	struct ri_uqp *user = &qp->user;
	uint32_t sges = request_sges(init);

	if (!vib_ring_create(&user->sq, init->max_sq_wr) ||
	    !vib_ring_create(&user->rq, user->shared ? 0 : init->max_rq_wr) ||
	    !vib_chain_create(&user->chain, sges, init->max_inline))
		return RI_ERR_RESOURCES;
	slots_name(&user->sq, user);
	slots_name(&user->rq, user);
	if (user->ud && user->rq.slots != NULL) {
		user->headers =
			(uint64_t *)calloc((size_t)user->rq.mask + 1, sizeof(*user->headers));
		if (user->headers == NULL)
			return RI_ERR_RESOURCES;
	}
	qp->user.qp = verbs_create(qp, &qp->user.max_inline);
	if (qp->user.qp == NULL)
		return errno == EINVAL ? RI_ERR_LIMIT
				       : vib_create_failure(rnic, "a queue pair", errno);
	qp->user.qpn = qp->user.qp->qp_num;
	qp->user.max_send_sge = (uint16_t)sges;
	qp->user.read_bound = qp->user.uc ? 0 : (uint16_t)(init->max_read_sge + 1);
	qp->user.max_recv_sge = (uint16_t)init->max_recv_sge;
	qp->user.inline_room = init->max_inline;
	vib_post_prepare(&qp->user);
	return qp->user.ud ? vib_qp_device_run(qp) : vib_qp_device_init(qp);
}

enum ri_status
vib_qp_device_renew(struct vib_qp *qp, struct ibv_qp **former)
{
	struct ri_uqp *user = &qp->user;
	uint32_t inline_bytes;
	struct ibv_qp *made = verbs_create(qp, &inline_bytes);

	if (made == NULL)
		return vib_create_failure(qp->pd->context->rnic, "a queue pair", errno);
	if (inline_bytes < user->max_inline) {
		(void)ibv_destroy_qp(made);
		return RI_ERR_RESOURCES;
	}
	vsw_lock(&user->recv_cq->lock);
	if (user->shared)
		member_leave(user);
	*former = user->qp;
	user->qp = made;
	user->qpn = made->qp_num;
	qp->lame = false;
	if (user->shared)
		member_enter(user);
	vsw_unlock(&user->recv_cq->lock);
	return RI_SUCCESS;
}

static void
qp_free(struct vib_qp *qp)
{
	if (qp->user.qp != NULL)
		(void)ibv_destroy_qp(qp->user.qp);
	vib_ring_destroy(&qp->user.sq);
	vib_ring_destroy(&qp->user.rq);
	vib_chain_destroy(&qp->user.chain);
	free(qp->user.headers);
	pthread_mutex_destroy(&qp->lock);
	free(qp);
}

/* What posts and polls need to know. */
static void
user_fill(struct vib_qp *qp, const struct ri_qp_init *init)
{
	struct ri_rnic *rnic = qp->pd->context->rnic;
	struct ri_uqp *user = &qp->user;

	user->ctx = init->ctx;
	user->send_cq = &qp->send_cq->user;
	user->recv_cq = &qp->recv_cq->user;
	user->shared = qp->srq != NULL;
	user->ud = init->type == RI_QP_UD;
	user->uc = init->type == RI_QP_UC;
	user->bare = user->ud;
	user->empty_harms = rnic->quirk->empty_harms;
	user->no_read_fence = rnic->quirk->no_read_fence;
	user->odd = user->ud || user->send_cq->reorders || user->empty_harms || user->no_read_fence;
	user->windows = !user->uc && (rnic->attr.mw_narrow || rnic->attr.mw_wide);
	user->invalidates = !user->uc && rnic->attr.send_invalidate;
	user->immediate = rnic->attr.immediate_with;
	user->vague = rnic->quirk->vague_statuses;
	user->void_harms = rnic->quirk->void_harms;
	user->invalidated = IBV_WC_WITH_INV;
	if (rnic->quirk->kernel_flags && !user->ud)
		user->invalidated |= IBV_WC_IP_CSUM_OK;
	user->keys = &rnic->keys;
	user->count = &user->unread;
	user->pd = qp->pd;
	user->host = rnic->host;
}

static enum ri_status
qp_create(struct ri_pd *pd, struct ri_qp_init *init, struct ri_cq *send_cq, struct ri_cq *recv_cq,
	  struct ri_srq *srq, struct ri_qp **out, struct ri_map *map)
{
	enum ri_status status;
	struct vib_qp *qp;

	if (init->type == RI_QP_NUMBER)
		return vib_number_create(pd, init, out, map);
	const struct ri_rnic *rnic = pd->context->rnic;
	const struct ri_rnic_attr *can = &rnic->attr;

	if (!type_is_there(can, init->type, srq != NULL) || init->privileged ||
	    (srq != NULL && init->soft_limit != 0))
		return RI_ERR_UNSUPPORTED;
	if (srq != NULL && srq->pd != pd && rnic->quirk->srq_of_domain) {
		vib_log(rnic, RI_LOG_WARNING,
			"the device cannot use a shared receive queue of another protection "
			"domain");
		return RI_ERR_UNSUPPORTED;
	}
	if (init->type == RI_QP_UD && init->port >= can->num_ports)
		return RI_ERR_INVALID_ARG;
	if (qkey_forbidden(pd, init->qkey))
		return RI_ERR_PERMISSION;
	if (init->max_sq_wr > can->max_sq_wr || (srq == NULL && init->max_rq_wr > can->max_rq_wr) ||
	    init->max_send_sge > can->max_send_sge || init->max_recv_sge > can->max_recv_sge ||
	    init->max_write_sge > can->max_write_sge || init->max_read_sge > can->max_read_sge ||
	    init->ird > can->max_ird || init->ord > can->max_ord ||
	    init->max_inline > (can->inline_data ? can->max_inline : 0))
		return RI_ERR_LIMIT;
	status = vib_alive(rnic);
	if (status != RI_SUCCESS)
		return status;
	qp = (struct vib_qp *)calloc(1, sizeof(*qp));
	if (qp == NULL)
		return RI_ERR_RESOURCES;
	pthread_mutex_init(&qp->lock, NULL);
	vib_list_init(&qp->groups);
	qp->pd = pd;
	qp->send_cq = send_cq;
	qp->recv_cq = recv_cq;
	qp->srq = srq;
	qp->ctx = init->ctx;
	qp->init = *init;
	if (srq != NULL)
		qp->init.max_rq_wr = 0;
	user_fill(qp, init);
	vib_qp_end_init(qp);
	vib_qp_renew_init(qp);
	status = device_create(qp, &qp->init);
	if (status != RI_SUCCESS) {
		qp_free(qp);
		return status;
	}
	if (qp->user.ud)
		vib_qp_end_running(qp);
	atomic_fetch_add(&qp->pd->users, 1);
	atomic_fetch_add(&qp->send_cq->users, 1);
	atomic_fetch_add(&qp->recv_cq->users, 1);
	if (qp->srq != NULL) {
		atomic_fetch_add(&qp->srq->users, 1);
		vsw_lock(&qp->recv_cq->user.lock);
		member_enter(&qp->user);
		vsw_unlock(&qp->recv_cq->user.lock);
	}
	vib_chain_join(&qp->user);
	vib_enlist(qp->pd->context, &qp->pd->context->qps, &qp->item);
	*init = qp->init;
	vib_map(map, &qp->user);
	*out = (struct ri_qp *)qp;
	return RI_SUCCESS;
}

/* --- modification -------------------------------------------------------------------------------- */

/* The moves that the layers above may ask for [RI 4.3.2]. */
static enum ri_status
to_state(struct vib_qp *qp, uint32_t state, bool anew)
{
	struct ri_cm_event event = {.kind = RI_CM_BROKEN};
	uint32_t now;

	pthread_mutex_lock(&qp->lock);
	now = qp->state;
	pthread_mutex_unlock(&qp->lock);
	if (state == RI_QPS_IDLE)
		return vib_qp_end_reset(qp, anew);
	if (qp->user.bare && state != RI_QPS_ERROR)
		return RI_ERR_INVALID_STATE;
	if (state == RI_QPS_CLOSING && now == RI_QPS_RTS)
		return vib_cm_close_qp(qp);
	if (state == RI_QPS_ERROR && now == RI_QPS_IDLE) {
		vib_qp_end_idle(qp);
		return RI_SUCCESS;
	}
	if (state == RI_QPS_ERROR || (state == RI_QPS_TERMINATE && now == RI_QPS_RTS)) {
		if (now == RI_QPS_CONNECTING)
			event.kind = RI_CM_FAILED;
		if (!qp->user.bare)
			vib_cm_abort(qp);
		if (vib_qp_end(qp, &event, RI_EVENT_NONE))
			vib_why_ended(qp, "aborted by this end");
		return RI_SUCCESS;
	}
	return RI_ERR_INVALID_STATE;
}

static enum ri_status
qp_modify(struct ri_qp *ri, const struct ri_qp_attr *attr, uint32_t mask)
{
	struct vib_qp *qp = (struct vib_qp *)ri;
	const struct ri_rnic *rnic = qp->pd->context->rnic;
	const uint32_t known = RI_QP_ATTR_STATE | RI_QP_ATTR_ACCESS | RI_QP_ATTR_IRD |
			       RI_QP_ATTR_ORD | RI_QP_ATTR_SOFT | RI_QP_ATTR_HARD | RI_QP_ATTR_QKEY;
	struct ibv_qp_attr device_attr = {.qp_access_flags = 0, .qkey = attr->qkey};
	enum ri_status status = RI_SUCCESS;

	/* All attributes are checked before any is changed. */
	if ((mask & ~known) != 0)
		return RI_ERR_INVALID_ARG;
	if ((mask & RI_QP_ATTR_QKEY) != 0 && !qp->user.ud)
		return RI_ERR_UNSUPPORTED;
	if ((mask & RI_QP_ATTR_QKEY) != 0 && qkey_forbidden(qp->pd, attr->qkey))
		return RI_ERR_PERMISSION;
	if ((mask & (RI_QP_ATTR_SOFT | RI_QP_ATTR_HARD)) != 0)
		return qp->srq == NULL ? RI_ERR_INVALID_ARG : RI_ERR_UNSUPPORTED;
	if ((mask & RI_QP_ATTR_ACCESS) != 0 && !rnic->attr.enables_modifiable &&
	    attr->access != qp->init.access)
		return RI_ERR_UNSUPPORTED;
	if ((mask & RI_QP_ATTR_ORD) != 0 && attr->ord > rnic->attr.max_ord)
		return RI_ERR_LIMIT;
	if ((mask & RI_QP_ATTR_IRD) != 0 && attr->ird > rnic->attr.max_ird)
		return RI_ERR_LIMIT;

	if ((mask & RI_QP_ATTR_STATE) != 0)
		status = to_state(qp, attr->state, attr->skip_time_wait);
	if (status != RI_SUCCESS)
		return status;
	pthread_mutex_lock(&qp->lock);
	if ((mask & RI_QP_ATTR_ACCESS) != 0) {
		/* The device has new rights at once, unless its queue pair is in a state that has none. */
		uint32_t before = qp->init.access;

		qp->init.access = attr->access;
		if (before != attr->access && qp->state != RI_QPS_ERROR)
			status = vib_qp_device_modify(qp, &device_attr, IBV_QP_ACCESS_FLAGS);
		if (status != RI_SUCCESS)
			qp->init.access = before;
	}
	if (status == RI_SUCCESS && (mask & RI_QP_ATTR_QKEY) != 0) {
		/* A queue pair in ERROR gets its Q_Key when it runs again. */
		if (qp->state == RI_QPS_RTS)
			status = vib_qp_device_modify(qp, &device_attr, IBV_QP_QKEY);
		if (status == RI_SUCCESS)
			qp->init.qkey = attr->qkey;
	}
	if (status != RI_SUCCESS) {
		pthread_mutex_unlock(&qp->lock);
		return status;
	}
	if ((mask & RI_QP_ATTR_ORD) != 0)
		qp->ord = qp->init.ord = attr->ord;
	if ((mask & RI_QP_ATTR_IRD) != 0)
		qp->ird = qp->init.ird = attr->ird;
	pthread_mutex_unlock(&qp->lock);
	return RI_SUCCESS;
}

/* --- query ------------------------------------------------------------------------------------------ */

static void
stage_cq(struct ri_ucq *cq)
{
	vsw_lock(&cq->lock);
	vib_cq_stage(cq);
	vib_cq_unlock(cq);
}

static enum ri_status
qp_query(struct ri_qp *ri, struct ri_qp_attr *attr)
{
	struct vib_qp *qp = (struct vib_qp *)ri;

	if (!qp->number) {
		stage_cq(qp->user.send_cq);
		stage_cq(qp->user.recv_cq);
	}
	memset(attr, 0, sizeof(*attr));
	pthread_mutex_lock(&qp->lock);
	attr->state = vib_qp_state(qp);
	attr->access = qp->init.access;
	attr->ird = qp->ird;
	attr->ord = qp->ord;
	pthread_mutex_unlock(&qp->lock);
	attr->qpn = qp->user.qpn;
	attr->max_sq_wr = qp->init.max_sq_wr;
	attr->max_rq_wr = qp->init.max_rq_wr;
	attr->max_send_sge = qp->init.max_send_sge;
	attr->max_recv_sge = qp->init.max_recv_sge;
	attr->max_write_sge = qp->init.max_write_sge;
	attr->max_read_sge = qp->init.max_read_sge;
	attr->hard_limit = UINT32_MAX;
	attr->qkey = qp->init.qkey;
	attr->quiescent = vib_ring_open(&qp->user.sq) == 0 && vib_ring_open(&qp->user.rq) == 0;
	return RI_SUCCESS;
}

/* --- destruction --------------------------------------------------------------------------------------- */

/* Take what the device has completed for others, and drop what is of this queue pair. */
static void
leave_cq(struct ri_uqp *qp, struct ri_ucq *cq, const struct ri_uqp *dying)
{
	vsw_lock(&cq->lock);
	vib_cq_stage_all(cq, dying);
	if (dying != NULL && cq == qp->recv_cq && qp->shared)
		member_leave(qp);
	vib_cq_unlock(cq);
}

void
vib_qp_destroy(struct vib_qp *qp)
{
	struct ri_rnic *rnic = qp->pd->context->rnic;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	int error;

	if (qp->number) {
		vib_number_destroy(qp);
		return;
	}
	/* From here on no poll finds a failure to report: the gate is closed, and no poll is inside a queue or reports one. */
	atomic_store(&qp->user.gate, VIB_GATE_FLUSH);
	leave_cq(&qp->user, qp->user.send_cq, NULL);
	vib_chain_leave(&qp->user);
	stage_cq(qp->user.recv_cq);
	vib_chain_wait(&qp->user);
	vib_qp_end_stop(qp);
	vib_qp_renew_stop(qp);
	if (!qp->user.ud)
		vib_cm_forget(qp);
	/* What was completed before stays; what comes from here on is dropped. */
	leave_cq(&qp->user, qp->user.send_cq, NULL);
	leave_cq(&qp->user, qp->user.recv_cq, NULL);
	atomic_store(&qp->user.dying, true);
	vib_mcast_leave(qp);
	(void)ibv_modify_qp(qp->user.qp, &attr, IBV_QP_STATE);
	error = ibv_destroy_qp(qp->user.qp);
	if (error != 0)
		vib_log(rnic, RI_LOG_WARNING, "ibv_destroy_qp: %s", ri_errno_text(error));
	leave_cq(&qp->user, qp->user.send_cq, &qp->user);
	leave_cq(&qp->user, qp->user.recv_cq, &qp->user);
	qp->user.qp = NULL;
	vib_delist(qp->pd->context, &qp->item);
	if (qp->srq != NULL)
		atomic_fetch_sub(&qp->srq->users, 1);
	atomic_fetch_sub(&qp->send_cq->users, 1);
	atomic_fetch_sub(&qp->recv_cq->users, 1);
	atomic_fetch_sub(&qp->pd->users, 1);
	qp_free(qp);
}

static enum ri_status
qp_destroy(struct ri_qp *ri)
{
	struct vib_qp *qp = (struct vib_qp *)ri;

	if (qp->user.windows && vib_mw_count(qp->pd->context, NULL, qp->user.qpn) != 0)
		return RI_ERR_BUSY;
	vib_qp_destroy(qp);
	return RI_SUCCESS;
}

const struct ri_qp_ops vib_qp_ops = {
	.size = sizeof(struct ri_qp_ops),
	.create = qp_create,
	.modify = qp_modify,
	.query = qp_query,
	.destroy = qp_destroy,
	.mcast_attach = vib_mcast_attach,
	.mcast_detach = vib_mcast_detach,
};
