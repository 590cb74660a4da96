/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The dispatcher: sizes, ids, parents, abilities that a profile does not claim; the event queue; closing a client. */

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "kal_fixture.h"

static uint32_t
make_pd(struct fixture *f)
{
	struct kal_id_rep rep;

	g_assert_cmpint(fixture_call(f, KAL_PD_CREATE, &(struct kal_id_req){f->rnic},
				     sizeof(struct kal_id_req), &rep, sizeof(rep)),
			==, RI_SUCCESS);
	return rep.id;
}

static uint32_t
make_mr(struct fixture *f, uint32_t pd)
{
	static uint8_t memory[64];
	struct kal_mr_req req = {
		.id = pd, .addr = (uint64_t)(uintptr_t)memory, .length = 64, .access = 3};
	struct kal_mr_rep rep;

	g_assert_cmpint(fixture_call(f, KAL_MR_REG, &req, sizeof(req), &rep, sizeof(rep)), ==,
			RI_SUCCESS);
	return rep.id;
}

/* A call leaves errno as it is, whether it succeeds or not: a program that has just read it calls verbs between its own calls. */
static void
test_errno(void)
{
	const struct kal_id_req none = {.id = 0};
	struct kal_msg msg = {
		.call = KAL_PD_DESTROY, .fd = -1, .req = &none, .req_len = sizeof(none)};
	uint32_t pd;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	errno = ELOOP;
	pd = make_pd(&f);
	g_assert_cmpint(errno, ==, ELOOP);
	g_assert_cmpint(kal_call(f.client, &msg), ==, RI_ERR_INVALID_HANDLE);
	g_assert_cmpint(errno, ==, ELOOP);
	g_assert_cmpint(fixture_id(&f, KAL_PD_DESTROY, pd), ==, RI_SUCCESS);
}

/* Every call refuses a request or a reply that is one octet too small, and a request that is too large. */
static void
test_sizes(void)
{
	static uint8_t req[4096], rep[KAL_MESSAGE_MAX];
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	for (uint32_t call = 0; call <= KAL_CALL_COUNT; call++) {
		struct kal_msg msg = {.call = call, .fd = -1, .req = req, .rep = rep};
		bool known = call != KAL_NONE && call < KAL_CALL_COUNT;
		bool served = false;

		for (size_t len = 0; len < sizeof(req); len++) {
			enum ri_status status;

			msg.req_len = len;
			msg.rep_len = sizeof(rep);
			status = kal_call(f.client, &msg);
			if (status != RI_ERR_INVALID_ARG)
				served = true;
			/* Id 0 names no object: no call with it may succeed. */
			if (call != KAL_ADAPTER_LIST)
				g_assert_cmpint(status, !=, RI_SUCCESS);
		}
		g_assert_true(served == known);
		msg.req = NULL;
		g_assert_cmpint(kal_call(f.client, &msg), ==, RI_ERR_INVALID_ARG);
	}
	{
		struct kal_id_req id = {f.rnic};
		struct kal_id_rep out;

		g_assert_cmpint(
			fixture_call(&f, KAL_PD_CREATE, &id, sizeof(id), &out, sizeof(out) - 1), ==,
			RI_ERR_INVALID_ARG);
		g_assert_cmpint(
			fixture_call(&f, KAL_PD_CREATE, &id, sizeof(id) + 1, &out, sizeof(out)), ==,
			RI_ERR_INVALID_ARG);
		g_assert_cmpint(fixture_call(&f, KAL_PD_CREATE, &id, sizeof(id), NULL, sizeof(out)),
				==, RI_ERR_INVALID_ARG);
	}
}

