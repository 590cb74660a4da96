/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Park and wake. The state of a parker is one word: FREE, WOKEN (a wake that was not consumed yet), or the way in
 * which its thread sleeps: on the word itself (futex), or in ppoll with an eventfd that is created when a thread first
 * parks on descriptors. A wake exchanges the word, and makes a system call only if a thread sleeps. So no wake is
 * lost, and two wakes before a park count as one.
 *
 * The woken thread may go on and close its parker between the waker's exchange and the waker's system call. So wakers
 * are counted (link.n[0]), and parker_close waits for the last of them.
 *
 * A park is a cancellation point if the thread's state allows cancellation, and it owns nothing while it sleeps. The caller's
 * cleanup handler gives up what the caller owns; the word, which still says "asleep", is set right by the next park.
 *
 * A signal handler of the application makes both system calls return EINTR, with SA_RESTART or without: the kernel
 * never restarts ppoll, and the futex always has a deadline, so that both behave alike. Stops and ignored signals do
 * not return EINTR. Which handler ran cannot be known afterwards. So a park is interrupted if the handler may have been
 * one without SA_RESTART, that is if the thread does not block every signal that has such a handler. Otherwise the
 * park goes on, as a restarted system call would.
 */

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "kal_host.h"
#include "ri_calls.h"
#include "ri_fd.h"
#include "ri_relax.h"

enum parker_word {
	FREE = 0,
	WOKEN,
	ASLEEP_WORD, /* sleeps on the word */
	ASLEEP_FDS   /* sleeps on descriptors, the parker's own among them */
};

#define MAX_FDS   16
#define FAR_AWAY  (INT32_MAX) /* seconds of the clock: some 68 years after boot */
#define LONGEST   ((uint64_t)FAR_AWAY * 1000000000u) /* ns */
#define LOOK_EACH 1000000u /* ns between looks at the word if there is no eventfd */

static atomic_uint *
word_of(struct ri_parker *parker)
{
	return (atomic_uint *)(void *)&parker->word;
}

static _Atomic uint64_t *
wakers_of(struct ri_parker *parker)
{
	return (_Atomic uint64_t *)(void *)&parker->link.n[0];
}

/* Consume a wake. */
static bool
wake_consume(struct ri_parker *parker)
{
	unsigned expected = WOKEN;

	return atomic_compare_exchange_strong(word_of(parker), &expected, FREE);
}

/*
 * Write into the word how the thread sleeps from now on. False: it must not sleep, since a wake has
 * come, which this call consumes. A word that already says "asleep" was left by a thread that was
 * cancelled in its sleep.
 */
static bool
sleep_begin(struct ri_parker *parker, enum parker_word how)
{
	unsigned before = atomic_load(word_of(parker));

	while (before != WOKEN) {
		if (atomic_compare_exchange_weak(word_of(parker), &before, how))
			return true;
	}
	atomic_store(word_of(parker), FREE);
	return false;
}

/* Signals that a fault of the thread itself raises; sanitizers and runtimes have handlers for them. */
static bool
is_mistake(int signal)
{
	return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
	       signal == SIGTRAP || signal == SIGABRT || signal == SIGSYS;
}

/* Do all handlers that may have run have SA_RESTART? */
static bool
handlers_restart(void)
{
	sigset_t blocked;

	if (pthread_sigmask(SIG_BLOCK, NULL, &blocked) != 0)
		return false;
	for (int signal = 1; signal < NSIG; signal++) {
		struct sigaction action;

		if (is_mistake(signal) || sigismember(&blocked, signal) == 1 ||
		    sigaction(signal, NULL, &action) != 0)
			continue;
		if (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN &&
		    (action.sa_flags & SA_RESTART) == 0)
			return false;
	}
	return true;
}

#ifdef __GLIBC__
extern ssize_t read_nothing(int fd, void *to, size_t room) __asm__("__read");
#endif

/*
 * Wait until a signal of pthread_cancel() that is under way has arrived. pthread_cancel() first
 * marks the thread as cancelled and then sends the signal. If the thread disables cancellation
 * between these steps, the signal arrives later, when the thread may own something, and glibc 2.36
 * then ends the thread in any function of glibc that is a cancellation point, even with
 * cancellation disabled. Such a function itself waits for a signal that is under way; so this calls
 * one. __read on descriptor -1 does nothing else, and ThreadSanitizer does not intercept it.
 */
