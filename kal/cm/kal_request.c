/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Connection requests, from the TCP accept until the consumer has answered.
 *
 * Half open: the service thread reads the MPA Request; its time (5 s), its size and the number of such requests
 * are bounded (kal_starts.c). Delivered: the request has an id and an entry in the table, and its event is queued.
 * The service thread still watches whether the peer gives up, and a timer limits the time for the answer (120 s).
 *
 * Several threads may want to end a request: an accept, a reject, a hand-off, the service thread, the close of the
 * adapter. The first that calls kal_request_leave under the table lock takes the request and ends it. The request's
 * functions on the service thread check first whether it was taken; the thread that took it stops them, and waits
 * for one that runs, before it goes on (request_stop).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "kal_cm_internal.h"
#include "kal_cm_log.h"
#include "kal_partings.h"
#include "kal_request.h"
#include "kal_sock.h"
#include "ri_log.h"
#include "ri_owned.h"

static void request_ready(void *arg, uint32_t events);
static void request_late(void *arg);

void
kal_request_release(struct kal_request *request)
{
	struct kal_cm *cm = request->cm;

	kal_cm_node_free(request->told);
	kal_cm_node_free(request->gone);
	free(request);
	atomic_fetch_sub(&cm->alive, 1);
}

struct kal_request *
kal_request_alloc(struct kal_cm *cm)
{
	struct kal_request *request = calloc(1, sizeof(*request));

	if (request == NULL)
		return NULL;
	atomic_fetch_add(&cm->alive, 1);
	request->cm = cm;
	request->watch.fire = request_ready;
	request->watch.arg = request;
	request->timer.fire = request_late;
	request->timer.arg = request;
	request->told = kal_cm_node_new();
	request->gone = kal_cm_node_new();
	if (request->told != NULL && request->gone != NULL)
		return request;
	kal_request_release(request);
	return NULL;
}

static void
request_stop(struct kal_request *request)
{
	const struct ri_host *host = request->cm->host;

	/* In this order: the function of the watch may start the timer. */
	host->watch_stop(host->self, &request->watch);
	host->timer_stop(host->self, &request->timer);
}

void
kal_request_free(struct kal_request *request)
{
	kal_cm_lock(request->cm);
	kal_table_remove(&request->cm->held, &request->link);
	kal_cm_unlock(request->cm);
	request_stop(request);
	if (request->listener != NULL)
		kal_listener_unref(request->listener);
	kal_fd_close(&request->fd);
	kal_request_release(request);
}

/* The service thread may be about to read a start-up, so that is stopped before its stream is reset. */
void
kal_request_abort(struct kal_request *request)
{
	request_stop(request);
	kal_sock_abort(kal_fd_get(&request->fd));
	kal_request_free(request);
}

/* The caller owns cm->lock. Ids are unique in the process: a client may have several adapters. */
void
kal_request_enter(struct kal_request *request)
{
	static atomic_uint last;
	struct kal_cm *cm = request->cm;

	RI_ASSERT_OWNED(&request->cm->lock);
	do
		request->id = atomic_fetch_add(&last, 1) + 1;
	while (request->id == 0 || kal_table_find(&cm->requests, request->id) != NULL);
	request->info.request = request->id;
	request->link.key = request->id;
	kal_table_insert(&cm->requests, &request->link);
	kal_cm_tell(cm, g_steal_pointer(&request->told), request->ctx, &request->info);
}

struct kal_listener *
kal_listener_of(struct kal_cm *cm, uint64_t id)
{
	RI_ASSERT_OWNED(&cm->lock);
	return kal_entry_or_null(kal_table_find(&cm->listeners, id), struct kal_listener, link);
}

void
kal_listener_unref(struct kal_listener *listener)
{
	if (atomic_fetch_sub(&listener->refs, 1) != 1)
		return;
	free(listener->unheard);
	free(listener);
}

