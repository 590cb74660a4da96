/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The receiving role of a queue pair (viw_rx.c), and its part of the queue pair. The owner of rx.role owns all of
 * viw_rx that is not atomic: the receive queue, the frame that is being received, the receive that it goes to.
 */
#ifndef VIW_RX_H
#define VIW_RX_H

#include "mpa_marker.h"
#include "rdmap_check.h"
#include "viw_rx_place.h"
#include "vsw_srq.h"

/*
 * Octets of a frame that are collected before its payload is placed: length, DDP header, and the longest
 * control message. Control messages are read from here and from nowhere else; rdmap_check_header() refuses
 * longer ones.
 */
#define VIW_HEAD_ROOM (MPA_LENGTH_SIZE + DDP_UNTAGGED_SIZE + RDMAP_TERMINATE_MAX)

/* At least this many octets of payload must be missing to be received in place, which is done without CRC only. */
#define VIW_RX_DIRECT 8192u

/* How far a frame has been received. */
enum viw_rx_phase {
	VIW_RX_HEAD = 0, /* collecting its header */
	VIW_RX_BEGIN,    /* the header is complete; a Send waits for a receive */
	VIW_RX_BODY,     /* placing payload */
	VIW_RX_TAIL      /* collecting PAD and CRC */
};

struct viw_rx {
	struct vsw_role role;
	atomic_bool waiting;          /* a Send waits for a receive */
	atomic_bool expired;          /* it has waited too long */
	atomic_bool eof;              /* nothing more will arrive */
	atomic_bool hung_up;          /* the kernel reported an error or both FINs */
	atomic_bool limits_new;       /* the watermarks were changed: compare at once */
	struct vsw_wq rq;             /* without slots if there is an SRQ */
	struct vsw_srq_member member; /* of the SRQ */
	uint8_t *spare;               /* a buffer kept from round to round while streams are few */
	uint8_t *keep; /* octets behind a Send that waits: from the pool, or set aside */
	uint32_t keep_at;
	uint32_t keep_len;
	uint8_t phase;        /* enum viw_rx_phase */
	bool waited;          /* a Send has waited for a receive, and the log says so */
	bool served;          /* by the service thread; see sends_first in viw_complete.c */
	bool want_tx;         /* this round made work for the sending role */
	bool have_receive;    /* wqe holds a receive that was taken */
	bool large;           /* the last frame was large: more of them are likely */
	uint8_t head_len;     /* octets in head */
	uint8_t tail_len;     /* octets in tail */
	uint32_t frame_ulpdu; /* ULPDU length of the current frame */
	uint32_t placed;      /* octets of its payload done */
	uint32_t crc;         /* of the frame so far */
	uint32_t wq;          /* of the receive: for vsw_cqe::wq and wq_index */
	uint32_t index;
	uint32_t inv_stag; /* of the message in the receive, from its first segment */
	uint32_t refused;  /* enum ri_event: why there is no receive; 0: none of these reasons */
	uint64_t capacity; /* octets of the receive */
	enum rdmap_fault fault;           /* of the current frame */
	enum ri_wc_status receive_status; /* of a receive that failed */
	struct ddp_segment seg;
	uint32_t control_len; /* octets of the payload that lie at seg.payload */
	struct viw_rx_target target;
	struct rdmap_inbound in;
	struct mpa_unmark unmark; /* if viw_stream::markers: the stream carries markers */
	uint8_t head[VIW_HEAD_ROOM];
	uint8_t tail[8];
	atomic_uint samples; /* rounds that read octets of this stream; 0: nothing has come */
	struct vsw_wqe
		*wqe; /* copy of the receive, with room for as many segments as the queue has */
};

/* Doorbell of the user half. */
void viw_doorbell_rq(void *qp);
/* Run the receiving role; if it is taken, set its retry flag. Returns the octets read, more or less. */
uint32_t viw_rx_run(struct viw_qp *qp);
/* The same, but without the retry flag: for callers that come again anyway. */
uint32_t viw_rx_try(struct viw_qp *qp);
/* The same, on the service thread. */
uint32_t viw_rx_serve(struct viw_qp *qp);
/* Give the role up, after a round for each retry flag. */
void viw_rx_leave(struct viw_qp *qp);

#endif /* VIW_RX_H */
