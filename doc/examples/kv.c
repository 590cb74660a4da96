/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A store of keys and values, as a server that waits for everything in one poll(), and a client of it.
 *
 *	kv iwarp 7471                                serves until SIGTERM or SIGINT
 *	kv iwarp 7471 192.0.2.1 put colour blue      stores a value; the server by its address or its name
 *	kv iwarp 7471 192.0.2.1 get colour           prints it
 *	kv iwarp 7471 192.0.2.1 count 5              adds to a counter of the server, prints what it was
 *	kv iwarp 7471 192.0.2.1 speak 1              connects as a client of another version of the protocol
 *
 * The private data of the connection has the version of the protocol. The server rejects a client of another one, and
 * says which it speaks. When it accepts, it says where its values and its counter are. A client puts a value by a
 * message. For a get it learns by a message where the value is, and reads it by RDMA; it counts by an atomic. So the
 * server runs no code for values that are read.
 *
 * doc/application-guide.md and reference pages quote the pieces between the marks, and a test runs the program.
 */
#define ITAPI_ENABLE_V21_BINDINGS
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>

#include "it_api.h"
#include "it_ext.h"

#define VERSION  2
#define VALUES   64
#define LENGTH   1024     /* of the longest value, bytes */
#define KEY      32       /* bytes, with the final zero */
#define RECEIVES 4        /* requests of one client under way */
#define PATIENCE 60000000 /* us; far longer than any step takes */

/* Ends the program, with the name of the call, unless it worked. A demonstration may. */
#define MUST(call) must((call), #call)

static void
must(it_status_t status, const char *call)
{
	if (status != IT_SUCCESS) {
		fprintf(stderr, "kv: %s from %s\n", it_status_name(status), call);
		exit(1);
	}
}

/* --- the protocol; all numbers in network byte order ------------------------------------------ */

/* Private data of the connect and of the reject: what a side speaks. */
struct hello {
	char name[4];
	uint32_t version;
};

static const char protocol[4] = {'K', 'V', 'S', 'T'};

/* Private data of the accept. */
struct grant {
	uint64_t values; /* address; value n is n * LENGTH behind it */
	uint64_t values_context;
	uint64_t counter;
	uint64_t counter_context;
};

enum {
	PUT = 1,
	GET = 2,
	STORED = 0,
	NO_SUCH_KEY = 1,
	FULL = 2
};

/* A request, and the answer to it, which has no value. */
struct message {
	uint32_t what; /* PUT or GET; in the answer what became of it */
	uint32_t number;
	uint32_t length;
	char key[KEY];
	char value[LENGTH]; /* of a put; only as much of it is sent as there is */
};

#define HEAD offsetof(struct message, value)

/* --- the server ------------------------------------------------------------------------------- */

/* A client that is connected: its endpoint, and a request and an answer for each receive. */
struct client {
	struct client *next;
	it_ep_handle_t ep;
	it_lmr_handle_t lmr;
	struct message requests[RECEIVES], answers[RECEIVES];
};

struct server {
	it_ia_handle_t ia;
	it_ia_info_t *info;
	it_pz_handle_t pz;
	it_evd_handle_t events;      /* the aggregate of the next three */
	it_evd_handle_t completions; /* of all clients */
	it_evd_handle_t connections;
	it_evd_handle_t requests;
	int fd; /* of the aggregate */
	it_lmr_handle_t values_lmr, counter_lmr;
	it_rmr_context_t values_context, counter_context;
	struct client *clients;
	char keys[VALUES][KEY];
	uint32_t lengths[VALUES];
	char values[VALUES][LENGTH];
	_Alignas(8) _Atomic uint64_t counter;
};

