/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Promises of single sentences: identities, effects in order, ends with work left, maps, owners, what a verb must refuse. */
#include <errno.h>
#include <string.h>

#include "defect.h"

/* --- identities ------------------------------------------------------------------------------- */

static enum defect_act
identity_cut(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	wc->wr_id &= UINT32_MAX;
	return DEFECT_PASS;
}

static enum defect_act
context_cut(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	wc->qp_ctx &= UINT32_MAX;
	return DEFECT_PASS;
}

static bool
event_kind(struct wrap_rnic *rnic, struct ri_async_event *event)
{
	(void)rnic;
	if (event->event == RI_EVENT_SRQ_LIMIT)
		event->object = RI_OBJECT_RNIC;
	return true;
}

/* --- requests --------------------------------------------------------------------------------- */

static bool
effects_late(struct wrap_obj *uqp, struct defect_wr *wr)
{
	if (wr->wr.opcode == RI_OP_BIND_MW || wr->wr.opcode == RI_OP_LOCAL_INV)
		(void)defect_defer(uqp, wr, DEFECT_WHEN_POLLED);
	return true;
}

static bool
invalidate_once(struct wrap_obj *uqp, struct defect_wr *wr)
{
	if (wr->wr.opcode != RI_OP_LOCAL_INV)
		return true;
	if (uqp->last[0] == wr->wr.inv_stag)
		wr->wr.inv_stag = 0;
	uqp->last[0] = wr->wr.inv_stag;
	return true;
}

static enum defect_act
errors_each(struct wrap_obj *ucq, struct ri_wc *wc)
{
	struct wrap_obj *qp = defect_qp(ucq, wc);

	if (qp == NULL || wc->status == RI_WC_SUCCESS || wc->opcode == RI_OP_RECV ||
	    wc->opcode == RI_OP_RECV_UD)
		return DEFECT_PASS;
	if (wc->status != RI_WC_FLUSHED)
		atomic_store(&qp->count[1], 1);
	else if (atomic_load(&qp->count[1]) != 0)
		wc->status = RI_WC_LOCAL_PROTECTION;
	return DEFECT_PASS;
}

static enum ri_status
shared_segments_post(struct ri_usrq *srq, const struct ri_recv_wr *wr)
{
	enum ri_status status = wrap_plain_fast_ops.post_srq(srq, wr);

	return status == RI_ERR_LIMIT ? RI_SUCCESS : status;
}

/* --- ends ------------------------------------------------------------------------------------- */

#define RECEIVES 2 /* the counter of a queue pair's receives that are not polled */

static enum ri_status
busy_post_rq(struct ri_uqp *qp, const struct ri_recv_wr *wr)
{
	enum ri_status status = wrap_plain_fast_ops.post_rq(qp, wr);

	if (status == RI_SUCCESS)
		atomic_fetch_add(&wrap_of(qp)->half->count[RECEIVES], 1);
	return status;
}

static enum defect_act
busy_polled(struct wrap_obj *ucq, struct ri_wc *wc)
{
	struct wrap_obj *qp = defect_qp(ucq, wc);

	if (qp != NULL && wc->opcode == RI_OP_RECV && atomic_load(&qp->count[RECEIVES]) > 0)
		atomic_fetch_sub(&qp->count[RECEIVES], 1);
	return DEFECT_PASS;
}

static bool
is_busy(struct wrap_rnic *rnic, uint64_t ctx)
{
	struct wrap_obj *qp = wrap_find(rnic, WRAP_QP, ctx);

	return qp != NULL && atomic_load(&qp->count[RECEIVES]) > 0;
}

static bool
busy_cm(struct wrap_rnic *rnic, struct ri_cm_event *event)
{
	if (event->kind == RI_CM_DISCONNECTED && is_busy(rnic, event->ctx))
		event->kind = RI_CM_BROKEN;
	return true;
}

static bool
busy_async(struct wrap_rnic *rnic, struct ri_async_event *event)
{
	if (event->event == RI_EVENT_QP_LLP_CLOSE_COMPLETE && is_busy(rnic, event->ctx))
		event->event = RI_EVENT_QP_BAD_CLOSE;
	return true;
}

static enum ri_status
terminate_query(struct ri_qp *qp, struct ri_qp_attr *attr)
{
	enum ri_status status = wrap_plain_qp_ops.query(qp, attr);

	attr->terminate_len = 0;
	return status;
}

static enum ri_status
forever_modify(struct ri_qp *qp, const struct ri_qp_attr *attr, uint32_t mask)
{
	if ((mask & RI_QP_ATTR_STATE) != 0 && attr->state == RI_QPS_IDLE && !attr->skip_time_wait)
		return RI_ERR_TIME_WAIT;
	return wrap_plain_qp_ops.modify(qp, attr, mask);
}

/* --- maps and owners -------------------------------------------------------------------------- */

static enum ri_status
in_place_create(struct ri_pd *pd, struct ri_srq_attr *attr, struct ri_srq **out, struct ri_map *map)
{
	enum ri_status status = wrap_plain_srq_ops.create(pd, attr, out, map);

	if (status == RI_SUCCESS)
		wrap_of(*out)->last[0] = (uintptr_t)map;
	return status;
}

