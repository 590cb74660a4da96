/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Transactions: both sides walk the same list of operations, iteration by iteration, and every octet
 * that moved is verified where it arrived.
 *
 *   SR   beginner SENDs the data               other verifies, SENDs a token back
 *   RW   beginner WRITEs the data, SENDs a     other verifies, SENDs a token back
 *        token behind it
 *   RR   beginner READs and verifies, SENDs    other puts the data of the next iteration in
 *        a token                               place, SENDs a token back
 *
 * So each operation brings each side exactly one message, and never more than two are on their way:
 * receives are posted AHEAD messages in advance. The data follows from seed, operation and
 * iteration; segments are not adjacent, and the octets between them must never change.
 */

#include <string.h>

#include "test_lane.h"
#include "tool_error.h"
#include "tool_pattern.h"
#include "tool_signal.h"

#define AHEAD       3
#define GUARD       64 /* octets behind each segment */
#define GUARD_OCTET 0xa5

static size_t
local_octets(const struct test_op *op)
{
	return (size_t)((op->size + GUARD) * op->segments);
}

static size_t
rounded_size(size_t octets)
{
	return (octets + 63) & ~(size_t)63;
}

size_t
test_transaction_octets(const struct test_plan *plan)
{
	size_t octets = 0;

	for (uint64_t i = 0; i < plan->op_count; i++)
		octets += rounded_size(local_octets(&plan->ops[i])) +
			  rounded_size((size_t)test_op_octets(&plan->ops[i]));
	return octets;
}

struct tool_link_spec
test_transaction_spec(const struct test_plan *plan, unsigned seconds)
{
	struct tool_link_spec spec = {
		.requests = 8,
		.receives = AHEAD + 1,
		.segments = 1,
		.poll = plan->poll,
		.seconds = seconds,
	};

	for (uint64_t i = 0; i < plan->op_count; i++) {
		spec.segments = MAX(spec.segments, (size_t)plan->ops[i].segments);
		spec.reads =
			spec.reads || (plan->ops[i].kind == TEST_READ && plan->ops[i].segments > 1);
	}
	return spec;
}

/* Where the segments of an operation are. */
static size_t
local_offset(const struct test_lane *lane, uint64_t number)
{
	size_t offset = TEST_TOKEN_AREA;

	for (uint64_t i = 0; i < number; i++)
		offset += rounded_size(local_octets(&lane->plan->ops[i])) +
			  rounded_size((size_t)test_op_octets(&lane->plan->ops[i]));
	return offset;
}

/* The peer's memory for an operation. */
static size_t
exposed_offset(const struct test_lane *lane, uint64_t number)
{
	return local_offset(lane, number) + rounded_size(local_octets(&lane->plan->ops[number]));
}

static uint64_t
seed_of(const struct test_lane *lane, uint64_t number, uint64_t iteration)
{
	return lane->seed + number * UINT64_C(0xd1342543de82ef95) +
	       iteration * UINT64_C(0xaef17502108ef2d9);
}

static size_t
segments_of(const struct test_lane *lane, uint64_t number, it_lmr_triplet_t *parts)
{
	const struct test_op *op = &lane->plan->ops[number];
	size_t offset = local_offset(lane, number);

	for (uint64_t i = 0; i < op->segments; i++, offset += (size_t)op->size + GUARD)
		parts[i] = tool_memory_part(&lane->memory, offset, (size_t)op->size);
	return (size_t)op->segments;
}

static void
fill_local(struct test_lane *lane, uint64_t number, uint64_t seed)
{
	const struct test_op *op = &lane->plan->ops[number];
	uint8_t *at = lane->memory.octets + local_offset(lane, number);

	for (uint64_t i = 0; i < op->segments; i++, at += op->size + GUARD)
		tool_pattern_fill(at, (size_t)op->size, seed, (size_t)(i * op->size));
}

static void
fill_exposed(struct test_lane *lane, uint64_t number, uint64_t seed)
{
	tool_pattern_fill(lane->memory.octets + exposed_offset(lane, number),
			  (size_t)test_op_octets(&lane->plan->ops[number]), seed, 0);
}

static bool
wrong_data(const struct test_lane *lane, uint64_t number, uint64_t iteration, size_t at,
	   GError **error)
{
	return tool_fail(error, TOOL_ERROR_VERIFY,
			 "operation %" G_GUINT64_FORMAT " (%s) of iteration %" G_GUINT64_FORMAT
			 ": octet %zu is wrong",
			 number + 1, test_kind_text(lane->plan->ops[number].kind), iteration, at);
}

