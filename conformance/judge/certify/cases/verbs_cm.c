/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Connections by address: listeners, requests, answers, and every way in which an attempt ends. */

#include <string.h>

#include "cert_host.h"
#include "verbs_cm.h"

#define SECOND UINT64_C(1000000000) /* ns */

static void
expect_pdata(struct cert *cert, const struct ri_cm_event *event, uint32_t length, uint32_t seed)
{
	CERT_TRUE(cert, event->pdata_present || length == 0);
	cert_private_length(cert, event, length);
	cert_expect_fill(cert, "private data", event->pdata, length, seed);
}

/* The attempt of the near side has failed: it is in ERROR, and was told nothing else. */
static struct ri_cm_event
failed(struct scene *scene, enum ri_cm_event_kind kind)
{
	struct ri_cm_event event = cert_cm(scene->pair.near, kind, scene->pair.a->ctx);

	CERT_UINT(scene->cert, cert_end_attr(scene->pair.a).state, ==, RI_QPS_ERROR);
	for (unsigned i = 0; i < 20; i++)
		cert_progress(scene->cert);
	CERT_UINT(scene->cert, cert_cm_count(scene->pair.near, RI_CM_FAILED, scene->pair.a->ctx),
		  ==, 0);
	CERT_UINT(scene->cert, cert_cm_count(scene->pair.near, RI_CM_BROKEN, scene->pair.a->ctx),
		  ==, 0);
	return event;
}

/* --- private data and depths --------------------------------------------------------------- */

/* All lengths at their limits, in both directions. */
static void
private_data(struct cert *cert)
{
	const struct ri_rnic_attr *attr = cert_attr(cert);
	struct ri_cm_params params;
	struct ri_cm_event event;
	uint8_t data[RI_PDATA_MAX];

	for (unsigned row = 0; row < 3; row++) {
		uint16_t there = row == 0   ? 0
				 : row == 1 ? MIN(1, attr->connect_pdata)
					    : attr->connect_pdata;
		uint16_t back = row == 0   ? 0
				: row == 1 ? MIN(1, attr->accept_pdata)
					   : attr->accept_pdata;
		struct scene scene;

		cert_note(cert, "%u octets with the request, %u with the answer", there, back);
		scene_open(&scene, cert);
		params = connect_params(&scene);
		cert_fill(data, sizeof(data), 1);
		params.pdata = data;
		params.pdata_len = there;
		begin(&scene, &params);
		memset(data, 0, sizeof(data)); /* it was borrowed for the call only */
		event = request_of(&scene);
		expect_pdata(cert, &event, there, 1);
		CERT_UINT(cert, event.service.kind, ==, scene.service.kind);
		CERT_UINT(cert, event.service.port, ==, scene.service.port);
		params = accept_params(&scene);
		cert_fill(data, sizeof(data), 2);
		params.pdata = data;
		params.pdata_len = back;
		accept(&scene, event.request, &params);
		memset(data, 0, sizeof(data));
		event = cert_cm(scene.pair.near, RI_CM_ESTABLISHED, scene.pair.a->ctx);
		expect_pdata(cert, &event, back, 2);
		cert_cm(scene.pair.far, RI_CM_ESTABLISHED, scene.pair.b->ctx);
		listen_end(&scene);
		cert_node_close(scene.pair.near);
		cert_node_close(scene.pair.far);
	}
}

