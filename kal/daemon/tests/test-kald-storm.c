/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Many processes borrow and return; some share an address. They are killed at random moments. After
 * every tenth kill (after each one if there are many), the sums of the accounts must be those of
 * the living processes, and the members of the address must be those that live. At the end there is
 * no process and no member left, and the daemon has its initial number of threads and descriptors.
 * The argument is the number of kills.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kald_play.h"

#define PROCESSES     100
#define SHARERS       40 /* of them; a slot of one that was killed may still be taken */
#define LIMIT         20000
#define MANY          1000 /* kills of the long run */
#define PORT          4791
#define QUIET_THREADS 2 /* of the daemon, without clients' descriptors to close */

static unsigned kills = 60;

/* The address that is shared; tests that run at the same time have others. */
static void
share_request(struct kald_message *m, pid_t test)
{
	struct kald_addr *at = &m->body.share.at;

	kald_message_begin(m, KALD_SHARE, 9, KALD_OK);
	at->family = AF_INET;
	at->port = PORT;
	at->octets[0] = 127;
	at->octets[1] = (uint8_t)(100 + test % 100);
	at->octets[2] = (uint8_t)(test / 100 % 250);
	at->octets[3] = 9;
}

/* Become a member of the address, which has room for all that live, and have a listener there. It may be killed at any point. */
static void
share(int fd, unsigned seed)
{
	int proof = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), fds[KALD_SHARE_FDS];
	struct kald_message m, reply;
	size_t got;

	g_assert_cmpint(proof, >=, 0);
	kald_message_begin(&m, KALD_OPEN, 1, KALD_OK);
	strcpy(m.body.name.name, "roce:lo");
	play_ask(fd, &m, &reply);
	g_assert_cmpint(reply.head.status, ==, KALD_OK);
	share_request(&m, getppid());
	play_send_with(fd, &m, &proof, 1);
	do
		got = play_receive_with(fd, &reply, fds);
	while (reply.head.number != (KALD_SHARE | KALD_REPLY));
	if (reply.head.status != KALD_OK)
		g_error("%s", reply.body.refusal.text);
	g_assert_cmpuint(got, ==, KALD_SHARE_FDS);
	close(proof);
	share_request(&m, getppid());
	kald_message_begin(&reply, KALD_SERVICE, 10, KALD_OK);
	reply.body.service.at = m.body.share.at;
	reply.body.service.service = 0x10000 + seed;
	play_ask(fd, &reply, &m);
	g_assert_cmpint(m.head.status, ==, KALD_OK);
}

/* One process: borrow, return and answer recalls until it is killed. */
static void
live(const struct play *play, unsigned seed, bool shares)
{
	GRand *rand = g_rand_new_with_seed(seed);
	uint64_t has[KAL_RESOURCE_COUNT] = {0};
	int fd = play_join(play, KALD_CLIENT, NULL);
	struct kald_message request, reply;

	if (shares)
		share(fd, seed);
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
begin_one(const struct play *play, unsigned seed, bool shares)
{
	pid_t pid = fork();

	g_assert_cmpint(pid, >=, 0);
	if (pid == 0)
		live(play, seed, shares);
	return pid;
}

/* Until now it has found nothing wrong. */
static void
end_one(pid_t pid)
{
	int status = 0;

	kill(pid, SIGKILL);
	g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
	g_assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static bool
is_one(const pid_t *pids, unsigned count, uint32_t pid)
{
	for (unsigned i = 0; i < count; i++)
		if ((uint32_t)pids[i] == pid)
			return true;
	return false;
}

/* How many processes share the address; all of them are among those that live. NULL: none lives. */
static unsigned
check_members(int tool, const pid_t *pids)
{
	struct kald_message m, reply;
	unsigned count = 0;

	kald_message_begin(&m, KALD_SHARES, 8, KALD_OK);
	do {
		play_ask(tool, &m, &reply);
		g_assert_cmpint(reply.head.status, ==, KALD_OK);
		for (uint32_t i = 0; i < reply.body.sharings.count; i++)
			g_assert_true(pids != NULL &&
				      is_one(pids, SHARERS, reply.body.sharings.entries[i].pid));
		count += reply.body.sharings.count;
		m.body.list.after = reply.body.sharings.next;
	} while (m.body.list.after != 0);
	return count;
}

/* Entries of a folder of the daemon in /proc: its descriptors or its threads. */
static unsigned
entries_of(const struct play *play, const char *what)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/%s", (int)play->pid, what);
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	unsigned count = 0;

	while (dir != NULL && g_dir_read_name(dir) != NULL)
		count++;
	return count;
}

/* Nothing is left of processes that have ended. */
static void
check_rest(const struct play *play, int tool, unsigned threads, unsigned fds)
{
	bool left = true;

	for (unsigned i = 0; i < 10000 && left; i++) {
		g_usleep(1000);
		left = entries_of(play, "task") != threads || entries_of(play, "fd") != fds;
	}
	g_assert_cmpuint(check_members(tool, NULL), ==, 0);
	g_assert_cmpuint(entries_of(play, "task"), ==, threads);
	g_assert_cmpuint(entries_of(play, "fd"), ==, fds);
}

/*
 * The list comes in pages, and would change while it is read. So the processes are stopped by
 * SIGSTOP. Then the sums of the list must be those of the account, each entry must belong to a
 * living process, and no process may have two.
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

			g_assert_true(is_one(pids, PROCESSES, entry->pid));
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
	g_assert_cmpuint(check_members(tool, pids), <=, SHARERS);
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
	g_autoptr(GRand) rand = g_rand_new_with_seed(kills);
	pid_t pids[PROCESSES];
	uint32_t processes = 0;
	unsigned threads, fds;
	int tool;
	struct play play RI_AT_END(play_free) = play_begin(policy);

	tool = play_join(&play, KALD_TOOL, NULL);
	/* A thread of its beginning may still end. */
	for (unsigned i = 0; i < 1000 && entries_of(&play, "task") > QUIET_THREADS; i++)
		g_usleep(1000);
	threads = entries_of(&play, "task");
	fds = entries_of(&play, "fd");
	for (unsigned i = 0; i < PROCESSES; i++)
		pids[i] = begin_one(&play, i, i < SHARERS);
	while (processes < PROCESSES) {
		g_usleep(1000);
		(void)play_lent(tool, KALD_LEVEL_USER, getuid(), KAL_RESOURCE_QP, &processes);
	}
	for (unsigned i = 0; i < kills; i++) {
		unsigned which = (unsigned)g_rand_int_range(rand, 0, PROCESSES);

		g_usleep((gulong)g_rand_int_range(rand, 0, 3000));
		end_one(pids[which]);
		pids[which] = begin_one(&play, 1000 + i, which < SHARERS);
		if (kills >= MANY || i % 10 == 9)
			check_sums(tool, pids);
	}
	for (unsigned i = 0; i < PROCESSES; i++)
		end_one(pids[i]);
	for (unsigned i = 0; i < 5000 && processes > 0; i++) {
		g_usleep(1000);
		(void)play_lent(tool, KALD_LEVEL_USER, getuid(), KAL_RESOURCE_QP, &processes);
	}
	g_assert_cmpuint(processes, ==, 0);
	for (unsigned r = 0; r < KAL_RESOURCE_COUNT; r++)
		g_assert_cmpuint(play_lent(tool, KALD_LEVEL_USER, getuid(), r, NULL), ==, 0);
	check_rest(&play, tool, threads, fds);
	close(tool);
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
