/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Completion queues: polling, arming, resizing, overflow. Completions are those of receives that are flushed or filled. */

#include <string.h>

#include "verbs_pair.h"

/* Moves one message, so that b has a completion that is not polled; a's is. */
static void
send_one(struct pair *pair, uint64_t id, uint32_t flags)
{
	struct ri_sge source = cert_sge(pair->from, 0, 16), sink = cert_sge(pair->into, 0, 16);
	uint32_t depth = pair->far->p->fast->cq_depth(pair->b->urcq);
	gint64 until = 0;

	cert_post_recv(pair->b, id, &sink, 1);
	cert_post_send(pair->a, id, &source, 1, flags);
	cert_wc_is(pair->a, false, id, RI_WC_SUCCESS);
	while (pair->far->p->fast->cq_depth(pair->b->urcq) == depth)
		CERT_TRUE(pair->cert, cert_patience(pair->cert, &until));
}

static unsigned
notified(const struct pair *pair)
{
	return cert_cq_events(pair->far, pair->b->rcq_ctx);
}

static void
wait_notified(const struct pair *pair, unsigned count)
{
	gint64 until = 0;

	while (notified(pair) < count)
		CERT_TRUE(pair->cert, cert_patience(pair->cert, &until));
	CERT_UINT(pair->cert, notified(pair), ==, count);
}

/* Long enough for an upcall that should not come. */
static void
expect_notified(const struct pair *pair, unsigned count)
{
	for (unsigned i = 0; i < 100; i++)
		cert_progress(pair->cert);
	CERT_UINT(pair->cert, notified(pair), ==, count);
}

static enum ri_status
arm(const struct pair *pair, enum ri_arm how, uint32_t count)
{
	return pair->far->p->fast->arm_cq(pair->b->urcq, how, count);
}

static void
drain(struct pair *pair)
{
	struct ri_wc wc;

	while (pair->far->p->fast->poll_cq(pair->b->urcq, &wc, 1) > 0)
		continue;
}

/* --- polling ----------------------------------------------------------------------------- */

static void
poll_takes_the_oldest(struct cert *cert)
{
	struct pair pair;
	struct ri_wc wc[8];
	uint32_t taken;

	pair_connected(&pair, cert);
	for (uint64_t id = 1; id <= 6; id++) {
		send_one(&pair, id, 0);
		CERT_UINT(cert, pair.far->p->fast->cq_depth(pair.b->urcq), ==, id);
	}
	memset(wc, 0xa5, sizeof(wc));
	taken = pair.far->p->fast->poll_cq(pair.b->urcq, wc, 4);
	CERT_UINT(cert, taken, ==, 4);
	for (uint32_t i = 0; i < 4; i++)
		CERT_UINT(cert, wc[i].wr_id, ==, i + 1);
	CERT_UINT(cert, wc[4].wr_id, ==, 0xa5a5a5a5a5a5a5a5u);
	CERT_UINT(cert, pair.far->p->fast->cq_depth(pair.b->urcq), ==, 2);
	taken = pair.far->p->fast->poll_cq(pair.b->urcq, wc, 8);
	CERT_UINT(cert, taken, ==, 2);
	CERT_UINT(cert, wc[0].wr_id, ==, 5);
	CERT_UINT(cert, wc[1].wr_id, ==, 6);
	CERT_UINT(cert, pair.far->p->fast->poll_cq(pair.b->urcq, wc, 8), ==, 0);
	CERT_UINT(cert, pair.far->p->fast->cq_depth(pair.b->urcq), ==, 0);
}

static void
poll_of_none(struct cert *cert)
{
	struct pair pair;
	struct ri_wc wc;

	pair_connected(&pair, cert);
	memset(&wc, 0xa5, sizeof(wc));
	send_one(&pair, 1, 0);
	CERT_UINT(cert, pair.far->p->fast->poll_cq(pair.b->urcq, &wc, 0), ==, 0);
	CERT_UINT(cert, wc.wr_id, ==, 0xa5a5a5a5a5a5a5a5u);
	CERT_UINT(cert, pair.far->p->fast->cq_depth(pair.b->urcq), ==, 1);
}

