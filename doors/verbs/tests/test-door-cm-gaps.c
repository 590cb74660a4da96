/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What the other tests of rdma_cm come by without looking, on the adapter that the argument names. */
#include "cm_bench.h"

#include <stdio.h>

#include <rdma/rdma_verbs.h>

#define GROUP              "239.1.2.3"
#define OTHER_GROUP        "239.1.2.4"
#define IB_CONSUMER_REJECT 28

static void
resolve(struct rdma_cm_id *id)
{
	struct sockaddr_storage dest = cm_addr("127.0.0.1", 9);

	OK(rdma_resolve_addr(id, NULL, (struct sockaddr *)&dest, 1000));
}

static enum ibv_qp_state
state_of(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	OK(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init));
	return attr.qp_state;
}

/* --- ids and events ---------------------------------------------------------------------------------------------- */

/* An id that goes takes its own events along and no others. */
static void
test_destroy_keeps(void)
{
	struct rdma_event_channel *channel RI_AT_END(cm_channel_end) = cm_channel();
	struct rdma_cm_id *one = cm_id(channel, RDMA_PS_TCP);
	struct rdma_cm_id *two RI_AT_END(cm_id_end) = cm_id(channel, RDMA_PS_TCP);

	resolve(one);
	resolve(two);
	OK(rdma_destroy_id(one));
	cm_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED, two);
	cm_expect_none(channel);
}

static void
test_options(void)
{
	struct rdma_event_channel *channel RI_AT_END(cm_channel_end) = cm_channel();
	struct rdma_cm_id *id RI_AT_END(cm_id_end) = cm_id(channel, RDMA_PS_UDP);
	uint8_t octet = 14;

	FAILS(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &octet, 1), EINVAL);
}

/* Each group has events of its own. */
static void
test_groups(void)
{
	struct sockaddr_storage source = cm_addr("127.0.0.1", 0);
	struct sockaddr_storage group = cm_addr(GROUP, 0), other = cm_addr(OTHER_GROUP, 0);
	struct rdma_event_channel *channel RI_AT_END(cm_channel_end) = cm_channel();
	struct cm_event event;
	struct rdma_cm_id *id;
	int one, two;

	if (!cm_is_iwarp()) {
		id = cm_id(channel, RDMA_PS_UDP);
		OK(rdma_bind_addr(id, (struct sockaddr *)&source));
		cm_qp(id);
		OK(rdma_join_multicast(id, (struct sockaddr *)&group, &one));
		OK(rdma_join_multicast(id, (struct sockaddr *)&other, &two));
		OK(rdma_leave_multicast(id, (struct sockaddr *)&group));
		event = cm_expect(channel, RDMA_CM_EVENT_MULTICAST_JOIN, id);
		g_assert_true(event.param.ud.private_data == &two);
		g_assert_cmpuint(event.param.ud.ah_attr.is_global, ==, 1);
		g_assert_cmpuint(event.param.ud.ah_attr.grh.hop_limit, >, 1);
		cm_expect_none(channel);
		OK(rdma_leave_multicast(
			id, (struct sockaddr *)&other)); /* else librdmacm loses its memory */
		cm_gone(&id);
	}
}

/* A mapped address is one of IPv4. */
static void
test_mapped(void)
{
	struct sockaddr_storage addr = cm_addr("::ffff:127.0.0.1", 0);
	struct rdma_event_channel *channel RI_AT_END(cm_channel_end) = cm_channel();
	struct rdma_cm_id *id RI_AT_END(cm_id_end) = cm_id(channel, RDMA_PS_TCP);

	OK(rdma_bind_addr(id, (struct sockaddr *)&addr));
	g_assert_nonnull(id->verbs);
}

