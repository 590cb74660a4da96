/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Connection management of one open RNIC of one client: what the dispatcher calls.
 *
 * Whatever form a provider offers (ri_cm_ops: it connects by itself; ri_llp_ops: it takes over a
 * stream that the kAL set up), the client sees the same calls and the same events.
 *
 * Threads: calls come from the dispatcher on any thread; provider upcalls on any thread, possibly
 * inside fast-path calls; timers and descriptors on the host's service thread. Two kinds of lock:
 * the table lock of a kal_cm, held for a few instructions, never while a provider is called or
 * anything blocks, so that upcalls may take it; and one lock per connection, held around verbs on
 * its queue pair (kal_conn_lock), which upcalls never take.
 */
#ifndef KAL_CM_H
#define KAL_CM_H

#include "kal_call.h"
#include "kal_config.h"
#include "kal_events.h"
#include "ri_call.h"
#include "rnicpi.h"

struct kal_cm;
struct kal_conn;
struct kal_live_slot;
struct kal_listener;

/*
 * A kal_cm is opened, begun, ended and freed. Upcalls may come at any time in between; those before kal_cm_begin and
 * after kal_cm_end are dropped.
 */
/*
 * Called before the device is opened. Events go to `client`, whose configuration is `config`. *attr
 * is filled in before kal_cm_begin. All of them outlive the kal_cm. RI_ERR_RESOURCES: no memory.
 */
enum ri_status kal_cm_open(struct kal_client *client, const struct kal_config *config,
			   const struct ri_caller *caller, const struct ri_rnic_attr *attr,
			   struct kal_cm **out) RI_MUST_CHECK;
/* The device is open and its profile known: calls may come. */
void kal_cm_begin(struct kal_cm *cm, struct ri_rnic *rnic, struct ri_context *context);
/* Before the device is closed: refuse pending requests and end queries, without events. All connections and
 * listeners were destroyed before. */
void kal_cm_end(struct kal_cm *cm);
/* The device is closed. */
void kal_cm_free(struct kal_cm *cm);

/* --- queue pairs ------------------------------------------------------------------------- */

/*
 * Create the connection of a queue pair; `ctx` is the client's, `init` has the granted sizes. RI_ERR_INVALID_ARG:
 * another queue pair has that context, so the client could not distinguish their events. RI_ERR_RESOURCES.
 */
enum ri_status kal_conn_create(struct kal_cm *cm, struct ri_qp *qp, uint64_t ctx,
			       const struct ri_qp_init *init, struct kal_conn **out) RI_MUST_CHECK;
/* The number of its queue pair: the log names the connection by it. */
void kal_conn_name(struct kal_conn *conn, uint32_t qpn);
/* What the connection does is shown there from now on, until it is retired; NULL: nowhere. */
void kal_conn_show(struct kal_conn *conn, struct kal_live_slot *live);
/* Before the queue pair is destroyed: drop a start-up under way; no event follows. */
void kal_conn_retire(struct kal_conn *conn);
/* The provider did not destroy it: undo kal_conn_retire. */
void kal_conn_restore(struct kal_conn *conn);
/* After it was destroyed. */
void kal_conn_free(struct kal_conn *conn);
/* Around every verb on the queue pair. */
void kal_conn_lock(struct kal_conn *conn);
void kal_conn_unlock(struct kal_conn *conn);
/* Is a connection starting, established or ending? Then the queue pair cannot be connected again. */
bool kal_conn_busy(struct kal_conn *conn);
/* Under that lock, after ri_qp_ops::modify moved it to IDLE, or changed IRD or ORD. */
void kal_conn_modified(struct kal_conn *conn, const struct ri_qp_attr *attr, uint32_t mask);

/* --- listeners and requests -------------------------------------------------------------- */

/* `service` is completed. RI_ERR_IN_USE, RI_ERR_PERMISSION, RI_ERR_INVALID_ARG, RI_ERR_RESOURCES. */
enum ri_status kal_listen(struct kal_cm *cm, const struct kal_listen_req *req,
			  struct ri_service *service, struct kal_listener **out) RI_MUST_CHECK;
/* No new requests; those delivered stay valid. */
void kal_listen_destroy(struct kal_listener *listener);

/* KAL_CONNECT .. KAL_CONVERT. RI_ERR_INVALID_HANDLE: no such request. */
enum ri_status kal_connect(struct kal_conn *conn, const struct kal_cm_req *req) RI_MUST_CHECK;
enum ri_status kal_accept(struct kal_conn *conn, const struct kal_cm_req *req,
			  struct kal_accept_rep *rep) RI_MUST_CHECK;
enum ri_status kal_reject(struct kal_cm *cm, const struct kal_cm_req *req) RI_MUST_CHECK;
enum ri_status kal_confirm(struct kal_conn *conn, const struct kal_cm_req *req) RI_MUST_CHECK;
enum ri_status kal_disconnect(struct kal_conn *conn, const struct kal_cm_req *req) RI_MUST_CHECK;
/* KAL_PEER. RI_ERR_INVALID_STATE, too, while another form connects it, or before the other of its two steps. */
enum ri_status kal_peer(struct kal_conn *conn, const struct ri_peer *peer, bool send) RI_MUST_CHECK;
/* RI_ERR_INVALID_ARG: no listener at that service; the request is still valid. */
enum ri_status kal_handoff(struct kal_cm *cm, const struct kal_handoff_req *req) RI_MUST_CHECK;
/* Queries for datagram services, and answers; kal_resolve.c. */
enum ri_status kal_resolve(struct kal_cm *cm, const struct kal_resolve_req *req) RI_MUST_CHECK;
void kal_resolve_end(struct kal_cm *cm, uint64_t ctx);
enum ri_status kal_resolve_answer(struct kal_cm *cm,
				  const struct kal_resolve_answer_req *req) RI_MUST_CHECK;
enum ri_status kal_convert(struct kal_conn *conn, const struct kal_convert_req *req,
			   const void *msg, int fd, struct kal_convert_rep *rep) RI_MUST_CHECK;

/* --- upcalls of the provider -------------------------------------------------------------- */

/* ri_upcalls::cm_event. */
void kal_cm_provider_event(struct kal_cm *cm, const struct ri_cm_event *event);
/*
 * ri_upcalls::async_event for a queue pair. STREAM_UP and the ends of streams become events of the connection; other
 * events go to the client as they are.
 */
void kal_cm_async(struct kal_cm *cm, const struct ri_async_event *event);
/* The addresses of a spigot have changed: its listeners adapt on the service thread. Any thread. */
void kal_listeners_follow(struct kal_cm *cm, uint32_t port);

#endif /* KAL_CM_H */
