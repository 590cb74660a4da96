/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * R-36 and [IT 1.6]: an adapter fails permanently, by a command of the fault door of vp/emul. Its connections
 * break. Then every call on its objects returns that status, except calls that free and calls that the library
 * answers itself. The adapter of the passive end is the one that fails.
 */

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "it_ext.h"
#include "it_fault.h"

/* The objects of the failed end, one of each kind. */
struct scene {
	struct pair *pair;
	struct faults faults;
	struct end *end;
	it_ep_handle_t spare; /* unconnected */
	it_ep_handle_t knocker;
	it_cn_est_identifier_t request; /* from the peer, unanswered */
	it_srq_handle_t srq;
	it_rmr_handle_t rmr;
	it_evd_handle_t soft;
	it_evd_handle_t aevd;
	it_evd_handle_t aff;
	it_evd_handle_t unaff;
};

static it_evd_handle_t
evd_new(const struct end *end, it_event_type_t stream)
{
	it_evd_handle_t evd = NULL;

	g_assert_cmpint(it_evd_create(end->ia, stream, 0, 16, 0, NULL, &evd, NULL), ==, IT_SUCCESS);
	return evd;
}

static it_ep_handle_t
ep_new(const struct end *end)
{
	it_ep_handle_t ep = NULL;

	g_assert_cmpint(it_ep_rc_create(end->pz, end->request, end->recv, end->cm_msg,
					IT_EP_NO_FLAG, &end->attr, &ep),
			==, IT_SUCCESS);
	return ep;
}

/* False: the test is skipped. */
static bool
scene_open(struct scene *s, struct pair *pair)
{
	it_event_t event;

	memset(s, 0, sizeof(*s));
	s->pair = pair;
	s->end = &pair->passive;
	if (!faults_meet(&s->faults))
		return false;
	pair_establish(pair);
	s->spare = ep_new(s->end);
	s->knocker = ep_new(&pair->active);
	g_assert_cmpint(it_ep_connect(s->knocker, &pair->path, NULL, &pair->qual,
				      IT_CONNECT_FLAG_TWO_WAY, NULL, 0),
			==, IT_SUCCESS);
	event = end_expect(s->end->cm_req, IT_CM_REQ_CONN_REQUEST_EVENT);
	s->request = event.conn_req.cn_est_id;
	if (end_has(s->end, NEEDS_SRQ))
		pair_ok(it_srq_create(s->end->pz, 1, 4, &s->srq));
	if (end_has(s->end, NEEDS_WINDOWS))
		pair_ok(it_rmr_create10(s->end->pz, &s->rmr));
	s->soft = evd_new(s->end, IT_SOFTWARE_EVENT_STREAM);
	s->aevd = evd_new(s->end, IT_AEVD_NOTIFICATION_EVENT_STREAM);
	s->aff = evd_new(s->end, IT_ASYNC_AFF_EVENT_STREAM);
	s->unaff = evd_new(s->end, IT_ASYNC_UNAFF_EVENT_STREAM);
	return true;
}

/* Every free works after a catastrophe. */
static void
scene_close(struct scene *s)
{
	if (s->rmr != NULL)
		pair_ok(it_rmr_free(s->rmr));
	if (s->srq != NULL)
		pair_ok(it_srq_free(s->srq));
	g_assert_cmpint(it_ep_free(s->spare), ==, IT_SUCCESS);
	g_assert_cmpint(it_ep_free(s->knocker), ==, IT_SUCCESS);
	g_assert_cmpint(it_evd_free(s->soft), ==, IT_SUCCESS);
	g_assert_cmpint(it_evd_free(s->aevd), ==, IT_SUCCESS);
	g_assert_cmpint(it_evd_free(s->aff), ==, IT_SUCCESS);
	g_assert_cmpint(it_evd_free(s->unaff), ==, IT_SUCCESS);
	faults_part(&s->faults);
}

/* Let the adapter fail; when this returns, every event of that has been queued. */
static void
fail(struct scene *s)
{
	it_event_t event;
	it_status_t status;

	fault_say(s->faults.passive, "fail adapter");
	do
		status = it_evd_wait(s->soft, WAIT_US, &event, NULL);
	while (status == IT_SUCCESS);
	g_assert_cmpint(status, ==, IT_ERR_IA_CATASTROPHE);
}

/* --- reported events ---------------------------------------------------------------------- */

