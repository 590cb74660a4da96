/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * qperf with the connection manager (its option -cm1), the tests that iWARP can carry. peer_qperf.h says how the
 * sides agree on one. A test runs for some seconds, by a clock on each side:
 *
 * - rc_lat: messages in turn, the client's first.
 * - rc_rdma_read_lat and rc_rdma_read_bw: the client reads the server's buffer, which is all zero.
 * - rc_rdma_write_poll_lat: both write in turn into each other's buffer, the client first, and look at the first
 *   and the last octet there: 0x55 is the client's mark and 0xaa the server's. Each side sets its own mark when it
 *   has seen the other.
 *
 * qperf sends from the buffer into which it receives. The buffer is zero at first, so a server of qperf returns each
 * message, and a client sends zeros first and then the octets that the server sent. So `peer` as the client sends
 * other octets in each round, and expects them back; as the server it returns the received octets, which are all zero
 * from qperf and those of the round from `peer`.
 *
 * usage.md says why there are no other tests.
 */

#include <string.h>

#include "peer_qperf.h"
#include "tool_error.h"
#include "tool_pattern.h"

#define CLIENT_MARK 0x55
#define SERVER_MARK 0xaa
#define LOOK_US     50
#define SETTLE_US   1000000 /* from the marks of a Write to the octets between */
#define READ_WINDOW 16
#define READ_ROOM   ((size_t)1 << 22) /* octets that Reads in flight fill, if there are several */

struct test;

struct kind {
	const char *name;
	unsigned number;      /* among all the tests of qperf */
	uint32_t size;        /* octets, by default */
	size_t window;        /* Reads in flight; 0: no Reads */
	bool marks;           /* Writes */
	it_mem_priv_t client; /* the peer's rights to the buffer */
	it_mem_priv_t server;
	/* In turn; NULL for Reads. A take is over when the link's time is. */
	bool (*put)(struct test *test, GError **error);
	bool (*take)(struct test *test, GError **error);
};

struct test {
	struct peer_side *side;
	const struct kind *kind;
	struct peer_tcp tcp;
	struct peer_conn conn;
	struct tool_memory in;  /* the peer reads or writes it, or our Reads fill it */
	struct tool_memory out; /* what our Writes send */
	uint32_t size;
	struct qperf_node theirs;
	struct qperf_results ours;
	gint64 until;
};

static bool
is_over(const struct test *test)
{
	return g_get_monotonic_time() >= test->until;
}

static bool
is_zero(const uint8_t *octets, size_t len)
{
	return len == 0 || (octets[0] == 0 && memcmp(octets, octets + 1, len - 1) == 0);
}

/* Octets that are part of the next message to come, and begin there. */
static bool
is_right(const struct test *test, const uint8_t *octets, size_t len, size_t begin)
{
	uint64_t seed = test->ours.received.messages + 1;

	if (!test->side->client && is_zero(octets, len))
		return true;
	return tool_pattern_check(octets, len, seed, begin) == len;
}

static bool
wrong_octets(const struct test *test, GError **error)
{
	return tool_fail(error, TOOL_ERROR_VERIFY,
			 "message %" G_GUINT64_FORMAT " has other octets than were sent",
			 test->ours.received.messages);
}

static void
count(const struct test *test, struct qperf_traffic *traffic)
{
	traffic->messages++;
	traffic->octets += test->size;
}

static void
count_arrived(struct test *test)
{
	count(test, &test->ours.received);
	test->side->arrived += test->size;
}

/* The next message of the client; what the server gives back is there already. */
static void
fill_message(const struct test *test, uint8_t *octets)
{
	if (test->side->client)
		tool_pattern_fill(octets, test->size, test->ours.sent.messages + 1, 0);
}

static bool
put_send(struct test *test, GError **error)
{
	fill_message(test, peer_conn_outgoing(&test->conn));
	if (!peer_conn_send(&test->conn, test->size, error))
		return false;
	count(test, &test->ours.sent);
	return true;
}

static bool
take_send(struct test *test, GError **error)
{
	struct peer_message message;

	if (!peer_conn_expect(&test->conn, true, test->size, &message, error))
		return false;
	if (!is_right(test, message.octets, test->size, 0))
		return wrong_octets(test, error);
	if (!test->side->client)
		memcpy(peer_conn_outgoing(&test->conn), message.octets, test->size);
	peer_conn_forget(&test->conn, &message);
	count_arrived(test);
	return true;
}

static uint8_t
mark_of(bool client)
{
	return client ? CLIENT_MARK : SERVER_MARK;
}