static void
too_much_private_data(struct cert *cert)
{
	const struct ri_rnic_attr *attr = cert_attr(cert);
	static const uint8_t data[UINT16_MAX];
	struct scene scene RI_AT_END(listen_end);
	struct ri_cm_params params;
	struct ri_cm_event event;

	scene_open(&scene, cert);
	params = connect_params(&scene);
	params.pdata = data;
	params.pdata_len = (uint16_t)(attr->connect_pdata + 1);
	CERT_VERB(cert, RI_ERR_INVALID_ARG, scene.cm->connect(scene.pair.a->qp, &params));
	CERT_UINT(cert, cert_end_attr(scene.pair.a).state, ==, RI_QPS_IDLE);
	params.pdata_len = 0;
	begin(&scene, &params);
	event = request_of(&scene);
	params = accept_params(&scene);
	params.pdata = data;
	params.pdata_len = (uint16_t)(attr->accept_pdata + 1);
	CERT_VERB(cert, RI_ERR_INVALID_ARG,
		  scene.cm->accept(event.request, scene.pair.b->qp, &params));
	CERT_VERB(cert, RI_ERR_INVALID_ARG,
		  scene.cm->reject(event.request, RI_CM_REASON_CONSUMER, data,
				   (uint16_t)(attr->reject_pdata + 1)));
	cert_note(cert, "the request can still be accepted");
	params.pdata_len = 0;
	accept(&scene, event.request, &params);
	cert_cm(scene.pair.near, RI_CM_ESTABLISHED, scene.pair.a->ctx);
	cert_cm(scene.pair.far, RI_CM_ESTABLISHED, scene.pair.b->ctx);
	CERT_VERB(cert, RI_ERR_INVALID_ARG,
		  scene.cm->disconnect(scene.pair.a->qp, data,
				       (uint16_t)(attr->disconnect_pdata + 1)));
	CERT_UINT(cert, cert_end_attr(scene.pair.a).state, ==, RI_QPS_RTS);
}

static void
depths(struct cert *cert)
{
	struct scene scene RI_AT_END(listen_end);
	struct ri_cm_params params;
	struct ri_cm_event event;

	scene_open(&scene, cert);
	params = connect_params(&scene);
	params.ird = MIN(3, cert_attr(cert)->max_ird);
	params.ord = MIN(2, cert_attr(cert)->max_ord);
	begin(&scene, &params);
	event = request_of(&scene);
	CERT_TRUE(cert, event.ird_ord_valid);
	CERT_UINT(cert, event.ird, ==, params.ird);
	CERT_UINT(cert, event.ord, ==, params.ord);
	params = accept_params(&scene);
	params.ird = MIN(2, cert_attr(cert)->max_ird);
	params.ord = 1;
	accept(&scene, event.request, &params);
	event = cert_cm(scene.pair.near, RI_CM_ESTABLISHED, scene.pair.a->ctx);
	CERT_TRUE(cert, event.ird_ord_valid);
	CERT_UINT(cert, event.ird, ==, params.ird);
	CERT_UINT(cert, event.ord, ==, params.ord);
}

/*
 * The depths that a side sends in the set-up apply to its queue pair from then on, and its ORD is
 * limited to the peer's IRD. So no Read may be sent to a peer whose IRD is 0, nor by a side that
 * has sent an ORD of 0.
 */
static void
depths_in_force(struct cert *cert)
{
	for (unsigned i = 0; i < 2; i++) {
		bool active = i == 0; /* the side that may not read */
		struct scene scene RI_AT_END(listen_end);
		struct ri_cm_params params;
		struct ri_request *request;

		cert_note(cert, active ? "the peer accepts with IRD 0" : "it accepts with ORD 0");
		scene_open(&scene, cert);
		params = connect_params(&scene);
		begin(&scene, &params);
		request = request_of(&scene).request;
		params = accept_params(&scene);
		if (active)
			params.ird = 0;
		else
			params.ord = 0;
		accept(&scene, request, &params);
		cert_cm(scene.pair.near, RI_CM_ESTABLISHED, scene.pair.a->ctx);
		cert_cm(scene.pair.far, RI_CM_ESTABLISHED, scene.pair.b->ctx);

		struct cert_end *end = active ? scene.pair.a : scene.pair.b;
		struct ri_sge here = cert_sge(active ? scene.pair.from : scene.pair.into, 0, 64);
		struct ri_sge there = cert_sge(active ? scene.pair.into : scene.pair.from, 0, 64);

		cert_post_rdma(end, RI_OP_RDMA_READ, 1, &here, &there);
		cert_wc_is(end, false, 1, RI_WC_LOCAL_QP);
		cert_wait_end(scene.pair.a);
		cert_wait_end(scene.pair.b);
	}
}

