/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * iWARP: rdma_connect has a thread of its own, because the device may connect inside it. The test
 * decides when that thread runs, so events come before, during and after the call in every order.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "vib_fake.h"

#define SECOND UINT64_C(1000000000)

static void
bring(struct fake *fake, struct fake_qp *qp)
{
	const struct ri_cm_params params = {
		.peer = fake->addrs[1],
		.service = {.kind = RI_SERVICE_PORT, .port = htons(4444)},
		.deadline = 20 * SECOND,
	};

	g_assert_cmpint(vib_cm_ops.connect((struct ri_qp *)&qp->qp, &params), ==, RI_SUCCESS);
	fake_event(fake, fake_last_id(), RDMA_CM_EVENT_ADDR_RESOLVED, 0, NULL);
	fake_event(fake, fake_last_id(), RDMA_CM_EVENT_ROUTE_RESOLVED, 0, NULL);
}

/* An attempt whose call waits for fake_release. */
static struct fake *
held_new(struct fake_qp **qp)
{
	struct fake *fake = fake_new(true);

	fake->hold = true;
	*qp = fake_qp_new(fake);
	bring(fake, *qp);
	fake_assert_calls("create_event_channel resolve_addr resolve_route init_qp_attr modify ");
	g_assert_true(fake->held != NULL);
	return fake;
}

/* The service thread goes on without the call, and the connection comes after it. */
static void
test_apart(void)
{
	struct fake_qp *qp;
	struct fake *fake RI_AT_END(fake_free) = held_new(&qp);

	fake_advance(fake, 1000);
	fake_assert_calls("");
	fake_release(fake);
	fake_assert_calls("connect ");
	fake_event(fake, fake_last_id(), RDMA_CM_EVENT_ESTABLISHED, 0, "reply");
	fake_upcall(fake, RI_CM_ESTABLISHED);
	fake_qp_free(&qp);
	g_assert_cmpuint(fake_live_ids(), ==, 0);
}

/* The call fails: the service thread reports that. */
static void
test_fails(void)
{
	struct fake_qp *qp;
	struct fake *fake RI_AT_END(fake_free) = held_new(&qp);
	const struct ri_cm_event *failed;

	fake_fail("connect", ENETUNREACH);
	fake_release(fake);
	fake_no_upcall(fake);
	fake_run(fake);
	failed = fake_upcall(fake, RI_CM_FAILED);
	g_assert_cmpint(failed->reason, ==, RI_CM_REASON_BAD_PATH);
	fake_qp_free(&qp);
	g_assert_cmpuint(fake_live_ids(), ==, 0);
}

/* There is no thread. */
static void
test_no_thread(void)
{
	struct fake *fake RI_AT_END(fake_free) = fake_new(true);
	struct fake_qp *qp = fake_qp_new(fake);

	fake_fail("thread_id", EAGAIN);
	bring(fake, qp);
	g_assert_cmpint(fake_upcall(fake, RI_CM_FAILED)->reason, ==, RI_CM_REASON_RESOURCES);
	fake_qp_free(&qp);
	g_assert_cmpuint(fake_live_ids(), ==, 0);
}

/* Given up before the thread runs: it does not call, and then the id goes. */
static void
test_given_up(gconstpointer data)
{
	bool deadline = GPOINTER_TO_INT(data) != 0;
	struct fake_qp *qp;
	struct fake *fake RI_AT_END(fake_free) = held_new(&qp);

	if (deadline)
		fake_advance(fake, 20000);
	else
		g_assert_cmpint(vib_cm_ops.disconnect((struct ri_qp *)&qp->qp, NULL, 0), ==,
				RI_SUCCESS);
	g_free(fake_calls());
	fake_run(fake);
	fake_upcall(fake, deadline ? RI_CM_FAILED : RI_CM_DISCONNECTED);
	fake_qp_free(&qp);
	g_assert_cmpuint(fake_live_ids(), ==, 1);
	fake_release(fake);
	fake_run(fake);
	fake_assert_calls("");
	g_assert_cmpuint(fake_live_ids(), ==, 0);
	fake_no_upcall(fake);
}

