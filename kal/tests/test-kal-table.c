/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The table of kal_table.h compared with a plain array, at every size to which it grows. */

#include <glib.h>
#include <stdbool.h>

#include "kal_table.h"

#define ENTRIES 5000

struct entry {
	int before;
	struct kal_link link;
	bool in;
};

static struct entry entries[ENTRIES];

static void
check(const struct kal_table *table)
{
	uint32_t count = 0, seen = 0;

	for (int i = 0; i < ENTRIES; i++) {
		struct kal_link *link = kal_table_find(table, entries[i].link.key);

		g_assert_true((link != NULL) == entries[i].in);
		if (link != NULL)
			g_assert_true(kal_entry(link, struct entry, link) == &entries[i]);
		count += entries[i].in;
	}
	for (struct kal_link *link = kal_table_next(table, NULL); link != NULL;
	     link = kal_table_next(table, link))
		seen++;
	g_assert_cmpuint(count, ==, table->count);
	g_assert_cmpuint(count, ==, seen);
}

static void
fill(struct kal_table *table, uint64_t (*key)(int i))
{
	kal_table_init(table);
	for (int i = 0; i < ENTRIES; i++) {
		entries[i] = (struct entry){.link = {.key = key(i)}};
	}
	for (int i = 0; i < ENTRIES; i++) {
		kal_table_insert(table, &entries[i].link);
		entries[i].in = true;
		if (i < 200 || i % 1000 == 0)
			check(table);
	}
	check(table);
}

static uint64_t
counter(int i)
{
	return (uint64_t)i;
}

static uint64_t
address(int i)
{
	return (uint64_t)(uintptr_t)&entries[i];
}

static uint64_t
upper(int i)
{
	return (uint64_t)i << 40;
}

static void
test_keys(void)
{
	uint64_t (*const keys[])(int i) = {counter, address, upper};

	for (size_t k = 0; k < G_N_ELEMENTS(keys); k++) {
		struct kal_table table;

		fill(&table, keys[k]);
		for (int i = 0; i < ENTRIES; i += 3) {
			kal_table_remove(&table, &entries[i].link);
			entries[i].in = false;
			kal_table_remove(&table, &entries[i].link); /* it is not in the table */
		}
		check(&table);
		for (int i = 0; i < ENTRIES; i += 3) {
			kal_table_insert(&table, &entries[i].link);
			entries[i].in = true;
		}
		check(&table);
		kal_table_fini(&table);
	}
}

/* An entry with the key of another one is not that one. */
static void
test_identity(void)
{
	struct kal_table table;
	struct entry one = {.link = {.key = 7}}, other = {.link = {.key = 7}};

	kal_table_init(&table);
	g_assert_null(kal_entry_or_null(kal_table_find(&table, 7), struct entry, link));
	kal_table_insert(&table, &one.link);
	kal_table_remove(&table, &other.link);
	g_assert_true(kal_table_find(&table, 7) == &one.link);
	kal_table_remove(&table, &one.link);
	g_assert_null(kal_table_find(&table, 7));
	g_assert_null(kal_table_next(&table, NULL));
	kal_table_fini(&table);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kal/table/keys", test_keys);
	g_test_add_func("/kal/table/identity", test_identity);
	return g_test_run();
}
