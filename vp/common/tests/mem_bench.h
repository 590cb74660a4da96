/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* A memory table and three queue pairs that access it: for test-vsw-mem.c and test-vsw-window.c. */
#ifndef MEM_BENCH_H
#define MEM_BENCH_H

#include <string.h>

#include "vsw_mem.h"
#include "vsw_mem_table.h"
#include "vsw_test_host.h"

#define LR  RI_ACCESS_LOCAL_READ
#define LW  RI_ACCESS_LOCAL_WRITE
#define RR  RI_ACCESS_REMOTE_READ
#define RW  RI_ACCESS_REMOTE_WRITE
#define ALL (LR | LW | RR | RW | RI_ACCESS_BIND)

static int pd_a;
static int pd_b;
static const struct vsw_mem_who alice = {.pd = &pd_a, .qpn = 1};
static const struct vsw_mem_who bob = {.pd = &pd_a, .qpn = 2};
static const struct vsw_mem_who carol = {.pd = &pd_b, .qpn = 3};

struct bench {
	struct vth *vth;
	struct vsw_mem_table *table;
	uint8_t data[4096];
};

static inline struct bench
set_up_sized(uint32_t entries)
{
	struct bench b = {.vth = vth_new(false)};

	g_assert_cmpint(vsw_mem_table_create(vth_host(b.vth), entries, RI_KEY_CONSUMER, &b.table),
			==, RI_SUCCESS);
	return b;
}

static inline struct bench
set_up(void)
{
	return set_up_sized(1024);
}

/* A place has an entry that is in use, and whose index is of that place. */
static inline void
check_places(const struct vsw_mem_table *table)
{
	for (uint32_t i = 0; i <= table->places_mask; i++) {
		const struct vsw_mem_entry *entry = atomic_load(&table->places[i]);

		g_assert_true(entry == NULL || (entry->kind != VSW_MEM_FREE &&
						(entry->stag >> 8 & table->places_mask) == i));
	}
}

static inline void
tear_down(struct bench *b)
{
	check_places(b->table);
	g_assert_cmpuint(vth_attached(b->vth), ==, 0);
	vsw_mem_table_destroy(b->table);
	vth_free(&b->vth);
}

static inline void
mr_end(struct vsw_mem_entry **mr)
{
	g_assert_cmpint(vsw_mr_dereg(*mr), ==, RI_SUCCESS);
}

static inline void
mw_end(struct vsw_mem_entry **mw)
{
	vsw_mw_free(*mw);
}

static inline uint64_t
at(struct bench *b, size_t offset)
{
	return (uint64_t)(uintptr_t)b->data + offset;
}

static inline struct ri_mr_init
whole(struct bench *b, uint32_t access)
{
	return (struct ri_mr_init){
		.addr = at(b, 0), .length = sizeof(b->data), .access = access, .key = 0x5a};
}

static inline struct vsw_mem_entry *
reg(struct bench *b, const struct ri_mr_init *init, uint32_t *stag)
{
	struct vsw_mem_entry *mr = NULL;

	g_assert_cmpint(vsw_mr_reg(b->table, &pd_a, 1, init, &mr, stag), ==, RI_SUCCESS);
	return mr;
}

static inline struct vsw_mem_entry *
reg_all(struct bench *b, uint32_t *stag)
{
	struct ri_mr_init init = whole(b, ALL);

	return reg(b, &init, stag);
}

static inline enum vsw_mem_result
begin(struct bench *b, const struct vsw_mem_who *who, const struct vsw_mem_access *wanted,
      struct vsw_mem_use *use)
{
	return vsw_mem_begin(b->table, who, wanted, use);
}

/* A piece of memory by key, as check_access() and begin() take it. */
#define ACCESS(stag_, addr_, length_, access_) \
	(&(struct vsw_mem_access){             \
		.stag = (stag_), .addr = (addr_), .length = (length_), .access = (access_)})

static inline enum vsw_mem_result
check_access(struct bench *b, const struct vsw_mem_who *who, const struct vsw_mem_access *what)
{
	struct vsw_mem_use use;
	enum vsw_mem_result result = begin(b, who, what, &use);

	vsw_mem_end(&use);
	return result;
}

#endif /* MEM_BENCH_H */
