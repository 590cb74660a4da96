/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What the daemon counts, over many lives of clients, requests and rules: as often as nothing may add up. */
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kald_play.h"

#define ME ((uint32_t)getuid())

/* A tool asks as many times at once as it may, again and again, while a client that does not answer keeps each list waiting. */
static void
test_lists(void)
{
	struct kald_message request, reply;
	struct play play RI_AT_END(play_free) = play_begin(NULL);
	int mute RI_AT_END(ri_at_end_close) = play_join(&play, KALD_CLIENT, NULL);
	int tool RI_AT_END(ri_at_end_close) = play_join(&play, KALD_TOOL, NULL);

	kald_message_begin(&request, KALD_LIST, 6, KALD_OK);
	for (unsigned round = 0; round < 4; round++) {
		for (unsigned i = 0; i < KALD_WINDOW / 2; i++)
			play_send(tool, &request);
		for (unsigned i = 0; i < KALD_WINDOW / 2; i++) {
			g_assert_true(play_receive(tool, &reply));
			g_assert_cmpuint(reply.body.listed.count, ==, 1);
		}
	}
}

/* One process after the other joins where two may be, and each one is welcome; more than may be ended and not closed yet. */
static void
test_sessions(void)
{
	uint32_t processes;
	struct play play RI_AT_END(play_free) = play_begin("[policy]\nprocesses = 2\n");
	int tool RI_AT_END(ri_at_end_close) = play_join(&play, KALD_TOOL, NULL);

	for (unsigned round = 0; round < 300; round++) {
		int client = play_join(&play, KALD_CLIENT, NULL);

		g_assert_cmpuint(play_borrow(client, KAL_RESOURCE_QP, 1, NULL), >, 0);
		close(client);
		processes = 1;
		for (unsigned i = 0; i < 5000 && processes != 0; i++) {
			g_assert_cmpuint(
				play_lent(tool, KALD_LEVEL_USER, ME, KAL_RESOURCE_QP, &processes),
				<=, 65);
		}
		g_assert_cmpuint(processes, ==, 0);
		g_assert_cmpuint(play_lent(tool, KALD_LEVEL_USER, ME, KAL_RESOURCE_QP, NULL), ==,
				 0);
	}
}

/* Rules that change hold for those who are there, in both directions. */
static void
test_rules(void)
{
	static const unsigned limits[] = {10, 100, 5, 20};
	uint64_t had = 0;
	struct play play RI_AT_END(play_free) = play_begin("[limits.user]\nqp = 1\n");
	int client RI_AT_END(ri_at_end_close) = play_join(&play, KALD_CLIENT, NULL);

	for (unsigned i = 0; i < G_N_ELEMENTS(limits); i++) {
		g_autofree char *policy = g_strdup_printf("[limits.user]\nqp = %u\n", limits[i]);
		struct kald_message welcome;

		play_policy(&play, policy);
		do
			g_assert_true(play_receive(client, &welcome));
		while (welcome.head.number != (KALD_HELLO | KALD_REPLY));
		if (had != 0)
			play_return(client, KAL_RESOURCE_QP, had);
		g_assert_cmpuint(play_borrow(client, KAL_RESOURCE_QP, limits[i] + 1, NULL), ==, 0);
		had = play_borrow(client, KAL_RESOURCE_QP, limits[i], NULL);
		g_assert_cmpuint(had, ==, limits[i]);
	}
}

/* Rules that change while a client reads nothing hold for it, too, and the last ones are what it reads last. */
static void
test_rules_unread(void)
{
	struct kald_message request, message, welcome = {0};
	struct play play RI_AT_END(play_free) = play_begin(NULL);
	int client RI_AT_END(ri_at_end_close) = play_join(&play, KALD_CLIENT, NULL);

	for (unsigned round = 0; round < 2; round++) {
		unsigned idle = 0;

		/* As many as fill its socket and the daemon's window for it. */
		kald_message_begin(&request, KALD_BORROW, 7, KALD_OK);
		request.body.amount.resource = KAL_RESOURCE_QP;
		request.body.amount.amount = 1;
		while (idle < 300) {
			if (send(client, &request, request.head.length, MSG_DONTWAIT) > 0) {
				idle = 0;
				continue;
			}
			idle++;
			g_usleep(1000);
		}
		play_policy(&play, round == 0 ? "[policy]\npeers = 10.0.0.0/8\n" : "");
		/* The daemon has read the rules when it sends them to a new client. */
		do
			close(play_join(&play, KALD_CLIENT, &message));
		while (message.body.welcome.any_peer != round);
		kald_message_begin(&request, KALD_BORROW, 1000 + round, KALD_OK);
		request.body.amount.resource = KAL_RESOURCE_QP;
		request.body.amount.amount = 1;
		for (bool sent = false, over = false; !over;) {
			if (!sent)
				sent = send(client, &request, request.head.length, MSG_DONTWAIT) >
				       0;
			g_assert_true(play_receive(client, &message));
			if (message.head.number == (KALD_HELLO | KALD_REPLY))
				welcome = message;
			over = message.head.id == 1000 + round;
		}
		g_assert_cmpuint(welcome.head.number, ==, KALD_HELLO | KALD_REPLY);
		g_assert_cmpuint(welcome.body.welcome.any_peer, ==, round);
	}
}

