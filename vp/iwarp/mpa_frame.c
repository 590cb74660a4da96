/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * MPA framing: where an FPDU ends, and whether it is valid.
 *
 * A receiver finds frames only by walking from length field to length field, so each function starts at a
 * length field. TCP may cut the frame anywhere, even inside the length; then the result is MPA_MORE, and the
 * caller tries again with more octets. The CRC covers PAD, whose value is not tested: Linux siw leaves old
 * octets there [WIRE 11.15].
 *
 * Markers are taken out before (mpa_marker.c).
 *
 * Standards: RFC 5044 sections 4, 5 and 8.
 */

#include "mpa_frame.h"

uint32_t
mpa_mulpdu(uint32_t emss)
{
	uint32_t mulpdu;

	if (emss < MPA_MULPDU_MIN + MPA_FPDU_OVERHEAD)
		return MPA_MULPDU_MIN;
	mulpdu = emss - (MPA_LENGTH_SIZE + MPA_CRC_SIZE + emss % 4);
	return mulpdu < MPA_ULPDU_MAX ? mulpdu : MPA_ULPDU_MAX;
}

enum mpa_result
mpa_fpdu_read(const struct mpa_rules *rules, const void *buf, size_t len, struct mpa_fpdu *fpdu)
{
	struct wire_reader r = wire_reader_of(buf, len);
	uint32_t covered;

	memset(fpdu, 0, sizeof(*fpdu));
	fpdu->ulpdu_len = wire_be16(&r);
	if (!r.ok)
		return MPA_MORE;
	fpdu->size = mpa_fpdu_size(fpdu->ulpdu_len);
	if (len < fpdu->size)
		return MPA_MORE;

	fpdu->ulpdu = r.at;
	covered = fpdu->size - MPA_CRC_SIZE;
	if (rules->crc && mpa_crc(buf, covered, 0) != mpa_crc_load((const uint8_t *)buf + covered))
		return MPA_CRC_WRONG;
	return MPA_OK;
}
