/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The retry limit applies to each problem separately: a queue pair that recovers from one problem
 * at the last moment must endure the next one as long. Each kind of problem occurs ten times, each
 * time one step short of the limit, mixed with the others; then once one step beyond it, which must
 * end the queue pair.
 *
 * The second use of a pair of queue pairs, after each kind of end, must be packet for packet that
 * of a new pair. So must a use late in the life of a pair, when its packet numbers and indices are
 * about to wrap and no event has updated its marks for half of the number space.
 *
 * Any value of any member may be left of an earlier use: all octets that the table `members` does
 * not exempt are overwritten before the reset, and compared with those of a new pair after it.
 */
#include <string.h>

#include "vro_sim.h"
#include "vsw_octets.h"

#define PATIENT 2 /* retries */
#define ROUNDS  10
#define STEP    UINT64_C(100000)           /* ns */
#define AWAY    (2 * (uint64_t)VRO_ABSENT) /* between two signs that nobody is there */

struct trouble {
	const char *name;
	enum vro_count count;  /* what tells its steps */
	bool muted;            /* nothing arrives */
	unsigned steps;        /* before it would end the queue pair */
	enum ri_wc_status end; /* which it then does with */
	const char *why;       /* says the log */
};

static const struct trouble troubles[] = {
	{"no receive", VRO_RNRS, false, PATIENT, RI_WC_RNR, "had no receive for it at 3 tries"},
	{"silence", VRO_TIMEOUTS, true, PATIENT, RI_WC_TRANSPORT,
	 "nothing since it was sent 3 times"},
	{"absence", VRO_COUNTS, true, PATIENT, RI_WC_TRANSPORT,
	 "no process receives at the peer's address"},
};

static bool
mute(struct sim *sim, int from, const struct roce_packet *p)
{
	(void)from;
	(void)p;
	return !*(const bool *)sim->arg;
}

static uint64_t
counted(const struct sim *sim, const struct trouble *trouble)
{
	return sim->sides[0].engine.counts[trouble->count] +
	       sim->sides[1].engine.counts[trouble->count];
}

/* Run that number of steps of the trouble, from where it was counted. */
static void
go_wrong(struct sim *sim, struct sim_qp *q, const struct trouble *trouble, unsigned steps,
	 uint64_t before)
{
	if (trouble->count == VRO_COUNTS) {
		for (unsigned i = 0; i < steps; i++) {
			vro_requester_absent(&q->qp);
			sim_run(sim, AWAY);
		}
		return;
	}

	for (unsigned i = 0; i < 20000 && counted(sim, trouble) < before + steps; i++)
		sim_run(sim, STEP);
	g_assert_cmpuint(counted(sim, trouble), ==, before + steps);
}

/* A Send that meets the trouble, and arrives when it is over. */
static void
survive(struct sim *sim, struct sim_qp *pair[2], const struct trouble *trouble, bool *muted)
{
	const struct ri_sge sge = sim_sge(pair[0], 0, 8);
	const struct ri_wr send = sim_request(pair[0], 1, RI_OP_SEND, &sge, 0);

	const uint64_t before = trouble->count != VRO_COUNTS ? counted(sim, trouble) : 0;

	g_string_truncate(pair[0]->sent, 0);
	*muted = trouble->muted;
	sim_post(pair[0], &send);
	sim_run(sim, STEP);
	go_wrong(sim, pair[0], trouble, trouble->steps, before);
	*muted = false;
	sim_receive(pair[1], 2, 64, 8);
	sim_run(sim, 20 * AWAY);
	sim_poll(pair[0]);
	sim_poll(pair[1]);
	g_assert_cmpstr(pair[0]->sent->str, ==, "1 RI_OP_SEND RI_WC_SUCCESS\n");
	g_assert_cmpuint(pair[0]->failures + pair[1]->failures, ==, 0);
}

