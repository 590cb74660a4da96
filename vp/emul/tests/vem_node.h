/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Extends vsw_node.h for this provider's tests: its adapters over a host in virtual time (node_run is the
 * service thread) or with a thread, connections through its own ri_cm_ops, and polls that succeed at once.
 */
#ifndef VEM_NODE_H
#define VEM_NODE_H

#include "vem_provider.h"
#include "vsw_node.h"

struct vem_qp;

/* The provider's queue pair of an end; vem.h has it. */
static inline struct vem_qp *
end_qp(const struct end *end)
{
	return (struct vem_qp *)end->qp;
}

/* Ends have 16 requests each and completion queues of 64. */
struct node *node_new(struct vth *vth, bool threaded, const char *adapter);
/* As node_new with a thread; a message waits for a receive at most `patience` milliseconds. */
struct node *node_new_patient(struct vth *vth, const char *adapter, const char *patience);
/* Every raised event must have been taken. */
void node_free(struct node **node);
/* Give the adapter a command about paths; what it answers, or NULL. */
const char *node_path(struct node *node, const char *text);

/* Two adapters of this name in virtual time, and nothing else yet; ends_fill adds it. */
void ends_open(struct ends *ends, const char *adapter);
/* Free all of it, a first, and the host. b's adapter may have events then; a's may not. */
void ends_close(struct ends *ends);
/* ends_close() in any state: events that come meanwhile are dropped. */
void ends_drop(struct ends *ends);

/* Connect a (active) with b (passive); both are in RTS and their events are taken. */
void ends_connect(struct end *a, struct end *b);
/* ends_connect() in which each side states how often the other one retries a message that found no receive. */
void ends_connect_tries(struct end *a, struct end *b, uint8_t told_by_a, uint8_t told_by_b);
/* Where a test listens and whom it connects to. */
struct ri_cm_params node_params(const struct ri_service *service);

/* The next completion; must be of this request with this status. */
struct ri_wc poll_one(struct ri_ucq *cq, uint64_t id, enum ri_wc_status status);
/* The same, if a service thread has to do something first. */
struct ri_wc poll_wait(struct ri_ucq *cq, uint64_t id, enum ri_wc_status status);
/* There is no completion. */
void poll_none(struct ri_ucq *cq);

#endif /* VEM_NODE_H */
