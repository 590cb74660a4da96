/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <pthread.h>

#include "tool_error.h"
#include "tool_options.h"
#include "tool_self.h"
#include "tool_signal.h"

struct tool_ready {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool listening;
	bool ended; /* the server has returned */
	uint16_t port;
};

struct server_thread {
	const struct tool_sides *sides;
	struct tool_ready ready;
	GError *error;
	bool good;
};

void
tool_ready_tell(struct tool_ready *ready, const char *adapter, uint16_t port)
{
	if (ready == NULL) {
		tool_announce(adapter, port);
		return;
	}
	pthread_mutex_lock(&ready->lock);
	ready->listening = true;
	ready->port = port;
	pthread_cond_broadcast(&ready->changed);
	pthread_mutex_unlock(&ready->lock);
}

static void *
serve_thread(void *arg)
{
	struct server_thread *server = arg;

	server->good = server->sides->server(server->sides->arg, &server->ready, &server->error);
	pthread_mutex_lock(&server->ready.lock);
	server->ready.ended = true;
	pthread_cond_broadcast(&server->ready.changed);
	pthread_mutex_unlock(&server->ready.lock);
	return NULL;
}

static bool
wait_until_listening(struct tool_ready *ready, uint16_t *port)
{
	bool listening;

	pthread_mutex_lock(&ready->lock);
	while (!ready->listening && !ready->ended)
		pthread_cond_wait(&ready->changed, &ready->lock);
	listening = ready->listening;
	*port = ready->port;
	pthread_mutex_unlock(&ready->lock);
	return listening;
}

bool
tool_self_run(const struct tool_sides *sides, GError **error)
{
	struct server_thread server = {
		.sides = sides,
		.ready = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER},
	};
	GError *trouble = NULL;
	pthread_t thread;
	uint16_t port;
	bool good = false;

	if (pthread_create(&thread, NULL, serve_thread, &server) != 0)
		return tool_fail(error, TOOL_ERROR_FAILED, "cannot start a thread");
	if (wait_until_listening(&server.ready, &port))
		good = sides->client(sides->arg, port, &trouble);
	if (trouble != NULL)
		tool_stop(); /* the server may never hear of this client */
	pthread_join(thread, NULL);
	if (trouble == NULL && server.error != NULL)
		trouble = g_steal_pointer(&server.error);
	g_clear_error(&server.error);
	if (trouble != NULL)
		g_propagate_error(error, trouble);
	return good && server.good;
}
