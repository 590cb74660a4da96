/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * it_ia_free while peers connect: with requests that are not dequeued yet, requests that wait for an answer,
 * connections that are being established, and established connections. The peer sees an end each time.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "it_pair.h"

#define ROUNDS   40
#define KNOCKERS 2

struct scene {
	pthread_mutex_t lock; /* connection qualifier and path */
	it_conn_qual_t qual;
	it_path_t path;
	atomic_bool stop;
	atomic_uint attempts;
};

/* The outcome of an attempt, and of the connection if one was established. */
static void
see_it_end(struct end *end)
{
	it_event_t event = end_next(end->cm_msg);

	if (event.event_number == IT_CM_MSG_CONN_ESTABLISHED_EVENT)
		event = end_next(end->cm_msg);
	g_assert_true(event.event_number == IT_CM_MSG_CONN_NONPEER_REJECT_EVENT ||
		      event.event_number == IT_CM_MSG_CONN_PEER_REJECT_EVENT ||
		      event.event_number == IT_CM_MSG_CONN_DISCONNECT_EVENT ||
		      event.event_number == IT_CM_MSG_CONN_BROKEN_EVENT);
}

static void *
knock(void *arg)
{
	struct scene *scene = arg;
	struct end end RI_AT_END(end_close);

	g_assert_true(end_open(&end));
	while (!atomic_load(&scene->stop)) {
		it_conn_qual_t qual;
		it_path_t path;

		pthread_mutex_lock(&scene->lock);
		qual = scene->qual;
		path = scene->path;
		pthread_mutex_unlock(&scene->lock);
		end_new_ep(&end);
		pair_ok(it_ep_connect(end.ep, &path, NULL, &qual, IT_CONNECT_FLAG_TWO_WAY, NULL,
				      0));
		see_it_end(&end);
		atomic_fetch_add(&scene->attempts, 1);
	}
	return NULL;
}

/* The next request, if one comes soon; it is accepted, or left unanswered. */
static void
answer(struct end *end, bool accept)
{
	it_event_t event;
	const it_conn_request_event_t *request = (const it_conn_request_event_t *)&event;

	if (it_evd_wait(end->cm_req, 100000, &event, NULL) != IT_SUCCESS || !accept ||
	    event.event_number != IT_CM_REQ_CONN_REQUEST_EVENT)
		return;
	end_new_ep(end);
	(void)it_ep_accept(end->ep, request->cn_est_id, NULL, 0);
}

static void
round_of(struct scene *scene, struct pair *pair, unsigned i)
{
	if (i > 0)
		g_assert_true(end_open(&pair->passive));
	pair_listen(pair);
	pthread_mutex_lock(&scene->lock);
	scene->qual = pair->qual;
	scene->path = pair->path;
	pthread_mutex_unlock(&scene->lock);
	for (unsigned requests = i % 4; requests > 0; requests--)
		answer(&pair->passive, requests % 2 == 0);
	if (i % 3 == 0)
		pair_ok(it_listen_free(pair->listen));
	it_ia_info_free(pair->passive.info);
	pair_ok(it_ia_free(pair->passive.ia)); /* with everything that is under it */
	g_free(pair->passive.buffer);
	pair->passive.ep = NULL;
}

/* An adapter is freed while peers connect to its listeners. */
static void
test_peers_connect(void)
{
	struct scene scene = {.lock = PTHREAD_MUTEX_INITIALIZER};
	pthread_t threads[KNOCKERS];
	struct pair pair;

	memset(&pair, 0, sizeof(pair));
	g_assert_true(end_open(&pair.active));
	g_assert_true(end_open(&pair.passive));
	pair_listen(&pair);
	scene.qual = pair.qual;
	scene.path = pair.path;
	pair_ok(it_listen_free(pair.listen));
	for (int i = 0; i < KNOCKERS; i++)
		g_assert_cmpint(pthread_create(&threads[i], NULL, knock, &scene), ==, 0);
	for (unsigned i = 0; i < ROUNDS; i++)
		round_of(&scene, &pair, i);
	atomic_store(&scene.stop, true);
	for (int i = 0; i < KNOCKERS; i++)
		pthread_join(threads[i], NULL);
	g_assert_cmpuint(atomic_load(&scene.attempts), >, 0);
	end_close(&pair.active);
}

static void
add(void)
{
	pair_add_bare("closing/peers-connect", test_peers_connect);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
