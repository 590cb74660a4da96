/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Connections of rdma_cm, on the adapter that the argument names. */
#include "cm_bench.h"

#include <rdma/rdma_verbs.h>

/* What a request, an answer and a rejection show of private data: InfiniBand always all that the message has room for. */
#define IB_REQUEST         56
#define IB_REPLY           196
#define IB_REJECT          148
#define IW_MOST            251
#define IB_CONSUMER_REJECT 28
#define IB_NO_SERVICE      8

static uint8_t pattern[256];

static void
check_data(const struct cm_event *event, size_t sent, size_t whole)
{
	static const uint8_t zeros[256];

	g_assert_cmpuint(event->length, ==, cm_is_iwarp() ? sent : whole);
	g_assert_cmpmem(event->data, sent, pattern, sent);
	g_assert_cmpmem(event->data + sent, event->length - sent, zeros, event->length - sent);
}

static void
test_connect(void)
{
	struct cm_pair pair RI_AT_END(cm_finish);
	struct cm_event one, two;

	cm_ask(&pair, "ask", 3);
	memcpy(pattern, "ask", 3);
	check_data(&pair.request, 3, IB_REQUEST);
	/* What the other side can have outstanding, and what it serves. */
	g_assert_cmpuint(pair.request.param.conn.responder_resources, ==, 3);
	g_assert_cmpuint(pair.request.param.conn.initiator_depth, ==, 2);
	g_assert_true(pair.passive->verbs == pair.active->verbs);
	g_assert_cmpuint(rdma_get_src_port(pair.passive), ==, rdma_get_src_port(pair.listener));
	g_assert_cmpuint(rdma_get_dst_port(pair.passive), ==, rdma_get_src_port(pair.active));
	memcpy(pattern, "answer", 6);
	cm_accept(&pair, "answer", 6);
	check_data(&pair.request, 6, IB_REPLY);
	cm_talk(pair.active, pair.passive);
	cm_talk(pair.passive, pair.active);
	OK(rdma_disconnect(pair.active));
	one = cm_expect(pair.channel, RDMA_CM_EVENT_DISCONNECTED, NULL);
	two = cm_expect(pair.channel, RDMA_CM_EVENT_DISCONNECTED, NULL);
	g_assert_true(one.id != two.id);
	g_assert_cmpint(one.status, ==, 0);
	g_assert_cmpint(two.status, ==, 0);
	/* After the end it is no failure. */
	OK(rdma_disconnect(pair.passive));
	OK(rdma_disconnect(pair.active));
}

