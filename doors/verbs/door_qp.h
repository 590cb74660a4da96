/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Queue pairs. */
#ifndef DOOR_QP_H
#define DOOR_QP_H

#include "door_context.h"

struct door_cm_id;

struct door_qp {
	/* What programs have: the plain struct is the first member of the extended one. */
	union {
		struct ibv_qp qp;
		struct ibv_qp_ex ex;
	};
	struct door_adapter *adapter;
	uint32_t id;  /* of the kAL */
	uint64_t ctx; /* its slot */
	struct ri_uqp *queue;
	struct door_cm_id
		*cm; /* under door_slots::lock: the id that connects or has connected it, or NULL */
};

static inline struct door_qp *
door_qp_of(struct ibv_qp *qp)
{
	return (struct door_qp *)qp;
}

/*
 * The queue pair of that number; NULL: the adapter has none. Under door_slots::lock, which must be
 * owned as long as the result is used.
 */
struct door_qp *door_qp_numbered(struct door_adapter *adapter, uint32_t qpn);
/*
 * Under door_slots::lock, from dispatch or not: rdma_cm has connected it, or its connection is over.
 * The state that the program sees follows; no call of the kAL is made.
 */
void door_qp_connected(struct door_qp *qp);
void door_qp_ended(struct door_qp *qp);

#endif /* DOOR_QP_H */
