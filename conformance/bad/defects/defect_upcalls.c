/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Upcalls at the wrong time or place, threads and descriptors of the adapter's own, what grows and what waits. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "defect.h"

#define LATE_NS  UINT64_C(20000000)
#define LATE_MAX 64

/* --- upcalls ---------------------------------------------------------------------------------- */

static void
say_port(struct wrap_rnic *rnic)
{
	const struct ri_async_event event = {.event = RI_EVENT_PORT_CHANGE,
					     .object = RI_OBJECT_PORT};

	wrap_plain_upcalls.async_event(rnic, &event);
}

static enum ri_status
inside_modify(struct ri_qp *qp, const struct ri_qp_attr *attr, uint32_t mask)
{
	say_port(wrap_rnic_of(qp));
	return wrap_plain_qp_ops.modify(qp, attr, mask);
}

static enum ri_status
inside_create(struct ri_context *context, struct ri_pd **out)
{
	say_port(wrap_rnic_of(context));
	return wrap_plain_pd_ops.create(context, out);
}

static enum ri_status
destroying_cq(struct ri_cq *cq)
{
	struct wrap_rnic *rnic = wrap_rnic_of(cq);
	uint64_t ctx = wrap_of(cq)->ctx;
	enum ri_status status = wrap_plain_cq_ops.destroy(cq);

	if (status == RI_SUCCESS)
		wrap_plain_upcalls.cq_event(rnic, ctx);
	return status;
}

/* An event of an adapter, reported later on the service thread. */
struct late {
	struct ri_timer timer;
	struct wrap_rnic *rnic;
	struct ri_cm_event event;
	struct ri_async_event async; /* if it is not RI_EVENT_NONE */
	uint64_t cq_ctx;
	bool cq;
	atomic_bool used;
};

static void
late_fire(void *arg)
{
	struct late *late = arg;

	if (late->async.event != RI_EVENT_NONE)
		wrap_plain_upcalls.async_event(late->rnic, &late->async);
	else if (late->cq)
		wrap_plain_upcalls.cq_event(late->rnic, late->cq_ctx);
	else
		wrap_plain_upcalls.cm_event(late->rnic, &late->event);
	atomic_store(&late->used, false);
}

static void
late_end(struct wrap_rnic *rnic)
{
	struct late *late = rnic->own;

	for (unsigned i = 0; late != NULL && i < LATE_MAX; i++)
		rnic->host->timer_stop(rnic->host->self, &late[i].timer);
}

static void
late_begin(struct wrap_rnic *rnic)
{
	rnic->own = calloc(LATE_MAX, sizeof(struct late));
}

/* One that is free, or NULL. */
static struct late *
late_take(struct wrap_rnic *rnic)
{
	struct late *late = rnic->own;

	for (unsigned i = 0; late != NULL && i < LATE_MAX; i++) {
		if (atomic_exchange(&late[i].used, true))
			continue;
		late[i].rnic = rnic;
		late[i].timer.fire = late_fire;
		late[i].timer.arg = &late[i];
		return &late[i];
	}
	return NULL;
}

static void
late_start(struct late *late)
{
	const struct ri_host *host = late->rnic->host;

	host->timer_start(host->self, &late->timer, host->now(host->self) + LATE_NS);
}

static enum ri_status
after_destroy_cq(struct ri_cq *cq)
{
	struct wrap_rnic *rnic = wrap_rnic_of(cq);
	uint64_t ctx = wrap_of(cq)->ctx;
	enum ri_status status = wrap_plain_cq_ops.destroy(cq);
	struct late *late = status == RI_SUCCESS ? late_take(rnic) : NULL;

	if (late != NULL) {
		late->cq = true;
		late->cq_ctx = ctx;
		late_start(late);
	}
	return status;
}

static void
upcall_after_destroy(struct wrap_rnic *rnic)
{
	late_begin(rnic);
	rnic->ops.cq.destroy = after_destroy_cq;
}

static bool
established_late(struct wrap_rnic *rnic, struct ri_cm_event *event)
{
	struct late *late = event->kind == RI_CM_ESTABLISHED ? late_take(rnic) : NULL;

	if (late == NULL)
		return true;
	late->cq = false;
	late->event = *event;
	late_start(late);
	return false;
}

static bool
stream_up_late(struct wrap_rnic *rnic, struct ri_async_event *event)
{
	struct late *late = event->event == RI_EVENT_QP_STREAM_UP ? late_take(rnic) : NULL;

	if (late == NULL)
		return true;
	late->async = *event;
	late_start(late);
	return false;
}