/* The most private data that each message takes, and one octet more. */
static void
test_limits(void)
{
	const uint8_t request = cm_is_iwarp() ? IW_MOST : IB_REQUEST;
	const uint8_t reply = cm_is_iwarp() ? IW_MOST : IB_REPLY;
	const uint8_t reject = cm_is_iwarp() ? IW_MOST : IB_REJECT;
	struct rdma_conn_param param;
	struct cm_pair pair;

	for (size_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = (uint8_t)(i + 1);
	cm_ask(&pair, pattern, request);
	check_data(&pair.request, request, IB_REQUEST);
	/* One too many: the request is rejected, as by the kernel. */
	cm_qp(pair.passive);
	param = cm_param(pattern, (uint8_t)(reply + 1));
	FAILS_AND_MOVES(rdma_accept(pair.passive, &param), EINVAL);
	cm_expect(pair.channel, RDMA_CM_EVENT_REJECTED, pair.active);
	cm_finish(&pair);

	cm_ask(&pair, NULL, 0);
	cm_accept(&pair, pattern, reply);
	check_data(&pair.request, reply, IB_REPLY);
	cm_finish(&pair);

	cm_ask(&pair, NULL, 0);
	FAILS(rdma_reject(pair.passive, pattern, (uint8_t)(reject + 1)), EINVAL);
	OK(rdma_reject(pair.passive, pattern, reject));
	pair.request = cm_expect(pair.channel, RDMA_CM_EVENT_REJECTED, pair.active);
	check_data(&pair.request, reject, IB_REJECT);
	g_assert_cmpint(pair.request.status, ==,
			cm_is_iwarp() ? -ECONNREFUSED : IB_CONSUMER_REJECT);
	/* Neither answer is possible again. */
	FAILS(rdma_reject(pair.passive, NULL, 0), EINVAL);
	param = cm_param(NULL, 0);
	cm_qp(pair.passive);
	FAILS(rdma_accept(pair.passive, &param), EINVAL);
	cm_finish(&pair);

	pair.channel = cm_channel();
	pair.listener = cm_listener(pair.channel, RDMA_PS_TCP, "127.0.0.1");
	pair.active = cm_active(pair.channel, pair.listener);
	param = cm_param(pattern, (uint8_t)(request + 1));
	FAILS(rdma_connect(pair.active, &param), EINVAL);
	/* It can still connect. */
	param = cm_param(pattern, request);
	OK(rdma_connect(pair.active, &param));
	pair.passive = cm_expect(pair.channel, RDMA_CM_EVENT_CONNECT_REQUEST, NULL).id;
	cm_finish(&pair);
}

/* Nobody listens: a rejection, after a while. */
static void
test_nobody(void)
{
	struct rdma_event_channel *channel RI_AT_END(cm_channel_end) = cm_channel();
	struct rdma_cm_id *listener = cm_listener(channel, RDMA_PS_TCP, "127.0.0.1");
	struct rdma_cm_id *active RI_AT_END(cm_gone) = cm_active(channel, listener);
	struct rdma_conn_param param = cm_param(NULL, 0);
	gint64 begun = g_get_monotonic_time();

	OK(rdma_destroy_id(listener));
	OK(rdma_connect(active, &param));
	g_assert_cmpint(cm_expect(channel, RDMA_CM_EVENT_REJECTED, active).status, ==,
			cm_is_iwarp() ? -ECONNREFUSED : IB_NO_SERVICE);
	g_assert_cmpint(g_get_monotonic_time() - begun, >=, 400 * 1000);
	FAILS(rdma_connect(active, &param), EINVAL);
}

/* false: the machine was too slow, and the listener came after the last try. */
static bool
listener_comes_later(void)
{
	struct rdma_event_channel *channel RI_AT_END(cm_channel_end) = cm_channel();
	uint16_t port = cm_free_port();
	struct rdma_cm_id *listener = cm_listener_at(channel, RDMA_PS_TCP, "127.0.0.1", port),
			  *late;
	struct rdma_cm_id *active = cm_active(channel, listener), *passive;
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct sockaddr_storage addr = cm_addr("127.0.0.1", port);
	char got[CM_MESSAGE], sent[CM_MESSAGE] = "late";
	struct cm_event first;
	struct ibv_mr *sink = rdma_reg_msgs(active, got, sizeof(got)), *source;
	struct ibv_wc wc;

	if (cm_is_iwarp())
		OK(rdma_post_recv(active, NULL, got, sizeof(got), sink));
	OK(rdma_destroy_id(listener));
	OK(rdma_connect(active, &param));
	g_usleep(50 * 1000);
	late = cm_id(channel, RDMA_PS_TCP);
	OK(rdma_bind_addr(late, (struct sockaddr *)&addr));
	OK(rdma_listen(late, 1));
	first = cm_next(channel);
	if (first.type == RDMA_CM_EVENT_REJECTED) {
		OK(rdma_dereg_mr(sink));
		cm_gone(&active);
		OK(rdma_destroy_id(late));
		return false;
	}
	g_assert_cmpint(first.type, ==, RDMA_CM_EVENT_CONNECT_REQUEST);
	passive = first.id;
	cm_qp(passive);
	OK(rdma_accept(passive, &param));
	cm_expect(channel, RDMA_CM_EVENT_ESTABLISHED, NULL);
	cm_expect(channel, RDMA_CM_EVENT_ESTABLISHED, NULL);
	if (!cm_is_iwarp())
		OK(rdma_post_recv(active, NULL, got, sizeof(got), sink));
	source = rdma_reg_msgs(passive, sent, sizeof(sent));
	OK(rdma_post_send(passive, NULL, sent, sizeof(sent), source, 0));
	g_assert_cmpint(rdma_get_recv_comp(active, &wc), ==, 1);
	g_assert_cmpint(wc.status, ==, IBV_WC_SUCCESS);
	g_assert_cmpmem(got, sizeof(got), sent, sizeof(sent));
	OK(rdma_dereg_mr(sink));
	OK(rdma_dereg_mr(source));
	cm_gone(&active);
	cm_gone(&passive);
	OK(rdma_destroy_id(late));
	return true;
}

/* A listener that comes a moment later. Receives that were posted before are not lost, where there is another try. */
static void
test_late_listener(void)
{
	for (int tries = 1; !listener_comes_later(); tries++)
		g_assert_cmpint(tries, <, 20);
}

/* The request's peer gives up before the answer. */
static void
test_peer_gives_up(void)
{
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct cm_pair pair;

	cm_ask(&pair, NULL, 0);
	cm_gone(&pair.active);
	g_usleep(50 * 1000); /* the other side learns it by itself */
	cm_qp(pair.passive);
	FAILS_AND_MOVES(rdma_accept(pair.passive, &param), ENOTCONN);
	cm_expect_none(pair.channel);
	cm_gone(&pair.passive);
	OK(rdma_destroy_id(pair.listener));
	rdma_destroy_event_channel(pair.channel);

	cm_ask(&pair, NULL, 0);
	cm_gone(&pair.active);
	g_usleep(50 * 1000);
	OK(rdma_reject(pair.passive, NULL, 0));
	cm_gone(&pair.passive);
	OK(rdma_destroy_id(pair.listener));
	rdma_destroy_event_channel(pair.channel);
}

/* The id of a request that the program destroys without an answer: a rejection. */
static void
test_destroyed_request(void)
{
	struct cm_pair pair;

	cm_ask(&pair, NULL, 0);
	OK(rdma_destroy_id(pair.passive));
	cm_expect(pair.channel, RDMA_CM_EVENT_REJECTED, pair.active);
	cm_gone(&pair.active);
	OK(rdma_destroy_id(pair.listener));
	rdma_destroy_event_channel(pair.channel);
}

/* A program that destroys its queue pair right after rdma_disconnect, and waits for the event. What it sent last arrives. */
static void
test_hasty(void)
{
	static char sent[CM_MESSAGE] = "last", got[CM_MESSAGE];

	for (int i = 0; i < 20; i++) {
		struct cm_event one, two;
		struct ibv_mr *source, *sink;
		struct cm_pair pair RI_AT_END(cm_finish);
		struct ibv_wc wc;

		cm_connect(&pair);
		source = rdma_reg_msgs(pair.active, sent, sizeof(sent));
		sink = rdma_reg_msgs(pair.passive, got, sizeof(got));
		memset(got, 0, sizeof(got));
		OK(rdma_post_recv(pair.passive, NULL, got, sizeof(got), sink));
		OK(rdma_post_send(pair.active, NULL, sent, sizeof(sent), source, 0));
		if (!cm_is_iwarp()) /* there, librdmacm moves the queue pair to ERR first */
			g_assert_cmpint(rdma_get_send_comp(pair.active, &wc), ==, 1);
		OK(rdma_disconnect(pair.active));
		rdma_destroy_qp(pair.active);
		one = cm_expect(pair.channel, RDMA_CM_EVENT_DISCONNECTED, NULL);
		two = cm_expect(pair.channel, RDMA_CM_EVENT_DISCONNECTED, NULL);
		g_assert_true(one.id != two.id);
		g_assert_cmpint(rdma_get_recv_comp(pair.passive, &wc), ==, 1);
		g_assert_cmpint(wc.status, ==, IBV_WC_SUCCESS);
		g_assert_cmpmem(got, sizeof(got), sent, sizeof(sent));
		OK(rdma_dereg_mr(source));
		OK(rdma_dereg_mr(sink));
	}
}

/* A queue pair that is destroyed while it is connected. */
static void
test_qp_goes(void)
{
	struct cm_event one, two;
	struct cm_pair pair RI_AT_END(cm_finish);

	cm_connect(&pair);
	rdma_destroy_qp(pair.passive);
	one = cm_expect(pair.channel, RDMA_CM_EVENT_DISCONNECTED, NULL);
	two = cm_expect(pair.channel, RDMA_CM_EVENT_DISCONNECTED, NULL);
	g_assert_true(one.id != two.id);
	OK(rdma_disconnect(pair.passive));
}

#define WORDS  32 /* messages that are sent at most */
#define OCTETS 65536

static void *
destroy_qp(void *arg)
{
	rdma_destroy_qp((struct rdma_cm_id *)arg);
	return NULL;
}

/* The two ends of a connection whose passive one takes its receives from an SRQ. */
static struct ibv_srq *
connect_to_srq(struct cm_pair *pair)
{
	struct ibv_srq_init_attr srq = {.attr = {.max_wr = WORDS, .max_sge = 1}};
	struct ibv_qp_init_attr init = {.cap = {.max_send_wr = 1,
						.max_recv_wr = WORDS,
						.max_send_sge = 1,
						.max_recv_sge = 1},
					.qp_type = IBV_QPT_RC};
	struct rdma_conn_param param = cm_param(NULL, 0);

	cm_ask(pair, NULL, 0);
	init.srq = ibv_create_srq(pair->active->pd, &srq);
	g_assert_nonnull(init.srq);
	OK(rdma_create_qp(pair->passive, pair->active->pd, &init));
	OK(rdma_accept(pair->passive, &param));
	cm_expect(pair->channel, RDMA_CM_EVENT_ESTABLISHED, NULL);
	cm_expect(pair->channel, RDMA_CM_EVENT_ESTABLISHED, NULL);
	return init.srq;
}

/*
 * Send until no more requests complete, because the peer posts no receive; returns how many
 * completed. On a busy machine that may take longer than a message waits for its receive, so the
 * number of requests is limited.
 */
static unsigned
send_words(struct rdma_cm_id *id, void *octets, struct ibv_mr *mr)
{
	const gint64 soon = g_get_monotonic_time() + 300 * 1000;
	unsigned posted = 0, completed = 0;
	struct ibv_wc wc;

	for (unsigned ms = 0; ms < 300 && (completed <= 2 || g_get_monotonic_time() < soon); ms++) {
		while (posted < WORDS && posted < completed + 8) {
			OK(rdma_post_send(id, NULL, octets, OCTETS, mr, 0));
			posted++;
		}
		while (ibv_poll_cq(id->send_cq, 1, &wc) == 1) {
			g_assert_cmpint(wc.status, ==, IBV_WC_SUCCESS);
			completed++;
		}
		g_usleep(1000);
	}
	return completed;
}

/* Messages that were completed arrive, also if the sender's queue pair goes before the receiver takes them. */
static void
test_last_words(void)
{
	struct ibv_recv_wr *bad, receive = {.num_sge = 1};
	unsigned sent, got = 0;
	struct ibv_sge sge;
	struct ibv_srq *srq;
	struct cm_pair pair;
	struct ibv_mr *mr;
	struct ibv_wc wc;
	pthread_t thread;
	void *octets;

	if (!cm_is_iwarp()) {
		g_test_skip("a request completes when its octets have arrived");
		return;
	}
	srq = connect_to_srq(&pair);
	octets = g_malloc0(OCTETS);
	mr = ibv_reg_mr(pair.active->pd, octets, OCTETS, IBV_ACCESS_LOCAL_WRITE);
	g_assert_nonnull(mr);
	sent = send_words(pair.active, octets, mr);
	g_assert_cmpuint(sent, >, 2); /* more than the socket of the receiver has */
	OK(pthread_create(&thread, NULL, destroy_qp, pair.active));
	g_usleep(100 * 1000);
	sge = (struct ibv_sge){.addr = (uintptr_t)octets, .length = OCTETS, .lkey = mr->lkey};
	receive.sg_list = &sge;
	for (unsigned i = 0; i < WORDS; i++)
		OK(ibv_post_srq_recv(srq, &receive, &bad));
	UNTIL((got += ibv_poll_cq(pair.passive->recv_cq, 1, &wc) == 1 &&
		      wc.status == IBV_WC_SUCCESS) >= sent);
	OK(pthread_join(thread, NULL));
	OK(ibv_dereg_mr(mr));
	rdma_destroy_qp(pair.passive);
	OK(ibv_destroy_srq(srq));
	cm_finish(&pair);
	g_free(octets);
}

/* An id that is destroyed while its queue pair is connected: the other side learns it. */
static void
test_id_goes(void)
{
	struct ibv_qp *qp;
	struct cm_pair pair;

	cm_connect(&pair);
	qp = pair.active->qp;
	OK(rdma_destroy_id(pair.active));
	cm_expect(pair.channel, RDMA_CM_EVENT_DISCONNECTED, pair.passive);
	OK(ibv_destroy_qp(qp));
	cm_gone(&pair.passive);
	OK(rdma_destroy_id(pair.listener));
	rdma_destroy_event_channel(pair.channel);
}

/* Commands in states that do not allow them. */
static void
test_wrong_states(void)
{
	struct rdma_event_channel *channel RI_AT_END(cm_channel_end) = cm_channel();
	struct sockaddr_storage addr = cm_addr("127.0.0.1", 0), dest = cm_addr("127.0.0.1", 9);
	struct rdma_cm_id *listener RI_AT_END(cm_id_end) =
		cm_listener(channel, RDMA_PS_TCP, "127.0.0.1");
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct rdma_cm_id *id RI_AT_END(cm_gone) = cm_id(channel, RDMA_PS_TCP);

	FAILS(rdma_reject(id, NULL, 0), EINVAL);
	FAILS(rdma_notify(id, IBV_EVENT_COMM_EST), EINVAL);
	OK(rdma_resolve_addr(id, NULL, (struct sockaddr *)&dest, 1000));
	cm_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED, id);
	FAILS(rdma_resolve_addr(id, NULL, (struct sockaddr *)&dest, 1000), EINVAL);
	FAILS(rdma_bind_addr(id, (struct sockaddr *)&addr), EINVAL);
	FAILS(rdma_listen(id, 1), EINVAL);
	cm_qp(id);
	FAILS(rdma_connect(id, &param), EINVAL);
	OK(rdma_resolve_route(id, 1000));
	cm_expect(channel, RDMA_CM_EVENT_ROUTE_RESOLVED, id);
	FAILS(rdma_resolve_route(id, 1000), EINVAL);
	FAILS(rdma_reject(id, NULL, 0), EINVAL);
	FAILS(rdma_listen(listener, 1), EINVAL);
	FAILS(rdma_bind_addr(listener, (struct sockaddr *)&addr), EINVAL);
	FAILS(rdma_connect(listener, &param), EINVAL);
}

