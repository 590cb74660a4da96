/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Between the files door_cm_*.c. door_cm.h has the locks. */
#ifndef DOOR_CM_INTERNAL_H
#define DOOR_CM_INTERNAL_H

#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>
#include <sys/socket.h>

#include "door_cm.h"
#include "door_context.h"
#include "door_events.h"
#include "door_qp.h"

#define DOOR_CM_QKEY 0x01234567 /* of each queue pair for datagrams that rdma_cm sets up */

/* Events by the kernel's numbers. <rdma/rdma_user_cm.h> lacks them, and cannot be included beside <rdma/rdma_cma.h>. */
enum rdma_cm_event_type {
	RDMA_CM_EVENT_ADDR_RESOLVED = 0,
	RDMA_CM_EVENT_ADDR_ERROR,
	RDMA_CM_EVENT_ROUTE_RESOLVED,
	RDMA_CM_EVENT_ROUTE_ERROR,
	RDMA_CM_EVENT_CONNECT_REQUEST,
	RDMA_CM_EVENT_CONNECT_RESPONSE,
	RDMA_CM_EVENT_CONNECT_ERROR,
	RDMA_CM_EVENT_UNREACHABLE,
	RDMA_CM_EVENT_REJECTED,
	RDMA_CM_EVENT_ESTABLISHED,
	RDMA_CM_EVENT_DISCONNECTED,
	RDMA_CM_EVENT_DEVICE_REMOVAL,
	RDMA_CM_EVENT_MULTICAST_JOIN,
	RDMA_CM_EVENT_MULTICAST_ERROR,
	RDMA_CM_EVENT_ADDR_CHANGE,
	RDMA_CM_EVENT_TIMEWAIT_EXIT
};

struct door_cm_group;
struct door_cm_hearing;
struct door_cm_listen;
struct door_cm_sleeper;

/* --- channels (door_cm_channel.c) ---------------------------------------------------------------------- */

struct door_cm_channel {
	/* Under door_cm_lock(). */
	struct door_events events;        /* of door_cm_event::node */
	struct door_cm_sleeper *sleepers; /* threads in GET_EVENT */
	unsigned refs;          /* its descriptor, and threads that execute a command on it */
	bool closed;            /* the program has closed the descriptor */
	struct door_cm_id *ids; /* by door_cm_id::next */
};

void door_cm_lock(void);
void door_cm_unlock(void);

/*
 * The channel of a descriptor, with a reference that door_cm_channel_put releases. NULL: errno is
 * EBADF, the descriptor is not that of a channel, or EIO, the channel is that of a fork's parent.
 */
struct door_cm_channel *door_cm_channel_get(int fd);
void door_cm_channel_put(struct door_cm_channel *channel);

/* Under door_cm_lock(): wake threads in door_cm_wait_ended, because a connection has ended. */
void door_cm_ended(void);
/* Under door_cm_lock(), which it gives back meanwhile: wait for such an end, for less than a second. */
void door_cm_wait_ended(uint64_t ns);

/* --- ids (door_cm_id.c) ---------------------------------------------------------------------------------- */

enum door_cm_state {
	DOOR_CM_IDLE = 0,
	DOOR_CM_BOUND,
	DOOR_CM_ADDR_RESOLVED,
	DOOR_CM_ROUTE_RESOLVED,
	DOOR_CM_LISTENING,
	DOOR_CM_REQUESTED,  /* passive: the program has not answered the request */
	DOOR_CM_CONNECTING, /* CONNECT or ACCEPT was called, and nothing has come of it yet */
	DOOR_CM_REPLIED,    /* active: the peer has accepted, and an ACCEPT of this side is due */
	DOOR_CM_UP,         /* connected; for datagrams: the answer was sent or has come */
	DOOR_CM_CLOSING,    /* DISCONNECT was called */
	DOOR_CM_ENDED       /* the attempt has failed, or the connection is over */
};

struct door_cm_id {
	/* Fixed. */
	uint16_t port_space; /* enum rdma_port_space */
	bool passive;        /* of a request */

	pthread_mutex_t control;

	/* Under `control`. */
	bool family_only_given; /* the program has set RDMA_OPTION_ID_AFONLY */
	bool port_given;        /* the program has chosen the port */
	struct door_cm_hearing *hearings;
	uint32_t pd, number_qp;    /* of the kAL, with an RI_QP_NUMBER; else 0 */
	uint64_t query;            /* slot for events that name no queue pair of verbs; 0: none */
	struct kal_cm_req connect; /* what `retry` repeats; for datagrams the next one */
	struct kal_resolve_req resolve;
	struct ri_timer retry;

