/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * What the examples of the reference pages share: two sides of a connection, which here live in one process,
 * and the wait for an event.
 */
#ifndef CALLS_H
#define CALLS_H

#define ITAPI_ENABLE_V21_BINDINGS
#include <stddef.h>
#include <stdint.h>

#include "it_api.h"
#include "it_ext.h"

#define PATIENCE 60000000 /* us; far longer than any step takes */
#define SLOT     64       /* bytes of one receive */
#define SLOTS    4

/* Ends the program with the name of the call, unless the call succeeded. */
#define MUST(call) must((call), #call)
void must(it_status_t status, const char *call);
/* Ends the program with this text, unless the condition holds. */
#define HOLDS(condition) holds((condition) ? IT_TRUE : IT_FALSE, #condition)
void holds(it_boolean_t condition, const char *text);

/* One side and everything that it needs. */
struct side {
	it_ia_handle_t ia;
	it_ia_info_t *info;
	it_pz_handle_t pz;
	it_evd_handle_t request_evd; /* completions of requests */
	it_evd_handle_t recv_evd;    /* completions of receives */
	it_evd_handle_t cm_evd;      /* events of its connection */
	it_lmr_handle_t lmr;         /* all of memory */
	it_rmr_context_t context;
	it_srq_handle_t srq; /* of the server */
	it_ep_handle_t ep;
	/* For data; 8 bytes for atomics come first. */
	struct {
		uint64_t counter;
		char text[248];
		char receives[SLOTS][SLOT];
	} memory;
};

/* What the server sends to the client: where its window is; numbers in network order. */
struct grant {
	uint64_t context;
	uint64_t counter; /* addresses in the window */
	uint64_t text;
};

/* The next event of this EVD, which must have that number. */
it_event_t event_expect(it_evd_handle_t evd, it_event_type_t wanted);
/* The next completion of this EVD, which must have that number and be a success. */
it_event_t completion_expect(it_evd_handle_t evd, it_event_type_t wanted);
/* A segment of the side's memory. */
it_lmr_triplet_t segment_of(const struct side *side, void *start, size_t length);

/* calls_data.c: what a connection carries. Both endpoints are connected. */
void receives_post(struct side *server);
void receive_post(struct side *side, int slot, it_dto_cookie_t cookie);
void data_exchange(struct side *client, struct side *server);

/* calls_flow.c: credits, heart-beats, a window that the peer gives back. Both endpoints are connected. */
void flow_show(struct side *client, struct side *server);

/* calls_dmabuf.c: memory of another device, if the adapter can register it. */
void exported_show(const struct side *side);

/* calls_event.c: events of the application, and ways to learn of events. */
void events_show(it_ia_handle_t ia);

/* calls_datagram.c: a datagram from the client to the server, which listens for `service`. */
void datagrams_exchange(struct side *client, struct side *server, it_evd_handle_t requests,
			const it_conn_qual_t *service, const it_path_t *path);

#endif /* CALLS_H */
