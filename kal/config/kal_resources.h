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