static void
test_adapters(void)
{
	struct {
		struct kal_adapter_list_rep rep;
		struct kal_adapter list[4];
	} list = {0};
	struct kal_msg msg = {.call = KAL_ADAPTER_LIST,
			      .fd = -1,
			      .req = &(struct kal_adapter_list_req){.max = 4},
			      .req_len = sizeof(struct kal_adapter_list_req),
			      .rep = &list,
			      .rep_len = sizeof(list)};
	struct kal_rnic_open_req open = {.name = "nobody"};
	struct kal_rnic_open_rep opened;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	g_assert_cmpint(kal_call(f.client, &msg), ==, RI_SUCCESS);
	g_assert_cmpuint(list.rep.total, ==, 1);
	g_assert_cmpuint(list.rep.filled, ==, 1);
	g_assert_cmpstr(list.list[0].name, ==, "fake");
	g_assert_cmpuint(msg.rep_len, ==, sizeof(list.rep) + sizeof(list.list[0]));
	msg.rep_len = sizeof(list.rep);
	g_assert_cmpint(kal_call(f.client, &msg), ==, RI_SUCCESS);
	g_assert_cmpuint(list.rep.total, ==, 1);
	g_assert_cmpuint(list.rep.filled, ==, 0);

	g_assert_cmpint(
		fixture_call(&f, KAL_RNIC_OPEN, &open, sizeof(open), &opened, sizeof(opened)), ==,
		RI_ERR_NO_DEVICE);
	memset(open.name, 'x', sizeof(open.name));
	g_assert_cmpint(
		fixture_call(&f, KAL_RNIC_OPEN, &open, sizeof(open), &opened, sizeof(opened)), ==,
		RI_ERR_NO_DEVICE);
	/* An adapter that claims abilities for which its provider has no entry. */
	strcpy(open.name, "fake");
	fake_attr.mw_narrow = true;
	g_assert_cmpint(
		fixture_call(&f, KAL_RNIC_OPEN, &open, sizeof(open), &opened, sizeof(opened)), ==,
		RI_ERR_PROVIDER);
	fake_attr.mw_narrow = false;
	g_assert_cmpint(
		fixture_call(&f, KAL_RNIC_OPEN, &open, sizeof(open), &opened, sizeof(opened)), ==,
		RI_SUCCESS);
	g_assert_cmpuint(opened.id, !=, f.rnic);
	g_assert_cmpuint(opened.attr.max_ird, ==, 128);
	g_assert_cmpint(fixture_id(&f, KAL_RNIC_CLOSE, opened.id), ==, RI_SUCCESS);
	g_assert_cmpint(fixture_id(&f, KAL_RNIC_CLOSE, opened.id), ==, RI_ERR_INVALID_HANDLE);
}

/* Ids of another type, of another client, of destroyed objects, and random numbers are refused. */
static void
test_ids(void)
{
	struct fixture f RI_AT_END(fixture_close);
	struct fixture other;
	struct kal_client_params params = {0};
	uint32_t old, next;

	f = fixture_open();
	memset(&other, 0, sizeof(other));
	g_assert_cmpint(kal_client_open(&params, &other.client), ==, RI_SUCCESS);
	g_assert_cmpint(fixture_id(&other, KAL_PD_DESTROY, f.pd), ==, RI_ERR_INVALID_HANDLE);
	kal_client_close(other.client);

	g_assert_cmpint(fixture_id(&f, KAL_PD_DESTROY, f.cq), ==, RI_ERR_INVALID_HANDLE);
	g_assert_cmpint(fixture_id(&f, KAL_CQ_DESTROY, f.pd), ==, RI_ERR_INVALID_HANDLE);
	g_assert_cmpint(fixture_id(&f, KAL_PD_DESTROY, 0), ==, RI_ERR_INVALID_HANDLE);
	for (int i = 0; i < 10000; i++)
		g_assert_cmpint(fixture_id(&f, KAL_MW_FREE, (uint32_t)g_test_rand_int()), ==,
				RI_ERR_INVALID_HANDLE);
	old = make_pd(&f);
	g_assert_cmpint(fixture_id(&f, KAL_PD_DESTROY, old), ==, RI_SUCCESS);
	for (int i = 0; i < 1000; i++) {
		next = make_pd(&f);
		g_assert_cmpuint(next, !=, old);
		g_assert_cmpint(fixture_id(&f, KAL_PD_DESTROY, old), ==, RI_ERR_INVALID_HANDLE);
		g_assert_cmpint(fixture_id(&f, KAL_PD_DESTROY, next), ==, RI_SUCCESS);
	}
}

