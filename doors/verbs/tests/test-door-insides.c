/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Parts of the door by themselves, and with events and completions that no provider makes when a test wants them. */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "door_async.h"
#include "door_channel.h"
#include "door_cq.h"
#include "door_events.h"
#include "door_qp.h"
#include "door_slots.h"
#include "door_status.h"
#include "verbs_bench.h"

/* --- slots ------------------------------------------------------------------------------------------------- */

static void
test_slots(void)
{
	const uint32_t most = DOOR_SLOTS_MAX;
	struct door_slots slots;
	uint64_t first, second, again;
	int one, two;

	g_assert_true(door_slots_init(&slots));
	g_assert_null(door_slot_find(&slots, DOOR_CQ, 0));
	first = door_slot_enter(&slots, DOOR_CQ, &one);
	second = door_slot_enter(&slots, DOOR_QP, &two);
	g_assert_true(first != 0 && second != 0 && first != second);
	g_assert_true(door_slot_find(&slots, DOOR_CQ, first) == &one);
	g_assert_true(door_slot_find(&slots, DOOR_QP, second) == &two);
	g_assert_null(door_slot_find(&slots, DOOR_QP, first));
	g_assert_null(door_slot_find(&slots, DOOR_NONE, 0));
	atomic_store(&door_slot_of(&slots, first)->number, 77);
	door_slot_leave(&slots, first);
	g_assert_null(door_slot_of(&slots, first));
	again = door_slot_enter(&slots, DOOR_SRQ, &two);
	/* The same slot under another name, with nothing of its owner before. */
	g_assert_cmpuint((uint32_t)again, ==, (uint32_t)first);
	g_assert_cmpuint(again, !=, first);
	g_assert_null(door_slot_find(&slots, DOOR_CQ, first));
	g_assert_cmpuint(atomic_load(&door_slot_of(&slots, again)->number), ==, 0);
	for (uint32_t i = 2; i < most; i++)
		g_assert_cmpuint(door_slot_enter(&slots, DOOR_CQ, &one), !=, 0);
	g_assert_cmpuint(door_slot_enter(&slots, DOOR_CQ, &one), ==, 0);
	g_assert_true(door_slot_find(&slots, DOOR_SRQ, again) == &two);
	door_slots_fini(&slots);
}

static void
test_statuses(void)
{
	g_assert_cmpint(door_errno(RI_SUCCESS), ==, 0);
	g_assert_cmpint(door_errno(RI_ERR_FATAL), ==, EIO);
	g_assert_cmpint(door_errno(RI_ERR_QUEUE_FULL), ==, ENOMEM);
	g_assert_cmpint(door_errno(RI_ERR_UNSUPPORTED), ==, EOPNOTSUPP);
	g_assert_cmpint(door_errno(RI_STATUS_COUNT), ==, EIO);
	g_assert_cmpint(door_errno((enum ri_status)1000), ==, EIO);
	for (int status = 1; status < RI_STATUS_COUNT; status++)
		g_assert_cmpint(door_errno((enum ri_status)status), >, 0);
}

/* --- lists of events ----------------------------------------------------------------------------------------- */

static bool
is_readable(const struct door_events *events)
{
	struct pollfd poll_fd = {.fd = events->fd, .events = POLLIN};

	return poll(&poll_fd, 1, 0) == 1;
}

/* The descriptor shows what no thread is about to take. */
static void
test_takers(void)
{
	struct door_event one = {.queued = false}, two = {.queued = false};
	struct door_events events;

	g_assert_true(door_events_init(&events));
	door_events_taker_enter(&events);
	door_events_add(&events, &one);
	g_assert_false(is_readable(&events));
	door_events_add(&events, &two);
	g_assert_true(is_readable(&events));
	g_assert_true(door_events_take(&events) == &one);
	g_assert_true(door_events_take(&events) == &two);
	g_assert_false(is_readable(&events));
	g_assert_null(door_events_take(&events));
	/* A taker that leaves without the event. */
	door_events_add(&events, &one);
	g_assert_false(is_readable(&events));
	door_events_taker_leave(&events);
	g_assert_true(is_readable(&events));
	door_events_add(&events, &two);
	door_events_remove(&events, &one);
	door_events_remove(&events, &one);
	g_assert_true(is_readable(&events));
	g_assert_true(door_events_take(&events) == &two);
	g_assert_false(is_readable(&events));
	door_events_fini(&events);
}

