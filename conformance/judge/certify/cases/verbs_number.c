/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Connection management that exchanges a queue pair number only: what its events report of the
 * peer, and the queue pairs that are brought up with these values.
 */

#include "verbs_peer.h"

#include <string.h>

/* A number of a node, in place of a queue pair of the case. */
struct number {
	struct cert_node *node;
	struct ri_qp *qp;
	uint64_t ctx;
};

static void
number_new(struct number *number, struct cert_node *node, uint32_t qpn)
{
	struct ri_qp_init init = {.type = RI_QP_NUMBER, .qkey = qpn};
	struct ri_map map;

	number->node = node;
	number->ctx = init.ctx = cert_ctx_new(node, RI_OBJECT_QP);
	init.ird = MIN(4, node->attr.max_ird);
	init.ord = MIN(4, node->attr.max_ord);
	CERT_VERB(node->cert, RI_SUCCESS,
		  node->p->qp->create(node->pd, &init, NULL, NULL, NULL, &number->qp, &map));
}

static void
number_free(struct number *number)
{
	CERT_VERB(number->node->cert, RI_SUCCESS, number->node->p->qp->destroy(number->qp));
	cert_ctx_gone(number->node, number->ctx);
}

static enum ri_qp_state
state_of(const struct number *number)
{
	struct ri_qp_attr attr = {0};

	CERT_VERB(number->node->cert, RI_SUCCESS, number->node->p->qp->query(number->qp, &attr));
	return (enum ri_qp_state)attr.state;
}

/* Two queue pairs of the application, the numbers that stand for them, and a listener of the far side. */
struct scene {
	struct pair pair;
	struct number near, far;
	struct ri_service service;
	struct ri_listen *listen;
	uint64_t ctx;
};

static void
scene_open(struct scene *scene, struct cert *cert)
{
	struct cert_node *far;

	pair_open(&scene->pair, cert, NULL);
	far = scene->pair.far;
	number_new(&scene->near, scene->pair.near, cert_end_attr(scene->pair.a).qpn);
	number_new(&scene->far, far, cert_end_attr(scene->pair.b).qpn);
	scene->service = cert_service(far);
	scene->ctx = cert_ctx_new(far, RI_OBJECT_LISTEN);
	CERT_VERB(cert, RI_SUCCESS,
		  far->p->cm->listen(far->context, scene->ctx, 0, &scene->service, 4,
				     &scene->listen));
	CERT_UINT(cert, state_of(&scene->near), ==, RI_QPS_IDLE);
}

static struct ri_cm_params
params_of(struct scene *scene, struct cert_node *peer)
{
	return (struct ri_cm_params){.peer = cert_address(peer),
				     .service = scene->service,
				     .ird = MIN(2, peer->attr.max_ird),
				     .ord = MIN(2, peer->attr.max_ord),
				     .ird_ord = peer->attr.ird_ord_exchange,
				     .deadline = RI_NEVER};
}

/* The request of the near number. */
static struct ri_cm_event
begin(struct scene *scene)
{
	struct ri_cm_params params = params_of(scene, scene->pair.far);

	CERT_VERB(scene->pair.cert, RI_SUCCESS,
		  scene->near.node->p->cm->connect(scene->near.qp, &params));
	return cert_cm(scene->pair.far, RI_CM_REQUEST, scene->ctx);
}

static void
scene_close(struct scene *scene)
{
	CERT_VERB_VOID(scene->pair.cert, scene->pair.far->p->cm->listen_destroy(scene->listen));
	cert_ctx_gone(scene->pair.far, scene->ctx);
	number_free(&scene->near);
	number_free(&scene->far);
}

/* What the peer tells, as far as the adapter can do it. */
static struct ri_peer
within_limits(const struct ri_peer *reach, const struct ri_rnic_attr *attr)
{
	struct ri_peer peer = *reach;

	peer.ird = MIN(peer.ird, attr->max_ird);
	peer.ord = MIN(peer.ord, attr->max_ord);
	return peer;
}

