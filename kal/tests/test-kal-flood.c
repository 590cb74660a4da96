/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Many peers connect and send nothing, or little, or whole Requests that the consumer never
 * answers. A client that sends its Request must be served before the time limits of those peers
 * end; time stands still in this test, so they cannot end. The process must use no more descriptors
 * than the kAL allows, must not spin meanwhile, and must have as many descriptors as before at the
 * end. The peers are other processes, each with descriptors of its own.
 */

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kal_fixture.h"
#include "kal_request.h"

#define LISTEN_CTX 7
#define CROWDS     3
#define CROWD      400
#define ROOM       24 /* the limit of descriptors, where they are scarce */
#define PARTED     64 /* refused peers that have not hung up, at most [WIRE 8.17] */
#define SETTLED    8  /* sockets that are just accepted or just ending */

/* --- peers in other processes ----------------------------------------------------------------- */

/* Connect `count` times and send those octets each time; a count of 0: close all. Answered by one octet. */
struct order {
	uint16_t port;
	uint16_t count;
	uint16_t len;
	uint8_t octets[KAL_MPA_FRAME_MAX];
};

static struct {
	pid_t pid;
	int link;
} crowds[CROWDS];

static bool
knock(int fd, const struct order *order)
{
	struct sockaddr_in sin = {.sin_family = AF_INET,
				  .sin_port = order->port,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	return connect(fd, (struct sockaddr *)&sin, sizeof(sin)) == 0 &&
	       (order->len == 0 || send(fd, order->octets, order->len, MSG_NOSIGNAL) >= 0);
}

/* The main function of a process with many peers. */
static void
obey(int link)
{
	static int fds[4 * CROWD];
	struct order order;
	unsigned used = 0;

	while (recv(link, &order, sizeof(order), 0) == sizeof(order)) {
		char done = 'd';

		while (order.count == 0 && used > 0)
			close(fds[--used]);
		for (unsigned i = 0; i < order.count && used < G_N_ELEMENTS(fds); i++) {
			fds[used] = socket(AF_INET, SOCK_STREAM, 0);
			if (fds[used] < 0)
				done = 's';
			else if (!knock(fds[used++], &order) && errno != ECONNRESET &&
				 errno != EPIPE)
				done = 'f';
		}
		if (send(link, &done, 1, 0) != 1)
			break;
	}
	_exit(0);
}

/* Call before there are threads. */
static void
crowds_begin(void)
{
	for (int i = 0; i < CROWDS; i++) {
		int ends[2];

		g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), ==, 0);
		crowds[i].pid = fork();
		g_assert_cmpint(crowds[i].pid, >=, 0);
		if (crowds[i].pid == 0) {
			close(ends[0]);
			for (int j = 0; j < i; j++)
				close(crowds[j].link);
			obey(ends[1]);
		}
		close(ends[1]);
		crowds[i].link = ends[0];
	}
}

static void
crowds_end(void)
{
	for (int i = 0; i < CROWDS; i++) {
		close(crowds[i].link);
		g_assert_cmpint(waitpid(crowds[i].pid, NULL, 0), ==, crowds[i].pid);
	}
}

static void
crowd_send(int i, uint16_t port, unsigned count, const void *octets, size_t len)
{
	struct order order = {.port = port, .count = (uint16_t)count, .len = (uint16_t)len};

	if (len > 0)
		memcpy(order.octets, octets, len);
	g_assert_cmpint(send(crowds[i].link, &order, sizeof(order), 0), ==, sizeof(order));
}

static void
crowd_wait(int i)
{
	char done = 0;

	g_assert_cmpint(recv(crowds[i].link, &done, 1, 0), ==, 1);
	g_assert_cmpint(done, ==, 'd');
}

static void
crowds_leave(void)
{
	for (int i = 0; i < CROWDS; i++) {
		crowd_send(i, 0, 0, NULL, 0);
		crowd_wait(i);
	}
}

static size_t
request_octets(uint8_t *out)
{
	struct kal_mpa_frame frame = {.kind = KAL_MPA_REQUEST,
				      .revision = 1,
				      .crc = true,
				      .private_data = (const uint8_t *)"hello",
				      .private_len = 5};
	size_t len = kal_mpa_write(&frame, out, KAL_MPA_FRAME_MAX);

	g_assert_cmpuint(len, ==, KAL_MPA_HEADER_SIZE + 5);
	return len;
}

static void
refuse_next(struct fixture *f)
{
	struct kal_cm_req no = {.reason = KAL_REASON_CONSUMER};
	struct kal_cm_event event = fixture_cm(f, KAL_CM_REQUEST, LISTEN_CTX);

	g_assert_cmpuint(event.pdata_len, ==, 5);
	no.request = event.request;
	g_assert_cmpint(fixture_call(f, KAL_REJECT, &no, sizeof(no), NULL, 0), ==, RI_SUCCESS);
}

