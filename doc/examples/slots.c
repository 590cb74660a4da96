/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A store of keys and values with a bug, for doc/simulation.md. A client puts a pair by one RDMA Write into a slot of the server's
 * memory; the server looks at the slot until it is full, and prints the pair.
 *
 *	slots ADAPTER PORT                       the server: takes one pair
 *	slots ADAPTER PORT HOST KEY VALUE        a client
 *
 * It works on each adapter of this library, for years. Compiled with -DFIXED it also is right.
 */
#define ITAPI_ENABLE_V21_BINDINGS
#include <arpa/inet.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "it_api.h"
#include "it_ext.h"

#define MUST(call) must((call), #call)

static void
must(it_status_t status, const char *call)
{
	if (status != IT_SUCCESS) {
		fprintf(stderr, "slots: %s from %s\n", it_status_name(status), call);
		exit(1);
	}
}

/* [slot] */
struct slot {
	char key[16];
	char value[47];
	uint8_t full; /* the last octet, so it is written last */
};
/* [slot] */

struct grant {
	uint64_t addr, context;
};

struct side {
	it_ia_handle_t ia;
	it_pz_handle_t pz;
	it_evd_handle_t done, news;
	it_ep_handle_t ep;
	it_lmr_handle_t lmr;
	it_rmr_context_t context;
	volatile struct slot slot;
};

static struct side side;

static void
side_open(const char *adapter)
{
	it_ep_attributes_t attributes = {
		.max_request_dtos = 4,
		.max_recv_dtos = 1,
		.max_send_segments = 1,
		.max_recv_segments = 1,
		.srv.rc = {.rdma_write_enable = IT_TRUE, .max_rdma_write_segments = 1},
	};

	MUST(it_ia_create(adapter, 2, 1, &side.ia));
	MUST(it_pz_create(side.ia, &side.pz));
	MUST(it_lmr_create(side.pz, (void *)(uintptr_t)&side.slot, NULL, sizeof(side.slot),
			   IT_ADDR_MODE_ABSOLUTE, IT_PRIV_LOCAL | IT_PRIV_REMOTE_WRITE,
			   IT_LMR_FLAG_NONE, 0, &side.lmr, &side.context));
	MUST(it_evd_create(side.ia, IT_DTO_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT, 8, 1,
			   IT_NULL_HANDLE, &side.done, NULL));
	MUST(it_evd_create(side.ia, IT_CM_MSG_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT, 4, 1,
			   IT_NULL_HANDLE, &side.news, NULL));
	MUST(it_ep_rc_create(side.pz, side.done, side.done, side.news, IT_EP_NO_FLAG, &attributes,
			     &side.ep));
	MUST(it_post_recv(side.ep, NULL, 0, 1, IT_NOTIFY_FLAG));
}

static it_event_t
event_wait(it_evd_handle_t evd, it_event_type_t wanted)
{
	it_event_t event;

	MUST(it_evd_wait(evd, IT_TIMEOUT_INFINITE, &event, NULL));
	if (event.event_number != wanted) {
		fprintf(stderr, "slots: %s\n", it_event_name(event.event_number));
		exit(1);
	}
	return event;
}

static void
serve(uint16_t port)
{
	it_conn_qual_t service = {.type = IT_IANA_PORT, .conn_qual.port = port};
	struct grant grant = {
		.addr = it_hton64(it_make_rdma_addr_absolute((void *)(uintptr_t)&side.slot)),
		.context = it_hton64(side.context)};
	it_evd_handle_t requests;
	it_listen_handle_t listen;
	it_event_t request;

	MUST(it_evd_create(side.ia, IT_CM_REQ_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT, 4, 1,
			   IT_NULL_HANDLE, &requests, NULL));
	MUST(it_listen_create(side.ia, 0, requests, IT_LISTEN_CONN_QUAL_INPUT, &service, &listen));
	request = event_wait(requests, IT_CM_REQ_CONN_REQUEST_EVENT);
	MUST(it_ep_accept(side.ep, request.conn_req.cn_est_id, (unsigned char *)&grant,
			  sizeof(grant)));
	event_wait(side.news, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
#ifdef FIXED
	/* [fixed] */
	event_wait(side.done, IT_DTO_RC_RECV_CMPL_EVENT);
	/* [fixed] */
#else
	/* [bug] */
	while (!side.slot.full)
		sched_yield();
		/* [bug] */
#endif
	printf("%s = %s\n", (const char *)(uintptr_t)side.slot.key,
	       (const char *)(uintptr_t)side.slot.value);
	event_wait(side.news, IT_CM_MSG_CONN_DISCONNECT_EVENT);
}

static void
put(const char *host, uint16_t port, const char *key, const char *value)
{
	it_conn_qual_t service = {.type = IT_IANA_PORT, .conn_qual.port = port};
	it_net_addr_t address = {.addr_type = IT_IPV4};
	it_lmr_triplet_t segment = {.lmr = side.lmr,
				    .addr.abs = (void *)(uintptr_t)&side.slot,
				    .length = sizeof(side.slot)};
	struct slot pair = {.full = 1};
	size_t paths = 1, total;
	struct grant grant;
	it_event_t event;
	it_path_t path;

	if (inet_pton(AF_INET, host, &address.addr.ipv4) != 1)
		exit(2);
	MUST(it_get_pathinfo(side.ia, 0, &address, &paths, &total, &path));
	MUST(it_ep_connect(side.ep, &path, NULL, &service, IT_CONNECT_FLAG_TWO_WAY, NULL, 0));
	event = event_wait(side.news, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	memcpy(&grant, event.conn.private_data, sizeof(grant));
	snprintf(pair.key, sizeof(pair.key), "%s", key);
	snprintf(pair.value, sizeof(pair.value), "%s", value);
	memcpy((void *)(uintptr_t)&side.slot, &pair, sizeof(pair));
	/* [put] */
	MUST(it_post_rdma_write(side.ep, &segment, 1, 1, 0, it_ntoh64(grant.addr),
				(it_rmr_context_t)it_ntoh64(grant.context)));
	MUST(it_post_send(side.ep, NULL, 0, 2, IT_COMPLETION_FLAG));
	event_wait(side.done, IT_DTO_SEND_CMPL_EVENT);
	/* [put] */
	MUST(it_ep_disconnect(side.ep, NULL, 0));
	event_wait(side.news, IT_CM_MSG_CONN_DISCONNECT_EVENT);
}

int
main(int argc, char **argv)
{
	if (argc != 3 && argc != 6)
		return 2;
	uint16_t port = htons((uint16_t)strtoul(argv[2], NULL, 10));

	side_open(argv[1]);
	if (argc == 3)
		serve(port);
	else
		put(argv[3], port, argv[4], argv[5]);
	MUST(it_ia_free(side.ia));
	return 0;
}
