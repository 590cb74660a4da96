/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Connections by address through the provider's tables, over sockets of the loopback interface,
 * with both sides in one process and in two. Which side ends the connection and how, and the event
 * at the other side; attempts that fail; queries for datagram services.
 */
#include <arpa/inet.h>
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ri_wire.h"
#include "roce_address.h"
#include "vrc_conn.h"
#include "vro_verbs.h"
#include "vsw_node.h"

#define MS     UINT64_C(1000000)
#define LISTEN ((const void *)(uintptr_t)42)
#define QUERY  77u
#define BUSY   10000u

struct scene {
	struct vth *vth;
	struct node *near, *far; /* two openings of one adapter */
	struct end *a, *b;
	struct chunk ma, mb;
	struct ri_service service;
	struct ri_listen *listen;
};

static const struct ri_cm_ops *
ops(void)
{
	return vro_provider_entry()->cm;
}

static struct node *
opening(struct vth *vth)
{
	struct node *node = node_open(vro_provider_entry(), vth, true, "roce:lo");

	node->requests = 16;
	node->entries = 64;
	return node;
}

static void
scene_listen(struct scene *s, uint32_t backlog)
{
	s->service = (struct ri_service){.kind = RI_SERVICE_PORT};
	g_assert_cmpint(ops()->listen(s->far->context, 42, 0, &s->service, backlog, &s->listen), ==,
			RI_SUCCESS);
}

static void
scene_open(struct scene *s)
{
	memset(s, 0, sizeof(*s));
	s->vth = vth_new(true);
	s->near = opening(s->vth);
	s->far = opening(s->vth);
	g_assert_true(s->near->rnic->station == s->far->rnic->station);
	g_assert_cmpuint(s->near->rnic->station->users, ==, 2);
	s->a = end_new(s->near, NULL);
	s->b = end_new(s->far, NULL);
	s->ma = chunk_new(s->near, 65536, ALL_RW);
	s->mb = chunk_new(s->far, 65536, ALL_RW);
	chunk_fill(&s->ma, 1);
	chunk_fill(&s->mb, 2);
	scene_listen(s, 4);
}

/* It is destroyed, and no exchange tells it of anything any more, also one of an earlier connection. */
static void
end_gone(struct end **end)
{
	struct vrc_service *service = (*end)->node->rnic->station->service;
	uint64_t ctx = (uint64_t)(uintptr_t)(*end)->qp;
	const struct vrc_cm *cm;

	end_free(end);
	cm = vrc_service_enter(service);
	for (const struct vrc_link *link = cm->all.next; link != &cm->all; link = link->next) {
		const struct vrc_conn *conn = (const struct vrc_conn *)(const void *)link;

		g_assert_true(conn->ctx != ctx || conn->silent);
	}
	vrc_service_leave(service);
}

static void
scene_close(struct scene *s)
{
	ops()->listen_destroy(s->listen);
	node_silent(s->near);
	node_silent(s->far);
	end_gone(&s->a);
	end_gone(&s->b);
	chunk_free(&s->ma);
	chunk_free(&s->mb);
	node_close(&s->near);
	node_close(&s->far);
	vth_free(&s->vth);
}

static struct ri_cm_params
params_to(const struct ri_service *service, const char *text)
{
	return (struct ri_cm_params){.peer = roce_address(0),
				     .service = *service,
				     .ird = 4,
				     .ord = 4,
				     .ird_ord = true,
				     .pdata = text,
				     .pdata_len = (uint16_t)strlen(text),
				     .deadline = RI_NEVER};
}

/* The text, and nothing but zeros behind it. */
static void
assert_text(const struct ri_cm_event *event, const char *text)
{
	g_assert_cmpuint(event->pdata_len, >=, strlen(text));
	g_assert_cmpmem(event->pdata, strlen(text), text, strlen(text));
	for (size_t i = strlen(text); i < event->pdata_len; i++)
		g_assert_cmpuint(event->pdata[i], ==, 0);
}

/* A request of the near side has come. */
static struct ri_cm_event
request_of(struct scene *s, const char *text, bool three_way)
{
	struct ri_cm_params params = params_to(&s->service, text);
	struct ri_cm_event event;

	params.three_way = three_way;
	g_assert_cmpint(ops()->connect(s->a->qp, &params), ==, RI_SUCCESS);
	g_assert_cmpint(end_state(s->a), ==, RI_QPS_CONNECTING);
	g_assert_cmpint(ops()->connect(s->a->qp, &params), ==, RI_ERR_INVALID_STATE);
	event = node_cm(s->far, RI_CM_REQUEST, LISTEN);
	assert_text(&event, text);
	g_assert_cmpuint(event.ird, ==, 4);
	g_assert_cmpuint(event.reach.qpn, ==, end_attr(s->a).qpn);
	return event;
}

