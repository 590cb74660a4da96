/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The connection manager of one adapter: the state machines of RoCEv2's connections and datagram queries, without a socket, a
 * thread, a timer or a lock of its own. Datagrams and calls go in; datagrams, events and the next moment of time come out.
 *
 * The owner serializes all calls (one lock for each manager) and connects it to the world:
 *
 *     a datagram for QP1 came, its CRC, Q_Key and source QP are right   vrc_cm_receive
 *     the moment of vrc_cm_due has come                                 vrc_cm_expire
 *     after each of these and after each call                           vrc_cm_next until it is false, without the lock
 *                                                                       the upcalls; then the timer to vrc_cm_due
 *
 * A connection, a request and a query are named by a number, since any of them may end at any moment because of the
 * peer; a call with a number that is no longer valid returns RI_ERR_INVALID_HANDLE. The number of a request, cast to a
 * pointer, is its ri_request.
 *
 * Numbers, ids, transactions and first PSNs are drawn by ri_host::random. Memory is bounded by vrc_config.
 */
#ifndef VRC_CM_H
#define VRC_CM_H

#include "rnicpi.h"
#include "rnicpi_host.h"
#include "vrc_mad.h"

/* The longest private data of the owner in each message. A REQ and a SIDR_REQ of an IP port have 36 octets less. */
#define VRC_PDATA_CONNECT    56u /* RI_SERVICE_PORT; an RI_SERVICE_IB takes 92 */
#define VRC_PDATA_ACCEPT     196u
#define VRC_PDATA_REJECT     148u
#define VRC_PDATA_CONFIRM    224u
#define VRC_PDATA_DISCONNECT 220u
#define VRC_PDATA_QUERY      180u /* RI_SERVICE_PORT; an RI_SERVICE_IB takes 216 */
#define VRC_PDATA_ANSWER     136u

#define VRC_ACK_TIMEOUT 19u /* 2.1 s: what librdmacm gives to its queue pairs */

struct vrc_cm;
struct vrc_listen;

/* From now on the upper 6 bits of all ids are that slot: processes share the address (ri_share.h). */
void vrc_slot(struct vrc_cm *cm, uint32_t slot);

/* The addresses of a datagram, of this side and of the peer, both IPv4 or both IPv6, and the spigot. */
struct vrc_path {
	struct ri_addr local;
	struct ri_addr peer;
	uint32_t port;
};

struct vrc_config {
	const struct ri_host *host; /* now and random are used; borrowed */
	/* Send 256 octets from QP1 to QP1 of the peer (Q_Key 0x80010000). They may be lost. It calls nothing of the manager. */
	void (*send)(void *self, const struct vrc_path *path, const uint8_t *octets);
	void *self;        /* for send */
	uint64_t guid;     /* of the channel adapter; 0: draw one */
	uint32_t path_mtu; /* the largest of this side: 256, 512, 1024, 2048 or 4096 octets */
	uint8_t ack_delay; /* code 0 to 31: how long the queue pairs of this side take to acknowledge */
	uint32_t
		max_requests; /* unanswered requests of all listeners; as many again that were rejected are remembered */
	uint32_t max_conns; /* everything: connections, attempts, time-waits, requests, queries */
	uint8_t tag; /* the highest octet of every number: the owner of several managers finds one by it */
};

/* Parameters of connect, accept and resolve; borrowed for the call. */
struct vrc_params {
	struct vrc_path path; /* connect, resolve: both addresses are set */
	struct ri_service
		service; /* connect, resolve; RI_SERVICE_PORT with local_port 0: one is drawn */
	uint64_t ctx;    /* comes back in events */
	uint32_t qpn;    /* connect, accept: the queue pair of this side */
	uint32_t mtu;    /* connect: octets of a packet, at most vrc_config::path_mtu */
	uint32_t ird;    /* connect, accept: Reads that this side serves, at most 255 */
	uint32_t ord;    /* connect, accept: Reads that this side has outstanding, at most 255 */
	uint8_t retry_count; /* connect: of both queue pairs, at most 7 */
	uint8_t rnr_retry;   /* connect, accept: of the peer's queue pair, at most 7 */
	uint8_t ack_timeout; /* connect: of both queue pairs, a code below 32; 0: VRC_ACK_TIMEOUT */
	uint8_t traffic_class; /* connect */
	uint8_t hop_limit;     /* connect; 0: 64 */
	bool srq;              /* connect, accept: the queue pair has a shared receive queue */
	bool three_way;        /* connect: vrc_confirm ends the set-up */
	uint64_t
		deadline; /* when the attempt or the query fails: ns of ri_host::now; 0 or RI_NEVER: never */
	const void *pdata;
	uint16_t pdata_len;
};

/*
 * An event. In REQUEST, REPLY and ESTABLISHED `cm.reach` has everything that a queue pair needs to
 * reach the peer: its number, both first PSNs, MTU, depths (from the view of this side), time-out,
 * retries, path.
 */
struct vrc_event {
	uint64_t number; /* the connection, request or query */
	void *owner;     /* of a request: vrc_listen_own; else NULL */
	uint16_t
		status; /* REJECTED, FAILED: the reason of the peer's REJ, or 0; SERVICE_REPLY: the status on the wire */
	bool time_wait; /* an end: RI_CM_TIME_WAIT_OVER will follow */
	struct ri_cm_event cm;
};

