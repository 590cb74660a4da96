/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The objects of vp/ib, which file owns what, and the rules for locks, threads and events.
 *
 * Objects. An adapter (struct ri_rnic) is one open device of libibverbs. Both halves of the provider are in one process,
 * so a user half (struct ri_ucq, ri_uqp, ri_usrq) is the first member of its privileged object, and a map is its address.
 * Queue pairs are made with ibv_create_qp, never with rdma_create_qp: they exist before there is a connection. The
 * connection manager gets the number of the queue pair (rdma_conn_param::qp_num), and vib_cm*.c moves the device's
 * queue pair with the attributes from rdma_init_qp_attr, by vib_qp_device_modify().
 *
 * Connections. vib_cm*.c owns struct vib_conn, one for each rdma_cm_id that it made or got. rdma_cm_id::context is that
 * struct; vib_qp::conn is the one that the queue pair uses, set and cleared by vib_cm*.c alone, under vib_qp::lock. So the
 * queue pair of an id is found by its struct vib_conn, never by a search.
 *
 * States. vib_qp::state is the state that the layers above see; qp_move() of vib_qp_end.c is its only writer. vib_cm*.c causes moves by
 * vib_qp_begin(), vib_qp_established() and vib_qp_end(). The end of an attempt or a connection is always vib_qp_end():
 * it moves the device's queue pair to its error state, waits on the service thread until everything that was posted is
 * completed, and raises the event once. What comes second is ignored.
 *
 * Completions. A request in the device's queue carries the address of its slot (struct vib_slot) as wr_id; the post has
 * written there what a successful completion says, so a poll copies it. Completions move from the device's queue into
 * ri_wc, either directly into the caller's array, or into the staging ring of the CQ when they must be counted or kept:
 * for cq_depth and arm_cq, at the end of a connection, and before a queue pair is destroyed. A poll empties the staging
 * ring first, and only then the slot of a staged completion is free (vib_ring.h). One that has failed ends its connection;
 * the end is reported when the CQ's lock is released (vib_cq_unlock).
 *
 * Posts. The usual request is filled into one that was prepared with its queue pair (struct vib_short). One that may wait
 * is kept in the chain of its queue pair, so that several go to the device in one call (vib_chain.c). Regions, windows and
 * address handles that a request names by a number are found in a table of the adapter (vib_keys.h).
 *
 * Datagrams. A queue pair for datagrams has no connection: it runs from its creation on, vib_cm*.c knows nothing of it,
 * and its end raises an asynchronous event. So it is with one that the application brings up itself (vib_peer.c), which is
 * in IDLE before that; ri_uqp::bare is set of both.
 *
 * Events. Five descriptors of an adapter are watched by the host, so their events arrive on its service thread:
 * completions and asynchronous events (vib_events.c), the connection manager (vib_cm_events.c), and what the kernel tells
 * all programs of its devices (vib_removal.c) and of addresses (vib_cm_follow.c), which nobody acknowledges. Each other
 * handler gets an event, makes its upcalls without a lock, and only then acknowledges the event. ibv_destroy_cq, ibv_destroy_qp, ibv_destroy_srq and
 * rdma_destroy_id wait until all events of their object are acknowledged, so after they returned no upcall names the
 * object. Therefore they are not called on the service thread while an event of the same object is not acknowledged, or
 * while owning a lock that a handler takes.
 *
 * Locks, in the order in which they are taken:
 *   ri_rnic::lock      the list of contexts. Control verbs and the service thread.
 *   ri_rnic::ah_lock   calls that create address handles. Control verbs and the threads of these calls.
 *   ri_context::lock   its lists of objects.
 *   locks of vib_cm*.c, which vib_cm.h describes
 *   vib_qp::lock        state, end, conn. Never owned across rdma_destroy_id, ibv_destroy_* or an upcall.
 *   ri_ucq::lock       the staging ring and the polling of one CQ; owned for the copy of completions, no system call.
 * No lock is owned during an upcall, or while a task is passed to the host. Posts take no lock, but may take the role of the
 * chain, which is tried: without thread_safe_queues the access layer makes one post at a time on an object. The owner of
 * ri_ucq::lock frees slots, and alone writes vib_ring::head.
 *
 * Blocking. Control verbs and handlers never wait for a peer: resolution and connection are steps between events, and calls
 * of the libraries that wait have threads of their own (vib_call.c).
 */
