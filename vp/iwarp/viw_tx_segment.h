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
	bool special;         /* `aligned` or `markers`, or captured: viw_segments_send() sends */
	bool aligned;         /* FPDUs begin and end with segments */
	bool markers;         /* the peer wants markers */
	bool has_markers;     /* markers are in the buffer already */
	bool paced;           /* one call of the socket has no more than about `room` octets */
	bool runs;            /* groups that fill their segments are one message */
	bool edge_known;      /* the kernel says where the peer's window ends */
	bool narrow;          /* what is sent passes that, so the socket takes little */
	uint32_t room;        /* octets of frames to build in the buffer, more or less */
	uint32_t emss;        /* octets that one segment carries, when it was asked for last */
	uint32_t emss_most;   /* the most that was ever told */
	uint32_t window_most; /* the largest window of the peer that was seen */
	uint32_t mulpdu;      /* longest ULPDU of a segment */
	uint32_t ulpdu; /* longest ULPDU of the next frame: that one, or what fills a segment */
	uint32_t seen;  /* octets of the buffer whose frames are counted in `last` */
	uint32_t last;  /* octets of these frames in the last of their segments */
	uint32_t cut;   /* octets to send first: the rest of a group that the socket took in part */
	uint32_t lowat; /* TCP_NOTSENT_LOWAT before the stream */
	uint64_t ask_at;      /* octets built after which viw_segments_ask is due; 0: always */
	uint64_t asked_until; /* octets built after which `emss` is asked for again */
	uint64_t marked;      /* markers: plain octets that went into the stream so far */
	uint64_t position;    /* octets of the stream that the socket took */
	uint64_t acked; /* what the kernel says was acknowledged, when no octet of the stream was */
	int64_t edge; /* octet of the stream behind the peer's window, when it was asked for last */
};

/* A new stream; its socket is qp->stream.fd. Owner of tx.role. */
void viw_segments_reset(struct viw_qp *qp, const struct ri_stream *stream);
/* Choose the longest ULPDU of the next frame; asks for the size of a segment if that is due. Owner of tx.role. */
void viw_segments_ask(struct viw_qp *qp);
/* What the buffer held is dropped: the peer will not read it. Owner of tx.role. */
void viw_segments_drop(struct viw_qp *qp);
/*
 * Send octets of the buffer, for streams that are aligned, marked or captured; advances tx.at and
 * tx.given. Returns octets, or -1 with errno, like send(). The caller owns tx.role.
 */
ssize_t viw_segments_send(struct viw_qp *qp);

#endif /* VIW_TX_SEGMENT_H */
