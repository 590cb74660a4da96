/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What is reported of a failure to the layers above, over a device that the test plays (vib_device.h). */
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vib_cq.h"
#include "vib_data.h"
#include "vib_post.h"

/*
 * A datagram that fails [IT 5.2]: the event distinguishes a protection error from others. From the completion on, the queue pair has
 * failed: it cannot be reset before its end was raised.
 */
static void
test_ud_fails(void)
{
	static const struct {
		enum ibv_wc_status status;
		enum ri_wc_status told;
		enum ri_event event;
	} rows[] = {
		{IBV_WC_LOC_PROT_ERR, RI_WC_LOCAL_PROTECTION, RI_EVENT_QP_ACCESS},
		{IBV_WC_LOC_QP_OP_ERR, RI_WC_LOCAL_QP, RI_EVENT_QP_CATASTROPHIC},
		{IBV_WC_LOC_PROT_ERR, RI_WC_LOCAL_PROTECTION, RI_EVENT_QP_ACCESS},
	};
	const struct ri_qp_attr idle = {.state = RI_QPS_IDLE};
	const struct ri_recv_wr receive = {.wr_id = 7};
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qp RI_AT_END(data_qp_end) = device_qp(d, true);
	struct ri_qp_attr attr;

	for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
		const struct ibv_wc how = {.status = rows[i].status};

		g_assert_cmpint(vib_post_rq(&qp->user, &receive), ==, RI_SUCCESS);
		device_receive(d, i, &how);
		data_poll(d, 7, rows[i].told);
		g_assert_cmpint(vib_qp_ops.query((struct ri_qp *)qp, &attr), ==, RI_SUCCESS);
		g_assert_cmpuint(attr.state, ==, RI_QPS_ERROR);
		g_assert_cmpint(vib_qp_ops.modify((struct ri_qp *)qp, &idle, RI_QP_ATTR_STATE), ==,
				RI_ERR_STILL_FLUSHING);
		vth_run(d->vth);
		g_assert_cmpuint(d->async_events->len, ==, i + 1);
		g_assert_cmpint(g_array_index(d->async_events, struct ri_async_event, i).event, ==,
				rows[i].event);
		g_assert_cmpint(vib_qp_ops.modify((struct ri_qp *)qp, &idle, RI_QP_ATTR_STATE), ==,
				RI_SUCCESS);
		g_assert_cmpint(vib_qp_ops.query((struct ri_qp *)qp, &attr), ==, RI_SUCCESS);
		g_assert_cmpuint(attr.state, ==, RI_QPS_RTS);
	}
}

