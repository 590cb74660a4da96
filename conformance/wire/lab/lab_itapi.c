/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* lab-itapi: one side of lab_talk.h over IT-API. */

#include <stdio.h>
#include <string.h>

#include "lab_talk.h"
#include "tool_error.h"
#include "tool_link.h"
#include "tool_memory.h"
#include "tool_options.h"

#define SECOND_US      UINT64_C(1000000)
#define REJECT_STAY_US 1000000

struct carrier_itapi {
	struct tool_adapter adapter;
	struct tool_memory memory;
	struct tool_listener listener;
	struct tool_link link;
};

static struct carrier_itapi *
carrier_of(struct lab_end *end)
{
	return end->own;
}

static bool
itapi_open(struct lab_end *end, GError **error)
{
	struct carrier_itapi *self = g_new0(struct carrier_itapi, 1);
	const char *adapter = end->options.adapter != NULL ? end->options.adapter : "iwarp";

	end->own = self;
	tool_begin();
	if (!tool_adapter_open(&self->adapter, adapter, error) ||
	    !tool_memory_make(&self->memory, &self->adapter, LAB_REGION,
			      IT_PRIV_REMOTE_READ | IT_PRIV_REMOTE_WRITE, true, error))
		return false;
	end->region = self->memory.octets;
	end->key = (uint32_t)self->memory.context;
	return true;
}

static bool
itapi_make(struct lab_end *end, GError **error)
{
	struct carrier_itapi *self = carrier_of(end);
	const struct tool_link_spec spec = {.requests = LAB_SLOTS,
					    .receives = LAB_SLOTS,
					    .segments = 1,
					    .seconds = (unsigned)end->options.seconds};
	it_ep_attributes_t attr = {0};
	it_ep_param_mask_t mask = 0;

	if (!tool_link_make(&self->link, &self->adapter, &spec, error))
		return false;
	if (end->options.ird != LAB_DEPTH_USUAL) {
		attr.srv.rc.rdma_read_ird = (uint32_t)end->options.ird;
		mask |= IT_EP_PARAM_MAX_IRD;
	}
	if (end->options.ord != LAB_DEPTH_USUAL) {
		attr.srv.rc.rdma_read_ord = (uint32_t)end->options.ord;
		mask |= IT_EP_PARAM_MAX_ORD;
	}
	/* Not every adapter lets them change. */
	if (mask != 0 &&
	    !tool_check(it_ep_modify(self->link.ep, mask, &attr), "it_ep_modify", error))
		return false;
	return end->options.reject || lab_talk_ready(end, error);
}

static bool
itapi_listen(struct lab_end *end, GError **error)
{
	struct carrier_itapi *self = carrier_of(end);

	it_listen_flags_t flags =
		end->options.suppress ? IT_LISTEN_SUPPRESS_IRD_ORD : IT_LISTEN_NO_FLAG;

	if (!tool_listener_open_as(&self->listener, &self->adapter, (uint16_t)end->options.port,
				   flags, error))
		return false;
	printf("port %u\n", self->listener.port);
	return true;
}

/* The next event of the connection. */
static bool
next_event(struct lab_end *end, it_event_t *event, GError **error)
{
	it_status_t status = it_evd_wait(carrier_of(end)->link.conn_evd,
					 (uint64_t)end->options.seconds * SECOND_US, event, NULL);

	if (status == IT_ERR_TIMEOUT_EXPIRED)
		return tool_fail(error, TOOL_ERROR_TIMEOUT, "no event of the connection came");
	return tool_check(status, "waiting for the connection", error);
}

static bool
wait_established(struct lab_end *end, GError **error)
{
	struct tool_link *link = &carrier_of(end)->link;
	it_event_t event;

	if (!next_event(end, &event, error))
		return false;
	if (event.event_number != IT_CM_MSG_CONN_ESTABLISHED_EVENT)
		return tool_fail(error, TOOL_ERROR_PEER, "no connection: %s",
				 it_event_name(event.event_number));
	link->connected = end->established = true;
	return end->options.host == NULL ||
	       lab_private_check(end, event.conn.private_data, -1, sizeof(event.conn.private_data),
				 error);
}

/* The answer to a request that is to be refused. */
static bool
wait_refused(struct lab_end *end, GError **error)
{
	it_event_t event;

	if (!next_event(end, &event, error))
		return false;
	if (event.event_number != IT_CM_MSG_CONN_PEER_REJECT_EVENT)
		return tool_fail(error, TOOL_ERROR_PEER, "no reject: %s",
				 it_event_name(event.event_number));
	return lab_private_check(end, event.conn.private_data, -1, sizeof(event.conn.private_data),
				 error);
}

static bool
itapi_serve(struct lab_end *end, GError **error)
{
	struct carrier_itapi *self = carrier_of(end);
	uint8_t data[LAB_PRIVATE_LIMIT];
	size_t len = (size_t)end->options.private_data;
	it_event_t event;

	lab_private_fill(end, data);
	if (!tool_check(it_evd_wait(self->listener.requests,
				    (uint64_t)end->options.seconds * SECOND_US, &event, NULL),
			"waiting for a request", error) ||
	    !lab_private_check(end, event.conn_req.private_data, -1,
			       sizeof(event.conn_req.private_data), error))
		return false;
	if (end->options.reject) {
		if (!tool_check(it_reject(event.conn_req.cn_est_id, data, len), "it_reject", error))
			return false;
		/* The end of this process would be an early FIN, for which siw drops the data [WIRE 14.4]. */
		g_usleep(REJECT_STAY_US);
		return true;
	}
	return tool_check(it_ep_accept(self->link.ep, event.conn_req.cn_est_id, data, len),
			  "it_ep_accept", error) &&
	       wait_established(end, error);
}

