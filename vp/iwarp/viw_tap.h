/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Octets of a stream for a capture [RI 11.3.7]: exactly what its socket sent and received, and why
 * the stream ended.
 *
 * A stream that is captured uses the functions for streams with markers: it sends by
 * viw_segments_send(), and receives by the round for markers. Other streams do not run this code,
 * so the fast path has no instruction for captures.
 */
#ifndef VIW_TAP_H
#define VIW_TAP_H

#include "ri_capture.h"

struct viw_qp;

/* Of a stream; part of viw_qp. */
struct viw_tap {
	bool on;
	struct ri_captured what; /* its ends */
};

/* A new stream, whose socket is qp->stream.fd. Owner of both roles. */
void viw_tap_begin(struct viw_qp *qp);
/* Octets that the socket took (owner of tx.role) or gave (owner of rx.role); none if len is not positive. */
__attribute__((cold)) void viw_tap_octets(struct viw_qp *qp, const void *octets, ssize_t len,
					  bool received);
/* The stream ends: orderly, or by a reset. Owner of both roles. */
void viw_tap_end(struct viw_qp *qp, bool orderly);
/* A sentence about the stream. Any thread that owns a role. */
void viw_tap_note(struct viw_qp *qp, const char *text);
/* A request completes with an error. Owner of tx.role. */
__attribute__((cold)) void viw_tap_failed(struct viw_qp *qp, uint64_t wr_id, uint8_t status);

#endif /* VIW_TAP_H */
