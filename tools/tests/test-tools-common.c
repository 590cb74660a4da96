/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The shared parts of the tools that need no adapter: numbers, messages, patterns, the greeting. */

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "tool_error.h"
#include "tool_figures.h"
#include "tool_options.h"
#include "tool_pattern.h"
#include "tool_print.h"
#include "tool_way.h"
#include "tool_wire.h"

static void
test_number(void)
{
	static const struct {
		const char *text;
		uint64_t value;
	} good[] = {{"0", 0},       {"1", 1},        {"4096", 4096},
		    {"64k", 65536}, {"1M", 1048576}, {"2g", 2147483648}};
	static const char *const bad[] = {
		"",   "-1", " 1", "1x", "1kk", "k", "0x10", "18446744073709551616", "99999999999g",
		"1 ", "+1"};
	uint64_t value;

	for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
		g_assert_true(tool_number(good[i].text, 0, G_MAXUINT64, &value, NULL));
		g_assert_cmpuint(value, ==, good[i].value);
	}
	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_false(tool_number(bad[i], 0, G_MAXUINT64, &value, &error));
		g_assert_error(error, TOOL_ERROR, TOOL_ERROR_USAGE);
	}
	g_assert_false(tool_number("9", 10, 20, &value, NULL));
	g_assert_false(tool_number("21", 10, 20, &value, NULL));
	g_assert_true(tool_number("10", 10, 20, &value, NULL));
	g_assert_true(tool_number("20", 10, 20, &value, NULL));
}

/* At each unit: the largest value that fits, and one more. */
static void
test_number_overflow(void)
{
	static const struct {
		char unit;
		unsigned shift;
	} units[] = {{'k', 10}, {'M', 20}, {'g', 30}};
	uint64_t value;

	for (size_t i = 0; i < G_N_ELEMENTS(units); i++) {
		uint64_t most = G_MAXUINT64 >> units[i].shift;
		g_autofree char *good =
			g_strdup_printf("%" G_GUINT64_FORMAT "%c", most, units[i].unit);
		g_autofree char *bad =
			g_strdup_printf("%" G_GUINT64_FORMAT "%c", most + 1, units[i].unit);

		g_assert_true(tool_number(good, 0, G_MAXUINT64, &value, NULL));
		g_assert_cmpuint(value, ==, most << units[i].shift);
		g_assert_false(tool_number(bad, 0, G_MAXUINT64, &value, NULL));
	}
	g_assert_true(tool_number("18446744073709551615", 0, G_MAXUINT64, &value, NULL));
	g_assert_cmpuint(value, ==, G_MAXUINT64);
	g_assert_true(tool_number("007", 0, 7, &value, NULL)); /* decimal, never octal */
	g_assert_cmpuint(value, ==, 7);
}

static void
test_duration(void)
{
	static const struct {
		const char *text;
		uint64_t us;
	} good[] = {{"1ms", 1000},
		    {"1", 1000000},
		    {"10s", 10000000},
		    {"2m", 120000000},
		    {"1H", 3600000000},
		    {"86400", TOOL_DURATION_MAX},
		    {"24h", TOOL_DURATION_MAX},
		    {"86400000MS", TOOL_DURATION_MAX}};
	static const char *const bad[] = {"",
					  "0",
					  "0ms",
					  "-1",
					  "+1",
					  " 1",
					  "1 s",
					  "1us",
					  "1.5s",
					  "s",
					  "1sm",
					  "1d",
					  "25h",
					  "86401",
					  "86400001ms",
					  "18446744073709551616",
					  "18446744073709551615h",
					  "1s "};
	uint64_t us;

	for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
		g_assert_true(tool_duration(good[i].text, &us, NULL));
		g_assert_cmpuint(us, ==, good[i].us);
	}
	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_false(tool_duration(bad[i], &us, &error));
		g_assert_error(error, TOOL_ERROR, TOOL_ERROR_USAGE);
	}
}

