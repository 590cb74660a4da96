/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The verbs that pass every call on: memory, address handles, connections; and the upcalls. */
#include "wrap.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* --- memory ----------------------------------------------------------------------------------- */

/* from: the dmabuf, or NULL. */
static enum ri_status
mr_make(struct ri_pd *pd, const struct ri_mr_init *init, const struct ri_dmabuf *from,
	struct ri_mr **out, uint32_t *stag)
{
	const struct ri_mem_ops *in = &wrap_in(pd)->mem;
	struct wrap_obj *mr = wrap_new(pd, WRAP_MR);
	struct ri_mr *inner = NULL;
	enum ri_status status = RI_ERR_RESOURCES;

	if (mr != NULL && from == NULL)
		status = in->mr_reg(wrap_inner(pd), init, &inner, stag);
	else if (mr != NULL)
		status = in->mr_reg_dmabuf(wrap_inner(pd), init, from, &inner, stag);
	if (status != RI_SUCCESS) {
		wrap_free(mr);
		return status;
	}
	mr->pd = wrap_of(pd);
	mr->init = *init;
	mr->stag = *stag;
	*out = wrap_ready(mr, inner);
	return RI_SUCCESS;
}

static enum ri_status
mr_reg(struct ri_pd *pd, const struct ri_mr_init *init, struct ri_mr **out, uint32_t *stag)
{
	return mr_make(pd, init, NULL, out, stag);
}

static enum ri_status
mr_reg_dmabuf(struct ri_pd *pd, const struct ri_mr_init *init, const struct ri_dmabuf *from,
	      struct ri_mr **out, uint32_t *stag)
{
	return mr_make(pd, init, from, out, stag);
}

static enum ri_status
mr_rereg(struct ri_mr *mr, struct ri_pd *pd, const struct ri_mr_init *init, uint32_t *stag)
{
	const struct ri_mem_ops *in = &wrap_in(mr)->mem;
	struct wrap_obj *obj = wrap_of(mr);
	enum ri_status status = in->mr_rereg(wrap_inner(mr), wrap_inner(pd), init, stag);

	if (status != RI_SUCCESS)
		return status;
	obj->pd = wrap_of(pd);
	obj->init = *init;
	obj->stag = *stag;
	return RI_SUCCESS;
}

WRAP_PASS(enum ri_status, mem, mr_query, mr, (struct ri_mr * mr, struct ri_mr_attr *attr),
	  (wrap_inner(mr), attr))
WRAP_PASS_END(mem, mr_dereg, ri_mr)

static enum ri_status
mw_alloc(struct ri_pd *pd, enum ri_mw_type type, struct ri_mw **out, uint32_t *stag)
{
	const struct ri_mem_ops *in = &wrap_in(pd)->mem;
	struct wrap_obj *mw = wrap_new(pd, WRAP_MW);
	struct ri_mw *inner = NULL;
	enum ri_status status = RI_ERR_RESOURCES;

	if (mw != NULL)
		status = in->mw_alloc(wrap_inner(pd), type, &inner, stag);
	if (status != RI_SUCCESS) {
		wrap_free(mw);
		return status;
	}
	mw->pd = wrap_of(pd);
	mw->stag = *stag;
	*out = wrap_ready(mw, inner);
	return RI_SUCCESS;
}

WRAP_PASS(enum ri_status, mem, mw_query, mw, (struct ri_mw * mw, struct ri_mr_attr *attr),
	  (wrap_inner(mw), attr))
WRAP_PASS_END(mem, mw_free, ri_mw)

/* --- address handles -------------------------------------------------------------------------- */

static enum ri_status
ah_create(struct ri_pd *pd, const struct ri_ah_init *init, struct ri_ah **out, uint32_t *id)
{
	const struct ri_ah_ops *in = &wrap_in(pd)->ah;
	struct wrap_obj *ah = wrap_new(pd, WRAP_AH);
	struct ri_ah *inner = NULL;
	enum ri_status status = RI_ERR_RESOURCES;

	if (ah != NULL)
		status = in->create(wrap_inner(pd), init, &inner, id);
	if (status != RI_SUCCESS) {
		wrap_free(ah);
		return status;
	}
	ah->pd = wrap_of(pd);
	*out = wrap_ready(ah, inner);
	return RI_SUCCESS;
}

