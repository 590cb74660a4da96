/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The protocol of rping, a program that comes with librdmacm, so that either side of it-ping can be the
 * other side of an rping. Nothing is in the private data. A round trip:
 *
 *   client                                  server
 *   writes a text into its source,
 *   SEND advert of the source            -> reads the source by RDMA READ
 *                                        <- SEND "go on"
 *   SEND advert of the sink              -> RDMA WRITE of what it read, SEND "go on"
 *   compares the sink with the source
 *
 * Every message has 16 octets, in network order: address (8), key (4) and size (4) of a buffer; those of
 * "go on" have no meaning. Only their order distinguishes one advert from the other. The text is
 * "rdma-ping-N: " for round N, counted from 0, and then the characters from 'A' to 'z' again and again,
 * one further on at the start of each round; the last octet is zero. Rping writes back what it read
 * up to that zero; we write all of it, which is the same for this text. The client ends the connection.
 */

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "ping.h"
#include "tool_error.h"
#include "tool_print.h"

#define ADVERT     16 /* octets */
#define FIRST_CHAR 'A'
#define CHARS      ('z' - 'A' + 1)
/* "rdma-ping-", a number as large as an int, ": " and the zero: rping's own least size is 26. */
#define LEAST 26
#define SHOWN 64 /* characters of a text that --verbose shows */

struct advert {
	uint64_t address;
	uint32_t key;
	uint32_t size;
};

bool
ping_rping_size(uint64_t size, GError **error)
{
	return size >= LEAST ||
	       tool_fail(error, TOOL_ERROR_USAGE, "a ping of rping has at least %d octets", LEAST);
}

/* The text of a round, in a buffer with room for the least size or more. */
static void
write_text(uint8_t *octets, size_t size, uint64_t number)
{
	char head[LEAST];
	size_t len = (size_t)snprintf(head, sizeof(head),
				      "rdma-ping-%d: ", (int)(number % ((uint64_t)INT_MAX + 1)));

	memcpy(octets, head, len);
	for (size_t at = len; at < size; at++)
		octets[at] = (uint8_t)(FIRST_CHAR + (number + at - len) % CHARS);
	octets[size - 1] = '\0';
}

static bool
send_advert(struct ping_end *end, const struct advert *advert, GError **error)
{
	uint8_t octets[ADVERT];
	struct tool_wire wire = tool_wire_of(octets, sizeof(octets));

	tool_put(&wire, advert->address, 8);
	tool_put(&wire, advert->key, 4);
	tool_put(&wire, advert->size, 4);
	return tool_mail_send(&end->mail, octets, sizeof(octets), error);
}

static bool
receive_advert(struct ping_end *end, struct advert *advert, GError **error)
{
	uint8_t octets[TOOL_MAIL_SIZE];
	struct tool_wire wire = tool_wire_of(octets, ADVERT);
	size_t len = sizeof(octets);

	if (!tool_mail_receive(&end->mail, octets, &len, error))
		return false;
	if (len != ADVERT)
		return tool_fail(error, TOOL_ERROR_PEER,
				 "the peer sent %zu octets; a message of rping has %d", len,
				 ADVERT);
	advert->address = tool_get(&wire, 8);
	advert->key = (uint32_t)tool_get(&wire, 4);
	advert->size = (uint32_t)tool_get(&wire, 4);
	return true;
}

static bool
advertise_memory(struct ping_end *end, const struct tool_memory *memory, GError **error)
{
	struct advert advert = {.address = tool_memory_address(memory),
				.key = (uint32_t)memory->context,
				.size = (uint32_t)memory->size};

	return send_advert(end, &advert, error);
}

/* The client's half of a round. */
static bool
one_round(struct ping_end *end, uint64_t number, GError **error)
{
	struct advert go_on = {0};

	write_text(end->source.octets, end->size, number);
	memset(end->sink.octets, 0, end->size);
	if (!advertise_memory(end, &end->source, error) || !receive_advert(end, &go_on, error) ||
	    !advertise_memory(end, &end->sink, error) || !receive_advert(end, &go_on, error))
		return false;
	for (size_t at = 0; at < end->size; at++) {
		if (end->sink.octets[at] != end->source.octets[at])
			return tool_fail(error, TOOL_ERROR_VERIFY,
					 "round %" G_GUINT64_FORMAT
					 ": octet %zu of %zu that the server wrote is wrong",
					 number, at, (size_t)end->size);
	}
	return true;
}

bool
ping_rping_client(struct ping *ping, struct tool_adapter *adapter, uint16_t port, GError **error)
{
	static const struct ping_rounds rounds = {.round = one_round};
	struct ping_end end = {.size = 0};
	struct tool_words none = {0};
	it_connection_event_t event;
	struct tool_way way;
	bool good = tool_way_find(&way, adapter, ping->host, port, error);

	while (good) {
		good = ping_end_open(&end, adapter, ping->options.seconds, NULL, error) &&
		       ping_end_buffers(&end, ping->size, error) &&
		       tool_link_join(&end.link, &way, &none, &event, error);
		if (good)
			break;
		ping_end_close(&end);
		good = tool_way_next(&way, error);
	}
	good = good && ping_measure(ping, &rounds, &end, error);
	ping_end_close(&end);
	tool_way_clear(&way);
	return good;
}

