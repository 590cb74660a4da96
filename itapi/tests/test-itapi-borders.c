/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Arguments at their limits: the greatest accepted value, the smallest refused value, NULL, and the values of
 * outputs after a refusal.
 */

#include <string.h>
#include <unistd.h>

#include "it_pair.h"

#define SIGNALED IT_COMPLETION_FLAG
#define LENGTH   4096
#define BAD_LMR  ((it_lmr_handle_t)(uintptr_t)0x1234)

/* --- regions ------------------------------------------------------------------------------- */

/* The status of a registration; a region that was made is freed at once. */
static it_status_t
try_lmr(const struct end *end, void *addr, it_length_t length, unsigned privs, unsigned flags)
{
	it_lmr_handle_t lmr = BAD_LMR;
	it_status_t status =
		it_lmr_create21(end->pz, addr, NULL, length, IT_ADDR_MODE_ABSOLUTE,
				(it_mem_priv_t)privs, (it_lmr_flag_t)flags, 0, &lmr, NULL);

	if (status == IT_SUCCESS)
		pair_ok(it_lmr_free(lmr));
	else
		g_assert_null(lmr);
	return status;
}

/* Registrations at the limits of lengths and addresses are accepted or refused. */
static void
test_registration(struct pair *pair)
{
	struct end *a = &pair->active;
	unsigned char *buffer = a->buffer;

	g_assert_cmpint(try_lmr(a, buffer, LENGTH, IT_PRIV_LOCAL, 0), ==, IT_SUCCESS);
	g_assert_cmpint(try_lmr(a, NULL, LENGTH, IT_PRIV_LOCAL, 0), ==, IT_ERR_FAULT);
	g_assert_cmpint(try_lmr(a, buffer, 0, IT_PRIV_LOCAL, 0), ==, IT_ERR_INVALID_LENGTH);
	g_assert_cmpint(try_lmr(a, buffer, LENGTH, 0, 0), ==, IT_ERR_INVALID_PRIVS);
	g_assert_cmpint(try_lmr(a, buffer, LENGTH, IT_PRIV_LOCAL | 0x4000, 0), ==,
			IT_ERR_INVALID_PRIVS);
	g_assert_cmpint(try_lmr(a, buffer, LENGTH, IT_PRIV_LOCAL_WRITE | IT_PRIV_REMOTE_READ, 0),
			==, IT_ERR_INVALID_PRIVS);
	g_assert_cmpint(try_lmr(a, buffer, LENGTH, IT_PRIV_LOCAL_READ | IT_PRIV_ATOMIC, 0), ==,
			IT_ERR_INVALID_PRIVS);
	g_assert_cmpint(try_lmr(a, buffer, LENGTH, IT_PRIV_LOCAL,
				IT_LMR_FLAG_SHARED | IT_LMR_FLAG_NON_SHAREABLE),
			==, IT_ERR_INVALID_FLAGS);
	if (sizeof(it_length_t) == 8) {
		g_assert_cmpint(try_lmr(a, buffer, (it_length_t)-1, IT_PRIV_LOCAL, 0), ==,
				IT_ERR_ADDRESS);
		g_assert_cmpint(try_lmr(a, (void *)(uintptr_t)LENGTH, ((it_length_t)-1) / 2 + 1,
					IT_PRIV_LOCAL, 0),
				==, IT_ERR_RESOURCE_LMR_LENGTH);
	}
}

