/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A hash table from numbers to structs whose links lie inside the structs, so insertion and removal need no memory and
 * cannot fail. A full table grows if there is memory; otherwise its chains get longer. The table has no lock.
 */
#ifndef KAL_TABLE_H
#define KAL_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define KAL_TABLE_SMALL 16 /* buckets inside the struct; a power of two */

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

/* The struct around a link that is there. */
#define kal_entry(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))
/* The struct around a link that may be NULL, NULL for NULL. */
#define kal_entry_or_null(link, type, member) \
	((link) != NULL ? kal_entry(link, type, member) : NULL)

/* The table must not move afterwards. */
void kal_table_init(struct kal_table *table);
/* Does not touch entries that are left. */
void kal_table_fini(struct kal_table *table);
/* NULL: there is none. */
struct kal_link *kal_table_find(const struct kal_table *table, uint64_t key);
/* `link->key` is set, and not in the table. */
void kal_table_insert(struct kal_table *table, struct kal_link *link);
/* Remove this link; no effect if it is not in the table. */
void kal_table_remove(struct kal_table *table, const struct kal_link *link);
/* Iterate over the entries, in no order: NULL gives the first entry; NULL after the last. The table must not
 * change meanwhile. */
struct kal_link *kal_table_next(const struct kal_table *table, const struct kal_link *link);

#endif /* KAL_TABLE_H */
