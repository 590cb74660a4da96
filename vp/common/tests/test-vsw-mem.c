/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Keys: rights, invalidation, and no access after revocation. */
#include <pthread.h>
#include <stdatomic.h>

#include "mem_bench.h"

/* --- regions ----------------------------------------------------------------------------- */

static void
test_access(void)
{
	uint32_t stag = 0;
	struct bench b RI_AT_END(tear_down) = set_up();

	struct vsw_mem_entry *mr = reg_all(&b, &stag);
	g_assert_cmpuint(stag & 0xff, ==, 0x5a);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(stag, at(&b, 0), 4096, LR | RW)), ==,
			VSW_MEM_OK);
	g_assert_cmpint(check_access(&b, &bob, ACCESS(stag, at(&b, 4095), 1, RR)), ==, VSW_MEM_OK);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(stag, at(&b, 4096), 1, RR)), ==,
			VSW_MEM_BOUNDS);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(stag, at(&b, 1), 4096, RR)), ==,
			VSW_MEM_BOUNDS);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(stag, at(&b, 0) - 1, 2, RR)), ==,
			VSW_MEM_BOUNDS);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(stag, at(&b, 0), UINT32_MAX, RR)), ==,
			VSW_MEM_BOUNDS);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(stag, UINT64_MAX, 2, RR)), ==,
			VSW_MEM_WRAP);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(stag, UINT64_MAX, 1, RR)), ==,
			VSW_MEM_BOUNDS);
	g_assert_cmpint(check_access(&b, &carol, ACCESS(stag, at(&b, 0), 1, RR)), ==, VSW_MEM_PD);
	for (guint bit = 0; bit < 8; bit++)
		g_assert_cmpint(
			check_access(&b, &alice, ACCESS(stag ^ 1u << bit, at(&b, 0), 1, RR)), ==,
			VSW_MEM_STAG);
	g_assert_cmpint(vsw_mr_dereg(mr), ==, RI_SUCCESS);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(stag, at(&b, 0), 1, RR)), ==, VSW_MEM_STAG);
}

/* A request with several mistakes reports them in a fixed order. */
static void
test_order_of_checks(void)
{
	struct ri_mr_init init;
	uint32_t stag = 0;
	struct bench b RI_AT_END(tear_down) = set_up();

	init = whole(&b, LR | RR);
	struct vsw_mem_entry *mr = reg(&b, &init, &stag);
	g_assert_cmpint(check_access(&b, &carol, ACCESS(stag ^ 1, UINT64_MAX, 2, RW)), ==,
			VSW_MEM_STAG);
	g_assert_cmpint(check_access(&b, &carol, ACCESS(stag, UINT64_MAX, 2, RW)), ==, VSW_MEM_PD);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(stag, UINT64_MAX, 2, RW)), ==,
			VSW_MEM_ACCESS);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(stag, UINT64_MAX, 2, LR)), ==,
			VSW_MEM_WRAP);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(stag, 0, 2, LR)), ==, VSW_MEM_BOUNDS);
	g_assert_cmpint(vsw_mr_dereg(mr), ==, RI_SUCCESS);
	init = whole(&b, LR);
	mr = reg(&b, &init, &stag);
	g_assert_cmpint(check_access(&b, &carol, ACCESS(stag, UINT64_MAX, 2, RW)), ==, VSW_MEM_PD);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(stag, UINT64_MAX, 2, RW)), ==,
			VSW_MEM_CLOSED);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(stag, UINT64_MAX, 2, LW)), ==,
			VSW_MEM_ACCESS);
	g_assert_cmpint(vsw_mr_dereg(mr), ==, RI_SUCCESS);
}

static void
test_empty_is_free(void)
{
	struct vsw_mem_use use;
	struct bench b RI_AT_END(tear_down) = set_up();

	g_assert_cmpint(begin(&b, &carol, ACCESS(12345, UINT64_MAX, 0, RW), &use), ==, VSW_MEM_OK);
	g_assert_null(use.entry);
	vsw_mem_end(&use);
}

