/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Regions made of pieces: registration, fast registration, and accesses that cross pieces. */
#include <pthread.h>

#include "mem_bench.h"
#include "vsw_mem_table.h"

#define PIECES 5

/* Pieces of 100 bytes, in descending order of addresses. */
static void
list_make(struct bench *b, uint64_t *pages)
{
	for (guint i = 0; i < PIECES; i++)
		pages[i] = at(b, 1000 - 200 * i);
}

static struct ri_mr_init
listed(const uint64_t *pages, uint32_t fbo, uint64_t length)
{
	return (struct ri_mr_init){.length = length,
				   .access = ALL,
				   .zero_based = true,
				   .max_pages = PIECES,
				   .pages = pages,
				   .page_size = 100,
				   .fbo = fbo};
}

/* The address of byte `n` of such a region. */
static uint8_t *
octet(struct bench *b, uint32_t fbo, uint64_t n)
{
	n += fbo;
	return b->data + 1000 - 200 * (n / 100) + n % 100;
}

static void
test_pieces(void)
{
	uint64_t pages[PIECES];
	struct vsw_mem_use use;
	uint64_t left = 0;
	uint32_t stag = 0;
	struct bench b RI_AT_END(tear_down) = set_up();

	list_make(&b, pages);
	for (uint32_t fbo = 0; fbo < 100; fbo += 33) {
		struct ri_mr_init init = listed(pages, fbo, 400);
		struct vsw_mem_entry *mr RI_AT_END(mr_end) = reg(&b, &init, &stag);
		g_assert_cmpint(begin(&b, &alice, ACCESS(stag, 0, 400, LW), &use), ==, VSW_MEM_OK);
		g_assert_null(use.ptr);
		for (uint64_t n = 0; n < 400; n++) {
			g_assert_true(vsw_mem_piece(&use, n, &left) == octet(&b, fbo, n));
			g_assert_cmpuint(left, ==, 100 - (n + fbo) % 100);
		}
		vsw_mem_end(&use);
		/* Copies behave as if the region were in one piece, at every offset on both sides. */
		uint8_t out[400], in[400];
		for (guint i = 0; i < 400; i++)
			out[i] = (uint8_t)(i * 7 + fbo);
		g_assert_cmpint(begin(&b, &alice, ACCESS(stag, 5, 390, LW), &use), ==, VSW_MEM_OK);
		g_assert_cmpint(vsw_mem_copy(&use, 3, out, 380, true), ==, RI_SUCCESS);
		g_assert_cmpint(vsw_mem_copy(&use, 3, in, 380, false), ==, RI_SUCCESS);
		g_assert_cmpmem(in, 380, out, 380);
		g_assert_cmpuint(*octet(&b, fbo, 8 + 250), ==, out[250]);
		vsw_mem_end(&use);
		g_assert_cmpint(begin(&b, &alice, ACCESS(stag, 1, 400, LW), &use), ==,
				VSW_MEM_BOUNDS);
		g_assert_cmpint(begin(&b, &carol, ACCESS(stag, 1, 10, LW), &use), ==, VSW_MEM_PD);
	}
	g_assert_cmpuint(vth_attached(b.vth), ==, 0);
}

static enum ri_status
try_list(struct bench *b, const struct ri_mr_init *init)
{
	struct vsw_mem_entry *mr = NULL;
	uint32_t stag = 0;
	enum ri_status status = vsw_mr_reg(b->table, &pd_a, 1, init, &mr, &stag);

	if (status == RI_SUCCESS)
		g_assert_cmpint(vsw_mr_dereg(mr), ==, RI_SUCCESS);
	return status;
}

