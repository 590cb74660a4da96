/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * MPA start-up frames and the negotiation they carry.
 *
 * A frame is judged while it arrives: a fault is reported with the first octet that shows it, so a peer that
 * speaks another protocol is disconnected at once and not by a timer. What follows the fixed 20 octets is read only
 * when the whole frame is there.
 *
 * Negotiation [WIRE 2.6]: IRD is what the sender of a frame can queue, ORD what it wants outstanding. The
 * responder lowers its ORD to the initiator's IRD and raises its IRD to the initiator's ORD, but not above what the
 * device can; the initiator then does the same with the Reply. 0x3fff from either side means "not negotiated here",
 * and the step that would use that value is omitted.
 *
 * RTR [WIRE 2.5]: so that the responder may send first, the initiator sends a ready-to-receive message without
 * effect: a Write or a Read of length 0. Drivers disagree about type B; it is neither offered nor chosen.
 *
 * Revision 0, the dialect of the RDMA Consortium, is refused [WIRE 10].
 *
 * Standards: RFC 5044 section 7, RFC 6581.
 */

#include "kal_mpa.h"

#include "ri_wire.h"

#define FLAG_MARKERS 0x80u /* M */
#define FLAG_CRC     0x40u /* C */
#define FLAG_REJECT  0x20u /* R */
#define FLAG_WORDS   0x10u /* S */

#define WORD_HIGH  0x8000u /* A in the first word, C in the second */
#define WORD_LOW   0x4000u /* B in the first word, D in the second */
#define WORD_DEPTH 0x3fffu

#define KEY_SIZE     16u
#define REVISION_MAX 2u
#define RTR_OFFERED  (RI_RTR_WRITE | RI_RTR_READ) /* by this end as initiator [WIRE 2.5.3] */
#define RTR_TAKEN    (RTR_OFFERED | RI_RTR_SEND)  /* by this end as responder */

static const char keys[2][KEY_SIZE + 1] = {
	[KAL_MPA_REQUEST] = "MPA ID Req Frame",
	[KAL_MPA_REPLY] = "MPA ID Rep Frame",
};

/* The octets of the key that have arrived must match; the key of the other kind has a finding of its own. */
static enum kal_mpa_found
key_check(enum kal_mpa_kind kind, const void *buf, size_t len)
{
	enum kal_mpa_kind other = kind == KAL_MPA_REQUEST ? KAL_MPA_REPLY : KAL_MPA_REQUEST;
	size_t there = len < KEY_SIZE ? len : KEY_SIZE;

	if (there == 0 || memcmp(buf, keys[kind], there) == 0)
		return there < KEY_SIZE ? KAL_MPA_MORE : KAL_MPA_WHOLE;
	if (memcmp(buf, keys[other], there) != 0)
		return KAL_MPA_BAD_KEY;
	return KAL_MPA_BAD_KIND;
}

static void
words_read(struct wire_reader *r, struct kal_mpa_frame *frame)
{
	uint16_t first = wire_be16(r);
	uint16_t second = wire_be16(r);

	frame->words = true;
	frame->peer_to_peer = (first & WORD_HIGH) != 0;
	if (frame->peer_to_peer)
		frame->rtr = (uint8_t)((first & WORD_LOW ? RI_RTR_SEND : 0) |
				       (second & WORD_HIGH ? RI_RTR_WRITE : 0) |
				       (second & WORD_LOW ? RI_RTR_READ : 0));
	frame->ird = first & WORD_DEPTH;
	frame->ord = second & WORD_DEPTH;
}

/* Check the fixed part, in the order of [WIRE 2.7]. */
static enum kal_mpa_found
header_check(const struct kal_mpa_frame *frame, uint8_t flags, uint16_t pd_length)
{
	bool words = (flags & FLAG_WORDS) != 0 && frame->revision == 2;

	if (frame->revision == 0 || frame->revision > REVISION_MAX)
		return KAL_MPA_BAD_REVISION;
	if (pd_length > KAL_MPA_PRIVATE_MAX)
		return KAL_MPA_BAD_LENGTH;
	if (words && !frame->reject && pd_length < KAL_MPA_WORDS_SIZE)
		return KAL_MPA_BAD_WORDS;
	return KAL_MPA_WHOLE;
}

