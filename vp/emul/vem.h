/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The objects of vp/emul, and which lock or role protects what.
 *
 * vem_fabric: one for each host table and personality, shared by every adapter that is open on it. Its mutex
 * protects the state of connection management: listeners, requests, and who connects to whom. It is taken on
 * the control path and on the service thread, never on the fast path.
 *
 * vem_qp: `lock` protects changes of state and the events that they cause. The role `tx` is the right to run
 * the send queue, the role `in.role` the right to take receives; both are tried, never waited for (vsw_role). The
 * thread that posts runs the send queue, and with it the peer's half of every request.
 *
 * vem_pair: what two connected queue pairs share. A thread that accesses the peer begins a use of that end,
 * checks that the peer is still there, and ends the use. A queue pair that is destroyed clears its end and
 * waits until the uses have ended. So no queue pair disappears while the other uses it, and no thread needs
 * the locks of both ends.
 */
#ifndef VEM_H
#define VEM_H

#include <pthread.h>
#include <stdalign.h>

#include "ri_count.h"
#include "rnicpi.h"
#include "vem_states.h"
#include "vsw_object.h"
#include "vsw_respond.h"
#include "vsw_user.h"

#define VEM_MAX_OBJECTS  65536u /* of each kind, of an adapter */
#define VEM_MAX_CQE      (1u << 20)
#define VEM_MAX_WR       (1u << 16) /* of a queue */
#define VEM_MAX_SGE      VSW_SPANS_MAX
#define VEM_MAX_PBL      128 /* pieces of a list; stored in a request where the segments are */
#define VEM_MAX_MESSAGE  0x7fffffffu
#define VEM_MAX_REGION   (UINT64_MAX >> 1) /* bytes */
#define VEM_MAX_DATAGRAM 4096u             /* the largest packet of InfiniBand */
#define VEM_GRH          VSW_SPANS_FILL    /* bytes of the route header in front of a datagram */
#define VEM_UD_ROWS      64
#define VEM_QPN_GROUP    0xffffffu /* of a datagram to a multicast group */
#define VEM_RNR_HOLD_MS  1000      /* ms that a message waits for a receive */
#define VEM_RNR_HOLD     (VEM_RNR_HOLD_MS * UINT64_C(1000000)) /* the same in ns */
#define VEM_RNR_LATE     1u /* in vem_qp::rnr_until: the time is over */
#define VEM_RETRIES_MAX  7u /* of tries for a receive: without end */
#define VEM_CM_RNR_CODE \
	12 /* 0.64 ms: what a queue pair that the provider connects says with "no receive" */

#define VEM_FABRIC_BITS 16 /* of a request's number */

enum vem_personality {
	VEM_IB = 0,
	VEM_IWARP,
	VEM_PERSONALITIES
};

struct vem_conn;
struct vem_name;
struct vem_pair;
struct vem_paths;
struct vem_remote;
struct vem_shm;
struct vem_tap;
struct vem_wire;

/* A fabric; vem_fabric.c. */
struct vem_fabric {
	const struct ri_host *host;
	enum vem_personality personality;
	bool between;         /* it is one between processes */
	struct vem_shm *shm;  /* its links; shm/vem_link.h. NULL: it is in one process */
	uint32_t number;      /* in the low bits of the numbers of its requests */
	unsigned opens;       /* under the lock of all fabrics */
	pthread_mutex_t lock; /* of all that follows */
	struct vsw_item listens;
	struct vsw_item conns;   /* requests that are not answered */
	struct vsw_item queries; /* for datagram services, until the answer was raised */
	uint64_t last_conn;
	uint32_t last_query;
	uint32_t last_qpn;
	struct vsw_item numbered[VEM_UD_ROWS]; /* all queue pairs, by number */
	uint16_t last_port;
	uint64_t last_service;
	struct vem_fabric *next;
	struct vsw_lock ud_lock; /* of the table of queue pairs for datagrams, by number */
	struct vsw_item ud_rows[VEM_UD_ROWS];
	struct vsw_item
		groups[VEM_UD_ROWS]; /* members of multicast groups; under that lock, as the next */
	uint64_t last_member;
};

/* Destination of a datagram: a route header without its length. */
struct vem_target {
	uint8_t grh[VEM_GRH];
};

/* Address handles of an adapter; vem_ah.c. */
struct vem_ah_table {
	struct vsw_lock lock;
	struct ri_ah **slots;
	uint32_t room;
	uint32_t last;  /* slot taken last */
	uint32_t count; /* handles created so far */
};

