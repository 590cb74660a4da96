/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Parking a thread: no wake is lost; deadlines, descriptors, and signals whose handler ran end it. */

#include <fcntl.h>
#include <glib.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "kal_host.h"

#define MS 1000000u

static const struct ri_host *
host(void)
{
	return kal_host_default();
}

static enum ri_status
park(struct ri_parker *parker, int fd, uint64_t wait)
{
	uint64_t deadline = wait == RI_NEVER ? RI_NEVER : host()->now(host()->self) + wait;

	return host()->park(host()->self, parker, &fd, fd >= 0 ? 1 : 0, deadline);
}

static void
test_timeout(void)
{
	struct ri_parker parker = {0};
	uint64_t start = host()->now(host()->self);
	int pair[2];

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), ==, 0);
	g_assert_cmpint(park(&parker, -1, 3u * MS), ==, RI_ERR_TIMEOUT);
	g_assert_cmpuint(host()->now(host()->self) - start, >=, 3u * MS);
	g_assert_cmpint(park(&parker, pair[0], 3u * MS), ==, RI_ERR_TIMEOUT);
	g_assert_cmpuint(host()->now(host()->self) - start, >=, 6u * MS);
	g_assert_cmpint(park(&parker, -1, 0), ==, RI_ERR_TIMEOUT);
	g_assert_cmpint(park(&parker, pair[0], 0), ==, RI_ERR_TIMEOUT);
	host()->parker_close(host()->self, &parker);
	close(pair[0]);
	close(pair[1]);
}

static void
test_wake_before(void)
{
	struct ri_parker parker = {0};
	int pair[2];

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), ==, 0);
	for (int i = 0; i < 4; i++) {
		int fd = i % 2 == 0 ? -1 : pair[0];

		host()->wake(host()->self, &parker);
		host()->wake(host()->self, &parker); /* counted once */
		g_assert_cmpint(park(&parker, fd, RI_NEVER), ==, RI_SUCCESS);
		g_assert_cmpint(park(&parker, fd, MS), ==, RI_ERR_TIMEOUT);
	}
	g_assert_cmpint(write(pair[1], "x", 1), ==, 1);
	g_assert_cmpint(park(&parker, pair[0], RI_NEVER), ==, RI_SUCCESS);
	g_assert_cmpint(host()->park(host()->self, &parker, pair, 17, 0), ==, RI_ERR_INVALID_ARG);
	host()->parker_close(host()->self, &parker);
	close(pair[0]);
	close(pair[1]);
}

/* Two threads pass a token to and fro; a lost wake would block both, and the deadline makes that a failure. */
enum {
	EXCHANGES = 3000
};

struct player {
	struct ri_parker parker;
	struct player *other;
	atomic_int token;
	int fd; /* sleeps on this descriptor too; -1: none; -2: with and without in turn */
	int quiet;
};

static void *
play(void *arg)
{
	struct player *me = arg;

	for (int i = 0; i < EXCHANGES; i++) {
		while (atomic_exchange(&me->token, 0) == 0) {
			int fd = me->fd != -2 ? me->fd : (i % 2 == 0 ? -1 : me->quiet);

			g_assert_cmpint(park(&me->parker, fd, 60000u * (uint64_t)MS), ==,
					RI_SUCCESS);
		}
		atomic_store(&me->other->token, 1);
		host()->wake(host()->self, &me->other->parker);
	}
	return NULL;
}

static void
ping_pong(int kind)
{
	struct player a = {0}, b = {0};
	pthread_t thread;
	int pair[2];

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), ==, 0);
	a.fd = kind == 0 ? -1 : kind == 1 ? pair[0] : -2;
	b.fd = kind == 0 ? -1 : kind == 1 ? pair[1] : -2;
	a.quiet = pair[0];
	b.quiet = pair[1];
	a.other = &b;
	b.other = &a;
	atomic_store(&a.token, 1);
	g_assert_cmpint(pthread_create(&thread, NULL, play, &b), ==, 0);
	play(&a);
	pthread_join(thread, NULL);
	host()->parker_close(host()->self, &a.parker);
	host()->parker_close(host()->self, &b.parker);
	close(pair[0]);
	close(pair[1]);
}

static void
test_wake_race_word(void)
{
	ping_pong(0);
}

static void
test_wake_race_fds(void)
{
	ping_pong(1);
}

static void
test_wake_race_mixed(void)
{
	ping_pong(2);
}

/* The waking thread is still in wake when the sleeper continues and closes its parker. */
struct brief {
	struct ri_parker *parker;
	atomic_int go;
};

static void *
wake_briefly(void *arg)
{
	struct brief *brief = arg;

	while (atomic_load(&brief->go) == 0)
		sched_yield();
	host()->wake(host()->self, brief->parker);
	return NULL;
}