enum kal_mpa_found
kal_mpa_read(enum kal_mpa_kind kind, const void *buf, size_t len, struct kal_mpa_frame *frame,
	     size_t *size)
{
	struct wire_reader r = wire_reader_of(buf, len);
	struct kal_mpa_frame f = {.kind = kind};
	enum kal_mpa_found found = key_check(kind, buf, len);
	uint8_t flags;
	uint16_t pd_length;

	memset(frame, 0, sizeof(*frame));
	*size = found == KAL_MPA_MORE ? KAL_MPA_HEADER_SIZE : 0;
	if (found != KAL_MPA_WHOLE)
		return found;

	wire_skip(&r, KEY_SIZE);
	flags = wire_u8(&r);
	f.revision = wire_u8(&r);
	f.markers = (flags & FLAG_MARKERS) != 0;
	f.crc = (flags & FLAG_CRC) != 0;
	f.reject = kind == KAL_MPA_REPLY && (flags & FLAG_REJECT) != 0;
	if (r.ok) {
		found = header_check(&f, flags, KAL_MPA_WORDS_SIZE);
		if (found != KAL_MPA_WHOLE)
			return found;
	}
	pd_length = wire_be16(&r);
	*size = KAL_MPA_HEADER_SIZE;
	if (!r.ok)
		return KAL_MPA_MORE;
	found = header_check(&f, flags, pd_length);
	*size = found == KAL_MPA_WHOLE ? KAL_MPA_HEADER_SIZE + (size_t)pd_length : 0;
	if (found != KAL_MPA_WHOLE)
		return found;
	if (r.left < pd_length)
		return KAL_MPA_MORE;

	if ((flags & FLAG_WORDS) != 0 && f.revision == 2) {
		if (pd_length >= KAL_MPA_WORDS_SIZE) {
			words_read(&r, &f);
			pd_length -= KAL_MPA_WORDS_SIZE;
		} else { /* a refusal with what was left of the words: no private data of a consumer */
			pd_length = 0;
		}
	}
	f.private_len = pd_length;
	f.private_data = pd_length > 0 ? wire_take(&r, pd_length) : NULL;
	*frame = f;
	return KAL_MPA_WHOLE;
}

size_t
kal_mpa_write(const struct kal_mpa_frame *frame, void *buf, size_t len)
{
	struct wire_writer w = wire_writer_of(buf, len);
	bool words = frame->words && frame->revision == 2;
	size_t pd_length = frame->private_len + (words ? KAL_MPA_WORDS_SIZE : 0);
	unsigned flags = (frame->markers ? FLAG_MARKERS : 0) | (frame->crc ? FLAG_CRC : 0) |
			 (frame->reject ? FLAG_REJECT : 0) | (words ? FLAG_WORDS : 0);
	uint8_t rtr = frame->peer_to_peer ? frame->rtr : 0;

	if (frame->revision == 0 || frame->revision > REVISION_MAX ||
	    pd_length > KAL_MPA_PRIVATE_MAX)
		return 0;
	wire_put(&w, keys[frame->kind], KEY_SIZE);
	wire_put_u8(&w, (uint8_t)flags);
	wire_put_u8(&w, frame->revision);
	wire_put_be16(&w, (uint16_t)pd_length);
	if (words) {
		wire_put_be16(&w, (uint16_t)((frame->peer_to_peer ? WORD_HIGH : 0) |
					     (rtr & RI_RTR_SEND ? WORD_LOW : 0) |
					     (frame->ird & WORD_DEPTH)));
		wire_put_be16(&w, (uint16_t)((rtr & RI_RTR_WRITE ? WORD_HIGH : 0) |
					     (rtr & RI_RTR_READ ? WORD_LOW : 0) |
					     (frame->ord & WORD_DEPTH)));
	}
	wire_put(&w, frame->private_data, frame->private_len);
	return wire_written(&w);
}