#ifndef VIB_H
#define VIB_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdatomic.h>

#include "ri_count.h"
#include "ri_errno.h"
#include "ri_log.h"
#include "rnicpi.h"
#include "vib_item.h"
#include "vib_keys.h"
#include "vsw_lock.h"

/* --- adapters, contexts, protection domains -------------------------------------------------- */

struct vib_cm;    /* vib_cm.c: the connection manager of an adapter */
struct vib_conn;  /* vib_cm.c: a connection, an attempt or a request */
struct vib_quirk; /* vib_profile.c: what the attributes of a device's driver do not say */

/* An open adapter. Constant while it is open, but for `failed` and the lists. */
struct ri_rnic {
	const struct ri_host *host;
	const struct ri_upcalls *upcalls;
	char name[64]; /* as the layers above know it: "ib:rxe0" */
	struct ibv_context
		*verbs;           /* our own; rdma_cm_id::verbs is another one of the same device */
	struct ri_rnic_attr attr; /* the profile */
	const struct vib_quirk *quirk;
	uint32_t
		max_srq_sge; /* segments of a receive of an SRQ; 0: as many as one of a queue pair */
	bool iwarp;          /* transport of the device: iWARP, else InfiniBand or RoCE */
	atomic_bool failed;  /* the device is gone or has failed */
	struct ibv_comp_channel *channel;
	struct ri_watch completions;        /* of the channel's descriptor */
	_Atomic(struct ri_cq *) completing; /* the queue of the event that is being handled */
	struct ri_watch asyncs;             /* of the asynchronous events */
	uint32_t port_events;               /* how many were handled; the service thread */
	struct ri_watch removal;  /* of the kernel's messages; its descriptor is -1 without them */
	struct ri_timer last_end; /* it has failed: looks whether all connections have ended */
	pthread_mutex_t lock;     /* of `contexts` */
	struct vib_item contexts;
	struct vib_keys keys;    /* regions, windows and address handles, for posts */
	atomic_uint last_ah;     /* the last id of an address handle */
	pthread_mutex_t ah_lock; /* of the calls of vib_ah_call.c */
	pthread_cond_t ah_idle;  /* one of them has ended */
	uint32_t ah_calls;
	struct vib_cm *cm; /* made by vib_cm_open */
};

/* A process. */
struct ri_context {
	struct vib_item item; /* among those of its adapter */
	struct ri_rnic *rnic;
	struct ri_owner owner;
	pthread_mutex_t lock; /* of the lists */
	struct vib_item pds;
	struct vib_item cqs;
	struct vib_item srqs;
	struct vib_item qps;
	struct vib_item mrs;
	struct vib_item mws;
	struct vib_item ahs;
	struct vib_item ahs_gone; /* struct vib_path: posted datagrams may name them (vib_ah.c) */
	struct vib_item listens;  /* of vib_cm_listen.c */
};

struct ri_pd {
	struct vib_item item;
	struct ri_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *nothing; /* what wide windows are unbound with; made with the first one */
	atomic_uint users;
	uint32_t calls; /* these two of vib_ah_call.c, under ri_rnic::ah_lock */
	bool deferred;  /* it is destroyed when the last call ends */
};

/* --- memory ---------------------------------------------------------------------------------- */

struct ri_mr {
	struct vib_item item;
	struct ri_pd *pd;
	struct ibv_mr *mr;
	uint64_t addr; /* of the first byte, as requests name it */
	uint64_t length;
	uint64_t memory;     /* where this process has that byte; 0: nowhere, it is a dmabuf */
	uint32_t access;     /* RI_ACCESS_* as asked for */
	struct vib_key *key; /* for posts; NULL: none is needed */
};

