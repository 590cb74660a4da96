/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef RDMAP_MESSAGE_H
#define RDMAP_MESSAGE_H

/**
 * @file rdmap_message.h
 * @brief RDMAP messages: opcodes, their headers, and whole frames of them.
 *
 * Standards: RFC 5040 section 4, RFC 7306 sections 4 to 6; [WIRE 5.1] to [WIRE 5.6]. Pure functions, any
 * thread. Terminate is rdmap_terminate.h; what a receiver tests is rdmap_check.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ddp_segment.h"
#include "mpa_frame.h"
#include "ri_wire.h"

#define RDMAP_VERSION              1u    /**< the RV of RFC 5040 */
#define RDMAP_CONTROL_OPCODE       0x0fu /**< opcode in the control octet */
#define RDMAP_READ_REQUEST_SIZE    28u   /**< octets behind the DDP header */
#define RDMAP_IMMEDIATE_SIZE       8u    /**< octets behind the DDP header */
#define RDMAP_ATOMIC_REQUEST_SIZE  52u   /**< octets behind the DDP header */
#define RDMAP_ATOMIC_RESPONSE_SIZE 12u   /**< octets behind the DDP header */
#define RDMAP_TERMINATE_MIN        4u    /**< octets behind the DDP header: control only */
#define RDMAP_TERMINATE_MAX        52u /**< octets behind the DDP header: length and both headers */
#define RDMAP_FPDU_PAYLOAD_TAGGED \
	16u /**< octets of a frame before the payload of a tagged segment */
#define RDMAP_FPDU_PAYLOAD_UNTAGGED 20u /**< the same, untagged */
#define RDMAP_RTR_STAG              1u  /**< STag of an RTR message; not tested by its receiver */

/** @brief Opcodes. */
enum rdmap_opcode {
	RDMAP_WRITE = 0x0,              /**< RDMA Write */
	RDMAP_READ_REQUEST = 0x1,       /**< RDMA Read Request */
	RDMAP_READ_RESPONSE = 0x2,      /**< RDMA Read Response */
	RDMAP_SEND = 0x3,               /**< Send */
	RDMAP_SEND_INVALIDATE = 0x4,    /**< Send with Invalidate */
	RDMAP_SEND_SE = 0x5,            /**< Send with Solicited Event */
	RDMAP_SEND_SE_INVALIDATE = 0x6, /**< Send with Solicited Event and Invalidate */
	RDMAP_TERMINATE = 0x7,          /**< Terminate */
	RDMAP_IMMEDIATE = 0x8,          /**< Immediate Data (RFC 7306) */
	RDMAP_IMMEDIATE_SE = 0x9,       /**< Immediate Data with Solicited Event (RFC 7306) */
	RDMAP_ATOMIC_REQUEST = 0xa,     /**< Atomic Request (RFC 7306) */
	RDMAP_ATOMIC_RESPONSE = 0xb,    /**< Atomic Response (RFC 7306) */
	RDMAP_OPCODE_COUNT = 0x10       /**< what four bits can say; the others are reserved */
};

/** @brief What must hold for the segments of one opcode. */
struct rdmap_rule {
	const char *name;   /**< as the RFCs spell it; "reserved" for the unknown */
	bool known;         /**< false: reserved opcode */
	bool rfc7306;       /**< belongs to RFC 7306, not RFC 5040 */
	bool tagged;        /**< T must be this */
	uint8_t qn;         /**< queue, if untagged */
	bool single;        /**< the message is one segment: L must be set, MO 0 */
	uint8_t header_min; /**< least octets behind the DDP header that are RDMAP's own */
	uint8_t header_max; /**< most octets, if `single`; otherwise payload follows without limit */
};

/** @brief The rule of each opcode. */
extern const struct rdmap_rule rdmap_rules[RDMAP_OPCODE_COUNT];

/** @brief RDMAP control octet of @p opcode. */
static inline uint8_t
rdmap_control(enum rdmap_opcode opcode)
{
	return (uint8_t)(RDMAP_VERSION << 6 | (unsigned)opcode);
}

/** @brief Opcode in a control octet, 0..15, reserved ones included. */
static inline enum rdmap_opcode
rdmap_opcode_of(uint8_t control)
{
	return (enum rdmap_opcode)(control & RDMAP_CONTROL_OPCODE);
}

/** @brief Version in a control octet, 0..3. */
static inline uint8_t
rdmap_version_of(uint8_t control)
{
	return control >> 6;
}

