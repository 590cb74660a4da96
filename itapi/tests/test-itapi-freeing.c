/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Objects are freed while other threads use them: in the spin and in the sleep of a wait, in dequeues, posts,
 * callbacks and accepts. Every call returns one of the statuses that the standard lists, and freed memory is not used
 * (the sanitizers watch that).
 */
#include <pthread.h>

#include "it_pair.h"
#include "it_soft.h"

#define ROUNDS 40

/* A thread that repeats one call until the call says that its object is gone. */
struct worker {
	pthread_t thread;
	pthread_barrier_t *start;
	it_status_t (*call)(struct worker *worker);
	it_ia_handle_t ia;
	it_evd_handle_t evd;
	it_ep_handle_t ep;
	it_lmr_triplet_t segment;
	it_event_t event;
	it_status_t last; /* the status that ended it */
};

static void *
work(void *arg)
{
	struct worker *worker = (struct worker *)arg;

	pthread_barrier_wait(worker->start);
	do
		worker->last = worker->call(worker);
	while (worker->last == IT_SUCCESS);
	return NULL;
}

static void
work_begin(struct worker *workers, size_t count, pthread_barrier_t *start)
{
	pthread_barrier_init(start, NULL, (unsigned)count + 1);
	for (size_t i = 0; i < count; i++) {
		workers[i].start = start;
		g_assert_cmpint(pthread_create(&workers[i].thread, NULL, work, &workers[i]), ==, 0);
	}
	pthread_barrier_wait(start);
}

static void
work_end(struct worker *workers, size_t count, pthread_barrier_t *start)
{
	for (size_t i = 0; i < count; i++)
		g_assert_cmpint(pthread_join(workers[i].thread, NULL), ==, 0);
	pthread_barrier_destroy(start);
}

static bool
gone(it_status_t status)
{
	return status == IT_ERR_ABORT || status == IT_ERR_INVALID_EVD;
}

/* With a pause in which the EVD can be freed. */
static it_status_t
wait_short(struct worker *worker)
{
	it_status_t status;

	g_usleep(100);
	status = it_evd_wait(worker->evd, 20, &worker->event, NULL);
	return status == IT_ERR_TIMEOUT_EXPIRED ? IT_SUCCESS : status;
}

/* Called where another thread's test call may hold the place for a moment. */
static it_status_t
wait_for_ever(struct worker *worker)
{
	it_status_t status = it_evd_wait(worker->evd, IT_TIMEOUT_INFINITE, &worker->event, NULL);

	return status == IT_ERR_CALLBACK_EXISTS ? IT_SUCCESS : status;
}

static it_status_t
wait_many(struct worker *worker)
{
	it_event_t events[4];
	size_t count;

	return itx_aevd_wait(worker->evd, IT_TIMEOUT_INFINITE, 4, events, &count);
}

static it_status_t
dequeue(struct worker *worker)
{
	it_status_t status = it_evd_dequeue(worker->evd, &worker->event);

	return status == IT_ERR_QUEUE_EMPTY ? IT_SUCCESS : status;
}

static it_evd_handle_t
sevd(it_ia_handle_t ia, it_event_type_t stream)
{
	return pair_sevd(ia, stream, 1);
}

/* A thread that waits, spinning or asleep, keeps the EVD from being freed; freeing the IA makes it return. */
static void
refused(it_event_type_t stream)
{
	it_ia_handle_t ia = pair_ia();
	struct worker waiter = {.call = wait_for_ever, .evd = sevd(ia, stream)};
	pthread_barrier_t start;

	work_begin(&waiter, 1, &start);
	pair_await_waiter(waiter.evd);
	for (unsigned i = 0; i < 20; i++)
		g_assert_cmpint(it_evd_free(waiter.evd), ==, IT_ERR_EVD_WAIT);
	pair_ok(it_ia_free(ia));
	work_end(&waiter, 1, &start);
	g_assert_cmpint(waiter.last, ==, IT_ERR_ABORT);
}

/* A free that is refused disturbs no thread that waits. */
static void
test_refused_asleep(void)
{
	refused(IT_SOFTWARE_EVENT_STREAM);
	refused(IT_DTO_EVENT_STREAM);
}

/* With a spin that lasts longer than the test. */
static void
test_refused_awake(void)
{
	g_setenv("ITAPI_SPIN_US", "1000000", TRUE);
	refused(IT_DTO_EVENT_STREAM);
	g_unsetenv("ITAPI_SPIN_US");
}

