/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Protection domains and regions. Control path; windows are in vib_mw.c.
 *
 * A registration pins its pages: it counts against the limit of locked memory (RLIMIT_MEMLOCK), and the log names that
 * limit when it is too small. The device chooses the whole STag. This interface has one STag where verbs have two keys
 * (L_Key and R_Key); on the devices that are known the two are equal, and a region where they differ is refused.
 * No region can be invalidated, so each may be shared (ri_mr_init::shareable).
 *
 * Each region has a row in the table for posts (vib_keys.h): a bind and a copied payload need to find it by its STag.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "vib_ah.h"
#include "vib_dmabuf.h"
#include "vib_mw.h"
#include "vib_objects.h"

#define PLACE         4096 /* bytes: an I/O address is at the same place of such a page as the memory */
#define PAGES_AT_ONCE 1024 /* pages that one call of mincore() examines */

/* --- what all objects share ----------------------------------------------------------------- */

void
vib_enlist(struct ri_context *context, struct vib_item *head, struct vib_item *item)
{
	pthread_mutex_lock(&context->lock);
	vib_list_add(head, item);
	pthread_mutex_unlock(&context->lock);
}

void
vib_delist(struct ri_context *context, struct vib_item *item)
{
	pthread_mutex_lock(&context->lock);
	vib_list_remove(item);
	pthread_mutex_unlock(&context->lock);
}

void
vib_map(struct ri_map *map, const void *half)
{
	memset(map, 0, sizeof(*map));
	map->addr = (uintptr_t)half;
	map->fd = -1;
}

enum ri_status
vib_alive(const struct ri_rnic *rnic)
{
	return atomic_load(&rnic->failed) ? RI_ERR_FATAL : RI_SUCCESS;
}

enum ri_status
vib_failure(const struct ri_rnic *rnic, int error)
{
	if (atomic_load(&rnic->failed))
		return RI_ERR_FATAL;
	return error != 0 ? vib_status_of_errno(error) : RI_ERR_RESOURCES;
}

enum ri_status
vib_create_failure(const struct ri_rnic *rnic, const char *what, int error)
{
	struct rlimit limit = {0};

	if (what != NULL && error == ENOMEM && getrlimit(RLIMIT_MEMLOCK, &limit) == 0 &&
	    limit.rlim_cur != RLIM_INFINITY)
		vib_log(rnic, RI_LOG_WARNING,
			"%s cannot be pinned: the limit of locked memory is %llu bytes "
			"(RLIMIT_MEMLOCK, \"ulimit -l\")",
			what, (unsigned long long)limit.rlim_cur);
	/*
	 * EPERM is returned to a process without the right to lock memory. Some drivers, among them rxe,
	 * return EINVAL when the device's number of objects is exhausted.
	 */
	if ((error == EPERM || error == EINVAL) && !atomic_load(&rnic->failed))
		return RI_ERR_RESOURCES;
	return vib_failure(rnic, error);
}

/* --- protection domains ----------------------------------------------------------------------- */

static enum ri_status
pd_create(struct ri_context *context, struct ri_pd **out)
{
	enum ri_status status = vib_alive(context->rnic);
	struct ri_pd *pd;

	if (status != RI_SUCCESS)
		return status;
	pd = (struct ri_pd *)calloc(1, sizeof(*pd));
	if (pd == NULL)
		return RI_ERR_RESOURCES;
	pd->context = context;
	errno = 0;
	pd->pd = ibv_alloc_pd(context->rnic->verbs);
	if (pd->pd == NULL) {
		status = vib_create_failure(context->rnic, NULL, errno);
		free(pd);
		return status;
	}
	vib_enlist(context, &context->pds, &pd->item);
	*out = pd;
	return RI_SUCCESS;
}

