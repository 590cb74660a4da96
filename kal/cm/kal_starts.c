/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The start-ups of a listener: connections that TCP has accepted and whose MPA Request is not delivered
 * yet. Any host can open connections and stay silent. So a listener keeps a bounded number of start-ups and
 * goes on accepting: when all places are taken, a new start-up replaces an old one that has sent little.
 *
 * There is one queue for each stage, in the order in which start-ups reached the stage. The victim is the oldest
 * silent start-up; if there is none, the oldest with a part of a header; then the oldest with a whole header. Each
 * stage keeps a share of the places (KAL_START_SHARE), so that connections which send one octet and stop cannot take
 * the places of those that are about to send. A whole Request that waits for the consumer is never a victim.
 *
 * Each start-up also has a deadline (KAL_REQUEST_READ_MAX), which arriving octets do not extend.
 *
 * The queues are guarded by the table lock. Victims are chosen on the service thread.
 */
#include <sys/socket.h>

#include "kal_cm_internal.h"
#include "kal_partings.h"
#include "kal_request.h"
#include "ri_owned.h"

static void
queue_append(struct kal_starts *starts, struct kal_request *request)
{
	struct kal_start_queue *queue = &starts->queues[request->stage];

	request->next_start = NULL;
	request->prev_start = queue->newest;
	if (queue->newest != NULL)
		queue->newest->next_start = request;
	else
		queue->oldest = request;
	queue->newest = request;
	queue->count++;
}

static void
queue_remove(struct kal_starts *starts, struct kal_request *request)
{
	struct kal_start_queue *queue = &starts->queues[request->stage];

	if (request->prev_start != NULL)
		request->prev_start->next_start = request->next_start;
	else
		queue->oldest = request->next_start;
	if (request->next_start != NULL)
		request->next_start->prev_start = request->prev_start;
	else
		queue->newest = request->prev_start;
	request->next_start = NULL;
	request->prev_start = NULL;
	queue->count--;
}

void
kal_start_enter(struct kal_request *request)
{
	RI_ASSERT_OWNED(&request->cm->lock);
	request->stage = KAL_START_SILENT;
	queue_append(&request->listener->starts, request);
}

void
kal_start_leave(struct kal_request *request)
{
	RI_ASSERT_OWNED(&request->cm->lock);
	queue_remove(&request->listener->starts, request);
}

/* The caller owns cm->lock. */
static void
start_move(struct kal_request *request, enum kal_start_stage stage)
{
	RI_ASSERT_OWNED(&request->cm->lock);
	if (stage <= request->stage)
		return;
	queue_remove(&request->listener->starts, request);
	request->stage = stage;
	queue_append(&request->listener->starts, request);
}

void
kal_start_advance(struct kal_request *request, enum kal_start_stage stage)
{
	kal_cm_lock(request->cm);
	if (!request->taken)
		start_move(request, stage);
	kal_cm_unlock(request->cm);
}

/* The caller owns cm->lock. The oldest of a stage with more than `share` of them, but not `fresh`. */
static struct kal_request *
oldest_of(struct kal_starts *starts, unsigned share, const struct kal_request *fresh)
{
	for (int stage = KAL_START_SILENT; stage < KAL_START_WHOLE; stage++) {
		struct kal_request *request = starts->queues[stage].oldest;

		if (starts->queues[stage].count > share && request != NULL && request != fresh)
			return request;
	}
	return NULL;
}

/* The caller owns cm->lock. The start-up that a new one replaces. */
static struct kal_request *
victim_of(struct kal_starts *starts, const struct kal_request *fresh)
{
	for (;;) {
		struct kal_request *request = oldest_of(starts, KAL_START_SHARE, fresh);
		char octet;

		if (request == NULL)
			request = oldest_of(starts, 0, fresh);
		/*
		 * If octets wait in the socket, the start-up is not silent, only unread. This system call cannot block, and
		 * is made only when a victim is needed.
		 */
		if (request == NULL || request->stage != KAL_START_SILENT ||
		    recv(kal_fd_get(&request->fd), &octet, 1, MSG_PEEK | MSG_DONTWAIT) != 1)
			return request;
		start_move(request, KAL_START_PARTIAL);
	}
}

/* The caller owns cm->lock; this releases it. False: there was nothing to end. */
static bool
end_one(struct kal_cm *cm, struct kal_request *request)
{
	bool ours = request != NULL && kal_request_leave(request);

	RI_ASSERT_OWNED(&cm->lock);
	kal_cm_unlock(cm);
	if (!ours)
		return false;
	kal_request_abort(request);
	return true;
}

void
kal_starts_trim(struct kal_listener *listener, const struct kal_request *fresh)
{
	struct kal_cm *cm = listener->cm;
	unsigned sum = 0;

	kal_cm_lock(cm);
	for (int stage = 0; stage < KAL_START_STAGES; stage++)
		sum += listener->starts.queues[stage].count;
	if (sum <= KAL_STARTS_MAX)
		kal_cm_unlock(cm);
	else
		(void)end_one(cm, victim_of(&listener->starts, fresh));
}

bool
kal_starts_full(struct kal_listener *listener)
{
	bool full;

	kal_cm_lock(listener->cm);
	full = listener->starts.queues[KAL_START_WHOLE].count >= KAL_STARTS_MAX;
	kal_cm_unlock(listener->cm);
	return full;
}

bool
kal_starts_free_descriptor(struct kal_listener *listener)
{
	struct kal_cm *cm = listener->cm;
	struct kal_request *request;
	struct kal_link *link = NULL;

	/* A refused peer whose FIN is awaited has its answer, so its connection is closed first. */
	if (kal_partings_end_oldest(cm))
		return true;
	kal_cm_lock(cm);
	request = victim_of(&listener->starts, NULL);
	while (request == NULL && (link = kal_table_next(&cm->listeners, link)) != NULL)
		request = victim_of(&kal_entry(link, struct kal_listener, link)->starts, NULL);
	return end_one(cm, request);
}

void
kal_starts_end_all(struct kal_listener *listener)
{
	struct kal_cm *cm = listener->cm;
	struct kal_request *request;

	do {
		request = NULL;
		kal_cm_lock(cm);
		for (int stage = 0; stage < KAL_START_STAGES && request == NULL; stage++)
			request = listener->starts.queues[stage].oldest;
	} while (end_one(cm, request));
}
