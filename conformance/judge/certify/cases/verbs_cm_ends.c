/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Connections by address: the states of their verbs, their beginning and their end. */

#include "verbs_cm.h"

/* --- states -------------------------------------------------------------------------------- */

static void
wrong_states(struct cert *cert)
{
	struct scene scene RI_AT_END(listen_end);
	struct ri_cm_params params;
	struct ri_request *request;

	scene_open(&scene, cert);
	CERT_VERB(cert, RI_ERR_INVALID_STATE, scene.cm->disconnect(scene.pair.a->qp, NULL, 0));
	params = connect_params(&scene);
	begin(&scene, &params);
	CERT_UINT(cert, cert_end_attr(scene.pair.a).state, ==, RI_QPS_CONNECTING);
	CERT_VERB(cert, RI_ERR_INVALID_STATE, scene.cm->connect(scene.pair.a->qp, &params));
	request = request_of(&scene).request;
	params = accept_params(&scene);
	CERT_UINT(cert, cert_end_move(scene.pair.b, RI_QPS_ERROR), ==, RI_SUCCESS);
	cert_note(cert, "an acceptance by a queue pair in ERROR");
	CERT_VERB(cert, RI_ERR_INVALID_STATE, scene.cm->accept(request, scene.pair.b->qp, &params));
	scene.pair.b = cert_end_new(scene.pair.far, NULL);
	accept(&scene, request, &params);
	cert_cm(scene.pair.near, RI_CM_ESTABLISHED, scene.pair.a->ctx);
	cert_cm(scene.pair.far, RI_CM_ESTABLISHED, scene.pair.b->ctx);
	CERT_VERB(cert, RI_ERR_INVALID_STATE, scene.cm->connect(scene.pair.a->qp, &params));
	CERT_VERB(cert, RI_SUCCESS, scene.cm->disconnect(scene.pair.a->qp, NULL, 0));
	cert_wait_end(scene.pair.a);
	cert_wait_end(scene.pair.b);
	CERT_VERB(cert, RI_ERR_INVALID_STATE, scene.cm->disconnect(scene.pair.a->qp, NULL, 0));
}

/* The orderly end is told once to each side, as such. */
static void
disconnected(struct cert *cert)
{
	struct pair pair;

	pair_connected(&pair, cert);
	CERT_VERB(cert, RI_SUCCESS, pair.near->p->cm->disconnect(pair.a->qp, NULL, 0));
	cert_cm(pair.near, RI_CM_DISCONNECTED, pair.a->ctx);
	cert_cm(pair.far, RI_CM_DISCONNECTED, pair.b->ctx);
	for (unsigned i = 0; i < 50; i++)
		cert_progress(cert);
	CERT_UINT(cert, cert_cm_count(pair.near, RI_CM_DISCONNECTED, pair.a->ctx), ==, 0);
	CERT_UINT(cert, cert_cm_count(pair.far, RI_CM_BROKEN, pair.b->ctx), ==, 0);
}

static void
both_disconnect(struct cert *cert)
{
	for (unsigned i = 0; i < 20; i++) {
		struct pair pair;
		unsigned ends;

		pair_connected(&pair, cert);
		CERT_VERB(cert, RI_SUCCESS, pair.near->p->cm->disconnect(pair.a->qp, NULL, 0));
		cert_verb_begin(cert);
		(void)pair.far->p->cm->disconnect(pair.b->qp, NULL, 0); /* it may be over */
		cert_verb_end(cert, CERT_WHERE, "disconnect");
		cert_wait_end(pair.a);
		cert_wait_end(pair.b);
		cert_progress(cert);
		ends = cert_cm_count(pair.far, RI_CM_DISCONNECTED, pair.b->ctx) +
		       cert_cm_count(pair.far, RI_CM_BROKEN, pair.b->ctx);
		CERT_UINT(cert, ends, ==, 1);
		cert_node_close(pair.near);
		cert_node_close(pair.far);
	}
}

/* No receive completes before the side is told that it is connected. */
static void
established_first(struct cert *cert)
{
	struct scene scene RI_AT_END(listen_end);
	struct ri_cm_params params;
	struct ri_cm_event event;
	gint64 until = 0;

	scene_open(&scene, cert);
	cert_post_recv(scene.pair.b, 2, &scene.pair.sink, 1);
	if (!pair_refuses(cert))
		cert_post_send(scene.pair.a, 1, &scene.pair.source, 1, 0);
	params = connect_params(&scene);
	begin(&scene, &params);
	event = request_of(&scene);
	params = accept_params(&scene);
	accept(&scene, event.request, &params);
	if (pair_refuses(cert)) {
		cert_cm(scene.pair.near, RI_CM_ESTABLISHED, scene.pair.a->ctx);
		cert_post_send(scene.pair.a, 1, &scene.pair.source, 1, 0);
	}
	while (scene.pair.far->p->fast->cq_depth(scene.pair.b->urcq) == 0)
		CERT_TRUE(cert, cert_patience(cert, &until));
	CERT_UINT(cert, cert_cm_count(scene.pair.far, RI_CM_ESTABLISHED, scene.pair.b->ctx), ==, 1);
	cert_wc_is(scene.pair.b, true, 2, RI_WC_SUCCESS);
	cert_wc_is(scene.pair.a, false, 1, RI_WC_SUCCESS);
}

static const struct cert_case cases[] = {
	{.id = "verbs.cm.state.0001",
	 .title = "Verbs of connections are refused in the wrong states",
	 .rule = "[RI 11.6.1] [RI 4.3.2] [RI 10.25]",
	 .needs = "cm_forms:RI_CM_ADDRESS",
	 .run = wrong_states},
	{.id = "verbs.cm.end.0001",
	 .title = "An orderly end is told once to each side, as such",
	 .rule = "[RI 8.2] [RI 11.6.2]",
	 .needs = "cm_forms:RI_CM_ADDRESS",
	 .run = disconnected},
	{.id = "verbs.cm.end.0002",
	 .title = "When both sides disconnect at once, each is told of one end",
	 .rule = "[RI 8.2]",
	 .needs = "cm_forms:RI_CM_ADDRESS",
	 .run = both_disconnect},
	{.id = "verbs.cm.end.0003",
	 .title = "A side is told that it is connected before its first receive completes",
	 .rule = "[RI 8.3] [RI 11.6.2]",
	 .needs = "cm_forms:RI_CM_ADDRESS",
	 .run = established_first},
};

CERT_SET(verbs_cm_ends, cases);
