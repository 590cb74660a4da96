/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The service thread: timers and tasks here, watched descriptors in kal_host_watch.c.
 *
 * kal_host::lock guards the queues. It is never held across a system call nor while a function of a user runs.
 * `running` names the item whose function runs. A thread that stops this item waits until the function has returned.
 * Meanwhile the item cannot be started again (KAL_LINK_STOPPING), so a timer that restarts itself can be stopped.
 * After the call of its function the service thread does not touch an item: the function may have freed it.
 *
 * A thread that changes the earliest deadline sets the timer descriptor itself, without waking the service thread.
 * Two threads that do so at once must not overtake each other, nor wait for each other across a system call. So
 * setting the descriptor is a role (`arming`): if another thread owns the role, a thread sets the retry flag
 * (`arm_again`) and returns; the owner checks the flag after it has given the role up.
 */

#include <errno.h>
#include <signal.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "kal_host.h"
#include "ri_calls.h"
#include "ri_owned.h"

#define NEXT_TASK(t) (*(struct ri_task **)&(t)->link.p[0])
#define PREV_TASK(t) (*(struct ri_task **)&(t)->link.p[1])

/* The host that this thread serves, if it is a service thread. */
static _Thread_local const struct kal_host *served;

bool
kal_host_on_service_thread(const struct kal_host *host)
{
	return served == host;
}

static void
set_timer(struct kal_host *host)
{
	struct itimerspec when = {0};
	uint64_t deadline;
	bool changed;

	pthread_mutex_lock(&host->lock);
	deadline = kal_timers_next(&host->timers);
	changed = deadline != host->armed && deadline != RI_NEVER;
	if (changed)
		host->armed = deadline;
	pthread_mutex_unlock(&host->lock);
	if (!changed || atomic_load(&host->lost))
		return;
	when.it_value.tv_sec = (time_t)(deadline / 1000000000u);
	when.it_value.tv_nsec = (long)(deadline % 1000000000u);
	if (deadline == 0)
		when.it_value.tv_nsec = 1; /* zero would disarm it */
	if (timerfd_settime(kal_fd_get(&host->timer), TFD_TIMER_ABSTIME, &when, NULL) == 0)
		return;
	/* The service thread sleeps until the deadline itself then, and must learn of it. */
	kal_host_refused(host, KAL_REFUSED_TIMER, errno);
	if (!kal_host_on_service_thread(host))
		kal_host_poke(host);
}

void
kal_host_arm(struct kal_host *host)
{
	for (;;) {
		if (atomic_exchange(&host->arming, 1) != 0) {
			atomic_store(&host->arm_again, 1);
			/* The owner may have given the role up before it could see the flag. */
			if (atomic_exchange(&host->arming, 1) != 0)
				return;
		}
		atomic_store(&host->arm_again, 0);
		set_timer(host);
		atomic_store(&host->arming, 0);
		if (atomic_load(&host->arm_again) == 0)
			return;
	}
}

void
kal_host_poke(struct kal_host *host)
{
	uint64_t one = 1;

	/* If all numbers are lost, the thread does not sleep. */
	if (atomic_load(&host->lost))
		return;
	/* This fails only if the counter is full, and then the descriptor is readable already. */
	if (ri_write(kal_fd_get(&host->poke), &one, sizeof(one)) < 0)
		return;
}

/* The caller owns the lock, which this releases: the function of the item runs next. */
void
kal_host_enter(struct kal_host *host, void *item)
{
	RI_ASSERT_OWNED(&host->lock);
	host->running = item;
	pthread_mutex_unlock(&host->lock);
}

void
kal_host_leave(struct kal_host *host)
{
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_mutex_lock(&host->lock);
	host->running = NULL;
	if (host->stoppers > 0)
		pthread_cond_broadcast(&host->idle);
}

/* The caller owns the lock: wait until the function of `item` has returned. True if it ran, on another thread. */
bool
kal_host_wait_for(struct kal_host *host, const void *item, struct ri_host_link *link)
{
	RI_ASSERT_OWNED(&host->lock);
	if (host->running != item || kal_host_on_service_thread(host))
		return false;
	link->n[1] |= KAL_LINK_STOPPING;
	host->stoppers++;
	while (host->running == item)
		pthread_cond_wait(&host->idle, &host->lock);
	host->stoppers--;
	link->n[1] &= ~(uint64_t)KAL_LINK_STOPPING;
	return true;
}

void
kal_host_timer_start(void *self, struct ri_timer *timer, uint64_t deadline)
{
	struct kal_host *host = self;
	bool first;
	bool arm;

	if (atomic_load(&host->dead))
		return;
	pthread_mutex_lock(&host->lock);
	first = host->timers.root == timer;
	kal_timers_remove(&host->timers, timer);
	if ((timer->link.n[1] & KAL_LINK_STOPPING) == 0 && deadline != RI_NEVER)
		kal_timers_insert(&host->timers, timer, deadline);
	/*
	 * The service thread checks the deadline itself before it sleeps. If the earliest deadline moves to a later
	 * time, a system call here saves a wake of the service thread for nothing.
	 */
	arm = !kal_host_on_service_thread(host) &&
	      (first || kal_timers_next(&host->timers) < host->armed);
	pthread_mutex_unlock(&host->lock);
	if (arm)
		kal_host_arm(host);
}

