/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Stands in for the access layers in tests of software providers: opens adapters, creates objects through the
 * tables of RNIC-PI only, posts, and records the events raised. Each function asserts success, except those that
 * return a status. How ends are connected, and how a test waits, depends on the provider: vem_node.h, viw_node.h.
 */
#ifndef VSW_NODE_H
#define VSW_NODE_H

#include <glib.h>
#include <pthread.h>

#include "rnicpi.h"
#include "vsw_test_host.h"

/* How long a test waits for what must come (us): a minute, or the seconds in ITAPI_TEST_PATIENCE. */
gint64 node_patience(void);
/* The end of such a wait that begins now (us, monotonic). */
gint64 node_deadline(void);

/* One adapter, opened by one process. */
struct node {
	struct vth *vth;
	bool threaded; /* the host; if it has no thread, the test is the service thread */
	const struct ri_provider *p;
	struct ri_rnic_attr attr;
	struct ri_upcalls upcalls;
	struct ri_rnic *rnic;
	struct ri_context *context;
	struct ri_urnic *urnic;
	struct ri_pd *pd;
	uint32_t requests;  /* end_defaults: of each queue */
	uint32_t entries;   /* end_new: of each completion queue */
	struct ri_srq *srq; /* the SRQ of ends that are created while it exists, or NULL */
	struct ri_usrq *usrq;
	pthread_mutex_t lock; /* privileged: of ends that are created later */
	GArray *cm;           /* struct ri_cm_event, not taken yet */
	GArray *async;        /* struct ri_async_event, not taken yet */
	unsigned cq_events;
	GPtrArray *gone; /* freed ends; kept so that no later end has the same address */
};

/* A queue pair with two completion queues; its context is its own address. */
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
	struct ri_mr *mr; /* NULL: already deregistered */
	uint32_t stag;
	uint8_t *at;
	size_t len;
};

/* Two adapters with an end each, and memory on both sides; what a test does not need is zero. */
struct ends {
	struct vth *vth; /* of both, where they share one */
	struct node *na, *nb;
	bool ib; /* whether they speak InfiniBand */
	struct end *a, *b;
	struct chunk ma, mb;
	struct ri_mw *mw; /* of nb */
	uint32_t mw_stag;
};

#define LOCAL_RW (RI_ACCESS_LOCAL_READ | RI_ACCESS_LOCAL_WRITE)
#define ALL_RW   (LOCAL_RW | RI_ACCESS_REMOTE_READ | RI_ACCESS_REMOTE_WRITE | RI_ACCESS_BIND)

/* For node_new and node_free of the provider's tests. */
struct node *node_open(const struct ri_provider *p, struct vth *vth, bool threaded,
		       const char *adapter);
/* With everything that still exists. */
void node_close(struct node **node);

/* Let the service thread work: run it, or wait a moment if it is a thread. */
void node_run(struct node *node);
/* The next connection event; must be of this kind for this context. */
struct ri_cm_event node_cm(struct node *node, enum ri_cm_event_kind kind, const void *ctx);
/* The next asynchronous event; must be this one. */
struct ri_async_event node_async(struct node *node, enum ri_event event, const void *ctx);
/* The next event is that of an error in the peer's request, as far as this transport distinguishes it. */
void node_fault(struct node *node, enum ri_event event, const void *ctx);
/* The peer was destroyed: BROKEN, and on iWARP a reset before it. */
void node_lost(struct node *node, const void *ctx);
/* No event is left that was not taken. */
void node_silent(struct node *node);
/* Drop the events that were not taken. */
void node_forget(struct node *node);
/* The number of events not taken for which `is` returns true. */
unsigned node_count_if(struct node *node, bool (*is)(const struct ri_async_event *, const void *),
		       const void *arg);

/* From now on ends share receives: an SRQ of this size, whose context is the node. */
void node_share(struct node *node, uint32_t size);
/* No longer; no end uses the SRQ any more. */
void node_unshare(struct node *node);
/* Post a receive of `len` bytes of a chunk, from offset `at` on, to it. */
void node_post(struct node *node, uint64_t id, const struct chunk *c, size_t at, size_t len);

/* Defaults: node->requests each, 4 segments, IRD and ORD 4, remote reads and writes enabled. */
struct ri_qp_init end_defaults(const struct node *node);
/* `init` NULL: the defaults. */
struct end *end_new(struct node *node, const struct ri_qp_init *init);
/* As end_new, with completion queues of this many entries. */
struct end *end_new_cq(struct node *node, const struct ri_qp_init *init, uint32_t entries);
void end_free(struct end **end);
enum ri_qp_state end_state(struct end *end);
struct ri_qp_attr end_attr(struct end *end);
enum ri_status end_modify(struct end *end, enum ri_qp_state state);

struct chunk chunk_new(struct node *node, size_t len, uint32_t access);
void chunk_free(struct chunk *chunk);
void chunk_fill(struct chunk *chunk, unsigned seed);
struct ri_sge chunk_sge(const struct chunk *chunk, size_t at, size_t len);

/*
 * The adapters are open: add connected ends with these attributes (NULL: the defaults), and memory
 * of this size. The memory of b has the rights `access`, that of a has these and ALL_RW.
 */
void ends_fill(struct ends *ends, const struct ri_qp_init *a, const struct ri_qp_init *b,
	       size_t len, uint32_t access);

/* Post; all are signalled. `sge` NULL: no bytes. */
void post_send(struct end *end, uint64_t id, const struct ri_sge *sge, uint32_t flags);
void post_recv(struct end *end, uint64_t id, const struct ri_sge *sge);
void post_rdma(struct end *end, enum ri_opcode opcode, uint64_t id, const struct ri_sge *local,
	       const struct ri_sge *remote);
/* The same by chunks; Writes and Reads use their beginnings. */
enum ri_status end_send(struct end *end, uint64_t id, const struct chunk *c, size_t at, size_t len);
enum ri_status end_recv(struct end *end, uint64_t id, const struct chunk *c, size_t at, size_t len);
enum ri_status end_write(struct end *end, uint64_t id, const struct chunk *from,
			 const struct chunk *to, size_t len);
/* A Write of 8 octets that makes no completion. */
void end_write_quiet(struct end *end, const struct chunk *from, const struct chunk *to);
/* Writes of 8 octets, numbered from 0, as many as the send queue has slots: what came before it has given all of them back. */
void end_fill(struct end *end, const struct chunk *from, const struct chunk *to);
enum ri_status end_read(struct end *end, uint64_t id, const struct chunk *into,
			const struct chunk *from, size_t len);

#endif /* VSW_NODE_H */