/* librdmacm's synchronous calls, with two threads. */
static void *
sync_client(void *arg)
{
	struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP}, *info;
	struct ibv_qp_init_attr init = {
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
		.sq_sig_all = 1};
	g_autofree char *port = g_strdup_printf("%u", GPOINTER_TO_UINT(arg));
	char message[CM_MESSAGE] = "sync";
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	struct ibv_wc wc;

	ALL_RIGHT(rdma_getaddrinfo("127.0.0.1", port, &hints, &info));
	ALL_RIGHT(rdma_create_ep(&id, info, NULL, &init));
	rdma_freeaddrinfo(info);
	mr = rdma_reg_msgs(id, message, sizeof(message));
	ALL_RIGHT(rdma_connect(id, NULL));
	ALL_RIGHT(rdma_post_send(id, NULL, message, sizeof(message), mr, 0));
	g_assert_cmpint(rdma_get_send_comp(id, &wc), ==, 1);
	ALL_RIGHT(rdma_post_recv(id, NULL, message, sizeof(message), mr));
	g_assert_cmpint(rdma_get_recv_comp(id, &wc), ==, 1); /* flushed: the other side ends it */
	ALL_RIGHT(rdma_disconnect(id));
	ALL_RIGHT(rdma_dereg_mr(mr));
	rdma_destroy_ep(id);
	return NULL;
}

