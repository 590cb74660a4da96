/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * One line of the log for each connection that has ended: its peer, and the cause in words.
 *
 * The level is info, because an end is not a lasting problem. A Terminate is shown in words and as
 * the octets of its control field, since the words are wrong if a little-endian siw sent it without
 * headers [WIRE 11.27].
 */
#include "viw_qp.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ri_errno.h"
#include "ri_log.h"
#include "ri_refused.h"
#include "viw_stream.h"

#define LINE_SIZE 360
#define WORD_SIZE 96

/*
 * Is this Terminate the answer of a peer that does not know messages of RFC 7306? siw then copies
 * no header. Without a header its bit order of the control field cannot be recognised
 * (rdmap_terminate_read), so 0206 looks like 2006, which occurs only in a start-up.
 */
static const char *
immediate_text(const struct viw_qp *qp, const struct viw_end *end)
{
	struct rdmap_terminate t;
	struct ddp_segment seg;

	if (!qp->tx.sent_immediate || !rdmap_terminate_read(end->terminate, end->terminate_len, &t))
		return "";
	bool opcode = t.code == rdmap_fault_code(RDMAP_FAULT_OPCODE);
	if (t.ddp == NULL)
		return opcode || t.code == rdmap_fault_code(RDMAP_FAULT_STARTUP_IRD)
			       ? "; the peer does not take immediate data, it seems"
			       : "";
	if (opcode && ddp_segment_read(t.ddp, t.ddp_len, t.ddp_len, &seg) == DDP_OK &&
	    rdmap_is_immediate(rdmap_opcode_of(seg.rdmap_control)))
		return "; the peer does not take immediate data";
	return "";
}

/* A Terminate, sent or received: layer, type and code in words, control field, segment. */
static void
terminate_text(const struct viw_end *end, char *out, size_t room)
{
	char segment[WORD_SIZE] = ""; /* that it complains about, if it repeats its header */
	struct rdmap_terminate t;
	struct ddp_segment seg;

	if (!rdmap_terminate_read(end->terminate, end->terminate_len, &t)) {
		(void)snprintf(out, room, "a Terminate without a control field");
		return;
	}
	if (t.ddp != NULL && ddp_segment_read(t.ddp, t.ddp_len, t.ddp_len, &seg) == DDP_OK) {
		const char *name = rdmap_opcode_name(rdmap_opcode_of(seg.rdmap_control));

		if (seg.tagged)
			(void)snprintf(segment, sizeof(segment),
				       "; about: %s, STag %08" PRIx32 ", TO %" PRIx64, name,
				       seg.stag, seg.to);
		else
			(void)snprintf(segment, sizeof(segment),
				       "; about: %s, MSN %" PRIu32 ", MO %" PRIu32, name, seg.msn,
				       seg.mo);
	}
	(void)snprintf(out, room,
		       "a Terminate, %04x: layer %s, %s, %s (octets %02x %02x %02x %02x%s)%s",
		       t.code, rdmap_terminate_layer(t.code), rdmap_terminate_type(t.code),
		       rdmap_terminate_text(t.code), t.raw[0], t.raw[1], t.raw[2], t.raw[3],
		       t.siw_order ? ", in the order of siw" : "", segment);
}

void
viw_log_refused(const struct viw_qp *qp, const char *call, int error)
{
	const struct ri_log_about about = {
		.layer = "iwarp", .adapter = qp->rnic->name, .qpn = qp->who.qpn};

	ri_log_refused(qp->rnic->host, &about, call, error);
}

/* Why the stream has ended, in words. */
static void
cause_text(const struct viw_qp *qp, const struct viw_end *end, char *cause, size_t room)
{
	char terminate[LINE_SIZE / 2 + WORD_SIZE];

	switch ((enum viw_qp_move)end->move) {
	case VIW_MOVE_TO_CLOSING:
		(void)snprintf(cause, room, "closed by this end");
		break;
	case VIW_MOVE_TO_ERROR:
		(void)snprintf(cause, room, "aborted by this end");
		break;
	case VIW_MOVE_PEER_FIN:
		(void)snprintf(cause, room, "closed by the peer");
		break;
	case VIW_MOVE_LOST:
		if (end->detail == ETIMEDOUT) /* [WIRE 8.11] */
			(void)snprintf(cause, room, "the peer has not answered for too long");
		else
			(void)snprintf(cause, room, "TCP failed: %s",
				       ri_errno_text((int)end->detail));
		break;
	case VIW_MOVE_TERMINATE_IN:
		terminate_text(end, terminate, sizeof(terminate));
		(void)snprintf(cause, room, "the peer sent %s%s", terminate,
			       immediate_text(qp, end));
		break;
	case VIW_MOVE_FAULT:
	case VIW_MOVE_TO_TERMINATE:
		terminate_text(end, terminate, sizeof(terminate));
		(void)snprintf(cause, room, "%s; this end sent %s",
			       end->move == VIW_MOVE_FAULT
				       ? rdmap_fault_text((enum rdmap_fault)end->fault)
				       : "the application or the start-up",
			       terminate);
		break;
	case VIW_MOVE_NONE:
	case VIW_MOVE_RESERVE:
	case VIW_MOVE_ATTACH:
	case VIW_MOVE_TO_IDLE:
	case VIW_MOVE_CLOSED:
	case VIW_MOVE_COUNT:
	default:
		(void)snprintf(cause, room, "%s", viw_qp_move_name((enum viw_qp_move)end->move));
		break;
	}
}

void
viw_end_tap(struct viw_qp *qp, const struct viw_end *end)
{
	char cause[LINE_SIZE], text[LINE_SIZE + 64];

	if (!qp->tap.on)
		return;
	cause_text(qp, end, cause, sizeof(cause));
	(void)snprintf(text, sizeof(text), "the connection ends: %.*s", LINE_SIZE, cause);
	viw_tap_note(qp, text);
}

void
viw_end_log(const struct viw_qp *qp, const struct viw_end *end, bool late)
{
	const struct ri_host *host = qp->rnic->host;
	char cause[LINE_SIZE];
	char peer[RI_LOG_ADDRESS];
	const struct ri_log_about about = {
		.layer = "iwarp", .adapter = qp->rnic->name, .qpn = qp->who.qpn, .peer = peer};

	if (!ri_log_wanted(host, RI_LOG_INFO))
		return;
	cause_text(qp, end, cause, sizeof(cause));
	ri_log_sockaddr(&qp->stream.peer.sa, peer, sizeof(peer));
	ri_log(host, RI_LOG_INFO, &about, "the connection has ended: %s%s", cause,
	       late ? "; the peer did not end it within 2 seconds" : "");
}
