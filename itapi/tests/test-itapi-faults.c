/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The fault door of vp/emul itself: verbs that fail once, faults from the environment, and invalid commands. */

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "it_fault.h"
#include "it_window.h"

/* The nth verb fails once, and has changed nothing. */
static void
test_nth_call(struct pair *pair)
{
	struct end *end = &pair->passive;
	struct faults faults;
	it_pz_handle_t first = NULL, second = NULL;

	if (!faults_meet(&faults))
		return;
	fault_say(faults.passive, "call pd_create 2 resources");
	g_assert_cmpint(it_pz_create(end->ia, &first), ==, IT_SUCCESS);
	g_assert_cmpint(it_pz_create(end->ia, &second), ==, IT_ERR_RESOURCES);
	g_assert_null(second);
	g_assert_cmpint(it_pz_create(end->ia, &second), ==, IT_SUCCESS);
	g_assert_cmpint(it_pz_free(first), ==, IT_SUCCESS);
	g_assert_cmpint(it_pz_free(second), ==, IT_SUCCESS);
	faults_part(&faults);
}

static it_rmr_param_t
window_told(it_rmr_handle_t rmr)
{
	it_rmr_param_t told;

	memset(&told, 0, sizeof(told));
	pair_ok(it_rmr_query(rmr, IT_RMR_PARAM_ALL, &told));
	return told;
}

/* A reset that finds no memory for the windows of its endpoint, or that the adapter refuses, changes nothing. */
static void
test_reset_fails(struct pair *pair)
{
	static const char *const refusals[] = {"call mw_alloc 1 resources",
					       "call qp_modify 1 resources"};
	struct end *b = &pair->passive;
	it_rmr_param_t before, after;
	struct faults faults;
	it_rmr_handle_t rmr;

	if (!faults_meet(&faults))
		return;
	pair_establish(pair);
	rmr = window_make(b, IT_RMR_TYPE_NARROW);
	(void)window_link(b, rmr, IT_PRIV_REMOTE_WRITE, IT_ADDR_MODE_ABSOLUTE);
	pair_disconnect(pair);
	before = window_told(rmr);
	for (size_t i = 0; i < G_N_ELEMENTS(refusals); i++) {
		fault_say(faults.passive, refusals[i]);
		g_assert_cmpint(it_ep_reset(b->ep), !=, IT_SUCCESS);
		pair_ok(end_recv(b, 8, 5));
		end_done(b->recv, IT_DTO_RC_RECV_CMPL_EVENT, 5, IT_DTO_ERR_FLUSHED);
		after = window_told(rmr);
		g_assert_true(window_is_linked(rmr));
		g_assert_cmphex(after.rmr_context, ==, before.rmr_context);
	}
	end_reset(b);
	g_assert_false(window_is_linked(rmr));
	pair_ok(it_rmr_free(rmr));
	faults_part(&faults);
}

/* A change of several attributes needs two verbs; if the second fails, the first is undone. */
static void
test_modify_fails(struct pair *pair)
{
	struct end *b = &pair->passive;
	const it_ep_param_mask_t mask =
		(it_ep_param_mask_t)(IT_EP_PARAM_MAX_RECV_DTO | IT_EP_PARAM_MAX_ORD);
	it_ep_attributes_t attr = b->attr;
	it_ep_param_t before, after;
	struct faults faults;
	it_status_t status;
	size_t posted = 0;

	if (!faults_meet(&faults))
		return;
	if (!b->info->ep_work_queues_resizable) {
		pair_inapplicable("wq_resizable is not claimed");
		faults_part(&faults);
		return;
	}
	pair_ok(it_ep_query(b->ep, mask, &before));
	attr.max_recv_dtos = 4 * before.attr.max_recv_dtos;
	g_assert_cmpuint(before.attr.srv.rc.rdma_read_ord, >, 0);
	attr.srv.rc.rdma_read_ord = before.attr.srv.rc.rdma_read_ord - 1;
	fault_say(faults.passive, "call qp_modify 1 resources");
	g_assert_cmpint(it_ep_modify(b->ep, mask, &attr), ==, IT_ERR_RESOURCES);
	pair_ok(it_ep_query(b->ep, mask, &after));
	g_assert_cmpuint(after.attr.max_recv_dtos, ==, before.attr.max_recv_dtos);
	g_assert_cmpuint(after.attr.srv.rc.rdma_read_ord, ==, before.attr.srv.rc.rdma_read_ord);
	while ((status = end_recv(b, 8, posted)) == IT_SUCCESS)
		posted++;
	g_assert_cmpint(status, ==, IT_ERR_TOO_MANY_POSTS);
	g_assert_cmpuint(posted, ==, before.attr.max_recv_dtos);
	pair_ok(it_ep_modify(b->ep, mask, &attr));
	faults_part(&faults);
}

