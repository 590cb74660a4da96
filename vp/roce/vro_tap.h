/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * What a station gives a capture [RI 11.3.7]: the packets that its sockets send and receive, with the headers that the kernel puts in
 * front of them, and sentences about connections. A captured socket has other functions than one that is not, so the fast path has no
 * instruction for it.
 *
 * A sentence is a comment of the next packet. That of an end has no packet to wait for: it is on an acknowledgement that is not sent,
 * of what the peer knows to be acknowledged.
 */
#ifndef VRO_TAP_H
#define VRO_TAP_H

#include "vro_verbs.h"

/* A socket of the station is opened. With the lock of the list of stations. */
void vro_tap_open(struct vro_station *station, struct vro_udp *udp);
/* The connection of a queue pair is established. Any thread. */
void vro_tap_established(struct vro_station *station);
/* It ends, with that event. In the role. */
void vro_tap_end(const struct vro_verbs_qp *qp, uint32_t kind);

#endif /* VRO_TAP_H */
