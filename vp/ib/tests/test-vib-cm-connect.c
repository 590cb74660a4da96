/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The side that connects: set-ups of both kinds, every way to fail and to end, and the end of the object in every phase. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "vib_fake.h"
#include "vib_profile.h"

#define SECOND UINT64_C(1000000000)

static struct ri_cm_params
params_new(struct fake *fake)
{
	return (struct ri_cm_params){
		.peer = fake->addrs[1],
		.service = {.kind = RI_SERVICE_PORT, .port = htons(4444)},
		.ird = 7,
		.ord = 4,
		.ird_ord = true,
		.pdata = "hello",
		.pdata_len = 5,
		.deadline = 20 * SECOND,
	};
}

/* How far an attempt is to be brought. */
enum stage {
	ADDRESS,
	ROUTE,
	CONNECT,
	REPLIED, /* three-way */
	UP,
	STAGES
};

static void
bring(struct fake *fake, struct fake_qp *qp, enum stage stage)
{
	struct ri_cm_params params = params_new(fake);

	params.three_way = stage == REPLIED;
	params.ack_timeout = 18;
	g_assert_cmpint(vib_cm_ops.connect((struct ri_qp *)&qp->qp, &params), ==, RI_SUCCESS);
	if (stage >= ROUTE)
		fake_event(fake, fake_last_id(), RDMA_CM_EVENT_ADDR_RESOLVED, 0, NULL);
	if (stage >= CONNECT)
		fake_event(fake, fake_last_id(), RDMA_CM_EVENT_ROUTE_RESOLVED, 0, NULL);
	if (stage < REPLIED)
		return;
	if (fake->rnic.iwarp)
		fake_event(fake, fake_last_id(), RDMA_CM_EVENT_ESTABLISHED, 0, "reply");
	else
		fake_event(fake, fake_last_id(), RDMA_CM_EVENT_CONNECT_RESPONSE, 0, "reply");
	fake_upcall(fake, stage == REPLIED ? RI_CM_REPLY : RI_CM_ESTABLISHED);
}

static void
test_two_way(void)
{
	struct fake *fake RI_AT_END(fake_free) = fake_new(false);
	struct fake_qp *qp RI_AT_END(fake_qp_free) = fake_qp_new(fake);
	const struct ri_cm_event *up;

	bring(fake, qp, CONNECT);
	fake_assert_calls("create_event_channel resolve_addr resolve_route init_qp_attr modify "
			  "ack_timeout connect ");
	g_assert_cmpuint(fake_last_ack_timeout(), ==, 18);
	g_assert_cmpstr(qp->moves->str, ==, "INIT ");
	g_assert_cmpuint(fake_last_param()->qp_num, ==, 0x1234);
	g_assert_cmpuint(fake_last_param()->responder_resources, ==, 7);
	g_assert_cmpuint(fake_last_param()->initiator_depth, ==, 4);
	g_assert_cmpuint(fake_last_param()->rnr_retry_count, <, 7); /* not for ever */
	g_assert_cmpstr(fake_last_pdata(), ==, "hello");
	g_assert_cmpint(qp->qp.state, ==, RI_QPS_CONNECTING);
	fake_no_upcall(fake);
	fake_event(fake, fake_last_id(), RDMA_CM_EVENT_CONNECT_RESPONSE, 0, "reply");
	fake_assert_calls("init_qp_attr modify init_qp_attr modify establish ");
	g_assert_cmpstr(qp->moves->str, ==, "INIT RTR RTS ");
	g_assert_cmpuint(qp->last.max_dest_rd_atomic, ==, 7);
	g_assert_cmpuint(qp->last.max_rd_atomic, ==, 4);
	up = fake_upcall(fake, RI_CM_ESTABLISHED);
	g_assert_cmpuint(up->ctx, ==, 77);
	g_assert_true(up->ird_ord_valid);
	g_assert_cmpuint(up->ird, ==, 5);
	g_assert_cmpuint(up->ord, ==, 3);
	g_assert_cmpstr((const char *)up->pdata, ==, "reply");
	/* The deadline is over: nothing happens to a connection. */
	fake_advance(fake, 60000);
	fake_no_upcall(fake);
}

