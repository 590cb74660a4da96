/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "door_sums.h"

#include <poll.h>
#include <sys/socket.h>

#include "door_channel.h"
#include "door_cm_internal.h"
#include "door_qp.h"
#include "door_states.h"

/* --- lists of events ---------------------------------------------------------------------------------------- */

/* `count` is the length of the list, its events are marked as queued, and the descriptor's state is `readable`. Under the lock. */
static void
check_events(const struct door_events *events)
{
	const struct door_event *before = NULL;
	struct pollfd ready = {.fd = events->fd, .events = POLLIN};
	unsigned count = 0;

	for (const struct door_event *at = events->first; at != NULL; at = at->next) {
		g_assert_true(at->queued);
		g_assert_true(at->prev == before);
		before = at;
		count++;
	}
	g_assert_true(events->last == before);
	g_assert_cmpuint(events->count, ==, count);
	g_assert_true(events->readable || count <= events->takers);
	if (events->fd >= 0)
		g_assert_cmpint(poll(&ready, 1, 0) == 1, ==, events->readable);
}

/* --- verbs -------------------------------------------------------------------------------------------------- */

/* The object in a slot; NULL: the slot has no object of that kind. Under door_slots::lock. */
static void *
object_at(const struct door_slots *slots, uint32_t index, enum door_kind kind)
{
	return slots->first[index].kind == kind ? slots->first[index].object : NULL;
}

static void
check_slots(const struct door_slots *slots)
{
	uint32_t owned = 0, vacant = 0;

	for (uint32_t i = 0; i < slots->used; i++) {
		const struct door_slot *slot = &slots->first[i];

		g_assert_true((slot->object != NULL) == (slot->kind != DOOR_NONE));
		g_assert_true((slot->object != NULL) == (atomic_load(&slot->generation) % 2 == 1));
		owned += slot->object != NULL;
	}
	for (uint32_t at = slots->first_free; at != 0; at = slots->first[at - 1].next_free)
		vacant++;
	g_assert_cmpuint(owned + vacant, ==, slots->used);
}

/* A queue pair before its first move is a new one, whatever it was before. */
static void
check_qp(const struct door_qp *qp)
{
	const struct door_adapter *adapter = qp->adapter;
	const struct door_slot *slot = door_slot_of(&adapter->slots, qp->ctx);
	unsigned found = 0;
	bool has_events = !adapter->session.attr.last_wqe_event;

	g_assert_true(slot != NULL && slot->object == qp);
	for (const struct door_qp *one = adapter->numbered[qp->qp.qp_num % DOOR_QP_ROWS];
	     one != NULL; one = one->next_numbered)
		found += one == qp;
	g_assert_cmpuint(found, ==, 1);
	g_assert_cmpuint(atomic_load(&slot->number), ==, qp->qp.qp_num);
	g_assert_true(!qp->last_wqe_due || (qp->srq != NULL && has_events));
	if (atomic_load(&qp->state) == IBV_QPS_RESET) {
		g_assert_false(qp->by_cm);
		g_assert_cmpint(qp->last_wqe_due, ==, qp->srq != NULL && has_events);
	}
	g_assert_true(qp->cm == NULL || qp->cm->qp == qp);
	g_assert_cmpuint(qp->qp.events_completed, <=, qp->async_taken);
}

/* `users` counts the work queues that complete into this CQ. Its channel has one entry while upcalls are not taken yet. */
static void
check_cq(const struct door_slots *slots, struct door_cq *cq)
{
	unsigned users = 0;

	for (uint32_t i = 0; i < slots->used; i++) {
		const struct door_qp *qp = (struct door_qp *)object_at(slots, i, DOOR_QP);

		if (qp != NULL)
			users += (qp->send_cq == cq) + (qp->recv_cq == cq);
	}
	g_assert_cmpuint(atomic_load(&cq->users), ==, users);
	g_assert_cmpuint(cq->kept_at, <=, cq->kept_num);
	g_assert_cmpuint(cq->kept_num, <=, cq->kept_room);
	g_assert_true(atomic_load(&cq->keeps) || cq->kept_at == cq->kept_num);
	if (cq->channel == NULL)
		return;
	pthread_mutex_lock(&cq->channel->events.lock);
	g_assert_true(cq->fired.queued == (cq->fired_num > 0));
	g_assert_cmpuint(cq->cq.comp_events_completed, <=, cq->fired_taken);
	check_events(&cq->channel->events);
	pthread_mutex_unlock(&cq->channel->events.lock);
}

