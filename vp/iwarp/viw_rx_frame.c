/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * From octets to frames [fast].
 *
 * A small frame that has arrived completely is checked and executed at once. Any other frame goes through
 * four phases that may stop at any octet: its header is collected (HEAD) and checked (BEGIN), its payload is
 * placed as it arrives (BODY), its CRC is compared (TAIL). So a queue pair never keeps more of a frame than
 * its header. Payload may be placed before the CRC check, but never delivered. An error in a header is
 * reported only after the CRC check, so the answer to a frame does not depend on how TCP segmented it
 * [WIRE 5.8].
 *
 * The owner of rx.role. Standards: RFC 5044 4, 6 and 8, RFC 5041 5 to 7, RFC 5040 5 to 7.
 */
#include "viw_rx_frame.h"
#include "viw_qp.h"
#include "viw_why.h"

#include <string.h>
#include <sys/epoll.h>

#define VIW_RX_SMALL 1024u /* longest ULPDU whose CRC is checked before anything else */

/* --- faults -------------------------------------------------------------------------------- */

/* The current frame is wrong. Unless the fault is the CRC, the CRC is right. */
static void
frame_fault(struct viw_qp *qp, enum rdmap_fault fault)
{
	struct viw_rx *rx = &qp->rx;
	struct rdmap_offender offender = {.ulpdu = rx->head + MPA_LENGTH_SIZE,
					  .have = rx->head_len - MPA_LENGTH_SIZE,
					  .ulpdu_len = rx->frame_ulpdu};
	bool request = !rx->seg.tagged && rx->seg.qn == DDP_QN_READ_REQUEST;
	uint32_t event = 0; /* if it depends on more than the fault */

	if (fault == RDMAP_FAULT_MSN && request)
		event = RI_EVENT_QP_IRRQ_MSN_GAP;
	else if (fault == RDMAP_FAULT_HEADER_SIZE && request)
		event = RI_EVENT_QP_READ_MALFORMED;
	else if (fault == RDMAP_FAULT_TAGGED_ACCESS &&
		 (qp->init.access & RI_ACCESS_REMOTE_WRITE) == 0)
		event = RI_EVENT_QP_WRITE_DISABLED;
	else if (fault == RDMAP_FAULT_STREAM_CATASTROPHIC)
		event = rx->refused;
	rx->want_tx = true;
	if (fault == RDMAP_FAULT_CRC)
		ri_count(&qp->count->crc_errors, 1);
	if (viw_qp_state(qp) == RI_QPS_RTS)
		viw_why_frame(qp, fault);
	if (fault == RDMAP_FAULT_CRC)
		viw_fault(qp, fault, NULL, 0);
	else if (rx->head_len > 3 && rdmap_opcode_of(rx->head[3]) == RDMAP_TERMINATE)
		/* A malformed Terminate ends the stream, too; its content is only logged. */
		viw_terminate_in(qp, rx->seg.payload, rx->control_len);
	else
		viw_fault(qp, fault, &offender, event);
}

/*
 * The timer was set, or stopped, for a Send that waits for a receive. The end of the stream may
 * have begun meanwhile and use the same timer; so the end's timer is restored. The end stores its
 * state first, and this reads the state last.
 */
static void
end_timer_restore(struct viw_qp *qp)
{
	if (viw_qp_state(qp) != RI_QPS_RTS)
		viw_end_timer_start(qp);
}

/* A Send found no receive: stop reading until one is posted, or the time is over. */
static void
wait_for_receive(struct viw_qp *qp)
{
	const struct ri_host *host = qp->rnic->host;
	struct viw_rx *rx = &qp->rx;

	if (atomic_exchange(&rx->waiting, true))
		return;
	/* Once for a connection: it may happen with every message. */
	if (!rx->waited)
		viw_say(qp,
			"%s waits, since no receive is posted; without one the connection ends in "
			"%llu ms",
			viw_why_taker(qp), (unsigned long long)(qp->rnic->rnr_ns / 1000000));
	rx->waited = true;
	ri_count(&qp->count->retries, 1);
	viw_engine_want(qp, 0, EPOLLIN);
	host->timer_start(host->self, &qp->timer, host->now(host->self) + qp->rnic->rnr_ns);
	end_timer_restore(qp);
}

