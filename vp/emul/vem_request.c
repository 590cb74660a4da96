/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Requests of the fabric: for a connection, and for a datagram service. A request is named by a number and is in
 * the fabric until it is answered or ended. Everything here is called with the fabric's lock; events are raised
 * by the task of the listener's adapter, without it.
 */
#include <stdlib.h>
#include <string.h>

#include "vem_cm.h"
#include "vem_remote.h"

static void
rnic_task_run(struct ri_rnic *rnic)
{
	rnic->host->task_run(rnic->host->self, &rnic->task);
}

/* The handle of a request, for the layers above, is its number in place of a pointer. */
static struct ri_request *
request_of(uint64_t id)
{
	return (struct ri_request *)(uintptr_t)id;
}

static bool
same_service(const struct ri_service *a, const struct ri_service *b)
{
	return a->kind == b->kind &&
	       (a->kind == RI_SERVICE_PORT ? a->port == b->port : a->id == b->id);
}

struct ri_listen *
vem_listen_find(struct vem_fabric *fabric, const struct ri_service *service)
{
	for (struct vsw_item *i = fabric->listens.next; i != &fabric->listens; i = i->next) {
		struct ri_listen *listen = vsw_of(i, struct ri_listen, item);
		if (same_service(&listen->service, service))
			return listen;
	}
	return NULL;
}

struct vem_conn *
vem_conn_find(struct vem_fabric *fabric, const struct ri_request *request, bool service)
{
	for (struct vsw_item *i = fabric->conns.next; i != &fabric->conns; i = i->next) {
		struct vem_conn *conn = vsw_of(i, struct vem_conn, item);
		if (conn->event.request == request && conn->told)
			return conn->service == service ? conn : NULL;
	}
	return NULL;
}

struct vem_conn *
vem_conn_new(struct ri_listen *listen, const struct ri_cm_event *event)
{
	struct ri_rnic *rnic = listen->context->rnic;
	struct vem_fabric *fabric = rnic->fabric;
	struct vem_conn *conn = listen->waiting < listen->backlog ? calloc(1, sizeof(*conn)) : NULL;

	if (conn == NULL)
		return NULL;
	conn->id = ++fabric->last_conn << VEM_FABRIC_BITS | fabric->number;
	conn->listen = listen;
	conn->rnic = rnic;
	conn->event = *event;
	conn->event.ctx = listen->ctx;
	conn->event.request = request_of(conn->id);
	conn->event.service = listen->service;
	conn->event.port = listen->port;
	listen->waiting++;
	vsw_list_add(&fabric->conns, &conn->item);
	vsw_list_add(&rnic->offered, &conn->event_node);
	rnic_task_run(rnic);
	return conn;
}

void
vem_conn_close(struct vem_conn *conn)
{
	vsw_list_remove(&conn->item);
	vsw_list_remove(&conn->event_node);
	if (conn->listen != NULL)
		conn->listen->waiting--;
	if (conn->active != NULL)
		conn->active->conn = NULL;
	if (conn->query != NULL)
		conn->query->conn = NULL;
	if (conn->remote != NULL)
		vem_remote_free(conn->remote);
	conn->remote = NULL;
	conn->listen = NULL;
	conn->active = NULL;
}

void
vem_conn_withdraw(struct vem_conn *conn)
{
	struct ri_rnic *rnic = conn->rnic;
	bool told = conn->told;

	vem_conn_close(conn);
	if (!told) {
		free(conn);
		return;
	}
	vsw_list_add(&rnic->withdrawn, &conn->event_node);
	rnic_task_run(rnic);
}

void
vem_attempt_failed(struct vem_qp *qp, enum ri_cm_reason reason)
{
	struct vem_cause cause = {.kind = RI_CM_FAILED, .reason = reason};

	vem_qp_move(qp, VEM_MOVE_FAIL, &cause);
}

void
vem_query_answer(struct vem_query *query, const struct ri_service_answer *answer)
{
	struct ri_rnic *rnic = query->rnic;
	struct ri_cm_event *event = &query->event;

	if (query->answered)
		return;
	query->answered = true;
	vem_remote_query_close(query);
	event->service_status = answer->status;
	if (answer->status == RI_SERVICE_FOUND) {
		event->qpn = answer->qpn;
		event->qkey = answer->qkey;
	}
	event->pdata_present = answer->pdata_len != 0;
	event->pdata_len = answer->pdata_len;
	if (answer->pdata_len != 0)
		memcpy(event->pdata, answer->pdata, answer->pdata_len);
	vsw_list_add(&rnic->answers, &query->event_node);
	rnic_task_run(rnic);
}

void
vem_conn_fail(struct vem_conn *conn)
{
	const struct ri_service_answer none = {.status = RI_SERVICE_UNKNOWN};

	if (conn->query != NULL)
		vem_query_answer(conn->query, &none);
	else if (conn->asker != NULL)
		vem_remote_query_answer(conn, &none);
	else if (conn->active != NULL)
		vem_attempt_failed(conn->active, RI_CM_REASON_OTHER);
	else if (conn->remote != NULL)
		vem_remote_fail(conn->remote, RI_CM_REASON_OTHER);
	vem_conn_close(conn);
	free(conn);
}
