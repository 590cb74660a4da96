/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Hostile clients of it-ping's server: they cut messages at each octet, send them in the wrong
 * order, name memory that they may not access, and die.
 */

#include <arpa/inet.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hostile.h"
#include "tool_pattern.h"

#define LETTER 64
#define PLACES 8

enum word {
	START = 1,
	PING = 2,
	GO_ON = 3,
	PONG = 4,
	DONE = 5,
	END = 6,
	TOO_LARGE = 7,
};

static struct hostile_server server;

static void
say(struct hostile_end *end, uint64_t word, uint64_t number, uint64_t context, uint64_t address)
{
	uint8_t octets[LETTER] = {0};
	struct tool_wire wire = tool_wire_of(octets, sizeof(octets));

	tool_put(&wire, word, 8);
	tool_put(&wire, number, 8);
	tool_put(&wire, context, 8);
	tool_put(&wire, address, 8);
	hostile_send(end, octets, sizeof(octets));
}

static void
heard(struct hostile_end *end, uint64_t word)
{
	uint8_t octets[LETTER];
	size_t len = sizeof(octets);
	struct tool_wire wire = tool_wire_of(octets, sizeof(octets));

	g_assert_true(tool_mail_receive(&end->mail, octets, &len, NULL));
	g_assert_cmpuint(tool_get(&wire, 8), ==, word);
}

static void
honest_is_served(void)
{
	hostile_honest(&server, "it-ping", "-p", "@", "-C", "3", "127.0.0.1", NULL);
}

static void
test_cut(void)
{
	uint8_t octets[4 * 8 + 1] = {[7] = START, [15] = 64};

	for (size_t len = 0; len < 32; len++) {
		struct hostile_end end RI_AT_END(hostile_close);

		hostile_enter(&end, &server, TOOL_PING);
		hostile_send(&end, octets, len);
		hostile_is_left(&end);
	}
	honest_is_served();
}

/* Letters longer than any of the protocol, up to the longest that a slot holds, and beyond. */
static void
test_long(void)
{
	static const size_t lens[] = {LETTER + 1, TOOL_MAIL_SIZE};
	uint8_t octets[TOOL_MAIL_SIZE] = {[7] = START, [15] = 64};
	struct hostile_end end;
	struct tool_memory memory;
	it_lmr_triplet_t part;

	for (size_t i = 0; i < G_N_ELEMENTS(lens); i++) {
		hostile_enter(&end, &server, TOOL_PING);
		hostile_send(&end, octets, lens[i]);
		hostile_is_left(&end);
		hostile_close(&end);
	}
	hostile_enter(&end, &server, TOOL_PING);
	g_assert_false(tool_mail_send(&end.mail, octets, TOOL_MAIL_SIZE + 1, NULL));
	g_assert_true(tool_memory_make(&memory, &end.adapter, TOOL_MAIL_SIZE + 1, IT_PRIV_NONE,
				       false, NULL));
	part = tool_memory_part(&memory, 0, TOOL_MAIL_SIZE + 1);
	g_assert_cmpint(it_post_send(end.link.ep, &part, 1, 0, IT_COMPLETION_FLAG), ==, IT_SUCCESS);
	hostile_is_left(&end);
	tool_link_close(&end.link);
	tool_memory_free(&memory);
	hostile_close(&end);
	honest_is_served();
}

static void
test_first_word(void)
{
	static const struct {
		uint64_t word;
		uint64_t size;
	} bad[] = {{0, 64},
		   {PING, 64},
		   {PONG, 64},
		   {END, 64},
		   {TOO_LARGE, 64},
		   {UINT64_MAX, 64},
		   {START, 0},
		   {START, (UINT64_C(1) << 30) + 1},
		   {START, UINT64_MAX}};

	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		struct hostile_end end RI_AT_END(hostile_close);

		hostile_enter(&end, &server, TOOL_PING);
		say(&end, bad[i].word, bad[i].size, 0, 0);
		hostile_is_left(&end);
	}
	honest_is_served();
}

/* A client gets at most what --memory permits, and memory is not touched before that check. */
static void
test_memory(void)
{
	size_t before = hostile_server_memory(&server);
	g_autofree char *output = NULL;

	for (uint64_t size = (8 << 20) + 1; size <= UINT64_C(1) << 30; size *= 5) {
		struct hostile_end end RI_AT_END(hostile_close);

		hostile_enter(&end, &server, TOOL_PING);
		say(&end, START, size, 0, 0);
		heard(&end, TOO_LARGE);
	}
	g_assert_cmpuint(hostile_server_memory(&server), <, before + (64 << 20));
	hostile_honest(&server, "it-ping", "-p", "@", "-C", "1", "-S", "8m", "127.0.0.1", NULL);
	g_assert_cmpint(
		hostile_run(&output, &server, "it-ping", "-p", "@", "-S", "9m", "127.0.0.1", NULL),
		==, 1);
	g_assert_nonnull(strstr(output, "no more than 8388608 octets"));
}

