/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The event queue of a client (kal_events.c), and its nodes. Where an event is raised, no caller could get the status that
 * memory ran out. So its node is allocated earlier: a completion queue contains its node; connections, requests and queries
 * reserve the nodes for all their events when they begin (kal_cm_node_new). Asynchronous events allocate a node and fall back
 * on spare nodes of the client.
 */
#ifndef KAL_EVENTS_H
#define KAL_EVENTS_H

#include <stdbool.h>

#include "kal_call.h"

struct kal_client;
struct kal_cq;

/* Where a node goes when the client has taken its event. */
enum kal_node_home {
	KAL_NODE_HEAP = 0, /* freed */
	KAL_NODE_OWN,      /* part of a longer-lived object */
	KAL_NODE_SPARE     /* a spare node of the client */
};

struct kal_event_node {
	struct kal_event_node *next;
	bool queued;
	bool bare;     /* of KAL_EVENT_CM, without room for private data */
	uint8_t home;  /* enum kal_node_home */
	uint32_t kind; /* enum kal_event_kind */
	uint64_t ctx;
};

/* KAL_EVENT_ASYNC. */
struct kal_async_node {
	struct kal_event_node node;
	struct ri_async_event event;
};

/* KAL_EVENT_CM. Private data comes last: a bare node ends before it. */
struct kal_cm_node {
	struct kal_event_node node;
	struct kal_cm_event event;
};

/* An empty node from the heap; NULL: no memory. */
struct kal_cm_node *kal_cm_node_new(void);
/* A node for an event that never has private data. */
struct kal_cm_node *kal_cm_node_new_bare(void);
/* One that was not used, or NULL. */
void kal_cm_node_free(struct kal_cm_node *node);

/* Any thread. No function blocks. */
void kal_events_cq(struct kal_client *client, struct kal_cq *cq);
/* Takes the node over; its event and context are set. */
void kal_events_cm(struct kal_client *client, struct kal_cm_node *node);
void kal_events_async(struct kal_client *client, uint64_t ctx, const struct ri_async_event *event);
/* Tell the client that an event is queued. Not under a lock that its kick function takes. */
void kal_events_kick(struct kal_client *client);
/* A CQ is destroyed: its node leaves the queue. */
void kal_events_forget(struct kal_client *client, struct kal_event_node *node);
/* A QP, CQ or SRQ is destroyed: its events leave the queue. */
void kal_events_forget_ctx(struct kal_client *client, enum ri_object type, uint64_t ctx);
/* Is an event of its connection queued that the client has not taken yet? */
bool kal_events_pending_qp(struct kal_client *client, uint64_t ctx);
void kal_events_drop_all(struct kal_client *client);
/* Before its first event. */
void kal_events_init(struct kal_client *client);

#endif /* KAL_EVENTS_H */
