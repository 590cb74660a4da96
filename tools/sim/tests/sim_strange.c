/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * More programs like those of sim_wrong.c, each with one mistake and with a correct twin. The
 * mistakes have an effect only if a Read is slow, a thread is late, or the peer has no receive
 * posted.
 *
 * 	strange ADAPTER PORT CASE wrong|right           the server
 * 	strange ADAPTER PORT CASE wrong|right HOST      the client
 */
#define ITAPI_ENABLE_V21_BINDINGS
#include <arpa/inet.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "it_api.h"
#include "it_ext.h"

#define RECORD   64 /* octets */
#define RECEIVES 16
#define REPORT   IT_COMPLETION_FLAG

#define MUST(call) must((call), #call)

static _Noreturn void
fail(const char *why)
{
	fprintf(stderr, "%s\n", why);
	exit(1);
}

static void
must(it_status_t status, const char *call)
{
	if (status == IT_SUCCESS)
		return;
	fprintf(stderr, "%s from ", it_status_name(status));
	fail(call);
}

struct grant {
	uint64_t addr, context;
};

struct memory {
	uint8_t record[RECORD], copy[RECORD], got[RECORD];
	uint8_t message[RECORD];
	uint8_t receives[RECEIVES][RECORD];
};

static bool wrong;
static uint16_t port;
static it_ia_handle_t ia;
static it_pz_handle_t pz;
static it_evd_handle_t sent, got, news, requests;
static it_ep_handle_t ep;
static it_lmr_handle_t lmr;
static struct grant own, far;
static struct memory memory;

/* --- both sides ----------------------------------------------------------------------------------- */

static void
open_side(const char *adapter)
{
	it_ep_attributes_t attributes = {
		.max_request_dtos = 8,
		.max_recv_dtos = RECEIVES,
		.max_send_segments = 1,
		.max_recv_segments = 1,
		.srv.rc = {.rdma_read_enable = IT_TRUE,
			   .rdma_write_enable = IT_TRUE,
			   .max_rdma_read_segments = 1,
			   .max_rdma_write_segments = 1,
			   .rdma_read_ird = 4,
			   .rdma_read_ord = 4},
	};
	it_rmr_context_t context;

	MUST(it_ia_create(adapter, 2, 1, &ia));
	MUST(it_pz_create(ia, &pz));
	MUST(it_lmr_create(pz, &memory, NULL, sizeof(memory), IT_ADDR_MODE_ABSOLUTE,
			   IT_PRIV_LOCAL | IT_PRIV_REMOTE, IT_LMR_FLAG_NONE, 0, &lmr, &context));
	MUST(it_evd_create(ia, IT_DTO_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT, 64, 1, IT_NULL_HANDLE,
			   &sent, NULL));
	MUST(it_evd_create(ia, IT_DTO_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT, 64, 1, IT_NULL_HANDLE,
			   &got, NULL));
	MUST(it_evd_create(ia, IT_CM_MSG_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT, 8, 1,
			   IT_NULL_HANDLE, &news, NULL));
	MUST(it_ep_rc_create(pz, sent, got, news, IT_EP_NO_FLAG, &attributes, &ep));
	own = (struct grant){.addr = it_make_rdma_addr_absolute(memory.record), .context = context};
}

static it_lmr_triplet_t
segment_of(void *at, size_t length)
{
	return (it_lmr_triplet_t){.lmr = lmr, .addr.abs = at, .length = length};
}

static void
post_recv(it_dto_cookie_t slot)
{
	it_lmr_triplet_t segment = segment_of(memory.receives[slot], RECORD);

	MUST(it_post_recv(ep, &segment, 1, slot, IT_NOTIFY_FLAG));
}

static it_event_t
want(it_evd_handle_t evd, it_event_type_t wanted)
{
	it_event_t event;

	MUST(it_evd_wait(evd, IT_TIMEOUT_INFINITE, &event, NULL));
	if (event.event_number != wanted)
		fail(it_event_name(event.event_number));
	if (evd != news && evd != requests && event.dto_cmpl.dto_status != IT_DTO_SUCCESS)
		fail(it_dto_status_name(event.dto_cmpl.dto_status));
	return event;
}

/* A message has come; what it says. */
static uint8_t
told(it_dto_cookie_t *slot)
{
	*slot = want(got, IT_DTO_RC_RECV_CMPL_EVENT).dto_cmpl.cookie;
	return memory.receives[*slot][0];
}

static void
tell(uint8_t what, it_dto_flags_t flags)
{
	it_lmr_triplet_t segment = segment_of(memory.message, sizeof(memory.message));

	memory.message[0] = what;
	MUST(it_post_send(ep, &segment, 1, 0, REPORT | flags));
}

/* The same, and the message may be changed. */
static void
tell_done(uint8_t what)
{
	tell(what, 0);
	want(sent, IT_DTO_SEND_CMPL_EVENT);
}

static void
read_far(void *into, size_t length)
{
	it_lmr_triplet_t segment = segment_of(into, length);

	MUST(it_post_rdma_read(ep, &segment, 1, 0, REPORT, far.addr,
			       (it_rmr_context_t)far.context));
}

