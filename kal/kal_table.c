/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "kal_table.h"

#include <stdlib.h>
#include <string.h>

#define BITS_MAX 20

/* Keys are often addresses or counters: multiply, and take the upper bits (Knuth). */
static uint32_t
bucket_of(uint32_t bits, uint64_t key)
{
	return (uint32_t)((key * 0x9e3779b97f4a7c15u) >> (64 - bits));
}

static void
bucket_push(struct kal_link **buckets, uint32_t bits, struct kal_link *link)
{
	struct kal_link **bucket = &buckets[bucket_of(bits, link->key)];

	link->next = *bucket;
	*bucket = link;
}

void
kal_table_init(struct kal_table *table)
{
	memset(table, 0, sizeof(*table));
	table->buckets = table->small;
	table->bits = 4;
	_Static_assert(1 << 4 == KAL_TABLE_SMALL, "bits of the small table");
}

void
kal_table_fini(struct kal_table *table)
{
	if (table->buckets != table->small)
		free(table->buckets);
	kal_table_init(table);
}

struct kal_link *
kal_table_find(const struct kal_table *table, uint64_t key)
{
	struct kal_link *link = table->buckets[bucket_of(table->bits, key)];

	while (link != NULL && link->key != key)
		link = link->next;
	return link;
}

/* There are twice as many entries as buckets: make four times as many buckets. */
static void
table_grow(struct kal_table *table)
{
	uint32_t bits = table->bits + 2;
	struct kal_link **buckets = calloc((size_t)1 << bits, sizeof(*buckets));

	if (buckets == NULL)
		return;
	for (uint32_t i = 0; i < 1u << table->bits; i++) {
		struct kal_link *next;

		for (struct kal_link *link = table->buckets[i]; link != NULL; link = next) {
			next = link->next;
			bucket_push(buckets, bits, link);
		}
	}
	if (table->buckets != table->small)
		free(table->buckets);
	table->buckets = buckets;
	table->bits = bits;
}

void
kal_table_insert(struct kal_table *table, struct kal_link *link)
{
	if (table->count >= 2u << table->bits && table->bits < BITS_MAX)
		table_grow(table);
	bucket_push(table->buckets, table->bits, link);
	table->count++;
}

void
kal_table_remove(struct kal_table *table, const struct kal_link *link)
{
	struct kal_link **at = &table->buckets[bucket_of(table->bits, link->key)];

	while (*at != NULL && *at != link)
		at = &(*at)->next;
	if (*at == NULL)
		return;
	*at = link->next;
	table->count--;
}

struct kal_link *
kal_table_next(const struct kal_table *table, const struct kal_link *link)
{
	uint32_t bucket = 0;

	if (link != NULL && link->next != NULL)
		return link->next;
	if (link != NULL)
		bucket = bucket_of(table->bits, link->key) + 1;
	for (; bucket < 1u << table->bits; bucket++) {
		if (table->buckets[bucket] != NULL)
			return table->buckets[bucket];
	}
	return NULL;
}
