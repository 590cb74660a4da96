/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The adapter record:NAME writes each call that passes the provider interface as a line of text (man it-replay has the format).
 *
 * Each line is written as a whole, under the lock of the file. No other lock is taken under that
 * lock, and no call of a provider or of the access layer is made. The line of a request is written
 * before the request is posted, so its completion comes behind it.
 */
#ifndef RECORD_H
#define RECORD_H

#include "wrap.h"

/* Segments of a receive or a Read whose payload is summed; with more, there is no CRC. */
#define RECORD_SEGMENTS 16

/* A request or receive under way. */
struct record_op {
	uint64_t wr_id;
	uint64_t number; /* in its queue, from 1 */
	bool sums;       /* its completion has a CRC of the segments */
	bool silent;     /* a success makes no completion */
	uint8_t opcode;
	uint16_t num_sge;
	struct ri_sge sgl[RECORD_SEGMENTS];
};

/* One queue of a queue pair: what is under way, oldest first, as a ring. The lock of the adapter's list owns the ring. */
struct record_queue {
	pthread_mutex_t post; /* one post at a time, so that lines are in the order of the queue */
	uint64_t posted;
	uint32_t first, count, room;
	struct record_op *ops;
};

/* wrap_obj::own of a queue pair. */
struct record_qp {
	struct record_queue queues[2]; /* send, receive */
	struct ri_addr local, peer;
	uint16_t local_port, peer_port; /* host order; 0: unknown */
	bool active;
	bool linked;            /* its link was written */
	struct record_op ops[]; /* of both queues */
};

/* wrap_obj::own of a shared receive queue. A resize replaces it. */
struct record_srq {
	struct record_queue queue;
	struct record_op ops[];
};

/* Replace the entries of an adapter that is being opened. */
void record_gates(struct wrap_ops *ops);
/* Write of the adapter, whose profile is known now. */
void record_opened(struct wrap_rnic *rnic);

/* A line: its number, the text and a newline; nothing if there is no file. */
void record_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Open the file of this process, if it has none. False: there is no file; `why` says why. */
bool record_file_open(char *why, size_t room);
/* The next number of that kind, from 1, over all adapters of the process. */
uint32_t record_number(enum wrap_kind kind);

/* A status without its prefix, in lower case: "ok", "queue_full". The text is of the calling thread, until the next call. */
const char *record_status(enum ri_status status);
/* Make what a queue pair has of its own; it is freed with the object. */
struct record_qp *record_qp_new(const struct ri_qp_init *init);
static inline struct record_qp *
record_qp_of(const struct wrap_obj *qp)
{
	return qp->own;
}

/* Give a shared receive queue a ring for that many receives; what is under way stays. False: there is no memory, and nothing has changed. */
bool record_srq_room(struct wrap_obj *srq, uint32_t max_wr);

/* The fast entries (record_work.c). */
enum ri_status record_post_sq(struct ri_uqp *qp, const struct ri_wr *wr);
enum ri_status record_post_rq(struct ri_uqp *qp, const struct ri_recv_wr *wr);
enum ri_status record_post_srq(struct ri_usrq *srq, const struct ri_recv_wr *wr);
uint32_t record_poll_cq(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n);

#endif /* RECORD_H */