/* --- completions --------------------------------------------------------------------------------------------- */

static struct ri_wc made;
static unsigned num_made;

static uint32_t
poll_made(struct ri_ucq *queue, struct ri_wc *wc, uint32_t n)
{
	(void)queue;
	if (n == 0 || num_made == 0)
		return 0;
	num_made--;
	wc[0] = made;
	return 1;
}

/* Where a completion has a key, what the provider left in the place of immediate data is not it; and the other way round. */
static void
test_key_and_immediate(void)
{
	struct ibv_cq_init_attr_ex init = {.cqe = 4, .wc_flags = IBV_WC_STANDARD_FLAGS};
	struct ibv_poll_cq_attr attr = {0};
	struct ibv_cq_ex *ex;
	struct bench bench RI_AT_END(bench_close);
	struct ibv_wc wc;

	bench_open(&bench);
	ex = ibv_create_cq_ex(bench.context, &init);
	struct ibv_qp *qp RI_AT_END(bench_qp_end) = bench_qp(&bench, IBV_QPT_RC);
	for (unsigned i = 0; i < 2; i++) {
		made = (struct ri_wc){.wr_id = 5,
				      .qp_ctx = door_qp_of(qp)->ctx,
				      .opcode = RI_OP_RECV,
				      .flags = RI_WC_RECEIVE |
					       (i == 0 ? RI_WC_INVALIDATED : RI_WC_IMMEDIATE),
				      .imm = 0x1111,
				      .inv_stag = 0x2222,
				      .byte_len = 7,
				      .detail = 9};
		num_made = 2;
		door_cq_of(bench.cq)->poll = door_cq_of(ibv_cq_ex_to_cq(ex))->poll = poll_made;
		g_assert_cmpint(ibv_poll_cq(bench.cq, 1, &wc), ==, 1);
		g_assert_cmphex(wc.invalidated_rkey, ==, i == 0 ? 0x2222 : 0x1111);
		g_assert_cmphex(wc.wc_flags, ==, i == 0 ? IBV_WC_WITH_INV : IBV_WC_WITH_IMM);
		g_assert_cmpuint(wc.byte_len, ==, 7);
		g_assert_cmpuint(wc.vendor_err, ==, 9);
		g_assert_cmpuint(wc.qp_num, ==, qp->qp_num);
		OK(ibv_start_poll(ex, &attr));
		g_assert_cmphex(ibv_wc_read_invalidated_rkey(ex), ==, i == 0 ? 0x2222 : 0x1111);
		g_assert_cmpuint(ibv_wc_read_vendor_err(ex), ==, 9);
		g_assert_cmpint(ibv_next_poll(ex), ==, ENOENT);
		ibv_end_poll(ex);
	}
	OK(ibv_destroy_cq(ibv_cq_ex_to_cq(ex)));
}

/* --- queue pairs ---------------------------------------------------------------------------------------------- */

/* The late event of an old connection does not move a queue pair that has been reset since. */
static void
test_ended_in_reset(void)
{
	struct bench bench RI_AT_END(bench_close);

	bench_open(&bench);
	struct ibv_qp *qp RI_AT_END(bench_qp_end) = bench_qp(&bench, IBV_QPT_RC);
	pthread_mutex_lock(&door_adapter_of(bench.context)->slots.lock);
	door_qp_ended(door_qp_of(qp));
	pthread_mutex_unlock(&door_adapter_of(bench.context)->slots.lock);
	g_assert_cmpint(bench_state(qp), ==, IBV_QPS_RESET);
}

