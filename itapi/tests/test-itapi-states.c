/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Every call in every state of an endpoint [IT 4.1], [IT 4.5], [IT 4.6], and what the peer sees. */

#include <stdatomic.h>
#include <string.h>

#include "cm_scene.h"

/* The status of a call, by state; SUCCESS where the call does its work. */
#define BAD IT_ERR_INVALID_EP_STATE

/* A request from another endpoint that waits at this end. */
struct knock {
	it_listen_handle_t listen;
	it_ep_handle_t ep;
	struct end *from;
	it_cn_est_identifier_t id;
};

static void
knock_open(struct knock *knock, struct cm_scene *scene)
{
	it_conn_qual_t qual = {.type = scene->pair->qual.type};

	knock->from = scene->peer;
	g_assert_cmpint(it_listen_create(scene->end->ia, scene->pair->spigot, scene->end->cm_req,
					 IT_LISTEN_NO_FLAG, &qual, &knock->listen),
			==, IT_SUCCESS);
	knock->ep = cm_ep(knock->from, IT_EP_NO_FLAG);
	g_assert_cmpint(cm_connect(scene->pair, knock->ep, &qual), ==, IT_SUCCESS);
	knock->id = end_expect(scene->end->cm_req, IT_CM_REQ_CONN_REQUEST_EVENT).conn_req.cn_est_id;
}

static void
knock_close(struct knock *knock)
{
	g_assert_cmpint(it_listen_free(knock->listen), ==, IT_SUCCESS);
	g_assert_cmpint(it_ep_free(knock->ep), ==, IT_SUCCESS);
}

/* Refused calls of connect, accept and reset change nothing. */
static void
test_refusals(struct pair *pair)
{
	static const it_status_t reset[CM_PLACES] = {IT_SUCCESS, BAD, BAD, BAD, BAD, IT_SUCCESS};
	struct cm_scene scene;
	struct knock knock;

	for (int place = 0; place < CM_PLACES; place++) {
		if (!cm_scene_open(&scene, pair, place))
			continue;
		if (place != CM_UNCONNECTED) {
			g_assert_cmpint(cm_connect(pair, scene.end->ep, &pair->qual), ==, BAD);
			knock_open(&knock, &scene);
			g_assert_cmpint(it_ep_accept(scene.end->ep, knock.id, NULL, 0), ==, BAD);
			g_assert_cmpint(it_reject(knock.id, NULL, 0), ==, IT_SUCCESS);
			knock_close(&knock);
		}
		g_assert_cmpint(end_state(scene.end), ==, cm_place_state(place));
		if (reset[place] == IT_SUCCESS)
			end_reset(scene.end);
		else
			g_assert_cmpint(it_ep_reset(scene.end->ep), ==, reset[place]);
		cm_scene_close(&scene);
	}
}

