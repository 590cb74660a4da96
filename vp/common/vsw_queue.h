/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Queue pages: the memory that the two halves of a software provider share, as a driver and its device do.
 * Entries have a fixed size, indices are free-running 32-bit counters, and there are no pointers. In one
 * process the pages are ordinary memory. The engine trusts nothing in them but its own indices: it copies
 * an entry once and checks the copy.
 *
 * Work queue (SQ, RQ, SRQ): the user half writes entry `head` and then stores head + 1; the engine takes
 * entries up to head. A slot is in use until the completion of its request, or of a later request of the
 * queue, has been polled; then the polling thread advances `released`. The entries of an SRQ complete in any
 * order, so there `released` is only a count. It is a count, too, in the receive queue without slots of a
 * queue pair that has an SRQ: the number of its receives that have been polled.
 *
 * Completion queue: the engine writes entry `tail`. The word `generation` of an entry says which round of the
 * ring it belongs to, so a polling thread sees a new entry without an index of the engine. `arm` and `tail`
 * are sequentially consistent: the user half checks, arms and checks again, the engine writes and then reads
 * `arm`, and so one side always sees the other. The indices and the arm word are in a page that stays; the
 * ring of entries is separate. So a resize replaces only the ring, and each entry keeps its index.
 */
#ifndef VSW_QUEUE_H
#define VSW_QUEUE_H

#include <stdalign.h>
#include <stdatomic.h>

#include "rnicpi_fast.h"
#include "vsw_lock.h"

#define VSW_CACHE_LINE 64

/* Input of RI_OP_FAST_REG; the list follows as segments. */
struct vsw_wqe_reg {
	uint64_t addr;
	uint64_t length;
	uint32_t stag;
	uint32_t access;
	uint32_t fbo;
	uint32_t reserved;
};

#define VSW_MAX_INLINE \
	512u /* octets that a request can carry; perftest and libfabric ask for 236 to 512 */

/*
 * One work request in a ring; `num_sge` segments follow it, or with RI_WR_INLINE (then num_sge is 0) `length` octets of
 * payload, see vsw_wqe_octets. 56 bytes.
 */
struct vsw_wqe {
	uint64_t wr_id;
	uint8_t opcode; /* enum ri_opcode */
	uint8_t num_sge;
	uint16_t reserved;
	uint32_t flags;    /* RI_WR_* */
	uint32_t length;   /* sum of the segments, or octets that follow */
	uint32_t inv_stag; /* as ri_wr; with RI_WR_IMMEDIATE its `imm` */
	union {
		struct ri_wr_remote remote;
		struct ri_wr_bind bind;
		struct ri_wr_ud ud;
		struct vsw_wqe_reg reg;
	} u;
	struct ri_sge sge[];
};

/* A receive in a ring: what a request begins with, and the segments. 24 bytes. */
struct vsw_rqe {
	uint64_t wr_id;
	uint8_t opcode;
	uint8_t num_sge;
	uint16_t reserved;
	uint32_t flags;
	uint32_t length;
	uint32_t inv_stag;
	struct ri_sge sge[];
};

/*
 * Head of a work queue's pages; the entries follow at VSW_WQ_ENTRIES. The poller's index and the engine's share a
 * line: the thread that polls is mostly the one that runs the engine, and a poster of requests reads both.
 */
struct vsw_wq_page {
	alignas(VSW_CACHE_LINE) atomic_uint head; /* written by the poster */
	atomic_uint ring_generation;              /* likewise: the ring it writes to, see vsw_wq */
	alignas(VSW_CACHE_LINE) atomic_uint released; /* written by the poller */
	atomic_uint taken;                            /* written by the engine, for information */
	/* The user half reads these once, when the queue is opened. */
	uint32_t size;    /* slots, as granted */
	uint32_t mask;    /* ring entries - 1, a power of two */
	uint32_t stride;  /* bytes of one entry */
	uint32_t max_sge; /* segments that fit */
};
#define VSW_WQ_ENTRIES sizeof(struct vsw_wq_page)

/* One completion. 64 bytes: a cache line. */
struct vsw_cqe {
	uint64_t wr_id;
	uint64_t qp_ctx;
	uint32_t byte_len;
	uint32_t inv_stag; /* with RI_WC_IMMEDIATE: the immediate data */
	uint8_t status;
	uint8_t opcode;
	uint8_t flags;  /* RI_WC_* */
	uint8_t shared; /* 1: a receive of an SRQ */
	uint32_t detail;
	uint32_t src_qpn;
	uint32_t wq; /* work queue to release: its number in the user half's table, 0 = none */
	uint8_t src_addr[16];
	uint32_t wq_index;      /* `released` becomes this; if shared: number of the QP's own RQ */
	atomic_uint generation; /* index of this entry + 1 when it is valid */
};

