/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * [fast path] Posts to the provider's queues, and the conversion of completions.
 *
 * A post replaces the LMR handle of each segment by an STag, in an array on the stack, and calls the provider, which checks
 * bounds, rights and zones when the request runs. The checks here are made once, cheaply and in any order. Only a
 * post that fails looks for the failure that [IT 1.2] wants to be reported first.
 *
 * No lock, unless the provider's queues want one thread at a time; that lock is never taken by anything that the
 * provider may call back. The state is read once: in UNCONNECTED and while a connection comes about the send queue
 * refuses and receives are kept; from CONNECTED on, in NONOPERATIONAL too, everything goes to the provider, which
 * flushes it. The same comparison excludes endpoints for datagrams, whose states have greater numbers. A
 * completion needs no look-up: its context is the endpoint's handle, its number the cookie.
 */

#include "ual_dto.h"

#include <string.h>

#include "ual.h"
#include "ual_addr.h"
#include "ual_ah.h"
#include "ual_ep.h"
#include "ual_key.h"
#include "ual_mem.h"
#include "ual_rmr.h"
#include "ual_srq.h"
#include "ual_status.h"

/* The standard's bits and the provider interface's are the same, so flags pass through. */
_Static_assert((int)IT_COMPLETION_FLAG == (int)RI_WR_SIGNALED, "same bit");
_Static_assert((int)IT_NOTIFY_FLAG == (int)RI_WR_NOTIFY, "same bit");
_Static_assert((int)IT_SOLICITED_WAIT_FLAG == (int)RI_WR_SOLICITED, "same bit");
_Static_assert((int)IT_BARRIER_FENCE_FLAG == (int)RI_WR_READ_FENCE, "same bit");
_Static_assert((int)IT_UNLINK_FENCE_FLAG == (int)RI_WR_LOCAL_FENCE, "same bit");
_Static_assert((int)IT_UNLINK_LOCAL_SINK == (int)RI_WR_INVALIDATE, "same bit");
_Static_assert((int)IT_COALESCE_WR_FLAG == (int)RI_WR_COALESCE, "same bit");

#define REQUEST_FLAGS \
	(IT_COMPLETION_FLAG | IT_NOTIFY_FLAG | IT_BARRIER_FENCE_FLAG | IT_COALESCE_WR_FLAG)

/* Which flags an operation takes [IT 7.2], and its opcode below. */
static const struct {
	uint8_t opcode;
	uint8_t flags;
} kinds[UAL_DTO_COUNT] = {
	[UAL_DTO_SEND] = {RI_OP_SEND, REQUEST_FLAGS | IT_SOLICITED_WAIT_FLAG},
	[UAL_DTO_WRITE] = {RI_OP_RDMA_WRITE, REQUEST_FLAGS},
	[UAL_DTO_READ] = {RI_OP_RDMA_READ, REQUEST_FLAGS | IT_UNLINK_LOCAL_SINK},
	[UAL_DTO_RECV] = {RI_OP_RECV, IT_COMPLETION_FLAG | IT_NOTIFY_FLAG | IT_COALESCE_WR_FLAG},
	[UAL_DTO_FETCH_ADD] = {RI_OP_FETCH_ADD, REQUEST_FLAGS},
	[UAL_DTO_CMP_SWAP] = {RI_OP_CMP_SWAP, REQUEST_FLAGS},
};

static bool
adapter_dead(const struct ual_ia *ia)
{
	/* Relaxed: a post at the instant of the failure may see either. */
	return atomic_load_explicit(&ia->session.dead, memory_order_relaxed);
}

/* May requests of a connected endpoint be posted? Never if it is one for datagrams. */
static bool
takes_requests(const struct ual_ep *ep)
{
	/* Acquire: a thread that reads CONNECTED also sees what was written before it. */
	return atomic_load_explicit(&ep->state, memory_order_acquire) - UAL_EPS_CONNECTED <=
	       UAL_EPS_NONOPERATIONAL - UAL_EPS_CONNECTED;
}