static void
test_close_after_wake(void)
{
	int pair[2];

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), ==, 0);
	for (int i = 0; i < 300; i++) {
		struct ri_parker *parker = g_new0(struct ri_parker, 1);
		struct brief brief = {.parker = parker};
		pthread_t thread;

		g_assert_cmpint(pthread_create(&thread, NULL, wake_briefly, &brief), ==, 0);
		atomic_store(&brief.go, 1);
		g_assert_cmpint(park(parker, i % 2 == 0 ? -1 : pair[0], RI_NEVER), ==, RI_SUCCESS);
		host()->parker_close(host()->self, parker);
		g_free(parker);
		pthread_join(thread, NULL);
	}
	close(pair[0]);
	close(pair[1]);
}

static void
handler(int number)
{
	(void)number;
}

struct nuisance {
	pthread_t victim;
	int signal;
	atomic_int stop;
};

/* Sends signals until told to stop: the first may come before the victim sleeps. */
static void *
bother(void *arg)
{
	struct nuisance *nuisance = arg;

	while (atomic_load(&nuisance->stop) == 0) {
		pthread_kill(nuisance->victim, nuisance->signal);
		g_usleep(1000);
	}
	return NULL;
}

static enum ri_status
park_bothered(int signal, int fd, uint64_t wait)
{
	struct nuisance nuisance = {.victim = pthread_self(), .signal = signal};
	struct ri_parker parker = {0};
	enum ri_status status;
	pthread_t thread;

	g_assert_cmpint(pthread_create(&thread, NULL, bother, &nuisance), ==, 0);
	status = park(&parker, fd, wait);
	atomic_store(&nuisance.stop, 1);
	pthread_join(thread, NULL);
	host()->parker_close(host()->self, &parker);
	return status;
}

static void
test_interrupted(void)
{
	struct sigaction plain = {.sa_handler = handler}, old1, old2;
	struct sigaction restarting = {.sa_handler = handler, .sa_flags = SA_RESTART};
	sigset_t set;
	int pair[2];

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), ==, 0);
	sigaction(SIGUSR1, &plain, &old1);
	sigaction(SIGUSR2, &restarting, &old2);
	g_assert_cmpint(park_bothered(SIGUSR1, -1, RI_NEVER), ==, RI_ERR_INTERRUPTED);
	g_assert_cmpint(park_bothered(SIGUSR1, pair[0], RI_NEVER), ==, RI_ERR_INTERRUPTED);
	/* Either handler may have run. */
	g_assert_cmpint(park_bothered(SIGUSR2, -1, RI_NEVER), ==, RI_ERR_INTERRUPTED);
	g_assert_cmpint(park_bothered(SIGUSR2, pair[0], RI_NEVER), ==, RI_ERR_INTERRUPTED);
	/* The handler with SA_RESTART runs and the sleep continues. */
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	g_assert_cmpint(pthread_sigmask(SIG_BLOCK, &set, NULL), ==, 0);
	g_assert_cmpint(park_bothered(SIGUSR2, -1, 20u * MS), ==, RI_ERR_TIMEOUT);
	g_assert_cmpint(park_bothered(SIGUSR2, pair[0], 20u * MS), ==, RI_ERR_TIMEOUT);
	g_assert_cmpint(pthread_sigmask(SIG_UNBLOCK, &set, NULL), ==, 0);
	/* Ignored: no handler runs and the sleep is not interrupted. */
	g_assert_cmpint(park_bothered(SIGCHLD, -1, 20u * MS), ==, RI_ERR_TIMEOUT);
	g_assert_cmpint(park_bothered(SIGCHLD, pair[0], 20u * MS), ==, RI_ERR_TIMEOUT);
	sigaction(SIGUSR1, &old1, NULL);
	sigaction(SIGUSR2, &old2, NULL);
	close(pair[0]);
	close(pair[1]);
}

/* When no descriptor is available, sleeping on descriptors still works. */
static void
test_no_descriptors(void)
{
	struct ri_parker parker = {0};
	struct brief brief = {.parker = &parker};
	struct rlimit old, none;
	pthread_t thread;
	int pair[2];

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), ==, 0);
	g_assert_nonnull(host());
	g_assert_cmpint(pthread_create(&thread, NULL, wake_briefly, &brief), ==, 0);
	getrlimit(RLIMIT_NOFILE, &old);
	none = old;
	none.rlim_cur = 3;
	setrlimit(RLIMIT_NOFILE, &none);
	g_assert_cmpint(park(&parker, pair[0], 3u * MS), ==, RI_ERR_TIMEOUT);
	atomic_store(&brief.go, 1);
	g_assert_cmpint(park(&parker, pair[0], RI_NEVER), ==, RI_SUCCESS);
	g_assert_cmpint(parker.fd, ==, 0);
	setrlimit(RLIMIT_NOFILE, &old);
	pthread_join(thread, NULL);
	host()->parker_close(host()->self, &parker);
	close(pair[0]);
	close(pair[1]);
}

