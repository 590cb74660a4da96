/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The table: its memory, its slots, and what a fork does. doc/decisions/0032 has the reasons.
 *
 * The whole table is mapped at once, because the seal that prevents others from mapping the memory
 * file for writing also prevents its owner from mapping more of it. The kernel allocates a page
 * when its first slot is used. The child of a fork gets private zeroed memory at the same
 * addresses, so that pointers into the table stay valid; no reader sees that memory. The child's
 * first adapter makes a new table.
 */
#include "kal_live.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "kal_fds.h"
#include "kal_host.h"
#include "kal_live_stats.h"
#include "kal_settings.h"
#include "ri_count.h"
#include "ri_owned.h"

#define BYTES ((size_t)KAL_LIVE_SLOTS * sizeof(struct kal_live_slot))

/* Linux 5.1. */
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct {
	struct kal_live_slot *slots; /* the first one is the head; NULL: no table yet */
	struct kal_fd file;          /* if it is published */
	uint32_t last_serial;
	uint32_t free; /* first free slot below head->high; its `adapter` is the next one */
	struct kal_live_sum *sums;
} table;

static struct kal_live_head *
head_of(void)
{
	return (struct kal_live_head *)table.slots;
}

/* --- memory ------------------------------------------------------------------------------------------------ */

static void
live_before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void
live_after_fork_parent(void)
{
	pthread_mutex_unlock(&lock);
}

