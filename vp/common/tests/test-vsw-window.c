/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Memory windows, narrow and wide: bind, access, invalidate, and the objects that they keep busy. */
#include "mem_bench.h"
#include "vsw_mem_table.h"

/* The linker redirects the library's calls to these (--wrap). */
void __wrap_vsw_mem_entry_give(struct vsw_mem_entry *entry);
void __real_vsw_mem_entry_give(struct vsw_mem_entry *entry);

/* A bind request that runs while a window is freed, just before its slot is given back. */
static struct {
	struct vsw_mem_table *table; /* NULL: none */
	struct ri_wr_bind bind;
	enum vsw_mem_result result;
} intruder;

void
__wrap_vsw_mem_entry_give(struct vsw_mem_entry *entry)
{
	if (intruder.table != NULL)
		intruder.result = vsw_mw_bind(intruder.table, &alice, &intruder.bind, false);
	intruder.table = NULL;
	__real_vsw_mem_entry_give(entry);
}

static struct ri_wr_bind
window_over(struct bench *b, uint32_t mw, uint32_t mr, uint64_t length)
{
	return (struct ri_wr_bind){.mw_stag = (mw & ~0xffu) | 0x77,
				   .mr_stag = mr,
				   .addr = at(b, 100),
				   .length = length,
				   .access = RR | RW};
}

static void
test_window_narrow(void)
{
	struct vsw_mem_entry *mw = NULL;
	struct ri_mr_attr attr;
	uint32_t mr_stag = 0;
	uint32_t stag = 0;
	struct bench b RI_AT_END(tear_down) = set_up();

	struct vsw_mem_entry *mr = reg_all(&b, &mr_stag);
	g_assert_cmpint(vsw_mw_alloc(b.table, &pd_a, RI_MW_NARROW, &mw, &stag), ==, RI_SUCCESS);
	struct ri_wr_bind bind = window_over(&b, stag, mr_stag, 50);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(stag, at(&b, 100), 1, RR)), ==,
			VSW_MEM_STAG);
	g_assert_cmpint(vsw_mw_bind(b.table, &carol, &bind, false), ==, VSW_MEM_PD);
	g_assert_cmpint(vsw_mw_bind(b.table, &alice, &bind, false), ==, VSW_MEM_OK);
	stag = bind.mw_stag;
	g_assert_cmpint(check_access(&b, &alice, ACCESS(stag, at(&b, 100), 50, RR | RW)), ==,
			VSW_MEM_OK);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(stag, at(&b, 99), 1, RR)), ==,
			VSW_MEM_BOUNDS);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(stag, at(&b, 100), 51, RR)), ==,
			VSW_MEM_BOUNDS);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(stag, at(&b, 100), 1, LR)), ==,
			VSW_MEM_ACCESS);
	g_assert_cmpint(check_access(&b, &bob, ACCESS(stag, at(&b, 100), 1, RR)), ==, VSW_MEM_PD);
	/* Bound: it cannot be bound again, and its region cannot be deregistered. */
	g_assert_cmpint(vsw_mw_bind(b.table, &alice, &bind, false), ==, VSW_MEM_BOUND);
	g_assert_cmpint(vsw_mr_dereg(mr), ==, RI_ERR_BUSY);
	struct ri_mr_init init = whole(&b, LR);
	g_assert_cmpint(vsw_mr_rereg(mr, &pd_a, &init, &mr_stag), ==, RI_ERR_BUSY);
	g_assert_cmpuint(vth_attached(b.vth), ==, 1);
	g_assert_cmpint(vsw_mem_invalidate(b.table, &alice, mr_stag, false), ==, VSW_MEM_BOUND);
	vsw_mr_query(mr, &attr);
	g_assert_cmpuint(attr.bound, ==, 1);
	vsw_mw_query(mw, &attr);
	g_assert_true(attr.valid);
	g_assert_cmpuint(attr.length, ==, 50);
	/* Only the queue pair that bound it may invalidate it. */
	g_assert_cmpint(vsw_mem_invalidate(b.table, &bob, stag, true), ==, VSW_MEM_PD);
	g_assert_cmpint(vsw_mem_invalidate(b.table, &alice, stag, true), ==, VSW_MEM_OK);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(stag, at(&b, 100), 1, RR)), ==,
			VSW_MEM_STAG);
	bind.length = 0;
	g_assert_cmpint(vsw_mw_bind(b.table, &alice, &bind, false), ==, VSW_MEM_BOUNDS);
	bind.length = 10;
	g_assert_cmpint(vsw_mw_bind(b.table, &bob, &bind, false), ==, VSW_MEM_OK);
	vsw_mw_free(mw);
	g_assert_cmpint(vsw_mr_dereg(mr), ==, RI_SUCCESS);
}