static bool
itapi_connect(struct lab_end *end, GError **error)
{
	struct carrier_itapi *self = carrier_of(end);
	it_conn_qual_t qual = tool_port((uint16_t)end->options.port);
	uint8_t data[LAB_PRIVATE_LIMIT];
	it_cn_est_flags_t flags =
		IT_CONNECT_FLAG_TWO_WAY | (end->options.suppress ? IT_CONNECT_SUPPRESS_IRD_ORD : 0);
	struct tool_way way;
	it_path_t path;
	bool found;

	lab_private_fill(end, data);
	found = tool_way_find(&way, &self->adapter, end->options.host, (uint16_t)end->options.port,
			      error);
	path = way.path;
	tool_way_clear(&way);
	if (!found)
		return false;
	path.timeout = (uint64_t)end->options.seconds * SECOND_US;
	if (!tool_check(it_ep_connect(self->link.ep, &path, NULL, &qual, flags, data,
				      (size_t)end->options.private_data),
			"it_ep_connect", error))
		return false;
	return end->options.reject ? wait_refused(end, error) : wait_established(end, error);
}

static bool
itapi_receive(struct lab_end *end, size_t place, size_t len, GError **error)
{
	it_lmr_triplet_t part = tool_memory_part(&carrier_of(end)->memory, place, len);

	return tool_check(it_post_recv(carrier_of(end)->link.ep, &part, 1, 0, IT_COMPLETION_FLAG),
			  "it_post_recv", error);
}

static bool
itapi_send(struct lab_end *end, size_t place, size_t len, GError **error)
{
	it_lmr_triplet_t part = tool_memory_part(&carrier_of(end)->memory, place, len);

	return tool_check(it_post_send(carrier_of(end)->link.ep, &part, 1, 0, IT_COMPLETION_FLAG),
			  "it_post_send", error);
}

static bool
itapi_write(struct lab_end *end, size_t len, uint64_t address, uint32_t key, GError **error)
{
	it_lmr_triplet_t part = tool_memory_part(&carrier_of(end)->memory, 0, len);

	return tool_check(it_post_rdma_write(carrier_of(end)->link.ep, &part, 1, 0,
					     IT_COMPLETION_FLAG, address, key),
			  "it_post_rdma_write", error);
}

static bool
itapi_read(struct lab_end *end, size_t place, size_t len, uint64_t address, uint32_t key,
	   GError **error)
{
	it_lmr_triplet_t part = tool_memory_part(&carrier_of(end)->memory, place, len);

	return tool_check(it_post_rdma_read(carrier_of(end)->link.ep, &part, 1, 0,
					    IT_COMPLETION_FLAG, address, key),
			  "it_post_rdma_read", error);
}

static bool
itapi_done(struct lab_end *end, GError **error)
{
	it_dto_cmpl_event_t event;

	return tool_link_done(&carrier_of(end)->link, &event, error);
}

static bool
itapi_arrived(struct lab_end *end, size_t *len, GError **error)
{
	it_dto_cmpl_event_t event;

	if (!tool_link_received(&carrier_of(end)->link, &event, error))
		return false;
	*len = event.transferred_length;
	return true;
}

static void
itapi_disconnect(struct lab_end *end)
{
	it_status_t status = it_ep_disconnect(carrier_of(end)->link.ep, NULL, 0);

	if (status != IT_SUCCESS)
		printf("it_ep_disconnect: %s\n", it_status_name(status));
}

static bool
itapi_ended(struct lab_end *end, GError **error)
{
	struct tool_link *link = &carrier_of(end)->link;
	it_event_t event;

	if (link->end == 0) {
		if (!next_event(end, &event, error))
			return false;
		link->end = event.event_number;
		link->connected = false;
	}
	if (link->end != IT_CM_MSG_CONN_DISCONNECT_EVENT &&
	    link->end != IT_CM_MSG_CONN_BROKEN_EVENT)
		return tool_fail(error, TOOL_ERROR_FAILED, "the connection ended with %s",
				 it_event_name(link->end));
	printf("ended: %s\n", it_event_name(link->end));
	return true;
}

static void
itapi_drop(struct lab_end *end)
{
	tool_link_close(&carrier_of(end)->link);
}

static void
itapi_close(struct lab_end *end)
{
	struct carrier_itapi *self = carrier_of(end);

	if (self == NULL)
		return;
	if (self->listener.adapter != NULL)
		tool_listener_close(&self->listener);
	tool_memory_free(&self->memory);
	tool_adapter_close(&self->adapter);
	g_free(self);
}

static const struct lab_carrier carrier = {
	.program = "lab-itapi",
	.open = itapi_open,
	.make = itapi_make,
	.listen = itapi_listen,
	.serve = itapi_serve,
	.connect = itapi_connect,
	.receive = itapi_receive,
	.send = itapi_send,
	.write = itapi_write,
	.read = itapi_read,
	.done = itapi_done,
	.arrived = itapi_arrived,
	.disconnect = itapi_disconnect,
	.ended = itapi_ended,
	.drop = itapi_drop,
	.close = itapi_close,
};

int
main(int argc, char **argv)
{
	return lab_main(&carrier, argc, argv);
}
