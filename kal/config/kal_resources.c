/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Accounts. One lock guards all of them, since calls that change an account are rare and short. A forked child owns none of its
 * parent's objects, so its accounts begin at zero.
 */

#include "kal_resources.h"
#include "ri_owned.h"

#include <glib.h>
#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kal_account user;
static struct kal_account process = {.parent = &user};
static const struct kal_lender *lender; /* NULL: none lends, `lent` counts nothing */
static uint64_t lent[KAL_RESOURCE_COUNT];

static void
accounts_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	memset(user.used, 0, sizeof(user.used));
	memset(process.used, 0, sizeof(process.used));
	lender = NULL; /* it lent to the parent */
	memset(lent, 0, sizeof(lent));
}

__attribute__((constructor)) static void
accounts_watch_forks(void)
{
	(void)pthread_atfork(NULL, NULL, accounts_forked);
}

void
kal_account_open(struct kal_account *account, const struct kal_config *config)
{
	memset(account, 0, sizeof(*account));
	account->parent = &process;
	pthread_mutex_lock(&lock);
	memcpy(account->limits, config->limits[KAL_LEVEL_CLIENT], sizeof(account->limits));
	memcpy(process.limits, config->limits[KAL_LEVEL_PROCESS], sizeof(process.limits));
	memcpy(user.limits, config->limits[KAL_LEVEL_USER], sizeof(user.limits));
	pthread_mutex_unlock(&lock);
}

/* The caller owns the lock. */
static bool
has_room(const struct kal_account *account, enum kal_resource resource, uint64_t amount)
{
	uint64_t limit = account->limits[resource], used = account->used[resource];

	RI_ASSERT_OWNED(&lock);
	return used <= limit && amount <= limit - used;
}

/* The caller owns the lock: take it if all accounts have room and enough is lent. *lacks: what would have to be lent, too. */
static bool
take_here(struct kal_account *account, enum kal_resource resource, uint64_t amount, uint64_t *lacks)
{
	uint64_t free_here = lent[resource] - MIN(lent[resource], process.used[resource]);

	RI_ASSERT_OWNED(&lock);
	*lacks = 0;
	for (const struct kal_account *a = account; a != NULL; a = a->parent)
		if (!has_room(a, resource, amount))
			return false;
	if (lender != NULL && amount > free_here) {
		/* What is in use beyond what is lent comes first: a lender that was started anew may lend less. */
		*lacks = process.used[resource] + amount - lent[resource];
		return false;
	}
	for (struct kal_account *a = account; a != NULL; a = a->parent)
		a->used[resource] += amount;
	return true;
}

enum ri_status
kal_account_take(struct kal_account *account, enum kal_resource resource, uint64_t amount)
{
	enum ri_status status = RI_SUCCESS;

	for (;;) {
		const struct kal_lender *from;
		uint64_t lacks;
		bool taken;

		pthread_mutex_lock(&lock);
		taken = take_here(account, resource, amount, &lacks);
		from = lender;
		pthread_mutex_unlock(&lock);
		if (taken)
			return RI_SUCCESS;
		if (lacks == 0 || status != RI_SUCCESS)
			return RI_ERR_RESOURCES;
		/* Another thread may take what was lent, so this may need several rounds; each of them has lent something. */
		status = from->borrow(resource, lacks);
	}
}

void
kal_lease_begin(const struct kal_lender *from, uint64_t *amounts)
{
	pthread_mutex_lock(&lock);
	lender = from;
	memcpy(lent, process.used, sizeof(lent));
	if (amounts != NULL)
		memcpy(amounts, lent, sizeof(lent));
	pthread_mutex_unlock(&lock);
}

void
kal_lease_add(enum kal_resource resource, uint64_t amount)
{
	pthread_mutex_lock(&lock);
	lent[resource] += MIN(amount, UINT64_MAX - lent[resource]);
	pthread_mutex_unlock(&lock);
}

uint64_t
kal_lease_spare(enum kal_resource resource)
{
	uint64_t spare;

	pthread_mutex_lock(&lock);
	spare = lent[resource] - MIN(lent[resource], process.used[resource]);
	lent[resource] -= spare;
	pthread_mutex_unlock(&lock);
	return spare;
}

void
kal_lease_amounts(uint64_t *lent_now, uint64_t *used)
{
	pthread_mutex_lock(&lock);
	if (lent_now != NULL)
		memcpy(lent_now, lent, sizeof(lent));
	if (used != NULL)
		memcpy(used, process.used, sizeof(process.used));
	pthread_mutex_unlock(&lock);
}

void
kal_lease_set(const uint64_t *amounts)
{
	pthread_mutex_lock(&lock);
	memcpy(lent, amounts, sizeof(lent));
	pthread_mutex_unlock(&lock);
}

/* The caller owns the lock. */
static void
account_give(struct kal_account *account, enum kal_resource resource, uint64_t amount)
{
	RI_ASSERT_OWNED(&lock);
	for (struct kal_account *a = account; a != NULL; a = a->parent)
		a->used[resource] -= amount;
}

void
kal_account_give(struct kal_account *account, enum kal_resource resource, uint64_t amount)
{
	pthread_mutex_lock(&lock);
	account_give(account, resource, amount);
	pthread_mutex_unlock(&lock);
}

void
kal_account_close(struct kal_account *account)
{
	pthread_mutex_lock(&lock);
	for (int resource = 0; resource < KAL_RESOURCE_COUNT; resource++)
		account_give(account, (enum kal_resource)resource, account->used[resource]);
	pthread_mutex_unlock(&lock);
}

enum kal_resource
kal_resource_of(enum ri_object type)
{
	static const uint8_t resources[RI_OBJECT_COUNT] = {
		[RI_OBJECT_RNIC] = KAL_RESOURCE_RNIC,     [RI_OBJECT_PD] = KAL_RESOURCE_PD,
		[RI_OBJECT_CQ] = KAL_RESOURCE_CQ,         [RI_OBJECT_SRQ] = KAL_RESOURCE_SRQ,
		[RI_OBJECT_QP] = KAL_RESOURCE_QP,         [RI_OBJECT_MR] = KAL_RESOURCE_MR,
		[RI_OBJECT_MW] = KAL_RESOURCE_MW,         [RI_OBJECT_AH] = KAL_RESOURCE_AH,
		[RI_OBJECT_LISTEN] = KAL_RESOURCE_LISTEN,
	};

	return (enum kal_resource)resources[type];
}
