/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "kald_ledger.h"

#define LEAST_OBJECTS 64u
#define LEAST_MEMORY  (UINT64_C(64) << 20)
#define SHARE         16 /* of what is left */

struct kald_ledger {
	GHashTable *accounts[KALD_LEVEL_COUNT]; /* by id */
	kald_limits_fn *limits;
	void *arg;
};

struct kald_ledger *
kald_ledger_new(kald_limits_fn *limits, void *arg)
{
	struct kald_ledger *ledger = g_new0(struct kald_ledger, 1);

	for (unsigned level = 0; level < KALD_LEVEL_COUNT; level++)
		ledger->accounts[level] =
			g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
	ledger->limits = limits;
	ledger->arg = arg;
	return ledger;
}

void
kald_ledger_free(struct kald_ledger *ledger)
{
	for (unsigned level = 0; level < KALD_LEVEL_COUNT; level++)
		g_hash_table_destroy(ledger->accounts[level]);
	g_free(ledger);
}

void
kald_ledger_limits(struct kald_ledger *ledger)
{
	for (unsigned level = 0; level < KALD_LEVEL_COUNT; level++) {
		GHashTableIter iter;
		void *account;

		g_hash_table_iter_init(&iter, ledger->accounts[level]);
		while (g_hash_table_iter_next(&iter, NULL, &account))
			ledger->limits(ledger->arg, account);
	}
}

void
kald_ledger_join(struct kald_ledger *ledger, struct kald_borrower *borrower, const uint32_t *ids)
{
	memset(borrower, 0, sizeof(*borrower));
	for (unsigned level = 0; level < KALD_LEVEL_COUNT; level++) {
		void *key = GUINT_TO_POINTER(ids[level]);
		struct kald_account *account = g_hash_table_lookup(ledger->accounts[level], key);

		if (account == NULL) {
			account = g_new0(struct kald_account, 1);
			account->level = (enum kald_level)level;
			account->id = ids[level];
			ledger->limits(ledger->arg, account);
			g_hash_table_insert(ledger->accounts[level], key, account);
		}
		account->members++;
		borrower->accounts[level] = account;
	}
}

/* Add to the lease and to each account, or subtract. */
static void
count(struct kald_borrower *borrower, enum kal_resource resource, uint64_t amount, bool add)
{
	for (unsigned level = 0; level < KALD_LEVEL_COUNT; level++)
		borrower->accounts[level]->lent[resource] += add ? amount : -amount;
	borrower->leases[resource].amount += add ? amount : -amount;
}

void
kald_ledger_leave(struct kald_ledger *ledger, struct kald_borrower *borrower)
{
	for (unsigned resource = 0; resource < KAL_RESOURCE_COUNT; resource++) {
		count(borrower, resource, borrower->leases[resource].amount, false);
		(void)kald_ledger_step(borrower, resource, KALD_LEASE_END);
	}
	for (unsigned level = 0; level < KALD_LEVEL_COUNT; level++) {
		struct kald_account *account = borrower->accounts[level];

		borrower->accounts[level] = NULL;
		if (--account->members == 0)
			g_hash_table_remove(ledger->accounts[level], GUINT_TO_POINTER(account->id));
	}
}

/* What all accounts of the borrower have room for; *full: the one that has the least. A limit may have been lowered below what is lent. */
static uint64_t
room_of(const struct kald_borrower *borrower, enum kal_resource resource,
	const struct kald_account **full)
{
	uint64_t least = UINT64_MAX;

	*full = borrower->accounts[0];
	for (unsigned level = 0; level < KALD_LEVEL_COUNT; level++) {
		const struct kald_account *account = borrower->accounts[level];
		uint64_t limit = account->limits[resource], lent = account->lent[resource];
		uint64_t room = limit > lent ? limit - lent : 0;

		if (room < least) {
			least = room;
			*full = account;
		}
	}
	return least;
}

uint64_t
kald_ledger_lend(struct kald_borrower *borrower, enum kal_resource resource, uint64_t need,
		 bool little, const struct kald_account **full)
{
	uint64_t room = room_of(borrower, resource, full);
	uint64_t least = resource == KAL_RESOURCE_MEMORY ? LEAST_MEMORY : LEAST_OBJECTS;
	uint64_t more;

	if (need == 0 || need > room)
		return 0;
	/* Where nothing is limited, what one borrower gets lacks to nobody. */
	little = little && (*full)->limits[resource] != KAL_UNLIMITED;
	room -= need;
	more = little ? least : MAX(least, MIN(borrower->leases[resource].amount, room / SHARE));
	more = MIN(more, room);
	count(borrower, resource, need + more, true);
	(void)kald_ledger_step(borrower, resource, KALD_LEASE_LEND);
	return need + more;
}

uint64_t
kald_ledger_claim(struct kald_borrower *borrower, enum kal_resource resource, uint64_t amount)
{
	const struct kald_account *full;
	uint64_t granted = MIN(amount, room_of(borrower, resource, &full));

	if (granted == 0)
		return 0;
	count(borrower, resource, granted, true);
	(void)kald_ledger_step(borrower, resource, KALD_LEASE_LEND);
	return granted;
}

bool
kald_ledger_return(struct kald_borrower *borrower, enum kal_resource resource, uint64_t amount)
{
	struct kald_lease *lease = &borrower->leases[resource];

	if (amount > lease->amount)
		return false;
	count(borrower, resource, amount, false);
	return kald_ledger_step(borrower, resource,
				lease->amount == 0 ? KALD_LEASE_EMPTY : KALD_LEASE_RETURN);
}

bool
kald_ledger_step(struct kald_borrower *borrower, enum kal_resource resource,
		 enum kald_lease_event event)
{
	struct kald_lease *lease = &borrower->leases[resource];
	int next = kald_lease_next(lease->state, event);

	if (next < 0)
		return false;
	lease->state = (enum kald_lease_state)next;
	return true;
}

const struct kald_account *
kald_ledger_find(const struct kald_ledger *ledger, enum kald_level level, uint32_t id)
{
	return g_hash_table_lookup(ledger->accounts[level], GUINT_TO_POINTER(id));
}
