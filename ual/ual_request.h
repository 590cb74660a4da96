/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The table of connection requests, and of requests for datagram services. */
#ifndef UAL_REQUEST_H
#define UAL_REQUEST_H

#include "ual_ia.h"

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
	uint16_t peer_port; /* network order; 0: not known */
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
/* ual_request_take for a request for a datagram service. */
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

#endif /* UAL_REQUEST_H */