/* Memory that may only be read, and such as is not there. */
static void
test_read_only(void)
{
	const struct ri_mr_init read = {.addr = (uintptr_t)data_memory,
					.length = sizeof(data_memory),
					.access = RI_ACCESS_LOCAL_READ | RI_ACCESS_BIND};
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct ri_mr_init init = read;
	struct device *d RI_AT_END(device_free) = device_new();
	struct ri_mr_attr attr;
	char *half;
	struct ri_mr *mr;
	uint32_t stag;

	d->read_only = true;
	/* Without the right to bind, which needs pages that can be written. */
	g_assert_cmpint(vib_mem_ops.mr_reg(d->pd, &init, &mr, &stag), ==, RI_SUCCESS);
	g_assert_cmpint(vib_mem_ops.mr_query(mr, &attr), ==, RI_SUCCESS);
	g_assert_cmpuint(attr.access, ==, RI_ACCESS_LOCAL_READ);
	g_assert_cmpint(vib_mem_ops.mr_dereg(mr), ==, RI_SUCCESS);
	init.access |= RI_ACCESS_LOCAL_WRITE;
	g_assert_cmpint(vib_mem_ops.mr_reg(d->pd, &init, &mr, &stag), ==, RI_ERR_ACCESS);
	/* No memory is there, also not behind the first page. */
	init.addr = 64;
	init.length = 8;
	g_assert_cmpint(vib_mem_ops.mr_reg(d->pd, &init, &mr, &stag), ==, RI_ERR_ADDRESS);
	half = mmap(NULL, 2 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	g_assert_true(half != MAP_FAILED);
	init.addr = (uintptr_t)half;
	init.length = page + 1;
	g_assert_cmpint(vib_mem_ops.mr_reg(d->pd, &init, &mr, &stag), ==, RI_ERR_ACCESS);
	g_assert_cmpint(munmap(half + page, page), ==, 0);
	g_assert_cmpint(vib_mem_ops.mr_reg(d->pd, &init, &mr, &stag), ==, RI_ERR_ADDRESS);
	g_assert_cmpint(munmap(half, page), ==, 0);
	/* With it, where the memory allows it. */
	d->read_only = false;
	g_assert_cmpint(vib_mem_ops.mr_reg(d->pd, &read, &mr, &stag), ==, RI_SUCCESS);
	g_assert_cmpint(vib_mem_ops.mr_query(mr, &attr), ==, RI_SUCCESS);
	g_assert_cmpuint(attr.access, ==, read.access);
	g_assert_cmpint(vib_mem_ops.mr_dereg(mr), ==, RI_SUCCESS);
}

/* A status that libibverbs does not define is a failure of the queue pair; flags, lengths and numbers of it are not believed. */
static void
test_unknown_status(void)
{
	static const int statuses[] = {-1, IBV_WC_TM_ERR, IBV_WC_TM_RNDV_INCOMPLETE, 255, INT_MAX};

	for (size_t i = 0; i < G_N_ELEMENTS(statuses); i++) {
		const struct ibv_wc how = {.status = (enum ibv_wc_status)statuses[i],
					   .opcode = (enum ibv_wc_opcode)0x7777,
					   .byte_len = UINT32_MAX,
					   .qp_num = UINT32_MAX,
					   .invalidated_rkey = UINT32_MAX,
					   .wc_flags = UINT32_MAX};
		const struct ri_recv_wr receive = {.wr_id = 7};
		struct device *d RI_AT_END(device_free) = device_new();
		struct vib_qp *qp RI_AT_END(data_qp_end) = device_qp(d, false);
		struct ri_wc wc;

		g_assert_cmpint(vib_post_rq(&qp->user, &receive), ==, RI_SUCCESS);
		device_receive(d, 0, &how);
		g_assert_cmpuint(vib_poll_cq(&d->cq->user, &wc, 1), ==, 1);
		g_assert_cmpuint(wc.wr_id, ==, 7);
		g_assert_cmpint(wc.status, ==, RI_WC_LOCAL_QP);
		g_assert_cmpint(wc.opcode, ==, RI_OP_RECV);
		g_assert_cmpuint(wc.byte_len, ==, 0);
		g_assert_cmpuint(wc.flags & RI_WC_INVALIDATED, ==, 0);
		vth_advance(d->vth, 1000 * 1000);
		g_assert_cmpuint(d->cm_events->len, ==, 1);
	}
}

/* A device that makes a smaller queue than it was asked for would lose completions. */
static void
test_small_cq(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	uint32_t entries = 16;
	struct ri_map map;
	struct ri_cq *cq;

	d->cqe_less = 1;
	g_assert_cmpint(vib_cq_ops.create(d->context, 2, &entries, &cq, &map), ==,
			RI_ERR_RESOURCES);
	g_assert_true(vth_logged(d->vth, "a completion queue of 15 entries, not 16"));
	d->cqe_less = 100;
	g_assert_cmpint(vib_cq_ops.create(d->context, 2, &entries, &cq, &map), ==,
			RI_ERR_RESOURCES);
	d->cqe_less = -100;
	g_assert_cmpint(vib_cq_ops.create(d->context, 2, &entries, &cq, &map), ==, RI_SUCCESS);
	g_assert_cmpint(vib_cq_ops.destroy(cq), ==, RI_SUCCESS);
}

/* No more is copied than was asked for, though a device says that it copies anything. */
static void
test_inline(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct data_region region RI_AT_END(data_region_free);

	d->inline_lies = true;
	struct vib_qp *qp RI_AT_END(data_qp_end) = device_qp(d, false);
	g_assert_cmpuint(qp->user.max_inline, ==, d->inline_most);
	data_region_new(d, &region, sizeof(data_memory));
	g_assert_cmpint(data_post(qp, &region, 1, RI_WR_SIGNALED), ==, RI_SUCCESS);
	g_assert_cmpuint(d->sent[0].wr.send_flags & IBV_SEND_INLINE, ==, 0);
	device_complete(d, IBV_WC_SUCCESS);
	data_poll(d, 1, RI_WC_SUCCESS);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ib/failures/datagram", test_ud_fails);
	g_test_add_func("/ib/failures/read-only", test_read_only);
	g_test_add_func("/ib/failures/unknown-status", test_unknown_status);
	g_test_add_func("/ib/failures/small-cq", test_small_cq);
	g_test_add_func("/ib/failures/inline", test_inline);
	return g_test_run();
}
