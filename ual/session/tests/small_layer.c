/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "small_layer.h"

#include <glib.h>
#include <string.h>

#include "session_wait.h"

#define ENTRIES         64
#define PROGRESS_BUDGET 16
#define PATIENCE_US     (20 * G_USEC_PER_SEC)

/* --- channels ------------------------------------------------------------------------------- */

static void
channel_begin(struct small *small, struct small_channel *channel, bool driven)
{
	channel->small = small;
	channel->driven = driven;
	pthread_mutex_init(&channel->lock, NULL);
	session_spin_init(&channel->spin);
}

/* Under the lock. */
static void
channel_wake(const struct small_channel *channel)
{
	if (channel->count > 0 && channel->line.first != NULL)
		session_sleep_wake(channel->line.first);
}

static void
channel_put(struct small_channel *channel, const struct kal_event *event)
{
	pthread_mutex_lock(&channel->lock);
	g_assert_cmpuint(channel->count, <, SMALL_EVENTS);
	channel->events[(channel->first + channel->count++) % SMALL_EVENTS] = *event;
	channel_wake(channel);
	pthread_mutex_unlock(&channel->lock);
}

/* Only the first of the line takes an event; waiter NULL: only if there is no line. */
static bool
channel_take(struct small_channel *channel, const struct session_waiter *waiter,
	     struct kal_event *event)
{
	bool taken;

	pthread_mutex_lock(&channel->lock);
	taken = channel->count > 0 && channel->line.first == waiter;
	if (taken) {
		*event = channel->events[channel->first];
		channel->first = (channel->first + 1) % SMALL_EVENTS;
		channel->count--;
	}
	pthread_mutex_unlock(&channel->lock);
	return taken;
}

struct sought {
	struct small_channel *channel;
	struct kal_event *event;
};

static bool
look(void *arg)
{
	const struct sought *sought = (const struct sought *)arg;

	if (sought->channel->driven)
		(void)session_progress(&sought->channel->small->session, PROGRESS_BUDGET);
	return channel_take(sought->channel, NULL, sought->event);
}

static void
line_leave(void *arg, struct session_waiter *waiter)
{
	struct small_channel *channel = (struct small_channel *)arg;

	pthread_mutex_lock(&channel->lock);
	session_line_leave(&channel->line, waiter);
	channel_wake(channel);
	pthread_mutex_unlock(&channel->lock);
}

static enum ri_status
sleep_for_event(struct small_channel *channel, uint64_t deadline, struct kal_event *event)
{
	struct session *session = &channel->small->session;
	struct session_waiter *waiter =
		session_sleep_enter(session, channel->driven, line_leave, channel);
	enum ri_status slept = RI_SUCCESS;
	bool taken;

	if (waiter == NULL)
		return atomic_load(&session->closing) ? RI_ERR_FATAL : RI_ERR_RESOURCES;
	pthread_mutex_lock(&channel->lock);
	session_line_join(&channel->line, waiter);
	pthread_mutex_unlock(&channel->lock);
	/* An event that came with the deadline is taken. */
	while (!(taken = channel_take(channel, waiter, event)) && slept == RI_SUCCESS)
		slept = session_sleep(waiter, deadline);
	line_leave(channel, waiter);
	session_sleep_leave(waiter);
	return taken ? RI_SUCCESS : slept;
}

enum ri_status
small_get(struct small_channel *channel, uint64_t timeout_us, struct kal_event *event)
{
	struct sought sought = {channel, event};
	struct session_wait wait;
	enum ri_status status;

	session_wait_begin(&wait, &channel->small->session, channel->driven ? &channel->spin : NULL,
			   timeout_us);
	if (look(&sought) || session_wait_awake(&wait, look, &sought))
		return RI_SUCCESS;
	if (timeout_us == 0)
		return RI_ERR_TIMEOUT;
	status = sleep_for_event(channel, wait.deadline, event);
	if (status == RI_SUCCESS)
		session_wait_slept(&wait);
	return status;
}

/* --- the table of objects --------------------------------------------------------------------- */

static uint64_t
object_enter(struct small *small, struct small_channel *channel)
{
	uint64_t ctx = 0;

	pthread_mutex_lock(&small->lock);
	while (small->objects[ctx] != NULL)
		g_assert_cmpuint(++ctx, <, SMALL_OBJECTS);
	small->objects[ctx] = channel;
	pthread_mutex_unlock(&small->lock);
	return ctx;
}

/* No later event finds the object. */
static void
object_hide(struct small *small, uint64_t ctx)
{
	pthread_mutex_lock(&small->lock);
	small->objects[ctx] = NULL;
	pthread_mutex_unlock(&small->lock);
}