	/* Under door_cm_lock(). Those with a * are changed by commands only, which own `control`, too: either lock is enough to read. */
	uint32_t number; /* by which programs name it; 0: none */
	unsigned refs;
	bool dying; /* DESTROY_ID was called, or its channel closed: it gets no events any more */
	uint64_t
		uid; /* by which programs know it in events; 0: of a request that is not accepted */
	uint32_t reported; /* events that GET_EVENT has returned */
	enum door_cm_state state;
	struct door_cm_channel *channel;
	struct door_cm_id *next,
		*prev; /* door_cm_channel::ids; `next`: of those that door_cm_drop returns */
	struct sockaddr_storage source;  /* as programs see it, with the port */
	struct sockaddr_storage dest;    /* the same */
	struct door_adapter *adapter;    /* * the id is a user of it; NULL: it has no device */
	uint32_t spigot;                 /* * from 0 */
	struct ri_addr local, peer;      /* * */
	union ibv_gid sgid, dgid;        /* * what stands for these two in verbs */
	bool has_port;                   /* * a port is the id's */
	int reservation;                 /* * a socket that keeps it; -1: none is needed */
	bool reuse;                      /* * RDMA_OPTION_ID_REUSEADDR */
	bool family_only;                /* * RDMA_OPTION_ID_AFONLY, or the default of the family */
	bool ack_timed;                  /* * RDMA_OPTION_ID_ACK_TIMEOUT was set, to the next */
	uint8_t ack_timeout;             /* * a code; 0: no time-out */
	unsigned backlog;                /* LISTENING: requests that may wait for GET_EVENT */
	unsigned unheard;                /* and do */
	uint32_t request;                /* of the kAL, REQUESTED; 0: none */
	struct door_cm_id *next_request; /* ids with such a request */
	bool request_gone;               /* its peer gave up */
	bool wait_due, wait_told;        /* TIMEWAIT_EXIT of a connection that is over */
	bool may_retry;                  /* a refusal can be repeated */
	uint64_t give_up;                /* when it is final: ns of ri_host::now */
	bool query_open;                 /* the kAL owes an answer to KAL_RESOLVE */
	struct ri_peer reach;         /* how a queue pair of the program reaches the other side */
	struct door_cm_group *groups; /* by door_cm_group::next */

	struct door_qp
		*qp; /* under door_slots::lock, changed under `control`: either is enough to read */
};

/* A multicast group of an id; under door_cm_lock(). */
struct door_cm_group {
	struct door_cm_group *next;
	struct door_cm_id *id;
	uint32_t number;
	uint32_t reported; /* events that GET_EVENT has returned */
	uint64_t uid;
};

static inline bool
door_cm_is_ud(const struct door_cm_id *id)
{
	return id->port_space == RDMA_PS_UDP;
}

static inline bool
door_cm_is_iwarp(const struct door_adapter *adapter)
{
	return adapter->session.attr.transport == RI_TRANSPORT_IWARP;
}

static inline const struct ri_host *
door_cm_host(const struct door_cm_id *id)
{
	return id->adapter->session.host;
}

/* A new id, without a number, with one reference; NULL: no memory. */
struct door_cm_id *door_cm_id_new(uint16_t port_space);
void door_cm_id_put(struct door_cm_id *id);
/* Under door_cm_lock(): give it a number and a channel; false: no memory. */
bool door_cm_id_enter(struct door_cm_id *id, struct door_cm_channel *channel);
/*
 * Begin a command on the id of that number; then the caller owns door_cm_id::control and a reference,
 * until door_cm_id_leave. Returns 0 or an errno: ENOENT, EINVAL: it is another channel's, EIO: its device
 * failed.
 */
int door_cm_id_begin(struct door_cm_channel *channel, uint32_t number, struct door_cm_id **id);
void door_cm_id_leave(struct door_cm_id *id);
/*
 * Take the id with that number out of the table, so that no command finds it any more; door_cm_id_end comes next. The caller
 * gets the reference of the table. Returns 0, ENOENT or EINVAL as door_cm_id_begin does.
 */
int door_cm_id_take(struct door_cm_channel *channel, uint32_t number, struct door_cm_id **id);
/* Under door_cm_lock(): the same for any id of the channel; NULL: it has none. */
struct door_cm_id *door_cm_id_take_any(struct door_cm_channel *channel);
/* End an id that no command finds. Gives the reference back; returns door_cm_id::reported. */
uint32_t door_cm_id_end(struct door_cm_id *id);
/* Under door_cm_lock(): the id with the least number above that one; NULL: there is none. */
struct door_cm_id *door_cm_id_after(uint32_t number);
/* Move an id and its events to another channel; 0 or an errno. */
int door_cm_id_migrate(struct door_cm_channel *from, struct door_cm_channel *to, uint32_t number,
		       uint32_t *reported);
