/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Atomics on a real adapter ([IT 7.1], [IT 7.8], [IT 15.7]; RFC 7306). */

#include <string.h>

#include "it_window.h"

#define WORD 64 /* offset of the word in the passive end's buffer */

static uint64_t
word_of(const struct end *end, size_t at)
{
	uint64_t value;

	memcpy(&value, end->buffer + at, sizeof(value));
	return value;
}

static void
set_word(const struct end *end, size_t at, uint64_t value)
{
	memcpy(end->buffer + at, &value, sizeof(value));
}

static bool
skipped(const struct pair *pair)
{
	if (pair->active.info->atomic_support)
		return false;
	pair_inapplicable("atomics is not claimed");
	return true;
}

static it_status_t
atomic(struct pair *pair, it_atomic_op_t op, uint64_t value, uint64_t compare)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_lmr_triplet_t result = end_segment(a, 0, 8);

	return it_post_atomic(a->ep, op, value, compare, &result, 4, SIGNALED,
			      it_make_rdma_addr_absolute(b->buffer + WORD), b->context);
}

/* Fetch-and-add and compare-and-swap return the former value, and store the right one. */
static void
test_values(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_event_t event;

	if (skipped(pair))
		return;
	pair_establish(pair);
	set_word(b, WORD, UINT64_C(0x1122334455667788));
	g_assert_cmpint(atomic(pair, IT_FETCH_AND_ADD, 0x10, 0), ==, IT_SUCCESS);
	event = end_done(a->request, IT_DTO_FETCH_ADD_CMPL_EVENT, 4, IT_DTO_SUCCESS);
	g_assert_cmpuint(event.dto_cmpl.transferred_length, ==, 8);
	g_assert_cmphex(word_of(a, 0), ==, UINT64_C(0x1122334455667788));
	g_assert_cmphex(word_of(b, WORD), ==, UINT64_C(0x1122334455667798));
	g_assert_cmpint(atomic(pair, IT_FETCH_AND_ADD, UINT64_MAX, 0), ==, IT_SUCCESS);
	end_done(a->request, IT_DTO_FETCH_ADD_CMPL_EVENT, 4, IT_DTO_SUCCESS);
	g_assert_cmphex(word_of(b, WORD), ==, UINT64_C(0x1122334455667797));
	/* The comparison fails: the word does not change. */
	g_assert_cmpint(atomic(pair, IT_COMPARE_AND_SWAP, 5, 6), ==, IT_SUCCESS);
	end_done(a->request, IT_DTO_CMP_SWAP_CMPL_EVENT, 4, IT_DTO_SUCCESS);
	g_assert_cmphex(word_of(a, 0), ==, UINT64_C(0x1122334455667797));
	g_assert_cmphex(word_of(b, WORD), ==, UINT64_C(0x1122334455667797));
	g_assert_cmpint(atomic(pair, IT_COMPARE_AND_SWAP, 5, UINT64_C(0x1122334455667797)), ==,
			IT_SUCCESS);
	end_done(a->request, IT_DTO_CMP_SWAP_CMPL_EVENT, 4, IT_DTO_SUCCESS);
	g_assert_cmphex(word_of(a, 0), ==, UINT64_C(0x1122334455667797));
	g_assert_cmphex(word_of(b, WORD), ==, 5);
	pair_disconnect(pair);
}

/* More atomics than may be outstanding, mixed with Reads: all are carried out, in order. */
static void
test_many(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_rdma_addr_t addr = it_make_rdma_addr_absolute(b->buffer + WORD);

	if (skipped(pair))
		return;
	pair_establish(pair);
	set_word(b, WORD, 0);
	memset(a->buffer, 0xee, 32);       /* where the results will be */
	for (uint64_t i = 0; i < 4; i++) { /* as many as the queue holds */
		it_lmr_triplet_t result = end_segment(a, 8 * i, 8);
		it_lmr_triplet_t copy = end_segment(a, 1024 + 8 * i, 8);

		g_assert_cmpint(it_post_atomic(a->ep, IT_FETCH_AND_ADD, i, 0, &result, 2 * i,
					       SIGNALED, addr, b->context),
				==, IT_SUCCESS);
		g_assert_cmpint(
			it_post_rdma_read(a->ep, &copy, 1, 2 * i + 1, SIGNALED, addr, b->context),
			==, IT_SUCCESS);
	}
	for (uint64_t i = 0, sum = 0; i < 4; i++) {
		end_done(a->request, IT_DTO_FETCH_ADD_CMPL_EVENT, 2 * i, IT_DTO_SUCCESS);
		g_assert_cmpuint(word_of(a, 8 * i), ==, sum);
		sum += i;
		end_done(a->request, IT_DTO_RDMA_READ_CMPL_EVENT, 2 * i + 1, IT_DTO_SUCCESS);
		g_assert_cmpuint(word_of(a, 1024 + 8 * i), >=, sum);
	}
	g_assert_cmpuint(word_of(b, WORD), ==, 6);
	pair_disconnect(pair);
}

