/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Queue pages: the memory that the two halves of a software provider share, as a driver and its
 * device do. Entries of fixed size, free-running 32-bit indices, no pointers. In one process the
 * pages are ordinary memory; across processes a memfd mapped by both. The engine trusts nothing in
 * them but its own indices: it copies an entry once and checks the copy.
 *
 * Work queue (SQ, RQ, SRQ): the user half writes entry `head` and then stores head + 1; the engine
 * takes entries up to head. A slot counts as used until the completion of its request, or of a later
 * one of the queue, has been polled: then the poller advances `released`. In an SRQ, whose entries
 * complete in any order, `released` only counts; and so it does in the receive queue, without slots,
 * of a queue pair that has an SRQ: there it tells how many of its receives have been polled.
 *
 * Completion queue: the engine writes entry `tail`, whose `generation` word says which round of the ring it
 * belongs to; the poller needs no index of the engine to see it. `arm` and `tail` are sequentially
 * consistent, so that between "check, arm, check" and "write, look at arm" one side always sees the
 * other. The indices and the arm word live in a page that stays; the ring of entries is separate, so
 * that a resize replaces only the ring, and every entry keeps its index.
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

/* One work request in a ring; `num_sge` segments follow it. 64 octets. */
struct vsw_wqe {
	uint64_t wr_id;
	uint8_t opcode; /* enum ri_opcode */
	uint8_t num_sge;
	uint16_t reserved;
	uint32_t flags;    /* RI_WR_* */
	uint32_t length;   /* sum of the segments */
	uint32_t inv_stag; /* as ri_wr */
	union {
		struct ri_wr_remote remote;
		struct ri_wr_bind bind;
		struct ri_wr_ud ud;
		struct vsw_wqe_reg reg;
		uint64_t words[5];
	} u;
	struct ri_sge sge[];
};

/* Head of a work queue's pages; the entries follow at VSW_WQ_ENTRIES. */
struct vsw_wq_page {
	alignas(VSW_CACHE_LINE) atomic_uint head; /* written by the poster */
	atomic_uint ring_generation;              /* likewise: the ring it writes to, see vsw_wq */
	alignas(VSW_CACHE_LINE) atomic_uint released; /* written by the poller */
	alignas(VSW_CACHE_LINE) atomic_uint taken;    /* written by the engine, for information */
	alignas(VSW_CACHE_LINE) uint32_t size;        /* slots, as granted */
	uint32_t mask;                                /* ring entries - 1, a power of two */
	uint32_t stride;                              /* octets of one entry */
	uint32_t max_sge;                             /* segments that fit */
};
#define VSW_WQ_ENTRIES sizeof(struct vsw_wq_page)

/* One completion. 64 octets: a cache line. */
struct vsw_cqe {
	uint64_t wr_id;
	uint64_t qp_ctx;
	uint32_t byte_len;
	uint32_t inv_stag;
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
	alignas(VSW_CACHE_LINE) atomic_uint arm;  /* see vsw_arm_word; taken to 0 by who fires */
};

/*
 * The arm word: enum ri_arm in bits 0-1, a running number in bits 2-7 so that who fires never takes
 * a younger arming for the one it judged, the count of RI_ARM_COUNT in bits 8-31.
 */
#define VSW_ARM_COUNT_MAX 0xffffffu

