/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * raw-frames  calibrator: a stream of messages of `size` octets over TCP as raw-stream, GB/s, but in frames as RDMAP has
 *             them, by the shortest program that does what the protocol wants
 * raw-frames-cost  the same: seconds of processors that both processes use for 1 GiB
 *
 * A frame has a header of 16 octets (MPA 2, DDP and RDMAP 14), up to 64 KiB, and a CRC. The sender copies the payload and
 * sends the CRC of the copy; without CRC it sends from the application's memory. The receiver knows where the payload goes
 * only when it has the header, so it asks the kernel once for each frame: for the payload, in place, and behind it the CRC
 * and the next header. What is between raw-stream and this is the price of the protocol; the rest is ours.
 */
#include <errno.h>
#include <isa-l/crc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "bench_raw.h"

#define HEADER      16
#define TRAILER     4
#define PAYLOAD_MAX 65456 /* so that a frame fills a segment of loopback */
#define CRC_SEED    0xffffffffu

struct stream {
	int fd;
	bool crc;
	size_t size;         /* octets of a message */
	char *memory;        /* of the application: one message */
	unsigned char *copy; /* the sender's: one frame */
	unsigned char
		edge[TRAILER + HEADER]; /* the receiver's: end of a frame, header of the next */
};

static uint32_t
crc_of(const void *from, size_t len, uint32_t so_far)
{
	return crc32_iscsi((unsigned char *)(uintptr_t)from, (int)len, so_far);
}

/* Octets of the payload of the frame that begins at octet `at` of a message. */
static size_t
payload_at(const struct stream *s, size_t at)
{
	return s->size - at < PAYLOAD_MAX ? s->size - at : PAYLOAD_MAX;
}

static void
send_parts(int fd, struct iovec *parts, int count)
{
	while (count > 0) {
		struct msghdr msg = {.msg_iov = parts, .msg_iovlen = (size_t)count};
		ssize_t n = sendmsg(fd, &msg, MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN)
			bench_die("sendmsg: %s", strerror(errno));
		for (; n > 0 && count > 0; parts++, count--) {
			size_t part = (size_t)n < parts->iov_len ? (size_t)n : parts->iov_len;

			parts->iov_base = (char *)parts->iov_base + part;
			parts->iov_len -= part;
			n -= (ssize_t)part;
			if (parts->iov_len > 0)
				break;
		}
	}
}

static void
send_frame(struct stream *s, size_t at)
{
	size_t len = payload_at(s, at);
	uint32_t crc;

	memset(s->copy, 0, HEADER);
	memcpy(s->copy, &len, sizeof(uint32_t));
	if (!s->crc) {
		struct iovec parts[] = {
			{s->copy, HEADER}, {s->memory + at, len}, {s->copy + HEADER, TRAILER}};

		send_parts(s->fd, parts, 3);
		return;
	}
	memcpy(s->copy + HEADER, s->memory + at, len);
	crc = crc_of(s->copy, HEADER + len, CRC_SEED);
	memcpy(s->copy + HEADER + len, &crc, TRAILER);
	bench_raw_send(s->fd, (const char *)s->copy, HEADER + len + TRAILER);
}

/* Receives the payload, and behind it `more` octets of s->edge. */
static void
receive_parts(struct stream *s, char *payload, size_t len, size_t more)
{
	struct iovec parts[] = {{payload, len}, {s->edge, more}};

	while (parts[0].iov_len + parts[1].iov_len > 0) {
		struct msghdr msg = {.msg_iov = parts, .msg_iovlen = 2};
		ssize_t n = recvmsg(s->fd, &msg, 0);

		if (n == 0 || (n < 0 && errno != EAGAIN))
			bench_die("recvmsg: the peer is gone");
		for (int i = 0; n > 0 && i < 2; i++) {
			size_t part = (size_t)n < parts[i].iov_len ? (size_t)n : parts[i].iov_len;

			parts[i].iov_base = (char *)parts[i].iov_base + part;
			parts[i].iov_len -= part;
			n -= (ssize_t)part;
		}
	}
}

/* Receives the frame whose header is the end of s->edge; with `last` no other one follows. */
static void
receive_frame(struct stream *s, size_t at, bool last)
{
	unsigned char header[HEADER];
	uint32_t len;
	uint32_t crc;

	memcpy(header, s->edge + TRAILER, HEADER);
	memcpy(&len, header, sizeof(len));
	if (len != payload_at(s, at))
		bench_die("a frame of %u octets came", len);
	receive_parts(s, s->memory + at, len, last ? TRAILER : TRAILER + HEADER);
	if (!s->crc)
		return;
	crc = crc_of(s->memory + at, len, crc_of(header, HEADER, CRC_SEED));
	if (memcmp(&crc, s->edge, TRAILER) != 0)
		bench_die("a frame has a wrong CRC");
}

/* `count` messages, and the receiver's answer to all of them. */
static void
transfer(struct stream *s, bool active, uint64_t count)
{
	char answer = 'e';

	if (!active)
		bench_raw_receive(s->fd, (char *)s->edge + TRAILER, HEADER, HEADER);
	for (uint64_t i = 0; i < count; i++) {
		for (size_t at = 0; at < s->size; at += payload_at(s, at)) {
			if (active)
				send_frame(s, at);
			else
				receive_frame(s, at,
					      i + 1 == count && at + payload_at(s, at) == s->size);
		}
	}
	if (active)
		bench_raw_receive(s->fd, &answer, 1, 1);
	else
		bench_raw_send(s->fd, &answer, 1);
}

static struct bench_taken
one_way(const struct bench_opts *opts, int ctl, bool active)
{
	struct stream s = {.fd = bench_raw_pair(ctl, active, opts->block),
			   .crc = !opts->crc_off,
			   .size = opts->size,
			   .memory = bench_buffer(opts->size),
			   .copy = (unsigned char *)bench_buffer(HEADER + PAYLOAD_MAX + TRAILER)};
	struct bench_taken taken;

	transfer(&s, active, opts->iters / 10 + 1);
	bench_begin(&taken);
	transfer(&s, active, opts->iters);
	bench_end(&taken, ctl, active);
	close(s.fd);
	free(s.memory);
	free(s.copy);
	return taken;
}

static double
measure_frames(const struct bench_opts *opts, int ctl, bool active)
{
	return (double)opts->iters * (double)opts->size / one_way(opts, ctl, active).seconds / 1e9;
}

static double
measure_cost(const struct bench_opts *opts, int ctl, bool active)
{
	return one_way(opts, ctl, active).processor /
	       ((double)opts->iters * (double)opts->size / BENCH_GIB);
}

const struct bench_case bench_frames_cases[] = {
	{"raw-frames", "GB/s", true, measure_frames},
	{"raw-frames-cost", "s/GiB", true, measure_cost},
	{NULL, NULL, false, NULL},
};