/* Indices of a completion queue. */
struct vsw_cq_page {
	alignas(VSW_CACHE_LINE) atomic_uint tail; /* written by the engine */
	atomic_uint sol_tail;                     /* solicited entries ever written */
	alignas(VSW_CACHE_LINE) atomic_uint head; /* written by the poller */
	atomic_uint sol_head;                     /* solicited entries ever polled */
	alignas(VSW_CACHE_LINE)
		atomic_uint arm; /* see vsw_arm_word; the engine sets it to 0 and fires */
	atomic_uint
		reported; /* the tail when the last upcall was made, or RI_ARM_UNREPORTED refused */
};

/*
 * The arm word: enum ri_arm in bits 0-1, a running number in bits 2-7, the count of RI_ARM_COUNT in bits 8-31.
 * The number keeps an engine that is about to fire from mistaking a later arming for the one whose condition
 * it has tested. The engine treats RI_ARM_UNREPORTED as RI_ARM_NEXT: it checks only entries that come later.
 */
#define VSW_ARM_COUNT_MAX 0xffffffu

static inline uint32_t
vsw_arm_word(enum ri_arm how, uint32_t number, uint32_t count)
{
	return (uint32_t)(how == RI_ARM_UNREPORTED ? RI_ARM_NEXT : how) | (number & 0x3f) << 2 |
	       count << 8;
}

static inline enum ri_arm
vsw_arm_how(uint32_t word)
{
	return (enum ri_arm)(word & 3);
}

static inline uint32_t
vsw_arm_count(uint32_t word)
{
	return word >> 8;
}

_Static_assert(sizeof(struct vsw_wqe) == 56, "head of a work request");
_Static_assert(sizeof(struct vsw_rqe) == offsetof(struct vsw_wqe, u),
	       "a receive begins as a request");
_Static_assert(sizeof(struct vsw_cqe) == 64, "a completion is one cache line");

/* The larger of two counts. */
static inline uint32_t
vsw_larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* The payload that an inline request carries. */
static inline void *
vsw_wqe_octets(struct vsw_wqe *wqe)
{
	return wqe->sge;
}

/* Bytes that follow the head of a request, for its segments or its octets. */
static inline size_t
vsw_wqe_tail(uint32_t max_sge, uint32_t max_inline)
{
	size_t sges = max_sge * sizeof(struct ri_sge);
	size_t octets =
		(max_inline + 7u) & ~(size_t)7u; /* the next entry begins with a 64-bit word */

	return sges > octets ? sges : octets;
}

/* Entries of a ring that holds n: the next power of two. */
static inline uint32_t
vsw_ring_size(uint32_t n)
{
	uint32_t size = 1;

	while (size < n)
		size <<= 1;
	return size;
}

/* Of a send queue, in the pages. */
static inline struct vsw_wqe *
vsw_wq_entry(struct vsw_wq_page *wq, uint32_t index)
{
	return (void *)((char *)wq + VSW_WQ_ENTRIES + (size_t)(index & wq->mask) * wq->stride);
}

/* --- the engine's side ------------------------------------------------------------------- */

/* The engine's side of a work queue. Sizes are the engine's own copies; it never reads them from the page. */
struct vsw_wq {
	struct vsw_wq_page *page;
	char *ring;     /* entries; in the pages, or in `more` after a resize */
	void *new_ring; /* the ring that a resize has allocated, until the user half uses it; or NULL */
	uint32_t next;   /* first entry not taken */
	uint32_t pushed; /* wq_index of the last completion; the engine of a send queue sets it */
	uint32_t mask;
	uint32_t room; /* entries of the largest ring, to come or not; 0 in a queue without slots */
	uint32_t stride;
	uint32_t entry_head; /* bytes of an entry before its segments */
	uint32_t size;       /* slots, as granted; a resize may make it less than the room */
	uint32_t max_sge;
	uint32_t max_inline; /* octets that a request can carry */
	uint32_t number;     /* for vsw_cqe::wq; unique in the process, not soon used again */
	size_t bytes;        /* of the pages */
	/*
	 * A resize allocates a larger ring. The user half copies the entries that may not be taken yet, posts
	 * to the new ring from then on, and says so in `ring_generation` of the page.
	 */
	void *own_ring;           /* the ring in use, if it is not in the pages; or NULL */
	void *old_ring;           /* the ring before it, until the next resize; or NULL */
	uint32_t ring_generation; /* of the newest ring */
	uint32_t new_mask;
	uint32_t new_stride;
	uint32_t new_sge;
};

/*
 * Create the pages of a queue. *size: slots wanted, then slots granted; 0 stays 0, a queue that is always
 * full. An entry has room for the segments or for the octets, whichever is more. RI_ERR_LIMIT, RI_ERR_RESOURCES.
 */
enum ri_status vsw_wq_create(struct vsw_wq *wq, uint32_t *size, uint32_t max_sge,
			     uint32_t max_inline) RI_MUST_CHECK;
