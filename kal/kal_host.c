/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The production host table: the real clock, the kernel's random source, one service thread.
 *
 * There is one host per process, created at first use and kept until the process ends (kal_host_default). Its service
 * thread runs timers, tasks and watched descriptors (kal_host_loop.c, kal_host_watch.c), has all signals blocked, and
 * sleeps in epoll_wait when there is nothing to do. Other threads sleep by kal_host_park.c; kal_host_mem.c has
 * memory, kal_host_log.c the log.
 *
 * After a fork the child has no service thread and none of the descriptors (kal_fds.c). Its copy of
 * the host is marked dead: every entry returns without touching a lock, since a thread of the parent may have owned it
 * at the fork. A child that uses the library again gets a new host.
 */

#include "kal_host.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <time.h>

static pthread_mutex_t default_lock = PTHREAD_MUTEX_INITIALIZER;
static struct kal_host *default_host;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint64_t
host_now(void *self)
{
	struct timespec now;

	(void)self;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A signal can interrupt getrandom before the kernel's pool is ready: try again. Up to 256 bytes come at once. */
static void
host_random(void *self, void *buf, size_t len)
{
	uint8_t *at = buf;

	(void)self;
	while (len > 0) {
		ssize_t got = getrandom(at, len < 256 ? len : 256, 0);

		if (got < 0)
			continue;
		at += got;
		len -= (size_t)got;
	}
}

static const struct ri_host table_of_host = {
	.size = sizeof(struct ri_host),
	.now = host_now,
	.random = host_random,
	.timer_start = kal_host_timer_start,
	.timer_stop = kal_host_timer_stop,
	.task_run = kal_host_task_run,
	.task_stop = kal_host_task_stop,
	.watch_start = kal_host_watch_start,
	.watch_change = kal_host_watch_change,
	.watch_stop = kal_host_watch_stop,
	.park = kal_host_park,
	.wake = kal_host_wake,
	.parker_close = kal_host_parker_close,
	.log = kal_host_log,
	.mem_attach = kal_host_mem_attach,
	.mem_detach = kal_host_mem_detach,
	.mem_copy = kal_host_mem_copy,
};

static bool
open_descriptors(struct kal_host *host)
{
	struct epoll_event timer = {.events = EPOLLIN, .data.ptr = &host->timer};
	struct epoll_event poke = {.events = EPOLLIN, .data.ptr = &host->poke};

	return kal_fd_epoll(&host->epoll) && kal_fd_timerfd(&host->timer) &&
	       kal_fd_eventfd(&host->poke) &&
	       epoll_ctl(kal_fd_get(&host->epoll), EPOLL_CTL_ADD, kal_fd_get(&host->timer),
			 &timer) == 0 &&
	       epoll_ctl(kal_fd_get(&host->epoll), EPOLL_CTL_ADD, kal_fd_get(&host->poke), &poke) ==
		       0;
}

/*
 * The service thread must not run signal handlers of the application: it starts with all signals blocked. The exceptions are
 * SIGBUS and SIGSEGV, which the kernel sends to the thread that caused them: blocked, they would end the process, and the engines
 * handle those of lost pages.
 */
static bool
start_thread(struct kal_host *host)
{
	sigset_t all, old;
	int error;

	sigfillset(&all);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGSEGV);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	error = pthread_create(&host->thread, NULL, kal_host_serve, host);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (error == 0)
		(void)pthread_setname_np(host->thread, "itapi-service");
	return error == 0;
}

static void
free_host(struct kal_host *host)
{
	kal_fd_close(&host->epoll);
	kal_fd_close(&host->timer);
	kal_fd_close(&host->poke);
	pthread_cond_destroy(&host->idle);
	pthread_mutex_destroy(&host->watch_lock);
	pthread_mutex_destroy(&host->lock);
	free(host);
}

struct kal_host *
kal_host_create(void)
{
	struct kal_host *host = calloc(1, sizeof(*host));
	int level = kal_host_log_level();

	if (host == NULL)
		return NULL;
	host->table = table_of_host;
	host->table.self = host;
	host->log_wanted = level >= 0;
	host->table.log_level = level < 0 ? RI_LOG_ERROR : (uint32_t)level;
	host->armed = RI_NEVER;
	pthread_mutex_init(&host->lock, NULL);
	pthread_mutex_init(&host->watch_lock, NULL);
	pthread_cond_init(&host->idle, NULL);
	if (open_descriptors(host) && start_thread(host))
		return host;
	free_host(host);
	return NULL;
}

void
kal_host_destroy(struct kal_host *host)
{
	pthread_mutex_lock(&host->lock);
	host->quit = true;
	pthread_mutex_unlock(&host->lock);
	kal_host_poke(host);
	pthread_join(host->thread, NULL);
	free_host(host);
}

static void
host_before_fork(void)
{
	pthread_mutex_lock(&default_lock);
}

static void
host_after_fork_parent(void)
{
	pthread_mutex_unlock(&default_lock);
}

static void
host_after_fork_child(void)
{
	if (default_host != NULL)
		atomic_store(&default_host->dead, true);
	default_host = NULL;
	kal_host_log_forked();
	pthread_mutex_unlock(&default_lock);
}

/* At a fork the handler that was registered last runs first: so default_lock is taken before the list's lock. */
static void
host_register_fork(void)
{
	kal_fds_watch_forks();
	(void)pthread_atfork(host_before_fork, host_after_fork_parent, host_after_fork_child);
}

const struct ri_host *
kal_host_default(void)
{
	const struct ri_host *table = NULL;

	pthread_once(&once, host_register_fork);
	pthread_mutex_lock(&default_lock);
	if (default_host == NULL)
		default_host = kal_host_create();
	if (default_host != NULL)
		table = &default_host->table;
	pthread_mutex_unlock(&default_lock);
	return table;
}