/* The indices of the queue pass its end many times. */
static void
poll_goes_round(struct cert *cert)
{
	struct pair pair;

	pair_connected(&pair, cert);
	for (uint64_t id = 1; id <= 500; id++) {
		send_one(&pair, id, 0);
		if (id % 3 == 0) {
			cert_wc_is(pair.b, true, id - 2, RI_WC_SUCCESS);
			cert_wc_is(pair.b, true, id - 1, RI_WC_SUCCESS);
			cert_wc_is(pair.b, true, id, RI_WC_SUCCESS);
		}
	}
	cert_wc_is(pair.b, true, 499, RI_WC_SUCCESS);
	cert_wc_is(pair.b, true, 500, RI_WC_SUCCESS);
	cert_wc_none(pair.b, true);
}

/* --- arming ------------------------------------------------------------------------------ */

static void
arm_next(struct cert *cert)
{
	struct pair pair;

	pair_connected(&pair, cert);
	CERT_FAST(cert, RI_SUCCESS, arm(&pair, RI_ARM_NEXT, 1));
	expect_notified(&pair, 0);
	send_one(&pair, 1, 0);
	wait_notified(&pair, 1);
	cert_note(cert, "a second completion: the queue is not armed any more");
	send_one(&pair, 2, 0);
	expect_notified(&pair, 1);
}

static void
arm_not_empty(struct cert *cert)
{
	struct pair pair;

	pair_connected(&pair, cert);
	send_one(&pair, 1, 0);
	CERT_FAST(cert, RI_ERR_NOT_EMPTY, arm(&pair, RI_ARM_NEXT, 1));
	send_one(&pair, 2, 0);
	expect_notified(&pair, 0);
	cert_wc_is(pair.b, true, 1, RI_WC_SUCCESS);
	CERT_FAST(cert, RI_ERR_NOT_EMPTY, arm(&pair, RI_ARM_NEXT, 1));
	cert_wc_is(pair.b, true, 2, RI_WC_SUCCESS);
	CERT_FAST(cert, RI_SUCCESS, arm(&pair, RI_ARM_NEXT, 1));
	send_one(&pair, 3, 0);
	wait_notified(&pair, 1);
}

static void
arm_none(struct cert *cert)
{
	struct pair pair;

	pair_connected(&pair, cert);
	CERT_FAST(cert, RI_SUCCESS, arm(&pair, RI_ARM_NEXT, 1));
	CERT_FAST(cert, RI_SUCCESS, arm(&pair, RI_ARM_NONE, 1));
	send_one(&pair, 1, 0);
	expect_notified(&pair, 0);
}

static void
arm_invalid(struct cert *cert)
{
	struct pair pair;

	pair_connected(&pair, cert);
	CERT_FAST(cert, RI_ERR_INVALID_ARG, arm(&pair, (enum ri_arm)(RI_ARM_COUNT + 1), 1));
	CERT_FAST(cert, RI_ERR_INVALID_ARG, arm(&pair, RI_ARM_COUNT, 0));
	CERT_FAST(cert, RI_ERR_INVALID_ARG, arm(&pair, RI_ARM_COUNT, 1u << 24));
	send_one(&pair, 1, 0);
	expect_notified(&pair, 0);
}

static void
arm_solicited(struct cert *cert)
{
	struct pair pair;

	pair_connected(&pair, cert);
	CERT_FAST(cert, RI_SUCCESS, arm(&pair, RI_ARM_SOLICITED, 1));
	send_one(&pair, 1, 0);
	expect_notified(&pair, 0);
	send_one(&pair, 2, RI_WR_SOLICITED);
	wait_notified(&pair, 1);
	cert_note(cert, "a solicited completion is present, behind another one");
	CERT_FAST(cert, RI_ERR_NOT_EMPTY, arm(&pair, RI_ARM_SOLICITED, 1));
	struct ri_wc wc = cert_wc_is(pair.b, true, 1, RI_WC_SUCCESS);
	CERT_UINT(cert, wc.flags & RI_WC_SOLICITED, ==, 0);
	wc = cert_wc_is(pair.b, true, 2, RI_WC_SUCCESS);
	CERT_UINT(cert, wc.flags & RI_WC_SOLICITED, ==, RI_WC_SOLICITED);
	send_one(&pair, 3, 0);
	CERT_FAST(cert, RI_SUCCESS, arm(&pair, RI_ARM_SOLICITED, 1));
	expect_notified(&pair, 1);
}

