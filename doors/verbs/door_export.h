/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#ifndef DOOR_EXPORT_H
#define DOOR_EXPORT_H

#include <infiniband/verbs.h>

/* A function that programs call; libitapi-verbs.map has its version. */
#define EXPORT __attribute__((visibility("default")))

/* Functions of rdma-core's private nodes that its own tools and Python bindings call; no header has them. */
EXPORT int ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned index,
			      unsigned *type);

#endif /* DOOR_EXPORT_H */
