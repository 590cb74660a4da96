/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A random walk of a queue pair, compared with a model of its slots: requests with and without completions, receives,
 * messages, polls and resizes follow each other, in one connection after another. The model says which post finds no
 * slot, which completion is next, what a query must return, and what an end flushes, in which order.
 */

#include <string.h>

#include "verbs_reset.h"

#define LIVES 12u
#define STEPS 120u
#define LARGE 40u /* slots that are asked for, at most */

/* What occupies a slot. */
struct slot {
	uint64_t id;
	uint8_t opcode;
	bool signaled;
	bool message; /* of a receive: it was taken by one */
};

/* A work queue. It is not filled beyond the room that its completion queue has. */
struct ring {
	struct slot *slots;
	uint32_t used, size, room;
};

struct walk {
	struct cert *cert;
	struct pair pair;
	const struct ri_fast_ops *fast;
	struct ring requests; /* of a */
	struct ring receives; /* of b */
	uint64_t next;        /* identity */
	bool over;            /* the connection has ended */
};

/* --- posts ------------------------------------------------------------------------------------- */

/* The post finds a slot exactly if the model has one. */
static void
occupy(struct walk *walk, struct ring *ring, enum ri_status status, struct slot slot)
{
	if (ring->used == ring->size) {
		cert_expect_status(walk->cert, CERT_WHERE, "a post to a full queue", status,
				   RI_ERR_QUEUE_FULL);
		return;
	}
	cert_expect_status(walk->cert, CERT_WHERE, "a post to a queue that is not full", status,
			   RI_SUCCESS);
	ring->slots[ring->used++] = slot;
}

/* How many receives wait for a message. */
static uint32_t
waiting(const struct walk *walk)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < walk->receives.used; i++)
		count += !walk->receives.slots[i].message;
	return count;
}

/* The oldest receive that waits gets a message. */
static void
message(struct walk *walk)
{
	uint32_t i = 0;

	while (walk->receives.slots[i].message)
		i++;
	walk->receives.slots[i].message = true;
}

/* Without a completion in the queue no slot would ever be free again, so the last one has one. */
static void
step_request(struct walk *walk)
{
	struct ri_wr wr = {.wr_id = walk->next++, .opcode = RI_OP_RDMA_WRITE};
	const struct pair *pair = &walk->pair;
	bool room = walk->requests.used < walk->requests.size;
	enum ri_status status;

	if (walk->requests.used == walk->requests.room)
		return;
	if (cert_random_below(walk->cert, 2) == 0 || walk->requests.used + 1 >= walk->requests.size)
		wr.flags = RI_WR_SIGNALED;
	if (cert_random_below(walk->cert, 3) == 0 && (waiting(walk) > 0 || walk->over))
		wr.opcode = RI_OP_SEND;
	else if (cert_random_below(walk->cert, 3) == 0 && pair->a->init.ord > 0 &&
		 pair->b->init.ird > 0)
		wr.opcode = RI_OP_RDMA_READ;
	status = walk->fast->post_sq(pair->a->uqp, &wr);
	occupy(walk, &walk->requests, status,
	       (struct slot){.id = wr.wr_id,
			     .opcode = wr.opcode,
			     .signaled = (wr.flags & RI_WR_SIGNALED) != 0});
	if (wr.opcode == RI_OP_SEND && room && !walk->over)
		message(walk);
}

static void
step_receive(struct walk *walk)
{
	struct ri_recv_wr wr = {.wr_id = walk->next++};

	if (walk->receives.used == walk->receives.room)
		return;
	occupy(walk, &walk->receives, walk->fast->post_rq(walk->pair.b->uqp, &wr),
	       (struct slot){.id = wr.wr_id, .opcode = RI_OP_RECV});
}

/* --- completions ---------------------------------------------------------------------------------- */

/* The slots up to the one of a completion are free. */
static void
vacate(struct ring *ring, uint32_t count)
{
	ring->used -= count;
	memmove(ring->slots, ring->slots + count, ring->used * sizeof(ring->slots[0]));
}

static bool
unsignaled(const struct ring *ring, uint32_t i)
{
	return i < ring->used && !ring->slots[i].signaled;
}

