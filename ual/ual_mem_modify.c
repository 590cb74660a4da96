/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A region registered anew under the same handle [IT 8.8]: zone, range, rights or mode.
 *
 * The provider does it in one step: it revokes the old key, waits until nothing uses it, and opens the new one. It
 * refuses while windows are linked. A region is registered anew by one call at a time: ual_lmr::modify is a control lock, owned
 * across the kAL call; what queries and posts read changes under ual_lmr::lock.
 */

#include "ual.h"
#include "ual_mem.h"
#include "ual_status.h"

/* The caller owns ual_lmr::modify, and has references to both zones. */
static it_status_t
register_anew(struct ual_lmr *lmr, struct ual_pz *pz, const struct ual_lmr_wanted *wanted)
{
	struct ual_ia *ia = lmr->object.ia;
	struct kal_mr_req req = {
		.id = lmr->mr_id,
		.pd = pz->pd,
		.addr = (uintptr_t)wanted->addr,
		.length = wanted->length,
		.access = ual_lmr_access(ia, wanted->privs),
		.zero_based = wanted->addr_mode == IT_ADDR_MODE_RELATIVE,
		.key = ual_key_octet(ia->session.host),
		.shareable = (wanted->flags & IT_LMR_FLAG_NON_SHAREABLE) == 0,
		.max_pages = (uint32_t)lmr->iobl_room,
	};
	struct kal_mr_rep rep;
	enum ri_status status;

	status = session_call(&ia->session, KAL_MR_REREG, &req, sizeof(req), &rep, sizeof(rep));
	if (status != RI_SUCCESS)
		return ual_status(UAL_CALL_LMR_MODIFY, status);
	ual_key_set(ia->keys, &lmr->key, &lmr->object, rep.stag);
	pthread_mutex_lock(&lmr->lock);
	lmr->pz = pz;
	lmr->addr = (unsigned char *)wanted->addr;
	lmr->length = wanted->length;
	lmr->privs = wanted->privs;
	atomic_store(&lmr->addr_mode, (unsigned int)wanted->addr_mode);
	pthread_mutex_unlock(&lmr->lock);
	return IT_SUCCESS;
}

it_status_t
ual_lmr_modify(struct ual_lmr *lmr, it_lmr_param_mask_t wanted_mask, const it_lmr_param_t *params)
{
	unsigned int mask = (unsigned int)wanted_mask;
	struct ual_ia *ia = lmr->object.ia;
	struct ual_lmr_wanted wanted;
	UAL_VISIT struct ual_pz *pz = NULL;
	struct ual_pz *before, *after;
	it_status_t status;

	if ((mask & IT_LMR_PARAM_PZ) != 0) {
		pz = ual_pz_of(params->pz);
		if (pz == NULL || pz->object.ia != ia)
			return IT_ERR_INVALID_PZ;
	}
	/*
	 * These cannot be registered anew: a shared region has the pages of its group; a region made from a list and the direct
	 * LMR have no single range; the range of a dmabuf is not in the process's address space.
	 */
	if (lmr->share != NULL || lmr->listed || lmr->dmabuf || lmr->direct ||
	    !ia->session.attr.reregister)
		return IT_ERR_OP_NOT_SUPPORTED;
	pthread_mutex_lock(&lmr->modify);
	/* The region after the change: the members that the mask names are new. */
	wanted = (struct ual_lmr_wanted){
		.addr = (mask & IT_LMR_PARAM_ADDR) != 0 ? params->addr : lmr->addr,
		.length = (mask & IT_LMR_PARAM_LENGTH) != 0 ? params->length : lmr->length,
		.privs = (mask & IT_LMR_PARAM_MEM_PRIV) != 0 ? params->privs : lmr->privs,
		.addr_mode = (mask & IT_LMR_PARAM_ADDR_MODE) != 0
				     ? params->addr_mode
				     : (it_addr_mode_t)atomic_load(&lmr->addr_mode),
		.flags = lmr->flags,
		.shared_id = lmr->shared_id,
	};
	status = wanted.addr != NULL ? ual_lmr_check(ia, &wanted) : IT_ERR_ADDRESS;
	before = lmr->pz;
	after = pz != NULL ? pz : before;
	if (status == IT_SUCCESS && !ual_object_ref(&after->object))
		status = IT_ERR_INVALID_PZ;
	else if (status == IT_SUCCESS) {
		/* After a success the reference is to the new zone, not to the old one. */
		status = register_anew(lmr, after, &wanted);
		ual_object_unref(status == IT_SUCCESS ? &before->object : &after->object);
	}
	pthread_mutex_unlock(&lmr->modify);
	return status;
}