/* The address handle of a datagram, NULL if it is not one of the endpoint's zone. */
static const struct ual_ah *
ah_of(const struct ual_ep *ep, const it_dg_remote_ep_addr_t *to)
{
	const struct ual_ah *ah =
		to->type == IT_DG_TYPE_IB_UD ? ual_object_get(to->addr.ud.addr, UAL_AH) : NULL;

	return ah != NULL && ah->pz == ep->pz ? ah : NULL;
}

static bool
key_allowed(const struct ual_ep *ep, const it_dg_remote_ep_addr_t *to)
{
	return ual_ep_key_allowed(ep->object.ia, to->addr.ud.ep_info.ud_ep_key);
}

/* The LMR of a segment, NULL if it is not one of this adapter. */
static const struct ual_lmr *
lmr_of(const struct ual_ia *ia, const it_lmr_triplet_t *segment)
{
	const struct ual_lmr *lmr = ual_object_get(segment->lmr, UAL_LMR);

	return lmr != NULL && lmr->object.ia == ia ? lmr : NULL;
}

/* I/O addresses are for privileged endpoints, and never for receives that others could take. */
static bool
may_name(const struct ual_lmr *lmr, bool privileged)
{
	return privileged || !lmr->direct;
}

/* The first reason to refuse a post that lies in its segments or in the adapter, at most `limit`. */
static it_status_t
segments_refusal(const struct ual_ia *ia, bool privileged, const struct ual_dto *dto, size_t limit)
{
	/* A count beyond the limit may be garbage: not one segment is looked at. */
	size_t readable = dto->num_segments <= limit ? dto->num_segments : 0;

	if (adapter_dead(ia))
		return IT_ERR_IA_CATASTROPHE;
	for (size_t i = 0; i < readable; i++) {
		const struct ual_rmr *rmr;
		const struct ual_lmr *lmr;

		if (dto->segments == NULL) {
			rmr = ual_rmr_at(dto->sinks[i].rmr);
			if (rmr == NULL || rmr->object.ia != ia)
				return IT_ERR_INVALID_RMR;
			continue;
		}
		if (dto->segments[i].length == 0)
			continue;
		lmr = lmr_of(ia, &dto->segments[i]);
		if (lmr == NULL)
			return IT_ERR_INVALID_LMR;
		if (!may_name(lmr, privileged))
			return IT_ERR_PRIV_OPS_UNAVAILABLE;
	}
	return IT_SUCCESS;
}

/* The flags that go with the operation here and now. */
static inline unsigned int
flags_allowed(const struct ual_ep *ep, const struct ual_dto *dto)
{
	unsigned int flags = kinds[dto->op].flags;

	/* One sink can be unlinked at the end of a Read, where the adapter does such things. */
	if (dto->op == UAL_DTO_READ &&
	    (dto->num_segments != 1 || !ep->object.ia->session.attr.read_local_extensions))
		flags &= ~(unsigned int)IT_UNLINK_LOCAL_SINK;
	return flags;
}

/* Why a post is refused, the first reason by [IT 1.2]: handles, flags, state, limits. */
static it_status_t
post_refusal(const struct ual_ep *ep, const struct ual_dto *dto)
{
	size_t limit = ep->max_sge[dto->op];
	it_status_t status = IT_ERR_INVALID_EP_TYPE;

	if (ep->ud == dto->datagram)
		status = segments_refusal(ep->object.ia, ep->privileged, dto, limit);
	if (status == IT_SUCCESS && dto->to != NULL && ah_of(ep, dto->to) == NULL)
		status = IT_ERR_INVALID_AH;
	if (status != IT_SUCCESS)
		return status;
	if (((unsigned int)dto->flags & ~flags_allowed(ep, dto)) != 0)
		return IT_ERR_INVALID_DTO_FLAGS;
	if (dto->op != UAL_DTO_RECV && !dto->datagram && !takes_requests(ep))
		return IT_ERR_INVALID_EP_STATE;
	if (dto->num_segments > limit)
		return IT_ERR_INVALID_NUM_SEGMENTS;
	if (dto->to != NULL && !key_allowed(ep, dto->to))
		return IT_ERR_INVALID_EP_KEY;
	/* Left over: too long; or an LMR that was freed when convert looked. */
	return dto->op == UAL_DTO_RECV ? IT_ERR_INVALID_LMR : IT_ERR_PAYLOAD_SIZE;
}