/* Is there a request with a completion? Then it comes. */
static bool
poll_request(struct walk *walk)
{
	struct ring *ring = &walk->requests;
	struct ri_wc wc;
	uint32_t i = 0;

	while (unsignaled(ring, i))
		i++;
	if (i == ring->used)
		return false;
	wc = cert_wc_is(walk->pair.a, false, ring->slots[i].id, RI_WC_SUCCESS);
	CERT_UINT(walk->cert, wc.opcode, ==, ring->slots[i].opcode);
	vacate(ring, i + 1);
	return true;
}

static bool
poll_receive(struct walk *walk)
{
	struct ring *ring = &walk->receives;

	if (ring->used == 0 || !ring->slots[0].message)
		return false;
	cert_wc_is(walk->pair.b, true, ring->slots[0].id, RI_WC_SUCCESS);
	vacate(ring, 1);
	return true;
}

static void
step_poll(struct walk *walk)
{
	uint32_t count = 1 + cert_random_below(walk->cert, 4);

	if (cert_random_below(walk->cert, 2) == 0)
		while (count-- > 0 && poll_request(walk))
			;
	else
		while (count-- > 0 && poll_receive(walk))
			;
}

/* --- sizes and queries ------------------------------------------------------------------------------ */

/* Any size that has room for what occupies slots; the other queue of this end stays as it is. */
static void
step_resize(struct walk *walk)
{
	const struct ri_rnic_attr *attr = cert_attr(walk->cert);
	bool sends = cert_random_below(walk->cert, 2) == 0;
	struct ring *ring = sends ? &walk->requests : &walk->receives;
	struct cert_end *end = sends ? walk->pair.a : walk->pair.b;
	uint32_t most = MIN(LARGE, sends ? attr->max_sq_wr : attr->max_rq_wr);
	uint32_t least = MAX(ring->used, 2);
	struct ri_qp_attr real = cert_end_attr(end);
	uint32_t *size = sends ? &real.max_sq_wr : &real.max_rq_wr;
	struct ri_map map;
	uint32_t asked;

	if (!attr->wq_resizable || least >= most)
		return;
	*size = asked = least + cert_random_below(walk->cert, most - least + 1);
	CERT_VERB(walk->cert, RI_SUCCESS, end->node->p->qp->resize(end->qp, &real, &map));
	CERT_VERB(walk->cert, RI_SUCCESS, end->node->p->user->qp_remap(end->uqp, &real, &map));
	CERT_UINT(walk->cert, *size, >=, asked);
	ring->size = *size;
}

/* A receive that no message has taken is not completed. */
static void
query(struct walk *walk)
{
	struct ri_qp_attr a = cert_end_attr(walk->pair.a), b = cert_end_attr(walk->pair.b);

	CERT_UINT(walk->cert, a.max_sq_wr, ==, walk->requests.size);
	CERT_UINT(walk->cert, b.max_rq_wr, ==, walk->receives.size);
	if (waiting(walk) > 0 && !walk->over)
		CERT_TRUE(walk->cert, !b.quiescent);
}

/* All that can be completed is polled: then the side that sends has nothing left. */
static void
settle(struct walk *walk)
{
	while (poll_request(walk) || poll_receive(walk))
		;
	cert_wait_quiescent(walk->pair.a);
	query(walk);
}

/* --- the end of a life ---------------------------------------------------------------------------------- */

/* One completion: success up to a request, and from then on flushed, each of which has one. */
static void
flushed(struct walk *walk, struct ring *ring, const struct ri_wc *wc, bool *failed)
{
	uint32_t i = 0;

	while (i < ring->used && ring->slots[i].id != wc->wr_id)
		i++;
	CERT_UINT(walk->cert, i, <, ring->used);
	CERT_UINT(walk->cert, wc->opcode, ==, ring->slots[i].opcode);
	for (uint32_t before = 0; before < i; before++)
		CERT_TRUE(walk->cert,
			  !*failed && ring == &walk->requests && unsignaled(ring, before));
	if (wc->status != RI_WC_SUCCESS) {
		CERT_UINT(walk->cert, wc->status, ==, RI_WC_FLUSHED);
		*failed = true;
	} else {
		CERT_TRUE(walk->cert, !*failed);
	}
	vacate(ring, i + 1);
}

