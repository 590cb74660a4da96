/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Peers that do not answer: what the kAL asks of the host's TCP to notice one that vanishes, on each kind of
 * connection, and the time that each kind of silence may take during the start-up. Also a listener whose socket fails.
 */

#include <fcntl.h>
#include <glib/gstdio.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kal_attempt.h"

#define LISTEN_CTX 7
#define FDS        4096 /* descriptors are looked for up to here */

/* --- a file of the administrator --------------------------------------------------------------- */

static char *config;

/* NULL: none. */
static void
configure(const char *text)
{
	if (text == NULL) {
		g_unsetenv("ITAPI_CONFIG");
		return;
	}
	g_assert_true(g_file_set_contents(config, text, -1, NULL));
	g_setenv("ITAPI_CONFIG", config, TRUE);
}

/* --- options of a socket ------------------------------------------------------------------------ */

struct options {
	int keep_alive, idle, interval, count, user;
};

static int
option_of(int fd, int level, int option)
{
	int value = -1;
	socklen_t len = sizeof(value);

	g_assert_cmpint(getsockopt(fd, level, option, &value, &len), ==, 0);
	return value;
}

static void
set_option(int fd, int level, int option, int value)
{
	g_assert_cmpint(setsockopt(fd, level, option, &value, sizeof(value)), ==, 0);
}

static void
expect_options(int fd, const struct options *want)
{
	g_assert_cmpint(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), ==, want->keep_alive);
	if (want->keep_alive) {
		g_assert_cmpint(option_of(fd, IPPROTO_TCP, TCP_KEEPIDLE), ==, want->idle);
		g_assert_cmpint(option_of(fd, IPPROTO_TCP, TCP_KEEPINTVL), ==, want->interval);
		g_assert_cmpint(option_of(fd, IPPROTO_TCP, TCP_KEEPCNT), ==, want->count);
	}
	g_assert_cmpint(option_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), ==, want->user);
}

/* The descriptor in this process that is the other end of a raw peer. */
static int
fd_facing(int peer)
{
	struct sockaddr_in mine, theirs;
	socklen_t len = sizeof(mine);

	g_assert_cmpint(getsockname(peer, (struct sockaddr *)&mine, &len), ==, 0);
	for (int fd = 0; fd < FDS; fd++) {
		len = sizeof(theirs);
		if (fd != peer && getpeername(fd, (struct sockaddr *)&theirs, &len) == 0 &&
		    theirs.sin_family == AF_INET && theirs.sin_port == mine.sin_port &&
		    theirs.sin_addr.s_addr == mine.sin_addr.s_addr)
			return fd;
	}
	g_error("nobody faces that socket");
}

/* --- cases: options ------------------------------------------------------------------------------ */

static void
expect_initiator(const struct options *want)
{
	struct attempt a RI_AT_END(attempt_finish) = attempt_prepare();

	attempt_meet(&a);
	expect_options(fd_facing(a.peer), want);
}

static void
expect_responder(const struct options *want)
{
	struct kal_mpa_frame frame = {.kind = KAL_MPA_REQUEST, .revision = 1, .crc = true};
	uint16_t port = 0;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	fixture_listen(&f, LISTEN_CTX, &port, 5);
	int peer RI_AT_END(ri_at_end_close) = raw_connect(false, port);
	raw_send_frame(peer, &frame);
	(void)fixture_cm(&f, KAL_CM_REQUEST, LISTEN_CTX);
	expect_options(fd_facing(peer), want);
}

/* The application has set the options of `own` before, but no zeros. */
static void
expect_converted(const struct options *own, const struct options *want)
{
	struct kal_convert_req req = {.initiator = 1};
	struct kal_convert_rep rep;
	struct kal_msg msg = {.call = KAL_CONVERT,
			      .req = &req,
			      .req_len = sizeof(req),
			      .rep = &rep,
			      .rep_len = sizeof(rep)};
	uint16_t port;
	int listener RI_AT_END(ri_at_end_close) = raw_listen(&port);
	int peer;

	fake_attr.socket_conversion = true;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();
	req.qp = fixture_qp(&f, CTX, 4, 3);
	msg.fd = raw_connect(false, port);
	peer = raw_accept(listener);
	if (own->keep_alive) {
		set_option(msg.fd, SOL_SOCKET, SO_KEEPALIVE, 1);
		set_option(msg.fd, IPPROTO_TCP, TCP_KEEPIDLE, own->idle);
		set_option(msg.fd, IPPROTO_TCP, TCP_KEEPINTVL, own->interval);
		set_option(msg.fd, IPPROTO_TCP, TCP_KEEPCNT, own->count);
	}
	if (own->user)
		set_option(msg.fd, IPPROTO_TCP, TCP_USER_TIMEOUT, own->user);
	g_assert_cmpint(kal_call(f.client, &msg), ==, RI_SUCCESS);
	expect_options(msg.fd, want);
	close(msg.fd);
	close(peer);
}

