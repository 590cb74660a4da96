/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * lab-verbs: one side of lab_talk.h over rdma_cm and verbs; it contains no code of the library. It
 * polls; when a poll finds nothing, it sleeps a moment on the channel of connection events.
 */

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "lab_talk.h"

#define NAP_MS     1
#define BACKLOG    16
#define RESOLVE_MS 10000
#define DEPTH      8 /* of Reads */
#define FLUSH_US   (10 * G_USEC_PER_SEC)

struct carrier_verbs {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listeners[2]; /* of IPv4 and IPv6 */
	struct rdma_cm_id *id;
	struct ibv_pd *pd; /* of the device that the connections use; made with the first one */
	struct ibv_mr *mr;
	struct ibv_cq *requests, *receives;
	GQueue waiting; /* requests of the next clients that came before they were asked for: events, not acknowledged */
	bool over; /* the connection has ended */
};

static struct carrier_verbs *
carrier_of(struct lab_end *end)
{
	return end->own;
}

static bool
fail_errno(const char *what, GError **error)
{
	return lab_fail(error, "%s: %s", what, g_strerror(errno));
}

static bool
verbs_open(struct lab_end *end, GError **error)
{
	struct carrier_verbs *self = g_new0(struct carrier_verbs, 1);
	void *mapped;
	int flags;

	end->own = self;
	if (end->options.adapter != NULL)
		return lab_fail(error, "--adapter is for IT-API; here the address says the device");
	mapped = mmap(NULL, LAB_REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mapped == MAP_FAILED)
		return fail_errno("mmap", error);
	end->region = mapped;
	self->channel = rdma_create_event_channel();
	if (self->channel == NULL)
		return fail_errno("rdma_create_event_channel", error);
	flags = fcntl(self->channel->fd, F_GETFL);
	return fcntl(self->channel->fd, F_SETFL, flags | O_NONBLOCK) == 0 ||
	       fail_errno("fcntl", error);
}

static bool
verbs_make(struct lab_end *end, GError **error)
{
	carrier_of(end)->over = false;
	return carrier_of(end)->channel != NULL || lab_fail(error, "there is no channel");
}

static gint64
deadline_us(const struct lab_end *end)
{
	return g_get_monotonic_time() + (gint64)end->options.seconds * G_USEC_PER_SEC;
}

/*
 * The next event within `ms`, or NULL. Acknowledge it. The request of another client, which may come while a connection ends, is
 * kept until it is expected.
 */
static struct rdma_cm_event *
event_within(struct lab_end *end, int ms)
{
	struct carrier_verbs *self = carrier_of(end);
	struct pollfd watch = {.fd = self->channel->fd, .events = POLLIN};
	struct rdma_cm_event *event = NULL;

	if (poll(&watch, 1, ms) <= 0 || rdma_get_cm_event(self->channel, &event) != 0)
		return NULL;
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return event;
	g_queue_push_tail(&self->waiting, event);
	return NULL;
}

/* An event of that kind, or NULL. Acknowledge it. Another kind is an error. */
static struct rdma_cm_event *
expect_event(struct lab_end *end, enum rdma_cm_event_type type, GError **error)
{
	gint64 until = deadline_us(end);
	struct rdma_cm_event *event;

	do {
		event = type == RDMA_CM_EVENT_CONNECT_REQUEST
				? g_queue_pop_head(&carrier_of(end)->waiting)
				: NULL;
		if (event == NULL)
			event = event_within(end, 100);
		/* The end of the connection before. */
		if (event != NULL && event->event == RDMA_CM_EVENT_TIMEWAIT_EXIT) {
			rdma_ack_cm_event(event);
			event = NULL;
		}
	} while (event == NULL && g_get_monotonic_time() < until);
	if (event == NULL) {
		lab_fail(error, "no %s came", rdma_event_str(type));
		return NULL;
	}
	if (event->event == type)
		return event;
	lab_fail(error, "%s (%d) came, not %s", rdma_event_str(event->event), event->status,
		 rdma_event_str(type));
	rdma_ack_cm_event(event);
	return NULL;
}

static bool
expect_only(struct lab_end *end, enum rdma_cm_event_type type, GError **error)
{
	struct rdma_cm_event *event = expect_event(end, type, error);

	if (event == NULL)
		return false;
	rdma_ack_cm_event(event);
	return true;
}