/* Attributes of regions at their limits are accepted or refused. */
static void
test_region_attributes(struct pair *pair)
{
	struct end *a = &pair->active;
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	it_lmr_handle_t lmr;
	it_lmr_param_t params = {0};

	pair_ok(it_lmr_create21(a->pz, a->buffer + page - 1, NULL, 2, IT_ADDR_MODE_ABSOLUTE,
				IT_PRIV_LOCAL, IT_LMR_FLAG_NON_SHAREABLE, 0, &lmr, NULL));
	g_assert_cmpint(it_lmr_query(lmr, (it_lmr_param_mask_t)0x40000, &params), ==,
			IT_ERR_INVALID_MASK);
	pair_ok(it_lmr_query(lmr, IT_LMR_PARAM_ALL, &params));
	g_assert_cmpint(params.flags, ==, IT_LMR_FLAG_NON_SHAREABLE);
	/* Both pages that the two octets touch. */
	g_assert_cmpuint((uintptr_t)params.actual_addr, ==, (uintptr_t)params.addr / page * page);
	g_assert_cmpuint((uintptr_t)params.actual_addr + params.actual_length, ==,
			 ((uintptr_t)params.addr + 2 + page - 1) / page * page);
	pair_ok(it_lmr_free(lmr));
}

/* The calls that synchronize memory check each range. */
static void
test_sync(struct pair *pair)
{
	struct end *a = &pair->active;
	it_lmr_triplet_t part = end_segment(a, 0, END_BUFFER);

	pair_ok(it_lmr_flush_to_mem(&part, 1));
	part.length++;
	g_assert_cmpint(it_lmr_flush_to_mem(&part, 1), ==, IT_ERR_RANGE);
	part = end_segment(a, END_BUFFER, 0);
	pair_ok(it_lmr_refresh_from_mem(&part, 1));
	part = end_segment(a, END_BUFFER + 1, 0);
	g_assert_cmpint(it_lmr_refresh_from_mem(&part, 1), ==, IT_ERR_RANGE);
}

/* --- windows ------------------------------------------------------------------------------- */

/* A window serves only endpoints and regions of its own zone. */
static void
test_window_zones(struct pair *pair)
{
	struct end *a = &pair->active;
	it_rmr_context_t context;
	it_pz_handle_t other;
	it_rmr_handle_t rmr;
	it_lmr_handle_t lmr;

	if (it_rmr_create20(a->pz, IT_RMR_TYPE_DEFAULT, &rmr) == IT_ERR_OP_NOT_SUPPORTED) {
		pair_inapplicable("neither mw_narrow nor mw_wide is claimed");
		return;
	}
	pair_ok(it_rmr_free(rmr));
	pair_ok(it_pz_create(a->ia, &other));
	pair_ok(it_rmr_create20(other, IT_RMR_TYPE_DEFAULT, &rmr));
	pair_ok(it_lmr_create21(other, a->buffer, NULL, LENGTH, IT_ADDR_MODE_ABSOLUTE, IT_PRIV_ALL,
				IT_LMR_FLAG_NONE, 0, &lmr, NULL));
	pair_establish(pair);
	/* The window and the region are of one zone, the endpoint is of another. */
	g_assert_cmpint(it_rmr_link(rmr, lmr, a->buffer, 8, IT_ADDR_MODE_ABSOLUTE,
				    IT_PRIV_REMOTE_READ, a->ep, 1, SIGNALED, &context),
			==, IT_ERR_INVALID_PZ);
	pair_ok(it_rmr_free(rmr));
	pair_ok(it_lmr_free(lmr));
	pair_ok(it_rmr_create20(a->pz, IT_RMR_TYPE_DEFAULT, &rmr));
	pair_ok(it_lmr_create21(a->pz, a->buffer, NULL, LENGTH, IT_ADDR_MODE_ABSOLUTE,
				(it_mem_priv_t)(IT_PRIV_LOCAL_WRITE | IT_PRIV_REMOTE_WRITE),
				IT_LMR_FLAG_NONE, 0, &lmr, NULL));
	g_assert_cmpint(it_rmr_link(rmr, lmr, a->buffer, 8, IT_ADDR_MODE_ABSOLUTE,
				    IT_PRIV_REMOTE_READ, a->ep, 1, SIGNALED, &context),
			==, IT_ERR_INVALID_PRIVS);
	g_assert_cmpint(it_rmr_link(rmr, lmr, a->buffer + LENGTH + 1, (it_length_t)-1,
				    IT_ADDR_MODE_ABSOLUTE, IT_PRIV_REMOTE_WRITE, a->ep, 1, SIGNALED,
				    &context),
			==, IT_ERR_RANGE);
	pair_ok(it_rmr_free(rmr));
	pair_ok(it_lmr_free(lmr));
	pair_ok(it_pz_free(other));
}

