/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The list of guests is under one lock. A guest is added and removed by the thread of the server; its
 * own thread takes requests from it, marks it as done and wakes the server.
 */

#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tool_error.h"
#include "tool_print.h"
#include "tool_serve.h"
#include "tool_signal.h"

#define QUEUED_MAX 4                     /* connections of a run that wait for its thread */
#define LOOK_US    (100 * 1000)          /* how often a wait for one looks after other things */
#define STACK      ((size_t)1024 * 1024) /* octets */
#define WAITING    16                    /* clients that wait for a place */
#define GRACE_US   G_USEC_PER_SEC        /* without progress, before a place can be lost */
#define ENTRY_US   (3 * G_USEC_PER_SEC)  /* how long a client waits for a place */

struct guest {
	struct tool_client client;
	const struct tool_service *service;
	pthread_t thread;
	/* Of the server's thread: its look at the client's progress, and when that had changed. */
	uint64_t heard;
	gint64 moved;
	it_conn_request_event_t queued[QUEUED_MAX];
	struct tool_hello hellos[QUEUED_MAX];
	size_t queue_count;
	bool done;
	bool good;
	GError *error;
	struct guest *next;
};

/* A client that waits for a place. */
struct newcomer {
	struct tool_client client;
	gint64 until;
};

struct tool_guests {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* a request was queued */
	struct guest *first;
	size_t count;
	uint64_t served;                  /* ever */
	int wake;                         /* eventfd: a guest is done */
	struct newcomer waiting[WAITING]; /* the server's thread only, as the count */
	size_t waiting_count;
};

static struct guest *
guest_of(struct tool_client *client)
{
	return (struct guest *)(void *)((char *)client - offsetof(struct guest, client));
}

static void *
guest_main(void *arg)
{
	struct guest *guest = arg;
	struct tool_guests *guests = guest->client.guests;
	uint64_t one = 1;

	guest->good = guest->service->one(guest->service->arg, &guest->client, &guest->error);
	pthread_mutex_lock(&guests->lock);
	guest->done = true;
	for (size_t i = 0; i < guest->queue_count; i++)
		tool_link_refuse(&guest->queued[i], guest->service->tool, TOOL_BUSY);
	guest->queue_count = 0;
	pthread_mutex_unlock(&guests->lock);
	if (write(guests->wake, &one, sizeof(one)) < 0)
		g_debug("the server looks by itself soon");
	return NULL;
}

static bool
guest_start(struct guest *guest)
{
	pthread_attr_t attr;
	bool good;

	if (pthread_attr_init(&attr) != 0)
		return false;
	good = pthread_attr_setstacksize(&attr, STACK) == 0 &&
	       pthread_create(&guest->thread, &attr, guest_main, guest) == 0;
	pthread_attr_destroy(&attr);
	return good;
}

static size_t
free_places(const struct tool_service *service, const struct tool_guests *guests)
{
	size_t places = service->options->persistent ? service->options->clients : 1;

	return places - MIN(places, guests->count);
}

static bool
guests_full(const struct tool_service *service, const struct tool_guests *guests)
{
	return free_places(service, guests) == 0;
}

/* A new client. */
static bool
guest_add(const struct tool_service *service, struct tool_guests *guests,
	  const struct tool_client *client)
{
	struct guest *guest = g_new0(struct guest, 1);

	guest->client.adapter = client->adapter;
	guest->client.request = client->request;
	guest->client.hello = client->hello;
	guest->client.guests = guests;
	guest->service = service;
	guest->moved = g_get_monotonic_time();
	if (!guest_start(guest)) {
		g_free(guest);
		return false;
	}
	pthread_mutex_lock(&guests->lock);
	guest->next = guests->first;
	guests->first = guest;
	guests->count++;
	guests->served++;
	pthread_mutex_unlock(&guests->lock);
	return true;
}

/* A further connection for the client that it belongs to; false if there is none. */
static bool
pass_on(struct tool_guests *guests, const it_conn_request_event_t *request,
	const struct tool_hello *hello)
{
	bool good = false;

	pthread_mutex_lock(&guests->lock);
	for (struct guest *guest = guests->first; guest != NULL && !good; guest = guest->next) {
		if (guest->done || guest->queue_count == QUEUED_MAX ||
		    guest->client.hello.session != hello->session)
			continue;
		guest->queued[guest->queue_count] = *request;
		guest->hellos[guest->queue_count++] = *hello;
		good = true;
	}
	if (good)
		pthread_cond_broadcast(&guests->changed);
	pthread_mutex_unlock(&guests->lock);
	return good;
}

/* Looks at the progress of all guests. */
static void
look_at_guests(struct tool_guests *guests, gint64 now)
{
	pthread_mutex_lock(&guests->lock);
	for (struct guest *guest = guests->first; guest != NULL; guest = guest->next) {
		uint64_t heard = atomic_load(&guest->client.watch.heard);

		if (heard != guest->heard)
			guest->moved = now;
		guest->heard = heard;
	}
	pthread_mutex_unlock(&guests->lock);
}

