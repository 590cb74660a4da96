/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What some devices do otherwise (vib_quirk), over a device that the test plays: the forms of requests, and their slots. */

#include <glib.h>

#include "vib_chain.h"
#include "vib_data.h"
#include "vib_post.h"
#include "vib_profile.h"

/* Where a segment of no octets does harm, the device sees the others only, at once or later. */
static void
test_empty_segments(void)
{
	static const struct vib_quirk siw = {.driver = "siw", .empty_harms = true};

	for (unsigned i = 0; i < 4; i++) {
		bool harms = i % 2 == 0, kept = i >= 2;
		struct device *d RI_AT_END(device_free) = device_new();
		struct data_region region RI_AT_END(data_region_free);
		struct ri_sge pieces[2];
		struct ri_wr wr = {.wr_id = 1,
				   .sgl = pieces,
				   .num_sge = 2,
				   .opcode = RI_OP_SEND,
				   .flags = RI_WR_SIGNALED | (kept ? RI_WR_COALESCE : 0)};

		if (harms)
			d->rnic.quirk = &siw;
		struct vib_qp *qp RI_AT_END(data_qp_end) = device_qp(d, false);
		data_region_new(d, &region, 1000);
		pieces[0] = pieces[1] = region.sge;
		pieces[0].length = 0;
		pieces[1].length = 8;
		g_assert_cmpint(vib_post_sq(&qp->user, &wr), ==, RI_SUCCESS);
		if (kept)
			vib_flush_sq(&qp->user);
		g_assert_cmpuint(d->sends, ==, 1);
		g_assert_cmpint(d->sent[0].wr.num_sge, ==, harms ? 1 : 2);
		g_assert_cmpuint(d->sent[0].sge.length, ==, harms ? 8 : 0);
		device_complete(d, IBV_WC_SUCCESS);
		data_poll(d, 1, RI_WC_SUCCESS);
	}
}

/*
 * On a device that completes out of order, each request is signalled. The slot of a request without
 * a completion for the application is freed when the queue is full; the slot of one with a
 * completion stays in use until that is polled.
 */
static void
test_slots_out_of_order(void)
{
	for (unsigned i = 0; i < 2; i++) {
		uint32_t flags = i == 0 ? RI_WR_SIGNALED : 0;
		struct device *d RI_AT_END(device_free) = device_new();
		struct data_region region RI_AT_END(data_region_free);
		uint64_t posted = 0;

		d->cq->user.reorders = true;
		d->cq->user.direct = 0;
		struct vib_qp *qp RI_AT_END(data_qp_end) = device_qp_of(d, false, 4);
		data_region_new(d, &region, 1000);
		while (posted < qp->init.max_sq_wr)
			g_assert_cmpint(data_post(qp, &region, posted++, flags), ==, RI_SUCCESS);
		for (uint64_t done = 0; done < posted; done++)
			device_complete(d, IBV_WC_SUCCESS);
		if (i == 0) {
			g_assert_cmpint(data_post(qp, &region, posted, flags), ==,
					RI_ERR_QUEUE_FULL);
			data_poll(d, 0, RI_WC_SUCCESS);
		}
		g_assert_cmpint(data_post(qp, &region, posted, RI_WR_SIGNALED), ==, RI_SUCCESS);
		device_complete(d, IBV_WC_SUCCESS);
		for (uint64_t id = i == 0 ? 1 : posted; id <= posted; id++)
			data_poll(d, id, RI_WC_SUCCESS);
	}
}

/* Nor does it see a request or receive without a segment, or a Read with a fence. */
static void
test_no_segment(void)
{
	static const struct vib_quirk siw = {
		.driver = "siw", .empty_harms = true, .no_read_fence = true};
	static const struct vib_quirk usual = {.driver = ""};

	for (unsigned i = 0; i < 2; i++) {
		const struct vib_quirk *quirk = i == 0 ? &siw : &usual;
		struct device *d RI_AT_END(device_free) = device_new();
		const struct ri_recv_wr receive = {.wr_id = 9};
		struct data_region region RI_AT_END(data_region_free);
		struct ri_wr wr = {.wr_id = 1,
				   .opcode = RI_OP_SEND,
				   .flags = RI_WR_SIGNALED | RI_WR_READ_FENCE};

		d->rnic.quirk = quirk;
		struct vib_qp *qp RI_AT_END(data_qp_end) = device_qp(d, false);
		data_region_new(d, &region, 1000);
		g_assert_cmpint(vib_post_sq(&qp->user, &wr), ==, RI_SUCCESS);
		g_assert_cmpint(d->sent[0].wr.num_sge, ==, i == 0 ? 1 : 0);
		g_assert_cmpuint(d->sent[0].sge.length, ==, 0);
		g_assert_cmpuint(d->sent[0].wr.send_flags & IBV_SEND_FENCE, !=, 0);
		wr.opcode = RI_OP_RDMA_READ;
		wr.sgl = &region.sge;
		wr.num_sge = 1;
		g_assert_cmpint(vib_post_sq(&qp->user, &wr), ==, RI_SUCCESS);
		g_assert_cmpint((d->sent[1].wr.send_flags & IBV_SEND_FENCE) != 0, ==, i != 0);
		g_assert_cmpint(vib_post_rq(&qp->user, &receive), ==, RI_SUCCESS);
		g_assert_cmpint(d->received_sges, ==, i == 0 ? 1 : 0);
	}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ib/quirks/empty-segments", test_empty_segments);
	g_test_add_func("/ib/quirks/no-segment", test_no_segment);
	g_test_add_func("/ib/quirks/slots-out-of-order", test_slots_out_of_order);
	return g_test_run();
}