static void
write_far(void *from, size_t offset, it_dto_flags_t flags)
{
	it_lmr_triplet_t segment = segment_of(from, RECORD);

	MUST(it_post_rdma_write(ep, &segment, 1, 0, flags, far.addr + offset,
				(it_rmr_context_t)far.context));
}

static void
server_begin(unsigned receives)
{
	it_conn_qual_t service = {.type = IT_IANA_PORT, .conn_qual.port = port};
	it_listen_handle_t listen;
	it_event_t request;

	MUST(it_evd_create(ia, IT_CM_REQ_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT, 8, 1,
			   IT_NULL_HANDLE, &requests, NULL));
	MUST(it_listen_create(ia, 0, requests, IT_LISTEN_CONN_QUAL_INPUT, &service, &listen));
	request = want(requests, IT_CM_REQ_CONN_REQUEST_EVENT);
	memcpy(&far, request.conn_req.private_data, sizeof(far));
	for (unsigned i = 0; i < receives; i++)
		post_recv(i);
	MUST(it_ep_accept(ep, request.conn_req.cn_est_id, (unsigned char *)&own, sizeof(own)));
	want(news, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
}

static void
client_begin(const char *host, unsigned receives)
{
	it_conn_qual_t service = {.type = IT_IANA_PORT, .conn_qual.port = port};
	it_net_addr_t address = {.addr_type = IT_IPV4};
	size_t paths = 1, total;
	it_path_t path;
	it_event_t event;

	if (inet_pton(AF_INET, host, &address.addr.ipv4) != 1)
		exit(2);
	MUST(it_get_pathinfo(ia, 0, &address, &paths, &total, &path));
	for (unsigned i = 0; i < receives; i++)
		post_recv(i);
	MUST(it_ep_connect(ep, &path, NULL, &service, IT_CONNECT_FLAG_TWO_WAY,
			   (unsigned char *)&own, sizeof(own)));
	event = want(news, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	memcpy(&far, event.conn.private_data, sizeof(far));
}

static void
client_end(void)
{
	MUST(it_ep_disconnect(ep, NULL, 0));
	want(news, IT_CM_MSG_CONN_DISCONNECT_EVENT);
}

static bool
is_filled(const uint8_t *record, uint8_t with)
{
	for (unsigned i = 0; i < RECORD; i++)
		if (((const volatile uint8_t *)record)[i] != with)
			return false;
	return true;
}

/* --- the cases ------------------------------------------------------------------------------------ */

/* Two receives, each posted again and granted when its message was used. The client believes that there are three. */
static void
credits_server(void)
{
	it_dto_cookie_t slot;

	server_begin(2);
	for (unsigned i = 0; i < 8; i++) {
		(void)told(&slot);
		usleep(300);
		post_recv(slot);
		tell_done(0);
	}
	want(news, IT_CM_MSG_CONN_DISCONNECT_EVENT);
}

static void
credits_client(const char *host)
{
	unsigned credits = wrong ? 3 : 2, granted = 0;
	it_dto_cookie_t slot;

	client_begin(host, 8);
	for (unsigned i = 0; i < 8; i++) {
		for (; credits == 0; granted++, credits++)
			(void)told(&slot);
		tell_done(0);
		credits--;
	}
	for (; granted < 8; granted++)
		(void)told(&slot);
	client_end();
}

/* Copies a record of the server by a Read and a Write behind it, without a fence. */
static void
fence_server(void)
{
	it_dto_cookie_t slot;

	memset(memory.record, 'n', RECORD);
	server_begin(1);
	(void)told(&slot);
	if (!is_filled(memory.copy, 'n'))
		fail("the copy is another one");
	want(news, IT_CM_MSG_CONN_DISCONNECT_EVENT);
}

static void
fence_client(const char *host)
{
	client_begin(host, 0);
	read_far(memory.got, RECORD);
	write_far(memory.got, offsetof(struct memory, copy), wrong ? 0 : IT_BARRIER_FENCE_FLAG);
	tell(0, 0);
	want(sent, IT_DTO_RDMA_READ_CMPL_EVENT);
	want(sent, IT_DTO_SEND_CMPL_EVENT);
	client_end();
}

/* Reads a value of the client, and says that it has it before it has. */
static void
answer_server(void)
{
	it_dto_cookie_t slot;

	server_begin(2);
	(void)told(&slot);
	read_far(memory.got, RECORD);
	if (!wrong)
		want(sent, IT_DTO_RDMA_READ_CMPL_EVENT);
	tell(0, 0);
	if (wrong)
		want(sent, IT_DTO_RDMA_READ_CMPL_EVENT);
	want(sent, IT_DTO_SEND_CMPL_EVENT);
	if (!is_filled(memory.got, 'v'))
		fail("the value is another one");
	(void)told(&slot);
	want(news, IT_CM_MSG_CONN_DISCONNECT_EVENT);
}

static void
answer_client(const char *host)
{
	it_dto_cookie_t slot;

	memset(memory.record, 'v', RECORD);
	client_begin(host, 1);
	tell_done(0);
	(void)told(&slot);
	memset(memory.record, '-', RECORD); /* the place is free */
	tell_done(0);
	client_end();
}

/* Changes a record, with its version before and behind, while the client reads it. */
static void
torn_server(void)
{
	it_event_t event;

	server_begin(0);
	for (uint8_t version = 1;; version++) {
		memset(memory.record, version, RECORD);
		usleep(20);
		if (it_evd_dequeue(news, &event) == IT_SUCCESS)
			return;
	}
}

/* The client that is wrong believes the version in front. */
static void
torn_client(const char *host)
{
	client_begin(host, 0);
	for (unsigned i = 0; i < 8; i++) {
		read_far(memory.got, RECORD);
		want(sent, IT_DTO_RDMA_READ_CMPL_EVENT);
		if (wrong && !is_filled(memory.got, memory.got[0]))
			fail("a torn record is taken for one");
	}
	client_end();
}

/* Looks for the end of a Read in its sink. */
static void
sink_server(void)
{
	memset(memory.record, 's', RECORD);
	server_begin(0);
	want(news, IT_CM_MSG_CONN_DISCONNECT_EVENT);
}

static void
sink_client(const char *host)
{
	client_begin(host, 0);
	read_far(memory.got, RECORD);
	while (wrong && ((volatile uint8_t *)memory.got)[RECORD - 1] == 0)
		sched_yield();
	if (!wrong)
		want(sent, IT_DTO_RDMA_READ_CMPL_EVENT);
	if (!is_filled(memory.got, 's'))
		fail("a part is missing");
	if (wrong)
		want(sent, IT_DTO_RDMA_READ_CMPL_EVENT);
	client_end();
}

/* The client writes the next record into the slot before the server has said that it has used the last. */
static void
slot_server(void)
{
	it_dto_cookie_t slot;

	server_begin(4);
	for (uint8_t i = 1; i <= 4; i++) {
		(void)told(&slot);
		if (!is_filled(memory.record, i))
			fail("the record is another one");
		if (!wrong)
			tell_done(0);
	}
	want(news, IT_CM_MSG_CONN_DISCONNECT_EVENT);
}

static void
slot_client(const char *host)
{
	it_dto_cookie_t slot;

	client_begin(host, 4);
	for (uint8_t i = 1; i <= 4; i++) {
		memset(memory.got, i, RECORD);
		write_far(memory.got, 0, 0);
		tell_done(0);
		if (!wrong)
			(void)told(&slot);
	}
	client_end();
}

/* Posts a receive again, and uses its text afterwards. */
static void
repost_server(void)
{
	server_begin(2);
	for (uint8_t i = 0; i < 6; i++) {
		it_dto_cookie_t slot;
		uint8_t text = told(&slot);

		post_recv(slot);
		tell_done(0);
		if (wrong)
			text = ((volatile uint8_t *)memory.receives[slot])[0];
		if (text != i)
			fail("the message is another one");
	}
	want(news, IT_CM_MSG_CONN_DISCONNECT_EVENT);
}

static void
repost_client(const char *host)
{
	unsigned credits = 2, granted = 0;
	it_dto_cookie_t slot;

	client_begin(host, 6);
	for (uint8_t i = 0; i < 6; i++) {
		for (; credits == 0; granted++, credits++)
			(void)told(&slot);
		tell_done(i);
		credits--;
	}
	for (; granted < 6; granted++)
		(void)told(&slot);
	client_end();
}

/* Looks at the end of the connection before the messages in front of it. */
static void
last_server(void)
{
	unsigned messages = 0;
	it_event_t event;

	server_begin(3);
	while (it_evd_dequeue(news, &event) != IT_SUCCESS)
		messages += it_evd_dequeue(got, &event) == IT_SUCCESS;
	while (!wrong && it_evd_dequeue(got, &event) == IT_SUCCESS)
		messages++;
	if (messages != 3)
		fail("messages are missing");
}

static void
last_client(const char *host)
{
	client_begin(host, 0);
	for (uint8_t i = 0; i < 3; i++)
		tell_done(i);
	client_end();
}

static const struct {
	const char *name;
	void (*server)(void);
	void (*client)(const char *host);
} cases[] = {
	{"credits", credits_server, credits_client}, {"fence", fence_server, fence_client},
	{"answer", answer_server, answer_client},    {"torn", torn_server, torn_client},
	{"sink", sink_server, sink_client},          {"slot", slot_server, slot_client},
	{"repost", repost_server, repost_client},    {"last", last_server, last_client},
};

int
main(int argc, char **argv)
{
	if (argc < 5)
		return 2;
	port = htons((uint16_t)strtoul(argv[2], NULL, 10));
	wrong = strcmp(argv[4], "wrong") == 0;
	open_side(argv[1]);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(cases[i].name, argv[3]) != 0)
			continue;
		if (argc > 5)
			cases[i].client(argv[5]);
		else
			cases[i].server();
		MUST(it_ia_free(ia));
		return 0;
	}
	return 2;
}
