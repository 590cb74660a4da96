/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Threads that are cancelled, or end inside of a callback [IT 1.19]. A wait that sleeps ends with its thread and leaves
 * no trace; every other call runs to its end. After each case the objects are freed, which succeeds only if no lock,
 * role, reference or visit is left. around/around_cancel.c also tests, with other programs, that single calls are not
 * cancellation points.
 */
#include <pthread.h>
#include <unistd.h>

#include "it_soft.h"
#include "it_waiter.h"

#define ROUNDS   60
#define MESSAGES 400
#define LENGTH   64u

static void
cancel(pthread_t thread)
{
	void *end = NULL;

	g_assert_cmpint(pthread_cancel(thread), ==, 0);
	g_assert_cmpint(pthread_join(thread, &end), ==, 0);
	g_assert_true(end == PTHREAD_CANCELED);
}

/* As waiter_settle, for an EVD that is in use. */
static void
settle(const struct waiter *waiter)
{
	PAIR_UNTIL(atomic_load(&waiter->tid) != 0);
	pair_await_waiter(waiter->evd);
	pair_asleep(atomic_load(&waiter->tid));
}

static void
start_and_settle(struct waiter *waiter, it_evd_handle_t evd)
{
	waiter_start(waiter, evd);
	settle(waiter);
}

/* Each waiter of several is cancelled in turn, the first in the line or not. The others get what is posted. */
static void
test_wait(struct pair *pair)
{
	struct end *end = &pair->active;
	it_evd_handle_t evd = soft_member(end, NULL, 1);
	struct waiter waiters[4];

	for (unsigned victim = 0; victim < G_N_ELEMENTS(waiters); victim++) {
		for (unsigned i = 0; i < G_N_ELEMENTS(waiters); i++) {
			waiter_start(&waiters[i], evd);
			waiter_settle(&waiters[i]);
		}
		cancel(waiters[victim].thread);
		for (unsigned i = 1; i < G_N_ELEMENTS(waiters); i++)
			soft_post(evd, i);
		for (unsigned i = 0; i < G_N_ELEMENTS(waiters); i++) {
			if (i == victim)
				continue;
			pthread_join(waiters[i].thread, NULL);
			pair_ok(waiters[i].status);
		}
		end_expect_none(evd);
	}
	soft_free(evd);
}

/* An event and a cancellation come at the same time: the thread takes the event, or it stays there. */
static void
test_race(struct pair *pair)
{
	struct end *end = &pair->active;
	it_evd_handle_t evd = soft_member(end, NULL, 1);

	for (unsigned round = 0; round < ROUNDS; round++) {
		struct waiter waiter;
		it_event_t event;
		void *ended = NULL;

		waiter_start(&waiter, evd);
		if (round % 2 == 0)
			waiter_settle(&waiter);
		soft_post(evd, round);
		g_assert_cmpint(pthread_cancel(waiter.thread), ==, 0);
		g_assert_cmpint(pthread_join(waiter.thread, &ended), ==, 0);
		if (ended == PTHREAD_CANCELED && !atomic_load(&waiter.done) &&
		    it_evd_dequeue(evd, &event) != IT_SUCCESS)
			g_error("round %u: cancelled, and the event is gone; thread %d, status %d, "
				"event %d",
				round, (int)atomic_load(&waiter.tid), (int)waiter.status,
				(int)waiter.event.event_number);
		end_expect_none(evd);
	}
	soft_free(evd);
}

/* The thread that sleeps on the engine's descriptor, then one that sleeps on its own, are cancelled; another leads. */
static void
test_leader(struct pair *pair)
{
	struct end *to = &pair->passive;
	struct waiter leader, follower, heir;

	pair_establish(pair);
	for (unsigned round = 0; round < ROUNDS / 4; round++) {
		start_and_settle(&leader, to->request);
		start_and_settle(&follower, to->recv);
		start_and_settle(&heir, to->cm_msg);
		if (round % 2 == 0) {
			cancel(leader.thread);
			cancel(heir.thread);
		} else {
			cancel(heir.thread);
			cancel(leader.thread);
		}
		pair_ok(end_recv(to, LENGTH, round));
		pair_ok(end_send(&pair->active, LENGTH, round, IT_COMPLETION_FLAG));
		pthread_join(follower.thread, NULL);
		pair_ok(follower.status);
		g_assert_cmpint(follower.event.event_number, ==, IT_DTO_RC_RECV_CMPL_EVENT);
		end_done(pair->active.request, IT_DTO_SEND_CMPL_EVENT, round, IT_DTO_SUCCESS);
	}
	pair_disconnect(pair);
}

