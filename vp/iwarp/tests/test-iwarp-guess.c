/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* A peer that guesses STags: every guess gets the same answer, and each connection permits one guess. */
#include <glib.h>

#include "viw_node.h"

#define LEN 64

enum guess {
	GUESS_NOTHING,     /* no such index */
	GUESS_OCTET,       /* an index in use, another key octet */
	GUESS_OTHER_PD,    /* a region of another protection domain */
	GUESS_CLOSED,      /* a region without remote rights */
	GUESS_INVALIDATED, /* a region that had remote rights */
	GUESSES
};

/* The kinds of STags that a guess may hit. */
struct target {
	struct node *node;
	struct ri_pd *other_pd;
	struct chunk open;
	struct chunk closed;
	struct chunk foreign;
	uint32_t stale;
};

static void
target_make(struct target *t)
{
	struct ri_pd *own;

	t->node = node_new();
	own = t->node->pd;
	t->open = chunk_new(t->node, LEN, ALL_RW);
	t->closed = chunk_new(t->node, LEN, LOCAL_RW);
	g_assert_cmpint(t->node->p->pd->create(t->node->context, &t->other_pd), ==, RI_SUCCESS);
	t->node->pd = t->other_pd;
	t->foreign = chunk_new(t->node, LEN, ALL_RW);
	t->node->pd = own;
	struct chunk gone RI_AT_END(chunk_free) = chunk_new(t->node, LEN, ALL_RW);
	t->stale = gone.stag;
}

static void
target_free(struct target *t)
{
	chunk_free(&t->open);
	chunk_free(&t->closed);
	chunk_free(&t->foreign);
	g_assert_cmpint(t->node->p->pd->destroy(t->other_pd), ==, RI_SUCCESS);
	node_free(&t->node);
}

static uint32_t
guessed(const struct target *t, enum guess guess)
{
	uint32_t nothing = t->open.stag ^ 0x100;

	while (nothing >> 8 == t->closed.stag >> 8 || nothing >> 8 == t->foreign.stag >> 8)
		nothing ^= 0x200;

	const uint32_t stags[GUESSES] = {
		[GUESS_NOTHING] = nothing,          [GUESS_OCTET] = t->open.stag ^ 1,
		[GUESS_OTHER_PD] = t->foreign.stag, [GUESS_CLOSED] = t->closed.stag,
		[GUESS_INVALIDATED] = t->stale,
	};

	return stags[guess];
}

/*
 * `from` uses a guessed key on a new connection, and posts a second request, to memory that it may
 * access. The second must not be served, because the first has ended the stream.
 */
static void
guess_once(struct node *from, struct target *t, enum ri_opcode opcode, enum guess guess)
{
	uint8_t layer = opcode == RI_OP_RDMA_WRITE ? 0x11 : 0x01;
	struct chunk local RI_AT_END(chunk_free) = chunk_new(from, LEN, ALL_RW);
	struct end *a = end_new(from, NULL);
	struct end *b = end_new(t->node, NULL);
	struct ri_sge into = chunk_sge(&local, 0, 8);
	struct ri_sge wrong = {.addr = (uintptr_t)t->open.at, .stag = guessed(t, guess)};
	struct ri_sge right = {.addr = (uintptr_t)t->open.at, .stag = t->open.stag};
	struct ri_qp_attr attr = {0};

	g_test_message("opcode %d, guess %d", (int)opcode, (int)guess);
	chunk_fill(&local, 3);
	ends_connect(a, b, true);
	post_rdma(a, opcode, 1, &into, &wrong);
	post_rdma(a, opcode, 2, &into, &right);
	end_wait_event(a, RI_EVENT_QP_TERMINATE_RECEIVED, b);
	g_assert_cmpint(from->p->qp->query(a->qp, &attr), ==, RI_SUCCESS);
	g_assert_false(attr.terminate_sent);
	g_assert_cmpuint(attr.terminate_len, ==, opcode == RI_OP_RDMA_WRITE ? 20 : 52);
	g_assert_cmphex(attr.terminate[0], ==, layer);
	g_assert_cmphex(attr.terminate[1], ==, 0);
	end_free(&a);
	end_free(&b);
	for (guint i = 0; i < LEN; i++)
		g_assert_cmpuint(t->open.at[i], ==, 0);
}

static void
test_one_answer(gconstpointer data)
{
	struct node *from RI_AT_END(node_free) = node_new();
	struct target t;

	target_make(&t);
	for (guint i = 0; i < GUESSES; i++)
		guess_once(from, &t, GPOINTER_TO_INT(data), (enum guess)i);
	target_free(&t);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/iwarp/guess/write", GINT_TO_POINTER(RI_OP_RDMA_WRITE),
			     test_one_answer);
	g_test_add_data_func("/iwarp/guess/read", GINT_TO_POINTER(RI_OP_RDMA_READ),
			     test_one_answer);
	return g_test_run();
}
