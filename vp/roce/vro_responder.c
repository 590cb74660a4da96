/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The responder: executes the packets of the peer in the order of their numbers, and answers.
 *
 * vsw_respond.h executes or refuses messages; this file handles packet numbers, the order of packets in a message, and
 * responses. The order of answers is the order of requests: those to Reads and atomics wait in a ring (vro_answer),
 * and an acknowledgement or a NAK waits behind them. The ring keeps what was answered, so that a request that comes
 * again is answered again: a Read from the memory as it is then, an atomic from the result that is kept.
 *
 * After a NAK the responder sends nothing until the expected packet arrives.
 */
#include <inttypes.h>

#include "vro_why.h"

/* vsw_refusal::code of a Send that may not invalidate its key. A key that is wrong is an access error here. */
#define CODE_INVALIDATE 0x0109u

#define EARLY_MAX \
	4u /* times that the peer has to send a packet again because it comes early, before it is told to wait */
#define NUMBERS_BEHIND 0x800000u /* half of all numbers */

/* --- answers ------------------------------------------------------------------------------ */

/* A NAK for the packet that is expected. */
static void
nak_due(struct vro_qp *qp, uint8_t syndrome)
{
	qp->rx.nak = syndrome;
	qp->rx.silent = true;
	vro_qp_mark(qp);
}

/* The peer asked for what it may not: end the queue pair, and say so, behind the answers that are due. */
static void
refuse(struct vro_qp *qp, uint8_t syndrome, uint32_t event, const char *why)
{
	qp->rx.fatal = true;
	qp->rx.event = event;
	qp->rx.why = why;
	nak_due(qp, syndrome);
}

/* The event that a refusal raises: InfiniBand has two, and that of the responder's own failure. */
static uint32_t
event_of(const struct vsw_refusal *refusal)
{
	uint32_t event = refusal->event;

	if (refusal->status == RI_WC_REMOTE_ACCESS)
		return RI_EVENT_QP_ACCESS;
	if (event == RI_EVENT_QP_IRRQ_OVERFLOW)
		return RI_EVENT_QP_OPCODE;
	return event;
}

/* `access` to what `remote` names: which of them the refusal is about. */
static void
refuse_with(struct vro_qp *qp, const struct vsw_refusal *refusal, const struct ri_wr_remote *remote,
	    uint32_t length, uint32_t access)
{
	uint8_t syndrome = ROCE_NAK_OPERATION;
	const char *why = refusal->why;

	if (refusal->status == RI_WC_REMOTE_ACCESS || refusal->code == CODE_INVALIDATE)
		syndrome = ROCE_NAK_ACCESS;
	else if (refusal->status == RI_WC_REMOTE_INVALID_REQ)
		syndrome = ROCE_NAK_INVALID;
	if (why == NULL)
		vro_why_access(qp, remote, length, access);
	if (why == vsw_why_sink) {
		vro_why_receive(qp);
		why = NULL;
	}
	refuse(qp, syndrome, event_of(refusal), why);
}

static void
invalid(struct vro_qp *qp, const char *why)
{
	refuse(qp, ROCE_NAK_INVALID, RI_EVENT_QP_OPCODE, why);
}

/*
 * Send packet `i` of the response to a Read, whose packets are those from `from` to `last`. False:
 * there is no room, or the right was revoked (*refusal).
 */
