/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "door_slots.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

void
door_slots_init(struct door_slots *slots)
{
	memset(slots, 0, sizeof(*slots));
	pthread_mutex_init(&slots->lock, NULL);
}

void
door_slots_fini(struct door_slots *slots)
{
	for (uint32_t i = 0; i < DOOR_SLOT_CHUNKS; i++)
		free(atomic_load(&slots->chunks[i]));
	pthread_mutex_destroy(&slots->lock);
}

static struct door_slot *
slot_at(struct door_slots *slots, uint32_t index)
{
	return atomic_load(&slots->chunks[index / DOOR_SLOT_CHUNK]) + index % DOOR_SLOT_CHUNK;
}

/* A slot that nobody has had. */
static struct door_slot *
slot_new(struct door_slots *slots, uint32_t *index)
{
	struct door_slot *chunk;

	if (slots->used == DOOR_SLOT_CHUNK * DOOR_SLOT_CHUNKS)
		return NULL;
	*index = slots->used;
	if (*index % DOOR_SLOT_CHUNK == 0) {
		chunk = (struct door_slot *)calloc(DOOR_SLOT_CHUNK, sizeof(*chunk));
		if (chunk == NULL)
			return NULL;
		atomic_store(&slots->chunks[*index / DOOR_SLOT_CHUNK], chunk);
	}
	slots->used++;
	return slot_at(slots, *index);
}

uint64_t
door_slot_enter(struct door_slots *slots, enum door_kind kind, void *object)
{
	struct door_slot *slot;
	uint32_t index, generation = 0;

	pthread_mutex_lock(&slots->lock);
	if (slots->first_free != 0) {
		index = slots->first_free - 1;
		slot = slot_at(slots, index);
		slots->first_free = slot->next_free;
	} else {
		slot = slot_new(slots, &index);
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
