/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <string.h>

#include "test_lane.h"
#include "tool_error.h"

#define TOKEN_MAGIC UINT64_C(0x69742d74657374)

bool
test_lane_make(struct test_lane *lane, struct tool_adapter *adapter, size_t octets,
	       const struct tool_link_spec *spec, GError **error)
{
	return tool_link_make(&lane->link, adapter, spec, error) &&
	       tool_memory_make(&lane->memory, adapter, octets,
				IT_PRIV_REMOTE_READ | IT_PRIV_REMOTE_WRITE, true, error);
}

void
test_lane_close(struct test_lane *lane)
{
	tool_link_close(&lane->link);
	tool_memory_free(&lane->memory);
}

size_t
test_lane_slot(uint64_t number)
{
	return (size_t)(number % TEST_TOKEN_SLOTS) * TEST_TOKEN;
}

bool
test_lane_expect(struct test_lane *lane, uint64_t number, GError **error)
{
	it_lmr_triplet_t part = tool_memory_part(&lane->memory, test_lane_slot(number), TEST_TOKEN);

	return tool_check(it_post_recv(lane->link.ep, &part, 1, number, IT_COMPLETION_FLAG),
			  "it_post_recv", error);
}

static bool
lane_post(struct test_lane *lane, uint64_t a, uint64_t b, uint64_t c, GError **error)
{
	it_lmr_triplet_t part = tool_memory_part(&lane->memory, TEST_TOKEN_OUT, TEST_TOKEN);
	struct tool_wire wire = tool_wire_of(lane->memory.octets + TEST_TOKEN_OUT, TEST_TOKEN);

	tool_put(&wire, TOKEN_MAGIC, 8);
	tool_put(&wire, a, 8);
	tool_put(&wire, b, 8);
	tool_put(&wire, c, 8);
	return tool_check(
		it_post_send(lane->link.ep, &part, 1, TEST_TOKEN_COOKIE, IT_COMPLETION_FLAG),
		"it_post_send", error);
}

static bool
read_words(void *octets, uint64_t words[3])
{
	struct tool_wire wire = tool_wire_of(octets, TEST_TOKEN);
	bool good = tool_get(&wire, 8) == TOKEN_MAGIC;

	for (int i = 0; i < 3; i++)
		words[i] = tool_get(&wire, 8);
	return good;
}

static bool
read_slot(struct test_lane *lane, uint64_t number, uint64_t words[3], GError **error)
{
	return read_words(lane->memory.octets + test_lane_slot(number), words) ||
	       tool_fail(error, TOOL_ERROR_VERIFY, "a message is not the one expected");
}

bool
test_token_read(void *octets, struct test_token *token)
{
	uint64_t words[3];

	if (!read_words(octets, words))
		return false;
	token->op = words[0];
	token->iteration = words[1];
	token->good = words[2] != 0;
	return true;
}

bool
test_lane_post_token(struct test_lane *lane, const struct test_token *token, GError **error)
{
	return lane_post(lane, token->op, token->iteration, token->good, error);
}

bool
test_lane_token(struct test_lane *lane, uint64_t number, struct test_token *token, GError **error)
{
	return test_token_read(lane->memory.octets + test_lane_slot(number), token) ||
	       tool_fail(error, TOOL_ERROR_VERIFY, "a message is not the one expected");
}

static bool
tell_where(struct test_lane *lane, GError **error)
{
	it_dto_cmpl_event_t event;

	return lane_post(lane, lane->memory.context, tool_memory_address(&lane->memory),
			 lane->memory.size, error) &&
	       tool_link_done(&lane->link, &event, error);
}

static bool
hear_where(struct test_lane *lane, GError **error)
{
	it_dto_cmpl_event_t event;
	uint64_t words[3];

	if (!tool_link_received(&lane->link, &event, error))
		return false;
	if (event.transferred_length != TEST_TOKEN)
		return tool_fail(error, TOOL_ERROR_PEER, "the peer sent a malformed message");
	if (!read_slot(lane, 0, words, error))
		return false;
	lane->peer_context = words[0];
	lane->peer_address = words[1];
	return words[2] == lane->memory.size ||
	       tool_fail(error, TOOL_ERROR_PEER, "the layout of the peer's memory is another one");
}

bool
test_lane_meet(struct test_lane *lane, GError **error)
{
	if (lane->server)
		return hear_where(lane, error) && tell_where(lane, error);
	return tell_where(lane, error) && hear_where(lane, error);
}
