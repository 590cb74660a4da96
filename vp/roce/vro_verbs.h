/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The objects of the provider beside those of vsw_object.h. What the engine reads changes in the role of the station. */
#ifndef VRO_VERBS_H
#define VRO_VERBS_H

#include "rnicpi.h"
#include "vro_station.h"
#include "vsw_object.h"
#include "vsw_user.h"

#define VRO_MAX_OBJECTS 65536u
#define VRO_MAX_CQE     (1u << 20)
#define VRO_MAX_WR      (1u << 14)
#define VRO_MAX_SGE     VSW_SPANS_MAX
#define VRO_MAX_AH      4096u
#define VRO_MAX_DEPTH   VRO_ANSWERS
#define VRO_CODE_MAX    31u /* of a time */

struct ri_rnic {
	struct vro_station *station;
	const struct ri_host *host;
	const struct ri_upcalls *upcalls;
	struct vsw_cq_upcall cq_upcall;
	struct vsw_doorbell bell;
	struct vsw_mem_table *mem;
	struct vsw_objects objects;
	atomic_uint qps;               /* how many there are */
	struct ri_ah *ahs[VRO_MAX_AH]; /* in the role of the station */
	uint32_t last_ah;
	uint32_t ah_count;
};

struct ri_context {
	struct vsw_context base; /* first */
	struct ri_rnic *rnic;
	struct vsw_item qps, ahs, listens, queries; /* under base.lock */
};

struct ri_ah {
	struct vsw_item item; /* first */
	struct vsw_pd *pd;
	uint32_t id;
	bool gone; /* destroyed; datagrams that were posted before may still name it */
	struct roce_flow flow;
};

/* Where a queue pair is in a connection by address. */
enum vro_tie_phase {
	VRO_UNTIED = 0, /* or its end was raised */
	VRO_TRYING,     /* a REQ was sent, or a REP */
	VRO_REPLIED,    /* three-way: RI_CM_REPLY was raised, confirm is due */
	VRO_TIED,       /* established at this side */
	VRO_PARTING     /* disconnect was called */
};

/* The connection of a queue pair by address; in the role. */
struct vro_tie {
	uint64_t number;     /* of the manager's exchange, which may be gone; 0: none */
	uint8_t phase;       /* enum vro_tie_phase */
	uint8_t end;         /* enum ri_cm_event_kind: to be raised when all is flushed */
	uint8_t reason;      /* of that end: enum ri_cm_reason */
	uint8_t ack_timeout; /* of the owner; 0: as the peer says */
	bool three_way;      /* the caller confirms */
	bool used;           /* it has had an exchange */
	bool rising;         /* RI_CM_ESTABLISHED is being raised; an end waits */
	bool telling;        /* its end is being raised */
	uint16_t pdata_len;  /* of the REP, for RI_CM_ESTABLISHED */
	uint8_t pdata[VRC_PDATA_ACCEPT];
};

struct vro_verbs_qp {
	struct vro_qp qp; /* first */
	struct vro_tie tie;
	struct vsw_item item;
	struct ri_rnic *rnic;
	struct vsw_pd *pd;
	struct vsw_cq_object *send_cq, *recv_cq;
	struct vsw_srq_object *srq;
	struct ri_qp_init init;
	struct vro_verbs_qp *next_row;
	struct vro_verbs_qp *next_peer;
	struct vro_verbs_qp **peers; /* the row of its peer's number; NULL: it has had none */
	struct vro_verbs_qp *next_kick;
	atomic_bool kicked;
	bool end_due;        /* the end is to be told when all is flushed; in the role */
	atomic_bool expired; /* its timer has fired */
	atomic_bool limited; /* its hard watermark was changed */
};

/* Connection management for a number in place of a queue pair [RI 10.54]. */
static inline bool
vro_is_number(const struct vro_verbs_qp *qp)
{
	return qp->init.type == RI_QP_NUMBER;
}

/* The number that its peer gets: the application's own, for one of that kind. */
static inline uint32_t
vro_wire_number(const struct vro_verbs_qp *qp)
{
	return vro_is_number(qp) ? qp->init.qkey : qp->qp.qpn;
}

