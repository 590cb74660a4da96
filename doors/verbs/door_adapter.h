/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * An open adapter: one session for all contexts of a device, and for the ids of rdma_cm on it. A
 * listener, its requests and the queue pair that accepts must belong to one client of the kAL.
 *
 * Locks of this layer, under the rules of session.h
 *
 * 1. Control locks: the lock of a queue pair's state (door_qp.h), that of an id of rdma_cm
 *    (door_cm.h). A thread may own one across calls of the kAL.
 * 2. Event locks, in this order: door_slots::lock, door_events::lock. Dispatch finds an object
 *    under door_slots::lock and uses it under that lock; a thread that destroys an object takes its
 *    slot back first (door_slot_leave), so no later dispatch has it.
 * 3. The users of devices and the list of devices have a lock each, in door_adapter.c and
 *    door_device.c. No other lock is taken and no call is made under them.
 */
#ifndef DOOR_ADAPTER_H
#define DOOR_ADAPTER_H

#include <infiniband/verbs.h>

#include "door_slots.h"
#include "session.h"

struct door_context;
struct door_qp;

#define DOOR_QP_ROWS 1024 /* of the table of queue pairs by their numbers */

struct door_adapter {
	struct session session;
	struct door_slots slots;
	struct door_device *device;
	bool drop_disconnect_data;
	bool lids; /* its ports are InfiniBand's; those of RoCE are Ethernet, and their GIDs are IP addresses */
	atomic_bool by_cm;             /* INIT_QP_ATTR has left moves of queue pairs to the kAL */
	bool inherited;                /* of the parent of this process: its calls fail with EIO */
	struct door_context *contexts; /* open ones, by door_context::next; under slots.lock */
	struct door_qp *numbered[DOOR_QP_ROWS]; /* by qp_num; under slots.lock */
	unsigned users; /* contexts and ids; under the lock of door_adapter.c */
};

/* Do its ports have the link layer Ethernet, and InfiniBand's transport above UDP? */
static inline bool
door_is_roce(const struct door_adapter *adapter)
{
	return adapter->session.attr.transport == RI_TRANSPORT_IB && !adapter->lids;
}

/* A device of verbs: one adapter of ours. It exists until the process ends. */
struct door_device {
	struct ibv_device device; /* first: what programs have */
	/*
	 * Padding behind ibv_device. A program may call a provider library of rdma-core directly; that
	 * library reads a pointer there to learn whether the device is one of its own, and finds NULL.
	 */
	char room[512];
	char adapter[64]; /* its name for the kAL */
	unsigned node;    /* of a simulation (door_list.h); else 0 */
	__be64 guid;
	int index; /* as ibv_get_device_index tells */
	/* Under the lock of door_adapter.c. */
	struct door_adapter *open; /* NULL: nobody uses it */
	bool opening;              /* a thread opens it */
};

/* The device that a pointer of the program's stands for. */
static inline struct door_device *
door_device_of(struct ibv_device *device)
{
	return (struct door_device *)device;
}

/*
 * Refresh the list of devices that ibv_get_device_list returns. A device stays until the process ends, and is
 * numbered from 0 in the order in which it was found. *offered: the devices that programs see now, in their order;
 * the caller frees the array. Returns their number; -1: errno is set. Threads: any. Blocks for calls of the kAL.
 */
int door_devices_refresh(struct door_device ***offered);
unsigned door_devices_count(void);
/* Is the calling thread one of a node of a simulation (door_list.h)? */
bool door_is_simulated(void);
struct door_device *door_devices_at(unsigned i);

/*
 * Return the open adapter of a device, and open it if necessary; NULL: errno is set. Each door_adapter_get
 * needs a door_adapter_put; the last one closes the adapter. Control calls; not from dispatch.
 */
struct door_adapter *door_adapter_get(struct door_device *device);
/* One user more of an open adapter. */
void door_adapter_hold(struct door_adapter *adapter);
void door_adapter_put(struct door_adapter *adapter);

/* A spigot, from 0; zeros if it cannot be queried. */
void door_adapter_port(struct door_adapter *adapter, uint32_t port, struct ri_port_attr *attr);

/* One kAL call, as session_call(); 0 or an errno. */
int door_call(struct door_adapter *adapter, uint32_t call, const void *req, size_t req_len,
	      void *rep, size_t rep_len);
int door_call_id(struct door_adapter *adapter, uint32_t call, uint32_t id);

/* session_params::dispatch; above is the adapter. Finds the object and passes the event on. */
void door_dispatch(void *adapter, const struct kal_event *event);

/* One line of the log about an adapter (NULL: none), at the level of warnings. */
__attribute__((format(printf, 2, 3))) void door_warn(struct door_adapter *adapter,
						     const char *format, ...);
/*
 * Print a line on stderr (kal_log_tell), the first time for each `once`: a call was refused for a
 * reason that its status cannot express, so a program cannot explain it to its user.
 */
__attribute__((format(printf, 2, 3))) void door_refuse(atomic_flag *once, const char *format, ...);

#endif /* DOOR_ADAPTER_H */