static int
by_size(gconstpointer a, gconstpointer b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Compared with exact figures, for times of all lengths. */
static void
test_figures(void)
{
	static const double parts[] = {0, 0.001, 0.5, 0.9, 0.99, 0.999, 1};
	enum {
		COUNT = 5000
	};
	g_autofree struct tool_figures *figures = g_new0(struct tool_figures, 1);
	g_autofree struct tool_figures *half = g_new0(struct tool_figures, 1);
	g_autofree uint64_t *times = g_new(uint64_t, COUNT);
	GRand *chance = g_rand_new_with_seed(7);

	g_assert_cmpfloat(tool_figures_percentile(figures, 0.5), ==, 0);
	g_assert_cmpfloat(tool_figures_mean(figures), ==, 0);
	for (size_t i = 0; i < COUNT; i++) {
		times[i] = (UINT64_C(1) << (i % 42)) - 1 +
			   g_rand_int(chance) % ((UINT64_C(1) << (i % 32)) + 1);
		tool_figures_add(i % 2 == 0 ? figures : half, times[i]);
	}
	g_rand_free(chance);
	tool_figures_merge(figures, half);
	qsort(times, COUNT, sizeof(*times), by_size);
	g_assert_cmpuint(figures->count, ==, COUNT);
	g_assert_cmpuint(figures->min, ==, times[0]);
	g_assert_cmpuint(figures->max, ==, times[COUNT - 1]);
	for (size_t i = 0; i < G_N_ELEMENTS(parts); i++) {
		size_t rank = (size_t)(parts[i] * COUNT + 0.9999);
		double exact = (double)times[rank == 0 ? 0 : rank - 1] / 1e3;
		double told = tool_figures_percentile(figures, parts[i]);

		g_assert_cmpfloat(told, >=, exact);
		g_assert_cmpfloat(told, <=, exact * (1 + 1.0 / 128));
	}
}

/* The longest times share a bucket, but the maximum is exact. */
static void
test_figures_beyond(void)
{
	g_autofree struct tool_figures *figures = g_new0(struct tool_figures, 1);

	tool_figures_add(figures, UINT64_MAX);
	tool_figures_add(figures, UINT64_C(1) << TOOL_FIGURES_TOP);
	g_assert_cmpuint(figures->max, ==, UINT64_MAX);
	g_assert_cmpuint(figures->min, ==, UINT64_C(1) << TOOL_FIGURES_TOP);
	g_assert_cmpfloat(tool_figures_percentile(figures, 1), >=, (double)figures->min / 1e3);
}

static void
test_size(void)
{
	static const struct {
		uint64_t octets;
		const char *text;
	} cases[] = {{0, "0 B"},
		     {999, "999 B"},
		     {1000, "1.0 kB"},
		     {999949, "999.9 kB"},
		     {999950, "1.0 MB"},
		     {1048576, "1.0 MB"},
		     {UINT64_C(5000000000), "5.0 GB"},
		     {UINT64_MAX, "18.4 EB"}};
	char text[TOOL_SIZE_TEXT];

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		tool_size(text, sizeof(text), cases[i].octets);
		g_assert_cmpstr(text, ==, cases[i].text);
	}
}

/* Each octet alone: control characters are always escaped, readable characters are not. */
static void
test_escape(void)
{
	for (unsigned octet = 1; octet < 256; octet++) {
		char text[] = {'a', (char)octet, 'b', '\0'};
		g_autofree char *escaped = tool_escape(text);
		g_autofree char *wanted = octet == '\\' ? g_strdup("a\\\\b")
					  : octet >= 0x20 && octet < 0x7f
						  ? g_strdup(text)
						  : g_strdup_printf("a\\x%02xb", octet);

		g_assert_cmpstr(escaped, ==, wanted);
	}
}

static void
test_escape_utf8(void)
{
	static const struct {
		const char *text;
		const char *escaped;
	} cases[] = {
		{"\xc3\xa9", "\xc3\xa9"},                 /* a letter */
		{"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"}, /* of four octets */
		{"\xc2\x9b"
		 "31m",
		 "\\xc2\\x9b31m"},                   /* a control character */
		{"\xe2\x80\xae", "\\xe2\\x80\\xae"}, /* changes the writing direction */
		{"\xe2\x80\xa8", "\\xe2\\x80\\xa8"}, /* a line separator */
		{"\xef\xbb\xbf", "\\xef\\xbb\\xbf"}, /* has no width */
		{"\xed\xa0\x80", "\\xed\\xa0\\x80"}, /* a surrogate */
		{"\xc0\x9b", "\\xc0\\x9b"},          /* encoded too long */
		{"\xc3", "\\xc3"},                   /* cut */
		{"\xf0\x9f", "\\xf0\\x9f"},
		{"", ""},
	};
	g_autofree char *before = g_strdup(setlocale(LC_CTYPE, NULL));

	if (setlocale(LC_CTYPE, "C.UTF-8") == NULL) {
		g_test_skip("no locale with UTF-8");
		return;
	}
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *escaped = tool_escape(cases[i].text);

		g_assert_cmpstr(escaped, ==, cases[i].escaped);
	}
	setlocale(LC_CTYPE, before);
}

static void
test_wire(void)
{
	uint8_t octets[32];
	struct tool_wire wire = tool_wire_of(octets, sizeof(octets));

	tool_put(&wire, 0x0123456789abcdef, 8);
	tool_put(&wire, 0xfedc, 2);
	tool_put_text(&wire, "hello");
	g_assert_true(wire.ok);
	g_assert_cmpuint(wire.left, ==, 32 - 8 - 2 - 2 - 5);
	g_assert_cmphex(octets[0], ==, 0x01);
	g_assert_cmphex(octets[7], ==, 0xef);

	wire = tool_wire_of(octets, 17);
	g_assert_cmphex(tool_get(&wire, 8), ==, 0x0123456789abcdef);
	g_assert_cmphex(tool_get(&wire, 2), ==, 0xfedc);
	g_autofree char *text = tool_get_text(&wire, 5);
	g_assert_cmpstr(text, ==, "hello");
	g_assert_true(wire.ok);
}

