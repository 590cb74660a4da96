/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Packets of a station for a capture [RI 11.3.7]: those that its sockets send and receive, with the
 * headers that the kernel puts in front of them, and comments about connections. A captured socket
 * uses other functions, so the fast path has no instruction for captures.
 *
 * A comment belongs to the next packet. After the end of a connection no packet follows; so the
 * comment is put on an acknowledgement that is not really sent, for packets that the peer knows to
 * be acknowledged.
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
