/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Listeners, and the requests that arrive at them.
 *
 * A listener of the kAL serves one port of one spigot, at all addresses. An id listens at one
 * address, or at all of a family, on one device or on all. So an id may use several listeners, and
 * a listener may serve several ids; there is a struct door_cm_hearing for each such pair. A request
 * goes to the id that is bound to the address at which it arrived, or else to one that listens at
 * any.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <glib.h>

#include "door_cm_internal.h"
#include "door_status.h"

#define BACKLOG_DEFAULT 1024 /* of the program's, as the kernel's */
#define BACKLOG_LEAST \
	128 /* of the kAL's, which counts fetched requests, too, until they are answered */

struct door_cm_listen {
	struct door_cm_listen *next;  /* under `control` */
	struct door_adapter *adapter; /* the listener is a user of it */
	uint32_t spigot;
	uint16_t port_space;
	uint16_t port;
	struct ri_service service;
	union ibv_gid gid; /* of both ends, if the adapter has GIDs */
	uint32_t kal_id;
	uint64_t ctx;   /* slot */
	unsigned users; /* hearings; under `control` */
	struct ri_task refuse;
	/* Under door_cm_lock(). */
	struct door_cm_hearing *hearings; /* by next_of_listen */
	struct unwanted *unwanted;        /* requests that `refuse` refuses */
};

struct unwanted {
	struct unwanted *next;
	uint32_t request;
	bool service;
};

/* An id hears a listener. */
struct door_cm_hearing {
	struct door_cm_id *id;
	struct door_cm_listen *listen;
	struct door_cm_hearing *next;           /* door_cm_id::hearings; under its control lock */
	struct door_cm_hearing *next_of_listen; /* door_cm_listen::hearings; under door_cm_lock() */
};

/* The listeners of all adapters. The lock is a control lock, after door_cm_id::control. */
static pthread_mutex_t control = PTHREAD_MUTEX_INITIALIZER;
static struct door_cm_listen *listens;

/* Ids of requests that wait for an answer, by door_cm_id::next_request; under door_cm_lock(). */
static struct door_cm_id *requested;

/* --- refusals ------------------------------------------------------------------------------------------ */

static void
refuse_request(struct door_adapter *adapter, uint32_t request, bool service,
	       enum kal_cm_reason reason)
{
	const struct kal_cm_req req = {.request = request, .reason = reason};
	const struct kal_resolve_answer_req answer = {.request = request,
						      .status = RI_SERVICE_REJECTED};

	/* A failure means that the peer has given up. */
	if (service)
		(void)!session_call(&adapter->session, KAL_RESOLVE_ANSWER, &answer, sizeof(answer),
				    NULL, 0);
	else
		(void)!session_call(&adapter->session, KAL_REJECT, &req, sizeof(req), NULL, 0);
}

/* door_cm_listen::refuse, on the service thread: dispatch itself makes no call of the kAL. */
static void
refuse_unwanted(void *arg)
{
	struct door_cm_listen *listen = (struct door_cm_listen *)arg;
	struct unwanted *list;

	door_cm_lock();
	list = listen->unwanted;
	listen->unwanted = NULL;
	door_cm_unlock();
	while (list != NULL) {
		struct unwanted *next = list->next;

		refuse_request(listen->adapter, list->request, list->service, KAL_REASON_REFUSED);
		free(list);
		list = next;
	}
}

/* Under door_cm_lock(). */
static void
request_unwanted(struct door_cm_listen *listen, const struct kal_cm_event *event)
{
	const struct ri_host *host = listen->adapter->session.host;
	struct unwanted *unwanted = (struct unwanted *)calloc(1, sizeof(*unwanted));

	if (unwanted == NULL)
		return; /* the kAL limits its time */
	unwanted->request = event->request;
	unwanted->service = event->kind == KAL_CM_SERVICE_REQUEST;
	unwanted->next = listen->unwanted;
	listen->unwanted = unwanted;
	host->task_run(host->self, &listen->refuse);
}

/* --- requests -------------------------------------------------------------------------------------------- */