/* A window; vib_mw.c. Its STag is ibv_mw::rkey: that of the last bind that was posted and has not failed. */
struct ri_mw {
	struct vib_item item;
	struct ri_pd *pd;
	struct ibv_mw *mw;
	struct vib_key *key;
	struct vib_wide *wide; /* of a wide window, vib_mw.c; NULL: it is a narrow one */
	struct vsw_lock lock;  /* of all that follows */
	bool bound;            /* the last bind that was posted has not failed and is not undone */
	bool ending;           /* an invalidation of it is posted, too */
	bool lost;             /* it has failed, and the window has its earlier STag again */
	uint32_t stag;         /* of that bind, or of the creation */
	const struct ibv_mr *over; /* region of that bind */
	uint32_t qpn;              /* queue pair of that bind; 0: the window is a wide one */
	uint64_t addr;
	uint64_t length;
	uint32_t access; /* RI_ACCESS_* */
};

#define VIB_GRH 40 /* bytes of the route header before the data of a datagram */

/* --- work and completion queues --------------------------------------------------------------- */

struct ri_uqp;
struct ri_usrq;

/* Why a completion takes the long way (vib_poll.c): bits of vib_slot::odd. */
enum vib_slot_odd {
	VIB_SLOT_SHARED = 1u << 0, /* a receive of an SRQ */
	VIB_SLOT_QUIET = 1u << 1,  /* its success makes no completion for the access layer */
	VIB_SLOT_DONE = 1u << 2,   /* completed by the device, held until the earlier ones are */
	VIB_SLOT_FAULT = 1u << 3,  /* it never went to the device, and fails with `status` */
	VIB_SLOT_OPCODE = 1u << 4, /* its opcode may be one with something of its own */
	VIB_SLOT_BOUND = 1u << 5   /* a bind that went to the device */
};

/* The beginning of struct ri_wc. */
struct vib_done {
	uint64_t wr_id; /* of the access layer */
	uint64_t qp_ctx;
	uint32_t byte_len; /* of a request: the sum of its segments */
	uint32_t inv_stag;
	union {
		struct {
			uint8_t status;
			uint8_t opcode; /* enum ri_opcode */
			uint8_t flags;  /* RI_WC_* */
			uint8_t reserved;
		};
		uint32_t kind; /* these four at once */
	};
	uint32_t detail;
};

/*
 * A request or receive that the device has. Written by the thread that posts, read when it
 * completes. A short post (vib_post_sq) does not write `odd`. If an earlier use has left it set,
 * the completion only takes the longer path.
 */
struct vib_slot {
	struct vib_done done;  /* its completion, if it succeeds: a poll copies it */
	struct vib_ring *ring; /* that it is in; NULL with VIB_SLOT_SHARED */
	union {
		struct ri_uqp *qp;
		struct ri_usrq *srq; /* with VIB_SLOT_SHARED */
	} of;
	uint32_t
		place; /* vib_ring::head when it is free; with VIB_SLOT_SHARED: index in its array + 1 */
	uint32_t odd; /* VIB_SLOT_* */
	union {
		uint32_t window; /* of a bind or local invalidation: its STag */
		uint32_t next;   /* with VIB_SLOT_SHARED: the next free slot + 1, or 0 */
	} u;
	uint8_t status; /* with VIB_SLOT_DONE, VIB_SLOT_FAULT: enum ri_wc_status */
	uint8_t key;    /* with VIB_SLOT_BOUND: the low 8 bits of the window's STag before */
};

/* The slots of one work queue, used in turn; vib_ring.h. `head`, `done` and `tail` run freely. */
struct vib_ring {
	struct vib_slot *slots;
	uint32_t mask;    /* slots - 1 */
	uint32_t room;    /* requests that may be outstanding; at most mask + 1 */
	atomic_uint tail; /* written by the thread that posts */
	atomic_uint head; /* oldest slot in use; from here on: by the owner of the CQ lock */
	atomic_uint
		staged; /* completions in the staging ring of the CQ, whose slots are in use until they are polled */
	atomic_uint
		done; /* with `staged` above 0: of the oldest that is not completed; else that is `head` */
};

/* A completion in the staging ring, and the slot that its poll frees; NULL: none, its queue pair is destroyed. */
struct vib_staged {
	struct ri_wc wc;
	struct vib_slot *slot;
};

#define VIB_CQ_ROWS  64
#define VIB_CQ_BATCH 16 /* completions that are taken from the device at once */

