/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Threads of applications. Mutexes are those of the C library, and are locked by pthread_mutex_trylock(): a thread that does not
 * get one waits in the scheduler. The waiters of a condition variable are kept here. So itapi's own locks work, too, should a switch
 * happen while a thread owns one.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

#include "sim/sim.h"
#include "sim/sim_libc.h"
#include "sim/sim_real.h"

/* Threads that wait at an address. */
struct waiter {
	struct waiter *next;
	const void *at;
	bool woken;
};

static struct waiter *waiters; /* longest first */

static bool
is_woken(void *arg)
{
	return ((struct waiter *)arg)->woken;
}

static void
waiter_join(struct waiter *waiter, const void *at)
{
	struct waiter **last = &waiters;

	*waiter = (struct waiter){.at = at};
	while (*last != NULL)
		last = &(*last)->next;
	*last = waiter;
}

static void
waiter_leave(struct waiter *waiter)
{
	struct waiter **at = &waiters;

	while (*at != NULL && *at != waiter)
		at = &(*at)->next;
	if (*at != NULL)
		*at = waiter->next;
}

/* Wait at an address. False: the deadline came first. */
static bool
wait_at(const char *call, const void *at, uint64_t deadline)
{
	struct waiter waiter;
	bool woken;

	waiter_join(&waiter, at);
	woken = sim_block(call, is_woken, &waiter, deadline);
	waiter_leave(&waiter);
	return woken;
}

/* Wake one of those that wait at an address, drawn from the seed, or all. */
static void
wake_at(const void *at, bool all)
{
	uint64_t count = 0, drawn = 0;

	for (struct waiter *one = waiters; one != NULL; one = one->next)
		count += one->at == at && !one->woken;
	if (count == 0)
		return;
	drawn = all ? 0 : sim_random_below(sim_faults(), count);
	for (struct waiter *one = waiters; one != NULL; one = one->next) {
		if (one->at != at || one->woken)
			continue;
		if (all || drawn-- == 0)
			one->woken = true;
		if (!all && one->woken)
			return;
	}
}

static void
begin(const char *call)
{
	if (sim_applies())
		sim_chance(call);
}

static void
end(void)
{
	if (sim_applies())
		sim_me->call = NULL;
}

/* --- mutexes ------------------------------------------------------------------------------------ */

/* The thread that owns the lock, for the list of waiting threads. */
static void
tell_owner(pthread_mutex_t *mutex)
{
	for (const struct sim_thread *thread = sim_threads(); thread != NULL;
	     thread = thread->next) {
		pid_t id = 0;

#ifdef __GLIBC__
		memcpy(&id, (const char *)mutex + 2 * sizeof(int), sizeof(int));
#endif
		if (id == 0 || thread->tid != id || thread->node == NULL)
			continue;
		g_snprintf(sim_me->detail, sizeof(sim_me->detail), "thread %u of %s",
			   thread->number, thread->node->plan->name);
	}
}

/* Does this mutex check errors, and does the calling thread own it? Then a lock fails with EDEADLK, which trylock does not. */
static bool
checks_errors(const pthread_mutex_t *mutex)
{
#ifdef __GLIBC__
	return (mutex->__data.__kind & 3) == PTHREAD_MUTEX_ERRORCHECK &&
	       mutex->__data.__owner == sim_me->tid;
#else
	return false;
#endif
}

static int
mutex_take(const char *call, pthread_mutex_t *mutex, uint64_t deadline)
{
	int error = SIM_REAL(pthread_mutex_trylock)(mutex);

	if (error == EBUSY && checks_errors(mutex))
		return EDEADLK;
	while (error == EBUSY) {
		tell_owner(mutex);
		if (!wait_at(call, mutex, deadline))
			return ETIMEDOUT;
		error = SIM_REAL(pthread_mutex_trylock)(mutex);
	}
	return error;
}

int
pthread_mutex_lock(pthread_mutex_t *mutex)
{
	int error;

	if (sim_me == NULL)
		return SIM_REAL(pthread_mutex_lock)(mutex);
	sim_hesitate("pthread_mutex_lock");
	begin("pthread_mutex_lock");
	error = mutex_take("pthread_mutex_lock", mutex, RI_NEVER);
	end();
	return error;
}

int
pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *when)
{
	int error;

	if (sim_me == NULL)
		return SIM_REAL(pthread_mutex_clocklock)(mutex, clock, when);
	begin("pthread_mutex_clocklock");
	error = mutex_take("pthread_mutex_clocklock", mutex, sim_deadline_of(clock, when));
	end();
	return error;
}

int
pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *when)
{
	return pthread_mutex_clocklock(mutex, CLOCK_REALTIME, when);
}

