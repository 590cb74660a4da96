/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * One connection: its locks, its moves between states, and the events that it raises. The life of connections, and what the
 * provider reports of them, are in kal_cm.c.
 *
 * kal_conn::pending collects what the next event will report while the connection is set up. Events are queued under the
 * table lock, so those of one connection keep their order. The nodes for all events that a connection can raise are
 * reserved when it begins (kal_conn_reserve), so its end needs no memory.
 */
#include <stdlib.h>
#include <string.h>

#include "kal_cm_internal.h"
#include "kal_live.h"
#include "ri_owned.h"

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
kal_conn_lock(struct kal_conn *conn)
{
	pthread_mutex_lock(&conn->verbs);
}

void
kal_conn_unlock(struct kal_conn *conn)
{
	pthread_mutex_unlock(&conn->verbs);
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
kal_conn_tell(struct kal_conn *conn, enum kal_cm_kind report, enum kal_cm_reason reason)
{
	struct kal_cm_node *node = (struct kal_cm_node *)conn->reserved;
	struct kal_pending *pending = &conn->pending;

	RI_ASSERT_OWNED(&conn->cm->lock);
	if (report == KAL_CM_NONE || conn->retired || node == NULL)
		return;
	conn->reserved = node->node.next;
	pending->reason = report == KAL_CM_FAILED ? reason : KAL_REASON_OTHER;
	/* The private data and the reach of the peer are in the node already. */
	node->event.kind = report;
	node->event.reason = pending->reason;
	node->event.port = pending->port;
	node->event.ird = pending->ird;
	node->event.ord = pending->ord;
	node->event.own_ird = pending->own_ird;
	node->event.own_ord = pending->own_ord;
	node->event.ird_ord_valid = pending->ird_ord_valid;
	node->event.peer = pending->peer;
	node->event.local = pending->local;
	node->event.service = pending->service;
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

/* Show state and path. */
static void
conn_shown(struct kal_conn *conn)
{
	const struct kal_pending *pending = &conn->pending;
	const struct ri_service *service = &pending->service;
	struct kal_live_path path = {.local = pending->local, .peer = pending->peer};

	RI_ASSERT_OWNED(&conn->cm->lock);
	path.local_port = conn->accepted ? service->port : service->local_port;
	path.peer_port = conn->accepted ? service->local_port : service->port;
	path.service = service->kind == RI_SERVICE_IB ? service->id : 0;
	/* What is left of an earlier connection says nothing of a queue pair without one. */
	if (conn->state == KAL_CONN_IDLE)
		path = (struct kal_live_path){.service = 0};
	kal_live_path(conn->live, conn->state, &path);
}

void
kal_conn_show(struct kal_conn *conn, struct kal_live_slot *live)
{
	kal_cm_lock(conn->cm);
	conn->live = live;
	conn_shown(conn);
	kal_cm_unlock(conn->cm);
}

enum ri_status
kal_conn_go(struct kal_conn *conn, enum kal_conn_event conn_event, enum kal_cm_kind *report)
{
	enum ri_status status = kal_conn_step(&conn->state, conn_event, report);

	if (status != RI_SUCCESS)
		return status;
	if (conn_event == KAL_CONN_CALL_ACCEPT)
		conn->accepted = true;
	else if (conn_event == KAL_CONN_CALL_CONNECT || conn_event == KAL_CONN_RESET)
		conn->accepted = false;
	conn_shown(conn);
	return status;
}

enum ri_status
kal_conn_move(struct kal_conn *conn, enum kal_conn_event conn_event)
{
	enum kal_cm_kind report;
	enum ri_status status;

	kal_cm_lock(conn->cm);
	status = kal_conn_go(conn, conn_event, &report);
	if (status == RI_SUCCESS)
		kal_conn_tell(conn, report, KAL_REASON_OTHER);
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
kal_conn_modified(struct kal_conn *conn, const struct ri_qp_attr *attr, uint32_t mask)
{
	RI_ASSERT_OWNED(&conn->verbs);
	if (mask & RI_QP_ATTR_IRD)
		conn->ird = attr->ird;
	if (mask & RI_QP_ATTR_ORD)
		conn->ord = attr->ord;
	if ((mask & RI_QP_ATTR_STATE) && attr->state == RI_QPS_IDLE)
		(void)!kal_conn_move(conn, KAL_CONN_RESET);
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

void
kal_conn_note_event(struct kal_conn *conn, const struct ri_cm_event *event)
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
