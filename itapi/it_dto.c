/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* [fast path] Entry points: data transfer (itapi-semantics 15.7). */

#include "it_check.h"
#include "ual.h"
#include "ual_dto.h"

/* Every request of an RC endpoint: the pointers, then the post. */
static it_status_t
request(it_ep_handle_t ep_handle, const void *segments, const struct ual_dto *dto)
{
	struct ual_ep *ep = ual_ep_of(ep_handle);

	if (ep == NULL)
		return IT_ERR_INVALID_EP;
	if (pointer_missing(segments, dto->num_segments))
		return IT_ERR_FAULT;
	return ual_dto_request(ep, dto);
}

/* Where the endpoint is of the wrong kind, that is what the post will say. */
static bool
offered(const struct ual_ep *ep, enum ual_dto_extra extra)
{
	return ual_dto_is_datagram(ep) || ual_dto_offers(ep, extra);
}

it_status_t
it_post_send(IN it_ep_handle_t ep_handle, IN const it_lmr_triplet_t *local_segments,
	     IN size_t num_segments, IN it_dto_cookie_t cookie, IN it_dto_flags_t dto_flags)
{
	const struct ual_dto dto = {
		.op = UAL_DTO_SEND,
		.flags = dto_flags,
		.segments = local_segments,
		.num_segments = num_segments,
		.cookie = cookie,
	};

	return request(ep_handle, local_segments, &dto);
}

it_status_t
it_post_send_and_unlink(IN it_ep_handle_t ep_handle, IN const it_lmr_triplet_t *local_segments,
			IN size_t num_segments, IN it_dto_cookie_t cookie,
			IN it_dto_flags_t dto_flags, IN it_rmr_context_t rmr_context)
{
	const struct ual_dto dto = {
		.op = UAL_DTO_SEND,
		.flags = dto_flags,
		.segments = local_segments,
		.num_segments = num_segments,
		.cookie = cookie,
		.rmr_context = rmr_context,
		.unlink = true,
	};

	if (ual_ep_of(ep_handle) != NULL && !offered(ual_ep_of(ep_handle), UAL_DTO_X_UNLINK))
		return IT_ERR_OP_NOT_SUPPORTED;
	return request(ep_handle, local_segments, &dto);
}

it_status_t
it_post_recv(IN it_handle_t handle, IN const it_lmr_triplet_t *local_segments,
	     IN size_t num_segments, IN it_dto_cookie_t cookie, IN it_dto_flags_t dto_flags)
{
	const struct ual_dto dto = {
		.op = UAL_DTO_RECV,
		.flags = dto_flags,
		.segments = local_segments,
		.num_segments = num_segments,
		.cookie = cookie,
	};
	struct ual_ep *ep = ual_ep_of((it_ep_handle_t)handle);
	struct ual_srq *srq = ep == NULL ? ual_srq_of((it_srq_handle_t)handle) : NULL;

	if (ep == NULL && srq == NULL)
		return IT_ERR_INVALID_HANDLE;
	if (pointer_missing(local_segments, num_segments))
		return IT_ERR_FAULT;
	return ep != NULL ? ual_dto_recv(ep, &dto) : ual_dto_recv_shared(srq, &dto);
}

it_status_t
it_post_rdma_write(IN it_ep_handle_t ep_handle, IN const it_lmr_triplet_t *local_segments,
		   IN size_t num_segments, IN it_dto_cookie_t cookie, IN it_dto_flags_t dto_flags,
		   IN it_rdma_addr_t rdma_addr, IN it_rmr_context_t rmr_context)
{
	const struct ual_dto dto = {
		.op = UAL_DTO_WRITE,
		.flags = dto_flags,
		.segments = local_segments,
		.num_segments = num_segments,
		.cookie = cookie,
		.rdma_addr = rdma_addr,
		.rmr_context = rmr_context,
	};

	return request(ep_handle, local_segments, &dto);
}

it_status_t
it_post_rdma_read(IN it_ep_handle_t ep_handle, IN const it_lmr_triplet_t *local_segments,
		  IN size_t num_segments, IN it_dto_cookie_t cookie, IN it_dto_flags_t dto_flags,
		  IN it_rdma_addr_t rdma_addr, IN it_rmr_context_t rmr_context)
{
	const struct ual_dto dto = {
		.op = UAL_DTO_READ,
		.flags = dto_flags,
		.segments = local_segments,
		.num_segments = num_segments,
		.cookie = cookie,
		.rdma_addr = rdma_addr,
		.rmr_context = rmr_context,
	};

	return request(ep_handle, local_segments, &dto);
}

