/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Connections: how they are established, refused and ended; queue pairs before and after. */
#include <string.h>

#include "vem_node.h"

struct pair {
	struct vth *vth;
	struct node *na, *nb;
	struct end *a, *b;
	struct ri_service service;
	struct ri_listen *listen;
	bool ib;
};

#define LISTENER ((const void *)(uintptr_t)42)

static void
set_up(struct pair *p, const char *adapter)
{
	memset(p, 0, sizeof(*p));
	p->vth = vth_new(false);
	p->na = node_new(p->vth, false, adapter);
	p->nb = node_new(p->vth, false, adapter);
	p->ib = p->na->attr.transport == RI_TRANSPORT_IB;
	p->a = end_new(p->na, NULL);
	p->b = end_new(p->nb, NULL);
	p->service.kind = RI_SERVICE_PORT;
	g_assert_cmpint(p->nb->p->cm->listen(p->nb->context, 42, 0, &p->service, 2, &p->listen), ==,
			RI_SUCCESS);
	g_assert_cmpuint(p->service.port, !=, 0);
}

static void
tear_down(struct pair *p)
{
	if (p->listen != NULL)
		p->nb->p->cm->listen_destroy(p->listen);
	if (p->a != NULL)
		end_free(&p->a);
	if (p->b != NULL)
		end_free(&p->b);
	node_run(p->na);
	node_free(&p->na);
	node_free(&p->nb);
	vth_free(&p->vth);
}

static enum ri_status
try_connect(struct pair *p, struct end *end, const struct ri_cm_params *params)
{
	return p->na->p->cm->connect(end->qp, params);
}

static struct ri_request *
request(struct pair *p, const struct ri_cm_params *params)
{
	g_assert_cmpint(try_connect(p, p->a, params), ==, RI_SUCCESS);
	node_silent(p->na);
	return node_cm(p->nb, RI_CM_REQUEST, LISTENER).request;
}

static void
back_to_idle(struct end *end)
{
	g_assert_cmpint(end_state(end), ==, RI_QPS_ERROR);
	g_assert_cmpint(end_modify(end, RI_QPS_IDLE), ==, RI_SUCCESS);
	g_assert_cmpint(end_state(end), ==, RI_QPS_IDLE);
}

/* --- establishment ------------------------------------------------------------------------ */

static void
test_handshake(gconstpointer adapter)
{
	struct pair p RI_AT_END(tear_down);

	set_up(&p, adapter);
	struct ri_cm_params offered = node_params(&p.service);
	struct ri_cm_params answer = offered;
	offered.pdata = "hello";
	offered.pdata_len = 5;
	offered.ird = 3;
	offered.ord = 8;
	answer.pdata = "welcome";
	answer.pdata_len = 7;
	answer.ird = 6;
	answer.ord = 3;
	g_assert_cmpint(try_connect(&p, p.a, &offered), ==, RI_SUCCESS);
	g_assert_cmpint(end_state(p.a), ==, RI_QPS_CONNECTING);
	g_assert_cmpint(try_connect(&p, p.a, &offered), ==, RI_ERR_INVALID_STATE);
	node_silent(p.na); /* no event inside the verb, and none before the answer */
	struct ri_cm_event event = node_cm(p.nb, RI_CM_REQUEST, LISTENER);
	g_assert_cmpmem(event.pdata, event.pdata_len, "hello", 5);
	g_assert_true(event.ird_ord_valid);
	g_assert_cmpuint(event.ird, ==, 3);
	g_assert_cmpuint(event.ord, ==, 8);
	g_assert_cmpuint(event.peer.family, ==, RI_ADDR_IPV4);
	g_assert_cmpuint(event.service.port, ==, p.service.port);
	g_assert_cmpint(p.nb->p->cm->accept(event.request, p.b->qp, &answer), ==, RI_SUCCESS);
	g_assert_cmpint(p.nb->p->cm->accept(event.request, p.b->qp, &answer), !=, RI_SUCCESS);
	event = node_cm(p.na, RI_CM_ESTABLISHED, p.a);
	g_assert_cmpmem(event.pdata, event.pdata_len, "welcome", 7);
	g_assert_cmpuint(event.ird, ==, 6);
	node_cm(p.nb, RI_CM_ESTABLISHED, p.b);
	g_assert_cmpuint(end_attr(p.a).ord, ==, 6); /* lowered to the peer's IRD */
	g_assert_cmpuint(end_attr(p.b).ord, ==, 3);
	g_assert_cmpint(p.na->p->cm->disconnect(p.a->qp, NULL, 0), ==, RI_SUCCESS);
	node_cm(p.na, RI_CM_DISCONNECTED, p.a);
	node_cm(p.nb, RI_CM_DISCONNECTED, p.b);
}

