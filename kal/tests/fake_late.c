/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Late upcalls of the fake provider: from a thread of its own until close has returned, and for objects that it
 * refused to destroy.
 */

#include <glib.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "fake_internal.h"

#define KEPT_MAX 16

bool fake_clinging;

/* --- objects that stay until their context ends ---------------------------------------------- */

struct kept {
	void *object;
	enum ri_object type;
	uint64_t ctx;
};

static struct kept kept[KEPT_MAX];
static unsigned kept_count;

bool
fake_clings(void *object, enum ri_object type, uint64_t ctx)
{
	if (!fake_clinging)
		return false;
	for (unsigned i = 0; i < kept_count; i++)
		if (kept[i].object == object)
			return true; /* refused again */
	g_assert_cmpuint(kept_count, <, KEPT_MAX);
	kept[kept_count++] = (struct kept){object, type, ctx};
	return true;
}

static enum ri_status
destroy(const struct kept *it)
{
	if (it->type == RI_OBJECT_QP)
		return fake_qp_ops.destroy(it->object);
	if (it->type == RI_OBJECT_CQ)
		return fake_provider.cq->destroy(it->object);
	if (it->type == RI_OBJECT_SRQ)
		return fake_provider.srq->destroy(it->object);
	if (it->type == RI_OBJECT_MR)
		return fake_provider.mem->mr_dereg(it->object);
	g_assert_cmpint(it->type, ==, RI_OBJECT_PD);
	return fake_provider.pd->destroy(it->object);
}

static void
raise_late(struct ri_rnic *rnic, const struct kept *it)
{
	struct ri_async_event event = {.object = it->type, .ctx = it->ctx};

	if (it->type == RI_OBJECT_QP)
		event.event = RI_EVENT_QP_CATASTROPHIC;
	else if (it->type == RI_OBJECT_CQ)
		event.event = RI_EVENT_CQ_OP_ERROR;
	else if (it->type == RI_OBJECT_SRQ)
		event.event = RI_EVENT_SRQ_CATASTROPHIC;
	else
		return;
	rnic->up->async_event(rnic->up->self, &event);
	if (it->type == RI_OBJECT_CQ)
		rnic->up->cq_event(rnic->up->self, it->ctx);
}

void
fake_let_go(struct ri_rnic *rnic)
{
	fake_clinging = false;
	for (unsigned i = 0; i < kept_count; i++)
		raise_late(rnic, &kept[i]);
	for (unsigned i = 0; i < kept_count; i++)
		g_assert_cmpint(destroy(&kept[i]), ==, RI_SUCCESS);
	kept_count = 0;
}

/* --- a thread of the provider ------------------------------------------------------------------ */

static struct {
	pthread_t thread;
	bool running;
	atomic_bool stop;
	atomic_uint made;
	const struct ri_upcalls *up;
	uint64_t listen_ctx, qp_ctx;
	unsigned in_close;
} talk;

static void
tell_cm(enum ri_cm_event_kind kind, uint64_t ctx)
{
	struct ri_cm_event event = {
		.kind = kind, .ctx = ctx, .request = (struct ri_request *)(void *)&talk};

	talk.up->cm_event(talk.up->self, &event);
	atomic_fetch_add(&talk.made, 1);
}

static void
tell_async(enum ri_event number, enum ri_object object, uint64_t ctx)
{
	struct ri_async_event event = {.event = number, .object = object, .ctx = ctx};

	talk.up->async_event(talk.up->self, &event);
	atomic_fetch_add(&talk.made, 1);
}

static void *
talk_on(void *arg)
{
	(void)arg;
	while (!atomic_load(&talk.stop)) {
		tell_cm(RI_CM_REQUEST, talk.listen_ctx);
		tell_cm(RI_CM_REQUEST_GONE, talk.listen_ctx);
		tell_cm(RI_CM_SERVICE_REPLY, talk.qp_ctx);
		tell_cm(RI_CM_ESTABLISHED, talk.qp_ctx);
		tell_cm(RI_CM_DISCONNECTED, talk.qp_ctx);
		tell_async(RI_EVENT_QP_CATASTROPHIC, RI_OBJECT_QP, talk.qp_ctx);
		tell_async(RI_EVENT_PORT_CHANGE, RI_OBJECT_PORT, 0);
		sched_yield();
	}
	return NULL;
}

void
fake_talk(uint64_t qp_ctx)
{
	talk.up = fake_last_upcalls();
	talk.listen_ctx = fake_cm_listen_ctx;
	talk.qp_ctx = qp_ctx;
	talk.in_close = 0;
	atomic_store(&talk.stop, false);
	g_assert_cmpint(pthread_create(&talk.thread, NULL, talk_on, NULL), ==, 0);
	talk.running = true;
}

void
fake_talk_end(void)
{
	unsigned before = atomic_load(&talk.made);

	if (!talk.running)
		return;
	while (atomic_load(&talk.made) < before + 70)
		sched_yield();
	atomic_store(&talk.stop, true);
	pthread_join(talk.thread, NULL);
	talk.running = false;
	talk.in_close = atomic_load(&talk.made) - before;
}

unsigned
fake_talked_in_close(void)
{
	return talk.in_close;
}
