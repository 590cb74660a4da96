/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Connections: three messages, refusals, private data, deadlines, and ends for which an object is to blame. */
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

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		GTestDataFunc run;
	} tests[] = {
		{"three-way", test_three_way},
		{"reject", test_reject},
		{"private-data-sizes", test_private_data_sizes},
		{"backlog", test_backlog},
		{"timeout", test_timeout},
		{"patience", test_patience},
		{"services", test_services},
		{"disconnect-while-trying", test_disconnect_while_trying},
		{"completion-queue-full", test_completion_queue_full},
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
