/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What the parts of the manager share: the exchange, the listener, the manager. Nothing here is for the owner. */
#ifndef VRC_CONN_H
#define VRC_CONN_H

#include <stddef.h>

#include "vrc_cm.h"
#include "vrc_mad.h"
#include "vrc_states.h"

#define VRC_PENDING_MAX \
	4 /* events of one exchange that the owner has not taken; vrc_actions.c says why */

#define VRC_RNR_TIMER 12 /* code: 0.64 ms; no message has it */

struct vrc_link {
	struct vrc_link *next;
	struct vrc_link *prev;
};

#define VRC_OF(link_, type_, member_) ((type_ *)(void *)((char *)(link_)-offsetof(type_, member_)))

static inline void
vrc_link_init(struct vrc_link *head)
{
	head->next = head->prev = head;
}

static inline bool
vrc_link_is_empty(const struct vrc_link *head)
{
	return head->next == head;
}

static inline void
vrc_link_append(struct vrc_link *head, struct vrc_link *link)
{
	link->prev = head->prev;
	link->next = head;
	head->prev->next = link;
	head->prev = link;
}

/* Also one that is in no list. */
static inline void
vrc_link_remove(struct vrc_link *link)
{
	if (link->next == NULL)
		return;
	link->prev->next = link->next;
	link->next->prev = link->prev;
	link->next = link->prev = NULL;
}

struct vrc_listen {
	struct vrc_link link;
	uint64_t ctx;
	struct ri_service service;
	void *owner;
	uint32_t backlog;
	uint32_t waiting; /* unanswered requests */
};

/* One exchange of messages: a connection or an attempt, of either side, or a query. */
struct vrc_conn {
	struct vrc_link all;
	struct vrc_link by_id;   /* hash chains */
	struct vrc_link by_peer; /* passive: of the peer's id and address */
	struct vrc_link by_qp;   /* of the peer's queue pair, once that is known */
	struct vrc_link ready;   /* has events */
	struct vrc_cm *cm;
	enum vrc_state state;
	bool active;
	bool datagram;  /* a query */
	bool three_way; /* active: the owner confirms */
	bool told;      /* passive: the owner has taken the request */
	bool silent;    /* abandoned: raise nothing */
	bool ended;     /* its end was raised */
	bool mra_sent;  /* passive: a copy of the request was answered so */
	bool counted;   /* in vrc_cm::requests, and vrc_listen::waiting */
	bool srq;

	uint64_t number; /* for the owner */
	uint64_t ctx;
	void *owner;               /* of a request: that of its listener */
	struct vrc_listen *listen; /* an unanswered request; NULL: the listener is gone */
	struct vrc_path path;
	struct ri_service service;
	uint64_t service_id;

	uint32_t local_id; /* of a query: the request id, of either side */
	uint32_t remote_id;
	uint64_t tid;      /* of the set-up */
	uint64_t dreq_tid; /* of the DREQ that this side has sent */
	uint64_t guid;     /* of the peer's adapter */
	uint32_t qpn;      /* of this side */
	uint8_t peer_time; /* code: how long the peer lets this side take to answer */
	uint8_t peer_retries;

	uint64_t due; /* RI_NEVER: no timer */
	uint64_t deadline;
	uint64_t wait; /* ns between copies */
	uint8_t copies_left;
	size_t heap_at; /* place among the timers; SIZE_MAX: none */

	uint8_t pending[VRC_PENDING_MAX]; /* enum ri_cm_event_kind */
	uint8_t pending_count;
	uint16_t status; /* of the peer's REJ, or of its SIDR_REP */
	enum ri_cm_reason reason;
	struct ri_peer reach;
	uint32_t peer_ird;
	uint32_t peer_ord;
	uint32_t service_qpn;
	uint32_t service_qkey;
	uint16_t heard_len; /* private data of the REQ, REP, RTU, SIDR_REQ or SIDR_REP */
	uint16_t parting_len;
	uint8_t heard[VRC_PRIVATE_MAX];
	uint8_t parting[VRC_PRIVATE_MAX]; /* of the REJ or the DREQ */
	uint8_t last[VRC_MAD_SIZE];       /* the message that is repeated */
	uint16_t last_attribute;          /* 0: none */
};

#define VRC_HELD_MAX  16u
#define VRC_HELD_TIME UINT64_C(1000000000) /* ns */

/* A service whose listener was closed. */
struct vrc_closed {
	uint64_t service_id;
	uint64_t until; /* its requests are held */
};

/* A REQ that waits for a listener; vrc_held.c. */
struct vrc_held {
	struct vrc_path path;
	struct vrc_mad mad;
	uint64_t until; /* 0: the place is free */
};

struct vrc_cm {
	struct vrc_config config;
	struct vrc_link all;
	struct vrc_link ready;
	struct vrc_link listens;
	struct vrc_link *chains[3]; /* by_id, by_peer, by_qp; chain_mask + 1 each */
	size_t chain_mask;
	uint64_t seed; /* of the hash */
	uint32_t serial;
	uint32_t id_mask;       /* the bits of ids that are not drawn ... */
	uint32_t id_slot;       /* ... but these */
	struct vrc_conn **heap; /* timers, the earliest first; config.max_conns places */
	size_t heap_count;
	uint32_t remembered;     /* exchanges in ANSWERED */
	uint64_t answers_second; /* answers to strays are counted in it */
	uint32_t answers_sent;
	struct vrc_counts counts;
	struct vrc_closed closed[VRC_HELD_MAX];
	struct vrc_held held[VRC_HELD_MAX];
};

