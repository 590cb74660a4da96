/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* A process forks while another thread of it writes lines of a recording: each child comes to its end, and no line is hurt. */

#include <glib.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CHILDREN 10 /* each looks for leaks at its end */
#define LINES    1  /* from pause to pause: a fork waits for the lock */
#else
#define CHILDREN 200
#define LINES    64
#endif
#define PATIENCE 5000 /* ms for a child that has nothing to do but to end */

static atomic_bool over;

static void *
write_lines(void *arg)
{
	for (unsigned i = 0; !atomic_load(&over); i++) {
		if (i % LINES == 0)
			g_usleep(50); /* another thread gets the lock, too */
		record_line("noise with some words that take a while to print: %d %s %g", 12345,
			    "text", 1.5);
	}
	return arg;
}

/* False: it does not end. */
static bool
has_ended(pid_t child)
{
	int status = 0;

	for (int i = 0; i < PATIENCE; i++) {
		if (waitpid(child, &status, WNOHANG) == child)
			return true;
		g_usleep(1000);
	}
	(void)kill(child, SIGKILL);
	(void)waitpid(child, &status, 0);
	return false;
}

static void
lines_check(const char *path)
{
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;

	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	lines = g_strsplit(text, "\n", -1);
	g_assert_cmpstr(lines[0], ==, "itapi-record 1");
	for (guint i = 1; lines[i] != NULL && *lines[i] != '\0'; i++) {
		g_autofree char *line = g_strdup_printf(
			"%u noise with some words that take a while to print: 12345 text 1.5", i);

		g_assert_cmpstr(lines[i], ==, line);
	}
}

static void
test_fork(void)
{
	g_autofree char *folder = g_dir_make_tmp("itapi-record.XXXXXX", NULL);
	g_autofree char *path = g_build_filename(folder, "record", NULL);
	char why[256] = "";
	pthread_t thread;

	g_setenv("ITAPI_RECORD", path, TRUE);
	g_assert_true(record_file_open(why, sizeof(why)));
	g_assert_cmpint(pthread_create(&thread, NULL, write_lines, NULL), ==, 0);
	for (int i = 0; i < CHILDREN; i++) {
		const pid_t child = fork();

		g_assert_cmpint(child, >=, 0);
		if (child == 0)
			exit(0); /* what was left to write out, and the end of the recording, are the parent's */
		if (!has_ended(child))
			g_error("child %d does not end", i);
	}
	atomic_store(&over, true);
	g_assert_cmpint(pthread_join(thread, NULL), ==, 0);
	lines_check(path);
	(void)unlink(path);
	(void)rmdir(folder);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/record/fork", test_fork);
	return g_test_run();
}
