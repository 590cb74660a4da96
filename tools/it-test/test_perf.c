/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Performance of one operation over one lane, in two phases.
 *
 * Round trips, one at a time, each measured:
 *   send   a message, answered by one of the same size
 *   write  a write and a token behind it, answered by a token
 *   read   a read; the other side does nothing
 * Stream, as many requests outstanding as the window allows, measured as a whole, with the token
 * that answers the last one: a completion alone would not prove that the peer has the data.
 *
 * A stream of sends needs receives at the other side. It grants them: CREDITS at first, then a token
 * for every half of them taken. All messages of the server go to the client's token slots, but the
 * answers of the send phase, which have a buffer of their own.
 */

#include <stdlib.h>
#include <time.h>

#include "test_lane.h"
#include "tool_error.h"
#include "tool_signal.h"

#define CREDITS     64
#define BUFFERS_MAX ((size_t)16 << 20) /* octets of all buffers of a lane; more slots share them */
#define SAMPLES_MAX 1000000

static size_t
slot_octets(const struct test_plan *plan)
{
	size_t size = MAX((size_t)plan->ops[0].size, TEST_TOKEN);

	return (size + 63) & ~(size_t)63;
}

static size_t
slots(const struct test_plan *plan)
{
	return CLAMP(BUFFERS_MAX / slot_octets(plan), 1, MAX(plan->window, CREDITS));
}

size_t
test_perf_octets(const struct test_plan *plan)
{
	return slots(plan) * slot_octets(plan);
}

struct tool_link_spec
test_perf_spec(const struct test_plan *plan, unsigned seconds)
{
	struct tool_link_spec spec = {
		.requests = (size_t)plan->window + 4,
		.receives = CREDITS + 4,
		.segments = 1,
		.poll = plan->poll,
		.seconds = seconds,
	};

	return spec;
}

static size_t
slot_at(const struct test_lane *lane, uint64_t number)
{
	return TEST_TOKEN_AREA + (size_t)(number % slots(lane->plan)) * slot_octets(lane->plan);
}

/* A receive for a message of the operation's size; they may share a buffer. */
static bool
offer(struct test_lane *lane, uint64_t number, GError **error)
{
	it_lmr_triplet_t part =
		tool_memory_part(&lane->memory, slot_at(lane, number), slot_octets(lane->plan));

	return tool_check(it_post_recv(lane->link.ep, &part, 1, number, IT_COMPLETION_FLAG),
			  "it_post_recv", error);
}

bool
test_perf_prepare(struct test_lane *lane, GError **error)
{
	bool data = lane->plan->ops[0].kind == TEST_SEND;

	if (!test_lane_expect(lane, 0, error)) /* for the meeting */
		return false;
	for (uint64_t i = 1; i <= CREDITS; i++) {
		if (!(data ? offer(lane, i, error) : test_lane_expect(lane, i, error)))
			return false;
	}
	return true;
}

static bool
post_op(struct test_lane *lane, uint64_t number, it_dto_flags_t flags, GError **error)
{
	size_t offset = slot_at(lane, number);
	it_lmr_triplet_t part =
		tool_memory_part(&lane->memory, offset, (size_t)lane->plan->ops[0].size);
	it_rdma_addr_t remote = lane->peer_address + offset;
	it_ep_handle_t ep = lane->link.ep;

	switch (lane->plan->ops[0].kind) {
	case TEST_SEND:
		return tool_check(it_post_send(ep, &part, 1, number, flags), "it_post_send", error);
	case TEST_WRITE:
		return tool_check(
			it_post_rdma_write(ep, &part, 1, number, flags, remote, lane->peer_context),
			"it_post_rdma_write", error);
	case TEST_READ:
		return tool_check(
			it_post_rdma_read(ep, &part, 1, number, flags, remote, lane->peer_context),
			"it_post_rdma_read", error);
	}
	return false;
}

/* Takes the next message, whatever it is, and posts a receive in its place. */
static bool
hear(struct test_lane *lane, GError **error)
{
	bool data = lane->plan->ops[0].kind == TEST_SEND;
	it_dto_cmpl_event_t event;

	return tool_link_received(&lane->link, &event, error) &&
	       (data ? offer(lane, event.cookie, error)
		     : test_lane_expect(lane, event.cookie, error));
}

static bool
say(struct test_lane *lane, GError **error)
{
	struct test_token token = {.good = true};
	it_dto_cmpl_event_t event;

	return test_lane_post_token(lane, &token, error) &&
	       tool_link_done(&lane->link, &event, error);
}

