/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Large payload without a copy; viw_tx_direct.c. */
#ifndef VIW_TX_DIRECT_H
#define VIW_TX_DIRECT_H

#include "ddp_segment.h"
#include "vsw_mem.h"

struct viw_qp;

#define VIW_DIRECT_MIN 16384u /* octets of payload in one piece from which it is worth it */
/*
 * The maximum of frames in one system call: on a path with an MTU of 1,500 octets they are 90 KiB.
 * And the maximum of payload: a message of 1 MiB in one call, but not more, since a thread that
 * revokes the region waits for the end of the call.
 */
#define VIW_DIRECT_FRAMES 64u
#define VIW_DIRECT_MOST   (1152u * 1024)

/* The next octets of a message. */
struct viw_direct {
	struct ddp_segment seg; /* header of the first frame; L, lengths and offsets are computed */
	struct vsw_mem_access wanted; /* where they are, and how many of them are in one piece */
	uint32_t left;                /* octets to the end of the message */
};

/* Can they be sent without a copy? */
bool viw_tx_is_direct(const struct viw_qp *qp, const struct viw_direct *d);
/* Send what the socket takes now. *begun: octets of payload that are sent or in the buffer. Owner of tx.role. */
enum vsw_mem_result viw_tx_direct(struct viw_qp *qp, const struct viw_direct *d, uint32_t *begun);

#endif /* VIW_TX_DIRECT_H */
