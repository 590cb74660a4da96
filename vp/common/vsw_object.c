/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "vsw_object.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* --- lists and counts ----------------------------------------------------------------------- */

void
vsw_context_add(struct vsw_context *context, struct vsw_item *list, struct vsw_item *item)
{
	pthread_mutex_lock(&context->lock);
	vsw_list_add(list, item);
	pthread_mutex_unlock(&context->lock);
}

void
vsw_context_remove(struct vsw_context *context, struct vsw_item *item)
{
	pthread_mutex_lock(&context->lock);
	vsw_list_remove(item);
	pthread_mutex_unlock(&context->lock);
}

bool
vsw_count_up(atomic_uint *count, uint32_t most)
{
	if (atomic_fetch_add(count, 1) < most)
		return true;
	atomic_fetch_sub(count, 1);
	return false;
}

/* --- protection domains --------------------------------------------------------------------- */

static enum ri_status
pd_create(struct ri_context *ri, struct ri_pd **out)
{
	struct vsw_context *context = (struct vsw_context *)ri;
	struct vsw_objects *objects = context->objects;
	struct vsw_pd *pd;

	if (!vsw_count_up(&objects->pds, objects->rules->max_pds))
		return RI_ERR_RESOURCES;
	pd = calloc(1, sizeof(*pd));
	if (pd == NULL) {
		atomic_fetch_sub(&objects->pds, 1);
		return RI_ERR_RESOURCES;
	}
	pd->context = context;
	vsw_context_add(context, &context->pds, &pd->item);
	*out = (struct ri_pd *)pd;
	return RI_SUCCESS;
}

static enum ri_status
pd_destroy(struct ri_pd *ri)
{
	struct vsw_pd *pd = (struct vsw_pd *)ri;

	if (atomic_load(&pd->users) != 0)
		return RI_ERR_BUSY;
	vsw_context_remove(pd->context, &pd->item);
	atomic_fetch_sub(&pd->context->objects->pds, 1);
	free(pd);
	return RI_SUCCESS;
}

const struct ri_pd_ops vsw_pd_ops = {
	.size = sizeof(struct ri_pd_ops),
	.create = pd_create,
	.destroy = pd_destroy,
};

/* --- completion queues ---------------------------------------------------------------------- */

static enum ri_status
cq_create(struct ri_context *ri, uint64_t ctx, uint32_t *entries, struct ri_cq **out,
	  struct ri_map *map)
{
	struct vsw_context *context = (struct vsw_context *)ri;
	struct vsw_objects *objects = context->objects;
	enum ri_status status = RI_ERR_RESOURCES;
	void *room = NULL;
	struct vsw_cq_object *cq;

	if (*entries > objects->rules->max_cqe)
		return RI_ERR_LIMIT;
	if (!vsw_count_up(&objects->cqs, objects->rules->max_cqs))
		return RI_ERR_RESOURCES;
	if (posix_memalign(&room, VSW_CACHE_LINE, sizeof(*cq)) == 0) {
		cq = memset(room, 0, sizeof(*cq));
		status = vsw_cq_create(&cq->cq, ctx, entries, objects->cq_upcall);
	}
	if (status != RI_SUCCESS) {
		atomic_fetch_sub(&objects->cqs, 1);
		free(room);
		return status;
	}
	cq->context = context;
	vsw_context_add(context, &context->cqs, &cq->item);
	vsw_map_cq(map, &cq->cq);
	*out = (struct ri_cq *)cq;
	return RI_SUCCESS;
}

static enum ri_status
cq_resize(struct ri_cq *ri, uint32_t *entries, struct ri_map *map)
{
	struct vsw_cq_object *cq = (struct vsw_cq_object *)ri;
	enum ri_status status;

	if (*entries > cq->context->objects->rules->max_cqe)
		return RI_ERR_LIMIT;
	status = vsw_cq_resize(&cq->cq, entries);
	if (status == RI_SUCCESS)
		vsw_map_cq(map, &cq->cq);
	return status;
}

