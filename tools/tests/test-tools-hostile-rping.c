/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Hostile peers of it-ping --rping. Clients whose adverts are cut, too long, too large or of memory
 * that does not exist, against the server; servers that write the wrong octets, write to the wrong
 * place, write nothing, or disconnect, against the client.
 */

#include <poll.h>
#include <pthread.h>
#include <string.h>

#include "hostile.h"
#include "tool_error.h"

#define ADVERT 16
#define SIZE   64
#define PLACES 4

static struct hostile_server server;

struct advert {
	uint64_t address;
	uint64_t key;
	uint32_t size;
};

static void
write_advert(uint8_t octets[ADVERT], const struct advert *advert)
{
	struct tool_wire wire = tool_wire_of(octets, ADVERT);

	tool_put(&wire, advert->address, 8);
	tool_put(&wire, advert->key, 4);
	tool_put(&wire, advert->size, 4);
}

/* A client that is connected; it says nothing by itself. */
static void
enter(struct hostile_end *end)
{
	struct tool_link_spec spec = tool_mail_spec(HOSTILE_PATIENCE);
	struct tool_way way;
	struct tool_words none = {0};
	it_connection_event_t event;
	g_autoptr(GError) error = NULL;

	memset(end, 0, sizeof(*end));
	tool_adapter_open(&end->adapter, "iwarp", &error);
	g_assert_no_error(error);
	g_assert_true(tool_way_find(&way, &end->adapter, "127.0.0.1", server.port, &error));
	/* The places of those before may not be free yet. */
	for (;;) {
		g_assert_true(tool_link_make(&end->link, &end->adapter, &spec, &error));
		g_assert_true(tool_mail_open(&end->mail, &end->link, &error));
		if (tool_link_join(&end->link, &way, &none, &event, &error))
			break;
		g_assert_error(error, TOOL_ERROR, TOOL_ERROR_PEER);
		g_clear_error(&error);
		tool_link_close(&end->link);
		tool_mail_close(&end->mail);
		g_usleep(10 * 1000);
	}
	tool_way_clear(&way);
}

static void
tell(struct hostile_end *end, uint64_t address, uint64_t key, uint32_t size)
{
	struct advert advert = {.address = address, .key = key, .size = size};
	uint8_t octets[ADVERT];

	write_advert(octets, &advert);
	hostile_send(end, octets, sizeof(octets));
}

static void
heard(struct hostile_end *end)
{
	uint8_t octets[TOOL_MAIL_SIZE];
	size_t len = sizeof(octets);

	g_assert_true(tool_mail_receive(&end->mail, octets, &len, NULL));
	g_assert_cmpuint(len, ==, ADVERT);
}

static void
honest_is_served(void)
{
	hostile_honest(&server, "it-ping", "--rping", "-p", "@", "-C", "3", "127.0.0.1", NULL);
}

/* Messages of each wrong length, as the first word of a client. */
static void
test_lengths(void)
{
	static const size_t lens[] = {0, 1, 8, ADVERT - 1, ADVERT + 1, 64, TOOL_MAIL_SIZE};
	uint8_t octets[TOOL_MAIL_SIZE] = {[ADVERT - 1] = SIZE};

	for (size_t i = 0; i < G_N_ELEMENTS(lens); i++) {
		struct hostile_end end RI_AT_END(hostile_close);

		enter(&end);
		hostile_send(&end, octets, lens[i]);
		hostile_is_left(&end);
	}
	hostile_server_said(&server, "the peer sent 17 octets; a message of rping has 16");
	honest_is_served();
}

/* No octet more than --memory, none at all, and what is asked for is not touched before it is there. */
static void
test_sizes(void)
{
	static const uint32_t sizes[] = {0, (1 << 20) + 1, 1 << 30, UINT32_MAX};
	size_t before = hostile_server_memory(&server);

	for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
		struct hostile_end end RI_AT_END(hostile_close);

		enter(&end);
		tell(&end, 0x1000, 0x12345678, sizes[i]);
		hostile_is_left(&end);
	}
	g_assert_cmpuint(hostile_server_memory(&server), <, before + (64 << 20));
	hostile_server_said(&server, "the client has a source of no octets");
	hostile_server_said(&server, "the client wants 4294967295 octets; --memory is 1048576");
	hostile_honest(&server, "it-ping", "--rping", "-p", "@", "-C", "1", "-S", "1m", "127.0.0.1",
		       NULL);
}

/* The key of memory that is not there. */
static void
test_no_memory(void)
{
	struct hostile_end end;

	enter(&end);
	tell(&end, 0x1000, 0x12345678, SIZE);
	hostile_is_left(&end);
	hostile_close(&end);
	hostile_server_said(&server, "round 0: ");
	honest_is_served();
}

/* The first half of a round done well, with a source that holds that text. */
static void
half_a_round(struct hostile_end *end, struct tool_memory *source, const char *text)
{
	g_assert_true(
		tool_memory_make(source, &end->adapter, SIZE, IT_PRIV_REMOTE_READ, false, NULL));
	g_strlcpy((char *)source->octets, text, SIZE);
	tell(end, tool_memory_address(source), source->context, SIZE);
}

