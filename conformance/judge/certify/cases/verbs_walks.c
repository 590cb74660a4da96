/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Long random sequences of operations, compared after each step with a model: a completion queue
 * that receives messages and is polled, armed and resized in any order; and words that atomics of
 * two queue pairs change, with few different values, so that comparisons often succeed.
 */

#include <string.h>

#include "verbs_pair.h"

/* --- a completion queue ------------------------------------------------------------------------ */

#define STEPS   700u
#define PRESENT 12u  /* completions at most */
#define WIDE    700u /* of the walk that goes far */
#define BURST   200u /* messages of a step of that one, at most */

struct queue {
	struct pair pair;
	const struct ri_fast_ops *fast;
	bool requests; /* completions are those of requests of its end, not of messages */
	struct ri_cq *cq;
	struct ri_ucq *ucq;
	uint64_t ctx; /* of the queue */
	uint64_t first,
		next; /* identities of the oldest receive that is present and of the next one */
	bool solicited[WIDE]; /* by identity */
	enum ri_arm armed;    /* RI_ARM_NONE: it has reported, or never was */
	uint32_t count;
	unsigned told;  /* reports that have come */
	uint32_t most;  /* completions */
	uint32_t burst; /* messages of a step, at most */
};

static uint32_t
present(const struct queue *queue)
{
	return (uint32_t)(queue->next - queue->first);
}

static bool
holds(const struct queue *queue, enum ri_arm how, uint32_t count)
{
	bool solicited = false;

	for (uint64_t i = queue->first; i < queue->next; i++)
		solicited |= queue->solicited[i % WIDE];
	switch (how) {
	case RI_ARM_NEXT:
		return present(queue) > 0;
	case RI_ARM_SOLICITED:
		return solicited;
	case RI_ARM_COUNT:
		return present(queue) >= count;
	case RI_ARM_NONE:
	case RI_ARM_UNREPORTED:
	default:
		return false;
	}
}

static void
step_poll(struct queue *queue)
{
	struct cert *cert = queue->pair.cert;
	struct ri_wc wc[WIDE + 5], behind;
	uint32_t most =
		1 + cert_random_below(cert, queue->burst > 1 && cert_random_below(cert, 3) == 0
						    ? present(queue) + 4
						    : 4);
	uint32_t expected = MIN(most, present(queue));

	if (expected == 0)
		return;
	memset(&wc[most], 0xa5, sizeof(wc[0]));
	behind = wc[most];
	CERT_UINT(cert, queue->fast->poll_cq(queue->ucq, wc, most), ==, expected);
	CERT_BYTES(cert, &wc[most], &behind, sizeof(behind));
	for (uint32_t i = 0; i < expected; i++, queue->first++) {
		CERT_UINT(cert, wc[i].wr_id, ==, queue->first);
		CERT_UINT(cert, wc[i].status, ==, RI_WC_SUCCESS);
		if (cert_attr(cert)->solicited_works)
			CERT_UINT(cert, (wc[i].flags & RI_WC_SOLICITED) != 0, ==,
				  queue->solicited[queue->first % WIDE]);
	}
}

/* A message comes, solicited by its sender or by its receive, or by neither. */
static void
message(struct queue *queue, bool sender, bool receiver)
{
	struct pair *pair = &queue->pair;
	const struct ri_recv_wr recv = {.wr_id = queue->next,
					.flags = receiver ? RI_WR_NOTIFY : 0u};

	CERT_FAST(pair->cert, RI_SUCCESS, queue->fast->post_rq(pair->b->uqp, &recv));
	cert_post_send(pair->a, queue->next, NULL, 0, sender ? RI_WR_SOLICITED : 0u);
	cert_wc_is(pair->a, false, queue->next, RI_WC_SUCCESS);
}

/* A request is done. */
static void
request(struct queue *queue, bool notify)
{
	cert_post(queue->pair.b,
		  &(struct ri_wr){.wr_id = queue->next,
				  .opcode = RI_OP_RDMA_WRITE,
				  .flags = RI_WR_SIGNALED | (notify ? RI_WR_NOTIFY : 0u)});
}

/* Of many completions few are solicited. */
static void
arrival(struct queue *queue)
{
	struct pair *pair = &queue->pair;
	struct cert *cert = pair->cert;
	uint32_t seldom = queue->burst > 1 ? 60 : 4;
	bool sender = !queue->requests && cert_random_below(cert, seldom) == 0;
	bool receiver = cert_attr(cert)->cq_notify_flag && cert_random_below(cert, 2 * seldom) == 0;
	gint64 until = 0;

	if (queue->requests)
		request(queue, receiver);
	else
		message(queue, sender, receiver);
	queue->solicited[queue->next % WIDE] = sender || receiver;
	queue->next++;
	for (unsigned i = 0; i < 200 && queue->fast->cq_depth(queue->ucq) < present(queue); i++) {
		(void)queue->fast->progress(pair->far->urnic, 64);
		(void)queue->fast->progress(pair->near->urnic, 64);
	}
	while (queue->fast->cq_depth(queue->ucq) < present(queue))
		CERT_TRUE(cert, cert_patience(cert, &until));
	if (!holds(queue, queue->armed, queue->count))
		return;
	queue->told++;
	queue->armed = RI_ARM_NONE;
	for (until = 0; cert_cq_events(pair->far, queue->ctx) < queue->told;)
		CERT_TRUE(cert, cert_patience(cert, &until));
}