static void
depths_at_the_limit(struct cert *cert)
{
	const struct ri_rnic_attr *attr = cert_attr(cert);
	struct scene scene RI_AT_END(listen_end);
	struct ri_cm_params params;
	struct ri_request *request;

	scene_open(&scene, cert);
	params = connect_params(&scene);
	params.ird = attr->max_ird + 1;
	CERT_VERB(cert, RI_ERR_LIMIT, scene.cm->connect(scene.pair.a->qp, &params));
	params.ird = 0;
	params.ord = attr->max_ord + 1;
	CERT_VERB(cert, RI_ERR_LIMIT, scene.cm->connect(scene.pair.a->qp, &params));
	CERT_UINT(cert, cert_end_attr(scene.pair.a).state, ==, RI_QPS_IDLE);
	params = connect_params(&scene);
	begin(&scene, &params);
	request = request_of(&scene).request;
	params = accept_params(&scene);
	params.ird = attr->max_ird + 1;
	CERT_VERB(cert, RI_ERR_LIMIT, scene.cm->accept(request, scene.pair.b->qp, &params));
	params.ird = 0;
	params.ord = attr->max_ord + 1;
	CERT_VERB(cert, RI_ERR_LIMIT, scene.cm->accept(request, scene.pair.b->qp, &params));
	CERT_UINT(cert, cert_end_attr(scene.pair.b).state, ==, RI_QPS_IDLE);
	cert_note(cert, "the request can still be accepted");
	params = accept_params(&scene);
	accept(&scene, request, &params);
	cert_cm(scene.pair.near, RI_CM_ESTABLISHED, scene.pair.a->ctx);
	cert_cm(scene.pair.far, RI_CM_ESTABLISHED, scene.pair.b->ctx);
}

/* --- refusals ------------------------------------------------------------------------------ */

static void
rejected(struct cert *cert)
{
	uint16_t length = cert_attr(cert)->reject_pdata;
	struct scene scene RI_AT_END(listen_end);
	struct ri_cm_params params;
	struct ri_cm_event event;
	uint8_t data[RI_PDATA_MAX];

	scene_open(&scene, cert);
	cert_post_recv(scene.pair.a, 7, &scene.pair.source, 1);
	params = connect_params(&scene);
	begin(&scene, &params);
	event = request_of(&scene);
	cert_fill(data, sizeof(data), 3);
	CERT_VERB(cert, RI_SUCCESS,
		  scene.cm->reject(event.request, RI_CM_REASON_CONSUMER, data, length));
	params = accept_params(&scene);
	cert_note(cert, "the request is consumed");
	CERT_VERB(cert, RI_ERR_INVALID_HANDLE,
		  scene.cm->accept(event.request, scene.pair.b->qp, &params));
	event = failed(&scene, RI_CM_REJECTED);
	expect_pdata(cert, &event, length, 3);
	CERT_UINT(cert, cert_end_attr(scene.pair.b).state, ==, RI_QPS_IDLE);
	cert_wc_is(scene.pair.a, true, 7, RI_WC_FLUSHED);
}

/* Refused, but not by the consumer. */
static void
refused(struct cert *cert)
{
	struct scene scene RI_AT_END(listen_end);
	struct ri_cm_params params;
	struct ri_cm_event event;

	scene_open(&scene, cert);
	params = connect_params(&scene);
	begin(&scene, &params);
	event = request_of(&scene);
	CERT_VERB(cert, RI_SUCCESS,
		  scene.cm->reject(event.request, RI_CM_REASON_RESOURCES, NULL, 0));
	event = failed(&scene, RI_CM_FAILED);
	CERT_UINT(cert, event.reason, ==, RI_CM_REASON_RESOURCES);
}

static void
no_listener(struct cert *cert)
{
	struct scene scene;
	struct ri_cm_params params;
	struct ri_cm_event event;

	scene_open(&scene, cert);
	params = connect_params(&scene);
	listen_end(&scene);
	begin(&scene, &params);
	event = failed(&scene, RI_CM_FAILED);
	if (cert_provider_raw(cert)->abi_minor >= 7)
		CERT_UINT(cert, event.reason, ==, RI_CM_REASON_REFUSED);
}

