/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef MPA_FRAME_H
#define MPA_FRAME_H

/**
 * @file mpa_frame.h
 * @brief MPA full operation: the frame (FPDU) around one DDP segment.
 *
 *     ULPDU length n (2) | ULPDU (n) | PAD (0..3, zero) | CRC32C (4, least significant octet first)
 *
 * Standards: RFC 5044 sections 4 and 6; [WIRE 3.1] to [WIRE 3.5]. Pure functions; nothing here blocks,
 * allocates or keeps state, so any thread may call anything. The startup frames are kal_mpa.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpa_crc.h"
#include "ri_wire.h"

#define MPA_LENGTH_SIZE 2u     /**< octets of the ULPDU length field */
#define MPA_CRC_SIZE    4u     /**< octets of the CRC field, present even with CRC off */
#define MPA_ULPDU_MAX   65535u /**< what the length field can say */
#define MPA_MULPDU_MIN \
	128u /**< MULPDU never goes below, however small the segments (RFC 5044 5.1) */
#define MPA_FPDU_OVERHEAD 9u     /**< most octets that framing adds to a ULPDU: 2 + 3 of PAD + 4 */
#define MPA_FPDU_MAX      65544u /**< octets of the FPDU of a ULPDU of MPA_ULPDU_MAX */

/** @brief What two ends agreed on for one direction of a stream. */
struct mpa_rules {
	bool crc; /**< the CRC field is filled in and tested */
};

/** @brief What mpa_fpdu_read() found. */
enum mpa_result {
	MPA_OK = 0,   /**< a whole FPDU, CRC good or not in use */
	MPA_MORE,     /**< the frame does not end within the octets given */
	MPA_CRC_WRONG /**< whole, but the CRC differs: Terminate 0x2002, deliver nothing */
};

/** @brief One FPDU in a buffer. Addresses point into the caller's buffer. */
struct mpa_fpdu {
	const uint8_t *ulpdu; /**< the DDP segment; NULL until the frame is whole */
	uint32_t ulpdu_len;   /**< octets of the DDP segment; valid once 2 octets were given */
	uint32_t size;        /**< octets of the frame, all included; 0 while not known */
};

/** @brief PAD octets behind a ULPDU of @p ulpdu_len octets: 0..3, so that the CRC starts on a multiple of 4. */
static inline uint32_t
mpa_pad(uint32_t ulpdu_len)
{
	return -(MPA_LENGTH_SIZE + ulpdu_len) & 3u;
}

/** @brief Octets of the whole FPDU of a ULPDU of @p ulpdu_len octets; always a multiple of 4. */
static inline uint32_t
mpa_fpdu_size(uint32_t ulpdu_len)
{
	return ((MPA_LENGTH_SIZE + ulpdu_len + 3u) & ~3u) + MPA_CRC_SIZE;
}

/**
 * @brief Largest ULPDU whose FPDU fits one TCP segment (MULPDU), without markers.
 * @param[in] emss  octets of payload that one TCP segment carries now (TCP_MAXSEG after options)
 * @return 128..65535
 */
uint32_t mpa_mulpdu(uint32_t emss);

/**
 * @brief Fill in PAD and CRC of a frame whose length field and ULPDU are in place.
 *
 * @param[in,out] fpdu  start of the length field; mpa_fpdu_size(@p ulpdu_len) octets are writable
 * @param[in] ulpdu_len octets of the ULPDU, 0..65535
 * @param[in] covered   mpa_crc() of length field and ULPDU; ignored if @p crc is false
 * @param[in] crc       false writes a CRC field of zeros
 * @return octets of the whole frame
 */
static inline uint32_t
mpa_fpdu_close(uint8_t *fpdu, uint32_t ulpdu_len, uint32_t covered, bool crc)
{
	uint32_t pad = mpa_pad(ulpdu_len);
	uint8_t *at = fpdu + MPA_LENGTH_SIZE + ulpdu_len;

	if (pad != 0) {
		memset(at, 0, pad);
		covered = crc ? mpa_crc(at, pad, covered) : 0;
	}
	mpa_crc_store(at + pad, crc ? covered : 0);
	return MPA_LENGTH_SIZE + ulpdu_len + pad + MPA_CRC_SIZE;
}

/**
 * @brief Fill in PAD and CRC of a frame whose length field and ULPDU are in place, covering all of it here.
 *
 * @param[in,out] fpdu  mpa_fpdu_size(@p ulpdu_len) octets, length field and ULPDU written
 * @param[in] ulpdu_len octets of the ULPDU, 0..65535
 * @param[in] crc       whether the stream uses CRC
 * @return octets of the whole frame
 */
static inline uint32_t
mpa_fpdu_cover(uint8_t *fpdu, uint32_t ulpdu_len, bool crc)
{
	uint32_t covered = MPA_LENGTH_SIZE + ulpdu_len;
	uint32_t pad = mpa_pad(ulpdu_len);

	memset(fpdu + covered, 0, pad);
	covered += pad;
	mpa_crc_store(fpdu + covered, crc ? mpa_crc(fpdu, covered, 0) : 0);
	return covered + MPA_CRC_SIZE;
}

/**
 * @brief Frame a ULPDU that already lies two octets behind @p fpdu: length, PAD and CRC in one go.
 *
 * @param[in,out] fpdu  mpa_fpdu_size(@p ulpdu_len) octets, ULPDU at offset 2
 * @param[in] ulpdu_len octets of the ULPDU, 0..65535
 * @param[in] crc       whether the stream uses CRC
 * @return octets of the whole frame
 */
static inline uint32_t
mpa_fpdu_seal(uint8_t *fpdu, uint32_t ulpdu_len, bool crc)
{
	wire_store_be16(fpdu, (uint16_t)ulpdu_len);
	return mpa_fpdu_cover(fpdu, ulpdu_len, crc);
}

/**
 * @brief Look for one FPDU at the start of what has arrived, markers taken out (mpa_marker.h).
 *
 * Reads nothing outside @p buf .. @p buf + @p len. The length of the ULPDU is not judged here: whether
 * a DDP header fits is for ddp_segment_read() to say, after the CRC.
 *
 * @param[in] rules  what was agreed for this direction
 * @param[in] buf    octets received, the first one being the first of a length field
 * @param[in] len    how many
 * @param[out] fpdu  the frame; on MPA_MORE `size` is how many octets the frame has in all, or 0
 * @retval MPA_OK        `fpdu->size` octets are one frame
 * @retval MPA_MORE      wait for more octets and call again
 * @retval MPA_CRC_WRONG the frame is invalid: Terminate 0x2002 (RFC 5044 8); `fpdu` is filled in
 */
enum mpa_result mpa_fpdu_read(const struct mpa_rules *rules, const void *buf, size_t len,
			      struct mpa_fpdu *fpdu);

#endif
