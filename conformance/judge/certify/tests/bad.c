/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A provider of the tree with one fault, which CERT_BAD names, for the tests of it-certify itself:
 * which cases fail then, and how the report describes them. (conformance/bad/defects has faults of
 * real devices.) The last names are legal behaviour that real devices show and the providers of the
 * tree do not: no case may fail because of it.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rnicpi.h"

const struct ri_provider *BAD_OF(void);
__attribute__((visibility("default"))) const struct ri_provider *ri_provider_entry(void);

static const struct ri_provider *whole;
static struct ri_provider provider;
static struct ri_device_ops device;
static struct ri_pd_ops pd;
static struct ri_cq_ops cq;
static struct ri_qp_ops pairs;
static struct ri_srq_ops shared;
static struct ri_mem_ops mem;
static struct ri_user_ops user;
static struct ri_fast_ops fast;
static const struct ri_host *host;
static const struct ri_upcalls *upcalls;

/* Crashes in the first post. */
static enum ri_status
post_crash(struct ri_uqp *qp, const struct ri_wr *wr)
{
	(void)qp;
	(void)wr;
	abort();
}

/* Never returns from the first post. */
static enum ri_status
post_hang(struct ri_uqp *qp, const struct ri_wr *wr)
{
	(void)qp;
	(void)wr;
	while (pause() != 0)
		continue;
	return RI_SUCCESS;
}

/* Says that each receive was a Send. */
static uint32_t
poll_misnamed(struct ri_ucq *ucq, struct ri_wc *wc, uint32_t n)
{
	uint32_t taken = whole->fast->poll_cq(ucq, wc, n);

	for (uint32_t i = 0; i < taken; i++) {
		if (wc[i].opcode == RI_OP_RECV)
			wc[i].opcode = RI_OP_SEND;
	}
	return taken;
}

/* Says what is no status. */
static enum ri_status
pd_odd(struct ri_context *context, struct ri_pd **out)
{
	enum ri_status status = whole->pd->create(context, out);

	return status == RI_SUCCESS ? (enum ri_status)99 : status;
}

/* Makes an upcall inside a control verb. */
static enum ri_status
cq_loud(struct ri_context *context, uint64_t ctx, uint32_t *entries, struct ri_cq **out,
	struct ri_map *map)
{
	upcalls->cq_event(upcalls->self, ctx);
	return whole->cq->create(context, ctx, entries, out, map);
}

static enum ri_status
open_noted(const struct ri_open *open, struct ri_rnic **out)
{
	host = open->host;
	upcalls = open->upcalls;
	return whole->device->open(open, out);
}

/* Leaves a timer behind. */
static void
fire(void *arg)
{
	(void)arg;
}

static void
close_leaving(struct ri_rnic *rnic)
{
	struct ri_timer *timer = calloc(1, sizeof(*timer)); /* the host's for good */

	whole->device->close(rnic);
	if (timer == NULL)
		abort();
	timer->fire = fire;
	host->timer_start(host->self, timer, host->now(host->self) + UINT64_C(3600000000000));
}

/* Keeps a descriptor for each region. */
static enum ri_status
reg_growing(struct ri_pd *of, const struct ri_mr_init *init, struct ri_mr **out, uint32_t *stag)
{
	int kept = dup(STDERR_FILENO);

	return kept < 0 ? RI_ERR_RESOURCES : whole->mem->mr_reg(of, init, out, stag);
}

/* Claims what it has no entry for. */
static enum ri_status
query_boasting(struct ri_rnic *rnic, struct ri_rnic_attr *attr)
{
	enum ri_status status = whole->device->query(rnic, attr);

	attr->cm_forms |= RI_CM_STREAM;
	return status;
}

/* --- what is no fault ---------------------------------------------------------------------------- */

#define LEAST_SLOTS   64u /* of a work queue, more than a completion queue of a case has entries */
#define LEAST_ENTRIES 8u
#define SLOW_US       5000 /* before an upcall, and after it */

static uint32_t
granted(uint32_t asked, uint32_t least)
{
	return asked > 0 && asked < least ? least : asked;
}

