/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Shared receive queues over streams: the order of members, watermarks and the Terminate to the peer, receives that
 * were taken when a stream ends, many streams and threads.
 */

#include "viw_node.h"

#include <sys/socket.h>
#include <unistd.h>

#include "rdmap_check.h"
#include "viw_qp.h"

#define LINKS 8 /* more than a poll reads directly */

struct fixture {
	struct node *na, *nb; /* shared by the ends of nb */
	struct end *a[LINKS], *b[LINKS];
	struct chunk ma, mb;
};

/* How long a Send waits for a receive, ms; each test sets it, since adapters read it when they are opened. */
static void
set_up(struct fixture *f, gconstpointer patience)
{
	g_setenv("ITAPI_IWARP_RNR_MS", patience, TRUE);
	f->na = node_new();
	f->nb = node_new();
	f->ma = chunk_new(f->na, 1 << 17, ALL_RW);
	f->mb = chunk_new(f->nb, 1 << 17, ALL_RW);
	chunk_fill(&f->ma, 1);
	node_share(f->nb, 16);
}

static void
connect_ends(struct fixture *f, unsigned i, const struct ri_qp_init *init)
{
	f->a[i] = end_new(f->na, NULL);
	f->b[i] = end_new(f->nb, init);
	ends_connect(f->a[i], f->b[i], true);
}

static void
tear_down(struct fixture *f, gconstpointer unused)
{
	(void)unused;
	for (unsigned i = 0; i < LINKS; i++) {
		if (f->a[i] != NULL)
			end_free(&f->a[i]);
		if (f->b[i] != NULL)
			end_free(&f->b[i]);
	}
	node_unshare(f->nb);
	chunk_free(&f->ma);
	chunk_free(&f->mb);
	node_free(&f->na);
	node_free(&f->nb);
}

struct wanted {
	const struct node *node;
	enum ri_event event;
};

static bool
is_wanted(const struct ri_async_event *event, const void *arg)
{
	const struct wanted *wanted = arg;

	return event->event == wanted->event && event->object == RI_OBJECT_SRQ &&
	       event->ctx == (uintptr_t)wanted->node;
}

/* How often `event` was raised for the SRQ. */
static unsigned
srq_events(struct node *node, enum ri_event event)
{
	return node_count_if(node, is_wanted, &(struct wanted){node, event});
}

/* --- turns --------------------------------------------------------------------------------- */

/* The message has arrived and waits for a receive. */
static void
until_waiting(struct end *end, struct end *other)
{
	struct vsw_srq_member *member = &((struct viw_qp *)end->qp)->rx.member;
	gint64 until = node_deadline();
	bool waits = false;

	while (!waits) {
		g_assert_cmpint(g_get_monotonic_time(), <, until);
		ends_run(other, end, 1);
		vsw_lock(&member->srq->lock);
		waits = member->waits;
		vsw_unlock(&member->srq->lock);
	}
}

static void
test_turns(struct fixture *f, gconstpointer unused)
{
	struct ri_wc wc;

	(void)unused;
	for (unsigned i = 0; i < LINKS; i++) {
		connect_ends(f, i, NULL);
		g_assert_cmpint(end_send(f->a[i], i, &f->ma, 100 * i, 100), ==, RI_SUCCESS);
		until_waiting(f->b[i], f->a[i]);
		g_assert_false(end_poll(f->b[i], true, &wc));
	}
	for (unsigned i = 0; i < LINKS; i++) {
		node_post(f->nb, 50 + i, &f->mb, 200 * i, 200);
		(void)end_wait_ok(f->b[i], true, 50 + i, f->a[i]);
		g_assert_cmpmem(f->mb.at + 200 * i, 100, f->ma.at + 100 * i, 100);
		for (unsigned k = 0; k < LINKS; k++)
			g_assert_false(end_poll(f->b[k], true, &wc));
	}
}

/* --- ends ---------------------------------------------------------------------------------- */

/*
 * Have the octets arrived? They are read while the provider may write them; that race belongs to direct placement, so
 * ThreadSanitizer does not watch it.
 */
__attribute__((no_sanitize("thread"), noinline)) static bool
has_come(const uint8_t *at, const uint8_t *expected, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		if (*(const volatile uint8_t *)&at[i] != expected[i])
			return false;
	}
	return true;
}

