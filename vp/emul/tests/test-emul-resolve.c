/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Queries for datagram services: each gets one answer, whichever object is destroyed meanwhile. */
#include <string.h>

#include "vem_node.h"

#define LISTEN ((const void *)(uintptr_t)42)
#define ASK(n) ((const void *)(uintptr_t)(100 + (n)))

/* A client and a server of datagram services, in virtual time. */
struct scene {
	struct vth *vth;
	struct node *na, *nb;
	struct ri_service service;
	struct ri_listen *listen;
};

static void
scene_open(struct scene *s, enum ri_service_kind kind)
{
	*s = (struct scene){.vth = vth_new(false), .service = {.kind = (uint8_t)kind}};
	s->na = node_new(s->vth, false, "emul:ib");
	s->nb = node_new(s->vth, false, "emul:ib");
	g_assert_cmpint(s->nb->p->cm->listen(s->nb->context, 42, 0, &s->service, 2, &s->listen), ==,
			RI_SUCCESS);
}

static void
stop_listening(struct scene *s)
{
	if (s->listen != NULL)
		s->nb->p->cm->listen_destroy(s->listen);
	s->listen = NULL;
}

static void
scene_close(struct scene *s)
{
	if (s->na != NULL)
		node_free(&s->na);
	if (s->nb != NULL) {
		stop_listening(s);
		node_free(&s->nb);
	}
	vth_free(&s->vth);
}

/* `patience` is the timeout in nanoseconds, or RI_NEVER. */
static enum ri_status
query_start(struct scene *s, uint64_t n, uint64_t patience)
{
	const struct ri_host *host = vth_host(s->vth);
	struct ri_cm_params params = node_params(&s->service);

	params.deadline = patience != RI_NEVER ? host->now(host->self) + patience : RI_NEVER;
	params.pdata = "who is there?";
	params.pdata_len = 13;
	return s->na->p->cm->resolve(s->na->context, 100 + n, &params);
}

static enum ri_status
answer(struct scene *s, struct ri_request *request, enum ri_service_status status)
{
	const struct ri_service_answer it = {
		.status = status, .qpn = 7, .qkey = 8, .pdata = "me", .pdata_len = 2};

	return s->nb->p->cm->resolve_answer(request, &it);
}

static struct ri_request *
asked(struct scene *s)
{
	return node_cm(s->nb, RI_CM_SERVICE_REQUEST, LISTEN).request;
}

static void
told(struct scene *s, uint64_t n, enum ri_service_status status)
{
	g_assert_cmpuint(node_cm(s->na, RI_CM_SERVICE_REPLY, ASK(n)).service_status, ==, status);
}

static void
test_found(gconstpointer kind)
{
	struct scene s RI_AT_END(scene_close);
	struct ri_cm_event event;

	scene_open(&s, (enum ri_service_kind)GPOINTER_TO_INT(kind));
	g_assert_cmpint(query_start(&s, 1, RI_NEVER), ==, RI_SUCCESS);
	g_assert_cmpint(query_start(&s, 1, RI_NEVER), ==, RI_ERR_BUSY);
	event = node_cm(s.nb, RI_CM_SERVICE_REQUEST, LISTEN);
	g_assert_cmpmem(event.pdata, event.pdata_len, "who is there?", 13);
	g_assert_true(event.pdata_present);
	g_assert_cmpuint(event.peer.family, ==, RI_ADDR_IPV4);
	g_assert_cmpmem(&event.service, sizeof(event.service), &s.service, sizeof(s.service));
	g_assert_cmpint(answer(&s, event.request, RI_SERVICE_FOUND), ==, RI_SUCCESS);
	g_assert_cmpint(answer(&s, event.request, RI_SERVICE_FOUND), ==, RI_ERR_INVALID_HANDLE);
	event = node_cm(s.na, RI_CM_SERVICE_REPLY, ASK(1));
	g_assert_cmpuint(event.service_status, ==, RI_SERVICE_FOUND);
	g_assert_cmpuint(event.qpn, ==, 7);
	g_assert_cmpuint(event.qkey, ==, 8);
	g_assert_cmpmem(event.pdata, event.pdata_len, "me", 2);
	g_assert_cmpuint(event.peer.octets[0], ==, 127);
	g_assert_cmpuint(event.local.octets[0], ==, 127);
	/* The same query again, with another answer, without endpoint numbers. */
	g_assert_cmpint(query_start(&s, 1, RI_NEVER), ==, RI_SUCCESS);
	g_assert_cmpint(answer(&s, asked(&s), RI_SERVICE_NO_QP), ==, RI_SUCCESS);
	event = node_cm(s.na, RI_CM_SERVICE_REPLY, ASK(1));
	g_assert_cmpuint(event.service_status, ==, RI_SERVICE_NO_QP);
	g_assert_cmpuint(event.qpn, ==, 0);
}

