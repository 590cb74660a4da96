/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* [domains] */
/* mc_objects.c: protection domains, memory, completion queues. */
#include <stdlib.h>
#include <string.h>

#include "mc.h"

/* False: the adapter has as many of this kind as its profile says. */
bool
mc_enter(struct ri_context *context, enum mc_kind kind, struct mc_object *object)
{
	if (context->rnic->objects[kind] == MC_OBJECTS)
		return false;
	context->rnic->objects[kind]++;
	object->context = context;
	object->next = context->objects[kind];
	context->objects[kind] = object;
	return true;
}

void
mc_leave(enum mc_kind kind, struct mc_object *object)
{
	struct mc_object **at = &object->context->objects[kind];

	while (*at != object)
		at = &(*at)->next;
	*at = object->next;
	object->context->rnic->objects[kind]--;
}

/* --- protection domains ------------------------------------------------------------------- */

static enum ri_status
pd_create(struct ri_context *context, struct ri_pd **out)
{
	struct ri_pd *pd = calloc(1, sizeof(*pd));

	if (pd == NULL)
		return RI_ERR_RESOURCES;
	mc_lock();
	bool room = mc_enter(context, MC_PD, &pd->object);
	mc_unlock();
	if (!room) {
		free(pd);
		return RI_ERR_RESOURCES;
	}
	*out = pd;
	return RI_SUCCESS;
}

static enum ri_status
pd_destroy(struct ri_pd *pd)
{
	mc_lock();
	bool busy = pd->object.users > 0;
	if (!busy)
		mc_leave(MC_PD, &pd->object);
	mc_unlock();
	if (busy)
		return RI_ERR_BUSY;
	free(pd);
	return RI_SUCCESS;
}

const struct ri_pd_ops mc_pd_ops = {
	.size = sizeof(mc_pd_ops), .create = pd_create, .destroy = pd_destroy};
/* [domains] */

/* [memory] */
/* --- memory ------------------------------------------------------------------------------- */

#define CHAINS 1024

static struct ri_mr *regions[CHAINS];

static struct ri_mr **
chain_of(uint32_t index)
{
	return &regions[index % CHAINS];
}

void
mc_objects_forked(void)
{
	memset(regions, 0, sizeof(regions));
}

struct ri_mr *
mc_region(uint32_t stag)
{
	struct ri_mr *mr = *chain_of(stag >> 8);

	while (mr != NULL && mr->stag != stag)
		mr = mr->chain;
	return mr;
}

#define RECENT 4096
static uint32_t recent[RECENT]; /* indices; index 0 is never given, since no STag is 0 */
static unsigned next_recent;

/* Whether a region has the index, or had it a short while ago. */
static bool
index_is_known(uint32_t index)
{
	for (unsigned i = 0; i < RECENT; i++)
		if (recent[i] == index)
			return true;
	for (const struct ri_mr *mr = *chain_of(index); mr != NULL; mr = mr->chain)
		if (mr->stag >> 8 == index)
			return true;
	return false;
}

/* Gives it an STag that is not known, all bits of it random. False: there are too many regions. */
static bool
mr_enter(struct ri_context *context, struct ri_mr *mr)
{
	const struct ri_host *host = context->rnic->host;
	bool room = true, known = true;

	while (room && known) {
		/* Without the lock: this may be a system call. */
		host->random(host->self, &mr->stag, sizeof(mr->stag));
		mc_lock();
		known = index_is_known(mr->stag >> 8);
		if (!known)
			room = mc_enter(context, MC_MR, &mr->object);
		if (!known && room) {
			recent[next_recent++ % RECENT] = mr->stag >> 8;
			mr->chain = *chain_of(mr->stag >> 8);
			*chain_of(mr->stag >> 8) = mr;
			mr->pd->object.users++;
		}
		mc_unlock();
	}
	return room;
}

static enum ri_status
mr_check(const struct ri_mr_init *init)
{
	const uint32_t writes = RI_ACCESS_REMOTE_WRITE | RI_ACCESS_REMOTE_ATOMIC;
	const uint32_t known = writes | RI_ACCESS_LOCAL_READ | RI_ACCESS_LOCAL_WRITE |
			       RI_ACCESS_REMOTE_READ | RI_ACCESS_BIND;

	if (init->unlinked || init->pages != NULL || init->zero_based)
		return RI_ERR_UNSUPPORTED;
	if (init->length == 0 || (init->access & ~known) != 0)
		return RI_ERR_INVALID_ARG;
	if ((init->access & writes) != 0 && (init->access & RI_ACCESS_LOCAL_WRITE) == 0)
		return RI_ERR_INVALID_ARG;
	return init->length > MC_LENGTH ? RI_ERR_LIMIT : RI_SUCCESS;
}

static enum ri_status
mr_reg(struct ri_pd *pd, const struct ri_mr_init *init, struct ri_mr **out, uint32_t *stag)
{
	struct ri_context *context = pd->object.context;
	const struct ri_host *host = context->rnic->host;
	enum ri_status status = mr_check(init);
	struct ri_mr *mr;

	if (status != RI_SUCCESS)
		return status;
	mr = calloc(1, sizeof(*mr));
	if (mr == NULL)
		return RI_ERR_RESOURCES;
	mr->pd = pd;
	mr->access = init->access | RI_ACCESS_LOCAL_READ; /* as always with InfiniBand */
	mr->mem.addr = init->addr;
	mr->mem.length = init->length;
	status = host->mem_attach(host->self, context->owner.mem_owner, &mr->mem, mr->access);
	if (status != RI_SUCCESS) {
		free(mr);
		return status;
	}

	if (!mr_enter(context, mr)) {
		host->mem_detach(host->self, &mr->mem);
		free(mr);
		return RI_ERR_RESOURCES;
	}
	*out = mr;
	*stag = mr->stag;
	return RI_SUCCESS;
}

