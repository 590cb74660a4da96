/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A process may have borrowed more than it uses, so an account can be full while part of it is idle. So before kald refuses a
 * process, it asks the others in the full account to return what they do not use, and waits for at most RECALL_MS.
 */
#include <stdio.h>

#include "kald_server.h"

#define RECALL_MS 50
#define YOUNG_US  (5 * G_USEC_PER_SEC) /* after a start: others are still to claim what they had */

/* A request that waits. */
struct kald_borrow {
	struct kald_session *session;
	struct kald_head head;
	enum kal_resource resource;
	uint64_t amount;
	guint timer;
};

static const char *const level_names[KALD_LEVEL_COUNT] = {"process", "user", "group"};

static void
refuse_full(struct kald_session *session, const struct kald_head *to, enum kal_resource resource,
	    const struct kald_account *full)
{
	struct kald_server *server = session->server;
	struct kald_refusal why = {0};
	char rule[KALD_TEXT];

	kald_policy_limit_rule(server->policy, full, resource, rule, sizeof(rule));
	(void)snprintf(why.text, sizeof(why.text),
		       "%.140s; %s %u has %" G_GUINT64_FORMAT " of them", rule,
		       level_names[full->level], full->id, full->lent[resource]);
	kald_refuse(session, to, KALD_NO_ROOM, &why);
}

/* Is it in the account, with a lease in that state? */
static bool
in_state(const struct kald_session *session, const struct kald_account *account,
	 enum kal_resource resource, enum kald_lease_state state)
{
	return session->kind == KALD_CLIENT &&
	       session->borrower.accounts[account->level] == account &&
	       session->borrower.leases[resource].state == state;
}

/* Call leases back; the number of those that have not answered yet. */
static unsigned
recall(struct kald_session *for_whom, enum kal_resource resource,
       const struct kald_account *account)
{
	struct kald_server *server = for_whom->server;
	struct kald_message event;
	unsigned count = 0;

	kald_message_begin(&event, KALD_RECALL, 0, KALD_OK);
	event.body.amount.resource = resource;
	for (GList *at = server->sessions.head; at != NULL; at = at->next) {
		struct kald_session *session = at->data;

		if (session == for_whom)
			continue;
		if (in_state(session, account, resource, KALD_LEASE_HELD) &&
		    kald_ledger_step(&session->borrower, resource, KALD_LEASE_RECALL)) {
			kald_session_send(session, &event, -1);
			kald_tell(server, session, KALD_WAS_CALLED_BACK, "");
		}
		count += in_state(session, account, resource, KALD_LEASE_RECALLED);
	}
	return count;
}

static bool
awaits(const struct kald_session *for_whom, enum kal_resource resource,
       const struct kald_account *account)
{
	for (GList *at = for_whom->server->sessions.head; at != NULL; at = at->next)
		if (at->data != for_whom &&
		    in_state(at->data, account, resource, KALD_LEASE_RECALLED))
			return true;
	return false;
}

/* Lend and answer; false: *full has no room. */
static bool
lend(struct kald_session *session, const struct kald_borrow *borrow, bool little,
     const struct kald_account **full)
{
	struct kald_message reply;
	uint64_t lent = kald_ledger_lend(&session->borrower, borrow->resource, borrow->amount,
					 little, full);

	if (lent == 0)
		return false;
	kald_message_begin(&reply, KALD_BORROW | KALD_REPLY, borrow->head.id, KALD_OK);
	reply.body.amount.resource = borrow->resource;
	reply.body.amount.amount = lent;
	kald_session_send(session, &reply, -1);
	return true;
}

static void
borrow_free(struct kald_borrow *borrow)
{
	if (borrow->timer != 0)
		g_source_remove(borrow->timer);
	g_queue_remove(&borrow->session->server->borrows, borrow);
	borrow->session->waiting--;
	kald_session_pace(borrow->session);
	g_free(borrow);
}

/* Those that have not answered are late. Each answer that is missing makes all requests for the resource wait no longer. */
static gboolean
borrow_over(gpointer arg)
{
	struct kald_borrow *borrow = arg;
	struct kald_server *server = borrow->session->server;

	borrow->timer = 0;
	for (GList *at = server->sessions.head; at != NULL; at = at->next) {
		struct kald_session *session = at->data;

		if (session != borrow->session && session->kind == KALD_CLIENT &&
		    session->borrower.leases[borrow->resource].state == KALD_LEASE_RECALLED)
			(void)kald_ledger_step(&session->borrower, borrow->resource,
					       KALD_LEASE_EXPIRE);
	}
	kald_borrow_again(server);
	return G_SOURCE_REMOVE;
}

void
kald_borrow_again(struct kald_server *server)
{
	GList *at = server->borrows.head;

	while (at != NULL) {
		struct kald_borrow *borrow = at->data;
		const struct kald_account *full = NULL;

		at = at->next;
		if (!kald_refuse_stopped(borrow->session, &borrow->head) &&
		    !lend(borrow->session, borrow, true, &full)) {
			if (awaits(borrow->session, borrow->resource, full))
				continue;
			refuse_full(borrow->session, &borrow->head, borrow->resource, full);
		}
		borrow_free(borrow);
	}
}

void
kald_borrow(struct kald_session *session, const struct kald_message *request)
{
	struct kald_borrow borrow = {.session = session,
				     .head = request->head,
				     .resource = (enum kal_resource)request->body.amount.resource,
				     .amount = request->body.amount.amount};
	bool young = g_get_monotonic_time() - session->server->started < YOUNG_US;
	const struct kald_account *full = NULL;
	struct kald_borrow *waits;

	if (lend(session, &borrow, young, &full))
		return;
	/* What can never be there is not waited for. */
	if (borrow.amount > full->limits[borrow.resource] ||
	    recall(session, borrow.resource, full) == 0) {
		refuse_full(session, &request->head, borrow.resource, full);
		return;
	}
	waits = g_memdup2(&borrow, sizeof(borrow));
	g_queue_push_tail(&session->server->borrows, waits);
	session->waiting++;
	waits->timer = g_timeout_add(RECALL_MS, borrow_over, waits);
}

void
kald_borrow_forget(struct kald_session *session)
{
	GList *at = session->server->borrows.head;

	while (at != NULL) {
		struct kald_borrow *borrow = at->data;

		at = at->next;
		if (borrow->session != session)
			continue;
		if (borrow->timer != 0)
			g_source_remove(borrow->timer);
		g_queue_remove(&session->server->borrows, borrow);
		g_free(borrow);
	}
}
