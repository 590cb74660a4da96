/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Objects: the list of an adapter, which finds them by what events and completions say about them. */
#include "wrap.h"

#include <stdlib.h>
#include <string.h>

struct wrap_obj *
wrap_new(const void *parent, enum wrap_kind kind)
{
	const struct wrap_obj *from = parent;
	struct wrap_obj *obj = calloc(1, sizeof(*obj));

	if (obj == NULL)
		return NULL;
	obj->rnic = from->rnic;
	obj->kind = kind;
	obj->context = from->kind == WRAP_CONTEXT ? wrap_of(from) : from->context;
	return obj;
}

void *
wrap_ready(struct wrap_obj *obj, void *inner)
{
	struct wrap_rnic *rnic = obj->rnic;

	obj->inner = inner;
	pthread_mutex_lock(&rnic->lock);
	obj->next = &rnic->objects;
	obj->prev = rnic->objects.prev;
	obj->prev->next = obj;
	rnic->objects.prev = obj;
	pthread_mutex_unlock(&rnic->lock);
	return obj;
}

/* With the lock. */
static void
leave(struct wrap_obj *obj)
{
	if (obj->next == NULL)
		return;
	obj->prev->next = obj->next;
	obj->next->prev = obj->prev;
	obj->next = obj->prev = NULL;
}

static void
dispose(struct wrap_obj *obj)
{
	if (obj->held != NULL) {
		pthread_mutex_destroy(&obj->held->lock);
		free(obj->held);
	}
	free(obj->own);
	free(obj);
}

void
wrap_free(struct wrap_obj *obj)
{
	if (obj == NULL)
		return;
	pthread_mutex_lock(&obj->rnic->lock);
	leave(obj);
	pthread_mutex_unlock(&obj->rnic->lock);
	dispose(obj);
}

void
wrap_consume(struct wrap_obj *request)
{
	struct wrap_rnic *rnic = request->rnic;
	struct wrap_obj *oldest = NULL;

	pthread_mutex_lock(&rnic->lock);
	if (request->next != NULL) { /* not consumed before */
		struct wrap_obj **place = &rnic->consumed[rnic->consumed_next++ % WRAP_CONSUMED];

		leave(request);
		oldest = *place;
		*place = request;
	}
	pthread_mutex_unlock(&rnic->lock);
	if (oldest != NULL)
		dispose(oldest);
}

void
wrap_free_context(struct wrap_obj *context)
{
	struct wrap_rnic *rnic = context->rnic;

	pthread_mutex_lock(&rnic->lock);
	for (struct wrap_obj *o = rnic->objects.next, *after; o != &rnic->objects; o = after) {
		after = o->next;
		if (o->context != context)
			continue;
		leave(o);
		dispose(o);
	}
	pthread_mutex_unlock(&rnic->lock);
	wrap_free(context);
}

struct wrap_obj *
wrap_find(struct wrap_rnic *rnic, enum wrap_kind kind, uint64_t ctx)
{
	struct wrap_obj *o;

	pthread_mutex_lock(&rnic->lock);
	o = rnic->objects.prev;
	while (o != &rnic->objects && (o->kind != kind || o->ctx != ctx))
		o = o->prev;
	pthread_mutex_unlock(&rnic->lock);
	return o != &rnic->objects ? o : NULL;
}

struct wrap_obj *
wrap_find_inner(struct wrap_rnic *rnic, enum wrap_kind kind, const void *inner)
{
	struct wrap_obj *o;

	pthread_mutex_lock(&rnic->lock);
	o = rnic->objects.prev;
	while (o != &rnic->objects && (o->kind != kind || o->inner != inner))
		o = o->prev;
	pthread_mutex_unlock(&rnic->lock);
	return o != &rnic->objects ? o : NULL;
}

struct wrap_obj *
wrap_find_other(const struct wrap_obj *than)
{
	struct wrap_rnic *rnic = than->rnic;
	struct wrap_obj *o;

	pthread_mutex_lock(&rnic->lock);
	o = rnic->objects.next;
	while (o != &rnic->objects && (o->kind != than->kind || o == than))
		o = o->next;
	pthread_mutex_unlock(&rnic->lock);
	return o != &rnic->objects ? o : NULL;
}

uint32_t
wrap_number(const struct wrap_obj *obj)
{
	struct wrap_rnic *rnic = obj->rnic;
	uint32_t number = 0;

	pthread_mutex_lock(&rnic->lock);
	for (struct wrap_obj *o = rnic->objects.next; o != &rnic->objects; o = o->next) {
		number += o->kind == obj->kind;
		if (o == obj)
			break;
	}
	pthread_mutex_unlock(&rnic->lock);
	return number;
}

void
wrap_map(struct ri_map *map, struct wrap_obj *obj)
{
	memset(map, 0, sizeof(*map));
	map->fd = -1;
	map->addr = (uint64_t)(uintptr_t)obj;
	map->length = sizeof(*obj);
}

struct wrap_obj *
wrap_mapped(const struct ri_map *map)
{
	return (struct wrap_obj *)(uintptr_t)map->addr;
}

struct wrap_obj *
wrap_region_of(struct wrap_rnic *rnic, uint32_t stag)
{
	struct wrap_obj *o;

	pthread_mutex_lock(&rnic->lock);
	o = rnic->objects.prev;
	while (o != &rnic->objects && (o->kind != WRAP_MR || o->stag != stag))
		o = o->prev;
	pthread_mutex_unlock(&rnic->lock);
	return o != &rnic->objects ? o : NULL;
}
