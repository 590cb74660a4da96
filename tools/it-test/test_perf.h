/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * What the phases of a measurement share: where messages come from and go to, receives, and data that
 * is checked.
 *
 * Behind the token area a lane has two areas of slots. Messages leave from `out` and arrive in `in`,
 * on both sides; a message's number says which slot. Sends arrive in the receives' slots, Writes in
 * the peer's `in`, Reads come from the peer's `out`.
 */
#ifndef TEST_PERF_H
#define TEST_PERF_H

#include "test_lane.h"

/* Receives beyond those for data: a command, grants, the last word, and one to spare. */
#define TEST_PERF_EXTRA 6

enum test_perf_word {
	TEST_PERF_TRIPS = 1, /* command of the client: so many round trips */
	TEST_PERF_STREAM,    /* command: a stream of so many messages */
	TEST_PERF_END,       /* command: that was all */
	TEST_PERF_GRANT,     /* half of the receives for data are there again */
	TEST_PERF_FINAL,     /* the last word of each side in a stream */
	TEST_PERF_ANSWER,    /* of a round trip by Write */
};

struct test_perf {
	struct test_lane *lane;
	const struct test_plan *plan;
	enum test_kind kind;
	size_t size;
	uint64_t out_number; /* of the next message that leaves, since the beginning */
	uint64_t in_number;  /* of the next that arrives */
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
test_perf_credits(const struct test_plan *plan); /* Sends that the other side has room for */

/* Posts the next message; it gets the pattern of its number, if data is checked. */
bool test_perf_post(struct test_perf *perf, it_dto_flags_t flags, GError **error);

/* The read of that number has completed. */
bool test_perf_read(struct test_perf *perf, uint64_t number, GError **error);

/* The Write of that number has arrived and nothing has overwritten it. */
bool test_perf_written(struct test_perf *perf, uint64_t number, GError **error);

/* Looks at what a receive took, and posts it again. */
bool test_perf_take(struct test_perf *perf, const it_dto_cmpl_event_t *event,
		    struct test_perf_message *message, GError **error);

/* A stream of so many messages from this side, from the other, or both. */
bool test_stream(struct test_perf *perf, uint64_t out, uint64_t in, GError **error);

#endif /* TEST_PERF_H */
