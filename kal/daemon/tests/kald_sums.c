/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "kald_sums.h"

#include "kald_group.h"

/* --- sessions ---------------------------------------------------------------------------------------------- */

/* The daemon hears of whatever can happen to the session next. */
static void
check_armed(const struct kald_session *session)
{
	bool full = session->out_queue.length + session->waiting >= KALD_WINDOW;
	bool paused = session->pause != 0 || session->slow || session->taking != NULL;

	g_assert_true(session->in != 0 || full || paused);
	g_assert_true(session->out != 0 || session->out_queue.length == 0);
	g_assert_true(session->out != 0 || !session->rules_due);
	g_assert_true((session->pidfd >= 0) == (session->death != 0));
}

/* A lease that has nothing cannot be called back, and is not LATE. */
static void
check_leases(const struct kald_session *session)
{
	for (unsigned resource = 0; resource < KAL_RESOURCE_COUNT; resource++) {
		const struct kald_lease *lease = &session->borrower.leases[resource];

		g_assert_cmpint(lease->state == KALD_LEASE_NONE, ==, lease->amount == 0);
	}
}

static void
check_sessions(const struct kald_server *server)
{
	unsigned watchers = 0, describing = 0, waiting = 0, slow = 0;
	uint64_t serial = 0;

	for (GList *at = server->sessions.head; at != NULL; at = at->next) {
		const struct kald_session *session = at->data;

		g_assert_cmpuint(session->serial, >, serial);
		serial = session->serial;
		watchers += session->watches;
		describing += session->describing;
		waiting += session->waiting;
		slow += session->slow;
		check_armed(session);
		if (session->kind == KALD_CLIENT)
			check_leases(session);
	}
	g_assert_cmpuint(server->next_serial, >=, serial);
	g_assert_cmpuint(server->watchers, ==, watchers);
	g_assert_cmpuint(server->describing, ==, describing);
	g_assert_cmpuint(server->borrows.length + server->listings.length, ==, waiting);
	g_assert_cmpuint(server->slow.length, ==, slow);
	g_assert_true(server->slow_turns != 0 || slow == 0);
	g_assert_true(server->ended_look != 0 || server->ended.length == 0);
	g_assert_true(server->accepting != 0);
	/* Nobody waits for a description that nobody owes. */
	g_assert_true(server->listings.length == 0 || describing != 0);
}

/* --- users ------------------------------------------------------------------------------------------------- */

static void
check_users(const struct kald_server *server)
{
	const struct kald_counts *counts;
	GHashTableIter iter;
	void *key, *value;

	g_hash_table_iter_init(&iter, server->by_user);
	while (g_hash_table_iter_next(&iter, &key, &value)) {
		uint32_t uid = GPOINTER_TO_UINT(key), unread = 0;
		unsigned live = 0;

		counts = value;
		for (GList *at = server->sessions.head; at != NULL; at = at->next) {
			const struct kald_session *session = at->data;

			live += session->uid == uid;
			unread += session->uid == uid ? session->unread : 0;
		}
		g_assert_cmpuint(counts->live, ==, live);
		/* More at once than a test ends: it has become less than none. */
		g_assert_cmpuint(counts->closing, <, 1000);
		g_assert_cmpuint(counts->live + counts->closing, >, 0);
		g_assert_cmpuint(GPOINTER_TO_UINT(g_hash_table_lookup(server->unread, key)), >=,
				 unread);
	}
	for (GList *at = server->sessions.head; at != NULL; at = at->next)
		g_assert_nonnull(g_hash_table_lookup(
			server->by_user,
			GUINT_TO_POINTER(((const struct kald_session *)at->data)->uid)));
}

/* Each account has the members, and has lent the amounts, of the sessions that name it. */
static void
check_account(const struct kald_server *server, const struct kald_account *account)
{
	uint64_t sums[KAL_RESOURCE_COUNT] = {0};
	unsigned members = 0;

	for (GList *at = server->sessions.head; at != NULL; at = at->next) {
		const struct kald_session *session = at->data;

		if (session->kind != KALD_CLIENT ||
		    session->borrower.accounts[account->level] != account)
			continue;
		members++;
		for (unsigned r = 0; r < KAL_RESOURCE_COUNT; r++)
			sums[r] += session->borrower.leases[r].amount;
	}
	g_assert_cmpuint(account->members, ==, members);
	g_assert_cmpmem(account->lent, sizeof(account->lent), sums, sizeof(sums));
}

static void
check_accounts(const struct kald_server *server)
{
	for (GList *at = server->sessions.head; at != NULL; at = at->next) {
		const struct kald_session *session = at->data;

		for (unsigned level = 0; session->kind == KALD_CLIENT && level < KALD_LEVEL_COUNT;
		     level++)
			check_account(server, session->borrower.accounts[level]);
	}
}

/* --- addresses that are shared ----------------------------------------------------------------------------- */

/* Who refers to the group: the server, packets that have its descriptors, and descriptors that are being examined. */
static unsigned
references(const struct kald_server *server, const struct kald_group *group)
{
	unsigned count = 1;

	for (GList *at = server->sessions.head; at != NULL; at = at->next) {
		const struct kald_session *session = at->data;

		for (GList *packet = session->out_queue.head; packet != NULL; packet = packet->next)
			count += ((const struct kald_packet *)packet->data)->group == group;
	}
	return count;
}

