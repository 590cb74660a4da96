/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Connection management: its tables, the life of connections, and what the provider reports. The calls of the client are
 * in kal_cm_calls.c; a connection's moves and events in kal_conn.c.
 *
 * A kal_cm owns listeners, by an id of the kAL; requests, by the id that the client sees; and connections, by the client's
 * context of the queue pair, which an upcall of the provider names. An upcall for a context that is not in the table is a
 * late event of a retired queue pair, and is dropped.
 */
#include <stdlib.h>
#include <string.h>

#include "kal_cm_internal.h"
#include "kal_partings.h"
#include "kal_request.h"
#include "kal_setup.h"
#include "ri_owned.h"

enum ri_status
kal_cm_open(struct kal_client *client, const struct kal_config *config,
	    const struct ri_caller *caller, const struct ri_rnic_attr *attr, struct kal_cm **out)
{
	struct kal_cm *cm = calloc(1, sizeof(*cm));

	if (cm == NULL)
		return RI_ERR_RESOURCES;
	cm->client = client;
	cm->host = caller->host;
	cm->config = config;
	cm->caller = caller;
	cm->attr = attr;
	pthread_mutex_init(&cm->lock, NULL);
	kal_table_init(&cm->conns);
	kal_table_init(&cm->listeners);
	kal_table_init(&cm->requests);
	kal_table_init(&cm->held);
	kal_table_init(&cm->queries);
	*out = cm;
	return RI_SUCCESS;
}

void
kal_cm_begin(struct kal_cm *cm, struct ri_rnic *rnic, struct ri_context *context)
{
	kal_cm_lock(cm);
	cm->rnic = rnic;
	cm->context = context;
	cm->stream = (cm->attr->cm_forms & RI_CM_STREAM) != 0;
	kal_cm_unlock(cm);
}

void
kal_cm_end(struct kal_cm *cm)
{
	kal_resolve_end_all(cm);
	kal_request_end_all(cm);
	kal_partings_end_all(cm);
}

void
kal_cm_free(struct kal_cm *cm)
{
	kal_table_fini(&cm->conns);
	kal_table_fini(&cm->listeners);
	kal_table_fini(&cm->requests);
	kal_table_fini(&cm->held);
	kal_table_fini(&cm->queries);
	pthread_mutex_destroy(&cm->lock);
	free(cm);
}

/* --- connections ------------------------------------------------------------------------ */

/*
 * The connection is established, and its setup is not needed any more. It may have ended since the task was queued,
 * and another attempt may use a setup of its own.
 */
static void
setup_tidy(void *arg)
{
	struct kal_conn *conn = arg;
	struct kal_setup *setup = NULL;

	kal_conn_lock(conn);
	if (kal_conn_state(conn) == KAL_CONN_UP)
		setup = kal_setup_steal(conn);
	kal_conn_unlock(conn);
	kal_setup_free(setup);
}

/*
 * The kAL ended an attempt: it moved the queue pair to ERROR, and a task of the provider flushes it. Tasks run in
 * order on one thread, so the flush is done when this runs.
 */
static void
report_owed(void *arg)
{
	struct kal_conn *conn = arg;

	kal_cm_lock(conn->cm);
	if (!conn->retired) {
		kal_conn_tell(conn, conn->owed, conn->why);
		conn->owed = KAL_CM_NONE;
	}
	kal_cm_unlock(conn->cm);
}

enum ri_status
kal_conn_create(struct kal_cm *cm, struct ri_qp *qp, uint64_t ctx, const struct ri_qp_init *init,
		struct kal_conn **out)
{
	struct kal_conn *conn = calloc(1, sizeof(*conn));
	bool taken;

	if (conn == NULL)
		return RI_ERR_RESOURCES;
	conn->cm = cm;
	conn->qp = qp;
	conn->link.key = ctx;
	conn->state = KAL_CONN_IDLE;
	conn->ird = init->ird;
	conn->ord = init->ord;
	conn->tidy.fire = setup_tidy;
	conn->tidy.arg = conn;
	conn->last_word.fire = report_owed;
	conn->last_word.arg = conn;
	pthread_mutex_init(&conn->verbs, NULL);
	kal_cm_lock(cm);
	taken = kal_table_find(&cm->conns, ctx) != NULL;
	if (!taken)
		kal_table_insert(&cm->conns, &conn->link);
	kal_cm_unlock(cm);
	if (taken) {
		kal_conn_free(conn);
		return RI_ERR_INVALID_ARG;
	}
	*out = conn;
	return RI_SUCCESS;
}

void
kal_conn_retire(struct kal_conn *conn)
{
	struct kal_cm *cm = conn->cm;

	kal_cm_lock(cm);
	conn->retired = true;
	kal_table_remove(&cm->conns, &conn->link);
	kal_cm_unlock(cm);
	cm->host->task_stop(cm->host->self, &conn->tidy);
	cm->host->task_stop(cm->host->self, &conn->last_word);
	kal_stream_drop(conn);
}