static void
up(struct scene *s)
{
	struct ri_cm_event event = request_of(s, "the request", false);
	struct ri_cm_params params = params_to(&s->service, "the answer");

	g_assert_cmpint(ops()->accept(event.request, s->b->qp, &params), ==, RI_SUCCESS);
	event = node_cm(s->near, RI_CM_ESTABLISHED, s->a);
	assert_text(&event, "the answer");
	node_cm(s->far, RI_CM_ESTABLISHED, s->b);
	g_assert_cmpint(end_state(s->a), ==, RI_QPS_RTS);
	g_assert_cmpint(end_state(s->b), ==, RI_QPS_RTS);
}

static struct ri_wc
completion(struct end *end, struct ri_ucq *cq, uint64_t id, enum ri_wc_status status)
{
	struct ri_wc wc = {0};
	gint64 until = node_deadline();

	while (vro_provider_entry()->fast->poll_cq(cq, &wc, 1) == 0)
		g_assert_cmpint(g_get_monotonic_time(), <, until);
	g_assert_true(end != NULL);
	g_assert_cmpuint(wc.wr_id, ==, id);
	g_assert_cmpint((int)wc.status, ==, (int)status);
	return wc;
}

static void
data_moves(struct scene *s)
{
	g_assert_cmpint(end_recv(s->b, 1, &s->mb, 0, 60000), ==, RI_SUCCESS);
	g_assert_cmpint(end_recv(s->a, 2, &s->ma, 60000, 100), ==, RI_SUCCESS);
	g_assert_cmpint(end_send(s->a, 3, &s->ma, 0, 50000), ==, RI_SUCCESS);
	completion(s->b, s->b->urcq, 1, RI_WC_SUCCESS);
	completion(s->a, s->a->uscq, 3, RI_WC_SUCCESS);
	g_assert_cmpmem(s->ma.at, 50000, s->mb.at, 50000);
	g_assert_cmpint(end_send(s->b, 4, &s->mb, 0, 100), ==, RI_SUCCESS);
	completion(s->a, s->a->urcq, 2, RI_WC_SUCCESS);
	completion(s->b, s->b->uscq, 4, RI_WC_SUCCESS);
	g_assert_cmpint(end_read(s->b, 5, &s->mb, &s->ma, 40000), ==, RI_SUCCESS);
	completion(s->b, s->b->uscq, 5, RI_WC_SUCCESS);
}

static void
reset(struct end *end)
{
	gint64 until = node_deadline();

	while (end_modify(end, RI_QPS_IDLE) != RI_SUCCESS)
		g_assert_cmpint(g_get_monotonic_time(), <, until);
	g_assert_cmpint(end_state(end), ==, RI_QPS_IDLE);
}

/* Life after life with the same two queue pairs; either side ends it, and posted receives are flushed before the event of the end. */
static void
lives(void)
{
	struct scene s RI_AT_END(scene_close);
	struct ri_cm_event event;

	scene_open(&s);
	for (unsigned life = 0; life < 6; life++) {
		struct end *leaves = life % 2 == 0 ? s.a : s.b, *stays = life % 2 == 0 ? s.b : s.a;

		up(&s);
		data_moves(&s);
		g_assert_cmpint(end_recv(stays, 9, &s.mb, 0, 10), ==, RI_SUCCESS);
		g_assert_cmpint(ops()->disconnect(leaves->qp, "farewell", 8), ==, RI_SUCCESS);
		g_assert_cmpint(ops()->disconnect(leaves->qp, NULL, 0), ==, RI_ERR_INVALID_STATE);
		event = node_cm(stays->node, RI_CM_DISCONNECTED, stays);
		assert_text(&event, "farewell");
		g_assert_cmpuint(vro_provider_entry()->fast->cq_depth(stays->urcq), ==, 1);
		completion(stays, stays->urcq, 9, RI_WC_FLUSHED);
		node_cm(leaves->node, RI_CM_DISCONNECTED, leaves);
		g_assert_cmpint(end_state(leaves), ==, RI_QPS_ERROR);
		reset(s.a);
		reset(s.b);
	}
}

/* What node_open has given the far side, and the queue pair that fails meanwhile. */
static void (*record)(void *self, const struct ri_cm_event *event);
static struct end *fails;

/* Nobody has heard yet that the connection is established; another thread fails the queue pair, and runs the engine. */
static void
fail_first(void *self, const struct ri_cm_event *event)
{
	struct ri_wc wc;

	if (event->kind == RI_CM_ESTABLISHED && fails != NULL) {
		struct vro_verbs_qp *qp = (struct vro_verbs_qp *)fails->qp;

		g_assert_cmpint(end_modify(fails, RI_QPS_ERROR), ==, RI_SUCCESS);
		for (gint64 until = node_deadline(); atomic_load(&qp->kicked);)
			if (vro_provider_entry()->fast->poll_cq(fails->urcq, &wc, 1) == 0)
				g_assert_cmpint(g_get_monotonic_time(), <, until);
		fails = NULL;
	}
	record(self, event);
}

