/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The protocol of lab_talk.h, over any carrier. */

#include "lab_talk.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tool_pattern.h"
#include "tool_wire.h"

#define EXTRA_OCTETS 100 /* by which a Send is too long on purpose */
#define WRONG_KEY    0x00ffff00U

bool
lab_fail(GError **error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	g_propagate_error(error,
			  g_error_new_valist(g_quark_from_static_string("lab"), 1, format, args));
	va_end(args);
	return false;
}

/* A number, which may end in k or m, of at most that. */
static bool
lab_number(const char *text, uint64_t least, uint64_t most, uint64_t *number, GError **error)
{
	char *end;
	uint64_t value = g_ascii_strtoull(text, &end, 10);

	if (*end == 'k' || *end == 'm')
		value <<= *end++ == 'k' ? 10 : 20;
	*number = value;
	return (end != text && *end == '\0' && value >= least && value <= most) ||
	       lab_fail(error, "%s is not a number of %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT,
			text, least, most);
}

enum word {
	HELLO = 1, /* address and key of the region */
	WROTE,     /* length, seed: check what the leader wrote */
	FILL,      /* length, seed: fill the region, the leader will read */
	TAKE,      /* length, seed: post a receive, the leader will send */
	BEWARE,    /* the connection will break, by the leader's fault */
	BYE,
	GOOD,
	BAD, /* the first place that is wrong */
};

struct letter {
	uint64_t word, a, b, c;
};

static bool
send_letter(struct lab_end *end, uint64_t word, uint64_t a, uint64_t b, GError **error)
{
	struct tool_wire wire = tool_wire_of(end->region + LAB_OUT, LAB_LETTER);

	tool_put(&wire, word, 8);
	tool_put(&wire, a, 8);
	tool_put(&wire, b, 8);
	tool_put(&wire, 0, 8);
	return end->carrier->send(end, LAB_OUT, LAB_LETTER, error) &&
	       end->carrier->done(end, error);
}

/* Where the letter of that number comes: two may be under way. */
static size_t
place_of(unsigned number)
{
	return LAB_IN + number % 2 * LAB_LETTER;
}

static bool
post_letter(struct lab_end *end, GError **error)
{
	return end->carrier->receive(end, place_of(end->posted++), LAB_LETTER, error);
}

static bool
receive_letter(struct lab_end *end, struct letter *letter, GError **error)
{
	struct tool_wire wire = tool_wire_of(end->region + place_of(end->heard++), LAB_LETTER);
	size_t len = 0;

	memset(letter, 0, sizeof(*letter));
	if (!end->carrier->arrived(end, &len, error))
		return false;
	if (len != LAB_LETTER)
		return lab_fail(error, "a letter of %zu octets came", len);
	letter->word = tool_get(&wire, 8);
	letter->a = tool_get(&wire, 8);
	letter->b = tool_get(&wire, 8);
	return true;
}

static bool
hear_word(struct lab_end *end, uint64_t word, struct letter *letter, GError **error)
{
	if (!receive_letter(end, letter, error))
		return false;
	if (letter->word == BAD)
		return lab_fail(error, "the peer found a wrong octet at %" G_GUINT64_FORMAT,
				letter->a);
	return letter->word == word ||
	       lab_fail(error, "letter %" G_GUINT64_FORMAT " came instead of %" G_GUINT64_FORMAT,
			letter->word, word);
}

/* A letter of the leader, and the follower's approval. */
static bool
send_request(struct lab_end *end, uint64_t word, uint64_t len, GError **error)
{
	struct letter answer;

	return post_letter(end, error) && send_letter(end, word, len, end->seed, error) &&
	       hear_word(end, GOOD, &answer, error);
}

static bool
verify_memory(const uint8_t *octets, size_t len, uint64_t seed, const char *what, GError **error)
{
	size_t wrong = tool_pattern_check(octets, len, seed, 0);

	return wrong == len || lab_fail(error, "%s: octet %zu of %zu is wrong", what, wrong, len);
}

static bool
do_write(struct lab_end *end, size_t len, GError **error)
{
	tool_pattern_fill(end->region, len, end->seed, 0);
	return end->carrier->write(end, len, end->peer_address, end->peer_key, error) &&
	       end->carrier->done(end, error) && send_request(end, WROTE, len, error);
}