static void
check_channel(const struct door_slots *slots, const struct door_channel *channel)
{
	int queues = 0;

	for (uint32_t i = 0; i < slots->used; i++) {
		const struct door_cq *cq = (struct door_cq *)object_at(slots, i, DOOR_CQ);

		queues += cq != NULL && cq->channel == channel;
	}
	g_assert_cmpint(channel->channel.refcnt, ==, queues);
}

static void
check_srq(const struct door_slots *slots, const struct door_srq *srq)
{
	unsigned users = 0;

	for (uint32_t i = 0; i < slots->used; i++) {
		const struct door_qp *qp = (struct door_qp *)object_at(slots, i, DOOR_QP);

		users += qp != NULL && qp->srq == srq;
	}
	g_assert_cmpuint(atomic_load(&srq->users), ==, users);
	g_assert_cmpuint(srq->srq.events_completed, <=, srq->async_taken);
}

static void
check_object(const struct door_slots *slots, uint32_t index)
{
	struct door_qp *qp = (struct door_qp *)object_at(slots, index, DOOR_QP);
	struct door_cq *cq = (struct door_cq *)object_at(slots, index, DOOR_CQ);
	struct door_srq *srq = (struct door_srq *)object_at(slots, index, DOOR_SRQ);

	if (qp != NULL)
		check_qp(qp);
	if (cq != NULL)
		check_cq(slots, cq);
	if (cq != NULL && cq->channel != NULL)
		check_channel(slots, cq->channel);
	if (srq != NULL)
		check_srq(slots, srq);
}

void
door_sums_check(struct ibv_context *context)
{
	struct door_adapter *adapter = door_adapter_of(context);

	pthread_mutex_lock(&adapter->slots.lock);
	check_slots(&adapter->slots);
	for (uint32_t i = 0; i < adapter->slots.used; i++)
		check_object(&adapter->slots, i);
	for (struct door_context *one = adapter->contexts; one != NULL; one = one->next) {
		pthread_mutex_lock(&one->async.lock);
		check_events(&one->async);
		pthread_mutex_unlock(&one->async.lock);
	}
	pthread_mutex_unlock(&adapter->slots.lock);
}

char *
door_sums_account(struct ibv_context *context)
{
	struct door_adapter *adapter = door_adapter_of(context);
	GString *text = g_string_new(NULL);

	pthread_mutex_lock(&adapter->slots.lock);
	for (uint32_t i = 0; i < adapter->slots.used; i++) {
		const struct door_slot *slot = &adapter->slots.first[i];
		const struct door_cq *cq = (struct door_cq *)object_at(&adapter->slots, i, DOOR_CQ);

		if (slot->kind == DOOR_NONE)
			continue;
		g_string_append_printf(text, "slot %u: kind %d", i, slot->kind);
		if (cq != NULL)
			g_string_append_printf(text, ", %u users, %d entries",
					       atomic_load(&cq->users), cq->cq.cqe);
		g_string_append_c(text, '\n');
	}
	pthread_mutex_unlock(&adapter->slots.lock);
	g_string_append_printf(text, "context: %u references\n",
			       atomic_load(&door_context_of(context)->refs));
	return g_string_free(text, FALSE);
}

/* --- rdma_cm ------------------------------------------------------------------------------------------------ */

static void
check_cm_channel(struct door_cm_channel *channel)
{
	const struct door_cm_id *before = NULL;

	pthread_mutex_lock(&channel->events.lock);
	check_events(&channel->events);
	pthread_mutex_unlock(&channel->events.lock);
	g_assert_cmpuint(channel->refs, >, 0);
	for (const struct door_cm_id *id = channel->ids; id != NULL; id = id->next) {
		g_assert_true(id->prev == before);
		g_assert_true(id->channel == channel);
		before = id;
	}
}

