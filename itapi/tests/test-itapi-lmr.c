/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Regions that are registered again, sharing groups, and coherence of memory [IT 8.4], [IT 8.7], [IT 8.8]. */

#include <string.h>
#include <sys/mman.h>

#include "it_pair.h"

#define SIGNALED IT_COMPLETION_FLAG
#define LENGTH   4096

static it_lmr_handle_t
make(const struct end *end, it_pz_handle_t pz, it_mem_priv_t privs, it_rmr_context_t *context)
{
	it_lmr_handle_t lmr = NULL;

	g_assert_cmpint(it_lmr_create21(pz, end->buffer, NULL, LENGTH, IT_ADDR_MODE_ABSOLUTE, privs,
					IT_LMR_FLAG_NONE, 0, &lmr, context),
			==, IT_SUCCESS);
	return lmr;
}

static it_rmr_context_t
context_of(it_lmr_handle_t lmr)
{
	it_lmr_param_t params;

	g_assert_cmpint(it_lmr_query(lmr, IT_LMR_PARAM_RMR_CONTEXT, &params), ==, IT_SUCCESS);
	return params.rmr_context;
}

/* A modification of a region checks its arguments, and a refused one changes nothing. */
static void
test_modify_checks(struct pair *pair)
{
	struct end *a = &pair->active;
	it_lmr_handle_t lmr = make(a, a->pz, IT_PRIV_ALL, NULL);
	it_lmr_param_t params = {.addr = a->buffer, .length = LENGTH, .privs = IT_PRIV_ALL};
	it_lmr_handle_t shared = NULL;
	void *hole;

	g_assert_cmpint(it_lmr_modify(NULL, IT_LMR_PARAM_LENGTH, &params), ==, IT_ERR_INVALID_LMR);
	g_assert_cmpint(it_lmr_modify(lmr, IT_LMR_PARAM_LENGTH, NULL), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_lmr_modify(lmr, 0, &params), ==, IT_ERR_INVALID_MASK);
	g_assert_cmpint(it_lmr_modify(lmr, IT_LMR_PARAM_ALL, &params), ==, IT_ERR_INVALID_MASK);
	g_assert_cmpint(it_lmr_modify(lmr, IT_LMR_PARAM_FLAG, &params), ==, IT_ERR_INVALID_MASK);
	params.pz = (it_pz_handle_t)a->ep;
	g_assert_cmpint(it_lmr_modify(lmr, IT_LMR_PARAM_PZ, &params), ==, IT_ERR_INVALID_PZ);
	params.pz = pair->passive.pz; /* of another adapter */
	g_assert_cmpint(it_lmr_modify(lmr, IT_LMR_PARAM_PZ, &params), ==, IT_ERR_INVALID_PZ);
	params.addr = NULL;
	g_assert_cmpint(it_lmr_modify(lmr, IT_LMR_PARAM_ADDR, &params), ==, IT_ERR_ADDRESS);
	params.length = 0;
	g_assert_cmpint(it_lmr_modify(lmr, IT_LMR_PARAM_LENGTH, &params), ==,
			IT_ERR_INVALID_LENGTH);
	params.addr_mode = (it_addr_mode_t)7;
	g_assert_cmpint(it_lmr_modify(lmr, IT_LMR_PARAM_ADDR_MODE, &params), ==,
			IT_ERR_INVALID_ADDR_MODE);
	params.privs = IT_PRIV_REMOTE_WRITE;
	g_assert_cmpint(it_lmr_modify(lmr, IT_LMR_PARAM_MEM_PRIV, &params), ==,
			IT_ERR_INVALID_PRIVS);
	hole = mmap(NULL, LENGTH, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	g_assert_true(hole != MAP_FAILED);
	params.addr = hole;
	g_assert_cmpint(it_lmr_modify(lmr, IT_LMR_PARAM_ADDR, &params), ==, IT_ERR_ACCESS);
	g_assert_cmpint(munmap(hole, LENGTH), ==, 0);
	params.addr = (void *)(uintptr_t)64; /* the first page is never mapped */
	g_assert_cmpint(it_lmr_modify(lmr, IT_LMR_PARAM_ADDR, &params), ==, IT_ERR_ADDRESS);
	/* After all refusals it is unchanged. */
	g_assert_cmpint(it_lmr_query(lmr, IT_LMR_PARAM_ALL, &params), ==, IT_SUCCESS);
	g_assert_true(params.addr == a->buffer && params.pz == a->pz);
	g_assert_cmpuint(params.length, ==, LENGTH);
	g_assert_cmpint(params.linked, ==, IT_TRUE);

	/* A member of a sharing group keeps the group's memory. */
	g_assert_cmpint(it_lmr_create20(a->pz, a->buffer, LENGTH, IT_ADDR_MODE_ABSOLUTE,
					IT_PRIV_ALL, IT_LMR_FLAG_SHARED, 7, &shared, NULL),
			==, IT_SUCCESS);
	g_assert_cmpint(it_lmr_modify(shared, IT_LMR_PARAM_MEM_PRIV, &params), ==,
			IT_ERR_OP_NOT_SUPPORTED);
	g_assert_cmpint(it_lmr_free(shared), ==, IT_SUCCESS);
	g_assert_cmpint(it_lmr_free(lmr), ==, IT_SUCCESS);
}

/* The old key is invalid; the new key opens the new range and rights. */
static void
test_modify_keys(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_rmr_context_t before = 0, after;
	it_lmr_handle_t lmr = make(b, b->pz, IT_PRIV_LOCAL, &before);
	it_lmr_param_t params = {.addr = b->buffer + LENGTH,
				 .length = 2 * LENGTH,
				 .privs = IT_PRIV_ALL,
				 .addr_mode = IT_ADDR_MODE_RELATIVE};
	it_lmr_triplet_t out = end_segment(a, 0, 64);

	g_assert_cmpint(it_lmr_modify(lmr,
				      IT_LMR_PARAM_ADDR | IT_LMR_PARAM_LENGTH |
					      IT_LMR_PARAM_MEM_PRIV | IT_LMR_PARAM_ADDR_MODE,
				      &params),
			==, IT_SUCCESS);
	after = context_of(lmr);
	g_assert_cmpuint(after, !=, before);
	pair_establish(pair);
	memset(a->buffer, 0x2b, 64);
	g_assert_cmpint(it_post_rdma_write(a->ep, &out, 1, 1, SIGNALED,
					   it_make_rdma_addr_relative(2 * LENGTH - 64), after),
			==, IT_SUCCESS);
	end_expect(a->request, IT_DTO_RDMA_WRITE_CMPL_EVENT);
	out.length = 0; /* the Read of length 0 behind it proves that it is in place */
	g_assert_cmpint(it_post_rdma_read(a->ep, NULL, 0, 2, SIGNALED, 0, after), ==, IT_SUCCESS);
	end_expect(a->request, IT_DTO_RDMA_READ_CMPL_EVENT);
	g_assert_cmpuint(b->buffer[3 * LENGTH - 1], ==, 0x2b);
	out.length = 64;
	g_assert_cmpint(it_post_rdma_write(a->ep, &out, 1, 3, SIGNALED,
					   it_make_rdma_addr_absolute(b->buffer), before),
			==, IT_SUCCESS);
	end_expect(b->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	end_expect(a->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	end_next(a->request);
	end_reset(a);
	end_reset(b);
	g_assert_cmpint(it_lmr_free(lmr), ==, IT_SUCCESS);
}

/* A region that moves to another zone makes the first zone free. */
static void
test_modify_zone(struct pair *pair)
{
	struct end *a = &pair->active;
	it_pz_handle_t first, second;
	it_lmr_param_t params;
	it_lmr_handle_t lmr;

	g_assert_cmpint(it_pz_create(a->ia, &first), ==, IT_SUCCESS);
	g_assert_cmpint(it_pz_create(a->ia, &second), ==, IT_SUCCESS);
	lmr = make(a, first, IT_PRIV_ALL, NULL);
	params.pz = second;
	g_assert_cmpint(it_pz_free(first), ==, IT_ERR_PZ_BUSY);
	g_assert_cmpint(it_lmr_modify(lmr, IT_LMR_PARAM_PZ, &params), ==, IT_SUCCESS);
	g_assert_cmpint(it_pz_free(first), ==, IT_SUCCESS);
	g_assert_cmpint(it_pz_free(second), ==, IT_ERR_PZ_BUSY);
	g_assert_cmpint(it_lmr_query(lmr, IT_LMR_PARAM_PZ, &params), ==, IT_SUCCESS);
	g_assert_true(params.pz == second);
	g_assert_cmpint(it_lmr_free(lmr), ==, IT_SUCCESS);
	g_assert_cmpint(it_pz_free(second), ==, IT_SUCCESS);
}

/* the members of a group must agree, but group 0 never restricts. */
static void
test_groups(struct pair *pair)
{
	struct end *a = &pair->active;
	it_lmr_handle_t first, other = NULL, any;

#define SHARE(addr, length, id, out) \
	it_lmr_create10(a->pz, addr, length, IT_PRIV_ALL, IT_LMR_FLAG_SHARED, id, out, NULL)
	g_assert_cmpint(SHARE(a->buffer, LENGTH, 5, &first), ==, IT_SUCCESS);
	g_assert_cmpint(SHARE(a->buffer, LENGTH / 2, 5, &other), ==, IT_ERR_INVALID_LENGTH);
	g_assert_cmpint(SHARE(a->buffer + LENGTH, LENGTH, 5, &other), ==, IT_ERR_INVALID_ADDRESS);
	g_assert_cmpint(it_lmr_create20(a->pz, a->buffer + LENGTH, LENGTH, IT_ADDR_MODE_ABSOLUTE,
					IT_PRIV_ALL, IT_LMR_FLAG_SHARED, 5, &other, NULL),
			==, IT_ERR_INVALID_ADDRESS);
	g_assert_cmpint(it_lmr_create21(a->pz, a->buffer + LENGTH, NULL, LENGTH,
					IT_ADDR_MODE_ABSOLUTE, IT_PRIV_ALL, IT_LMR_FLAG_SHARED, 5,
					&other, NULL),
			==, IT_ERR_INVALID_ADDRESS);
	g_assert_null(other);
	g_assert_cmpint(SHARE(a->buffer, LENGTH, 5, &other), ==, IT_SUCCESS);
	g_assert_cmpuint(context_of(first), !=, context_of(other));
	g_assert_cmpint(it_lmr_free(first), ==, IT_SUCCESS);
	g_assert_cmpint(it_lmr_free(other), ==, IT_SUCCESS);
	/* The group ended with its last member. */
	g_assert_cmpint(SHARE(a->buffer, 64, 5, &first), ==, IT_SUCCESS);
	g_assert_cmpint(it_lmr_free(first), ==, IT_SUCCESS);
	g_assert_cmpint(SHARE(a->buffer, LENGTH, 0, &any), ==, IT_SUCCESS);
	g_assert_cmpint(SHARE(a->buffer + 100, 64, 0, &other), ==, IT_SUCCESS);
#undef SHARE
	g_assert_cmpint(it_lmr_free(any), ==, IT_SUCCESS);
	g_assert_cmpint(it_lmr_free(other), ==, IT_SUCCESS);
}

/* On coherent machines flush and refresh only check their arguments. */
static void
test_sync(struct pair *pair)
{
	struct end *a = &pair->active;
	it_lmr_triplet_t piece = end_segment(a, 10, 100);
	static const struct {
		const char *name;
		it_status_t (*run)(const it_lmr_triplet_t *, size_t);
	} calls[] = {{"it_lmr_flush_to_mem", it_lmr_flush_to_mem},
		     {"it_lmr_refresh_from_mem", it_lmr_refresh_from_mem}};

	for (size_t i = 0; i < G_N_ELEMENTS(calls); i++) {
		it_lmr_triplet_t bad = piece;

		g_test_message("%s", calls[i].name);
		g_assert_cmpint(calls[i].run(&piece, 1), ==, IT_SUCCESS);
		g_assert_cmpint(calls[i].run(&piece, 0), ==, IT_ERR_INVALID_NUM_SEGMENTS);
		g_assert_cmpint(calls[i].run(NULL, 1), ==, IT_ERR_FAULT);
		bad.length = END_BUFFER;
		g_assert_cmpint(calls[i].run(&bad, 1), ==, IT_ERR_RANGE);
		bad.lmr = (it_lmr_handle_t)a->pz;
		g_assert_cmpint(calls[i].run(&bad, 1), ==, IT_ERR_INVALID_LMR);
	}
}

static void
add_tests(void)
{
	pair_add_for(NEEDS_LMR_MODIFY, "lmr/modify-checks", test_modify_checks);
	pair_add_for(NEEDS_LMR_MODIFY | NEEDS_RELATIVE, "lmr/modify-keys", test_modify_keys);
	pair_add_for(NEEDS_LMR_MODIFY, "lmr/modify-zone", test_modify_zone);
	pair_add("lmr/r-26-groups", test_groups);
	pair_add("lmr/sync", test_sync);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add_tests);
}
