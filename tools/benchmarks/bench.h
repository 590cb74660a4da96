/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * One run of one case of the bench: a figure of ours or a calibrator. tools/bench calls this program
 * many times, ours and calibrator in turn, and makes ratios of the pairs.
 *
 * Most cases have two processes: the parent is the active side and measures, its child is the
 * passive side. They share a control socket to swap ports, keys and "ready".
 */
#ifndef BENCH_H
#define BENCH_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_opts {
	const char *name;    /* of the case */
	const char *adapter; /* IT-API adapter */
	const char *op;      /* write, send, read; of it-guard see there */
	size_t size;         /* octets of a message */
	unsigned window;     /* messages outstanding */
	bool block;          /* sleep instead of poll */
	bool crc_off; /* of a calibrator that sends frames; the library has its own setting */
	int core_a;   /* active side */
	int core_b;   /* passive side */
	unsigned
		upto; /* of ping-pongs: the time that this many of 10,000 turns do not exceed; 0: the mean */
	uint64_t iters; /* messages, round trips or posts */
};

/* A case. `run` gets the control socket and whether it is the active side; returns the figure. */
struct bench_case {
	const char *name;
	const char *unit;
	bool two; /* two processes */
	double (*run)(const struct bench_opts *opts, int ctl, bool active);
};

/* What a part of a run took. */
struct bench_taken {
	double seconds;
	double processor; /* seconds of processors, of both processes; only the active side knows */
};

#define BENCH_GIB ((double)(1 << 30))

/* The turns of a ping-pong, and what one takes: the mean, or what `upto` says, for which each one is timed. */
struct bench_turns {
	uint64_t *at; /* when each began; NULL: only the first is timed */
	uint64_t begun;
	uint64_t count;
	unsigned upto;
};

/* Where the two sides are. Set before the second process begins; each side then has its own. */
struct bench_place {
	struct in_addr own;
	struct in_addr peer;
	bool near; /* on the loopback interface */
};

extern struct bench_place bench_place;

extern const struct bench_case bench_raw_cases[];
extern const struct bench_case bench_udp_cases[];
extern const struct bench_case bench_frames_cases[];
extern const struct bench_case bench_fpdu_cases[];
extern const struct bench_case bench_mem_cases[];
extern const struct bench_case bench_itapi_cases[];
extern const struct bench_case bench_guard_cases[];
extern const struct bench_case bench_many_cases[];
extern const struct bench_case bench_scale_cases[];

uint64_t bench_now(void); /* ns, monotonic */
void bench_begin(struct bench_taken *taken);
void bench_end(struct bench_taken *taken, int ctl, bool active); /* both sides call it, in step */
void bench_turns_begin(struct bench_turns *turns, const struct bench_opts *opts);
void bench_turn(struct bench_turns *turns);        /* the next turn begins */
double bench_turns_end(struct bench_turns *turns); /* the last one has ended; ns */
void bench_pin(int core);
char *bench_buffer(size_t size); /* whole pages, touched */
void bench_tell(int ctl, const void *buf, size_t len);
void bench_hear(int ctl, void *buf, size_t len);
void bench_sync(int ctl); /* both sides are here */
__attribute__((noreturn, format(printf, 1, 2))) void bench_die(const char *format, ...);

#endif /* BENCH_H */
