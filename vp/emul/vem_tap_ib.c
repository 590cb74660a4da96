/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Messages of InfiniBand as packets of RoCEv2, with the numbers that both ends have agreed on, and right CRCs. The path MTU is that of
 * the fabric. Source: InfiniBand Architecture, volume 1, chapter 9, annex A17.
 */
#include "roce_icrc.h"
#include "vem_tap.h"

#include <string.h>

#define HOPS 64

/* The GID of an end. */
static void
gid_of(uint8_t gid[16], const struct ri_addr *addr)
{
	if (addr->family == RI_ADDR_IPV4)
		roce_gid_of_v4(gid, addr->octets);
	else
		memcpy(gid, addr->octets, 16);
}

static struct roce_flow
flow_of(const struct vem_tap *tap, bool back)
{
	struct roce_flow flow = {.destination_port = ROCE_UDP_PORT, .hop_limit = HOPS};

	gid_of(flow.source, back ? &tap->ends.remote : &tap->ends.local);
	gid_of(flow.destination, back ? &tap->ends.local : &tap->ends.remote);
	flow.source_port = roce_port_of_label(roce_label_of_qpns(tap->qpn, tap->far_qpn));
	return flow;
}

static void
packet_add(struct vem_tap *tap, bool back, const struct roce_flow *flow, struct roce_packet *p)
{
	uint8_t frame[ROCE_FRAME_MAX + 4];
	uint32_t head = roce_ip_write(frame, flow, 0); /* its length is not known yet */
	uint8_t *octets = frame + head;
	uint32_t len;

	p->pkey = ROCE_PKEY;
	p->migrated = true;
	len = roce_packet_write(octets, p);
	if (p->payload_length > 0)
		memcpy(octets + len, p->payload, p->payload_length);
	len += p->payload_length;
	memset(octets + len, 0, roce_pad(p->payload_length));
	len = (uint32_t)roce_icrc_seal(flow, octets, len + roce_pad(p->payload_length));
	(void)roce_ip_write(frame, flow, len);
	vem_tap_give(tap, back, RI_CAPTURED_PACKET, frame, head + len);
}

static void
packet_send(struct vem_tap *tap, bool back, struct roce_packet *p)
{
	const struct roce_flow flow = flow_of(tap, back);

	p->opcode |= tap->unreliable ? ROCE_UC : ROCE_RC;
	p->qpn = back ? tap->qpn : tap->far_qpn;
	packet_add(tap, back, &flow, p);
}

/* Number of packets that carry that many octets. */
static uint32_t
packets_of(uint32_t length)
{
	return length == 0 ? 1 : (length - 1) / ROCE_MTU_MAX + 1;
}

/* The operation of a packet of a Send or Write. */
static uint8_t
op_of(const struct vem_tapped *m, bool first, bool last)
{
	bool write = m->opcode == RI_OP_RDMA_WRITE;
	bool immediate = (m->flags & RI_WR_IMMEDIATE) != 0;

	if (!last)
		return write ? (first ? ROCE_WRITE_FIRST : ROCE_WRITE_MIDDLE)
			     : (first ? ROCE_SEND_FIRST : ROCE_SEND_MIDDLE);
	if (write && first)
		return immediate ? ROCE_WRITE_ONLY_IMM : ROCE_WRITE_ONLY;
	if (write)
		return immediate ? ROCE_WRITE_LAST_IMM : ROCE_WRITE_LAST;
	if ((m->flags & RI_WR_INVALIDATE) != 0)
		return first ? ROCE_SEND_ONLY_INV : ROCE_SEND_LAST_INV;
	if (first)
		return immediate ? ROCE_SEND_ONLY_IMM : ROCE_SEND_ONLY;
	return immediate ? ROCE_SEND_LAST_IMM : ROCE_SEND_LAST;
}

void
vem_tap_ib_request(struct vem_tap *tap, const struct vem_tapped *m)
{
	struct roce_packet p = {.va = m->remote.addr,
				.rkey = m->remote.stag,
				.length = m->length,
				.immediate = m->extra,
				.invalidate = m->extra};
	bool bare = m->opcode != RI_OP_SEND && m->opcode != RI_OP_RDMA_WRITE;
	uint32_t count = bare ? 1 : packets_of(m->length);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = i * ROCE_MTU_MAX;
		bool last = i + 1 == count;

		if (m->opcode == RI_OP_RDMA_READ) {
			p.opcode = ROCE_READ_REQUEST;
		} else if (bare) {
			p.opcode = m->opcode == RI_OP_CMP_SWAP ? ROCE_CMP_SWAP : ROCE_FETCH_ADD;
			p.swap_add =
				m->opcode == RI_OP_CMP_SWAP ? m->remote.swap : m->remote.operand;
			p.compare = m->opcode == RI_OP_CMP_SWAP ? m->remote.operand : 0;
		} else {
			p.opcode = op_of(m, i == 0, last);
			p.payload = m->octets + at;
			p.payload_length = last ? m->length - at : ROCE_MTU_MAX;
		}
		p.solicited = last && (m->flags & RI_WR_SOLICITED) != 0;
		p.ack_request = last && !tap->unreliable;
		p.psn = roce_add(tap->psn, i);
		packet_send(tap, false, &p);
	}
	/* The answer of a Read has the numbers that follow that of the request. */
	tap->psn = roce_add(tap->psn, m->opcode == RI_OP_RDMA_READ ? packets_of(m->length) : count);
}