static enum ri_status
cq_destroy(struct ri_cq *ri)
{
	struct vsw_cq_object *cq = (struct vsw_cq_object *)ri;

	if (atomic_load(&cq->cq.users) != 0)
		return RI_ERR_BUSY;
	vsw_context_remove(cq->context, &cq->item);
	atomic_fetch_sub(&cq->context->objects->cqs, 1);
	vsw_cq_destroy(&cq->cq);
	free(cq);
	return RI_SUCCESS;
}

const struct ri_cq_ops vsw_cq_ops = {
	.size = sizeof(struct ri_cq_ops),
	.create = cq_create,
	.resize = cq_resize,
	.destroy = cq_destroy,
};

/* --- shared receive queues ------------------------------------------------------------------ */

static enum ri_status
srq_create(struct ri_pd *ri, struct ri_srq_attr *attr, struct ri_srq **out, struct ri_map *map)
{
	struct vsw_pd *pd = (struct vsw_pd *)ri;
	struct vsw_objects *objects = pd->context->objects;
	const struct vsw_object_rules *rules = objects->rules;
	const struct vsw_srq_params params = {
		.host = objects->host, .upcalls = objects->upcalls, .pd = pd, .wake = rules->wake};
	enum ri_status status = RI_ERR_RESOURCES;
	struct vsw_srq_object *srq;

	if (attr->max_wr > rules->max_wr || attr->max_sge > rules->max_sge)
		return RI_ERR_LIMIT;
	if (!vsw_count_up(&objects->srqs, rules->max_srqs))
		return RI_ERR_RESOURCES;
	srq = calloc(1, sizeof(*srq));
	if (srq != NULL)
		status = vsw_srq_create(&srq->srq, &params, attr);
	if (status != RI_SUCCESS) {
		atomic_fetch_sub(&objects->srqs, 1);
		free(srq);
		return status;
	}
	srq->pd = pd;
	atomic_fetch_add(&pd->users, 1);
	vsw_context_add(pd->context, &pd->context->srqs, &srq->item);
	vsw_map_srq(map, &srq->srq.wq, &srq->srq);
	*out = (struct ri_srq *)srq;
	return RI_SUCCESS;
}

static enum ri_status
srq_modify(struct ri_srq *ri, struct ri_srq_attr *attr, bool resize, struct ri_map *map)
{
	struct vsw_srq_object *srq = (struct vsw_srq_object *)ri;
	enum ri_status status;

	if (resize && attr->max_wr > srq->pd->context->objects->rules->max_wr)
		return RI_ERR_LIMIT;
	status = vsw_srq_modify(&srq->srq, attr, resize);
	if (status == RI_SUCCESS)
		vsw_map_srq(map, &srq->srq.wq, &srq->srq);
	return status;
}

static enum ri_status
srq_query(struct ri_srq *ri, struct ri_srq_attr *attr)
{
	vsw_srq_query(&((struct vsw_srq_object *)ri)->srq, attr);
	return RI_SUCCESS;
}

static enum ri_status
srq_destroy(struct ri_srq *ri)
{
	struct vsw_srq_object *srq = (struct vsw_srq_object *)ri;
	struct vsw_context *context = srq->pd->context;

	if (atomic_load(&srq->srq.users) != 0)
		return RI_ERR_BUSY;
	/* First: who looks for it in the list may use it while it has the lock. */
	vsw_context_remove(context, &srq->item);
	vsw_srq_destroy(&srq->srq);
	atomic_fetch_sub(&srq->pd->users, 1);
	atomic_fetch_sub(&context->objects->srqs, 1);
	free(srq);
	return RI_SUCCESS;
}

const struct ri_srq_ops vsw_srq_ops = {
	.size = sizeof(struct ri_srq_ops),
	.create = srq_create,
	.modify = srq_modify,
	.query = srq_query,
	.destroy = srq_destroy,
};

/* --- regions and windows -------------------------------------------------------------------- */

