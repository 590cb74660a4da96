/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The entries that call the hooks of a defect. */
#include "defect.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* --- the profile ------------------------------------------------------------------------------ */

/* The hook sees the whole profile; the caller gets as much of it as it knows. */
static enum ri_status
query_hooked(struct ri_rnic *rnic, struct ri_rnic_attr *attr)
{
	struct ri_rnic_attr whole = {.size = sizeof(whole)};
	size_t end = attr->size < sizeof(whole) ? attr->size : sizeof(whole);
	size_t begin = offsetof(struct ri_rnic_attr, size) + sizeof(attr->size);
	const struct defect *defect = wrap_rnic_of(rnic)->defect;
	enum ri_status status = wrap_plain_device_ops.query(rnic, attr);

	if (status == RI_SUCCESS)
		status = wrap_plain_device_ops.query(rnic, &whole);
	if (status != RI_SUCCESS)
		return status;
	if (defect->flips != 0) {
		bool *claim = (bool *)((uint8_t *)&whole + defect->flips);

		*claim = !*claim;
	} else {
		defect->attr(&whole);
	}
	if (end > begin)
		memcpy((uint8_t *)attr + begin, (const uint8_t *)&whole + begin, end - begin);
	return RI_SUCCESS;
}

/* --- completions ------------------------------------------------------------------------------ */

static enum ri_status
cq_open_hooked(struct ri_urnic *rnic, const struct ri_map *map, struct ri_ucq **out)
{
	enum ri_status status = wrap_plain_user_ops.cq_open(rnic, map, out);

	if (status != RI_SUCCESS)
		return status;

	struct wrap_obj *ucq = wrap_of(*out);

	ucq->held = calloc(1, sizeof(*ucq->held));
	if (ucq->held == NULL) {
		wrap_plain_user_ops.cq_close(*out);
		return RI_ERR_RESOURCES;
	}
	pthread_mutex_init(&ucq->held->lock, NULL);
	return RI_SUCCESS;
}

/* Keep a completion back. Without room it is reported at once. */
static bool
hold(struct wrap_held *held, const struct ri_wc *wc)
{
	if (held->count == WRAP_HELD)
		return false;
	held->wc[held->count++] = *wc;
	return true;
}

/* Hand out what was kept back, at most n. */
static uint32_t
release(struct wrap_held *held, struct ri_wc *wc, uint32_t n)
{
	uint32_t count = held->count < n ? held->count : n;

	memcpy(wc, held->wc, count * sizeof(*wc));
	held->count -= count;
	memmove(held->wc, held->wc + count, held->count * sizeof(*wc));
	return count;
}

#define POLLS_LATE 3

/* One completion of the wrapped adapter: how many of `out`, which has room for two, are reported. */
static uint32_t
pass_one(struct wrap_obj *ucq, struct ri_wc *out)
{
	struct wrap_held *held = ucq->held;

	switch (ucq->rnic->defect->wc(ucq, out)) {
	case DEFECT_LOSE:
		return 0;
	case DEFECT_TWICE:
		(void)hold(held, out);
		return 1;
	case DEFECT_LATE:
		return hold(held, out) ? 0 : 1;
	case DEFECT_PASS:
	default:
		return 1;
	}
}

static uint32_t
poll_hooked(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n)
{
	struct wrap_obj *ucq = wrap_of(cq);
	struct wrap_held *held = ucq->held;
	uint32_t told = 0;
	bool found = false;

	pthread_mutex_lock(&held->lock);
	while (told < n) {
		struct ri_wc one;

		if (wrap_plain_fast_ops.poll_cq(cq, &one, 1) == 0)
			break;
		found = true;
		if (pass_one(ucq, &one) > 0)
			wc[told++] = one;
	}
	if (found)
		atomic_store(&ucq->count[3], 0);
	else if (held->count > 0 && atomic_fetch_add(&ucq->count[3], 1) + 1 >= POLLS_LATE)
		told += release(held, wc + told, n - told);
	pthread_mutex_unlock(&held->lock);
	return told;
}

/* --- requests --------------------------------------------------------------------------------- */

static enum ri_status
post_hooked(struct ri_uqp *qp, const struct ri_wr *wr)
{
	struct wrap_obj *uqp = wrap_of(qp);
	struct defect_wr copy = {.wr = *wr};

	if (wr->num_sge > DEFECT_SGE)
		return wrap_plain_fast_ops.post_sq(qp, wr);
	if (wr->num_sge > 0)
		memcpy(copy.sgl, wr->sgl, wr->num_sge * sizeof(*wr->sgl));
	copy.wr.sgl = wr->num_sge > 0 ? copy.sgl : NULL;
	if (!uqp->rnic->defect->wr(uqp, &copy))
		return RI_SUCCESS;
	return wrap_plain_fast_ops.post_sq(qp, &copy.wr);
}

/* --- upcalls ---------------------------------------------------------------------------------- */

static void
cm_hooked(void *self, const struct ri_cm_event *event)
{
	struct wrap_rnic *rnic = self;
	struct ri_cm_event told = wrap_cm_event(rnic, event);

	if (rnic->defect->cm(rnic, &told))
		wrap_plain_upcalls.cm_event(self, &told);
}

static void
async_hooked(void *self, const struct ri_async_event *event)
{
	struct wrap_rnic *rnic = self;
	struct ri_async_event told = *event;

	if (rnic->defect->async(rnic, &told))
		wrap_plain_upcalls.async_event(self, &told);
}

static void
cq_event_hooked(void *self, uint64_t ctx)
{
	struct wrap_rnic *rnic = self;

	for (unsigned i = rnic->defect->cq_event(rnic, ctx); i > 0; i--)
		wrap_plain_upcalls.cq_event(self, ctx);
}

/* --- all of them ------------------------------------------------------------------------------ */

/* The tables have pointers to functions; sizes and ri_upcalls::self are 0 in `with`. */
static void
entries_replace(struct wrap_ops *ops, const struct wrap_ops *with)
{
	void (*entry)(void);

	for (size_t at = 0; at < sizeof(*ops); at += sizeof(entry)) {
		memcpy(&entry, (const uint8_t *)with + at, sizeof(entry));
		if (entry != NULL)
			memcpy((uint8_t *)ops + at, &entry, sizeof(entry));
	}
}

void
defect_start(struct wrap_rnic *rnic)
{
	const struct defect *defect = rnic->defect;
	struct wrap_ops *ops = &rnic->ops;

	if (defect->attr != NULL || defect->flips != 0)
		ops->device.query = query_hooked;
	if (defect->wc != NULL) {
		ops->user.cq_open = cq_open_hooked;
		ops->fast.poll_cq = poll_hooked;
	}
	if (defect->wr != NULL)
		ops->fast.post_sq = post_hooked;
	if (defect->cm != NULL)
		ops->up.cm_event = cm_hooked;
	if (defect->async != NULL)
		ops->up.async_event = async_hooked;
	if (defect->cq_event != NULL)
		ops->up.cq_event = cq_event_hooked;
	if (defect->entries != NULL)
		entries_replace(ops, defect->entries);
	if (defect->apply != NULL)
		defect->apply(rnic);
}