static void
pair_open(struct sim **sim, struct sim_qp *pair[2], bool *muted)
{
	*sim = sim_new(1, false);
	(*sim)->filter = mute;
	(*sim)->arg = muted;
	*muted = false;
	sim_pair(*sim, ROCE_RC, 256, 7, 9, pair);
	for (int i = 0; i < 2; i++) {
		struct vro_qp *qp = &pair[i]->qp;

		qp->path.retries = qp->path.rnr_retries = PATIENT;
		qp->tx.retries = qp->tx.rnr_retries = PATIENT;
	}
}

static void
test_patience(void)
{
	for (unsigned last = 0; last < G_N_ELEMENTS(troubles); last++) {
		const struct trouble *trouble = &troubles[last];
		g_autofree char *end = NULL;
		struct sim_qp *pair[2];
		struct sim *sim;
		bool muted;

		pair_open(&sim, pair, &muted);
		/* This end learns of an absence by a report. Its own time limit would end the pair before. */
		if (trouble->count == VRO_COUNTS)
			pair[0]->qp.path.timeout = 0;
		for (unsigned round = 0; round < ROUNDS; round++)
			survive(sim, pair, trouble, &muted);
		const struct ri_sge sge = sim_sge(pair[0], 0, 8);
		const struct ri_wr send = sim_request(pair[0], 3, RI_OP_SEND, &sge, 0);

		muted = trouble->muted;
		sim_post(pair[0], &send);
		sim_run(sim, STEP);
		if (trouble->count == VRO_COUNTS)
			go_wrong(sim, pair[0], trouble, trouble->steps + 1, 0);
		else
			sim_run(sim, 20 * AWAY);
		sim_poll(pair[0]);
		g_test_message("%s", trouble->name);
		end = g_strdup_printf("3 RI_OP_SEND %s\n",
				      trouble->end == RI_WC_RNR ? "RI_WC_RNR" : "RI_WC_TRANSPORT");
		g_assert_true(g_str_has_suffix(pair[0]->sent->str, end));
		g_assert_cmpuint(pair[0]->failures, ==, 1);
		g_assert_true(vth_logged(sim->vth, trouble->why));
		sim_free(&sim);
	}
}

static bool
is_listed(const struct vro_qp *list, const struct vro_qp *qp)
{
	for (; list != NULL; list = list->next)
		if (list == qp)
			return true;
	return false;
}

/* A queue pair that leaves while the link is full is in no list any more, and the others go on. */
static void
test_leaves_full(void)
{
	struct sim *sim RI_AT_END(sim_free) = sim_new(1, false);
	struct vro_engine *engine = &sim->sides[0].engine;
	struct sim_qp *pairs[2][2];

	sim->wire.limit = 2;
	for (unsigned i = 0; i < 2; i++)
		sim_pair(sim, ROCE_RC, 256, 7 + i, 9 + i, pairs[i]);
	for (unsigned i = 0; i < 2; i++) {
		const struct ri_sge sge = sim_sge(pairs[i][0], 0, 8192);
		const struct ri_wr write =
			sim_request(pairs[i][0], 1, RI_OP_RDMA_WRITE, &sge, 16384 * i);

		sim_post(pairs[i][0], &write);
	}
	for (unsigned i = 0; i < 10000 && !is_listed(engine->blocked, &pairs[0][0]->qp); i++)
		sim_run(sim, 100);
	g_assert_true(is_listed(engine->blocked, &pairs[0][0]->qp));
	vro_qp_leave(&pairs[0][0]->qp);
	g_assert_false(is_listed(engine->blocked, &pairs[0][0]->qp));
	g_assert_false(is_listed(engine->dirty, &pairs[0][0]->qp));
	sim_run(sim, AWAY);
	sim_poll(pairs[1][0]);
	g_assert_cmpstr(pairs[1][0]->sent->str, ==, "1 RI_OP_RDMA_WRITE RI_WC_SUCCESS\n");
	g_assert_cmpuint(pairs[0][0]->sent->len, ==, 0);
}

