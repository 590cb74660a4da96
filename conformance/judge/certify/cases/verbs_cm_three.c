/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The set-up of three messages: its confirmation, its refusal, and calls that may not confirm. Reserved services. */

#include <string.h>

#include "verbs_cm.h"

#define RESERVED_PORT 1u /* of TCP, below those that every user may listen on */

/* An attempt in three messages that the far side has accepted: the confirmation is due. */
static struct ri_cm_event
replied(struct scene *scene)
{
	struct ri_cm_params params = connect_params(scene);
	struct ri_cm_event request;

	params.three_way = true;
	begin(scene, &params);
	request = request_of(scene);
	params = accept_params(scene);
	accept(scene, request.request, &params);
	return cert_cm(scene->pair.near, RI_CM_REPLY, scene->pair.a->ctx);
}

static void
expect_nothing_told(struct scene *scene)
{
	for (unsigned i = 0; i < 50; i++)
		cert_progress(scene->cert);
	CERT_UINT(scene->cert,
		  cert_cm_count(scene->pair.near, RI_CM_ESTABLISHED, scene->pair.a->ctx), ==, 0);
	CERT_UINT(scene->cert,
		  cert_cm_count(scene->pair.far, RI_CM_ESTABLISHED, scene->pair.b->ctx), ==, 0);
}

/* Neither side is connected before the confirmation; afterwards both are, and data moves. */
static void
confirmed(struct cert *cert)
{
	uint16_t length = cert_attr(cert)->confirm_pdata;
	uint8_t data[RI_PDATA_MAX];
	struct scene scene RI_AT_END(listen_end);

	scene_open(&scene, cert);
	replied(&scene);
	expect_nothing_told(&scene);
	CERT_UINT(cert, cert_end_attr(scene.pair.a).state, ==, RI_QPS_CONNECTING);
	cert_fill(data, sizeof(data), 4);
	CERT_VERB(cert, RI_SUCCESS,
		  scene.cm->confirm(scene.pair.a->qp, true, length > 0 ? data : NULL, length));
	cert_cm(scene.pair.near, RI_CM_ESTABLISHED, scene.pair.a->ctx);
	cert_cm(scene.pair.far, RI_CM_ESTABLISHED, scene.pair.b->ctx);
	cert_post_recv(scene.pair.b, 1, &scene.pair.sink, 1);
	cert_post_send(scene.pair.a, 2, &scene.pair.source, 1, 0);
	cert_wc_is(scene.pair.b, true, 1, RI_WC_SUCCESS);
	cert_wc_is(scene.pair.a, false, 2, RI_WC_SUCCESS);
	cert_note(cert, "a second confirmation");
	CERT_VERB(cert, RI_ERR_INVALID_STATE, scene.cm->confirm(scene.pair.a->qp, true, NULL, 0));
	CERT_UINT(cert, cert_end_attr(scene.pair.a).state, ==, RI_QPS_RTS);
}

/* The side that connects refuses: the other one gets REJECTED with the private data, this one no event. */
static void
refused_by_connector(struct cert *cert)
{
	uint16_t length = cert_attr(cert)->reject_pdata;
	uint8_t data[RI_PDATA_MAX];
	struct scene scene RI_AT_END(listen_end);
	struct ri_cm_event event;

	scene_open(&scene, cert);
	replied(&scene);
	cert_fill(data, sizeof(data), 5);
	CERT_VERB(cert, RI_SUCCESS, scene.cm->confirm(scene.pair.a->qp, false, data, length));
	memset(data, 0, sizeof(data)); /* it was borrowed for the call only */
	event = cert_cm(scene.pair.far, RI_CM_REJECTED, scene.pair.b->ctx);
	cert_private_length(cert, &event, length);
	cert_expect_fill(cert, "private data", event.pdata, length, 5);
	expect_nothing_told(&scene);
	CERT_UINT(cert, cert_cm_count(scene.pair.near, RI_CM_REJECTED, scene.pair.a->ctx), ==, 0);
	CERT_UINT(cert, cert_cm_count(scene.pair.near, RI_CM_FAILED, scene.pair.a->ctx), ==, 0);
	CERT_UINT(cert, cert_end_attr(scene.pair.a).state, ==, RI_QPS_ERROR);
	CERT_UINT(cert, cert_end_attr(scene.pair.b).state, ==, RI_QPS_ERROR);
	CERT_VERB(cert, RI_ERR_INVALID_STATE, scene.cm->confirm(scene.pair.a->qp, true, NULL, 0));
}

