/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What unmodified programs rely on of rdma_cm, on the adapter that the argument names. */
#include "cm_bench.h"

/* Both sides get the event of the end, and then, with InfiniBand semantics, that of the time-wait. */
static void
expect_ends(struct cm_pair *pair)
{
	unsigned ended = 0, waited = 0;
	struct cm_event event;

	while (ended < 2 || waited < (cm_is_iwarp() ? 0 : 2)) {
		event = cm_next(pair->channel);
		if (event.type == RDMA_CM_EVENT_DISCONNECTED) {
			ended++;
			continue;
		}
		g_assert_cmpstr(rdma_event_str(event.type), ==,
				rdma_event_str(RDMA_CM_EVENT_TIMEWAIT_EXIT));
		g_assert_cmpint(event.status, ==, 0);
		g_assert_cmpuint(waited++, <, ended);
	}
	g_assert_cmpint(g_poll(&(GPollFD){.fd = pair->channel->fd, .events = G_IO_IN}, 1, 100), ==,
			0);
}

static void
test_time_wait(void)
{
	struct cm_pair pair RI_AT_END(cm_finish);

	cm_connect(&pair);
	OK(rdma_disconnect(pair.active));
	expect_ends(&pair);
}

/* Also to one whose queue pair goes first. */
static void
test_time_wait_alone(void)
{
	struct cm_pair pair RI_AT_END(cm_finish);

	cm_connect(&pair);
	rdma_destroy_qp(pair.active);
	expect_ends(&pair);
}

/* What rdma_notify says of an event, before and after the set-up. */
static void
test_notify(void)
{
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct cm_pair pair RI_AT_END(cm_finish);

	cm_ask(&pair, NULL, 0);
	OK(rdma_notify(pair.active, IBV_EVENT_COMM_EST));
	cm_qp(pair.passive);
	OK(rdma_accept(pair.passive, &param));
	cm_expect(pair.channel, RDMA_CM_EVENT_ESTABLISHED, NULL);
	cm_expect(pair.channel, RDMA_CM_EVENT_ESTABLISHED, NULL);
	if (cm_is_iwarp()) {
		OK(rdma_notify(pair.active, IBV_EVENT_COMM_EST));
		OK(rdma_notify(pair.active, IBV_EVENT_PORT_ERR));
	} else {
		FAILS(rdma_notify(pair.active, IBV_EVENT_COMM_EST), EISCONN);
		FAILS(rdma_notify(pair.active, IBV_EVENT_PORT_ERR), EINVAL);
	}
}

static void
move_with(struct rdma_cm_id *id, struct ibv_qp *qp, struct ibv_qp_attr *attr,
	  enum ibv_qp_state state, int more)
{
	struct ibv_qp_attr told = {.qp_state = state};
	int mask;

	OK(rdma_init_qp_attr(id, &told, &mask));
	told.min_rnr_timer = attr->min_rnr_timer;
	told.timeout = attr->timeout;
	OK(ibv_modify_qp(qp, &told, mask | more));
}

/* A program that brings its queue pair up may name attributes beside those of rdma_init_qp_attr. */
static void
test_more_attributes(void)
{
	struct ibv_qp_init_attr init = {
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC};
	struct ibv_qp_attr attr = {.min_rnr_timer = 3, .timeout = 15, .port_num = 1};
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct ibv_qp *own;
	struct cm_pair pair RI_AT_END(cm_finish);

	cm_ask(&pair, NULL, 0);
	init.send_cq = init.recv_cq = ibv_create_cq(pair.passive->verbs, 4, NULL, NULL, 0);
	own = ibv_create_qp(pair.passive->pd, &init);
	g_assert_nonnull(own);
	move_with(pair.passive, own, &attr, IBV_QPS_INIT, 0);
	move_with(pair.passive, own, &attr, IBV_QPS_RTR, IBV_QP_MIN_RNR_TIMER);
	g_assert_cmpint(ibv_modify_qp(own, &attr, IBV_QP_TIMEOUT | IBV_QP_PORT), ==, EINVAL);
	move_with(pair.passive, own, &attr, IBV_QPS_RTS, IBV_QP_TIMEOUT);
	OK(ibv_query_qp(own, &attr, IBV_QP_STATE, &init));
	g_assert_cmpint(attr.qp_state, ==, IBV_QPS_RTS);
	g_assert_cmpuint(attr.min_rnr_timer, ==, 3);
	g_assert_cmpuint(attr.timeout, ==, 15);
	param.qp_num = own->qp_num;
	OK(rdma_accept(pair.passive, &param));
	cm_expect(pair.channel, RDMA_CM_EVENT_ESTABLISHED, NULL);
	cm_expect(pair.channel, RDMA_CM_EVENT_ESTABLISHED, NULL);
	OK(ibv_destroy_qp(own));
	OK(ibv_destroy_cq(init.send_cq));
}