static void
test_options(void)
{
	static const struct {
		const char *text;
		struct options want;
	} cases[] = {
		{NULL, {1, 30, 10, 3, 60000}},
		{"[tcp]\nkeep-alive-idle = 7\nkeep-alive-interval = 5\nkeep-alive-count = 9\n"
		 "user-timeout = 11\n",
		 {1, 7, 5, 9, 11000}},
		{"[tcp]\nkeep-alive-idle = 0\nuser-timeout = 0\n", {0, 0, 0, 0, 0}},
		{"[tcp]\nkeep-alive-idle = 0\n", {0, 0, 0, 0, 60000}},
		{"[tcp]\nuser-timeout = 0\n", {1, 30, 10, 3, 0}},
		{"[tcp]\nkeep-alive-idle = 32767\nkeep-alive-interval = 32767\n"
		 "keep-alive-count = 127\nuser-timeout = 86400\n",
		 {1, 32767, 32767, 127, 86400000}},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct options none = {0};

		configure(cases[i].text);
		expect_initiator(&cases[i].want);
		expect_responder(&cases[i].want);
		expect_converted(&none, &cases[i].want);
	}
	configure(NULL);
}

/* What the application has set on its socket stands, each of the two by itself. */
static void
test_own_choice(void)
{
	static const struct options keep = {1, 100, 101, 102, 0}, user = {0, 0, 0, 0, 1234},
				    both = {1, 100, 101, 102, 1234};

	expect_converted(&keep, &(struct options){1, 100, 101, 102, 60000});
	expect_converted(&user, &(struct options){1, 30, 10, 3, 1234});
	expect_converted(&both, &both);
}

/* --- cases: time --------------------------------------------------------------------------------- */

/*
 * The peer's address does not answer: the queue of its listener is full, so the kernel drops what
 * arrives. The attempt ends after the time-out that the application gave.
 */
static void
expect_silent_address(uint64_t timeout_us)
{
	gint64 begun;
	int fillers[3];
	struct sockaddr_in sin = {.sin_family = AF_INET};
	struct attempt a RI_AT_END(attempt_finish) = attempt_prepare();

	g_assert_cmpint(listen(a.listener, 0), ==, 0);
	sin.sin_port = a.port;
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (gsize i = 0; i < G_N_ELEMENTS(fillers); i++) {
		fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		(void)!connect(fillers[i], (struct sockaddr *)&sin, sizeof(sin));
	}
	a.req.timeout_us = timeout_us;
	begun = g_get_monotonic_time();
	attempt_go(&a);
	attempt_expect_failed(&a, KAL_REASON_TIMEOUT);
	g_assert_cmpint(g_get_monotonic_time() - begun, >=, (gint64)timeout_us);
	for (gsize i = 0; i < G_N_ELEMENTS(fillers); i++)
		close(fillers[i]);
}

/* The user time-out of the administrator, which begins with the connection, does not make it shorter. */
static void
test_silent_address(void)
{
	expect_silent_address(50000);
	configure("[tcp]\nuser-timeout = 1\n");
	expect_silent_address(2500000);
	configure(NULL);
}

/* Send that many octets one by one; each is read before the next is sent. */
static void
drip(int fd, const uint8_t *octets, size_t count)
{
	int other = fd_facing(fd);

	for (size_t i = 0; i < count; i++) {
		int unread = 1;

		raw_send(fd, octets + i, 1);
		while (unread > 0) {
			g_assert_cmpint(ioctl(other, FIONREAD, &unread), ==, 0);
			g_usleep(200);
		}
	}
}

