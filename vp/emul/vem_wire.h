/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The carrier "wire": messages that take time. Without it a request is executed at once, by the thread that
 * posts it. On the wire its message arrives after a random delay of the host's random source; choices that
 * the specification leaves open are random, too (vem_freedoms). A queue pair has one message in transit at
 * a time, in the order of its requests; only requests posted after a Read may be executed before it.
 *
 * Enabled for an adapter by ITAPI_EMUL_WIRE_US. With a simulated host, time and chance are the simulator's.
 */
#ifndef VEM_WIRE_H
#define VEM_WIRE_H

#include "vem.h"

/* What the specification leaves to the adapter, and an adversary takes. */
enum vem_freedom {
	VEM_FREE_PIECES = 0,
	VEM_FREE_ORDER,
	VEM_FREE_EARLY,
	VEM_FREE_LATE,
	VEM_FREE_LOST,
	VEM_FREE_ANSWER,
	VEM_FREE_GONE,
	VEM_FREE_KEYS,
	VEM_FREE_TORN,
	VEM_FREE_OVERTAKE,
	VEM_FREE_UNREADY,
	VEM_FREEDOMS
};

/*
 * The table of freedoms, which are behaviour that the specification allows: a name, its paragraph,
 * what may happen, and what programs wrongly rely on. `gone` and `keys` always apply, with and
 * without a wire: vp/common revokes freed memory at once, and draws keys at random.
 */
struct vem_freedom_row {
	const char *name;
	const char *clause;
	const char *may;
	const char *wrong;
};

extern const struct vem_freedom_row vem_freedoms[VEM_FREEDOMS];

struct vem_wire;

/* Read the settings of an adapter. False: a word of ITAPI_EMUL_FREEDOMS is unknown; the others are in force. */
bool vem_wire_begin(struct ri_rnic *rnic);
/* For a queue pair of an adapter on a wire. False: no memory. */
bool vem_wire_create(struct vem_qp *qp);
/* When the queue pair is destroyed, on the thread that owns both roles. */
void vem_wire_free(struct vem_qp *qp);
/* Two queue pairs become a pair: each knows the path to the other. */
void vem_wire_pair(struct vem_qp *active, struct vem_qp *passive);
/* The queue pair is reset: no message of its old connection arrives any more. Under its lock. */
void vem_wire_reset(struct vem_qp *qp);
/* A path of its adapter has changed. */
void vem_wire_wake(struct vem_qp *qp);
/*
 * Must a connection request wait because the path to the listener's adapter is held? It is offered
 * again when the path is open. Called with the fabric's lock.
 */
bool vem_wire_holds_offer(struct vem_qp *qp, struct ri_rnic *there);
/* The attempt is over: its request does not arrive any more, not in a later attempt either. Called with the fabric's lock. */
void vem_wire_withdraw(struct vem_qp *qp);
/* As vem_qp_message(), from an adapter, over the path between. The caller has a use of it. */
void vem_wire_message(struct ri_rnic *from, struct vem_qp *to, enum vem_msg message, uint32_t code,
		      const struct vem_hello *hello);
/* A request is taken, and the peer is gone, which this side cannot know over a path that is cut. Returns whether it is done. */
bool vem_wire_alone(struct vem_qp *qp);
/* A run of callbacks is stopped: no timer of it fires any more. */
void vem_wire_stop(struct vem_qp *qp);
/* The queue pair flushes: what is under way arrives at once if the end is orderly, or not at all. Owner of the role tx. */
void vem_wire_flush(struct vem_qp *qp);
/*
 * Move the message of the present request on the wire; `deliver` does what is done without a wire.
 * Returns whether the request is done. The caller owns the role tx.
 */
bool vem_wire_execute(struct vem_qp *qp, struct vem_qp *peer,
		      bool (*deliver)(struct vem_qp *qp, struct vem_qp *peer));

/* Does a message that finds no receive end the connection at once, as iWARP and an impatient InfiniBand do? */
bool vem_wire_is_impatient(const struct vem_qp *qp);

#endif /* VEM_WIRE_H */