/*
 * Which object the event is for. Events of the adapter and of its spigots have no context of ours.
 */
static uint64_t
object_of(const struct kal_event *event)
{
	bool own = event->kind == KAL_EVENT_ASYNC && (event->u.async.object == RI_OBJECT_RNIC ||
						      event->u.async.object == RI_OBJECT_PORT);

	return own ? 0 : event->ctx;
}

/* session_params::dispatch. */
static void
small_dispatch(void *above, const struct kal_event *event)
{
	struct small *small = (struct small *)above;
	struct small_channel *channel;

	g_assert_cmpuint(atomic_fetch_add(&small->dispatching, 1), ==, 0);
	g_assert_cmpuint(object_of(event), <, SMALL_OBJECTS);
	pthread_mutex_lock(&small->lock);
	channel = small->objects[object_of(event)];
	pthread_mutex_unlock(&small->lock);
	if (channel != NULL)
		channel_put(channel, event);
	atomic_fetch_add(&small->dispatched, 1);
	atomic_fetch_sub(&small->dispatching, 1);
}

/*
 * --- adapters -----------------------------------------------------------------------------------
 */

#define OK(call) g_assert_cmpint((call), ==, RI_SUCCESS)

bool
small_open(struct small *small, const char *name)
{
	const struct session_params params = {.dispatch = small_dispatch, .above = small};
	struct kal_mr_req mr = {.access = RI_ACCESS_LOCAL_READ | RI_ACCESS_LOCAL_WRITE};
	struct session *session = &small->session;
	struct kal_rnic_open_rep opened;
	struct kal_mr_rep region;
	struct kal_id_req rnic;
	struct kal_id_rep pd;
	enum ri_status status;

	memset(small, 0, sizeof(*small));
	pthread_mutex_init(&small->lock, NULL);
	channel_begin(small, &small->completions, true);
	channel_begin(small, &small->others, false);
	g_assert_cmpuint(object_enter(small, &small->others), ==, 0);
	status = session_open(session, name, &params, &opened);
	if (status == RI_ERR_NO_DEVICE)
		return false;
	OK(status);
	rnic.id = session->rnic;
	OK(session_call(session, KAL_PD_CREATE, &rnic, sizeof(rnic), &pd, sizeof(pd)));
	mr.id = small->pd = pd.id;
	mr.addr = (uintptr_t)small->memory;
	mr.length = sizeof(small->memory);
	OK(session_call(session, KAL_MR_REG, &mr, sizeof(mr), &region, sizeof(region)));
	small->mr = region.id;
	small->stag = region.stag;
	return true;
}

void
small_close(struct small *small)
{
	session_end_waits(&small->session);
	(void)!session_call_id(&small->session, KAL_MR_DEREG, small->mr);
	(void)!session_call_id(&small->session, KAL_PD_DESTROY, small->pd);
	session_close(&small->session);
	g_assert_null(small->completions.line.first);
	g_assert_null(small->others.line.first);
	pthread_mutex_destroy(&small->completions.lock);
	pthread_mutex_destroy(&small->others.lock);
	pthread_mutex_destroy(&small->lock);
}

/*
 * --- queues -------------------------------------------------------------------------------------
 */

void
small_cq_open(struct small *small, struct small_cq *cq)
{
	struct session *session = &small->session;
	struct kal_cq_create_req req = {.rnic = session->rnic, .entries = ENTRIES};
	struct kal_cq_rep rep;

	cq->small = small;
	cq->ctx = req.ctx = object_enter(small, &small->completions);
	OK(session_call(session, KAL_CQ_CREATE, &req, sizeof(req), &rep, sizeof(rep)));
	cq->id = rep.id;
	OK(session->user->cq_open(session->urnic, &rep.map, &cq->queue));
}

bool
small_cq_arm(struct small_cq *cq)
{
	enum ri_status status = cq->small->session.fast->arm_cq(cq->queue, RI_ARM_NEXT, 0);

	g_assert_true(status == RI_SUCCESS || status == RI_ERR_NOT_EMPTY);
	return status == RI_SUCCESS;
}

void
small_cq_close(struct small_cq *cq)
{
	struct session *session = &cq->small->session;

	object_hide(cq->small, cq->ctx);
	session->user->cq_close(cq->queue);
	(void)!session_call_id(session, KAL_CQ_DESTROY, cq->id);
	session_settle(session);
}