/* The end of a connection never overtakes its beginning; after it the queue pair can be used again. */
static void
ends_as_it_begins(void)
{
	struct scene s RI_AT_END(scene_close);
	struct ri_cm_params params;
	struct ri_cm_event event;

	scene_open(&s);
	params = params_to(&s.service, "");
	record = s.far->upcalls.cm_event;
	s.far->upcalls.cm_event = fail_first;
	fails = s.b;
	event = request_of(&s, "", false);
	g_assert_cmpint(ops()->accept(event.request, s.b->qp, &params), ==, RI_SUCCESS);
	node_cm(s.far, RI_CM_ESTABLISHED, s.b);
	node_cm(s.far, RI_CM_BROKEN, s.b);
	node_cm(s.near, RI_CM_ESTABLISHED, s.a);
	node_cm(s.near, RI_CM_DISCONNECTED, s.a);
	reset(s.a);
	reset(s.b);
	up(&s);
	data_moves(&s);
}

/* The near side, which waits for no receive, sends before the far program has heard that the connection is established. */
static struct scene *sends;

static void
send_first(void *self, const struct ri_cm_event *event)
{
	struct ri_wc wc;

	if (event->kind == RI_CM_ESTABLISHED && sends != NULL) {
		const struct vro_verbs_qp *qp = (struct vro_verbs_qp *)sends->b->qp;
		gint64 until = node_deadline();

		g_assert_cmpint(end_send(sends->a, 3, &sends->ma, 0, 8000), ==, RI_SUCCESS);
		while (qp->qp.rx.early == 0) {
			g_assert_cmpuint(
				vro_provider_entry()->fast->poll_cq(sends->b->urcq, &wc, 1), ==, 0);
			g_assert_cmpint(g_get_monotonic_time(), <, until);
		}
		sends = NULL;
	}
	record(self, event);
}

static void
sends_as_it_begins(void)
{
	struct scene s RI_AT_END(scene_close);
	struct ri_cm_params params;
	struct ri_cm_event event;
	const uint64_t *counts;
	uint64_t rnrs;

	scene_open(&s);
	counts = s.near->rnic->station->engine.counts;
	rnrs = counts[VRO_RNRS];
	params = params_to(&s.service, "");
	params.retries = true;
	params.retry_count = 7;
	record = s.far->upcalls.cm_event;
	s.far->upcalls.cm_event = send_first;
	sends = &s;
	g_assert_cmpint(end_recv(s.b, 1, &s.mb, 0, 8000), ==, RI_SUCCESS);
	g_assert_cmpint(ops()->connect(s.a->qp, &params), ==, RI_SUCCESS);
	event = node_cm(s.far, RI_CM_REQUEST, LISTEN);
	g_assert_cmpint(ops()->accept(event.request, s.b->qp, &params), ==, RI_SUCCESS);
	node_cm(s.far, RI_CM_ESTABLISHED, s.b);
	node_cm(s.near, RI_CM_ESTABLISHED, s.a);
	completion(s.b, s.b->urcq, 1, RI_WC_SUCCESS);
	completion(s.a, s.a->uscq, 3, RI_WC_SUCCESS);
	g_assert_cmpmem(s.ma.at, 8000, s.mb.at, 8000);
	g_assert_cmpuint(counts[VRO_RNRS], ==, rnrs);
}

/* An attempt that is refused, one that nobody hears, and a connection with other depths. */
static void
first_life(struct scene *s, unsigned how)
{
	struct ri_cm_params params = params_to(&s->service, "");
	struct ri_cm_event event;

	params.ird = params.ord = 1;
	params.service.port ^= how == 1 ? 0x0100 : 0;
	g_assert_cmpint(ops()->connect(s->a->qp, &params), ==, RI_SUCCESS);
	if (how == 1) {
		node_cm(s->near, RI_CM_FAILED, s->a);
		return;
	}
	event = node_cm(s->far, RI_CM_REQUEST, LISTEN);
	if (how == 0) {
		g_assert_cmpint(ops()->reject(event.request, RI_CM_REASON_CONSUMER, NULL, 0), ==,
				RI_SUCCESS);
		node_cm(s->near, RI_CM_REJECTED, s->a);
		return;
	}
	g_assert_cmpint(ops()->accept(event.request, s->b->qp, &params), ==, RI_SUCCESS);
	node_cm(s->near, RI_CM_ESTABLISHED, s->a);
	node_cm(s->far, RI_CM_ESTABLISHED, s->b);
	g_assert_cmpuint(end_attr(s->a).ord, ==, 1);
	g_assert_cmpint(ops()->disconnect(s->a->qp, NULL, 0), ==, RI_SUCCESS);
	node_cm(s->far, RI_CM_DISCONNECTED, s->b);
	node_cm(s->near, RI_CM_DISCONNECTED, s->a);
	reset(s->b);
}

