/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The helper's stack over libibverbs and librdmacm: for siw and for hardware.
 *
 * All ids share one event channel. A function that waits takes events from it and puts each where it belongs: requests
 * to connect into a queue, others to their endpoint. Completions are polled.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/rdma_cma.h>

#include "peer_stack.h"

#define WORK_ROOM  128
#define BACKLOG    1024 /* requests without an answer; librdmacm has no more */
#define RESOLVE_MS 10000
#define LOOK_US    500

/* A request to connect that has no answer yet. */
struct request {
	struct rdma_cm_id *id;
	struct peer_event event;
};

struct peer_ep {
	struct peer_ep_spec spec;
	struct ibv_cq *cq;
	struct rdma_cm_id *id;        /* NULL until it is accepted or connects */
	GQueue events;                /* struct peer_event */
	enum rdma_cm_event_type step; /* the last event while it connects */
};

static struct {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	struct ibv_context **devices;
	struct ibv_context *device;
	struct ibv_pd *pd;
	struct ibv_pd *other; /* a second protection domain */
	GQueue requests;
} stack;

static gboolean
check_result(gboolean good, const char *call, GError **error)
{
	return good || peer_fail(error, "%s: %s", call, g_strerror(errno));
}

/* The device of that name, or the first one. */
static gboolean
device_choose(const char *name, GError **error)
{
	int count = 0;

	stack.devices = rdma_get_devices(&count);
	for (int i = 0; stack.devices != NULL && i < count && stack.device == NULL; i++) {
		if (name == NULL ||
		    strcmp(ibv_get_device_name(stack.devices[i]->device), name) == 0)
			stack.device = stack.devices[i];
	}
	return stack.device != NULL || peer_fail(error, "there is no such RDMA device");
}

gboolean
peer_listen_again(GError **error)
{
	struct sockaddr_in any = {.sin_family = AF_INET};

	if (stack.listener != NULL)
		(void)rdma_destroy_id(stack.listener);
	stack.listener = NULL;
	return check_result(rdma_create_id(stack.channel, &stack.listener, NULL, RDMA_PS_TCP) == 0,
			    "rdma_create_id", error) &&
	       check_result(rdma_bind_addr(stack.listener, (struct sockaddr *)&any) == 0,
			    "rdma_bind_addr", error) &&
	       check_result(rdma_listen(stack.listener, BACKLOG) == 0, "rdma_listen", error);
}

gboolean
peer_open(const char *adapter, GError **error)
{
	if (!device_choose(adapter, error))
		return FALSE;
	g_queue_init(&stack.requests);
	stack.channel = rdma_create_event_channel();
	stack.pd = ibv_alloc_pd(stack.device);
	stack.other = ibv_alloc_pd(stack.device);
	return check_result(stack.channel != NULL && stack.pd != NULL && stack.other != NULL,
			    "ibv_alloc_pd", error) &&
	       peer_listen_again(error);
}

void
peer_close(void)
{
	peer_reject_all();
	if (stack.listener != NULL)
		(void)rdma_destroy_id(stack.listener);
	if (stack.pd != NULL)
		(void)ibv_dealloc_pd(stack.pd);
	if (stack.other != NULL)
		(void)ibv_dealloc_pd(stack.other);
	if (stack.channel != NULL)
		rdma_destroy_event_channel(stack.channel);
	if (stack.devices != NULL)
		rdma_free_devices(stack.devices);
	memset(&stack, 0, sizeof(stack));
}

char *
peer_about(void)
{
	return g_strdup_printf("kind=verbs adapter=%s port=%u able=no-wait,no-immediate",
			       ibv_get_device_name(stack.device->device),
			       ntohs(rdma_get_src_port(stack.listener)));
}

gboolean
peer_region_make(struct peer_region *region, const char *rights, GError **error)
{
	int access = IBV_ACCESS_LOCAL_WRITE;
	struct ibv_mr *mr;

	if (strchr(rights, 'r') != NULL)
		access |= IBV_ACCESS_REMOTE_READ;
	if (strchr(rights, 'w') != NULL)
		access |= IBV_ACCESS_REMOTE_WRITE;
	mr = ibv_reg_mr(strchr(rights, 'o') != NULL ? stack.other : stack.pd, region->octets,
			region->size, access);
	if (!check_result(mr != NULL, "ibv_reg_mr", error))
		return FALSE;
	region->self = mr;
	region->stag = mr->rkey;
	region->to = (guint64)(guintptr)region->octets;
	return TRUE;
}

