/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * perftest with the connection manager (its option -R): ib_write_bw, ib_read_bw, ib_send_bw and
 * ib_send_lat of version 6.06, as Debian 12 has it, as observed on the wire.
 *
 * The client makes two connections to one port, without private data. The first is for parameters: the
 * sides exchange messages in turn, the client first. Integers are in network order.
 *
 *   1      16 octets  version of perftest, a text
 *   2       4         octets of the part of a buffer that small messages cycle through (4096)
 *   3       4         octets of a line of the cache; a small message begins at a multiple of that
 *   4       2         number of the path MTU, a text ("3" is 1024)
 *   5      56         keys, all zero; then the client makes the second connection, for the data
 *   6      56         keys, all zero
 *   7,8,9  56         keys (struct keys); Send tests have a tenth
 *                     here the test runs
 *          56         keys: the client is done
 *          8 * 5      Write and Read: octets, iterations, peak, average, message rate (the last three
 *                     as floating point); only the client's have a meaning
 *          56         Write and Read: keys again
 *
 * Then the client ends both connections, the one for data first.
 *
 * The server stops listening when it has the first connection, and listens again for the second one at some
 * time after exchange 5. So a client whose second request is refused tries again, as that of perftest does.
 *
 * Messages of at most half the cycle use successive places in it, in both buffers; larger ones all have
 * the offset 0. The sender of a Send test must not run out of the receiver's receives, of which there are
 * 512, or as many as iterations if those are fewer. So the receiver writes into the sender's memory, which
 * the keys name, how many have arrived, each time when a third of the receives was used (four octets, in
 * the host's order). In the latency test both sides send one message in turn.
 */

#include <string.h>

#include "peer.h"
#include "tool_error.h"
#include "tool_pattern.h"

#define VERSION      "6.06"
#define VERSION_SIZE 16
#define CYCLE        4096
#define LINE         64
#define MTU          "3"
#define MTU_SIZE     2
#define KEYS_SIZE    56
#define REPORTS      5
#define REPORT_SIZE  8
#define WINDOW       16
#define RX_DEPTH     512
#define SEED         1
#define LOOK_US      100
#define CONTROL      64 /* octets of a buffer for parameters */

/* The description of a buffer that each side sends. */
struct keys {
	uint32_t reads;
	uint32_t key;
	uint64_t address;
};

struct test;

/* What the four programs do differently. */
struct kind {
	unsigned before; /* exchanges of keys before the test runs */
	bool reports;
	it_mem_priv_t remote; /* rights of the server's buffer */
	bool credits;
	bool (*client)(struct test *test, GError **error);
	bool (*server)(struct test *test,
		       GError **error); /* NULL: its buffer is all that it needs */
	bool (*judge)(struct test *test,
		      GError **error); /* server, when the client has gone; or NULL */
};

struct test {
	struct peer_side *side;
	const struct kind *kind;
	struct peer_conn control;
	struct peer_conn data;
	struct tool_memory buffer; /* for Write and Read */
	struct tool_memory credit; /* for Send: the peer writes into it */
	struct keys ours;
	struct keys theirs;
};

/* Octets of the region that the messages of a test go round in. */
static size_t
region_size(const struct peer *peer)
{
	return MAX((size_t)peer->size, CYCLE);
}

/* Where the message of that number begins. */
static size_t
offset_of(const struct peer *peer, uint64_t number)
{
	size_t step = ((size_t)peer->size + LINE - 1) / LINE * LINE;

	if (peer->size == 0 || peer->size > CYCLE / 2)
		return 0;
	return (size_t)(number % (CYCLE / step)) * step;
}

/* Sends `len` octets of the outgoing buffer, and receives as many, in the order of this side. */
static bool
exchange_message(struct test *test, size_t len, struct peer_message *theirs, GError **error)
{
	struct peer_conn *control = &test->control;

	if (test->side->client)
		return peer_conn_send(control, len, error) &&
		       peer_conn_expect(control, true, len, theirs, error);
	return peer_conn_expect(control, true, len, theirs, error) &&
	       peer_conn_send(control, len, error);
}

static bool
exchange_number(struct test *test, uint64_t value, size_t len, uint64_t *theirs, GError **error)
{
	struct tool_wire wire = tool_wire_of(peer_conn_outgoing(&test->control), len);
	struct peer_message message;
	uint8_t copy[8];

	tool_put(&wire, value, len);
	if (!exchange_message(test, len, &message, error))
		return false;
	memcpy(copy, message.octets, len);
	wire = tool_wire_of(copy, len);
	*theirs = tool_get(&wire, len);
	return true;
}

static bool
exchange_keys(struct test *test, GError **error)
{
	struct tool_wire wire = tool_wire_of(peer_conn_outgoing(&test->control), KEYS_SIZE);
	struct peer_message message;
	uint8_t copy[KEYS_SIZE];

	memset(peer_conn_outgoing(&test->control), 0, KEYS_SIZE);
	tool_put(&wire, 0, 4); /* LID */
	tool_put(&wire, test->ours.reads, 4);
	tool_put(&wire, 0, 4); /* QP number */
	tool_put(&wire, 0, 4); /* packet number */
	tool_put(&wire, test->ours.key, 4);
	tool_put(&wire, 0, 4); /* not used */
	tool_put(&wire, test->ours.address, 8);
	if (!exchange_message(test, KEYS_SIZE, &message, error))
		return false;
	memcpy(copy, message.octets, sizeof(copy));
	wire = tool_wire_of(copy, sizeof(copy));
	tool_get(&wire, 4);
	test->theirs.reads = (uint32_t)tool_get(&wire, 4);
	tool_get(&wire, 8);
	test->theirs.key = (uint32_t)tool_get(&wire, 4);
	tool_get(&wire, 4);
	test->theirs.address = tool_get(&wire, 8);
	return true;
}

static bool
exchange_text(struct test *test, const char *text, size_t len, GError **error)
{
	struct peer_message message;

	memset(peer_conn_outgoing(&test->control), 0, len);
	memcpy(peer_conn_outgoing(&test->control), text, strlen(text));
	if (!exchange_message(test, len, &message, error))
		return false;
	return memcmp(message.octets, text, strlen(text) + 1) == 0 ||
	       tool_fail(error, TOOL_ERROR_PEER, "the peer says \"%.*s\" where we say \"%s\"",
			 (int)strnlen((const char *)message.octets, len),
			 (const char *)message.octets, text);
}

/* The parameters that come before the second connection. */
static bool
perftest_begin(struct test *test, GError **error)
{
	uint64_t cycle;
	uint64_t line;

	if (!exchange_text(test, VERSION, VERSION_SIZE, error) ||
	    !exchange_number(test, CYCLE, 4, &cycle, error) ||
	    !exchange_number(test, LINE, 4, &line, error) ||
	    !exchange_text(test, MTU, MTU_SIZE, error) || !exchange_keys(test, error))
		return false;
	return (cycle == CYCLE && line == LINE) ||
	       tool_fail(error, TOOL_ERROR_PEER,
			 "the peer's cycle and line are %" G_GUINT64_FORMAT
			 " and %" G_GUINT64_FORMAT " octets; only %d and %d are known here",
			 cycle, line, CYCLE, LINE);
}

/* The buffers, before the connection over which the peer reaches them. */
static bool
make_buffers(struct test *test, GError **error)
{
	const struct tool_adapter *adapter = &test->side->adapter;

	if (!tool_memory_make(&test->buffer, adapter, region_size(test->side->peer),
			      test->side->client ? IT_PRIV_NONE : test->kind->remote,
			      test->side->client, error) ||
	    !tool_memory_make(&test->credit, adapter, sizeof(uint32_t), IT_PRIV_REMOTE_WRITE, false,
			      error))
		return false;
	memset(test->buffer.octets, PEER_FILL, test->buffer.size);
	if (!test->side->client && test->kind->remote == IT_PRIV_REMOTE_READ)
		tool_pattern_fill(test->buffer.octets, test->buffer.size, SEED, 0);
	return true;
}

/* From now on our keys name the buffer that the peer is to reach. */
static void
tell_buffer(struct test *test)
{
	const struct tool_memory *told = test->kind->credits ? &test->credit : &test->buffer;

	test->ours.reads = WINDOW;
	test->ours.key = (uint32_t)told->context;
	test->ours.address = tool_memory_address(told);
}

static size_t
receives_of(const struct peer *peer)
{
	return (size_t)MIN(peer->count, RX_DEPTH);
}

static bool
open_data(struct test *test, GError **error)
{
	const struct peer *peer = test->side->peer;
	struct peer_shape shape = {.requests = WINDOW,
				   .receives = test->kind->credits ? receives_of(peer) : 1,
				   .slots = 1,
				   .size = (size_t)MAX(peer->size, 1)};

	return peer_conn_persist(&test->data, test->side, &shape, error);
}

/* The client's figures would be those of its clock; nobody needs them, so they are zero. */
static bool
exchange_reports(struct test *test, GError **error)
{
	const struct peer *peer = test->side->peer;
	const uint64_t ours[REPORTS] = {peer->size, peer->count};
	uint64_t theirs[REPORTS];

	for (size_t i = 0; i < REPORTS; i++) {
		if (!exchange_number(test, ours[i], REPORT_SIZE, &theirs[i], error))
			return false;
	}
	if (test->side->client || (theirs[0] == peer->size && theirs[1] == peer->count))
		return true;
	return tool_fail(error, TOOL_ERROR_PEER,
			 "the client did %" G_GUINT64_FORMAT " times %" G_GUINT64_FORMAT
			 " octets; the options say %" G_GUINT64_FORMAT " times %" G_GUINT64_FORMAT,
			 theirs[1], theirs[0], peer->count, peer->size);
}

static bool
run_side(struct test *test, GError **error)
{
	if (test->side->client)
		return test->kind->client(test, error);
	return test->kind->server == NULL || test->kind->server(test, error);
}

static bool
perftest_run(struct test *test, GError **error)
{
	static const struct peer_shape shape = {
		.requests = 1, .receives = 4, .slots = 4, .size = CONTROL};

	if (!peer_conn_open(&test->control, test->side, &shape, error) ||
	    !peer_conn_meet(&test->control, NULL, error) || !perftest_begin(test, error) ||
	    !make_buffers(test, error) || !open_data(test, error) || !exchange_keys(test, error))
		return false;
	tell_buffer(test);
	for (unsigned i = 0; i < test->kind->before; i++) {
		if (!exchange_keys(test, error))
			return false;
	}
	if (!run_side(test, error) || !exchange_keys(test, error))
		return false;
	return !test->kind->reports ||
	       (exchange_reports(test, error) && exchange_keys(test, error));
}

static bool
run_kind(struct peer_side *side, const struct kind *kind, GError **error)
{
	struct test test = {.side = side, .kind = kind};
	bool good = kind->credits && side->peer->count == 0
			    ? tool_fail(error, TOOL_ERROR_USAGE, "a Send test has messages")
			    : perftest_run(&test, error);

	/* What came over one connection says nothing of the other, but the end of that one does. */
	if (good && !side->client && kind->judge != NULL)
		good = peer_conn_ended(&test.data, error) && kind->judge(&test, error);
	if (good && !side->client) { /* the client ends the connections */
		tool_link_linger(&test.data.link);
		tool_link_linger(&test.control.link);
	}
	peer_conn_close(&test.data);
	peer_conn_close(&test.control);
	tool_memory_free(&test.buffer);
	tool_memory_free(&test.credit);
	return good;
}

/* One Write or Read of our buffer, to or from the same offset of the peer's. */
static bool
post_rdma(struct test *test, uint64_t number, bool read, GError **error)
{
	const struct peer *peer = test->side->peer;
	size_t offset = offset_of(peer, number);
	it_lmr_triplet_t part = tool_memory_part(&test->buffer, offset, (size_t)peer->size);
	it_rdma_addr_t address = test->theirs.address + offset;

	if (read)
		return tool_check(it_post_rdma_read(test->data.link.ep, &part, 1, number,
						    IT_COMPLETION_FLAG, address, test->theirs.key),
				  "it_post_rdma_read", error);
	return tool_check(it_post_rdma_write(test->data.link.ep, &part, 1, number,
					     IT_COMPLETION_FLAG, address, test->theirs.key),
			  "it_post_rdma_write", error);
}

/* All Writes or Reads, with a window of them outstanding. */
static bool
all_rdma(struct test *test, bool read, GError **error)
{
	uint64_t count = test->side->peer->count;
	it_dto_cmpl_event_t event;
	uint64_t posted = 0;

	for (uint64_t done = 0; done < count; done++) {
		for (; posted < count && posted < done + WINDOW; posted++) {
			if (!post_rdma(test, posted, read, error))
				return false;
		}
		if (!tool_link_done(&test->data.link, &event, error))
			return false;
	}
	return true;
}

/* Whether no octet changed. The peer wrote here over a connection that this thread did not ask since. */
__attribute__((no_sanitize("thread"), noinline)) static bool
untouched(const uint8_t *octets, size_t len)
{
	for (size_t at = 0; at < len; at++) {
		if (*(const volatile uint8_t *)&octets[at] != PEER_FILL)
			return false;
	}
	return true;
}

/* Whether data arrived at every message's place: what was there before is gone. */
static bool
all_changed(struct test *test, GError **error)
{
	const struct peer *peer = test->side->peer;
	uint64_t places = MIN(peer->count, CYCLE / LINE);

	for (uint64_t number = 0; number < places && peer->size >= LINE; number++) {
		if (untouched(test->buffer.octets + offset_of(peer, number), (size_t)peer->size))
			return tool_fail(error, TOOL_ERROR_VERIFY,
					 "nothing arrived for operation %" G_GUINT64_FORMAT,
					 number);
		test->side->arrived += peer->size;
	}
	return true;
}

static bool
write_client(struct test *test, GError **error)
{
	tool_pattern_fill(test->buffer.octets, test->buffer.size, SEED, 0);
	return all_rdma(test, false, error);
}

static bool
read_client(struct test *test, GError **error)
{
	return all_rdma(test, true, error) && all_changed(test, error);
}

/*
 * The number of messages that the receiver reports as received. The peer writes it by RDMA at any
 * time, which is not a data race of this program, so ThreadSanitizer is switched off.
 */
__attribute__((no_sanitize("thread"), noinline)) static uint32_t
credit_of(const struct test *test)
{
	return *(const volatile uint32_t *)(const void *)test->credit.octets;
}

static bool
wait_for_credit(struct test *test, uint64_t sent, GError **error)
{
	struct peer_limit limit = peer_limit_of(test->side->peer->options.seconds);

	while (sent + 1 - credit_of(test) >= MAX(receives_of(test->side->peer), 2)) {
		if (!peer_limit_stands(&limit, "no receives were announced", error))
			return false;
		g_usleep(LOOK_US);
	}
	return true;
}

static bool
send_client(struct test *test, GError **error)
{
	const struct peer *peer = test->side->peer;

	tool_pattern_fill(peer_conn_outgoing(&test->data), (size_t)peer->size, SEED, 0);
	for (uint64_t sent = 0; sent < peer->count; sent++) {
		if (!wait_for_credit(test, sent, error) ||
		    !peer_conn_send(&test->data, (size_t)peer->size, error))
			return false;
	}
	return true;
}

/* Writes into the sender's memory how many messages have arrived. */
static bool
give_credit(struct test *test, uint64_t got, GError **error)
{
	uint32_t value = (uint32_t)got;
	it_lmr_triplet_t part = tool_memory_part(&test->buffer, 0, sizeof(value));

	memcpy(test->buffer.octets, &value, sizeof(value));
	return peer_conn_write(&test->data, &part, test->theirs.address, test->theirs.key, error);
}

static bool
send_server(struct test *test, GError **error)
{
	const struct peer *peer = test->side->peer;
	uint64_t depth = receives_of(peer);
	uint64_t third = MAX(depth / 3, 1);
	struct peer_message message;

	for (uint64_t got = 1; got <= peer->count; got++) {
		if (!peer_conn_expect(&test->data, got + depth <= peer->count, (size_t)peer->size,
				      &message, error))
			return false;
		if (got % depth % third == 0 && !give_credit(test, got, error))
			return false;
	}
	return true;
}

static bool
turns_client(struct test *test, GError **error)
{
	const struct peer *peer = test->side->peer;
	struct peer_message message;

	for (uint64_t i = 0; i < peer->count; i++) {
		if (!peer_conn_send(&test->data, (size_t)peer->size, error) ||
		    !peer_conn_expect(&test->data, true, (size_t)peer->size, &message, error))
			return false;
	}
	return true;
}

static bool
turns_server(struct test *test, GError **error)
{
	const struct peer *peer = test->side->peer;
	struct peer_message message;

	for (uint64_t i = 0; i < peer->count; i++) {
		if (!peer_conn_expect(&test->data, true, (size_t)peer->size, &message, error) ||
		    !peer_conn_send(&test->data, (size_t)peer->size, error))
			return false;
	}
	return true;
}

static const struct kind write_kind = {.before = 3,
				       .reports = true,
				       .remote = IT_PRIV_REMOTE_WRITE,
				       .client = write_client,
				       .judge = all_changed};
static const struct kind read_kind = {
	.before = 3, .reports = true, .remote = IT_PRIV_REMOTE_READ, .client = read_client};
static const struct kind send_kind = {
	.before = 4, .credits = true, .client = send_client, .server = send_server};
static const struct kind turns_kind = {
	.before = 4, .credits = true, .client = turns_client, .server = turns_server};

static bool
write_bw(struct peer_side *side, GError **error)
{
	return run_kind(side, &write_kind, error);
}

static bool
read_bw(struct peer_side *side, GError **error)
{
	return run_kind(side, &read_kind, error);
}

static bool
send_bw(struct peer_side *side, GError **error)
{
	return run_kind(side, &send_kind, error);
}

static bool
send_lat(struct peer_side *side, GError **error)
{
	return run_kind(side, &turns_kind, error);
}

#define PERFTEST(NAME, COUNT, SIZE)                                           \
	const struct peer_protocol peer_##NAME = {.name = #NAME,              \
						  .plays = "ib_" #NAME " -R", \
						  .port = 18515,              \
						  .count = (COUNT),           \
						  .size = (SIZE),             \
						  .client = (NAME),           \
						  .server = (NAME)}

PERFTEST(write_bw, 5000, 65536);
PERFTEST(read_bw, 1000, 65536);
PERFTEST(send_bw, 1000, 65536);
PERFTEST(send_lat, 1000, 2);