void
small_qp_open(struct small_cq *cq, struct small_qp *qp)
{
	struct small *small = cq->small;
	struct session *session = &small->session;
	struct kal_qp_create_req req = {
		.pd = small->pd,
		.send_cq = cq->id,
		.recv_cq = cq->id,
		.init = {.type = RI_QP_RC,
			 .max_sq_wr = ENTRIES / 4,
			 .max_rq_wr = ENTRIES / 4,
			 .max_send_sge = 1,
			 .max_recv_sge = 1,
			 .max_write_sge = 1,
			 .max_read_sge = 1},
	};
	struct kal_qp_create_rep rep;

	qp->small = small;
	qp->ctx = req.init.ctx = object_enter(small, &small->others);
	OK(session_call(session, KAL_QP_CREATE, &req, sizeof(req), &rep, sizeof(rep)));
	qp->id = rep.id;
	OK(session->user->qp_open(session->urnic, &rep.map, cq->queue, cq->queue, NULL,
				  &qp->queue));
}

void
small_qp_close(struct small_qp *qp)
{
	struct session *session = &qp->small->session;

	object_hide(qp->small, qp->ctx);
	session->user->qp_close(qp->queue);
	(void)!session_call_id(session, KAL_QP_DESTROY, qp->id);
	session_settle(session);
}

/* The octets of request number wr_id. */
static struct ri_sge
piece(struct small *small, uint64_t wr_id)
{
	uint64_t at = wr_id % (SMALL_MEMORY / SMALL_MESSAGE) * SMALL_MESSAGE;

	return (struct ri_sge){(uintptr_t)small->memory + at, SMALL_MESSAGE, small->stag};
}

void
small_recv(struct small_qp *qp, uint64_t wr_id)
{
	const struct ri_sge sge = piece(qp->small, wr_id);
	const struct ri_recv_wr wr = {.wr_id = wr_id, .sgl = &sge, .num_sge = 1};

	OK(qp->small->session.fast->post_rq(qp->queue, &wr));
}

void
small_send(struct small_qp *qp, uint64_t wr_id)
{
	const struct ri_sge sge = piece(qp->small, wr_id);
	const struct ri_wr wr = {.wr_id = wr_id,
				 .sgl = &sge,
				 .num_sge = 1,
				 .opcode = RI_OP_SEND,
				 .flags = RI_WR_SIGNALED};

	OK(qp->small->session.fast->post_sq(qp->queue, &wr));
}

/*
 * --- connections
 * ----------------------------------------------------------------------------------
 */

void
small_listen(struct small *small, struct small_place *place)
{
	struct session *session = &small->session;
	struct kal_listen_req req = {.rnic = session->rnic, .backlog = 4};
	struct kal_port_query_req query = {.rnic = session->rnic};
	struct ri_port_attr port;
	struct kal_listen_rep rep;

	req.service.kind = session->attr.addr_ip ? RI_SERVICE_PORT : RI_SERVICE_IB;
	place->ctx = req.ctx = object_enter(small, &small->others);
	OK(session_call(session, KAL_LISTEN, &req, sizeof(req), &rep, sizeof(rep)));
	OK(session_call(session, KAL_PORT_QUERY, &query, sizeof(query), &port, sizeof(port)));
	g_assert_cmpuint(port.num_addrs, >, 0);
	place->listener = rep.id;
	place->service = rep.service;
	place->addr = port.addrs[0];
}

void
small_listen_end(struct small *small, struct small_place *place)
{
	object_hide(small, place->ctx);
	(void)!session_call_id(&small->session, KAL_LISTEN_DESTROY, place->listener);
	session_settle(&small->session);
}

static struct kal_event
cm_expect(struct small *small, uint32_t kind, uint64_t ctx)
{
	struct kal_event event;

	OK(small_get(&small->others, PATIENCE_US, &event));
	g_assert_cmpuint(event.kind, ==, KAL_EVENT_CM);
	g_assert_cmpuint(event.u.cm.kind, ==, kind);
	g_assert_cmpuint(event.ctx, ==, ctx);
	return event;
}

void
small_connect(struct small_qp *active, struct small_qp *passive)
{
	struct session *session = &passive->small->session;
	struct kal_cm_req connect = {.qp = active->id};
	struct kal_cm_req accept = {.qp = passive->id};
	struct kal_accept_rep accepted;
	struct small_place place;

	small_listen(passive->small, &place);
	connect.peer = place.addr;
	connect.service = place.service;
	OK(session_call(&active->small->session, KAL_CONNECT, &connect, sizeof(connect), NULL, 0));
	accept.request = cm_expect(passive->small, KAL_CM_REQUEST, place.ctx).u.cm.request;
	OK(session_call(session, KAL_ACCEPT, &accept, sizeof(accept), &accepted, sizeof(accepted)));
	(void)cm_expect(active->small, KAL_CM_ESTABLISHED, active->ctx);
	(void)cm_expect(passive->small, KAL_CM_ESTABLISHED, passive->ctx);
	small_listen_end(passive->small, &place);
}