/* A trylock of a lock that is not free counts as an empty poll. */
static int
tried(const char *call, int error)
{
	if (error == EBUSY && sim_applies()) {
		sim_me->call = call;
		sim_idle(call);
		sim_me->call = NULL;
	}
	return error;
}

int
pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	return tried("pthread_mutex_trylock", SIM_REAL(pthread_mutex_trylock)(mutex));
}

int
pthread_spin_trylock(pthread_spinlock_t *lock)
{
	return tried("pthread_spin_trylock", SIM_REAL(pthread_spin_trylock)(lock));
}

int
pthread_spin_lock(pthread_spinlock_t *lock)
{
	if (!sim_applies())
		return SIM_REAL(pthread_spin_lock)(lock);
	while (SIM_REAL(pthread_spin_trylock)(lock) == EBUSY) {
		sim_me->call = "pthread_spin_lock";
		sim_idle("pthread_spin_lock");
	}
	sim_me->call = NULL;
	return 0;
}

int
pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	int error = SIM_REAL(pthread_mutex_unlock)(mutex);

	if (sim_me != NULL && error == 0) {
		wake_at(mutex, false);
		begin("pthread_mutex_unlock");
		end();
	}
	return error;
}

/* --- conditions ---------------------------------------------------------------------------------- */

/* The clock of a condition is kept where the C library keeps it: here, beside its address. */
static GHashTable *monotonic;

int
pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr)
{
	clockid_t clock = CLOCK_REALTIME;

	if (sim_me != NULL) {
		if (monotonic == NULL)
			monotonic = g_hash_table_new(NULL, NULL);
		if (attr != NULL && pthread_condattr_getclock(attr, &clock) == 0 &&
		    clock == CLOCK_MONOTONIC)
			g_hash_table_add(monotonic, cond);
		else
			g_hash_table_remove(monotonic, cond);
	}
	return SIM_REAL(pthread_cond_init)(cond, attr);
}

/* Its memory may become another one, which nobody need initialize by a call. */
int
pthread_cond_destroy(pthread_cond_t *cond)
{
	if (sim_me != NULL && monotonic != NULL)
		g_hash_table_remove(monotonic, cond);
	return SIM_REAL(pthread_cond_destroy)(cond);
}

static clockid_t
clock_of(pthread_cond_t *cond)
{
	return monotonic != NULL && g_hash_table_contains(monotonic, cond) ? CLOCK_MONOTONIC
									   : CLOCK_REALTIME;
}

static int
cond_wait(const char *call, pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t deadline)
{
	bool applies = sim_applies();
	struct waiter waiter;
	int error = SIM_REAL(pthread_mutex_unlock)(mutex);
	bool woken;

	if (error != 0)
		return error;
	wake_at(mutex, false);
	if (applies)
		sim_me->call = call;
	waiter_join(&waiter, cond);
	woken = sim_block(call, is_woken, &waiter, deadline);
	waiter_leave(&waiter);
	error = mutex_take(call, mutex, RI_NEVER);
	if (applies)
		sim_me->call = NULL;
	return error != 0 ? error : woken ? 0 : ETIMEDOUT;
}

int
pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	if (sim_me == NULL)
		return SIM_REAL(pthread_cond_wait)(cond, mutex);
	return cond_wait("pthread_cond_wait", cond, mutex, RI_NEVER);
}

int
pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *when)
{
	if (sim_me == NULL)
		return SIM_REAL(pthread_cond_timedwait)(cond, mutex, when);
	return cond_wait("pthread_cond_timedwait", cond, mutex,
			 sim_deadline_of(clock_of(cond), when));
}

int
pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
		       const struct timespec *when)
{
	if (sim_me == NULL)
		return SIM_REAL(pthread_cond_clockwait)(cond, mutex, clock, when);
	return cond_wait("pthread_cond_clockwait", cond, mutex, sim_deadline_of(clock, when));
}

int
pthread_cond_signal(pthread_cond_t *cond)
{
	if (sim_me != NULL)
		wake_at(cond, false);
	return SIM_REAL(pthread_cond_signal)(cond);
}

int
pthread_cond_broadcast(pthread_cond_t *cond)
{
	if (sim_me != NULL)
		wake_at(cond, true);
	return SIM_REAL(pthread_cond_broadcast)(cond);
}

/* --- semaphores, barriers, locks for readers and writers, once --------------------------------------- */

static int
sem_take(const char *call, sem_t *sem, uint64_t deadline)
{
	begin(call);
	while (SIM_REAL(sem_trywait)(sem) != 0) {
		if (errno != EAGAIN)
			return -1;
		if (!wait_at(call, sem, deadline)) {
			errno = ETIMEDOUT;
			return -1;
		}
	}
	end();
	return 0;
}

