/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The port space UDP of rdma_cm, and multicast groups, on emul:ib behind a device that has no datagrams. */
#include "cm_bench.h"

#define IB_REQUEST 180
#define IB_REPLY   136
#define GRH        40
#define QKEY       0x01234567
#define GROUP      "239.1.2.3"

static struct rdma_event_channel *channel;
static uint8_t pattern[256];

static void
check_data(const struct cm_event *event, size_t sent, size_t whole)
{
	static const uint8_t zeros[256];

	g_assert_cmpuint(event->length, ==, whole);
	g_assert_cmpmem(event->data, sent, pattern, sent);
	g_assert_cmpmem(event->data + sent, whole - sent, zeros, whole - sent);
}

static struct rdma_cm_id *
active_to(const struct rdma_cm_id *listener)
{
	struct sockaddr_storage dest =
		cm_addr("127.0.0.1", ntohs(rdma_get_src_port((struct rdma_cm_id *)listener)));
	struct rdma_cm_id *id = cm_resolved(channel, RDMA_PS_UDP, &dest);

	g_assert_cmpstr(ibv_get_device_name(id->verbs->device), ==, "it_emul_ib");
	cm_qp(id);
	return id;
}

static struct ibv_wc
poll_one(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	UNTIL(ibv_poll_cq(cq, 1, &wc) == 1);
	g_assert_cmpint(wc.status, ==, IBV_WC_SUCCESS);
	return wc;
}

/* A datagram to that queue pair arrives at an id. */
static void
datagram(struct rdma_cm_id *from, struct rdma_cm_id *to, struct ibv_ah_attr *way, uint32_t qpn)
{
	static char sent[CM_MESSAGE], got[GRH + CM_MESSAGE];
	struct ibv_mr *source = ibv_reg_mr(from->pd, sent, sizeof(sent), 0);
	struct ibv_mr *sink = ibv_reg_mr(to->pd, got, sizeof(got), IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge in = {(uintptr_t)got, sizeof(got), sink->lkey};
	struct ibv_sge out = {(uintptr_t)sent, sizeof(sent), source->lkey};
	struct ibv_recv_wr recv = {.sg_list = &in, .num_sge = 1}, *bad_recv;
	struct ibv_send_wr send = {.sg_list = &out, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
	struct ibv_ah *ah = ibv_create_ah(from->pd, way);

	g_assert_nonnull(ah);
	memset(sent, 'u', sizeof(sent));
	memset(got, 0, sizeof(got));
	send.wr.ud.ah = ah;
	send.wr.ud.remote_qpn = qpn;
	send.wr.ud.remote_qkey = QKEY;
	OK(ibv_post_recv(to->qp, &recv, &bad_recv));
	OK(ibv_post_send(from->qp, &send, &bad));
	(void)poll_one(from->send_cq);
	g_assert_cmpuint(poll_one(to->recv_cq).byte_len, ==, sizeof(got));
	g_assert_cmpmem(got + GRH, CM_MESSAGE, sent, CM_MESSAGE);
	OK(ibv_destroy_ah(ah));
	OK(ibv_dereg_mr(source));
	OK(ibv_dereg_mr(sink));
}

/* A service is found, and datagrams go there by what the event says. */
static void
test_service(void)
{
	struct rdma_cm_id *listener RI_AT_END(cm_id_end) =
		cm_listener(channel, RDMA_PS_UDP, "0.0.0.0");
	struct rdma_cm_id *active = active_to(listener), *passive;
	struct rdma_conn_param param = cm_param(pattern, 9);
	struct cm_event event;

	OK(rdma_connect(active, &param));
	event = cm_expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST, NULL);
	passive = event.id;
	check_data(&event, 9, IB_REQUEST);
	g_assert_cmpint(passive->ps, ==, RDMA_PS_UDP);
	cm_qp(passive);
	param = cm_param(pattern, 7);
	OK(rdma_accept(passive, &param));
	event = cm_expect(channel, RDMA_CM_EVENT_ESTABLISHED, active);
	check_data(&event, 7, IB_REPLY);
	g_assert_cmpuint(event.param.ud.qp_num, ==, passive->qp->qp_num);
	g_assert_cmphex(event.param.ud.qkey, ==, QKEY);
	datagram(active, passive, &event.param.ud.ah_attr, event.param.ud.qp_num);
	FAILS(rdma_disconnect(active), EINVAL);
	cm_expect_none(channel);
	cm_gone(&active);
	cm_gone(&passive);
}

static void
test_limits(void)
{
	struct rdma_cm_id *listener RI_AT_END(cm_id_end) =
		cm_listener(channel, RDMA_PS_UDP, "0.0.0.0");
	struct rdma_cm_id *active = active_to(listener), *passive;
	struct rdma_conn_param param = cm_param(pattern, IB_REQUEST + 1);
	struct cm_event event;

	FAILS(rdma_connect(active, &param), EINVAL);
	param = cm_param(pattern, IB_REQUEST);
	OK(rdma_connect(active, &param));
	event = cm_expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST, NULL);
	check_data(&event, IB_REQUEST, IB_REQUEST);
	passive = event.id;
	FAILS(rdma_reject(passive, pattern, IB_REPLY + 1), EINVAL);
	OK(rdma_reject(passive, pattern, IB_REPLY));
	event = cm_expect(channel, RDMA_CM_EVENT_UNREACHABLE, active);
	g_assert_cmpint(event.status, ==, 2); /* rejected */
	check_data(&event, IB_REPLY, IB_REPLY);
	OK(rdma_destroy_id(passive));
	cm_gone(&active);

	/* An answer that is too long is a rejection. */
	active = active_to(listener);
	OK(rdma_connect(active, &param));
	passive = cm_expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST, NULL).id;
	cm_qp(passive);
	param = cm_param(pattern, IB_REPLY + 1);
	FAILS_AND_MOVES(rdma_accept(passive, &param), EINVAL);
	g_assert_cmpint(cm_expect(channel, RDMA_CM_EVENT_UNREACHABLE, active).status, ==, 2);
	cm_gone(&passive);
	cm_gone(&active);
}

