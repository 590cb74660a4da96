/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Windows: RMRs [IT 8.5], [IT 8.6], [IT 15.6].
 *
 * An RMR is a window of the provider. Links and unlinks are requests of an endpoint's send queue: the provider runs
 * them in order, and checks rights and zones when they run. This file checks the calls, chooses the key unless the provider does,
 * and remembers the last request, which a query returns. Only the provider knows whether a window is still linked to an LMR or through
 * an endpoint: it returns BUSY when those are freed.
 *
 * The low eight bits of the key change with each link (struct ual_octets), so an old context that a peer remembers stays
 * invalid for a long time. A link that could not be posted changes nothing else.
 *
 * A thread owns ual_rmr::lock for a few instructions, never across a post.
 */

#include "ual_rmr.h"

#include <stdlib.h>

#include "ual.h"
#include "ual_dto.h"
#include "ual_ep.h"
#include "ual_mem.h"
#include "ual_status.h"

/* --- create and free ----------------------------------------------------------------------- */

static void
rmr_destroy(struct ual_object *object)
{
	struct ual_rmr *rmr = (struct ual_rmr *)object;
	struct ual_ia *ia = object->ia;

	ual_key_remove(ia->keys, &rmr->key);
	/* If this fails, closing the client destroys the window. */
	(void)!session_call_id(&ia->session, KAL_MW_FREE, rmr->mw_id);
	ual_object_unref(&rmr->pz->object);
	pthread_mutex_destroy(&rmr->lock);
	ual_object_delete(object);
}

static enum ri_status
window_alloc(struct ual_rmr *rmr, struct kal_mr_rep *rep)
{
	struct kal_mw_req req = {
		.pd = rmr->pz->pd,
		.type = rmr->type == IT_RMR_TYPE_WIDE ? RI_MW_WIDE : RI_MW_NARROW,
	};

	return session_call(&rmr->object.ia->session, KAL_MW_ALLOC, &req, sizeof(req), rep,
			    sizeof(*rep));
}

it_status_t
ual_rmr_create(struct ual_pz *pz, it_rmr_type_t type, it_rmr_handle_t *out)
{
	struct ual_ia *ia = pz->object.ia;
	const struct ri_rnic_attr *attr = &ia->session.attr;
	struct kal_mr_rep rep;
	struct ual_rmr *rmr;
	enum ri_status status;

	if (!attr->mw_narrow && !attr->mw_wide)
		return IT_ERR_OP_NOT_SUPPORTED;
	if (type == IT_RMR_TYPE_DEFAULT)
		type = attr->mw_narrow ? IT_RMR_TYPE_NARROW : IT_RMR_TYPE_WIDE;
	if (!(type == IT_RMR_TYPE_NARROW && attr->mw_narrow) &&
	    !(type == IT_RMR_TYPE_WIDE && attr->mw_wide))
		return IT_ERR_INVALID_RMR_TYPE;
	if (!ual_object_ref(&pz->object))
		return IT_ERR_INVALID_PZ;
	rmr = (struct ual_rmr *)ual_object_new(UAL_RMR, ia, &ia->objects);
	if (rmr == NULL) {
		ual_object_unref(&pz->object);
		return IT_ERR_RESOURCES;
	}
	rmr->object.destroy = rmr_destroy;
	pthread_mutex_init(&rmr->lock, NULL);
	rmr->pz = pz;
	rmr->type = type;
	ual_octets_init(&rmr->octets, ia->session.host);
	status = window_alloc(rmr, &rep);
	if (status != RI_SUCCESS) {
		rmr_destroy(&rmr->object); /* id 0 is no window */
		return ual_status(UAL_CALL_OTHER, status);
	}
	rmr->mw_id = rep.id;
	ual_key_set(ia->keys, &rmr->key, &rmr->object, rep.stag);
	*out = (it_rmr_handle_t)ual_object_publish(&rmr->object);
	return IT_SUCCESS;
}

