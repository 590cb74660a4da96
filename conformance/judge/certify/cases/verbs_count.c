/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The counters that a provider maintains for the access layer. Counting is optional for each kind;
 * kinds that `known` does not name are not judged. The counters belong to a queue pair until it is
 * destroyed, so each case closes its adapters before it returns.
 */
#include <string.h>

#include "verbs_reset.h"
#include "verbs_shared.h"

#define GUARD 0xb7

/* Counters between guards, as an access layer that knows @p size octets of them has them. */
struct counters {
	uint8_t before[64];
	union {
		struct ri_qp_counters qp;
		struct ri_cq_counters cq;
		uint8_t octets[512];
	};
};

static void
counters_new(struct counters *counters, uint32_t size)
{
	memset(counters, GUARD, sizeof(*counters));
	memset(counters->octets, 0, size);
	memcpy(counters->octets, &size, sizeof(size)); /* both begin with their size */
}

static void
counters_guarded(struct cert *cert, const struct counters *counters, uint32_t size)
{
	CERT_UINT(cert, counters->qp.size, ==, size);
	for (size_t i = 0; i < sizeof(counters->before); i++)
		CERT_UINT(cert, counters->before[i], ==, GUARD);
	for (size_t i = size; i < sizeof(counters->octets); i++)
		CERT_UINT(cert, counters->octets[i], ==, GUARD);
}

/* A pair whose first end and its queues are counted, before any fast entry has seen them. */
struct scene {
	struct pair pair;
	struct counters qp, sends, receives;
};

static void
scene_open(struct scene *s, struct cert *cert)
{
	const struct ri_user_ops *user = cert_provider(cert)->user;

	counters_new(&s->qp, sizeof(s->qp.qp));
	counters_new(&s->sends, sizeof(s->sends.cq));
	counters_new(&s->receives, sizeof(s->receives.cq));
	pair_open(&s->pair, cert, NULL);
	user->qp_count(s->pair.a->uqp, &s->qp.qp);
	user->cq_count(s->pair.a->uscq, &s->sends.cq);
	user->cq_count(s->pair.a->urcq, &s->receives.cq);
	cert_connect(s->pair.a, s->pair.b);
}

static bool
scene_counts(const struct scene *s, struct cert *cert)
{
	if (s->qp.qp.known != 0 || s->sends.cq.known != 0)
		return true;
	cert_not_claimed(cert, "the provider counts nothing");
	return false;
}

static void
scene_close(struct scene *s, struct cert *cert)
{
	cert_node_close(s->pair.near);
	cert_node_close(s->pair.far);
	counters_guarded(cert, &s->qp, sizeof(s->qp.qp));
	counters_guarded(cert, &s->sends, sizeof(s->sends.cq));
	counters_guarded(cert, &s->receives, sizeof(s->receives.cq));
}

/* The sum of what was counted by kind or status. */
static uint64_t
sum(const uint64_t counters[RI_COUNTERS])
{
	uint64_t all = 0;

	for (unsigned i = 0; i < RI_COUNTERS; i++)
		all += counters[i];
	return all;
}

