/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Datagrams: address handles, queue pairs without a connection, queries for services. */

#include <string.h>

#include "kal_fixture.h"

#define LISTEN_CTX 0x21
#define CTX        0x31
#define QUERY      0x41

static void
open_fixture(struct fixture *f, bool ud)
{
	fake_reset();
	fake_attr.cm_forms = RI_CM_ADDRESS;
	fake_attr.transport = RI_TRANSPORT_IB;
	fake_attr.ud = ud;
	fake_attr.max_ah = 100;
	fake_attr.max_ud_message = 4096;
	fake_attr.ud_request_pdata = 8;
	fake_attr.ud_reply_pdata = 8;
	fake_cancelled = 0;
	*f = fixture_open();
}

static enum ri_status
plain(struct fixture *f, enum kal_call_number number, const void *req, size_t size)
{
	return fixture_call(f, number, req, size, NULL, 0);
}

static enum ri_status
ah_create(struct fixture *f, const struct kal_ah_req *req, struct kal_ah_rep *rep)
{
	return fixture_call(f, KAL_AH_CREATE, req, sizeof(*req), rep, sizeof(*rep));
}

static void
test_address_handles(void)
{
	struct fixture f;
	struct kal_ah_rep rep;

	open_fixture(&f, true);
	struct kal_ah_req req = {.id = f.pd, .init = {.dest = {.family = RI_ADDR_GID}}};
	g_assert_cmpint(ah_create(&f, &req, &rep), ==, RI_SUCCESS);
	g_assert_cmpuint(rep.ah, ==, 17);
	g_assert_cmpint(fixture_id(&f, KAL_PD_DESTROY, f.pd), ==, RI_ERR_BUSY);
	req.id = rep.id;
	g_assert_cmpint(plain(&f, KAL_AH_MODIFY, &req, sizeof(req)), ==, RI_SUCCESS);
	req.init.dest.family = RI_ADDR_NONE;
	g_assert_cmpint(plain(&f, KAL_AH_MODIFY, &req, sizeof(req)), ==, RI_ERR_NO_ROUTE);
	g_assert_cmpint(fixture_id(&f, KAL_AH_DESTROY, rep.id), ==, RI_SUCCESS);
	g_assert_cmpint(fixture_id(&f, KAL_AH_DESTROY, rep.id), ==, RI_ERR_INVALID_HANDLE);
	g_assert_cmpint(plain(&f, KAL_AH_MODIFY, &req, sizeof(req)), ==, RI_ERR_INVALID_HANDLE);
	g_assert_cmpint(ah_create(&f, &req, &rep), ==, RI_ERR_INVALID_HANDLE);
	req.id = f.pd;
	g_assert_cmpint(ah_create(&f, &req, &rep), ==, RI_ERR_NO_ROUTE);
	req.init.dest.family = RI_ADDR_GID;
	g_assert_cmpint(ah_create(&f, &req, &rep), ==,
			RI_SUCCESS); /* freed when the client closes */
	fixture_close(&f);
	open_fixture(&f, false);
	req.id = f.pd;
	g_assert_cmpint(ah_create(&f, &req, &rep), ==, RI_ERR_UNSUPPORTED);
	fixture_close(&f);
}

static enum ri_status
qp_create(struct fixture *f, struct kal_qp_create_rep *rep)
{
	const struct kal_qp_create_req req = {
		.pd = f->pd,
		.send_cq = f->cq,
		.recv_cq = f->cq,
		.init = {.ctx = CTX, .type = RI_QP_UD, .max_sq_wr = 1, .max_rq_wr = 1},
	};

	return fixture_call(f, KAL_QP_CREATE, &req, sizeof(req), rep, sizeof(*rep));
}

/* A datagram queue pair has no connection: calls that need one return RI_ERR_INVALID_ID. */
static void
test_no_connection(void)
{
	struct fixture f;
	struct kal_qp_create_rep rep;
	struct kal_accept_rep accepted;
	struct kal_cm_req req;

	open_fixture(&f, false);
	g_assert_cmpint(qp_create(&f, &rep), ==, RI_ERR_UNSUPPORTED);
	fixture_close(&f);
	open_fixture(&f, true);
	g_assert_cmpint(qp_create(&f, &rep), ==, RI_SUCCESS);
	fixture_connect_req(&req, rep.id, false, 99);
	g_assert_cmpint(plain(&f, KAL_CONNECT, &req, sizeof(req)), ==, RI_ERR_INVALID_HANDLE);
	g_assert_cmpint(plain(&f, KAL_DISCONNECT, &req, sizeof(req)), ==, RI_ERR_INVALID_HANDLE);
	g_assert_cmpint(plain(&f, KAL_CONFIRM, &req, sizeof(req)), ==, RI_ERR_INVALID_HANDLE);
	g_assert_cmpint(
		fixture_call(&f, KAL_ACCEPT, &req, sizeof(req), &accepted, sizeof(accepted)), ==,
		RI_ERR_INVALID_HANDLE);
	fixture_close(&f);
}