/* The syndrome of a refusal. */
static uint8_t
syndrome_of(const struct vem_tap *tap, const struct vsw_refusal *refusal)
{
	if (refusal == NULL)
		return ROCE_SYN_ACK | ROCE_SYN_UNLIMITED;
	if (refusal->status == RI_WC_REMOTE_ACCESS)
		return ROCE_NAK_ACCESS;
	if (refusal->status == RI_WC_REMOTE_INVALID_REQ)
		return ROCE_NAK_INVALID;
	return refusal->status == RI_WC_RNR ? (uint8_t)(ROCE_SYN_RNR | tap->rnr)
					    : ROCE_NAK_OPERATION;
}

static void
read_answer(struct vem_tap *tap, const struct vem_tapped *m)
{
	uint32_t count = packets_of(m->length);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = i * ROCE_MTU_MAX;
		bool last = i + 1 == count;
		struct roce_packet p = {
			.opcode = count == 1 ? ROCE_READ_ONLY
				  : i == 0   ? ROCE_READ_FIRST
				  : last     ? ROCE_READ_LAST
					     : ROCE_READ_MIDDLE,
			.psn = roce_add(tap->psn, i - count),
			.syndrome = ROCE_SYN_ACK | ROCE_SYN_UNLIMITED,
			.msn = tap->msn,
			.payload = m->octets + at,
			.payload_length = last ? m->length - at : ROCE_MTU_MAX,
		};

		packet_send(tap, true, &p);
	}
}

void
vem_tap_ib_answer(struct vem_tap *tap, const struct vem_tapped *m)
{
	struct roce_packet p = {.opcode = ROCE_ACK,
				.psn = roce_add(tap->psn, ROCE_24),
				.syndrome = syndrome_of(tap, m->refusal)};

	if (tap->unreliable)
		return;
	if (m->refusal == NULL)
		tap->msn = roce_add(tap->msn, 1);
	p.msn = tap->msn;
	if (m->refusal == NULL && m->opcode == RI_OP_RDMA_READ) {
		read_answer(tap, m);
		return;
	}
	if (m->refusal == NULL && (m->opcode == RI_OP_FETCH_ADD || m->opcode == RI_OP_CMP_SWAP)) {
		p.opcode = ROCE_ATOMIC_ACK;
		p.original = m->original;
	}
	/* A refusal names the first packet of the answer that would have come. */
	if (m->refusal != NULL && m->opcode == RI_OP_RDMA_READ)
		p.psn = roce_add(tap->psn, -packets_of(m->length));
	packet_send(tap, true, &p);
}

/* A sentence with no frame of its own is on a repeated acknowledgement, which changes nothing for either end. */
void
vem_tap_ib_end(struct vem_tap *tap)
{
	struct roce_packet p = {.opcode = ROCE_ACK,
				.psn = roce_add(tap->psn, ROCE_24),
				.syndrome = ROCE_SYN_ACK | ROCE_SYN_UNLIMITED,
				.msn = tap->msn};

	if (!tap->unreliable)
		packet_send(tap, true, &p);
}

void
vem_tap_ib_datagram(struct vem_tap *tap, const struct vem_tapped *m, const uint8_t *grh,
		    uint32_t qkey)
{
	struct roce_packet p = {
		.opcode = ROCE_UD |
			  ((m->flags & RI_WR_IMMEDIATE) != 0 ? ROCE_SEND_ONLY_IMM : ROCE_SEND_ONLY),
		.solicited = (m->flags & RI_WR_SOLICITED) != 0,
		.qpn = tap->far_qpn,
		.psn = tap->psn,
		.qkey = qkey,
		.source_qpn = tap->qpn,
		.immediate = m->extra,
		.payload = m->octets,
		.payload_length = m->length};
	struct roce_flow flow = {.destination_port = ROCE_UDP_PORT, .hop_limit = HOPS};

	memcpy(flow.source, grh + 8, sizeof(flow.source));
	memcpy(flow.destination, grh + 24, sizeof(flow.destination));
	flow.source_port = roce_port_of_label(roce_label_of_qpns(tap->qpn, tap->far_qpn));
	packet_add(tap, false, &flow, &p);
	tap->psn = roce_add(tap->psn, 1);
}