it_status_t
ual_rmr_free(struct ual_rmr *rmr)
{
	if (!ual_object_retract(&rmr->object))
		return IT_ERR_INVALID_RMR;
	/* This call is never refused: wait for a reset that has a reference now. */
	for (unsigned round = 0; !ual_object_freeze(&rmr->object); round++)
		session_relax(&rmr->object.ia->session, round);
	rmr_destroy(&rmr->object);
	return IT_SUCCESS;
}

void
ual_rmr_query(struct ual_rmr *rmr, it_rmr_param_mask_t wanted, it_rmr_param_t *params)
{
	unsigned int mask = (wanted & IT_RMR_PARAM_ALL) != 0 ? ~0u : (unsigned int)wanted;
	struct ual_rmr_link link;

	pthread_mutex_lock(&rmr->lock);
	link = rmr->link;
	pthread_mutex_unlock(&rmr->lock);
	link.linked = link.linked && !atomic_load(&rmr->key.revoked);
	if ((mask & IT_RMR_PARAM_IA) != 0)
		params->ia = (it_ia_handle_t)ual_object_handle(&rmr->object.ia->object);
	if ((mask & IT_RMR_PARAM_PZ) != 0)
		params->pz = (it_pz_handle_t)ual_object_handle(&rmr->pz->object);
	if ((mask & IT_RMR_PARAM_LINKED) != 0)
		params->bound =
			link.linked
				? IT_TRUE
				: IT_FALSE; /* its name in Issue 1.0, with which this folder is compiled */
	if ((mask & IT_RMR_PARAM_LMR) != 0)
		params->lmr = link.lmr;
	if ((mask & IT_RMR_PARAM_ADDR) != 0)
		params->addr = link.addr;
	if ((mask & IT_RMR_PARAM_LENGTH) != 0)
		params->length = link.length;
	if ((mask & IT_RMR_PARAM_MEM_PRIV) != 0)
		params->privs = link.privs;
	if ((mask & IT_RMR_PARAM_RMR_CONTEXT) != 0)
		params->rmr_context = atomic_load(&rmr->key.stag);
	if ((mask & IT_RMR_PARAM_TYPE) != 0)
		params->type = rmr->type;
	if ((mask & IT_RMR_PARAM_ADDR_MODE) != 0)
		params->addr_mode = link.addr_mode;
}

/* --- requests ------------------------------------------------------------------------------ */

/* *access: the rights of the link as RI_ACCESS_* bits. */
static it_status_t
link_check(const struct ual_rmr *rmr, const struct ual_lmr *lmr, const struct ual_ep *ep,
	   const struct ual_rmr_wanted *wanted, uint32_t *access)
{
	const struct ual_ia *ia = rmr->object.ia;
	const struct ri_rnic_attr *can = &ia->session.attr;
	unsigned int privs = (unsigned int)wanted->privs;
	uintptr_t offset = (uintptr_t)wanted->addr - (uintptr_t)lmr->addr;
	bool reads, writes;

	if (lmr->object.ia != ia)
		return IT_ERR_INVALID_LMR;
	if (ep->object.ia != ia)
		return IT_ERR_INVALID_EP;
	if (ep->ud)
		return IT_ERR_INVALID_EP_TYPE;
	if (lmr->pz != rmr->pz || ep->pz != rmr->pz)
		return IT_ERR_INVALID_PZ;
	if (ual_dead(ia))
		return IT_ERR_IA_CATASTROPHE;
	if (wanted->length == 0)
		return IT_ERR_INVALID_LENGTH;
	if ((wanted->addr_mode != IT_ADDR_MODE_ABSOLUTE &&
	     (wanted->addr_mode != IT_ADDR_MODE_RELATIVE || !can->zero_based)) ||
	    (lmr->addr_mode != IT_ADDR_MODE_ABSOLUTE && !can->mw_on_zero_based))
		return IT_ERR_INVALID_ADDR_MODE;
	*access = (privs & IT_PRIV_REMOTE_READ) != 0 ? RI_ACCESS_REMOTE_READ : 0;
	*access |= (privs & IT_PRIV_REMOTE_WRITE) != 0 ? RI_ACCESS_REMOTE_WRITE : 0;
	if (can->atomics)
		*access |= (privs & IT_PRIV_ATOMIC) != 0 ? RI_ACCESS_REMOTE_ATOMIC : 0;
	/* A window cannot give local rights, and its own need local rights of the region [IT 8.2]. */
	reads = (*access & (RI_ACCESS_REMOTE_READ | RI_ACCESS_REMOTE_ATOMIC)) != 0;
	writes = (*access & (RI_ACCESS_REMOTE_WRITE | RI_ACCESS_REMOTE_ATOMIC)) != 0;
	if ((privs & ~(unsigned int)(IT_PRIV_REMOTE | IT_PRIV_ATOMIC)) != 0 || *access == 0 ||
	    (reads && (lmr->privs & IT_PRIV_LOCAL_READ) == 0) ||
	    (writes && (lmr->privs & IT_PRIV_LOCAL_WRITE) == 0))
		return IT_ERR_INVALID_PRIVS;
	if ((uintptr_t)wanted->addr < (uintptr_t)lmr->addr || offset > lmr->length ||
	    wanted->length > lmr->length - offset)
		return IT_ERR_RANGE;
	return IT_SUCCESS;
}