/* An id that found no address can be bound to another one, and the device of the first attempt is not in use. */
static void
test_bind_fails(void)
{
	struct rdma_event_channel *channel RI_AT_END(cm_channel_end) = cm_channel();
	struct rdma_cm_id *one RI_AT_END(cm_id_end) = cm_id(channel, RDMA_PS_TCP);
	struct rdma_cm_id *two RI_AT_END(cm_id_end) = cm_id(channel, RDMA_PS_TCP);
	struct sockaddr_storage addr = cm_addr("127.0.0.1", 0), taken;

	OK(rdma_bind_addr(one, (struct sockaddr *)&addr));
	taken = cm_addr("127.0.0.1", ntohs(rdma_get_src_port(one)));
	FAILS(rdma_bind_addr(two, (struct sockaddr *)&taken), EADDRINUSE);
	OK(rdma_bind_addr(two, (struct sockaddr *)&addr));
	g_assert_true(two->verbs == one->verbs);
	g_assert_cmpuint(rdma_get_src_port(two), !=, rdma_get_src_port(one));
}

/* --- queue pairs ---------------------------------------------------------------------------------------------------- */

/* A connection that rdma_cm makes moves the states that the program sees, on both sides. */
static void
test_states(void)
{
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct cm_pair pair RI_AT_END(cm_finish);

	cm_ask(&pair, NULL, 0);
	cm_qp(pair.passive);
	OK(rdma_accept(pair.passive, &param));
	/* What is posted from now on waits for the connection. */
	g_assert_cmpint(state_of(pair.passive->qp), ==, IBV_QPS_RTS);
	cm_expect(pair.channel, RDMA_CM_EVENT_ESTABLISHED, NULL);
	cm_expect(pair.channel, RDMA_CM_EVENT_ESTABLISHED, NULL);
	g_assert_cmpint(state_of(pair.active->qp), ==, IBV_QPS_RTS);
	g_assert_cmpint(state_of(pair.passive->qp), ==, IBV_QPS_RTS);
	OK(rdma_disconnect(pair.active));
	cm_expect(pair.channel, RDMA_CM_EVENT_DISCONNECTED, NULL);
	cm_expect(pair.channel, RDMA_CM_EVENT_DISCONNECTED, NULL);
	g_assert_cmpint(state_of(pair.passive->qp), ==, IBV_QPS_ERR);
	g_assert_cmpint(state_of(pair.active->qp), ==, IBV_QPS_ERR);
}

/* The same without librdmacm, which makes moves of its own: the program has hidden its queue pairs from it. */
static void
test_states_of_own(void)
{
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct ibv_qp *ours, *theirs;
	struct cm_pair pair RI_AT_END(cm_finish) = {.channel = cm_channel()};

	pair.listener = cm_listener(pair.channel, RDMA_PS_TCP, "127.0.0.1");
	pair.active = cm_active(pair.channel, pair.listener);
	ours = pair.active->qp;
	pair.active->qp = NULL;
	param.qp_num = ours->qp_num;
	OK(rdma_connect(pair.active, &param));
	pair.passive = cm_expect(pair.channel, RDMA_CM_EVENT_CONNECT_REQUEST, NULL).id;
	cm_qp(pair.passive);
	theirs = pair.passive->qp;
	pair.passive->qp = NULL;
	param.qp_num = theirs->qp_num;
	OK(rdma_accept(pair.passive, &param));
	g_assert_cmpint(state_of(theirs), ==, IBV_QPS_RTS);
	if (!cm_is_iwarp()) {
		cm_expect(pair.channel, RDMA_CM_EVENT_CONNECT_RESPONSE, pair.active);
		OK(rdma_establish(pair.active));
	} else {
		cm_expect(pair.channel, RDMA_CM_EVENT_ESTABLISHED, NULL);
	}
	cm_expect(pair.channel, RDMA_CM_EVENT_ESTABLISHED, NULL);
	g_assert_cmpint(state_of(ours), ==, IBV_QPS_RTS);
	pair.active->qp = ours;
	pair.passive->qp = theirs;
	cm_talk(pair.active, pair.passive);
}