static void
arm_unreported(struct cert *cert)
{
	struct pair pair;

	pair_connected(&pair, cert);
	enum ri_status status = arm(&pair, RI_ARM_UNREPORTED, 1);
	if (status == RI_ERR_INVALID_ARG) {
		cert_skip(cert, "the provider does not know RI_ARM_UNREPORTED, as it may");
		return;
	}
	CERT_UINT(cert, status, ==, RI_SUCCESS);
	send_one(&pair, 1, 0);
	wait_notified(&pair, 1);
	cert_note(cert, "the completion that the upcall reported is still present");
	CERT_FAST(cert, RI_SUCCESS, arm(&pair, RI_ARM_UNREPORTED, 1));
	expect_notified(&pair, 1);
	send_one(&pair, 2, 0);
	wait_notified(&pair, 2);
	cert_note(cert, "a completion that came while the queue was not armed");
	send_one(&pair, 3, 0);
	CERT_FAST(cert, RI_ERR_NOT_EMPTY, arm(&pair, RI_ARM_UNREPORTED, 1));
	CERT_FAST(cert, RI_SUCCESS, arm(&pair, RI_ARM_UNREPORTED, 1));
	for (uint64_t id = 1; id <= 3; id++)
		cert_wc_is(pair.b, true, id, RI_WC_SUCCESS);
	send_one(&pair, 4, 0);
	wait_notified(&pair, 3);
}

/* The first call would have been met by the second message. */
static void
arm_replaced(struct cert *cert)
{
	struct pair pair;

	pair_connected(&pair, cert);
	CERT_FAST(cert, RI_SUCCESS, arm(&pair, RI_ARM_SOLICITED, 1));
	send_one(&pair, 1, 0);
	CERT_FAST(cert, RI_ERR_NOT_EMPTY, arm(&pair, RI_ARM_NEXT, 1));
	send_one(&pair, 2, RI_WR_SOLICITED);
	expect_notified(&pair, 0);
	cert_wc_is(pair.b, true, 1, RI_WC_SUCCESS);
	cert_wc_is(pair.b, true, 2, RI_WC_SUCCESS);
	CERT_FAST(cert, RI_SUCCESS, arm(&pair, RI_ARM_NEXT, 1));
	send_one(&pair, 3, 0);
	wait_notified(&pair, 1);
}

/* A flushed receive is an error, and an error is solicited. */
static void
arm_solicited_error(struct cert *cert)
{
	struct pair pair;
	struct ri_sge sink;

	pair_connected(&pair, cert);
	sink = cert_sge(pair.into, 0, 16);
	CERT_FAST(cert, RI_SUCCESS, arm(&pair, RI_ARM_SOLICITED, 1));
	cert_post_recv(pair.b, 1, &sink, 1);
	CERT_UINT(cert, cert_end_move(pair.b, RI_QPS_ERROR), ==, RI_SUCCESS);
	wait_notified(&pair, 1);
	cert_wc_is(pair.b, true, 1, RI_WC_FLUSHED);
}

static void
arm_notify_flag(struct cert *cert)
{
	struct pair pair;
	struct ri_sge sink, source;
	struct ri_recv_wr recv = {.wr_id = 1, .sgl = &sink, .num_sge = 1, .flags = RI_WR_NOTIFY};

	pair_connected(&pair, cert);
	sink = cert_sge(pair.into, 0, 16);
	source = cert_sge(pair.from, 0, 16);
	CERT_FAST(cert, RI_SUCCESS, arm(&pair, RI_ARM_SOLICITED, 1));
	CERT_FAST(cert, RI_SUCCESS, pair.far->p->fast->post_rq(pair.b->uqp, &recv));
	cert_post_send(pair.a, 2, &source, 1, 0);
	wait_notified(&pair, 1);
	cert_wc_is(pair.b, true, 1, RI_WC_SUCCESS);
	cert_wc_is(pair.a, false, 2, RI_WC_SUCCESS);
	cert_note(cert, "the flag of a request");
	CERT_FAST(cert, RI_SUCCESS, pair.near->p->fast->arm_cq(pair.a->uscq, RI_ARM_SOLICITED, 1));
	cert_post_recv(pair.b, 3, &sink, 1);
	cert_post_send(pair.a, 4, &source, 1, RI_WR_NOTIFY);
	gint64 until = 0;
	while (cert_cq_events(pair.near, pair.a->scq_ctx) == 0)
		CERT_TRUE(cert, cert_patience(cert, &until));
	cert_wc_is(pair.a, false, 4, RI_WC_SUCCESS);
}

