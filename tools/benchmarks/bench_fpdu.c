/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Calibrators that show where the time of a short message goes. The first two are ping-pongs of one RDMA Write, ns of half a
 * round trip, both ends poll:
 *
 * raw-fpdu  the shortest program that speaks the protocol: the sender makes a header, copies the payload and sends both
 *           with their CRC; the receiver checks length, STag, range and CRC, and copies the payload to where the header says. As in
 *           raw-frame a second thread sleeps.
 * raw-code  the same, and each end also executes as many lines of code (64 octets of instructions, in an order that no
 *           prefetcher foresees), touches as many lines of data and has as many locked instructions as callgrind counts
 *           for ours: `--window` is the share in per cent. They do nothing. So what this adds is the price of any code of
 *           that size which runs after the kernel has used the same caches.
 * raw-one-code  the sender's half of raw-code, one way: frames a second, as raw-one-frame, with the code of a post and of a
 *           poll that finds its completion before the next one; the receiver only reads
 */
#include <errno.h>
#include <isa-l/crc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench_raw.h"

#define STAG     0x4711u
#define CRC_SEED 0xffffffffu

/* MPA, DDP and RDMAP of a tagged message; a packed copy of it is on the wire. */
struct header {
	uint16_t length;
	uint16_t control;
	uint32_t stag;
	uint64_t offset;
};

struct end {
	int fd;
	size_t size;      /* octets of the payload */
	size_t framed;    /* of the frame */
	char *memory;     /* of the application: one message */
	char *out, *in;   /* one frame each */
	char *cold;       /* data that raw-code touches */
	unsigned percent; /* 0: raw-fpdu */
};

static uint32_t
crc_of(const void *from, size_t len)
{
	return crc32_iscsi((unsigned char *)(uintptr_t)from, (int)len, CRC_SEED);
}

/* --- lines of code ------------------------------------------------------------------------ */

#if defined(__x86_64__)
#define RING 512 /* lines in all */
#define STEP 73  /* from a line to the next one that is executed; odd, so that all are */
/* What `tools/bench --instructions` counts. */
#define LINES_POST  99
#define LINES_PLACE 87
#define LINES_EMPTY 43 /* of them, those that a poll which finds nothing executes */
#define LINES_ONE   19 /* of a poll that finds a completion */

/*
 * Executes `lines` pieces of code, each 64 octets long, and returns. Each has ten instructions;
 * every second one reads a cache line of `data`, which has 16 KiB. Five pieces have a locked
 * instruction, in the places where our code has one: numbers 15, 35 and 55 (a post), 120 and 140 (a
 * poll that finds nothing). Piece i begins at bench_code_ring + 64 i.
 */
uint64_t bench_code_run(const char *begin, uint64_t lines, char *data);
extern const char bench_code_ring[];

__asm__("	.pushsection .text\n"
	"	.globl bench_code_run\n"
	"	.type bench_code_run, @function\n"
	"bench_code_run:\n"
	"	xor %eax, %eax\n"
	"	xor %ecx, %ecx\n"
	"	jmp *%rdi\n"
	"	.balign 64\n"
	"	.globl bench_code_ring\n"
	"bench_code_ring:\n"
	"	.set i, 0\n"
	"	.rept 512\n"
	"	.balign 64\n"
	"	add %rsi, %rax\n"
	"	rol $3, %rax\n"
	"	.if (i == 71) || (i == 507) || (i == 431) || (i == 56) || (i == 492)\n"
	"	lock xorq $0, (%rdx, %rcx)\n"
	"	.elseif i & 1\n"
	"	xor (%rdx, %rcx), %rax\n"
	"	.else\n"
	"	xor %rdx, %rax\n"
	"	.endif\n"
	"	add $0x949, %rcx\n"
	"	and $0x3fc0, %rcx\n"
	"	lea 1(%rax, %rcx), %rax\n"
	"	btc $5, %rax\n"
	"	dec %rsi\n"
	"	jz 1f\n"
	"	jmp bench_code_ring + ((i + 73) % 512) * 64\n"
	"	.set i, i + 1\n"
	"	.endr\n"
	"	.balign 64\n"
	"1:	ret\n"
	"	.size bench_code_run, . - bench_code_run\n"
	"	.popsection\n");

/* The first line after `before` executed ones. */
static const char *
line_after(unsigned before)
{
	return bench_code_ring + (size_t)before * STEP % RING * 64;
}

static void
execute(const struct end *end, unsigned before, unsigned lines)
{
	lines = lines * end->percent / 100;
	if (lines > 0)
		(void)bench_code_run(line_after(before * end->percent / 100), lines, end->cold);
}
#else
#define LINES_POST  0
#define LINES_PLACE 0
#define LINES_EMPTY 0
#define LINES_ONE   0

