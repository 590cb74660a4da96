/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Protection domains, parent domains and thread domains. */
#include <errno.h>
#include <stdlib.h>

#include "door_export.h"
#include "door_memory.h"
#include "session_cancel.h"

void
door_pd_hold(struct door_pd *pd)
{
	atomic_fetch_add(&pd->users, 1);
}

void
door_pd_drop(struct door_pd *pd)
{
	atomic_fetch_sub(&pd->users, 1);
}

static struct door_pd *
pd_new(struct ibv_context *context)
{
	struct door_pd *pd = (struct door_pd *)calloc(1, sizeof(*pd));

	if (pd == NULL)
		return NULL;
	pd->context = door_context_of(context);
	pd->base = pd;
	pd->pd.context = context;
	pthread_mutex_init(&pd->lock, NULL);
	return pd;
}

static void
pd_free(struct door_pd *pd)
{
	pthread_mutex_destroy(&pd->lock);
	free(pd);
}

EXPORT struct ibv_pd *
ibv_alloc_pd(struct ibv_context *context)
{
	struct door_adapter *adapter = door_adapter_of(context);
	const struct kal_id_req req = {.id = adapter->session.rnic};
	struct kal_id_rep rep;
	struct door_pd *pd = pd_new(context);
	int error;
	SESSION_DEFER;

	if (pd == NULL)
		return NULL;
	error = door_call(adapter, KAL_PD_CREATE, &req, sizeof(req), &rep, sizeof(rep));
	if (error != 0) {
		pd_free(pd);
		errno = error;
		return NULL;
	}
	pd->id = pd->pd.handle = rep.id;
	door_context_hold(pd->context);
	return &pd->pd;
}

/* Also of a parent domain. */
EXPORT int
ibv_dealloc_pd(struct ibv_pd *ibv)
{
	struct door_pd *pd = door_pd_of(ibv);
	struct door_context *context = pd->context;
	SESSION_DEFER;

	if (context->adapter->inherited)
		return 0;
	if (atomic_load(&pd->users) != 0)
		return EBUSY;
	if (pd->base != pd) {
		door_pd_drop(pd->base);
		if (pd->td != NULL)
			atomic_fetch_sub(&pd->td->users, 1);
	} else {
		(void)door_call_id(context->adapter, KAL_PD_DESTROY, pd->id);
	}
	pd_free(pd);
	door_context_put(context);
	return 0;
}

/*
 * A parent domain has no effect here. Its memory functions are not called, because no queue lies in
 * memory of the program. A thread domain is a hint that permits fewer locks and requires nothing.
 * Either both memory functions must be given, or neither.
 */
struct ibv_pd *
door_parent_alloc(struct ibv_context *context, struct ibv_parent_domain_init_attr *attr)
{
	const uint32_t known =
		IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
	bool pair = (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) == 0 ||
		    (attr->alloc == NULL) == (attr->free == NULL);
	struct door_pd *pd;

	errno = EINVAL;
	if (attr->pd == NULL || attr->pd->context != context || !pair ||
	    (attr->td != NULL && attr->td->context != context))
		return NULL;
	if ((attr->comp_mask & ~known) != 0) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	pd = pd_new(context);
	if (pd == NULL)
		return NULL;
	pd->base = door_pd_of(attr->pd)->base;
	pd->td = (struct door_td *)attr->td;
	pd->id = pd->pd.handle = pd->base->id;
	door_pd_hold(pd->base);
	if (pd->td != NULL)
		atomic_fetch_add(&pd->td->users, 1);
	door_context_hold(pd->context);
	return &pd->pd;
}

struct ibv_td *
door_td_alloc(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
	struct door_td *td;

	if (attr->comp_mask != 0) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	td = (struct door_td *)calloc(1, sizeof(*td));
	if (td == NULL)
		return NULL;
	td->context = door_context_of(context);
	td->td.context = context;
	door_context_hold(td->context);
	return &td->td;
}

int
door_td_free(struct ibv_td *ibv)
{
	struct door_td *td = (struct door_td *)ibv;
	struct door_context *context = td->context;

	if (context->adapter->inherited)
		return 0;
	if (atomic_load(&td->users) != 0)
		return EBUSY;
	free(td);
	door_context_put(context);
	return 0;
}