static void
be_served(struct fixture *f, uint16_t port)
{
	uint8_t buf[KAL_MPA_FRAME_MAX];
	size_t len = request_octets(buf);
	int fd RI_AT_END(ri_at_end_close) = raw_connect(false, port);

	raw_send(fd, buf, len);
	refuse_next(f);
	g_assert_true(raw_frame(fd, KAL_MPA_REPLY, buf).reject);
}

static void
test_silent(void)
{
	uint16_t port = 0;
	unsigned before;
	struct fixture f RI_AT_END(fixture_close) = fixture_open_on(fixture_frozen_host());

	fixture_listen(&f, LISTEN_CTX, &port, 5);
	before = raw_count_fds();
	for (int i = 0; i < CROWDS; i++)
		crowd_send(i, port, CROWD, NULL, 0);
	for (int i = 0; i < CROWDS; i++)
		crowd_wait(i);
	for (int i = 0; i < 20; i++)
		be_served(&f, port);
	raw_wait_fds(before + KAL_STARTS_MAX + PARTED + SETTLED);
	raw_wait_rest();
	/* Half of a header from each of that many more. */
	for (int i = 0; i < CROWDS; i++)
		crowd_send(i, port, CROWD, "MPA ID Req", 10);
	for (int i = 0; i < CROWDS; i++)
		crowd_wait(i);
	for (int i = 0; i < 20; i++)
		be_served(&f, port);
	raw_wait_fds(before + KAL_STARTS_MAX + PARTED + SETTLED);
	raw_wait_rest();
	crowds_leave();
	raw_wait_fds(before);
	raw_wait_rest();
}

/* So many whole Requests from each crowd. */
static void
crowds_ask(uint16_t port, unsigned count)
{
	uint8_t buf[KAL_MPA_FRAME_MAX];
	size_t len = request_octets(buf);

	for (int i = 0; i < CROWDS; i++)
		crowd_send(i, port, count, buf, len);
	for (int i = 0; i < CROWDS; i++)
		crowd_wait(i);
}

/* Whole Requests that nobody answers, and in the end their senders leave. */
static void
test_unanswered(void)
{
	const unsigned asking = 100;
	uint16_t port = 0;
	unsigned before;
	struct fixture f RI_AT_END(fixture_close) = fixture_open_on(fixture_frozen_host());

	fixture_listen(&f, LISTEN_CTX, &port, CROWDS * asking + 1);
	before = raw_count_fds();
	crowds_ask(port, asking);
	for (unsigned i = 0; i < CROWDS * asking; i++)
		g_assert_cmpuint(fixture_cm(&f, KAL_CM_REQUEST, LISTEN_CTX).pdata_len, ==, 5);
	raw_wait_fds(before + CROWDS * asking);
	raw_wait_rest();
	for (int i = 0; i < 20; i++)
		be_served(&f, port);
	crowds_leave();
	for (unsigned i = 0; i < CROWDS * asking; i++)
		fixture_cm(&f, KAL_CM_REQUEST_GONE, LISTEN_CTX);
	raw_wait_fds(before);
	raw_wait_rest();
	be_served(&f, port);
}

/* More of them than the consumer's backlog: the kernel keeps the others, and the next comes when one has left. */
static void
test_beyond_backlog(void)
{
	const unsigned backlog = 20, asking = 30;
	uint16_t port = 0;
	unsigned before;
	struct fixture f RI_AT_END(fixture_close) = fixture_open_on(fixture_frozen_host());

	fixture_listen(&f, LISTEN_CTX, &port, backlog);
	before = raw_count_fds();
	crowds_ask(port, asking);
	for (unsigned i = 0; i < backlog; i++)
		g_assert_cmpuint(fixture_cm(&f, KAL_CM_REQUEST, LISTEN_CTX).pdata_len, ==, 5);
	raw_wait_fds(before + backlog + KAL_STARTS_MAX + SETTLED);
	crowds_leave();
	raw_wait_fds(before);
	raw_wait_rest();
}