int
sem_wait(sem_t *sem)
{
	return sim_me == NULL ? SIM_REAL(sem_wait)(sem) : sem_take("sem_wait", sem, RI_NEVER);
}

int
sem_timedwait(sem_t *sem, const struct timespec *when)
{
	return sim_me == NULL
		       ? SIM_REAL(sem_timedwait)(sem, when)
		       : sem_take("sem_timedwait", sem, sim_deadline_of(CLOCK_REALTIME, when));
}

int
sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *when)
{
	return sim_me == NULL ? SIM_REAL(sem_clockwait)(sem, clock, when)
			      : sem_take("sem_clockwait", sem, sim_deadline_of(clock, when));
}

int
sem_trywait(sem_t *sem)
{
	int result = SIM_REAL(sem_trywait)(sem);
	int error = errno;

	if (result != 0 && error == EAGAIN)
		(void)tried("sem_trywait", EBUSY);
	errno = error;
	return result;
}

int
sem_post(sem_t *sem)
{
	int result = SIM_REAL(sem_post)(sem);

	if (sim_me != NULL)
		wake_at(sem, false);
	return result;
}

/* Fits into a pthread_barrier_t. */
struct barrier {
	unsigned wanted, there;
};
_Static_assert(sizeof(struct barrier) <= sizeof(pthread_barrier_t), "room for a barrier");

int
pthread_barrier_init(pthread_barrier_t *restrict barrier,
		     const pthread_barrierattr_t *restrict attr, unsigned wanted)
{
	if (sim_me == NULL)
		return SIM_REAL(pthread_barrier_init)(barrier, attr, wanted);
	if (wanted == 0)
		return EINVAL;
	*(struct barrier *)(void *)barrier = (struct barrier){.wanted = wanted};
	return 0;
}

int
pthread_barrier_destroy(pthread_barrier_t *barrier)
{
	return sim_me == NULL ? SIM_REAL(pthread_barrier_destroy)(barrier) : 0;
}

int
pthread_barrier_wait(pthread_barrier_t *barrier)
{
	struct barrier *own = (struct barrier *)(void *)barrier;

	if (sim_me == NULL)
		return SIM_REAL(pthread_barrier_wait)(barrier);
	begin("pthread_barrier_wait");
	if (++own->there == own->wanted) {
		own->there = 0;
		wake_at(barrier, true);
		end();
		return PTHREAD_BARRIER_SERIAL_THREAD;
	}
	(void)wait_at("pthread_barrier_wait", barrier, RI_NEVER);
	end();
	return 0;
}

static int
rwlock_take(const char *call, pthread_rwlock_t *lock, int (*try)(pthread_rwlock_t *),
	    uint64_t deadline)
{
	int error;

	begin(call);
	while ((error = try(lock)) == EBUSY && wait_at(call, lock, deadline))
		continue;
	end();
	return error == EBUSY ? ETIMEDOUT : error;
}