static void
test_out_of_turn(void)
{
	static const uint64_t bad[] = {0, START, PONG, 3, 5, TOO_LARGE, UINT64_MAX};

	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		struct hostile_end end RI_AT_END(hostile_close);

		hostile_enter(&end, &server, TOOL_PING);
		say(&end, START, 64, 0, 0);
		heard(&end, START);
		say(&end, bad[i], 0, 0, 0);
		hostile_is_left(&end);
	}
	honest_is_served();
}

/* The key of memory that does not exist: the server's Read fails and nothing else does. */
static void
test_no_memory(void)
{
	struct hostile_end end;

	hostile_enter(&end, &server, TOOL_PING);
	say(&end, START, 64, 0, 0);
	heard(&end, START);
	say(&end, PING, 0, 0x12345678, 0x1000);
	hostile_is_left(&end);
	hostile_close(&end);
	honest_is_served();
}

/* All places but one are taken by silent clients. */
static void
test_silent(void)
{
	struct hostile_end ends[PLACES - 1];
	struct hostile_end one;

	for (size_t i = 0; i < G_N_ELEMENTS(ends); i++)
		hostile_enter(&ends[i], &server, TOOL_PING);
	honest_is_served();
	hostile_enter(&one, &server, TOOL_PING);
	hostile_close(&one); /* dies before its first letter */
	for (size_t i = 0; i < G_N_ELEMENTS(ends); i++)
		hostile_close(&ends[i]);
	honest_is_served();
}

/* All places are taken by clients that began a run and stopped. They lose their places, in the order in which they stopped. */
static void
test_stopped_and_full(void)
{
	struct hostile_end ends[PLACES];

	for (size_t i = 0; i < G_N_ELEMENTS(ends); i++) {
		hostile_enter(&ends[i], &server, TOOL_PING);
		say(&ends[i], START, 64, 0, 0);
		heard(&ends[i], START);
	}
	for (size_t i = 0; i < 3; i++)
		honest_is_served();
	hostile_is_left(&ends[0]);
	hostile_server_said(&server, "a client that has stopped loses its place");
	for (size_t i = 0; i < G_N_ELEMENTS(ends); i++)
		hostile_close(&ends[i]);
}

/* One letter of the client's half of a round; number counts letters. */
static void
slow_step(struct hostile_end *end, const struct tool_memory *memory, uint64_t number)
{
	if (number % 2 == 0)
		tool_pattern_fill(memory->octets, 64, number / 2, 0);
	say(end, number % 2 == 0 ? PING : PONG, number / 2, memory->context,
	    tool_memory_address(memory));
	heard(end, number % 2 == 0 ? GO_ON : DONE);
}

/*
 * A slow client makes one step each time that another client connects and stays silent. The silent
 * clients displace each other, but the slow one keeps its place, although each of its steps comes
 * later than any step of an honest client.
 */
static void
test_slow(void)
{
	struct hostile_end ends[3 * PLACES];
	struct tool_memory memory;
	struct hostile_end slow;

	hostile_enter(&slow, &server, TOOL_PING);
	g_assert_true(tool_memory_make(&memory, &slow.adapter, 64,
				       IT_PRIV_REMOTE_READ | IT_PRIV_REMOTE_WRITE, false, NULL));
	say(&slow, START, 64, 0, 0);
	heard(&slow, START);
	for (size_t i = 0; i < G_N_ELEMENTS(ends); i++) {
		slow_step(&slow, &memory, i);
		hostile_enter(&ends[i], &server, TOOL_PING);
	}
	slow_step(&slow, &memory, G_N_ELEMENTS(ends));
	g_assert_true(tool_link_stands(&slow.link, NULL));
	honest_is_served();
	tool_link_close(&slow.link);
	tool_memory_free(&memory);
	hostile_close(&slow);
	for (size_t i = 0; i < G_N_ELEMENTS(ends); i++)
		hostile_close(&ends[i]);
}