static void
check_group(const struct kald_server *server, const struct kald_group *group)
{
	struct kald_steer kept;
	uint64_t used = group->kept;

	for (unsigned slot = 0; slot < KALD_SLOTS; slot++) {
		const struct kald_session *member = group->members[slot];

		if (member == NULL)
			continue;
		g_assert_cmpuint(used >> slot & 1, ==, 0);
		used |= UINT64_C(1) << slot;
		g_assert_cmpuint(member->slot, ==, slot + 1);
		g_assert_cmpuint(member->uid, ==, group->uid);
		g_assert_nonnull(g_queue_find((GQueue *)&server->sessions, member));
	}
	g_assert_cmphex(group->steer.used, ==, used);
	g_assert_cmphex(used, !=, 0);
	g_assert_true(group->timer != 0 || group->kept == 0);
	g_assert_cmpuint(group->refs, ==, references(server, group));
	for (uint32_t i = 0; i < group->steer.count; i++) {
		g_assert_cmpuint(used >> group->steer.services[i].slot & 1, ==, 1);
		g_assert_cmpint(kald_steer_find(&group->steer, group->steer.services[i].service),
				==, (int)i);
	}
	/* What the next daemon would read is what this one has. */
	g_assert_true(kald_steer_read(&kept, group->memory));
	g_assert_cmphex(kept.used, ==, group->steer.used);
	g_assert_cmpmem(kept.services, kept.count * sizeof(kept.services[0]), group->steer.services,
			group->steer.count * sizeof(kept.services[0]));
}

static void
check_groups(const struct kald_server *server)
{
	for (GList *link = server->groups.head; link != NULL; link = link->next)
		check_group(server, link->data);
	for (GList *at = server->sessions.head; at != NULL; at = at->next) {
		const struct kald_session *session = at->data;
		bool member = false;

		for (GList *link = server->groups.head; link != NULL; link = link->next)
			for (unsigned slot = 0; slot < KALD_SLOTS; slot++)
				member |= ((const struct kald_group *)link->data)->members[slot] ==
					  session;
		g_assert_cmpint(session->slot != 0, ==, member);
	}
}

/* --- sources of events ------------------------------------------------------------------------------------- */

/* What the daemon may hear of next: each of these has its own source in the main loop, and no other one is there. */
static unsigned
sources_owned(const struct kald_server *server)
{
	unsigned count = (server->accepting != 0) + (server->ended_look != 0) +
			 (server->slow_turns != 0) + server->borrows.length +
			 server->listings.length;

	for (GList *at = server->sessions.head; at != NULL; at = at->next) {
		const struct kald_session *session = at->data;

		count += (session->in != 0) + (session->out != 0) + (session->death != 0) +
			 (session->greeting != 0) + (session->pause != 0);
	}
	for (GList *at = server->groups.head; at != NULL; at = at->next)
		count += ((const struct kald_group *)at->data)->timer != 0;
	return count;
}

static gboolean
never(gpointer arg)
{
	(void)arg;
	return G_SOURCE_REMOVE;
}

/* Those that are in the main loop, by their ids, and the last id that was given. */
static GHashTable *present;
static guint last_source;

static unsigned
sources_present(void)
{
	guint newest = g_timeout_add(G_MAXUINT, never, NULL);
	GHashTableIter iter;
	void *key;

	g_source_remove(newest);
	if (present == NULL)
		present = g_hash_table_new(NULL, NULL);
	for (; last_source < newest; last_source++)
		g_hash_table_add(present, GUINT_TO_POINTER(last_source));
	g_hash_table_iter_init(&iter, present);
	while (g_hash_table_iter_next(&iter, &key, NULL))
		if (GPOINTER_TO_UINT(key) == 0 ||
		    g_main_context_find_source_by_id(NULL, GPOINTER_TO_UINT(key)) == NULL)
			g_hash_table_iter_remove(&iter);
	return g_hash_table_size(present);
}

/* One more is the daemon's for what its threads have done. */
static void
check_sources(const struct kald_server *server)
{
	g_assert_cmpuint(sources_present(), ==, sources_owned(server) + 1);
}

/* --- all --------------------------------------------------------------------------------------------------- */

void
kald_sums_check(const struct kald_server *server)
{
	check_sessions(server);
	check_users(server);
	check_accounts(server);
	check_groups(server);
	check_sources(server);
}

unsigned
kald_sums_fds(const struct kald_server *server)
{
	/* The sockets of a group, its memory and the one behind them all. */
	unsigned fds = server->groups.length * (KALD_SHARE_FDS + 1) + server->ended.length;

	for (GList *at = server->sessions.head; at != NULL; at = at->next) {
		const struct kald_session *session = at->data;

		fds += 1 + (session->pidfd >= 0);
		for (GList *packet = session->out_queue.head; packet != NULL; packet = packet->next)
			fds += ((const struct kald_packet *)packet->data)->fd >= 0;
	}
	return fds;
}
