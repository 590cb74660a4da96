/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Many attempts, one after another, over one listener and, where queue pairs can be reset, with the
 * same queue pairs. Nothing of an earlier attempt may remain: neither octets of its private data,
 * nor its deadline, nor receives of a shared queue that failed connections used.
 */

#include <string.h>

#include "cert_host.h"
#include "verbs_reset.h"
#include "verbs_shared.h"

struct attempts {
	struct cert *cert;
	const struct ri_cm_ops *cm;
	struct cert_node *near, *far;
	struct cert_end *a, *b;
	struct ri_service service;
	struct ri_listen *listen;
	uint64_t ctx;
};

static void
attempts_open(struct attempts *attempts, struct cert *cert)
{
	*attempts = (struct attempts){.cert = cert, .cm = cert_provider(cert)->cm};
	attempts->near = cert_node_open(cert);
	attempts->far = cert_node_open(cert);
	attempts->service = cert_service(attempts->far);
	attempts->ctx = cert_ctx_new(attempts->far, RI_OBJECT_LISTEN);
	CERT_VERB(cert, RI_SUCCESS,
		  attempts->cm->listen(attempts->far->context, attempts->ctx, 0, &attempts->service,
				       2, &attempts->listen));
	attempts->a = cert_end_new(attempts->near, NULL);
	attempts->b = cert_end_new(attempts->far, NULL);
}

/* Both ends for the next attempt. */
static void
renew(struct attempts *attempts)
{
	for (unsigned i = 0; i < 2; i++) {
		struct cert_end **end = i == 0 ? &attempts->a : &attempts->b;

		if (cert_end_attr(*end).state == RI_QPS_IDLE)
			continue;
		if (cert_attr(attempts->cert)->qp_reusable) {
			reset_end(*end);
		} else {
			cert_end_free(*end);
			*end = cert_end_new(i == 0 ? attempts->near : attempts->far, NULL);
		}
	}
	cert_events_forget(attempts->near);
	cert_events_forget(attempts->far);
}

static struct ri_cm_params
params_with(struct attempts *attempts, bool answer, const uint8_t *data, uint16_t length)
{
	struct ri_cm_params params =
		answer ? cert_params(attempts->b, attempts->near, &attempts->service)
		       : cert_params(attempts->a, attempts->far, &attempts->service);

	params.pdata = data;
	params.pdata_len = length;
	return params;
}

static void
expect_octets(struct attempts *attempts, const struct ri_cm_event *event, const uint8_t *data,
	      uint16_t length)
{
	cert_private_length(attempts->cert, event, length);
	CERT_BYTES(attempts->cert, event->pdata, data, length);
}

/* An attempt that is accepted or refused, with private data both ways. */
static void
exchange(struct attempts *attempts, uint16_t there, uint16_t back, bool accepted)
{
	uint8_t data[2][RI_PDATA_MAX];
	struct ri_cm_params params;
	struct ri_cm_event event;

	cert_note(attempts->cert, "%u octets there, %u back, %s", there, back,
		  accepted ? "accepted" : "refused");
	cert_fill(data[0], RI_PDATA_MAX, there + 1u);
	cert_fill(data[1], RI_PDATA_MAX, back + 1001u);
	params = params_with(attempts, false, data[0], there);
	CERT_VERB(attempts->cert, RI_SUCCESS, attempts->cm->connect(attempts->a->qp, &params));
	event = cert_cm(attempts->far, RI_CM_REQUEST, attempts->ctx);
	expect_octets(attempts, &event, data[0], there);
	if (!accepted) {
		CERT_VERB(
			attempts->cert, RI_SUCCESS,
			attempts->cm->reject(event.request, RI_CM_REASON_CONSUMER, data[1], back));
		event = cert_cm(attempts->near, RI_CM_REJECTED, attempts->a->ctx);
		expect_octets(attempts, &event, data[1], back);
		return;
	}
	params = params_with(attempts, true, data[1], back);
	CERT_VERB(attempts->cert, RI_SUCCESS,
		  attempts->cm->accept(event.request, attempts->b->qp, &params));
	event = cert_cm(attempts->near, RI_CM_ESTABLISHED, attempts->a->ctx);
	expect_octets(attempts, &event, data[1], back);
	cert_cm(attempts->far, RI_CM_ESTABLISHED, attempts->b->ctx);
	cert_disconnect(attempts->a, attempts->b);
}

