/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Shared receive queues [RI 6]. Control path; receives are posted by vib_recv.c, their slots are in vib_ring.h. The
 * device stores addresses of slots, so the array must not move: address space for the largest queue is reserved from
 * the beginning, and its pages get memory when they are used.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "vib_objects.h"
#include "vib_profile.h"
#include "vib_ring.h"

/* The slots from `first` to before `end` become free. */
static void
slots_add(struct ri_usrq *srq, uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++) {
		srq->slots[i].of.srq = srq;
		srq->slots[i].place = i + 1;
		srq->slots[i].odd = VIB_SLOT_SHARED;
		vib_slot_return(srq, &srq->slots[i]);
	}
}

static void
srq_free(struct ri_srq *srq)
{
	(void)munmap(srq->user.slots, srq->bytes);
	free(srq);
}

static void
on_low(void *arg)
{
	vib_srq_low(arg);
}

/*
 * Arm the limit, or switch it off. If fewer receives are left, the event is due at once [RI 6.4].
 * Devices check the number only when a message takes a receive; so in that case the event is raised
 * here, and the device is not armed.
 */
static enum ri_status
limit_set(struct ri_srq *srq, uint32_t limit)
{
	const struct ri_rnic *rnic = srq->pd->context->rnic;
	bool low = limit > vib_srq_used(&srq->user);
	struct ibv_srq_attr theirs = {.srq_limit = low ? 0 : limit};
	uint32_t before = atomic_exchange(&srq->limit, theirs.srq_limit);
	int error = ibv_modify_srq(srq->user.srq, &theirs, IBV_SRQ_LIMIT);

	if (error != 0) {
		atomic_store(&srq->limit, before);
		return vib_failure(rnic, error);
	}
	if (low)
		rnic->host->task_run(rnic->host->self, &srq->low);
	return RI_SUCCESS;
}