/* All posted requests are flushed and the connection ends as BROKEN, here and at the peer; no other event comes. */
static void
test_ends(struct pair *pair)
{
	struct scene s;
	struct end *end = &pair->passive, *peer = &pair->active;
	it_lmr_triplet_t in = end_segment(end, 0, 64);
	it_event_t event;

	if (!scene_open(&s, pair))
		return;
	for (uint64_t i = 0; i < 3; i++)
		g_assert_cmpint(it_post_recv((it_handle_t)end->ep, &in, 1, i, 0), ==, IT_SUCCESS);
	fail(&s);
	for (uint64_t i = 0; i < 3; i++) {
		g_assert_cmpint(it_evd_dequeue_n(end->recv, 1, &event, &(int){0}), ==, IT_SUCCESS);
		g_assert_cmphex(event.event_number, ==, IT_DTO_RC_RECV_CMPL_EVENT);
		g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_ERR_FLUSHED);
		g_assert_cmpuint(event.dto_cmpl.cookie, ==, i);
	}
	g_assert_cmpint(it_evd_wait(end->cm_msg, 0, &event, NULL), ==, IT_SUCCESS);
	g_assert_cmphex(event.event_number, ==, IT_CM_MSG_CONN_BROKEN_EVENT);
	g_assert_true(event.conn.ep == end->ep);
	g_assert_cmpint(end_state(end), ==, IT_EP_STATE_NONOPERATIONAL);
	/* No event names the adapter itself. */
	g_assert_cmpint(it_evd_dequeue(s.aff, &event), ==, IT_ERR_IA_CATASTROPHE);
	g_assert_cmpint(it_evd_dequeue(s.unaff, &event), ==, IT_ERR_IA_CATASTROPHE);
	/* The peer's connection breaks and its attempt fails, in either order. */
	for (int i = 0; i < 2; i++) {
		event = end_next(peer->cm_msg);
		if (event.conn.ep == peer->ep)
			g_assert_cmphex(event.event_number, ==, IT_CM_MSG_CONN_BROKEN_EVENT);
		else
			g_assert_cmphex(event.event_number, ==,
					IT_CM_MSG_CONN_NONPEER_REJECT_EVENT);
	}
	end_expect_none(peer->cm_msg);
	scene_close(&s);
}

/* A listener of a failed adapter cannot be reached, and a connection attempt to it does not wait. */
static void
test_not_reached(struct pair *pair)
{
	struct scene s;
	it_event_t event;

	if (!scene_open(&s, pair))
		return;
	fail(&s);
	end_next(pair->active.cm_msg);
	end_next(pair->active.cm_msg);
	end_new_ep(&pair->active);
	pair_connect(pair);
	event = end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_NONPEER_REJECT_EVENT);
	g_assert_true(event.conn.ep == pair->active.ep);
	scene_close(&s);
}

struct sleeper {
	pthread_t thread;
	it_evd_handle_t evd;
	it_status_t status;
};

static void *
sleep_for_ever(void *arg)
{
	struct sleeper *sleeper = arg;
	it_event_t event;

	do
		sleeper->status = it_evd_wait(sleeper->evd, IT_TIMEOUT_INFINITE, &event, NULL);
	while (sleeper->status == IT_SUCCESS);
	return NULL;
}

/* Threads that sleep are woken on every kind of dispatcher, after the events that came before. */
static void
test_sleepers(struct pair *pair)
{
	struct scene s;
	struct sleeper sleepers[5] = {{0}};

	if (!scene_open(&s, pair))
		return;
	sleepers[0].evd = s.soft;
	sleepers[1].evd = s.aevd;
	sleepers[2].evd = s.end->recv;
	sleepers[3].evd = s.end->cm_msg;
	sleepers[4].evd = s.unaff;
	for (size_t i = 0; i < G_N_ELEMENTS(sleepers); i++)
		g_assert_cmpint(
			pthread_create(&sleepers[i].thread, NULL, sleep_for_ever, &sleepers[i]), ==,
			0);
	fault_say(s.faults.passive, "fail adapter");
	for (size_t i = 0; i < G_N_ELEMENTS(sleepers); i++) {
		g_assert_cmpint(pthread_join(sleepers[i].thread, NULL), ==, 0);
		g_assert_cmpint(sleepers[i].status, ==, IT_ERR_IA_CATASTROPHE);
	}
	scene_close(&s);
}