/* The third message by hand: IB only (row 28). */
static void
test_three_way(gconstpointer adapter)
{
	struct pair p RI_AT_END(tear_down);

	set_up(&p, adapter);
	struct ri_cm_params offered = node_params(&p.service);
	g_assert_true(p.na->attr.three_way_handshake == p.ib);
	offered.three_way = true;
	if (!p.ib) {
		g_assert_cmpint(try_connect(&p, p.a, &offered), ==, RI_ERR_UNSUPPORTED);
		return;
	}
	for (guint yes = 0; yes < 2; yes++) {
		struct ri_request *r = request(&p, &offered);
		g_assert_cmpint(p.na->p->cm->confirm(p.a->qp, true, NULL, 0), ==,
				RI_ERR_INVALID_STATE);
		g_assert_cmpint(p.nb->p->cm->accept(r, p.b->qp, &offered), ==, RI_SUCCESS);
		node_cm(p.na, RI_CM_REPLY, p.a);
		node_silent(p.nb);
		g_assert_cmpint(p.na->p->cm->confirm(p.a->qp, yes != 0, NULL, 0), ==, RI_SUCCESS);
		if (yes) {
			node_cm(p.na, RI_CM_ESTABLISHED, p.a);
			node_cm(p.nb, RI_CM_ESTABLISHED, p.b);
			break;
		}
		node_cm(p.nb, RI_CM_REJECTED, p.b);
		node_silent(p.na);
		back_to_idle(p.a);
		back_to_idle(p.b);
	}
	end_free(&p.a);
	p.a = NULL;
	node_lost(p.nb, p.b);
}

static void
test_reject(gconstpointer adapter)
{
	struct pair p RI_AT_END(tear_down);
	char text[RI_PDATA_MAX] = "no";

	set_up(&p, adapter);
	struct ri_cm_params offered = node_params(&p.service);
	struct ri_request *r = request(&p, &offered);
	post_recv(p.a, 5, NULL);
	g_assert_cmpint(
		p.nb->p->cm->reject(r, RI_CM_REASON_CONSUMER, text, p.na->attr.reject_pdata + 1),
		==, RI_ERR_INVALID_ARG);
	g_assert_cmpint(
		p.nb->p->cm->reject(r, RI_CM_REASON_CONSUMER, text, p.na->attr.reject_pdata), ==,
		RI_SUCCESS);
	g_assert_cmpint(p.nb->p->cm->reject(r, RI_CM_REASON_CONSUMER, text, 1), ==,
			RI_ERR_INVALID_HANDLE);
	g_assert_cmpint(p.nb->p->cm->accept(r, p.b->qp, &offered), ==, RI_ERR_INVALID_HANDLE);
	struct ri_cm_event event = node_cm(p.na, RI_CM_REJECTED, p.a);
	g_assert_cmpuint(event.pdata_len, ==, p.na->attr.reject_pdata);
	g_assert_cmpstr((char *)event.pdata, ==, "no");
	poll_one(p.a->urcq, 5, RI_WC_FLUSHED);
	back_to_idle(p.a);
	/* No listener can be reached. */
	r = request(&p, &offered);
	g_assert_cmpint(p.nb->p->cm->reject(r, RI_CM_REASON_RESOURCES, NULL, 0), ==, RI_SUCCESS);
	g_assert_cmpuint(node_cm(p.na, RI_CM_FAILED, p.a).reason, ==, RI_CM_REASON_RESOURCES);
	back_to_idle(p.a);
}