/*
 * Takes places from clients that have stopped, those first that have for the longest time, until
 * one for each client that waits will become free; or fewer, if the others make progress.
 */
static void
make_room(const struct tool_service *service, struct tool_guests *guests, gint64 now)
{
	size_t leaving = free_places(service, guests);

	pthread_mutex_lock(&guests->lock);
	for (struct guest *guest = guests->first; guest != NULL; guest = guest->next)
		leaving += guest->done || atomic_load(&guest->client.watch.give_up);
	for (; leaving < guests->waiting_count; leaving++) {
		struct guest *worst = NULL;

		for (struct guest *guest = guests->first; guest != NULL; guest = guest->next) {
			if (!guest->done && !atomic_load(&guest->client.watch.give_up) &&
			    now - guest->moved >= GRACE_US &&
			    (worst == NULL || guest->moved <= worst->moved))
				worst = guest;
		}
		if (worst == NULL)
			break;
		atomic_store(&worst->client.watch.give_up, true);
		tool_complain(service->program,
			      worst->heard == 0
				      ? "a silent client loses its place to another"
				      : "a client that has stopped loses its place to another");
	}
	pthread_mutex_unlock(&guests->lock);
}

/* A place for a new client, now or as soon as there is one. */
static bool
guest_place(const struct tool_service *service, struct tool_guests *guests,
	    const struct tool_client *client)
{
	struct newcomer *waiting = &guests->waiting[guests->waiting_count];

	if (!guests_full(service, guests) && guests->waiting_count == 0)
		return guest_add(service, guests, client);
	if (guests->waiting_count == WAITING || !service->options->persistent)
		return false;
	waiting->client.adapter = client->adapter;
	waiting->client.request = client->request;
	waiting->client.hello = client->hello;
	waiting->until = g_get_monotonic_time() + ENTRY_US;
	guests->waiting_count++;
	return true;
}

/* Lets clients in that waited for a place, in the order in which they came, and refuses those that waited long enough. */
static void
let_in(const struct tool_service *service, struct tool_guests *guests, gint64 now)
{
	while (guests->waiting_count > 0) {
		struct newcomer *first = &guests->waiting[0];
		bool full = guests_full(service, guests);

		if (full && now < first->until)
			break;
		if (full || !guest_add(service, guests, &first->client))
			tool_link_refuse(&first->client.request, service->tool, TOOL_BUSY);
		guests->waiting_count--;
		memmove(first, first + 1, guests->waiting_count * sizeof(*first));
	}
}

static void
guest_admit(const struct tool_service *service, struct tool_guests *guests,
	    struct tool_listener *listener, const it_conn_request_event_t *request)
{
	struct tool_client client = {.adapter = listener->adapter, .request = *request};
	g_autoptr(GError) stranger = NULL;

	if (!service->foreign &&
	    !tool_link_greeting(request, service->tool, &client.hello, &stranger)) {
		tool_complain(service->program, stranger->message);
		return;
	}
	if (!(client.hello.index == 0 ? guest_place(service, guests, &client)
				      : pass_on(guests, request, &client.hello)))
		tool_link_refuse(request, service->tool, TOOL_BUSY);
}

/* Takes a guest that is done off the list; NULL if there is none. */
static struct guest *
take_done(struct tool_guests *guests)
{
	struct guest *guest = NULL;
	struct guest **at;

	pthread_mutex_lock(&guests->lock);
	for (at = &guests->first; *at != NULL && !(*at)->done; at = &(*at)->next)
		;
	guest = *at;
	if (guest != NULL) {
		*at = guest->next;
		guests->count--;
	}
	pthread_mutex_unlock(&guests->lock);
	return guest;
}

/* Sees guests off that are done. The result is that of the last one, the error that of the first. */
static bool
see_off(const struct tool_service *service, struct tool_guests *guests, bool told, GError **error)
{
	struct guest *guest;
	bool good = true;

	while ((guest = take_done(guests)) != NULL) {
		pthread_join(guest->thread, NULL);
		good = guest->good;
		if (!good && told && !tool_stopped())
			tool_complain(service->program, guest->error->message);
		if (!good && !told && error != NULL && *error == NULL)
			*error = g_steal_pointer(&guest->error);
		g_clear_error(&guest->error);
		g_free(guest);
	}
	return good;
}

/* Sleeps until a guest is done, a request came, or the user wants to stop; or a moment. */
static void
guests_wait(const struct tool_guests *guests, const struct tool_listener *listener)
{
	struct pollfd fds[] = {{.fd = guests->wake, .events = POLLIN},
			       {.fd = listener->fd, .events = POLLIN},
			       {.fd = tool_stop_fd(), .events = POLLIN}};
	nfds_t count = tool_stopped() ? 1 : G_N_ELEMENTS(fds);
	uint64_t times;

	if (poll(fds, count, LOOK_US / 1000) > 0 && (fds[0].revents & POLLIN) != 0 &&
	    read(guests->wake, &times, sizeof(times)) < 0)
		g_debug("somebody else read it");
}

