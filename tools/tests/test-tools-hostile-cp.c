/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Hostile clients of it-cp's server: letters cut at each octet, false fields, chunks, and clients that die. */

#include <glib/gstdio.h>
#include <string.h>

#include "cp_letter.h"
#include "hostile.h"

#define LETTER_MAX 256

static struct hostile_server server;

static void
honest_is_served(void)
{
	g_autofree char *copy = g_build_filename(server.folder, "honest", NULL);

	hostile_honest(&server, "it-cp", "-q", "-p", "@", "/proc/self/exe", "127.0.0.1:honest",
		       NULL);
	g_assert_cmpint(g_unlink(copy), ==, 0);
}

/* The served folder is empty, apart from temporary files that the server removes in a moment. */
static void
nothing_stays(void)
{
	gint64 until = g_get_monotonic_time() + HOSTILE_PATIENCE * (gint64)G_USEC_PER_SEC;

	for (;;) {
		g_autoptr(GDir) folder = g_dir_open(server.folder, 0, NULL);
		const char *name = g_dir_read_name(folder);

		if (name == NULL)
			return;
		g_assert_true(g_str_has_prefix(name, ".it-cp-"));
		g_assert_cmpint(g_get_monotonic_time(), <, until);
		g_usleep(10 * 1000);
	}
}

static void
say(struct hostile_end *end, const struct cp_letter *letter)
{
	g_assert_true(cp_letter_send(&end->mail, letter, NULL));
}

/* The next letter must be this word, good or not; its text (g_free() it). */
static char *
heard(struct hostile_end *end, enum cp_word word, bool good)
{
	struct cp_letter letter;

	g_assert_true(cp_letter_receive(&end->mail, &letter, NULL));
	g_assert_cmpint(letter.word, ==, word);
	g_assert_cmpint(letter.good, ==, good);
	return letter.text;
}

/* A put of that many octets to which the server has agreed. */
static void
put(struct hostile_end *end, uint64_t size)
{
	struct cp_letter request = {
		.word = CP_REQUEST, .good = true, .sum = CP_SHA256, .size = size, .text = "target"};

	hostile_enter(end, &server, TOOL_CP);
	say(end, &request);
	g_free(heard(end, CP_ANSWER, true));
}

static size_t
request_octets(uint8_t *octets)
{
	struct tool_wire wire = tool_wire_of(octets, LETTER_MAX);

	tool_put(&wire, CP_REQUEST, 1);
	tool_put(&wire, 1, 1);
	tool_put(&wire, CP_SHA256, 1);
	tool_put(&wire, 0600, 4);
	tool_put(&wire, 5, 8);
	tool_put(&wire, 0, 8);
	tool_put(&wire, 0, 8);
	tool_put(&wire, 0, 8);
	tool_put_text(&wire, "name");
	return LETTER_MAX - wire.left;
}

static void
refused(const uint8_t *octets, size_t len)
{
	struct hostile_end end RI_AT_END(hostile_close);

	hostile_enter(&end, &server, TOOL_CP);
	hostile_send(&end, octets, len);
	hostile_is_left(&end);
}

static void
test_cut(void)
{
	uint8_t octets[LETTER_MAX];
	size_t len = request_octets(octets);

	for (size_t shorter = 0; shorter < len; shorter++)
		refused(octets, shorter);
	honest_is_served();
	nothing_stays();
}

/* The offset of the field in the first letter that is false. */
static void
test_first_letter(void)
{
	static const struct {
		size_t at;
		uint8_t octet;
	} lies[] = {{0, 0},
		    {0, CP_ANSWER},
		    {0, CP_CHUNK_READY},
		    {0, CP_RESULT},
		    {0, 8},
		    {0, 255},
		    {2, 0},
		    {2, CP_SUM_KINDS},
		    {2, 255}, /* a checksum of unknown kind */
		    {39, 16},
		    {39, 255},
		    {40, 5},  /* a text longer than the letter */
		    {41, 0}}; /* a text with a zero */

	for (size_t i = 0; i < G_N_ELEMENTS(lies); i++) {
		uint8_t octets[LETTER_MAX];
		size_t len = request_octets(octets);

		octets[lies[i].at] = lies[i].octet;
		refused(octets, len);
	}
	honest_is_served();
	nothing_stays();
}