static void
test_numbered(void)
{
	struct ibv_qp *a;
	struct door_adapter *adapter;
	struct bench bench RI_AT_END(bench_close);
	uint32_t number;

	bench_open(&bench);
	adapter = door_adapter_of(bench.context);
	a = bench_qp(&bench, IBV_QPT_RC);
	struct ibv_qp *b RI_AT_END(bench_qp_end) = bench_qp(&bench, IBV_QPT_RC);
	number = a->qp_num;
	pthread_mutex_lock(&adapter->slots.lock);
	g_assert_true(door_qp_numbered(adapter, number) == door_qp_of(a));
	g_assert_true(door_qp_numbered(adapter, b->qp_num) == door_qp_of(b));
	g_assert_null(door_qp_numbered(adapter, number + DOOR_QP_ROWS));
	pthread_mutex_unlock(&adapter->slots.lock);
	OK(ibv_destroy_qp(a));
	pthread_mutex_lock(&adapter->slots.lock);
	g_assert_null(adapter->numbered[number % DOOR_QP_ROWS]);
	pthread_mutex_unlock(&adapter->slots.lock);
}

static void
test_no_qkey(void)
{
	struct bench bench RI_AT_END(bench_close);
	uint32_t first, differing = 0;

	bench_open(&bench);
	first = door_qp_no_qkey(door_adapter_of(bench.context));
	for (unsigned i = 0; i < 40; i++) {
		uint32_t qkey = door_qp_no_qkey(door_adapter_of(bench.context));

		g_assert_cmpuint(qkey, <, 0x80000000);
		differing += qkey != first;
	}
	g_assert_cmpuint(differing, >=, 39);
}

/* --- user halves that fail ------------------------------------------------------------------------------------ */

static enum ri_status
no_cq(struct ri_urnic *rnic, const struct ri_map *map, struct ri_ucq **out)
{
	(void)rnic;
	(void)map;
	(void)out;
	return RI_ERR_RESOURCES;
}

static enum ri_status
no_srq(struct ri_urnic *rnic, const struct ri_map *map, struct ri_usrq **out)
{
	(void)rnic;
	(void)map;
	(void)out;
	return RI_ERR_RESOURCES;
}

static enum ri_status
no_qp(struct ri_urnic *rnic, const struct ri_map *map, struct ri_ucq *send, struct ri_ucq *recv,
      struct ri_usrq *srq, struct ri_uqp **out)
{
	(void)rnic;
	(void)map;
	(void)send;
	(void)recv;
	(void)srq;
	(void)out;
	return RI_ERR_RESOURCES;
}

/* The slot that the next object gets. */
static uint32_t
next_slot(struct door_adapter *adapter)
{
	int object;
	uint64_t ctx = door_slot_enter(&adapter->slots, DOOR_CQ, &object);

	door_slot_leave(&adapter->slots, ctx);
	return (uint32_t)ctx;
}

/* What is made below is unmade when its user half fails: its parents can go below, and its slot goes to the next one. */
static void
test_user_halves(void)
{
	struct ibv_srq_init_attr srq_init = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_qp_init_attr qp_init;
	const struct ri_user_ops *before;
	struct ri_user_ops failing;
	struct door_adapter *adapter;
	struct bench bench RI_AT_END(bench_close);
	struct ibv_cq *cq;
	struct ibv_pd *pd;
	uint32_t slot;

	bench_open(&bench);
	adapter = door_adapter_of(bench.context);
	pd = ibv_alloc_pd(bench.context);
	cq = ibv_create_cq(bench.context, 4, NULL, NULL, 0);
	g_assert_true(pd != NULL && cq != NULL);
	qp_init = bench_init(&bench, IBV_QPT_RC);
	qp_init.send_cq = qp_init.recv_cq = cq;
	before = adapter->session.user;
	failing = *before;
	failing.cq_open = no_cq;
	failing.srq_open = no_srq;
	failing.qp_open = no_qp;
	slot = next_slot(adapter);
	g_autofree char *account = bench_account();
	adapter->session.user = &failing;
	for (unsigned i = 0; i < 3; i++) {
		NO_OBJECT(ibv_create_cq(bench.context, 4, NULL, bench.channel, 0), ENOMEM);
		NO_OBJECT(ibv_create_srq(pd, &srq_init), ENOMEM);
		NO_OBJECT(ibv_create_qp(pd, &qp_init), ENOMEM);
	}
	adapter->session.user = before;
	g_autofree char *after = bench_account();
	g_assert_cmpstr(after, ==, account);
	g_assert_cmpuint(next_slot(adapter), ==, slot);
	g_assert_cmpint(bench.channel->refcnt, ==, 1);
	/* The kAL refuses to destroy what has users. */
	OK(door_call_id(adapter, KAL_CQ_DESTROY, door_cq_of(cq)->id));
	OK(door_call_id(adapter, KAL_PD_DESTROY, door_pd_of(pd)->id));
	OK(ibv_destroy_cq(cq));
	OK(ibv_dealloc_pd(pd));
}

