/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* A provider with connection management of its own: calls reach it, and its events become the client's events. */

#include <string.h>

#include "kal_fixture.h"

#define LISTEN_CTX 0x21
#define CTX        0x31

static void
set_fakes(void)
{
	fake_reset();
	fake_attr.cm_forms = RI_CM_ADDRESS;
	fake_attr.transport = RI_TRANSPORT_IB;
	fake_attr.three_way_handshake = true;
	fake_attr.confirm_pdata = 8;
}

static void
open_fixture(struct fixture *f)
{
	set_fakes();
	*f = fixture_open();
}

static void
say(enum ri_cm_event_kind kind, uint64_t ctx, const char *pdata)
{
	struct ri_cm_event event = {.kind = kind,
				    .reason = RI_CM_REASON_STALE,
				    .ctx = ctx,
				    .request = (struct ri_request *)(void *)&fake_attr,
				    .peer = {.family = RI_ADDR_GID, .octets = {1, 2, 3}},
				    .ird = 2,
				    .ord = 7,
				    .ird_ord_valid = true};

	if (pdata != NULL) {
		event.pdata_present = true;
		event.pdata_len = (uint16_t)strlen(pdata);
		memcpy(event.pdata, pdata, event.pdata_len);
	}
	fake_raise_cm(&event);
}

static enum ri_status
call(struct fixture *f, enum kal_call_number number, struct kal_cm_req *req)
{
	struct kal_accept_rep rep;

	return fixture_call(f, number, req, sizeof(*req), &rep,
			    number == KAL_ACCEPT ? sizeof(rep) : 0);
}

static uint32_t
connecting(struct fixture *f)
{
	struct kal_cm_req req;
	uint32_t qp;

	open_fixture(f);
	qp = fixture_qp(f, CTX, 4, 3);
	fixture_connect_req(&req, qp, false, 99);
	req.timeout_us = 1000000;
	g_assert_cmpint(call(f, KAL_CONNECT, &req), ==, RI_SUCCESS);
	g_assert_cmpint(fake_cm_last, ==, FAKE_CM_CONNECT);
	g_assert_cmpuint(fake_cm_params.ird, ==, 4);
	g_assert_cmpuint(fake_cm_params.ord, ==, 3);
	g_assert_true(fake_cm_params.ird_ord && !fake_cm_params.three_way);
	g_assert_cmpuint(fake_cm_params.deadline, !=, RI_NEVER);
	g_assert_cmpint(call(f, KAL_CONNECT, &req), ==, RI_ERR_INVALID_STATE);
	return qp;
}

static void
test_established(void)
{
	struct fixture f RI_AT_END(fixture_close);
	struct kal_cm_event event;
	struct kal_cm_req bye = {0};

	bye.qp = connecting(&f);
	say(RI_CM_ESTABLISHED, CTX, "hi");
	event = fixture_cm(&f, KAL_CM_ESTABLISHED, CTX);
	g_assert_true(event.ird_ord_valid && event.pdata_present);
	g_assert_cmpmem(event.pdata, event.pdata_len, "hi", 2);
	g_assert_cmpuint(event.own_ord, ==, 2); /* the peer has no such service */
	g_assert_cmpuint(event.own_ird, ==, 4);
	say(RI_CM_ESTABLISHED, CTX, NULL); /* the event comes once */
	g_assert_cmpint(call(&f, KAL_DISCONNECT, &bye), ==, RI_SUCCESS);
	g_assert_cmpint(fake_cm_last, ==, FAKE_CM_DISCONNECT);
	g_assert_true(fixture_silent(&f));
	say(RI_CM_BROKEN, CTX,
	    NULL); /* after a disconnect of our own every end counts as orderly */
	fixture_cm(&f, KAL_CM_DISCONNECTED, CTX);
	say(RI_CM_DISCONNECTED, CTX, NULL);
	g_assert_true(fixture_silent(&f));
}

/*
 * A reply to a two-way connect is dropped: nobody could answer it, and its event would take the place of the end's
 * event.
 */
static void
test_reply_unasked(void)
{
	struct fixture f RI_AT_END(fixture_close);

	connecting(&f);
	say(RI_CM_REPLY, CTX, "ok");
	g_assert_true(fixture_silent(&f));
	say(RI_CM_ESTABLISHED, CTX, NULL);
	g_assert_cmpuint(fixture_cm(&f, KAL_CM_ESTABLISHED, CTX).pdata_len, ==, 0);
	say(RI_CM_DISCONNECTED, CTX, NULL);
	fixture_cm(&f, KAL_CM_DISCONNECTED, CTX);
}

