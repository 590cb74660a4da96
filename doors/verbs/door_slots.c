/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "door_slots.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#define SLOTS_BYTES (DOOR_SLOTS_MAX * sizeof(struct door_slot))

bool
door_slots_init(struct door_slots *slots)
{
	void *memory = mmap(NULL, SLOTS_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	memset(slots, 0, sizeof(*slots));
	if (memory == MAP_FAILED)
		return false;
	slots->first = (struct door_slot *)memory;
	pthread_mutex_init(&slots->lock, NULL);
	return true;
}

void
door_slots_fini(struct door_slots *slots)
{
	munmap(slots->first, SLOTS_BYTES);
	pthread_mutex_destroy(&slots->lock);
}

uint64_t
door_slot_enter(struct door_slots *slots, enum door_kind kind, void *object)
{
	struct door_slot *slot = NULL;
	uint32_t index = 0, generation = 0;

	pthread_mutex_lock(&slots->lock);
	if (slots->first_free != 0) {
		index = slots->first_free - 1;
		slot = &slots->first[index];
		slots->first_free = slot->next_free;
	} else if (slots->used < DOOR_SLOTS_MAX) {
		index = slots->used++;
		slot = &slots->first[index];
	}
	if (slot != NULL) {
		slot->kind = kind;
		slot->object = object;
		atomic_store(&slot->number, 0);
		/* Odd: it has an owner; so no context is 0. */
		generation = atomic_fetch_add(&slot->generation, 1) + 1;
	}
	pthread_mutex_unlock(&slots->lock);
	return slot != NULL ? (uint64_t)generation << 32 | index : 0;
}

void
door_slot_leave(struct door_slots *slots, uint64_t ctx)
{
	struct door_slot *slot;

	pthread_mutex_lock(&slots->lock);
	slot = door_slot_of(slots, ctx);
	assert(slot != NULL);
	atomic_fetch_add(&slot->generation, 1);
	slot->kind = DOOR_NONE;
	slot->object = NULL;
	slot->next_free = slots->first_free;
	slots->first_free = (uint32_t)ctx + 1;
	pthread_mutex_unlock(&slots->lock);
}

void *
door_slot_find(struct door_slots *slots, enum door_kind kind, uint64_t ctx)
{
	struct door_slot *slot = ctx != 0 ? door_slot_of(slots, ctx) : NULL;

	return slot != NULL && slot->kind == kind ? slot->object : NULL;
}