/* As if it held pointers into itself. */
static enum ri_status
in_place_open(struct ri_urnic *rnic, const struct ri_map *map, struct ri_usrq **out)
{
	if (wrap_mapped(map)->last[0] != (uintptr_t)map)
		return RI_ERR_RESOURCES;
	return wrap_plain_user_ops.srq_open(rnic, map, out);
}

static enum ri_status
any_process_create(struct ri_rnic *rnic, const struct ri_owner *owner, struct ri_context **out,
		   struct ri_map *map)
{
	struct ri_owner own = *owner;

	own.shared = false;
	return wrap_plain_device_ops.context_create(rnic, &own, out, map);
}

static enum ri_status
privileged_create(struct ri_rnic *rnic, const struct ri_owner *owner, struct ri_context **out,
		  struct ri_map *map)
{
	struct ri_owner own = *owner;

	own.privileged = true;
	return wrap_plain_device_ops.context_create(rnic, &own, out, map);
}

static enum ri_status
anywhere_route(struct ri_rnic *rnic, const struct ri_addr *peer, struct ri_addr *local,
	       uint32_t *port)
{
	enum ri_status status = wrap_plain_device_ops.route(rnic, peer, local, port);

	if (status != RI_ERR_NO_ROUTE)
		return status;
	*port = 0;
	return RI_SUCCESS;
}

/* --- what a verb must refuse ------------------------------------------------------------------ */

/* The access layer's value is another one than errno's. */
static enum ri_status
errno_reg(struct ri_pd *pd, const struct ri_mr_init *init, struct ri_mr **out, uint32_t *stag)
{
	enum ri_status status = wrap_plain_mem_ops.mr_reg(pd, init, out, stag);

	return status == RI_ERR_INVALID_ARG ? (enum ri_status)(-EINVAL) : status;
}

static enum ri_status
busy_resize(struct ri_qp *qp, struct ri_qp_attr *attr, struct ri_map *map)
{
	enum ri_status status = wrap_plain_qp_ops.resize(qp, attr, map);
	struct ri_qp_attr now = {0};

	if (status != RI_ERR_BUSY || wrap_plain_qp_ops.query(qp, &now) != RI_SUCCESS)
		return status;
	return wrap_plain_qp_ops.resize(qp, &now, map); /* and what was asked for is reported */
}

static enum ri_status
list_rereg(struct ri_mr *mr, struct ri_pd *pd, const struct ri_mr_init *init, uint32_t *stag)
{
	struct ri_mr_init range = *init;

	range.pages = NULL;
	range.max_pages = 0;
	return wrap_plain_mem_ops.mr_rereg(mr, pd, &range, stag);
}

static enum ri_status
bound_rereg(struct ri_mr *mr, struct ri_pd *pd, const struct ri_mr_init *init, uint32_t *stag)
{
	enum ri_status status = wrap_plain_mem_ops.mr_rereg(mr, pd, init, stag);

	if (status != RI_ERR_BUSY)
		return status;
	*stag = wrap_of(mr)->stag;
	return RI_SUCCESS;
}

static enum ri_status
limit_srq(struct ri_srq *srq, struct ri_srq_attr *attr, bool resize, struct ri_map *map)
{
	enum ri_status status = wrap_plain_srq_ops.modify(srq, attr, resize, map);

	return status == RI_ERR_INVALID_ARG && !resize ? RI_SUCCESS : status;
}

static enum ri_status
deep_accept(struct ri_request *request, struct ri_qp *qp, const struct ri_cm_params *params)
{
	const struct ri_rnic_attr *attr = &wrap_rnic_of(qp)->attr;
	struct ri_cm_params less = *params;

	less.ird = less.ird > attr->max_ird ? attr->max_ird : less.ird;
	less.ord = less.ord > attr->max_ord ? attr->max_ord : less.ord;
	return wrap_plain_cm_ops.accept(request, qp, &less);
}

static enum ri_status
any_confirm(struct ri_qp *qp, bool accept, const void *pdata, uint16_t len)
{
	enum ri_status status = wrap_plain_cm_ops.confirm(qp, accept, pdata, len);

	return status == RI_ERR_INVALID_STATE ? RI_SUCCESS : status;
}

static enum ri_status
any_reserve(struct ri_qp *qp)
{
	enum ri_status status = wrap_plain_llp_ops.reserve(qp);

	return status == RI_ERR_INVALID_STATE ? RI_SUCCESS : status;
}

static enum ri_status
unshared_qp_create(struct ri_pd *pd, struct ri_qp_init *init, struct ri_cq *send_cq,
		   struct ri_cq *recv_cq, struct ri_srq *srq, struct ri_qp **out,
		   struct ri_map *map)
{
	bool alone = init->type == RI_QP_UD && srq != NULL;
	enum ri_status status =
		wrap_plain_qp_ops.create(pd, init, send_cq, recv_cq, alone ? NULL : srq, out, map);