/* A call that the provider refuses changes nothing. */
static void
test_undone(void)
{
	struct fixture f RI_AT_END(fixture_close);
	struct kal_cm_req req;
	uint32_t qp;

	open_fixture(&f);
	qp = fixture_qp(&f, CTX, 4, 3);
	fixture_connect_req(&req, qp, false, 99);
	fake_cm_status = RI_ERR_NO_ROUTE;
	g_assert_cmpint(call(&f, KAL_CONNECT, &req), ==, RI_ERR_NO_ROUTE);
	fake_cm_status = RI_SUCCESS;
	g_assert_cmpint(call(&f, KAL_CONNECT, &req), ==, RI_SUCCESS);
}

static void
test_requests(void)
{
	struct fixture f RI_AT_END(fixture_close);
	struct kal_cm_req req = {.ird = 1, .ord = 5};
	struct kal_cm_event event;
	uint16_t port = 0;

	open_fixture(&f);
	fixture_listen(&f, LISTEN_CTX, &port, 3);
	g_assert_cmpint(fake_cm_last, ==, FAKE_CM_LISTEN);
	req.qp = fixture_qp(&f, CTX, 4, 3);

	say(RI_CM_REQUEST, fake_cm_listen_ctx, "please");
	event = fixture_cm(&f, KAL_CM_REQUEST, LISTEN_CTX);
	g_assert_cmpmem(event.pdata, event.pdata_len, "please", 6);
	g_assert_cmpuint(event.peer.family, ==, RI_ADDR_GID);
	req.request = event.request;
	fake_cm_status = RI_ERR_RESOURCES;
	g_assert_cmpint(call(&f, KAL_ACCEPT, &req), ==, RI_ERR_RESOURCES);
	fake_cm_status = RI_SUCCESS; /* the request still exists */
	g_assert_cmpint(call(&f, KAL_ACCEPT, &req), ==, RI_SUCCESS);
	g_assert_cmpuint(fake_cm_params.ord, ==, 2);
	g_assert_cmpint(call(&f, KAL_ACCEPT, &req), ==, RI_ERR_INVALID_HANDLE);
	say(RI_CM_ESTABLISHED, CTX, NULL);
	fixture_cm(&f, KAL_CM_ESTABLISHED, CTX);

	say(RI_CM_REQUEST, fake_cm_listen_ctx, NULL);
	req.request = fixture_cm(&f, KAL_CM_REQUEST, LISTEN_CTX).request;
	g_assert_cmpint(call(&f, KAL_REJECT, &req), ==, RI_SUCCESS);
	g_assert_cmpint(fake_cm_last, ==, FAKE_CM_REJECT);

	say(RI_CM_REQUEST, fake_cm_listen_ctx, NULL);
	req.request = fixture_cm(&f, KAL_CM_REQUEST, LISTEN_CTX).request;
	say(RI_CM_REQUEST_GONE, fake_cm_listen_ctx, NULL);
	g_assert_cmpuint(fixture_cm(&f, KAL_CM_REQUEST_GONE, LISTEN_CTX).request, ==, req.request);
	g_assert_cmpint(call(&f, KAL_REJECT, &req), ==, RI_ERR_INVALID_HANDLE);

	/* The peer gives up while its request is accepted: the provider's event finds no request. */
	say(RI_CM_REQUEST, fake_cm_listen_ctx, NULL);
	req.request = fixture_cm(&f, KAL_CM_REQUEST, LISTEN_CTX).request;
	req.qp = fixture_qp(&f, CTX + 1, 4, 3);
	fake_cm_status = RI_ERR_INVALID_HANDLE;
	g_assert_cmpint(call(&f, KAL_ACCEPT, &req), ==, RI_ERR_INVALID_HANDLE);
	fake_cm_status = RI_SUCCESS;
	say(RI_CM_REQUEST_GONE, fake_cm_listen_ctx, NULL);
	g_assert_cmpuint(fixture_cm(&f, KAL_CM_REQUEST_GONE, LISTEN_CTX).request, ==, req.request);
	g_assert_cmpint(call(&f, KAL_ACCEPT, &req), ==, RI_ERR_INVALID_HANDLE);
	g_assert_true(fixture_silent(&f));

	/* A request for an unknown listener, and one that the client has not dequeued when it closes. */
	say(RI_CM_REQUEST, 0xdead, NULL);
	say(RI_CM_ESTABLISHED, 0xdead, NULL);
	g_assert_true(fixture_silent(&f));
	say(RI_CM_REQUEST, fake_cm_listen_ctx, NULL);
}

