/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Examples of the page on flow control: credits, heart-beats, and memory that the peer gives back. See calls.c. Both
 * sides live in one thread here, so each step is made when its message is there; in an application each side has its
 * own loop.
 */
#include <stdio.h>
#include <string.h>

#include "calls.h"

#define REPORT   (IT_COMPLETION_FLAG | IT_NOTIFY_FLAG)
#define MESSAGES 20
#define BEAT_US  2000 /* an application takes a second, or more */

/* [flow_state] */
/* One direction of control: what this side may send, and what it owes. */
struct flow {
	struct side *side;
	unsigned credits; /* receives that the peer has posted, less what was sent to them */
	unsigned owed;    /* receives posted here that the peer has not heard of yet */
};

/* Every message begins with a grant. A message without text is a grant, or a heart-beat, and nothing else. */
struct message {
	uint8_t granted;
	char text[SLOT - 1];
};
/* [flow_state] */

/* [flow_send] */
/* The last credit is for a grant: if both sides spent it on text, each could wait for a grant of the other. */
static it_boolean_t
flow_may_send(const struct flow *flow)
{
	return flow->credits > 1 ? IT_TRUE : IT_FALSE;
}

static void
flow_send(struct flow *flow, const char *text)
{
	struct message *message = (struct message *)flow->side->memory.text;
	it_lmr_triplet_t segment = segment_of(flow->side, message, sizeof(*message));

	HOLDS(flow->credits > 0);
	message->granted = (uint8_t)flow->owed;
	snprintf(message->text, sizeof(message->text), "%s", text);
	MUST(it_post_send(flow->side->ep, &segment, 1, 0, REPORT));
	completion_expect(flow->side->request_evd, IT_DTO_SEND_CMPL_EVENT);
	flow->credits--;
	flow->owed = 0;
}
/* [flow_send] */

/* Post a receive again: to the S-RQ of the side, if it has one. */
static void
slot_post(struct side *side, it_dto_cookie_t slot)
{
	it_lmr_triplet_t segment = segment_of(side, side->memory.receives[slot], SLOT);
	it_handle_t queue = side->srq != NULL ? (it_handle_t)side->srq : (it_handle_t)side->ep;

	MUST(it_post_recv(queue, &segment, 1, slot, IT_NOTIFY_FLAG));
}

/* [flow_take] */
/* A message has arrived. Its receive is posted again before it is granted. True: the grant needed a message of its own. */
static it_boolean_t
flow_take(struct flow *flow, const it_event_t *event, struct message *out)
{
	memcpy(out, flow->side->memory.receives[event->dto_cmpl.cookie], sizeof(*out));
	flow->credits += out->granted;
	slot_post(flow->side, event->dto_cmpl.cookie);
	flow->owed++;
	/* Half of the receives are worth a message. Fewer travel with the next text. */
	if (flow->owed < SLOTS / 2 || flow->credits == 0)
		return IT_FALSE;
	flow_send(flow, "");
	return IT_TRUE;
}
/* [flow_take] */

static void
credits_show(struct flow *client, struct flow *server)
{
	struct message message;
	int sent = 0, taken = 0;

	while (taken < MESSAGES) {
		if (sent < MESSAGES && flow_may_send(client)) {
			flow_send(client, "work");
			sent++;
			continue;
		}
		it_event_t event =
			completion_expect(server->side->recv_evd, IT_DTO_RC_RECV_CMPL_EVENT);

		it_boolean_t granted = flow_take(server, &event, &message);

		HOLDS(strcmp(message.text, "work") == 0);
		taken++;
		if (!granted)
			continue;
		event = completion_expect(client->side->recv_evd, IT_DTO_RC_RECV_CMPL_EVENT);
		flow_take(client, &event, &message);
	}
}

/* [flow_beat] */
/* Waits for anything from the peer. False: nothing came in `most` times the interval (us), so the peer is given up. */
static it_boolean_t
beat_await(struct flow *flow, uint64_t interval, unsigned most)
{
	struct message message;

	for (unsigned missed = 0; missed < most; missed++) {
		it_event_t event;
		it_status_t status = it_evd_wait(flow->side->recv_evd, interval, &event, NULL);

		if (status == IT_SUCCESS) {
			HOLDS(event.dto_cmpl.dto_status ==
			      IT_DTO_SUCCESS); /* else the connection has ended */
			flow_take(flow, &event, &message);
			return IT_TRUE;
		}
		if (status != IT_ERR_TIMEOUT_EXPIRED && status != IT_ERR_INTERRUPT)
			MUST(status);
		/* A side that has sent nothing in this interval sends its own beat here: flow_send(flow, ""). */
	}
	return IT_FALSE;
}
/* [flow_beat] */

/* [flow_lend] */
/* The borrower gives the window back with its last message. From the arrival on it cannot use it any more. */
static void
window_return(struct flow *borrower, it_rmr_context_t context)
{
	struct message *message = (struct message *)borrower->side->memory.text;
	it_lmr_triplet_t segment = segment_of(borrower->side, message, sizeof(*message));

	*message = (struct message){.granted = (uint8_t)borrower->owed, .text = "returned"};
	MUST(it_post_send_and_unlink(borrower->side->ep, &segment, 1, 0, REPORT, context));
	completion_expect(borrower->side->request_evd, IT_DTO_SEND_CMPL_EVENT);
	borrower->credits--;
	borrower->owed = 0;
}

/* The lender believes its own adapter, not the message: a peer that lies keeps a window that is still linked. */
static void
window_take_back(struct flow *lender, it_rmr_handle_t window)
{
	it_event_t event = completion_expect(lender->side->recv_evd, IT_DTO_RC_RECV_CMPL_EVENT);
	struct message message;

	if (event.dto_cmpl.unlinked_mr_handle != (it_handle_t)window) {
		MUST(it_rmr_unlink(window, lender->side->ep, 0, REPORT));
		completion_expect(lender->side->request_evd, IT_RMR_LINK_CMPL_EVENT);
	}
	flow_take(lender, &event, &message);
	MUST(it_rmr_free(window));
}
/* [flow_lend] */

static void
lending_show(struct flow *borrower, struct flow *lender)
{
	it_rmr_context_t context;
	it_rmr_handle_t window;
	struct side *side = lender->side;

	MUST(it_rmr_create20(side->pz, IT_RMR_TYPE_DEFAULT, &window));
	MUST(it_rmr_link(window, side->lmr, side->memory.text, sizeof(side->memory.text),
			 IT_ADDR_MODE_ABSOLUTE, IT_PRIV_REMOTE, side->ep, 0, REPORT, &context));
	completion_expect(side->request_evd, IT_RMR_LINK_CMPL_EVENT);
	window_return(borrower, context);
	window_take_back(lender, window);
}

void
flow_show(struct side *client, struct side *server)
{
	struct flow up = {.side = client, .credits = SLOTS};
	struct flow down = {.side = server, .credits = SLOTS};

	/* Both sides begin with SLOTS receives; the exchange before this one has used two, and one. */
	slot_post(server, 0);
	slot_post(server, 1);
	for (it_dto_cookie_t slot = 0; slot < SLOTS; slot++)
		slot_post(client, slot);
	credits_show(&up, &down);
	HOLDS(!beat_await(&down, BEAT_US, 3)); /* the client says nothing */
	flow_send(&up, "");
	HOLDS(beat_await(&down, BEAT_US, 30000));
	if (client->info->post_send_unlink_remote_support)
		lending_show(&up, &down);
}
