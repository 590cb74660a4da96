/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The steps of a connection's life: transfers in both directions, limits, changes, windows. */
#include <string.h>

#include "lives_link.h"

#define SEGMENTS 8u /* more than a parameter asks for */

static it_ep_attributes_t
attributes(it_ep_handle_t ep)
{
	it_ep_param_t params;

	memset(&params, 0, sizeof(params));
	pair_ok(it_ep_query(ep, IT_EP_PARAM_ALL, &params));
	return params.attr;
}

/* `length` octets from `at` on, in `count` segments; the last has what the others leave. */
static void
cut(const struct side *side, size_t at, size_t length, unsigned count, it_lmr_triplet_t *list)
{
	size_t each = count > 0 ? length / count : 0;

	for (unsigned i = 0; i < count; i++)
		list[i] = segment(side, at + i * each, i + 1 < count ? each : length - i * each);
}

static void
far_receive(struct link *link, size_t length)
{
	it_lmr_triplet_t to = segment(&link->world->far, INBOX, length);

	pair_ok(it_post_recv((it_handle_t)link->far, &to, 1, ++link->cookies, 0));
}

/* How far the lengths of messages go: the endpoint may take less. */
static size_t
draw_length(struct link *link)
{
	size_t most = attributes(link->near).max_dto_payload_size;

	return draw(link->world, (guint32)MIN(most, LIVES_OUT) + 1);
}

void
link_send(struct link *link, unsigned segments, size_t length)
{
	struct world *world = link->world;
	it_lmr_triplet_t from[SEGMENTS + 1];

	cut(&world->near, SOURCE + draw(world, PART - LIVES_OUT), length, segments, from);
	far_receive(link, LIVES_OUT);
	if (trace_call(world->trace, "it_post_send",
		       it_post_send(link->near, from, segments, ++link->cookies, SIGNALED)) !=
	    IT_SUCCESS)
		return;
	world_take(world, world->near.end.request);
	world_take(world, world->far.end.recv);
	trace_octets(world->trace, "  arrived", world->far.end.buffer + INBOX, length);
}

/* One message of the peer to the oldest receive. */
static void
far_send(struct link *link, size_t length, unsigned flags)
{
	struct world *world = link->world;
	it_lmr_triplet_t from =
		segment(&world->far, SOURCE + draw(world, PART - LIVES_OUT), length);

	pair_ok(it_post_send(link->far, &from, 1, ++link->cookies,
			     (it_dto_flags_t)(SIGNALED | flags)));
	world_take(world, world->far.end.request);
	world_take(world, world->near.end.recv);
}

void
link_receive(struct link *link, unsigned segments, size_t length)
{
	struct world *world = link->world;
	it_lmr_triplet_t to[SEGMENTS + 1];
	size_t at = INBOX + draw(world, PART - LIVES_OUT);

	cut(&world->near, at, LIVES_OUT, segments, to);
	if (trace_call(world->trace, "it_post_recv",
		       it_post_recv((it_handle_t)link->near, to, segments, ++link->cookies, 0)) ==
	    IT_SUCCESS)
		link->receives++;
	if (link->receives == 0)
		return;
	link->receives--;
	far_send(link, segments > 0 ? length : 0, 0);
	trace_octets(world->trace, "  arrived", world->near.end.buffer + INBOX, PART);
}

static void
step_send(struct link *link)
{
	unsigned most = (unsigned)attributes(link->near).max_send_segments;

	link_send(link, draw(link->world, MIN(most, SEGMENTS) + 1), draw_length(link));
}

void
link_send_early(struct link *link)
{
	struct world *world = link->world;
	it_lmr_triplet_t from = segment(&world->near, SOURCE, draw_length(link));

	trace_call(world->trace, "a Send without a receive",
		   it_post_send(link->near, &from, 1, ++link->cookies, SIGNALED));
	g_usleep(200); /* so that it waits already, as a rule */
}

/* Messages that wait for their receives, in both directions. */
static void
step_late(struct link *link)
{
	struct world *world = link->world;
	it_lmr_triplet_t from = segment(&world->far, SOURCE, 0),
			 to = segment(&world->near, INBOX, 0);

	if (attributes(link->near).max_send_segments == 0)
		return;
	link_send_early(link);
	far_receive(link, LIVES_OUT);
	world_take(world, world->near.end.request);
	world_take(world, world->far.end.recv);
	if (link->receives > 0)
		return;
	pair_ok(it_post_send(link->far, &from, 0, ++link->cookies, SIGNALED));
	g_usleep(200);
	trace_call(world->trace, "a late receive",
		   it_post_recv((it_handle_t)link->near, &to, 0, ++link->cookies, 0));
	world_take(world, world->far.end.request);
	world_take(world, world->near.end.recv);
}

