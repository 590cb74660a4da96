/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Shared receive queues: what may be created. */

#include "verbs_pair.h"

static void
sizes(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	const struct ri_rnic_attr *attr = cert_attr(cert);
	struct ri_srq_attr wanted;
	struct ri_srq *srq = NULL;
	struct ri_map map;
	const struct {
		uint32_t max_wr, max_sge, limit;
		enum ri_status expected;
	} rows[] = {
		{1, 1, 0, RI_SUCCESS},
		{attr->max_srq_wr, 1, 0, RI_SUCCESS},
		{attr->max_srq_wr + 1, 1, 0, RI_ERR_LIMIT},
		{1, attr->max_recv_sge, 0, RI_SUCCESS},
		{1, attr->max_recv_sge + 1, 0, RI_ERR_LIMIT},
		{0, 1, 0, RI_ERR_INVALID_ARG},
		{4, 1, 5, RI_ERR_INVALID_ARG},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		if (rows[i].limit != 0 && !attr->srq_limit)
			continue;
		cert_note(cert, "%u receives of %u segments, limit %u", rows[i].max_wr,
			  rows[i].max_sge, rows[i].limit);
		wanted = (struct ri_srq_attr){.ctx = 1,
					      .max_wr = rows[i].max_wr,
					      .max_sge = rows[i].max_sge,
					      .limit = rows[i].limit};
		CERT_VERB(cert, rows[i].expected,
			  node->p->srq->create(node->pd, &wanted, &srq, &map));
		if (rows[i].expected != RI_SUCCESS)
			continue;
		CERT_UINT(cert, wanted.max_wr, >=, rows[i].max_wr);
		CERT_UINT(cert, wanted.max_sge, >=, rows[i].max_sge);
		CERT_VERB(cert, RI_SUCCESS, node->p->srq->destroy(srq));
	}
}

static void
not_claimed(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct ri_srq_attr attr = {.ctx = 1, .max_wr = 1, .max_sge = 1};
	struct ri_srq *srq = NULL;
	struct ri_map map;

	CERT_TRUE(cert, node->p->srq->create(node->pd, &attr, &srq, &map) != RI_SUCCESS);
}

static const struct cert_case cases[] = {
	{.id = "verbs.srq.size.0001",
	 .title =
		 "A shared receive queue of each size at its limit can be created, and none beyond",
	 .rule = "[RI 2.2.2] [RI 10.17]",
	 .needs = "srq",
	 .settles = "max_srq_wr",
	 .run = sizes},
	{.id = "verbs.srq.refuse.0001",
	 .title = "A shared receive queue is refused where none is claimed",
	 .rule = "[RI 10.17]",
	 .needs = "!srq",
	 .settles = "srq max_srq max_srq_wr",
	 .run = not_claimed},
};

CERT_SET(verbs_srq_size, cases);
