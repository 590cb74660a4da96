/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Completion queues: creation, resizing and destruction. Control path; polling is in vib_poll.c, arming in vib_notify.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ri_relax.h"
#include "vib_chain.h"
#include "vib_cq.h"
#include "vib_objects.h"
#include "vib_profile.h"

/*
 * On a device that completes out of order, successes of which the access layer wants no completion
 * take entries of the device's queue, too. They are removed whenever the queue is polled; up to
 * this many may accumulate in between.
 */
#define REORDER_ROOM 1024

/* Entries that are asked of the device. */
static int
entries_of(const struct ri_rnic *rnic, uint32_t entries)
{
	if (rnic->quirk->out_of_order)
		entries += REORDER_ROOM;
	return (int)(entries < rnic->attr.max_cqe ? entries : rnic->attr.max_cqe);
}

static void
cq_free(struct ri_cq *cq)
{
	free(cq->user.staged);
	free(cq);
}

/* On the service thread. */
static void
on_full(void *arg)
{
	const struct ri_cq *cq = (const struct ri_cq *)arg;
	struct ri_rnic *rnic = cq->context->rnic;

	vib_log(rnic, RI_LOG_ERROR,
		"a completion queue has overflowed, and completions are lost: it is too small for "
		"what "
		"is posted, or polled too rarely");
	vib_raise(rnic, RI_EVENT_CQ_OVERFLOW, RI_OBJECT_CQ, cq->ctx);
}

static enum ri_status
cq_create(struct ri_context *context, uint64_t ctx, uint32_t *entries, struct ri_cq **out,
	  struct ri_map *map)
{
	struct ri_rnic *rnic = context->rnic;
	enum ri_status status = vib_alive(rnic);
	struct ri_cq *cq;

	if (status != RI_SUCCESS)
		return status;
	if (*entries > rnic->attr.max_cqe)
		return RI_ERR_LIMIT;
	cq = (struct ri_cq *)calloc(1, sizeof(*cq));
	if (cq == NULL)
		return RI_ERR_RESOURCES;
	cq->context = context;
	cq->ctx = ctx;
	cq->user.limit = *entries;
	cq->user.reorders = rnic->quirk->out_of_order;
	cq->user.direct = cq->user.reorders ? 0 : VIB_CQ_BATCH;
	cq->user.poll =
		rnic->verbs->ops.poll_cq; /* libibverbs fills it in when it opens the device */
	cq->user.host = rnic->host;
	cq->user.count = &cq->user.unread;
	cq->user.late = (struct ri_timer){.fire = vib_chain_late, .arg = &cq->user};
	cq->user.full = (struct ri_task){.fire = on_full, .arg = cq};
	cq->user.watch_all = rnic->quirk->silent_failures;
	cq->user.staged =
		(struct vib_staged *)calloc(2 * (size_t)*entries, sizeof(*cq->user.staged));
	if (cq->user.staged == NULL) {
		cq_free(cq);
		return RI_ERR_RESOURCES;
	}
	errno = 0;
	cq->user.cq = ibv_create_cq(rnic->verbs, entries_of(rnic, *entries), cq, rnic->channel, 0);
	if (cq->user.cq == NULL) {
		status = vib_create_failure(rnic, "a completion queue", errno);
		cq_free(cq);
		return status;
	}
	if (cq->user.cq->cqe < 0 || (uint32_t)cq->user.cq->cqe < *entries) {
		vib_log(rnic, RI_LOG_WARNING,
			"the device has made a completion queue of %d entries, not %u",
			cq->user.cq->cqe, *entries);
		(void)ibv_destroy_cq(cq->user.cq);
		cq_free(cq);
		return RI_ERR_RESOURCES;
	}
	vib_enlist(context, &context->cqs, &cq->item);
	vib_map(map, &cq->user);
	*out = cq;
	return RI_SUCCESS;
}

/* Move what is staged into a larger ring, which belongs to the queue from then on. Returns the old one. */
static struct vib_staged *
staged_move(struct ri_ucq *cq, struct vib_staged *larger, uint32_t entries)
{
	struct vib_staged *had;

	vsw_lock(&cq->lock);
	for (uint32_t i = 0; i < cq->staged_count; i++)
		larger[i] = cq->staged[(cq->staged_first + i) % (2 * cq->limit)];
	had = cq->staged;
	cq->staged = larger;
	cq->staged_first = 0;
	cq->limit = entries;
	vib_cq_unlock(cq);
	return had;
}

/* The device's queue grows before the staging ring, so that what fails changes nothing. A queue never gets smaller. */
static enum ri_status
cq_resize(struct ri_cq *cq, uint32_t *entries, struct ri_map *map)
{
	struct ri_rnic *rnic = cq->context->rnic;
	enum ri_status status = vib_alive(rnic);
	struct vib_staged *larger;
	int error;

	if (status != RI_SUCCESS)
		return status;
	if (*entries > rnic->attr.max_cqe)
		return RI_ERR_LIMIT;
	if (vib_cq_depth(&cq->user) > *entries)
		return RI_ERR_BUSY;
	vib_map(map, &cq->user);
	if (*entries <= cq->user.limit) {
		*entries = cq->user.limit;
		return RI_SUCCESS;
	}
	larger = (struct vib_staged *)calloc(2 * (size_t)*entries, sizeof(*larger));
	if (larger == NULL)
		return RI_ERR_RESOURCES;
	error = ibv_resize_cq(cq->user.cq, entries_of(rnic, *entries));
	if (error != 0) {
		free(larger);
		return vib_create_failure(rnic, "a larger completion queue", error);
	}
	free(staged_move(&cq->user, larger, *entries));
	return RI_SUCCESS;
}

static enum ri_status
cq_destroy(struct ri_cq *cq)
{
	struct ri_rnic *rnic = cq->context->rnic;
	int error;

	if (atomic_load(&cq->users) != 0)
		return RI_ERR_BUSY;
	rnic->host->timer_stop(rnic->host->self, &cq->user.late);
	atomic_store(&cq->user.due, false);
	/* Both stores before the looks at the other: the handler sees that the queue goes, or is waited for. */
	atomic_store(&cq->dying, true);
	for (unsigned round = 0; atomic_load(&rnic->completing) == cq; round++)
		ri_relax(round);
	/* Waits until the events that were read are acknowledged; those that were not read are taken back. */
	error = ibv_destroy_cq(cq->user.cq);
	if (error == EBUSY) {
		atomic_store(&cq->dying, false);
		return RI_ERR_BUSY;
	}
	if (error != 0)
		vib_log(rnic, RI_LOG_WARNING, "ibv_destroy_cq: %s", ri_errno_text(error));
	rnic->host->task_stop(rnic->host->self, &cq->user.full);
	if (cq->user.lost != 0)
		vib_log(rnic, RI_LOG_WARNING,
			"a completion queue of %u entries has lost %u completions", cq->user.limit,
			cq->user.lost);
	vib_delist(cq->context, &cq->item);
	cq_free(cq);
	return RI_SUCCESS;
}

const struct ri_cq_ops vib_cq_ops = {
	.size = sizeof(struct ri_cq_ops),
	.create = cq_create,
	.resize = cq_resize,
	.destroy = cq_destroy,
};
