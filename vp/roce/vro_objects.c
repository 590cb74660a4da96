/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Protection domains, completion queues, shared receive queues, regions and windows: thin, over vp/common. */
#include <stdlib.h>

#include "vro_verbs.h"

void
vro_list_add(struct ri_context *context, struct vro_item *list, struct vro_item *item)
{
	pthread_mutex_lock(&context->lock);
	item->next = list;
	item->prev = list->prev;
	list->prev->next = item;
	list->prev = item;
	pthread_mutex_unlock(&context->lock);
}

void
vro_list_remove(struct ri_context *context, struct vro_item *item)
{
	pthread_mutex_lock(&context->lock);
	item->prev->next = item->next;
	item->next->prev = item->prev;
	pthread_mutex_unlock(&context->lock);
}

bool
vro_count_up(struct ri_rnic *rnic, unsigned kind)
{
	if (atomic_fetch_add(&rnic->objects[kind], 1) < VRO_MAX_OBJECTS)
		return true;
	atomic_fetch_sub(&rnic->objects[kind], 1);
	return false;
}

void
vro_count_down(struct ri_rnic *rnic, unsigned kind)
{
	atomic_fetch_sub(&rnic->objects[kind], 1);
}

/* --- protection domains ------------------------------------------------------------------- */

static enum ri_status
pd_create(struct ri_context *context, struct ri_pd **out)
{
	struct ri_pd *pd = NULL;

	if (!vro_count_up(context->rnic, VRO_PDS))
		return RI_ERR_RESOURCES;
	pd = calloc(1, sizeof(*pd));
	if (pd == NULL) {
		vro_count_down(context->rnic, VRO_PDS);
		return RI_ERR_RESOURCES;
	}
	pd->context = context;
	vro_list_add(context, &context->pds, &pd->item);
	*out = pd;
	return RI_SUCCESS;
}

static enum ri_status
pd_destroy(struct ri_pd *pd)
{
	if (atomic_load(&pd->users) != 0)
		return RI_ERR_BUSY;
	vro_list_remove(pd->context, &pd->item);
	vro_count_down(pd->context->rnic, VRO_PDS);
	free(pd);
	return RI_SUCCESS;
}

const struct ri_pd_ops vro_pd_ops = {
	.size = sizeof(struct ri_pd_ops),
	.create = pd_create,
	.destroy = pd_destroy,
};

/* --- completion queues -------------------------------------------------------------------- */

static enum ri_status
cq_create(struct ri_context *context, uint64_t ctx, uint32_t *entries, struct ri_cq **out,
	  struct ri_map *map)
{
	enum ri_status status = RI_ERR_RESOURCES;
	struct ri_cq *cq = NULL;

	if (*entries > VRO_MAX_CQE)
		return RI_ERR_LIMIT;
	if (!vro_count_up(context->rnic, VRO_CQS))
		return RI_ERR_RESOURCES;
	if (posix_memalign((void **)&cq, VSW_CACHE_LINE, sizeof(*cq)) == 0) {
		*cq = (struct ri_cq){.context = context};
		status = vsw_cq_create(&cq->cq, ctx, entries, &context->rnic->cq_upcall);
	}
	if (status != RI_SUCCESS) {
		vro_count_down(context->rnic, VRO_CQS);
		free(cq);
		return status;
	}
	vro_list_add(context, &context->cqs, &cq->item);
	vsw_map_cq(map, &cq->cq);
	*out = cq;
	return RI_SUCCESS;
}

static enum ri_status
cq_resize(struct ri_cq *cq, uint32_t *entries, struct ri_map *map)
{
	enum ri_status status =
		*entries > VRO_MAX_CQE ? RI_ERR_LIMIT : vsw_cq_resize(&cq->cq, entries);

	if (status == RI_SUCCESS)
		vsw_map_cq(map, &cq->cq);
	return status;
}

static enum ri_status
cq_destroy(struct ri_cq *cq)
{
	if (atomic_load(&cq->cq.users) != 0)
		return RI_ERR_BUSY;
	vro_list_remove(cq->context, &cq->item);
	vro_count_down(cq->context->rnic, VRO_CQS);
	vsw_cq_destroy(&cq->cq);
	free(cq);
	return RI_SUCCESS;
}

const struct ri_cq_ops vro_cq_ops = {
	.size = sizeof(struct ri_cq_ops),
	.create = cq_create,
	.resize = cq_resize,
	.destroy = cq_destroy,
};

/* --- shared receive queues ---------------------------------------------------------------- */

/* A message that finds no receive is refused, and its sender tries again; so no queue pair waits in the line. */
static void
member_wake(struct vsw_srq_member *member)
{
	(void)member;
}

