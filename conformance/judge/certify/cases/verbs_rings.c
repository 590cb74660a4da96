/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Each ring wraps around many times and passes 65,536 uses, where 16-bit numbers wrap: work queues,
 * shared receive queues, completion queues, Reads and atomics at both sides, keys, and numbers of
 * queue pairs. The queues are small, and their sizes are not powers of 2 if the adapter grants such
 * sizes.
 */

#include <string.h>

#include "verbs_shared.h"
#include "verbs_ud.h"
#include "verbs_window.h"

#define USES  (65536u + 777u)
#define SLOTS 13u
#define WORDS (SLOTS - 1) /* that are read */

/*
 * A device that is far away, or takes long to create an object, passes 65,536 only if there is time for that; the
 * report lists what was left out. But each ring, of at most SLOTS slots, wraps around at least once, however long that
 * takes.
 */
#define ENOUGH (40 * G_USEC_PER_SEC)
#define LEAST  (32u * SLOTS)

static bool
goes_on(struct cert *cert, gint64 began, uint64_t done)
{
	if (done < LEAST || g_get_monotonic_time() < began + ENOUGH)
		return true;
	cert_note(cert,
		  "%" G_GUINT64_FORMAT " uses in the time that there is: what happens at the "
		  "65,536th was not tried",
		  (guint64)done);
	return false;
}

/* --- messages ---------------------------------------------------------------------------------- */

struct ring {
	struct cert *cert;
	struct cert_node *near, *far;
	struct cert_end *a, *b;
	struct shared *shared; /* of b, or NULL */
	struct cert_region *from, *into;
	uint32_t slots; /* of either queue */
};

static void
ring_open(struct ring *ring, struct cert *cert, struct shared *shared)
{
	struct ri_qp_init init;

	*ring = (struct ring){.cert = cert, .shared = shared};
	ring->near = cert_node_open(cert);
	ring->far = cert_node_open(cert);
	ring->from = cert_region_new(ring->near, 8 * SLOTS, CERT_ALL);
	ring->into = cert_region_new(
		ring->far, 8 * SLOTS,
		CERT_ALL | (cert_attr(cert)->atomics ? (uint32_t)RI_ACCESS_REMOTE_ATOMIC : 0u));
	init = cert_end_defaults(ring->near);
	init.max_inline = cert_attr(cert)->inline_data ? MIN(8, cert_attr(cert)->max_inline) : 0;
	init.max_sq_wr = MIN(SLOTS, cert_attr(cert)->max_sq_wr);
	init.max_rq_wr = MIN(SLOTS, cert_attr(cert)->max_rq_wr);
	ring->slots = MIN(init.max_sq_wr, init.max_rq_wr);
	ring->a = cert_end_new(ring->near, &init);
	if (shared != NULL) {
		ring->slots = MIN(ring->slots, cert_attr(cert)->max_srq_wr);
		shared_new(shared, ring->far, &init, ring->slots);
		ring->b = &shared->end;
	} else {
		ring->b = cert_end_new(ring->far, &init);
	}
	cert_connect(ring->a, ring->b);
}

/* What a message has besides its octets changes from one to the next, as far as it is claimed. */
static uint32_t
flags_of(const struct ring *ring, uint64_t number)
{
	const struct ri_rnic_attr *attr = cert_attr(ring->cert);
	bool immediate = (attr->immediate_with & RI_IMMEDIATE_SEND) != 0 && number % 3 == 0;

	return (immediate ? RI_WR_IMMEDIATE : 0u) |
	       (attr->inline_data && attr->max_inline >= 8 && number % 5 < 2 ? RI_WR_INLINE : 0u) |
	       (number % 7 < 3 ? RI_WR_SOLICITED : 0u);
}

