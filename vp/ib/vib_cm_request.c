/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Requests that are not answered, for connections and for datagram services.
 *
 * A request is identified by a number, which does not say to which adapter it belongs. So the
 * requests of all adapters of the process are in one list, with a lock of its own. A verb that
 * answers takes the request out of it; then no other thread finds it. Linux does not report that a
 * peer has withdrawn an unanswered request: no RI_CM_REQUEST_GONE is raised, and the answer fails
 * instead.
 */
#include <stdlib.h>

#include "vib_cm.h"

static struct {
	pthread_mutex_t lock; /* owned alone */
	struct vib_item list;
	uint64_t last;
} requests = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.list = {&requests.list, &requests.list},
};

/* The child of a fork cannot answer its parent's requests. */
static void
requests_forked(void)
{
	pthread_mutex_init(&requests.lock, NULL);
	requests.list = (struct vib_item){&requests.list, &requests.list};
}

__attribute__((constructor)) static void
requests_watch_forks(void)
{
	(void)pthread_atfork(NULL, NULL, requests_forked);
}

static void
request_enter(struct vib_conn *conn)
{
	pthread_mutex_lock(&requests.lock);
	if (conn->number == 0)
		conn->number = ++requests.last;
	vib_list_add(&requests.list, &conn->asked);
	pthread_mutex_unlock(&requests.lock);
}

struct vib_conn *
vib_request_take(const struct ri_request *request, bool service)
{
	struct vib_conn *found = NULL;

	pthread_mutex_lock(&requests.lock);
	for (struct vib_item *i = requests.list.next; i != &requests.list; i = i->next) {
		struct vib_conn *conn = vib_of(i, struct vib_conn, asked);

		if (conn->number != (uint64_t)(uintptr_t)request || conn->service != service)
			continue;
		vib_list_remove(&conn->asked);
		found = conn;
		break;
	}
	pthread_mutex_unlock(&requests.lock);
	return found;
}

void
vib_request_put_back(struct vib_conn *conn)
{
	request_enter(conn);
}

void
vib_request_done(struct vib_conn *conn)
{
	pthread_mutex_lock(&conn->cm->lock);
	if (conn->listen != NULL)
		conn->listen->waiting--;
	conn->listen = NULL;
	pthread_mutex_unlock(&conn->cm->lock);
}

/* The next request of a context, or NULL. */
static struct vib_conn *
request_take_of(const struct ri_context *context)
{
	struct vib_conn *found = NULL;

	pthread_mutex_lock(&requests.lock);
	for (struct vib_item *i = requests.list.next; i != &requests.list; i = i->next) {
		struct vib_conn *conn = vib_of(i, struct vib_conn, asked);

		if (conn->context != context)
			continue;
		vib_list_remove(&conn->asked);
		found = conn;
		break;
	}
	pthread_mutex_unlock(&requests.lock);
	return found;
}

void
vib_request_end_all(struct ri_context *context)
{
	struct vib_conn *conn;

	while ((conn = request_take_of(context)) != NULL) {
		vib_request_done(conn);
		vib_conn_free(conn); /* which tells the peer */
	}
}

/* --- on the service thread --------------------------------------------------------------------------- */

static void
request_describe(struct ri_cm_event *out, const struct vib_conn *conn,
		 const struct ri_listen *listen, const struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;
	struct rdma_cm_id *id = conn->id;

	*out = (struct ri_cm_event){
		.kind = conn->service ? RI_CM_SERVICE_REQUEST : RI_CM_REQUEST,
		.ctx = listen->ctx,
		.service = listen->service,
		.port = listen->port,
	};
	out->service.local_port = rdma_get_dst_port(id);
	vib_addr_of_sockaddr(&out->peer, rdma_get_peer_addr(id));
	vib_addr_of_sockaddr(&out->local, rdma_get_local_addr(id));
	if (conn->service) {
		vib_event_pdata(out, event->param.ud.private_data,
				event->param.ud.private_data_len);
		return;
	}
	/* librdmacm names the depths as this side would use them. */
	out->ird = param->initiator_depth;
	out->ord = param->responder_resources;
	out->ird_ord_valid = !conn->cm->rnic->iwarp || out->ird != 0 || out->ord != 0;
	vib_event_pdata(out, param->private_data, param->private_data_len);
	out->reach = conn->reach;
}

/* Count it in the backlog. False: that is full, or the listener is gone. */
static bool
request_count(struct vib_conn *conn, struct ri_listen *listen)
{
	bool room;

	pthread_mutex_lock(&conn->cm->lock);
	room = !listen->dying && listen->waiting < listen->backlog;
	if (room) {
		listen->waiting++;
		conn->listen = listen;
	}
	pthread_mutex_unlock(&conn->cm->lock);
	return room;
}

void
vib_request_raise(struct vib_ear *ear, const struct rdma_cm_event *event)
{
	struct ri_listen *listen = ear->listen;
	struct ri_rnic *rnic = listen->context->rnic;
	struct vib_conn *conn = vib_conn_adopt(rnic->cm, event->id);
	struct ri_cm_event request;
	enum vib_action action;
	struct vib_qp *none;

	if (conn == NULL) {
		(void)rdma_destroy_id(event->id); /* which tells the peer */
		return;
	}
	conn->service = event->id->ps == RDMA_PS_UDP;
	conn->context = listen->context;
	if (!vib_id_is_of(conn->id, rnic) || !request_count(conn, listen)) {
		vib_log(rnic, RI_LOG_INFO,
			"a connection request is refused: the backlog of %u requests is full",
			listen->backlog);
		vib_request_refuse(conn, RI_CM_REASON_RESOURCES, NULL, 0);
		vib_conn_free(conn);
		return;
	}
	if (!conn->service)
		vib_conn_reach(conn, &conn->reach);
	request_describe(&request, conn, listen, event);
	if (request.peer.family == RI_ADDR_NONE || request.local.family == RI_ADDR_NONE) {
		vib_log(rnic, RI_LOG_WARNING,
			"a request is refused: its addresses are of families %d and %d",
			rdma_get_peer_addr(conn->id)->sa_family,
			rdma_get_local_addr(conn->id)->sa_family);
		vib_request_done(conn);
		vib_request_refuse(conn, RI_CM_REASON_OTHER, NULL, 0);
		vib_conn_free(conn);
		return;
	}
	(void)vib_conn_step(conn, VIB_STEP_ASK, &action, &none);
	request_enter(conn);
	request.request = (struct ri_request *)(uintptr_t)conn->number;
	rnic->upcalls->cm_event(rnic->upcalls->self, &request);
}