/* The retry counts that the caller gives go to the peer; those that do not fit into a message are refused. */
static void
test_counts(void)
{
	struct fake *fake RI_AT_END(fake_free) = fake_new(false);
	struct fake_qp *qp RI_AT_END(fake_qp_free) = fake_qp_new(fake);
	struct ri_cm_params params = params_new(fake);

	params.retries = true;
	params.retry_count = 8;
	g_assert_cmpint(vib_cm_ops.connect((struct ri_qp *)&qp->qp, &params), ==,
			RI_ERR_INVALID_ARG);
	params.retry_count = 3;
	params.rnr_retry = 8;
	g_assert_cmpint(vib_cm_ops.connect((struct ri_qp *)&qp->qp, &params), ==,
			RI_ERR_INVALID_ARG);
	params.rnr_retry = 7;
	g_assert_cmpint(vib_cm_ops.connect((struct ri_qp *)&qp->qp, &params), ==, RI_SUCCESS);
	fake_event(fake, fake_last_id(), RDMA_CM_EVENT_ADDR_RESOLVED, 0, NULL);
	fake_event(fake, fake_last_id(), RDMA_CM_EVENT_ROUTE_RESOLVED, 0, NULL);
	g_assert_cmpuint(fake_last_param()->retry_count, ==, 3);
	g_assert_cmpuint(fake_last_param()->rnr_retry_count, ==, 7);
}

static void
test_three_way(void)
{
	struct fake *fake RI_AT_END(fake_free) = fake_new(false);
	struct fake_qp *qp RI_AT_END(fake_qp_free) = fake_qp_new(fake);

	g_assert_cmpint(vib_cm_ops.confirm((struct ri_qp *)&qp->qp, true, NULL, 0), ==,
			RI_ERR_INVALID_STATE);
	bring(fake, qp, REPLIED);
	g_free(fake_calls());
	g_assert_cmpstr(qp->moves->str, ==, "INIT ");
	g_assert_cmpint(vib_cm_ops.confirm((struct ri_qp *)&qp->qp, true, "x", 1), ==,
			RI_ERR_INVALID_ARG);
	g_assert_cmpint(vib_cm_ops.confirm((struct ri_qp *)&qp->qp, true, NULL, 0), ==, RI_SUCCESS);
	fake_no_upcall(fake); /* never inside a verb */
	g_assert_cmpint(vib_cm_ops.confirm((struct ri_qp *)&qp->qp, true, NULL, 0), ==,
			RI_ERR_INVALID_STATE);
	fake_run(fake);
	fake_assert_calls("init_qp_attr modify init_qp_attr modify establish ");
	g_assert_cmpuint(fake_upcall(fake, RI_CM_ESTABLISHED)->pdata_len, ==, 0); /* told before */
}

static void
test_three_way_refused(void)
{
	struct fake *fake RI_AT_END(fake_free) = fake_new(false);
	struct fake_qp *qp RI_AT_END(fake_qp_free) = fake_qp_new(fake);

	bring(fake, qp, REPLIED);
	g_free(fake_calls());
	g_assert_cmpint(vib_cm_ops.confirm((struct ri_qp *)&qp->qp, false, "no", 2), ==,
			RI_SUCCESS);
	fake_run(fake);
	fake_assert_calls("reject ");
	g_assert_cmpstr(fake_last_pdata(), ==, "no");
	g_assert_cmpint(qp->qp.state, ==, RI_QPS_ERROR);
	fake_no_upcall(fake);
}

/* A queue pair that is freed before it confirms: the peer hears of that, and not of a refusal by the application. */
static void
test_three_way_freed(void)
{
	struct fake *fake RI_AT_END(fake_free) = fake_new(false);
	struct fake_qp *qp RI_AT_END(fake_qp_free) = fake_qp_new(fake);

	bring(fake, qp, REPLIED);
	g_free(fake_calls());
	vib_cm_forget(&qp->qp);
	fake_assert_calls("reject_ece ");
	g_assert_cmpuint(fake_live_ids(), ==, 0);
}

