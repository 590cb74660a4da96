/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "vro_tap.h"

#include <stdio.h>
#include <string.h>

#include "ri_capture.h"

/* Is it an address of a socket of this station, whose packets are in the capture already? */
static bool
is_own(const struct vro_station *station, const uint8_t gid[16])
{
	for (uint32_t i = 0; i < station->num_udps; i++)
		if (memcmp(station->udps[i].gid, gid, 16) == 0)
			return true;
	return false;
}

static void
packet_give(struct vro_station *station, const struct roce_flow *flow, const uint8_t *octets,
	    size_t len, bool received, const char *text)
{
	const struct ri_captured what = {.kind = RI_CAPTURED_PACKET,
					 .received = received,
					 .twin = received && is_own(station, flow->source),
					 .adapter = station->name,
					 .which = station};
	uint8_t frame[ROCE_FRAME_MAX];
	struct ri_captured packet = what;
	uint32_t head = roce_ip_write(frame, flow, len);

	if (len > ROCE_PACKET_MAX)
		return;
	memcpy(frame + head, octets, len);
	packet.octets = frame;
	packet.length = head + len;
	packet.text = text;
	ri_capture(station->engine.host, &packet);
}

static void
tap(struct vro_udp *udp, const struct roce_flow *flow, const uint8_t *octets, size_t len,
    bool received)
{
	struct vro_station *station = udp->owner;
	struct roce_flow own = *flow;

	/* The identification of what came is found by the CRC. */
	if (received)
		(void)roce_icrc_check(&own, true, octets, len);
	packet_give(station, &own, octets, len, received, atomic_exchange(&station->note, NULL));
}

void
vro_tap_open(struct vro_station *station, struct vro_udp *udp)
{
	if (!ri_capture_wanted(station->engine.host))
		return;
	if (!station->captured)
		ri_capture(station->engine.host, &(struct ri_captured){.kind = RI_CAPTURED_ADAPTER,
								       .adapter = station->name,
								       .which = station});
	station->captured = true;
	vro_udp_capture(udp, tap);
}

void
vro_tap_established(struct vro_station *station)
{
	if (station->captured)
		atomic_store(&station->note, "the connection is established");
}

static const char *
kind_text(uint32_t kind)
{
	switch (kind) {
	case RI_CM_DISCONNECTED:
		return "closed";
	case RI_CM_BROKEN:
		return "broken";
	case RI_CM_REJECTED:
		return "rejected";
	default:
		return "ended";
	}
}

void
vro_tap_end(const struct vro_verbs_qp *qp, uint32_t kind)
{
	struct vro_station *station = qp->rnic->station;
	struct roce_packet p = {.opcode = ROCE_RC | ROCE_ACK,
				.migrated = true,
				.pkey = qp->qp.path.pkey,
				.qpn = qp->qp.path.qpn,
				.psn = (qp->qp.rx.psn - 1) & ROCE_24,
				.syndrome = ROCE_SYN_ACK | ROCE_SYN_UNLIMITED,
				.msn = qp->qp.rx.msn};
	struct roce_flow flow = qp->qp.path.flow;
	uint8_t octets[ROCE_HEAD_MAX + ROCE_ICRC];
	char text[256];
	size_t len;

	if (!station->captured || qp->qp.transport != ROCE_RC || p.qpn == 0)
		return;
	(void)snprintf(text, sizeof(text), "queue pair %u: the connection is %s", qp->qp.qpn,
		       kind_text(kind));
	flow.source_port = ROCE_UDP_PORT;
	flow.ident = 0;
	flow.fragments = false;
	len = roce_packet_write(octets, &p);
	len = roce_icrc_seal(&flow, octets, len);
	packet_give(station, &flow, octets, len, false, text);
}
