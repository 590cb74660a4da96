/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Protection domains, completion queues, regions and windows: thin objects over vp/common. Each is in a list
 * of its context, so that the end of a process destroys all of them. Control path; the kAL serialises the
 * calls for each object.
 */
#include "viw_rnic.h"

#include <stdlib.h>

void
viw_list_add(pthread_mutex_t *lock, struct viw_list_node **list, struct viw_list_node *node)
{
	pthread_mutex_lock(lock);
	node->next = *list;
	node->back = list;
	if (*list != NULL)
		(*list)->back = &node->next;
	*list = node;
	pthread_mutex_unlock(lock);
}

void
viw_list_remove(pthread_mutex_t *lock, struct viw_list_node *node)
{
	pthread_mutex_lock(lock);
	*node->back = node->next;
	if (node->next != NULL)
		node->next->back = node->back;
	pthread_mutex_unlock(lock);
}

bool
viw_object_count(struct viw_rnic *rnic, int change)
{
	pthread_mutex_lock(&rnic->lock);
	bool ok = change < 0 || rnic->num_objects < VIW_MAX_OBJECTS;
	if (ok)
		rnic->num_objects += (uint32_t)change;
	pthread_mutex_unlock(&rnic->lock);
	return ok;
}

/* --- protection domains -------------------------------------------------------------------- */

static enum ri_status
pd_create(struct ri_context *ri, struct ri_pd **out)
{
	struct viw_context *context = (struct viw_context *)ri;
	struct viw_pd *pd = calloc(1, sizeof(*pd));

	if (pd == NULL || !viw_object_count(context->rnic, 1)) {
		free(pd);
		return RI_ERR_RESOURCES;
	}
	pd->context = context;
	viw_list_add(&context->lock, &context->pds, &pd->node);
	*out = (struct ri_pd *)pd;
	return RI_SUCCESS;
}

static enum ri_status
pd_destroy(struct ri_pd *ri)
{
	struct viw_pd *pd = (struct viw_pd *)ri;

	if (atomic_load(&pd->users) > 0)
		return RI_ERR_BUSY;
	(void)viw_object_count(pd->context->rnic, -1);
	viw_list_remove(&pd->context->lock, &pd->node);
	free(pd);
	return RI_SUCCESS;
}

const struct ri_pd_ops viw_pd_ops = {
	.size = sizeof(struct ri_pd_ops),
	.create = pd_create,
	.destroy = pd_destroy,
};

/* --- completion queues --------------------------------------------------------------------- */

static enum ri_status
cq_create(struct ri_context *ri, uint64_t ctx, uint32_t *entries, struct ri_cq **out,
	  struct ri_map *map)
{
	struct viw_context *context = (struct viw_context *)ri;

	if (*entries > VIW_MAX_CQE)
		return RI_ERR_LIMIT;
	struct viw_cq *cq = calloc(1, sizeof(*cq));
	if (cq == NULL || !viw_object_count(context->rnic, 1)) {
		free(cq);
		return RI_ERR_RESOURCES;
	}
	enum ri_status status = vsw_cq_create(&cq->cq, ctx, entries, &context->rnic->cq_upcall);
	if (status != RI_SUCCESS) {
		(void)viw_object_count(context->rnic, -1);
		free(cq);
		return status;
	}
	cq->context = context;
	viw_list_add(&context->lock, &context->cqs, &cq->node);
	vsw_map_cq(map, &cq->cq);
	*out = (struct ri_cq *)cq;
	return RI_SUCCESS;
}

static enum ri_status
cq_resize(struct ri_cq *ri, uint32_t *entries, struct ri_map *map)
{
	struct viw_cq *cq = (struct viw_cq *)ri;

	if (*entries > VIW_MAX_CQE)
		return RI_ERR_LIMIT;
	enum ri_status status = vsw_cq_resize(&cq->cq, entries);
	if (status == RI_SUCCESS)
		vsw_map_cq(map, &cq->cq);
	return status;
}

static enum ri_status
cq_destroy(struct ri_cq *ri)
{
	struct viw_cq *cq = (struct viw_cq *)ri;

	if (atomic_load(&cq->cq.users) > 0)
		return RI_ERR_BUSY;
	(void)viw_object_count(cq->context->rnic, -1);
	viw_list_remove(&cq->context->lock, &cq->node);
	vsw_cq_destroy(&cq->cq);
	free(cq);
	return RI_SUCCESS;
}

const struct ri_cq_ops viw_cq_ops = {
	.size = sizeof(struct ri_cq_ops),
	.create = cq_create,
	.resize = cq_resize,
	.destroy = cq_destroy,
};

/* --- regions ------------------------------------------------------------------------------- */