static void
test_list_refused(void)
{
	uint64_t pages[PIECES];
	uint32_t lengths[PIECES] = {10, 20, 30, 40, 50};
	struct bench b RI_AT_END(tear_down) = set_up();

	list_make(&b, pages);
	struct ri_mr_init init = listed(pages, 0, 500);
	g_assert_cmpint(try_list(&b, &init), ==, RI_SUCCESS);
	init.length = 501;
	g_assert_cmpint(try_list(&b, &init), ==, RI_ERR_INVALID_ARG);
	init = listed(pages, 100, 10);
	g_assert_cmpint(try_list(&b, &init), ==, RI_ERR_INVALID_ARG);
	init = listed(pages, 0, 150);
	init.page_size = 0;
	init.lengths = lengths;
	g_assert_cmpint(try_list(&b, &init), ==, RI_SUCCESS);
	init.length = 151;
	g_assert_cmpint(try_list(&b, &init), ==, RI_ERR_INVALID_ARG);
	init.length = 10;
	lengths[2] = 0;
	g_assert_cmpint(try_list(&b, &init), ==, RI_ERR_INVALID_ARG);
	lengths[2] = 30;
	pages[4] = UINT64_MAX - 10;
	g_assert_cmpint(try_list(&b, &init), ==, RI_ERR_INVALID_ARG);
	init = listed(pages, 0, 10);
	init.unlinked = true; /* one of the two */
	g_assert_cmpint(try_list(&b, &init), ==, RI_ERR_INVALID_ARG);
}

/* --- fast registration -------------------------------------------------------------------- */

static struct vsw_mem_entry *
reg_unlinked(struct bench *b, uint32_t room, uint32_t *stag)
{
	struct ri_mr_init init = {.unlinked = true, .max_pages = room};

	return reg(b, &init, stag);
}

static void
test_fast(void)
{
	struct ri_sge list[PIECES];
	struct vsw_mem_use use;
	struct ri_mr_attr attr;
	uint32_t stag = 0;
	struct bench b RI_AT_END(tear_down) = set_up();
	struct vsw_mem_entry *mr RI_AT_END(mr_end) = reg_unlinked(&b, 3, &stag);

	for (guint i = 0; i < PIECES; i++)
		list[i] = (struct ri_sge){.addr = at(&b, 1000 - 200 * i), .length = 100};
	const struct vsw_mem_fast good = {.stag = stag + 1,
					  .access = LR | LW | RR,
					  .addr = 0x7000,
					  .length = 250,
					  .count = 3,
					  .list = list};
	struct vsw_mem_fast bad;

	g_assert_cmpint(begin(&b, &alice, ACCESS(stag, 0, 1, LR), &use), ==, VSW_MEM_STAG);
	bad = good;
	bad.stag = 0;
	g_assert_cmpint(vsw_mr_fast(b.table, &alice, &bad), ==, VSW_MEM_STAG);
	bad.stag = stag ^ 0x10000;
	g_assert_cmpint(vsw_mr_fast(b.table, &alice, &bad), ==, VSW_MEM_STAG);
	g_assert_cmpint(vsw_mr_fast(b.table, &carol, &good), ==, VSW_MEM_PD);
	bad = good;
	bad.access = RR;
	g_assert_cmpint(vsw_mr_fast(b.table, &alice, &bad), ==, VSW_MEM_ACCESS);
	bad.access = RW | LR;
	g_assert_cmpint(vsw_mr_fast(b.table, &alice, &bad), ==, VSW_MEM_ACCESS);
	bad = good;
	bad.addr = UINT64_MAX;
	g_assert_cmpint(vsw_mr_fast(b.table, &alice, &bad), ==, VSW_MEM_WRAP);
	bad = good;
	bad.count = 4;
	g_assert_cmpint(vsw_mr_fast(b.table, &alice, &bad), ==, VSW_MEM_BOUNDS);
	bad = good;
	bad.length = 301;
	g_assert_cmpint(vsw_mr_fast(b.table, &alice, &bad), ==, VSW_MEM_BOUNDS);
	bad.length = 0;
	g_assert_cmpint(vsw_mr_fast(b.table, &alice, &bad), !=, VSW_MEM_OK);
	vsw_mr_query(mr, &attr);
	g_assert_false(attr.valid);
	g_assert_cmpint(vsw_mr_fast(b.table, &alice, &good), ==, VSW_MEM_OK);
	g_assert_cmpint(vsw_mr_fast(b.table, &alice, &good), ==, VSW_MEM_BOUND);
	vsw_mr_query(mr, &attr);
	g_assert_true(attr.valid);
	g_assert_cmphex(attr.stag, ==, stag + 1);
	g_assert_cmpint(begin(&b, &bob, ACCESS(stag + 1, 0x7000 + 150, 100, RR), &use), ==,
			VSW_MEM_OK);
	uint64_t left;
	g_assert_true(vsw_mem_piece(&use, 0, &left) == b.data + 850);
	vsw_mem_end(&use);
	g_assert_cmpint(begin(&b, &bob, ACCESS(stag + 1, 0x7000, 1, RW), &use), ==, VSW_MEM_ACCESS);
	/* Invalidated, and registered again under another key, in one piece. */
	g_assert_cmpint(vsw_mem_invalidate(b.table, &alice, stag + 1, false), ==, VSW_MEM_OK);
	bad = good;
	bad.stag = stag + 2;
	bad.count = 1;
	bad.length = 90;
	bad.fbo = 10;
	bad.relative = true;
	g_assert_cmpint(vsw_mr_fast(b.table, &alice, &bad), ==, VSW_MEM_OK);
	g_assert_cmpint(begin(&b, &bob, ACCESS(stag + 1, 0x7000, 1, RR), &use), ==, VSW_MEM_STAG);
	g_assert_cmpint(begin(&b, &bob, ACCESS(stag + 2, 0, 90, RR), &use), ==, VSW_MEM_OK);
	g_assert_true(use.ptr == b.data + 1010);
	vsw_mem_end(&use);
}

