/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef CERT_NODE_H
#define CERT_NODE_H

/**
 * @file cert_node.h
 * @brief The access layer of a case: adapters, queue pairs, memory and events, through the tables of RNIC-PI alone.
 *
 * A case that needs something else than the helpers do calls the tables itself: they are in cert_node::p. The helpers
 * expect that each creation succeeds. Upcalls are recorded; one that breaks a rule fails the case at its end: inside a
 * control verb (CERT_VERB), for an object that is destroyed or was never created, after the close of the adapter.
 */

#include "cert_case.h"

/** One adapter, opened by one process. */
struct cert_node {
	struct cert *cert;
	const struct ri_provider *p; /**< cert_provider() */
	struct ri_rnic_attr attr;
	struct ri_rnic *rnic;
	struct ri_context *context;
	struct ri_urnic *urnic;
	struct ri_pd *pd;
	struct cert_upcalls *upcalls; /**< What was raised; see below. */
	GPtrArray *ends;              /**< struct cert_end */
	GPtrArray *regions;           /**< struct cert_region */
};

/** A queue pair with two completion queues. */
struct cert_end {
	struct cert_node *node;
	uint64_t ctx; /**< Of the queue pair; unique in the process. */
	uint64_t scq_ctx, rcq_ctx;
	struct ri_cq *scq, *rcq;
	struct ri_ucq *uscq, *urcq;
	struct ri_qp *qp;
	struct ri_uqp *uqp;
	struct ri_qp_init init; /**< As reported by the creation. */
};

/** Registered memory of the case. */
struct cert_region {
	struct cert_node *node;
	struct ri_mr *mr; /**< NULL: deregistered already. */
	uint32_t stag;
	uint8_t *at;
	size_t length;
	uint8_t *
		block; /**< What was allocated: the memory between two guards, see cert_region_guards(). */
};

#define CERT_LOCAL (RI_ACCESS_LOCAL_READ | RI_ACCESS_LOCAL_WRITE)
#define CERT_ALL   (CERT_LOCAL | RI_ACCESS_REMOTE_READ | RI_ACCESS_REMOTE_WRITE | RI_ACCESS_BIND)

/** Opens the adapter with a context, its user half and a protection domain. */
struct cert_node *cert_node_open(struct cert *cert);
/** Closes it; what was created through the helpers and still exists is destroyed before. */
void cert_node_close(struct cert_node *node);

/** @name Contexts of objects that a case creates itself
 * @{ */
/** A context that no object had; upcalls may name it from now on. @p kind is what has it. */
uint64_t cert_ctx_new(struct cert_node *node, enum ri_object kind);
/** The object is destroyed: upcalls that name the context are a fault. */
void cert_ctx_gone(struct cert_node *node, uint64_t ctx);
/** @} */

/** @name Queue pairs
 * @{ */
/** 16 requests and receives, up to 4 segments, IRD and ORD up to 4, remote reads and writes and binds enabled. */
struct ri_qp_init cert_end_defaults(const struct cert_node *node);
/** @p init NULL: the defaults. Its ctx is set here. */
struct cert_end *cert_end_new(struct cert_node *node, const struct ri_qp_init *init);
void cert_end_free(struct cert_end *end);
/** Destroys the queue pair alone. Its completion queues stay until cert_end_free(), and can be polled. */
void cert_end_drop(struct cert_end *end);
struct ri_qp_attr cert_end_attr(struct cert_end *end);
/** Modifies the state alone; any status. */
enum ri_status cert_end_move(struct cert_end *end, enum ri_qp_state state);
/** Connects two ends by a form that the adapter has, and waits until both are established. */
void cert_connect(struct cert_end *a, struct cert_end *b);
/** The first address of the adapter's first spigot. */
struct ri_addr cert_address(struct cert_node *node);
/** Any free service of the kind that the adapter listens on. */
struct ri_service cert_service(const struct cert_node *node);
/** For a connect or an accept of @p end with its own IRD and ORD; no deadline. */
struct ri_cm_params cert_params(struct cert_end *end, struct cert_node *peer,
				const struct ri_service *service);
/* The private data of an event has that length; over InfiniBand there may be zeros behind it. */
void cert_private_length(struct cert *cert, const struct ri_cm_event *event, uint32_t length);
/** Two connected TCP sockets for ri_llp_ops::attach_stream; they are the caller's. */
void cert_tcp_pair(struct cert *cert, int fds[2]);
/** Ends the connection in an orderly way from @p a, and waits until both ends are told. */
void cert_disconnect(struct cert_end *a, struct cert_end *b);
/** Waits until the connection of the end is over, which it must be before the patience ends. */
void cert_wait_end(struct cert_end *end);
/** Waits until the queue pair tells that all is completed; a thread that works on it may be on its way out. */
void cert_wait_quiescent(struct cert_end *end);
/** @} */