static bool
verify_local(const struct test_lane *lane, uint64_t number, uint64_t iteration, GError **error)
{
	const struct test_op *op = &lane->plan->ops[number];
	const uint8_t *at = lane->memory.octets + local_offset(lane, number);
	uint64_t seed = seed_of(lane, number, iteration);

	for (uint64_t i = 0; i < op->segments; i++, at += op->size + GUARD) {
		size_t place = (size_t)(i * op->size);
		size_t good = tool_pattern_check(at, (size_t)op->size, seed, place);

		if (good < op->size)
			return wrong_data(lane, number, iteration, place + good, error);
		for (size_t j = 0; j < GUARD; j++) {
			if (at[op->size + j] != GUARD_OCTET)
				return tool_fail(error, TOOL_ERROR_VERIFY,
						 "octets behind a segment were written");
		}
	}
	return true;
}

static bool
verify_exposed(const struct test_lane *lane, uint64_t number, uint64_t iteration, GError **error)
{
	size_t octets = (size_t)test_op_octets(&lane->plan->ops[number]);
	size_t good = tool_pattern_check(lane->memory.octets + exposed_offset(lane, number), octets,
					 seed_of(lane, number, iteration), 0);

	return good == octets || wrong_data(lane, number, iteration, good, error);
}

static bool
is_initiator(const struct test_lane *lane, uint64_t number)
{
	return lane->plan->ops[number].by_server == lane->server;
}

/* Post the receive for the message that a given operation will bring. */
static bool
expect_message(struct test_lane *lane, uint64_t message, GError **error)
{
	uint64_t number = message % lane->plan->op_count;
	it_lmr_triplet_t parts[TEST_SEGMENTS_MAX];
	size_t count;

	if (message >= lane->plan->iterations * lane->plan->op_count)
		return true;
	if (is_initiator(lane, number) || lane->plan->ops[number].kind != TEST_SEND)
		return test_lane_expect(lane, message + 1, error);
	count = segments_of(lane, number, parts);
	return tool_check(
		it_post_recv(lane->link.ep, parts, count, message + 1, IT_COMPLETION_FLAG),
		"it_post_recv", error);
}

bool
test_transaction_prepare(struct test_lane *lane, GError **error)
{
	memset(lane->memory.octets + TEST_TOKEN_AREA, GUARD_OCTET,
	       lane->memory.size - TEST_TOKEN_AREA);
	for (uint64_t i = 0; i < lane->plan->op_count; i++) {
		if (lane->plan->ops[i].kind == TEST_READ && !is_initiator(lane, i))
			fill_exposed(lane, i, seed_of(lane, i, 0));
	}
	if (!test_lane_expect(lane, 0, error)) /* for the first exchange */
		return false;
	for (uint64_t message = 0; message < AHEAD; message++) {
		if (!expect_message(lane, message, error))
			return false;
	}
	return true;
}

/* Take the message of this operation and post the receive for a later one. */
static bool
take_message(struct test_lane *lane, uint64_t message, GError **error)
{
	uint64_t number = message % lane->plan->op_count;
	bool data = !is_initiator(lane, number) && lane->plan->ops[number].kind == TEST_SEND;
	uint64_t octets = data ? test_op_octets(&lane->plan->ops[number]) : TEST_TOKEN;
	it_dto_cmpl_event_t event;

	if (!tool_link_received(&lane->link, &event, error))
		return false;
	if (event.cookie != message + 1)
		return tool_fail(error, TOOL_ERROR_VERIFY, "messages arrived out of order");
	return event.transferred_length == octets ||
	       tool_fail(error, TOOL_ERROR_VERIFY,
			 "a message of %u octets came instead of %" G_GUINT64_FORMAT,
			 event.transferred_length, octets);
}

static bool
take_token(struct test_lane *lane, uint64_t message, GError **error)
{
	struct test_token token;

	if (!take_message(lane, message, error) ||
	    !test_lane_token(lane, message + 1, &token, error))
		return false;
	if (token.op != message % lane->plan->op_count ||
	    token.iteration != message / lane->plan->op_count)
		return tool_fail(error, TOOL_ERROR_VERIFY, "a message of another operation came");
	if (!token.good)
		return tool_fail(error, TOOL_ERROR_VERIFY, "the peer received wrong octets");
	return expect_message(lane, message + AHEAD, error);
}