/* A path of the longest length and one octet more. */
static void
test_long_path(void)
{
	for (size_t len = CP_PATH_MAX; len <= CP_PATH_MAX + 1; len++) {
		g_autofree char *path = g_strnfill(len, 'x');
		struct cp_letter request = {.word = CP_REQUEST, .sum = CP_CRC32C, .text = path};
		struct hostile_end end RI_AT_END(hostile_close);

		hostile_enter(&end, &server, TOOL_CP);
		say(&end, &request);
		if (len == CP_PATH_MAX)
			g_free(heard(&end, CP_ANSWER, false));
		else
			hostile_is_left(&end);
	}
}

static void
test_chunks(void)
{
	static const uint64_t size = 3 * CP_CHUNK + 5;
	static const struct cp_letter bad[] = {
		{.word = CP_CHUNK_READY, .size = 0},
		{.word = CP_CHUNK_READY, .size = 1},
		{.word = CP_CHUNK_READY, .size = CP_CHUNK - 1},
		{.word = CP_CHUNK_READY, .size = CP_CHUNK + 1},
		{.word = CP_CHUNK_READY, .size = UINT64_MAX},
		{.word = CP_CHUNK_READY, .size = CP_CHUNK, .number = 1},
		{.word = CP_CHUNK_READY, .size = CP_CHUNK, .number = UINT64_MAX},
		{.word = CP_FINISH, .size = size, .text = (char *)""},
		{.word = CP_FINISH, .size = 0, .text = (char *)""},
		{.word = CP_ABORT, .text = (char *)"\033[31mI\nleave"},
		{.word = CP_REQUEST, .good = true, .sum = CP_SHA256, .text = (char *)"target"},
		{.word = CP_FREE},
		{.word = CP_RESULT, .good = true},
		{.word = (enum cp_word)0},
		{.word = (enum cp_word)255},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		struct hostile_end end RI_AT_END(hostile_close);

		put(&end, size);
		say(&end, &bad[i]);
		g_free(heard(&end, CP_RESULT, false));
	}
	nothing_stays();
	hostile_server_said(&server, "\\x1b[31mI\\x0aleave");
	honest_is_served();
}

/* A file of length 0 has no chunks, not even empty ones; for a part of a chunk the rest is the last chunk. */
static void
test_last_chunk(void)
{
	static const struct {
		uint64_t size;
		uint64_t chunk;
		bool good;
	} cases[] = {{0, 0, false}, {0, 1, false}, {7, 7, true}, {7, 8, false}, {7, 6, false}};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct cp_letter chunk = {.word = CP_CHUNK_READY, .size = cases[i].chunk};
		struct hostile_end end RI_AT_END(hostile_close);

		put(&end, cases[i].size);
		say(&end, &chunk);
		g_free(heard(&end, cases[i].good ? CP_FREE : CP_RESULT, false));
	}
	nothing_stays();
}

static void
test_wrong_sum(void)
{
	struct cp_letter chunk = {.word = CP_CHUNK_READY, .size = 7};
	struct cp_letter finish = {.word = CP_FINISH, .size = 7, .text = (char *)"\033]0;x\007"};
	g_autofree char *why = NULL;
	struct hostile_end end;

	put(&end, 7);
	say(&end, &chunk);
	g_free(heard(&end, CP_FREE, false));
	say(&end, &finish);
	why = heard(&end, CP_RESULT, false);
	g_assert_nonnull(strstr(why, "differs"));
	hostile_close(&end);
	nothing_stays();
	hostile_server_said(&server, "\\x1b]0;x\\x07");
}

