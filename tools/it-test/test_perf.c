/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Performance of one operation over one lane, in two phases: round trips, one at a time, each
 * measured; then a stream (test_stream.c), measured as a whole.
 *
 *   send   a message, answered by one of the same size
 *   write  a Write and a token behind it, answered by a token
 *   read   a Read; the other side does nothing
 *
 * The client runs each phase in batches and announces each by a token: as many as the iterations or the duration take,
 * each so long that its announcement does not count.
 *
 * Data that is checked has a pattern of its number. Sends are checked each, and Reads, into a buffer
 * that was cleared before. Of Writes every round trip is checked, and after a stream the last in every
 * slot. Requests outstanding then never share a buffer, so the window may be smaller than asked for.
 */

#include <string.h>

#include "test_perf.h"
#include "tool_error.h"
#include "tool_figures.h"
#include "tool_pattern.h"
#include "tool_signal.h"

#define CREDITS      64
#define HEADS        ((size_t)(CREDITS + TEST_PERF_EXTRA) * TEST_TOKEN)
#define BUFFERS_MAX  ((size_t)8 << 20) /* octets of an area of a lane; more slots share buffers */
#define BATCH_FIRST  16
#define COUNT_FIRST  UINT64_C(1000)
#define COUNT_OCTETS (UINT64_C(256) << 20) /* of the first batch, at most */
#define COUNT_NS     UINT64_C(250000000)
#define BATCH_NS     UINT64_C(50000000)

static size_t
slot_octets(const struct test_plan *plan)
{
	size_t size = MAX((size_t)plan->ops[0].size, TEST_TOKEN);

	return (size + 63) & ~(size_t)63;
}

/* The fewest slots that suffice, the most that help, and between them as many as memory permits. */
uint64_t
test_perf_slots(const struct test_plan *plan)
{
	bool sends = plan->ops[0].kind == TEST_SEND;
	uint64_t least = plan->verify && sends ? 2 + TEST_PERF_EXTRA : 1;
	uint64_t most = MAX(plan->window, CREDITS + TEST_PERF_EXTRA);

	return CLAMP(BUFFERS_MAX / slot_octets(plan), least, most);
}

uint64_t
test_perf_window(const struct test_plan *plan)
{
	return plan->verify ? MIN(plan->window, test_perf_slots(plan)) : plan->window;
}

uint64_t
test_perf_credits(const struct test_plan *plan)
{
	if (!plan->verify || plan->ops[0].kind != TEST_SEND)
		return CREDITS;
	return MIN(CREDITS, (test_perf_slots(plan) - TEST_PERF_EXTRA) & ~UINT64_C(1));
}

size_t
test_perf_octets(const struct test_plan *plan)
{
	return HEADS + 2 * (size_t)test_perf_slots(plan) * slot_octets(plan);
}

static uint64_t
receive_slots(const struct test_plan *plan)
{
	return plan->ops[0].kind == TEST_SEND ? test_perf_credits(plan) + TEST_PERF_EXTRA
					      : TEST_TOKEN_SLOTS;
}

/*
 * Do receives share slots because messages are large? If so, the first octets of each message are
 * received into a place of their own, so that no later message overwrites a token.
 */
static bool
slots_shared(const struct test_plan *plan)
{
	return plan->ops[0].kind == TEST_SEND && test_perf_slots(plan) < receive_slots(plan);
}

struct tool_link_spec
test_perf_spec(const struct test_plan *plan, unsigned seconds)
{
	struct tool_link_spec spec = {
		.requests = (size_t)plan->window + 4,
		.receives = (size_t)receive_slots(plan) + 1,
		.segments = 2,
		.poll = plan->poll,
		.seconds = seconds,
	};

	return spec;
}

static size_t
head_at(uint64_t receive)
{
	return TEST_TOKEN_AREA + (size_t)receive * TEST_TOKEN;
}

static size_t
out_at(const struct test_plan *plan, uint64_t number)
{
	return TEST_TOKEN_AREA + HEADS +
	       (size_t)(number % test_perf_slots(plan)) * slot_octets(plan);
}

