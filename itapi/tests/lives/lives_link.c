/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* How connections begin and end. */
#include <string.h>

#include "lives_link.h"

void
link_buffers(struct world *world)
{
	struct side *const sides[] = {&world->near, &world->far};

	for (size_t i = 0; i < G_N_ELEMENTS(sides); i++) {
		unsigned char *buffer = sides[i]->end.buffer;

		memset(buffer, 0, END_BUFFER);
		for (size_t k = 0; k < PART; k += sizeof(guint32)) {
			guint32 value = g_rand_int(world->rand);

			memcpy(buffer + SOURCE + k, &value, sizeof(value));
		}
	}
}

static size_t
draw_pdata(struct world *world, unsigned char *data, size_t most)
{
	size_t length = most > 0 && draw_bool(world) ? draw(world, (guint32)most + 1) : 0;

	for (size_t i = 0; i < length; i++)
		data[i] = (unsigned char)draw(world, 256);
	return length;
}

static struct side *
active_side(struct world *world, bool near_is_active)
{
	return near_is_active ? &world->near : &world->far;
}

bool
link_request(struct link *link, bool near_is_active, it_cn_est_identifier_t *id)
{
	struct world *world = link->world;
	struct side *from = active_side(world, near_is_active),
		    *to = active_side(world, !near_is_active);
	const it_ia_info_t *info = from->end.info;
	bool three = info->three_way_handshake_support && draw_bool(world);
	unsigned char data[IT_MAX_PRIV_DATA];
	size_t length = draw_pdata(world, data, info->connect_private_data_len);
	bool suppress = !three && info->ird_ord_suppressible && draw(world, 3) == 0;
	it_event_t event;

	trace_line(world->trace, "%s connects, %s", near_is_active ? "near" : "far",
		   three ? "three-way" : "two-way");
	if (trace_call(world->trace, "it_ep_connect",
		       it_ep_connect(
			       near_is_active ? link->near : link->far, &from->dial.path, NULL,
			       &from->dial.qual,
			       (it_cn_est_flags_t)((three ? IT_CONNECT_FLAG_THREE_WAY
							  : IT_CONNECT_FLAG_TWO_WAY) |
						   (suppress ? IT_CONNECT_SUPPRESS_IRD_ORD : 0u)),
			       data, length)) != IT_SUCCESS)
		return false;
	if (world_next(world, to->end.cm_req, &event) != IT_CM_REQ_CONN_REQUEST_EVENT)
		return false;
	*id = event.conn_req.cn_est_id;
	return true;
}

/* The answer of the passive side, up to the events of both. */
static bool
answer(struct link *link, bool near_is_active, it_cn_est_identifier_t id)
{
	struct world *world = link->world;
	struct side *from = active_side(world, near_is_active),
		    *to = active_side(world, !near_is_active);
	it_ep_handle_t active = near_is_active ? link->near : link->far;
	unsigned char data[IT_MAX_PRIV_DATA];
	size_t length = draw_pdata(world, data, to->end.info->accept_private_data_len);
	it_event_t event;

	if (trace_call(world->trace, "it_ep_accept",
		       it_ep_accept(near_is_active ? link->far : link->near, id, data, length)) !=
	    IT_SUCCESS)
		return false;
	if (world_next(world, from->end.cm_msg, &event) == IT_CM_MSG_CONN_ACCEPT_ARRIVAL_EVENT) {
		trace_call(world->trace, "it_ep_accept",
			   it_ep_accept(active, event.conn.cn_est_id, NULL, 0));
		world_take(world, from->end.cm_msg);
	}
	return world_take(world, to->end.cm_msg) == IT_CM_MSG_CONN_ESTABLISHED_EVENT;
}

uint32_t
link_ord(it_ep_handle_t near)
{
	it_ep_param_t params;

	memset(&params, 0, sizeof(params));
	pair_ok(it_ep_query(near, IT_EP_PARAM_MAX_ORD, &params));
	return params.attr.srv.rc.rdma_read_ord;
}

