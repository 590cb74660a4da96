/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The smallest useful IT-API program: one process writes a text into the memory of another.
 *
 *	put iwarp 7471                        shows what is put into its memory, then ends
 *	put iwarp 7471 127.0.0.1 hello        puts it there; HOST is a name, an IPv4 or an IPv6 address
 *
 * The server listens on each spigot of the adapter. The client takes the first
 * address of the host to which a spigot has a path, and the first such spigot.
 *
 * The server sends the address of its memory when it accepts the connection. The client writes there by
 * RDMA, which the server does not notice, and then sends an empty message, which it does: a message
 * that has arrived says that all earlier writes of its connection are in place.
 *
 * doc/application-guide.md quotes the pieces between the marks, and a test runs the program.
 */
#define ITAPI_ENABLE_V21_BINDINGS
#include <arpa/inet.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "it_api.h"
#include "it_ext.h"

/* Ends the program, with the name of the call, unless it worked. A demonstration may. */
#define MUST(call) must((call), #call)

static void
must(it_status_t status, const char *call)
{
	if (status != IT_SUCCESS) {
		fprintf(stderr, "put: %s from %s\n", it_status_name(status), call);
		exit(1);
	}
}

/* One side of the connection and everything that it needs. */
struct side {
	it_ia_handle_t ia;
	it_ia_info_t *info; /* spigots and their addresses, among much else */
	it_pz_handle_t pz;
	it_evd_handle_t dto_evd; /* completions of requests */
	it_evd_handle_t cm_evd;  /* events of the connection */
	it_ep_handle_t ep;
	it_lmr_handle_t lmr;
	it_rmr_context_t context; /* what a peer must know to reach the memory */
	char memory[256];
};

/* Where memory is, as sent to the peer; numbers in network order, as hosts may differ. */
struct grant {
	uint64_t addr;
	uint64_t context;
};

/* [open] */
static void
side_open(struct side *side, const char *adapter)
{
	it_mem_priv_t rights = IT_PRIV_LOCAL | IT_PRIV_REMOTE_WRITE;

	MUST(it_ia_create(adapter, 2, 1, &side->ia));
	MUST(it_ia_query(side->ia, &side->info));
	MUST(it_pz_create(side->ia, &side->pz));
	MUST(it_lmr_create(side->pz, side->memory, NULL, sizeof(side->memory),
			   IT_ADDR_MODE_ABSOLUTE, rights, IT_LMR_FLAG_NONE, 0, &side->lmr,
			   &side->context));
	MUST(it_evd_create(side->ia, IT_DTO_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT, 16, 1,
			   IT_NULL_HANDLE, &side->dto_evd, NULL));
	MUST(it_evd_create(side->ia, IT_CM_MSG_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT, 4, 1,
			   IT_NULL_HANDLE, &side->cm_evd, NULL));
}
/* [open] */

/* [endpoint] */
static void
endpoint_open(struct side *side)
{
	it_ep_attributes_t attributes = {
		.max_request_dtos = 4,
		.max_recv_dtos = 4,
		.max_send_segments = 1,
		.max_recv_segments = 1,
		.srv.rc.rdma_write_enable = IT_TRUE, /* the peer may write here */
		.srv.rc.max_rdma_write_segments = 1,
		.srv.rc.hard_hi_watermark = IT_HARD_HI_WATERMARK_DISABLE,
	};

	MUST(it_ep_rc_create(side->pz, side->dto_evd, side->dto_evd, side->cm_evd, IT_EP_NO_FLAG,
			     &attributes, &side->ep));
}
/* [endpoint] */

/* [wait] */
static it_event_t
event_wait(it_evd_handle_t evd, it_event_type_t wanted)
{
	it_event_t event;

	MUST(it_evd_wait(evd, IT_TIMEOUT_INFINITE, &event, NULL));
	if (event.event_number != wanted) {
		fprintf(stderr, "put: event %#x instead of %#x\n", (unsigned)event.event_number,
			(unsigned)wanted);
		exit(1);
	}
	return event;
}

static void
completion_wait(struct side *side, it_event_type_t wanted)
{
	it_event_t event = event_wait(side->dto_evd, wanted);

	if (event.dto_cmpl.dto_status != IT_DTO_SUCCESS) {
		fprintf(stderr, "put: a request ended with %s\n",
			it_dto_status_name(event.dto_cmpl.dto_status));
		exit(1);
	}
}
/* [wait] */

/* [listen] */
/* Prints where clients reach a listener of this spigot; addresses that are no IP addresses are left out. */
static void
addresses_print(const it_spigot_info_t *spigot, uint16_t port)
{
	for (size_t i = 0; i < spigot->num_net_addr; i++) {
		const it_net_addr_t *address = &spigot->net_addr[i];
		int family = address->addr_type == IT_IPV6 ? AF_INET6 : AF_INET;
		char text[INET6_ADDRSTRLEN];

		if (address->addr_type != IT_IPV4 && address->addr_type != IT_IPV6)
			continue;
		if (inet_ntop(family, &address->addr, text, sizeof(text)) != NULL)
			printf("listening on port %u of %s\n", ntohs(port), text);
	}
}

