/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The same work is repeated for as long as the run says, and the process must not grow. In the
 * first third of the time the provider may still allocate memory that it keeps; from then on,
 * memory, descriptors, threads and resources lent by the host are compared.
 */

#include <limits.h>
#include <pthread.h>
#include <sys/resource.h>

#include "cert_extent.h"
#include "cert_host.h"
#include "cert_node.h"

#define LENGTH 512

/* The number of descriptors that the process may have. */
static unsigned
files_allowed(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < UINT_MAX
		       ? (unsigned)limit.rlim_cur
		       : UINT_MAX;
}

/* Runs a turn until the time is over. */
static void
endure(struct cert *cert, void (*turn)(struct cert *cert, void *arg), void *arg)
{
	gint64 began = g_get_monotonic_time(), length = cert_duration_us(cert);
	struct cert_extent before;
	unsigned turns = 0;

	do {
		turn(cert, arg);
	} while (g_get_monotonic_time() < began + length / 3);
	before = cert_extent_now(cert);
	/* A provider that has used up all descriptors by now takes no more. */
	CERT_UINT(cert, before.files, <, files_allowed() / 2);
	do {
		turn(cert, arg);
		turns++;
	} while (g_get_monotonic_time() < began + length);
	cert_extent_expect(cert, &before);
	cert_note(cert, "%u turns", turns);
}

/* --- connections ----------------------------------------------------------------------------- */

struct ends {
	struct cert_node *near, *far;
	struct cert_region *from, *into;
};

static struct ends
ends_open(struct cert *cert)
{
	struct ends ends = {.near = cert_node_open(cert), .far = cert_node_open(cert)};

	ends.from = cert_region_new(ends.near, LENGTH, CERT_ALL);
	ends.into = cert_region_new(ends.far, LENGTH, CERT_ALL);
	return ends;
}

static void
transfer(struct ends *ends, struct cert_end *a, struct cert_end *b)
{
	struct ri_sge source = cert_sge(ends->from, 0, LENGTH);
	struct ri_sge sink = cert_sge(ends->into, 0, LENGTH);

	cert_post_recv(b, 1, &sink, 1);
	cert_post_send(a, 2, &source, 1, 0);
	cert_wc_is(b, true, 1, RI_WC_SUCCESS);
	cert_wc_is(a, false, 2, RI_WC_SUCCESS);
}

static void
connect_turn(struct cert *cert, void *arg)
{
	struct ends *ends = arg;
	struct cert_end *a = cert_end_new(ends->near, NULL), *b = cert_end_new(ends->far, NULL);

	(void)cert;
	cert_connect(a, b);
	transfer(ends, a, b);
	cert_disconnect(a, b);
	cert_end_free(a);
	cert_end_free(b);
	cert_events_forget(ends->near);
	cert_events_forget(ends->far);
}

static void
connects(struct cert *cert)
{
	struct ends ends = ends_open(cert);

	endure(cert, connect_turn, &ends);
}

/* One side goes with work under way; the other is told. */
static void
kill_turn(struct cert *cert, void *arg)
{
	struct ends *ends = arg;
	struct cert_end *a = cert_end_new(ends->near, NULL), *b = cert_end_new(ends->far, NULL);
	struct ri_sge source = cert_sge(ends->from, 0, LENGTH);
	struct ri_sge sink = cert_sge(ends->into, 0, LENGTH);
	bool near = cert_random_below(cert, 2) == 0;

	cert_connect(a, b);
	cert_post_recv(b, 1, &sink, 1);
	cert_post_send(a, 2, &source, 1, 0);
	cert_end_free(near ? a : b);
	cert_wait_end(near ? b : a);
	cert_end_free(near ? b : a);
	cert_events_forget(ends->near);
	cert_events_forget(ends->far);
}

static void
kills(struct cert *cert)
{
	struct ends ends = ends_open(cert);

	endure(cert, kill_turn, &ends);
}

/* --- keys and adapters ----------------------------------------------------------------------- */

#define KEYS 32

