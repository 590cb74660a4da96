/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Unusual uses of converted sockets [IT 11.2], [IT 11.3]: a last message that TCP cannot take at once, the order of
 * the first messages without MPA frames, and descriptor numbers that are reused.
 */

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "it_stream.h"
#include "it_window.h"

#define LARGE 65536

static void
established(struct pair *pair)
{
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
}

static void
receive(struct end *end)
{
	it_lmr_triplet_t in = end_segment(end, 4096, 100);

	g_assert_cmpint(it_post_recv((it_handle_t)end->ep, &in, 1, 1, 0), ==, IT_SUCCESS);
}

static void
post(struct end *end, int fill)
{
	it_lmr_triplet_t out = end_segment(end, 0, 100);

	memset(end->buffer, fill, 100);
	g_assert_cmpint(it_post_send(end->ep, &out, 1, 2, SIGNALED), ==, IT_SUCCESS);
}

static void
sent(struct end *end)
{
	end_done(end->request, IT_DTO_SEND_CMPL_EVENT, 2, IT_DTO_SUCCESS);
}

static void
received(struct end *end, int fill)
{
	end_done(end->recv, IT_DTO_RC_RECV_CMPL_EVENT, 1, IT_DTO_SUCCESS);
	g_assert_cmpint(end->buffer[4096], ==, fill);
	g_assert_cmpint(end->buffer[4096 + 99], ==, fill);
}

static void
begin_anew(struct pair *pair, int sd[2])
{
	close(sd[0]);
	close(sd[1]);
	pair_disconnect(pair);
	end_reset(&pair->active);
	end_reset(&pair->passive);
}

/* The message is larger than the buffers of both sockets, and the peer reads late. */
static void
test_large_message(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	g_autofree unsigned char *message = g_malloc(LARGE);
	int sd[2];

	for (int i = 0; i < LARGE; i++)
		message[i] = (unsigned char)(i * 7 + i / 256);
	for (int i = 0; i < 2; i++) {
		it_sc_flags_t flags = i ? IT_SC_NO_REQ_REP : IT_SC_DEFAULT;

		stream_open_narrow(sd);
		receive(b);
		g_assert_cmpint(it_socket_convert(sd[1], b->ep, flags, message, LARGE), ==,
				IT_SUCCESS);
		memset(message, message[0],
		       1); /* the message was copied: this memory may be overwritten */
		g_assert_cmpint(end_state(b), ==, IT_EP_STATE_PASSIVE_WAIT_RDMA_TRANS_REQ);
		end_expect_none(b->cm_msg);
		stream_hear(sd[0], message, LARGE);
		g_assert_cmpint(stream_convert(a, sd[0], flags, NULL), ==, IT_SUCCESS);
		established(pair);
		post(a, 0x51 + i);
		sent(a);
		received(b, 0x51 + i);
		begin_anew(pair, sd);
	}
}

/* The peer closes while most of the message is not sent yet. */
static void
test_message_unread(struct pair *pair)
{
	struct end *b = &pair->passive;
	g_autofree unsigned char *message = g_malloc0(LARGE);
	int sd[2];

	for (int i = 0; i < 2; i++) {
		it_sc_flags_t flags = i ? IT_SC_NO_REQ_REP : IT_SC_DEFAULT;
		it_event_t event;

		stream_open_narrow(sd);
		g_assert_cmpint(it_socket_convert(sd[1], b->ep, flags, message, LARGE), ==,
				IT_SUCCESS);
		stream_hear(sd[0], message, 100);
		stream_reset(sd[0]);
		event = end_expect(b->cm_msg, IT_CM_MSG_CONN_NONPEER_REJECT_EVENT);
		g_assert_cmpint(event.conn.reject_reason_code, ==, IT_CN_REJ_OTHER);
		close(sd[1]);
		end_reset(b);
	}
}

/* Carry the waiting octets from one socket to the other; false: there are none. */
static bool
relay(int from, int to)
{
	char octets[4096];
	ssize_t n = recv(from, octets, sizeof(octets), MSG_DONTWAIT);

	if (n > 0)
		stream_say(to, octets, (size_t)n);
	return n > 0;
}