/* `times` Reads at once, side by side in the region. */
static bool
do_reads(struct lab_end *end, size_t len, size_t times, GError **error)
{
	if (!send_request(end, FILL, len, error))
		return false;
	memset(end->region, 0, len * times);
	for (size_t i = 0; i < times; i++) {
		if (!end->carrier->read(end, i * len, len, end->peer_address, end->peer_key, error))
			return false;
	}
	for (size_t i = 0; i < times; i++) {
		if (!end->carrier->done(end, error))
			return false;
	}
	for (size_t i = 0; i < times; i++) {
		if (!verify_memory(end->region + i * len, len, end->seed, "read", error))
			return false;
	}
	return true;
}

static bool
do_send(struct lab_end *end, size_t len, GError **error)
{
	struct letter answer;

	if (!send_request(end, TAKE, len, error))
		return false;
	tool_pattern_fill(end->region, len, end->seed, 0);
	return post_letter(end, error) && end->carrier->send(end, 0, len, error) &&
	       end->carrier->done(end, error) && hear_word(end, GOOD, &answer, error);
}

/* A fault of ours, which must end the connection; what its completion said is printed. */
static bool
do_wrong(struct lab_end *end, const char *name, size_t len, GError **error)
{
	g_autoptr(GError) why = NULL;
	uint32_t key = end->peer_key ^ WRONG_KEY;
	bool posted;

	if (!send_request(end, strcmp(name, "long-send") == 0 ? TAKE : BEWARE, len, error))
		return false;
	tool_pattern_fill(end->region, len, end->seed, 0);
	if (strcmp(name, "wrong-write") == 0)
		posted = end->carrier->write(end, len, end->peer_address, key, error);
	else if (strcmp(name, "wrong-read") == 0)
		posted = end->carrier->read(end, 0, len, end->peer_address, key, error);
	else if (strcmp(name, "far-write") == 0)
		posted = end->carrier->write(end, len, end->peer_address + LAB_REGION - len / 2,
					     end->peer_key, error);
	else
		posted = end->carrier->send(end, 0, len + EXTRA_OCTETS, error);
	if (!posted || !end->carrier->ended(end, error))
		return false;
	if (end->carrier->done(end, &why))
		printf("%s: the request succeeded\n", name);
	else
		printf("%s: %s\n", name, why->message);
	end->established = false;
	return true;
}

/* One operation: name:length[:times]. */
static bool
run_operation(struct lab_end *end, const char *operation, GError **error)
{
	g_auto(GStrv) parts = g_strsplit(operation, ":", 3);
	size_t count = g_strv_length(parts);
	uint64_t len = 0;
	uint64_t times = 1;

	end->seed++;
	if ((count > 1 && !lab_number(parts[1], 0, LAB_DATA, &len, error)) ||
	    (count > 2 && !lab_number(parts[2], 1, LAB_SLOTS - 2, &times, error)))
		return false;
	if (len * times > LAB_DATA)
		return lab_fail(error, "%s does not fit", operation);
	if (strcmp(parts[0], "write") == 0)
		return do_write(end, len, error);
	if (strcmp(parts[0], "read") == 0)
		return do_reads(end, len, times, error);
	if (strcmp(parts[0], "send") == 0)
		return do_send(end, len, error);
	return do_wrong(end, parts[0], len, error);
}

/* Ends the connection, or waits until the peer does. */
static bool
finish_connection(struct lab_end *end, bool stop, GError **error)
{
	if (stop)
		end->carrier->disconnect(end);
	end->established = false;
	return end->carrier->ended(end, error);
}

static bool
run_leader(struct lab_end *end, GError **error)
{
	g_auto(GStrv) operations = g_strsplit(end->options.operations, ",", -1);

	do {
		for (size_t i = 0; operations[i] != NULL && operations[i][0] != '\0'; i++) {
			if (!run_operation(end, operations[i], error)) {
				g_prefix_error(error, "%s: ", operations[i]);
				return false;
			}
			if (!end->established)
				return true;
		}
	} while (end->options.forever);
	return send_request(end, BYE, 0, error) &&
	       finish_connection(end, !end->options.stop, error);
}