/* Queues and, the first time, the region, on the device of the connection's address. */
static bool
make_queues(struct lab_end *end, GError **error)
{
	struct carrier_verbs *self = carrier_of(end);
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = {.max_send_wr = LAB_SLOTS,
			.max_recv_wr = LAB_SLOTS,
			.max_send_sge = 1,
			.max_recv_sge = 1},
	};

	if (self->pd == NULL) {
		self->pd = ibv_alloc_pd(self->id->verbs);
		if (self->pd == NULL)
			return fail_errno("ibv_alloc_pd", error);
		self->mr = ibv_reg_mr(self->pd, end->region, LAB_REGION,
				      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
					      IBV_ACCESS_REMOTE_READ);
		if (self->mr == NULL)
			return fail_errno("ibv_reg_mr", error);
		end->key = self->mr->rkey;
	}
	self->requests = ibv_create_cq(self->id->verbs, LAB_SLOTS + 1, NULL, NULL, 0);
	self->receives = ibv_create_cq(self->id->verbs, LAB_SLOTS + 1, NULL, NULL, 0);
	if (self->requests == NULL || self->receives == NULL)
		return fail_errno("ibv_create_cq", error);
	attr.send_cq = self->requests;
	attr.recv_cq = self->receives;
	if (rdma_create_qp(self->id, self->pd, &attr) != 0)
		return fail_errno("rdma_create_qp", error);
	return lab_talk_ready(end, error);
}

static struct addrinfo *
resolve_peer(const char *host, int port, GError **error)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	char service[16];
	int rc;

	g_snprintf(service, sizeof(service), "%d", port);
	rc = getaddrinfo(host, service, &hints, &found);
	if (rc != 0)
		lab_fail(error, "%s: %s", host, gai_strerror(rc));
	return found;
}

/* Listens on all addresses of one family only. */
static bool
listen_at(struct lab_end *end, struct sockaddr *any, struct rdma_cm_id **id, GError **error)
{
	int only = 1;

	if (rdma_create_id(carrier_of(end)->channel, id, NULL, RDMA_PS_TCP) != 0 ||
	    (any->sa_family == AF_INET6 &&
	     rdma_set_option(*id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &only, sizeof(only)) !=
		     0) ||
	    rdma_bind_addr(*id, any) != 0 || rdma_listen(*id, BACKLOG) != 0)
		return fail_errno("listening", error);
	return true;
}

static bool
verbs_listen(struct lab_end *end, GError **error)
{
	struct carrier_verbs *self = carrier_of(end);
	uint16_t port = g_htons((uint16_t)end->options.port);
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = port};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = port};

	return listen_at(end, (struct sockaddr *)&v6, &self->listeners[1], error) &&
	       listen_at(end, (struct sockaddr *)&v4, &self->listeners[0], error);
}

static uint8_t
depth_of(int option)
{
	return option == LAB_DEPTH_USUAL ? DEPTH : (uint8_t)option;
}

static struct rdma_conn_param
parameters(const struct lab_end *end, uint8_t data[LAB_PRIVATE_LIMIT])
{
	struct rdma_conn_param param = {
		.private_data = data,
		.private_data_len = (uint8_t)end->options.private_data,
		.responder_resources = depth_of(end->options.ird),
		.initiator_depth = depth_of(end->options.ord),
	};

	lab_private_fill(end, data);
	return param;
}

static bool
private_well(const struct lab_end *end, const struct rdma_cm_event *event, GError **error)
{
	return lab_private_check(end, event->param.conn.private_data,
				 event->param.conn.private_data_len, LAB_PRIVATE_LIMIT, error);
}

/* What the peer of a request offers limits what an answer may ask. */
static void
within_offer(struct rdma_conn_param *param, const struct rdma_cm_event *event)
{
	param->initiator_depth = MIN(param->initiator_depth, event->param.conn.responder_resources);
	printf("offered: IRD %u, ORD %u\n", event->param.conn.responder_resources,
	       event->param.conn.initiator_depth);
}

