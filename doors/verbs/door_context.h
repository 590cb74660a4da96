/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What ibv_open_device returns. */
#ifndef DOOR_CONTEXT_H
#define DOOR_CONTEXT_H

#include "door_adapter.h"
#include "door_events.h"

struct door_async;

struct door_context {
	struct door_adapter *adapter;
	struct door_context *next; /* door_adapter::contexts */
	/*
	 * References: one of the program, until it closes the context, and one of each object without
	 * another parent. A program may close the context before it destroys them.
	 */
	atomic_uint refs;
	struct door_events async; /* its descriptor is ibv_context::async_fd */
	struct door_async
		*port_events;       /* door_async.c: what can happen to the adapter and its ports */
	struct verbs_context verbs; /* last; verbs.context is what programs have */
};

static inline struct door_context *
door_context_of(struct ibv_context *context)
{
	return (struct door_context *)(void *)((char *)context -
					       offsetof(struct door_context, verbs.context));
}

static inline struct door_adapter *
door_adapter_of(struct ibv_context *context)
{
	return door_context_of(context)->adapter;
}

static inline struct session *
door_session_of(struct ibv_context *context)
{
	return &door_context_of(context)->adapter->session;
}

void door_context_hold(struct door_context *context);
/* The last one closes it: it has no objects, and the program does not use it any more. */
void door_context_put(struct door_context *context);

/* Fill in the operations of a new context; door_ops.c. */
void door_context_ops(struct door_context *context);
/* In the child of a fork: make what it inherited refuse its calls; door_ops.c. */
void door_inherit(struct door_adapter *adapter);

/* Attributes of a port, number from 1; EINVAL or 0. `len` octets of attr are written. */
int door_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr,
		    size_t len);
int door_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
			 struct ibv_device_attr_ex *attr, size_t len);
/* The address behind an entry of the GID table of a port, from 1. */
bool door_port_addr(struct door_adapter *adapter, uint32_t port, uint32_t index,
		    struct ri_addr *addr);
/* The local identifier of a port, from 1; 0: it has none, since its link is not of InfiniBand. */
uint16_t door_port_lid(const struct door_adapter *adapter, uint32_t port);
/* The GID for an address of a spigot. */
union ibv_gid door_gid(const struct ri_addr *addr);
/* The address for a GID: IPv4 if it is mapped, IPv6 or GID by the adapter's own addresses. */
struct ri_addr door_addr(struct door_adapter *adapter, const union ibv_gid *gid);

#endif /* DOOR_CONTEXT_H */