/* Many requests that wait for leases which are called back, and are refused at last, cost a client nothing of what it may ask. */
static void
test_waits(void)
{
	struct kald_message request, reply;
	struct play play RI_AT_END(play_free) = play_begin("[limits.user]\nqp = 10\n");
	int holder RI_AT_END(ri_at_end_close) = play_join(&play, KALD_CLIENT, NULL);
	int client RI_AT_END(ri_at_end_close) = play_join(&play, KALD_CLIENT, NULL);

	g_assert_cmpuint(play_borrow(holder, KAL_RESOURCE_QP, 10, NULL), ==, 10);
	kald_message_begin(&request, KALD_BORROW, 7, KALD_OK);
	request.body.amount.resource = KAL_RESOURCE_QP;
	request.body.amount.amount = 1;
	for (unsigned round = 0; round < 6; round++) {
		for (unsigned i = 0; i < KALD_WINDOW / 2; i++)
			play_send(client, &request);
		do
			g_assert_true(play_receive(holder, &reply));
		while (reply.head.number != KALD_RECALL);
		play_return(holder, KAL_RESOURCE_QP, 0);
		for (unsigned i = 0; i < KALD_WINDOW / 2; i++) {
			g_assert_true(play_receive(client, &reply));
			g_assert_cmpint(reply.head.status, ==, KALD_NO_ROOM);
		}
	}
}

/* Read changes up to the answer of a request that is made now; adds up what came, and what was reported as lost. */
static void
changes_read(int tool, uint64_t *got, uint64_t *lost)
{
	struct kald_message request, reply;

	kald_message_begin(&request, KALD_WATCH, 3, KALD_OK);
	play_send(tool, &request);
	for (;;) {
		g_assert_true(play_receive(tool, &reply));
		if (reply.head.number != KALD_CHANGED)
			break;
		(*got)++;
		*lost += reply.body.change.lost;
	}
}

/* A watcher that reads late: the changes that it gets and those reported as lost add up to all that have happened. */
static void
test_lost(void)
{
	const unsigned each = 1000;
	struct kald_message request, reply;
	uint64_t happened = 0, got = 0, lost = 0;
	struct play play RI_AT_END(play_free) = play_begin("[limits.user]\nqp = 0\n");
	int client RI_AT_END(ri_at_end_close) = play_join(&play, KALD_CLIENT, NULL);
	int tool RI_AT_END(ri_at_end_close) = play_join(&play, KALD_TOOL, NULL);

	kald_message_begin(&request, KALD_WATCH, 3, KALD_OK);
	play_ask(tool, &request, &reply);
	for (unsigned round = 0; round < 3; round++) {
		uint64_t lost_before = lost;

		for (unsigned i = 0; i < each; i++)
			g_assert_cmpuint(play_borrow(client, KAL_RESOURCE_QP, 1, NULL), ==, 0);
		changes_read(tool, &got, &lost);
		/* The next change reports all that were lost, and those after it none. */
		for (unsigned i = 0; i < 3; i++) {
			g_assert_cmpuint(play_borrow(client, KAL_RESOURCE_QP, 1, NULL), ==, 0);
			changes_read(tool, &got, &lost);
		}
		happened += each + 3;
		g_assert_cmpuint(got + lost, ==, happened);
		g_assert_cmpuint(lost, >, lost_before);
	}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kald/lives/lists", test_lists);
	g_test_add_func("/kald/lives/sessions", test_sessions);
	g_test_add_func("/kald/lives/rules", test_rules);
	g_test_add_func("/kald/lives/rules-unread", test_rules_unread);
	g_test_add_func("/kald/lives/waits", test_waits);
	g_test_add_func("/kald/lives/lost", test_lost);
	return g_test_run();
}