/* --- second lives ----------------------------------------------------------------------------- */

/* What a pair does, as lines of text; and what befalls it. */
struct story {
	GString *lines;
	uint64_t begun;
	unsigned packets; /* of this life */
	unsigned lose[3]; /* numbers of packets that do not arrive; 0: none */
	bool muted;
	struct vro_qp *refused; /* hears, while it sends a packet, that nobody is there */
};

static uint64_t
now_of(const struct sim *sim)
{
	return sim->host->now(sim->host->self);
}

static bool
note(struct sim *sim, int from, const struct roce_packet *p)
{
	struct story *story = sim->arg;
	unsigned number = ++story->packets;
	bool lost = story->muted;

	for (unsigned i = 0; i < G_N_ELEMENTS(story->lose); i++)
		lost = lost || number == story->lose[i];
	g_string_append_printf(story->lines,
			       "%" G_GUINT64_FORMAT
			       " %d: %02x psn %06x syndrome %02x ask %d octets %zu%s\n",
			       now_of(sim) - story->begun, from, p->opcode, p->psn,
			       (roce_parts(p->opcode) & ROCE_HAS_AETH) != 0 ? p->syndrome : 0u,
			       p->ack_request, (size_t)p->payload_length, lost ? " lost" : "");
	if (story->refused != NULL && from == 0)
		vro_requester_absent(story->refused);
	return !lost;
}

/* The queue pairs are connected, with little patience, and have seen nothing yet. */
static void
life_begin(struct sim *sim, struct sim_qp *pair[2], struct story *story)
{
	for (int i = 0; i < 2; i++) {
		struct vro_qp *qp = &pair[i]->qp;

		sim_path(pair[i], pair[!i], 256);
		qp->path.retries = 0;
		qp->path.rnr_retries = PATIENT;
		g_string_truncate(pair[i]->sent, 0);
		g_string_truncate(pair[i]->received, 0);
		pair[i]->failures = pair[i]->event = 0;
		vro_qp_to_rtr(qp, i == 0 ? 9 : 7);
		vro_qp_to_rts(qp, i == 0 ? 7 : 9);
	}
	g_string_truncate(story->lines, 0);
	story->packets = 0;
	story->begun = now_of(sim);
	story->muted = false;
	memset(story->lose, 0, sizeof(story->lose));
}

static void
post(struct sim_qp *q, uint64_t id, uint8_t opcode, uint32_t length)
{
	const struct ri_sge sge = sim_sge(q, 0, length);
	const struct ri_wr wr = sim_request(q, id, opcode, &sge, 16384);

	sim_post(q, &wr);
}

/* All that a pair can do, with each trouble one step short of the end: gaps on both sides, no receive, absence. */
static void
life(struct sim *sim, struct sim_qp *pair[2], struct story *story)
{
	story->lose[0] = 3;
	story->lose[1] = 40;
	story->lose[2] = 41;
	for (int i = 0; i < 2; i++) {
		post(pair[i], 1, RI_OP_RDMA_WRITE, 8192);
		post(pair[i], 2, RI_OP_RDMA_READ, 8192);
		post(pair[i], 3, RI_OP_SEND, 600);
		sim_run(sim, 1234); /* so that no two timers are due at once */
	}
	sim_run(sim, 4 * roce_rnr_time(12) / 3); /* one NAK, and one try after it */
	for (int i = 0; i < 2; i++)
		sim_receive(pair[i], 4, 32768, 1024);
	sim_run(sim, AWAY);
	story->muted = true;
	post(pair[0], 5, RI_OP_RDMA_WRITE, 100);
	sim_run(sim, STEP);
	vro_requester_absent(&pair[0]->qp);
	vro_requester_absent(&pair[0]->qp);
	story->muted = false;
	sim_run(sim, AWAY);
	for (int i = 0; i < 2; i++) {
		sim_poll(pair[i]);
		g_string_append_printf(story->lines, "%d sent:\n%sreceived:\n%s%u failures\n", i,
				       pair[i]->sent->str, pair[i]->received->str,
				       pair[i]->failures);
	}
	for (unsigned i = 0; i < VRO_PEERS; i++)
		for (int side = 0; side < 2; side++)
			g_assert_cmpuint(sim->sides[side].engine.sent[i], ==, 0);
}