/* A plain region with room for pieces holds either kind of memory in turn; a shareable region never holds pieces. */
static void
test_plain_then_list(void)
{
	struct ri_mr_init init;
	struct ri_sge list[2];
	struct vsw_mem_use use;
	uint32_t stag = 0;
	struct bench b RI_AT_END(tear_down) = set_up();

	init = whole(&b, ALL);
	init.max_pages = 2;
	struct vsw_mem_entry *mr = reg(&b, &init, &stag);
	list[0] = (struct ri_sge){.addr = at(&b, 3000), .length = 10};
	list[1] = (struct ri_sge){.addr = at(&b, 2000), .length = 10};
	struct vsw_mem_fast fast = {.stag = stag + 1,
				    .access = LR,
				    .length = 20,
				    .relative = true,
				    .count = 2,
				    .list = list};
	g_assert_cmpint(vsw_mr_fast(b.table, &alice, &fast), ==, VSW_MEM_BOUND);
	g_assert_cmpint(vsw_mem_invalidate(b.table, &alice, stag, false), ==, VSW_MEM_OK);
	g_assert_cmpint(vsw_mr_fast(b.table, &alice, &fast), ==, VSW_MEM_OK);
	g_assert_cmpint(begin(&b, &alice, ACCESS(stag + 1, 10, 10, LR), &use), ==, VSW_MEM_OK);
	uint64_t left;
	g_assert_true(vsw_mem_piece(&use, 0, &left) == b.data + 2000);
	vsw_mem_end(&use);
	/* Registered again it is one range. */
	g_assert_cmpint(vsw_mr_rereg(mr, &pd_a, &init, &stag), ==, RI_SUCCESS);
	g_assert_cmpint(begin(&b, &alice, ACCESS(stag, at(&b, 10), 10, LR), &use), ==, VSW_MEM_OK);
	g_assert_true(use.ptr == b.data + 10);
	vsw_mem_end(&use);
	g_assert_cmpint(vsw_mr_dereg(mr), ==, RI_SUCCESS);
	init.shareable = true;
	mr = reg(&b, &init, &stag);
	fast.stag = stag + 1;
	g_assert_cmpint(vsw_mem_invalidate(b.table, &alice, stag, false), ==, VSW_MEM_ACCESS);
	g_assert_cmpint(vsw_mr_fast(b.table, &alice, &fast), ==, VSW_MEM_BOUND);
	g_assert_cmpint(vsw_mr_dereg(mr), ==, RI_SUCCESS);
}

