/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The connection manager of an adapter, and the life of a connection; vib_cm.h has the rules. Events: vib_cm_events.c. */
#include <errno.h>
#include <stdlib.h>

#include "vib_cm.h"

/* --- connections --------------------------------------------------------------------------- */

static void conn_called(void *conn);

struct vib_conn *
vib_conn_adopt(struct vib_cm *cm, struct rdma_cm_id *id)
{
	struct vib_conn *conn = calloc(1, sizeof(*conn));

	if (conn == NULL)
		return NULL;
	conn->owner = VIB_OWNER_CONN;
	conn->cm = cm;
	conn->id = id;
	conn->phase = VIB_PHASE_NEW;
	conn->timer.fire = vib_conn_deadline;
	conn->timer.arg = conn;
	conn->finish.fire = vib_conn_finish;
	conn->finish.arg = conn;
	conn->called.fire = conn_called;
	conn->called.arg = conn;
	id->context = conn;
	pthread_mutex_lock(&cm->lock);
	vib_list_add(&cm->conns, &conn->item);
	pthread_mutex_unlock(&cm->lock);
	return conn;
}

struct vib_conn *
vib_conn_new(struct vib_cm *cm)
{
	struct vib_conn *conn;
	struct rdma_cm_id *id;

	if (rdma_create_id(cm->channel, &id, NULL, RDMA_PS_TCP) != 0)
		return NULL;
	conn = vib_conn_adopt(cm, id);
	if (conn == NULL) {
		(void)rdma_destroy_id(id);
		errno = ENOMEM;
	}
	return conn;
}

/* The caller owns cm->lock. */
static bool
conn_move(struct vib_conn *conn, enum vib_step step, enum vib_action *action)
{
	enum vib_phase next = vib_phase_next(conn->phase, step, action);

	if (next == VIB_PHASE_NONE)
		return false;
	conn->before = conn->phase;
	conn->phase = next;
	return true;
}

bool
vib_conn_step(struct vib_conn *conn, enum vib_step step, enum vib_action *action,
	      struct vib_qp **qp)
{
	struct vib_cm *cm = conn->cm;
	bool moved;

	pthread_mutex_lock(&cm->lock);
	moved = conn_move(conn, step, action);
	*qp = conn->qp;
	pthread_mutex_unlock(&cm->lock);
	return moved;
}

void
vib_conn_free(struct vib_conn *conn)
{
	struct vib_cm *cm = conn->cm;
	const struct ri_host *host = cm->rnic->host;
	bool deferred;

	host->timer_stop(host->self, &conn->timer);
	host->task_stop(host->self, &conn->finish);
	pthread_mutex_lock(&cm->lock);
	vib_list_remove(&conn->item);
	deferred = conn->under_way || conn->calling;
	conn->deferred = deferred;
	if (deferred)
		vib_list_add(&cm->deferred, &conn->item);
	pthread_mutex_unlock(&cm->lock);
	if (deferred)
		return;
	if (conn->id != NULL)
		(void)rdma_destroy_id(conn->id);
	free(conn);
}

void
vib_conn_cut(struct vib_conn *conn)
{
	struct rdma_cm_id *id;

	pthread_mutex_lock(&conn->cm->lock);
	vib_cm_wait(conn->cm, conn);
	id = conn->id;
	conn->id = NULL;
	pthread_mutex_unlock(&conn->cm->lock);
	if (id != NULL)
		(void)rdma_destroy_id(id);
}

void
vib_cm_wait(struct vib_cm *cm, const void *owner)
{
	while (cm->busy == owner || cm->outer == owner)
		pthread_cond_wait(&cm->idle, &cm->lock);
}

/* The caller owns the lock. */
static void
busy_set(struct vib_cm *cm, const void *owner)
{
	cm->outer = cm->busy;
	cm->busy = owner;
}

void
vib_cm_busy(struct vib_cm *cm, const void *owner)
{
	pthread_mutex_lock(&cm->lock);
	busy_set(cm, owner);
	pthread_mutex_unlock(&cm->lock);
}

void
vib_cm_idle(struct vib_cm *cm)
{
	pthread_mutex_lock(&cm->lock);
	cm->busy = cm->outer;
	cm->outer = NULL;
	pthread_cond_broadcast(&cm->idle);
	pthread_mutex_unlock(&cm->lock);
}

void
vib_conn_free_deferred(struct vib_conn *conn)
{
	pthread_mutex_lock(&conn->cm->lock);
	vib_list_remove(&conn->item);
	pthread_mutex_unlock(&conn->cm->lock);
	(void)rdma_destroy_id(conn->id);
	free(conn);
}

/* --- calls of rdma_connect on threads of their own ---------------------------------------------- */

/* The caller has set `under_way` and `calling`, or the call is over. */
static void
call_count(struct vib_cm *cm, bool begins)
{
	pthread_mutex_lock(&cm->lock);
	cm->calls += begins ? 1 : UINT32_MAX;
	pthread_cond_broadcast(&cm->idle);
	pthread_mutex_unlock(&cm->lock);
}

