/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Shared receive queues at their limits: messages that wait for a receive and are woken, the low watermark of a
 * queue, the high watermarks of an endpoint, many endpoints and threads [IT 12].
 */
#include <pthread.h>
#include <string.h>

#include "it_shared.h"

#define NONE IT_HARD_HI_WATERMARK_DISABLE

/* --- waiting ----------------------------------------------------------------------------- */

#define LINKS  4
#define AHEAD  2    /* messages of a connection that are not received yet */
#define STEADY 16   /* receives that show the order: four turns of all connections */
#define MOST   4000 /* messages of a connection */

/* Connections that have always something to send. */
struct turns {
	struct shared *s;
	struct shared_link link[LINKS];
	unsigned sent[LINKS], received[LINKS];
};

static void
turns_send(struct turns *t, unsigned which)
{
	g_assert_cmpuint(t->sent[which], <, MOST);
	shared_send(t->s, &t->link[which], t->sent[which]++ * LINKS + which);
}

/* Post one receive: it serves one message, the next of its connection. Returns which connection. */
static unsigned
turns_receive(struct turns *t)
{
	struct end *end = &t->s->pair->passive;
	it_event_t event;
	unsigned which = 0;
	uint64_t value;

	shared_post(t->s, 0);
	event = end_done(end->recv, IT_DTO_RC_RECV_CMPL_EVENT, 0, IT_DTO_SUCCESS);
	while (event.dto_cmpl.ep != t->link[which].passive)
		g_assert_cmpuint(++which, <, LINKS);
	memcpy(&value, end->buffer, sizeof(value));
	g_assert_cmpuint(value, ==, t->received[which]++ * LINKS + which);
	end_expect_none(end->recv);
	return which;
}

/*
 * Messages wait for receives; each posted receive serves one. If all connections have a waiting message and a second
 * one behind it, the connection whose turn was longest ago gets the receive, so the connections take turns. The test
 * cannot observe when a message begins to wait, and another thread may be late with one. So it posts receives until
 * all connections have taken turns without an exception for a while.
 */
static void
test_turns(struct pair *pair)
{
	struct shared s;
	struct turns t = {.s = &s};
	unsigned last[LINKS] = {0}, steady = 0;

	shared_open(&s, pair);
	for (unsigned i = 0; i < LINKS; i++)
		t.link[i] = shared_connect(&s, 0, NONE);
	for (unsigned i = 0; i < AHEAD * LINKS; i++)
		turns_send(&t, i % LINKS);
	for (unsigned n = 1; steady < STEADY; n++) {
		unsigned which = turns_receive(&t);

		steady = last[which] + LINKS == n ? steady + 1 : 0;
		last[which] = n;
		turns_send(&t, which);
	}
	for (unsigned i = 0; i < AHEAD * LINKS; i++)
		(void)turns_receive(&t);
	/* More receives than messages: no message waits. */
	for (unsigned i = 0; i < 4; i++)
		shared_post(&s, i);
	shared_send(&s, &t.link[3], 9);
	g_assert_cmpuint(shared_receive(&s, t.link[3].passive), ==, 9);
	for (unsigned i = 0; i < LINKS; i++)
		shared_disconnect(&s, &t.link[i]);
	shared_close(&s);
}

/* The endpoint that waits longest ends; the next one gets the receive. */
static void
test_waiter_leaves(struct pair *pair)
{
	struct shared_link link[2];
	struct shared s RI_AT_END(shared_close);
	it_event_t event;

	shared_open(&s, pair);
	link[0] = shared_connect(&s, 0, NONE);
	link[1] = shared_connect(&s, 0, NONE);
	for (unsigned i = 0; i < 2; i++) {
		shared_send(&s, &link[i], i);
		g_usleep(
			20000); /* most likely it waits then; the rest is right also if it comes later */
		end_expect_none(pair->passive.recv);
	}
	g_assert_cmpint(it_ep_free(link[0].passive), ==, IT_SUCCESS);
	shared_post(&s, 5);
	g_assert_cmpuint(shared_receive(&s, link[1].passive), ==, 1);
	event = end_next(pair->active.cm_msg);
	g_assert_true(event.event_number == IT_CM_MSG_CONN_BROKEN_EVENT ||
		      event.event_number == IT_CM_MSG_CONN_DISCONNECT_EVENT);
	g_assert_cmpint(it_ep_free(link[0].active), ==, IT_SUCCESS);
	shared_disconnect(&s, &link[1]);
}