static void
test_private_data_sizes(gconstpointer adapter)
{
	struct pair p RI_AT_END(tear_down);
	char text[RI_PDATA_MAX] = "x";

	set_up(&p, adapter);
	struct ri_cm_params offered = node_params(&p.service);
	g_assert_cmpuint(p.na->attr.connect_pdata, ==, p.ib ? 56 : 251);
	g_assert_cmpuint(p.na->attr.accept_pdata, ==, p.ib ? 196 : 251);
	g_assert_cmpuint(p.na->attr.reject_pdata, ==, p.ib ? 148 : 251);
	offered.pdata = text;
	offered.pdata_len = p.na->attr.connect_pdata + 1;
	g_assert_cmpint(try_connect(&p, p.a, &offered), ==, RI_ERR_INVALID_ARG);
	offered.pdata_len = p.na->attr.connect_pdata;
	struct ri_request *r = request(&p, &offered);
	offered.pdata_len = p.na->attr.accept_pdata + 1;
	g_assert_cmpint(p.nb->p->cm->accept(r, p.b->qp, &offered), ==, RI_ERR_INVALID_ARG);
	offered.pdata_len = p.na->attr.accept_pdata;
	g_assert_cmpint(p.nb->p->cm->accept(r, p.b->qp, &offered), ==, RI_SUCCESS);
	g_assert_cmpuint(node_cm(p.na, RI_CM_ESTABLISHED, p.a).pdata_len, ==, offered.pdata_len);
	node_cm(p.nb, RI_CM_ESTABLISHED, p.b);
	end_free(&p.b);
	p.b = NULL;
	node_lost(p.na, p.a);
}

/* The passive side waits for the third message no longer than the time it gave. */
static void
test_patience(gconstpointer adapter)
{
	struct pair p RI_AT_END(tear_down);

	set_up(&p, adapter);
	struct ri_cm_params offered = node_params(&p.service);
	struct ri_cm_params answer = offered;
	if (p.ib) {
		offered.three_way = true;
		answer.deadline = vth_host(p.vth)->now(vth_host(p.vth)->self) + 5000000;
		struct ri_request *r = request(&p, &offered);
		g_assert_cmpint(p.nb->p->cm->accept(r, p.b->qp, &answer), ==, RI_SUCCESS);
		node_cm(p.na, RI_CM_REPLY, p.a);
		vth_advance(p.vth, 5000000);
		g_assert_cmpuint(node_cm(p.nb, RI_CM_FAILED, p.b).reason, ==, RI_CM_REASON_TIMEOUT);
		node_cm(p.na, RI_CM_FAILED, p.a);
	}
}

/* --- attempts that fail ------------------------------------------------------------------- */

static void
expect_failed(struct pair *p, const struct ri_cm_params *params, enum ri_cm_reason reason)
{
	g_assert_cmpint(try_connect(p, p->a, params), ==, RI_SUCCESS);
	g_assert_cmpuint(node_cm(p->na, RI_CM_FAILED, p->a).reason, ==, reason);
	back_to_idle(p->a);
}

static void
test_nobody_there(gconstpointer adapter)
{
	struct pair p RI_AT_END(tear_down);

	set_up(&p, adapter);
	struct ri_cm_params offered = node_params(&p.service);
	offered.service.port ^= 0x5555;
	expect_failed(&p, &offered, RI_CM_REASON_REFUSED);
	offered = node_params(&p.service);
	memcpy(offered.peer.octets, (uint8_t[]){203, 0, 113, 1}, 4);
	expect_failed(&p, &offered, RI_CM_REASON_BAD_PATH);
	offered = node_params(&p.service);
	offered.service.kind = RI_SERVICE_NONE;
	g_assert_cmpint(try_connect(&p, p.a, &offered), ==, RI_ERR_INVALID_ARG);
	offered.service.kind = RI_SERVICE_IB;
	if (!p.ib)
		g_assert_cmpint(try_connect(&p, p.a, &offered), ==, RI_ERR_INVALID_ARG);
}

static void
test_backlog(gconstpointer adapter)
{
	struct pair p RI_AT_END(tear_down);
	struct end *more[2];

	set_up(&p, adapter);
	struct ri_cm_params offered = node_params(&p.service);
	for (guint i = 0; i < 2; i++) {
		more[i] = end_new(p.na, NULL);
		g_assert_cmpint(try_connect(&p, more[i], &offered), ==, RI_SUCCESS);
		node_cm(p.nb, RI_CM_REQUEST, LISTENER);
	}
	expect_failed(&p, &offered, RI_CM_REASON_RESOURCES);
	/* One attempt is given up: its request ends, and there is room for another. */
	end_free(&more[0]);
	node_cm(p.nb, RI_CM_REQUEST_GONE, LISTENER);
	struct ri_request *r = request(&p, &offered);
	g_assert_cmpint(p.nb->p->cm->reject(r, RI_CM_REASON_CONSUMER, NULL, 0), ==, RI_SUCCESS);
	node_cm(p.na, RI_CM_REJECTED, p.a);
	end_free(&more[1]);
	node_cm(p.nb, RI_CM_REQUEST_GONE, LISTENER);
}