/* [events] */
static void
events_open(struct server *server)
{
	/* An aggregate has no queue of its own, so size, threshold and modes of overflow mean nothing to it. */
	MUST(it_evd_create(server->ia, IT_AEVD_NOTIFICATION_EVENT_STREAM, IT_EVD_CREATE_FD, 0, 0,
			   IT_NULL_HANDLE, &server->events, &server->fd));
	MUST(it_evd_create(server->ia, IT_DTO_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT, 1024, 1,
			   server->events, &server->completions, NULL));
	MUST(it_evd_create(server->ia, IT_CM_MSG_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT, 64, 1,
			   server->events, &server->connections, NULL));
	MUST(it_evd_create(server->ia, IT_CM_REQ_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT, 16, 1,
			   server->events, &server->requests, NULL));
}
/* [events] */

/* [rights] */
static void
memory_open(struct server *server)
{
	/* Peers may read the values, and nothing else of this process. */
	MUST(it_lmr_create(server->pz, server->values, NULL, sizeof(server->values),
			   IT_ADDR_MODE_ABSOLUTE, IT_PRIV_LOCAL | IT_PRIV_REMOTE_READ,
			   IT_LMR_FLAG_NONE, 0, &server->values_lmr, &server->values_context));
	/* They may run atomics on the counter, and not write it. */
	MUST(it_lmr_create(server->pz, &server->counter, NULL, sizeof(server->counter),
			   IT_ADDR_MODE_ABSOLUTE, IT_PRIV_LOCAL | IT_PRIV_ATOMIC, IT_LMR_FLAG_NONE,
			   0, &server->counter_lmr, &server->counter_context));
}
/* [rights] */

static void
listen_everywhere(struct server *server, uint16_t port)
{
	it_listen_flags_t flags = port == 0 ? IT_LISTEN_NO_FLAG : IT_LISTEN_CONN_QUAL_INPUT;

	for (size_t i = 0; i < server->info->num_spigots; i++) {
		it_conn_qual_t service = {.type = IT_IANA_PORT, .conn_qual.port = port};
		it_listen_handle_t listen; /* lives until the adapter is closed */

		MUST(it_listen_create(server->ia, i, server->requests, flags, &service, &listen));
		printf("spigot %zu listens on port %u\n", i, ntohs(service.conn_qual.port));
	}
	printf("waiting\n");
	fflush(stdout);
}

static void
receive_post(struct client *client, size_t i)
{
	it_lmr_triplet_t segment = {.lmr = client->lmr,
				    .addr.abs = &client->requests[i],
				    .length = sizeof(client->requests[i])};

	MUST(it_post_recv(client->ep, &segment, 1, i, 0));
}

static struct client *
client_new(struct server *server)
{
	it_ep_attributes_t attributes = {
		.max_request_dtos = RECEIVES,
		.max_recv_dtos = RECEIVES,
		.max_send_segments = 1,
		.max_recv_segments = 1,
		.srv.rc = {.rdma_read_enable = IT_TRUE,
			   .atomics_enable = IT_TRUE,
			   .rdma_read_ird = 4}, /* Reads and atomics of the client at once */
	};
	struct client *client = calloc(1, sizeof(*client));

	if (client == NULL)
		exit(1);
	MUST(it_lmr_create(server->pz, client, NULL, sizeof(*client), IT_ADDR_MODE_ABSOLUTE,
			   IT_PRIV_LOCAL, IT_LMR_FLAG_NONE, 0, &client->lmr, NULL));
	MUST(it_ep_rc_create(server->pz, server->completions, server->completions,
			     server->connections, IT_EP_NO_FLAG, &attributes, &client->ep));
	MUST(it_set_consumer_context(client->ep, (it_context_t){.ptr = client}));
	for (size_t i = 0; i < RECEIVES; i++)
		receive_post(client, i);
	client->next = server->clients;
	server->clients = client;
	return client;
}

static void
client_free(struct server *server, struct client *client)
{
	struct client **at = &server->clients;

	while (*at != client)
		at = &(*at)->next;
	*at = client->next;
	MUST(it_ep_free(client->ep));
	MUST(it_lmr_free(client->lmr));
	free(client);
}