/* Is it a range of addresses that is registered at once? */
static bool
is_plain(const struct ri_mr_init *init)
{
	return !init->unlinked && init->pages == NULL && init->lengths == NULL &&
	       init->max_pages == 0;
}

static enum ri_status
region_check(const struct vsw_context *context, const struct ri_mr_init *init)
{
	uint32_t most = context->objects->rules->max_pages;

	if (is_plain(init))
		return RI_SUCCESS;
	if (most == 0)
		return RI_ERR_UNSUPPORTED;
	if ((init->unlinked || init->pages != NULL) && !context->owner.privileged)
		return RI_ERR_PERMISSION;
	return init->max_pages > most ? RI_ERR_LIMIT : RI_SUCCESS;
}

static struct ri_mr_init
with_access(const struct vsw_context *context, const struct ri_mr_init *init)
{
	struct ri_mr_init own = *init;

	own.access |= context->objects->rules->access;
	return own;
}

/* It exists: count it as a user of its domain. */
static void
key_add(struct vsw_key *key, struct vsw_pd *pd, struct vsw_item *list)
{
	key->pd = pd;
	atomic_fetch_add(&pd->users, 1);
	vsw_context_add(pd->context, list, &key->item);
}

static void
key_free(struct vsw_key *key)
{
	vsw_context_remove(key->pd->context, &key->item);
	atomic_fetch_sub(&key->pd->users, 1);
	free(key);
}

static enum ri_status
mr_reg(struct ri_pd *ri, const struct ri_mr_init *init, struct ri_mr **out, uint32_t *stag)
{
	struct vsw_pd *pd = (struct vsw_pd *)ri;
	struct vsw_context *context = pd->context;
	const struct ri_mr_init own = with_access(context, init);
	enum ri_status status = region_check(context, init);
	struct vsw_key *mr;

	if (status != RI_SUCCESS)
		return status;
	mr = calloc(1, sizeof(*mr));
	if (mr == NULL)
		return RI_ERR_RESOURCES;
	status = vsw_mr_reg(context->objects->mem, pd, context->owner.mem_owner, &own, &mr->entry,
			    stag);
	if (status != RI_SUCCESS) {
		free(mr);
		return status;
	}
	key_add(mr, pd, &context->mrs);
	*out = (struct ri_mr *)mr;
	return RI_SUCCESS;
}

enum ri_status
vsw_region_mapped(struct vsw_pd *pd, const struct ri_mr_init *init,
		  const struct vsw_mapping *mapping, uint8_t *first, struct ri_mr **out,
		  uint32_t *stag)
{
	struct vsw_context *context = pd->context;
	const struct ri_mr_init own = with_access(context, init);
	struct vsw_key *mr = calloc(1, sizeof(*mr));
	enum ri_status status = RI_ERR_RESOURCES;

	if (mr != NULL)
		status =
			vsw_mr_reg_mapped(context->objects->mem, pd, &own, first, &mr->entry, stag);
	if (status != RI_SUCCESS) {
		free(mr);
		return status;
	}
	mr->mapping = *mapping;
	key_add(mr, pd, &context->mrs);
	*out = (struct ri_mr *)mr;
	return RI_SUCCESS;
}

static enum ri_status
mr_rereg(struct ri_mr *ri, struct ri_pd *ri_pd, const struct ri_mr_init *init, uint32_t *stag)
{
	struct vsw_key *mr = (struct vsw_key *)ri;
	struct vsw_pd *pd = (struct vsw_pd *)ri_pd;
	const struct ri_mr_init own = with_access(pd->context, init);
	enum ri_status status;

	if (mr->mapping.bytes != 0 ||
	    (!is_plain(init) && pd->context->objects->rules->max_pages == 0))
		return RI_ERR_UNSUPPORTED;
	status = vsw_mr_rereg(mr->entry, pd, &own, stag);
	if (status != RI_SUCCESS)
		return status;
	atomic_fetch_add(&pd->users, 1);
	atomic_fetch_sub(&mr->pd->users, 1);
	mr->pd = pd;
	return RI_SUCCESS;
}