/* --- threads that sleep for events ---------------------------------------------------------------------------- */

#define SLEEPERS 4
#define ROUNDS   25

struct sleeper {
	struct ibv_comp_channel *channel;
	atomic_uint *woken;
};

static void *
sleep_once(void *arg)
{
	const struct sleeper *sleeper = (const struct sleeper *)arg;
	struct ibv_cq *cq;
	void *context;

	OK(ibv_get_cq_event(sleeper->channel, &cq, &context));
	ibv_ack_cq_events(cq, 1);
	atomic_fetch_add(sleeper->woken, 1);
	return NULL;
}

static unsigned
sleepers_of(struct door_channel *channel)
{
	unsigned count;

	pthread_mutex_lock(&channel->events.lock);
	count = channel->line.count;
	pthread_mutex_unlock(&channel->events.lock);
	return count;
}

/* As many threads wake as there are events, also if the events come at once: a thread that leaves the line wakes the next. */
static void
test_sleepers(void)
{
	struct ibv_cq *cqs[SLEEPERS];
	pthread_t threads[SLEEPERS];
	struct bench bench RI_AT_END(bench_close);
	struct door_channel *channel;
	atomic_uint woken;

	bench_open(&bench);
	channel = door_channel_of(bench.channel);
	for (unsigned i = 0; i < SLEEPERS; i++) {
		cqs[i] = ibv_create_cq(bench.context, 4, NULL, bench.channel, 0);
		g_assert_nonnull(cqs[i]);
	}
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct sleeper sleeper = {bench.channel, &woken};
		unsigned events = 1 + round % SLEEPERS;

		atomic_store(&woken, 0);
		for (unsigned i = 0; i < SLEEPERS; i++)
			OK(pthread_create(&threads[i], NULL, sleep_once, &sleeper));
		while (sleepers_of(channel) != SLEEPERS)
			g_usleep(100);
		for (unsigned i = 0; i < events; i++)
			door_channel_fire(channel, door_cq_of(cqs[i]));
		for (unsigned i = 0; i < 8000 && atomic_load(&woken) != events; i++)
			g_usleep(1000);
		g_assert_cmpuint(atomic_load(&woken), ==, events);
		g_assert_cmpuint(sleepers_of(channel), ==, SLEEPERS - events);
		/* The others, one after the other. */
		for (unsigned i = events; i < SLEEPERS; i++) {
			door_channel_fire(channel, door_cq_of(cqs[i]));
			while (atomic_load(&woken) != i + 1)
				g_usleep(100);
		}
		for (unsigned i = 0; i < SLEEPERS; i++)
			OK(pthread_join(threads[i], NULL));
	}
	for (unsigned i = 0; i < SLEEPERS; i++)
		OK(ibv_destroy_cq(cqs[i]));
}

#define QUIET_ROUNDS 50
#define QUIET_SETS \
	40 /* of rounds: on a busy machine hardly any round of the first ones may be at rest */

/*
 * When the move of a queue pair with a shared queue to the error state returns, its requests must be flushed and its
 * last event raised. Another thread that looks at the queue pair may make it busy again for a moment, under a sanitizer
 * in most of the rounds. If the move did not wait, the queue pair would be busy in all rounds.
 */