static void
not_reachable(struct cert *cert)
{
	struct scene scene RI_AT_END(listen_end);
	struct ri_cm_params params;
	struct ri_cm_event event;

	scene_open(&scene, cert);
	params = connect_params(&scene);
	params.local = (struct ri_addr){.family = RI_ADDR_IPV4, .octets = {203, 0, 113, 7}};
	cert_note(cert, "from an address that is not of this adapter");
	CERT_VERB(cert, RI_ERR_NO_ROUTE, scene.cm->connect(scene.pair.a->qp, &params));
	CERT_UINT(cert, cert_end_attr(scene.pair.a).state, ==, RI_QPS_IDLE);
	params = connect_params(&scene);
	params.peer = (struct ri_addr){.family = RI_ADDR_IPV4, .octets = {203, 0, 113, 7}};
	params.deadline =
		cert_host_table(cert_host(cert))->now(cert_host_table(cert_host(cert))->self) +
		SECOND;
	cert_note(cert, "to an address that no host has");
	begin(&scene, &params);
	event = failed(&scene, RI_CM_FAILED);
	/* A network may also answer for an address that no host has, by a refusal. */
	CERT_TRUE(cert, event.reason == RI_CM_REASON_BAD_PATH ||
				event.reason == RI_CM_REASON_TIMEOUT ||
				event.reason == RI_CM_REASON_REFUSED ||
				event.reason == RI_CM_REASON_OTHER);
}

/* The request of an attempt with a deadline; NULL: the attempt has failed, and its request was not told before. */
static struct ri_request *
request_in_time(struct scene *scene)
{
	gint64 until = 0;

	while (cert_cm_count(scene->pair.far, RI_CM_REQUEST, scene->ctx) == 0) {
		if (cert_cm_count(scene->pair.near, RI_CM_FAILED, scene->pair.a->ctx) > 0)
			return NULL;
		CERT_TRUE(scene->cert, cert_patience(scene->cert, &until));
	}
	return request_of(scene).request;
}

/* A request without answer: the attempt ends at its deadline, and a listener that had the request is told of its end. */
static void
too_late(struct cert *cert)
{
	const struct ri_host *host = cert_host_table(cert_host(cert));
	struct scene scene RI_AT_END(listen_end);
	struct ri_cm_params params;
	struct ri_cm_event event;
	struct ri_request *request;

	scene_open(&scene, cert);
	params = connect_params(&scene);
	params.deadline = host->now(host->self) + 4 * SECOND;
	begin(&scene, &params);
	request = request_in_time(&scene);
	event = failed(&scene, RI_CM_FAILED);
	CERT_UINT(cert, event.reason, ==, RI_CM_REASON_TIMEOUT);
	CERT_TRUE(cert, host->now(host->self) >= params.deadline);
	if (request == NULL) {
		cert_note(cert, "the listener did not hear of the attempt in time");
		return;
	}
	event = cert_cm(scene.pair.far, RI_CM_REQUEST_GONE, scene.ctx);
	CERT_TRUE(cert, event.request == request);
	params = accept_params(&scene);
	CERT_VERB(cert, RI_ERR_INVALID_HANDLE,
		  scene.cm->accept(request, scene.pair.b->qp, &params));
	CERT_VERB(cert, RI_ERR_INVALID_HANDLE,
		  scene.cm->reject(request, RI_CM_REASON_CONSUMER, NULL, 0));
	CERT_UINT(cert, cert_end_attr(scene.pair.b).state, ==, RI_QPS_IDLE);
}

/* The side that connects gives up in one of three ways. */
static void
given_up(struct cert *cert)
{
	for (unsigned way = 0; way < 3; way++) {
		struct scene scene RI_AT_END(listen_end);
		struct ri_cm_params params;
		struct ri_request *request;

		scene_open(&scene, cert);
		params = connect_params(&scene);
		begin(&scene, &params);
		request = request_of(&scene).request;
		cert_note(cert, "%s",
			  way == 0   ? "by a move to ERROR"
			  : way == 1 ? "by a disconnect"
				     : "by the destruction of the queue pair");
		if (way == 0)
			CERT_UINT(cert, cert_end_move(scene.pair.a, RI_QPS_ERROR), ==, RI_SUCCESS);
		else if (way == 1)
			CERT_VERB(cert, RI_SUCCESS,
				  scene.cm->disconnect(scene.pair.a->qp, NULL, 0));
		else
			cert_end_free(scene.pair.a);
		CERT_TRUE(cert, cert_cm(scene.pair.far, RI_CM_REQUEST_GONE, scene.ctx).request ==
					request);
		params = accept_params(&scene);
		CERT_VERB(cert, RI_ERR_INVALID_HANDLE,
			  scene.cm->accept(request, scene.pair.b->qp, &params));
	}
}