static void
step_receive(struct link *link)
{
	unsigned most = (unsigned)attributes(link->near).max_recv_segments;

	if (link->receives == 0)
		link_receive(link, draw(link->world, MIN(most, SEGMENTS) + 1), draw_length(link));
}

/* Requests up to the last slot, suppressed but for the last; one more is refused. */
static void
step_fill_requests(struct link *link)
{
	struct world *world = link->world;
	size_t slots = attributes(link->near).max_request_dtos;
	it_lmr_triplet_t from = segment(&world->near, SOURCE, 8);
	it_status_t status = IT_SUCCESS;

	for (size_t i = 0; i < slots && status == IT_SUCCESS; i++) {
		unsigned flags = i + 1 < slots ? 0 : SIGNALED;

		status = it_post_rdma_write(
			link->near, &from, 1, ++link->cookies, (it_dto_flags_t)flags,
			it_make_rdma_addr_absolute(world->far.end.buffer + TARGET + 8 * (i % 64)),
			world->far.end.context);
		if (status != IT_SUCCESS)
			trace_line(world->trace, "slot %zu of %zu", i, slots);
	}
	trace_call(world->trace, "the last slot", status);
	trace_call(world->trace, "a request without a slot",
		   it_post_send(link->near, NULL, 0, ++link->cookies, SIGNALED));
	world_take(world, world->near.end.request);
}

/* Receives up to the last slot; one more is refused. Then all are taken. */
static void
step_fill_receives(struct link *link)
{
	struct world *world = link->world;
	size_t slots = attributes(link->near).max_recv_dtos;
	it_lmr_triplet_t to = segment(&world->near, INBOX, LIVES_OUT);
	it_status_t status = IT_SUCCESS;

	while (link->receives <= slots && status == IT_SUCCESS) {
		status = it_post_recv((it_handle_t)link->near, &to, 1, ++link->cookies, 0);
		link->receives += status == IT_SUCCESS;
	}
	trace_call(world->trace, "a receive without a slot", status);
	trace_line(world->trace, "  %u receives", link->receives);
	for (; link->receives > 0; link->receives--)
		far_send(link, draw(world, 64), 0);
}

/* One segment more than allowed, and more octets. */
static void
step_beyond(struct link *link)
{
	struct world *world = link->world;
	it_ep_attributes_t attr = attributes(link->near);
	it_rdma_addr_t there = it_make_rdma_addr_absolute(world->far.end.buffer + TARGET);
	it_lmr_triplet_t list[SEGMENTS + 1];
	size_t most = attr.max_dto_payload_size;

	cut(&world->near, SOURCE, SEGMENTS + 1, SEGMENTS + 1, list);
	if (attr.max_send_segments <= SEGMENTS)
		trace_call(world->trace, "a Send with too many segments",
			   it_post_send(link->near, list, attr.max_send_segments + 1, 1, SIGNALED));
	if (attr.max_recv_segments <= SEGMENTS)
		trace_call(world->trace, "a receive with too many segments",
			   it_post_recv((it_handle_t)link->near, list, attr.max_recv_segments + 1,
					1, 0));
	if (attr.srv.rc.max_rdma_write_segments <= SEGMENTS)
		trace_call(world->trace, "a Write with too many segments",
			   it_post_rdma_write(link->near, list,
					      attr.srv.rc.max_rdma_write_segments + 1, 1, SIGNALED,
					      there, world->far.end.context));
	if (attr.srv.rc.max_rdma_read_segments <= SEGMENTS)
		trace_call(world->trace, "a Read with too many segments",
			   it_post_rdma_read(link->near, list,
					     attr.srv.rc.max_rdma_read_segments + 1, 1, SIGNALED,
					     there, world->far.end.context));
	if (most >= PART)
		return;
	list[0] = segment(&world->near, SOURCE, most + 1);
	trace_call(world->trace, "a Send that is too long",
		   it_post_send(link->near, list, 1, 1, SIGNALED));
	trace_call(world->trace, "a Write that is too long",
		   it_post_rdma_write(link->near, list, 1, 1, SIGNALED, there,
				      world->far.end.context));
}

