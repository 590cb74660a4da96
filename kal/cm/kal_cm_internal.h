/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* A kal_cm and its connections, for the files of this folder. Others include kal_cm.h. */
#ifndef KAL_CM_INTERNAL_H
#define KAL_CM_INTERNAL_H

#include <glib.h>
#include <pthread.h>
#include <stdatomic.h>

#include "kal_cm.h"
#include "kal_cm_states.h"
#include "kal_mpa.h"
#include "kal_table.h"

#define KAL_NS_PER_S           1000000000ull
#define KAL_CONNECT_DEFAULT    (20 * KAL_NS_PER_S) /* initiator, and RTR at the responder */
#define KAL_INTERFACE_NAME_MAX 32                  /* of ri_port_attr::if_name */

struct kal_parting;
struct kal_request;
struct kal_setup;

struct kal_cm {
	struct kal_client *client; /* gets the events */
	const struct ri_host *host;
	const struct kal_config *config;
	const struct ri_caller *caller;
	struct ri_rnic *rnic; /* from kal_cm_begin on, as the next two */
	struct ri_context *context;
	const struct ri_rnic_attr *attr;
	bool stream; /* the kAL sets up streams (RI_CM_STREAM), else the provider connects */
	pthread_mutex_t lock;       /* the tables, states, and what an event reports */
	bool told;                  /* under it: an event was queued for the client */
	struct kal_table conns;     /* by the client's ctx: kal_conn */
	struct kal_table listeners; /* by our id: kal_listener */
	struct kal_table requests;  /* by id: kal_request */
	struct kal_table held;      /* by id: requests of the provider that a call has taken */
	struct kal_table queries;   /* by the client's ctx: kal_service_query */
	struct kal_partings {
		struct kal_parting *oldest, *newest;
		unsigned count;
		unsigned
			ending; /* taken out of the list by the service thread, and not freed yet */
	} partings;             /* under the lock; kal_partings.c */
	atomic_uint alive;      /* kal_request structs; the end waits for those in other hands */
	uint64_t last_listener;
	atomic_int
		dial_short; /* errno of the last connect, if this host lacked something for it; kal_cm_dial.c */
};

/* What the next event of a connection will report; the members are those of kal_cm_event. */
struct kal_pending {
	uint32_t reason;
	uint32_t port;
	uint32_t ird, ord;
	uint32_t own_ird, own_ord;
	bool ird_ord_valid;
	struct ri_addr peer, local;
	struct ri_service service;
};

struct kal_conn {
	struct kal_link link; /* of kal_cm::conns; the key is the client's ctx */
	struct kal_cm *cm;
	struct ri_qp *qp;
	uint32_t qpn;               /* its number, for the log */
	pthread_mutex_t verbs;      /* around verbs on qp; and the setup pointer */
	enum kal_conn_state state;  /* cm->lock */
	bool retired;               /* cm->lock */
	bool wait_due;              /* cm->lock: the end of its time-wait has not been reported */
	bool three_way;             /* cm->lock: the client awaits a reply, and answers it */
	struct kal_setup *setup;    /* verbs */
	struct ri_task tidy;        /* drops the setup once the connection is established */
	struct ri_task last_word;   /* queues the owed event after the provider's flush */
	enum kal_cm_kind owed;      /* cm->lock */
	enum kal_cm_reason why;     /* cm->lock */
	struct kal_pending pending; /* cm->lock */
	/*
	 * cm->lock: nodes for the events of this connection. The first has room for private data and reports it. If the
	 * kAL sets streams up, the last one is bare: it is for the end, which has no private data then.
	 */
	struct kal_event_node *reserved;
	uint32_t ird; /* as configured */
	uint32_t ord;
	struct kal_live_slot *live; /* cm->lock; where it is shown, or NULL */
	bool accepted;              /* cm->lock: the peer dialled */
};

/* kal_conn.c */
/* The table lock; kal_cm_unlock notifies the client if events were queued meanwhile. */
void kal_cm_lock(struct kal_cm *cm);
void kal_cm_unlock(struct kal_cm *cm);
/* The only way to a new state: kal_conn_step(), and what is shown of the connection follows. The caller owns cm->lock. */
enum ri_status kal_conn_go(struct kal_conn *conn, enum kal_conn_event conn_event,
			   enum kal_cm_kind *report) RI_MUST_CHECK;
/* Make the move and queue the event that the table of states names; FAILED has the reason KAL_REASON_OTHER. */
enum ri_status kal_conn_move(struct kal_conn *conn, enum kal_conn_event conn_event) RI_MUST_CHECK;
/* Queue the event of a move. The caller owns cm->lock. */
void kal_conn_tell(struct kal_conn *conn, enum kal_cm_kind report, enum kal_cm_reason reason);
/* Queue the event of a move after the provider has flushed what was posted; call kal_conn_kill first. */
void kal_conn_tell_last(struct kal_conn *conn, enum kal_cm_kind report, enum kal_cm_reason reason);
enum kal_conn_state kal_conn_state(struct kal_conn *conn);
/* Under verbs: move the queue pair to ERROR, so that what was posted is flushed. */
void kal_conn_kill(struct kal_conn *conn);
/* Copy what the peer's frame says into the pending event; what an event of the provider says, under cm->lock. */
void kal_conn_note_frame(struct kal_conn *conn, const struct kal_mpa_frame *frame);
void kal_conn_note_event(struct kal_conn *conn, const struct ri_cm_event *event);

/* Under verbs: reserve nodes for the `count` events of a new connection. False: no memory. */
bool kal_conn_reserve(struct kal_conn *conn, unsigned count);
/* The caller owns cm->lock: queue an event in a reserved node. */
void kal_cm_tell(struct kal_cm *cm, struct kal_cm_node *node, uint64_t ctx,
		 const struct kal_cm_event *event);

/* kal_cm_address.c */
/* The deadline for a timeout of the application in us; 0: the default, UINT64_MAX: none. */
uint64_t kal_deadline(const struct ri_host *host, uint64_t timeout_us);
enum ri_status kal_address_connect(struct kal_conn *conn,
				   const struct kal_cm_req *req) RI_MUST_CHECK;
enum ri_status kal_address_accept(struct kal_conn *conn, const struct kal_cm_req *req,
				  struct kal_request *request,
				  struct kal_accept_rep *rep) RI_MUST_CHECK;

/* kal_paths.c */
/*
 * Does the path lead through the interface of the adapter, although the kernel would send through
 * another interface? Then the caller binds the socket to the interface `name`.
 */
enum ri_status kal_path_is_forced(const struct kal_cm *cm, const struct kal_cm_req *req,
				  bool *forced, char name[KAL_INTERFACE_NAME_MAX]) RI_MUST_CHECK;

/* kal_resolve.c */
void kal_resolve_from_provider(struct kal_cm *cm, const struct ri_cm_event *event);
void kal_resolve_end_all(struct kal_cm *cm);

#endif /* KAL_CM_INTERNAL_H */