static enum ri_status
pd_destroy(struct ri_pd *pd)
{
	struct ri_rnic *rnic = pd->context->rnic;
	bool deferred;
	int error;

	if (atomic_load(&pd->users) != 0)
		return RI_ERR_BUSY;
	vib_ah_sweep(pd->context, pd->pd);
	vib_mw_pd_end(pd);
	/* A call of vib_ah_call.c that still uses the domain destroys it at its end. */
	pthread_mutex_lock(&rnic->ah_lock);
	deferred = pd->deferred = pd->calls != 0;
	if (deferred)
		vib_delist(pd->context, &pd->item);
	pthread_mutex_unlock(&rnic->ah_lock);
	if (deferred)
		return RI_SUCCESS;
	error = ibv_dealloc_pd(pd->pd);
	if (error == EBUSY)
		return RI_ERR_BUSY;
	if (error != 0)
		vib_log(rnic, RI_LOG_WARNING, "ibv_dealloc_pd: %s", ri_errno_text(error));
	vib_delist(pd->context, &pd->item);
	free(pd);
	return RI_SUCCESS;
}

const struct ri_pd_ops vib_pd_ops = {
	.size = sizeof(struct ri_pd_ops),
	.create = pd_create,
	.destroy = pd_destroy,
};

/* --- regions ---------------------------------------------------------------------------------- */

static enum ri_status
init_check(const struct ri_rnic *rnic, const struct ri_mr_init *init)
{
	const uint32_t access = init->access;
	const uint32_t writes = RI_ACCESS_REMOTE_WRITE | RI_ACCESS_REMOTE_ATOMIC;

	if (init->unlinked || init->pages != NULL || init->zero_based ||
	    (init->iova_given && !rnic->attr.iova))
		return RI_ERR_UNSUPPORTED;
	/* Rights at a distance need the local ones [RI 5.3.1]. */
	if ((access & (RI_ACCESS_LOCAL_READ | RI_ACCESS_LOCAL_WRITE)) == 0 ||
	    ((access & writes) != 0 && (access & RI_ACCESS_LOCAL_WRITE) == 0) ||
	    ((access & RI_ACCESS_REMOTE_READ) != 0 && (access & RI_ACCESS_LOCAL_READ) == 0))
		return RI_ERR_INVALID_ARG;
	if (init->length == 0 ||
	    (init->iova_given && ((init->iova ^ init->addr) & (PLACE - 1)) != 0))
		return RI_ERR_INVALID_ARG;
	if (init->length > rnic->attr.max_mr_length)
		return RI_ERR_LIMIT;
	if (init->addr + init->length - 1 < init->addr || init->addr > UINTPTR_MAX ||
	    (init->iova_given && init->iova + init->length - 1 < init->iova))
		return RI_ERR_ADDRESS;
	return vib_alive(rnic);
}

/* Is there memory at each address of the range? */
static bool
range_is_mapped(uint64_t addr, uint64_t length)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t at = addr & ~(page - 1);
	uint64_t left = (addr + length - 1 - at) / page + 1;
	unsigned char resident[PAGES_AT_ONCE];
	bool mapped = true;

	while (left != 0 && mapped) {
		uint64_t pages = left < PAGES_AT_ONCE ? left : PAGES_AT_ONCE;

		mapped = mincore((void *)(uintptr_t)at, (size_t)(pages * page), resident) == 0;
		at += pages * page;
		left -= pages;
	}
	return mapped;
}

/*
 * Pin the range under a new STag. The right to bind windows makes the kernel pin the memory for
 * writing, even if no other right needs that. So memory that may only be read is registered without
 * that right, and binds to it fail.
 */
static enum ri_status
range_pin(struct ri_pd *pd, const struct ri_mr_init *init, struct ri_mr *mr)
{
	void *addr = (void *)(uintptr_t)init->addr;
	uint64_t named = init->iova_given ? init->iova : init->addr;
	bool reads = (init->access & RI_ACCESS_LOCAL_WRITE) == 0;
	char what[32];

	errno = 0;
	mr->mr = ibv_reg_mr_iova(pd->pd, addr, init->length, named, vib_access(mr->access));
	if (mr->mr == NULL && errno == EFAULT && reads && (mr->access & RI_ACCESS_BIND) != 0) {
		mr->access &= ~(uint32_t)RI_ACCESS_BIND;
		mr->mr = ibv_reg_mr_iova(pd->pd, addr, init->length, named, vib_access(mr->access));
	}
	if (mr->mr != NULL)
		return RI_SUCCESS;
	int error = errno;
	/* The kernel pins for writing, which memory that the process may only read does not allow. */
	if (error == EACCES || (error == EFAULT && range_is_mapped(init->addr, init->length)))
		return RI_ERR_ACCESS;
	(void)snprintf(what, sizeof(what), "%llu bytes", (unsigned long long)init->length);
	return vib_create_failure(pd->context->rnic, what, error);
}