/* Free at any moment of short waits, until the free is not refused. */
static void
test_evd_under_waits(void)
{
	it_ia_handle_t ia = pair_ia();

	for (unsigned i = 0; i < ROUNDS; i++) {
		it_event_type_t stream =
			i % 2 == 0 ? IT_DTO_EVENT_STREAM : IT_SOFTWARE_EVENT_STREAM;
		struct worker waiters[2] = {{.call = wait_short}, {.call = wait_short}};
		pthread_barrier_t start;
		it_status_t status;

		waiters[0].evd = waiters[1].evd = sevd(ia, stream);
		work_begin(waiters, 2, &start);
		while ((status = it_evd_free(waiters[0].evd)) != IT_SUCCESS) {
			g_assert_cmpint(status, ==, IT_ERR_EVD_WAIT);
			g_usleep(10);
		}
		work_end(waiters, 2, &start);
		g_assert_true(gone(waiters[0].last) && gone(waiters[1].last));
	}
	pair_ok(it_ia_free(ia));
}

/* A SEVD is freed while threads take events from it. */
static void
test_evd_under_dequeues(void)
{
	it_ia_handle_t ia = pair_ia();

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct worker takers[2] = {{.call = dequeue}, {.call = dequeue}};
		pthread_barrier_t start;

		takers[0].evd = takers[1].evd =
			sevd(ia, i % 2 == 0 ? IT_DTO_EVENT_STREAM : IT_SOFTWARE_EVENT_STREAM);
		work_begin(takers, 2, &start);
		g_usleep(i * 10);
		pair_ok(it_evd_free(takers[0].evd));
		work_end(takers, 2, &start);
		g_assert_cmpint(takers[0].last, ==, IT_ERR_INVALID_EVD);
		g_assert_cmpint(takers[1].last, ==, IT_ERR_INVALID_EVD);
	}
	pair_ok(it_ia_free(ia));
}

static it_evd_handle_t
aggregate(it_ia_handle_t ia)
{
	struct end end = {.ia = ia};

	return soft_aggregate(&end, 0);
}

/* All kinds of waits, dequeues, and two threads that free the adapter. */
static it_status_t
free_ia(struct worker *worker)
{
	it_status_t status = it_ia_free(worker->ia);

	return status == IT_SUCCESS ? IT_ERR_ABORT : status;
}

/* An adapter is freed while threads use each kind of its objects. */
static void
test_ia_under_all(void)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		it_ia_handle_t ia = pair_ia();
		struct worker workers[] = {
			{.call = wait_for_ever, .evd = sevd(ia, IT_DTO_EVENT_STREAM)},
			{.call = wait_short, .evd = sevd(ia, IT_DTO_EVENT_STREAM)},
			{.call = wait_for_ever, .evd = sevd(ia, IT_SOFTWARE_EVENT_STREAM)},
			{.call = wait_for_ever, .evd = aggregate(ia)},
			{.call = wait_many, .evd = aggregate(ia)},
			{.call = dequeue, .evd = sevd(ia, IT_DTO_EVENT_STREAM)},
			{.call = free_ia, .ia = ia},
		};
		const size_t count = sizeof(workers) / sizeof(workers[0]);
		pthread_barrier_t start;
		it_status_t status;

		work_begin(workers, count, &start);
		g_usleep(i * 20);
		status = it_ia_free(ia);
		work_end(workers, count, &start);
		for (size_t w = 0; w + 1 < count; w++)
			g_assert_true(gone(workers[w].last));
		/* One of the two freed it. */
		if (status == IT_SUCCESS) {
			g_assert_cmpint(workers[count - 1].last, ==, IT_ERR_INVALID_IA);
		} else {
			g_assert_cmpint(status, ==, IT_ERR_INVALID_IA);
			g_assert_cmpint(workers[count - 1].last, ==, IT_ERR_ABORT);
		}
	}
}

/* Posts to an endpoint whose connection ends. The peer has no receive, for which a device may end it first. */
static it_status_t
post_both(struct worker *worker)
{
	it_status_t status = it_post_recv((it_handle_t)worker->ep, &worker->segment, 1, 1, 0);

	if (status == IT_SUCCESS || status == IT_ERR_TOO_MANY_POSTS)
		status = it_post_send(worker->ep, &worker->segment, 1, 2, IT_COMPLETION_FLAG);
	if (status == IT_ERR_TOO_MANY_POSTS || status == IT_ERR_INVALID_EP_STATE)
		status = IT_SUCCESS;
	return status;
}

/* An endpoint is freed while threads post to it. */
static void
test_ep_under_posts(struct pair *pair)
{
	struct end *end = &pair->active;

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct worker workers[3] = {
			{.call = post_both}, {.call = post_both}, {.call = wait_short}};
		pthread_barrier_t start;
		it_event_t event;

		end_new_evds(end, 1, NULL);
		end_new_ep(&pair->passive);
		pair_establish(pair);
		workers[0].ep = workers[1].ep = end->ep;
		workers[0].segment = workers[1].segment = end_segment(end, 0, 64);
		workers[2].evd = end->request;
		work_begin(workers, 3, &start);
		g_usleep(i * 10);
		pair_ok(it_ep_free(end->ep));
		while (it_evd_free(end->request) != IT_SUCCESS)
			g_usleep(10);
		work_end(workers, 3, &start);
		for (unsigned w = 0; w < 2; w++)
			if (workers[w].last != IT_ERR_INVALID_EP)
				g_assert_cmpint(workers[w].last, ==, IT_ERR_INVALID_HANDLE);
		g_assert_true(gone(workers[2].last));
		(void)end_next(pair->passive.cm_msg); /* the status that ended it */
		while (it_evd_dequeue(end->cm_msg, &event) == IT_SUCCESS)
			g_assert_true(event.event_number == IT_CM_MSG_CONN_DISCONNECT_EVENT ||
				      event.event_number == IT_CM_MSG_CONN_BROKEN_EVENT);
		end->request = sevd(end->ia, IT_DTO_EVENT_STREAM);
		pair_ok(it_ep_rc_create(end->pz, end->request, end->recv, end->cm_msg, 0,
					&end->attr, &end->ep));
	}
}

