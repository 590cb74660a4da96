/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Two queue pairs on a TCP connection: every operation transfers the right octets and completes in order. */

#include "viw_node.h"

#include <string.h>

#include "viw_qp.h"

#define BIG (3 * 1024 * 1024 + 17)

static const size_t sizes[] = {0,     1,     3,     4,     5,      64,      511,  512,
			       513,   1023,  1024,  1025,  4096,   8191,    8193, 32767,
			       32768, 32769, 65535, 65536, 100001, 1 << 20, BIG};

/* What the streams are like. */
struct kind {
	const char *name;
	bool crc;
	bool markers; /* in both directions */
	int mss;      /* not 0: aligned to segments of this size */
};

static const struct kind kinds[] = {
	{"plain", false, false, 0},
	{"crc", true, false, 0},
	{"markers", true, true, 0},
	{"markers-plain", false, true, 0},
	{"aligned", true, false, 1251},
	{"aligned-plain", false, false, 8961},
	{"aligned-markers", true, true, 1250},
};

static void
set_up(struct ends *f, gconstpointer arg)
{
	const struct kind *kind = arg;
	struct ri_stream like = end_stream(-1, true);

	like.crc = kind->crc;
	like.markers_tx = like.markers_rx = kind->markers;
	like.peer_local = kind->mss == 0;
	ends_open(f);
	ends_fill(f, NULL, NULL, BIG, ALL_RW);
	ends_connect_like(f->a, f->b, &like, kind->mss);
}

static void
tear_down(struct ends *f, gconstpointer unused)
{
	(void)unused;
	ends_close(f);
}

static void
test_send(struct ends *f, gconstpointer arg)
{
	(void)arg;
	for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
		chunk_fill(&f->ma, i);
		memset(f->mb.at, 0xee, BIG);
		g_assert_cmpint(end_recv(f->b, 100 + i, &f->mb, 0, BIG), ==, RI_SUCCESS);
		g_assert_cmpint(end_send(f->a, i, &f->ma, 0, sizes[i]), ==, RI_SUCCESS);
		struct ri_wc wc = end_wait_ok(f->b, true, 100 + i, f->a);
		g_assert_cmpuint(wc.byte_len, ==, sizes[i]);
		g_assert_cmpuint(wc.opcode, ==, RI_OP_RECV);
		g_assert_cmpmem(f->mb.at, sizes[i], f->ma.at, sizes[i]);
		if (sizes[i] < BIG)
			g_assert_cmpuint(f->mb.at[sizes[i]], ==, 0xee);
		wc = end_wait_ok(f->a, false, i, f->b);
		g_assert_cmpuint(wc.opcode, ==, RI_OP_SEND);
		g_assert_cmpuint(wc.byte_len, ==, sizes[i]);
	}
}

static void
test_write(struct ends *f, gconstpointer arg)
{
	(void)arg;
	for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
		chunk_fill(&f->ma, i);
		memset(f->mb.at, 0xee, BIG);
		g_assert_cmpint(end_recv(f->b, i, &f->mb, 0, 0), ==, RI_SUCCESS);
		g_assert_cmpint(end_write(f->a, i, &f->ma, &f->mb, sizes[i]), ==, RI_SUCCESS);
		g_assert_cmpint(end_send(f->a, 1000, &f->ma, 0, 0), ==, RI_SUCCESS);
		(void)end_wait_ok(f->b, true, i, f->a);
		g_assert_cmpmem(f->mb.at, sizes[i], f->ma.at, sizes[i]);
		if (sizes[i] < BIG)
			g_assert_cmpuint(f->mb.at[sizes[i]], ==, 0xee);
		(void)end_wait_ok(f->a, false, i, f->b);
		(void)end_wait_ok(f->a, false, 1000, f->b);
	}
}

static void
test_read(struct ends *f, gconstpointer arg)
{
	(void)arg;
	/* Once: that its far readers are done with it is something only the wire could tell. */
	chunk_fill(&f->mb, 6);
	for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
		memset(f->ma.at, 0xee, BIG);
		g_assert_cmpint(end_read(f->a, i, &f->ma, &f->mb, sizes[i]), ==, RI_SUCCESS);
		struct ri_wc wc = end_wait_ok(f->a, false, i, f->b);
		g_assert_cmpuint(wc.opcode, ==, RI_OP_RDMA_READ);
		g_assert_cmpuint(wc.byte_len, ==, sizes[i]);
		g_assert_cmpmem(f->mb.at, sizes[i], f->ma.at, sizes[i]);
		if (sizes[i] < BIG)
			g_assert_cmpuint(f->ma.at[sizes[i]], ==, 0xee);
	}
}

