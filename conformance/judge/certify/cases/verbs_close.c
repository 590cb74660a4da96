/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Ends of connections: orderly ones with work left, errors that are ends, the Terminate message, the time-wait. */

#include <string.h>

#include "verbs_pair.h"

#define POSTED 8u

/* Was the end told as an orderly one, and only once? */
static void
expect_orderly(struct cert_end *end)
{
	struct cert_node *node = end->node;
	struct cert *cert = node->cert;

	for (unsigned i = 0; i < 50; i++)
		cert_progress(cert);
	if ((node->attr.cm_forms & RI_CM_ADDRESS) != 0) {
		CERT_UINT(cert, cert_cm_count(node, RI_CM_DISCONNECTED, end->ctx), ==, 1);
		CERT_UINT(cert, cert_cm_count(node, RI_CM_BROKEN, end->ctx), ==, 0);
		cert_note(cert, "nothing went wrong, so no event says so");
		CERT_UINT(cert, cert_async_ends(node, end->ctx), ==, 0);
	} else {
		CERT_UINT(cert, cert_async_ends(node, end->ctx), ==, 1);
		CERT_UINT(cert, cert_async_count(node, RI_EVENT_QP_LLP_CLOSE_COMPLETE, end->ctx),
			  ==, 1);
	}
	CERT_UINT(cert, cert_end_attr(end).state, ==, RI_QPS_ERROR);
}

/* Both sides end, in order. */
static void
close_orderly(struct pair *pair)
{
	struct cert_end *ends[] = {pair->a, pair->b};

	for (unsigned i = 0; i < G_N_ELEMENTS(ends); i++)
		cert_wait_end(ends[i]);
	for (unsigned i = 0; i < G_N_ELEMENTS(ends); i++)
		expect_orderly(ends[i]);
}

/* --- orderly ends -------------------------------------------------------------------------- */

/* Both sides are in ERROR, not in IDLE: what is posted behind the end is flushed. */
static void
ends_in_error(struct cert *cert)
{
	struct pair pair;

	pair_connected(&pair, cert);
	cert_disconnect(pair.a, pair.b);
	expect_orderly(pair.a);
	expect_orderly(pair.b);
	for (uint64_t id = 0; id < POSTED; id++) {
		cert_post_recv(pair.a, id, &pair.source, 1);
		cert_post_send(pair.a, id, &pair.source, 1, 0);
		cert_post_recv(pair.b, id, &pair.sink, 1);
		cert_post_send(pair.b, id, &pair.sink, 1, 0);
	}
	for (uint64_t id = 0; id < POSTED; id++) {
		cert_wc_is(pair.a, true, id, RI_WC_FLUSHED);
		cert_wc_is(pair.a, false, id, RI_WC_FLUSHED);
		cert_wc_is(pair.b, true, id, RI_WC_FLUSHED);
		cert_wc_is(pair.b, false, id, RI_WC_FLUSHED);
	}
}

/* What is posted while the end is under way is flushed, too, and does not spoil it. */
static void
posted_behind(struct cert *cert)
{
	struct pair pair;

	pair_connected(&pair, cert);
	CERT_UINT(cert, cert_end_move(pair.a, RI_QPS_CLOSING), ==, RI_SUCCESS);
	for (uint64_t id = 0; id < POSTED; id++) {
		cert_post_recv(pair.a, id, &pair.source, 1);
		cert_post_send(pair.a, id, &pair.source, 1, 0);
	}
	close_orderly(&pair);
	for (uint64_t id = 0; id < POSTED; id++) {
		cert_wc_is(pair.a, true, id, RI_WC_FLUSHED);
		cert_wc_is(pair.a, false, id, RI_WC_FLUSHED);
	}
	cert_wc_none(pair.b, true);
}

/* Receives wait on both sides, and requests of the side that closes were posted a moment before. */
static void
closed_with_work(struct cert *cert)
{
	struct pair pair;

	pair_connected(&pair, cert);
	for (uint64_t id = 0; id < POSTED; id++) {
		cert_post_recv(pair.a, id, &pair.source, 1);
		cert_post_recv(pair.b, id, &pair.sink, 1);
	}
	for (uint64_t id = 0; id < POSTED / 2; id++)
		cert_post_send(pair.a, id, &pair.source, 1, 0);
	CERT_UINT(cert, cert_end_move(pair.a, RI_QPS_CLOSING), ==, RI_SUCCESS);
	close_orderly(&pair);
	for (uint64_t id = 0; id < POSTED; id++) {
		cert_wc_is(pair.a, true, id, RI_WC_FLUSHED);
		CERT_UINT(cert, cert_wc(pair.b, true).wr_id, ==, id);
	}
	for (uint64_t id = 0; id < POSTED / 2; id++) {
		struct ri_wc wc = cert_wc(pair.a, false);

		CERT_UINT(cert, wc.wr_id, ==, id);
		CERT_TRUE(cert, wc.status == RI_WC_SUCCESS || wc.status == RI_WC_FLUSHED);
	}
}