static void
test_quiet(void)
{
	struct ibv_srq_init_attr srq_init = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
	struct ibv_send_wr *bad;
	struct ri_qp_attr now;
	struct bench bench RI_AT_END(bench_close);
	struct ibv_srq *srq;
	unsigned rested = 0, rounds = 0;
	struct ibv_wc wc;

	bench_open(&bench);
	srq = ibv_create_srq(bench.pd, &srq_init);
	g_assert_nonnull(srq);
	for (; rounds < QUIET_SETS * QUIET_ROUNDS && rested < 6; rounds++) {
		rested = rounds % QUIET_ROUNDS == 0 ? 0 : rested;
		struct ibv_qp_init_attr init = bench_init(&bench, IBV_QPT_RC);
		struct ibv_qp *a = bench_qp(&bench, IBV_QPT_RC), *b;
		struct kal_id_req req;

		init.srq = srq;
		b = ibv_create_qp(bench.pd, &init);
		g_assert_nonnull(b);
		bench_connect(a, b);
		for (unsigned i = 0; i < BENCH_DEPTH; i++) {
			struct ibv_send_wr wr = bench_wr(i, IBV_WR_SEND, NULL);

			OK(ibv_post_send(b, &wr, &bad)); /* it finds no receive */
		}
		OK(ibv_modify_qp(b, &error, IBV_QP_STATE));
		req.id = door_qp_of(b)->id;
		OK(door_call(door_qp_of(b)->adapter, KAL_QP_QUERY, &req, sizeof(req), &now,
			     sizeof(now)));
		rested += now.quiescent;
		OK(ibv_destroy_qp(a));
		OK(ibv_destroy_qp(b));
		while (ibv_poll_cq(bench.cq, 1, &wc) > 0)
			;
	}
	g_test_message("%u of %u were at rest", rested, (rounds - 1) % QUIET_ROUNDS + 1);
	g_assert_cmpuint(rested, ==, 6);
	OK(ibv_destroy_srq(srq));
}

/* --- asynchronous events ----------------------------------------------------------------------------------------- */

static void
raise_of_port(struct ibv_context *context, enum ri_event type, uint64_t port)
{
	const struct ri_async_event event = {.event = type, .ctx = port};
	struct door_adapter *adapter = door_adapter_of(context);

	pthread_mutex_lock(&adapter->slots.lock);
	door_async_raised(adapter, &event);
	pthread_mutex_unlock(&adapter->slots.lock);
}

static void
expect_of_port(struct ibv_context *context, enum ibv_event_type type, int port)
{
	struct ibv_async_event event;

	g_assert_cmpuint(door_context_of(context)->async.count, >, 0);
	OK(ibv_get_async_event(context, &event));
	g_assert_cmpint(event.event_type, ==, type);
	if (port != 0)
		g_assert_cmpint(event.element.port_num, ==, port);
	ibv_ack_async_event(&event);
}

/* Events of the adapter reach each context that is open, once for as often as they happen before they are fetched. */
static void
test_port_events(void)
{
	struct bench one RI_AT_END(bench_close);
	struct bench two;

	bench_open(&one);
	bench_open(&two);
	raise_of_port(one.context, RI_EVENT_PORT_ERROR, 0);
	raise_of_port(one.context, RI_EVENT_PORT_ACTIVE, 0);
	raise_of_port(one.context, RI_EVENT_PORT_ERROR, 1); /* there is no such port */
	raise_of_port(one.context, RI_EVENT_PORT_CHANGE, 0);
	for (unsigned i = 0; i < 2; i++) {
		struct ibv_context *context = i == 0 ? one.context : two.context;

		expect_of_port(context, IBV_EVENT_PORT_ERR, 1);
		expect_of_port(context, IBV_EVENT_PORT_ACTIVE, 1);
		expect_of_port(context, IBV_EVENT_GID_CHANGE, 1);
		g_assert_cmpuint(door_context_of(context)->async.count, ==, 0);
	}
	raise_of_port(one.context, RI_EVENT_PORT_ERROR, 0);
	raise_of_port(one.context, RI_EVENT_PORT_ERROR, 0);
	bench_close(&two);
	raise_of_port(one.context, RI_EVENT_DEVICE_CATASTROPHIC, 0);
	expect_of_port(one.context, IBV_EVENT_PORT_ERR, 1);
	expect_of_port(one.context, IBV_EVENT_DEVICE_FATAL, 0);
	g_assert_cmpuint(door_context_of(one.context)->async.count, ==, 0);
}