static void
step_write(struct link *link)
{
	struct world *world = link->world;
	unsigned most = (unsigned)attributes(link->near).srv.rc.max_rdma_write_segments;
	unsigned count = draw(world, MIN(most, SEGMENTS) + 1);
	size_t length = count > 0 ? draw_length(link) : 0;
	it_lmr_triplet_t list[SEGMENTS];

	cut(&world->near, SOURCE + draw(world, PART - LIVES_OUT), length, count, list);
	trace_call(world->trace, "it_post_rdma_write",
		   it_post_rdma_write(link->near, list, count, ++link->cookies, SIGNALED,
				      it_make_rdma_addr_absolute(world->far.end.buffer + TARGET),
				      world->far.end.context));
	world_take(world, world->near.end.request);
	link_send(link, 0, 0);
	trace_octets(world->trace, "  written", world->far.end.buffer + TARGET, length);
}

/*
 * Post more Reads than ORD allows at once, as far as there are slots. If depths were not exchanged,
 * ORD may exceed the peer's IRD; then no more Reads are posted than the peer can serve, since the
 * result of a further Read depends on timing.
 */
static void
step_read(struct link *link)
{
	struct world *world = link->world;
	it_ep_attributes_t attr = attributes(link->near);
	unsigned reads = 1 + draw(world, attr.srv.rc.rdma_read_ord + 2), posted = 0;
	const unsigned borne = (unsigned)attributes(link->far).srv.rc.rdma_read_ird;
	bool may = attr.srv.rc.max_rdma_read_segments > 0 &&
		   (attr.srv.rc.rdma_write_enable ||
		    !world->near.end.info->rdma_read_requires_remote_write);

	if (attr.srv.rc.rdma_read_ord == 0 || !may || attr.max_dto_payload_size < 32)
		return;
	if ((unsigned)attr.srv.rc.rdma_read_ord > borne)
		reads = MIN(reads, borne);
	for (; posted < MIN(reads, (unsigned)attr.max_request_dtos); posted++) {
		it_lmr_triplet_t to = segment(&world->near, SINK + 64 * posted, 32);

		trace_call(world->trace, "it_post_rdma_read",
			   it_post_rdma_read(link->near, &to, 1, ++link->cookies, SIGNALED,
					     it_make_rdma_addr_absolute(world->far.end.buffer +
									SOURCE + 64 * posted),
					     world->far.end.context));
	}
	for (; posted > 0; posted--)
		world_take(world, world->near.end.request);
	trace_octets(world->trace, "  read", world->near.end.buffer + SINK, PART);
}

static void
step_atomic(struct link *link)
{
	struct world *world = link->world;
	it_lmr_triplet_t result = segment(&world->near, SINK, 8);
	it_ep_attributes_t attr = attributes(link->near);
	it_rdma_addr_t word = it_make_rdma_addr_absolute(world->far.end.buffer + TARGET);

	if (!world->near.end.info->atomic_support || attr.srv.rc.rdma_read_ord == 0 ||
	    attr.max_dto_payload_size < 8)
		return;
	trace_call(world->trace, "it_post_atomic",
		   it_post_atomic(link->near, IT_FETCH_AND_ADD, draw(world, 1000), 0, &result,
				  ++link->cookies, SIGNALED, word, world->far.end.context));
	world_take(world, world->near.end.request);
	trace_octets(world->trace, "  before", world->near.end.buffer + SINK, 8);
}

/* What the peer may do here. What it may not do ends the connection. */
static void
step_peer(struct link *link)
{
	struct world *world = link->world;
	it_ep_attributes_t attr = attributes(link->near);
	it_ep_attributes_t far = attributes(link->far);
	it_lmr_triplet_t local = segment(&world->far, SOURCE, 16);
	it_rdma_addr_t here = it_make_rdma_addr_absolute(world->near.end.buffer + TARGET);
	bool write = draw_bool(world);
	bool may = write ? attr.srv.rc.rdma_write_enable : attr.srv.rc.rdma_read_enable;

	if (!write && far.srv.rc.rdma_read_ord == 0)
		return;
	if (write) {
		trace_call(world->trace, "a Write of the peer",
			   it_post_rdma_write(link->far, &local, 1, ++link->cookies, SIGNALED, here,
					      world->near.end.context));
	} else {
		local = segment(&world->far, SINK, 16);
		trace_call(world->trace, "a Read of the peer",
			   it_post_rdma_read(link->far, &local, 1, ++link->cookies, SIGNALED, here,
					     world->near.end.context));
	}
	if (!may) {
		link_ended(link);
		return;
	}
	world_take(world, world->far.end.request);
	if (write && link->receives == 0)
		link_receive(link, 0, 0);
	trace_octets(world->trace, "  there", world->near.end.buffer + TARGET, PART);
	trace_octets(world->trace, "  read", world->far.end.buffer + SINK, PART);
}