static void
ends_well(struct sim *sim, struct sim_qp *pair[2], struct story *story)
{
	life(sim, pair, story);
}

static void
ends_silent(struct sim *sim, struct sim_qp *pair[2], struct story *story)
{
	story->muted = true;
	post(pair[0], 1, RI_OP_RDMA_WRITE, 8192);
	post(pair[1], 1, RI_OP_RDMA_READ, 8192);
	sim_run(sim, 4 * AWAY);
	g_assert_cmpuint(pair[0]->failures, ==, 1);
}

/* While it waits for a receive. */
static void
ends_halted(struct sim *sim, struct sim_qp *pair[2], struct story *story)
{
	(void)story;
	post(pair[0], 1, RI_OP_SEND, 600);
	sim_run(sim, STEP);
	g_assert_true(pair[0]->qp.tx.halted);
}

/* After two signs that nobody is there. */
static void
ends_absent(struct sim *sim, struct sim_qp *pair[2], struct story *story)
{
	story->muted = true;
	pair[0]->qp.path.timeout = 0;
	post(pair[0], 1, RI_OP_RDMA_WRITE, 100);
	for (unsigned i = 1; i < VRO_ABSENCES; i++) {
		sim_run(sim, AWAY);
		vro_requester_absent(&pair[0]->qp);
	}
	g_assert_cmpuint(pair[0]->failures, ==, 0);
}

/* The last of the signs comes while the first packet of a message of that length is sent. */
static void
ends_sending(struct sim *sim, struct sim_qp *pair[2], struct story *story, uint32_t length)
{
	ends_absent(sim, pair, story);
	sim_run(sim, AWAY);
	story->refused = &pair[0]->qp;
	post(pair[0], 2, RI_OP_RDMA_WRITE, length);
	story->refused = NULL;
	sim_run(sim, STEP);
	g_assert_cmpuint(pair[0]->failures, ==, 1);
	for (unsigned i = 0; i < VRO_PEERS; i++)
		g_assert_cmpuint(sim->sides[0].engine.sent[i], ==, 0);
}

static void
ends_sending_short(struct sim *sim, struct sim_qp *pair[2], struct story *story)
{
	ends_sending(sim, pair, story, 100);
}

static void
ends_sending_long(struct sim *sim, struct sim_qp *pair[2], struct story *story)
{
	ends_sending(sim, pair, story, 8192);
}

/* A NAK has reported a gap that is still there. */
static void
ends_with_gap(struct sim *sim, struct sim_qp *pair[2], struct story *story)
{
	story->lose[0] = 3;
	post(pair[0], 1, RI_OP_RDMA_WRITE, 8192);
	for (unsigned i = 0; i < 100 && !pair[1]->qp.rx.silent; i++)
		sim_run(sim, 1000);
	g_assert_true(pair[1]->qp.rx.silent);
}

/* In the middle of a message, of a Read and of an answer. */
static void
ends_midway(struct sim *sim, struct sim_qp *pair[2], struct story *story)
{
	(void)story;
	sim_receive(pair[1], 4, 32768, 16384);
	post(pair[0], 1, RI_OP_SEND, 16384);
	post(pair[1], 1, RI_OP_RDMA_READ, 16384);
	sim_run(sim, 15000);
	g_assert_cmpint(pair[1]->qp.rx.kind, ==, VRO_SEND);
}

