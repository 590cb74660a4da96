/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "kal_attempt.h"

#include <string.h>
#include <unistd.h>

static struct attempt
prepare_on(const struct ri_host *host)
{
	struct attempt a = {.peer = -1, .f = fixture_open_on(host)};

	a.qp = fixture_qp(&a.f, CTX, 4, 3);
	a.listener = raw_listen(&a.port);
	fixture_connect_req(&a.req, a.qp, false, a.port);
	a.req.pdata_len = 5;
	memcpy(a.req.pdata, "hello", 5);
	return a;
}

struct attempt
attempt_prepare(void)
{
	return prepare_on(kal_host_default());
}

static struct attempt
prepare_asking_on(const struct ri_host *host)
{
	g_setenv("ITAPI_MPA_PEER_TO_PEER", "on", TRUE);
	struct attempt a = prepare_on(host);
	g_unsetenv("ITAPI_MPA_PEER_TO_PEER");
	return a;
}

struct attempt
attempt_prepare_asking(void)
{
	return prepare_asking_on(kal_host_default());
}

struct attempt
attempt_prepare_frozen(bool asking)
{
	const struct ri_host *host = fixture_frozen_host();
	struct attempt a = asking ? prepare_asking_on(host) : prepare_on(host);

	a.req.timeout_us = G_TIME_SPAN_MINUTE;
	return a;
}

static uint64_t
now(void)
{
	return kal_host_default()->now(kal_host_default()->self);
}

void
attempt_time_passes(struct attempt *a)
{
	const uint64_t timeout_ns = a->req.timeout_us * 1000;

	g_assert_cmpuint(fixture_frozen_deadline(), >=, a->begun + timeout_ns);
	g_assert_cmpuint(fixture_frozen_deadline(), <=, now() + timeout_ns);
	fixture_time_passes();
}

void
attempt_go(struct attempt *a)
{
	a->begun = now();
	g_assert_cmpint(fixture_call(&a->f, KAL_CONNECT, &a->req, sizeof(a->req), NULL, 0), ==,
			RI_SUCCESS);
}

void
attempt_meet(struct attempt *a)
{
	attempt_go(a);
	attempt_answer(a);
}

void
attempt_answer(struct attempt *a)
{
	a->peer = raw_accept(a->listener);
	a->request = raw_frame(a->peer, KAL_MPA_REQUEST, a->buf);
}

void
attempt_finish(struct attempt *a)
{
	if (a->peer >= 0)
		close(a->peer);
	close(a->listener);
	fixture_close(&a->f);
}

struct kal_mpa_frame
attempt_good_reply(const struct attempt *a)
{
	return (struct kal_mpa_frame){.kind = KAL_MPA_REPLY,
				      .revision = a->request.revision,
				      .crc = true,
				      .words = a->request.words,
				      .peer_to_peer = a->request.peer_to_peer,
				      .rtr = RI_RTR_WRITE,
				      .ird = 2,
				      .ord = 4,
				      .private_len = 3,
				      .private_data = (const uint8_t *)"abc"};
}

void
attempt_expect_failed(struct attempt *a, enum kal_cm_reason reason)
{
	struct kal_cm_event event = fixture_cm(&a->f, KAL_CM_FAILED, CTX);

	g_assert_cmpint(event.reason, ==, reason);
	g_assert_cmpint(fixture_state(&a->f, a->qp), ==, RI_QPS_ERROR);
	g_assert_true(fixture_silent(&a->f));
}
