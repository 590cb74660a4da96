/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* From octets to frames; viw_rx_frame.c. Owner of rx.role. */
#ifndef VIW_RX_FRAME_H
#define VIW_RX_FRAME_H

#include <stdbool.h>
#include <stdint.h>

struct viw_qp;
struct viw_rx;

/* Walk over octets that have arrived; returns how many are dealt with. */
uint32_t viw_rx_feed(struct viw_qp *qp, const uint8_t *from, uint32_t len);
/* Octets of the current frame to collect before its payload is placed; at least 2 are in rx->head. */
uint32_t viw_rx_head_wanted(const struct viw_rx *rx);
/* The header in rx.head is complete: check it. False: a Send waits for its receive. */
bool viw_rx_head_done(struct viw_qp *qp);
/* A Send that waited has its receive, and continues. */
void viw_rx_stop_waiting(struct viw_qp *qp);
/* A Send waited for a receive until its time was over. */
void viw_rx_give_up(struct viw_qp *qp);

#endif /* VIW_RX_FRAME_H */