/* What a request changes, kept in case its post fails. */
struct before {
	struct ual_rmr_link link;
	uint32_t stag;
	bool revoked;
};

/* Take the next key and note the link. */
static uint32_t
link_begin(struct ual_rmr *rmr, const struct ual_rmr_link *link, struct before *before)
{
	uint32_t stag;

	pthread_mutex_lock(&rmr->lock);
	*before = (struct before){.link = rmr->link,
				  .stag = atomic_load(&rmr->key.stag),
				  .revoked = atomic_load(&rmr->key.revoked)};
	stag = ual_octets_step(&rmr->octets, before->stag);
	ual_key_renew(&rmr->key, stag);
	rmr->link = *link;
	pthread_mutex_unlock(&rmr->lock);
	return stag;
}

/* The post failed: restore the earlier link and its key, unless another thread has linked it meanwhile. */
static void
link_undo(struct ual_rmr *rmr, uint32_t stag, const struct before *before)
{
	pthread_mutex_lock(&rmr->lock);
	if (atomic_load(&rmr->key.stag) == stag) {
		rmr->link = before->link;
		if (before->stag != stag) {
			atomic_store(&rmr->key.stag, before->stag);
			atomic_store(&rmr->key.revoked, before->revoked);
		}
	}
	pthread_mutex_unlock(&rmr->lock);
}

it_status_t
ual_rmr_link(struct ual_rmr *rmr, struct ual_lmr *lmr, struct ual_ep *ep,
	     const struct ual_rmr_wanted *wanted, it_rmr_context_t *context)
{
	const struct ual_rmr_link link = {
		.linked = true,
		.lmr = (it_lmr_handle_t)ual_object_handle(&lmr->object),
		.ep = (it_ep_handle_t)ual_object_handle(&ep->object),
		.addr = wanted->addr,
		.length = wanted->length,
		.privs = wanted->privs,
		.addr_mode = wanted->addr_mode,
	};
	/* Does the provider choose the key of this window, while the bind is posted? */
	bool returned =
		rmr->type == IT_RMR_TYPE_WIDE && rmr->object.ia->session.attr.mw_wide_stag_returned;
	struct before before;
	it_status_t status;
	uint32_t access, stag;
	struct ri_wr wr = {
		.wr_id = wanted->cookie,
		.opcode = RI_OP_BIND_MW,
		.u.returning.bind = {.mr_stag = ual_lmr_stag(lmr),
				     .addr = (uintptr_t)wanted->addr,
				     .length = wanted->length},
	};

	pthread_mutex_lock(&lmr->lock); /* before or after a change of the region */
	status = link_check(rmr, lmr, ep, wanted, &access);
	pthread_mutex_unlock(&lmr->lock);
	if (status == IT_SUCCESS)
		status = ual_dto_control_check(ep, wanted->flags, UAL_DTO_LINK_FLAGS);
	if (status != IT_SUCCESS)
		return status;
	wr.u.returning.bind.access = access;
	wr.flags = (uint32_t)wanted->flags;
	if (wanted->addr_mode == IT_ADDR_MODE_RELATIVE)
		wr.flags |= RI_WR_BIND_RELATIVE;
	/*
	 * Usually the key is known before the post, and the RMR has it from then on. If the provider
	 * returns the key, the RMR changes after the post; if two threads link one window at once, either
	 * key may be the last.
	 */
	stag = returned ? atomic_load(&rmr->key.stag) : link_begin(rmr, &link, &before);
	wr.u.bind.mw_stag = stag;
	if (returned)
		wr.u.returning.stag = &stag;
	status = ual_dto_control(ep, &wr);
	if (status != IT_SUCCESS) {
		if (!returned)
			link_undo(rmr, stag, &before);
		return status;
	}
	if (returned) {
		pthread_mutex_lock(&rmr->lock);
		ual_key_renew(&rmr->key, stag);
		rmr->link = link;
		pthread_mutex_unlock(&rmr->lock);
	}
	*context = stag;
	return IT_SUCCESS;
}

