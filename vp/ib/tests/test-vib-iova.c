/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Regions that are named by I/O addresses, over a device that the test plays (vib_device.h). */
#include <string.h>

#include "vib_cq.h"
#include "vib_data.h"
#include "vib_post.h"

#define NAMED UINT64_C(0x700000000000)

static _Alignas(4096) uint8_t memory[8192];

static struct ri_mr_init
init_of(uint64_t iova)
{
	return (struct ri_mr_init){.addr = (uintptr_t)memory,
				   .length = sizeof(memory),
				   .access = RI_ACCESS_LOCAL_READ | RI_ACCESS_LOCAL_WRITE |
					     RI_ACCESS_BIND,
				   .iova_given = true,
				   .iova = iova};
}

static uint64_t
named(struct ri_mr *mr)
{
	struct ri_mr_attr attr;

	g_assert_cmpint(vib_mem_ops.mr_query(mr, &attr), ==, RI_SUCCESS);
	return attr.addr;
}

/* The device gets it, and it is at the same place of a page as the memory. */
static void
test_register(void)
{
	struct ri_mr_init init = init_of(NAMED);
	struct device *d RI_AT_END(device_free) = device_new();
	struct ri_mr *mr;
	uint32_t stag;

	g_assert_cmpint(vib_mem_ops.mr_reg(d->pd, &init, &mr, &stag), ==, RI_SUCCESS);
	g_assert_cmphex(d->reg_iova, ==, NAMED);
	g_assert_cmphex(named(mr), ==, NAMED);
	/* Another one, and none: the virtual address again. */
	init.iova = 0;
	g_assert_cmpint(vib_mem_ops.mr_rereg(mr, d->pd, &init, &stag), ==, RI_SUCCESS);
	g_assert_cmphex(d->reg_iova, ==, 0);
	g_assert_cmphex(named(mr), ==, 0);
	init.iova_given = false;
	g_assert_cmpint(vib_mem_ops.mr_rereg(mr, d->pd, &init, &stag), ==, RI_SUCCESS);
	g_assert_cmphex(d->reg_iova, ==, (uintptr_t)memory);
	g_assert_cmphex(named(mr), ==, (uintptr_t)memory);
	g_assert_cmpint(vib_mem_ops.mr_dereg(mr), ==, RI_SUCCESS);

	init = init_of(NAMED + 1);
	g_assert_cmpint(vib_mem_ops.mr_reg(d->pd, &init, &mr, &stag), ==, RI_ERR_INVALID_ARG);
	init = init_of(UINT64_MAX - 4095);
	g_assert_cmpint(vib_mem_ops.mr_reg(d->pd, &init, &mr, &stag), ==, RI_ERR_ADDRESS);
	init = init_of(NAMED);
	init.zero_based = true;
	g_assert_cmpint(vib_mem_ops.mr_reg(d->pd, &init, &mr, &stag), ==, RI_ERR_UNSUPPORTED);
	init = init_of(NAMED);
	d->rnic.attr.iova = false;
	g_assert_cmpint(vib_mem_ops.mr_reg(d->pd, &init, &mr, &stag), ==, RI_ERR_UNSUPPORTED);
}

/* No payload of it is copied while it is posted: the library would copy from the I/O address. */
static void
test_not_copied(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qp RI_AT_END(data_qp_end) = device_qp(d, false);

	for (int i = 0; i < 3; i++) {
		const uint64_t iova[] = {NAMED, (uintptr_t)memory, 0};
		struct ri_mr_init init = init_of(iova[i]);
		struct data_region region = {.sge = {.addr = iova[i], .length = 8}};

		g_assert_cmpint(vib_mem_ops.mr_reg(d->pd, &init, &region.mr, &region.sge.stag), ==,
				RI_SUCCESS);
		g_assert_cmpint(data_post(qp, &region, 1, RI_WR_SIGNALED), ==, RI_SUCCESS);
		g_assert_cmpint((d->sent[i].wr.send_flags & IBV_SEND_INLINE) != 0, ==, i == 1);
		g_assert_cmphex(d->sent[i].sge.addr, ==, iova[i]);
		device_complete(d, IBV_WC_SUCCESS);
		data_poll(d, 1, RI_WC_SUCCESS);
		g_assert_cmpint(vib_mem_ops.mr_dereg(region.mr), ==, RI_SUCCESS);
	}
}

/* The sender of a datagram is read from the memory, not from the I/O address. */
static void
test_datagram(void)
{
	struct ri_mr_init init = init_of(NAMED);
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qp = device_qp(d, true);
	struct ri_sge sge = {.addr = NAMED + 100, .length = VIB_GRH + 20};
	const struct ri_recv_wr wr = {.wr_id = 3, .sgl = &sge, .num_sge = 1};
	struct ri_mr *mr;
	struct ri_wc wc;

	g_assert_cmpint(vib_mem_ops.mr_reg(d->pd, &init, &mr, &sge.stag), ==, RI_SUCCESS);
	g_assert_cmpint(vib_post_rq(&qp->user, &wr), ==, RI_SUCCESS);
	memory[100 + 20] = 0x45;
	memcpy(memory + 100 + 20 + 12, (const uint8_t[4]){192, 0, 2, 7}, 4);
	device_receive(
		d, 0,
		&(struct ibv_wc){.byte_len = VIB_GRH + 20, .wc_flags = IBV_WC_GRH, .src_qp = 4});
	g_assert_cmpuint(vib_poll_cq(&d->cq->user, &wc, 1), ==, 1);
	g_assert_cmpint(wc.flags & RI_WC_GRH, !=, 0);
	g_assert_cmpuint(wc.src_addr[15], ==, 7);
	g_assert_cmpuint(wc.src_addr[12], ==, 192);
	data_qp_end(&qp);
	g_assert_cmpint(vib_mem_ops.mr_dereg(mr), ==, RI_SUCCESS);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ib/iova/register", test_register);
	g_test_add_func("/ib/iova/not-copied", test_not_copied);
	g_test_add_func("/ib/iova/datagram", test_datagram);
	return g_test_run();
}