static void
test_timeout(gconstpointer adapter)
{
	struct pair p RI_AT_END(tear_down);

	set_up(&p, adapter);
	struct ri_cm_params offered = node_params(&p.service);
	offered.deadline = vth_host(p.vth)->now(vth_host(p.vth)->self) + 5000000;
	struct ri_request *r = request(&p, &offered);
	vth_advance(p.vth, 4000000);
	node_silent(p.na);
	vth_advance(p.vth, 1000000);
	g_assert_cmpuint(node_cm(p.na, RI_CM_FAILED, p.a).reason, ==, RI_CM_REASON_TIMEOUT);
	g_assert_true(node_cm(p.nb, RI_CM_REQUEST_GONE, LISTENER).request == r);
	g_assert_cmpint(p.nb->p->cm->accept(r, p.b->qp, &offered), ==, RI_ERR_INVALID_HANDLE);
	g_assert_cmpint(end_state(p.b), ==, RI_QPS_IDLE);
	back_to_idle(p.a);
}

static void
test_listener_goes(gconstpointer adapter)
{
	struct pair p RI_AT_END(tear_down);

	set_up(&p, adapter);
	struct ri_cm_params offered = node_params(&p.service);
	struct ri_request *r = request(&p, &offered);
	p.nb->p->cm->listen_destroy(p.listen);
	p.listen = NULL;
	/* Events that were raised stay. */
	g_assert_cmpint(p.nb->p->cm->accept(r, p.b->qp, &offered), ==, RI_SUCCESS);
	node_cm(p.na, RI_CM_ESTABLISHED, p.a);
	node_cm(p.nb, RI_CM_ESTABLISHED, p.b);
	g_assert_cmpint(p.na->p->cm->disconnect(p.a->qp, NULL, 0), ==, RI_SUCCESS);
	node_cm(p.na, RI_CM_DISCONNECTED, p.a);
	node_cm(p.nb, RI_CM_DISCONNECTED, p.b);
	back_to_idle(p.a);
	expect_failed(&p, &offered, RI_CM_REASON_REFUSED);
}

static void
test_services(gconstpointer adapter)
{
	struct pair p RI_AT_END(tear_down);
	struct ri_listen *second = NULL;

	set_up(&p, adapter);
	struct ri_service same = p.service;
	const struct ri_cm_ops *cm = p.na->p->cm;
	g_assert_cmpint(cm->listen(p.na->context, 1, 0, &same, 2, &second), ==, RI_ERR_IN_USE);
	g_assert_cmpint(cm->listen(p.na->context, 1, 1, &same, 2, &second), ==, RI_ERR_INVALID_ARG);
	same = (struct ri_service){.kind = RI_SERVICE_IB};
	enum ri_status status = cm->listen(p.na->context, 1, 0, &same, 2, &second);
	g_assert_cmpint(status, ==, p.ib ? RI_SUCCESS : RI_ERR_INVALID_ARG);
	if (p.ib) {
		g_assert_cmpuint(same.id, !=, 0);
		struct ri_cm_params offered = node_params(&same);
		struct ri_port_attr port = {.size = sizeof(port)};
		g_assert_cmpint(p.na->p->device->query_port(p.na->rnic, 0, &port), ==, RI_SUCCESS);
		offered.peer = port.addrs[2];
		g_assert_cmpuint(offered.peer.family, ==, RI_ADDR_GID);
		g_assert_cmpint(try_connect(&p, p.a, &offered), ==, RI_SUCCESS);
		node_cm(p.na, RI_CM_REQUEST, (const void *)1);
		cm->listen_destroy(second);
		end_free(&p.a);
		p.a = NULL;
		node_cm(p.na, RI_CM_REQUEST_GONE, NULL); /* the listener is destroyed, too */
	}
}

/* --- before, during and after ------------------------------------------------------------- */

static void
test_posts_wait_for_the_connection(gconstpointer adapter)
{
	struct pair p RI_AT_END(tear_down);

	set_up(&p, adapter);
	post_recv(p.b, 1, NULL);
	post_send(p.a, 2, NULL, 0);
	poll_none(p.a->uscq);
	ends_connect(p.a, p.b);
	poll_one(p.a->uscq, 2, RI_WC_SUCCESS);
	poll_one(p.b->urcq, 1, RI_WC_SUCCESS);
	/* After the end, posts are flushed at once and in order. */
	g_assert_cmpint(p.nb->p->cm->disconnect(p.b->qp, NULL, 0), ==, RI_SUCCESS);
	node_cm(p.na, RI_CM_DISCONNECTED, p.a);
	node_cm(p.nb, RI_CM_DISCONNECTED, p.b);
	for (guint i = 10; i < 14; i++) {
		post_send(p.a, i, NULL, 0);
		post_recv(p.a, i + 100, NULL);
	}
	for (guint i = 10; i < 14; i++) {
		poll_one(p.a->uscq, i, RI_WC_FLUSHED);
		poll_one(p.a->urcq, i + 100, RI_WC_FLUSHED);
	}
	back_to_idle(p.a);
	back_to_idle(p.b);
}

