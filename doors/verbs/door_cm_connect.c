/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Connections: the commands that make and end them.
 *
 * Usually the number in a command is that of a queue pair of verbs, which the kAL connects. On iWARP the set-up has two
 * messages, and ESTABLISHED tells the program that it is complete. On InfiniBand it has three messages. The active side
 * gets CONNECT_RESPONSE after the second one, and an ACCEPT without parameters sends the third: librdmacm does so by
 * itself, unless the id has no queue pair of librdmacm.
 *
 * A number that no queue pair of the door has is the program's own. Adapters with ri_rnic_attr::cm_number exchange it
 * with the peer, by an RI_QP_NUMBER of the id, and the program brings its queue pair up with the attributes that
 * INIT_QP_ATTR answers.
 */
#include <errno.h>
#include <string.h>

#include <glib.h>

#include "door_cm_internal.h"
#include "door_status.h"

#define MILLISECOND G_GUINT64_CONSTANT(1000000) /* in ns */
/* How long a refused attempt is repeated. On a busy machine perftest takes more than half a second to open its second listener. */
#define PATIENCE_MS 2000
#define LEAVE_MS \
	3000 /* how long a queue pair is kept for the end of its connection: a busy peer takes its time */
#define BUDGET 16 /* of a look at the engine */

/* --- the queue pair of an id ---------------------------------------------------------------------------- */

/* A connection of an id that is over keeps the id's queue pair. If the program connects the queue pair by another id, it is that id's. */
static void
leave_old_id(struct door_adapter *adapter, uint32_t qpn)
{
	struct door_qp *qp;
	struct door_cm_id *old = NULL;

	pthread_mutex_lock(&adapter->slots.lock);
	door_cm_lock();
	qp = door_qp_numbered(adapter, qpn);
	if (qp != NULL && qp->cm != NULL && qp->cm->state == DOOR_CM_ENDED) {
		old = qp->cm;
		old->refs++;
	}
	door_cm_unlock();
	pthread_mutex_unlock(&adapter->slots.lock);
	/* The caller owns the lock of another id. So a busy one keeps its queue pair, and the command fails. */
	if (old != NULL && pthread_mutex_trylock(&old->control) == 0) {
		pthread_mutex_lock(&adapter->slots.lock);
		if (old->qp == qp) {
			qp->cm = NULL;
			old->qp = NULL;
		}
		pthread_mutex_unlock(&adapter->slots.lock);
		pthread_mutex_unlock(&old->control);
	}
	if (old != NULL)
		door_cm_id_put(old);
}

/* Let the id have the connected queue pair of that number. 0 or an errno; *kal_qp 0: there is none. */
static int
attach(struct door_cm_id *id, uint32_t qpn, uint32_t *kal_qp)
{
	struct door_adapter *adapter = id->adapter;
	struct door_qp *qp;
	int error = 0;

	*kal_qp = 0;
	leave_old_id(adapter, qpn);
	pthread_mutex_lock(&adapter->slots.lock);
	qp = door_qp_numbered(adapter, qpn);
	if (qp != NULL && qp->qp.qp_type != IBV_QPT_RC)
		qp = NULL;
	if (qp != NULL && qp->cm != NULL && qp->cm != id)
		error = EINVAL;
	if (qp != NULL && error == 0) {
		qp->cm = id;
		id->qp = qp;
		*kal_qp = qp->id;
	}
	pthread_mutex_unlock(&adapter->slots.lock);
	return error;
}

static void
detach(struct door_cm_id *id)
{
	if (id->adapter == NULL)
		return;
	pthread_mutex_lock(&id->adapter->slots.lock);
	if (id->qp != NULL)
		id->qp->cm = NULL;
	id->qp = NULL;
	pthread_mutex_unlock(&id->adapter->slots.lock);
}

/* The kAL's queue pair of an id, which exists as long as the caller owns door_cm_id::control; 0: it has none. */
static uint32_t
kal_qp_of(struct door_cm_id *id)
{
	return id->qp != NULL ? id->qp->id : id->number_qp;
}