/* Each event of a queue pair has its word, an end moves the queue pair, and an orderly end has no word. */
static void
test_qp_events(void)
{
	static const struct {
		enum ri_event event;
		enum ibv_event_type type;
		bool ends;
	} rows[] = {
		{RI_EVENT_QP_COMM_EST, IBV_EVENT_COMM_EST, false},
		{RI_EVENT_QP_SQ_DRAINED, IBV_EVENT_SQ_DRAINED, false},
		{RI_EVENT_QP_LLP_LOST, IBV_EVENT_QP_FATAL, true},
		{RI_EVENT_QP_TERMINATE_RECEIVED, IBV_EVENT_QP_REQ_ERR, true},
		{RI_EVENT_QP_BOUNDS, IBV_EVENT_QP_ACCESS_ERR, true},
	};
	struct ibv_async_event event;
	struct door_context *context;
	struct bench bench RI_AT_END(bench_close);
	struct ibv_qp *qp;

	bench_open(&bench);
	context = door_context_of(bench.context);
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		qp = bench_qp(&bench, IBV_QPT_RC);
		bench_raise(qp, qp, IBV_QPS_RTS);
		pthread_mutex_lock(&context->adapter->slots.lock);
		door_qp_raised(door_qp_of(qp), RI_EVENT_QP_LLP_CLOSE_COMPLETE);
		g_assert_cmpuint(context->async.count, ==, 0);
		g_assert_cmpint(atomic_load(&door_qp_of(qp)->state), ==, IBV_QPS_ERR);
		door_qp_connected(door_qp_of(qp));
		door_qp_raised(door_qp_of(qp), rows[i].event);
		g_assert_cmpint(atomic_load(&door_qp_of(qp)->state), ==,
				rows[i].ends ? IBV_QPS_ERR : IBV_QPS_RTS);
		pthread_mutex_unlock(&context->adapter->slots.lock);
		g_assert_cmpuint(context->async.count, ==, 1);
		OK(ibv_get_async_event(bench.context, &event));
		g_assert_cmpint(event.event_type, ==, rows[i].type);
		g_assert_true(event.element.qp == qp);
		ibv_ack_async_event(&event);
		OK(ibv_destroy_qp(qp));
	}
}

/* A state that no event has reported yet. */
static void
test_query_state(void)
{
	struct bench bench RI_AT_END(bench_close);

	bench_open(&bench);
	struct ibv_qp *qp RI_AT_END(bench_qp_end) = bench_qp(&bench, IBV_QPT_RC);
	bench_raise(qp, qp, IBV_QPS_INIT);
	{
		const struct kal_qp_modify_req req = {.id = door_qp_of(qp)->id,
						      .mask = RI_QP_ATTR_STATE,
						      .attr = {.state = RI_QPS_ERROR}};

		OK(door_call(door_qp_of(qp)->adapter, KAL_QP_MODIFY, &req, sizeof(req), NULL, 0));
	}
	g_assert_cmpint(bench_state(qp), ==, IBV_QPS_ERR);
}

/* --- posts ------------------------------------------------------------------------------------------------------ */

static struct ri_fast_ops recording; /* the functions of a provider that keeps requests back */
static uint32_t posted[8];           /* their flags */
static unsigned num_posted, num_flushes, room;

static enum ri_status
post_sq(struct ri_uqp *queue, const struct ri_wr *wr)
{
	(void)queue;
	if (num_posted == room)
		return RI_ERR_QUEUE_FULL;
	posted[num_posted++] = wr->flags;
	return RI_SUCCESS;
}

