/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Connections of both forms: events, private data, time-outs, listeners, the end of a stream. */
#include <stdlib.h>
#include <string.h>

#include "defect.h"

/* --- events by address ------------------------------------------------------------------------ */

static bool
pdata_cut(struct wrap_rnic *rnic, struct ri_cm_event *event)
{
	(void)rnic;
	event->pdata_len -= event->pdata_len > 0 ? 1 : 0;
	return true;
}

static bool
pdata_lost_request(struct wrap_rnic *rnic, struct ri_cm_event *event)
{
	(void)rnic;
	if (event->kind == RI_CM_REQUEST)
		event->pdata_len = 0;
	return true;
}

static bool
pdata_lost_reject(struct wrap_rnic *rnic, struct ri_cm_event *event)
{
	(void)rnic;
	if (event->kind == RI_CM_REJECTED)
		event->pdata_len = 0;
	return true;
}

static bool
pdata_first(struct wrap_rnic *rnic, struct ri_cm_event *event)
{
	(void)rnic;
	if (event->pdata_len > 0)
		event->pdata[0] ^= 0x80;
	return true;
}

static bool
rejected_failed(struct wrap_rnic *rnic, struct ri_cm_event *event)
{
	(void)rnic;
	if (event->kind == RI_CM_REJECTED) {
		event->kind = RI_CM_FAILED;
		event->reason = RI_CM_REASON_OTHER;
	}
	return true;
}

static bool
failed_rejected(struct wrap_rnic *rnic, struct ri_cm_event *event)
{
	(void)rnic;
	if (event->kind == RI_CM_FAILED)
		event->kind = RI_CM_REJECTED;
	return true;
}

static bool
failed_reason(struct wrap_rnic *rnic, struct ri_cm_event *event)
{
	(void)rnic;
	if (event->kind == RI_CM_FAILED)
		event->reason = event->reason == RI_CM_REASON_TIMEOUT ? RI_CM_REASON_OTHER
								      : RI_CM_REASON_TIMEOUT;
	return true;
}

static bool
established_lost(struct wrap_rnic *rnic, struct ri_cm_event *event)
{
	(void)rnic;
	return event->kind != RI_CM_ESTABLISHED;
}

static bool
established_twice(struct wrap_rnic *rnic, struct ri_cm_event *event)
{
	if (event->kind == RI_CM_ESTABLISHED)
		wrap_plain_upcalls.cm_event(rnic, event);
	return true;
}

static bool
disconnected_lost(struct wrap_rnic *rnic, struct ri_cm_event *event)
{
	(void)rnic;
	return event->kind != RI_CM_DISCONNECTED;
}

static bool
disconnected_twice(struct wrap_rnic *rnic, struct ri_cm_event *event)
{
	if (event->kind == RI_CM_DISCONNECTED)
		wrap_plain_upcalls.cm_event(rnic, event);
	return true;
}

static bool
broken_disconnected(struct wrap_rnic *rnic, struct ri_cm_event *event)
{
	(void)rnic;
	if (event->kind == RI_CM_BROKEN)
		event->kind = RI_CM_DISCONNECTED;
	return true;
}

static bool
disconnected_broken(struct wrap_rnic *rnic, struct ri_cm_event *event)
{
	(void)rnic;
	if (event->kind == RI_CM_DISCONNECTED)
		event->kind = RI_CM_BROKEN;
	return true;
}

static bool
broken_lost(struct wrap_rnic *rnic, struct ri_cm_event *event)
{
	(void)rnic;
	return event->kind != RI_CM_BROKEN;
}

static bool
depths_swapped(struct wrap_rnic *rnic, struct ri_cm_event *event)
{
	uint32_t ird = event->ird;

	(void)rnic;
	event->ird = event->ord;
	event->ord = ird;
	return true;
}

static bool
depths_lost(struct wrap_rnic *rnic, struct ri_cm_event *event)
{
	(void)rnic;
	event->ird_ord_valid = false;
	return true;
}

