/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The protocol of it-ping itself: round trips that use every basic operation, each octet verified.
 *
 * A round trip, as rping made it known:
 *
 *   client                                   server
 *   fills its source, SEND "ping" (where) -> reads the source by RDMA READ, verifies it
 *                                         <- SEND "go on"
 *   SEND "pong" (where its sink is)       -> RDMA WRITE of what it read, SEND "done"
 *   verifies the sink
 *
 * The first letter has the parameters for the server, and the server says whether it is ready. The
 * client sends first and has the last word.
 */

#include <string.h>

#include "ping.h"
#include "tool_error.h"
#include "tool_pattern.h"

#define LETTER 64

enum word {
	WORD_START = 1, /* size and seed of the run; the answer: the server is ready */
	WORD_PING,      /* number, context and address of the source */
	WORD_GO_ON,
	WORD_PONG, /* number, context and address of the sink */
	WORD_DONE, /* number, and whether the source was as it should */
	WORD_END,
	WORD_TOO_LARGE, /* instead of START: the most octets that a client may have */
};

struct letter {
	uint64_t word;
	uint64_t number; /* of the round; START: octets of the buffers */
	uint64_t context;
	uint64_t address; /* START: seed; DONE: 1 if verified */
};

static bool
send_letter(struct ping_end *end, enum word word, uint64_t number, uint64_t context,
	    uint64_t address, GError **error)
{
	uint8_t octets[LETTER];
	struct tool_wire wire = tool_wire_of(octets, sizeof(octets));

	memset(octets, 0, sizeof(octets));
	tool_put(&wire, word, 8);
	tool_put(&wire, number, 8);
	tool_put(&wire, context, 8);
	tool_put(&wire, address, 8);
	return tool_mail_send(&end->mail, octets, sizeof(octets), error);
}

static bool
hear_any(struct ping_end *end, struct letter *letter, GError **error)
{
	uint8_t octets[LETTER];
	size_t len = sizeof(octets);
	struct tool_wire wire;

	if (!tool_mail_receive(&end->mail, octets, &len, error))
		return false;
	wire = tool_wire_of(octets, len);
	letter->word = tool_get(&wire, 8);
	letter->number = tool_get(&wire, 8);
	letter->context = tool_get(&wire, 8);
	letter->address = tool_get(&wire, 8);
	return wire.ok || tool_fail(error, TOOL_ERROR_PEER, "the peer sent too short a message");
}

static bool
receive_letter(struct ping_end *end, enum word word, uint64_t number, struct letter *letter,
	       GError **error)
{
	if (!hear_any(end, letter, error))
		return false;
	if (letter->word == (uint64_t)word && letter->number == number)
		return true;
	return tool_fail(error, TOOL_ERROR_PEER, "the peer sent a message out of turn");
}

static bool
verify_memory(const struct tool_memory *memory, size_t size, uint64_t seed, const char *where,
	      GError **error)
{
	size_t at = tool_pattern_check(memory->octets, size, seed, 0);

	if (at == size)
		return true;
	return tool_fail(error, TOOL_ERROR_VERIFY, "%s: octet %zu of %zu is wrong", where, at,
			 size);
}

static bool
one_round(struct ping_end *end, uint64_t number, GError **error)
{
	uint64_t seed = end->seed + number;
	struct letter letter;

	tool_pattern_fill(end->source.octets, end->size, seed, 0);
	memset(end->sink.octets, 0, end->size);
	if (!send_letter(end, WORD_PING, number, end->source.context,
			 tool_memory_address(&end->source), error) ||
	    !receive_letter(end, WORD_GO_ON, number, &letter, error) ||
	    !send_letter(end, WORD_PONG, number, end->sink.context, tool_memory_address(&end->sink),
			 error) ||
	    !receive_letter(end, WORD_DONE, number, &letter, error))
		return false;
	if (letter.address != 1)
		return tool_fail(error, TOOL_ERROR_VERIFY,
				 "round %" G_GUINT64_FORMAT ": the server read something else",
				 number);
	return verify_memory(&end->sink, end->size, seed, "written by the server", error);
}

/* Tells the server what is to come; it may say that it is too much. */
static bool
client_start(struct ping_end *end, GError **error)
{
	struct letter letter;

	if (!send_letter(end, WORD_START, end->size, 0, end->seed, error) ||
	    !hear_any(end, &letter, error))
		return false;
	if (letter.word == WORD_TOO_LARGE)
		return tool_fail(error, TOOL_ERROR_PEER,
				 "the server says: no more than %" G_GUINT64_FORMAT
				 " octets (its option --memory)",
				 letter.number);
	return (letter.word == WORD_START && letter.number == end->size) ||
	       tool_fail(error, TOOL_ERROR_PEER, "the peer sent a message out of turn");
}

