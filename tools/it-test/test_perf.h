/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Code that the phases of a measurement share: sources and targets of messages, receives, and data
 * that is verified. Behind the token area a lane has two areas of slots on both sides. Messages are
 * sent from `out` and arrive in `in`; the number of a message selects the slot. Sends arrive in the
 * slots of receives, Writes in the peer's `in`, Reads take data from the peer's `out`.
 */
#ifndef TEST_PERF_H
#define TEST_PERF_H

#include "test_lane.h"

/* Receives beyond those for data: for a command, grants, the final token, and one spare. */
#define TEST_PERF_EXTRA 6

enum test_perf_word {
	TEST_PERF_TRIPS = 1, /* command of the client: that many round trips */
	TEST_PERF_STREAM,    /* command: a stream of that many messages */
	TEST_PERF_END,       /* command: the end */
	TEST_PERF_GRANT,     /* half of the receives for data are posted again */
	TEST_PERF_FINAL,     /* the final token of each side in a stream */
	TEST_PERF_ANSWER,    /* of a round trip by Write */
};

struct test_perf {
	struct test_lane *lane;
	const struct test_plan *plan;
	enum test_kind kind;
	size_t size;
	uint64_t out_number; /* of the next message to send, counted from the beginning */
	uint64_t in_number;  /* of the next message to arrive */
	uint64_t verified;   /* octets */
};

/* A message that arrived. */
struct test_perf_message {
	bool is_token;
	struct test_token token;
};

uint64_t test_perf_slots(const struct test_plan *plan);  /* of an area */
uint64_t test_perf_window(const struct test_plan *plan); /* requests outstanding */
uint64_t
test_perf_credits(const struct test_plan *plan); /* Sends for which the other side has receives */

/* Post the next message; it gets the pattern of its number, if data is verified. */
bool test_perf_post(struct test_perf *perf, it_dto_flags_t flags, GError **error);

/* The read of that number has completed. */
bool test_perf_read(struct test_perf *perf, uint64_t number, GError **error);

/* The Write of that number has arrived, and no later one has overwritten it. */
bool test_perf_written(struct test_perf *perf, uint64_t number, GError **error);

/* Check what a receive took, and post it again. */
bool test_perf_take(struct test_perf *perf, const it_dto_cmpl_event_t *event,
		    struct test_perf_message *message, GError **error);

/* A stream of that many messages from this side, from the other, or from both. */
bool test_stream(struct test_perf *perf, uint64_t out, uint64_t in, GError **error);

#endif /* TEST_PERF_H */