static bool
read_answer(struct vro_qp *qp, const struct vro_answer *a, uint32_t i, uint32_t from, uint32_t last,
	    const struct vsw_refusal **refusal)
{
	uint8_t *at = vro_room(qp);
	uint32_t offset = i * qp->path.mtu;
	uint32_t left = a->length - offset;
	struct roce_packet p = {
		.pkey = qp->path.pkey,
		.qpn = qp->path.qpn,
		.psn = roce_add(a->first, i),
		.syndrome = ROCE_SYN_UNLIMITED,
		.msn = a->msn,
		.payload_length = left < qp->path.mtu ? left : qp->path.mtu,
	};
	const struct vsw_message message = {.length = a->length, .remote = &a->remote};
	struct vsw_spans source;

	vsw_spans_of(&source, NULL, 0); /* refused: nothing to end */
	*refusal = NULL;
	if (at == NULL)
		return false;
	p.opcode = i == from ? (i == last ? ROCE_READ_ONLY : ROCE_READ_FIRST)
			     : (i == last ? ROCE_READ_LAST : ROCE_READ_MIDDLE);

	*refusal = vsw_respond_read(&qp->in, &message, offset, p.payload_length, &source);
	if (*refusal == NULL && source.count != 0 &&
	    vsw_mem_copy(&source.use[0], 0, at + roce_head_size(roce_parts(p.opcode)),
			 p.payload_length, false) != RI_SUCCESS)
		*refusal = vsw_respond_lost(&source);
	vsw_spans_end(&source);
	if (*refusal != NULL)
		return false;
	vro_send(qp, at, &qp->path.flow, &p);
	return true;
}

/* Has it sent so much that others come first? */
static bool
turn_ends(struct vro_qp *qp, uint32_t *left)
{
	if ((*left)-- != 0)
		return false;
	qp->more = true;
	return true;
}

/* The next packet of the answers that are due. */
static bool
read_answer_next(struct vro_qp *qp, const struct vro_answer *a)
{
	struct vro_responding *rx = &qp->rx;
	const struct vsw_refusal *refusal;

	if (read_answer(qp, a, rx->at, 0, a->packets - 1, &refusal))
		return true;
	if (refusal != NULL) {
		rx->answered = rx->asked;
		rx->psn = roce_add(a->first, rx->at);
		refuse_with(qp, refusal, &a->remote, a->length, RI_ACCESS_REMOTE_READ);
	}
	return false;
}

static bool
atomic_answer(struct vro_qp *qp, const struct vro_answer *a)
{
	uint8_t *at = vro_room(qp);
	struct roce_packet p = {
		.opcode = ROCE_ATOMIC_ACK,
		.pkey = qp->path.pkey,
		.qpn = qp->path.qpn,
		.psn = a->first,
		.syndrome = ROCE_SYN_UNLIMITED,
		.msn = a->msn,
		.original = a->original,
	};

	if (at == NULL)
		return false;
	vro_send(qp, at, &qp->path.flow, &p);
	return true;
}

/* An acknowledgement of all that was executed, or the NAK that is due. */
static bool
acknowledgement(struct vro_qp *qp)
{
	struct vro_responding *rx = &qp->rx;
	uint8_t *at = vro_room(qp);
	struct roce_packet p = {
		.opcode = ROCE_ACK,
		.pkey = qp->path.pkey,
		.qpn = qp->path.qpn,
		.psn = rx->nak != 0 ? rx->psn : roce_add(rx->psn, ROCE_24),
		.syndrome = rx->nak != 0 ? rx->nak : ROCE_SYN_UNLIMITED,
		.msn = rx->msn,
	};

	if (at == NULL)
		return false;
	vro_send(qp, at, &qp->path.flow, &p);
	rx->nak = 0;
	rx->due = rx->unsaid = false;
	return true;
}

static void
again_end(struct vro_qp *qp, struct vro_answer *a)
{
	qp->rx.again -= a->again != a->end;
	a->again = a->end;
}

/* An answer that is due again. False: the rest of it has to wait. */
static bool
again_run(struct vro_qp *qp, struct vro_answer *a, uint32_t *left)
{
	const struct vsw_refusal *refusal;

	while (a->again != a->end) {
		if (turn_ends(qp, left))
			return false;
		if (!read_answer(qp, a, a->again, a->from, a->end - 1, &refusal)) {
			if (refusal == NULL)
				return false;
			/* A peer that has the answer may have given the right away meanwhile; one that has not asks again for the rest. */
			again_end(qp, a);
		} else if (a->again + 1 == a->end) {
			again_end(qp, a);
		} else {
			a->again++;
		}
	}
	return true;
}

