/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Threads: several threads on one queue, where the profile allows it; one that posts while others
 * poll, count and arm; control verbs on different objects. These threads only call the tables; the
 * thread of the case judges the results.
 */

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "verbs_pair.h"

#define POSTERS 3u
#define POLLERS 2u
#define EACH    400u /* Sends of one poster */
#define ALL     (POSTERS * EACH)
#define TURNS   150u /* of a thread that creates and destroys */

/* What the threads share. */
struct scene {
	struct pair pair;
	const struct ri_fast_ops *fast;
	struct ri_ucq *cq; /* what is polled */
	unsigned posters;
	atomic_uint next_poster, posted, taken, odd;
	atomic_bool stop;
	atomic_uchar seen[ALL]; /* how often each completion was taken */
};

static struct scene *
scene_open(struct cert *cert, unsigned posters)
{
	struct scene *scene = g_new0(struct scene, 1);

	pair_connected(&scene->pair, cert);
	scene->fast = scene->pair.near->p->fast;
	scene->cq = scene->pair.a->uscq;
	scene->posters = posters;
	return scene;
}

/* Posts its Writes, which no receive holds up, each with a number of its own, when there is a slot. */
static void *
post(void *arg)
{
	struct scene *scene = arg;
	unsigned first = atomic_fetch_add(&scene->next_poster, 1) * EACH;
	struct ri_wr wr = {.opcode = RI_OP_RDMA_WRITE,
			   .sgl = &scene->pair.source,
			   .num_sge = 1,
			   .flags = RI_WR_SIGNALED};

	wr.u.remote.addr = scene->pair.sink.addr;
	wr.u.remote.stag = scene->pair.sink.stag;
	for (unsigned i = 0; i < EACH && !atomic_load(&scene->stop);) {
		enum ri_status status;

		wr.wr_id = first + i;
		status = scene->fast->post_sq(scene->pair.a->uqp, &wr);
		if (status == RI_SUCCESS) {
			atomic_fetch_add(&scene->posted, 1);
			i++;
		} else if (status == RI_ERR_QUEUE_FULL) {
			sched_yield();
		} else {
			atomic_fetch_add(&scene->odd, 1);
			return NULL;
		}
	}
	return NULL;
}

/* Takes completions, some at a time. */
static void *
poll(void *arg)
{
	struct scene *scene = arg;
	struct ri_wc wc[5];

	while (!atomic_load(&scene->stop)) {
		uint32_t taken = scene->fast->poll_cq(scene->cq, wc, G_N_ELEMENTS(wc));

		for (uint32_t i = 0; i < taken && i < G_N_ELEMENTS(wc); i++) {
			bool good = wc[i].status == RI_WC_SUCCESS && wc[i].wr_id < ALL;

			atomic_fetch_add(&scene->odd, !good);
			if (good)
				atomic_fetch_add(&scene->seen[wc[i].wr_id], 1);
		}
		atomic_fetch_add(&scene->taken, taken);
		if (taken == 0)
			sched_yield();
	}
	return NULL;
}

/* Counts and arms, as it likes. */
static void *
count_and_arm(void *arg)
{
	struct scene *scene = arg;

	while (!atomic_load(&scene->stop)) {
		uint32_t depth = scene->fast->cq_depth(scene->cq);
		enum ri_status status = scene->fast->arm_cq(scene->cq, RI_ARM_NEXT, 1);

		atomic_fetch_add(&scene->odd, depth > 4096);
		atomic_fetch_add(&scene->odd, status != RI_SUCCESS && status != RI_ERR_NOT_EMPTY);
		sched_yield();
	}
	return NULL;
}

/* Until every completion is taken, and a little longer; then all threads end. */
static void
wait_all(struct scene *scene, pthread_t *threads, unsigned count)
{
	struct cert *cert = scene->pair.cert;
	unsigned most = scene->posters * EACH;
	gint64 until = 0;
	bool good = true;

	while (good && atomic_load(&scene->taken) < most && atomic_load(&scene->odd) == 0)
		good = cert_patience(cert, &until);
	for (unsigned i = 0; i < 50; i++)
		cert_progress(cert);
	atomic_store(&scene->stop, true);
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	CERT_UINT(cert, atomic_load(&scene->odd), ==, 0);
	CERT_UINT(cert, atomic_load(&scene->posted), ==, most);
	CERT_UINT(cert, atomic_load(&scene->taken), ==, most);
	for (unsigned i = 0; i < most; i++) {
		if (atomic_load(&scene->seen[i]) != 1)
			cert_note(cert, "request %u", i);
		CERT_UINT(cert, atomic_load(&scene->seen[i]), ==, 1);
	}
	CERT_UINT(cert, cert_end_attr(scene->pair.a).state, ==, RI_QPS_RTS);
	g_free(scene);
}