static struct client *
client_of(it_ep_handle_t ep)
{
	it_context_t context;

	MUST(it_get_consumer_context(ep, &context));
	return context.ptr;
}

/* [request] */
static void
request_answer(struct server *server, const it_conn_request_event_t *request)
{
	struct hello own = {.version = htonl(VERSION)}, theirs;
	struct grant grant = {
		.values = it_hton64(it_make_rdma_addr_absolute(server->values)),
		.values_context = it_hton64(server->values_context),
		.counter = it_hton64(it_make_rdma_addr_absolute(&server->counter)),
		.counter_context = it_hton64(server->counter_context),
	};
	struct client *client;
	it_status_t status;

	memcpy(own.name, protocol, sizeof(protocol));
	memcpy(&theirs, request->private_data, sizeof(theirs)); /* zeros if there is none */
	if (memcmp(theirs.name, protocol, sizeof(protocol)) != 0 || theirs.version != own.version) {
		printf("rejected: version %u\n", ntohl(theirs.version));
		status = it_reject(request->cn_est_id, (unsigned char *)&own, sizeof(own));
	} else {
		client = client_new(server);
		status = it_ep_accept(client->ep, request->cn_est_id, (unsigned char *)&grant,
				      sizeof(grant));
		if (status != IT_SUCCESS)
			client_free(server, client);
	}
	/* The client may have given up meanwhile, which is no fault of the server. */
	if (status != IT_ERR_INVALID_CN_EST_ID)
		MUST(status);
}
/* [request] */

/* The number of a key; of an empty place if there is none of that key; VALUES if none is empty. */
static unsigned
place_of(const struct server *server, const char *key)
{
	unsigned empty = VALUES;

	for (unsigned i = VALUES; i-- > 0;) {
		if (strcmp(server->keys[i], key) == 0)
			return i;
		if (server->keys[i][0] == '\0')
			empty = i;
	}
	return empty;
}

/* A value that is put again changes while another client may read it; a real store would move it. */
static uint32_t
message_do(struct server *server, const struct message *in, size_t length, struct message *out)
{
	unsigned place = place_of(server, in->key);

	if (ntohl(in->what) == PUT && place < VALUES) {
		memcpy(server->keys[place], in->key, KEY);
		memcpy(server->values[place], in->value, length - HEAD);
		server->lengths[place] = (uint32_t)(length - HEAD);
	} else if (ntohl(in->what) == PUT) {
		return FULL;
	}
	if (place == VALUES || server->keys[place][0] == '\0')
		return NO_SUCH_KEY;
	out->number = htonl(place);
	out->length = htonl(server->lengths[place]);
	return STORED;
}

static void
message_answer(struct server *server, struct client *client, size_t i, size_t length)
{
	struct message *in = &client->requests[i], *out = &client->answers[i];
	it_lmr_triplet_t segment = {.lmr = client->lmr, .addr.abs = out, .length = HEAD};

	if (length < HEAD || in->key[0] == '\0' || memchr(in->key, '\0', KEY) == NULL) {
		MUST(it_ep_disconnect(client->ep, NULL, 0)); /* it does not speak our protocol */
		return;
	}
	out->what = htonl(message_do(server, in, length, out));
	MUST(it_post_send(client->ep, &segment, 1, i, IT_COMPLETION_FLAG));
}

static void
completion_take(struct server *server, const it_dto_cmpl_event_t *event)
{
	struct client *client = client_of(event->ep);

	if (event->dto_status != IT_DTO_SUCCESS)
		return; /* the end of its connection is an event, too */
	if (event->event_number == IT_DTO_RC_RECV_CMPL_EVENT)
		message_answer(server, client, event->cookie, event->transferred_length);
	else
		receive_post(client, event->cookie); /* the answer has left, so its place is free */
}