/* The peer may write at any time, which is no data race of this program: so ThreadSanitizer is not asked. */
__attribute__((no_sanitize("thread"), noinline)) static void
set_marks(const struct test *test, uint8_t *octets)
{
	volatile uint8_t *at = octets;

	at[0] = mark_of(test->side->client);
	at[test->size - 1] = mark_of(test->side->client);
}

__attribute__((no_sanitize("thread"), noinline)) static bool
has_marks(const struct test *test)
{
	const volatile uint8_t *at = test->in.octets;
	uint8_t theirs = mark_of(!test->side->client);

	return at[0] == theirs && at[test->size - 1] == theirs;
}

__attribute__((no_sanitize("thread"), noinline)) static void
copy_in(const struct test *test, uint8_t *octets)
{
	const volatile uint8_t *at = test->in.octets;

	for (size_t i = 0; i < test->size; i++)
		octets[i] = at[i];
}

static bool
put_write(struct test *test, GError **error)
{
	it_lmr_triplet_t part = tool_memory_part(&test->out, 0, test->size);

	fill_message(test, test->out.octets);
	set_marks(test, test->out.octets);
	if (!peer_conn_write(&test->conn, &part, test->theirs.address, test->theirs.key, error))
		return false;
	count(test, &test->ours.sent);
	return true;
}

/* The octets between the marks, into the outgoing message. The last octet may be seen before them, for a moment. */
static bool
take_between(struct test *test, GError **error)
{
	gint64 until = g_get_monotonic_time() + SETTLE_US;
	size_t between = test->size > 2 ? test->size - 2 : 0;

	do {
		copy_in(test, test->out.octets);
		if (is_right(test, test->out.octets + 1, between, 1))
			return true;
		g_usleep(LOOK_US);
	} while (g_get_monotonic_time() < until);
	return wrong_octets(test, error);
}

static bool
take_write(struct test *test, GError **error)
{
	struct peer_limit limit = peer_limit_of(test->side->peer->options.seconds);

	while (!has_marks(test)) {
		if (is_over(test))
			return tool_fail(error, TOOL_ERROR_TIMEOUT, "the test is over");
		if (!tool_link_stands(&test->conn.link, error) ||
		    !peer_limit_stands(&limit, "the peer wrote nothing", error))
			return false;
		g_usleep(LOOK_US);
	}
	if (!take_between(test, error))
		return false;
	set_marks(test, test->in.octets);
	count_arrived(test);
	return true;
}

/* Whether a wait ended because the time of the test is over. */
static bool
ended_by_clock(const struct test *test, GError **trouble, GError **error)
{
	if (is_over(test) && g_error_matches(*trouble, TOOL_ERROR, TOOL_ERROR_TIMEOUT)) {
		g_clear_error(trouble);
		return true;
	}
	g_propagate_error(error, *trouble);
	return false;
}

static bool
run_turns(struct test *test, GError **error)
{
	const struct kind *kind = test->kind;
	GError *trouble = NULL;
	bool good = true;

	while (good && !is_over(test)) {
		if (test->side->client)
			good = kind->put(test, &trouble) && kind->take(test, &trouble);
		else
			good = kind->take(test, &trouble) && kind->put(test, &trouble);
	}
	return good || ended_by_clock(test, &trouble, error);
}

/* The server of Reads has nothing to do. */
static bool
be_read(struct test *test, GError **error)
{
	struct peer_message message;
	GError *trouble = NULL;

	if (peer_conn_receive(&test->conn, false, &message, &trouble))
		return tool_fail(error, TOOL_ERROR_PEER,
				 "the client sent %zu octets in a test of RDMA Read", message.len);
	return ended_by_clock(test, &trouble, error);
}

static size_t
read_window(const struct test *test)
{
	return CLAMP(READ_ROOM / test->size, 1, test->kind->window);
}

static bool
post_read(struct test *test, uint64_t number, GError **error)
{
	size_t at = (size_t)(number % read_window(test)) * test->size;
	it_lmr_triplet_t part = tool_memory_part(&test->in, at, test->size);

	memset(test->in.octets + at, PEER_FILL, test->size);
	return tool_check(it_post_rdma_read(test->conn.link.ep, &part, 1, number,
					    IT_COMPLETION_FLAG, test->theirs.address,
					    test->theirs.key),
			  "it_post_rdma_read", error);
}

static bool
finish_read(struct test *test, GError **error)
{
	uint64_t number = test->ours.received.messages;
	it_dto_cmpl_event_t event;

	if (!tool_link_done(&test->conn.link, &event, error))
		return false;
	if (!is_zero(test->in.octets + number % read_window(test) * test->size, test->size))
		return wrong_octets(test, error);
	count_arrived(test);
	return true;
}