static void
test_sync(void)
{
	struct rdma_addrinfo hints = {.ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP}, *info;
	struct ibv_qp_init_attr init = {
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
		.sq_sig_all = 1};
	struct rdma_cm_id *listener, *id;
	char message[CM_MESSAGE];
	struct ibv_mr *mr;
	struct ibv_wc wc;
	GThread *thread;

	ALL_RIGHT(rdma_getaddrinfo("127.0.0.1", "0", &hints, &info));
	ALL_RIGHT(rdma_create_ep(&listener, info, NULL, &init));
	rdma_freeaddrinfo(info);
	ALL_RIGHT(rdma_listen(listener, 0));
	thread = g_thread_new("client", sync_client,
			      GUINT_TO_POINTER(ntohs(rdma_get_src_port(listener))));
	ALL_RIGHT(rdma_get_request(listener, &id));
	mr = rdma_reg_msgs(id, message, sizeof(message));
	ALL_RIGHT(rdma_post_recv(id, NULL, message, sizeof(message), mr));
	ALL_RIGHT(rdma_accept(id, NULL));
	g_assert_cmpint(rdma_get_recv_comp(id, &wc), ==, 1);
	g_assert_cmpstr(message, ==, "sync");
	ALL_RIGHT(rdma_disconnect(id));
	ALL_RIGHT(rdma_dereg_mr(mr));
	rdma_destroy_ep(id);
	g_thread_join(thread);
	rdma_destroy_ep(listener);
}