/* The key of a message is gone when its acknowledgement does not come, so that it cannot be sent again. */
static void
ends_spent(struct sim *sim, struct sim_qp *pair[2], struct story *story)
{
	struct sim_side *side = pair[0]->side;
	const struct ri_mr_init init = {.addr = (uint64_t)(uintptr_t)side->memory,
					.length = SIM_ROOM,
					.access = SIM_ALL,
					.key = 0x5b};
	struct ri_sge sge = sim_sge(pair[0], 0, 100);
	struct vsw_mem_entry *mr;
	struct ri_wr wr;

	g_assert_cmpint(vsw_mr_reg(side->mem, &sim->pd, 1, &init, &mr, &sge.stag), ==, RI_SUCCESS);
	wr = sim_request(pair[0], 1, RI_OP_SEND, &sge, 0);
	story->muted = true;
	sim_post(pair[0], &wr);
	g_assert_cmpint(vsw_mr_dereg(mr), ==, RI_SUCCESS);
	for (unsigned i = 0; i < 1000 && !pair[0]->qp.tx.spent; i++)
		sim_run(sim, STEP);
	g_assert_true(pair[0]->qp.tx.spent);
	g_assert_cmpuint(pair[0]->failures, ==, 0);
}

/* The peer is silent, and has not answered questions, one less of them than would end the pair. */
static void
ends_asked(struct sim *sim, struct sim_qp *pair[2], struct story *story)
{
	struct vro_engine *engine = &sim->sides[0].engine;

	story->muted = true;
	engine->keep_alive = AWAY;
	vro_qp_to_rts(&pair[0]->qp, 7);
	vro_qp_kick(&pair[0]->qp);
	for (unsigned i = 0; i < 1000 && pair[0]->qp.alive.asked < VRO_ALIVE_ASKS; i++)
		sim_run(sim, VRO_ABSENT / 4);
	g_assert_cmpuint(pair[0]->qp.alive.asked, ==, VRO_ALIVE_ASKS);
	g_assert_cmpuint(pair[0]->failures, ==, 0);
	engine->keep_alive = 0;
}

static void
begin_again(struct sim *sim, struct sim_qp *pair[2])
{
	for (int i = 0; i < 2; i++) {
		vro_qp_to_error(&pair[i]->qp);
		vro_qp_kick(&pair[i]->qp);
	}
	sim_run(sim, AWAY); /* what is under way finds no queue pair that receives */
	for (int i = 0; i < 2; i++) {
		sim_poll(pair[i]);
		vro_qp_to_reset(&pair[i]->qp);
		pair[i]->qp.state = VRO_INIT;
		vro_qp_kick(&pair[i]->qp); /* as each verb and each post do */
	}
	for (unsigned i = 0; i < VRO_PEERS; i++)
		for (int side = 0; side < 2; side++)
			g_assert_cmpuint(sim->sides[side].engine.sent[i], ==, 0);
}

/* A NAK reports each gap, also the second one of a side; and a wait for a receive is no wait for an answer. */
static void
test_told(void)
{
	struct story story = {.lines = g_string_new(NULL)};
	struct sim *sim RI_AT_END(sim_free) = sim_new(1, false);
	struct sim_qp *pair[2];
	const uint64_t *sender, *receiver;

	sim->filter = note;
	sim->arg = &story;
	for (int i = 0; i < 2; i++)
		pair[i] = sim_qp_new(sim, i, ROCE_RC);
	sender = sim->sides[0].engine.counts;
	receiver = sim->sides[1].engine.counts;
	life_begin(sim, pair, &story);
	for (unsigned gaps = 1; gaps <= 3; gaps++) {
		story.lose[0] = story.packets + 2;
		post(pair[0], gaps, RI_OP_RDMA_WRITE, 2048);
		sim_run(sim, STEP * 2);
		g_assert_cmpuint(receiver[VRO_GAPS], ==, gaps);
		g_assert_cmpuint(sender[VRO_PROBES], ==, 0);
	}
	pair[0]->qp.path.timeout = 8;    /* 1 ms, without a retry */
	pair[1]->qp.path.rnr_timer = 16; /* 2.56 ms */
	post(pair[0], 9, RI_OP_SEND, 100);
	sim_run(sim, roce_rnr_time(16) + STEP);
	g_assert_cmpuint(receiver[VRO_RNRS], ==, 2);
	sim_receive(pair[1], 1, 0, 100);
	sim_run(sim, AWAY);
	sim_poll(pair[0]);
	g_assert_cmpuint(sender[VRO_TIMEOUTS], ==, 0);
	g_assert_nonnull(strstr(pair[0]->sent->str, "9 RI_OP_SEND RI_WC_SUCCESS\n"));
	g_string_free(story.lines, TRUE);
}