static void
test_parents(void)
{
	uint32_t pd, mr, qp;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	pd = make_pd(&f);
	mr = make_mr(&f, pd);
	g_assert_cmpint(fixture_id(&f, KAL_PD_DESTROY, pd), ==, RI_ERR_BUSY);
	g_assert_cmpint(fixture_id(&f, KAL_MR_DEREG, mr), ==, RI_SUCCESS);
	g_assert_cmpint(fixture_id(&f, KAL_PD_DESTROY, pd), ==, RI_SUCCESS);
	qp = fixture_qp(&f, 1, 1, 1);
	g_assert_cmpint(fixture_id(&f, KAL_CQ_DESTROY, f.cq), ==, RI_ERR_BUSY);
	g_assert_cmpint(fixture_id(&f, KAL_PD_DESTROY, f.pd), ==, RI_ERR_BUSY);
	g_assert_cmpint(fixture_id(&f, KAL_QP_DESTROY, qp), ==, RI_SUCCESS);
	g_assert_cmpint(fixture_id(&f, KAL_CQ_DESTROY, f.cq), ==, RI_SUCCESS);
}

/* A context names one queue pair: the events of two could not be distinguished. */
static void
test_same_context(void)
{
	struct kal_qp_create_req req = {.init.ctx = 7};
	struct kal_qp_create_rep rep;
	uint32_t qp;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	qp = fixture_qp(&f, 7, 1, 1);
	req.pd = f.pd;
	req.send_cq = req.recv_cq = f.cq;
	g_assert_cmpint(fixture_call(&f, KAL_QP_CREATE, &req, sizeof(req), &rep, sizeof(rep)), ==,
			RI_ERR_INVALID_ARG);
	g_assert_cmpint(fixture_id(&f, KAL_QP_DESTROY, qp), ==, RI_SUCCESS);
	g_assert_cmpint(fixture_call(&f, KAL_QP_CREATE, &req, sizeof(req), &rep, sizeof(rep)), ==,
			RI_SUCCESS);
}

/* Abilities that the profile does not claim are refused. */
static void
test_unclaimed(void)
{
	struct kal_cq_resize_req resize = {.entries = 5};
	struct kal_cq_rep cq;
	struct kal_mw_req mw = {0};
	struct kal_mr_rep mr;
	struct kal_ah_req ah = {0};
	struct kal_ah_rep ah_rep;
	struct kal_mem_map_req map = {0};
	struct kal_mem_map_rep map_rep;
	enum ri_status status;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	resize.id = f.cq;
	mw.pd = ah.id = f.pd;
	map.rnic = f.rnic;
	g_assert_cmpint(fixture_call(&f, KAL_CQ_RESIZE, &resize, sizeof(resize), &cq, sizeof(cq)),
			==, RI_ERR_UNSUPPORTED);
	g_assert_cmpint(fixture_call(&f, KAL_MW_ALLOC, &mw, sizeof(mw), &mr, sizeof(mr)), ==,
			RI_ERR_UNSUPPORTED);
	g_assert_cmpint(fixture_call(&f, KAL_AH_CREATE, &ah, sizeof(ah), &ah_rep, sizeof(ah_rep)),
			==, RI_ERR_UNSUPPORTED);
	status = fixture_call(&f, KAL_MEM_MAP, &map, sizeof(map), &map_rep, sizeof(map_rep));
	g_assert_true(status == RI_ERR_UNSUPPORTED || status == RI_ERR_PERMISSION);
}