static void
start(struct scene *scene, pthread_t *thread, void *(*run)(void *))
{
	CERT_UINT(scene->pair.cert, pthread_create(thread, NULL, run, scene), ==, 0);
}

/* Several post to one queue, and several poll one. */
static void
many_on_one_queue(struct cert *cert)
{
	struct scene *scene = scene_open(cert, POSTERS);
	pthread_t threads[POSTERS + POLLERS + 1];
	unsigned count = 0;

	for (unsigned i = 0; i < POSTERS; i++)
		start(scene, &threads[count++], post);
	for (unsigned i = 0; i < POLLERS; i++)
		start(scene, &threads[count++], poll);
	start(scene, &threads[count++], count_and_arm);
	wait_all(scene, threads, count);
}

/* What every adapter allows. */
static void
one_posts(struct cert *cert)
{
	struct scene *scene = scene_open(cert, 1);
	pthread_t threads[3];

	start(scene, &threads[0], post);
	start(scene, &threads[1], poll);
	start(scene, &threads[2], count_and_arm);
	wait_all(scene, threads, 3);
}

/* --- control verbs ----------------------------------------------------------------------------- */

/* A thread with objects of its own in a context that all share. */
struct maker {
	struct cert_node *node;
	struct ri_qp_init init;
	uint64_t ctx[2]; /* of its queue and its queue pair */
	uint8_t memory[64];
	unsigned turns;
};

static bool
turn(struct maker *maker)
{
	const struct ri_provider *p = maker->node->p;
	struct ri_mr_init range = {.addr = (uintptr_t)maker->memory,
				   .length = sizeof(maker->memory),
				   .access = CERT_LOCAL};
	struct ri_qp_init init = maker->init;
	uint32_t entries = 16, stag = 0;
	struct ri_pd *pd = NULL;
	struct ri_cq *cq = NULL;
	struct ri_qp *qp = NULL;
	struct ri_mr *mr = NULL;
	struct ri_map map;

	init.ctx = maker->ctx[1];
	return p->pd->create(maker->node->context, &pd) == RI_SUCCESS &&
	       p->cq->create(maker->node->context, maker->ctx[0], &entries, &cq, &map) ==
		       RI_SUCCESS &&
	       p->mem->mr_reg(pd, &range, &mr, &stag) == RI_SUCCESS &&
	       p->qp->create(pd, &init, cq, cq, NULL, &qp, &map) == RI_SUCCESS &&
	       p->pd->destroy(pd) == RI_ERR_BUSY && p->cq->destroy(cq) == RI_ERR_BUSY &&
	       p->qp->destroy(qp) == RI_SUCCESS && p->mem->mr_dereg(mr) == RI_SUCCESS &&
	       p->cq->destroy(cq) == RI_SUCCESS && p->pd->destroy(pd) == RI_SUCCESS;
}

static void *
make(void *arg)
{
	struct maker *maker = arg;

	while (maker->turns < TURNS && turn(maker))
		maker->turns++;
	return NULL;
}

static void
makers_in_one_context(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	g_autofree struct maker *makers = g_new0(struct maker, POSTERS);
	pthread_t threads[POSTERS];

	for (unsigned i = 0; i < POSTERS; i++) {
		makers[i].node = node;
		makers[i].init = cert_end_defaults(node);
		makers[i].ctx[0] = cert_ctx_new(node, RI_OBJECT_CQ);
		makers[i].ctx[1] = cert_ctx_new(node, RI_OBJECT_QP);
		CERT_UINT(cert, pthread_create(&threads[i], NULL, make, &makers[i]), ==, 0);
	}
	for (unsigned i = 0; i < POSTERS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < POSTERS; i++)
		CERT_UINT(cert, makers[i].turns, ==, TURNS);
}

static const struct cert_case cases[] = {
	{.id = "verbs.thread.fast.0001",
	 .title = "Several threads post to one queue and poll one, and each request completes once",
	 .rule = "[RI 2.3.3]",
	 .needs = "thread_safe_queues",
	 .settles = "thread_safe_queues",
	 .run = many_on_one_queue},
	{.id = "verbs.thread.fast.0002",
	 .title = "One thread posts while others poll, count and arm",
	 .rule = "[RI 2.3.3]",
	 .run = one_posts},
	{.id = "verbs.thread.verb.0001",
	 .title = "Threads create and destroy objects of one context at the same time",
	 .rule = "[RI 2.1.2]",
	 .run = makers_in_one_context},
};

CERT_SET(verbs_threads, cases);