/* Create a receive queue or an SRQ, whose entries are struct vsw_rqe. */
enum ri_status vsw_rq_create(struct vsw_wq *wq, uint32_t *size, uint32_t max_sge) RI_MUST_CHECK;
void vsw_wq_destroy(struct vsw_wq *wq);
/*
 * Change the number of slots; vsw_map_srq describes the new ring to the user half. A ring never becomes smaller; only the number
 * of requests that may be posted does. No other thread takes entries meanwhile. RI_ERR_BUSY: more requests
 * are outstanding; RI_ERR_RESOURCES, also if the user half does not use the ring of the last resize yet.
 */
enum ri_status vsw_wq_resize(struct vsw_wq *wq, uint32_t *size) RI_MUST_CHECK;
/* Change the number of slots, with room for at least `max_sge` segments in each. A queue without slots stays without. */
enum ri_status vsw_wq_reshape(struct vsw_wq *wq, uint32_t *size, uint32_t max_sge) RI_MUST_CHECK;
/*
 * Resize both queues of a queue pair, or neither, to the counts in `attr`, which then contains the
 * granted ones. `limits`: on entry the segments granted so far, on return those granted now.
 */
enum ri_status vsw_wq_reshape_both(struct vsw_wq *sq, struct vsw_wq *rq, struct ri_qp_init *limits,
				   struct ri_qp_attr *attr) RI_MUST_CHECK;
/*
 * The number of posted entries, as vsw_wq_pending returns it, for a queue that can be resized. It
 * changes to the new ring once the user half uses that, so the next vsw_wq_take reads the right
 * ring.
 */
uint32_t vsw_wq_available(struct vsw_wq *wq);

/*
 * Entries posted and not taken. Sequentially consistent for an engine that begins to wait for a receive: it
 * sets a flag and then calls this once more; the poster writes the head and then reads the flag (vsw_post.c).
 * One of them sees the other.
 */
static inline uint32_t
vsw_wq_pending(const struct vsw_wq *wq)
{
	uint32_t pending = atomic_load(&wq->page->head) - wq->next;

	return pending <= wq->room ? pending : 0; /* an impossible index counts as none */
}

/*
 * Copy the next entry into `out` (room of vsw_wqe_tail) and take it; false if the queue is empty. Counts in the copy are clamped
 * to what the queue was made for, and only a Send, a Write or a datagram has RI_WR_INLINE. *index: the value of
 * vsw_cqe::wq_index that releases it.
 */
bool vsw_wq_take(struct vsw_wq *wq, struct vsw_wqe *out, uint32_t *index);
/* The same of a queue of vsw_rq_create; the union of `out` is not written. */
bool vsw_rq_take(struct vsw_wq *wq, struct vsw_wqe *out, uint32_t *index);
/* Give the last `count` entries back that were taken; they are taken again in their order. The queue was not resized meanwhile. */
void vsw_wq_give_back(struct vsw_wq *wq, uint32_t count);

/*
 * The queue is used for a new connection, and every request that was taken is complete. The slots of
 * requests without a completion since the last completion are freed, if that completion has been polled.
 */
void vsw_wq_forget(struct vsw_wq *wq);

/* The one upcall a CQ makes. */
struct vsw_cq_upcall {
	void (*cq_event)(void *self, uint64_t ctx);
	void *self;
};

/* The engine's side of a completion queue. */
struct vsw_cq {
	struct vsw_cq_page *page;
	struct vsw_cqe *ring;
	struct vsw_lock lock; /* threads that push completions */
	uint32_t tail;
	uint32_t sol_tail;
	uint32_t head_seen; /* last value of the page's head */
	uint32_t size;
	uint32_t mask;
	uint64_t ctx;             /* for the upcall */
	struct vsw_cqe *old_ring; /* before a resize; polled until the user half uses the new one */
	const struct vsw_cq_upcall *upcalls;
	atomic_uint users; /* attached work queues */
	atomic_bool overflowed;
};

enum ri_status vsw_cq_create(struct vsw_cq *cq, uint64_t ctx, uint32_t *entries,
			     const struct vsw_cq_upcall *upcalls) RI_MUST_CHECK;
/*
 * Change to a ring of another size, with the entries that are present. The user half must use the ring of
 * the last resize before the next one. RI_ERR_BUSY, RI_ERR_RESOURCES.
 */
enum ri_status vsw_cq_resize(struct vsw_cq *cq, uint32_t *entries) RI_MUST_CHECK;
void vsw_cq_destroy(struct vsw_cq *cq);

/*
 * Write one completion (all members of `cqe` but `generation`). False: the queue is full and nothing was
 * written; the caller ends its queue pair. Makes the upcall, without the lock, if the queue was armed and the
 * condition holds.
 */
bool vsw_cq_push(struct vsw_cq *cq, const struct vsw_cqe *cqe);

#endif /* VSW_QUEUE_H */
