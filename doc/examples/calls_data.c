/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Examples of reference pages: data transfer, windows, shared receive queues; see calls.c. The client greets,
 * the server opens a window and says where it is, the client writes, reads and counts there and says that it
 * is done.
 */
#include <stdio.h>
#include <string.h>

#include "calls.h"

/* Every request of these examples makes an event. */
#define REPORT (IT_COMPLETION_FLAG | IT_NOTIFY_FLAG)

/* [it_srq_create] */
void
receives_post(struct side *server)
{
	MUST(it_srq_create(server->pz, 1, SLOTS, &server->srq));
	for (uint64_t i = 0; i < SLOTS; i++) {
		it_lmr_triplet_t segment = segment_of(server, server->memory.receives[i], SLOT);

		MUST(it_post_recv(server->srq, &segment, 1, i, IT_NOTIFY_FLAG));
	}
}
/* [it_srq_create] */

/* [it_post_recv] */
void
receive_post(struct side *side, int slot, it_dto_cookie_t cookie)
{
	it_lmr_triplet_t segment = segment_of(side, side->memory.receives[slot], SLOT);

	MUST(it_post_recv(side->ep, &segment, 1, cookie, IT_NOTIFY_FLAG));
}
/* [it_post_recv] */

/* [it_post_send] */
static void
message_send(struct side *side, const void *message, size_t length)
{
	it_lmr_triplet_t segment = segment_of(side, side->memory.text, length);

	memcpy(side->memory.text, message, length);
	MUST(it_post_send(side->ep, &segment, 1, 2, REPORT));
	/* Only from the completion on may the buffer be changed. */
	completion_expect(side->request_evd, IT_DTO_SEND_CMPL_EVENT);
}
/* [it_post_send] */

/* The cookie is the slot of an S-RQ. */
static const char *
message_next(struct side *side)
{
	it_event_t event = completion_expect(side->recv_evd, IT_DTO_RC_RECV_CMPL_EVENT);

	HOLDS(event.dto_cmpl.ep == side->ep);
	return side->memory.receives[event.dto_cmpl.cookie % SLOTS];
}

/* [it_rmr_link] */
static it_rmr_handle_t
window_open(struct side *server, struct grant *grant)
{
	it_rmr_context_t context;
	it_rmr_handle_t window;

	MUST(it_rmr_create20(server->pz, IT_RMR_TYPE_DEFAULT, &window));
	MUST(it_rmr_link(window, server->lmr, &server->memory,
			 sizeof(server->memory.counter) + sizeof(server->memory.text),
			 IT_ADDR_MODE_ABSOLUTE, IT_PRIV_REMOTE | IT_PRIV_ATOMIC, server->ep, 3,
			 REPORT, &context));
	/* Later requests of the endpoint wait for the link, so the context may be sent at once. */
	grant->context = it_hton64(context);
	grant->counter = it_hton64(it_make_rdma_addr_absolute(&server->memory.counter));
	grant->text = it_hton64(it_make_rdma_addr_absolute(server->memory.text));
	completion_expect(server->request_evd, IT_RMR_LINK_CMPL_EVENT);
	return window;
}
/* [it_rmr_link] */

/* [it_rmr_unlink] */
static void
window_close(struct side *server, it_rmr_handle_t window)
{
	MUST(it_rmr_unlink(window, server->ep, 4, REPORT));
	/* From here on no peer reaches the memory through the window. */
	completion_expect(server->request_evd, IT_RMR_LINK_CMPL_EVENT);
	MUST(it_rmr_free(window));
}
/* [it_rmr_unlink] */

/* [it_post_rdma_write] */
static void
text_put(struct side *client, const struct grant *grant, const char *text)
{
	it_lmr_triplet_t segment = segment_of(client, client->memory.text, strlen(text) + 1);

	memcpy(client->memory.text, text, strlen(text) + 1);
	MUST(it_post_rdma_write(client->ep, &segment, 1, 5, REPORT, it_ntoh64(grant->text),
				it_ntoh64(grant->context)));
	completion_expect(client->request_evd, IT_DTO_RDMA_WRITE_CMPL_EVENT);
}
/* [it_post_rdma_write] */

/* [it_post_rdma_read] */
static void
text_get(struct side *client, const struct grant *grant, size_t length)
{
	it_lmr_triplet_t segment = segment_of(client, client->memory.text, length);

	MUST(it_post_rdma_read(client->ep, &segment, 1, 6, REPORT, it_ntoh64(grant->text),
			       it_ntoh64(grant->context)));
	/* The data is there when the completion is. */
	completion_expect(client->request_evd, IT_DTO_RDMA_READ_CMPL_EVENT);
}
/* [it_post_rdma_read] */

/* [it_post_atomic] */
static uint64_t
counter_add(struct side *client, const struct grant *grant, uint64_t amount)
{
	it_lmr_triplet_t result = segment_of(client, &client->memory.counter, sizeof(uint64_t));

	MUST(it_post_atomic(client->ep, IT_FETCH_AND_ADD, amount, 0, &result, 7, REPORT,
			    it_ntoh64(grant->counter), it_ntoh64(grant->context)));
	completion_expect(client->request_evd, IT_DTO_FETCH_ADD_CMPL_EVENT);
	return client->memory.counter; /* the value before, in host byte order */
}
/* [it_post_atomic] */

static void
client_work(struct side *client, const struct grant *grant)
{
	text_put(client, grant, "left by the client");
	memset(client->memory.text, 0, sizeof(client->memory.text));
	text_get(client, grant, 19);
	HOLDS(strcmp(client->memory.text, "left by the client") == 0);
	if (client->info->atomic_support) {
		HOLDS(counter_add(client, grant, 2) == 40);
		HOLDS(counter_add(client, grant, 1) == 42);
	}
}

void
data_exchange(struct side *client, struct side *server)
{
	struct grant grant, told;

	server->memory.counter = 40;
	message_send(client, "hello", 6);
	HOLDS(strcmp(message_next(server), "hello") == 0);
	it_rmr_handle_t window = window_open(server, &grant);
	message_send(server, &grant, sizeof(grant));
	completion_expect(client->recv_evd, IT_DTO_RC_RECV_CMPL_EVENT);
	memcpy(&told, client->memory.receives[0], sizeof(told));

	client_work(client, &told);
	message_send(client, "done", 5);
	HOLDS(strcmp(message_next(server), "done") == 0);
	/* A message that has arrived says that earlier writes of its connection are in place. */
	HOLDS(strcmp(server->memory.text, "left by the client") == 0);
	if (server->info->atomic_support)
		HOLDS(server->memory.counter == 43);
	window_close(server, window);
}