WRAP_PASS(enum ri_status, ah, modify, ah, (struct ri_ah * ah, const struct ri_ah_init *init),
	  (wrap_inner(ah), init))
WRAP_PASS_END(ah, destroy, ri_ah)

/* --- connections by address --------------------------------------------------------------------- */

static enum ri_status
cm_listen(struct ri_context *context, uint64_t ctx, uint32_t port, struct ri_service *service,
	  uint32_t backlog, struct ri_listen **out)
{
	const struct ri_cm_ops *in = &wrap_in(context)->cm;
	struct wrap_obj *listen = wrap_new(context, WRAP_LISTEN);
	struct ri_listen *inner = NULL;
	enum ri_status status = RI_ERR_RESOURCES;

	if (listen != NULL)
		status = in->listen(wrap_inner(context), ctx, port, service, backlog, &inner);
	if (status != RI_SUCCESS) {
		wrap_free(listen);
		return status;
	}
	listen->ctx = ctx;
	*out = wrap_ready(listen, inner);
	return RI_SUCCESS;
}

static void
cm_listen_destroy(struct ri_listen *listen)
{
	wrap_in(listen)->cm.listen_destroy(wrap_inner(listen));
	wrap_free(wrap_of(listen));
}

WRAP_PASS(enum ri_status, cm, connect, qp, (struct ri_qp * qp, const struct ri_cm_params *params),
	  (wrap_inner(qp), params))

/* A success consumes the request. */
static enum ri_status
answered(struct ri_request *request, enum ri_status status)
{
	if (status == RI_SUCCESS)
		wrap_consume(wrap_of(request));
	return status;
}

static enum ri_status
cm_accept(struct ri_request *request, struct ri_qp *qp, const struct ri_cm_params *params)
{
	return answered(request,
			wrap_in(request)->cm.accept(wrap_inner(request), wrap_inner(qp), params));
}

static enum ri_status
cm_reject(struct ri_request *request, enum ri_cm_reason reason, const void *pdata, uint16_t len)
{
	return answered(request,
			wrap_in(request)->cm.reject(wrap_inner(request), reason, pdata, len));
}

WRAP_PASS(enum ri_status, cm, confirm, qp,
	  (struct ri_qp * qp, bool accept, const void *pdata, uint16_t len),
	  (wrap_inner(qp), accept, pdata, len))
WRAP_PASS(enum ri_status, cm, disconnect, qp, (struct ri_qp * qp, const void *pdata, uint16_t len),
	  (wrap_inner(qp), pdata, len))
WRAP_PASS(enum ri_status, cm, resolve, context,
	  (struct ri_context * context, uint64_t ctx, const struct ri_cm_params *params),
	  (wrap_inner(context), ctx, params))

WRAP_PASS_VOID(cm, resolve_cancel, context, (struct ri_context * context, uint64_t ctx),
	       (wrap_inner(context), ctx))

static enum ri_status
cm_resolve_answer(struct ri_request *request, const struct ri_service_answer *answer)
{
	return answered(request, wrap_in(request)->cm.resolve_answer(wrap_inner(request), answer));
}

/* --- connections over a stream ------------------------------------------------------------------ */

WRAP_PASS(enum ri_status, llp, reserve, qp, (struct ri_qp * qp), (wrap_inner(qp)))
WRAP_PASS(enum ri_status, llp, attach_stream, qp,
	  (struct ri_qp * qp, const struct ri_stream *stream), (wrap_inner(qp), stream))

/* --- connections by attributes -------------------------------------------------------------------- */

WRAP_PASS(enum ri_status, peer, receive, qp, (struct ri_qp * qp, const struct ri_peer *peer),
	  (wrap_inner(qp), peer))