static void
test_rights(void)
{
	struct vsw_mem_entry *mr = NULL;
	uint32_t stag = 0;
	struct bench b RI_AT_END(tear_down) = set_up();

	for (uint32_t access = 0; access < 64; access++) {
		struct ri_mr_init init = whole(&b, access);
		bool local = (access & (LR | LW)) != 0;
		bool sound = local && (!(access & RR) || (access & LR)) &&
			     (!(access & (RW | RI_ACCESS_REMOTE_ATOMIC)) || (access & LW));
		enum ri_status status = vsw_mr_reg(b.table, &pd_a, 1, &init, &mr, &stag);
		g_assert_cmpint(status, ==, sound ? RI_SUCCESS : RI_ERR_INVALID_ARG);
		if (!sound)
			continue;
		for (uint32_t bit = 1; bit < 32; bit <<= 1) {
			bool closed = (bit & VSW_MEM_REMOTE) != 0 && (access & VSW_MEM_REMOTE) == 0;
			enum vsw_mem_result refused = closed ? VSW_MEM_CLOSED : VSW_MEM_ACCESS;
			g_assert_cmpint(check_access(&b, &alice, ACCESS(stag, at(&b, 0), 1, bit)),
					==, access & bit ? VSW_MEM_OK : refused);
		}
		g_assert_cmpint(vsw_mr_dereg(mr), ==, RI_SUCCESS);
	}
}

static void
test_registration_refused(void)
{
	struct vsw_mem_entry *mr = NULL;
	uint32_t stag = 0;
	uint64_t page = 0;
	struct bench b RI_AT_END(tear_down) = set_up();

	struct ri_mr_init init = whole(&b, ALL);
	init.length = 0;
	g_assert_cmpint(vsw_mr_reg(b.table, &pd_a, 1, &init, &mr, &stag), ==, RI_ERR_INVALID_ARG);
	init = whole(&b, ALL);
	init.addr = UINT64_MAX - 10;
	g_assert_cmpint(vsw_mr_reg(b.table, &pd_a, 1, &init, &mr, &stag), ==, RI_ERR_ADDRESS);
	init = whole(&b, ALL);
	init.pages = &page; /* of no pieces */
	g_assert_cmpint(vsw_mr_reg(b.table, &pd_a, 1, &init, &mr, &stag), ==, RI_ERR_INVALID_ARG);
	init = whole(&b, ALL);
	vth_attach_answer(b.vth, RI_ERR_ACCESS);
	g_assert_cmpint(vsw_mr_reg(b.table, &pd_a, 1, &init, &mr, &stag), ==, RI_ERR_ACCESS);
	vth_attach_answer(b.vth, RI_SUCCESS);
}

static void
test_zero_based(void)
{
	struct vsw_mem_use use;
	uint32_t stag = 0;
	struct bench b RI_AT_END(tear_down) = set_up();

	struct ri_mr_init init = whole(&b, ALL);
	init.zero_based = true;
	struct vsw_mem_entry *mr RI_AT_END(mr_end) = reg(&b, &init, &stag);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(stag, 0, 4096, RR)), ==, VSW_MEM_OK);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(stag, 1, 4096, RR)), ==, VSW_MEM_BOUNDS);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(stag, at(&b, 0), 1, RR)), ==,
			VSW_MEM_BOUNDS);
	g_assert_cmpint(begin(&b, &alice, ACCESS(stag, 100, 4, RR), &use), ==, VSW_MEM_OK);
	g_assert_true(use.ptr == b.data + 100);
	vsw_mem_end(&use);
}

/* The region is named by the I/O address, and reads and writes the memory behind it. */
static void
test_iova(void)
{
	struct ri_mr_attr attr;
	uint32_t stag = 0;
	uint64_t iova;
	struct bench b RI_AT_END(tear_down) = set_up();

	for (guint anew = 0; anew < 2; anew++) {
		struct ri_mr_init init = whole(&b, ALL);
		struct vsw_mem_entry *mr = reg(&b, &init, &stag);
		struct vsw_mem_use use;
		uint8_t octet = 7;

		iova = UINT64_C(0x7777000000000000) | (at(&b, 0) & 0xfff);
		init.iova_given = true;
		init.iova = iova;
		if (anew == 0) {
			g_assert_cmpint(vsw_mr_dereg(mr), ==, RI_SUCCESS);
			mr = reg(&b, &init, &stag);
		} else {
			g_assert_cmpint(vsw_mr_rereg(mr, &pd_a, &init, &stag), ==, RI_SUCCESS);
		}
		vsw_mr_query(mr, &attr);
		g_assert_cmphex(attr.addr, ==, iova);
		g_assert_false(attr.zero_based);
		g_assert_cmpint(begin(&b, &alice, ACCESS(stag, iova + 5, 1, LW), &use), ==,
				VSW_MEM_OK);
		g_assert_true(use.ptr == b.data + 5);
		g_assert_cmpint(vsw_mem_copy(&use, 0, &octet, 1, true), ==, RI_SUCCESS);
		vsw_mem_end(&use);
		g_assert_cmpuint(b.data[5], ==, 7);
		g_assert_cmpint(check_access(&b, &bob, ACCESS(stag, iova, 4096, RR)), ==,
				VSW_MEM_OK);
		g_assert_cmpint(check_access(&b, &bob, ACCESS(stag, iova, 4097, RR)), ==,
				VSW_MEM_BOUNDS);
		g_assert_cmpint(check_access(&b, &bob, ACCESS(stag, iova - 1, 1, RR)), ==,
				VSW_MEM_BOUNDS);
		g_assert_cmpint(check_access(&b, &bob, ACCESS(stag, at(&b, 0), 1, RR)), ==,
				VSW_MEM_BOUNDS);
		g_assert_cmpint(vsw_mr_dereg(mr), ==, RI_SUCCESS);
	}
}

