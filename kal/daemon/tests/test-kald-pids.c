/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Processes that the daemon must not confuse with others. One has the process number of an ended
 * one whose connection a child keeps open; one makes children by vfork(). The test runs in its own
 * namespace of processes, where it can choose their numbers.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kald_play.h"

#define INSIDE   "ITAPI_TEST_IN_NAMESPACE"
#define LAST_PID "/proc/sys/kernel/ns_last_pid"
#define TIMES    20

static struct play play;
static int tool;

/* What processes of this user have, when it is as expected, or after 10 s. */
static void
expect_lent(uint64_t amount, uint32_t processes)
{
	uint64_t lent = 0;
	uint32_t count = 0;

	for (unsigned i = 0; i < 10000; i++) {
		lent = play_lent(tool, KALD_LEVEL_USER, getuid(), KAL_RESOURCE_QP, &count);
		if (lent == amount && count == processes)
			break;
		g_usleep(1000);
	}
	g_assert_cmpuint(lent, ==, amount);
	g_assert_cmpuint(count, ==, processes);
}

/* What a process reports when it has queue pairs. */
struct told {
	uint64_t lent;
	pid_t child; /* which has its connection, too; 0: none */
};

/* fork(), whose child has that number. A thread of another process may take the number first, and end. */
static pid_t
fork_as(pid_t number)
{
	for (unsigned i = 0; i < 1000; i++) {
		FILE *last = fopen(LAST_PID, "we");
		pid_t pid;

		g_assert_nonnull(last);
		fprintf(last, "%d", (int)number - 1);
		g_assert_cmpint(fclose(last), ==, 0);
		pid = fork();
		g_assert_cmpint(pid, >=, 0);
		if (pid == number || (pid == 0 && getpid() == number))
			return pid;
		if (pid == 0)
			_exit(0);
		g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
		g_usleep(1000);
	}
	g_assert_not_reached();
}

/* A process of that number, which has at least that many queue pairs. */
static pid_t
begin_one(pid_t number, uint64_t amount, bool child, struct told *told)
{
	int ready[2];
	pid_t pid;

	g_assert_cmpint(pipe(ready), ==, 0);
	pid = fork_as(number);
	if (pid == 0) {
		struct kald_message reply;
		int fd = play_join(&play, KALD_CLIENT, NULL);

		told->lent = play_borrow(fd, KAL_RESOURCE_QP, amount, &reply);
		close(ready[0]);
		told->child = child ? fork() : 0;
		if (child && told->child == 0) {
			close(ready[1]);
			for (;;)
				(void)pause();
		}
		g_assert_cmpint(write(ready[1], told, sizeof(*told)), ==, sizeof(*told));
		for (;;)
			(void)pause();
	}
	close(ready[1]);
	g_assert_cmpint(read(ready[0], told, sizeof(*told)), ==, sizeof(*told));
	close(ready[0]);
	return pid;
}

static void
end_one(pid_t pid)
{
	kill(pid, SIGKILL);
	g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
}

static bool
may_choose(void)
{
#ifdef __SANITIZE_THREAD__
	g_test_skip("a thread of ThreadSanitizer's runtime, which starts late, takes a number");
	return false;
#endif
	if (getpid() < 100 && access(LAST_PID, W_OK) == 0)
		return true;
	g_test_skip("the numbers of processes cannot be chosen here");
	return false;
}

/* The number is used again at once, or when the daemon has noticed the end. */
static void
test_reused(void)
{
	if (!may_choose())
		return;
	for (unsigned i = 0; i < TIMES; i++) {
		pid_t number = (pid_t)(1000 + 10 * i), first, second;
		struct told many = {0}, few = {0};

		first = begin_one(number, 100, true, &many);
		g_assert_cmpint(first, ==, number);
		g_assert_cmpuint(many.lent, >=, 100);
		expect_lent(many.lent, 1);
		end_one(first);
		if (i % 2 == 1)
			expect_lent(0, 0);
		second = begin_one(number, 30, false, &few);
		g_assert_cmpint(second, ==, number);
		expect_lent(few.lent, 1);
		/* The child, which had the connection of the first. */
		end_one(many.child);
		g_usleep(1000);
		expect_lent(few.lent, 1);
		end_one(second);
		expect_lent(0, 0);
	}
}

/* A child by vfork(), which becomes another program, or is killed. In a function of its own, whose variables do not outlive the child. */
static __attribute__((noinline)) pid_t
child_make(bool becomes_another)
{
	/* NOLINTBEGIN(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork): that is the test */
	pid_t child = vfork();

	if (child == 0) {
		if (becomes_another)
			(void)execl("/bin/true", "true", (char *)NULL);
		(void)kill(getpid(), SIGKILL);
		_exit(0);
	}
	/* NOLINTEND(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork) */
	return child;
}

/* A child that has the memory and the descriptors of its parent is not a process of the library, whatever becomes of it. */
static void
test_vfork(void)
{
	struct kald_message reply;
	int fd = play_join(&play, KALD_CLIENT, NULL);
	uint64_t has = 0;

	for (unsigned i = 0; i < TIMES; i++) {
		pid_t child;

		has += play_borrow(fd, KAL_RESOURCE_QP, 10, &reply);
		child = child_make(i % 2 == 0);
		g_assert_cmpint(waitpid(child, NULL, 0), ==, child);
		expect_lent(has, 1);
	}
	g_assert_cmpuint(has, >=, 10 * TIMES);
	close(fd);
	expect_lent(0, 0);
}

/* As process 1 of a namespace, with its own /proc. Returns if that cannot be. */
static void
enter(char **argv)
{
	char *words[] = {"unshare",      geteuid() == 0 ? "-pf" : "-Urpf",
			 "--mount-proc", "--kill-child",
			 argv[0],        NULL};
	char *probe[] = {words[0], words[1], words[2], "true", NULL};
	int status = 1;

	if (g_getenv(INSIDE) != NULL)
		return;
	g_setenv(INSIDE, "1", TRUE);
	if (g_spawn_sync(NULL, probe, NULL,
			 G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL |
				 G_SPAWN_STDERR_TO_DEV_NULL,
			 NULL, NULL, NULL, NULL, &status, NULL) &&
	    status == 0)
		(void)execvp(words[0], words);
}

int
main(int argc, char **argv)
{
	int result;

	enter(argv);
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kald/pids/reused", test_reused);
	g_test_add_func("/kald/pids/vfork", test_vfork);
	play = play_begin(NULL);
	tool = play_join(&play, KALD_TOOL, NULL);
	result = g_test_run();
	close(tool);
	play_free(&play);
	return result;
}
