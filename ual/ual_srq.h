/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Shared receive queues, seen from inside ual/. What itapi/ calls is in ual.h and ual_dto.h.
 */
#ifndef UAL_SRQ_H
#define UAL_SRQ_H

#include "ual_ia.h"

struct ual_srq {
	struct ual_object object;

	/* Fast path. */
	struct ri_usrq *queue;
	uint32_t max_sge; /* segments of a receive, as granted */
	bool serialise;   /* the provider's queues are not safe for threads: use post_lock */
	enum ri_status (*post)(struct ri_usrq *queue, const struct ri_recv_wr *wr);

	pthread_mutex_t post_lock;

	uint32_t srq_id; /* kAL id */
	struct ual_pz *pz;

	pthread_mutex_t control; /* control lock: modify, free */
	atomic_uint max_recv_dtos;
};

_Static_assert(sizeof(struct ual_srq) <= UAL_SLOT_SIZE, "an S-RQ fits its slot");

#endif /* UAL_SRQ_H */
