/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The examples of the reference pages, as one program: every piece between two marks of the same name is
 * shown on the page of the call of that name.
 *
 *	calls ADAPTER
 *
 * A client and a server in this process open the adapter, connect, exchange data in each way that the adapter
 * has, and part. This file has adapters and connections, calls_data.c data transfer and memory, calls_event.c
 * event dispatchers, calls_datagram.c datagrams.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "calls.h"

void
must(it_status_t status, const char *call)
{
	if (status != IT_SUCCESS) {
		fprintf(stderr, "calls: %s from %s\n", it_status_name(status), call);
		exit(1);
	}
}

void
holds(it_boolean_t condition, const char *text)
{
	if (!condition) {
		fprintf(stderr, "calls: not so: %s\n", text);
		exit(1);
	}
}

it_lmr_triplet_t
segment_of(const struct side *side, void *start, size_t length)
{
	return (it_lmr_triplet_t){.lmr = side->lmr, .addr.abs = start, .length = length};
}

/* [it_evd_wait] */
it_event_t
event_expect(it_evd_handle_t evd, it_event_type_t wanted)
{
	it_event_t event;

	MUST(it_evd_wait(evd, PATIENCE, &event, NULL));
	if (event.event_number != wanted) {
		fprintf(stderr, "calls: %s instead of %s\n", it_event_name(event.event_number),
			it_event_name(wanted));
		exit(1);
	}
	return event;
}
/* [it_evd_wait] */

it_event_t
completion_expect(it_evd_handle_t evd, it_event_type_t wanted)
{
	it_event_t event = event_expect(evd, wanted);

	if (event.dto_cmpl.dto_status != IT_DTO_SUCCESS) {
		fprintf(stderr, "calls: %s ended with %s\n", it_event_name(wanted),
			it_dto_status_name(event.dto_cmpl.dto_status));
		exit(1);
	}
	return event;
}

/* --- adapters ----------------------------------------------------------------------------- */

/* [it_interface_list] */
static void
adapters_list(void)
{
	it_interface_t list[16];
	size_t listed = 16, total;

	it_interface_list(list, &listed, &total);
	for (size_t i = 0; i < listed; i++)
		printf("%s\n", list[i].name);
	if (total > listed)
		printf("and %zu more\n", total - listed);
}
/* [it_interface_list] */

/* [it_ia_create] */
static void
adapter_open(struct side *side, const char *name)
{
	it_status_t status = it_ia_create(name, 2, 1, &side->ia);

	if (status == IT_ERR_INVALID_NAME)
		fprintf(stderr, "there is no adapter %s\n", name);
	MUST(status);
	MUST(it_ia_query(side->ia, &side->info));
	MUST(it_pz_create(side->ia, &side->pz));
}
/* [it_ia_create] */

/* [it_ia_query] */
static it_boolean_t
adapter_has_datagrams(it_ia_handle_t ia)
{
	it_boolean_t has;
	it_ia_info_t *info;

	MUST(it_ia_query(ia, &info));
	has = (info->supported_service_types & IT_UD_SERVICE) != 0 ? IT_TRUE : IT_FALSE;
	it_ia_info_free(info);
	return has;
}
/* [it_ia_query] */

/* [it_lmr_create21] */
static void
memory_register(struct side *side)
{
	it_mem_priv_t privileges = IT_PRIV_LOCAL;

	/* Over iWARP the sink of an RDMA Read is open to the peer. */
	if (side->info->rdma_read_requires_remote_write)
		privileges |= IT_PRIV_REMOTE_WRITE;
	MUST(it_lmr_create21(side->pz, &side->memory, NULL, sizeof(side->memory),
			     IT_ADDR_MODE_ABSOLUTE, privileges, IT_LMR_FLAG_NONE, 0, &side->lmr,
			     &side->context));
}
/* [it_lmr_create21] */

/* [it_evd_create] */
static void
dispatchers_create(struct side *side)
{
	MUST(it_evd_create(side->ia, IT_DTO_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT, 16, 1,
			   IT_NULL_HANDLE, &side->request_evd, NULL));
	MUST(it_evd_create(side->ia, IT_DTO_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT, 16, 1,
			   IT_NULL_HANDLE, &side->recv_evd, NULL));
	MUST(it_evd_create(side->ia, IT_CM_MSG_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT, 4, 1,
			   IT_NULL_HANDLE, &side->cm_evd, NULL));
}
/* [it_evd_create] */

static void
side_open(struct side *side, const char *adapter)
{
	adapter_open(side, adapter);
	memory_register(side);
	dispatchers_create(side);
}