/* an end that the application asks for gives one event to it and one to its peer. */
static void
test_disconnect(struct pair *pair)
{
	struct cm_scene scene;

	for (int place = 0; place < CM_PLACES; place++) {
		bool ends = place != CM_UNCONNECTED && place != CM_NONOPERATIONAL;

		if (!cm_scene_open(&scene, pair, place))
			continue;
		g_assert_cmpint(it_ep_disconnect(scene.end->ep, NULL, 0), ==,
				place == CM_UNCONNECTED ? BAD : IT_SUCCESS);
		if (ends) {
			/* */
			g_assert_cmpint(end_state(scene.end), ==, IT_EP_STATE_NONOPERATIONAL);
			end_expect(scene.end->cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
			end_reset(scene.end);
		}
		if (place == CM_ACTIVE2 || (place == CM_PASSIVE && scene.raw < 0))
			end_expect(scene.peer->cm_msg, IT_CM_MSG_CONN_NONPEER_REJECT_EVENT);
		else if (place == CM_CONNECTED)
			end_expect(scene.peer->cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
		end_expect_none(scene.end->cm_msg);
		end_expect_none(scene.peer->cm_msg);
		cm_scene_close(&scene);
	}
}

/* free works in every state, at once, and no later event names the endpoint. */
static void
test_free(struct pair *pair)
{
	struct cm_scene scene;
	it_event_t event;

	for (int place = 0; place < CM_PLACES; place++) {
		if (!cm_scene_open(&scene, pair, place))
			continue;
		g_assert_cmpint(it_ep_free(scene.end->ep), ==, IT_SUCCESS);
		g_assert_cmpint(it_ep_free(scene.end->ep), ==, IT_ERR_INVALID_EP);
		g_assert_cmpint(it_ep_disconnect(scene.end->ep, NULL, 0), ==, IT_ERR_INVALID_EP);
		scene.end->ep = NULL;
		if (place == CM_ACTIVE2 || (place == CM_PASSIVE && scene.raw < 0)) {
			end_expect(scene.peer->cm_msg, IT_CM_MSG_CONN_NONPEER_REJECT_EVENT);
		} else if (place == CM_CONNECTED) {
			event = end_next(scene.peer->cm_msg);
			g_assert_true(event.event_number == IT_CM_MSG_CONN_BROKEN_EVENT ||
				      event.event_number == IT_CM_MSG_CONN_DISCONNECT_EVENT);
		}
		end_expect_none(scene.end->cm_msg);
		end_expect_none(scene.peer->cm_msg);
		cm_scene_close(&scene);
	}
}

/* Receives are kept before the connection, used on it, and flushed after it; R-04 for the sends. */
static void
test_posts(struct pair *pair)
{
	struct cm_scene scene;

	for (int place = 0; place < CM_PLACES; place++) {
		it_lmr_triplet_t segment;
		bool flushed = place == CM_NONOPERATIONAL;
		it_event_t event;

		if (!cm_scene_open(&scene, pair, place))
			continue;
		segment = end_segment(scene.end, 0, 8);
		g_assert_cmpint(it_post_recv(scene.end->ep, &segment, 1, 1, IT_COMPLETION_FLAG), ==,
				IT_SUCCESS);
		/* Without a receive for the Send the connection would end, on some devices at once. */
		if (place == CM_CONNECTED)
			g_assert_cmpint(
				it_post_recv(scene.peer->ep, NULL, 0, 3, IT_COMPLETION_FLAG), ==,
				IT_SUCCESS);
		g_assert_cmpint(it_post_send(scene.end->ep, NULL, 0, 2, IT_COMPLETION_FLAG), ==,
				place == CM_CONNECTED || flushed ? IT_SUCCESS : BAD);
		if (flushed) {
			event = end_expect(scene.end->recv, IT_DTO_RC_RECV_CMPL_EVENT);
			g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_ERR_FLUSHED);
			event = end_expect(scene.end->request, IT_DTO_SEND_CMPL_EVENT);
			g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_ERR_FLUSHED);
		}
		end_expect_none(scene.end->recv);
		cm_scene_close(&scene);
	}
}

/* a reset waits until every request is completed, so none is lost. */
static void
test_reset_loses_nothing(struct pair *pair)
{
	gint64 begin = 0;
	it_lmr_triplet_t segment = end_segment(&pair->active, 0, 8);
	it_status_t status = IT_ERR_CANNOT_RESET;
	unsigned int flushes = 0;
	it_event_t event;

	for (guint round = 0; pair_round(round, 5, &begin); round++) {
		for (int i = 0; i < RECV_SLOTS; i++)
			g_assert_cmpint(it_post_recv(pair->active.ep, &segment, 1, i, 0), ==,
					IT_SUCCESS);
		pair_establish(pair);
		g_assert_cmpint(it_ep_disconnect(pair->active.ep, NULL, 0), ==, IT_SUCCESS);
		while ((status = it_ep_reset(pair->active.ep)) == IT_ERR_CANNOT_RESET ||
		       status == IT_ERR_EP_TIMEWAIT)
			g_usleep(100); /* valgrind runs one thread at a time */
		g_assert_cmpint(status, ==, IT_SUCCESS);
		/* Without another poll of the transport: all completions are queued. */
		for (flushes = 0; it_evd_dequeue(pair->active.recv, &event) == IT_SUCCESS;
		     flushes++)
			g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_ERR_FLUSHED);
		g_assert_cmpuint(flushes, ==, RECV_SLOTS);
		end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
		end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
		end_reset(&pair->passive);
	}
}

/* The library's service thread, held up in a callback. */
struct hold {
	it_evd_handle_t evd;
	atomic_bool held;
	atomic_bool go;
};

static void
hold_up(it_evd_handle_t evd, void *arg)
{
	struct hold *hold = arg;

	(void)evd;
	atomic_store(&hold->held, true);
	while (!atomic_load(&hold->go))
		g_usleep(100);
}