/* Names the first line that differs. */
static void
same_lines(const char *is, const char *should_be)
{
	g_auto(GStrv) a = g_strsplit(is, "\n", -1);
	g_auto(GStrv) b = g_strsplit(should_be, "\n", -1);

	for (guint i = 0; a[i] != NULL && b[i] != NULL; i++)
		g_assert_cmpstr(a[i], ==, b[i]);
	g_assert_cmpuint(g_strv_length(a), ==, g_strv_length(b));
}

/* The second life of a pair is, packet for packet and at each moment, that of a new one. */
static void
test_second(void)
{
	static void (*const ends[])(struct sim * sim, struct sim_qp * pair[2],
				    struct story * story) = {
		ends_well,   ends_silent, ends_halted,        ends_absent,       ends_with_gap,
		ends_midway, ends_spent,  ends_sending_short, ends_sending_long, ends_asked,
	};
	g_autoptr(GString) first = g_string_new(NULL);

	for (unsigned how = 0; how <= G_N_ELEMENTS(ends); how++) {
		g_autoptr(GString) lines = g_string_new(NULL);
		struct story story = {.lines = lines};
		struct sim *sim RI_AT_END(sim_free) = sim_new(1, false);
		struct sim_qp *pair[2];

		sim->filter = note;
		sim->arg = &story;
		for (int i = 0; i < 2; i++)
			pair[i] = sim_qp_new(sim, i, ROCE_RC);
		for (unsigned i = 0; how > 0 && i < 2; i++) {
			life_begin(sim, pair, &story);
			ends[how - 1](sim, pair, &story);
			begin_again(sim, pair);
		}
		life_begin(sim, pair, &story);
		life(sim, pair, &story);
		if (how == 0)
			g_string_assign(first, lines->str);
		g_test_message("after end %u", how);
		same_lines(lines->str, first->str);
	}
	g_assert_nonnull(strstr(first->str, "5 RI_OP_RDMA_WRITE RI_WC_SUCCESS\n"));
}

/* --- old age ---------------------------------------------------------------------------------- */

#define FAR_BEHIND 0x7fffe0u /* numbers: a little less than half of them */

/* As after many messages: only counters show them. */
static void
grow_old(struct sim_qp *q)
{
	struct vro_requester *tx = &q->qp.tx;

	/* As after 2^32 packets, and after 2^23 without a loss or a long message. */
	q->qp.rx.executed = UINT32_MAX - 20;
	tx->window_end = (tx->una - FAR_BEHIND) & ROCE_24;
	tx->long_end = (tx->una - FAR_BEHIND) & ROCE_24;
	/* Indices run freely: they wrap in the middle of what follows. */
	g_assert_cmpuint(tx->oldest, ==, tx->taken);
	q->qp.rx.asked = q->qp.rx.answered = 0u - 2 * VRO_ANSWERS + VRO_ANSWERS;
}

