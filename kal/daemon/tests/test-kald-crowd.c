/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Many clients, some of them hostile: how much memory a client costs the daemon, and how long a
 * client waits while hostile ones send as fast as they can. The test judges the number of requests
 * that the daemon handles for hostile clients. Times are only printed, since they depend on the
 * load of the machine.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kald_play.h"

#define CLIENTS      1000u
#define CLIENT_BYTES 8192u /* that a client may cost the daemon */
#define HOSTILE      8u
#define FIRST_ONES   256u /* requests of a new client that are handled as they come */
#define WAITING      300u /* answers that a socket holds */
#define ROUNDS       200u /* fewer than what the daemon handles of a new client without a pause */

/* Octets of private memory that the process uses. */
static uint64_t
memory_of(pid_t pid)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/smaps_rollup", (int)pid);
	g_autofree char *text = NULL;
	uint64_t sum = 0;

	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	for (const char *at = text; (at = strstr(at, "\nPrivate_")) != NULL; at++)
		sum += strtoull(strchr(at, ':') + 1, NULL, 10) * 1024;
	g_assert_cmpuint(sum, >, 0);
	return sum;
}

static void
descriptors_raise(void)
{
	struct rlimit limit;

	g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &limit), ==, 0);
	limit.rlim_cur = limit.rlim_max;
	g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
}

