/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Letters of it-cp and the cursor that reads them: each field at each limit and one beyond. */

#include <string.h>

#include "cp_letter.h"

#define HEAD ((size_t)1 + 1 + 1 + 4 + 8 + 8 + 8 + 8 + 2) /* octets of a letter before its text */

static void
test_round(void)
{
	static const struct cp_letter letters[] = {
		{.word = CP_REQUEST, .text = (char *)""},
		{.word = CP_ANSWER, .good = true, .text = (char *)""},
		{.word = CP_CHUNK_READY, .sum = 255, .text = (char *)""},
		{.word = CP_FREE, .mode = UINT32_MAX, .text = (char *)""},
		{.word = CP_FINISH, .size = UINT64_MAX, .text = (char *)""},
		{.word = CP_ABORT, .number = UINT64_MAX, .text = (char *)""},
		{.word = CP_RESULT, .context = UINT64_MAX, .text = (char *)""},
		{.word = CP_RESULT, .address = UINT64_MAX, .text = (char *)""},
		{.word = CP_REQUEST, .text = (char *)"\377\001path"},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(letters); i++) {
		const struct cp_letter *sent = &letters[i];
		uint8_t octets[TOOL_MAIL_SIZE];
		size_t len = cp_letter_write(sent, octets);
		struct cp_letter read;

		g_assert_cmpuint(len, ==, HEAD + strlen(sent->text));
		g_assert_true(cp_letter_read(&read, octets, len));
		g_assert_cmpint(read.word, ==, sent->word);
		g_assert_cmpint(read.good, ==, sent->good);
		g_assert_cmpuint(read.sum, ==, sent->sum);
		g_assert_cmpuint(read.mode, ==, sent->mode);
		g_assert_cmpuint(read.size, ==, sent->size);
		g_assert_cmpuint(read.number, ==, sent->number);
		g_assert_cmpuint(read.context, ==, sent->context);
		g_assert_cmpuint(read.address, ==, sent->address);
		g_assert_cmpstr(read.text, ==, sent->text);
		cp_letter_clear(&read);
	}
}

static void
test_cut(void)
{
	struct cp_letter letter = {.word = CP_REQUEST, .text = (char *)"path"};
	uint8_t octets[TOOL_MAIL_SIZE];
	size_t len = cp_letter_write(&letter, octets);

	for (size_t shorter = 0; shorter < len; shorter++) {
		struct cp_letter read;

		g_assert_false(cp_letter_read(&read, octets, shorter));
		g_assert_cmpstr(read.text, ==, ""); /* never NULL */
		cp_letter_clear(&read);
	}
}

/* A text of that length in a letter of that kind. */
static bool
reads(enum cp_word word, size_t text_octets)
{
	uint8_t octets[TOOL_MAIL_SIZE];
	struct tool_wire wire = tool_wire_of(octets, sizeof(octets));
	struct cp_letter read;
	bool good;

	memset(octets, 'x', sizeof(octets));
	tool_put(&wire, (uint64_t)word, 1);
	wire = tool_wire_of(octets + HEAD - 2, 2);
	tool_put(&wire, text_octets, 2);
	good = cp_letter_read(&read, octets, HEAD + text_octets);
	g_assert_cmpuint(strlen(read.text), ==, good ? text_octets : 0);
	cp_letter_clear(&read);
	return good;
}

static void
test_limits(void)
{
	g_assert_true(reads(CP_REQUEST, CP_PATH_MAX));
	g_assert_false(reads(CP_REQUEST, CP_PATH_MAX + 1));
	g_assert_true(reads(CP_ABORT, CP_REASON_MAX));
	g_assert_false(reads(CP_ABORT, CP_REASON_MAX + 1));
}

/* Too long to send: a path is refused, a reason is cut to the length that the other side reads. */
static void
test_too_long(void)
{
	g_autofree char *text = g_strnfill(70000, 'x');
	struct cp_letter letter = {.word = CP_REQUEST, .text = text};
	uint8_t octets[TOOL_MAIL_SIZE];
	struct cp_letter read;
	size_t len;

	g_assert_cmpuint(cp_letter_write(&letter, octets), ==, 0);
	text[TOOL_MAIL_SIZE - HEAD + 1] = '\0';
	g_assert_cmpuint(cp_letter_write(&letter, octets), ==, 0);
	text[TOOL_MAIL_SIZE - HEAD] = '\0';
	g_assert_cmpuint(cp_letter_write(&letter, octets), ==, TOOL_MAIL_SIZE);
	memset(text, 'x', 69999);
	letter.word = CP_RESULT;
	len = cp_letter_write(&letter, octets);
	g_assert_true(cp_letter_read(&read, octets, len));
	g_assert_cmpuint(strlen(read.text), ==, CP_REASON_MAX);
	cp_letter_clear(&read);
}

/* Integers of every width: the largest is written, a larger one is not. */
static void
test_widths(void)
{
	for (size_t width = 1; width <= 8; width++) {
		uint64_t most = width == 8 ? UINT64_MAX : (UINT64_C(1) << (8 * width)) - 1;
		uint8_t octets[10] = {0};
		struct tool_wire wire = tool_wire_of(octets, width);

		tool_put(&wire, most, width);
		g_assert_true(wire.ok);
		g_assert_cmpuint(wire.left, ==, 0);
		g_assert_cmphex(octets[width], ==, 0);
		tool_put(&wire, 0xff, 1);
		g_assert_false(wire.ok);
		g_assert_cmphex(octets[width], ==, 0);
		wire = tool_wire_of(octets, width);
		g_assert_cmphex(tool_get(&wire, width), ==, most);
		g_assert_true(wire.ok);
		g_assert_cmpuint(tool_get(&wire, 1), ==, 0);
		g_assert_false(wire.ok);
	}
}

static void
test_texts(void)
{
	g_autofree char *text = g_strnfill(UINT16_MAX + 1, 'x');
	g_autofree uint8_t *octets = g_malloc0(UINT16_MAX + 8);
	struct tool_wire wire = tool_wire_of(octets, UINT16_MAX + 8);
	g_autofree char *read = NULL;

	tool_put_text(&wire, text); /* two octets cannot hold its length */
	g_assert_false(wire.ok);
	text[UINT16_MAX] = '\0';
	wire = tool_wire_of(octets, UINT16_MAX + 8);
	tool_put_text(&wire, text);
	g_assert_true(wire.ok);
	wire = tool_wire_of(octets, UINT16_MAX + 2);
	read = tool_get_text(&wire, UINT16_MAX);
	g_assert_true(wire.ok);
	g_assert_cmpstr(read, ==, text);
	g_clear_pointer(&read, g_free);
	wire = tool_wire_of(octets, UINT16_MAX + 2);
	read = tool_get_text(&wire, UINT16_MAX - 1);
	g_assert_false(wire.ok);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/tools/letters/round", test_round);
	g_test_add_func("/tools/letters/cut", test_cut);
	g_test_add_func("/tools/letters/limits", test_limits);
	g_test_add_func("/tools/letters/too-long", test_too_long);
	g_test_add_func("/tools/letters/widths", test_widths);
	g_test_add_func("/tools/letters/texts", test_texts);
	return g_test_run();
}
