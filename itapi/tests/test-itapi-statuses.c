/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Statuses of posts and of registration that no other test covers [IT 15.6], [IT 15.7]. */

#include <string.h>
#include <sys/mman.h>

#include "it_window.h"

static it_status_t
lmr20(const struct end *end, void *addr, it_length_t length, it_mem_priv_t privs,
      it_lmr_flag_t flags)
{
	it_lmr_handle_t lmr = NULL;
	it_status_t status = it_lmr_create20(end->pz, addr, length, IT_ADDR_MODE_ABSOLUTE, privs,
					     flags, 0, &lmr, NULL);

	if (status == IT_SUCCESS)
		g_assert_cmpint(it_lmr_free(lmr), ==, IT_SUCCESS);
	else
		g_assert_null(lmr);
	return status;
}

/* The call that creates regions returns each status that the standard lists. */
static void
test_lmr20(struct pair *pair)
{
	struct end *a = &pair->active;
	it_lmr_handle_t lmr = NULL;
	void *hole = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	g_assert_true(hole != MAP_FAILED);
	g_assert_cmpint(it_lmr_create20(NULL, a->buffer, 64, IT_ADDR_MODE_ABSOLUTE, IT_PRIV_ALL, 0,
					0, &lmr, NULL),
			==, IT_ERR_INVALID_PZ);
	g_assert_cmpint(lmr20(a, a->buffer, 0, IT_PRIV_ALL, 0), ==, IT_ERR_INVALID_LENGTH);
	g_assert_cmpint(lmr20(a, a->buffer, 64, IT_PRIV_NONE, 0), ==, IT_ERR_INVALID_PRIVS);
	g_assert_cmpint(lmr20(a, a->buffer, 64, IT_PRIV_ALL, (it_lmr_flag_t)0x100), ==,
			IT_ERR_INVALID_FLAGS);
	g_assert_cmpint(lmr20(a, a->buffer, UINT64_MAX, IT_PRIV_ALL, 0), ==, IT_ERR_ADDRESS);
	g_assert_cmpint(lmr20(a, hole, 4096, IT_PRIV_LOCAL, 0), ==, IT_ERR_ACCESS);
	g_assert_cmpint(it_lmr_create21(a->pz, hole, NULL, 4096, IT_ADDR_MODE_ABSOLUTE,
					IT_PRIV_LOCAL, 0, 0, &lmr, NULL),
			==, IT_ERR_ACCESS);
	g_assert_cmpint(it_lmr_create21(NULL, a->buffer, NULL, 64, IT_ADDR_MODE_ABSOLUTE,
					IT_PRIV_ALL, 0, 0, &lmr, NULL),
			==, IT_ERR_INVALID_PZ);
	g_assert_cmpint(munmap(hole, 4096), ==, 0);
}

/* Longer than any adapter can register, but not past the end of the address space. */
static void
test_lmr_too_long(struct pair *pair)
{
	struct end *a = &pair->active;
	const it_length_t length = UINT64_C(1) << 63;
	it_lmr_param_t params = {.length = length};
	it_lmr_handle_t lmr = NULL;

	g_assert_cmpint(lmr20(a, a->buffer, length, IT_PRIV_ALL, 0), ==,
			IT_ERR_RESOURCE_LMR_LENGTH);
	g_assert_cmpint(it_lmr_create10(a->pz, a->buffer, length, IT_PRIV_ALL, 0, 0, &lmr, NULL),
			==, IT_ERR_RESOURCE_LMR_LENGTH);
	g_assert_cmpint(it_lmr_create21(a->pz, a->buffer, NULL, length, IT_ADDR_MODE_ABSOLUTE,
					IT_PRIV_ALL, 0, 0, &lmr, NULL),
			==, IT_ERR_RESOURCE_LMR_LENGTH);
	g_assert_cmpint(it_lmr_create10(a->pz, a->buffer, 64, IT_PRIV_ALL, 0, 0, &lmr, NULL), ==,
			IT_SUCCESS);
	g_assert_cmpint(it_lmr_modify(lmr, IT_LMR_PARAM_LENGTH, &params), ==,
			end_has(a, NEEDS_LMR_MODIFY) ? IT_ERR_RESOURCE_LMR_LENGTH
						     : IT_ERR_OP_NOT_SUPPORTED);
	g_assert_cmpint(it_lmr_free(lmr), ==, IT_SUCCESS);
}