/*
 * A stream ends in the middle of a message: the receive that it took is flushed to its queue pair, the others stay
 * for other members.
 */
static void
test_flush_of_taken(struct fixture *f, gconstpointer unused)
{
	struct ddp_segment seg = rdmap_untagged(RDMAP_SEND, 1, 0, false);
	uint8_t fpdu[256];
	int fd[2];
	struct ri_wc wc;

	(void)unused;
	connect_ends(f, 1, NULL);
	f->b[0] = end_new(f->nb, NULL);
	tcp_pair(fd);
	struct ri_stream s = end_stream(fd[0], false);
	g_assert_cmpint(end_attach(f->b[0], &s), ==, RI_SUCCESS);
	end_wait_event(f->b[0], RI_EVENT_QP_STREAM_UP, NULL);
	node_post(f->nb, 7, &f->mb, 0, 500);
	node_post(f->nb, 8, &f->mb, 500, 500);
	seg.payload = f->ma.at;
	seg.payload_len = 100;
	uint32_t len = rdmap_fpdu_put(fpdu, &seg, true);
	g_assert_cmpint(send(fd[1], fpdu, len, 0), ==, len);
	for (unsigned i = 0; i < 10000 && !has_come(f->mb.at, f->ma.at, 100); i++)
		ends_run(f->b[0], f->b[1], 5);
	g_assert_true(has_come(f->mb.at, f->ma.at, 100));
	g_assert_false(end_poll(f->b[0], true, &wc));
	close(fd[1]);
	wc = end_wait(f->b[0], true, NULL);
	g_assert_cmpuint(wc.status, ==, RI_WC_FLUSHED);
	g_assert_cmpuint(wc.wr_id, ==, 7);
	g_assert_false(end_poll(f->b[0], true, &wc));
	g_assert_cmpint(end_send(f->a[1], 1, &f->ma, 0, 50), ==, RI_SUCCESS);
	(void)end_wait_ok(f->b[1], true, 8, f->a[1]);
}

/* The member that waits longest ends; the next gets the receive. */
static void
test_first_goes(struct fixture *f, gconstpointer unused)
{
	(void)unused;
	for (unsigned way = 0; way < 3; way++) {
		for (unsigned i = 0; i < 2; i++) {
			connect_ends(f, i, NULL);
			g_assert_cmpint(end_send(f->a[i], i, &f->ma, 0, 100), ==, RI_SUCCESS);
			until_waiting(f->b[i], f->a[i]);
		}
		if (way == 0) {
			end_free(&f->b[0]);
			f->b[0] = NULL;
		} else if (way == 1) {
			end_free(&f->a[0]);
			f->a[0] = NULL;
			/* Its message has arrived; its wait ends with the stream. */
			for (unsigned i = 0; i < 12000 && node_ends(f->b[0]) == 0; i++)
				ends_run(f->b[0], f->b[1], 5);
			g_assert_cmpuint(node_ends(f->b[0]), ==, 1);
		} else {
			g_assert_cmpint(end_modify(f->b[0], RI_QPS_ERROR), ==, RI_SUCCESS);
		}
		node_post(f->nb, 5, &f->mb, 0, 200);
		(void)end_wait_ok(f->b[1], true, 5, f->a[1]);
		for (unsigned i = 0; i < 2; i++) {
			if (f->a[i] != NULL)
				end_free(&f->a[i]);
			if (f->b[i] != NULL)
				end_free(&f->b[i]);
			f->a[i] = f->b[i] = NULL;
		}
	}
}

/* No receive is posted: each stream waits for its time-out, then sends its peer a Terminate ("no buffer"). */
static void
test_expires(struct fixture *f, gconstpointer unused)
{
	(void)unused;
	connect_ends(f, 0, NULL);
	connect_ends(f, 1, NULL);
	g_assert_cmpint(end_send(f->a[0], 1, &f->ma, 0, 100), ==, RI_SUCCESS);
	end_wait_event(f->b[0], RI_EVENT_QP_RQ_MSN_RANGE, f->a[0]);
	end_wait_event(f->a[0], RI_EVENT_QP_TERMINATE_RECEIVED, f->b[0]);
	/* It does not delay other members any more. */
	node_post(f->nb, 3, &f->mb, 0,
		  200); /* before the Send: that would not wait for a slow machine */
	g_assert_cmpint(end_send(f->a[1], 2, &f->ma, 0, 100), ==, RI_SUCCESS);
	(void)end_wait_ok(f->b[1], true, 3, f->a[1]);
}

