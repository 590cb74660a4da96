/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The messages ("letters") that peers send to the tools: the greeting of all tools, the letters of
 * it-cp, the plans of it-test; and the function that makes a peer's texts safe to print. The first
 * octet of the input picks one of them.
 *
 * The harness is linked without the library: in place of a connection, a mailbox delivers the input.
 */
#include "fuzz.h"

#include "cp_letter.h"
#include "test_plan.h"
#include "tool_error.h"
#include "tool_options.h"
#include "tool_print.h"
#include "tool_wire.h"

enum what {
	WHAT_HELLO = 0,
	WHAT_LETTER,
	WHAT_PLAN,
	WHAT_TEXT,
	WHAT_SIZES,
	WHAT_COUNT
};

/* What the next letter is. */
static const uint8_t *mail;
static size_t mail_len;

bool
tool_mail_receive(struct tool_mail *from, void *letter, size_t *len, GError **error)
{
	(void)from;
	if (mail_len > *len)
		return tool_fail(error, TOOL_ERROR_PEER, "the letter is too long");
	if (mail_len > 0)
		memcpy(letter, mail, mail_len);
	*len = mail_len;
	return true;
}

bool
tool_mail_send(struct tool_mail *to, const void *letter, size_t len, GError **error)
{
	(void)to;
	(void)error;
	FUZZ_REQUIRE(letter != NULL && len > 0 && len <= TOOL_MAIL_SIZE);
	return true;
}

/* Parts of the library that the tools' common code names and no input reaches. */
const char *
it_status_name(it_status_t status)
{
	(void)status;
	return "";
}

void
itx_log_set_writer(itx_log_writer_t writer, void *context)
{
	(void)writer;
	(void)context;
}

static void
hello_run(const uint8_t *octets, size_t len)
{
	uint8_t again[TOOL_HELLO_SIZE];
	struct tool_hello hello;
	struct tool_hello second;

	if (!tool_hello_read(&hello, octets, len))
		return;
	FUZZ_REQUIRE(len >= TOOL_HELLO_SIZE);
	tool_hello_write(&hello, again);
	FUZZ_REQUIRE(tool_hello_read(&second, again, sizeof(again)));
	FUZZ_REQUIRE(memcmp(again, octets, 20) == 0);
}

/* Whatever text comes, what is printed of it is printable characters of one line. */
static void
text_check(const char *text)
{
	g_autofree char *printed = tool_escape(text);

	for (const char *c = printed; *c != '\0'; c++)
		FUZZ_REQUIRE((unsigned char)*c >= ' ' && *c != 0x7f);
	FUZZ_REQUIRE(strlen(printed) >= strlen(text) || !g_str_is_ascii(text));
}

/* A letter that can be read is the same when it is sent on. */
static void
letter_run(const uint8_t *octets, size_t len)
{
	g_autofree uint8_t *again = g_malloc(TOOL_MAIL_SIZE);
	struct cp_letter letter;
	struct cp_letter second;
	GError *error = NULL;
	size_t size;

	mail = octets;
	mail_len = len;
	if (cp_letter_receive(NULL, &letter, &error)) {
		FUZZ_REQUIRE(cp_letter_send(NULL, &letter, NULL));
		size = cp_letter_write(&letter, again);
		FUZZ_REQUIRE(size > 0 && size <= len);
		FUZZ_REQUIRE(cp_letter_read(&second, again, size));
		FUZZ_REQUIRE(strcmp(letter.text, second.text) == 0);
		FUZZ_REQUIRE(letter.size == second.size && letter.address == second.address);
		cp_letter_clear(&second);
		text_check(letter.text);
	} else {
		FUZZ_REQUIRE(error != NULL && error->domain == TOOL_ERROR);
	}
	g_clear_error(&error);
	cp_letter_clear(&letter);
}

static void
plan_run(uint8_t *octets, size_t len)
{
	static struct test_plan plan;
	static struct test_plan second;
	uint8_t again[2048];
	uint8_t third[2048];
	GError *error = NULL;
	size_t size;

	if (!test_plan_read(&plan, octets, len, &error)) {
		FUZZ_REQUIRE(error != NULL && error->domain == TOOL_ERROR);
		text_check(error->message);
		g_error_free(error);
		return;
	}
	FUZZ_REQUIRE(error == NULL);
	FUZZ_REQUIRE(test_plan_lanes(&plan) >= 1 && test_plan_lanes(&plan) <= TEST_LANES_MAX);
	FUZZ_REQUIRE(plan.op_count >= 1 && plan.op_count <= TEST_OPS_MAX);
	for (uint64_t i = 0; i < plan.op_count; i++) {
		FUZZ_REQUIRE(test_op_octets(&plan.ops[i]) * test_plan_lanes(&plan) <=
			     TEST_MEMORY_MAX);
		FUZZ_REQUIRE(test_kind_text(plan.ops[i].kind) != NULL);
	}
	size = test_plan_write(&plan, again, sizeof(again));
	FUZZ_REQUIRE(size > 0 && size <= len);
	FUZZ_REQUIRE(test_plan_read(&second, again, size, NULL));
	FUZZ_REQUIRE(test_plan_write(&second, third, sizeof(third)) == size);
	FUZZ_REQUIRE(memcmp(again, third, size) == 0);
}

/* Numbers of the command line, which come from scripts. */
static void
sizes_run(const char *text)
{
	uint64_t sizes[TEST_SIZES_MAX];
	size_t count = 0;

	if (!test_plan_sizes(text, sizes, &count, NULL))
		return;
	FUZZ_REQUIRE(count >= 1 && count <= TEST_SIZES_MAX);
	for (size_t i = 0; i < count; i++)
		FUZZ_REQUIRE(sizes[i] >= 1 && sizes[i] <= TEST_SIZE_MAX);
}

int
LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len)
{
	struct fuzz_input in = {.at = octets, .left = len};
	unsigned what = fuzz_u8(&in) % WHAT_COUNT;
	uint8_t *copy = fuzz_copy(in.at, in.left);
	char *text = fuzz_text(in.at, in.left);

	if (what == WHAT_HELLO)
		hello_run(copy, in.left);
	else if (what == WHAT_LETTER)
		letter_run(copy, in.left);
	else if (what == WHAT_PLAN)
		plan_run(copy, in.left);
	else if (what == WHAT_TEXT)
		text_check(text);
	else
		sizes_run(text);
	free(text);
	free(copy);
	return 0;
}