/* By attributes. */
static void
up_again(struct scene *s)
{
	const struct ri_peer_ops *peer = vro_provider_entry()->peer;
	struct end *ends[] = {s->a, s->b};
	struct ri_peer to[2];

	for (int i = 0; i < 2; i++)
		to[i] = (struct ri_peer){.path = {.dest = roce_address(0)},
					 .qpn = end_attr(ends[!i]).qpn,
					 .rq_psn = 5,
					 .sq_psn = 5,
					 .path_mtu = 1024,
					 .ird = 4,
					 .ord = 4,
					 .min_rnr_timer = 12,
					 .timeout = 16,
					 .retry_count = 7,
					 .rnr_retry = 7};
	for (int i = 0; i < 2; i++)
		g_assert_cmpint(peer->receive(ends[i]->qp, &to[i]), ==, RI_SUCCESS);
	for (int i = 0; i < 2; i++)
		g_assert_cmpint(peer->send(ends[i]->qp, &to[i]), ==, RI_SUCCESS);
}

/* A queue pair whose attempt or connection is over has the attributes and abilities of a new one. */
static void
second_life(void)
{
	for (unsigned how = 0; how < 3; how++) {
		struct ri_qp_attr fresh[2], now[2];
		struct scene s RI_AT_END(scene_close);

		scene_open(&s);
		fresh[0] = end_attr(s.a);
		fresh[1] = end_attr(s.b);
		for (unsigned life = 0; life < 2; life++) {
			first_life(&s, how);
			reset(s.a);
			now[0] = end_attr(s.a);
			now[1] = end_attr(s.b);
			g_assert_cmpmem(&now[0], sizeof(now[0]), &fresh[0], sizeof(fresh[0]));
			g_assert_cmpmem(&now[1], sizeof(now[1]), &fresh[1], sizeof(fresh[1]));
		}
		up_again(&s);
		data_moves(&s);
	}
}

static uint32_t
exchanges(const struct node *node)
{
	struct vrc_service *service = node->rnic->station->service;
	struct vrc_counts counts;

	vrc_cm_counts(vrc_service_enter(service), &counts);
	vrc_service_leave(service);
	return counts.conns;
}

/* The time-wait of a queue pair's first connection ends when its second one has ended, and it is gone. */
static void
old_time_wait(void)
{
	struct scene s RI_AT_END(scene_close);

	scene_open(&s);
	up(&s);
	g_assert_cmpint(ops()->disconnect(s.a->qp, NULL, 0), ==, RI_SUCCESS);
	node_cm(s.far, RI_CM_DISCONNECTED, s.b);
	node_cm(s.near, RI_CM_DISCONNECTED, s.a);
	reset(s.a);
	reset(s.b);
	up(&s);
	g_assert_cmpuint(exchanges(s.near), >, 2);
	end_gone(&s.a);
	end_gone(&s.b);
	node_forget(s.far);
	node_forget(s.near);
	for (gint64 deadline = node_deadline(); exchanges(s.near) != 0; g_usleep(1000))
		g_assert_cmpint(g_get_monotonic_time(), <, deadline);
	node_silent(s.near);
	node_silent(s.far);
	s.a = end_new(s.near, NULL);
	s.b = end_new(s.far, NULL);
}

/* The three ways in which the other side says no, and one in which it says nothing. */
static void
refusals(void)
{
	struct ri_addr nobody = roce_address(3);
	struct sockaddr_in silent = {.sin_family = AF_INET, .sin_port = htons(ROCE_UDP_PORT)};
	struct scene s RI_AT_END(scene_close);
	struct ri_cm_params params;
	struct ri_cm_event event;
	int fd RI_AT_END(ri_at_end_close) = socket(AF_INET, SOCK_DGRAM, 0);

	scene_open(&s);
	event = request_of(&s, "", false);
	g_assert_cmpint(ops()->reject(event.request, RI_CM_REASON_CONSUMER, "no", 2), ==,
			RI_SUCCESS);
	g_assert_cmpint(ops()->reject(event.request, RI_CM_REASON_CONSUMER, "no", 2), ==,
			RI_ERR_INVALID_HANDLE);
	event = node_cm(s.near, RI_CM_REJECTED, s.a);
	assert_text(&event, "no");
	reset(s.a);
	params = params_to(&s.service, "");
	params.service.port ^= 0x0100;
	g_assert_cmpint(ops()->connect(s.a->qp, &params), ==, RI_SUCCESS);
	g_assert_cmpint((int)node_cm(s.near, RI_CM_FAILED, s.a).reason, ==, RI_CM_REASON_REFUSED);
	reset(s.a);
	params = params_to(&s.service, "");
	params.peer = (struct ri_addr){.family = RI_ADDR_IPV4, .octets = {240, 0, 0, 1}};
	g_assert_cmpint(ops()->connect(s.a->qp, &params), ==, RI_SUCCESS);
	g_assert_cmpint((int)node_cm(s.near, RI_CM_FAILED, s.a).reason, ==, RI_CM_REASON_BAD_PATH);
	reset(s.a);
	params.local = nobody;
	g_assert_cmpint(ops()->connect(s.a->qp, &params), ==, RI_ERR_NO_ROUTE);
	memcpy(&silent.sin_addr, nobody.octets, 4);
	g_assert_cmpint(bind(fd, (struct sockaddr *)&silent, sizeof(silent)), ==, 0);
	params = params_to(&s.service, "");
	params.peer = nobody;
	params.deadline = vth_host(s.vth)->now(vth_host(s.vth)->self) + 300 * MS;
	g_assert_cmpint(ops()->connect(s.a->qp, &params), ==, RI_SUCCESS);
	g_assert_cmpint((int)node_cm(s.near, RI_CM_FAILED, s.a).reason, ==, RI_CM_REASON_TIMEOUT);
}

