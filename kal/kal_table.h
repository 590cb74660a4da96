/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A hash table from numbers to structs whose links lie inside the structs: to insert and to remove need no
 * memory and cannot fail. The table widens itself when it gets full, if there is memory for that; without it the
 * chains get longer. No lock of its own.
 */
#ifndef KAL_TABLE_H
#define KAL_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define KAL_TABLE_SMALL 16 /* buckets that are always there; a power of two */

/* Inside each entry. */
struct kal_link {
	struct kal_link *next;
	uint64_t key;
};

struct kal_table {
	struct kal_link **buckets;
	uint32_t bits; /* there are 1 << bits of them */
	uint32_t count;
	struct kal_link *small[KAL_TABLE_SMALL];
};

/* The struct around a link, NULL for NULL. */
#define kal_entry(link, type, member) \
	((link) != NULL ? (type *)(void *)((char *)(link)-offsetof(type, member)) : NULL)

/* The table must not move afterwards. */
void kal_table_init(struct kal_table *table);
/* Entries that are left are not touched. */
void kal_table_fini(struct kal_table *table);
/* NULL: there is none. */
struct kal_link *kal_table_find(const struct kal_table *table, uint64_t key);
/* `link->key` is set, and not in the table. */
void kal_table_insert(struct kal_table *table, struct kal_link *link);
/* Take that very link out; if it is not there, nothing happens. */
void kal_table_remove(struct kal_table *table, const struct kal_link *link);
/* The entries one after the other, in no order: NULL gives the first, and after the last comes NULL. The table
 * must not change in between. */
struct kal_link *kal_table_next(const struct kal_table *table, const struct kal_link *link);

#endif /* KAL_TABLE_H */
