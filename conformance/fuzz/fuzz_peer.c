/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "fuzz_peer.h"

#include <errno.h>
#include <sys/socket.h>

/* The faults that an input can give to a frame. */
#define NOT_LAST      0x01u
#define WRONG_T       0x02u
#define WRONG_VERSION 0x04u
#define WRONG_CRC     0x08u
#define WRONG_QUEUE   0x10u
#define WRONG_MSN     0x20u
#define WRONG_MO      0x40u
#define WRONG_STAG    0x80u

void
fuzz_peer_begin(struct fuzz_peer *peer, int fd, bool crc)
{
	uint8_t *heard = peer->heard;

	memset(peer, 0, sizeof(*peer));
	peer->heard = heard;
	peer->fd = fd;
	peer->crc = crc;
	peer->unmark.crc = crc;
	for (unsigned i = 0; i < DDP_QN_COUNT; i++)
		peer->next_msn[i] = peer->heard_msn[i] = 1;
}

/* --- sending -------------------------------------------------------------------------------- */

static uint32_t
stag_take(struct fuzz_input *in, const struct fuzz_regions *regions, uint64_t *to)
{
	unsigned which = fuzz_u8(in);
	uint64_t offset = fuzz_number(in, 2);
	unsigned region = which % regions->count;

	*to = regions->bases[region] +
	      (which & 0x80u ? (uint64_t)(int64_t)(int16_t)offset : offset);
	return regions->stags[region] + (which & 0x40u ? 1u << (which & 31u) : 0);
}

/* The octets behind the DDP header, as the opcode wants them. Returns how many. */
static uint32_t
payload_make(struct fuzz_peer *peer, struct fuzz_input *in, const struct fuzz_regions *regions,
	     enum rdmap_opcode opcode, uint8_t *at)
{
	struct rdmap_read_request read = {.sink_stag = 0x1234, .sink_to = 0x5678};
	struct rdmap_atomic_request atomic = {.request_id = 7, .data = 1, .mask = UINT64_MAX};
	struct rdmap_atomic_response response = {.request_id = peer->ordered.request_id};
	const uint8_t *octets;
	size_t len;

	if (opcode == RDMAP_READ_REQUEST) {
		read.source_stag = stag_take(in, regions, &read.source_to);
		read.size = (uint32_t)fuzz_number(in, 2);
		rdmap_read_request_write(at, &read);
		return RDMAP_READ_REQUEST_SIZE;
	}
	if (opcode == RDMAP_ATOMIC_REQUEST) {
		atomic.stag = stag_take(in, regions, &atomic.to);
		atomic.operation = fuzz_u8(in) % 5;
		atomic.compare_mask = fuzz_u8(in);
		rdmap_atomic_request_write(at, &atomic);
		return RDMAP_ATOMIC_REQUEST_SIZE;
	}
	if (opcode == RDMAP_ATOMIC_RESPONSE) {
		rdmap_atomic_response_write(at, &response);
		return RDMAP_ATOMIC_RESPONSE_SIZE;
	}
	octets = fuzz_take(in, rdmap_is_immediate(opcode) ? RDMAP_IMMEDIATE_SIZE : fuzz_u8(in),
			   &len);
	if (len > 0)
		memcpy(at, octets, len);
	return (uint32_t)len;
}

/* Put the markers into a frame that its place in the stream needs. Returns the octets of the frame. */
static uint32_t
frame_mark(struct fuzz_peer *peer, uint8_t *frame, uint32_t len)
{
	uint8_t plain[FUZZ_PEER_FRAME_MAX];
	uint64_t before = peer->plain;

	FUZZ_REQUIRE(len <= sizeof(plain));
	peer->plain += len;
	if (!peer->marks)
		return len;
	memcpy(plain, frame, len);
	return mpa_marker_insert(frame, plain, len, before, peer->crc);
}

