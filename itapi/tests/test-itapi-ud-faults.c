/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Datagrams when an endpoint, the port or the whole adapter fails, by commands of the fault door of vp/emul (R-36,
 * [IT 1.6]).
 */
#include "it_dgram.h"
#include "it_fault.h"

struct scene {
	struct faults faults;
	struct dgram a;
	struct dgram b;
	it_ud_svc_req_handle_t svc;
	it_evd_handle_t async; /* of the passive end, which fails */
};

/* False: the test is skipped. */
static bool
scene_open(struct scene *s, struct pair *pair)
{
	it_path_t path = pair->path;

	if (!dgram_offered(&pair->active)) {
		pair_inapplicable("ud is not claimed");
		return false;
	}
	if (!faults_meet(&s->faults))
		return false;
	s->a = dgram_open(pair, &pair->active);
	s->b = dgram_open(pair, &pair->passive);
	path.timeout = 1000000; /* long enough to be seen on a busy machine */
	pair_ok(it_ud_service_request_handle_create(&pair->qual, pair->active.cm_msg, &path, NULL,
						    0, &s->svc));
	pair_ok(it_evd_create(pair->passive.ia, IT_ASYNC_AFF_EVENT_STREAM, 0, 16, 1, NULL,
			      &s->async, NULL));
	return true;
}

static void
scene_close(struct scene *s)
{
	pair_ok(it_ud_service_request_handle_free(s->svc));
	pair_ok(it_evd_free(s->async));
	dgram_close(&s->a);
	dgram_close(&s->b);
	faults_part(&s->faults);
}

/* The endpoint fails: an event says so, posted requests are flushed, and a reset makes it usable. */
static void
test_endpoint(struct pair *pair)
{
	struct scene s;
	it_event_t event;

	if (!scene_open(&s, pair))
		return;
	dgram_offer(&s.b, 4096, HEADER + 8, 1);
	fault_say(s.faults.passive, "fail qp last inside");
	event = end_expect(s.async, IT_ASYNC_AFF_EP_FAILURE);
	g_assert_true(event.aff_async.cause.ep == s.b.ep);
	g_assert_cmpint(dgram_state(s.b.ep), ==, IT_EP_STATE_UD_NONOPERATIONAL);
	end_done(s.b.end->recv, IT_DTO_UD_RECV_CMPL_EVENT, 1, IT_DTO_ERR_FLUSHED);
	dgram_send(&s.a, &s.b.info, 8, 2);
	end_done(s.a.end->request, IT_DTO_SEND_CMPL_EVENT, 2, IT_DTO_SUCCESS);
	/* A reset that is refused leaves it as it is. */
	fault_say(s.faults.passive, "call qp_modify 1 resources");
	g_assert_cmpint(it_ep_reset(s.b.ep), !=, IT_SUCCESS);
	g_assert_cmpint(dgram_state(s.b.ep), ==, IT_EP_STATE_UD_NONOPERATIONAL);
	dgram_reset(s.b.ep);
	dgram_offer(&s.b, 4096, HEADER + 8, 3);
	dgram_send(&s.a, &s.b.info, 8, 4);
	end_done(s.b.end->recv, IT_DTO_UD_RECV_CMPL_EVENT, 3, IT_DTO_SUCCESS);
	end_done(s.a.end->request, IT_DTO_SEND_CMPL_EVENT, 4, IT_DTO_SUCCESS);
	scene_close(&s);
}

