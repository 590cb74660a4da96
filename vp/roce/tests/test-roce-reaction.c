/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The negative vectors, sent to queue pairs in the state that each vector names: a packet that must
 * be dropped changes nothing, and one that must be refused is answered with the vector's NAK.
 * Packets about connection management are left out here.
 */
#include "vectors.h"

#include <string.h>

#include "vro_sim.h"

#define QPN    0x020022u
#define PSN    0x900u
#define KEY    0x1234u /* of the vectors, for 4096 octets at 0x1000; here the end of the memory */
#define REGION 0x1000u

/* What the queue pair has sent. */
struct answers {
	guint count;
	struct roce_packet last;
};

static bool
answer_note(struct sim *sim, int from, const struct roce_packet *p)
{
	struct answers *answers = sim->arg;

	if (from == 1) {
		answers->count++;
		answers->last = *p;
	}
	return true;
}

static struct sim *
receiver_new(struct sim_qp **q, struct answers *answers, enum roce_transport transport)
{
	struct sim *sim = sim_new(1, false);
	struct sim_qp *peer = sim_qp_new(sim, 0, transport);

	memset(answers, 0, sizeof(*answers));
	*q = sim_qp_new(sim, 1, transport);
	(*q)->qp.qpn = QPN;
	sim_path(*q, peer, 256);
	vro_qp_to_rtr(&(*q)->qp, PSN);
	vro_qp_to_rts(&(*q)->qp, 0x500);
	sim_receive(*q, 1, 0, transport == ROCE_UD ? 104 : 64);
	sim->filter = answer_note;
	sim->arg = answers;
	return sim;
}

/* The packet of a vector, with the key and the addresses of this memory in place of those of the vectors. */
static void
play(struct sim_qp *q, const struct vector *v)
{
	struct vro_engine *engine = &q->side->engine;
	struct roce_flow flow;
	struct roce_packet p;
	const uint8_t *octets;
	uint8_t own[1024];
	size_t len;

	if (roce_ip_read(v->octets, v->len, &flow, &octets, &len) != ROCE_OK) {
		engine->faults[ROCE_IP]++;
		return;
	}
	g_assert_cmpuint(len, <=, sizeof(own));
	memcpy(own, octets, len);
	if (roce_packet_read(own, len, &p) == ROCE_OK &&
	    (roce_parts(p.opcode) & (ROCE_HAS_RETH | ROCE_HAS_ATOMIC)) != 0 && p.rkey == KEY &&
	    roce_icrc_check(&flow, false, own, len)) {
		p.rkey = q->side->stag;
		if (p.va < UINT64_C(1) << 32)
			p.va += (uint64_t)(uintptr_t)q->side->memory + SIM_ROOM - 2 * REGION;
		(void)roce_packet_write(own, &p);
		(void)roce_icrc_seal(&flow, own, len - ROCE_ICRC);
	}
	vro_engine_packet(engine, &flow, false, own, len);
	vro_engine_flush(engine);
}

static uint64_t
dropped(const struct sim_qp *q)
{
	uint64_t sum = 0;

	for (int i = 1; i < ROCE_FAULT_COUNT; i++)
		sum += q->side->engine.faults[i];
	return sum;
}

static void
silent(void)
{
	struct vectors *all RI_AT_END(vectors_free) = vectors_load("roce-negative.json");
	guint played = 0;

	for (guint i = 0; i < vectors_count(all); i++) {
		const struct vector *v = vectors_at(all, i);
		struct answers answers;
		struct sim_qp *q;
		struct sim *sim;

		if (!g_str_equal(v->connection, "silent"))
			continue;
		sim = receiver_new(&q, &answers, ROCE_RC);
		play(q, v);
		sim_run(sim, 1000000);
		sim_poll(q);
		g_test_message("%s", v->name);
		g_assert_cmpuint(answers.count, ==, 0);
		g_assert_cmpstr(q->received->str, ==, "");
		g_assert_cmpint(q->qp.state, ==, VRO_RTS);
		g_assert_cmphex(q->qp.rx.psn, ==, PSN);
		g_assert_true((dropped(q) == 1) == g_str_has_prefix(v->expect, "drop"));
		sim_free(&sim);
		played++;
	}
	g_assert_cmpuint(played, ==, 22);
}

/* Does the text name this NAK? "(0x61)", or in words. */
static bool
names_nak(const char *expect, uint8_t syndrome)
{
	g_autofree char *code = g_strdup_printf("(0x%02x)", syndrome);

	if (strstr(expect, "remote access") != NULL && syndrome == ROCE_NAK_ACCESS)
		return true;
	return strstr(expect, code) != NULL;
}