void
viw_rx_stop_waiting(struct viw_qp *qp)
{
	const struct ri_host *host = qp->rnic->host;

	/* First the timer: its function may be running, and would set `expired` for the next wait. */
	host->timer_stop(host->self, &qp->timer);
	atomic_store(&qp->rx.waiting, false);
	atomic_store(&qp->rx.expired, false);
	end_timer_restore(qp);
	viw_engine_want(qp, EPOLLIN, 0);
}

/* --- one frame in phases ------------------------------------------------------------------- */

uint32_t
viw_rx_head_wanted(const struct viw_rx *rx)
{
	uint32_t frame = MPA_LENGTH_SIZE + wire_load_be16(rx->head);
	uint32_t wanted = RDMAP_FPDU_PAYLOAD_TAGGED;

	if (rx->head_len < 4)
		wanted = 4;
	else if (rdmap_rules[rdmap_opcode_of(rx->head[3])].single)
		wanted = VIW_HEAD_ROOM;
	else if ((rx->head[2] & DDP_CONTROL_TAGGED) == 0)
		wanted = RDMAP_FPDU_PAYLOAD_UNTAGGED;
	return frame < wanted ? frame : wanted;
}

/* Take octets of the header; true when it is complete. */
static bool
head_take(struct viw_rx *rx, const uint8_t **at, const uint8_t *end)
{
	for (;;) {
		uint32_t wanted =
			rx->head_len < MPA_LENGTH_SIZE ? MPA_LENGTH_SIZE : viw_rx_head_wanted(rx);
		uint32_t n = wanted - rx->head_len;

		if (n == 0)
			return true;
		if (n > (size_t)(end - *at))
			n = (uint32_t)(end - *at);
		if (n == 0)
			return false;
		memcpy(rx->head + rx->head_len, *at, n);
		rx->head_len = (uint8_t)(rx->head_len + n);
		*at += n;
	}
}

bool
viw_rx_head_done(struct viw_qp *qp)
{
	struct viw_rx *rx = &qp->rx;
	uint32_t have = rx->head_len - MPA_LENGTH_SIZE;

	assert(vsw_role_is_taken(&qp->rx.role));
	if (rx->phase == VIW_RX_HEAD) {
		rx->frame_ulpdu = wire_load_be16(rx->head);
		rx->crc = qp->stream.crc ? mpa_crc(rx->head, rx->head_len, 0) : 0;
		rx->fault = RDMAP_FAULT_NONE;
		rx->tail_len = 0;
		rx->placed = 0;
		rx->phase = VIW_RX_BEGIN;
		viw_rx_target_close(&rx->target);
		if (ddp_segment_read(rx->head + MPA_LENGTH_SIZE, have, rx->frame_ulpdu, &rx->seg) !=
		    DDP_OK) {
			rx->fault = RDMAP_FAULT_HEADER_SIZE;
			rx->seg.payload_len = rx->frame_ulpdu - have;
		}
		rx->control_len = rx->seg.payload != NULL
					  ? have - (rx->frame_ulpdu - rx->seg.payload_len)
					  : 0;
	}
	if (rx->fault == RDMAP_FAULT_NONE && viw_rx_begin(qp, false) == VIW_RX_WAIT) {
		wait_for_receive(qp);
		return false;
	}
	rx->placed = rx->control_len;
	rx->phase = VIW_RX_BODY;
	return true;
}

/* Continue with the current frame. False: octets are missing, or it waits for a receive. */
static bool
frame_in_phases(struct viw_qp *qp, const uint8_t **at, const uint8_t *end)
{
	struct viw_rx *rx = &qp->rx;

	if (rx->phase == VIW_RX_HEAD && !head_take(rx, at, end))
		return false;
	if (rx->phase <= VIW_RX_BEGIN && !viw_rx_head_done(qp))
		return false;
	if (rx->phase == VIW_RX_BODY) {
		uint32_t left = rx->seg.payload_len - rx->placed;
		bool all = left <= (size_t)(end - *at);

		if (!all)
			left = (uint32_t)(end - *at);
		if (left > 0) {
			viw_rx_place(qp, *at, left);
			*at += left;
		}
		if (!all)
			return false;
		rx->phase = VIW_RX_TAIL;
	}
	/* PAD and CRC. */
	uint32_t n = mpa_pad(rx->frame_ulpdu) + MPA_CRC_SIZE - rx->tail_len;
	bool whole = n <= (size_t)(end - *at);

	if (!whole)
		n = (uint32_t)(end - *at);
	memcpy(rx->tail + rx->tail_len, *at, n);
	rx->tail_len = (uint8_t)(rx->tail_len + n);
	*at += n;
	if (!whole)
		return false;

	/* The frame is complete. */
	uint32_t pad = mpa_pad(rx->frame_ulpdu);

	rx->phase = VIW_RX_HEAD;
	if (qp->stream.crc) {
		if (pad > 0)
			rx->crc = mpa_crc(rx->tail, pad, rx->crc);
		if (rx->crc != mpa_crc_load(rx->tail + pad))
			rx->fault = RDMAP_FAULT_CRC;
	}
	if (rx->fault != RDMAP_FAULT_NONE)
		frame_fault(qp, rx->fault);
	else
		viw_rx_finish(qp);
	viw_rx_target_close(&rx->target);
	rx->large = rx->seg.payload_len >= VIW_RX_DIRECT;
	rx->head_len = 0;
	return true;
}