/* An abort is an abort in the event at this side, and an end in that at the other. So is one of a request that the peer refuses. */
static void
aborts(void)
{
	struct chunk none;
	struct scene s RI_AT_END(scene_close);

	scene_open(&s);
	up(&s);
	g_assert_cmpint(end_modify(s.a, RI_QPS_ERROR), ==, RI_SUCCESS);
	node_cm(s.near, RI_CM_BROKEN, s.a);
	node_cm(s.far, RI_CM_DISCONNECTED, s.b);
	reset(s.a);
	reset(s.b);
	(void)request_of(&s, "", false);
	g_assert_cmpint(end_modify(s.a, RI_QPS_ERROR), ==, RI_SUCCESS);
	node_cm(s.near, RI_CM_FAILED, s.a);
	node_cm(s.far, RI_CM_REQUEST_GONE, LISTEN);
	reset(s.a);
	up(&s);
	none = s.mb;
	none.stag ^= 0x100;
	g_assert_cmpint(end_write(s.a, 1, &s.ma, &none, 8), ==, RI_SUCCESS);
	completion(s.a, s.a->uscq, 1, RI_WC_REMOTE_ACCESS);
	node_async(s.near, RI_EVENT_QP_WR_ERROR, s.a);
	node_cm(s.near, RI_CM_BROKEN, s.a);
	node_async(s.far, RI_EVENT_QP_ACCESS, s.b);
	node_cm(s.far, RI_CM_BROKEN, s.b);
}

/* A listener that goes away: its requests can still be answered, and their peers get an event when the adapter is closed. */
static void
orphans(void)
{
	struct scene s RI_AT_END(scene_close);
	struct ri_cm_event event;
	struct ri_cm_params params;

	scene_open(&s);
	event = request_of(&s, "", false);
	params = params_to(&s.service, "");
	ops()->listen_destroy(s.listen);
	g_assert_cmpint(ops()->accept(event.request, s.b->qp, &params), ==, RI_SUCCESS);
	node_cm(s.near, RI_CM_ESTABLISHED, s.a);
	node_cm(s.far, RI_CM_ESTABLISHED, s.b);
	g_assert_cmpint(end_modify(s.a, RI_QPS_CLOSING), ==, RI_SUCCESS);
	node_cm(s.near, RI_CM_DISCONNECTED, s.a);
	node_cm(s.far, RI_CM_DISCONNECTED, s.b);
	reset(s.a);
	scene_listen(&s, 1);
	(void)request_of(&s, "", false);
	ops()->listen_destroy(s.listen);
	end_free(&s.b);
	chunk_free(&s.mb);
	node_close(&s.far);
	node_cm(s.near, RI_CM_REJECTED, s.a);
	s.far = opening(s.vth);
	s.b = end_new(s.far, NULL);
	s.mb = chunk_new(s.far, 65536, ALL_RW);
	scene_listen(&s, 1);
}

