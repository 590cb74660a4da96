/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* See vib_data.h. */
#include "vib_data.h"

#include "vib_cq.h"
#include "vib_post.h"

uint8_t data_memory[4096];

void
data_region_new(struct device *d, struct data_region *region, uint32_t length)
{
	const struct ri_mr_init init = {.addr = (uintptr_t)data_memory,
					.length = sizeof(data_memory),
					.access = RI_ACCESS_LOCAL_READ | RI_ACCESS_LOCAL_WRITE |
						  RI_ACCESS_BIND};

	g_assert_cmpint(vib_mem_ops.mr_reg(d->pd, &init, &region->mr, &region->stag), ==,
			RI_SUCCESS);
	region->sge = (struct ri_sge){
		.addr = (uintptr_t)data_memory, .length = length, .stag = region->stag};
}

void
data_region_free(struct data_region *region)
{
	g_assert_cmpint(vib_mem_ops.mr_dereg(region->mr), ==, RI_SUCCESS);
}

enum ri_status
data_post(struct vib_qp *qp, const struct data_region *region, uint64_t id, uint32_t flags)
{
	const struct ri_wr wr = {.wr_id = id,
				 .sgl = &region->sge,
				 .num_sge = 1,
				 .opcode = RI_OP_RDMA_WRITE,
				 .flags = flags,
				 .u.remote = {.addr = 0x1000 + id, .stag = 0xabc}};

	return vib_post_sq(&qp->user, &wr);
}

void
data_poll(struct device *d, uint64_t id, enum ri_wc_status status)
{
	struct ri_wc wc;

	g_assert_cmpuint(vib_poll_cq(&d->cq->user, &wc, 1), ==, 1);
	g_assert_cmpuint(wc.wr_id, ==, id);
	g_assert_cmpint(wc.status, ==, status);
}

void
data_poll_none(struct device *d)
{
	struct ri_wc wc;

	g_assert_cmpuint(vib_poll_cq(&d->cq->user, &wc, 1), ==, 0);
}

void
data_qp_end(struct vib_qp **qp)
{
	g_assert_cmpint(vib_qp_ops.destroy((struct ri_qp *)*qp), ==, RI_SUCCESS);
}