/* What a callback saw. */
struct found {
	atomic_uint calls;
	atomic_int status; /* the status of the dequeue that ended the last call */
};

static void
look(it_evd_handle_t evd, void *arg)
{
	struct found *found = arg;
	it_status_t status;
	it_event_t event;

	do
		status = it_evd_dequeue(evd, &event);
	while (status == IT_SUCCESS);
	atomic_store(&found->status, (int)status);
	atomic_fetch_add(&found->calls, 1);
}

/* No other waiter is forgotten: descriptors become readable and stay so, callbacks are called once. */
static void
test_watchers(struct pair *pair)
{
	struct pollfd polled = {.events = POLLIN};
	it_evd_handle_t watched = NULL, called;
	struct found found = {.calls = 0};
	struct scene s;
	it_event_t event;

	if (!scene_open(&s, pair))
		return;
	called = evd_new(s.end, IT_SOFTWARE_EVENT_STREAM);
	pair_ok(it_evd_callback_attach(called, look, &found));
	pair_ok(it_evd_create(s.end->ia, IT_DTO_EVENT_STREAM, IT_EVD_CREATE_FD, 8, 1, NULL,
			      &watched, &polled.fd));
	g_assert_cmpint(poll(&polled, 1, 0), ==, 0);
	fault_say(s.faults.passive, "fail adapter");
	g_assert_cmpint(poll(&polled, 1, WAIT_US / 1000), ==, 1);
	g_assert_cmpint(it_evd_dequeue(watched, &event), ==, IT_ERR_IA_CATASTROPHE);
	g_assert_cmpint(poll(&polled, 1, 0), ==, 1);
	while (atomic_load(&found.calls) == 0)
		g_usleep(1000);
	g_assert_cmpint(atomic_load(&found.status), ==, IT_ERR_IA_CATASTROPHE);
	pair_ok(it_evd_callback_detach(called));
	g_assert_cmpuint(atomic_load(&found.calls), ==, 1);
	pair_ok(it_evd_free(called));
	pair_ok(it_evd_free(watched));
	scene_close(&s);
}

/* The failed adapter is freed with everything under it. */
static void
test_free_all(struct pair *pair)
{
	struct end *end = &pair->passive;
	struct scene s;

	if (!scene_open(&s, pair))
		return;
	fail(&s);
	g_assert_cmpint(it_ia_free(end->ia), ==, IT_SUCCESS);
	g_assert_cmpint(it_ia_free(end->ia), ==, IT_ERR_INVALID_IA);
	g_assert_cmpint(it_ep_free(end->ep), ==, IT_ERR_INVALID_EP);
	it_ia_info_free(end->info);
	g_free(end->buffer);
	pair->listen = NULL;
	g_assert_cmpint(it_ep_free(s.knocker), ==, IT_SUCCESS);
	faults_part(&s.faults);
	/* An adapter of the same name that is opened afterwards works. */
	g_assert_true(end_open(end));
	fault_part(fault_meet());
	end_new_ep(end);
	end_new_ep(&pair->active);
	pair_listen(pair);
	while (it_evd_dequeue(pair->active.cm_msg, &(it_event_t){.event_number = 0}) == IT_SUCCESS)
		;
	pair_establish(pair);
	pair_disconnect(pair);
}

/* --- under load --------------------------------------------------------------------------- */

#define ROUNDS 20

/* One side of a message exchange that ends when its adapter or the peer's adapter fails. */
struct talker {
	pthread_t thread;
	struct end *end;
	it_status_t status; /* the status that ended it; IT_SUCCESS: a flush ended it */
	atomic_uint done;
};

static void *
talk(void *arg)
{
	struct talker *t = arg;
	it_lmr_triplet_t out = end_segment(t->end, 0, 64), in = end_segment(t->end, 4096, 64);
	it_event_t event = {.dto_cmpl.dto_status = IT_DTO_SUCCESS};

	while (event.dto_cmpl.dto_status == IT_DTO_SUCCESS) {
		t->status = it_post_recv((it_handle_t)t->end->ep, &in, 1, 1, 0);
		if (t->status == IT_SUCCESS)
			t->status = it_post_send(t->end->ep, &out, 1, 2, IT_COMPLETION_FLAG);
		if (t->status == IT_SUCCESS)
			t->status = it_evd_wait(t->end->request, IT_TIMEOUT_INFINITE, &event, NULL);
		if (t->status == IT_SUCCESS && event.dto_cmpl.dto_status == IT_DTO_SUCCESS)
			t->status = it_evd_wait(t->end->recv, IT_TIMEOUT_INFINITE, &event, NULL);
		if (t->status != IT_SUCCESS)
			return NULL;
		atomic_fetch_add(&t->done, 1);
	}
	return NULL;
}