/* no receive is posted: the connection pauses for a bounded time, then ends. */
static void
test_ruling_34(struct pair *pair)
{
	struct shared_link link;
	struct shared s RI_AT_END(shared_close);

	shared_open(&s, pair);
	link = shared_connect(&s, 0, NONE);
	shared_send(&s, &link, 1);
	end_expect_broken_by_peer(&pair->passive);
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	end_expect_none(pair->passive.recv);
	shared_drain(&s);
	/* InfiniBand's sender gets that status; iWARP's Send succeeded before, or is flushed. */
	if (pair->active.info->transport_type == IT_IB_TRANSPORT)
		g_assert_cmpint(s.failure, ==, IT_DTO_ERR_RECEIVER_NOT_READY);
	shared_disconnect(&s, &link);
}

/* --- low watermark ----------------------------------------------------------------------- */

/* The low watermark raises one event when receives fall below it. */
static void
test_low(struct pair *pair)
{
	const unsigned int low = IT_SRQ_PARAM_LOW_WATERMARK;
	struct shared_link link;
	struct shared s RI_AT_END(shared_close);

	shared_open(&s, pair);
	link = shared_connect(&s, 0, NONE);
	/* Already fewer: the event comes at once, and once. */
	g_assert_cmpint(shared_modify(&s, low, 0, 2), ==, IT_SUCCESS);
	shared_expect(&s, IT_ASYNC_AFF_SRQ_LOW_WATERMARK, s.srq);
	g_assert_cmpuint(shared_query(&s).low_watermark, ==, 0);
	for (unsigned i = 0; i < 6; i++)
		shared_post(&s, i);
	g_assert_cmpint(shared_modify(&s, low, 0, 4), ==, IT_SUCCESS);
	g_assert_cmpuint(shared_query(&s).low_watermark, ==, 4);
	for (unsigned i = 0; i < 2; i++) {
		shared_send(&s, &link, i);
		g_assert_cmpuint(shared_receive(&s, link.passive), ==, i);
	}
	shared_expect_none(&s); /* 4 left are not fewer than 4 */
	shared_send(&s, &link, 2);
	g_assert_cmpuint(shared_receive(&s, link.passive), ==, 2);
	shared_expect(&s, IT_ASYNC_AFF_SRQ_LOW_WATERMARK, s.srq);
	shared_send(&s, &link, 3);
	g_assert_cmpuint(shared_receive(&s, link.passive), ==, 3);
	shared_expect_none(&s); /* switched off until armed again */
	g_assert_cmpint(shared_modify(&s, low, 0, 1), ==, IT_SUCCESS);
	g_assert_cmpint(shared_modify(&s, low, 0, 0), ==, IT_SUCCESS);
	for (unsigned i = 4; i < 6; i++) {
		shared_send(&s, &link, i);
		g_assert_cmpuint(shared_receive(&s, link.passive), ==, i);
	}
	shared_expect_none(&s); /* switched off */
	shared_disconnect(&s, &link);
}

/* --- high watermarks --------------------------------------------------------------------- */

static it_status_t
try_create(struct shared *s, size_t soft, size_t hard)
{
	struct end *end = &s->pair->passive;
	it_ep_attributes_t attr = end->attr;
	it_ep_handle_t ep;

	attr.srv.rc.srq = s->srq;
	attr.srv.rc.soft_hi_watermark = soft;
	attr.srv.rc.hard_hi_watermark = hard;
	it_status_t status = it_ep_rc_create(end->pz, end->request, end->recv, end->cm_msg,
					     IT_EP_SRQ, &attr, &ep);
	if (status == IT_SUCCESS)
		g_assert_cmpint(it_ep_free(ep), ==, IT_SUCCESS);
	else
		g_assert_null(ep);
	return status;
}

static it_status_t
modify(it_ep_handle_t ep, unsigned int mask, size_t soft, size_t hard)
{
	it_ep_attributes_t attr;

	memset(&attr, 0, sizeof(attr));
	attr.srv.rc.soft_hi_watermark = soft;
	attr.srv.rc.hard_hi_watermark = hard;
	return it_ep_modify(ep, (it_ep_param_mask_t)mask, &attr);
}

