/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The log names the peer and the cause of each start-up that fails, on both sides. */
#include <arpa/inet.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kal_attempt.h"

#define LISTEN_CTX 0x2222

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static GString *lines;

static void
note_line(void *self, enum ri_log_level level, const char *where, const char *text)
{
	(void)self;
	const char *peer = strstr(where, " peer ");

	if (strncmp(where, "kal fake ", 9) != 0 || peer == NULL)
		return;
	g_assert_cmpint(level, ==, RI_LOG_INFO);
	pthread_mutex_lock(&lock);
	g_string_append_printf(lines, "%s: %s\n", peer + 1, text);
	pthread_mutex_unlock(&lock);
}

static void
open_noting(struct fixture *f)
{
	static struct ri_host host;

	host = *kal_host_default();
	host.log = note_line;
	host.log_level = RI_LOG_INFO;
	pthread_mutex_lock(&lock);
	g_string_truncate(lines, 0);
	pthread_mutex_unlock(&lock);
	*f = fixture_open_on(&host);
}

/* What was logged is exactly that line. */
static void
expect_line(const char *want)
{
	pthread_mutex_lock(&lock);
	g_assert_cmpstr(lines->str, ==, want);
	pthread_mutex_unlock(&lock);
}

/* The Request goes to a peer that answers with these octets. */
static void
answered(const void *octets, size_t len, bool end, const char *why)
{
	struct attempt a RI_AT_END(attempt_finish) = {.peer = -1};
	g_autofree char *want = NULL;

	open_noting(&a.f);
	a.qp = fixture_qp(&a.f, CTX, 4, 3);
	a.listener = raw_listen(&a.port);
	fixture_connect_req(&a.req, a.qp, false, a.port);
	attempt_meet(&a);
	raw_send(a.peer, octets, len);
	if (end)
		shutdown(a.peer, SHUT_WR);
	for (;;) {
		struct kal_event event = fixture_event(&a.f);

		if (event.kind == KAL_EVENT_CM)
			break;
	}
	want = g_strdup_printf("peer 127.0.0.1:%u: the start-up failed: %s\n", ntohs(a.port), why);
	expect_line(want);
}

static void
test_initiator(void)
{
	answered("HTTP/1.1 400 Bad", 16, false,
		 "what the peer sends begins with 'HTTP/1.1 400 Bad', which is not an MPA frame");
	answered("MPA ID Rep Frame\x40\x03\0\0", 20, false,
		 "the Reply has revision 3; 1 and 2 are supported");
	answered("MPA ID Rep Frame\x70\x02\0\x07\0\1\0\1bye", 27, false,
		 "the Reply has R, and 3 octets of private data");
	answered("MPA ID Rep Frame\x50\x02\0\x04\0\1\0\5", 24, false,
		 "the ORD of the Reply is 5, above the own IRD of 4; Terminate 2006");
	fixture_config("[mpa]\nmarkers = refuse\n");
	answered("MPA ID Rep Frame\xd0\x02\0\x04\0\1\0\1", 24, false,
		 "the Reply has M: the peer wants markers");
	fixture_config(NULL);
	answered("MPA ID Rep", 10, true, "the peer closed before its Reply was whole");
}

static void
test_nobody_there(void)
{
	struct attempt a = {.peer = -1};
	g_autofree char *want = NULL;

	open_noting(&a.f);
	a.qp = fixture_qp(&a.f, CTX, 4, 3);
	a.listener = raw_listen(&a.port);
	fixture_connect_req(&a.req, a.qp, false, a.port);
	close(a.listener);
	attempt_go(&a);
	fixture_cm(&a.f, KAL_CM_FAILED, CTX);
	want = g_strdup_printf("peer 127.0.0.1:%u: the start-up failed: %s\n", ntohs(a.port),
			       g_strerror(ECONNREFUSED));
	expect_line(want);
	fixture_close(&a.f);
}

/* TCP port of the socket's own end. */
static unsigned
own_port(int fd)
{
	struct sockaddr_in sin = {0};
	socklen_t len = sizeof(sin);

	g_assert_cmpint(getsockname(fd, (struct sockaddr *)&sin, &len), ==, 0);
	return ntohs(sin.sin_port);
}

static void
requested(const void *octets, size_t len, bool end, const char *why)
{
	struct fixture f RI_AT_END(fixture_close);
	g_autofree char *want = NULL;
	uint16_t port = 0;
	uint8_t octet;

	open_noting(&f);
	fixture_listen(&f, LISTEN_CTX, &port, 5);
	int peer RI_AT_END(ri_at_end_close) = raw_connect(false, port);
	raw_send(peer, octets, len);
	if (end)
		shutdown(peer, SHUT_WR);
	while (raw_recv(peer, &octet, 1) > 0)
		; /* until our end has closed, after it has logged why */
	want = g_strdup_printf("peer 127.0.0.1:%u: a connection request was refused: %s\n",
			       own_port(peer), why);
	expect_line(want);
}

static void
test_responder(void)
{
	requested("GET / HTTP/1.0\r\n", 16, false,
		  "what the peer sends begins with 'GET / HTTP/1.0..', which is not an MPA frame");
	requested("MPA ID Req Frame\x40\x01\xff\xff", 20, false,
		  "PD_Length of the Request is 65535, and at most 512 is allowed");
	requested("MPA ID Req Frame\x40\x01\0\0x", 21, false,
		  "octets came behind the Request, before the Reply");
	requested("MPA ID Req Frame\x40", 17, true, "only 17 octets of the Request came");
}

static void
test_rejected(void)
{
	struct kal_cm_req no = {.reason = KAL_REASON_CONSUMER};
	struct fixture f RI_AT_END(fixture_close);
	g_autofree char *want = NULL;
	uint16_t port = 0;

	open_noting(&f);
	fixture_listen(&f, LISTEN_CTX, &port, 5);
	int peer RI_AT_END(ri_at_end_close) = raw_connect(false, port);
	raw_send(peer, "MPA ID Req Frame\x40\x01\0\0", 20);
	no.request = fixture_cm(&f, KAL_CM_REQUEST, LISTEN_CTX).request;
	g_assert_cmpint(fixture_call(&f, KAL_REJECT, &no, sizeof(no), NULL, 0), ==, RI_SUCCESS);
	want = g_strdup_printf("peer 127.0.0.1:%u: a connection request was refused: the "
			       "application rejected it\n",
			       own_port(peer));
	expect_line(want);
}

int
main(int argc, char **argv)
{
	int result;

	g_test_init(&argc, &argv, NULL);
	fake_register();
	lines = g_string_new("");
	g_test_add_func("/kal/why/initiator", test_initiator);
	g_test_add_func("/kal/why/nobody-there", test_nobody_there);
	g_test_add_func("/kal/why/responder", test_responder);
	g_test_add_func("/kal/why/rejected", test_rejected);
	result = g_test_run();
	g_string_free(lines, TRUE);
	return result;
}
