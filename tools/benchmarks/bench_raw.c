/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Calibrators over TCP, on loopback or between two networks: what the machine can do without us.
 *
 * raw-spin      ping-pong, non-blocking, both sides spin: ns of half a round trip
 * raw-block     the same, blocking
 * raw-memory    the same, both sides spin on memory that a second thread writes, which sleeps in recv() and shares the
 *               processor: what a program pays that awaits an RDMA Write by looking at its memory
 * raw-stream    messages of `size` written, 256 KiB reads, blocking (--block) or spinning: GB/s,
 *               ends with an answer of the peer
 * raw-cost      as raw-stream: seconds of processors that both processes use for 1 GiB
 * raw-one-send  one send() of `size` octets a message: messages a second, ends with an answer
 * raw-frame     as raw-spin, with what nobody can leave out who sends frames of RDMAP: 20 octets more than `size`
 *               (MPA 2, DDP and RDMAP 14, CRC 4), and a second thread, asleep, that serves connections. Since
 *               there is one, the kernel counts references to the descriptor at each call
 * raw-one-frame  as raw-one-send, with the same 20 octets and the same second thread
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench_raw.h"

#define FRAME_OCTETS 20 /* beside the payload */

static void
prepare_socket(int fd, bool block)
{
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (bench_place.near)
		setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
	if (!block)
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

int
bench_raw_pair(int ctl, bool active, bool block)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_addr = active ? bench_place.peer : bench_place.own};
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int conn;

	if (fd < 0)
		bench_die("socket: %s", strerror(errno));
	if (active) {
		bench_hear(ctl, &addr.sin_port, sizeof(addr.sin_port));
		if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) != 0)
			bench_die("connect: %s", strerror(errno));
		prepare_socket(fd, block);
		return fd;
	}
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) != 0 || listen(fd, 1) != 0 ||
	    getsockname(fd, (struct sockaddr *)&addr, &len) != 0)
		bench_die("listen: %s", strerror(errno));
	bench_tell(ctl, &addr.sin_port, sizeof(addr.sin_port));
	conn = accept(fd, NULL, NULL);
	if (conn < 0)
		bench_die("accept: %s", strerror(errno));
	close(fd);
	prepare_socket(conn, block);
	return conn;
}

void
bench_raw_send(int fd, const char *buf, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, buf, len, MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN)
			bench_die("send: %s", strerror(errno));
		if (n > 0) {
			buf += n;
			len -= (size_t)n;
		}
	}
}

void
bench_raw_receive(int fd, char *buf, size_t room, uint64_t total)
{
	while (total > 0) {
		ssize_t n = recv(fd, buf, total < room ? (size_t)total : room, 0);

		if (n == 0 || (n < 0 && errno != EAGAIN))
			bench_die("recv: the peer is gone");
		if (n > 0)
			total -= (uint64_t)n;
	}
}

/* How a side of a ping-pong awaits a message. */
enum await {
	SPINNING,
	BLOCKING,
	BY_MEMORY
};

/* The thread that receives for one that looks at memory. */
struct receiver {
	pthread_t thread;
	int fd;
	size_t size;
	uint64_t count; /* messages to receive */
	atomic_uint_fast64_t arrived;
};

static void *
receive_all(void *arg)
{
	struct receiver *receiver = arg;
	char *buf = bench_buffer(receiver->size);

	for (uint64_t i = 1; i <= receiver->count; i++) {
		bench_raw_receive(receiver->fd, buf, receiver->size, receiver->size);
		atomic_store(&receiver->arrived, i);
	}
	free(buf);
	return NULL;
}

static double
ping_pong(const struct bench_opts *opts, int ctl, bool active, enum await await)
{
	int fd = bench_raw_pair(ctl, active, await != SPINNING);
	char *buf = bench_buffer(opts->size);
	uint64_t warm = opts->iters / 10 + 1;
	struct receiver receiver = {.fd = fd, .size = opts->size, .count = warm + opts->iters};
	struct bench_turns turns;
	double ns;

	if (await == BY_MEMORY &&
	    pthread_create(&receiver.thread, NULL, receive_all, &receiver) != 0)
		bench_die("no thread");
	bench_turns_begin(&turns, opts);
	for (uint64_t i = 0; i < receiver.count; i++) {
		if (i >= warm)
			bench_turn(&turns);
		if (active)
			bench_raw_send(fd, buf, opts->size);
		if (await == BY_MEMORY)
			while (atomic_load_explicit(&receiver.arrived, memory_order_acquire) <= i)
				continue;
		else
			bench_raw_receive(fd, buf, opts->size, opts->size);
		if (!active)
			bench_raw_send(fd, buf, opts->size);
	}
	ns = bench_turns_end(&turns);
	if (await == BY_MEMORY)
		pthread_join(receiver.thread, NULL);
	close(fd);
	free(buf);
	return ns / 2;
}