/* What a step is about. */
struct vrc_input {
	const struct vrc_mad *mad; /* a message of the peer */
	const void *pdata;         /* a call's */
	uint16_t pdata_len;
};

/* --- vrc_table.c: exchanges and their timers ------------------------------------------------ */

/* A new one in state NEW, in no chain but by_id; NULL: max_conns exist, or no memory. */
struct vrc_conn *vrc_conn_new(struct vrc_cm *cm, const struct vrc_path *path);
void vrc_conn_free(struct vrc_conn *conn);
void vrc_conn_peer_known(struct vrc_conn *conn); /* remote_id and path are set */
void vrc_conn_qp_known(struct vrc_conn *conn);   /* reach.qpn and guid are set */
struct vrc_conn *vrc_find_number(const struct vrc_cm *cm, uint64_t number);
/* By the id of this side; its addresses must be those of the path. */
struct vrc_conn *vrc_find_id(const struct vrc_cm *cm, uint32_t id, const struct vrc_path *path);
/* A passive one by the id of the peer. */
struct vrc_conn *vrc_find_peer(const struct vrc_cm *cm, uint32_t remote_id, bool datagram,
			       const struct vrc_path *path);
/* One whose peer has that queue pair and is, or lately was, connected by it. */
struct vrc_conn *vrc_find_qp(const struct vrc_cm *cm, uint32_t qpn, uint64_t guid,
			     const struct vrc_path *path);
bool vrc_table_create(struct vrc_cm *cm);
void vrc_table_free(struct vrc_cm *cm);
/* The exchange's due or deadline has changed. */
void vrc_timer_update(struct vrc_conn *conn);
uint64_t vrc_now(const struct vrc_cm *cm);
void vrc_random(const struct vrc_cm *cm, void *buf, size_t len);

/* --- vrc_actions.c ------------------------------------------------------------------------- */

bool vrc_step_allowed(const struct vrc_conn *conn, enum vrc_step step);
/* The only writer of vrc_conn::state. False: it means nothing there. The exchange may be freed. */
bool vrc_step(struct vrc_conn *conn, enum vrc_step step, const struct vrc_input *in);
/* The owner has taken its last event, or has abandoned it: free it if it is over. */
void vrc_conn_settle(struct vrc_conn *conn);

/* The code of a queue pair's time to acknowledge, within the limits in which a peer is believed. */
uint8_t vrc_ack_time(uint8_t code);

/* --- vrc_compose.c: messages --------------------------------------------------------------- */

void vrc_compose_req(struct vrc_conn *conn, const struct vrc_params *params);
void vrc_compose_rep(struct vrc_conn *conn, const struct vrc_params *params, uint32_t psn);
void vrc_compose_rtu(struct vrc_conn *conn, const struct vrc_input *in);
void vrc_compose_dreq(struct vrc_conn *conn, const struct vrc_input *in);
void vrc_compose_drep(struct vrc_conn *conn, uint64_t tid);
void vrc_compose_rej(struct vrc_conn *conn, uint16_t reason, const struct vrc_input *in);
void vrc_compose_sidr_req(struct vrc_conn *conn, const struct vrc_params *params);
void vrc_compose_sidr_rep(struct vrc_conn *conn, const struct ri_service_answer *answer);
/* Send the last one composed. */
void vrc_conn_send(struct vrc_conn *conn);
void vrc_send_mra(struct vrc_conn *conn, enum vrc_about about);
/* A REJ for a message that no exchange belongs to. */
void vrc_send_rej(struct vrc_cm *cm, const struct vrc_path *path, const struct vrc_mad *about,
		  const struct vrc_mad_rej *rej);
void vrc_send_mad(struct vrc_cm *cm, const struct vrc_path *path, const struct vrc_mad *mad);
/* The code of a path MTU in octets, 1 to 5; 0: none. */
uint8_t vrc_mtu_code(uint32_t octets);

/* --- vrc_request.c, vrc_listen.c ------------------------------------------------------------ */

void vrc_request_receive(struct vrc_cm *cm, const struct vrc_path *path, const struct vrc_mad *mad);
/* Give it to its listener, or refuse it. */
void vrc_request_decide(struct vrc_cm *cm, const struct vrc_path *path, const struct vrc_mad *mad);
void vrc_query_receive(struct vrc_cm *cm, const struct vrc_path *path, const struct vrc_mad *mad);
struct vrc_listen *vrc_listen_find(const struct vrc_cm *cm, uint64_t service_id, bool datagram);
/* A request is answered or over: it does not count any more. */
void vrc_request_uncount(struct vrc_conn *conn);

/* --- vrc_held.c: requests that wait for a listener ------------------------------------------- */

/* The listener of a service goes, or is there. */
void vrc_held_closed(struct vrc_cm *cm, uint64_t service_id);
void vrc_held_opened(struct vrc_cm *cm, uint64_t service_id);
/* A REQ meets no listener. False: there was none lately, or too many wait; refuse it. */
bool vrc_held_take(struct vrc_cm *cm, const struct vrc_path *path, const struct vrc_mad *mad);
/* A REJ of a peer that has no answer to its REQ. False: that request is not held. */
bool vrc_held_withdraw(struct vrc_cm *cm, const struct vrc_path *path, const struct vrc_mad *rej);
uint64_t vrc_held_due(const struct vrc_cm *cm);
/* Those that wait no longer are decided. */
void vrc_held_expire(struct vrc_cm *cm, uint64_t now);

#endif /* VRC_CONN_H */
