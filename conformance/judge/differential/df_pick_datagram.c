/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Steps of datagrams, mostly such that a datagram arrives. */
#include "df_pick.h"

#define HEADER 40

static void
make_place(struct maker *maker, struct df_step *step)
{
	step->obj = pick_below(maker, DF_UDS);
	step->pz = df_node(step->obj) + (pick_once_in(maker, 6) ? DF_NODES : 0);
	step->peer = pick_below(maker, DF_NODES);
	step->sq = 2 + pick_below(maker, 7);
	step->rq = 1 + pick_below(maker, 8);
}

/* A place with an endpoint; if there is none, one is made. */
static int
pick_ud(struct maker *maker)
{
	int start = pick_below(maker, DF_UDS);

	for (int i = 0; i < DF_UDS && !maker->wild; i++) {
		if (maker->model->ud[(start + i) % DF_UDS].alive)
			return (start + i) % DF_UDS;
	}
	if (!maker->wild) {
		struct df_step step = {.kind = DF_UD_CREATE};

		make_place(maker, &step);
		step.obj = start;
		step.pz = df_node(start);
		pick_add(maker, &step);
	}
	return start;
}

static void
make_receive(struct maker *maker, struct df_step *step)
{
	step->flags = pick_flags(maker, IT_NOTIFY_FLAG);
	pick_segments(maker, step, pick_len(maker) + (pick_once_in(maker, 10) ? 0 : HEADER), 3,
		      IT_PRIV_LOCAL_WRITE);
}

/* An address handle of the sender's zone. */
static int
pick_way(struct maker *maker, const struct df_step *send)
{
	const struct model_ud *ud = &maker->model->ud[send->obj];
	struct df_step step = {.kind = DF_AH_CREATE, .obj = -1, .pz = ud->pz, .peer = send->peer};

	if (maker->wild || pick_once_in(maker, 20))
		return pick_below(maker, DF_AHS);
	for (int i = 0; i < DF_AHS; i++) {
		const struct model_ah *ah = &maker->model->ah[i];

		if (ah->alive && ah->pz == ud->pz)
			return i;
		if (df_node(i) == df_node(send->obj) && (!ah->alive || step.obj < 0))
			step.obj = i;
	}
	if (maker->model->ah[step.obj].alive) {
		struct df_step end = {.kind = DF_AH_FREE, .obj = step.obj};

		pick_add(maker, &end);
	}
	pick_add(maker, &step);
	return step.obj;
}

/* The room of the target's first receive; one is posted, if there is none. */
static int
pick_ud_room(struct maker *maker, int target)
{
	const struct model_ud *ud = &maker->model->ud[target];

	for (int turn = 0; turn < 2; turn++) {
		struct df_step step = {.kind = DF_UD_RECV, .obj = target};

		for (unsigned i = 0; i < ud->rq->len; i++) {
			int wr = (int)g_array_index(ud->rq, unsigned, i);

			if (DF_WR(maker->model->expected, wr)->settle == DF_NEVER)
				return model_seg_sum(model_work_of(maker->model, wr)) - HEADER;
		}
		if (turn == 1 || maker->wild || pick_once_in(maker, 20))
			break;
		make_receive(maker, &step);
		pick_add(maker, &step);
	}
	return 100;
}

static void
make_send(struct maker *maker, struct df_step *step)
{
	int room;

	step->obj = pick_ud(maker);
	step->peer = pick_ud(maker);
	step->how = pick_once_in(maker, 20) ? 1 : 0;
	step->lmr = pick_way(maker, step);
	step->flags = pick_flags(maker, ~0);
	room = MIN(pick_ud_room(maker, step->peer), 1500);
	room = pick_once_in(maker, 20) ? room + 1 : pick_below(maker, MAX(room, 0) + 1);
	pick_segments(maker, step, MAX(room, 0), 3, IT_PRIV_LOCAL_READ);
}

void
pick_datagram(struct maker *maker, struct df_step *step)
{
	if (step->kind == DF_UD_SEND) {
		make_send(maker, step);
	} else if (step->kind == DF_UD_RECV) {
		step->obj = pick_ud(maker);
		make_receive(maker, step);
	} else if (step->kind == DF_UD_RESET) {
		step->obj = pick_ud(maker);
	} else {
		make_place(maker, step);
	}
}