/* A queue pair that cannot be connected now, though nothing is posted; then it is a new one again. */
static void
connect_in_vain(struct rdma_cm_id *active, struct rdma_conn_param *param)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	int mask;

	OK(ibv_modify_qp(active->qp, &attr, IBV_QP_STATE));
	FAILS(rdma_connect(active, param), EINVAL);
	attr.qp_state = IBV_QPS_RESET;
	OK(ibv_modify_qp(active->qp, &attr, IBV_QP_STATE));
	attr.qp_state = IBV_QPS_INIT;
	OK(rdma_init_qp_attr(active, &attr, &mask));
	OK(ibv_modify_qp(active->qp, &attr, mask));
}

/*
 * An attempt of a queue pair that has receives posted is not repeated after a refusal, because the
 * receives would be lost. So the refusal is reported at once (where the adapter reports one), even
 * if the queue pair had no receives when its id was to connect before.
 */
static void
receives_stay(bool in_vain)
{
	struct rdma_event_channel *channel RI_AT_END(cm_channel_end) = cm_channel();
	uint16_t port = cm_free_port();
	struct rdma_cm_id *listener = cm_listener_at(channel, RDMA_PS_TCP, "127.0.0.1", port),
			  *late;
	struct rdma_cm_id *active RI_AT_END(cm_gone) = cm_active(channel, listener);
	struct sockaddr_storage addr = cm_addr("127.0.0.1", port);
	struct rdma_conn_param param = cm_param(NULL, 0);
	char got[CM_MESSAGE];
	struct ibv_mr *sink = rdma_reg_msgs(active, got, sizeof(got));

	OK(rdma_destroy_id(listener));
	late = cm_id(channel, RDMA_PS_TCP);
	OK(rdma_bind_addr(late, (struct sockaddr *)&addr));
	if (in_vain)
		connect_in_vain(active, &param);
	if (!cm_waits_for_listener()) {
		OK(rdma_post_recv(active, NULL, got, sizeof(got), sink));
		OK(rdma_connect(active, &param));
		g_usleep(100 * 1000);
		OK(rdma_listen(late, 1));
		cm_expect(channel, RDMA_CM_EVENT_REJECTED, active);
	}
	OK(rdma_dereg_mr(sink));
	OK(rdma_destroy_id(late));
}

static void
test_receives_stay(void)
{
	receives_stay(false);
	receives_stay(true);
}

