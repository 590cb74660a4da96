/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Defects that the errata of devices and the histories of drivers suggest, in completion queues,
 * keys, queue pairs and connections: an attribute is lost or kept by mistake when an object is
 * armed, resized, bound or used again, or is destroyed while others stay.
 */
#include <stdlib.h>
#include <string.h>

#include "defect.h"

/* --- a full completion queue ------------------------------------------------------------------------- */

static bool
is_full(struct ri_ucq *cq)
{
	const struct wrap_obj *whole = wrap_of(cq)->half;

	return whole != NULL && wrap_plain_fast_ops.cq_depth(cq) >= whole->entries;
}

static uint32_t
full_depth(struct ri_ucq *cq)
{
	return is_full(cq) ? 0 : wrap_plain_fast_ops.cq_depth(cq);
}

static enum ri_status
full_arm(struct ri_ucq *cq, enum ri_arm how, uint32_t count)
{
	enum ri_status status = wrap_plain_fast_ops.arm_cq(cq, how, count);

	return status == RI_ERR_NOT_EMPTY && is_full(cq) ? RI_SUCCESS : status;
}

/* --- arming ------------------------------------------------------------------------------------------------ */

static enum ri_status
disarming_remap(struct ri_ucq *cq, const struct ri_map *map)
{
	enum ri_status status = wrap_plain_user_ops.cq_remap(cq, map);

	if (status == RI_SUCCESS)
		(void)!wrap_plain_fast_ops.arm_cq(cq, RI_ARM_NONE, 0);
	return status;
}

/* wrap_obj::count[0] of a user half: it is armed, and has not been empty since. */
static enum ri_status
edge_arm(struct ri_ucq *cq, enum ri_arm how, uint32_t count)
{
	enum ri_status status = wrap_plain_fast_ops.arm_cq(cq, how, count);

	atomic_store(&wrap_of(cq)->count[0], status == RI_SUCCESS && how == RI_ARM_SOLICITED &&
						     wrap_plain_fast_ops.cq_depth(cq) > 0);
	return status;
}

static uint32_t
edge_poll(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n)
{
	uint32_t taken = wrap_plain_fast_ops.poll_cq(cq, wc, n);

	if (taken > 0 && wrap_plain_fast_ops.cq_depth(cq) == 0)
		atomic_store(&wrap_of(cq)->count[0], 0);
	return taken;
}

static unsigned
edge_event(struct wrap_rnic *rnic, uint64_t ctx)
{
	struct wrap_obj *cq = wrap_find(rnic, WRAP_CQ, ctx);

	return cq == NULL || cq->half == NULL || atomic_exchange(&cq->half->count[0], 0) == 0;
}

/* --- the cleaning of a completion queue -------------------------------------------------------------------------- */

#define CLEANED 1024u

/* Completions that were taken from a queue when a queue pair went: wrap_obj::own of the queue's user half. */
struct cleaned {
	pthread_mutex_t lock;
	uint32_t next, count;
	struct ri_wc wc[CLEANED];
};

static enum ri_status
cleaned_open(struct ri_urnic *rnic, const struct ri_map *map, struct ri_ucq **out)
{
	enum ri_status status = wrap_plain_user_ops.cq_open(rnic, map, out);
	struct cleaned *cleaned = status == RI_SUCCESS ? calloc(1, sizeof(*cleaned)) : NULL;

	if (cleaned != NULL)
		pthread_mutex_init(&cleaned->lock, NULL);
	if (status == RI_SUCCESS)
		wrap_of(*out)->own = cleaned;
	return status;
}

/* The first completion of another queue pair between two of this one goes. */
static void
neighbour_remove(struct cleaned *cleaned, uint64_t qp_ctx)
{
	struct ri_wc *wc = cleaned->wc;
	uint32_t first = cleaned->next, last = cleaned->count;

	while (first < last && wc[first].qp_ctx != qp_ctx)
		first++;
	while (last > first && wc[last - 1].qp_ctx != qp_ctx)
		last--;
	for (uint32_t i = first; i < last; i++) {
		if (wc[i].qp_ctx == qp_ctx)
			continue;
		memmove(&wc[i], &wc[i + 1], (cleaned->count - i - 1) * sizeof(*wc));
		cleaned->count--;
		return;
	}
}

