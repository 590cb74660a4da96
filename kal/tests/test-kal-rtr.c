/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A peer asks for peer-to-peer mode, is accepted, and then is silent: the responder waits for its
 * ready-to-receive message for a limited time (RFC 6581 section 8; [WIRE 2.3.8]). Then the
 * connection ends, its consumer gets an event, and another connection of the process stays
 * established. The test stops no clock: it moves the timer of the start-up to now.
 */

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "kal_fixture.h"

#define LISTEN_CTX 0x2222
#define SILENT     0x3333
#define NEIGHBOUR  0x4444

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool accepting;                  /* this thread is in a call that accepts */
static pthread_t acceptor;              /* the thread that accepts */
static struct ri_timer *start_up;       /* the timer that was started in that call */
static unsigned said;                   /* lines of the log about the message that did not come */
static const struct ri_host *real_host; /* whose functions are used */

static void
timer_start(void *self, struct ri_timer *timer, uint64_t deadline)
{
	pthread_mutex_lock(&lock);
	if (accepting && pthread_equal(pthread_self(), acceptor))
		start_up = timer;
	pthread_mutex_unlock(&lock);
	real_host->timer_start(self, timer, deadline);
}

static void
note_line(void *self, enum ri_log_level level, const char *where, const char *text)
{
	(void)self;
	(void)level;
	(void)where;
	pthread_mutex_lock(&lock);
	said += strstr(text, "the ready-to-receive message did not come in time") != NULL;
	pthread_mutex_unlock(&lock);
}

static void
open_fixture(struct fixture *f)
{
	static struct ri_host host;

	real_host = kal_host_default();
	host = *real_host;
	host.timer_start = timer_start;
	host.log = note_line;
	host.log_level = RI_LOG_INFO;
	*f = fixture_open_on(&host);
}

/* The log has a line about it, perhaps later than the user's event. */
static void
until_said(void)
{
	gint64 until = g_get_monotonic_time() + G_TIME_SPAN_MINUTE;
	unsigned lines;

	do {
		g_assert_cmpint(g_get_monotonic_time(), <, until);
		g_usleep(1000);
		pthread_mutex_lock(&lock);
		lines = said;
		pthread_mutex_unlock(&lock);
	} while (lines == 0);
	g_assert_cmpuint(lines, ==, 1);
}

static void
accepting_set(bool is)
{
	pthread_mutex_lock(&lock);
	accepting = is;
	acceptor = pthread_self();
	pthread_mutex_unlock(&lock);
}

/* A raw peer that has asked for peer-to-peer mode and was accepted at a queue pair of that context. */
static int
accepted(struct fixture *f, uint16_t port, uint64_t ctx)
{
	const struct kal_mpa_frame request = {.kind = KAL_MPA_REQUEST,
					      .revision = 2,
					      .words = true,
					      .peer_to_peer = true,
					      .rtr = RI_RTR_WRITE,
					      .ird = 2,
					      .ord = 2};
	struct kal_cm_req req = {.qp = fixture_qp(f, ctx, 4, 3), .ird = 4, .ord = 3};
	unsigned before = fake_attached();
	struct kal_accept_rep rep;
	uint8_t buf[KAL_MPA_FRAME_MAX];
	int peer = raw_connect(false, port);

	raw_send_frame(peer, &request);
	req.request = fixture_cm(f, KAL_CM_REQUEST, LISTEN_CTX).request;
	accepting_set(true);
	g_assert_cmpint(fixture_call(f, KAL_ACCEPT, &req, sizeof(req), &rep, sizeof(rep)), ==,
			RI_SUCCESS);
	accepting_set(false);
	g_assert_true(raw_frame(peer, KAL_MPA_REPLY, buf).peer_to_peer);
	/* The provider has the stream, and waits for the message. */
	for (gint64 until = g_get_monotonic_time() + G_TIME_SPAN_MINUTE; fake_attached() == before;
	     g_usleep(1000))
		g_assert_cmpint(g_get_monotonic_time(), <, until);
	return peer;
}

static void
test_silent(void)
{
	struct fixture f RI_AT_END(fixture_close);
	struct kal_cm_event event;
	struct ri_timer *timer;
	uint16_t port = 0;
	uint8_t octet;
	unsigned before;
	int neighbour, silent;

	open_fixture(&f);
	fixture_listen(&f, LISTEN_CTX, &port, 5);
	neighbour = accepted(&f, port, NEIGHBOUR);
	raw_send(neighbour, "R", 1);
	fixture_cm(&f, KAL_CM_ESTABLISHED, NEIGHBOUR);
	before = raw_count_fds();
	silent = accepted(&f, port, SILENT);
	g_assert_true(fixture_silent(&f));
	pthread_mutex_lock(&lock);
	timer = start_up;
	pthread_mutex_unlock(&lock);
	g_assert_nonnull(timer);
	real_host->timer_start(real_host->self, timer, real_host->now(real_host->self));
	event = fixture_cm(&f, KAL_CM_FAILED, SILENT);
	g_assert_cmpint(event.reason, ==, KAL_REASON_TIMEOUT);
	g_assert_cmpint(raw_recv(silent, &octet, 1), ==, -1);
	until_said();
	close(silent);
	raw_wait_fds(before);
	close(neighbour);
	fixture_cm(&f, KAL_CM_DISCONNECTED, NEIGHBOUR);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	fake_register();
	g_test_add_func("/kal/rtr/silent", test_silent);
	return g_test_run();
}