static bool
run_reads(struct test *test, GError **error)
{
	uint64_t posted = 0;

	do {
		while (!is_over(test) &&
		       posted < test->ours.received.messages + read_window(test)) {
			if (!post_read(test, posted++, error))
				return false;
		}
		if (posted > test->ours.received.messages && !finish_read(test, error))
			return false;
	} while (!is_over(test) || posted > test->ours.received.messages);
	return true;
}

static bool
run_test(struct test *test, GError **error)
{
	bool reads = test->kind->window > 0;
	bool good;

	/* The clock cuts no Read off. */
	test->conn.link.until = reads && test->side->client ? 0 : test->until;
	if (!reads)
		good = run_turns(test, error);
	else
		good = test->side->client ? run_reads(test, error) : be_read(test, error);
	test->conn.link.until = 0;
	test->ours.end = g_get_monotonic_time();
	return good;
}

/* The buffers, and the peer's. */
static bool
exchange_buffers(struct test *test, GError **error)
{
	const struct tool_adapter *adapter = &test->side->adapter;
	bool client = test->side->client;
	bool sink = client && test->kind->window > 0;
	size_t size = sink ? read_window(test) * test->size : test->size;
	struct qperf_node ours;

	if (!tool_memory_make(&test->in, adapter, size,
			      client ? test->kind->client : test->kind->server, sink, error) ||
	    !tool_memory_make(&test->out, adapter, test->size, IT_PRIV_NONE, false, error))
		return false;
	if (test->kind->marks)
		set_marks(test, test->in.octets);
	ours.address = tool_memory_address(&test->in);
	ours.key = (uint32_t)test->in.context;
	return qperf_exchange_nodes(&test->tcp, &ours, &test->theirs, test->size, error);
}

/* What both sides do from the connection on. */
static bool
begin_test(struct test *test, uint32_t seconds, GError **error)
{
	struct peer_shape shape = {.requests = READ_WINDOW,
				   .receives = 2,
				   .slots = 2,
				   .size = test->kind->put == put_send ? test->size : 1};

	if (!peer_conn_persist(&test->conn, test->side, &shape, error) ||
	    !exchange_buffers(test, error) || !qperf_synchronize(&test->tcp, error))
		return false;
	test->ours.begin = g_get_monotonic_time();
	test->until = test->ours.begin + (gint64)seconds * G_USEC_PER_SEC;
	return true;
}

/*
 * The server must have received and returned each message that came back, and not more than this
 * side sent. A message counts when it has completed; so each side may miss its last message, whose
 * completion came after the end of its time.
 */
static bool
agree(const struct test *test, const struct qperf_results *theirs, GError **error)
{
	uint64_t got = test->ours.received.messages;
	uint64_t sent = test->ours.sent.messages;
	bool good = test->kind->window > 0
			    ? theirs->sent.messages == 0 && theirs->received.messages == 0
			    : got <= theirs->sent.messages + 1 &&
				      theirs->sent.messages <= theirs->received.messages &&
				      theirs->received.messages <= sent + 1;

	if (theirs->sent.errors != 0 || theirs->received.errors != 0)
		return tool_fail(error, TOOL_ERROR_PEER,
				 "the server counted %" G_GUINT64_FORMAT " errors",
				 theirs->sent.errors + theirs->received.errors);
	return good || tool_fail(error, TOOL_ERROR_PEER,
				 "the server says that it had %" G_GUINT64_FORMAT
				 " messages and sent %" G_GUINT64_FORMAT
				 "; we sent %" G_GUINT64_FORMAT " and had %" G_GUINT64_FORMAT,
				 theirs->received.messages, theirs->sent.messages, sent, got);
}

static bool
test_as_client(struct test *test, uint16_t port, GError **error)
{
	const struct peer *peer = test->side->peer;
	unsigned patience = peer->options.seconds;
	struct qperf_request request = {
		.test = test->kind->number, .size = test->size, .time = (uint32_t)peer->time};
	struct qperf_results theirs;

	if (!peer_tcp_connect(&test->tcp, peer->host, port, patience, error) ||
	    !qperf_send_request(&test->tcp, &request, patience, error) ||
	    !qperf_receive_port(&test->tcp, &test->side->way.port, error) ||
	    !begin_test(test, request.time, error) || !run_test(test, error) ||
	    !qperf_receive_results(&test->tcp, &theirs, error) ||
	    !qperf_send_end(&test->tcp, error) || !agree(test, &theirs, error))
		return false;
	return test->ours.received.messages > 0 ||
	       tool_fail(error, TOOL_ERROR_PEER, "no message arrived in %u seconds", request.time);
}

