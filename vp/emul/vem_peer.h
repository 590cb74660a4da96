/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Connections by attributes, for the files of vp/emul. */
#ifndef VEM_PEER_H
#define VEM_PEER_H

#include "vem.h"

extern const struct ri_peer_ops vem_peer_ops;

/* Execute the request taken from the send queue. False: it must wait; the queue will be run again. */
bool vem_peer_execute(struct vem_qp *qp);
/* How long a message waits for a receive of the peer (ns); RI_NEVER: without end. The caller has a use of the peer. */
uint64_t vem_peer_rnr_wait(const struct vem_qp *qp, const struct vem_qp *peer);
/* The time for tries is over; of vem_qp::lost_timer. */
void vem_peer_lost_fire(void *arg);
/* It leaves its pair soon: from now on nobody makes it a part of one. */
void vem_peer_part(struct vem_qp *qp);

#endif /* VEM_PEER_H */