static void
test_wire_overrun(void)
{
	uint8_t octets[12] = {0};
	struct tool_wire wire = tool_wire_of(octets, 3);
	char *text;

	tool_put(&wire, 1, 4);
	g_assert_false(wire.ok);
	tool_put(&wire, 0xff, 1); /* there was room for this field, but the error stays */
	g_assert_cmphex(octets[0], ==, 0);

	wire = tool_wire_of(octets, 3);
	g_assert_cmpuint(tool_get(&wire, 4), ==, 0);
	g_assert_false(wire.ok);

	octets[1] = 11; /* a text whose length is beyond the buffer */
	wire = tool_wire_of(octets, sizeof(octets));
	text = tool_get_text(&wire, 100);
	g_assert_false(wire.ok);
	g_assert_cmpstr(text, ==, "");
	g_free(text);

	octets[1] = 10; /* a text that fits but contains a zero */
	wire = tool_wire_of(octets, sizeof(octets));
	text = tool_get_text(&wire, 100);
	g_assert_false(wire.ok);
	g_free(text);
}

/* The longest text of each kind, and one octet more. */
static void
test_wire_text_limits(void)
{
	g_autofree char *longest = g_strnfill(UINT16_MAX, 'a');
	g_autofree char *longer = g_strnfill(UINT16_MAX + 1, 'a');
	g_autofree uint8_t *octets = g_malloc(UINT16_MAX + 100);
	struct tool_wire wire = tool_wire_of(octets, UINT16_MAX + 100);

	tool_put_text(&wire, longest);
	g_assert_true(wire.ok);
	wire = tool_wire_of(octets, UINT16_MAX + 100);
	tool_put_text(&wire, longer);
	g_assert_false(wire.ok);

	wire = tool_wire_of(octets, 7);
	tool_put_text(&wire, "hello");
	g_assert_true(wire.ok);
	wire = tool_wire_of(octets, 7);
	g_autofree char *text = tool_get_text(&wire, 4);
	g_assert_false(wire.ok);
	g_assert_cmpstr(text, ==, "");
}

static void
test_hello(void)
{
	struct tool_hello hello = {.version = 7,
				   .tool = TOOL_CP,
				   .refusal = TOOL_BUSY,
				   .session = 0x1122334455667788,
				   .index = 42};
	uint8_t octets[TOOL_HELLO_SIZE];
	struct tool_hello read;

	tool_hello_write(&hello, octets);
	g_assert_true(tool_hello_read(&read, octets, sizeof(octets)));
	g_assert_cmpuint(read.version, ==, 7);
	g_assert_cmpuint(read.tool, ==, TOOL_CP);
	g_assert_cmpuint(read.refusal, ==, TOOL_BUSY);
	g_assert_cmphex(read.session, ==, 0x1122334455667788);
	g_assert_cmpuint(read.index, ==, 42);
	for (size_t len = 0; len < sizeof(octets); len++)
		g_assert_false(tool_hello_read(&read, octets, len));
	octets[0] ^= 1;
	g_assert_false(tool_hello_read(&read, octets, sizeof(octets)));
}

static void
test_pattern(void)
{
	uint8_t whole[203];
	uint8_t pieces[203];

	tool_pattern_fill(whole, sizeof(whole), 5, 0);
	for (size_t at = 0, len = 1; at < sizeof(pieces); at += len, len = len % 13 + 1) {
		len = MIN(len, sizeof(pieces) - at);
		tool_pattern_fill(pieces + at, len, 5, at);
	}
	g_assert_cmpmem(whole, sizeof(whole), pieces, sizeof(pieces));
	g_assert_cmpuint(tool_pattern_check(whole, sizeof(whole), 5, 0), ==, sizeof(whole));
	g_assert_cmpuint(tool_pattern_check(whole + 3, 100, 5, 3), ==, 100);
	for (size_t at = 0; at < sizeof(whole); at++) {
		whole[at] ^= 0x40;
		g_assert_cmpuint(tool_pattern_check(whole, sizeof(whole), 5, 0), ==, at);
		whole[at] ^= 0x40;
	}
	g_assert_cmpuint(tool_pattern_check(whole, sizeof(whole), 6, 0), <, 8);
	g_assert_cmpuint(tool_pattern_check(whole, sizeof(whole), 5, 8), <, 8);
}

