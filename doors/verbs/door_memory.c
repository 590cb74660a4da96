/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Regions. */
#include "door_memory.h"

#include <errno.h>
#include <stdlib.h>

#include "door_export.h"
#include "door_status.h"
#include "session_cancel.h"

#define ACCESS_REMOTE (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)
#define ACCESS_KNOWN \
	(IBV_ACCESS_LOCAL_WRITE | ACCESS_REMOTE | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED)

/* --- rights --------------------------------------------------------------------------------------------- */

uint32_t
door_access(unsigned access)
{
	uint32_t rights = 0;

	if ((access & IBV_ACCESS_LOCAL_WRITE) != 0)
		rights |= RI_ACCESS_LOCAL_WRITE;
	if ((access & IBV_ACCESS_REMOTE_WRITE) != 0)
		rights |= RI_ACCESS_REMOTE_WRITE;
	if ((access & IBV_ACCESS_REMOTE_READ) != 0)
		rights |= RI_ACCESS_REMOTE_READ;
	if ((access & IBV_ACCESS_REMOTE_ATOMIC) != 0)
		rights |= RI_ACCESS_REMOTE_ATOMIC;
	if ((access & IBV_ACCESS_MW_BIND) != 0)
		rights |= RI_ACCESS_BIND;
	return rights;
}

/*
 * In verbs every region can be read locally, and local write access is enough for the sink of an
 * RDMA Read. If the adapter demands remote write access of a sink (iWARP), the region gets that
 * right, too. Then each peer that knows the key and is connected to a queue pair of the same domain
 * can write there.
 */
static uint32_t
region_access(const struct door_adapter *adapter, unsigned access)
{
	uint32_t rights = door_access(access) | RI_ACCESS_LOCAL_READ;

	if (adapter->session.attr.read_sink_needs_remote_write &&
	    (access & IBV_ACCESS_LOCAL_WRITE) != 0)
		rights |= RI_ACCESS_REMOTE_WRITE;
	return rights;
}

/* 0, or the errno for rights that a region cannot have. Flags of the optional range are hints. */
static int
access_check(unsigned access)
{
	if ((access & (IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB)) != 0)
		return EOPNOTSUPP;
	if ((access & ~(unsigned)(ACCESS_KNOWN | IBV_ACCESS_OPTIONAL_RANGE)) != 0)
		return EINVAL;
	/* A peer may write only where the process itself may (IBTA volume 1, 11.2.8.2). */
	if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0 &&
	    (access & IBV_ACCESS_LOCAL_WRITE) == 0)
		return EINVAL;
	return 0;
}

/* What the kernel answers for memory that the process itself has not, or not with these rights. */
static int
memory_errno(int error)
{
	return error == EACCES ? EFAULT : error;
}

/* --- registration ---------------------------------------------------------------------------------------- */

static struct door_mr *
mr_new(struct door_pd *pd, void *addr, size_t length, uint64_t iova, unsigned access)
{
	struct door_mr *mr = (struct door_mr *)calloc(1, sizeof(*mr));

	if (mr == NULL)
		return NULL;
	mr->pd = pd;
	mr->iova = iova;
	mr->access = access;
	mr->mr.context = pd->pd.context;
	mr->mr.pd = &pd->pd;
	mr->mr.addr = addr;
	mr->mr.length = length;
	return mr;
}

static void
mr_named(struct door_mr *mr, const struct kal_mr_rep *rep)
{
	mr->id = mr->mr.handle = rep->id;
	mr->mr.lkey = mr->mr.rkey = rep->stag;
}

/* Where the access layer chooses the octet of a key, no peer can predict it. */
static uint8_t
key_octet(const struct door_adapter *adapter)
{
	const struct ri_host *host = adapter->session.host;
	uint8_t octet = 0;

	if (adapter->session.attr.mr_key_owner == RI_KEY_CONSUMER)
		host->random(host->self, &octet, sizeof(octet));
	return octet;
}

/*
 * A region of verbs is shareable, so that no peer can invalidate it and so take it away from other
 * connections. Peers may invalidate only windows and regions for fast registration; a region of
 * libibverbs is neither.
 */
static struct kal_mr_req
mr_request(const struct door_mr *mr, uint32_t id)
{
	const struct door_adapter *adapter = mr->pd->context->adapter;
	struct kal_mr_req req = {.id = id,
				 .addr = (uintptr_t)mr->mr.addr,
				 .length = mr->mr.length,
				 .access = region_access(adapter, mr->access),
				 .key = key_octet(adapter)};

	req.shareable = 1;
	if ((mr->access & IBV_ACCESS_ZERO_BASED) != 0) {
		req.zero_based = 1;
	} else if (mr->iova != req.addr) {
		req.iova_given = 1;
		req.iova = mr->iova;
	}
	return req;
}

static struct ibv_mr *
mr_reg(struct ibv_pd *ibv, void *addr, size_t length, uint64_t iova, unsigned access)
{
	struct door_pd *pd = door_pd_of(ibv);
	int error = access_check(access);
	struct door_mr *mr = error == 0 ? mr_new(pd, addr, length, iova, access) : NULL;
	struct kal_mr_req req;
	struct kal_mr_rep rep;

	if (error != 0)
		errno = error;
	if (mr == NULL)
		return NULL;
	req = mr_request(mr, pd->id);
	error = door_call(pd->context->adapter, KAL_MR_REG, &req, sizeof(req), &rep, sizeof(rep));
	if (error != 0) {
		free(mr);
		errno = memory_errno(error);
		return NULL;
	}
	mr_named(mr, &rep);
	door_pd_hold(pd);
	return &mr->mr;
}

