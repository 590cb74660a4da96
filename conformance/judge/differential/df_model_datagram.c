/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Datagram endpoints and address handles of the model [IT 5]. The sender never learns whether a
 * datagram arrived, so a datagram that must not be delivered may still be in transit at any later
 * time. From then on the program posts no receive that it could take (model_ud::stray). At most one
 * datagram is under way to an endpoint in a group, so the order of arrival does not matter.
 */
#include <string.h>

#include "df_model.h"

#define HEADER  40 /* octets of a receive that are for the route header of InfiniBand [IT 15.7.9] */
#define SUCCESS MODEL_BIT(IT_DTO_SUCCESS)
#define FLUSHED MODEL_BIT(IT_DTO_ERR_FLUSHED)

static void
ah_create(struct df_model *model, const struct df_step *step)
{
	struct model_ah *ah = &model->ah[step->obj];

	if (ah->alive || df_node(step->pz) != df_node(step->obj)) {
		model_skip(model);
	} else if (!model->profile->datagrams) {
		model_answer(model, IT_ERR_OP_NOT_SUPPORTED);
	} else {
		model_answer(model, IT_SUCCESS);
		*ah = (struct model_ah){.alive = true, .pz = step->pz};
	}
}

static void
ah_free(struct df_model *model, const struct df_step *step)
{
	model_answer(model, model->ah[step->obj].alive ? IT_SUCCESS : IT_ERR_INVALID_AH);
	model->ah[step->obj].alive = false;
}

static void
ud_create(struct df_model *model, const struct df_step *step)
{
	struct model_ud *ud = &model->ud[step->obj];

	if (ud->alive || df_node(step->pz) != df_node(step->obj)) {
		model_skip(model);
		return;
	}
	if (!model->profile->datagrams) {
		model_answer(model, IT_ERR_OP_NOT_SUPPORTED);
		return;
	}
	model_answer(model, IT_SUCCESS);
	ud->alive = true;
	ud->failed = false;
	ud->stray = false;
	ud->life++;
	ud->pz = step->pz;
	ud->sq_size = model->profile->ud_sq[step->sq];
	ud->rq_size = model->profile->ud_rq[step->rq];
	ud->receiving = DF_NEVER;
	g_array_set_size(ud->sq, 0);
	g_array_set_size(ud->rq, 0);
}

/* Receives that no datagram took. */
static void
flush(struct df_model *model, const struct model_ud *ud, bool silent)
{
	for (unsigned i = 0; i < ud->rq->len; i++) {
		struct df_wr *wr = DF_WR(model->expected, g_array_index(ud->rq, unsigned, i));

		if (wr->settle != DF_NEVER)
			continue;
		wr->statuses = FLUSHED;
		wr->silent = silent;
		wr->settle = model->settle;
	}
	model->dirty = true;
}

static void
ud_free(struct df_model *model, const struct df_step *step)
{
	struct model_ud *ud = &model->ud[step->obj];

	if (!ud->alive) {
		model_answer(model, IT_ERR_INVALID_EP);
		return;
	}
	model_answer(model, IT_SUCCESS);
	flush(model, ud, true); /* */
	ud->alive = false;
	model_settle_after(model);
}

void
model_datagram_lost(struct df_model *model, int place)
{
	struct model_ud *ud = &model->ud[place];

	if (!ud->alive || ud->failed)
		return;
	flush(model, ud, false);
	ud->failed = true;
}

static void
ud_reset(struct df_model *model, const struct df_step *step)
{
	struct model_ud *ud = &model->ud[step->obj];

	model_answer(model, ud->alive ? IT_SUCCESS : IT_ERR_INVALID_EP);
	if (ud->failed)
		g_array_set_size(ud->sq, 0);
	ud->failed = false;
}

/* --- requests -------------------------------------------------------------------------------- */

static struct df_wr *
post(struct df_model *model, const struct df_step *step, unsigned statuses)
{
	struct model_ud *ud = &model->ud[step->obj];
	bool request = step->kind == DF_UD_SEND;
	unsigned index = model->expected->wrs->len;
	struct df_wr wr = {
		.cookie = (uint64_t)model->step + 1,
		.step = model->step,
		.ep = DF_EPS + step->obj,
		.life = ud->life,
		.request = request,
		.event = request ? IT_DTO_SEND_CMPL_EVENT : IT_DTO_UD_RECV_CMPL_EVENT,
		.statuses = statuses,
		.notify = (step->flags & IT_NOTIFY_FLAG) != 0,
		.silent = request && (step->flags & IT_COMPLETION_FLAG) == 0 && statuses == SUCCESS,
		.length = (uint32_t)model_seg_sum(step),
		.settle = model->settle,
	};

	g_array_append_val(model->expected->wrs, wr);
	model_keep(model, index, step);
	g_array_append_val(request ? ud->sq : ud->rq, index);
	model->dirty = true;
	return DF_WR(model->expected, index);
}

