/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "df_pick.h"

int
pick_below(struct maker *maker, int limit)
{
	return g_rand_int_range(maker->rand, 0, limit);
}

bool
pick_once_in(struct maker *maker, int times)
{
	return pick_below(maker, times) == 0;
}

void
pick_add(struct maker *maker, const struct df_step *step)
{
	g_array_append_val(maker->program->steps, *step);
	df_model_step(maker->model, step);
}

/* An endpoint in that state (-1: none in that place); any endpoint, if there is none or the step is unguided. */
int
pick_ep(struct maker *maker, int state)
{
	int start = pick_below(maker, DF_EPS);

	for (int i = 0; i < DF_EPS && !maker->wild; i++) {
		int ep = (start + i) % DF_EPS;
		const struct model_ep *end = &maker->model->ep[ep];

		if ((end->alive ? end->state : -1) == state)
			return ep;
	}
	return start;
}

int
pick_lmr(struct maker *maker, int node, int pz, int right)
{
	int start = pick_below(maker, DF_LMRS);

	for (int i = 0; i < DF_LMRS && !maker->wild; i++) {
		int place = (start + i) % DF_LMRS;
		const struct model_lmr *lmr = &maker->model->lmr[place];

		if (lmr->alive && lmr->linked && df_node(place) == node &&
		    (pick_once_in(maker, 20) || (lmr->pz == pz && (lmr->privs & right) == right)))
			return place;
	}
	return start;
}

int
pick_len(struct maker *maker)
{
	switch (pick_below(maker, 8)) {
	case 0:
		return 0;
	case 1:
		return pick_below(maker, 3000);
	default:
		return 1 + pick_below(maker, 200);
	}
}

int
pick_off(struct maker *maker, int size, int len)
{
	if (pick_once_in(maker, 60))
		return size - len + 1 + pick_below(maker, 50);
	if (pick_once_in(maker, 200))
		return -1 - pick_below(maker, 50);
	return size > len ? pick_below(maker, size - len + 1) : 0;
}

int
pick_flags(struct maker *maker, int allowed)
{
	static const int flags[] = {IT_NOTIFY_FLAG, IT_SOLICITED_WAIT_FLAG, IT_BARRIER_FENCE_FLAG,
				    IT_COALESCE_WR_FLAG};
	int value = pick_once_in(maker, 3) ? 0 : IT_COMPLETION_FLAG;

	for (size_t i = 0; i < G_N_ELEMENTS(flags); i++) {
		if ((allowed & flags[i]) != 0 && pick_once_in(maker, 4))
			value |= flags[i];
	}
	if (pick_once_in(maker, 120))
		value |= 1 << pick_below(maker, 8);
	return value;
}

/* Is it a request of a connected endpoint? */
static bool
is_of_ep(const struct df_step *step)
{
	return step->kind != DF_SRQ_RECV && !df_is_datagram(step->kind);
}

/* The zone in which a request must have its regions. */
static int
zone_of(const struct df_model *model, const struct df_step *step)
{
	if (step->kind == DF_SRQ_RECV)
		return model->srq[step->obj].pz;
	return df_is_datagram(step->kind) ? model->ud[step->obj].pz : model->ep[step->ep].pz;
}

void
pick_segment(struct maker *maker, struct df_step *step, int len, int right)
{
	int node = df_node(is_of_ep(step) ? step->ep : step->obj), place;
	const struct model_lmr *lmr;
	struct df_seg *seg;

	if (pick_direct(maker, step, node, len))
		return;
	place = pick_lmr(maker, node, zone_of(maker->model, step), right);
	lmr = &maker->model->lmr[place];
	seg = &step->seg[step->segs++];
	if (lmr->alive && len > lmr->len && !pick_once_in(maker, 40))
		len = lmr->len;
	*seg = (struct df_seg){.lmr = place, .len = len};
	seg->off = pick_off(maker, lmr->alive ? lmr->len : 100, len);
}

void
pick_segments(struct maker *maker, struct df_step *step, int len, int most, int right)
{
	int count = len == 0 && pick_once_in(maker, 2) ? 0 : 1 + pick_below(maker, most);

	if (pick_once_in(maker, 150))
		count = DF_SEGS;
	for (int i = 0; i < count; i++) {
		int part = i == count - 1 || len == 0 ? len : pick_below(maker, len + 1);

		pick_segment(maker, step, part, right);
		len -= step->seg[i].len;
		len = MAX(len, 0);
	}
}

