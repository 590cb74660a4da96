/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The log: a fork while a writer runs, and lines that would control a terminal. */

#include <glib.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kal_host.h"

/* A slow writer: sets `inside` and waits for `leave`. */
struct slow_writer {
	struct kal_host *host;
	sem_t inside, leave;
};

static void
slow_write(void *context, int level, const char *where, const char *text)
{
	struct slow_writer *slow = context;

	(void)level, (void)where, (void)text;
	sem_post(&slow->inside);
	while (sem_wait(&slow->leave) != 0)
		;
}

static void *
speak(void *arg)
{
	struct slow_writer *slow = arg;

	slow->host->table.log(slow->host, RI_LOG_ERROR, "test", "a line that takes its time");
	return NULL;
}

/* Another thread is in the writer: its lock does not stop the child, which does not have that thread. */
static void
test_fork_in_writer(void)
{
	struct slow_writer slow = {0};
	pthread_t thread;
	int status;
	pid_t child;

#if defined(__SANITIZE_THREAD__)
	g_test_skip("ThreadSanitizer thinks that the lost thread owns the child's new lock");
	return;
#endif
	g_assert_nonnull(kal_host_default()); /* this installs the fork handlers */
	slow.host = kal_host_create();
	g_assert_nonnull(slow.host);
	sem_init(&slow.inside, 0, 0);
	sem_init(&slow.leave, 0, 0);
	kal_log_set_writer(slow_write, &slow);
	g_assert_cmpint(pthread_create(&thread, NULL, speak, &slow), ==, 0);
	while (sem_wait(&slow.inside) != 0)
		;
	child = fork();
	if (child == 0) {
		alarm(120); /* ends a child that waits for a lock */
		kal_log_set_writer(NULL, NULL);
		_exit(0);
	}
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	sem_post(&slow.leave);
	pthread_join(thread, NULL);
	kal_log_set_writer(NULL, NULL);
	kal_host_destroy(slow.host);
	sem_destroy(&slow.inside);
	sem_destroy(&slow.leave);
	g_assert_true(WIFEXITED(status));
	g_assert_cmpint(WEXITSTATUS(status), ==, 0);
}

struct talker {
	struct kal_host *host;
	unsigned lines;
};

static void
talk(void *context, int level, const char *where, const char *text)
{
	struct talker *talker = context;

	(void)level, (void)where, (void)text;
	talker->lines++;
	talker->host->table.log(talker->host, RI_LOG_ERROR, "test", "a line about a line");
}

/* What a writer does is not logged; otherwise each line would cause another. */
static void
test_writer_that_logs(void)
{
	struct talker talker = {.host = kal_host_create()};

	g_assert_nonnull(talker.host);
	kal_log_set_writer(talk, &talker);
	talker.host->table.log(talker.host, RI_LOG_ERROR, "test", "the first line");
	talker.host->table.log(talker.host, RI_LOG_ERROR, "test", "the second line");
	kal_log_set_writer(NULL, NULL);
	g_assert_cmpuint(talker.lines, ==, 2);
	kal_host_destroy(talker.host);
}

/* No octet of a line controls a terminal, in whichever character set. */
static void
test_harmless_lines(void)
{
	struct kal_host *own = kal_host_create();
	int before = dup(STDERR_FILENO);
	g_autofree char *expected = NULL;
	char said[256] = "";
	unsigned time[7];
	int at = 0;
	FILE *file = tmpfile();

	g_assert_nonnull(own);
	g_assert_nonnull(file);
	g_assert_cmpint(dup2(fileno(file), STDERR_FILENO), ==, STDERR_FILENO);
	own->table.log(own, RI_LOG_ERROR, "test", "not what descriptor 2 was when the host began");
	g_assert_cmpint(pread(fileno(file), said, sizeof(said) - 1, 0), ==, 0);
	kal_log_set_writer(NULL, NULL);
	own->table.log(own, RI_LOG_ERROR, "test",
		       "a\x1b[1m\xc2\x9b"
		       "2m\x7f\n\xc3\xa9");
	g_assert_cmpint(dup2(before, STDERR_FILENO), ==, STDERR_FILENO);
	g_assert_cmpint(close(before), ==, 0);
	g_assert_cmpint(pread(fileno(file), said, sizeof(said) - 1, 0), >, 0);
	expected = g_strdup_printf(" itapi[%d]: error: test: a?[1m??2m??\xc3\xa9\n", (int)getpid());
	g_assert_cmpint(sscanf(said, "%4u-%2u-%2uT%2u:%2u:%2u.%6uZ%n", &time[0], &time[1], &time[2],
			       &time[3], &time[4], &time[5], &time[6], &at),
			==, 7);
	g_assert_cmpint(at, ==, 27);
	g_assert_cmpstr(said + at, ==, expected);
	kal_log_set_writer(NULL, NULL);
	g_assert_cmpint(fclose(file), ==, 0);
	kal_host_destroy(own);
}

