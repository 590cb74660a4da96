/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The connection manager of an adapter over librdmacm: one event channel, not blocking, watched by the host.
 *
 * Objects. Each rdma_cm_id has an owner here, to which rdma_cm_id::context points: a connection (struct vib_conn), one
 * address of a listener (struct vib_ear), or a query of a datagram service (struct vib_query). The first member says
 * which. No queue pair is made by librdmacm, so it moves none: rdma_init_qp_attr tells what a move needs, and
 * vib_cm_setup.c makes the moves. That is what a three-way set-up needs, too: the reply comes as an event, and
 * rdma_establish sends the third message when the application has confirmed.
 *
 * Life. A connection begins in ri_cm_ops::connect, or as a request of a listener. accept ties it to a queue pair. It
 * stays, even when it is over, until vib_cm_forget, which goes with the queue pair; a request ends when it is answered
 * or when its context ends. rdma_destroy_id waits for the end of an iWARP attempt that is under way. The destruction of
 * such a connection is deferred: it has no queue pair any more and stays in vib_cm::deferred until its last event. It
 * is also deferred while its rdma_connect runs, which with iWARP has a thread of its own (vib_call.c), because the
 * device may be connecting inside that call. An attempt that is repeated gets a new id (vib_conn_again).
 *
 * Threads. Events, deadlines and tasks run on the service thread, one at a time. vib_cm::busy is the owner whose event
 * is being handled; the handler uses that owner without a lock. Handling a disconnect reads the events of the device,
 * which may belong to other owners: vib_cm::outer is then the owner of the disconnect. A verb that takes an owner away
 * first marks that under the lock, then waits in vib_cm_wait until the owner is not busy. An event is acknowledged
 * before the next one is read.
 *
 * vib_cm::lock guards phases, ties between the objects, and lists. It is taken before vib_qp::lock, and never owned
 * across a call of librdmacm that may wait, nor during an upcall.
 */
#ifndef VIB_CM_H
#define VIB_CM_H

#include <sys/socket.h>

#include "ri_fd.h"
#include "vib.h"
#include "vib_cm_states.h"

/* Private data that the messages of librdmacm carry, octets. */
#define VIB_PDATA_REQUEST \
	56 /* InfiniBand: 92 of a REQ without the addresses that rdma_cm puts there */
#define VIB_PDATA_REPLY  196 /* InfiniBand: a REP */
#define VIB_PDATA_REJECT 148 /* InfiniBand: a REJ */
#define VIB_PDATA_IWARP \
	251 /* siw: longer ones and the words of RFC 6581 overflow its length [WIRE 11.6] */
#define VIB_PDATA_QUERY  180 /* InfiniBand: a SIDR_REQ, likewise */
#define VIB_PDATA_ANSWER 136 /* InfiniBand: a SIDR_REP */

enum vib_owner {
	VIB_OWNER_CONN = 0, /* struct vib_conn */
	VIB_OWNER_EAR,      /* struct vib_ear */
	VIB_OWNER_QUERY     /* struct vib_query */
};

/* The connection manager of an adapter. */
struct vib_cm {
	struct ri_rnic *rnic;
	struct rdma_event_channel *channel;
	struct ri_watch watch;
	pthread_mutex_t lock;
	pthread_cond_t idle; /* `busy` and `outer` have changed */
	const void *busy;    /* the owner of the event that is being handled */
	const void *outer;   /* likewise, of the event that this one interrupts */
	struct vib_item conns;
	struct vib_item deferred;
	struct vib_item queries;
	struct vib_item listens;
	struct ri_watch
		routes; /* reports changes of addresses, vib_cm_follow.c; its descriptor is -1 without that */
	struct ri_task follow; /* the listeners get the addresses of now */
	uint32_t calls; /* of rdma_connect on threads of their own, until conn_called() is done */
};

/* A connection, an attempt, or a request for either a connection or a datagram service. */
struct vib_conn {
	enum vib_owner owner;  /* first */
	struct vib_item item;  /* in vib_cm::conns or vib_cm::deferred */
	struct vib_item asked; /* among the requests of the process */
	struct vib_cm *cm;
	struct rdma_cm_id *id; /* NULL: it is over, and was cut */
	enum vib_phase phase;
	enum vib_phase before; /* the phase that the last step left */
	struct vib_qp *qp;     /* NULL: a request, or its queue pair is gone */
	bool under_way; /* iWARP: rdma_destroy_id would wait until the device has made or failed the connection */
	bool calling; /* its rdma_connect runs, or has run and conn_called() is due */
	bool deferred;