/* Fills both queues and empties them. Only the last request is signalled. */
static void
full_turn(struct ring *ring, uint64_t first, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct ri_sge sink = cert_sge(ring->into, (size_t)i * 8, 8);
		struct ri_recv_wr recv = {.wr_id = first + i, .sgl = &sink, .num_sge = 1};

		shared_post(ring->shared, ring->b, &recv);
	}
	for (uint32_t i = 0; i < count; i++) {
		struct ri_sge source = cert_sge(ring->from, (size_t)i * 8, 8);
		uint64_t value = ~(first + i);

		memcpy(ring->from->at + (size_t)i * 8, &value, 8);
		cert_post(ring->a,
			  &(struct ri_wr){.wr_id = first + i,
					  .opcode = RI_OP_SEND,
					  .sgl = &source,
					  .num_sge = 1,
					  .imm = (uint32_t)(first + i),
					  .flags = flags_of(ring, first + i) |
						   (i == count - 1 ? RI_WR_SIGNALED : 0u)});
	}
	for (uint32_t i = 0; i < count; i++) {
		struct ri_wc wc = cert_wc_is(ring->b, true, first + i, RI_WC_SUCCESS);
		uint32_t flags = flags_of(ring, first + i);

		CERT_UINT(ring->cert, wc.byte_len, ==, 8);
		CERT_UINT(ring->cert, wc.flags & (RI_WC_IMMEDIATE | RI_WC_RECEIVE), ==,
			  RI_WC_RECEIVE | ((flags & RI_WR_IMMEDIATE) != 0 ? RI_WC_IMMEDIATE : 0));
		if ((flags & RI_WR_IMMEDIATE) != 0)
			CERT_UINT(ring->cert, wc.imm, ==, (uint32_t)(first + i));
		if (cert_attr(ring->cert)->solicited_works)
			CERT_UINT(ring->cert, (wc.flags & RI_WC_SOLICITED) != 0, ==,
				  (flags & RI_WR_SOLICITED) != 0);
	}
	cert_wc_is(ring->a, false, first + count - 1, RI_WC_SUCCESS);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t value;

		memcpy(&value, ring->into->at + (size_t)i * 8, 8);
		CERT_UINT(ring->cert, ~value, ==, first + i);
	}
}

static void
messages(struct cert *cert, struct shared *shared)
{
	gint64 began = g_get_monotonic_time();
	struct ring ring;

	ring_open(&ring, cert, shared);
	cert_note(cert, "%u messages over %u slots", USES, ring.slots);
	for (uint64_t done = 0; done < USES && goes_on(cert, began, done); done += ring.slots)
		full_turn(&ring, done, ring.slots);
	CERT_UINT(cert, ring.near->p->fast->cq_depth(ring.a->uscq), ==, 0);
	CERT_UINT(cert, ring.far->p->fast->cq_depth(ring.b->urcq), ==, 0);
	if (shared != NULL)
		shared_free(shared);
}

static void
own_queues(struct cert *cert)
{
	messages(cert, NULL);
}

static void
shared_queue(struct cert *cert)
{
	struct shared shared;

	messages(cert, &shared);
}

/* --- Writes --------------------------------------------------------------------------------------- */

/* Turns of Writes, each to another word than the one that many before it went to, and a Send that tells that they are there. */
static void
writes(struct cert *cert)
{
	gint64 began = g_get_monotonic_time();
	uint64_t is[WORDS] = {0};
	struct ring ring;
	uint64_t turn = 0;

	ring_open(&ring, cert, NULL);
	for (uint64_t done = 0; done < USES && goes_on(cert, began, done); turn++) {
		cert_post_recv(ring.b, turn, NULL, 0);
		for (uint32_t i = 0; i < ring.slots - 1; i++, done++) {
			struct ri_sge source = cert_sge(ring.from, (size_t)i * 8, 8);
			uint64_t word = (i + turn) % WORDS;

			is[word] = ~done;
			memcpy(ring.from->at + (size_t)i * 8, &is[word], 8);
			cert_post(ring.a,
				  &(struct ri_wr){
					  .wr_id = done,
					  .opcode = RI_OP_RDMA_WRITE,
					  .sgl = &source,
					  .num_sge = 1,
					  .u.remote = {.addr = (uintptr_t)ring.into->at + word * 8,
						       .stag = ring.into->stag}});
		}
		cert_post_send(ring.a, turn, NULL, 0, 0);
		cert_wc_is(ring.b, true, turn, RI_WC_SUCCESS);
		cert_wc_is(ring.a, false, turn, RI_WC_SUCCESS);
		CERT_BYTES(cert, ring.into->at, is, sizeof(is));
	}
}

/* --- datagrams and windows ------------------------------------------------------------------------ */