/* The size of a registration's lists must be exact to the octet. */
static void
test_lists(void)
{
	struct {
		struct kal_mr_req req;
		uint64_t pages[4];
		uint32_t lengths[4];
	} in = {.req = {.length = 4096, .access = 3, .num_pages = 4, .page_size = 4096}};
	struct kal_mr_rep rep;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	in.req.id = f.pd;
	for (size_t len = sizeof(in.req); len <= sizeof(in); len++) {
		enum ri_status status = fixture_call(&f, KAL_MR_REG, &in, len, &rep, sizeof(rep));

		if (len == sizeof(in.req) + sizeof(in.pages))
			g_assert_cmpint(status, ==, RI_ERR_UNSUPPORTED);
		else
			g_assert_cmpint(status, ==, RI_ERR_INVALID_ARG);
	}
	in.req.num_pages = UINT32_MAX;
	g_assert_cmpint(fixture_call(&f, KAL_MR_REG, &in, sizeof(in), &rep, sizeof(rep)), ==,
			RI_ERR_INVALID_ARG);
}

static void
test_events_of_cqs(void)
{
	struct kal_event event;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	g_assert_true(fixture_silent(&f));
	for (int i = 0; i < 1000; i++)
		fake_fire_cq();
	event = fixture_event(&f);
	g_assert_cmpuint(event.kind, ==, KAL_EVENT_CQ);
	g_assert_cmpuint(event.ctx, ==, 0xc0);
	g_assert_true(fixture_silent(&f)); /* once, however often it was raised */
	fake_fire_cq();
	g_assert_cmpuint(fixture_event(&f).kind, ==, KAL_EVENT_CQ);
	/* Destroying a CQ removes its queued events. */
	fake_fire_cq();
	g_assert_cmpint(fixture_id(&f, KAL_CQ_DESTROY, f.cq), ==, RI_SUCCESS);
	g_assert_true(fixture_silent(&f));
}

static void
test_events_of_objects(void)
{
	struct kal_srq_req req = {.attr = {.ctx = 0x55, .max_wr = 10, .max_sge = 1}};
	struct kal_srq_rep rep;
	struct kal_event event;
	uint32_t qp;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	req.id = f.pd;
	g_assert_cmpint(fixture_call(&f, KAL_SRQ_CREATE, &req, sizeof(req), &rep, sizeof(rep)), ==,
			RI_SUCCESS);
	g_assert_cmpuint(rep.attr.ctx, ==, 0x55);
	qp = fixture_qp(&f, 0x66, 1, 1);
	fake_raise(RI_EVENT_SRQ_LIMIT, RI_OBJECT_SRQ);
	event = fixture_event(&f);
	g_assert_cmpuint(event.kind, ==, KAL_EVENT_ASYNC);
	g_assert_cmpuint(event.ctx, ==, 0x55);
	g_assert_cmpuint(event.u.async.event, ==, RI_EVENT_SRQ_LIMIT);
	fake_raise(RI_EVENT_CQ_OVERFLOW, RI_OBJECT_CQ);
	event = fixture_event(&f);
	g_assert_cmpuint(event.ctx, ==, 0xc0);
	fake_raise(RI_EVENT_QP_RQ_LIMIT, RI_OBJECT_QP);
	event = fixture_event(&f);
	g_assert_cmpuint(event.ctx, ==, 0x66);
	g_assert_cmpuint(event.u.async.event, ==, RI_EVENT_QP_RQ_LIMIT);

	/* Destroying an object removes its queued events; those of other objects stay. */
	fake_raise(RI_EVENT_QP_RQ_LIMIT, RI_OBJECT_QP);
	fake_raise(RI_EVENT_CQ_OVERFLOW, RI_OBJECT_CQ);
	fake_raise(RI_EVENT_SRQ_LIMIT, RI_OBJECT_SRQ);
	g_assert_cmpint(fixture_id(&f, KAL_QP_DESTROY, qp), ==, RI_SUCCESS);
	g_assert_cmpint(fixture_id(&f, KAL_SRQ_DESTROY, rep.id), ==, RI_SUCCESS);
	event = fixture_event(&f);
	g_assert_cmpuint(event.u.async.event, ==, RI_EVENT_CQ_OVERFLOW);
	g_assert_true(fixture_silent(&f));
	fake_raise(RI_EVENT_CQ_OVERFLOW, RI_OBJECT_CQ);
	g_assert_cmpint(fixture_id(&f, KAL_CQ_DESTROY, f.cq), ==, RI_SUCCESS);
	g_assert_true(fixture_silent(&f));
}