/* User half of a CQ. */
struct ri_ucq {
	struct ibv_cq *cq;
	bool reorders;        /* the device completes out of order; constant */
	bool watch_all;       /* to hear of failures, one must ask for all completions; constant */
	struct vsw_lock lock; /* of all that follows, and of polling `cq` */
	uint32_t
		direct; /* most completions of a direct poll of the device; 0 while some are staged */
	int (*poll)(struct ibv_cq *cq, int n, struct ibv_wc *wc); /* of the device; constant */
	struct ibv_wc in[VIB_CQ_BATCH];                           /* what a direct poll has taken */
	bool alarm;                /* vib_cq_unlock has one of the next two to tell */
	struct ri_uqp *faults;     /* queue pairs that it ends */
	bool overflow;             /* a completion found no room; told once */
	struct vib_staged *staged; /* ring of twice `limit` entries */
	uint32_t limit;            /* size as told to the access layer */
	uint32_t staged_first;
	uint32_t staged_count;
	uint32_t staged_solicited; /* how many of them are solicited */
	uint32_t lost;        /* completions for which there was no room; the first is reported */
	uint32_t armed;       /* enum ri_arm; RI_ARM_NONE: no upcall is due */
	uint32_t armed_count; /* with RI_ARM_COUNT */
	bool listening;       /* the device was asked to report its next completion */
	bool watching;        /* it was asked to report its next solicited or failed completion */
	struct ri_uqp
		*members[VIB_CQ_ROWS]; /* queue pairs with an SRQ that receive here, by number */
	struct ri_uqp *senders;        /* queue pairs that send to it */
	uint32_t voids;                /* the sum of their ri_uqp::voids */
	struct ri_cq_counters *count;  /* never NULL */
	struct ri_cq_counters unread;  /* `count` of a queue that nobody asked to count */
	atomic_bool kept; /* a chain of one of them may not be empty; not under the lock */
	atomic_bool due;  /* `late` is started, and will look at the chains */
	struct ri_timer late;
	struct ri_task full;        /* reports the overflow */
	const struct ri_host *host; /* constant */
};

struct ri_cq {
	struct ri_ucq user; /* first: the user half is the same address */
	struct vib_item item;
	struct ri_context *context;
	uint64_t ctx;
	atomic_uint users;
	atomic_bool dying; /* the device's queue goes, so handlers leave it alone */
};

/* User half of a shared receive queue. */
struct ri_usrq {
	struct ibv_srq *srq;
	struct vib_slot *slots;
	uint32_t max_sge;
	bool empty_harms; /* vib_quirk::empty_harms */
	uint32_t mine;    /* free slots that only the thread that posts uses: first + 1, 0: none */
	atomic_uint returned; /* free slots that completions gave back: first + 1, 0: none */
	atomic_uint posts;    /* receives posted; written by the thread that posts */
	atomic_uint dones;    /* of them, completed */
	struct ri_qp_counters *count; /* never NULL; written by the thread that posts */
	struct ri_qp_counters unread; /* `count` of one that nobody asked to count */
};

struct ri_srq {
	struct ri_usrq user;
	struct vib_item item;
	struct ri_pd *pd;
	uint64_t ctx;
	struct ri_srq_attr attr; /* as granted; without the limit */
	atomic_uint limit;       /* that is armed; 0: none, or its event was raised */
	struct ri_task low;      /* raise it: there were fewer receives when it was armed */
	size_t bytes;            /* of the slots' address space */
	atomic_uint users;
};

/* --- queue pairs ----------------------------------------------------------------------------- */

/* Whether a post may go to the device. */
enum vib_gate {
	VIB_GATE_OPEN = 0,       /* yes */
	VIB_GATE_KEPT = 1 << 24, /* IDLE, CONNECTING: receives do, requests are refused */
	VIB_GATE_FLUSH =
		1 << 25, /* no, from a disconnect or an end on: completed here as flushed */
	VIB_GATE_LOST =
		VIB_GATE_FLUSH |
		1 << 26 /* likewise: the device refuses posts because the connection has ended, which nobody has told yet */
};

#define VIB_WR_OBJECT 0 /* uses: a window or an address handle */
#define VIB_WR_REGION 1 /* the region of a bind */
#define VIB_WR_INLINE 2 /* the region that is copied from */
#define VIB_WR_USES   3