static void
step_arrivals(struct queue *queue)
{
	uint32_t count = 1 + cert_random_below(queue->pair.cert, queue->burst);

	if (present(queue) == queue->most)
		step_poll(queue);
	for (; count > 0 && present(queue) < queue->most; count--)
		arrival(queue);
}

static void
step_arm(struct queue *queue)
{
	static const enum ri_arm all[] = {RI_ARM_NONE,      RI_ARM_NEXT,  RI_ARM_SOLICITED,
					  RI_ARM_SOLICITED, RI_ARM_COUNT, RI_ARM_COUNT};
	struct cert *cert = queue->pair.cert;
	enum ri_arm how = all[cert_random_below(cert, G_N_ELEMENTS(all))];
	uint32_t count = 1 + cert_random_below(cert, present(queue) + 2 + queue->burst);
	bool refused;

	if ((how == RI_ARM_SOLICITED && !cert_attr(cert)->solicited_works) ||
	    (how == RI_ARM_COUNT && !cert_attr(cert)->cq_arm_count))
		how = RI_ARM_NEXT;
	refused = holds(queue, how, count);
	CERT_FAST(cert, refused ? RI_ERR_NOT_EMPTY : RI_SUCCESS,
		  queue->fast->arm_cq(queue->ucq, how, count));
	queue->armed = refused ? RI_ARM_NONE : how;
	queue->count = count;
}

static void
step_resize(struct queue *queue)
{
	const struct ri_provider *p = queue->pair.far->p;
	struct cert *cert = queue->pair.cert;
	uint32_t entries = MAX(16, queue->most + 4) + cert_random_below(cert, 50);
	struct ri_map map;

	if (!cert_attr(cert)->cq_resizable || entries > cert_attr(cert)->max_cqe)
		return;
	CERT_VERB(cert, RI_SUCCESS, p->cq->resize(queue->cq, &entries, &map));
	CERT_VERB(cert, RI_SUCCESS, p->user->cq_remap(queue->ucq, &map));
}

/* With `most` completions at most, and up to `burst` messages in one step. */
static void
queue_steps(struct cert *cert, bool requests, uint32_t most, uint32_t burst)
{
	g_autofree struct queue *queue = g_new0(struct queue, 1);
	struct cert_node *node = cert_node_open(cert);
	struct ri_qp_init init = cert_end_defaults(node);

	cert_node_close(node);
	most = MIN(most, MIN(cert_attr(cert)->max_rq_wr, cert_attr(cert)->max_cqe));
	most = MIN(most, cert_attr(cert)->max_sq_wr);
	init.max_rq_wr = init.max_sq_wr = most;
	pair_open(&queue->pair, cert, &init);
	cert_connect(queue->pair.a, queue->pair.b);
	queue->fast = cert_provider(cert)->fast;
	queue->requests = requests;
	queue->cq = requests ? queue->pair.b->scq : queue->pair.b->rcq;
	queue->ucq = requests ? queue->pair.b->uscq : queue->pair.b->urcq;
	queue->ctx = requests ? queue->pair.b->scq_ctx : queue->pair.b->rcq_ctx;
	queue->most = most;
	queue->burst = burst;
	for (unsigned step = 0; step < (burst > 1 ? STEPS / 5 : STEPS); step++) {
		switch (cert_random_below(cert, 12)) {
		case 0:
			step_resize(queue);
			break;
		case 1:
		case 2:
			step_poll(queue);
			break;
		case 3:
		case 4:
		case 5:
			step_arm(queue);
			break;
		default:
			step_arrivals(queue);
			break;
		}
		CERT_UINT(cert, queue->fast->cq_depth(queue->ucq), ==, present(queue));
		CERT_UINT(cert, cert_cq_events(queue->pair.far, queue->ctx), ==, queue->told);
	}
	cert_note(cert, "%u reports of %" G_GUINT64_FORMAT " messages", queue->told,
		  (guint64)queue->next);
}

static void
queue_walk(struct cert *cert)
{
	queue_steps(cert, false, PRESENT, 1);
}

/* Numbers beyond 255 and 511, and polls of many. */
static void
wide_walk(struct cert *cert)
{
	queue_steps(cert, false, WIDE, BURST);
}

static void
request_walk(struct cert *cert)
{
	queue_steps(cert, true, PRESENT, 1);
	queue_steps(cert, true, WIDE, BURST);
}

/* --- words that atomics change ------------------------------------------------------------------- */

#define WORDS  3u
#define TURNS  500u
#define AT_ONE 12u /* requests that are posted together, at most: also more than ORD */

struct words {
	struct cert *cert;
	struct cert_node *near, *far;
	struct cert_end *a[2], *b[2];
	struct cert_region *from, *words;
	uint64_t is[WORDS];
	struct ri_wr last; /* as it was posted, whichever queue pair had it */
};

