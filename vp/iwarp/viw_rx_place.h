/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What a segment does to memory, queues and completions; viw_rx_place.c. Owner of rx.role. */
#ifndef VIW_RX_PLACE_H
#define VIW_RX_PLACE_H

#include <stdbool.h>
#include <stdint.h>

struct viw_qp;
struct vsw_mem_use;

/* Where payload of the current frame may go. */
enum viw_rx_target_kind {
	VIW_RX_NOWHERE = 0, /* the CRC covers it and it is discarded */
	VIW_RX_RECEIVE,     /* to the receive in rx.wqe */
	VIW_RX_TAGGED       /* to the region that the header names */
};

/*
 * The only way from payload to memory. The check of a header opens it for that frame; it is closed before
 * each header, behind each frame and with the stream. So a frame whose check opened nothing writes
 * nothing, whatever an earlier frame has left in rx.wqe and rx.seg.
 */
struct viw_rx_target {
	enum viw_rx_target_kind kind;
	uint32_t stag; /* TAGGED: the region */
	uint64_t at;  /* of the first octet of payload: its address, or its offset in the receive */
	uint32_t len; /* octets that passed the check */
};

enum viw_rx_verdict {
	VIW_RX_OK = 0,
	VIW_RX_FAULT, /* rx.fault says which */
	VIW_RX_WAIT   /* a Send without a receive */
};

/* The header in rx.seg is complete: may its payload be placed? `here`: all of the payload has arrived. */
enum viw_rx_verdict viw_rx_begin(struct viw_qp *qp, bool here);
/* Copy `len` octets to where octet rx.placed of the payload belongs; rx.crc covers them. */
void viw_rx_place(struct viw_qp *qp, const uint8_t *from, uint32_t len);
/*
 * Find where at most `len` octets, beginning with octet rx.placed of the payload, can be received
 * directly. NULL: nowhere; rx.fault gives the reason, if the target was open. The caller ends the
 * use by vsw_mem_end.
 */
uint8_t *viw_rx_place_target(struct viw_qp *qp, uint32_t *len, struct vsw_mem_use *use);
/* The access to the target failed, since a page of it is lost: sets rx.fault. */
void viw_rx_target_lost(struct viw_qp *qp);
/* No payload goes anywhere until the next header has passed its check. */
static inline void
viw_rx_target_close(struct viw_rx_target *target)
{
	target->kind = VIW_RX_NOWHERE;
}
/* The frame is complete and its CRC right: deliver. */
void viw_rx_finish(struct viw_qp *qp);

#endif /* VIW_RX_PLACE_H */
