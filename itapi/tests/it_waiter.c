/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "it_waiter.h"

#include <signal.h>
#include <unistd.h>

/* The test itself may hold the last place, or have attached a callback, for a moment. */
static bool
is_in_the_way(it_status_t status)
{
	return status == IT_ERR_WAITER_LIMIT || status == IT_ERR_CALLBACK_EXISTS;
}

static void *
run(void *arg)
{
	struct waiter *waiter = (struct waiter *)arg;

	atomic_store(&waiter->tid, gettid());
	do {
		waiter->status =
			it_evd_wait(waiter->evd, IT_TIMEOUT_INFINITE, &waiter->event, NULL);
		if (is_in_the_way(waiter->status))
			g_usleep(500);
	} while (is_in_the_way(waiter->status));
	atomic_store(&waiter->done, true);
	return NULL;
}

void
waiter_start(struct waiter *waiter, it_evd_handle_t evd)
{
	*waiter = (struct waiter){.evd = evd};
	g_assert_cmpint(pthread_create(&waiter->thread, NULL, run, waiter), ==, 0);
}

void
waiter_settle(const struct waiter *waiter)
{
	PAIR_UNTIL(atomic_load(&waiter->tid) != 0);
	pair_await_waiter(waiter->evd);
	pair_asleep(atomic_load(&waiter->tid));
	g_assert_cmpint(it_evd_free(waiter->evd), ==, IT_ERR_EVD_WAIT);
}

/* A signal that comes before the thread sleeps has no effect. */
void
waiter_interrupt(const struct waiter *waiter)
{
	const gint64 end = g_get_monotonic_time() + WAIT_US;

	while (!atomic_load(&waiter->done)) {
		g_assert_cmpint(g_get_monotonic_time(), <, end);
		g_assert_cmpint(pthread_kill(waiter->thread, SIGUSR1), ==, 0);
		g_usleep(1000);
	}
	pthread_join(waiter->thread, NULL);
}

size_t
waiters_done(const struct waiter *waiter, size_t count)
{
	size_t done = 0;

	for (size_t i = 0; i < count; i++)
		done += atomic_load(&waiter[i].done);
	return done;
}