void
kal_host_timer_stop(void *self, struct ri_timer *timer)
{
	struct kal_host *host = self;

	if (atomic_load(&host->dead))
		return;
	pthread_mutex_lock(&host->lock);
	do
		kal_timers_remove(&host->timers, timer);
	while (kal_host_wait_for(host, timer, &timer->link));
	pthread_mutex_unlock(&host->lock);
}

static void
task_remove(struct kal_host *host, struct ri_task *task)
{
	RI_ASSERT_OWNED(&host->lock);
	if ((task->link.n[1] & KAL_LINK_QUEUED) == 0)
		return;
	if (PREV_TASK(task) != NULL)
		NEXT_TASK(PREV_TASK(task)) = NEXT_TASK(task);
	else
		host->first_task = NEXT_TASK(task);
	if (NEXT_TASK(task) != NULL)
		PREV_TASK(NEXT_TASK(task)) = PREV_TASK(task);
	else
		host->last_task = PREV_TASK(task);
	host->tasks--;
	task->link.n[1] &= ~(uint64_t)KAL_LINK_QUEUED;
}

void
kal_host_task_run(void *self, struct ri_task *task)
{
	struct kal_host *host = self;
	bool poke;

	if (atomic_load(&host->dead))
		return;
	pthread_mutex_lock(&host->lock);
	if ((task->link.n[1] & (KAL_LINK_QUEUED | KAL_LINK_STOPPING)) == 0) {
		NEXT_TASK(task) = NULL;
		PREV_TASK(task) = host->last_task;
		if (host->last_task != NULL)
			NEXT_TASK(host->last_task) = task;
		else
			host->first_task = task;
		host->last_task = task;
		host->tasks++;
		task->link.n[1] |= KAL_LINK_QUEUED;
	}
	poke = host->asleep && !host->poked;
	host->poked |= poke;
	pthread_mutex_unlock(&host->lock);
	if (poke)
		kal_host_poke(host);
}

void
kal_host_task_stop(void *self, struct ri_task *task)
{
	struct kal_host *host = self;

	if (atomic_load(&host->dead))
		return;
	pthread_mutex_lock(&host->lock);
	do
		task_remove(host, task);
	while (kal_host_wait_for(host, task, &task->link));
	pthread_mutex_unlock(&host->lock);
}

static void
serve(struct kal_host *host)
{
	void (*fire)(void *arg);
	void *arg;

	pthread_mutex_lock(&host->lock);
	while (!host->quit) {
		uint64_t now = host->table.now(host);

		while (kal_timers_next(&host->timers) <= now) {
			struct ri_timer *timer = host->timers.root;

			fire = timer->fire;
			arg = timer->arg;
			kal_timers_remove(&host->timers, timer);
			kal_host_enter(host, timer);
			fire(arg);
			kal_host_leave(host);
		}
		/* The tasks that are queued now. Those that they queue run in the next round, after the watched descriptors. */
		for (unsigned left = host->tasks; left > 0 && host->first_task != NULL; left--) {
			struct ri_task *task = host->first_task;

			fire = task->fire;
			arg = task->arg;
			task_remove(host, task);
			kal_host_enter(host, task);
			fire(arg);
			kal_host_leave(host);
		}
		kal_host_watch_round(host, host->first_task == NULL);
	}
	pthread_mutex_unlock(&host->lock);
}

static void *service_thread(void *arg);

/*
 * The service thread must not run signal handlers of the application: it starts with all signals blocked. The exceptions are
 * SIGBUS and SIGSEGV, which the kernel sends to the thread that caused them: blocked, they would end the process, and the engines
 * handle those of lost pages.
 */
bool
kal_host_start_thread(struct kal_host *host)
{
	sigset_t all, old;
	pthread_t thread;
	int error;

	sigfillset(&all);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGSEGV);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	error = pthread_create(&thread, NULL, service_thread, host);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (error != 0)
		return kal_host_lacks(host, "a thread (clone3, clone)", error);
	(void)pthread_setname_np(thread, "itapi-service");
	pthread_mutex_lock(&host->lock);
	host->thread = thread;
	pthread_mutex_unlock(&host->lock);
	return true;
}

/*
 * A callback of the application has ended this thread. The function that it was called in counts as returned, and a new thread
 * continues. If none can be created, this one continues here, and ends when the host does.
 */
static void
serve_ended(void *arg)
{
	struct kal_host *host = arg;

	kal_host_leave(host);
	pthread_mutex_unlock(&host->lock);
	if (kal_host_start_thread(host))
		(void)pthread_detach(pthread_self());
	else
		serve(host);
}

static void *
service_thread(void *arg)
{
	struct kal_host *host = arg;

	/* A callback can obtain this thread's id, and could cancel it. */
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	served = host;
	pthread_cleanup_push(serve_ended, host);
	serve(host);
	pthread_cleanup_pop(0);
	return NULL;
}