/* The receiver of a get returns slots that it never got, or ends before the end. */
static void
test_get(void)
{
	g_autofree char *path = g_build_filename(server.folder, "file", NULL);
	struct cp_letter request = {.word = CP_REQUEST, .sum = CP_CRC32C, .text = (char *)"file"};
	static const struct cp_letter bad[] = {
		{.word = CP_FREE, .number = 1},
		{.word = CP_FREE, .number = UINT64_MAX},
		{.word = CP_RESULT, .good = false, .text = (char *)"\033[2Jno"},
		{.word = CP_CHUNK_READY, .size = CP_CHUNK},
		{.word = (enum cp_word)0},
	};

	g_assert_true(g_file_set_contents(path, "content", -1, NULL));
	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		struct cp_letter letter;
		struct hostile_end end RI_AT_END(hostile_close);
		struct tool_memory ring;

		hostile_enter(&end, &server, TOOL_CP);
		g_assert_true(tool_memory_make(&ring, &end.adapter, CP_SLOTS * CP_CHUNK,
					       IT_PRIV_REMOTE_WRITE, false, NULL));
		request.context = ring.context;
		request.address = tool_memory_address(&ring);
		say(&end, &request);
		g_free(heard(&end, CP_ANSWER, true));
		say(&end, &bad[i]);
		while (cp_letter_receive(&end.mail, &letter, NULL)) /* the chunk, and FINISH */
			cp_letter_clear(&letter);
		cp_letter_clear(&letter);
		tool_link_close(&end.link);
		tool_memory_free(&ring);
	}
	hostile_server_said(&server, "\\x1b[2Jno");
	g_assert_cmpint(g_unlink(path), ==, 0);
	honest_is_served();
}

/* FREE, without end, for chunks that were never sent; the file has more chunks than the ring has slots. */
static void
test_get_freed_ahead(void)
{
	g_autofree char *path = g_build_filename(server.folder, "file", NULL);
	struct cp_letter request = {.word = CP_REQUEST, .sum = CP_CRC32C, .text = (char *)"file"};
	struct cp_letter letter = {.word = CP_FREE};
	struct hostile_end end;

	g_assert_true(g_file_set_contents(path, "", -1, NULL));
	hostile_enter(&end, &server, TOOL_CP);
	say(&end, &request);
	g_free(heard(&end, CP_ANSWER, true));
	g_free(heard(&end, CP_FINISH, false));
	say(&end, &letter); /* no chunk was sent */
	hostile_is_left(&end);
	hostile_close(&end);
	g_assert_cmpint(g_unlink(path), ==, 0);
}

/* A ring that does not exist: the server's Write breaks this connection and nothing else. */
static void
test_no_ring(void)
{
	g_autofree char *path = g_build_filename(server.folder, "file", NULL);
	struct cp_letter request = {.word = CP_REQUEST,
				    .sum = CP_CRC32C,
				    .context = 0x12345678,
				    .address = 0x1000,
				    .text = (char *)"file"};
	struct cp_letter letter;
	struct hostile_end end;

	g_assert_true(g_file_set_contents(path, "content", -1, NULL));
	hostile_enter(&end, &server, TOOL_CP);
	say(&end, &request);
	g_free(heard(&end, CP_ANSWER, true));
	g_assert_false(cp_letter_receive(&end.mail, &letter, NULL));
	cp_letter_clear(&letter);
	hostile_close(&end);
	g_assert_cmpint(g_unlink(path), ==, 0);
	honest_is_served();
}