/* All answers that are due again, in the order of their requests. */
static bool
agains_run(struct vro_qp *qp, uint32_t *left)
{
	struct vro_responding *rx = &qp->rx;

	for (uint32_t i = VRO_ANSWERS; i > 0 && rx->again != 0; i--)
		if (!again_run(qp, &rx->answers[(rx->asked - i) % VRO_ANSWERS], left))
			return false;
	return true;
}

void
vro_responder_run(struct vro_qp *qp)
{
	struct vro_responding *rx = &qp->rx;
	uint32_t left = VRO_TURN;

	if (qp->state != VRO_RTR && qp->state != VRO_RTS)
		return;
	if (rx->again != 0 && !agains_run(qp, &left))
		return;
	while (rx->answered != rx->asked) {
		const struct vro_answer *a = &rx->answers[rx->answered % VRO_ANSWERS];

		if (turn_ends(qp, &left))
			return;
		if (a->atomic ? !atomic_answer(qp, a) : !read_answer_next(qp, a)) {
			if (rx->answered != rx->asked)
				return;
			break;
		}
		if (++rx->at == a->packets) {
			rx->at = 0;
			rx->answered++;
			/* It acknowledges all before it. */
			if (rx->answered == rx->asked && roce_add(a->first, a->packets) == rx->psn)
				rx->due = false;
		}
	}
	if ((rx->due || rx->nak != 0) && !acknowledgement(qp))
		return;
	if (!rx->fatal)
		return;
	/* What the owner sends of the end has a system call of its own, and must not overtake the NAK, which has the cause. */
	if (qp->engine->link->flush != NULL)
		qp->engine->link->flush(qp->engine->link);
	vro_qp_fail(qp, rx->event, rx->why);
}

bool
vro_responder_can_wait(const struct vro_qp *qp)
{
	const struct vro_responding *rx = &qp->rx;

	return rx->due && rx->nak == 0 && !rx->fatal && rx->answered == rx->asked && rx->again == 0;
}

/* --- requests that have come before ------------------------------------------------------- */

/* The Read or atomic that has this number, if it is remembered and answered. */
static struct vro_answer *
remembered(struct vro_qp *qp, uint32_t psn)
{
	struct vro_responding *rx = &qp->rx;

	for (uint32_t i = 1; i <= VRO_ANSWERS; i++) {
		struct vro_answer *a = &rx->answers[(rx->asked - i) % VRO_ANSWERS];

		if (((psn - a->first) & ROCE_24) < a->packets)
			return a;
	}
	return NULL;
}

/* Is that answer, or this part of it, still to be sent? */
static bool
is_pending(const struct vro_qp *qp, const struct vro_answer *a, uint32_t psn)
{
	const struct vro_responding *rx = &qp->rx;
	uint32_t back = (rx->asked - 1 - (uint32_t)(a - rx->answers)) % VRO_ANSWERS;
	uint32_t index = rx->asked - 1 - back;

	if (index - rx->answered >= rx->asked - rx->answered)
		return false;
	return index != rx->answered || ((psn - a->first) & ROCE_24) >= rx->at;
}

static void
read_again(struct vro_qp *qp, struct vro_answer *a, const struct roce_packet *p)
{
	uint32_t from = (p->psn - a->first) & ROCE_24;
	uint64_t offset = (uint64_t)from * qp->path.mtu;
	uint64_t packets = ((uint64_t)p->length + qp->path.mtu - 1) / qp->path.mtu;
	uint32_t end = from + (packets == 0 ? 1 : (uint32_t)packets);

	if (a->atomic || p->rkey != a->remote.stag || p->va != a->remote.addr + offset ||
	    offset + p->length > a->length || end > a->packets || is_pending(qp, a, p->psn))
		return;
	again_end(qp, a);
	a->from = a->again = from;
	a->end = end;
	qp->rx.again++;
	vro_qp_mark(qp);
}