/* Who may read may do atomics, as with the kernel. */
static void
test_atomics(void)
{
	static uint64_t counter, old;
	struct ibv_send_wr wr = {.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
				 .send_flags = IBV_SEND_SIGNALED,
				 .num_sge = 1},
			   *bad;
	struct ibv_mr *there, *here;
	struct ibv_sge sge;
	struct ibv_wc wc;

	if (cm_is_iwarp()) {
		g_test_skip("iWARP has no atomics");
		return;
	}
	struct cm_pair pair RI_AT_END(cm_finish);
	cm_connect(&pair);
	there = ibv_reg_mr(pair.passive->pd, &counter, sizeof(counter),
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
	here = ibv_reg_mr(pair.active->pd, &old, sizeof(old), IBV_ACCESS_LOCAL_WRITE);
	counter = 5;
	sge = (struct ibv_sge){(uintptr_t)&old, sizeof(old), here->lkey};
	wr.sg_list = &sge;
	wr.wr.atomic.remote_addr = (uintptr_t)&counter;
	wr.wr.atomic.rkey = there->rkey;
	wr.wr.atomic.compare_add = 2;
	OK(ibv_post_send(pair.active->qp, &wr, &bad));
	g_assert_cmpint(rdma_get_send_comp(pair.active, &wc), ==, 1);
	g_assert_cmpint(wc.status, ==, IBV_WC_SUCCESS);
	g_assert_cmpuint(counter, ==, 7);
	OK(ibv_dereg_mr(there));
	OK(ibv_dereg_mr(here));
}

/* As many reads may be outstanding as the program has said when it connected, however its queue pair was created. */
static void
test_reads(void)
{
	static char here[CM_MESSAGE], there[CM_MESSAGE] = "read";
	struct ibv_mr *source, *sink;
	struct cm_pair pair RI_AT_END(cm_finish);
	struct ibv_wc wc;

	cm_connect(&pair);
	source = rdma_reg_read(pair.passive, there, sizeof(there));
	sink = ibv_reg_mr(pair.active->pd, here, sizeof(here), IBV_ACCESS_LOCAL_WRITE);
	memset(here, 0, sizeof(here));
	OK(rdma_post_read(pair.active, NULL, here, sizeof(here), sink, IBV_SEND_SIGNALED,
			  (uintptr_t)there, source->rkey));
	g_assert_cmpint(rdma_get_send_comp(pair.active, &wc), ==, 1);
	g_assert_cmpint(wc.status, ==, IBV_WC_SUCCESS);
	g_assert_cmpmem(here, sizeof(here), there, sizeof(there));
	OK(rdma_dereg_mr(source));
	OK(rdma_dereg_mr(sink));
}

/* A queue pair is connected by one id at a time; when that connection is over, another id may have it. */
static void
test_qp_of_two(void)
{
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	struct sockaddr_storage dest;
	struct cm_event event;
	struct cm_pair pair RI_AT_END(cm_finish);

	cm_connect(&pair);
	dest = cm_addr("127.0.0.1", ntohs(rdma_get_src_port(pair.listener)));
	struct rdma_cm_id *other RI_AT_END(cm_id_end) =
		cm_resolved(pair.channel, RDMA_PS_TCP, &dest);
	param.qp_num = pair.active->qp->qp_num;
	FAILS(rdma_connect(other, &param), EINVAL);
	cm_talk(pair.active, pair.passive);
	OK(rdma_disconnect(pair.active));
	cm_expect(pair.channel, RDMA_CM_EVENT_DISCONNECTED, NULL);
	cm_expect(pair.channel, RDMA_CM_EVENT_DISCONNECTED, NULL);
	if (!cm_is_iwarp()) {
		OK(ibv_modify_qp(pair.active->qp, &reset, IBV_QP_STATE));
		OK(rdma_connect(other, &param));
		do /* the old connection may tell its end */
			event = cm_next(pair.channel);
		while (event.type == RDMA_CM_EVENT_TIMEWAIT_EXIT);
		g_assert_cmpint(event.type, ==, RDMA_CM_EVENT_CONNECT_REQUEST);
		OK(rdma_destroy_id(event.id));
		cm_expect(pair.channel, RDMA_CM_EVENT_REJECTED, other);
	}
}

/* A connect that fails at once leaves the id as it was, with no queue pair. */
static void
test_connect_fails(void)
{
	struct ibv_qp_attr failed = {.qp_state = IBV_QPS_ERR};
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct rdma_event_channel *channel RI_AT_END(cm_channel_end) = cm_channel();
	struct rdma_cm_id *listener RI_AT_END(cm_id_end) =
		cm_listener(channel, RDMA_PS_TCP, "127.0.0.1");
	struct rdma_cm_id *active RI_AT_END(cm_gone) = cm_active(channel, listener);

	OK(ibv_modify_qp(active->qp, &failed, IBV_QP_STATE));
	g_autofree char *before = door_sums_account_cm();
	g_assert_cmpint(rdma_connect(active, &param), ==, -1);
	g_autofree char *after = door_sums_account_cm();
	g_assert_cmpstr(before, ==, after);
	rdma_destroy_qp(active);
	cm_qp(active);
	OK(rdma_connect(active, &param));
	OK(rdma_destroy_id(cm_expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST, NULL).id));
	cm_expect(channel, RDMA_CM_EVENT_REJECTED, active);
}