/* Nobody serves; a service that comes a moment later; one that does not answer. */
static void
test_nobody(void)
{
	struct rdma_cm_id *listener = cm_listener(channel, RDMA_PS_UDP, "0.0.0.0"), *passive;
	uint16_t port = ntohs(rdma_get_src_port(listener));
	struct sockaddr_storage addr = cm_addr("0.0.0.0", port);
	struct rdma_cm_id *active = active_to(listener);
	struct rdma_conn_param param = cm_param(NULL, 0);

	OK(rdma_destroy_id(listener));
	OK(rdma_connect(active, &param));
	g_assert_cmpint(cm_expect(channel, RDMA_CM_EVENT_UNREACHABLE, active).status, ==, 1);
	cm_gone(&active);

	listener = cm_id(channel, RDMA_PS_UDP);
	OK(rdma_bind_addr(listener, (struct sockaddr *)&addr));
	active = active_to(listener);
	OK(rdma_connect(active, &param));
	cm_expect_none(channel);
	OK(rdma_listen(listener, 1));
	passive = cm_expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST, NULL).id;
	/* The id goes while its question is open: so does the request. */
	cm_gone(&active);
	g_usleep(50 * 1000);
	cm_qp(passive);
	FAILS_AND_MOVES(rdma_accept(passive, &param), ENOTCONN);
	cm_gone(&passive);
	OK(rdma_destroy_id(listener));
}

/* Both port spaces have each port. */
static void
test_port_spaces(void)
{
	uint16_t port = cm_free_port();
	struct rdma_cm_id *listener RI_AT_END(cm_id_end) =
		cm_listener_at(channel, RDMA_PS_UDP, "0.0.0.0", port);
	struct sockaddr_storage addr = cm_addr("127.0.0.1", port);
	struct rdma_cm_id *other RI_AT_END(cm_id_end) = cm_id(channel, RDMA_PS_UDP);
	struct rdma_cm_id *tcp RI_AT_END(cm_id_end) = cm_id(channel, RDMA_PS_TCP);

	FAILS(rdma_bind_addr(other, (struct sockaddr *)&addr), EADDRINUSE);
	OK(rdma_bind_addr(tcp, (struct sockaddr *)&addr));
	OK(rdma_listen(tcp, 1));
}