static bool
peer_lost(struct wrap_rnic *rnic, struct ri_cm_event *event)
{
	(void)rnic;
	if (event->kind == RI_CM_REQUEST)
		event->peer = event->local = (struct ri_addr){.family = RI_ADDR_NONE};
	return true;
}

static bool
request_lost(struct wrap_rnic *rnic, struct ri_cm_event *event)
{
	return event->kind != RI_CM_REQUEST || !defect_each(&rnic->count[0], 2);
}

static bool
time_wait_lost(struct wrap_rnic *rnic, struct ri_cm_event *event)
{
	(void)rnic;
	return event->kind != RI_CM_TIME_WAIT_OVER;
}

/* --- verbs by address ------------------------------------------------------------------------- */

/* The wrapped listener stays; requests to it find nobody. */
static void
stay(struct ri_listen *listen)
{
	wrap_free(wrap_of(listen));
}

static bool
stray_request(struct wrap_rnic *rnic, struct ri_cm_event *event)
{
	return event->kind != RI_CM_REQUEST || wrap_find(rnic, WRAP_LISTEN, event->ctx) != NULL;
}

static enum ri_status
connect_with(struct ri_qp *qp, const struct ri_cm_params *params, uint64_t deadline)
{
	struct ri_cm_params other = *params;

	other.deadline = deadline;
	return wrap_plain_cm_ops.connect(qp, &other);
}

static enum ri_status
connect_never(struct ri_qp *qp, const struct ri_cm_params *params)
{
	return connect_with(qp, params, RI_NEVER);
}

static enum ri_status
connect_early(struct ri_qp *qp, const struct ri_cm_params *params)
{
	const struct ri_host *host = wrap_rnic_of(qp)->host;

	return connect_with(qp, params, host->now(host->self));
}

static enum ri_status
connect_mute(struct ri_qp *qp, const struct ri_cm_params *params)
{
	struct ri_cm_params other = *params;

	other.pdata_len = 0;
	return wrap_plain_cm_ops.connect(qp, &other);
}

static enum ri_status
accept_mute(struct ri_request *request, struct ri_qp *qp, const struct ri_cm_params *params)
{
	struct ri_cm_params other = *params;

	other.pdata_len = 0;
	return wrap_plain_cm_ops.accept(request, qp, &other);
}

static enum ri_status
one_waits(struct ri_context *context, uint64_t ctx, uint32_t port, struct ri_service *service,
	  uint32_t backlog, struct ri_listen **out)
{
	(void)backlog;
	return wrap_plain_cm_ops.listen(context, ctx, port, service, 1, out);
}

static enum ri_status
port_untold_listen(struct ri_context *context, uint64_t ctx, uint32_t port,
		   struct ri_service *service, uint32_t backlog, struct ri_listen **out)
{
	struct ri_service own = *service;

	return wrap_plain_cm_ops.listen(context, ctx, port, &own, backlog, out);
}

static enum ri_status
reject_other(struct ri_request *request, enum ri_cm_reason reason, const void *pdata, uint16_t len)
{
	(void)pdata;
	(void)len;
	reason = reason == RI_CM_REASON_CONSUMER ? RI_CM_REASON_OTHER : reason;
	return wrap_plain_cm_ops.reject(request, reason, NULL, 0);
}

static enum ri_status
confirm_always(struct ri_qp *qp, bool accept, const void *pdata, uint16_t len)
{
	(void)accept;
	return wrap_plain_cm_ops.confirm(qp, true, pdata, len);
}

static enum ri_status
disconnect_nothing(struct ri_qp *qp, const void *pdata, uint16_t len)
{
	(void)qp;
	(void)pdata;
	(void)len;
	return RI_SUCCESS;
}

/* --- datagram services ------------------------------------------------------------------------ */

static bool
service_lost(struct wrap_rnic *rnic, struct ri_cm_event *event)
{
	(void)rnic;
	return event->kind != RI_CM_SERVICE_REPLY;
}

