/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Changes of objects that live on: attributes of endpoints [IT 3], sizes of dispatchers [IT 6.5] and of shared receive
 * queues [IT 12.11], listeners that are freed and created again. A changed object behaves as if it had been created
 * with the new attributes.
 *
 * The specification leaves these open, so programs do not contain them: a size below the outstanding number, because
 * the adapter may grant more than is requested, and the depths of Reads of an established connection, which has
 * negotiated them.
 */
#include "df_model.h"

#define SIZES  (DF_CHANGE_SQ | DF_CHANGE_RQ)
#define DEPTHS (DF_CHANGE_IRD | DF_CHANGE_ORD)

static bool
is_unclear(const struct model_ep *end, const struct df_step *step)
{
	bool stands = end->state == IT_EP_STATE_CONNECTED;

	return (stands && (step->flags & DEPTHS) != 0) ||
	       ((step->flags & DF_CHANGE_RQ) != 0 && end->srq >= 0) ||
	       ((step->flags & DF_CHANGE_SQ) != 0 && step->sq < (int)end->sq->len) ||
	       ((step->flags & DF_CHANGE_RQ) != 0 && step->rq < (int)end->rq->len);
}

static void
ep_modify(struct df_model *model, const struct df_step *step)
{
	const struct df_profile *can = model->profile;
	struct model_ep *end = &model->ep[step->ep];
	int enable = step->enable != DF_ENABLE_ALL ? step->enable
						   : DF_ENABLE_READ | DF_ENABLE_WRITE |
							     (can->atomics ? DF_ENABLE_ATOMIC : 0);

	if (!end->alive) {
		model_answer(model, IT_ERR_INVALID_EP);
		return;
	}
	if (step->flags == 0)
		model_answer(model, IT_ERR_INVALID_MASK);
	else if (end->state == IT_EP_STATE_NONOPERATIONAL ||
		 (end->state == IT_EP_STATE_CONNECTED && (step->flags & DF_CHANGE_PAYLOAD) != 0))
		model_answer(model, IT_ERR_INVALID_EP_STATE);
	if ((step->flags & DF_CHANGE_ENABLE) != 0 && !can->enables_modifiable)
		model_answer(model, IT_ERR_OP_NOT_SUPPORTED);
	if ((step->flags & DF_CHANGE_ENABLE) != 0 && (enable & DF_ENABLE_ATOMIC) != 0 &&
	    !can->atomics)
		model_answer(model, IT_ERR_INVALID_EP_ATTR);
	if (((step->flags & SIZES) != 0 && !can->wq_resizable) ||
	    ((step->flags & DF_CHANGE_IRD) != 0 && !can->ird_modifiable) ||
	    ((step->flags & DF_CHANGE_ORD) != 0 && step->ord > end->ord && !can->ord_increasable))
		model_answer(model, IT_ERR_OP_NOT_SUPPORTED);
	if (model_now(model)->answer.count > 0)
		return;
	if (is_unclear(end, step)) {
		model_skip(model);
		return;
	}
	model_answer(model, IT_SUCCESS);
	if ((step->flags & DF_CHANGE_SQ) != 0)
		end->sq_size = can->sq[step->sq];
	if ((step->flags & DF_CHANGE_RQ) != 0)
		end->rq_size = can->rq[step->rq];
	if ((step->flags & DF_CHANGE_ENABLE) != 0)
		end->enable = enable;
	if ((step->flags & DF_CHANGE_IRD) != 0)
		end->ird = step->ird;
	if ((step->flags & DF_CHANGE_ORD) != 0)
		end->ord = end->ord_asked = step->ord;
	if ((step->flags & DF_CHANGE_PAYLOAD) != 0)
		end->payload = step->payload != 0 ? step->payload : INT_MAX;
}

static void
srq_size(struct df_model *model, const struct df_step *step)
{
	const struct df_profile *can = model->profile;
	struct model_srq *srq = &model->srq[step->obj];

	if (!srq->alive)
		model_answer(model, IT_ERR_INVALID_SRQ);
	else if (!can->srq_resizable)
		model_answer(model, IT_ERR_OP_NOT_SUPPORTED);
	else if (can->srq[step->rq] < srq->left)
		model_answer(model, IT_ERR_INVALID_SRQ_SIZE);
	else if (step->rq < srq->left)
		model_skip(model);
	if (model_now(model)->answer.count > 0 || model_now(model)->skip)
		return;
	model_answer(model, IT_SUCCESS);
	srq->size = can->srq[step->rq];
}

/* Every size that a program asks for is above what a group of steps makes. An adapter need not be able to. */
static void
evd_size(struct df_model *model, const struct df_step *step)
{
	(void)step;
	model_answer(model, IT_SUCCESS);
	model_answer(model, IT_ERR_RESOURCE_QUEUE_SIZE);
}

/*
 * The present mode of a dispatcher decides which modes it may change to [IT 6.3.2]. Events that are
 * queued meanwhile are reported in the new mode, so no settlement is made before the change.
 */
static void
evd_way(struct df_model *model, const struct df_step *step)
{
	enum df_way *way = &model->way[step->obj][step->how], to = (enum df_way)step->a;

	if (*way == DF_WAY_CALLBACK && to != DF_WAY_WAIT)
		model_answer(model, IT_ERR_CALLBACK_EXISTS);
	else if (*way != DF_WAY_WAIT && to == DF_WAY_CALLBACK)
		model_answer(model, IT_ERR_INVALID_EVD_STATE);
	if (model_now(model)->answer.count > 0)
		return;
	model_answer(model, IT_SUCCESS);
	*way = to;
}

static void
listen_change(struct df_model *model, const struct df_step *step)
{
	bool listens = !model->deaf[step->obj];

	if (listens == (step->how == 1)) {
		model_skip(model);
		return;
	}
	model_answer(model, IT_SUCCESS);
	model->deaf[step->obj] = listens;
}

void
model_change(struct df_model *model, const struct df_step *step)
{
	if (step->kind == DF_EVD_WAY) {
		evd_way(model, step);
		return;
	}
	model_settle_before(model);
	switch ((int)step->kind) {
	case DF_EP_MODIFY:
		ep_modify(model, step);
		break;
	case DF_SRQ_SIZE:
		srq_size(model, step);
		break;
	case DF_EVD_SIZE:
		evd_size(model, step);
		break;
	default:
		listen_change(model, step);
		break;
	}
}
