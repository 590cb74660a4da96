/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The carrier that takes time, on virtual time: when messages arrive, what is placed when, and how they end. */
#include <string.h>

#include "vem.h"
#include "vem_node.h"
#include "vem_path.h"
#include "vem_wire.h"

#define DELAY_US "100"
#define DELAY    UINT64_C(100000) /* ns */
#define LEN      1000

static void
ends_up(struct ends *p, const char *adapter, const char *freedoms)
{
	g_setenv("ITAPI_EMUL_WIRE_US", DELAY_US, TRUE);
	if (freedoms != NULL)
		g_setenv("ITAPI_EMUL_FREEDOMS", freedoms, TRUE);
	ends_open(p, adapter);
	ends_fill(p, NULL, NULL, 8192, ALL_RW);
	ends_connect(p->a, p->b);
	chunk_fill(&p->ma, 1);
	g_unsetenv("ITAPI_EMUL_WIRE_US");
	g_unsetenv("ITAPI_EMUL_FREEDOMS");
}

static void
write_len(struct ends *p, uint64_t id, uint32_t len)
{
	g_assert_cmpint(end_write(p->a, id, &p->ma, &p->mb, len), ==, RI_SUCCESS);
}

static uint32_t
poll_any(struct ri_ucq *cq, struct ri_wc *wc)
{
	return vem_provider_entry()->fast->poll_cq(cq, wc, 1);
}

/* How many of the first octets at the target are those of the source. */
static unsigned
placed(const struct ends *p, unsigned len)
{
	unsigned count = 0;

	for (unsigned i = 0; i < len; i++)
		count += p->mb.at[i] == p->ma.at[i] && p->ma.at[i] != 0;
	return count;
}

static unsigned
nonzero(const struct ends *p, unsigned len)
{
	unsigned count = 0;

	for (unsigned i = 0; i < len; i++)
		count += p->ma.at[i] != 0;
	return count;
}

/* A message arrives after a delay, and not before; its request completes after that. */
static void
test_delay(gconstpointer adapter)
{
	struct ends p RI_AT_END(ends_close);
	struct ri_sge from, to;

	ends_up(&p, adapter, NULL);
	from = chunk_sge(&p.ma, 0, LEN);
	to = chunk_sge(&p.mb, 0, LEN);
	post_recv(p.b, 1, &to);
	post_send(p.a, 2, &from, 0);
	vth_run(p.vth);
	poll_none(p.b->urcq);
	poll_none(p.a->uscq);
	g_assert_cmpuint(placed(&p, LEN), ==, 0);
	vth_advance(p.vth, DELAY + 1);
	poll_one(p.b->urcq, 1, RI_WC_SUCCESS);
	poll_one(p.a->uscq, 2, RI_WC_SUCCESS);
	g_assert_cmpmem(p.ma.at, LEN, p.mb.at, LEN);
}

/* Over InfiniBand the completion of a Write comes after all of it is placed. */
static void
test_acknowledged(void)
{
	struct ends p RI_AT_END(ends_close);

	ends_up(&p, "emul:ib", "all");
	for (unsigned round = 0; round < 50; round++) {
		struct ri_wc wc;
		unsigned steps = 0;

		memset(p.mb.at, 0, LEN);
		write_len(&p, round, LEN);
		while (poll_any(p.a->uscq, &wc) == 0) {
			g_assert_cmpuint(steps++, <, 20000);
			vth_advance(p.vth, 1000);
		}
		g_assert_cmpint(wc.status, ==, RI_WC_SUCCESS);
		g_assert_cmpmem(p.ma.at, LEN, p.mb.at, LEN);
	}
}