/* The caller owns cm->lock. */
static void
count_waiting(struct kal_request *request, int by)
{
	struct kal_listener *listener = kal_listener_of(request->cm, request->listener_id);

	RI_ASSERT_OWNED(&request->cm->lock);
	if (listener != NULL)
		atomic_fetch_add(&listener->waiting, (unsigned)by);
}

bool
kal_request_leave(struct kal_request *request)
{
	RI_ASSERT_OWNED(&request->cm->lock);
	if (request->taken)
		return false;
	request->taken = true;
	if (request->id == 0) {
		kal_start_leave(request);
		return true;
	}
	kal_table_remove(&request->cm->requests, &request->link);
	count_waiting(request, -1);
	return true;
}

static bool
request_take_this(struct kal_request *request)
{
	bool ours;

	kal_cm_lock(request->cm);
	ours = kal_request_leave(request);
	kal_cm_unlock(request->cm);
	return ours;
}

void
kal_request_end_all(struct kal_cm *cm)
{
	struct kal_request *request;

	do {
		kal_cm_lock(cm);
		request = kal_entry_or_null(kal_table_next(&cm->requests, NULL), struct kal_request,
					    link);
		if (request != NULL)
			(void)kal_request_leave(request); /* a request in the table is not taken */
		kal_cm_unlock(cm);
		if (request != NULL) {
			request_stop(request);
			kal_request_refuse(request, KAL_REASON_REFUSED, NULL, 0);
		}
	} while (request != NULL);
	/* The service thread may be about to free a request that it has taken. */
	for (unsigned round = 0; atomic_load(&cm->alive) > 0; round++)
		cm->host->relax(cm->host->self, round);
}

struct kal_request *
kal_request_take(struct kal_cm *cm, uint32_t id, bool service)
{
	struct kal_request *request;

	kal_cm_lock(cm);
	request = kal_entry_or_null(kal_table_find(&cm->requests, id), struct kal_request, link);
	if (request != NULL && request->service != service)
		request = NULL;
	if (request != NULL)
		kal_request_leave(request);
	if (request != NULL && request->provider != NULL)
		kal_table_insert(&cm->held, &request->link);
	kal_cm_unlock(cm);
	if (request != NULL)
		request_stop(request);
	return request;
}

/* Watch the peer of a delivered request, and limit the time for the answer. */
static void
request_watch(struct kal_request *request)
{
	const struct ri_host *host = request->cm->host;
	const struct ri_log_about about = {.layer = "kal", .adapter = request->cm->attr->name};

	host->timer_start(host->self, &request->timer,
			  host->now(host->self) + KAL_REQUEST_ANSWER_MAX);
	request->watch.events = RI_WATCH_IN;
	if (host->watch_start(host->self, &request->watch) != RI_SUCCESS)
		ri_log(host, RI_LOG_WARNING, &about,
		       "cannot watch the peer of connection request %u, for want of a descriptor "
		       "or "
		       "memory: the request stays if the peer closes",
		       request->id);
}

void
kal_request_put_back(struct kal_request *request)
{
	struct kal_cm *cm = request->cm;
	bool dead;

	if (request->provider == NULL)
		request_watch(request);
	kal_cm_lock(cm);
	dead = request->withdrawn;
	if (!dead) {
		kal_table_remove(&request->cm->held, &request->link);
		request->taken = false;
		kal_table_insert(&cm->requests, &request->link);
		count_waiting(request, 1);
	}
	kal_cm_unlock(cm);
	if (dead)
		kal_request_dead(request);
}

enum ri_status
kal_request_hand(struct kal_request *request, uint64_t ctx, uint64_t listener_id)
{
	struct kal_cm *cm = request->cm;
	struct kal_cm_node *told = kal_cm_node_new();
	bool dead;

	if (told == NULL)
		return RI_ERR_RESOURCES;
	if (request->provider == NULL)
		request_watch(request);
	kal_cm_lock(cm);
	dead = request->withdrawn;
	if (!dead) {
		kal_table_remove(&request->cm->held, &request->link);
		request->told = told;
		request->taken = false;
		request->ctx = ctx;
		request->listener_id = listener_id;
		count_waiting(request, 1);
		kal_request_enter(request);
	}
	kal_cm_unlock(cm);
	if (dead)
		kal_cm_node_free(told);
	return dead ? RI_ERR_INVALID_HANDLE : RI_SUCCESS;
}

