/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The death of a peer that nobody asks. A process that is killed says nothing, and no kernel says it in its place, as that of an
 * adapter does. So a reliable queue pair that has nothing under way, and has heard nothing for vro_engine::keep_alive, asks: it sends an
 * empty Send with the number before the next one, which the peer takes for a packet that it has executed, and acknowledges again
 * [WIRE 16]. Asked VRO_ALIVE_ASKS times without any packet from the peer, the queue pair ends; where the kernel says that
 * nobody listens at the peer's address, it ends after VRO_ABSENCES of them. Requests that are under way have their own times.
 *
 * The same question finds out whether a message has come that cannot be sent again, as its memory went.
 *
 * What has come is seen by the counter of packets, so a packet costs nothing for this.
 */
#include "vro_qp.h"

#include "wire/roce_packet.h"

static uint64_t
heard(const struct vro_qp *qp)
{
	return ri_count_read(&qp->count->frames_received);
}

void
vro_alive_begin(struct vro_qp *qp)
{
	const struct ri_host *host = qp->engine->host;
	struct vro_alive *alive = &qp->alive;

	alive->asked = 0;
	alive->heard = heard(qp);
	alive->at = qp->engine->keep_alive != 0 && qp->transport == ROCE_RC && qp->path.timeout != 0
			    ? host->now(host->self) + qp->engine->keep_alive
			    : RI_NEVER;
}

/* ns between two questions; enough for the kernel's answer to count (VRO_ABSENT). */
static uint64_t
interval(const struct vro_engine *engine)
{
	uint64_t part = engine->keep_alive / VRO_ALIVE_PARTS;

	return part > VRO_ABSENT ? part : VRO_ABSENT;
}

void
vro_alive_ask(struct vro_qp *qp)
{
	uint8_t *at = vro_room(qp);
	struct roce_packet p = {
		.opcode = ROCE_RC | ROCE_SEND_ONLY,
		.pkey = qp->path.pkey,
		.qpn = qp->path.qpn,
		.psn = roce_add(qp->tx.una, ROCE_24),
		.ack_request = true,
	};

	/* A link that is full has packets for somebody, and is asked again. */
	if (at != NULL)
		vro_send(qp, at, &qp->path.flow, &p);
}

void
vro_alive_look(struct vro_qp *qp, uint64_t now)
{
	struct vro_alive *alive = &qp->alive;
	uint64_t count = heard(qp);

	if (alive->at > now)
		return;
	if (count != alive->heard) {
		alive->heard = count;
		alive->asked = 0;
		qp->tx.absent = 0;
		alive->at = now + qp->engine->keep_alive;
		return;
	}
	if (alive->asked == VRO_ALIVE_ASKS) {
		vro_qp_fail(qp, RI_EVENT_QP_WR_ERROR,
			    "the peer does not answer, and nothing was under way");
		return;
	}
	alive->asked++;
	qp->engine->counts[VRO_ALIVE]++;
	alive->at = now + interval(qp->engine);
	vro_alive_ask(qp);
}