/* Without MPA frames, requests that the responder posts at once are held until the initiator has sent. */
static void
test_speaks_second(struct pair *pair)
{
	struct end *first = &pair->active, *second = &pair->passive;
	struct pollfd wire;
	int x[2],
		y[2]; /* the test is between socket [1] of the one connection and socket [0] of the other */

	stream_open(x, AF_INET);
	stream_open(y, AF_INET);
	receive(first);
	receive(second);
	g_assert_cmpint(stream_convert(first, x[0], IT_SC_NO_REQ_REP, NULL), ==, IT_SUCCESS);
	g_assert_cmpint(stream_convert(second, y[1], IT_SC_NO_REQ_REP, "go\n"), ==, IT_SUCCESS);
	/* Both ends are connected when their calls return, and may post before they have taken the event. */
	g_assert_cmpint(end_state(first), ==, IT_EP_STATE_CONNECTED);
	g_assert_cmpint(end_state(second), ==, IT_EP_STATE_CONNECTED);
	post(second, 0x22);
	established(pair);
	stream_hear(y[0], "go\n", 3);
	wire = (struct pollfd){.fd = y[0], .events = POLLIN};
	g_assert_cmpint(poll(&wire, 1, 100), ==, 0); /* its Send is held */
	end_expect_none(second->request);
	post(first, 0x11);
	sent(first);
	g_assert_cmpint(poll(&wire, 1, 20), ==, 0); /* as long as nothing has arrived */
	wire.fd = x[1];
	g_assert_cmpint(poll(&wire, 1, WAIT_US / 1000), ==, 1);
	while (relay(x[1], y[0]))
		continue;
	received(second, 0x11);
	sent(second);
	wire.fd = y[0];
	g_assert_cmpint(poll(&wire, 1, WAIT_US / 1000), ==, 1);
	while (relay(y[0], x[1]))
		continue;
	received(first, 0x22);
	for (int i = 0; i < 2; i++) {
		close(x[i]);
		close(y[i]);
	}
	end_next(first->cm_msg);
	end_next(second->cm_msg);
}

static void
set_option(int sd, int level, int option, int value)
{
	g_assert_cmpint(setsockopt(sd, level, option, &value, sizeof(value)), ==, 0);
}

/* Socket options that the application set for its own protocol do not hinder RDMA mode. */
static void
test_options(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	int sd[2];

	for (int i = 0; i < 2; i++) {
		it_sc_flags_t flags = i ? IT_SC_NO_REQ_REP : IT_SC_DEFAULT;

		stream_open(sd, AF_INET);
		for (int j = 0; j < 2; j++) {
			set_option(sd[j], SOL_SOCKET, SO_RCVLOWAT, 10000);
			set_option(sd[j], SOL_SOCKET, SO_OOBINLINE, 1);
			set_option(sd[j], IPPROTO_TCP, TCP_CORK, 1);
		}
		receive(b);
		pair_ok(stream_convert(b, sd[1], flags, ""));
		pair_ok(stream_convert(a, sd[0], flags, NULL));
		established(pair);
		post(a, 0x61 + i);
		received(b, 0x61 + i);
		sent(a);
		receive(a);
		post(b, 0x71 + i);
		received(a, 0x71 + i);
		sent(b);
		begin_anew(pair, sd);
	}
}

/* the application's number is closed and reused by other files; the connection is not disturbed. */
static void
test_numbers(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	int sd[2], other, number;

	stream_open(sd, AF_INET);
	number = sd[0];
	close(sd[0]);
	g_assert_cmpint(stream_convert(a, number, IT_SC_DEFAULT, NULL), ==,
			IT_ERR_INVALID_CONVERSION);
	other = eventfd(0, EFD_CLOEXEC);
	g_assert_cmpint(stream_convert(a, other, IT_SC_DEFAULT, NULL), ==,
			IT_ERR_INVALID_CONVERSION);
	close(other);
	close(sd[1]);
	stream_open(sd, AF_INET);
	g_assert_cmpint(stream_convert(b, sd[1], IT_SC_DEFAULT, ""), ==, IT_SUCCESS);
	g_assert_cmpint(stream_convert(a, sd[0], IT_SC_DEFAULT, NULL), ==, IT_SUCCESS);
	/* Close both numbers during the start-up, reuse them, and close the new files too. */
	for (int i = 0; i < 2; i++) {
		g_assert_cmpint(close(sd[i]), ==, 0);
		other = open("/dev/null", O_RDONLY | O_CLOEXEC);
		g_assert_cmpint(other, >=, 0);
		g_assert_cmpint(close(other), ==, 0);
	}
	established(pair);
	receive(b);
	receive(a);
	post(a, 0x33);
	sent(a);
	received(b, 0x33);
	post(b, 0x44);
	received(a, 0x44);
	sent(b);
	pair_disconnect(pair);
}

