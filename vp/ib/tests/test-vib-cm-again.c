/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * iWARP: the kernel has chosen a local port that TCP cannot use, so rdma_connect fails with EADDRINUSE and the attempt
 * is repeated with a new id [RI 12.3.19].
 */
#include <arpa/inet.h>
#include <errno.h>

#include "vib_fake.h"

#define SECOND     UINT64_C(1000000000)
#define CALLS_MOST 8 /* of rdma_connect for one attempt */

/* An attempt whose rdma_connect waits for fake_release; with a source port if @p port is not 0. */
static struct fake *
attempt_new(struct fake_qp **qp, uint16_t port)
{
	struct fake *fake = fake_new(true);
	const struct ri_cm_params params = {
		.peer = fake->addrs[1],
		.service = {.kind = RI_SERVICE_PORT,
			    .port = htons(4444),
			    .local_port = htons(port)},
		.deadline = 20 * SECOND,
	};

	fake->hold = true;
	*qp = fake_qp_new(fake);
	g_assert_cmpint(vib_cm_ops.connect((struct ri_qp *)&(*qp)->qp, &params), ==, RI_SUCCESS);
	fake_event(fake, fake_last_id(), RDMA_CM_EVENT_ADDR_RESOLVED, 0, NULL);
	fake_event(fake, fake_last_id(), RDMA_CM_EVENT_ROUTE_RESOLVED, 0, NULL);
	g_free(fake_calls());
	fake_fail("connect", EADDRINUSE);
	return fake;
}

/* The call fails; the service thread hears of it. */
static void
call_fails(struct fake *fake)
{
	fake_release(fake);
	fake_run(fake);
}

/* Up to the next call. */
static void
resolve(struct fake *fake)
{
	fake_event(fake, fake_last_id(), RDMA_CM_EVENT_ADDR_RESOLVED, 0, NULL);
	fake_event(fake, fake_last_id(), RDMA_CM_EVENT_ROUTE_RESOLVED, 0, NULL);
}

static void
attempt_free(struct fake *fake, struct fake_qp *qp)
{
	fake_no_upcall(fake);
	if (qp != NULL)
		fake_qp_free(&qp);
	fake_run(fake);
	g_assert_cmpuint(fake_live_ids(), ==, 0);
	fake_free(&fake);
}

/* The second port is a good one. The first id is gone by then, with what it had. */
static void
test_connects(void)
{
	struct fake_qp *qp;
	struct fake *fake = attempt_new(&qp, 0);
	const struct rdma_cm_id *first = fake_last_id();
	struct sockaddr_in to = first->route.addr.dst_sin;

	call_fails(fake);
	fake_no_upcall(fake);
	fake_assert_calls("connect resolve_addr ");
	g_assert_cmpuint(fake_live_ids(), ==, 1);
	g_assert_cmpuint(fake_last_id()->route.addr.src_sin.sin_port, ==, 0);
	g_assert_cmpmem(&fake_last_id()->route.addr.dst_sin, sizeof(to), &to, sizeof(to));
	resolve(fake);
	fake_fail("connect", 0);
	fake_release(fake);
	fake_event(fake, fake_last_id(), RDMA_CM_EVENT_ESTABLISHED, 0, "reply");
	fake_upcall(fake, RI_CM_ESTABLISHED);
	fake_assert_calls("resolve_route init_qp_attr modify connect ");
	/* The deadline was that of the attempt. */
	fake_advance(fake, 30000);
	attempt_free(fake, qp);
}

/* All ports are taken. */
static void
test_bounded(void)
{
	struct fake_qp *qp;
	struct fake *fake = attempt_new(&qp, 0);

	for (unsigned i = 1; i < CALLS_MOST; i++) {
		call_fails(fake);
		fake_no_upcall(fake);
		resolve(fake);
	}
	call_fails(fake);
	g_assert_cmpint(fake_upcall(fake, RI_CM_FAILED)->reason, ==, RI_CM_REASON_RESOURCES);
	attempt_free(fake, qp);
}

