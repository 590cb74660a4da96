/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The assertion that a thread owns a mutex: nobody, this thread, another one, and in a forked child. */
#include <glib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ri_owned.h"

#if defined(__GLIBC__) && !defined(NDEBUG)
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void
test_this_thread(void)
{
	g_assert_false(ri_mutex_is_owned(&mutex));
	pthread_mutex_lock(&mutex);
	g_assert_true(ri_mutex_is_owned(&mutex));
	RI_ASSERT_OWNED(&mutex);
	pthread_mutex_unlock(&mutex);
	g_assert_false(ri_mutex_is_owned(&mutex));
}

static void *
is_owned_here(void *arg)
{
	(void)arg;
	return GINT_TO_POINTER(ri_mutex_is_owned(&mutex));
}

static void
test_other_thread(void)
{
	void *owned = &mutex;
	pthread_t thread;

	pthread_mutex_lock(&mutex);
	g_assert_cmpint(pthread_create(&thread, NULL, is_owned_here, NULL), ==, 0);
	g_assert_cmpint(pthread_join(thread, &owned), ==, 0);
	g_assert_null(owned);
	pthread_mutex_unlock(&mutex);
}

/* The child's thread has another number than the parent's, and its own locks are its own. */
static void
test_forked_child(void)
{
	pid_t child;
	int result;

	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	child = fork();
	g_assert_cmpint(child, >=, 0);
	if (child == 0) {
		bool right = !ri_mutex_is_owned(&mutex);

		pthread_mutex_lock(&mutex);
		right = right && ri_mutex_is_owned(&mutex);
		_exit(right ? 0 : 1);
	}
	g_assert_cmpint(waitpid(child, &result, 0), ==, child);
	g_assert_cmpint(result, ==, 0);
}
#endif

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#if defined(__GLIBC__) && !defined(NDEBUG)
	g_test_add_func("/rnicpi/owned/this-thread", test_this_thread);
	g_test_add_func("/rnicpi/owned/other-thread", test_other_thread);
	g_test_add_func("/rnicpi/owned/forked-child", test_forked_child);
#endif
	return g_test_run();
}
