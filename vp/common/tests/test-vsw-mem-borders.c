/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Memory at its limits: the last byte, the end of the address space, each right alone, accesses of
 * length 0, and checks that another check usually hides.
 */
#include <pthread.h>

#include "mem_bench.h"
#include "vsw_atomic.h"
#include "vsw_mem_table.h"

#define RA  RI_ACCESS_REMOTE_ATOMIC
#define TOP (UINT64_MAX - 9) /* the last ten bytes of the address space begin here */

static enum ri_status
try_reg(struct bench *b, const struct ri_mr_init *init)
{
	struct vsw_mem_entry *mr = NULL;
	uint32_t stag;
	enum ri_status status = vsw_mr_reg(b->table, &pd_a, 1, init, &mr, &stag);

	if (status == RI_SUCCESS)
		g_assert_cmpint(vsw_mr_dereg(mr), ==, RI_SUCCESS);
	return status;
}

/* --- regions ----------------------------------------------------------------------------- */

static void
test_registration(void)
{
	struct vsw_mem_table *table = NULL;
	struct bench b RI_AT_END(tear_down) = set_up_sized(1);

	struct ri_mr_init init = whole(&b, ALL);
	init.addr = TOP;
	init.length = 10;
	g_assert_cmpint(try_reg(&b, &init), ==, RI_SUCCESS);
	init.length = 11;
	g_assert_cmpint(try_reg(&b, &init), ==, RI_ERR_ADDRESS);
	init = whole(&b, LR | 0x8000);
	g_assert_cmpint(try_reg(&b, &init), ==, RI_ERR_INVALID_ARG);
	/* The only slot of the table is free after a failure. */
	init = whole(&b, ALL);
	vth_attach_answer(b.vth, RI_ERR_ACCESS);
	g_assert_cmpint(try_reg(&b, &init), ==, RI_ERR_ACCESS);
	vth_attach_answer(b.vth, RI_SUCCESS);
	g_assert_cmpint(try_reg(&b, &init), ==, RI_SUCCESS);
	g_assert_cmpint(
		vsw_mem_table_create(vth_host(b.vth), VSW_MEM_SLOTS + 1, RI_KEY_CONSUMER, &table),
		==, RI_ERR_LIMIT);
}

/* All of the requested rights are needed, not some of them. */
static void
test_every_right(void)
{
	uint32_t stag = 0;
	struct bench b RI_AT_END(tear_down) = set_up();

	struct ri_mr_init init = whole(&b, LR | RR);
	struct vsw_mem_entry *mr RI_AT_END(mr_end) = reg(&b, &init, &stag);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(stag, at(&b, 0), 1, LR | LW)), ==,
			VSW_MEM_ACCESS);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(stag, at(&b, 0), 1, RR | RW)), ==,
			VSW_MEM_ACCESS);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(stag, at(&b, 0), 1, LR | RR)), ==,
			VSW_MEM_OK);
}

/* Is an access under way? This thread has all marks and counts of the test. */
static bool
is_used(const struct vsw_mem_entry *entry)
{
	bool marked = false;

	for (guint i = 0; i < VSW_MARKS_EACH && vsw_marks_mine != NULL; i++)
		marked = marked || atomic_load(&vsw_marks_mine->entry[i]) == entry;
	return marked || atomic_load(&entry->uses) != 0;
}

/* A refused access is no use, and ending a use twice ends one. */
static void
check_uses(struct bench *b, const struct vsw_mem_entry *mr, uint32_t stag)
{
	struct vsw_mem_use use;
	struct vsw_mem_use other;

	g_assert_cmpint(begin(b, &alice, ACCESS(stag, at(b, 0), 5000, RR), &use), ==,
			VSW_MEM_BOUNDS);
	g_assert_false(is_used(mr));
	g_assert_cmpint(begin(b, &carol, ACCESS(stag, at(b, 0), 1, RR), &use), ==, VSW_MEM_PD);
	g_assert_false(is_used(mr));
	g_assert_cmpint(begin(b, &alice, ACCESS(stag, at(b, 0), 1, RR), &use), ==, VSW_MEM_OK);
	g_assert_true(is_used(mr));
	vsw_mem_end(&use);
	g_assert_false(is_used(mr));
	g_assert_cmpint(begin(b, &alice, ACCESS(stag, at(b, 0), 1, RR), &other), ==, VSW_MEM_OK);
	vsw_mem_end(&use);
	g_assert_true(is_used(mr));
	vsw_mem_end(&other);
	g_assert_false(is_used(mr));
}

