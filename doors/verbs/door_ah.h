/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Address handles, and addresses of verbs in words of RNIC-PI. */
#ifndef DOOR_AH_H
#define DOOR_AH_H

#include "door_memory.h"

struct door_ah {
	struct ibv_ah ibv; /* first */
	struct door_pd *pd;
	uint32_t id; /* of the kAL */
	uint32_t ah; /* for requests */
};

static inline const struct door_ah *
door_ah_of(const struct ibv_ah *ah)
{
	return (const struct door_ah *)ah;
}

/*
 * The path to a peer. 0, or EINVAL: the port or GID index does not exist, or no port of the adapter
 * has the local identifier. Without a GID, a local identifier names a port of this adapter, since
 * its fabric has no other ports.
 */
int door_ah_path(struct door_adapter *adapter, const struct ibv_ah_attr *attr,
		 struct ri_ah_init *path);
/* The entry of a GID in the table of a port; -1: it has none. */
int door_gid_index(struct door_adapter *adapter, uint32_t port, const union ibv_gid *gid);

#endif /* DOOR_AH_H */