extern const struct ri_device_ops vro_device_ops;
extern const struct ri_qp_ops vro_qp_ops_table;
extern const struct ri_ah_ops vro_ah_ops;
extern const struct ri_peer_ops vro_peer_ops;
extern const struct ri_cm_ops vro_cm_ops;

const struct ri_provider *vro_provider_entry(void);

void vro_profile(const struct ri_rnic *rnic, struct ri_rnic_attr *attr);
static inline struct ri_context *
vro_context_of(const struct vsw_pd *pd)
{
	return (struct ri_context *)(void *)pd->context;
}

/* Put it on the list of those that vro_station_run runs. Any thread. */
void vro_kick(struct vro_verbs_qp *qp);
/* Take it from that list. In the role. */
void vro_unkick(struct vro_verbs_qp *qp);
/* The number of its peer is known, or the queue pair goes. In the role. */
void vro_peer_enter(struct vro_verbs_qp *qp);
void vro_peer_leave(struct vro_verbs_qp *qp);
void vro_verbs_qp_destroy(struct vro_verbs_qp *qp);
/* As vsw_doorbell's. */
void vro_bell_sq(void *engine_qp);
void vro_bell_rq(void *engine_qp);
void vro_bell_bind(void *engine_qp, struct ri_wr_bind *bind, uint32_t *stag);
uint32_t vro_bell_count(void *engine_qp, struct ri_qp_counters *counters);

/* vro_group.c. The entries of ri_qp_ops, and all others in the role. */
enum ri_status vro_mcast_attach(struct ri_qp *qp, const struct ri_addr *group);
enum ri_status vro_mcast_detach(struct ri_qp *qp, const struct ri_addr *group);
/* The queue pair goes. */
void vro_groups_leave(struct vro_verbs_qp *qp);
/* As vro_engine::member. */
struct vro_qp *vro_group_member(struct vro_engine *engine, const uint8_t gid[16], uint32_t i);
/* As vro_udp_receive, of all groups. */
uint32_t vro_groups_receive(struct vro_station *station);
/* In the child of a fork: the sockets are the parent's. */
void vro_groups_forget(const struct vro_station *station);

/* vro_cm.c; all in the role. */
/* The state that a query returns for a queue pair that connection management has; RI_QPS_NONE: it does not have it. */
enum ri_qp_state vro_tie_state(const struct vro_verbs_qp *qp);
/* It ends at once; the end that fits is raised when all is flushed. */
void vro_tie_break(struct vro_verbs_qp *qp);
/* Disconnect, with private data. RI_ERR_INVALID_STATE: no connection, or one that ends; RI_ERR_INVALID_ARG. */
enum ri_status vro_tie_part(struct vro_verbs_qp *qp, const void *pdata, uint16_t len);
/* All is flushed: raise the end that is due. */
void vro_tie_flushed(struct vro_verbs_qp *qp);
/* A packet came before the RTU. */
void vro_tie_arrived(struct vro_verbs_qp *qp);
/* Not in the role: wait until no upcall names it. */
void vro_tie_leave(struct vro_verbs_qp *qp);
/* An event of the manager; as vrc_raise, `self` is the station. */
struct vrc_event;
void vro_cm_raise(void *self, const struct vrc_event *event);
/* What a context that goes still has, and the requests of an adapter that is closed. */
void vro_cm_context_end(struct ri_context *context);
void vro_cm_close(struct ri_rnic *rnic);

/* The way to a destination. RI_ERR_INVALID_ARG: no such spigot; RI_ERR_NO_ROUTE. */
enum ri_status vro_flow_make(const struct ri_rnic *rnic, const struct ri_ah_init *init,
			     struct roce_flow *flow);
/* As ri_device_ops::route. */
enum ri_status vro_route(struct ri_rnic *rnic, const struct ri_addr *peer, struct ri_addr *local,
			 uint32_t *port);
/* The address handles that were destroyed while datagrams waited. Nothing uses the adapter any more. */
void vro_ahs_free(struct ri_rnic *rnic);
/* The flow of a handle of that domain; false: there is none. In the role. */
bool vro_ah_find(struct ri_rnic *rnic, uint32_t id, const struct vsw_pd *pd,
		 struct roce_flow *flow);

#endif /* VRO_VERBS_H */