static void
iwarp_with(const struct vib_quirk *quirk, unsigned ird, unsigned ord)
{
	struct fake *fake RI_AT_END(fake_free) = fake_new(true);
	struct fake_qp *qp RI_AT_END(fake_qp_free) = fake_qp_new(fake);
	struct ri_cm_params params = params_new(fake);
	const struct ri_cm_event *up;

	if (quirk != NULL)
		fake->rnic.quirk = quirk;
	params.three_way = true;
	g_assert_cmpint(vib_cm_ops.connect((struct ri_qp *)&qp->qp, &params), ==,
			RI_ERR_UNSUPPORTED);
	bring(fake, qp, CONNECT);
	g_free(fake_calls());
	fake_event(fake, fake_last_id(), RDMA_CM_EVENT_ESTABLISHED, 0, "reply");
	fake_assert_calls(""); /* the kernel moves the queue pair */
	up = fake_upcall(fake, RI_CM_ESTABLISHED);
	g_assert_cmpuint(up->ird, ==, ird);
	g_assert_cmpuint(up->ord, ==, ord);
	g_assert_cmpstr((const char *)up->pdata, ==, "reply");
	/* A stream that is lost. */
	fake_event(fake, fake_last_id(), RDMA_CM_EVENT_DISCONNECTED, -ECONNRESET, NULL);
	fake_upcall(fake, RI_CM_BROKEN);
	fake_assert_calls("");
	g_assert_false(vib_cm_in_time_wait(&qp->qp));
}

static void
test_iwarp(void)
{
	static const struct vib_quirk siw = {.driver = "siw", .own_depths = true};

	iwarp_with(NULL, 5, 3);
	iwarp_with(&siw, 3, 5);
}

/* Where the most tries after a timeout are without end, a request to a peer that has vanished must end all the same. */
static void
test_tries(void)
{
	static const struct vib_quirk endless = {.driver = "", .endless_retries = true};

	for (int i = 0; i < 2; i++) {
		struct fake *fake RI_AT_END(fake_free) = fake_new(false);
		struct fake_qp *qp RI_AT_END(fake_qp_free) = fake_qp_new(fake);

		if (i == 1)
			fake->rnic.quirk = &endless;
		bring(fake, qp, CONNECT);
		g_free(fake_calls());
		g_assert_cmpuint(fake_last_param()->retry_count, ==, i == 1 ? 6 : 7);
	}
}

static void
test_arguments(void)
{
	struct fake *fake RI_AT_END(fake_free) = fake_new(false);
	struct fake_qp *qp RI_AT_END(fake_qp_free) = fake_qp_new(fake);
	struct ri_cm_params params = params_new(fake);
	char big[300] = {0};

	params.pdata = big;
	params.pdata_len = 57;
	g_assert_cmpint(vib_cm_ops.connect((struct ri_qp *)&qp->qp, &params), ==,
			RI_ERR_INVALID_ARG);
	params = params_new(fake);
	params.ird = 17;
	g_assert_cmpint(vib_cm_ops.connect((struct ri_qp *)&qp->qp, &params), ==, RI_ERR_LIMIT);
	params = params_new(fake);
	params.service.kind = RI_SERVICE_IB;
	g_assert_cmpint(vib_cm_ops.connect((struct ri_qp *)&qp->qp, &params), ==,
			RI_ERR_INVALID_ARG);
	params = params_new(fake);
	params.local = fake->addrs[1];
	g_assert_cmpint(vib_cm_ops.connect((struct ri_qp *)&qp->qp, &params), ==, RI_ERR_NO_ROUTE);
	params = params_new(fake);
	fake_fail("create_id", EMFILE);
	g_assert_cmpint(vib_cm_ops.connect((struct ri_qp *)&qp->qp, &params), ==, RI_ERR_RESOURCES);
	fake_fail("create_id", 0);
	g_assert_cmpint(qp->qp.state, ==, RI_QPS_IDLE);
	g_assert_cmpint(vib_cm_ops.disconnect((struct ri_qp *)&qp->qp, NULL, 0), ==,
			RI_ERR_INVALID_STATE);
	bring(fake, qp, ADDRESS);
	g_assert_cmpint(vib_cm_ops.connect((struct ri_qp *)&qp->qp, &params), ==,
			RI_ERR_INVALID_STATE);
	g_assert_cmpuint(fake_live_ids(), ==, 1);
	g_assert_cmpint(vib_cm_ops.disconnect((struct ri_qp *)&qp->qp, "x", 1), ==,
			RI_ERR_INVALID_ARG);
}