static enum ri_status
srq_create(struct ri_pd *pd, struct ri_srq_attr *attr, struct ri_srq **out, struct ri_map *map)
{
	struct ri_rnic *rnic = pd->context->rnic;
	enum ri_status status;
	struct ibv_srq_init_attr init = {
		.attr = {.max_wr = attr->max_wr,
			 .max_sge = attr->max_sge != 0 ? attr->max_sge : 1}};
	struct ri_srq *srq;
	void *slots;

	if (attr->max_wr == 0 || (attr->limit != RI_SRQ_LIMIT_KEEP && attr->limit > attr->max_wr))
		return RI_ERR_INVALID_ARG;
	if (attr->max_wr > rnic->attr.max_srq_wr || attr->max_sge > rnic->attr.max_recv_sge ||
	    (rnic->max_srq_sge != 0 && attr->max_sge > rnic->max_srq_sge))
		return RI_ERR_LIMIT;
	status = vib_alive(rnic);
	if (status != RI_SUCCESS)
		return status;
	srq = (struct ri_srq *)calloc(1, sizeof(*srq));
	if (srq == NULL)
		return RI_ERR_RESOURCES;
	srq->pd = pd;
	srq->low = (struct ri_task){.fire = on_low, .arg = srq};
	srq->bytes = (rnic->attr.srq_resizable ? rnic->attr.max_srq_wr : attr->max_wr) *
		     sizeof(struct vib_slot);
	slots = mmap(NULL, srq->bytes, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (slots == MAP_FAILED) {
		free(srq);
		return RI_ERR_RESOURCES;
	}
	srq->user.slots = (struct vib_slot *)slots;
	srq->user.count = &srq->user.unread;
	slots_add(&srq->user, 0, attr->max_wr);
	init.srq_context = srq;
	errno = 0;
	srq->user.srq = ibv_create_srq(pd->pd, &init);
	if (srq->user.srq == NULL) {
		status = vib_create_failure(rnic, "a shared receive queue", errno);
		srq_free(srq);
		return status;
	}
	srq->ctx = attr->ctx;
	srq->attr = *attr;
	srq->user.max_sge = attr->max_sge;
	srq->user.empty_harms = rnic->quirk->empty_harms;
	if (attr->limit != 0)
		status = limit_set(srq, attr->limit);
	if (status != RI_SUCCESS) {
		(void)ibv_destroy_srq(srq->user.srq);
		srq_free(srq);
		return status;
	}
	srq->attr.limit = 0;
	atomic_fetch_add(&pd->users, 1);
	vib_enlist(pd->context, &pd->context->srqs, &srq->item);
	vib_map(map, &srq->user);
	*out = srq;
	return RI_SUCCESS;
}

/* More room at the device, then as many slots. An SRQ never gets smaller. */
static enum ri_status
srq_grow(struct ri_srq *srq, uint32_t max_wr)
{
	struct ibv_srq_attr theirs = {.max_wr = max_wr};
	int error;

	if (max_wr <= srq->attr.max_wr)
		return RI_SUCCESS;
	/*
	 * Is there address space for a queue of that size? rxe's library unmaps its queue before it maps the larger one, and if that
	 * fails the queue is lost. Its entries have at most 64 bytes and 16 for each segment, and sizes are powers of 2.
	 */
	size_t bytes = 4 * ((size_t)max_wr + 1) * (64 + 16 * (size_t)srq->user.max_sge);
	void *trial =
		mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (trial == MAP_FAILED || munmap(trial, bytes) != 0)
		return RI_ERR_RESOURCES;
	error = ibv_modify_srq(srq->user.srq, &theirs, IBV_SRQ_MAX_WR);
	if (error != 0)
		return vib_create_failure(srq->pd->context->rnic, "a larger shared receive queue",
					  error);
	slots_add(&srq->user, srq->attr.max_wr, max_wr);
	srq->attr.max_wr = max_wr;
	return RI_SUCCESS;
}

static enum ri_status
srq_modify(struct ri_srq *srq, struct ri_srq_attr *attr, bool resize, struct ri_map *map)
{
	const struct ri_rnic *rnic = srq->pd->context->rnic;
	uint32_t max_wr = srq->attr.max_wr;
	enum ri_status status;

	if (resize && !rnic->attr.srq_resizable)
		return RI_ERR_UNSUPPORTED;
	if (resize && attr->max_wr == 0)
		return RI_ERR_INVALID_ARG;
	if (resize && attr->max_wr > rnic->attr.max_srq_wr)
		return RI_ERR_LIMIT;
	if (resize && attr->max_wr < vib_srq_used(&srq->user))
		return RI_ERR_BUSY;
	if (resize && attr->max_wr > max_wr)
		max_wr = attr->max_wr;
	if (attr->limit != RI_SRQ_LIMIT_KEEP && attr->limit > max_wr)
		return RI_ERR_INVALID_ARG;
	status = vib_alive(rnic);
	if (status == RI_SUCCESS && resize)
		status = srq_grow(srq, attr->max_wr);
	if (status != RI_SUCCESS)
		return status;
	if (resize)
		vib_map(map, &srq->user);
	if (attr->limit != RI_SRQ_LIMIT_KEEP) {
		status = limit_set(srq, attr->limit);
		if (status != RI_SUCCESS)
			return status;
	}
	attr->max_wr = srq->attr.max_wr;
	return RI_SUCCESS;
}

static enum ri_status
srq_query(struct ri_srq *srq, struct ri_srq_attr *attr)
{
	enum ri_status status = vib_alive(srq->pd->context->rnic);

	if (status != RI_SUCCESS)
		return status;
	*attr = srq->attr;
	attr->limit =
		atomic_load(&srq->limit); /* siw tells the old one when its event was raised */
	attr->available = 0;              /* a device does not tell */
	return RI_SUCCESS;
}

static enum ri_status
srq_destroy(struct ri_srq *srq)
{
	const struct ri_host *host = srq->pd->context->rnic->host;
	int error;

	if (atomic_load(&srq->users) != 0)
		return RI_ERR_BUSY;
	host->task_stop(host->self, &srq->low);
	error = ibv_destroy_srq(srq->user.srq);
	if (error == EBUSY)
		return RI_ERR_BUSY;
	if (error != 0)
		vib_log(srq->pd->context->rnic, RI_LOG_WARNING, "ibv_destroy_srq: %s",
			ri_errno_text(error));
	vib_delist(srq->pd->context, &srq->item);
	atomic_fetch_sub(&srq->pd->users, 1);
	srq_free(srq);
	return RI_SUCCESS;
}

const struct ri_srq_ops vib_srq_ops = {
	.size = sizeof(struct ri_srq_ops),
	.create = srq_create,
	.modify = srq_modify,
	.query = srq_query,
	.destroy = srq_destroy,
};
