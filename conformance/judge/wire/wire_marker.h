/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef WIRE_MARKER_H
#define WIRE_MARKER_H

/**
 * @file wire_marker.h
 * @brief Writes correct and wrong MPA markers (RFC 5044 section 4.3), and reads them.
 *
 * A marker lies at each 512th octet of a stream, counted from its first octet of full operation: two reserved octets
 * and FPDUPTR, the octets from the length field of its FPDU to itself. One between two FPDUs belongs to the second.
 */

#include <glib.h>

#include "wire_frame.h"

#define WIRE_MARKER_SIZE     4u   /**< octets of a marker */
#define WIRE_MARKER_INTERVAL 512u /**< octets from the begin of one marker to that of the next */

/** @brief What is wrong with one marker of an FPDU. All zero: nothing. */
struct wire_mark_fault {
	gboolean is_there; /**< the other fields count */
	guint which;       /**< the number of the marker in its FPDU, from 0 */
	guint16 more;      /**< is added to FPDUPTR, without a carry */
	guint16 reserved;  /**< the reserved octets */
	guint late;        /**< octets by which all markers of the FPDU come late */
};

/**
 * @brief Append the octets of one FPDU, with markers where its position in the stream requires them.
 * @param[in] position  octets of the stream before the FPDU
 * @param[in] fault     the fault to put into the markers, or NULL
 * @return how many markers were put in
 */
guint wire_markers_put(GByteArray *out, const guint8 *body, gsize len, guint64 position,
		       const struct wire_mark_fault *fault);

/** @brief Octets that a right FPDU of @p plain octets, with its CRC, takes from @p position of the stream on. */
gsize wire_marked_size(guint64 position, gsize plain);

/** @brief Octets of a stream with markers. */
struct wire_marked {
	const guint8 *octets;
	gsize len;
	guint64 position;  /**< octets of the stream before these */
	gboolean crc;      /**< FPDUs carry a CRC */
	GByteArray *plain; /**< gets the FPDU without markers and CRC */
};

/** @brief Like wire_fpdu_take(), of a stream with markers. The payload points into wire_marked::plain. */
enum wire_taken wire_marked_take(const struct wire_marked *in, struct wire_fpdu *fpdu, gsize *size,
				 char **why);

#endif