/* A request of the device with the uses of what it names; they end when the device has it. */
struct vib_wr {
	struct ibv_send_wr wr;
	struct vib_key *uses[VIB_WR_USES];
};

/* Requests that are kept back; vib_chain.c. Indices run freely. */
struct vib_chain {
	struct vib_wr *wrs;
	struct ibv_sge *pieces;
	uint8_t *payload;  /* of requests with RI_WR_INLINE; NULL: they have none */
	uint32_t sges;     /* of each request, as the next */
	uint32_t octets;   /* of payload */
	atomic_uint tail;  /* written by the thread that posts */
	atomic_uint taken; /* these two by the owner of the role */
	atomic_uint head;
	struct vsw_role role;
};

#define VIB_SGES_MOST     64 /* segments of a request, whatever the device has */
#define VIB_SHORT_FLAGS   16 /* the flags of a short post are below this */
#define VIB_SHORT_OPCODES 4  /* and its opcode */

/* A request of the device with one segment, prepared for one opcode. */
struct vib_brief {
	struct ibv_send_wr wr;
	uint32_t copied;                /* payloads of up to this many bytes take the usual way */
	uint32_t done[VIB_SHORT_FLAGS]; /* vib_done::kind of its completion, by the flags of ours */
};

/*
 * Data prepared for short posts (vib_post_sq), owned by the thread that posts. `form` has the
 * expected values of the eight bytes of struct ri_wr from num_sge on; `mask` has a 0 for each bit
 * that may differ. No bit of the gate is among those.
 */
struct vib_short {
	int32_t left;          /* posts until the next one that looks for room and chain */
	struct vib_slot *slot; /* of the next post; valid if `left` is above 0 */
	uint64_t mask;
	uint64_t form;
	struct vib_brief *by_opcode[VIB_SHORT_OPCODES];
	uint32_t flags[VIB_SHORT_FLAGS]; /* of the device, by ours */
	int (*post)(struct ibv_qp *qp, struct ibv_send_wr *wr,
		    struct ibv_send_wr **bad); /* of the device; constant */
	struct ibv_send_wr *bad;
	struct vib_brief briefs[VIB_SHORT_OPCODES];
};

/* A completion that has failed, or was lost, and so ends its queue pair; all 0: there was none. */
struct vib_fault {
	uint8_t status; /* enum ri_wc_status */
	uint8_t opcode; /* enum ri_opcode */
	bool lost;
	uint32_t device; /* enum ibv_wc_status */
	uint32_t vendor; /* error of the vendor */
};

/* User half of a queue pair. */
struct ri_uqp {
	struct ibv_qp *qp;
	uint64_t ctx;     /* of the access layer, for completions */
	atomic_uint gate; /* enum vib_gate; written under vib_qp::lock */
	uint32_t qpn;     /* its number, also when the device's queue pair is gone */
	bool shared;      /* receives come from an SRQ */
	bool ud;          /* for datagrams */
	bool uc;          /* unreliable: of Sends and Writes only */
	bool bare; /* no connection manager knows of it: its end is an asynchronous event. Datagrams; vib_peer.c */
	bool windows;     /* the device has windows */
	bool invalidates; /* and Sends that invalidate */
	bool vague;       /* vib_quirk::vague_statuses */
	bool void_harms;  /* it must not invalidate a window that is not bound */
	bool empty_harms; /* vib_quirk::empty_harms, as the next */
	bool no_read_fence;
	unsigned int invalidated; /* flags of a device's completion that say so */
	bool odd; /* no request takes the short way of a post: `ud`, ri_ucq::reorders, a quirk of requests */
	uint32_t
		max_inline; /* a payload of up to so many bytes is copied while it is posted, whoever asks for it */
	uint32_t inline_room; /* bytes of a request with RI_WR_INLINE */
	uint8_t immediate;    /* RI_IMMEDIATE_* bits: what the device takes */
	uint16_t max_send_sge;
	uint16_t read_bound; /* a Read has fewer segments; 0: there are no Reads */
	uint16_t max_recv_sge;
	struct vib_ring sq;
	struct vib_ring rq; /* without slots if there is an SRQ */
	uint32_t
		voids; /* the oldest so many requests are done without the device, and not polled */
	struct vib_short quick;
	struct ri_qp_counters *count; /* never NULL; the threads that post write it */
	struct ri_qp_counters unread; /* `count` of one that nobody asked to count */
	struct ri_ucq *send_cq;
	struct ri_ucq *recv_cq;
	struct ri_uqp *next_member; /* in a row of ri_ucq::members */
	struct vib_chain chain;
	struct ri_uqp *next_sender; /* in ri_ucq::senders */
	struct vib_fault fault;     /* what has closed the gate, until it is in IDLE again */
	atomic_bool dying;          /* it is being destroyed: what the device flushes is dropped */
	atomic_uint inside;         /* threads that run its chain, or report its fault */
	struct ri_uqp *next_fault;  /* in ri_ucq::faults */
	struct vib_keys *keys;      /* of the adapter; this and what follows is constant */
	const struct ri_pd *pd;
	const struct ri_host *host;
	uint64_t *
		headers; /* for datagrams: where the route header of each receive goes; 0: not into one piece of this process's memory */
};

