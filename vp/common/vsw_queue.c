/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The engine's side of queue pages; vsw_queue.h describes them.
 *
 * One thread at a time takes entries from a work queue: the owner of the role for that queue. Many threads
 * write completions, each under vsw_cq::lock for the time of one entry. The engine trusts nothing in the
 * pages but what it wrote itself: sizes are its own copies, an impossible index means no work and no room,
 * and an entry is copied once before it is checked.
 *
 * Completions name work queues by number. A number is a slot and a count of how often the slot was used. A
 * slot is used again only after a thousand others were freed, so the last completions of a destroyed queue
 * pair cannot release slots of a newer one.
 */
#include "vsw_queue.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "vsw_number.h"

#define RING_MAX (1u << 24) /* entries; keeps sizes far from overflow */

/* Zeroed memory that both halves share, aligned to a cache line; all queue pages come from here. NULL: none. */
static void *
pages_get(size_t bytes)
{
	void *pages = NULL;

	if (posix_memalign(&pages, VSW_CACHE_LINE, bytes) != 0)
		return NULL;
	memset(pages, 0, bytes);
	return pages;
}

static void
pages_put(void *pages)
{
	free(pages);
}

/* --- numbers ----------------------------------------------------------------------------- */

static pthread_mutex_t number_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	uint32_t *next;    /* by slot: the next free slot */
	uint32_t *uses;    /* by slot: how often it was used */
	uint32_t slots;    /* in use or free */
	uint32_t room;     /* of the two arrays */
	uint32_t free;     /* free slots */
	uint32_t oldest;   /* free slot, first to be used again */
	uint32_t youngest; /* free slot, last to be used again */
} numbers;

/*
 * The child of a fork numbers its queues from the beginning. The old arrays are not freed, because
 * a thread of the parent may have been inside realloc() at the fork.
 */
static void
numbers_forked(void)
{
	pthread_mutex_init(&number_lock, NULL);
	memset(&numbers, 0, sizeof(numbers));
}

__attribute__((constructor)) static void
numbers_watch_forks(void)
{
	(void)pthread_atfork(NULL, NULL, numbers_forked);
}

static bool
numbers_grow(void)
{
	uint32_t room = numbers.room == 0 ? 1024 : numbers.room * 2;
	uint32_t *next = realloc(numbers.next, room * sizeof(*next));

	if (next == NULL)
		return false;
	numbers.next = next;
	uint32_t *uses = realloc(numbers.uses, room * sizeof(*uses));
	if (uses == NULL)
		return false;
	numbers.uses = uses;
	numbers.room = room;
	return true;
}

/* Called with the lock. VSW_NUMBER_SLOTS: none left. */
static uint32_t
slot_take(void)
{
	bool fresh = numbers.free < VSW_NUMBER_REUSE_AFTER && numbers.slots + 1 < VSW_NUMBER_SLOTS;

	if (fresh && (numbers.slots + 1 < numbers.room || numbers_grow())) {
		uint32_t slot = ++numbers.slots; /* slot 0 is never used: number 0 is none */
		numbers.uses[slot] = 0;
		return slot;
	}
	if (numbers.free == 0)
		return VSW_NUMBER_SLOTS;
	uint32_t slot = numbers.oldest;
	numbers.oldest = numbers.next[slot];
	numbers.free--;
	return slot;
}

static uint32_t
number_take(void)
{
	uint32_t number = 0;

	pthread_mutex_lock(&number_lock);
	uint32_t slot = slot_take();
	if (slot != VSW_NUMBER_SLOTS)
		number = slot | numbers.uses[slot]++ << VSW_NUMBER_SLOT_BITS;
	pthread_mutex_unlock(&number_lock);
	return number;
}

static void
number_give(uint32_t number)
{
	uint32_t slot = vsw_number_slot(number);

	pthread_mutex_lock(&number_lock);
	if (numbers.free++ == 0)
		numbers.oldest = slot;
	else
		numbers.next[numbers.youngest] = slot;
	numbers.youngest = slot;
	pthread_mutex_unlock(&number_lock);
}

