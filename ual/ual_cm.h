/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Connections, seen from inside ual/: connection requests under their identifiers, listeners. What
 * itapi/ calls is in ual.h; what dispatch calls (ual_cm_event) in ual_ia.h.
 */
#ifndef UAL_CM_H
#define UAL_CM_H

#include "ual_ep.h"
#include "ual_ia.h"

struct ual_pdata;

/* A connection request, a request for a datagram service, or an accept that awaits our answer (three-way). */
struct ual_request {
	struct ual_request *next;  /* table of requests */
	struct ual_request *after; /* a listener's list of those to refuse */
	it_cn_est_identifier_t id; /* unique in the process, never 0, never used again */
	struct ual_ia *ia;
	uint64_t ep;     /* accept: context of the endpoint; request: 0 */
	uint32_t kal_id; /* request: its kAL id; accept: 0 */
	bool service;    /* a request for a datagram service */
	bool busy;       /* a call is answering it */
	bool gone;       /* it ended while a call was answering it */
	bool awaited;    /* arrival: the accept has not come, so that no call can answer it yet */
	uint32_t port;   /* request: spigot it came in on */
	struct ri_addr peer;
	struct ri_addr local;
};

/*
 * Enter a request; NULL: no memory. All members but next, id and the flags are copied from what. The table has an event
 * lock of its own; dispatch may call this.
 */
struct ual_request *ual_request_add(const struct ual_request *what);
/* The accept that an arrival stands for has come. */
void ual_request_came(it_cn_est_identifier_t id);
/*
 * Take a connection request for one call; NULL: there is none, it has ended, or another call has it.
 * Its adapter stays entered until the request is given back or used.
 */
struct ual_request *ual_request_take(it_cn_est_identifier_t id);
/* The same for requests for datagram services. */
struct ual_request *ual_request_take_service(it_ud_svc_req_identifier_t id);
/* The call failed: the id stays valid, unless the request has ended meanwhile. */
void ual_request_give_back(struct ual_request *request);
/* The call consumed it. */
void ual_request_used(struct ual_request *request);
/* The kAL reported the end of a request. */
void ual_request_gone(const struct ual_ia *ia, uint32_t kal_id);
/* Make the id invalid; 0 is allowed. */
void ual_request_forget(it_cn_est_identifier_t id);
/* The adapter is being freed: make all its ids invalid. */
void ual_request_forget_all(const struct ual_ia *ia);

/* A request for which there was no memory; it is still to be refused. */
struct ual_unkept {
	uint32_t kal_id;
	bool service;
};

#define UAL_UNKEPT_MAX 16u /* more than these are not refused, and end by a timeout of the kAL */

struct ual_listen {
	struct ual_object object;
	uint32_t kal_id;
	uint32_t spigot;
	struct ual_evd *evd;
	it_conn_qual_t qual;

	/* Requests that the task refuses, since the EVD was full or there was no memory. */
	struct ri_task refuse;
	pthread_mutex_t lock; /* event lock of what follows */
	struct ual_request *refused;
	unsigned unkept_count;
	struct ual_unkept unkept[UAL_UNKEPT_MAX];
};

_Static_assert(sizeof(struct ual_listen) <= UAL_SLOT_SIZE, "a listener fits its slot");

/* KAL_CM_REQUEST, KAL_CM_SERVICE_REQUEST: post the event, or have the request refused. Called by dispatch. */
void ual_listen_request(struct ual_ia *ia, const struct kal_event *ev);

/* Check private data; `limit`: the most that the message can have [IT 9.3]. */
it_status_t ual_cm_check_pdata(const struct ual_ia *ia, const struct ual_pdata *pdata,
			       size_t limit);

/* A call that was to begin a connection failed: restore the state of the endpoint. */
void ual_cm_undo(struct ual_ep *ep);
/* A socket is about to be converted; if that fails, call ual_cm_undo. */
void ual_cm_converting(struct ual_ep *ep);
/* It was converted. If the endpoint is connected already, the kAL's event may come before or after this call. */
void ual_cm_converted(struct ual_ep *ep, const struct kal_convert_rep *rep);

#endif /* UAL_CM_H */
