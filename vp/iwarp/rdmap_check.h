/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef RDMAP_CHECK_H
#define RDMAP_CHECK_H

/**
 * @file rdmap_check.h
 * @brief May this segment arrive now? The state of one incoming direction, and its tests.
 *
 * The order of the tests is fixed [WIRE 5.8], so that the same wrong segment always gets the same answer:
 * length, DDP version, RDMAP version, opcode, T and QN, L, MSN, MO, room. The CRC was tested before. The
 * engine tests memory (STag, rights, bounds) afterwards, with vp/common.
 *
 * Pure functions on a struct that its owner locks. Standards: RFC 5040 section 7, RFC 5041 sections 5 to 7.
 */

#include <stdbool.h>
#include <stdint.h>

#include "ddp_segment.h"
#include "rdmap_message.h"
#include "rdmap_terminate.h"

/** @brief The answer that the oldest outstanding request expects. */
enum rdmap_awaited {
	RDMAP_AWAITS_NOTHING = 0, /**< no Read and no Atomic is outstanding */
	RDMAP_AWAITS_READ, /**< a Read: rdmap_inbound::read_stag and the fields behind it are valid */
	RDMAP_AWAITS_ATOMIC /**< an Atomic */
};

/** @brief State of one incoming direction. Zeroed and set up by rdmap_inbound_init(). */
struct rdmap_inbound {
	bool rfc7306;       /**< opcodes of RFC 7306 are known; the owner sets it */
	bool reads_enabled; /**< the QP takes Read and Atomic Requests; the owner sets it */
	uint32_t read_room; /**< free entries of the inbound read queue; the owner keeps it */
	enum rdmap_awaited
		awaited;    /**< the owner keeps it, and the next three, at each completion */
	uint32_t read_stag; /**< sink STag of the awaited Read */
	uint64_t read_to;   /**< sink TO of the next octet; rdmap_inbound_advance() moves it */
	uint32_t read_left; /**< octets still to come; rdmap_inbound_advance() lowers it */
	uint32_t next_msn[DDP_QN_COUNT]; /**< MSN of the current message, or else of the next one */
	bool in_message; /**< there is a current message: segments arrived, L did not yet */
	enum rdmap_opcode opcode; /**< of the current message */
	uint32_t stag;            /**< of the current message, if tagged */
	uint64_t next_to;         /**< TO where it continues, if tagged */
	uint32_t received;        /**< octets of the current message so far; 0 between messages */
	enum rdmap_opcode ended;  /**< of the last message that has ended */
	uint32_t ended_len;       /**< its octets behind the DDP headers; 0: none has ended */
};

/** @brief Start of full operation: every next MSN is 1, reads are enabled without room, RFC 7306 unknown. */
void rdmap_inbound_init(struct rdmap_inbound *in);

/**
 * @brief May this segment arrive now?
 *
 * Changes nothing. Only the header is tested, so the payload need not have arrived. A zero-length tagged
 * segment passes with any STag and TO (RFC 5041 5.1).
 *
 * A Terminate with a fault ends the stream, too; it is never answered with a Terminate.
 *
 * @param[in] in   the direction
 * @param[in] seg  the segment, from ddp_segment_read() with DDP_OK; DDP_SHORT is RDMAP_FAULT_HEADER_SIZE
 * @return RDMAP_FAULT_NONE, or what is wrong: HEADER_SIZE, DDP_VERSION_TAGGED, DDP_VERSION_UNTAGGED,
 *         RDMAP_VERSION, OPCODE, QN, READS_DISABLED, NOT_LAST, INTERLEAVED, RESPONSE_UNEXPECTED, MSN, MO,
 *         MESSAGE_SIZE, IRD, TAGGED_STAG, TAGGED_BOUNDS
 */
enum rdmap_fault rdmap_check_header(const struct rdmap_inbound *in, const struct ddp_segment *seg);

/**
 * @brief Record that a segment which rdmap_check_header() has passed was taken.
 *
 * Advances MSN, MO and TO. Does not change `read_room` and `awaited`, which are the owner's.
 * @return true if it ended its message
 */
bool rdmap_inbound_advance(struct rdmap_inbound *in, const struct ddp_segment *seg);

/**
 * @brief Does the payload of a Send segment fit the receive?
 * @param[in] seg         segment of a Send
 * @param[in] have_buffer whether there is a receive for its message
 * @param[in] buffer_len  octets of that receive
 * @retval RDMAP_FAULT_NONE      it does
 * @retval RDMAP_FAULT_NO_BUFFER there is no receive
 * @retval RDMAP_FAULT_TOO_LONG  the message is longer than the receive
 */
enum rdmap_fault rdmap_check_receive(const struct ddp_segment *seg, bool have_buffer,
				     uint64_t buffer_len);

#endif