static void
test_reuse(gconstpointer adapter)
{
	struct pair p RI_AT_END(tear_down);

	set_up(&p, adapter);
	for (guint i = 0; i < 200; i++) {
		ends_connect(i % 2 ? p.b : p.a, i % 2 ? p.a : p.b);
		post_recv(p.b, i, NULL);
		post_send(p.a, i, NULL, 0);
		poll_one(p.a->uscq, i, RI_WC_SUCCESS);
		poll_one(p.b->urcq, i, RI_WC_SUCCESS);
		g_assert_cmpint(end_modify(p.a, RI_QPS_IDLE), ==, RI_ERR_INVALID_STATE);
		if (i % 3 == 0) {
			g_assert_cmpint(end_modify(p.a, RI_QPS_CLOSING), ==, RI_SUCCESS);
			g_assert_cmpint(end_modify(p.a, RI_QPS_IDLE), !=, RI_SUCCESS);
			node_cm(p.na, RI_CM_DISCONNECTED, p.a);
			node_cm(p.nb, RI_CM_DISCONNECTED, p.b);
		} else {
			g_assert_cmpint(end_modify(p.a, RI_QPS_ERROR), ==, RI_SUCCESS);
			g_assert_cmpint(end_modify(p.a, RI_QPS_IDLE), ==, RI_ERR_STILL_FLUSHING);
			node_cm(p.na, RI_CM_BROKEN, p.a);
			node_lost(p.nb, p.b);
		}
		back_to_idle(p.a);
		back_to_idle(p.b);
	}
}

static void
test_terminate_by_hand(gconstpointer adapter)
{
	struct pair p RI_AT_END(tear_down);

	set_up(&p, adapter);
	ends_connect(p.a, p.b);
	enum ri_status status = end_modify(p.a, RI_QPS_TERMINATE);
	g_assert_cmpint(status, ==, p.ib ? RI_ERR_INVALID_STATE : RI_SUCCESS);
	if (p.ib)
		g_assert_cmpint(end_modify(p.a, RI_QPS_ERROR), ==, RI_SUCCESS);
	else
		g_assert_cmpuint(node_async(p.nb, RI_EVENT_QP_TERMINATE_RECEIVED, p.b).detail, ==,
				 0);
	node_cm(p.na, RI_CM_BROKEN, p.a);
	node_cm(p.nb, RI_CM_BROKEN, p.b);
}

static void
test_disconnect_while_trying(gconstpointer adapter)
{
	struct pair p RI_AT_END(tear_down);

	set_up(&p, adapter);
	struct ri_cm_params offered = node_params(&p.service);
	g_assert_cmpint(p.na->p->cm->disconnect(p.a->qp, NULL, 0), ==, RI_ERR_INVALID_STATE);
	request(&p, &offered);
	g_assert_cmpint(p.na->p->cm->disconnect(p.a->qp, NULL, 0), ==, RI_SUCCESS);
	node_cm(p.na, RI_CM_DISCONNECTED, p.a);
	node_cm(p.nb, RI_CM_REQUEST_GONE, LISTENER);
	back_to_idle(p.a);
}

/* --- objects ------------------------------------------------------------------------------ */

static void
test_completion_queue_full(gconstpointer adapter)
{
	struct pair p RI_AT_END(tear_down);

	set_up(&p, adapter);
	struct end *small = end_new_cq(p.na, NULL, 2);
	ends_connect(small, p.b);
	for (guint i = 0; i < 3; i++)
		post_rdma(small, RI_OP_RDMA_WRITE, i, NULL, &(struct ri_sge){0});
	node_async(p.na, RI_EVENT_QP_CQ_SQ_ERROR, small);
	node_cm(p.na, RI_CM_BROKEN, small);
	if (!p.ib)
		g_assert_cmpuint(node_async(p.nb, RI_EVENT_QP_TERMINATE_RECEIVED, p.b).detail, ==,
				 0x0207);
	node_cm(p.nb, RI_CM_BROKEN, p.b);
	poll_one(small->uscq, 0, RI_WC_SUCCESS);
	poll_one(small->uscq, 1, RI_WC_SUCCESS);
	/* The other queue pair of the adapter is not disturbed. */
	back_to_idle(p.b);
	ends_connect(p.a, p.b);
	end_free(&small);
	end_free(&p.a);
	p.a = NULL;
	node_lost(p.nb, p.b);
}