/* Not with a port that was asked for, with another error, or without a new id. */
static void
test_not(void)
{
	for (unsigned i = 0; i < 3; i++) {
		struct fake_qp *qp;
		struct fake *fake = attempt_new(&qp, i == 0 ? 7777 : 0);

		g_test_message("row %u", i);
		if (i == 1)
			fake_fail("connect", EADDRNOTAVAIL);
		if (i == 2)
			fake_fail("create_id", ENOMEM);
		call_fails(fake);
		fake_assert_calls("connect ");
		(void)fake_upcall(fake, RI_CM_FAILED);
		fake_fail("create_id", 0);
		attempt_free(fake, qp);
	}
}

/* The address cannot be resolved again. */
static void
test_address(void)
{
	struct fake_qp *qp;
	struct fake *fake = attempt_new(&qp, 0);

	fake_fail("resolve_addr", ENETUNREACH);
	call_fails(fake);
	g_assert_cmpint(fake_upcall(fake, RI_CM_FAILED)->reason, ==, RI_CM_REASON_BAD_PATH);
	attempt_free(fake, qp);
}

/* The time limit is of all attempts together. */
static void
test_deadline(void)
{
	struct fake_qp *qp;
	struct fake *fake = attempt_new(&qp, 0);

	fake_advance(fake, 15000);
	call_fails(fake);
	fake_advance(fake, 4900);
	fake_no_upcall(fake);
	fake_advance(fake, 200);
	g_assert_cmpint(fake_upcall(fake, RI_CM_FAILED)->reason, ==, RI_CM_REASON_TIMEOUT);
	/* Later events of the new id are ignored. */
	fake_event(fake, fake_last_id(), RDMA_CM_EVENT_ADDR_RESOLVED, 0, NULL);
	attempt_free(fake, qp);
}

/* What ends an attempt while it is made again. */
static void
test_ended(void)
{
	for (unsigned i = 0; i < 3; i++) {
		struct fake_qp *qp;
		struct fake *fake = attempt_new(&qp, 0);

		g_test_message("row %u", i);
		call_fails(fake);
		if (i == 0) {
			g_assert_cmpint(vib_cm_ops.disconnect((struct ri_qp *)&qp->qp, NULL, 0), ==,
					RI_SUCCESS);
			fake_run(fake);
			(void)fake_upcall(fake, RI_CM_DISCONNECTED);
		} else if (i == 1) {
			fake_event(fake, fake_last_id(), RDMA_CM_EVENT_DEVICE_REMOVAL, 0, NULL);
			(void)fake_upcall(fake, RI_CM_FAILED);
		} else {
			fake_qp_free(&qp);
			qp = NULL;
			g_assert_cmpuint(fake_live_ids(), ==, 0);
		}
		attempt_free(fake, qp);
	}
}

static struct fake_qp *calling;

static void
give_up(void *arg)
{
	(void)arg;
	g_assert_cmpint(vib_cm_ops.disconnect((struct ri_qp *)&calling->qp, NULL, 0), ==,
			RI_SUCCESS);
}

static void
destroy(void *arg)
{
	(void)arg;
	fake_qp_free(&calling);
	calling = NULL;
}

/* It is given up, or its queue pair goes, while the call runs: it is not made again. */
static void
test_ended_in_call(void)
{
	for (unsigned i = 0; i < 2; i++) {
		struct fake *fake = attempt_new(&calling, 0);

		g_test_message("row %u", i);
		fake->in_connect = i == 0 ? give_up : destroy;
		call_fails(fake);
		fake_assert_calls(i == 0 ? "connect chain " : "connect ");
		if (i == 0)
			(void)fake_upcall(fake, RI_CM_DISCONNECTED);
		g_assert_cmpuint(fake_live_ids(), ==, i == 0);
		attempt_free(fake, calling);
	}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ib/cm/again/connects", test_connects);
	g_test_add_func("/ib/cm/again/bounded", test_bounded);
	g_test_add_func("/ib/cm/again/not", test_not);
	g_test_add_func("/ib/cm/again/address", test_address);
	g_test_add_func("/ib/cm/again/deadline", test_deadline);
	g_test_add_func("/ib/cm/again/ended", test_ended);
	g_test_add_func("/ib/cm/again/ended-in-call", test_ended_in_call);
	return g_test_run();
}