uint32_t
fuzz_peer_frame(struct fuzz_peer *peer, struct fuzz_input *in, const struct fuzz_regions *regions,
		uint8_t *frame)
{
	enum rdmap_opcode opcode = (enum rdmap_opcode)(fuzz_u8(in) & RDMAP_CONTROL_OPCODE);
	uint8_t faults = fuzz_u8(in);
	bool tagged = opcode == RDMAP_WRITE || opcode == RDMAP_READ_RESPONSE;
	struct ddp_segment seg = rdmap_untagged(opcode, 0, 0, (faults & NOT_LAST) == 0);
	uint8_t payload[256];
	uint32_t len;

	seg.tagged = tagged != ((faults & WRONG_T) != 0);
	seg.payload = payload;
	if (seg.tagged && rdmap_opcode_of(seg.rdmap_control) == RDMAP_READ_RESPONSE) {
		seg.stag = peer->asked.sink_stag;
		seg.to = peer->asked.sink_to;
	} else if (seg.tagged) {
		seg.stag = stag_take(in, regions, &seg.to);
	}
	if (faults & WRONG_VERSION)
		seg.version = fuzz_u8(in) & 3;
	if (faults & WRONG_QUEUE)
		seg.qn = fuzz_u8(in) & 7;
	if (!seg.tagged && seg.qn < DDP_QN_COUNT) {
		seg.msn = peer->next_msn[seg.qn] + (faults & WRONG_MSN ? fuzz_u8(in) : 0);
		seg.mo = peer->next_mo[seg.qn] + (faults & WRONG_MO ? fuzz_u8(in) : 0);
	}
	if (opcode == RDMAP_SEND_INVALIDATE || opcode == RDMAP_SEND_SE_INVALIDATE)
		seg.rsvd_ulp = regions->stags[fuzz_u8(in) % regions->count];
	if (faults & WRONG_STAG)
		seg.stag = (uint32_t)fuzz_number(in, 4);
	seg.payload_len = payload_make(peer, in, regions, opcode, payload);
	len = frame_mark(peer, frame, rdmap_fpdu_put(frame, &seg, peer->crc));
	if (faults & WRONG_CRC)
		frame[len - 1 - (fuzz_u8(in) & 3)] ^= 1;
	/* The next frame continues this one. */
	if (seg.tagged) {
		peer->asked.sink_to += seg.payload_len;
	} else if (seg.qn < DDP_QN_COUNT) {
		peer->next_mo[seg.qn] = seg.last ? 0 : peer->next_mo[seg.qn] + seg.payload_len;
		peer->next_msn[seg.qn] += seg.last;
	}
	return len;
}

uint32_t
fuzz_peer_seal(struct fuzz_peer *peer, struct fuzz_input *in, uint8_t *frame)
{
	size_t len;
	const uint8_t *octets = fuzz_take(in, fuzz_u8(in), &len);

	if (len > 0)
		memcpy(frame + MPA_LENGTH_SIZE, octets, len);
	return frame_mark(peer, frame, mpa_fpdu_seal(frame, (uint32_t)len, peer->crc));
}

/* --- judging -------------------------------------------------------------------------------- */

/* A segment of the queue pair is one that its peer may get, whatever the peer has sent. */
static void
segment_judge(struct fuzz_peer *peer, const struct ddp_segment *seg)
{
	enum rdmap_opcode opcode = rdmap_opcode_of(seg->rdmap_control);

	FUZZ_REQUIRE(!peer->over);
	FUZZ_REQUIRE(seg->version == DDP_VERSION);
	FUZZ_REQUIRE(seg->rdmap_control == rdmap_control(opcode));
	FUZZ_REQUIRE(seg->tagged == (opcode == RDMAP_WRITE || opcode == RDMAP_READ_RESPONSE));
	if (opcode == RDMAP_TERMINATE)
		peer->over = true;
	if (rdmap_is_immediate(opcode))
		FUZZ_REQUIRE(peer->heard_write && seg->payload_len == RDMAP_IMMEDIATE_SIZE);
	peer->heard_write = opcode == RDMAP_WRITE && seg->last;
	if (opcode == RDMAP_READ_REQUEST)
		FUZZ_REQUIRE(rdmap_read_request_read(seg->payload, seg->payload_len, &peer->asked));
	if (opcode == RDMAP_ATOMIC_REQUEST)
		FUZZ_REQUIRE(
			rdmap_atomic_request_read(seg->payload, seg->payload_len, &peer->ordered));
	if (seg->tagged)
		return;
	FUZZ_REQUIRE(seg->qn < DDP_QN_COUNT);
	FUZZ_REQUIRE(seg->msn == peer->heard_msn[seg->qn]);
	FUZZ_REQUIRE(seg->mo == peer->heard_mo[seg->qn]);
	peer->heard_mo[seg->qn] = seg->last ? 0 : seg->mo + seg->payload_len;
	peer->heard_msn[seg->qn] += seg->last;
}

/* Judge the frames that are complete, and keep the rest. */
static void
frames_judge(struct fuzz_peer *peer)
{
	struct mpa_rules rules = {.crc = peer->crc};
	struct ddp_segment seg;
	struct mpa_fpdu fpdu;
	uint32_t at = 0;
	enum mpa_result result;

	while ((result = mpa_fpdu_read(&rules, peer->heard + at, peer->have - at, &fpdu)) ==
	       MPA_OK) {
		FUZZ_REQUIRE(ddp_segment_read(fpdu.ulpdu, fpdu.ulpdu_len, fpdu.ulpdu_len, &seg) ==
			     DDP_OK);
		segment_judge(peer, &seg);
		at += fpdu.size;
	}
	FUZZ_REQUIRE(result == MPA_MORE);
	memmove(peer->heard, peer->heard + at, peer->have - at);
	peer->have -= at;
}

void
fuzz_peer_hear(struct fuzz_peer *peer)
{
	while (peer->fd >= 0) {
		ssize_t n = recv(peer->fd, peer->heard + peer->have, FUZZ_PEER_ROOM - peer->have,
				 MSG_DONTWAIT);

		if (n <= 0)
			break;
		if (peer->unmarks)
			n = mpa_unmark(&peer->unmark, peer->heard + peer->have, (uint32_t)n);
		FUZZ_REQUIRE(!peer->unmark.wrong);
		peer->have += (uint32_t)n;
		frames_judge(peer);
	}
}