/* A host in which a request runs at the moment when a deregistration detaches the memory. */
static struct {
	struct ri_host table;
	const struct ri_host *real;
	struct bench *b;
	struct vsw_mem_fast fast;
	unsigned tried;
} intruder;

static void
mem_detach_and_register(void *self, struct ri_mem *mem)
{
	intruder.tried++;
	g_assert_cmpint(vsw_mr_fast(intruder.b->table, &alice, &intruder.fast), ==, VSW_MEM_STAG);
	g_assert_cmpint(vsw_mem_invalidate(intruder.b->table, &alice, intruder.fast.stag, false),
			==, VSW_MEM_STAG);
	intruder.real->mem_detach(self, mem);
}

/* A region that is being deregistered gets no memory again. */
static void
test_fast_in_dereg(void)
{
	struct ri_sge list = {.length = 10};
	struct vsw_mem_use use;
	uint32_t stag = 0;
	struct bench b RI_AT_END(tear_down) = set_up();

	list.addr = at(&b, 0);
	struct ri_mr_init init = whole(&b, ALL);
	init.max_pages = 1;
	struct vsw_mem_entry *mr = reg(&b, &init, &stag);
	intruder.b = &b;
	intruder.real = b.table->host;
	intruder.table = *b.table->host;
	intruder.table.mem_detach = mem_detach_and_register;
	intruder.fast = (struct vsw_mem_fast){.stag = stag,
					      .access = LR,
					      .length = 10,
					      .relative = true,
					      .count = 1,
					      .list = &list};
	b.table->host = &intruder.table;
	g_assert_cmpint(vsw_mr_dereg(mr), ==, RI_SUCCESS);
	b.table->host = intruder.real;
	g_assert_cmpuint(intruder.tried, ==, 1);
	g_assert_cmpint(begin(&b, &alice, ACCESS(stag, 0, 1, LR), &use), ==, VSW_MEM_STAG);
}

/* A region of one range cannot be registered fast, not even without pieces. */
static void
test_no_room(void)
{
	uint32_t stag = 0;
	struct bench b RI_AT_END(tear_down) = set_up();
	struct vsw_mem_entry *mr RI_AT_END(mr_end) = reg_all(&b, &stag);

	struct vsw_mem_fast fast = {.stag = stag, .access = LR, .length = 8, .relative = true};
	const struct ri_sge piece = {.addr = at(&b, 0), .length = 8};

	g_assert_cmpint(vsw_mem_invalidate(b.table, &alice, stag, false), ==, VSW_MEM_OK);
	g_assert_cmpint(vsw_mr_fast(b.table, &alice, &fast), ==, VSW_MEM_BOUNDS);
	fast.list = &piece;
	fast.count = 1;
	g_assert_cmpint(vsw_mr_fast(b.table, &alice, &fast), ==, VSW_MEM_BOUNDS);
	g_assert_cmpint(check_access(&b, &alice, ACCESS(stag, 0, 1, LR)), ==, VSW_MEM_STAG);
}

/* --- threads ------------------------------------------------------------------------------ */

struct race {
	struct bench *b;
	atomic_uint stag; /* the newest key */
	atomic_bool stop;
	atomic_uint seen;
};

