/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Registrations, windows and keys: rights, domains, bounds and revocations that are not checked. */
#include <stdlib.h>
#include <string.h>

#include "defect.h"

#define PAGE   UINT64_C(4096)
#define REMOTE (uint32_t)(RI_ACCESS_REMOTE_READ | RI_ACCESS_REMOTE_WRITE | RI_ACCESS_REMOTE_ATOMIC)

/* Register something else than what was asked for; if that fails, what was asked for. */
static enum ri_status
reg_as(struct ri_pd *pd, const struct ri_mr_init *init, const struct ri_mr_init *other,
       struct ri_mr **out, uint32_t *stag)
{
	enum ri_status status = wrap_plain_mem_ops.mr_reg(pd, other, out, stag);

	if (status != RI_SUCCESS)
		status = wrap_plain_mem_ops.mr_reg(pd, init, out, stag);
	if (status == RI_SUCCESS)
		wrap_of(*out)->init = *init;
	return status;
}

/* A query reports what was asked for. */
static enum ri_status
query_as_asked(struct ri_mr *mr, struct ri_mr_attr *attr)
{
	enum ri_status status = wrap_plain_mem_ops.mr_query(mr, attr);
	const struct wrap_obj *obj = wrap_of(mr);

	if (status == RI_SUCCESS && !obj->init.unlinked) {
		attr->addr = obj->init.addr;
		attr->length = obj->init.length;
		attr->access = obj->init.access;
	}
	return status;
}

static void
reg_with(struct wrap_rnic *rnic,
	 enum ri_status (*reg)(struct ri_pd *pd, const struct ri_mr_init *init, struct ri_mr **out,
			       uint32_t *stag))
{
	rnic->ops.mem.mr_reg = reg;
	rnic->ops.mem.mr_query = query_as_asked;
}

/* --- rights ----------------------------------------------------------------------------------- */

static enum ri_status
rights_reg(struct ri_pd *pd, const struct ri_mr_init *init, struct ri_mr **out, uint32_t *stag)
{
	struct ri_mr_init other = *init;

	other.access |= REMOTE | RI_ACCESS_LOCAL_READ | RI_ACCESS_LOCAL_WRITE;
	return reg_as(pd, init, &other, out, stag);
}

static void
rights_unchecked(struct wrap_rnic *rnic)
{
	reg_with(rnic, rights_reg);
}

static enum ri_status
local_write_reg(struct ri_pd *pd, const struct ri_mr_init *init, struct ri_mr **out, uint32_t *stag)
{
	struct ri_mr_init other = *init;

	other.access |= RI_ACCESS_LOCAL_WRITE;
	return reg_as(pd, init, &other, out, stag);
}

static void
local_write_unchecked(struct wrap_rnic *rnic)
{
	reg_with(rnic, local_write_reg);
}

static enum ri_status
read_reg(struct ri_pd *pd, const struct ri_mr_init *init, struct ri_mr **out, uint32_t *stag)
{
	struct ri_mr_init other = *init;

	other.access |= RI_ACCESS_REMOTE_READ | RI_ACCESS_LOCAL_READ;
	return reg_as(pd, init, &other, out, stag);
}

static void
remote_read_unchecked(struct wrap_rnic *rnic)
{
	reg_with(rnic, read_reg);
}

static enum ri_status
bind_right_reg(struct ri_pd *pd, const struct ri_mr_init *init, struct ri_mr **out, uint32_t *stag)
{
	struct ri_mr_init other = *init;

	other.access |= RI_ACCESS_BIND;
	return reg_as(pd, init, &other, out, stag);
}

static void
bind_right_unchecked(struct wrap_rnic *rnic)
{
	reg_with(rnic, bind_right_reg);
}

static enum ri_status
all_rights_qp_create(struct ri_pd *pd, struct ri_qp_init *init, struct ri_cq *send_cq,
		     struct ri_cq *recv_cq, struct ri_srq *srq, struct ri_qp **out,
		     struct ri_map *map)
{
	init->access |= init->type == RI_QP_RC ? REMOTE : 0;
	return wrap_plain_qp_ops.create(pd, init, send_cq, recv_cq, srq, out, map);
}