static void
arm_count(struct cert *cert)
{
	struct pair pair;

	pair_connected(&pair, cert);
	CERT_FAST(cert, RI_SUCCESS, arm(&pair, RI_ARM_COUNT, 3));
	send_one(&pair, 1, 0);
	send_one(&pair, 2, RI_WR_SOLICITED);
	expect_notified(&pair, 0);
	send_one(&pair, 3, 0);
	wait_notified(&pair, 1);
	CERT_FAST(cert, RI_ERR_NOT_EMPTY, arm(&pair, RI_ARM_COUNT, 3));
	CERT_FAST(cert, RI_SUCCESS, arm(&pair, RI_ARM_COUNT, 4));
	send_one(&pair, 4, 0);
	wait_notified(&pair, 2);
	drain(&pair);
	cert_note(cert, "a later arming replaces an earlier one");
	CERT_FAST(cert, RI_SUCCESS, arm(&pair, RI_ARM_NEXT, 1));
	CERT_FAST(cert, RI_SUCCESS, arm(&pair, RI_ARM_COUNT, 2));
	send_one(&pair, 5, 0);
	expect_notified(&pair, 2);
	send_one(&pair, 6, 0);
	wait_notified(&pair, 3);
}

/* Without the claim an upcall may come early, never late. */

static void
arm_solicited_early(struct cert *cert)
{
	struct pair pair;

	pair_connected(&pair, cert);
	CERT_FAST(cert, RI_SUCCESS, arm(&pair, RI_ARM_SOLICITED, 1));
	send_one(&pair, 1, RI_WR_SOLICITED);
	wait_notified(&pair, 1);
}

static void
arm_flag_early(struct cert *cert)
{
	struct ri_recv_wr recv = {.wr_id = 1, .num_sge = 1, .flags = RI_WR_NOTIFY};
	struct ri_sge sink, source;
	struct pair pair;

	pair_connected(&pair, cert);
	sink = cert_sge(pair.into, 0, 16);
	source = cert_sge(pair.from, 0, 16);
	recv.sgl = &sink;
	CERT_FAST(cert, RI_SUCCESS, arm(&pair, RI_ARM_SOLICITED, 1));
	CERT_FAST(cert, RI_SUCCESS, pair.far->p->fast->post_rq(pair.b->uqp, &recv));
	cert_post_send(pair.a, 2, &source, 1, 0);
	wait_notified(&pair, 1);
	cert_wc_is(pair.b, true, 1, RI_WC_SUCCESS);
	cert_wc_is(pair.a, false, 2, RI_WC_SUCCESS);
}

static void
arm_count_early(struct cert *cert)
{
	struct pair pair;

	pair_connected(&pair, cert);
	CERT_FAST(cert, RI_SUCCESS, arm(&pair, RI_ARM_COUNT, 2));
	send_one(&pair, 1, 0);
	send_one(&pair, 2, 0);
	wait_notified(&pair, 1);
}

/* Poll until empty, arm, poll again: no completion is left waiting without an upcall. */
static void
arm_against_poll(struct cert *cert)
{
	struct pair pair;
	unsigned seen = 0, armed = 0;
	gint64 until = 0;
	struct ri_sge source, sink;

	pair_connected(&pair, cert);
	source = cert_sge(pair.from, 0, 16);
	sink = cert_sge(pair.into, 0, 16);
	for (unsigned i = 0; i < 300; i++) {
		unsigned before = notified(&pair);
		bool is_armed = arm(&pair, RI_ARM_NEXT, 1) == RI_SUCCESS;
		struct ri_wc wc;

		armed += is_armed;
		cert_post_recv(pair.b, i, &sink, 1);
		cert_post_send(pair.a, i, &source, 1, 0);
		cert_wc_is(pair.a, false, i, RI_WC_SUCCESS);
		until = 0;
		while (is_armed && notified(&pair) == before)
			CERT_TRUE(cert, cert_patience(cert, &until));
		if (i % 7 == 3)
			continue; /* so the next arming finds a completion */
		while (pair.far->p->fast->poll_cq(pair.b->urcq, &wc, 1) > 0)
			CERT_UINT(cert, wc.wr_id, ==, seen++);
	}
	/* The sender may be told before the receiver, so the last ones may come behind the last poll. */
	while (seen < 300)
		cert_wc_is(pair.b, true, seen++, RI_WC_SUCCESS);
	cert_wc_none(pair.b, true);
	CERT_UINT(cert, notified(&pair), ==, armed);
}