static size_t
in_at(const struct test_plan *plan, uint64_t number)
{
	return out_at(plan, number) + (size_t)test_perf_slots(plan) * slot_octets(plan);
}

/* A seed that both sides know; each direction has its own. */
static uint64_t
seed_of(const struct test_lane *lane, bool from_server, uint64_t number)
{
	return lane->seed + (from_server ? UINT64_C(0xd1342543de82ef95) : 0) +
	       number * UINT64_C(0x2545f4914f6cdd1d);
}

static bool
post_receive(struct test_lane *lane, uint64_t number, GError **error)
{
	size_t octets = slot_octets(lane->plan);
	size_t at = in_at(lane->plan, number);
	bool apart = slots_shared(lane->plan);
	it_lmr_triplet_t parts[] = {
		tool_memory_part(&lane->memory, head_at(number), TEST_TOKEN),
		tool_memory_part(&lane->memory, at + TEST_TOKEN, octets - TEST_TOKEN),
	};

	if (lane->plan->ops[0].kind != TEST_SEND)
		return test_lane_expect(lane, number, error);
	if (!apart)
		parts[0] = tool_memory_part(&lane->memory, at, octets);
	return tool_check(
		it_post_recv(lane->link.ep, parts, apart ? 2 : 1, number, IT_COMPLETION_FLAG),
		"it_post_recv", error);
}

bool
test_perf_prepare(struct test_lane *lane, GError **error)
{
	const struct test_plan *plan = lane->plan;

	for (uint64_t i = 0; plan->verify && i < test_perf_slots(plan); i++)
		tool_pattern_fill(lane->memory.octets + out_at(plan, i), (size_t)plan->ops[0].size,
				  seed_of(lane, lane->server, i), 0);
	if (!test_lane_expect(lane, 0, error)) /* for the first exchange */
		return false;
	for (uint64_t i = 0; i < receive_slots(plan); i++) {
		if (!post_receive(lane, i, error))
			return false;
	}
	return true;
}

/* Our octets that should hold the pattern of a seed. */
static bool
check_pattern(struct test_perf *perf, size_t offset, uint64_t seed, uint64_t number, GError **error)
{
	size_t good;

	if (!perf->plan->verify)
		return true;
	good = tool_pattern_check(perf->lane->memory.octets + offset, perf->size, seed, 0);
	perf->verified += perf->size;
	return good == perf->size ||
	       tool_fail(error, TOOL_ERROR_VERIFY, "octet %zu of %s %" G_GUINT64_FORMAT " is wrong",
			 good, test_kind_text(perf->kind), number);
}

bool
test_perf_read(struct test_perf *perf, uint64_t number, GError **error)
{
	uint64_t slot = number % test_perf_slots(perf->plan);

	return perf->kind != TEST_READ ||
	       check_pattern(perf, in_at(perf->plan, number),
			     seed_of(perf->lane, !perf->lane->server, slot), number, error);
}

bool
test_perf_written(struct test_perf *perf, uint64_t number, GError **error)
{
	return check_pattern(perf, in_at(perf->plan, number),
			     seed_of(perf->lane, !perf->lane->server, number), number, error);
}