static void
private_data(struct cert *cert)
{
	const struct ri_rnic_attr *attr = cert_attr(cert);
	struct attempts attempts;

	attempts_open(&attempts, cert);
	for (unsigned i = 0; i < 24; i++) {
		bool accepted = i % 4 < 2;
		uint16_t most = accepted ? attr->accept_pdata : attr->reject_pdata;
		uint16_t there = i % 3 == 0 ? attr->connect_pdata : MIN(i % 7, attr->connect_pdata);
		uint16_t back = i % 5 == 0 ? most : MIN(i % 6, most);

		exchange(&attempts, there, back, accepted);
		renew(&attempts);
	}
	CERT_VERB_VOID(cert, attempts.cm->listen_destroy(attempts.listen));
}

/* --- depths ------------------------------------------------------------------------------------------ */

#define DEPTHS 24u /* attempts */
#define READS  6u

/* More Reads than ORD wait for each other and succeed. */
static void
reads(struct cert_end *end, const struct cert_region *from, const struct cert_region *into)
{
	struct ri_sge near = cert_sge(from, 0, 16), far = cert_sge(into, 0, 16);

	for (unsigned i = 0; i < READS; i++)
		cert_post_rdma(end, RI_OP_RDMA_READ, i, &near, &far);
	for (unsigned i = 0; i < READS; i++)
		cert_wc_is(end, false, i, RI_WC_SUCCESS);
}

static void
depths_are(struct cert_end *end, uint32_t ird, uint32_t ord)
{
	struct ri_qp_attr attr = cert_end_attr(end);

	CERT_UINT(end->node->cert, attr.ird, ==, ird);
	CERT_UINT(end->node->cert, attr.ord, ==, ord);
}

/* What the sides tell, or else what they had; the side that connects asks for no more than its peer serves. */
static void
depths_once(struct attempts *attempts, const struct cert_region *from,
	    const struct cert_region *into)
{
	const struct ri_rnic_attr *attr = cert_attr(attempts->cert);
	struct ri_qp_attr a = cert_end_attr(attempts->a), b = cert_end_attr(attempts->b);
	bool told = !attr->ird_ord_suppressible || cert_random_below(attempts->cert, 4) > 0;
	struct ri_cm_params params = params_with(attempts, false, NULL, 0);
	struct ri_cm_event event;

	params.ird_ord = told;
	if (told) {
		a.ird = params.ird = cert_random_below(attempts->cert, MIN(attr->max_ird, 9) + 1);
		a.ord = params.ord = cert_random_below(attempts->cert, MIN(attr->max_ord, 9) + 1);
	}
	CERT_VERB(attempts->cert, RI_SUCCESS, attempts->cm->connect(attempts->a->qp, &params));
	event = cert_cm(attempts->far, RI_CM_REQUEST, attempts->ctx);
	params = params_with(attempts, true, NULL, 0);
	params.ird_ord = told;
	if (told) {
		b.ird = params.ird = cert_random_below(attempts->cert, MIN(attr->max_ird, 9) + 1);
		b.ord = params.ord =
			cert_random_below(attempts->cert, MIN(a.ird, attr->max_ord) + 1);
		a.ord = MIN(a.ord, b.ird);
	}
	CERT_VERB(attempts->cert, RI_SUCCESS,
		  attempts->cm->accept(event.request, attempts->b->qp, &params));
	cert_cm(attempts->near, RI_CM_ESTABLISHED, attempts->a->ctx);
	cert_cm(attempts->far, RI_CM_ESTABLISHED, attempts->b->ctx);
	cert_note(attempts->cert, "IRD and ORD are %u and %u, at the peer %u and %u, %s", a.ird,
		  a.ord, b.ird, b.ord, told ? "as told" : "as before");
	depths_are(attempts->a, a.ird, a.ord);
	depths_are(attempts->b, b.ird, b.ord);
	if (a.ord > 0 && a.ord <= b.ird)
		reads(attempts->a, from, into);
	if (b.ord > 0 && b.ord <= a.ird)
		reads(attempts->b, into, from);
	cert_disconnect(attempts->a, attempts->b);
}