/* 1,000 clients, each with a lease and an open adapter: all are counted and listed, and each costs little. */
static void
test_thousand(void)
{
	struct kald_message request, reply;
	uint64_t before, cost, sum = 0;
	int clients[CLIENTS];
	uint32_t processes = 0;
	struct play play RI_AT_END(play_free) = play_begin(NULL);
	int tool RI_AT_END(ri_at_end_close) = play_join(&play, KALD_TOOL, NULL);

	before = memory_of(play.pid);
	for (unsigned i = 0; i < CLIENTS; i++) {
		clients[i] = play_join(&play, KALD_CLIENT, NULL);
		kald_message_begin(&request, KALD_OPEN, 1, KALD_OK);
		g_strlcpy(request.body.name.name, "iwarp", sizeof(request.body.name.name));
		play_ask(clients[i], &request, &reply);
		g_assert_cmpuint(reply.head.status, ==, KALD_OK);
		sum += play_borrow(clients[i], KAL_RESOURCE_QP, 1, NULL);
	}
	cost = (memory_of(play.pid) - before) / CLIENTS;
	g_test_message("%u clients, %" G_GUINT64_FORMAT " octets of the daemon for each", CLIENTS,
		       cost);
	g_assert_cmpuint(cost, >, 0);
	/* A sanitizer has memory of its own. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	if (g_getenv("ITAPI_TEST_NO_RSS") == NULL)
		g_assert_cmpuint(cost, <=, CLIENT_BYTES);
#endif
	g_assert_cmpuint(play_lent(tool, KALD_LEVEL_USER, getuid(), KAL_RESOURCE_QP, &processes),
			 ==, sum);
	g_assert_cmpuint(processes, ==, CLIENTS);
	for (unsigned i = 0; i < CLIENTS; i++)
		close(clients[i]);
	for (unsigned i = 0; i < 10000 && processes > 0; i++) {
		g_usleep(1000);
		sum = play_lent(tool, KALD_LEVEL_USER, getuid(), KAL_RESOURCE_QP, &processes);
	}
	g_assert_cmpuint(sum, ==, 0);
	g_autoptr(GArray) entries = play_list(tool);
	g_assert_cmpuint(entries->len, ==, 0);
}

/* A hostile process: keep the socket full of requests, and count the answers. It is killed. */
static void
flood(const struct play *play, atomic_ullong *answers)
{
	int fd = play_join(play, KALD_CLIENT, NULL);
	struct kald_message request, reply;

	kald_message_begin(&request, KALD_OPEN, 1, KALD_OK);
	request.body.name.name[0] = 'x';
	for (;;) {
		while (send(fd, &request, request.head.length, MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
			;
		if (!play_receive(fd, &reply))
			_exit(1); /* the test has failed */
		atomic_fetch_add(answers, 1);
		while (recv(fd, &reply, sizeof(reply), MSG_DONTWAIT) > 0)
			atomic_fetch_add(answers, 1);
	}
}

static int
compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* What 99 of 100 requests of a client need at most: microseconds, and answers to others in between. */
static void
measure(const struct play *play, const atomic_ullong *answers, uint64_t *p99_us,
	uint64_t *p99_count)
{
	static uint64_t us[ROUNDS], counts[ROUNDS];
	int fd = play_join(play, KALD_CLIENT, NULL);

	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t count = atomic_load(answers);
		gint64 begin = g_get_monotonic_time();

		g_assert_cmpuint(play_borrow(fd, KAL_RESOURCE_AH, 1, NULL), >, 0);
		us[i] = (uint64_t)(g_get_monotonic_time() - begin);
		counts[i] = atomic_load(answers) - count;
	}
	close(fd);
	qsort(us, ROUNDS, sizeof(us[0]), compare);
	qsort(counts, ROUNDS, sizeof(counts[0]), compare);
	*p99_us = us[ROUNDS * 99 / 100];
	*p99_count = counts[ROUNDS * 99 / 100];
}

/*
 * However fast hostile processes send, the daemon handles one request in a millisecond, after the
 * first ones, which are free. Replies that were sent before may still wait in a socket.
 */
static void
check_rate(const atomic_ullong *answers)
{
	uint64_t before = atomic_load(answers), count;
	gint64 begin = g_get_monotonic_time();
	double ms;

	g_usleep(400000);
	count = atomic_load(answers) - before;
	ms = (double)(g_get_monotonic_time() - begin) / 1000;
	g_test_message("%" G_GUINT64_FORMAT " answers to %u processes in %.0f ms", count, HOSTILE,
		       ms);
	g_assert_cmpuint(count, >, 0);
	g_assert_cmpfloat((double)count, <=, HOSTILE * (ms + WAITING));
	/* Nor are they forgotten. */
	for (unsigned i = 0; atomic_load(answers) - before <= HOSTILE * WAITING; i++) {
		g_assert_cmpuint(i, <, 60000);
		g_usleep(1000);
	}
}

static void
test_hostile(void)
{
	atomic_ullong *answers = mmap(NULL, sizeof(*answers), PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t quiet, p99, none, count;
	pid_t pids[HOSTILE];
	struct play play;

	g_assert_true(answers != MAP_FAILED);
	play = play_begin(NULL);
	measure(&play, answers, &quiet, &none);
	g_assert_cmpuint(none, ==, 0);
	for (unsigned i = 0; i < HOSTILE; i++) {
		pids[i] = fork();
		g_assert_cmpint(pids[i], >=, 0);
		if (pids[i] == 0)
			flood(&play, answers);
	}
	while (atomic_load(answers) < (unsigned long long)HOSTILE * FIRST_ONES)
		g_usleep(1000);
	check_rate(answers);
	measure(&play, answers, &p99, &count);
	g_test_message("p99 %" G_GUINT64_FORMAT " us, %" G_GUINT64_FORMAT
		       " us while %u processes flood, with %" G_GUINT64_FORMAT " answers to them",
		       quiet, p99, HOSTILE, count);
	g_test_message("figure crowd-p99 %.3f", (double)p99 / (double)quiet);
	for (unsigned i = 0; i < HOSTILE; i++) {
		kill(pids[i], SIGKILL);
		g_assert_cmpint(waitpid(pids[i], NULL, 0), ==, pids[i]);
	}
	play_free(&play);
	munmap(answers, sizeof(*answers));
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	descriptors_raise();
	g_test_add_func("/kald/crowd/thousand", test_thousand);
	g_test_add_func("/kald/crowd/hostile", test_hostile);
	return g_test_run();
}