/* A packet that was executed before, or a number that never was. */
static void
duplicate(struct vro_qp *qp, const struct roce_packet *p, uint32_t parts)
{
	struct vro_answer *a;

	qp->engine->counts[VRO_DUPLICATES]++;
	if ((parts & (ROCE_IS_SEND | ROCE_IS_WRITE)) != 0) {
		qp->rx.due = true;
		vro_qp_mark(qp);
		return;
	}
	a = remembered(qp, p->psn);
	if (a == NULL)
		return;
	if ((parts & ROCE_HAS_ATOMIC) == 0)
		read_again(qp, a, p);
	else if (a->atomic && !is_pending(qp, a, p->psn))
		(void)atomic_answer(qp, a);
}

/* --- execution ---------------------------------------------------------------------------- */

/* The next `packets` packet numbers are executed. */
static void
advance(struct vro_qp *qp, uint32_t packets)
{
	struct vro_responding *rx = &qp->rx;

	rx->psn = roce_add(rx->psn, packets);
	rx->executed += packets;
	if (rx->executed > NUMBERS_BEHIND)
		rx->executed = NUMBERS_BEHIND;
}

/* The next place of the ring; NULL: the peer has asked for too much at once. */
static struct vro_answer *
answer_next(struct vro_qp *qp)
{
	struct vro_responding *rx = &qp->rx;
	uint32_t ird = atomic_load(&qp->in.ird);
	uint32_t most = ird == 0 ? 0 : vsw_ring_size(ird); /* peers round the number up, too */

	if (most > VRO_ANSWERS)
		most = VRO_ANSWERS;
	if (rx->asked - rx->answered >= most) {
		refuse_with(qp, &vsw_too_many_reads, NULL, 0, 0);
		return NULL;
	}
	again_end(qp, &rx->answers[rx->asked % VRO_ANSWERS]);
	return &rx->answers[rx->asked % VRO_ANSWERS];
}

static void
answer_add(struct vro_qp *qp, struct vro_answer *a, const struct roce_packet *p, uint32_t packets)
{
	struct vro_responding *rx = &qp->rx;

	rx->msn = roce_add(rx->msn, 1);
	a->first = p->psn;
	a->packets = packets;
	a->msn = rx->msn;
	rx->asked++;
	advance(qp, packets);
	vro_qp_mark(qp);
}

static void
read_execute(struct vro_qp *qp, const struct roce_packet *p)
{
	struct vro_answer *a = answer_next(qp);
	const struct vsw_message message = {.length = p->length,
					    .remote = a != NULL ? &a->remote : NULL};
	uint64_t packets = ((uint64_t)p->length + qp->path.mtu - 1) / qp->path.mtu;
	struct vsw_spans source;

	vsw_spans_of(&source, NULL, 0); /* refused: nothing to end */
	if (a == NULL)
		return;
	if (p->length > VRO_MAX_MESSAGE) {
		invalid(qp, "the peer asks for a Read of more than 2^31 octets");
		return;
	}
	a->remote = (struct ri_wr_remote){.addr = p->va, .stag = p->rkey};
	a->length = p->length;
	a->atomic = false;

	const struct vsw_refusal *refusal =
		vsw_respond_read(&qp->in, &message, 0, p->length, &source);

	vsw_spans_end(&source);
	if (refusal != NULL)
		refuse_with(qp, refusal, &a->remote, p->length, RI_ACCESS_REMOTE_READ);
	else
		answer_add(qp, a, p, packets == 0 ? 1 : (uint32_t)packets);
}

static void
atomic_execute(struct vro_qp *qp, const struct roce_packet *p)
{
	struct vro_answer *a = answer_next(qp);
	bool swap = (p->opcode & 0x1f) == ROCE_CMP_SWAP;
	struct vsw_mem_use word;

	if (a == NULL)
		return;
	a->remote = (struct ri_wr_remote){.addr = p->va,
					  .stag = p->rkey,
					  .operand = swap ? p->compare : p->swap_add,
					  .swap = p->swap_add};
	a->length = sizeof(uint64_t);
	a->atomic = true;

	const struct vsw_message message = {.length = sizeof(uint64_t), .remote = &a->remote};
	const struct vsw_refusal *refusal = vsw_respond_word(&qp->in, &message, &word);

	if (refusal == NULL) {
		refusal = vsw_respond_atomic(&message, swap, &word, &a->original);
		vsw_mem_end(&word);
	}
	if (refusal != NULL)
		refuse_with(qp, refusal, &a->remote, a->length, RI_ACCESS_REMOTE_ATOMIC);
	else
		answer_add(qp, a, p, 1);
}