static uint16_t
depth_min(uint16_t a, uint16_t b)
{
	return a < b ? a : b;
}

static uint16_t
depth_max(uint16_t a, uint16_t b)
{
	return a > b ? a : b;
}

/* The depth to state in a frame. */
static uint16_t
depth_stated(const struct kal_mpa_offered *offered, uint16_t depth)
{
	return offered->depth_private ? KAL_MPA_DEPTH_PRIVATE : depth_min(depth, KAL_MPA_DEPTH_MAX);
}

void
kal_mpa_offer(const struct kal_mpa_offered *offered, struct kal_mpa_frame *request)
{
	uint16_t ord = offered->ord;

	memset(request, 0, sizeof(*request));
	request->kind = KAL_MPA_REQUEST;
	request->revision = offered->revision == 1 ? 1 : REVISION_MAX;
	request->crc = offered->crc;
	request->markers = offered->markers_rx;
	if (!offered->words || request->revision == 1)
		return;
	request->words = true;
	request->rtr = offered->rtr & RTR_OFFERED;
	request->peer_to_peer = request->rtr != 0;
	if ((request->rtr & RI_RTR_READ) != 0)
		ord = depth_max(ord, 1);
	request->ird = depth_stated(offered, depth_min(offered->ird, offered->ird_max));
	request->ord = depth_stated(offered, ord);
}

enum kal_mpa_verdict
kal_mpa_judge_request(const struct kal_mpa_frame *request, size_t trailing)
{
	if (trailing > 0)
		return KAL_MPA_CLOSE_EARLY;
	return request->markers ? KAL_MPA_REFUSE_MARKERS : KAL_MPA_GO;
}

/*
 * Chooses the RTR message that a Reply names. If both ends have some in common, it is one of these,
 * and a Send only if there is no other, since a Send consumes a receive. Otherwise it is one that
 * this end accepts.
 */
static uint8_t
rtr_choice(uint8_t offered, uint8_t taken)
{
	uint8_t common = offered & taken;

	if (common == 0)
		common = (taken & RTR_OFFERED) != 0 ? taken : RI_RTR_WRITE;
	if ((common & RI_RTR_WRITE) != 0)
		return RI_RTR_WRITE;
	return (common & RI_RTR_READ) != 0 ? RI_RTR_READ : RI_RTR_SEND;
}

void
kal_mpa_accept(const struct kal_mpa_offered *offered, const struct kal_mpa_frame *request,
	       struct kal_mpa_frame *reply, struct kal_mpa_negotiated *negotiated)
{
	uint8_t taken = offered->rtr & RTR_TAKEN;

	memset(reply, 0, sizeof(*reply));
	memset(negotiated, 0, sizeof(*negotiated));
	negotiated->revision = request->revision;
	negotiated->crc = request->crc || offered->crc;
	negotiated->markers_tx = request->markers;
	negotiated->markers_rx = offered->markers_rx;
	negotiated->ird = depth_min(offered->ird, offered->ird_max);
	negotiated->ord = offered->ord;

	reply->kind = KAL_MPA_REPLY;
	reply->revision = request->revision;
	reply->crc = negotiated->crc;
	reply->markers = negotiated->markers_rx;
	reply->words = request->words;
	if (!request->words)
		return;

	if (request->ird != KAL_MPA_DEPTH_PRIVATE && !offered->depth_private)
		negotiated->ord = depth_min(negotiated->ord, request->ird);
	if (request->ord != KAL_MPA_DEPTH_PRIVATE && !offered->depth_private)
		negotiated->ird =
			depth_min(offered->ird_max, depth_max(offered->ird, request->ord));
	if (request->peer_to_peer) {
		negotiated->rtr = rtr_choice(request->rtr, taken);
		reply->peer_to_peer = true;
		reply->rtr = negotiated->rtr;
	}
	if (negotiated->rtr == RI_RTR_READ)
		negotiated->ird = depth_max(negotiated->ird, 1);
	reply->ird = depth_stated(offered, negotiated->ird);
	reply->ord = depth_stated(offered, negotiated->ord);
	if (offered->depth_private && offered->depth_echo) {
		/* With these the initiator lowers nothing, as with 0x3fff, which siw does not take [WIRE 14.8]. */
		reply->ird = depth_max(request->ord, negotiated->rtr == RI_RTR_READ);
		reply->ord = request->ird;
	}
}

