/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A lane: one connection that carries the traffic of a run, with its memory. Both sides have the same memory layout,
 * so an offset is valid on both: small slots for tokens, then the buffers of the mode. The first token in each
 * direction says where the memory is; the client's token goes first.
 */
#ifndef TEST_LANE_H
#define TEST_LANE_H

#include "test_plan.h"
#include "tool_figures.h"
#include "tool_link.h"
#include "tool_memory.h"

#define TEST_TOKEN        64 /* octets of a token slot */
#define TEST_TOKEN_SLOTS  8
#define TEST_TOKEN_COOKIE UINT64_MAX /* of the Send of a token */
#define TEST_TOKEN_OUT    ((size_t)TEST_TOKEN_SLOTS * TEST_TOKEN)
#define TEST_TOKEN_AREA   (2 * TEST_TOKEN_OUT)

struct test_lane {
	const struct test_plan *plan;
	struct tool_link link;
	struct tool_watch watch; /* the session ends it through this, and sees how it goes on */
	struct tool_memory memory;
	bool server;
	uint64_t seed; /* of the lane: the same on both sides */
	uint64_t peer_context;
	uint64_t peer_address; /* of the peer's first octet */
};

struct test_token {
	uint64_t op;
	uint64_t iteration;
	bool good; /* the operations before it were verified */
};

/* Memory of so many octets, the token area included, and queues. */
bool test_lane_make(struct test_lane *lane, struct tool_adapter *adapter, size_t octets,
		    const struct tool_link_spec *spec, GError **error);
void test_lane_close(struct test_lane *lane);

size_t test_lane_slot(uint64_t number); /* offset of the slot of a token */

/* Decode 64 octets; false if they are no token. */
bool test_token_read(void *octets, struct test_token *token);

/* Posts a receive for a token. */
bool test_lane_expect(struct test_lane *lane, uint64_t number, GError **error);

/* The token that was received in that slot. */
bool test_lane_token(struct test_lane *lane, uint64_t number, struct test_token *token,
		     GError **error);

/* Send a token; its completion is taken with the others. */
bool test_lane_post_token(struct test_lane *lane, const struct test_token *token, GError **error);

/* After the connection is established, with a receive posted for token 0: learn where the peer's memory is. */
bool test_lane_meet(struct test_lane *lane, GError **error);

/* One side of a mode: the operations on a lane, or on all lanes of a thread together. */
size_t test_transaction_octets(const struct test_plan *plan);
struct tool_link_spec test_transaction_spec(const struct test_plan *plan, unsigned seconds);
bool test_transaction_prepare(struct test_lane *lane, GError **error);

size_t test_perf_octets(const struct test_plan *plan);
struct tool_link_spec test_perf_spec(const struct test_plan *plan, unsigned seconds);
bool test_perf_prepare(struct test_lane *lane, GError **error);

/* The results of a thread. */
struct test_score {
	uint64_t operations;
	uint64_t octets;   /* verified, or transferred in the measured time */
	uint64_t verified; /* performance: octets, here */
	struct tool_figures trips;
	double seconds;    /* performance: of the stream */
	uint64_t messages; /* performance: of the stream */
};

bool test_transaction_run(struct test_lane *lanes, size_t count, struct test_score *score,
			  GError **error);
bool test_perf_client(struct test_lane *lane, struct test_score *score, GError **error);
bool test_perf_server(struct test_lane *lane, struct test_score *score, GError **error);

#endif /* TEST_LANE_H */