/* What ends with a connection is reported after its end. */
static enum defect_act
flush_late(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	return wc->status == RI_WC_FLUSHED ? DEFECT_LATE : DEFECT_PASS;
}

/* --- threads ---------------------------------------------------------------------------------- */

/* A thread of the adapter's own. */
struct worker {
	pthread_t thread;
	struct wrap_rnic *rnic;
	atomic_bool stop;
};

static void *
work(void *arg)
{
	struct worker *worker = arg;
	const struct timespec pause = {.tv_nsec = 2000000};

	while (!atomic_load(&worker->stop))
		(void)nanosleep(&pause, NULL);
	return NULL;
}

static void
worker_begin(struct wrap_rnic *rnic)
{
	struct worker *worker = calloc(1, sizeof(*worker));

	if (worker == NULL)
		return;
	worker->rnic = rnic;
	if (pthread_create(&worker->thread, NULL, work, worker) != 0) {
		free(worker);
		return;
	}
	rnic->own = worker;
}

static void
worker_end(struct wrap_rnic *rnic)
{
	struct worker *worker = rnic->own;

	if (worker == NULL)
		return;
	atomic_store(&worker->stop, true);
	pthread_join(worker->thread, NULL);
}

/* An event that two threads report at once. */
struct twin {
	struct wrap_rnic *rnic;
	uint64_t ctx;
};

static void *
tell(void *arg)
{
	const struct twin *twin = arg;

	wrap_plain_upcalls.cq_event(twin->rnic, twin->ctx);
	return NULL;
}

static unsigned
two_threads(struct wrap_rnic *rnic, uint64_t ctx)
{
	struct twin twin = {.rnic = rnic, .ctx = ctx};
	pthread_t other;

	if (pthread_create(&other, NULL, tell, &twin) != 0)
		return 1;
	wrap_plain_upcalls.cq_event(rnic, ctx);
	pthread_join(other, NULL);
	return 0;
}

/* --- what grows, what waits --------------------------------------------------------------------- */

/* Volatile: a compiler leaves out stores to memory that is never read. */
static void
lose(void)
{
	static void *volatile lost;
	const size_t size = 256 * 1024;
	void *block = malloc(size);

	if (block != NULL)
		memset(block, 1, size);
	lost = block;
	(void)lost;
}

static enum ri_status
growing_qp_create(struct ri_pd *pd, struct ri_qp_init *init, struct ri_cq *send_cq,
		  struct ri_cq *recv_cq, struct ri_srq *srq, struct ri_qp **out, struct ri_map *map)
{
	lose();
	return wrap_plain_qp_ops.create(pd, init, send_cq, recv_cq, srq, out, map);
}

static enum ri_status
growing_mr(struct ri_pd *pd, const struct ri_mr_init *init, struct ri_mr **out, uint32_t *stag)
{
	lose();
	return wrap_plain_mem_ops.mr_reg(pd, init, out, stag);
}

static enum ri_status
lingering_qp(struct ri_qp *qp)
{
	(void)!dup(STDIN_FILENO);
	return wrap_plain_qp_ops.destroy(qp);
}

static enum ri_status
waiting_pd(struct ri_context *context, struct ri_pd **out)
{
	const struct timespec pause = {.tv_sec = 1};

	(void)nanosleep(&pause, NULL);
	return wrap_plain_pd_ops.create(context, out);
}

static bool
post_waits(struct wrap_obj *uqp, struct defect_wr *wr)
{
	const struct timespec pause = {.tv_nsec = 5000000};

	(void)uqp;
	(void)wr;
	(void)nanosleep(&pause, NULL);
	return true;
}

static void
close_forgotten(struct wrap_rnic *rnic)
{
	rnic->forgotten = true;
}

/* After some requests the adapter says that it failed; it has not. */
static bool
false_alarm(struct wrap_obj *uqp, struct defect_wr *wr)
{
	const struct ri_async_event event = {.event = RI_EVENT_DEVICE_CATASTROPHIC,
					     .object = RI_OBJECT_RNIC};

	(void)wr;
	if (defect_each(&uqp->count[0], 4))
		wrap_plain_upcalls.async_event(uqp->rnic, &event);
	return true;
}

static bool
qp_alarm(struct wrap_obj *uqp, struct defect_wr *wr)
{
	const struct ri_async_event event = {
		.event = RI_EVENT_QP_CATASTROPHIC, .object = RI_OBJECT_QP, .ctx = uqp->ctx};

	(void)wr;
	if (defect_each(&uqp->count[0], 4))
		wrap_plain_upcalls.async_event(uqp->rnic, &event);
	return true;
}