/* Values of the high watermarks are accepted or refused. */
static void
test_high_values(struct pair *pair)
{
	const unsigned int soft = IT_EP_PARAM_SOFT_HI_WATERMARK;
	const unsigned int hard = IT_EP_PARAM_HARD_HI_WATERMARK;
	const it_ia_info_t *info = pair->passive.info;
	struct shared_link link;
	struct shared s RI_AT_END(shared_close);
	it_ep_param_t params;

	shared_open(&s, pair);
	g_assert_cmpint(try_create(&s, 0, 0), ==, IT_ERR_HARD_HI_WATERMARK);
	g_assert_cmpint(try_create(&s, 0, 1), ==, IT_SUCCESS);
	g_assert_cmpint(try_create(&s, 0, SHARED_SIZE + 1), ==, IT_ERR_INVALID_WATERMARK);
	g_assert_cmpint(try_create(&s, 1, NONE), ==,
			info->soft_hi_watermark_support ? IT_SUCCESS : IT_ERR_SOFT_HI_WATERMARK);
	link = shared_connect(&s, 0, 5);
	g_assert_cmpint(modify(link.passive, hard, 0, 0), ==, IT_ERR_HARD_HI_WATERMARK);
	g_assert_cmpint(modify(link.passive, hard, 0, SHARED_SIZE + 1), ==,
			IT_ERR_INVALID_WATERMARK);
	g_assert_cmpint(modify(link.passive, hard, 0, 6), ==, IT_SUCCESS);
	if (info->soft_hi_watermark_support) {
		g_assert_cmpint(try_create(&s, 3, 2), ==, IT_ERR_INVALID_WATERMARK);
		g_assert_cmpint(try_create(&s, SHARED_SIZE + 1, NONE), ==,
				IT_ERR_INVALID_WATERMARK);
		g_assert_cmpint(modify(link.passive, soft, 7, 0), ==, IT_ERR_INVALID_WATERMARK);
		g_assert_cmpint(modify(link.passive, soft | hard, 7, 7), ==, IT_SUCCESS);
		g_assert_cmpint(modify(link.passive, hard, 0, 6), ==, IT_ERR_INVALID_WATERMARK);
		g_assert_cmpint(modify(link.passive, soft, 2, 0), ==, IT_SUCCESS);
	} else {
		g_assert_cmpint(modify(link.passive, soft, 2, 0), ==, IT_ERR_SOFT_HI_WATERMARK);
	}
	g_assert_cmpint(modify(link.passive, hard, 0, NONE), ==, IT_SUCCESS);
	g_assert_cmpint(it_ep_query(link.passive, IT_EP_PARAM_ALL, &params), ==, IT_SUCCESS);
	g_assert_cmpuint(params.attr.srv.rc.soft_hi_watermark, ==,
			 info->soft_hi_watermark_support ? 2 : 0);
	g_assert_cmpuint(params.attr.srv.rc.hard_hi_watermark, ==, NONE);
	/* Without an S-RQ there are no watermarks. */
	g_assert_cmpint(modify(pair->passive.ep, soft, 1, 0), ==, IT_ERR_SOFT_HI_WATERMARK);
	g_assert_cmpint(modify(pair->passive.ep, hard, 0, 1), ==, IT_ERR_HARD_HI_WATERMARK);
	shared_disconnect(&s, &link);
}

/* Let `count` more messages arrive without taking their completions. */
static void
pile_up(struct shared *s, const struct shared_link *link, unsigned first, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		shared_send(s, link, first + i);
}

