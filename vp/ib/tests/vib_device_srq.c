/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The libibverbs of vib_device.h: shared receive queues. */
#include "vib_device.h"

#include <errno.h>

struct ibv_srq *
ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	struct ibv_srq *srq;

	errno = device_verb();
	if (errno != 0)
		return NULL;
	srq = g_new0(struct ibv_srq, 1);
	srq->context = pd->context;
	srq->pd = pd;
	device_of_process->srq_attr = init->attr;
	device_of_process->srqs++;
	return srq;
}

int
ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	struct device *d = device_of_process;
	int turn = device_verb();

	(void)srq;
	if (d->srq_error != 0 || turn != 0)
		return d->srq_error != 0 ? d->srq_error : turn;
	if ((mask & IBV_SRQ_MAX_WR) != 0)
		d->srq_attr.max_wr = attr->max_wr;
	if ((mask & IBV_SRQ_LIMIT) != 0)
		d->srq_attr.srq_limit = attr->srq_limit;
	return 0;
}

int
ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	(void)srq;
	*attr = device_of_process->srq_attr;
	return 0;
}

int
ibv_destroy_srq(struct ibv_srq *srq)
{
	if (device_verb() != 0)
		return EBUSY;
	device_of_process->srqs--;
	g_free(srq);
	return 0;
}

int
device_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct device *d = device_of_process;

	(void)srq;
	*bad = wr;
	if (device_verb() != 0)
		return ENOMEM;
	d->received[d->recvs++ % DEVICE_ROOM] = wr->wr_id;
	return 0;
}