static double
now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static bool
round_trip(struct test_lane *lane, uint64_t number, GError **error)
{
	it_dto_cmpl_event_t event;

	switch (lane->plan->ops[0].kind) {
	case TEST_SEND:
		return post_op(lane, number, IT_COMPLETION_FLAG, error) &&
		       tool_link_done(&lane->link, &event, error) && hear(lane, error);
	case TEST_WRITE:
		return post_op(lane, number, (it_dto_flags_t)0, error) && say(lane, error) &&
		       hear(lane, error);
	case TEST_READ:
		return post_op(lane, number, IT_COMPLETION_FLAG, error) &&
		       tool_link_done(&lane->link, &event, error);
	}
	return false;
}

static bool
round_trips(struct test_lane *lane, struct test_score *score, GError **error)
{
	uint64_t warmup = lane->plan->warmup;
	uint64_t count = warmup + lane->plan->iterations;

	score->samples = g_try_new(double, MIN(lane->plan->iterations, SAMPLES_MAX));
	if (score->samples == NULL)
		return tool_fail(error, TOOL_ERROR_FAILED, "no memory for the samples");
	for (uint64_t i = 0; i < count; i++) {
		double begin = now_us();

		if (tool_stopped())
			return tool_fail(error, TOOL_ERROR_INTERRUPTED, "interrupted");
		if (!round_trip(lane, i, error))
			return false;
		if (i >= warmup && score->sample_count < SAMPLES_MAX)
			score->samples[score->sample_count++] = now_us() - begin;
	}
	return true;
}

/* Waits until the server has granted more receives (sends only). */
static bool
credit(struct test_lane *lane, uint64_t *credits, GError **error)
{
	if (lane->plan->ops[0].kind != TEST_SEND || *credits > 0)
		return true;
	*credits = CREDITS / 2;
	return hear(lane, error);
}

static bool
stream(struct test_lane *lane, GError **error)
{
	const struct test_plan *plan = lane->plan;
	uint64_t credits = CREDITS;
	uint64_t done = 0;
	it_dto_cmpl_event_t event;

	for (uint64_t i = 0; i < plan->iterations; i++, credits--) {
		if (i - done == plan->window) {
			if (!tool_link_done(&lane->link, &event, error))
				return false;
			done++;
		}
		if (!credit(lane, &credits, error) || !post_op(lane, i, IT_COMPLETION_FLAG, error))
			return false;
	}
	for (; done < plan->iterations; done++) {
		if (!tool_link_done(&lane->link, &event, error))
			return false;
	}
	return true;
}

/* How many grants the server sends that stream() did not wait for. */
static uint64_t
grants_left(const struct test_plan *plan)
{
	uint64_t sent = plan->iterations / (CREDITS / 2);
	uint64_t used = plan->iterations <= CREDITS
				? 0
				: (plan->iterations - CREDITS + CREDITS / 2 - 1) / (CREDITS / 2);

	return plan->ops[0].kind == TEST_SEND ? sent - used : 0;
}

/* The last word: everything before it has arrived. */
static bool
settle(struct test_lane *lane, GError **error)
{
	uint64_t answers = grants_left(lane->plan) + 1;

	if (!say(lane, error))
		return false;
	for (uint64_t i = 0; i < answers; i++) {
		if (!hear(lane, error))
			return false;
	}
	return true;
}

bool
test_perf_client(struct test_lane *lane, struct test_score *score, GError **error)
{
	double begin;

	if (!round_trips(lane, score, error))
		return false;
	begin = now_us();
	if (!stream(lane, error) || !settle(lane, error))
		return false;
	score->seconds = (now_us() - begin) / 1e6;
	score->messages = lane->plan->iterations;
	score->octets = lane->plan->iterations * lane->plan->ops[0].size;
	score->operations = score->messages + score->sample_count;
	return true;
}

static bool
echo(struct test_lane *lane, uint64_t number, GError **error)
{
	it_dto_cmpl_event_t event;

	if (lane->plan->ops[0].kind == TEST_WRITE)
		return hear(lane, error) && say(lane, error);
	return hear(lane, error) && post_op(lane, number, IT_COMPLETION_FLAG, error) &&
	       tool_link_done(&lane->link, &event, error);
}

bool
test_perf_server(struct test_lane *lane, GError **error)
{
	const struct test_plan *plan = lane->plan;
	uint64_t trips = plan->ops[0].kind == TEST_READ ? 0 : plan->warmup + plan->iterations;
	uint64_t messages = plan->ops[0].kind == TEST_SEND ? plan->iterations : 0;

	for (uint64_t i = 0; i < trips; i++) {
		if (!echo(lane, i, error))
			return false;
	}
	for (uint64_t i = 1; i <= messages; i++) {
		if (!hear(lane, error) || (i % (CREDITS / 2) == 0 && !say(lane, error)))
			return false;
	}
	return hear(lane, error) && say(lane, error);
}