static enum ri_status
service_query(struct fixture *f, uint64_t ctx, uint32_t pdata_len)
{
	struct kal_resolve_req req = {.rnic = f->rnic,
				      .ctx = ctx,
				      .timeout_us = UINT64_MAX,
				      .service = {.kind = RI_SERVICE_PORT, .port = 99},
				      .pdata_len = pdata_len};

	return plain(f, KAL_RESOLVE, &req, sizeof(req));
}

static void
end(struct fixture *f, uint64_t ctx)
{
	const struct kal_resolve_end_req req = {.rnic = f->rnic, .ctx = ctx};

	g_assert_cmpint(plain(f, KAL_RESOLVE_END, &req, sizeof(req)), ==, RI_SUCCESS);
}

static void
say(enum ri_cm_event_kind kind, uint64_t ctx, enum ri_service_status status)
{
	const struct ri_cm_event event = {.kind = kind,
					  .ctx = ctx,
					  .request = (struct ri_request *)(void *)&fake_attr,
					  .service_status = status,
					  .qpn = 5,
					  .qkey = 6,
					  .pdata_present = true,
					  .pdata_len = 2,
					  .pdata = {1, 2}};

	fake_raise_cm(&event);
}

static void
test_query(void)
{
	struct fixture f;
	struct kal_cm_event event;
	struct kal_resolve_req wrong = {.port = 1};

	open_fixture(&f, false);
	g_assert_cmpint(service_query(&f, QUERY, 0), ==, RI_ERR_UNSUPPORTED);
	fixture_close(&f);
	open_fixture(&f, true);
	g_assert_cmpint(plain(&f, KAL_RESOLVE, &wrong, sizeof(wrong)), ==, RI_ERR_INVALID_HANDLE);
	wrong.rnic = f.rnic;
	wrong.port = 100;
	g_assert_cmpint(plain(&f, KAL_RESOLVE, &wrong, sizeof(wrong)), ==, RI_ERR_INVALID_ARG);
	g_assert_cmpint(service_query(&f, QUERY, 9), ==, RI_ERR_INVALID_ARG);
	fake_cm_status = RI_ERR_RESOURCES;
	g_assert_cmpint(service_query(&f, QUERY, 8), ==, RI_ERR_RESOURCES);
	fake_cm_status = RI_SUCCESS;
	g_assert_cmpint(service_query(&f, QUERY, 8), ==, RI_SUCCESS);
	g_assert_cmpuint(fake_queried, ==, QUERY);
	g_assert_cmpuint(fake_cm_params.deadline, ==, RI_NEVER);
	g_assert_cmpuint(fake_cm_params.pdata_len, ==, 8);
	g_assert_cmpint(service_query(&f, QUERY, 0), ==, RI_ERR_BUSY);
	g_assert_cmpint(service_query(&f, QUERY + 1, 0), ==, RI_SUCCESS);
	say(RI_CM_SERVICE_REPLY, QUERY, RI_SERVICE_FOUND);
	event = fixture_cm(&f, KAL_CM_SERVICE_REPLY, QUERY);
	g_assert_cmpuint(event.service_status, ==, RI_SERVICE_FOUND);
	g_assert_cmpuint(event.qpn, ==, 5);
	g_assert_cmpuint(event.qkey, ==, 6);
	g_assert_cmpuint(event.pdata_len, ==, 2);
	say(RI_CM_SERVICE_REPLY, QUERY, RI_SERVICE_FOUND); /* one answer for each */
	g_assert_true(fixture_silent(&f));
	end(&f, QUERY); /* no query is outstanding: the provider is not called */
	g_assert_cmpuint(fake_cancelled, ==, 0);
	say(RI_CM_SERVICE_REPLY, QUERY + 1, RI_SERVICE_NO_QP);
	event = fixture_cm(&f, KAL_CM_SERVICE_REPLY, QUERY + 1);
	g_assert_cmpuint(event.qpn, ==, 0);
	g_assert_cmpint(service_query(&f, QUERY, 0), ==, RI_SUCCESS);
	end(&f, QUERY);
	g_assert_cmpuint(fake_cancelled, ==, QUERY);
	say(RI_CM_SERVICE_REPLY, QUERY, RI_SERVICE_FOUND);
	g_assert_true(fixture_silent(&f));
	/* A query that is outstanding when the client closes. */
	g_assert_cmpint(service_query(&f, QUERY + 2, 0), ==, RI_SUCCESS);
	fixture_close(&f);
	g_assert_cmpuint(fake_cancelled, ==, QUERY + 2);
}

