/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Queue pairs that are brought up by attributes, and multicast groups, when memory runs out. */

#include "verbs_peer.h"
#include "verbs_scarce.h"
#include "verbs_ud.h"

struct scene {
	struct cert *cert;
	struct cert_node *node;
	struct cert_end *a, *b;
	struct ri_peer peer;
	struct ri_addr group;
};

static void
scene_open(struct scene *scene, struct cert *cert)
{
	*scene = (struct scene){.cert = cert, .node = cert_node_open(cert)};
}

/* --- by attributes ----------------------------------------------------------------------------- */

static void
receive_prepare(struct scene *scene)
{
	scene->a = cert_end_new(scene->node, NULL);
	scene->b = cert_end_new(scene->node, NULL);
	scene->peer = peer_of(scene->a, scene->b);
}

static enum ri_status
receive_try(struct scene *scene)
{
	return scene->node->p->peer->receive(scene->a->qp, &scene->peer);
}

static void
ends_undo(struct scene *scene)
{
	cert_end_free(scene->a);
	cert_end_free(scene->b);
	scene->a = scene->b = NULL;
}

static void
receive_check(struct scene *scene)
{
	CERT_UINT(scene->cert, cert_end_attr(scene->a).state, ==, RI_QPS_IDLE);
}

static void
send_prepare(struct scene *scene)
{
	receive_prepare(scene);
	peer_receive(scene->a, &scene->peer);
}

static enum ri_status
send_try(struct scene *scene)
{
	return scene->node->p->peer->send(scene->a->qp, &scene->peer);
}

static void
send_check(struct scene *scene)
{
	CERT_UINT(scene->cert, cert_end_attr(scene->a).state, ==, RI_QPS_CONNECTING);
}

static void
by_attributes(struct cert *cert)
{
	static const struct scarce steps[] = {
		{"ri_peer_ops::receive", receive_prepare, receive_try, ends_undo, receive_check},
		{"ri_peer_ops::send", send_prepare, send_try, ends_undo, send_check},
	};

	if (!scarce_can(cert))
		return;
	for (size_t i = 0; i < G_N_ELEMENTS(steps); i++) {
		struct scene scene;

		scene_open(&scene, cert);
		scarce_sweep(cert, &steps[i], &scene);
		ends_undo(&scene);
	}
}

/* --- groups ------------------------------------------------------------------------------------ */

static enum ri_status
attach_try(struct scene *scene)
{
	return scene->node->p->qp->mcast_attach(scene->a->qp, &scene->group);
}

static void
attach_undo(struct scene *scene)
{
	CERT_VERB(scene->cert, RI_SUCCESS,
		  scene->node->p->qp->mcast_detach(scene->a->qp, &scene->group));
}

/* A failure has attached nothing. */
static void
attach_check(struct scene *scene)
{
	CERT_VERB(scene->cert, RI_ERR_INVALID_ARG,
		  scene->node->p->qp->mcast_detach(scene->a->qp, &scene->group));
}

static void
groups(struct cert *cert)
{
	static const struct scarce attach = {"ri_qp_ops::mcast_attach", NULL, attach_try,
					     attach_undo, attach_check};
	struct scene scene;
	struct ri_qp_init init;
	struct ri_addr address;

	if (!scarce_can(cert))
		return;
	scene_open(&scene, cert);
	address = cert_address(scene.node);
	init = ud_init(scene.node);
	scene.a = cert_end_new(scene.node, &init);
	scene.group = address.family == RI_ADDR_IPV4
			      ? (struct ri_addr){.family = RI_ADDR_IPV4, .octets = {239, 1, 2, 3}}
			      : (struct ri_addr){.family = address.family,
						 .octets = {0xff, 0x12, [15] = 9}};
	scarce_sweep(cert, &attach, &scene);
}

static const struct cert_case cases[] = {
	{.id = "verbs.scarce.peer.0001",
	 .title = "Bringing a queue pair up by attributes without memory fails whole",
	 .rule = "[RI 2.1.1] [RI 11.6.6] [RI 11.6.7]",
	 .needs = "cm_forms:RI_CM_PEER",
	 .run = by_attributes},
	{.id = "verbs.scarce.mcast.0001",
	 .title = "Attaching to a group without memory fails whole",
	 .rule = "[RI 2.1.1] [RI 10.52]",
	 .needs = "multicast",
	 .run = groups},
};

CERT_SET(verbs_scarce_peer, cases);
