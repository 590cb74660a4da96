/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Damage that TCP does not see, by seed, on a connection in full use: Sends in both directions,
 * Writes and Reads at once. Whatever the relay does, each successful completion must have the right
 * data, each post must complete once, each side must get one event of the end, and both endpoints
 * must work on the next connection. A flipped bit behind the length field always ends the
 * connection with the Terminate for a wrong CRC.
 *
 * ITAPI_TEST_RUNS: how many runs; ITAPI_TEST_SEED: where to begin. Without ITAPI_TEST_RUNS, as many
 * as fit into some seconds.
 */

#include <string.h>

#include "it_pair.h"
#include "it_relay.h"

#define SLOT   20480u /* bytes; a long message is shorter */
#define SENDS  3u
#define WRITES 3u
#define READS  2u
#define RECVS  (SENDS + 1) /* one never gets a message */
#define FLAGS  (IT_COMPLETION_FLAG | IT_NOTIFY_FLAG)

#define RUNS_LEAST 200u
#define RUNS_MOST  3000u
#define SECONDS    5

#define END_US (2 * G_USEC_PER_SEC) /* of a connection, at most */

#define TERMINATE_CRC 0x2002 /* layer MPA, type 0, code 2 */
#define TERMINATE_FIN 0x0207 /* RDMAP, remote operation, this stream */

/* Slots of a buffer: what is written, sent, read and received. */
enum {
	AT_WRITE = 0,
	AT_SEND = 3,
	AT_READ = 6,
	AT_RECV = 8
};

/* Cookies: the kind, then which. */
enum {
	COOKIE_WRITE = 0x10,
	COOKIE_SEND = 0x20,
	COOKIE_READ = 0x30,
	COOKIE_RECV = 0x40
};

struct run {
	struct pair *pair;
	struct relay *relay;
	uint32_t seed, random;
	struct relay_plan plan;
	size_t write_len[WRITES], send_len[2][SENDS], read_len[READS];
	unsigned good, done;  /* completions: with success, all */
	unsigned received[2]; /* messages, by end */
};

static unsigned tally[RELAY_HARMS];

static uint32_t
draw(struct run *run)
{
	run->random = run->random * 1664525 + 1013904223;
	return run->random >> 8;
}

static size_t
draw_length(struct run *run)
{
	return draw(run) % 8 == 0 ? 9000 + draw(run) % 11000 : draw(run) % 1500;
}

/* --- contents -------------------------------------------------------------------------------- */

static unsigned char
octet_of(const struct run *run, unsigned slot, unsigned end, size_t i)
{
	return (unsigned char)(run->seed * 101 + slot * 37 + end * 11 + i * 7 + (i >> 8) * 13 + 1);
}

static void
fill(const struct run *run, struct end *end, unsigned which, unsigned slot, size_t length)
{
	unsigned char *at = end->buffer + (size_t)slot * SLOT;

	for (size_t i = 0; i < length; i++)
		at[i] = octet_of(run, slot, which, i);
}

/* Slot `to` of an end holds what slot `slot` of the end of that number has. */
static void
judge(const struct run *run, const struct end *end, unsigned to, unsigned slot, unsigned which,
      size_t length)
{
	const unsigned char *at = end->buffer + (size_t)to * SLOT;

	for (size_t i = 0; i < length; i++)
		if (at[i] != octet_of(run, slot, which, i))
			g_error("seed %u: octet %zu of slot %u is wrong", run->seed, i, to);
}

/* --- a run ------------------------------------------------------------------------------------ */

static it_lmr_triplet_t
slot_of(const struct end *end, unsigned slot, size_t length)
{
	return end_segment(end, (size_t)slot * SLOT, length);
}

static void
post_recvs(struct end *end)
{
	for (unsigned i = 0; i < RECVS; i++) {
		it_lmr_triplet_t to = slot_of(end, AT_RECV + i, SLOT);

		memset(end->buffer + (size_t)(AT_RECV + i) * SLOT, 0, SLOT);
		pair_ok(it_post_recv((it_handle_t)end->ep, &to, 1, COOKIE_RECV + i, FLAGS));
	}
}

static void
post_send(struct run *run, struct end *end, unsigned which, unsigned i)
{
	it_lmr_triplet_t from = slot_of(end, AT_SEND + i, run->send_len[which][i]);

	pair_ok(it_post_send(end->ep, &from, 1, COOKIE_SEND + i, FLAGS));
}