/* Without rights it is bound, and no peer may use it. */
static void
test_window_closed(void)
{
	uint32_t mr_stag = 0;
	uint32_t stag = 0;
	struct bench b RI_AT_END(tear_down) = set_up();
	struct vsw_mem_entry *mw RI_AT_END(mw_end) = NULL;
	struct vsw_mem_entry *mr RI_AT_END(mr_end) = reg_all(&b, &mr_stag);

	g_assert_cmpint(vsw_mw_alloc(b.table, &pd_a, RI_MW_NARROW, &mw, &stag), ==, RI_SUCCESS);
	struct ri_wr_bind bind = window_over(&b, stag, mr_stag, 50);
	bind.access = 0;
	g_assert_cmpint(vsw_mw_bind(b.table, &alice, &bind, false), ==, VSW_MEM_OK);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(bind.mw_stag, at(&b, 100), 1, RR)), ==,
			VSW_MEM_CLOSED);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(bind.mw_stag, at(&b, 100), 1, RW)), ==,
			VSW_MEM_CLOSED);
	g_assert_cmpint(vsw_mw_bind(b.table, &alice, &bind, false), ==, VSW_MEM_BOUND);
	g_assert_cmpint(vsw_mem_invalidate(b.table, &alice, bind.mw_stag, true), ==,
			VSW_MEM_ACCESS);
	g_assert_cmpint(vsw_mem_invalidate(b.table, &alice, bind.mw_stag, false), ==, VSW_MEM_OK);
}

static void
test_window_relative(void)
{
	struct vsw_mem_use use;
	uint32_t mr_stag = 0;
	uint32_t stag = 0;
	struct bench b RI_AT_END(tear_down) = set_up();
	struct vsw_mem_entry *mr RI_AT_END(mr_end) = reg_all(&b, &mr_stag);
	struct vsw_mem_entry *mw RI_AT_END(mw_end) = NULL;

	g_assert_cmpint(vsw_mw_alloc(b.table, &pd_a, RI_MW_NARROW, &mw, &stag), ==, RI_SUCCESS);
	struct ri_wr_bind bind = window_over(&b, stag, mr_stag, 50);
	g_assert_cmpint(vsw_mw_bind(b.table, &alice, &bind, true), ==, VSW_MEM_OK);
	g_assert_cmpint(begin(&b, &alice, ACCESS(bind.mw_stag, 10, 40, RW), &use), ==, VSW_MEM_OK);
	g_assert_true(use.ptr == b.data + 110);
	vsw_mem_end(&use);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(bind.mw_stag, 0, 51, RW)), ==,
			VSW_MEM_BOUNDS);
}