/** @brief Whether @p opcode is one of the four Sends. */
static inline bool
rdmap_is_send(enum rdmap_opcode opcode)
{
	return opcode >= RDMAP_SEND && opcode <= RDMAP_SEND_SE_INVALIDATE;
}

/** @brief Whether @p opcode is one of the two of Immediate Data. */
static inline bool
rdmap_is_immediate(enum rdmap_opcode opcode)
{
	return opcode == RDMAP_IMMEDIATE || opcode == RDMAP_IMMEDIATE_SE;
}

/** @brief Whether @p opcode asks for a solicited event at its receiver. */
static inline bool
rdmap_is_solicited(enum rdmap_opcode opcode)
{
	return opcode == RDMAP_SEND_SE || opcode == RDMAP_SEND_SE_INVALIDATE ||
	       opcode == RDMAP_IMMEDIATE_SE;
}

/** @brief Whether @p opcode carries an Invalidate STag in ddp_segment::rsvd_ulp. */
static inline bool
rdmap_is_invalidate(enum rdmap_opcode opcode)
{
	return opcode == RDMAP_SEND_INVALIDATE || opcode == RDMAP_SEND_SE_INVALIDATE;
}

/** @brief Name of an opcode 0..15, for people. Never NULL. */
const char *rdmap_opcode_name(enum rdmap_opcode opcode);

/** @brief RDMA Read Request. */
struct rdmap_read_request {
	uint32_t sink_stag;   /**< requester's buffer, where the response goes */
	uint64_t sink_to;     /**< address in it */
	uint32_t size;        /**< octets to read, 0..2^32-1 */
	uint32_t source_stag; /**< responder's region */
	uint64_t source_to;   /**< address in it */
};

/** @brief Atomic operations. */
enum rdmap_atomic {
	RDMAP_ATOMIC_FETCH_ADD = 0,   /**< add; mask bits cut the carry */
	RDMAP_ATOMIC_SWAP = 1,        /**< swap */
	RDMAP_ATOMIC_COMPARE_SWAP = 2 /**< swap under a mask if equal under a mask */
};

/** @brief Atomic Request (RFC 7306). */
struct rdmap_atomic_request {
	uint8_t operation;     /**< enum rdmap_atomic; 3..15 are reserved */
	uint32_t request_id;   /**< echoed by the response */
	uint32_t stag;         /**< responder's region */
	uint64_t to;           /**< address in it, a multiple of 8 */
	uint64_t data;         /**< value to add or to swap in */
	uint64_t mask;         /**< add or swap mask */
	uint64_t compare;      /**< value to compare with */
	uint64_t compare_mask; /**< bits to compare */
};

/** @brief Atomic Response (RFC 7306). */
struct rdmap_atomic_response {
	uint32_t request_id; /**< of the request */
	uint64_t original;   /**< value before the operation */
};

/**
 * @brief Decode a Read Request from the octets behind the DDP header.
 * @return false if there are fewer than RDMAP_READ_REQUEST_SIZE; then @p m is all zero
 */
bool rdmap_read_request_read(const void *payload, size_t len, struct rdmap_read_request *m);

/** @brief Encode a Read Request into RDMAP_READ_REQUEST_SIZE octets. */
void rdmap_read_request_write(uint8_t *at, const struct rdmap_read_request *m);

/**
 * @brief Decode an Atomic Request from the octets behind the DDP header.
 * @return false if there are fewer than RDMAP_ATOMIC_REQUEST_SIZE; then @p m is all zero
 */
bool rdmap_atomic_request_read(const void *payload, size_t len, struct rdmap_atomic_request *m);

/** @brief Encode an Atomic Request into RDMAP_ATOMIC_REQUEST_SIZE octets. */
void rdmap_atomic_request_write(uint8_t *at, const struct rdmap_atomic_request *m);

/**
 * @brief Decode an Atomic Response from the octets behind the DDP header.
 * @return false if there are fewer than RDMAP_ATOMIC_RESPONSE_SIZE; then @p m is all zero
 */
bool rdmap_atomic_response_read(const void *payload, size_t len, struct rdmap_atomic_response *m);

/** @brief Encode an Atomic Response into RDMAP_ATOMIC_RESPONSE_SIZE octets. */
void rdmap_atomic_response_write(uint8_t *at, const struct rdmap_atomic_response *m);

/** @brief Header of a tagged segment (Write, Read Response) to send; the caller adds the payload. */
static inline struct ddp_segment
rdmap_tagged(enum rdmap_opcode opcode, uint32_t stag, uint64_t to, bool last)
{
	struct ddp_segment seg = {.tagged = true,
				  .last = last,
				  .version = DDP_VERSION,
				  .rdmap_control = rdmap_control(opcode),
				  .stag = stag,
				  .to = to};

	return seg;
}