static enum ri_status
answer(struct fixture *f, uint32_t request, uint32_t status, uint32_t pdata_len)
{
	const struct kal_resolve_answer_req req = {
		.request = request, .status = status, .qpn = 3, .pdata_len = pdata_len};

	return plain(f, KAL_RESOLVE_ANSWER, &req, sizeof(req));
}

static uint32_t
peer_query(struct fixture *f)
{
	say(RI_CM_SERVICE_REQUEST, fake_cm_listen_ctx, 0);
	return fixture_cm(f, KAL_CM_SERVICE_REQUEST, LISTEN_CTX).request;
}

static void
test_answering(void)
{
	struct kal_handoff_req handoff = {0};
	struct kal_accept_rep accepted;
	struct kal_cm_req req = {0};
	struct fixture f;
	uint16_t port = 0;

	open_fixture(&f, true);
	fixture_listen(&f, LISTEN_CTX, &port, 4);
	req.request = peer_query(&f);
	g_assert_cmpint(answer(&f, req.request, RI_SERVICE_STATUS_COUNT, 0), ==,
			RI_ERR_INVALID_ARG);
	g_assert_cmpint(answer(&f, req.request, 0, 9), ==, RI_ERR_INVALID_ARG);
	/* A query cannot be answered as a connection request. */
	g_assert_cmpint(plain(&f, KAL_REJECT, &req, sizeof(req)), ==, RI_ERR_INVALID_HANDLE);
	req.qp = fixture_qp(&f, CTX, 1, 1);
	g_assert_cmpint(
		fixture_call(&f, KAL_ACCEPT, &req, sizeof(req), &accepted, sizeof(accepted)), ==,
		RI_ERR_INVALID_HANDLE);
	handoff.request = req.request;
	handoff.service = (struct ri_service){.kind = RI_SERVICE_PORT, .port = port};
	g_assert_cmpint(plain(&f, KAL_HANDOFF, &handoff, sizeof(handoff)), ==,
			RI_ERR_INVALID_HANDLE);
	g_assert_cmpint(answer(&f, req.request, RI_SERVICE_FOUND, 8), ==, RI_SUCCESS);
	g_assert_cmpuint(fake_answer.qpn, ==, 3);
	g_assert_cmpuint(fake_answer.pdata_len, ==, 8);
	g_assert_cmpint(answer(&f, req.request, RI_SERVICE_FOUND, 0), ==, RI_ERR_INVALID_HANDLE);
	/* The peer withdraws its query, before and while it is answered. */
	req.request = peer_query(&f);
	say(RI_CM_REQUEST_GONE, fake_cm_listen_ctx, 0);
	fixture_cm(&f, KAL_CM_REQUEST_GONE, LISTEN_CTX);
	g_assert_cmpint(answer(&f, req.request, RI_SERVICE_FOUND, 0), ==, RI_ERR_INVALID_HANDLE);
	req.request = peer_query(&f);
	fake_cm_status = RI_ERR_INVALID_HANDLE;
	g_assert_cmpint(answer(&f, req.request, RI_SERVICE_FOUND, 0), ==, RI_ERR_INVALID_HANDLE);
	/* An answer for which the provider has no room leaves the request as it was. */
	fake_cm_status = RI_SUCCESS;
	req.request = peer_query(&f);
	fake_cm_status = RI_ERR_RESOURCES;
	g_assert_cmpint(answer(&f, req.request, RI_SERVICE_FOUND, 0), ==, RI_ERR_RESOURCES);
	fake_cm_status = RI_SUCCESS;
	g_assert_cmpint(answer(&f, req.request, RI_SERVICE_FOUND, 0), ==, RI_SUCCESS);
	g_assert_cmpint(answer(&f, req.request, RI_SERVICE_FOUND, 0), ==, RI_ERR_INVALID_HANDLE);
	/* And a connection request cannot be answered as a query. */
	say(RI_CM_REQUEST, fake_cm_listen_ctx, 0);
	req.request = fixture_cm(&f, KAL_CM_REQUEST, LISTEN_CTX).request;
	g_assert_cmpint(answer(&f, req.request, RI_SERVICE_FOUND, 0), ==, RI_ERR_INVALID_HANDLE);
	g_assert_cmpint(plain(&f, KAL_REJECT, &req, sizeof(req)), ==, RI_SUCCESS);
	/* A query that was not answered is refused when the client closes. */
	(void)peer_query(&f);
	fake_answer.status = RI_SERVICE_FOUND;
	fixture_close(&f);
	g_assert_cmpuint(fake_answer.status, ==, RI_SERVICE_REJECTED);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	fake_register();
	g_test_add_func("/kal/datagram/address-handles", test_address_handles);
	g_test_add_func("/kal/datagram/no-connection", test_no_connection);
	g_test_add_func("/kal/datagram/query", test_query);
	g_test_add_func("/kal/datagram/answering", test_answering);
	return g_test_run();
}