/*
 * Send a Reply that refuses, and leave the socket until the peer has closed. If the socket's buffer is full, the peer
 * sees only the end of the connection. The request is taken; on the service thread it may still be watched.
 */
static void
send_reply(struct kal_request *request, struct kal_mpa_frame *reply)
{
	uint8_t out[KAL_MPA_FRAME_MAX];
	size_t size = kal_mpa_write(reply, out, sizeof(out));

	if (size > 0)
		kal_sock_capture(
			request->cm, kal_fd_get(&request->fd), out,
			send(kal_fd_get(&request->fd), out, size, MSG_NOSIGNAL | MSG_DONTWAIT),
			false);
	kal_sock_capture_end(request->cm, kal_fd_get(&request->fd), true);
	request_stop(request);
	kal_parting_begin(request->cm, &request->fd);
}

/* Refuse as the consumer. */
static void
reply_reject(struct kal_request *request, const void *pdata, uint16_t len)
{
	struct kal_mpa_offered offered = {.revision = request->frame.revision,
					  .crc = request->cm->config->crc};
	struct kal_mpa_frame reply;

	kal_mpa_reject(&offered, &request->frame, &reply);
	reply.private_data = pdata;
	reply.private_len = len;
	send_reply(request, &reply);
}

void
kal_request_refuse_at_provider(struct kal_cm *cm, const struct kal_unheard *raised,
			       enum kal_cm_reason reason, const void *pdata, uint16_t len)
{
	const struct ri_service_answer no = {.status = RI_SERVICE_REJECTED};

	/* It may have been withdrawn meanwhile, which is no error. */
	if (raised->service)
		(void)!ri_call_resolve_answer(cm->caller, raised->request, &no);
	else
		(void)!ri_call_reject(cm->caller, raised->request, (enum ri_cm_reason)reason, pdata,
				      len);
}

void
kal_request_refuse(struct kal_request *request, enum kal_cm_reason reason, const void *pdata,
		   uint16_t len)
{
	const struct kal_unheard raised = {request->provider, request->service};
	const struct kal_mpa_offered offered = {.revision = request->frame.revision,
						.crc = request->cm->config->crc};
	struct kal_mpa_frame reply;

	if (request->provider == NULL)
		kal_say_refused(request,
				reason == KAL_REASON_CONSUMER    ? "the application rejected it"
				: reason == KAL_REASON_RESOURCES ? "there is no room for one more"
								 : "it is not wanted any more");
	if (request->provider != NULL)
		kal_request_refuse_at_provider(request->cm, &raised, reason, pdata, len);
	else if (reason == KAL_REASON_CONSUMER)
		reply_reject(request, pdata, len);
	else if (reason == KAL_REASON_RESOURCES &&
		 kal_mpa_reject_no_room(&offered, &request->frame, &reply))
		send_reply(request, &reply);
	else /* revision 1 cannot express that the backlog is full */
		kal_sock_abort(kal_fd_get(&request->fd));
	kal_request_free(request);
}

/* --- half open ------------------------------------------------------------------------------ */

void
kal_request_new(struct kal_listener *listener, struct kal_fd *fd)
{
	const struct ri_host *host = listener->cm->host;
	struct kal_request *request = kal_request_alloc(listener->cm);

	if (request == NULL) {
		kal_sock_abort(kal_fd_get(fd));
		kal_fd_close(fd);
		return;
	}
	atomic_fetch_add(&listener->refs, 1);
	request->listener = listener;
	request->listener_id = listener->link.key;
	request->ctx = listener->ctx;
	request->suppress = listener->suppress;
	kal_fd_move(&request->fd, fd);
	request->watch.fd = kal_fd_get(&request->fd);
	request->watch.events = RI_WATCH_IN;
	kal_sock_prepare(request->watch.fd);
	kal_sock_watch_peer(request->watch.fd, &request->cm->config->keep_alive);
	kal_cm_lock(request->cm);
	kal_start_enter(request);
	kal_cm_unlock(request->cm);
	if (host->watch_start(host->self, &request->watch) != RI_SUCCESS) {
		if (request_take_this(request))
			kal_request_free(request);
		return;
	}
	host->timer_start(host->self, &request->timer,
			  host->now(host->self) + KAL_REQUEST_READ_MAX);
	kal_starts_trim(listener, request);
}