/* --- many frames --------------------------------------------------------------------------- */

/* Keep the octets of a frame that a Terminate may repeat. */
static void
head_copy(struct viw_rx *rx, const uint8_t *at, uint32_t ulpdu_len)
{
	uint32_t n = MPA_LENGTH_SIZE + ulpdu_len;

	rx->frame_ulpdu = ulpdu_len;
	rx->head_len = (uint8_t)(n < VIW_HEAD_ROOM ? n : VIW_HEAD_ROOM);
	memcpy(rx->head, at, rx->head_len);
}

/* Check and execute a small frame that has arrived completely. False: it waits for a receive. */
static bool
frame_at_once(struct viw_qp *qp, const uint8_t *at, uint32_t size, uint32_t ulpdu_len)
{
	struct viw_rx *rx = &qp->rx;
	uint32_t covered = size - MPA_CRC_SIZE;
	bool crc_ok = !qp->stream.crc || mpa_crc(at, covered, 0) == mpa_crc_load(at + covered);

	rx->frame_ulpdu = ulpdu_len;
	rx->fault = crc_ok ? RDMAP_FAULT_NONE : RDMAP_FAULT_CRC;
	rx->placed = 0;
	viw_rx_target_close(&rx->target);
	if (crc_ok &&
	    ddp_segment_read(at + MPA_LENGTH_SIZE, ulpdu_len, ulpdu_len, &rx->seg) != DDP_OK)
		rx->fault = RDMAP_FAULT_HEADER_SIZE;
	rx->control_len = rx->seg.payload_len;
	if (rx->fault == RDMAP_FAULT_NONE && viw_rx_begin(qp, true) == VIW_RX_WAIT)
		return false;
	if (rx->target.kind != VIW_RX_NOWHERE)
		viw_rx_place(qp, rx->seg.payload, rx->seg.payload_len);
	viw_rx_target_close(&rx->target);
	if (rx->fault == RDMAP_FAULT_NONE) {
		viw_rx_finish(qp);
		return true;
	}
	head_copy(rx, at, ulpdu_len);
	frame_fault(qp, rx->fault);
	rx->head_len = 0;
	return true;
}

uint32_t
viw_rx_feed(struct viw_qp *qp, const uint8_t *from, uint32_t len)
{
	struct viw_rx *rx = &qp->rx;
	const uint8_t *at = from;
	const uint8_t *end = from + len;

	assert(vsw_role_is_taken(&qp->rx.role));
	while (at < end && viw_qp_state(qp) == RI_QPS_RTS) {
		uint32_t ulpdu_len = end - at >= 2 ? wire_load_be16(at) : MPA_ULPDU_MAX;
		uint32_t size = mpa_fpdu_size(ulpdu_len);

		if (rx->phase != VIW_RX_HEAD || rx->head_len > 0 || ulpdu_len > VIW_RX_SMALL ||
		    size > (size_t)(end - at)) {
			if (!frame_in_phases(qp, &at, end))
				break;
			ri_count(&qp->count->frames_received, 1);
			continue;
		}
		if (!frame_at_once(qp, at, size, ulpdu_len)) {
			wait_for_receive(qp);
			break;
		}
		rx->large = false;
		ri_count(&qp->count->frames_received, 1);
		at += size;
	}
	return (uint32_t)(at - from);
}

void
viw_rx_give_up(struct viw_qp *qp)
{
	struct viw_rx *rx = &qp->rx;

	if (rx->phase == VIW_RX_HEAD && rx->keep != NULL)
		head_copy(rx, rx->keep + rx->keep_at, wire_load_be16(rx->keep + rx->keep_at));
	frame_fault(qp, RDMAP_FAULT_NO_BUFFER);
}