static enum ri_status
mr_query(struct ri_mr *ri, struct ri_mr_attr *attr)
{
	vsw_mr_query(((struct vsw_key *)ri)->entry, attr);
	return RI_SUCCESS;
}

static enum ri_status
mr_dereg(struct ri_mr *ri)
{
	struct vsw_key *mr = (struct vsw_key *)ri;
	enum ri_status status = vsw_mr_dereg(mr->entry);

	if (status != RI_SUCCESS)
		return status;
	if (mr->mapping.bytes != 0)
		(void)munmap(mr->mapping.pages, mr->mapping.bytes);
	key_free(mr);
	return RI_SUCCESS;
}

static enum ri_status
mw_alloc(struct ri_pd *ri, enum ri_mw_type type, struct ri_mw **out, uint32_t *stag)
{
	struct vsw_pd *pd = (struct vsw_pd *)ri;
	struct vsw_objects *objects = pd->context->objects;
	enum ri_status status;
	struct vsw_key *mw;

	if (type != RI_MW_NARROW && !objects->rules->mw_wide)
		return RI_ERR_UNSUPPORTED;
	mw = calloc(1, sizeof(*mw));
	if (mw == NULL)
		return RI_ERR_RESOURCES;
	status = vsw_mw_alloc(objects->mem, pd, type, &mw->entry, stag);
	if (status != RI_SUCCESS) {
		free(mw);
		return status;
	}
	key_add(mw, pd, &pd->context->mws);
	*out = (struct ri_mw *)mw;
	return RI_SUCCESS;
}

static enum ri_status
mw_query(struct ri_mw *ri, struct ri_mr_attr *attr)
{
	vsw_mw_query(((struct vsw_key *)ri)->entry, attr);
	return RI_SUCCESS;
}

static enum ri_status
mw_free(struct ri_mw *ri)
{
	struct vsw_key *mw = (struct vsw_key *)ri;

	vsw_mw_free(mw->entry);
	key_free(mw);
	return RI_SUCCESS;
}

const struct ri_mem_ops vsw_mem_ops = {
	.size = sizeof(struct ri_mem_ops),
	.mr_reg = mr_reg,
	.mr_rereg = mr_rereg,
	.mr_query = mr_query,
	.mr_dereg = mr_dereg,
	.mw_alloc = mw_alloc,
	.mw_query = mw_query,
	.mw_free = mw_free,
};

/* --- processes ------------------------------------------------------------------------------ */

void
vsw_context_begin(struct vsw_context *context, struct vsw_objects *objects,
		  const struct ri_owner *owner)
{
	context->objects = objects;
	context->owner = *owner;
	pthread_mutex_init(&context->lock, NULL);
	vsw_list_begin(&context->pds);
	vsw_list_begin(&context->cqs);
	vsw_list_begin(&context->srqs);
	vsw_list_begin(&context->mrs);
	vsw_list_begin(&context->mws);
}

void
vsw_context_part(struct vsw_context *context)
{
	while (!vsw_list_empty(&context->mws))
		(void)mw_free((struct ri_mw *)context->mws.next);
}

/* The item is first in each object. */
void
vsw_context_end(struct vsw_context *context)
{
	while (!vsw_list_empty(&context->srqs) &&
	       srq_destroy((struct ri_srq *)context->srqs.next) == RI_SUCCESS)
		continue;
	while (!vsw_list_empty(&context->mrs) &&
	       mr_dereg((struct ri_mr *)context->mrs.next) == RI_SUCCESS)
		continue;
	while (!vsw_list_empty(&context->cqs) &&
	       cq_destroy((struct ri_cq *)context->cqs.next) == RI_SUCCESS)
		continue;
	while (!vsw_list_empty(&context->pds) &&
	       pd_destroy((struct ri_pd *)context->pds.next) == RI_SUCCESS)
		continue;
	pthread_mutex_destroy(&context->lock);
}
