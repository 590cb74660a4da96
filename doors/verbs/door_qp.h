/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Queue pairs. */
#ifndef DOOR_QP_H
#define DOOR_QP_H

#include "door_cq.h"
#include "door_memory.h"
#include "door_srq.h"

struct door_cm_id;
struct door_ops;
struct door_group;
struct door_builder;

/* Asynchronous events of a queue pair; door_qp_events.c has their types. */
enum {
	DOOR_QP_FATAL,
	DOOR_QP_REQUEST,
	DOOR_QP_ACCESS,
	DOOR_QP_ESTABLISHED,
	DOOR_QP_DRAINED,
	DOOR_QP_MIGRATED,
	DOOR_QP_MIGRATION_FAILED,
	DOOR_QP_LAST_WQE,
	DOOR_QP_EVENTS
};

struct door_qp {
	/* What programs have: the plain struct is the first member of the extended one. */
	union {
		struct ibv_qp qp;
		struct ibv_qp_ex ex;
	};
	struct door_adapter *adapter;
	uint32_t id;  /* of the kAL */
	uint64_t ctx; /* its slot */
	struct ri_uqp *queue;
	struct door_cm_id
		*cm; /* under door_slots::lock: the id that connects or has connected it, or NULL */

	/* What a post reads; but for the state fixed since the creation. */
	const struct door_ops *ops; /* what its type can do */
	const struct ri_fast_ops *fast;
	enum ri_status (*post_sq)(struct ri_uqp *qp, const struct ri_wr *wr);
	enum ri_status (*post_rq)(struct ri_uqp *qp, const struct ri_recv_wr *wr);
	atomic_uint state; /* enum ibv_qp_state: what the program is told */
	uint32_t always;   /* RI_WR_* of each request: signalled or not */
	uint32_t max_send_sge;
	uint32_t max_recv_sge;
	atomic_uint qkey;          /* datagrams: its own Q_Key */
	pthread_mutex_t post_lock; /* for providers whose queues take one post at a time */

	struct door_context *context;
	struct door_pd *pd;
	struct door_cq *send_cq;
	struct door_cq *recv_cq;
	struct door_srq *srq;          /* or NULL */
	struct door_qp *next_numbered; /* door_adapter::numbered */
	bool closed; /* under door_slots::lock: its context is, which ends its connection */

	/* Under `control`, a control lock: the state, and what ibv_modify_qp has set. */
	pthread_mutex_t control;
	struct ibv_qp_attr attr;
	struct ibv_qp_cap cap;
	bool sig_all;
	bool by_cm;                /* rdma_cm brings it up, so the masks of verbs do not count */
	struct door_group *groups; /* multicast groups that it is attached to */

	struct door_async asyncs[DOOR_QP_EVENTS];
	unsigned async_taken;
	bool last_wqe_due; /* under door_slots::lock: DOOR_QP_LAST_WQE is raised at the end of the connection */

	struct door_builder *builder; /* of the ibv_wr_* calls; NULL: it was created without them */
};

static inline struct door_qp *
door_qp_of(struct ibv_qp *qp)
{
	return (struct door_qp *)qp;
}

/*
 * The queue pair of that number; NULL: the adapter has none. Under door_slots::lock, which must be
 * owned as long as the result is used.
 */
struct door_qp *door_qp_numbered(struct door_adapter *adapter, uint32_t qpn);
/*
 * Under door_slots::lock: rdma_cm has connected the queue pair, or its connection has ended. The
 * state that the program sees is changed; no call of the kAL is made.
 */
void door_qp_connected(struct door_qp *qp);
void door_qp_ended(struct door_qp *qp);
/* Under door_slots::lock: an asynchronous event of it. */
void door_qp_raised(struct door_qp *qp, enum ri_event event);
/* Fill in door_qp::asyncs of a new one. */
void door_qp_events_init(struct door_qp *qp);

/*
 * The state of a new queue pair, and of one that is reset. iWARP has a single state before the
 * connection, in which receives can be posted; kernel drivers report it as INIT.
 */
static inline enum ibv_qp_state
door_qp_first_state(const struct door_adapter *adapter)
{
	return adapter->session.attr.transport == RI_TRANSPORT_IWARP ? IBV_QPS_INIT : IBV_QPS_RESET;
}

/* The program closes a context: connections of its queue pairs end. Control call. */
void door_qp_end_all(struct door_context *context);

/* Operation of contexts. */
struct ibv_qp *door_qp_create_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);

/* No Q_Key of a peer: a queue pair for datagrams hears nothing before it has the program's. */
uint32_t door_qp_no_qkey(const struct door_adapter *adapter);

#endif /* DOOR_QP_H */