/* Replace the descriptor that wakes a sleeping thread, as a program does that closes it, then wake the thread. */
static void *
close_and_wake(void *arg)
{
	struct ri_parker *parker = arg;
	int file = eventfd(0, EFD_CLOEXEC);

	while (atomic_load((atomic_uint *)(void *)&parker->word) == 0)
		sched_yield();
	g_usleep(50000); /* until it does sleep; if it does not yet, nothing is lost */
	g_assert_cmpint(dup3(file, parker->fd - 1, O_CLOEXEC), >=, 0);
	host()->wake(host()->self, parker);
	close(file);
	return NULL;
}

static void
test_closed(void)
{
	struct ri_parker parker = {0};
	pthread_t thread;
	int pair[2];

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), ==, 0);
	g_assert_cmpint(park(&parker, pair[0], 0), ==, RI_ERR_TIMEOUT);
	g_assert_cmpint(parker.fd, !=, 0);
	g_assert_cmpint(pthread_create(&thread, NULL, close_and_wake, &parker), ==, 0);
	g_assert_cmpint(park(&parker, pair[0], RI_NEVER), ==, RI_SUCCESS);
	pthread_join(thread, NULL);
	host()->parker_close(host()->self, &parker);
	close(pair[0]);
	close(pair[1]);
}

/* As close_and_wake, when the thread has slept for so long that only the guard of the host ends its sleep. */
static void *
close_later(void *arg)
{
	struct kal_host *own = host()->self;
	int file = eventfd(0, EFD_CLOEXEC);

	g_usleep(KAL_HOST_QUIET / 1000 * 3 / 2);
	g_assert_cmpint(dup3(file, kal_fd_get(&own->guard_end), O_CLOEXEC), >=, 0);
	close(file);
	return arg;
}

static void
test_closed_later(void)
{
	struct kal_host *own = host()->self;
	struct ri_parker parker = {0};
	pthread_t thread;
	int pair[2];

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), ==, 0);
	g_assert_false(atomic_load(&own->guard_lost));
	g_assert_cmpint(pthread_create(&thread, NULL, close_later, &parker), ==, 0);
	g_assert_cmpint(park(&parker, pair[0], RI_NEVER), ==, RI_SUCCESS);
	g_assert_true(atomic_load(&own->guard_lost));
	pthread_join(thread, NULL);
	host()->parker_close(host()->self, &parker);
	close(pair[0]);
	close(pair[1]);
}

#define CANCELS 6000
#define LOOKS   40 /* cancellation points, in the time that a signal needs */

/* A thread that parks, and may not be cancelled between its parks. */
struct owner {
	struct ri_parker parker;
	atomic_bool parks;
	atomic_bool owns;
};

static void *
park_and_own(void *arg)
{
	struct owner *owner = (struct owner *)arg;
	int before;

	for (;;) {
		atomic_store(&owner->parks, true);
		(void)park(&owner->parker, -1, RI_NEVER);
		(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
		atomic_store(&owner->owns, true);
		for (int i = 0; i < LOOKS; i++)
			(void)poll(NULL, 0, 0);
		atomic_store(&owner->owns, false);
		(void)pthread_setcancelstate(before, NULL);
		pthread_testcancel();
	}
	return NULL;
}

/* A thread is woken and cancelled at once: it ends in its park, or at the next point at which it allows that. */
static void
test_cancelled(void)
{
	for (unsigned i = 0; i < CANCELS; i++) {
		struct owner owner = {.parker = {0}};
		gint64 until;
		pthread_t thread;

		g_assert_cmpint(pthread_create(&thread, NULL, park_and_own, &owner), ==, 0);
		while (!atomic_load(&owner.parks))
			sched_yield();
		host()->wake(host()->self, &owner.parker);
		until = g_get_monotonic_time() + i % 30;
		while (g_get_monotonic_time() < until)
			;
		g_assert_cmpint(pthread_cancel(thread), ==, 0);
		g_assert_cmpint(pthread_join(thread, NULL), ==, 0);
		g_assert_false(atomic_load(&owner.owns));
		host()->parker_close(host()->self, &owner.parker);
	}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kal/park/timeout", test_timeout);
	g_test_add_func("/kal/park/wake-before", test_wake_before);
	g_test_add_func("/kal/park/wake-race-word", test_wake_race_word);
	g_test_add_func("/kal/park/wake-race-fds", test_wake_race_fds);
	g_test_add_func("/kal/park/wake-race-mixed", test_wake_race_mixed);
	g_test_add_func("/kal/park/close-after-wake", test_close_after_wake);
	g_test_add_func("/kal/park/interrupted", test_interrupted);
	g_test_add_func("/kal/park/no-descriptors", test_no_descriptors);
	g_test_add_func("/kal/park/closed", test_closed);
	g_test_add_func("/kal/park/cancelled", test_cancelled);
	g_test_add_func("/kal/park/closed-later",
			test_closed_later); /* the last one: the host has no guard after it */
	return g_test_run();
}