/* --- listeners ----------------------------------------------------------------------------- */

static void
listened_twice(struct cert *cert)
{
	struct scene scene;
	struct ri_service same;
	struct ri_listen *second = NULL, *none = NULL;
	uint64_t ctx;

	scene_open(&scene, cert);
	same = scene.service;
	CERT_TRUE(cert, same.kind == RI_SERVICE_PORT ? same.port != 0 : same.id != 0);
	ctx = cert_ctx_new(scene.pair.far, RI_OBJECT_LISTEN);
	CERT_VERB(cert, RI_ERR_IN_USE,
		  scene.cm->listen(scene.pair.far->context, ctx, 0, &same, 4, &none));
	listen_end(&scene);
	cert_note(cert, "the service is free again");
	CERT_VERB(cert, RI_SUCCESS,
		  scene.cm->listen(scene.pair.far->context, ctx, 0, &same, 4, &second));
	CERT_VERB(cert, RI_ERR_INVALID_ARG,
		  scene.cm->listen(scene.pair.far->context, ctx, cert_attr(cert)->num_ports, &same,
				   4, &none));
	CERT_VERB_VOID(cert, scene.cm->listen_destroy(second));
	cert_ctx_gone(scene.pair.far, ctx);
}

static void
service_unknown(struct cert *cert)
{
	struct scene scene RI_AT_END(listen_end);
	struct ri_service none = {.kind = RI_SERVICE_NONE};
	struct ri_listen *listen = NULL;
	struct ri_cm_params params;

	scene_open(&scene, cert);
	CERT_VERB(cert, RI_ERR_INVALID_ARG,
		  scene.cm->listen(scene.pair.far->context, 1, 0, &none, 4, &listen));
	params = connect_params(&scene);
	params.service.kind = RI_SERVICE_NONE;
	CERT_VERB(cert, RI_ERR_INVALID_ARG, scene.cm->connect(scene.pair.a->qp, &params));
	CERT_UINT(cert, cert_end_attr(scene.pair.a).state, ==, RI_QPS_IDLE);
}

/* A request that was raised outlives its listener. */
static void
listener_gone(struct cert *cert)
{
	struct scene scene;
	struct ri_cm_params params;
	struct ri_request *request;

	scene_open(&scene, cert);
	params = connect_params(&scene);
	begin(&scene, &params);
	request = request_of(&scene).request;
	listen_end(&scene);
	params = accept_params(&scene);
	accept(&scene, request, &params);
	cert_cm(scene.pair.near, RI_CM_ESTABLISHED, scene.pair.a->ctx);
	cert_cm(scene.pair.far, RI_CM_ESTABLISHED, scene.pair.b->ctx);
}

/* More requests than the listener takes: the next one is refused, the others wait. */
static void
backlog(struct cert *cert)
{
	struct scene scene RI_AT_END(listen_end);
	struct ri_cm_params params;
	struct cert_end *ends[3];
	struct ri_request *request;

	pair_open(&scene.pair, cert, NULL);
	scene.cert = cert;
	scene.cm = cert_provider(cert)->cm;
	scene_listen(&scene, 2);
	params = connect_params(&scene);
	for (unsigned i = 0; i < 3; i++)
		ends[i] = cert_end_new(scene.pair.near, NULL);
	CERT_VERB(cert, RI_SUCCESS, scene.cm->connect(ends[0]->qp, &params));
	request = request_of(&scene).request;
	CERT_VERB(cert, RI_SUCCESS, scene.cm->connect(ends[1]->qp, &params));
	request_of(&scene);
	CERT_VERB(cert, RI_SUCCESS, scene.cm->connect(ends[2]->qp, &params));
	cert_cm(scene.pair.near, RI_CM_FAILED, ends[2]->ctx);
	CERT_UINT(cert, cert_cm_count(scene.pair.far, RI_CM_REQUEST, scene.ctx), ==, 0);
	cert_note(cert, "an answer makes room");
	params = accept_params(&scene);
	accept(&scene, request, &params);
	cert_cm(scene.pair.near, RI_CM_ESTABLISHED, ends[0]->ctx);
	params = connect_params(&scene);
	begin(&scene, &params);
	request_of(&scene);
}

