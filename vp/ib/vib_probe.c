/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Properties that no attribute of a device has: whether a completion queue can be resized, how many
 * bytes of inline data a request can have, and whether there are unreliable connections. To find
 * these out, objects are created when the adapter is opened, and destroyed at once.
 */
#include "vib_probe.h"

#include <limits.h>

#define INLINE_MOST 1024 /* bytes; more is not asked for */
#define INLINE_STEP 8    /* bytes that a claim may be below what the device has */

/* A queue pair of one request with room for `bytes` of inline data; the room that it got, or -1: the device refuses it. */
static int
qp_try(struct ibv_pd *pd, struct ibv_cq *cq, enum ibv_qp_type type, uint32_t bytes)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = type,
		.cap = {.max_send_wr = 1,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = bytes},
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &attr);

	if (qp == NULL)
		return -1;
	(void)ibv_destroy_qp(qp);
	/* A device that says any number says nothing: it copies what was asked for. */
	if (attr.cap.max_inline_data > INLINE_MOST)
		return (int)bytes;
	return (int)attr.cap.max_inline_data;
}

void
vib_probe(struct ri_rnic *rnic)
{
	struct ri_rnic_attr *attr = &rnic->attr;
	struct ibv_cq *cq = ibv_create_cq(rnic->verbs, 1, NULL, NULL, 0);
	struct ibv_pd *pd;

	if (cq == NULL)
		return;
	pd = ibv_alloc_pd(rnic->verbs);
	if (pd != NULL) {
		/* Devices refuse a queue pair for which too much is asked, and some give more than was asked for. */
		uint32_t least = 0, beyond = INLINE_MOST + INLINE_STEP, ask = INLINE_MOST;

		while (least + INLINE_STEP < beyond) {
			int got = qp_try(pd, cq, IBV_QPT_RC, ask);

			if (got >= 0 && (uint32_t)got > least)
				least = (uint32_t)got;
			if (got < (int)ask)
				beyond = ask;
			ask = least + (beyond - least) / 2;
		}
		attr->max_inline = least;
		attr->inline_data = attr->max_inline != 0;
		attr->uc = !rnic->iwarp && qp_try(pd, cq, IBV_QPT_UC, 0) >= 0;
		(void)ibv_dealloc_pd(pd);
	}
	attr->cq_resizable = cq->cqe < INT_MAX && ibv_resize_cq(cq, cq->cqe + 1) == 0;
	(void)ibv_destroy_cq(cq);
}