static it_status_t
read_it(const struct end *end, const it_lmr_triplet_t *segments, size_t count)
{
	return it_post_rdma_read(end->ep, segments, count, 0, SIGNALED, 0, 1);
}

static it_status_t
unlink_it(const struct end *end, const it_lmr_triplet_t *segments, size_t count,
	  it_dto_flags_t flags)
{
	return it_post_send_and_unlink(end->ep, segments, count, 0, flags, 1);
}

/* Posts return each status that the standard lists. */
static void
test_posts(struct pair *pair)
{
	struct end *a = &pair->active;
	it_lmr_triplet_t good = end_segment(a, 0, 8), null = good, large = good;

	null.lmr = NULL;
	large.length = UINT64_C(1) << 40;
	g_assert_cmpint(read_it(a, &good, 1), ==, IT_ERR_INVALID_EP_STATE);
	pair_establish(pair);
	g_assert_cmpint(read_it(a, &null, 1), ==, IT_ERR_INVALID_LMR);
	g_assert_cmpint(read_it(a, &large, 1), ==, IT_ERR_PAYLOAD_SIZE);
	pair_disconnect(pair);
}

/* Posts that unlink return each status that the standard lists. */
static void
test_unlink_posts(struct pair *pair)
{
	struct end *a = &pair->active;
	it_lmr_triplet_t good = end_segment(a, 0, 8), null = good, large = good;
	it_lmr_triplet_t many[64];

	for (size_t i = 0; i < G_N_ELEMENTS(many); i++)
		many[i] = good;
	null.lmr = NULL;
	large.length = UINT64_C(1) << 40;
	pair_establish(pair);
	g_assert_cmpint(unlink_it(a, &null, 1, 0), ==, IT_ERR_INVALID_LMR);
	g_assert_cmpint(unlink_it(a, many, 64, 0), ==, IT_ERR_INVALID_NUM_SEGMENTS);
	g_assert_cmpint(unlink_it(a, &large, 1, 0), ==, IT_ERR_PAYLOAD_SIZE);
	g_assert_cmpint(unlink_it(a, &good, 1, IT_UNLINK_FENCE_FLAG), ==, IT_ERR_INVALID_DTO_FLAGS);
	pair_disconnect(pair);
}

/* Links whose completions are not dequeued fill the queue; then neither of these has a slot. */
static void
test_full(struct pair *pair)
{
	struct end *a = &pair->active;
	it_lmr_triplet_t good = end_segment(a, 0, 8);
	it_rmr_handle_t rmr = window_make(a, IT_RMR_TYPE_DEFAULT);
	it_rmr_triplet_t sink = {.rmr = rmr, .length = 8};
	it_status_t status = IT_SUCCESS;
	unsigned posted = 0;

	sink.addr.abs = a->buffer;
	pair_establish(pair);
	for (; posted < 100000 && status == IT_SUCCESS; posted++)
		status = it_rmr_unlink(rmr, a->ep, posted, SIGNALED);
	g_assert_cmpint(status, ==, IT_ERR_TOO_MANY_POSTS);
	g_assert_cmpint(unlink_it(a, &good, 1, 0), ==, IT_ERR_TOO_MANY_POSTS);
	g_assert_cmpint(it_post_rdma_read_to_rmr(a->ep, &sink, 1, 0, 0, 0, 1), ==,
			a->info->rdma_read_local_extensions ? IT_ERR_TOO_MANY_POSTS
							    : IT_ERR_OP_NOT_SUPPORTED);
	for (unsigned i = 0; i + 1 < posted; i++)
		end_done(a->request, IT_RMR_LINK_CMPL_EVENT, i, IT_DTO_SUCCESS);
	pair_disconnect(pair);
	g_assert_cmpint(it_rmr_free(rmr), ==, IT_SUCCESS);
}

static void
add_tests(void)
{
	pair_add("statuses/lmr-create20", test_lmr20);
	pair_add("statuses/lmr-too-long", test_lmr_too_long);
	pair_add("statuses/posts", test_posts);
	pair_add_for(NEEDS_REMOTE_UNLINK, "statuses/unlink-posts", test_unlink_posts);
	pair_add_for(NEEDS_WINDOWS | NEEDS_UNLINK | NEEDS_REMOTE_UNLINK, "statuses/full",
		     test_full);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add_tests);
}