/* --- watermarks ---------------------------------------------------------------------------- */

/* `count` messages have arrived at b[0], and their completions are not polled. */
static void
until_completed(struct fixture *f, uint32_t count)
{
	gint64 until = node_deadline();

	while (f->nb->p->fast->cq_depth(f->b[0]->urcq) < count) {
		g_assert_cmpint(g_get_monotonic_time(), <, until);
		ends_run(f->a[0], f->b[1], 1);
	}
}

/* The service thread has raised this event of the SRQ `count` times. */
static void
until_srq_event(struct fixture *f, enum ri_event event, unsigned count)
{
	gint64 until = node_deadline();

	while (srq_events(f->nb, event) < count) {
		g_assert_cmpint(g_get_monotonic_time(), <, until);
		g_usleep(100);
	}
}

static void
test_watermarks(struct fixture *f, gconstpointer unused)
{
	struct ri_srq_attr low = {.limit = 4};
	struct ri_qp_init init = end_defaults(f->nb);
	struct ri_map map;

	(void)unused;
	init.soft_limit = 1;
	init.hard_limit = 3;
	connect_ends(f, 0, &init);
	connect_ends(f, 1, NULL);
	for (unsigned i = 0; i < 6; i++)
		node_post(f->nb, i, &f->mb, 200 * i, 200);
	g_assert_cmpint(f->nb->p->srq->modify(f->nb->srq, &low, false, &map), ==, RI_SUCCESS);
	for (unsigned i = 0; i < 3; i++) {
		g_assert_cmpint(end_send(f->a[0], i, &f->ma, 0, 100), ==, RI_SUCCESS);
		(void)end_wait_ok(f->a[0], false, i, f->b[1]);
		until_completed(f, i + 1);
		if (i > 0)
			end_wait_event(f->b[0], RI_EVENT_QP_RQ_LIMIT, f->b[1]);
		until_srq_event(f, RI_EVENT_SRQ_LIMIT, i == 2);
		g_assert_cmpuint(node_count(f->b[0], RI_EVENT_QP_RQ_LIMIT), ==, i > 0);
		g_assert_cmpuint(srq_events(f->nb, RI_EVENT_SRQ_LIMIT), ==, i == 2);
	}
	g_assert_cmpuint(node_ends(f->b[0]), ==, 0);
	/* A fourth exceeds the limit, and is not taken. */
	g_assert_cmpint(end_send(f->a[0], 3, &f->ma, 0, 100), ==, RI_SUCCESS);
	end_wait_event(f->b[0], RI_EVENT_QP_RQ_HARD_LIMIT, f->a[0]);
	end_wait_event(f->a[0], RI_EVENT_QP_TERMINATE_RECEIVED, f->b[0]);
	struct ri_qp_attr attr;
	g_assert_cmpint(f->na->p->qp->query(f->a[0]->qp, &attr), ==, RI_SUCCESS);
	g_assert_false(attr.terminate_sent);
	g_assert_cmpuint(attr.terminate_len, >=, 2);
	g_assert_cmphex(attr.terminate[0] << 8 | attr.terminate[1], ==, 0x0207);
	for (unsigned i = 0; i < 3; i++)
		(void)end_wait_ok(f->b[0], true, i, NULL);
	for (unsigned i = 3; i < 6; i++) {
		g_assert_cmpint(end_send(f->a[1], i, &f->ma, 0, 100), ==, RI_SUCCESS);
		(void)end_wait_ok(f->b[1], true, i, f->a[1]);
	}
}