/* [end] */
static void
connection_take(struct server *server, const it_connection_event_t *event)
{
	it_event_t left;

	printf("%s\n", it_event_name(event->event_number));
	if (event->event_number == IT_CM_MSG_CONN_ESTABLISHED_EVENT)
		return;
	/* Completions of the endpoint were queued before this event, but at another member of the aggregate. */
	while (it_evd_dequeue(server->completions, &left) == IT_SUCCESS)
		completion_take(server, &left.dto_cmpl);
	client_free(server, client_of(event->ep));
}
/* [end] */

/* [loop] */
static void
events_take(struct server *server)
{
	it_status_t status;
	it_event_t event;

	while ((status = it_evd_dequeue(server->events, &event)) == IT_SUCCESS) {
		switch (event.event_number & IT_EVENT_STREAM_MASK) {
		case IT_DTO_EVENT_STREAM:
			completion_take(server, &event.dto_cmpl);
			break;
		case IT_CM_MSG_EVENT_STREAM:
			connection_take(server, &event.conn);
			break;
		case IT_CM_REQ_EVENT_STREAM:
			request_answer(server, &event.conn_req);
			break;
		}
	}
	if (status != IT_ERR_QUEUE_EMPTY)
		MUST(status);
	fflush(stdout);
}

static void
serve(struct server *server, int signals)
{
	struct pollfd ready[] = {{.fd = server->fd, .events = POLLIN},
				 {.fd = signals, .events = POLLIN}};

	while (ready[1].revents == 0) {
		if (poll(ready, 2, -1) < 0)
			continue; /* a signal interrupted it */
		if (ready[0].revents != 0)
			events_take(server);
	}
}
/* [loop] */

static void
server_run(const char *adapter, uint16_t port)
{
	static struct server server;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	MUST(it_ia_create(adapter, 2, 1, &server.ia));
	MUST(it_ia_query(server.ia, &server.info));
	if (!server.info->atomic_support) {
		fprintf(stderr, "kv: %s has no atomics\n", adapter);
		exit(1);
	}
	MUST(it_pz_create(server.ia, &server.pz));
	events_open(&server);
	memory_open(&server);
	listen_everywhere(&server, port);
	serve(&server, signalfd(-1, &set, SFD_CLOEXEC));
	while (server.clients != NULL)
		client_free(&server, server.clients);
	printf("counter: %llu\n", (unsigned long long)atomic_load(&server.counter));
	it_ia_info_free(server.info);
	MUST(it_ia_free(server.ia));
}

/* --- the client ------------------------------------------------------------------------------- */

struct side {
	it_ia_handle_t ia;
	it_pz_handle_t pz;
	it_evd_handle_t completions, connections;
	it_lmr_handle_t lmr; /* of memory */
	it_ep_handle_t ep;
	struct grant grant;
	struct {
		uint64_t counted;
		struct message request, answer;
		char value[LENGTH];
	} memory;
};

static void
side_open(struct side *side, const char *adapter)
{
	it_mem_priv_t rights = IT_PRIV_LOCAL;
	it_ep_attributes_t attributes = {
		.max_request_dtos = 4,
		.max_recv_dtos = 1,
		.max_send_segments = 1,
		.max_recv_segments = 1,
		.srv.rc = {.max_rdma_read_segments = 1, .rdma_read_ord = 1},
	};
	it_ia_info_t *info;

	MUST(it_ia_create(adapter, 2, 1, &side->ia));
	MUST(it_ia_query(side->ia, &info));
	if (info->rdma_read_requires_remote_write) {
		rights |= IT_PRIV_REMOTE_WRITE;
		attributes.srv.rc.rdma_write_enable = IT_TRUE;
	}
	it_ia_info_free(info);
	MUST(it_pz_create(side->ia, &side->pz));
	MUST(it_lmr_create(side->pz, &side->memory, NULL, sizeof(side->memory),
			   IT_ADDR_MODE_ABSOLUTE, rights, IT_LMR_FLAG_NONE, 0, &side->lmr, NULL));
	MUST(it_evd_create(side->ia, IT_DTO_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT, 16, 1,
			   IT_NULL_HANDLE, &side->completions, NULL));
	MUST(it_evd_create(side->ia, IT_CM_MSG_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT, 4, 1,
			   IT_NULL_HANDLE, &side->connections, NULL));
	MUST(it_ep_rc_create(side->pz, side->completions, side->completions, side->connections,
			     IT_EP_NO_FLAG, &attributes, &side->ep));
}

