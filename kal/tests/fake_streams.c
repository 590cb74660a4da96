/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Queue pairs of the fake provider, and the streams that they take over. One lock protects them. Upcalls are made
 * without the lock, on the service thread: a queue pair collects its events, and a task of its own raises them.
 */

#include <errno.h>
#include <glib.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fake_internal.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint attached, received, qpns;
static struct ri_stream last_stream;
static uint8_t last_early[1024];
struct ri_qp *fake_last_qp;
struct ri_qp_init fake_qp_init;

unsigned
fake_attached(void)
{
	return atomic_load(&attached);
}

unsigned
fake_received(void)
{
	return atomic_load(&received);
}

struct ri_stream
fake_last_stream(void)
{
	struct ri_stream stream;

	pthread_mutex_lock(&lock);
	stream = last_stream;
	pthread_mutex_unlock(&lock);
	return stream;
}

const uint8_t *
fake_last_early(void)
{
	return last_early;
}

static void
say_all(void *arg)
{
	struct ri_qp *qp = arg;
	enum ri_event say[4];
	unsigned count;

	pthread_mutex_lock(&lock);
	count = qp->to_say;
	memcpy(say, qp->say, sizeof(say));
	qp->to_say = 0;
	pthread_mutex_unlock(&lock);
	for (unsigned i = 0; i < count; i++) {
		struct ri_async_event event = {
			.event = say[i], .object = RI_OBJECT_QP, .ctx = qp->init.ctx};

		qp->rnic->up->async_event(qp->rnic->up->self, &event);
	}
}

void
fake_say_now(void)
{
	say_all(fake_last_qp);
}

/* Call with the lock held. */
static void
say(struct ri_qp *qp, enum ri_event event)
{
	if (qp->to_say < G_N_ELEMENTS(qp->say))
		qp->say[qp->to_say++] = event;
	qp->rnic->host->task_run(qp->rnic->host->self, &qp->task);
}

/* Call with the lock held: the stream is over. The function that closes the descriptor stops the watch. */
static void
end(struct ri_qp *qp, enum ri_event event)
{
	if (qp->state != RI_QPS_RTS && qp->state != RI_QPS_CLOSING)
		return;
	qp->state = RI_QPS_ERROR;
	say(qp, event);
}

static void
stream_ready(void *arg, uint32_t events)
{
	struct ri_qp *qp = arg;
	uint8_t octets[256];
	ssize_t n;

	(void)events;
	pthread_mutex_lock(&lock);
	n = recv(qp->fd, octets, sizeof(octets), MSG_DONTWAIT);
	if (n > 0)
		atomic_fetch_add(&received, (unsigned)n);
	if (n > 0 && qp->expecting) {
		qp->expecting = false;
		say(qp, RI_EVENT_QP_STREAM_UP);
	}
	if (n == 0 || (n < 0 && errno != EAGAIN)) {
		qp->rnic->host->watch_change(qp->rnic->host->self, &qp->watch, 0);
		if (n == 0 && !qp->shut)
			shutdown(qp->fd, SHUT_WR);
		end(qp, n == 0 ? RI_EVENT_QP_LLP_CLOSE_COMPLETE : RI_EVENT_QP_LLP_RESET);
	}
	pthread_mutex_unlock(&lock);
}

static enum ri_status
qp_create(struct ri_pd *pd, struct ri_qp_init *init, struct ri_cq *send_cq, struct ri_cq *recv_cq,
	  struct ri_srq *srq, struct ri_qp **out, struct ri_map *map)
{
	struct ri_qp *qp;

	(void)send_cq;
	(void)recv_cq;
	(void)srq;
	(void)map;
	if (fake_fail_create != RI_SUCCESS)
		return fake_fail_create;
	*out = qp = fake_make(sizeof(*qp));
	qp->pd = pd;
	qp->rnic = pd->rnic;
	qp->init = fake_qp_init = *init;
	qp->state = RI_QPS_IDLE;
	qp->qpn = atomic_fetch_add(&qpns, 1) + 1;
	qp->fd = -1;
	qp->task.fire = say_all;
	qp->task.arg = qp;
	pd->users++;
	fake_last_qp = qp;
	return RI_SUCCESS;
}

/* Close the stream, if there is one; with a reset, since it lingers for zero seconds. */
static void
close_stream(struct ri_qp *qp)
{
	int fd;

	if (qp->watching)
		qp->rnic->host->watch_stop(qp->rnic->host->self, &qp->watch);
	pthread_mutex_lock(&lock);
	qp->watching = false;
	fd = qp->fd;
	qp->fd = -1;
	pthread_mutex_unlock(&lock);
	if (fd >= 0)
		close(fd);
}

