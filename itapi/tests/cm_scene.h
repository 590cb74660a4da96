/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Connections for tests: an endpoint in a state of one's choice, with what its peer needs around it.
 */
#ifndef CM_SCENE_H
#define CM_SCENE_H

#include "it_pair.h"

/* States of an RC endpoint that a connection goes through; the wait of a conversion is elsewhere. */
enum cm_place {
	CM_UNCONNECTED = 0,
	CM_ACTIVE1,
	CM_ACTIVE2,
	CM_PASSIVE,
	CM_CONNECTED,
	CM_NONOPERATIONAL,
	CM_PLACES
};

struct cm_scene {
	struct pair *pair;
	enum cm_place place;
	struct end *end;           /* whose endpoint is in that state */
	struct end *peer;          /* the other one */
	it_cn_est_identifier_t id; /* ACTIVE1: at the peer; ACTIVE2: the arrival */
	int raw;                   /* a TCP socket that plays the peer, or -1 */
};

/*
 * Bring one endpoint of the pair there; both endpoints are new, no event waits. False: with this
 * adapter no test can hold that state.
 */
bool cm_scene_open(struct cm_scene *scene, struct pair *pair, enum cm_place place);
/* Free both endpoints; their events are gone. */
void cm_scene_close(struct cm_scene *scene);
/* Name, for messages. */
const char *cm_place_name(enum cm_place place);
/* The state as the application sees it. */
it_ep_state_rc_t cm_place_state(enum cm_place place);

/* The next request at the passive end. */
it_conn_request_event_t cm_request(struct pair *pair);
/* Start to connect in three ways, accept; answers the arrival's event. */
it_connection_event_t cm_arrival(struct pair *pair);
/* Take both ESTABLISHED events. */
void cm_established(struct pair *pair);
/* A NONPEER_REJECT of that reason is the next event. */
void cm_expect_refused(it_evd_handle_t evd, it_conn_reject_code_t reason);
/* Throw away what is queued. */
void cm_drain(it_evd_handle_t evd);
/* A second endpoint of an end, attributes as end->attr. */
it_ep_handle_t cm_ep(struct end *end, it_ep_rc_creation_flags_t flags);
/* it_ep_connect over the pair's path, in two ways, without data. */
it_status_t cm_connect(struct pair *pair, it_ep_handle_t ep, const it_conn_qual_t *qual);

/* Octets that tell whether they arrived. */
void cm_fill(unsigned char *data, size_t length, unsigned int seed);
void cm_check_pdata(const unsigned char *got, size_t length, unsigned int seed);

/* A raw TCP connection to the pair's listener, -1: there is no TCP below. */
int cm_raw_connect(const struct pair *pair);
/* Send a Request of MPA revision 2, which promises a ready-to-receive message. */
void cm_raw_request(int fd, unsigned int ird, unsigned int ord);

#endif /* CM_SCENE_H */