static double
measure_spinning(const struct bench_opts *opts, int ctl, bool active)
{
	return ping_pong(opts, ctl, active, SPINNING);
}

static double
measure_blocking(const struct bench_opts *opts, int ctl, bool active)
{
	return ping_pong(opts, ctl, active, BLOCKING);
}

static double
measure_by_memory(const struct bench_opts *opts, int ctl, bool active)
{
	return ping_pong(opts, ctl, active, BY_MEMORY);
}

static void *
sleep_long(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

void
bench_raw_second_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, sleep_long, NULL) != 0)
		bench_die("no thread");
}

static double
measure_frame(const struct bench_opts *opts, int ctl, bool active)
{
	struct bench_opts framed = *opts;

	framed.size += FRAME_OCTETS;
	bench_raw_second_thread();
	return ping_pong(&framed, ctl, active, SPINNING);
}

/* What `iters` messages take, the peer's answer included. */
static struct bench_taken
one_way(const struct bench_opts *opts, int ctl, bool active)
{
	int fd = bench_raw_pair(ctl, active, opts->block);
	size_t room = opts->size > BENCH_READ_SIZE ? opts->size : BENCH_READ_SIZE;
	char *buf = bench_buffer(room);
	uint64_t warm = opts->iters / 10 + 1;
	struct bench_taken taken;
	char c = 'e';

	if (active) {
		for (uint64_t i = 0; i < warm; i++)
			bench_raw_send(fd, buf, opts->size);
		bench_raw_receive(fd, &c, 1, 1);
	} else {
		bench_raw_receive(fd, buf, BENCH_READ_SIZE, warm * opts->size);
		bench_raw_send(fd, &c, 1);
	}
	bench_begin(&taken);
	if (active) {
		for (uint64_t i = 0; i < opts->iters; i++)
			bench_raw_send(fd, buf, opts->size);
		bench_raw_receive(fd, &c, 1, 1);
	} else {
		bench_raw_receive(fd, buf, BENCH_READ_SIZE, opts->iters * opts->size);
		bench_raw_send(fd, &c, 1);
	}
	bench_end(&taken, ctl, active);
	close(fd);
	free(buf);
	return taken;
}

static double
measure_stream(const struct bench_opts *opts, int ctl, bool active)
{
	struct bench_taken taken = one_way(opts, ctl, active);

	return (double)opts->iters * (double)opts->size / taken.seconds / 1e9;
}

static double
measure_cost(const struct bench_opts *opts, int ctl, bool active)
{
	struct bench_taken taken = one_way(opts, ctl, active);

	return taken.processor / ((double)opts->iters * (double)opts->size / BENCH_GIB);
}

static double
one_send(const struct bench_opts *opts, int ctl, bool active)
{
	return (double)opts->iters / one_way(opts, ctl, active).seconds;
}

static double
one_frame(const struct bench_opts *opts, int ctl, bool active)
{
	struct bench_opts framed = *opts;

	framed.size += FRAME_OCTETS;
	bench_raw_second_thread();
	return one_send(&framed, ctl, active);
}

const struct bench_case bench_raw_cases[] = {
	{"raw-spin", "ns", true, measure_spinning},
	{"raw-block", "ns", true, measure_blocking},
	{"raw-frame", "ns", true, measure_frame},
	{"raw-stream", "GB/s", true, measure_stream},
	{"raw-cost", "s/GiB", true, measure_cost},
	{"raw-one-send", "msg/s", true, one_send},
	{"raw-one-frame", "msg/s", true, one_frame},
	{"raw-memory", "ns", true, measure_by_memory},
	{NULL, NULL, false, NULL},
};
