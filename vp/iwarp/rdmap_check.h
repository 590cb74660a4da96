/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef RDMAP_CHECK_H
#define RDMAP_CHECK_H

/**
 * @file rdmap_check.h
 * @brief Is this segment one that may come now? The state of one incoming direction, and its tests.
 *
 * The order of the tests is fixed [WIRE 5.8], so that the same wrong segment is answered in the same
 * way everywhere: length, DDP version, RDMAP version, opcode, T and QN, L, MSN, MO, room. The CRC
 * was tested before; memory (STag, rights, bounds) is tested after, with vp/common, by the engine.
 *
 * Pure functions on a struct that its owner locks. Standards: RFC 5040 section 7, RFC 5041 sections 5 to 7.
 */

#include <stdbool.h>
#include <stdint.h>

#include "ddp_segment.h"
#include "rdmap_message.h"
#include "rdmap_terminate.h"

/** @brief What our oldest request that still waits for an answer expects. */
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
	uint32_t next_msn
		[DDP_QN_COUNT];   /**< MSN of the message under way, or else of the next one */
	bool in_message;          /**< segments came, L did not yet */
	enum rdmap_opcode opcode; /**< of the message under way */
	uint32_t stag;            /**< of the message under way, if tagged */
	uint64_t next_to;         /**< TO where it goes on, if tagged */
	uint32_t received;        /**< octets of the message under way so far */
};

/** @brief Start of full operation: every next MSN is 1, reads are enabled without room, RFC 7306 unknown. */
void rdmap_inbound_init(struct rdmap_inbound *in);

/**
 * @brief May this segment come now?
 *
 * Nothing is changed. The header alone is looked at, so the payload need not have arrived. A zero-length
 * tagged segment passes with any STag and TO (RFC 5041 5.1).
 *
 * A Terminate with a fault is to be treated as the end of the stream all the same; it is never
 * answered with a Terminate (rdmap_may_answer()).
 *
 * @param[in] in   the direction
 * @param[in] seg  the segment, from ddp_segment_read() with DDP_OK; DDP_SHORT is RDMAP_FAULT_HEADER_SIZE
 * @return RDMAP_FAULT_NONE, or what is wrong: HEADER_SIZE, DDP_VERSION_TAGGED, DDP_VERSION_UNTAGGED,
 *         RDMAP_VERSION, OPCODE, QN, READS_DISABLED, NOT_LAST, INTERLEAVED, RESPONSE_UNEXPECTED, MSN, MO,
 *         MESSAGE_SIZE, IRD, TAGGED_STAG, TAGGED_BOUNDS
 */
enum rdmap_fault rdmap_check_header(const struct rdmap_inbound *in, const struct ddp_segment *seg);

/**
 * @brief Note that a segment, found right by rdmap_check_header(), was taken.
 *
 * Counts MSN, MO and TO on. `read_room` and `awaited` stay the owner's.
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

/** @brief Whether a fault of this segment may be answered with a Terminate: not if it is a Terminate itself. */
static inline bool
rdmap_may_answer(const struct ddp_segment *seg)
{
	return rdmap_opcode_of(seg->rdmap_control) != RDMAP_TERMINATE;
}

#endif
