/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Connection management of the fake provider: it only records what the kAL requested. */

#include "fake_internal.h"

enum fake_cm_call fake_cm_last;
uint64_t fake_cm_listen_ctx;
struct ri_cm_params fake_cm_params;
enum ri_status fake_cm_status;
enum ri_cm_reason fake_cm_reason;

static enum ri_status
cm_note(enum fake_cm_call call)
{
	fake_cm_last = call;
	return fake_cm_status;
}

static enum ri_status
cm_listen(struct ri_context *context, uint64_t ctx, uint32_t port, struct ri_service *service,
	  uint32_t backlog, struct ri_listen **out)
{
	(void)context;
	(void)port;
	(void)backlog;
	fake_cm_listen_ctx = ctx;
	service->port = service->port != 0 ? service->port : 4711;
	*out = fake_make(1);
	return cm_note(FAKE_CM_LISTEN);
}

static void
cm_listen_destroy(struct ri_listen *listen)
{
	fake_free(listen);
}

static enum ri_status
cm_connect(struct ri_qp *qp, const struct ri_cm_params *params)
{
	(void)qp;
	fake_cm_params = *params;
	return cm_note(FAKE_CM_CONNECT);
}

static enum ri_status
cm_accept(struct ri_request *request, struct ri_qp *qp, const struct ri_cm_params *params)
{
	(void)request;
	(void)qp;
	fake_cm_params = *params;
	return cm_note(FAKE_CM_ACCEPT);
}

static enum ri_status
cm_reject(struct ri_request *request, enum ri_cm_reason reason, const void *pdata, uint16_t len)
{
	(void)request;
	fake_cm_reason = reason;
	(void)pdata;
	(void)len;
	return cm_note(FAKE_CM_REJECT);
}

static enum ri_status
cm_confirm(struct ri_qp *qp, bool accept, const void *pdata, uint16_t len)
{
	(void)qp;
	(void)accept;
	(void)pdata;
	(void)len;
	return cm_note(FAKE_CM_CONFIRM);
}

static enum ri_status
cm_disconnect(struct ri_qp *qp, const void *pdata, uint16_t len)
{
	(void)qp;
	(void)pdata;
	(void)len;
	return cm_note(FAKE_CM_DISCONNECT);
}

const struct ri_cm_ops fake_cm_ops = {
	.size = sizeof(fake_cm_ops),
	.listen = cm_listen,
	.listen_destroy = cm_listen_destroy,
	.connect = cm_connect,
	.accept = cm_accept,
	.reject = cm_reject,
	.confirm = cm_confirm,
	.disconnect = cm_disconnect,
	.resolve = fake_resolve,
	.resolve_cancel = fake_resolve_cancel,
	.resolve_answer = fake_resolve_answer,
};