/* On the thread of the call. */
static void
conn_connect(void *arg)
{
	struct vib_conn *conn = arg;
	const struct ri_host *host = conn->cm->rnic->host;
	bool wanted;

	/* The attempt may have been given up before this thread ran. */
	pthread_mutex_lock(&conn->cm->lock);
	wanted = conn->phase == VIB_PHASE_CONNECT;
	pthread_mutex_unlock(&conn->cm->lock);
	conn->error = ECANCELED;
	if (wanted)
		conn->error = rdma_connect(conn->id, &conn->param) == 0 ? 0 : errno;
	host->task_run(host->self, &conn->called);
}

int
vib_conn_call(struct vib_conn *conn)
{
	struct vib_cm *cm = conn->cm;
	int error;

	pthread_mutex_lock(&cm->lock);
	conn->under_way = true;
	conn->calling = true;
	pthread_mutex_unlock(&cm->lock);
	call_count(cm, true);
	error = vib_call_start(conn_connect, conn);
	if (error == 0)
		return 0;
	pthread_mutex_lock(&cm->lock);
	conn->under_way = false;
	conn->calling = false;
	pthread_mutex_unlock(&cm->lock);
	call_count(cm, false);
	return error;
}

/* On the service thread: the call has returned. Events of the connection may have come before. */
static void
conn_called(void *arg)
{
	struct vib_conn *conn = arg;
	struct vib_cm *cm = conn->cm;
	struct vib_qp *qp;
	bool finished;

	pthread_mutex_lock(&cm->lock);
	busy_set(cm, conn);
	conn->calling = false;
	if (conn->error != 0)
		conn->under_way = false;
	finished = conn->deferred && !conn->under_way;
	qp = conn->qp;
	pthread_mutex_unlock(&cm->lock);
	if (conn->error != 0 && qp != NULL && !vib_conn_again(conn, qp, conn->error))
		vib_conn_fail(conn, qp, "rdma_connect", conn->error);
	vib_cm_idle(cm);
	if (finished)
		vib_conn_free_deferred(conn);
	call_count(cm, false);
}

/* --- for the rest of the provider -------------------------------------------------------------- */

static void
cm_free(struct vib_cm *cm)
{
	if (cm->channel != NULL)
		rdma_destroy_event_channel(cm->channel);
	pthread_cond_destroy(&cm->idle);
	pthread_mutex_destroy(&cm->lock);
	free(cm);
}

enum ri_status
vib_cm_open(struct ri_rnic *rnic)
{
	struct vib_cm *cm = calloc(1, sizeof(*cm));
	enum ri_status status;

	if (cm == NULL)
		return RI_ERR_RESOURCES;
	cm->rnic = rnic;
	pthread_mutex_init(&cm->lock, NULL);
	pthread_cond_init(&cm->idle, NULL);
	vib_list_init(&cm->conns);
	vib_list_init(&cm->deferred);
	vib_list_init(&cm->queries);
	vib_list_init(&cm->listens);
	status = vib_channel_open(cm);
	if (status != RI_SUCCESS) {
		cm_free(cm);
		return status;
	}
	vib_follow_start(cm);
	rnic->cm = cm;
	return RI_SUCCESS;
}

void
vib_cm_stop(struct ri_rnic *rnic)
{
	if (rnic->cm == NULL)
		return;
	rnic->host->watch_stop(rnic->host->self, &rnic->cm->watch);
	vib_follow_stop(rnic->cm);
}

/* Deferred connections are destroyed here; with iWARP that may wait for the device's own time limit. */
void
vib_cm_close(struct ri_rnic *rnic)
{
	struct vib_cm *cm = rnic->cm;

	if (cm == NULL)
		return;
	vib_cm_stop(rnic);
	pthread_mutex_lock(&cm->lock);
	while (cm->calls != 0)
		pthread_cond_wait(&cm->idle, &cm->lock);
	pthread_mutex_unlock(&cm->lock);
	while (!vib_list_empty(&cm->deferred))
		vib_conn_free_deferred(vib_of(cm->deferred.next, struct vib_conn, item));
	rnic->cm = NULL;
	cm_free(cm);
}

void
vib_cm_context_end(struct ri_context *context)
{
	while (!vib_list_empty(&context->listens))
		vib_listen_destroy(vib_of(context->listens.next, struct ri_listen, item));
	vib_request_end_all(context);
	vib_query_end_all(context);
}

/* Has the peer replied, and waits for the confirmation? */
static bool
peer_waits(struct vib_qp *qp)
{
	struct vib_cm *cm = qp->pd->context->rnic->cm;
	bool waits;

	pthread_mutex_lock(&cm->lock);
	pthread_mutex_lock(&qp->lock);
	waits = qp->conn != NULL &&
		(qp->conn->phase == VIB_PHASE_REPLIED || qp->conn->phase == VIB_PHASE_CONFIRM);
	pthread_mutex_unlock(&qp->lock);
	pthread_mutex_unlock(&cm->lock);
	return waits;
}