void door_cm_id_set(struct door_cm_id *id, enum door_cm_state state);
enum door_cm_state door_cm_id_state(const struct door_cm_id *id);

/* Under door_cm_lock(): a group that the id joins; NULL: no memory. */
struct door_cm_group *door_cm_group_enter(struct door_cm_id *id, uint64_t uid);
/* The id leaves the group of that number. 0, ENOENT or EINVAL. */
int door_cm_group_leave(struct door_cm_channel *channel, uint32_t number, uint32_t *reported);

/* --- events (door_cm_events.c) ----------------------------------------------------------------------------- */

struct door_cm_event {
	struct door_event node; /* first */
	struct door_cm_id *id;  /* whose events it counts to */
	struct door_cm_id
		*request; /* CONNECT_REQUEST: the new id, with the event's reference; else NULL */
	struct door_cm_group *group; /* of a multicast group; else NULL */
	struct rdma_ucm_event_resp answer;
};

/*
 * Under door_cm_lock(): queue an event for an id. NULL: it is not queued, because there is no memory or because
 * the program does not know the id yet. The caller completes door_cm_event::answer before it releases the lock.
 */
struct door_cm_event *door_cm_raise(struct door_cm_id *id, enum rdma_cm_event_type type,
				    int status);
/*
 * Under door_cm_lock(): drop the events of an id (group NULL), or those of its group. Returns the new
 * ids of requests among them, by door_cm_id::next, with their references.
 */
struct door_cm_id *door_cm_drop(struct door_cm_id *id, const struct door_cm_group *group);
/* Under door_cm_lock(): move the events of an id to another channel. */
void door_cm_move_events(struct door_cm_id *id, struct door_cm_channel *to);
/* Under door_cm_lock(): wake the threads in GET_EVENT. */
void door_cm_wake(struct door_cm_channel *channel);
/* The command GET_EVENT. Returns 0 or an errno. cancel_state is the thread's own, for its sleep. */
int door_cm_get_event(struct door_cm_channel *channel, uint64_t response, size_t room,
		      int cancel_state);

/* --- addresses (door_cm_address.c) --------------------------------------------------------------------------- */

/* Octets of a socket address of that family; 0: no id can have an address of that family. */
size_t door_cm_size(uint16_t family);
/* A socket address without its port; "any" is of the family NONE. */
struct ri_addr door_cm_addr(const struct sockaddr_storage *from);
/* family: AF_INET6 shows IPv4 as mapped; 0: none is wanted. */
void door_cm_sockaddr(struct sockaddr_storage *to, const struct ri_addr *addr, uint16_t port,
		      uint16_t family);
/* The port of a socket address, in network order. */
uint16_t *door_cm_port(struct sockaddr_storage *addr);
bool door_cm_same_addr(const struct ri_addr *a, const struct ri_addr *b);
/* What stands for an address of a spigot, or for one that it reaches, in verbs. Control call. */
union ibv_gid door_cm_gid(struct door_adapter *adapter, uint32_t spigot,
			  const struct ri_addr *addr);
/* What stands for a port of the id's port space at the kAL. */
struct ri_service door_cm_service(const struct door_cm_id *id, uint16_t port);

/* All that follow are under door_cm_id::control. The commands return 0 or an errno. */
int door_cm_bind(struct door_cm_id *id, const struct sockaddr_storage *addr);
/* Can anything arrive at the address of a bound id? A loopback address may be one that no device has, or that of another process. */
bool door_cm_can_hear(const struct door_cm_id *id);
int door_cm_resolve(struct door_cm_id *id, const struct sockaddr_storage *source,
		    const struct sockaddr_storage *dest);
int door_cm_resolve_route(struct door_cm_id *id);
/* Let sockets of the kAL bind to the port that is reserved for an id, or not any more. */
void door_cm_port_share(struct door_cm_id *id);
void door_cm_port_unshare(struct door_cm_id *id);
/* RDMA_OPTION_ID_REUSEADDR. */
void door_cm_port_reuse(struct door_cm_id *id, bool reuse);
void door_cm_port_release(struct door_cm_id *id);
/* Has another id its port, too, by RDMA_OPTION_ID_REUSEADDR? Then it cannot listen there. */
bool door_cm_port_is_shared(struct door_cm_id *id);
/* RDMA_OPTION_ID_AFONLY. */
void door_cm_family_only(struct door_cm_id *id, bool only);

/* Without locks: the last channel is closed, so adapters that were only looked at can be closed, too. */
void door_cm_keep_none(void);

/* --- questions (door_cm_query.c), under door_cm_id::control ----------------------------------------------------- */