/* --- errors -------------------------------------------------------------------------------- */

/* a writes to a key of b that there is not: one event tells b of the error, and it is the end. */
static void
written_wrongly(struct pair *pair, struct cert *cert)
{
	struct ri_sge wrong;

	pair_connected(pair, cert);
	wrong = pair->sink;
	wrong.stag ^= 1u << 20;
	cert_post_recv(pair->b, 1, &pair->sink, 1);
	cert_post_rdma(pair->a, RI_OP_RDMA_WRITE, 2, &pair->source, &wrong);
	cert_wait_end(pair->a);
	cert_wait_end(pair->b);
	cert_wc_is(pair->b, true, 1, RI_WC_FLUSHED);
	for (unsigned i = 0; i < 50; i++)
		cert_progress(cert);
}

static void
error_is_the_end(struct cert *cert)
{
	struct pair pair;

	written_wrongly(&pair, cert);
	if ((pair.far->attr.cm_forms & RI_CM_ADDRESS) != 0) {
		CERT_UINT(cert, cert_cm_count(pair.far, RI_CM_BROKEN, pair.b->ctx), ==, 1);
		CERT_UINT(cert, cert_cm_count(pair.far, RI_CM_DISCONNECTED, pair.b->ctx), ==, 0);
		CERT_UINT(cert, cert_cm_count(pair.near, RI_CM_BROKEN, pair.a->ctx), ==, 1);
		cert_note(cert, "an event that says what went wrong says that");
		CERT_UINT(cert, cert_async_count(pair.far, RI_EVENT_QP_CATASTROPHIC, pair.b->ctx),
			  ==, 0);
	} else {
		CERT_UINT(cert, cert_async_ends(pair.far, pair.b->ctx), ==, 1);
		CERT_UINT(cert, cert_async_count(pair.far, RI_EVENT_QP_STAG, pair.b->ctx), ==, 1);
		CERT_UINT(cert, cert_async_ends(pair.near, pair.a->ctx), ==, 1);
	}
	CERT_UINT(cert, cert_end_attr(pair.a).state, ==, RI_QPS_ERROR);
	CERT_UINT(cert, cert_end_attr(pair.b).state, ==, RI_QPS_ERROR);
}

/* The side that found the error has the Terminate that it sent, the other one the same as it came; both keep it. */
static void
terminate_kept(struct cert *cert)
{
	struct pair pair;
	struct ri_qp_attr sent, got, again;

	written_wrongly(&pair, cert);
	sent = cert_end_attr(pair.b);
	got = cert_end_attr(pair.a);
	CERT_TRUE(cert, sent.terminate_sent);
	CERT_TRUE(cert, !got.terminate_sent);
	CERT_UINT(cert, sent.terminate_len, >=, 4);
	CERT_UINT(cert, sent.terminate_len, <=, RI_TERMINATE_MAX);
	CERT_UINT(cert, got.terminate_len, >=, 4);
	CERT_UINT(cert, got.terminate_len, <=, RI_TERMINATE_MAX);
	cert_note(cert, "layer, type and code");
	CERT_BYTES(cert, got.terminate, sent.terminate, 2);
	CERT_UINT(cert, got.terminate[0] >> 4, <=, 2);
	if (cert_async_count(pair.near, RI_EVENT_QP_TERMINATE_RECEIVED, pair.a->ctx) > 0) {
		struct ri_async_event event =
			cert_async(pair.near, RI_EVENT_QP_TERMINATE_RECEIVED, pair.a->ctx);

		CERT_UINT(cert, event.detail & 0xffff, ==,
			  (unsigned)got.terminate[0] << 8 | got.terminate[1]);
	}
	again = cert_end_attr(pair.a);
	CERT_UINT(cert, again.terminate_len, ==, got.terminate_len);
	CERT_BYTES(cert, again.terminate, got.terminate, got.terminate_len);
}

static void
no_terminate(struct cert *cert)
{
	struct pair pair;

	written_wrongly(&pair, cert);
	CERT_UINT(cert, cert_end_attr(pair.a).terminate_len, ==, 0);
	CERT_UINT(cert, cert_end_attr(pair.b).terminate_len, ==, 0);
}

/* --- time-wait ----------------------------------------------------------------------------- */