/* One segment for the provider. One of no octets is not looked at [IT 7.4.3]. */
static inline bool
segment_convert(const struct ual_ia *ia, bool privileged, const it_lmr_triplet_t *segment,
		struct ri_sge *sge)
{
	const struct ual_lmr *lmr;

	if (segment->length == 0) {
		*sge = (struct ri_sge){0};
		return true;
	}
	lmr = lmr_of(ia, segment);
	if (lmr == NULL || !may_name(lmr, privileged))
		return false;
	/* Relaxed: a key that changes meanwhile is checked when the request runs. An I/O address is a pointer. */
	sge->addr =
		atomic_load_explicit(&lmr->addr_mode, memory_order_relaxed) == IT_ADDR_MODE_RELATIVE
			? (uint64_t)segment->addr.rel
			: (uintptr_t)segment->addr.abs;
	/* A receive segment may be longer than any message. */
	sge->length = segment->length < UINT32_MAX ? (uint32_t)segment->length : UINT32_MAX;
	sge->stag = ual_lmr_stag(lmr);
	return true;
}

/* Sinks of a Read, which are RMRs. */
static __attribute__((noinline)) bool
sinks_convert(const struct ual_ep *ep, const it_rmr_triplet_t *sinks, size_t count,
	      struct ri_sge *sgl, uint64_t room)
{
	for (size_t i = 0; i < count; i++) {
		struct ual_rmr *rmr;

		if (sinks[i].length > room)
			return false;
		rmr = ual_rmr_at(sinks[i].rmr);
		if (rmr == NULL || rmr->object.ia != ep->object.ia)
			return false;
		pthread_mutex_lock(&rmr->lock);
		sgl[i].stag = atomic_load(&rmr->key.stag);
		sgl[i].addr = rmr->link.addr_mode == IT_ADDR_MODE_RELATIVE
				      ? (uint64_t)sinks[i].addr.rel
				      : (uintptr_t)sinks[i].addr.abs;
		pthread_mutex_unlock(&rmr->lock);
		sgl[i].length = (uint32_t)sinks[i].length; /* no longer than a message */
		room -= sinks[i].length;
	}
	return true;
}

/* Several segments of LMRs for the provider. */
static __attribute__((noinline)) bool
segments_convert(const struct ual_ep *ep, const it_lmr_triplet_t *segments, size_t count,
		 struct ri_sge *sgl, uint64_t room)
{
	for (size_t i = 0; i < count; i++) {
		if (segments[i].length > room ||
		    !segment_convert(ep->object.ia, ep->privileged, &segments[i], &sgl[i]))
			return false;
		room -= segments[i].length;
	}
	return true;
}

/* All segments for the provider, at most `room` octets. Most requests have one. */
static inline __attribute__((always_inline)) bool
convert_all(const struct ual_ep *ep, const struct ual_dto *dto, struct ri_sge *sgl, uint64_t room)
{
	if (__builtin_expect(dto->sinks != NULL, 0))
		return sinks_convert(ep, dto->sinks, dto->num_segments, sgl, room);
	if (__builtin_expect(dto->num_segments != 1, 0))
		return segments_convert(ep, dto->segments, dto->num_segments, sgl, room);
	return dto->segments->length <= room &&
	       segment_convert(ep->object.ia, ep->privileged, dto->segments, sgl);
}

enum ri_status
ual_dto_post(struct ual_ep *ep, const struct ri_wr *wr)
{
	enum ri_status status;

	if (!ep->serialise)
		return ep->post_sq(ep->qp, wr);
	pthread_mutex_lock(&ep->post_lock);
	status = ep->post_sq(ep->qp, wr);
	pthread_mutex_unlock(&ep->post_lock);
	return status;
}

/* What is no context of ours must not become one by losing its upper half. */
static inline uint32_t
stag_of(it_rmr_context_t context)
{
	return context <= UINT32_MAX ? (uint32_t)context : 0;
}

bool
ual_dto_is_datagram(const struct ual_ep *ep)
{
	return ep->ud;
}

