/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Many processes that borrow and return, killed at random moments: after each kill the sums of the accounts are those of the
 * processes that live, and in the end they are zero. The argument is the number of kills.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kald_play.h"

#define PROCESSES 100
#define LIMIT     20000

static unsigned kills = 60;

/* One process: borrow, return and answer recalls until it is killed. */
static void
live(const struct play *play, unsigned seed)
{
	GRand *rand = g_rand_new_with_seed(seed);
	uint64_t has[KAL_RESOURCE_COUNT] = {0};
	int fd = play_join(play, KALD_CLIENT, NULL);
	struct kald_message request, reply;

	for (;;) {
		unsigned r = (unsigned)g_rand_int_range(rand, KAL_RESOURCE_QP, KAL_RESOURCE_COUNT);
		uint64_t amount = (uint64_t)g_rand_int_range(rand, 1, 300);

		if (g_rand_boolean(rand)) {
			amount = MIN(amount, has[r]);
			play_return(fd, r, amount);
			has[r] -= amount;
			g_usleep((gulong)g_rand_int_range(rand, 0, 2000));
			continue;
		}
		kald_message_begin(&request, KALD_BORROW, 1, KALD_OK);
		request.body.amount.resource = r;
		request.body.amount.amount = amount;
		play_send(fd, &request);
		do {
			g_assert_true(play_receive(fd, &reply));
			if (reply.head.number != KALD_RECALL)
				continue;
			/* Half of it is idle. */
			play_return(fd, reply.body.amount.resource,
				    has[reply.body.amount.resource] / 2);
			has[reply.body.amount.resource] -= has[reply.body.amount.resource] / 2;
		} while (reply.head.number != (KALD_BORROW | KALD_REPLY));
		if (reply.head.status == KALD_OK)
			has[r] += reply.body.amount.amount;
	}
}

static pid_t
begin_one(const struct play *play, unsigned seed)
{
	pid_t pid = fork();

	g_assert_cmpint(pid, >=, 0);
	if (pid == 0)
		live(play, seed);
	return pid;
}

static bool
is_one(const pid_t *pids, uint32_t pid)
{
	for (unsigned i = 0; i < PROCESSES; i++)
		if ((uint32_t)pids[i] == pid)
			return true;
	return false;
}

/*
 * The list comes in pages and processes go on meanwhile. So those are stopped here by SIGSTOP: then the sums of the list are those
 * of the account, each entry lives, and no process has two.
 */
static void
check_sums(int tool, const pid_t *pids)
{
	struct kald_message request, reply;
	GArray *entries;
	uint64_t sums[KAL_RESOURCE_COUNT];
	bool same = false;

	for (unsigned i = 0; i < PROCESSES; i++)
		kill(pids[i], SIGSTOP);
	for (unsigned attempt = 0; attempt < 100 && !same; attempt++) {
		memset(sums, 0, sizeof(sums));
		entries = play_list(tool);
		for (unsigned i = 0; i < entries->len; i++) {
			const struct kald_entry *entry =
				&g_array_index(entries, struct kald_entry, i);

			g_assert_true(is_one(pids, entry->pid));
			for (unsigned r = 0; r < KAL_RESOURCE_COUNT; r++)
				sums[r] += entry->lent[r];
		}
		kald_message_begin(&request, KALD_LIMITS, 5, KALD_OK);
		request.body.limits.level = KALD_LEVEL_USER;
		request.body.limits.id = getuid();
		play_ask(tool, &request, &reply);
		same = memcmp(sums, reply.body.limited.lent, sizeof(sums)) == 0 &&
		       entries->len == reply.body.limited.processes;
		for (unsigned r = 0; r < KAL_RESOURCE_COUNT; r++)
			g_assert_cmpuint(reply.body.limited.lent[r], <=, LIMIT);
		g_array_free(entries, TRUE);
	}
	g_assert_true(same);
	for (unsigned i = 0; i < PROCESSES; i++)
		kill(pids[i], SIGCONT);
}

static void
test_storm(void)
{
	g_autofree char *policy =
		g_strdup_printf("[limits.user]\nqp = %d\nmr = %d\nmw = %d\nah = %d\nlisten = %d\n"
				"memory = %d\n",
				LIMIT, LIMIT, LIMIT, LIMIT, LIMIT, LIMIT);
	GRand *rand = g_rand_new_with_seed(kills);
	pid_t pids[PROCESSES];
	struct play play;
	uint32_t processes = 0;
	int tool;

	play_begin(&play, policy);
	tool = play_join(&play, KALD_TOOL, NULL);
	for (unsigned i = 0; i < PROCESSES; i++)
		pids[i] = begin_one(&play, i);
	while (processes < PROCESSES) {
		g_usleep(1000);
		(void)play_lent(tool, KALD_LEVEL_USER, getuid(), KAL_RESOURCE_QP, &processes);
	}
	for (unsigned i = 0; i < kills; i++) {
		unsigned which = (unsigned)g_rand_int_range(rand, 0, PROCESSES);

		g_usleep((gulong)g_rand_int_range(rand, 0, 3000));
		kill(pids[which], SIGKILL);
		g_assert_cmpint(waitpid(pids[which], NULL, 0), ==, pids[which]);
		pids[which] = begin_one(&play, 1000 + i);
		if (i % 10 == 9)
			check_sums(tool, pids);
	}
	for (unsigned i = 0; i < PROCESSES; i++) {
		kill(pids[i], SIGKILL);
		g_assert_cmpint(waitpid(pids[i], NULL, 0), ==, pids[i]);
	}
	for (unsigned i = 0; i < 5000 && processes > 0; i++) {
		g_usleep(1000);
		(void)play_lent(tool, KALD_LEVEL_USER, getuid(), KAL_RESOURCE_QP, &processes);
	}
	g_assert_cmpuint(processes, ==, 0);
	for (unsigned r = 0; r < KAL_RESOURCE_COUNT; r++)
		g_assert_cmpuint(play_lent(tool, KALD_LEVEL_USER, getuid(), r, NULL), ==, 0);
	close(tool);
	g_rand_free(rand);
	play_free(&play);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	if (argc > 1)
		kills = (unsigned)strtoul(argv[1], NULL, 10);
	g_test_add_func("/kald/storm", test_storm);
	return g_test_run();
}
