/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef MPA_MARKER_H
#define MPA_MARKER_H

/**
 * @file mpa_marker.h
 * @brief MPA markers: put them into a stream of FPDUs, and take them out.
 *
 *     0 (2) | FPDUPTR (2): octets of the stream from the FPDU's length field to this marker
 *
 * A marker lies at each 512th octet of the stream, counted from the first octet of full operation, so the
 * first octets of a stream are a marker. One between two FPDUs belongs to the second and points at it with 0.
 * The CRC of an FPDU covers the markers that belong to it. "Plain" octets are those of the FPDUs without markers.
 *
 * Standards: RFC 5044 4.3 and 4.4; [WIRE 3.3]. Pure functions over structs; any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MPA_MARKER_SIZE     4u   /**< octets of a marker */
#define MPA_MARKER_INTERVAL 512u /**< octets from one marker to the next, one of both included */
/** Longest ULPDU in a stream with markers: FPDUPTR reaches each marker of its FPDU. */
#define MPA_MARKED_ULPDU_MAX 64768u

/** @brief Plain octets among the first @p position octets of a stream with markers. */
static inline uint64_t
mpa_marker_plain(uint64_t position)
{
	uint32_t rest = (uint32_t)(position % MPA_MARKER_INTERVAL);

	return position / MPA_MARKER_INTERVAL * (MPA_MARKER_INTERVAL - MPA_MARKER_SIZE) +
	       (rest > MPA_MARKER_SIZE ? rest - MPA_MARKER_SIZE : 0);
}

/** @brief Octets of the stream up to and including plain octet @p plain; a marker behind it is not counted. */
static inline uint64_t
mpa_marker_position(uint64_t plain)
{
	const uint32_t run = MPA_MARKER_INTERVAL - MPA_MARKER_SIZE;

	return plain + (plain + run - 1) / run * MPA_MARKER_SIZE;
}

/**
 * @brief Largest ULPDU whose FPDU fits one TCP segment with its markers (MULPDU).
 * @param[in] emss  octets of payload that one TCP segment carries now
 * @return 128..MPA_MARKED_ULPDU_MAX
 */
uint32_t mpa_marker_mulpdu(uint32_t emss);

/**
 * @brief Octets that a whole FPDU takes in a stream with markers, a marker before it included.
 * @param[in] at        its first octet, or that of the marker before it
 * @param[in] position  octets of the stream before @p at
 */
uint32_t mpa_marker_frame(const uint8_t *at, uint64_t position);

/**
 * @brief Copy a whole FPDU with the markers that its place in the stream needs, and sum it again.
 *
 * The copy may begin before the original in the same memory if it does not pass it.
 *
 * @param[out] to   room for `mpa_marker_position(plain + size) - mpa_marker_position(plain)` octets
 * @param[in] fpdu  the FPDU
 * @param[in] size  octets of it
 * @param[in] plain octets of all FPDUs before it in the stream
 * @param[in] crc   whether the stream uses CRC; false writes a CRC field of zeros
 * @return octets written
 */
uint32_t mpa_marker_insert(uint8_t *to, const uint8_t *fpdu, uint32_t size, uint64_t plain,
			   bool crc);

/** @brief How far the markers of a received stream are taken out. All zero but `crc`: at its begin. */
struct mpa_unmark {
	bool crc;   /**< the stream uses CRC */
	bool wrong; /**< a marker did not point at the begin of its FPDU; nothing more comes out */
	uint8_t marker[4];   /**< the marker that arrives, or the last one */
	uint32_t into;       /**< octets since the begin of the last marker, 0..511 */
	uint32_t frame;      /**< plain octets of the current FPDU so far */
	uint32_t distance;   /**< octets since its length field, markers included; 0 before it */
	uint32_t ulpdu_len;  /**< of the current FPDU, as far as its length field has come */
	uint32_t sum_marked; /**< CRC of the current FPDU so far, as sent */
	uint32_t sum_plain;  /**< the same without markers */
};

/**
 * @brief Take the markers out of the next octets of a stream, wherever TCP cut it.
 *
 * What remains is a stream of plain FPDUs. Their CRC is that of the plain octets if the CRC that came is right,
 * and wrong if it is wrong, so that the check of the plain FPDU gives the answer. The first marker with a wrong
 * FPDUPTR ends the output, whatever the CRC of its FPDU is: the octets before it are returned, and
 * `wrong` is set.
 *
 * @param[in,out] u       the state
 * @param[in,out] octets  octets received, replaced by the plain ones
 * @param[in] len         how many
 * @return octets that remain, at most @p len
 */
uint32_t mpa_unmark(struct mpa_unmark *u, uint8_t *octets, uint32_t len);

/**
 * @brief Whether a marker has begun in front of an FPDU, and no octet of that FPDU has come.
 *
 * Then the plain octets end between two FPDUs, but the stream ends inside a marker.
 */
static inline bool
mpa_unmark_begun(const struct mpa_unmark *u)
{
	return u->frame == 0 && u->into > 0 && u->into <= MPA_MARKER_SIZE;
}

#endif
