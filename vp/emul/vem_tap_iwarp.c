/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Messages of iWARP as FPDUs of a TCP connection: with CRC, without markers, none longer than a segment. Source: RFC 5040, 5041,
 * 5044, 7306.
 */
#include "rdmap_message.h"
#include "rdmap_terminate.h"
#include "vem_tap.h"

#include <string.h>

#define SEGMENT     1460u /* octets, as in a frame of 1,500 */
#define MPA_HEAD    20u
#define MPA_KEY     16u
#define MPA_CRC_BIT 0x40u
#define REVISION    1u

static void
octets_add(struct vem_tap *tap, bool back, const void *octets, size_t len)
{
	vem_tap_give(tap, back, RI_CAPTURED_OCTETS, octets, len);
}

/* A Request or a Reply (RFC 5044 7.1). */
static void
start_add(struct vem_tap *tap, bool back, const char *key, const struct vem_hello *hello)
{
	uint8_t frame[MPA_HEAD + RI_PDATA_MAX];

	memcpy(frame, key, MPA_KEY);
	frame[MPA_KEY] = MPA_CRC_BIT;
	frame[MPA_KEY + 1] = REVISION;
	wire_store_be16(frame + MPA_KEY + 2, hello->pdata_len);
	memcpy(frame + MPA_HEAD, hello->pdata, hello->pdata_len);
	octets_add(tap, back, frame, MPA_HEAD + hello->pdata_len);
}

void
vem_tap_iwarp_start(struct vem_tap *tap, const struct vem_hello *request,
		    const struct vem_hello *reply)
{
	/* The tap is the passive end's. */
	start_add(tap, true, "MPA ID Req Frame", request);
	start_add(tap, false, "MPA ID Rep Frame", reply);
}

/* A segment, of any message. */
static void
segment_add(struct vem_tap *tap, bool back, struct ddp_segment *seg, const uint8_t *octets,
	    uint32_t len)
{
	uint8_t fpdu[SEGMENT + 8];

	seg->payload = octets;
	seg->payload_len = len;
	octets_add(tap, back, fpdu, rdmap_fpdu_put(fpdu, seg, true));
}

/* All segments of a message with payload. */
static void
message_add(struct vem_tap *tap, bool back, struct ddp_segment seg, const uint8_t *octets,
	    uint32_t length)
{
	uint32_t most = mpa_mulpdu(SEGMENT) - ddp_header_size(seg.tagged);
	uint32_t at = 0;

	do {
		uint32_t len = length - at < most ? length - at : most;

		seg.last = at + len == length;
		segment_add(tap, back, &seg, length > 0 ? octets + at : NULL, len);
		at += len;
		seg.to += seg.tagged ? len : 0;
		seg.mo += seg.tagged ? 0 : len;
	} while (at < length);
}

static enum rdmap_opcode
send_of(const struct vem_tapped *m)
{
	bool solicited = (m->flags & RI_WR_SOLICITED) != 0;

	if ((m->flags & RI_WR_INVALIDATE) != 0)
		return solicited ? RDMAP_SEND_SE_INVALIDATE : RDMAP_SEND_INVALIDATE;
	return solicited ? RDMAP_SEND_SE : RDMAP_SEND;
}

static void
immediate_add(struct vem_tap *tap, const struct vem_tapped *m)
{
	bool solicited = (m->flags & RI_WR_SOLICITED) != 0;
	struct ddp_segment seg = rdmap_untagged(solicited ? RDMAP_IMMEDIATE_SE : RDMAP_IMMEDIATE,
						++tap->send_msn, 0, true);
	uint8_t octets[RDMAP_IMMEDIATE_SIZE] = {0};

	memcpy(octets, &m->extra, sizeof(m->extra));
	segment_add(tap, false, &seg, octets, sizeof(octets));
}

static void
atomic_add(struct vem_tap *tap, const struct vem_tapped *m)
{
	bool swap = m->opcode == RI_OP_CMP_SWAP;
	const struct rdmap_atomic_request request = {
		.operation = swap ? RDMAP_ATOMIC_COMPARE_SWAP : RDMAP_ATOMIC_FETCH_ADD,
		.request_id = tap->read_msn + 1,
		.stag = m->remote.stag,
		.to = m->remote.addr,
		.data = swap ? m->remote.swap : m->remote.operand,
		.mask = swap ? UINT64_MAX : 0,
		.compare = swap ? m->remote.operand : 0,
		.compare_mask = swap ? UINT64_MAX : 0,
	};
	struct ddp_segment seg = rdmap_untagged(RDMAP_ATOMIC_REQUEST, ++tap->read_msn, 0, true);
	uint8_t octets[RDMAP_ATOMIC_REQUEST_SIZE];

	rdmap_atomic_request_write(octets, &request);
	segment_add(tap, false, &seg, octets, sizeof(octets));
}

void
vem_tap_iwarp_request(struct vem_tap *tap, const struct vem_tapped *m)
{
	uint8_t fpdu[64];

	switch (m->opcode) {
	case RI_OP_SEND: {
		struct ddp_segment seg = rdmap_untagged(send_of(m), ++tap->send_msn, 0, false);

		seg.rsvd_ulp = (m->flags & RI_WR_INVALIDATE) != 0 ? m->extra : 0;
		message_add(tap, false, seg, m->octets, m->length);
		break;
	}
	case RI_OP_RDMA_WRITE:
		message_add(tap, false,
			    rdmap_tagged(RDMAP_WRITE, m->remote.stag, m->remote.addr, false),
			    m->octets, m->length);
		if ((m->flags & RI_WR_IMMEDIATE) != 0)
			immediate_add(tap, m);
		break;
	case RI_OP_RDMA_READ: {
		const struct rdmap_read_request request = {.sink_stag = m->sink.stag,
							   .sink_to = m->sink.addr,
							   .size = m->length,
							   .source_stag = m->remote.stag,
							   .source_to = m->remote.addr};

		octets_add(tap, false, fpdu,
			   rdmap_read_request_fpdu(fpdu, ++tap->read_msn, &request, true));
		break;
	}
	default:
		atomic_add(tap, m);
		break;
	}
}

void
vem_tap_iwarp_terminate(struct vem_tap *tap, bool back, uint32_t code)
{
	uint8_t fpdu[RDMAP_TERMINATE_FPDU_MAX];

	octets_add(tap, back, fpdu, rdmap_terminate_code_fpdu(fpdu, (uint16_t)code, true));
}

void
vem_tap_iwarp_answer(struct vem_tap *tap, const struct vem_tapped *m)
{
	uint8_t octets[RDMAP_ATOMIC_RESPONSE_SIZE];

	if (m->refusal != NULL) {
		vem_tap_iwarp_terminate(tap, true, m->refusal->code);
	} else if (m->opcode == RI_OP_RDMA_READ) {
		message_add(tap, true,
			    rdmap_tagged(RDMAP_READ_RESPONSE, m->sink.stag, m->sink.addr, false),
			    m->octets, m->length);
	} else if (m->opcode == RI_OP_FETCH_ADD || m->opcode == RI_OP_CMP_SWAP) {
		const struct rdmap_atomic_response response = {.request_id = tap->read_msn,
							       .original = m->original};
		struct ddp_segment seg =
			rdmap_untagged(RDMAP_ATOMIC_RESPONSE, ++tap->atomic_msn, 0, true);

		rdmap_atomic_response_write(octets, &response);
		segment_add(tap, true, &seg, octets, sizeof(octets));
	}
}