void
peer_region_unmake(struct peer_region *region)
{
	if (region->self != NULL)
		(void)ibv_dereg_mr(region->self);
	region->self = NULL;
}

/* --- events ---------------------------------------------------------------------------------- */

static void
event_fill(struct peer_event *event, const struct rdma_cm_event *from)
{
	gsize len = from->param.conn.private_data_len;

	memset(event, 0, sizeof(*event));
	event->kind = "failed";
	if (from->event == RDMA_CM_EVENT_ESTABLISHED)
		event->kind = "established";
	else if (from->event == RDMA_CM_EVENT_REJECTED)
		event->kind = "rejected";
	else if (from->event == RDMA_CM_EVENT_DISCONNECTED)
		event->kind = "ended"; /* librdmacm does not tell how */
	g_strlcpy(event->why, rdma_event_str(from->event), sizeof(event->why));
	event->len = MIN(len, sizeof(event->data));
	if (event->len > 0 && from->param.conn.private_data != NULL)
		memcpy(event->data, from->param.conn.private_data, event->len);
}

/* Take one event of the channel, if one comes in that time. */
static gboolean
event_take(int within_ms)
{
	struct pollfd set = {.fd = stack.channel->fd, .events = POLLIN};
	struct rdma_cm_event *from;
	struct peer_ep *ep;

	if (poll(&set, 1, within_ms) <= 0 || rdma_get_cm_event(stack.channel, &from) != 0)
		return FALSE;
	if (from->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		struct request *request = g_new0(struct request, 1);

		request->id = from->id;
		event_fill(&request->event, from);
		g_queue_push_tail(&stack.requests, request);
	} else {
		ep = from->id->context;
		if (ep != NULL) {
			struct peer_event *event = g_new0(struct peer_event, 1);

			ep->step = from->event;
			event_fill(event, from);
			if (from->event == RDMA_CM_EVENT_ADDR_RESOLVED ||
			    from->event == RDMA_CM_EVENT_ROUTE_RESOLVED ||
			    from->event == RDMA_CM_EVENT_TIMEWAIT_EXIT)
				g_free(event);
			else
				g_queue_push_tail(&ep->events, event);
		}
	}
	(void)rdma_ack_cm_event(from);
	return TRUE;
}

/* Take events until the queue has one. */
static gboolean
queue_wait(GQueue *queue, guint within_ms)
{
	gint64 deadline = g_get_monotonic_time() + (gint64)within_ms * 1000;

	while (g_queue_is_empty(queue)) {
		gint64 left = deadline - g_get_monotonic_time();

		if (left <= 0 || !event_take((int)(left / 1000) + 1))
			break;
	}
	return !g_queue_is_empty(queue);
}

/* --- endpoints ------------------------------------------------------------------------------- */

struct peer_ep *
peer_ep_new(const struct peer_ep_spec *spec, GError **error)
{
	struct peer_ep *ep = g_new0(struct peer_ep, 1);

	ep->spec = *spec;
	g_queue_init(&ep->events);
	ep->cq = ibv_create_cq(stack.device, WORK_ROOM, NULL, NULL, 0);
	if (check_result(ep->cq != NULL, "ibv_create_cq", error))
		return ep;
	g_free(ep);
	return NULL;
}

void
peer_ep_free(struct peer_ep *ep)
{
	while (event_take(0))
		;
	if (ep->id != NULL) {
		if (ep->id->qp != NULL) {
			(void)rdma_disconnect(ep->id);
			rdma_destroy_qp(ep->id);
		}
		(void)rdma_destroy_id(ep->id);
	}
	(void)ibv_destroy_cq(ep->cq);
	g_queue_clear_full(&ep->events, g_free);
	g_free(ep);
}