#undef ibv_reg_mr
EXPORT struct ibv_mr *
ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	SESSION_DEFER;

	return mr_reg(pd, addr, length, (uintptr_t)addr, (unsigned)access);
}

#undef ibv_reg_mr_iova
EXPORT struct ibv_mr *
ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access)
{
	SESSION_DEFER;

	return mr_reg(pd, addr, length, iova, (unsigned)access);
}

EXPORT struct ibv_mr *
ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned access)
{
	SESSION_DEFER;

	return mr_reg(pd, addr, length, iova, access);
}

EXPORT struct ibv_mr *
ibv_reg_dmabuf_mr(struct ibv_pd *ibv, uint64_t offset, size_t length, uint64_t iova, int fd,
		  int access)
{
	struct door_pd *pd = door_pd_of(ibv);
	struct door_adapter *adapter = pd->context->adapter;
	const struct kal_dmabuf_req req = {.pd = pd->id,
					   .access = region_access(adapter, (unsigned)access),
					   .addr = iova,
					   .length = length,
					   .offset = offset,
					   .key = key_octet(adapter),
					   .shareable = 1};
	struct kal_mr_rep rep;
	struct kal_msg msg = {.call = KAL_MR_REG_DMABUF,
			      .fd = fd,
			      .req = &req,
			      .req_len = sizeof(req),
			      .rep = &rep,
			      .rep_len = sizeof(rep)};
	int error = access_check((unsigned)access);
	struct door_mr *mr;
	SESSION_DEFER;

	if (error == 0 && (access & IBV_ACCESS_ZERO_BASED) != 0)
		error = EINVAL;
	if (adapter->inherited)
		error = EIO;
	if (error != 0) {
		errno = error;
		return NULL;
	}
	mr = mr_new(pd, NULL, length, iova, (unsigned)access);
	if (mr == NULL)
		return NULL;
	error = door_errno(kal_call(adapter->session.client, &msg));
	if (error != 0) {
		free(mr);
		errno = memory_errno(error);
		return NULL;
	}
	mr->dmabuf = true;
	mr_named(mr, &rep);
	door_pd_hold(pd);
	return &mr->mr;
}

EXPORT int
ibv_dereg_mr(struct ibv_mr *ibv)
{
	struct door_mr *mr = door_mr_of(ibv);
	struct door_adapter *adapter = mr->pd->context->adapter;
	int error;
	SESSION_DEFER;

	if (adapter->inherited)
		return 0;
	error = door_call_id(adapter, KAL_MR_DEREG, mr->id);
	if (error != 0)
		return error;
	door_pd_drop(mr->pd);
	free(mr);
	return 0;
}

/* --- registration of other memory -------------------------------------------------------------------------- */

static int
rereg_refused(int error)
{
	errno = error;
	return IBV_REREG_MR_ERR_INPUT;
}

/*
 * A call of the kAL that fails changes nothing, so after a failure the region is still valid. The
 * result says so, whatever the cause of the failure.
 */
EXPORT int
ibv_rereg_mr(struct ibv_mr *ibv, int flags, struct ibv_pd *ibv_pd, void *addr, size_t length,
	     int access)
{
	struct door_mr *mr = door_mr_of(ibv);
	struct door_pd *before = mr->pd;
	struct door_mr next = *mr;
	struct kal_mr_req req;
	struct kal_mr_rep rep;
	int error;
	SESSION_DEFER;

	if ((flags & ~(int)IBV_REREG_MR_FLAGS_SUPPORTED) != 0 || flags == 0 ||
	    (access != 0 && (flags & IBV_REREG_MR_CHANGE_ACCESS) == 0))
		return rereg_refused(EINVAL);
	if ((flags & IBV_REREG_MR_CHANGE_PD) != 0) {
		if (ibv_pd == NULL || ibv_pd->context != ibv->context)
			return rereg_refused(EINVAL);
		next.pd = door_pd_of(ibv_pd);
	}
	if ((flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0) {
		if (addr == NULL || length == 0)
			return rereg_refused(EINVAL);
		next.mr.addr = addr;
		next.mr.length = length;
		next.iova = (uintptr_t)addr;
	}
	if ((flags & IBV_REREG_MR_CHANGE_ACCESS) != 0) {
		error = access_check((unsigned)access);
		if (error != 0)
			return rereg_refused(error);
		next.access = (unsigned)access;
	}
	if (mr->dmabuf)
		return rereg_refused(EOPNOTSUPP);
	req = mr_request(&next, mr->id);
	req.pd = next.pd->id;
	req.keep_stag = 1; /* peers that know the key go on with it */
	error = door_call(mr->pd->context->adapter, KAL_MR_REREG, &req, sizeof(req), &rep,
			  sizeof(rep));
	if (error != 0)
		return rereg_refused(memory_errno(error));
	*mr = next;
	mr_named(mr, &rep);
	mr->mr.pd = &next.pd->pd;
	door_pd_hold(next.pd);
	door_pd_drop(before);
	return 0;
}