/* Queues have a least size. */
static enum ri_status
cq_generous(struct ri_context *context, uint64_t ctx, uint32_t *entries, struct ri_cq **out,
	    struct ri_map *map)
{
	uint32_t more = granted(*entries, LEAST_ENTRIES);
	enum ri_status status = whole->cq->create(context, ctx, &more, out, map);

	if (status == RI_SUCCESS)
		*entries = more;
	return status;
}

static enum ri_status
cq_resize_generous(struct ri_cq *of, uint32_t *entries, struct ri_map *map)
{
	uint32_t more = granted(*entries, LEAST_ENTRIES);
	enum ri_status status = whole->cq->resize(of, &more, map);

	if (status == RI_SUCCESS)
		*entries = more;
	return status;
}

static enum ri_status
generous_qp_create(struct ri_pd *of, struct ri_qp_init *init, struct ri_cq *send_cq,
		   struct ri_cq *recv_cq, struct ri_srq *from, struct ri_qp **out,
		   struct ri_map *map)
{
	struct ri_qp_init more = *init;
	enum ri_status status;

	more.max_sq_wr = granted(init->max_sq_wr, LEAST_SLOTS);
	more.max_rq_wr = granted(init->max_rq_wr, LEAST_SLOTS);
	status = whole->qp->create(of, &more, send_cq, recv_cq, from, out, map);
	if (status == RI_SUCCESS)
		*init = more;
	return status;
}

static enum ri_status
srq_generous(struct ri_pd *of, struct ri_srq_attr *attr, struct ri_srq **out, struct ri_map *map)
{
	struct ri_srq_attr more = *attr;
	enum ri_status status;

	if (attr->limit <= attr->max_wr) /* otherwise it is refused */
		more.max_wr = granted(attr->max_wr, LEAST_SLOTS);
	status = whole->srq->create(of, &more, out, map);
	if (status == RI_SUCCESS)
		*attr = more;
	return status;
}

static enum ri_status
srq_modify_generous(struct ri_srq *of, struct ri_srq_attr *attr, bool resize, struct ri_map *map)
{
	struct ri_srq_attr more = *attr;
	enum ri_status status;

	if (resize)
		more.max_wr = granted(attr->max_wr, LEAST_SLOTS);
	status = whole->srq->modify(of, &more, resize, map);
	if (status == RI_SUCCESS)
		*attr = more;
	return status;
}

/* Upcalls of an opened adapter on their way to the access layer. They stay until the process ends. */
struct between {
	struct between *next;
	struct ri_upcalls table;
	const struct ri_upcalls *real;
};

static struct between *betweens;

static enum ri_status
open_between(const struct ri_open *open, struct ri_rnic **out, const struct ri_upcalls *how)
{
	struct between *between = calloc(1, sizeof(*between));
	struct ri_open other = *open;

	if (between == NULL)
		return RI_ERR_RESOURCES;
	between->real = open->upcalls;
	between->table = *how;
	between->table.self = between;
	between->next = betweens;
	betweens = between;
	other.upcalls = &between->table;
	return whole->device->open(&other, out);
}

static void
cq_event_on(void *self, uint64_t ctx)
{
	const struct ri_upcalls *real = ((const struct between *)self)->real;

	real->cq_event(real->self, ctx);
}

static void
async_event_on(void *self, const struct ri_async_event *event)
{
	const struct ri_upcalls *real = ((const struct between *)self)->real;

	real->async_event(real->self, event);
}

static void
cm_event_on(void *self, const struct ri_cm_event *event)
{
	const struct ri_upcalls *real = ((const struct between *)self)->real;

	real->cm_event(real->self, event);
}

/* Each comes late and returns late. */
static void
cq_event_slow(void *self, uint64_t ctx)
{
	usleep(SLOW_US);
	cq_event_on(self, ctx);
	usleep(SLOW_US);
}

static void
async_event_slow(void *self, const struct ri_async_event *event)
{
	usleep(SLOW_US);
	async_event_on(self, event);
	usleep(SLOW_US);
}

static void
cm_event_slow(void *self, const struct ri_cm_event *event)
{
	usleep(SLOW_US);
	cm_event_on(self, event);
	usleep(SLOW_US);
}

