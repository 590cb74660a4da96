/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Checked calls of ri_call.h: connections, in both forms. */

#include "ri_call.h"

/* The table of a provider that connects by itself, or NULL. */
static const struct ri_cm_ops *
cm_of(const struct ri_caller *c)
{
	return c->provider->cm;
}

enum ri_status
ri_call_listen(const struct ri_caller *c, struct ri_context *context,
	       const struct ri_listen_params *params, struct ri_service *service,
	       struct ri_listen **out)
{
	struct ri_service completed = *service;
	struct ri_listen *made = NULL;
	enum ri_status status;
	bool named;

	if (cm_of(c) == NULL || cm_of(c)->listen == NULL)
		return RI_ERR_UNSUPPORTED;
	status = cm_of(c)->listen(context, params->ctx, params->port, &completed, params->backlog,
				  &made);
	named = completed.kind == service->kind && (completed.port != 0 || completed.id != 0);
	status = ri_call_judge(c, "cm.listen", status, made != NULL && named,
			       made == NULL ? "succeeded without an object"
					    : "listens on no service");
	if (status == RI_SUCCESS) {
		*service = completed;
		*out = made;
	} else if (status == RI_ERR_PROVIDER && made != NULL) {
		cm_of(c)->listen_destroy(made);
	}
	return status;
}

void
ri_call_listen_destroy(const struct ri_caller *c, struct ri_listen *listen)
{
	cm_of(c)->listen_destroy(listen);
}

enum ri_status
ri_call_connect(const struct ri_caller *c, struct ri_qp *qp, const struct ri_cm_params *params)
{
	if (cm_of(c) == NULL || cm_of(c)->connect == NULL)
		return RI_ERR_UNSUPPORTED;
	return ri_call_judge(c, "cm.connect", cm_of(c)->connect(qp, params), true, NULL);
}

enum ri_status
ri_call_accept(const struct ri_caller *c, struct ri_request *request, struct ri_qp *qp,
	       const struct ri_cm_params *params)
{
	if (cm_of(c) == NULL || cm_of(c)->accept == NULL)
		return RI_ERR_UNSUPPORTED;
	return ri_call_judge(c, "cm.accept", cm_of(c)->accept(request, qp, params), true, NULL);
}

enum ri_status
ri_call_reject(const struct ri_caller *c, struct ri_request *request, enum ri_cm_reason reason,
	       const void *pdata, uint16_t len)
{
	if (cm_of(c) == NULL || cm_of(c)->reject == NULL)
		return RI_ERR_UNSUPPORTED;
	return ri_call_judge(c, "cm.reject", cm_of(c)->reject(request, reason, pdata, len), true,
			     NULL);
}

enum ri_status
ri_call_confirm(const struct ri_caller *c, struct ri_qp *qp, bool accept, const void *pdata,
		uint16_t len)
{
	if (cm_of(c) == NULL || cm_of(c)->confirm == NULL)
		return RI_ERR_UNSUPPORTED;
	return ri_call_judge(c, "cm.confirm", cm_of(c)->confirm(qp, accept, pdata, len), true,
			     NULL);
}

enum ri_status
ri_call_disconnect(const struct ri_caller *c, struct ri_qp *qp, const void *pdata, uint16_t len)
{
	if (cm_of(c) == NULL || cm_of(c)->disconnect == NULL)
		return RI_ERR_UNSUPPORTED;
	return ri_call_judge(c, "cm.disconnect", cm_of(c)->disconnect(qp, pdata, len), true, NULL);
}

enum ri_status
ri_call_resolve(const struct ri_caller *c, struct ri_context *context, uint64_t ctx,
		const struct ri_cm_params *params)
{
	if (cm_of(c) == NULL || cm_of(c)->resolve == NULL)
		return RI_ERR_UNSUPPORTED;
	return ri_call_judge(c, "cm.resolve", cm_of(c)->resolve(context, ctx, params), true, NULL);
}

void
ri_call_resolve_cancel(const struct ri_caller *c, struct ri_context *context, uint64_t ctx)
{
	if (cm_of(c) != NULL && cm_of(c)->resolve_cancel != NULL)
		cm_of(c)->resolve_cancel(context, ctx);
}

enum ri_status
ri_call_resolve_answer(const struct ri_caller *c, struct ri_request *request,
		       const struct ri_service_answer *answer)
{
	if (cm_of(c) == NULL || cm_of(c)->resolve_answer == NULL)
		return RI_ERR_UNSUPPORTED;
	return ri_call_judge(c, "cm.resolve_answer", cm_of(c)->resolve_answer(request, answer),
			     true, NULL);
}

enum ri_status
ri_call_reserve(const struct ri_caller *c, struct ri_qp *qp)
{
	if (c->provider->llp == NULL || c->provider->llp->reserve == NULL)
		return RI_ERR_UNSUPPORTED;
	return ri_call_judge(c, "llp.reserve", c->provider->llp->reserve(qp), true, NULL);
}

enum ri_status
ri_call_attach_stream(const struct ri_caller *c, struct ri_qp *qp, const struct ri_stream *stream)
{
	if (c->provider->llp == NULL || c->provider->llp->attach_stream == NULL)
		return RI_ERR_UNSUPPORTED;
	if (stream->fd < 0 || (stream->early_len > 0 && stream->early == NULL) ||
	    (stream->rtr_send != 0 && stream->rtr_expect != 0))
		return RI_ERR_INVALID_ARG;
	return ri_call_judge(c, "llp.attach_stream", c->provider->llp->attach_stream(qp, stream),
			     true, NULL);
}