/* Queries: found with private data both ways, withdrawn, and at their deadline. */
static void
queries(void)
{
	const struct ri_service_answer answer = {.status = RI_SERVICE_FOUND,
						 .qpn = 0x1234,
						 .qkey = 0x5678,
						 .pdata = "here",
						 .pdata_len = 4};
	const void *query = (const void *)(uintptr_t)QUERY;
	struct ri_cm_params params;
	struct ri_cm_event event;
	struct scene s RI_AT_END(scene_close);
	size_t before;

	scene_open(&s);
	params = params_to(&s.service, "where");
	g_assert_cmpint(ops()->resolve(s.near->context, QUERY, &params), ==, RI_SUCCESS);
	g_assert_cmpint(ops()->resolve(s.near->context, QUERY, &params), ==, RI_ERR_BUSY);
	before = mallinfo2().uordblks;
	for (unsigned i = 0; i < BUSY; i++) /* which keeps nothing */
		g_assert_cmpint(ops()->resolve(s.near->context, QUERY, &params), ==, RI_ERR_BUSY);
	g_assert_cmpuint(mallinfo2().uordblks, <, before + BUSY * sizeof(void *));
	event = node_cm(s.far, RI_CM_SERVICE_REQUEST, LISTEN);
	assert_text(&event, "where");
	g_assert_cmpint(ops()->resolve_answer(event.request, &answer), ==, RI_SUCCESS);
	g_assert_cmpint(ops()->resolve_answer(event.request, &answer), ==, RI_ERR_INVALID_HANDLE);
	event = node_cm(s.near, RI_CM_SERVICE_REPLY, query);
	assert_text(&event, "here");
	g_assert_cmpuint(event.qpn, ==, 0x1234);
	g_assert_cmpuint(event.qkey, ==, 0x5678);
	g_assert_cmpint(ops()->resolve(s.near->context, QUERY, &params), ==, RI_SUCCESS);
	ops()->resolve_cancel(s.near->context, QUERY);
	ops()->resolve_cancel(s.near->context, QUERY);
	params.deadline = vth_host(s.vth)->now(vth_host(s.vth)->self) + 100 * MS;
	g_assert_cmpint(ops()->resolve(s.near->context, QUERY, &params), ==, RI_SUCCESS);
	event = node_cm(s.near, RI_CM_SERVICE_REPLY, query);
	g_assert_cmpuint(event.service_status, ==, RI_SERVICE_REJECTED);
	node_forget(s.far);
}

/* --- two processes ---------------------------------------------------------------------------- */

/* The other process: accept one connection, echo a message for as long as it is there. */
static void
child_serve(const struct ri_addr *own, int told)
{
	struct vth *vth = vth_new(true);
	struct ri_service service = {.kind = RI_SERVICE_PORT};
	struct ri_listen *listen;
	struct ri_cm_params params = {.ird = 4, .ord = 4, .ird_ord = true, .deadline = RI_NEVER};
	struct ri_cm_event event;
	struct node *node;
	struct chunk m;
	struct end *end;

	roce_address_use(own);
	node = opening(vth);
	end = end_new(node, NULL);
	m = chunk_new(node, 4096, ALL_RW);
	g_assert_cmpint(ops()->listen(node->context, 42, 0, &service, 4, &listen), ==, RI_SUCCESS);
	g_assert_cmpint((int)write(told, &service.port, sizeof(service.port)), ==, 2);
	event = node_cm(node, RI_CM_REQUEST, LISTEN);
	g_assert_cmpint(end_recv(end, 1, &m, 0, 4096), ==, RI_SUCCESS);
	g_assert_cmpint(ops()->accept(event.request, end->qp, &params), ==, RI_SUCCESS);
	completion(end, end->urcq, 1, RI_WC_SUCCESS);
	g_assert_cmpint(end_send(end, 2, &m, 0, 4096), ==, RI_SUCCESS);
	completion(end, end->uscq, 2, RI_WC_SUCCESS);
	pause();
}

/* The echo comes back from another process; when that is killed, a request fails, and the end is BROKEN. */
static void
processes(void)
{
	struct ri_addr own = roce_address(0), other = roce_address(1);
	struct scene s RI_AT_END(scene_close);
	struct ri_cm_params params;
	pid_t child;
	int pipe_of[2];

	g_assert_cmpint(pipe(pipe_of), ==, 0);
	child = fork();
	if (child == 0) {
		child_serve(&other, pipe_of[1]);
		_exit(0);
	}
	scene_open(&s);
	params = params_to(&s.service, "");
	g_assert_cmpint((int)read(pipe_of[0], &params.service.port, 2), ==, 2);
	params.peer = other;
	params.local = own;
	g_assert_cmpint(end_recv(s.a, 1, &s.ma, 8192, 4096), ==, RI_SUCCESS);
	g_assert_cmpint(ops()->connect(s.a->qp, &params), ==, RI_SUCCESS);
	node_cm(s.near, RI_CM_ESTABLISHED, s.a);
	g_assert_cmpint(end_send(s.a, 2, &s.ma, 0, 4096), ==, RI_SUCCESS);
	completion(s.a, s.a->urcq, 1, RI_WC_SUCCESS);
	completion(s.a, s.a->uscq, 2, RI_WC_SUCCESS);
	g_assert_cmpmem(s.ma.at, 4096, s.ma.at + 8192, 4096);
	kill(child, SIGKILL);
	g_assert_cmpint(waitpid(child, NULL, 0), ==, child);
	g_assert_cmpint(end_send(s.a, 3, &s.ma, 0, 64), ==, RI_SUCCESS);
	completion(s.a, s.a->uscq, 3, RI_WC_TRANSPORT);
	node_async(s.near, RI_EVENT_QP_WR_ERROR, s.a);
	node_cm(s.near, RI_CM_BROKEN, s.a);
	close(pipe_of[0]);
	close(pipe_of[1]);
}