/* --- sizes ------------------------------------------------------------------------------- */

static void
sizes(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	const uint32_t wanted[] = {1, 2, 3, 17, 64, 1000, 4097};

	for (size_t i = 0; i < G_N_ELEMENTS(wanted); i++) {
		uint32_t entries = MIN(wanted[i], node->attr.max_cqe);
		uint32_t least = entries;
		struct ri_cq *cq = NULL;
		struct ri_map map;

		CERT_VERB(cert, RI_SUCCESS,
			  node->p->cq->create(node->context, 1, &entries, &cq, &map));
		CERT_UINT(cert, entries, >=, least);
		CERT_VERB(cert, RI_SUCCESS, node->p->cq->destroy(cq));
	}
}

static void
size_limit(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	uint32_t entries = node->attr.max_cqe;
	struct ri_cq *cq = NULL;
	struct ri_map map;

	CERT_VERB(cert, RI_SUCCESS, node->p->cq->create(node->context, 1, &entries, &cq, &map));
	CERT_UINT(cert, entries, >=, node->attr.max_cqe);
	CERT_VERB(cert, RI_SUCCESS, node->p->cq->destroy(cq));
	if (node->attr.max_cqe == UINT32_MAX)
		return;
	entries = node->attr.max_cqe + 1;
	CERT_VERB(cert, RI_ERR_LIMIT, node->p->cq->create(node->context, 1, &entries, &cq, &map));
	entries = UINT32_MAX;
	CERT_VERB(cert, RI_ERR_LIMIT, node->p->cq->create(node->context, 1, &entries, &cq, &map));
}

static void
resize(struct cert *cert)
{
	struct pair pair;
	struct ri_map map;
	uint32_t entries;

	pair_connected(&pair, cert);
	for (uint64_t id = 1; id <= 6; id++)
		send_one(&pair, id, 0);
	cert_wc_is(pair.b, true, 1, RI_WC_SUCCESS);
	entries = MIN(200, pair.far->attr.max_cqe);
	CERT_VERB(cert, RI_SUCCESS, pair.far->p->cq->resize(pair.b->rcq, &entries, &map));
	CERT_UINT(cert, entries, >=, MIN(200, pair.far->attr.max_cqe));
	CERT_VERB(cert, RI_SUCCESS, pair.far->p->user->cq_remap(pair.b->urcq, &map));
	CERT_UINT(cert, pair.far->p->fast->cq_depth(pair.b->urcq), ==, 5);
	for (uint64_t id = 7; id <= 9; id++)
		send_one(&pair, id, 0);
	for (uint64_t id = 2; id <= 9; id++)
		cert_wc_is(pair.b, true, id, RI_WC_SUCCESS);
	cert_wc_none(pair.b, true);
}

static void
resize_refused(struct cert *cert)
{
	struct pair pair;
	struct ri_map map;
	uint32_t entries = 1;
	enum ri_status status;

	pair_connected(&pair, cert);
	for (uint64_t id = 1; id <= 6; id++)
		send_one(&pair, id, 0);
	cert_note(cert, "fewer entries than completions that are present");
	status = pair.far->p->cq->resize(pair.b->rcq, &entries, &map);
	if (status == RI_SUCCESS) { /* a queue has a least size */
		CERT_UINT(cert, entries, >=, 6);
		CERT_VERB(cert, RI_SUCCESS, pair.far->p->user->cq_remap(pair.b->urcq, &map));
	} else {
		CERT_UINT(cert, status, ==, RI_ERR_BUSY);
	}
	if (pair.far->attr.max_cqe < UINT32_MAX) {
		entries = pair.far->attr.max_cqe + 1;
		CERT_VERB(cert, RI_ERR_LIMIT, pair.far->p->cq->resize(pair.b->rcq, &entries, &map));
	}
	for (uint64_t id = 1; id <= 6; id++)
		cert_wc_is(pair.b, true, id, RI_WC_SUCCESS);
}