/* The soft high watermark raises one event when more messages are in progress. */
static void
test_soft(struct pair *pair)
{
	const unsigned int soft = IT_EP_PARAM_SOFT_HI_WATERMARK;
	struct shared_link link;
	struct shared s RI_AT_END(shared_close);

	shared_open(&s, pair);
	for (unsigned i = 0; i < SHARED_SIZE; i++)
		shared_post(&s, i);
	link = shared_connect(&s, 3, NONE);
	pile_up(&s, &link, 0, 3);
	shared_expect_none(&s); /* 3 are not more than 3 */
	pile_up(&s, &link, 3, 1);
	shared_expect(&s, IT_ASYNC_AFF_EP_SOFT_HI_WATERMARK, link.passive);
	pile_up(&s, &link, 4, 1);
	shared_expect_none(&s); /* one event */
	/* Armed again while the watermark is exceeded: the event comes at once; otherwise not. */
	g_assert_cmpint(modify(link.passive, soft, 4, 0), ==, IT_SUCCESS);
	shared_expect(&s, IT_ASYNC_AFF_EP_SOFT_HI_WATERMARK, link.passive);
	for (unsigned i = 0; i < 5; i++)
		g_assert_cmpuint(shared_receive(&s, link.passive), ==, i);
	g_assert_cmpint(modify(link.passive, soft, 1, 0), ==, IT_SUCCESS);
	shared_expect_none(&s);
	/* The hard watermark, if there is one, does not arm the soft one. */
	pile_up(&s, &link, 5, 2);
	shared_expect(&s, IT_ASYNC_AFF_EP_SOFT_HI_WATERMARK, link.passive);
	if (pair->passive.info->hard_hi_watermark_support)
		g_assert_cmpint(modify(link.passive, IT_EP_PARAM_HARD_HI_WATERMARK, 0, 8), ==,
				IT_SUCCESS);
	shared_expect_none(&s);
	for (unsigned i = 5; i < 7; i++)
		g_assert_cmpuint(shared_receive(&s, link.passive), ==, i);
	shared_disconnect(&s, &link);
}

/*
 * A message that exceeds the hard watermark ends the connection; messages that took a receive are delivered, and
 * the other receives stay for other endpoints.
 */
static void
test_hard(struct pair *pair)
{
	struct shared_link link[2];
	struct shared s RI_AT_END(shared_close);

	shared_open(&s, pair);
	for (unsigned i = 0; i < 6; i++)
		shared_post(&s, i);
	link[0] = shared_connect(&s, 0, 2);
	link[1] = shared_connect(&s, 0, NONE);
	pile_up(&s, &link[0], 0, 3);
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	for (unsigned i = 0; i < 2; i++)
		g_assert_cmpuint(shared_receive(&s, link[0].passive), ==, i);
	end_expect_none(pair->passive.recv);
	shared_drain(&s);
	if (pair->active.info->transport_type == IT_IB_TRANSPORT)
		g_assert_cmpint(s.failure, ==, IT_DTO_ERR_REMOTE_RESPONDER);
	pile_up(&s, &link[1], 10, 4);
	for (unsigned i = 10; i < 14; i++)
		g_assert_cmpuint(shared_receive(&s, link[1].passive), ==, i);
	shared_disconnect(&s, &link[0]);
	shared_disconnect(&s, &link[1]);
}

/*
 * Lowering a hard watermark below the number of receives in progress ends the connection at once; a later message
 * that exceeds the watermark ends it when it arrives.
 */
static void
test_hard_lowered(struct pair *pair)
{
	struct shared_link link;
	struct shared s RI_AT_END(shared_close);
	it_event_t event;

	shared_open(&s, pair);
	for (unsigned i = 0; i < 6; i++)
		shared_post(&s, i);
	link = shared_connect(&s, 0, NONE);
	pile_up(&s, &link, 0, 3);
	g_assert_cmpuint(shared_receive(&s, link.passive), ==, 0);
	g_usleep(50000); /* most likely the others have arrived then */
	g_assert_cmpint(modify(link.passive, IT_EP_PARAM_HARD_HI_WATERMARK, 0, 1), ==, IT_SUCCESS);
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	end_expect_broken_by_peer(&pair->active);
	while (it_evd_dequeue(pair->passive.recv, &event) == IT_SUCCESS)
		continue;
	shared_drain(&s);
	shared_disconnect(&s, &link);
}

/* --- many -------------------------------------------------------------------------------- */

#define SENDERS  3
#define EACH     4 /* connections of a sender */
#define MESSAGES 150

/* A thread with some of the connections, and an event dispatcher for their requests. */
struct sender {
	struct shared *s;
	unsigned number;
	it_evd_handle_t request;
	struct shared_link link[EACH];
	pthread_t thread;
};

