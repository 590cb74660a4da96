/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Injected faults: a call that fails leaves no object behind, an object that fails raises its
 * event, and an adapter that fails ends its connections. Commands go to the provider through a
 * socket that it connects to (vem_script.c).
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "verbs_bench.h"

/* --- the tester's end of the socket ---------------------------------------------------------------------- */

static struct {
	char *folder, *path;
	int listener, adapter;
} door;

static void
door_open(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	door.folder = g_dir_make_tmp("door-XXXXXX", NULL);
	g_assert_nonnull(door.folder);
	door.path = g_build_filename(door.folder, "socket", NULL);
	g_strlcpy(address.sun_path, door.path, sizeof(address.sun_path));
	door.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	OK(bind(door.listener, (struct sockaddr *)&address, sizeof(address)));
	OK(listen(door.listener, 4));
	g_setenv("ITAPI_EMUL_CONTROL", door.path, TRUE);
}

static void
door_close(void)
{
	close(door.listener);
	unlink(door.path);
	rmdir(door.folder);
	g_free(door.path);
	g_free(door.folder);
}

/* The adapter that was opened last is at the other end, and does what it is told. */
static void
meet(void)
{
	struct pollfd poll_fd = {.fd = door.listener, .events = POLLIN};
	char name[64];

	g_assert_cmpint(poll(&poll_fd, 1, 20000), ==, 1);
	door.adapter = accept(door.listener, NULL, NULL);
	g_assert_cmpint(door.adapter, >=, 0);
	g_assert_cmpint(recv(door.adapter, name, sizeof(name), 0), >, 0);
}

static void
tell(const char *command)
{
	char answer[512];
	ssize_t got;

	g_assert_cmpint(send(door.adapter, command, strlen(command), 0), ==,
			(gssize)strlen(command));
	got = recv(door.adapter, answer, sizeof(answer) - 1, 0);
	g_assert_cmpint(got, >, 0);
	answer[got] = '\0';
	g_assert_cmpstr(answer, ==, "ok");
}

static void
scene_open(struct bench *bench)
{
	bench_open(bench);
	meet();
}

static void
scene_close(struct bench *bench)
{
	bench_close(bench);
	close(door.adapter);
}

static void
expect_event(struct bench *bench, enum ibv_event_type type, const void *element)
{
	struct ibv_async_event event;

	OK(ibv_get_async_event(bench->context, &event));
	g_assert_cmpint(event.event_type, ==, type);
	if (element != NULL)
		g_assert_true(event.element.qp == element);
	else
		g_assert_cmpint(event.element.port_num, ==, type == IBV_EVENT_DEVICE_FATAL ? 0 : 1);
	ibv_ack_async_event(&event);
}

/* --- calls that fail -------------------------------------------------------------------------------------- */

