/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Choices for watermarks. A single message passes few of them, so a watermark is mostly followed by receives and then by
 * messages without a settlement between them.
 */
#include "df_pick.h"

void
pick_srq_limit(struct maker *maker, struct df_step *step)
{
	const struct model_srq *srq;

	step->obj = pick_live_srq(maker);
	srq = &maker->model->srq[step->obj];
	/* Most watermarks are passed by the next message, or by a few. */
	step->a = srq->left + 1 - pick_below(maker, 4);
	step->a = CLAMP(step->a, 0, srq->size);
	if (pick_once_in(maker, 12))
		step->a = srq->size + pick_below(maker, 2);
}

void
pick_limits(struct maker *maker, struct df_step *step)
{
	step->soft = pick_once_in(maker, 4) ? 0 : 1 + pick_below(maker, 3);
	step->hard = pick_once_in(maker, 2) ? 0 : step->soft + pick_below(maker, 3);
	if (pick_once_in(maker, 20))
		step->hard = pick_below(maker, 9);
	if (pick_once_in(maker, 3))
		step->soft = 0;
}

/* One whose peer is connected, or any. */
static int
pick_member(struct maker *maker)
{
	int start = pick_below(maker, DF_EPS);

	for (int i = 0; i < DF_EPS && !maker->wild; i++) {
		int ep = (start + i) % DF_EPS;
		const struct model_ep *end = &maker->model->ep[ep];

		if (end->alive && end->srq >= 0 && end->state == IT_EP_STATE_CONNECTED)
			return ep;
	}
	return start;
}

void
pick_ep_limit(struct maker *maker, struct df_step *step)
{
	step->ep = pick_member(maker);
	step->how = 1 + pick_below(maker, 3);
	pick_limits(maker, step);
}

/* Receives of the S-RQ first, then messages that take them. */
void
pick_burst(struct maker *maker, struct df_step *step)
{
	int ep = pick_member(maker);
	const struct model_ep *end = &maker->model->ep[ep];
	int count = 2 + pick_below(maker, 5), size = 8 + pick_below(maker, 100);

	*step = (struct df_step){.kind = DF_SETTLE};
	if (maker->wild || !end->alive || end->srq < 0 || end->peer < 0)
		return;
	for (int i = 0; i < count; i++) {
		struct df_step recv = {.kind = DF_SRQ_RECV, .obj = end->srq};

		recv.flags = pick_flags(maker, IT_NOTIFY_FLAG);
		pick_segment(maker, &recv, size, IT_PRIV_LOCAL_WRITE);
		pick_add(maker, &recv);
	}
	for (int i = 0; i < count && end->alive && end->peer >= 0; i++) {
		struct df_step send = {.kind = DF_SEND, .ep = end->peer};

		send.flags = pick_flags(maker, IT_NOTIFY_FLAG | IT_SOLICITED_WAIT_FLAG);
		pick_segment(maker, &send, pick_below(maker, size), IT_PRIV_LOCAL_READ);
		pick_add(maker, &send);
	}
}
