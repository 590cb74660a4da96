/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* An attempt to connect to a plain TCP peer, whose part the test plays. */
#ifndef KAL_ATTEMPT_H
#define KAL_ATTEMPT_H

#include "kal_fixture.h"

#define CTX 0x1111

/* A connect call of a new queue pair to a plain listener, up to the Request that arrived there. */
struct attempt {
	struct fixture f;
	struct kal_cm_req req;
	uint32_t qp;
	int listener, peer;
	uint16_t port;
	uint8_t buf[KAL_MPA_FRAME_MAX];
	struct kal_mpa_frame request;
	uint64_t begun; /* when the connect call began */
};

/* A client, a queue pair, a raw listener, and a request with the private data "hello". */
struct attempt attempt_prepare(void);
/* The same, and the Request will ask for peer-to-peer mode. */
struct attempt attempt_prepare_asking(void);
/*
 * An attempt (attempt_prepare) on a host whose time stands still: req.timeout_us, which is set to a
 * minute, ends when the test says so. `asking`: whether it asks the peer for peer-to-peer mode.
 */
struct attempt attempt_prepare_frozen(bool asking);
/* The time of a frozen attempt passes. It must have been set to req.timeout_us after the call. */
void attempt_time_passes(struct attempt *a);
/* Connect. */
void attempt_go(struct attempt *a);
/* Accept and read the Request. */
void attempt_answer(struct attempt *a);
/* Connect, accept, and read the Request. */
void attempt_meet(struct attempt *a);
void attempt_finish(struct attempt *a);
/* IRD 2, ORD 4, RTR by Write, private data "abc". */
struct kal_mpa_frame attempt_good_reply(const struct attempt *a);
/* The next event is FAILED with that reason, the queue pair is in ERROR, and no further event comes. */
void attempt_expect_failed(struct attempt *a, enum kal_cm_reason reason);

#endif /* KAL_ATTEMPT_H */
