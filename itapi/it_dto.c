/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* [fast path] Entry points: data transfer [IT 15.7]. */

#include "it_answer.h"
#include "ual.h"
#include "ual_dto.h"

/* An operation on segments of LMRs. */
static inline struct ual_dto
dto_make(enum ual_dto_op op, const it_lmr_triplet_t *segments, size_t num_segments,
	 it_dto_cookie_t cookie, it_dto_flags_t flags)
{
	return (struct ual_dto){
		.op = op,
		.flags = flags,
		.segments = segments,
		.num_segments = num_segments,
		.cookie = cookie,
	};
}

/* The same, with the peer's memory. */
static inline struct ual_dto
at_peer(struct ual_dto dto, it_rdma_addr_t addr, it_rmr_context_t context)
{
	dto.rdma_addr = addr;
	dto.rmr_context = context;
	return dto;
}

static inline bool
segments_missing(const struct ual_dto *dto)
{
	return dto->num_segments > 0 && dto->segments == NULL && dto->sinks == NULL;
}

/* True also if the endpoint is of the wrong kind, which the post reports. */
static inline bool
extra_offered(const struct ual_ep *ep, enum ual_dto_extra extra)
{
	return extra == UAL_DTO_X_NONE || ual_dto_is_datagram(ep) || ual_dto_offers(ep, extra);
}

/* Post to an RC endpoint, if its adapter offers the operation. Inlined: most callers need no `extra`. */
static inline __attribute__((always_inline)) it_status_t
dto_request(it_ep_handle_t ep_handle, const struct ual_dto *dto, enum ual_dto_extra extra)
{
	SESSION_SECTION;
	struct ual_ep *ep = ual_ep_at(ep_handle);

	if (ep == NULL)
		return IT_ERR_INVALID_EP;
	if (!extra_offered(ep, extra))
		return IT_ERR_OP_NOT_SUPPORTED;
	if (segments_missing(dto))
		return IT_ERR_FAULT;
	return ual_dto_request(ep, dto);
}

/*
 * Post a Send or a Write; each adapter offers both. Its members are passed by value: the address of `dto` does not escape, so the
 * compiler keeps it in registers.
 */
static inline __attribute__((always_inline)) it_status_t
dto_plain(it_ep_handle_t ep_handle, const struct ual_dto *dto)
{
	const struct ual_dto_remote remote = {dto->rdma_addr, dto->rmr_context};
	SESSION_SECTION;
	struct ual_ep *ep = ual_ep_at(ep_handle);

	if (ep == NULL)
		return IT_ERR_INVALID_EP;
	if (segments_missing(dto))
		return IT_ERR_FAULT;
	if (dto->op == UAL_DTO_WRITE)
		return ual_dto_write(ep, dto->segments, dto->num_segments, dto->cookie, dto->flags,
				     remote);
	return ual_dto_send(ep, dto->segments, dto->num_segments, dto->cookie, dto->flags);
}

it_status_t
it_post_send(IN it_ep_handle_t ep_handle, IN const it_lmr_triplet_t *local_segments,
	     IN size_t num_segments, IN it_dto_cookie_t cookie, IN it_dto_flags_t dto_flags)
{
	const struct ual_dto dto =
		dto_make(UAL_DTO_SEND, local_segments, num_segments, cookie, dto_flags);

	return IT_ANSWER(ep_handle, dto_plain(ep_handle, &dto));
}

it_status_t
it_post_send_and_unlink(IN it_ep_handle_t ep_handle, IN const it_lmr_triplet_t *local_segments,
			IN size_t num_segments, IN it_dto_cookie_t cookie,
			IN it_dto_flags_t dto_flags, IN it_rmr_context_t rmr_context)
{
	struct ual_dto dto =
		dto_make(UAL_DTO_SEND, local_segments, num_segments, cookie, dto_flags);

	dto.rmr_context = rmr_context;
	dto.unlink = true;
	return IT_ANSWER(ep_handle, dto_request(ep_handle, &dto, UAL_DTO_X_UNLINK));
}

it_status_t
it_post_recv(IN it_handle_t handle, IN const it_lmr_triplet_t *local_segments,
	     IN size_t num_segments, IN it_dto_cookie_t cookie, IN it_dto_flags_t dto_flags)
{
	SESSION_SECTION;
	const struct ual_dto dto =
		dto_make(UAL_DTO_RECV, local_segments, num_segments, cookie, dto_flags);
	struct ual_ep *ep = ual_ep_at((it_ep_handle_t)handle);
	struct ual_srq *srq = ep == NULL ? ual_srq_at((it_srq_handle_t)handle) : NULL;

	if (ep == NULL && srq == NULL)
		return IT_ANSWER(handle, IT_ERR_INVALID_HANDLE);
	if (segments_missing(&dto))
		return IT_ANSWER(handle, IT_ERR_FAULT);
	return IT_ANSWER(handle,
			 ep != NULL ? ual_dto_recv(ep, &dto) : ual_dto_recv_shared(srq, &dto));
}

it_status_t
it_post_rdma_write(IN it_ep_handle_t ep_handle, IN const it_lmr_triplet_t *local_segments,
		   IN size_t num_segments, IN it_dto_cookie_t cookie, IN it_dto_flags_t dto_flags,
		   IN it_rdma_addr_t rdma_addr, IN it_rmr_context_t rmr_context)
{
	const struct ual_dto dto =
		at_peer(dto_make(UAL_DTO_WRITE, local_segments, num_segments, cookie, dto_flags),
			rdma_addr, rmr_context);

	return IT_ANSWER(ep_handle, dto_plain(ep_handle, &dto));
}

