/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Shared receive queues of the model [IT 12]. An S-RQ may give a message any of its receives [IT 12.4]. So the model
 * knows how many receives are left, and which ones may be among them, and each message is a "take": the comparison
 * finds the receive by the cookie of the completion, and the message by its endpoint, since the completions of one
 * endpoint have the order of its messages. All memory into which the message may have gone is undefined for the
 * model. The "take" contains the octets, and the comparison looks for them in the receive that the completion names.
 *
 * Two kinds of messages are left out because their results are open: those whose result depends on which receive
 * they take, and those near the end of a connection, which may or may not take a receive.
 */
#include <string.h>

#include "df_model.h"

void
model_srq_create(struct df_model *model, const struct df_step *step)
{
	struct model_srq *srq = &model->srq[step->obj];

	if (srq->alive || df_node(step->pz) != df_node(step->obj)) {
		model_skip(model);
	} else if (!model->profile->has_srq) {
		model_answer(model, IT_ERR_SRQ_NOT_SUPPORTED);
	} else {
		model_answer(model, IT_SUCCESS);
		srq->alive = true;
		srq->pz = step->pz;
		srq->size = model->profile->srq[step->rq];
		srq->low = 0;
	}
}

void
model_srq_free(struct df_model *model, const struct df_step *step)
{
	struct model_srq *srq = &model->srq[step->obj];

	if (!srq->alive) {
		model_answer(model, IT_ERR_INVALID_SRQ);
		return;
	}
	for (int i = 0; i < DF_EPS; i++) {
		if (model->ep[i].alive && model->ep[i].srq == step->obj) {
			model_answer(model, IT_ERR_SRQ_BUSY);
			return;
		}
	}
	model_answer(model, IT_SUCCESS);
	srq->alive = false;
	srq->left = 0;
	g_array_set_size(srq->receives, 0);
}

static void
receive_add(struct df_model *model, const struct df_step *step)
{
	struct model_srq *srq = &model->srq[step->obj];
	struct df_wr wr = {
		.cookie = (uint64_t)model->step + 1,
		.step = model->step,
		.ep = -1,
		.event = IT_DTO_RC_RECV_CMPL_EVENT,
		.settle = DF_NEVER,
		.srq = step->obj + 1,
		.notify = (step->flags & IT_NOTIFY_FLAG) != 0,
	};
	unsigned index = model->expected->wrs->len;

	for (int i = 0; i < step->segs; i++) {
		wr.range[i].node = df_node(step->seg[i].lmr);
		wr.range[i].off = model_seg_off(model, &step->seg[i]);
		wr.range[i].len = step->seg[i].len;
	}
	g_array_append_val(model->expected->wrs, wr);
	model_keep(model, index, step);
	g_array_append_val(srq->receives, index);
	srq->left++;
}

void
model_srq_receive(struct df_model *model, const struct df_step *step)
{
	const struct model_srq *srq = &model->srq[step->obj];
	const int flags = IT_COMPLETION_FLAG | IT_NOTIFY_FLAG | IT_COALESCE_WR_FLAG;

	if (!srq->alive) {
		model_answer(model, IT_ERR_INVALID_HANDLE);
		return;
	}
	/* A message of this group may still be under way, and take this receive. */
	if (srq->taken > 0)
		model_settle_before(model);
	model_refuse_segments(model, step, df_node(step->obj), model->profile->srq_segs, false);
	if ((step->flags & ~flags) != 0)
		model_answer(model, IT_ERR_INVALID_DTO_FLAGS);
	if (srq->left + srq->taken >= srq->size)
		model_answer(model, IT_ERR_TOO_MANY_POSTS);
	else if (srq->receives->len == DF_DEPTH)
		model_skip(model);
	if (model_now(model)->answer.count > 0 || model_now(model)->skip)
		return;
	model_answer(model, IT_SUCCESS);
	receive_add(model, step);
	/* It counts when the adapter has it. */
	if (srq->low > 0 && (step->flags & IT_COALESCE_WR_FLAG) != 0)
		model_settle_after(model);
}