/* --- transfers ----------------------------------------------------------------------------- */

/* Segments of length 0 name no region, whatever else is wrong with the post. */
static void
test_segments_of_nothing(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	const it_lmr_triplet_t none = {.lmr = BAD_LMR};
	const it_lmr_triplet_t bad = {.lmr = BAD_LMR, .length = 1};

	pair_establish(pair);
	pair_ok(it_post_recv((it_handle_t)b->ep, &none, 1, 1, SIGNALED));
	pair_ok(it_post_send(a->ep, &none, 1, 2, SIGNALED));
	end_done(a->request, IT_DTO_SEND_CMPL_EVENT, 2, IT_DTO_SUCCESS);
	end_done(b->recv, IT_DTO_RC_RECV_CMPL_EVENT, 1, IT_DTO_SUCCESS);
	pair_ok(it_post_send(a->ep, NULL, 0, 3, SIGNALED));
	g_assert_cmpint(it_post_send(a->ep, &none, 1, 2, (it_dto_flags_t)0x8000), ==,
			IT_ERR_INVALID_DTO_FLAGS);
	g_assert_cmpint(it_post_send(a->ep, &bad, 1, 2, (it_dto_flags_t)0x8000), ==,
			IT_ERR_INVALID_LMR);
	g_assert_cmpint(it_post_recv(NULL, &none, 1, 1, SIGNALED), ==, IT_ERR_INVALID_HANDLE);
	g_assert_cmpint(it_post_send(a->ep, NULL, 1, 1, SIGNALED), ==, IT_ERR_FAULT);
}

/* A message of as many octets as the endpoint allows is sent, one octet more is refused. */
static void
test_payload(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_ep_attributes_t attr = a->attr;
	it_lmr_triplet_t parts[2] = {end_segment(a, 0, 60), end_segment(a, 100, 40)};

	attr.max_dto_payload_size = 100;
	pair_ok(it_ep_modify(a->ep, IT_EP_PARAM_MAX_PAYLOAD, &attr));
	pair_establish(pair);
	if (attr.max_send_segments > 1) {
		pair_ok(end_recv(b, 200, 1));
		pair_ok(it_post_send(a->ep, parts, 2, 2, SIGNALED));
		end_done(a->request, IT_DTO_SEND_CMPL_EVENT, 2, IT_DTO_SUCCESS);
		g_assert_cmpuint(end_done(b->recv, IT_DTO_RC_RECV_CMPL_EVENT, 1, IT_DTO_SUCCESS)
					 .dto_cmpl.transferred_length,
				 ==, 100);
		parts[1].length++;
		g_assert_cmpint(it_post_send(a->ep, parts, 2, 2, SIGNALED), ==,
				IT_ERR_PAYLOAD_SIZE);
	}
	/* One segment of as much, and of more. */
	parts[0] = end_segment(a, 0, 100);
	pair_ok(end_recv(b, 200, 3));
	pair_ok(it_post_send(a->ep, parts, 1, 4, SIGNALED));
	end_done(a->request, IT_DTO_SEND_CMPL_EVENT, 4, IT_DTO_SUCCESS);
	parts[0].length++;
	g_assert_cmpint(it_post_send(a->ep, parts, 1, 4, SIGNALED), ==, IT_ERR_PAYLOAD_SIZE);
	g_assert_cmpint(it_post_rdma_write(a->ep, parts, 1, 4, SIGNALED, 0, 0), ==,
			IT_ERR_PAYLOAD_SIZE);
	/* No segment at all. */
	pair_ok(end_recv(b, 200, 5));
	pair_ok(it_post_send(a->ep, NULL, 0, 6, SIGNALED));
	end_done(a->request, IT_DTO_SEND_CMPL_EVENT, 6, IT_DTO_SUCCESS);
}

