/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Accounts of resources and their limits, for clients, for the process and for users. What a client takes is counted in
 * all three accounts, and is granted only if it exceeds none of the limits.
 */
#ifndef KAL_RESOURCES_H
#define KAL_RESOURCES_H

#include "kal_config.h"
#include "rnicpi_types.h"

struct kal_account {
	uint64_t used[KAL_RESOURCE_COUNT];
	uint64_t limits[KAL_RESOURCE_COUNT];
	struct kal_account *parent; /* process of a client, user of a process; NULL: none above */
};

/*
 * Calls to a daemon that counts for several processes. The daemon lends amounts to this process. As
 * long as the clients of this process take less than was lent, no call is made. Without a lender
 * the process takes what the limits of its own files allow.
 */
struct kal_lender {
	/*
	 * Ask the daemon for at least `amount` more, and enter what it lends by kal_lease_add() before
	 * returning. Called without a lock of the accounts; may block for seconds. RI_ERR_RESOURCES:
	 * refused, and the log says by which rule.
	 */
	enum ri_status (*borrow)(enum kal_resource resource, uint64_t amount);
};

/*
 * From now on the process takes what `lender` lends; with NULL, what the limits of its own files
 * allow. Amounts that are in use already count as lent, and are written to `lent`
 * (KAL_RESOURCE_COUNT amounts) unless that is NULL.
 */
void kal_lease_begin(const struct kal_lender *lender, uint64_t *lent);
/* The lender has lent more; the sum never exceeds UINT64_MAX. */
void kal_lease_add(enum kal_resource resource, uint64_t amount);
/* Take what is lent and not in use, to give it back. */
uint64_t kal_lease_spare(enum kal_resource resource);
/* What is lent to this process, and what its clients use; either may be NULL. */
void kal_lease_amounts(uint64_t *lent, uint64_t *used);
/* The lender lends these amounts in all, which may be less than what is in use. */
void kal_lease_set(const uint64_t *lent);

/* The account of a new client of this process; the limits above it become those of `config`. */
void kal_account_open(struct kal_account *account, const struct kal_config *config);
/* Take an amount. RI_ERR_RESOURCES: one of the accounts has no room, and nothing was taken. */
enum ri_status kal_account_take(struct kal_account *account, enum kal_resource resource,
				uint64_t amount) RI_MUST_CHECK;
void kal_account_give(struct kal_account *account, enum kal_resource resource, uint64_t amount);
/* Give back whatever is still taken. */
void kal_account_close(struct kal_account *account);

/* What an object counts as. */
enum kal_resource kal_resource_of(enum ri_object type);

#endif /* KAL_RESOURCES_H */
