/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Listeners whose spigot gets other addresses: they accept at the present addresses, at the same port, and the client
 * gets an event. All of 127.0.0.0/8 belongs to this machine.
 */

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kal_fixture.h"

#define LISTEN_CTX 0x2222
#define PATIENCE   (60 * G_USEC_PER_SEC)

static struct ri_addr
loopback(uint8_t last)
{
	return (struct ri_addr){.family = RI_ADDR_IPV4, .octets = {127, 0, 0, last}};
}

/* A connection from any local address: its descriptor, or -1 if nobody listens. */
static int
try_connect(uint8_t last, uint16_t port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = port};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK + last - 1u);
	if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0)
		return fd;
	/* A listener that is destroyed meanwhile resets the connection. */
	g_assert_true(errno == ECONNREFUSED || errno == ECONNRESET);
	close(fd);
	return -1;
}

/* Wait until the listener accepts at that address, or no longer does. */
static void
await(uint8_t last, uint16_t port, bool there)
{
	const gint64 end = g_get_monotonic_time() + PATIENCE;
	bool found = !there;

	while (found != there) {
		int fd = try_connect(last, port);

		found = fd >= 0;
		if (found)
			raw_abort(fd);
		g_assert_cmpint(g_get_monotonic_time(), <, end);
	}
}

/* Connections of the attempts above are closed one after the other. */
static void
await_descriptors(unsigned count)
{
	const gint64 end = g_get_monotonic_time() + PATIENCE;

	while (raw_count_fds() != count) {
		g_usleep(1000);
		g_assert_cmpint(g_get_monotonic_time(), <, end);
	}
}

/* The next event is that of spigot 0. */
static void
expect_change(struct fixture *f)
{
	struct kal_event event = fixture_event(f);

	g_assert_cmpuint(event.kind, ==, KAL_EVENT_ASYNC);
	g_assert_cmpuint(event.u.async.event, ==, RI_EVENT_PORT_CHANGE);
	g_assert_cmpuint(event.u.async.object, ==, RI_OBJECT_PORT);
	g_assert_cmpuint(event.u.async.ctx, ==, 0);
}

static void
move(struct fixture *f, uint8_t last)
{
	const struct ri_addr addr = loopback(last);

	fake_move(&addr);
	expect_change(f);
}

static void
test_moves(void)
{
	unsigned open;
	uint16_t port = 0;
	uint32_t listener;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	listener = fixture_listen(&f, LISTEN_CTX, &port, 5);
	open = raw_count_fds();
	await(1, port, true);
	move(&f, 2);
	await(2, port, true);
	await(1, port, false);
	move(&f, 3);
	await(3, port, true);
	await(2, port, false);
	raw_abort(raw_connect(true, port)); /* the other address is still there */
	await_descriptors(open);
	g_assert_cmpint(fixture_id(&f, KAL_LISTEN_DESTROY, listener), ==, RI_SUCCESS);
	g_assert_cmpint(try_connect(3, port), ==, -1);
	move(&f, 1); /* no listener is left */
	g_assert_cmpint(try_connect(1, port), ==, -1);
}

/* An address that is not available now is used when it is. */
static void
test_not_yet(void)
{
	const struct ri_addr foreign = {.family = RI_ADDR_IPV4, .octets = {192, 0, 2, 77}};
	uint16_t port = 0;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	fixture_listen(&f, LISTEN_CTX, &port, 5);
	fake_move(&foreign);
	expect_change(&f);
	await(1, port, false);
	move(&f, 1);
	await(1, port, true);
}

/* Another process has the port at one address: the listener accepts at the others, and there too when it is free. */
static void
test_taken(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	int other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	uint16_t port = 0;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	fixture_listen(&f, LISTEN_CTX, &port, 5);
	at.sin_port = port;
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
	g_assert_cmpint(bind(other, (const struct sockaddr *)&at, sizeof(at)), ==, 0);
	move(&f, 2);
	await(1, port, false);
	raw_abort(raw_connect(true, port));
	close(other);
	move(&f, 2);
	await(2, port, true);
}

/* Listeners are created and destroyed while the addresses change. */
static void *
move_on(void *arg)
{
	const int *stop = arg;

	for (unsigned i = 0; !g_atomic_int_get(stop); i++) {
		const struct ri_addr addr = loopback((uint8_t)(1 + i % 3));

		fake_move(&addr);
	}
	return NULL;
}

static void
test_churn(void)
{
	struct kal_event event;
	pthread_t thread;
	int stop = 0;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	g_assert_cmpint(pthread_create(&thread, NULL, move_on, &stop), ==, 0);
	for (unsigned i = 0; i < 200; i++) {
		uint16_t port = 0;
		uint32_t listener = fixture_listen(&f, LISTEN_CTX, &port, 5);

		while (kal_next_event(f.client, &event))
			;
		g_assert_cmpint(fixture_id(&f, KAL_LISTEN_DESTROY, listener), ==, RI_SUCCESS);
	}
	g_atomic_int_set(&stop, 1);
	pthread_join(thread, NULL);
	while (kal_next_event(f.client, &event))
		;
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	fake_register();
	g_test_add_func("/kal/follow/moves", test_moves);
	g_test_add_func("/kal/follow/not-yet", test_not_yet);
	g_test_add_func("/kal/follow/taken", test_taken);
	g_test_add_func("/kal/follow/churn", test_churn);
	return g_test_run();
}