static struct cm_pair
pair_with_tries(const struct rdma_conn_param *asks, const struct rdma_conn_param *answers,
		struct cm_event *answer)
{
	struct cm_pair pair = {.channel = cm_channel()};
	struct cm_event event;

	pair.listener = cm_listener(pair.channel, RDMA_PS_TCP, "127.0.0.1");
	pair.active = cm_active(pair.channel, pair.listener);
	OK(rdma_connect(pair.active, (struct rdma_conn_param *)asks));
	pair.request = cm_expect(pair.channel, RDMA_CM_EVENT_CONNECT_REQUEST, NULL);
	pair.passive = pair.request.id;
	cm_qp(pair.passive);
	OK(rdma_accept(pair.passive, (struct rdma_conn_param *)answers));
	for (unsigned i = 0; i < 2; i++) {
		event = cm_expect(pair.channel, RDMA_CM_EVENT_ESTABLISHED, NULL);
		if (event.id == pair.active)
			*answer = event;
	}
	return pair;
}

/* A Send of a queue pair whose peer has no receive fails, since the peer has said how often it is tried. */
static void
sends_in_vain(struct rdma_cm_id *id)
{
	struct ibv_send_wr *bad, wr = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_wc wc;

	OK(ibv_post_send(id->qp, &wr, &bad));
	UNTIL(ibv_poll_cq(id->send_cq, 1, &wc) == 1);
	g_assert_cmpint(wc.status, ==, IBV_WC_RNR_RETRY_EXC_ERR);
}

/* Each side tells the other one how often to try; counts have three bits. iWARP has no place for them. */
static void
test_tries(void)
{
	static const uint8_t tries[][2] = {{0, 7}, {7, 0}, {2, 250}, {9, 3}};

	for (size_t i = 0; i < G_N_ELEMENTS(tries); i++) {
		uint8_t asked = tries[i][0], answered = tries[i][1];
		struct rdma_conn_param asks = cm_param(NULL, 0), answers = cm_param(NULL, 0);
		struct cm_pair pair RI_AT_END(cm_finish);
		struct cm_event answer = {0};

		asks.rnr_retry_count = asked;
		asks.retry_count = (uint8_t)(4 + 2 * i);
		answers.rnr_retry_count = answered;
		pair = pair_with_tries(&asks, &answers, &answer);
		g_assert_cmpuint(pair.request.param.conn.retry_count, ==,
				 cm_is_iwarp() ? 0 : MIN(asks.retry_count, 7));
		g_assert_cmpuint(pair.request.param.conn.rnr_retry_count, ==,
				 cm_is_iwarp() ? 0 : MIN(asked, 7));
		if (cm_is_iwarp())
			continue;
		g_assert_cmpuint(answer.param.conn.rnr_retry_count, ==, MIN(answered, 7));
		if (asked < 7)
			sends_in_vain(pair.passive);
		else
			sends_in_vain(pair.active);
	}
}

/* Tried without end: the Send waits until there is a receive. */
static void
test_tries_without_end(void)
{
	struct ibv_send_wr *bad, wr = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_recv_wr *bad_recv, recv = {.wr_id = 1};
	struct cm_pair pair RI_AT_END(cm_finish);
	struct ibv_wc wc;

	cm_connect(&pair);
	OK(ibv_post_send(pair.active->qp, &wr, &bad));
	if (!cm_is_iwarp())
		g_usleep(1500000); /* longer than without an agreement */
	OK(ibv_post_recv(pair.passive->qp, &recv, &bad_recv));
	UNTIL(ibv_poll_cq(pair.passive->recv_cq, 1, &wc) == 1);
	g_assert_cmpint(wc.status, ==, IBV_WC_SUCCESS);
	UNTIL(ibv_poll_cq(pair.active->send_cq, 1, &wc) == 1);
	g_assert_cmpint(wc.status, ==, IBV_WC_SUCCESS);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_assert_cmpint(argc, ==, 2);
	cm_adapters(argv[1]);
	g_test_add_func("/door/cm-foreign/time-wait", test_time_wait);
	g_test_add_func("/door/cm-foreign/time-wait-alone", test_time_wait_alone);
	g_test_add_func("/door/cm-foreign/notify", test_notify);
	g_test_add_func("/door/cm-foreign/more-attributes", test_more_attributes);
	g_test_add_func("/door/cm-foreign/tries", test_tries);
	g_test_add_func("/door/cm-foreign/tries-without-end", test_tries_without_end);
	return g_test_run();
}
