/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef DDP_SEGMENT_H
#define DDP_SEGMENT_H

/**
 * @file ddp_segment.h
 * @brief DDP segments: the tagged header of 14 octets and the untagged one of 18.
 *
 *     tagged:   control | RDMAP control | STag (4) | TO (8)                         | payload
 *     untagged: control | RDMAP control | Invalidate STag or 0 (4) | QN | MSN | MO  | payload
 *
 * Standards: RFC 5041 section 4; [WIRE 4]. Pure functions, any thread. All inline: header and
 * payload of a small message are built without a call.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ri_wire.h"

#define DDP_CONTROL_TAGGED  0x80u /**< T */
#define DDP_CONTROL_LAST    0x40u /**< L */
#define DDP_CONTROL_VERSION 0x03u /**< DV */
#define DDP_VERSION         1u    /**< the DV of RFC 5041 */
#define DDP_TAGGED_SIZE     14u   /**< octets of a tagged header */
#define DDP_UNTAGGED_SIZE   18u   /**< octets of an untagged header */

/** @brief Queue numbers of untagged messages. */
enum ddp_queue {
	DDP_QN_SEND = 0,         /**< Send family and Immediate Data: the application's receives */
	DDP_QN_READ_REQUEST = 1, /**< Read and Atomic Requests: the inbound read queue */
	DDP_QN_TERMINATE = 2,    /**< Terminate, one message at most */
	DDP_QN_ATOMIC_RESPONSE = 3, /**< Atomic Responses (RFC 7306) */
	DDP_QN_COUNT = 4            /**< how many are in use */
};

/** @brief One segment, header decoded. Of the address fields only those of its kind are valid; the others are 0. */
struct ddp_segment {
	bool tagged;            /**< T */
	bool last;              /**< L: last segment of its message */
	uint8_t version;        /**< DV, 0..3; 1 is right */
	uint8_t rdmap_control;  /**< RDMAP version and opcode, see rdmap_message.h */
	uint32_t stag;          /**< tagged: STag of the region at the receiver */
	uint64_t to;            /**< tagged: address of this segment's first octet in it */
	uint32_t rsvd_ulp;      /**< untagged: Invalidate STag, or 0 */
	uint32_t qn;            /**< untagged: queue, see enum ddp_queue */
	uint32_t msn;           /**< untagged: number of the message in its queue, the first is 1 */
	uint32_t mo;            /**< untagged: offset of this segment's payload in its message */
	const uint8_t *payload; /**< first octet behind the header, borrowed */
	uint32_t payload_len;   /**< octets of payload, 0..65521 */
};

/** @brief What ddp_segment_read() found. */
enum ddp_result {
	DDP_OK = 0, /**< the header is decoded */
	DDP_MORE,   /**< too few octets have arrived to tell */
	DDP_SHORT   /**< the ULPDU ends within its header: Terminate 0x1000 */
};

/** @brief Octets of the header of a tagged or untagged segment. */
static inline uint32_t
ddp_header_size(bool tagged)
{
	return tagged ? DDP_TAGGED_SIZE : DDP_UNTAGGED_SIZE;
}

/**
 * @brief Decode the header of a segment that may not have arrived completely.
 *
 * Reads nothing outside @p ulpdu .. @p ulpdu + min(@p have, @p ulpdu_len). Values are not judged, not
 * even the version: that is for rdmap_check_header(), in its order.
 *
 * @param[in] ulpdu     the octet behind the ULPDU length
 * @param[in] have      octets that are there
 * @param[in] ulpdu_len octets the segment has in all, from the length field
 * @param[out] seg      the segment; on anything but DDP_OK all zero, but `tagged` is right if one octet was there
 * @retval DDP_OK    decoded; of the payload `have - header` octets are there
 * @retval DDP_MORE  call again with more octets
 * @retval DDP_SHORT no DDP header fits into @p ulpdu_len octets
 */
static inline enum ddp_result
ddp_segment_read(const void *ulpdu, size_t have, uint32_t ulpdu_len, struct ddp_segment *seg)
{
	struct wire_reader r = wire_reader_of(ulpdu, have < ulpdu_len ? have : ulpdu_len);
	uint8_t control = wire_u8(&r);
	uint32_t header = ddp_header_size((control & DDP_CONTROL_TAGGED) != 0);

	memset(seg, 0, sizeof(*seg));
	seg->tagged = (control & DDP_CONTROL_TAGGED) != 0;
	if (ulpdu_len < DDP_TAGGED_SIZE || (r.ok && ulpdu_len < header))
		return DDP_SHORT;
	if (r.left < header - 1)
		return DDP_MORE;

	seg->last = (control & DDP_CONTROL_LAST) != 0;
	seg->version = control & DDP_CONTROL_VERSION;
	seg->rdmap_control = wire_u8(&r);
	if (seg->tagged) {
		seg->stag = wire_be32(&r);
		seg->to = wire_be64(&r);
	} else {
		seg->rsvd_ulp = wire_be32(&r);
		seg->qn = wire_be32(&r);
		seg->msn = wire_be32(&r);
		seg->mo = wire_be32(&r);
	}
	seg->payload = r.at;
	seg->payload_len = ulpdu_len - header;
	return DDP_OK;
}

/** @brief Control octet of @p seg: T, L and DV; reserved bits are 0. */
static inline uint8_t
ddp_control_of(const struct ddp_segment *seg)
{
	return (uint8_t)((seg->tagged ? DDP_CONTROL_TAGGED : 0u) |
			 (seg->last ? DDP_CONTROL_LAST : 0u) |
			 (seg->version & DDP_CONTROL_VERSION));
}

/**
 * @brief Encode the header of @p seg without checking its values; reserved bits are 0. @param[out]
 * at ddp_header_size(`seg->tagged`) octets @param[in] seg all but `payload` and `payload_len` is
 * used
 * @return octets written
 */
static inline uint32_t
ddp_header_put(uint8_t *at, const struct ddp_segment *seg)
{
	at[0] = ddp_control_of(seg);
	at[1] = seg->rdmap_control;
	if (seg->tagged) {
		wire_store_be32(at + 2, seg->stag);
		wire_store_be64(at + 6, seg->to);
		return DDP_TAGGED_SIZE;
	}
	wire_store_be32(at + 2, seg->rsvd_ulp);
	wire_store_be32(at + 6, seg->qn);
	wire_store_be32(at + 10, seg->msn);
	wire_store_be32(at + 14, seg->mo);
	return DDP_UNTAGGED_SIZE;
}

#endif
