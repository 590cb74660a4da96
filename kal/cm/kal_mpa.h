/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef KAL_MPA_H
#define KAL_MPA_H

/**
 * @file kal_mpa.h
 * @brief MPA start-up: the Request and Reply frames, and what two ends negotiate with them.
 *
 *     key (16) | M C R S (1) | revision (1) | PD_Length (2) | [IRD/ORD words (4)] | private data
 *
 * Pure functions over structs: no socket, no timer, no lock, no allocation; any thread. The sockets are those of
 * kal_cm_dial.c (initiator), kal_cm_stream.c (the responder's Reply), kal_request.c (the responder's Request) and
 * kal_convert.c (a converted socket), which read and write the octets and act on the verdicts.
 *
 * An initiator calls kal_mpa_offer(), kal_mpa_write(); then, as octets come, kal_mpa_read(); then kal_mpa_judge_reply().
 * A responder calls kal_mpa_read(), kal_mpa_judge_request(); when its consumer has decided, kal_mpa_accept() or
 * kal_mpa_reject(), and kal_mpa_write().
 *
 * Standards: RFC 5044 section 7, RFC 6581; [WIRE 2].
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rnicpi_attr.h"

#define KAL_MPA_HEADER_SIZE 20u  /**< octets of the smallest frame */
#define KAL_MPA_WORDS_SIZE  4u   /**< octets of the IRD/ORD words, counted by PD_Length */
#define KAL_MPA_PRIVATE_MAX 512u /**< most octets of PD_Length, words included */
#define KAL_MPA_FRAME_MAX   532u /**< octets of the largest frame */
#define KAL_MPA_PRIVATE_SAFE \
	251u /**< private data of a consumer that every Linux peer takes [WIRE 11.6] */
#define KAL_MPA_DEPTH_MAX     0x3ffeu /**< largest IRD or ORD that a frame can state */
#define KAL_MPA_DEPTH_PRIVATE 0x3fffu /**< "not negotiated here, left to the consumers" */

/** @brief The two frames. */
enum kal_mpa_kind {
	KAL_MPA_REQUEST = 0, /**< sent by the initiator */
	KAL_MPA_REPLY        /**< sent by the responder */
};

/** @brief One frame, decoded. */
struct kal_mpa_frame {
	enum kal_mpa_kind kind; /**< Request or Reply */
	uint8_t revision;       /**< 1 or 2 */
	bool markers;           /**< M: its sender wants to receive markers */
	bool crc;               /**< C: its sender wants CRC */
	bool reject;            /**< R: in a Reply, the responder refuses; false in a Request */
	bool words;             /**< S, with revision 2: the next four are valid */
	bool peer_to_peer;      /**< A: an RTR message will be used */
	uint8_t rtr;            /**< C, D, B: set of enum ri_rtr */
	uint16_t ird;           /**< Reads its sender can queue, 0..0x3fff */
	uint16_t ord;           /**< Reads its sender wants outstanding, 0..0x3fff */
	uint16_t private_len;   /**< octets of private data, words not counted: 0..512 */
	const uint8_t *private_data; /**< borrowed; may be NULL if @ref private_len is 0 */
};

/** @brief The findings of kal_mpa_read(). */
enum kal_mpa_found {
	KAL_MPA_WHOLE = 0, /**< a whole frame */
	KAL_MPA_MORE,      /**< no fault so far, but the frame is incomplete */
	KAL_MPA_BAD_KEY,   /**< not an MPA frame: close */
	KAL_MPA_BAD_KIND, /**< a Request where a Reply is due (two initiators), or the reverse: close */
	KAL_MPA_BAD_REVISION, /**< revision 0 or above 2: close */
	KAL_MPA_BAD_LENGTH,   /**< PD_Length above 512: close */
	KAL_MPA_BAD_WORDS     /**< S set with revision 2, but PD_Length below 4: close */
};

/**
 * @brief Look for a startup frame at the start of what has arrived.
 *
 * May be called again each time more octets have arrived. A fault is reported with the first octet that shows it. Reads
 * nothing outside @p buf .. @p buf + @p len. Reserved bits are ignored.
 *
 * @param[in] kind    which frame is due
 * @param[in] buf     octets received since the connection was established
 * @param[in] len     how many
 * @param[out] frame  the frame if KAL_MPA_WHOLE, else all zero; private data points into @p buf
 * @param[out] size   if KAL_MPA_WHOLE, octets of the frame; what follows them belongs to full operation. If
 *                    KAL_MPA_MORE, octets that are needed (20, then the whole frame). Else 0
 * @return the finding; anything but KAL_MPA_WHOLE and KAL_MPA_MORE means close without an answer
 */
