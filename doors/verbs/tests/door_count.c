/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Counts, under callgrind, what posts and polls cost through the door and without it, by the fast entries of RNIC-PI, on the
 * same queues of emul:ib. A step runs in a window between the start of the counting and a dump with its name;
 * test_door_count.py reads the dumps. "nothing" is what the counting costs.
 */
#include <pthread.h>
#include <stdbool.h>
#include <valgrind/callgrind.h>

#include "door_qp.h"
#include "verbs_bench.h"

#define WINDOWS 9
#define WARM_UP 50 /* rounds, so that nothing is done for the first time */
#define FAR     32768
#define OCTETS  64

struct scene {
	struct bench bench;
	struct ibv_qp *a, *b;
	struct ibv_sge sge;
	const struct ri_fast_ops *fast;
	struct ri_uqp *queue; /* of a */
	struct ri_ucq *cq;
};

static void
nothing(struct scene *s)
{
	(void)s;
}

static void
bare_post(struct scene *s)
{
	struct ri_wr wr;

	wr.wr_id = 1;
	wr.sgl = (const struct ri_sge *)(const void *)&s->sge;
	wr.num_sge = 1;
	wr.opcode = RI_OP_RDMA_WRITE;
	wr.flags = RI_WR_SIGNALED;
	wr.u.remote.addr = (uintptr_t)s->bench.memory + FAR;
	wr.u.remote.stag = s->bench.mr->rkey;
	if (s->fast->post_sq(s->queue, &wr) != RI_SUCCESS)
		g_error("post_sq");
}

static void
post(struct scene *s)
{
	struct ibv_send_wr wr, *bad;

	wr.wr_id = 1;
	wr.next = NULL;
	wr.sg_list = &s->sge;
	wr.num_sge = 1;
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.rdma.remote_addr = (uintptr_t)s->bench.memory + FAR;
	wr.wr.rdma.rkey = s->bench.mr->rkey;
	if (ibv_post_send(s->a, &wr, &bad) != 0)
		g_error("ibv_post_send");
}

static void
bare_poll(struct scene *s)
{
	struct ri_wc wc;

	if (s->fast->poll_cq(s->cq, &wc, 1) != 1)
		g_error("poll_cq");
}

static void
poll_one(struct scene *s)
{
	struct ibv_wc wc;

	if (ibv_poll_cq(s->bench.cq, 1, &wc) != 1)
		g_error("ibv_poll_cq");
}

static void
bare_poll_none(struct scene *s)
{
	struct ri_wc wc;

	if (s->fast->poll_cq(s->cq, &wc, 1) != 0)
		g_error("poll_cq");
}

static void
poll_none(struct scene *s)
{
	struct ibv_wc wc;

	if (ibv_poll_cq(s->bench.cq, 1, &wc) != 0)
		g_error("ibv_poll_cq");
}

static void
bare_receive(struct scene *s)
{
	const struct ri_recv_wr wr = {
		.wr_id = 1, .sgl = (const struct ri_sge *)(const void *)&s->sge, .num_sge = 1};

	if (s->fast->post_rq(s->queue, &wr) != RI_SUCCESS)
		g_error("post_rq");
}

static void
receive(struct scene *s)
{
	struct ibv_recv_wr wr = {.wr_id = 1, .sg_list = &s->sge, .num_sge = 1}, *bad;

	if (ibv_post_recv(s->a, &wr, &bad) != 0)
		g_error("ibv_post_recv");
}

/* Take the receive out again: b sends. */
static void
settle_receive(struct scene *s)
{
	struct ibv_send_wr wr = bench_wr(2, IBV_WR_SEND, &s->sge);

	bench_send(s->b, &wr);
	(void)bench_poll(s->bench.cq);
	(void)bench_poll(s->bench.cq);
}

static void
settle_post(struct scene *s)
{
	(void)bench_expect(s->bench.cq, 1, IBV_WC_SUCCESS);
}

static const struct step {
	const char *name;
	void (*prepare)(struct scene *s);
	void (*run)(struct scene *s);
	void (*settle)(struct scene *s);
} steps[] = {
	{"nothing", nothing, nothing, nothing},
	{"bare-post", nothing, bare_post, settle_post},
	{"post", nothing, post, settle_post},
	{"bare-poll", post, bare_poll, nothing},
	{"poll", post, poll_one, nothing},
	{"bare-poll-none", nothing, bare_poll_none, nothing},
	{"poll-none", nothing, poll_none, nothing},
	{"bare-receive", nothing, bare_receive, settle_receive},
	{"receive", nothing, receive, settle_receive},
};

static void
step_once(const struct step *step, struct scene *s, bool counted)
{
	step->prepare(s);
	if (counted)
		CALLGRIND_START_INSTRUMENTATION;
	step->run(s);
	if (counted) {
		CALLGRIND_DUMP_STATS_AT(step->name);
		CALLGRIND_STOP_INSTRUMENTATION;
	}
	step->settle(s);
}

static void *
steps_run(void *arg)
{
	struct scene *s = (struct scene *)arg;

	for (unsigned i = 0; i < G_N_ELEMENTS(steps); i++)
		for (unsigned round = 0; round < WARM_UP + WINDOWS; round++)
			step_once(&steps[i], s, round >= WARM_UP);
	return NULL;
}

int
main(void)
{
	pthread_t thread;
	struct scene s;

	bench_adapter("emul:ib");
	bench_open(&s.bench);
	s.a = bench_qp(&s.bench, IBV_QPT_RC);
	s.b = bench_qp(&s.bench, IBV_QPT_RC);
	bench_connect(s.a, s.b);
	s.sge = bench_sge(&s.bench, 0, OCTETS);
	s.fast = door_session_of(s.bench.context)->fast;
	s.queue = door_qp_of(s.a)->queue;
	s.cq = door_cq_of(s.bench.cq)->queue;
	if (pthread_create(&thread, NULL, steps_run, &s) != 0)
		g_error("no thread");
	pthread_join(thread, NULL);
	OK(ibv_destroy_qp(s.a));
	OK(ibv_destroy_qp(s.b));
	bench_close(&s.bench);
	return 0;
}