static void
test_iova_refused(void)
{
	struct vsw_mem_entry *mr = NULL;
	struct ri_mr_init init;
	uint32_t stag = 0;
	struct bench b RI_AT_END(tear_down) = set_up();

	init = whole(&b, ALL);
	init.iova = 1; /* without the flag it does not count */
	mr = reg(&b, &init, &stag);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(stag, at(&b, 0), 1, RR)), ==, VSW_MEM_OK);
	g_assert_cmpint(vsw_mr_dereg(mr), ==, RI_SUCCESS);
	init.iova_given = true;
	init.iova = at(&b, 1); /* elsewhere in its page */
	g_assert_cmpint(vsw_mr_reg(b.table, &pd_a, 1, &init, &mr, &stag), ==, RI_ERR_INVALID_ARG);
	init.iova = UINT64_MAX - 0xfff + (at(&b, 0) & 0xfff);
	if ((at(&b, 0) & 0xfff) != 0)
		g_assert_cmpint(vsw_mr_reg(b.table, &pd_a, 1, &init, &mr, &stag), ==,
				RI_ERR_ADDRESS);
	init.length = 0x1000 - (at(&b, 0) & 0xfff); /* the last octet is the last of all */
	mr = reg(&b, &init, &stag);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(stag, UINT64_MAX, 1, RR)), ==, VSW_MEM_OK);
	g_assert_cmpint(vsw_mr_dereg(mr), ==, RI_SUCCESS);
	init.zero_based = true;
	g_assert_cmpint(vsw_mr_reg(b.table, &pd_a, 1, &init, &mr, &stag), ==, RI_ERR_INVALID_ARG);
}

static void
test_reregister(void)
{
	struct ri_mr_attr attr;
	uint32_t first = 0;
	uint32_t second = 0;
	struct bench b RI_AT_END(tear_down) = set_up();
	struct vsw_mem_entry *mr RI_AT_END(mr_end) = reg_all(&b, &first);

	struct ri_mr_init init = whole(&b, LR);
	init.length = 10;
	vth_attach_answer(b.vth, RI_ERR_ADDRESS);
	g_assert_cmpint(vsw_mr_rereg(mr, &pd_b, &init, &second), ==, RI_ERR_ADDRESS);
	vth_attach_answer(b.vth, RI_SUCCESS);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(first, at(&b, 0), 4096, RW)), ==,
			VSW_MEM_OK);
	g_assert_cmpint(vsw_mr_rereg(mr, &pd_b, &init, &second), ==, RI_SUCCESS);
	g_assert_cmpuint(first, !=, second);
	g_assert_cmpuint(vth_attached(b.vth), ==, 1);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(first, at(&b, 0), 1, LR)), ==,
			VSW_MEM_STAG);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(second, at(&b, 0), 1, LR)), ==, VSW_MEM_PD);
	g_assert_cmpint(check_access(&b, &carol, ACCESS(second, at(&b, 0), 10, LR)), ==,
			VSW_MEM_OK);
	g_assert_cmpint(check_access(&b, &carol, ACCESS(second, at(&b, 0), 11, LR)), ==,
			VSW_MEM_BOUNDS);
	vsw_mr_query(mr, &attr);
	g_assert_cmpuint(attr.stag, ==, second);
	g_assert_cmpuint(attr.length, ==, 10);
	g_assert_cmpuint(attr.access, ==, LR);
	g_assert_true(attr.valid);
}

