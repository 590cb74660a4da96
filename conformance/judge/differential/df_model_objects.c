/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Regions and windows of the model: creation, destruction, and the result of an access [IT 8]. Links and unlinks are
 * requests, so they are in df_model_work.c.
 */
#include "df_model.h"

#define LMR_LOCAL (IT_PRIV_LOCAL_READ | IT_PRIV_LOCAL_WRITE)

bool
model_lmr_privs_good(int privs)
{
	if (privs == IT_PRIV_NONE)
		return false;
	if ((privs & IT_PRIV_REMOTE_READ) != 0 && (privs & IT_PRIV_LOCAL_READ) == 0)
		return false;
	return (privs & (IT_PRIV_REMOTE_WRITE | IT_PRIV_ATOMIC)) == 0 ||
	       (privs & IT_PRIV_LOCAL_WRITE) != 0;
}

int
model_privs(const struct df_model *model, int privs)
{
	return model->profile->atomics ? privs : privs & ~(int)IT_PRIV_ATOMIC;
}

bool
model_rmr_privs_good(int privs, int lmr_privs)
{
	if (privs == 0 || (privs & LMR_LOCAL) != 0)
		return false;
	if ((privs & IT_PRIV_REMOTE_READ) != 0 && (lmr_privs & IT_PRIV_LOCAL_READ) == 0)
		return false;
	if ((privs & IT_PRIV_ATOMIC) != 0 && (lmr_privs & LMR_LOCAL) != LMR_LOCAL)
		return false;
	return (privs & IT_PRIV_REMOTE_WRITE) == 0 || (lmr_privs & IT_PRIV_LOCAL_WRITE) != 0;
}

bool
model_rmr_through(const struct df_model *model, int ep, enum model_link linked)
{
	for (int i = 0; i < DF_RMRS; i++) {
		const struct model_rmr *rmr = &model->rmr[i];

		if (rmr->alive && rmr->linked == linked && (rmr->ep == ep || rmr->ep < 0) &&
		    rmr->type == IT_RMR_TYPE_NARROW)
			return true;
	}
	return false;
}

bool
model_rmr_onto(const struct df_model *model, int lmr, enum model_link linked)
{
	for (int i = 0; i < DF_RMRS; i++) {
		const struct model_rmr *rmr = &model->rmr[i];

		if (rmr->alive && rmr->linked == linked && (rmr->lmr == lmr || rmr->lmr < 0))
			return true;
	}
	return false;
}

void
model_rmr_reset(struct df_model *model, int ep)
{
	for (int i = 0; i < DF_RMRS; i++) {
		struct model_rmr *rmr = &model->rmr[i];

		if (rmr->alive && rmr->ep == ep && rmr->type == IT_RMR_TYPE_NARROW)
			rmr->linked = MODEL_UNLINKED; /* */
	}
}

void
model_rmr_ended(struct df_model *model, int ep)
{
	for (int i = 0; i < DF_RMRS; i++) {
		struct model_rmr *rmr = &model->rmr[i];

		if (rmr->alive && rmr->ep == ep && rmr->changed == model->settle)
			rmr->linked = MODEL_UNKNOWN;
	}
}

void
model_lmr_ended(struct df_model *model)
{
	for (int i = 0; i < DF_LMRS; i++) {
		if (model->lmr[i].alive && model->lmr[i].changed == model->settle)
			model->lmr[i].doubt = true;
	}
}

/* --- steps ----------------------------------------------------------------------------------- */

static void
lmr_create(struct df_model *model, const struct df_step *step)
{
	struct model_lmr *lmr = &model->lmr[step->obj];

	if (lmr->alive || df_node(step->pz) != df_node(step->obj)) {
		model_skip(model);
		return;
	}
	if (step->len == 0)
		model_answer(model, IT_ERR_INVALID_LENGTH);
	if (step->mode == IT_ADDR_MODE_RELATIVE && !model->profile->relative)
		model_answer(model, IT_ERR_INVALID_ADDR_MODE);
	if (!model_lmr_privs_good(step->privs))
		model_answer(model, IT_ERR_INVALID_PRIVS);
	model_refuse_list(model, step);
	if (model_now(model)->answer.count > 0)
		return;
	model_answer(model, IT_SUCCESS);
	*lmr = (struct model_lmr){
		.alive = true,
		.linked = true,
		.pz = step->pz,
		.off = step->off,
		.len = step->len,
		.privs = model_privs(model, step->privs),
		.mode = step->mode,
		.shareable = step->how == 0,
		.changed = DF_NEVER,
		.made = lmr->made + 1,
	};
	model_lmr_listed(model, lmr, step);
}

