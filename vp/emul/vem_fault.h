/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Faults on demand: an adapter of the fabric fails when a tester requests it, as real ones do by themselves.
 * vem_fault.c has the faults, vem_script.c the language that requests them, vem_gate.c the control verbs that
 * fail.
 */
#ifndef VEM_FAULT_H
#define VEM_FAULT_H

#include "vem.h"

/* Control verbs that can be told to fail; the names are in vem_script.c. */
enum vem_call {
	VEM_CALL_QUERY_PORT = 0,
	VEM_CALL_ROUTE,
	VEM_CALL_PD_CREATE,
	VEM_CALL_CQ_CREATE,
	VEM_CALL_CQ_RESIZE,
	VEM_CALL_SRQ_CREATE,
	VEM_CALL_SRQ_MODIFY,
	VEM_CALL_SRQ_QUERY,
	VEM_CALL_QP_CREATE,
	VEM_CALL_QP_MODIFY,
	VEM_CALL_QP_QUERY,
	VEM_CALL_QP_RESIZE,
	VEM_CALL_MR_REG,
	VEM_CALL_MR_REREG,
	VEM_CALL_MR_QUERY,
	VEM_CALL_MW_ALLOC,
	VEM_CALL_MW_QUERY,
	VEM_CALL_AH_CREATE,
	VEM_CALL_AH_MODIFY,
	VEM_CALL_LISTEN,
	VEM_CALL_CONNECT,
	VEM_CALL_ACCEPT,
	VEM_CALL_CONFIRM,
	VEM_CALL_DISCONNECT,
	VEM_CALL_RESOLVE,
	VEM_CALL_PEER_RECEIVE,
	VEM_CALL_PEER_SEND,
	VEM_CALL_MCAST_ATTACH,
	VEM_CALL_MCAST_DETACH,
	VEM_CALL_COUNT
};

_Static_assert(VEM_CALL_COUNT <= VEM_CALLS_MAX, "there is room for each");

/* How the stream of a queue pair can break. */
struct vem_break {
	const char *name;
	uint32_t event;  /* enum ri_event; NONE: only the end of the connection is raised */
	uint32_t code;   /* of the Terminate that the peer gets; 0: the peer loses the stream */
	bool infiniband; /* InfiniBand has this fault, too */
};

void vem_fault_init(struct ri_rnic *rnic);
/* Before the adapter is closed: on return no fault is requested any more. */
void vem_fault_fini(struct ri_rnic *rnic);
/* A process begins and ends; its objects can be named in between. */
void vem_fault_join(struct ri_context *context);
void vem_fault_part(struct ri_context *context);

/* The error that this call must return instead of doing its work; RI_SUCCESS: none. Any thread. */
enum ri_status vem_fault_due(struct ri_rnic *rnic, enum vem_call call) RI_MUST_CHECK;
/* Has the adapter failed? Then each verb fails but those that destroy. */
static inline bool
vem_fault_dead(const struct ri_rnic *rnic)
{
	return atomic_load(&rnic->faults.failed);
}

/* Do its requests leave the direct path? Its port is down, or its messages take time. */
static inline bool
vem_fault_apart(const struct ri_rnic *rnic)
{
	return atomic_load_explicit(&rnic->faults.apart, memory_order_relaxed);
}

/* Is its port down? Then nothing is sent or received. */
static inline bool
vem_fault_offline(const struct ri_rnic *rnic)
{
	return atomic_load_explicit(&rnic->faults.offline, memory_order_relaxed);
}

/*
 * The faults. On the service thread, or before the adapter has objects. Objects are counted from 1, the
 * oldest that exists; 0: the newest. False: there is no such object, or it cannot fail in this way.
 */
void vem_fault_call(struct ri_rnic *rnic, enum vem_call call, uint32_t nth, enum ri_status status);
void vem_fault_adapter(struct ri_rnic *rnic);
void vem_fault_port(struct ri_rnic *rnic, bool up);
bool vem_fault_qp(struct ri_rnic *rnic, uint32_t number, const struct vem_break *how);
/* enum ri_event: RI_EVENT_CQ_OP_ERROR or RI_EVENT_CQ_OVERFLOW. */
bool vem_fault_cq(struct ri_rnic *rnic, uint32_t number, uint32_t event);
bool vem_fault_srq(struct ri_rnic *rnic, uint32_t number);
/* Call `act` for every queue pair of the adapter. */
void vem_fault_each_qp(struct ri_rnic *rnic, void (*act)(struct vem_qp *qp));

/* vem_script.c: run the commands of the environment, and connect to the tester that it names. */
void vem_script_start(struct ri_rnic *rnic);
void vem_script_stop(struct ri_rnic *rnic);

/* vem_provider.c: the provider without the gates; vem_gate.c registers it with them. */
extern const struct ri_provider vem_plain_provider;

#endif /* VEM_FAULT_H */
