/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Marks of accesses: a key is revoked only after the accesses of all threads, those with a mark and those without one. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mem_bench.h"
#include "vsw_mem_table.h"

#define MORE_THAN_PLACES 600
#define FORK_LIMIT_S     20
#define REFUSED_LIMIT_S  10

/* Threads that access a region until they are told to stop. */
struct holders {
	struct bench b;
	uint32_t stag;
	guint others;    /* uses of another region that each thread begins first */
	bool by_request; /* revoke the key by a request */
	uint32_t other_stag;
	atomic_uint inside;
	atomic_bool leave;
	atomic_uint marked; /* threads that have marks */
	pthread_attr_t small;
};

static void *
holder(void *arg)
{
	struct holders *h = arg;
	struct vsw_mem_use others[VSW_MARKS_EACH + 1];
	struct vsw_mem_use use;

	for (guint i = 0; i < h->others; i++)
		g_assert_cmpint(begin(&h->b, &alice, ACCESS(h->other_stag, at(&h->b, 0), 8, RW),
				      &others[i]),
				==, VSW_MEM_OK);
	g_assert_cmpint(begin(&h->b, &alice, ACCESS(h->stag, at(&h->b, 0), 8, RW), &use), ==,
			VSW_MEM_OK);
	if (vsw_marks_mine != NULL)
		atomic_fetch_add(&h->marked, 1);
	atomic_fetch_add(&h->inside, 1);
	while (!atomic_load(&h->leave))
		g_usleep(1000);
	atomic_fetch_sub(&h->inside, 1);
	vsw_mem_end(&use);
	for (guint i = 0; i < h->others; i++)
		vsw_mem_end(&others[i]);
	return NULL;
}

/* Wait until the key is refused, since a thread revokes it, and let the holders leave. */
static void *
releaser(void *arg)
{
	struct holders *h = arg;
	gint64 end = g_get_monotonic_time() + REFUSED_LIMIT_S * G_USEC_PER_SEC;

	while (check_access(&h->b, &alice, ACCESS(h->stag, at(&h->b, 0), 8, RW)) == VSW_MEM_OK) {
		g_assert_cmpint(g_get_monotonic_time(), <, end);
		g_usleep(1000);
	}
	g_usleep(20 * 1000); /* for a thread that does not wait to return */
	atomic_store(&h->leave, true);
	return NULL;
}

/* Use the region on that number of threads, revoke its key, and expect that each thread has ended its use by then. */
static void
hold_and_revoke(struct holders *h, guint count)
{
	g_autofree pthread_t *threads = g_new(pthread_t, count);
	struct vsw_mem_entry *mr;
	struct vsw_mem_entry *other;
	pthread_t last;

	h->b = set_up();
	mr = reg_all(&h->b, &h->stag);
	other = reg_all(&h->b, &h->other_stag);
	g_assert_cmpint(pthread_attr_init(&h->small), ==, 0);
	g_assert_cmpint(pthread_attr_setstacksize(&h->small, 256 * 1024), ==, 0);
	for (guint i = 0; i < count; i++)
		g_assert_cmpint(pthread_create(&threads[i], &h->small, holder, h), ==, 0);
	while (atomic_load(&h->inside) != count)
		g_usleep(1000);
	g_assert_cmpint(pthread_create(&last, NULL, releaser, h), ==, 0);
	if (h->by_request)
		g_assert_cmpint(vsw_mem_invalidate(h->b.table, &alice, h->stag, false), ==,
				VSW_MEM_OK);
	else
		g_assert_cmpint(vsw_mr_dereg(mr), ==, RI_SUCCESS);
	g_assert_true(atomic_load(&h->leave));
	g_assert_cmpuint(atomic_load(&h->inside), ==, 0);
	if (h->by_request)
		g_assert_cmpint(vsw_mr_dereg(mr), ==, RI_SUCCESS);
	for (guint i = 0; i < count; i++)
		g_assert_cmpint(pthread_join(threads[i], NULL), ==, 0);
	g_assert_cmpint(pthread_join(last, NULL), ==, 0);
	g_assert_cmpint(vsw_mr_dereg(other), ==, RI_SUCCESS);
	tear_down(&h->b);
	pthread_attr_destroy(&h->small);
}