/* A queue pair for datagrams is not one that connects. */
static void
test_qp_of_datagrams(void)
{
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct rdma_event_channel *channel RI_AT_END(cm_channel_end) = cm_channel();
	struct rdma_cm_id *listener RI_AT_END(cm_id_end) =
		cm_listener(channel, RDMA_PS_TCP, "127.0.0.1");
	struct sockaddr_storage dest = cm_addr("127.0.0.1", ntohs(rdma_get_src_port(listener)));
	struct ibv_qp_init_attr init = {
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_UD};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR};
	struct rdma_cm_id *active RI_AT_END(cm_id_end) = cm_resolved(channel, RDMA_PS_TCP, &dest);
	struct cm_event event;
	struct ibv_pd *pd;
	struct ibv_qp *qp;
	int mask;

	if (!cm_is_iwarp()) {
		pd = ibv_alloc_pd(active->verbs);
		init.send_cq = init.recv_cq = ibv_create_cq(active->verbs, 4, NULL, NULL, 0);
		qp = ibv_create_qp(pd, &init);
		g_assert_nonnull(qp);
		param.qp_num = qp->qp_num;
		/* Its number is one that the program has made up. */
		OK(rdma_connect(active, &param));
		event = cm_expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST, NULL);
		g_assert_cmpuint(event.param.conn.qp_num, ==, qp->qp_num);
		/* Before the answer nothing is known of the other side. */
		FAILS(rdma_init_qp_attr(active, &attr, &mask), EINVAL);
		OK(rdma_destroy_id(event.id));
		cm_expect(channel, RDMA_CM_EVENT_REJECTED, active);
		OK(ibv_destroy_qp(qp));
		OK(ibv_destroy_cq(init.send_cq));
		OK(ibv_dealloc_pd(pd));
	}
}

/* --- requests ---------------------------------------------------------------------------------------------------------- */

/* A request that is fetched makes place for another one. */
static void
test_backlog(void)
{
	struct sockaddr_storage addr = cm_addr("127.0.0.1", 0);
	struct rdma_event_channel *channel RI_AT_END(cm_channel_end) = cm_channel();
	struct rdma_event_channel *actives RI_AT_END(cm_channel_end) = cm_channel();
	struct rdma_cm_id *listener RI_AT_END(cm_id_end) = cm_id(channel, RDMA_PS_TCP);
	struct rdma_cm_id *active[3], *passive[3];
	struct rdma_conn_param param = cm_param(NULL, 0);

	OK(rdma_bind_addr(listener, (struct sockaddr *)&addr));
	OK(rdma_listen(listener, 1));
	for (int i = 0; i < 3; i++) {
		active[i] = cm_active(actives, listener);
		OK(rdma_connect(active[i], &param));
		passive[i] = cm_expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST, NULL).id;
	}
	cm_expect_none(actives);
	for (int i = 0; i < 3; i++) {
		OK(rdma_destroy_id(passive[i]));
		cm_expect(actives, RDMA_CM_EVENT_REJECTED, active[i]);
		cm_gone(&active[i]);
	}
}

/* One of two peers gives up, and the other's request is answered. */
static void
test_one_gives_up(void)
{
	struct rdma_event_channel *channel RI_AT_END(cm_channel_end) = cm_channel();
	struct rdma_event_channel *actives RI_AT_END(cm_channel_end) = cm_channel();
	struct rdma_cm_id *listener RI_AT_END(cm_id_end) =
		cm_listener(channel, RDMA_PS_TCP, "127.0.0.1");
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct rdma_cm_id *active[2], *passive[2];

	for (int i = 0; i < 2; i++) {
		active[i] = cm_active(actives, listener);
		OK(rdma_connect(active[i], &param));
		passive[i] = cm_expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST, NULL).id;
		cm_qp(passive[i]);
	}
	cm_gone(&active[0]);
	g_usleep(50 * 1000);
	OK(rdma_accept(passive[1], &param));
	/* On InfiniBand librdmacm ends the set-up when the program fetches this. */
	cm_expect(actives, RDMA_CM_EVENT_ESTABLISHED, active[1]);
	cm_expect(channel, RDMA_CM_EVENT_ESTABLISHED, passive[1]);
	FAILS_AND_MOVES(rdma_accept(passive[0], &param), ENOTCONN);
	cm_talk(active[1], passive[1]);
	cm_gone(&active[1]);
	cm_gone(&passive[0]);
	cm_gone(&passive[1]);
}