static void
hold_begin(struct hold *hold, it_ia_handle_t ia)
{
	atomic_store(&hold->held, false);
	atomic_store(&hold->go, false);
	hold->evd = pair_sevd(ia, IT_SOFTWARE_EVENT_STREAM, 1);
	pair_ok(it_evd_callback_attach(hold->evd, hold_up, hold));
	pair_ok(it_evd_post_se(hold->evd, NULL));
	PAIR_UNTIL(atomic_load(&hold->held));
}

static void
hold_end(struct hold *hold)
{
	atomic_store(&hold->go, true);
	pair_ok(it_evd_callback_detach(hold->evd));
	pair_ok(it_evd_free(hold->evd));
}

/*
 * The transport has not reported the end of the connection yet: that event must not reach the next connection. Most
 * transports cannot report it while the service thread is blocked; with others the first report may come too soon for
 * this test.
 */
static void
test_cannot_reset(struct pair *pair)
{
	struct hold hold;
	it_status_t status;
	bool seen = false;

	for (int i = 0; i < 200 && !seen; i++) {
		pair_establish(pair);
		hold_begin(&hold, pair->active.ia);
		g_assert_cmpint(it_ep_disconnect(pair->active.ep, NULL, 0), ==, IT_SUCCESS);
		status = it_ep_reset(pair->active.ep);
		hold_end(&hold);
		seen = status == IT_ERR_CANNOT_RESET;
		g_assert_true(seen || status == IT_SUCCESS);
		end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
		end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
		end_reset(&pair->active);
		end_reset(&pair->passive);
	}
	g_assert_true(seen);
	g_assert_cmpint(it_ep_reset(NULL), ==, IT_ERR_INVALID_EP);
}

/* a consumer that sees the event of the end has all completions of the connection. */
static void
test_completions_first(struct pair *pair)
{
	gint64 begin = 0;
	it_lmr_triplet_t segment = end_segment(&pair->passive, 0, 8);
	it_event_t event;

	for (guint round = 0; pair_round(round, 20, &begin); round++) {
		for (int i = 0; i < RECV_SLOTS; i++)
			g_assert_cmpint(it_post_recv(pair->passive.ep, &segment, 1, i, 0), ==,
					IT_SUCCESS);
		pair_establish(pair);
		g_assert_cmpint(it_ep_disconnect(pair->active.ep, NULL, 0), ==, IT_SUCCESS);
		end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
		for (int i = 0; i < RECV_SLOTS; i++) {
			g_assert_cmpint(it_evd_dequeue(pair->passive.recv, &event), ==, IT_SUCCESS);
			g_assert_cmpuint(event.dto_cmpl.cookie, ==, (uint64_t)i);
		}
		end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
		end_reset(&pair->active);
		end_reset(&pair->passive);
	}
}

/* an orderly end is a DISCONNECT on both sides, also if the other side still had work. */
static void
test_orderly(struct pair *pair)
{
	it_lmr_triplet_t segment = end_segment(&pair->passive, 0, 64);
	unsigned int done = 0;
	it_event_t event;

	pair_establish(pair);
	/* The peer has no receives for these, so they are queued when it disconnects. */
	for (int i = 0; i < REQUEST_SLOTS; i++)
		g_assert_cmpint(it_post_send(pair->passive.ep, &segment, 1, i, IT_COMPLETION_FLAG),
				==, IT_SUCCESS);
	g_assert_cmpint(it_ep_disconnect(pair->active.ep, NULL, 0), ==, IT_SUCCESS);
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	while (it_evd_dequeue(pair->passive.request, &event) == IT_SUCCESS)
		done++;
	g_assert_cmpuint(done, ==, REQUEST_SLOTS);
}

static gpointer
disconnect_thread(gpointer ep)
{
	g_assert_cmpint(it_ep_disconnect(ep, NULL, 0), ==, IT_SUCCESS);
	return NULL;
}

/* Both sides disconnect at once: one DISCONNECT each [IT 4.5]. */
static void
test_both_disconnect(struct pair *pair)
{
	gint64 begin = 0;
	for (guint i = 0; pair_round(i, 50, &begin); i++) {
		GThread *thread;

		pair_establish(pair);
		thread = g_thread_new("peer", disconnect_thread, pair->passive.ep);
		g_assert_cmpint(it_ep_disconnect(pair->active.ep, NULL, 0), ==, IT_SUCCESS);
		g_thread_join(thread);
		end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
		end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
		end_reset(&pair->active);
		end_reset(&pair->passive);
		end_expect_none(pair->active.cm_msg);
		end_expect_none(pair->passive.cm_msg);
	}
}

