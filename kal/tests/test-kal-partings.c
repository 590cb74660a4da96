/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * How the socket of a refused peer is closed: not before the peer has sent its FIN, since siw loses
 * the private data of a Reply that a FIN follows at once [WIRE 14.4]. But the wait is limited, for
 * each socket and in number.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kal_fixture.h"

#define LISTEN_CTX 0x2222
#define PARTINGS   64 /* as many as wait at most */

/* A peer whose request was rejected, with its Reply read. */
static int
rejected_peer(struct fixture *f, uint16_t port)
{
	const struct kal_mpa_frame request = {
		.kind = KAL_MPA_REQUEST, .revision = 2, .words = true, .ird = 1, .ord = 1};
	struct kal_cm_req no = {.reason = KAL_REASON_CONSUMER, .pdata_len = 2};
	uint8_t buf[KAL_MPA_FRAME_MAX];
	struct kal_mpa_frame reply;
	int peer = raw_connect(false, port);

	memcpy(no.pdata, "no", 2);
	raw_send_frame(peer, &request);
	no.request = fixture_cm(f, KAL_CM_REQUEST, LISTEN_CTX).request;
	g_assert_cmpint(fixture_call(f, KAL_REJECT, &no, sizeof(no), NULL, 0), ==, RI_SUCCESS);
	reply = raw_frame(peer, KAL_MPA_REPLY, buf);
	g_assert_true(reply.reject);
	g_assert_cmpmem(reply.private_data, reply.private_len, "no", 2);
	return peer;
}

/* Has the other end neither closed nor sent anything? */
static bool
is_open(int peer)
{
	char octet;

	return recv(peer, &octet, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

static void
test_waits_for_the_peer(void)
{
	uint16_t port = 0;
	unsigned before;
	uint8_t octet;
	int peer;
	struct fixture f RI_AT_END(fixture_close) = fixture_open_on(fixture_frozen_host());

	fixture_listen(&f, LISTEN_CTX, &port, 5);
	before = raw_count_fds();
	peer = rejected_peer(&f, port);
	/* The time is frozen, so only a FIN right behind the Reply could come, and it would be there soon. */
	for (int i = 0; i < 100; i++) {
		g_assert_true(is_open(peer));
		g_usleep(1000);
	}
	raw_send(peer, "words that nobody wants", 23);
	shutdown(peer, SHUT_WR);
	g_assert_cmpint(raw_recv(peer, &octet, 1), ==, 0);
	close(peer);
	raw_wait_fds(before);
}

/* A peer that never closes: our end does, after a while. */
static void
test_has_an_end(void)
{
	uint16_t port = 0;
	uint8_t octet;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	fixture_listen(&f, LISTEN_CTX, &port, 5);
	int peer RI_AT_END(ri_at_end_close) = rejected_peer(&f, port);
	g_assert_cmpint(raw_recv(peer, &octet, 1), ==, 0);
}

/* More than are kept: the oldest goes first. The end of the adapter ends them all. */
static void
test_bounded(void)
{
	uint16_t port = 0;
	int peers[PARTINGS + 6];
	uint8_t octet;
	struct fixture f = fixture_open_on(fixture_frozen_host());

	fixture_listen(&f, LISTEN_CTX, &port, 5);
	for (unsigned i = 0; i < G_N_ELEMENTS(peers); i++)
		peers[i] = rejected_peer(&f, port);
	for (unsigned i = 0; i < G_N_ELEMENTS(peers) - PARTINGS; i++)
		g_assert_cmpint(raw_recv(peers[i], &octet, 1), ==, 0);
	for (unsigned i = G_N_ELEMENTS(peers) - PARTINGS; i < G_N_ELEMENTS(peers); i++)
		g_assert_true(is_open(peers[i]));
	fixture_close(&f);
	for (unsigned i = G_N_ELEMENTS(peers) - PARTINGS; i < G_N_ELEMENTS(peers); i++)
		g_assert_cmpint(raw_recv(peers[i], &octet, 1), ==, 0);
	for (unsigned i = 0; i < G_N_ELEMENTS(peers); i++)
		close(peers[i]);
}

/* Reading from a refused peer that does not stop to send has an end. */
static void
test_endless_octets(void)
{
	static const char octets[4096];
	uint16_t port = 0;
	ssize_t n;
	struct fixture f RI_AT_END(fixture_close) = fixture_open_on(fixture_frozen_host());

	fixture_listen(&f, LISTEN_CTX, &port, 5);
	int peer RI_AT_END(ri_at_end_close) = rejected_peer(&f, port);
	do
		n = send(peer, octets, sizeof(octets), MSG_NOSIGNAL);
	while (n > 0);
	g_assert_true(errno == EPIPE || errno == ECONNRESET);
}

static const struct ri_host *base;
static pthread_t main_thread;
static sem_t held;
static atomic_bool relaxed;

/* The service thread is kept inside what it ends until the thread that waits for it says so to the host. */
static void
held_watch_stop(void *self, struct ri_watch *watch)
{
	base->watch_stop(self, watch);
	if (pthread_equal(pthread_self(), main_thread) || atomic_load(&relaxed))
		return;
	sem_post(&held);
	while (!atomic_load(&relaxed))
		g_usleep(100);
}

static void
noted_relax(void *self, uint32_t round)
{
	atomic_store(&relaxed, true);
	base->relax(self, round);
}

/* A thread that waits for the service thread to end a parting or a start-up waits through the host [RI 11.3.6]. */
static void
test_waits_through_the_host(void)
{
	main_thread = pthread_self();
	base = fixture_frozen_host();
	for (int starting = 0; starting < 2; starting++) {
		struct ri_host host = *base;
		struct fixture f;
		uint16_t port = 0;
		int peer;

		host.watch_stop = held_watch_stop;
		host.relax = noted_relax;
		sem_init(&held, 0, 0);
		atomic_store(&relaxed, true);
		f = fixture_open_on(&host);
		fixture_listen(&f, LISTEN_CTX, &port, 5);
		peer = starting ? raw_connect(false, port) : rejected_peer(&f, port);
		atomic_store(&relaxed, false);
		if (starting)
			raw_send(peer, "what is no frame of MPA", 23);
		else
			shutdown(peer, SHUT_WR);
		sem_wait(&held);
		g_assert_false(atomic_load(&relaxed));
		fixture_close(&f);
		g_assert_true(atomic_load(&relaxed));
		close(peer);
		sem_destroy(&held);
	}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	fake_register();
	g_test_add_func("/kal/partings/waits-for-the-peer", test_waits_for_the_peer);
	g_test_add_func("/kal/partings/has-an-end", test_has_an_end);
	g_test_add_func("/kal/partings/bounded", test_bounded);
	g_test_add_func("/kal/partings/endless-octets", test_endless_octets);
	g_test_add_func("/kal/partings/waits-through-the-host", test_waits_through_the_host);
	return g_test_run();
}