static enum ri_status
all_rights_modify(struct ri_qp *qp, const struct ri_qp_attr *attr, uint32_t mask)
{
	mask &= ~(uint32_t)RI_QP_ATTR_ACCESS;
	return mask != 0 ? wrap_plain_qp_ops.modify(qp, attr, mask) : RI_SUCCESS;
}

/* --- domains ---------------------------------------------------------------------------------- */

/* Every domain of a context stands for the first one. */
static enum ri_status
one_domain_create(struct ri_context *context, struct ri_pd **out)
{
	struct wrap_obj *own = wrap_of(context);
	enum ri_status status;
	struct wrap_obj *pd;

	if (own->pd == NULL) {
		struct ri_pd *first;

		status = wrap_plain_pd_ops.create(context, &first);
		if (status != RI_SUCCESS)
			return status;
		own->pd = wrap_of(first);
	}
	pd = wrap_new(context, WRAP_PD);
	if (pd == NULL)
		return RI_ERR_RESOURCES;
	*out = wrap_ready(pd, own->pd->inner);
	return RI_SUCCESS;
}

static enum ri_status
one_domain_destroy(struct ri_pd *pd)
{
	wrap_free(wrap_of(pd));
	return RI_SUCCESS;
}

/* --- bounds ----------------------------------------------------------------------------------- */

static enum ri_status
pages_reg(struct ri_pd *pd, const struct ri_mr_init *init, struct ri_mr **out, uint32_t *stag)
{
	struct ri_mr_init other = *init;
	uint64_t end = init->addr + init->length;

	if (init->pages == NULL && !init->unlinked) {
		end = (end + PAGE - 1) & ~(PAGE - 1);
		other.addr = init->zero_based ? init->addr : init->addr & ~(PAGE - 1);
		other.length = end - other.addr;
	}
	return reg_as(pd, init, &other, out, stag);
}

static void
bounds_in_pages(struct wrap_rnic *rnic)
{
	reg_with(rnic, pages_reg);
}

static enum ri_status
more_reg(struct ri_pd *pd, const struct ri_mr_init *init, struct ri_mr **out, uint32_t *stag)
{
	struct ri_mr_init other = *init;

	other.length += init->pages == NULL && !init->unlinked ? 1 : 0;
	return reg_as(pd, init, &other, out, stag);
}

static void
bounds_one_more(struct wrap_rnic *rnic)
{
	reg_with(rnic, more_reg);
}

static enum ri_status
less_reg(struct ri_pd *pd, const struct ri_mr_init *init, struct ri_mr **out, uint32_t *stag)
{
	struct ri_mr_init other = *init;

	other.length -= init->pages == NULL && !init->unlinked && init->length > 1 ? 1 : 0;
	return reg_as(pd, init, &other, out, stag);
}

static void
bounds_one_less(struct wrap_rnic *rnic)
{
	reg_with(rnic, less_reg);
}

static enum ri_status
based_reg(struct ri_pd *pd, const struct ri_mr_init *init, struct ri_mr **out, uint32_t *stag)
{
	struct ri_mr_init other = *init;

	other.zero_based = false;
	return reg_as(pd, init, &other, out, stag);
}

static void
zero_base_ignored(struct wrap_rnic *rnic)
{
	reg_with(rnic, based_reg);
}

/* --- revocation ------------------------------------------------------------------------------- */

static enum ri_status
keep_region(struct ri_mr *mr)
{
	wrap_free(wrap_of(mr));
	return RI_SUCCESS;
}

static enum ri_status
busy_hidden_dereg(struct ri_mr *mr)
{
	enum ri_status status = wrap_plain_mem_ops.mr_dereg(mr);

	return status == RI_ERR_BUSY ? keep_region(mr) : status;
}

static enum ri_status
keep_window(struct ri_mw *mw)
{
	wrap_free(wrap_of(mw));
	return RI_SUCCESS;
}

