/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Choices for changes of what lives on. */
#include "df_pick.h"

#define EVD_LEAST 256 /* more than a group of steps makes */
#define EVD_MOST  2048

/* An endpoint between two connections has most to remember; it is reset first, if it has to be. */
void
pick_ep_change(struct maker *maker, struct df_step *step)
{
	static const int states[] = {IT_EP_STATE_UNCONNECTED, IT_EP_STATE_NONOPERATIONAL,
				     IT_EP_STATE_CONNECTED, IT_EP_STATE_NONOPERATIONAL};
	int state = states[pick_below(maker, (int)G_N_ELEMENTS(states))];
	struct df_step reset = {.kind = DF_RESET};

	step->ep = pick_ep(maker, state);
	if (maker->model->ep[step->ep].alive &&
	    maker->model->ep[step->ep].state == IT_EP_STATE_NONOPERATIONAL &&
	    !pick_once_in(maker, 4)) {
		reset.ep = step->ep;
		pick_add(maker, &reset);
	}
	step->flags = pick_once_in(maker, 3) ? 1 << pick_below(maker, 6) : pick_below(maker, 64);
	if (maker->model->ep[step->ep].srq >= 0)
		step->flags &= ~DF_CHANGE_RQ;
	if (maker->model->ep[step->ep].state == IT_EP_STATE_CONNECTED && !pick_once_in(maker, 8))
		step->flags &= DF_CHANGE_SQ | DF_CHANGE_RQ | DF_CHANGE_ENABLE;
	step->sq = 2 + pick_below(maker, 7);
	step->rq = 1 + pick_below(maker, 8);
	step->enable = pick_once_in(maker, 2) ? pick_below(maker, 8) : DF_ENABLE_ALL;
	step->ird = pick_once_in(maker, 8) ? 0 : 1 + pick_below(maker, 4);
	step->ord = pick_once_in(maker, 8) ? 0 : 1 + pick_below(maker, 4);
	step->payload = pick_once_in(maker, 3) ? 50 + pick_below(maker, 1000) : 0;
}

/* A node does not stay without a listener for long. */
void
pick_listen(struct maker *maker, struct df_step *step)
{
	step->obj = pick_below(maker, DF_NODES);
	for (int i = 0; i < DF_NODES; i++) {
		if (maker->model->deaf[i])
			step->obj = i;
	}
	step->how = maker->model->deaf[step->obj] ? 1 : 0;
}

void
pick_evd_size(struct maker *maker, struct df_step *step)
{
	step->obj = pick_below(maker, DF_NODES);
	step->how = pick_below(maker, 4);
	step->a = EVD_LEAST + pick_below(maker, EVD_MOST - EVD_LEAST);
}

/* Change the way of a dispatcher to any other: directly, which some ways exclude, or over the way of waiting. */
void
pick_evd_way(struct maker *maker, struct df_step *step)
{
	struct df_step wait = {.kind = DF_EVD_WAY, .a = DF_WAY_WAIT};

	step->obj = wait.obj = pick_below(maker, DF_NODES);
	step->how = wait.how = pick_below(maker, 4);
	step->a = pick_below(maker, DF_WAYS);
	if (maker->model->way[step->obj][step->how] != DF_WAY_WAIT && !pick_once_in(maker, 3))
		pick_add(maker, &wait);
}

void
pick_srq_size(struct maker *maker, struct df_step *step)
{
	step->obj = pick_live_srq(maker);
	step->rq = 1 + pick_below(maker, 8);
	if (!pick_once_in(maker, 3))
		step->rq = MAX(step->rq, maker->model->srq[step->obj].left);
}