/* Does the id want requests that arrive at that address? 2: at this address; 1: at any; 0: no. Under door_cm_lock(). */
static unsigned
wants(const struct door_cm_id *id, const struct ri_addr *arrived)
{
	bool is_ipv4 = arrived->family == RI_ADDR_IPV4;

	if (id->dying || id->state != DOOR_CM_LISTENING)
		return 0;
	if (id->local.family != RI_ADDR_NONE)
		return door_cm_same_addr(&id->local, arrived) ? 2 : 0;
	if (id->source.ss_family == AF_INET)
		return is_ipv4;
	return !is_ipv4 || !id->family_only;
}

/* Under door_cm_lock(). */
static struct door_cm_id *
choose(const struct door_cm_listen *listen, const struct ri_addr *arrived)
{
	struct door_cm_id *chosen = NULL;
	unsigned best = 0;

	for (const struct door_cm_hearing *one = listen->hearings; one != NULL;
	     one = one->next_of_listen) {
		unsigned want = wants(one->id, arrived);

		if (want > best) {
			best = want;
			chosen = one->id;
		}
	}
	return chosen;
}

/* The id of a new request, which its listener's event will own. NULL: no memory. */
static struct door_cm_id *
id_of_request(const struct door_cm_listen *listen, const struct kal_cm_event *event)
{
	struct door_cm_id *id = door_cm_id_new(listen->port_space);

	if (id == NULL)
		return NULL;
	door_adapter_hold(listen->adapter);
	id->adapter = listen->adapter;
	id->passive = true;
	id->spigot = listen->spigot;
	id->local = event->local;
	id->peer = event->peer;
	id->sgid = door_cm_has_lids(id->adapter) ? listen->gid : door_gid(&event->local);
	id->dgid = door_cm_has_lids(id->adapter) ? listen->gid : door_gid(&event->peer);
	id->request = event->request;
	id->reach = event->reach;
	id->state = DOOR_CM_REQUESTED;
	door_cm_sockaddr(&id->source, &event->local, listen->port, 0);
	door_cm_sockaddr(&id->dest, &event->peer, event->service.local_port, 0);
	return id;
}