/* What is wrong with a packet of a Send or Write at this place, or NULL. */
static const char *
message_wrong(const struct vro_qp *qp, const struct roce_packet *p, uint32_t parts)
{
	const struct vro_responding *rx = &qp->rx;
	bool first = (parts & ROCE_IS_FIRST) != 0;
	bool last = (parts & ROCE_IS_LAST) != 0;
	bool write = (parts & ROCE_IS_WRITE) != 0;
	uint64_t got = (first ? 0 : (uint64_t)rx->got) + p->payload_length;
	uint32_t length = first ? p->length : rx->length;

	if (!first && rx->kind != (write ? VRO_WRITE : VRO_SEND))
		return "a packet of the peer goes on with a message that was not begun";
	if (last ? p->payload_length > qp->path.mtu : p->payload_length != qp->path.mtu)
		return "a packet of the peer does not have the length of the path MTU";
	if (last && !first && p->payload_length == 0)
		return "the last packet of a message of the peer is empty";
	if (got > VRO_MAX_MESSAGE)
		return "a message of the peer is longer than 2^31 octets";
	if (write && (length > VRO_MAX_MESSAGE || got > length || (last && got != length)))
		return "a Write of the peer does not have the length that it announced";
	return NULL;
}

/* Begin a message: a Write may be refused as a whole, before anything of it is placed. */
static const struct vsw_refusal *
message_begin(struct vro_qp *qp, const struct roce_packet *p, uint32_t parts)
{
	struct vro_responding *rx = &qp->rx;
	const struct vsw_refusal *refusal = NULL;
	struct vsw_spans target;

	rx->got = 0;
	rx->length = p->length;
	rx->remote = (struct ri_wr_remote){.addr = p->va, .stag = p->rkey};
	if ((parts & ROCE_IS_WRITE) != 0 && (parts & ROCE_IS_LAST) == 0) {
		const struct vsw_message message = {.length = p->length, .remote = &rx->remote};

		refusal = vsw_respond_begin(&qp->in, &message, 0, p->length, RI_ACCESS_REMOTE_WRITE,
					    &target);
		vsw_spans_end(&target);
	}
	return refusal;
}

/* Execute a packet of a Send or Write. */
static const struct vsw_refusal *
message_execute(struct vro_qp *qp, const struct roce_packet *p, uint32_t parts)
{
	struct vro_responding *rx = &qp->rx;
	bool write = (parts & ROCE_IS_WRITE) != 0;
	bool last = (parts & ROCE_IS_LAST) != 0;
	struct vsw_spans octets;
	const struct vsw_message message = {
		.length = rx->got + p->payload_length,
		.flags = ((parts & ROCE_HAS_IMM) != 0 ? RI_WR_IMMEDIATE : 0u) |
			 ((parts & ROCE_HAS_IETH) != 0 ? RI_WR_INVALIDATE : 0u) |
			 (p->solicited && last ? RI_WR_SOLICITED : 0u),
		.extra = (parts & ROCE_HAS_IMM) != 0 ? p->immediate : p->invalidate,
		.remote = &rx->remote,
	};
	const struct vsw_piece piece = {
		.octets = &octets, .at = rx->got, .length = p->payload_length, .last = last};
	const struct vsw_refusal *refusal;

	vsw_spans_of(&octets, p->payload, p->payload_length);
	if (!write)
		refusal = vsw_respond_send(&qp->in, &message, &piece);
	else if ((parts & ROCE_HAS_IMM) != 0)
		refusal = vsw_respond_write_immediate(&qp->in, &message, &piece);
	else
		refusal = vsw_respond_write(&qp->in, &message, &piece);
	vsw_spans_end(&octets);
	if (refusal == NULL)
		rx->got += p->payload_length;
	return refusal;
}

