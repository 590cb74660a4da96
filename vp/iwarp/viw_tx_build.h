/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Frames of requests and responses; viw_tx_build.c. */
#ifndef VIW_TX_BUILD_H
#define VIW_TX_BUILD_H

#include <stdbool.h>
#include <stdint.h>

struct viw_qp;

/* Build the frames that may be sent now in the buffer. False: there are none. Owner of tx.role. */
bool viw_tx_fill(struct viw_qp *qp);
/* Octets of a frame that carries `payload` octets. */
uint32_t viw_frame_size(bool tagged, uint32_t payload);

#endif /* VIW_TX_BUILD_H */