static void
talk_until_it_fails(struct pair *pair, const struct faults *faults)
{
	struct talker talkers[2] = {{.end = &pair->active}, {.end = &pair->passive}};

	pair_establish(pair);
	for (size_t i = 0; i < 2; i++)
		g_assert_cmpint(pthread_create(&talkers[i].thread, NULL, talk, &talkers[i]), ==, 0);
	while (atomic_load(&talkers[0].done) < 50 || atomic_load(&talkers[1].done) < 50)
		g_usleep(100);
	fault_say(faults->passive, "fail adapter");
	for (size_t i = 0; i < 2; i++)
		g_assert_cmpint(pthread_join(talkers[i].thread, NULL), ==, 0);
	g_assert_cmpint(talkers[0].status, ==, IT_SUCCESS); /* this end's own adapter still works */
	if (talkers[1].status != IT_SUCCESS)
		g_assert_cmpint(talkers[1].status, ==, IT_ERR_IA_CATASTROPHE);
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
}

/* The adapter fails while threads post, poll and sleep; many times. */
static void
test_load(void)
{
	struct faults faults;
	struct pair pair;

	for (int i = 0; i < ROUNDS; i++) {
		if (!pair_open(&pair)) {
			g_test_skip("no such adapter");
			return;
		}
		if (!faults_meet(&faults)) {
			pair_close(&pair);
			return;
		}
		talk_until_it_fails(&pair, &faults);
		faults_part(&faults);
		pair_close(&pair);
	}
}

/* --- every call --------------------------------------------------------------------------- */

#define DEAD(call_)  g_assert_cmpint((call_), ==, IT_ERR_IA_CATASTROPHE)
#define TELLS(call_) g_assert_cmpint((call_), ==, IT_SUCCESS)

static void
dead_adapter(const struct scene *s)
{
	const struct end *e = s->end;
	it_net_addr_t *addr = e->info->spigot_info[0].net_addr;
	size_t count = 1, total = 0;
	it_handle_type_enum_t type;
	it_pz_param_t pz_params;
	it_ia_info_t *info;
	uint64_t support = 0;
	it_io_addr_t io = 0;
	it_pz_handle_t pz;
	it_path_t path;

	DEAD(it_ia_query(e->ia, &info));
	DEAD(it_get_pathinfo(e->ia, 0, addr, &count, &total, &path));
	DEAD(it_pz_create(e->ia, &pz));
	g_assert_null(pz);
	DEAD(it_mem_map(e->ia, e->buffer, 0, 64, &io, &count));
	DEAD(it_mem_unmap(e->ia, io, 64));
	TELLS(itx_ia_query_support(e->ia, &support));
	TELLS(it_pz_query(e->pz, IT_PZ_PARAM_ALL, &pz_params));
	TELLS(it_get_handle_type((it_handle_t)e->ia, &type));
	TELLS(it_set_consumer_context((it_handle_t)e->ia, (it_context_t){.index = 7}));
	TELLS(it_get_consumer_context((it_handle_t)e->ia, &(it_context_t){.index = 0}));
}

static void
callback(it_evd_handle_t evd, void *arg)
{
	(void)evd;
	(void)arg;
}

static void
dead_dispatchers(const struct scene *s)
{
	it_evd_param_t params = {.sevd_threshold = 1, .evd_enabled = IT_TRUE};
	it_event_t event;
	it_evd_handle_t evd;
	size_t many = 0;
	int count = 0;

	DEAD(it_evd_create(s->end->ia, IT_SOFTWARE_EVENT_STREAM, 0, 4, 0, NULL, &evd, NULL));
	g_assert_null(evd);
	DEAD(it_evd_modify(s->soft, IT_EVD_PARAM_THRESHOLD, &params));
	DEAD(it_evd_dequeue(s->soft, &event));
	DEAD(it_evd_dequeue_n(s->soft, 1, &event, &count));
	DEAD(it_evd_wait(s->soft, 0, &event, NULL));
	DEAD(it_evd_wait(s->soft, IT_TIMEOUT_INFINITE, &event, NULL));
	DEAD(it_evd_wait(s->aevd, IT_TIMEOUT_INFINITE, &event, NULL));
	DEAD(itx_aevd_wait(s->aevd, 1000, 1, &event, &many));
	DEAD(it_evd_post_se(s->soft, NULL));
	DEAD(it_evd_callback_attach(s->soft, callback, NULL));
	TELLS(it_evd_query(s->soft, IT_EVD_PARAM_ALL, &params));
	TELLS(it_evd_callback_detach(s->soft)); /* this call frees */
}