/* All bytes that it can read through the key are of one registration: the two pieces hold the same number. */
static void *
read_all(void *arg)
{
	struct race *race = arg;
	struct vsw_mem_use use;

	while (!atomic_load(&race->stop)) {
		uint32_t first, second;
		uint32_t stag = atomic_load(&race->stag);
		if (begin(race->b, &alice, ACCESS(stag, 0, 8, LR), &use) != VSW_MEM_OK)
			continue;
		g_assert_cmpint(vsw_mem_copy(&use, 0, &first, 4, false), ==, RI_SUCCESS);
		g_assert_cmpint(vsw_mem_copy(&use, 4, &second, 4, false), ==, RI_SUCCESS);
		vsw_mem_end(&use);
		g_assert_cmpuint(first, ==, second);
		atomic_fetch_add(&race->seen, 1);
	}
	return NULL;
}

static void
test_race(void)
{
	struct bench b;
	struct race race = {.b = &b};
	pthread_t thread[2];
	uint32_t stag = 0;

	b = set_up();
	struct vsw_mem_entry *mr = reg_unlinked(&b, 2, &stag);
	for (uint32_t i = 0; i < 64; i++) {
		memcpy(b.data + i * 4, &i, 4);
		memcpy(b.data + 2048 + i * 4, &i, 4);
	}
	for (guint i = 0; i < 2; i++)
		g_assert_cmpint(pthread_create(&thread[i], NULL, read_all, &race), ==, 0);
	for (uint32_t i = 0; i < 20000 || (atomic_load(&race.seen) == 0 && i < 20000000); i++) {
		const struct ri_sge list[2] = {{.addr = at(&b, i % 64 * 4), .length = 4},
					       {.addr = at(&b, 2048 + i % 64 * 4), .length = 4}};
		const struct vsw_mem_fast fast = {.stag = (stag & ~0xffu) | (i & 0xff),
						  .access = LR,
						  .length = 8,
						  .relative = true,
						  .count = 2,
						  .list = list};
		g_assert_cmpint(vsw_mr_fast(b.table, &alice, &fast), ==, VSW_MEM_OK);
		atomic_store(&race.stag, fast.stag);
		if (i % 64 == 0)
			sched_yield();
		g_assert_cmpint(vsw_mem_invalidate(b.table, &alice, fast.stag, false), ==,
				VSW_MEM_OK);
	}
	atomic_store(&race.stop, true);
	for (guint i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	g_assert_cmpuint(atomic_load(&race.seen), >, 0);
	g_assert_cmpint(vsw_mr_dereg(mr), ==, RI_SUCCESS);
	tear_down(&b);
}

/* The room for pieces is limited, also for privileged callers; a refused call leaves nothing allocated. */
static void
test_room(void)
{
	uint32_t stag = 0;
	struct bench b RI_AT_END(tear_down) = set_up_sized(1);
	struct vsw_mem_entry *mr RI_AT_END(mr_end) = NULL;

	struct ri_mr_init init = {.unlinked = true, .max_pages = VSW_MEM_PIECES + 1};
	g_assert_cmpint(vsw_mr_reg(b.table, &pd_a, 1, &init, &mr, &stag), ==, RI_ERR_LIMIT);
	init.max_pages = UINT32_MAX;
	g_assert_cmpint(vsw_mr_reg(b.table, &pd_a, 1, &init, &mr, &stag), ==, RI_ERR_LIMIT);
	init.max_pages = VSW_MEM_PIECES;
	g_assert_cmpint(vsw_mr_reg(b.table, &pd_a, 1, &init, &mr, &stag), ==, RI_SUCCESS);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/vsw/list/pieces", test_pieces);
	g_test_add_func("/vsw/list/refused", test_list_refused);
	g_test_add_func("/vsw/list/fast", test_fast);
	g_test_add_func("/vsw/list/plain-then-list", test_plain_then_list);
	g_test_add_func("/vsw/list/fast-in-dereg", test_fast_in_dereg);
	g_test_add_func("/vsw/list/room", test_room);
	g_test_add_func("/vsw/list/no-room", test_no_room);
	g_test_add_func("/vsw/list/race", test_race);
	return g_test_run();
}