/* Say why, and end with nothing left open. */
static _Noreturn void
give_up(it_ia_handle_t ia, const char *why)
{
	fprintf(stderr, "kv: %s\n", why);
	MUST(it_ia_free(ia));
	exit(1);
}

/* Whether a path leads to the address. */
static bool
path_find(it_ia_handle_t ia, const struct addrinfo *host, it_path_t *path)
{
	it_net_addr_t address = {.addr_type = IT_IPV4};
	const struct sockaddr_in *in = (void *)host->ai_addr;
	const struct sockaddr_in6 *in6 = (void *)host->ai_addr;
	it_status_t status = IT_SUCCESS;

	if (host->ai_family == AF_INET) {
		address.addr.ipv4 = in->sin_addr;
	} else {
		address.addr_type = IT_IPV6;
		address.addr.ipv6 = in6->sin6_addr;
	}
	/* Behind the last spigot is IT_ERR_INVALID_SPIGOT. */
	for (size_t spigot = 0; status == IT_SUCCESS; spigot++) {
		size_t paths = 1, total;

		status = it_get_pathinfo(ia, spigot, &address, &paths, &total, path);
		if (status == IT_SUCCESS && paths == 1)
			return true;
	}
	return false;
}

/* A host may have several addresses: the first one with a path is taken. */
static it_path_t
path_to(it_ia_handle_t ia, const char *host)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *addresses;
	int error = getaddrinfo(host, NULL, &hints, &addresses);
	bool found = false;
	it_path_t path;

	if (error != 0)
		give_up(ia, gai_strerror(error));
	for (struct addrinfo *at = addresses; at != NULL && !found; at = at->ai_next)
		found = path_find(ia, at, &path);
	freeaddrinfo(addresses);
	if (!found)
		give_up(ia, "no path leads to the server");
	return path;
}

/* [reject] */
static void
side_connect(struct side *side, const char *host, uint16_t port, uint32_t version)
{
	it_conn_qual_t service = {.type = IT_IANA_PORT, .conn_qual.port = port};
	struct hello own = {.version = htonl(version)}, theirs;
	char why[64];
	it_path_t path = path_to(side->ia, host);
	it_event_t event;

	memcpy(own.name, protocol, sizeof(protocol));
	MUST(it_ep_connect(side->ep, &path, NULL, &service, IT_CONNECT_FLAG_TWO_WAY,
			   (unsigned char *)&own, sizeof(own)));
	MUST(it_evd_wait(side->connections, PATIENCE, &event, NULL));
	if (event.event_number == IT_CM_MSG_CONN_PEER_REJECT_EVENT) {
		memcpy(&theirs, event.conn.private_data, sizeof(theirs));
		snprintf(why, sizeof(why), "the server speaks version %u", ntohl(theirs.version));
		give_up(side->ia, why);
	}
	if (event.event_number != IT_CM_MSG_CONN_ESTABLISHED_EVENT)
		give_up(side->ia, it_reject_name(event.conn.reject_reason_code));
	memcpy(&side->grant, event.conn.private_data, sizeof(side->grant));
}
/* [reject] */

/* The completion of a Send may come before or after the answer to it, and is not needed. */
static void
completion_wait(struct side *side, it_event_type_t wanted)
{
	it_event_t event;

	do {
		MUST(it_evd_wait(side->completions, PATIENCE, &event, NULL));
		if (event.dto_cmpl.dto_status != IT_DTO_SUCCESS)
			give_up(side->ia, it_dto_status_name(event.dto_cmpl.dto_status));
	} while (event.event_number != wanted);
}