static const struct kind kinds[] = {
	{
		.name = "rc_lat",
		.number = 16,
		.size = 1,
		.client = IT_PRIV_NONE,
		.server = IT_PRIV_NONE,
		.put = put_send,
		.take = take_send,
	},
	{
		.name = "rc_rdma_read_lat",
		.number = 18,
		.size = 1,
		.window = 1,
		.client = IT_PRIV_NONE,
		.server = IT_PRIV_REMOTE_READ,
	},
	{
		.name = "rc_rdma_read_bw",
		.number = 17,
		.size = 65536,
		.window = READ_WINDOW,
		.client = IT_PRIV_NONE,
		.server = IT_PRIV_REMOTE_READ,
	},
	{
		.name = "rc_rdma_write_poll_lat",
		.number = 21,
		.size = 1,
		.marks = true,
		.client = IT_PRIV_REMOTE_WRITE,
		.server = IT_PRIV_REMOTE_WRITE,
		.put = put_write,
		.take = take_write,
	},
};

static bool
find_kind(struct test *test, unsigned number, GError **error)
{
	for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
		if (kinds[i].number == number)
			test->kind = &kinds[i];
	}
	return test->kind != NULL ||
	       tool_fail(error, TOOL_ERROR_PEER,
			 "the client asks for test %u of qperf, which is not known here", number);
}

/*
 * The client ends the connection, after at most one more message that came after the end of our
 * time. If it still has Reads outstanding, as qperf does, the connection breaks.
 */
static bool
wait_for_end(struct test *test, GError **error)
{
	struct tool_link *link = &test->conn.link;
	struct peer_message late;
	GError *trouble = NULL;

	if (test->kind->put == put_send && peer_conn_receive(&test->conn, false, &late, NULL))
		g_debug("a message came after the test");
	if (peer_conn_ended(&test->conn, &trouble))
		return true;
	if (test->kind->window > 0 && link->end == IT_CM_MSG_CONN_BROKEN_EVENT) {
		g_clear_error(&trouble);
		return true;
	}
	g_propagate_error(error, trouble);
	return false;
}

static bool
test_as_server(struct test *test, GError **error)
{
	struct qperf_request request;

	if (!peer_tcp_accept(&test->side->tcp, &test->tcp, error) ||
	    !qperf_receive_request(&test->tcp, &request, error) ||
	    !find_kind(test, request.test, error))
		return false;
	test->size = request.size;
	return qperf_send_port(&test->tcp, test->side->listener.port, error) &&
	       begin_test(test, request.time, error) && run_test(test, error) &&
	       qperf_send_results(&test->tcp, &test->ours, error) &&
	       qperf_receive_end(&test->tcp, error) && wait_for_end(test, error);
}

/* After the test. If it failed, the peer gets the reason. */
static void
end_test(struct test *test, bool good, GError **error)
{
	if (!good && error != NULL && test->kind != NULL)
		g_prefix_error(error, "%s: ", test->kind->name);
	if (!good && error != NULL && test->tcp.fd >= 0)
		peer_tcp_complain(&test->tcp, (*error)->message);
	peer_conn_close(&test->conn);
	peer_tcp_close(&test->tcp);
	tool_memory_free(&test->in);
	tool_memory_free(&test->out);
}

static bool
client_run(struct peer_side *side, GError **error)
{
	const struct peer *peer = side->peer;
	uint16_t port = side->way.port;
	bool good = true;

	for (uint64_t i = 0; i < peer->connections && good; i++) {
		const struct kind *kind = &kinds[i % G_N_ELEMENTS(kinds)];
		struct test test = {.side = side, .kind = kind, .tcp = PEER_TCP_NONE};

		test.size = peer->size != 0 ? (uint32_t)peer->size : kind->size;
		good = test_as_client(&test, port, error);
		end_test(&test, good, error);
	}
	return good;
}

static bool
server_run(struct peer_side *side, GError **error)
{
	bool good = true;

	for (uint64_t i = 0; i < side->peer->connections && good; i++) {
		struct test test = {.side = side, .tcp = PEER_TCP_NONE};

		good = test_as_server(&test, error);
		end_test(&test, good, error);
	}
	return good;
}

const struct peer_protocol peer_qperf = {
	.name = "qperf",
	.plays = "qperf -cm1",
	.port = 19765,
	.tcp = true,
	.connections = G_N_ELEMENTS(kinds),
	.client = client_run,
	.server = server_run,
};