static void *
wait_many(void *arg)
{
	struct waiter *waiter = (struct waiter *)arg;
	it_event_t events[4];
	size_t count;

	atomic_store(&waiter->tid, gettid());
	/* The callback of pair_await_waiter() may be in the way for a moment. */
	do
		waiter->status = itx_aevd_wait(waiter->evd, IT_TIMEOUT_INFINITE, 4, events, &count);
	while (waiter->status == IT_ERR_CALLBACK_EXISTS);
	return NULL;
}

/* A thread that waits for an aggregate can be cancelled, and loses no event. */
static void
test_aggregate(struct pair *pair)
{
	struct end *end = &pair->active;
	it_evd_handle_t aevd = soft_aggregate(end, 0);
	it_evd_handle_t member = soft_member(end, aevd, 1);

	for (unsigned round = 0; round < 4; round++) {
		struct waiter waiter = {.evd = aevd};

		g_assert_cmpint(pthread_create(&waiter.thread, NULL, wait_many, &waiter), ==, 0);
		settle(&waiter);
		cancel(waiter.thread);
		soft_post(member, round);
		pair_ok(it_evd_wait(aevd, WAIT_US, &waiter.event, NULL));
	}
	soft_free(member);
	soft_free(aevd);
}

/* A thread that forbids cancellation waits on. */
static void *
wait_forbidden(void *arg)
{
	struct waiter *waiter = (struct waiter *)arg;
	int state = -1;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	atomic_store(&waiter->tid, gettid());
	do
		waiter->status =
			it_evd_wait(waiter->evd, IT_TIMEOUT_INFINITE, &waiter->event, NULL);
	while (waiter->status == IT_ERR_CALLBACK_EXISTS);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
	g_assert_cmpint(state, ==, PTHREAD_CANCEL_DISABLE);
	atomic_store(&waiter->done, true);
	pthread_testcancel();
	return NULL;
}

/* A call that is no cancellation point returns although its thread was cancelled. */
static void
test_forbidden(struct pair *pair)
{
	struct waiter waiter = {.evd = soft_member(&pair->active, NULL, 1)};
	void *end = NULL;

	g_assert_cmpint(pthread_create(&waiter.thread, NULL, wait_forbidden, &waiter), ==, 0);
	waiter_settle(&waiter);
	g_assert_cmpint(pthread_cancel(waiter.thread), ==, 0);
	g_usleep(2000);
	g_assert_cmpint(it_evd_free(waiter.evd), ==, IT_ERR_EVD_WAIT);
	soft_post(waiter.evd, 1);
	g_assert_cmpint(pthread_join(waiter.thread, &end), ==, 0);
	g_assert_true(end == PTHREAD_CANCELED && atomic_load(&waiter.done));
	pair_ok(waiter.status);
	soft_free(waiter.evd);
}

/* --- a connection whose threads are cancelled ---------------------------------------------- */

struct stream {
	struct pair *pair;
	atomic_uint sent;  /* Sends that have completed, or were posted last */
	atomic_uint taken; /* receives that have completed */
	bool polls;        /* the receiver dequeues besides, and so runs the engine itself */
};

