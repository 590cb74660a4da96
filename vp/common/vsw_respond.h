/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The responder executes the messages that the peer of a queue pair sends. It finds the key, checks rights and bounds,
 * takes the receive, places the octets, invalidates, executes atomics, and completes the receive.
 *
 * A *message* is the operation of one request of the peer. Its octets come in *pieces*, in order: all at once from a
 * peer in this process, in parts from a wire. Each piece of a Write is checked by itself, since the right to write may
 * be revoked between two; a Send takes its receive at its first piece, and completes it at its last. The memory of a
 * responder is accessed only here, on a thread of its own process.
 *
 * Each function returns NULL if it has executed the message, else the reason, a struct vsw_refusal.
 * Two reasons are not refusals of the message: vsw_no_receive, after which the same piece may come
 * again when a receive was posted, and vsw_octets_lost, a failure of the sender's memory.
 *
 * Threads: vsw_respond_send, vsw_respond_write_immediate and vsw_receive_take need the role vsw_responder::role. The others run
 * on any thread, several at once. Nothing here blocks or allocates.
 */
#ifndef VSW_RESPOND_H
#define VSW_RESPOND_H

#include "vsw_atomic.h"
#include "vsw_lock.h"
#include "vsw_queue.h"
#include "vsw_spans.h"
#include "vsw_srq.h"

/* Why a message is refused: what each side reports. */
struct vsw_refusal {
	uint32_t event;           /* enum ri_event at the responder */
	uint32_t code;            /* of an iWARP Terminate: layer, type, code */
	enum ri_wc_status status; /* that the request completes with on InfiniBand */
	const char *why;          /* in words; NULL: the access, which is looked at again */
};

extern const struct vsw_refusal vsw_no_receive;
extern const struct vsw_refusal vsw_octets_lost; /* a page of the message is lost at its sender */
extern const struct vsw_refusal vsw_too_many_reads;
extern const char
	vsw_why_sink[]; /* vsw_refusal::why: the memory of the receive, which is looked at again */

struct vsw_responder;

/* What a responder asks of its provider. Called with the role `role`, but for `say`. */
struct vsw_responder_ops {
	/* The completion queue had no place for the completion of a receive. */
	void (*overflow)(struct vsw_responder *in);
	/* An SRQ's receive was completed: are more in progress than the watermarks allow? */
	void (*limits)(struct vsw_responder *in);
	/* Its own memory failed under an unreliable message; its sender learns nothing of it. */
	void (*failed)(struct vsw_responder *in);
	/* A line for the log. */
	void (*say)(struct vsw_responder *in, const char *text);
};

/* Part of a queue pair. The members above `role` are fixed while messages come, but for `access` and `ird`. */
struct vsw_responder {
	const struct vsw_responder_ops *ops;
	struct vsw_mem_table *mem;
	struct vsw_mem_who who;      /* accesses that the peer names by key */
	struct vsw_mem_who receiver; /* its receives: an SRQ has a protection domain of its own */
	uint64_t ctx;                /* of the queue pair, for completions */
	struct vsw_cq *cq;
	bool unreliable;    /* a message that finds no receive is dropped */
	atomic_uint access; /* RI_ACCESS_REMOTE_*, RI_ACCESS_BIND of the queue pair */
	atomic_uint ird;

	alignas(VSW_CACHE_LINE) struct vsw_role role; /* the right to take receives */
	struct vsw_wq rq;                             /* without slots if there is an SRQ */
	struct vsw_srq_member member;                 /* of an SRQ */
	struct vsw_wqe *wqe;                          /* the receive taken last */
	atomic_bool
		have;    /* it is not completed: of a message in pieces, or kept for the next one */
	uint32_t index;  /* its place in its queue ... */
	uint32_t number; /* ... and the number of that queue */
	uint8_t shared;  /* that is an SRQ */
	atomic_uint awaited; /* the peer waits for a receive: the thread that posts one tells it */
};

/* One request of the peer. */
struct vsw_message {
	uint32_t length;                   /* octets in all, as far as it is known */
	uint32_t flags;                    /* RI_WR_SOLICITED, RI_WR_INVALIDATE, RI_WR_IMMEDIATE */
	uint32_t extra;                    /* the key to invalidate, or the immediate data */
	const struct ri_wr_remote *remote; /* of what is no Send */
};

/* Octets [at, at + length) of a message. The caller ends the use of them; a key that a Send invalidates may end it before. */
struct vsw_piece {
	struct vsw_spans *octets;
	uint32_t at;
	uint32_t length;
	bool last;
};