/** @brief Header of an untagged segment to send, on the queue of @p opcode; the caller adds payload and Invalidate STag. */
static inline struct ddp_segment
rdmap_untagged(enum rdmap_opcode opcode, uint32_t msn, uint32_t mo, bool last)
{
	struct ddp_segment seg = {.last = last,
				  .version = DDP_VERSION,
				  .rdmap_control = rdmap_control(opcode),
				  .msn = msn,
				  .mo = mo};

	if (opcode == RDMAP_READ_REQUEST || opcode == RDMAP_ATOMIC_REQUEST)
		seg.qn = DDP_QN_READ_REQUEST;
	else if (opcode == RDMAP_TERMINATE)
		seg.qn = DDP_QN_TERMINATE;
	else if (opcode == RDMAP_ATOMIC_RESPONSE)
		seg.qn = DDP_QN_ATOMIC_RESPONSE;
	return seg;
}

/**
 * @brief Begin a frame: ULPDU length and header. The payload goes right behind, then mpa_fpdu_close().
 *
 * For payload gathered from several places: cover the octets written here with mpa_crc(), each piece
 * with mpa_crc_copy(), and hand the CRC to mpa_fpdu_close().
 *
 * @param[out] fpdu  RDMAP_FPDU_PAYLOAD_TAGGED or _UNTAGGED octets
 * @param[in] seg    header and `payload_len`; `payload` is not used
 * @return octets written, which is the offset of the payload in the frame
 */
static inline uint32_t
rdmap_fpdu_begin(uint8_t *fpdu, const struct ddp_segment *seg)
{
	uint32_t ulpdu_len = ddp_header_size(seg->tagged) + seg->payload_len;
	uint64_t first = (uint64_t)ulpdu_len << 48 | (uint64_t)ddp_control_of(seg) << 40 |
			 (uint64_t)seg->rdmap_control << 32;

	/* Whole words: the CRC loads words next, and would wait for smaller stores to reach the cache. */
	if (seg->tagged) {
		wire_store_be64(fpdu, first | seg->stag);
		wire_store_be64(fpdu + 8, seg->to);
		return RDMAP_FPDU_PAYLOAD_TAGGED;
	}
	wire_store_be64(fpdu, first | seg->rsvd_ulp);
	wire_store_be64(fpdu + 8, (uint64_t)seg->qn << 32 | seg->msn);
	wire_store_be32(fpdu + 16, seg->mo);
	return RDMAP_FPDU_PAYLOAD_UNTAGGED;
}

/**
 * @brief Write a whole frame: length, header, a copy of the payload, PAD, CRC.
 *
 * The CRC is that of the copy, whatever happens to `seg->payload` meanwhile.
 *
 * @param[out] fpdu  mpa_fpdu_size(ddp_header_size(`seg->tagged`) + `seg->payload_len`) octets
 * @param[in] seg    header, payload and its length; header and payload are at most MPA_ULPDU_MAX octets
 * @param[in] crc    whether the stream uses CRC
 * @return octets of the frame
 */
static inline uint32_t
rdmap_fpdu_put(uint8_t *fpdu, const struct ddp_segment *seg, bool crc)
{
	uint32_t at = rdmap_fpdu_begin(fpdu, seg);
	uint32_t covered = 0;

	if (crc) {
		covered = mpa_crc(fpdu, at, 0);
		covered = mpa_crc_copy(fpdu + at, seg->payload, seg->payload_len, covered);
	} else if (seg->payload_len > 0) {
		memcpy(fpdu + at, seg->payload, seg->payload_len);
	}
	return mpa_fpdu_close(fpdu, at - MPA_LENGTH_SIZE + seg->payload_len, covered, crc);
}

/** @brief Write a whole frame that holds one Read Request; 52 octets. Arguments as rdmap_fpdu_put(). */
static inline uint32_t
rdmap_read_request_fpdu(uint8_t *fpdu, uint32_t msn, const struct rdmap_read_request *m, bool crc)
{
	struct ddp_segment seg = rdmap_untagged(RDMAP_READ_REQUEST, msn, 0, true);

	seg.payload_len = RDMAP_READ_REQUEST_SIZE;
	rdmap_read_request_write(fpdu + rdmap_fpdu_begin(fpdu, &seg), m);
	return mpa_fpdu_cover(fpdu, DDP_UNTAGGED_SIZE + RDMAP_READ_REQUEST_SIZE, crc);
}

#endif