void
pick_target(struct maker *maker, struct df_step *step, int right)
{
	int peer = maker->model->ep[step->ep].peer;
	int len = model_seg_sum(step), size = 100;

	step->key = (struct df_key){.kind = 'l', .slot = pick_below(maker, DF_LMRS)};
	if (peer >= 0 && !maker->wild)
		step->key.slot = pick_lmr(maker, df_node(peer), maker->model->ep[peer].pz, right);
	if (maker->model->lmr[step->key.slot].alive)
		size = maker->model->lmr[step->key.slot].len;
	for (int i = 0; i < DF_RMRS && pick_once_in(maker, 2); i++) {
		const struct model_rmr *rmr = &maker->model->rmr[i];

		if (!rmr->alive || rmr->linked != MODEL_LINKED || rmr->ep != peer)
			continue;
		step->key = (struct df_key){.kind = 'r', .slot = i};
		size = rmr->len;
	}
	step->off = pick_off(maker, size, len);
	if (pick_once_in(maker, 60))
		step->key.kind = "LRx"[pick_below(maker, 3)];
	if (step->key.kind == 'R')
		step->key.slot %= DF_RMRS;
}

void
pick_unlinkable(struct maker *maker, struct df_step *step)
{
	const struct df_model *model = maker->model;
	int peer = model->ep[step->ep].peer;
	int start = pick_below(maker, DF_LMRS);

	step->key = (struct df_key){.kind = "lrLRx"[pick_below(maker, 5)],
				    .slot = pick_below(maker, DF_RMRS)};
	if (maker->wild || peer < 0)
		return;
	for (int i = 0; i < DF_LMRS; i++) {
		int place = (start + i) % DF_LMRS;
		const struct model_lmr *lmr = &model->lmr[place];

		if (lmr->alive && lmr->linked && !lmr->shareable && lmr->pz == model->ep[peer].pz &&
		    df_node(place) == df_node(peer) && (lmr->privs & ~IT_PRIV_LOCAL) != 0)
			step->key = (struct df_key){.kind = 'l', .slot = place};
	}
	for (int i = 0; i < DF_RMRS; i++) {
		if (model->rmr[i].alive && model->rmr[i].linked == MODEL_LINKED &&
		    model->rmr[i].ep == peer && pick_once_in(maker, 2))
			step->key = (struct df_key){.kind = 'r', .slot = i};
	}
}

int
pick_live_srq(struct maker *maker)
{
	int start = pick_below(maker, DF_SRQS), place = start;

	for (int i = 0; i < DF_SRQS && !maker->wild; i++) {
		place = (start + i) % DF_SRQS;
		if (maker->model->srq[place].alive)
			break;
	}
	return place;
}

int
pick_srq(struct maker *maker, int ep)
{
	int start = pick_below(maker, DF_SRQS);

	if (pick_once_in(maker, 40))
		return start + 1;
	for (int i = 0; i < DF_SRQS && (maker->watermarks || pick_once_in(maker, 2)); i++) {
		int place = (start + i) % DF_SRQS;

		if (maker->model->srq[place].alive && df_node(place) == df_node(ep))
			return place + 1;
	}
	return 0;
}

void
pick_receive(struct maker *maker, struct df_step *step)
{
	step->flags = pick_flags(maker, IT_NOTIFY_FLAG);
	pick_segments(maker, step, pick_len(maker), 3, IT_PRIV_LOCAL_WRITE);
}

int
pick_room(struct maker *maker, int ep)
{
	int srq = maker->model->ep[ep].srq, room = G_MAXINT;
	struct model_takers takers = model_takers(maker->model, ep);
	int missing = srq >= 0 ? 1 + pick_below(maker, 4) : 1;

	for (int i = takers.count > 0 || maker->wild ? missing : 0; i < missing; i++) {
		struct df_step recv = {.kind = DF_RECV, .ep = ep};

		if (srq >= 0)
			recv = (struct df_step){.kind = DF_SRQ_RECV, .obj = srq};
		pick_segments(maker, &recv, pick_len(maker), 3, IT_PRIV_LOCAL_WRITE);
		pick_add(maker, &recv);
	}
	takers = model_takers(maker->model, ep);
	for (int i = 0; i < takers.count; i++)
		room = MIN(room, model_seg_sum(model_work_of(maker->model, takers.wr[i])));
	return takers.count > 0 ? room : 100;
}