/* A pair in its old age does, packet for packet, what a young one does. */
static void
test_old(void)
{
	g_autoptr(GString) young = g_string_new(NULL);

	for (int old = 0; old < 2; old++) {
		g_autoptr(GString) lines = g_string_new(NULL);
		struct story story = {.lines = lines};
		struct sim *sim RI_AT_END(sim_free) = sim_new(1, false);
		struct sim_qp *pair[2];

		sim->filter = note;
		sim->arg = &story;
		for (int i = 0; i < 2; i++)
			pair[i] = sim_qp_new(sim, i, ROCE_RC);
		life_begin(sim, pair, &story);
		for (int i = 0; old != 0 && i < 2; i++)
			grow_old(pair[i]);
		/* What comes again after many packets is acknowledged again, also behind the border of what the counter can count. */
		for (unsigned i = 1; i <= 3; i++) {
			story.lose[0] = story.packets + 34;
			post(pair[0], i, RI_OP_RDMA_WRITE, 8192);
			sim_run(sim, AWAY);
		}
		life(sim, pair, &story);
		if (old == 0)
			g_string_assign(young, lines->str);
		same_lines(lines->str, young->str);
	}
	g_assert_nonnull(strstr(young->str, "5 RI_OP_RDMA_WRITE RI_WC_SUCCESS\n"));
}

/* A place in the ring of answers that is used again owes nothing of the answer that it had, which was due again. */
static void
test_place_again(void)
{
	struct sim *sim RI_AT_END(sim_free) = sim_new(1, false);
	const uint64_t *counts = sim->sides[1].engine.counts;
	struct vro_responding *rx;
	struct sim_qp *pair[2];
	uint64_t before;

	sim_pair(sim, ROCE_RC, 256, 7, 9, pair);
	rx = &pair[1]->qp.rx;
	post(pair[0], 1, RI_OP_RDMA_READ, 600);
	sim_run(sim, AWAY);
	/* What comes again while the link is full, and stays due while the others of the ring are answered. */
	rx->answers[0].from = rx->answers[0].again = 1;
	rx->answers[0].end = 3;
	rx->again = 1;
	rx->asked = rx->answered = VRO_ANSWERS;
	before = counts[VRO_PACKETS_OUT];
	post(pair[0], 2, RI_OP_RDMA_READ, 8);
	sim_run(sim, AWAY);
	sim_poll(pair[0]);
	g_assert_nonnull(strstr(pair[0]->sent->str, "2 RI_OP_RDMA_READ RI_WC_SUCCESS\n"));
	g_assert_cmpuint(counts[VRO_PACKETS_OUT], ==, before + 1);
	g_assert_cmpuint(rx->again, ==, 0);
}

/* What the peer repeats is acknowledged again, however far behind, also after 2^32 packets. */
static void
test_far_behind(void)
{
	struct sim *sim RI_AT_END(sim_free) = sim_new(1, false);
	const uint64_t *counts = sim->sides[1].engine.counts;
	struct roce_packet p = {.opcode = ROCE_RC | ROCE_SEND_ONLY, .pkey = ROCE_PKEY};
	struct vro_responding *rx;
	struct sim_qp *pair[2];

	sim_pair(sim, ROCE_RC, 256, 7, 9, pair);
	rx = &pair[1]->qp.rx;
	rx->executed = UINT32_MAX - 1;
	post(pair[0], 1, RI_OP_RDMA_WRITE, 768);
	sim_run(sim, AWAY);
	for (uint32_t behind = 1; behind <= 0x7fffff; behind = 2 * behind + 1) {
		uint64_t before = counts[VRO_DUPLICATES];

		p.psn = (rx->psn - behind) & ROCE_24;
		vro_responder_packet(&pair[1]->qp, &p);
		vro_engine_flush(&sim->sides[1].engine);
		g_assert_cmpuint(counts[VRO_DUPLICATES], ==, before + 1);
	}
	sim_run(sim, AWAY);
}

/* --- every octet ------------------------------------------------------------------------------ */

#define STAYS 1u /* the reset needs it, or leaves it to the owner of the queue pair */
#define OWN \
	2u /* is another one in each queue pair, or means nothing before it is set: not compared */

#define MEMBER(name, how) VSW_MEMBER(vro_qp, name, how)