/* The program brings its queue pair without librdmacm: rdma_establish is the end of the set-up on InfiniBand. */
static void
test_external_qp(void)
{
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct rdma_event_channel *channel RI_AT_END(cm_channel_end) = cm_channel();
	struct rdma_cm_id *listener RI_AT_END(cm_id_end) =
		cm_listener(channel, RDMA_PS_TCP, "127.0.0.1");
	struct rdma_cm_id *active = cm_active(channel, listener), *passive;
	struct ibv_qp *own = active->qp;

	active->qp = NULL;
	param.qp_num = own->qp_num;
	OK(rdma_connect(active, &param));
	passive = cm_expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST, NULL).id;
	cm_qp(passive);
	OK(rdma_accept(passive, &param));
	if (!cm_is_iwarp()) {
		cm_expect(channel, RDMA_CM_EVENT_CONNECT_RESPONSE, active);
		OK(rdma_establish(active));
		FAILS(rdma_establish(active), EINVAL);
	} else {
		cm_expect(channel, RDMA_CM_EVENT_ESTABLISHED, NULL);
		FAILS(rdma_establish(active), EINVAL);
	}
	cm_expect(channel, RDMA_CM_EVENT_ESTABLISHED, NULL);
	active->qp = own;
	cm_talk(active, passive);
	cm_gone(&active);
	cm_expect(channel, RDMA_CM_EVENT_DISCONNECTED, passive);
	cm_gone(&passive);
}