/* Show the program the state of its queue pair. */
static void
show(struct door_cm_id *id, void (*state)(struct door_qp *qp))
{
	pthread_mutex_lock(&id->adapter->slots.lock);
	if (id->qp != NULL)
		state(id->qp);
	pthread_mutex_unlock(&id->adapter->slots.lock);
}

/* --- a queue pair of the program ----------------------------------------------------------------------------- */

static void
number_close(struct door_cm_id *id)
{
	struct session *session = &id->adapter->session;

	if (id->number_qp != 0)
		(void)!session_call_id(session, KAL_QP_DESTROY, id->number_qp);
	if (id->pd != 0)
		(void)!session_call_id(session, KAL_PD_DESTROY, id->pd);
	id->number_qp = id->pd = 0;
}

/* Make what stands for a queue pair of the program with that number; 0 or an errno. */
static int
number_open(struct door_cm_id *id, uint32_t qpn)
{
	struct session *session = &id->adapter->session;
	const struct kal_id_req rnic = {.id = session->rnic};
	struct kal_qp_create_req req = {.init = {.type = RI_QP_NUMBER,
						 .qkey = qpn,
						 .ird = session->attr.max_ird,
						 .ord = session->attr.max_ord}};
	struct kal_qp_create_rep rep;
	struct kal_id_rep pd;
	enum ri_status status;

	if (!session->attr.cm_number)
		return EINVAL;
	if (id->query == 0)
		id->query = door_slot_enter(&id->adapter->slots, DOOR_QUERY, id);
	if (id->query == 0)
		return ENOMEM;
	status = session_call(session, KAL_PD_CREATE, &rnic, sizeof(rnic), &pd, sizeof(pd));
	if (status != RI_SUCCESS)
		return door_errno(status);
	id->pd = req.pd = pd.id;
	req.init.ctx = id->query;
	status = session_call(session, KAL_QP_CREATE, &req, sizeof(req), &rep, sizeof(rep));
	if (status != RI_SUCCESS) {
		number_close(id);
		return door_errno(status);
	}
	id->number_qp = rep.id;
	return 0;
}

/* Find what is connected: 0 and its number of the kAL, or an errno. */
static int
qp_take(struct door_cm_id *id, uint32_t qpn, uint32_t *kal_qp)
{
	int error = attach(id, qpn, kal_qp);

	if (error == 0 && *kal_qp == 0) {
		error = number_open(id, qpn);
		*kal_qp = id->number_qp;
	}
	return error;
}

static void
qp_give_back(struct door_cm_id *id)
{
	detach(id);
	number_close(id);
}

/* --- CONNECT --------------------------------------------------------------------------------------------------- */

void
door_cm_connect_begin(struct door_cm_id *id)
{
	const struct ri_host *host = door_cm_host(id);

	door_cm_lock();
	id->give_up = host->now(host->self) + PATIENCE_MS * MILLISECOND;
	id->state = DOOR_CM_CONNECTING;
	door_cm_unlock();
}

/* Has the queue pair nothing posted? Otherwise a failed attempt would flush it, and another try would find it empty. */
static bool
is_quiescent(struct session *session, uint32_t kal_qp)
{
	const struct kal_id_req req = {.id = kal_qp};
	struct ri_qp_attr attr;

	return session_call(session, KAL_QP_QUERY, &req, sizeof(req), &attr, sizeof(attr)) ==
		       RI_SUCCESS &&
	       attr.quiescent;
}

int
door_cm_ack_timeout(struct door_cm_id *id, uint8_t code)
{
	if (code > KAL_ACK_TIMEOUT_MAX)
		return EINVAL;
	id->ack_timed = true;
	id->ack_timeout = code;
	return 0;
}

/* The time-out of acknowledgements for kal_cm_req. 0 of the program, which means none, becomes the longest one. */
static uint8_t
ack_timeout_of(const struct door_cm_id *id)
{
	if (!id->ack_timed)
		return 0;
	return id->ack_timeout != 0 ? id->ack_timeout : KAL_ACK_TIMEOUT_MAX;
}