/* What the peer or the network does. */
static void
test_failures(void)
{
	static const struct {
		enum stage stage;
		enum rdma_cm_event_type type;
		int status;
		enum ri_cm_event_kind kind;
		enum ri_cm_reason reason;
	} rows[] = {
		{ADDRESS, RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT, RI_CM_FAILED,
		 RI_CM_REASON_BAD_PATH},
		{ROUTE, RDMA_CM_EVENT_ROUTE_ERROR, -ETIMEDOUT, RI_CM_FAILED, RI_CM_REASON_BAD_PATH},
		{CONNECT, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, RI_CM_FAILED,
		 RI_CM_REASON_TIMEOUT},
		{CONNECT, RDMA_CM_EVENT_REJECTED, 8, RI_CM_FAILED, RI_CM_REASON_REFUSED},
		{CONNECT, RDMA_CM_EVENT_REJECTED, 10, RI_CM_FAILED, RI_CM_REASON_STALE},
		{CONNECT, RDMA_CM_EVENT_REJECTED, 28, RI_CM_REJECTED, RI_CM_REASON_OTHER},
		{REPLIED, RDMA_CM_EVENT_REJECTED, 4, RI_CM_FAILED, RI_CM_REASON_TIMEOUT},
		{REPLIED, RDMA_CM_EVENT_DEVICE_REMOVAL, 0, RI_CM_FAILED, RI_CM_REASON_OTHER},
		{UP, RDMA_CM_EVENT_DEVICE_REMOVAL, 0, RI_CM_BROKEN, RI_CM_REASON_OTHER},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct fake *fake RI_AT_END(fake_free) = fake_new(false);
		struct fake_qp *qp RI_AT_END(fake_qp_free) = fake_qp_new(fake);
		const struct ri_cm_event *end;

		g_test_message("row %u", (unsigned)i);
		bring(fake, qp, rows[i].stage);
		fake_event(fake, fake_last_id(), rows[i].type, rows[i].status, "why");
		g_assert_cmpuint(fake->failures, ==, rows[i].type == RDMA_CM_EVENT_DEVICE_REMOVAL);
		end = fake_upcall(fake, rows[i].kind);
		g_assert_cmpint(end->reason, ==, rows[i].reason);
		if (rows[i].kind == RI_CM_REJECTED)
			g_assert_cmpstr((const char *)end->pdata, ==, "why");
		else
			g_assert_cmpuint(end->pdata_len, ==, 0);
		g_assert_cmpint(vib_cm_ops.disconnect((struct ri_qp *)&qp->qp, NULL, 0), ==,
				RI_ERR_INVALID_STATE);
		fake_advance(fake, 60000);
	}
}

/* Calls of librdmacm that fail: the attempt fails by an event, once. */
static void
test_failing_calls(void)
{
	static const struct {
		const char *call;
		int error;
		enum ri_cm_reason reason;
	} rows[] = {
		{"resolve_addr", EHOSTUNREACH, RI_CM_REASON_BAD_PATH},
		{"resolve_route", ETIMEDOUT, RI_CM_REASON_TIMEOUT},
		{"init_qp_attr", ENOMEM, RI_CM_REASON_RESOURCES},
		{"modify", EINVAL, RI_CM_REASON_BAD_PARAMS},
		{"connect", ECONNREFUSED, RI_CM_REASON_REFUSED},
		{"establish", EPROTO, RI_CM_REASON_BAD_PARAMS},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct fake *fake RI_AT_END(fake_free) = fake_new(false);
		struct fake_qp *qp RI_AT_END(fake_qp_free) = fake_qp_new(fake);
		struct ri_cm_params params = params_new(fake);

		fake_fail(rows[i].call, rows[i].error);
		g_assert_cmpint(vib_cm_ops.connect((struct ri_qp *)&qp->qp, &params), ==,
				RI_SUCCESS);
		fake_no_upcall(fake);
		fake_event(fake, fake_last_id(), RDMA_CM_EVENT_ADDR_RESOLVED, 0, NULL);
		fake_event(fake, fake_last_id(), RDMA_CM_EVENT_ROUTE_RESOLVED, 0, NULL);
		fake_event(fake, fake_last_id(), RDMA_CM_EVENT_CONNECT_RESPONSE, 0, NULL);
		g_assert_cmpint(fake_upcall(fake, RI_CM_FAILED)->reason, ==, rows[i].reason);
		g_assert_cmpint(qp->qp.state, ==, RI_QPS_ERROR);
	}
}

