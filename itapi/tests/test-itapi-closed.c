/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A program closes every descriptor from 3 on, those of the library among them, as daemons do in a
 * loop. Threads that wait then, and threads that wait later, must be notified that the adapter has
 * failed [IT 1.21], and all objects can be freed. Each case is a process of its own.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "child_of_fork.h"
#include "it_pair.h"

#define PATIENCE_S 60
#define SETS       100     /* more than the library has descriptors here */
#define QUIET_US   2500000 /* longer than KAL_HOST_QUIET (kal/host/kal_host.h), twice */

static void
close_all(void)
{
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
}

/* Threads of the library run between two of them: first those that were opened last. */
static void
close_slowly(void)
{
	for (int fd = 1023; fd >= 3; fd--)
		if (close(fd) == 0)
			g_usleep(20000);
}

/* The program watches descriptors of its own, and its sets have the numbers that it has closed: their events are none of the library's. */
static void
fill_with_sets(void)
{
	struct epoll_event event = {.events = EPOLLIN, .data = {.fd = 5}};
	int file = eventfd(1, EFD_CLOEXEC), set = epoll_create1(EPOLL_CLOEXEC);

	g_assert_cmpint(epoll_ctl(set, EPOLL_CTL_ADD, file, &event), ==, 0);
	for (int i = 0; i < SETS; i++)
		g_assert_cmpint(fcntl(set, F_DUPFD_CLOEXEC, 3), >=, 0);
}

/* Events that say how the connection ended may come first, and the callback of pair_await_waiter() may be in the way for a moment. */
static it_status_t
wait_for_failure(it_evd_handle_t evd)
{
	it_status_t status;
	it_event_t event;

	do
		status = it_evd_wait(evd, IT_TIMEOUT_INFINITE, &event, NULL);
	while (status == IT_SUCCESS || status == IT_ERR_CALLBACK_EXISTS);
	return status;
}

static void *
fail_asleep(void *evd)
{
	return GINT_TO_POINTER(wait_for_failure(evd));
}

static void
failed_is_said(struct pair *pair)
{
	struct end *end = &pair->active;

	g_assert_cmpint(wait_for_failure(pair->passive.cm_req), ==, IT_ERR_IA_CATASTROPHE);
	g_assert_cmpint(wait_for_failure(pair->passive.recv), ==, IT_ERR_IA_CATASTROPHE);
	g_assert_cmpint(wait_for_failure(end->cm_msg), ==, IT_ERR_IA_CATASTROPHE);
	g_assert_cmpint(end_send(end, 1, 1, IT_COMPLETION_FLAG), ==, IT_ERR_IA_CATASTROPHE);
	g_assert_cmpint(it_ep_disconnect(end->ep, NULL, 0), ==, IT_ERR_IA_CATASTROPHE);
	pair_close(pair);
}

enum {
	ALL_AT_ONCE,
	SLOWLY,
	OTHER_SETS
};

static void
close_them(const void *how)
{
	if (GPOINTER_TO_INT(how) == SLOWLY)
		close_slowly();
	else
		close_all();
	if (GPOINTER_TO_INT(how) == OTHER_SETS)
		fill_with_sets();
}

static void
while_nobody_waits(void *how)
{
	struct pair pair;

	g_assert_true(pair_open(&pair));
	pair_establish(&pair);
	close_them(how);
	failed_is_said(&pair);
}

/* Slowly: when all threads have slept for so long that they watch for descriptors that are closed. */
static void
while_one_sleeps(void *how)
{
	pthread_t thread;
	struct pair pair;
	void *status;

	g_assert_true(pair_open(&pair));
	pair_establish(&pair);
	g_assert_cmpint(pthread_create(&thread, NULL, fail_asleep, pair.active.recv), ==, 0);
	pair_await_waiter(pair.active.recv);
	if (GPOINTER_TO_INT(how) == SLOWLY)
		g_usleep(QUIET_US);
	close_them(how);
	g_assert_cmpint(pthread_join(thread, &status), ==, 0);
	g_assert_cmpint(GPOINTER_TO_INT(status), ==, IT_ERR_IA_CATASTROPHE);
	failed_is_said(&pair);
}

static void
in_a_child(void (*work)(void *arg), void *arg)
{
	if (CHILD_WORKS_ON)
		(void)child_does(work, arg, PATIENCE_S);
	else
		g_test_skip(CHILD_NONE);
}

/* Descriptors of the library are closed: the next wait says that the adapter has failed. */
static void
test_awake(void)
{
	in_a_child(while_nobody_waits, GINT_TO_POINTER(ALL_AT_ONCE));
}

/* The same, and their numbers are sets of the program by then. */
static void
test_other_sets(void)
{
	in_a_child(while_nobody_waits, GINT_TO_POINTER(OTHER_SETS));
	in_a_child(while_one_sleeps, GINT_TO_POINTER(OTHER_SETS));
}

/* Descriptors of the library are closed while a thread waits without limit: its wait ends. */
static void
test_asleep(void)
{
	in_a_child(while_one_sleeps, GINT_TO_POINTER(ALL_AT_ONCE));
}

/* The same, one after the other and in the other order: no thread goes to sleep again for ever between two of them. */
static void
test_slowly(void)
{
	in_a_child(while_one_sleeps, GINT_TO_POINTER(SLOWLY));
}

static void
add(void)
{
	pair_add_bare("/closed/awake", test_awake);
	pair_add_bare("/closed/asleep", test_asleep);
	pair_add_bare("/closed/slowly", test_slowly);
	pair_add_bare("/closed/other-sets", test_other_sets);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
