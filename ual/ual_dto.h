/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The fast path, as itapi/ sees it: posting. No GLib, no locks of ours, no memory from the heap.
 */
#ifndef UAL_DTO_H
#define UAL_DTO_H

#include <stdbool.h>
#include <stddef.h>

#include "it_api.h"
#include "session_section.h"
#include "ual_object.h"

struct ri_wr;
struct ual_ep;
struct ual_evd;
struct ual_lmr;
struct ual_rmr;
struct ual_srq;

/*
 * Handles to objects within a SESSION_SECTION: NULL if the handle is not of that type.
 */

static inline struct ual_evd *
ual_evd_at(it_evd_handle_t handle)
{
	return (struct ual_evd *)ual_object_get(handle, UAL_EVD);
}

static inline struct ual_ep *
ual_ep_at(it_ep_handle_t handle)
{
	return (struct ual_ep *)ual_object_get(handle, UAL_EP);
}

static inline struct ual_lmr *
ual_lmr_at(it_lmr_handle_t handle)
{
	return (struct ual_lmr *)ual_object_get(handle, UAL_LMR);
}

static inline struct ual_rmr *
ual_rmr_at(it_rmr_handle_t handle)
{
	return (struct ual_rmr *)ual_object_get(handle, UAL_RMR);
}

static inline struct ual_srq *
ual_srq_at(it_srq_handle_t handle)
{
	return (struct ual_srq *)ual_object_get(handle, UAL_SRQ);
}

/* Operations that carry segments. */
enum ual_dto_op {
	UAL_DTO_SEND = 0,
	UAL_DTO_WRITE,
	UAL_DTO_READ,
	UAL_DTO_RECV,
	UAL_DTO_FETCH_ADD,
	UAL_DTO_CMP_SWAP,
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
	it_rdma_addr_t rdma_addr;         /* Write, Read and atomics */
	it_rmr_context_t rmr_context;     /* the same; Send with `unlink`: what the peer revokes */
	const it_rmr_triplet_t *sinks;    /* Read: into these, instead of segments */
	bool unlink;                      /* Send: it_post_send_and_unlink */
	uint64_t operand;                 /* atomics: what is added or compared with */
	uint64_t swap;                    /* compare-and-swap: the new value */
	bool datagram;                    /* for an endpoint for datagrams; SEND and RECV alone */
	const it_dg_remote_ep_addr_t *to; /* SEND of a datagram: where it goes */
};

/* What not every adapter can do. */
enum ual_dto_extra {
	UAL_DTO_X_NONE = 0,
	UAL_DTO_X_UNLINK,      /* it_post_send_and_unlink */
	UAL_DTO_X_READ_TO_RMR, /* it_post_rdma_read_to_rmr */
	UAL_DTO_X_ATOMICS      /* it_post_atomic */
};
/* Is it an endpoint for datagrams? */
bool ual_dto_is_datagram(const struct ual_ep *ep);
bool ual_dto_offers(const struct ual_ep *ep, enum ual_dto_extra extra);
/* Post to the send queue. dto->op is not RECV. */
it_status_t ual_dto_request(struct ual_ep *ep, const struct ual_dto *dto);
/* Memory of the peer. */
struct ual_dto_remote {
	it_rdma_addr_t addr;
	it_rmr_context_t context;
};
/* ual_dto_request for the two operations that are posted most. */
it_status_t ual_dto_send(struct ual_ep *ep, const it_lmr_triplet_t *segments, size_t num_segments,
			 it_dto_cookie_t cookie, it_dto_flags_t flags);
it_status_t ual_dto_write(struct ual_ep *ep, const it_lmr_triplet_t *segments, size_t num_segments,
			  it_dto_cookie_t cookie, it_dto_flags_t flags,
			  struct ual_dto_remote remote);
/* A datagram: dto->op is SEND, dto->to where it goes. */
it_status_t ual_dto_sendto(struct ual_ep *ep, const struct ual_dto *dto);
/*
 * Requests that carry no segments: links and unlinks. First the flags, of which `allowed` go with the
 * request, and the endpoint's state; then the post, whose flags are wr->flags as they are.
 */
#define UAL_DTO_LINK_FLAGS \
	(IT_COMPLETION_FLAG | IT_NOTIFY_FLAG | IT_BARRIER_FENCE_FLAG | IT_COALESCE_WR_FLAG)
#define UAL_DTO_UNLINK_FLAGS (UAL_DTO_LINK_FLAGS | IT_UNLINK_FENCE_FLAG)
it_status_t ual_dto_control_check(const struct ual_ep *ep, it_dto_flags_t flags,
				  unsigned int allowed);
it_status_t ual_dto_control(struct ual_ep *ep, const struct ri_wr *wr);
/* Post a receive. dto->op is RECV. */
it_status_t ual_dto_recv(struct ual_ep *ep, const struct ual_dto *dto);
/* ual_dto_recv to a shared receive queue. */
it_status_t ual_dto_recv_shared(struct ual_srq *srq, const struct ual_dto *dto);

#endif /* UAL_DTO_H */