static enum ri_status
open_slow(const struct ri_open *open, struct ri_rnic **out)
{
	static const struct ri_upcalls slow = {.size = sizeof(slow),
					       .cq_event = cq_event_slow,
					       .async_event = async_event_slow,
					       .cm_event = cm_event_slow};

	return open_between(open, out, &slow);
}

/* InfiniBand's devices tell more: that a message has come, and that the time-wait is over. */
static void
cm_event_more(void *self, const struct ri_cm_event *event)
{
	const struct ri_async_event come = {
		.event = RI_EVENT_QP_COMM_EST, .object = RI_OBJECT_QP, .ctx = event->ctx};
	const struct ri_cm_event over = {.kind = RI_CM_TIME_WAIT_OVER, .ctx = event->ctx};

	cm_event_on(self, event);
	if (event->kind == RI_CM_ESTABLISHED)
		async_event_on(self, &come);
	if (event->kind == RI_CM_DISCONNECTED || event->kind == RI_CM_BROKEN)
		cm_event_on(self, &over);
}

static enum ri_status
open_talkative(const struct ri_open *open, struct ri_rnic **out)
{
	static const struct ri_upcalls more = {.size = sizeof(more),
					       .cq_event = cq_event_on,
					       .async_event = async_event_on,
					       .cm_event = cm_event_more};

	return open_between(open, out, &more);
}

/* A queue pair, and its user half while that is open. */
struct refusing {
	struct refusing *next;
	struct ri_qp *qp;
	struct ri_map map;
	struct ri_uqp *user;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct refusing *refusings; /* the newest first */

static enum ri_status
query_refusing(struct ri_rnic *rnic, struct ri_rnic_attr *attr)
{
	uint32_t room = attr->size;
	enum ri_status status = whole->device->query(rnic, attr);

	if (room >= offsetof(struct ri_rnic_attr, refuses) + sizeof(attr->refuses))
		attr->refuses |= RI_REFUSES_UNCONNECTED_REQUESTS;
	return status;
}

static enum ri_status
refusing_qp_create(struct ri_pd *of, struct ri_qp_init *init, struct ri_cq *send_cq,
		   struct ri_cq *recv_cq, struct ri_srq *from, struct ri_qp **out,
		   struct ri_map *map)
{
	struct refusing *one = calloc(1, sizeof(*one));
	enum ri_status status = RI_ERR_RESOURCES;

	if (one != NULL)
		status = whole->qp->create(of, init, send_cq, recv_cq, from, out, map);
	if (status != RI_SUCCESS) {
		free(one);
		return status;
	}
	one->qp = *out;
	one->map = *map;
	pthread_mutex_lock(&lock);
	one->next = refusings;
	refusings = one;
	pthread_mutex_unlock(&lock);
	return status;
}

static enum ri_status
refusing_qp_destroy(struct ri_qp *qp)
{
	enum ri_status status = whole->qp->destroy(qp);
	struct refusing **at = &refusings, *gone;

	if (status != RI_SUCCESS)
		return status;
	pthread_mutex_lock(&lock);
	while (*at != NULL && (*at)->qp != qp)
		at = &(*at)->next;
	gone = *at;
	if (gone != NULL)
		*at = gone->next;
	pthread_mutex_unlock(&lock);
	free(gone);
	return status;
}

static enum ri_status
qp_open_refusing(struct ri_urnic *rnic, const struct ri_map *map, struct ri_ucq *send_cq,
		 struct ri_ucq *recv_cq, struct ri_usrq *from, struct ri_uqp **out)
{
	enum ri_status status = whole->user->qp_open(rnic, map, send_cq, recv_cq, from, out);
	struct refusing *one;

