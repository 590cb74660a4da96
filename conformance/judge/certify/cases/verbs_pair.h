/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef VERBS_PAIR_H
#define VERBS_PAIR_H

/**
 * @file verbs_pair.h @brief The fixture of most cases of verbs: two ends in two opened adapters,
 * each with memory.
 */

#include "cert_node.h"
#include "ri_at_end.h"

#define VERBS_MEMORY 4096u /* bytes of each side */

struct pair {
	struct cert *cert;
	struct cert_node *near, *far;
	struct cert_end *a, *b;          /* of near and far */
	struct cert_region *from, *into; /* of near and far */
	struct ri_sge source, sink;      /* the first 64 bytes of these */
};

/* @p init NULL: the defaults. Not connected. */
static inline void
pair_open(struct pair *pair, struct cert *cert, const struct ri_qp_init *init)
{
	pair->cert = cert;
	pair->near = cert_node_open(cert);
	pair->far = cert_node_open(cert);
	pair->a = cert_end_new(pair->near, init);
	pair->b = cert_end_new(pair->far, init);
	pair->from = cert_region_new(pair->near, VERBS_MEMORY, CERT_ALL);
	pair->into = cert_region_new(pair->far, VERBS_MEMORY, CERT_ALL);
	pair->source = cert_sge(pair->from, 0, 64);
	pair->sink = cert_sge(pair->into, 0, 64);
}

static inline void
pair_connected(struct pair *pair, struct cert *cert)
{
	pair_open(pair, cert, NULL);
	cert_connect(pair->a, pair->b);
}

/* Are requests refused as long as there is no connection? */
static inline bool
pair_refuses(const struct cert *cert)
{
	return (cert_attr(cert)->refuses & RI_REFUSES_UNCONNECTED_REQUESTS) != 0;
}

/* In IDLE, or connected if the adapter refuses requests in IDLE: then it may do so without looking at them. */
static inline void
pair_looking_at_requests(struct pair *pair, struct cert *cert)
{
	pair_open(pair, cert, NULL);
	if (pair_refuses(cert))
		cert_connect(pair->a, pair->b);
}

#endif /* VERBS_PAIR_H */