/* An id that has joined a group, with its queue pair. */
static struct rdma_cm_id *
member(struct cm_event *joined)
{
	struct sockaddr_storage source = cm_addr("127.0.0.1", 0), group = cm_addr(GROUP, 0);
	struct rdma_cm_id *id = cm_id(channel, RDMA_PS_UDP);
	int context;

	OK(rdma_bind_addr(id, (struct sockaddr *)&source));
	g_assert_cmpstr(ibv_get_device_name(id->verbs->device), ==, "it_emul_ib");
	cm_qp(id);
	OK(rdma_join_multicast(id, (struct sockaddr *)&group, &context));
	*joined = cm_expect(channel, RDMA_CM_EVENT_MULTICAST_JOIN, id);
	g_assert_true(joined->param.ud.private_data == &context);
	return id;
}

static void
test_multicast(void)
{
	struct sockaddr_storage group = cm_addr(GROUP, 0), other = cm_addr("239.9.9.9", 0);
	struct cm_event joined, event;
	struct rdma_cm_id *one RI_AT_END(cm_id_end) = member(&joined);
	struct rdma_cm_id *two = member(&event);

	g_assert_cmpuint(joined.param.ud.qp_num, ==, 0xffffff);
	g_assert_cmphex(joined.param.ud.qkey, ==, QKEY);
	datagram(two, one, &joined.param.ud.ah_attr, joined.param.ud.qp_num);
	FAILS(rdma_leave_multicast(one, (struct sockaddr *)&other), EADDRNOTAVAIL);
	OK(rdma_leave_multicast(one, (struct sockaddr *)&group));
	/* An event that nobody has taken goes with the group. */
	OK(rdma_join_multicast(one, (struct sockaddr *)&other, NULL));
	OK(rdma_leave_multicast(one, (struct sockaddr *)&other));
	OK(rdma_leave_multicast(two, (struct sockaddr *)&group));
	cm_expect_none(channel);
	cm_gone(&one);
	cm_gone(&two);

	/* mckey asks for the way to the group. */
	one = cm_id(channel, RDMA_PS_UDP);
	OK(rdma_resolve_addr(one, NULL, (struct sockaddr *)&group, 1000));
	cm_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED, one);
	g_assert_cmpstr(ibv_get_device_name(one->verbs->device), ==, "it_emul_ib");
}

/* Who cannot join. */
static void
test_no_multicast(void)
{
	struct sockaddr_storage source = cm_addr("127.0.0.1", 0), group = cm_addr(GROUP, 0);
	struct sockaddr_storage none = cm_addr("0.0.0.0", 0);
	struct rdma_cm_id *id = cm_id(channel, RDMA_PS_TCP);

	OK(rdma_bind_addr(id, (struct sockaddr *)&source));
	FAILS(rdma_join_multicast(id, (struct sockaddr *)&group, NULL), EINVAL);
	OK(rdma_destroy_id(id));
	id = cm_id(channel, RDMA_PS_UDP);
	FAILS(rdma_join_multicast(id, (struct sockaddr *)&group, NULL), EINVAL);
	OK(rdma_bind_addr(id, (struct sockaddr *)&source));
	/* The group of no address would be one that a subnet manager chooses. */
	OK(rdma_join_multicast(id, (struct sockaddr *)&none, NULL));
	g_assert_cmpint(cm_expect(channel, RDMA_CM_EVENT_MULTICAST_ERROR, id).status, <, 0);
	OK(rdma_leave_multicast(id, (struct sockaddr *)&none));
	OK(rdma_destroy_id(id));
}

int
main(int argc, char **argv)
{
	int result;

	g_test_init(&argc, &argv, NULL);
	cm_adapters("iwarp:lo,emul:ib");
	for (size_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = (uint8_t)(i + 1);
	channel = cm_channel();
	g_test_add_func("/door/cm-ud/service", test_service);
	g_test_add_func("/door/cm-ud/limits", test_limits);
	g_test_add_func("/door/cm-ud/nobody", test_nobody);
	g_test_add_func("/door/cm-ud/port-spaces", test_port_spaces);
	g_test_add_func("/door/cm-ud/multicast", test_multicast);
	g_test_add_func("/door/cm-ud/no-multicast", test_no_multicast);
	result = g_test_run();
	rdma_destroy_event_channel(channel);
	return result;
}
