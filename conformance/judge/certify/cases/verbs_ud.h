/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef VERBS_UD_H
#define VERBS_UD_H

/**
 * @file verbs_ud.h @brief The fixture of cases of datagrams: two ends in two opened adapters, and
 * an address handle from one to the other.
 *
 * Both ends are on one adapter, and a receive is posted before each datagram that must arrive. So a datagram that does
 * not arrive is a fault, although datagrams may be lost on their way through a network.
 */

#include <string.h>

#include "cert_node.h"
#include "ri_at_end.h"

#define UD_KEY  0x01234567u
#define UD_GRH  40u   /* bytes in front of the data of each receive */
#define UD_ROOM 1024u /* bytes of memory of each side, beside those of the longest datagram */

struct mail {
	struct cert *cert;
	struct cert_node *near, *far;
	struct cert_end *a, *b;          /* of near and far */
	struct cert_region *from, *into; /* of near and far */
	struct ri_ah *ah;                /* of near, leads to far */
	struct ri_wr_ud to;              /* b, with its key */
	uint32_t limit;                  /* octets of a datagram */
};

static inline struct ri_qp_init
ud_init(const struct cert_node *node)
{
	struct ri_qp_init init = cert_end_defaults(node);

	init.type = RI_QP_UD;
	init.qkey = UD_KEY;
	init.max_write_sge = init.max_read_sge = 0;
	init.ird = init.ord = 0;
	init.access = 0;
	return init;
}

/* Between two adapters, or two queue pairs of one. */
static inline void
mail_open_on(struct mail *mail, struct cert *cert, struct cert_node *near, struct cert_node *far)
{
	struct ri_qp_init init;
	struct ri_ah_init way = {0};

	mail->cert = cert;
	mail->near = near;
	mail->far = far;
	mail->limit = mail->near->attr.max_ud_message;
	init = ud_init(mail->near);
	mail->a = cert_end_new(mail->near, &init);
	mail->b = cert_end_new(mail->far, &init);
	mail->from = cert_region_new(mail->near, mail->limit + UD_ROOM, CERT_ALL);
	mail->into = cert_region_new(mail->far, mail->limit + UD_ROOM, CERT_ALL);
	way.dest = cert_address(mail->far);
	CERT_VERB(cert, RI_SUCCESS,
		  mail->near->p->ah->create(mail->near->pd, &way, &mail->ah, &mail->to.ah));
	mail->to.qpn = cert_end_attr(mail->b).qpn;
	mail->to.qkey = UD_KEY;
}

static inline void
mail_open(struct mail *mail, struct cert *cert)
{
	struct cert_node *near = cert_node_open(cert);

	mail_open_on(mail, cert, near, cert_node_open(cert));
}

static inline struct ri_wr
mail_wr(uint64_t id, const struct ri_sge *sge, const struct ri_wr_ud *to)
{
	return (struct ri_wr){.wr_id = id,
			      .opcode = RI_OP_SEND_UD,
			      .sgl = sge,
			      .num_sge = 1,
			      .flags = RI_WR_SIGNALED,
			      .u.ud = *to};
}

/* Send a datagram from mail::a and take the completion of the send. */
static inline void
mail_send_to(struct mail *mail, uint64_t id, uint32_t length, const struct ri_wr_ud *to)
{
	struct ri_sge sge = cert_sge(mail->from, 0, length);
	struct ri_wr wr = mail_wr(id, &sge, to);
	struct ri_wc wc;

	cert_post(mail->a, &wr);
	wc = cert_wc_is(mail->a, false, id, RI_WC_SUCCESS);
	CERT_UINT(mail->cert, wc.opcode, ==, RI_OP_SEND_UD);
}

static inline void
mail_send(struct mail *mail, uint64_t id, uint32_t length)
{
	mail_send_to(mail, id, length, &mail->to);
}

/* A receive of b for datagrams of up to @p length octets. */
static inline void
mail_offer(struct mail *mail, uint64_t id, uint32_t length)
{
	struct ri_sge sge = cert_sge(mail->into, 0, UD_GRH + length);

	cert_post_recv(mail->b, id, &sge, 1);
}

/* A datagram of @p length octets has come to that receive. */
static inline struct ri_wc
mail_arrives(struct mail *mail, uint64_t id, uint32_t length)
{
	struct ri_wc wc = cert_wc_is(mail->b, true, id, RI_WC_SUCCESS);

	CERT_UINT(mail->cert, wc.opcode, ==, RI_OP_RECV_UD);
	CERT_UINT(mail->cert, wc.byte_len, ==, UD_GRH + length);
	CERT_UINT(mail->cert, wc.flags & RI_WC_RECEIVE, ==, RI_WC_RECEIVE);
	CERT_UINT(mail->cert, wc.src_qpn, ==, cert_end_attr(mail->a).qpn);
	return wc;
}

/* Nothing remote is an error: neither end has failed. */
static inline void
mail_undisturbed(struct mail *mail)
{
	CERT_UINT(mail->cert, cert_end_attr(mail->a).state, ==, RI_QPS_RTS);
	CERT_UINT(mail->cert, cert_end_attr(mail->b).state, ==, RI_QPS_RTS);
	CERT_UINT(mail->cert, cert_async_count(mail->near, RI_EVENT_NONE, mail->a->ctx), ==, 0);
	CERT_UINT(mail->cert, cert_async_count(mail->far, RI_EVENT_NONE, mail->b->ctx), ==, 0);
}

/* The end of a queue pair for datagrams, which is told once. */
static inline void
mail_ended(struct cert_end *end)
{
	struct cert *cert = end->node->cert;
	gint64 until = 0;

	while (cert_async_ends(end->node, end->ctx) == 0)
		CERT_TRUE(cert, cert_patience(cert, &until));
	CERT_UINT(cert, cert_end_attr(end).state, ==, RI_QPS_ERROR);
}

#endif /* VERBS_UD_H */
