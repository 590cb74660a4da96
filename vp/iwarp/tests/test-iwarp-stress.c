/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Defects that show only under load: tiny socket buffers, several threads on one queue pair, regions that are
 * deregistered and queue pairs that are destroyed during traffic, many streams, an empty pool.
 */

#include "viw_node.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "viw_qp.h"

static void
attach_pair(struct end *a, struct end *b, int buffer, bool crc)
{
	int fd[2];

	tcp_pair(fd);
	/* Only for sending: with such a small receive buffer, TCP itself would pause for seconds. */
	for (unsigned i = 0; buffer > 0 && i < 2; i++)
		setsockopt(fd[i], SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
	struct ri_stream sa = end_stream(fd[0], true), sb = end_stream(fd[1], false);
	sa.crc = sb.crc = crc;
	g_assert_cmpint(end_attach(b, &sb), ==, RI_SUCCESS);
	g_assert_cmpint(end_attach(a, &sa), ==, RI_SUCCESS);
	end_wait_event(a, RI_EVENT_QP_STREAM_UP, b);
	end_wait_event(b, RI_EVENT_QP_STREAM_UP, a);
}

static void
ends_up(struct ends *p, size_t len, int buffer, bool crc)
{
	ends_open(p);
	ends_fill(p, NULL, NULL, len, ALL_RW);
	attach_pair(p->a, p->b, buffer, crc);
}

/* The kernel takes a part of every send, in both directions, Reads included. */
static void
test_tiny_buffers(gconstpointer crc)
{
	const size_t len = 300000;
	struct ends p RI_AT_END(ends_close);

	ends_up(&p, len, 2048, GPOINTER_TO_INT(crc) != 0);
	struct chunk la = chunk_new(p.na, len, ALL_RW), lb = chunk_new(p.nb, len, ALL_RW),
		     rb = chunk_new(p.nb, len, ALL_RW);
	chunk_fill(&p.ma, 1);
	chunk_fill(&p.mb, 2);
	g_assert_cmpint(end_recv(p.b, 1, &rb, 0, len), ==, RI_SUCCESS);
	g_assert_cmpint(end_write(p.a, 1, &p.ma, &lb, len), ==, RI_SUCCESS);
	g_assert_cmpint(end_read(p.b, 1, &rb, &p.ma, 1), ==, RI_SUCCESS);
	g_assert_cmpint(end_read(p.a, 2, &la, &p.mb, len), ==, RI_SUCCESS);
	g_assert_cmpint(end_send(p.a, 3, &p.ma, 0, len), ==, RI_SUCCESS);
	(void)end_wait_ok(p.b, false, 1, p.a);
	for (unsigned i = 1; i <= 3; i++)
		(void)end_wait_ok(p.a, false, i, p.b);
	(void)end_wait_ok(p.b, true, 1, p.a);
	g_assert_cmpmem(lb.at, len, p.ma.at, len);
	g_assert_cmpmem(la.at, len, p.mb.at, len);
	g_assert_cmpmem(rb.at, len, p.ma.at, len);
	chunk_free(&la);
	chunk_free(&lb);
	chunk_free(&rb);
}

/* --- threads ------------------------------------------------------------------------------- */

#define POSTERS 3
#define POSTS   1500

struct poster {
	struct ends *p;
	unsigned number;
	atomic_uint *done;
};

static void *
poster_main(void *arg)
{
	struct poster *me = arg;
	struct ri_wc wc;

	for (unsigned i = 0; i < POSTS;) {
		enum ri_status status =
			end_send(me->p->a, (uint64_t)me->number << 32 | i, &me->p->ma, 0, 48);

		if (status == RI_SUCCESS)
			i++;
		else
			g_assert_cmpint(status, ==, RI_ERR_QUEUE_FULL);
		if (end_poll(me->p->a, false, &wc)) {
			g_assert_cmpuint(wc.status, ==, RI_WC_SUCCESS);
			atomic_fetch_add(me->done, 1);
		}
	}
	return NULL;
}

/* Three threads post to and poll one queue pair; the messages of each arrive in its order. */
static void
test_threads(void)
{
	struct ends p RI_AT_END(ends_close);
	pthread_t thread[POSTERS];
	struct poster poster[POSTERS];
	atomic_uint done = 0;
	struct ri_wc wc;

	ends_up(&p, 1 << 16, 0, true);
	for (unsigned i = 0; i < 64; i++)
		g_assert_cmpint(end_recv(p.b, i, &p.mb, i * 64, 64), ==, RI_SUCCESS);
	for (unsigned i = 0; i < POSTERS; i++) {
		poster[i] = (struct poster){.p = &p, .number = i, .done = &done};
		pthread_create(&thread[i], NULL, poster_main, &poster[i]);
	}
	for (unsigned i = 0; i < POSTERS * POSTS; i++) {
		wc = end_wait_ok(p.b, true, i % 64, NULL);
		g_assert_cmpuint(wc.byte_len, ==, 48);
		g_assert_cmpint(end_recv(p.b, i % 64, &p.mb, i % 64 * 64, 64), ==, RI_SUCCESS);
	}
	for (unsigned i = 0; i < POSTERS; i++)
		pthread_join(thread[i], NULL);
	while (atomic_load(&done) < POSTERS * POSTS) {
		wc = end_wait(p.a, false, NULL);
		g_assert_cmpuint(wc.status, ==, RI_WC_SUCCESS);
		atomic_fetch_add(&done, 1);
	}
}

/* A thread that posts batches, and mostly leaves it to another one to poll. */
struct batches {
	struct ends *p;
	atomic_uint posted, done;
	atomic_bool over;
};

#define BATCHES       4000
#define BATCH_LIMIT_S 30

static void
batch_polled(struct batches *b)
{
	struct ri_wc wc;

	if (!end_poll(b->p->a, false, &wc))
		return;
	g_assert_cmpuint(wc.status, ==, RI_WC_SUCCESS);
	atomic_fetch_add(&b->done, 1);
}

static void *
batches_poll(void *arg)
{
	struct batches *b = arg;
	struct ri_wc wc;

	while (!atomic_load(&b->over)) {
		batch_polled(b);
		(void)end_poll(b->p->b, false, &wc);
	}
	return NULL;
}

/*
 * A request that is posted at the moment when another thread releases those held back must be sent,
 * too, since nothing else would send it. The path without ordering of its own is used in each
 * round, although it is normally given up after the first release by another thread.
 */
static void
test_batches_apart(void)
{
	struct ends p;
	struct batches b = {.p = &p};
	GRand *random = g_rand_new_with_seed(20);
	pthread_t thread;

	ends_up(&p, 4096, 0, true);
	struct viw_qp *qp = (struct viw_qp *)(void *)p.a->qp;
	g_assert_cmpint(pthread_create(&thread, NULL, batches_poll, &b), ==, 0);
	for (unsigned round = 0; round < BATCHES; round++) {
		gint64 until = g_get_monotonic_time() + BATCH_LIMIT_S * G_USEC_PER_SEC;

		atomic_store(&qp->tx.posts_apart, false);
		for (int i = g_rand_int_range(random, 2, 9); i > 0; i--) {
			g_assert_cmpint(end_write(p.a, round, &p.ma, &p.mb, 8), ==, RI_SUCCESS);
			atomic_fetch_add(&b.posted, 1);
		}
		while (atomic_load(&b.done) != atomic_load(&b.posted)) {
			if (round % 8 == 0)
				batch_polled(&b);
			g_assert_cmpint(g_get_monotonic_time(), <, until);
		}
	}
	atomic_store(&b.over, true);
	g_assert_cmpint(pthread_join(thread, NULL), ==, 0);
	g_rand_free(random);
	ends_close(&p);
}

static void *
poller_main(void *arg)
{
	struct end *end = arg;
	struct ri_wc wc;

	while (node_ends(end) == 0) {
		(void)end_poll(end, false, &wc);
		g_usleep(20);
	}
	return NULL;
}

/* --- things that go away ------------------------------------------------------------------- */

/* The completions of a pump's Writes. */
struct tally {
	unsigned posted, done, errors, flushed;
};

/* Keep the queue full of Writes for about `ms`, or until it ends. */
static void
pump(struct ends *p, struct tally *t, unsigned ms)
{
	gint64 until = g_get_monotonic_time() + ms * 1000;
	struct ri_wc wc;

	while (g_get_monotonic_time() < until && t->errors + t->flushed == 0) {
		if (end_write(p->a, t->posted, &p->ma, &p->mb, p->mb.len) == RI_SUCCESS)
			t->posted++;
		if (!end_poll(p->a, false, &wc))
			continue;
		g_assert_cmpuint(wc.wr_id, ==, t->done++);
		t->errors += wc.status == RI_WC_LOCAL_PROTECTION;
		t->flushed += wc.status == RI_WC_FLUSHED;
	}
}

/* Take the remaining completions: successes, at most one error, then flushes only. */
static void
take_rest(struct ends *p, struct tally *t)
{
	while (t->done < t->posted) {
		struct ri_wc wc = end_wait(p->a, false, p->b);

		g_assert_cmpuint(wc.wr_id, ==, t->done++);
		if (wc.status == RI_WC_SUCCESS)
			g_assert_cmpuint(t->errors + t->flushed, ==, 0);
		t->errors += wc.status == RI_WC_LOCAL_PROTECTION;
		t->flushed += wc.status == RI_WC_FLUSHED;
	}
}

/* After dereg has returned no octet is placed, although the peer still writes. */
static void
test_dereg_target(void)
{
	for (unsigned round = 0; round < 12; round++) {
		struct ends p RI_AT_END(ends_close);
		struct tally t = {0};
		pthread_t thread;

		ends_up(&p, 1 << 20, 0, true);
		memset(p.ma.at, 0x55, p.ma.len);
		pthread_create(&thread, NULL, poller_main, p.b);
		pump(&p, &t, round % 4);
		g_assert_cmpint(p.nb->p->mem->mr_dereg(p.mb.mr), ==, RI_SUCCESS);
		memset(p.mb.at, 0, p.mb.len);
		pump(&p, &t, 3);
		for (size_t i = 0; i < p.mb.len; i++)
			g_assert_cmpuint(p.mb.at[i], ==, 0);
		pump(&p, &t, 10000);
		end_wait_event(p.b, RI_EVENT_QP_STAG, p.a);
		end_wait_event(p.a, RI_EVENT_QP_TERMINATE_RECEIVED, p.b);
		take_rest(&p, &t);
		g_assert_cmpuint(t.errors, ==, 0);
		pthread_join(thread, NULL);
		p.mb.mr = NULL;
	}
}

/* The source of a Write is deregistered: the completion says so, and its memory is not read any more. */
static void
test_dereg_source(void)
{
	for (unsigned round = 0; round < 8; round++) {
		struct ends p RI_AT_END(ends_close);
		struct tally t = {0};

		ends_up(&p, 1 << 20, 0, round % 2 == 0);
		memset(p.ma.at, 0x55, p.ma.len);
		pump(&p, &t, round % 3);
		g_assert_cmpint(p.na->p->mem->mr_dereg(p.ma.mr), ==, RI_SUCCESS);
		memset(p.ma.at, 0xaa, p.ma.len);
		p.ma.mr = NULL;
		pump(&p, &t, 10000);
		take_rest(&p, &t);
		g_assert_cmpuint(t.errors, ==, 1);
		end_wait_event(p.a, RI_EVENT_QP_WR_ERROR, p.b);
		end_wait_event(p.b, RI_EVENT_QP_TERMINATE_RECEIVED, p.a);
		for (size_t i = 0; i < p.mb.len; i++)
			g_assert_cmpuint(p.mb.at[i], !=, 0xaa);
	}
}

/* Queue pairs are created, connected and destroyed during traffic, while other threads poll. */
static void
test_destroy_in_traffic(void)
{
	struct node *na RI_AT_END(node_free) = node_new();
	struct node *nb RI_AT_END(node_free) = node_new();
	struct chunk ma RI_AT_END(chunk_free) = chunk_new(na, 1 << 18, ALL_RW);
	struct chunk mb RI_AT_END(chunk_free) = chunk_new(nb, 1 << 18, ALL_RW);

	for (unsigned round = 0; round < 40; round++) {
		struct end *a = end_new(na, NULL), *b = end_new(nb, NULL);

		attach_pair(a, b, 0, true);
		for (unsigned i = 0; i < 10; i++) {
			g_assert_cmpint(end_write(a, i, &ma, &mb, 1 << 18), ==, RI_SUCCESS);
			g_assert_cmpint(end_read(b, i, &mb, &ma, 1 << 16), ==, RI_SUCCESS);
		}
		ends_run(a, b, round % 3);
		end_free(round % 2 ? &a : &b);
		end_wait_event(round % 2 ? b : a, RI_EVENT_QP_LLP_RESET, NULL);
		end_free(round % 2 ? &b : &a);
	}
}

/* --- many ---------------------------------------------------------------------------------- */

/* More streams than a poll reads directly; each one answers. */
static void
test_many_streams(void)
{
	enum {
		N = 24
	};
	struct node *na RI_AT_END(node_free) = node_new();
	struct node *nb RI_AT_END(node_free) = node_new();
	struct chunk ma RI_AT_END(chunk_free) = chunk_new(na, 4096, ALL_RW);
	struct chunk mb RI_AT_END(chunk_free) = chunk_new(nb, 4096 * N, ALL_RW);
	struct end *a[N], *b[N];

	chunk_fill(&ma, 3);
	for (unsigned i = 0; i < N; i++) {
		a[i] = end_new(na, NULL);
		b[i] = end_new(nb, NULL);
		attach_pair(a[i], b[i], 0, true);
	}
	for (unsigned round = 0; round < 20; round++) {
		for (unsigned i = 0; i < N; i++) {
			g_assert_cmpint(end_recv(b[i], i, &mb, 4096 * i, 4096), ==, RI_SUCCESS);
			g_assert_cmpint(end_send(a[i], i, &ma, 0, 4096), ==, RI_SUCCESS);
		}
		for (unsigned i = 0; i < N; i++) {
			(void)end_wait_ok(b[i], true, i, a[i]);
			(void)end_wait_ok(a[i], false, i, b[i]);
			g_assert_cmpmem(mb.at + 4096 * i, 4096, ma.at, 4096);
		}
	}
	for (unsigned i = 0; i < N; i++) {
		end_free(&a[i]);
		end_free(&b[i]);
	}
}

/* No buffer is left: receivers work without one, senders continue when one is returned. */
static void
test_empty_pool(void)
{
	enum {
		N = VIW_HOT + 1
	};
	struct ends p RI_AT_END(ends_close);
	struct ends other[N];
	struct viw_pool *pool_a, *pool_b;
	uint8_t *taken_a[VIW_BUF_COUNT] = {0}, *taken_b[VIW_BUF_COUNT];
	struct ri_wc wc;

	ends_open(&p);
	for (unsigned i = 0; i < N;
	     i++) { /* so many that no queue pair keeps a buffer between rounds */
		other[i].a = end_new(p.na, NULL);
		other[i].b = end_new(p.nb, NULL);
		attach_pair(other[i].a, other[i].b, 0, true);
	}
	ends_fill(&p, NULL, NULL, 100000, ALL_RW);
	attach_pair(p.a, p.b, 0, true);
	chunk_fill(&p.ma, 4);
	pool_a = &((struct viw_rnic *)p.na->rnic)->engine.pool;
	pool_b = &((struct viw_rnic *)p.nb->rnic)->engine.pool;
	for (unsigned i = 0; i < VIW_BUF_COUNT; i++)
		taken_b[i] = viw_pool_get(pool_b);
	g_assert_nonnull(taken_b[VIW_BUF_COUNT - 4 * VIW_HOT]);
	g_assert_null(viw_pool_get(pool_b));
	g_assert_cmpint(end_recv(p.b, 1, &p.mb, 0, 100000), ==, RI_SUCCESS);
	g_assert_cmpint(end_send(p.a, 1, &p.ma, 0, 100000), ==, RI_SUCCESS);
	(void)end_wait_ok(p.b, true, 1, p.a);
	(void)end_wait_ok(p.a, false, 1, p.b);
	g_assert_cmpmem(p.mb.at, 100000, p.ma.at, 100000);

	/* The service thread may still hold one and return it. */
	unsigned all = 0;
	for (unsigned pass = 0; pass < 1000 && all < VIW_BUF_COUNT; pass++) {
		while (all < VIW_BUF_COUNT && (taken_a[all] = viw_pool_get(pool_a)) != NULL)
			all++;
		g_usleep(1000);
	}
	g_assert_cmpint(end_recv(p.b, 2, &p.mb, 0, 100), ==, RI_SUCCESS);
	g_assert_cmpint(end_send(p.a, 2, &p.ma, 0, 100), ==, RI_SUCCESS);
	ends_run(p.a, p.b, 5);
	/* On a busy machine the receive may be posted before the Send arrives; then there is no wait. */
	bool sent = end_poll(p.a, false, &wc);
	g_assert_true(!sent || all < VIW_BUF_COUNT);
	for (unsigned i = 0; i < VIW_BUF_COUNT; i++) {
		viw_engine_give(&((struct viw_rnic *)p.na->rnic)->engine, taken_a[i]);
		viw_engine_give(&((struct viw_rnic *)p.nb->rnic)->engine, taken_b[i]);
	}
	(void)end_wait_ok(p.b, true, 2, p.a);
	if (!sent)
		(void)end_wait_ok(p.a, false, 2, p.b);
	for (unsigned i = 0; i < N; i++) {
		end_free(&other[i].a);
		end_free(&other[i].b);
	}
}

/* One-sided traffic continues while no thread makes a call: the service thread runs it. */
static void
test_nobody_polls(void)
{
	struct ends p RI_AT_END(ends_close);
	gint64 until = node_deadline();

	ends_up(&p, 1 << 20, 0, true);
	g_usleep(5000);
	memset(p.ma.at, 0x11, p.ma.len);
	for (unsigned i = 0; i < 20; i++)
		g_assert_cmpint(end_write(p.a, i, &p.ma, &p.mb, 1 << 20), ==, RI_SUCCESS);
	for (unsigned i = 0; i < 20; i++) { /* the application at the other side sleeps */
		while (p.na->p->fast->cq_depth(p.a->uscq) < i + 1) {
			g_assert_cmpint(g_get_monotonic_time(), <, until);
			g_usleep(100);
		}
	}
	for (unsigned i = 0; i < 20; i++)
		(void)end_wait_ok(p.a, false, i, NULL);
	(void)end_read(p.a, 99, &p.ma, &p.mb, 1);
	(void)end_wait_ok(p.a, false, 99, NULL);
	g_assert_cmpuint(p.mb.at[(1 << 20) - 1], ==, 0x11);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/iwarp/stress/tiny-buffers/crc", GINT_TO_POINTER(1),
			     test_tiny_buffers);
	g_test_add_data_func("/iwarp/stress/tiny-buffers/plain", GINT_TO_POINTER(0),
			     test_tiny_buffers);
	g_test_add_func("/iwarp/stress/threads", test_threads);
	g_test_add_func("/iwarp/stress/batches-apart", test_batches_apart);
	g_test_add_func("/iwarp/stress/dereg-target", test_dereg_target);
	g_test_add_func("/iwarp/stress/dereg-source", test_dereg_source);
	g_test_add_func("/iwarp/stress/destroy-in-traffic", test_destroy_in_traffic);
	g_test_add_func("/iwarp/stress/many-streams", test_many_streams);
	g_test_add_func("/iwarp/stress/empty-pool", test_empty_pool);
	g_test_add_func("/iwarp/stress/nobody-polls", test_nobody_polls);
	return g_test_run();
}
