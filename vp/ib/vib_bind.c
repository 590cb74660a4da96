/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * [fast path] Binds. The bind of a narrow window is posted like other requests. That of a wide window is posted by
 * ibv_bind_mw, which chooses the STag: requests that the chain keeps are posted before it, and the chain never keeps it.
 */
#include "vib_bind.h"

#include "vib_chain.h"
#include "vib_mw.h"

/*
 * May a window be bound to this part of the region, with these rights [RI 5.6.2]? Some devices
 * refuse the post of an invalid bind, others detect it when its turn comes. Here it always fails in
 * its turn.
 */
static bool
is_sound(const struct vib_key *region, const struct ri_wr_bind *bind)
{
	const uint32_t writes = RI_ACCESS_REMOTE_WRITE | RI_ACCESS_REMOTE_ATOMIC;
	uint64_t offset = bind->addr - region->addr;

	return (region->access & RI_ACCESS_BIND) != 0 && bind->length != 0 &&
	       bind->addr >= region->addr && offset <= region->length &&
	       bind->length <= region->length - offset &&
	       (bind->access & ~(writes | RI_ACCESS_REMOTE_READ)) == 0 &&
	       ((bind->access & writes) == 0 || (region->access & RI_ACCESS_LOCAL_WRITE) != 0) &&
	       ((bind->access & RI_ACCESS_REMOTE_READ) == 0 ||
		(region->access & RI_ACCESS_LOCAL_READ) != 0);
}

bool
vib_bind_fill(struct ri_uqp *qp, const struct ri_wr *wr, struct vib_wr *out)
{
	struct ibv_mw_bind_info *info = &out->wr.bind_mw.bind_info;
	struct vib_key *window = vib_key_get(qp->keys, VIB_KEY_WINDOW, wr->u.bind.mw_stag);
	struct vib_key *region = vib_key_get(qp->keys, VIB_KEY_REGION, wr->u.bind.mr_stag);

	if (region == NULL)
		region = vib_key_get(qp->keys, VIB_KEY_ELSEWHERE, wr->u.bind.mr_stag);
	out->uses[VIB_WR_OBJECT] = window;
	out->uses[VIB_WR_REGION] = region;
	if (window == NULL || window->pd != qp->pd)
		return false;
	if (wr->u.bind.length == 0 && ((const struct ri_mw *)window->object)->wide != NULL) {
		const struct ri_mw *mw = (const struct ri_mw *)window->object;
		/* A bind of no bytes unbinds a wide window. It names a region of its own, as not every library takes none. */
		info->mr = mw->pd->nothing;
		info->addr = (uintptr_t)info->mr->addr;
		return true;
	}
	if (region == NULL || region->pd != qp->pd || !is_sound(region, &wr->u.bind))
		return false;
	out->wr.bind_mw.mw = ((struct ri_mw *)window->object)->mw;
	out->wr.bind_mw.rkey = wr->u.bind.mw_stag;
	info->mr = (struct ibv_mr *)region->object;
	info->addr = wr->u.bind.addr;
	info->length = wr->u.bind.length;
	info->mw_access_flags = vib_access(wr->u.bind.access);
	return true;
}

/* --- wide windows ------------------------------------------------------------------------------------ */

bool
vib_bind_is_wide(const struct ri_uqp *qp, const struct ri_wr *wr)
{
	struct vib_key *key = vib_key_get(qp->keys, VIB_KEY_WINDOW, wr->u.bind.mw_stag);
	bool wide = false;

	if (key == NULL)
		return false;
	wide = ((const struct ri_mw *)key->object)->wide != NULL;
	if (wide)
		*wr->u.returning.stag = vib_mw_next((struct ri_mw *)key->object);
	vib_key_put(key);
	return wide;
}

bool
vib_bind_opens(struct ri_uqp *qp)
{
	if (vib_chain_busy(&qp->chain))
		vib_chain_finish(qp);
	return !vib_chain_busy(&qp->chain) && atomic_load(&qp->gate) == VIB_GATE_OPEN;
}

int
vib_bind_wide(struct ri_uqp *qp, const struct ri_wr *wr, const struct vib_wr *made)
{
	struct ri_mw *mw = (struct ri_mw *)made->uses[VIB_WR_OBJECT]->object;
	struct vib_slot *slot = (struct vib_slot *)(uintptr_t)made->wr.wr_id;
	struct ibv_mw_bind bind = {.wr_id = made->wr.wr_id,
				   .send_flags = made->wr.send_flags,
				   .bind_info = made->wr.bind_mw.bind_info};
	uint32_t before;
	int error;

	/* A completion that is polled before the library has noted the STag waits for this lock. */
	vsw_lock(&mw->lock);
	before = mw->mw->rkey;
	slot->odd |= VIB_SLOT_BOUND;
	slot->key = (uint8_t)before;
	error = ibv_bind_mw(qp->qp, mw->mw, &bind);
	if (error == 0) {
		vib_mw_bound(mw, before, &bind.bind_info);
		*wr->u.returning.stag = mw->stag;
	} else {
		slot->odd &= ~(uint32_t)VIB_SLOT_BOUND;
	}
	vsw_unlock(&mw->lock);
	return error;
}