/* Fill in a new region of the device. from: its dmabuf, or NULL. */
static enum ri_status
region_create(struct ri_pd *pd, const struct ri_mr_init *init, const struct ri_dmabuf *from,
	      struct ri_mr *mr)
{
	const struct ri_rnic *rnic = pd->context->rnic;
	const uint32_t remote =
		RI_ACCESS_REMOTE_READ | RI_ACCESS_REMOTE_WRITE | RI_ACCESS_REMOTE_ATOMIC;
	enum ri_status status;

	mr->access = init->access;
	status = from == NULL ? range_pin(pd, init, mr) : vib_dmabuf_reg(pd, init, from, &mr->mr);

	if (status != RI_SUCCESS)
		return status;
	if ((init->access & remote) != 0 && mr->mr->lkey != mr->mr->rkey) {
		vib_log(rnic, RI_LOG_WARNING,
			"a region has two keys (%08x, %08x), which this provider cannot do",
			mr->mr->lkey, mr->mr->rkey);
		(void)ibv_dereg_mr(mr->mr);
		return RI_ERR_UNSUPPORTED;
	}
	mr->pd = pd;
	mr->addr = init->iova_given ? init->iova : init->addr;
	mr->length = init->length;
	mr->memory = from == NULL ? init->addr : 0;
	return RI_SUCCESS;
}

/*
 * Enter the region into the table for posts. False: no memory. A dmabuf, or a region with I/O
 * addresses, gets another kind than the regions that vib_inline_begin searches, because the library
 * would copy from the address in the request.
 */
static bool
region_enter(struct ri_mr *mr)
{
	const struct vib_key row = {.pd = mr->pd,
				    .object = mr->mr,
				    .addr = mr->addr,
				    .length = mr->length,
				    .memory = mr->memory,
				    .access = mr->access};
	enum vib_key_kind kind =
		mr->memory != 0 && mr->memory == mr->addr ? VIB_KEY_REGION : VIB_KEY_ELSEWHERE;

	mr->key = vib_key_add(&mr->pd->context->rnic->keys, kind, mr->mr->lkey, &row);
	return mr->key != NULL;
}

/* Is a window bound over it? Only a region with that right can have one. */
static bool
has_windows(const struct ri_mr *mr)
{
	return (mr->access & RI_ACCESS_BIND) != 0 && vib_mw_count(mr->pd->context, mr->mr, 0) != 0;
}

static enum ri_status
region_new(struct ri_pd *pd, const struct ri_mr_init *init, const struct ri_dmabuf *from,
	   struct ri_mr **out, uint32_t *stag)
{
	enum ri_status status = init_check(pd->context->rnic, init);
	struct ri_mr *mr;

	if (status != RI_SUCCESS)
		return status;
	mr = (struct ri_mr *)calloc(1, sizeof(*mr));
	if (mr == NULL)
		return RI_ERR_RESOURCES;
	status = region_create(pd, init, from, mr);
	if (status != RI_SUCCESS) {
		free(mr);
		return status;
	}
	if (!region_enter(mr)) {
		(void)ibv_dereg_mr(mr->mr);
		free(mr);
		return RI_ERR_RESOURCES;
	}
	atomic_fetch_add(&pd->users, 1);
	vib_enlist(pd->context, &pd->context->mrs, &mr->item);
	*stag = mr->mr->lkey;
	*out = mr;
	return RI_SUCCESS;
}

static enum ri_status
mr_reg(struct ri_pd *pd, const struct ri_mr_init *init, struct ri_mr **out, uint32_t *stag)
{
	return region_new(pd, init, NULL, out, stag);
}

