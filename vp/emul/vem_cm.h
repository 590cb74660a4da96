/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What connection management and its listeners share. Everything under the fabric's lock. */
#ifndef VEM_CM_H
#define VEM_CM_H

#include "vem.h"

struct ri_listen {
	struct vsw_item in_context;
	struct vsw_item item; /* in the fabric */
	struct ri_context *context;
	uint64_t ctx;
	struct ri_service service;
	uint32_t port;
	struct vem_name *name; /* between processes: what they dial */
	uint32_t backlog;
	uint32_t waiting; /* requests that are not answered */
};

/* A request that is not answered: for a connection, or for a datagram service. */
struct vem_conn {
	struct vsw_item item;       /* in the fabric */
	struct vsw_item event_node; /* in a list of the adapter */
	uint64_t id;
	struct vem_qp
		*active; /* the queue pair that connects; NULL: it gave up, or this is a query */
	bool service;    /* it is a query for a datagram service */
	struct vem_query *query; /* that, of this process */
	struct vem_link *asker;  /* or where it came from, which knows it by this number */
	uint32_t asker_number;
	struct ri_listen *listen;  /* NULL: it was destroyed */
	struct ri_rnic *rnic;      /* adapter of the listener */
	struct vem_remote *remote; /* the connection of a request from another process, or NULL */
	bool told;
	uint32_t psn[2];   /* first packet numbers: of the active side, of the passive one */
	uint64_t rnr_wait; /* as vem_qp::rnr_wait, of whoever accepts */
	struct ri_cm_event event;
};

/* A query for a datagram service; in the fabric until its answer is raised. */
struct vem_query {
	struct vsw_item item;
	struct vsw_item event_node; /* in a list of the adapter */
	struct ri_rnic *rnic;
	const struct ri_context *context; /* compared, never dereferenced */
	uint64_t ctx;
	struct vem_conn *conn; /* its request, while that is not answered */
	bool answered;
	/* Between processes; shm/vem_remote_query.c. */
	bool leaves, fresh, asked; /* it is to be sent; its link was dialed for it; it was sent */
	struct vem_link *link;
	uint32_t number;
	uint16_t said_len;
	uint8_t said[RI_PDATA_MAX];
	struct ri_cm_event event; /* the answer */
	struct ri_timer timer;    /* gives the answer if no other comes */
};

/* vem_request.c */
/* Create a request and raise it for the listener; NULL: its backlog is full, or no memory. */
struct vem_conn *vem_conn_new(struct ri_listen *listen, const struct ri_cm_event *event);
/* The request with that number and of that kind, if it was raised; NULL: there is none. */
struct vem_conn *vem_conn_find(struct vem_fabric *fabric, const struct ri_request *request,
			       bool service);
/* End a request; the side that sent it gets RI_CM_REASON_OTHER. */
void vem_conn_fail(struct vem_conn *conn);
/* The listener of a service, or NULL. */
struct ri_listen *vem_listen_find(struct vem_fabric *fabric, const struct ri_service *service);
/* Give a query its answer; the first one counts. */
void vem_query_answer(struct vem_query *query, const struct ri_service_answer *answer);
/* The request is answered or ended: remove it from the fabric. */
void vem_conn_close(struct vem_conn *conn);
/* The side that sent a request gives up; if the listener has had an event for the request, it gets one for this. */
void vem_conn_withdraw(struct vem_conn *conn);
/* An attempt to connect has failed. */
void vem_attempt_failed(struct vem_qp *qp, enum ri_cm_reason reason);

/* vem_cm.c */
/* The port that it connects from. */
uint16_t vem_cm_local_port(struct vem_qp *qp);
/*
 * The values with which one side of a connection can bring up a queue pair of its own by
 * ri_peer_ops, so that it reaches queue pair `qpn` of the other side. IRD and ORD are those of the
 * other side, seen from here. InfiniBand only.
 */
struct ri_peer vem_cm_reach(const struct vem_fabric *fabric, uint32_t qpn,
			    const struct ri_addr *there, const struct ri_addr *here,
			    const struct vem_hello *hello);
/* For how long messages of its partner wait for a receive, in ns, or RI_NEVER. */
uint64_t vem_cm_rnr_wait(const struct ri_rnic *rnic, const struct vem_hello *hello);
void vem_cm_event_hello(struct ri_cm_event *event, const struct vem_hello *hello);

/* vem_resolve.c */
/* Remove the next answered query of this adapter from the fabric; the caller raises its event and frees it. */
struct vem_query *vem_query_next_answered(struct ri_rnic *rnic);

/* vem_resolve.c, which take the lock themselves */
void vem_query_free(struct vem_query *query);
void vem_query_end_all(struct ri_context *context);
enum ri_status vem_resolve(struct ri_context *context, uint64_t ctx,
			   const struct ri_cm_params *params);
void vem_resolve_cancel(struct ri_context *context, uint64_t ctx);
enum ri_status vem_resolve_answer(struct ri_request *request,
				  const struct ri_service_answer *answer);

/* vem_listen.c: entries of ri_cm_ops, which take the lock themselves */
enum ri_status vem_listen_create(struct ri_context *context, uint64_t ctx, uint32_t port,
				 struct ri_service *service, uint32_t backlog,
				 struct ri_listen **out);
void vem_listen_destroy(struct ri_listen *listen);
bool vem_service_is_known(const struct vem_fabric *fabric, const struct ri_service *service);

#endif /* VEM_CM_H */
