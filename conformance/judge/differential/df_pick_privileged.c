/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Choices for privileged operations. */
#include "df_list.h"
#include "df_pick.h"

/* Where a list begins, how long it is, and its shape. */
static void
pick_list(struct maker *maker, struct df_step *step, int most)
{
	step->list = 1 + pick_below(maker, DF_LISTS - 1);
	step->off = 8 * pick_below(maker, DF_SCATTER / 8);
	step->len = pick_once_in(maker, 20) ? 0 : 1 + pick_below(maker, most);
	step->len = MIN(step->len, DF_SCATTER - step->off);
}

/* Shorten the memory until the region has room for its pieces; one time in 50 leave it too long. */
static void
shorten(struct maker *maker, struct df_step *step, const struct model_lmr *lmr)
{
	while (lmr->room > 0 && step->len > 1 && !pick_once_in(maker, 50) &&
	       df_pieces_of((enum df_list)step->list, step->off, step->len).count > lmr->room)
		step->len /= 2;
}

void
pick_listed(struct maker *maker, struct df_step *step)
{
	pick_list(maker, step, DF_SCATTER / 2);
}

void
pick_reserved(struct maker *maker, struct df_step *step)
{
	int start = pick_below(maker, DF_LMRS);

	step->obj = start;
	for (int i = 0; i < DF_LMRS && maker->model->lmr[step->obj].alive; i++)
		step->obj = (start + i) % DF_LMRS;
	step->pz = df_node(step->obj) + (pick_once_in(maker, 10) ? DF_NODES : 0);
	step->a = pick_once_in(maker, 20) ? 0 : 1 + pick_below(maker, DF_PIECES);
}

/* A new reserved region of the zone, if necessary in place of another one. */
static int
fresh_lmr(struct maker *maker, int ep)
{
	int pz = maker->model->ep[ep].pz;
	int place = df_node(ep) + DF_NODES * pick_below(maker, DF_LMRS / DF_NODES);
	struct df_step step = {.kind = DF_LMR_FREE, .obj = place};

	if (maker->model->lmr[place].alive)
		pick_add(maker, &step);
	step = (struct df_step){.kind = DF_LMR_RESERVE, .obj = place, .pz = pz};
	step.a = 1 + pick_below(maker, DF_PIECES);
	pick_add(maker, &step);
	return place;
}

/* A connected endpoint with privileged operations, if there is one. */
static int
pick_privileged(struct maker *maker)
{
	int start = pick_below(maker, DF_EPS);

	for (int i = 0; i < DF_EPS && !maker->wild; i++) {
		int ep = (start + i) % DF_EPS;
		const struct model_ep *end = &maker->model->ep[ep];

		if (end->alive && end->priv &&
		    end->state == (pick_once_in(maker, 15) ? IT_EP_STATE_NONOPERATIONAL
							   : IT_EP_STATE_CONNECTED))
			return ep;
	}
	return start;
}

/* A region that the endpoint can link, or unlink. */
static int
pick_linkable(struct maker *maker, int ep, bool linked)
{
	int start = pick_below(maker, DF_LMRS);

	for (int i = 0; i < DF_LMRS; i++) {
		int place = (start + i) % DF_LMRS;
		const struct model_lmr *lmr = &maker->model->lmr[place];

		if (lmr->alive && lmr->linked == linked && lmr->room > 0 && !lmr->doubt &&
		    lmr->pz == maker->model->ep[ep].pz)
			return place;
	}
	return -1;
}

void
pick_lmr_link(struct maker *maker, struct df_step *step)
{
	static const int privs[] = {IT_PRIV_ALL, IT_PRIV_ALL, IT_PRIV_LOCAL,
				    IT_PRIV_LOCAL | IT_PRIV_REMOTE_READ};
	bool linked = step->kind == DF_LMR_UNLINK || pick_once_in(maker, 15);

	step->ep = pick_privileged(maker);
	step->obj = pick_below(maker, DF_LMRS);
	if (!maker->wild && maker->model->ep[step->ep].alive && !pick_once_in(maker, 15)) {
		int place = pick_linkable(maker, step->ep, linked);

		if (place < 0 && step->kind == DF_LMR_LINK)
			place = fresh_lmr(maker, step->ep);
		step->obj = place >= 0 ? place : step->obj;
	}
	step->flags = pick_flags(maker, ~IT_SOLICITED_WAIT_FLAG);
	if (step->kind == DF_LMR_UNLINK) {
		step->flags |= pick_once_in(maker, 3) ? IT_UNLINK_FENCE_FLAG : 0;
		return;
	}
	pick_list(maker, step, pick_once_in(maker, 2) ? 600 : DF_SCATTER / 2);
	shorten(maker, step, &maker->model->lmr[step->obj]);
	step->privs = pick_once_in(maker, 12) ? pick_below(maker, 32)
					      : privs[pick_below(maker, (int)G_N_ELEMENTS(privs))];
	step->mode = pick_once_in(maker, 3) ? IT_ADDR_MODE_RELATIVE : IT_ADDR_MODE_ABSOLUTE;
}

bool
pick_direct(struct maker *maker, struct df_step *step, int node, int len)
{
	struct df_seg seg = {.lmr = DF_LMRS + node, .len = MIN(len, DF_ARENA)};

	if (!maker->privileged || !pick_once_in(maker, 6))
		return false;
	seg.off = pick_below(maker, DF_ARENA - seg.len + 1);
	step->seg[step->segs++] = seg;
	return true;
}