static void
request_describe(struct kal_request *request)
{
	const struct kal_mpa_frame *frame = &request->frame;
	struct kal_cm_event *info = &request->info;
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);
	uint16_t port = 0;

	info->kind = KAL_CM_REQUEST;
	info->service = request->listener->service;
	info->port = request->listener->port;
	if (getpeername(kal_fd_get(&request->fd), (struct sockaddr *)&sa, &len) == 0)
		kal_sock_addr_back(&sa, &info->peer, &port);
	info->service.local_port = port;
	len = sizeof(sa);
	if (getsockname(kal_fd_get(&request->fd), (struct sockaddr *)&sa, &len) == 0)
		kal_sock_addr_back(&sa, &info->local, &port);
	info->ird_ord_valid = frame->words && !request->suppress &&
			      frame->ird != KAL_MPA_DEPTH_PRIVATE &&
			      frame->ord != KAL_MPA_DEPTH_PRIVATE;
	info->ird = info->ird_ord_valid ? frame->ird : 0;
	info->ord = info->ird_ord_valid ? frame->ord : 0;
	info->pdata_present = frame->private_len > 0;
	info->pdata_len = MIN(frame->private_len, RI_PDATA_MAX);
	if (info->pdata_len > 0)
		memcpy(info->pdata, frame->private_data, info->pdata_len);
}

/*
 * A whole Request is there: deliver it to the consumer. False: it has ended, or another thread has taken it.
 * Accepting stops when the backlog is full, but start-ups that had begun may exceed the backlog; they wait here.
 */
static bool
request_deliver(struct kal_request *request)
{
	struct kal_listener *listener = request->listener;
	struct kal_cm *cm = request->cm;
	const struct ri_host *host = cm->host;
	uint64_t now;
	bool room;

	if (atomic_load(&listener->closed)) {
		kal_sock_abort(kal_fd_get(
			&request->fd)); /* as if it had arrived after the listener's end */
		return false;
	}
	if (atomic_load(&listener->waiting) >= listener->backlog) {
		/* Try again soon, but only for a limited time. */
		now = host->now(host->self);
		if (request->stage != KAL_START_WHOLE)
			request->patience = now + KAL_REQUEST_ANSWER_MAX;
		kal_start_advance(request, KAL_START_WHOLE);
		host->timer_start(host->self, &request->timer, now + KAL_RETRY_AFTER);
		return now < request->patience;
	}
	request_describe(request);
	request_watch(request);
	kal_cm_lock(cm);
	room = kal_request_leave(request);
	if (room) {
		request->taken = false;
		request->listener = NULL;
		atomic_fetch_add(&listener->waiting, 1);
		kal_request_enter(request);
	}
	kal_cm_unlock(cm);
	if (room)
		kal_listener_unref(listener);
	return room;
}

