/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Frames of requests and responses; viw_tx_build.c. */
#ifndef VIW_TX_BUILD_H
#define VIW_TX_BUILD_H

#include <stdbool.h>
#include <stdint.h>

#include "viw_qp.h"

/* What viw_tx_fill has built. */
enum viw_tx_filled {
	VIW_TX_NOTHING = 0, /* no frame may be sent now */
	VIW_TX_SOME,        /* frames; another fill may build more */
	VIW_TX_ALL          /* frames, and viw_tx_all_built after the last of them */
};

/* Build the frames that may be sent now in the buffer. Owner of tx.role. */
enum viw_tx_filled viw_tx_fill(struct viw_qp *qp);
/* Is there no request and no response to build from? What comes later sets the role's retry flag. Owner of tx.role. */
bool viw_tx_all_built(struct viw_qp *qp);
/* The longest ULPDU of the next frame. Owner of tx.role. */
static inline uint32_t
viw_tx_ulpdu(struct viw_qp *qp)
{
	if (qp->tx.queued >= qp->tx.segment.ask_at)
		viw_segments_ask(qp);
	return qp->tx.segment.ulpdu;
}

/* Octets of a frame that carries `payload` octets. */
uint32_t viw_frame_size(bool tagged, uint32_t payload);

#endif /* VIW_TX_BUILD_H */
