/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef VERBS_SHARED_H
#define VERBS_SHARED_H

/**
 * @file verbs_shared.h
 * @brief An end whose queue pair takes its receives from a shared receive queue of its own.
 */

#include "verbs_pair.h"

/* The frame knows nothing of the queue pair and of the shared queue: shared_free() destroys them. */
struct shared {
	struct cert_end end;
	struct ri_srq *srq;
	struct ri_usrq *usrq;
	struct ri_srq_attr attr; /* as reported by the creation */
	uint64_t ctx;            /* of the shared queue */
};

static inline void
shared_cq(struct cert_node *node, uint64_t *ctx, uint32_t entries, struct ri_cq **cq,
	  struct ri_ucq **ucq)
{
	struct ri_map map;

	*ctx = cert_ctx_new(node, RI_OBJECT_CQ);
	CERT_VERB(node->cert, RI_SUCCESS,
		  node->p->cq->create(node->context, *ctx, &entries, cq, &map));
	CERT_VERB(node->cert, RI_SUCCESS, node->p->user->cq_open(node->urnic, &map, ucq));
}

/* An end with queues of its own, whose queue pair takes its receives from that shared queue. */
static inline void
shared_end_new(struct cert_end *end, struct cert_node *node, const struct ri_qp_init *init,
	       uint32_t entries, struct ri_srq *srq, struct ri_usrq *usrq)
{
	const struct ri_provider *p = node->p;
	struct ri_map map;

	*end = (struct cert_end){.node = node, .init = *init};
	end->ctx = end->init.ctx = cert_ctx_new(node, RI_OBJECT_QP);
	shared_cq(node, &end->scq_ctx, entries, &end->scq, &end->uscq);
	shared_cq(node, &end->rcq_ctx, entries, &end->rcq, &end->urcq);
	CERT_VERB(node->cert, RI_SUCCESS,
		  p->qp->create(node->pd, &end->init, end->scq, end->rcq, srq, &end->qp, &map));
	CERT_VERB(node->cert, RI_SUCCESS,
		  p->user->qp_open(node->urnic, &map, end->uscq, end->urcq, usrq, &end->uqp));
}

/* A queue pair with the completion queues of another end; the frame knows nothing of it: cert_end_drop() destroys it. */
static inline void
shared_guest(struct cert_end *guest, struct cert_end *host)
{
	struct cert_node *node = host->node;
	struct ri_map map;

	*guest = *host;
	guest->init = cert_end_defaults(node);
	guest->ctx = guest->init.ctx = cert_ctx_new(node, RI_OBJECT_QP);
	CERT_VERB(node->cert, RI_SUCCESS,
		  node->p->qp->create(node->pd, &guest->init, guest->scq, guest->rcq, NULL,
				      &guest->qp, &map));
	CERT_VERB(node->cert, RI_SUCCESS,
		  node->p->user->qp_open(node->urnic, &map, guest->uscq, guest->urcq, NULL,
					 &guest->uqp));
}

static inline void
shared_end_free(struct cert_end *end)
{
	const struct ri_provider *p = end->node->p;
	struct cert *cert = end->node->cert;

	cert_end_drop(end);
	CERT_VERB_VOID(cert, p->user->cq_close(end->uscq));
	CERT_VERB_VOID(cert, p->user->cq_close(end->urcq));
	CERT_VERB(cert, RI_SUCCESS, p->cq->destroy(end->scq));
	CERT_VERB(cert, RI_SUCCESS, p->cq->destroy(end->rcq));
	cert_ctx_gone(end->node, end->scq_ctx);
	cert_ctx_gone(end->node, end->rcq_ctx);
}

static inline void
shared_new(struct shared *shared, struct cert_node *node, const struct ri_qp_init *init,
	   uint32_t slots)
{
	const struct ri_provider *p = node->p;
	struct cert *cert = node->cert;
	struct ri_map map;

	shared->ctx = cert_ctx_new(node, RI_OBJECT_SRQ);
	shared->attr = (struct ri_srq_attr){
		.ctx = shared->ctx, .max_wr = slots, .max_sge = init->max_recv_sge};
	CERT_VERB(cert, RI_SUCCESS, p->srq->create(node->pd, &shared->attr, &shared->srq, &map));
	CERT_VERB(cert, RI_SUCCESS, p->user->srq_open(node->urnic, &map, &shared->usrq));
	shared_end_new(&shared->end, node, init, MIN(slots * 2 + 2, node->attr.max_cqe),
		       shared->srq, shared->usrq);
}

static inline void
shared_free(struct shared *shared)
{
	struct cert_node *node = shared->end.node;

	shared_end_free(&shared->end);
	CERT_VERB_VOID(node->cert, node->p->user->srq_close(shared->usrq));
	CERT_VERB(node->cert, RI_SUCCESS, node->p->srq->destroy(shared->srq));
	cert_ctx_gone(node, shared->ctx);
}

/* A receive of the shared queue; NULL: of the end's own. */
static inline void
shared_post(struct shared *shared, struct cert_end *end, const struct ri_recv_wr *wr)
{
	const struct ri_fast_ops *fast = end->node->p->fast;

	CERT_FAST(end->node->cert, RI_SUCCESS,
		  shared != NULL ? fast->post_srq(shared->usrq, wr) : fast->post_rq(end->uqp, wr));
}

#endif /* VERBS_SHARED_H */