/* From now on no request and no peer reaches the region. Freedoms: gone. */
static void
lmr_free(struct df_model *model, const struct df_step *step)
{
	struct model_lmr *lmr = &model->lmr[step->obj];

	if (model_rmr_onto(model, step->obj, MODEL_UNKNOWN)) {
		model_skip(model);
	} else if (!lmr->alive) {
		model_answer(model, IT_ERR_INVALID_LMR);
	} else if (model_rmr_onto(model, step->obj, MODEL_LINKED)) {
		model_answer(model, IT_ERR_LMR_BUSY);
	} else {
		model_answer(model, IT_SUCCESS);
		lmr->alive = false;
	}
}

static void
lmr_modify(struct df_model *model, const struct df_step *step)
{
	struct model_lmr *lmr = &model->lmr[step->obj];

	/* What becomes of a list is not determined. */
	if (model_rmr_onto(model, step->obj, MODEL_UNKNOWN) ||
	    (lmr->alive && (!lmr->linked || lmr->listed || lmr->stale))) {
		model_skip(model);
		return;
	}
	if (!lmr->alive) {
		model_answer(model, IT_ERR_INVALID_LMR);
		return;
	}
	if (model_rmr_onto(model, step->obj, MODEL_LINKED))
		model_answer(model, IT_ERR_LMR_BUSY);
	if (!model_lmr_privs_good(step->privs))
		model_answer(model, IT_ERR_INVALID_PRIVS);
	if (!model->profile->lmr_modify)
		model_answer(model, IT_ERR_OP_NOT_SUPPORTED);
	if (model_now(model)->answer.count > 0)
		return;
	model_answer(model, IT_SUCCESS);
	lmr->privs = model_privs(model, step->privs);
	lmr->rights++;
}

static void
rmr_create(struct df_model *model, const struct df_step *step)
{
	struct model_rmr *rmr = &model->rmr[step->obj];
	bool has = step->how == IT_RMR_TYPE_WIDE ? model->profile->wide : model->profile->narrow;
	int type = step->how;

	if (rmr->alive || df_node(step->pz) != df_node(step->obj)) {
		model_skip(model);
		return;
	}
	if (!model->profile->narrow && !model->profile->wide) {
		model_answer(model, IT_ERR_OP_NOT_SUPPORTED);
		if (type > IT_RMR_TYPE_WIDE)
			model_answer(model, IT_ERR_INVALID_RMR_TYPE);
		return;
	}
	if (type == IT_RMR_TYPE_DEFAULT) {
		type = model->profile->narrow ? IT_RMR_TYPE_NARROW : IT_RMR_TYPE_WIDE;
		has = true;
	}
	if (!has || type > IT_RMR_TYPE_WIDE) {
		model_answer(model, IT_ERR_INVALID_RMR_TYPE);
		return;
	}
	model_answer(model, IT_SUCCESS);
	*rmr = (struct model_rmr){.alive = true, .type = type, .pz = step->pz, .changed = DF_NEVER};
}

static void
rmr_free(struct df_model *model, const struct df_step *step)
{
	struct model_rmr *rmr = &model->rmr[step->obj];

	model_answer(model, rmr->alive ? IT_SUCCESS : IT_ERR_INVALID_RMR);
	rmr->alive = false;
}

