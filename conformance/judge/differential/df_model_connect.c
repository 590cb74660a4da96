/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Connections of the model, from the attempt to its result [IT 4.1], [IT 4.2], [IT 4.4]. */
#include "df_model.h"

/* An attempt ends without a connection; 0: without an event, too. */
static void
fails_to_connect(struct df_model *model, int ep, unsigned event)
{
	if (event != 0)
		model_cm_expect(model, ep, MODEL_BIT(event & 0xf));
	model_flush_receives(model, ep, false);
	model->ep[ep].ends = true;
	model->ep[ep].state = IT_EP_STATE_NONOPERATIONAL;
}

static void
established(struct df_model *model, int active, int passive)
{
	struct model_ep *near = &model->ep[active], *far = &model->ep[passive];

	model_cm_expect(model, active, MODEL_BIT(IT_CM_MSG_CONN_ESTABLISHED_EVENT & 0xf));
	model_cm_expect(model, passive, MODEL_BIT(IT_CM_MSG_CONN_ESTABLISHED_EVENT & 0xf));
	near->state = far->state = IT_EP_STATE_CONNECTED;
	near->peer = passive;
	far->peer = active;
}

/* The passive end has accepted [IT 4.1.2], [IT 4.2.3], [IT 4.4.1]. */
static void
accepted(struct df_model *model, const struct df_step *step)
{
	struct df_answer *third = &model_now(model)->third;
	struct model_ep *near = &model->ep[step->ep], *far = &model->ep[step->peer];

	/* With the answer [IT 9.6.3], whatever comes after it. */
	if (model->profile->ird_ord) {
		if (!model->profile->raises_ird)
			near->ord = MIN(near->ord, far->ird);
		far->ord = MIN(far->ord, near->ird);
	}
	if (step->how >= DF_THREE_WAY)
		*third = (struct df_answer){.count = 1, .any = {IT_SUCCESS}};
	if (step->how == DF_THREE_REFUSE) {
		fails_to_connect(model, step->ep, 0);
		fails_to_connect(model, step->peer, IT_CM_MSG_CONN_PEER_REJECT_EVENT);
	} else if (step->how == DF_THREE_ABORT) {
		fails_to_connect(model, step->ep, IT_CM_MSG_CONN_DISCONNECT_EVENT);
		fails_to_connect(model, step->peer, IT_CM_MSG_CONN_NONPEER_REJECT_EVENT);
	} else {
		established(model, step->ep, step->peer);
	}
}

/* Connect; at the other end accept or reject. An accept that is refused is followed by a reject. */
void
model_connect(struct df_model *model, const struct df_step *step)
{
	const struct model_ep *near = &model->ep[step->ep], *far = &model->ep[step->peer];
	struct df_answer *accept = &model_now(model)->second;

	if (!near->alive) {
		model_answer(model, IT_ERR_INVALID_EP);
		return;
	}
	if (near->state != IT_EP_STATE_UNCONNECTED)
		model_answer(model, IT_ERR_INVALID_EP_STATE);
	if (step->how >= DF_THREE_WAY && !model->profile->three_way)
		model_answer(model, IT_ERR_INVALID_CN_EST_FLAGS);
	if (model_now(model)->answer.count > 0)
		return;
	model_answer(model, IT_SUCCESS);
	if (model_out_of_reach(model, step)) {
		model_now(model)->unreached = true;
		fails_to_connect(model, step->ep, IT_CM_MSG_CONN_NONPEER_REJECT_EVENT);
		model_settle_after(model);
		return;
	}
	if (step->how != DF_REJECT && far->alive) {
		bool can = far->state == IT_EP_STATE_UNCONNECTED && step->peer != step->ep;

		accept->count = 1;
		accept->any[0] = can ? IT_SUCCESS : IT_ERR_INVALID_EP_STATE;
	}
	if (accept->count == 1 && accept->any[0] == IT_SUCCESS)
		accepted(model, step);
	else
		fails_to_connect(model, step->ep, IT_CM_MSG_CONN_PEER_REJECT_EVENT);
	model_settle_after(model);
}
