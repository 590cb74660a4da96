/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Entry points: what a process does [IT 15.11.12]. */

#include <string.h>

#include "it_answer.h"
#include "it_ext.h"
#include "it_text.h"
#include "ual.h"

_Static_assert((int)ITX_COUNTER_COUNT == (int)UAL_COUNT_COUNT, "both have the same counters");
_Static_assert((int)ITX_COUNTER_SUCCESSES == (int)UAL_COUNT_SUCCESSES, "in the same order");
_Static_assert((int)ITX_COUNTER_WAITS == (int)UAL_COUNT_WAITS, "in the same order");
_Static_assert(sizeof(((itx_live_t *)NULL)->peer) == UAL_LIVE_ADDRESS, "an address fits");

/* Where the objects go that are listed. */
struct objects {
	itx_live_t *list;
	size_t room, filled, total;
};

static void
add_object(void *arg, const struct ual_live *live)
{
	struct objects *objects = (struct objects *)arg;
	itx_live_t *out;

	objects->total++;
	if (objects->filled == objects->room)
		return;
	out = &objects->list[objects->filled++];
	memset(out, 0, sizeof(*out));
	out->kind = (itx_live_kind_t)live->kind;
	out->serial = live->serial;
	out->number = live->number;
	out->service = live->service;
	out->known = live->known;
	it_text_copy(out->adapter, sizeof(out->adapter), live->adapter);
	it_text_copy(out->type, sizeof(out->type), live->type);
	it_text_copy(out->state, sizeof(out->state), live->state);
	it_text_copy(out->local, sizeof(out->local), live->local);
	it_text_copy(out->peer, sizeof(out->peer), live->peer);
	memcpy(out->counters, live->counters, sizeof(live->counters));
}

it_status_t
itx_live_list(IN int pid, OUT itx_live_t *objects, IN OUT size_t *num_objects,
	      OUT size_t *total_objects)
{
	SESSION_DEFER;
	struct objects found = {.list = objects};
	it_status_t status;

	if (num_objects == NULL || total_objects == NULL || (objects == NULL && *num_objects > 0))
		return IT_ANSWER(NULL, IT_ERR_FAULT);
	if (pid < 0)
		return IT_ANSWER(NULL, IT_ERR_INVALID_NAME);
	found.room = *num_objects;
	status = ual_live_list(pid, add_object, &found);
	*num_objects = found.filled;
	*total_objects = found.total;
	return IT_ANSWER(NULL, status);
}

const char *
itx_counter_name(IN itx_counter_t counter)
{
	static const char *const names[ITX_COUNTER_COUNT] = {
		[ITX_COUNTER_SENDS] = "sends",
		[ITX_COUNTER_WRITES] = "writes",
		[ITX_COUNTER_READS] = "reads",
		[ITX_COUNTER_RECEIVES] = "receives",
		[ITX_COUNTER_DATAGRAMS] = "datagrams",
		[ITX_COUNTER_ATOMICS] = "atomics",
		[ITX_COUNTER_LINKS] = "links",
		[ITX_COUNTER_UNLINKS] = "unlinks",
		[ITX_COUNTER_OCTETS_POSTED] = "octets_posted",
		[ITX_COUNTER_FRAMES_SENT] = "frames_sent",
		[ITX_COUNTER_FRAMES_RECEIVED] = "frames_received",
		[ITX_COUNTER_RETRIES] = "retries",
		[ITX_COUNTER_CRC_ERRORS] = "crc_errors",
		[ITX_COUNTER_SUCCESSES] = "successes",
		[ITX_COUNTER_FLUSHED] = "flushed",
		[ITX_COUNTER_LOCAL_LENGTH] = "local_length",
		[ITX_COUNTER_LOCAL_EP] = "local_ep",
		[ITX_COUNTER_LOCAL_PROTECTION] = "local_protection",
		[ITX_COUNTER_LOCAL_UNLINK] = "local_unlink",
		[ITX_COUNTER_RMR_OPERATION] = "rmr_operation",
		[ITX_COUNTER_LMR_OPERATION] = "lmr_operation",
		[ITX_COUNTER_BAD_RESPONSE] = "bad_response",
		[ITX_COUNTER_REMOTE_ACCESS] = "remote_access",
		[ITX_COUNTER_REMOTE_REQUEST] = "remote_request",
		[ITX_COUNTER_REMOTE_OPERATION] = "remote_operation",
		[ITX_COUNTER_TRANSPORT] = "transport",
		[ITX_COUNTER_RNR] = "rnr",
		[ITX_COUNTER_OCTETS_COMPLETED] = "octets_completed",
		[ITX_COUNTER_ARMINGS] = "armings",
		[ITX_COUNTER_EVENTS] = "events",
		[ITX_COUNTER_WAITS] = "waits",
		[ITX_COUNTER_WAKE_UPS] = "wake_ups",
	};

	return (unsigned)counter < ITX_COUNTER_COUNT ? names[counter] : NULL;
}
