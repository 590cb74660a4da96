/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef VERBS_LINE_H
#define VERBS_LINE_H

#include "verbs_shared.h"

/* A shared queue of one end, and an end that sends to it. */
struct line {
	struct cert *cert;
	struct cert_node *near, *far;
	struct cert_end *a;
	struct shared shared;
	struct cert_region *from, *into;
};

/* The queue has room for 8 receives, or for as many as the adapter allows; shared_free() frees it. */
static inline void
line_open(struct line *line, struct cert *cert)
{
	struct ri_qp_init init;

	line->cert = cert;
	line->near = cert_node_open(cert);
	line->far = cert_node_open(cert);
	line->from = cert_region_new(line->near, 64, CERT_ALL);
	line->into = cert_region_new(line->far, 64, CERT_ALL);
	line->a = cert_end_new(line->near, NULL);
	init = cert_end_defaults(line->far);
	shared_new(&line->shared, line->far, &init, MIN(8, line->far->attr.max_srq_wr));
	cert_connect(line->a, &line->shared.end);
}

/* Post receives. */
static inline void
line_supply(struct line *line, unsigned count)
{
	struct ri_sge sink = cert_sge(line->into, 0, 64);

	for (unsigned i = 0; i < count; i++)
		CERT_FAST(line->cert, RI_SUCCESS,
			  line->far->p->fast->post_srq(
				  line->shared.usrq,
				  &(struct ri_recv_wr){.wr_id = i, .sgl = &sink, .num_sge = 1}));
}

/* Take receives by Sends of @p a, which complete in the queues of @p b. */
static inline void
line_consume(struct line *line, struct cert_end *a, struct cert_end *b, unsigned count)
{
	struct ri_sge source = cert_sge(line->from, 0, 32);

	for (unsigned i = 0; i < count; i++) {
		cert_post_send(a, i, &source, 1, 0);
		cert_wc_is(a, false, i, RI_WC_SUCCESS);
		CERT_UINT(line->cert, cert_wc(b, true).status, ==, RI_WC_SUCCESS);
	}
}

#endif /* VERBS_LINE_H */