/* The client dies after its first letter, after the answer, and after a chunk. */
static void
test_death(void)
{
	struct cp_letter request = {.word = CP_REQUEST,
				    .good = true,
				    .sum = CP_SHA256,
				    .size = 7,
				    .text = (char *)"target"};
	struct cp_letter chunk = {.word = CP_CHUNK_READY, .size = CP_CHUNK};

	for (unsigned at = 0; at < 4; at++) {
		struct hostile_end end RI_AT_END(hostile_close);

		request.size = 2 * CP_CHUNK;
		hostile_enter(&end, &server, TOOL_CP);
		if (at > 0)
			say(&end, &request);
		if (at > 1)
			g_free(heard(&end, CP_ANSWER, true));
		if (at > 2)
			say(&end, &chunk);
	}
	nothing_stays();
	honest_is_served();
}

static void
test_terminal(void)
{
	struct cp_letter request = {
		.word = CP_REQUEST, .sum = CP_SHA256, .text = (char *)"no\033[31m\nsuch\233file"};
	g_autofree char *output = NULL;
	g_autofree char *target = g_strconcat(server.folder, ".got", NULL);
	struct hostile_end end;

	hostile_enter(&end, &server, TOOL_CP);
	say(&end, &request);
	g_free(heard(&end, CP_ANSWER, false));
	hostile_close(&end);
	hostile_server_said(&server, "no\\x1b[31m\\x0asuch\\x9bfile: No such file");
	g_assert_cmpint(hostile_run(&output, &server, "it-cp", "-p", "@", "127.0.0.1:a\033[31m\nb",
				    target, NULL),
			==, 1);
	g_assert_null(strchr(output, '\033'));
	g_assert_nonnull(strstr(output, "a\\x1b[31m\\x0ab"));
}

/* Both places are taken: one client stops after its request, one after its first chunk. Others get the places. */
static void
test_stopped_and_full(void)
{
	struct cp_letter chunk = {.word = CP_CHUNK_READY, .size = CP_CHUNK};
	struct hostile_server loose = server;
	struct hostile_server small;
	struct hostile_end ends[2];
	g_autofree char *why = NULL;

	hostile_server_start(&small, "it-cp", HOSTILE_SERVES, "--serve", "@", "--clients", "2",
			     NULL);
	server = small;
	for (size_t i = 0; i < G_N_ELEMENTS(ends); i++)
		put(&ends[i], 2 * CP_CHUNK);
	say(&ends[1], &chunk);
	for (size_t i = 0; i < 3; i++)
		honest_is_served();
	why = heard(&ends[0], CP_RESULT, false);
	g_assert_nonnull(strstr(why, "others wait for the place"));
	hostile_is_left(&ends[0]);
	for (size_t i = 0; i < G_N_ELEMENTS(ends); i++)
		hostile_close(&ends[i]);
	nothing_stays();
	hostile_server_end(&small);
	server = loose;
}

int
main(int argc, char **argv)
{
	int status;

	g_test_init(&argc, &argv, NULL);
	hostile_server_start(&server, "it-cp", HOSTILE_SERVES, "--serve", "@", NULL);
	g_test_add_func("/tools/hostile/cp/cut", test_cut);
	g_test_add_func("/tools/hostile/cp/first-letter", test_first_letter);
	g_test_add_func("/tools/hostile/cp/long-path", test_long_path);
	g_test_add_func("/tools/hostile/cp/chunks", test_chunks);
	g_test_add_func("/tools/hostile/cp/last-chunk", test_last_chunk);
	g_test_add_func("/tools/hostile/cp/wrong-sum", test_wrong_sum);
	g_test_add_func("/tools/hostile/cp/get", test_get);
	g_test_add_func("/tools/hostile/cp/get-freed-ahead", test_get_freed_ahead);
	g_test_add_func("/tools/hostile/cp/no-ring", test_no_ring);
	g_test_add_func("/tools/hostile/cp/death", test_death);
	g_test_add_func("/tools/hostile/cp/stopped-and-full", test_stopped_and_full);
	g_test_add_func("/tools/hostile/cp/terminal", test_terminal);
	status = g_test_run();
	hostile_server_end(&server);
	return status;
}