/*
 * Begin the access of a piece of a Write or of a Read. `access`: RI_ACCESS_REMOTE_WRITE or
 * RI_ACCESS_REMOTE_READ. The caller ends *spans. The refusal is a separate function, out of line.
 */
const struct vsw_refusal *vsw_respond_refuse(uint32_t access, enum vsw_mem_result result);
static inline const struct vsw_refusal *
vsw_respond_begin(const struct vsw_responder *in, const struct vsw_message *message, uint32_t at,
		  uint32_t length, uint32_t access, struct vsw_spans *spans)
{
	const struct vsw_mem_access wanted = {.addr = message->remote->addr + at,
					      .length = length,
					      .stag = message->remote->stag,
					      .access = access};
	enum vsw_mem_result result = VSW_MEM_STAG; /* of the key 0 */

	spans->count = 0;
	if (length == 0 && access == RI_ACCESS_REMOTE_WRITE)
		return NULL; /* nothing is checked [RI 3.2] */
	/* Relaxed: a change of the rights while requests arrive takes effect at one request or the next. */
	if ((atomic_load_explicit(&in->access, memory_order_relaxed) & access) == 0)
		return vsw_respond_refuse(access, VSW_MEM_OK);
	if (length == 0)
		return NULL; /* an empty Read needs the queue pair's right but no key (RI_OP_RDMA_READ) */
	if (wanted.stag != 0)
		result = vsw_mem_begin(in->mem, &in->who, &wanted, &spans->use[0]);
	if (result != VSW_MEM_OK)
		return vsw_respond_refuse(access, result);
	spans->len[0] = length;
	spans->count = 1;
	return NULL;
}

/* Why a copy from `octets` to this responder's memory, or out of it, has failed; on the thread that copied. */
const struct vsw_refusal *vsw_respond_lost(const struct vsw_spans *octets);

/* Place a piece of a Write. */
static inline const struct vsw_refusal *
vsw_respond_write(struct vsw_responder *in, const struct vsw_message *message,
		  const struct vsw_piece *piece)
{
	struct vsw_spans target;
	const struct vsw_refusal *refusal = vsw_respond_begin(in, message, piece->at, piece->length,
							      RI_ACCESS_REMOTE_WRITE, &target);

	if (refusal == NULL && !vsw_spans_copy(&target, 0, piece->octets))
		refusal = vsw_respond_lost(piece->octets);
	vsw_spans_end(&target);
	return refusal;
}

/* Begin to answer a Read, with octets [at, at + length). The caller copies them and ends *source. */
static inline const struct vsw_refusal *
vsw_respond_read(const struct vsw_responder *in, const struct vsw_message *message, uint32_t at,
		 uint32_t length, struct vsw_spans *source)
{
	source->count = 0;
	if (atomic_load(&in->ird) == 0)
		return &vsw_too_many_reads;
	return vsw_respond_begin(in, message, at, length, RI_ACCESS_REMOTE_READ, source);
}

/* Begin to answer an atomic. The caller ends *word. */
const struct vsw_refusal *vsw_respond_word(const struct vsw_responder *in,
					   const struct vsw_message *message,
					   struct vsw_mem_use *word);
/* Execute it; *old is the value before. `swap`: a compare and swap. */
const struct vsw_refusal *vsw_respond_atomic(const struct vsw_message *message, bool swap,
					     const struct vsw_mem_use *word, uint64_t *old);

/*
 * Take a receive into vsw_responder::wqe and store the number of its queue in *cqe. VSW_SRQ_EMPTY:
 * there is none, and the thread that posts the next one will notify the peer (`awaited`, or the
 * line of the SRQ).
 */
static inline enum vsw_srq_result
vsw_receive_take(struct vsw_responder *in, struct vsw_cqe *cqe)
{
	if (in->member.srq != NULL) {
		cqe->wq = in->member.srq->wq.number;
		cqe->wq_index = in->rq.number;
		cqe->shared = 1;
		return vsw_srq_take(&in->member, in->wqe);
	}
	if (vsw_wq_pending(&in->rq) == 0) {
		/* Either this reads the new head, or the poster reads `awaited`: see vsw_wq_pending. */
		atomic_store(&in->awaited, 1);
		if (vsw_wq_pending(&in->rq) == 0)
			return VSW_SRQ_EMPTY;
	}
	cqe->wq = in->rq.number;
	return vsw_rq_take(&in->rq, in->wqe, &cqe->wq_index) ? VSW_SRQ_TAKEN : VSW_SRQ_EMPTY;
}

/* A piece of a Send; vsw_respond_parts also takes those that are not whole, and those of unreliable connections. */
const struct vsw_refusal *vsw_respond_parts(struct vsw_responder *in,
					    const struct vsw_message *message,
					    const struct vsw_piece *piece);
