/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Eighteen small programs with a mistake each, and the same without it. What a mistake costs shows only when events come in an order
 * that is legal and rare; it-sim must find it, and must never blame the correct twin.
 *
 *	sim-wrong ADAPTER PORT CASE wrong|right              the server
 *	sim-wrong ADAPTER PORT CASE wrong|right HOST [N]     a client, the Nth of several
 *
 * A client does something to the memory of the server by RDMA, and tells it by an empty message.
 */
#define ITAPI_ENABLE_V21_BINDINGS
#include <arpa/inet.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "it_api.h"
#include "it_ext.h"

#define SIZE    64
#define FILL    7
#define WORK    60 /* us that a program does something else */
#define CLIENTS 2  /* connections of a case that has two */

#define MUST(call) must((call), #call)

static void
must(it_status_t status, const char *call)
{
	if (status == IT_SUCCESS)
		return;
	fprintf(stderr, "%s from %s\n", it_status_name(status), call);
	exit(1);
}

struct grant {
	uint64_t addr, context;
};

struct side {
	it_ia_handle_t ia;
	it_pz_handle_t pz;
	it_evd_handle_t dto, cm, requests;
	it_lmr_handle_t lmr;
	it_rmr_context_t context;
	it_ep_handle_t ep[CLIENTS];
	struct grant grant;
	_Alignas(8) volatile uint8_t memory[SIZE];
};

static struct side side;
static bool right;
static uint16_t port;

static void
open_side(const char *adapter)
{
	it_mem_priv_t rights = IT_PRIV_LOCAL | IT_PRIV_REMOTE | IT_PRIV_ATOMIC;

	MUST(it_ia_create(adapter, 2, 1, &side.ia));
	MUST(it_pz_create(side.ia, &side.pz));
	MUST(it_lmr_create(side.pz, (void *)(uintptr_t)side.memory, NULL, SIZE,
			   IT_ADDR_MODE_ABSOLUTE, rights, IT_LMR_FLAG_NONE, 0, &side.lmr,
			   &side.context));
	MUST(it_evd_create(side.ia, IT_DTO_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT, 32, 1,
			   IT_NULL_HANDLE, &side.dto, NULL));
	MUST(it_evd_create(side.ia, IT_CM_MSG_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT, 8, 1,
			   IT_NULL_HANDLE, &side.cm, NULL));
}

static void
open_endpoint(unsigned which)
{
	it_ep_attributes_t attributes = {
		.max_request_dtos = 8,
		.max_recv_dtos = 4,
		.max_send_segments = 1,
		.max_recv_segments = 1,
		.srv.rc = {.rdma_read_enable = IT_TRUE,
			   .rdma_write_enable = IT_TRUE,
			   .atomics_enable = IT_TRUE,
			   .max_rdma_write_segments = 1,
			   .max_rdma_read_segments = 1,
			   .rdma_read_ird = 4,
			   .rdma_read_ord = 4},
	};

	MUST(it_ep_rc_create(side.pz, side.dto, side.dto, side.cm, IT_EP_NO_FLAG, &attributes,
			     &side.ep[which]));
	MUST(it_post_recv(side.ep[which], NULL, 0, which, IT_NOTIFY_FLAG));
}

static it_event_t
next(it_evd_handle_t evd)
{
	it_event_t event;

	MUST(it_evd_wait(evd, IT_TIMEOUT_INFINITE, &event, NULL));
	return event;
}

static it_event_t
want(it_evd_handle_t evd, it_event_type_t wanted)
{
	it_event_t event = next(evd);

	if (event.event_number == wanted)
		return event;
	fprintf(stderr, "%s instead of %s\n", it_event_name(event.event_number),
		it_event_name(wanted));
	exit(1);
}

/* A completion of this kind; those of other kinds come before or after it, and are not needed. */
static void
done(it_event_type_t wanted)
{
	it_event_t event;

	do {
		event = next(side.dto);
		if (event.dto_cmpl.dto_status == IT_DTO_SUCCESS)
			continue;
		fprintf(stderr, "a request ended with %s\n",
			it_dto_status_name(event.dto_cmpl.dto_status));
		exit(1);
	} while (event.event_number != wanted);
}

static void
expect_memory(uint8_t wanted)
{
	for (unsigned i = 0; i < SIZE; i++) {
		if (side.memory[i] == wanted)
			continue;
		fprintf(stderr, "octet %u is not the one that was written\n", i);
		exit(1);
	}
}

/* --- connections ------------------------------------------------------------------------------- */