static bool
send_token(struct test_lane *lane, uint64_t message, bool good, GError **error)
{
	struct test_token token = {.op = message % lane->plan->op_count,
				   .iteration = message / lane->plan->op_count,
				   .good = good};

	return test_lane_post_token(lane, &token, error);
}

static bool
message_begin(struct test_lane *lane, uint64_t message, GError **error)
{
	uint64_t number = message % lane->plan->op_count;
	uint64_t remote = lane->peer_address + exposed_offset(lane, number);
	uint64_t seed = seed_of(lane, number, message / lane->plan->op_count);
	it_ep_handle_t ep = lane->link.ep;
	it_lmr_triplet_t parts[TEST_SEGMENTS_MAX];
	size_t count = segments_of(lane, number, parts);

	switch (lane->plan->ops[number].kind) {
	case TEST_SEND:
		fill_local(lane, number, seed);
		return tool_check(it_post_send(ep, parts, count, message, IT_COMPLETION_FLAG),
				  "it_post_send", error);
	case TEST_WRITE:
		fill_local(lane, number, seed);
		return tool_check(it_post_rdma_write(ep, parts, count, message, 0, remote,
						     lane->peer_context),
				  "it_post_rdma_write", error) &&
		       send_token(lane, message, true, error);
	case TEST_READ:
		fill_local(lane, number, ~seed); /* so that old data cannot pass for new */
		return tool_check(it_post_rdma_read(ep, parts, count, message, IT_COMPLETION_FLAG,
						    remote, lane->peer_context),
				  "it_post_rdma_read", error);
	}
	return false;
}

static bool
message_complete(struct test_lane *lane, uint64_t message, GError **error)
{
	uint64_t number = message % lane->plan->op_count;
	it_dto_cmpl_event_t event;

	if (!tool_link_done(&lane->link, &event, error))
		return false;
	if (lane->plan->ops[number].kind == TEST_READ &&
	    (!verify_local(lane, number, message / lane->plan->op_count, error) ||
	     !send_token(lane, message, true, error) ||
	     !tool_link_done(&lane->link, &event, error)))
		return false;
	return take_token(lane, message, error);
}

/* The part of the other side in an operation that the peer began. */
static bool
message_respond(struct test_lane *lane, uint64_t message, GError **error)
{
	uint64_t number = message % lane->plan->op_count;
	uint64_t iteration = message / lane->plan->op_count;
	it_dto_cmpl_event_t event;
	bool good = true;

	switch (lane->plan->ops[number].kind) {
	case TEST_SEND:
		if (!take_message(lane, message, error))
			return false;
		good = verify_local(lane, number, iteration, error);
		if (good && !expect_message(lane, message + AHEAD, error))
			return false;
		break;
	case TEST_WRITE:
		if (!take_token(lane, message, error))
			return false;
		good = verify_exposed(lane, number, iteration, error);
		break;
	case TEST_READ:
		if (!take_token(lane, message, error))
			return false;
		fill_exposed(lane, number, seed_of(lane, number, iteration + 1));
		break;
	}
	return send_token(lane, message, good, error) &&
	       tool_link_done(&lane->link, &event, error) && good;
}

static bool
one_op(struct test_lane *lanes, size_t count, uint64_t message, GError **error)
{
	bool mine = is_initiator(&lanes[0], message % lanes[0].plan->op_count);

	for (size_t i = 0; mine && i < count; i++) {
		if (!message_begin(&lanes[i], message, error))
			return false;
	}
	for (size_t i = 0; i < count; i++) {
		if (!(mine ? message_complete(&lanes[i], message, error)
			   : message_respond(&lanes[i], message, error)))
			return false;
	}
	return true;
}

bool
test_transaction_run(struct test_lane *lanes, size_t count, struct test_score *score,
		     GError **error)
{
	const struct test_plan *plan = lanes[0].plan;
	uint64_t messages = plan->iterations * plan->op_count;

	for (uint64_t message = 0; message < messages; message++) {
		if (tool_stopped())
			return tool_fail(error, TOOL_ERROR_INTERRUPTED, "interrupted");
		if (!one_op(lanes, count, message, error))
			return false;
		score->operations += count;
		score->octets += count * test_op_octets(&plan->ops[message % plan->op_count]);
	}
	return true;
}