const struct vsw_refusal *vsw_respond_not_taken(enum vsw_srq_result why);
/* Place octets into the receive that was taken; a failure sets cqe->status. */
static inline __attribute__((always_inline)) const struct vsw_refusal *
vsw_respond_place(struct vsw_responder *in, const struct vsw_piece *piece, struct vsw_cqe *cqe);
/* The receive that was taken is completed; `refusal`: what its message came to. Returns what it comes to now. */
static inline __attribute__((always_inline)) const struct vsw_refusal *
vsw_respond_complete(struct vsw_responder *in, const struct vsw_message *message,
		     const struct vsw_piece *piece, const struct vsw_refusal *refusal,
		     struct vsw_cqe *cqe);
static inline __attribute__((always_inline)) const struct vsw_refusal *
vsw_respond_send(struct vsw_responder *in, const struct vsw_message *message,
		 const struct vsw_piece *piece)
{
	struct vsw_cqe cqe = {
		.qp_ctx = in->ctx,
		.byte_len = message->length,
		.opcode = RI_OP_RECV,
		.flags = RI_WC_RECEIVE,
	};

	if (__builtin_expect(in->unreliable || piece->at != 0 || !piece->last, 0))
		return vsw_respond_parts(in, message, piece);

	enum vsw_srq_result taken = vsw_receive_take(in, &cqe);

	if (taken != VSW_SRQ_TAKEN)
		return vsw_respond_not_taken(taken);
	cqe.wr_id = in->wqe->wr_id;
	return vsw_respond_complete(in, message, piece, vsw_respond_place(in, piece, &cqe), &cqe);
}

/*
 * The last piece of a Write with immediate data, which takes a receive. Without a receive nothing
 * of the piece is placed. InfiniBand sends the piece again. iWARP holds back the message with the
 * immediate data; a program cannot observe whether the Write before it is held, too.
 */
const struct vsw_refusal *vsw_respond_write_immediate(struct vsw_responder *in,
						      const struct vsw_message *message,
						      const struct vsw_piece *piece);

/* --- the rest of a Send, inlined: a Send within a process is one function ---------------------- */

const struct vsw_refusal *vsw_respond_place_failed(const struct vsw_piece *piece,
						   struct vsw_spans *sink, struct vsw_cqe *cqe);
const struct vsw_refusal *vsw_respond_place_refused(bool is_short, struct vsw_cqe *cqe);
const struct vsw_refusal *vsw_respond_extra(struct vsw_responder *in,
					    const struct vsw_message *message,
					    const struct vsw_piece *piece, struct vsw_cqe *cqe);

static inline __attribute__((always_inline)) const struct vsw_refusal *
vsw_respond_place(struct vsw_responder *in, const struct vsw_piece *piece, struct vsw_cqe *cqe)
{
	struct vsw_spans sink;

	/* Two lengths of at most 2^31 octets: the sum does not wrap. */
	if (in->wqe->length < piece->at + piece->length)
		return vsw_respond_place_refused(true, cqe);
	if (vsw_spans_begin(in->mem, &in->receiver, in->wqe, piece->at + piece->length,
			    RI_ACCESS_LOCAL_WRITE, &sink) != VSW_MEM_OK)
		return vsw_respond_place_refused(false, cqe);
	if (!vsw_spans_copy(&sink, piece->at, piece->octets))
		return vsw_respond_place_failed(piece, &sink, cqe);
	vsw_spans_end(&sink);
	return NULL;
}

static inline __attribute__((always_inline)) const struct vsw_refusal *
vsw_respond_complete(struct vsw_responder *in, const struct vsw_message *message,
		     const struct vsw_piece *piece, const struct vsw_refusal *refusal,
		     struct vsw_cqe *cqe)
{
	if (refusal == NULL &&
	    __builtin_expect((message->flags & (RI_WR_INVALIDATE | RI_WR_IMMEDIATE)) != 0, 0))
		refusal = vsw_respond_extra(in, message, piece, cqe);
	if (refusal != NULL || (message->flags & RI_WR_SOLICITED) != 0 ||
	    (in->wqe->flags & RI_WR_NOTIFY) != 0)
		cqe->flags |= RI_WC_SOLICITED;
	if (!vsw_cq_push(in->cq, cqe))
		in->ops->overflow(in);
	if (in->member.srq != NULL) {
		in->ops->limits(in);
		vsw_srq_pass_on(&in->member);
	}
	return refusal;
}

#endif /* VSW_RESPOND_H */
