/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Sections: which thread waits for which, with and without a mark, and after a fork. */

#include <glib.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ri_relax.h"
#include "session.h"
#include "session_section.h"

#define LOOK_FOR_US 20000 /* long enough for a thread that does not wait */

static void
host_relax(void *self, uint32_t round)
{
	(void)self;
	ri_relax(round);
}

static const struct ri_host host = {.size = sizeof(host), .relax = host_relax};
static const struct session session = {.host = &host};

static void
await(sem_t *sem)
{
	while (sem_wait(sem) != 0)
		;
}

/* A thread that enters a section, and stays until it may go on. */
struct inside {
	pthread_t thread;
	sem_t entered, go_on;
	bool nested; /* with a section inside of it that has ended */
	bool leaves; /* it leaves the section at once, and stays alive */
	bool marked; /* it found a mark */
};

static void *
inside_run(void *arg)
{
	struct inside *inside = (struct inside *)arg;
	struct session_section_guard outer = session_section_begin();

	inside->marked = outer.mine != NULL;
	if (inside->nested) {
		/* A call that a signal handler makes inside a call does not end the outer one. */
		const struct session_section_guard inner = session_section_begin();
		session_section_end(&inner);
	}
	if (inside->leaves)
		session_section_end(&outer);
	sem_post(&inside->entered);
	await(&inside->go_on);
	if (!inside->leaves)
		session_section_end(&outer);
	return NULL;
}

static void
inside_start(struct inside *inside)
{
	g_assert_cmpint(sem_init(&inside->entered, 0, 0), ==, 0);
	g_assert_cmpint(sem_init(&inside->go_on, 0, 0), ==, 0);
	g_assert_cmpint(pthread_create(&inside->thread, NULL, inside_run, inside), ==, 0);
	await(&inside->entered);
}

static void
inside_end(struct inside *inside)
{
	sem_post(&inside->go_on);
	pthread_join(inside->thread, NULL);
}

static atomic_bool wait_returned;

static void *
wait_run(void *arg)
{
	(void)arg;
	session_section_wait(&session);
	atomic_store(&wait_returned, true);
	return NULL;
}

/* A wait for sections lasts until this thread has left its own. */
static void
waits_for(struct inside *inside)
{
	pthread_t thread;

	inside_start(inside);
	atomic_store(&wait_returned, false);
	g_assert_cmpint(pthread_create(&thread, NULL, wait_run, NULL), ==, 0);
	g_usleep(LOOK_FOR_US);
	g_assert_false(atomic_load(&wait_returned));
	inside_end(inside);
	pthread_join(thread, NULL);
	g_assert_true(atomic_load(&wait_returned));
}

static void
test_waits(void)
{
	struct inside plain = {0}, nested = {.nested = true};

	waits_for(&plain);
	g_assert_true(plain.marked);
	waits_for(&nested);
	session_section_wait(&session);
}

/* A thread that finds all marks taken is waited for, too. */
static void
test_crowd(void)
{
	struct inside *owners = g_new0(struct inside, MARKS);
	struct inside late = {.nested = true};

	for (unsigned i = 0; i < MARKS; i++) {
		owners[i].leaves = true;
		inside_start(&owners[i]);
		g_assert_true(owners[i].marked);
	}
	waits_for(&late);
	g_assert_false(late.marked);
	for (unsigned i = 0; i < MARKS; i++)
		inside_end(&owners[i]);
	g_free(owners);
	/* Their marks are free again. */
	late = (struct inside){0};
	waits_for(&late);
	g_assert_true(late.marked);
}

/*
 * A thread is inside a section while another thread forks. In the child no call may wait for it,
 * even if no adapter was ever opened.
 */
static void
test_fork(void)
{
	struct inside inside = {0};
	int status = 0;
	pid_t pid;

	inside_start(&inside);
	pid = fork();
	g_assert_cmpint(pid, >=, 0);
	if (pid == 0) {
		alarm(20);
		session_section_wait(&session);
		_exit(0);
	}
	g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
	g_assert_cmpint(status, ==, 0);
	inside_end(&inside);
}

static bool loaded_light; /* when main() began */

/* Registering the process for membarrier(2) takes 10 ms or more as soon as there are threads. */
static void
test_light_at_load(void)
{
	long calls = syscall(SYS_membarrier, 0, 0); /* MEMBARRIER_CMD_QUERY */

#if defined(__SANITIZE_THREAD__)
	calls = 0; /* it does not know that call, so it is not made */
#endif
	if (calls > 0 && (calls & RI_ORDER_PRIVATE_EXPEDITED) != 0)
		g_assert_true(loaded_light);
	else
		g_test_skip("no membarrier(2)");
}

int
main(int argc, char **argv)
{
	loaded_light = syscall(SYS_membarrier, RI_ORDER_PRIVATE_EXPEDITED, 0) == 0;
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/session/section/waits", test_waits);
	g_test_add_func("/session/section/crowd", test_crowd);
	g_test_add_func("/session/section/fork", test_fork);
	g_test_add_func("/session/section/light-at-load", test_light_at_load);
	return g_test_run();
}