static void
ask(struct side *side, uint32_t what, const char *key, const char *value)
{
	struct message *request = &side->memory.request, *answer = &side->memory.answer;
	it_lmr_triplet_t in = {.lmr = side->lmr, .addr.abs = answer, .length = sizeof(*answer)};
	it_lmr_triplet_t out = {.lmr = side->lmr, .addr.abs = request};

	request->what = htonl(what);
	snprintf(request->key, sizeof(request->key), "%s", key);
	snprintf(request->value, sizeof(request->value), "%s", value);
	out.length = HEAD + strlen(request->value);
	MUST(it_post_recv(side->ep, &in, 1, 0, 0)); /* before the server can answer */
	MUST(it_post_send(side->ep, &out, 1, 0, IT_COMPLETION_FLAG));
	completion_wait(side, IT_DTO_RC_RECV_CMPL_EVENT);
	if (ntohl(answer->what) != STORED)
		give_up(side->ia, ntohl(answer->what) == FULL ? "full" : "no such key");
}

static void
get(struct side *side, const char *key)
{
	const struct message *answer = &side->memory.answer;
	it_lmr_triplet_t sink = {.lmr = side->lmr, .addr.abs = side->memory.value};

	ask(side, GET, key, "");
	sink.length = ntohl(answer->length) < LENGTH ? ntohl(answer->length) : LENGTH;
	MUST(it_post_rdma_read(side->ep, &sink, 1, 0, IT_COMPLETION_FLAG,
			       it_ntoh64(side->grant.values) +
				       (uint64_t)ntohl(answer->number) * LENGTH,
			       it_ntoh64(side->grant.values_context)));
	completion_wait(side, IT_DTO_RDMA_READ_CMPL_EVENT);
	printf("%.*s\n", (int)sink.length, side->memory.value);
}

static void
count(struct side *side, uint64_t amount)
{
	it_lmr_triplet_t result = {
		.lmr = side->lmr, .addr.abs = &side->memory.counted, .length = sizeof(uint64_t)};

	MUST(it_post_atomic(side->ep, IT_FETCH_AND_ADD, amount, 0, &result, 0, IT_COMPLETION_FLAG,
			    it_ntoh64(side->grant.counter),
			    it_ntoh64(side->grant.counter_context)));
	completion_wait(side, IT_DTO_FETCH_ADD_CMPL_EVENT);
	printf("%llu\n", (unsigned long long)side->memory.counted);
}

static void
client_run(const char *adapter, uint16_t port, char **arguments, int number)
{
	static struct side side;
	const char *command = arguments[1], *first = arguments[2];
	uint32_t version = VERSION;
	it_event_t event;

	if (strcmp(command, "speak") == 0)
		version = (uint32_t)strtoul(first, NULL, 10);
	side_open(&side, adapter);
	side_connect(&side, arguments[0], port, version);
	if (strcmp(command, "put") == 0 && number == 4)
		ask(&side, PUT, first, arguments[3]);
	else if (strcmp(command, "get") == 0)
		get(&side, first);
	else if (strcmp(command, "count") == 0)
		count(&side, strtoull(first, NULL, 10));
	MUST(it_ep_disconnect(side.ep, NULL, 0));
	MUST(it_evd_wait(side.connections, PATIENCE, &event, NULL));
	MUST(it_ia_free(side.ia));
}

int
main(int argc, char **argv)
{
	if (argc != 3 && argc != 6 && argc != 7) {
		fprintf(stderr, "usage: kv ADAPTER PORT [HOST put KEY VALUE | HOST get KEY |"
				" HOST count AMOUNT | HOST speak VERSION]\n");
		return 2;
	}
	uint16_t port = htons((uint16_t)strtoul(argv[2], NULL, 10));

	if (argc == 3)
		server_run(argv[1], port);
	else
		client_run(argv[1], port, argv + 3, argc - 3);
	return 0;
}