static void
move_as_told(struct rdma_cm_id *id, struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {.qp_state = state};
	int mask;

	OK(rdma_init_qp_attr(id, &attr, &mask));
	OK(ibv_modify_qp(qp, &attr, mask));
}

/* The passive side brings a queue pair of its own to INIT by itself, and then as rdma_cm says. */
static void
test_external_passive(void)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
	struct ibv_qp_init_attr init = {
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC};
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct rdma_event_channel *channel RI_AT_END(cm_channel_end) = cm_channel();
	struct rdma_cm_id *listener RI_AT_END(cm_id_end) =
		cm_listener(channel, RDMA_PS_TCP, "127.0.0.1");
	struct rdma_cm_id *active = cm_active(channel, listener), *passive;
	struct ibv_qp *own;

	OK(rdma_connect(active, &param));
	passive = cm_expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST, NULL).id;
	init.send_cq = init.recv_cq = ibv_create_cq(passive->verbs, 4, NULL, NULL, 0);
	own = ibv_create_qp(passive->pd, &init);
	g_assert_nonnull(own);
	OK(ibv_modify_qp(own, &attr,
			 IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	move_as_told(passive, own, IBV_QPS_INIT);
	move_as_told(passive, own, IBV_QPS_RTR);
	move_as_told(passive, own, IBV_QPS_RTS);
	param.qp_num = own->qp_num;
	OK(rdma_accept(passive, &param));
	cm_expect(channel, RDMA_CM_EVENT_ESTABLISHED, NULL);
	cm_expect(channel, RDMA_CM_EVENT_ESTABLISHED, NULL);
	OK(ibv_query_qp(own, &attr, IBV_QP_STATE, &init));
	g_assert_cmpint(attr.qp_state, ==, IBV_QPS_RTS);
	cm_gone(&active);
	cm_expect(channel, RDMA_CM_EVENT_DISCONNECTED, passive);
	OK(rdma_disconnect(passive));
	OK(ibv_destroy_qp(own));
	OK(ibv_destroy_cq(init.send_cq));
	OK(rdma_destroy_id(passive));
}

static struct ibv_qp_attr
queried(const struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	OK(ibv_query_qp(id->qp, &attr, IBV_QP_TIMEOUT | IBV_QP_DEST_QPN | IBV_QP_PATH_MTU, &init));
	return attr;
}

/* A queue pair that rdma_cm has connected tells who its peer is, and the time that its program has chosen. */
static void
test_query(void)
{
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct rdma_event_channel *channel RI_AT_END(cm_channel_end) = cm_channel();
	struct rdma_cm_id *listener RI_AT_END(cm_id_end) =
		cm_listener(channel, RDMA_PS_TCP, "127.0.0.1");
	struct rdma_cm_id *active = cm_active(channel, listener), *passive;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS};
	uint8_t codes[] = {16, 15, 32};
	int mask;

	FAILS(rdma_set_option(active, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &codes[2], 1),
	      EINVAL);
	OK(rdma_set_option(active, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &codes[0], 1));
	OK(rdma_connect(active, &param));
	passive = cm_expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST, NULL).id;
	OK(rdma_init_qp_attr(passive, &attr, &mask));
	if (cm_is_roce()) /* the request carries it */
		g_assert_cmpuint(attr.timeout, ==, codes[0]);
	cm_qp(passive);
	OK(rdma_set_option(passive, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &codes[1], 1));
	OK(rdma_accept(passive, &param));
	cm_expect(channel, RDMA_CM_EVENT_ESTABLISHED, NULL);
	cm_expect(channel, RDMA_CM_EVENT_ESTABLISHED, NULL);
	if (!cm_is_iwarp()) {
		g_assert_cmpuint(queried(active).timeout, ==, codes[0]);
		g_assert_cmpuint(queried(passive).timeout, ==, codes[1]);
		g_assert_cmpuint(queried(active).dest_qp_num, ==, passive->qp->qp_num);
		g_assert_cmpuint(queried(passive).dest_qp_num, ==, active->qp->qp_num);
		g_assert_cmpuint(queried(passive).path_mtu, >=, IBV_MTU_256);
	}
	cm_gone(&active);
	cm_expect(channel, RDMA_CM_EVENT_DISCONNECTED, passive);
	cm_gone(&passive);
}

