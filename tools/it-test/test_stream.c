/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A stream: as many requests outstanding as the window permits, in one direction or both. Sends need receives at the
 * other side: it has CREDITS of them for data and grants half of them again each time when it has taken that many. A
 * side that has sent all and, with Sends, taken all sends a final token; a side that sends nothing by Write or Read
 * answers the peer's token. When both have sent it, everything has arrived: a completion alone would not prove that.
 * At most one token is outstanding, since there is one buffer for it. Grants that were not sent at the end are
 * dropped, since each stream begins with all receives posted.
 */

#include "test_perf.h"
#include "tool_error.h"

struct flow {
	struct test_perf *perf;
	uint64_t out; /* messages from here */
	uint64_t in;  /* and from there */
	uint64_t posted;
	uint64_t done;    /* of the posted */
	uint64_t taken;   /* Sends that have arrived */
	uint64_t credits; /* Sends that may still be posted */
	uint64_t owed;    /* grants */
	bool token_out;   /* one of our tokens is outstanding */
	bool said;        /* our final token was sent */
	bool heard;       /* the peer's final token has come */
};

static bool
send_token(struct flow *flow, enum test_perf_word word, GError **error)
{
	struct test_token token = {.op = (uint64_t)word, .good = true};

	flow->token_out = true;
	return test_lane_post_token(flow->perf->lane, &token, error);
}

static bool
by_send(const struct flow *flow)
{
	return flow->perf->kind == TEST_SEND;
}

/* Is it time for the final token? */
static bool
all_done(const struct flow *flow)
{
	if (flow->done < flow->out)
		return false;
	if (by_send(flow))
		return flow->taken == flow->in;
	return flow->out > 0 || flow->heard;
}

static bool
post_data(struct flow *flow, GError **error)
{
	uint64_t window = test_perf_window(flow->perf->plan);

	while (flow->posted < flow->out && flow->posted - flow->done < window &&
	       (!by_send(flow) || flow->credits > 0)) {
		if (!test_perf_post(flow->perf, IT_COMPLETION_FLAG, error))
			return false;
		flow->posted++;
		flow->credits--; /* counts for Sends only */
	}
	return true;
}

/* Post everything that may be posted now. */
static bool
post_all(struct flow *flow, GError **error)
{
	if (!post_data(flow, error))
		return false;
	if (flow->token_out || flow->said)
		return true;
	if (all_done(flow)) {
		flow->said = true;
		return send_token(flow, TEST_PERF_FINAL, error);
	}
	if (flow->owed == 0)
		return true;
	flow->owed--;
	return send_token(flow, TEST_PERF_GRANT, error);
}

static bool
request_completed(struct flow *flow, const it_dto_cmpl_event_t *event, GError **error)
{
	if (event->cookie == TEST_TOKEN_COOKIE) {
		flow->token_out = false;
		return true;
	}
	flow->done++;
	return test_perf_read(flow->perf, event->cookie, error);
}

static bool
message_received(struct flow *flow, const it_dto_cmpl_event_t *event, GError **error)
{
	uint64_t half = test_perf_credits(flow->perf->plan) / 2;
	struct test_perf_message message;

	if (!test_perf_take(flow->perf, event, &message, error))
		return false;
	if (!message.is_token && flow->taken < flow->in) {
		flow->taken++;
		if (flow->taken % half == 0)
			flow->owed++;
		return true;
	}
	if (message.is_token && message.token.op == TEST_PERF_GRANT) {
		flow->credits += half;
		return true;
	}
	flow->heard = message.is_token && message.token.op == TEST_PERF_FINAL && !flow->heard;
	return flow->heard || tool_fail(error, TOOL_ERROR_PEER, "the peer is out of turn");
}

/* Wait for the next event of any kind. */
static bool
next_event(struct flow *flow, GError **error)
{
	struct tool_link *link = &flow->perf->lane->link;
	uint64_t window = test_perf_window(flow->perf->plan);
	bool full = flow->posted - flow->done == window ||
		    (flow->posted == flow->out && flow->done < flow->out);
	it_dto_cmpl_event_t event;
	bool is_receive;

	if (!tool_link_either(link, full || flow->token_out, &event, &is_receive, error))
		return false;
	return is_receive ? message_received(flow, &event, error)
			  : request_completed(flow, &event, error);
}

/* Check what the peer wrote: the last message of each slot is still there. */
static bool
look_at_writes(struct flow *flow, GError **error)
{
	struct test_perf *perf = flow->perf;
	uint64_t last = MIN(flow->in, test_perf_slots(perf->plan));

	if (perf->kind != TEST_WRITE)
		return true;
	perf->in_number += flow->in;
	for (uint64_t i = 1; i <= last; i++) {
		if (!test_perf_written(perf, perf->in_number - i, error))
			return false;
	}
	return true;
}

/* Post and take all that is left; then both sides say that it is, and hear it. */
static bool
finals_exchange(struct flow *flow, GError **error)
{
	flow->said = flow->heard = false;
	while (!flow->said || !flow->heard) {
		if (!post_all(flow, error))
			return false;
		if ((!flow->said || !flow->heard) && !next_event(flow, error))
			return false;
	}
	/* The next message of the peer belongs to what follows. */
	while (flow->token_out) {
		it_dto_cmpl_event_t event;

		if (!tool_link_done(&flow->perf->lane->link, &event, error) ||
		    !request_completed(flow, &event, error))
			return false;
	}
	return true;
}

bool
test_stream(struct test_perf *perf, uint64_t out, uint64_t in, GError **error)
{
	struct flow flow = {
		.perf = perf, .out = out, .in = in, .credits = test_perf_credits(perf->plan)};

	if (!finals_exchange(&flow, error) || !look_at_writes(&flow, error))
		return false;
	/* The Writes of the next stream may not come while a side looks at those of this one. */
	return perf->kind != TEST_WRITE || !perf->plan->verify || finals_exchange(&flow, error);
}