static void
flush_sq(struct ri_uqp *queue)
{
	(void)queue;
	num_flushes++;
}

static void
expect_posts(unsigned num, unsigned kept_back, unsigned flushes)
{
	g_assert_cmpuint(num_posted, ==, num);
	for (unsigned i = 0; i < num; i++)
		g_assert_cmpint((posted[i] & RI_WR_COALESCE) != 0, ==, i < kept_back);
	g_assert_cmpuint(num_flushes, ==, flushes);
	num_posted = num_flushes = 0;
}

/* All of a list but the last may be kept back; where the last one does not come, the door says so. */
static void
test_lists(void)
{
	struct ibv_qp_init_attr_ex init = {.qp_type = IBV_QPT_RC,
					   .comp_mask = IBV_QP_INIT_ATTR_PD |
							IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					   .send_ops_flags = IBV_QP_EX_WITH_SEND};
	const struct ri_fast_ops *before;
	struct ibv_send_wr wr[3], *bad;
	struct ibv_qp_ex *ex;
	struct bench bench RI_AT_END(bench_close);

	bench_open(&bench);
	init.send_cq = init.recv_cq = bench.cq;
	init.pd = bench.pd;
	init.cap = bench_init(&bench, IBV_QPT_RC).cap;
	struct ibv_qp *qp RI_AT_END(bench_qp_end) = ibv_create_qp_ex(bench.context, &init);
	g_assert_nonnull(qp);
	bench_raise(qp, qp, IBV_QPS_RTS);
	before = door_qp_of(qp)->fast;
	recording = *before;
	recording.post_sq = post_sq;
	recording.flush_sq = flush_sq;
	door_qp_of(qp)->fast = &recording;
	door_qp_of(qp)->post_sq = post_sq;
	room = 8;
	for (unsigned i = 0; i < 3; i++) {
		wr[i] = bench_wr(i, IBV_WR_SEND, NULL);
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
	}
	OK(ibv_post_send(qp, wr, &bad));
	expect_posts(3, 2, 0);
	wr[2].opcode = IBV_WR_TSO;
	g_assert_cmpint(ibv_post_send(qp, wr, &bad), ==, EINVAL);
	expect_posts(2, 2, 1);
	g_assert_cmpint(ibv_post_send(qp, &wr[2], &bad), ==, EINVAL);
	expect_posts(0, 0, 0);
	ex = ibv_qp_to_qp_ex(qp);
	for (unsigned i = 0; i < 2; i++) {
		room = i == 0 ? 8 : 2;
		ibv_wr_start(ex);
		for (unsigned k = 0; k < 3; k++)
			ibv_wr_send(ex);
		g_assert_cmpint(ibv_wr_complete(ex), ==, i == 0 ? 0 : ENOMEM);
		expect_posts(i == 0 ? 3 : 2, 2, i);
	}
	door_qp_of(qp)->fast = before;
	door_qp_of(qp)->post_sq = before->post_sq;
}

int
main(int argc, char **argv)
{
	bench_adapter("emul:ib");
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/door/insides/slots", test_slots);
	g_test_add_func("/door/insides/statuses", test_statuses);
	g_test_add_func("/door/insides/takers", test_takers);
	g_test_add_func("/door/insides/key-and-immediate", test_key_and_immediate);
	g_test_add_func("/door/insides/ended-in-reset", test_ended_in_reset);
	g_test_add_func("/door/insides/numbered", test_numbered);
	g_test_add_func("/door/insides/user-halves", test_user_halves);
	g_test_add_func("/door/insides/quiet", test_quiet);
	g_test_add_func("/door/insides/sleepers", test_sleepers);
	g_test_add_func("/door/insides/no-qkey", test_no_qkey);
	g_test_add_func("/door/insides/qp-events", test_qp_events);
	g_test_add_func("/door/insides/query-state", test_query_state);
	g_test_add_func("/door/insides/lists", test_lists);
	g_test_add_func("/door/insides/port-events", test_port_events);
	return g_test_run();
}