/* [it_ia_free] */
static void
side_close(struct side *side)
{
	it_ia_info_free(side->info);
	MUST(it_ia_free(side->ia)); /* takes everything else along */
}
/* [it_ia_free] */

/* --- endpoints and connections ------------------------------------------------------------- */

/* [it_ep_rc_create] */
static void
endpoint_create(struct side *side)
{
	it_ep_attributes_t attributes = {
		.max_request_dtos = 8,
		.max_recv_dtos = SLOTS, /* not used with an S-RQ */
		.max_send_segments = 1,
		.max_recv_segments = 1,
		.srv.rc = {.rdma_read_enable = IT_TRUE,
			   .rdma_write_enable = IT_TRUE,
			   .atomics_enable = side->info->atomic_support,
			   .max_rdma_read_segments = 1,
			   .max_rdma_write_segments = 1,
			   .rdma_read_ird = 4,
			   .rdma_read_ord = 4,
			   .srq = side->srq,
			   .hard_hi_watermark = IT_HARD_HI_WATERMARK_DISABLE},
	};
	it_ep_rc_creation_flags_t flags = side->srq != NULL ? IT_EP_SRQ : IT_EP_NO_FLAG;

	MUST(it_ep_rc_create(side->pz, side->request_evd, side->recv_evd, side->cm_evd, flags,
			     &attributes, &side->ep));
}
/* [it_ep_rc_create] */

/* [it_listen_create] */
static it_conn_qual_t
listen_anywhere(it_ia_handle_t ia, it_evd_handle_t *requests, it_listen_handle_t *listen)
{
	it_conn_qual_t service = {.type = IT_IANA_PORT};

	MUST(it_evd_create(ia, IT_CM_REQ_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT, 4, 1,
			   IT_NULL_HANDLE, requests, NULL));
	/* The library chooses a port and writes it to `service`, in network byte order. */
	MUST(it_listen_create(ia, 0, *requests, IT_LISTEN_NO_FLAG, &service, listen));
	return service;
}
/* [it_listen_create] */

/* [it_get_pathinfo] */
static it_path_t
path_to(it_ia_handle_t ia, const it_net_addr_t *address)
{
	size_t paths = 0, total;
	it_path_t path;

	/* The spigot that reaches the address is the one whose interface the kernel's routing takes. */
	for (size_t spigot = 0; paths == 0; spigot++) {
		paths = 1;
		if (it_get_pathinfo(ia, spigot, address, &paths, &total, &path) ==
		    IT_ERR_INVALID_SPIGOT) {
			fprintf(stderr, "no spigot has a path to that address\n");
			exit(1);
		}
	}
	path.timeout = 5000000; /* us for an attempt to connect; 0 = 20 s */
	return path;
}
/* [it_get_pathinfo] */

/* [it_convert_net_addr] */
static void
address_print(const it_net_addr_t *address)
{
	it_net_addr_t mapped;

	/* IPv4 becomes ::ffff:a.b.c.d. */
	if (address->addr_type == IT_IPV4 &&
	    it_convert_net_addr(address, IT_IPV6, &mapped) == IT_SUCCESS)
		printf("the last octet is %u\n", mapped.addr.ipv6.s6_addr[15]);
}
/* [it_convert_net_addr] */

/* [it_ep_connect] */
static void
connect_begin(struct side *client, const it_path_t *path, const it_conn_qual_t *service)
{
	static const unsigned char greeting[] = "good day";

	MUST(it_ep_connect(client->ep, path, NULL, service, IT_CONNECT_FLAG_TWO_WAY, greeting,
			   sizeof(greeting)));
	/* One event will tell the outcome: ESTABLISHED, PEER_REJECT or NONPEER_REJECT. */
}
/* [it_ep_connect] */

/* [it_reject] */
static void
request_reject(it_evd_handle_t requests)
{
	it_event_t event = event_expect(requests, IT_CM_REQ_CONN_REQUEST_EVENT);
	static const unsigned char reason[] = "not yet";

	MUST(it_reject(event.conn_req.cn_est_id, reason, sizeof(reason)));
}
/* [it_reject] */