struct model_takers
model_srq_takers(const struct model_srq *srq)
{
	struct model_takers takers = {0};

	for (unsigned i = 0; srq->left > 0 && i < srq->receives->len; i++)
		takers.wr[takers.count++] = (int)g_array_index(srq->receives, unsigned, i);
	return takers;
}

/* --- messages -------------------------------------------------------------------------------- */

/* The message may be in the memory of this receive. */
static void
doubt_receive(struct df_model *model, const struct df_step *step, int receive)
{
	struct model_posted *posted = &g_array_index(model->work, struct model_posted, receive);
	const struct df_range *range = DF_WR(model->expected, receive)->range;
	struct model_touch touch = {
		.kind = step->kind, .ep = step->ep, .remote = true, .write = true};

	if (posted->touched == model->settle)
		return;
	posted->touched = model->settle;
	for (int i = 0; i < posted->step.segs; i++)
		model_blur_at(model, touch, &range[i]);
}

/* The message itself: the octets of the sender's segments. */
static void
keep_message(struct df_model *model, const struct df_step *step, struct df_take *take)
{
	int at = 0, len = model_seg_sum(step);

	take->octets = g_malloc0((size_t)len + 1);
	take->vague = g_malloc0((size_t)len + 1);
	for (int i = 0; i < step->segs; i++) {
		int node = df_node(step->seg[i].lmr), off = model_seg_off(model, &step->seg[i]);

		if (step->seg[i].len == 0)
			continue;
		memcpy(take->octets + at, model->memory[node] + off, (size_t)step->seg[i].len);
		memcpy(take->vague + at, model->vague[node] + off, (size_t)step->seg[i].len);
		at += step->seg[i].len;
	}
}

struct df_wr *
model_srq_take(struct df_model *model, const struct df_step *step,
	       const struct model_takers *takers, bool good)
{
	int ep = model->ep[step->ep].peer;
	struct model_srq *srq = &model->srq[model->ep[ep].srq];
	struct df_take take = {.wr = {.step = -1,
				      .ep = ep,
				      .life = model->ep[ep].life,
				      .event = IT_DTO_RC_RECV_CMPL_EVENT,
				      .statuses = MODEL_BIT(IT_DTO_SUCCESS),
				      .strict = true,
				      .settle = model->settle,
				      .srq = model->ep[ep].srq + 1}};

	if (takers->count > 1 && good)
		keep_message(model, step, &take);
	for (int i = 0; takers->count > 1 && i < takers->count; i++)
		doubt_receive(model, step, takers->wr[i]);
	srq->taken++;
	model->ep[ep].taken++;
	if (--srq->left == 0)
		g_array_set_size(srq->receives, 0);
	g_array_append_val(model->expected->takes, take);
	return &DF_TAKE(model->expected, model->expected->takes->len - 1)->wr;
}

bool
model_srq_arrives(const struct df_model *model, int ep)
{
	for (unsigned i = model->expected->takes->len; i > 0; i--) {
		const struct df_wr *wr = &DF_TAKE(model->expected, i - 1)->wr;

		if (wr->settle != model->settle)
			return false;
		if (wr->ep == ep)
			return true;
	}
	return false;
}

bool
model_srq_busy(const struct df_model *model, int ep)
{
	return model_srq_arrives(model, ep) || model_srq_arrives(model, model->ep[ep].peer);
}

void
model_srq_settle(struct df_model *model)
{
	for (int i = 0; i < DF_SRQS; i++)
		model->srq[i].taken = 0;
	for (int i = 0; i < DF_EPS; i++)
		model->ep[i].taken = 0;
	/* Something else was written where a message may be. */
	for (unsigned i = 0; model->poisoned && i < model->expected->takes->len; i++) {
		struct df_take *take = DF_TAKE(model->expected, i);

		if (take->wr.settle == model->settle && take->vague != NULL)
			memset(take->vague, 1, take->wr.length);
	}
}
