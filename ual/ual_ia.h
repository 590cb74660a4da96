/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * An opened adapter, and what all objects under it use: its kAL client, the user half of its provider, its locks.
 *
 * Rules about locks in ual/
 *
 * 1. Events of the kAL (armed completion queues, connections, errors) are dispatched by ual_async.c, on any thread,
 *    also inside a fast entry (post, poll, arm, progress), and inside a kAL call that queues an event.
 *    So there are two kinds of lock:
 *    - *event locks* may be taken by dispatch: ual_ia::lock, ual_objects::lock, ual_evd::lock, and those that protect the state of
 *      endpoints and listeners. A thread owns one for a few instructions, never across a kAL call, a fast entry that
 *      runs the engine, or a host call that can sleep.
 *    - *control locks* serialise slow calls on one object (ual_evd::control). A thread may own one across
 *      kAL calls and fast entries. Dispatch never takes one.
 *    Order: control lock, then event locks; an endpoint's before an EVD's; ual_ia::lock is the last
 *    (doc/threads-and-locks.md has all locks).
 * 2. Dispatch makes no kAL call: it may run inside an engine whose thread owns locks of the provider. If dispatch needs
 *    a kAL call (to reject a request that found its EVD full), a ri_task of the object makes it later. ia->host runs
 *    the task; it is stopped before the object is deleted.
 * 3. An object found by dispatch (ual_object_from_ctx) stays while the dispatch runs: a thread that destroys an
 *    object retracts it, destroys its objects of the kAL, calls ual_async_settle and only then deletes it.
 *    Calls of the application are inside their objects (ual_object.h), and retracting waits for them.
 * 4. An object that uses another has a reference to it: EP, LMR, RMR, S-RQ and AH to their PZ (ual_object_use),
 *    every source of events to its EVD (ual_evd_use). A free call begins with ual_object_freeze and returns BUSY
 *    if that fails.
 */
#ifndef UAL_IA_H
#define UAL_IA_H

#include <pthread.h>

#include "kal_call.h"
#include "ual_object.h"

struct ual_evd;
struct ual_keys;
struct ual_lmr;
struct ual_waiter;

/* The waiters of an IA; ual_sleep.c. */
struct ual_waiters {
	pthread_mutex_t lock;      /* an event lock, after all others */
	struct ual_waiter *asleep; /* latest first */
	struct ual_waiter *unused; /* kept until the IA ends */
};

struct ual_ia {
	struct ual_object object;

	/* Fixed while the IA is open. */
	struct kal_client *client;
	const struct ri_host *host;
	const struct ri_user_ops *user;
	const struct ri_fast_ops *fast;
	struct ri_urnic *urnic;
	uint32_t rnic;             /* kAL id */
	bool privileged;           /* privileged operations are allowed */
	bool drop_disconnect_data; /* drop it instead of refusing the call */
	bool drop_broken_events;   /* no asynchronous event of a failure that ends a connection */
	uint32_t major_version;    /* of the API, as requested */
	uint32_t minor_version;
	uint64_t spin_ns;         /* how long a wait polls before it sleeps */
	struct ri_rnic_attr attr; /* semantic profile; attr.name is the adapter's name */

	atomic_bool dead;    /* the adapter failed beyond repair: IT_ERR_IA_CATASTROPHE [IT 1.6] */
	atomic_bool closing; /* it_ia_free is under way: waiters leave with IT_ERR_ABORT */

	struct ual_objects objects; /* everything under this IA */
	pthread_mutex_t lock;       /* event lock of the two that follow */
	struct ual_evd *affiliated; /* where asynchronous events go, or NULL */
	struct ual_evd *unaffiliated;
	struct ual_lmr *direct; /* the direct LMR, or NULL; fixed while the IA is open */

	/* ual_async.c */
	pthread_mutex_t drain; /* owned by the thread that dispatches events */
	atomic_uint kicks;     /* number of kicks by the kAL */

	struct ual_waiters waiters;
	struct ual_keys *keys; /* of its LMRs and RMRs */
};

_Static_assert(sizeof(struct ual_ia) <= UAL_SLOT_SIZE, "an IA fits its slot");

/* One kAL call without a descriptor; rep may be NULL. The reply must have exactly rep_len bytes. */
enum ri_status ual_ia_call(struct ual_ia *ia, uint32_t call, const void *req, size_t req_len,
			   void *rep, size_t rep_len) RI_MUST_CHECK;
/* A kAL call whose request is one id, without a reply: destroy and the like. */
enum ri_status ual_ia_call_id(struct ual_ia *ia, uint32_t call, uint32_t id) RI_MUST_CHECK;

/*
 * Fill in the scope of a link-local IPv6 address: that of the spigot's interface, since addresses of IT-API have no
 * scope. Other addresses stay as they are.
 */
void ual_ia_scope(struct ual_ia *ia, uint32_t port, struct ri_addr *addr);

/*
 * ual_async.c: take events from the kAL and dispatch them.
 */

/* kal_client_params::kick; arg is the IA. */
void ual_async_kick(void *ia);
/*
 * When this returns, all events that the kAL queued before the call were dispatched, and no dispatch uses an object
 * any more that was retracted before the call. The caller owns no event lock and is not in dispatch.
 */
void ual_async_settle(struct ual_ia *ia);
/* Put an affiliated event into the IA's EVD for those, if there is one. cause is a handle. */
void ual_async_affiliated(struct ual_ia *ia, it_event_type_t number, void *cause);
/* The same for spigots. */
void ual_async_unaffiliated(struct ual_ia *ia, it_event_type_t number, size_t spigot);

/*
 * ual_ep_event.c and ual_srq.c; called by dispatch under rules 1 to 3.
 */

/* KAL_EVENT_CM: for the listener or endpoint with ev->ctx; ignored if it was destroyed. */
void ual_cm_event(struct ual_ia *ia, const struct kal_event *ev);
/* KAL_EVENT_ASYNC with object RI_OBJECT_QP. */
void ual_ep_async(struct ual_ia *ia, const struct ri_async_event *ev);
/* KAL_EVENT_ASYNC with object RI_OBJECT_SRQ; ual_srq.c. */
void ual_srq_async(struct ual_ia *ia, const struct ri_async_event *ev);

/* Create the direct LMR of an adapter that has one, for a privileged process; ual_priv.c. False: no memory. */
bool ual_direct_make(struct ual_ia *ia);

struct ual_pz {
	struct ual_object object;
	uint32_t pd; /* kAL id */
};

_Static_assert(sizeof(struct ual_pz) <= UAL_SLOT_SIZE, "a PZ fits its slot");

#endif /* UAL_IA_H */