/* With the freedom to complete early, a Write over iWARP is complete before it is placed, in some rounds; and it arrives. */
static void
test_early(void)
{
	unsigned early = 0, partly = 0;
	struct ends p RI_AT_END(ends_close);

	ends_up(&p, "emul:iwarp", "pieces,order,early,late");
	for (unsigned round = 0; round < 50; round++) {
		struct ri_wc wc;

		memset(p.mb.at, 0, LEN);
		write_len(&p, round, LEN);
		early += poll_any(p.a->uscq, &wc) == 1 && placed(&p, LEN) == 0;
		for (unsigned steps = 0; placed(&p, LEN) < nonzero(&p, LEN); steps++) {
			g_assert_cmpuint(steps, <, 20000);
			vth_advance(p.vth, 1000);
			partly += placed(&p, LEN) > 0 && placed(&p, LEN) < nonzero(&p, LEN) / 2;
		}
		vth_advance(p.vth, 20 * DELAY);
		while (poll_any(p.a->uscq, &wc) == 1)
			g_assert_cmpint(wc.status, ==, RI_WC_SUCCESS);
	}
	g_assert_cmpuint(early, >, 5);
	g_assert_cmpuint(early, <, 45);
	g_assert_cmpuint(partly, >, 0);
}

/* In pieces, in order, nothing is placed behind what is not; with "order" it is, in some rounds. */
static unsigned
count_gaps(const char *freedoms)
{
	unsigned gaps = 0;
	struct ends p RI_AT_END(ends_close);

	ends_up(&p, "emul:ib", freedoms);
	memset(p.ma.at, 1, LEN);
	for (unsigned round = 0; round < 50; round++) {
		struct ri_wc wc;

		memset(p.mb.at, 0, LEN);
		write_len(&p, round, LEN);
		for (unsigned steps = 0; placed(&p, LEN) < LEN; steps++) {
			g_assert_cmpuint(steps, <, 20000);
			vth_advance(p.vth, 1000);
			gaps += p.mb.at[0] == 0 && p.mb.at[LEN - 1] != 0;
		}
		vth_advance(p.vth, 2 * DELAY);
		g_assert_cmpuint(poll_any(p.a->uscq, &wc), ==, 1);
	}
	return gaps;
}

static void
test_order(void)
{
	g_assert_cmpuint(count_gaps("pieces"), ==, 0);
	g_assert_cmpuint(count_gaps("pieces order"), >, 0);
}

/* A Send behind a Write says that the Write is in place. */
static void
test_write_then_send(gconstpointer adapter)
{
	struct ends p RI_AT_END(ends_close);

	ends_up(&p, adapter, "all");
	for (unsigned round = 0; round < 50; round++) {
		struct ri_wc wc;
		unsigned steps = 0;

		memset(p.mb.at, 0, LEN);
		post_recv(p.b, 1, NULL);
		write_len(&p, 2, LEN);
		post_send(p.a, 3, NULL, 0);
		while (poll_any(p.b->urcq, &wc) == 0) {
			g_assert_cmpuint(steps++, <, 20000);
			vth_advance(p.vth, 1000);
		}
		g_assert_cmpmem(p.ma.at, LEN, p.mb.at, LEN);
		while (poll_any(p.a->uscq, &wc) == 1)
			g_assert_cmpint(wc.status, ==, RI_WC_SUCCESS);
	}
}

/* How often a Send is delivered and not complete. The Send behind it completes after it, and each once. */
static unsigned
count_answers(const char *adapter, const char *freedoms)
{
	unsigned later = 0;
	struct ends p RI_AT_END(ends_close);

	ends_up(&p, adapter, freedoms);
	for (unsigned round = 0; round < 40; round++) {
		unsigned steps = 0, complete = 0;
		struct ri_wc wc;

		post_recv(p.b, 1, NULL);
		post_recv(p.b, 2, NULL);
		post_send(p.a, 11, NULL, 0);
		post_send(p.a, 12, NULL, 0);
		while (poll_any(p.b->urcq, &wc) == 0) {
			g_assert_cmpuint(steps++, <, 20000);
			vth_advance(p.vth, 1000);
		}
		if (poll_any(p.a->uscq, &wc) == 0)
			later++;
		else
			g_assert_cmpuint(wc.wr_id, ==, 11 + complete++);
		for (steps = 0; complete < 2; steps++) {
			g_assert_cmpuint(steps, <, 20000);
			vth_advance(p.vth, 1000);
			if (poll_any(p.a->uscq, &wc) == 0)
				continue;
			g_assert_cmpint(wc.status, ==, RI_WC_SUCCESS);
			g_assert_cmpuint(wc.wr_id, ==, 11 + complete++);
		}
		vth_advance(p.vth, 10 * DELAY);
		g_assert_cmpuint(poll_any(p.a->uscq, &wc), ==, 0);
		g_assert_cmpuint(poll_any(p.b->urcq, &wc), ==, 1);
	}
	return later;
}