bool
ual_dto_offers(const struct ual_ep *ep, enum ual_dto_extra extra)
{
	const struct ri_rnic_attr *attr = &ep->object.ia->session.attr;

	switch (extra) {
	case UAL_DTO_X_UNLINK:
		return attr->send_invalidate;
	case UAL_DTO_X_READ_TO_RMR:
		return attr->read_local_extensions;
	case UAL_DTO_X_ATOMICS:
		return attr->atomics;
	case UAL_DTO_X_NONE:
	default:
		return true;
	}
}

/*
 * Why a request of a connection is refused. It is a separate function that gets the members of the
 * caller's struct ual_dto singly, so that a post that is not refused need not have that struct in
 * memory.
 */
static __attribute__((noinline, cold)) it_status_t
request_refusal(const struct ual_ep *ep, enum ual_dto_op op, it_dto_flags_t flags,
		const it_lmr_triplet_t *segments, const it_rmr_triplet_t *sinks, size_t count)
{
	const struct ual_dto dto = {.op = op,
				    .flags = flags,
				    .segments = segments,
				    .sinks = sinks,
				    .num_segments = count};

	return post_refusal(ep, &dto);
}

/* Inlined, so that a caller who says what the operation is has the tests that remain. */
static inline __attribute__((always_inline)) it_status_t
request_post(struct ual_ep *ep, const struct ual_dto *dto)
{
	struct ri_sge sgl[UAL_DTO_SEGMENTS_MAX];
	struct ri_wr wr;

	if (((unsigned int)dto->flags & ~flags_allowed(ep, dto)) != 0 ||
	    dto->num_segments > ep->max_sge[dto->op] || !takes_requests(ep) ||
	    adapter_dead(ep->object.ia) || !convert_all(ep, dto, sgl, ep->max_payload))
		return request_refusal(ep, dto->op, dto->flags, dto->segments, dto->sinks,
				       dto->num_segments);
	wr.wr_id = dto->cookie;
	wr.sgl = sgl;
	wr.num_sge = (uint16_t)dto->num_segments;
	wr.opcode = kinds[dto->op].opcode;
	wr.reserved = 0;
	wr.flags = (uint32_t)dto->flags | (dto->unlink ? RI_WR_INVALIDATE : 0);
	wr.inv_stag = dto->unlink ? stag_of(dto->rmr_context) : 0;
	wr.u.remote.addr = dto->rdma_addr;
	wr.u.remote.stag = stag_of(dto->rmr_context);
	wr.u.remote.reserved = 0;
	wr.u.remote.operand = dto->operand;
	wr.u.remote.swap = dto->swap;
	return ual_dto_control(ep, &wr);
}

it_status_t
ual_dto_request(struct ual_ep *ep, const struct ual_dto *dto)
{
	return request_post(ep, dto);
}

it_status_t
ual_dto_send(struct ual_ep *ep, const it_lmr_triplet_t *segments, size_t num_segments,
	     it_dto_cookie_t cookie, it_dto_flags_t flags)
{
	const struct ual_dto dto = {.op = UAL_DTO_SEND,
				    .flags = flags,
				    .segments = segments,
				    .num_segments = num_segments,
				    .cookie = cookie};

	return request_post(ep, &dto);
}

it_status_t
ual_dto_write(struct ual_ep *ep, const it_lmr_triplet_t *segments, size_t num_segments,
	      it_dto_cookie_t cookie, it_dto_flags_t flags, struct ual_dto_remote remote)
{
	const struct ual_dto dto = {.op = UAL_DTO_WRITE,
				    .flags = flags,
				    .segments = segments,
				    .num_segments = num_segments,
				    .cookie = cookie,
				    .rdma_addr = remote.addr,
				    .rmr_context = remote.context};

	return request_post(ep, &dto);
}

