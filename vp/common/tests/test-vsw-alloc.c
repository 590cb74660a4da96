/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Each allocation of each constructor fails in turn: the call returns RI_ERR_RESOURCES and frees everything.
 * The linker redirects the library's allocations to the functions here (--wrap), which count the blocks that
 * are allocated. One thread; allocations of GLib are not counted.
 */
#include <glib.h>
#include <stdlib.h>

#include "vsw_mem_table.h"
#include "vsw_number.h"
#include "vsw_object.h"
#include "vsw_srq.h"
#include "vsw_test_host.h"

int __real_posix_memalign(void **out, size_t alignment, size_t size);
void *__real_calloc(size_t count, size_t size);
void __real_free(void *block);
int __wrap_posix_memalign(void **out, size_t alignment, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void __wrap_free(void *block);

static guint fails_in; /* the n-th allocation from now on fails; 0: none does */
static bool fails_always;
static gint blocks; /* no more allocations succeed */

static bool
fails_now(void)
{
	return fails_always || (fails_in > 0 && --fails_in == 0);
}

int
__wrap_posix_memalign(void **out, size_t alignment, size_t size)
{
	if (fails_now())
		return 12;
	blocks++;
	return __real_posix_memalign(out, alignment, size);
}

void *
__wrap_calloc(size_t count, size_t size)
{
	if (fails_now())
		return NULL;
	blocks++;
	return __real_calloc(count, size);
}

void
__wrap_free(void *block)
{
	blocks -= block != NULL;
	__real_free(block);
}

/* Runs `make` with each allocation failing in turn, until it succeeds; then everything is undone. */
static void
fail_each(enum ri_status (*make)(void *arg), void (*undo)(void *arg), void *arg)
{
	gint before = blocks;

	for (guint n = 1;; n++) {
		fails_in = n;
		enum ri_status status = make(arg);
		bool all = fails_in > 0;
		fails_in = 0;
		if (all) {
			g_assert_cmpint(status, ==, RI_SUCCESS);
			g_assert_cmpuint(n, >, 1);
			break;
		}
		g_assert_cmpint(status, ==, RI_ERR_RESOURCES);
		g_assert_cmpint(blocks, ==, before);
	}
	undo(arg);
	g_assert_cmpint(blocks, ==, before);
}

/* --- queues ------------------------------------------------------------------------------ */

static enum ri_status
wq_make(void *arg)
{
	uint32_t size = 4;

	return vsw_wq_create(arg, &size, 2, 0);
}

static void
wq_undo(void *arg)
{
	vsw_wq_destroy(arg);
}

static enum ri_status
cq_make(void *arg)
{
	uint32_t entries = 4;

	return vsw_cq_create(arg, 1, &entries, NULL);
}

static void
cq_undo(void *arg)
{
	vsw_cq_destroy(arg);
}

static void
test_queues(void)
{
	struct vsw_wq wq;
	struct vsw_cq cq;

	fail_each(wq_make, wq_undo, &wq);
	fail_each(cq_make, cq_undo, &cq);
}

/* A size beyond the limit is refused as such, before memory is asked for. */
static void
test_limits(void)
{
	uint32_t huge = (1u << 24) + 1;
	uint32_t fine = 4;
	struct vsw_wq wq;
	struct vsw_cq cq;

	g_assert_cmpint(vsw_cq_create(&cq, 0, &fine, NULL), ==, RI_SUCCESS);
	fails_always = true;
	g_assert_cmpint(vsw_wq_create(&wq, &huge, 1, 0), ==, RI_ERR_LIMIT);
	g_assert_cmpint(vsw_cq_resize(&cq, &huge), ==, RI_ERR_LIMIT);
	fails_always = false;
	vsw_cq_destroy(&cq);
	fails_always = true;
	g_assert_cmpint(vsw_cq_create(&cq, 0, &huge, NULL), ==, RI_ERR_LIMIT);
	fails_always = false;
	g_assert_cmpint(vsw_wq_create(&wq, &fine, 1, 0), ==, RI_SUCCESS);
	fails_always = true;
	g_assert_cmpint(vsw_wq_reshape(&wq, &huge, 1), ==, RI_ERR_LIMIT);
	fails_always = false;
	vsw_wq_destroy(&wq);
	g_assert_cmpint(blocks, ==, 0);
}

/* Queue numbers of failed creations are available again. */
static void
test_numbers(void)
{
	struct vsw_wq wq;
	uint32_t size = 1;

	fails_always = true;
	for (guint i = 0; i < VSW_NUMBER_SLOTS + 10; i++)
		g_assert_cmpint(vsw_wq_create(&wq, &size, 0, 0), ==, RI_ERR_RESOURCES);
	fails_always = false;
	g_assert_cmpint(vsw_wq_create(&wq, &size, 0, 0), ==, RI_SUCCESS);
	vsw_wq_destroy(&wq);
}

/* A ring that waits to be used, one that was replaced, and one that was refused are freed with their queue. */
static void
test_rings(void)
{
	struct vsw_wq sq, rq;
	struct vsw_cq cq;
	uint32_t size = 4;
	struct ri_qp_init limits = {.max_send_sge = 1, .max_recv_sge = 1};
	struct ri_qp_attr attr = {.max_sq_wr = 16, .max_rq_wr = 1};

	g_assert_cmpint(wq_make(&sq), ==, RI_SUCCESS);
	g_assert_cmpint(wq_make(&rq), ==, RI_SUCCESS);
	atomic_store(&rq.page->head, 2);
	g_assert_cmpint(vsw_wq_reshape_both(&sq, &rq, &limits, &attr), ==, RI_ERR_BUSY);
	g_assert_cmpint(blocks, ==, 2);
	for (size = 8; size <= 64; size *= 2) {
		g_assert_cmpint(vsw_wq_resize(&sq, &size), ==, RI_SUCCESS);
		if (size < 64)
			atomic_store(&sq.page->ring_generation, sq.ring_generation);
		(void)vsw_wq_available(&sq);
	}
	vsw_wq_destroy(&sq);
	vsw_wq_destroy(&rq);
	g_assert_cmpint(blocks, ==, 0);

	g_assert_cmpint(cq_make(&cq), ==, RI_SUCCESS);
	for (guint i = 0; i < 3; i++) {
		size = 8u << i;
		g_assert_cmpint(vsw_cq_resize(&cq, &size), ==, RI_SUCCESS);
		g_assert_cmpint(blocks, ==, 3); /* the page, the ring, the ring before */
	}
	for (guint i = 0; i < 3; i++) {
		const struct vsw_cqe cqe = {.wr_id = i};
		g_assert_true(vsw_cq_push(&cq, &cqe));
	}
	size = 2;
	g_assert_cmpint(vsw_cq_resize(&cq, &size), ==, RI_ERR_BUSY);
	g_assert_cmpint(blocks, ==, 3);
	vsw_cq_destroy(&cq);
	g_assert_cmpint(blocks, ==, 0);
}

/* --- memory ------------------------------------------------------------------------------ */

struct region {
	struct vth *vth;
	struct vsw_mem_table *table;
	struct vsw_mem_entry *mr;
	uint8_t octets[64];
};

static enum ri_status
table_make(void *arg)
{
	struct region *r = arg;

	return vsw_mem_table_create(vth_host(r->vth), 4, RI_KEY_CONSUMER, &r->table);
}

static void
table_undo(void *arg)
{
	struct region *r = arg;

	vsw_mem_table_destroy(r->table);
}

static enum ri_status
region_make(void *arg)
{
	struct region *r = arg;
	uint64_t pages[2] = {(uintptr_t)r->octets, (uintptr_t)r->octets + 32};
	struct ri_mr_init init = {.length = 64,
				  .access = RI_ACCESS_LOCAL_READ,
				  .zero_based = true,
				  .pages = pages,
				  .page_size = 32,
				  .max_pages = 2};
	uint32_t stag;

	return vsw_mr_reg(r->table, r, 1, &init, &r->mr, &stag);
}

static void
region_undo(void *arg)
{
	struct region *r = arg;

	g_assert_cmpint(vsw_mr_dereg(r->mr), ==, RI_SUCCESS);
}

static void
test_memory(void)
{
	struct region r = {.vth = vth_new(false)};
	struct ri_mr_init init = {.addr = (uintptr_t)r.octets,
				  .length = 64,
				  .access = RI_ACCESS_LOCAL_READ,
				  .max_pages = 2};
	uint32_t stag;

	fail_each(table_make, table_undo, &r);
	g_assert_cmpint(table_make(&r), ==, RI_SUCCESS);
	g_assert_cmpint(region_make(&r), ==, RI_SUCCESS);
	region_undo(&r); /* the chunk of entries stays allocated */
	fail_each(region_make, region_undo, &r);
	/* The host refuses the memory: the room for pieces is freed. */
	gint before = blocks;
	vth_attach_answer(r.vth, RI_ERR_ACCESS);
	g_assert_cmpint(vsw_mr_reg(r.table, &r, 1, &init, &r.mr, &stag), ==, RI_ERR_ACCESS);
	g_assert_cmpint(blocks, ==, before);
	vsw_mem_table_destroy(r.table);
	vth_free(&r.vth);
	g_assert_cmpint(blocks, ==, 0);
}

/* What is refused at a limit does not count: one place that is given back is enough for the next one. */
static void
test_counts(void)
{
	atomic_uint count = 0;

	for (unsigned life = 0; life < 3; life++) {
		for (unsigned i = 0; i < 2; i++)
			g_assert_true(vsw_count_up(&count, 2));
		for (unsigned i = 0; i < 5; i++)
			g_assert_false(vsw_count_up(&count, 2));
		g_assert_cmpuint(atomic_load(&count), ==, 2);
		atomic_fetch_sub(&count, 1);
		g_assert_true(vsw_count_up(&count, 2));
		atomic_fetch_sub(&count, 2);
	}
	g_assert_false(vsw_count_up(&count, 0));
	g_assert_cmpuint(atomic_load(&count), ==, 0);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/vsw/alloc/queues", test_queues);
	g_test_add_func("/vsw/alloc/limits", test_limits);
	g_test_add_func("/vsw/alloc/counts", test_counts);
	g_test_add_func("/vsw/alloc/numbers", test_numbers);
	g_test_add_func("/vsw/alloc/rings", test_rings);
	g_test_add_func("/vsw/alloc/memory", test_memory);
	return g_test_run();
}