static void
test_answer(void)
{
	unsigned later = count_answers("emul:ib", "answer");

	g_assert_cmpuint(later, >, 5);
	g_assert_cmpuint(later, <, 35);
	g_assert_cmpuint(count_answers("emul:ib", "pieces"), ==, 0);
	g_assert_cmpuint(count_answers("emul:iwarp", "answer"), ==, 0);
}

/* The peer ends the connection when it has the message: the Send is complete, and nothing is flushed. One that finds no room fails once. */
static void
test_answer_ends(void)
{
	unsigned later = 0;

	/* Each Send takes the freedom or does not. */
	for (unsigned round = 0; round < 20 || later <= 2; round++) {
		bool small = round % 2 != 0;
		struct ends p RI_AT_END(ends_close);
		struct ri_wc wc;

		g_assert_cmpuint(round, <, 400);
		ends_up(&p, "emul:ib", "answer");
		struct ri_sge sge = chunk_sge(&p.ma, 0, 8);

		post_recv(p.b, 1, NULL);
		post_send(p.a, 11, small ? &sge : NULL, 0);
		for (unsigned steps = 0; poll_any(p.b->urcq, &wc) == 0; steps++) {
			g_assert_cmpuint(steps, <, 20000);
			vth_advance(p.vth, 1000);
		}
		later += poll_any(p.a->uscq, &wc) == 0;
		if (!small)
			(void)!end_modify(p.b, RI_QPS_ERROR);
		vth_advance(p.vth, 20 * DELAY);
		while (poll_any(p.a->uscq, &wc) == 1)
			g_assert_cmpint(wc.status, ==,
					small ? RI_WC_REMOTE_INVALID_REQ : RI_WC_SUCCESS);
		node_forget(p.na);
		node_forget(p.nb);
	}
}

/* The region of the target is revoked when a part of a Write has arrived: it gets no octet of the rest, and the Write fails. */
static void
test_revoked(void)
{
	unsigned partly = 0;

	for (unsigned round = 0; round < 20; round++) {
		struct ends p RI_AT_END(ends_close);
		unsigned before;
		struct ri_wc wc;

		ends_up(&p, "emul:ib", "pieces");
		memset(p.ma.at, 1, LEN);
		write_len(&p, 1, LEN);
		for (unsigned steps = 0; placed(&p, LEN) == 0; steps++) {
			g_assert_cmpuint(steps, <, 20000);
			vth_advance(p.vth, 1000);
		}
		before = placed(&p, LEN);
		atomic_store(&end_qp(p.b)->in.access, 0); /* the right to write is taken */
		vth_advance(p.vth, 20 * DELAY);
		g_assert_cmpuint(placed(&p, LEN), ==, before);
		g_assert_cmpuint(poll_any(p.a->uscq, &wc), ==, 1);
		g_assert_cmpint(wc.status, ==, before < LEN ? RI_WC_REMOTE_ACCESS : RI_WC_SUCCESS);
		partly += before < LEN;
		node_forget(p.na);
		node_forget(p.nb);
	}
	g_assert_cmpuint(partly, >, 0);
}