static void
dead_connections(const struct scene *s)
{
	const struct end *e = s->end;
	const struct pair *p = s->pair;
	it_conn_qual_t qual = {.type = p->qual.type};
	it_lmr_triplet_t segment = end_segment(e, 0, 8);
	it_ep_attributes_t attr = e->attr;
	it_listen_param_t listen_params;
	it_rmr_context_t context = 0;
	it_listen_handle_t listen;
	it_ep_param_t params;
	it_ep_handle_t ep;

	DEAD(it_ep_rc_create(e->pz, e->request, e->recv, e->cm_msg, IT_EP_NO_FLAG, &attr, &ep));
	g_assert_null(ep);
	DEAD(it_ep_modify(s->spare, IT_EP_PARAM_MAX_ORD, &attr));
	DEAD(it_ep_reset(e->ep));
	DEAD(it_ep_disconnect(e->ep, NULL, 0));
	DEAD(it_listen_create(e->ia, p->spigot, e->cm_req, 0, &qual, &listen));
	g_assert_null(listen);
	DEAD(it_ep_connect(s->spare, NULL, NULL, &p->qual, IT_CONNECT_FLAG_TWO_WAY, NULL, 0));
	DEAD(itx_ep_connect_with_rmr(s->spare, &p->path, NULL, &p->qual, IT_CONNECT_FLAG_TWO_WAY,
				     NULL, 0, &segment, &context));
	DEAD(itx_ep_accept_with_rmr(s->spare, s->request, &segment, &context));
	DEAD(it_ep_accept(s->spare, s->request, NULL, 0));
	DEAD(it_handoff(&p->qual, p->spigot, s->request));
	DEAD(it_reject(s->request, NULL, 0));
	DEAD(it_socket_convert(0, s->spare, 0, NULL, 0));
	TELLS(it_ep_query(e->ep, IT_EP_PARAM_ALL, &params));
	TELLS(it_listen_query(p->listen, IT_LISTEN_PARAM_ALL, &listen_params));
	TELLS(itx_get_rmr_context_for_ep(e->ep, e->lmr, &context));
}

static void
dead_memory(const struct scene *s)
{
	const struct end *e = s->end;
	it_lmr_triplet_t segment = end_segment(e, 0, 8);
	it_lmr_param_t params = {.privs = IT_PRIV_ALL};
	it_rmr_context_t context = 0;
	static it_iobl_t iobl;
	it_lmr_handle_t lmr;

	DEAD(it_lmr_create10(e->pz, NULL, 64, IT_PRIV_ALL, 0, 0, &lmr, NULL));
	DEAD(it_lmr_create20(e->pz, e->buffer, 64, IT_ADDR_MODE_ABSOLUTE, IT_PRIV_ALL, 0, 0, &lmr,
			     NULL));
	DEAD(it_lmr_create21(e->pz, e->buffer, NULL, 64, IT_ADDR_MODE_ABSOLUTE, IT_PRIV_ALL, 0, 0,
			     &lmr, NULL));
	DEAD(it_lmr_create_unlinked(e->pz, 4, 0, 0, &lmr));
	DEAD(itx_lmr_create_dmabuf(e->pz, -1, 0, 64, NULL, IT_PRIV_ALL, 0, &lmr, NULL));
	g_assert_null(lmr);
	DEAD(it_lmr_modify(e->lmr, IT_LMR_PARAM_MEM_PRIV, &params));
	DEAD(it_lmr_flush_to_mem(&segment, 1));
	DEAD(it_lmr_refresh_from_mem(&segment, 1));
	DEAD(it_lmr_link(e->lmr, e->buffer, &iobl, 64, IT_ADDR_MODE_ABSOLUTE, IT_PRIV_ALL, e->ep, 0,
			 0, &context));
	DEAD(it_lmr_unlink(e->lmr, e->ep, 0, 0));
	TELLS(it_lmr_query(e->lmr, IT_LMR_PARAM_ALL, &params));
}