/* A request whose id the program destroys is one that it has rejected. */
static void
test_destroyed_is_consumer(void)
{
	struct cm_pair pair;

	cm_ask(&pair, NULL, 0);
	OK(rdma_destroy_id(pair.passive));
	g_assert_cmpint(cm_expect(pair.channel, RDMA_CM_EVENT_REJECTED, pair.active).status, ==,
			cm_is_iwarp() ? -ECONNREFUSED : IB_CONSUMER_REJECT);
	cm_gone(&pair.active);
	OK(rdma_destroy_id(pair.listener));
	rdma_destroy_event_channel(pair.channel);
}

/* The active side of InfiniBand may reject the answer, or end the set-up. */
static void
test_answer_refused(void)
{
	for (unsigned way = 0; way < 2 && !cm_is_iwarp(); way++) {
		struct rdma_conn_param param = cm_param(NULL, 0);
		struct rdma_event_channel *channel RI_AT_END(cm_channel_end) = cm_channel();
		struct rdma_cm_id *listener RI_AT_END(cm_id_end) =
			cm_listener(channel, RDMA_PS_TCP, "127.0.0.1");
		struct rdma_cm_id *active = cm_active(channel, listener), *passive;
		struct ibv_qp *own = active->qp;
		struct cm_event event;

		active->qp = NULL;
		param.qp_num = own->qp_num;
		OK(rdma_connect(active, &param));
		passive = cm_expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST, NULL).id;
		cm_qp(passive);
		OK(rdma_accept(passive, &param));
		cm_expect(channel, RDMA_CM_EVENT_CONNECT_RESPONSE, active);
		if (way == 0) {
			OK(rdma_reject(active, "no", 2));
			event = cm_expect(channel, RDMA_CM_EVENT_REJECTED, passive);
			g_assert_cmpint(event.status, ==, IB_CONSUMER_REJECT);
			g_assert_cmpmem(event.data, 2, "no", 2);
			FAILS(rdma_reject(active, NULL, 0), EINVAL);
		} else {
			OK(rdma_disconnect(active));
			g_assert_cmpint(cm_next(channel).type, !=, RDMA_CM_EVENT_ESTABLISHED);
		}
		OK(ibv_destroy_qp(own));
		OK(rdma_destroy_id(active));
		cm_gone(&passive);
	}
}

/* --- ends ------------------------------------------------------------------------------------------------------------- */

/* Each side gets one event of the end, whatever is destroyed afterwards. */
static void
test_ended_once(void)
{
	struct cm_event one, two;
	struct cm_pair pair RI_AT_END(cm_finish);

	cm_connect(&pair);
	OK(rdma_disconnect(pair.active));
	one = cm_expect(pair.channel, RDMA_CM_EVENT_DISCONNECTED, NULL);
	two = cm_expect(pair.channel, RDMA_CM_EVENT_DISCONNECTED, NULL);
	g_assert_true(one.id != two.id);
	rdma_destroy_qp(pair.active);
	rdma_destroy_qp(pair.passive);
	while (!cm_is_iwarp() &&
	       g_poll(&(GPollFD){.fd = pair.channel->fd, .events = G_IO_IN}, 1, 200) == 1)
		cm_expect(pair.channel, RDMA_CM_EVENT_TIMEWAIT_EXIT, NULL);
	cm_expect_none(pair.channel);
}