/* A change of the seed changes every octet of a word. */
static void
test_pattern_seed(void)
{
	uint8_t five[64];
	uint8_t six[64];

	tool_pattern_fill(five, sizeof(five), 5, 0);
	tool_pattern_fill(six, sizeof(six), 6, 0);
	for (size_t at = 0; at < sizeof(five); at += 8)
		g_assert_cmpint(memcmp(five + at + 1, six + at + 1, 7), !=, 0);
}

/* The shared options: the limits of each number, and values beyond them. */
static void
test_options_bounds(void)
{
	static const struct {
		const char *option;
		bool good;
	} cases[] = {
		{"--port=0", true},        {"--port=65535", true}, {"--port=65536", false},
		{"--clients=0", false},    {"--clients=1", true},  {"--clients=1024", true},
		{"--clients=1025", false},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *program = g_strdup("tool");
		g_autofree char *option = g_strdup(cases[i].option);
		char *words[] = {program, option, NULL};
		char **argv = words;
		int argc = 2;
		GOptionContext *context = g_option_context_new(NULL);
		g_autoptr(GError) error = NULL;
		struct tool_options options;

		tool_options_add(&options, context, 1000);
		g_assert_cmpint(tool_options_parse(&options, context, &argc, &argv, &error), ==,
				cases[i].good);
		if (!cases[i].good)
			g_assert_error(error, TOOL_ERROR, TOOL_ERROR_USAGE);
		g_option_context_free(context);
		tool_options_free(&options);
	}
}

static void
test_first_error_stays(void)
{
	g_autoptr(GError) error = NULL;

	g_assert_false(tool_fail(&error, TOOL_ERROR_VERIFY, "first"));
	g_assert_false(tool_check(IT_ERR_ABORT, "second", &error));
	g_assert_error(error, TOOL_ERROR, TOOL_ERROR_VERIFY);
	g_assert_cmpstr(error->message, ==, "first");
	g_clear_error(&error);
	g_assert_true(tool_check(IT_SUCCESS, "third", &error));
	g_assert_no_error(error);
	g_assert_false(tool_check(IT_ERR_WAITER_LIMIT, "fourth", &error));
	g_assert_cmpstr(error->message, ==, "fourth: IT_ERR_WAITER_LIMIT");
}

static void
split_good(const char *typed, const char *host, uint16_t port)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *found = NULL;
	uint16_t number = 18515;

	g_assert_true(tool_way_split(typed, &found, &number, &error));
	g_assert_no_error(error);
	g_assert_cmpstr(found, ==, host);
	g_assert_cmpuint(number, ==, port);
}

/* One parser for all tools. */
static void
test_way_split(void)
{
	static const char *const bad[] = {"",      ":",          ":1",     "[",       "[]",
					  "[::1",  "[::1]x",     "[::1]:", "[::1]:0", "[::1]:x",
					  "host:", "host:65536", "host:1k"};

	split_good("host", "host", 18515);
	split_good("host:1", "host", 1);
	split_good("10.0.0.1:65535", "10.0.0.1", 65535);
	split_good("::1", "::1", 18515);
	split_good("fe80::1%eth0", "fe80::1%eth0", 18515);
	split_good("[::1]", "::1", 18515);
	split_good("[fe80::1%eth0]:7", "fe80::1%eth0", 7);
	split_good("[host]:7", "host", 7);
	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autoptr(GError) error = NULL;
		char *found = NULL;
		uint16_t number = 0;

		g_assert_false(tool_way_split(bad[i], &found, &number, &error));
		g_assert_error(error, TOOL_ERROR, TOOL_ERROR_USAGE);
		g_assert_null(found);
	}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/tools/common/number", test_number);
	g_test_add_func("/tools/common/number-overflow", test_number_overflow);
	g_test_add_func("/tools/common/duration", test_duration);
	g_test_add_func("/tools/common/figures", test_figures);
	g_test_add_func("/tools/common/figures-beyond", test_figures_beyond);
	g_test_add_func("/tools/common/size", test_size);
	g_test_add_func("/tools/common/escape", test_escape);
	g_test_add_func("/tools/common/escape-utf8", test_escape_utf8);
	g_test_add_func("/tools/common/wire", test_wire);
	g_test_add_func("/tools/common/wire-overrun", test_wire_overrun);
	g_test_add_func("/tools/common/wire-text-limits", test_wire_text_limits);
	g_test_add_func("/tools/common/hello", test_hello);
	g_test_add_func("/tools/common/pattern", test_pattern);
	g_test_add_func("/tools/common/pattern-seed", test_pattern_seed);
	g_test_add_func("/tools/common/options-bounds", test_options_bounds);
	g_test_add_func("/tools/common/first-error-stays", test_first_error_stays);
	g_test_add_func("/tools/common/way-split", test_way_split);
	return g_test_run();
}