bool
test_perf_post(struct test_perf *perf, it_dto_flags_t flags, GError **error)
{
	struct test_lane *lane = perf->lane;
	uint64_t number = perf->out_number++;
	size_t out = out_at(perf->plan, number);
	size_t in = in_at(perf->plan, number);
	bool reads = perf->kind == TEST_READ;
	it_lmr_triplet_t part = tool_memory_part(&lane->memory, reads ? in : out, perf->size);
	it_rdma_addr_t remote = lane->peer_address + (reads ? out : in);
	it_ep_handle_t ep = lane->link.ep;

	if (perf->plan->verify && reads)
		memset(lane->memory.octets + in, 0, perf->size);
	else if (perf->plan->verify)
		tool_pattern_fill(lane->memory.octets + out, perf->size,
				  seed_of(lane, lane->server, number), 0);
	switch (perf->kind) {
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

bool
test_perf_take(struct test_perf *perf, const it_dto_cmpl_event_t *event,
	       struct test_perf_message *message, GError **error)
{
	bool sends = perf->kind == TEST_SEND;
	struct test_lane *lane = perf->lane;
	size_t at = !sends                     ? test_lane_slot(event->cookie)
		    : slots_shared(perf->plan) ? head_at(event->cookie)
					       : in_at(perf->plan, event->cookie);

	message->is_token = event->transferred_length == TEST_TOKEN &&
			    test_token_read(lane->memory.octets + at, &message->token);
	if (!message->is_token && (!sends || event->transferred_length != perf->size))
		return tool_fail(error, TOOL_ERROR_PEER,
				 "a message of %u octets came, of a length that no message has",
				 event->transferred_length);
	if (!message->is_token &&
	    !check_pattern(perf, at, seed_of(lane, !lane->server, perf->in_number), perf->in_number,
			   error))
		return false;
	if (!message->is_token)
		perf->in_number++;
	return post_receive(lane, event->cookie, error);
}

/* The next message, which must be data or the expected token. */
static bool
receive_token(struct test_perf *perf, bool token, enum test_perf_word word, GError **error)
{
	struct test_perf_message message;
	it_dto_cmpl_event_t event;

	return tool_link_received(&perf->lane->link, &event, error) &&
	       test_perf_take(perf, &event, &message, error) &&
	       ((message.is_token == token && (!token || message.token.op == (uint64_t)word)) ||
		tool_fail(error, TOOL_ERROR_PEER, "the peer is out of turn"));
}

static bool
send_token(struct test_perf *perf, enum test_perf_word word, uint64_t count, GError **error)
{
	struct test_token token = {.op = (uint64_t)word, .iteration = count, .good = true};
	it_dto_cmpl_event_t event;

	return test_lane_post_token(perf->lane, &token, error) &&
	       tool_link_done(&perf->lane->link, &event, error);
}

static bool
post_and_wait(struct test_perf *perf, GError **error)
{
	it_dto_cmpl_event_t event;

	return test_perf_post(perf, IT_COMPLETION_FLAG, error) &&
	       tool_link_done(&perf->lane->link, &event, error) &&
	       test_perf_read(perf, event.cookie, error);
}

static bool
round_trip(struct test_perf *perf, GError **error)
{
	if (perf->kind == TEST_READ)
		return post_and_wait(perf, error);
	if (perf->kind == TEST_SEND)
		return post_and_wait(perf, error) &&
		       receive_token(perf, false, TEST_PERF_ANSWER, error);
	return test_perf_post(perf, (it_dto_flags_t)0, error) &&
	       send_token(perf, TEST_PERF_ANSWER, 0, error) &&
	       receive_token(perf, true, TEST_PERF_ANSWER, error);
}

static bool
run_round_trips(struct test_perf *perf, uint64_t count, struct test_score *score, GError **error)
{
	if (!send_token(perf, TEST_PERF_TRIPS, count, error))
		return false;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t begin = tool_now();

		if (tool_stopped())
			return tool_fail(error, TOOL_ERROR_INTERRUPTED, "interrupted");
		if (!round_trip(perf, error))
			return false;
		if (score != NULL)
			tool_figures_add(&score->trips, tool_now() - begin);
	}
	return true;
}

static bool
run_streams(struct test_perf *perf, uint64_t count, struct test_score *score, GError **error)
{
	uint64_t ways = perf->plan->both ? 2 : 1;
	uint64_t begin = tool_now();

	if (!send_token(perf, TEST_PERF_STREAM, count, error) ||
	    !test_stream(perf, count, perf->plan->both ? count : 0, error))
		return false;
	score->seconds += (double)(tool_now() - begin) / 1e9;
	score->messages += ways * count;
	score->octets += ways * count * perf->size;
	return true;
}

/*
 * All iterations, in one batch if they are few. The server receives no message during a batch of
 * Reads or Writes, so many iterations are divided into batches of less than a second; the
 * announcement of each shows the server that the client is alive.
 */
static bool
run_count(struct test_perf *perf,
	  bool (*batch)(struct test_perf *, uint64_t, struct test_score *, GError **),
	  struct test_score *score, GError **error)
{
	uint64_t left = perf->plan->iterations;
	uint64_t count = CLAMP(COUNT_OCTETS / perf->size, 1, COUNT_FIRST);

	while (left > 0) {
		uint64_t begin = tool_now();
		uint64_t part = MIN(count, left);

		if (!batch(perf, part, score, error))
			return false;
		left -= part;
		if (tool_now() - begin < COUNT_NS)
			count = MIN(2 * count, TEST_ITERATIONS_MAX);
		else if (tool_now() - begin > 2 * COUNT_NS)
			count = MAX(count / 2, 1);
	}
	return true;
}

/* All iterations, or batches until the time is over. */
static bool
run_phase(struct test_perf *perf,
	  bool (*batch)(struct test_perf *, uint64_t, struct test_score *, GError **),
	  struct test_score *score, GError **error)
{
	uint64_t until = tool_now() + perf->plan->duration * 1000;
	uint64_t count = BATCH_FIRST;

	if (perf->plan->duration == 0)
		return run_count(perf, batch, score, error);
	for (;;) {
		uint64_t begin = tool_now();

		if (!batch(perf, count, score, error))
			return false;
		if (tool_now() >= until)
			return true;
		if (tool_now() - begin < BATCH_NS)
			count = MIN(2 * count, TEST_ITERATIONS_MAX);
	}
}

static struct test_perf
perf_of(struct test_lane *lane)
{
	struct test_perf perf = {.lane = lane,
				 .plan = lane->plan,
				 .kind = lane->plan->ops[0].kind,
				 .size = (size_t)lane->plan->ops[0].size};

	return perf;
}

bool
test_perf_client(struct test_lane *lane, struct test_score *score, GError **error)
{
	struct test_perf perf = perf_of(lane);

	if ((lane->plan->warmup > 0 && !run_round_trips(&perf, lane->plan->warmup, NULL, error)) ||
	    !run_phase(&perf, run_round_trips, score, error) ||
	    !run_phase(&perf, run_streams, score, error) ||
	    !send_token(&perf, TEST_PERF_END, 0, error))
		return false;
	score->operations = score->messages + score->trips.count;
	score->verified = perf.verified;
	return true;
}

static bool
echo_rounds(struct test_perf *perf, GError **error)
{
	if (perf->kind == TEST_READ)
		return true;
	if (perf->kind == TEST_SEND)
		return receive_token(perf, false, TEST_PERF_ANSWER, error) &&
		       post_and_wait(perf, error);
	return receive_token(perf, true, TEST_PERF_ANSWER, error) &&
	       test_perf_written(perf, perf->in_number++, error) &&
	       send_token(perf, TEST_PERF_ANSWER, 0, error);
}

static bool
obey_command(struct test_perf *perf, const struct test_token *command, GError **error)
{
	uint64_t count = command->iteration;

	if (count == 0 || count > TEST_ITERATIONS_MAX)
		return tool_fail(error, TOOL_ERROR_PEER, "the client announced nonsense");
	if (command->op == TEST_PERF_STREAM)
		return test_stream(perf, perf->plan->both ? count : 0, count, error);
	for (uint64_t i = 0; perf->kind != TEST_READ && i < count; i++) {
		if (!echo_rounds(perf, error))
			return false;
	}
	return true;
}

bool
test_perf_server(struct test_lane *lane, struct test_score *score, GError **error)
{
	struct test_perf perf = perf_of(lane);

	for (;;) {
		struct test_perf_message message;
		it_dto_cmpl_event_t event;

		if (!tool_link_received(&lane->link, &event, error) ||
		    !test_perf_take(&perf, &event, &message, error))
			return false;
		score->verified = perf.verified;
		if (message.is_token && message.token.op == TEST_PERF_END)
			return true;
		if (!message.is_token ||
		    (message.token.op != TEST_PERF_TRIPS && message.token.op != TEST_PERF_STREAM))
			return tool_fail(error, TOOL_ERROR_PEER, "the client is out of turn");
		if (!obey_command(&perf, &message.token, error))
			return false;
	}
}