	pthread_mutex_lock(&lock);
	for (one = refusings; status == RI_SUCCESS && one != NULL; one = one->next) {
		if (memcmp(&one->map, map, sizeof(*map)) == 0) {
			one->user = *out;
			break;
		}
	}
	pthread_mutex_unlock(&lock);
	return status;
}

static void
qp_close_refusing(struct ri_uqp *of)
{
	pthread_mutex_lock(&lock);
	for (struct refusing *one = refusings; one != NULL; one = one->next) {
		if (one->user == of)
			one->user = NULL;
	}
	pthread_mutex_unlock(&lock);
	whole->user->qp_close(of);
}

/* In IDLE and CONNECTING no request is looked at. */
static enum ri_status
post_refusing(struct ri_uqp *of, const struct ri_wr *wr)
{
	struct ri_qp_attr attr = {.state = RI_QPS_IDLE};
	struct refusing *one;

	pthread_mutex_lock(&lock);
	for (one = refusings; one != NULL && one->user != of; one = one->next)
		continue;
	pthread_mutex_unlock(&lock);
	if (one == NULL || whole->qp->query(one->qp, &attr) != RI_SUCCESS ||
	    attr.state == RI_QPS_IDLE || attr.state == RI_QPS_CONNECTING)
		return RI_ERR_INVALID_STATE;
	return whole->fast->post_sq(of, wr);
}

static void
refusing(void)
{
	device.query = query_refusing;
	pairs.create = refusing_qp_create;
	pairs.destroy = refusing_qp_destroy;
	user.qp_open = qp_open_refusing;
	user.qp_close = qp_close_refusing;
	fast.post_sq = post_refusing;
}

static void
generous(void)
{
	cq.create = cq_generous;
	cq.resize = cq_resize_generous;
	pairs.create = generous_qp_create;
	shared.create = srq_generous;
	shared.modify = srq_modify_generous;
}

/* One segment in each request, as a small device has it. */
static enum ri_status
query_one_segment(struct ri_rnic *rnic, struct ri_rnic_attr *attr)
{
	enum ri_status status = whole->device->query(rnic, attr);

	attr->max_send_sge = attr->max_recv_sge = attr->max_write_sge = 1;
	return status;
}

static void *
thread_run(void *arg)
{
	while (pause() != 0)
		continue;
	return arg;
}

/* A thread of its own, as soon as it is loaded. */
static void
start_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, thread_run, NULL) == 0)
		pthread_detach(thread);
}

static void
copy(void)
{
	whole = BAD_OF();
	provider = *whole;
	provider.name = "bad";
	provider.device = memcpy(&device, whole->device, sizeof(device));
	provider.pd = memcpy(&pd, whole->pd, sizeof(pd));
	provider.cq = memcpy(&cq, whole->cq, sizeof(cq));
	provider.qp = memcpy(&pairs, whole->qp, sizeof(pairs));
	provider.srq = memcpy(&shared, whole->srq, sizeof(shared));
	provider.mem = memcpy(&mem, whole->mem, sizeof(mem));
	provider.user = memcpy(&user, whole->user, sizeof(user));
	provider.fast = memcpy(&fast, whole->fast, sizeof(fast));
	device.open = open_noted;
}

const struct ri_provider *
ri_provider_entry(void)
{
	const char *fault = secure_getenv("CERT_BAD");

	copy();
	if (fault == NULL)
		return &provider;
	if (strcmp(fault, "crash") == 0)
		fast.post_sq = post_crash;
	else if (strcmp(fault, "hang") == 0)
		fast.post_sq = post_hang;
	else if (strcmp(fault, "misnamed") == 0)
		fast.poll_cq = poll_misnamed;
	else if (strcmp(fault, "odd") == 0)
		pd.create = pd_odd;
	else if (strcmp(fault, "loud") == 0)
		cq.create = cq_loud;
	else if (strcmp(fault, "leaving") == 0)
		device.close = close_leaving;
	else if (strcmp(fault, "one-segment") == 0)
		device.query = query_one_segment;
	else if (strcmp(fault, "boasting") == 0)
		device.query = query_boasting;
	else if (strcmp(fault, "growing") == 0)
		mem.mr_reg = reg_growing;
	else if (strcmp(fault, "generous") == 0)
		generous();
	else if (strcmp(fault, "slow") == 0)
		device.open = open_slow;
	else if (strcmp(fault, "talkative") == 0)
		device.open = open_talkative;
	else if (strcmp(fault, "refusing") == 0)
		refusing();
	else if (strcmp(fault, "thread") == 0)
		start_thread();
	else if (strcmp(fault, "absent") == 0)
		return NULL;
	return &provider;
}