/* No listener; too many queries; no route; no answer. */
static void
test_not_found(void)
{
	struct ri_cm_params far = node_params(NULL);
	struct ri_request *first;
	struct scene s RI_AT_END(scene_close);

	scene_open(&s, RI_SERVICE_PORT);
	g_assert_cmpint(query_start(&s, 1, RI_NEVER), ==, RI_SUCCESS);
	g_assert_cmpint(query_start(&s, 2, 1000), ==, RI_SUCCESS);
	g_assert_cmpint(query_start(&s, 3, RI_NEVER), ==, RI_SUCCESS);
	told(&s, 3, RI_SERVICE_REJECTED); /* the backlog is 2 */
	first = asked(&s);
	struct ri_request *second = asked(&s);
	vth_advance(s.vth, 2000);
	told(&s, 2, RI_SERVICE_REJECTED);
	g_assert_true(node_cm(s.nb, RI_CM_REQUEST_GONE, LISTEN).request == second);
	g_assert_cmpint(answer(&s, second, RI_SERVICE_FOUND), ==, RI_ERR_INVALID_HANDLE);
	/* It was delivered, so it must be answered even after the listener was destroyed. */
	stop_listening(&s);
	g_assert_cmpint(answer(&s, first, RI_SERVICE_FOUND), ==, RI_SUCCESS);
	told(&s, 1, RI_SERVICE_FOUND);
	g_assert_cmpint(query_start(&s, 4, RI_NEVER), ==, RI_SUCCESS);
	told(&s, 4, RI_SERVICE_UNKNOWN);
	far.peer = (struct ri_addr){.family = RI_ADDR_IPV4, .octets = {192, 0, 2, 1}};
	far.service = s.service;
	far.deadline = vth_host(s.vth)->now(vth_host(s.vth)->self) + 1000;
	g_assert_cmpint(s.na->p->cm->resolve(s.na->context, 105, &far), ==, RI_SUCCESS);
	node_silent(s.na);
	vth_advance(s.vth, 2000);
	told(&s, 5, RI_SERVICE_REJECTED);
}

/* The listener is destroyed before the query was delivered. */
static void
test_listener_goes(void)
{
	struct scene s RI_AT_END(scene_close);

	scene_open(&s, RI_SERVICE_PORT);
	g_assert_cmpint(query_start(&s, 1, RI_NEVER), ==, RI_SUCCESS);
	stop_listening(&s);
	told(&s, 1, RI_SERVICE_UNKNOWN);
	node_silent(s.nb);
}

/* The querying side gives up, before and after the query was delivered, and after the answer. */
static void
test_cancel(void)
{
	struct scene s RI_AT_END(scene_close);

	scene_open(&s, RI_SERVICE_PORT);
	const struct ri_cm_ops *cm = s.na->p->cm;
	cm->resolve_cancel(s.na->context, 101); /* none */
	g_assert_cmpint(query_start(&s, 1, 1000), ==, RI_SUCCESS);
	cm->resolve_cancel(s.na->context, 101);
	node_silent(s.nb);
	g_assert_cmpint(query_start(&s, 1, 1000), ==, RI_SUCCESS);
	struct ri_request *request = asked(&s);
	cm->resolve_cancel(s.na->context, 101);
	g_assert_true(node_cm(s.nb, RI_CM_REQUEST_GONE, LISTEN).request == request);
	g_assert_cmpint(query_start(&s, 1, 1000), ==, RI_SUCCESS);
	g_assert_cmpint(answer(&s, asked(&s), RI_SERVICE_FOUND), ==, RI_SUCCESS);
	cm->resolve_cancel(s.na->context, 101);
	vth_advance(s.vth, 5000);
	node_silent(s.na);
}

/* Either adapter is closed in the middle. */
static void
test_adapter_goes(void)
{
	struct scene s;

	scene_open(&s, RI_SERVICE_PORT);
	g_assert_cmpint(query_start(&s, 1, 1000), ==, RI_SUCCESS);
	g_assert_cmpint(query_start(&s, 2, 1000), ==, RI_SUCCESS);
	(void)asked(&s);
	node_forget(s.nb);
	stop_listening(&s);
	node_free(&s.nb);
	s.nb = NULL;
	node_run(s.na);
	told(&s, 1, RI_SERVICE_UNKNOWN);
	told(&s, 2, RI_SERVICE_UNKNOWN);
	scene_close(&s);

	scene_open(&s, RI_SERVICE_PORT);
	g_assert_cmpint(query_start(&s, 1, 1000), ==, RI_SUCCESS);
	struct ri_request *request = asked(&s);
	node_free(&s.na);
	s.na = NULL;
	g_assert_true(node_cm(s.nb, RI_CM_REQUEST_GONE, LISTEN).request == request);
	scene_close(&s);
}