static void
test_sinks(void)
{
	static const uint32_t sizes[] = {0, 1, SIZE - 1, SIZE + 1, UINT32_MAX};

	for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
		struct tool_memory source;
		struct hostile_end end RI_AT_END(hostile_close);

		enter(&end);
		half_a_round(&end, &source, "anything");
		heard(&end);
		tell(&end, tool_memory_address(&source), source.context, sizes[i]);
		hostile_is_left(&end);
		tool_link_close(&end.link);
		tool_memory_free(&source);
	}
	hostile_server_said(&server,
			    "round 0: the client has a sink of 65 octets for a source of 64");
	honest_is_served();
}

/* A sink that nobody may write into: the server's Write ends the connection. */
static void
test_no_sink(void)
{
	struct tool_memory source;
	struct hostile_end end;

	enter(&end);
	half_a_round(&end, &source, "anything");
	heard(&end);
	tell(&end, tool_memory_address(&source), source.context, SIZE);
	hostile_is_left(&end);
	g_assert_cmpstr((const char *)source.octets, ==, "anything");
	tool_link_close(&end.link);
	tool_memory_free(&source);
	hostile_close(&end);
	honest_is_served();
}

/* Clients that die between two messages, and one that never speaks. */
static void
test_death(void)
{
	struct tool_memory source;
	struct hostile_end ends[3];

	for (size_t i = 0; i < G_N_ELEMENTS(ends); i++)
		enter(&ends[i]);
	half_a_round(&ends[1], &source, "anything");
	heard(&ends[1]);
	for (size_t i = 0; i < G_N_ELEMENTS(ends); i++)
		tool_link_close(&ends[i].link);
	tool_memory_free(&source);
	for (size_t i = 0; i < G_N_ELEMENTS(ends); i++)
		hostile_close(&ends[i]);
	hostile_server_said(&server, "round 0: the peer disconnected");
	honest_is_served();
}

/* With --verify the server looks at the text: right in the first round, wrong in the second. */
static void
test_verify(void)
{
	struct hostile_server strict;
	struct hostile_server loose = server;
	struct tool_memory source;
	struct hostile_end end;

	hostile_server_start(&strict, "it-ping", HOSTILE_SERVES, "--rping", "--verify", NULL);
	server = strict;
	honest_is_served();
	enter(&end);
	half_a_round(&end, &source,
		     "rdma-ping-0: ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abdcefghijklmnop");
	hostile_is_left(&end);
	tool_link_close(&end.link);
	tool_memory_free(&source);
	hostile_close(&end);
	hostile_server_said(&strict, "round 0: what was read is not rping's text");
	hostile_server_end(&strict);
	server = loose;
}

/* What a hostile server does to an honest client. */
enum lie {
	LIE_REFUSES,
	LIE_LEAVES,
	LIE_SHORT,
	LIE_LONG,
	LIE_WRITES_NOTHING,
	LIE_WRITES_WRONG,
	LIE_WRITES_BEYOND,
	LIE_WRITES_SOURCE,
};

struct liar {
	enum lie lie;
	struct tool_adapter adapter;
	struct tool_listener listener;
	pthread_t thread;
};

static struct advert
read_advert(struct hostile_end *end)
{
	uint8_t octets[ADVERT];
	size_t len = sizeof(octets);
	struct tool_wire wire = tool_wire_of(octets, sizeof(octets));
	struct advert advert;

	g_assert_true(tool_mail_receive(&end->mail, octets, &len, NULL));
	g_assert_cmpuint(len, ==, ADVERT);
	advert.address = tool_get(&wire, 8);
	advert.key = tool_get(&wire, 4);
	advert.size = (uint32_t)tool_get(&wire, 4);
	g_assert_cmpuint(advert.size, ==, SIZE);
	return advert;
}

/* The server's half of a round in which it writes something wrong. */
static void
write_lies(struct hostile_end *end, const struct advert *source, enum lie lie)
{
	uint8_t go_on[ADVERT] = {0};
	static const char text[] = "rdma-ping-0: ABCDEFGHIJKLM!";
	struct tool_memory memory;
	it_lmr_triplet_t part;
	struct advert sink;

	hostile_send(end, go_on, sizeof(go_on));
	sink = read_advert(end);
	if (lie == LIE_WRITES_SOURCE)
		sink = *source;
	g_assert_true(
		tool_memory_make(&memory, &end->adapter, SIZE + 1, IT_PRIV_NONE, false, NULL));
	memcpy(memory.octets, text, sizeof(text));
	part = tool_memory_part(&memory, 0, lie == LIE_WRITES_BEYOND ? SIZE + 1 : SIZE);
	if (lie != LIE_WRITES_NOTHING)
		g_assert_cmpint(it_post_rdma_write(end->link.ep, &part, 1, 0, 0, sink.address,
						   (it_rmr_context_t)sink.key),
				==, IT_SUCCESS);
	/* It may fail: the peer ends the connection if the Write is forbidden. */
	if (tool_mail_send(&end->mail, go_on, sizeof(go_on), NULL))
		tool_link_linger(&end->link);
	tool_link_close(&end->link);
	tool_memory_free(&memory);
}