struct during {
	struct fake *fake;
	struct fake_qp *qp;
	enum rdma_cm_event_type type; /* that comes; 0: none */
	int status;
};

/* The queue pair goes while the call runs, perhaps after an event that has come already. */
static void
on_connect(void *arg)
{
	struct during *during = arg;

	if (during->type != 0) {
		fake_event(during->fake, fake_last_id(), during->type, during->status, NULL);
		fake_upcall(during->fake, during->status == 0 ? RI_CM_ESTABLISHED : RI_CM_FAILED);
	}
	fake_qp_free(&during->qp);
	g_assert_cmpuint(fake_live_ids(), ==, 1); /* the call still uses it */
	fake_run(during->fake);
	g_assert_cmpuint(fake_live_ids(), ==, 1);
}

/* The id is destroyed when both the call and the attempt are over, whichever is the last. */
static void
test_gone_during_call(void)
{
	static const struct {
		enum rdma_cm_event_type during; /* 0: none */
		int status;
		int error; /* of the call */
		enum rdma_cm_event_type after;
	} rows[] = {
		{0, 0, ECONNREFUSED, 0},
		{0, 0, 0, RDMA_CM_EVENT_ESTABLISHED},
		{0, 0, 0, RDMA_CM_EVENT_REJECTED},
		{RDMA_CM_EVENT_ESTABLISHED, 0, 0, 0},
		{RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, 0, 0},
		{RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, ETIMEDOUT, 0},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct during during = {.type = rows[i].during, .status = rows[i].status};

		g_test_message("row %u", (unsigned)i);
		during.fake = held_new(&during.qp);
		during.fake->in_connect = on_connect;
		during.fake->in_connect_arg = &during;
		fake_fail("connect", rows[i].error);
		fake_release(during.fake);
		g_assert_cmpuint(fake_live_ids(), ==, 1);
		fake_run(during.fake);
		if (rows[i].after != 0) {
			g_assert_cmpuint(fake_live_ids(), ==, 1); /* the device may be connecting */
			fake_event(during.fake, fake_last_id(), rows[i].after, 0, NULL);
		}
		g_assert_cmpuint(fake_live_ids(), ==, 0);
		fake_no_upcall(during.fake);
		fake_free(&during.fake);
	}
}

/* The device has broken the queue pair and cannot replace it: the call says so, and a later one works. */
static void
test_broken(void)
{
	struct fake *fake RI_AT_END(fake_free) = fake_new(true);
	struct fake_qp *qp RI_AT_END(fake_qp_free) = fake_qp_new(fake);
	const struct ri_cm_params params = {
		.peer = fake->addrs[1],
		.service = {.kind = RI_SERVICE_PORT, .port = htons(4444)},
		.deadline = RI_NEVER,
	};

	fake_fail("heal_id", ENOMEM);
	g_assert_cmpint(vib_cm_ops.connect((struct ri_qp *)&qp->qp, &params), ==, RI_ERR_RESOURCES);
	g_assert_cmpint(qp->qp.state, ==, RI_QPS_IDLE);
	g_assert_cmpuint(fake_live_ids(), ==, 0);
	fake_fail("heal_id", 0);
	bring(fake, qp);
	fake_event(fake, fake_last_id(), RDMA_CM_EVENT_ESTABLISHED, 0, "reply");
	fake_upcall(fake, RI_CM_ESTABLISHED);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ib/cm/call/apart", test_apart);
	g_test_add_func("/ib/cm/call/fails", test_fails);
	g_test_add_func("/ib/cm/call/no-thread", test_no_thread);
	g_test_add_data_func("/ib/cm/call/given-up", GINT_TO_POINTER(0), test_given_up);
	g_test_add_data_func("/ib/cm/call/too-late", GINT_TO_POINTER(1), test_given_up);
	g_test_add_func("/ib/cm/call/gone-during-call", test_gone_during_call);
	g_test_add_func("/ib/cm/call/broken", test_broken);
	return g_test_run();
}
