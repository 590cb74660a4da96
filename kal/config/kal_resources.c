/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Accounts. One lock guards all of them, since calls that change an account are rare and short. A forked child owns none of its
 * parent's objects, so its accounts begin at zero.
 */

#include "kal_resources.h"
#include "ri_owned.h"

#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kal_account user;
static struct kal_account process = {.parent = &user};

static void
accounts_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	memset(user.used, 0, sizeof(user.used));
	memset(process.used, 0, sizeof(process.used));
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

enum ri_status
kal_account_take(struct kal_account *account, enum kal_resource resource, uint64_t amount)
{
	bool room = true;

	pthread_mutex_lock(&lock);
	for (struct kal_account *a = account; a != NULL && room; a = a->parent)
		room = has_room(a, resource, amount);
	for (struct kal_account *a = account; a != NULL && room; a = a->parent)
		a->used[resource] += amount;
	pthread_mutex_unlock(&lock);
	return room ? RI_SUCCESS : RI_ERR_RESOURCES;
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
