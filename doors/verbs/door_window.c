/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Memory windows: allocate and free them. Binds are in door_post.c. */
#include <errno.h>
#include <stdlib.h>

#include "door_memory.h"
#include "session_cancel.h"

static int
window_open(struct door_mw *mw)
{
	const struct kal_mw_req req = {
		.pd = mw->pd->id, .type = mw->mw.type == IBV_MW_TYPE_1 ? RI_MW_WIDE : RI_MW_NARROW};
	struct kal_mr_rep rep;
	int error = door_call(mw->pd->context->adapter, KAL_MW_ALLOC, &req, sizeof(req), &rep,
			      sizeof(rep));

	if (error != 0)
		return error;
	mw->id = mw->mw.handle = rep.id;
	mw->mw.rkey = rep.stag;
	return 0;
}

struct ibv_mw *
door_mw_alloc(struct ibv_pd *ibv, enum ibv_mw_type type)
{
	struct door_pd *pd = door_pd_of(ibv);
	struct door_mw *mw;
	int error;
	SESSION_DEFER;

	if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2) {
		errno = EINVAL;
		return NULL;
	}
	mw = (struct door_mw *)calloc(1, sizeof(*mw));
	if (mw == NULL)
		return NULL;
	mw->pd = pd;
	mw->mw.context = ibv->context;
	mw->mw.pd = ibv;
	mw->mw.type = type;
	error = window_open(mw);
	if (error != 0) {
		free(mw);
		errno = error;
		return NULL;
	}
	if (type == IBV_MW_TYPE_2) {
		pthread_mutex_lock(&pd->base->lock);
		mw->next = pd->base->windows;
		pd->base->windows = mw;
		pthread_mutex_unlock(&pd->base->lock);
	}
	door_pd_hold(pd);
	return &mw->mw;
}

int
door_mw_free(struct ibv_mw *ibv)
{
	struct door_mw *mw = door_mw_of(ibv);
	struct door_pd *base = mw->pd->base;
	struct door_adapter *adapter = mw->pd->context->adapter;
	int error;
	SESSION_DEFER;

	if (adapter->inherited)
		return 0;
	pthread_mutex_lock(&base->lock);
	error = mw->id != 0 ? door_call_id(adapter, KAL_MW_FREE, mw->id) : 0;
	for (struct door_mw **link = &base->windows; error == 0 && *link != NULL;
	     link = &(*link)->next)
		if (*link == mw) {
			*link = mw->next;
			break;
		}
	pthread_mutex_unlock(&base->lock);
	if (error != 0)
		return error;
	door_pd_drop(mw->pd);
	free(mw);
	return 0;
}

/* Without memory for a new window, the old key stays in the program's struct, and no bind takes it. */
void
door_windows_renew(struct door_pd *pd, uint32_t qpn)
{
	struct door_pd *base = pd->base;

	pthread_mutex_lock(&base->lock);
	for (struct door_mw *mw = base->windows; mw != NULL; mw = mw->next)
		if (atomic_load(&mw->bound_by) == qpn) {
			atomic_store(&mw->bound_by, 0);
			(void)door_call_id(base->context->adapter, KAL_MW_FREE, mw->id);
			mw->id = 0;
			if (window_open(mw) != 0)
				door_warn(base->context->adapter,
					  "no memory: window %#x cannot be bound any more",
					  (unsigned)mw->mw.rkey);
		}
	pthread_mutex_unlock(&base->lock);
}