/* The environment gives an adapter faults from the beginning; invalid parts of it are ignored. */
static void
test_environment(void)
{
	it_ia_info_t *info = NULL;
	it_pz_handle_t pz = NULL;
	it_ia_handle_t ia;
	int door;

	g_assert_true(g_setenv("ITAPI_EMUL_FAULTS",
			       "call pd_create 1 resources; be good;; port down; call pd_create",
			       TRUE));
	ia = pair_ia();
	g_unsetenv("ITAPI_EMUL_FAULTS");
	door = fault_meet();
	if (door >= 0) {
		g_assert_cmpint(it_pz_create(ia, &pz), ==, IT_ERR_RESOURCES);
		pair_ok(it_pz_create(ia, &pz));
		pair_ok(it_ia_query(ia, &info));
		g_assert_false(info->spigot_info[0].spigot_online);
		it_ia_info_free(info);
	} else {
		pair_inapplicable("the fault door is of the emulated adapters");
	}
	fault_part(door);
	pair_ok(it_ia_free(ia));
}

/* An invalid command is answered with an error and changes nothing. */
static void
test_bad_commands(struct pair *pair)
{
	static const char *const bad[] = {
		" ",
		"hello",
		"call pd_create 1",
		"call nothing 1 resources",
		"call pd_create 0 resources",
		"call pd_create last resources",
		"call pd_create 1 sorry",
		"port",
		"port sideways",
		"fail",
		"fail qp",
		"fail qp 99",
		"fail qp x",
		"fail qp 1 badly",
		"fail qp 1 inside out",
		"fail cq 99",
		"fail cq 1 2",
		"fail srq last",
		"full srq 1",
		"full adapter",
		"fail adapter now please",
	};
	struct faults faults;

	if (!faults_meet(&faults))
		return;
	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autofree char *answer = fault_query(faults.active, bad[i]);

		g_test_message("%s", bad[i]);
		g_assert_cmpstr(answer, !=, "ok");
	}
	pair_establish(pair);
	pair_disconnect(pair);
	faults_part(&faults);
}

/* Faults while objects are created and destroyed and connections come and go. */
struct churn {
	struct pair *pair;
	atomic_bool stop;
};

static void *
come_and_go(void *arg)
{
	struct churn *churn = arg;
	struct end *end = &churn->pair->passive;

	while (!atomic_load(&churn->stop)) {
		it_evd_handle_t evd = pair_sevd(end->ia, IT_DTO_EVENT_STREAM, 1);
		it_srq_handle_t srq = NULL;
		it_ep_handle_t ep = NULL;
		it_status_t status;

		pair_ok(it_srq_create(end->pz, 1, 4, &srq));
		status = it_ep_rc_create(end->pz, evd, evd, end->cm_msg, IT_EP_NO_FLAG, &end->attr,
					 &ep);
		if (status == IT_SUCCESS) {
			(void)it_ep_connect(ep, &churn->pair->path, NULL, &churn->pair->qual,
					    IT_CONNECT_FLAG_TWO_WAY, NULL, 0);
			pair_ok(it_ep_free(ep));
		} else { /* another thread filled it */
			g_assert_true(status == IT_ERR_INVALID_REQ_EVD_STATE ||
				      status == IT_ERR_INVALID_RECV_EVD_STATE);
		}
		pair_ok(it_srq_free(srq));
		pair_ok(it_evd_free(evd));
	}
	return NULL;
}

/* Objects are created and freed while verbs fail at random, and nothing is left. */
static void
test_churn(struct pair *pair)
{
	static const char *const commands[] = {
		"fail qp last inside", "fail qp 1 gone", "fail cq last",        "full cq last",
		"fail srq last",       "port down",      "fail qp last access", "port up"};
	struct churn churn = {.pair = pair};
	struct faults faults;
	pthread_t thread;

	if (!faults_meet(&faults))
		return;
	g_assert_cmpint(pthread_create(&thread, NULL, come_and_go, &churn), ==, 0);
	for (size_t i = 0; i < 400; i++)
		g_free(fault_query(faults.passive, commands[i % G_N_ELEMENTS(commands)]));
	atomic_store(&churn.stop, true);
	g_assert_cmpint(pthread_join(thread, NULL), ==, 0);
	faults_part(&faults);
}

static void
add(void)
{
	fault_begin();
	pair_add("faults/nth-call", test_nth_call);
	pair_add_for(NEEDS_NARROW | NEEDS_REUSE, "faults/reset-fails", test_reset_fails);
	pair_add("faults/modify-fails", test_modify_fails);
	pair_add("faults/bad-commands", test_bad_commands);
	pair_add_bare("faults/environment", test_environment);
	pair_add_for(NEEDS_SRQ, "faults/churn", test_churn);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