static void
lie_to(struct hostile_end *end, enum lie lie)
{
	uint8_t go_on[ADVERT + 1] = {0};
	struct advert source = read_advert(end);

	if (lie == LIE_SHORT || lie == LIE_LONG) {
		hostile_send(end, go_on, lie == LIE_SHORT ? ADVERT - 1 : ADVERT + 1);
		hostile_is_left(end);
	} else if (lie != LIE_LEAVES) {
		write_lies(end, &source, lie);
	}
}

static void *
liar_main(void *arg)
{
	struct liar *liar = arg;
	struct tool_link_spec spec = tool_mail_spec(HOSTILE_PATIENCE);
	struct pollfd there = {.fd = liar->listener.fd, .events = POLLIN};
	struct hostile_end end = {.adapter = liar->adapter};
	struct tool_words none = {0};
	it_conn_request_event_t request;

	while (!tool_listener_take(&liar->listener, &request, NULL))
		g_assert_cmpint(poll(&there, 1, HOSTILE_PATIENCE * 1000), ==, 1);
	if (liar->lie == LIE_REFUSES) {
		g_assert_cmpint(it_reject(request.cn_est_id, NULL, 0), ==, IT_SUCCESS);
		return NULL;
	}
	g_assert_true(tool_link_make(&end.link, &end.adapter, &spec, NULL));
	g_assert_true(tool_mail_open(&end.mail, &end.link, NULL));
	g_assert_true(tool_link_admit(&end.link, &request, &none, NULL));
	lie_to(&end, liar->lie);
	tool_link_close(&end.link);
	tool_mail_close(&end.mail);
	return NULL;
}

/* An honest client of that liar fails and says that. */
static void
client_notices(enum lie lie, const char *said)
{
	struct hostile_server place = {0};
	struct liar liar = {.lie = lie};
	g_autofree char *output = NULL;

	g_assert_true(tool_adapter_open(&liar.adapter, "iwarp", NULL));
	g_assert_true(tool_listener_open(&liar.listener, &liar.adapter, 0, NULL));
	place.port = liar.listener.port;
	g_assert_cmpint(pthread_create(&liar.thread, NULL, liar_main, &liar), ==, 0);
	g_assert_cmpint(hostile_run(&output, &place, "it-ping", "--rping", "-p", "@", "-C", "3",
				    "127.0.0.1", NULL),
			==, 1);
	g_assert_nonnull(strstr(output, said));
	pthread_join(liar.thread, NULL);
	tool_listener_close(&liar.listener);
	tool_adapter_close(&liar.adapter);
}

static void
test_servers(void)
{
	client_notices(LIE_REFUSES, "the peer refused");
	client_notices(LIE_LEAVES, "the peer disconnected");
	client_notices(LIE_SHORT, "the peer sent 15 octets; a message of rping has 16");
	client_notices(LIE_LONG, "the peer sent 17 octets; a message of rping has 16");
	client_notices(LIE_WRITES_NOTHING, "round 0: octet 0 of 64 that the server wrote is wrong");
	client_notices(LIE_WRITES_WRONG, "round 0: octet 26 of 64 that the server wrote is wrong");
	client_notices(LIE_WRITES_BEYOND, "it-ping: ");
	client_notices(LIE_WRITES_SOURCE, "it-ping: ");
}

/* All places are taken by clients that have advertised a source, or said nothing, and do nothing more. */
static void
test_stopped_and_full(void)
{
	struct tool_memory sources[PLACES];
	struct hostile_end ends[PLACES];

	for (size_t i = 0; i < PLACES; i++) {
		enter(&ends[i]);
		half_a_round(&ends[i], &sources[i], "anything");
		if (i % 2 == 0)
			heard(&ends[i]);
	}
	for (size_t i = 0; i < 3; i++)
		honest_is_served();
	hostile_is_left(&ends[0]);
	for (size_t i = 0; i < PLACES; i++) {
		tool_link_close(&ends[i].link);
		tool_memory_free(&sources[i]);
		hostile_close(&ends[i]);
	}
}

int
main(int argc, char **argv)
{
	int status;

	g_test_init(&argc, &argv, NULL);
	hostile_server_start(&server, "it-ping", HOSTILE_SERVES, "--rping", "--memory", "1m",
			     "--clients", G_STRINGIFY(PLACES), NULL);
	g_test_add_func("/tools/hostile/rping/lengths", test_lengths);
	g_test_add_func("/tools/hostile/rping/sizes", test_sizes);
	g_test_add_func("/tools/hostile/rping/no-memory", test_no_memory);
	g_test_add_func("/tools/hostile/rping/sinks", test_sinks);
	g_test_add_func("/tools/hostile/rping/no-sink", test_no_sink);
	g_test_add_func("/tools/hostile/rping/death", test_death);
	g_test_add_func("/tools/hostile/rping/stopped-and-full", test_stopped_and_full);
	g_test_add_func("/tools/hostile/rping/verify", test_verify);
	g_test_add_func("/tools/hostile/rping/servers", test_servers);
	status = g_test_run();
	hostile_server_end(&server);
	return status;
}