/* The key stays, and everything else is new; also when the access layer chooses another octet. */
static void
test_reregister_same_key(void)
{
	uint32_t first = 0;
	uint32_t second = 0;
	struct bench b RI_AT_END(tear_down) = set_up();
	struct vsw_mem_entry *mr RI_AT_END(mr_end) = reg_all(&b, &first);

	struct ri_mr_init init = whole(&b, LR | LW | RR | RW);
	init.addr += 100;
	init.length = 10;
	init.key = (uint8_t)(first + 1);
	init.keep_stag = true;
	g_assert_cmpint(vsw_mr_rereg(mr, &pd_b, &init, &second), ==, RI_SUCCESS);
	g_assert_cmpuint(first, ==, second);
	g_assert_cmpuint(vth_attached(b.vth), ==, 1);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(first, at(&b, 100), 1, RR)), ==,
			VSW_MEM_PD);
	g_assert_cmpint(check_access(&b, &carol, ACCESS(first, at(&b, 100), 10, RW)), ==,
			VSW_MEM_OK);
	g_assert_cmpint(check_access(&b, &carol, ACCESS(first, at(&b, 99), 1, RR)), ==,
			VSW_MEM_BOUNDS);
	init.access = LR;
	g_assert_cmpint(vsw_mr_rereg(mr, &pd_b, &init, &second), ==, RI_SUCCESS);
	g_assert_cmpuint(first, ==, second);
	g_assert_cmpint(check_access(&b, &carol, ACCESS(first, at(&b, 100), 1, RR)), ==,
			VSW_MEM_CLOSED);
	/* A region that was invalidated is valid again. */
	g_assert_cmpint(vsw_mem_invalidate(b.table, &carol, first, false), ==, VSW_MEM_OK);
	g_assert_cmpint(vsw_mr_rereg(mr, &pd_b, &init, &second), ==, RI_SUCCESS);
	g_assert_cmpuint(first, ==, second);
	g_assert_cmpint(check_access(&b, &carol, ACCESS(first, at(&b, 100), 1, LR)), ==,
			VSW_MEM_OK);
}

static void
test_direct(void)
{
	struct vsw_mem_who root = alice;
	struct vsw_mem_use use;
	struct bench b RI_AT_END(tear_down) = set_up();

	g_assert_cmpint(check_access(&b, &alice, ACCESS(0, at(&b, 0), 1, LR)), ==, VSW_MEM_STAG);
	root.privileged = true;
	g_assert_cmpint(begin(&b, &root, ACCESS(0, at(&b, 7), 1, LR | LW), &use), ==, VSW_MEM_OK);
	g_assert_true(use.ptr == b.data + 7);
	vsw_mem_end(&use);
	g_assert_cmpint(check_access(&b, &root, ACCESS(0, at(&b, 0), 1, RR)), ==, VSW_MEM_ACCESS);
	g_assert_cmpint(vsw_mem_invalidate(b.table, &root, 0, false), ==, VSW_MEM_STAG);
}

static void
test_copy_through_host(void)
{
	struct vsw_mem_use use;
	uint32_t stag = 0;
	char text[6] = "";
	struct bench b RI_AT_END(tear_down) = set_up();

	vth_copy_only(b.vth, true);
	struct vsw_mem_entry *mr RI_AT_END(mr_end) = reg_all(&b, &stag);
	memcpy(b.data + 1000, "hello", 6);
	g_assert_cmpint(begin(&b, &alice, ACCESS(stag, at(&b, 998), 8, LR | LW), &use), ==,
			VSW_MEM_OK);
	g_assert_null(use.ptr);
	g_assert_cmpint(vsw_mem_copy(&use, 2, text, 6, false), ==, RI_SUCCESS);
	g_assert_cmpstr(text, ==, "hello");
	text[0] = 'j';
	g_assert_cmpint(vsw_mem_copy(&use, 2, text, 1, true), ==, RI_SUCCESS);
	g_assert_cmpstr((char *)b.data + 1000, ==, "jello");
	g_assert_cmpuint(vth_copied(b.vth), ==, 7);
	vsw_mem_end(&use);
}

