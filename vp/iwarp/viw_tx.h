/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The sending role of a queue pair (viw_tx.c), and its part of the queue pair. The owner of tx.role owns all
 * of viw_tx that is not atomic: the send queue, the octets to send, the list of started requests.
 */
#ifndef VIW_TX_H
#define VIW_TX_H

#include "viw_tx_segment.h"
#include "vsw_lock.h"
#include "vsw_queue.h"

struct viw_qp;

/* A request whose last frame is built and that is not completed; viw_complete.c. */
struct viw_sent {
	uint64_t wr_id;
	union {
		uint64_t end;              /* octet of the stream behind it */
		struct {                   /* a Read or atomic */
			uint32_t read_seq; /* its number */
			uint32_t sink;     /* STag of its sink, for RI_WR_INVALIDATE */
		};
	};
	uint32_t index;  /* for vsw_cqe::wq_index */
	uint32_t length; /* posted total */
	uint8_t opcode;
	uint8_t flags;  /* RI_WR_SIGNALED, RI_WR_NOTIFY; a Read: RI_WR_INVALIDATE */
	uint8_t status; /* enum ri_wc_status; SUCCESS: not failed */
};

/* Whose message is being built. */
enum viw_tx_job {
	VIW_JOB_NONE = 0,
	VIW_JOB_REQUEST,
	VIW_JOB_IMMEDIATE, /* of a request: its Write is built, its immediate data is not */
	VIW_JOB_RESPONSE
};

struct viw_tx {
	struct vsw_role role;
	/*
	 * A poll has run, and released nothing, since the last request left: the application waits for an answer,
	 * so the next request is sent at once. Without the flag a message behind unsignalled requests, whose slots
	 * are not released yet, would be held back until the poll after it, in each turn of a ping-pong.
	 */
	atomic_bool send_at_once;
	atomic_bool held_back;   /* in viw_engine::held_back */
	atomic_bool posts_apart; /* a thread has released what another one posted */
	atomic_bool blocked;     /* the socket takes no more octets */
	atomic_bool starved;     /* the pool had no buffer */
	atomic_bool await_frame; /* ri_stream::await_fpdu: send nothing before the first frame */
	atomic_bool broken;      /* the socket failed */
	atomic_int error;        /* the errno of that */
	atomic_bool shut;        /* FIN sent */
	atomic_uint unattended;  /* requests sent at once because no thread polled */
	/* The thread whose requests are held back without a locked instruction (viw_engine_hold_back); NULL: none. */
	_Atomic(void *) holder;
	struct vsw_wq sq;
	uint8_t *buf;    /* from the pool, or set aside; only while it holds octets */
	uint32_t at;     /* first octet of buf that the socket has not taken */
	uint32_t len;    /* octets in buf */
	uint64_t queued; /* octets of the stream built so far */
	uint64_t given;  /* octets the socket took */
	struct viw_segment segment;
	uint32_t send_msn;
	uint32_t read_msn;
	uint32_t atomic_msn; /* of the answers to the peer */
	uint8_t job;         /* enum viw_tx_job */
	bool response_last;  /* the last message was a response: a request goes first now */
	bool have_request;   /* wqe holds a request that was taken from the send queue */
	bool checked;        /* that request is well-formed */
	bool failed;         /* a request failed: no later one may start */
	bool behind;         /* its completion is pushed: later ones are flushed */
	bool drained;        /* CLOSING: posted requests have been tried; no more start */
	bool terminate_queued;
	bool sent_immediate; /* the stream had immediate data: why a peer that does not know it may end it */
	bool direct;       /* this fill has sent payload past the buffer */
	uint32_t index;    /* of the request */
	uint32_t total;    /* its length */
	uint32_t done;     /* octets of its message built */
	uint32_t sge;      /* segment where it continues */
	uint32_t sge_done; /* octets of that segment built */
	struct viw_sent *sent;
	uint32_t sent_mask;
	uint32_t sent_head;
	uint32_t sent_tail;
	struct vsw_wqe *wqe; /* copy of the request, with room for what an entry of the queue has */
};

/* Doorbells of the user half. */
void viw_doorbell_sq(void *qp);
void viw_doorbell_flush(void *qp);
/* Run the sending role until there is nothing more to do now; if it is taken, set its retry flag. */
void viw_tx_run(struct viw_qp *qp);
/* The same, but without the retry flag: for callers that come again anyway. */
void viw_tx_try(struct viw_qp *qp);
/* Give the role up, after a round for each retry flag. */
void viw_tx_leave(struct viw_qp *qp);
/* The socket failed with this errno, or takes no more. Owner of tx.role. */
void viw_tx_push_failed(struct viw_qp *qp, int error);
/* Send what is in the buffer. False: the socket takes no more now. Owner of tx.role. */
bool viw_tx_push(struct viw_qp *qp);
/* An empty buffer of VIW_BUF_SIZE in tx.buf; the socket has taken all octets. False: the pool has none. Owner of tx.role. */
bool viw_tx_buffer(struct viw_qp *qp);

#endif /* VIW_TX_H */
