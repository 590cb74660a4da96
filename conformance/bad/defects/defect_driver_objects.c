/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Bugs of drivers and firmware in regions, windows, shared receive queues, datagrams and listeners. */
#include <stdlib.h>
#include <string.h>

#include "defect_history.h"

/* --- the last word of a region -------------------------------------------------------------------- */

#define WORD 8u

/* A region of any adapter of this process, since the peer may have it. */
struct reached {
	struct reached *next;
	const void *mr;
	uint32_t stag;
	uint64_t last; /* address of its last word; 0: it has one word only */
};

static struct reached *reached; /* with history_lock() */

static void
reached_forget(const void *mr)
{
	struct reached **at = &reached;

	history_lock();
	while (*at != NULL && (*at)->mr != mr)
		at = &(*at)->next;
	if (*at != NULL) {
		struct reached *gone = *at;

		*at = gone->next;
		free(gone);
	}
	history_unlock();
}

static enum ri_status
word_reg(struct ri_pd *pd, const struct ri_mr_init *init, struct ri_mr **out, uint32_t *stag)
{
	enum ri_status status = wrap_plain_mem_ops.mr_reg(pd, init, out, stag);
	uint64_t begin = init->zero_based ? 0 : init->iova_given ? init->iova : init->addr;
	struct reached *one =
		status == RI_SUCCESS && init->length > WORD ? calloc(1, sizeof(*one)) : NULL;

	if (one == NULL)
		return status;
	*one = (struct reached){.mr = *out, .stag = *stag, .last = begin + init->length - WORD};
	history_lock();
	one->next = reached;
	reached = one;
	history_unlock();
	return status;
}

static enum ri_status
word_dereg(struct ri_mr *mr)
{
	enum ri_status status = wrap_plain_mem_ops.mr_dereg(mr);

	if (status == RI_SUCCESS)
		reached_forget(mr);
	return status;
}

static bool
word_last(struct wrap_obj *uqp, struct defect_wr *wr)
{
	struct ri_wr_remote *remote = &wr->wr.u.remote;
	const struct reached *at;

	(void)uqp;
	if (wr->wr.opcode != RI_OP_FETCH_ADD && wr->wr.opcode != RI_OP_CMP_SWAP)
		return true;
	history_lock();
	at = reached;
	while (at != NULL && (at->stag != remote->stag || at->last != remote->addr))
		at = at->next;
	if (at != NULL)
		remote->addr += WORD;
	history_unlock();
	return true;
}

/* What the adapter still has goes with it. */
static void
word_end(struct wrap_rnic *rnic)
{
	for (struct wrap_obj *o = rnic->objects.next; o != &rnic->objects; o = o->next)
		if (o->kind == WRAP_MR)
			reached_forget(o);
}

/* --- windows without a right ------------------------------------------------------------------------ */

/* wrap_obj::count[0] of a window: its last bind gave no right. */
static bool
nothing_opens(struct wrap_obj *uqp, struct defect_wr *wr)
{
	struct ri_wr_bind *bind = &wr->wr.u.bind;
	struct wrap_rnic *rnic = uqp->rnic;
	struct wrap_obj *mr, *mw;

	if (wr->wr.opcode != RI_OP_BIND_MW || bind->length == 0)
		return true;
	mr = wrap_region_of(rnic, bind->mr_stag);
	pthread_mutex_lock(&rnic->lock);
	mw = history_by_index(rnic, WRAP_MW, bind->mw_stag);
	if (mw != NULL)
		atomic_store(&mw->count[0], bind->access == 0);
	pthread_mutex_unlock(&rnic->lock);
	if (bind->access == 0 && mr != NULL && (mr->init.access & RI_ACCESS_LOCAL_READ) != 0)
		bind->access = RI_ACCESS_REMOTE_READ;
	return true;
}

static enum ri_status
nothing_query(struct ri_mw *mw, struct ri_mr_attr *attr)
{
	enum ri_status status = wrap_plain_mem_ops.mw_query(mw, attr);

	if (status == RI_SUCCESS && atomic_load(&wrap_of(mw)->count[0]) != 0)
		attr->access = 0;
	return status;
}