#define VEM_CALLS_MAX 32 /* control verbs that can be told to fail */

/* Faults of an adapter, and where they are requested; vem_fault.c. */
struct vem_faults {
	atomic_bool failed;  /* beyond repair */
	atomic_bool offline; /* its port is down */
	atomic_bool
		apart; /* that, or its messages take time or are captured: requests leave the direct path */
	pthread_mutex_t lock;     /* protects the two that follow; taken before a context's lock */
	struct vsw_item contexts; /* to find objects by number */
	struct {
		uint32_t in; /* calls until one fails; 0: none does */
		uint32_t status;
	} due[VEM_CALLS_MAX];
	struct ri_watch control;           /* commands of a tester; fd -1: there is none */
	struct ri_task task;               /* raises the failure of the adapter */
	_Atomic(struct vem_paths *) paths; /* vem_path.h; NULL: there is no rule */
};

/* An open adapter. */
struct ri_rnic {
	struct vem_fabric *fabric;
	const struct ri_host *host;
	const struct ri_upcalls *upcalls;
	struct vsw_cq_upcall cq_upcall;
	struct vsw_doorbell bell;
	struct vsw_mem_table *mem;
	struct vsw_objects objects;
	atomic_uint qps;
	struct vem_ah_table ahs;
	uint64_t time_wait;      /* ns of time-wait after a connection */
	uint64_t rnr_wait;       /* ns for which a message waits for a receive */
	uint64_t wire_delay;     /* ns that a message takes at most; 0: it is direct (vem_wire.h) */
	uint32_t wire_freedoms;  /* bits of enum vem_freedom */
	bool captured;           /* its frames go to a capture (vem_tap.h) */
	struct ri_task task;     /* raises the events of the three lists below */
	struct vsw_item offered; /* requests for a listener; under the fabric's lock */
	struct vsw_item withdrawn; /* requests whose peer gave up */
	struct vsw_item answers;   /* queries that are answered */
	struct vem_faults faults;
};

/* A process. */
struct ri_context {
	struct vsw_context base; /* first; its lock is that of these lists, too */
	struct ri_rnic *rnic;
	struct vsw_item item; /* among those of its adapter */
	struct vsw_item qps;
	struct vsw_item ahs;
	struct vsw_item ahs_gone; /* destroyed, but posted datagrams may name them */
	struct vsw_item listens;
};

/* The process that has a protection domain. */
static inline struct ri_context *
vem_context_of(const struct vsw_pd *pd)
{
	return (struct ri_context *)pd->context;
}

/* Why a connection ends at this side; the first cause counts. */
struct vem_cause {
	uint32_t kind;   /* enum ri_cm_event_kind to raise when everything is flushed; NONE: none */
	uint32_t reason; /* enum ri_cm_reason */
	uint32_t async;  /* enum ri_event to raise before; NONE: none */
	uint32_t detail; /* Terminate code of the event */
	uint32_t message; /* VEM_MSG_* for the peer; 0: none */
	uint32_t code;    /* Terminate code that goes with it */
};

/* Messages from the peer, or from connection management; at most one of each in a connection. */
enum vem_msg {
	VEM_MSG_OPEN =
		1u << 0, /* passive, two-way handshake: accepted, the connection is established */
	VEM_MSG_REPLY = 1u << 1,     /* active: the peer accepts */
	VEM_MSG_CONFIRM = 1u << 2,   /* passive: the third message */
	VEM_MSG_REFUSED = 1u << 3,   /* either: the peer's application has rejected */
	VEM_MSG_CLOSE = 1u << 4,     /* orderly end */
	VEM_MSG_TERMINATE = 1u << 5, /* fault, iWARP */
	VEM_MSG_LOST = 1u << 6,      /* the peer is destroyed or has failed */
	VEM_MSG_CONNECT = 1u << 7    /* active, to itself: find the listener */
};

/* What a side offers in the handshake: depths and private data. */
struct vem_hello {
	uint32_t ird;
	uint32_t ord;
	bool ird_ord;
	bool retries; /* InfiniBand: the next two count */
	uint8_t retry_count;
	uint8_t rnr_retry;
	bool field; /* the message has a field for private data, even if it is empty */
	uint16_t pdata_len;
	uint8_t pdata[RI_PDATA_MAX];
};

/* The partner of a connection by attributes, as the application says [RI 11.6.4]. Written before the state moves on. */
struct vem_by_peer {
	struct vem_target target; /* the way there */
	uint32_t qpn;
	uint32_t rq_psn;
	uint32_t sq_psn;
	uint8_t min_rnr_timer;
	uint8_t timeout;
	uint8_t retry_count;
	uint8_t rnr_retry;
};