/** @name Memory
 * @{ */
struct cert_region *cert_region_new(struct cert_node *node, size_t length, uint32_t access);
/** In another protection domain. */
struct cert_region *cert_region_new_in(struct cert_node *node, struct ri_pd *pd, size_t length,
				       uint32_t access);
void cert_region_free(struct cert_region *region);
/**
 * Expects that no octet close to the region has changed, in front of it or behind it. The frame does it for each region
 * when the region is freed or its node is closed; a case calls this itself only to show which step changed them.
 */
void cert_region_guards(const struct cert_region *region);
/** A pattern that depends on @p seed and the position. */
void cert_fill(void *at, size_t length, uint32_t seed);
/** Expects that pattern. */
void cert_expect_fill(struct cert *cert, const char *what, const void *at, size_t length,
		      uint32_t seed);
struct ri_sge cert_sge(const struct cert_region *region, size_t at, size_t length);
/** @} */

/** @name Work; every request is signalled and expected to be taken
 * @{ */
void cert_post_send(struct cert_end *end, uint64_t id, const struct ri_sge *sgl, unsigned segments,
		    uint32_t flags);
void cert_post_recv(struct cert_end *end, uint64_t id, const struct ri_sge *sgl, unsigned segments);
/** A Write or a Read; of @p remote only address and STag are used. */
void cert_post_rdma(struct cert_end *end, enum ri_opcode opcode, uint64_t id,
		    const struct ri_sge *local, const struct ri_sge *remote);
/** Anything. */
void cert_post(struct cert_end *end, const struct ri_wr *wr);
/** The next completion of the send or receive side, whatever it is; the case fails without one. Both sides progress. */
struct ri_wc cert_wc(struct cert_end *end, bool recv);
/** The next completion, which must be this one. */
struct ri_wc cert_wc_is(struct cert_end *end, bool recv, uint64_t id, enum ri_wc_status status);
/** Expects that no completion is present after some time of progress. */
void cert_wc_none(struct cert_end *end, bool recv);
/** @} */

/** @name Events
 * @{ */
/** Runs the engines of all open nodes, and sleeps for a moment. */
void cert_progress(struct cert *cert);
/** False once the patience that began with *@p until == 0 is over. For loops: `while (!x && cert_patience(...))`. */
bool cert_patience(struct cert *cert, gint64 *until);
/** The same without progress: this thread only sleeps. */
bool cert_patience_asleep(struct cert *cert, gint64 *until);
/**
 * Takes the next connection event for a context (0: for any), which must be of this kind. The end
 * of a time-wait is skipped, unless it is the kind that is expected.
 */
struct ri_cm_event cert_cm(struct cert_node *node, enum ri_cm_event_kind kind, uint64_t ctx);
/* The same of a request at a listener; that an earlier request is gone may be told before it. */
struct ri_cm_event cert_cm_request(struct cert_node *node, enum ri_cm_event_kind kind,
				   uint64_t ctx);
/** Waits for an asynchronous event, and takes it; others stay. */
struct ri_async_event cert_async(struct cert_node *node, enum ri_event event, uint64_t ctx);
/** The asynchronous events for a context that are recorded and not taken; of any kind with RI_EVENT_NONE. */
unsigned cert_async_count(struct cert_node *node, enum ri_event event, uint64_t ctx);
/** Those of them that end a connection. */
unsigned cert_async_ends(struct cert_node *node, uint64_t ctx);
/** The connection events of a kind for a context that are recorded and not taken. */
unsigned cert_cm_count(struct cert_node *node, enum ri_cm_event_kind kind, uint64_t ctx);
/** Drops what is recorded and not taken. */
void cert_events_forget(struct cert_node *node);
/** Name of a kind of connection event. */
const char *cert_cm_name(enum ri_cm_event_kind kind);
/** How often a completion queue was notified. */
unsigned cert_cq_events(struct cert_node *node, uint64_t ctx);
/** What a case does inside an upcall; @p ctx as in the upcall. It owns no lock. */
typedef void (*cert_upcall_hook)(void *arg, uint64_t ctx);
/** Calls @p hook inside each upcall of the node, when the upcall is recorded; NULL: no more. */
void cert_upcalls_hook(struct cert_node *node, cert_upcall_hook hook, void *arg);
/** @} */

#endif /* CERT_NODE_H */