static void
clean(struct wrap_obj *ucq, uint64_t qp_ctx)
{
	struct cleaned *cleaned = ucq->own;

	if (cleaned == NULL)
		return;
	pthread_mutex_lock(&cleaned->lock);
	while (cleaned->count < CLEANED && wrap_plain_fast_ops.cq_depth((struct ri_ucq *)ucq) > 0 &&
	       wrap_plain_fast_ops.poll_cq((struct ri_ucq *)ucq, &cleaned->wc[cleaned->count], 1) ==
		       1)
		cleaned->count++;
	neighbour_remove(cleaned, qp_ctx);
	pthread_mutex_unlock(&cleaned->lock);
}

static void
cleaning_close(struct ri_uqp *qp)
{
	struct wrap_obj *uqp = wrap_of(qp);

	clean(uqp->cqs[0], uqp->ctx);
	if (uqp->cqs[1] != uqp->cqs[0])
		clean(uqp->cqs[1], uqp->ctx);
	wrap_plain_user_ops.qp_close(qp);
}

static uint32_t
cleaned_poll(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n)
{
	struct cleaned *cleaned = wrap_of(cq)->own;
	uint32_t taken = 0;

	if (cleaned == NULL)
		return wrap_plain_fast_ops.poll_cq(cq, wc, n);
	pthread_mutex_lock(&cleaned->lock);
	while (taken < n && cleaned->next < cleaned->count)
		wc[taken++] = cleaned->wc[cleaned->next++];
	if (cleaned->next == cleaned->count)
		cleaned->next = cleaned->count = 0;
	if (taken < n)
		taken += wrap_plain_fast_ops.poll_cq(cq, wc + taken, n - taken);
	pthread_mutex_unlock(&cleaned->lock);
	return taken;
}

static uint32_t
cleaned_depth(struct ri_ucq *cq)
{
	const struct cleaned *cleaned = wrap_of(cq)->own;
	uint32_t kept = cleaned != NULL ? cleaned->count - cleaned->next : 0;

	return kept + wrap_plain_fast_ops.cq_depth(cq);
}

static enum ri_status
cleaned_arm(struct ri_ucq *cq, enum ri_arm how, uint32_t count)
{
	const struct cleaned *cleaned = wrap_of(cq)->own;
	uint32_t kept = cleaned != NULL ? cleaned->count - cleaned->next : 0;
	bool solicited = false;

	for (uint32_t i = 0; i < kept; i++)
		solicited |= (cleaned->wc[cleaned->next + i].flags & RI_WC_SOLICITED) != 0;
	if ((how == RI_ARM_NEXT && kept > 0) || (how == RI_ARM_SOLICITED && solicited) ||
	    (how == RI_ARM_COUNT && kept >= count && count > 0))
		return RI_ERR_NOT_EMPTY;
	return wrap_plain_fast_ops.arm_cq(cq, how, how == RI_ARM_COUNT ? count - kept : count);
}

/* --- keys ---------------------------------------------------------------------------------------------------------- */

/* The window of that index, or NULL. */
static struct wrap_obj *
window_of(struct wrap_rnic *rnic, uint32_t stag)
{
	struct wrap_obj *o;

	pthread_mutex_lock(&rnic->lock);
	o = rnic->objects.prev;
	while (o != &rnic->objects && (o->kind != WRAP_MW || o->stag >> 8 != stag >> 8))
		o = o->prev;
	pthread_mutex_unlock(&rnic->lock);
	return o != &rnic->objects ? o : NULL;
}