/* Posts of atomics check their operands, flags and rights. */
static void
test_checks(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_rdma_addr_t addr = it_make_rdma_addr_absolute(b->buffer + WORD);
	it_lmr_triplet_t result = end_segment(a, 0, 8), bad = result;

#define POST(ep, op, segment, flags, where) \
	it_post_atomic(ep, op, 1, 0, segment, 1, flags, where, b->context)
	g_assert_cmpint(POST(NULL, IT_FETCH_AND_ADD, &result, 0, addr), ==, IT_ERR_INVALID_EP);
	if (!a->info->atomic_support) {
		g_assert_cmpint(POST(a->ep, IT_FETCH_AND_ADD, &result, 0, addr), ==,
				IT_ERR_OP_NOT_SUPPORTED);
		return;
	}
	g_assert_cmpint(POST(a->ep, IT_FETCH_AND_ADD, &result, 0, addr), ==,
			IT_ERR_INVALID_EP_STATE);
	pair_establish(pair);
	g_assert_cmpint(POST(a->ep, (it_atomic_op_t)7, &result, 0, addr), ==,
			IT_ERR_INVALID_ATOMIC_OP);
	g_assert_cmpint(POST(a->ep, IT_FETCH_AND_ADD, NULL, 0, addr), ==, IT_ERR_FAULT);
	bad.length = 4;
	g_assert_cmpint(POST(a->ep, IT_FETCH_AND_ADD, &bad, 0, addr), ==, IT_ERR_INVALID_LENGTH);
	g_assert_cmpint(POST(a->ep, IT_FETCH_AND_ADD, &result, 0, addr + 4), ==,
			IT_ERR_INVALID_ADDRESS);
	bad = result;
	bad.lmr = (it_lmr_handle_t)a->ep;
	g_assert_cmpint(POST(a->ep, IT_FETCH_AND_ADD, &bad, 0, addr), ==, IT_ERR_INVALID_LMR);
	g_assert_cmpint(POST(a->ep, IT_FETCH_AND_ADD, &result, IT_SOLICITED_WAIT_FLAG, addr), ==,
			IT_ERR_INVALID_DTO_FLAGS);
	it_status_t status = IT_SUCCESS;
	unsigned posted = 0;
	for (; posted < 100000 && status == IT_SUCCESS; posted++)
		status = POST(a->ep, IT_FETCH_AND_ADD, &result, SIGNALED, addr);
	g_assert_cmpint(status, ==, IT_ERR_TOO_MANY_POSTS);
	while (posted-- > 1)
		end_expect(a->request, IT_DTO_FETCH_ADD_CMPL_EVENT);
	pair_disconnect(pair);
	g_assert_cmpint(POST(a->ep, IT_FETCH_AND_ADD, &result, SIGNALED, addr), ==, IT_SUCCESS);
	end_done(a->request, IT_DTO_FETCH_ADD_CMPL_EVENT, 1, IT_DTO_ERR_FLUSHED);
#undef POST
}

/* Without the right, and out of bounds: both ends break and the word does not change. */
static void
test_refused(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_lmr_triplet_t result = end_segment(a, 0, 8);
	it_rmr_context_t plain = 0;
	it_lmr_handle_t lmr;

	if (skipped(pair))
		return;
	g_assert_cmpint(it_lmr_create21(b->pz, b->buffer, NULL, 4096, IT_ADDR_MODE_ABSOLUTE,
					IT_PRIV_LOCAL | IT_PRIV_REMOTE, IT_LMR_FLAG_NONE, 0, &lmr,
					&plain),
			==, IT_SUCCESS);
	for (int i = 0; i < 2; i++) {
		pair_establish(pair);
		set_word(b, WORD, 9);
		g_assert_cmpint(it_post_atomic(a->ep, IT_FETCH_AND_ADD, 1, 0, &result, 1, SIGNALED,
					       it_make_rdma_addr_absolute(b->buffer +
									  (i ? END_BUFFER : WORD)),
					       i ? b->context : plain),
				==, IT_SUCCESS);
		end_expect(a->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
		end_expect(b->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
		g_assert_cmpint(end_next(a->request).dto_cmpl.dto_status, !=, IT_DTO_SUCCESS);
		g_assert_cmpuint(word_of(b, WORD), ==, 9);
		end_reset(a);
		end_reset(b);
	}
	g_assert_cmpint(it_lmr_free(lmr), ==, IT_SUCCESS);
}

static void
add_tests(void)
{
	pair_add("atomic/values", test_values);
	pair_add("atomic/many", test_many);
	pair_add("atomic/checks", test_checks);
	pair_add("atomic/refused", test_refused);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add_tests);
}