void
kal_conn_restore(struct kal_conn *conn)
{
	const struct ri_host *host = conn->cm->host;

	kal_cm_lock(conn->cm);
	conn->retired = false;
	if (conn->owed != KAL_CM_NONE)
		host->task_run(host->self, &conn->last_word);
	kal_table_insert(&conn->cm->conns, &conn->link);
	kal_cm_unlock(conn->cm);
}

void
kal_conn_free(struct kal_conn *conn)
{
	while (conn->reserved != NULL) {
		struct kal_event_node *next = conn->reserved->next;

		free(conn->reserved);
		conn->reserved = next;
	}
	pthread_mutex_destroy(&conn->verbs);
	free(conn);
}

/* --- upcalls ---------------------------------------------------------------------------- */

/* The event of the connection that an event of the provider stands for; COUNT: none. */
static enum kal_conn_event
conn_event_of(enum ri_cm_event_kind kind)
{
	switch (kind) {
	case RI_CM_REPLY:
		return KAL_CONN_REPLY;
	case RI_CM_ESTABLISHED:
		return KAL_CONN_STANDS;
	case RI_CM_REJECTED:
		return KAL_CONN_REFUSED;
	case RI_CM_FAILED:
		return KAL_CONN_FAILED;
	case RI_CM_DISCONNECTED:
		return KAL_CONN_END_CLOSE;
	case RI_CM_BROKEN:
		return KAL_CONN_END_BROKEN;
	case RI_CM_NONE:
	case RI_CM_REQUEST:
	case RI_CM_REQUEST_GONE:
	case RI_CM_TIME_WAIT_OVER:
	case RI_CM_SERVICE_REQUEST:
	case RI_CM_SERVICE_REPLY:
	case RI_CM_KIND_COUNT:
	default:
		return KAL_CONN_EVENT_COUNT;
	}
}

void
kal_cm_provider_event(struct kal_cm *cm, const struct ri_cm_event *event)
{
	enum kal_conn_event conn_event = conn_event_of((enum ri_cm_event_kind)event->kind);
	struct kal_conn *conn;
	enum kal_cm_kind report;

	if (event->kind == RI_CM_REQUEST || event->kind == RI_CM_SERVICE_REQUEST)
		kal_request_from_provider(cm, event);
	else if (event->kind == RI_CM_REQUEST_GONE)
		kal_request_gone(cm, event);
	else if (event->kind == RI_CM_SERVICE_REPLY)
		kal_resolve_from_provider(cm, event);
	if (conn_event == KAL_CONN_EVENT_COUNT && event->kind != RI_CM_TIME_WAIT_OVER)
		return;
	kal_cm_lock(cm);
	conn = kal_entry_or_null(kal_table_find(&cm->conns, event->ctx), struct kal_conn, link);
	/* The client expects no reply without a third message, and its event would take the place of a later one. */
	if (conn == NULL || (conn_event == KAL_CONN_REPLY && !conn->three_way)) {
		/* No client gets it; without a `conn` it is a late event of a retired queue pair. */
	} else if (event->kind == RI_CM_TIME_WAIT_OVER) {
		/* It is reported once for each attempt, after its end; kal_conn_reserve has the node. */
		if (conn->state == KAL_CONN_ENDED && conn->wait_due) {
			conn->wait_due = false;
			kal_conn_tell(conn, KAL_CM_TIME_WAIT_OVER, KAL_REASON_OTHER);
		}
	} else if (kal_conn_go(conn, conn_event, &report) == RI_SUCCESS) {
		kal_conn_note_event(conn, event);
		kal_conn_tell(conn, report, (enum kal_cm_reason)event->reason);
	}
	kal_cm_unlock(cm);
}

void
kal_cm_async(struct kal_cm *cm, const struct ri_async_event *event)
{
	bool up = event->event == RI_EVENT_QP_STREAM_UP;
	bool orderly = ri_event_is_close((enum ri_event)event->event);
	bool ended = false, forward = false;
	enum kal_conn_state before;
	enum kal_cm_kind report;
	struct kal_conn *conn;

	kal_cm_lock(cm);
	conn = kal_entry_or_null(kal_table_find(&cm->conns, event->ctx), struct kal_conn, link);
	if (conn == NULL) {
		/* A late event of a retired queue pair. */
	} else if (up && kal_conn_go(conn, KAL_CONN_STANDS, &report) == RI_SUCCESS) {
		kal_conn_tell(conn, report, KAL_REASON_OTHER);
		cm->host->task_run(cm->host->self, &conn->tidy);
	} else if (cm->stream && conn->state != KAL_CONN_OWN &&
		   ri_event_is_end((enum ri_event)event->event)) {
		before = conn->state;
		ended = kal_conn_go(conn, orderly ? KAL_CONN_END_CLOSE : KAL_CONN_END_BROKEN,
				    &report) == RI_SUCCESS;
		forward =
			ended && !orderly && (before == KAL_CONN_UP || before == KAL_CONN_CLOSING);
	} else {
		forward = !up;
	}
	if (forward) {
		kal_events_async(cm->client, event->ctx, event);
		cm->told = true;
	}
	/* If the kAL itself ended the attempt (IRD, RTR, time), the reason is in the pending event. */
	if (ended)
		kal_conn_tell(conn, report, (enum kal_cm_reason)conn->pending.reason);
	kal_cm_unlock(cm);
}