static void
depths(struct cert *cert)
{
	struct cert_region *from, *into;
	struct attempts attempts;

	attempts_open(&attempts, cert);
	from = cert_region_new(attempts.near, 16, CERT_ALL);
	into = cert_region_new(attempts.far, 16, CERT_ALL);
	for (unsigned i = 0; i < DEPTHS; i++) {
		depths_once(&attempts, from, into);
		renew(&attempts);
	}
	CERT_VERB_VOID(cert, attempts.cm->listen_destroy(attempts.listen));
}

/* --- deadlines ------------------------------------------------------------------------------------- */

#define DEADLINE_US 400000

/* A connection is not ended by the deadline of its attempt, nor by that of an attempt before. */
static void
deadlines(struct cert *cert)
{
	const struct ri_host *host = cert_host_table(cert_host(cert));
	struct attempts attempts;
	struct ri_cm_params params;
	struct ri_cm_event event;
	gint64 begun;

	attempts_open(&attempts, cert);
	begun = g_get_monotonic_time();
	params = params_with(&attempts, false, NULL, 0);
	params.deadline = host->now(host->self) + DEADLINE_US * UINT64_C(1000);
	CERT_VERB(cert, RI_SUCCESS, attempts.cm->connect(attempts.a->qp, &params));
	event = cert_cm(attempts.far, RI_CM_REQUEST, attempts.ctx);
	if (attempts.near->attr.qp_reusable && g_get_monotonic_time() < begun + DEADLINE_US / 2) {
		CERT_VERB(cert, RI_SUCCESS,
			  attempts.cm->reject(event.request, RI_CM_REASON_CONSUMER, NULL, 0));
		(void)cert_cm(attempts.near, RI_CM_REJECTED, attempts.a->ctx);
		renew(&attempts);
		params = params_with(&attempts, false, NULL, 0); /* no deadline */
		CERT_VERB(cert, RI_SUCCESS, attempts.cm->connect(attempts.a->qp, &params));
		event = cert_cm(attempts.far, RI_CM_REQUEST, attempts.ctx);
	}
	params = params_with(&attempts, true, NULL, 0);
	if (attempts.cm->accept(event.request, attempts.b->qp, &params) != RI_SUCCESS ||
	    g_get_monotonic_time() > begun + DEADLINE_US) {
		cert_note(cert, "this machine was too slow for the attempt");
		return;
	}
	cert_cm(attempts.near, RI_CM_ESTABLISHED, attempts.a->ctx);
	cert_cm(attempts.far, RI_CM_ESTABLISHED, attempts.b->ctx);
	while (g_get_monotonic_time() < begun + DEADLINE_US + DEADLINE_US / 4)
		cert_progress(cert);
	CERT_UINT(cert, cert_end_attr(attempts.a).state, ==, RI_QPS_RTS);
	CERT_UINT(cert, cert_end_attr(attempts.b).state, ==, RI_QPS_RTS);
	cert_post_recv(attempts.b, 1, NULL, 0);
	cert_post_send(attempts.a, 2, NULL, 0, 0);
	cert_wc_is(attempts.b, true, 1, RI_WC_SUCCESS);
	cert_wc_is(attempts.a, false, 2, RI_WC_SUCCESS);
	CERT_VERB_VOID(cert, attempts.cm->listen_destroy(attempts.listen));
}

/* --- slots of a shared queue ------------------------------------------------------------------------- */