WRAP_PASS(enum ri_status, peer, send, qp, (struct ri_qp * qp, const struct ri_peer *peer),
	  (wrap_inner(qp), peer))

/* --- upcalls ------------------------------------------------------------------------------------ */

static void
up_cq_event(void *self, uint64_t ctx)
{
	const struct ri_upcalls *up = ((struct wrap_rnic *)self)->upcalls;

	up->cq_event(up->self, ctx);
}

static void
up_async_event(void *self, const struct ri_async_event *event)
{
	const struct ri_upcalls *up = ((struct wrap_rnic *)self)->upcalls;

	up->async_event(up->self, event);
}

/* The handle of a request for the access layer. NULL: it is not known, or there is no memory. */
static struct ri_request *
request_of(struct wrap_rnic *rnic, const struct ri_cm_event *event)
{
	struct wrap_obj *request;

	if (event->kind == RI_CM_REQUEST_GONE)
		return (struct ri_request *)wrap_find_inner(rnic, WRAP_REQUEST, event->request);
	request = wrap_new(rnic, WRAP_REQUEST);
	if (request == NULL)
		return NULL;
	request->local = event->local;
	request->peer = event->peer;
	request->service = event->service;
	return wrap_ready(request, event->request);
}

struct ri_cm_event
wrap_cm_event(const struct wrap_rnic *rnic, const struct ri_cm_event *event)
{
	struct ri_cm_event whole = {0};
	bool old = rnic->in->provider.abi_minor < 7;

	memcpy(&whole, event, old ? offsetof(struct ri_cm_event, reach) : sizeof(whole));
	return whole;
}

/* Without memory for its handle a request is refused here; the access layer never learns of it. */
static void
up_cm_event(void *self, const struct ri_cm_event *event)
{
	struct wrap_rnic *rnic = self;
	struct ri_cm_event told = wrap_cm_event(rnic, event);

	if (event->request != NULL) {
		told.request = request_of(rnic, event);
		if (told.request == NULL)
			return;
	}
	rnic->upcalls->cm_event(rnic->upcalls->self, &told);
	if (event->kind == RI_CM_REQUEST_GONE)
		wrap_consume(wrap_of(told.request)); /* an answer that is too late still finds it */
}

/* --- the tables ------------------------------------------------------------------------------- */

const struct ri_mem_ops wrap_plain_mem_ops = {
	.size = sizeof(struct ri_mem_ops),
	.mr_reg = mr_reg,
	.mr_rereg = mr_rereg,
	.mr_query = mem_mr_query,
	.mr_dereg = mem_mr_dereg,
	.mw_alloc = mw_alloc,
	.mw_query = mem_mw_query,
	.mw_free = mem_mw_free,
	.mr_reg_dmabuf = mr_reg_dmabuf,
};

const struct ri_ah_ops wrap_plain_ah_ops = {
	.size = sizeof(struct ri_ah_ops),
	.create = ah_create,
	.modify = ah_modify,
	.destroy = ah_destroy,
};

const struct ri_cm_ops wrap_plain_cm_ops = {
	.size = sizeof(struct ri_cm_ops),
	.listen = cm_listen,
	.listen_destroy = cm_listen_destroy,
	.connect = cm_connect,
	.accept = cm_accept,
	.reject = cm_reject,
	.confirm = cm_confirm,
	.disconnect = cm_disconnect,
	.resolve = cm_resolve,
	.resolve_cancel = cm_resolve_cancel,
	.resolve_answer = cm_resolve_answer,
};

const struct ri_llp_ops wrap_plain_llp_ops = {
	.size = sizeof(struct ri_llp_ops),
	.reserve = llp_reserve,
	.attach_stream = llp_attach_stream,
};

const struct ri_peer_ops wrap_plain_peer_ops = {
	.size = sizeof(struct ri_peer_ops),
	.receive = peer_receive,
	.send = peer_send,
};

const struct ri_upcalls wrap_plain_upcalls = {
	.size = sizeof(struct ri_upcalls),
	.cq_event = up_cq_event,
	.async_event = up_async_event,
	.cm_event = up_cm_event,
};