/* --- work queues ------------------------------------------------------------------------- */

/*
 * Bytes of an entry with max_sge segments. Room for inline payload is added only in queues that
 * were created for it. Entries are not rounded up to cache lines: one of 72 bytes lies in two lines
 * wherever it begins, and rounding would make the queues of an idle connection 1.5 KiB larger.
 */
static uint32_t
stride_of(const struct vsw_wq *wq, uint32_t max_sge)
{
	return (uint32_t)(wq->entry_head + vsw_wqe_tail(max_sge, wq->max_inline));
}

/* `entry_head`: bytes of an entry before its segments. */
static enum ri_status
wq_create(struct vsw_wq *wq, uint32_t *size, uint32_t max_sge, uint32_t max_inline,
	  size_t entry_head)
{
	memset(wq, 0, sizeof(*wq));
	wq->entry_head = (uint32_t)entry_head;
	wq->max_inline = max_inline;
	if (*size > RING_MAX || max_sge > UINT8_MAX || max_inline > VSW_MAX_INLINE)
		return RI_ERR_LIMIT;

	uint32_t ring = vsw_ring_size(*size);
	size_t stride = stride_of(wq, max_sge);

	wq->bytes = VSW_WQ_ENTRIES + ring * stride;
	wq->number = number_take();
	wq->page = wq->number != 0 ? pages_get(wq->bytes) : NULL;
	if (wq->page == NULL) {
		if (wq->number != 0)
			number_give(wq->number);
		return RI_ERR_RESOURCES;
	}
	wq->mask = ring - 1;
	wq->stride = (uint32_t)stride;
	wq->size = *size == 0 ? 0 : ring;
	wq->room = wq->size;
	wq->ring = (char *)wq->page + VSW_WQ_ENTRIES;
	wq->max_sge = max_sge;
	wq->page->size = wq->size;
	wq->page->mask = wq->mask;
	wq->page->stride = wq->stride;
	wq->page->max_sge = wq->max_sge;
	*size = wq->size;
	return RI_SUCCESS;
}

enum ri_status
vsw_wq_create(struct vsw_wq *wq, uint32_t *size, uint32_t max_sge, uint32_t max_inline)
{
	return wq_create(wq, size, max_sge, max_inline, sizeof(struct vsw_wqe));
}

enum ri_status
vsw_rq_create(struct vsw_wq *wq, uint32_t *size, uint32_t max_sge)
{
	return wq_create(wq, size, max_sge, 0, sizeof(struct vsw_rqe));
}

void
vsw_wq_destroy(struct vsw_wq *wq)
{
	if (wq->page == NULL)
		return;
	pages_put(wq->new_ring);
	pages_put(wq->old_ring);
	pages_put(wq->own_ring);
	pages_put(wq->page);
	number_give(wq->number);
	wq->page = NULL;
}

/* Change to the new ring, if the user half uses it. */
static void
ring_follow(struct vsw_wq *wq)
{
	if (wq->new_ring == NULL ||
	    atomic_load_explicit(&wq->page->ring_generation, memory_order_acquire) !=
		    wq->ring_generation)
		return;
	wq->old_ring = wq->own_ring; /* the next resize frees it: this is the fast path */
	wq->own_ring = wq->new_ring;
	wq->ring = wq->new_ring;
	wq->mask = wq->new_mask;
	wq->stride = wq->new_stride;
	wq->max_sge = wq->new_sge;
	wq->new_ring = NULL;
}

uint32_t
vsw_wq_available(struct vsw_wq *wq)
{
	/* The head first: a thread that sees an entry of the new ring also sees the ring's generation. */
	uint32_t pending = vsw_wq_pending(wq);

	ring_follow(wq);
	return pending;
}