void
model_objects(struct df_model *model, const struct df_step *step)
{
	static void (*const steps[DF_KIND_COUNT])(struct df_model *, const struct df_step *) = {
		[DF_LMR_CREATE] = lmr_create,   [DF_LMR_FREE] = lmr_free,
		[DF_LMR_MODIFY] = lmr_modify,   [DF_RMR_CREATE] = rmr_create,
		[DF_RMR_FREE] = rmr_free,       [DF_SRQ_CREATE] = model_srq_create,
		[DF_SRQ_FREE] = model_srq_free, [DF_SRQ_LIMIT] = model_srq_limit,
		[DF_EP_LIMIT] = model_ep_limit, [DF_LMR_RESERVE] = model_lmr_reserve,
	};

	/* Receives of an S-RQ alone call for no settlement, but here they must all be there. */
	if (step->kind == DF_SRQ_LIMIT)
		model->dirty = true;
	model_settle_before(model);
	steps[step->kind](model, step);
}

/* --- accesses -------------------------------------------------------------------------------- */

int
model_seg_sum(const struct df_step *step)
{
	int sum = step->kind == DF_READ_RMR ? step->len : 0;

	for (int i = 0; i < step->segs; i++)
		sum += step->seg[i].len;
	return sum;
}

int
model_seg_off(const struct df_model *model, const struct df_seg *seg)
{
	return model->lmr[seg->lmr].off + seg->off;
}

unsigned
model_seg_fault(const struct df_model *model, int pz, const struct df_seg *seg, int right)
{
	const struct model_lmr *lmr = &model->lmr[seg->lmr];
	int privs = lmr->privs;

	if (seg->len == 0)
		return 0;
	if (!model->profile->local_read)
		privs |= IT_PRIV_LOCAL_READ; /* granted in every case then */
	if (!lmr->linked || (lmr->pz != pz && !lmr->direct) || seg->off < 0 ||
	    seg->off + seg->len > lmr->len || (privs & right) != right)
		return MODEL_BIT(IT_DTO_ERR_LOCAL_PROTECTION);
	return 0;
}

struct df_range
model_window(const struct df_model *model, const struct df_step *step)
{
	if (step->kind != DF_READ_RMR)
		return (struct df_range){0};
	return (struct df_range){.node = df_node(step->obj),
				 .off = model->rmr[step->obj].off + step->a,
				 .len = step->len};
}

unsigned
model_window_fault(const struct df_model *model, const struct df_step *step)
{
	const struct model_rmr *rmr = &model->rmr[step->obj];
	const struct model_ep *end = &model->ep[step->ep];

	if (step->len == 0)
		return 0;
	if (rmr->linked != MODEL_LINKED || rmr->ep != step->ep || step->a < 0 ||
	    step->a + step->len > rmr->len || (rmr->privs & IT_PRIV_REMOTE_WRITE) == 0 ||
	    (end->enable & DF_ENABLE_WRITE) == 0)
		return MODEL_BIT(IT_DTO_ERR_LOCAL_PROTECTION);
	return 0;
}

static struct model_target
target_within(int node, int base, int size, int off, int len)
{
	int from = CLAMP(off, 0, size), to = CLAMP(off + len, 0, size);

	return (struct model_target){
		.good = off >= 0 && off + len <= size,
		.node = node,
		.off = base + from,
		.len = to - from,
	};
}

struct model_target
model_target(const struct df_model *model, const struct df_step *step, int right, int len)
{
	const struct model_ep *peer = &model->ep[model->ep[step->ep].peer];
	int node = df_node(model->ep[step->ep].peer);
	struct model_target none = {.node = node};
	struct model_target target = none;

	if (step->key.kind == 'l' && df_node(step->key.slot) == node) {
		const struct model_lmr *lmr = &model->lmr[step->key.slot];

		if (!lmr->alive || !lmr->linked || lmr->pz != peer->pz ||
		    (lmr->privs & right) != right)
			return none;
		target = target_within(node, lmr->off, lmr->len, step->off, len);
	} else if (step->key.kind == 'r' && df_node(step->key.slot) == node) {
		const struct model_rmr *rmr = &model->rmr[step->key.slot];

		if (!rmr->alive || rmr->linked != MODEL_LINKED || (rmr->privs & right) != right)
			return none;
		if (rmr->type == IT_RMR_TYPE_NARROW ? rmr->ep != model->ep[step->ep].peer
						    : rmr->pz != peer->pz)
			return none;
		target = target_within(node, rmr->off, rmr->len, step->off, len);
	}
	return target;
}