void
link_open(struct link *link, struct world *world, it_ep_handle_t near)
{
	it_ep_attributes_t attr = world_helper(&world->far);
	it_cn_est_identifier_t id = 0;
	bool near_is_active;

	*link = (struct link){.world = world, .near = near};
	link->ord = link_ord(near);
	attr.srv.rc.rdma_read_ird = 1 + draw(world, 6);
	attr.srv.rc.rdma_read_ord = 1 + draw(world, 6);
	link->far = world_ep(&world->far, &attr, "far ep", world->trace);
	near_is_active = draw_bool(world);
	if (!link_request(link, near_is_active, &id) || !answer(link, near_is_active, id))
		link->over = true;
	trace_ep(world->trace, link->near);
	trace_ep(world->trace, link->far);
}

void
link_ended(struct link *link)
{
	struct world *world = link->world;

	world_take(world, world->near.end.cm_msg);
	if (link->far != NULL)
		world_take(world, world->far.end.cm_msg);
	link->over = true;
}

/* A request of the near end that breaks the connection here. */
static void
break_local(struct link *link)
{
	struct world *world = link->world;
	it_lmr_triplet_t from = segment(&world->near, END_BUFFER - 8, 16);

	trace_call(world->trace, "a Send beyond its region",
		   it_post_send(link->near, &from, 1, ++link->cookies, SIGNALED));
	link_ended(link);
}

/* A Write of the peer to no region of the near side. */
static void
break_remote(struct link *link)
{
	struct world *world = link->world;
	it_lmr_triplet_t from = segment(&world->far, SOURCE, 8);

	trace_call(world->trace, "a Write of the peer to an unknown region",
		   it_post_rdma_write(link->far, &from, 1, ++link->cookies, SIGNALED,
				      it_make_rdma_addr_absolute(world->near.end.buffer + TARGET),
				      (it_rmr_context_t)1 << 40));
	link_ended(link);
}

/* A message of the peer that is longer than its receive. */
static void
break_length(struct link *link)
{
	struct world *world = link->world;
	it_lmr_triplet_t from = segment(&world->far, SOURCE, 2 * LIVES_OUT);

	if (link->receives == 0)
		trace_call(world->trace, "it_post_recv",
			   it_post_recv((it_handle_t)link->near, NULL, 0, ++link->cookies, 0));
	trace_call(world->trace, "a message of the peer that is too long",
		   it_post_send(link->far, &from, 1, ++link->cookies, SIGNALED));
	link_ended(link);
}

void
link_end(struct link *link, unsigned how)
{
	struct world *world = link->world;

	if (link->over)
		return;
	switch (how) {
	case 0:
		trace_call(world->trace, "it_ep_disconnect", it_ep_disconnect(link->near, NULL, 0));
		link_ended(link);
		break;
	case 1:
		trace_call(world->trace, "the peer disconnects",
			   it_ep_disconnect(link->far, NULL, 0));
		link_ended(link);
		break;
	case 2:
		trace_name(world->trace, link->far, NULL);
		trace_call(world->trace, "the peer frees its endpoint", it_ep_free(link->far));
		link->far = NULL;
		link_ended(link);
		break;
	case 3:
		break_local(link);
		break;
	case 4:
		break_remote(link);
		break;
	default:
		break_length(link);
		break;
	}
}

/* Posts to the ended endpoint are flushed, behind what was flushed before. */
static void
post_late(struct link *link)
{
	struct world *world = link->world;
	it_lmr_triplet_t to = segment(&world->near, INBOX, 8);

	if (trace_call(world->trace, "a late receive",
		       it_post_recv((it_handle_t)link->near, &to, 1, ++link->cookies, 0)) ==
	    IT_SUCCESS)
		world_take(world, world->near.end.recv);
	if (trace_call(world->trace, "a late Send",
		       it_post_send(link->near, NULL, 0, ++link->cookies, SIGNALED)) == IT_SUCCESS)
		world_take(world, world->near.end.request);
}

void
link_close(struct link *link)
{
	struct world *world = link->world;
	it_ep_param_t params;

	if (!link->over)
		link_end(link, draw(world, LINK_ENDS));
	world_drain(world);
	memset(&params, 0, sizeof(params));
	trace_ep(world->trace, link->near);
	pair_ok(it_ep_query(link->near, IT_EP_PARAM_SRQ, &params));
	if (params.attr.srv.rc.srq == NULL)
		post_late(link);
	if (link->far != NULL) {
		trace_name(world->trace, link->far, NULL);
		trace_call(world->trace, "it_ep_free", it_ep_free(link->far));
	}
	link->far = NULL;
	world_drain(world);
}