static void
fatal(void)
{
	struct vectors *all RI_AT_END(vectors_free) = vectors_load("roce-negative.json");
	guint played = 0;

	for (guint i = 0; i < vectors_count(all); i++) {
		const struct vector *v = vectors_at(all, i);
		g_autofree guint8 *before = NULL;
		struct answers answers;
		struct sim_qp *q;
		struct sim *sim;

		if (!g_str_equal(v->connection, "fatal"))
			continue;
		sim = receiver_new(&q, &answers, ROCE_RC);
		before = g_memdup2(q->side->memory + 64, SIM_ROOM - 64);
		if (g_str_equal(v->name, "read-beyond-responder-resources"))
			atomic_store(&q->qp.in.ird, 0);
		play(q, v);
		g_test_message("%s: %02x", v->name, answers.last.syndrome);
		g_assert_cmpuint(answers.count, ==, 1);
		g_assert_cmphex(answers.last.opcode, ==, ROCE_ACK);
		g_assert_cmphex(answers.last.psn, ==, PSN);
		g_assert_true(names_nak(v->expect, answers.last.syndrome));
		g_assert_cmpint(q->qp.state, ==, VRO_ERROR);
		g_assert_cmpuint(q->failures, ==, 1);
		g_assert_cmpmem(before, SIM_ROOM - 64, q->side->memory + 64, SIM_ROOM - 64);
		sim_poll(q);
		g_assert_cmpstr(q->received->str, ==,
				g_str_equal(v->name, "send-too-long")
					? "1 RI_OP_RECV RI_WC_LOCAL_LENGTH\n"
				: g_str_equal(v->name, "inv-unknown")
					? "1 RI_OP_RECV RI_WC_LOCAL_INVALIDATE\n"
					: "1 RI_OP_RECV RI_WC_FLUSHED\n");
		sim_free(&sim);
		played++;
	}
	g_assert_cmpuint(played, ==, 18);
}

/* In order, but for the duplicates, which must not disturb. */
static void
sequence(void)
{
	struct vectors *all RI_AT_END(vectors_free) = vectors_load("roce-negative.json");
	struct answers answers;
	struct sim_qp *q;
	struct sim *sim = receiver_new(&q, &answers, ROCE_RC);
	const char *group = "sequence";

	play(q, vectors_find(all, group, "gap"));
	g_assert_cmpuint(answers.count, ==, 1);
	g_assert_cmphex(answers.last.syndrome, ==, ROCE_NAK_SEQUENCE);
	g_assert_cmphex(answers.last.psn, ==, PSN);
	play(q, vectors_find(all, group, "gap-again"));
	g_assert_cmpuint(answers.count, ==, 1);
	/* Nothing has ever come here, so it is no duplicate; but the number before the first one asks whether we live. */
	q->qp.rx.psn = PSN + 1;
	play(q, vectors_find(all, group, "old"));
	g_assert_cmpuint(answers.count, ==, 1);
	q->qp.rx.executed = 2;
	play(q, vectors_find(all, group, "old"));
	g_assert_cmpuint(answers.count, ==, 2);
	answers.count = 1;
	q->qp.rx.psn = PSN;
	q->qp.rx.executed = 0;
	play(q, vectors_find(all, group, "old"));
	g_assert_cmpuint(answers.count, ==, 2);
	g_assert_cmphex(answers.last.syndrome, ==, 0x1f);
	g_assert_cmphex(answers.last.psn, ==, PSN - 1);
	g_assert_cmphex(q->qp.rx.psn, ==, PSN);
	sim_free(&sim);
	/* A message within another one; the receive has room for the first packet. */
	sim = receiver_new(&q, &answers, ROCE_RC);
	sim_poll(q);
	q->qp.in.rq.next++; /* the small receive is not used here */
	sim_receive(q, 2, 1024, 1024);
	play(q, vectors_find(all, group, "first"));
	g_assert_cmphex(q->qp.rx.psn, ==, PSN + 1);
	/* 2^23 behind the number that is expected now, and so ahead of it. */
	play(q, vectors_find(all, group, "very-old"));
	g_assert_cmphex(answers.last.syndrome, ==, ROCE_NAK_SEQUENCE);
	g_assert_cmphex(answers.last.psn, ==, PSN + 1);
	play(q, vectors_find(all, group, "first-after-first"));
	g_assert_cmphex(answers.last.syndrome, ==, ROCE_NAK_INVALID);
	g_assert_cmphex(answers.last.psn, ==, PSN + 1);
	g_assert_cmpint(q->qp.state, ==, VRO_ERROR);
	sim_free(&sim);
}

static void
datagrams(void)
{
	static const char *const names[] = {"qkey-wrong", "ud-too-long", "ud-first"};
	struct vectors *all RI_AT_END(vectors_free) = vectors_load("roce-negative.json");

	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		struct answers answers;
		struct sim_qp *q;
		struct sim *sim RI_AT_END(sim_free) = receiver_new(&q, &answers, ROCE_UD);

		play(q, vectors_find(all, "ud", names[i]));
		sim_poll(q);
		g_assert_cmpstr(q->received->str, ==, "");
		g_assert_cmpint(q->qp.state, ==, VRO_RTS);
		g_assert_cmpuint(dropped(q) + q->side->engine.counts[VRO_DROPPED], ==, 1);
	}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/roce/reaction/silent", silent);
	g_test_add_func("/roce/reaction/fatal", fatal);
	g_test_add_func("/roce/reaction/sequence", sequence);
	g_test_add_func("/roce/reaction/datagrams", datagrams);
	return g_test_run();
}