/* Allocate a ring with more entries or segments than the one in use. */
static bool
ring_order(struct vsw_wq *wq, uint32_t entries, uint32_t max_sge)
{
	wq->new_mask = (entries > wq->mask + 1 ? entries : wq->mask + 1) - 1;
	wq->new_sge = max_sge > wq->max_sge ? max_sge : wq->max_sge;
	wq->new_stride = stride_of(wq, wq->new_sge);
	wq->new_ring = pages_get((size_t)(wq->new_mask + 1) * wq->new_stride);
	if (wq->new_ring != NULL && wq->new_mask >= wq->room)
		wq->room = wq->new_mask + 1;
	return wq->new_ring != NULL;
}

enum ri_status
vsw_wq_reshape(struct vsw_wq *wq, uint32_t *size, uint32_t max_sge)
{
	uint32_t used = atomic_load(&wq->page->head) - atomic_load(&wq->page->released);

	if (*size > RING_MAX || max_sge > UINT8_MAX)
		return RI_ERR_LIMIT;
	if (wq->room == 0) {
		*size = 0;
		return RI_SUCCESS;
	}

	uint32_t ring = vsw_ring_size(*size);
	if (used > ring)
		return RI_ERR_BUSY;
	ring_follow(wq);
	if (wq->new_ring != NULL)
		return RI_ERR_RESOURCES;
	pages_put(wq->old_ring);
	wq->old_ring = NULL;
	if ((ring > wq->mask + 1 || max_sge > wq->max_sge) && !ring_order(wq, ring, max_sge))
		return RI_ERR_RESOURCES;
	wq->ring_generation++;
	wq->size = ring;
	*size = ring;
	return RI_SUCCESS;
}

enum ri_status
vsw_wq_resize(struct vsw_wq *wq, uint32_t *size)
{
	return vsw_wq_reshape(wq, size, wq->max_sge);
}

enum ri_status
vsw_wq_reshape_both(struct vsw_wq *sq, struct vsw_wq *rq, struct ri_qp_init *limits,
		    struct ri_qp_attr *attr)
{
	struct ri_qp_init wanted = {
		.max_sq_wr = attr->max_sq_wr,
		.max_rq_wr = attr->max_rq_wr,
		.max_send_sge = vsw_larger(attr->max_send_sge, limits->max_send_sge),
		.max_recv_sge = vsw_larger(attr->max_recv_sge, limits->max_recv_sge),
		.max_write_sge = vsw_larger(attr->max_write_sge, limits->max_write_sge),
		.max_read_sge = vsw_larger(attr->max_read_sge, limits->max_read_sge),
	};
	uint32_t sges = vsw_larger(wanted.max_send_sge,
				   vsw_larger(wanted.max_write_sge, wanted.max_read_sge));
	uint32_t before = sq->size;
	enum ri_status status = vsw_wq_reshape(sq, &wanted.max_sq_wr, sges);

	if (status == RI_SUCCESS) {
		status = vsw_wq_reshape(rq, &wanted.max_rq_wr, wanted.max_recv_sge);
		if (status != RI_SUCCESS) {
			/* The user half does not know the new send queue yet: undo it. */
			pages_put(sq->new_ring);
			sq->new_ring = NULL;
			sq->ring_generation--;
			sq->size = before;
		}
	}
	if (status != RI_SUCCESS)
		return status;
	limits->max_sq_wr = attr->max_sq_wr = wanted.max_sq_wr;
	limits->max_rq_wr = attr->max_rq_wr = wanted.max_rq_wr;
	limits->max_send_sge = attr->max_send_sge = wanted.max_send_sge;
	limits->max_recv_sge = attr->max_recv_sge = wanted.max_recv_sge;
	limits->max_write_sge = attr->max_write_sge = wanted.max_write_sge;
	limits->max_read_sge = attr->max_read_sge = wanted.max_read_sge;
	return RI_SUCCESS;
}

/* Copy the payload of a request that says that it carries some. The head was copied, so nothing changes here any more. */
static __attribute__((noinline)) void
octets_take(const struct vsw_wq *wq, struct vsw_wqe *out, const void *octets)
{
	if (out->opcode != RI_OP_SEND && out->opcode != RI_OP_RDMA_WRITE &&
	    out->opcode != RI_OP_SEND_UD) {
		out->flags &= ~(uint32_t)RI_WR_INLINE;
		return;
	}
	if (out->length > wq->max_inline)
		out->length = wq->max_inline;
	out->num_sge = 0;
	memcpy(vsw_wqe_octets(out), octets, out->length);
}

