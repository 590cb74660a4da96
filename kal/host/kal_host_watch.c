/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Watched descriptors, by epoll, level-triggered.
 *
 * The kernel returns pointers to watches. So a watch that is stopped must be removed from the watches that were
 * returned and not called yet. They are in two places. One is the result of epoll_wait before the service thread has
 * the lock again: kal_host::stopped lists the watches that were stopped meanwhile, and if there are more than fit, the
 * whole result is dropped. The other is the batch whose functions are being called: kal_host_watch_stop searches
 * it. Nothing is lost if a result is dropped: a condition that persists is returned again.
 *
 * A paused watch stays in the kernel's set with an empty mask. The kernel reports errors and hang-ups all the same;
 * EPOLLET makes it report them once, so that a paused descriptor in error does not wake the thread again and again.
 *
 * A program that closes the descriptors behind the library's back may get a set of its own under the same number, and the
 * values that its events have are no watches. So each value has the mark of the host, and the first one without it, or an
 * error, is the end of the set: no descriptor of the host is used again, since each number may be the program's by now.
 *
 * watch_lock orders changes of a watch, so that its mask here and the kernel's mask agree.
 */

#include <errno.h>
#include <limits.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "kal_host.h"
#include "kal_loss.h"
#include "ri_calls.h"
#include "ri_owned.h"
#include "ri_set.h"

static uint32_t
to_epoll(uint32_t events)
{
	if (events == 0)
		return EPOLLET;
	return ((events & RI_WATCH_IN) != 0 ? EPOLLIN : 0u) |
	       ((events & RI_WATCH_OUT) != 0 ? EPOLLOUT : 0u);
}

enum ri_status
kal_host_watch_start(void *self, struct ri_watch *watch)
{
	struct kal_host *host = self;
	struct epoll_event event = {.events = to_epoll(watch->events),
				    .data.u64 = ri_set_value(host->mark, watch)};

	bool stopping;

	if (atomic_load(&host->dead))
		return RI_ERR_FATAL;
	pthread_mutex_lock(&host->lock);
	stopping = (watch->link.n[1] & KAL_LINK_STOPPING) != 0;
	pthread_mutex_unlock(&host->lock);
	if (stopping || atomic_load(&host->lost))
		return RI_ERR_RESOURCES;
	if (epoll_ctl(kal_fd_get(&host->epoll), EPOLL_CTL_ADD, watch->fd, &event) != 0) {
		if (errno == EPERM || errno == ENOSYS)
			kal_host_refused(host, KAL_REFUSED_EPOLL_CTL, errno);
		return RI_ERR_RESOURCES;
	}
	/* Only now: a thread that stops it finds it in the kernel's set. */
	pthread_mutex_lock(&host->lock);
	watch->link.n[1] |= KAL_LINK_QUEUED;
	pthread_mutex_unlock(&host->lock);
	return RI_SUCCESS;
}

void
kal_host_watch_change(void *self, struct ri_watch *watch, uint32_t events)
{
	struct kal_host *host = self;
	struct epoll_event event = {.events = to_epoll(events),
				    .data.u64 = ri_set_value(host->mark, watch)};
	bool changed;

	if (atomic_load(&host->dead))
		return;
	pthread_mutex_lock(&host->watch_lock);
	pthread_mutex_lock(&host->lock);
	changed = watch->events != events && (watch->link.n[1] & KAL_LINK_QUEUED) != 0;
	watch->events = events;
	pthread_mutex_unlock(&host->lock);
	if (changed && !atomic_load(&host->lost))
		(void)epoll_ctl(kal_fd_get(&host->epoll), EPOLL_CTL_MOD, watch->fd, &event);
	pthread_mutex_unlock(&host->watch_lock);
}

