/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Tests an application's failure paths by injecting faults in front of any adapter, with faulty:NAME of
 * conformance/bad/defects. Only the active side has faults.
 */
#include <string.h>

#include "it_pair.h"

#define SIGNALED IT_COMPLETION_FLAG

static it_ia_handle_t
ia_with(const char *faults)
{
	it_ia_handle_t ia;

	g_assert_true(g_setenv("ITAPI_FAULTY", faults, TRUE));
	ia = pair_ia();
	g_unsetenv("ITAPI_FAULTY");
	return ia;
}

/* As pair_open. */
static void
pair_with(struct pair *pair, const char *faults)
{
	memset(pair, 0, sizeof(*pair));
	g_assert_true(g_setenv("ITAPI_FAULTY", faults, TRUE));
	g_assert_true(end_open(&pair->active));
	g_unsetenv("ITAPI_FAULTY");
	g_assert_true(end_open(&pair->passive));
	end_new_ep(&pair->active);
	end_new_ep(&pair->passive);
	pair_listen(pair);
}

/* The second completion queue cannot be made, the third can. */
static void
test_queue(void)
{
	it_ia_handle_t ia = ia_with("call cq_create 2 resources");
	it_evd_handle_t first = pair_sevd(ia, IT_DTO_EVENT_STREAM, 1), second = NULL;

	g_assert_cmpint(it_evd_create(ia, IT_DTO_EVENT_STREAM, 0, 16, 1, NULL, &second, NULL), ==,
			IT_ERR_RESOURCES);
	second = pair_sevd(ia, IT_DTO_EVENT_STREAM, 1);
	pair_ok(it_evd_free(first));
	pair_ok(it_evd_free(second));
	pair_ok(it_ia_free(ia));
}

/* A registration that fails leaves nothing: its zone can be freed. */
static void
test_registration(void)
{
	static unsigned char buffer[64];
	it_ia_handle_t ia = ia_with("call mr_reg 1 resources; call pd_create 2 resources");
	it_rmr_context_t context;
	it_pz_handle_t pz, other;
	it_lmr_handle_t lmr;

	pair_ok(it_pz_create(ia, &pz));
	g_assert_cmpint(it_pz_create(ia, &other), ==, IT_ERR_RESOURCES);
	g_assert_cmpint(it_lmr_create21(pz, buffer, NULL, sizeof(buffer), IT_ADDR_MODE_ABSOLUTE,
					IT_PRIV_LOCAL, IT_LMR_FLAG_NONE, 0, &lmr, &context),
			==, IT_ERR_RESOURCES);
	pair_ok(it_lmr_create21(pz, buffer, NULL, sizeof(buffer), IT_ADDR_MODE_ABSOLUTE,
				IT_PRIV_LOCAL, IT_LMR_FLAG_NONE, 0, &lmr, &context));
	pair_ok(it_lmr_free(lmr));
	pair_ok(it_pz_free(pz));
	pair_ok(it_ia_free(ia));
}

/* Of three Sends the second is refused; the others arrive. */
static void
test_post(void)
{
	struct pair pair;
	struct end *a = &pair.active, *b = &pair.passive;

	pair_with(&pair, "call post_sq 2 full qp 1");
	pair_ok(end_recv(b, 64, 1));
	pair_ok(end_recv(b, 64, 2));
	pair_establish(&pair);
	pair_ok(end_send(a, 10, 11, SIGNALED));
	g_assert_cmpint(end_send(a, 20, 12, SIGNALED), ==, IT_ERR_TOO_MANY_POSTS);
	pair_ok(end_send(a, 30, 13, SIGNALED));
	(void)end_done(a->request, IT_DTO_SEND_CMPL_EVENT, 11, IT_DTO_SUCCESS);
	(void)end_done(a->request, IT_DTO_SEND_CMPL_EVENT, 13, IT_DTO_SUCCESS);
	(void)end_done(b->recv, IT_DTO_RC_RECV_CMPL_EVENT, 1, IT_DTO_SUCCESS);
	g_assert_cmpuint(end_done(b->recv, IT_DTO_RC_RECV_CMPL_EVENT, 2, IT_DTO_SUCCESS)
				 .dto_cmpl.transferred_length,
			 ==, 30);
	pair_disconnect(&pair);
	pair_close(&pair);
}

/* The second completion fails: the connection breaks at both ends. */
static void
test_completion(void)
{
	struct pair pair;
	struct end *a = &pair.active, *b = &pair.passive;

	pair_with(&pair, "complete 2 transport qp 1");
	pair_ok(end_recv(b, 64, 1));
	pair_ok(end_recv(b, 64, 2));
	pair_establish(&pair);
	pair_ok(end_send(a, 10, 11, SIGNALED));
	(void)end_done(a->request, IT_DTO_SEND_CMPL_EVENT, 11, IT_DTO_SUCCESS);
	pair_ok(end_send(a, 20, 12, SIGNALED));
	(void)end_done(a->request, IT_DTO_SEND_CMPL_EVENT, 12, IT_DTO_ERR_TRANSPORT);
	(void)end_expect(a->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	(void)end_expect(b->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	g_assert_cmpint(end_state(a), ==, IT_EP_STATE_NONOPERATIONAL);
	pair_close(&pair);
}

/* A provider that cannot begin an orderly end for want of resources: the connection ends all the same. */
static void
test_disconnect(void)
{
	struct pair pair;
	struct end *a = &pair.active;

	pair_with(&pair, "call disconnect 1 resources");
	pair_establish(&pair);
	pair_ok(it_ep_disconnect(a->ep, NULL, 0));
	(void)end_expect(a->cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	(void)end_next(pair.passive.cm_msg);
	end_reset(a);
	pair_close(&pair);
}

/* Every other call fails, from the first on. */
static void
test_repeat(void)
{
	it_ia_handle_t ia = ia_with("repeat pd_create 2 resources");

	for (unsigned i = 0; i < 3; i++) {
		it_pz_handle_t pz = NULL;

		g_assert_cmpint(it_pz_create(ia, &pz), ==, IT_ERR_RESOURCES);
		pair_ok(it_pz_create(ia, &pz));
		pair_ok(it_pz_free(pz));
	}
	pair_ok(it_ia_free(ia));
}

/* A command that is wrong is refused and the others count. */
static void
test_commands(void)
{
	it_ia_handle_t ia = ia_with("call cq_destroy 1 limit; complete 1 wrong; ; complete x qp;"
				    "call pd_create 1 resources cq; call pd_create 1 limit zz 1;"
				    "call pd_create 1 resources");
	it_pz_handle_t pz;

	g_assert_cmpint(it_pz_create(ia, &pz), ==, IT_ERR_RESOURCES);
	pair_ok(it_pz_create(ia, &pz));
	pair_ok(it_pz_free(pz));
	pair_ok(it_ia_free(ia));
}

static void
add(void)
{
	pair_add_bare("faulty/queue", test_queue);
	pair_add_bare("faulty/registration", test_registration);
	pair_add_bare("faulty/post", test_post);
	pair_add_bare("faulty/completion", test_completion);
	pair_add_bare("faulty/commands", test_commands);
	pair_add_bare("faulty/disconnect", test_disconnect);
	pair_add_bare("faulty/repeat", test_repeat);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
