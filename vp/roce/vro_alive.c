/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Detects the death of a peer while nothing is sent. A killed process sends nothing, and no kernel
 * sends a packet in its place, as the driver of an adapter would. So a reliable queue pair that has
 * no request outstanding, and has received nothing for vro_engine::keep_alive, sends a keep-alive
 * packet: an empty Send with the packet number before the next one. The peer takes it for a packet
 * that it has already executed, and acknowledges it again [WIRE 16]. After VRO_ALIVE_ASKS such
 * packets without any packet from the peer, the queue pair ends; if the kernel reports that no
 * socket listens at the peer's address, it ends after VRO_ABSENCES of these reports. Outstanding
 * requests have their own time-outs.
 *
 * The same packet is used to find out whether a message has arrived that cannot be sent again,
 * because its memory was deregistered.
 *
 * The counter of received packets shows whether anything has arrived, so this costs nothing for
 * each packet.
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