/* One message through each of its connections, repeatedly, each with its own number. */
static void *
send_all(void *arg)
{
	struct sender *sender = arg;
	struct end *end = &sender->s->pair->active;

	for (uint32_t i = 0; i < MESSAGES; i++) {
		for (uint32_t k = 0; k < EACH; k++) {
			uint32_t words[2] = {sender->number * EACH + k, i};
			size_t at = words[0] * sizeof(words);
			it_lmr_triplet_t segment = end_segment(end, at, sizeof(words));

			memcpy(end->buffer + at, words, sizeof(words));
			g_assert_cmpint(it_post_send(sender->link[k].active, &segment, 1, i,
						     IT_COMPLETION_FLAG),
					==, IT_SUCCESS);
		}
		for (uint32_t k = 0; k < EACH; k++) {
			it_event_t event = end_expect(sender->request, IT_DTO_SEND_CMPL_EVENT);
			g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_SUCCESS);
		}
	}
	return NULL;
}

/* Take all messages; those of one connection come in order. Each receive is posted again. */
static void
receive_all(struct shared *s)
{
	struct end *end = &s->pair->passive;
	uint32_t next[SENDERS * EACH] = {0};

	for (unsigned i = 0; i < SENDERS * EACH * MESSAGES; i++) {
		it_event_t event = end_expect(end->recv, IT_DTO_RC_RECV_CMPL_EVENT);
		uint32_t words[2];

		g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_SUCCESS);
		memcpy(words, end->buffer + event.dto_cmpl.cookie * 64, sizeof(words));
		g_assert_cmpuint(words[0], <, SENDERS * EACH);
		g_assert_cmpuint(words[1], ==, next[words[0]]++);
		shared_post(s, event.dto_cmpl.cookie);
	}
}

/* Fewer receives than connections, and all of them send at once. */
static void
test_crowd(struct pair *pair)
{
	struct sender sender[SENDERS];
	it_evd_handle_t usual = pair->active.request;
	struct shared s RI_AT_END(shared_close);

	shared_open(&s, pair);
	for (unsigned i = 0; i < SENDERS; i++) {
		sender[i] = (struct sender){.s = &s, .number = i};
		g_assert_cmpint(it_evd_create(pair->active.ia, IT_DTO_EVENT_STREAM, 0, 256, 1, NULL,
					      &sender[i].request, NULL),
				==, IT_SUCCESS);
		pair->active.request = sender[i].request;
		for (unsigned k = 0; k < EACH; k++)
			sender[i].link[k] = shared_connect(&s, 0, NONE);
	}
	pair->active.request = usual;
	for (unsigned i = 0; i < SENDERS * EACH / 2; i++)
		shared_post(&s, i);
	for (unsigned i = 0; i < SENDERS; i++)
		g_assert_cmpint(pthread_create(&sender[i].thread, NULL, send_all, &sender[i]), ==,
				0);
	receive_all(&s);
	for (unsigned i = 0; i < SENDERS; i++) {
		pthread_join(sender[i].thread, NULL);
		for (unsigned k = 0; k < EACH; k++)
			shared_disconnect(&s, &sender[i].link[k]);
		g_assert_cmpint(it_evd_free(sender[i].request), ==, IT_SUCCESS);
	}
}

static void
add(void)
{
	pair_add_for(NEEDS_SRQ | NEEDS_HELD, "srq/turns", test_turns);
	pair_add_for(NEEDS_SRQ | NEEDS_WAITING, "srq/waiter-leaves", test_waiter_leaves);
	pair_add_impatient(NEEDS_SRQ, "rulings/r-34-pauses-on-an-empty-srq", test_ruling_34);
	pair_add_for(NEEDS_LOW_WATERMARK, "srq/low-watermark", test_low);
	pair_add_for(NEEDS_HARD_WATERMARK, "srq/high-watermark-values", test_high_values);
	pair_add_for(NEEDS_SOFT_WATERMARK, "srq/soft-high-watermark", test_soft);
	pair_add_for(NEEDS_HARD_WATERMARK, "srq/hard-high-watermark", test_hard);
	pair_add_for(NEEDS_HARD_WATERMARK, "srq/hard-high-watermark-lowered", test_hard_lowered);
	pair_add_for(NEEDS_SRQ | NEEDS_HELD, "srq/crowd", test_crowd);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
