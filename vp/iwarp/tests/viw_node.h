/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Plays the access layers for tests of the provider: opens adapters, makes objects through the tables
 * of RNIC-PI only, hands connected sockets to queue pairs, polls, and keeps what was raised. A test
 * that waits in vain aborts after 60 s.
 */
#ifndef VIW_NODE_H
#define VIW_NODE_H

#include <glib.h>
#include <pthread.h>

#include "viw_provider.h"
#include "vsw_test_host.h"

#define NODE_EVENTS 256

/* One adapter, opened by one process. */
struct node {
	struct vth *vth;
	const struct ri_provider *p;
	struct ri_upcalls upcalls;
	struct ri_rnic *rnic;
	struct ri_context *context;
	struct ri_urnic *urnic;
	struct ri_pd *pd;
	struct ri_srq *srq; /* of ends made while it is there, or NULL */
	struct ri_usrq *usrq;
	pthread_mutex_t lock; /* the two below */
	struct ri_async_event events[NODE_EVENTS];
	unsigned num_events;
};

/* A queue pair with two completion queues. */
struct end {
	struct node *node;
	struct ri_cq *scq, *rcq;
	struct ri_ucq *uscq, *urcq;
	struct ri_qp *qp;
	struct ri_uqp *uqp;
	struct ri_qp_init init;
};

/* Registered memory. */
struct chunk {
	struct node *node;
	struct ri_mr *mr;
	uint32_t stag;
	uint8_t *at;
	size_t len;
};

struct node *node_new(void);
void node_free(struct node *node);
/* How often `event` was raised for the queue pair of `end`. */
unsigned node_count(struct end *end, enum ri_event event);
/* How many events that end a connection were raised for it. */
unsigned node_ends(struct end *end);

/* From now on ends share receives: a queue of this size, whose context is the node. */
void node_share(struct node *node, uint32_t size);
/* No longer; no end uses it any more. */
void node_unshare(struct node *node);
/* Post to it, `len` octets of a chunk at `at`; SUCCESS is asserted. */
void node_post(struct node *node, uint64_t id, const struct chunk *c, size_t at, size_t len);

/* Defaults: 64 requests each, 4 segments, IRD and ORD 4, everything enabled. */
void end_defaults(struct ri_qp_init *init);
/* `init` NULL: the defaults. */
struct end *end_new(struct node *node, const struct ri_qp_init *init);
void end_free(struct end *end);
enum ri_qp_state end_state(struct end *end);
enum ri_status end_modify(struct end *end, enum ri_qp_state state);

/* A connected pair of TCP sockets. */
void tcp_pair(int fd[2]);
/* Hand a socket to an idle queue pair; reserves it first. */
enum ri_status end_attach(struct end *end, const struct ri_stream *stream);
/* CRC on, local peer. */
struct ri_stream end_stream(int fd, bool initiator);
/* Connect two ends as initiator and responder and wait until both are up. */
void ends_connect(struct end *a, struct end *b, bool crc);

struct chunk chunk_new(struct node *node, size_t len);
void chunk_free(struct chunk *chunk);
void chunk_fill(struct chunk *chunk, unsigned seed);

enum ri_status end_recv(struct end *end, uint64_t id, const struct chunk *c, size_t at, size_t len);
enum ri_status end_send(struct end *end, uint64_t id, const struct chunk *c, size_t at, size_t len);
enum ri_status end_write(struct end *end, uint64_t id, const struct chunk *from,
			 const struct chunk *to, size_t len);
enum ri_status end_read(struct end *end, uint64_t id, const struct chunk *into,
			const struct chunk *from, size_t len);

/* Wait for the next completion of the send or the receive queue. `other` is driven meanwhile. */
struct ri_wc end_wait(struct end *end, bool recv, struct end *other);
/* The same, and it must be a success of this request. */
struct ri_wc end_wait_ok(struct end *end, bool recv, uint64_t id, struct end *other);
/* Wait for an event of this end. */
void end_wait_event(struct end *end, enum ri_event event, struct end *other);
/* Make progress for both for about `ms`. */
void ends_run(struct end *a, struct end *b, unsigned ms);
/* Is a completion there now? Polls once. */
bool end_poll(struct end *end, bool recv, struct ri_wc *wc);

#endif /* VIW_NODE_H */
