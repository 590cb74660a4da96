/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * mc.h: the objects of the memory-copy adapter, and what its files share.
 *
 * A provider to begin with. The tutorial for providers, in the manual of itapi, explains it piece by
 * piece, and quotes the pieces by the names in brackets.
 */
#ifndef MC_H
#define MC_H

#include <rnicpi/rnicpi.h>

/* [notes] */
#define MC_NAME     "memcopy"
#define MC_REQUESTS 4096         /* of one work queue */
#define MC_ENTRIES  65536        /* of one completion queue */
#define MC_OBJECTS  4096         /* of each kind, in one opened adapter */
#define MC_LENGTH   (1ull << 46) /* bytes of one region */
#define MC_MESSAGE  (1u << 30)   /* bytes of one message */
#define MC_PDATA    128          /* bytes of private data */
#define MC_ARM_MAX  0xffffff     /* completions to wait for */
#define MC_DEPTH    16           /* RDMA Reads at a time */

/* An upcall that is due: a task makes it later, on the service thread. */
struct mc_note {
	struct mc_note *next;
	struct ri_rnic *rnic;
	void (*tell)(void *object); /* with the lock, which it releases for the upcall */
	void *object;
	bool queued;
};

enum mc_kind {
	MC_LISTEN,
	MC_QP,
	MC_MR,
	MC_CQ,
	MC_PD,
	MC_KINDS
};

struct ri_rnic {
	const struct ri_host *host;
	const struct ri_upcalls *upcalls;
	struct ri_task task;   /* makes the upcalls of the notes */
	struct mc_note *notes; /* the oldest first */
	struct ri_rnic *next_due;
	bool due;          /* in the list of adapters whose task is to be started */
	unsigned starting; /* threads that are starting it */
	unsigned objects[MC_KINDS];
};
/* [notes] */

/* [objects] */
/* The first member of each object. */
struct mc_object {
	struct mc_object *next; /* in its context */
	struct ri_context *context;
	unsigned users; /* other objects that depend on this one */
};

struct ri_context {
	struct ri_rnic *rnic;
	struct ri_owner owner;
	struct mc_object *objects[MC_KINDS];
};

struct ri_pd {
	struct mc_object object;
};

struct ri_mr {
	struct mc_object object;
	struct ri_mr *chain; /* of regions with a similar STag */
	struct ri_pd *pd;
	struct ri_mem mem;
	uint32_t access;
	uint32_t stag;
};
/* [objects] */

/* [queues] */
/* A request, copied when it is posted. */
struct mc_slot {
	uint64_t wr_id;
	uint32_t flags;
	uint8_t opcode;
	struct ri_sge sge; /* all zero: the request names no memory */
	struct ri_wr_remote remote;
};

/* A work queue. The numbers only grow; the slot of request n is n % size. */
struct mc_queue {
	struct mc_slot *slots;
	uint32_t size;
	uint64_t posted; /* requests posted */
	uint64_t done;   /* requests executed or flushed */
	uint64_t freed;  /* requests whose slot may be used again */
};

/* A completion, and which slots are free when it has been polled. */
struct mc_entry {
	struct ri_wc wc;
	struct mc_queue *queue; /* NULL: its queue pair is gone */
	uint64_t done;
};

struct ri_cq {
	struct mc_object object;
	uint64_t ctx;
	struct mc_entry *entries;
	uint32_t size;
	uint64_t head, tail; /* completions polled, completions made */
	uint32_t solicited;  /* how many of those present are solicited */
	enum ri_arm armed;
	uint32_t armed_count;
	struct mc_note fire;
};
/* [queues] */

/* [shared] */
struct ri_qp {
	struct mc_object object;
	struct ri_pd *pd;
	struct ri_cq *send_cq, *recv_cq;
	struct ri_qp_init init;
	uint32_t number;
	enum ri_qp_state state;
	struct mc_queue sq, rq;
	struct ri_qp *peer;         /* from accept to the end */
	struct mc_request *request; /* from connect until it is answered */
	bool open;                  /* ESTABLISHED was raised: data may move */
	struct ri_timer timer;      /* the deadline of an attempt */
	struct mc_note up, end;
	struct ri_cm_event heard; /* what the peer said when it accepted or refused */
	enum ri_cm_event_kind end_kind;
	enum ri_cm_reason end_reason;
};

/* mc_provider.c: the lock of everything, and what happens when it is released. */
void mc_lock(void);
void mc_unlock(void);
void mc_note_init(struct mc_note *note, struct ri_rnic *rnic, void (*tell)(void *), void *object);
void mc_note_queue(struct mc_note *note);  /* with the lock */
void mc_note_unlink(struct mc_note *note); /* with the lock */
void mc_note_forget(struct mc_note *note); /* without it; waits while an upcall is being made */

/* mc_objects.c. With the lock, but for mc_take_back. */
bool mc_enter(struct ri_context *context, enum mc_kind kind, struct mc_object *object);
void mc_leave(enum mc_kind kind, struct mc_object *object);
void mc_take_back(struct ri_context *context);
void mc_objects_forked(void); /* in a forked child: there are no regions */
struct ri_mr *mc_region(uint32_t stag);
void mc_cq_push(struct ri_cq *cq, const struct mc_entry *entry);
bool mc_cq_due(const struct ri_cq *cq, enum ri_arm how, uint32_t count);

/* mc_qp.c, mc_engine.c, mc_cm.c. With the lock, but for mc_refuse_all. */
void mc_end(struct ri_qp *qp, enum ri_cm_event_kind kind, enum ri_cm_reason reason);
void mc_run(struct ri_qp *qp);   /* executes what can be executed */
void mc_flush(struct ri_qp *qp); /* completes everything as flushed */
void mc_tell_up(void *object);
void mc_tell_end(void *object);
void mc_request_withdraw(struct mc_request *request);
void mc_refuse_all(struct ri_rnic *rnic);
void mc_cm_forked(void); /* in a forked child: there are no listeners and no requests */

extern const struct ri_addr mc_address; /* of the spigot */
extern const struct ri_pd_ops mc_pd_ops;
extern const struct ri_cq_ops mc_cq_ops;
extern const struct ri_mem_ops mc_mem_ops;
extern const struct ri_qp_ops mc_qp_ops;
extern const struct ri_cm_ops mc_cm_ops;
extern const struct ri_user_ops mc_user_ops;
extern const struct ri_fast_ops mc_fast_ops;
/* [shared] */

#endif