static bool
service_key(struct wrap_rnic *rnic, struct ri_cm_event *event)
{
	(void)rnic;
	event->qkey ^= event->kind == RI_CM_SERVICE_REPLY ? 1 : 0;
	return true;
}

static bool
service_found(struct wrap_rnic *rnic, struct ri_cm_event *event)
{
	(void)rnic;
	if (event->kind == RI_CM_SERVICE_REPLY)
		event->service_status = RI_SERVICE_FOUND;
	return true;
}

/* --- over a stream ---------------------------------------------------------------------------- */

static bool
up_lost(struct wrap_rnic *rnic, struct ri_async_event *event)
{
	(void)rnic;
	return event->event != RI_EVENT_QP_STREAM_UP;
}

static bool
up_twice(struct wrap_rnic *rnic, struct ri_async_event *event)
{
	if (event->event == RI_EVENT_QP_STREAM_UP)
		wrap_plain_upcalls.async_event(rnic, event);
	return true;
}

/* Events that end the connection of a queue pair. */
static bool
is_end(const struct ri_async_event *event)
{
	return event->object == RI_OBJECT_QP && event->event >= RI_EVENT_QP_LLP_CLOSE_COMPLETE &&
	       event->event <= RI_EVENT_QP_CATASTROPHIC;
}

static bool
end_lost(struct wrap_rnic *rnic, struct ri_async_event *event)
{
	(void)rnic;
	return !is_end(event);
}

static bool
end_twice(struct wrap_rnic *rnic, struct ri_async_event *event)
{
	if (is_end(event))
		wrap_plain_upcalls.async_event(rnic, event);
	return true;
}

static bool
end_as_close(struct wrap_rnic *rnic, struct ri_async_event *event)
{
	(void)rnic;
	if (is_end(event))
		event->event = RI_EVENT_QP_LLP_CLOSE_COMPLETE;
	return true;
}

static bool
close_as_reset(struct wrap_rnic *rnic, struct ri_async_event *event)
{
	(void)rnic;
	if (event->event == RI_EVENT_QP_LLP_CLOSE_COMPLETE)
		event->event = RI_EVENT_QP_LLP_RESET;
	return true;
}

static bool
terminate_detail(struct wrap_rnic *rnic, struct ri_async_event *event)
{
	(void)rnic;
	if (event->event == RI_EVENT_QP_TERMINATE_RECEIVED)
		event->detail = 0;
	return true;
}

static enum ri_status
crc_unlike(struct ri_qp *qp, const struct ri_stream *stream)
{
	struct ri_stream other = *stream;

	other.crc = stream->initiator ? !stream->crc : stream->crc;
	return wrap_plain_llp_ops.attach_stream(qp, &other);
}

static enum ri_status
early_dropped(struct ri_qp *qp, const struct ri_stream *stream)
{
	struct ri_stream other = *stream;

	other.early = NULL;
	other.early_len = 0;
	return wrap_plain_llp_ops.attach_stream(qp, &other);
}

static enum ri_status
depths_none(struct ri_qp *qp, const struct ri_stream *stream)
{
	struct ri_stream other = *stream;

	other.ird = other.ird > 0 ? 1 : 0;
	other.ord = UINT8_MAX;
	return wrap_plain_llp_ops.attach_stream(qp, &other);
}

static enum ri_status
reserve_nothing(struct ri_qp *qp)
{
	(void)qp;
	return RI_SUCCESS;
}