/* All places are taken by clients that go on, which is the only case in which the server is busy. */
static void
test_full(void)
{
	struct hostile_server small RI_AT_END(hostile_server_end);
	g_autofree char *port = NULL;
	g_autofree char *output = NULL;
	g_autofree char *program = g_build_filename(g_getenv("ITAPI_TOOLS"), "it-ping", NULL);
	GPid pid;

	hostile_server_start(&small, "it-ping", HOSTILE_SERVES, "--clients", "1", NULL);
	port = g_strdup_printf("%u", small.port);
	{
		char *argv[] = {program, "-a", "iwarp", "-p", port, "127.0.0.1", NULL};

		g_assert_true(g_spawn_async(NULL, argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL,
					    &pid, NULL));
	}
	/* Whichever of the two was first, the endless one has the place in the end. */
	for (;;) {
		g_clear_pointer(&output, g_free);
		if (hostile_run(&output, &small, "it-ping", "-p", port, "-C", "1", "127.0.0.1",
				NULL) == 1)
			break;
	}
	g_assert_nonnull(strstr(output, "busy"));
	g_assert_cmpint(kill(pid, SIGINT), ==, 0);
	g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
}

/* All places are taken by silent clients: the oldest loses its place to a client that sends something. */
static void
test_silent_and_full(void)
{
	struct hostile_end ends[PLACES];

	for (size_t i = 0; i < G_N_ELEMENTS(ends); i++)
		hostile_enter(&ends[i], &server, TOOL_PING);
	for (size_t i = 0; i < 3; i++)
		honest_is_served();
	hostile_is_left(&ends[0]);
	for (size_t i = 0; i < G_N_ELEMENTS(ends); i++)
		hostile_close(&ends[i]);
	hostile_server_said(&server, "loses its place");
}

/* Greetings of other programs, of other versions, and without a run. */
static void
test_greetings(void)
{
	static const struct tool_hello bad[] = {
		{.version = TOOL_VERSION, .tool = TOOL_TEST},
		{.version = TOOL_VERSION, .tool = 0},
		{.version = TOOL_VERSION, .tool = 255},
		{.version = TOOL_VERSION + 1, .tool = TOOL_PING},
		{.version = 0, .tool = TOOL_PING},
		{.version = TOOL_VERSION, .tool = TOOL_PING, .session = 7, .index = 1},
		{.version = TOOL_VERSION, .tool = TOOL_PING, .index = UINT32_MAX},
	};
	struct hostile_end end;

	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
		g_assert_false(hostile_connect(&end, &server, &bad[i]));
	honest_is_served();
}

/* TCP connections that never send a complete Request. */
static void
test_mute_streams(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(server.port)};
	int streams[20];

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (size_t i = 0; i < G_N_ELEMENTS(streams); i++) {
		streams[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		g_assert_cmpint(connect(streams[i], (struct sockaddr *)&to, sizeof(to)), ==, 0);
		g_assert_cmpint(send(streams[i], "MPA ID Req Frame", i % 17, MSG_NOSIGNAL), ==,
				(gssize)(i % 17));
	}
	honest_is_served();
	for (size_t i = 0; i < G_N_ELEMENTS(streams); i++)
		close(streams[i]);
}

static void
test_deadline(void)
{
	struct hostile_server hasty RI_AT_END(hostile_server_end);
	struct hostile_end end RI_AT_END(hostile_close);

	hostile_server_start(&hasty, "it-ping", HOSTILE_SERVES, "--timeout", "1", NULL);
	hostile_enter(&end, &hasty, TOOL_PING);
	hostile_server_said(&hasty, "said nothing for 1 seconds");
	hostile_is_left(&end);
}

int
main(int argc, char **argv)
{
	int status;

	g_test_init(&argc, &argv, NULL);
	hostile_server_start(&server, "it-ping", HOSTILE_SERVES, "--memory", "8m", "--clients", "8",
			     NULL);
	g_test_add_func("/tools/hostile/ping/cut", test_cut);
	g_test_add_func("/tools/hostile/ping/long", test_long);
	g_test_add_func("/tools/hostile/ping/first-word", test_first_word);
	g_test_add_func("/tools/hostile/ping/memory", test_memory);
	g_test_add_func("/tools/hostile/ping/out-of-turn", test_out_of_turn);
	g_test_add_func("/tools/hostile/ping/no-memory", test_no_memory);
	g_test_add_func("/tools/hostile/ping/silent", test_silent);
	g_test_add_func("/tools/hostile/ping/full", test_full);
	g_test_add_func("/tools/hostile/ping/stopped-and-full", test_stopped_and_full);
	g_test_add_func("/tools/hostile/ping/slow", test_slow);
	g_test_add_func("/tools/hostile/ping/silent-and-full", test_silent_and_full);
	g_test_add_func("/tools/hostile/ping/greetings", test_greetings);
	g_test_add_func("/tools/hostile/ping/mute-streams", test_mute_streams);
	g_test_add_func("/tools/hostile/ping/deadline", test_deadline);
	status = g_test_run();
	hostile_server_end(&server);
	return status;
}