	/* Requests. */
	uint64_t number;
	bool service;               /* for a datagram service */
	struct ri_context *context; /* the listener's */
	struct ri_listen *listen;   /* NULL: it is destroyed */

	/* Connections. */
	bool three_way;
	uint8_t ack_timeout; /* 0: the device's */
	bool retries;        /* the next two count */
	uint8_t retry_count;
	uint8_t rnr_retry;
	atomic_bool time_wait;
	uint64_t deadline;
	struct sockaddr_storage from; /* of an attempt: its source, with port 0 if any will do */
	struct sockaddr_storage to;
	bool port_named;
	uint32_t agains;       /* how often it was made again */
	struct ri_timer timer; /* the deadline of a phase, then of the time-wait */
	struct ri_task finish; /* VIB_STEP_TASK */
	struct ri_task called; /* conn_called() */
	struct rdma_conn_param param;
	int error; /* of rdma_connect, an errno */
	uint32_t ird;
	uint32_t ord;
	uint16_t pdata_len;
	uint8_t pdata[RI_PDATA_MAX]; /* of the request */
	struct ri_peer reach;        /* of a request: how its peer is reached */
	struct ri_cm_event
		heard; /* to raise when the connection is established: what the reply said */
};

/* One address on which a listener listens, in one port space. */
struct vib_ear {
	enum vib_owner owner; /* first */
	struct ri_listen *listen;
	struct rdma_cm_id *id; /* NULL: this place is free */
	struct ri_addr addr;
};

#define VIB_EARS \
	(2 * RI_PORT_ADDR_MAX) /* each address for connections, and for datagram services */

struct ri_listen {
	struct vib_item item; /* of the context */
	struct ri_context *context;
	uint64_t ctx;
	struct ri_service service;
	uint32_t port;
	uint32_t backlog;
	uint32_t waiting;        /* requests that are not answered; under vib_cm::lock */
	bool dying;              /* under vib_cm::lock, as the next three */
	struct vib_item follows; /* in vib_cm::listens */
	bool due;          /* the addresses of its spigot may be others than those of its ears */
	bool following;    /* the service thread changes its ears */
	uint32_t num_ears; /* places that are not free */
	struct vib_ear ears[VIB_EARS];
};

/* --- vib_cm_reasons.c ------------------------------------------------------------------------ */

enum ri_cm_reason vib_reason_of_errno(int error);
/* RI_CM_REASON_CONSUMER: the peer's application rejects. */
enum ri_cm_reason vib_reason_of_event(enum rdma_cm_event_type type, int status, bool iwarp);
enum ri_service_status vib_service_status_of_event(enum rdma_cm_event_type type, int status);

/* --- vib_cm_addr.c --------------------------------------------------------------------------- */

/* False: librdmacm cannot name such an address. @p port is in network order. */
bool vib_sockaddr(struct sockaddr_storage *sa, const struct ri_addr *addr, uint16_t port);
void vib_addr_of_sockaddr(struct ri_addr *addr, const struct sockaddr *sa);
/*
 * Choose the source address for a peer at a spigot: *@p local, if it belongs to the spigot. If it
 * is RI_ADDR_NONE, the address that the system's routing chooses, if that belongs to the spigot;
 * else the first address of the peer's family. False: the spigot has no such address.
 */
bool vib_source_addr(struct ri_rnic *rnic, uint32_t port, const struct ri_addr *peer,
		     struct ri_addr *local);
/* Is it one of these, whatever the interface that they are of? */
bool vib_addr_listed(const struct ri_addr *addrs, uint32_t count, const struct ri_addr *addr);
/* Does this id use the device of the adapter? */
bool vib_id_is_of(const struct rdma_cm_id *id, const struct ri_rnic *rnic);
/* Copy private data of librdmacm into the event. librdmacm gives the length of the field, not of what the peer filled in. */
void vib_event_pdata(struct ri_cm_event *event, const void *data, size_t len);

/* --- vib_cm_reach.c ---------------------------------------------------------------------------- */

/*
 * Describe the peer for a queue pair of the application [RI 10.54], as far as the kernel knows it
 * at a request or a reply. All 0 if the adapter does not support connections for a number, or the
 * kernel does not know.
 */