/* What a call says that fails below, and that it works the next time. */
static void
test_calls(void)
{
	struct ibv_srq_init_attr srq_init = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_ah_attr way = {.port_num = 1, .is_global = 1};
	struct ibv_qp_init_attr init;
	struct ibv_srq_attr srq_attr;
	struct ibv_qp_attr attr;
	struct ibv_srq *srq;
	struct bench bench RI_AT_END(scene_close);
	struct ibv_qp *qp;

	scene_open(&bench);
	init = bench_init(&bench, IBV_QPT_RC);
	OK(ibv_query_gid(bench.context, 1, 0, &way.grh.dgid));
	tell("call pd_create 1 resources");
	NO_OBJECT(ibv_alloc_pd(bench.context), ENOMEM);
	tell("call cq_create 1 resources");
	NO_OBJECT(ibv_create_cq(bench.context, 4, NULL, bench.channel, 0), ENOMEM);
	g_assert_cmpint(bench.channel->refcnt, ==, 1);
	tell("call cq_resize 1 resources");
	g_assert_cmpint(ibv_resize_cq(bench.cq, 1000), ==, ENOMEM);
	tell("call srq_create 1 resources");
	NO_OBJECT(ibv_create_srq(bench.pd, &srq_init), ENOMEM);
	tell("call qp_create 1 resources");
	NO_OBJECT(ibv_create_qp(bench.pd, &init), ENOMEM);
	tell("call mr_reg 1 resources");
	NO_OBJECT(ibv_reg_mr(bench.pd, bench.memory, 100, 0), ENOMEM);
	tell("call mw_alloc 1 resources");
	NO_OBJECT(ibv_alloc_mw(bench.pd, IBV_MW_TYPE_2), ENOMEM);
	tell("call ah_create 1 resources");
	NO_OBJECT(ibv_create_ah(bench.pd, &way), ENOMEM);
	tell("call mr_rereg 1 resources");
	g_assert_cmpint(
		ibv_rereg_mr(bench.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, BENCH_ALL), ==,
		IBV_REREG_MR_ERR_INPUT);
	g_assert_cmpint(errno, ==, ENOMEM);
	srq = ibv_create_srq(bench.pd, &srq_init);
	qp = bench_qp(&bench, IBV_QPT_RC);
	srq_attr.srq_limit = 1;
	tell("call srq_modify 1 resources");
	g_assert_cmpint(ibv_modify_srq(srq, &srq_attr, IBV_SRQ_LIMIT), ==, ENOMEM);
	attr = bench_attr(qp, qp);
	attr.qp_state = IBV_QPS_INIT;
	tell("call qp_modify 1 resources");
	g_assert_cmpint(ibv_modify_qp(qp, &attr, bench_mask(IBV_QPT_RC, IBV_QPS_INIT)), ==, ENOMEM);
	g_assert_cmpint(bench_state(qp), ==, IBV_QPS_RESET);
	OK(ibv_modify_qp(qp, &attr, bench_mask(IBV_QPT_RC, IBV_QPS_INIT)));
	attr.qp_state = IBV_QPS_RTR;
	tell("call peer_receive 1 resources");
	g_assert_cmpint(ibv_modify_qp(qp, &attr, bench_mask(IBV_QPT_RC, IBV_QPS_RTR)), ==, ENOMEM);
	g_assert_cmpint(bench_state(qp), ==, IBV_QPS_INIT);
	OK(ibv_modify_qp(qp, &attr, bench_mask(IBV_QPT_RC, IBV_QPS_RTR)));
	attr.qp_state = IBV_QPS_RTS;
	tell("call peer_send 1 resources");
	g_assert_cmpint(ibv_modify_qp(qp, &attr, bench_mask(IBV_QPT_RC, IBV_QPS_RTS)), ==, ENOMEM);
	g_assert_cmpint(bench_state(qp), ==, IBV_QPS_RTR);
	OK(ibv_destroy_qp(qp));
	OK(ibv_destroy_srq(srq));
}

/* --- objects that fail ------------------------------------------------------------------------------------- */

static void
test_port(void)
{
	struct ibv_port_attr attr;
	struct bench bench RI_AT_END(scene_close);

	scene_open(&bench);
	tell("port down");
	expect_event(&bench, IBV_EVENT_PORT_ERR, NULL);
	OK(ibv_query_port(bench.context, 1, &attr));
	g_assert_cmpint(attr.state, ==, IBV_PORT_DOWN);
	tell("port up");
	expect_event(&bench, IBV_EVENT_PORT_ACTIVE, NULL);
	OK(ibv_query_port(bench.context, 1, &attr));
	g_assert_cmpint(attr.state, ==, IBV_PORT_ACTIVE);
	/* The last of several that nobody has taken says how it is. */
	tell("port down");
	tell("port up");
	tell("port down");
	g_usleep(30000);
	expect_event(&bench, IBV_EVENT_PORT_ACTIVE, NULL);
	expect_event(&bench, IBV_EVENT_PORT_ERR, NULL);
	tell("port up");
	expect_event(&bench, IBV_EVENT_PORT_ACTIVE, NULL);
}

static void
test_queues(void)
{
	struct ibv_srq_init_attr srq_init = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_srq *srq;
	struct bench bench RI_AT_END(scene_close);

	scene_open(&bench);
	srq = ibv_create_srq(bench.pd, &srq_init);
	tell("fail cq last");
	expect_event(&bench, IBV_EVENT_CQ_ERR, bench.cq);
	tell("full cq last");
	expect_event(&bench, IBV_EVENT_CQ_ERR, bench.cq);
	tell("fail srq last");
	expect_event(&bench, IBV_EVENT_SRQ_ERR, srq);
	OK(ibv_destroy_srq(srq));
}