enum kal_mpa_found kal_mpa_read(enum kal_mpa_kind kind, const void *buf, size_t len,
				struct kal_mpa_frame *frame, size_t *size);

/**
 * @brief A finding in words, for people: which field has which value.
 *
 * @param[in] kind    which frame was due
 * @param[in] found   of kal_mpa_read()
 * @param[in] octets  what it looked at
 * @param[in] len     how many
 * @param[out] text   where to; it is cut if it does not fit
 * @param[in] room    bytes there
 */
void kal_mpa_found_text(enum kal_mpa_kind kind, enum kal_mpa_found found, const uint8_t *octets,
			size_t len, char *text, size_t room);

/**
 * @brief Encode a frame.
 *
 * The two words with IRD and ORD (RFC 6581 9) are written if `words` is set and `revision` is 2. Reserved bits are 0.
 *
 * @param[in] frame  the frame; `ird` and `ord` at most 0x3fff
 * @param[out] buf   where to
 * @param[in] len    octets there, KAL_MPA_FRAME_MAX are always enough
 * @return octets written; 0 if they do not fit, the revision is not 1 or 2, or words and private data pass 512
 */
size_t kal_mpa_write(const struct kal_mpa_frame *frame, void *buf, size_t len);

/** @brief Offered parameters: what this end would like to agree on, and its limits. */
struct kal_mpa_offered {
	uint8_t revision; /**< initiator: the revision to offer, 1 or 2 */
	bool crc;         /**< ask for CRC; only the administrator switches this off */
	bool markers_tx;  /**< send markers if the peer wants them; else such a peer is refused */
	bool markers_rx;  /**< ask for markers */
	bool words;       /**< initiator: offer IRD/ORD (revision 2) */
	uint16_t ird;     /**< inbound Reads wanted */
	uint16_t ord;     /**< outbound Reads wanted */
	uint16_t
		ird_max; /**< most inbound Reads that the device can queue, at least 1; 128 and up suits Linux peers */
	uint8_t rtr; /**< set of enum ri_rtr that we can send (initiator) or take (responder). Initiator: 0 is client/server */
	bool depth_private; /**< the consumers agree on IRD and ORD by themselves: state 0x3fff for both, and lower none */
	bool depth_echo; /**< responder, with @ref depth_private: state the peer's ORD as IRD and its IRD as ORD instead, which changes nothing at the peer */
};

/** @brief Negotiated parameters: what both ends agreed on for full operation. */
struct kal_mpa_negotiated {
	uint8_t revision; /**< 1 or 2 */
	bool crc;         /**< CRC in both directions */
	bool markers_tx;  /**< this end sends markers */
	bool markers_rx;  /**< this end receives markers */
	uint16_t ird;     /**< inbound Reads this end queues */
	uint16_t ord;     /**< outbound Reads this end may have outstanding */
	uint8_t rtr;      /**< the RTR message that the initiator sends first: one RI_RTR_*, or 0 */
};

/** @brief What to do with the stream after a frame was judged. */
enum kal_mpa_verdict {
	KAL_MPA_GO = 0, /**< go on */
	KAL_MPA_REFUSE_MARKERS, /**< responder: the peer wants markers, which are not allowed; send kal_mpa_reject(), then close */
	KAL_MPA_CLOSE_EARLY, /**< responder: octets behind the Request; close */
	KAL_MPA_CLOSE_REJECTED, /**< initiator: the responder's consumer refused; report its private data, close */
	KAL_MPA_CLOSE_NO_ROOM, /**< initiator: the responder's library refused; close, report */
	KAL_MPA_CLOSE_MARKERS, /**< initiator: the responder wants markers, which are not allowed; close, report */
	KAL_MPA_CLOSE_NO_WORDS, /**< initiator: our words were not answered; close */
	KAL_MPA_TERMINATE_IRD, /**< initiator: cannot queue what the responder wants; Terminate 0x2006, close */
	KAL_MPA_TERMINATE_RTR /**< initiator: no common RTR message; Terminate 0x2007, close */
};

/**
 * @brief A verdict in words, for people: which field has which value.
 *
 * @param[in] verdict  of kal_mpa_judge_request() or kal_mpa_judge_reply()
 * @param[in] offered  own parameters
 * @param[in] request  the Request
 * @param[in] reply    the Reply; NULL for a verdict on a Request
 * @param[out] text    where to; it is cut if it does not fit
 * @param[in] room     bytes there
 */