/* --- two windows of a region --------------------------------------------------------------------------- */

/* wrap_obj::last of a window: the STags of its region and of itself, 0 without; wrap_obj::own is not used, cqs[0] is who bound it. */
enum bound_word {
	BOUND_REGION,
	BOUND_WINDOW
};

/* Another window that the same queue pair has bound to the same region: its STag, or 0. It counts as invalidated. */
static uint32_t
neighbour_take(struct wrap_obj *uqp, struct wrap_obj *mw)
{
	struct wrap_rnic *rnic = uqp->rnic;
	uint32_t stag = 0;

	for (struct wrap_obj *o = rnic->objects.next; o != &rnic->objects && stag == 0;
	     o = o->next) {
		if (o->kind != WRAP_MW || o == mw || o->cqs[0] != uqp ||
		    o->last[BOUND_WINDOW] == 0 || o->last[BOUND_REGION] != mw->last[BOUND_REGION])
			continue;
		stag = (uint32_t)o->last[BOUND_WINDOW];
		o->last[BOUND_WINDOW] = 0;
	}
	return stag;
}

static bool
neighbour_invalidated(struct wrap_obj *uqp, struct defect_wr *wr)
{
	const struct ri_wr_bind *bind = &wr->wr.u.bind;
	struct wrap_rnic *rnic = uqp->rnic;
	struct ri_wr also = {.opcode = RI_OP_LOCAL_INV};
	struct wrap_obj *mw;

	if (wr->wr.opcode != RI_OP_BIND_MW && wr->wr.opcode != RI_OP_LOCAL_INV)
		return true;
	pthread_mutex_lock(&rnic->lock);
	mw = history_by_index(rnic, WRAP_MW,
			      wr->wr.opcode == RI_OP_BIND_MW ? bind->mw_stag : wr->wr.inv_stag);
	if (mw != NULL && wr->wr.opcode == RI_OP_BIND_MW) {
		mw->last[BOUND_REGION] = bind->mr_stag;
		mw->last[BOUND_WINDOW] = bind->length > 0 ? bind->mw_stag : 0;
		mw->cqs[0] = uqp;
	} else if (mw != NULL && mw->last[BOUND_WINDOW] != 0) {
		mw->last[BOUND_WINDOW] = 0;
		also.inv_stag = neighbour_take(uqp, mw);
	}
	pthread_mutex_unlock(&rnic->lock);
	if (also.inv_stag != 0)
		(void)!wrap_plain_fast_ops.post_sq((struct ri_uqp *)uqp, &also);
	return true;
}

/* --- a watermark above what is there ------------------------------------------------------------------------ */

/* wrap_obj::count[0] of a shared queue: fewer receives than the limit were there when it was set. */
static enum ri_status
below_modify(struct ri_srq *srq, struct ri_srq_attr *attr, bool resize, struct ri_map *map)
{
	struct wrap_obj *obj = wrap_of(srq);
	struct ri_srq_attr now = {0};

	if (attr->limit != RI_SRQ_LIMIT_KEEP && wrap_plain_srq_ops.query(srq, &now) == RI_SUCCESS)
		atomic_store(&obj->count[0], now.available < attr->limit);
	return wrap_plain_srq_ops.modify(srq, attr, resize, map);
}

static bool
below_untold(struct wrap_rnic *rnic, struct ri_async_event *event)
{
	struct wrap_obj *srq =
		event->event == RI_EVENT_SRQ_LIMIT ? wrap_find(rnic, WRAP_SRQ, event->ctx) : NULL;

	return srq == NULL || atomic_exchange(&srq->count[0], 0) == 0;
}

/* --- the routing header of a datagram ------------------------------------------------------------------------- */

#define HEADER  40u
#define AWAITED 256u

/* The receives of a queue pair: wrap_obj::own of its user half. */
struct awaited {
	uint32_t posted, done;
	struct ri_sge sgl[AWAITED][2];
};