static void
test_table_full(void)
{
	struct vsw_mem_entry *mr[8];
	struct vsw_mem_entry *more = NULL;
	uint32_t stag = 0;
	struct bench b = set_up_sized(8);

	struct ri_mr_init init = whole(&b, ALL);
	for (guint round = 0; round < 100; round++) {
		for (guint i = 0; i < 8; i++)
			mr[i] = reg_all(&b, &stag);
		g_assert_cmpint(vsw_mr_reg(b.table, &pd_a, 1, &init, &more, &stag), ==,
				RI_ERR_RESOURCES);
		for (guint i = 0; i < 8; i++)
			g_assert_cmpint(vsw_mr_dereg(mr[i]), ==, RI_SUCCESS);
	}
	tear_down(&b);
	struct vsw_mem_table *none = NULL;
	g_assert_cmpint(vsw_mem_table_create(NULL, 0, RI_KEY_CONSUMER, &none), ==, RI_ERR_LIMIT);
	g_assert_cmpint(vsw_mem_table_create(NULL, 65537, RI_KEY_CONSUMER, &none), ==,
			RI_ERR_LIMIT);
}

/* All 65536 at once: all different, all found, none of them index 0. */
static void
test_many(void)
{
	struct vsw_mem_entry **mr = g_new0(struct vsw_mem_entry *, 65536);
	g_autofree uint32_t *stags = g_new0(uint32_t, 65536);
	GHashTable *seen = g_hash_table_new(NULL, NULL);
	struct bench b = set_up_sized(65536);

	struct ri_mr_init init = whole(&b, ALL);
	for (guint i = 0; i < 65536; i++) {
		g_assert_cmpint(vsw_mr_reg(b.table, &pd_a, 1, &init, &mr[i], &stags[i]), ==,
				RI_SUCCESS);
		g_assert_cmpuint(stags[i] >> 8, !=, 0);
		g_assert_true(g_hash_table_add(seen, GUINT_TO_POINTER(stags[i])));
	}
	g_assert_cmpint(vsw_mr_reg(b.table, &pd_a, 1, &init, &mr[0], &stags[0]), ==,
			RI_ERR_RESOURCES);
	for (guint i = 0; i < 65536; i++) {
		g_assert_cmpint(check_access(&b, &alice, ACCESS(stags[i], at(&b, 0), 1, RR)), ==,
				VSW_MEM_OK);
		g_assert_cmpint(vsw_mr_dereg(mr[i]), ==, RI_SUCCESS);
	}
	tear_down(&b);
	g_hash_table_unref(seen);
	g_free(mr);
}

/* --- invalidation ------------------------------------------------------------------------ */

static void
test_invalidate_region(void)
{
	struct ri_mr_attr attr;
	uint32_t stag = 0;
	struct bench b RI_AT_END(tear_down) = set_up();

	struct vsw_mem_entry *mr = reg_all(&b, &stag);
	g_assert_cmpint(vsw_mem_invalidate(b.table, &carol, stag, false), ==, VSW_MEM_PD);
	g_assert_cmpint(vsw_mem_invalidate(b.table, &alice, stag ^ 1, false), ==, VSW_MEM_STAG);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(stag, at(&b, 0), 1, RR)), ==, VSW_MEM_OK);
	g_assert_cmpint(vsw_mem_invalidate(b.table, &bob, stag, true), ==, VSW_MEM_OK);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(stag, at(&b, 0), 1, RR)), ==, VSW_MEM_STAG);
	vsw_mr_query(mr, &attr);
	g_assert_false(attr.valid);
	/* A second invalidation succeeds, whatever the key octet. */
	g_assert_cmpint(vsw_mem_invalidate(b.table, &alice, stag ^ 1, false), ==, VSW_MEM_OK);
	g_assert_cmpint(vsw_mr_dereg(mr), ==, RI_SUCCESS);
	g_assert_cmpint(vsw_mem_invalidate(b.table, &alice, stag, false), ==, VSW_MEM_STAG);

	struct ri_mr_init init = whole(&b, LR | LW);
	mr = reg(&b, &init, &stag);
	g_assert_cmpint(vsw_mem_invalidate(b.table, &alice, stag, true), ==, VSW_MEM_ACCESS);
	g_assert_cmpint(vsw_mem_invalidate(b.table, &alice, stag, false), ==, VSW_MEM_OK);
	g_assert_cmpint(vsw_mr_dereg(mr), ==, RI_SUCCESS);

	init = whole(&b, ALL);
	init.shareable = true;
	mr = reg(&b, &init, &stag);
	g_assert_cmpint(vsw_mem_invalidate(b.table, &alice, stag, false), ==, VSW_MEM_ACCESS);
	g_assert_cmpint(vsw_mr_dereg(mr), ==, RI_SUCCESS);

	init = whole(&b, ALL);
	init.unlinked = true;
	mr = reg(&b, &init, &stag);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(stag, at(&b, 0), 1, LR)), ==, VSW_MEM_STAG);
	g_assert_cmpuint(vth_attached(b.vth), ==, 0);
	g_assert_cmpint(vsw_mr_dereg(mr), ==, RI_SUCCESS);
}

