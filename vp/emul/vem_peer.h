/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Connections by attributes, for the files of vp/emul. */
#ifndef VEM_PEER_H
#define VEM_PEER_H

#include "vem.h"

extern const struct ri_peer_ops vem_peer_ops;

/* Execute the request taken from the send queue. False: it must wait; the queue will be run again. */
bool vem_peer_execute(struct vem_qp *qp);
/* How long a message waits for a receive of a peer with this code (ns); RI_NEVER: without end. */
uint64_t vem_peer_rnr_wait(uint8_t retries, uint8_t code);
/* The code of the longest wait that is not longer than that. */
uint8_t vem_peer_rnr_code(uint64_t wait);
/* Requests wait for answers of another process: vem_qp::tries_until ends their tries. */
void vem_peer_watch(struct vem_qp *qp);
/* The process of the partner has answered that it has none for this queue pair: the time for tries, which was over, ends. */
void vem_peer_not_found(struct vem_qp *qp);
/* A message has come. */
void vem_peer_heard(struct vem_qp *qp);
/* The queue pair with that number, or NULL. With the fabric's lock. */
struct vem_qp *vem_peer_numbered(struct vem_fabric *fabric, uint32_t qpn);
/* The time for tries is over; of vem_qp::lost_timer. */
void vem_peer_lost_fire(void *arg);
/* It leaves its pair soon: from now on nobody makes it a part of one. */
void vem_peer_part(struct vem_qp *qp);

#endif /* VEM_PEER_H */