/* Nothing is to be confirmed: in IDLE, before the reply, by the side that accepts, and in two messages. */
static void
nothing_to_confirm(struct cert *cert)
{
	struct scene scene RI_AT_END(listen_end);
	struct ri_cm_params params;
	struct ri_cm_event request;

	scene_open(&scene, cert);
	for (unsigned accept = 0; accept < 2; accept++)
		CERT_VERB(cert, RI_ERR_INVALID_STATE,
			  scene.cm->confirm(scene.pair.a->qp, accept == 1, NULL, 0));
	CERT_UINT(cert, cert_end_attr(scene.pair.a).state, ==, RI_QPS_IDLE);
	params = connect_params(&scene);
	begin(&scene, &params);
	request = request_of(&scene);
	cert_note(cert, "before the reply");
	CERT_VERB(cert, RI_ERR_INVALID_STATE, scene.cm->confirm(scene.pair.a->qp, true, NULL, 0));
	CERT_UINT(cert, cert_end_attr(scene.pair.a).state, ==, RI_QPS_CONNECTING);
	params = accept_params(&scene);
	accept(&scene, request.request, &params);
	cert_note(cert, "by the side that accepts");
	CERT_VERB(cert, RI_ERR_INVALID_STATE, scene.cm->confirm(scene.pair.b->qp, true, NULL, 0));
	cert_cm(scene.pair.near, RI_CM_ESTABLISHED, scene.pair.a->ctx);
	cert_cm(scene.pair.far, RI_CM_ESTABLISHED, scene.pair.b->ctx);
	CERT_VERB(cert, RI_ERR_INVALID_STATE, scene.cm->confirm(scene.pair.a->qp, false, NULL, 0));
	CERT_UINT(cert, cert_end_attr(scene.pair.a).state, ==, RI_QPS_RTS);
}

/* More private data than claimed; the confirmation is still due. */
static void
confirmed_with_too_much(struct cert *cert)
{
	static const uint8_t data[UINT16_MAX];
	const struct ri_rnic_attr *attr = cert_attr(cert);
	struct scene scene RI_AT_END(listen_end);

	scene_open(&scene, cert);
	replied(&scene);
	CERT_VERB(cert, RI_ERR_INVALID_ARG,
		  scene.cm->confirm(scene.pair.a->qp, true, data,
				    (uint16_t)(attr->confirm_pdata + 1)));
	CERT_VERB(cert, RI_ERR_INVALID_ARG,
		  scene.cm->confirm(scene.pair.a->qp, false, data,
				    (uint16_t)(attr->reject_pdata + 1)));
	expect_nothing_told(&scene);
	CERT_VERB(cert, RI_SUCCESS, scene.cm->confirm(scene.pair.a->qp, true, NULL, 0));
	cert_cm(scene.pair.near, RI_CM_ESTABLISHED, scene.pair.a->ctx);
	cert_cm(scene.pair.far, RI_CM_ESTABLISHED, scene.pair.b->ctx);
}

static void
three_not_claimed(struct cert *cert)
{
	struct scene scene RI_AT_END(listen_end);
	struct ri_cm_params params;

	scene_open(&scene, cert);
	params = connect_params(&scene);
	params.three_way = true;
	CERT_VERB(cert, RI_ERR_UNSUPPORTED, scene.cm->connect(scene.pair.a->qp, &params));
	CERT_UINT(cert, cert_end_attr(scene.pair.a).state, ==, RI_QPS_IDLE);
	for (unsigned i = 0; i < 50; i++)
		cert_progress(cert);
	CERT_UINT(cert, cert_cm_count(scene.pair.far, RI_CM_REQUEST, scene.ctx), ==, 0);
}