static void
test_deadline(void)
{
	for (unsigned stage = ADDRESS; stage < UP; stage++) {
		struct fake *fake RI_AT_END(fake_free) = fake_new(false);
		struct fake_qp *qp RI_AT_END(fake_qp_free) = fake_qp_new(fake);
		g_autofree char *had = NULL;

		bring(fake, qp, (enum stage)stage);
		g_free(fake_calls());
		fake_advance(fake, 19000);
		fake_no_upcall(fake);
		fake_advance(fake, 2000);
		g_assert_cmpint(fake_upcall(fake, RI_CM_FAILED)->reason, ==, RI_CM_REASON_TIMEOUT);
		had = fake_calls();
		g_assert_cmpstr(had, ==, stage == REPLIED ? "reject_ece " : "");
		/* Too late; while the request is repeated, the end of its id tells the peer. */
		g_assert_cmpuint(fake_live_ids(), ==, stage == CONNECT ? 0 : 1);
		if (stage != CONNECT)
			fake_event(fake, fake_last_id(), RDMA_CM_EVENT_CONNECT_RESPONSE, 0, NULL);
		fake_no_upcall(fake);
	}
}

/* Another device has the better route. */
static void
test_foreign_route(void)
{
	struct fake *fake RI_AT_END(fake_free) = fake_new(false);
	struct fake_qp *qp RI_AT_END(fake_qp_free) = fake_qp_new(fake);
	struct ibv_device other = {.name = "fake1"};
	struct ibv_context verbs = {.device = &other};

	bring(fake, qp, ADDRESS);
	fake_last_id()->verbs = &verbs;
	fake_event(fake, fake_last_id(), RDMA_CM_EVENT_ADDR_RESOLVED, 0, NULL);
	g_assert_cmpint(fake_upcall(fake, RI_CM_FAILED)->reason, ==, RI_CM_REASON_BAD_PATH);
}

static void
test_give_up(void)
{
	for (unsigned stage = ADDRESS; stage < UP; stage++) {
		struct fake *fake RI_AT_END(fake_free) = fake_new(false);
		struct fake_qp *qp RI_AT_END(fake_qp_free) = fake_qp_new(fake);

		bring(fake, qp, (enum stage)stage);
		g_assert_cmpint(vib_cm_ops.disconnect((struct ri_qp *)&qp->qp, NULL, 0), ==,
				RI_SUCCESS);
		fake_no_upcall(fake);
		fake_run(fake);
		fake_upcall(fake, RI_CM_DISCONNECTED);
		g_assert_cmpint(vib_cm_ops.disconnect((struct ri_qp *)&qp->qp, NULL, 0), ==,
				RI_ERR_INVALID_STATE);
	}
}

static void
test_disconnect(void)
{
	struct fake *fake RI_AT_END(fake_free) = fake_new(false);
	struct fake_qp *qp RI_AT_END(fake_qp_free) = fake_qp_new(fake);

	bring(fake, qp, UP);
	g_free(fake_calls());
	g_assert_cmpint(vib_cm_close_qp(&qp->qp), ==, RI_SUCCESS);
	g_assert_cmpint(qp->qp.state, ==, RI_QPS_CLOSING);
	g_assert_cmpint(vib_cm_ops.disconnect((struct ri_qp *)&qp->qp, NULL, 0), ==,
			RI_ERR_INVALID_STATE);
	fake_run(fake);
	fake_no_upcall(fake);
	fake_event(fake, fake_last_id(), RDMA_CM_EVENT_DISCONNECTED, 0, NULL);
	fake_upcall(fake, RI_CM_DISCONNECTED);
	fake_assert_calls("chain disconnect chain ");
	g_assert_true(vib_cm_in_time_wait(&qp->qp));
	fake_event(fake, fake_last_id(), RDMA_CM_EVENT_TIMEWAIT_EXIT, 0, NULL);
	fake_upcall(fake, RI_CM_TIME_WAIT_OVER);
	g_assert_false(vib_cm_in_time_wait(&qp->qp));
	fake_advance(fake, 60000);
	fake_no_upcall(fake);
}

