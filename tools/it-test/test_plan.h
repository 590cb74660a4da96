/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The plan of a run: operations, sizes, counts. The client reads it from its command line and sends
 * it to the server; both sides check it in the same way, since neither trusts the other.
 */
#ifndef TEST_PLAN_H
#define TEST_PLAN_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEST_OPS_MAX        64
#define TEST_SEGMENTS_MAX   16
#define TEST_LANES_MAX      1024
#define TEST_WINDOW_MAX     1024
#define TEST_ITERATIONS_MAX 1000000000
#define TEST_SIZE_MAX       (UINT64_C(1) << 30)
#define TEST_MEMORY_MAX     (UINT64_C(1) << 32) /* octets of all buffers of one side */

enum test_mode {
	TEST_TRANSACTIONS = 1,
	TEST_PERFORMANCE = 2,
};

enum test_kind {
	TEST_SEND = 1,
	TEST_WRITE = 2,
	TEST_READ = 3,
};

struct test_op {
	bool by_server; /* which side begins */
	enum test_kind kind;
	uint64_t size; /* octets of a segment */
	uint64_t segments;
};

struct test_plan {
	enum test_mode mode;
	uint64_t threads;
	uint64_t endpoints; /* of each thread */
	uint64_t iterations;
	bool poll;
	struct test_op ops[TEST_OPS_MAX]; /* performance: one, by the client */
	uint64_t op_count;
	uint64_t window;   /* performance: requests outstanding */
	uint64_t warmup;   /* performance: round trips before they are measured */
	uint64_t duration; /* performance, client: us of a phase; 0: the iterations decide */
	bool both;         /* performance: the server sends too */
	bool verify;       /* performance: data is verified */
};

/* Operations as words: client|server SR|RR|RW [size [segments]], as many as there are. */
bool test_plan_words(struct test_plan *plan, char **words, GError **error);

/*
 * Sizes of a sweep: numbers with commas between them, or LOW-HIGH for LOW, twice that and so on up to
 * HIGH. At most TEST_SIZES_MAX of them.
 */
#define TEST_SIZES_MAX 64
bool test_plan_sizes(const char *text, uint64_t sizes[TEST_SIZES_MAX], size_t *count,
		     GError **error);

/* "write", "read" or "send" (or RW, RR, SR). */
bool test_plan_kind(const char *word, enum test_kind *kind, GError **error);
const char *test_kind_text(enum test_kind kind);

/* Is everything, including the memory of all buffers, within its limits? */
bool test_plan_check(const struct test_plan *plan, GError **error);

/* Encoded for the peer. */
size_t test_plan_write(const struct test_plan *plan, void *octets, size_t room);
bool test_plan_read(struct test_plan *plan, void *octets, size_t len, GError **error);

uint64_t test_plan_lanes(const struct test_plan *plan);
uint64_t test_op_octets(const struct test_op *op); /* of all segments */

#endif /* TEST_PLAN_H */