/* In --self the client may have failed before it connected; so nobody in that time is an error. */
static bool
too_late(const struct tool_service *service, const struct tool_guests *guests, gint64 begin,
	 GError **error)
{
	unsigned seconds = MAX(service->options->seconds, 1);

	if (!service->options->self || guests->served > 0 ||
	    g_get_monotonic_time() - begin < (gint64)seconds * G_USEC_PER_SEC)
		return false;
	tool_fail(error, TOOL_ERROR_TIMEOUT, "nobody connected within %u seconds", seconds);
	return true;
}

static bool
serve_on(const struct tool_service *service, struct tool_guests *guests,
	 struct tool_listener *listener, GError **error)
{
	bool persistent = service->options->persistent && !service->options->self;
	gint64 begin = g_get_monotonic_time();
	it_conn_request_event_t request;

	while (!tool_stopped()) {
		bool good = see_off(service, guests, persistent, error);
		GError *trouble = NULL;

		if (!persistent && guests->served > 0 && guests->count == 0)
			return good;
		let_in(service, guests, g_get_monotonic_time());
		if (too_late(service, guests, begin, error))
			return false;
		while (tool_listener_take(listener, &request, &trouble))
			guest_admit(service, guests, listener, &request);
		if (trouble != NULL) {
			g_propagate_error(error, trouble);
			return false;
		}
		look_at_guests(guests, g_get_monotonic_time());
		make_room(service, guests, g_get_monotonic_time());
		guests_wait(guests, listener);
	}
	return persistent || tool_fail(error, TOOL_ERROR_INTERRUPTED, "interrupted");
}

static bool
serve_guests(const struct tool_service *service, struct tool_listener *listener, GError **error)
{
	struct tool_guests guests = {.lock = PTHREAD_MUTEX_INITIALIZER,
				     .wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
	pthread_condattr_t attr;
	bool good;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&guests.changed, &attr);
	pthread_condattr_destroy(&attr);
	if (guests.wake < 0)
		return tool_fail(error, TOOL_ERROR_FAILED, "no descriptor is left");
	good = serve_on(service, &guests, listener, error);
	for (size_t i = 0; i < guests.waiting_count; i++)
		tool_link_refuse(&guests.waiting[i].client.request, service->tool, TOOL_BUSY);
	while (guests.count > 0) {
		guests_wait(&guests, listener);
		see_off(service, &guests, false, NULL);
	}
	close(guests.wake);
	pthread_cond_destroy(&guests.changed);
	return good;
}

bool
tool_serve(const struct tool_service *service, struct tool_ready *ready, GError **error)
{
	const struct tool_options *options = service->options;
	uint16_t port = options->self ? 0 : options->port;
	struct tool_listener listener;
	struct tool_adapter adapter;
	bool good;

	if (!tool_adapter_open(&adapter, options->adapter, error))
		return false;
	good = tool_listener_open(&listener, &adapter, port, error);
	if (good) {
		tool_ready_tell(ready, options->adapter, listener.port);
		good = serve_guests(service, &listener, error);
		tool_listener_close(&listener);
	}
	tool_adapter_close(&adapter);
	return good;
}

/* The oldest request that was passed on to a guest; waits a moment for one. The lock is held. */
static bool
take_queued(struct guest *guest, it_conn_request_event_t *request, struct tool_hello *hello)
{
	struct tool_guests *guests = guest->client.guests;
	struct timespec until;

	if (guest->queue_count == 0) {
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += LOOK_US * 1000L;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&guests->changed, &guests->lock, &until);
	}
	if (guest->queue_count == 0)
		return false;
	*request = guest->queued[0];
	*hello = guest->hellos[0];
	guest->queue_count--;
	memmove(guest->queued, guest->queued + 1, guest->queue_count * sizeof(*guest->queued));
	memmove(guest->hellos, guest->hellos + 1, guest->queue_count * sizeof(*guest->hellos));
	return true;
}

bool
tool_client_next(struct tool_client *client, struct tool_link *first, gint64 until,
		 it_conn_request_event_t *request, struct tool_hello *hello, GError **error)
{
	struct guest *guest = guest_of(client);

	for (;;) {
		bool good;

		pthread_mutex_lock(&client->guests->lock);
		good = take_queued(guest, request, hello);
		pthread_mutex_unlock(&client->guests->lock);
		if (good) {
			atomic_fetch_add(&client->watch.heard, 1);
			return true;
		}
		if (atomic_load(&client->watch.give_up))
			return tool_fail(error, TOOL_ERROR_PEER, TOOL_GIVEN_UP);
		if (tool_stopped())
			return tool_fail(error, TOOL_ERROR_INTERRUPTED, "interrupted");
		if (!tool_link_stands(first, error))
			return false;
		if (until != 0 && g_get_monotonic_time() >= until)
			return tool_fail(error, TOOL_ERROR_TIMEOUT,
					 "the client did not make all its connections in time");
	}
}