/* While a port is down, datagrams and queries through it are lost. */
static void
test_port(struct pair *pair)
{
	struct scene s;
	it_event_t event;

	if (!scene_open(&s, pair))
		return;
	dgram_offer(&s.b, 4096, HEADER + 8, 1);
	for (guint i = 0; i < 2; i++) {
		int which = i == 0 ? s.faults.passive : s.faults.active;

		fault_say(which, "port down");
		dgram_send(&s.a, &s.b.info, 8, 2);
		end_done(s.a.end->request, IT_DTO_SEND_CMPL_EVENT, 2, IT_DTO_SUCCESS);
		pair_ok(it_ud_service_request(s.svc));
		event = end_expect(s.a.end->cm_msg, IT_CM_MSG_UD_SERVICE_REPLY_EVENT);
		g_assert_cmpint(event.ud_svc_reply.status, ==, IT_UD_SVC_REQ_REJECTED);
		fault_say(which, "port up");
	}
	end_expect_none(s.b.end->recv);
	end_expect_none(s.b.end->cm_req);
	dgram_send(&s.a, &s.b.info, 8, 3);
	end_done(s.b.end->recv, IT_DTO_UD_RECV_CMPL_EVENT, 1, IT_DTO_SUCCESS);
	end_done(s.a.end->request, IT_DTO_SEND_CMPL_EVENT, 3, IT_DTO_SUCCESS);
	scene_close(&s);
}

/* The adapter fails: every call says so, except those that free and those that return what the library knows. */
static void
test_adapter(struct pair *pair)
{
	const it_remote_ep_info_t info = {0};
	it_ep_attributes_t attr = dgram_attr();
	it_ud_svc_req_handle_t own = NULL, svc = NULL, none = NULL;
	it_dg_remote_ep_addr_t target;
	it_lmr_triplet_t segment;
	it_ud_svc_req_identifier_t id;
	it_ud_svc_req_param_t asked;
	it_addr_handle_t way = NULL;
	it_addr_param_t params;
	it_ep_handle_t ep = NULL;
	it_event_t event;
	struct scene s;

	if (!scene_open(&s, pair))
		return;
	struct end *end = s.b.end;
	target = dgram_target(s.b.way, &s.a.info);
	segment = end_segment(end, 0, 8);
	pair_ok(it_ud_service_request_handle_create(&pair->qual, end->cm_msg, &pair->path, NULL, 0,
						    &own));
	pair_ok(it_ud_service_request_handle_create(&pair->qual, s.a.end->cm_msg, &pair->path, NULL,
						    0, &svc));
	pair_ok(it_ud_service_request(svc));
	id = end_expect(end->cm_req, IT_CM_REQ_UD_SERVICE_REQUEST_EVENT)
		     .ud_svc_request.ud_svc_req_id;
	fault_say(s.faults.passive, "fail adapter");
	/* The consumer that queried the service learns that the service is gone. */
	event = end_expect(s.a.end->cm_msg, IT_CM_MSG_UD_SERVICE_REPLY_EVENT);
	g_assert_cmpint(event.ud_svc_reply.status, ==, IT_UD_SVC_ID_NOT_SUPPORTED);
	while (it_ep_ud_create(end->pz, end->request, end->recv, &attr, 0, &ep) !=
	       IT_ERR_IA_CATASTROPHE)
		if (ep != NULL)
			pair_ok(it_ep_free(ep));
	/* First its endpoints fail, then the adapter. */
	while (it_post_recvfrom(s.b.ep, &segment, 1, 1, 0) != IT_ERR_IA_CATASTROPHE)
		g_thread_yield();
	g_assert_cmpint(dgram_state(s.b.ep), ==, IT_EP_STATE_UD_NONOPERATIONAL);
	g_assert_cmpint(it_address_handle_create(end->pz, &pair->path, 0, &way), ==,
			IT_ERR_IA_CATASTROPHE);
	pair_ok(it_address_handle_query(s.b.way, IT_ADDR_PARAM_ALL, &params));
	g_assert_cmpint(it_address_handle_modify(s.b.way, IT_ADDR_PARAM_PATH, &params), ==,
			IT_ERR_IA_CATASTROPHE);
	g_assert_cmpint(it_post_sendto(s.b.ep, &segment, 1, 1, 0, &target), ==,
			IT_ERR_IA_CATASTROPHE);
	g_assert_cmpint(it_ep_reset(s.b.ep), ==, IT_ERR_IA_CATASTROPHE);
	g_assert_cmpint(it_ep_modify(s.b.ep, IT_EP_PARAM_EP_KEY, &attr), ==, IT_ERR_IA_CATASTROPHE);
	g_assert_cmpint(it_ud_service_request_handle_create(&pair->qual, end->cm_msg, &pair->path,
							    NULL, 0, &none),
			==, IT_ERR_IA_CATASTROPHE);
	g_assert_null(none);
	g_assert_cmpint(it_ud_service_request(own), ==, IT_ERR_IA_CATASTROPHE);
	g_assert_cmpint(it_ud_service_reply(id, IT_UD_SVC_EP_INFO_VALID, info, NULL, 0), ==,
			IT_ERR_IA_CATASTROPHE);
	pair_ok(it_ud_service_request_handle_query(svc, IT_UD_PARAM_ALL, &asked));
	/* The other adapter still works. */
	dgram_offer(&s.a, 4096, HEADER + 8, 3);
	dgram_send(&s.a, &s.a.info, 8, 4);
	end_done(s.a.end->recv, IT_DTO_UD_RECV_CMPL_EVENT, 3, IT_DTO_SUCCESS);
	pair_ok(it_ud_service_request_handle_free(svc));
	pair_ok(it_ud_service_request_handle_free(own));
	scene_close(&s);
}

