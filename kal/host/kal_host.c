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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "kal_host_share.h"
#include "kal_settings.h"
#include "ri_errno.h"
#include "ri_relax.h"
#include "ri_set.h"

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

static void
host_random(void *self, void *buf, size_t len)
{
	struct kal_host *host = self;

	kal_random_draw(&host->random, atomic_load(&host->dead), buf, len);
}

static void
host_relax(void *self, uint32_t round)
{
	(void)self;
	ri_relax(round);
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
	.relax = host_relax,
	.share = kal_host_share,
	.share_over = kal_host_share_over,
	.share_service = kal_host_share_service,
};

static bool
watch_own(struct kal_host *host, struct kal_fd *fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = ri_set_value(host->mark, fd)};

	return epoll_ctl(kal_fd_get(&host->epoll), EPOLL_CTL_ADD, kal_fd_get(fd), &event) == 0 ||
	       kal_host_lacks(host, "epoll_ctl", errno);
}

static bool
open_descriptors(struct kal_host *host)
{
	host_random(host, &host->mark, sizeof(host->mark));
	if (!kal_fd_epoll(&host->epoll))
		return kal_host_lacks(host, "epoll_create1", errno);
	if (!kal_fd_timerfd(&host->timer))
		return kal_host_lacks(host, "timerfd_create", errno);
	if (!kal_fd_eventfd(&host->poke))
		return kal_host_lacks(host, "eventfd2", errno);
	atomic_store(&host->guard_lost, !kal_fd_pair(&host->guard, &host->guard_end));
	return watch_own(host, &host->timer) && watch_own(host, &host->poke);
}

static void
free_host(struct kal_host *host)
{
	kal_fd_close(&host->epoll);
	kal_fd_close(&host->timer);
	kal_fd_close(&host->poke);
	kal_fd_close(&host->guard);
	kal_fd_close(&host->guard_end);
	kal_random_fini(&host->random);
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
	kal_host_log_begin();
	host->table.log_level = level < 0 ? RI_LOG_ERROR : (uint32_t)level;
	host->armed = RI_NEVER;
	host->spin.length = kal_setting_number(KAL_SETTING_SPIN) * 1000;
	pthread_mutex_init(&host->lock, NULL);
	pthread_mutex_init(&host->watch_lock, NULL);
	pthread_cond_init(&host->idle, NULL);
	if ((kal_random_init(&host->random) ||
	     kal_host_lacks(host, "random numbers (getrandom, /dev/urandom)", errno)) &&
	    open_descriptors(host) && kal_host_start_thread(host)) {
		kal_host_capture_begin(host);
		return host;
	}
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
	kal_host_capture_end(host);
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
	if (default_host != NULL) {
		atomic_store(&default_host->dead, true);
		kal_host_capture_forked(default_host);
	}
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

void
kal_host_watch_forks(void)
{
	pthread_once(&once, host_register_fork);
}

const struct ri_host *
kal_host_default(void)
{
	const struct ri_host *table = NULL;

	kal_host_watch_forks();
	pthread_mutex_lock(&default_lock);
	if (default_host == NULL)
		default_host = kal_host_create();
	if (default_host != NULL)
		table = &default_host->table;
	pthread_mutex_unlock(&default_lock);
	return table;
}

const struct ri_host *
kal_host_here(void)
{
	const struct ri_host *own = kal_host_own();

	return own != NULL ? own : kal_host_default();
}
