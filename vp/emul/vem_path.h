/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Paths: a path is the connection between this adapter and another one; a tester gives names to
 * both. A path is open, holds messages back, or is cut; it may add a delay, and lose datagrams. A
 * rule for a path belongs to one adapter and applies to it in both directions, so a tester sets it
 * at both ends. Paths exist for adapters whose messages take time (vem_wire.h).
 *
 * On a path that holds, a message waits until the path is open. It also waits on a path that is
 * cut, because senders retry it; but the connection breaks when a message has waited for as long as
 * its protocol retries.
 */
#ifndef VEM_PATH_H
#define VEM_PATH_H

#include "ri_command.h"
#include "vem.h"

#define VEM_NAME  32
#define VEM_PATHS 64

enum vem_path_state {
	VEM_PATH_OPEN = 0,
	VEM_PATH_HELD,
	VEM_PATH_CUT
};

struct vem_path {
	char name[VEM_NAME]; /* of the other adapter */
	enum vem_path_state state;
	uint64_t delay_min, delay_max; /* ns, above that of each message */
	uint32_t drop;                 /* percent of datagrams that are lost */
};

/* The rules of an adapter; under the lock of its faults. */
struct vem_paths {
	char name[VEM_NAME]; /* its own */
	unsigned count;
	struct vem_path path[VEM_PATHS];
	bool tells; /* a tester wants to know of messages */
	uint64_t messages;
};

/* What a command about paths says. */
struct vem_path_order {
	enum {
		VEM_PATH_NAME,
		VEM_PATH_STATE,
		VEM_PATH_DELAY,
		VEM_PATH_DROP,
		VEM_PATH_TELL
	} what;
	struct vem_path path;
};

/* Read the commands name, path and tell. NULL, or what is wrong. */
const char *vem_path_read(struct ri_command *command, struct vem_path_order *order);
/* Do it; NULL, or why not. On the service thread, or before the adapter has objects. */
const char *vem_path_do(struct ri_rnic *rnic, const struct vem_path_order *order);
/* Have rules, if there is memory: a capture gets datagrams where they are asked for. */
void vem_path_prepare(struct ri_rnic *rnic);
void vem_path_fini(struct ri_rnic *rnic);

/* Change a rule, or add it: NULL, or why not. With the lock of the rules. */
const char *vem_path_change(struct vem_paths *paths, const struct vem_path_order *order);
/* The rule for that name; without one *path stays as it is. With the lock of the rules. */
void vem_path_find(struct vem_paths *paths, const char *name, struct vem_path *path);

/* The name of an adapter; "": it has none. */
void vem_path_name(struct ri_rnic *rnic, char name[VEM_NAME]);
/* The path to the adapter of that name. */
struct vem_path vem_path_to(struct ri_rnic *rnic, const char *name);
/* Is this datagram lost? Owner of the role tx. */
bool vem_path_loses(struct vem_qp *qp, struct vem_qp *to);
/* Does a tester want to know of messages? */
bool vem_path_tells(struct ri_rnic *rnic);
/* The number of a message that departs, from 1 on. */
uint64_t vem_path_count(struct ri_rnic *rnic);
/* Tell the tester how many octets of it are placed. */
void vem_path_tell(struct ri_rnic *rnic, uint64_t number, bool write, uint32_t placed,
		   uint32_t length);
/* For how long messages are repeated before a connection breaks, in ns. */
uint64_t vem_path_patience(const struct vem_fabric *fabric);

#endif /* VEM_PATH_H */