const struct defect defects_connections[] = {
	DEFECT("pdata-cut", "private data are one octet short",
	       "The last octet of private data is not reported.", NEED_ADDRESS, .cm = pdata_cut),
	DEFECT("pdata-lost-request", "requests without private data",
	       "The private data of a connection request are not reported.", NEED_ADDRESS,
	       .cm = pdata_lost_request),
	DEFECT("pdata-lost-reject", "rejections without private data",
	       "The private data of a rejection are not reported.", NEED_ADDRESS,
	       .cm = pdata_lost_reject),
	DEFECT("pdata-changed", "private data are changed",
	       "The first octet of private data has a wrong bit.", NEED_ADDRESS, .cm = pdata_first),
	DEFECT("connect-pdata-lost", "private data of a connect are forgotten",
	       "A connect sends no private data.", NEED_ADDRESS,
	       ENTRIES(.cm.connect = connect_mute)),
	DEFECT("accept-pdata-lost", "private data of an accept are forgotten",
	       "An accept sends no private data.", NEED_ADDRESS, ENTRIES(.cm.accept = accept_mute)),
	DEFECT("rejected-failed", "a rejection is reported as a failure",
	       "RI_CM_REJECTED is reported as RI_CM_FAILED.", NEED_ADDRESS, .cm = rejected_failed),
	DEFECT("failed-rejected", "a failure is reported as a rejection",
	       "RI_CM_FAILED is reported as RI_CM_REJECTED.", NEED_ADDRESS, .cm = failed_rejected),
	DEFECT("failed-reason", "the wrong reason for a failure",
	       "An attempt that failed says that its time was over, or that it was not.",
	       NEED_ADDRESS, .cm = failed_reason),
	DEFECT("established-lost", "an establishment is not reported",
	       "RI_CM_ESTABLISHED is not raised.", NEED_ADDRESS, .cm = established_lost),
	DEFECT("established-twice", "an establishment is reported twice",
	       "RI_CM_ESTABLISHED is raised twice.", NEED_ADDRESS, .cm = established_twice),
	DEFECT("disconnected-lost", "an orderly end is not reported",
	       "RI_CM_DISCONNECTED is not raised.", NEED_ADDRESS, .cm = disconnected_lost),
	DEFECT("disconnected-twice", "an orderly end is reported twice",
	       "RI_CM_DISCONNECTED is raised twice.", NEED_ADDRESS, .cm = disconnected_twice),
	DEFECT("broken-disconnected", "a break is reported as an orderly end",
	       "RI_CM_BROKEN is reported as RI_CM_DISCONNECTED.", NEED_ADDRESS,
	       .cm = broken_disconnected),
	DEFECT("disconnected-broken", "an orderly end is reported as a break",
	       "RI_CM_DISCONNECTED is reported as RI_CM_BROKEN.", NEED_ADDRESS,
	       .cm = disconnected_broken),
	DEFECT("broken-lost", "a break is not reported", "RI_CM_BROKEN is not raised.",
	       NEED_ADDRESS, .cm = broken_lost),
	DEFECT("depths-swapped", "IRD and ORD change places",
	       "The IRD of the peer is reported as its ORD.", NEED_ADDRESS, .cm = depths_swapped),
	DEFECT("depths-lost", "IRD and ORD of the peer are not reported",
	       "Events say that the peer gave no IRD and ORD.", NEED_ADDRESS, .cm = depths_lost),
	DEFECT("peer-lost", "a request without addresses",
	       "A connection request says neither where it comes from nor where it arrived.",
	       NEED_ADDRESS, .cm = peer_lost),
	DEFECT("request-lost", "connection requests are lost",
	       "Every second connection request is not reported.", NEED_ADDRESS,
	       .cm = request_lost),
	DEFECT("time-wait-lost", "the end of the time-wait is not reported",
	       "RI_CM_TIME_WAIT_OVER is not raised.", NEED_ADDRESS, .cm = time_wait_lost),
	DEFECT("listener-stays", "a listener stays",
	       "A listener that was destroyed still takes its service and its requests.",
	       NEED_ADDRESS, .cm = stray_request, ENTRIES(.cm.listen_destroy = stay)),
	DEFECT("timeout-ignored", "the time-out of a connect is not kept",
	       "An attempt to connect never ends by itself.", NEED_ADDRESS,
	       ENTRIES(.cm.connect = connect_never)),
	DEFECT("timeout-early", "an attempt to connect ends at once",
	       "The time-out of a connect is 0.", NEED_ADDRESS,
	       ENTRIES(.cm.connect = connect_early)),
	DEFECT("backlog-one", "the backlog is not kept", "At most one request waits at a listener.",
	       NEED_ADDRESS, ENTRIES(.cm.listen = one_waits)),
	DEFECT("port-untold", "the service that was chosen is not reported",
	       "A listener on any service does not say which one it has.", NEED_ADDRESS,
	       ENTRIES(.cm.listen = port_untold_listen)),
	DEFECT("reject-without-reason", "a rejection reaches the peer as a failure",
	       "A rejection by the application is sent as any other failure, without data.",
	       NEED_ADDRESS, ENTRIES(.cm.reject = reject_other)),
	DEFECT("confirm-accepts", "a refusal in the third message is an acceptance",
	       "A three-way connection that is refused at the end is established.",
	       NEED_ADDRESS | NEED_THREE_WAY, ENTRIES(.cm.confirm = confirm_always)),
	DEFECT("disconnect-ignored", "a disconnect does nothing",
	       "A disconnect succeeds, and the connection stays.", NEED_ADDRESS,
	       ENTRIES(.cm.disconnect = disconnect_nothing)),
	DEFECT("service-lost", "the answer of a service is lost",
	       "RI_CM_SERVICE_REPLY is not raised.", NEED_UD, .cm = service_lost),
	DEFECT("service-key", "a service with the wrong key",
	       "The Q_Key in the answer of a service is wrong.", NEED_UD, .cm = service_key),
	DEFECT("service-found", "every service is found",
	       "Each answer about a service says that it was found.", NEED_UD, .cm = service_found),
	DEFECT("stream-up-lost", "an establishment over a stream is not reported",
	       "RI_EVENT_QP_STREAM_UP is not raised.", NEED_STREAM, .async = up_lost),
	DEFECT("stream-up-twice", "an establishment over a stream is reported twice",
	       "RI_EVENT_QP_STREAM_UP is raised twice.", NEED_STREAM, .async = up_twice),
	DEFECT("stream-end-lost", "the end of a stream is not reported",
	       "No event says that a connection ended.", NEED_STREAM, .async = end_lost),
	DEFECT("stream-end-twice", "the end of a stream is reported twice",
	       "Each event that ends a connection is raised twice.", NEED_STREAM,
	       .async = end_twice),
	DEFECT("stream-end-close", "each end of a stream is orderly",
	       "Each event that ends a connection is reported as an orderly close.", NEED_STREAM,
	       .async = end_as_close),
	DEFECT("stream-close-reset", "an orderly close is reported as a reset",
	       "RI_EVENT_QP_LLP_CLOSE_COMPLETE is reported as RI_EVENT_QP_LLP_RESET.", NEED_STREAM,
	       .async = close_as_reset),
	DEFECT("terminate-detail", "the code of a Terminate is not reported",
	       "The detail of RI_EVENT_QP_TERMINATE_RECEIVED is 0.", NEED_STREAM,
	       .async = terminate_detail),
	DEFECT("stream-crc", "the initiator disagrees about the CRC",
	       "The initiator sends a CRC if none was agreed, and none if one was.", NEED_STREAM,
	       ENTRIES(.llp.attach_stream = crc_unlike)),
	DEFECT("stream-early", "octets behind the start-up frame are dropped",
	       "What came with the start-up frame is forgotten.", NEED_STREAM,
	       ENTRIES(.llp.attach_stream = early_dropped)),
	DEFECT("stream-depths", "the agreed IRD and ORD are not kept",
	       "A stream begins with an IRD of 1 and an ORD of 255.", NEED_STREAM,
	       ENTRIES(.llp.attach_stream = depths_none)),
	DEFECT("stream-unreserved", "a queue pair does not enter CONNECTING",
	       "reserve succeeds and changes nothing.", NEED_STREAM,
	       ENTRIES(.llp.reserve = reserve_nothing)),
};

const size_t defects_connections_count =
	sizeof(defects_connections) / sizeof(defects_connections[0]);