void
kal_mpa_reject(const struct kal_mpa_offered *offered, const struct kal_mpa_frame *request,
	       struct kal_mpa_frame *reply)
{
	struct kal_mpa_negotiated negotiated;

	kal_mpa_accept(offered, request, reply, &negotiated);
	reply->reject = true;
	reply->markers = false;
	reply->peer_to_peer = false;
	reply->rtr = 0;
}

bool
kal_mpa_reject_no_room(const struct kal_mpa_offered *offered, const struct kal_mpa_frame *request,
		       struct kal_mpa_frame *reply)
{
	kal_mpa_reject(offered, request, reply);
	reply->ird = reply->ord = KAL_MPA_DEPTH_PRIVATE;
	return reply->words;
}

static bool
says_no_room(const struct kal_mpa_frame *reply)
{
	return reply->words && reply->private_len == 0 && reply->ird == KAL_MPA_DEPTH_PRIVATE &&
	       reply->ord == KAL_MPA_DEPTH_PRIVATE;
}

/* IRD and ORD of the initiator after the Reply. False if the responder wants more Reads than the device can queue. */
static bool
depths_negotiate(const struct kal_mpa_offered *offered, const struct kal_mpa_frame *request,
		 const struct kal_mpa_frame *reply, struct kal_mpa_negotiated *negotiated)
{
	if (!reply->words)
		return true;
	if (request->ord != KAL_MPA_DEPTH_PRIVATE && reply->ird != KAL_MPA_DEPTH_PRIVATE)
		negotiated->ord = depth_min(negotiated->ord, reply->ird);
	if (request->ird == KAL_MPA_DEPTH_PRIVATE || reply->ord == KAL_MPA_DEPTH_PRIVATE)
		return true;
	if (reply->ord > offered->ird_max)
		return false;
	negotiated->ird = depth_max(negotiated->ird, reply->ord);
	return true;
}

enum kal_mpa_verdict
kal_mpa_judge_reply(const struct kal_mpa_offered *offered, const struct kal_mpa_frame *request,
		    const struct kal_mpa_frame *reply, struct kal_mpa_negotiated *negotiated)
{
	uint8_t common = request->rtr & reply->rtr & RTR_OFFERED;

	memset(negotiated, 0, sizeof(*negotiated));
	negotiated->revision = reply->revision;
	negotiated->crc = request->crc || reply->crc;
	negotiated->markers_tx = reply->markers;
	negotiated->markers_rx = request->markers;
	negotiated->ird = depth_min(offered->ird, offered->ird_max);
	negotiated->ord = request->words && !offered->depth_private ? request->ord : offered->ord;

	if (reply->reject)
		return says_no_room(reply) ? KAL_MPA_CLOSE_NO_ROOM : KAL_MPA_CLOSE_REJECTED;
	if (reply->markers && !offered->markers_tx)
		return KAL_MPA_CLOSE_MARKERS;
	if (request->words && !reply->words)
		return KAL_MPA_CLOSE_NO_WORDS;
	if (!depths_negotiate(offered, request, reply, negotiated))
		return KAL_MPA_TERMINATE_IRD;
	if (!request->peer_to_peer)
		return KAL_MPA_GO;
	if (negotiated->ord == 0)
		common &= (uint8_t)~RI_RTR_READ;
	if (common == 0)
		return KAL_MPA_TERMINATE_RTR;
	negotiated->rtr = (common & RI_RTR_WRITE) != 0 ? RI_RTR_WRITE : RI_RTR_READ;
	return KAL_MPA_GO;
}

uint16_t
kal_mpa_verdict_code(enum kal_mpa_verdict verdict)
{
	if (verdict == KAL_MPA_TERMINATE_IRD)
		return 0x2006;
	return verdict == KAL_MPA_TERMINATE_RTR ? 0x2007 : 0;
}