it_status_t
it_post_rdma_read_to_rmr(IN it_ep_handle_t ep_handle, IN const it_rmr_triplet_t *local_segments,
			 IN size_t num_segments, IN it_dto_cookie_t cookie,
			 IN it_dto_flags_t dto_flags, IN it_rdma_addr_t rdma_addr,
			 IN it_rmr_context_t rmr_context)
{
	const struct ual_dto dto = {
		.op = UAL_DTO_READ,
		.flags = dto_flags,
		.sinks = local_segments,
		.num_segments = num_segments,
		.cookie = cookie,
		.rdma_addr = rdma_addr,
		.rmr_context = rmr_context,
	};

	if (ual_ep_of(ep_handle) != NULL && !offered(ual_ep_of(ep_handle), UAL_DTO_X_READ_TO_RMR))
		return IT_ERR_OP_NOT_SUPPORTED;
	return request(ep_handle, local_segments, &dto);
}

it_status_t
it_post_atomic(IN it_ep_handle_t ep_handle, IN it_atomic_op_t op, IN uint64_t swap_or_add,
	       IN uint64_t compare, IN const it_lmr_triplet_t *result, IN it_dto_cookie_t cookie,
	       IN it_dto_flags_t dto_flags, IN it_rdma_addr_t rdma_addr,
	       IN it_rmr_context_t rmr_context)
{
	const struct ual_dto dto = {
		.op = op == IT_FETCH_AND_ADD ? UAL_DTO_FETCH_ADD : UAL_DTO_CMP_SWAP,
		.flags = dto_flags,
		.segments = result,
		.num_segments = 1,
		.cookie = cookie,
		.rdma_addr = rdma_addr,
		.rmr_context = rmr_context,
		.operand = op == IT_FETCH_AND_ADD ? swap_or_add : compare,
		.swap = swap_or_add,
	};
	struct ual_ep *ep = ual_ep_of(ep_handle);

	if (ep == NULL)
		return IT_ERR_INVALID_EP;
	if (ual_dto_is_datagram(ep))
		return IT_ERR_INVALID_EP_TYPE;
	if (!ual_dto_offers(ep, UAL_DTO_X_ATOMICS))
		return IT_ERR_OP_NOT_SUPPORTED;
	if (op != IT_FETCH_AND_ADD && op != IT_COMPARE_AND_SWAP)
		return IT_ERR_INVALID_ATOMIC_OP;
	if (result == NULL)
		return IT_ERR_FAULT;
	if (result->length != sizeof(uint64_t))
		return ual_lmr_of(result->lmr) != NULL ? IT_ERR_INVALID_LENGTH : IT_ERR_INVALID_LMR;
	if (rdma_addr % sizeof(uint64_t) != 0)
		return ual_lmr_of(result->lmr) != NULL ? IT_ERR_INVALID_ADDRESS
						       : IT_ERR_INVALID_LMR;
	return ual_dto_request(ep, &dto);
}

it_status_t
it_post_sendto(IN it_ep_handle_t ep_handle, IN const it_lmr_triplet_t *local_segments,
	       IN size_t num_segments, IN it_dto_cookie_t cookie, IN it_dto_flags_t dto_flags,
	       IN const it_dg_remote_ep_addr_t *remote_ep_addr)
{
	const struct ual_dto dto = {
		.op = UAL_DTO_SEND,
		.flags = dto_flags,
		.segments = local_segments,
		.num_segments = num_segments,
		.cookie = cookie,
		.datagram = true,
		.to = remote_ep_addr,
	};
	struct ual_ep *ep = ual_ep_of(ep_handle);

	if (ep == NULL)
		return IT_ERR_INVALID_EP;
	if (!ual_dto_is_datagram(ep))
		return IT_ERR_INVALID_EP_TYPE;
	if (pointer_missing(local_segments, num_segments) || remote_ep_addr == NULL)
		return IT_ERR_FAULT;
	return ual_dto_sendto(ep, &dto);
}

it_status_t
it_post_recvfrom(IN it_ep_handle_t ep_handle, IN const it_lmr_triplet_t *local_segments,
		 IN size_t num_segments, IN it_dto_cookie_t cookie, IN it_dto_flags_t dto_flags)
{
	const struct ual_dto dto = {
		.op = UAL_DTO_RECV,
		.flags = dto_flags,
		.segments = local_segments,
		.num_segments = num_segments,
		.cookie = cookie,
		.datagram = true,
	};
	struct ual_ep *ep = ual_ep_of(ep_handle);

	if (ep == NULL)
		return IT_ERR_INVALID_EP;
	if (!ual_dto_is_datagram(ep))
		return IT_ERR_INVALID_EP_TYPE;
	if (pointer_missing(local_segments, num_segments))
		return IT_ERR_FAULT;
	return ual_dto_recv(ep, &dto);
}