static void
datagrams(struct cert *cert)
{
	gint64 began = g_get_monotonic_time();
	struct mail mail;

	mail_open(&mail, cert);
	for (uint64_t done = 0; done < USES && goes_on(cert, began, done); done++) {
		uint32_t length = 8 + (uint32_t)(done % 5);

		memcpy(mail.from->at, &done, 8);
		mail_offer(&mail, done, 16);
		mail_send(&mail, done, length);
		mail_arrives(&mail, done, length);
		CERT_BYTES(cert, mail.into->at + UD_GRH, &done, 8);
	}
	mail_undisturbed(&mail);
}

/* A window is bound to another place each time, is used there in some rounds, and is taken away. */
static void
windows(struct cert *cert)
{
	gint64 began = g_get_monotonic_time();
	struct mw_scene scene;

	mw_scene_open(&scene, cert, RI_MW_NARROW);
	for (uint64_t done = 0; done < USES && goes_on(cert, began, done); done++) {
		size_t at = (size_t)(done % 13) * 16;

		mw_bind(&scene, at, 16, MW_RIGHTS);
		scene.stag = mw_attr(&scene).stag;
		if (done % 512 == 0 || (done >= 65535 && done <= 65538))
			mw_write(&scene, at, true);
		cert_post(scene.pair.b, &(struct ri_wr){.wr_id = done,
							.opcode = RI_OP_LOCAL_INV,
							.flags = RI_WR_SIGNALED,
							.inv_stag = scene.stag});
		cert_wc_is(scene.pair.b, false, done, RI_WC_SUCCESS);
	}
	mw_scene_end(&scene);
}

/* --- what the peer answers ------------------------------------------------------------------------ */

/* What the i-th request of a turn reads: a word of the peer, which tells its number. */
static struct ri_wr
read_of(struct ring *ring, uint64_t done, uint32_t i, const struct ri_sge *sink)
{
	uint64_t word = (done + i * 5) % WORDS;

	return (struct ri_wr){.wr_id = done + i,
			      .opcode = RI_OP_RDMA_READ,
			      .sgl = sink,
			      .num_sge = 1,
			      .u.remote = {.addr = (uintptr_t)ring->into->at + word * 8,
					   .stag = ring->into->stag}};
}

/*
 * Each turn posts as many requests as the queue takes, so that most of them wait. With atomics,
 * every second request adds to a word behind the memory that is read, and returns the value that
 * the atomic before it left.
 */
static void
answers(struct cert *cert)
{
	bool adds = cert_attr(cert)->atomics;
	uint64_t value = UINT64_MAX - 70000;
	gint64 began = g_get_monotonic_time();
	struct ring ring;

	ring_open(&ring, cert, NULL);
	for (uint64_t i = 0; i < WORDS; i++)
		memcpy(ring.into->at + i * 8, &i, 8);
	memcpy(ring.into->at + WORDS * 8, &value, 8);
	for (uint64_t done = 0; done < USES && goes_on(cert, began, done); done += ring.slots) {
		for (uint32_t i = 0; i < ring.slots; i++) {
			struct ri_sge sink = cert_sge(ring.from, (size_t)i * 8, 8);
			struct ri_wr wr = read_of(&ring, done, i, &sink);

			if (adds && i % 2 == 1) {
				wr.opcode = RI_OP_FETCH_ADD;
				wr.u.remote.addr = (uintptr_t)ring.into->at + WORDS * 8;
				wr.u.remote.operand = 3;
			}
			wr.flags = i == ring.slots - 1 ? RI_WR_SIGNALED : 0;
			cert_post(ring.a, &wr);
		}
		cert_wc_is(ring.a, false, done + ring.slots - 1, RI_WC_SUCCESS);
		for (uint32_t i = 0; i < ring.slots; i++) {
			bool added = adds && i % 2 == 1;
			uint64_t seen;

			memcpy(&seen, ring.from->at + (size_t)i * 8, 8);
			CERT_UINT(cert, seen, ==, added ? value : (done + i * 5) % WORDS);
			value += added ? 3 : 0;
		}
	}
}

/* --- completion queues ------------------------------------------------------------------------- */