/* One connection takes receives of the shared queue, and ends in one of several ways; its completions are polled, or not. */
static void
member_ends(struct shared *shared, struct cert_node *near, const struct cert_region *from,
	    unsigned way)
{
	struct cert_node *node = shared->end.node;
	struct cert_end *a = cert_end_new(near, NULL), *host = cert_end_new(node, NULL);
	struct cert_end member = *host;
	struct ri_sge source = cert_sge(from, 0, 16);
	struct cert *cert = node->cert;
	gint64 until = 0;
	struct ri_map map;

	member.init = cert_end_defaults(node);
	member.ctx = member.init.ctx = cert_ctx_new(node, RI_OBJECT_QP);
	CERT_VERB(cert, RI_SUCCESS,
		  node->p->qp->create(node->pd, &member.init, member.scq, member.rcq, shared->srq,
				      &member.qp, &map));
	CERT_VERB(cert, RI_SUCCESS,
		  node->p->user->qp_open(node->urnic, &map, member.uscq, member.urcq, shared->usrq,
					 &member.uqp));
	cert_connect(a, &member);
	for (unsigned i = 0; i < 2; i++) {
		cert_post_send(a, i, &source, 1, 0);
		cert_wc_is(a, false, i, RI_WC_SUCCESS);
	}
	while (node->p->fast->cq_depth(member.urcq) < 2) /* they may be under way */
		CERT_TRUE(cert, cert_patience(cert, &until));
	if (way % 3 == 0) { /* too long for the receive */
		source.length = 64;
		cert_post_send(a, 2, &source, 1, 0);
		cert_wait_end(a);
	} else if (way % 3 == 1) {
		CERT_UINT(cert, cert_end_move(&member, RI_QPS_ERROR), ==, RI_SUCCESS);
		cert_wait_end(a);
	}
	for (unsigned i = 0; i < 2; i++)
		CERT_UINT(cert, cert_wc(&member, true).status, ==, RI_WC_SUCCESS);
	if (way % 3 == 0)
		CERT_UINT(cert, cert_wc(&member, true).status, ==, RI_WC_LOCAL_LENGTH);
	cert_end_drop(&member);
	cert_wait_end(a);
	cert_end_free(a);
	cert_end_free(host);
	cert_events_forget(near);
	cert_events_forget(node);
}

/* After all of them the shared queue takes as many receives as it reports, and no more. */
static void
shared_slots(struct cert *cert)
{
	struct cert_node *near = cert_node_open(cert), *far = cert_node_open(cert);
	struct cert_region *from = cert_region_new(near, 64, CERT_ALL);
	struct cert_region *into = cert_region_new(far, 64, CERT_ALL);
	struct ri_qp_init init = cert_end_defaults(far);
	struct ri_sge sink = cert_sge(into, 0, 32);
	struct ri_recv_wr wr = {.wr_id = 1, .sgl = &sink, .num_sge = 1};
	struct ri_srq_attr attr = {0};
	struct shared shared;
	uint32_t there = 0;

	shared_new(&shared, far, &init, MIN(8, far->attr.max_srq_wr));
	for (unsigned way = 0; way < 30; way++) {
		for (; there < 3; there++)
			CERT_FAST(cert, RI_SUCCESS, far->p->fast->post_srq(shared.usrq, &wr));
		member_ends(&shared, near, from, way);
		there -= way % 3 == 0 ? 3 : 2;
		CERT_VERB(cert, RI_SUCCESS, far->p->srq->query(shared.srq, &attr));
		CERT_UINT(cert, attr.available, ==, there);
	}
	for (; there < shared.attr.max_wr; there++)
		CERT_FAST(cert, RI_SUCCESS, far->p->fast->post_srq(shared.usrq, &wr));
	CERT_FAST(cert, RI_ERR_QUEUE_FULL, far->p->fast->post_srq(shared.usrq, &wr));
	shared_free(&shared);
}

static const struct cert_case cases[] = {
	{.id = "verbs.attempt.private.0001",
	 .title = "Private data of an attempt is its own, whatever those before it had",
	 .rule = "[RI 10.30] [RI 11.6.1]",
	 .needs = "cm_forms:RI_CM_ADDRESS",
	 .settles = "connect_pdata accept_pdata reject_pdata",
	 .run = private_data},
	{.id = "verbs.attempt.depth.0001",
	 .title = "IRD and ORD are what the sides have told in this attempt, or what they were",
	 .rule = "[RI 10.32] [RI 11.6.1]",
	 .needs = "cm_forms:RI_CM_ADDRESS ird_ord_exchange",
	 .settles = "ird_ord_exchange",
	 .run = depths},
	{.id = "verbs.attempt.deadline.0001",
	 .title = "A connection outlives the deadline of its attempt, and of the one before",
	 .rule = "[RI 11.6.1] [RI 11.6.2]",
	 .needs = "cm_forms:RI_CM_ADDRESS",
	 .run = deadlines},
	{.id = "verbs.attempt.shared.0001",
	 .title = "Slots of a shared queue come back from connections that have failed",
	 .rule = "[RI 6.3] [RI 6.6]",
	 .needs = "srq",
	 .settles = "srq",
	 .run = shared_slots},
};

CERT_SET(verbs_attempts, cases);