/* Copy the next entry into `out` and take it. Inlined, so that the size of its head is a constant. */
static inline bool
entry_take(struct vsw_wq *wq, struct vsw_wqe *out, uint32_t *index, size_t entry_head)
{
	assert(wq->entry_head == entry_head);
	if (vsw_wq_pending(wq) == 0)
		return false;
	if (wq->new_ring != NULL)
		ring_follow(wq);

	const char *entry = wq->ring + (size_t)(wq->next & wq->mask) * wq->stride;
	const struct ri_sge *sge = (const void *)(entry + entry_head);

	memcpy(out, entry, entry_head);
	/* A receive carries nothing, whatever its flags say. */
	if (entry_head == sizeof(struct vsw_wqe) &&
	    __builtin_expect((out->flags & RI_WR_INLINE) != 0, 0))
		octets_take(wq, out, sge);
	if (out->num_sge > wq->max_sge)
		out->num_sge = (uint8_t)wq->max_sge;
	/* One by one: most requests have one segment, and a memcpy of unknown length costs more than that. */
	for (uint32_t i = 0; i < out->num_sge; i++)
		out->sge[i] = sge[i];
	*index = ++wq->next;
	/* Relaxed: for information; a reader that depends on it also reads the role of the queue. */
	atomic_store_explicit(&wq->page->taken, wq->next, memory_order_relaxed);
	return true;
}

bool
vsw_wq_take(struct vsw_wq *wq, struct vsw_wqe *out, uint32_t *index)
{
	return entry_take(wq, out, index, sizeof(struct vsw_wqe));
}

bool
vsw_rq_take(struct vsw_wq *wq, struct vsw_wqe *out, uint32_t *index)
{
	return entry_take(wq, out, index, sizeof(struct vsw_rqe));
}

void
vsw_wq_give_back(struct vsw_wq *wq, uint32_t count)
{
	wq->next -= count;
	atomic_store_explicit(&wq->page->taken, wq->next, memory_order_relaxed);
}

void
vsw_wq_forget(struct vsw_wq *wq)
{
	unsigned int polled = wq->pushed;

	if (atomic_compare_exchange_strong(&wq->page->released, &polled, wq->next))
		wq->pushed = wq->next;
}

/* --- completion queues ------------------------------------------------------------------- */

/* At least two entries, so that some generation fits no index of a slot; see cq_ring_get. */
static uint32_t
cq_ring_of(uint32_t entries)
{
	return vsw_ring_size(entries < 2 ? 2 : entries);
}

/* A ring without valid entries, whatever the indices: the low bits of index + 1 never equal the slot. */
static struct vsw_cqe *
cq_ring_get(uint32_t entries)
{
	struct vsw_cqe *ring = pages_get((size_t)entries * sizeof(*ring));

	/* Relaxed: no other thread knows the ring yet. */
	for (uint32_t i = 0; ring != NULL && i < entries; i++)
		atomic_store_explicit(&ring[i].generation, i, memory_order_relaxed);
	return ring;
}

enum ri_status
vsw_cq_create(struct vsw_cq *cq, uint64_t ctx, uint32_t *entries,
	      const struct vsw_cq_upcall *upcalls)
{
	memset(cq, 0, sizeof(*cq));
	if (*entries > RING_MAX)
		return RI_ERR_LIMIT;
	cq->size = cq_ring_of(*entries);
	cq->mask = cq->size - 1;
	cq->ctx = ctx;
	cq->upcalls = upcalls;
	cq->page = pages_get(sizeof(*cq->page));
	if (cq->page == NULL)
		return RI_ERR_RESOURCES;
	cq->ring = cq_ring_get(cq->size);
	if (cq->ring == NULL) {
		pages_put(cq->page);
		return RI_ERR_RESOURCES;
	}
	*entries = cq->size;
	return RI_SUCCESS;
}

