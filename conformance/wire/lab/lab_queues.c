/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A library for LD_PRELOAD in the guest, which makes each queue of a queue pair at least one entry
 * large. qperf creates empty queues for tests in which a side sends or receives nothing. siw
 * refuses an empty send queue, and libsiw cannot map an empty receive queue.
 */

#include <dlfcn.h>
#include <rdma/rdma_cma.h>
#include <string.h>

typedef int create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *attr);

int
rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	void *symbol = dlsym(RTLD_NEXT, "rdma_create_qp");
	create_qp *next;

	memcpy(&next, &symbol, sizeof(next));
	if (attr->cap.max_send_wr == 0)
		attr->cap.max_send_wr = 1;
	if (attr->cap.max_recv_wr == 0)
		attr->cap.max_recv_wr = 1;
	return next(id, pd, attr);
}