/* Armed and told, again and again; and each time with completions left in the queue, which moves its beginning. */
static void
armed_queue(struct cert *cert)
{
	struct pair pair;
	const struct ri_fast_ops *fast = cert_provider(cert)->fast;
	unsigned told = 0;

	pair_connected(&pair, cert);
	for (unsigned i = 0; i < 700; i++) {
		gint64 until = 0;

		cert_post_recv(pair.b, i, &pair.sink, 1);
		CERT_FAST(cert, RI_SUCCESS, fast->arm_cq(pair.b->urcq, RI_ARM_NEXT, 1));
		cert_post_send(pair.a, i, &pair.source, 1, 0);
		while (cert_cq_events(pair.far, pair.b->rcq_ctx) == told)
			CERT_TRUE(cert, cert_patience(cert, &until));
		told++;
		CERT_UINT(cert, cert_cq_events(pair.far, pair.b->rcq_ctx), ==, told);
		cert_wc_is(pair.b, true, i, RI_WC_SUCCESS);
		cert_wc_is(pair.a, false, i, RI_WC_SUCCESS);
	}
}

/* A queue with `present` completions and its beginning at every place becomes larger and smaller: none is lost. */
static void
resized_queue(struct cert *cert)
{
	struct pair pair;
	const struct ri_provider *p = cert_provider(cert);
	uint64_t posted = 0, taken = 0;

	pair_connected(&pair, cert);
	for (unsigned round = 0; round < 120; round++) {
		uint32_t entries = round % 2 == 0 ? 40 + round % 7 : 32;
		gint64 until = 0;
		struct ri_map map;

		for (unsigned i = 0; i < 5; i++, posted++) {
			cert_post_recv(pair.b, posted, NULL, 0);
			cert_post_send(pair.a, posted, NULL, 0, 0);
			cert_wc_is(pair.a, false, posted, RI_WC_SUCCESS);
		}
		while (p->fast->cq_depth(pair.b->urcq) < posted - taken)
			CERT_TRUE(cert, cert_patience(cert, &until));
		for (; taken < posted - 3; taken++)
			cert_wc_is(pair.b, true, taken, RI_WC_SUCCESS);
		CERT_VERB(cert, RI_SUCCESS, p->cq->resize(pair.b->rcq, &entries, &map));
		CERT_VERB(cert, RI_SUCCESS, p->user->cq_remap(pair.b->urcq, &map));
		CERT_UINT(cert, p->fast->cq_depth(pair.b->urcq), ==, 3);
	}
	for (; taken < posted; taken++)
		cert_wc_is(pair.b, true, taken, RI_WC_SUCCESS);
	cert_wc_none(pair.b, true);
}

/* Receives stay posted, in their order, when their queue is resized: that of a queue pair, or a shared one. */
static void
resized_receives(struct cert *cert, struct shared *shared)
{
	const struct ri_provider *p = cert_provider(cert);
	uint64_t posted = 0, taken = 0;
	struct ring ring;

	ring_open(&ring, cert, shared);
	for (unsigned round = 0; round < 60; round++) {
		uint32_t slots = SLOTS + (round % 2 == 0 ? round % 7 : 0);
		struct ri_qp_attr attr = {.max_sq_wr = ring.a->init.max_sq_wr,
					  .max_rq_wr = slots,
					  .max_send_sge = 1,
					  .max_recv_sge = 1,
					  .max_write_sge = 1,
					  .max_read_sge = 1};
		struct ri_srq_attr wanted = {.max_wr = slots, .limit = RI_SRQ_LIMIT_KEEP};
		struct ri_map map;

		for (; posted < taken + 5; posted++)
			shared_post(shared, ring.b, &(struct ri_recv_wr){.wr_id = posted});
		if (shared != NULL) {
			CERT_VERB(cert, RI_SUCCESS,
				  p->srq->modify(shared->srq, &wanted, true, &map));
			CERT_VERB(cert, RI_SUCCESS, p->user->srq_remap(shared->usrq, &map));
		} else {
			CERT_VERB(cert, RI_SUCCESS, p->qp->resize(ring.b->qp, &attr, &map));
			CERT_VERB(cert, RI_SUCCESS, p->user->qp_remap(ring.b->uqp, &attr, &map));
		}
		for (unsigned i = 0; i < 3; i++, taken++) {
			cert_post_send(ring.a, taken, NULL, 0, 0);
			cert_wc_is(ring.b, true, taken, RI_WC_SUCCESS);
			cert_wc_is(ring.a, false, taken, RI_WC_SUCCESS);
		}
	}
	if (shared != NULL)
		shared_free(shared);
}