void
vsw_cq_destroy(struct vsw_cq *cq)
{
	if (cq->page == NULL)
		return;
	pages_put(cq->old_ring);
	pages_put(cq->ring);
	pages_put(cq->page);
	cq->page = NULL;
}

static void
cqe_write(struct vsw_cqe *slot, const struct vsw_cqe *cqe, uint32_t index)
{
	memcpy(slot, cqe, offsetof(struct vsw_cqe, generation));
	atomic_store_explicit(&slot->generation, index + 1, memory_order_release);
}

enum ri_status
vsw_cq_resize(struct vsw_cq *cq, uint32_t *entries)
{
	if (*entries > RING_MAX)
		return RI_ERR_LIMIT;

	uint32_t size = cq_ring_of(*entries);
	struct vsw_cqe *ring = cq_ring_get(size);

	if (ring == NULL)
		return RI_ERR_RESOURCES;

	vsw_lock(&cq->lock);
	uint32_t head = atomic_load_explicit(&cq->page->head, memory_order_acquire);
	bool fits = cq->tail - head <= size;
	struct vsw_cqe *gone = fits ? cq->old_ring : ring;
	if (fits) {
		for (uint32_t i = head; i != cq->tail; i++)
			cqe_write(&ring[i & (size - 1)], &cq->ring[i & cq->mask], i);
		cq->old_ring = cq->ring;
		cq->ring = ring;
		cq->size = size;
		cq->mask = size - 1;
	}
	vsw_unlock(&cq->lock);
	pages_put(gone);
	if (!fits)
		return RI_ERR_BUSY;
	*entries = size;
	return RI_SUCCESS;
}

/* Does the condition of an arm word hold, now that an entry was written? */
static bool
arm_is_due(const struct vsw_cq *cq, uint32_t arm, uint32_t tail, bool solicited)
{
	switch (vsw_arm_how(arm)) {
	case RI_ARM_NEXT:
		return true;
	case RI_ARM_SOLICITED:
		return solicited;
	case RI_ARM_COUNT:
		return tail - atomic_load(&cq->page->head) >= vsw_arm_count(arm);
	case RI_ARM_NONE:
	case RI_ARM_UNREPORTED: /* a word has no such value */
	default:
		return false;
	}
}

/* Make the upcall if the queue is armed and the condition holds. Only the thread that clears the word does. */
static void
cq_fire(struct vsw_cq *cq, uint32_t tail, bool solicited)
{
	uint32_t arm = atomic_load(&cq->page->arm);

	while (arm != 0 && arm_is_due(cq, arm, tail, solicited)) {
		if (!atomic_compare_exchange_strong(&cq->page->arm, &arm, 0))
			continue;
		/* Before the upcall, so that whoever it wakes arms with this value. */
		atomic_store(&cq->page->reported, tail);
		cq->upcalls->cq_event(cq->upcalls->self, cq->ctx);
		return;
	}
}

bool
vsw_cq_push(struct vsw_cq *cq, const struct vsw_cqe *cqe)
{
	bool solicited = (cqe->flags & RI_WC_SOLICITED) != 0;

	vsw_lock(&cq->lock);
	uint32_t index = cq->tail;
	if (index - cq->head_seen >= cq->size) {
		cq->head_seen = atomic_load_explicit(&cq->page->head, memory_order_acquire);
		if (index - cq->head_seen >= cq->size) {
			vsw_unlock(&cq->lock);
			return false;
		}
	}
	cqe_write(&cq->ring[index & cq->mask], cqe, index);
	cq->tail = index + 1;
	if (solicited) /* relaxed: the store of the tail publishes it; see condition_holds */
		atomic_store_explicit(&cq->page->sol_tail, ++cq->sol_tail, memory_order_relaxed);
	atomic_store(&cq->page->tail, index + 1);
	vsw_unlock(&cq->lock);
	cq_fire(cq, index + 1, solicited);
	return true;
}