static void
test_catastrophe(struct fixture *f, gconstpointer unused)
{
	(void)unused;
	connect_ends(f, 0, NULL);
	connect_ends(f, 1, NULL);
	g_assert_cmpint(end_send(f->a[0], 1, &f->ma, 0, 100), ==, RI_SUCCESS);
	ends_run(f->a[0], f->b[0], 20);
	vsw_srq_fail(&((struct vsw_srq_object *)f->nb->srq)->srq);
	end_wait_event(f->b[0], RI_EVENT_QP_SRQ_ERROR, f->a[0]);
	until_srq_event(f, RI_EVENT_SRQ_CATASTROPHIC, 1);
	g_assert_cmpuint(srq_events(f->nb, RI_EVENT_SRQ_CATASTROPHIC), ==, 1);
	g_assert_cmpint(end_state(f->b[1]), ==, RI_QPS_RTS);
	g_assert_cmpint(end_send(f->a[1], 1, &f->ma, 0, 100), ==, RI_SUCCESS);
	end_wait_event(f->b[1], RI_EVENT_QP_SRQ_ERROR, f->a[1]);
}

/* --- threads ------------------------------------------------------------------------------- */

#define SENDERS  2
#define MESSAGES 400

struct crowd {
	struct fixture *f;
	unsigned
		number; /* the number of the sender, which has the streams number, number + SENDERS, ... */
	atomic_uint *received;
};

static void *
crowd_send(void *arg)
{
	struct crowd *c = arg;
	unsigned sent[LINKS] = {0}, done = 0;
	struct ri_wc wc;

	while (done < MESSAGES * LINKS / SENDERS) {
		for (unsigned i = c->number; i < LINKS; i += SENDERS) {
			if (sent[i] < MESSAGES &&
			    end_send(c->f->a[i], sent[i], &c->f->ma, 64 * i, 64) == RI_SUCCESS)
				sent[i]++;
			while (end_poll(c->f->a[i], false, &wc)) {
				g_assert_cmpuint(wc.status, ==, RI_WC_SUCCESS);
				done++;
			}
		}
	}
	return NULL;
}

static void *
crowd_receive(void *arg)
{
	struct crowd *c = arg;
	struct ri_wc wc;

	while (atomic_load(c->received) < LINKS * MESSAGES) {
		for (unsigned i = c->number; i < LINKS; i += SENDERS) {
			if (!end_poll(c->f->b[i], true, &wc))
				continue;
			g_assert_cmpuint(wc.status, ==, RI_WC_SUCCESS);
			g_assert_cmpmem(c->f->mb.at + 64 * wc.wr_id, 64, c->f->ma.at + 64 * i, 64);
			node_post(c->f->nb, wc.wr_id, &c->f->mb, 64 * wc.wr_id, 64);
			atomic_fetch_add(c->received, 1);
		}
	}
	return NULL;
}

/* Fewer receives than streams; two threads send, two receive and post. */
static void
test_crowd(struct fixture *f, gconstpointer unused)
{
	atomic_uint received = 0;
	pthread_t thread[2 * SENDERS];
	struct crowd c[SENDERS];

	(void)unused;
	for (unsigned i = 0; i < LINKS; i++)
		connect_ends(f, i, NULL);
	for (unsigned i = 0; i < LINKS / 2; i++)
		node_post(f->nb, i, &f->mb, 64 * i, 64);
	for (unsigned i = 0; i < SENDERS; i++) {
		c[i] = (struct crowd){.f = f, .number = i, .received = &received};
		g_assert_cmpint(pthread_create(&thread[2 * i], NULL, crowd_send, &c[i]), ==, 0);
		g_assert_cmpint(pthread_create(&thread[2 * i + 1], NULL, crowd_receive, &c[i]), ==,
				0);
	}
	for (unsigned i = 0; i < 2 * SENDERS; i++)
		pthread_join(thread[i], NULL);
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *path;
		void (*test)(struct fixture *f, gconstpointer unused);
	} tests[] = {
		{"/iwarp/srq/turns", test_turns},
		{"/iwarp/srq/flush-of-taken", test_flush_of_taken},
		{"/iwarp/srq/first-goes", test_first_goes},
		{"/iwarp/srq/expires", test_expires},
		{"/iwarp/srq/watermarks", test_watermarks},
		{"/iwarp/srq/catastrophe", test_catastrophe},
		{"/iwarp/srq/crowd", test_crowd},
	};

	g_test_init(&argc, &argv, NULL);
	for (unsigned i = 0; i < G_N_ELEMENTS(tests); i++)
		g_test_add(tests[i].path, struct fixture,
			   tests[i].test == test_expires ? "300" : "60000", set_up, tests[i].test,
			   tear_down);
	return g_test_run();
}