/* Nobody takes events: the queue has a limit, and the oldest events are kept. */
static void
test_events_bounded(void)
{
	struct kal_event event;
	unsigned count = 0;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	for (int i = 0; i < 100000; i++)
		fake_raise(RI_EVENT_PORT_CHANGE, RI_OBJECT_PORT);
	fake_fire_cq(); /* this event is never dropped */
	while (kal_next_event(f.client, &event))
		count++;
	g_assert_cmpuint(count, >, 1000);
	g_assert_cmpuint(count, <, 10000);
	g_assert_cmpuint(event.kind, ==, KAL_EVENT_CQ);
}

/* With a kick function every event is announced, from several threads, and none is lost. */
static atomic_int kicks;

static void
kick(void *arg)
{
	(void)arg;
	atomic_fetch_add(&kicks, 1);
}

static void *
fire_many(void *arg)
{
	(void)arg;
	for (int i = 0; i < 2000; i++)
		fake_fire_cq();
	return NULL;
}

static void
test_kick(void)
{
	struct kal_client_params params = {.kick = kick};
	struct fixture f RI_AT_END(fixture_close);
	struct kal_client *quiet;
	struct kal_rnic_open_req open = {.name = "fake"};
	struct kal_rnic_open_rep opened;
	struct kal_cq_create_req cq = {.entries = 1, .ctx = 9};
	struct kal_cq_rep cq_rep;
	struct kal_event event;
	pthread_t threads[3];
	int taken = 0, last;

	memset(&f, 0, sizeof(f));
	g_assert_cmpint(kal_client_open(&params, &quiet), ==, RI_SUCCESS);
	f.client = quiet;
	g_assert_cmpint(kal_client_fd(quiet), ==, -1);
	g_assert_cmpint(
		fixture_call(&f, KAL_RNIC_OPEN, &open, sizeof(open), &opened, sizeof(opened)), ==,
		RI_SUCCESS);
	cq.rnic = opened.id;
	g_assert_cmpint(fixture_call(&f, KAL_CQ_CREATE, &cq, sizeof(cq), &cq_rep, sizeof(cq_rep)),
			==, RI_SUCCESS);
	atomic_store(&kicks, 0);
	for (int i = 0; i < 3; i++)
		g_assert_cmpint(pthread_create(&threads[i], NULL, fire_many, NULL), ==, 0);
	for (int i = 0; i < 2000; i++)
		taken += kal_next_event(quiet, &event);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	last = kal_next_event(quiet, &event);
	taken += last;
	g_assert_cmpint(taken, ==, atomic_load(&kicks));
	fake_fire_cq();
	g_assert_true(kal_next_event(quiet, &event));
}