/* An attribute that can change while the endpoint is connected. */
static void
step_modify(struct link *link)
{
	struct world *world = link->world;
	it_ep_attributes_t attr = attributes(link->near);
	it_rc_only_attributes_t *rc = &attr.srv.rc;
	unsigned mask = 0;

	switch (draw(world, 4)) {
	case 0:
		rc->rdma_write_enable = !rc->rdma_write_enable;
		rc->rdma_read_enable = !rc->rdma_read_enable;
		mask = IT_EP_PARAM_RDMA_WR_ENABLE | IT_EP_PARAM_RDMA_RD_ENABLE;
		break;
	case 1:
		rc->rdma_read_ord = rc->rdma_read_ord > 0 ? rc->rdma_read_ord - 1 : 0;
		mask = IT_EP_PARAM_MAX_ORD;
		break;
	case 2:
		attr.max_request_dtos = 1 + draw(world, 2 * (guint32)attr.max_request_dtos);
		attr.max_recv_dtos = 1 + draw(world, 2 * (guint32)attr.max_recv_dtos);
		mask = IT_EP_PARAM_MAX_REQ_DTO | IT_EP_PARAM_MAX_RECV_DTO;
		break;
	default:
		rc->rdma_read_ird = 1 + draw(world, 6);
		mask = IT_EP_PARAM_MAX_IRD;
		break;
	}
	if (trace_call(world->trace, "it_ep_modify",
		       it_ep_modify(link->near, (it_ep_param_mask_t)mask, &attr)) == IT_SUCCESS &&
	    mask == IT_EP_PARAM_MAX_ORD)
		link->ord = rc->rdma_read_ord;
	trace_ep(world->trace, link->near);
}

/* A window through the endpoint, which the peer writes to. */
static void
step_window(struct link *link)
{
	struct world *world = link->world;
	struct side *near = &world->near;
	it_ep_attributes_t attr = attributes(link->near);
	it_lmr_triplet_t from = segment(&world->far, SOURCE, 8);
	it_rmr_context_t context = 0;
	it_rmr_handle_t rmr = NULL;

	if (!end_has(&near->end, NEEDS_WINDOWS | NEEDS_UNLINK) || !attr.srv.rc.rdma_write_enable)
		return;
	pair_ok(it_rmr_create20(near->end.pz, IT_RMR_TYPE_DEFAULT, &rmr));
	trace_name(world->trace, rmr, "window");
	trace_call(world->trace, "it_rmr_link",
		   it_rmr_link(rmr, near->end.lmr, near->end.buffer + TARGET, 64,
			       IT_ADDR_MODE_ABSOLUTE, IT_PRIV_REMOTE, link->near, ++link->cookies,
			       SIGNALED, &context));
	world_take(world, near->end.request);
	trace_rmr(world->trace, rmr);
	trace_call(world->trace, "a Write of the peer to the window",
		   it_post_rdma_write(link->far, &from, 1, ++link->cookies, SIGNALED,
				      it_make_rdma_addr_absolute(near->end.buffer + TARGET),
				      context));
	world_take(world, world->far.end.request);
	if (link->receives == 0)
		link_receive(link, 0, 0);
	trace_octets(world->trace, "  there", near->end.buffer + TARGET, 64);
	if (draw_bool(world)) {
		trace_call(world->trace, "it_rmr_unlink",
			   it_rmr_unlink(rmr, link->near, ++link->cookies, SIGNALED));
		world_take(world, near->end.request);
	}
	trace_rmr(world->trace, rmr);
	trace_name(world->trace, rmr, NULL);
	trace_call(world->trace, "it_rmr_free", it_rmr_free(rmr));
}

void
link_step(struct link *link)
{
	void (*const steps[])(struct link * link) = {
		step_send,   step_receive, step_fill_requests, step_fill_receives, step_beyond,
		step_write,  step_read,    step_atomic,        step_peer,          step_modify,
		step_modify, step_window,  step_late,          step_late,
	};
	unsigned which = draw(link->world, G_N_ELEMENTS(steps));

	world_disturb(link->world, &(struct at_hand){.ep = link->near});
	if (link->over)
		return;
	trace_line(link->world->trace, "step %u", which);
	steps[which](link);
}