/* Which start-up is replaced: see kal_starts.c. */
static void
test_preference(void)
{
	uint16_t port = 0;
	uint8_t buf[KAL_MPA_FRAME_MAX], octet;
	size_t len = request_octets(buf);
	int silent[KAL_STARTS_MAX];
	struct fixture f RI_AT_END(fixture_close) = fixture_open_on(fixture_frozen_host());

	fixture_listen(&f, LISTEN_CTX, &port, 5);
	int part RI_AT_END(ri_at_end_close) = raw_connect(false, port);
	raw_send(part, buf, 1);
	int header RI_AT_END(ri_at_end_close) = raw_connect(false, port);
	raw_send(header, buf, KAL_MPA_HEADER_SIZE);
	for (int i = 0; i < KAL_STARTS_MAX; i++)
		silent[i] = raw_connect(false, port);
	/* Two too many: the two that were silent for longest are replaced. */
	g_assert_cmpint(raw_recv(silent[0], &octet, 1), <=, 0);
	g_assert_cmpint(raw_recv(silent[1], &octet, 1), <=, 0);
	raw_send(part, buf + 1, len - 1);
	refuse_next(&f);
	raw_send(header, buf + KAL_MPA_HEADER_SIZE, len - KAL_MPA_HEADER_SIZE);
	refuse_next(&f);
	/* All others are still connected. */
	for (int i = 2; i < KAL_STARTS_MAX; i++) {
		raw_send(silent[i], buf, len);
		refuse_next(&f);
	}
	for (int i = 0; i < KAL_STARTS_MAX; i++)
		close(silent[i]);
}

/* Peers that send one octet each do not replace those that are about to send their Request. */
static void
test_shares(void)
{
	uint16_t port = 0;
	uint8_t buf[KAL_MPA_FRAME_MAX];
	size_t len = request_octets(buf);
	int part[KAL_STARTS_MAX], late[KAL_START_SHARE - 1]; /* one more connects */
	struct fixture f RI_AT_END(fixture_close) = fixture_open_on(fixture_frozen_host());

	fixture_listen(&f, LISTEN_CTX, &port, 5);
	for (int i = 0; i < KAL_STARTS_MAX; i++) {
		part[i] = raw_connect(false, port);
		raw_send(part[i], buf, 1);
	}
	for (int i = 0; i < KAL_START_SHARE - 1; i++)
		late[i] = raw_connect(false, port);
	be_served(&f, port);
	for (int i = 0; i < KAL_START_SHARE - 1; i++) {
		raw_send(late[i], buf, len);
		refuse_next(&f);
		close(late[i]);
	}
	for (int i = 0; i < KAL_STARTS_MAX; i++)
		close(part[i]);
}

/* The limit that leaves exactly that many descriptors; numbers below others may be free. */
static rlim_t
limit_of(unsigned room)
{
	int fd = 0;

	for (;; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && room-- == 0)
			return (rlim_t)fd;
	}
}

/* A listener in a process that has few descriptors; *before is the limit to restore. Returns the port. */
static uint16_t
open_scarce(struct fixture *f, struct rlimit *before)
{
	struct rlimit less;
	uint16_t port = 0;

	*f = fixture_open_on(fixture_frozen_host());
	fixture_listen(f, LISTEN_CTX, &port, 5);
	g_assert_cmpint(getrlimit(RLIMIT_NOFILE, before), ==, 0);
	less = *before;
	less.rlim_cur = limit_of(ROOM);
	g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &less), ==, 0);
	return port;
}

/* The listener's process has few descriptors. */
static void
test_descriptors(void)
{
	struct rlimit limit;
	uint8_t buf[KAL_MPA_FRAME_MAX];
	size_t len = request_octets(buf);
	uint16_t port;

	if (fixture_no_descriptor_limit())
		return;
	struct fixture f RI_AT_END(fixture_close);
	port = open_scarce(&f, &limit);
	crowd_send(0, port, CROWD, NULL, 0);
	crowd_wait(0);
	for (int i = 0; i < 10; i++) {
		crowd_send(1, port, 1, buf, len);
		crowd_wait(1);
		refuse_next(&f);
	}
	g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
	crowds_leave();
}

/* Descriptors are short, and those who have been refused do not hang up. */
static void
test_partings(void)
{
	struct rlimit limit;
	uint8_t buf[KAL_MPA_FRAME_MAX];
	size_t len = request_octets(buf);
	uint16_t port;

	if (fixture_no_descriptor_limit())
		return;
	struct fixture f RI_AT_END(fixture_close);
	port = open_scarce(&f, &limit);
	for (int i = 0; i < 2 * ROOM; i++) {
		crowd_send(0, port, 1, buf, len);
		crowd_wait(0);
		refuse_next(&f);
	}
	g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
	crowds_leave();
}

int
main(int argc, char **argv)
{
	int result;

	g_test_init(&argc, &argv, NULL);
	crowds_begin();
	fake_register();
	g_test_add_func("/kal/flood/silent", test_silent);
	g_test_add_func("/kal/flood/unanswered", test_unanswered);
	g_test_add_func("/kal/flood/beyond-backlog", test_beyond_backlog);
	g_test_add_func("/kal/flood/preference", test_preference);
	g_test_add_func("/kal/flood/shares", test_shares);
	g_test_add_func("/kal/flood/descriptors", test_descriptors);
	g_test_add_func("/kal/flood/partings", test_partings);
	result = g_test_run();
	crowds_end();
	return result;
}