/* A Write beyond the bounds of its target places nothing, whichever part would come first. */
static void
test_bounds(gconstpointer adapter)
{
	for (unsigned round = 0; round < 20; round++) {
		struct chunk beyond;
		struct ends p RI_AT_END(ends_close);
		struct ri_wc wc;

		ends_up(&p, adapter, "pieces,order");
		memset(p.ma.at, 1, LEN);
		beyond = p.mb;
		beyond.at += 8192 - LEN / 2;
		g_assert_cmpint(end_write(p.a, 1, &p.ma, &beyond, LEN), ==, RI_SUCCESS);
		vth_advance(p.vth, 20 * DELAY);
		for (unsigned i = 0; i < 8192; i++)
			g_assert_cmpuint(p.mb.at[i], ==, 0);
		while (poll_any(p.a->uscq, &wc) == 1)
			continue;
		node_forget(p.na);
		node_forget(p.nb);
	}
}

/* The queue pair is destroyed with messages under way: no timer, no octet and no completion comes afterwards. */
static void
test_destroyed(gconstpointer adapter)
{
	for (unsigned round = 0; round < 20; round++) {
		struct ends p RI_AT_END(ends_close);

		ends_up(&p, adapter, "all");
		write_len(&p, 1, LEN);
		write_len(&p, 2, LEN);
		vth_advance(p.vth, round * 9000);
	}
}

/* --- paths -------------------------------------------------------------------------------- */

static void
paths_name(struct ends *p)
{
	g_assert_null(node_path(p->na, "name a"));
	g_assert_null(node_path(p->nb, "name b"));
}

static void
paths_set(struct ends *p, const char *how)
{
	g_autofree char *there = g_strdup_printf("path b %s", how);
	g_autofree char *back = g_strdup_printf("path a %s", how);

	g_assert_null(node_path(p->na, there));
	g_assert_null(node_path(p->nb, back));
}

/* A pair whose adapters have names, which each end knows of the other. */
static void
named_pair_up(struct ends *p, const char *adapter, const char *freedoms)
{
	ends_up(p, adapter, freedoms);
	paths_name(p);
	vem_wire_pair(end_qp(p->a), end_qp(p->b));
}

/* While the path holds, nothing arrives, however long; then all does, and the connection is good. */
static void
test_hold(gconstpointer adapter)
{
	static const char *const ways[] = {"hold", "cut"};

	for (unsigned i = 0; i < 2; i++) {
		struct ri_wc wc;
		struct ends p RI_AT_END(ends_close);

		named_pair_up(&p, adapter, "pieces");
		memset(p.ma.at, 1, LEN);
		paths_set(&p, ways[i]);
		write_len(&p, 1, LEN);
		vth_advance(p.vth, i == 0 ? UINT64_C(1000) * 1000000000 : 400000000);
		g_assert_cmpuint(placed(&p, LEN), ==, 0);
		paths_set(&p, "open");
		vth_advance(p.vth, 20 * DELAY);
		g_assert_cmpuint(placed(&p, LEN), ==, LEN);
		g_assert_cmpuint(poll_any(p.a->uscq, &wc), ==, 1);
		g_assert_cmpint(wc.status, ==, RI_WC_SUCCESS);
	}
}

/* A message that was repeated for too long breaks its connection, at the side that sends; the other does not know. */
static void
test_cut(gconstpointer adapter)
{
	const bool ib = strcmp(adapter, "emul:ib") == 0;
	const uint64_t patience = ib ? UINT64_C(536870912) : UINT64_C(100) * 1000000000;
	struct ri_wc wc;
	struct ri_sge from;
	struct ends p RI_AT_END(ends_close);

	named_pair_up(&p, adapter, NULL);
	from = chunk_sge(&p.ma, 0, LEN);
	paths_set(&p, "cut");
	post_send(p.a, 1, &from, 0);
	vth_advance(p.vth, patience - DELAY);
	g_assert_cmpuint(poll_any(p.a->uscq, &wc), ==, 0);
	vth_advance(p.vth, 3 * DELAY);
	g_assert_cmpuint(poll_any(p.a->uscq, &wc), ==, 1);
	g_assert_cmpint(wc.status, ==, ib ? RI_WC_TRANSPORT : RI_WC_FLUSHED);
	g_assert_cmpuint(atomic_load(&end_qp(p.b)->state), ==, RI_QPS_RTS);
	paths_set(&p, "open");
	vth_advance(p.vth, DELAY);
	g_assert_cmpuint(atomic_load(&end_qp(p.b)->state), !=, RI_QPS_RTS);
	node_forget(p.na);
	node_forget(p.nb);
}