static uint64_t
few(struct words *words)
{
	static const uint64_t values[] = {0, 1, 2, UINT64_C(1) << 32};

	return values[cert_random_below(words->cert, G_N_ELEMENTS(values))];
}

/* Half of the requests are like the one before. */
static struct ri_wr
some_atomic(struct words *words)
{
	if (words->last.opcode == RI_OP_NONE || cert_random_below(words->cert, 2) == 0) {
		bool swaps = cert_random_below(words->cert, 3) > 0;

		words->last = (struct ri_wr){.opcode = swaps ? RI_OP_CMP_SWAP : RI_OP_FETCH_ADD};
		words->last.u.remote =
			(struct ri_wr_remote){.addr = (uintptr_t)words->words->at +
						      8ull * cert_random_below(words->cert, WORDS),
					      .stag = words->words->stag,
					      .operand = few(words),
					      .swap = swaps ? few(words) : 0};
	}
	return words->last;
}

/* What it answers; the model of the words is changed. */
static uint64_t
answer_of(struct words *words, const struct ri_wr *wr)
{
	uint64_t *word = &words->is[(wr->u.remote.addr - (uintptr_t)words->words->at) / 8];
	uint64_t before = *word;

	if (wr->opcode == RI_OP_FETCH_ADD)
		*word += wr->u.remote.operand;
	else if (before == wr->u.remote.operand)
		*word = wr->u.remote.swap;
	return before;
}

/* Up to AT_ONE requests of one queue pair, each with a result of its own. */
static void
some_atomics(struct words *words)
{
	struct cert_end *end = words->a[cert_random_below(words->cert, 2)];
	uint32_t most = cert_random_below(words->cert, 4) == 0 ? AT_ONE : 3;
	unsigned count = 1 + cert_random_below(words->cert, MIN(most, end->init.max_sq_wr));
	uint64_t answers[AT_ONE], seen[AT_ONE];

	memset(words->from->at, 0xa5, 8 * AT_ONE);
	for (unsigned i = 0; i < count; i++) {
		struct ri_sge result = cert_sge(words->from, 8ull * i, 8);
		struct ri_wr wr = some_atomic(words);

		answers[i] = answer_of(words, &wr);
		wr.wr_id = i;
		wr.sgl = &result;
		wr.num_sge = 1;
		wr.flags = RI_WR_SIGNALED;
		cert_post(end, &wr);
	}
	for (unsigned i = 0; i < count; i++)
		CERT_UINT(words->cert, cert_wc_is(end, false, i, RI_WC_SUCCESS).byte_len, ==, 8);
	memcpy(seen, words->from->at, sizeof(seen));
	for (unsigned i = 0; i < count; i++)
		CERT_UINT(words->cert, seen[i], ==, answers[i]);
	CERT_BYTES(words->cert, words->words->at, words->is, sizeof(words->is));
}

static void
word_walk(struct cert *cert)
{
	struct words words = {.cert = cert};

	words.near = cert_node_open(cert);
	words.far = cert_node_open(cert);
	words.from = cert_region_new(words.near, 8 * AT_ONE, CERT_ALL);
	words.words =
		cert_region_new(words.far, sizeof(words.is), CERT_ALL | RI_ACCESS_REMOTE_ATOMIC);
	memset(words.words->at, 0, sizeof(words.is));
	for (unsigned i = 0; i < 2; i++) {
		words.a[i] = cert_end_new(words.near, NULL);
		words.b[i] = cert_end_new(words.far, NULL);
		cert_connect(words.a[i], words.b[i]);
	}
	for (unsigned turn = 0; turn < TURNS; turn++) {
		some_atomics(&words);
		if (cert_random_below(cert, 4) == 0) { /* their owner changes a word */
			words.is[turn % WORDS] = few(&words);
			memcpy(words.words->at, words.is, sizeof(words.is));
		}
	}
}

static const struct cert_case cases[] = {
	{.id = "verbs.walk.queue.0001",
	 .title = "A completion queue reports and holds what it must, however messages, polls, "
		  "armings and resizes follow each other",
	 .rule = "[RI 7.1] [RI 7.2] [RI 7.3] [RI 10.16]",
	 .run = queue_walk},
	{.id = "verbs.walk.queue.0002",
	 .title = "A completion queue with hundreds of completions reports and holds what it must",
	 .rule = "[RI 2.3.1] [RI 7.1] [RI 7.2] [RI 7.3] [RI 10.16]",
	 .run = wide_walk},
	{.id = "verbs.walk.queue.0003",
	 .title = "A completion queue of requests reports and holds what it must",
	 .rule = "[RI 2.3.1] [RI 7.1] [RI 7.2] [RI 7.3] [RI 10.16]",
	 .run = request_walk},
	{.id = "verbs.walk.word.0001",
	 .title = "Atomics change words and answer as if done one by one, also when they repeat",
	 .rule = "[RI 10.5] [RI 3.2.1]",
	 .needs = "atomics max_ird max_ord",
	 .settles = "atomics",
	 .run = word_walk},
};

CERT_SET(verbs_walks, cases);