/* Three Sends, two Writes and a Read of some length each, and two receives of what the other side sends. */
static void
work(struct cert *cert)
{
	struct scene s;

	scene_open(&s, cert);
	if (!scene_counts(&s, cert)) {
		scene_close(&s, cert);
		return;
	}
	for (uint64_t i = 0; i < 3; i++) {
		struct ri_sge from = cert_sge(s.pair.from, 0, 100 + i);
		struct ri_sge into = cert_sge(s.pair.into, 0, 200);

		cert_post_recv(s.pair.b, i, &into, 1);
		cert_post_send(s.pair.a, i, &from, 1, 0);
		cert_wc_is(s.pair.a, false, i, RI_WC_SUCCESS);
		cert_wc_is(s.pair.b, true, i, RI_WC_SUCCESS);
	}
	for (uint64_t i = 0; i < 2; i++) {
		struct ri_sge from = cert_sge(s.pair.from, 0, 1000);
		struct ri_sge into = cert_sge(s.pair.into, 0, 1000);

		cert_post_rdma(s.pair.a, RI_OP_RDMA_WRITE, i, &from, &into);
		cert_wc_is(s.pair.a, false, i, RI_WC_SUCCESS);
	}
	const uint64_t octets = s.qp.qp.octets;
	if ((s.qp.qp.known & RI_COUNTED_POSTS) != 0) {
		CERT_UINT(cert, s.qp.qp.posts[RI_OP_SEND], ==, 3);
		CERT_UINT(cert, s.qp.qp.posts[RI_OP_RDMA_WRITE], ==, 2);
		CERT_UINT(cert, sum(s.qp.qp.posts), ==, 5);
	}
	if ((s.qp.qp.known & RI_COUNTED_OCTETS) != 0)
		CERT_UINT(cert, octets, ==, 303 + 2000);
	if ((s.sends.cq.known & RI_COUNTED_DONE) != 0) {
		CERT_UINT(cert, s.sends.cq.done[RI_WC_SUCCESS], ==, 5);
		CERT_UINT(cert, sum(s.sends.cq.done), ==, 5);
		CERT_UINT(cert, sum(s.receives.cq.done), ==, 0);
	}
	for (uint64_t i = 0; i < 2; i++) {
		struct ri_sge from = cert_sge(s.pair.into, 0, 70);
		struct ri_sge into = cert_sge(s.pair.from, 0, 200);

		cert_post_recv(s.pair.a, i, &into, 1);
		cert_post_send(s.pair.b, i, &from, 1, 0);
		cert_wc_is(s.pair.b, false, i, RI_WC_SUCCESS);
		cert_wc_is(s.pair.a, true, i, RI_WC_SUCCESS);
	}
	if ((s.qp.qp.known & RI_COUNTED_POSTS) != 0)
		CERT_UINT(cert, s.qp.qp.posts[RI_OP_RECV], ==, 2);
	CERT_UINT(cert, s.qp.qp.octets, ==, octets);
	if ((s.receives.cq.known & RI_COUNTED_DONE) != 0)
		CERT_UINT(cert, s.receives.cq.done[RI_WC_SUCCESS], ==, 2);
	if ((s.receives.cq.known & RI_COUNTED_OCTETS) != 0)
		CERT_UINT(cert, s.receives.cq.octets, ==, 140);
	scene_close(&s, cert);
}

/* What is refused is no post; what is flushed was posted, and its completion has its own status. */
static void
failures(struct cert *cert)
{
	struct ri_wr none = {.wr_id = 1, .opcode = 0xff, .flags = RI_WR_SIGNALED};
	struct scene s;
	struct ri_sge into;

	scene_open(&s, cert);
	if (!scene_counts(&s, cert)) {
		scene_close(&s, cert);
		return;
	}
	into = cert_sge(s.pair.from, 0, 64);
	CERT_FAST(cert, RI_ERR_UNSUPPORTED, s.pair.near->p->fast->post_sq(s.pair.a->uqp, &none));
	cert_post_recv(s.pair.a, 1, &into, 1);
	cert_post_recv(s.pair.a, 2, &into, 1);
	cert_disconnect(s.pair.a, s.pair.b);
	cert_wc_is(s.pair.a, true, 1, RI_WC_FLUSHED);
	cert_wc_is(s.pair.a, true, 2, RI_WC_FLUSHED);
	if ((s.qp.qp.known & RI_COUNTED_POSTS) != 0) {
		CERT_UINT(cert, s.qp.qp.posts[RI_OP_RECV], ==, 2);
		CERT_UINT(cert, sum(s.qp.qp.posts), ==, 2);
	}
	if ((s.receives.cq.known & RI_COUNTED_DONE) != 0) {
		CERT_UINT(cert, s.receives.cq.done[RI_WC_FLUSHED], ==, 2);
		CERT_UINT(cert, sum(s.receives.cq.done), ==, 2);
	}
	scene_close(&s, cert);
}

/* The counters of a queue pair go on in its next life: a monitor computes differences of what it has read. */
static void
lives(struct cert *cert)
{
	uint64_t posts = 0, octets = 0;
	struct scene s;

	scene_open(&s, cert);
	for (unsigned life = 1; life <= 3; life++) {
		if (life > 1)
			cert_connect(s.pair.a, s.pair.b);
		cert_post_recv(s.pair.b, 1, &s.pair.sink, 1);
		cert_post_send(s.pair.a, 2, &s.pair.source, 1, 0);
		cert_wc_is(s.pair.b, true, 1, RI_WC_SUCCESS);
		cert_wc_is(s.pair.a, false, 2, RI_WC_SUCCESS);
		cert_disconnect(s.pair.a, s.pair.b);
		cert_wait_end(s.pair.a);
		cert_wait_end(s.pair.b);
		reset_events(s.pair.a);
		reset_events(s.pair.b);
		reset_end(s.pair.a);
		reset_end(s.pair.b);
		if ((s.qp.qp.known & RI_COUNTED_POSTS) != 0)
			CERT_UINT(cert, sum(s.qp.qp.posts), ==, ++posts);
		octets += s.pair.source.length;
		if ((s.qp.qp.known & RI_COUNTED_OCTETS) != 0)
			CERT_UINT(cert, s.qp.qp.octets, ==, octets);
	}
	scene_close(&s, cert);
}

