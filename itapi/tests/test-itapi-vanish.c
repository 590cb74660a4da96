/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A peer that vanishes: no FIN and no reset comes, only silence. The administrator's time-outs are one or two
 * seconds here. The test fails if no event of the end comes within WAIT_US: the kernel alone would take a quarter of an
 * hour with data outstanding, and an idle connection would never end.
 *
 * it0 is in the network of this process, it1 in another one. The peers are plain sockets of that other network. A route
 * there that drops packets to it0 makes them vanish.
 */

#include <arpa/inet.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "it_ext.h"
#include "it_net.h"
#include "it_pair.h"
#include "it_stream.h"

#define NEAR "10.99.0.1"
#define FAR  "10.99.0.2"

static bool network;
static int near_ns, far_ns;
static char *config;

/* --- the log --------------------------------------------------------------------------------- */

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER; /* not GLib's: ThreadSanitizer */
static GString *log_text;

static void
keep_line(void *context, int level, const char *where, const char *text)
{
	(void)context;
	(void)level;
	pthread_mutex_lock(&log_lock);
	g_string_append_printf(log_text, "%s: %s\n", where, text);
	pthread_mutex_unlock(&log_lock);
}

static bool
log_says(const char *text)
{
	bool says;

	pthread_mutex_lock(&log_lock);
	says = strstr(log_text->str, text) != NULL;
	pthread_mutex_unlock(&log_lock);
	return says;
}

/* --- two networks ---------------------------------------------------------------------------- */

static int
open_ns(void)
{
	int fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);

	g_assert_cmpint(fd, >=, 0);
	return fd;
}

static void
go_to(int ns)
{
	g_assert_cmpint(setns(ns, CLONE_NEWNET), ==, 0);
}

static void
far_ip(const char *words)
{
	go_to(far_ns);
	net_ip(words);
	go_to(near_ns);
}

/* False: this machine does not allow it. */
static bool
networks_make(void)
{
	g_autofree char *move = NULL;

	if (!net_enter())
		return false;
	near_ns = open_ns();
	g_assert_cmpint(unshare(CLONE_NEWNET), ==, 0);
	far_ns = open_ns();
	go_to(near_ns);
	move = g_strdup_printf("link set it1 netns /proc/%d/fd/%d", getpid(), far_ns);
	net_ip("link add it0 type veth peer name it1");
	net_ip(move);
	net_ip("addr add " NEAR "/24 dev it0");
	net_ip("link set it0 up");
	far_ip("addr add " FAR "/24 dev it1");
	far_ip("link set it1 up");
	net_await("it0");
	return true;
}

static void
vanish(void)
{
	far_ip("route add blackhole " NEAR "/32");
}

static void
come_back(void)
{
	far_ip("route del blackhole " NEAR "/32");
}

/* --- one end, and a plain socket as its peer --------------------------------------------------- */

