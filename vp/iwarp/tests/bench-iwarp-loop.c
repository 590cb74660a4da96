/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The engine between two processes compared with plain TCP, both pinned, in turns: the cost of a message above
 * that of the socket. A tool for work on the engine; tools/bench has the published figures.
 *
 * Usage: bench-iwarp-loop [all | write | read | stream | rate | plain]
 */

#include "viw_node.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define AREA (8u << 20)

struct side {
	bool active;
	int fd;
	int ctl;
	struct node *node;
	struct end *end;
	struct chunk mem, peer;
};

static uint64_t
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void
sync_sides(struct side *s)
{
	char c = 0;

	g_assert_cmpint(write(s->ctl, &c, 1), ==, 1);
	g_assert_cmpint(read(s->ctl, &c, 1), ==, 1);
}

static void
pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
}

/* --- plain TCP ----------------------------------------------------------------------------- */

static void
raw_send(int fd, const void *buf, size_t len)
{
	const char *at = buf;

	while (len > 0) {
		ssize_t n = send(fd, at, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n > 0) {
			at += n;
			len -= (size_t)n;
		}
	}
}

static void
raw_recv(int fd, void *buf, size_t room, size_t len)
{
	while (len > 0) {
		ssize_t n = recv(fd, buf, len < room ? len : room, MSG_DONTWAIT);

		if (n > 0)
			len -= (size_t)n;
	}
}

static void
raw_setup(int fd)
{
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
}

static double
raw_ping(struct side *s, size_t size, unsigned n)
{
	static char buf[65536];
	uint64_t start = 0;

	for (unsigned i = 0; i < n + n / 10; i++) {
		if (i == n / 10)
			start = now();
		if (s->active)
			raw_send(s->fd, buf, size);
		raw_recv(s->fd, buf, sizeof(buf), size);
		if (!s->active)
			raw_send(s->fd, buf, size);
	}
	return (double)(now() - start) / n / 2;
}

static double
raw_stream(struct side *s, size_t size, unsigned n)
{
	static char buf[1 << 20];
	uint64_t start = now();

	for (unsigned i = 0; i < n; i++) {
		if (s->active)
			raw_send(s->fd, buf, size);
		else
			raw_recv(s->fd, buf, 256 * 1024, size);
	}
	if (s->active)
		raw_recv(s->fd, buf, 1, 1);
	else
		raw_send(s->fd, buf, 1);
	return (double)size * n / (double)(now() - start);
}

/* --- the adapter --------------------------------------------------------------------------- */

static void
open_end(struct side *s, bool crc)
{
	struct ri_qp_init init;
	struct ri_stream stream = end_stream(s->fd, s->active);

	s->node = node_new();
	init = end_defaults(s->node);
	init.max_sq_wr = 512;
	init.ird = init.ord = 16;
	s->end = end_new(s->node, &init);
	s->mem = chunk_new(s->node, AREA, ALL_RW);
	memset(s->mem.at, 1, AREA);
	stream.crc = crc;
	stream.ird = stream.ord = 16;
	g_assert_cmpint(write(s->ctl, &s->mem, sizeof(s->mem)), ==, sizeof(s->mem));
	g_assert_cmpint(read(s->ctl, &s->peer, sizeof(s->peer)), ==, sizeof(s->peer));
	g_assert_cmpint(end_attach(s->end, &stream), ==, RI_SUCCESS);
	end_wait_event(s->end, RI_EVENT_QP_STREAM_UP, NULL);
}

static void
close_end(struct side *s)
{
	end_free(&s->end);
	chunk_free(&s->mem);
	node_free(&s->node);
}

static void
post_write(struct side *s, size_t size, unsigned flags, bool read_op)
{
	struct ri_sge sge = {(uintptr_t)s->mem.at + AREA / 2, (uint32_t)size, s->mem.stag};
	struct ri_wr wr = {.sgl = &sge,
			   .num_sge = 1,
			   .opcode = read_op ? RI_OP_RDMA_READ : RI_OP_RDMA_WRITE,
			   .flags = flags};

	wr.u.remote.addr = (uintptr_t)s->peer.at;
	wr.u.remote.stag = s->peer.stag;
	while (s->node->p->fast->post_sq(s->end->uqp, &wr) == RI_ERR_QUEUE_FULL)
		continue;
}

static double
our_ping(struct side *s, size_t size, unsigned n)
{
	volatile uint8_t *last = s->mem.at + size - 1;
	struct ri_wc wc;
	uint64_t start = 0;

	for (unsigned i = 0; i < n + n / 10; i++) {
		uint8_t mark = (uint8_t)(i % 100 + 2);

		if (i == n / 10)
			start = now();
		s->mem.at[AREA / 2 + size - 1] = mark;
		if (s->active)
			post_write(s, size, i % 64 == 63 ? RI_WR_SIGNALED : 0, false);
		while (*last != mark)
			(void)end_poll(s->end, false, &wc);
		if (!s->active)
			post_write(s, size, i % 64 == 63 ? RI_WR_SIGNALED : 0, false);
	}
	return (double)(now() - start) / n / 2;
}

