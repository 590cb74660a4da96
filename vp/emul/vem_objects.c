/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Protection domains, completion queues, regions and windows: thin, over vp/common. */
#include <stdlib.h>
#include <string.h>

#include "vem.h"

#define MAX_PD  65536
#define MAX_CQ  65536
#define MAX_CQE (1u << 20)

static void
object_enlist(struct ri_context *context, struct vsw_item *head, struct vsw_item *item)
{
	pthread_mutex_lock(&context->lock);
	vsw_list_add(head, item);
	pthread_mutex_unlock(&context->lock);
}

static void
object_unlist(struct ri_context *context, struct vsw_item *item)
{
	pthread_mutex_lock(&context->lock);
	vsw_list_remove(item);
	pthread_mutex_unlock(&context->lock);
}

/* --- protection domains ------------------------------------------------------------------- */

static enum ri_status
pd_create(struct ri_context *context, struct ri_pd **out)
{
	struct ri_pd *pd = NULL;

	if (atomic_fetch_add(&context->rnic->pds, 1) < MAX_PD)
		pd = calloc(1, sizeof(*pd));
	if (pd == NULL) {
		atomic_fetch_sub(&context->rnic->pds, 1);
		return RI_ERR_RESOURCES;
	}
	pd->context = context;
	object_enlist(context, &context->pds, &pd->item);
	*out = pd;
	return RI_SUCCESS;
}

static enum ri_status
pd_destroy(struct ri_pd *pd)
{
	if (atomic_load(&pd->users) != 0)
		return RI_ERR_BUSY;
	object_unlist(pd->context, &pd->item);
	atomic_fetch_sub(&pd->context->rnic->pds, 1);
	free(pd);
	return RI_SUCCESS;
}

const struct ri_pd_ops vem_pd_ops = {
	.size = sizeof(struct ri_pd_ops),
	.create = pd_create,
	.destroy = pd_destroy,
};

/* --- completion queues -------------------------------------------------------------------- */

static enum ri_status
cq_create(struct ri_context *context, uint64_t ctx, uint32_t *entries, struct ri_cq **out,
	  struct ri_map *map)
{
	struct ri_rnic *rnic = context->rnic;
	enum ri_status status = RI_ERR_RESOURCES;
	struct ri_cq *cq = NULL;

	if (*entries > MAX_CQE)
		return RI_ERR_LIMIT;
	if (atomic_fetch_add(&rnic->cqs, 1) < MAX_CQ)
		cq = calloc(1, sizeof(*cq));
	if (cq != NULL)
		status = vsw_cq_create(&cq->cq, ctx, entries, &rnic->cq_upcall);
	if (status != RI_SUCCESS) {
		atomic_fetch_sub(&rnic->cqs, 1);
		free(cq);
		return status;
	}
	cq->context = context;
	object_enlist(context, &context->cqs, &cq->item);
	vsw_map_cq(map, &cq->cq);
	*out = cq;
	return RI_SUCCESS;
}

static enum ri_status
cq_resize(struct ri_cq *cq, uint32_t *entries, struct ri_map *map)
{
	if (*entries > MAX_CQE)
		return RI_ERR_LIMIT;

	enum ri_status status = vsw_cq_resize(&cq->cq, entries);

	if (status == RI_SUCCESS)
		vsw_map_cq(map, &cq->cq);
	return status;
}

static enum ri_status
cq_destroy(struct ri_cq *cq)
{
	if (atomic_load(&cq->cq.users) != 0)
		return RI_ERR_BUSY;
	object_unlist(cq->context, &cq->item);
	atomic_fetch_sub(&cq->context->rnic->cqs, 1);
	vsw_cq_destroy(&cq->cq);
	free(cq);
	return RI_SUCCESS;
}

const struct ri_cq_ops vem_cq_ops = {
	.size = sizeof(struct ri_cq_ops),
	.create = cq_create,
	.resize = cq_resize,
	.destroy = cq_destroy,
};

/* --- regions ------------------------------------------------------------------------------ */

uint32_t
vem_region_access(const struct ri_rnic *rnic, uint32_t access)
{
	return rnic->fabric->personality == VEM_IB ? access | RI_ACCESS_LOCAL_READ : access;
}

static struct ri_mr_init
init_of(const struct ri_rnic *rnic, const struct ri_mr_init *init)
{
	struct ri_mr_init own = *init;

	own.access = vem_region_access(rnic, init->access);
	return own;
}

/* A region that is registered now. */
static struct ri_mr *
region_enlist(struct ri_mr *mr, struct ri_pd *pd)
{
	mr->pd = pd;
	atomic_fetch_add(&pd->users, 1);
	object_enlist(pd->context, &pd->context->mrs, &mr->item);
	return mr;
}

