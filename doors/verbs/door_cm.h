/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The kernel's interface of rdma_cm, answered in the process: an event channel is a descriptor, and
 * a command is what the program's librdmacm writes to it.
 *
 * Locks, under the rules of door_adapter.h
 *
 * - door_cm_id::control is a control lock: a thread that executes a command on an id owns it, also
 *   across calls of the kAL. Functions on the host's service thread only try it.
 * - door_cm_listen.c has a control lock for the listeners of the kAL, which several ids share. Order:
 *   after door_cm_id::control.
 * - door_cm_lock() is an event lock, after door_slots::lock and before door_events::lock. It guards
 *   what commands and dispatch both use: channels, ids by their numbers, their states and events.
 *   At a fork the thread that forks owns it.
 *
 * An id is freed with its last reference. Dispatch needs no reference: it finds an id by a slot or by a queue pair,
 * and uses it under door_slots::lock; a thread must take that lock to remove the id from the slot or queue pair.
 */
#ifndef DOOR_CM_H
#define DOOR_CM_H

#include <sys/types.h>

#include "door_adapter.h"

struct door_qp;

/* What stands for "/dev/infiniband/rdma_cm". A new channel; -1: errno is set. */
int door_cm_open(void);
/*
 * Whether the descriptor is that of a channel. Every write() of the program asks this, so the
 * number may be anything. In the child of a fork the parent's channels still count as channels, but
 * their commands fail with EIO.
 */
bool door_cm_is(int fd);
/*
 * One command, as write(2) to the device. The bytes are not trusted; pointers in them are the
 * program's, to memory that it can write. Cancellation: the sleep of GET_EVENT is a cancellation point.
 */
ssize_t door_cm_write(int fd, const void *buffer, size_t length);
/* The program closes the descriptor, which is still open. Its ids end. */
void door_cm_closed(int fd);

/* Handle a KAL_EVENT_CM. `ctx` is the context of a queue pair, a listener or a query. Dispatch calls it, under door_slots::lock. */
void door_cm_raised(struct door_adapter *adapter, uint64_t ctx, const struct kal_cm_event *event);
/* The adapter failed: raise RDMA_CM_EVENT_DEVICE_REMOVAL at its ids. Dispatch calls it, under door_slots::lock. */
void door_cm_device_lost(struct door_adapter *adapter);
/*
 * The program destroys a queue pair; the kAL's is not destroyed yet. A connection of iWARP is
 * disconnected now, if the program has not done so. This waits a bounded time until the connection
 * has ended, since otherwise the program's last messages might be lost. Afterwards no id has the
 * queue pair; an id that was connected has its DISCONNECTED event. The caller owns no lock.
 */
void door_cm_qp_leaves(struct door_qp *qp);

#endif /* DOOR_CM_H */
