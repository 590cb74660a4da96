/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "kal_attempt.h"

#include <string.h>
#include <unistd.h>

void
attempt_prepare(struct attempt *a)
{
	memset(a, 0, sizeof(*a));
	a->peer = -1;
	fixture_open(&a->f);
	a->qp = fixture_qp(&a->f, CTX, 4, 3);
	a->listener = raw_listen(&a->port);
	fixture_connect_req(&a->req, a->qp, false, a->port);
	a->req.pdata_len = 5;
	memcpy(a->req.pdata, "hello", 5);
}

void
attempt_prepare_asking(struct attempt *a)
{
	g_setenv("ITAPI_MPA_PEER_TO_PEER", "on", TRUE);
	attempt_prepare(a);
	g_unsetenv("ITAPI_MPA_PEER_TO_PEER");
}

void
attempt_go(struct attempt *a)
{
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