static enum ri_status
mr_reg_dmabuf(struct ri_pd *pd, const struct ri_mr_init *init, const struct ri_dmabuf *from,
	      struct ri_mr **out, uint32_t *stag)
{
	const struct ri_mr_init range = {
		.addr = init->addr, .length = init->length, .access = init->access};

	if (!pd->context->rnic->attr.dmabuf)
		return RI_ERR_UNSUPPORTED;
	return region_new(pd, &range, from, out, stag);
}

/* As a new registration that replaces the old one, so that a failure leaves the old one as it was. */
static enum ri_status
mr_rereg(struct ri_mr *mr, struct ri_pd *pd, const struct ri_mr_init *init, uint32_t *stag)
{
	enum ri_status status = init_check(pd->context->rnic, init);
	struct vib_keys *keys = &pd->context->rnic->keys;
	struct ri_mr fresh = {0};
	int error;

	if (mr->memory == 0)
		return RI_ERR_UNSUPPORTED;
	if (status == RI_SUCCESS && has_windows(mr))
		status = RI_ERR_BUSY;
	if (status == RI_SUCCESS)
		status = region_create(pd, init, NULL, &fresh);
	if (status != RI_SUCCESS)
		return status;
	if (!region_enter(&fresh)) {
		(void)ibv_dereg_mr(fresh.mr);
		return RI_ERR_RESOURCES;
	}
	vib_key_remove(keys, mr->key);
	error = ibv_dereg_mr(mr->mr);
	if (error != 0) {
		vib_key_remove(keys, fresh.key);
		(void)ibv_dereg_mr(fresh.mr);
		(void)region_enter(mr); /* its row is free, so there is memory */
		return error == EBUSY ? RI_ERR_BUSY : vib_failure(pd->context->rnic, error);
	}
	atomic_fetch_add(&pd->users, 1);
	atomic_fetch_sub(&mr->pd->users, 1);
	mr->mr = fresh.mr;
	mr->key = fresh.key;
	mr->pd = pd;
	mr->addr = fresh.addr;
	mr->length = fresh.length;
	mr->memory = fresh.memory;
	mr->access = fresh.access;
	*stag = fresh.mr->lkey;
	return RI_SUCCESS;
}

static enum ri_status
mr_query(struct ri_mr *mr, struct ri_mr_attr *attr)
{
	*attr = (struct ri_mr_attr){.stag = mr->mr->lkey,
				    .access = mr->access,
				    .addr = mr->addr,
				    .length = mr->length,
				    .valid = true,
				    .bound = vib_mw_count(mr->pd->context, mr->mr, 0)};
	return RI_SUCCESS;
}

static enum ri_status
mr_dereg(struct ri_mr *mr)
{
	int error;

	if (has_windows(mr))
		return RI_ERR_BUSY;
	vib_key_remove(&mr->pd->context->rnic->keys, mr->key);
	error = ibv_dereg_mr(mr->mr);
	/* A window whose bind request has a completion that was not polled: not every driver refuses that with EBUSY. */
	if (error == EBUSY || (error == EINVAL && (mr->access & RI_ACCESS_BIND) != 0)) {
		(void)region_enter(mr); /* its row is free, so there is memory */
		return RI_ERR_BUSY;
	}
	if (error != 0)
		vib_log(mr->pd->context->rnic, RI_LOG_WARNING, "ibv_dereg_mr: %s",
			ri_errno_text(error));
	vib_delist(mr->pd->context, &mr->item);
	atomic_fetch_sub(&mr->pd->users, 1);
	free(mr);
	return RI_SUCCESS;
}

const struct ri_mem_ops vib_mem_ops = {
	.size = sizeof(struct ri_mem_ops),
	.mr_reg = mr_reg,
	.mr_rereg = mr_rereg,
	.mr_query = mr_query,
	.mr_dereg = mr_dereg,
	.mw_alloc = vib_mw_alloc,
	.mw_query = vib_mw_query,
	.mw_free = vib_mw_free,
	.mr_reg_dmabuf = mr_reg_dmabuf,
};