/* A count of tries has three bits: the kernel takes 7 for each that is larger. */
static uint8_t
tries_of(uint8_t count)
{
	return MIN(count, KAL_RETRIES_MAX);
}

static void
fill_connect(struct door_cm_id *id, uint32_t kal_qp, const struct rdma_ucm_conn_param *param)
{
	const struct ri_rnic_attr *attr = &id->adapter->session.attr;
	struct kal_cm_req *req = &id->connect;

	*req = (struct kal_cm_req){.qp = kal_qp,
				   .ird = param->responder_resources,
				   .ord = param->initiator_depth,
				   .port = id->spigot,
				   .three_way = attr->three_way_handshake,
				   .reuse_addr = 1, /* the id's own reservation has the port */
				   .local = id->local,
				   .peer = id->peer,
				   .service = door_cm_service(id, *door_cm_port(&id->dest)),
				   .retries = 1,
				   .retry_count = tries_of(param->retry_count),
				   .rnr_retry = tries_of(param->rnr_retry_count),
				   .pdata_len = param->private_data_len};
	req->service.local_port = *door_cm_port(&id->source);
	req->ack_timeout = ack_timeout_of(id);
	memcpy(req->pdata, param->private_data, req->pdata_len);
	if ((attr->cm_forms & RI_CM_STREAM) != 0)
		req->refused_ms = PATIENCE_MS;
}

/* The first call. The port that was chosen for the program may be one that the host still remembers: then any will do. */
static enum ri_status
call_connect(struct door_cm_id *id)
{
	struct session *session = &id->adapter->session;
	struct kal_cm_req *req = &id->connect;
	enum ri_status status;

	door_cm_port_share(id);
	status = session_call(session, KAL_CONNECT, req, sizeof(*req), NULL, 0);
	if ((status != RI_ERR_TIME_WAIT && status != RI_ERR_IN_USE) || id->port_given)
		return status;
	req->service.local_port = 0;
	return session_call(session, KAL_CONNECT, req, sizeof(*req), NULL, 0);
}

int
door_cm_connect(struct door_cm_id *id, const struct rdma_ucm_conn_param *param)
{
	enum ri_status status;
	uint32_t kal_qp;
	int error;

	if (door_cm_id_state(id) != DOOR_CM_ROUTE_RESOLVED)
		return EINVAL;
	if (door_cm_is_ud(id))
		return door_cm_ud_connect(id, param);
	if (param->private_data_len > id->adapter->session.attr.connect_pdata)
		return EINVAL;
	error = qp_take(id, param->qp_num, &kal_qp);
	if (error != 0)
		return error;
	fill_connect(id, kal_qp, param);
	door_cm_lock();
	id->may_retry = false;
	door_cm_unlock();
	if (id->connect.refused_ms == 0 && is_quiescent(&id->adapter->session, kal_qp)) {
		door_cm_lock();
		id->may_retry = true;
		door_cm_unlock();
	}
	door_cm_connect_begin(id);
	status = call_connect(id);
	if (status == RI_SUCCESS) {
		/* The connection has the port now. */
		if (!id->reuse)
			door_cm_port_release(id);
		return 0;
	}
	door_cm_port_unshare(id);
	door_cm_id_set(id, DOOR_CM_ROUTE_RESOLVED);
	qp_give_back(id);
	return status == RI_ERR_TIME_WAIT ? EADDRNOTAVAIL : door_errno(status);
}

/* --- a refusal is repeated -------------------------------------------------------------------------------------- */

/* Under door_cm_id::control. RI_ERR_STILL_FLUSHING, RI_ERR_TIME_WAIT: a moment later. */
static enum ri_status
connect_again(struct door_cm_id *id)
{
	struct session *session = &id->adapter->session;
	const struct kal_qp_modify_req idle = {
		.id = kal_qp_of(id),
		.mask = RI_QP_ATTR_STATE,
		.attr = {.state = RI_QPS_IDLE, .skip_time_wait = true}};
	enum ri_status status;

	if (door_cm_is_ud(id))
		return door_cm_ud_ask(id) == 0 ? RI_SUCCESS : RI_ERR_NO_ROUTE;
	status = session_call(session, KAL_QP_MODIFY, &idle, sizeof(idle), NULL, 0);
	if (status != RI_SUCCESS)
		return status;
	return session_call(session, KAL_CONNECT, &id->connect, sizeof(id->connect), NULL, 0);
}