/* A thread's first access is counted, and takes its marks for the next ones. */
static void
test_first_access(void)
{
	struct holders h = {0};

	hold_and_revoke(&h, 1);
}

static void
test_first_mark(void)
{
	struct holders h = {.others = 1};

	hold_and_revoke(&h, 1);
}

static void
test_last_mark(void)
{
	struct holders h = {.others = VSW_MARKS_EACH};

	hold_and_revoke(&h, 1);
}

static void
test_no_mark_left(void)
{
	struct holders h = {.others = VSW_MARKS_EACH + 1};

	hold_and_revoke(&h, 1);
}

static void
test_by_request(void)
{
	struct holders h = {.others = 1, .by_request = true};

	hold_and_revoke(&h, 1);
}

static void
test_more_threads_than_places(void)
{
	struct holders h = {.others = 1};

	hold_and_revoke(&h, MORE_THAN_PLACES);
	g_test_message("%u threads had marks", atomic_load(&h.marked));
	g_assert_cmpuint(atomic_load(&h.marked), >, 100);
	g_assert_cmpuint(atomic_load(&h.marked), <, MORE_THAN_PLACES);
}

static void *
one_access(void *arg)
{
	struct holders *h = arg;
	struct vsw_mem_use use;

	g_assert_cmpint(begin(&h->b, &alice, ACCESS(h->stag, at(&h->b, 0), 8, RW), &use), ==,
			VSW_MEM_OK);
	vsw_mem_end(&use);
	return vsw_marks_mine;
}

/* The marks of a thread that has ended are another one's. */
static void
test_places_are_given_back(void)
{
	struct holders h = {0};
	struct vsw_mem_entry *mr;
	pthread_t thread;
	void *mine = NULL;

	h.b = set_up();
	mr = reg_all(&h.b, &h.stag);
	for (guint i = 0; i < MORE_THAN_PLACES; i++) {
		g_assert_cmpint(pthread_create(&thread, NULL, one_access, &h), ==, 0);
		g_assert_cmpint(pthread_join(thread, &mine), ==, 0);
		g_assert_nonnull(mine);
	}
	g_assert_cmpint(vsw_mr_dereg(mr), ==, RI_SUCCESS);
	tear_down(&h.b);
}

/* A child does not wait for accesses of threads that it has not. */
static void
test_fork(void)
{
	struct holders h = {.others = 1};
	struct vsw_mem_entry *mr;
	struct vsw_mem_entry *other;
	pthread_t thread;
	int status = 0;

	h.b = set_up();
	mr = reg_all(&h.b, &h.stag);
	other = reg_all(&h.b, &h.other_stag);
	/* The first access of a thread is counted, so this one has a mark at the second region. */
	g_assert_cmpint(pthread_create(&thread, NULL, holder, &h), ==, 0);
	while (atomic_load(&h.inside) != 1)
		g_usleep(1000);
	pid_t child = fork();
	if (child == 0) {
		alarm(FORK_LIMIT_S); /* ends the child, should it wait */
		_exit(vsw_mr_dereg(mr) == RI_SUCCESS ? 0 : 1);
	}
	g_assert_cmpint(child, >, 0);
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	g_assert_true(WIFEXITED(status));
	g_assert_cmpint(WEXITSTATUS(status), ==, 0);
	atomic_store(&h.leave, true);
	g_assert_cmpint(pthread_join(thread, NULL), ==, 0);
	g_assert_cmpint(vsw_mr_dereg(mr), ==, RI_SUCCESS);
	g_assert_cmpint(vsw_mr_dereg(other), ==, RI_SUCCESS);
	tear_down(&h.b);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/vsw/mark/first-access", test_first_access);
	g_test_add_func("/vsw/mark/first", test_first_mark);
	g_test_add_func("/vsw/mark/last", test_last_mark);
	g_test_add_func("/vsw/mark/none-left", test_no_mark_left);
	g_test_add_func("/vsw/mark/by-request", test_by_request);
	g_test_add_func("/vsw/mark/more-threads-than-places", test_more_threads_than_places);
	g_test_add_func("/vsw/mark/places-are-given-back", test_places_are_given_back);
	g_test_add_func("/vsw/mark/fork", test_fork);
	return g_test_run();
}