static bool withdraws; /* the provider withdraws its request during the call that takes it */

/* A call stops the timer of the request that it has taken. */
static void
timer_stop_withdraws(void *self, struct ri_timer *timer)
{
	kal_host_default()->timer_stop(self, timer);
	if (withdraws) {
		withdraws = false;
		say(RI_CM_REQUEST_GONE, fake_cm_listen_ctx, NULL);
	}
}

/* The peer gives up while a call has its request: a call that fails, or hands the request off, sees that. */
static void
test_withdrawn_meanwhile(void)
{
	struct ri_host host = *kal_host_default();
	struct kal_handoff_req handoff = {.service = {.kind = RI_SERVICE_PORT}};
	struct kal_cm_req req = {.ird = 1, .ord = 5};

	set_fakes();
	host.timer_stop = timer_stop_withdraws;
	struct fixture f RI_AT_END(fixture_close) = fixture_open_on(&host);
	fixture_listen(&f, LISTEN_CTX, &handoff.service.port, 3);
	req.qp = fixture_qp(&f, CTX, 4, 3);

	say(RI_CM_REQUEST, fake_cm_listen_ctx, NULL);
	req.request = handoff.request = fixture_cm(&f, KAL_CM_REQUEST, LISTEN_CTX).request;
	withdraws = true;
	g_assert_cmpint(fixture_call(&f, KAL_HANDOFF, &handoff, sizeof(handoff), NULL, 0), ==,
			RI_ERR_INVALID_HANDLE);
	g_assert_false(withdraws);
	g_assert_cmpuint(fixture_cm(&f, KAL_CM_REQUEST_GONE, LISTEN_CTX).request, ==, req.request);
	g_assert_true(fixture_silent(&f));
	g_assert_cmpint(call(&f, KAL_REJECT, &req), ==, RI_ERR_INVALID_HANDLE);

	say(RI_CM_REQUEST, fake_cm_listen_ctx, NULL);
	req.request = fixture_cm(&f, KAL_CM_REQUEST, LISTEN_CTX).request;
	withdraws = true;
	fake_cm_status = RI_ERR_RESOURCES;
	g_assert_cmpint(call(&f, KAL_ACCEPT, &req), ==, RI_ERR_RESOURCES);
	fake_cm_status = RI_SUCCESS;
	g_assert_false(withdraws);
	g_assert_cmpuint(fixture_cm(&f, KAL_CM_REQUEST_GONE, LISTEN_CTX).request, ==, req.request);
	g_assert_true(fixture_silent(&f));
	g_assert_cmpint(call(&f, KAL_ACCEPT, &req), ==, RI_ERR_INVALID_HANDLE);

	/* A request that is handed off without that may be withdrawn later, and the next one is accepted. */
	say(RI_CM_REQUEST, fake_cm_listen_ctx, NULL);
	handoff.request = fixture_cm(&f, KAL_CM_REQUEST, LISTEN_CTX).request;
	g_assert_cmpint(fixture_call(&f, KAL_HANDOFF, &handoff, sizeof(handoff), NULL, 0), ==,
			RI_SUCCESS);
	req.request = fixture_cm(&f, KAL_CM_REQUEST, LISTEN_CTX).request;
	say(RI_CM_REQUEST_GONE, fake_cm_listen_ctx, NULL);
	g_assert_cmpuint(fixture_cm(&f, KAL_CM_REQUEST_GONE, LISTEN_CTX).request, ==, req.request);
	say(RI_CM_REQUEST, fake_cm_listen_ctx, NULL);
	req.request = fixture_cm(&f, KAL_CM_REQUEST, LISTEN_CTX).request;
	g_assert_cmpint(call(&f, KAL_ACCEPT, &req), ==, RI_SUCCESS);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	fake_register();
	g_test_add_func("/kal/address/established", test_established);
	g_test_add_func("/kal/address/reply-unasked", test_reply_unasked);
	g_test_add_func("/kal/address/undone", test_undone);
	g_test_add_func("/kal/address/requests", test_requests);
	g_test_add_func("/kal/address/withdrawn-meanwhile", test_withdrawn_meanwhile);
	return g_test_run();
}