/* door_cm_id::retry, on the service thread, which waits for nobody. */
static void
retry(void *arg)
{
	struct door_cm_id *id = (struct door_cm_id *)arg;
	bool owned = pthread_mutex_trylock(&id->control) == 0, wanted;
	enum ri_status status = RI_ERR_STILL_FLUSHING;
	const struct ri_host *host;

	door_cm_lock();
	/* A thread that stops this timer changes one of these first. */
	wanted = !id->dying && id->state == DOOR_CM_CONNECTING;
	door_cm_unlock();
	if (owned && wanted)
		status = connect_again(id);
	if (wanted && (status == RI_ERR_STILL_FLUSHING || status == RI_ERR_TIME_WAIT)) {
		host = door_cm_host(id);
		host->timer_start(host->self, &id->retry, host->now(host->self) + MILLISECOND);
	} else if (wanted && status != RI_SUCCESS) {
		show(id, door_qp_ended);
		door_cm_lock();
		door_cm_failed(id, KAL_REASON_REFUSED);
		door_cm_unlock();
	}
	if (owned)
		pthread_mutex_unlock(&id->control);
}

void
door_cm_retry_init(struct door_cm_id *id)
{
	id->retry.fire = retry;
	id->retry.arg = id;
}

/* No other try begins. The state of the id says so already. */
static void
retry_stop(struct door_cm_id *id)
{
	const struct ri_host *host = door_cm_host(id);

	host->timer_stop(host->self, &id->retry);
}

/* --- ACCEPT ----------------------------------------------------------------------------------------------------- */

/* The kAL's call; the request is answered then. */
static int
call_accept(struct door_cm_id *id, uint32_t kal_qp, const struct rdma_ucm_conn_param *param)
{
	struct kal_cm_req req = {.qp = kal_qp,
				 .request = id->request,
				 .ack_timeout = ack_timeout_of(id),
				 .retries = 1,
				 .rnr_retry = tries_of(param->rnr_retry_count),
				 .ird = param->responder_resources,
				 .ord = param->initiator_depth,
				 .pdata_len = param->private_data_len};
	struct kal_accept_rep rep;
	enum ri_status status;

	memcpy(req.pdata, param->private_data, req.pdata_len);
	status = session_call(&id->adapter->session, KAL_ACCEPT, &req, sizeof(req), &rep,
			      sizeof(rep));
	return status == RI_ERR_INVALID_HANDLE ? ENOTCONN : door_errno(status);
}

/* Accept the request with a queue pair; 0 or an errno. */
static int
accept_with(struct door_cm_id *id, const struct rdma_ucm_conn_param *param)
{
	uint32_t kal_qp;
	int error = qp_take(id, param->qp_num, &kal_qp);

	if (error != 0)
		return error;
	/* Events may come before the call returns. */
	door_cm_id_set(id, DOOR_CM_CONNECTING);
	error = call_accept(id, kal_qp, param);
	if (error == 0) {
		door_cm_lock();
		door_cm_request_done(id);
		door_cm_unlock();
		/* What the program posts from now on waits for the connection. */
		show(id, door_qp_connected);
	} else {
		qp_give_back(id);
	}
	return error;
}

int
door_cm_accept(struct door_cm_id *id, uint64_t uid, const struct rdma_ucm_conn_param *param)
{
	struct door_cm_ud_answer answer = {param->qp_num, param->private_data,
					   param->private_data_len};
	uint64_t before;
	int error;
	bool gone;

	door_cm_lock();
	before = id->uid;
	error = id->state == DOOR_CM_REQUESTED ? 0 : EINVAL;
	gone = id->request_gone;
	if (error == 0) /* events may come before the call returns */
		id->uid = uid;
	door_cm_unlock();
	if (error != 0)
		return error;
	if (gone)
		error = ENOTCONN;
	else if (door_cm_is_ud(id))
		error = door_cm_ud_answer(id, RI_SERVICE_FOUND, &answer);
	else
		error = accept_with(id, param);
	if (error == 0)
		return 0;
	/* As with the kernel, a failure is a rejection. */
	door_cm_request_refuse(id);
	door_cm_lock();
	id->uid = before;
	id->state = DOOR_CM_ENDED;
	door_cm_unlock();
	return error;
}