static enum ri_status
mr_query(struct ri_mr *mr, struct ri_mr_attr *attr)
{
	*attr = (struct ri_mr_attr){.stag = mr->stag,
				    .access = mr->access,
				    .addr = mr->mem.addr,
				    .length = mr->mem.length,
				    .valid = true};
	return RI_SUCCESS;
}

static enum ri_status
mr_dereg(struct ri_mr *mr)
{
	const struct ri_host *host = mr->object.context->rnic->host;
	struct ri_mr **at = chain_of(mr->stag >> 8);

	mc_lock(); /* every copy is made with the lock held: now there is none */
	while (*at != mr)
		at = &(*at)->chain;
	*at = mr->chain;
	mc_leave(MC_MR, &mr->object);
	mr->pd->object.users--;
	mc_unlock();
	host->mem_detach(host->self, &mr->mem);
	free(mr);
	return RI_SUCCESS;
}

const struct ri_mem_ops mc_mem_ops = {
	.size = sizeof(mc_mem_ops), .mr_reg = mr_reg, .mr_query = mr_query, .mr_dereg = mr_dereg};
/* [memory] */

/* [completion queues] */
/* --- completion queues -------------------------------------------------------------------- */

/* Upcalls: made on the service thread, without the lock. */
static void
cq_tell(void *object)
{
	struct ri_cq *cq = object;
	const struct ri_upcalls *up = cq->object.context->rnic->upcalls;

	mc_unlock();
	up->cq_event(up->self, cq->ctx);
	mc_lock();
}

bool
mc_cq_due(const struct ri_cq *cq, enum ri_arm how, uint32_t count)
{
	uint64_t present = cq->tail - cq->head;

	switch (how) {
	case RI_ARM_NEXT:
		return present > 0;
	case RI_ARM_SOLICITED:
		return cq->solicited > 0;
	case RI_ARM_COUNT:
		return present >= count;
	default:
		return false;
	}
}

void
mc_cq_push(struct ri_cq *cq, const struct mc_entry *entry)
{
	if (cq->tail - cq->head == cq->size)
		return; /* lost: the application made it too small; no claim of cq_overflow_detect */
	cq->entries[cq->tail++ % cq->size] = *entry;
	if ((entry->wc.flags & RI_WC_SOLICITED) != 0)
		cq->solicited++;
	if (mc_cq_due(cq, cq->armed, cq->armed_count)) {
		cq->armed = RI_ARM_NONE; /* one shot */
		mc_note_queue(&cq->fire);
	}
}

static void
cq_free(struct ri_cq *cq)
{
	free(cq->entries);
	free(cq);
}

static enum ri_status
cq_create(struct ri_context *context, uint64_t ctx, uint32_t *entries, struct ri_cq **out,
	  struct ri_map *map)
{
	uint32_t size = *entries > 0 ? *entries : 1;
	struct ri_cq *cq;

	if (size > MC_ENTRIES)
		return RI_ERR_LIMIT;
	cq = calloc(1, sizeof(*cq));
	if (cq == NULL)
		return RI_ERR_RESOURCES;
	cq->entries = calloc(size, sizeof(*cq->entries));
	if (cq->entries == NULL) {
		cq_free(cq);
		return RI_ERR_RESOURCES;
	}
	cq->ctx = ctx;
	cq->size = size;
	mc_note_init(&cq->fire, context->rnic, cq_tell, cq);
	mc_lock();
	bool room = mc_enter(context, MC_CQ, &cq->object);
	mc_unlock();
	if (!room) {
		cq_free(cq);
		return RI_ERR_RESOURCES;
	}
	map->words[0] = (uintptr_t)cq;
	*entries = size;
	*out = cq;
	return RI_SUCCESS;
}

static enum ri_status
cq_destroy(struct ri_cq *cq)
{
	mc_lock();
	bool busy = cq->object.users > 0;
	if (!busy)
		mc_leave(MC_CQ, &cq->object);
	mc_unlock();
	if (busy)
		return RI_ERR_BUSY;
	mc_note_forget(&cq->fire);
	cq_free(cq);
	return RI_SUCCESS;
}

const struct ri_cq_ops mc_cq_ops = {
	.size = sizeof(mc_cq_ops), .create = cq_create, .destroy = cq_destroy};
/* [completion queues] */

/* [left behind] */
/* --- what a process leaves behind --------------------------------------------------------- */

/* An object is the first member of its struct, so a pointer to it is one to the whole. */
void
mc_take_back(struct ri_context *context)
{
	struct mc_object **left = context->objects;

	while (left[MC_LISTEN] != NULL)
		mc_cm_ops.listen_destroy((struct ri_listen *)left[MC_LISTEN]);
	while (left[MC_QP] != NULL)
		(void)mc_qp_ops.destroy((struct ri_qp *)left[MC_QP]);
	while (left[MC_MR] != NULL)
		(void)mr_dereg((struct ri_mr *)left[MC_MR]);
	while (left[MC_CQ] != NULL)
		(void)cq_destroy((struct ri_cq *)left[MC_CQ]);
	while (left[MC_PD] != NULL)
		(void)pd_destroy((struct ri_pd *)left[MC_PD]);
}
/* [left behind] */