/* sd[0] is near, sd[1] far. */
static void
connect_sockets(int sd[2])
{
	struct sockaddr_in sin = {.sin_family = AF_INET};
	socklen_t len = sizeof(sin);
	int listener, little = 4096;

	g_assert_cmpint(inet_pton(AF_INET, FAR, &sin.sin_addr), ==, 1);
	go_to(far_ns);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	go_to(near_ns);
	g_assert_cmpint(listener, >=, 0);
	g_assert_cmpint(setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &little, sizeof(little)), ==,
			0);
	g_assert_cmpint(bind(listener, (struct sockaddr *)&sin, sizeof(sin)), ==, 0);
	g_assert_cmpint(listen(listener, 1), ==, 0);
	g_assert_cmpint(getsockname(listener, (struct sockaddr *)&sin, &len), ==, 0);
	sd[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	g_assert_cmpint(connect(sd[0], (struct sockaddr *)&sin, len), ==, 0);
	sd[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	g_assert_cmpint(sd[1], >=, 0);
	close(listener);
}

/* A connection of the endpoint as initiator or as responder, which sends nothing by itself; answers its peer. */
static int
establish_as(struct end *end, bool initiator)
{
	int sd[2], one = 1;

	connect_sockets(sd);
	pair_ok(stream_convert(end, sd[0], IT_SC_DEFAULT, initiator ? NULL : ""));
	close(sd[0]);
	if (initiator) {
		stream_hear(sd[1], stream_request, STREAM_FRAME);
		stream_say(sd[1], stream_reply, STREAM_FRAME);
	} else {
		stream_say(sd[1], stream_request, STREAM_FRAME);
		stream_hear(sd[1], stream_reply, STREAM_FRAME);
	}
	/* Acknowledged now and not later, so that nothing is outstanding. */
	g_assert_cmpint(setsockopt(sd[1], IPPROTO_TCP, TCP_QUICKACK, &one, sizeof(one)), ==, 0);
	end_expect(end->cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	pair_ok(end_recv(end, 100, 1));
	return sd[1];
}

static int
establish(struct end *end)
{
	return establish_as(end, true);
}

/* The time-outs are read when the adapter is opened. */
static void
open_with(struct end *end, const char *settings)
{
	g_autofree char *text = g_strconcat("[tcp]\n", settings, NULL);

	g_assert_true(g_file_set_contents(config, text, -1, NULL));
	g_assert_true(end_open(end));
	end_new_ep(end);
	pthread_mutex_lock(&log_lock);
	g_string_truncate(log_text, 0);
	pthread_mutex_unlock(&log_lock);
}

/* Posted requests completed first, then the event of the end came, with a reason in the log. */
static void
expect_broken(struct end *end)
{
	end_expect(end->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	end_done(end->recv, IT_DTO_RC_RECV_CMPL_EVENT, 1, IT_DTO_ERR_FLUSHED);
	g_assert_cmpint(end_state(end), ==, IT_EP_STATE_NONOPERATIONAL);
	PAIR_UNTIL(log_says("the peer has not answered for too long"));
}

/* The endpoint can be connected again. */
static void
expect_usable(struct end *end)
{
	int sd;

	end_reset(end);
	sd = establish(end);
	pair_ok(it_ep_disconnect(end->ep, NULL, 0));
	g_assert_true(stream_drain(sd));
	close(sd);
	end_expect(end->cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	end_done(end->recv, IT_DTO_RC_RECV_CMPL_EVENT, 1, IT_DTO_ERR_FLUSHED);
	end_close(end);
}

/* --- cases ------------------------------------------------------------------------------------- */

static void
vanish_idle(const char *settings)
{
	struct end end;
	int sd;

	open_with(&end, settings);
	sd = establish_as(&end, false);
	vanish();
	expect_broken(&end);
	close(sd);
	come_back();
	expect_usable(&end);
}

/* Nothing is outstanding; the number of probes decides. */
static void
test_probes(void)
{
	vanish_idle("keep-alive-idle = 1\nkeep-alive-interval = 1\nkeep-alive-count = 2\n"
		    "user-timeout = 0\n");
}

/* Nothing is outstanding; the user time-out decides, although more probes were allowed. */
static void
test_idle(void)
{
	vanish_idle("keep-alive-idle = 1\nkeep-alive-interval = 1\nkeep-alive-count = 127\n"
		    "user-timeout = 2\n");
}

/* A Read is outstanding, and probes are off. */
static void
test_outstanding(void)
{
	it_lmr_triplet_t sink;
	struct end end;
	int sd;

	open_with(&end, "keep-alive-idle = 0\nuser-timeout = 1\n");
	sd = establish(&end);
	vanish();
	sink = end_segment(&end, 0, 16);
	pair_ok(it_post_rdma_read(end.ep, &sink, 1, 7, IT_COMPLETION_FLAG | IT_NOTIFY_FLAG, 4096,
				  0x100));
	expect_broken(&end);
	end_done(end.request, IT_DTO_RDMA_READ_CMPL_EVENT, 7, IT_DTO_ERR_FLUSHED);
	close(sd);
	come_back();
	expect_usable(&end);
}

/* The peer is there, and acknowledges, but takes nothing. */
static void
test_window(void)
{
	const size_t length = END_BUFFER / 2;
	unsigned flushed = 0;
	struct end end;
	int sd;

	open_with(&end, "keep-alive-idle = 0\nuser-timeout = 1\n");
	sd = establish(&end);
	for (unsigned i = 0; i < REQUEST_SLOTS; i++)
		pair_ok(end_send(&end, length, 10 + i, IT_COMPLETION_FLAG | IT_NOTIFY_FLAG));
	expect_broken(&end);
	for (unsigned i = 0; i < REQUEST_SLOTS; i++) {
		it_event_t event = end_next(end.request);

		g_assert_cmpuint(event.dto_cmpl.cookie, ==, 10 + i);
		flushed += event.dto_cmpl.dto_status == IT_DTO_ERR_FLUSHED;
	}
	g_assert_cmpuint(flushed, >, 0);
	close(sd);
	expect_usable(&end);
}

/* A peer that only says nothing is left alone. */
static void
test_silent(void)
{
	struct end end;
	int sd;

	open_with(&end, "keep-alive-idle = 1\nkeep-alive-interval = 1\nkeep-alive-count = 1\n"
			"user-timeout = 1\n");
	sd = establish(&end);
	g_usleep(3 * G_USEC_PER_SEC);
	g_assert_cmpint(end_state(&end), ==, IT_EP_STATE_CONNECTED);
	pair_ok(it_ep_disconnect(end.ep, NULL, 0));
	g_assert_true(stream_drain(sd));
	close(sd);
	end_expect(end.cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	end_done(end.recv, IT_DTO_RC_RECV_CMPL_EVENT, 1, IT_DTO_ERR_FLUSHED);
	expect_usable(&end);
}

static void
run(const void *data)
{
	void (*const *test)(void) = data;

	if (network)
		(*test)();
	else
		g_test_skip("no network namespace can be had here");
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *path;
		void (*test)(void);
	} tests[] = {
		{"/itapi/iwarp/vanish/probes", test_probes},
		{"/itapi/iwarp/vanish/idle", test_idle},
		{"/itapi/iwarp/vanish/outstanding", test_outstanding},
		{"/itapi/iwarp/vanish/window", test_window},
		{"/itapi/iwarp/vanish/silent", test_silent},
	};
	int result, fd;

	network = networks_make();
	fd = g_file_open_tmp("itapi-vanish-XXXXXX", &config, NULL);
	g_assert_cmpint(fd, >=, 0);
	close(fd);
	g_setenv("ITAPI_CONFIG", config, TRUE);
	g_setenv("ITAPI_LOG", "info", TRUE);
	log_text = g_string_new(NULL);
	itx_log_set_writer(keep_line, NULL);
	g_test_init(&argc, &argv, NULL);
	pair_use("iwarp:it0");
	for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
		g_test_add_data_func(tests[i].path, &tests[i].test, run);
	result = g_test_run();
	itx_log_set_writer(NULL, NULL);
	g_string_free(log_text, TRUE);
	g_unlink(config);
	g_free(config);
	return result;
}