/* False: the caller is to end the request. */
static bool
read_request(struct kal_request *request)
{
	const struct ri_host *host = request->cm->host;
	enum kal_mpa_verdict verdict;
	enum kal_mpa_found found;
	char why[KAL_WHY_MAX];
	size_t size = 0;
	ssize_t n = recv(kal_fd_get(&request->fd), request->in + request->in_len,
			 sizeof(request->in) - request->in_len, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n <= 0) {
		kal_mpa_found_text(KAL_MPA_REQUEST, KAL_MPA_MORE, request->in, request->in_len, why,
				   sizeof(why));
		kal_say_refused(request, why);
		return false;
	}
	kal_sock_capture(request->cm, kal_fd_get(&request->fd), request->in + request->in_len, n,
			 true);
	request->in_len += (size_t)n;
	found = kal_mpa_read(KAL_MPA_REQUEST, request->in, request->in_len, &request->frame, &size);
	if (found == KAL_MPA_MORE) {
		kal_start_advance(request, request->in_len < KAL_MPA_HEADER_SIZE
						   ? KAL_START_PARTIAL
						   : KAL_START_HEADER);
		return true;
	}
	if (found != KAL_MPA_WHOLE) {
		kal_mpa_found_text(KAL_MPA_REQUEST, found, request->in, request->in_len, why,
				   sizeof(why));
		kal_say_refused(request, why);
		return false;
	}
	verdict = kal_mpa_judge_request(&request->frame, request->in_len - size);
	if (verdict == KAL_MPA_REFUSE_MARKERS && request->cm->config->markers_tx)
		verdict = KAL_MPA_GO;
	if (verdict != KAL_MPA_GO) {
		kal_mpa_verdict_text(verdict, NULL, &request->frame, NULL, why, sizeof(why));
		kal_say_refused(request, why);
	}
	if (verdict == KAL_MPA_REFUSE_MARKERS) {
		if (request_take_this(request)) {
			reply_reject(request, NULL, 0);
			kal_request_free(request);
		}
		return true;
	}
	if (verdict != KAL_MPA_GO)
		return false;
	host->watch_stop(host->self, &request->watch);
	host->timer_stop(host->self, &request->timer);
	return request_deliver(request);
}

/* --- delivered ---------------------------------------------------------------------------- */

void
kal_request_tell_gone(struct kal_request *request)
{
	const struct kal_cm_event gone = {.kind = KAL_CM_REQUEST_GONE, .request = request->id};

	RI_ASSERT_OWNED(&request->cm->lock);
	kal_cm_tell(request->cm, g_steal_pointer(&request->gone), request->ctx, &gone);
}

/* The peer gave up, or the answer came too late: the id becomes invalid. */
static void
request_die(struct kal_request *request, const char *why)
{
	struct kal_cm *cm = request->cm;
	bool ours;

	kal_cm_lock(cm);
	ours = kal_request_leave(request);
	if (ours)
		kal_request_tell_gone(request);
	kal_cm_unlock(cm);
	if (!ours)
		return;
	kal_say_refused(request, why);
	kal_request_free(request);
}

void
kal_request_dead(struct kal_request *request)
{
	kal_cm_lock(request->cm);
	kal_request_tell_gone(request);
	kal_cm_unlock(request->cm);
	kal_request_free(request);
}

static bool
is_taken(struct kal_request *request)
{
	bool taken;

	kal_cm_lock(request->cm);
	taken = request->taken;
	kal_cm_unlock(request->cm);
	return taken;
}

static void
request_ready(void *arg, uint32_t events)
{
	struct kal_request *request = arg;
	char octet;
	ssize_t n;

	(void)events;
	if (is_taken(request))
		return;
	if (request->listener != NULL) {
		if (!read_request(request) && request_take_this(request))
			kal_request_free(request);
		return;
	}
	/* The peer must not send before our Reply [WIRE 2.3.6]. */
	n = recv(kal_fd_get(&request->fd), &octet, 1, MSG_PEEK);
	if (n >= 0 || (errno != EAGAIN && errno != EINTR))
		request_die(request, n > 0 ? "octets came before the Reply"
					   : "the peer gave up before the answer");
}

static void
request_late(void *arg)
{
	struct kal_request *request = arg;

	if (is_taken(request))
		return;
	if (request->listener == NULL)
		request_die(request, "the application did not answer in time");
	else if (!(request->stage == KAL_START_WHOLE && request_deliver(request)) &&
		 request_take_this(request)) {
		kal_say_refused(request, request->stage == KAL_START_WHOLE
						 ? "there was no room for it in time"
						 : "no whole Request came in time");
		kal_request_free(request);
	}
}
