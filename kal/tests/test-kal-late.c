/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Upcalls that come while an adapter is being closed, until the device's close has returned: everything that they
 * read still exists, and the client gets no event of objects that it has destroyed.
 */

#include <string.h>

#include "kal_fixture.h"

#define LISTEN_CTX 0x21
#define CTX        0x31
#define ROUNDS     50

static void
open_fixture(struct fixture *f)
{
	fake_reset();
	fake_attr.cm_forms = RI_CM_ADDRESS;
	fake_attr.transport = RI_TRANSPORT_IB;
	*f = fixture_open();
}

/* Drop the queued events; none of them may be of a queue pair. */
static void
expect_no_qp(struct fixture *f)
{
	struct kal_event event;

	while (kal_next_event(f->client, &event)) {
		if (event.kind == KAL_EVENT_ASYNC)
			g_assert_cmpuint(event.u.async.object, !=, RI_OBJECT_QP);
		else
			g_assert_cmpuint(event.ctx, !=, CTX);
	}
}

static void
test_thread(void)
{
	for (int round = 0; round < ROUNDS; round++) {
		struct fixture f;
		struct kal_cm_req req;
		uint16_t port = 0;

		open_fixture(&f);
		fixture_connect_req(&req, fixture_qp(&f, CTX, 4, 3), false, 99);
		g_assert_cmpint(fixture_call(&f, KAL_CONNECT, &req, sizeof(req), NULL, 0), ==,
				RI_SUCCESS);
		fixture_listen(&f, LISTEN_CTX, &port, 3);
		fake_talk(CTX);
		if (round % 2 == 0) {
			g_assert_cmpint(fixture_id(&f, KAL_RNIC_CLOSE, f.rnic), ==, RI_SUCCESS);
			expect_no_qp(&f);
		}
		fixture_close(&f); /* otherwise the end of the client closes the adapter */
		g_assert_cmpuint(fake_talked_in_close(), >=, 70);
	}
}

static uint64_t
take(struct fixture *f, enum kal_call_number call, uint32_t id)
{
	static uint8_t memory[4096];
	struct kal_mr_req req = {.id = id, .addr = (uintptr_t)memory, .length = sizeof(memory)};
	struct kal_mr_rep rep;

	g_assert_cmpint(fixture_call(f, call, &req, sizeof(req), &rep, sizeof(rep)), ==,
			RI_SUCCESS);
	return rep.id;
}

/* A provider that refuses to destroy objects: closing its context frees them, with upcalls that name them. */
static void
test_undestroyed(void)
{
	struct fixture f RI_AT_END(fixture_close);
	struct kal_srq_req srq = {.attr = {.ctx = 0x51, .max_wr = 5}};
	struct kal_srq_rep rep;

	open_fixture(&f);
	(void)fixture_qp(&f, CTX, 4, 3);
	(void)take(&f, KAL_MR_REG, f.pd);
	srq.id = f.pd;
	g_assert_cmpint(fixture_call(&f, KAL_SRQ_CREATE, &srq, sizeof(srq), &rep, sizeof(rep)), ==,
			RI_SUCCESS);
	fake_clinging = true;
	g_assert_cmpint(fixture_id(&f, KAL_RNIC_CLOSE, f.rnic), ==, RI_SUCCESS);
	g_assert_cmpint(fixture_id(&f, KAL_PD_DESTROY, f.pd), ==, RI_ERR_INVALID_HANDLE);
	g_assert_true(fixture_silent(&f));
}

static void
say(enum ri_cm_event_kind kind)
{
	const struct ri_cm_event event = {.kind = kind, .ctx = CTX};

	fake_raise_cm(&event);
}

/* One that a call could not destroy tells what happens to it, as before. */
static void
test_refused(void)
{
	struct fixture f RI_AT_END(fixture_close);
	struct kal_cm_req req;
	uint32_t qp;

	open_fixture(&f);
	qp = fixture_qp(&f, CTX, 4, 3);
	fake_clinging = true;
	g_assert_cmpint(fixture_id(&f, KAL_QP_DESTROY, qp), ==, RI_ERR_BUSY);
	fixture_connect_req(&req, qp, false, 99);
	g_assert_cmpint(fixture_call(&f, KAL_CONNECT, &req, sizeof(req), NULL, 0), ==, RI_SUCCESS);
	g_assert_cmpint(fixture_id(&f, KAL_QP_DESTROY, qp), ==, RI_ERR_BUSY);
	say(RI_CM_ESTABLISHED);
	fixture_cm(&f, KAL_CM_ESTABLISHED, CTX);
	g_assert_cmpint(fixture_id(&f, KAL_QP_DESTROY, qp), ==, RI_ERR_BUSY);
	say(RI_CM_BROKEN);
	fixture_cm(&f, KAL_CM_BROKEN, CTX);
	g_assert_cmpint(fixture_id(&f, KAL_QP_DESTROY, qp), ==, RI_ERR_BUSY);
	g_assert_true(fixture_silent(&f));
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	fake_register();
	g_test_add_func("/kal/late/thread", test_thread);
	g_test_add_func("/kal/late/undestroyed", test_undestroyed);
	g_test_add_func("/kal/late/refused", test_refused);
	return g_test_run();
}
