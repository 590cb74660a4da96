/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Two ends that a test connects by attributes, in virtual time, for test-emul-peer.c and test-emul-uc.c. */
#ifndef VEM_PAIRS_H
#define VEM_PAIRS_H

#include <string.h>

#include "vem_dgram.h"

#define PSN_A 0xfffff0u
#define PSN_B 7u
#define MS    UINT64_C(1000000)

struct pair {
	struct vth *vth;
	struct node *na, *nb; /* may be one */
	struct end *a, *b;
	struct chunk ma, mb;
	struct ri_peer to_a, to_b; /* as b and a use them */
};

static inline struct ri_peer
peer_params(struct end *far, uint32_t rq_psn, uint32_t sq_psn)
{
	return (struct ri_peer){
		.path = {.dest = {.family = RI_ADDR_IPV4, .octets = {127, 0, 0, 1}}},
		.qpn = qpn_of(far),
		.rq_psn = rq_psn,
		.path_mtu = 1024,
		.ird = 4,
		.min_rnr_timer = 12, /* 0.64 ms */
		.sq_psn = sq_psn,
		.ord = 4,
		.timeout = 8, /* 1.05 ms */
		.retry_count = 3,
		.rnr_retry = 7,
	};
}

static inline enum ri_status
peer_receive(struct end *end, const struct ri_peer *peer)
{
	return emul()->peer->receive(end->qp, peer);
}

static inline enum ri_status
peer_send(struct end *end, const struct ri_peer *peer)
{
	return emul()->peer->send(end->qp, peer);
}

static inline struct end *
end_of_type(struct node *node, enum ri_qp_type type)
{
	struct ri_qp_init init = end_defaults(node);

	init.type = type;
	init.max_inline = 64;
	return end_new(node, &init);
}

static inline void
pair_open(struct pair *p, enum ri_qp_type type, bool one_adapter)
{
	memset(p, 0, sizeof(*p));
	p->vth = vth_new(false);
	p->na = node_new(p->vth, false, "emul:ib");
	p->nb = one_adapter ? p->na : node_new(p->vth, false, "emul:ib");
	p->a = end_of_type(p->na, type);
	p->b = end_of_type(p->nb, type);
	p->ma = chunk_new(p->na, 8192, ALL_RW | RI_ACCESS_REMOTE_ATOMIC);
	p->mb = chunk_new(p->nb, 8192, ALL_RW | RI_ACCESS_REMOTE_ATOMIC);
	chunk_fill(&p->ma, 3);
	p->to_b = peer_params(p->b, PSN_B, PSN_A);
	p->to_a = peer_params(p->a, PSN_A, PSN_B);
}

static inline void
pair_up(struct pair *p)
{
	g_assert_cmpint(peer_receive(p->a, &p->to_b), ==, RI_SUCCESS);
	g_assert_cmpint(peer_receive(p->b, &p->to_a), ==, RI_SUCCESS);
	g_assert_cmpint(peer_send(p->a, &p->to_b), ==, RI_SUCCESS);
	g_assert_cmpint(peer_send(p->b, &p->to_a), ==, RI_SUCCESS);
	vth_run(p->vth);
	g_assert_cmpint(end_state(p->a), ==, RI_QPS_RTS);
	g_assert_cmpint(end_state(p->b), ==, RI_QPS_RTS);
}

/* No event is left that the test has not taken. */
static inline void
pair_close(struct pair *p)
{
	vth_run(p->vth);
	end_free(&p->a);
	if (p->b != NULL)
		end_free(&p->b);
	chunk_free(&p->ma);
	chunk_free(&p->mb);
	if (p->nb != p->na)
		node_free(&p->nb);
	node_free(&p->na);
	g_assert_cmpuint(vth_attached(p->vth), ==, 0);
	vth_free(&p->vth);
}

/* A message of `len` octets from a to b, which arrives. */
static inline void
pair_talk(struct pair *p, uint64_t id, uint32_t len)
{
	g_assert_cmpint(end_recv(p->b, id, &p->mb, 0, len), ==, RI_SUCCESS);
	g_assert_cmpint(end_send(p->a, id, &p->ma, 0, len), ==, RI_SUCCESS);
	vth_run(p->vth);
	poll_one(p->a->uscq, id, RI_WC_SUCCESS);
	g_assert_cmpuint(poll_one(p->b->urcq, id, RI_WC_SUCCESS).byte_len, ==, len);
	g_assert_cmpmem(p->mb.at, len, p->ma.at, len);
}

#endif /* VEM_PAIRS_H */
