/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Random choices for faults. A dispatcher for unaffiliated events is small, so a series of changes
 * fills it. After a spigot went down, most of the next steps run while it is down; it goes up again
 * soon.
 */
#include "df_pick.h"

#define ROW_MOST 6

/* A node whose adapter lives, if there is one. */
static int
pick_living(struct maker *maker)
{
	int node = pick_below(maker, DF_NODES);

	return maker->model->adapter[node].dead && !maker->wild ? (node + 1) % DF_NODES : node;
}

void
pick_spigot(struct maker *maker, struct df_step *step)
{
	int row = pick_once_in(maker, 3) ? 1 + pick_below(maker, ROW_MOST) : 0;

	step->obj = pick_living(maker);
	for (int i = 0; i < row; i++) {
		struct df_step flip = {.kind = DF_SPIGOT, .obj = step->obj};

		flip.how = maker->model->adapter[step->obj].down ? 1 : 0;
		pick_add(maker, &flip);
	}
	step->how = maker->model->adapter[step->obj].down ? 1 : 0;
	if (maker->wild)
		step->how = 1 - step->how;
}

void
pick_unaff(struct maker *maker, struct df_step *step)
{
	step->obj = pick_living(maker);
	step->rq = 1 + pick_below(maker, 3);
}

void
pick_fail(struct maker *maker, struct df_step *step)
{
	for (int i = 0; i < DF_NODES; i++) {
		struct df_step up = {.kind = DF_SPIGOT, .obj = i, .how = 1};

		if (maker->model->adapter[i].down)
			pick_add(maker, &up);
	}
	step->kind = DF_FAIL;
	step->obj = pick_below(maker, DF_NODES);
}

void
pick_repair(struct maker *maker)
{
	for (int i = 0; i < DF_NODES; i++) {
		struct df_step up = {.kind = DF_SPIGOT, .obj = i, .how = 1};

		if (maker->model->adapter[i].down && pick_once_in(maker, 4))
			pick_add(maker, &up);
	}
}
