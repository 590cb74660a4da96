/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef RDMAP_TERMINATE_H
#define RDMAP_TERMINATE_H

/**
 * @file rdmap_terminate.h
 * @brief The Terminate message, and the list of faults that make us send one.
 *
 * A fault says what went wrong; rdmap_fault_code() gives the 16 bits (layer, error type, error code) that
 * go on the wire for it. Several faults share one code.
 *
 * Standards: RFC 5040 section 4.8 and 7, RFC 5041 section 7, RFC 5044 section 8; [WIRE 5.5] and [WIRE 5.9]
 * ("we send"). Pure functions, any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rdmap_message.h"

/**
 * @brief What went wrong on a stream.
 *
 * An STag that does not exist, one that is not of the stream or its PD, and one that no peer may use are
 * different faults for the local side. On the wire they share the code of an invalid STag, which is true of
 * all of them, so a peer that guesses STags learns nothing about those that exist; 0103 and 1102 would tell.
 */
enum rdmap_fault {
	RDMAP_FAULT_NONE = 0,      /**< nothing */
	RDMAP_FAULT_LOCAL,         /**< 0000 local error, or the consumer asked to terminate */
	RDMAP_FAULT_READ_STAG,     /**< 0100 Read Request: no such source STag */
	RDMAP_FAULT_READ_BOUNDS,   /**< 0101 Read Request: outside the source region */
	RDMAP_FAULT_READ_ACCESS,   /**< 0102 Read Request: source without remote read right */
	RDMAP_FAULT_READ_STREAM,   /**< 0100 Read Request: source STag not of this stream or PD */
	RDMAP_FAULT_READ_CLOSED,   /**< 0100 Read Request: source is open to no peer */
	RDMAP_FAULT_READ_WRAP,     /**< 0104 Read Request: source TO and size pass 2^64 */
	RDMAP_FAULT_INVALIDATE,    /**< 0109 Send with Invalidate: STag cannot be invalidated */
	RDMAP_FAULT_RDMAP_VERSION, /**< 0205 RDMAP version is not 1 */
	RDMAP_FAULT_OPCODE,        /**< 0206 opcode unknown, not supported, or T does not fit it */
	RDMAP_FAULT_INTERLEAVED,   /**< 0206 a message begins before the one before it has ended */
	RDMAP_FAULT_RESPONSE_UNEXPECTED, /**< 0206 a response, but the oldest request is not of its kind */
	RDMAP_FAULT_NOT_LAST,            /**< 0207 L is missing on a message of one segment */
	RDMAP_FAULT_MESSAGE_SIZE,        /**< 0207 a message passes 2^32 - 1 octets */
	RDMAP_FAULT_ATOMIC,              /**< 0207 atomic operation unknown or target not aligned */
	RDMAP_FAULT_PEER_CLOSED,         /**< 0207 FIN inside a frame or a message */
	RDMAP_FAULT_STREAM_CATASTROPHIC, /**< 0207 CQ overflow, SRQ error, QP failed */
	RDMAP_FAULT_MEMORY,              /**< 0207 a page of the region exists no more */
	RDMAP_FAULT_GLOBAL_CATASTROPHIC, /**< 0208 the whole adapter failed */
	RDMAP_FAULT_HEADER_SIZE,         /**< 1000 ULPDU too short or too long for its header */
	RDMAP_FAULT_TAGGED_STAG,         /**< 1100 Write or Read Response: no such STag */
	RDMAP_FAULT_TAGGED_BOUNDS,       /**< 1101 Write or Read Response: outside the region */
	RDMAP_FAULT_TAGGED_ACCESS,       /**< 1102 Write or Read Response: right missing */
	RDMAP_FAULT_TAGGED_STREAM, /**< 1100 Write or Read Response: STag not of this stream or PD */
	RDMAP_FAULT_TAGGED_CLOSED,      /**< 1100 Write: the region is open to no peer */
	RDMAP_FAULT_TAGGED_WRAP,        /**< 1103 Write or Read Response: TO and length pass 2^64 */
	RDMAP_FAULT_DDP_VERSION_TAGGED, /**< 1104 DDP version is not 1, T set */
	RDMAP_FAULT_QN,                 /**< 1201 queue unknown, or not that of the opcode */
	RDMAP_FAULT_READS_DISABLED,     /**< 1201 Read or Atomic Request to a QP that takes none */
	RDMAP_FAULT_NO_BUFFER,          /**< 1202 a Send finds no receive */
	RDMAP_FAULT_MSN,                /**< 1203 MSN is not the next one */
	RDMAP_FAULT_IRD,                /**< 1203 more Read or Atomic Requests than IRD */
	RDMAP_FAULT_MO,                 /**< 1204 MO is not where the message went on */
	RDMAP_FAULT_TOO_LONG,           /**< 1205 a Send is longer than the receive */
	RDMAP_FAULT_DDP_VERSION_UNTAGGED, /**< 1206 DDP version is not 1, T clear */
	RDMAP_FAULT_CRC,                  /**< 2002 CRC of an FPDU is wrong */
	RDMAP_FAULT_MARKER,               /**< 2003 marker and length disagree */
	RDMAP_FAULT_STARTUP_IRD,          /**< 2006 the peer wants more IRD than this side has */
	RDMAP_FAULT_STARTUP_RTR,          /**< 2007 no common RTR message */
	RDMAP_FAULT_COUNT                 /**< how many */
};

