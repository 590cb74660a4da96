/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * User halves, and the table of fast entries. libibverbs maps the device's queues into this process when the privileged
 * half creates them, so a user half is a part of the privileged object, and its map is its address.
 */
#include "vib_cq.h"
#include "vib_objects.h"
#include "vib_post.h"

static enum ri_status
rnic_open(const struct ri_host *host, const struct ri_map *map, struct ri_urnic **out)
{
	(void)host;
	*out = (struct ri_urnic *)(uintptr_t)map->addr;
	return RI_SUCCESS;
}

static void
rnic_close(struct ri_urnic *rnic)
{
	(void)rnic;
}

static enum ri_status
cq_open(struct ri_urnic *rnic, const struct ri_map *map, struct ri_ucq **out)
{
	(void)rnic;
	*out = (struct ri_ucq *)(uintptr_t)map->addr;
	return RI_SUCCESS;
}

/* The privileged half has changed what both use. */
static enum ri_status
cq_remap(struct ri_ucq *cq, const struct ri_map *map)
{
	(void)cq;
	(void)map;
	return RI_SUCCESS;
}

static void
cq_close(struct ri_ucq *cq)
{
	(void)cq;
}

static enum ri_status
qp_open(struct ri_urnic *rnic, const struct ri_map *map, struct ri_ucq *send_cq,
	struct ri_ucq *recv_cq, struct ri_usrq *srq, struct ri_uqp **out)
{
	(void)rnic;
	(void)send_cq;
	(void)recv_cq;
	(void)srq;
	*out = (struct ri_uqp *)(uintptr_t)map->addr;
	return RI_SUCCESS;
}

static void
qp_close(struct ri_uqp *qp)
{
	(void)qp;
}

static enum ri_status
srq_open(struct ri_urnic *rnic, const struct ri_map *map, struct ri_usrq **out)
{
	(void)rnic;
	*out = (struct ri_usrq *)(uintptr_t)map->addr;
	return RI_SUCCESS;
}

static enum ri_status
srq_remap(struct ri_usrq *srq, const struct ri_map *map)
{
	(void)srq;
	(void)map;
	return RI_SUCCESS;
}

static void
srq_close(struct ri_usrq *srq)
{
	(void)srq;
}

/* Counters of an access layer that knows fewer are not written. Others may read `known` meanwhile. */
static void
qp_count(struct ri_uqp *qp, struct ri_qp_counters *counters)
{
	if (counters->size < sizeof(*counters))
		return;
	qp->count = counters;
	__atomic_store_n(&counters->known, RI_COUNTED_POSTS | RI_COUNTED_OCTETS, __ATOMIC_RELAXED);
}

static void
cq_count(struct ri_ucq *cq, struct ri_cq_counters *counters)
{
	if (counters->size < sizeof(*counters))
		return;
	cq->count = counters;
	__atomic_store_n(&counters->known, RI_COUNTED_DONE | RI_COUNTED_OCTETS | RI_COUNTED_ARMINGS,
			 __ATOMIC_RELAXED);
}

static void
srq_count(struct ri_usrq *srq, struct ri_qp_counters *counters)
{
	if (counters->size < sizeof(*counters))
		return;
	srq->count = counters;
	__atomic_store_n(&counters->known, RI_COUNTED_POSTS, __ATOMIC_RELAXED);
}

const struct ri_user_ops vib_user_ops = {
	.size = sizeof(struct ri_user_ops),
	.rnic_open = rnic_open,
	.rnic_close = rnic_close,
	.cq_open = cq_open,
	.cq_remap = cq_remap,
	.cq_close = cq_close,
	.qp_open = qp_open,
	.qp_close = qp_close,
	.srq_open = srq_open,
	.srq_remap = srq_remap,
	.srq_close = srq_close,
	.qp_count = qp_count,
	.cq_count = cq_count,
	.srq_count = srq_count,
};

const struct ri_fast_ops vib_fast_ops = {
	.size = sizeof(struct ri_fast_ops),
	.post_sq = vib_post_sq,
	.post_rq = vib_post_rq,
	.post_srq = vib_post_srq,
	.flush_sq = vib_flush_sq,
	.poll_cq = vib_poll_cq,
	.cq_depth = vib_cq_depth,
	.arm_cq = vib_arm_cq,
};