/* Its only cancellation points are the waits: what comes after one is done, before the thread ends. */
static void *
receive(void *arg)
{
	struct stream *stream = (struct stream *)arg;
	struct end *to = &stream->pair->passive;
	it_event_t event;

	while (atomic_load(&stream->taken) < MESSAGES) {
		if (stream->polls && it_evd_dequeue(to->recv, &event) != IT_SUCCESS) {
			pthread_testcancel();
			continue;
		}
		if (!stream->polls)
			pair_ok(it_evd_wait(to->recv, WAIT_US, &event, NULL));
		g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_SUCCESS);
		g_assert_cmpuint(event.dto_cmpl.cookie, ==, atomic_load(&stream->taken) + 1);
		pair_ok(end_recv(to, LENGTH, atomic_fetch_add(&stream->taken, 1) + 1 + RECV_SLOTS));
	}
	return NULL;
}

static void *
send_all(void *arg)
{
	struct stream *stream = (struct stream *)arg;
	struct end *from = &stream->pair->active;
	it_event_t event;

	while (atomic_load(&stream->sent) < 2 * MESSAGES) {
		if (atomic_load(&stream->sent) % 2 == 0)
			pair_ok(end_send(from, LENGTH, atomic_load(&stream->sent),
					 IT_COMPLETION_FLAG));
		else
			pair_ok(it_evd_wait(from->request, WAIT_US, &event, NULL));
		atomic_fetch_add(&stream->sent, 1);
	}
	return NULL;
}

/* Run the function on one thread after the other, until it has come to its end. Each thread is cancelled soon. */
static void
run_with_heirs(void *(*run)(void *arg), struct stream *stream, bool (*ended)(struct stream *))
{
	for (unsigned round = 0; !ended(stream); round++) {
		pthread_t thread;

		g_assert_cmpint(pthread_create(&thread, NULL, run, stream), ==, 0);
		g_usleep(round * 37 % 2000);
		(void)pthread_cancel(thread);
		g_assert_cmpint(pthread_join(thread, NULL), ==, 0);
	}
}

static bool
all_taken(struct stream *stream)
{
	return atomic_load(&stream->taken) >= MESSAGES;
}

static bool
all_sent(struct stream *stream)
{
	return atomic_load(&stream->sent) >= 2 * MESSAGES;
}

static void *
run_senders(void *arg)
{
	run_with_heirs(send_all, (struct stream *)arg, all_sent);
	return NULL;
}

static void
stream_run(struct pair *pair, bool polls)
{
	struct stream stream = {.pair = pair, .polls = polls};
	pthread_t senders;

	for (unsigned i = 1; i <= RECV_SLOTS; i++)
		pair_ok(end_recv(&pair->passive, LENGTH, i));
	pair_establish(pair);
	g_assert_cmpint(pthread_create(&senders, NULL, run_senders, &stream), ==, 0);
	run_with_heirs(receive, &stream, all_taken);
	pthread_join(senders, NULL);
	pair_disconnect(pair);
	g_assert_cmpuint(atomic_load(&stream.taken), ==, MESSAGES);
}

/* Threads that wait are cancelled in the middle of a stream, and no completion is lost. */
static void
test_stream(struct pair *pair)
{
	stream_run(pair, false);
}

/* Threads that poll are cancelled in the middle of a stream, and no completion is lost. */
static void
test_polled_stream(struct pair *pair)
{
	stream_run(pair, true);
}

/* --- control calls ------------------------------------------------------------------------- */

struct owner {
	struct pair *pair;
	atomic_uint rounds;
};