static void
test_uses(void)
{
	struct vsw_mem_use use[VSW_MARKS_EACH];
	uint32_t stag = 0;
	uint32_t marked = 0;
	struct bench b RI_AT_END(tear_down) = set_up();
	struct vsw_mem_entry *mr RI_AT_END(mr_end) = reg_all(&b, &stag);

	check_uses(&b, mr, stag);
	g_assert_cmpuint(atomic_load(&mr->uses), ==, 0);

	/* The same while all marks of this thread are taken by accesses to another region. */
	struct vsw_mem_entry *held RI_AT_END(mr_end) = reg_all(&b, &marked);
	for (guint i = 0; i < G_N_ELEMENTS(use); i++)
		g_assert_cmpint(begin(&b, &alice, ACCESS(marked, at(&b, 0), 1, RR), &use[i]), ==,
				VSW_MEM_OK);
	check_uses(&b, mr, stag);
	for (guint i = 0; i < G_N_ELEMENTS(use); i++)
		vsw_mem_end(&use[i]);
}

static enum ri_status
never_copy(void *self, struct ri_mem *mem, uint64_t offset, void *buf, size_t len, bool write)
{
	(void)self, (void)mem, (void)offset, (void)buf, (void)len, (void)write;
	g_assert_not_reached();
}

/* A copy of length 0 touches no memory: neither through the host nor directly. */
static void
test_copy_of_nothing(void)
{
	struct vth *vth RI_AT_END(vth_free) = vth_new(false);
	struct ri_host host = *vth_host(vth);
	struct vsw_mem_table *table = NULL;
	struct vsw_mem_entry *mr = NULL;
	struct vsw_mem_use use;
	uint8_t octets[8] = {0};
	struct ri_mr_init init = {
		.addr = (uintptr_t)octets, .length = sizeof(octets), .access = LR | LW};
	uint32_t stag = 0;

	host.mem_copy = never_copy;
	vth_copy_only(vth, true);
	g_assert_cmpint(vsw_mem_table_create(&host, 8, RI_KEY_CONSUMER, &table), ==, RI_SUCCESS);
	g_assert_cmpint(vsw_mr_reg(table, &pd_a, 1, &init, &mr, &stag), ==, RI_SUCCESS);
	g_assert_cmpint(vsw_mem_begin(table, &alice, ACCESS(stag, init.addr, 8, LR), &use), ==,
			VSW_MEM_OK);
	g_assert_null(use.ptr);
	g_assert_cmpint(vsw_mem_copy(&use, 8, octets, 0, false), ==, RI_SUCCESS);
	vsw_mem_end(&use);
	g_assert_cmpint(vsw_mr_dereg(mr), ==, RI_SUCCESS);
	vsw_mem_table_destroy(table);
}

/* --- windows ----------------------------------------------------------------------------- */

static enum vsw_mem_result
bind_to(struct bench *b, const struct vsw_mem_who *who, struct vsw_mem_entry *mw, uint32_t mr,
	struct ri_wr_bind bind)
{
	bind.mw_stag = (mw->stag & ~0xffu) | 0x41;
	bind.mr_stag = mr;
	return vsw_mw_bind(b->table, who, &bind, false);
}

/* A region with these rights and a window of all of it with those rights. */
static enum vsw_mem_result
try_bind(struct bench *b, uint32_t region, uint32_t window)
{
	struct ri_mr_init init = whole(b, region | RI_ACCESS_BIND);
	uint32_t mr_stag = 0;
	uint32_t stag = 0;
	struct vsw_mem_entry *mr RI_AT_END(mr_end) = reg(b, &init, &mr_stag);
	struct vsw_mem_entry *mw RI_AT_END(mw_end) = NULL;

	g_assert_cmpint(vsw_mw_alloc(b->table, &pd_a, RI_MW_NARROW, &mw, &stag), ==, RI_SUCCESS);
	struct ri_wr_bind bind = {.addr = at(b, 0), .length = 1, .access = window};
	enum vsw_mem_result result = bind_to(b, &alice, mw, mr_stag, bind);
	return result;
}