static void
execute(const struct end *end, unsigned before, unsigned lines)
{
	(void)before;
	(void)lines;
	if (end->percent != 0)
		bench_die("raw-code is written for amd64");
}
#endif

/* --- frames --------------------------------------------------------------------------------- */

static void
post(struct end *end)
{
	struct header header = {.length = (uint16_t)(end->framed - 6), .stag = STAG};
	uint32_t crc;

	execute(end, 0, LINES_POST);
	memcpy(end->out, &header, sizeof(header));
	memcpy(end->out + sizeof(header), end->memory, end->size);
	crc = crc_of(end->out, sizeof(header) + end->size);
	memcpy(end->out + sizeof(header) + end->size, &crc, sizeof(crc));
	bench_raw_send(end->fd, end->out, end->framed);
}

static void
place(struct end *end)
{
	struct header header;
	uint32_t crc;

	execute(end, LINES_POST + LINES_EMPTY, LINES_PLACE - LINES_EMPTY);
	memcpy(&header, end->in, sizeof(header));
	memcpy(&crc, end->in + sizeof(header) + end->size, sizeof(crc));
	if (header.length != end->framed - 6 || header.stag != STAG || header.offset > 0 ||
	    crc != crc_of(end->in, sizeof(header) + end->size))
		bench_die("a wrong frame came");
	memcpy(end->memory + header.offset, end->in + sizeof(header), end->size);
}

/* Polls until a frame is there and placed. */
static void
await(struct end *end)
{
	size_t have = 0;

	while (have < end->framed) {
		ssize_t n;

		execute(end, LINES_POST, LINES_EMPTY);
		n = recv(end->fd, end->in + have, end->framed - have, 0);
		if (n == 0 || (n < 0 && errno != EAGAIN))
			bench_die("recv: the peer is gone");
		have += n > 0 ? (size_t)n : 0;
	}
	place(end);
}

static struct end
end_open(const struct bench_opts *opts, int ctl, bool active, bool block, unsigned percent)
{
	struct end end = {
		.fd = bench_raw_pair(ctl, active, block),
		.size = opts->size,
		.framed = sizeof(struct header) + opts->size + sizeof(uint32_t),
		.percent = percent,
	};

	if (end.framed > UINT16_MAX)
		bench_die("a frame holds 65,515 octets at most");
	bench_raw_second_thread();
	end.memory = bench_buffer(end.size);
	end.out = bench_buffer(end.framed);
	end.in = bench_buffer(BENCH_READ_SIZE > end.framed ? BENCH_READ_SIZE : end.framed);
	end.cold = bench_buffer(16384);
	return end;
}

static void
end_close(struct end *end)
{
	close(end->fd);
	free(end->memory);
	free(end->out);
	free(end->in);
	free(end->cold);
}

static double
ping_pong(const struct bench_opts *opts, int ctl, bool active, unsigned percent)
{
	struct end end = end_open(opts, ctl, active, false, percent);
	uint64_t warm = opts->iters / 10 + 1;
	uint64_t start = 0;

	for (uint64_t i = 0; i < warm + opts->iters; i++) {
		if (i == warm)
			start = bench_now();
		if (active)
			post(&end);
		await(&end);
		if (!active)
			post(&end);
	}
	start = bench_now() - start;
	end_close(&end);
	return (double)start / (double)opts->iters / 2;
}

/* One after the other, each with the code of a post and of a poll for its completion; nobody looks at them. */
static double
one_code(const struct bench_opts *opts, int ctl, bool active)
{
	struct end end = end_open(opts, ctl, active, opts->block, opts->window);
	uint64_t warm = opts->iters / 10 + 1;
	uint64_t start = 0;

	for (uint64_t i = 0; active && i < warm + opts->iters; i++) {
		if (i == warm)
			start = bench_now();
		post(&end);
		execute(&end, LINES_POST, LINES_ONE);
	}
	if (!active) {
		bench_raw_receive(end.fd, end.in, BENCH_READ_SIZE, warm * end.framed);
		start = bench_now();
		bench_raw_receive(end.fd, end.in, BENCH_READ_SIZE, opts->iters * end.framed);
		bench_raw_send(end.fd, end.out, 1);
	} else {
		bench_raw_receive(end.fd, end.in, 1, 1);
	}
	start = bench_now() - start;
	end_close(&end);
	return (double)opts->iters * 1e9 / (double)start;
}

static double
measure_fpdu(const struct bench_opts *opts, int ctl, bool active)
{
	return ping_pong(opts, ctl, active, 0);
}

static double
measure_code(const struct bench_opts *opts, int ctl, bool active)
{
	return ping_pong(opts, ctl, active, opts->window);
}

const struct bench_case bench_fpdu_cases[] = {
	{"raw-fpdu", "ns", true, measure_fpdu},
	{"raw-code", "ns", true, measure_code},
	{"raw-one-code", "msg/s", true, one_code},
	{NULL, NULL, false, NULL},
};