#define ROUNDS 120

/* What one thread does to its end. */
struct part {
	struct end *end;
	int sd;
	it_sc_flags_t flags;
	const char *message;
	bool leaves; /* give up at once */
	it_status_t status;
};

static void *
play(void *arg)
{
	struct part *part = arg;

	part->status = stream_convert(part->end, part->sd, part->flags, part->message);
	if (part->status == IT_SUCCESS && part->leaves)
		pair_ok(it_ep_disconnect(part->end->ep, NULL, 0));
	return NULL;
}

/* Exactly one event of the end; at most one ESTABLISHED before it. */
static void
one_end(struct part *part)
{
	it_event_t event;
	bool stood;

	if (part->status != IT_SUCCESS) { /* the other end was faster and has reset it */
		g_assert_cmpint(part->status, ==, IT_ERR_INVALID_CONVERSION);
		g_assert_cmpint(end_state(part->end), ==, IT_EP_STATE_UNCONNECTED);
		return;
	}
	event = end_next(part->end->cm_msg);
	stood = event.event_number == IT_CM_MSG_CONN_ESTABLISHED_EVENT;
	if (stood)
		event = end_next(part->end->cm_msg);
	if (event.event_number == IT_CM_MSG_CONN_DISCONNECT_EVENT)
		g_assert_true(stood || part->leaves);
	else /* the peer's event came first */
		g_assert_cmphex(event.event_number, ==,
				stood ? IT_CM_MSG_CONN_BROKEN_EVENT
				      : IT_CM_MSG_CONN_NONPEER_REJECT_EVENT);
	end_reset(part->end);
	end_expect_none(part->end->cm_msg);
}

/* Two threads convert, and one or both give up at once, at any stage of the other. */
static void
test_crossfire(struct pair *pair)
{
	unsigned descriptors;

	descriptors = pair_descriptors();
	for (int i = 0; i < ROUNDS; i++) {
		it_sc_flags_t flags = i & 1 ? IT_SC_NO_REQ_REP : IT_SC_DEFAULT;
		struct part parts[2] = {
			{.end = &pair->active, .flags = flags, .leaves = i % 3 != 1},
			{.end = &pair->passive, .flags = flags, .leaves = i % 3 != 0},
		};
		pthread_t threads[2];
		int sd[2];

		parts[1].message = "";
		stream_open(sd, AF_INET);
		for (int j = 0; j < 2; j++) {
			parts[j].sd = sd[j];
			g_assert_cmpint(pthread_create(&threads[j], NULL, play, &parts[j]), ==, 0);
		}
		for (int j = 0; j < 2; j++)
			pthread_join(threads[j], NULL);
		for (int j = 0; j < 2; j++)
			close(sd[j]);
		one_end(&parts[0]);
		one_end(&parts[1]);
	}
	PAIR_UNTIL(pair_descriptors() <= descriptors);
}

static void
add_tests(void)
{
	pair_add_for(NEEDS_CONVERSION, "convert/large-message", test_large_message);
	pair_add_for(NEEDS_CONVERSION, "convert/message-unread", test_message_unread);
	pair_add_for(NEEDS_CONVERSION, "convert/r-31-speaks-second", test_speaks_second);
	pair_add_for(NEEDS_CONVERSION, "convert/options", test_options);
	pair_add_for(NEEDS_CONVERSION, "convert/threads", test_crossfire);
	pair_add_for(NEEDS_CONVERSION, "convert/r-32-numbers", test_numbers);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add_tests);
}
