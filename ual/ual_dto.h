/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The fast path, as itapi/ sees it: posting. No GLib, no locks of ours, no memory from the heap.
 */
#ifndef UAL_DTO_H
#define UAL_DTO_H

#include <stddef.h>

#include "it_api.h"

struct ual_ep;
struct ual_srq;

/* Operations that carry segments. */
enum ual_dto_op {
	UAL_DTO_SEND = 0,
	UAL_DTO_WRITE,
	UAL_DTO_READ,
	UAL_DTO_RECV,
	UAL_DTO_COUNT
};

/* Most segments that any endpoint is granted. */
#define UAL_DTO_SEGMENTS_MAX 32

/* One operation, as its entry point was given it. */
struct ual_dto {
	enum ual_dto_op op;
	it_dto_flags_t flags;
	const it_lmr_triplet_t *segments;
	size_t num_segments;
	it_dto_cookie_t cookie;
	it_rdma_addr_t rdma_addr;     /* Write and Read */
	it_rmr_context_t rmr_context; /* Write and Read */
};

/* Post to the send queue of an RC endpoint. dto->op is not RECV. */
it_status_t ual_dto_request(struct ual_ep *ep, const struct ual_dto *dto);
/* Post a receive to an RC endpoint. dto->op is RECV. */
it_status_t ual_dto_recv(struct ual_ep *ep, const struct ual_dto *dto);
/* The same to a shared receive queue. */
it_status_t ual_dto_recv_shared(struct ual_srq *srq, const struct ual_dto *dto);

#endif /* UAL_DTO_H */