static void
disconnect_now(void *arg)
{
	struct fake_qp *qp = arg;

	g_assert_cmpint(vib_cm_ops.disconnect((struct ri_qp *)&qp->qp, NULL, 0), ==, RI_SUCCESS);
}

static void
abort_now(void *arg)
{
	struct fake_qp *qp = arg;
	const struct ri_cm_event broken = {.kind = RI_CM_BROKEN};

	vib_cm_abort(&qp->qp);
	vib_qp_end(&qp->qp, &broken, RI_EVENT_NONE);
}

/* An end while the kernel confirms, when it cannot notify the peer yet: it is asked again later, and this side has its event. */
static void
test_end_while_confirming(void)
{
	for (unsigned i = 0; i < 2; i++) {
		struct fake *fake RI_AT_END(fake_free) = fake_new(false);
		struct fake_qp *qp RI_AT_END(fake_qp_free) = fake_qp_new(fake);

		bring(fake, qp, CONNECT);
		g_free(fake_calls());
		fake->in_establish = i == 0 ? disconnect_now : abort_now;
		fake->in_establish_arg = qp;
		fake_event(fake, fake_last_id(), RDMA_CM_EVENT_CONNECT_RESPONSE, 0, "reply");
		fake_assert_calls(
			i == 0 ? "init_qp_attr modify init_qp_attr modify chain disconnect "
				 "establish disconnect "
			       : "init_qp_attr modify init_qp_attr modify disconnect "
				 "establish disconnect ");
		if (i == 0) {
			fake_upcall(fake, RI_CM_ESTABLISHED);
			g_assert_cmpint(qp->qp.state, ==, RI_QPS_CLOSING);
			fake_advance(fake, 2100); /* the peer may still not answer */
		}
		fake_upcall(fake, i == 0 ? RI_CM_DISCONNECTED : RI_CM_BROKEN);
	}
}

/* The peer does not answer, and the kernel does not report the end of the time-wait. */
static void
test_disconnect_unanswered(void)
{
	struct fake *fake RI_AT_END(fake_free) = fake_new(false);
	struct fake_qp *qp RI_AT_END(fake_qp_free) = fake_qp_new(fake);

	bring(fake, qp, UP);
	g_assert_cmpint(vib_cm_ops.disconnect((struct ri_qp *)&qp->qp, NULL, 0), ==, RI_SUCCESS);
	fake_advance(fake, 1900);
	fake_no_upcall(fake);
	fake_advance(fake, 200);
	fake_upcall(fake, RI_CM_DISCONNECTED);
	g_assert_true(vib_cm_in_time_wait(&qp->qp));
	fake_advance(fake, 60000);
	fake_upcall(fake, RI_CM_TIME_WAIT_OVER);
}

static void
test_hang_up(void)
{
	struct fake *fake = fake_new(false);
	struct fake_qp *qp = fake_qp_new(fake);

	bring(fake, qp, UP);
	g_free(fake_calls());
	fake_event(fake, fake_last_id(), RDMA_CM_EVENT_DISCONNECTED, 0, NULL);
	fake_assert_calls("disconnect "); /* the answer */
	fake_upcall(fake, RI_CM_DISCONNECTED);
	fake_event(fake, fake_last_id(), RDMA_CM_EVENT_DISCONNECTED, 0, NULL);
	fake_no_upcall(fake);
	fake_qp_free(&qp);
	/* The device has refused something of the peer, which then disconnects: that is no orderly end. */
	qp = fake_qp_new(fake);
	bring(fake, qp, UP);
	qp->failed = true;
	fake_event(fake, fake_last_id(), RDMA_CM_EVENT_DISCONNECTED, 0, NULL);
	fake_upcall(fake, RI_CM_BROKEN);
	g_free(fake_calls());
	fake_qp_free(&qp);
	fake_free(&fake);
	/* Nor is it one if an event of the device says so that waits on the other descriptor. */
	fake = fake_new(true);
	qp = fake_qp_new(fake);
	bring(fake, qp, UP);
	fake->refused = &qp->qp;
	fake_event(fake, fake_last_id(), RDMA_CM_EVENT_DISCONNECTED, 0, NULL);
	fake_upcall(fake, RI_CM_BROKEN);
	fake_no_upcall(fake);
	g_free(fake_calls());
	fake_qp_free(&qp);
	fake_free(&fake);
}