static void
test_busy(gconstpointer adapter)
{
	struct pair p RI_AT_END(tear_down);
	struct ri_qp_init init;
	struct ri_map map;
	struct ri_qp *qp = NULL;

	set_up(&p, adapter);
	g_assert_cmpint(p.na->p->pd->destroy(p.na->pd), ==, RI_ERR_BUSY);
	g_assert_cmpint(p.na->p->cq->destroy(p.a->scq), ==, RI_ERR_BUSY);
	init = end_defaults(p.na);
	init.max_send_sge = p.na->attr.max_send_sge + 1;
	g_assert_cmpint(p.na->p->qp->create(p.na->pd, &init, p.a->scq, p.a->rcq, NULL, &qp, &map),
			==, RI_ERR_LIMIT);
	init = end_defaults(p.na);
	init.type = 7; /* no such object */
	g_assert_cmpint(p.na->p->qp->create(p.na->pd, &init, p.a->scq, p.a->rcq, NULL, &qp, &map),
			==, RI_ERR_UNSUPPORTED);
	init = end_defaults(p.na);
	init.privileged = true;
	g_assert_cmpint(p.na->p->qp->create(p.na->pd, &init, p.a->scq, p.a->rcq, NULL, &qp, &map),
			==, RI_ERR_PERMISSION);
}

/* A process that dies: closing its context destroys all its objects, and its peers get their events. */
static void
test_owner_dies(gconstpointer adapter)
{
	struct pair p RI_AT_END(tear_down);

	set_up(&p, adapter);
	struct chunk chunk = chunk_new(p.na, 100, ALL_RW);
	ends_connect(p.a, p.b);
	p.na->p->user->qp_close(p.a->uqp);
	p.na->p->user->cq_close(p.a->uscq);
	p.na->p->user->cq_close(p.a->urcq);
	p.na->p->user->rnic_close(p.na->urnic);
	p.na->p->device->context_destroy(p.na->context);
	g_assert_cmpuint(vth_attached(p.vth), ==, 0);
	node_lost(p.nb, p.b);
	node_silent(p.na);
	g_free(chunk.at);
	g_free(p.a);
	p.a = NULL;
	/* An object to be freed in the usual way. */
	struct ri_owner owner = {.mem_owner = 2};
	struct ri_map map;
	g_assert_cmpint(p.na->p->device->context_create(p.na->rnic, &owner, &p.na->context, &map),
			==, RI_SUCCESS);
	g_assert_cmpint(p.na->p->user->rnic_open(vth_host(p.vth), &map, &p.na->urnic), ==,
			RI_SUCCESS);
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		GTestDataFunc run;
	} tests[] = {
		{"handshake", test_handshake},
		{"three-way", test_three_way},
		{"reject", test_reject},
		{"private-data-sizes", test_private_data_sizes},
		{"nobody-there", test_nobody_there},
		{"backlog", test_backlog},
		{"timeout", test_timeout},
		{"patience", test_patience},
		{"listener-goes", test_listener_goes},
		{"services", test_services},
		{"posts-wait", test_posts_wait_for_the_connection},
		{"reuse", test_reuse},
		{"terminate-by-hand", test_terminate_by_hand},
		{"disconnect-while-trying", test_disconnect_while_trying},
		{"completion-queue-full", test_completion_queue_full},
		{"busy", test_busy},
		{"owner-dies", test_owner_dies},
	};
	static const char *const adapters[] = {"emul:ib", "emul:iwarp"};

	g_test_init(&argc, &argv, NULL);
	for (guint a = 0; a < G_N_ELEMENTS(adapters); a++) {
		for (guint i = 0; i < G_N_ELEMENTS(tests); i++) {
			g_autofree char *path =
				g_strdup_printf("/emul/%s/cm/%s", adapters[a] + 5, tests[i].name);
			g_test_add_data_func(path, adapters[a], tests[i].run);
		}
	}
	return g_test_run();
}