int door_cm_query_route(struct door_cm_id *id, uint64_t response, size_t room);
int door_cm_query(struct door_cm_id *id, uint32_t option, uint64_t response, size_t room);

/* --- listeners (door_cm_listen.c, door_cm_follow.c) ----------------------------------------------------------- */

/* Under door_cm_id::control: the command. Returns 0 or an errno. */
int door_cm_listen(struct door_cm_id *id, int backlog);
/* Under door_cm_id::control: it hears nothing any more. */
void door_cm_deafen(struct door_cm_id *id);
/* Under door_cm_id::control: one that listens everywhere listens to what has come since. */
void door_cm_listen_more(struct door_cm_id *id);
/* From dispatch. */
void door_cm_requested(struct door_cm_listen *listen, const struct kal_cm_event *event);
void door_cm_request_gone(const struct door_adapter *adapter, uint32_t request);
/* Under door_cm_lock(): the id's request was answered, or has ended. */
void door_cm_request_done(struct door_cm_id *id);
/* Under door_cm_id::control: reject it, if it is not answered. */
void door_cm_request_refuse(struct door_cm_id *id);
/* One more id listens everywhere, or one fewer. */
void door_cm_follow(void);
void door_cm_follow_end(void);

/* --- connections (door_cm_connect.c) ---------------------------------------------------------------------------- */

/* Under door_cm_id::control. The commands return 0 or an errno. */
int door_cm_connect(struct door_cm_id *id, const struct rdma_ucm_conn_param *param);
int door_cm_accept(struct door_cm_id *id, uint64_t uid, const struct rdma_ucm_conn_param *param);
/* ACCEPT without parameters. */
int door_cm_confirm(struct door_cm_id *id);
int door_cm_reject(struct door_cm_id *id, const uint8_t *data, uint8_t length);
int door_cm_disconnect(struct door_cm_id *id);
/* attr->qp_state is given. */
int door_cm_init_qp_attr(struct door_cm_id *id, struct ib_uverbs_qp_attr *attr);
/* Under door_cm_id::control: RDMA_OPTION_ID_ACK_TIMEOUT. EINVAL: no code of a time. */
int door_cm_ack_timeout(struct door_cm_id *id, uint8_t code);
/* End what the id has of a connection or a request. */
void door_cm_hang_up(struct door_cm_id *id);
/* It is CONNECTING from now on. */
void door_cm_connect_begin(struct door_cm_id *id);
void door_cm_retry_init(struct door_cm_id *id);

/* --- events of the kAL (door_cm_raised.c) ------------------------------------------------------------------------ */

/* Fill in the parameters of the event for a request; `id` is the id of that request. */
void door_cm_request_params(const struct door_cm_id *id, const struct kal_cm_event *event,
			    struct rdma_ucm_event_resp *answer);
/* Under door_cm_lock(): the attempt of an id has failed; enum kal_cm_reason. */
void door_cm_failed(struct door_cm_id *id, uint32_t reason);
/* Under door_cm_lock(): the connection of an id is over. */
void door_cm_over(struct door_cm_id *id);
/* Under door_cm_lock(): the time-wait after it is over, too. Raises the event for that, unless the program has had it. */
void door_cm_wait_over(struct door_cm_id *id);

/* --- datagrams (door_cm_ud.c) ------------------------------------------------------------------------------------- */

/* The answer of a service. */
struct door_cm_ud_answer {
	uint32_t qpn;
	const uint8_t *data;
	uint8_t length;
};

/* Under door_cm_id::control; 0 or an errno. */
int door_cm_ud_connect(struct door_cm_id *id, const struct rdma_ucm_conn_param *param);
/* Ask again. */
int door_cm_ud_ask(struct door_cm_id *id);
int door_cm_ud_answer(struct door_cm_id *id, uint32_t service_status,
		      const struct door_cm_ud_answer *answer);
void door_cm_ud_end(struct door_cm_id *id);
int door_cm_join(struct door_cm_id *id, const struct sockaddr_storage *addr, uint64_t uid,
		 uint32_t *number);

/* The status of an event for an enum ri_service_status. */
int door_cm_service_status(uint32_t status);
/* The address for an address handle of the id's device. */
void door_cm_ah_attr(const struct door_cm_id *id, const union ibv_gid *to,
		     struct ib_uverbs_ah_attr *attr);
/* Its ports are those of InfiniBand. */
bool door_cm_has_lids(const struct door_adapter *adapter);

/* --- the child of a fork, under door_cm_lock() ------------------------------------------------------------------- */

void door_cm_address_forked(void);
void door_cm_id_forked(void);
void door_cm_listen_forked(void);
void door_cm_follow_forked(void);

#endif /* DOOR_CM_INTERNAL_H */