/* The GID that an address is, or has over Ethernet: an IPv4 address behind ::ffff:0:0/96 (IBTA volume 1, annex A17). */
static struct ri_addr
gid_of(const struct ri_addr *addr)
{
	struct ri_addr gid = *addr;

	if (addr->family == RI_ADDR_IPV4)
		gid = (struct ri_addr){.octets = {[10] = 0xff,
						  [11] = 0xff,
						  addr->octets[0],
						  addr->octets[1],
						  addr->octets[2],
						  addr->octets[3]}};
	gid.family = RI_ADDR_GID;
	return gid;
}

/* A GID of the far side's first spigot: one that its query tells, or else that of its first address. False: it has no address. */
static bool
far_gid(struct scene *scene, struct ri_addr *gid)
{
	const struct cert_node *far = scene->pair.far;
	struct ri_port_attr port = {.size = sizeof(port)};
	uint32_t at = 0;

	CERT_VERB(scene->cert, RI_SUCCESS, far->p->device->query_port(far->rnic, 0, &port));
	for (uint32_t i = port.num_addrs; i > 0; i--)
		if (port.addrs[i - 1].family == RI_ADDR_GID)
			at = i - 1;
	*gid = gid_of(&port.addrs[at]);
	return port.num_addrs > 0;
}

/* A listener at a service id, which the adapter chooses, is found by its GID and that id, and by no other id. */
static void
by_gid(struct cert *cert)
{
	struct scene scene RI_AT_END(listen_end) = {.cert = cert, .cm = cert_provider(cert)->cm};
	struct ri_cm_params params;
	struct ri_cm_event event;
	struct ri_addr gid;

	pair_open(&scene.pair, cert, NULL);
	scene.service = (struct ri_service){.kind = RI_SERVICE_IB};
	scene_listen_at(&scene, 4);
	CERT_TRUE(cert, scene.service.id != 0);
	if (!far_gid(&scene, &gid)) {
		cert_skip(cert, "the spigot has no address now");
		return;
	}
	params = connect_params(&scene);
	params.peer = gid;
	begin(&scene, &params);
	event = request_of(&scene);
	CERT_UINT(cert, event.service.kind, ==, RI_SERVICE_IB);
	CERT_UINT(cert, event.service.id, ==, scene.service.id);
	params = accept_params(&scene);
	accept(&scene, event.request, &params);
	cert_cm(scene.pair.near, RI_CM_ESTABLISHED, scene.pair.a->ctx);
	cert_cm(scene.pair.far, RI_CM_ESTABLISHED, scene.pair.b->ctx);
	cert_post_recv(scene.pair.b, 1, &scene.pair.sink, 1);
	cert_post_send(scene.pair.a, 2, &scene.pair.source, 1, 0);
	cert_wc_is(scene.pair.b, true, 1, RI_WC_SUCCESS);
	cert_wc_is(scene.pair.a, false, 2, RI_WC_SUCCESS);
	cert_end_free(scene.pair.a);
	cert_wait_end(scene.pair.b);
	scene.pair.a = cert_end_new(scene.pair.near, NULL);
	params = connect_params(&scene);
	params.peer = gid;
	params.service.id = ~params.service.id;
	begin(&scene, &params);
	failed(&scene, RI_CM_FAILED);
}

