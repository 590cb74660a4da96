/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* FPDUs and TCP segments, and markers, of what is sent; viw_tx_segment.c. */
#ifndef VIW_TX_SEGMENT_H
#define VIW_TX_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct viw_qp;
struct ri_stream;

/* How the FPDUs of a stream go into TCP segments; part of viw_tx. */
struct viw_segment {
	bool special;     /* `aligned` or `markers`: viw_tx_segments_send sends */
	bool aligned;     /* FPDUs begin and end with segments */
	bool markers;     /* the peer wants markers */
	bool has_markers; /* markers are in the buffer already */
	uint32_t room;    /* octets of frames to build in the buffer, more or less */
	uint32_t emss;    /* octets that one segment carries, when it was asked for last */
	uint32_t ulpdu;   /* longest ULPDU to send */
	uint32_t cut; /* octets to send first: the rest of a group that the socket took in part */
	uint64_t ask_at;   /* octets built after which `emss` is asked for again */
	uint64_t marked;   /* markers: plain octets that went into the stream so far */
	uint64_t position; /* markers: octets of the stream that the socket took */
};

/* A new stream; its socket is qp->stream.fd. Owner of tx.role. */
void viw_segments_reset(struct viw_qp *qp, const struct ri_stream *stream);
/* Ask for the size of a segment, and choose the longest ULPDU from it (RFC 5044 5.1). Owner of tx.role. */
void viw_segments_ask(struct viw_qp *qp);
/* What the buffer held is dropped: the peer will not read it. Owner of tx.role. */
void viw_segments_drop(struct viw_qp *qp);
/*
 * Send octets of the buffer, if the stream is special; advances tx.at and tx.given. As send(): octets, or -1
 * and errno. Owner of tx.role.
 */
ssize_t viw_segments_send(struct viw_qp *qp);

#endif /* VIW_TX_SEGMENT_H */
