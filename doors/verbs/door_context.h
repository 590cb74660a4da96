/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What ibv_open_device returns. */
#ifndef DOOR_CONTEXT_H
#define DOOR_CONTEXT_H

#include "door_adapter.h"
#include "door_events.h"

struct door_context {
	struct door_adapter *adapter;
	struct door_context *next;  /* door_adapter::contexts */
	struct door_events async;   /* its descriptor is ibv_context::async_fd */
	struct verbs_context verbs; /* last; verbs.context is what programs have */
};

static inline struct door_context *
door_context_of(struct ibv_context *context)
{
	return (struct door_context *)((char *)context -
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

/* Fill in the operations of a new context; door_ops.c. */
void door_context_ops(struct verbs_context *verbs);

/* Attributes of a port, number from 1; EINVAL or 0. `len` octets of attr are written. */
int door_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr,
		    size_t len);
int door_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
			 struct ibv_device_attr_ex *attr, size_t len);
/* The GID for an address of a spigot. */
union ibv_gid door_gid(const struct ri_addr *addr);
/* The address for a GID: IPv4 if it is mapped, IPv6 or GID by the adapter's own addresses. */
struct ri_addr door_addr(struct door_adapter *adapter, const union ibv_gid *gid);

#endif /* DOOR_CONTEXT_H */