static double
our_read_trip(struct side *s, size_t size, unsigned n)
{
	struct ri_wc wc;
	uint64_t start = now();

	for (unsigned i = 0; s->active && i < n; i++) {
		post_write(s, size, RI_WR_SIGNALED, true);
		wc = end_wait(s->end, false, NULL);
		g_assert_cmpuint(wc.status, ==, RI_WC_SUCCESS);
	}
	return (double)(now() - start) / n;
}

/* Wait at the far side until everything has come, which the near side's last Send shows. */
static double
our_stream(struct side *s, size_t size, unsigned n, unsigned window, bool read_op)
{
	uint64_t start;
	unsigned every = window >= 4 ? window / 4 : 1;
	unsigned done = 0;

	g_assert_cmpint(end_recv(s->end, 1, &s->mem, 0, 0), ==, RI_SUCCESS);
	sync_sides(s);
	start = now();
	if (!s->active) {
		(void)end_wait_ok(s->end, true, 1, NULL);
		g_assert_cmpint(end_send(s->end, 2, &s->mem, 0, 0), ==, RI_SUCCESS);
		(void)end_wait_ok(s->end, false, 2, NULL);
		return 0;
	}
	for (unsigned i = 0; i < n; i++) {
		while (i - done >= window) {
			(void)end_wait(s->end, false, NULL);
			done += every;
		}
		post_write(s, size, i % every == every - 1 ? RI_WR_SIGNALED : 0, read_op);
	}
	for (; done + every <= n; done += every)
		(void)end_wait(s->end, false, NULL);
	g_assert_cmpint(end_send(s->end, 2, &s->mem, 0, 0), ==, RI_SUCCESS);
	(void)end_wait_ok(s->end, true, 1, NULL);
	double ns = (double)(now() - start);
	(void)end_wait_ok(s->end, false, 2, NULL);
	return (double)n / ns * 1e9;
}

/* --- cases --------------------------------------------------------------------------------- */

static void
tell(struct side *s, const char *what, double raw, double ours, bool more_is_better)
{
	if (s->active)
		printf("%-28s raw %12.2f  ours %12.2f  ratio %.3f\n", what, raw, ours, ours / raw);
	(void)more_is_better;
	fflush(stdout);
}

static void
run_case(struct side *s, const char *which, int ours_fd, bool crc)
{
	bool all = strcmp(which, "all") == 0;
	int raw_fd = s->fd;
	double raw, ours;

	raw_setup(raw_fd);
	s->fd = ours_fd;
	open_end(s, crc);
	for (unsigned r = 0; r < 3; r++) {
		s->fd = raw_fd;
		if (all || strcmp(which, "write") == 0) {
			sync_sides(s);
			raw = raw_ping(s, 64, 40000);
			sync_sides(s);
			ours = our_ping(s, 64, 40000);
			tell(s, "64 B write, ns", raw, ours, false);
		}
		if (all || strcmp(which, "read") == 0) {
			sync_sides(s);
			raw = 2 * raw_ping(s, 64, 20000);
			g_assert_cmpint(end_recv(s->end, 1, &s->mem, 0, 0), ==, RI_SUCCESS);
			sync_sides(s);
			ours = our_read_trip(s, 64, 20000);
			if (s->active) {
				g_assert_cmpint(end_send(s->end, 2, &s->mem, 0, 0), ==, RI_SUCCESS);
				(void)end_wait_ok(s->end, true, 1, NULL);
			} else {
				(void)end_wait_ok(s->end, true, 1, NULL);
				g_assert_cmpint(end_send(s->end, 2, &s->mem, 0, 0), ==, RI_SUCCESS);
			}
			(void)end_wait_ok(s->end, false, 2, NULL);
			tell(s, "64 B read, ns", raw, ours, false);
		}
		if (all || strcmp(which, "stream") == 0) {
			sync_sides(s);
			raw = raw_stream(s, 1 << 20, 4000);
			ours = our_stream(s, 1 << 20, 4000, 16, false) * (1 << 20) / 1e9;
			tell(s, "1 MiB write, GB/s", raw, ours, true);
			double reads = our_stream(s, 1 << 20, 4000, 16, true) * (1 << 20) / 1e9;
			tell(s, "1 MiB read to write, GB/s", ours, reads, true);
		}
		if (all || strcmp(which, "rate") == 0) {
			sync_sides(s);
			raw = raw_stream(s, 64, 200000) / 64 * 1e9;
			for (unsigned w = 1; w <= 256; w *= 4) {
				g_autofree char *name = g_strdup_printf("8 B writes, window %u", w);

				ours = our_stream(s, 8, 200000 / 256 * 256, w, false);
				tell(s, name, raw, ours, true);
			}
		}
	}
	sync_sides(s);
	close_end(s);
}

int
main(int argc, char **argv)
{
	const char *which = argc > 1 ? argv[1] : "all";
	bool crc = argc < 3;
	struct side s = {0};
	int raw[2], ours[2], ctl[2];

	tcp_pair(raw);
	tcp_pair(ours);
	g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, ctl), ==, 0);
	pid_t child = fork();
	s.active = child != 0;
	s.fd = raw[s.active];
	s.ctl = ctl[s.active];
	close(raw[!s.active]);
	close(ours[!s.active]);
	close(ctl[!s.active]);
	pin(s.active ? 1 : 2);
	run_case(&s, which, ours[s.active], crc);
	if (child == 0)
		return 0;
	int status = 0;
	waitpid(child, &status, 0);
	return status != 0;
}
