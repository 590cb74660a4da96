/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* A connected endpoint: its life is one connection; it comes to the next by a reset and a change of its attributes. */
#include <string.h>

#include "lives_link.h"

struct ep_param {
	it_ep_attributes_t attr;
};

struct ep_object {
	it_ep_handle_t ep;
	uint32_t ord; /* after a reset */
};

static void
ep_draw(struct world *world, void *param)
{
	it_ep_attributes_t *attr = &((struct ep_param *)param)->attr;
	it_rc_only_attributes_t *rc = &attr->srv.rc;
	/* What a later life cannot have otherwise is the same in each. */
	const bool sizes = world->near.end.info->ep_work_queues_resizable;

	*attr = world->near.end.attr;
	attr->max_dto_payload_size = draw_bool(world) ? 32 + draw(world, LIVES_OUT) : 0;
	attr->max_request_dtos = sizes ? 1 + draw(world, 12) : 7;
	attr->max_recv_dtos = sizes ? 1 + draw(world, 12) : 5;
	attr->max_send_segments = sizes ? 1 + draw(world, 4) : 3;
	attr->max_recv_segments = sizes ? 1 + draw(world, 4) : 2;
	rc->max_rdma_write_segments = sizes ? 1 + draw(world, 4) : 3;
	rc->rdma_read_ird = draw(world, 6);
	rc->rdma_read_ord = draw(world, 6);
	if (world->near.end.info->ep_rdma_enables_modifiable) {
		rc->rdma_read_enable = draw(world, 4) != 0;
		rc->rdma_write_enable = draw(world, 4) != 0;
	}
}

static void *
ep_make(struct world *world, const void *param)
{
	struct ep_object *object = g_new0(struct ep_object, 1);

	object->ep =
		world_ep(&world->near, &((const struct ep_param *)param)->attr, "ep", world->trace);
	object->ord = ((const struct ep_param *)param)->attr.srv.rc.rdma_read_ord;
	return object;
}

static void
ep_live(struct world *world, void *object, const void *param)
{
	it_ep_handle_t ep = ((struct ep_object *)object)->ep;
	unsigned steps = 4 + draw(world, 8);
	struct link link;

	(void)param;
	link_buffers(world);
	trace_ep(world->trace, ep);
	link_open(&link, world, ep);
	for (unsigned i = 0; i < steps; i++)
		link_step(&link);
	link_close(&link);
	((struct ep_object *)object)->ord = link.ord;
}

static void
ep_end(struct world *world, void *object)
{
	it_ep_handle_t ep = ((struct ep_object *)object)->ep;

	trace_name(world->trace, ep, NULL);
	world_ok(world, it_ep_free(ep));
	g_free(object);
}

static void
ep_reset(struct world *world, void *object, const void *param)
{
	const bool enables = world->near.end.info->ep_rdma_enables_modifiable;
	const bool sizes = world->near.end.info->ep_work_queues_resizable;
	const unsigned mask = IT_EP_PARAM_MAX_PAYLOAD | IT_EP_PARAM_MAX_SEND_SEG |
			      IT_EP_PARAM_MAX_RECV_SEG | IT_EP_PARAM_MAX_RDMA_WRITE_SEG |
			      IT_EP_PARAM_MAX_IRD | IT_EP_PARAM_MAX_ORD |
			      (sizes ? IT_EP_PARAM_MAX_REQ_DTO | IT_EP_PARAM_MAX_RECV_DTO : 0u);
	it_ep_handle_t ep = ((struct ep_object *)object)->ep;

	world_reset(world, ep);
	if (link_ord(ep) != ((struct ep_object *)object)->ord)
		world_fail(world, "a reset", "another ORD");
	world_ok(world,
		 it_ep_modify(
			 ep,
			 (it_ep_param_mask_t)(mask | (enables ? IT_EP_PARAM_RDMA_RD_ENABLE |
									IT_EP_PARAM_RDMA_WR_ENABLE
							      : 0)),
			 &((const struct ep_param *)param)->attr));
}

/* A connection that ends in that way, after a few steps. */
static void
first_end(struct world *world, void *object, unsigned how)
{
	struct link link;

	link_buffers(world);
	link_open(&link, world, ((struct ep_object *)object)->ep);
	for (unsigned i = 0; i < 6; i++)
		link_step(&link);
	link_end(&link, how);
	link_close(&link);
	((struct ep_object *)object)->ord = link.ord;
}

/* The connection ends while a Send waits for a receive. */
static void
first_starved(struct world *world, void *object, const void *param)
{
	struct link link;

	(void)param;
	link_buffers(world);
	link_open(&link, world, ((struct ep_object *)object)->ep);
	if (!link.over)
		link_send_early(&link);
	link_end(&link, 2);
	link_close(&link);
	((struct ep_object *)object)->ord = link.ord;
}

static void
first_failure(struct world *world, void *object, unsigned how)
{
	link_fail(world, ((struct ep_object *)object)->ep, how);
}

#define FIRST(name, function, how)                                             \
	static void name(struct world *world, void *object, const void *param) \
	{                                                                      \
		(void)param;                                                   \
		function(world, object, how);                                  \
	}

FIRST(first_disconnected, first_end, 0)
FIRST(first_left, first_end, 1)
FIRST(first_freed, first_end, 2)
FIRST(first_protection, first_end, 3)
FIRST(first_access, first_end, 4)
FIRST(first_length, first_end, 5)
FIRST(first_rejected, first_failure, 0)
FIRST(first_nobody, first_failure, 1)
FIRST(first_aborted, first_failure, 2)
FIRST(first_accept_refused, first_failure, 3)
FIRST(first_arrival_refused, first_failure, 4)
FIRST(first_backlog_full, first_failure, 5)
FIRST(first_too_late, first_failure, 6)
FIRST(first_arrival_left, first_failure, 7)
FIRST(first_arrival_gone, first_failure, 8)

static const struct again ways[] = {
	{"disconnected", 0, first_disconnected, ep_reset},
	{"peer-disconnected", 0, first_left, ep_reset},
	{"peer-freed", 0, first_freed, ep_reset},
	{"local-protection", 0, first_protection, ep_reset},
	{"remote-access", 0, first_access, ep_reset},
	{"local-length", 0, first_length, ep_reset},
	{"starved", 0, first_starved, ep_reset},
	{"rejected", 0, first_rejected, ep_reset},
	{"nobody", 0, first_nobody, ep_reset},
	{"aborted", 0, first_aborted, ep_reset},
	{"accept-refused", 0, first_accept_refused, ep_reset},
	{"arrival-refused", 0, first_arrival_refused, ep_reset},
	{"backlog-full", 0, first_backlog_full, ep_reset},
	{"too-late", 0, first_too_late, ep_reset},
	{"arrival-left", 0, first_arrival_left, ep_reset},
	{"arrival-gone", 0, first_arrival_gone, ep_reset},
	{NULL, 0, NULL, NULL},
};

const struct kind kind_ep = {
	.name = "ep",
	.needs = NEEDS_REUSE,
	.param_size = sizeof(struct ep_param),
	.draw = ep_draw,
	.make = ep_make,
	.live = ep_live,
	.end = ep_end,
	.ways = ways,
};