/* How many connection requests of this listener the program has not taken yet. Each request has an id of its own. */
static unsigned
requests_waiting(const struct door_cm_id *id)
{
	unsigned waiting = 0;

	for (const struct door_event *at = id->channel->events.first; at != NULL; at = at->next) {
		const struct door_cm_event *event = (const struct door_cm_event *)at;

		waiting += event->id == id && event->request != NULL;
		g_assert_true((event->request != NULL) ==
			      (event->answer.event == RDMA_CM_EVENT_CONNECT_REQUEST));
	}
	return waiting;
}

static void
check_id(const struct door_cm_id *id)
{
	bool listed = false;

	for (const struct door_cm_id *one = id->channel->ids; one != NULL; one = one->next)
		listed |= one == id;
	g_assert_true(listed);
	g_assert_cmpuint(id->refs, >, 0);
	g_assert_false(id->dying);
	g_assert_cmpuint(id->unheard, ==, requests_waiting(id));
	g_assert_true(id->unheard <= id->backlog);
	g_assert_true(id->request == 0 || id->passive);
	g_assert_true(id->adapter != NULL || id->state <= DOOR_CM_BOUND ||
		      id->state == DOOR_CM_LISTENING || id->state == DOOR_CM_ENDED);
	g_assert_true(id->hearings == NULL || id->state == DOOR_CM_LISTENING ||
		      id->state == DOOR_CM_ENDED);
	g_assert_true(id->reservation < 0 || id->has_port);
	g_assert_true(id->groups == NULL || door_cm_is_ud(id));
	/* A queue pair is of one id; and one that is only a number is there together with its protection domain. */
	g_assert_true(id->qp == NULL || id->qp->cm == id);
	g_assert_true((id->number_qp == 0) == (id->pd == 0));
	/* One that the program has not accepted, or without success, has none. */
	g_assert_true(id->uid != 0 || (id->qp == NULL && id->number_qp == 0));
	for (const struct door_cm_group *group = id->groups; group != NULL; group = group->next)
		g_assert_true(group->id == id && group->reported <= id->reported);
}

void
door_sums_check_cm(void)
{
	door_cm_lock();
	for (struct door_cm_id *id = door_cm_id_after(0); id != NULL;
	     id = door_cm_id_after(id->number)) {
		check_cm_channel(id->channel);
		check_id(id);
	}
	door_cm_unlock();
}

/* Does an id in this state stay there until the program calls? */
static bool
is_settled(enum door_cm_state state)
{
	return state <= DOOR_CM_REQUESTED || state == DOOR_CM_ENDED;
}

/* May another socket bind to its port? That is the kernel's part of an account. */
static int
is_shared(const struct door_cm_id *id)
{
	int shared = -1;
	socklen_t len = sizeof(shared);

	if (id->reservation >= 0)
		(void)getsockopt(id->reservation, SOL_SOCKET, SO_REUSEADDR, &shared, &len);
	return shared;
}

/* -1: not chosen yet. A bind chooses the default, even if it is refused afterwards. */
static int
is_family_only(const struct door_cm_id *id)
{
	return id->family_only_given || id->state != DOOR_CM_IDLE ? id->family_only : -1;
}

static void
append_id(GString *text, const struct door_cm_id *id)
{
	unsigned groups = 0;

	for (const struct door_cm_group *group = id->groups; group != NULL; group = group->next)
		groups++;
	g_string_append_printf(
		text,
		"id %u of %" G_GUINT64_FORMAT ": port %u, %s, shared %d, reuse %d, only %d, "
		"adapter %p, spigot %u, hears %d, groups %u, ack %d %u, objects %u %u\n",
		id->number, id->uid, *door_cm_port((struct sockaddr_storage *)&id->source),
		id->has_port ? "its own" : "none", is_shared(id), id->reuse, is_family_only(id),
		(void *)id->adapter, id->spigot, id->hearings != NULL, groups, id->ack_timed,
		id->ack_timeout, id->pd, id->number_qp);
	g_string_append_printf(text, "families %u %u, qp %p, backlog %u, state %d\n",
			       id->source.ss_family, id->dest.ss_family, (void *)id->qp,
			       id->backlog, id->state);
}

char *
door_sums_account_cm(void)
{
	GString *text = g_string_new(NULL);

	door_cm_lock();
	for (struct door_cm_id *id = door_cm_id_after(0); id != NULL;
	     id = door_cm_id_after(id->number))
		if (is_settled(id->state))
			append_id(text, id);
	door_cm_unlock();
	return g_string_free(text, FALSE);
}