/* events queued before the free stay, and none is added. */
static void
test_queued_stay(struct pair *pair)
{
	it_lmr_triplet_t segment = end_segment(&pair->passive, 0, 8);
	it_ep_handle_t ep = pair->passive.ep;
	it_event_t event;

	for (int i = 0; i < 3; i++)
		g_assert_cmpint(it_post_recv(ep, &segment, 1, i, 0), ==, IT_SUCCESS);
	pair_establish(pair);
	g_assert_cmpint(it_ep_disconnect(pair->active.ep, NULL, 0), ==, IT_SUCCESS);
	/* The last event there will be; then the endpoint is freed. */
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	g_assert_cmpint(it_ep_free(ep), ==, IT_SUCCESS);
	pair->passive.ep = NULL;
	for (int i = 0; i < 3; i++) {
		g_assert_cmpint(it_evd_dequeue(pair->passive.recv, &event), ==, IT_SUCCESS);
		g_assert_true(event.dto_cmpl.ep == ep);
		g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_ERR_FLUSHED);
	}
	end_expect_none(pair->passive.recv);
	end_expect_none(pair->passive.cm_msg);
}

struct answer {
	struct pair *pair;
	it_cn_est_identifier_t id;
	it_status_t status;
};

static gpointer
accept_thread(gpointer data)
{
	struct answer *answer = data;

	answer->status = it_ep_accept(answer->pair->passive.ep, answer->id, NULL, 0);
	return NULL;
}