static void
cancel_settle(void)
{
#ifdef __GLIBC__
	(void)!read_nothing(-1, NULL, 0);
#endif
}

/*
 * One sleep, on the word if there are no descriptors. The C library offers no futex call that is a
 * cancellation point, and ThreadSanitizer loses track of a thread that is cancelled inside of the C
 * library's ppoll. So the system calls are made here. If its caller allows cancellation, the thread
 * may be cancelled at any instant of them; it owns nothing then.
 */
static long
sleep_once(struct ri_parker *parker, struct pollfd *polled, nfds_t count, struct timespec *when)
{
	long result;
	int type, error;

	/* NOLINTNEXTLINE(concurrency-thread-canceltype-asynchronous,cert-pos47-c): of two system calls, and nothing is owned */
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	if (count == 0)
		result = syscall(SYS_futex, word_of(parker), FUTEX_WAIT_BITSET_PRIVATE, ASLEEP_WORD,
				 when, NULL, FUTEX_BITSET_MATCH_ANY);
	else
		result = syscall(SYS_ppoll, polled, count, when, NULL, 0);
	error = errno;
	pthread_setcanceltype(type, NULL);
	cancel_settle();
	errno = error;
	return result;
}

/* Sleep without the system call that was refused. */
static void
sleep_refused(struct kal_host *host, enum kal_refused which, int error)
{
	static const struct timespec look_each = {.tv_nsec = LOOK_EACH};

	kal_host_refused(host, which, error);
	ri_nap(&look_each);
}

/* Stop sleeping because of `why`; a wake that came meanwhile takes precedence. */
static enum ri_status
park_end(struct ri_parker *parker, enum ri_status why)
{
	return atomic_exchange(word_of(parker), FREE) == WOKEN ? RI_SUCCESS : why;
}

static struct timespec
timespec_of(uint64_t deadline)
{
	struct timespec when = {FAR_AWAY, 0};

	if (deadline / 1000000000u < FAR_AWAY) {
		when.tv_sec = (time_t)(deadline / 1000000000u);
		when.tv_nsec = (long)(deadline % 1000000000u);
	}
	return when;
}

static enum ri_status
park_on_word(struct kal_host *host, struct ri_parker *parker, uint64_t deadline)
{
	struct timespec when = timespec_of(deadline);

	if (!sleep_begin(parker, ASLEEP_WORD))
		return RI_SUCCESS;
	for (;;) {
		long result = sleep_once(parker, NULL, 0, &when);

		if (wake_consume(parker))
			return RI_SUCCESS;
		if (result < 0 && errno == ETIMEDOUT && deadline != RI_NEVER)
			return park_end(parker, RI_ERR_TIMEOUT);
		if (result < 0 && errno == EINTR && !handlers_restart())
			return park_end(parker, RI_ERR_INTERRUPTED);
		if (result < 0 && (errno == EPERM || errno == ENOSYS))
			sleep_refused(host, KAL_REFUSED_FUTEX, errno);
		if (host->table.now(host) >= deadline)
			return park_end(parker, RI_ERR_TIMEOUT);
	}
}

/* Time left, at most `longest` ns. */
static struct timespec
time_left(struct kal_host *host, uint64_t deadline, uint64_t longest)
{
	uint64_t now = host->table.now(host);
	uint64_t left = deadline > now ? deadline - now : 0;
	struct timespec span;

	if (left > longest)
		left = longest;
	span.tv_sec = (time_t)(left / 1000000000u);
	span.tv_nsec = (long)(left % 1000000000u);
	return span;
}

/* The eventfd that wakes this parker, created when first needed; -1 if it cannot be created. */
static int
own_descriptor(struct ri_parker *parker)
{
	if (parker->fd == 0) {
		int fd = ri_fd_eventfd();

		if (fd >= 0)
			parker->fd = fd + 1;
	}
	return parker->fd - 1;
}