/* The layers above abort: the peer is notified, and the caller ends the queue pair. */
static void
test_abort(void)
{
	static const char *const told[STAGES] = {"", "", "", "reject_ece ", "disconnect "};

	for (unsigned stage = ADDRESS; stage < STAGES; stage++) {
		struct fake *fake RI_AT_END(fake_free) = fake_new(false);
		struct fake_qp *qp RI_AT_END(fake_qp_free) = fake_qp_new(fake);

		bring(fake, qp, (enum stage)stage);
		g_free(fake_calls());
		vib_cm_abort(&qp->qp);
		vib_cm_abort(&qp->qp);
		fake_assert_calls(told[stage]);
		g_assert_cmpuint(fake_live_ids(), ==, stage == CONNECT ? 0 : 1);
		fake_advance(fake, 60000);
		fake_no_upcall(fake);
	}
}

/* No event of an object comes after its destruction, whatever is on the way. */
static void
test_destroy(void)
{
	for (unsigned stage = ADDRESS; stage < STAGES; stage++) {
		struct fake *fake RI_AT_END(fake_free) = fake_new(false);
		struct fake_qp *qp = fake_qp_new(fake);

		bring(fake, qp, (enum stage)stage);
		fake_qp_free(&qp);
		g_assert_cmpuint(fake_live_ids(), ==, 0);
		fake_advance(fake, 60000);
		fake_no_upcall(fake);
	}
}

/* With iWARP the id of an attempt would wait for the peer: it is destroyed later. */
static void
test_deferred(void)
{
	struct fake *fake RI_AT_END(fake_free) = fake_new(true);
	struct fake_qp *qp = fake_qp_new(fake);

	bring(fake, qp, CONNECT);
	fake_qp_free(&qp);
	g_assert_cmpuint(fake_live_ids(), ==, 1);
	fake_event(fake, fake_last_id(), RDMA_CM_EVENT_ESTABLISHED, 0, NULL);
	g_assert_cmpuint(fake_live_ids(), ==, 0);
	fake_no_upcall(fake);
	/* The call fails: there is nothing to wait for. */
	qp = fake_qp_new(fake);
	fake_fail("connect", ECONNREFUSED);
	bring(fake, qp, CONNECT);
	fake_upcall(fake, RI_CM_FAILED);
	fake_qp_free(&qp);
	g_assert_cmpuint(fake_live_ids(), ==, 0);
}

static void
test_device_gone(void)
{
	struct fake *fake RI_AT_END(fake_free) = fake_new(false);
	struct fake_qp *a = fake_qp_new(fake), *b = fake_qp_new(fake);

	bring(fake, a, UP);
	bring(fake, b, ROUTE);
	vib_cm_comm_est(&a->qp);
	vib_cm_device_gone(&fake->rnic);
	fake_run(fake);
	fake_upcall(fake, RI_CM_BROKEN);
	fake_upcall(fake, RI_CM_FAILED);
	vib_cm_device_gone(&fake->rnic);
	fake_run(fake);
	fake_qp_free(&a);
	fake_qp_free(&b);
}