static void
test_window_rights(void)
{
	struct bench b RI_AT_END(tear_down) = set_up();

	g_assert_cmpint(try_bind(&b, LR, RR), ==, VSW_MEM_OK);
	g_assert_cmpint(try_bind(&b, LW, RR), ==, VSW_MEM_ACCESS);
	g_assert_cmpint(try_bind(&b, LW, RW), ==, VSW_MEM_OK);
	g_assert_cmpint(try_bind(&b, LR, RW), ==, VSW_MEM_ACCESS);
	g_assert_cmpint(try_bind(&b, LW, RA), ==, VSW_MEM_OK);
	g_assert_cmpint(try_bind(&b, LR, RA), ==, VSW_MEM_ACCESS);
}

static void
test_window_bounds(void)
{
	struct vsw_mem_entry *mw = NULL;
	uint32_t mr_stag = 0;
	uint32_t stag = 0;
	struct bench b RI_AT_END(tear_down) = set_up();

	struct vsw_mem_entry *mr = reg_all(&b, &mr_stag);
	g_assert_cmpint(vsw_mw_alloc(b.table, &pd_a, RI_MW_WIDE, &mw, &stag), ==, RI_SUCCESS);
	struct ri_wr_bind bind = {.addr = at(&b, 96), .length = 4001, .access = RR};
	g_assert_cmpint(bind_to(&b, &alice, mw, mr_stag, bind), ==, VSW_MEM_BOUNDS);
	bind.length = 4000;
	g_assert_cmpint(bind_to(&b, &alice, mw, mr_stag, bind), ==, VSW_MEM_OK);
	bind.addr = at(&b, 0) - 1;
	bind.length = 2;
	g_assert_cmpint(bind_to(&b, &alice, mw, mr_stag, bind), ==, VSW_MEM_BOUNDS);
	vsw_mw_free(mw);
	g_assert_cmpint(vsw_mr_dereg(mr), ==, RI_SUCCESS);
	/* The last byte of the address space does not wrap around. */
	struct ri_mr_init init = {.addr = TOP, .length = 10, .access = ALL};
	mr = reg(&b, &init, &mr_stag);
	g_assert_cmpint(vsw_mw_alloc(b.table, &pd_a, RI_MW_WIDE, &mw, &stag), ==, RI_SUCCESS);
	bind.addr = TOP;
	bind.length = 10;
	g_assert_cmpint(bind_to(&b, &alice, mw, mr_stag, bind), ==, VSW_MEM_OK);
	bind.length = 11;
	g_assert_cmpint(bind_to(&b, &alice, mw, mr_stag, bind), ==, VSW_MEM_WRAP);
	vsw_mw_free(mw);
	g_assert_cmpint(vsw_mr_dereg(mr), ==, RI_SUCCESS);
}

/* Queue pair, window and region must be of one domain. */
static void
test_window_domains(void)
{
	uint32_t mr_stag = 0, foreign_stag = 0, stag = 0;
	struct bench b RI_AT_END(tear_down) = set_up();
	struct vsw_mem_entry *foreign RI_AT_END(mr_end) = NULL;
	struct vsw_mem_entry *mr RI_AT_END(mr_end) = reg_all(&b, &mr_stag);
	struct vsw_mem_entry *mw RI_AT_END(mw_end) = NULL;
	struct vsw_mem_entry *foreign_mw RI_AT_END(mw_end) = NULL;

	struct ri_mr_init init = whole(&b, ALL);
	struct ri_wr_bind bind = {.addr = at(&b, 0), .length = 1, .access = RR};
	g_assert_cmpint(vsw_mr_reg(b.table, &pd_b, 1, &init, &foreign, &foreign_stag), ==,
			RI_SUCCESS);
	g_assert_cmpint(vsw_mw_alloc(b.table, &pd_a, RI_MW_NARROW, &mw, &stag), ==, RI_SUCCESS);
	g_assert_cmpint(vsw_mw_alloc(b.table, &pd_b, RI_MW_NARROW, &foreign_mw, &stag), ==,
			RI_SUCCESS);
	g_assert_cmpint(bind_to(&b, &alice, mw, foreign_stag, bind), ==, VSW_MEM_PD);
	g_assert_cmpint(bind_to(&b, &alice, foreign_mw, mr_stag, bind), ==, VSW_MEM_PD);
	g_assert_cmpint(bind_to(&b, &alice, mw, mr_stag, bind), ==, VSW_MEM_OK);
}

/* --- lists ------------------------------------------------------------------------------- */