static bool
verbs_serve(struct lab_end *end, GError **error)
{
	struct carrier_verbs *self = carrier_of(end);
	uint8_t data[LAB_PRIVATE_LIMIT];
	struct rdma_conn_param param = parameters(end, data);
	struct rdma_cm_event *event;
	bool good;

	event = expect_event(end, RDMA_CM_EVENT_CONNECT_REQUEST, error);
	if (event == NULL)
		return false;
	self->id = event->id;
	good = private_well(end, event, error);
	within_offer(&param, event);
	rdma_ack_cm_event(event);
	if (!good)
		return false;
	if (end->options.reject)
		return rdma_reject(self->id, data, param.private_data_len) == 0 ||
		       fail_errno("rdma_reject", error);
	if (!make_queues(end, error))
		return false;
	if (rdma_accept(self->id, &param) != 0)
		return fail_errno("rdma_accept", error);
	end->established = expect_only(end, RDMA_CM_EVENT_ESTABLISHED, error);
	return end->established;
}

/* The way to the server. */
static bool
find_way(struct lab_end *end, GError **error)
{
	struct carrier_verbs *self = carrier_of(end);
	struct addrinfo *found = resolve_peer(end->options.host, end->options.port, error);
	bool good;

	if (found == NULL)
		return false;
	good = rdma_create_id(self->channel, &self->id, NULL, RDMA_PS_TCP) == 0 &&
	       rdma_resolve_addr(self->id, NULL, found->ai_addr, RESOLVE_MS) == 0;
	freeaddrinfo(found);
	if (!good)
		return fail_errno("rdma_resolve_addr", error);
	if (!expect_only(end, RDMA_CM_EVENT_ADDR_RESOLVED, error))
		return false;
	if (rdma_resolve_route(self->id, RESOLVE_MS) != 0)
		return fail_errno("rdma_resolve_route", error);
	return expect_only(end, RDMA_CM_EVENT_ROUTE_RESOLVED, error);
}

static bool
verbs_connect(struct lab_end *end, GError **error)
{
	struct carrier_verbs *self = carrier_of(end);
	enum rdma_cm_event_type type =
		end->options.reject ? RDMA_CM_EVENT_REJECTED : RDMA_CM_EVENT_ESTABLISHED;
	uint8_t data[LAB_PRIVATE_LIMIT];
	struct rdma_conn_param param = parameters(end, data);
	struct rdma_cm_event *event;
	bool good;

	if (!find_way(end, error) || !make_queues(end, error))
		return false;
	if (rdma_connect(self->id, &param) != 0)
		return fail_errno("rdma_connect", error);
	event = expect_event(end, type, error);
	if (event == NULL)
		return false;
	good = private_well(end, event, error);
	rdma_ack_cm_event(event);
	end->established = good && !end->options.reject;
	return good;
}

static bool
verbs_receive(struct lab_end *end, size_t place, size_t len, GError **error)
{
	struct carrier_verbs *self = carrier_of(end);
	struct ibv_sge sge = {(uintptr_t)end->region + place, (uint32_t)len, self->mr->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1};
	struct ibv_recv_wr *bad;

	errno = ibv_post_recv(self->id->qp, &wr, &bad);
	return errno == 0 || fail_errno("ibv_post_recv", error);
}

static bool
post_request(struct lab_end *end, const struct ibv_send_wr *wr, size_t place, size_t len,
	     GError **error)
{
	struct carrier_verbs *self = carrier_of(end);
	struct ibv_sge sge = {(uintptr_t)end->region + place, (uint32_t)len, self->mr->lkey};
	struct ibv_send_wr whole = *wr;
	struct ibv_send_wr *bad;

	whole.sg_list = &sge;
	whole.num_sge = 1;
	errno = ibv_post_send(self->id->qp, &whole, &bad);
	return errno == 0 || fail_errno("ibv_post_send", error);
}

static bool
verbs_send(struct lab_end *end, size_t place, size_t len, GError **error)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND};

	return post_request(end, &wr, place, len, error);
}

static bool
verbs_write(struct lab_end *end, size_t len, uint64_t address, uint32_t key, GError **error)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE, .wr.rdma = {address, key}};

	return post_request(end, &wr, 0, len, error);
}

static bool
verbs_read(struct lab_end *end, size_t place, size_t len, uint64_t address, uint32_t key,
	   GError **error)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_READ, .wr.rdma = {address, key}};

	return post_request(end, &wr, place, len, error);
}

/* Takes note of the events of a connection that stands or ends; waits for one up to `ms`. */
static void
note_events(struct lab_end *end, int ms)
{
	struct rdma_cm_event *event = event_within(end, ms);

	if (event == NULL)
		return;
	if (event->event == RDMA_CM_EVENT_DISCONNECTED) {
		carrier_of(end)->over = true;
		rdma_ack_cm_event(event);
		/* Both queues are flushed only then. */
		rdma_disconnect(carrier_of(end)->id);
		return;
	}
	rdma_ack_cm_event(event);
}