/* --- services ------------------------------------------------------------------------------ */

/* One that the system may reserve is listened on, or refused for that reason, and the next listener is not disturbed. */
static void
reserved_service(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	const struct ri_cm_ops *cm = node->p->cm;
	struct ri_service service = {.kind = RI_SERVICE_PORT, .port = GUINT16_TO_BE(RESERVED_PORT)};
	uint64_t ctx = cert_ctx_new(node, RI_OBJECT_LISTEN);
	struct ri_listen *listen = NULL;
	enum ri_status status;

	cert_verb_begin(cert);
	status = cm->listen(node->context, ctx, 0, &service, 4, &listen);
	cert_verb_end(cert, CERT_WHERE, "listen");
	cert_note(cert, "%s", ri_status_name(status));
	if (status == RI_SUCCESS)
		CERT_VERB_VOID(cert, cm->listen_destroy(listen));
	else if (status != RI_ERR_IN_USE) /* by another process */
		CERT_UINT(cert, status, ==, RI_ERR_PERMISSION);
	CERT_UINT(cert, service.port, ==, GUINT16_TO_BE(RESERVED_PORT));
	service = cert_service(node);
	CERT_VERB(cert, RI_SUCCESS, cm->listen(node->context, ctx, 0, &service, 4, &listen));
	CERT_VERB_VOID(cert, cm->listen_destroy(listen));
	cert_ctx_gone(node, ctx);
}

static const struct cert_case cases[] = {
	{.id = "verbs.cm.three.0001",
	 .title = "A set-up of three messages connects both sides with its confirmation",
	 .rule = "[RI 10.28] [RI 11.6.1]",
	 .needs = "cm_forms:RI_CM_ADDRESS three_way_handshake",
	 .settles = "three_way_handshake confirm_pdata",
	 .run = confirmed},
	{.id = "verbs.cm.three.0002",
	 .title = "The side that connects can refuse the reply, with private data",
	 .rule = "[RI 10.28] [RI 10.30]",
	 .needs = "cm_forms:RI_CM_ADDRESS three_way_handshake",
	 .settles = "three_way_handshake reject_pdata",
	 .run = refused_by_connector},
	{.id = "verbs.cm.three.0003",
	 .title = "Where nothing is to be confirmed a confirmation is refused and changes nothing",
	 .rule = "[RI 10.28] [RI 2.1.1]",
	 .needs = "cm_forms:RI_CM_ADDRESS three_way_handshake",
	 .run = nothing_to_confirm},
	{.id = "verbs.cm.three.0004",
	 .title = "A confirmation with too much private data is refused and stays due",
	 .rule = "[RI 10.28] [RI 10.30] [RI 2.1.1]",
	 .needs = "cm_forms:RI_CM_ADDRESS three_way_handshake",
	 .settles = "confirm_pdata reject_pdata",
	 .run = confirmed_with_too_much},
	{.id = "verbs.cm.three.0005",
	 .title = "A set-up of three messages is refused where none is claimed",
	 .rule = "[RI 10.28] [RI 2.1.1]",
	 .needs = "cm_forms:RI_CM_ADDRESS !three_way_handshake",
	 .settles = "three_way_handshake confirm_pdata",
	 .run = three_not_claimed},
	{.id = "verbs.cm.listen.0005",
	 .title = "A TCP port that the system may reserve is listened on or refused as reserved",
	 .rule = "[RI 11.6.1]",
	 .needs = "cm_forms:RI_CM_ADDRESS addr_ip",
	 .run = reserved_service},
};

CERT_SET(verbs_cm_three, cases);