/* A Send posted after a slow Read completes after it; more Reads than ORD wait; both sides at once. */
static void
test_reads_in_order(struct ends *f, gconstpointer arg)
{
	struct end *e[2] = {f->a, f->b};

	(void)arg;
	chunk_fill(&f->ma, 3);
	chunk_fill(&f->mb, 4);
	struct chunk la = chunk_new(f->na, 16 * 65536, ALL_RW),
		     lb = chunk_new(f->nb, 16 * 65536, ALL_RW);
	for (unsigned i = 0; i < 12; i++) {
		g_assert_cmpint(end_recv(f->a, i, &la, i * 8, 8), ==, RI_SUCCESS);
		g_assert_cmpint(end_recv(f->b, i, &lb, i * 8, 8), ==, RI_SUCCESS);
	}
	for (unsigned i = 0; i < 12; i++) {
		g_assert_cmpint(end_read(f->a, 2 * i, &la, &f->mb, 65536), ==, RI_SUCCESS);
		g_assert_cmpint(end_send(f->a, 2 * i + 1, &f->ma, 0, 8), ==, RI_SUCCESS);
		g_assert_cmpint(end_read(f->b, 2 * i, &lb, &f->ma, 65536), ==, RI_SUCCESS);
		g_assert_cmpint(end_send(f->b, 2 * i + 1, &f->mb, 0, 8), ==, RI_SUCCESS);
	}
	for (unsigned side = 0; side < 2; side++) {
		for (unsigned i = 0; i < 24; i++) {
			struct ri_wc wc = end_wait_ok(e[side], false, i, e[!side]);

			g_assert_cmpuint(wc.opcode, ==, i % 2 ? RI_OP_SEND : RI_OP_RDMA_READ);
		}
		for (unsigned i = 0; i < 12; i++)
			(void)end_wait_ok(e[side], true, i, e[!side]);
	}
	chunk_free(&la);
	chunk_free(&lb);
}

/*
 * An application waits for an answer, then binds a window and sends its key. That Send must not be
 * held back, since a bind is not a message. This is demanded of most rounds only, since the service
 * thread may run in between.
 */
static void
test_bind_then_send(struct ends *f, gconstpointer arg)
{
	const struct ri_fast_ops *fast = f->na->p->fast;
	struct viw_qp *qp = (struct viw_qp *)(void *)f->a->qp;
	struct ri_mw *mw = NULL;
	uint32_t stag = 0;
	unsigned held_back = 0;
	struct ri_wc wc;

	(void)arg;
	g_assert_cmpint(f->na->p->mem->mw_alloc(f->na->pd, RI_MW_NARROW, &mw, &stag), ==,
			RI_SUCCESS);
	for (unsigned i = 0; i < 40; i++) {
		struct ri_wr link = {.opcode = RI_OP_BIND_MW,
				     .u.bind = {.mw_stag = (stag & ~0xffu) | (i & 0xff),
						.mr_stag = f->ma.stag,
						.addr = (uintptr_t)f->ma.at,
						.length = 64,
						.access = RI_ACCESS_REMOTE_READ}};
		struct ri_wr unlink = {.opcode = RI_OP_LOCAL_INV, .inv_stag = link.u.bind.mw_stag};

		g_assert_cmpint(end_recv(f->b, i, &f->mb, 0, 8), ==, RI_SUCCESS);
		while (!atomic_load(&qp->tx.send_at_once))
			g_assert_false(end_poll(f->a, true, &wc));
		g_assert_cmpint(fast->post_sq(f->a->uqp, &link), ==, RI_SUCCESS);
		g_assert_cmpint(end_send(f->a, i, &f->ma, 0, 8), ==, RI_SUCCESS);
		held_back += atomic_load(&qp->tx.held_back);
		g_assert_cmpint(fast->post_sq(f->a->uqp, &unlink), ==, RI_SUCCESS);
		(void)end_wait_ok(f->b, true, i, f->a);
		(void)end_wait_ok(f->a, false, i, f->b);
	}
	g_assert_cmpuint(held_back, <, 20);
	g_assert_cmpint(f->na->p->mem->mw_free(mw), ==, RI_SUCCESS);
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(struct ends *f, gconstpointer arg);
	} tests[] = {
		{"send", test_send},
		{"write", test_write},
		{"read", test_read},
		{"reads-in-order", test_reads_in_order},
		{"bind-then-send", test_bind_then_send},
	};

	g_test_init(&argc, &argv, NULL);
	for (unsigned k = 0; k < G_N_ELEMENTS(kinds); k++) {
		for (unsigned i = 0; i < G_N_ELEMENTS(tests); i++) {
			g_autofree char *path = g_strdup_printf("/iwarp/transfer/%s/%s",
								kinds[k].name, tests[i].name);

			g_test_add(path, struct ends, &kinds[k], set_up, tests[i].run, tear_down);
		}
	}
	return g_test_run();
}