static bool
errors_lost(struct wrap_rnic *rnic, struct ri_async_event *event)
{
	(void)rnic;
	return event->object != RI_OBJECT_QP || event->event == RI_EVENT_QP_STREAM_UP ||
	       (event->event >= RI_EVENT_QP_LLP_CLOSE_COMPLETE &&
		event->event <= RI_EVENT_QP_BAD_LLP_CLOSE);
}

static bool
detail_lost(struct wrap_rnic *rnic, struct ri_async_event *event)
{
	(void)rnic;
	if (event->object == RI_OBJECT_QP && event->event >= RI_EVENT_QP_LLP_SEGMENT_SIZE &&
	    event->event <= RI_EVENT_QP_WR_ERROR)
		event->event = RI_EVENT_QP_CATASTROPHIC;
	return true;
}

const struct defect defects_upcalls[] = {
	DEFECT("upcall-inside", "upcalls inside control verbs",
	       "Creating a domain and changing a queue pair raise an event before they return.", 0,
	       ENTRIES(.qp.modify = inside_modify, .pd.create = inside_create)),
	DEFECT("upcall-in-destroy", "an upcall for what is being destroyed",
	       "Destroying a completion queue raises its event before it returns.", 0,
	       ENTRIES(.cq.destroy = destroying_cq)),
	DEFECT("upcall-after-destroy", "an upcall for what is destroyed",
	       "20 ms after a completion queue was destroyed its event is raised.", 0,
	       .apply = upcall_after_destroy, .end = late_end),
	DEFECT("upcall-two-threads", "two threads report one event",
	       "Each event of a completion queue is raised by two threads at once.", 0,
	       .cq_event = two_threads),
	DEFECT("established-late", "an establishment is reported after the first receive",
	       "RI_CM_ESTABLISHED comes 20 ms late.", NEED_ADDRESS, .cm = established_late,
	       .apply = late_begin, .end = late_end),
	DEFECT("stream-up-late", "an establishment is reported after the first receive",
	       "RI_EVENT_QP_STREAM_UP comes 20 ms late.", NEED_STREAM, .async = stream_up_late,
	       .apply = late_begin, .end = late_end),
	DEFECT("disconnected-early", "an end is reported before the last completions",
	       "Flushed completions come after the event that ends their connection.", 0,
	       .wc = flush_late),
	DEFECT("own-thread", "a thread of its own",
	       "The adapter runs a thread, which does nothing.", 0, .apply = worker_begin,
	       .end = worker_end),
	DEFECT("memory-grows", "memory is lost with each queue pair",
	       "Each queue pair loses 256 KiB.", 0, ENTRIES(.qp.create = growing_qp_create)),
	DEFECT("regions-grow", "memory is lost with each region",
	       "Each registration loses 256 KiB.", 0, ENTRIES(.mem.mr_reg = growing_mr)),
	DEFECT("descriptors-grow", "descriptors are lost with each queue pair",
	       "Each queue pair that is destroyed leaves a descriptor open.", 0,
	       ENTRIES(.qp.destroy = lingering_qp)),
	DEFECT("verb-waits", "a verb takes a second",
	       "Creating a protection domain takes a second.", 0, ENTRIES(.pd.create = waiting_pd)),
	DEFECT("post-waits", "a post takes 5 ms", "Each post to a send queue sleeps for 5 ms.", 0,
	       .wr = post_waits),
	DEFECT("close-forgotten", "an adapter is not closed",
	       "Closing the adapter returns at once and leaves all that it has.", 0,
	       .apply = close_forgotten),
	DEFECT("false-alarm", "the adapter says that it failed",
	       "Every fourth request raises RI_EVENT_DEVICE_CATASTROPHIC.", 0, .wr = false_alarm),
	DEFECT("false-alarm-qp", "a queue pair says that it failed",
	       "Every fourth request raises RI_EVENT_QP_CATASTROPHIC.", 0, .wr = qp_alarm),
	DEFECT("errors-lost", "errors of queue pairs are not reported",
	       "No event reports what went wrong with a queue pair.", 0, .async = errors_lost),
	DEFECT("errors-general", "one event for all errors",
	       "Each error of a queue pair is reported as RI_EVENT_QP_CATASTROPHIC.", 0,
	       .async = detail_lost),
};

const size_t defects_upcalls_count = sizeof(defects_upcalls) / sizeof(defects_upcalls[0]);