/* --- listeners ----------------------------------------------------------------------------------------------------------- */

static struct rdma_cm_id *
listener_at(struct rdma_event_channel *channel, const char *text, uint16_t port, int only)
{
	struct sockaddr_storage addr = cm_addr(text, port);
	struct rdma_cm_id *id = cm_id(channel, RDMA_PS_TCP);
	int value = only;

	OK(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &value, sizeof(value)));
	OK(rdma_bind_addr(id, (struct sockaddr *)&addr));
	OK(rdma_listen(id, 4));
	return id;
}

/* Two wildcard listeners at one port, one for each family. */
static void
test_families(void)
{
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct rdma_event_channel *channel RI_AT_END(cm_channel_end) = cm_channel();
	uint16_t port = cm_free_port();
	struct rdma_cm_id *six RI_AT_END(cm_id_end) = listener_at(channel, "::", port, 1);
	struct rdma_cm_id *four;
	struct cm_event event;

	four = listener_at(channel, "0.0.0.0", port, 1);
	for (unsigned i = 0; i < 2; i++) {
		struct sockaddr_storage dest = cm_addr(i == 0 ? "127.0.0.1" : "::1", port);
		struct rdma_cm_id *active RI_AT_END(cm_gone) =
			cm_resolved(channel, RDMA_PS_TCP, &dest);

		cm_qp(active);
		OK(rdma_connect(active, &param));
		event = cm_expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST, NULL);
		g_assert_true(event.listen_id == (i == 0 ? four : six));
		OK(rdma_destroy_id(event.id));
		cm_expect(channel, RDMA_CM_EVENT_REJECTED, active);
	}
	/* An IPv4 listener does not hear IPv6, and one of IPv6 alone no IPv4. */
	for (unsigned i = 0; i < 2; i++) {
		struct sockaddr_storage dest = cm_addr(i == 0 ? "::1" : "127.0.0.1", port);
		struct rdma_cm_id *active;

		OK(rdma_destroy_id(i == 0 ? six : four));
		active = cm_resolved(channel, RDMA_PS_TCP, &dest);
		cm_qp(active);
		OK(rdma_connect(active, &param));
		cm_expect(channel, RDMA_CM_EVENT_REJECTED, active);
		cm_gone(&active);
		if (i == 0)
			six = listener_at(channel, "::", port, 1);
	}
}

/* Two ids share a port as long as neither listens, also on a device that uses no port of the host. */
static void
test_reuse(void)
{
	struct rdma_event_channel *channel RI_AT_END(cm_channel_end) = cm_channel();
	struct rdma_cm_id *one = cm_id(channel, RDMA_PS_TCP);
	struct rdma_cm_id *two RI_AT_END(cm_id_end) = cm_id(channel, RDMA_PS_TCP);
	struct sockaddr_storage addr = cm_addr("127.0.0.1", 0);
	int on = 1;

	OK(rdma_set_option(one, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on)));
	OK(rdma_set_option(two, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on)));
	OK(rdma_bind_addr(one, (struct sockaddr *)&addr));
	addr = cm_addr("127.0.0.1", ntohs(rdma_get_src_port(one)));
	OK(rdma_listen(one, 1));
	FAILS(rdma_bind_addr(two, (struct sockaddr *)&addr), EADDRINUSE);
	OK(rdma_destroy_id(one));
	OK(rdma_bind_addr(two, (struct sockaddr *)&addr));
}