static bool
refused(const struct df_model *model)
{
	const struct df_step_expect *now = DF_STEP(model->expected, model->step);

	return now->skip || now->answer.count > 0;
}

static void
refuse_slots(struct df_model *model, const struct df_step *step)
{
	const struct model_ud *ud = &model->ud[step->obj];
	bool request = step->kind == DF_UD_SEND;
	const GArray *queue = request ? ud->sq : ud->rq;
	int size = request ? ud->sq_size : ud->rq_size, silent = 0;

	if ((int)queue->len >= size)
		model_answer(model, IT_ERR_TOO_MANY_POSTS);
	for (unsigned i = 0; i < queue->len; i++)
		silent += DF_WR(model->expected, g_array_index(queue, unsigned, i))->silent;
	/* A queue full of requests without completions would stay full for ever. */
	if (request && (step->flags & IT_COMPLETION_FLAG) == 0 && silent + 1 >= size)
		model_skip(model);
}

/* Reasons that both kinds of posts have. */
static void
refuse(struct df_model *model, const struct df_step *step, int flags, int segs)
{
	if (!model->ud[step->obj].alive) {
		model_answer(model, IT_ERR_INVALID_EP);
		return;
	}
	for (int i = 0; i < step->segs; i++) {
		if (model->lmr[step->seg[i].lmr].doubt)
			model_skip(model);
	}
	model_refuse_segments(model, step, df_node(step->obj), segs, false);
	if ((step->flags & ~flags) != 0)
		model_answer(model, IT_ERR_INVALID_DTO_FLAGS);
	refuse_slots(model, step);
}

static void
ud_receive(struct df_model *model, const struct df_step *step)
{
	const struct model_ud *ud = &model->ud[step->obj];
	struct df_wr *wr;

	refuse(model, step, IT_COMPLETION_FLAG | IT_NOTIFY_FLAG | IT_COALESCE_WR_FLAG,
	       model->profile->ud_recv_segs);
	if (ud->alive && ud->stray)
		model_skip(model);
	if (refused(model))
		return;
	model_answer(model, IT_SUCCESS);
	wr = post(model, step, ud->failed ? FLUSHED : SUCCESS);
	if (!ud->failed)
		wr->settle = DF_NEVER;
}

/* The first receive of the target, or -1. */
static int
first_receive(const struct df_model *model, const struct model_ud *target)
{
	for (unsigned i = 0; i < target->rq->len; i++) {
		int wr = (int)g_array_index(target->rq, unsigned, i);

		if (DF_WR(model->expected, wr)->settle == DF_NEVER)
			return wr;
	}
	return -1;
}

static bool
fits(const struct df_model *model, int receive, int len)
{
	return model_seg_sum(model_work_of(model, receive)) >= len + HEADER;
}

/* Would the receive fail? What it does then is another test's subject. */
static bool
taker_fails(const struct df_model *model, const struct model_ud *target, int taker)
{
	const struct model_posted *posted = model_posted_of(model, taker);

	for (int i = 0; i < posted->step.segs; i++) {
		const struct df_seg *seg = &posted->step.seg[i];
		const struct model_lmr *lmr = &model->lmr[seg->lmr];

		if (seg->len > 0 &&
		    (!lmr->alive || lmr->doubt || lmr->made != posted->made[i] ||
		     lmr->rights != posted->rights[i] ||
		     model_seg_fault(model, target->pz, seg, IT_PRIV_LOCAL_WRITE) != 0))
			return true;
	}
	return false;
}

static void
deliver(struct df_model *model, const struct df_step *step, int taker)
{
	struct model_octets *octets = g_new(struct model_octets, 1);
	int len = model_seg_sum(step);
	struct model_touch touch = {.kind = step->kind, .ep = DF_EPS + step->obj};
	struct df_wr *wr = DF_WR(model->expected, taker);

	model_through_segments(model, step, touch, octets, len);
	memmove(octets->value + HEADER, octets->value, (size_t)len);
	memmove(octets->vague + HEADER, octets->vague, (size_t)len);
	memset(octets->vague, 1, HEADER);
	memset(octets->value, 0, HEADER);
	touch.remote = touch.write = true;
	model_through_segments(model, model_work_of(model, taker), touch, octets, len + HEADER);
	g_free(octets);
	wr->settle = model->settle;
	wr->length = (uint32_t)(len + HEADER);
	wr->solicited = (step->flags & IT_SOLICITED_WAIT_FLAG) != 0;
}