it_status_t
ual_rmr_unlink(struct ual_rmr *rmr, struct ual_ep *ep, it_dto_cookie_t cookie, it_dto_flags_t flags)
{
	const struct ri_rnic_attr *attr = &rmr->object.ia->session.attr;
	bool wide = rmr->type == IT_RMR_TYPE_WIDE;
	struct ri_wr wr = {.wr_id = cookie};
	struct before before;
	it_status_t status;
	uint32_t unused;

	if (ep->object.ia != rmr->object.ia || ep->pz != rmr->pz)
		return IT_ERR_INVALID_EP;
	if (ep->ud)
		status = IT_ERR_INVALID_EP_TYPE;
	else if (!(wide ? attr->mw_wide_unbind : attr->mw_narrow_unbind))
		status = IT_ERR_OP_NOT_SUPPORTED;
	else
		status = ual_dto_control_check(ep, flags, UAL_DTO_UNLINK_FLAGS);
	pthread_mutex_lock(&rmr->lock);
	/* Narrow windows are unlinked through the endpoint that linked them. */
	if (rmr->type == IT_RMR_TYPE_NARROW && rmr->link.linked &&
	    !atomic_load(&rmr->key.revoked) &&
	    rmr->link.ep != (it_ep_handle_t)ual_object_handle(&ep->object))
		status = IT_ERR_INVALID_EP;
	before = (struct before){.link = rmr->link, .stag = atomic_load(&rmr->key.stag)};
	if (status == IT_SUCCESS)
		rmr->link.linked = false;
	pthread_mutex_unlock(&rmr->lock);
	if (status != IT_SUCCESS)
		return status;
	wr.flags = (uint32_t)flags; /* the fence has the same bit in RNIC-PI */
	if (wide) {
		wr.opcode = RI_OP_BIND_MW;
		/* Of length 0: unbinds. Nothing uses the key that it gives. */
		wr.u.returning = (struct ri_wr_bind_returning){.bind = {.mw_stag = before.stag},
							       .stag = &unused};
	} else {
		wr.opcode = RI_OP_LOCAL_INV;
		wr.inv_stag = before.stag;
	}
	status = ual_dto_control(ep, &wr);
	if (status != IT_SUCCESS)
		link_undo(rmr, before.stag, &before);
	return status;
}

/* --- reset ---------------------------------------------------------------------------------- */

/* The windows that replace those of some RMRs; the renewal has a reference to each of these. */
struct ual_rmr_renewal {
	size_t count;
	struct {
		struct ual_rmr *rmr;
		struct kal_mr_rep window;
	} items[];
};

/* Was its last link through this endpoint; with `now`: and was it not unlinked since? */
static bool
linked_through(struct ual_rmr *rmr, it_ep_handle_t ep, bool now)
{
	bool so;

	pthread_mutex_lock(&rmr->lock);
	so = rmr->type == IT_RMR_TYPE_NARROW && rmr->link.ep == ep;
	if (now)
		so = so && rmr->link.linked && !atomic_load(&rmr->key.revoked);
	pthread_mutex_unlock(&rmr->lock);
	return so;
}