/* Connection requests and queries cannot be answered as the other kind. */
static void
test_kinds(void)
{
	struct scene s RI_AT_END(scene_close);
	struct ri_cm_params params;

	scene_open(&s, RI_SERVICE_PORT);
	const struct ri_cm_ops *cm = s.na->p->cm;
	struct end *a = end_new(s.na, NULL);
	struct end *b RI_AT_END(end_free) = end_new(s.nb, NULL);

	params = node_params(&s.service);
	g_assert_cmpint(cm->connect(a->qp, &params), ==, RI_SUCCESS);
	struct ri_request *wants_connection = node_cm(s.nb, RI_CM_REQUEST, LISTEN).request;
	g_assert_cmpint(query_start(&s, 1, RI_NEVER), ==, RI_SUCCESS);
	struct ri_request *wants_service = asked(&s);
	g_assert_cmpint(answer(&s, wants_connection, RI_SERVICE_FOUND), ==, RI_ERR_INVALID_HANDLE);
	g_assert_cmpint(cm->accept(wants_service, b->qp, &params), ==, RI_ERR_INVALID_HANDLE);
	g_assert_cmpint(cm->reject(wants_service, RI_CM_REASON_CONSUMER, NULL, 0), ==,
			RI_ERR_INVALID_HANDLE);
	g_assert_cmpint(answer(&s, wants_service, RI_SERVICE_REDIRECTED), ==, RI_SUCCESS);
	told(&s, 1, RI_SERVICE_REDIRECTED);
	g_assert_cmpint(cm->accept(wants_connection, b->qp, &params), ==, RI_SUCCESS);
	node_cm(s.na, RI_CM_ESTABLISHED, a);
	node_cm(s.nb, RI_CM_ESTABLISHED, b);
	end_free(&a);
	node_cm(s.nb, RI_CM_BROKEN, b);
}

static void
test_refusals(void)
{
	struct scene s RI_AT_END(scene_close);
	const struct ri_service_answer bad = {.status = RI_SERVICE_STATUS_COUNT};
	static const char text[181];
	const struct ri_service_answer longish = {.pdata = text, .pdata_len = 137};
	const struct ri_service_answer full = {
		.status = RI_SERVICE_REJECTED, .pdata = text, .pdata_len = 136};

	scene_open(&s, RI_SERVICE_PORT);
	const struct ri_cm_ops *cm = s.na->p->cm;
	struct ri_cm_params params = node_params(&s.service);
	struct node *iwarp = node_new(s.vth, false, "emul:iwarp");

	g_assert_cmpint(cm->resolve(iwarp->context, 1, &params), ==, RI_ERR_UNSUPPORTED);
	node_free(&iwarp);
	params.pdata = text;
	params.pdata_len = sizeof(text);
	g_assert_cmpint(cm->resolve(s.na->context, 1, &params), ==, RI_ERR_INVALID_ARG);
	params = node_params(&s.service);
	params.port = 1;
	g_assert_cmpint(cm->resolve(s.na->context, 1, &params), ==, RI_ERR_INVALID_ARG);
	params.port = 0;
	params.service.kind = 9;
	g_assert_cmpint(cm->resolve(s.na->context, 1, &params), ==, RI_ERR_INVALID_ARG);
	g_assert_cmpint(query_start(&s, 1, RI_NEVER), ==, RI_SUCCESS);
	struct ri_request *request = asked(&s);
	g_assert_cmpint(cm->resolve_answer(request, &bad), ==, RI_ERR_INVALID_ARG);
	g_assert_cmpint(cm->resolve_answer(request, &longish), ==, RI_ERR_INVALID_ARG);
	g_assert_cmpint(answer(&s, NULL, RI_SERVICE_FOUND), ==, RI_ERR_INVALID_HANDLE);
	g_assert_cmpint(answer(&s, request, RI_SERVICE_REJECTED), ==, RI_SUCCESS);
	told(&s, 1, RI_SERVICE_REJECTED);
	/* The longest that there are. */
	params = node_params(&s.service);
	params.pdata = text;
	params.pdata_len = sizeof(text) - 1;
	g_assert_cmpint(cm->resolve(s.na->context, 2, &params), ==, RI_SUCCESS);
	struct ri_cm_event event = node_cm(s.nb, RI_CM_SERVICE_REQUEST, LISTEN);
	g_assert_cmpuint(event.pdata_len, ==, 180);
	g_assert_cmpint(cm->resolve_answer(event.request, &full), ==, RI_SUCCESS);
	g_assert_cmpuint(node_cm(s.na, RI_CM_SERVICE_REPLY, (const void *)(uintptr_t)2).pdata_len,
			 ==, 136);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/emul/resolve/found-port", GINT_TO_POINTER(RI_SERVICE_PORT),
			     test_found);
	g_test_add_data_func("/emul/resolve/found-id", GINT_TO_POINTER(RI_SERVICE_IB), test_found);
	g_test_add_func("/emul/resolve/not-found", test_not_found);
	g_test_add_func("/emul/resolve/listener-goes", test_listener_goes);
	g_test_add_func("/emul/resolve/cancel", test_cancel);
	g_test_add_func("/emul/resolve/adapter-goes", test_adapter_goes);
	g_test_add_func("/emul/resolve/kinds", test_kinds);
	g_test_add_func("/emul/resolve/refusals", test_refusals);
	return g_test_run();
}