/* How far a datagram to a group has come among the other processes; shm/vem_remote_ud.c. */
struct vem_around {
	uint32_t slot;   /* the next one */
	bool all;        /* each slot is looked at */
	bool missed;     /* one was free */
	uint64_t group;  /* that `looked` is about */
	uint64_t looked; /* when each slot was looked at last */
};

struct vem_qp {
	alignas(VSW_CACHE_LINE) atomic_uint state; /* enum ri_qp_state; vem_qp_move writes it */
	atomic_bool open;    /* ESTABLISHED was raised: data may be sent and received */
	atomic_bool by_peer; /* connected by attributes: open means that there is a partner */
	atomic_uint ord;
	atomic_uint qkey;      /* datagrams, as the next */
	bool ud;               /* for datagrams: runs without a connection */
	struct vem_pair *pair; /* set before RTS; cleared by a thread that owns both roles */
	_Atomic(struct vem_remote *) remote; /* the same, if the peer is in another process */
	uint32_t side;                       /* this end of it */
	struct ri_rnic *rnic;
	struct vsw_cq_object *send_cq;
	struct vsw_cq_object *recv_cq;

	alignas(VSW_CACHE_LINE) struct vsw_role tx;
	struct vsw_wq sq;
	bool waited;  /* a Send has waited for a receive, and the log says so */
	bool tx_have; /* a request is taken and not completed */
	uint32_t tx_index;
	atomic_bool tx_flushed;
	struct vsw_wqe *tx_wqe;
	struct ri_qp_counters
		*count; /* its waits for a receive of the peer, by the owner of the send queue */
	_Atomic uint64_t rnr_until;  /* end of its wait for a receive; 0: it does not wait */
	_Atomic uint64_t lost_until; /* by_peer: end of the tries of the request taken; as above */
	atomic_bool
		tx_target_have; /* datagrams: tx_target is the destination of the request taken */
	struct vem_target tx_target;
	uint64_t tx_member;   /* of a group: the last member that the datagram was delivered to */
	uint64_t tx_last;     /* the last one that gets it; 0: none was looked for yet */
	atomic_bool ud_waits; /* it waits for a link; see vem_ud_go_on */
	struct vem_around tx_around;
	struct vem_wire *wire; /* its message under way; NULL: the carrier is direct */

	alignas(VSW_CACHE_LINE) struct vsw_responder in; /* what it does with the peer's messages */
	struct vsw_srq_object *srq;                      /* or NULL */
	atomic_bool limits_new; /* the watermarks were changed: compare at once */
	atomic_bool rx_flushed;
	atomic_bool failing; /* its request fails: receives are flushed behind its completion */
	atomic_uint inside;  /* threads that use the pair without a role, or deliver a datagram */

	alignas(VSW_CACHE_LINE) struct vsw_lock lock; /* state, cause, messages */
	bool ended;                                   /* cause is set */
	bool telling;                                 /* its events are being raised */
	bool told;                                    /* they have been raised */
	bool peer_told;                               /* the message to the peer was sent */
	struct vem_cause cause;
	uint32_t messages;      /* VEM_MSG_* that the task has not handled yet */
	uint32_t terminate_in;  /* code that came with TERMINATE */
	struct vem_hello heard; /* what came with REPLY, CONFIRM or REFUSED */

	/* Connection management, under the fabric's lock. */
	struct vem_conn *conn;  /* its own request that is not answered */
	struct ri_cm_params to; /* what it connects to; private data in `said` */
	struct vem_hello said;
	struct ri_peer
		reach; /* what the queue pair of the application needs; see reach_of() of vem_cm.c */
	uint64_t
		rnr_wait; /* ns for which its messages wait for a receive, as the peer has told; or RI_NEVER */
	bool passive;
	bool replied;                     /* active: the application has not confirmed yet */
	_Atomic uint64_t time_wait_until; /* end of its time-wait, 0: none */

	/* By attributes; vem_peer.c. */
	struct vem_by_peer far;
	bool ready;              /* a partner may find it; under the fabric's lock, as the next */
	struct vem_remote *join; /* between processes: its connection, until the partner is found */
	_Atomic uint64_t
		tries_until; /* likewise: when it is looked whether requests are answered; as rnr_until */
	atomic_bool comm_est; /* the event was raised */
	struct ri_timer lost_timer;