static void
resized_own(struct cert *cert)
{
	resized_receives(cert, NULL);
}

static void
resized_shared(struct cert *cert)
{
	struct shared shared;

	resized_receives(cert, &shared);
}

/* --- numbers of objects --------------------------------------------------------------------------- */

/* Numbers of queue pairs that exist stay different, and each finds its own, after many came and went. */
static void
pair_numbers(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	const struct ri_provider *p = node->p;
	struct cert_end *kept[5];
	uint32_t numbers[5];
	struct ri_qp_init least = {
		.type = RI_QP_RC, .max_sq_wr = 1, .max_rq_wr = 1, .hard_limit = UINT32_MAX};
	gint64 began = g_get_monotonic_time();

	for (unsigned i = 0; i < G_N_ELEMENTS(kept); i++) {
		kept[i] = cert_end_new(node, NULL);
		numbers[i] = cert_end_attr(kept[i]).qpn;
	}
	least.ctx = cert_ctx_new(node, RI_OBJECT_QP);
	for (uint32_t n = 0; n < USES && goes_on(cert, began, n); n++) {
		struct ri_qp_init init = least;
		struct ri_qp_attr attr = {0};
		struct ri_qp *qp = NULL;
		struct ri_map map;

		CERT_VERB(cert, RI_SUCCESS,
			  p->qp->create(node->pd, &init, kept[0]->scq, kept[0]->rcq, NULL, &qp,
					&map));
		CERT_VERB(cert, RI_SUCCESS, p->qp->query(qp, &attr));
		for (unsigned i = 0; i < G_N_ELEMENTS(kept); i++)
			CERT_UINT(cert, attr.qpn, !=, numbers[i]);
		CERT_UINT(cert, attr.qpn, <=, 0xffffff);
		CERT_VERB(cert, RI_SUCCESS, p->qp->destroy(qp));
	}
}

/* Keys of regions that exist stay different after many came and went. */
static void
region_keys(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct cert_region *kept[5];
	uint8_t memory[16];
	struct ri_mr_init init = {
		.addr = (uintptr_t)memory, .length = sizeof(memory), .access = CERT_LOCAL};
	gint64 began = g_get_monotonic_time();

	for (unsigned i = 0; i < G_N_ELEMENTS(kept); i++)
		kept[i] = cert_region_new(node, 64, CERT_ALL);
	for (uint32_t n = 0; n < USES && goes_on(cert, began, n); n++) {
		struct ri_mr *mr = NULL;
		uint32_t stag;

		CERT_VERB(cert, RI_SUCCESS, node->p->mem->mr_reg(node->pd, &init, &mr, &stag));
		for (unsigned i = 0; i < G_N_ELEMENTS(kept); i++)
			CERT_UINT(cert, stag >> 8, !=, kept[i]->stag >> 8);
		CERT_VERB(cert, RI_SUCCESS, node->p->mem->mr_dereg(mr));
	}
}

/* One object of each other kind that the adapter has, created and destroyed. */
static void
object_turn(struct cert_node *node, uint64_t ctx, struct ri_ah_init *way)
{
	const struct ri_provider *p = node->p;
	struct cert *cert = node->cert;
	uint32_t entries = 1, id;
	struct ri_cq *cq = NULL;
	struct ri_mw *mw = NULL;
	struct ri_ah *ah = NULL;
	struct ri_pd *pd = NULL;
	struct ri_map map;

	CERT_VERB(cert, RI_SUCCESS, p->pd->create(node->context, &pd));
	CERT_VERB(cert, RI_SUCCESS, p->cq->create(node->context, ctx, &entries, &cq, &map));
	if (node->attr.mw_narrow) {
		CERT_VERB(cert, RI_SUCCESS, p->mem->mw_alloc(pd, RI_MW_NARROW, &mw, &id));
		CERT_UINT(cert, id, !=, 0);
		CERT_VERB(cert, RI_SUCCESS, p->mem->mw_free(mw));
	}
	if (node->attr.ud) {
		CERT_VERB(cert, RI_SUCCESS, p->ah->create(pd, way, &ah, &id));
		CERT_VERB(cert, RI_SUCCESS, p->ah->destroy(ah));
	}
	CERT_VERB(cert, RI_SUCCESS, p->cq->destroy(cq));
	CERT_VERB(cert, RI_SUCCESS, p->pd->destroy(pd));
}

