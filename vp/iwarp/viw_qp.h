/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The queue pair. Its parts are declared by the files that own them.
 *
 * There are two roles, each taken by trying (vsw_role). The owner of tx.role owns the send queue, everything
 * that is sent, and the completions of requests (viw_tx.h). The owner of rx.role owns the receive queue,
 * everything that arrives, and the completions of receives (viw_rx.h). Between the two are two rings, each
 * with one writer and one reader (viw_read.h): inbound reads (rx writes, tx answers) and outbound reads (tx
 * writes, rx matches). Only a thread that owns both roles closes the socket and flushes the queues.
 *
 * The memory of a queue pair is not freed while the adapter is open, only used again. So an engine that
 * still has an old address finds a role that is taken, or a queue pair without work.
 */
#ifndef VIW_QP_H
#define VIW_QP_H

#include "ri_count.h"
#include "viw_error.h"
#include "viw_read.h"
#include "viw_rnic.h"
#include "viw_rx.h"
#include "viw_stream.h"
#include "viw_tap.h"
#include "viw_tx.h"

struct viw_qp {
	struct vsw_item node; /* first; of the context */
	struct viw_rnic *rnic;
	struct viw_context *context;
	struct vsw_pd *pd;
	struct vsw_cq_object *send_cq;
	struct vsw_cq_object *recv_cq;
	struct vsw_srq_object *srq; /* or NULL */
	struct vsw_mem_who who;
	struct vsw_mem_who
		receiver; /* for its receives: an SRQ has a protection domain of its own */
	struct ri_qp_init init;
	atomic_uint state;    /* enum ri_qp_state */
	struct vsw_lock lock; /* changes of state and `end` */
	struct viw_end end;
	struct viw_engine_member engine;
	struct viw_stream stream;
	struct viw_tx tx;
	struct viw_rx rx;
	struct viw_reads reads;
	struct ri_qp_counters *
		count; /* frames: those sent by the owner of tx.role, the others by that of rx.role */
	struct ri_task task;   /* viw_serve */
	struct ri_timer timer; /* viw_timer: a Send that waits, or the end */
	struct viw_qp *next_free;
	struct viw_qp *next_numbered; /* of its row; with the adapter's lock */
	struct viw_tap tap;           /* owner of either role; written by that of both */
	struct ri_qp_counters unread; /* `count` of one that nobody asked to count */
};

/* `frames` of together `size` octets are built. Owner of tx.role. */
static inline void
viw_qp_built(struct viw_qp *qp, uint32_t size, uint32_t frames)
{
	qp->tx.queued += size;
	ri_count(&qp->count->frames_sent, frames);
}

static inline enum ri_qp_state
viw_qp_state(struct viw_qp *qp)
{
	return (enum ri_qp_state)atomic_load_explicit(&qp->state, memory_order_acquire);
}

#endif /* VIW_QP_H */
