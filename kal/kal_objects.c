/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The table of a client's objects. */
#include "kal_objects.h"

#define INDEX_BITS      20
#define INDEX_MASK      ((1u << INDEX_BITS) - 1)
#define GENERATION_MASK ((1u << (32 - INDEX_BITS)) - 1)

uint32_t
kal_object_add(struct kal_client *client, enum ri_object type, struct kal_object *object)
{
	uint16_t generation = 0;
	uint32_t index;

	if (kal_account_take(&client->account, kal_resource_of(type), 1) != RI_SUCCESS)
		return 0;
	/* Slots are reused late, so that an old id stays wrong for long. */
	if (g_queue_get_length(&client->free_slots) > 64 || client->slots->len > INDEX_MASK) {
		if (g_queue_is_empty(&client->free_slots)) {
			kal_account_give(&client->account, kal_resource_of(type), 1);
			return 0;
		}
		index = GPOINTER_TO_UINT(g_queue_pop_head(&client->free_slots));
	} else {
		index = client->slots->len;
		g_ptr_array_add(client->slots, NULL);
		g_array_append_val(client->generations, generation);
	}
	generation = g_array_index(client->generations, uint16_t, index);
	object->type = type;
	object->id = ((uint32_t)generation << INDEX_BITS) | index;
	g_ptr_array_index(client->slots, index) = object;
	return object->id;
}

void
kal_object_remove(struct kal_client *client, struct kal_object *object)
{
	uint32_t index = object->id & INDEX_MASK;
	uint16_t *generation = &g_array_index(client->generations, uint16_t, index);

	kal_account_give(&client->account, kal_resource_of(object->type), 1);
	g_ptr_array_index(client->slots, index) = NULL;
	*generation = (uint16_t)((*generation + 1u) & GENERATION_MASK);
	g_queue_push_tail(&client->free_slots, GUINT_TO_POINTER(index));
}

void *
kal_object_get(struct kal_client *client, uint32_t id, enum ri_object type)
{
	uint32_t index = id & INDEX_MASK;
	struct kal_object *object;

	if (index >= client->slots->len)
		return NULL;
	object = g_ptr_array_index(client->slots, index);
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
	for (guint i = 0; i < client->slots->len; i++) {
		struct kal_object *object = g_ptr_array_index(client->slots, i);

		if (object != NULL && object->type == type &&
		    (rnic == NULL || rnic_of(object) == rnic))
			return object;
	}
	return NULL;
}

struct kal_rnic *
kal_rnic_next(struct kal_client *client, const struct kal_rnic *rnic)
{
	guint i = rnic != NULL ? (rnic->object.id & INDEX_MASK) + 1 : 0;

	for (; i < client->slots->len; i++) {
		struct kal_object *object = g_ptr_array_index(client->slots, i);

		if (object != NULL && object->type == RI_OBJECT_RNIC)
			return (struct kal_rnic *)object;
	}
	return NULL;
}