/* Members leave a merging aggregate while a thread waits on it. */
static it_status_t
post_soft(struct worker *worker)
{
	it_status_t status = it_evd_post_se(worker->evd, worker);

	return status == IT_ERR_EVD_QUEUE_FULL ? IT_SUCCESS : status;
}

/* Members of an aggregate are freed while threads wait for it. */
static void
test_members(void)
{
	struct end end = {.ia = pair_ia()};

	for (unsigned i = 0; i < ROUNDS; i++) {
		it_evd_handle_t aevd = soft_aggregate(&end, 0);
		it_evd_handle_t member = soft_member(&end, aevd, 1);
		struct worker workers[2] = {{.call = wait_short, .evd = aevd},
					    {.call = post_soft, .evd = member}};
		pthread_barrier_t start;
		it_status_t status;

		work_begin(workers, 2, &start);
		g_usleep(i * 10);
		pair_ok(it_evd_free(member));
		while ((status = it_evd_free(aevd)) != IT_SUCCESS) {
			g_assert_cmpint(status, ==, IT_ERR_EVD_WAIT);
			g_usleep(10);
		}
		work_end(workers, 2, &start);
		g_assert_true(gone(workers[0].last));
		g_assert_cmpint(workers[1].last, ==, IT_ERR_INVALID_EVD);
	}
	pair_ok(it_ia_free(end.ia));
}

/* A callback frees its own dispatcher while another thread waits for the callback to end. */
struct suicide {
	pthread_barrier_t meet;
	it_status_t status;
};

static void
free_own(it_evd_handle_t evd, void *arg)
{
	struct suicide *suicide = (struct suicide *)arg;

	/* The callback runs; then the other thread waits for its end. */
	pthread_barrier_wait(&suicide->meet);
	pthread_barrier_wait(&suicide->meet);
	while ((suicide->status = it_evd_free(evd)) == IT_SUCCESS)
		g_assert_not_reached();
	pthread_barrier_wait(&suicide->meet);
}

static it_status_t
detach(struct worker *worker)
{
	it_status_t status = it_evd_callback_detach(worker->evd);

	return status == IT_SUCCESS ? IT_ERR_ABORT : status;
}

/* The free returns BUSY; otherwise each of the two would wait for the other. */
static void
test_callback_frees(void)
{
	struct end end = {.ia = pair_ia()};
	struct worker other = {.call = detach, .evd = soft_member(&end, NULL, 1)};
	struct suicide suicide;
	pthread_barrier_t start;

	pthread_barrier_init(&suicide.meet, NULL, 2);
	pair_ok(it_evd_callback_attach(other.evd, free_own, &suicide));
	soft_post(other.evd, 1);
	pthread_barrier_wait(&suicide.meet);
	work_begin(&other, 1, &start);
	/* The callback is detached from the EVD when the other thread waits for its end. */
	for (it_evd_param_t now = {.evd_callback = IT_TRUE}; now.evd_callback != IT_FALSE;)
		pair_ok(it_evd_query(other.evd, IT_EVD_PARAM_CALLBACK, &now));
	pthread_barrier_wait(&suicide.meet);
	pthread_barrier_wait(&suicide.meet);
	g_assert_cmpint(suicide.status, ==, IT_ERR_EVD_BUSY);
	work_end(&other, 1, &start);
	pthread_barrier_destroy(&suicide.meet);
	pair_ok(it_evd_free(other.evd));
	pair_ok(it_ia_free(end.ia));
}

static void
add(void)
{
	pair_add_bare("/freeing/refused/asleep", test_refused_asleep);
	pair_add_bare("/freeing/refused/awake", test_refused_awake);
	pair_add_bare("/freeing/evd/waits", test_evd_under_waits);
	pair_add_bare("/freeing/evd/dequeues", test_evd_under_dequeues);
	pair_add_bare("/freeing/ia", test_ia_under_all);
	pair_add("/freeing/ep/posts", test_ep_under_posts);
	pair_add_bare("/freeing/members", test_members);
	pair_add_bare("/freeing/callback", test_callback_frees);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