/*
 * Returns the next completion of a queue. siw sometimes loses one if a reset comes with a Send [WIRE 14.11], so the
 * wait is short once the connection has ended.
 */
static bool
wait_completion(struct lab_end *end, struct ibv_cq *cq, struct ibv_wc *wc, GError **error)
{
	const struct carrier_verbs *self = carrier_of(end);
	gint64 until = deadline_us(end);
	gint64 ended = self->over ? g_get_monotonic_time() : INT64_MAX;
	int count;

	while ((count = ibv_poll_cq(cq, 1, wc)) == 0) {
		gint64 now = g_get_monotonic_time();

		if (self->over && now > ended && now - ended > FLUSH_US)
			return lab_fail(error, "no completion after the end of the connection");
		if (now > until)
			return lab_fail(error, "no completion");
		note_events(end, NAP_MS);
		if (self->over && ended == INT64_MAX)
			ended = now;
	}
	if (count < 0)
		return fail_errno("ibv_poll_cq", error);
	return wc->status == IBV_WC_SUCCESS ||
	       lab_fail(error, "a transfer failed: %s", ibv_wc_status_str(wc->status));
}

static bool
verbs_done(struct lab_end *end, GError **error)
{
	struct ibv_wc wc;

	return wait_completion(end, carrier_of(end)->requests, &wc, error);
}

static bool
verbs_arrived(struct lab_end *end, size_t *len, GError **error)
{
	struct ibv_wc wc;

	if (!wait_completion(end, carrier_of(end)->receives, &wc, error))
		return false;
	*len = wc.byte_len;
	return true;
}

static void
verbs_disconnect(struct lab_end *end)
{
	if (rdma_disconnect(carrier_of(end)->id) != 0)
		printf("rdma_disconnect: %s\n", g_strerror(errno));
}

static bool
verbs_ended(struct lab_end *end, GError **error)
{
	gint64 until = deadline_us(end);

	while (!carrier_of(end)->over && g_get_monotonic_time() < until)
		note_events(end, 100);
	if (!carrier_of(end)->over)
		return lab_fail(error, "the connection did not end");
	printf("ended\n");
	return true;
}

static void
verbs_drop(struct lab_end *end)
{
	struct carrier_verbs *self = carrier_of(end);

	if (self->id != NULL && self->id->qp != NULL)
		rdma_destroy_qp(self->id);
	if (self->requests != NULL)
		ibv_destroy_cq(self->requests);
	if (self->receives != NULL)
		ibv_destroy_cq(self->receives);
	if (self->id != NULL)
		rdma_destroy_id(self->id);
	self->requests = self->receives = NULL;
	self->id = NULL;
}

static void
verbs_close(struct lab_end *end)
{
	struct carrier_verbs *self = carrier_of(end);

	if (self == NULL)
		return;
	while (!g_queue_is_empty(&self->waiting)) {
		struct rdma_cm_event *request = g_queue_pop_head(&self->waiting);
		struct rdma_cm_id *id = request->id;

		rdma_ack_cm_event(request);
		rdma_destroy_id(id);
	}
	for (size_t i = 0; i < G_N_ELEMENTS(self->listeners); i++) {
		if (self->listeners[i] != NULL)
			rdma_destroy_id(self->listeners[i]);
	}
	if (self->mr != NULL)
		ibv_dereg_mr(self->mr);
	if (self->pd != NULL)
		ibv_dealloc_pd(self->pd);
	if (self->channel != NULL)
		rdma_destroy_event_channel(self->channel);
	if (end->region != NULL)
		munmap(end->region, LAB_REGION);
	g_free(self);
}

static const struct lab_carrier carrier = {
	.program = "lab-verbs",
	.open = verbs_open,
	.make = verbs_make,
	.listen = verbs_listen,
	.serve = verbs_serve,
	.connect = verbs_connect,
	.receive = verbs_receive,
	.send = verbs_send,
	.write = verbs_write,
	.read = verbs_read,
	.done = verbs_done,
	.arrived = verbs_arrived,
	.disconnect = verbs_disconnect,
	.ended = verbs_ended,
	.drop = verbs_drop,
	.close = verbs_close,
};

int
main(int argc, char **argv)
{
	return lab_main(&carrier, argc, argv);
}