static inline uint32_t
vsw_arm_word(enum ri_arm how, uint32_t number, uint32_t count)
{
	return (uint32_t)how | (number & 0x3f) << 2 | count << 8;
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

_Static_assert(sizeof(struct vsw_wqe) == 64, "head of a work request");
_Static_assert(sizeof(struct vsw_cqe) == 64, "a completion is one cache line");

/* The larger of two counts. */
static inline uint32_t
vsw_larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
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

static inline struct vsw_wqe *
vsw_wq_entry(struct vsw_wq_page *wq, uint32_t index)
{
	return (void *)((char *)wq + VSW_WQ_ENTRIES + (size_t)(index & wq->mask) * wq->stride);
}

/*
 * Octets shared by the two halves: zeroed, aligned to a cache line. The one place where queue pages
 * come from. NULL: none left.
 */
void *vsw_pages_get(size_t bytes);
void vsw_pages_put(void *pages, size_t bytes);

/* --- the engine's side ------------------------------------------------------------------- */

/* A work queue as its engine holds it. Geometry is the engine's own copy, never the page's. */
struct vsw_wq {
	struct vsw_wq_page *page;
	char *ring;     /* entries; in the pages, or in `more` after a resize */
	void *new_ring; /* the ring that a resize has allocated, until the user half uses it; or NULL */
	uint32_t next;   /* first entry not taken */
	uint32_t pushed; /* wq_index of the last completion; kept by the engine of a send queue */
	uint32_t mask;
	uint32_t room; /* entries of the largest ring, to come or not; 0 in a queue without slots */
	uint32_t stride;
	uint32_t size; /* slots, as granted; a resize may make it less than the room */
	uint32_t max_sge;
	uint32_t number; /* for vsw_cqe::wq; unique in the process, not soon used again */
	size_t bytes;    /* of the pages */
	/*
	 * A larger ring, until the user half has moved: it copies what may not be taken yet, posts to
	 * the new ring from then on and says so in `turn` of the page.
	 */
	void *own_ring; /* the ring in use, if it is not in the pages; or NULL */
	void *old_ring; /* the ring before it, until the next resize; or NULL */
	size_t own_bytes;
	size_t old_bytes;
	size_t new_bytes;
	uint32_t ring_generation; /* of the newest ring */
	uint32_t new_mask;
	uint32_t new_stride;
	uint32_t new_sge;
};

/*
 * Make the pages of a queue; `size` may grow to what is granted; 0 stays 0: a queue that is always
 * full. RI_ERR_RESOURCES.
 */
enum ri_status vsw_wq_create(struct vsw_wq *wq, uint32_t *size, uint32_t max_sge) RI_MUST_CHECK;
void vsw_wq_destroy(struct vsw_wq *wq);
/*
 * Another number of slots; the user half follows with what vsw_map_srq tells. A ring never gets
 * smaller, only what may be posted. Nobody takes meanwhile. RI_ERR_BUSY: more is outstanding;
 * RI_ERR_RESOURCES, also if the user half has not followed the last time.
 */
enum ri_status vsw_wq_resize(struct vsw_wq *wq, uint32_t *size) RI_MUST_CHECK;
/* The same, and room for so many segments at least. A queue without slots stays one. */
enum ri_status vsw_wq_reshape(struct vsw_wq *wq, uint32_t *size, uint32_t max_sge) RI_MUST_CHECK;
/*
 * Both queues of a queue pair, all or nothing: the counts of `attr`, which then says what is granted.
 * `limits` is what the segments were granted up to now.
 */
enum ri_status vsw_wq_reshape_both(struct vsw_wq *sq, struct vsw_wq *rq, struct ri_qp_init *limits,
				   struct ri_qp_attr *attr) RI_MUST_CHECK;
/*
 * As vsw_wq_pending, for a queue that can be resized: moves to the new ring once the user half has. The
 * next vsw_wq_take takes from the right ring.
 */
uint32_t vsw_wq_available(struct vsw_wq *wq);

/*
 * Entries posted and not taken. Sequentially consistent for an engine that begins to wait: it says so,
 * then looks here once more; the poster of a receive writes the head, then looks whether anybody waits
 * (vsw_post.c). One of them sees the other.
 */
static inline uint32_t
vsw_wq_pending(const struct vsw_wq *wq)
{
	uint32_t pending = atomic_load(&wq->page->head) - wq->next;

	return pending <= wq->room ? pending : 0; /* an index that lies names nothing */
}

/*
 * Copy the next entry into `out` (room for max_sge segments) and take it; false if there is none.
 * Counts in the copy are clamped to what the queue was made for. *index: the value of
 * vsw_cqe::wq_index that releases it.
 */
bool vsw_wq_take(struct vsw_wq *wq, struct vsw_wqe *out, uint32_t *index);

/*
 * The queue begins anew, and all that was taken is complete: what was done without a completion since
 * the last one gives its slots back, if that one has been polled.
 */
void vsw_wq_forget(struct vsw_wq *wq);

/* The one upcall a CQ makes. */
struct vsw_cq_upcall {
	void (*cq_event)(void *self, uint64_t ctx);
	void *self;
};

/* A completion queue as its engine holds it. */
struct vsw_cq {
	struct vsw_cq_page *page;
	struct vsw_cqe *ring;
	struct vsw_lock lock; /* producers */
	uint32_t tail;
	uint32_t sol_tail;
	uint32_t head_seen; /* last value of the page's head */
	uint32_t size;
	uint32_t mask;
	uint64_t ctx;             /* for the upcall */
	struct vsw_cqe *old_ring; /* before a resize; pollers may look at it until they follow */
	uint32_t old_size;
	const struct vsw_cq_upcall *upcalls;
	atomic_uint users; /* attached work queues */
	atomic_bool overflowed;
};

enum ri_status vsw_cq_create(struct vsw_cq *cq, uint64_t ctx, uint32_t *entries,
			     const struct vsw_cq_upcall *upcalls) RI_MUST_CHECK;
/*
 * Move to a ring of another size; entries present move along. The user half has followed an earlier
 * resize before the next one. RI_ERR_BUSY, RI_ERR_RESOURCES.
 */
enum ri_status vsw_cq_resize(struct vsw_cq *cq, uint32_t *entries) RI_MUST_CHECK;
void vsw_cq_destroy(struct vsw_cq *cq);

/*
 * Write one completion (all members of `cqe` but `generation`). False: the queue is full, nothing was
 * written; the caller ends its QP. Fires the upcall, outside the lock, if it was armed and is due.
 */
bool vsw_cq_push(struct vsw_cq *cq, const struct vsw_cqe *cqe);

#endif /* VSW_QUEUE_H */