/* More of each kind than can exist at once, if that is in reach: what is destroyed makes room for another one. */
static void
objects(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	uint64_t ctx = cert_ctx_new(node, RI_OBJECT_CQ);
	struct ri_ah_init way = {.dest = cert_address(node)};
	gint64 began = g_get_monotonic_time();
	uint32_t turns = MIN(MAX(node->attr.max_pd, node->attr.max_cq), USES) + 10;

	cert_note(cert, "%u times", turns);
	for (uint32_t n = 0; n < turns && goes_on(cert, began, n); n++)
		object_turn(node, ctx, &way);
}

static const struct cert_case cases[] = {
	{.id = "verbs.ring.message.0001",
	 .title = "Messages go on past the 65,536th, over work queues that are full each time",
	 .rule = "[RI 3.2.1] [RI 3.2.7]",
	 .run = own_queues},
	{.id = "verbs.ring.message.0002",
	 .title = "Messages go on past the 65,536th, over a shared receive queue that is full each "
		  "time",
	 .rule = "[RI 6.2] [RI 6.3]",
	 .needs = "srq",
	 .settles = "srq",
	 .run = shared_queue},
	{.id = "verbs.ring.write.0001",
	 .title = "RDMA Writes go on past the 65,536th, each to its own place",
	 .rule = "[RI 3.1] [RI 3.2.1]",
	 .run = writes},
	{.id = "verbs.ring.datagram.0001",
	 .title = "Datagrams go on past the 65,536th, each with its own octets and length",
	 .rule = "[RI 10.34] [RI 3.2.7]",
	 .needs = "ud",
	 .settles = "ud",
	 .run = datagrams},
	{.id = "verbs.ring.window.0001",
	 .title = "A window is bound and taken away past the 65,536th time",
	 .rule = "[RI 5.6.1] [RI 5.7.1]",
	 .needs = "mw_narrow mw_narrow_unbind",
	 .run = windows},
	{.id = "verbs.ring.answer.0001",
	 .title = "RDMA Reads and atomics go on past the 65,536th, and none is lost or done twice",
	 .rule = "[RI 3.2.1] [RI 3.2.4] [RI 10.5]",
	 .needs = "max_ird max_ord",
	 .settles = "max_ird max_ord",
	 .run = answers},
	{.id = "verbs.ring.cq.0001",
	 .title = "A completion queue is armed and reports again and again",
	 .rule = "[RI 7.1] [RI 7.2]",
	 .run = armed_queue},
	{.id = "verbs.ring.cq.0002",
	 .title = "A completion queue loses nothing when it is resized, wherever it begins",
	 .rule = "[RI 10.16] [RI 2.2.2]",
	 .needs = "cq_resizable",
	 .settles = "cq_resizable",
	 .run = resized_queue},
	{.id = "verbs.ring.size.0001",
	 .title = "A receive queue loses nothing when it is resized, wherever it begins",
	 .rule = "[RI 10.16]",
	 .needs = "wq_resizable",
	 .settles = "wq_resizable",
	 .run = resized_own},
	{.id = "verbs.ring.size.0002",
	 .title = "A shared receive queue loses nothing when it is resized, wherever it begins",
	 .rule = "[RI 10.16]",
	 .needs = "srq srq_resizable",
	 .settles = "srq_resizable",
	 .run = resized_shared},
	{.id = "verbs.ring.object.0001",
	 .title = "Objects that were destroyed make room for as many others as there can be",
	 .rule = "[RI 2.2.1]",
	 .run = objects},
	{.id = "verbs.ring.number.0001",
	 .title = "No queue pair gets the number of another one, past the 65,536th",
	 .rule = "[RI 2.2.2] [RI 11.4.1]",
	 .run = pair_numbers},
	{.id = "verbs.ring.key.0001",
	 .title = "No region gets the key of another one, past the 65,536th",
	 .rule = "[RI 5.1.1]",
	 .run = region_keys},
};

CERT_SET(verbs_rings, cases);