static void
listen_here(void)
{
	it_conn_qual_t service = {.type = IT_IANA_PORT, .conn_qual.port = port};
	it_listen_handle_t listen;

	MUST(it_evd_create(side.ia, IT_CM_REQ_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT, 8, 1,
			   IT_NULL_HANDLE, &side.requests, NULL));
	MUST(it_listen_create(side.ia, 0, side.requests, IT_LISTEN_CONN_QUAL_INPUT, &service,
			      &listen));
}

static void
accept_one(unsigned which)
{
	it_event_t request = want(side.requests, IT_CM_REQ_CONN_REQUEST_EVENT);
	struct grant grant = {
		.addr = it_hton64(it_make_rdma_addr_absolute((void *)(uintptr_t)side.memory)),
		.context = it_hton64(side.context)};

	open_endpoint(which);
	MUST(it_ep_accept(side.ep[which], request.conn_req.cn_est_id, (unsigned char *)&grant,
			  sizeof(grant)));
	want(side.cm, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
}

static it_event_type_t
try_connect(const char *host, unsigned which)
{
	it_conn_qual_t service = {.type = IT_IANA_PORT, .conn_qual.port = port};
	it_net_addr_t address = {.addr_type = IT_IPV4};
	size_t paths = 1, total;
	it_path_t path;
	it_event_t event;

	inet_pton(AF_INET, host, &address.addr.ipv4);
	MUST(it_get_pathinfo(side.ia, 0, &address, &paths, &total, &path));
	open_endpoint(which);
	MUST(it_ep_connect(side.ep[which], &path, NULL, &service, IT_CONNECT_FLAG_TWO_WAY, NULL,
			   0));
	event = next(side.cm);
	if (event.event_number == IT_CM_MSG_CONN_ESTABLISHED_EVENT) {
		memcpy(&side.grant, event.conn.private_data, sizeof(side.grant));
		side.grant.addr = it_ntoh64(side.grant.addr);
		side.grant.context = it_ntoh64(side.grant.context);
	}
	return event.event_number;
}

static void
connect_to(const char *host, unsigned which)
{
	if (try_connect(host, which) == IT_CM_MSG_CONN_ESTABLISHED_EVENT)
		return;
	fprintf(stderr, "not connected\n");
	exit(1);
}

static it_lmr_triplet_t
octets(unsigned offset, unsigned length)
{
	return (it_lmr_triplet_t){.lmr = side.lmr,
				  .addr.abs = (void *)(uintptr_t)(side.memory + offset),
				  .length = length};
}

/* A part of the memory, into the same part of the server's. */
static it_status_t
try_write(unsigned which, unsigned offset, unsigned length, it_dto_flags_t flags)
{
	it_lmr_triplet_t segment = octets(offset, length);

	return it_post_rdma_write(side.ep[which], &segment, 1, 1, flags, side.grant.addr + offset,
				  (it_rmr_context_t)side.grant.context);
}

static void
post_write(unsigned which, it_dto_flags_t flags)
{
	MUST(try_write(which, 0, SIZE, flags));
}

static void
fill(uint8_t value)
{
	for (unsigned i = 0; i < SIZE; i++)
		side.memory[i] = value;
}

static void
tell(unsigned which)
{
	MUST(it_post_send(side.ep[which], NULL, 0, 2, IT_COMPLETION_FLAG));
}

static void
told(void)
{
	done(IT_DTO_RC_RECV_CMPL_EVENT);
}

/* The client ends the connections, and both see their ends. */
static void
part(bool client, unsigned count)
{
	for (unsigned i = 0; client && i < count; i++)
		MUST(it_ep_disconnect(side.ep[i], NULL, 0));
	for (unsigned i = 0; i < count; i++)
		want(side.cm, IT_CM_MSG_CONN_DISCONNECT_EVENT);
}

/* --- the cases: each has a server and a client ---------------------------------------------------- */

/* Polls the last octet. */
static void
octet_server(void)
{
	accept_one(0);
	if (right)
		told();
	while (!right && side.memory[SIZE - 1] == 0)
		sched_yield();
	expect_memory(FILL);
	part(false, 1);
}

static void
write_client(const char *host)
{
	connect_to(host, 0);
	fill(FILL);
	post_write(0, 0);
	tell(0);
	done(IT_DTO_SEND_CMPL_EVENT);
	part(true, 1);
}

/* Uses a buffer again before the completion. */
static void
told_server(void)
{
	accept_one(0);
	told();
	expect_memory(FILL);
	part(false, 1);
}

static void
reuse_client(const char *host)
{
	connect_to(host, 0);
	fill(FILL);
	post_write(0, IT_COMPLETION_FLAG);
	if (right)
		done(IT_DTO_RDMA_WRITE_CMPL_EVENT);
	fill(FILL + 1);
	tell(0);
	done(IT_DTO_SEND_CMPL_EVENT);
	part(true, 1);
}

/* Frees the region of a request under way. */
static void
free_client(const char *host)
{
	connect_to(host, 0);
	fill(FILL);
	post_write(0, IT_COMPLETION_FLAG);
	if (right)
		done(IT_DTO_RDMA_WRITE_CMPL_EVENT);
	MUST(it_lmr_free(side.lmr));
	tell(0);
	done(IT_DTO_SEND_CMPL_EVENT);
	part(true, 1);
}

/* Trusts the order of two connections; and that of a completion and an arrival. */
static void
two_server(void)
{
	accept_one(0);
	accept_one(1);
	told();
	expect_memory(FILL);
	part(false, 2);
}

static void
two_client(const char *host)
{
	connect_to(host, 0);
	connect_to(host, 1);
	fill(FILL);
	post_write(0, 0);
	tell(right ? 0 : 1);
	done(IT_DTO_SEND_CMPL_EVENT);
	part(true, 2);
}

static void
arrived_client(const char *host)
{
	connect_to(host, 0);
	connect_to(host, 1);
	fill(FILL);
	post_write(0, IT_COMPLETION_FLAG);
	done(IT_DTO_RDMA_WRITE_CMPL_EVENT);
	tell(right ? 0 : 1);
	done(IT_DTO_SEND_CMPL_EVENT);
	part(true, 2);
}

/* Waits for an orderly end only. The server is killed. */
static void
idle_server(void)
{
	accept_one(0);
	told();
}

static void
broken_client(const char *host)
{
	it_event_type_t event;

	if (try_connect(host, 0) != IT_CM_MSG_CONN_ESTABLISHED_EVENT)
		return;
	do
		event = next(side.cm).event_number;
	while (event != IT_CM_MSG_CONN_DISCONNECT_EVENT &&
	       !(right && event == IT_CM_MSG_CONN_BROKEN_EVENT));
}

/* Waits for the connection, whatever the answer was. */
static void
reject_server(void)
{
	it_event_t request = want(side.requests, IT_CM_REQ_CONN_REQUEST_EVENT);

	MUST(it_reject(request.conn_req.cn_est_id, NULL, 0));
}

static void
reject_client(const char *host)
{
	it_event_type_t event = try_connect(host, 0);

	while (!right && event != IT_CM_MSG_CONN_ESTABLISHED_EVENT)
		event = next(side.cm).event_number;
}

/* Does not try again when the server is not there yet. */
static void
early_client(const char *host)
{
	unsigned tries = right ? 50 : 1;

	while (try_connect(host, 0) != IT_CM_MSG_CONN_ESTABLISHED_EVENT) {
		it_event_t flushed;

		while (it_evd_dequeue(side.dto, &flushed) == IT_SUCCESS)
			;
		MUST(it_ep_free(side.ep[0]));
		if (--tries == 0) {
			fprintf(stderr, "not connected\n");
			exit(1);
		}
		usleep(1000);
	}
	fill(FILL);
	post_write(0, 0);
	tell(0);
	done(IT_DTO_SEND_CMPL_EVENT);
	part(true, 1);
}

/* Two clients add one each: by a Read and a Write, or by an atomic. */
static void
count_server(void)
{
	accept_one(0);
	accept_one(1);
	told();
	told();
	if (*(volatile uint64_t *)side.memory != CLIENTS) {
		fprintf(stderr, "an addition is lost\n");
		exit(1);
	}
	/* Before that no client leaves, so each end comes after both begins. */
	tell(0);
	tell(1);
	part(false, 2);
}

/* A word of the server by an atomic; the same word here is what it was. */
static uint64_t
atomic(it_atomic_op_t op, uint64_t other, uint64_t compare, unsigned offset)
{
	it_lmr_triplet_t segment = octets(offset, sizeof(uint64_t));

	MUST(it_post_atomic(side.ep[0], op, other, compare, &segment, 0, IT_COMPLETION_FLAG,
			    side.grant.addr + offset, (it_rmr_context_t)side.grant.context));
	done(op == IT_FETCH_AND_ADD ? IT_DTO_FETCH_ADD_CMPL_EVENT : IT_DTO_CMP_SWAP_CMPL_EVENT);
	return *(volatile uint64_t *)(volatile void *)(side.memory + offset);
}

static void
read_all(unsigned length)
{
	it_lmr_triplet_t segment = octets(0, length);

	MUST(it_post_rdma_read(side.ep[0], &segment, 1, 1, IT_COMPLETION_FLAG, side.grant.addr,
			       (it_rmr_context_t)side.grant.context));
	done(IT_DTO_RDMA_READ_CMPL_EVENT);
}

static void
add_by_parts(void)
{
	read_all(sizeof(uint64_t));
	++*(volatile uint64_t *)side.memory;
	MUST(try_write(0, 0, sizeof(uint64_t), IT_COMPLETION_FLAG));
	done(IT_DTO_RDMA_WRITE_CMPL_EVENT);
}

static void
counted(void)
{
	tell(0);
	done(IT_DTO_SEND_CMPL_EVENT);
	part(true, 1);
}

static void
count_client(const char *host)
{
	connect_to(host, 0);
	if (right)
		(void)atomic(IT_FETCH_AND_ADD, 1, 0, 0);
	else
		add_by_parts();
	tell(0);
	told();
	part(true, 1);
}

/* Takes a lock by compare and swap, and does not look whether it had been free. */
static void
lock_client(const char *host)
{
	const unsigned lock = sizeof(uint64_t); /* the word behind the number */

	connect_to(host, 0);
	while (atomic(IT_COMPARE_AND_SWAP, 1, 0, lock) != 0 && right)
		continue;
	add_by_parts();
	(void)atomic(IT_COMPARE_AND_SWAP, 0, 1, lock);
	tell(0);
	told();
	part(true, 1);
}

/* Acknowledges a message before it has a receive for the next. */
static void
credit_server(void)
{
	accept_one(0);
	told();
	if (right)
		MUST(it_post_recv(side.ep[0], NULL, 0, 0, IT_NOTIFY_FLAG));
	tell(0);
	usleep(WORK);
	if (!right)
		MUST(it_post_recv(side.ep[0], NULL, 0, 0, IT_NOTIFY_FLAG));
	told();
	tell(0);
	part(false, 1);
}

static void
credit_client(const char *host)
{
	connect_to(host, 0);
	MUST(it_post_recv(side.ep[0], NULL, 0, 0, IT_NOTIFY_FLAG));
	for (unsigned i = 0; i < 2; i++) {
		tell(0);
		told();
	}
	part(true, 1);
}

/* The status of the next completion of that kind. */
static it_dto_status_t
status_of(it_event_type_t wanted)
{
	it_event_t event;

	do
		event = next(side.dto);
	while (event.event_number != wanted);
	return event.dto_cmpl.dto_status;
}

/* Takes a flushed request for one that was carried out. The server ends one of two connections. */
static void
flushed_server(void)
{
	accept_one(0);
	accept_one(1);
	MUST(it_ep_disconnect(side.ep[0], NULL, 0));
	while (status_of(IT_DTO_RC_RECV_CMPL_EVENT) != IT_DTO_SUCCESS)
		continue;
	expect_memory(FILL);
	part(false, 2);
}

static void
flushed_client(const char *host)
{
	it_dto_status_t status = IT_DTO_ERR_FLUSHED;

	connect_to(host, 0);
	connect_to(host, 1);
	fill(FILL);
	if (try_write(0, 0, SIZE, IT_COMPLETION_FLAG) == IT_SUCCESS)
		status = status_of(IT_DTO_RDMA_WRITE_CMPL_EVENT);
	if (right && status != IT_DTO_SUCCESS)
		post_write(1, 0);
	tell(1);
	(void)status_of(IT_DTO_SEND_CMPL_EVENT);
	MUST(it_ep_disconnect(side.ep[1], NULL, 0));
	part(false, 2);
}

/* Takes memory back while the peer may still read it. */
static void
revoke_server(void)
{
	accept_one(0);
	if (right)
		told();
	else
		usleep(WORK);
	MUST(it_lmr_free(side.lmr));
	if (!right)
		told();
	part(false, 1);
}

static void
revoke_client(const char *host)
{
	connect_to(host, 0);
	read_all(SIZE);
	counted();
}

/* Changes the memory of a request without a completion when an earlier one is complete. */
static void
silent_client(const char *host)
{
	connect_to(host, 0);
	fill(FILL);
	MUST(try_write(0, 0, SIZE / 2, right ? 0 : IT_COMPLETION_FLAG));
	MUST(try_write(0, SIZE / 2, SIZE / 2, right ? IT_COMPLETION_FLAG : 0));
	done(IT_DTO_RDMA_WRITE_CMPL_EVENT);
	fill(FILL + 1);
	counted();
}

/* Believes that an answer comes within a time. */
static void
answer_server(void)
{
	accept_one(0);
	told();
	tell(0);
	part(false, 1);
}

static void
answer_client(const char *host)
{
	connect_to(host, 0);
	tell(0);
	for (unsigned events = 0; !right && events < 2; events++) {
		it_event_t event;

		MUST(it_evd_wait(side.dto, 50, &event, NULL));
	}
	if (right)
		told();
	part(true, 1);
}

/* Takes the answer to a message for the completion of its Send. */
static void
reply_server(void)
{
	accept_one(0);
	told();
	tell(0);
	part(false, 1);
}

static void
reply_client(const char *host)
{
	bool sent = false, answered = false;

	connect_to(host, 0);
	tell(0);
	while (!answered || (right && !sent)) {
		it_event_t event = next(side.dto);

		sent = sent || event.event_number == IT_DTO_SEND_CMPL_EVENT;
		answered = answered || event.event_number == IT_DTO_RC_RECV_CMPL_EVENT;
	}
	if (!sent) {
		fprintf(stderr, "the Send is not complete\n");
		exit(1);
	}
	part(true, 1);
}

/* Computes the context of a second region from that of the first one. The server registers both before it listens. */
static it_rmr_context_t second;

static void
guess_server(void)
{
	static uint8_t other[SIZE];
	it_lmr_handle_t lmr;

	accept_one(0);
	MUST(it_lmr_create(side.pz, other, NULL, SIZE, IT_ADDR_MODE_ABSOLUTE,
			   IT_PRIV_LOCAL | IT_PRIV_REMOTE, IT_LMR_FLAG_NONE, 0, &lmr, &second));
	told();
	*(volatile uint64_t *)side.memory = second;
	*(volatile uint64_t *)(volatile void *)(side.memory + 8) =
		it_make_rdma_addr_absolute(other);
	MUST(it_post_recv(side.ep[0], NULL, 0, 0, IT_NOTIFY_FLAG));
	tell(0);
	told();
	part(false, 1);
}

static void
guess_client(const char *host)
{
	uint64_t context;

	connect_to(host, 0);
	tell(0);
	told();
	read_all(16);
	context = right ? *(volatile uint64_t *)side.memory : side.grant.context + 0x100;
	side.grant.addr = *(volatile uint64_t *)(volatile void *)(side.memory + 8);
	side.grant.context = context;
	read_all(SIZE);
	counted();
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool arrived; /* of the mutex */

static void *
receiver(void *arg)
{
	told();
	pthread_mutex_lock(&mutex);
	arrived = true;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&mutex);
	return arg;
}

/* Looks whether something has happened, and later waits for it: what comes in between wakes nobody. */
static void
wakeup_server(void)
{
	pthread_t thread;
	bool late;

	accept_one(0);
	if (pthread_create(&thread, NULL, receiver, NULL) != 0)
		exit(1);
	pthread_mutex_lock(&mutex);
	late = arrived;
	pthread_mutex_unlock(&mutex);
	usleep(WORK);
	pthread_mutex_lock(&mutex);
	while (right ? !arrived : !late) {
		pthread_cond_wait(&changed, &mutex);
		late = true;
	}
	pthread_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
	part(false, 1);
}

static void
wakeup_client(const char *host)
{
	connect_to(host, 0);
	counted();
}

static const struct {
	const char *name;
	void (*server)(void);
	void (*client)(const char *host);
} cases[] = {
	{"octet", octet_server, write_client},       {"reuse", told_server, reuse_client},
	{"free", told_server, free_client},          {"two", two_server, two_client},
	{"arrived", two_server, arrived_client},     {"broken", idle_server, broken_client},
	{"reject", reject_server, reject_client},    {"early", told_server, early_client},
	{"count", count_server, count_client},       {"patience", answer_server, answer_client},
	{"lock", count_server, lock_client},         {"credit", credit_server, credit_client},
	{"flushed", flushed_server, flushed_client}, {"revoke", revoke_server, revoke_client},
	{"silent", told_server, silent_client},      {"wakeup", wakeup_server, wakeup_client},
	{"reply", reply_server, reply_client},       {"guess", guess_server, guess_client},
};

int
main(int argc, char **argv)
{
	if (argc < 5)
		return 2;
	port = htons((uint16_t)strtoul(argv[2], NULL, 10));
	right = strcmp(argv[4], "right") == 0;
	open_side(argv[1]);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(cases[i].name, argv[3]) != 0)
			continue;
		if (argc > 5) {
			cases[i].client(argv[5]);
		} else {
			listen_here();
			cases[i].server();
		}
		MUST(it_ia_free(side.ia));
		return 0;
	}
	return 2;
}