void kal_mpa_verdict_text(enum kal_mpa_verdict verdict, const struct kal_mpa_offered *offered,
			  const struct kal_mpa_frame *request, const struct kal_mpa_frame *reply,
			  char *text, size_t room);

/**
 * @brief Initiator: fill in the Request. The caller adds private data.
 *
 * A depth above KAL_MPA_DEPTH_MAX is stated as KAL_MPA_DEPTH_MAX. If the offer has the RTR message of type Read, ORD is
 * at least 1. RTR messages are offered only with words; type B never is.
 */
void kal_mpa_offer(const struct kal_mpa_offered *offered, struct kal_mpa_frame *request);

/**
 * @brief Responder: may this Request be shown to the consumer?
 * @param[in] request   as read
 * @param[in] trailing  octets that arrived behind it
 * @retval KAL_MPA_GO             yes
 * @retval KAL_MPA_REFUSE_MARKERS only if kal_mpa_offered::markers_tx: M is set
 * @retval KAL_MPA_CLOSE_EARLY    no: the peer spoke before our Reply
 */
enum kal_mpa_verdict kal_mpa_judge_request(const struct kal_mpa_frame *request, size_t trailing);

/**
 * @brief Responder: the consumer accepts. Gives the Reply, without private data, and the negotiated parameters.
 *
 * The Reply has the Request's revision, and has words if the Request has them. If the Request asks for an RTR
 * message, the Reply names exactly one: Write if both ends know it, else Read; if they have none in common, one that
 * this end accepts (the initiator then ends the stream with Terminate 0x2007). `ird` and `ord` of @p offered hold
 * as they are if the Request has no words.
 */
void kal_mpa_accept(const struct kal_mpa_offered *offered, const struct kal_mpa_frame *request,
		    struct kal_mpa_frame *reply, struct kal_mpa_negotiated *negotiated);

/** @brief Responder: the consumer, or we, refuse. Gives the Reply with R set, without private data. */
void kal_mpa_reject(const struct kal_mpa_offered *offered, const struct kal_mpa_frame *request,
		    struct kal_mpa_frame *reply);

/**
 * @brief Responder: refuse because no consumer could be asked (no listener, no room).
 *
 * MPA cannot express the difference to a refusal by the consumer. This implementation marks it by a Reply without
 * private data whose words leave both depths to the consumers, which has no meaning in a refusal. Other
 * implementations see an ordinary refusal.
 *
 * @return false if the Request had no words, so that the mark cannot be sent
 */
bool kal_mpa_reject_no_room(const struct kal_mpa_offered *offered,
			    const struct kal_mpa_frame *request, struct kal_mpa_frame *reply);

/**
 * @brief Initiator: judge the Reply. The decision table of [WIRE 2.7].
 *
 * Octets behind the Reply are FPDUs, whatever the verdict.
 *
 * @param[in] offered  the parameters of the Request
 * @param[in] request  the Request that was sent
 * @param[in] reply    as read
 * @param[out] negotiated  the result; `crc` is also valid if the verdict is a Terminate, which is sent in an FPDU
 * @retval KAL_MPA_GO             full operation, the RTR message first if there is one
 * @retval KAL_MPA_CLOSE_REJECTED refused by the peer
 * @retval KAL_MPA_CLOSE_NO_ROOM  refused by the peer's library
 * @retval KAL_MPA_CLOSE_MARKERS  the peer wants markers, which are not allowed
 * @retval KAL_MPA_CLOSE_NO_WORDS words were sent but not answered
 * @retval KAL_MPA_TERMINATE_IRD  Reply.ORD is above what the device can queue
 * @retval KAL_MPA_TERMINATE_RTR  no RTR message that both know, or a Read without ORD
 */
enum kal_mpa_verdict kal_mpa_judge_reply(const struct kal_mpa_offered *offered,
					 const struct kal_mpa_frame *request,
					 const struct kal_mpa_frame *reply,
					 struct kal_mpa_negotiated *negotiated);

/**
 * @brief Terminate code (layer, type, code) that ends a start-up that failed after the Reply: ri_stream::abort_code.
 * @return 0x2006, 0x2007, or 0 if the verdict does not want a Terminate
 */
uint16_t kal_mpa_verdict_code(enum kal_mpa_verdict verdict);

#endif
