/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * it-ping: round trips that use every basic operation, each octet verified.
 *
 * A round trip, as rping made it known:
 *
 *   client                                   server
 *   fills its source, SEND "ping" (where) -> reads the source by RDMA READ, verifies it
 *                                         <- SEND "go on"
 *   SEND "pong" (where its sink is)       -> RDMA WRITE of what it read, SEND "done"
 *   verifies the sink
 *
 * The first letter tells the server the parameters, and the server says whether it is ready. The
 * client sends first and has the last word.
 *
 * On a terminal a line each second tells of the rounds since the last one; the summary of all comes at
 * the end, also when the user stops it.
 */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tool_error.h"
#include "tool_figures.h"
#include "tool_json.h"
#include "tool_mail.h"
#include "tool_options.h"
#include "tool_pattern.h"
#include "tool_serve.h"
#include "tool_signal.h"

#define PROGRAM      "it-ping"
#define DEFAULT_PORT 7174
#define DEFAULT_SIZE "64"
#define MAX_SIZE     (UINT64_C(1) << 30)
#define LETTER       64
#define LINE_NS      UINT64_C(1000000000)

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

struct ping {
	struct tool_options options;
	char *host;
	uint64_t count; /* rounds; 0 is for ever */
	uint64_t size;
	gboolean verbose;
};

/* One end of a run. */
struct end {
	struct tool_link link;
	struct tool_mail mail;
	struct tool_memory source; /* client; the server's only buffer */
	struct tool_memory sink;   /* client */
	uint64_t seed;
	uint64_t size;
};

/* What was measured. */
struct run {
	struct tool_figures all;
	struct tool_figures lately; /* since the last line on the terminal */
	uint64_t begin;             /* ns */
	uint64_t line;              /* when that was printed */
	bool watched;               /* somebody looks at a terminal */
};

static bool
tell(struct end *end, enum word word, uint64_t number, uint64_t context, uint64_t address,
     GError **error)
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
hear_any(struct end *end, struct letter *letter, GError **error)
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
hear(struct end *end, enum word word, uint64_t number, struct letter *letter, GError **error)
{
	if (!hear_any(end, letter, error))
		return false;
	if (letter->word == (uint64_t)word && letter->number == number)
		return true;
	return tool_fail(error, TOOL_ERROR_PEER, "the peer sent a message out of turn");
}

static bool
verify(const struct tool_memory *memory, size_t size, uint64_t seed, const char *where,
       GError **error)
{
	size_t at = tool_pattern_check(memory->octets, size, seed, 0);

	if (at == size)
		return true;
	return tool_fail(error, TOOL_ERROR_VERIFY, "%s: octet %zu of %zu is wrong", where, at,
			 size);
}

static bool
open_end(struct end *end, struct tool_adapter *adapter, unsigned seconds,
	 const atomic_bool *give_up, GError **error)
{
	struct tool_link_spec spec = tool_mail_spec(seconds);

	spec.give_up = give_up;
	memset(end, 0, sizeof(*end));
	return tool_link_make(&end->link, adapter, &spec, error) &&
	       tool_mail_open(&end->mail, &end->link, error);
}

static void
close_end(struct end *end)
{
	tool_link_close(&end->link);
	tool_mail_close(&end->mail);
	tool_memory_free(&end->source);
	tool_memory_free(&end->sink);
}

static bool
one_round(struct end *end, uint64_t number, GError **error)
{
	uint64_t seed = end->seed + number;
	struct letter letter;

	tool_pattern_fill(end->source.octets, end->size, seed, 0);
	memset(end->sink.octets, 0, end->size);
	if (!tell(end, WORD_PING, number, end->source.context, tool_memory_address(&end->source, 0),
		  error) ||
	    !hear(end, WORD_GO_ON, number, &letter, error) ||
	    !tell(end, WORD_PONG, number, end->sink.context, tool_memory_address(&end->sink, 0),
		  error) ||
	    !hear(end, WORD_DONE, number, &letter, error))
		return false;
	if (letter.address != 1)
		return tool_fail(error, TOOL_ERROR_VERIFY,
				 "round %" G_GUINT64_FORMAT ": the server read something else",
				 number);
	return verify(&end->sink, end->size, seed, "written by the server", error);
}