static struct vsw_mem_entry *
reg_unlinked(struct bench *b, bool shareable, uint32_t *stag)
{
	struct ri_mr_init init = {.unlinked = true, .max_pages = 2, .shareable = shareable};

	return reg(b, &init, stag);
}

static enum vsw_mem_result
try_fast(struct bench *b, uint32_t stag, uint32_t access, uint64_t addr, uint64_t length)
{
	struct ri_sge piece = {.addr = at(b, 0), .length = 10};
	struct vsw_mem_fast fast = {.stag = stag,
				    .access = access,
				    .addr = addr,
				    .length = length,
				    .count = 1,
				    .list = &piece};

	return vsw_mr_fast(b->table, &alice, &fast);
}

static void
test_fast_registration(void)
{
	uint32_t stag = 0;
	uint32_t old = 0;
	struct bench b RI_AT_END(tear_down) = set_up_sized(1);

	struct vsw_mem_entry *mr = reg_unlinked(&b, false, &old);
	g_assert_cmpint(try_fast(&b, old, 0, 0, 10), ==, VSW_MEM_ACCESS);
	g_assert_cmpint(try_fast(&b, old, LW | RR, 0, 10), ==, VSW_MEM_ACCESS);
	g_assert_cmpint(try_fast(&b, old, LR | RW, 0, 10), ==, VSW_MEM_ACCESS);
	g_assert_cmpint(try_fast(&b, old, LR | RA, 0, 10), ==, VSW_MEM_ACCESS);
	g_assert_cmpint(try_fast(&b, old, LR, TOP, 11), ==, VSW_MEM_WRAP);
	g_assert_cmpint(try_fast(&b, old, LR, 0, 0), ==, VSW_MEM_BOUNDS);
	g_assert_cmpint(try_fast(&b, old, LR, 0, 11), ==, VSW_MEM_BOUNDS);
	g_assert_cmpint(try_fast(&b, old, LR, TOP, 10), ==, VSW_MEM_OK);
	g_assert_cmpint(vsw_mr_dereg(mr), ==, RI_SUCCESS);
	/* The former key is invalid, also where the new index is found at the same place of the table. */
	mr = reg_unlinked(&b, true, &stag);
	while (((stag ^ old) >> 8 & b.table->places_mask) != 0) {
		g_assert_cmpint(vsw_mr_dereg(mr), ==, RI_SUCCESS);
		mr = reg_unlinked(&b, true, &stag);
	}
	g_assert_cmpuint(stag >> 8, !=, old >> 8);
	g_assert_cmpint(try_fast(&b, old, LR, 0, 10), ==, VSW_MEM_STAG);
	/* A shareable region never has pieces. */
	g_assert_cmpint(try_fast(&b, stag, LR, 0, 10), ==, VSW_MEM_BOUND);
	g_assert_cmpint(vsw_mr_dereg(mr), ==, RI_SUCCESS);
}

/* No piece is written beyond the room for pieces, even if the layer above counts wrong. */
static void
test_room_for_pieces(void)
{
	uint64_t pages[3];
	uint32_t stag = 0;
	struct bench b RI_AT_END(tear_down) = set_up();

	for (guint i = 0; i < 3; i++)
		pages[i] = at(&b, 100 * i);
	struct vsw_mem_entry *mr RI_AT_END(mr_end) = reg_unlinked(&b, false, &stag);
	struct ri_mr_init init = {.length = 10, .pages = pages, .page_size = 100, .max_pages = 3};
	g_assert_cmpint(vsw_mem_pieces_fill(mr, &init), ==, RI_ERR_INVALID_ARG);
	init.max_pages = 2;
	g_assert_cmpint(vsw_mem_pieces_fill(mr, &init), ==, RI_SUCCESS);
}

/* --- atomics ----------------------------------------------------------------------------- */