/* As ual_dto_request, to whom each datagram says. */
it_status_t
ual_dto_sendto(struct ual_ep *ep, const struct ual_dto *dto)
{
	const struct ual_ah *ah = ep->ud ? ah_of(ep, dto->to) : NULL;
	struct ri_sge sgl[UAL_DTO_SEGMENTS_MAX];
	struct ri_wr wr;

	if (((unsigned int)dto->flags & ~flags_allowed(ep, dto)) != 0 || ah == NULL ||
	    dto->num_segments > ep->max_sge[dto->op] || !key_allowed(ep, dto->to) ||
	    adapter_dead(ep->object.ia) || !convert_all(ep, dto, sgl, ep->max_payload))
		return post_refusal(ep, dto);
	wr.wr_id = dto->cookie;
	wr.sgl = sgl;
	wr.num_sge = (uint16_t)dto->num_segments;
	wr.opcode = RI_OP_SEND_UD;
	wr.reserved = 0;
	wr.flags = (uint32_t)dto->flags;
	wr.inv_stag = 0;
	wr.u.ud.ah = ah->wire;
	wr.u.ud.qpn = dto->to->addr.ud.ep_info.ud_ep_id;
	wr.u.ud.qkey = dto->to->addr.ud.ep_info.ud_ep_key;
	return ual_dto_control(ep, &wr);
}

it_status_t
ual_dto_control_check(const struct ual_ep *ep, it_dto_flags_t flags, unsigned int allowed)
{
	if (adapter_dead(ep->object.ia))
		return IT_ERR_IA_CATASTROPHE;
	if (!ep->object.ia->session.attr.local_fence)
		allowed &= ~(unsigned int)IT_UNLINK_FENCE_FLAG;
	if (((unsigned int)flags & ~allowed) != 0)
		return IT_ERR_INVALID_DTO_FLAGS;
	return takes_requests(ep) ? IT_SUCCESS : IT_ERR_INVALID_EP_STATE;
}

it_status_t
ual_dto_control(struct ual_ep *ep, const struct ri_wr *wr)
{
	enum ri_status status = ual_dto_post(ep, wr);

	return status == RI_SUCCESS ? IT_SUCCESS : ual_status(UAL_CALL_POST_SEND, status);
}

it_status_t
ual_dto_recv(struct ual_ep *ep, const struct ual_dto *dto)
{
	struct ri_sge sgl[UAL_DTO_SEGMENTS_MAX];
	enum ri_status status;
	struct ri_recv_wr wr;

	if ((ep->flags & IT_EP_SRQ) != 0 && !dto->datagram)
		return IT_ERR_INVALID_EP; /* */
	if (ep->ud != dto->datagram ||
	    ((unsigned int)dto->flags & ~(unsigned int)kinds[UAL_DTO_RECV].flags) != 0 ||
	    dto->num_segments > ep->max_sge[UAL_DTO_RECV] || adapter_dead(ep->object.ia))
		return post_refusal(ep, dto);
	for (size_t i = 0; i < dto->num_segments; i++) {
		if (!segment_convert(ep->object.ia, ep->privileged, &dto->segments[i], &sgl[i]))
			return post_refusal(ep, dto);
	}
	wr.wr_id = dto->cookie;
	wr.sgl = sgl;
	wr.num_sge = (uint16_t)dto->num_segments;
	wr.reserved = 0;
	wr.flags = (uint32_t)dto->flags & RI_WR_NOTIFY;
	if (!ep->serialise) {
		status = ep->post_rq(ep->qp, &wr);
	} else {
		pthread_mutex_lock(&ep->post_lock);
		status = ep->post_rq(ep->qp, &wr);
		pthread_mutex_unlock(&ep->post_lock);
	}
	return status == RI_SUCCESS ? IT_SUCCESS : ual_status(UAL_CALL_POST_RECV, status);
}

/* As refusal, for a shared receive queue. */
static it_status_t
refusal_shared(const struct ual_srq *srq, const struct ual_dto *dto)
{
	it_status_t status = segments_refusal(srq->object.ia, false, dto, srq->max_sge);

	if (status != IT_SUCCESS)
		return status;
	if (((unsigned int)dto->flags & ~(unsigned int)kinds[UAL_DTO_RECV].flags) != 0)
		return IT_ERR_INVALID_DTO_FLAGS;
	return dto->num_segments > srq->max_sge ? IT_ERR_INVALID_NUM_SEGMENTS : IT_ERR_INVALID_LMR;
}