/* Receives what the leader sends; a Send that is too long breaks the connection, and that is well. */
static bool
receive_send(struct lab_end *end, const struct letter *letter, GError **error)
{
	g_autoptr(GError) why = NULL;
	size_t came;

	memset(end->region, 0, letter->a);
	if (!end->carrier->receive(end, 0, letter->a, error) ||
	    !send_letter(end, GOOD, 0, 0, error))
		return false;
	if (!end->carrier->arrived(end, &came, &why)) {
		printf("long-send: %s\n", why->message);
		end->established = false;
		return end->carrier->ended(end, error);
	}
	if (came != letter->a)
		return lab_fail(error, "%zu octets came", came);
	return post_letter(end, error) &&
	       verify_memory(end->region, came, letter->b, "send", error) &&
	       send_letter(end, GOOD, 0, 0, error);
}

/* Does what a letter wants. */
static bool
obey_request(struct lab_end *end, const struct letter *letter, GError **error)
{
	size_t wrong;

	if (letter->word > BYE || letter->a > LAB_DATA)
		return lab_fail(error, "the leader said nonsense");
	if (letter->word == TAKE)
		return receive_send(end, letter, error);
	if (!post_letter(end, error))
		return false;
	switch (letter->word) {
	case WROTE:
		wrong = tool_pattern_check(end->region, letter->a, letter->b, 0);
		if (wrong == letter->a)
			return send_letter(end, GOOD, 0, 0, error);
		return send_letter(end, BAD, wrong, 0, error) &&
		       lab_fail(error, "octet %zu is wrong", wrong);
	case FILL:
		tool_pattern_fill(end->region, letter->a, letter->b, 0);
		return send_letter(end, GOOD, 0, 0, error);
	case BEWARE:
		end->established = false;
		return send_letter(end, GOOD, 0, 0, error) && end->carrier->ended(end, error);
	default:
		return send_letter(end, GOOD, 0, 0, error) &&
		       finish_connection(end, end->options.stop, error);
	}
}

static bool
run_follower(struct lab_end *end, GError **error)
{
	struct letter letter;

	while (end->established) {
		if (!receive_letter(end, &letter, error) || !obey_request(end, &letter, error))
			return false;
	}
	return true;
}

/* Whether this side sends the first letter of the connection. */
static bool
is_initiator(const struct lab_end *end)
{
	return (end->options.host != NULL) != end->options.first;
}

bool
lab_talk_ready(struct lab_end *end, GError **error)
{
	end->posted = end->heard = 0;
	if (is_initiator(end) && end->options.operations == NULL && !post_letter(end, error))
		return false;
	return post_letter(end, error);
}

bool
lab_talk(struct lab_end *end, GError **error)
{
	bool leads = end->options.operations != NULL;
	uint64_t address = (uint64_t)(uintptr_t)end->region;
	struct letter hello;

	if (is_initiator(end)) {
		if (end->number % 2 == 1)
			g_usleep((gulong)end->options.pause * 1000);
		if (!send_letter(end, HELLO, address, end->key, error) ||
		    !hear_word(end, HELLO, &hello, error))
			return false;
	} else {
		if (!hear_word(end, HELLO, &hello, error) || (!leads && !post_letter(end, error)) ||
		    !send_letter(end, HELLO, address, end->key, error))
			return false;
	}
	end->peer_address = hello.a;
	end->peer_key = (uint32_t)hello.b;
	if (end->number == 0)
		printf("connected\n");
	return leads ? run_leader(end, error) : run_follower(end, error);
}

void
lab_private_fill(const struct lab_end *end, uint8_t octets[LAB_PRIVATE_LIMIT])
{
	tool_pattern_fill(octets, (size_t)end->options.private_data, LAB_PRIVATE_SEED, 0);
}

bool
lab_private_check(const struct lab_end *end, const uint8_t *octets, int len, size_t room,
		  GError **error)
{
	int expected = end->options.expect_private;

	if (expected < 0)
		return true;
	if ((len >= 0 && len != expected) || (size_t)expected > room)
		return lab_fail(error, "private data of %d octets came, not of %d", len, expected);
	if (!verify_memory(octets, (size_t)expected, LAB_PRIVATE_SEED, "private data", error))
		return false;
	for (size_t i = (size_t)expected; len < 0 && i < room; i++) {
		if (octets[i] != 0)
			return lab_fail(error, "private data has more than %d octets", expected);
	}
	return true;
}