/* No receive: the peer sends this packet again later. */
static void
receive_missing(struct vro_qp *qp)
{
	struct vsw_responder *in = &qp->in;

	atomic_store(&in->awaited, 0);
	if (in->member.srq != NULL) {
		vsw_srq_leave(&in->member);
		vsw_srq_pass_on(&in->member);
	}
	qp->engine->counts[VRO_RNRS]++;
	/* Once for a connection: it may happen with every message. */
	if (!qp->rx.waited)
		vro_say(qp,
			"a Send of the peer waits, since no receive is posted; the peer is to send "
			"it "
			"again in %" PRIu64 " us",
			roce_rnr_time(qp->path.rnr_timer & ROCE_SYN_VALUE) / 1000);
	qp->rx.waited = true;
	nak_due(qp, ROCE_SYN_RNR | (qp->path.rnr_timer & ROCE_SYN_VALUE));
}

/* --- packets ------------------------------------------------------------------------------ */

/* Would this message take a receive before the program has had the event of the connection? The service thread is about to raise it. */
static bool
is_early(const struct vro_qp *qp, uint32_t parts)
{
	bool send = (parts & ROCE_IS_SEND) != 0 && (parts & ROCE_IS_FIRST) != 0;
	bool immediate = (parts & ROCE_IS_WRITE) != 0 && (parts & ROCE_HAS_IMM) != 0;

	return qp->untold && (send || immediate);
}

/*
 * A packet has arrived before the program was notified of the connection. No receive can be taken
 * yet, and an RNR NAK would fail a peer with an RNR retry count of 0. So this packet and those
 * after it are dropped without an answer, and vro_responder_told soon asks for them again. A peer
 * that has waited for long gets an RNR NAK nevertheless.
 */
static void
early_arrived(struct vro_qp *qp)
{
	if (qp->rx.early++ < EARLY_MAX)
		qp->rx.silent = true;
	else
		receive_missing(qp);
}

static void
message_packet(struct vro_qp *qp, const struct roce_packet *p, uint32_t parts)
{
	struct vro_responding *rx = &qp->rx;
	bool last = (parts & ROCE_IS_LAST) != 0;
	const char *wrong = message_wrong(qp, p, parts);
	const struct vsw_refusal *refusal = NULL;

	if (wrong != NULL) {
		invalid(qp, wrong);
		return;
	}
	if (is_early(qp, parts)) {
		early_arrived(qp);
		return;
	}
	if ((parts & ROCE_IS_FIRST) != 0)
		refusal = message_begin(qp, p, parts);
	if (refusal == NULL)
		refusal = message_execute(qp, p, parts);
	if (refusal == &vsw_no_receive) {
		receive_missing(qp);
		return;
	}
	if (qp->state == VRO_ERROR)
		return; /* a completion queue was full */
	if (refusal != NULL) {
		refuse_with(qp, refusal, &rx->remote, rx->length, RI_ACCESS_REMOTE_WRITE);
		return;
	}
	rx->kind = last ? VRO_NO_MESSAGE : (parts & ROCE_IS_WRITE) != 0 ? VRO_WRITE : VRO_SEND;
	if (last)
		rx->msn = roce_add(rx->msn, 1);
	advance(qp, 1);
}