/* Under door_cm_id::control: the third message; refuse: reject instead. */
static int
call_confirm(struct door_cm_id *id, bool refuse, const uint8_t *data, uint8_t length)
{
	struct kal_cm_req req = {.qp = kal_qp_of(id), .refuse = refuse, .pdata_len = length};
	enum ri_status status;

	if (req.qp == 0)
		return ENOTCONN;
	if (length > 0)
		memcpy(req.pdata, data, length);
	status = session_call(&id->adapter->session, KAL_CONFIRM, &req, sizeof(req), NULL, 0);
	return status == RI_ERR_INVALID_STATE ? ENOTCONN : door_errno(status);
}

int
door_cm_confirm(struct door_cm_id *id)
{
	int error;

	if (door_cm_id_state(id) != DOOR_CM_REPLIED)
		return EINVAL;
	error = call_confirm(id, false, NULL, 0);
	if (error != 0)
		return error;
	show(id, door_qp_connected);
	door_cm_lock();
	if (id->state == DOOR_CM_REPLIED)
		id->state = DOOR_CM_UP;
	door_cm_unlock();
	return 0;
}

/* --- REJECT ----------------------------------------------------------------------------------------------------- */

static int
call_reject(struct door_cm_id *id, const uint8_t *data, uint8_t length)
{
	struct kal_cm_req req = {
		.request = id->request, .reason = KAL_REASON_CONSUMER, .pdata_len = length};
	enum ri_status status;

	if (length > id->adapter->session.attr.reject_pdata)
		return EINVAL;
	memcpy(req.pdata, data, length);
	status = session_call(&id->adapter->session, KAL_REJECT, &req, sizeof(req), NULL, 0);
	/* Without a peer any more there is nothing to reject. */
	if (status != RI_SUCCESS && status != RI_ERR_INVALID_HANDLE)
		return door_errno(status);
	door_cm_lock();
	door_cm_request_done(id);
	door_cm_unlock();
	return 0;
}