/* One line for each end: with which peer, and why. */
static void
test_why(void)
{
	static const struct {
		enum stage stage;
		enum rdma_cm_event_type type;
		int status;
		bool failed;
		const char *text;
	} rows[] = {
		{UP, RDMA_CM_EVENT_DISCONNECTED, 0, false,
		 "the connection has ended: closed by the peer"},
		{UP, RDMA_CM_EVENT_DISCONNECTED, 0, true,
		 "the connection has ended: the device of this end has refused something of the "
		 "peer, "
		 "and does not say what"},
		{UP, RDMA_CM_EVENT_DISCONNECTED, -104, false,
		 "the connection has ended: event 10, status -104"},
		{UP, RDMA_CM_EVENT_DEVICE_REMOVAL, 0, false,
		 "the connection has ended: the device is gone"},
		{CONNECT, RDMA_CM_EVENT_REJECTED, 8, false,
		 "an attempt to connect failed: event 8, status 8"},
	};
	struct ri_cm_params params;
	struct fake_qp *qp;
	struct fake *fake;

	for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autofree char *wanted = g_strdup_printf("peer 192.0.2.2:4444: %s", rows[i].text);

		fake = fake_new(false);
		qp = fake_qp_new(fake);
		bring(fake, qp, rows[i].stage);
		qp->failed = rows[i].failed;
		fake_event(fake, fake_last_id(), rows[i].type, rows[i].status, NULL);
		g_assert_cmpstr(fake_last_log(), ==, wanted);
		g_array_set_size(fake->upcalled, 0);
		fake_qp_free(&qp);
		fake_free(&fake);
	}
	/* This end, with a peer that does not answer; and an attempt whose time is over. */
	fake = fake_new(false);
	qp = fake_qp_new(fake);
	bring(fake, qp, UP);
	g_assert_cmpint(vib_cm_ops.disconnect((struct ri_qp *)&qp->qp, NULL, 0), ==, RI_SUCCESS);
	fake_advance(fake, 2000);
	g_assert_cmpstr(
		fake_last_log(), ==,
		"peer 192.0.2.2:4444: the connection has ended: closed by this end; the peer "
		"did not answer within 2 seconds");
	fake_upcall(fake, RI_CM_DISCONNECTED);
	fake_qp_free(&qp);
	qp = fake_qp_new(fake);
	params = params_new(fake);
	params.deadline = vth_host(fake->vth)->now(vth_host(fake->vth)->self) + SECOND;
	g_assert_cmpint(vib_cm_ops.connect((struct ri_qp *)&qp->qp, &params), ==, RI_SUCCESS);
	fake_advance(fake, 1100);
	g_assert_cmpstr(fake_last_log(), ==,
			"peer 192.0.2.2:4444: an attempt to connect failed: its time is over");
	fake_upcall(fake, RI_CM_FAILED);
	fake_qp_free(&qp);
	fake_free(&fake);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ib/cm/connect/two-way", test_two_way);
	g_test_add_func("/ib/cm/connect/counts", test_counts);
	g_test_add_func("/ib/cm/connect/three-way", test_three_way);
	g_test_add_func("/ib/cm/connect/three-way-refused", test_three_way_refused);
	g_test_add_func("/ib/cm/connect/three-way-freed", test_three_way_freed);
	g_test_add_func("/ib/cm/connect/end-while-confirming", test_end_while_confirming);
	g_test_add_func("/ib/cm/connect/iwarp", test_iwarp);
	g_test_add_func("/ib/cm/connect/tries", test_tries);
	g_test_add_func("/ib/cm/connect/arguments", test_arguments);
	g_test_add_func("/ib/cm/connect/failures", test_failures);
	g_test_add_func("/ib/cm/connect/failing-calls", test_failing_calls);
	g_test_add_func("/ib/cm/connect/deadline", test_deadline);
	g_test_add_func("/ib/cm/connect/foreign-route", test_foreign_route);
	g_test_add_func("/ib/cm/connect/give-up", test_give_up);
	g_test_add_func("/ib/cm/connect/disconnect", test_disconnect);
	g_test_add_func("/ib/cm/connect/disconnect-unanswered", test_disconnect_unanswered);
	g_test_add_func("/ib/cm/connect/hang-up", test_hang_up);
	g_test_add_func("/ib/cm/connect/abort", test_abort);
	g_test_add_func("/ib/cm/connect/destroy", test_destroy);
	g_test_add_func("/ib/cm/connect/deferred", test_deferred);
	g_test_add_func("/ib/cm/connect/device-gone", test_device_gone);
	g_test_add_func("/ib/cm-connect/why", test_why);
	return g_test_run();
}