/* The connection may end at any of these posts: then what is posted is flushed. */
static void
post_all(struct run *run)
{
	struct end *a = &run->pair->active, *b = &run->pair->passive;

	for (unsigned i = 0; i < SENDS; i++) {
		it_lmr_triplet_t from = slot_of(a, AT_WRITE + i, run->write_len[i]);

		pair_ok(it_post_rdma_write(
			a->ep, &from, 1, COOKIE_WRITE + i, FLAGS,
			it_make_rdma_addr_absolute(b->buffer + (size_t)(AT_WRITE + i) * SLOT),
			b->context));
		post_send(run, a, 0, i);
		post_send(run, b, 1, i);
	}
	for (unsigned i = 0; i < READS; i++) {
		it_lmr_triplet_t to = slot_of(a, AT_READ + i, run->read_len[i]);

		pair_ok(it_post_rdma_read(
			a->ep, &to, 1, COOKIE_READ + i, FLAGS,
			it_make_rdma_addr_absolute(b->buffer + (size_t)(AT_READ + i) * SLOT),
			b->context));
	}
}

static void
prepare(struct run *run)
{
	struct end *a = &run->pair->active, *b = &run->pair->passive;

	for (unsigned i = 0; i < SENDS; i++) {
		run->write_len[i] = draw_length(run);
		run->send_len[0][i] = draw_length(run);
		run->send_len[1][i] = draw_length(run);
		fill(run, a, 0, AT_WRITE + i, run->write_len[i]);
		memset(b->buffer + (size_t)(AT_WRITE + i) * SLOT, 0, run->write_len[i]);
		fill(run, a, 0, AT_SEND + i, run->send_len[0][i]);
		fill(run, b, 1, AT_SEND + i, run->send_len[1][i]);
	}
	for (unsigned i = 0; i < READS; i++) {
		run->read_len[i] = draw_length(run);
		fill(run, b, 1, AT_READ + i, run->read_len[i]);
		memset(a->buffer + (size_t)(AT_READ + i) * SLOT, 0, run->read_len[i]);
	}
	run->plan.harm = (enum relay_harm)(draw(run) % (RELAY_HARMS + 4));
	if (run->plan.harm >= RELAY_HARMS)
		run->plan.harm = RELAY_FLIP; /* the most frequent */
	run->plan.way = draw(run) % RELAY_WAYS;
	/* Behind the first one, which lets the responder send, and among those that surely go that way. */
	run->plan.fpdu = run->plan.way == RELAY_FORTH ? 1 + draw(run) % (2 * SENDS + READS - 1)
						      : draw(run) % (SENDS + READS);
	run->plan.pick = draw(run) << 8 ^ draw(run);
	run->plan.octets = 1 + draw(run) % 64;
	relay_prepare(run->relay, &run->plan);
	post_recvs(a);
	post_recvs(b);
}

/* What the receiving end may rely on now. */
static void
judge_message(struct run *run, unsigned which, unsigned i, size_t length)
{
	struct end *end = which == 0 ? &run->pair->active : &run->pair->passive;
	unsigned from = 1 - which;

	g_assert_cmpuint(i, ==, run->received[which]++); /* in order, and each once */
	g_assert_cmpuint(i, <, SENDS);
	g_assert_cmpuint(length, ==, run->send_len[from][i]);
	judge(run, end, AT_RECV + i, AT_SEND + i, from, length);
}

static void
judge_completion(struct run *run, unsigned which, const it_dto_cmpl_event_t *cmpl)
{
	unsigned kind = (unsigned)cmpl->cookie & 0xf0, i = (unsigned)cmpl->cookie & 0x0f;

	run->done++;
	if (cmpl->dto_status != IT_DTO_SUCCESS)
		return;
	run->good++;
	if (kind == COOKIE_RECV)
		judge_message(run, which, i, cmpl->transferred_length);
	else if (kind == COOKIE_READ)
		judge(run, &run->pair->active, AT_READ + i, AT_READ + i, 1, run->read_len[i]);
}

static void
take(struct run *run, unsigned which, it_evd_handle_t evd)
{
	it_event_t event;

	while (it_evd_dequeue(evd, &event) == IT_SUCCESS)
		judge_completion(run, which, &event.dto_cmpl);
}

/* Wait until these numbers of requests and receives have completed. */
static void
await_completions(struct run *run, unsigned count)
{
	struct end *ends[] = {&run->pair->active, &run->pair->passive};
	gint64 until = g_get_monotonic_time() + WAIT_US;

	while (run->done < count) {
		unsigned before = run->done;

		for (unsigned which = 0; which < 2; which++) {
			take(run, which, ends[which]->recv);
			take(run, which, ends[which]->request);
		}
		if (g_get_monotonic_time() > until)
			g_error("seed %u: %u of %u completions", run->seed, run->done, count);
		if (run->done == before)
			g_usleep(20);
	}
}

/* --- verdicts ---------------------------------------------------------------------------------- */