int
door_cm_reject(struct door_cm_id *id, const uint8_t *data, uint8_t length)
{
	const struct door_cm_ud_answer answer = {0, data, length};
	enum door_cm_state state = door_cm_id_state(id);
	int error = 0;

	if (state == DOOR_CM_REPLIED)
		error = call_confirm(id, true, data, length);
	else if (state != DOOR_CM_REQUESTED)
		error = EINVAL;
	else if (id->request_gone)
		error = 0;
	else if (door_cm_is_ud(id))
		error = door_cm_ud_answer(id, RI_SERVICE_REJECTED, &answer);
	else
		error = call_reject(id, data, length);
	if (error == ENOTCONN)
		error = 0;
	if (error == 0)
		door_cm_id_set(id, DOOR_CM_ENDED);
	return error;
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

int
door_cm_disconnect(struct door_cm_id *id)
{
	struct kal_cm_req req = {.qp = 0};
	enum door_cm_state state;
	bool may;

	door_cm_lock();
	state = id->state;
	/* iWARP has no way to end a set-up; of InfiniBand's nothing may come up any more. */
	may = !door_cm_is_ud(id) &&
	      (state == DOOR_CM_UP || (id->adapter != NULL && !door_cm_is_iwarp(id->adapter) &&
				       (state == DOOR_CM_CONNECTING || state == DOOR_CM_REPLIED)));
	if (may)
		id->state = DOOR_CM_CLOSING;
	door_cm_unlock();
	if (!may)
		return state == DOOR_CM_CLOSING || state == DOOR_CM_ENDED ? 0 : EINVAL;
	retry_stop(id);
	req.qp = kal_qp_of(id);
	/* A failure means that it has ended already, and that the event is on its way. */
	if (req.qp != 0)
		(void)!session_call(&id->adapter->session, KAL_DISCONNECT, &req, sizeof(req), NULL,
				    0);
	return 0;
}

/* The connection or attempt of an id that goes away. iWARP resets a connection; InfiniBand's ends in order. */
static void
cut_off(struct door_cm_id *id)
{
	struct session *session = &id->adapter->session;
	const struct kal_cm_req end = {.qp = kal_qp_of(id)};
	const struct kal_qp_modify_req error = {
		.id = end.qp, .mask = RI_QP_ATTR_STATE, .attr = {.state = RI_QPS_ERROR}};

	if (end.qp == 0)
		return;
	if (door_cm_is_iwarp(id->adapter) && door_cm_id_state(id) == DOOR_CM_UP)
		(void)!session_call(session, KAL_QP_MODIFY, &error, sizeof(error), NULL, 0);
	else
		(void)!session_call(session, KAL_DISCONNECT, &end, sizeof(end), NULL, 0);
}

void
door_cm_hang_up(struct door_cm_id *id)
{
	enum door_cm_state state = door_cm_id_state(id);

	if (id->adapter == NULL)
		return;
	door_cm_request_refuse(id);
	if (door_cm_is_ud(id))
		door_cm_ud_end(id);
	else if (state == DOOR_CM_CONNECTING || state == DOOR_CM_REPLIED || state == DOOR_CM_UP)
		cut_off(id);
	detach(id);
	if (id->query != 0)
		door_slot_leave(&id->adapter->slots, id->query);
	id->query = 0;
	/* Now no dispatch finds the id, so none starts the timer. */
	retry_stop(id);
	number_close(id);
}

/* iWARP completes a request before its octets have arrived: a reset would throw away those that are under way. */
static void
end_in_order(struct door_cm_id *id, const struct door_qp *qp)
{
	pthread_mutex_lock(&id->control);
	/* Meanwhile a command may have given the id another queue pair. */
	if (id->qp == qp && door_cm_id_state(id) == DOOR_CM_UP)
		(void)door_cm_disconnect(id);
	pthread_mutex_unlock(&id->control);
}

/*
 * Wait until a connection that is being closed has ended. Meanwhile this thread runs the provider's
 * engine, since the rest of the data may still have to be sent, and no other thread may be running
 * it.
 */
static void
await_end(struct door_cm_id *id, struct session *session)
{
	uint64_t until = session_now(session) + LEAVE_MS * MILLISECOND;

	while (door_cm_id_state(id) == DOOR_CM_CLOSING && session_now(session) < until) {
		if (session->attr.software)
			(void)session_progress(session, BUDGET);
		door_cm_lock();
		if (id->state == DOOR_CM_CLOSING)
			door_cm_wait_ended(MILLISECOND);
		door_cm_unlock();
	}
}

/* The queue pair leaves its id. */
static void
leave(struct door_cm_id *id, struct door_qp *qp)
{
	bool ours;

	pthread_mutex_lock(&id->control);
	pthread_mutex_lock(&qp->adapter->slots.lock);
	door_cm_lock();
	ours = id->qp == qp;
	if (ours) {
		id->qp = NULL;
		qp->cm = NULL;
		if (id->state == DOOR_CM_UP || id->state == DOOR_CM_CLOSING)
			door_cm_over(id);
		id->state = DOOR_CM_ENDED;
		/* Without the queue pair no event reports the end of the time-wait. */
		door_cm_wait_over(id);
	}
	door_cm_unlock();
	pthread_mutex_unlock(&qp->adapter->slots.lock);
	if (ours)
		retry_stop(id);
	pthread_mutex_unlock(&id->control);
}

void
door_cm_qp_leaves(struct door_qp *qp)
{
	struct door_adapter *adapter = qp->adapter;
	struct door_cm_id *id;

	/* In the child of a fork the ids of its parent are nobody's. */
	if (adapter->inherited)
		return;
	pthread_mutex_lock(&adapter->slots.lock);
	id = qp->cm;
	if (id != NULL) {
		door_cm_lock();
		id->refs++;
		door_cm_unlock();
	}
	pthread_mutex_unlock(&adapter->slots.lock);
	if (id == NULL)
		return;
	if (door_cm_is_iwarp(adapter))
		end_in_order(id, qp);
	await_end(id, &adapter->session);
	leave(id, qp);
	door_cm_id_put(id);
}

/* --- INIT_QP_ATTR --------------------------------------------------------------------------------------------------- */

static uint32_t
mtu_code(uint32_t octets)
{
	uint32_t code = IBV_MTU_256;

	while (code < IBV_MTU_4096 && 256u << (code - IBV_MTU_256) < octets)
		code++;
	return code;
}

/* What the peer has said: false if it has said nothing. The masks stay the caller's. */
static bool
attr_of_peer(struct door_cm_id *id, struct ib_uverbs_qp_attr *attr)
{
	struct ri_peer reach;

	door_cm_lock();
	reach = id->reach;
	door_cm_unlock();
	if (reach.qpn == 0)
		return false;
	if (attr->qp_state == IBV_QPS_RTR) {
		door_cm_ah_attr(id, &id->dgid, &attr->ah_attr);
		attr->path_mtu = mtu_code(reach.path_mtu);
		attr->dest_qp_num = reach.qpn;
		attr->rq_psn = reach.rq_psn;
		attr->max_dest_rd_atomic = (uint8_t)MIN(reach.ird, UINT8_MAX);
		attr->min_rnr_timer = reach.min_rnr_timer;
	} else {
		attr->sq_psn = reach.sq_psn;
		attr->timeout = id->ack_timed ? id->ack_timeout : reach.timeout;
		attr->retry_cnt = reach.retry_count;
		attr->rnr_retry = reach.rnr_retry;
		attr->max_rd_atomic = (uint8_t)MIN(reach.ord, UINT8_MAX);
	}
	return true;
}

/*
 * INIT_QP_ATTR for a queue pair that the kAL connects, or before the program has named one.
 * librdmacm moves such a queue pair through states without effect, so the mask leaves out the
 * attributes that the kAL sets. The peer's attributes are filled in for a program that reads them,
 * as UCX does with those of a request.
 */
static int
attr_connected(struct door_cm_id *id, struct ib_uverbs_qp_attr *attr)
{
	switch (attr->qp_state) {
	case IBV_QPS_RTR:
		(void)!attr_of_peer(id, attr);
		atomic_store(&id->adapter->by_cm, true);
		/* fall through */
	case IBV_QPS_INIT:
		attr->qp_attr_mask = IBV_QP_STATE | IBV_QP_ACCESS_FLAGS;
		attr->qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
		return 0;
	case IBV_QPS_RTS:
		(void)!attr_of_peer(id, attr);
		return 0;
	default:
		return EINVAL;
	}
}

/* For a queue pair of the program. */
static int
attr_own(struct door_cm_id *id, struct ib_uverbs_qp_attr *attr)
{
	switch (attr->qp_state) {
	case IBV_QPS_INIT:
		attr->qp_attr_mask =
			IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
		attr->qp_access_flags =
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
		return 0;
	case IBV_QPS_RTR:
		attr->qp_attr_mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER;
		return attr_of_peer(id, attr) ? 0 : EINVAL;
	case IBV_QPS_RTS:
		attr->qp_attr_mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
		return attr_of_peer(id, attr) ? 0 : EINVAL;
	default:
		return EINVAL;
	}
}

int
door_cm_init_qp_attr(struct door_cm_id *id, struct ib_uverbs_qp_attr *attr)
{
	if (id->adapter == NULL)
		return EINVAL;
	attr->port_num = (uint8_t)(id->spigot + 1);
	if (door_cm_is_ud(id)) {
		attr->qp_attr_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
		attr->qkey = DOOR_CM_QKEY;
		return 0;
	}
	return id->number_qp != 0 ? attr_own(id, attr) : attr_connected(id, attr);
}