/* An attribute of 0 stands for the adapter's limit. */
static void
test_payload_of_the_adapter(struct pair *pair)
{
	struct end *a = &pair->active;
	it_ep_attributes_t attr = a->attr;
	it_ep_param_t params;

	attr.max_dto_payload_size = 0;
	pair_ok(it_ep_modify(a->ep, IT_EP_PARAM_MAX_PAYLOAD, &attr));
	pair_ok(it_ep_query(a->ep, IT_EP_PARAM_ALL, &params));
	g_assert_cmpuint(params.attr.max_dto_payload_size, >, 0);
	g_assert_cmpint(it_ep_modify(a->ep, (it_ep_param_mask_t)0, &attr), ==, IT_ERR_INVALID_MASK);
}

/* Arguments of atomics at their limits are accepted or refused. */
static void
test_atomic_arguments(struct pair *pair)
{
	struct end *a = &pair->active;
	it_lmr_triplet_t result = end_segment(a, 0, 16);
	it_status_t status =
		it_post_atomic(a->ep, IT_FETCH_AND_ADD, 1, 0, &result, 1, SIGNALED, 0, 0);

	if (status == IT_ERR_OP_NOT_SUPPORTED) {
		pair_inapplicable("atomics is not claimed");
		return;
	}
	g_assert_cmpint(status, ==, IT_ERR_INVALID_LENGTH);
	result.lmr = BAD_LMR; /* handles are checked first */
	g_assert_cmpint(it_post_atomic(a->ep, IT_FETCH_AND_ADD, 1, 0, &result, 1, SIGNALED, 0, 0),
			==, IT_ERR_INVALID_LMR);
}

/* --- connections --------------------------------------------------------------------------- */

/* Arguments of connects and accepts at their limits are accepted or refused. */
static void
test_connection_arguments(struct pair *pair)
{
	struct end *a = &pair->active;
	it_listen_handle_t listen = (it_listen_handle_t)(uintptr_t)0x1234;
	it_conn_qual_t qual = pair->qual;
	it_evd_handle_t evd = (it_evd_handle_t)(uintptr_t)0x1234;

	g_assert_cmpint(it_listen_create(NULL, 0, a->cm_req, IT_LISTEN_NO_FLAG, &qual, &listen), ==,
			IT_ERR_INVALID_IA);
	g_assert_null(listen);
	g_assert_cmpint(it_evd_create(NULL, IT_DTO_EVENT_STREAM, IT_EVD_DEQUEUE_NOTIFICATIONS, 1, 1,
				      NULL, &evd, NULL),
			==, IT_ERR_INVALID_IA);
	g_assert_null(evd);
	g_assert_cmpint(
		it_ep_connect(a->ep, NULL, NULL, &pair->qual, IT_CONNECT_FLAG_TWO_WAY, NULL, 0), ==,
		IT_ERR_FAULT);
	g_assert_cmpint(it_reject(0, NULL, 1), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_handoff(NULL, 0, 0), ==, IT_ERR_FAULT);
	g_assert_cmpint(end_state(a), ==, IT_EP_STATE_UNCONNECTED);
}

static void
add_tests(void)
{
	pair_add("borders/registration", test_registration);
	pair_add("borders/region-attributes", test_region_attributes);
	pair_add("borders/sync", test_sync);
	pair_add("borders/window-zones", test_window_zones);
	pair_add("borders/segments-of-nothing", test_segments_of_nothing);
	pair_add("borders/payload", test_payload);
	pair_add("borders/payload-of-the-adapter", test_payload_of_the_adapter);
	pair_add("borders/atomic-arguments", test_atomic_arguments);
	pair_add("borders/connection-arguments", test_connection_arguments);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add_tests);
}