struct vib_qp {
	struct ri_uqp user;
	struct vib_item item;
	struct ri_pd *pd;
	struct ri_cq *send_cq;
	struct ri_cq *recv_cq;
	struct ri_srq *srq; /* or NULL */
	uint64_t ctx;
	struct ri_qp_init init; /* as granted; ird, ord and access change by modify */
	uint32_t ird, ord; /* now: those of `init`, or of the peer that vib_peer.c connects with */

	pthread_mutex_t lock; /* of all that follows */
	uint32_t state;       /* enum ri_qp_state; qp_move() of vib_qp_end.c writes it */
	struct vib_conn *conn;
	bool dying;             /* it is being destroyed: no attempt begins, no event is raised */
	bool ended;             /* `end` is set */
	bool told;              /* it was raised */
	struct ri_cm_event end; /* to raise when all is completed; kind RI_CM_NONE: nothing */
	uint32_t end_async;     /* enum ri_event to raise before it; RI_EVENT_NONE: none */
	uint32_t drain_sq;      /* completions up to these come before the end */
	uint32_t drain_rq;
	uint64_t drain_until;   /* what is not completed then is flushed here */
	struct ri_timer drain;  /* on the service thread; looks again */
	struct ri_task fail;    /* the device refused a request that was kept back */
	bool lame;              /* in IDLE, but broken by its device; vib_qp_renew.c */
	uint32_t port_event;    /* the last one that it has seen */
	struct vib_item groups; /* of vib_mcast.c */
	bool number; /* constant: it is a number only, vib_number.c: there is no queue pair of the device, and there are no queues */
	char peer[RI_LOG_ADDRESS]; /* who that is, for the log; "": it never had one */
	struct ri_task flushed;    /* its receives were flushed: tell */
};

/* --- vib_status.c: each table of conversion in one place ------------------------------------- */

/* What an errno of a control call of libibverbs or librdmacm means (a positive value). */
enum ri_status vib_status_of_errno(int error) RI_MUST_CHECK;
/*
 * The status for an errno of a call that opens the device. A device that has disappeared is then
 * reported as absent, not as failed, because there is no adapter yet that could raise an event.
 */