static const struct vsw_member members[] = {
	/* The owner's. */
	MEMBER(in, STAYS | OWN),
	MEMBER(engine, STAYS | OWN),
	MEMBER(ops, STAYS | OWN),
	MEMBER(transport, STAYS),
	MEMBER(state, STAYS),
	MEMBER(privileged, STAYS),
	MEMBER(awaited, STAYS),
	MEMBER(qpn, STAYS),
	MEMBER(qkey, STAYS),
	MEMBER(path, STAYS),
	MEMBER(timer, STAYS | OWN),
	/* The engine's lists; what the program used to do, which a new connection need not change; counters. */
	{offsetof(struct vro_qp, next), sizeof(struct vro_qp) - offsetof(struct vro_qp, next),
	 STAYS | OWN},
	/* The send queue, which the end has flushed. */
	MEMBER(tx.sq, STAYS | OWN),
	MEMBER(tx.cq, STAYS | OWN),
	MEMBER(tx.requests, STAYS | OWN),
	MEMBER(tx.stride, STAYS),
	MEMBER(tx.mask, STAYS),
	MEMBER(tx.oldest, STAYS | OWN),
	MEMBER(tx.current, STAYS | OWN),
	MEMBER(tx.taken, STAYS | OWN),
	MEMBER(tx.at, STAYS),
	/* Of a wait, an absence, or a packet under way. */
	MEMBER(tx.rnr_until, OWN),
	MEMBER(tx.absent_at, OWN),
	MEMBER(tx.since, OWN),
	MEMBER(alive.heard, OWN),
};

static const struct vsw_members table = {"vro_qp", sizeof(struct vro_qp), members,
					 G_N_ELEMENTS(members)};

static void
copy_take(struct vro_qp *copy, const struct vro_qp *qp)
{
	*copy = *qp;
	VSW_CLEAR_PADDING(copy);
}

/* Nothing in a pair that was reset and connected again is different from a new one. */
static void
test_octets(void)
{
	static struct vro_qp fresh[2], used[2];
	g_autoptr(GString) lines = g_string_new(NULL);
	struct story story = {.lines = lines};

	if (!VSW_KNOWS_PADDING) {
		g_test_skip("this compiler does not say where the padding of a struct is");
		return;
	}
	for (int with = -1; with <= 1; with++) {
		struct sim *sim RI_AT_END(sim_free) = sim_new(1, false);
		struct sim_qp *pair[2];

		sim->filter = note;
		sim->arg = &story;
		for (int i = 0; i < 2; i++)
			pair[i] = sim_qp_new(sim, i, ROCE_RC);
		life_begin(sim, pair, &story);
		if (with >= 0) {
			life(sim, pair, &story);
			for (int i = 0; i < 2; i++) {
				vro_qp_to_error(&pair[i]->qp);
				vro_qp_kick(&pair[i]->qp);
			}
			sim_run(sim, AWAY);
			for (int i = 0; i < 2; i++) {
				sim_poll(pair[i]);
				vsw_octets_fill(&table, &pair[i]->qp, STAYS, (uint8_t)with);
				vro_qp_to_reset(&pair[i]->qp);
				pair[i]->qp.state = VRO_INIT;
			}
			life_begin(sim, pair, &story);
		}
		for (int i = 0; i < 2; i++) {
			copy_take(with < 0 ? &fresh[i] : &used[i], &pair[i]->qp);
			if (with >= 0)
				vsw_octets_same(&table, &fresh[i], &used[i], OWN);
		}
	}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/roce/lives/patience", test_patience);
	g_test_add_func("/roce/lives/leaves-full", test_leaves_full);
	g_test_add_func("/roce/lives/told", test_told);
	g_test_add_func("/roce/lives/second", test_second);
	g_test_add_func("/roce/lives/old", test_old);
	g_test_add_func("/roce/lives/far-behind", test_far_behind);
	g_test_add_func("/roce/lives/place-again", test_place_again);
	g_test_add_func("/roce/lives/octets", test_octets);
	return g_test_run();
}