/* [it_ep_accept] */
static void
request_accept(struct side *server, it_evd_handle_t requests)
{
	it_event_t event = event_expect(requests, IT_CM_REQ_CONN_REQUEST_EVENT);

	printf("a client says %s\n", (const char *)event.conn_req.private_data);
	endpoint_create(server);
	MUST(it_ep_accept(server->ep, event.conn_req.cn_est_id, NULL, 0));
	event_expect(server->cm_evd, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
}
/* [it_ep_accept] */

/* [it_ep_reset] */
static bool
endpoint_reset(it_ia_handle_t ia, it_ep_handle_t ep)
{
	const struct timespec millisecond = {.tv_nsec = 1000000};
	uint64_t support;
	it_status_t status;

	/* Some adapters have endpoints for one connection: create another one. */
	MUST(itx_ia_query_support(ia, &support));
	if ((support & ITX_SUPPORT_EP_REUSE) == 0)
		return false;
	/* The transport may still be busy with the end of the last connection. */
	while ((status = it_ep_reset(ep)) == IT_ERR_CANNOT_RESET)
		nanosleep(&millisecond, NULL);
	MUST(status);
	return true;
}
/* [it_ep_reset] */

/* [endpoint_renew] */
/* An endpoint for the next connection: the same one where the adapter can use it again soon, or a new one. */
static void
endpoint_renew(struct side *side)
{
	const struct timespec millisecond = {.tv_nsec = 1000000};
	it_status_t status = it_ep_reset(side->ep);

	for (int tries = 0; status == IT_ERR_CANNOT_RESET && tries < 100; tries++) {
		nanosleep(&millisecond, NULL);
		status = it_ep_reset(side->ep);
	}
	if (status == IT_ERR_CANNOT_RESET) {
		MUST(it_ep_free(side->ep));
		endpoint_create(side);
	} else {
		MUST(status);
	}
}
/* [endpoint_renew] */

/* [it_ep_query] */
static it_ep_state_rc_t
endpoint_state(it_ep_handle_t ep)
{
	it_ep_param_t param;

	MUST(it_ep_query(ep, IT_EP_PARAM_STATE, &param));
	return param.ep_state.rc;
}
/* [it_ep_query] */

/* [it_ep_disconnect] */
static void
connection_end(struct side *side)
{
	MUST(it_ep_disconnect(side->ep, NULL, 0));
	/* All completions of the endpoint are in its EVDs before this event. */
	event_expect(side->cm_evd, IT_CM_MSG_CONN_DISCONNECT_EVENT);
}
/* [it_ep_disconnect] */

/* A first attempt is rejected, the second one succeeds. */
static void
sides_connect(struct side *client, struct side *server, it_evd_handle_t requests,
	      const it_conn_qual_t *service, const it_path_t *path)
{
	endpoint_create(client);
	connect_begin(client, path, service);
	request_reject(requests);
	event_expect(client->cm_evd, IT_CM_MSG_CONN_PEER_REJECT_EVENT);
	if (!endpoint_reset(client->ia, client->ep)) {
		MUST(it_ep_free(client->ep));
		endpoint_create(client);
	}

	receives_post(server);
	receive_post(client, 0, 1);
	connect_begin(client, path, service);
	request_accept(server, requests);
	event_expect(client->cm_evd, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	HOLDS(endpoint_state(client->ep) == IT_EP_STATE_CONNECTED);
}

/* Messages that nobody has read, and receives that ended with the connection: they are not those of the next one. */
static void
completions_drop(struct side *side)
{
	it_event_t event;

	while (it_evd_dequeue(side->recv_evd, &event) == IT_SUCCESS)
		HOLDS(event.dto_cmpl.dto_status == IT_DTO_SUCCESS ||
		      event.dto_cmpl.dto_status == IT_DTO_ERR_FLUSHED);
}

int
main(int argc, char **argv)
{
	static struct side client, server;
	it_listen_handle_t listen;
	it_evd_handle_t requests;

	if (argc != 2) {
		fprintf(stderr, "usage: calls ADAPTER\n");
		return 2;
	}
	adapters_list();
	side_open(&client, argv[1]);
	side_open(&server, argv[1]);
	it_conn_qual_t service = listen_anywhere(server.ia, &requests, &listen);
	it_net_addr_t *address = &server.info->spigot_info[0].net_addr[0];
	it_path_t path = path_to(client.ia, address);

	address_print(address);
	sides_connect(&client, &server, requests, &service, &path);
	data_exchange(&client, &server);
	flow_show(&client, &server);
	connection_end(&client);
	event_expect(server.cm_evd, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	completions_drop(&client);
	endpoint_renew(&client);
	connect_begin(&client, &path, &service);
	request_accept(&server, requests);
	event_expect(client.cm_evd, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	connection_end(&client);
	event_expect(server.cm_evd, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	events_show(client.ia);
	exported_show(&client);
	if (adapter_has_datagrams(client.ia))
		datagrams_exchange(&client, &server, requests, &service, &path);
	MUST(it_listen_free(listen));
	side_close(&client);
	side_close(&server);
	printf("done\n");
	return 0;
}