static enum ri_status
header_post_rq(struct ri_uqp *qp, const struct ri_recv_wr *wr)
{
	struct wrap_obj *uqp = wrap_of(qp);
	enum ri_status status;
	struct awaited *awaited;

	if (uqp->half->qp.type != RI_QP_UD)
		return wrap_plain_fast_ops.post_rq(qp, wr);
	history_lock();
	status = wrap_plain_fast_ops.post_rq(qp, wr);
	if (uqp->own == NULL)
		uqp->own = calloc(1, sizeof(*awaited));
	awaited = uqp->own;
	if (status == RI_SUCCESS && awaited != NULL) {
		struct ri_sge *sgl = awaited->sgl[awaited->posted++ % AWAITED];

		sgl[0] = sgl[1] = (struct ri_sge){0};
		if (wr->num_sge > 1)
			memcpy(sgl, wr->sgl, 2 * sizeof(*sgl));
	}
	history_unlock();
	return status;
}

/* Of a header that does not fit into the first segment the rest is not skipped in the second. */
static enum defect_act
header_split(struct wrap_obj *ucq, struct ri_wc *wc)
{
	struct wrap_obj *qp = defect_qp(ucq, wc);
	struct wrap_obj *mr;
	struct ri_sge sgl[2];
	uint32_t rest, length;
	struct awaited *awaited;

	if (qp == NULL || qp->half == NULL || wc->opcode != RI_OP_RECV_UD)
		return DEFECT_PASS;
	history_lock();
	awaited = qp->half->own;
	memset(sgl, 0, sizeof(sgl));
	if (awaited != NULL)
		memcpy(sgl, awaited->sgl[awaited->done++ % AWAITED], sizeof(sgl));
	history_unlock();
	if (wc->status != RI_WC_SUCCESS || (wc->flags & RI_WC_GRH) == 0 || sgl[0].length == 0 ||
	    sgl[0].length >= HEADER || sgl[0].length + sgl[1].length <= HEADER)
		return DEFECT_PASS;
	mr = wrap_region_of(ucq->rnic, sgl[1].stag);
	if (mr == NULL || mr->init.iova_given || mr->init.zero_based || mr->init.pages != NULL)
		return DEFECT_PASS;
	rest = HEADER - sgl[0].length;
	length = sgl[1].length - rest;
	if (length > wc->byte_len - HEADER)
		length = wc->byte_len - HEADER;
	memmove((void *)(uintptr_t)sgl[1].addr, (const void *)(uintptr_t)(sgl[1].addr + rest),
		length);
	return DEFECT_PASS;
}

/* --- address handles for one destination ------------------------------------------------------------------------ */

static bool
same_way(const struct ri_ah_init *a, const struct ri_ah_init *b)
{
	return a->port == b->port && a->dlid == b->dlid && a->dest.family == b->dest.family &&
	       a->dest.scope_id == b->dest.scope_id &&
	       memcmp(a->dest.octets, b->dest.octets, sizeof(a->dest.octets)) == 0;
}

/* wrap_obj::own of a handle: its destination. */
static enum ri_status
way_create(struct ri_pd *pd, const struct ri_ah_init *init, struct ri_ah **out, uint32_t *id)
{
	enum ri_status status = wrap_plain_ah_ops.create(pd, init, out, id);
	struct ri_ah_init *own = status == RI_SUCCESS ? calloc(1, sizeof(*own)) : NULL;

	if (own == NULL)
		return status;
	*own = *init;
	pthread_mutex_lock(&wrap_rnic_of(pd)->lock);
	wrap_of(*out)->own = own;
	pthread_mutex_unlock(&wrap_rnic_of(pd)->lock);
	return status;
}