/* The caller owns the lock: its function is not called any more for what the kernel has returned so far. */
static void
watch_forget(struct kal_host *host, struct ri_watch *watch)
{
	RI_ASSERT_OWNED(&host->lock);
	for (unsigned i = 0; i < host->batch_count; i++) {
		if (host->batch[i] == watch)
			host->batch[i] = NULL;
	}
	if (host->stops < KAL_HOST_STOPS)
		host->stopped[host->stops] = watch;
	host->stops++;
}

void
kal_host_watch_stop(void *self, struct ri_watch *watch)
{
	struct kal_host *host = self;

	if (atomic_load(&host->dead))
		return;
	/* Its function may have started it again while this waited: then stop it again. */
	pthread_mutex_lock(&host->lock);
	do {
		bool queued = (watch->link.n[1] & KAL_LINK_QUEUED) != 0;

		if (!queued)
			continue;
		watch->link.n[1] &= ~(uint64_t)KAL_LINK_QUEUED;
		pthread_mutex_unlock(&host->lock);
		if (!atomic_load(&host->lost))
			(void)epoll_ctl(kal_fd_get(&host->epoll), EPOLL_CTL_DEL, watch->fd, NULL);
		pthread_mutex_lock(&host->lock);
		watch_forget(host, watch);
	} while (kal_host_wait_for(host, watch, &watch->link) ||
		 (watch->link.n[1] & KAL_LINK_QUEUED) != 0);
	pthread_mutex_unlock(&host->lock);
}

static void
counter_drain(int fd)
{
	uint64_t count;

	if (ri_read(fd, &count, sizeof(count)) < 0)
		return;
}

/* The caller owns the lock: keep the watches that were not stopped meanwhile. */
static void
take_batch(struct kal_host *host, const struct epoll_event *events, int count)
{
	RI_ASSERT_OWNED(&host->lock);
	host->batch_count = 0;
	for (int i = 0; i < count; i++) {
		struct ri_watch *watch = ri_set_item(host->mark, events[i].data.u64);
		void *item = watch;
		uint32_t from = events[i].events, to = 0;
		bool stopped = host->stops > KAL_HOST_STOPS;

		if (item == &host->poke || item == &host->timer)
			continue;
		for (unsigned j = 0; !stopped && j < host->stops; j++)
			stopped = host->stopped[j] == watch;
		if (stopped)
			continue;
		to |= (from & EPOLLIN) != 0 ? (uint32_t)RI_WATCH_IN : 0u;
		to |= (from & EPOLLOUT) != 0 ? (uint32_t)RI_WATCH_OUT : 0u;
		to |= (from & (EPOLLERR | EPOLLHUP)) != 0 ? (uint32_t)RI_WATCH_ERR : 0u;
		host->batch[host->batch_count] = watch;
		host->batch_events[host->batch_count] = to;
		host->batch_count++;
	}
	host->stops = 0;
}

/* The caller owns the lock. */
static void
call_batch(struct kal_host *host)
{
	RI_ASSERT_OWNED(&host->lock);
	for (unsigned i = 0; i < host->batch_count; i++) {
		struct ri_watch *watch = host->batch[i];
		void (*fire)(void *arg, uint32_t events);
		uint32_t events;
		void *arg;

		if (watch == NULL || watch->events == 0)
			continue;
		events = host->batch_events[i] & (watch->events | RI_WATCH_ERR);
		if (events == 0)
			continue;
		fire = watch->fire;
		arg = watch->arg;
		kal_host_enter(host, watch);
		fire(arg, events);
		kal_host_leave(host);
	}
	host->batch_count = 0;
}

/* Milliseconds until the service thread must look at its timers; -1: it is woken then. */
static int
time_to_sleep(struct kal_host *host)
{
	uint64_t now = host->table.now(host), next;
	bool refused;

	pthread_mutex_lock(&host->lock);
	refused = host->refused[KAL_REFUSED_TIMER];
	next = kal_timers_next(&host->timers);
	pthread_mutex_unlock(&host->lock);
	if (!refused || next == RI_NEVER)
		return -1;
	return next <= now                ? 0
	       : next - now < 1000000000u ? (int)((next - now) / 1000000u) + 1
					  : 1000;
}

