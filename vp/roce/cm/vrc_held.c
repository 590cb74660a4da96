/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Connection requests for a port whose listener was closed a moment ago. Programs that take one
 * connection at a time close their listener and open it again for the next one; perftest does so. A
 * peer that gets the answer "no such service" in between abandons the attempt. So its REQ is held
 * until there is a listener again, or until VRC_HELD_TIME after the last one was closed.
 *
 * A request that its peer withdraws meanwhile leaves its place: nobody would answer an acceptance.
 *
 * There are VRC_HELD_MAX places, and as many services that are remembered. A request that gets no
 * place is refused at once, so a flood of requests costs no more than without this file.
 */
#include "vrc_conn.h"
#include "vrc_ip.h"

static struct vrc_closed *
closed_find(struct vrc_cm *cm, uint64_t service_id)
{
	uint64_t now = vrc_now(cm);

	for (unsigned i = 0; i < VRC_HELD_MAX; i++)
		if (cm->closed[i].until > now && cm->closed[i].service_id == service_id)
			return &cm->closed[i];
	return NULL;
}

void
vrc_held_closed(struct vrc_cm *cm, uint64_t service_id)
{
	struct vrc_closed *place = closed_find(cm, service_id);

	for (unsigned i = 0; i < VRC_HELD_MAX && place == NULL; i++)
		if (cm->closed[i].until <= vrc_now(cm))
			place = &cm->closed[i];
	if (place != NULL)
		*place = (struct vrc_closed){.service_id = service_id,
					     .until = vrc_now(cm) + VRC_HELD_TIME};
}

void
vrc_held_opened(struct vrc_cm *cm, uint64_t service_id)
{
	for (unsigned i = 0; i < VRC_HELD_MAX; i++)
		if (cm->held[i].until != 0 && cm->held[i].mad.req.service_id == service_id)
			cm->held[i].until = vrc_now(cm); /* the listener is complete by then */
}

/* The place of the request with which that message begins an exchange, or is about; NULL: it has none. */
static struct vrc_held *
held_find(struct vrc_cm *cm, const struct vrc_path *path, const struct vrc_mad *mad)
{
	for (unsigned i = 0; i < VRC_HELD_MAX; i++) {
		struct vrc_held *held = &cm->held[i];

		if (held->until != 0 && held->mad.local_id == mad->local_id &&
		    held->mad.tid == mad->tid && vrc_addr_same(&held->path.peer, &path->peer) &&
		    vrc_addr_same(&held->path.local, &path->local))
			return held;
	}
	return NULL;
}

bool
vrc_held_take(struct vrc_cm *cm, const struct vrc_path *path, const struct vrc_mad *mad)
{
	const struct vrc_closed *closed = closed_find(cm, mad->req.service_id);
	struct vrc_held *place = NULL;

	if (held_find(cm, path, mad) != NULL)
		return true; /* a copy */
	for (unsigned i = 0; i < VRC_HELD_MAX; i++)
		if (cm->held[i].until == 0)
			place = &cm->held[i];
	if (closed == NULL || place == NULL)
		return false;
	*place = (struct vrc_held){.path = *path, .mad = *mad, .until = closed->until};
	return true;
}

bool
vrc_held_withdraw(struct vrc_cm *cm, const struct vrc_path *path, const struct vrc_mad *rej)
{
	struct vrc_held *held = held_find(cm, path, rej);

	if (held != NULL)
		held->until = 0;
	return held != NULL;
}

uint64_t
vrc_held_due(const struct vrc_cm *cm)
{
	uint64_t due = RI_NEVER;

	for (unsigned i = 0; i < VRC_HELD_MAX; i++)
		if (cm->held[i].until != 0 && cm->held[i].until < due)
			due = cm->held[i].until;
	return due;
}

void
vrc_held_expire(struct vrc_cm *cm, uint64_t now)
{
	for (unsigned i = 0; i < VRC_HELD_MAX; i++) {
		struct vrc_held held = cm->held[i];

		if (held.until == 0 || held.until > now)
			continue;
		cm->held[i].until = 0;
		vrc_request_decide(cm, &held.path, &held.mad);
	}
}