static enum ri_status
srq_create(struct ri_pd *pd, struct ri_srq_attr *attr, struct ri_srq **out, struct ri_map *map)
{
	struct ri_rnic *rnic = pd->context->rnic;
	const struct vsw_srq_params params = {
		.host = rnic->host, .upcalls = rnic->upcalls, .pd = pd, .wake = member_wake};
	enum ri_status status = RI_ERR_RESOURCES;
	struct ri_srq *srq = NULL;

	if (attr->max_wr > VRO_MAX_WR || attr->max_sge > VRO_MAX_SGE)
		return RI_ERR_LIMIT;
	if (!vro_count_up(rnic, VRO_SRQS))
		return RI_ERR_RESOURCES;
	srq = calloc(1, sizeof(*srq));
	if (srq != NULL)
		status = vsw_srq_create(&srq->srq, &params, attr);
	if (status != RI_SUCCESS) {
		vro_count_down(rnic, VRO_SRQS);
		free(srq);
		return status;
	}
	srq->pd = pd;
	atomic_fetch_add(&pd->users, 1);
	vro_list_add(pd->context, &pd->context->srqs, &srq->item);
	vsw_map_srq(map, &srq->srq.wq, &srq->srq);
	*out = srq;
	return RI_SUCCESS;
}

static enum ri_status
srq_modify(struct ri_srq *srq, struct ri_srq_attr *attr, bool resize, struct ri_map *map)
{
	enum ri_status status;

	if (resize && attr->max_wr > VRO_MAX_WR)
		return RI_ERR_LIMIT;
	status = vsw_srq_modify(&srq->srq, attr, resize);
	if (status == RI_SUCCESS)
		vsw_map_srq(map, &srq->srq.wq, &srq->srq);
	return status;
}

static enum ri_status
srq_query(struct ri_srq *srq, struct ri_srq_attr *attr)
{
	vsw_srq_query(&srq->srq, attr);
	return RI_SUCCESS;
}

static enum ri_status
srq_destroy(struct ri_srq *srq)
{
	struct ri_context *context = srq->pd->context;

	if (atomic_load(&srq->srq.users) != 0)
		return RI_ERR_BUSY;
	vro_list_remove(context, &srq->item);
	vsw_srq_destroy(&srq->srq);
	atomic_fetch_sub(&srq->pd->users, 1);
	vro_count_down(context->rnic, VRO_SRQS);
	free(srq);
	return RI_SUCCESS;
}

const struct ri_srq_ops vro_srq_ops = {
	.size = sizeof(struct ri_srq_ops),
	.create = srq_create,
	.modify = srq_modify,
	.query = srq_query,
	.destroy = srq_destroy,
};

/* --- memory ------------------------------------------------------------------------------- */

/* Memory can always be sent. */
static struct ri_mr_init
readable(const struct ri_mr_init *init)
{
	struct ri_mr_init own = *init;

	own.access |= RI_ACCESS_LOCAL_READ;
	return own;
}

static enum ri_status
mr_reg(struct ri_pd *pd, const struct ri_mr_init *init, struct ri_mr **out, uint32_t *stag)
{
	struct ri_context *context = pd->context;
	const struct ri_mr_init own = readable(init);
	enum ri_status status;
	struct ri_mr *mr;

	if (init->unlinked || init->pages != NULL)
		return RI_ERR_UNSUPPORTED;
	mr = calloc(1, sizeof(*mr));
	if (mr == NULL)
		return RI_ERR_RESOURCES;
	status = vsw_mr_reg(context->rnic->mem, pd, context->owner.mem_owner, &own, &mr->entry,
			    stag);
	if (status != RI_SUCCESS) {
		free(mr);
		return status;
	}
	mr->pd = pd;
	atomic_fetch_add(&pd->users, 1);
	vro_list_add(context, &context->mrs, &mr->item);
	*out = mr;
	return RI_SUCCESS;
}

static enum ri_status
mr_rereg(struct ri_mr *mr, struct ri_pd *pd, const struct ri_mr_init *init, uint32_t *stag)
{
	const struct ri_mr_init own = readable(init);
	enum ri_status status = init->unlinked || init->pages != NULL
					? RI_ERR_UNSUPPORTED
					: vsw_mr_rereg(mr->entry, pd, &own, stag);

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
	vro_list_remove(mr->pd->context, &mr->item);
	atomic_fetch_sub(&mr->pd->users, 1);
	free(mr);
	return RI_SUCCESS;
}

static enum ri_status
mw_alloc(struct ri_pd *pd, enum ri_mw_type type, struct ri_mw **out, uint32_t *stag)
{
	struct ri_mw *mw = calloc(1, sizeof(*mw));
	enum ri_status status = RI_ERR_RESOURCES;

	if (mw != NULL)
		status = vsw_mw_alloc(pd->context->rnic->mem, pd, type, &mw->entry, stag);
	if (status != RI_SUCCESS) {
		free(mw);
		return status;
	}
	mw->pd = pd;
	atomic_fetch_add(&pd->users, 1);
	vro_list_add(pd->context, &pd->context->mws, &mw->item);
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
	vro_list_remove(mw->pd->context, &mw->item);
	atomic_fetch_sub(&mw->pd->users, 1);
	free(mw);
	return RI_SUCCESS;
}

const struct ri_mem_ops vro_mem_ops = {
	.size = sizeof(struct ri_mem_ops),
	.mr_reg = mr_reg,
	.mr_rereg = mr_rereg,
	.mr_query = mr_query,
	.mr_dereg = mr_dereg,
	.mw_alloc = mw_alloc,
	.mw_query = mw_query,
	.mw_free = mw_free,
};