/* A datagram that is sent. */
static void
datagram(struct df_model *model, const struct df_step *step)
{
	struct model_ud *target = &model->ud[step->peer];
	/* Both nodes are one adapter, so each way leads to its port. */
	bool reaches = step->how == 0 && target->alive && !target->failed;
	int taker = reaches ? first_receive(model, target) : -1;

	if (taker >= 0 && !fits(model, taker, model_seg_sum(step))) {
		if (model->profile->no_errors)
			model_skip(model);
		taker = -1;
	}
	if (taker >= 0 && taker_fails(model, target, taker))
		model_skip(model);
	if (model_now(model)->skip)
		return;
	model_answer(model, IT_SUCCESS);
	if (taker >= 0)
		deliver(model, step, taker);
	target->stray |= reaches && taker < 0;
	target->receiving = model->settle;
	post(model, step, SUCCESS);
}

/* A request that fails ends the endpoint, both queues of it [IT 5.1], [IT 5.3]. */
static void
fails(struct df_model *model, const struct df_step *step, unsigned fault)
{
	struct model_ud *ud = &model->ud[step->obj];

	if (model->profile->no_errors) {
		model_skip(model);
		return;
	}
	model_settle_before(model);
	model_answer(model, IT_SUCCESS);
	post(model, step, fault);
	flush(model, ud, false);
	ud->failed = true;
	model_settle_after(model);
}

static void
ud_send(struct df_model *model, const struct df_step *step)
{
	const struct model_ud *ud = &model->ud[step->obj];
	const struct model_ah *ah = &model->ah[step->lmr];
	unsigned fault = 0;

	refuse(model, step,
	       IT_COMPLETION_FLAG | IT_NOTIFY_FLAG | IT_SOLICITED_WAIT_FLAG |
		       IT_BARRIER_FENCE_FLAG | IT_COALESCE_WR_FLAG,
	       model->profile->ud_send_segs);
	if (ud->alive && model_seg_sum(step) > model->profile->ud_payload)
		model_answer(model, IT_ERR_PAYLOAD_SIZE);
	if (ud->alive && (!ah->alive || ah->pz != ud->pz))
		model_answer(model, IT_ERR_INVALID_AH);
	if (model->ud[step->peer].life == 0)
		model_skip(model); /* it has no number */
	if (refused(model))
		return;
	for (int i = 0; i < step->segs; i++)
		fault |= model_seg_fault(model, ud->pz, &step->seg[i], IT_PRIV_LOCAL_READ);
	if (ud->failed) {
		model_answer(model, IT_SUCCESS);
		post(model, step, FLUSHED);
	} else if (fault != 0) {
		fails(model, step, fault);
	} else {
		datagram(model, step);
	}
}

/* --- all of them ----------------------------------------------------------------------------- */

/* Is a datagram under way to an endpoint that the step needs, or does a region of it change now? */
static bool
needs_settlement(const struct df_model *model, const struct df_step *step)
{
	if (step->kind != DF_UD_RECV && step->kind != DF_UD_SEND)
		return true;
	for (int i = 0; i < DF_LMRS; i++) {
		if (model->lmr[i].alive && model->lmr[i].changed == model->settle)
			return true;
	}
	return model->ud[step->obj].receiving == model->settle ||
	       (step->kind == DF_UD_SEND && model->ud[step->peer].receiving == model->settle);
}

void
model_datagram(struct df_model *model, const struct df_step *step)
{
	static void (*const steps[DF_KIND_COUNT])(struct df_model *, const struct df_step *) = {
		[DF_AH_CREATE] = ah_create, [DF_AH_FREE] = ah_free,   [DF_UD_CREATE] = ud_create,
		[DF_UD_FREE] = ud_free,     [DF_UD_RESET] = ud_reset, [DF_UD_RECV] = ud_receive,
		[DF_UD_SEND] = ud_send,
	};

	if (needs_settlement(model, step))
		model_settle_before(model);
	steps[step->kind](model, step);
}

void
model_datagram_settle(struct df_model *model, int *states)
{
	for (int i = 0; i < DF_UDS; i++) {
		struct model_ud *ud = &model->ud[i];

		model_slots_return(model, ud->sq);
		model_slots_return(model, ud->rq);
		states[i] = ud->failed ? IT_EP_STATE_UD_NONOPERATIONAL : IT_EP_STATE_UD_OPERATIONAL;
		if (!ud->alive)
			states[i] = -1;
	}
}