static void
drain(struct walk *walk, struct ring *ring, struct ri_ucq *cq)
{
	bool failed = false;
	struct ri_wc wc;

	while (walk->fast->poll_cq(cq, &wc, 1) == 1)
		flushed(walk, ring, &wc, &failed);
	for (uint32_t i = 0; i < ring->used; i++)
		CERT_TRUE(walk->cert, !failed && ring == &walk->requests && unsignaled(ring, i));
	ring->used = 0;
}

/* Both sides move to ERROR; some requests and receives come too late. */
static void
fall(struct walk *walk)
{
	struct pair *pair = &walk->pair;

	CERT_UINT(walk->cert, cert_end_move(pair->a, RI_QPS_ERROR), ==, RI_SUCCESS);
	cert_wait_end(pair->a);
	cert_wait_end(pair->b);
	walk->over = true;
	for (uint32_t i = cert_random_below(walk->cert, 6); i > 0; i--)
		step_request(walk);
	for (uint32_t i = cert_random_below(walk->cert, 6); i > 0; i--)
		step_receive(walk);
	cert_wait_quiescent(pair->a);
	cert_wait_quiescent(pair->b);
	drain(walk, &walk->requests, pair->a->uscq);
	drain(walk, &walk->receives, pair->b->urcq);
}

/* --- walks --------------------------------------------------------------------------------------------- */

/* Completion queues have room for twice what was granted. */
static void
ring_open(struct ring *ring, uint32_t granted)
{
	ring->size = granted;
	ring->room = 2 * granted;
	ring->slots = g_new0(struct slot, ring->room);
}

/* With completion queues for the largest sizes, and then smaller work queues where they can be resized. */
static void
walk_open(struct walk *walk, struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct ri_qp_init init = cert_end_defaults(node);

	cert_node_close(node);
	init.max_sq_wr = MIN(LARGE, cert_attr(cert)->max_sq_wr);
	init.max_rq_wr = MIN(LARGE, cert_attr(cert)->max_rq_wr);
	if (!cert_attr(cert)->wq_resizable)
		init.max_sq_wr = init.max_rq_wr = MIN(7, MIN(init.max_sq_wr, init.max_rq_wr));
	walk->cert = cert;
	walk->fast = cert_provider(cert)->fast;
	pair_open(&walk->pair, cert, &init);
	ring_open(&walk->requests, walk->pair.a->init.max_sq_wr);
	ring_open(&walk->receives, walk->pair.b->init.max_rq_wr);
}

static void
walk_close(struct walk *walk)
{
	g_free(walk->requests.slots);
	g_free(walk->receives.slots);
}

static void
life(struct walk *walk)
{
	walk->over = false;
	step_resize(walk);
	step_resize(walk);
	cert_connect(walk->pair.a, walk->pair.b);
	for (unsigned step = 0; step < STEPS; step++) {
		switch (cert_random_below(walk->cert, 9)) {
		case 0:
			step_resize(walk);
			break;
		case 1:
		case 2:
			step_poll(walk);
			break;
		case 3:
		case 4:
		case 5:
			step_receive(walk);
			break;
		default:
			step_request(walk);
			break;
		}
		query(walk);
	}
	if (cert_random_below(walk->cert, 2) == 0)
		settle(walk);
	fall(walk);
	reset_events(walk->pair.a);
	reset_events(walk->pair.b);
}

static void
pair_walk(struct cert *cert)
{
	struct walk walk RI_AT_END(walk_close) = {0};

	walk_open(&walk, cert);
	for (unsigned i = 0; i < LIVES; i++) {
		life(&walk);
		if (!cert_attr(cert)->qp_reusable)
			return;
		reset_end(walk.pair.a);
		reset_end(walk.pair.b);
	}
}

static const struct cert_case cases[] = {
	{.id = "verbs.walk.pair.0001",
	 .title = "A queue pair takes, completes, flushes and tells what it must, however posts, "
		  "polls "
		  "and resizes follow each other",
	 .rule = "[RI 3.2.1] [RI 3.2.6] [RI 3.2.7] [RI 4.1.1] [RI 10.16]",
	 .needs = "in_order_completion",
	 .run = pair_walk},
};

CERT_SET(verbs_walks_pair, cases);