it_status_t
ual_dto_recv_shared(struct ual_srq *srq, const struct ual_dto *dto)
{
	struct ri_sge sgl[UAL_DTO_SEGMENTS_MAX];
	enum ri_status status;
	struct ri_recv_wr wr;

	if (((unsigned int)dto->flags & ~(unsigned int)kinds[UAL_DTO_RECV].flags) != 0 ||
	    dto->num_segments > srq->max_sge || adapter_dead(srq->object.ia))
		return refusal_shared(srq, dto);
	for (size_t i = 0; i < dto->num_segments; i++) {
		if (!segment_convert(srq->object.ia, false, &dto->segments[i], &sgl[i]))
			return refusal_shared(srq, dto);
	}
	wr.wr_id = dto->cookie;
	wr.sgl = sgl;
	wr.num_sge = (uint16_t)dto->num_segments;
	wr.reserved = 0;
	wr.flags = (uint32_t)dto->flags & RI_WR_NOTIFY;
	if (srq->serialise)
		pthread_mutex_lock(&srq->post_lock);
	status = srq->post(srq->queue, &wr);
	if (srq->serialise)
		pthread_mutex_unlock(&srq->post_lock);
	return status == RI_SUCCESS ? IT_SUCCESS : ual_status(UAL_CALL_POST_RECV, status);
}

/*
 * Fill in the event of a datagram: its sender, and the path back. Or of a receive that a Write with
 * immediate data consumed, from a peer that does not use IT-API: nothing was written to its buffer.
 */
static void
unusual_receive_fill(const struct ri_wc *wc, const struct ual_ia *ia,
		     it_all_dto_cmpl_event_t *event)
{
	const struct ual_ep *ep = (struct ual_ep *)ual_object_from_ctx(wc->qp_ctx, UAL_EP);
	const struct ri_addr any = {0};
	struct ri_addr sender = {.family = RI_ADDR_GID};
	bool good = wc->status == RI_WC_SUCCESS;

	if (wc->opcode != RI_OP_RECV_UD) {
		event->transferred_length = 0;
		return;
	}
	event->flags =
		(it_dto_ud_flags_t)(good && (wc->flags & RI_WC_GRH) != 0 ? IT_UD_IB_GRH_PRESENT
									 : 0);
	event->ud_ep_id = good ? wc->src_qpn : 0;
	if (good)
		memcpy(sender.octets, wc->src_addr, sizeof(sender.octets));
	ual_addr_to_path(&ia->session.attr, ep != NULL ? ep->path.spigot_id : 0, &any, &sender,
			 &event->src_path);
}

bool
ual_dto_event(const struct ri_wc *wc, struct ual_evd *evd, it_event_t *out)
{
	it_dto_cmpl_event_t *event = &out->dto_cmpl;
	const struct ual_ep *ep;

	if (wc->opcode == RI_OP_RECV && wc->status == RI_WC_SUCCESS) {
		/*
		 * One thread can poll a message while another is about to dispatch ESTABLISHED. That event comes first,
		 * and with it the right to answer the message.
		 */
		ep = (struct ual_ep *)ual_object_from_ctx(wc->qp_ctx, UAL_EP);
		if (ep != NULL && atomic_load(&ep->state) < UAL_EPS_CONNECTED)
			session_settle(&evd->object.ia->session);
	}
	event->event_number = ual_status_wc_event(wc->opcode);
	event->evd = ual_object_handle(&evd->object);
	event->ep = (it_ep_handle_t)(uintptr_t)wc->qp_ctx;
	event->cookie = wc->wr_id;
	event->dto_status = ual_status_of_wc(wc->status);
	event->transferred_length = wc->status == RI_WC_SUCCESS ? wc->byte_len : 0;
	event->unlinked_mr_handle = IT_NULL_HANDLE;
	if ((wc->flags & RI_WC_INVALIDATED) != 0 && wc->status == RI_WC_SUCCESS)
		event->unlinked_mr_handle =
			(it_handle_t)ual_key_revoked(evd->object.ia->keys, wc->inv_stag);
	if (__builtin_expect(wc->opcode >= RI_OP_RECV_UD, 0))
		unusual_receive_fill(wc, evd->object.ia, &out->all_dto_cmpl);
	return true;
}