/* ri_cm_event::reach suffices to bring the queue pairs up. They outlive the connection of the numbers. */
static void
reached(struct cert *cert)
{
	struct ri_cm_event request, up;
	struct ri_cm_params params;
	struct scene scene;
	struct pair *pair = &scene.pair;
	struct ri_peer to_a, to_b;

	scene_open(&scene, cert);
	request = begin(&scene);
	CERT_UINT(cert, request.reach.qpn, ==, cert_end_attr(pair->a).qpn);
	to_a = within_limits(&request.reach, cert_attr(cert));
	peer_receive(pair->b, &to_a);
	params = params_of(&scene, pair->near);
	CERT_VERB(cert, RI_SUCCESS,
		  pair->far->p->cm->accept(request.request, scene.far.qp, &params));
	up = cert_cm(pair->near, RI_CM_ESTABLISHED, scene.near.ctx);
	CERT_UINT(cert, up.reach.qpn, ==, cert_end_attr(pair->b).qpn);
	CERT_UINT(cert, up.reach.rq_psn, ==, request.reach.sq_psn);
	CERT_UINT(cert, up.reach.sq_psn, ==, request.reach.rq_psn);
	CERT_UINT(cert, up.reach.path_mtu, ==, request.reach.path_mtu);
	cert_cm(pair->far, RI_CM_ESTABLISHED, scene.far.ctx);
	CERT_UINT(cert, state_of(&scene.near), ==, RI_QPS_RTS);
	CERT_UINT(cert, state_of(&scene.far), ==, RI_QPS_RTS);
	to_b = within_limits(&up.reach, cert_attr(cert));
	peer_receive(pair->a, &to_b);
	peer_send(pair->a, &to_b);
	peer_send(pair->b, &to_a);
	for (unsigned i = 0; i < 2; i++) {
		cert_fill(pair->from->at, 64, i);
		cert_post_recv(pair->b, 1, &pair->sink, 1);
		cert_post_send(pair->a, 2, &pair->source, 1, 0);
		cert_wc_is(pair->b, true, 1, RI_WC_SUCCESS);
		cert_wc_is(pair->a, false, 2, RI_WC_SUCCESS);
		cert_expect_fill(cert, "what arrived", pair->into->at, 64, i);
		if (i == 0) {
			cert_note(cert, "the numbers part; their queue pairs do not");
			CERT_VERB(cert, RI_SUCCESS,
				  pair->near->p->cm->disconnect(scene.near.qp, NULL, 0));
			cert_cm(pair->far, RI_CM_DISCONNECTED, scene.far.ctx);
			cert_cm(pair->near, RI_CM_DISCONNECTED, scene.near.ctx);
			CERT_UINT(cert, cert_end_attr(pair->a).state, ==, RI_QPS_RTS);
			CERT_UINT(cert, cert_end_attr(pair->b).state, ==, RI_QPS_RTS);
		}
	}
	scene_close(&scene);
}

static void
rejected(struct cert *cert)
{
	struct ri_cm_event request;
	struct scene scene RI_AT_END(scene_close);

	scene_open(&scene, cert);
	request = begin(&scene);
	CERT_UINT(cert, state_of(&scene.near), ==, RI_QPS_CONNECTING);
	CERT_VERB(cert, RI_SUCCESS,
		  scene.pair.far->p->cm->reject(request.request, RI_CM_REASON_CONSUMER, NULL, 0));
	cert_cm(scene.pair.near, RI_CM_REJECTED, scene.near.ctx);
	CERT_UINT(cert, state_of(&scene.near), ==, RI_QPS_ERROR);
	CERT_UINT(cert, cert_end_attr(scene.pair.a).state, ==, RI_QPS_IDLE);
}

static void
not_claimed(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct ri_qp_init init = {.type = RI_QP_NUMBER, .qkey = 5};
	struct ri_qp *qp = NULL;
	struct ri_map map;

	if (cert_provider_raw(cert)->abi_minor < 7) {
		cert_skip(cert, "the provider is of a version without that type");
		return;
	}
	init.ctx = cert_ctx_new(node, RI_OBJECT_QP);
	CERT_VERB(cert, RI_ERR_UNSUPPORTED,
		  node->p->qp->create(node->pd, &init, NULL, NULL, NULL, &qp, &map));
}

static const struct cert_case cases[] = {
	{.id = "verbs.number.connect.0001",
	 .title = "Two numbers connect, and their events tell what the queue pairs of the "
		  "application need",
	 .rule = "[RI 10.54] [RI 11.6.4]",
	 .needs = "cm_number",
	 .settles = "cm_number",
	 .run = reached},
	{.id = "verbs.number.connect.0002",
	 .title = "A number that is rejected is in ERROR, and its queue pair is not touched",
	 .rule = "[RI 10.54]",
	 .needs = "cm_number",
	 .run = rejected},
	{.id = "verbs.number.absent.0001",
	 .title = "Without the claim no number can be created",
	 .rule = "[RI 10.54] [RI 2.2.2]",
	 .needs = "!cm_number",
	 .settles = "cm_number",
	 .run = not_claimed},
};

CERT_SET(verbs_number, cases);