/* Between the calls are no cancellation points, so the thread ends without an object. */
static void *
make_and_free(void *arg)
{
	struct owner *owner = (struct owner *)arg;
	const struct end *end = &owner->pair->active;
	it_evd_handle_t evd;
	it_pz_handle_t pz;
	it_lmr_handle_t lmr;
	it_rmr_context_t context;
	it_ep_handle_t ep;
	it_listen_handle_t listen;
	it_ia_handle_t ia;
	size_t room = 0, total;

	while (atomic_load(&owner->rounds) < UINT32_MAX) {
		it_conn_qual_t qual = {.type = owner->pair->qual.type};

		pair_ok(it_evd_create(end->ia, IT_CM_REQ_EVENT_STREAM, IT_EVD_CREATE_FD, 4, 1, NULL,
				      &evd, &(int){0}));
		pair_ok(it_pz_create(end->ia, &pz));
		pair_ok(it_lmr_create21(pz, end->buffer, NULL, 4096, IT_ADDR_MODE_ABSOLUTE,
					IT_PRIV_ALL, 0, 0, &lmr, &context));
		pair_ok(it_ep_rc_create(pz, end->request, end->recv, end->cm_msg, 0, &end->attr,
					&ep));
		pair_ok(it_listen_create(end->ia, owner->pair->spigot, evd, 0, &qual, &listen));
		pair_ok(it_listen_free(listen));
		pair_ok(it_ep_free(ep));
		pair_ok(it_lmr_free(lmr));
		pair_ok(it_pz_free(pz));
		pair_ok(it_evd_free(evd));
		pair_ok(it_ia_create(pair_adapter(), 2, 0, &ia));
		pair_ok(it_ia_free(ia));
		it_interface_list(NULL, &room, &total);
		atomic_fetch_add(&owner->rounds, 1);
		pthread_testcancel();
	}
	return NULL;
}

/* Threads that create and free objects are cancelled, and leave nothing locked. */
static void
test_control(struct pair *pair)
{
	struct owner owner = {.pair = pair};

	for (unsigned round = 0; round < ROUNDS / 2; round++) {
		pthread_t threads[2];

		for (unsigned i = 0; i < G_N_ELEMENTS(threads); i++)
			g_assert_cmpint(pthread_create(&threads[i], NULL, make_and_free, &owner),
					==, 0);
		g_usleep(round * 411 % 7000);
		for (unsigned i = 0; i < G_N_ELEMENTS(threads); i++)
			cancel(threads[i]);
	}
	g_assert_cmpuint(atomic_load(&owner.rounds), >, 0);
	pair_establish(pair);
	pair_disconnect(pair);
}

/* --- callbacks ----------------------------------------------------------------------------- */

enum way {
	RETURN,
	EXIT,
	CANCEL,
	CANCEL_AT_ONCE,
	WAYS
};

struct called {
	enum way way;
	atomic_uint calls;
};

static void
end_thread(it_evd_handle_t evd, void *arg)
{
	struct called *called = (struct called *)arg;
	it_event_t event;

	pair_ok(it_evd_dequeue(evd, &event));
	atomic_fetch_add(&called->calls, 1);
	switch (called->way) {
	case EXIT:
		pthread_exit(NULL);
	case CANCEL:
		g_assert_cmpint(pthread_cancel(pthread_self()), ==, 0);
		break;
	case CANCEL_AT_ONCE:
		pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
		g_assert_cmpint(pthread_cancel(pthread_self()), ==, 0);
		pthread_testcancel();
		break;
	case RETURN:
	case WAYS:
	default:
		break;
	}
}

/* A callback that ends its thread counts as one that returns: the next one comes, and adapters work on. */
static void
test_callback(struct pair *pair)
{
	struct called called = {.way = RETURN};
	it_evd_handle_t evd = soft_member(&pair->active, NULL, 1);

	pair_ok(it_evd_callback_attach(evd, end_thread, &called));
	for (unsigned i = 0; i < 3 * WAYS; i++) {
		called.way = (enum way)(i % WAYS);
		soft_post(evd, i);
		PAIR_UNTIL(atomic_load(&called.calls) == i + 1);
		/* It waits until no call is under way. */
		pair_ok(it_evd_callback_detach(evd));
		pair_ok(it_evd_callback_attach(evd, end_thread, &called));
	}
	pair_ok(it_evd_callback_detach(evd));
	soft_free(evd);
	pair_establish(pair);
	pair_disconnect(pair);
}

static void
add(void)
{
	pair_add("cancel/wait", test_wait);
	pair_add("cancel/race", test_race);
	pair_add("cancel/leader", test_leader);
	pair_add("cancel/aggregate", test_aggregate);
	pair_add("cancel/forbidden", test_forbidden);
	pair_add("cancel/stream", test_stream);
	pair_add("cancel/polled-stream", test_polled_stream);
	pair_add("cancel/control", test_control);
	pair_add("cancel/callback", test_callback);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