/* One end, broken or, if `orderly` may be, disconnected. */
static void
expect_end(const struct run *run, struct end *end, bool orderly)
{
	it_event_t event = end_next(end->cm_msg);

	if (event.event_number != IT_CM_MSG_CONN_BROKEN_EVENT &&
	    !(orderly && event.event_number == IT_CM_MSG_CONN_DISCONNECT_EVENT))
		g_error("seed %u: event %x", run->seed, (unsigned)event.event_number);
	end_expect_none(end->cm_msg);
}

/*
 * Checks the Terminate of the side that saw the damage. If the run took as long as an end may take [WIRE 7.2], a reset
 * may have come instead.
 */
static void
judge_terminate(const struct run *run, const struct relay_report *report, gint64 took_us)
{
	int code = report->terminate[1 - run->plan.way];

	if (code < 0 && report->reset && took_us >= END_US)
		return;
	if (run->plan.harm == RELAY_FLIP && code != TERMINATE_CRC)
		g_error("seed %u: octet %u of %u: Terminate %x", run->seed, report->at,
			report->size, (unsigned)code);
	if (run->plan.harm == RELAY_FIN && code != TERMINATE_FIN)
		g_error("seed %u: FIN at %u of %u: Terminate %x", run->seed, report->at,
			report->size, (unsigned)code);
}

/*
 * Octets of a long tagged frame are placed as they arrive, at the address in the header; the CRC comes last. If the
 * header was damaged, that may be the place of an earlier Write [WIRE 8.16].
 */
static bool
may_lead_astray(const struct relay_report *report)
{
	return report->tagged && report->at < 16 && report->size > 1024;
}

/* Writes are there once a Send behind them has arrived. */
static void
judge_writes(const struct run *run)
{
	for (unsigned i = 0; i < run->received[1]; i++)
		judge(run, &run->pair->passive, AT_WRITE + i, AT_WRITE + i, 0, run->write_len[i]);
}

static void
run_once(struct run *run)
{
	const unsigned all = WRITES + READS + 2 * SENDS + 2 * RECVS;
	struct pair *pair = run->pair;
	struct relay_report report;
	bool harmless;
	gint64 begun;

	begun = g_get_monotonic_time();
	run->random = run->seed * 2654435761u;
	prepare(run);
	harmless = run->plan.harm == RELAY_SLICE;
	pair_establish(pair);
	post_all(run);
	if (harmless) {
		await_completions(run, all - 2);
		g_assert_cmpuint(run->good, ==, all - 2);
		pair_disconnect(pair);
	} else {
		bool orderly = run->plan.harm != RELAY_FLIP;

		expect_end(run, &pair->active, orderly);
		expect_end(run, &pair->passive, orderly);
	}
	await_completions(run, all);
	report = relay_finish(run->relay);
	g_assert_cmpint(report.struck, ==, !harmless);
	judge_terminate(run, &report, g_get_monotonic_time() - begun);
	if (!may_lead_astray(&report))
		judge_writes(run);
	end_reset(&pair->active);
	end_reset(&pair->passive);
	tally[run->plan.harm]++;
}

static uint32_t
number_of(const char *variable, uint32_t otherwise)
{
	const char *text = g_getenv(variable);

	return text != NULL ? (uint32_t)g_ascii_strtoull(text, NULL, 10) : otherwise;
}

static void
test_damage(struct pair *pair)
{
	struct relay *relay = relay_new(pair->qual.conn_qual.port);
	gint64 until = g_get_monotonic_time() + SECONDS * G_USEC_PER_SEC;
	uint32_t first = number_of("ITAPI_TEST_SEED", 1), runs = number_of("ITAPI_TEST_RUNS", 0);
	uint32_t least = runs > 0 ? runs : RUNS_LEAST, most = runs > 0 ? runs : RUNS_MOST;
	uint32_t n = 0;
	unsigned descriptors = 0;

	pair->qual.type = IT_IANA_LR_PORT;
	pair->qual.conn_qual.lr_port = (it_iana_lr_port_t){.remote = relay_port(relay)};
	for (; n < most && (n < least || g_get_monotonic_time() < until); n++) {
		struct run run = {.pair = pair, .relay = relay, .seed = first + n};

		run_once(&run);
		if (n == 0)
			descriptors = pair_descriptors();
	}
	PAIR_UNTIL(pair_descriptors() <= descriptors);
	g_test_message(
		"%u runs: %u flips, %u of lengths, %u drops, %u repeats, %u FINs, %u resets, "
		"%u without harm",
		n, tally[RELAY_FLIP], tally[RELAY_FLIP_LENGTH], tally[RELAY_DROP],
		tally[RELAY_DUPLICATE], tally[RELAY_FIN], tally[RELAY_RESET], tally[RELAY_SLICE]);
	relay_free(relay);
}

static void
add(void)
{
	pair_add("damage/seeds", test_damage);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