/* The queue pair of an id, with its receives. */
static gboolean
qp_make(struct peer_ep *ep, GError **error)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = ep->cq,
		.recv_cq = ep->cq,
		.cap = {.max_send_wr = WORK_ROOM / 2,
			.max_recv_wr = WORK_ROOM / 2,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};

	if (!check_result(rdma_create_qp(ep->id, stack.pd, &attr) == 0, "rdma_create_qp", error))
		return FALSE;
	for (guint i = 0; i < ep->spec.receives; i++) {
		struct peer_work work = {.op = "receive",
					 .at = ep->spec.in,
					 .offset = (gsize)i * ep->spec.size,
					 .len = ep->spec.size};

		if (!peer_ep_post(ep, &work, error))
			return FALSE;
	}
	return TRUE;
}

static struct rdma_conn_param
param_of(const struct peer_ep *ep, const GByteArray *private_data)
{
	return (struct rdma_conn_param){.private_data = private_data->data,
					.private_data_len = (guint8)private_data->len,
					.responder_resources =
						(guint8)MIN(ep->spec.ird, G_MAXUINT8),
					.initiator_depth = (guint8)MIN(ep->spec.ord, G_MAXUINT8)};
}

static struct request *
request_take(guint within_ms, struct peer_event *event, GError **error)
{
	struct request *request;

	if (!queue_wait(&stack.requests, within_ms)) {
		peer_fail(error, "no request to connect");
		return NULL;
	}
	request = g_queue_pop_head(&stack.requests);
	*event = request->event;
	return request;
}

gboolean
peer_ep_accept(struct peer_ep *ep, guint within_ms, const GByteArray *private_data,
	       struct peer_event *event, GError **error)
{
	g_autofree struct request *request = request_take(within_ms, event, error);
	struct rdma_conn_param param = param_of(ep, private_data);

	if (request == NULL)
		return FALSE;
	ep->id = request->id;
	ep->id->context = ep;
	return qp_make(ep, error) &&
	       check_result(rdma_accept(ep->id, &param) == 0, "rdma_accept", error);
}

gboolean
peer_reject(guint within_ms, const GByteArray *private_data, struct peer_event *event,
	    GError **error)
{
	g_autofree struct request *request = request_take(within_ms, event, error);
	gboolean good;

	if (request == NULL)
		return FALSE;
	good = check_result(
		rdma_reject(request->id, private_data->data, (guint8)private_data->len) == 0,
		"rdma_reject", error);
	(void)rdma_destroy_id(request->id);
	return good;
}

void
peer_reject_all(void)
{
	struct request *request;

	while (event_take(0))
		;
	while ((request = g_queue_pop_head(&stack.requests)) != NULL) {
		(void)rdma_reject(request->id, NULL, 0);
		(void)rdma_destroy_id(request->id);
		g_free(request);
	}
}

/* Wait for a step of resolving. */
static gboolean
step_wait(struct peer_ep *ep, enum rdma_cm_event_type step, GError **error)
{
	gint64 deadline = g_get_monotonic_time() + RESOLVE_MS * 1000;

	while (ep->step != step && g_queue_is_empty(&ep->events) &&
	       g_get_monotonic_time() < deadline)
		(void)event_take(100);
	return ep->step == step || peer_fail(error, "cannot resolve: %s", rdma_event_str(ep->step));
}

gboolean
peer_ep_connect(struct peer_ep *ep, const struct peer_target *target,
		const GByteArray *private_data, GError **error)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(target->port)};
	struct rdma_conn_param param = param_of(ep, private_data);

	if (inet_pton(AF_INET, target->host, &to.sin_addr) != 1)
		return peer_fail(error, "%s is no IPv4 address", target->host);
	ep->step = RDMA_CM_EVENT_TIMEWAIT_EXIT; /* none of the steps: 0 is ADDR_RESOLVED */
	return check_result(rdma_create_id(stack.channel, &ep->id, ep, RDMA_PS_TCP) == 0,
			    "rdma_create_id", error) &&
	       check_result(rdma_resolve_addr(ep->id, NULL, (struct sockaddr *)&to, RESOLVE_MS) ==
				    0,
			    "rdma_resolve_addr", error) &&
	       step_wait(ep, RDMA_CM_EVENT_ADDR_RESOLVED, error) &&
	       check_result(rdma_resolve_route(ep->id, RESOLVE_MS) == 0, "rdma_resolve_route",
			    error) &&
	       step_wait(ep, RDMA_CM_EVENT_ROUTE_RESOLVED, error) && qp_make(ep, error) &&
	       check_result(rdma_connect(ep->id, &param) == 0, "rdma_connect", error);
}

