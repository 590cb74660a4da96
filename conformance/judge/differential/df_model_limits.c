/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Watermarks of shared receive queues and of their endpoints [IT 12.7] to [IT 12.10]. Their events have no order
 * relative to other events, so the model only predicts which of them have come by the end of a settlement: one for each
 * watermark that was passed, and no other. Whether a low watermark is passed depends on the number of remaining
 * receives, which every settlement knows.
 *
 * The high watermarks count receives whose completions were not dequeued. So a settlement that passes one does not
 * dequeue completions of that node until the event, or the end of the connection, has come. If another connection of
 * the node ends, its completions must be dequeued at once: then the model does not predict whether and when the
 * event comes to that endpoint.
 */
#include "df_model.h"

/* --- steps ----------------------------------------------------------------------------------- */

void
model_srq_limit(struct df_model *model, const struct df_step *step)
{
	struct model_srq *srq = &model->srq[step->obj];

	if (!srq->alive)
		model_answer(model, IT_ERR_INVALID_SRQ);
	else if (step->a > srq->size || (step->a > 0 && !model->profile->low_watermark))
		model_answer(model, IT_ERR_SRQ_LOW_WATERMARK);
	if (model_now(model)->answer.count > 0)
		return;
	model_answer(model, IT_SUCCESS);
	srq->low = step->a;
	model_settle_after(model);
}

void
model_refuse_limits(struct df_model *model, const struct df_step *step, int srq, int which)
{
	bool soft = (which & 1) != 0 && step->soft != 0, hard = (which & 2) != 0 && step->hard != 0;
	int size = model->srq[srq].size;

	if (soft && !model->profile->soft_watermark)
		model_answer(model, IT_ERR_SOFT_HI_WATERMARK);
	if (hard && !model->profile->hard_watermark)
		model_answer(model, IT_ERR_HARD_HI_WATERMARK);
	if ((soft && step->soft > size) || (hard && step->hard > size) ||
	    (soft && hard && step->soft > step->hard))
		model_answer(model, IT_ERR_INVALID_WATERMARK);
}

void
model_ep_limit(struct df_model *model, const struct df_step *step)
{
	struct model_ep *end = &model->ep[step->ep];
	struct df_step both = *step;

	if (!end->alive) {
		model_answer(model, IT_ERR_INVALID_EP);
		return;
	}
	if ((step->how & 1) != 0 && (end->srq < 0 || !model->profile->soft_watermark))
		model_answer(model, IT_ERR_SOFT_HI_WATERMARK);
	if ((step->how & 2) != 0 && (end->srq < 0 || !model->profile->hard_watermark))
		model_answer(model, IT_ERR_HARD_HI_WATERMARK);
	/* The values belong together. What was set before counts, whether its event was raised or not. */
	if ((step->how & 1) == 0)
		both.soft = end->soft_set;
	if ((step->how & 2) == 0)
		both.hard = end->hard;
	if (end->srq >= 0)
		model_refuse_limits(model, &both, end->srq, 3);
	if (model_now(model)->answer.count > 0)
		return;
	model_answer(model, IT_SUCCESS);
	end->hard = both.hard;
	end->soft_set = both.soft;
	if ((step->how & 1) != 0)
		end->soft = both.soft;
	model_settle_after(model);
}

/* --- messages -------------------------------------------------------------------------------- */

bool
model_beyond_hard(const struct df_model *model, int ep)
{
	const struct model_ep *end = &model->ep[ep];

	return end->srq >= 0 && end->hard > 0 && end->taken >= end->hard;
}

bool
model_hard_settled(const struct df_model *model, int ep)
{
	for (int i = df_node(ep); i < DF_EPS; i += DF_NODES) {
		if (model->ep[i].alive && model->ep[i].end != MODEL_STANDS)
			return false;
	}
	return true;
}

/* --- settlements ----------------------------------------------------------------------------- */

static void
async_expect(struct df_settle *now, it_event_type_t event, int place, bool may)
{
	struct df_async async = {.event = event, .place = place, .may = may};

	g_array_append_val(now->async, async);
}

/* Does an event of this settlement end a connection of the node? */
static bool
ends_here(const struct df_settle *now, int node)
{
	for (unsigned i = 0; i < now->cm->len; i++) {
		const struct df_cm *cm = &g_array_index(now->cm, struct df_cm, i);

		if (df_node(cm->ep) == node &&
		    (cm->events & ~MODEL_BIT(IT_CM_MSG_CONN_ESTABLISHED_EVENT & 0xf)) != 0)
			return true;
	}
	return false;
}

static void
soft_settle(struct df_model *model, struct df_settle *now, int ep)
{
	struct model_ep *end = &model->ep[ep];
	bool passed = end->soft > 0 && end->taken > end->soft;
	bool known = !ends_here(now, df_node(ep));

	if (end->soft_doubt || passed)
		async_expect(now, IT_ASYNC_AFF_EP_SOFT_HI_WATERMARK, ep, end->soft_doubt || !known);
	if (!passed || end->soft_doubt)
		return;
	end->soft_doubt = !known;
	end->soft = 0;
	now->hold[df_node(ep)] |= known;
}

void
model_limits_settle(struct df_model *model, struct df_settle *now)
{
	for (int i = 0; i < DF_SRQS; i++) {
		struct model_srq *srq = &model->srq[i];

		if (srq->alive && srq->left < srq->low) {
			async_expect(now, IT_ASYNC_AFF_SRQ_LOW_WATERMARK, i, false);
			srq->low = 0;
		}
		now->low[i] = srq->alive && !now->dead[df_node(i)] ? srq->low : -1;
	}
	for (int i = 0; i < DF_EPS; i++) {
		now->ends[i] = !model->ep[i].alive || model->ep[i].ends;
		if (!model->ep[i].alive)
			continue;
		soft_settle(model, now, i);
		/* One more message than this ended the connection. */
		now->hold[df_node(i)] |= model->ep[i].hard > 0 &&
					 model->ep[i].taken >= model->ep[i].hard &&
					 model->ep[i].state == IT_EP_STATE_NONOPERATIONAL;
	}
}
