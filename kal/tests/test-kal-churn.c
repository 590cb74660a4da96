/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Many connections at the same time, whose ends are both clients of this process; and a listener
 * that is destroyed while peers connect.
 */

#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kal_fixture.h"

#define LISTEN_CTX 1
#define ACTIVE     0x10000
#define PASSIVE    0x20000

/* The outcome of all connections; their events come in any order. */
struct tally {
	unsigned established, failed;
};

static void
accept_it(struct fixture *f, const struct kal_cm_event *event, uint32_t qp)
{
	struct kal_cm_req req = {.qp = qp, .request = event->request, .ird = 1, .ord = 1};
	struct kal_accept_rep rep;

	g_assert_cmpint(fixture_call(f, KAL_ACCEPT, &req, sizeof(req), &rep, sizeof(rep)), ==,
			RI_SUCCESS);
}

static void
count(struct tally *tally, const struct kal_event *event)
{
	if (event->kind != KAL_EVENT_CM)
		return;
	tally->established += event->u.cm.kind == KAL_CM_ESTABLISHED;
	tally->failed += event->u.cm.kind == KAL_CM_FAILED;
}

/* All at once, more than the backlog and the limit of half-open start-ups hold. */
static void
test_crowd(void)
{
	enum {
		CROWD = 300
	};
	struct tally tally = {0};
	unsigned accepted = 0, fds;
	uint16_t port = 0;
	struct fixture f = fixture_open();

	fds = raw_count_fds();
	fixture_listen(&f, LISTEN_CTX, &port, 20);
	for (unsigned i = 0; i < CROWD; i++) {
		struct kal_cm_req req;

		fixture_connect_req(&req, fixture_qp(&f, ACTIVE + i, 1, 1), false, port);
		g_assert_cmpint(fixture_call(&f, KAL_CONNECT, &req, sizeof(req), NULL, 0), ==,
				RI_SUCCESS);
	}
	while (tally.established + 2 * tally.failed < 2 * CROWD) {
		struct kal_event event = fixture_event(&f);

		g_assert_cmpuint(event.kind, ==, KAL_EVENT_CM);
		g_assert_cmpuint(event.u.cm.kind, !=, KAL_CM_REJECTED);
		if (event.u.cm.kind == KAL_CM_REQUEST) {
			accept_it(&f, &event.u.cm, fixture_qp(&f, PASSIVE + accepted, 1, 1));
			accepted++;
		}
		count(&tally, &event);
	}
	g_assert_cmpuint(tally.failed, ==, 0);
	g_assert_cmpuint(accepted, ==, CROWD);
	fixture_close(&f);
	raw_wait_fds(fds);
}

/* Send a part of a Request octet by octet, until the stream ends. */
static void *
send_slowly(void *arg)
{
	static const uint8_t part[] = "MPA ID Req Frame";
	int fd = *(const int *)arg;

	for (size_t at = 0; at + 1 < sizeof(part); at++)
		if (send(fd, part + at, 1, MSG_NOSIGNAL) != 1)
			break;
	return NULL;
}

/* A listener ends while the service thread reads its start-ups. TSan judges. */
static void
test_end_while_read(void)
{
	enum {
		PEERS = 4
	};
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	for (unsigned round = 0; round < 100; round++) {
		pthread_t peers[PEERS];
		int fds[PEERS];
		uint16_t port = 0;
		uint32_t listener = fixture_listen(&f, LISTEN_CTX, &port, 5);

		for (int i = 0; i < PEERS; i++)
			fds[i] = raw_connect(false, port);
		for (int i = 0; i < PEERS; i++)
			g_assert_cmpint(pthread_create(&peers[i], NULL, send_slowly, &fds[i]), ==,
					0);
		g_usleep(round);
		g_assert_cmpint(fixture_id(&f, KAL_LISTEN_DESTROY, listener), ==, RI_SUCCESS);
		for (int i = 0; i < PEERS; i++) {
			pthread_join(peers[i], NULL);
			close(fds[i]);
		}
	}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	fake_register();
	g_test_add_func("/kal/churn/crowd", test_crowd);
	g_test_add_func("/kal/churn/end-while-read", test_end_while_read);
	return g_test_run();
}
