/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef VERBS_PEER_H
#define VERBS_PEER_H

/**
 * @file verbs_peer.h
 * @brief Queue pairs that a case brings up itself, by ri_peer_ops [RI 11.6.4].
 */

#include "verbs_pair.h"

#define PEER_PSN 0x00f00fu /* of the first packet; each end begins at another one */

/* What @p end must know of @p other. Packets of an end begin at a number made of that of its queue pair. */
static inline struct ri_peer
peer_of(struct cert_end *end, struct cert_end *other)
{
	uint32_t own = cert_end_attr(end).qpn, qpn = cert_end_attr(other).qpn;

	return (struct ri_peer){.path = {.dest = cert_address(other->node)},
				.qpn = qpn,
				.rq_psn = (PEER_PSN + qpn * 77) & 0xffffff,
				.path_mtu = 1024,
				.ird = end->init.ird,
				.min_rnr_timer = 1,
				.sq_psn = (PEER_PSN + own * 77) & 0xffffff,
				.ord = MIN(end->init.ord, other->init.ird),
				.timeout = 14,
				.retry_count = 7,
				.rnr_retry = 7};
}

static inline void
peer_receive(struct cert_end *end, const struct ri_peer *peer)
{
	CERT_VERB(end->node->cert, RI_SUCCESS, end->node->p->peer->receive(end->qp, peer));
	CERT_UINT(end->node->cert, cert_end_attr(end).state, ==, RI_QPS_CONNECTING);
}

static inline void
peer_send(struct cert_end *end, const struct ri_peer *peer)
{
	CERT_VERB(end->node->cert, RI_SUCCESS, end->node->p->peer->send(end->qp, peer));
	CERT_UINT(end->node->cert, cert_end_attr(end).state, ==, RI_QPS_RTS);
}

static inline void
peer_up(struct cert_end *a, struct cert_end *b)
{
	struct ri_peer to_b = peer_of(a, b), to_a = peer_of(b, a);

	peer_receive(a, &to_b);
	peer_receive(b, &to_a);
	peer_send(a, &to_b);
	peer_send(b, &to_a);
}

/* The end of such a queue pair: one event that ends it, no event of a connection, ERROR. */
static inline void
peer_ended(struct cert_end *end)
{
	struct cert *cert = end->node->cert;
	gint64 until = 0;

	while (cert_async_ends(end->node, end->ctx) == 0)
		CERT_TRUE(cert, cert_patience(cert, &until));
	CERT_UINT(cert, cert_end_attr(end).state, ==, RI_QPS_ERROR);
	for (unsigned i = 0; i < 20; i++)
		cert_progress(cert);
	CERT_UINT(cert, cert_async_ends(end->node, end->ctx), ==, 1);
	for (int kind = RI_CM_NONE + 1; kind < RI_CM_KIND_COUNT; kind++)
		CERT_UINT(cert, cert_cm_count(end->node, (enum ri_cm_event_kind)kind, end->ctx), ==,
			  0);
}

/* Attributes of a queue pair for an unreliable connection, which has no Reads. */
static inline struct ri_qp_init
uc_init(const struct cert_node *node)
{
	struct ri_qp_init init = cert_end_defaults(node);

	init.type = RI_QP_UC;
	init.max_read_sge = 0;
	init.ird = init.ord = 0;
	init.access = RI_ACCESS_REMOTE_WRITE;
	return init;
}

#endif /* VERBS_PEER_H */