/*
 * As epoll_wait(); if nothing comes for long, in a sleep that ends when the program closes the descriptors. Without the guard, which the
 * program may close before the others, no sleep is long: the next one finds what was closed during the last one.
 */
static int
events_wait(struct kal_host *host, struct epoll_event *events, int ms)
{
	bool guarded = ms < 0 && !atomic_load(&host->guard_lost);
	int epoll = kal_fd_get(&host->epoll);
	int count = epoll_wait(epoll, events, KAL_HOST_BATCH,
			       ms < 0 ? (int)(KAL_HOST_QUIET / 1000000u) : ms);

	if (count == 0 && guarded)
		count = epoll_wait(epoll, events, KAL_HOST_BATCH, 0); /* is it still the set? */
	if (count != 0 || !guarded)
		return count;
	struct pollfd polled[] = {{.fd = epoll, .events = POLLIN},
				  {.fd = kal_fd_get(&host->guard)}};

	count = ri_poll(polled, 2, INT_MAX);
	if (polled[1].revents != 0 || (count < 0 && errno != EINTR))
		atomic_store(&host->guard_lost, true);
	return epoll_wait(epoll, events, KAL_HOST_BATCH, 0);
}

/* As events_wait(), and -1 with EINVAL if the program has closed the set and its number is another set now. */
static int
own_events_wait(struct kal_host *host, struct epoll_event *events, int ms)
{
	int count = -1;

	errno = EBADF;
	if (!atomic_load(&host->lost))
		count = events_wait(host, events, ms);
	for (int i = 0; i < count; i++) {
		if (ri_set_item(host->mark, events[i].data.u64) != NULL)
			continue;
		errno = EINVAL;
		return -1;
	}
	return count;
}

/* A sandbox refuses the sleep, or the number is no set of descriptors any more. */
static void
sleep_failed(struct kal_host *host, int error)
{
	static const struct timespec look_each = {.tv_nsec = 5 * 1000 * 1000};
	bool closed = error == EBADF || error == EINVAL;

	kal_host_refused(host, closed ? KAL_REFUSED_CLOSED : KAL_REFUSED_EPOLL_WAIT, error);
	if (closed) {
		atomic_store(&host->lost, true);
		kal_loss_fire();
	}
	ri_nap(&look_each);
}

void
kal_host_watch_round(struct kal_host *host, bool sleep)
{
	struct epoll_event events[KAL_HOST_BATCH];
	bool expired = false, messages = false;
	int count;

	RI_ASSERT_OWNED(&host->lock);
	host->asleep = true;
	host->stops = 0;
	pthread_mutex_unlock(&host->lock);
	kal_host_arm(host);
	/* Decided after `asleep` was set: if the thread does sleep, a task that comes now wakes it. */
	sleep = sleep &&
		(host->spin.until == 0 || !kal_spin_goes_on(&host->spin, host->table.now(host)));
	count = own_events_wait(host, events, sleep ? time_to_sleep(host) : 0);
	if (count < 0 && errno != EINTR)
		sleep_failed(host, errno);
	for (int i = 0; i < count; i++) {
		const void *item = ri_set_item(host->mark, events[i].data.u64);

		if (item == &host->poke) {
			counter_drain(kal_fd_get(&host->poke));
		} else if (item == &host->timer) {
			counter_drain(kal_fd_get(&host->timer));
			expired = true;
		} else {
			messages = true;
		}
	}
	if (messages)
		kal_spin_came(&host->spin, host->table.now(host));
	pthread_mutex_lock(&host->lock);
	host->asleep = false;
	host->poked = false;
	if (expired)
		host->armed = RI_NEVER; /* it has expired; kal_host_arm sets it again */
	take_batch(host, events, count);
	call_batch(host);
}
