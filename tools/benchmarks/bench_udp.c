/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Calibrators over UDP on loopback: what the kernel's path costs whoever sends packets of RoCE v2 by sockets, without any of its
 * protocol. The sockets are not connected, since a connected one numbers its datagrams.
 *
 * raw-udp-spin    ping-pong of datagrams of `size` octets and HEAD more, both sides spin: ns of half a round trip
 * raw-udp-stream  `size` octets in packets of MTU, in runs (UDP_SEGMENT, UDP_GRO), at most BUDGET octets on their way; each run is
 *                 acknowledged: GB/s of payload
 * raw-udp-rate    the same with packets of `size` octets, `window` of them on their way: packets a second
 */
#include <errno.h>
#include <linux/udp.h>
#include <netinet/in.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench_raw.h"

#ifndef UDP_GRO
#define UDP_GRO 104
#endif

#define HEAD    16u /* BTH and CRC */
#define RETH    16u
#define MTU     4096u
#define RUN     60u /* packets */
#define RUN_MAX 65000u
#define BUDGET  163840u
#define ROOM    65536u

struct ends {
	int fd;
	struct sockaddr_in peer;
	char *buf;
};

static void
ends_open(struct ends *ends, int ctl)
{
	struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr = bench_place.own};
	socklen_t len = sizeof(own);
	int room = 4 * 1024 * 1024;
	int one = 1;

	ends->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (ends->fd < 0 || bind(ends->fd, (struct sockaddr *)&own, sizeof(own)) != 0 ||
	    getsockname(ends->fd, (struct sockaddr *)&own, &len) != 0)
		bench_die("bind: %s", strerror(errno));
	setsockopt(ends->fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	setsockopt(ends->fd, IPPROTO_UDP, UDP_GRO, &one, sizeof(one));
	bench_tell(ctl, &own.sin_port, sizeof(own.sin_port));
	ends->peer = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = bench_place.peer};
	bench_hear(ctl, &ends->peer.sin_port, sizeof(ends->peer.sin_port));
	ends->buf = bench_buffer(ROOM);
	bench_raw_second_thread();
}

static void
ends_close(struct ends *ends)
{
	close(ends->fd);
	free(ends->buf);
}

/* One call; `segment` octets a packet, or 0: it is one. */
static void
run_send(struct ends *ends, size_t len, uint16_t segment)
{
	alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(segment))] = {0};
	struct iovec octets = {.iov_base = ends->buf, .iov_len = len};
	struct msghdr message = {.msg_name = &ends->peer,
				 .msg_namelen = sizeof(ends->peer),
				 .msg_iov = &octets,
				 .msg_iovlen = 1};

	if (segment != 0 && segment < len) {
		struct cmsghdr *at = (struct cmsghdr *)(void *)control;

		message.msg_control = control;
		message.msg_controllen = sizeof(control);
		at->cmsg_level = IPPROTO_UDP;
		at->cmsg_type = UDP_SEGMENT;
		at->cmsg_len = CMSG_LEN(sizeof(segment));
		memcpy(CMSG_DATA(at), &segment, sizeof(segment));
	}
	while (sendmsg(ends->fd, &message, 0) < 0)
		if (errno != EAGAIN)
			bench_die("sendmsg: %s", strerror(errno));
}

/* The octets of the next datagram or run. */
static size_t
run_await(struct ends *ends)
{
	for (;;) {
		alignas(struct cmsghdr) char control[128];
		struct sockaddr_in from;
		struct iovec octets = {.iov_base = ends->buf, .iov_len = ROOM};
		struct msghdr message = {.msg_name = &from,
					 .msg_namelen = sizeof(from),
					 .msg_iov = &octets,
					 .msg_iovlen = 1,
					 .msg_control = control,
					 .msg_controllen = sizeof(control)};
		ssize_t n = recvmsg(ends->fd, &message, 0);

		if (n > 0)
			return (size_t)n;
		if (n < 0 && errno != EAGAIN)
			bench_die("recvmsg: %s", strerror(errno));
	}
}

static double
measure_spin(const struct bench_opts *opts, int ctl, bool active)
{
	uint64_t warm = opts->iters / 10 + 1;
	struct bench_turns turns;
	struct ends ends;
	double ns;

	ends_open(&ends, ctl);
	bench_turns_begin(&turns, opts);
	for (uint64_t i = 0; i < warm + opts->iters; i++) {
		if (i >= warm)
			bench_turn(&turns);
		if (active)
			run_send(&ends, opts->size + HEAD, 0);
		(void)run_await(&ends);
		if (!active)
			run_send(&ends, opts->size + HEAD, 0);
	}
	ns = bench_turns_end(&turns);
	ends_close(&ends);
	return ns / 2;
}

/* Send or receive `packets` of that length, at most `most` on their way, and their acknowledgements. Returns the seconds. */
static double
runs(const struct bench_opts *opts, int ctl, bool active, uint64_t packets, uint32_t len,
     uint64_t most)
{
	uint64_t run = RUN_MAX / len < RUN ? RUN_MAX / len : RUN;
	uint64_t under_way = 0;
	struct bench_taken taken;
	struct ends ends;

	(void)opts;
	if (run > (most + 1) / 2)
		run = (most + 1) / 2;
	ends_open(&ends, ctl);
	bench_begin(&taken);
	for (uint64_t left = packets; left > 0 || under_way > 0;) {
		uint64_t count = left < run ? left : run;

		if (active && count > 0 && under_way + count <= most) {
			run_send(&ends, count * len, (uint16_t)len);
			under_way += count;
			left -= count;
		} else if (active) {
			uint32_t acked;

			(void)run_await(&ends);
			memcpy(&acked, ends.buf, sizeof(acked));
			under_way -= acked;
		} else {
			uint32_t acked = (uint32_t)(run_await(&ends) / len);

			left -= acked;
			memcpy(ends.buf, &acked, sizeof(acked));
			run_send(&ends, HEAD + sizeof(acked), 0);
		}
	}
	bench_end(&taken, ctl, active);
	ends_close(&ends);
	return taken.seconds;
}

static double
measure_stream(const struct bench_opts *opts, int ctl, bool active)
{
	uint64_t packets = opts->iters * (opts->size / MTU);

	return (double)packets * MTU / runs(opts, ctl, active, packets, MTU + HEAD, BUDGET / MTU) /
	       1e9;
}

static double
measure_rate(const struct bench_opts *opts, int ctl, bool active)
{
	return (double)opts->iters / runs(opts, ctl, active, opts->iters,
					  (uint32_t)opts->size + HEAD + RETH, opts->window);
}

const struct bench_case bench_udp_cases[] = {
	{"raw-udp-spin", "ns", true, measure_spin},
	{"raw-udp-stream", "GB/s", true, measure_stream},
	{"raw-udp-rate", "msg/s", true, measure_rate},
	{NULL, NULL, false, NULL},
};
