/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <string.h>

#include "peer.h"
#include "tool_error.h"

#define RETRY_US 100000

static size_t
slot_of(const struct peer_conn *conn, uint64_t number)
{
	return (size_t)(number % conn->shape.slots) * conn->shape.size;
}

static bool
post_receive(struct peer_conn *conn, GError **error)
{
	it_lmr_triplet_t part =
		tool_memory_part(&conn->memory, slot_of(conn, conn->posted), conn->shape.size);

	return tool_check(it_post_recv(conn->link.ep, &part, 1, conn->posted++, IT_COMPLETION_FLAG),
			  "it_post_recv", error);
}

bool
peer_conn_open(struct peer_conn *conn, struct peer_side *side, const struct peer_shape *shape,
	       GError **error)
{
	struct tool_link_spec spec = {.requests = shape->requests,
				      .receives = shape->receives,
				      .segments = 1,
				      .seconds = side->peer->options.seconds};

	memset(conn, 0, sizeof(*conn));
	conn->side = side;
	conn->shape = *shape;
	if (!tool_link_make(&conn->link, &side->adapter, &spec, error) ||
	    !tool_memory_make(&conn->memory, &side->adapter, (shape->slots + 1) * shape->size,
			      IT_PRIV_NONE, false, error))
		return false;
	while (conn->posted < shape->receives) {
		if (!post_receive(conn, error))
			return false;
	}
	return true;
}

bool
peer_next_request(struct peer_side *side, it_conn_request_event_t *request, GError **error)
{
	struct peer_limit limit = peer_limit_of(side->peer->options.seconds);
	struct pollfd fd = {.fd = side->listener.fd, .events = POLLIN};
	GError *trouble = NULL;

	while (!tool_listener_take(&side->listener, request, &trouble)) {
		if (trouble != NULL) {
			g_propagate_error(error, trouble);
			return false;
		}
		if (!peer_limit_poll(&limit, &fd, "nobody connected", error))
			return false;
	}
	return true;
}

bool
peer_conn_meet(struct peer_conn *conn, const struct tool_words *reply, GError **error)
{
	struct peer_side *side = conn->side;
	struct tool_words none = {0};
	it_conn_request_event_t request;
	it_connection_event_t event;
	bool good;

	if (side->client)
		good = tool_link_join(&conn->link, &side->way, &none, &event, error);
	else
		good = peer_next_request(side, &request, error) &&
		       tool_link_admit(&conn->link, &request, reply != NULL ? reply : &none, error);
	if (good && side->peer->pause_us > 0)
		g_usleep(side->peer->pause_us);
	return good;
}

bool
peer_conn_persist(struct peer_conn *conn, struct peer_side *side, const struct peer_shape *shape,
		  GError **error)
{
	struct peer_limit limit = peer_limit_of(side->peer->options.seconds);
	GError *trouble = NULL;

	while (!peer_conn_open(conn, side, shape, &trouble) ||
	       !peer_conn_meet(conn, NULL, &trouble)) {
		if (!side->client || !g_error_matches(trouble, TOOL_ERROR, TOOL_ERROR_PEER) ||
		    !peer_limit_stands(&limit, "no connection", NULL)) {
			g_propagate_error(error, trouble);
			return false;
		}
		g_clear_error(&trouble);
		peer_conn_close(conn);
		g_usleep(RETRY_US);
	}
	return true;
}

void
peer_conn_close(struct peer_conn *conn)
{
	tool_link_close(&conn->link);
	tool_memory_free(&conn->memory);
}

bool
peer_conn_ended(struct peer_conn *conn, GError **error)
{
	GError *trouble = NULL;
	it_dto_cmpl_event_t event;

	if (tool_link_received(&conn->link, &event, &trouble))
		return tool_fail(error, TOOL_ERROR_PEER,
				 "the peer sent %u octets instead of ending the connection",
				 event.transferred_length);
	if (conn->link.end == IT_CM_MSG_CONN_DISCONNECT_EVENT) {
		g_clear_error(&trouble);
		return true;
	}
	g_propagate_error(error, trouble);
	return false;
}

uint8_t *
peer_conn_outgoing(const struct peer_conn *conn)
{
	return conn->memory.octets + conn->shape.slots * conn->shape.size;
}

bool
peer_conn_send(struct peer_conn *conn, size_t len, GError **error)
{
	it_lmr_triplet_t part =
		tool_memory_part(&conn->memory, conn->shape.slots * conn->shape.size, len);
	it_dto_cmpl_event_t event;

	return tool_check(it_post_send(conn->link.ep, &part, 1, 0, IT_COMPLETION_FLAG),
			  "it_post_send", error) &&
	       tool_link_done(&conn->link, &event, error);
}

bool
peer_conn_receive(struct peer_conn *conn, bool again, struct peer_message *message, GError **error)
{
	it_dto_cmpl_event_t event;

	if (!tool_link_received(&conn->link, &event, error))
		return false;
	message->octets = conn->memory.octets + slot_of(conn, event.cookie);
	message->len = event.transferred_length;
	return !again || post_receive(conn, error);
}

bool
peer_conn_expect(struct peer_conn *conn, bool again, size_t len, struct peer_message *message,
		 GError **error)
{
	return peer_conn_receive(conn, again, message, error) &&
	       (message->len == len ||
		tool_fail(error, TOOL_ERROR_PEER, "the peer sent %zu octets instead of %zu",
			  message->len, len));
}

void
peer_conn_forget(const struct peer_conn *conn, const struct peer_message *message)
{
	memset(conn->memory.octets + (message->octets - conn->memory.octets), PEER_FILL,
	       message->len);
}

bool
peer_conn_write(struct peer_conn *conn, const it_lmr_triplet_t *part, it_rdma_addr_t address,
		it_rmr_context_t key, GError **error)
{
	it_lmr_triplet_t copy = *part;
	it_dto_cmpl_event_t event;

	return tool_check(it_post_rdma_write(conn->link.ep, &copy, 1, 0, IT_COMPLETION_FLAG,
					     address, key),
			  "it_post_rdma_write", error) &&
	       tool_link_done(&conn->link, &event, error);
}

void
peer_little_put(uint8_t *at, uint64_t value, size_t octets)
{
	for (size_t i = 0; i < octets; i++)
		at[i] = (uint8_t)(value >> (8 * i));
}

uint64_t
peer_little_get(const uint8_t *at, size_t octets)
{
	uint64_t value = 0;

	for (size_t i = 0; i < octets; i++)
		value |= (uint64_t)at[i] << (8 * i);
	return value;
}