/** @brief Terminate code of a fault: layer in bits 15..12, type in 11..8, code in 7..0. 0 for RDMAP_FAULT_NONE. */
uint16_t rdmap_fault_code(enum rdmap_fault fault);

/** @brief A fault in words, for people. Never NULL. */
const char *rdmap_fault_text(enum rdmap_fault fault);

/** @brief What a Terminate, ours or a peer's, says is wrong; "unknown error" if no standard lists it. Never NULL. */
const char *rdmap_terminate_text(uint16_t code);

/** @brief Its layer in words, such as "DDP"; "unknown layer". Never NULL. */
const char *rdmap_terminate_layer(uint16_t code);

/** @brief Its error type in words, such as "tagged buffer error"; "unknown type". Never NULL. */
const char *rdmap_terminate_type(uint16_t code);

/** @brief The segment that a Terminate complains about, as it was received. */
struct rdmap_offender {
	const uint8_t
		*ulpdu; /**< first octet of its DDP header; NULL if there is no such segment */
	uint32_t
		have; /**< octets that may be read there; 46 are enough for all that is ever copied */
	uint32_t ulpdu_len; /**< its ULPDU length */
};

/** @brief Octets of the longest Terminate frame. */
#define RDMAP_TERMINATE_FPDU_MAX 76u

/**
 * @brief Build the octets behind the DDP header of a Terminate.
 *
 * The fault determines which headers of @p offender are copied: none for layer 2 and for layer 0 with type 0; otherwise
 * the DDP header, and for layer 0 with type 1 also the Read Request header. A header that is not complete is left out.
 *
 * @param[out] at       RDMAP_TERMINATE_MAX octets
 * @param[in] fault     anything but RDMAP_FAULT_NONE
 * @param[in] offender  NULL if there is none
 * @return octets written: 4, 20, 24 or 52
 */
uint32_t rdmap_terminate_write(uint8_t *at, enum rdmap_fault fault,
			       const struct rdmap_offender *offender);

/**
 * @brief Build a whole Terminate frame: QN 2, MSN 1, MO 0.
 * @param[out] fpdu     RDMAP_TERMINATE_FPDU_MAX octets
 * @param[in] fault     anything but RDMAP_FAULT_NONE
 * @param[in] offender  NULL if there is none
 * @param[in] crc       whether the stream uses CRC
 * @return octets of the frame
 */
uint32_t rdmap_terminate_fpdu(uint8_t *fpdu, enum rdmap_fault fault,
			      const struct rdmap_offender *offender, bool crc);

/**
 * @brief Build a whole Terminate frame without headers from a code that the caller chose.
 * @param[out] fpdu RDMAP_TERMINATE_FPDU_MAX octets
 * @param[in] code   layer, type, code
 * @param[in] crc    whether the stream uses CRC
 * @return octets of the frame: 28
 */
uint32_t rdmap_terminate_code_fpdu(uint8_t *fpdu, uint16_t code, bool crc);

/**
 * @brief Change a copied Read Request header so that it describes the rest of a Read that was answered in
 * part. @param[in,out] header RDMAP_READ_REQUEST_SIZE octets
 * @param[in] done        octets answered, at most the size of the request
 */
void rdmap_read_request_advance(uint8_t *header, uint32_t done);

/** @brief A Terminate that was received. Nothing in it may be trusted but its meaning for people. */
struct rdmap_terminate {
	uint8_t raw[4];       /**< the control field as received */
	uint16_t code;        /**< layer, type, code, after siw's order was undone */
	bool siw_order;       /**< the control field came in the bit order of a little-endian siw */
	bool has_length;      /**< M: `segment_len` is present */
	bool has_ddp;         /**< D: `ddp` was announced */
	bool has_rdmap;       /**< R: `rdmap` was announced */
	uint16_t segment_len; /**< DDP segment length that the peer states, 0 if none */
	const uint8_t *ddp;   /**< copy of our DDP header, NULL if not there whole; borrowed */
	uint32_t ddp_len;     /**< its octets: 14, 18 or 0 */
	const uint8_t
		*rdmap; /**< copy of our Read Request header, NULL if not there whole; borrowed */
	uint32_t rdmap_len; /**< its octets: 28 or 0 */
};

/**
 * @brief Read a Terminate leniently: fields behind the control field that are missing or invalid are
 * left out.
 *
 * If none of the M, D, R bits is where RFC 5040 has them but one is where a little-endian Linux siw puts
 * them, nibbles and flags are exchanged [WIRE 11.27]. A bare Terminate of siw cannot be told
 * from a conforming one: show `raw` next to the text.
 *
 * @param[in] payload  octets behind the DDP header
 * @param[in] len      how many; those behind the last known field are ignored
 * @param[out] t       the message; all zero on failure
 * @return false if there is no control field (fewer than 4 octets)
 */
bool rdmap_terminate_read(const void *payload, size_t len, struct rdmap_terminate *t);

#endif