static uint8_t
ack_timeout(const struct end *end)
{
	return ((const struct vro_verbs_qp *)end->qp)->qp.path.timeout;
}

/* Each side has the time that its owner gives. Without one, the passive side has that of the request. */
static void
ack_timeouts(void)
{
	for (uint32_t passive = 0; passive <= 15; passive += 15) {
		struct ri_cm_params params;
		struct ri_cm_event event;
		struct scene s RI_AT_END(scene_close);

		scene_open(&s);
		params = params_to(&s.service, "in time");
		params.ack_timeout = 32;
		g_assert_cmpint(ops()->connect(s.a->qp, &params), ==, RI_ERR_INVALID_ARG);
		params.ack_timeout = 17;
		g_assert_cmpint(ops()->connect(s.a->qp, &params), ==, RI_SUCCESS);
		event = node_cm(s.far, RI_CM_REQUEST, LISTEN);
		g_assert_cmpuint(event.reach.timeout, ==, 17);
		params.ack_timeout = passive;
		g_assert_cmpint(ops()->accept(event.request, s.b->qp, &params), ==, RI_SUCCESS);
		node_cm(s.near, RI_CM_ESTABLISHED, s.a);
		node_cm(s.far, RI_CM_ESTABLISHED, s.b);
		g_assert_cmpuint(ack_timeout(s.a), ==, 17);
		g_assert_cmpuint(ack_timeout(s.b), ==, passive != 0 ? passive : 17);
		data_moves(&s);
	}
}

/* The peer serves fewer Reads than this side would send. */
static void
depths(void)
{
	struct ri_cm_params params;
	struct ri_cm_event event;
	struct scene s RI_AT_END(scene_close);

	scene_open(&s);
	event = request_of(&s, "four", false);
	params = params_to(&s.service, "two");
	params.ird = 2;
	g_assert_cmpint(ops()->accept(event.request, s.b->qp, &params), ==, RI_SUCCESS);
	node_cm(s.near, RI_CM_ESTABLISHED, s.a);
	node_cm(s.far, RI_CM_ESTABLISHED, s.b);
	g_assert_cmpuint(end_attr(s.a).ord, ==, 2);
	g_assert_cmpuint(end_attr(s.b).ord, ==, 4);
	data_moves(&s);
}

/* The network says that nobody listens, and quotes a packet for the queue pair `qpn`: does `end` believe that it is one of its own? */
static bool
believes(struct end *end, uint32_t qpn)
{
	struct vro_verbs_qp *qp = (struct vro_verbs_qp *)end->qp;
	struct vro_station *station = qp->rnic->station;
	uint8_t head[ROCE_BTH] = {0};
	bool believed;

	vro_station_enter(station);
	qp->qp.alive.asked = 1; /* as if it had just asked whether its peer lives */
	wire_store_be32(head + 4, qpn);
	wire_store_be32(head + 8, roce_add(qp->qp.tx.una, ROCE_24));
	vro_station_absent(&station->udps[0], qp->qp.path.flow.destination, head, sizeof(head));
	believed = qp->qp.tx.absent != 0;
	qp->qp.tx.absent = qp->qp.alive.asked = 0;
	vro_station_leave(station);
	return believed;
}

/* Reports count for the peer that a queue pair has, and not for one that it had. */
static void
reports(void)
{
	struct scene s RI_AT_END(scene_close);
	uint32_t before = 0;

	scene_open(&s);
	for (unsigned life = 0; life < 3; life++) {
		uint32_t peer = end_attr(s.b).qpn;

		up(&s);
		g_assert_false(believes(s.a, before));
		g_assert_false(believes(s.a, peer + 1));
		g_assert_true(believes(s.a, peer));
		before = peer;
		g_assert_cmpint(ops()->disconnect(s.a->qp, NULL, 0), ==, RI_SUCCESS);
		node_cm(s.far, RI_CM_DISCONNECTED, s.b);
		node_cm(s.near, RI_CM_DISCONNECTED, s.a);
		end_free(&s.b);
		node_forget(s.far);
		s.b = end_new(s.far, NULL);
		reset(s.a);
	}
	node_forget(s.near);
}

#define OWN 0xabcde1u /* the number of a queue pair that another library has */

static struct ri_qp_attr
number_attr(struct ri_qp *number)
{
	struct ri_qp_attr attr;

	g_assert_cmpint(vro_provider_entry()->qp->query(number, &attr), ==, RI_SUCCESS);
	return attr;
}