/* Each cut has its own patience: a path that opens in time, again and again, breaks no connection. */
static void
test_cut_again(gconstpointer adapter)
{
	const bool ib = strcmp(adapter, "emul:ib") == 0;
	const uint64_t patience = ib ? UINT64_C(536870912) : UINT64_C(100) * 1000000000;
	struct ri_wc wc;
	struct ends p RI_AT_END(ends_close);

	named_pair_up(&p, adapter, "late");
	for (unsigned round = 0; round < 4; round++) {
		paths_set(&p, "cut");
		write_len(&p, round, LEN);
		vth_advance(p.vth, patience - 20 * DELAY);
		g_assert_cmpuint(atomic_load(&end_qp(p.a)->state), ==, RI_QPS_RTS);
		paths_set(&p, "open");
		vth_advance(p.vth, 20 * DELAY);
		g_assert_cmpuint(poll_any(p.a->uscq, &wc), ==, 1);
		g_assert_cmpint(wc.status, ==, RI_WC_SUCCESS);
		g_assert_cmpuint(placed(&p, LEN), ==, nonzero(&p, LEN));
	}
}

/* A part is placed; then the path is cut, and what has completed already is never placed, since its sender ends. */
static void
test_cut_inside(void)
{
	unsigned partly = 0;

	for (unsigned round = 0; round < 20; round++) {
		struct ri_wc wc;
		struct ends p RI_AT_END(ends_close);
		unsigned before;

		named_pair_up(&p, "emul:iwarp", "pieces,early");
		memset(p.ma.at, 1, LEN);
		write_len(&p, 1, LEN);
		for (unsigned steps = 0; placed(&p, LEN) == 0; steps++) {
			g_assert_cmpuint(steps, <, 20000);
			vth_advance(p.vth, 1000);
		}
		before = placed(&p, LEN);
		paths_set(&p, "cut");
		vth_advance(p.vth, UINT64_C(200) * 1000000000);
		g_assert_cmpuint(placed(&p, LEN), ==, before);
		partly += before < LEN && poll_any(p.a->uscq, &wc) == 1;
		node_forget(p.na);
		node_forget(p.nb);
	}
	g_assert_cmpuint(partly, >, 0);
}

/* What a path adds. */
static void
test_path_delay(void)
{
	struct ri_wc wc;
	struct ends p RI_AT_END(ends_close);

	named_pair_up(&p, "emul:ib", NULL);
	memset(p.ma.at, 1, LEN);
	paths_set(&p, "delay 5000 6000");
	write_len(&p, 1, LEN);
	vth_advance(p.vth, 5000000);
	g_assert_cmpuint(placed(&p, LEN), ==, 0);
	vth_advance(p.vth, 1000000 + DELAY);
	g_assert_cmpuint(placed(&p, LEN), ==, LEN);
	g_assert_cmpuint(poll_any(p.a->uscq, &wc), ==, 0);
	vth_advance(p.vth, 6000000 + DELAY);
	g_assert_cmpuint(poll_any(p.a->uscq, &wc), ==, 1);
}