/* A line each second for who looks; every round with --verbose. */
static void
show(const struct ping *ping, struct run *run, uint64_t number, uint64_t ns)
{
	uint64_t now = tool_now();

	if (ping->options.json)
		return;
	if (ping->verbose) {
		printf("round %" G_GUINT64_FORMAT ": %" G_GUINT64_FORMAT
		       " octets verified, %.0f us\n",
		       number, ping->size, (double)ns / 1e3);
		return;
	}
	if (!run->watched || now - run->line < LINE_NS)
		return;
	printf("%6.0f s %10" G_GUINT64_FORMAT " rounds, us: min %.0f, median %.0f, max %.0f\n",
	       (double)(now - run->begin) / 1e9, run->all.count, (double)run->lately.min / 1e3,
	       tool_figures_percentile(&run->lately, 0.5), (double)run->lately.max / 1e3);
	memset(&run->lately, 0, sizeof(run->lately));
	run->line = now;
}

static bool
rounds(const struct ping *ping, struct end *end, struct run *run, GError **error)
{
	run->begin = tool_now();
	run->line = run->begin;
	for (uint64_t number = 0; ping->count == 0 || number < ping->count; number++) {
		uint64_t begin = tool_now();
		uint64_t ns;

		if (tool_stopped())
			return tool_fail(error, TOOL_ERROR_INTERRUPTED, "interrupted");
		if (!one_round(end, number, error))
			return false;
		ns = tool_now() - begin;
		tool_figures_add(&run->all, ns);
		tool_figures_add(&run->lately, ns);
		show(ping, run, number, ns);
	}
	return true;
}

static void
report(const struct ping *ping, const struct run *run, bool stopped)
{
	double seconds = (double)(tool_now() - run->begin) / 1e9;
	g_autofree char *text = tool_figures_text(&run->all);
	JsonBuilder *json;

	if (!ping->options.json) {
		printf("%" G_GUINT64_FORMAT " round trips of %" G_GUINT64_FORMAT
		       " octets verified in %.1f s\nus: %s\n",
		       run->all.count, ping->size, seconds, text);
		return;
	}
	json = tool_json_begin(PROGRAM);
	tool_json_boolean(json, "ok", true);
	tool_json_boolean(json, "stopped", stopped);
	tool_json_text(json, "adapter", ping->options.adapter);
	tool_json_count(json, "rounds", run->all.count);
	tool_json_count(json, "size", ping->size);
	tool_json_number(json, "seconds", seconds);
	tool_figures_json(&run->all, json);
	tool_json_print(json);
}