/* Handles for one destination have one entry: the newest of the others moves, too. */
static enum ri_status
way_modify(struct ri_ah *ah, const struct ri_ah_init *init)
{
	struct wrap_obj *obj = wrap_of(ah);
	struct wrap_rnic *rnic = obj->rnic;
	struct ri_ah_init *own = obj->own;
	struct wrap_obj *other = NULL;
	enum ri_status status = wrap_plain_ah_ops.modify(ah, init);

	if (status != RI_SUCCESS || own == NULL)
		return status;
	pthread_mutex_lock(&rnic->lock);
	for (struct wrap_obj *o = rnic->objects.next; o != &rnic->objects; o = o->next)
		if (o->kind == WRAP_AH && o != obj && o->pd == obj->pd && o->own != NULL &&
		    same_way(o->own, own))
			other = o;
	*own = *init;
	if (other != NULL)
		*(struct ri_ah_init *)other->own = *init;
	pthread_mutex_unlock(&rnic->lock);
	if (other != NULL)
		(void)!wrap_plain_ah_ops.modify((struct ri_ah *)other, init);
	return status;
}

/* --- a port that was refused ------------------------------------------------------------------------------------------ */

#define REFUSED 8u

/* wrap_rnic::count: services that were refused because they are in use; 0: none. */
static uint32_t
service_word(const struct ri_service *service)
{
	return service->kind == RI_SERVICE_PORT
		       ? service->port
		       : (uint32_t)service->id ^ (uint32_t)(service->id >> 32);
}

static enum ri_status
refused_listen(struct ri_context *context, uint64_t ctx, uint32_t port, struct ri_service *service,
	       uint32_t backlog, struct ri_listen **out)
{
	struct wrap_rnic *rnic = wrap_rnic_of(context);
	uint32_t word = service_word(service);
	enum ri_status status;

	for (unsigned i = 0; i < REFUSED && word != 0; i++)
		if (atomic_load(&rnic->count[i]) == word)
			return RI_ERR_IN_USE;
	status = wrap_plain_cm_ops.listen(context, ctx, port, service, backlog, out);
	for (unsigned i = 0; i < REFUSED && status == RI_ERR_IN_USE; i++) {
		if (atomic_load(&rnic->count[i]) != 0)
			continue;
		atomic_store(&rnic->count[i], word);
		break;
	}
	return status;
}

/* --- the rows ----------------------------------------------------------------------------------- */

const struct defect defects_driver_objects[] = {
	DEFECT("fw27-atomic-last-word", "no atomic at the end of a region",
	       "An atomic on the last eight octets of a larger region is refused.", NEED_ATOMICS,
	       .wr = word_last, .end = word_end,
	       ENTRIES(.mem.mr_reg = word_reg, .mem.mr_dereg = word_dereg)),
	DEFECT("fw27-bind-nothing-opens", "no right is a right",
	       "A window that is bound without a right can be read.", NEED_NARROW,
	       .wr = nothing_opens, ENTRIES(.mem.mw_query = nothing_query)),
	DEFECT("fw27-invalidate-neighbour", "two windows of a region end together",
	       "A local invalidation invalidates another window of the same region and queue pair, "
	       "too.",
	       NEED_NARROW, .wr = neighbour_invalidated),
	DEFECT("fw27-srq-limit-below", "a watermark that is reached already",
	       "A low watermark that is above the number of receives when it is set is not "
	       "reported.",
	       NEED_SRQ, .async = below_untold, ENTRIES(.srq.modify = below_modify)),
	DEFECT("fw27-header-split", "a routing header in two segments",
	       "Data of a datagram begin in the second segment if the first is shorter than the "
	       "header.",
	       NEED_UD, .wc = header_split, ENTRIES(.fast.post_rq = header_post_rq)),
	DEFECT("fw27-handle-neighbour", "two address handles are one",
	       "Changing an address handle changes another one that had the same destination.",
	       NEED_UD, ENTRIES(.ah.create = way_create, .ah.modify = way_modify)),
	DEFECT("fw27-refused-holds-service", "a refused listener holds its service",
	       "A service on which listening was refused because it is in use stays in use.",
	       NEED_ADDRESS, ENTRIES(.cm.listen = refused_listen)),
};

const size_t defects_driver_objects_count =
	sizeof(defects_driver_objects) / sizeof(defects_driver_objects[0]);