static void
key_turn(struct cert *cert, void *arg)
{
	struct cert_region *regions[KEYS];

	for (unsigned i = 0; i < KEYS; i++)
		regions[i] = cert_region_new(arg, 1 + cert_random_below(cert, LENGTH), CERT_ALL);
	for (unsigned i = 0; i < KEYS; i++)
		cert_region_free(regions[i]);
}

static void
keys(struct cert *cert)
{
	endure(cert, key_turn, cert_node_open(cert));
}

/* --- threads --------------------------------------------------------------------------------- */

#define WORKERS 4
#define SENDS   64

/* A thread that sends on an end of its own; all share the adapters. */
struct worker {
	const struct ri_fast_ops *fast;
	struct cert_end *a, *b;
	struct ri_sge source, sink;
	unsigned sent;
	bool good;
};

static bool
await(const struct worker *worker, struct ri_ucq *cq)
{
	struct ri_wc wc;
	gint64 until = g_get_monotonic_time() + 100 * G_USEC_PER_SEC;

	while (worker->fast->poll_cq(cq, &wc, 1) == 0) {
		if (g_get_monotonic_time() > until)
			return false;
		sched_yield();
	}
	return wc.status == RI_WC_SUCCESS;
}

static void *
worker_run(void *arg)
{
	struct worker *worker = arg;
	struct ri_recv_wr recv = {.wr_id = 1, .sgl = &worker->sink, .num_sge = 1};
	struct ri_wr send = {.wr_id = 2,
			     .sgl = &worker->source,
			     .num_sge = 1,
			     .opcode = RI_OP_SEND,
			     .flags = RI_WR_SIGNALED};

	worker->good = true;
	for (unsigned i = 0; i < SENDS && worker->good; i++) {
		worker->good = worker->fast->post_rq(worker->b->uqp, &recv) == RI_SUCCESS &&
			       worker->fast->post_sq(worker->a->uqp, &send) == RI_SUCCESS &&
			       await(worker, worker->b->urcq) && await(worker, worker->a->uscq);
		worker->sent += worker->good;
	}
	return NULL;
}

static void
worker_turn(struct cert *cert, void *arg)
{
	struct worker *workers = arg;
	pthread_t threads[WORKERS];

	for (unsigned i = 0; i < WORKERS; i++) {
		workers[i].sent = 0;
		CERT_UINT(cert, pthread_create(&threads[i], NULL, worker_run, &workers[i]), ==, 0);
	}
	for (unsigned i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < WORKERS; i++)
		CERT_UINT(cert, workers[i].sent, ==, SENDS);
}

static void
threads(struct cert *cert)
{
	struct ends ends = ends_open(cert);
	struct worker workers[WORKERS];

	for (unsigned i = 0; i < WORKERS; i++) {
		struct cert_region *own = cert_region_new(ends.far, LENGTH, CERT_ALL);

		workers[i] = (struct worker){.fast = ends.near->p->fast,
					     .a = cert_end_new(ends.near, NULL),
					     .b = cert_end_new(ends.far, NULL),
					     .source = cert_sge(ends.from, 0, LENGTH),
					     .sink = cert_sge(own, 0, LENGTH)};
		cert_connect(workers[i].a, workers[i].b);
	}
	endure(cert, worker_turn, workers);
}

static const struct cert_case cases[] = {
	{.id = "endurance.connect.0001",
	 .title = "Connections are made, used and ended, and nothing grows",
	 .rule = "[RI 2.2.3] [RI 11.6.1]",
	 .run = connects,
	 .seconds = 3600},
	{.id = "endurance.kill.0001",
	 .title = "Queue pairs are destroyed with work under way, and nothing grows",
	 .rule = "[RI 2.1.4]",
	 .run = kills,
	 .seconds = 3600},
	{.id = "endurance.keys.0001",
	 .title = "Regions are registered and deregistered, and nothing grows",
	 .rule = "[RI 5.7.1]",
	 .run = keys,
	 .seconds = 3600},
	{.id = "endurance.threads.0001",
	 .title = "Threads send at the same time over one adapter, and nothing grows",
	 .rule = "[RI 2.3.3]",
	 .needs = "thread_safe_queues",
	 .settles = "thread_safe_queues",
	 .run = threads,
	 .seconds = 3600},
};

CERT_SET(endurance, cases);