static void
test_words(void)
{
	struct vsw_mem_use use;
	alignas(8) uint64_t words[2] = {5, 0};
	struct ri_wr_remote operand = {.operand = 5, .swap = 9};
	uint64_t old = 0;
	uint32_t stag = 0;
	struct bench b RI_AT_END(tear_down) = set_up();

	use = (struct vsw_mem_use){.ptr = (uint8_t *)words};
	g_assert_true(vsw_atomic_word(&use) == words);
	g_assert_cmpint(vsw_atomic(&use, true, &operand, &old), ==, VSW_ATOMIC_DONE);
	g_assert_cmpuint(old, ==, 5);
	g_assert_cmpuint(words[0], ==, 9);
	g_assert_cmpint(vsw_atomic(&use, true, &operand, &old), ==, VSW_ATOMIC_DONE);
	g_assert_cmpuint(old, ==, 9); /* what the word was, not what was expected */
	g_assert_cmpuint(words[0], ==, 9);
	for (guint off = 1; off < 8; off++) {
		use.ptr = (uint8_t *)words + off;
		g_assert_null(vsw_atomic_word(&use));
		g_assert_cmpint(vsw_atomic(&use, false, &operand, &old), ==, VSW_ATOMIC_NO_WORD);
	}
	/* A word that crosses two pieces cannot be used. */
	struct vsw_mem_entry *mr RI_AT_END(mr_end) = reg_unlinked(&b, false, &stag);
	struct ri_sge pieces[2] = {{.addr = (uintptr_t)words, .length = 4},
				   {.addr = (uintptr_t)(words + 1), .length = 8}};
	struct vsw_mem_fast fast = {.stag = stag,
				    .access = LR | LW | RA,
				    .length = 12,
				    .relative = true,
				    .count = 2,
				    .list = pieces};
	g_assert_cmpint(vsw_mr_fast(b.table, &alice, &fast), ==, VSW_MEM_OK);
	g_assert_cmpint(begin(&b, &alice, ACCESS(stag, 0, 8, RA), &use), ==, VSW_MEM_OK);
	g_assert_null(vsw_atomic_word(&use));
	vsw_mem_end(&use);
	g_assert_cmpint(begin(&b, &alice, ACCESS(stag, 4, 8, RA), &use), ==, VSW_MEM_OK);
	g_assert_true(vsw_atomic_word(&use) == words + 1);
	vsw_mem_end(&use);
}

/* --- a use outlives the key ------------------------------------------------------------------ */

#define STILL_WAITS_US (200 * 1000)

struct leaver {
	struct vsw_mem_entry *mr;
	atomic_bool done;
};

static void *
deregister(void *arg)
{
	struct leaver *leaver = arg;

	g_assert_cmpint(vsw_mr_dereg(leaver->mr), ==, RI_SUCCESS);
	atomic_store(&leaver->done, true);
	return NULL;
}

/* The key opens nothing from the beginning of a deregistration on, which ends with the last use of the memory. */
static void
test_deregistration_waits(void)
{
	struct leaver leaver = {0};
	struct vsw_mem_use use;
	pthread_t thread;
	uint32_t stag;
	struct bench b RI_AT_END(tear_down) = set_up();

	leaver.mr = reg_all(&b, &stag);
	g_assert_cmpint(begin(&b, &alice, ACCESS(stag, at(&b, 0), 8, RW), &use), ==, VSW_MEM_OK);
	g_assert_cmpint(pthread_create(&thread, NULL, deregister, &leaver), ==, 0);
	while (!atomic_load(&leaver.done) &&
	       check_access(&b, &alice, ACCESS(stag, at(&b, 0), 8, RW)) == VSW_MEM_OK)
		sched_yield();
	for (gint64 until = g_get_monotonic_time() + STILL_WAITS_US;
	     g_get_monotonic_time() < until;) {
		g_assert_false(atomic_load(&leaver.done));
		sched_yield();
	}
	vsw_mem_end(&use);
	g_assert_cmpint(pthread_join(thread, NULL), ==, 0);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/vsw/mem/borders/uses", test_uses);
	g_test_add_func("/vsw/mem/borders/registration", test_registration);
	g_test_add_func("/vsw/mem/borders/every-right", test_every_right);
	g_test_add_func("/vsw/mem/borders/copy-of-nothing", test_copy_of_nothing);
	g_test_add_func("/vsw/mem/borders/window-rights", test_window_rights);
	g_test_add_func("/vsw/mem/borders/window-bounds", test_window_bounds);
	g_test_add_func("/vsw/mem/borders/window-domains", test_window_domains);
	g_test_add_func("/vsw/mem/borders/fast-registration", test_fast_registration);
	g_test_add_func("/vsw/mem/borders/room-for-pieces", test_room_for_pieces);
	g_test_add_func("/vsw/mem/borders/words", test_words);
	g_test_add_func("/vsw/mem/borders/deregistration-waits", test_deregistration_waits);
	return g_test_run();
}