static enum ri_status
mr_reg(struct ri_pd *pd, const struct ri_mr_init *init, struct ri_mr **out, uint32_t *stag)
{
	struct ri_rnic *rnic = pd->context->rnic;
	struct ri_mr_init own = init_of(rnic, init);
	struct ri_mr *mr = NULL;

	if ((init->unlinked || init->pages != NULL) && !pd->context->owner.privileged)
		return RI_ERR_PERMISSION;
	if (init->max_pages > VEM_MAX_PBL)
		return RI_ERR_LIMIT;
	mr = calloc(1, sizeof(*mr));
	if (mr == NULL)
		return RI_ERR_RESOURCES;

	enum ri_status status =
		vsw_mr_reg(rnic->mem, pd, pd->context->owner.mem_owner, &own, &mr->entry, stag);
	if (status != RI_SUCCESS) {
		free(mr);
		return status;
	}
	*out = region_enlist(mr, pd);
	return RI_SUCCESS;
}

static enum ri_status
mr_reg_dmabuf(struct ri_pd *pd, const struct ri_mr_init *init, const struct ri_dmabuf *from,
	      struct ri_mr **out, uint32_t *stag)
{
	struct ri_rnic *rnic = pd->context->rnic;
	const struct ri_mr_init range = {.addr = init->addr,
					 .length = init->length,
					 .access = init->access,
					 .key = init->key,
					 .shareable = init->shareable};
	struct ri_mr_init own = init_of(rnic, &range);
	struct ri_mr *mr = NULL;
	enum ri_status status;
	uint8_t *first;

	if (init->length > VEM_MAX_REGION)
		return RI_ERR_LIMIT;
	mr = calloc(1, sizeof(*mr));
	if (mr == NULL)
		return RI_ERR_RESOURCES;
	status = vem_dmabuf_map(&own, from, &mr->map, &first);
	if (status != RI_SUCCESS) {
		free(mr);
		return status;
	}
	status = vsw_mr_reg_mapped(rnic->mem, pd, &own, first, &mr->entry, stag);
	if (status != RI_SUCCESS) {
		vem_dmabuf_unmap(&mr->map);
		free(mr);
		return status;
	}
	*out = region_enlist(mr, pd);
	return RI_SUCCESS;
}

static enum ri_status
mr_rereg(struct ri_mr *mr, struct ri_pd *pd, const struct ri_mr_init *init, uint32_t *stag)
{
	struct ri_mr_init own = init_of(pd->context->rnic, init);
	enum ri_status status =
		mr->map.bytes == 0 ? vsw_mr_rereg(mr->entry, pd, &own, stag) : RI_ERR_UNSUPPORTED;

	if (status != RI_SUCCESS)
		return status;
	atomic_fetch_sub(&mr->pd->users, 1);
	atomic_fetch_add(&pd->users, 1);
	mr->pd = pd;
	return RI_SUCCESS;
}

static enum ri_status
mr_query(struct ri_mr *mr, struct ri_mr_attr *attr)
{
	vsw_mr_query(mr->entry, attr);
	return RI_SUCCESS;
}

static enum ri_status
mr_dereg(struct ri_mr *mr)
{
	enum ri_status status = vsw_mr_dereg(mr->entry);

	if (status != RI_SUCCESS)
		return status;
	vem_dmabuf_unmap(&mr->map);
	object_unlist(mr->pd->context, &mr->item);
	atomic_fetch_sub(&mr->pd->users, 1);
	free(mr);
	return RI_SUCCESS;
}

/* --- windows ------------------------------------------------------------------------------ */

static enum ri_status
mw_alloc(struct ri_pd *pd, enum ri_mw_type type, struct ri_mw **out, uint32_t *stag)
{
	if (type != RI_MW_NARROW && pd->context->rnic->fabric->personality != VEM_IB)
		return RI_ERR_UNSUPPORTED;

	struct ri_mw *mw = calloc(1, sizeof(*mw));
	if (mw == NULL)
		return RI_ERR_RESOURCES;

	enum ri_status status = vsw_mw_alloc(pd->context->rnic->mem, pd, type, &mw->entry, stag);
	if (status != RI_SUCCESS) {
		free(mw);
		return status;
	}
	mw->pd = pd;
	atomic_fetch_add(&pd->users, 1);
	object_enlist(pd->context, &pd->context->mws, &mw->item);
	*out = mw;
	return RI_SUCCESS;
}

static enum ri_status
mw_query(struct ri_mw *mw, struct ri_mr_attr *attr)
{
	vsw_mw_query(mw->entry, attr);
	return RI_SUCCESS;
}

static enum ri_status
mw_free(struct ri_mw *mw)
{
	vsw_mw_free(mw->entry);
	object_unlist(mw->pd->context, &mw->item);
	atomic_fetch_sub(&mw->pd->users, 1);
	free(mw);
	return RI_SUCCESS;
}

const struct ri_mem_ops vem_mem_ops = {
	.size = sizeof(struct ri_mem_ops),
	.mr_reg = mr_reg,
	.mr_rereg = mr_rereg,
	.mr_query = mr_query,
	.mr_dereg = mr_dereg,
	.mw_alloc = mw_alloc,
	.mw_query = mw_query,
	.mw_free = mw_free,
	.mr_reg_dmabuf = mr_reg_dmabuf,
};