	atomic_bool recheck; /* its send queue and that of its peer are to be run */
	struct ri_task task;
	struct ri_timer rnr_timer;
	struct ri_timer cm_timer;
	struct ri_timer wait_timer; /* its time-wait */

	struct vsw_item item;
	struct vsw_item number_item; /* in a row of the fabric; under its lock */
	struct vsw_item ud_item;     /* in a row of the fabric */
	struct vsw_item groups;      /* that it is a member of; under the lock of that row */
	struct vsw_pd *pd;
	struct ri_qp_init init; /* as granted */
	uint8_t terminate_len;  /* under lock, as the two below */
	bool terminate_sent;
	uint8_t terminate[4];
	struct vem_tap *tap;          /* what a capture gets of it; NULL: nothing is captured */
	struct ri_qp_counters unread; /* `count` of one that nobody asked to count */
};

/* The number that goes to the peer: that of an RI_QP_NUMBER is the application's. */
static inline uint32_t
vem_qp_number(const struct vem_qp *qp)
{
	return qp->init.type == RI_QP_NUMBER ? qp->init.qkey : qp->in.who.qpn;
}

/* Does it take messages from its peer? The caller has a use of it, or is inside. */
static inline bool
vem_qp_takes(const struct vem_qp *qp)
{
	unsigned state = atomic_load(&qp->state);

	return (state == RI_QPS_RTS || (state == RI_QPS_CONNECTING && atomic_load(&qp->by_peer))) &&
	       atomic_load(&qp->open);
}

/* --- vem_fabric.c ------------------------------------------------------------------------ */

/* `between`: of the processes of this user. */
struct vem_fabric *vem_fabric_get(const struct ri_host *host, enum vem_personality personality,
				  bool between);
/* The fabric that gave this number to a request, with a reference; NULL: there is none any more. */
struct vem_fabric *vem_fabric_of_request(uint64_t id);
void vem_fabric_put(struct vem_fabric *fabric);
/* Is this an address of the fabric? Every address of this machine is. */
bool vem_addr_is_local(const struct vem_fabric *fabric, const struct ri_addr *addr);
/* The addresses an adapter has; returns how many. */
uint32_t vem_addrs(const struct vem_fabric *fabric, struct ri_addr addrs[RI_PORT_ADDR_MAX]);
/* Choose or check the source address for this peer. False: the peer, or the `local` given, is no such address. */
bool vem_addr_source(const struct vem_fabric *fabric, const struct ri_addr *peer,
		     struct ri_addr *local);

/* Begin a use of the peer's end; NULL: the peer is destroyed. Ends with vem_peer_put. */
struct vem_qp *vem_peer_get(struct vem_qp *qp);
void vem_peer_put(struct vem_qp *qp);
/* vem_peer_get() for a caller that owns the role for the send queue. Ends with vem_peer_exit. */
struct vem_qp *vem_peer_enter(struct vem_qp *qp);
void vem_peer_exit(struct vem_qp *qp);
/* Make two queue pairs a pair; called with the fabric's lock. */
enum ri_status vem_pair_create(struct vem_qp *active, struct vem_qp *passive);
/* Leave the pair: on return no thread uses `qp` through it. */
void vem_pair_leave(struct vem_qp *qp);

/* --- vem_profile.c ------------------------------------------------------------------------ */

void vem_profile(const struct vem_fabric *fabric, struct ri_rnic_attr *attr);
/* Of the adapter of a fabric. */
const char *vem_adapter_name(const struct vem_fabric *fabric);

/* --- vem_qp_move.c, vem_qp_steps.c, vem_qp.c ---------------------------------------------- */

/* Change the state; its task does the rest. False: the table has no such move. */
bool vem_qp_move(struct vem_qp *qp, enum vem_move move, const struct vem_cause *cause);
/*
 * The request at the head of the send queue fails and ends the connection: it completes with
 * `status`. A thread that sees this completion must also see the new state, and the completion
 * comes before those of the requests that are flushed. The caller owns the role `tx`.
 */
void vem_qp_fail(struct vem_qp *qp, const struct vem_cause *cause, enum ri_wc_status status);
/* Send it a message; the caller has a use of it, or owns it. */
void vem_qp_message(struct vem_qp *qp, enum vem_msg message, uint32_t code,
		    const struct vem_hello *hello);
/* On the service thread: handle messages, flush, tell the peer of the end, raise events. */
void vem_qp_task(void *arg);
/* Destroy it, even if windows are bound. */
void vem_qp_destroy(struct vem_qp *qp);
extern const struct ri_qp_ops vem_qp_ops;