/* Tells the server what is to come; it may say that it is too much. */
static bool
start(struct end *end, GError **error)
{
	struct letter letter;

	if (!tell(end, WORD_START, end->size, 0, end->seed, error) ||
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

/* The rounds that were done count also if the user wants no more, or one failed. */
static bool
measure(struct ping *ping, struct end *end, GError **error)
{
	struct run run = {.watched = isatty(STDOUT_FILENO)};
	struct letter letter;
	GError *trouble = NULL;
	bool good = rounds(ping, end, &run, &trouble) && tell(end, WORD_END, 0, 0, 0, &trouble) &&
		    hear(end, WORD_END, 0, &letter, &trouble);
	bool stopped = g_error_matches(trouble, TOOL_ERROR, TOOL_ERROR_INTERRUPTED);

	if (good || stopped || (run.all.count > 0 && !ping->options.json))
		report(ping, &run, stopped);
	ping->options.told = stopped;
	if (trouble != NULL)
		g_propagate_error(error, trouble);
	return good;
}

static bool
client_on(struct ping *ping, struct tool_adapter *adapter, uint16_t port, GError **error)
{
	struct tool_hello hello = {.version = TOOL_VERSION, .tool = TOOL_PING};
	struct tool_way way = {.host = ping->host, .port = port};
	struct end end;
	bool good;

	hello.session = (uint64_t)g_random_int() << 32 | g_random_int();
	good = open_end(&end, adapter, ping->options.seconds, NULL, error);
	end.size = ping->size;
	end.seed = hello.session;
	good = good &&
	       tool_memory_make(&end.source, adapter, ping->size, IT_PRIV_REMOTE_READ, false,
				error) &&
	       tool_memory_make(&end.sink, adapter, ping->size, IT_PRIV_REMOTE_WRITE, false,
				error) &&
	       tool_adapter_path(adapter, ping->host, &way.path, error) &&
	       tool_link_connect(&end.link, &way, &hello, error) && start(&end, error) &&
	       measure(ping, &end, error);
	close_end(&end);
	return good;
}

static bool
client(void *arg, uint16_t port, GError **error)
{
	struct ping *ping = arg;
	struct tool_adapter adapter;
	bool good;

	if (!tool_adapter_open(&adapter, ping->options.adapter, error))
		return false;
	good = client_on(ping, &adapter, port, error);
	tool_adapter_close(&adapter);
	return good;
}

/* The server's half of a round, from the letter that began it. */
static bool
answer(struct end *end, const struct letter *ping, GError **error)
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
	same = verify(&end->source, end->size, end->seed + ping->number, "read", &wrong);
	return tell(end, WORD_GO_ON, ping->number, 0, 0, error) &&
	       hear(end, WORD_PONG, ping->number, &pong, error) &&
	       tool_check(
		       it_post_rdma_write(end->link.ep, &part, 1, 0, 0, pong.address, pong.context),
		       "it_post_rdma_write", error) &&
	       tell(end, WORD_DONE, ping->number, 0, same ? 1 : 0, error) &&
	       (same || tool_fail(error, TOOL_ERROR_VERIFY, "%s", wrong->message));
}

/* Hears the size, and says whether a client may have that much. */
static bool
begin(struct end *end, uint64_t memory, GError **error)
{
	struct letter letter;

	if (!hear_any(end, &letter, error))
		return false;
	if (letter.word != WORD_START || letter.number == 0 || letter.number > MAX_SIZE)
		return tool_fail(error, TOOL_ERROR_PEER, "the client began with nonsense");
	if (letter.number > memory) {
		if (tell(end, WORD_TOO_LARGE, memory, 0, 0, error))
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
	       tell(end, WORD_START, end->size, 0, 0, error);
}

static bool
serve_client(struct end *end, struct tool_client *client, uint64_t memory, GError **error)
{
	struct letter letter;

	if (!begin(end, memory, error))
		return false;
	atomic_store(&client->spoke, true);
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
		if (!answer(end, &letter, error))
			return false;
	}
	if (!tell(end, WORD_END, 0, 0, 0, error))
		return false;
	tool_link_linger(&end->link);
	return true;
}

static bool
serve_one(void *arg, struct tool_client *client, GError **error)
{
	const struct ping *ping = arg;
	struct end end;
	bool good;

	good = open_end(&end, client->adapter, ping->options.seconds, &client->give_up, error) &&
	       tool_link_accept(&end.link, &client->request, &client->hello, error) &&
	       serve_client(&end, client, ping->options.memory, error);
	close_end(&end);
	return good;
}

static bool
server(void *arg, struct tool_ready *ready, GError **error)
{
	const struct ping *ping = arg;
	struct tool_service service = {.program = PROGRAM,
				       .tool = TOOL_PING,
				       .options = &ping->options,
				       .one = serve_one,
				       .arg = arg};

	return tool_serve(&service, ready, error);
}

static bool
parse(struct ping *ping, int *argc, char ***argv, GError **error)
{
	g_autofree char *count = NULL;
	g_autofree char *size = NULL;
	GOptionEntry entries[] = {
		{"count", 'C', 0, G_OPTION_ARG_STRING, &count,
		 "Round trips; 0 is until stopped (default: 0)", "N"},
		{"size", 'S', 0, G_OPTION_ARG_STRING, &size,
		 "Bytes of a buffer (default: " DEFAULT_SIZE ")", "N"},
		{"verbose", 'v', 0, G_OPTION_ARG_NONE, &ping->verbose, "Print every round trip",
		 NULL},
		{NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
	};
	g_autoptr(GOptionContext) context = g_option_context_new("[HOST] - verified round trips");

	g_option_context_set_summary(context, "The side without HOST is the server.");
	tool_options_add(&ping->options, context, DEFAULT_PORT);
	tool_options_add_memory(&ping->options, context);
	g_option_context_add_main_entries(context, entries, NULL);
	if (!tool_options_parse(&ping->options, context, argc, argv, error) ||
	    !tool_number(count != NULL ? count : "0", 0, UINT64_MAX, &ping->count, error) ||
	    !tool_number(size != NULL ? size : DEFAULT_SIZE, 1, MAX_SIZE, &ping->size, error))
		return false;
	if (*argc > 2 || (ping->options.self && *argc > 1))
		return tool_fail(error, TOOL_ERROR_USAGE, "'%s' is too much", (*argv)[*argc - 1]);
	ping->host = *argc == 2 ? (*argv)[1] : NULL;
	return true;
}

int
main(int argc, char **argv)
{
	struct ping ping = {0};
	struct tool_sides sides = {.arg = &ping, .server = server, .client = client};
	GError *error = NULL;
	bool good;

	tool_begin();
	good = parse(&ping, &argc, &argv, &error);
	if (good && ping.options.self)
		good = tool_self_run(&sides, &error);
	else if (good && ping.host != NULL)
		good = client(&ping, ping.options.port, &error);
	else if (good)
		good = server(&ping, NULL, &error);
	return tool_end(PROGRAM, &ping.options, good, error);
}