static void
test_path_words(void)
{
	static const char *const wrong[] = {"name",          "name a b",         "name a.b",
					    "path",          "path b",           "path b shut",
					    "path b open 1", "path b delay 5",   "path b delay 6 5",
					    "path b drop",   "path b drop 101",  "path b drop x",
					    "tell",          "tell messages now"};
	struct vth *vth = vth_new(false);
	struct node *node = node_new(vth, false, "emul:ib");
	struct ends p RI_AT_END(ends_close);

	g_assert_nonnull(strstr(node_path(node, "path b cut"), "ITAPI_EMUL_WIRE_US"));
	node_free(&node);
	vth_free(&vth);
	ends_up(&p, "emul:ib", NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++)
		g_assert_nonnull(node_path(p.na, wrong[i]));
	for (unsigned i = 0; i < VEM_PATHS; i++) {
		g_autofree char *text = g_strdup_printf("path peer%u hold", i);

		g_assert_null(node_path(p.na, text));
	}
	g_assert_cmpstr(node_path(p.na, "path other hold"), ==, "too many paths");
	g_assert_null(node_path(p.na, "path peer7 open"));
}

static void
test_words(void)
{
	struct vth *vth RI_AT_END(vth_free) = vth_new(false);
	struct node *node;

	g_setenv("ITAPI_EMUL_WIRE_US", DELAY_US, TRUE);
	g_setenv("ITAPI_EMUL_FREEDOMS", "pieces, oder", TRUE);
	node = node_new(vth, false, "emul:ib");
	g_assert_true(vth_logged(vth, "ITAPI_EMUL_FREEDOMS has an unknown word"));
	node_free(&node);
	g_unsetenv("ITAPI_EMUL_WIRE_US");
	g_unsetenv("ITAPI_EMUL_FREEDOMS");
}

/* Each row of the table is complete. */
static void
test_table(void)
{
	for (unsigned i = 0; i < VEM_FREEDOMS; i++) {
		g_assert_nonnull(vem_freedoms[i].name);
		g_assert_true(g_str_has_prefix(vem_freedoms[i].clause, "[IT "));
		g_assert_nonnull(vem_freedoms[i].may);
		g_assert_nonnull(vem_freedoms[i].wrong);
	}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/emul/wire/delay/ib", "emul:ib", test_delay);
	g_test_add_data_func("/emul/wire/delay/iwarp", "emul:iwarp", test_delay);
	g_test_add_func("/emul/wire/acknowledged", test_acknowledged);
	g_test_add_func("/emul/wire/early", test_early);
	g_test_add_func("/emul/wire/order", test_order);
	g_test_add_data_func("/emul/wire/write-then-send/ib", "emul:ib", test_write_then_send);
	g_test_add_data_func("/emul/wire/write-then-send/iwarp", "emul:iwarp",
			     test_write_then_send);
	g_test_add_func("/emul/wire/answer", test_answer);
	g_test_add_func("/emul/wire/answer-ends", test_answer_ends);
	g_test_add_func("/emul/wire/revoked", test_revoked);
	g_test_add_data_func("/emul/wire/bounds/ib", "emul:ib", test_bounds);
	g_test_add_data_func("/emul/wire/bounds/iwarp", "emul:iwarp", test_bounds);
	g_test_add_data_func("/emul/wire/destroyed/ib", "emul:ib", test_destroyed);
	g_test_add_data_func("/emul/wire/destroyed/iwarp", "emul:iwarp", test_destroyed);
	g_test_add_data_func("/emul/wire/hold/ib", "emul:ib", test_hold);
	g_test_add_data_func("/emul/wire/hold/iwarp", "emul:iwarp", test_hold);
	g_test_add_data_func("/emul/wire/cut/ib", "emul:ib", test_cut);
	g_test_add_data_func("/emul/wire/cut/iwarp", "emul:iwarp", test_cut);
	g_test_add_data_func("/emul/wire/cut-again/ib", "emul:ib", test_cut_again);
	g_test_add_data_func("/emul/wire/cut-again/iwarp", "emul:iwarp", test_cut_again);
	g_test_add_func("/emul/wire/cut-inside", test_cut_inside);
	g_test_add_func("/emul/wire/path-delay", test_path_delay);
	g_test_add_func("/emul/wire/path-words", test_path_words);
	g_test_add_func("/emul/wire/words", test_words);
	g_test_add_func("/emul/wire/table", test_table);
	return g_test_run();
}