/* Connections and datagram services of one device at one port. */
static void
test_port_spaces(void)
{
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct rdma_event_channel *channel RI_AT_END(cm_channel_end) = cm_channel();
	struct rdma_cm_id *tcp RI_AT_END(cm_id_end) =
		cm_listener(channel, RDMA_PS_TCP, "127.0.0.1");
	struct rdma_cm_id *udp, *active;
	struct sockaddr_storage addr = cm_addr("127.0.0.1", ntohs(rdma_get_src_port(tcp)));
	struct cm_event event;

	if (!cm_is_iwarp()) {
		udp = cm_id(channel, RDMA_PS_UDP);
		OK(rdma_bind_addr(udp, (struct sockaddr *)&addr));
		OK(rdma_listen(udp, 1));
		for (unsigned i = 0; i < 2; i++) {
			active = cm_active(channel, i == 0 ? tcp : udp);
			OK(rdma_connect(active, &param));
			event = cm_expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST, NULL);
			g_assert_true(event.listen_id == (i == 0 ? tcp : udp));
			OK(rdma_destroy_id(event.id));
			cm_expect(channel,
				  i == 0 ? RDMA_CM_EVENT_REJECTED : RDMA_CM_EVENT_UNREACHABLE,
				  active);
			cm_gone(&active);
		}
		OK(rdma_destroy_id(udp));
	} else {
		udp = cm_id(channel, RDMA_PS_UDP);
		FAILS(rdma_bind_addr(udp, (struct sockaddr *)&addr), ENODEV);
		OK(rdma_destroy_id(udp));
	}
}

/* --- questions ------------------------------------------------------------------------------------------------------------- */

/* There is a path when there is a route, on InfiniBand. */
static void
test_query_path(void)
{
	struct rdma_event_channel *channel RI_AT_END(cm_channel_end) = cm_channel();
	struct rdma_cm_id *id RI_AT_END(cm_id_end) = cm_id(channel, RDMA_PS_TCP);

	resolve(id);
	cm_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED, id);
	g_assert_cmpint(id->route.num_paths, ==, 0);
	OK(rdma_resolve_route(id, 1000));
	cm_expect(channel, RDMA_CM_EVENT_ROUTE_RESOLVED, id);
	g_assert_cmpint(id->route.num_paths, ==, cm_is_iwarp() ? 0 : 1);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_assert_cmpint(argc, ==, 2);
	cm_adapters(argv[1]);
	g_test_add_func("/door/cm-gaps/destroy-keeps", test_destroy_keeps);
	g_test_add_func("/door/cm-gaps/options", test_options);
	g_test_add_func("/door/cm-gaps/groups", test_groups);
	g_test_add_func("/door/cm-gaps/mapped", test_mapped);
	g_test_add_func("/door/cm-gaps/bind-fails", test_bind_fails);
	g_test_add_func("/door/cm-gaps/states", test_states);
	g_test_add_func("/door/cm-gaps/states-of-own", test_states_of_own);
	g_test_add_func("/door/cm-gaps/receives-stay", test_receives_stay);
	g_test_add_func("/door/cm-gaps/reuse", test_reuse);
	g_test_add_func("/door/cm-gaps/port-spaces", test_port_spaces);
	g_test_add_func("/door/cm-gaps/atomics", test_atomics);
	g_test_add_func("/door/cm-gaps/reads", test_reads);
	g_test_add_func("/door/cm-gaps/qp-of-two", test_qp_of_two);
	g_test_add_func("/door/cm-gaps/connect-fails", test_connect_fails);
	g_test_add_func("/door/cm-gaps/qp-of-datagrams", test_qp_of_datagrams);
	g_test_add_func("/door/cm-gaps/backlog", test_backlog);
	g_test_add_func("/door/cm-gaps/one-gives-up", test_one_gives_up);
	g_test_add_func("/door/cm-gaps/destroyed-is-consumer", test_destroyed_is_consumer);
	g_test_add_func("/door/cm-gaps/answer-refused", test_answer_refused);
	g_test_add_func("/door/cm-gaps/ended-once", test_ended_once);
	g_test_add_func("/door/cm-gaps/families", test_families);
	g_test_add_func("/door/cm-gaps/query-path", test_query_path);
	return g_test_run();
}