/* Closing a client destroys all its objects, whatever they are doing. */
static void
test_close(void)
{
	for (int round = 0; round < 20; round++) {
		struct kal_cm_req req;
		uint16_t port = 0, raw_port;
		int raw RI_AT_END(ri_at_end_close) = raw_listen(&raw_port);
		struct fixture f RI_AT_END(fixture_close) = fixture_open();

		make_mr(&f, f.pd);
		fixture_listen(&f, 1, &port, 5);
		fixture_connect_req(&req, fixture_qp(&f, 100, 1, 1), round % 2 != 0, port);
		g_assert_cmpint(fixture_call(&f, KAL_CONNECT, &req, sizeof(req), NULL, 0), ==,
				RI_SUCCESS);
		fixture_connect_req(&req, fixture_qp(&f, 101, 1, 1), false, raw_port);
		g_assert_cmpint(fixture_call(&f, KAL_CONNECT, &req, sizeof(req), NULL, 0), ==,
				RI_SUCCESS);
		if (round % 3 != 0)
			g_usleep((unsigned)round * 100);
	}
}

static void
test_user_half(void)
{
	const struct ri_user_ops *user = NULL;
	const struct ri_fast_ops *fast = NULL;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	g_assert_cmpint(kal_user_half(f.client, f.rnic, &user, &fast), ==, RI_SUCCESS);
	g_assert_nonnull(user->qp_open);
	g_assert_nonnull(fast->post_sq);
	g_assert_false(fast->spin_futile(NULL));
	g_assert_cmpint(kal_user_half(f.client, f.pd, &user, &fast), ==, RI_ERR_INVALID_HANDLE);
	g_assert_true(kal_client_host(f.client) == kal_host_default());
}

static void
test_paths(void)
{
	struct kal_path_query_req req = {
		.peer = {.family = RI_ADDR_IPV4, .octets = {127, 0, 0, 1}}};
	struct kal_path_query_rep rep;
	struct kal_port_query_req port = {0};
	struct ri_port_attr attr;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	port.rnic = req.rnic = f.rnic;
	g_assert_cmpint(fixture_call(&f, KAL_PORT_QUERY, &port, sizeof(port), &attr, sizeof(attr)),
			==, RI_SUCCESS);
	g_assert_cmpuint(attr.num_addrs, ==, 2);
	port.port = 2;
	g_assert_cmpint(fixture_call(&f, KAL_PORT_QUERY, &port, sizeof(port), &attr, sizeof(attr)),
			==, RI_ERR_INVALID_ARG);
	g_assert_cmpint(fixture_call(&f, KAL_PATH_QUERY, &req, sizeof(req), &rep, sizeof(rep)), ==,
			RI_SUCCESS);
	g_assert_cmpuint(rep.count, ==, 1);
	g_assert_cmpmem(rep.local[0].octets, 4, req.peer.octets, 4);
	req.peer.family = RI_ADDR_GID;
	g_assert_cmpint(fixture_call(&f, KAL_PATH_QUERY, &req, sizeof(req), &rep, sizeof(rep)), ==,
			RI_SUCCESS);
	g_assert_cmpuint(rep.count, ==, 0);
	req.port = 9;
	g_assert_cmpint(fixture_call(&f, KAL_PATH_QUERY, &req, sizeof(req), &rep, sizeof(rep)), ==,
			RI_ERR_INVALID_ARG);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	fake_register();
	g_test_add_func("/kal/client/errno", test_errno);
	g_test_add_func("/kal/client/sizes", test_sizes);
	g_test_add_func("/kal/client/adapters", test_adapters);
	g_test_add_func("/kal/client/ids", test_ids);
	g_test_add_func("/kal/client/parents", test_parents);
	g_test_add_func("/kal/client/same-context", test_same_context);
	g_test_add_func("/kal/client/unclaimed", test_unclaimed);
	g_test_add_func("/kal/client/lists", test_lists);
	g_test_add_func("/kal/client/events-of-cqs", test_events_of_cqs);
	g_test_add_func("/kal/client/events-of-objects", test_events_of_objects);
	g_test_add_func("/kal/client/events-bounded", test_events_bounded);
	g_test_add_func("/kal/client/kick", test_kick);
	g_test_add_func("/kal/client/close", test_close);
	g_test_add_func("/kal/client/user-half", test_user_half);
	g_test_add_func("/kal/client/paths", test_paths);
	return g_test_run();
}