/* --- vem_engine.c ------------------------------------------------------------------------- */

/* Run the send queue; if its role is taken, set the retry flag. */
void vem_sq_run(struct vem_qp *qp);
/* Run it as the owner of vem_shm::rx, and write no more than vem_link_turn_is_over allows. */
void vem_sq_run_in_turn(struct vem_qp *qp);
/* Flush the receive queue if the state says so; if its role is taken, set the retry flag. */
void vem_rq_run(struct vem_qp *qp);
/* Give the role `in.role` up, and serve its retry flag. */
void vem_rx_leave(struct vem_qp *qp);
/* On the service thread, run its send queue and that of its peer. */
void vem_run_soon(struct vem_qp *qp);
/* Run the send queue of the peer. */
void vem_peer_sq_run(struct vem_qp *qp);
void vem_bell_sq(void *engine_qp);
/* The same of an adapter whose peers may be in other processes. */
void vem_bell_sq_any(void *engine_qp);
void vem_bell_rq(void *engine_qp);
void vem_rnr_fire(void *arg);

/* --- vem_complete.c ----------------------------------------------------------------------- */

/* Complete the request that is taken; owner of the role `tx`. */
void vem_sq_complete(struct vem_qp *qp, enum ri_wc_status status);
/* The completion queue of its requests or receives, says the event, had no place. */
void vem_cq_overflow(struct vem_qp *qp, uint32_t event);
/* Push the completion of a receive; owner of the role `in.role`. */
void vem_rq_complete(struct vem_qp *qp, const struct vsw_cqe *cqe);

/* The request fails at this side: it completes with `status`, and the connection ends. True: it is done. */
bool vem_fail_here(struct vem_qp *qp, enum ri_wc_status status);
/* The same, of a key that the request binds or invalidates. */
bool vem_fail_key(struct vem_qp *qp, enum ri_wc_status status, enum vsw_mem_result result);
/* The peer refuses the request. Returns whether the request is done. */
bool vem_fail_there(struct vem_qp *qp, struct vem_qp *peer, const struct vsw_refusal *refusal);
/* The queue pair refuses a request of its peer, and ends. */
void vem_refuse(struct vem_qp *peer, const struct vsw_refusal *refusal);
/* The peer refuses a request that has completed at this side. */
void vem_fail_late(struct vem_qp *qp, struct vem_qp *peer, const struct vsw_refusal *refusal);
/* Of the responder of each queue pair. */
extern const struct vsw_responder_ops vem_responder_ops;

/* --- vem_execute.c, vem_keys.c ------------------------------------------------------------ */

/* Execute the request taken from the send queue. False: it must wait; the queue will be run again. */
bool vem_execute(struct vem_qp *qp);
/* Execute a request that needs the peer. The caller has a use of the peer. */
bool vem_execute_with(struct vem_qp *qp, struct vem_qp *peer);
/* One kind of request each; true: it is done. */
bool vem_do_bind(struct vem_qp *qp);
/* Of vsw_doorbell. */
void vem_bell_bind(void *engine_qp, struct ri_wr_bind *bind, uint32_t *stag);
bool vem_do_invalidate(struct vem_qp *qp);
bool vem_do_fast_register(struct vem_qp *qp);

/* --- vem_srq.c ---------------------------------------------------------------------------- */

/* As vsw_object_rules::wake. */
void vem_srq_wake(struct vsw_srq_member *member);
/* Are more receives in progress than the watermarks allow? Raises the event, or ends the connection. */
void vem_receive_limits(struct vem_qp *qp);

/* --- vem_cm.c ----------------------------------------------------------------------------- */

extern const struct ri_cm_ops vem_cm_ops;
/* On the service thread. */
void vem_cm_offer(struct vem_qp *qp);
void vem_cm_timeout(void *arg);
/* A time-wait is over. */
void vem_cm_waited(void *arg);
void vem_cm_rnic_task(void *arg);
/* The queue pair's attempt to connect ends; the listener that has its request gets an event. */
void vem_cm_withdraw(struct vem_qp *qp);
/* Raise an event of connection management for a queue pair. */
void vem_cm_tell(struct vem_qp *qp, enum ri_cm_event_kind kind, enum ri_cm_reason reason,
		 const struct vem_hello *hello);
void vem_cm_rnic_close(struct ri_rnic *rnic);

void vem_listen_destroy_item(struct vsw_item *item);

#endif /* VEM_H */