void vib_conn_reach(const struct vib_conn *conn, struct ri_peer *reach);

/* --- vib_cm.c -------------------------------------------------------------------------------- */

/* A new connection with its id; NULL: errno says why. */
struct vib_conn *vib_conn_new(struct vib_cm *cm);
/* For an id that librdmacm made. NULL: no memory. */
struct vib_conn *vib_conn_adopt(struct vib_cm *cm, struct rdma_cm_id *id);
/* Destroy only its id, before it is freed; it is over, and the caller handles none of its events. */
void vib_conn_cut(struct vib_conn *conn);
/* Destroy it, or, while a call of librdmacm uses it, have that call's end destroy it. It has no queue pair and no user. */
void vib_conn_free(struct vib_conn *conn);
/*
 * Change the phase. False: the step has no meaning in this phase. @p qp: the queue pair of the
 * connection; it cannot be destroyed while the caller is the service thread or a verb of that queue
 * pair.
 */
bool vib_conn_step(struct vib_conn *conn, enum vib_step step, enum vib_action *action,
		   struct vib_qp **qp);
/* Call rdma_connect on a thread of its own, with conn->param; its failure is reported later. Returns 0 or an errno: it is not called. */
int vib_conn_call(struct vib_conn *conn);
/* Its destruction was deferred, and nothing uses it any more. */
void vib_conn_free_deferred(struct vib_conn *conn);
/* An event of this owner is being handled, or no more. On the service thread. */
void vib_cm_busy(struct vib_cm *cm, const void *owner);
void vib_cm_idle(struct vib_cm *cm);
/* Wait until no event of this owner is being handled. The caller owns cm->lock, which is released meanwhile. */
void vib_cm_wait(struct vib_cm *cm, const void *owner);

/* --- vib_cm_events.c ----------------------------------------------------------------------------- */

/* Make the event channel, and watch it. On failure the caller destroys what there is. */
enum ri_status vib_channel_open(struct vib_cm *cm) RI_MUST_CHECK;
/* librdmacm opens the device itself when it first binds an identifier to it: these keep its descriptors above stderr. */
static inline int
vib_rdma_bind(struct rdma_cm_id *id, struct sockaddr *sa)
{
	struct ri_fd_filler filler;
	int result;

	ri_fd_fill(&filler);
	result = rdma_bind_addr(id, sa);
	ri_fd_free(&filler);
	return result;
}
static inline int
vib_rdma_resolve(struct rdma_cm_id *id, struct sockaddr *from, struct sockaddr *to, int ms)
{
	struct ri_fd_filler filler;
	int result;

	ri_fd_fill(&filler);
	result = rdma_resolve_addr(id, from, to, ms);
	ri_fd_free(&filler);
	return result;
}
static inline int
vib_rdma_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	struct ri_fd_filler filler;
	int result;

	ri_fd_fill(&filler);
	result = rdma_get_cm_event(channel, event);
	ri_fd_free(&filler);
	return result;
}

/* --- vib_cm_setup.c: what a step does ---------------------------------------------------------- */

/* Do it. @p event: what librdmacm says, NULL if the step is none of its events. */
void vib_conn_do(struct vib_conn *conn, enum vib_action action, struct vib_qp *qp,
		 const struct rdma_cm_event *event);
/* VIB_STEP_DEADLINE, VIB_STEP_TASK. */
void vib_conn_deadline(void *conn);
void vib_conn_finish(void *conn);
/* The time-wait is over. */
void vib_conn_time_wait_over(struct vib_conn *conn);
/* A call for this attempt failed, with this errno. */
void vib_conn_fail(struct vib_conn *conn, struct vib_qp *qp, const char *what, int error);
/* Move the queue pair up to INIT, or from there to RTS with the depths of the connection. Returns 0 or an errno. */
int vib_conn_qp_init(struct vib_conn *conn, struct vib_qp *qp);
int vib_conn_qp_ready(struct vib_conn *conn, struct vib_qp *qp);
/* What goes into a request or reply. */
/* Tell the kernel of vib_conn::ack_timeout. iWARP has none, which is no failure. */
void vib_conn_time(struct vib_conn *conn);
struct rdma_conn_param vib_conn_param(const struct vib_conn *conn, const struct vib_qp *qp);