static enum ri_status
move(struct ri_qp *qp, enum ri_qp_state to, bool *drop)
{
	enum ri_qp_state from = qp->state;

	if (to == RI_QPS_ERROR) {
		*drop = qp->fd >= 0;
		if (from == RI_QPS_RTS || from == RI_QPS_CLOSING)
			end(qp, RI_EVENT_QP_LLP_RESET);
		qp->state = RI_QPS_ERROR;
	} else if (to == RI_QPS_CLOSING && from == RI_QPS_RTS) {
		qp->state = RI_QPS_CLOSING;
		qp->shut = true;
		shutdown(qp->fd, SHUT_WR);
	} else if (to == RI_QPS_IDLE && (from == RI_QPS_ERROR || from == RI_QPS_IDLE)) {
		if (qp->to_say > 0)
			return RI_ERR_STILL_FLUSHING;
		*drop = qp->fd >= 0;
		qp->state = RI_QPS_IDLE;
	} else {
		return RI_ERR_INVALID_STATE;
	}
	return RI_SUCCESS;
}

static enum ri_status
qp_modify(struct ri_qp *qp, const struct ri_qp_attr *attr, uint32_t mask)
{
	enum ri_status status = RI_SUCCESS;
	bool drop = false;

	pthread_mutex_lock(&lock);
	if (mask & RI_QP_ATTR_STATE)
		status = move(qp, (enum ri_qp_state)attr->state, &drop);
	pthread_mutex_unlock(&lock);
	if (drop)
		close_stream(qp);
	return status;
}

static enum ri_status
qp_query(struct ri_qp *qp, struct ri_qp_attr *attr)
{
	pthread_mutex_lock(&lock);
	attr->state = qp->state;
	attr->qpn = qp->qpn;
	pthread_mutex_unlock(&lock);
	return RI_SUCCESS;
}

static enum ri_status
qp_destroy(struct ri_qp *qp)
{
	if (fake_clings(qp, RI_OBJECT_QP, qp->init.ctx))
		return RI_ERR_BUSY;
	close_stream(qp);
	qp->rnic->host->task_stop(qp->rnic->host->self, &qp->task);
	qp->pd->users--;
	fake_free(qp);
	return RI_SUCCESS;
}

const struct ri_qp_ops fake_qp_ops = {.size = sizeof(fake_qp_ops),
				      .create = qp_create,
				      .modify = qp_modify,
				      .query = qp_query,
				      .destroy = qp_destroy,
				      .mcast_attach = fake_mcast_attach,
				      .mcast_detach = fake_mcast_detach};

static enum ri_status
reserve(struct ri_qp *qp)
{
	enum ri_status status = RI_ERR_INVALID_STATE;

	pthread_mutex_lock(&lock);
	if (qp->state == RI_QPS_IDLE) {
		qp->state = RI_QPS_CONNECTING;
		status = RI_SUCCESS;
	}
	pthread_mutex_unlock(&lock);
	return status;
}

static enum ri_status
attach_stream(struct ri_qp *qp, const struct ri_stream *stream)
{
	static const uint8_t rtr = 'R';

	if (fake_fail_attach != RI_SUCCESS)
		return fake_fail_attach;
	pthread_mutex_lock(&lock);
	last_stream = *stream;
	memcpy(last_early, stream->early, MIN(stream->early_len, sizeof(last_early)));
	atomic_fetch_add(&attached, 1);
	qp->state = RI_QPS_RTS;
	qp->fd = stream->fd;
	qp->shut = false;
	qp->expecting = stream->rtr_expect != 0;
	qp->watch = (struct ri_watch){
		.fire = stream_ready, .arg = qp, .fd = stream->fd, .events = RI_WATCH_IN};
	qp->watching = true;
	if (stream->abort_code != 0) {
		end(qp, RI_EVENT_QP_LLP_RESET);
	} else {
		if (stream->rtr_send != 0)
			(void)!send(qp->fd, &rtr, 1, MSG_NOSIGNAL);
		if (!qp->expecting)
			say(qp, RI_EVENT_QP_STREAM_UP);
	}
	pthread_mutex_unlock(&lock);
	if (stream->abort_code == 0 &&
	    qp->rnic->host->watch_start(qp->rnic->host->self, &qp->watch) != RI_SUCCESS)
		g_error("the fake provider cannot watch its stream");
	return RI_SUCCESS;
}

const struct ri_llp_ops fake_llp_ops = {sizeof(fake_llp_ops), reserve, attach_stream};