#define RWLOCK(kind)                                                                              \
	int pthread_rwlock_##kind##lock(pthread_rwlock_t *lock)                                   \
	{                                                                                         \
		return sim_me == NULL                                                             \
			       ? SIM_REAL(pthread_rwlock_##kind##lock)(lock)                      \
			       : rwlock_take("pthread_rwlock_" #kind "lock", lock,                \
					     SIM_REAL(pthread_rwlock_try##kind##lock), RI_NEVER); \
	}                                                                                         \
	int pthread_rwlock_clock##kind##lock(pthread_rwlock_t *restrict lock, clockid_t clock,    \
					     const struct timespec *restrict when)                \
	{                                                                                         \
		return sim_me == NULL                                                             \
			       ? SIM_REAL(pthread_rwlock_clock##kind##lock)(lock, clock, when)    \
			       : rwlock_take("pthread_rwlock_clock" #kind "lock", lock,           \
					     SIM_REAL(pthread_rwlock_try##kind##lock),            \
					     sim_deadline_of(clock, when));                       \
	}                                                                                         \
	int pthread_rwlock_timed##kind##lock(pthread_rwlock_t *restrict lock,                     \
					     const struct timespec *restrict when)                \
	{                                                                                         \
		return pthread_rwlock_clock##kind##lock(lock, CLOCK_REALTIME, when);              \
	}                                                                                         \
	int pthread_rwlock_try##kind##lock(pthread_rwlock_t *lock)                                \
	{                                                                                         \
		return tried("pthread_rwlock_try" #kind "lock",                                   \
			     SIM_REAL(pthread_rwlock_try##kind##lock)(lock));                     \
	}

RWLOCK(rd)
RWLOCK(wr)

int
pthread_rwlock_unlock(pthread_rwlock_t *lock)
{
	int error = SIM_REAL(pthread_rwlock_unlock)(lock);

	if (sim_me != NULL)
		wake_at(lock, true);
	return error;
}

/* Routines of pthread_once() that run now. */
static GSList *running_once;

static bool
is_over(void *once)
{
	return g_slist_find(running_once, once) == NULL;
}

int
pthread_once(pthread_once_t *once, void (*routine)(void))
{
	int error;

	if (sim_me == NULL)
		return SIM_REAL(pthread_once)(once, routine);
	if (!is_over(once))
		(void)sim_block("pthread_once", is_over, once, RI_NEVER);
	running_once = g_slist_prepend(running_once, once);
	error = SIM_REAL(pthread_once)(once, routine);
	running_once = g_slist_remove(running_once, once);
	return error;
}

/* --- threads -------------------------------------------------------------------------------------------- */

static struct sim_thread *
thread_of(pthread_t id)
{
	for (struct sim_thread *thread = sim_threads(); thread != NULL; thread = thread->next)
		if (pthread_equal(thread->real, id))
			return thread;
	return NULL;
}

int
pthread_create(pthread_t *id, const pthread_attr_t *attr, void *(*body)(void *), void *arg)
{
	struct sim_thread *thread;
	int detached = PTHREAD_CREATE_JOINABLE;
	size_t stack = 0;

	if (sim_me == NULL)
		return SIM_REAL(pthread_create)(id, attr, body, arg);
	if (sim_me->node == NULL)
		sim_refuse("pthread_create");
	if (attr != NULL) {
		(void)pthread_attr_getdetachstate(attr, &detached);
		(void)pthread_attr_getstacksize(attr, &stack);
	}
	sim_chance("pthread_create");
	thread = sim_thread_new(sim_me->node, body, arg, stack);
	end();
	if (thread == NULL)
		return EAGAIN;
	thread->alone = detached == PTHREAD_CREATE_DETACHED;
	*id = thread->real;
	return 0;
}

static bool
has_returned(void *arg)
{
	return ((struct sim_thread *)arg)->returned;
}

/* 0: it has ended, and nobody else may join it. */
static int
join_until(const char *call, pthread_t id, void **value, uint64_t deadline)
{
	struct sim_thread *thread = thread_of(id);
	bool ended;

	if (thread == NULL)
		return ESRCH;
	if (thread == sim_me)
		return EDEADLK;
	if (thread->alone)
		return EINVAL;
	sim_chance(call);
	g_snprintf(sim_me->detail, sizeof(sim_me->detail), "thread %u", thread->number);
	ended = sim_block(call, has_returned, thread, deadline);
	end();
	if (!ended)
		return ETIMEDOUT;
	thread->alone = true;
	if (value != NULL)
		*value = thread->value;
	return 0;
}

int
pthread_join(pthread_t id, void **value)
{
	return sim_me == NULL ? SIM_REAL(pthread_join)(id, value)
			      : join_until("pthread_join", id, value, RI_NEVER);
}

int
pthread_clockjoin_np(pthread_t id, void **value, clockid_t clock, const struct timespec *when)
{
	return sim_me == NULL ? SIM_REAL(pthread_clockjoin_np)(id, value, clock, when)
			      : join_until("pthread_clockjoin_np", id, value,
					   sim_deadline_of(clock, when));
}

int
pthread_timedjoin_np(pthread_t id, void **value, const struct timespec *when)
{
	return pthread_clockjoin_np(id, value, CLOCK_REALTIME, when);
}

int
pthread_tryjoin_np(pthread_t id, void **value)
{
	const struct sim_thread *thread;

	if (sim_me == NULL)
		return SIM_REAL(pthread_tryjoin_np)(id, value);
	thread = thread_of(id);
	if (thread != NULL && !thread->returned && thread != sim_me && !thread->alone)
		return tried("pthread_tryjoin_np", EBUSY);
	return join_until("pthread_tryjoin_np", id, value, RI_NEVER);
}

int
pthread_detach(pthread_t id)
{
	struct sim_thread *thread;

	if (sim_me == NULL)
		return SIM_REAL(pthread_detach)(id);
	thread = thread_of(id);
	if (thread == NULL)
		return ESRCH;
	if (thread->alone)
		return EINVAL;
	thread->alone = true;
	return 0;
}

void
pthread_exit(void *value)
{
	if (sim_me == NULL || sim_me->node == NULL)
		SIM_REAL(pthread_exit)(value);
	sim_me->value = value;
	sim_thread_over();
}
