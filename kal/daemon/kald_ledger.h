/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * What is lent, by process, user and group. An account exists as long as one of the processes that are counted in it is connected. At
 * all times the amount that an account has lent is the sum of the leases of its processes.
 */
#ifndef KALD_LEDGER_H
#define KALD_LEDGER_H

#include <glib.h>

#include "kal_config.h"
#include "kald_lease.h"
#include "kald_wire.h"

struct kald_account {
	enum kald_level level;
	uint32_t id;      /* pid, uid or gid */
	unsigned members; /* borrowers */
	uint64_t lent[KAL_RESOURCE_COUNT];
	uint64_t limits[KAL_RESOURCE_COUNT]; /* KAL_UNLIMITED: none */
};

struct kald_lease {
	uint64_t amount;
	enum kald_lease_state state;
};

/* A process that borrows; lives inside its owner. */
struct kald_borrower {
	struct kald_account *accounts[KALD_LEVEL_COUNT];
	struct kald_lease leases[KAL_RESOURCE_COUNT];
};

/* Fills in the limits of an account. */
typedef void kald_limits_fn(void *arg, struct kald_account *account);

struct kald_ledger;

struct kald_ledger *kald_ledger_new(kald_limits_fn *limits, void *arg);
/* No borrower is left. */
void kald_ledger_free(struct kald_ledger *ledger);
/* Ask for the limits of all accounts again. What is lent stays lent. */
void kald_ledger_limits(struct kald_ledger *ledger);
/* Count a borrower in its three accounts; `ids` by enum kald_level. */
void kald_ledger_join(struct kald_ledger *ledger, struct kald_borrower *borrower,
		      const uint32_t *ids);
/* It has ended: all that it has borrowed is free. */
void kald_ledger_leave(struct kald_ledger *ledger, struct kald_borrower *borrower);
/*
 * Lend at least `need`, and more, which saves later calls: the same amount again, up to a sixteenth
 * of what is left, but at least 64 objects or 64 MiB. With `little`, lend only the minimum, unless
 * no account has a limit. Returns the amount; 0 if an account is full, and then *full is that
 * account.
 */
uint64_t kald_ledger_lend(struct kald_borrower *borrower, enum kal_resource resource, uint64_t need,
			  bool little, const struct kald_account **full);
/* Lend exactly that, or what there is room for: what an earlier kald has lent. The amount. */
uint64_t kald_ledger_claim(struct kald_borrower *borrower, enum kal_resource resource,
			   uint64_t amount);
/* False: it has not borrowed that much, and nothing has changed. */
bool kald_ledger_return(struct kald_borrower *borrower, enum kal_resource resource,
			uint64_t amount);
/* Begin or end a recall. False: the state of the lease does not allow it. */
bool kald_ledger_step(struct kald_borrower *borrower, enum kal_resource resource,
		      enum kald_lease_event event);
/* NULL: no process of it is connected. */
const struct kald_account *kald_ledger_find(const struct kald_ledger *ledger, enum kald_level level,
					    uint32_t id);

#endif /* KALD_LEDGER_H */