/* A verb fails once: the call says so and has changed nothing, and the next one works [IT 1.1], [IT 1.8]. */
static void
test_calls(struct pair *pair)
{
	it_ep_attributes_t attr = dgram_attr();
	it_addr_param_t before, after;
	it_addr_handle_t way = NULL;
	it_ep_handle_t ep = NULL;
	struct scene s;
	int door;

	if (!scene_open(&s, pair))
		return;
	door = s.faults.active;
	struct end *end = s.a.end;
	fault_say(door, "call qp_create 1 resources");
	g_assert_cmpint(it_ep_ud_create(end->pz, end->request, end->recv, &attr, 0, &ep), ==,
			IT_ERR_RESOURCES);
	g_assert_null(ep);
	pair_ok(it_ep_ud_create(end->pz, end->request, end->recv, &attr, 0, &ep));
	pair_ok(it_ep_free(ep));
	fault_say(door, "call ah_create 1 resources");
	g_assert_cmpint(it_address_handle_create(end->pz, &pair->path, 0, &way), ==,
			IT_ERR_RESOURCES);
	g_assert_null(way);
	pair_ok(it_address_handle_create(end->pz, &pair->path, 0, &way));
	pair_ok(it_address_handle_query(way, IT_ADDR_PARAM_PATH, &before));
	after = before;
	after.path.timeout++;
	fault_say(door, "call ah_modify 1 resources");
	g_assert_cmpint(it_address_handle_modify(way, IT_ADDR_PARAM_PATH, &after), ==,
			IT_ERR_RESOURCES);
	pair_ok(it_address_handle_query(way, IT_ADDR_PARAM_PATH, &after));
	g_assert_cmpuint(after.path.timeout, ==, before.path.timeout);
	pair_ok(it_address_handle_free(way));
	fault_say(door, "call resolve 1 resources");
	g_assert_cmpint(it_ud_service_request(s.svc), ==, IT_ERR_RESOURCES);
	pair_ok(it_ud_service_request(s.svc));
	end_expect(s.b.end->cm_req, IT_CM_REQ_UD_SERVICE_REQUEST_EVENT);
	end_expect(end->cm_msg, IT_CM_MSG_UD_SERVICE_REPLY_EVENT);
	scene_close(&s);
}

static void
add(void)
{
	pair_add_for(NEEDS_REUSE, "ud-faults/endpoint", test_endpoint);
	pair_add("ud-faults/port", test_port);
	pair_add("ud-faults/calls", test_calls);
	pair_add("ud-faults/r-36-adapter", test_adapter);
}

int
main(int argc, char **argv)
{
	fault_begin();
	return pair_main(argc, argv, add);
}
