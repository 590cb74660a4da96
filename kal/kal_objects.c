/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The table of a client's objects. */
#include <stdlib.h>
#include <string.h>

#include "kal_objects.h"
#include "ri_owned.h"

#define INDEX_BITS      20
#define INDEX_MASK      ((1u << INDEX_BITS) - 1)
#define GENERATION_MASK ((1u << (32 - INDEX_BITS)) - 1)

#define REUSE_LATE 64 /* a slot is used again only when more slots than these are free */
#define ROOM_FIRST 64

/* Room for one more slot. */
static bool
slots_grow(struct kal_client *client)
{
	uint32_t room = client->slot_room == 0 ? ROOM_FIRST : 2 * client->slot_room;
	struct kal_slot *slots;

	if (client->slot_count < client->slot_room)
		return true;
	if (client->slot_count > INDEX_MASK)
		return false;
	slots = realloc(client->slots, room * sizeof(*slots));
	if (slots == NULL)
		return false;
	memset(slots + client->slot_room, 0, (room - client->slot_room) * sizeof(*slots));
	client->slots = slots;
	client->slot_room = room;
	if (client->slot_count == 0)
		client->slot_count = 1;
	return true;
}

/* A slot is reused late, so that an old id stays invalid for a long time. */
uint32_t
kal_object_add(struct kal_client *client, enum ri_object type, struct kal_object *object)
{
	uint32_t index = client->first_free;

	RI_ASSERT_OWNED(&client->calls);
	if (kal_account_take(&client->account, kal_resource_of(type), 1) != RI_SUCCESS)
		return 0;
	if (client->free_count <= REUSE_LATE && slots_grow(client)) {
		index = client->slot_count++;
	} else if (index != 0) {
		client->first_free = client->slots[index].next_free;
		if (client->first_free == 0)
			client->last_free = 0;
		client->free_count--;
	} else {
		kal_account_give(&client->account, kal_resource_of(type), 1);
		return 0;
	}
	object->type = type;
	object->id = ((uint32_t)client->slots[index].generation << INDEX_BITS) | index;
	client->slots[index].object = object;
	return object->id;
}

void
kal_object_remove(struct kal_client *client, struct kal_object *object)
{
	uint32_t index = object->id & INDEX_MASK;
	struct kal_slot *slot = &client->slots[index];

	RI_ASSERT_OWNED(&client->calls);
	kal_account_give(&client->account, kal_resource_of(object->type), 1);
	slot->object = NULL;
	slot->generation = (uint16_t)((slot->generation + 1u) & GENERATION_MASK);
	slot->next_free = 0;
	if (client->last_free != 0)
		client->slots[client->last_free].next_free = index;
	else
		client->first_free = index;
	client->last_free = index;
	client->free_count++;
}

void *
kal_object_get(struct kal_client *client, uint32_t id, enum ri_object type)
{
	uint32_t index = id & INDEX_MASK;
	struct kal_object *object;

	RI_ASSERT_OWNED(&client->calls);
	if (index >= client->slot_count)
		return NULL;
	object = client->slots[index].object;
	return object != NULL && object->id == id && object->type == type ? object : NULL;
}

static const struct kal_rnic *
rnic_of(const struct kal_object *object)
{
	switch (object->type) {
	case RI_OBJECT_RNIC:
		return (const struct kal_rnic *)object;
	case RI_OBJECT_PD:
		return ((const struct kal_pd *)object)->rnic;
	case RI_OBJECT_CQ:
		return ((const struct kal_cq *)object)->rnic;
	case RI_OBJECT_SRQ:
		return ((const struct kal_srq *)object)->pd->rnic;
	case RI_OBJECT_QP:
		return ((const struct kal_qp *)object)->pd->rnic;
	case RI_OBJECT_MR:
		return ((const struct kal_mr *)object)->pd->rnic;
	case RI_OBJECT_MW:
		return ((const struct kal_mw *)object)->pd->rnic;
	case RI_OBJECT_AH:
		return ((const struct kal_ah *)object)->pd->rnic;
	case RI_OBJECT_LISTEN:
		return ((const struct kal_listen *)object)->rnic;
	case RI_OBJECT_NONE:
	case RI_OBJECT_PORT:
	case RI_OBJECT_REQUEST:
	case RI_OBJECT_CLIENT:
	case RI_OBJECT_COUNT:
	default:
		return NULL;
	}
}

void *
kal_object_any(struct kal_client *client, enum ri_object type, const struct kal_rnic *rnic)
{
	RI_ASSERT_OWNED(&client->calls);
	for (uint32_t i = 0; i < client->slot_count; i++) {
		struct kal_object *object = client->slots[i].object;

		if (object != NULL && object->type == type &&
		    (rnic == NULL || rnic_of(object) == rnic))
			return object;
	}
	return NULL;
}

struct kal_rnic *
kal_rnic_next(struct kal_client *client, const struct kal_rnic *rnic)
{
	uint32_t i = rnic != NULL ? (rnic->object.id & INDEX_MASK) + 1 : 0;

	RI_ASSERT_OWNED(&client->calls);
	for (; i < client->slot_count; i++) {
		struct kal_object *object = client->slots[i].object;

		if (object != NULL && object->type == RI_OBJECT_RNIC)
			return (struct kal_rnic *)object;
	}
	return NULL;
}
