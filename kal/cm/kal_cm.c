/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Connection management, common part: the tables, the moves between states, the events from the provider and those
 * to the client. The calls are in kal_cm_calls.c.
 *
 * Owned by a kal_cm: listeners by an id of ours, requests by the id the client sees, connections by
 * the client's context of the queue pair (which is what a provider's upcall names). An upcall for a
 * context that is not in the table is a late event of a retired queue pair and is dropped.
 *
 * kal_conn::pending collects what the next event of a connection will report while the connection is set up.
 * Events are queued under the table lock, so those of one connection keep their order. The nodes for all events
 * that a connection can raise are reserved when it begins (kal_conn_reserve), so that its end needs no memory.
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
kal_cm_lock(struct kal_cm *cm)
{
	pthread_mutex_lock(&cm->lock);
}

void
kal_cm_unlock(struct kal_cm *cm)
{
	bool told = cm->told;

	cm->told = false;
	pthread_mutex_unlock(&cm->lock);
	if (told)
		kal_events_kick(cm->client);
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

/* The next event reports this private data. Without a node there is no event to report it. */
static void
set_pdata(struct kal_conn *conn, const void *data, size_t len, bool present)
{
	struct kal_cm_node *node = (struct kal_cm_node *)conn->reserved;
	size_t n = len < RI_PDATA_MAX ? len : RI_PDATA_MAX;

	RI_ASSERT_OWNED(&conn->cm->lock);
	if (node == NULL || node->node.bare)
		return;
	node->event.pdata_present = present;
	node->event.pdata_len = (uint16_t)n;
	memset(node->event.pdata, 0, sizeof(node->event.pdata));
	if (n > 0)
		memcpy(node->event.pdata, data, n);
}

/* The next event reports this. */
static void
set_reach(struct kal_conn *conn, const struct ri_peer *reach)
{
	struct kal_cm_node *node = (struct kal_cm_node *)conn->reserved;

	RI_ASSERT_OWNED(&conn->cm->lock);
	if (node != NULL && !node->node.bare)
		node->event.reach = *reach;
}

bool
kal_conn_reserve(struct kal_conn *conn, unsigned count)
{
	unsigned have = 0;

	RI_ASSERT_OWNED(&conn->verbs);
	kal_cm_lock(conn->cm);
	for (struct kal_event_node *node = conn->reserved; node != NULL; node = node->next)
		have++;
	if (conn->owed != KAL_CM_NONE)
		count++; /* the connection before this one still owes an event */
	kal_cm_unlock(conn->cm);
	for (; have < count; have++) {
		struct kal_cm_node *node =
			conn->cm->stream && have == 0 ? kal_cm_node_new_bare() : kal_cm_node_new();

		if (node == NULL)
			return false;
		kal_cm_lock(conn->cm);
		node->node.next = conn->reserved;
		conn->reserved = &node->node;
		kal_cm_unlock(conn->cm);
	}
	kal_cm_lock(conn->cm);
	set_pdata(conn, NULL, 0, false); /* of an attempt that was undone */
	set_reach(conn, &(struct ri_peer){0});
	conn->wait_due = conn->cm->attr->has_time_wait;
	kal_cm_unlock(conn->cm);
	return true;
}

/* Queue the event of a node. */
static void
node_tell(struct kal_cm *cm, struct kal_cm_node *node, uint64_t ctx)
{
	RI_ASSERT_OWNED(&cm->lock);
	node->node.ctx = ctx;
	kal_events_cm(cm->client, node);
	cm->told = true;
}

void
kal_cm_tell(struct kal_cm *cm, struct kal_cm_node *node, uint64_t ctx,
	    const struct kal_cm_event *event)
{
	RI_ASSERT_OWNED(&cm->lock);
	node->event = *event;
	node_tell(cm, node, ctx);
}

void
kal_conn_lock(struct kal_conn *conn)
{
	pthread_mutex_lock(&conn->verbs);
}

void
kal_conn_unlock(struct kal_conn *conn)
{
	pthread_mutex_unlock(&conn->verbs);
}

void
kal_conn_modified(struct kal_conn *conn, const struct ri_qp_attr *attr, uint32_t mask)
{
	RI_ASSERT_OWNED(&conn->verbs);
	if (mask & RI_QP_ATTR_IRD)
		conn->ird = attr->ird;
	if (mask & RI_QP_ATTR_ORD)
		conn->ord = attr->ord;
	if ((mask & RI_QP_ATTR_STATE) && attr->state == RI_QPS_IDLE)
		(void)!kal_conn_move(conn, KAL_CONN_RESET, KAL_REASON_OTHER);
}

enum kal_conn_state
kal_conn_state(struct kal_conn *conn)
{
	enum kal_conn_state state;

	kal_cm_lock(conn->cm);
	state = conn->state;
	kal_cm_unlock(conn->cm);
	return state;
}

bool
kal_conn_busy(struct kal_conn *conn)
{
	enum kal_conn_state state = kal_conn_state(conn);

	return state != KAL_CONN_IDLE && state != KAL_CONN_OWN && state != KAL_CONN_ENDED;
}

/* All but the kind and the private data. */
static void
event_fill(struct kal_cm_event *event, const struct kal_pending *pending)
{
	event->reason = pending->reason;
	event->port = pending->port;
	event->ird = pending->ird;
	event->ord = pending->ord;
	event->own_ird = pending->own_ird;
	event->own_ord = pending->own_ord;
	event->ird_ord_valid = pending->ird_ord_valid;
	event->peer = pending->peer;
	event->local = pending->local;
	event->service = pending->service;
}

void
kal_conn_tell(struct kal_conn *conn, enum kal_cm_kind report, enum kal_cm_reason reason)
{
	struct kal_cm_node *node = (struct kal_cm_node *)conn->reserved;

	RI_ASSERT_OWNED(&conn->cm->lock);
	if (report == KAL_CM_NONE || conn->retired || node == NULL)
		return;
	conn->reserved = node->node.next;
	conn->pending.reason = report == KAL_CM_FAILED ? reason : KAL_REASON_OTHER;
	node->event.kind = report;
	event_fill(&node->event, &conn->pending);
	node_tell(conn->cm, node, conn->link.key);
}

void
kal_conn_tell_last(struct kal_conn *conn, enum kal_cm_kind report, enum kal_cm_reason reason)
{
	const struct ri_host *host = conn->cm->host;

	RI_ASSERT_OWNED(&conn->cm->lock);
	conn->owed = report;
	conn->why = reason;
	/* If it is retired, kal_conn_restore runs the task. */
	if (!conn->retired)
		host->task_run(host->self, &conn->last_word);
}

enum ri_status
kal_conn_move(struct kal_conn *conn, enum kal_conn_event conn_event, enum kal_cm_reason reason)
{
	enum kal_cm_kind report;
	enum ri_status status;

	kal_cm_lock(conn->cm);
	status = kal_conn_step(&conn->state, conn_event, &report);
	if (status == RI_SUCCESS)
		kal_conn_tell(conn, report, reason);
	kal_cm_unlock(conn->cm);
	return status;
}

void
kal_conn_kill(struct kal_conn *conn)
{
	struct ri_qp_attr attr = {.state = RI_QPS_ERROR};

	RI_ASSERT_OWNED(&conn->verbs);
	/* A failure means that it is in ERROR already. */
	(void)!ri_call_qp_modify(conn->cm->caller, conn->qp, &attr, RI_QP_ATTR_STATE);
}

void
kal_conn_note_frame(struct kal_conn *conn, const struct kal_mpa_frame *frame)
{
	struct kal_pending *pending = &conn->pending;

	kal_cm_lock(conn->cm);
	pending->ird_ord_valid = frame->words && frame->ird != KAL_MPA_DEPTH_PRIVATE &&
				 frame->ord != KAL_MPA_DEPTH_PRIVATE;
	pending->ird = pending->ird_ord_valid ? frame->ird : 0;
	pending->ord = pending->ird_ord_valid ? frame->ord : 0;
	set_pdata(conn, frame->private_data, frame->private_len, frame->private_len > 0);
	kal_cm_unlock(conn->cm);
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

/* The caller owns cm->lock. */
static void
note_provider(struct kal_conn *conn, const struct ri_cm_event *event)
{
	struct kal_pending *pending = &conn->pending;

	RI_ASSERT_OWNED(&conn->cm->lock);
	set_pdata(conn, event->pdata, event->pdata_len, event->pdata_present);
	set_reach(conn, &event->reach);
	if (event->ird_ord_valid) {
		pending->ird_ord_valid = true;
		pending->ird = event->ird;
		pending->ord = event->ord;
	}
	pending->own_ird = conn->ird;
	pending->own_ord = conn->ord;
	if (pending->ird_ord_valid && pending->ird < pending->own_ord)
		pending->own_ord = pending->ird;
}

/* It is reported once for each attempt, after its end; kal_conn_reserve has the node. */
static void
tell_time_wait(struct kal_cm *cm, uint64_t ctx)
{
	struct kal_conn *conn;

	kal_cm_lock(cm);
	conn = kal_entry_or_null(kal_table_find(&cm->conns, ctx), struct kal_conn, link);
	if (conn != NULL && conn->state == KAL_CONN_ENDED && conn->wait_due) {
		conn->wait_due = false;
		kal_conn_tell(conn, KAL_CM_TIME_WAIT_OVER, KAL_REASON_OTHER);
	}
	kal_cm_unlock(cm);
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
	else if (event->kind == RI_CM_TIME_WAIT_OVER)
		tell_time_wait(cm, event->ctx);
	if (conn_event == KAL_CONN_EVENT_COUNT)
		return;
	kal_cm_lock(cm);
	conn = kal_entry_or_null(kal_table_find(&cm->conns, event->ctx), struct kal_conn, link);
	/* A reply that nobody asked for would take the place of a later event. */
	if (conn_event == KAL_CONN_REPLY && conn != NULL && !conn->three_way)
		conn = NULL;
	if (conn != NULL && kal_conn_step(&conn->state, conn_event, &report) == RI_SUCCESS) {
		note_provider(conn, event);
		kal_conn_tell(conn, report, (enum kal_cm_reason)event->reason);
	}
	kal_cm_unlock(cm);
}

/* The caller owns cm->lock. */
static void
async_forward(struct kal_cm *cm, const struct ri_async_event *event)
{
	RI_ASSERT_OWNED(&cm->lock);
	kal_events_async(cm->client, event->ctx, event);
	cm->told = true;
}

/* The caller owns cm->lock. */
static void
stream_ended(struct kal_conn *conn, const struct ri_async_event *event)
{
	struct kal_cm *cm = conn->cm;
	bool orderly = ri_event_is_close((enum ri_event)event->event);
	enum kal_conn_state before = conn->state;
	enum kal_cm_kind report;

	RI_ASSERT_OWNED(&conn->cm->lock);
	if (kal_conn_step(&conn->state, orderly ? KAL_CONN_END_CLOSE : KAL_CONN_END_BROKEN,
			  &report) != RI_SUCCESS)
		return;
	if (!orderly && (before == KAL_CONN_UP || before == KAL_CONN_CLOSING))
		async_forward(cm, event);
	/* If the kAL itself ended the attempt (IRD, RTR, time), the reason is in the pending event. */
	kal_conn_tell(conn, report, (enum kal_cm_reason)conn->pending.reason);
}

void
kal_cm_async(struct kal_cm *cm, const struct ri_async_event *event)
{
	struct kal_conn *conn;
	enum kal_cm_kind report;
	bool up = event->event == RI_EVENT_QP_STREAM_UP;

	kal_cm_lock(cm);
	conn = kal_entry_or_null(kal_table_find(&cm->conns, event->ctx), struct kal_conn, link);
	if (conn == NULL) {
		/* A late event of a retired queue pair. */
	} else if (up && kal_conn_step(&conn->state, KAL_CONN_STANDS, &report) == RI_SUCCESS) {
		kal_conn_tell(conn, report, KAL_REASON_OTHER);
		cm->host->task_run(cm->host->self, &conn->tidy);
	} else if (cm->stream && conn->state != KAL_CONN_OWN &&
		   ri_event_is_end((enum ri_event)event->event)) {
		stream_ended(conn, event);
	} else if (!up) {
		async_forward(cm, event);
	}
	kal_cm_unlock(cm);
}