struct counter {
	unsigned lines, told, left_out;
};

static void
count_line(void *context, int level, const char *where, const char *text)
{
	struct counter *counter = context;
	unsigned left_out = 0;

	(void)level;
	if (strcmp(where, "log") == 0) {
		g_assert_cmpint(sscanf(text, "%u lines were left out", &left_out), ==, 1);
		counter->told++;
		counter->left_out += left_out;
	} else {
		counter->lines++;
	}
}

static uint64_t clock_ns;

static uint64_t
clock_now(void *self)
{
	(void)self;
	return clock_ns;
}

static void
say_often(struct kal_host *host, enum ri_log_level level, unsigned times)
{
	while (times-- > 0)
		host->table.log(host, level, "peer", "a line that a peer has caused");
}

/* A limited number of lines is written in a second; the first line after it reports, once, how many were left out. */
static void
test_flood(void)
{
	const uint64_t second = 1000000000u;
	struct counter counter = {0};
	/* Without a thread, which would read the clock, too. */
	g_autofree struct kal_host *host = g_new0(struct kal_host, 1);

	(void)kal_host_log_level(); /* ITAPI_LOG is set: no line counts as repeated */
	host->table.now = clock_now;
	host->table.log = kal_host_log;
	host->table.log_level = RI_LOG_DEBUG;
	host->log_wanted = true;
	clock_ns = 1000 * second;
	kal_log_set_writer(count_line, &counter);
	say_often(host, RI_LOG_INFO, 999);
	clock_ns += second - 1;
	say_often(host, RI_LOG_INFO, 1);
	g_assert_cmpuint(counter.lines, ==, 1000);
	say_often(host, RI_LOG_INFO, 5000);
	g_assert_cmpuint(counter.lines, ==, 1000);
	say_often(host, RI_LOG_DEBUG, 10);  /* the application's own */
	say_often(host, RI_LOG_WARNING, 1); /* information leaves room for it */
	g_assert_cmpuint(counter.lines, ==, 1011);
	g_assert_cmpuint(counter.told, ==, 0);
	clock_ns++;
	say_often(host, RI_LOG_ERROR, 999);
	say_often(host, RI_LOG_WARNING, 2);
	g_assert_cmpuint(counter.lines, ==, 2011);
	say_often(host, RI_LOG_INFO, 1);
	g_assert_cmpuint(counter.lines, ==, 2012);
	g_assert_cmpuint(counter.told, ==, 1);
	g_assert_cmpuint(counter.left_out, ==, 5000);
	clock_ns += 10 * second;
	say_often(host, RI_LOG_WARNING, 2);
	g_assert_cmpuint(counter.lines, ==, 2014);
	g_assert_cmpuint(counter.left_out, ==, 5001);
	kal_log_set_writer(NULL, NULL);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_setenv("ITAPI_LOG", "warning", TRUE);
	g_test_add_func("/kal/log/fork-in-writer", test_fork_in_writer);
	g_test_add_func("/kal/log/writer-that-logs", test_writer_that_logs);
	g_test_add_func("/kal/log/harmless-lines", test_harmless_lines);
	g_test_add_func("/kal/log/flood", test_flood);
	return g_test_run();
}