/* Octets of a Reply that never ends do not extend the initiator's time. */
static void
test_reply_drips(void)
{
	static const uint8_t head[KAL_MPA_HEADER_SIZE + 100] = "MPA ID Rep Frame\x40\x02\x02\x00";
	uint64_t deadline;
	struct attempt a RI_AT_END(attempt_finish) = attempt_prepare_frozen(false);

	attempt_meet(&a);
	deadline = fixture_frozen_deadline();
	drip(a.peer, head, sizeof(head));
	g_assert_cmpuint(fixture_frozen_count(), ==, 1);
	g_assert_cmpuint(fixture_frozen_deadline(), ==, deadline);
	attempt_time_passes(&a);
	attempt_expect_failed(&a, KAL_REASON_TIMEOUT);
}

/* Nor do octets of a Request whose private data never end, nor of one whose header never does. */
static void
test_request_drips(void)
{
	static const uint8_t head[KAL_MPA_HEADER_SIZE + 100] = "MPA ID Req Frame\x40\x02\x02\x00";
	static const size_t lens[] = {sizeof(head), KAL_MPA_HEADER_SIZE - 1};
	uint16_t port = 0;
	uint8_t octet;
	struct fixture f RI_AT_END(fixture_close) = fixture_open_on(fixture_frozen_host());

	fixture_listen(&f, LISTEN_CTX, &port, 5);
	for (size_t i = 0; i < G_N_ELEMENTS(lens); i++) {
		int peer RI_AT_END(ri_at_end_close) = raw_connect(false, port);

		while (fixture_frozen_count() == i) /* until it is accepted */
			g_usleep(200);
		drip(peer, head, lens[i]);
		g_assert_cmpuint(fixture_frozen_count(), ==, i + 1);
		fixture_time_passes();
		g_assert_cmpint(raw_recv(peer, &octet, 1), <=, 0);
	}
	g_assert_true(fixture_silent(&f));
}

/* --- cases: a listener ---------------------------------------------------------------------------- */

static void (*listener_fire)(void *arg, uint32_t events);
static int listener_fd;
static atomic_uint listener_calls;

static void
count_call(void *arg, uint32_t events)
{
	atomic_fetch_add(&listener_calls, 1);
	listener_fire(arg, events);
}

/* The function of the listener's socket is counted; the other family's socket is left out. */
static enum ri_status
watch_start_counting(void *self, struct ri_watch *watch)
{
	if (option_of(watch->fd, SOL_SOCKET, SO_ACCEPTCONN) == 1 &&
	    option_of(watch->fd, SOL_SOCKET, SO_DOMAIN) == AF_INET) {
		listener_fire = watch->fire;
		listener_fd = watch->fd;
		watch->fire = count_call;
	}
	return kal_host_default()->watch_start(self, watch);
}

/* accept fails again and again, and the socket stays readable: the service thread tries only each 10 ms. */
static void
test_accept_fails(void)
{
	static struct ri_host host;
	uint16_t port = 0;
	unsigned calls;
	gint64 begun, ms;

	host = *kal_host_default();
	host.watch_start = watch_start_counting;
	struct fixture f RI_AT_END(fixture_close) = fixture_open_on(&host);
	fixture_listen(&f, LISTEN_CTX, &port, 5);
	begun = g_get_monotonic_time();
	atomic_store(&listener_calls, 0);
	g_assert_cmpint(shutdown(listener_fd, SHUT_RD), ==, 0);
	while (atomic_load(&listener_calls) == 0)
		g_usleep(1000);
	g_usleep(300000);
	calls = atomic_load(&listener_calls);
	ms = (g_get_monotonic_time() - begun) / 1000; /* later than the last of these calls */
	g_assert_cmpuint(calls, <=, ms / 10 + 5);
}

int
main(int argc, char **argv)
{
	int result, fd;

	g_test_init(&argc, &argv, NULL);
	fd = g_file_open_tmp("itapi-peer-XXXXXX", &config, NULL);
	g_assert_cmpint(fd, >=, 0);
	close(fd);
	fake_register();
	g_test_add_func("/kal/peer/options", test_options);
	g_test_add_func("/kal/peer/own-choice", test_own_choice);
	g_test_add_func("/kal/peer/silent-address", test_silent_address);
	g_test_add_func("/kal/peer/reply-drips", test_reply_drips);
	g_test_add_func("/kal/peer/request-drips", test_request_drips);
	g_test_add_func("/kal/peer/accept-fails", test_accept_fails);
	result = g_test_run();
	g_unlink(config);
	g_free(config);
	return result;
}