/* A region or window without its entry; NULL: too many objects, or no memory. */
static struct viw_mem *
mem_alloc(struct viw_pd *pd, bool window)
{
	struct viw_mem *mem = calloc(1, sizeof(*mem));

	if (mem == NULL || !viw_object_count(pd->context->rnic, 1)) {
		free(mem);
		return NULL;
	}
	mem->pd = pd;
	mem->window = window;
	return mem;
}

static void
mem_list(struct viw_mem *mem)
{
	atomic_fetch_add(&mem->pd->users, 1);
	viw_list_add(&mem->pd->context->lock, &mem->pd->context->mems, &mem->node);
}

static void
mem_free(struct viw_mem *mem, bool listed)
{
	struct viw_context *context = mem->pd->context;

	if (listed) {
		viw_list_remove(&context->lock, &mem->node);
		atomic_fetch_sub(&mem->pd->users, 1);
	}
	(void)viw_object_count(context->rnic, -1);
	free(mem);
}

/* Is it a plain virtual range? The profile claims neither lists nor fast registration. */
static bool
mr_is_plain(const struct ri_mr_init *init)
{
	return !init->unlinked && init->pages == NULL && init->lengths == NULL &&
	       init->max_pages == 0;
}

static enum ri_status
mr_reg(struct ri_pd *ri, const struct ri_mr_init *init, struct ri_mr **out, uint32_t *stag)
{
	struct viw_pd *pd = (struct viw_pd *)ri;

	if (!mr_is_plain(init))
		return RI_ERR_UNSUPPORTED;
	struct viw_mem *mem = mem_alloc(pd, false);
	if (mem == NULL)
		return RI_ERR_RESOURCES;
	enum ri_status status = vsw_mr_reg(pd->context->rnic->mem, pd, pd->context->owner.mem_owner,
					   init, &mem->entry, stag);
	if (status != RI_SUCCESS) {
		mem_free(mem, false);
		return status;
	}
	mem_list(mem);
	*out = (struct ri_mr *)mem;
	return RI_SUCCESS;
}

static enum ri_status
mr_rereg(struct ri_mr *ri, struct ri_pd *ri_pd, const struct ri_mr_init *init, uint32_t *stag)
{
	struct viw_mem *mem = (struct viw_mem *)ri;
	struct viw_pd *pd = (struct viw_pd *)ri_pd;

	if (!mr_is_plain(init))
		return RI_ERR_UNSUPPORTED;
	enum ri_status status = vsw_mr_rereg(mem->entry, pd, init, stag);
	if (status != RI_SUCCESS || pd == mem->pd)
		return status;
	atomic_fetch_add(&pd->users, 1);
	atomic_fetch_sub(&mem->pd->users, 1);
	mem->pd = pd;
	return RI_SUCCESS;
}

static enum ri_status
mr_query(struct ri_mr *ri, struct ri_mr_attr *attr)
{
	vsw_mr_query(((struct viw_mem *)ri)->entry, attr);
	return RI_SUCCESS;
}

static enum ri_status
mr_dereg(struct ri_mr *ri)
{
	struct viw_mem *mem = (struct viw_mem *)ri;
	enum ri_status status = vsw_mr_dereg(mem->entry);

	if (status == RI_SUCCESS)
		mem_free(mem, true);
	return status;
}

/* --- windows ------------------------------------------------------------------------------- */

static enum ri_status
mw_alloc(struct ri_pd *ri, enum ri_mw_type type, struct ri_mw **out, uint32_t *stag)
{
	struct viw_pd *pd = (struct viw_pd *)ri;

	if (type != RI_MW_NARROW)
		return RI_ERR_UNSUPPORTED;
	struct viw_mem *mem = mem_alloc(pd, true);
	if (mem == NULL)
		return RI_ERR_RESOURCES;
	enum ri_status status = vsw_mw_alloc(pd->context->rnic->mem, pd, type, &mem->entry, stag);
	if (status != RI_SUCCESS) {
		mem_free(mem, false);
		return status;
	}
	mem_list(mem);
	*out = (struct ri_mw *)mem;
	return RI_SUCCESS;
}

static enum ri_status
mw_query(struct ri_mw *ri, struct ri_mr_attr *attr)
{
	vsw_mw_query(((struct viw_mem *)ri)->entry, attr);
	return RI_SUCCESS;
}

static enum ri_status
mw_free(struct ri_mw *ri)
{
	struct viw_mem *mem = (struct viw_mem *)ri;

	vsw_mw_free(mem->entry);
	mem_free(mem, true);
	return RI_SUCCESS;
}

const struct ri_mem_ops viw_mem_ops = {
	.size = sizeof(struct ri_mem_ops),
	.mr_reg = mr_reg,
	.mr_rereg = mr_rereg,
	.mr_query = mr_query,
	.mr_dereg = mr_dereg,
	.mw_alloc = mw_alloc,
	.mw_query = mw_query,
	.mw_free = mw_free,
};