/* The old registration stays beside the new one. */
static enum ri_status
beside_rereg(struct ri_mr *mr, struct ri_pd *pd, const struct ri_mr_init *init, uint32_t *stag)
{
	struct wrap_obj *obj = wrap_of(mr);
	struct ri_mr *inner = NULL;
	enum ri_status status = wrap_in(mr)->mem.mr_reg(wrap_inner(pd), init, &inner, stag);

	if (status != RI_SUCCESS)
		return status;
	obj->inner = inner;
	obj->pd = wrap_of(pd);
	obj->init = *init;
	obj->stag = *stag;
	return RI_SUCCESS;
}

static enum ri_status
old_key_rereg(struct ri_mr *mr, struct ri_pd *pd, const struct ri_mr_init *init, uint32_t *stag)
{
	uint32_t old = wrap_of(mr)->stag;
	enum ri_status status = wrap_plain_mem_ops.mr_rereg(mr, pd, init, stag);

	if (status == RI_SUCCESS)
		*stag = old;
	return status;
}

/* --- keys ------------------------------------------------------------------------------------- */

static void
no_random(void *self, void *buf, size_t len)
{
	(void)self;
	memset(buf, 0x5a, len);
}

/* A host whose random numbers are not random. */
struct dull {
	struct ri_host host;
	struct dull *next;
};

/* One for each host, which stays: adapters of one host may have something in common. NULL: no memory. */
static const struct ri_host *
dull_host(const struct ri_host *host)
{
	static struct dull *first;
	struct dull *dull = first;

	while (dull != NULL && dull->host.self != host->self)
		dull = dull->next;
	if (dull == NULL && (dull = calloc(1, sizeof(*dull))) != NULL) {
		dull->host = *host;
		dull->host.random = no_random;
		dull->next = first;
		first = dull;
	}
	return dull != NULL ? &dull->host : NULL;
}

static void
keys_predictable(struct wrap_rnic *rnic)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	const struct ri_host *dull;

	pthread_mutex_lock(&lock);
	dull = dull_host(rnic->host);
	pthread_mutex_unlock(&lock);
	if (dull != NULL)
		rnic->inner_host = dull;
}

static enum ri_status
key_query(struct ri_mr *mr, struct ri_mr_attr *attr)
{
	enum ri_status status = wrap_plain_mem_ops.mr_query(mr, attr);

	attr->stag ^= 1;
	return status;
}

static enum ri_status
rights_query(struct ri_mr *mr, struct ri_mr_attr *attr)
{
	enum ri_status status = wrap_plain_mem_ops.mr_query(mr, attr);

	attr->access |= REMOTE;
	attr->length++;
	return status;
}

/* --- invalidation and windows ------------------------------------------------------------------- */

static bool
invalidate_ignored(struct wrap_obj *uqp, struct defect_wr *wr)
{
	(void)uqp;
	if (wr->wr.opcode == RI_OP_SEND)
		wr->wr.flags &= ~(uint32_t)RI_WR_INVALIDATE;
	return true;
}

static bool
invalidate_wrong(struct wrap_obj *uqp, struct defect_wr *wr)
{
	(void)uqp;
	if (wr->wr.opcode == RI_OP_SEND && (wr->wr.flags & RI_WR_INVALIDATE) != 0)
		wr->wr.inv_stag ^= 0x100;
	return true;
}

static bool
local_invalidate_ignored(struct wrap_obj *uqp, struct defect_wr *wr)
{
	if (wr->wr.opcode == RI_OP_LOCAL_INV || wr->wr.opcode == RI_OP_INV_MR)
		(void)defect_defer(uqp, wr, DEFECT_NEVER);
	return true;
}

static bool
is_bind(const struct defect_wr *wr)
{
	return wr->wr.opcode == RI_OP_BIND_MW && wr->wr.u.bind.length > 0;
}