/* wrap_obj::count[0] of a window: all rights that it ever had. */
static bool
rights_stick(struct wrap_obj *uqp, struct defect_wr *wr)
{
	struct ri_wr_bind *bind = &wr->wr.u.bind;
	struct wrap_obj *mw = wr->wr.opcode == RI_OP_BIND_MW && bind->length > 0
				      ? window_of(uqp->rnic, bind->mw_stag)
				      : NULL;

	if (mw != NULL)
		bind->access |= atomic_fetch_or(&mw->count[0], bind->access);
	return true;
}

static enum ri_status
atomic_writes_reg(struct ri_pd *pd, const struct ri_mr_init *init, struct ri_mr **out,
		  uint32_t *stag)
{
	struct ri_mr_init other = *init;
	enum ri_status status;

	if ((init->access & RI_ACCESS_REMOTE_ATOMIC) != 0)
		other.access |= RI_ACCESS_REMOTE_WRITE;
	status = wrap_plain_mem_ops.mr_reg(pd, &other, out, stag);
	if (status == RI_SUCCESS)
		wrap_of(*out)->init = *init;
	return status;
}

/* A query reports what was asked for. */
static enum ri_status
atomic_writes_query(struct ri_mr *mr, struct ri_mr_attr *attr)
{
	enum ri_status status = wrap_plain_mem_ops.mr_query(mr, attr);

	if ((wrap_of(mr)->init.access & RI_ACCESS_REMOTE_WRITE) == 0)
		attr->access &= ~(uint32_t)RI_ACCESS_REMOTE_WRITE;
	return status;
}

/* --- queue pairs ------------------------------------------------------------------------------------------------------ */

/* wrap_obj::count[0]: the rights were changed; [1]: the rights that a query reports. */
static enum ri_status
first_rights_modify(struct ri_qp *qp, const struct ri_qp_attr *attr, uint32_t mask)
{
	enum ri_status status = wrap_plain_qp_ops.modify(qp, attr, mask);
	struct wrap_obj *obj = wrap_of(qp);
	const struct ri_qp_attr first = {.access = obj->qp.access};

	if (status != RI_SUCCESS)
		return status;
	if ((mask & RI_QP_ATTR_ACCESS) != 0) {
		atomic_store(&obj->count[1], attr->access);
		atomic_store(&obj->count[0], 1);
	}
	if ((mask & RI_QP_ATTR_STATE) != 0 && attr->state == RI_QPS_IDLE &&
	    atomic_load(&obj->count[0]) != 0)
		(void)!wrap_plain_qp_ops.modify(qp, &first, RI_QP_ATTR_ACCESS);
	return status;
}

static enum ri_status
first_rights_query(struct ri_qp *qp, struct ri_qp_attr *attr)
{
	enum ri_status status = wrap_plain_qp_ops.query(qp, attr);
	struct wrap_obj *obj = wrap_of(qp);

	if (status == RI_SUCCESS && atomic_load(&obj->count[0]) != 0)
		attr->access = atomic_load(&obj->count[1]);
	return status;
}

/* --- listeners ----------------------------------------------------------------------------------------------------------- */

/* wrap_obj::count of a listener: [0] its backlog, [1] requests that went. */
static enum ri_status
counted_listen(struct ri_context *context, uint64_t ctx, uint32_t port, struct ri_service *service,
	       uint32_t backlog, struct ri_listen **out)
{
	enum ri_status status = wrap_plain_cm_ops.listen(context, ctx, port, service, backlog, out);

	if (status == RI_SUCCESS)
		atomic_store(&wrap_of(*out)->count[0], backlog);
	return status;
}

/* A request whose peer gave up keeps its place; without a place a request is not reported. */
static bool
places_taken(struct wrap_rnic *rnic, struct ri_cm_event *event)
{
	struct wrap_obj *listen;

	if (event->kind != RI_CM_REQUEST && event->kind != RI_CM_REQUEST_GONE)
		return true;
	listen = wrap_find(rnic, WRAP_LISTEN, event->ctx);
	if (listen == NULL)
		return true;
	if (event->kind == RI_CM_REQUEST)
		return atomic_load(&listen->count[1]) < atomic_load(&listen->count[0]);
	(void)atomic_fetch_add(&listen->count[1], 1);
	return true;
}