/* What a number has not: queues, receives of its own, groups, peers by attributes. */
static void
number_lacks(struct scene *s, struct ri_qp *number)
{
	const struct ri_provider *p = vro_provider_entry();
	const struct ri_addr group = {.family = RI_ADDR_IPV4, .octets = {239, 1, 2, 3}};
	struct ri_qp_init init = {.type = RI_QP_NUMBER, .qkey = OWN};
	struct ri_peer peer = {
		.path = {.dest = roce_address(0)}, .qpn = 77, .path_mtu = 1024, .timeout = 14};
	struct ri_qp *qp;
	struct ri_map map;

	g_assert_cmpint(p->peer->receive(number, &peer), ==, RI_ERR_UNSUPPORTED);
	g_assert_cmpint(p->peer->send(number, &peer), ==, RI_ERR_UNSUPPORTED);
	g_assert_cmpint(p->qp->mcast_attach(number, &group), !=, RI_SUCCESS);
	init.qkey = 0x1000000;
	g_assert_cmpint(p->qp->create(s->near->pd, &init, NULL, NULL, NULL, &qp, &map), ==,
			RI_ERR_INVALID_ARG);
}

/* A number connects with a queue pair, has a second life, and may be destroyed while it tries to connect. */
static void
number(void)
{
	const struct ri_qp_ops *qps = vro_provider_entry()->qp;
	const struct ri_qp_attr idle = {.state = RI_QPS_IDLE};
	struct ri_cm_params params;
	struct ri_cm_event event;
	struct ri_qp *number;
	struct ri_map map;
	struct scene s RI_AT_END(scene_close);

	scene_open(&s);
	params = params_to(&s.service, "of a number");
	for (unsigned life = 0; life < 2; life++) {
		struct ri_qp_init init = {
			.ctx = 99, .type = RI_QP_NUMBER, .qkey = OWN, .ird = 4, .ord = 4};

		g_assert_cmpint(qps->create(s.near->pd, &init, NULL, NULL, NULL, &number, &map), ==,
				RI_SUCCESS);
		g_assert_cmpint(map.fd, ==, -1);
		number_lacks(&s, number);
		for (unsigned round = 0; round < 2; round++) {
			g_assert_cmpint(number_attr(number).state, ==, RI_QPS_IDLE);
			g_assert_cmpuint(number_attr(number).qpn, ==, OWN);
			g_assert_cmpint(ops()->connect(number, &params), ==, RI_SUCCESS);
			event = node_cm(s.far, RI_CM_REQUEST, LISTEN);
			g_assert_cmpuint(event.reach.qpn, ==, OWN);
			if (life == 1)
				break;
			g_assert_cmpint(ops()->accept(event.request, s.b->qp, &params), ==,
					RI_SUCCESS);
			event = node_cm(s.near, RI_CM_ESTABLISHED, (void *)99);
			g_assert_cmpuint(event.reach.qpn, ==, end_attr(s.b).qpn);
			node_cm(s.far, RI_CM_ESTABLISHED, s.b);
			g_assert_cmpint(number_attr(number).state, ==, RI_QPS_RTS);
			g_assert_cmpint(ops()->disconnect(number, NULL, 0), ==, RI_SUCCESS);
			node_cm(s.far, RI_CM_DISCONNECTED, s.b);
			node_cm(s.near, RI_CM_DISCONNECTED, (void *)99);
			reset(s.b);
			for (gint64 until = node_deadline();
			     qps->modify(number, &idle, RI_QP_ATTR_STATE) != RI_SUCCESS;)
				g_assert_cmpint(g_get_monotonic_time(), <, until);
		}
		g_assert_cmpint(qps->destroy(number), ==, RI_SUCCESS);
	}
	node_cm(s.far, RI_CM_REQUEST_GONE, LISTEN);
}

int
main(int argc, char **argv)
{
	const struct ri_addr own = roce_address(0);

	roce_address_use(&own);
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/roce/connect/processes", processes); /* forks before there is a thread */
	g_test_add_func("/roce/connect/lives", lives);
	g_test_add_func("/roce/connect/ends-as-it-begins", ends_as_it_begins);
	g_test_add_func("/roce/connect/sends-as-it-begins", sends_as_it_begins);
	g_test_add_func("/roce/connect/second-life", second_life);
	g_test_add_func("/roce/connect/old-time-wait", old_time_wait);
	g_test_add_func("/roce/connect/refusals", refusals);
	g_test_add_func("/roce/connect/ack-timeouts", ack_timeouts);
	g_test_add_func("/roce/connect/depths", depths);
	g_test_add_func("/roce/connect/reports", reports);
	g_test_add_func("/roce/connect/number", number);
	g_test_add_func("/roce/connect/aborts", aborts);
	g_test_add_func("/roce/connect/orphans", orphans);
	g_test_add_func("/roce/connect/queries", queries);
	return g_test_run();
}
