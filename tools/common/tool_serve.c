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
#define WAITING    16                    /* clients that wait for a place that is being cleared */

struct guest {
	struct tool_client client;
	const struct tool_service *service;
	pthread_t thread;
	it_conn_request_event_t queued[QUEUED_MAX];
	struct tool_hello hellos[QUEUED_MAX];
	size_t queue_count;
	bool done;
	bool good;
	GError *error;
	struct guest *next;
};

struct tool_guests {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* a request was queued */
	struct guest *first;
	size_t count;
	uint64_t served;                     /* ever */
	int wake;                            /* eventfd: a guest is done */
	struct tool_client waiting[WAITING]; /* the server's thread only */
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

static bool
guests_full(const struct tool_service *service, const struct tool_guests *guests)
{
	return guests->count >= (service->options->persistent ? service->options->clients : 1);
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

/* Ends the oldest guest that has said nothing yet; false if all have, or are being ended. */
static bool
make_room(const struct tool_service *service, struct tool_guests *guests)
{
	struct guest *oldest = NULL;

	if (!service->options->persistent)
		return false;
	pthread_mutex_lock(&guests->lock);
	for (struct guest *guest = guests->first; guest != NULL; guest = guest->next) {
		if (!guest->done && !atomic_load(&guest->client.spoke) &&
		    !atomic_load(&guest->client.give_up))
			oldest = guest; /* the list begins with the newest */
	}
	if (oldest != NULL)
		atomic_store(&oldest->client.give_up, true);
	pthread_mutex_unlock(&guests->lock);
	if (oldest != NULL)
		tool_complain(service->program, "a silent client loses its place to another");
	return oldest != NULL;
}

/* A place for a new client, now or as soon as one that is silent has left. */
static bool
guest_place(const struct tool_service *service, struct tool_guests *guests,
	    const struct tool_client *client)
{
	struct tool_client *waiting = &guests->waiting[guests->waiting_count];

	if (!guests_full(service, guests))
		return guest_add(service, guests, client);
	if (guests->waiting_count == WAITING || !make_room(service, guests))
		return false;
	waiting->adapter = client->adapter;
	waiting->request = client->request;
	waiting->hello = client->hello;
	guests->waiting_count++;
	return true;
}

/* Lets clients in that waited for a place. */
static void
let_in(const struct tool_service *service, struct tool_guests *guests)
{
	while (guests->waiting_count > 0 && !guests_full(service, guests)) {
		struct tool_client *first = &guests->waiting[0];

		if (!guest_add(service, guests, first))
			tool_link_refuse(&first->request, service->tool, TOOL_BUSY);
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
		let_in(service, guests);
		if (too_late(service, guests, begin, error))
			return false;
		while (tool_listener_take(listener, &request, &trouble))
			guest_admit(service, guests, listener, &request);
		if (trouble != NULL) {
			g_propagate_error(error, trouble);
			return false;
		}
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
		if (good)
			return true;
		if (tool_stopped())
			return tool_fail(error, TOOL_ERROR_INTERRUPTED, "interrupted");
		if (!tool_link_stands(first, error))
			return false;
		if (until != 0 && g_get_monotonic_time() >= until)
			return tool_fail(error, TOOL_ERROR_TIMEOUT,
					 "the client did not make all its connections in time");
	}
}