/* The longest private data of a listener: wrap_obj::own. */
struct longest {
	uint16_t length;
	uint8_t octets[RI_PDATA_MAX];
};

static bool
data_tail(struct wrap_rnic *rnic, struct ri_cm_event *event)
{
	struct wrap_obj *listen =
		event->kind == RI_CM_REQUEST ? wrap_find(rnic, WRAP_LISTEN, event->ctx) : NULL;
	struct longest *longest = listen != NULL ? listen->own : NULL;

	if (listen == NULL)
		return true;
	if (longest == NULL)
		longest = listen->own = calloc(1, sizeof(*longest));
	if (longest == NULL || event->pdata_len > sizeof(longest->octets))
		return true;
	memcpy(longest->octets, event->pdata, event->pdata_len);
	if (event->pdata_len > longest->length)
		longest->length = event->pdata_len;
	event->pdata_len = longest->length;
	event->pdata_present |= longest->length > 0;
	memcpy(event->pdata, longest->octets, longest->length);
	return true;
}

const struct defect defects_errata_queues[] = {
	DEFECT("fw26a-cq-full-is-empty", "a full queue seems empty",
	       "A completion queue without a free entry has a depth of 0 and can be armed.", 0,
	       ENTRIES(.fast.cq_depth = full_depth, .fast.arm_cq = full_arm)),
	DEFECT("fw26a-resize-disarms", "a resize forgets the arming",
	       "A completion queue that is armed and then resized fires no more.", NEED_RESIZE,
	       ENTRIES(.user.cq_remap = disarming_remap)),
	DEFECT("fw26a-solicited-behind-plain", "only an empty queue fires",
	       "Armed for solicited completions while another one is present, a queue does not "
	       "fire "
	       "before it has been empty.",
	       0, ENTRIES(.fast.arm_cq = edge_arm, .fast.poll_cq = edge_poll),
	       .cq_event = edge_event),
	DEFECT("fw26a-clean-neighbour", "completions of a neighbour go with a queue pair",
	       "A completion between two of a queue pair that is destroyed is lost.", 0,
	       ENTRIES(.user.cq_open = cleaned_open, .user.qp_close = cleaning_close,
		       .fast.poll_cq = cleaned_poll, .fast.cq_depth = cleaned_depth,
		       .fast.arm_cq = cleaned_arm)),
	DEFECT("fw26a-bind-rights-stick", "a window keeps its rights",
	       "A window that is bound again has the rights of its earlier binds, too.",
	       NEED_NARROW, .wr = rights_stick),
	DEFECT("fw26a-atomic-implies-write", "the right to atomics is one to write",
	       "A region with the right to atomics is open to Writes.", NEED_ATOMICS,
	       ENTRIES(.mem.mr_reg = atomic_writes_reg, .mem.mr_query = atomic_writes_query)),
	DEFECT("fw26a-access-life", "a new life has the rights of the first",
	       "Rights of a queue pair that were changed are again those of its creation when it "
	       "is "
	       "used again, and a query does not show it.",
	       NEED_REUSE | NEED_ENABLES,
	       ENTRIES(.qp.modify = first_rights_modify, .qp.query = first_rights_query)),
	DEFECT("fw26a-backlog-gone", "requests that went keep their places",
	       "A request whose peer gave up counts for the backlog as long as the listener "
	       "exists.",
	       NEED_ADDRESS, .cm = places_taken, ENTRIES(.cm.listen = counted_listen)),
	DEFECT("fw26a-pdata-tail", "private data of an earlier request",
	       "Private data of a request are followed by what an earlier, longer one had.",
	       NEED_ADDRESS, .cm = data_tail),
};

const size_t defects_errata_queues_count =
	sizeof(defects_errata_queues) / sizeof(defects_errata_queues[0]);