static const struct cert_case cases[] = {
	{.id = "verbs.cm.data.0001",
	 .title = "Private data of each length arrives whole",
	 .rule = "[RI 10.30] [RI 11.6.1]",
	 .needs = "cm_forms:RI_CM_ADDRESS",
	 .settles = "connect_pdata accept_pdata cm_forms",
	 .run = private_data},
	{.id = "verbs.cm.data.0002",
	 .title = "More private data than claimed is refused, and nothing changes",
	 .rule = "[RI 10.30] [RI 2.1.1]",
	 .needs = "cm_forms:RI_CM_ADDRESS",
	 .settles = "connect_pdata accept_pdata reject_pdata disconnect_pdata",
	 .run = too_much_private_data},
	{.id = "verbs.cm.depth.0001",
	 .title = "IRD and ORD of each side are told to the other",
	 .rule = "[RI 10.32]",
	 .needs = "cm_forms:RI_CM_ADDRESS ird_ord_exchange max_ird max_ord",
	 .settles = "ird_ord_exchange",
	 .run = depths},
	{.id = "verbs.cm.depth.0002",
	 .title = "IRD and ORD above the limits are refused",
	 .rule = "[RI 10.32] [RI 2.1.1]",
	 .needs = "cm_forms:RI_CM_ADDRESS",
	 .settles = "max_ird max_ord",
	 .run = depths_at_the_limit},
	{.id = "verbs.cm.depth.0003",
	 .title = "IRD and ORD that a side sends are those of its queue pair",
	 .rule = "[RI 10.32]",
	 .needs = "cm_forms:RI_CM_ADDRESS ird_ord_exchange max_ird max_ord",
	 .run = depths_in_force},
	{.id = "verbs.cm.refuse.0001",
	 .title = "A rejection consumes its request and reaches the peer with its private data",
	 .rule = "[RI 11.6.2] [RI 10.30]",
	 .needs = "cm_forms:RI_CM_ADDRESS",
	 .settles = "reject_pdata",
	 .run = rejected},
	{.id = "verbs.cm.refuse.0002",
	 .title = "A refusal that is not the consumer's reaches the peer with its reason",
	 .rule = "[RI 11.6.2]",
	 .needs = "cm_forms:RI_CM_ADDRESS",
	 .run = refused},
	{.id = "verbs.cm.refuse.0003",
	 .title = "An attempt without a listener fails",
	 .rule = "[RI 11.6.2]",
	 .needs = "cm_forms:RI_CM_ADDRESS",
	 .run = no_listener},
	{.id = "verbs.cm.refuse.0004",
	 .title = "An attempt from or to an address that no host has fails",
	 .rule = "[RI 11.6.2] [RI 11.6.1]",
	 .needs = "cm_forms:RI_CM_ADDRESS addr_ip",
	 .settles = "addr_ip",
	 .run = not_reachable},
	{.id = "verbs.cm.gid.0001",
	 .title = "A listener is reached by a GID and its service id",
	 .rule = "[RI 10.33] [RI 11.6.1]",
	 .needs = "cm_forms:RI_CM_ADDRESS addr_gid",
	 .settles = "addr_gid",
	 .run = by_gid},
	{.id = "verbs.cm.refuse.0005",
	 .title = "An attempt that is not answered fails at its deadline",
	 .rule = "[RI 11.6.2]",
	 .needs = "cm_forms:RI_CM_ADDRESS",
	 .run = too_late,
	 .flags = CERT_SLOW},
	{.id = "verbs.cm.refuse.0006",
	 .title = "A request whose peer gives up is told as gone and cannot be answered",
	 .rule = "[RI 11.6.2]",
	 .needs = "cm_forms:RI_CM_ADDRESS",
	 .run = given_up},
	{.id = "verbs.cm.listen.0001",
	 .title = "A service has one listener",
	 .rule = "[RI 11.6.1]",
	 .needs = "cm_forms:RI_CM_ADDRESS",
	 .run = listened_twice},
	{.id = "verbs.cm.listen.0002",
	 .title = "A kind of service that is unknown is refused",
	 .rule = "[RI 11.6.1] [RI 2.1.1]",
	 .needs = "cm_forms:RI_CM_ADDRESS",
	 .run = service_unknown},
	{.id = "verbs.cm.listen.0003",
	 .title = "A request outlives its listener",
	 .rule = "[RI 11.6.1] [RI 2.1.4]",
	 .needs = "cm_forms:RI_CM_ADDRESS",
	 .run = listener_gone},
	{.id = "verbs.cm.listen.0004",
	 .title = "A listener holds as many requests as its backlog",
	 .rule = "[RI 11.6.1]",
	 .needs = "cm_forms:RI_CM_ADDRESS",
	 .run = backlog},
};

CERT_SET(verbs_cm, cases);
