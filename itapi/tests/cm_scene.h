/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Connections for tests: brings an endpoint into a chosen state, together with the peer that the state needs.
 */
#ifndef CM_SCENE_H
#define CM_SCENE_H

#include "it_pair.h"

/*
 * The states that an RC endpoint passes on its way through a connection; the state of a waiting conversion is not
 * among them.
 */
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
	struct end *end;           /* the endpoint that is in that state */
	struct end *peer;          /* its peer */
	it_cn_est_identifier_t id; /* ACTIVE1: at the peer; ACTIVE2: the arrival */
	int raw;                   /* a TCP socket in the role of the peer, or -1 */
};

/*
 * Bring one endpoint of the pair into that state. Both endpoints are new and no event is queued. False if this
 * adapter does not stay in that state long enough for a test.
 */
bool cm_scene_open(struct cm_scene *scene, struct pair *pair, enum cm_place place);
/* Free both endpoints and take their events. */
void cm_scene_close(struct cm_scene *scene);
/* The name of the state, for messages. */
const char *cm_place_name(enum cm_place place);
/* The state that it_ep_query reports. */
it_ep_state_rc_t cm_place_state(enum cm_place place);

/* The next connection request at the passive end. */
it_conn_request_event_t cm_request(struct pair *pair);
/* Connect in three ways and accept at the passive end; returns the event at the active end. */
it_connection_event_t cm_arrival(struct pair *pair);
/* Take both ESTABLISHED events. */
void cm_established(struct pair *pair);
/* The next event is a NONPEER_REJECT with that reason. */
void cm_expect_other(it_conn_reject_code_t reason);
void cm_expect_refused(it_evd_handle_t evd, it_conn_reject_code_t reason);
/* Drop all queued events. */
void cm_drain(it_evd_handle_t evd);
/* A second endpoint of an end, with the attributes end->attr. */
it_ep_handle_t cm_ep(struct end *end, it_ep_rc_creation_flags_t flags);
/* it_ep_connect on the pair's path, two-way, without private data. */
it_status_t cm_connect(struct pair *pair, it_ep_handle_t ep, const it_conn_qual_t *qual);

/* Private data that the tests recognize. */
void cm_fill(unsigned char *data, size_t length, unsigned int seed);
void cm_check_pdata(const unsigned char *got, size_t length, unsigned int seed);

/* A plain TCP connection to the pair's listener; -1 if the adapter does not run over TCP. */
int cm_raw_connect(const struct pair *pair);
/* Send an MPA Request of revision 2 that announces a ready-to-receive message. */
void cm_raw_request(int fd, unsigned int ird, unsigned int ord);

#endif /* CM_SCENE_H */
