/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The user half of the software providers: it writes work queues, reads completion queues, and rings
 * the doorbell. Everything here runs in the application's process, on any of its threads.
 *
 * The pages belong to the privileged half; the objects here only point into them. This file creates and
 * destroys the objects, vsw_post.c is their fast path.
 *
 * A completion names the work queue whose slots it releases by a number. A polling thread reads the table
 * of numbers under the lock of its completion queue and under no other. Closing a queue removes the number
 * from the table and then takes and releases that lock, before the pages may be freed; so a thread that
 * found the number has finished by then. The completions stay in their queue and can still be polled, but
 * their number is no longer found.
 */
#include "vsw_user_objects.h"

#include <stdlib.h>
#include <string.h>

static void *
alloc_zeroed(size_t bytes)
{
	void *p = NULL;

	if (posix_memalign(&p, VSW_CACHE_LINE, bytes) != 0)
		return NULL;
	return memset(p, 0, bytes);
}

/* --- maps -------------------------------------------------------------------------------- */

static uint64_t
address_of(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static void *
pointer_of(uint64_t address)
{
	return (void *)(uintptr_t)address;
}

static void
map_start(struct ri_map *map, const void *pages, size_t bytes)
{
	memset(map, 0, sizeof(*map));
	map->addr = address_of(pages);
	map->length = bytes;
	map->fd = -1;
}

void
vsw_map_rnic(struct ri_map *map, const struct vsw_doorbell *doorbell)
{
	map_start(map, doorbell, sizeof(*doorbell));
}

/* words: ring, its entries. */
void
vsw_map_cq(struct ri_map *map, const struct vsw_cq *cq)
{
	map_start(map, cq->page, sizeof(*cq->page));
	map->words[0] = address_of(cq->ring);
	map->words[1] = cq->size;
}

/* words: engine's SRQ, number, segments, ring, slots and entries of the ring, its generation. */
void
vsw_map_srq(struct ri_map *map, const struct vsw_wq *srq, void *engine_srq)
{
	uint32_t entries = (srq->new_ring != NULL ? srq->new_mask : srq->mask) + 1;

	map_start(map, srq->page, srq->bytes);
	map->words[0] = address_of(engine_srq);
	map->words[1] = srq->number;
	map->words[2] = srq->max_sge;
	map->words[3] = address_of(srq->new_ring != NULL ? srq->new_ring : srq->ring);
	map->words[4] = srq->size | (uint64_t)entries << 32;
	map->words[5] = srq->ring_generation;
}

/* words: engine's QP, receive queue or 0, two numbers, segments of Send, Write, Read, receive; list, type and octets inline. */
void
vsw_map_qp(struct ri_map *map, const struct vsw_wq *sq, const struct vsw_wq *rq, void *engine_qp,
	   const struct ri_qp_init *limits)
{
	map_start(map, sq->page, sq->bytes);
	map->words[0] = address_of(engine_qp);
	map->words[1] = rq != NULL ? address_of(rq->page) : 0;
	map->words[2] = sq->number | (uint64_t)(rq != NULL ? rq->number : 0) << 32;
	map->words[3] = limits->max_send_sge | (uint64_t)limits->max_write_sge << 32;
	map->words[4] = limits->max_read_sge | (uint64_t)limits->max_recv_sge << 32;
	map->words[5] = (limits->privileged ? sq->max_sge : 0) | (uint64_t)limits->type << 32 |
			(uint64_t)sq->max_inline << 40;
}

/* Three words: ring, or 0 if the queue has no slots; slots and entries; generation and bytes of an entry. */
static void
map_ring(uint64_t words[3], const struct vsw_wq *wq)
{
	bool moves = wq->new_ring != NULL;

	if (wq->room == 0)
		return;
	words[0] = address_of(moves ? wq->new_ring : wq->ring);
	words[1] = wq->size | (uint64_t)((moves ? wq->new_mask : wq->mask) + 1) << 32;
	words[2] = wq->ring_generation | (uint64_t)(moves ? wq->new_stride : wq->stride) << 32;
}

/* words: three of the send queue, three of the receive queue. */
void
vsw_map_qp_again(struct ri_map *map, const struct vsw_wq *sq, const struct vsw_wq *rq)
{
	map_start(map, sq->page, sq->bytes);
	memset(map->words, 0, sizeof(map->words));
	map_ring(&map->words[0], sq);
	map_ring(&map->words[3], rq);
}

/* --- the table of numbers ---------------------------------------------------------------- */

static bool
known_add(struct ri_urnic *rnic, uint32_t number, struct vsw_wq_page *page)
{
	uint32_t place = vsw_number_slot(number) >> VSW_CHUNK_BITS;
	struct vsw_known_chunk *fresh = NULL;

	if (atomic_load(&rnic->chunks[place]) == NULL) {
		struct vsw_known_chunk *none = NULL;
		fresh = alloc_zeroed(sizeof(*fresh));
		if (fresh == NULL)
			return false;
		if (!atomic_compare_exchange_strong(&rnic->chunks[place], &none, fresh))
			free(fresh);
	}
	struct vsw_known_wq *known = vsw_known_find(rnic, number);
	known->page = page;
	atomic_store(&known->number, number);
	return true;
}

static void
known_remove(struct ri_urnic *rnic, uint32_t number)
{
	struct vsw_known_wq *known = number != 0 ? vsw_known_find(rnic, number) : NULL;

	if (known != NULL && atomic_load(&known->number) == number)
		atomic_store(&known->number, 0);
}

/* Wait for the threads that may have found what was just removed. */
static void
pollers_wait_for(struct ri_ucq *cq)
{
	vsw_lock(&cq->lock);
	vsw_unlock(&cq->lock);
}

/* --- opening and closing ----------------------------------------------------------------- */

static enum ri_status
rnic_open(const struct ri_host *host, const struct ri_map *map, struct ri_urnic **out)
{
	const struct vsw_doorbell *bell = pointer_of(map->addr);
	struct ri_urnic *rnic = alloc_zeroed(sizeof(*rnic));

	(void)host;
	if (rnic == NULL)
		return RI_ERR_RESOURCES;
	rnic->bell = *bell;
	pthread_mutex_init(&rnic->lock, NULL);
	*out = rnic;
	return RI_SUCCESS;
}

static void
rnic_close(struct ri_urnic *rnic)
{
	for (uint32_t i = 0; i < VSW_CHUNKS; i++)
		free(atomic_load(&rnic->chunks[i]));
	pthread_mutex_destroy(&rnic->lock);
	free(rnic);
}

static void
cq_follow(struct ri_ucq *cq, const struct ri_map *map)
{
	cq->ring = pointer_of(map->words[0]);
	cq->mask = (uint32_t)map->words[1] - 1;
}

static enum ri_status
cq_open(struct ri_urnic *rnic, const struct ri_map *map, struct ri_ucq **out)
{
	struct ri_ucq *cq = alloc_zeroed(sizeof(*cq));

	if (cq == NULL)
		return RI_ERR_RESOURCES;
	cq->rnic = rnic;
	cq->page = pointer_of(map->addr);
	cq->head = atomic_load(&cq->page->head);
	cq->sol_head = atomic_load(&cq->page->sol_head);
	cq->count = &cq->unread;
	cq_follow(cq, map);
	pthread_mutex_lock(&rnic->lock);
	cq->next = rnic->cqs;
	rnic->cqs = cq;
	pthread_mutex_unlock(&rnic->lock);
	*out = cq;
	return RI_SUCCESS;
}

static enum ri_status
cq_remap(struct ri_ucq *cq, const struct ri_map *map)
{
	vsw_lock(&cq->lock);
	cq_follow(cq, map);
	vsw_unlock(&cq->lock);
	return RI_SUCCESS;
}

static void
cq_close(struct ri_ucq *cq)
{
	struct ri_ucq **at = &cq->rnic->cqs;

	pthread_mutex_lock(&cq->rnic->lock);
	while (*at != cq)
		at = &(*at)->next;
	*at = cq->next;
	pthread_mutex_unlock(&cq->rnic->lock);
	free(cq);
}

static void
user_wq_open(struct vsw_user_wq *wq, void *page, uint32_t number)
{
	wq->page = page;
	wq->number = number;
	if (wq->page == NULL)
		return;
	wq->ring = (char *)wq->page + VSW_WQ_ENTRIES;
	wq->size = wq->page->size;
	wq->mask = wq->page->mask;
	wq->stride = wq->page->stride;
}

/* What a post need not look at closely: the list of a fast registration has a limit of its own. */
static void
ordinary_set(struct ri_uqp *qp)
{
	for (unsigned op = 0; op < RI_OP_COUNT; op++) {
		bool ordinary = qp->known_op[op] && op != RI_OP_FAST_REG;

		__atomic_store_n(&qp->ordinary[op],
				 (uint16_t)(ordinary ? qp->max_sge[op] + 1u : 0u),
				 __ATOMIC_RELAXED);
	}
}

static enum ri_status
qp_open(struct ri_urnic *rnic, const struct ri_map *map, struct ri_ucq *send_cq,
	struct ri_ucq *recv_cq, struct ri_usrq *srq, struct ri_uqp **out)
{
	struct ri_uqp *qp = alloc_zeroed(sizeof(*qp));

	if (qp == NULL)
		return RI_ERR_RESOURCES;
	qp->rnic = rnic;
	qp->engine_qp = pointer_of(map->words[0]);
	qp->count = &qp->unread;
	qp->send_cq = send_cq;
	qp->recv_cq = recv_cq;
	uint8_t send = (uint8_t)map->words[3];
	uint8_t write = (uint8_t)(map->words[3] >> 32);
	uint8_t read = (uint8_t)map->words[4];
	const uint8_t limits[RI_OP_COUNT] = {
		[RI_OP_SEND] = send,   [RI_OP_RDMA_WRITE] = write, [RI_OP_RDMA_READ] = read,
		[RI_OP_FETCH_ADD] = 1, [RI_OP_CMP_SWAP] = 1,       [RI_OP_SEND_UD] = send,
	};
	const uint8_t type = (uint8_t)(map->words[5] >> 32);
	const bool rc = type == RI_QP_RC, ud = type == RI_QP_UD;
	const bool list = (uint32_t)map->words[5] != 0;
	const bool known[RI_OP_COUNT] = {
		[RI_OP_SEND] = !ud,          [RI_OP_RDMA_WRITE] = !ud,
		[RI_OP_RDMA_READ] = rc,      [RI_OP_FETCH_ADD] = rc,
		[RI_OP_CMP_SWAP] = rc,       [RI_OP_BIND_MW] = rc,
		[RI_OP_LOCAL_INV] = rc,      [RI_OP_SEND_UD] = ud,
		[RI_OP_INV_MR] = list && rc, [RI_OP_FAST_REG] = list && rc,
	};

	memcpy(qp->max_sge, limits, sizeof(limits));
	memcpy(qp->known_op, known, sizeof(known));
	ordinary_set(qp);
	qp->max_recv_sge = (uint8_t)(map->words[4] >> 32);
	qp->max_list = (uint8_t)map->words[5];
	qp->max_inline = (uint16_t)(map->words[5] >> 40);
	qp->rare = RI_WR_INLINE | RI_WR_IMMEDIATE | (type == RI_QP_UC ? RI_WR_INVALIDATE : 0);
	user_wq_open(&qp->sq, pointer_of(map->addr), (uint32_t)map->words[2]);
	user_wq_open(&qp->rq, pointer_of(map->words[1]), (uint32_t)(map->words[2] >> 32));
	if (!known_add(rnic, qp->sq.number, qp->sq.page) ||
	    (qp->rq.page != NULL && !known_add(rnic, qp->rq.number, qp->rq.page))) {
		known_remove(rnic, qp->sq.number);
		free(qp);
		return RI_ERR_RESOURCES;
	}
	if (srq != NULL)
		qp->rq.page =
			NULL; /* nothing is posted to it: it only counts receives that are polled */
	*out = qp;
	return RI_SUCCESS;
}

static void
qp_close(struct ri_uqp *qp)
{
	known_remove(qp->rnic, qp->sq.number);
	known_remove(qp->rnic, qp->rq.number);
	pollers_wait_for(qp->send_cq);
	pollers_wait_for(qp->recv_cq);
	free(qp);
}

static enum ri_status
srq_open(struct ri_urnic *rnic, const struct ri_map *map, struct ri_usrq **out)
{
	struct ri_usrq *srq = alloc_zeroed(sizeof(*srq));

	if (srq == NULL)
		return RI_ERR_RESOURCES;
	srq->rnic = rnic;
	srq->engine_srq = pointer_of(map->words[0]);
	srq->max_sge = (uint8_t)map->words[2];
	srq->count = &srq->unread;
	user_wq_open(&srq->wq, pointer_of(map->addr), (uint32_t)map->words[1]);
	if (!known_add(rnic, srq->wq.number, srq->wq.page)) {
		free(srq);
		return RI_ERR_RESOURCES;
	}
	*out = srq;
	return RI_SUCCESS;
}

/*
 * Post to another ring from now on; `words` are those of map_ring. The lock excludes posters.
 * Entries between `released` and `head` may not have been taken by the engine yet. They are copied,
 * so they are in both rings when the engine changes to the new one.
 */
static void
ring_follow(struct vsw_user_wq *wq, const uint64_t words[3])
{
	char *ring = pointer_of(words[0]);
	uint32_t mask = (uint32_t)(words[1] >> 32) - 1;
	uint32_t stride = (uint32_t)(words[2] >> 32);

	vsw_lock(&wq->lock);
	wq->size = (uint32_t)words[1];
	if (ring != wq->ring) {
		for (uint32_t i = atomic_load(&wq->page->released); i != wq->head; i++)
			memcpy(ring + (size_t)(i & mask) * stride,
			       wq->ring + (size_t)(i & wq->mask) * wq->stride, wq->stride);
		wq->ring = ring;
		wq->mask = mask;
		wq->stride = stride;
	}
	atomic_store(&wq->page->ring_generation, (uint32_t)words[2]);
	vsw_unlock(&wq->lock);
}

static void
limit_increase(uint8_t *limit, uint32_t value)
{
	if (value > *limit)
		__atomic_store_n(limit, (uint8_t)value, __ATOMIC_RELAXED);
}

static enum ri_status
qp_remap(struct ri_uqp *qp, const struct ri_qp_attr *real, const struct ri_map *map)
{
	if (map->words[0] != 0)
		ring_follow(&qp->sq, &map->words[0]);
	if (map->words[3] != 0 && qp->rq.page != NULL)
		ring_follow(&qp->rq, &map->words[3]);
	limit_increase(&qp->max_sge[RI_OP_SEND], real->max_send_sge);
	limit_increase(&qp->max_sge[RI_OP_SEND_UD], real->max_send_sge);
	limit_increase(&qp->max_sge[RI_OP_RDMA_WRITE], real->max_write_sge);
	limit_increase(&qp->max_sge[RI_OP_RDMA_READ], real->max_read_sge);
	limit_increase(&qp->max_recv_sge, real->max_recv_sge);
	ordinary_set(qp);
	return RI_SUCCESS;
}

static enum ri_status
srq_remap(struct ri_usrq *srq, const struct ri_map *map)
{
	const uint64_t words[3] = {map->words[3], map->words[4],
				   (uint32_t)map->words[5] | (uint64_t)srq->wq.stride << 32};

	ring_follow(&srq->wq, words);
	return RI_SUCCESS;
}

static void
srq_close(struct ri_usrq *srq)
{
	known_remove(srq->rnic, srq->wq.number);
	pthread_mutex_lock(&srq->rnic->lock);
	for (struct ri_ucq *cq = srq->rnic->cqs; cq != NULL; cq = cq->next)
		pollers_wait_for(cq); /* its completions may be in any of them */
	pthread_mutex_unlock(&srq->rnic->lock);
	free(srq);
}

/* --- counters ---------------------------------------------------------------------------- */

_Static_assert(RI_OP_COUNT <= RI_COUNTERS, "each kind of work has a counter");
_Static_assert(RI_WC_STATUS_COUNT <= RI_COUNTERS, "each status has a counter");

/* Counters of an access layer that knows fewer are not written. */
static void
qp_count(struct ri_uqp *qp, struct ri_qp_counters *counters)
{
	const struct vsw_doorbell *bell = &qp->rnic->bell;

	if (counters->size < sizeof(*counters))
		return;
	uint32_t known = RI_COUNTED_POSTS | RI_COUNTED_OCTETS;

	qp->count = counters;
	if (bell->count != NULL)
		known |= bell->count(qp->engine_qp, counters);
	/* Others may read it meanwhile. */
	__atomic_store_n(&counters->known, known, __ATOMIC_RELAXED);
}

static void
cq_count(struct ri_ucq *cq, struct ri_cq_counters *counters)
{
	if (counters->size < sizeof(*counters))
		return;
	cq->count = counters;
	__atomic_store_n(&counters->known, RI_COUNTED_DONE | RI_COUNTED_OCTETS | RI_COUNTED_ARMINGS,
			 __ATOMIC_RELAXED);
}

static void
srq_count(struct ri_usrq *srq, struct ri_qp_counters *counters)
{
	if (counters->size < sizeof(*counters))
		return;
	srq->count = counters;
	__atomic_store_n(&counters->known, RI_COUNTED_POSTS, __ATOMIC_RELAXED);
}

const struct ri_user_ops vsw_user_ops = {
	.size = sizeof(struct ri_user_ops),
	.rnic_open = rnic_open,
	.rnic_close = rnic_close,
	.cq_open = cq_open,
	.cq_remap = cq_remap,
	.cq_close = cq_close,
	.qp_open = qp_open,
	.qp_close = qp_close,
	.qp_remap = qp_remap,
	.srq_open = srq_open,
	.srq_close = srq_close,
	.srq_remap = srq_remap,
	.qp_count = qp_count,
	.cq_count = cq_count,
	.srq_count = srq_count,
};
