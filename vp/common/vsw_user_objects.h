/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The objects of the user half; private to vsw_user.c and vsw_post.c. */
#ifndef VSW_USER_OBJECTS_H
#define VSW_USER_OBJECTS_H

#include <pthread.h>

#include "vsw_number.h"
#include "vsw_user.h"

#define VSW_CHUNK_BITS 10
#define VSW_CHUNK_SIZE (1u << VSW_CHUNK_BITS)
#define VSW_CHUNKS     (VSW_NUMBER_SLOTS >> VSW_CHUNK_BITS)

/* A work queue, found by its number when a completion releases its slots. */
struct vsw_known_wq {
	atomic_uint number; /* 0: none */
	struct vsw_wq_page *page;
};

struct vsw_known_chunk {
	struct vsw_known_wq wq[VSW_CHUNK_SIZE];
};

struct ri_urnic {
	struct vsw_doorbell bell;
	pthread_mutex_t lock; /* the list of queues; control path */
	struct ri_ucq *cqs;
	_Atomic(struct vsw_known_chunk *) chunks[VSW_CHUNKS];
};

struct ri_ucq {
	struct vsw_lock lock; /* polling and arming threads */
	uint32_t head;
	uint32_t sol_head;
	uint32_t mask;
	struct vsw_cqe *ring;
	struct vsw_cq_page *page;
	struct ri_urnic *rnic;
	uint32_t armings;
	struct ri_cq_counters *count; /* never NULL; under the lock */
	struct ri_ucq *next;          /* under ri_urnic::lock */
	struct ri_cq_counters unread; /* `count` of a queue that nobody asked to count */
};

/* One work queue, for the threads that post to it. */
struct vsw_user_wq {
	struct vsw_lock lock;
	uint32_t head;
	uint32_t released; /* last value read from the page */
	uint32_t size;
	uint32_t mask;
	uint32_t stride;
	char *ring;               /* entries */
	struct vsw_wq_page *page; /* NULL: no such queue */
	uint32_t number;
};

struct ri_uqp {
	struct ri_urnic *rnic;
	void *engine_qp;
	uint16_t ordinary
		[RI_OP_COUNT]; /* an ordinary request has fewer segments; 0: none is ordinary */
	uint8_t max_sge[RI_OP_COUNT]; /* of a request */
	bool known_op[RI_OP_COUNT];   /* the send queue supports it */
	uint8_t max_recv_sge;
	uint8_t max_list;    /* pieces of a fast registration */
	uint16_t max_inline; /* octets of an inline request */
	uint32_t rare;       /* RI_WR_* bits that a post looks at more closely */
	struct ri_qp_counters *
		count; /* never NULL; of the send queue under its lock, of the receive queue under that one's */
	struct ri_ucq *send_cq;
	struct ri_ucq *recv_cq;
	alignas(VSW_CACHE_LINE) struct vsw_user_wq sq;
	alignas(VSW_CACHE_LINE) struct vsw_user_wq rq;
	struct ri_qp_counters unread; /* `count` of a queue pair that nobody asked to count */
};

struct ri_usrq {
	struct ri_urnic *rnic;
	void *engine_srq;
	uint8_t max_sge;
	struct ri_qp_counters *count; /* never NULL; under the lock of wq */
	struct vsw_user_wq wq;
	struct ri_qp_counters unread; /* `count` of a queue that nobody asked to count */
};

static inline struct vsw_known_wq *
vsw_known_find(struct ri_urnic *rnic, uint32_t number)
{
	uint32_t slot = vsw_number_slot(number);
	struct vsw_known_chunk *chunk =
		atomic_load_explicit(&rnic->chunks[slot >> VSW_CHUNK_BITS], memory_order_acquire);

	return chunk != NULL ? &chunk->wq[slot & (VSW_CHUNK_SIZE - 1)] : NULL;
}

#endif /* VSW_USER_OBJECTS_H */