static void
test_window_wide(void)
{
	struct ri_mr_attr attr;
	uint32_t mr_stag = 0;
	uint32_t stag = 0;
	struct bench b RI_AT_END(tear_down) = set_up();
	struct vsw_mem_entry *mw RI_AT_END(mw_end) = NULL;
	struct vsw_mem_entry *mr RI_AT_END(mr_end) = reg_all(&b, &mr_stag);

	g_assert_cmpint(vsw_mw_alloc(b.table, &pd_a, RI_MW_WIDE, &mw, &stag), ==, RI_SUCCESS);
	struct ri_wr_bind bind = window_over(&b, stag, mr_stag, 50);
	g_assert_cmpint(vsw_mw_bind(b.table, &alice, &bind, false), ==, VSW_MEM_OK);
	g_assert_cmpint(check_access(&b, &bob, ACCESS(bind.mw_stag, at(&b, 100), 1, RR)), ==,
			VSW_MEM_OK);
	g_assert_cmpint(check_access(&b, &carol, ACCESS(bind.mw_stag, at(&b, 100), 1, RR)), ==,
			VSW_MEM_PD);
	uint32_t old = bind.mw_stag;
	bind.mw_stag = (old & ~0xffu) | 0x78;
	bind.length = 5;
	g_assert_cmpint(vsw_mw_bind(b.table, &bob, &bind, false), ==, VSW_MEM_OK);
	g_assert_cmpint(check_access(&b, &bob, ACCESS(old, at(&b, 100), 1, RR)), ==, VSW_MEM_STAG);
	g_assert_cmpint(check_access(&b, &bob, ACCESS(bind.mw_stag, at(&b, 100), 6, RR)), ==,
			VSW_MEM_BOUNDS);
	vsw_mr_query(mr, &attr);
	g_assert_cmpuint(attr.bound, ==, 1);
	g_assert_cmpint(vsw_mem_invalidate(b.table, &bob, bind.mw_stag, false), ==, VSW_MEM_ACCESS);
	bind.length = 0;
	g_assert_cmpint(vsw_mw_bind(b.table, &bob, &bind, false), ==, VSW_MEM_OK);
	g_assert_cmpint(check_access(&b, &bob, ACCESS(bind.mw_stag, at(&b, 100), 1, RR)), ==,
			VSW_MEM_STAG);
}

static void
test_bind_refused(void)
{
	uint32_t all = 0;
	uint32_t read_only = 0;
	uint32_t no_bind = 0;
	uint32_t zero = 0;
	uint32_t stag = 0;
	struct bench b RI_AT_END(tear_down) = set_up();
	struct vsw_mem_entry *mw RI_AT_END(mw_end) = NULL;

	struct ri_mr_init init = whole(&b, LR | RI_ACCESS_BIND);
	struct vsw_mem_entry *mr[4] = {reg_all(&b, &all), reg(&b, &init, &read_only)};
	init.access = LR | LW;
	mr[2] = reg(&b, &init, &no_bind);
	init.access = ALL;
	init.zero_based = true;
	mr[3] = reg(&b, &init, &zero);
	g_assert_cmpint(vsw_mw_alloc(b.table, &pd_a, RI_MW_NARROW, &mw, &stag), ==, RI_SUCCESS);
	g_assert_cmpint(vsw_mw_alloc(b.table, &pd_a, (enum ri_mw_type)7, &mw, &stag), ==,
			RI_ERR_UNSUPPORTED);

	struct ri_wr_bind good = window_over(&b, stag, all, 50);
	struct ri_wr_bind bad = good;
	bad.mr_stag = read_only;
	g_assert_cmpint(vsw_mw_bind(b.table, &alice, &bad, false), ==, VSW_MEM_ACCESS);
	bad.mr_stag = no_bind;
	g_assert_cmpint(vsw_mw_bind(b.table, &alice, &bad, false), ==, VSW_MEM_ACCESS);
	bad.mr_stag = zero;
	g_assert_cmpint(vsw_mw_bind(b.table, &alice, &bad, false), ==, VSW_MEM_ACCESS);
	bad.mr_stag = all ^ 1;
	g_assert_cmpint(vsw_mw_bind(b.table, &alice, &bad, false), ==, VSW_MEM_STAG);
	bad.mr_stag = good.mw_stag;
	g_assert_cmpint(vsw_mw_bind(b.table, &alice, &bad, false), ==, VSW_MEM_STAG);
	bad = good;
	bad.mw_stag = all;
	g_assert_cmpint(vsw_mw_bind(b.table, &alice, &bad, false), ==, VSW_MEM_STAG);
	bad = good;
	bad.length = 4096;
	g_assert_cmpint(vsw_mw_bind(b.table, &alice, &bad, false), ==, VSW_MEM_BOUNDS);
	bad.length = UINT64_MAX;
	g_assert_cmpint(vsw_mw_bind(b.table, &alice, &bad, false), ==, VSW_MEM_WRAP);
	bad = good;
	bad.access = LR | RR;
	g_assert_cmpint(vsw_mw_bind(b.table, &alice, &bad, false), ==, VSW_MEM_ACCESS);
	/* None of these failures left a window on a region. */
	for (guint i = 0; i < G_N_ELEMENTS(mr); i++)
		g_assert_cmpint(vsw_mr_dereg(mr[i]), ==, RI_SUCCESS);
}