static bool
window_rights(struct wrap_obj *uqp, struct defect_wr *wr)
{
	(void)uqp;
	if (is_bind(wr))
		wr->wr.u.bind.access |= RI_ACCESS_REMOTE_READ | RI_ACCESS_REMOTE_WRITE;
	return true;
}

static bool
window_wide(struct wrap_obj *uqp, struct defect_wr *wr)
{
	(void)uqp;
	if (is_bind(wr))
		wr->wr.u.bind.length++;
	return true;
}

static bool
window_short(struct wrap_obj *uqp, struct defect_wr *wr)
{
	(void)uqp;
	if (is_bind(wr) && wr->wr.u.bind.length > 1)
		wr->wr.u.bind.length--;
	return true;
}

static bool
window_base(struct wrap_obj *uqp, struct defect_wr *wr)
{
	(void)uqp;
	if (is_bind(wr))
		wr->wr.flags &= ~(uint32_t)RI_WR_BIND_RELATIVE;
	return true;
}

static bool
unbind_ignored(struct wrap_obj *uqp, struct defect_wr *wr)
{
	if (wr->wr.opcode == RI_OP_BIND_MW && wr->wr.u.bind.length == 0)
		(void)defect_defer(uqp, wr, DEFECT_NEVER);
	return true;
}

static bool
stag_kept(struct wrap_obj *uqp, struct defect_wr *wr)
{
	static _Thread_local uint32_t nowhere;

	(void)uqp;
	if (wr->wr.opcode == RI_OP_BIND_MW && wr->wr.u.returning.stag != NULL)
		wr->wr.u.returning.stag = &nowhere;
	return true;
}

static enum ri_status
stag_wrong_post(struct ri_uqp *qp, const struct ri_wr *wr)
{
	enum ri_status status = wrap_plain_fast_ops.post_sq(qp, wr);

	if (status == RI_SUCCESS && wr->opcode == RI_OP_BIND_MW && wr->u.returning.stag != NULL)
		*wr->u.returning.stag ^= 0x80;
	return status;
}

static enum ri_status
narrow_as_wide_alloc(struct ri_pd *pd, enum ri_mw_type type, struct ri_mw **out, uint32_t *stag)
{
	(void)type;
	return wrap_plain_mem_ops.mw_alloc(pd, RI_MW_WIDE, out, stag);
}

