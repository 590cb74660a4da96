/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Counts, under callgrind, what a post and a poll of the provider cost above the same calls of libibverbs, over a device
 * that the test plays (vib_device.h). A step runs in a window between the start of the counting and a dump with its name;
 * test_vib_count.py reads the dumps. "nothing" is what the counting costs.
 */
#include <pthread.h>
#include <valgrind/callgrind.h>

#include "vib_cq.h"
#include "vib_device.h"
#include "vib_post.h"

#define WINDOWS 9
#define WARM_UP 50 /* rounds, so that nothing is done for the first time */

static uint8_t memory[4096];

struct bench {
	struct device *device;
	struct vib_qp *qp;
	struct ri_sge large; /* is not copied at the post */
	struct ri_sge small;
};

static void
bare_post(struct bench *bench)
{
	struct ibv_send_wr wr, *bad;

	wr.wr_id = 1;
	wr.next = NULL;
	wr.sg_list = (struct ibv_sge *)(void *)&bench->large;
	wr.num_sge = 1;
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.rdma.remote_addr = 0x1000;
	wr.wr.rdma.rkey = 0xabc;
	if (ibv_post_send(bench->qp->user.qp, &wr, &bad) != 0)
		g_error("ibv_post_send");
}

static void
write_post(struct bench *bench, const struct ri_sge *piece)
{
	struct ri_wr wr;

	wr.wr_id = 1;
	wr.sgl = piece;
	wr.num_sge = 1;
	wr.opcode = RI_OP_RDMA_WRITE;
	wr.flags = RI_WR_SIGNALED;
	wr.u.remote.addr = 0x1000;
	wr.u.remote.stag = 0xabc;
	if (vib_post_sq(&bench->qp->user, &wr) != RI_SUCCESS)
		g_error("post_sq");
}

static void
our_post(struct bench *bench)
{
	write_post(bench, &bench->large);
}

static void
copied_post(struct bench *bench)
{
	write_post(bench, &bench->small);
}

static void
bare_poll(struct bench *bench)
{
	struct ibv_wc wc;

	if (ibv_poll_cq(bench->device->cq->user.cq, 1, &wc) != 1)
		g_error("ibv_poll_cq");
}

static void
our_poll(struct bench *bench)
{
	struct ri_wc wc;

	if (vib_poll_cq(&bench->device->cq->user, &wc, 1) != 1)
		g_error("poll_cq");
}

static void
nothing(struct bench *bench)
{
	(void)bench;
}

/* A completion is there. */
static void
completion_waits(struct bench *bench)
{
	our_post(bench);
	device_complete(bench->device, IBV_WC_SUCCESS);
}

static void
settle_post(struct bench *bench)
{
	device_complete(bench->device, IBV_WC_SUCCESS);
	our_poll(bench);
}

/* Nothing of ours was posted, so no slot waits for the completion. */
static void
settle_bare_post(struct bench *bench)
{
	device_complete(bench->device, IBV_WC_SUCCESS);
	bare_poll(bench);
}

/* The slot is still in use: complete the next request, which frees both. */
static void
settle_bare_poll(struct bench *bench)
{
	our_post(bench);
	settle_post(bench);
}

static const struct step {
	const char *name;
	void (*prepare)(struct bench *bench);
	void (*run)(struct bench *bench);
	void (*settle)(struct bench *bench);
} steps[] = {
	{"nothing", nothing, nothing, nothing},
	{"bare-post", nothing, bare_post, settle_bare_post},
	{"post", nothing, our_post, settle_post},
	{"post-copied", nothing, copied_post, settle_post},
	{"bare-poll", completion_waits, bare_poll, settle_bare_poll},
	{"poll", completion_waits, our_poll, nothing},
};

static void
step_once(const struct step *step, struct bench *bench, bool counted)
{
	step->prepare(bench);
	if (counted)
		CALLGRIND_START_INSTRUMENTATION;
	step->run(bench);
	if (counted) {
		CALLGRIND_DUMP_STATS_AT(step->name);
		CALLGRIND_STOP_INSTRUMENTATION;
	}
	step->settle(bench);
}

static void *
steps_run(void *arg)
{
	const struct ri_mr_init init = {.addr = (uintptr_t)memory,
					.length = sizeof(memory),
					.access = RI_ACCESS_LOCAL_READ};
	struct bench bench = {.device = device_new()};
	struct ri_mr *mr;
	uint32_t stag;

	(void)arg;
	if (vib_mem_ops.mr_reg(bench.device->pd, &init, &mr, &stag) != RI_SUCCESS)
		g_error("mr_reg");
	bench.qp = device_qp(bench.device, false);
	bench.large = (struct ri_sge){.addr = (uintptr_t)memory, .length = 1024, .stag = stag};
	bench.small = (struct ri_sge){.addr = (uintptr_t)memory, .length = 16, .stag = stag};
	for (unsigned i = 0; i < G_N_ELEMENTS(steps); i++) {
		for (unsigned round = 0; round < WARM_UP + WINDOWS; round++)
			step_once(&steps[i], &bench, round >= WARM_UP);
	}
	(void)!vib_qp_ops.destroy((struct ri_qp *)bench.qp);
	(void)!vib_mem_ops.mr_dereg(mr);
	device_free(&bench.device);
	return NULL;
}

int
main(void)
{
	pthread_t thread;

	/* The thread that is counted is the second one, as bench_count.py has it. */
	if (pthread_create(&thread, NULL, steps_run, NULL) != 0)
		g_error("no thread");
	pthread_join(thread, NULL);
	return 0;
}