static void
test_windows_of_a_queue_pair(void)
{
	struct vsw_mem_entry *mw[3];
	uint32_t stags[3];
	uint32_t mr_stag = 0;
	struct bench b RI_AT_END(tear_down) = set_up();
	struct vsw_mem_entry *mr RI_AT_END(mr_end) = reg_all(&b, &mr_stag);

	g_assert_cmpuint(vsw_mem_qp_windows(b.table, 1, false), ==, 0);
	for (guint i = 0; i < 3; i++) {
		g_assert_cmpint(vsw_mw_alloc(b.table, &pd_a, RI_MW_NARROW, &mw[i], &stags[i]), ==,
				RI_SUCCESS);
		struct ri_wr_bind bind = window_over(&b, stags[i], mr_stag, 50);
		stags[i] = bind.mw_stag;
		g_assert_cmpint(vsw_mw_bind(b.table, i < 2 ? &alice : &bob, &bind, false), ==,
				VSW_MEM_OK);
	}
	g_assert_cmpuint(vsw_mem_qp_windows(b.table, 1, false), ==, 2);
	g_assert_cmpuint(vsw_mem_qp_windows(b.table, 2, false), ==, 1);
	g_assert_cmpuint(vsw_mem_qp_windows(b.table, 1, true), ==, 0);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(stags[0], at(&b, 100), 1, RR)), ==,
			VSW_MEM_STAG);
	g_assert_cmpint(check_access(&b, &bob, ACCESS(stags[2], at(&b, 100), 1, RR)), ==,
			VSW_MEM_OK);
	struct ri_wr_bind again = window_over(&b, stags[0], mr_stag, 50);
	g_assert_cmpint(vsw_mw_bind(b.table, &bob, &again, false), ==, VSW_MEM_STAG);
	for (guint i = 0; i < 3; i++)
		vsw_mw_free(mw[i]);
	/* Windows of the next queue pair, of both kinds, in the places of these: nothing of them is left. */
	for (guint i = 0; i < 3; i++) {
		enum ri_mw_type type = i < 2 ? RI_MW_NARROW : RI_MW_WIDE;

		g_assert_cmpint(vsw_mw_alloc(b.table, &pd_a, type, &mw[i], &stags[i]), ==,
				RI_SUCCESS);
		struct ri_wr_bind bind = window_over(&b, stags[i], mr_stag, 50);
		g_assert_cmpint(vsw_mw_bind(b.table, &alice, &bind, false), ==, VSW_MEM_OK);
		g_assert_cmpint(check_access(&b, &alice, ACCESS(bind.mw_stag, at(&b, 100), 1, RR)),
				==, VSW_MEM_OK);
	}
	for (guint i = 0; i < 3; i++)
		vsw_mw_free(mw[i]);
}

/* A window that is being freed is not bound again, which would keep its region busy for good. */
static void
test_bind_in_free(void)
{
	struct vsw_mem_entry *mw = NULL;
	uint32_t mr_stag = 0;
	uint32_t stag = 0;
	struct bench b RI_AT_END(tear_down) = set_up();
	struct vsw_mem_entry *mr RI_AT_END(mr_end) = reg_all(&b, &mr_stag);

	for (enum ri_mw_type type = RI_MW_NARROW; type <= RI_MW_WIDE; type++) {
		g_assert_cmpint(vsw_mw_alloc(b.table, &pd_a, type, &mw, &stag), ==, RI_SUCCESS);
		intruder.bind = window_over(&b, stag, mr_stag, 50);
		intruder.result = VSW_MEM_OK;
		intruder.table = b.table;
		vsw_mw_free(mw);
		g_assert_null(intruder.table);
		g_assert_cmpint(intruder.result, ==, VSW_MEM_STAG);
	}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/vsw/mem/window-narrow", test_window_narrow);
	g_test_add_func("/vsw/mem/window-closed", test_window_closed);
	g_test_add_func("/vsw/mem/window-relative", test_window_relative);
	g_test_add_func("/vsw/mem/window-wide", test_window_wide);
	g_test_add_func("/vsw/mem/bind-refused", test_bind_refused);
	g_test_add_func("/vsw/mem/windows-of-a-queue-pair", test_windows_of_a_queue_pair);
	g_test_add_func("/vsw/mem/bind-in-free", test_bind_in_free);
	return g_test_run();
}