static enum ri_status
to_idle(struct cert_end *end, bool skip)
{
	const struct ri_qp_attr attr = {.state = RI_QPS_IDLE, .skip_time_wait = skip};
	enum ri_status status;

	cert_verb_begin(end->node->cert);
	status = end->node->p->qp->modify(end->qp, &attr, RI_QP_ATTR_STATE);
	cert_verb_end(end->node->cert, CERT_WHERE, "modify");
	return status;
}

/* Repeat the call while it gives that status; the first status that differs. */
static enum ri_status
to_idle_after(struct cert_end *end, bool skip, enum ri_status passing)
{
	enum ri_status status = to_idle(end, skip);
	gint64 until = 0;

	while (status == passing && cert_patience(end->node->cert, &until))
		status = to_idle(end, skip);
	return status;
}

/* The first side waits its time-wait out, the other one does not wait. How long it is, the adapter knows. */
static void
time_wait(struct cert *cert)
{
	struct pair pair;
	enum ri_status status;

	pair_connected(&pair, cert);
	cert_disconnect(pair.a, pair.b);
	status = to_idle_after(pair.b, true, RI_ERR_STILL_FLUSHING);
	cert_expect_status(cert, CERT_WHERE, "a move to IDLE that skips the time-wait", status,
			   RI_SUCCESS);
	status = to_idle_after(pair.a, false, RI_ERR_STILL_FLUSHING);
	if (status == RI_ERR_TIME_WAIT) {
		cert_note(cert, "there is a time-wait");
		CERT_UINT(cert, cert_end_attr(pair.a).state, ==, RI_QPS_ERROR);
		if ((pair.near->attr.cm_forms & RI_CM_ADDRESS) != 0) {
			cert_cm(pair.near, RI_CM_DISCONNECTED, pair.a->ctx);
			cert_cm(pair.near, RI_CM_TIME_WAIT_OVER, pair.a->ctx);
		}
		status = to_idle_after(pair.a, false, RI_ERR_TIME_WAIT);
	}
	cert_expect_status(cert, CERT_WHERE, "a move to IDLE when the time-wait is over", status,
			   RI_SUCCESS);
	cert_events_forget(pair.near);
	cert_events_forget(pair.far);
	cert_note(cert, "both are used again");
	cert_connect(pair.a, pair.b);
}

static void
no_time_wait(struct cert *cert)
{
	struct pair pair;

	pair_connected(&pair, cert);
	cert_disconnect(pair.a, pair.b);
	cert_expect_status(cert, CERT_WHERE, "a move to IDLE",
			   to_idle_after(pair.a, false, RI_ERR_STILL_FLUSHING), RI_SUCCESS);
}

static const struct cert_case cases[] = {
	{.id = "verbs.close.orderly.0001",
	 .title = "An orderly end leads to ERROR, where what is posted is flushed",
	 .rule = "[RI 4.1.2] [RI 8.2]",
	 .run = ends_in_error},
	{.id = "verbs.close.orderly.0002",
	 .title = "What is posted behind an orderly end is flushed and does not spoil it",
	 .rule = "[RI 4.1.2]",
	 .run = posted_behind},
	{.id = "verbs.close.orderly.0003",
	 .title = "An end with work under way is an orderly one to both sides",
	 .rule = "[RI 4.1.2] [RI 10.44]",
	 .run = closed_with_work},
	{.id = "verbs.close.error.0001",
	 .title = "An error that a side finds is raised once, as the end",
	 .rule = "[RI 8.7] [RI 3.3.3]",
	 .run = error_is_the_end},
	{.id = "verbs.close.terminate.0001",
	 .title = "The Terminate message stays with both queue pairs for a query",
	 .rule = "[RI 8.7] [RI 10.24]",
	 .needs = "terminate_info",
	 .settles = "terminate_info",
	 .run = terminate_kept},
	{.id = "verbs.close.terminate.0002",
	 .title = "Without the claim there is no Terminate message",
	 .rule = "[RI 10.24]",
	 .needs = "!terminate_info",
	 .settles = "terminate_info",
	 .run = no_terminate},
	{.id = "verbs.close.wait.0001",
	 .title = "A queue pair in its time-wait is told of its end and becomes IDLE then, or at "
		  "once if it is to skip it",
	 .rule = "[RI 10.45] [RI 11.6.2]",
	 .needs = "has_time_wait qp_reusable",
	 .settles = "has_time_wait",
	 .run = time_wait},
	{.id = "verbs.close.wait.0002",
	 .title = "Without the claim a queue pair has no time-wait",
	 .rule = "[RI 10.45]",
	 .needs = "!has_time_wait qp_reusable",
	 .settles = "has_time_wait",
	 .run = no_time_wait},
};

CERT_SET(verbs_close, cases);