/* --- vib_cm_connect.c, vib_cm_accept.c: verbs ---------------------------------------------------- */

enum ri_status vib_connect(struct ri_qp *qp, const struct ri_cm_params *params);
enum ri_status vib_confirm(struct ri_qp *qp, bool accept, const void *pdata, uint16_t len);
enum ri_status vib_disconnect(struct ri_qp *qp, const void *pdata, uint16_t len);
/*
 * rdma_connect failed with this errno. If another port may help [RI 12.3.19], repeat the attempt
 * with a new id. False: the attempt has failed. On the service thread, while the connection is busy
 * and its call has returned.
 */
bool vib_conn_again(struct vib_conn *conn, struct vib_qp *qp, int error);
/* Are these parameters within the profile? @p room: octets of private data that fit. */
enum ri_status vib_params_check(const struct ri_rnic *rnic, const struct ri_cm_params *params,
				uint16_t room);
void vib_conn_fill(struct vib_conn *conn, const struct ri_cm_params *params);

enum ri_status vib_accept(struct ri_request *request, struct ri_qp *qp,
			  const struct ri_cm_params *params);
enum ri_status vib_reject(struct ri_request *request, enum ri_cm_reason reason, const void *pdata,
			  uint16_t len);
/* Tell the peer of a request that it is refused; private data only with RI_CM_REASON_CONSUMER. */
void vib_request_refuse(struct vib_conn *conn, enum ri_cm_reason reason, const void *pdata,
			uint16_t len);

/* Tie a connection to a queue pair, which goes from IDLE to CONNECTING; RI_ERR_INVALID_STATE: it is not in IDLE. */
enum ri_status vib_conn_tie(struct vib_conn *conn, struct vib_qp *qp) RI_MUST_CHECK;
/* Undo that: the call fails, and the queue pair is in IDLE. */
void vib_conn_untie(struct vib_conn *conn, struct vib_qp *qp);

/* --- vib_cm_request.c: requests that are not answered ----------------------------------------------- */

/* RDMA_CM_EVENT_CONNECT_REQUEST, on the service thread. */
void vib_request_raise(struct vib_ear *ear, const struct rdma_cm_event *event);
/* Take the request of that number and kind, or NULL. The caller puts it back, or completes it. */
struct vib_conn *vib_request_take(const struct ri_request *request, bool service);
void vib_request_put_back(struct vib_conn *conn);
/* It is answered, and no longer counts in its listener's backlog. */
void vib_request_done(struct vib_conn *conn);
/* Refuse what a context still has. */
void vib_request_end_all(struct ri_context *context);

/* --- vib_cm_listen.c ----------------------------------------------------------------------------- */

enum ri_status vib_listen(struct ri_context *context, uint64_t ctx, uint32_t port,
			  struct ri_service *service, uint32_t backlog, struct ri_listen **out);
void vib_listen_destroy(struct ri_listen *listen);
/* It gets the addresses that its spigot has now, and loses the others; on the service thread, which handles no event. */
void vib_listen_follow(struct ri_listen *listen, struct vib_cm *cm);

/* --- vib_cm_follow.c ----------------------------------------------------------------------------- */

/* Watch the addresses of this machine. Without the watch, only the device's events report some of their changes. */
void vib_follow_start(struct vib_cm *cm);
/* After the return it does not run. */
void vib_follow_stop(struct vib_cm *cm);
/* Another listener, whose ears are open; it is made to follow. */
void vib_follow_join(struct ri_listen *listen, struct vib_cm *cm);
/* It follows no more, and its ears are the caller's. The caller owns cm->lock, which is released meanwhile. */
void vib_follow_leave(struct ri_listen *listen, struct vib_cm *cm);

/* --- vib_resolve.c: datagram services -------------------------------------------------------------- */

struct vib_query;

enum ri_status vib_resolve(struct ri_context *context, uint64_t ctx,
			   const struct ri_cm_params *params);
void vib_resolve_cancel(struct ri_context *context, uint64_t ctx);
enum ri_status vib_resolve_answer(struct ri_request *request,
				  const struct ri_service_answer *answer);
/* On the service thread. True: vib_query_free is due when the event is acknowledged. */
bool vib_query_event(struct vib_query *query, const struct rdma_cm_event *event);
void vib_query_free(struct vib_query *query);
void vib_query_end_all(struct ri_context *context);

#endif /* VIB_CM_H */