/* One outcome of the attempt and, if it succeeded, one end. */
static void
expect_whole(struct end *end, bool gave_up)
{
	it_event_t event = end_next(end->cm_msg);
	bool stood = event.event_number == IT_CM_MSG_CONN_ESTABLISHED_EVENT;

	if (stood)
		event = end_next(end->cm_msg);
	if (gave_up)
		g_assert_cmphex(event.event_number, ==, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	else if (stood)
		g_assert_true(event.event_number == IT_CM_MSG_CONN_DISCONNECT_EVENT ||
			      event.event_number == IT_CM_MSG_CONN_BROKEN_EVENT);
	else if (!pair_is_device() || event.event_number != IT_CM_MSG_CONN_PEER_REJECT_EVENT)
		/* A device may refuse for its application, if the reply comes in just then. */
		g_assert_cmphex(event.event_number, ==, IT_CM_MSG_CONN_NONPEER_REJECT_EVENT);
	end_reset(end);
	end_expect_none(end->cm_msg);
}

/* one side gives up at the moment when the other accepts, or soon after. */
static void
test_one_answer_one_end(struct pair *pair)
{
	gint64 begin = 0;
	struct answer answer = {.pair = pair};

	for (guint round = 0; pair_round(round, 200, &begin); round++) {
		GThread *thread;

		pair_connect(pair);
		answer.id = cm_request(pair).cn_est_id;
		thread = g_thread_new("passive", accept_thread, &answer);
		if (round % 4 != 0)
			g_usleep(g_test_rand_int_range(0, 300));
		g_assert_cmpint(it_ep_disconnect(pair->active.ep, NULL, 0), ==, IT_SUCCESS);
		g_thread_join(thread);
		expect_whole(&pair->active, true);
		if (answer.status == IT_SUCCESS)
			expect_whole(&pair->passive, false);
		else
			g_assert_cmpint(answer.status, ==, IT_ERR_INVALID_CN_EST_ID);
		g_assert_cmpint(end_state(&pair->passive), ==, IT_EP_STATE_UNCONNECTED);
		cm_drain(pair->passive.cm_req);
	}
}

/* The passive side accepts and gives up. */
static void
test_passive_gives_up(struct pair *pair)
{
	gint64 begin = 0;
	for (guint round = 0; pair_round(round, 200, &begin); round++) {
		pair_connect(pair);
		g_assert_cmpint(it_ep_accept(pair->passive.ep, cm_request(pair).cn_est_id, NULL, 0),
				==, IT_SUCCESS);
		if (round % 4 != 0)
			g_usleep(g_test_rand_int_range(0, 200));
		g_assert_cmpint(it_ep_disconnect(pair->passive.ep, NULL, 0), ==, IT_SUCCESS);
		expect_whole(&pair->passive, true);
		expect_whole(&pair->active, false);
	}
}

/* An endpoint is freed while it connects: its peer gets an event, whichever side it is. */
static void
test_free_raced(struct pair *pair)
{
	gint64 begin = 0;
	struct answer answer = {.pair = pair};

	for (guint round = 0; pair_round(round, 100, &begin); round++) {
		bool active_goes = round % 2 == 0;
		struct end *goes = active_goes ? &pair->active : &pair->passive;
		struct end *stays = active_goes ? &pair->passive : &pair->active;

		pair_connect(pair);
		answer.id = cm_request(pair).cn_est_id;
		if (active_goes) {
			GThread *thread = g_thread_new("passive", accept_thread, &answer);

			if (round % 4 != 0)
				g_usleep(g_test_rand_int_range(0, 200));
			g_assert_cmpint(it_ep_free(goes->ep), ==, IT_SUCCESS);
			g_thread_join(thread);
		} else {
			accept_thread(&answer);
			if (round % 4 != 1)
				g_usleep(g_test_rand_int_range(0, 200));
			g_assert_cmpint(it_ep_free(goes->ep), ==, IT_SUCCESS);
		}
		goes->ep = NULL;
		if (answer.status == IT_SUCCESS)
			expect_whole(stays, false);
		cm_drain(goes->cm_msg);
		cm_drain(pair->passive.cm_req);
		end_new_ep(goes);
	}
}

/* Three-way: the active side accepts while the passive side gives up. */
static void
test_arrival_raced(struct pair *pair)
{
	gint64 begin = 0;
	if (!pair->active.info->three_way_handshake_support) {
		pair_inapplicable("three_way_handshake is not claimed");
		return;
	}
	for (guint round = 0; pair_round(round, 200, &begin); round++) {
		it_cn_est_identifier_t id = cm_arrival(pair).cn_est_id;
		GThread *thread = g_thread_new("peer", disconnect_thread, pair->passive.ep);
		it_status_t status;

		if (round % 4 != 0)
			g_usleep(g_test_rand_int_range(0, 100));
		status = it_ep_accept(pair->active.ep, id, NULL, 0);
		g_assert_true(status == IT_SUCCESS || status == IT_ERR_INVALID_CN_EST_ID ||
			      status == IT_ERR_INVALID_EP_STATE);
		g_thread_join(thread);
		expect_whole(&pair->passive, true);
		expect_whole(&pair->active, false);
	}
}

/* A reset endpoint is like a new one, many times, and as either side. */
static void
test_again(struct pair *pair)
{
	gint64 begin = 0;
	for (guint i = 0; pair_round(i, 20, &begin); i++) {
		it_ep_handle_t ep = pair->active.ep;

		pair_establish(pair);
		pair_disconnect(pair);
		end_reset(&pair->active);
		end_reset(&pair->passive);
		g_assert_true(ep == pair->active.ep);
	}
	g_assert_cmpint(it_ep_reset(pair->active.ep), ==, IT_SUCCESS);
}

static void
add(void)
{
	pair_add("states/refusals", test_refusals);
	pair_add("states/disconnect/r-01/r-02", test_disconnect);
	pair_add("states/free/r-03/r-08", test_free);
	pair_add("states/posts/r-04", test_posts);
	pair_add_for(NEEDS_REUSE, "states/again", test_again);
	pair_add_for(NEEDS_REUSE, "states/cannot-reset/r-07", test_cannot_reset);
	pair_add("states/both-disconnect", test_both_disconnect);
	pair_add("rulings/r-01-one-answer-one-end", test_one_answer_one_end);
	pair_add("rulings/r-01-passive-gives-up", test_passive_gives_up);
	pair_add("rulings/r-01-arrival-raced", test_arrival_raced);
	pair_add("rulings/r-03-free-raced", test_free_raced);
	pair_add("rulings/r-05-completions-before-the-end", test_completions_first);
	pair_add_for(NEEDS_WAITING, "rulings/r-06-orderly-is-disconnect", test_orderly);
	pair_add("rulings/r-08-queued-events-stay", test_queued_stay);
	pair_add_for(NEEDS_REUSE, "rulings/r-07-reset-loses-nothing", test_reset_loses_nothing);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