const struct defect defects_keys[] = {
	DEFECT("rights-unchecked", "rights of regions are not checked",
	       "Each region is registered with all rights.", 0, .apply = rights_unchecked),
	DEFECT("local-write-unchecked", "receives into memory that is read only",
	       "Each region is registered with local write access.", 0,
	       .apply = local_write_unchecked),
	DEFECT("remote-read-unchecked", "every region can be read by the peer",
	       "Each region is registered with remote read access.", 0,
	       .apply = remote_read_unchecked),
	DEFECT("bind-right-unchecked", "windows on any region",
	       "Each region is registered with the right to bind windows.", NEED_NARROW,
	       .apply = bind_right_unchecked),
	DEFECT("qp-rights-unchecked", "rights of queue pairs are not checked",
	       "Each queue pair has all remote rights, and they cannot be taken away.", 0,
	       ENTRIES(.qp.create = all_rights_qp_create, .qp.modify = all_rights_modify)),
	DEFECT("domains-unchecked", "protection domains are not checked",
	       "All protection domains of a process are one.", 0,
	       ENTRIES(.pd.create = one_domain_create, .pd.destroy = one_domain_destroy)),
	DEFECT("bounds-in-pages", "bounds are rounded to pages",
	       "A region begins and ends at the boundaries of pages.", 0, .apply = bounds_in_pages),
	DEFECT("bounds-one-more", "a region is one byte too long",
	       "The byte behind a region can be read and written.", 0, .apply = bounds_one_more),
	DEFECT("bounds-one-less", "a region is one byte too short",
	       "The last byte of a region cannot be read or written.", 0, .apply = bounds_one_less),
	DEFECT("zero-base-ignored", "regions are not addressed from 0",
	       "A zero-based region is addressed by its virtual address.", NEED_RELATIVE,
	       .apply = zero_base_ignored),
	DEFECT("stale-region", "the key of a destroyed region works",
	       "mr_dereg succeeds and revokes nothing.", 0, ENTRIES(.mem.mr_dereg = keep_region)),
	DEFECT("window-outlives-region", "a window outlives its region",
	       "mr_dereg succeeds although windows are bound to the region, and they stay.",
	       NEED_NARROW, ENTRIES(.mem.mr_dereg = busy_hidden_dereg)),
	DEFECT("stale-window", "the key of a destroyed window works",
	       "mw_free succeeds and revokes nothing.", NEED_NARROW,
	       ENTRIES(.mem.mw_free = keep_window)),
	DEFECT("stale-after-reregister", "the old key works after a reregistration",
	       "mr_rereg leaves the old registration beside the new one.", NEED_REREGISTER,
	       ENTRIES(.mem.mr_rereg = beside_rereg)),
	DEFECT("reregister-old-key", "a reregistration reports the old key",
	       "mr_rereg makes a new key and returns the old one.", NEED_REREGISTER,
	       ENTRIES(.mem.mr_rereg = old_key_rereg)),
	DEFECT("keys-predictable", "keys can be guessed",
	       "The random source that makes the keys always says the same.", 0,
	       .apply = keys_predictable),
	DEFECT("key-told-wrong", "a query reports another key",
	       "mr_query reports a key that the region does not have.", 0,
	       ENTRIES(.mem.mr_query = key_query)),
	DEFECT("region-told-wrong", "a query reports other rights and bounds",
	       "mr_query reports all rights, and a length that is one too large.", 0,
	       ENTRIES(.mem.mr_query = rights_query)),
	DEFECT("invalidate-ignored", "a remote invalidation is not done",
	       "A Send with invalidation arrives as a Send without.", NEED_INVALIDATE,
	       .wr = invalidate_ignored),
	DEFECT("invalidate-wrong", "the wrong key is invalidated",
	       "A Send with invalidation names another key.", NEED_INVALIDATE,
	       .wr = invalidate_wrong),
	DEFECT("local-invalidate-ignored", "a local invalidation is not done",
	       "An invalidation completes, and the key still works.", 0,
	       .wr = local_invalidate_ignored, .wc = defect_deferred),
	DEFECT("window-rights", "rights of windows are not checked",
	       "A window is bound with the rights to read and to write.", NEED_NARROW,
	       .wr = window_rights),
	DEFECT("window-one-more", "a window is one byte too long", "A window ends one byte late.",
	       NEED_NARROW, .wr = window_wide),
	DEFECT("window-one-less", "a window is one byte too short", "A window ends one byte early.",
	       NEED_NARROW, .wr = window_short),
	DEFECT("window-base", "windows are not addressed from 0",
	       "RI_WR_BIND_RELATIVE has no effect.", NEED_NARROW | NEED_RELATIVE,
	       .wr = window_base),
	DEFECT("unbind-ignored", "a window stays bound",
	       "The unbinding of a wide window completes and does nothing.", NEED_WIDE,
	       .wr = unbind_ignored, .wc = defect_deferred),
	DEFECT("returned-stag-kept", "the key of a wide window is not returned",
	       "The post of a bind of a wide window leaves the place for its STag as it is.",
	       NEED_RETURNED, .wr = stag_kept),
	DEFECT("returned-stag-wrong", "the key that a wide window returns does not work",
	       "The post of a bind of a wide window returns another STag than that of the bind.",
	       NEED_RETURNED, ENTRIES(.fast.post_sq = stag_wrong_post)),
	DEFECT("narrow-as-wide", "every queue pair may use a narrow window",
	       "A narrow window is made as a wide one.", NEED_NARROW | NEED_WIDE,
	       ENTRIES(.mem.mw_alloc = narrow_as_wide_alloc)),
};

const size_t defects_keys_count = sizeof(defects_keys) / sizeof(defects_keys[0]);