void
vib_cm_forget(struct vib_qp *qp)
{
	struct vib_conn *conn;

	/* The kernel would refuse the reply as if the application had. */
	if (peer_waits(qp))
		vib_cm_abort(qp);
	pthread_mutex_lock(&qp->lock);
	conn = qp->conn;
	qp->conn = NULL;
	pthread_mutex_unlock(&qp->lock);
	if (conn == NULL)
		return;
	pthread_mutex_lock(&conn->cm->lock);
	conn->qp = NULL;
	vib_cm_wait(conn->cm, conn);
	pthread_mutex_unlock(&conn->cm->lock);
	vib_conn_free(conn);
}

bool
vib_cm_in_time_wait(struct vib_qp *qp)
{
	return qp->conn != NULL && atomic_load(&qp->conn->time_wait);
}

/* On the service thread: the connection of a queue pair, which has an id, marked as busy; NULL: none. Ends with vib_cm_idle. */
static struct vib_conn *
conn_of_qp(struct vib_cm *cm, struct vib_qp *qp)
{
	struct vib_conn *conn;

	pthread_mutex_lock(&cm->lock);
	pthread_mutex_lock(&qp->lock);
	conn = qp->conn;
	pthread_mutex_unlock(&qp->lock);
	if (conn != NULL && conn->id == NULL)
		conn = NULL;
	if (conn != NULL)
		busy_set(cm, conn);
	pthread_mutex_unlock(&cm->lock);
	return conn;
}

void
vib_cm_comm_est(struct vib_qp *qp)
{
	struct vib_cm *cm = qp->pd->context->rnic->cm;
	struct vib_conn *conn = conn_of_qp(cm, qp);

	if (conn == NULL)
		return;
	(void)rdma_notify(conn->id,
			  IBV_EVENT_COMM_EST); /* it may have been established meanwhile */
	vib_cm_idle(cm);
}

/* The next connection that a loss of the device ends, marked as busy and moved; NULL: all are ended. */
static struct vib_conn *
conn_next_lost(struct vib_cm *cm, enum vib_action *action, struct vib_qp **qp)
{
	struct vib_conn *found = NULL;

	pthread_mutex_lock(&cm->lock);
	for (struct vib_item *i = cm->conns.next; i != &cm->conns; i = i->next) {
		struct vib_conn *conn = vib_of(i, struct vib_conn, item);

		if (conn->qp != NULL && conn_move(conn, VIB_STEP_REMOVED, action)) {
			*qp = conn->qp;
			found = conn;
			break;
		}
	}
	if (found != NULL)
		busy_set(cm, found);
	pthread_mutex_unlock(&cm->lock);
	return found;
}

void
vib_cm_device_gone(struct ri_rnic *rnic)
{
	struct vib_cm *cm = rnic->cm;
	struct vib_conn *conn;
	enum vib_action action;
	struct vib_qp *qp;

	while (cm != NULL && (conn = conn_next_lost(cm, &action, &qp)) != NULL) {
		vib_conn_do(conn, action, qp, NULL);
		vib_cm_idle(cm);
	}
}

void
vib_cm_profile(const struct ri_rnic *rnic, struct ri_rnic_attr *attr)
{
	attr->cm_forms = RI_CM_ADDRESS | (rnic->iwarp ? 0 : RI_CM_PEER);
	attr->cm_number = !rnic->iwarp;
	attr->three_way_handshake = !rnic->iwarp;
	attr->initiator_first = rnic->iwarp;
	attr->has_time_wait = !rnic->iwarp;
	attr->ird_ord_exchange = true;
	attr->ird_ord_suppressible = false;
	attr->connect_pdata = rnic->iwarp ? VIB_PDATA_IWARP : VIB_PDATA_REQUEST;
	attr->accept_pdata = rnic->iwarp ? VIB_PDATA_IWARP : VIB_PDATA_REPLY;
	attr->reject_pdata = rnic->iwarp ? VIB_PDATA_IWARP : VIB_PDATA_REJECT;
	attr->confirm_pdata = 0;    /* librdmacm sends RTU and DREQ without */
	attr->disconnect_pdata = 0; /* and takes none for a FIN */
	attr->addr_ip = true;
	attr->addr_gid = false;
	attr->ud_request_pdata = rnic->iwarp ? 0 : VIB_PDATA_QUERY;
	attr->ud_reply_pdata = rnic->iwarp ? 0 : VIB_PDATA_ANSWER;
}

const struct ri_cm_ops vib_cm_ops = {
	.size = sizeof(struct ri_cm_ops),
	.listen = vib_listen,
	.listen_destroy = vib_listen_destroy,
	.connect = vib_connect,
	.accept = vib_accept,
	.reject = vib_reject,
	.confirm = vib_confirm,
	.disconnect = vib_disconnect,
	.resolve = vib_resolve,
	.resolve_cancel = vib_resolve_cancel,
	.resolve_answer = vib_resolve_answer,
};