it_status_t
it_post_rdma_read(IN it_ep_handle_t ep_handle, IN const it_lmr_triplet_t *local_segments,
		  IN size_t num_segments, IN it_dto_cookie_t cookie, IN it_dto_flags_t dto_flags,
		  IN it_rdma_addr_t rdma_addr, IN it_rmr_context_t rmr_context)
{
	const struct ual_dto dto =
		at_peer(dto_make(UAL_DTO_READ, local_segments, num_segments, cookie, dto_flags),
			rdma_addr, rmr_context);

	return IT_ANSWER(ep_handle, dto_request(ep_handle, &dto, UAL_DTO_X_NONE));
}

it_status_t
it_post_rdma_read_to_rmr(IN it_ep_handle_t ep_handle, IN const it_rmr_triplet_t *local_segments,
			 IN size_t num_segments, IN it_dto_cookie_t cookie,
			 IN it_dto_flags_t dto_flags, IN it_rdma_addr_t rdma_addr,
			 IN it_rmr_context_t rmr_context)
{
	struct ual_dto dto = at_peer(dto_make(UAL_DTO_READ, NULL, num_segments, cookie, dto_flags),
				     rdma_addr, rmr_context);

	dto.sinks = local_segments;
	return IT_ANSWER(ep_handle, dto_request(ep_handle, &dto, UAL_DTO_X_READ_TO_RMR));
}

/* Check the remote word of an atomic, and the segment for its old value. */
static it_status_t
atomic_check(const struct ual_ep *ep, it_atomic_op_t op, const it_lmr_triplet_t *result,
	     it_rdma_addr_t rdma_addr)
{
	it_status_t status = IT_SUCCESS;

	if (ual_dto_is_datagram(ep))
		return IT_ERR_INVALID_EP_TYPE;
	if (!ual_dto_offers(ep, UAL_DTO_X_ATOMICS))
		return IT_ERR_OP_NOT_SUPPORTED;
	if (op != IT_FETCH_AND_ADD && op != IT_COMPARE_AND_SWAP)
		return IT_ERR_INVALID_ATOMIC_OP;
	if (result == NULL)
		return IT_ERR_FAULT;
	if (result->length != sizeof(uint64_t))
		status = IT_ERR_INVALID_LENGTH;
	else if (rdma_addr % sizeof(uint64_t) != 0)
		status = IT_ERR_INVALID_ADDRESS;
	if (status != IT_SUCCESS && ual_lmr_at(result->lmr) == NULL)
		status = IT_ERR_INVALID_LMR; /* handles are checked first */
	return status;
}

it_status_t
it_post_atomic(IN it_ep_handle_t ep_handle, IN it_atomic_op_t op, IN uint64_t swap_or_add,
	       IN uint64_t compare, IN const it_lmr_triplet_t *result, IN it_dto_cookie_t cookie,
	       IN it_dto_flags_t dto_flags, IN it_rdma_addr_t rdma_addr,
	       IN it_rmr_context_t rmr_context)
{
	SESSION_SECTION;
	bool adds = op == IT_FETCH_AND_ADD;
	struct ual_dto dto = at_peer(
		dto_make(adds ? UAL_DTO_FETCH_ADD : UAL_DTO_CMP_SWAP, result, 1, cookie, dto_flags),
		rdma_addr, rmr_context);
	struct ual_ep *ep = ual_ep_at(ep_handle);
	it_status_t status = IT_ERR_INVALID_EP;

	if (ep != NULL)
		status = atomic_check(ep, op, result, rdma_addr);
	if (status != IT_SUCCESS)
		return IT_ANSWER(ep_handle, status);
	dto.operand = adds ? swap_or_add : compare;
	dto.swap = swap_or_add;
	return IT_ANSWER(ep_handle, ual_dto_request(ep, &dto));
}

/* Check a datagram to send, or a receive for datagrams. */
static it_status_t
datagram_check(const struct ual_ep *ep, const struct ual_dto *dto)
{
	if (ep == NULL)
		return IT_ERR_INVALID_EP;
	if (!ual_dto_is_datagram(ep))
		return IT_ERR_INVALID_EP_TYPE;
	if (segments_missing(dto) || (dto->op == UAL_DTO_SEND && dto->to == NULL))
		return IT_ERR_FAULT;
	return IT_SUCCESS;
}

it_status_t
it_post_sendto(IN it_ep_handle_t ep_handle, IN const it_lmr_triplet_t *local_segments,
	       IN size_t num_segments, IN it_dto_cookie_t cookie, IN it_dto_flags_t dto_flags,
	       IN const it_dg_remote_ep_addr_t *remote_ep_addr)
{
	SESSION_SECTION;
	struct ual_dto dto =
		dto_make(UAL_DTO_SEND, local_segments, num_segments, cookie, dto_flags);
	struct ual_ep *ep = ual_ep_at(ep_handle);
	it_status_t status;

	dto.datagram = true;
	dto.to = remote_ep_addr;
	status = datagram_check(ep, &dto);
	return IT_ANSWER(ep_handle, status == IT_SUCCESS ? ual_dto_sendto(ep, &dto) : status);
}

it_status_t
it_post_recvfrom(IN it_ep_handle_t ep_handle, IN const it_lmr_triplet_t *local_segments,
		 IN size_t num_segments, IN it_dto_cookie_t cookie, IN it_dto_flags_t dto_flags)
{
	SESSION_SECTION;
	struct ual_dto dto =
		dto_make(UAL_DTO_RECV, local_segments, num_segments, cookie, dto_flags);
	struct ual_ep *ep = ual_ep_at(ep_handle);
	it_status_t status;

	dto.datagram = true;
	status = datagram_check(ep, &dto);
	return IT_ANSWER(ep_handle, status == IT_SUCCESS ? ual_dto_recv(ep, &dto) : status);
}
