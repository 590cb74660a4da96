/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "cm_bench.h"

#include <poll.h>
#include <stdlib.h>

#include <rdma/rdma_verbs.h>

#include "it_net.h"

/*
 * librdmacm leaks memory if a program ends a channel that still has ids, or a thread in
 * rdma_get_cm_event(). conformance/fuzz tests without librdmacm that the code here does not leak.
 */
const char *__lsan_default_suppressions(void);
const char *
__lsan_default_suppressions(void)
{
	return "leak:librdmacm.so\n";
}

#define PATIENCE_MS 20000
#define QUIET_MS    50

void
cm_adapters(const char *names)
{
	g_setenv("ITAPI_VERBS_DEVICES", names, TRUE);
	/* An address of RoCE is of one process, and the loopback's are these tests'. */
	if (cm_is_roce() && !net_enter()) {
		g_print("1..0 # SKIP no network namespace can be made here\n");
		exit(0);
	}
}

bool
cm_is_iwarp(void)
{
	const char *names = g_getenv("ITAPI_VERBS_DEVICES");

	return strstr(names, "iwarp") != NULL && strncmp(names, "emul:ib", 7) != 0;
}

bool
cm_is_roce(void)
{
	return strncmp(g_getenv("ITAPI_VERBS_DEVICES"), "roce", 4) == 0;
}

bool
cm_waits_for_listener(void)
{
	return cm_is_iwarp() || cm_is_roce();
}

struct rdma_event_channel *
cm_channel(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();

	g_assert_nonnull(channel);
	return channel;
}

void
cm_channel_end(struct rdma_event_channel **channel)
{
	rdma_destroy_event_channel(*channel);
}

struct rdma_cm_id *
cm_id(struct rdma_event_channel *channel, enum rdma_port_space ps)
{
	struct rdma_cm_id *id;

	OK(rdma_create_id(channel, &id, NULL, ps));
	return id;
}

static bool
is_readable(struct rdma_event_channel *channel, int timeout_ms)
{
	struct pollfd pollfd = {.fd = channel->fd, .events = POLLIN};

	return poll(&pollfd, 1, timeout_ms) == 1;
}

struct cm_event
cm_next(struct rdma_event_channel *channel)
{
	struct rdma_cm_event *event;
	struct cm_event copy = {.length = 0};
	const void *data;

	g_assert_true(is_readable(channel, PATIENCE_MS));
	OK(rdma_get_cm_event(channel, &event));
	copy.type = event->event;
	copy.status = event->status;
	copy.id = event->id;
	copy.listen_id = event->listen_id;
	if (event->id->ps == RDMA_PS_UDP) {
		copy.param.ud = event->param.ud;
		data = event->param.ud.private_data;
		copy.length = event->param.ud.private_data_len;
	} else {
		copy.param.conn = event->param.conn;
		data = event->param.conn.private_data;
		copy.length = event->param.conn.private_data_len;
	}
	if (data != NULL && copy.length > 0)
		memcpy(copy.data, data, copy.length);
	OK(rdma_ack_cm_event(event));
	door_sums_check_cm();
	return copy;
}

struct cm_event
cm_expect(struct rdma_event_channel *channel, enum rdma_cm_event_type type,
	  const struct rdma_cm_id *id)
{
	struct cm_event event;

	do
		event = cm_next(channel);
	while (event.type == RDMA_CM_EVENT_TIMEWAIT_EXIT && type != RDMA_CM_EVENT_TIMEWAIT_EXIT);
	g_assert_cmpstr(rdma_event_str(event.type), ==, rdma_event_str(type));
	if (id != NULL)
		g_assert_true(event.id == id);
	return event;
}

void
cm_expect_none(struct rdma_event_channel *channel)
{
	while (is_readable(channel, QUIET_MS))
		g_assert_cmpstr(rdma_event_str(cm_next(channel).type), ==,
				rdma_event_str(RDMA_CM_EVENT_TIMEWAIT_EXIT));
}

struct sockaddr_storage
cm_addr(const char *text, uint16_t port)
{
	struct sockaddr_storage addr = {.ss_family = 0};
	struct sockaddr_in *in = (struct sockaddr_in *)&addr;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&addr;

	if (strchr(text, ':') != NULL) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
		g_assert_cmpint(inet_pton(AF_INET6, text, &in6->sin6_addr), ==, 1);
	} else {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		g_assert_cmpint(inet_pton(AF_INET, text, &in->sin_addr), ==, 1);
	}
	return addr;
}

uint16_t
cm_free_port(void)
{
	static unsigned next;

	for (unsigned tries = 0; tries < 1000; tries++) {
		const uint16_t port = (uint16_t)(2048 + ((unsigned)getpid() * 32 + next++) % 30000);
		struct sockaddr_in6 all = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
		int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), off = 0;
		bool free;

		OK(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)));
		free = bind(fd, (struct sockaddr *)&all, sizeof(all)) == 0;
		close(fd);
		if (free)
			return port;
	}
	g_error("no port is free");
}

struct rdma_cm_id *
cm_listener(struct rdma_event_channel *channel, enum rdma_port_space ps, const char *text)
{
	return cm_listener_at(channel, ps, text, 0);
}