/* Each way in which a queue pair can break, and what it is called. */
static void
test_queue_pairs(void)
{
	static const struct {
		const char *how;
		int type; /* -1: no event */
	} rows[] = {
		{"inside", IBV_EVENT_QP_FATAL},
		{"opcode", IBV_EVENT_QP_REQ_ERR},
		{"access", IBV_EVENT_QP_ACCESS_ERR},
		{"bounds", IBV_EVENT_QP_ACCESS_ERR},
	};
	struct bench bench RI_AT_END(scene_close);

	scene_open(&bench);
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct ibv_qp *a RI_AT_END(bench_qp_end) = bench_qp(&bench, IBV_QPT_RC);
		struct ibv_qp *b RI_AT_END(bench_qp_end) = bench_qp(&bench, IBV_QPT_RC);
		char command[64];

		bench_connect(a, b);
		bench_recv(b, 4, NULL);
		(void)snprintf(command, sizeof(command), "fail qp last %s", rows[i].how);
		tell(command);
		expect_event(&bench, (enum ibv_event_type)rows[i].type, b);
		(void)bench_expect(bench.cq, 4, IBV_WC_WR_FLUSH_ERR);
		g_assert_cmpint(bench_state(b), ==, IBV_QPS_ERR);
	}
}

/* --- adapters that fail --------------------------------------------------------------------------------------- */

static void *
wait_for_event(void *arg)
{
	struct bench *bench = (struct bench *)arg;
	struct ibv_cq *cq;
	void *context;

	g_assert_cmpint(ibv_get_cq_event(bench->channel, &cq, &context), ==, -1);
	g_assert_cmpint(errno, ==, EIO);
	return NULL;
}

/* Every context hears of it, threads that sleep return, calls fail, and everything can be destroyed. */
static void
test_adapter(void)
{
	struct ibv_context *second;
	struct ibv_async_event event;
	struct bench bench;
	pthread_t thread;
	struct ibv_qp *a, *b;

	scene_open(&bench);
	second = ibv_open_device(bench.context->device);
	g_assert_nonnull(second);
	a = bench_qp(&bench, IBV_QPT_RC);
	b = bench_qp(&bench, IBV_QPT_RC);
	bench_connect(a, b);
	bench_recv(b, 4, NULL);
	OK(pthread_create(&thread, NULL, wait_for_event, &bench));
	g_usleep(30000);
	tell("fail adapter");
	OK(pthread_join(thread, NULL));
	/* The ends of its connections are reported first. */
	do {
		OK(ibv_get_async_event(bench.context, &event));
		ibv_ack_async_event(&event);
	} while (event.event_type != IBV_EVENT_DEVICE_FATAL);
	OK(ibv_get_async_event(second, &event));
	g_assert_cmpint(event.event_type, ==, IBV_EVENT_DEVICE_FATAL);
	(void)bench_expect(bench.cq, 4, IBV_WC_WR_FLUSH_ERR);
	UNTIL(bench_move(a, IBV_QPS_ERR) != 0);
	NO_OBJECT(ibv_alloc_pd(bench.context), EIO);
	NO_OBJECT(ibv_create_cq(bench.context, 4, NULL, NULL, 0), EIO);
	NO_OBJECT(ibv_reg_mr(bench.pd, bench.memory, 100, 0), EIO);
	OK(ibv_destroy_qp(a));
	OK(ibv_destroy_qp(b));
	OK(ibv_close_device(second));
	scene_close(&bench);
	/* The next program of the process gets a new adapter. */
	scene_open(&bench);
	scene_close(&bench);
}

int
main(int argc, char **argv)
{
	int result;

	bench_adapter("emul:ib");
	g_test_init(&argc, &argv, NULL);
	door_open();
	g_test_add_func("/door/faults/calls", test_calls);
	g_test_add_func("/door/faults/port", test_port);
	g_test_add_func("/door/faults/queues", test_queues);
	g_test_add_func("/door/faults/queue-pairs", test_queue_pairs);
	g_test_add_func("/door/faults/adapter", test_adapter);
	result = g_test_run();
	door_close();
	return result;
}