static void
reliable_packet(struct vro_qp *qp, const struct roce_packet *p, uint32_t parts)
{
	struct vro_responding *rx = &qp->rx;
	int32_t ahead = roce_diff(p->psn, rx->psn);

	if (rx->fatal)
		return;
	if (ahead > 0 || ahead == -0x800000) {
		if (!rx->silent) {
			qp->engine->counts[VRO_GAPS]++;
			nak_due(qp, ROCE_NAK_SEQUENCE);
		}
		return;
	}
	if (ahead < 0) {
		/* The number before the first one is that of a peer which asks whether this side lives, or has what was sent first. */
		if ((uint32_t)-ahead <= rx->executed + 1)
			duplicate(qp, p, parts);
		return;
	}
	rx->silent = false;
	rx->nak = 0;
	if ((parts & ROCE_IS_FIRST) != 0 && rx->kind != VRO_NO_MESSAGE)
		invalid(qp, "the peer begins a message within another one");
	else if ((parts & ROCE_HAS_ATOMIC) != 0)
		atomic_execute(qp, p);
	else if ((parts & (ROCE_IS_SEND | ROCE_IS_WRITE)) == 0)
		read_execute(qp, p);
	else
		message_packet(qp, p, parts);
	rx->unsaid = true;
	if (p->ack_request && !rx->silent && (parts & (ROCE_IS_SEND | ROCE_IS_WRITE)) != 0) {
		rx->due = true;
		vro_qp_mark(qp);
	}
}

/* [WIRE 16.3.3] A message is dropped if one of its packets is missing, or if it is refused; the next First or Only begins another one. */
static void
unreliable_packet(struct vro_qp *qp, const struct roce_packet *p, uint32_t parts)
{
	struct vro_responding *rx = &qp->rx;
	bool in_order = p->psn == rx->psn;
	bool first = (parts & ROCE_IS_FIRST) != 0;
	const struct vsw_refusal *refusal = NULL;

	rx->psn = roce_add(p->psn, 1);
	if (!in_order || first)
		rx->kind = VRO_NO_MESSAGE;
	if ((rx->kind == VRO_NO_MESSAGE && !first) || message_wrong(qp, p, parts) != NULL ||
	    is_early(qp, parts)) {
		rx->kind = VRO_NO_MESSAGE;
		return;
	}
	if (first)
		refusal = message_begin(qp, p, parts);
	if (refusal == NULL)
		refusal = message_execute(qp, p, parts);
	if (rx->fatal)
		vro_qp_fail(qp, rx->event, rx->why);
	if (refusal != NULL || (parts & ROCE_IS_LAST) != 0)
		rx->kind = VRO_NO_MESSAGE;
	else
		rx->kind = (parts & ROCE_IS_WRITE) != 0 ? VRO_WRITE : VRO_SEND;
}

void
vro_responder_packet(struct vro_qp *qp, const struct roce_packet *p)
{
	uint32_t parts = roce_parts(p->opcode);

	if (qp->transport == ROCE_UC)
		unreliable_packet(qp, p, parts);
	else
		reliable_packet(qp, p, parts);
}

void
vro_responder_told(struct vro_qp *qp)
{
	struct vro_responding *rx = &qp->rx;

	qp->untold = false;
	if (rx->early != 0 && rx->early <= EARLY_MAX && !rx->fatal)
		nak_due(qp, ROCE_NAK_SEQUENCE);
}

void
vro_responder_flush(struct vro_qp *qp)
{
	struct vsw_responder *in = &qp->in;

	if (in->member.srq != NULL) {
		vsw_srq_leave(&in->member);
		vsw_srq_pass_on(&in->member);
	}
	do {
		struct vsw_cqe cqe = {
			.wr_id = in->wqe->wr_id,
			.qp_ctx = in->ctx,
			.status = RI_WC_FLUSHED,
			.opcode = qp->transport == ROCE_UD ? RI_OP_RECV_UD : RI_OP_RECV,
			.flags = RI_WC_RECEIVE | RI_WC_SOLICITED,
			.wq = in->shared ? in->number : in->rq.number,
			.wq_index = in->index,
			.shared = in->shared,
		};

		if (atomic_load(&in->have))
			(void)vsw_cq_push(in->cq, &cqe);
		in->shared = 0;
		atomic_store(&in->have, vsw_rq_take(&in->rq, in->wqe, &in->index));
	} while (atomic_load(&in->have));
}