/* An access layer that knows fewer counters: nothing is written behind its size. */
static void
fewer(struct cert *cert)
{
	const struct ri_user_ops *user = cert_provider(cert)->user;
	const uint32_t size = offsetof(struct ri_qp_counters, posts) + 2 * sizeof(uint64_t);
	struct counters qp, cq;
	struct pair pair;

	counters_new(&qp, size);
	counters_new(&cq, size);
	pair_open(&pair, cert, NULL);
	user->qp_count(pair.a->uqp, &qp.qp);
	user->cq_count(pair.a->uscq, &cq.cq);
	cert_connect(pair.a, pair.b);
	cert_post_recv(pair.b, 1, &pair.sink, 1);
	cert_post_send(pair.a, 2, NULL, 0, 0);
	cert_wc_is(pair.b, true, 1, RI_WC_SUCCESS);
	cert_wc_is(pair.a, false, 2, RI_WC_SUCCESS);
	cert_node_close(pair.near);
	cert_node_close(pair.far);
	counters_guarded(cert, &qp, size);
	counters_guarded(cert, &cq, size);
}

/* Receives of a shared queue are counted there, and not by the queue pair that takes them. */
static void
shared_receives(struct cert *cert)
{
	const struct ri_user_ops *user = cert_provider(cert)->user;
	struct cert_node *near = cert_node_open(cert), *far = cert_node_open(cert);
	const struct ri_qp_init init = cert_end_defaults(far);
	struct cert_end *a = cert_end_new(near, NULL);
	struct cert_region *into = cert_region_new(far, VERBS_MEMORY, CERT_ALL);
	struct ri_sge sink = cert_sge(into, 0, 64);
	struct ri_recv_wr wr = {.sgl = &sink, .num_sge = 1};
	struct counters qp, srq;
	struct shared b;

	counters_new(&qp, sizeof(qp.qp));
	counters_new(&srq, sizeof(srq.qp));
	shared_new(&b, far, &init, 4);
	user->qp_count(b.end.uqp, &qp.qp);
	user->srq_count(b.usrq, &srq.qp);
	cert_connect(a, &b.end);
	for (wr.wr_id = 1; wr.wr_id <= 3; wr.wr_id++)
		shared_post(&b, &b.end, &wr);
	cert_post_send(a, 9, NULL, 0, 0);
	cert_wc_is(&b.end, true, 1, RI_WC_SUCCESS);
	cert_wc_is(a, false, 9, RI_WC_SUCCESS);
	if ((srq.qp.known & RI_COUNTED_POSTS) != 0) {
		CERT_UINT(cert, srq.qp.posts[RI_OP_RECV], ==, 3);
		CERT_UINT(cert, sum(srq.qp.posts), ==, 3);
		CERT_UINT(cert, sum(qp.qp.posts), ==, 0);
	} else {
		cert_not_claimed(cert, "the provider counts no receives of shared queues");
	}
	shared_free(&b);
	cert_node_close(near);
	cert_node_close(far);
	counters_guarded(cert, &qp, sizeof(qp.qp));
	counters_guarded(cert, &srq, sizeof(srq.qp));
}

static const struct cert_case cases[] = {
	{.id = "verbs.count.work.0001",
	 .title = "Each post and each completion that is polled is counted once, with its octets",
	 .rule = "[RI 11.2.1]",
	 .run = work},
	{.id = "verbs.count.failures.0001",
	 .title =
		 "A post that is refused is not counted, and a completion is counted by its status",
	 .rule = "[RI 11.2.1]",
	 .run = failures},
	{.id = "verbs.count.again.0001",
	 .title = "Counters of a queue pair go on in its next connection",
	 .rule = "[RI 10.26]",
	 .needs = "qp_reusable",
	 .run = lives},
	{.id = "verbs.count.size.0001",
	 .title = "No counter is written behind the size that the access layer gives",
	 .rule = "[RI 11.2.1]",
	 .run = fewer},
	{.id = "verbs.count.shared.0001",
	 .title = "A receive that is posted to a shared queue is counted there, and only there",
	 .rule = "[RI 11.2.1]",
	 .needs = "srq",
	 .run = shared_receives},
};

CERT_SET(verbs_count, cases);