/* The first advert says how much memory the client makes the server use. */
static bool
make_room(struct ping_end *end, uint32_t size, uint64_t memory, GError **error)
{
	if (size == 0)
		return tool_fail(error, TOOL_ERROR_PEER, "the client has a source of no octets");
	if (size > memory)
		return tool_fail(error, TOOL_ERROR_PEER,
				 "the client wants %u octets; --memory is %" G_GUINT64_FORMAT, size,
				 memory);
	end->size = size;
	return tool_memory_make(&end->source, end->link.adapter, size, IT_PRIV_NONE, true, error);
}

static bool
check_text(const struct ping_end *end, uint64_t number, GError **error)
{
	g_autofree uint8_t *text = NULL;

	if (end->size < LEAST)
		return tool_fail(error, TOOL_ERROR_VERIFY,
				 "%zu octets are too few for a text of rping", (size_t)end->size);
	text = g_try_malloc(end->size);
	if (text == NULL)
		return tool_fail(error, TOOL_ERROR_FAILED, "no memory to compare with");
	write_text(text, end->size, number);
	return memcmp(text, end->source.octets, end->size) == 0 ||
	       tool_fail(error, TOOL_ERROR_VERIFY, "what was read is not rping's text");
}

static void
show_text(const struct ping_end *end, uint64_t number)
{
	size_t len = strnlen((const char *)end->source.octets, MIN(end->size, SHOWN));
	g_autofree char *text = g_strndup((const char *)end->source.octets, len);
	g_autofree char *safe = tool_escape(text);

	printf("round %" G_GUINT64_FORMAT ": read \"%s\"\n", number, safe);
}

static bool
read_source(struct ping_end *end, const struct advert *source, GError **error)
{
	it_lmr_triplet_t part = tool_memory_part(&end->source, 0, end->size);
	it_dto_cmpl_event_t event;

	memset(end->source.octets, 0, end->size);
	return tool_check(it_post_rdma_read(end->link.ep, &part, 1, 0, IT_COMPLETION_FLAG,
					    source->address, source->key),
			  "it_post_rdma_read", error) &&
	       tool_link_done(&end->link, &event, error);
}

static bool
write_sink(struct ping_end *end, const struct advert *sink, GError **error)
{
	it_lmr_triplet_t part = tool_memory_part(&end->source, 0, end->size);

	return tool_check(
		it_post_rdma_write(end->link.ep, &part, 1, 0, 0, sink->address, sink->key),
		"it_post_rdma_write", error);
}

/* The server's half of a round, from the advert that began it. */
static bool
server_round(const struct ping *ping, struct ping_end *end, const struct advert *source,
	     uint64_t number, GError **error)
{
	const struct advert go_on = {0};
	struct advert sink = {0};

	if (end->source.octets == NULL &&
	    (!make_room(end, source->size, ping->options.memory, error) ||
	     end->source.octets == NULL))
		return false;
	if (source->size != end->size)
		return tool_fail(error, TOOL_ERROR_PEER,
				 "the client has a source of %u octets, after one of %zu",
				 source->size, (size_t)end->size);
	if (!read_source(end, source, error) || (ping->verify && !check_text(end, number, error)))
		return false;
	if (ping->verbose && !ping->options.json)
		show_text(end, number);
	if (!send_advert(end, &go_on, error) || !receive_advert(end, &sink, error))
		return false;
	if (sink.size != end->size)
		return tool_fail(error, TOOL_ERROR_PEER,
				 "the client has a sink of %u octets for a source of %zu",
				 sink.size, (size_t)end->size);
	return write_sink(end, &sink, error) && send_advert(end, &go_on, error);
}

/* Rounds until the client leaves, which it may only do between two. */
static bool
serve_rounds(const struct ping *ping, struct ping_end *end, GError **error)
{
	struct advert source = {0};

	for (uint64_t number = 0;; number++) {
		GError *trouble = NULL;

		if (!receive_advert(end, &source, &trouble)) {
			if (number > 0 && end->link.end == IT_CM_MSG_CONN_DISCONNECT_EVENT) {
				g_clear_error(&trouble);
				return true;
			}
			g_propagate_error(error, trouble);
			return false;
		}
		if (!server_round(ping, end, &source, number, error)) {
			g_prefix_error(error, "round %" G_GUINT64_FORMAT ": ", number);
			return false;
		}
	}
}

bool
ping_rping_serve(void *arg, struct tool_client *client, GError **error)
{
	const struct ping *ping = arg;
	struct tool_words none = {0};
	struct ping_end end;
	bool good;

	good = ping_end_open(&end, client->adapter, ping->options.seconds, &client->watch, error) &&
	       tool_link_admit(&end.link, &client->request, &none, error) &&
	       serve_rounds(ping, &end, error);
	ping_end_close(&end);
	return good;
}