/* Numbers of no queue pair: the program has its own, which the adapter tells the other side. */
static void
test_number(void)
{
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct rdma_event_channel *channel RI_AT_END(cm_channel_end) = cm_channel();
	struct rdma_cm_id *listener RI_AT_END(cm_id_end) =
		cm_listener(channel, RDMA_PS_TCP, "127.0.0.1");
	struct sockaddr_storage dest = cm_addr("127.0.0.1", ntohs(rdma_get_src_port(listener)));
	struct rdma_cm_id *active = cm_resolved(channel, RDMA_PS_TCP, &dest), *passive;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR};
	struct cm_event event;
	int mask;

	param.qp_num = 0xabcde1;
	if (cm_is_iwarp()) {
		FAILS(rdma_connect(active, &param), EINVAL);
		cm_gone(&active);
		return;
	}
	/* A number that none can be, again and again, leaves nothing behind. */
	for (unsigned i = 0; i < 3; i++) {
		param.qp_num = 0x1000000 + i;
		FAILS(rdma_connect(active, &param), EINVAL);
	}
	param.qp_num = 0xabcde1;
	OK(rdma_connect(active, &param));
	event = cm_expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST, NULL);
	passive = event.id;
	g_assert_cmpuint(event.param.conn.qp_num, ==, 0xabcde1);
	/* Before it accepts, it may ask who that is. UCX does. */
	OK(rdma_init_qp_attr(passive, &attr, &mask));
	g_assert_cmpuint(attr.dest_qp_num, ==, 0xabcde1);
	g_assert_cmpuint(attr.path_mtu, >=, IBV_MTU_256);
	g_assert_cmpuint(attr.ah_attr.is_global, ==, 1);
	param.qp_num = 0xabcde2;
	OK(rdma_accept(passive, &param));
	event = cm_expect(channel, RDMA_CM_EVENT_CONNECT_RESPONSE, active);
	g_assert_cmpuint(event.param.conn.qp_num, ==, 0xabcde2);
	OK(rdma_init_qp_attr(active, &attr, &mask));
	g_assert_cmphex((guint)mask & IBV_QP_DEST_QPN, !=, 0);
	g_assert_cmpuint(attr.dest_qp_num, ==, 0xabcde2);
	attr.qp_state = IBV_QPS_RTS;
	OK(rdma_init_qp_attr(active, &attr, &mask));
	g_assert_cmphex((guint)mask & IBV_QP_SQ_PSN, !=, 0);
	OK(rdma_establish(active));
	cm_expect(channel, RDMA_CM_EVENT_ESTABLISHED, passive);
	OK(rdma_destroy_id(active));
	cm_expect(channel, RDMA_CM_EVENT_DISCONNECTED, passive);
	OK(rdma_destroy_id(passive));
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_assert_cmpint(argc, ==, 2);
	cm_adapters(argv[1]);
	g_test_add_func("/door/cm-connect/connect", test_connect);
	g_test_add_func("/door/cm-connect/limits", test_limits);
	g_test_add_func("/door/cm-connect/nobody", test_nobody);
	g_test_add_func("/door/cm-connect/late-listener", test_late_listener);
	g_test_add_func("/door/cm-connect/peer-gives-up", test_peer_gives_up);
	g_test_add_func("/door/cm-connect/destroyed-request", test_destroyed_request);
	g_test_add_func("/door/cm-connect/hasty", test_hasty);
	g_test_add_func("/door/cm-connect/qp-goes", test_qp_goes);
	g_test_add_func("/door/cm-connect/last-words", test_last_words);
	g_test_add_func("/door/cm-connect/id-goes", test_id_goes);
	g_test_add_func("/door/cm-connect/wrong-states", test_wrong_states);
	g_test_add_func("/door/cm-connect/sync", test_sync);
	g_test_add_func("/door/cm-connect/external-qp", test_external_qp);
	g_test_add_func("/door/cm-connect/external-passive", test_external_passive);
	g_test_add_func("/door/cm-connect/query", test_query);
	g_test_add_func("/door/cm-connect/number", test_number);
	return g_test_run();
}