static void
listen_everywhere(struct side *side, it_evd_handle_t requests, uint16_t port)
{
	/* Port 0: the library chooses one for each spigot. */
	it_listen_flags_t flags = port == 0 ? IT_LISTEN_NO_FLAG : IT_LISTEN_CONN_QUAL_INPUT;

	for (size_t i = 0; i < side->info->num_spigots; i++) {
		const it_spigot_info_t *spigot = &side->info->spigot_info[i];
		it_conn_qual_t service = {.type = IT_IANA_PORT, .conn_qual.port = port};
		it_listen_handle_t listen; /* lives until the adapter is closed */

		if (!spigot->spigot_online)
			continue;
		MUST(it_listen_create(side->ia, spigot->spigot_id, requests, flags, &service,
				      &listen));
		addresses_print(spigot, service.conn_qual.port);
	}
	printf("waiting\n");
	fflush(stdout);
}
/* [listen] */

/* [serve] */
static void
serve(struct side *side, uint16_t port)
{
	it_evd_handle_t requests;
	struct grant grant;

	MUST(it_evd_create(side->ia, IT_CM_REQ_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT, 4, 1,
			   IT_NULL_HANDLE, &requests, NULL));
	listen_everywhere(side, requests, port);

	it_event_t request = event_wait(requests, IT_CM_REQ_CONN_REQUEST_EVENT);

	endpoint_open(side);
	MUST(it_post_recv(side->ep, NULL, 0, 1, IT_NOTIFY_FLAG));
	grant.addr = it_hton64(it_make_rdma_addr_absolute(side->memory));
	grant.context = it_hton64(side->context);
	MUST(it_ep_accept(side->ep, request.conn_req.cn_est_id, (unsigned char *)&grant,
			  sizeof(grant)));
	event_wait(side->cm_evd, IT_CM_MSG_CONN_ESTABLISHED_EVENT);

	completion_wait(side, IT_DTO_RC_RECV_CMPL_EVENT);
	printf("received: %.*s\n", (int)sizeof(side->memory), side->memory);
	event_wait(side->cm_evd, IT_CM_MSG_CONN_DISCONNECT_EVENT);
}
/* [serve] */

/* [path] */
static it_net_addr_t
address_from(const struct addrinfo *found)
{
	it_net_addr_t address = {.addr_type = IT_IPV4};
	const struct sockaddr_in *in = (void *)found->ai_addr;
	const struct sockaddr_in6 *in6 = (void *)found->ai_addr;

	if (found->ai_family == AF_INET) {
		address.addr.ipv4 = in->sin_addr;
	} else {
		address.addr_type = IT_IPV6;
		address.addr.ipv6 = in6->sin6_addr;
	}
	return address;
}

/* A path names the spigot that it starts from, so the choice of the path is the choice of the spigot. */
static bool
path_find(struct side *side, const it_net_addr_t *address, it_path_t *path)
{
	for (size_t i = 0; i < side->info->num_spigots; i++) {
		size_t paths = 1, total;

		MUST(it_get_pathinfo(side->ia, side->info->spigot_info[i].spigot_id, address,
				     &paths, &total, path));
		if (paths == 1)
			return true;
	}
	return false;
}

/* A host may have several addresses: the first one with a path is taken. */
static it_path_t
path_to(struct side *side, const char *host)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *addresses;
	int error = getaddrinfo(host, NULL, &hints, &addresses);
	bool found = false;
	it_path_t path;

	if (error != 0) {
		fprintf(stderr, "put: %s: %s\n", host, gai_strerror(error));
		exit(2);
	}
	for (struct addrinfo *at = addresses; at != NULL && !found; at = at->ai_next) {
		it_net_addr_t address = address_from(at);

		found = path_find(side, &address, &path);
	}
	freeaddrinfo(addresses);
	if (!found) {
		fprintf(stderr, "put: no path to %s\n", host);
		exit(1);
	}
	return path;
}
/* [path] */

/* [connect] */
static struct grant
reach(struct side *side, const char *host, uint16_t port)
{
	it_conn_qual_t service = {.type = IT_IANA_PORT, .conn_qual.port = port};
	it_path_t path = path_to(side, host);
	struct grant grant;

	endpoint_open(side);
	MUST(it_ep_connect(side->ep, &path, NULL, &service, IT_CONNECT_FLAG_TWO_WAY, NULL, 0));

	it_event_t event = event_wait(side->cm_evd, IT_CM_MSG_CONN_ESTABLISHED_EVENT);

	memcpy(&grant, event.conn.private_data, sizeof(grant));
	return grant;
}
/* [connect] */

/* [put] */
static void
put(struct side *side, struct grant grant, const char *text)
{
	it_lmr_triplet_t segment = {.lmr = side->lmr, .addr.abs = side->memory};

	snprintf(side->memory, sizeof(side->memory), "%s", text);
	segment.length = strlen(side->memory) + 1;
	MUST(it_post_rdma_write(side->ep, &segment, 1, 1, 0, it_ntoh64(grant.addr),
				it_ntoh64(grant.context)));
	MUST(it_post_send(side->ep, NULL, 0, 2, IT_COMPLETION_FLAG));
	completion_wait(side, IT_DTO_SEND_CMPL_EVENT);
	MUST(it_ep_disconnect(side->ep, NULL, 0));
	event_wait(side->cm_evd, IT_CM_MSG_CONN_DISCONNECT_EVENT);
}
/* [put] */

int
main(int argc, char **argv)
{
	struct side side = {0};

	if (argc != 3 && argc != 5) {
		fprintf(stderr, "usage: put ADAPTER PORT [HOST TEXT]\n");
		return 2;
	}
	uint16_t port = htons((uint16_t)strtoul(argv[2], NULL, 10));

	side_open(&side, argv[1]);
	if (argc == 3)
		serve(&side, port);
	else
		put(&side, reach(&side, argv[3], port), argv[4]);
	it_ia_info_free(side.info);
	MUST(it_ia_free(side.ia));
	return 0;
}