/* Has the program closed one of them? */
static bool
any_closed(const struct pollfd *polled, nfds_t count)
{
	for (nfds_t i = 0; i < count; i++)
		if ((polled[i].revents & POLLNVAL) != 0)
			return true;
	return false;
}

static enum ri_status
park_on_fds(struct kal_host *host, struct ri_parker *parker, struct pollfd *polled, nfds_t count,
	    uint64_t deadline)
{
	int own = own_descriptor(parker);
	nfds_t all = count; /* the guard is the last one when the sleep has taken long */
	uint64_t ignored;

	polled[0] = (struct pollfd){.fd = own, .events = POLLIN};
	if (!sleep_begin(parker, ASLEEP_FDS))
		return RI_SUCCESS;
	for (;;) {
		bool lost = atomic_load(&host->guard_lost), first = all == count && !lost;
		/* Without the guard a sleep ends soon: the next one finds what was closed during it. */
		struct timespec span = time_left(host, deadline,
						 own < 0         ? LOOK_EACH
						 : first || lost ? KAL_HOST_QUIET
								 : LONGEST);
		long ready = sleep_once(parker, polled, all, &span);
		bool interrupted = ready < 0 && errno == EINTR;
		int refused = ready < 0 && (errno == EPERM || errno == ENOSYS) ? errno : 0;

		/* A late waker of an earlier park may have written: the eventfd alone is no wake. */
		if (ready > 0 && polled[0].revents != 0 &&
		    ri_read(own, &ignored, sizeof(ignored)) > 0)
			ready--;
		if (wake_consume(parker))
			return RI_SUCCESS;
		if (ready > 0 && any_closed(polled, count))
			refused = EBADF;
		if (ready > 0 && all > count && polled[count].revents != 0)
			atomic_store(&host->guard_lost, true);
		if (ready == 0 && first)
			polled[all++] = (struct pollfd){.fd = kal_fd_get(&host->guard)};
		if (refused != 0)
			sleep_refused(host, KAL_REFUSED_POLL, refused);
		if (refused != 0 && count > 1)
			return park_end(parker,
					RI_SUCCESS); /* the caller looks at its descriptors */
		if (interrupted && !handlers_restart())
			return park_end(parker, RI_ERR_INTERRUPTED);
		if (ready > 0)
			return park_end(parker, RI_SUCCESS);
		if (host->table.now(host) >= deadline)
			return park_end(parker, RI_ERR_TIMEOUT);
	}
}

enum ri_status
kal_host_park(void *self, struct ri_parker *parker, const int *fds, uint32_t nfds,
	      uint64_t deadline)
{
	struct kal_host *host = self;
	struct pollfd polled[1 + MAX_FDS + 1];

	if (atomic_load(&host->dead))
		return RI_ERR_FATAL;
	if (nfds > MAX_FDS)
		return RI_ERR_INVALID_ARG;
	if (nfds == 0)
		return park_on_word(host, parker, deadline);
	for (uint32_t i = 0; i < nfds; i++)
		polled[1 + i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
	return park_on_fds(host, parker, polled, 1 + nfds, deadline);
}

void
kal_host_wake(void *self, struct ri_parker *parker)
{
	struct kal_host *host = self;
	uint64_t one = 1;
	ssize_t sent = 0;
	unsigned before;

	if (atomic_load(&host->dead))
		return;
	atomic_fetch_add(wakers_of(parker), 1);
	before = atomic_exchange(word_of(parker), WOKEN);
	if (before == ASLEEP_WORD)
		(void)syscall(SYS_futex, word_of(parker), FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	else if (before == ASLEEP_FDS && parker->fd != 0)
		sent = ri_write(parker->fd - 1, &one, sizeof(one));
	(void)sent; /* it may be full, and is readable then */
	atomic_fetch_sub(wakers_of(parker), 1);
}

void
kal_host_parker_close(void *self, struct ri_parker *parker)
{
	struct kal_host *host = self;

	if (atomic_load(&host->dead))
		return;
	for (unsigned round = 0; atomic_load(wakers_of(parker)) != 0; round++)
		ri_relax(round);
	if (parker->fd != 0)
		ri_close(parker->fd - 1);
	parker->fd = 0;
	parker->word = FREE;
}