static void
dead_windows(const struct scene *s)
{
	const struct end *e = s->end;
	it_rmr_context_t context = 0;
	it_rmr_param_t params;
	it_rmr_handle_t rmr;

	DEAD(it_rmr_create10(e->pz, &rmr));
	DEAD(it_rmr_create20(e->pz, IT_RMR_TYPE_DEFAULT, &rmr));
	g_assert_null(rmr);
	DEAD(it_rmr_link(s->rmr, e->lmr, e->buffer, 64, IT_ADDR_MODE_ABSOLUTE, IT_PRIV_ALL, e->ep,
			 0, 0, &context));
	DEAD(it_rmr_bind10(s->rmr, e->lmr, e->buffer, 64, IT_PRIV_ALL, e->ep, 0, 0, &context));
	if (end_has(e, NEEDS_UNLINK))
		DEAD(it_rmr_unlink(s->rmr, e->ep, 0, 0));
	TELLS(it_rmr_query(s->rmr, IT_RMR_PARAM_ALL, &params));
}

static void
dead_posts(const struct scene *s)
{
	const struct end *e = s->end;
	it_lmr_triplet_t segment = end_segment(e, 0, 8);
	it_rmr_triplet_t sink = {.rmr = s->rmr, .length = 8};

	DEAD(it_post_send(e->ep, &segment, 1, 0, 0));
	if (end_has(e, NEEDS_REMOTE_UNLINK))
		DEAD(it_post_send_and_unlink(e->ep, &segment, 1, 0, 0, 1));
	DEAD(it_post_recv((it_handle_t)e->ep, &segment, 1, 0, 0));
	DEAD(it_post_rdma_write(e->ep, &segment, 1, 0, 0, 0, 1));
	DEAD(it_post_rdma_read(e->ep, &segment, 1, 0, 0, 0, 1));
	if (end_has(e, NEEDS_ATOMICS))
		DEAD(it_post_atomic(e->ep, IT_FETCH_AND_ADD, 1, 0, &segment, 0, 0, 0, 1));
	if (end_has(e, NEEDS_READ_EXTENSIONS | NEEDS_WINDOWS))
		DEAD(it_post_rdma_read_to_rmr(e->ep, &sink, 1, 0, 0, 0, 1));
}

static void
dead_shared(const struct scene *s)
{
	const struct end *e = s->end;
	it_lmr_triplet_t segment = end_segment(e, 0, 8);
	it_srq_param_t params = {.low_watermark = 1};
	it_srq_handle_t srq;

	DEAD(it_post_recv((it_handle_t)s->srq, &segment, 1, 0, 0));
	DEAD(it_srq_create(e->pz, 1, 4, &srq));
	g_assert_null(srq);
	DEAD(it_srq_modify(s->srq, IT_SRQ_PARAM_LOW_WATERMARK, &params));
	DEAD(it_srq_query(s->srq, IT_SRQ_PARAM_ALL, &params)); /* this call needs the adapter */
}

static void
drain(it_evd_handle_t evd)
{
	it_event_t event;

	while (it_evd_dequeue(evd, &event) == IT_SUCCESS)
		;
}

/* each call on an adapter that failed returns the status of a catastrophe. */
static void
test_every_call(struct pair *pair)
{
	struct scene s;

	if (!scene_open(&s, pair))
		return;
	fail(&s);
	drain(pair->passive.cm_msg);
	dead_adapter(&s);
	dead_dispatchers(&s);
	dead_connections(&s);
	dead_memory(&s);
	dead_posts(&s);
	if (s.rmr != NULL)
		dead_windows(&s);
	if (s.srq != NULL)
		dead_shared(&s);
	scene_close(&s);
}

static void
add(void)
{
	fault_begin();
	pair_add("catastrophe/r-36-ends-first", test_ends);
	pair_add("catastrophe/r-36-not-reached", test_not_reached);
	pair_add("catastrophe/r-36-sleepers", test_sleepers);
	pair_add("catastrophe/r-36-watchers", test_watchers);
	pair_add("catastrophe/r-36-free-all", test_free_all);
	pair_add("catastrophe/r-36-every-call", test_every_call);
	pair_add_bare("catastrophe/r-36-load", test_load);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