/* The handles of all RMRs of the adapter; freed by the caller. NULL and *count > 0: no memory. */
static void **
all_rmrs(struct ual_ia *ia, size_t *count)
{
	size_t room = 0;
	void **handles = NULL;

	*count = 0;
	pthread_mutex_lock(&ia->objects.lock);
	for (struct ual_object *object = ia->objects.first; object != NULL; object = object->next)
		room += ual_object_type(object) == UAL_RMR;
	if (room > 0)
		handles = (void **)malloc(room * sizeof(*handles));
	for (struct ual_object *object = ia->objects.first; object != NULL; object = object->next) {
		if (ual_object_type(object) != UAL_RMR)
			continue;
		if (handles != NULL)
			handles[*count] = ual_object_handle(object);
		++*count;
	}
	pthread_mutex_unlock(&ia->objects.lock);
	return handles;
}

void
ual_rmr_renewal_end(struct ual_rmr_renewal *renewal, bool replace)
{
	for (size_t i = 0; renewal != NULL && i < renewal->count; i++) {
		const struct kal_mr_rep *window = &renewal->items[i].window;
		struct ual_rmr *rmr = renewal->items[i].rmr;
		struct ual_ia *ia = rmr->object.ia;
		uint32_t unused = window->id;

		/* The window of the handle is replaced; the old one is freed, and what it opened is closed. */
		if (replace) {
			unused = rmr->mw_id;
			pthread_mutex_lock(&rmr->lock);
			rmr->mw_id = window->id;
			rmr->link.linked = false;
			pthread_mutex_unlock(&rmr->lock);
			ual_key_set(ia->keys, &rmr->key, &rmr->object, window->stag);
		}
		(void)!session_call_id(&ia->session, KAL_MW_FREE, unused);
		ual_object_unref(&rmr->object);
	}
	free(renewal);
}

it_status_t
ual_rmr_renewal_make(struct ual_ep *ep, struct ual_rmr_renewal **out)
{
	it_ep_handle_t handle = (it_ep_handle_t)ual_object_handle(&ep->object);
	enum ri_status status = RI_SUCCESS;
	struct ual_rmr_renewal *renewal = NULL;
	size_t count;
	void **rmrs = all_rmrs(ep->object.ia, &count);

	*out = NULL;
	if (count == 0)
		return IT_SUCCESS;
	if (rmrs != NULL)
		renewal = (struct ual_rmr_renewal *)calloc(
			1, sizeof(*renewal) + count * sizeof(renewal->items[0]));
	if (renewal == NULL)
		status = RI_ERR_RESOURCES;
	/* Allocate a window for each RMR whose last link was through the endpoint. */
	for (size_t i = 0; i < count && status == RI_SUCCESS; i++) {
		struct ual_rmr *rmr =
			(struct ual_rmr *)ual_object_use(rmrs[i], UAL_RMR, ep->object.ia);
		bool through = rmr != NULL && linked_through(rmr, handle, false);

		if (through)
			status = window_alloc(rmr, &renewal->items[renewal->count].window);
		if (through && status == RI_SUCCESS)
			renewal->items[renewal->count++].rmr = rmr;
		else if (rmr != NULL)
			ual_object_unref(&rmr->object);
	}
	free(rmrs);
	if (status == RI_SUCCESS)
		*out = renewal;
	else
		ual_rmr_renewal_end(renewal, false);
	return ual_status(UAL_CALL_OTHER, status);
}

bool
ual_rmr_blocks(struct ual_ep *ep)
{
	it_ep_handle_t handle = (it_ep_handle_t)ual_object_handle(&ep->object);
	struct ual_ia *ia = ep->object.ia;
	bool blocks = false;
	size_t count;
	void **rmrs = all_rmrs(ia, &count);

	if (rmrs == NULL)
		return count > 0; /* no memory to find out: assume that one is linked */
	for (size_t i = 0; i < count && !blocks; i++) {
		struct ual_rmr *rmr = (struct ual_rmr *)ual_object_use(rmrs[i], UAL_RMR, ia);

		if (rmr == NULL)
			continue;
		blocks = linked_through(rmr, handle, true);
		ual_object_unref(&rmr->object);
	}
	free(rmrs);
	return blocks;
}
