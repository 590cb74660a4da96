/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Endpoints, seen from inside ual/. What itapi/ calls is in ual.h and ual_dto.h.
 */
#ifndef UAL_EP_H
#define UAL_EP_H

#include <pthread.h>

#include "ual_dto.h"
#include "ual_ep_states.h"
#include "ual_evd.h"
#include "ual_ia.h"
#include "ual_srq.h"

struct ual_ep_wanted;

struct ual_ep {
	struct ual_object object;

	/* Fast path; all but the state and the limits is fixed at creation. */
	atomic_uint state; /* enum ual_ep_state; ual_ep_step alone writes it */
	bool ud;           /* for datagrams; there is no connection then */
	bool privileged;   /* may name memory by I/O address and post links of regions */
	bool serialise;    /* the provider's queues are not safe for threads: use post_lock */
	it_ep_rc_creation_flags_t flags;
	atomic_size_t max_payload;          /* bytes of a message */
	atomic_uint max_sge[UAL_DTO_COUNT]; /* segments of each operation */
	struct ri_uqp *qp;
	enum ri_status (*post_sq)(struct ri_uqp *qp, const struct ri_wr *wr);
	enum ri_status (*post_rq)(struct ri_uqp *qp, const struct ri_recv_wr *wr);

	pthread_mutex_t post_lock; /* around post_sq and post_rq if serialise */

	/* Fixed at creation. */
	uint32_t qp_id; /* kAL id */
	uint32_t qpn;   /* its number, for the log */
	struct ual_pz *pz;
	struct ual_evd *request;
	struct ual_evd *recv;
	struct ual_evd *connect;             /* NULL for datagrams */
	struct ual_srq *srq;                 /* or NULL */
	uint32_t granted_sge[UAL_DTO_COUNT]; /* what the provider granted; max_sge may be less */

	pthread_mutex_t control; /* control lock: connect to reset, modify, free */

	pthread_mutex_t lock; /* event lock of all that follows, and of moves that owe an event */
	it_ep_attributes_t attr; /* as the application sees them */
	uint32_t ord;            /* as created or modified; a reset restores it */
	uint16_t peer_port;      /* network order; with the path; 0: not known */
	it_path_t path; /* zero from reset to connecting or accepting; datagrams: the spigot */
	bool path_comes; /* a socket is being converted: the call or the event, whichever is first, sets the path */
	it_cn_est_identifier_t
		arrival; /* id of the accept that we await, or that awaits our answer; or 0 */
	uint32_t arrival_ird, arrival_ord; /* the peer's own, of that accept */
};

_Static_assert(sizeof(struct ual_ep) <= UAL_SLOT_SIZE, "an endpoint fits its slot");

/* A queue has one slot at least. */
uint32_t ual_ep_slots(size_t count);
/* The granted segments that posts can use. */
size_t ual_ep_segments(uint32_t granted);
/* Longest message or datagram of an adapter: lengths in completions have 32 bits. */
uint64_t ual_ep_payload_limit(const struct ri_rnic_attr *attr, bool ud);
/* Attributes for a new endpoint [IT 3], [IT 15.4]; *attr is not NULL. */
it_status_t ual_ep_attr_check(const struct ual_ia *ia, it_ep_rc_creation_flags_t flags,
			      const it_ep_attributes_t *attr);
/* Attributes for a new endpoint for datagrams. */
it_status_t ual_ep_attr_check_ud(const struct ual_ia *ia, const it_ep_attributes_t *attr);
/* May this process use that key for datagrams? Keys with the highest bit are for privileged processes. */
static inline bool
ual_ep_key_allowed(const struct ual_ia *ia, it_ud_ep_key_t key)
{
	return (key & 0x80000000u) == 0 || ia->privileged;
}
/* Watermarks of an endpoint with an S-RQ [IT 12]. */
it_status_t ual_ep_watermarks_check(const struct ual_ep *ep, const it_rc_only_attributes_t *rc);
/* A hard watermark as providers count it. */
uint32_t ual_ep_hard_limit(const it_rc_only_attributes_t *rc);
/* The rights that the peer has, as RI_ACCESS_* bits. */
uint32_t ual_ep_access(const struct ual_ia *ia, const it_rc_only_attributes_t *rc);
/* Copy the segment limits of ep->attr to ep->max_sge, which posts read. */
void ual_ep_limits(struct ual_ep *ep);
/* Post a checked request; ual_dto.c. */
enum ri_status ual_dto_post(struct ual_ep *ep, const struct ri_wr *wr) RI_MUST_CHECK;

/* One KAL_QP_MODIFY. */
enum ri_status ual_ep_qp_modify(struct ual_ep *ep, const struct ri_qp_attr *attr,
				uint32_t mask) RI_MUST_CHECK;

#endif /* UAL_EP_H */
