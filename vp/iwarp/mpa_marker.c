/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Markers, in both directions.
 *
 * Sending: FPDUs are built without markers and copied with them. Receiving: a filter between the socket and the receive
 * path removes the markers, so the receive path does not know them. The filter keeps no octets. It computes two CRCs of
 * the FPDU that arrives: one of all octets, and one of the octets without markers. It replaces the CRC field by the
 * second CRC, XORed with the difference between the received field and the first CRC. So a wrong CRC stays wrong.
 *
 * FPDUs and the distance between markers are multiples of 4, so no marker lies within the length field or
 * the CRC field.
 *
 * Standards: RFC 5044 4.3, 4.4 and 8.
 */

#include "mpa_marker.h"

#include <string.h>

#include "mpa_frame.h"
#include "ri_wire.h"

uint32_t
mpa_marker_mulpdu(uint32_t emss)
{
	uint32_t markers = (emss + MPA_MARKER_INTERVAL - 1) / MPA_MARKER_INTERVAL * MPA_MARKER_SIZE;
	uint32_t mulpdu = mpa_mulpdu(emss > markers ? emss - markers : 0);

	return mulpdu < MPA_MARKED_ULPDU_MAX ? mulpdu : MPA_MARKED_ULPDU_MAX;
}

uint32_t
mpa_marker_frame(const uint8_t *at, uint64_t position)
{
	uint32_t before = position % MPA_MARKER_INTERVAL == 0 ? MPA_MARKER_SIZE : 0;
	uint32_t size = mpa_fpdu_size(wire_load_be16(at + before));

	return (uint32_t)(mpa_marker_position(mpa_marker_plain(position) + size) - position);
}

/* --- sending ------------------------------------------------------------------------------- */

/* The copy of an FPDU in progress. */
struct copy {
	uint8_t *to;
	uint32_t len;   /* octets written */
	uint32_t into;  /* place of the next octet between two markers, 0..511 */
	uint32_t first; /* octets before the length field: 0, or the marker there */
	bool begun;     /* the length field is written */
};

/* Write the marker that is due here, if one is. */
static void
marker_put(struct copy *c)
{
	if (c->into != 0)
		return;
	wire_store_be16(c->to + c->len, 0);
	wire_store_be16(c->to + c->len + 2, (uint16_t)(c->begun ? c->len - c->first : 0));
	c->len += MPA_MARKER_SIZE;
	c->into = MPA_MARKER_SIZE;
	if (!c->begun)
		c->first = MPA_MARKER_SIZE;
}

uint32_t
mpa_marker_insert(uint8_t *to, const uint8_t *fpdu, uint32_t size, uint64_t plain, bool crc)
{
	struct copy c = {.to = to,
			 .into = (uint32_t)(mpa_marker_position(plain) % MPA_MARKER_INTERVAL)};
	uint32_t left = size - MPA_CRC_SIZE;

	while (left > 0) {
		marker_put(&c);
		uint32_t n = MPA_MARKER_INTERVAL - c.into;

		if (n > left)
			n = left;
		memmove(c.to + c.len, fpdu, n);
		c.begun = true;
		c.len += n;
		c.into = (c.into + n) % MPA_MARKER_INTERVAL;
		fpdu += n;
		left -= n;
	}
	marker_put(&c);
	mpa_crc_store(c.to + c.len, crc ? mpa_crc(c.to, c.len, 0) : 0);
	return c.len + MPA_CRC_SIZE;
}

/* --- receiving ----------------------------------------------------------------------------- */

/* The next octet of the CRC field: as right or wrong for the plain octets as it was for all. */
static uint8_t
crc_octet(const struct mpa_unmark *u, uint8_t octet, uint32_t which)
{
	uint8_t marked[MPA_CRC_SIZE];
	uint8_t plain[MPA_CRC_SIZE];

	if (!u->crc)
		return octet;
	mpa_crc_store(marked, u->sum_marked);
	mpa_crc_store(plain, u->sum_plain);
	return (uint8_t)(octet ^ marked[which] ^ plain[which]);
}

/* Let plain octets of the current FPDU through, up to the next marker or the end of its part; returns how many. */
static uint32_t
frame_take(struct mpa_unmark *u, uint8_t *to, const uint8_t *at, uint32_t len)
{
	uint32_t covered = mpa_fpdu_size(u->ulpdu_len) - MPA_CRC_SIZE;
	uint32_t n = MPA_MARKER_INTERVAL - u->into;

	if (n > len)
		n = len;
	if (u->frame < MPA_LENGTH_SIZE || u->frame >= covered)
		n = 1;
	else if (n > covered - u->frame)
		n = covered - u->frame;
	if (u->frame < MPA_LENGTH_SIZE)
		u->ulpdu_len = u->ulpdu_len << 8 | *at;
	if (u->frame >= MPA_LENGTH_SIZE && u->frame >= covered) {
		*to = crc_octet(u, *at, u->frame - covered);
	} else {
		u->sum_marked = u->crc ? mpa_crc(at, n, u->sum_marked) : 0;
		u->sum_plain = u->crc ? mpa_crc(at, n, u->sum_plain) : 0;
		memmove(to, at, n);
	}
	u->into = (u->into + n) % MPA_MARKER_INTERVAL;
	u->frame += n;
	u->distance += n;
	if (u->frame > MPA_LENGTH_SIZE && u->frame == mpa_fpdu_size(u->ulpdu_len)) {
		u->frame = u->distance = u->ulpdu_len = 0;
		u->sum_marked = u->sum_plain = 0;
	}
	return n;
}

uint32_t
mpa_unmark(struct mpa_unmark *u, uint8_t *octets, uint32_t len)
{
	uint32_t at = 0;
	uint32_t out = 0;

	while (at < len && !u->wrong) {
		if (u->into < MPA_MARKER_SIZE) {
			uint32_t n = MPA_MARKER_SIZE - u->into;

			if (n > len - at)
				n = len - at;
			memcpy(u->marker + u->into, octets + at, n);
			u->into += n;
			at += n;
			if (u->into < MPA_MARKER_SIZE)
				break;
			/* The two lowest bits count as 0, and the reserved octets are covered by the CRC only. */
			u->wrong = (wire_load_be16(u->marker + 2) & ~3u) != u->distance;
			if (u->crc)
				u->sum_marked = mpa_crc(u->marker, MPA_MARKER_SIZE, u->sum_marked);
			u->distance += u->frame > 0 ? MPA_MARKER_SIZE : 0;
		} else {
			uint32_t n = frame_take(u, octets + out, octets + at, len - at);

			at += n;
			out += n;
		}
	}
	return out;
}