/* --- threads ----------------------------------------------------------------------------- */

struct race {
	struct bench b;
	_Atomic uint32_t stag;
	atomic_bool stop;
	atomic_bool open; /* memory may be accessed now */
	atomic_uint touched;
};

static void *
toucher(void *arg)
{
	struct race *race = arg;

	while (!atomic_load(&race->stop)) {
		struct vsw_mem_use use;
		uint32_t stag = atomic_load(&race->stag);
		if (begin(&race->b, &alice, ACCESS(stag, at(&race->b, 0), 8, RW), &use) !=
		    VSW_MEM_OK)
			continue;
		g_assert_true(atomic_load(&race->open));
		atomic_fetch_add(&race->touched, 1);
		vsw_mem_end(&use);
	}
	return NULL;
}

/* While threads access memory by its key, the key is revoked in each possible way. */
static void
test_nothing_after_revocation(void)
{
	struct race race = {.stag = 1};
	pthread_t thread[2];
	uint32_t stag = 0;

	race.b = set_up();
	for (guint i = 0; i < G_N_ELEMENTS(thread); i++)
		g_assert_cmpint(pthread_create(&thread[i], NULL, toucher, &race), ==, 0);
	struct ri_mr_init init = whole(&race.b, ALL);
	for (guint round = 0; round < 600; round++) {
		atomic_store(&race.open, true);
		struct vsw_mem_entry *mr = reg(&race.b, &init, &stag);
		atomic_store(&race.stag, stag);
		/* Both threads are at it, so one of them is likely to be in an access when the key is revoked. */
		guint before = atomic_load(&race.touched);
		gint64 until = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;
		while (atomic_load(&race.touched) - before < G_N_ELEMENTS(thread)) {
			g_assert_cmpint(g_get_monotonic_time(), <, until);
			sched_yield();
		}
		if (round % 3 == 0)
			g_assert_cmpint(vsw_mem_invalidate(race.b.table, &alice, stag, false), ==,
					VSW_MEM_OK);
		if (round % 3 == 1)
			g_assert_cmpint(vsw_mr_rereg(mr, &pd_b, &init, &stag), ==, RI_SUCCESS);
		if (round % 3 != 2)
			atomic_store(&race.open, false);
		g_assert_cmpint(vsw_mr_dereg(mr), ==, RI_SUCCESS);
		atomic_store(&race.open, false);
	}
	atomic_store(&race.stop, true);
	for (guint i = 0; i < G_N_ELEMENTS(thread); i++)
		pthread_join(thread[i], NULL);
	tear_down(&race.b);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/vsw/mem/access", test_access);
	g_test_add_func("/vsw/mem/order-of-checks", test_order_of_checks);
	g_test_add_func("/vsw/mem/empty-is-free", test_empty_is_free);
	g_test_add_func("/vsw/mem/rights", test_rights);
	g_test_add_func("/vsw/mem/registration-refused", test_registration_refused);
	g_test_add_func("/vsw/mem/zero-based", test_zero_based);
	g_test_add_func("/vsw/mem/iova", test_iova);
	g_test_add_func("/vsw/mem/iova-refused", test_iova_refused);
	g_test_add_func("/vsw/mem/reregister", test_reregister);
	g_test_add_func("/vsw/mem/reregister-same-key", test_reregister_same_key);
	g_test_add_func("/vsw/mem/direct", test_direct);
	g_test_add_func("/vsw/mem/copy-through-host", test_copy_through_host);
	g_test_add_func("/vsw/mem/table-full", test_table_full);
	g_test_add_func("/vsw/mem/many", test_many);
	g_test_add_func("/vsw/mem/invalidate-region", test_invalidate_region);
	g_test_add_func("/vsw/mem/nothing-after-revocation", test_nothing_after_revocation);
	return g_test_run();
}