void
door_cm_requested(struct door_cm_listen *listen, const struct kal_cm_event *event)
{
	struct door_cm_id *fresh = id_of_request(listen, event), *id;
	struct door_cm_event *raised = NULL;

	door_cm_lock();
	id = fresh != NULL ? choose(listen, &event->local) : NULL;
	if (id != NULL && id->unheard < id->backlog)
		raised = door_cm_raise(id, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	if (raised != NULL) {
		id->unheard++;
		raised->request = fresh;
		door_cm_request_params(fresh, event, &raised->answer);
		fresh->next_request = requested;
		requested = fresh;
	} else {
		request_unwanted(listen, event);
	}
	door_cm_unlock();
	if (raised != NULL || fresh == NULL)
		return;
	/* Nobody else knows it, and the listener is a user of the adapter, too: so this closes nothing. */
	door_adapter_put(fresh->adapter);
	fresh->adapter = NULL;
	door_cm_id_put(fresh);
}

void
door_cm_request_done(struct door_cm_id *id)
{
	struct door_cm_id **link = &requested;

	id->request = 0;
	while (*link != NULL && *link != id)
		link = &(*link)->next_request;
	if (*link != NULL)
		*link = id->next_request;
	id->next_request = NULL;
}

void
door_cm_request_gone(const struct door_adapter *adapter, uint32_t request)
{
	struct door_cm_id *id;

	door_cm_lock();
	for (id = requested; id != NULL; id = id->next_request)
		if (id->adapter == adapter && id->request == request)
			break;
	/* The program learns it from its answer. */
	if (id != NULL) {
		id->request_gone = true;
		door_cm_request_done(id);
	}
	door_cm_unlock();
}

void
door_cm_request_refuse(struct door_cm_id *id)
{
	uint32_t request;
	bool fetched;

	door_cm_lock();
	request = id->request;
	fetched = id->number != 0;
	if (request != 0)
		door_cm_request_done(id);
	door_cm_unlock();
	/* If the program never saw it, it is as if nobody had listened. */
	if (request != 0)
		refuse_request(id->adapter, request, door_cm_is_ud(id),
			       fetched ? KAL_REASON_CONSUMER : KAL_REASON_REFUSED);
}

/* --- listeners of the kAL ------------------------------------------------------------------------------------ */

/* Under `control`. NULL: there is none. */
static struct door_cm_listen *
listen_find(const struct door_adapter *adapter, uint32_t spigot, const struct door_cm_id *id,
	    uint16_t port)
{
	struct door_cm_listen *listen = listens;

	while (listen != NULL && (listen->adapter != adapter || listen->spigot != spigot ||
				  listen->port_space != id->port_space || listen->port != port))
		listen = listen->next;
	return listen;
}

static void
listen_free(struct door_cm_listen *listen)
{
	if (listen->ctx != 0)
		door_slot_leave(&listen->adapter->slots, listen->ctx);
	door_adapter_put(listen->adapter);
	free(listen);
}

/* Under `control`. Takes the caller's user of the adapter over, also if it fails. NULL: *error says why. */
static struct door_cm_listen *
listen_new(struct door_adapter *adapter, uint32_t spigot, const struct door_cm_id *id,
	   uint16_t port, int *error)
{
	struct door_cm_listen *listen = (struct door_cm_listen *)calloc(1, sizeof(*listen));
	struct kal_listen_req req = {.rnic = adapter->session.rnic,
				     .port = spigot,
				     .service = door_cm_service(id, port)};
	struct kal_listen_rep rep;
	enum ri_status status = RI_ERR_RESOURCES;

	if (listen == NULL) {
		door_adapter_put(adapter);
		*error = ENOMEM;
		return NULL;
	}
	listen->adapter = adapter;
	listen->spigot = spigot;
	listen->port_space = id->port_space;
	listen->port = port;
	listen->service = req.service;
	listen->gid = door_cm_gid(adapter, spigot, &(struct ri_addr){.family = RI_ADDR_IPV4});
	listen->refuse.fire = refuse_unwanted;
	listen->refuse.arg = listen;
	listen->ctx = req.ctx = door_slot_enter(&adapter->slots, DOOR_LISTENER, listen);
	req.backlog = MAX(id->backlog, BACKLOG_LEAST);
	if (listen->ctx != 0)
		status = session_call(&adapter->session, KAL_LISTEN, &req, sizeof(req), &rep,
				      sizeof(rep));
	if (status != RI_SUCCESS) {
		*error = door_errno(status);
		listen_free(listen);
		return NULL;
	}
	listen->kal_id = rep.id;
	listen->next = listens;
	listens = listen;
	return listen;
}

/* Under `control`: no id hears it any more. */
static void
listen_destroy(struct door_cm_listen *listen)
{
	struct session *session = &listen->adapter->session;
	struct door_cm_listen **link;

	for (link = &listens; *link != listen; link = &(*link)->next)
		;
	*link = listen->next;
	(void)!session_call_id(session, KAL_LISTEN_DESTROY, listen->kal_id);
	/* Requests that the kAL has raised and no listener takes any more are refused. */
	session_settle(session);
	door_slot_leave(&listen->adapter->slots, listen->ctx);
	listen->ctx = 0;
	/* Now no dispatch finds it, so nothing runs the task again. */
	session->host->task_stop(session->host->self, &listen->refuse);
	refuse_unwanted(listen);
	listen_free(listen);
}

/* --- ids that listen ------------------------------------------------------------------------------------------ */

static bool
hears(const struct door_cm_id *id, const struct door_adapter *adapter, uint32_t spigot)
{
	for (const struct door_cm_hearing *one = id->hearings; one != NULL; one = one->next)
		if (one->listen->adapter == adapter && one->listen->spigot == spigot)
			return true;
	return false;
}

/* Under the id's control lock. Listen at one spigot; 0 or an errno. */
static int
hear(struct door_cm_id *id, struct door_adapter *adapter, uint32_t spigot)
{
	uint16_t port = *door_cm_port(&id->source);
	struct door_cm_hearing *hearing;
	struct door_cm_listen *listen;
	int error = 0;

	if (hears(id, adapter, spigot))
		return 0;
	hearing = (struct door_cm_hearing *)calloc(1, sizeof(*hearing));
	if (hearing == NULL)
		return ENOMEM;
	pthread_mutex_lock(&control);
	listen = listen_find(adapter, spigot, id, port);
	if (listen == NULL) {
		door_adapter_hold(adapter);
		listen = listen_new(adapter, spigot, id, port, &error);
	}
	if (listen != NULL) {
		listen->users++;
		hearing->id = id;
		hearing->listen = listen;
		hearing->next = id->hearings;
		id->hearings = hearing;
		door_cm_lock();
		hearing->next_of_listen = listen->hearings;
		listen->hearings = hearing;
		door_cm_unlock();
	}
	pthread_mutex_unlock(&control);
	if (listen == NULL)
		free(hearing);
	return error;
}

void
door_cm_deafen(struct door_cm_id *id)
{
	bool everywhere = id->adapter == NULL && door_cm_id_state(id) == DOOR_CM_LISTENING;

	while (id->hearings != NULL) {
		struct door_cm_hearing *hearing = id->hearings, **link;
		struct door_cm_listen *listen = hearing->listen;

		id->hearings = hearing->next;
		pthread_mutex_lock(&control);
		door_cm_lock();
		for (link = &listen->hearings; *link != hearing; link = &(*link)->next_of_listen)
			;
		*link = hearing->next_of_listen;
		door_cm_unlock();
		if (--listen->users == 0)
			listen_destroy(listen);
		pthread_mutex_unlock(&control);
		free(hearing);
	}
	if (everywhere)
		door_cm_follow_end();
	door_cm_lock();
	if (id->state == DOOR_CM_LISTENING)
		id->state = DOOR_CM_ENDED;
	door_cm_unlock();
}

/* Listen at each spigot of all devices. An errno: another program has the port on a device, or memory ran out. */
static int
hear_everywhere(struct door_cm_id *id)
{
	g_autofree struct door_device **offered = NULL;
	int num = door_devices_refresh(&offered);
	int error = 0;

	for (int i = 0; i < num && error == 0; i++) {
		struct door_adapter *adapter = door_adapter_get(offered[i]);
		uint32_t spigots = 0;

		if (adapter == NULL)
			continue;
		if (!door_cm_is_ud(id) || adapter->session.attr.ud)
			spigots = adapter->session.attr.num_ports;
		for (uint32_t spigot = 0; spigot < spigots && error == 0; spigot++) {
			error = hear(id, adapter, spigot);
			/* One without an address, for example, may be served later. */
			if (error != EADDRINUSE && error != ENOMEM)
				error = 0;
		}
		door_adapter_put(adapter);
	}
	return error;
}

void
door_cm_listen_more(struct door_cm_id *id)
{
	if (id->adapter == NULL && door_cm_id_state(id) == DOOR_CM_LISTENING)
		(void)hear_everywhere(id);
}

int
door_cm_listen(struct door_cm_id *id, int backlog)
{
	static const struct sockaddr_storage any = {.ss_family = AF_INET};
	int error = 0;

	if (door_cm_id_state(id) == DOOR_CM_IDLE)
		error = door_cm_bind(id, &any);
	if (error != 0)
		return error;
	if (door_cm_id_state(id) != DOOR_CM_BOUND)
		return EINVAL;
	if (door_cm_port_is_shared(id))
		return EADDRINUSE;
	if (!door_cm_can_hear(id))
		return EADDRNOTAVAIL;
	door_cm_lock();
	id->backlog =
		backlog > 0 && backlog < BACKLOG_DEFAULT ? (unsigned)backlog : BACKLOG_DEFAULT;
	id->state = DOOR_CM_LISTENING; /* a request may come before a call returns */
	door_cm_unlock();
	/* The kAL's sockets bind to the port, too. It stays reserved at addresses where no device listens. */
	door_cm_port_share(id);
	if (id->adapter != NULL) {
		error = hear(id, id->adapter, id->spigot);
	} else {
		door_cm_follow();
		error = hear_everywhere(id);
	}
	if (error == 0)
		return 0;
	door_cm_deafen(id);
	door_cm_port_unshare(id);
	door_cm_id_set(id, DOOR_CM_BOUND);
	return error;
}

/* Under door_cm_lock(), in the child of a fork. */
void
door_cm_listen_forked(void)
{
	pthread_mutex_init(&control, NULL);
	listens = NULL;
	requested = NULL;
}