enum ri_status vib_status_of_open(int error) RI_MUST_CHECK;
enum ri_wc_status vib_status_of_wc(enum ibv_wc_status status) RI_MUST_CHECK;
/* Likewise, of a device with vib_quirk::vague_statuses. */
enum ri_wc_status vib_status_of_vague_wc(enum ibv_wc_status status, uint8_t opcode) RI_MUST_CHECK;
/* RI_ACCESS_* to IBV_ACCESS_*; what InfiniBand always grants has no bit. */
unsigned int vib_access(uint32_t access);
/* Log a line for the adapter, formatted; does nothing if the level is not wanted. Errors are said by strerror. */
void vib_log(const struct ri_rnic *rnic, enum ri_log_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Likewise, for a queue pair and its peer, if that is known. */
void vib_log_qp(const struct vib_qp *qp, enum ri_log_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Name the peer for such lines; @p port is in network order, 0: none. The caller owns qp->lock. */
void vib_peer_name(struct vib_qp *qp, const struct ri_addr *addr, uint16_t port);
/* Likewise without an adapter: "ib" says it. */
void vib_log_host(const struct ri_host *host, enum ri_log_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* --- vib_mw.c: windows ------------------------------------------------------------------------- */

/* A bind is about to be posted: from now on its window counts as bound. */
void vib_mw_posting(const struct ri_uqp *qp, const struct vib_wr *wr);
/* The device has it: from now on the window has the new STag for libibverbs, too. */
void vib_mw_posted(const struct vib_wr *wr);
/* What an invalidation of a window through a queue pair is [RI 5.4.1]. */
enum vib_invalidation {
	VIB_INVALIDATION_BAD = 0, /* it may not be */
	VIB_INVALIDATION_VOID,    /* the window is not bound: nothing is to be done [RI 5.2.2] */
	VIB_INVALIDATION_DUE      /* the device has to do it */
};
enum vib_invalidation vib_mw_invalidation(const struct ri_uqp *qp, uint32_t stag);
/* It is about to be posted. */
void vib_mw_invalidating(const struct ri_uqp *qp, uint32_t stag);
/* A bind (@p bind) or invalidation of the window that has this STag has failed or succeeded. */
void vib_mw_completed(struct vib_keys *keys, uint32_t stag, bool bind, bool success);
/* A bind that the device had has failed: the window has the STag before it, with this key, for libibverbs, too. */
void vib_mw_lost(struct vib_keys *keys, uint32_t stag, uint8_t key);
/* How many windows are bound over this region (NULL: over any) and through the queue pair with this number (0: any)? */
uint32_t vib_mw_count(struct ri_context *context, const struct ibv_mr *over, uint32_t qpn);

/* --- vib_device.c, vib_port.c, vib_profile.c --------------------------------------------------- */

extern const struct ri_device_ops vib_device_ops;
/* The addresses of a spigot, as they are now, and how many. False: it has no interface, or the kernel cannot be asked; 0. */
bool vib_port_addrs(struct ri_rnic *rnic, uint32_t port, struct ri_addr addrs[RI_PORT_ADDR_MAX],
		    uint32_t *count);
/* An upcall from the service thread or a fast entry; the caller owns no lock. */
void vib_raise(struct ri_rnic *rnic, uint32_t event, uint32_t object, uint64_t ctx);

/* --- queue pairs, for vib_cm*.c (vib_qp.c, vib_qp_end.c) --------------------------------------- */

/* IDLE to CONNECTING. RI_ERR_INVALID_STATE: not in IDLE. The caller owns qp->lock. */
enum ri_status vib_qp_begin(struct vib_qp *qp) RI_MUST_CHECK;
/* CONNECTING to IDLE, where a call fails before anything was sent. The caller owns qp->lock. */
void vib_qp_begin_undo(struct vib_qp *qp);
/*
 * Change the device's queue pair to attr->qp_state, with the attributes that rdma_init_qp_attr
 * made, but with the access rights that the layers above chose. The caller owns qp->lock or no
 * lock.
 */
enum ri_status vib_qp_device_modify(struct vib_qp *qp, struct ibv_qp_attr *attr,
				    int mask) RI_MUST_CHECK;
/*
 * Replace the device's queue pair by a new one, with another number. On success the caller must
 * destroy *former, which is in ERROR with nothing outstanding, without a lock, because that waits
 * for handlers of its events. On failure it stays. The caller owns qp->lock.
 */
enum ri_status vib_qp_device_renew(struct vib_qp *qp, struct ibv_qp **former) RI_MUST_CHECK;
/* Before an attempt begins: if the device has broken the queue pair while it was not connected, renew it. No lock is owned. */
enum ri_status vib_qp_heal(struct vib_qp *qp) RI_MUST_CHECK;
/*
 * CONNECTING to RTS: requests may be posted from now on; raise `event` (kind RI_CM_ESTABLISHED; ctx is filled in). The
 * device's queue pair is in RTS already. False: the attempt was ended meanwhile, and nothing was raised. The caller owns
 * no lock.
 */
bool vib_qp_established(struct vib_qp *qp, struct ri_cm_event *event);
/* Is the device's queue pair in its error state? The device may have found an error that it does not report. */
bool vib_qp_device_failed(const struct vib_qp *qp);
/* RTS to CLOSING, when a disconnect begins; false: it is not in RTS. The caller owns qp->lock. */
bool vib_qp_closing(struct vib_qp *qp);
/* CONNECTING to RTS of one without a connection manager: as above, but nothing is raised. */
bool vib_qp_run(struct vib_qp *qp);
/* Raise another event of this queue pair (RI_CM_REPLY, RI_CM_TIME_WAIT_OVER); ctx is filled in. No lock is owned. */
void vib_qp_raise(struct vib_qp *qp, struct ri_cm_event *event);
/*
 * The end: CONNECTING or RTS or CLOSING to ERROR. `event` is copied (kind RI_CM_REJECTED, RI_CM_FAILED,
 * RI_CM_DISCONNECTED or RI_CM_BROKEN with what goes with it; ctx is filled in) and raised on the service thread after all
 * completions. `async` is raised before, or RI_EVENT_NONE. The first call counts and returns true; in IDLE and ERROR it does nothing. Any
 * thread; the caller may own locks of vib_cm*.c, not qp->lock.
 */
bool vib_qp_end(struct vib_qp *qp, const struct ri_cm_event *event, uint32_t async);

/* --- vib_call.c, vib_ah_call.c: calls that wait --------------------------------------------------- */

/* Start a thread that runs this and ends. Returns 0 or an errno. */
int vib_call_start(void (*run)(void *arg), void *arg);
/* Wait until no call of this adapter is under way; none begins any more. */
void vib_ah_calls_end(struct ri_rnic *rnic);

/* --- vib_cm*.c, for the rest ------------------------------------------------------------------ */

extern const struct ri_cm_ops vib_cm_ops;
/* Make rnic->cm with its event channel, and watch it. RI_ERR_PERMISSION: /dev/infiniband/rdma_cm may not be opened. */
enum ri_status vib_cm_open(struct ri_rnic *rnic) RI_MUST_CHECK;
/* After the return no handler of its events runs. */
void vib_cm_stop(struct ri_rnic *rnic);
/* No context is left. After the return no upcall of the connection manager is under way, and none comes. */
void vib_cm_close(struct ri_rnic *rnic);
/* Destroy what a context still has: listeners and requests. Its queue pairs are destroyed already. */
void vib_cm_context_end(struct ri_context *context);
/* RTS to CLOSING was asked for (ri_qp_ops::modify); as ri_cm_ops::disconnect without private data. */
enum ri_status vib_cm_close_qp(struct vib_qp *qp) RI_MUST_CHECK;
/*
 * The layers above abort (modify to ERROR): withdraw the attempt or end the connection, and notify
 * the peer if that does not block. Afterwards the caller, which owns no lock, calls vib_qp_end with
 * RI_CM_FAILED or RI_CM_BROKEN.
 */
void vib_cm_abort(struct vib_qp *qp);
/*
 * Detach the connection from the queue pair, which returns to IDLE or is destroyed. The rdma_cm_id
 * is destroyed, and after the return no event and no thread of vib_cm*.c uses the queue pair. Not
 * on the service thread; the caller owns no lock.
 */
void vib_cm_forget(struct vib_qp *qp);
/* Is the queue pair in its time-wait? For modify to IDLE. */
bool vib_cm_in_time_wait(struct vib_qp *qp);
/* The addresses of spigots may have changed: the listeners get those of now, on the service thread. Any thread. */
void vib_cm_follow(struct ri_rnic *rnic);
/* IBV_EVENT_COMM_EST: the first message came before the connection manager's last one; on the service thread. */
void vib_cm_comm_est(struct vib_qp *qp);
/* The device is gone: end every attempt and connection, RI_CM_BROKEN or RI_CM_FAILED; on the service thread. */
void vib_cm_device_gone(struct ri_rnic *rnic);
/* The part of the profile that the connection manager knows: cm_forms, private data, IRD and ORD, names of peers. */
void vib_cm_profile(const struct ri_rnic *rnic, struct ri_rnic_attr *attr);

#endif /* VIB_H */
