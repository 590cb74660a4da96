/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Checked calls of ri_call.h: connections, in all forms. */

#include "ri_call.h"

enum ri_status
ri_call_listen(const struct ri_caller *c, struct ri_context *context,
	       const struct ri_listen_params *params, struct ri_service *service,
	       struct ri_listen **out)
{
	struct ri_service completed = *service;
	struct ri_listen *made = NULL;
	enum ri_status status;
	bool named;

	status = c->provider->cm->listen(context, params->ctx, params->port, &completed,
					 params->backlog, &made);
	named = completed.kind == service->kind && (completed.port != 0 || completed.id != 0);
	status = ri_call_judge(c, "cm.listen", status, made != NULL && named,
			       made == NULL ? "succeeded without an object"
					    : "listens on no service");
	if (status == RI_SUCCESS) {
		*service = completed;
		*out = made;
	} else if (status == RI_ERR_PROVIDER && made != NULL) {
		c->provider->cm->listen_destroy(made);
	}
	return status;
}

void
ri_call_listen_destroy(const struct ri_caller *c, struct ri_listen *listen)
{
	c->provider->cm->listen_destroy(listen);
}

enum ri_status
ri_call_connect(const struct ri_caller *c, struct ri_qp *qp, const struct ri_cm_params *params)
{
	return ri_call_judge(c, "cm.connect", c->provider->cm->connect(qp, params), true, NULL);
}

enum ri_status
ri_call_accept(const struct ri_caller *c, struct ri_request *request, struct ri_qp *qp,
	       const struct ri_cm_params *params)
{
	return ri_call_judge(c, "cm.accept", c->provider->cm->accept(request, qp, params), true,
			     NULL);
}

enum ri_status
ri_call_reject(const struct ri_caller *c, struct ri_request *request, enum ri_cm_reason reason,
	       const void *pdata, uint16_t len)
{
	return ri_call_judge(c, "cm.reject", c->provider->cm->reject(request, reason, pdata, len),
			     true, NULL);
}

enum ri_status
ri_call_confirm(const struct ri_caller *c, struct ri_qp *qp, bool accept, const void *pdata,
		uint16_t len)
{
	return ri_call_judge(c, "cm.confirm", c->provider->cm->confirm(qp, accept, pdata, len),
			     true, NULL);
}

enum ri_status
ri_call_disconnect(const struct ri_caller *c, struct ri_qp *qp, const void *pdata, uint16_t len)
{
	return ri_call_judge(c, "cm.disconnect", c->provider->cm->disconnect(qp, pdata, len), true,
			     NULL);
}

enum ri_status
ri_call_resolve(const struct ri_caller *c, struct ri_context *context, uint64_t ctx,
		const struct ri_cm_params *params)
{
	return ri_call_judge(c, "cm.resolve", c->provider->cm->resolve(context, ctx, params), true,
			     NULL);
}

void
ri_call_resolve_cancel(const struct ri_caller *c, struct ri_context *context, uint64_t ctx)
{
	c->provider->cm->resolve_cancel(context, ctx);
}

enum ri_status
ri_call_resolve_answer(const struct ri_caller *c, struct ri_request *request,
		       const struct ri_service_answer *answer)
{
	return ri_call_judge(c, "cm.resolve_answer",
			     c->provider->cm->resolve_answer(request, answer), true, NULL);
}

enum ri_status
ri_call_reserve(const struct ri_caller *c, struct ri_qp *qp)
{
	return ri_call_judge(c, "llp.reserve", c->provider->llp->reserve(qp), true, NULL);
}

enum ri_status
ri_call_attach_stream(const struct ri_caller *c, struct ri_qp *qp, const struct ri_stream *stream)
{
	if (stream->fd < 0 || (stream->early_len > 0 && stream->early == NULL) ||
	    (stream->rtr_send != 0 && stream->rtr_expect != 0))
		return RI_ERR_INVALID_ARG;
	return ri_call_judge(c, "llp.attach_stream", c->provider->llp->attach_stream(qp, stream),
			     true, NULL);
}

enum ri_status
ri_call_peer_receive(const struct ri_caller *c, struct ri_qp *qp, const struct ri_peer *peer)
{
	return ri_call_judge(c, "peer.receive", c->provider->peer->receive(qp, peer), true, NULL);
}

enum ri_status
ri_call_peer_send(const struct ri_caller *c, struct ri_qp *qp, const struct ri_peer *peer)
{
	return ri_call_judge(c, "peer.send", c->provider->peer->send(qp, peer), true, NULL);
}
