/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef WIRE_FRAME_H
#define WIRE_FRAME_H

/**
 * @file wire_frame.h
 * @brief Writes and reads FPDUs of iWARP. This codec shares no code with a provider, so that it cannot share its
 * errors.
 *
 * Standards: RFC 5040 section 4, RFC 5041 section 4, RFC 5044 section 4, RFC 7306 section 4.
 */

#include <glib.h>

#define WIRE_TAGGED_SIZE   14u    /**< octets of a tagged DDP header */
#define WIRE_UNTAGGED_SIZE 18u    /**< octets of an untagged DDP header */
#define WIRE_ULPDU_MAX     65535u /**< the longest ULPDU */
#define WIRE_CRC_SIZE      4u     /**< octets of a CRC */

/** @brief RDMAP opcodes (RFC 5040 section 4.1, RFC 7306 section 4). */
enum wire_opcode {
	WIRE_WRITE = 0,
	WIRE_READ_REQUEST = 1,
	WIRE_READ_RESPONSE = 2,
	WIRE_SEND = 3,
	WIRE_SEND_INVALIDATE = 4,
	WIRE_SEND_SOLICITED = 5,
	WIRE_SEND_SOLICITED_INVALIDATE = 6,
	WIRE_TERMINATE = 7,
	WIRE_IMMEDIATE = 8,
	WIRE_IMMEDIATE_SOLICITED = 9,
	WIRE_ATOMIC_REQUEST = 10,
	WIRE_ATOMIC_RESPONSE = 11
};

/** @brief What is written into the CRC field. */
enum wire_crc {
	WIRE_CRC_GOOD,
	WIRE_CRC_BAD,     /**< one bit is wrong */
	WIRE_CRC_ZERO,    /**< 0, as without CRC */
	WIRE_CRC_SWAPPED, /**< the octets in the other order */
	WIRE_CRC_PLAIN    /**< the markers are not in it */
};

/** @brief The fields of one FPDU. Any value can be written, also those that the RFCs forbid. */
struct wire_fpdu {
	gboolean tagged;        /**< T */
	gboolean last;          /**< L */
	guint8 ddp_reserved;    /**< bits 5 to 2 of the first octet, as a number of 4 bits */
	guint8 ddp_version;     /**< 2 bits */
	guint8 rdmap_version;   /**< 2 bits */
	guint8 rdmap_reserved;  /**< bits 5 and 4 of the second octet */
	guint8 opcode;          /**< 4 bits */
	guint32 stag;           /**< tagged: the STag; untagged: the STag to invalidate */
	guint64 to;             /**< tagged */
	guint32 qn;             /**< untagged */
	guint32 msn;            /**< untagged */
	guint32 mo;             /**< untagged */
	const guint8 *payload;  /**< behind the DDP header */
	gsize payload_len;      /**< octets there */
	gint64 length;          /**< the ULPDU length field; -1 for the true one */
	gint64 size;            /**< cut the ULPDU to so many octets; -1 for all */
	enum wire_crc crc_kind; /**< writing only */
	guint8 pad;             /**< the value of each octet of the PAD */
};

/** @brief A good FPDU of @p opcode: T, QN and versions as the RFCs say, L set, no payload. */
struct wire_fpdu wire_fpdu_of(enum wire_opcode opcode);

/** @brief Append the octets of @p fpdu that its CRC covers: length, ULPDU and PAD. */
void wire_fpdu_body(GByteArray *out, const struct wire_fpdu *fpdu);

/** @brief Append the CRC of @p len octets. Without @p crc it is 0, unless @p kind says more. */
void wire_crc_put(GByteArray *out, const guint8 *octets, gsize len, enum wire_crc kind,
		  gboolean crc);

/** @brief What wire_fpdu_take() found. */
enum wire_taken {
	WIRE_TAKEN_WHOLE, /**< one FPDU */
	WIRE_TAKEN_MORE,  /**< it is not complete */
	WIRE_TAKEN_BAD    /**< it breaks a rule of its own layer; why is set */
};

/**
 * @brief Read the FPDU at the beginning of @p octets. The payload points into @p octets.
 * @param[out] size  octets of the FPDU, if it is whole
 * @param[out] why   the broken rule, with its clause; free with g_free()
 */
enum wire_taken wire_fpdu_take(const guint8 *octets, gsize len, gboolean crc,
			       struct wire_fpdu *fpdu, gsize *size, char **why);

/** @brief Octets that the CRC of an FPDU covers, without markers, for a ULPDU length. */
gsize wire_fpdu_covered(gsize ulpdu);

/** @brief Whether the CRC behind @p covered octets is right, or none is wanted; @p why as in wire_fpdu_take(). */
gboolean wire_fpdu_crc_fits(const guint8 *octets, gsize covered, gboolean crc, char **why);

/** @brief Read and judge the header of a ULPDU; @p why as in wire_fpdu_take(). */
enum wire_taken wire_ulpdu_take(const guint8 *at, gsize len, struct wire_fpdu *fpdu, char **why);

/** @brief CRC32C of @p len octets, continued from @p crc; 0 to begin. */
guint32 wire_crc32c(const guint8 *octets, gsize len, guint32 crc);

/** @brief The QN that an untagged opcode must have, or -1 for a tagged one. */
int wire_opcode_qn(guint opcode);

/** @brief The name of an opcode in scripts: write, read, response, send, ...; NULL for a reserved one. */
const char *wire_opcode_name(guint opcode);

/** @brief The opcode of a name; -1 if there is none. */
int wire_opcode_find(const char *name);

/** @brief Append numbers in network order. */
void wire_put16(GByteArray *out, guint16 value);
void wire_put32(GByteArray *out, guint32 value); /**< @copydoc wire_put16 */
void wire_put64(GByteArray *out, guint64 value); /**< @copydoc wire_put16 */

/** @brief Read numbers in network order. */
guint16 wire_get16(const guint8 *at);
guint32 wire_get32(const guint8 *at); /**< @copydoc wire_get16 */
guint64 wire_get64(const guint8 *at); /**< @copydoc wire_get16 */

/** @brief Octet @p i of the pattern with @p seed, which both ends of a test know. */
guint8 wire_pattern(guint seed, gsize i);

#endif