	if (alone && status == RI_SUCCESS)
		init->max_rq_wr = 0;
	return status;
}

const struct defect defects_promises[] = {
	DEFECT("identity-32-bits", "half of a request's identity is lost",
	       "Completions report the low 32 bits of wr_id.", 0, .wc = identity_cut),
	DEFECT("context-32-bits", "half of a context is lost",
	       "Completions report the low 32 bits of qp_ctx.", 0, .wc = context_cut),
	DEFECT("event-wrong-kind", "an event reports another kind of object",
	       "RI_EVENT_SRQ_LIMIT is raised for the adapter.", NEED_SRQ, .async = event_kind),
	DEFECT("effects-late", "keys change after the request behind",
	       "A bind or an invalidation takes effect when its completion is polled.", NEED_NARROW,
	       .wr = effects_late, .wc = defect_deferred),
	DEFECT("invalidate-once", "what is invalid cannot be invalidated",
	       "A second invalidation of a key fails.", NEED_NARROW, .wr = invalidate_once),
	DEFECT("errors-each", "each request behind an error has one, too",
	       "Requests behind one that failed are not flushed but fail.", 0, .wc = errors_each),
	DEFECT("limit-hidden-shared", "a shared queue accepts too many segments",
	       "A receive with too many segments is accepted and forgotten.", NEED_SRQ,
	       ENTRIES(.fast.post_srq = shared_segments_post)),
	DEFECT("close-busy-broken", "an end with receives left is no orderly one",
	       "An orderly end is reported as a broken one if receives are outstanding.", 0,
	       .wc = busy_polled, .cm = busy_cm, .async = busy_async,
	       ENTRIES(.fast.post_rq = busy_post_rq)),
	DEFECT("terminate-forgotten", "the Terminate is not kept",
	       "A query reports no Terminate message.", NEED_TERMINATE,
	       ENTRIES(.qp.query = terminate_query)),
	DEFECT("time-wait-forever", "the time-wait does not end",
	       "A queue pair goes back to IDLE only if it skips its time-wait.", NEED_TIME_WAIT,
	       ENTRIES(.qp.modify = forever_modify)),
	DEFECT("map-in-place", "a map works at one place",
	       "The user half of a shared receive queue needs the very map that its creation "
	       "filled.",
	       NEED_SRQ, ENTRIES(.srq.create = in_place_create, .user.srq_open = in_place_open)),
	DEFECT("process-any", "another process is served as this one",
	       "A context for another process gets maps with addresses of this one.", 0,
	       ENTRIES(.device.context_create = any_process_create)),
	DEFECT("privilege-for-all", "every owner is privileged",
	       "A context has the privilege, whatever its owner has.", NEED_PRIVILEGED,
	       ENTRIES(.device.context_create = privileged_create)),
	DEFECT("route-anywhere", "there is a way from everywhere",
	       "A route from a foreign address is found.", NEED_ADDRESS,
	       ENTRIES(.device.route = anywhere_route)),
	DEFECT("status-errno", "a status is an errno",
	       "A registration that is refused answers -EINVAL.", 0,
	       ENTRIES(.mem.mr_reg = errno_reg)),
	DEFECT("resize-pair-hidden", "a queue pair is too small for its receives",
	       "Resizing below what is outstanding succeeds.", NEED_RESIZE,
	       ENTRIES(.qp.resize = busy_resize)),
	DEFECT("reregister-list-taken", "a list is taken for a range",
	       "Registration anew with a list registers the range.", NEED_REREGISTER,
	       ENTRIES(.mem.mr_rereg = list_rereg)),
	DEFECT("reregister-busy-hidden", "a region with windows seems registered anew",
	       "Registration anew of a region with windows succeeds and is not done.",
	       NEED_REREGISTER | NEED_NARROW, ENTRIES(.mem.mr_rereg = bound_rereg)),
	DEFECT("srq-limit-unchecked", "a low watermark that cannot be is accepted",
	       "A limit above the size of a shared receive queue succeeds and is not set.",
	       NEED_SRQ, ENTRIES(.srq.modify = limit_srq)),
	DEFECT("accept-depths-cut", "too great depths are accepted",
	       "An acceptance with IRD or ORD above the limits is done with the limits.",
	       NEED_ADDRESS, ENTRIES(.cm.accept = deep_accept)),
	DEFECT("confirm-any-state", "a confirmation is taken that is not due",
	       "A confirmation in a wrong state succeeds.", NEED_THREE_WAY,
	       ENTRIES(.cm.confirm = any_confirm)),
	DEFECT("reserve-any-state", "a reservation is taken in any state",
	       "A reservation in a wrong state succeeds.", NEED_STREAM,
	       ENTRIES(.llp.reserve = any_reserve)),
	DEFECT("datagram-shared", "a shared receive queue of datagrams is not used",
	       "A queue pair for datagrams with a shared receive queue is created without it.",
	       NEED_UD | NEED_SRQ, ENTRIES(.qp.create = unshared_qp_create)),
};

const size_t defects_promises_count = sizeof(defects_promises) / sizeof(defects_promises[0]);