static bool
client_finish(struct ping_end *end, GError **error)
{
	struct letter letter;

	return send_letter(end, WORD_END, 0, 0, 0, error) &&
	       receive_letter(end, WORD_END, 0, &letter, error);
}

bool
ping_own_client(struct ping *ping, struct tool_adapter *adapter, uint16_t port, GError **error)
{
	static const struct ping_rounds rounds = {.round = one_round, .finish = client_finish};
	struct tool_hello hello = {.version = TOOL_VERSION, .tool = TOOL_PING};
	struct ping_end end = {.size = 0};
	struct tool_way way;
	bool good;

	hello.session = (uint64_t)g_random_int() << 32 | g_random_int();
	good = tool_way_find(&way, adapter, ping->host, port, error);
	while (good) {
		good = ping_end_open(&end, adapter, ping->options.seconds, NULL, error) &&
		       ping_end_buffers(&end, ping->size, error) &&
		       tool_link_connect(&end.link, &way, &hello, error);
		if (good)
			break;
		ping_end_close(&end);
		good = tool_way_next(&way, error);
	}
	end.seed = hello.session;
	good = good && client_start(&end, error) && ping_measure(ping, &rounds, &end, error);
	ping_end_close(&end);
	tool_way_clear(&way);
	return good;
}

/* The server's half of a round, from the letter that began it. */
static bool
server_round(struct ping_end *end, const struct letter *ping, GError **error)
{
	it_lmr_triplet_t part = tool_memory_part(&end->source, 0, end->size);
	g_autoptr(GError) wrong = NULL;
	it_dto_cmpl_event_t event;
	struct letter pong;
	bool same;

	memset(end->source.octets, 0, end->size);
	if (!tool_check(it_post_rdma_read(end->link.ep, &part, 1, 0, IT_COMPLETION_FLAG,
					  ping->address, ping->context),
			"it_post_rdma_read", error) ||
	    !tool_link_done(&end->link, &event, error))
		return false;
	same = verify_memory(&end->source, end->size, end->seed + ping->number, "read", &wrong);
	return send_letter(end, WORD_GO_ON, ping->number, 0, 0, error) &&
	       receive_letter(end, WORD_PONG, ping->number, &pong, error) &&
	       tool_check(
		       it_post_rdma_write(end->link.ep, &part, 1, 0, 0, pong.address, pong.context),
		       "it_post_rdma_write", error) &&
	       send_letter(end, WORD_DONE, ping->number, 0, same ? 1 : 0, error) &&
	       (same || tool_fail(error, TOOL_ERROR_VERIFY, "%s", wrong->message));
}

/* Hears the size, and says whether a client may have that much. */
static bool
server_start(struct ping_end *end, uint64_t memory, GError **error)
{
	struct letter letter;

	if (!hear_any(end, &letter, error))
		return false;
	if (letter.word != WORD_START || letter.number == 0 || letter.number > PING_MAX_SIZE)
		return tool_fail(error, TOOL_ERROR_PEER, "the client began with nonsense");
	if (letter.number > memory) {
		if (send_letter(end, WORD_TOO_LARGE, memory, 0, 0, error))
			tool_link_linger(&end->link);
		return tool_fail(error, TOOL_ERROR_PEER,
				 "the client wants %" G_GUINT64_FORMAT
				 " octets; --memory is %" G_GUINT64_FORMAT,
				 letter.number, memory);
	}
	end->size = (size_t)letter.number;
	end->seed = letter.address;
	return tool_memory_make(&end->source, end->link.adapter, end->size, IT_PRIV_NONE, true,
				error) &&
	       send_letter(end, WORD_START, end->size, 0, 0, error);
}

static bool
serve_client(struct ping_end *end, uint64_t memory, GError **error)
{
	struct letter letter;

	if (!server_start(end, memory, error))
		return false;
	for (;;) {
		GError *trouble = NULL;

		if (!hear_any(end, &letter, &trouble)) {
			/* Between two rounds the client may go: its user had enough. */
			if (end->link.end == IT_CM_MSG_CONN_DISCONNECT_EVENT) {
				g_clear_error(&trouble);
				return true;
			}
			g_propagate_error(error, trouble);
			return false;
		}
		if (letter.word == WORD_END)
			break;
		if (letter.word != WORD_PING)
			return tool_fail(error, TOOL_ERROR_PEER, "the client is out of turn");
		if (!server_round(end, &letter, error))
			return false;
	}
	if (!send_letter(end, WORD_END, 0, 0, 0, error))
		return false;
	tool_link_linger(&end->link);
	return true;
}

bool
ping_own_serve(void *arg, struct tool_client *client, GError **error)
{
	const struct ping *ping = arg;
	struct ping_end end;
	bool good;

	good = ping_end_open(&end, client->adapter, ping->options.seconds, &client->watch, error) &&
	       tool_link_accept(&end.link, &client->request, &client->hello, error) &&
	       serve_client(&end, ping->options.memory, error);
	ping_end_close(&end);
	return good;
}