static const struct cert_case cases[] = {
	{.id = "verbs.cq.poll.0001",
	 .title = "Polling takes the oldest completions, at most as many as asked for",
	 .rule = "[RI 2.3.1] [RI 2.3.2]",
	 .settles = "in_order_completion",
	 .run = poll_takes_the_oldest},
	{.id = "verbs.cq.poll.0002",
	 .title = "Polling for none takes none",
	 .rule = "[RI 2.3.1]",
	 .run = poll_of_none},
	{.id = "verbs.cq.poll.0003",
	 .title = "Completions keep their order when a queue is used many times over",
	 .rule = "[RI 3.2.1]",
	 .run = poll_goes_round},
	{.id = "verbs.cq.arm.0001",
	 .title = "An armed queue gives one upcall for the next completion, and no second one",
	 .rule = "[RI 7.1]",
	 .run = arm_next},
	{.id = "verbs.cq.arm.0002",
	 .title = "Arming a queue that has a completion is answered, and gives no upcall",
	 .rule = "[RI 7.2]",
	 .run = arm_not_empty},
	{.id = "verbs.cq.arm.0003",
	 .title = "A queue can be disarmed",
	 .rule = "[RI 7.1]",
	 .needs = "cq_notify_flag",
	 .run = arm_none},
	{.id = "verbs.cq.arm.0004",
	 .title = "Arming for what does not exist is refused and arms nothing",
	 .rule = "[RI 2.1.1] [RI 7.1]",
	 .run = arm_invalid},
	{.id = "verbs.cq.arm.0005",
	 .title = "A queue that is armed for solicited completions is told of no other",
	 .rule = "[RI 7.1] [RI 7.3]",
	 .needs = "solicited_works",
	 .settles = "solicited_works",
	 .run = arm_solicited},
	{.id = "verbs.cq.arm.0006",
	 .title = "An error counts as solicited",
	 .rule = "[RI 7.3]",
	 .run = arm_solicited_error},
	{.id = "verbs.cq.arm.0007",
	 .title = "The flag of a receive makes its completion solicited",
	 .rule = "[RI 7.3]",
	 .needs = "cq_notify_flag",
	 .settles = "cq_notify_flag",
	 .run = arm_notify_flag},
	{.id = "verbs.cq.arm.0008",
	 .title = "A queue that is armed for a number of completions waits for it",
	 .rule = "[RI 7.1] [RI 7.3]",
	 .needs = "cq_arm_count",
	 .settles = "cq_arm_count",
	 .run = arm_count},
	{.id = "verbs.cq.arm.0009",
	 .title = "Polling and arming in turn misses no completion and makes up none",
	 .rule = "[RI 7.2]",
	 .run = arm_against_poll},
	{.id = "verbs.cq.arm.0010",
	 .title = "A queue that is armed for what is new reports each completion once",
	 .rule = "[RI 7.5]",
	 .run = arm_unreported},
	{.id = "verbs.cq.arm.0011",
	 .title = "Arming that finds a completion undoes an earlier arming",
	 .rule = "[RI 7.1] [RI 7.2]",
	 .needs = "solicited_works",
	 .run = arm_replaced},
	{.id = "verbs.cq.arm.0012",
	 .title = "Without the claim a solicited message notifies early, never late",
	 .rule = "[RI 7.4]",
	 .needs = "!solicited_works",
	 .settles = "solicited_works",
	 .run = arm_solicited_early},
	{.id = "verbs.cq.arm.0013",
	 .title = "Without the claim a receive with the flag notifies early, never late",
	 .rule = "[RI 7.3]",
	 .needs = "!cq_notify_flag",
	 .settles = "cq_notify_flag",
	 .run = arm_flag_early},
	{.id = "verbs.cq.arm.0014",
	 .title = "Without the claim a number of completions notifies early, never late",
	 .rule = "[RI 7.3]",
	 .needs = "!cq_arm_count",
	 .settles = "cq_arm_count",
	 .run = arm_count_early},
	{.id = "verbs.cq.size.0001",
	 .title = "A completion queue is at least as large as asked for",
	 .rule = "[RI 2.2.2]",
	 .run = sizes},
	{.id = "verbs.cq.size.0002",
	 .title = "A completion queue of max_cqe can be created, and no larger one",
	 .rule = "[RI 2.2.2]",
	 .settles = "max_cqe",
	 .run = size_limit},
	{.id = "verbs.cq.size.0003",
	 .title = "A completion queue that is resized keeps its completions and their order",
	 .rule = "[RI 10.16]",
	 .needs = "cq_resizable",
	 .settles = "cq_resizable",
	 .run = resize},
	{.id = "verbs.cq.size.0004",
	 .title = "A completion queue is not resized below what is present or above the limit",
	 .rule = "[RI 10.16] [RI 2.1.1]",
	 .needs = "cq_resizable",
	 .run = resize_refused},
};

CERT_SET(verbs_cq, cases);
