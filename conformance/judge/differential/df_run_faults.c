/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Faults at the fault door, unaffiliated events, and what an adapter says that has failed [IT 14]. */
#include <string.h>

#include "df_run.h"
#include "it_door.h"

/* --- steps ----------------------------------------------------------------------------------- */

static it_status_t
command(const struct df_run *run, int node, const char *text)
{
	char answer[DOOR_ANSWER];

	door_command(run->world->node[node].door, text, answer);
	return strcmp(answer, "ok") == 0 ? IT_SUCCESS : IT_ERR_ABORT;
}

static it_status_t
spigot(const struct df_run *run, const struct df_step *step)
{
	return command(run, step->obj, step->how == 0 ? "port down" : "port up");
}

/* Returns what a wait says when the adapter has failed; no request to connect comes in a program that waits. */
static it_status_t
fail(struct df_run *run, const struct df_step *step)
{
	int64_t deadline = g_get_monotonic_time() + run->patience, left;
	it_evd_handle_t evd = run->world->node[step->obj].evd[WORLD_CM_REQUEST];
	it_status_t status = command(run, step->obj, "fail adapter");
	it_event_t event;

	if (status != IT_SUCCESS)
		return status;
	run->world->node[step->obj].failed = true;
	do {
		left = deadline - g_get_monotonic_time();
		status = it_evd_wait(evd, left > 0 ? (uint64_t)left : 0, &event, NULL);
	} while (status == IT_ERR_INTERRUPT);
	return status;
}

static it_status_t
unaff_create(struct df_run *run, const struct df_step *step)
{
	return world_unaff(&run->world->node[step->obj], step->rq);
}

static it_status_t
unaff_free(struct df_run *run, const struct df_step *step)
{
	struct world_node *node = &run->world->node[step->obj];
	it_status_t status = it_evd_free(node->unaff);

	if (status == IT_SUCCESS)
		node->unaff = NULL;
	return status;
}

it_status_t
run_fault(struct df_run *run, const struct df_step *step)
{
	if (step->kind == DF_SPIGOT)
		return spigot(run, step);
	if (step->kind == DF_FAIL)
		return fail(run, step);
	return step->kind == DF_UNAFF_CREATE ? unaff_create(run, step) : unaff_free(run, step);
}

/* --- settlements ----------------------------------------------------------------------------- */

void
run_begin_faults(struct df_run *run)
{
	const struct df_settle *expect = DF_SETTLEMENT(run->expected, run->settle);

	DF_SEEN(run->record, run->settle)->unaff =
		g_array_new(FALSE, TRUE, sizeof(struct df_seen_unaff));
	for (int i = 0; i < DF_NODES; i++) {
		if (expect->raise[i])
			run->record->stuck |= command(run, i, "port up") != IT_SUCCESS;
	}
}

static void
take(struct df_run *run, int node, const it_event_t *event)
{
	const struct world_node *at = &run->world->node[node];
	const it_unaffiliated_event_t *unaff = &event->unaff_async;
	struct df_seen_unaff seen = {.event = unaff->event_number,
				     .node = node,
				     .right =
					     unaff->ia == at->ia && unaff->spigot_id == at->spigot};

	g_array_append_val(DF_SEEN(run->record, run->settle)->unaff, seen);
}

bool
run_wait_unaff(struct df_run *run, int node, int64_t deadline)
{
	const GArray *all = DF_SETTLEMENT(run->expected, run->settle)->unaff;
	it_event_t event;
	int missing = 0;

	for (unsigned i = 0; i < all->len; i++)
		missing += g_array_index(all, struct df_unaff, i).node == node;
	for (; missing > 0; missing--) {
		if (!run_wait(run, run->world->node[node].unaff, deadline, &event))
			return false;
		take(run, node, &event);
	}
	return true;
}

static int
online(const struct world_node *node)
{
	it_ia_info_t *info = NULL;
	it_status_t status;
	int state;

	if (node->door < 0)
		return DF_NEVER;
	status = it_ia_query(node->ia, &info);
	if (status != IT_SUCCESS)
		return status == IT_ERR_IA_CATASTROPHE ? DF_DEAD : -(int)status - DF_DEAD;
	state = info->spigot_info[node->spigot].spigot_online == IT_TRUE;
	it_ia_info_free(info);
	return state;
}

void
run_look_at_faults(struct df_run *run)
{
	struct df_seen_settle *seen = DF_SEEN(run->record, run->settle);

	for (int i = 0; i < DF_NODES; i++) {
		const struct world_node *node = &run->world->node[i];
		it_status_t status = IT_SUCCESS;
		it_event_t event;

		seen->online[i] = online(node);
		seen->dead[i] = it_evd_dequeue(node->evd[WORLD_CM_REQUEST], &event) ==
				IT_ERR_IA_CATASTROPHE;
		while (node->unaff != NULL && status == IT_SUCCESS) {
			status = it_evd_dequeue(node->unaff, &event);
			if (status == IT_SUCCESS)
				take(run, i, &event);
		}
		if (node->unaff != NULL)
			seen->dead[i] &= status == IT_ERR_IA_CATASTROPHE;
	}
}