struct rdma_cm_id *
cm_listener_at(struct rdma_event_channel *channel, enum rdma_port_space ps, const char *text,
	       uint16_t port)
{
	struct sockaddr_storage addr = cm_addr(text, port);
	struct rdma_cm_id *id = cm_id(channel, ps);

	OK(rdma_bind_addr(id, (struct sockaddr *)&addr));
	OK(rdma_listen(id, 8));
	g_assert_cmpuint(rdma_get_src_port(id), !=, 0);
	return id;
}

struct rdma_cm_id *
cm_resolved(struct rdma_event_channel *channel, enum rdma_port_space ps,
	    const struct sockaddr_storage *dest)
{
	struct sockaddr_storage to = *dest;
	struct rdma_cm_id *id = cm_id(channel, ps);

	OK(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 1000));
	cm_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED, id);
	g_assert_nonnull(id->verbs);
	OK(rdma_resolve_route(id, 1000));
	cm_expect(channel, RDMA_CM_EVENT_ROUTE_RESOLVED, id);
	return id;
}

void
cm_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = {
		.cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = id->ps == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC,
		.sq_sig_all = 1};

	OK(rdma_create_qp(id, NULL, &init));
}

struct rdma_cm_id *
cm_active(struct rdma_event_channel *channel, struct rdma_cm_id *listener)
{
	struct sockaddr_storage dest = cm_addr("127.0.0.1", ntohs(rdma_get_src_port(listener)));
	struct rdma_cm_id *id = cm_resolved(channel, listener->ps, &dest);

	cm_qp(id);
	return id;
}

struct rdma_conn_param
cm_param(const void *data, uint8_t length)
{
	return (struct rdma_conn_param){.private_data = data,
					.private_data_len = length,
					.responder_resources = 2,
					.initiator_depth = 3,
					.retry_count = 7,
					.rnr_retry_count = 7};
}

void
cm_ask(struct cm_pair *pair, const void *data, uint8_t length)
{
	struct rdma_conn_param param = cm_param(data, length);

	memset(pair, 0, sizeof(*pair));
	pair->channel = cm_channel();
	pair->listener = cm_listener(pair->channel, RDMA_PS_TCP, "127.0.0.1");
	pair->active = cm_active(pair->channel, pair->listener);
	OK(rdma_connect(pair->active, &param));
	pair->request = cm_expect(pair->channel, RDMA_CM_EVENT_CONNECT_REQUEST, NULL);
	pair->passive = pair->request.id;
	g_assert_true(pair->request.listen_id == pair->listener);
}

void
cm_accept(struct cm_pair *pair, const void *data, uint8_t length)
{
	struct rdma_conn_param param = cm_param(data, length);
	struct cm_event one, two;

	cm_qp(pair->passive);
	OK(rdma_accept(pair->passive, &param));
	one = cm_expect(pair->channel, RDMA_CM_EVENT_ESTABLISHED, NULL);
	two = cm_expect(pair->channel, RDMA_CM_EVENT_ESTABLISHED, NULL);
	g_assert_true((one.id == pair->active && two.id == pair->passive) ||
		      (two.id == pair->active && one.id == pair->passive));
	pair->request = one.id == pair->active ? one : two; /* what the active side was told */
}

void
cm_connect(struct cm_pair *pair)
{
	cm_ask(pair, NULL, 0);
	cm_accept(pair, NULL, 0);
}

void
cm_id_end(struct rdma_cm_id **id)
{
	OK(rdma_destroy_id(*id));
}

void
cm_gone(struct rdma_cm_id **id)
{
	if ((*id)->qp != NULL)
		rdma_destroy_qp(*id);
	cm_id_end(id);
}

void
cm_finish(struct cm_pair *pair)
{
	door_sums_check(pair->active->verbs);
	cm_gone(&pair->active);
	cm_gone(&pair->passive);
	door_sums_check_cm();
	OK(rdma_destroy_id(pair->listener));
	rdma_destroy_event_channel(pair->channel);
}

static void
complete(int (*next)(struct rdma_cm_id *id, struct ibv_wc *wc), struct rdma_cm_id *id)
{
	struct ibv_wc wc;

	g_assert_cmpint(next(id, &wc), ==, 1);
	g_assert_cmpint(wc.status, ==, IBV_WC_SUCCESS);
}

void
cm_talk(struct rdma_cm_id *from, struct rdma_cm_id *to)
{
	char sent[CM_MESSAGE], got[CM_MESSAGE];
	struct ibv_mr *source = rdma_reg_msgs(from, sent, sizeof(sent));
	struct ibv_mr *sink = rdma_reg_msgs(to, got, sizeof(got));

	memset(sent, 'x', sizeof(sent));
	memset(got, 0, sizeof(got));
	OK(rdma_post_recv(to, NULL, got, sizeof(got), sink));
	OK(rdma_post_send(from, NULL, sent, sizeof(sent), source, 0));
	complete(rdma_get_send_comp, from);
	complete(rdma_get_recv_comp, to);
	g_assert_cmpmem(sent, sizeof(sent), got, sizeof(got));
	OK(rdma_dereg_mr(source));
	OK(rdma_dereg_mr(sink));
}