static void
live_after_fork_child(void)
{
	/* If the kernel refuses, the pages stay shared; then only counters of what the child must not use could go wrong. */
	if (table.slots != NULL)
		table.slots = mmap(table.slots, BYTES, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
	kal_live_sums_free(table.sums);
	memset(&table, 0, sizeof(table));
	pthread_mutex_init(&lock, NULL);
}

static void
watch_forks(void)
{
	kal_fds_watch_forks();
	(void)pthread_atfork(live_before_fork, live_after_fork_parent, live_after_fork_child);
	kal_live_stats_begin();
}

/* May the process make a file of that size? Beyond its limit it would get a signal. */
static bool
may_be_long(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
	       (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= BYTES);
}

/* A table that other processes can read; NULL: it cannot be had. */
static void *
published(void)
{
	void *pages;

	/* A simulated host has no processes around it. */
	if (kal_host_own() != NULL || !may_be_long() ||
	    strcmp(kal_setting_text(KAL_SETTING_LIVE), "on") != 0)
		return NULL;
	if (!kal_fd_memory(&table.file, KAL_LIVE_NAME, MFD_ALLOW_SEALING))
		return NULL;
	pages = ftruncate(kal_fd_get(&table.file), (off_t)BYTES) == 0
			? mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			       kal_fd_get(&table.file), 0)
			: MAP_FAILED;
	if (pages == MAP_FAILED) {
		kal_fd_close(&table.file);
		return NULL;
	}
	/* An older kernel knows not the second one: then a process of the same user can write, as it can with a debugger. */
	(void)fcntl(kal_fd_get(&table.file), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
	(void)fcntl(kal_fd_get(&table.file), F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL);
	return pages;
}

static bool
table_make(void)
{
	void *pages = published();
	struct kal_live_head *head;

	RI_ASSERT_OWNED(&lock);
	if (pages == NULL) {
		pages = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (pages == MAP_FAILED)
			return false;
	}
	table.slots = pages;
	head = head_of();
	head->version = KAL_LIVE_VERSION;
	head->slot_size = sizeof(struct kal_live_slot);
	head->slots = KAL_LIVE_SLOTS;
	head->high = 1;
	head->pid = (uint32_t)getpid();
	__atomic_thread_fence(__ATOMIC_RELEASE);
	memcpy(head->magic, KAL_LIVE_MAGIC, sizeof(head->magic));
	return true;
}

/* --- slots ------------------------------------------------------------------------------------------------- */

/* Around every change of what a reader copies between two looks at `sequence`. */
static void
write_begin(struct kal_live_slot *slot)
{
	RI_ASSERT_OWNED(&lock);
	__atomic_store_n(&slot->sequence, slot->sequence + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static void
write_end(struct kal_live_slot *slot)
{
	__atomic_store_n(&slot->sequence, slot->sequence + 1, __ATOMIC_RELEASE);
}

uint32_t
kal_live_index(const struct kal_live_slot *slot)
{
	/* A slot of the parent, in the child of a fork, has none. */
	return table.slots != NULL && slot > table.slots && slot < table.slots + KAL_LIVE_SLOTS
		       ? (uint32_t)(slot - table.slots)
		       : 0;
}

/* One that is free, or NULL. */
static struct kal_live_slot *
slot_find(void)
{
	struct kal_live_slot *slot = NULL;

	if (table.free != 0) {
		slot = &table.slots[table.free];
		table.free = slot->adapter;
	} else if (head_of()->high < KAL_LIVE_SLOTS) {
		slot = &table.slots[head_of()->high];
		__atomic_store_n(&head_of()->high, head_of()->high + 1, __ATOMIC_RELEASE);
	} else {
		head_of()->missed++;
	}
	return slot;
}

struct kal_live_slot *
kal_live_take(enum kal_live_kind kind, const struct kal_live_slot *adapter)
{
	struct kal_live_slot *slot = NULL;

	pthread_once(&once, watch_forks);
	pthread_mutex_lock(&lock);
	if ((kind == KAL_LIVE_ADAPTER || adapter != NULL) && (table.slots != NULL || table_make()))
		slot = slot_find();
	if (slot != NULL) {
		write_begin(slot);
		memset(&slot->kind, 0, sizeof(*slot) - offsetof(struct kal_live_slot, kind));
		slot->kind = (uint8_t)kind;
		slot->serial = ++table.last_serial;
		slot->adapter = kal_live_index(adapter != NULL ? adapter : slot);
		if (kind == KAL_LIVE_QP || kind == KAL_LIVE_SRQ)
			slot->count.qp.size = sizeof(slot->count.qp);
		if (kind == KAL_LIVE_CQ)
			slot->count.cq.of.size = sizeof(slot->count.cq.of);
		write_end(slot);
	}
	pthread_mutex_unlock(&lock);
	return slot;
}

void
kal_live_name(struct kal_live_slot *slot, const char *name)
{
	if (slot == NULL)
		return;
	pthread_mutex_lock(&lock);
	write_begin(slot);
	(void)snprintf(slot->is.name, sizeof(slot->is.name), "%s", name);
	write_end(slot);
	pthread_mutex_unlock(&lock);
}

void
kal_live_qp(struct kal_live_slot *slot, uint32_t number, uint32_t type,
	    const struct kal_live_slot *send_cq, const struct kal_live_slot *recv_cq)
{
	if (slot == NULL)
		return;
	pthread_mutex_lock(&lock);
	write_begin(slot);
	slot->number = number;
	slot->type = (uint8_t)type;
	slot->cqs[0] = kal_live_index(send_cq);
	slot->cqs[1] = kal_live_index(recv_cq);
	write_end(slot);
	pthread_mutex_unlock(&lock);
}

void
kal_live_path(struct kal_live_slot *slot, uint32_t state, const struct kal_live_path *path)
{
	if (slot == NULL)
		return;
	pthread_mutex_lock(&lock);
	write_begin(slot);
	slot->state = (uint8_t)state;
	slot->is.path = *path;
	write_end(slot);
	pthread_mutex_unlock(&lock);
}

void
kal_live_event(struct kal_live_slot *slot)
{
	if (slot != NULL)
		__atomic_fetch_add(&slot->count.cq.events, 1, __ATOMIC_RELAXED);
}

/* --- sums -------------------------------------------------------------------------------------------------- */

static void
words_add(uint64_t *to, const uint64_t *from, size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof(*to); i++)
		to[i] += ri_count_read(&from[i]);
}

/* Add what an object has counted. */
static void
sum_add(struct kal_live_sum *sum, const struct kal_live_slot *slot)
{
	const size_t qp_words = sizeof(sum->qp) - offsetof(struct ri_qp_counters, posts);
	const size_t cq_words = sizeof(sum->cq) - offsetof(struct ri_cq_counters, done);

	if (slot->kind == KAL_LIVE_QP || slot->kind == KAL_LIVE_SRQ) {
		*(slot->kind == KAL_LIVE_QP ? &sum->qps : &sum->srqs) += 1;
		sum->qp.known |= slot->count.qp.known;
		words_add(sum->qp.posts, slot->count.qp.posts, qp_words);
	} else if (slot->kind == KAL_LIVE_CQ) {
		sum->cqs++;
		sum->cq.known |= slot->count.cq.of.known;
		words_add(sum->cq.done, slot->count.cq.of.done, cq_words);
		sum->events += ri_count_read(&slot->count.cq.events);
	} else if (slot->kind == KAL_LIVE_ADAPTER) {
		sum->adapters++;
		words_add(&sum->waits.waits, &slot->count.adapter.waits, sizeof(sum->waits));
	}
}

/* The sum of that name in a list; NULL: no memory. */
static struct kal_live_sum *
sum_of(struct kal_live_sum **list, const char *name)
{
	struct kal_live_sum *sum = *list;

	while (sum != NULL && strcmp(sum->name, name) != 0)
		sum = sum->next;
	if (sum == NULL) {
		sum = calloc(1, sizeof(*sum));
		if (sum == NULL)
			return NULL;
		(void)snprintf(sum->name, sizeof(sum->name), "%s", name);
		sum->next = *list;
		*list = sum;
	}
	return sum;
}

static void
slot_sum(struct kal_live_sum **list, const struct kal_live_slot *slot)
{
	struct kal_live_sum *sum;

	RI_ASSERT_OWNED(&lock);
	if (slot->kind == KAL_LIVE_LISTENER)
		return;
	sum = sum_of(list, table.slots[slot->adapter].is.name);
	if (sum != NULL)
		sum_add(sum, slot);
}

/* Copies are in the reverse order. */
static bool
sums_copy(struct kal_live_sum **to, const struct kal_live_sum *from)
{
	for (; from != NULL; from = from->next) {
		struct kal_live_sum *copy = malloc(sizeof(*copy));

		if (copy == NULL)
			return false;
		*copy = *from;
		copy->next = *to;
		*to = copy;
	}
	return true;
}

void
kal_live_give(struct kal_live_slot *slot)
{
	if (slot == NULL)
		return;
	pthread_mutex_lock(&lock);
	/* In the child of a fork it is memory that nobody sees. */
	if (kal_live_index(slot) != 0 && slot->kind != KAL_LIVE_FREE) {
		slot_sum(&table.sums, slot);
		write_begin(slot);
		slot->kind = KAL_LIVE_FREE;
		slot->adapter = table.free;
		write_end(slot);
		table.free = kal_live_index(slot);
	}
	pthread_mutex_unlock(&lock);
}

struct kal_live_sum *
kal_live_sums(void)
{
	struct kal_live_sum *sums = NULL;

	pthread_mutex_lock(&lock);
	if (table.slots != NULL && sums_copy(&sums, table.sums))
		for (uint32_t i = 1; i < head_of()->high; i++)
			if (table.slots[i].kind != KAL_LIVE_FREE)
				slot_sum(&sums, &table.slots[i]);
	pthread_mutex_unlock(&lock);
	return sums;
}

void
kal_live_sums_free(struct kal_live_sum *sums)
{
	while (sums != NULL) {
		struct kal_live_sum *next = sums->next;

		free(sums);
		sums = next;
	}
}

const struct kal_live_head *
kal_live_lock(void)
{
	pthread_mutex_lock(&lock);
	return head_of();
}

void
kal_live_unlock(void)
{
	pthread_mutex_unlock(&lock);
}