gboolean
peer_ep_disconnect(struct peer_ep *ep, GError **error)
{
	return check_result(ep->id != NULL && rdma_disconnect(ep->id) == 0, "rdma_disconnect",
			    error);
}

gboolean
peer_ep_post(struct peer_ep *ep, const struct peer_work *work, GError **error)
{
	struct ibv_mr *mr = work->at->self;
	struct ibv_sge sge = {.addr = (guintptr)(work->at->octets + work->offset),
			      .length = (guint32)work->len,
			      .lkey = mr->lkey};
	struct ibv_recv_wr recv = {.wr_id = 1, .sg_list = &sge, .num_sge = work->len > 0};
	struct ibv_send_wr send = {.sg_list = &sge, .num_sge = work->len > 0};
	struct ibv_recv_wr *bad_recv;
	struct ibv_send_wr *bad_send;

	if (ep->id == NULL || ep->id->qp == NULL)
		return peer_fail(error, "the endpoint has no queue pair yet");
	if (strcmp(work->op, "receive") == 0)
		return check_result(ibv_post_recv(ep->id->qp, &recv, &bad_recv) == 0,
				    "ibv_post_recv", error);
	send.wr.rdma.remote_addr = work->to;
	send.wr.rdma.rkey = work->stag;
	if (strcmp(work->op, "send") == 0)
		send.opcode = IBV_WR_SEND;
	else if (strcmp(work->op, "write") == 0)
		send.opcode = IBV_WR_RDMA_WRITE;
	else if (strcmp(work->op, "read") == 0)
		send.opcode = IBV_WR_RDMA_READ;
	else
		return peer_fail(error, "%s is not supported", work->op);
	return check_result(ibv_post_send(ep->id->qp, &send, &bad_send) == 0, "ibv_post_send",
			    error);
}

gboolean
peer_ep_event(struct peer_ep *ep, guint within_ms, struct peer_event *event, GError **error)
{
	g_autofree struct peer_event *next = NULL;

	if (!queue_wait(&ep->events, within_ms))
		return peer_fail(error, "no event of the connection");
	next = g_queue_pop_head(&ep->events);
	*event = *next;
	return TRUE;
}

/* What a completion is of; that of a failure has no opcode, but receives have their number. */
static const char *
operation_of(const struct ibv_wc *wc)
{
	if (wc->wr_id == 1)
		return "receive";
	if (wc->opcode == IBV_WC_RDMA_WRITE)
		return "write";
	return wc->opcode == IBV_WC_RDMA_READ ? "read" : "send";
}

gboolean
peer_ep_done(struct peer_ep *ep, guint within_ms, struct peer_done *done, GError **error)
{
	gint64 deadline = g_get_monotonic_time() + (gint64)within_ms * 1000;
	struct ibv_wc wc;

	while (ibv_poll_cq(ep->cq, 1, &wc) <= 0) {
		if (g_get_monotonic_time() > deadline)
			return peer_fail(error, "no completion");
		g_usleep(LOOK_US);
	}
	memset(done, 0, sizeof(*done));
	done->op = operation_of(&wc);
	done->status = "error";
	if (wc.status == IBV_WC_SUCCESS)
		done->status = "success";
	else if (wc.status == IBV_WC_WR_FLUSH_ERR)
		done->status = "flushed";
	else if (wc.status == IBV_WC_REM_ACCESS_ERR)
		done->status = "access";
	else if (wc.status == IBV_WC_LOC_LEN_ERR)
		done->status = "length";
	done->len = wc.status == IBV_WC_SUCCESS ? wc.byte_len : 0;
	g_strlcpy(done->why, ibv_wc_status_str(wc.status), sizeof(done->why));
	g_strdelimit(done->why, " ", '-');
	return TRUE;
}
