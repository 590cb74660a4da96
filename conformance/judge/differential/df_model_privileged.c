/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Privileged operations of the model [IT 8.9]: regions that are reserved, memory that a request gives to a region or takes
 * away, buffer lists, and direct regions, which name memory by I/O addresses. Without the privilege, or where the adapter
 * lacks them, each of them is refused.
 *
 * The specification leaves these open, so programs do not contain them: a link with more pieces than a registered range
 * is sure to have, what it_lmr_modify does with a list, an unlink through an endpoint of another zone, and the state of
 * a region whose link was flushed.
 */
#include "df_list.h"
#include "df_model.h"

static bool
offered(const struct df_model *model)
{
	return model->profile->privileged && model->profile->lmr_link;
}

static unsigned
shape_of(enum df_list list)
{
	if (list == DF_PARTS)
		return IT_IOBL_VE_PAGE_LIST;
	return list == DF_BLOCKS ? IT_IOBL_BLOCK_LIST : IT_IOBL_PAGE_LIST;
}

void
model_direct(struct df_model *model)
{
	for (int i = DF_LMRS;
	     i < DF_REGIONS && model->profile->privileged && model->profile->direct; i++)
		model->lmr[i] = (struct model_lmr){
			.alive = true,
			.linked = true,
			.direct = true,
			.shareable = true,
			.len = DF_ARENA,
			.privs = IT_PRIV_LOCAL,
			.changed = DF_NEVER,
		};
}

/* --- objects --------------------------------------------------------------------------------- */

void
model_lmr_reserve(struct df_model *model, const struct df_step *step)
{
	struct model_lmr *lmr = &model->lmr[step->obj];

	if (lmr->alive || df_node(step->pz) != df_node(step->obj)) {
		model_skip(model);
		return;
	}
	if (!model->profile->lmr_link)
		model_answer(model, IT_ERR_OP_NOT_SUPPORTED);
	if (!model->profile->privileged)
		model_answer(model, IT_ERR_PRIV_OPS_UNAVAILABLE);
	if (step->a == 0)
		model_answer(model, IT_ERR_INVALID_IOBL);
	if (model_now(model)->answer.count > 0)
		return;
	model_answer(model, IT_SUCCESS);
	*lmr = (struct model_lmr){
		.alive = true,
		.listed = true,
		.pz = step->pz,
		.room = step->a,
		.changed = DF_NEVER,
		.made = lmr->made + 1,
	};
}

void
model_refuse_list(struct df_model *model, const struct df_step *step)
{
	if (step->list == DF_RANGE)
		return;
	if (!model->profile->privileged)
		model_answer(model, IT_ERR_PRIV_OPS_UNAVAILABLE);
	if ((shape_of((enum df_list)step->list) & model->profile->lists) == 0)
		model_answer(model, IT_ERR_INVALID_IOBL);
}

void
model_lmr_listed(const struct df_model *model, struct model_lmr *lmr, const struct df_step *step)
{
	lmr->listed = step->list != DF_RANGE;
	if (lmr->listed)
		lmr->off = DF_ARENA + step->off;
	if (lmr->shareable || !offered(model))
		return;
	/* A range has at least one page. */
	lmr->roomy = !lmr->listed;
	lmr->room = 1;
	if (lmr->listed)
		lmr->room = df_pieces_of((enum df_list)step->list, step->off, step->len).count;
}

/* --- requests -------------------------------------------------------------------------------- */

static void
refuse_link(struct df_model *model, const struct df_step *step, const struct model_lmr *lmr)
{
	int pieces = df_pieces_of((enum df_list)step->list, step->off, step->len).count;

	model_refuse_list(model, step);
	if (pieces > lmr->room && lmr->roomy)
		model_skip(model);
	else if (pieces > lmr->room)
		model_answer(model, IT_ERR_INVALID_IOBL);
	if (step->len == 0)
		model_answer(model, IT_ERR_INVALID_LENGTH);
	if (step->mode == IT_ADDR_MODE_RELATIVE && !model->profile->relative)
		model_answer(model, IT_ERR_INVALID_ADDR_MODE);
	if (!model_lmr_privs_good(step->privs))
		model_answer(model, IT_ERR_INVALID_PRIVS);
}

void
model_refuse_lmr(struct df_model *model, const struct df_step *step)
{
	const struct model_lmr *lmr = &model->lmr[step->obj];
	const struct model_ep *end = &model->ep[step->ep];

	if (!lmr->alive) {
		model_answer(model, IT_ERR_INVALID_LMR);
		return;
	}
	if (df_node(step->obj) != df_node(step->ep))
		model_answer(model, IT_ERR_INVALID_EP);
	if (lmr->room == 0)
		model_answer(model, IT_ERR_OP_NOT_SUPPORTED);
	if (!end->priv)
		model_answer(model, IT_ERR_PRIV_OPS_UNAVAILABLE);
	if (lmr->doubt || model_rmr_onto(model, step->obj, MODEL_UNKNOWN))
		model_skip(model);
	if (step->kind == DF_LMR_LINK)
		refuse_link(model, step, lmr);
	else if (model_rmr_onto(model, step->obj, MODEL_LINKED))
		model_answer(model, IT_ERR_LMR_BUSY);
	else if (lmr->pz != end->pz)
		model_skip(model);
}

unsigned
model_lmr_fault(const struct df_model *model, const struct df_step *step)
{
	const struct model_lmr *lmr = &model->lmr[step->obj];

	if (step->kind == DF_LMR_LINK && (lmr->linked || lmr->pz != model->ep[step->ep].pz))
		return MODEL_BIT(IT_DTO_ERR_LOCAL_MM_OPERATION);
	return 0;
}

void
model_run_lmr(struct df_model *model, const struct df_step *step)
{
	struct model_lmr *lmr = &model->lmr[step->obj];

	lmr->changed = model->settle;
	lmr->rights++;
	lmr->linked = step->kind == DF_LMR_LINK;
	if (!lmr->linked)
		return;
	lmr->listed = true;
	lmr->off = DF_ARENA + step->off;
	lmr->len = step->len;
	lmr->privs = model_privs(model, step->privs);
	lmr->mode = step->mode;
}
