/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * An opened adapter as an object of IT-API: its session (session.h) and everything under it.
 *
 * Rules of this layer, beside those of session.h
 *
 * 1. Event locks are ual_ia::lock, ual_objects::lock, ual_evd::lock, and those that protect the
 *    state of endpoints and listeners. Control locks are ual_evd::control and those that are called
 *    so elsewhere. Among event locks an endpoint's comes before an EVD's; ual_ia::lock is the last.
 * 2. An object found by dispatch (ual_object_from_ctx) stays while the dispatch runs: a thread that
 *    destroys an object retracts it before session_settle, and calls ual_object_delete after it.
 *    Calls of the application are inside their objects (ual_object.h), and retracting waits for
 *    them.
 * 3. An object that uses another has a reference to it: EP, LMR, RMR, S-RQ and AH to their PZ
 *    (ual_object_use), every source of events to its EVD (ual_evd_use). A free call begins with
 *    ual_object_freeze and returns BUSY if that fails.
 */
#ifndef UAL_IA_H
#define UAL_IA_H

#include <pthread.h>

#include "kal_call.h"
#include "session.h"
#include "ual_object.h"

struct ual_evd;
struct ual_keys;
struct ual_lmr;

struct ual_ia {
	struct ual_object object;
	/*
	 * Dead: calls return IT_ERR_IA_CATASTROPHE [IT 1.6]. Closing: it_ia_free is under way,
	 * waiters leave with IT_ERR_ABORT.
	 */
	struct session session;

	/* Fixed while the IA is open. */
	bool privileged;           /* privileged operations are allowed */
	bool drop_disconnect_data; /* drop it instead of refusing the call */
	bool drop_broken_events;   /* no asynchronous event of a failure that ends a connection */
	uint32_t major_version;    /* of the API, as requested */
	uint32_t minor_version;

	struct ual_objects objects; /* everything under this IA */
	pthread_mutex_t lock;       /* event lock of the two that follow */
	struct ual_evd *affiliated; /* where asynchronous events go, or NULL */
	struct ual_evd *unaffiliated;
	struct ual_lmr *direct; /* the direct LMR, or NULL; fixed while the IA is open */
	struct ual_keys *keys;  /* of its LMRs and RMRs */
};

_Static_assert(sizeof(struct ual_ia) <= UAL_SLOT_SIZE, "an IA fits its slot");

/*
 * Fill in the scope of a link-local IPv6 address: that of the spigot's interface, since addresses
 * of IT-API have no scope. Other addresses stay as they are.
 */
void ual_ia_scope(struct ual_ia *ia, uint32_t port, struct ri_addr *addr);

/* session_params::dispatch; ual_dispatch.c. */
void ual_dispatch(void *ia, const struct kal_event *event);
/* Put an affiliated event into the IA's EVD for those, if there is one. cause is a handle. */
void ual_async_affiliated(struct ual_ia *ia, it_event_type_t number, void *cause);
/* Put an unaffiliated event of a spigot into the IA's EVD for those, if there is one. */
void ual_async_unaffiliated(struct ual_ia *ia, it_event_type_t number, size_t spigot);

/*
 * ual_ep_event.c and ual_srq.c; called by dispatch under the rules of session.h.
 */

/* KAL_EVENT_CM of a connection: for the endpoint with ev->ctx; ignored if it was destroyed. */
void ual_ep_cm(struct ual_ia *ia, const struct kal_event *ev);
/* KAL_EVENT_ASYNC with object RI_OBJECT_QP. */
void ual_ep_async(struct ual_ia *ia, const struct ri_async_event *ev);
/* KAL_EVENT_ASYNC with object RI_OBJECT_SRQ; ual_srq.c. */
void ual_srq_async(struct ual_ia *ia, const struct ri_async_event *ev);

/*
 * Create the direct LMR of an adapter that has one, for a privileged process; ual_priv.c. False: no
 * memory.
 */
bool ual_direct_make(struct ual_ia *ia);

struct ual_pz {
	struct ual_object object;
	uint32_t pd; /* kAL id */
};

_Static_assert(sizeof(struct ual_pz) <= UAL_SLOT_SIZE, "a PZ fits its slot");

#endif /* UAL_IA_H */