struct vrc_counts {
	uint64_t received;                 /* datagrams */
	uint64_t refused[VRC_FOUND_COUNT]; /* no CM messages, by what is wrong */
	uint64_t strays;                   /* messages for nobody */
	uint64_t unanswered;               /* of these, beyond the rate of answers */
	uint64_t rejected;                 /* requests that the manager rejected itself */
	uint32_t conns;                    /* that exist now, of all kinds */
	uint32_t requests;                 /* that wait for an answer now */
};

/* --- the owner's side of the world -------------------------------------------------------- */

/* NULL: no memory. */
struct vrc_cm *vrc_cm_new(const struct vrc_config *config);
/* Tell every peer once (DREQ, REJ) and free all, listeners too. */
void vrc_cm_free(struct vrc_cm *cm);
/* A datagram from QP1 of a peer. */
void vrc_cm_receive(struct vrc_cm *cm, const struct vrc_path *path, const void *octets, size_t len);
/* When vrc_cm_expire is to be called: ns of ri_host::now, or RI_NEVER. */
uint64_t vrc_cm_due(const struct vrc_cm *cm);
void vrc_cm_expire(struct vrc_cm *cm);
/* Take the next event; false: there is none. */
bool vrc_cm_next(struct vrc_cm *cm, struct vrc_event *event);
/* Is there one? */
bool vrc_cm_has_next(const struct vrc_cm *cm);
void vrc_cm_counts(const struct vrc_cm *cm, struct vrc_counts *counts);

/* --- calls --------------------------------------------------------------------------------- */

/*
 * Listen. A port or id of 0 means any; the chosen one is written back. A port serves requests for connections (TCP's port space)
 * and queries (UDP's).
 * RI_ERR_INVALID_ARG: the kind is unknown; RI_ERR_IN_USE; RI_ERR_RESOURCES: no memory, no port.
 */
enum ri_status vrc_listen(struct vrc_cm *cm, uint64_t ctx, struct ri_service *service,
			  uint32_t backlog, struct vrc_listen **out);
/* Is there a listener, but that one, which hears requests or queries of that id? */
bool vrc_listen_serves(const struct vrc_cm *cm, uint64_t service_id, const struct vrc_listen *but);
/* What vrc_event::owner of its requests is, from now on, also when the listener is gone. */
void vrc_listen_own(struct vrc_listen *listen, void *owner);
/* Reject the requests and queries of an owner that goes; no event names it any more. */
void vrc_disown(struct vrc_cm *cm, const void *owner);
/* Requests that were taken stay, with ctx 0 in their later events; the others are rejected. */
void vrc_listen_free(struct vrc_cm *cm, struct vrc_listen *listen);

/*
 * Send a REQ. RI_CM_REPLY (three-way), RI_CM_ESTABLISHED, RI_CM_REJECTED or RI_CM_FAILED follows.
 * RI_ERR_INVALID_ARG: a value outside its range, too much private data, the service; RI_ERR_LIMIT: a depth; RI_ERR_RESOURCES.
 */
enum ri_status vrc_connect(struct vrc_cm *cm, const struct vrc_params *params, uint64_t *number);
/*
 * Send a REP; the queue pair can receive before this call. RI_CM_ESTABLISHED or RI_CM_FAILED (RI_CM_REJECTED: the peer refuses
 * the REP) follows. RI_ERR_INVALID_HANDLE: the request is gone; others as of connect.
 */
enum ri_status vrc_accept(struct vrc_cm *cm, uint64_t number, const struct vrc_params *params);
/* What vrc_event::cm.reach said, or will say, of an exchange; false: it is gone. */
bool vrc_reach(const struct vrc_cm *cm, uint64_t number, struct ri_peer *reach);
/* Send a REJ. RI_ERR_INVALID_HANDLE, RI_ERR_INVALID_ARG: too much private data. */
enum ri_status vrc_reject(struct vrc_cm *cm, uint64_t number, enum ri_cm_reason reason,
			  const void *pdata, uint16_t len);
/*
 * After RI_CM_REPLY: send the RTU, RI_CM_ESTABLISHED follows; or a REJ, no event follows but RI_CM_TIME_WAIT_OVER.
 * RI_ERR_INVALID_HANDLE, RI_ERR_INVALID_STATE, RI_ERR_INVALID_ARG: too much private data.
 */
enum ri_status vrc_confirm(struct vrc_cm *cm, uint64_t number, bool accept, const void *pdata,
			   uint16_t len);
/*
 * End an attempt or a connection; one RI_CM_DISCONNECTED follows, unless another end was raised before.
 * RI_ERR_INVALID_HANDLE, RI_ERR_INVALID_STATE: it ends; RI_ERR_INVALID_ARG: too much private data.
 */
enum ri_status vrc_disconnect(struct vrc_cm *cm, uint64_t number, const void *pdata, uint16_t len);
/* The queue pair failed or is destroyed, or the query is withdrawn: the peer is notified, and no event names it any more. */
void vrc_abandon(struct vrc_cm *cm, uint64_t number);
/* A packet came for the queue pair of an accepted request: the peer has the REP, its RTU was lost or is late. */
void vrc_data_arrived(struct vrc_cm *cm, uint64_t number);

/* Ask for the queue pair of a datagram service. One RI_CM_SERVICE_REPLY follows. Results as of connect. */
enum ri_status vrc_resolve(struct vrc_cm *cm, const struct vrc_params *params, uint64_t *number);
/* RI_ERR_INVALID_HANDLE; RI_ERR_INVALID_ARG: too much private data, no such status, no such queue pair. */
enum ri_status vrc_answer(struct vrc_cm *cm, uint64_t number,
			  const struct ri_service_answer *answer);

#endif /* VRC_CM_H */
