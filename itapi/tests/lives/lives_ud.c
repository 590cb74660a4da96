/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A datagram endpoint, its address handles, and the services by which peers find it. For the next
 * life it is reset, after one of its requests has failed, and its attributes are changed.
 */
#include <string.h>

#include "it_dgram.h"
#include "lives.h"

#define FAR_KEY 0x7654321u

struct ud_param {
	it_ep_attributes_t attr;
};

struct ud_object {
	struct world *world;
	it_ep_handle_t ep, far;
	it_addr_handle_t way, back; /* to the far endpoint; from it */
	it_remote_ep_info_t far_info;
	it_dto_cookie_t cookies;
};

static void
ud_draw(struct world *world, void *param)
{
	it_ep_attributes_t *attr = &((struct ud_param *)param)->attr;

	/* What a later life cannot have otherwise is the same in each. */
	const bool sizes = world->near.end.info->ep_work_queues_resizable;

	*attr = dgram_attr();
	attr->max_dto_payload_size = draw_bool(world) ? 64 + draw(world, 256) : 0;
	attr->max_request_dtos = sizes ? 1 + draw(world, 12) : 7;
	attr->max_recv_dtos = sizes ? 1 + draw(world, 12) : 5;
	attr->max_send_segments = sizes ? 1 + draw(world, 4) : 3;
	attr->max_recv_segments = sizes ? 1 + draw(world, 4) : 2;
	attr->srv.ud.ep_info.ud_ep_key = 1 + draw(world, 1000);
}

static it_remote_ep_info_t
info_of(it_ep_handle_t ep)
{
	it_ep_param_t p;

	memset(&p, 0, sizeof(p));
	pair_ok(it_ep_query(ep, IT_EP_PARAM_ALL, &p));
	return p.attr.srv.ud.ep_info;
}

static it_ep_attributes_t
attributes(it_ep_handle_t ep)
{
	it_ep_param_t p;

	memset(&p, 0, sizeof(p));
	pair_ok(it_ep_query(ep, IT_EP_PARAM_ALL, &p));
	return p.attr;
}

static void *
ud_make(struct world *world, const void *param)
{
	struct ud_object *object = g_new0(struct ud_object, 1);
	const struct end *near = &world->near.end, *far = &world->far.end;
	it_ep_attributes_t attr = dgram_attr();

	attr.max_request_dtos = attr.max_recv_dtos = ALWAYS;
	attr.srv.ud.ep_info.ud_ep_key = FAR_KEY;
	object->world = world;
	world_ok(world, it_ep_ud_create(near->pz, near->request, near->recv,
					&((const struct ud_param *)param)->attr, 0, &object->ep));
	world_ok(world, it_ep_ud_create(far->pz, far->request, far->recv, &attr, 0, &object->far));
	world_ok(world, it_address_handle_create(near->pz, &world->near.dial.path, (it_ah_flags_t)0,
						 &object->way));
	world_ok(world, it_address_handle_create(far->pz, &world->far.dial.path, (it_ah_flags_t)0,
						 &object->back));
	object->far_info = info_of(object->far);
	trace_name(world->trace, object->ep, "ep");
	trace_name(world->trace, object->far, "far ep");
	return object;
}

static void
ud_end(struct world *world, void *arg)
{
	struct ud_object *object = arg;

	world_ok(world, it_ep_free(object->ep));
	world_ok(world, it_address_handle_free(object->way));
	world_ok(world, it_ep_free(object->far));
	world_ok(world, it_address_handle_free(object->back));
	g_free(object);
}

static void
offer(struct ud_object *object, bool near, size_t length)
{
	struct world *world = object->world;
	it_lmr_triplet_t to = segment(near ? &world->near : &world->far, END_BUFFER / 2, length);

	trace_call(world->trace, "it_post_recvfrom",
		   it_post_recvfrom(near ? object->ep : object->far, &to, 1, ++object->cookies, 0));
}

static it_status_t
say(struct ud_object *object, it_addr_handle_t way, unsigned segments, size_t length)
{
	struct world *world = object->world;
	it_dg_remote_ep_addr_t target = dgram_target(way, &object->far_info);
	it_lmr_triplet_t from[8];

	for (unsigned i = 0; i < segments; i++)
		from[i] = segment(&world->near, 512 * i, length / segments);
	return trace_call(
		world->trace, "it_post_sendto",
		it_post_sendto(object->ep, from, segments, ++object->cookies, SIGNALED, &target));
}

/* A datagram to the endpoint, with that key. */
static void
hear(struct ud_object *object, it_ud_ep_key_t key, size_t length)
{
	struct world *world = object->world;
	it_lmr_triplet_t from = segment(&world->far, 0, length);
	it_remote_ep_info_t info = info_of(object->ep);
	it_dg_remote_ep_addr_t target;

	info.ud_ep_key = key;
	target = dgram_target(object->back, &info);
	world_ok(world,
		 it_post_sendto(object->far, &from, 1, ++object->cookies, SIGNALED, &target));
	world_take(world, world->far.end.request);
}

static void
heard(struct ud_object *object)
{
	struct world *world = object->world;
	it_event_t event;

	(void)world_next(world, world->near.end.recv, &event);
	trace_line(world->trace, "  from the peer: %d, flags %#x",
		   event.all_dto_cmpl.ud_ep_id == object->far_info.ud_ep_id,
		   (unsigned)event.all_dto_cmpl.flags);
	trace_octets(world->trace, "  arrived", world->near.end.buffer + END_BUFFER / 2 + HEADER,
		     256);
}

static void
step_send(struct ud_object *object)
{
	it_ep_attributes_t attr = attributes(object->ep);
	unsigned segments = 1 + draw(object->world, (guint32)attr.max_send_segments);

	offer(object, false, 1024);
	if (say(object, object->way, segments, segments * (1 + draw(object->world, 16))) !=
	    IT_SUCCESS)
		return;
	world_take(object->world, object->world->near.end.request);
	world_take(object->world, object->world->far.end.recv);
}

/* Datagrams that are dropped leave the receive for the next. */
static void
step_receive(struct ud_object *object)
{
	it_ud_ep_key_t key = info_of(object->ep).ud_ep_key;

	offer(object, true, HEADER + 100);
	if (draw_bool(object->world))
		hear(object, key + 1, 8);
	if (draw_bool(object->world))
		hear(object, key, 101);
	hear(object, key, draw(object->world, 100));
	heard(object);
}

static void
step_fill(struct ud_object *object)
{
	it_ep_attributes_t attr = attributes(object->ep);
	it_dg_remote_ep_addr_t target = dgram_target(object->way, &object->far_info);
	it_status_t status = IT_SUCCESS;

	for (size_t i = 0; i <= attr.max_recv_dtos && status == IT_SUCCESS; i++)
		status = it_post_recvfrom(object->ep, NULL, 0, i, 0);
	trace_call(object->world->trace, "a receive without a slot", status);
	/* They are too short for any datagram: the failure and the reset of the endpoint will flush them. */
	for (size_t i = 0; i < attr.max_request_dtos; i++)
		status = it_post_sendto(
			object->ep, NULL, 0, i,
			(it_dto_flags_t)(i + 1 < attr.max_request_dtos ? 0 : SIGNALED), &target);
	trace_call(object->world->trace, "the last slot", status);
	trace_call(object->world->trace, "a request without a slot",
		   it_post_sendto(object->ep, NULL, 0, 1, SIGNALED, &target));
	world_take(object->world, object->world->near.end.request);
}

static void
step_beyond(struct ud_object *object)
{
	it_ep_attributes_t attr = attributes(object->ep);

	(void)say(object, object->way, (unsigned)attr.max_send_segments + 1,
		  attr.max_send_segments + 1);
	if (attr.max_dto_payload_size < 1024)
		(void)say(object, object->way, 1, attr.max_dto_payload_size + 1);
}

/* Handles of both zones; one is changed, another is freed while its datagram is under way. */
static void
step_handles(struct ud_object *object)
{
	struct world *world = object->world;
	it_addr_handle_t own = NULL, other = NULL;
	it_addr_param_t p;

	world_ok(world, it_address_handle_create(world->near.end.pz, &world->near.dial.path,
						 (it_ah_flags_t)0, &own));
	world_ok(world, it_address_handle_create(world->near.zone, &world->near.dial.path,
						 (it_ah_flags_t)0, &other));
	trace_call(world->trace, "a handle of another zone", say(object, other, 1, 8));
	memset(&p, 0, sizeof(p));
	world_ok(world, it_address_handle_query(own, IT_ADDR_PARAM_ALL, &p));
	trace_line(world->trace, "ia %s, pz %s", trace_handle(world->trace, p.ia),
		   trace_handle(world->trace, p.pz));
	trace_call(world->trace, "it_address_handle_modify",
		   it_address_handle_modify(own, IT_ADDR_PARAM_PATH, &p));
	p.path.spigot_id = 1000;
	trace_call(world->trace, "to no spigot",
		   it_address_handle_modify(own, IT_ADDR_PARAM_PATH, &p));
	p.pz = world->near.zone;
	trace_call(world->trace, "to another zone",
		   it_address_handle_modify(own, IT_ADDR_PARAM_PZ, &p));
	offer(object, false, 256);
	(void)say(object, own, 1, 8);
	trace_call(world->trace, "it_address_handle_free", it_address_handle_free(own));
	trace_call(world->trace, "it_address_handle_free", it_address_handle_free(other));
	world_take(world, world->near.end.request);
	world_take(world, world->far.end.recv);
}

/* Requests that cannot be made keep nothing. */
static void
step_no_service(struct ud_object *object)
{
	unsigned char data[2 * IT_MAX_PRIV_DATA] = {0};
	struct world *world = object->world;
	it_evd_handle_t evd = pair_sevd(world->near.end.ia, IT_CM_MSG_EVENT_STREAM, 1);
	it_conn_qual_t none = {.type = IT_VIA_DISCRIMINATOR};
	it_path_t path = world->near.dial.path;
	it_ud_svc_req_handle_t handle = NULL;

	trace_call(world->trace, "too much data",
		   it_ud_service_request_handle_create(&world->near.dial.qual, evd, &path, data,
						       sizeof(data), &handle));
	trace_call(world->trace, "no qualifier",
		   it_ud_service_request_handle_create(&none, evd, &path, NULL, 0, &handle));
	path.spigot_id = 1000;
	trace_call(world->trace, "no path",
		   it_ud_service_request_handle_create(&world->near.dial.qual, evd, &path, NULL, 0,
						       &handle));
	world_ok(world, it_evd_free(evd));
}

/* A service answers after answers that were refused; the same handle asks twice. */
static void
step_service(struct ud_object *object)
{
	unsigned char data[2 * IT_MAX_PRIV_DATA] = {1, 2, 3};
	struct world *world = object->world;
	it_ud_svc_req_handle_t handle = NULL;

	world_ok(world, it_ud_service_request_handle_create(
				&world->near.dial.qual, world->near.end.cm_msg,
				&world->near.dial.path, data, draw(world, 16), &handle));
	for (unsigned i = 0; i < 2; i++) {
		it_event_t event;
		it_ud_svc_req_identifier_t id;

		trace_call(world->trace, "it_ud_service_request", it_ud_service_request(handle));
		world_ok(world, it_evd_wait(world->far.end.cm_req, patience(), &event, NULL));
		id = event.ud_svc_request.ud_svc_req_id;
		trace_call(world->trace, "too much data",
			   it_ud_service_reply(id, IT_UD_SVC_EP_INFO_VALID, object->far_info, data,
					       sizeof(data)));
		trace_call(world->trace, "no status",
			   it_ud_service_reply(id, (it_ud_svc_req_status_t)77, object->far_info,
					       data, 1));
		trace_call(world->trace, "as a connection", it_reject(id, NULL, 0));
		trace_call(world->trace, "it_ud_service_reply",
			   it_ud_service_reply(id, IT_UD_SVC_EP_INFO_VALID, object->far_info, data,
					       draw(world, 16)));
		trace_call(world->trace, "used",
			   it_ud_service_reply(id, IT_UD_SVC_EP_INFO_VALID, object->far_info, data,
					       1));
		world_ok(world, it_evd_wait(world->near.end.cm_msg, patience(), &event, NULL));
		trace_line(world->trace, "status %d, the endpoint %d, key %#x, data %d %d %d",
			   (int)event.ud_svc_reply.status,
			   event.ud_svc_reply.ep_info.ud_ep_id == object->far_info.ud_ep_id,
			   event.ud_svc_reply.ep_info.ud_ep_key, event.ud_svc_reply.private_data[0],
			   event.ud_svc_reply.private_data[2],
			   (int)event.ud_svc_reply.private_data_present);
	}
	trace_call(world->trace, "it_ud_service_request_handle_free",
		   it_ud_service_request_handle_free(handle));
}

static void
step_key(struct ud_object *object)
{
	it_ep_attributes_t attr = {.max_recv_dtos = 0};

	attr.srv.ud.ep_info.ud_ep_key = 1 + draw(object->world, 1000);
	trace_call(object->world->trace, "it_ep_modify",
		   it_ep_modify(object->ep, IT_EP_PARAM_EP_KEY, &attr));
	attr.srv.ud.ep_info.ud_ep_key = 1u << 31;
	if (!object->world->near.end.info->lmr_link_support)
		trace_call(object->world->trace, "it_ep_modify",
			   it_ep_modify(object->ep, IT_EP_PARAM_EP_KEY, &attr));
}

/* A request that fails ends the endpoint; all is flushed, and an event says so. */
static void
fail(struct ud_object *object)
{
	struct world *world = object->world;
	it_dg_remote_ep_addr_t target = dgram_target(object->way, &object->far_info);
	it_lmr_triplet_t from = segment(&world->near, END_BUFFER - 8, 16);

	trace_call(world->trace, "a datagram beyond its region",
		   it_post_sendto(object->ep, &from, 1, ++object->cookies, SIGNALED, &target));
	world_take(world, world->near.aff);
	world_drain(world);
	trace_ep(world->trace, object->ep);
	trace_call(world->trace, "a late receive", it_post_recvfrom(object->ep, NULL, 0, 99, 0));
	world_take(world, world->near.end.recv);
}

static void
ud_live(struct world *world, void *arg, const void *param)
{
	void (*const steps[])(struct ud_object * object) = {
		step_send,    step_send,    step_receive, step_receive,    step_beyond,
		step_handles, step_service, step_key,     step_no_service,
	};
	struct ud_object *object = arg;
	unsigned count = 5 + draw(world, 8);

	(void)param;
	memset(world->near.end.buffer, 0, END_BUFFER);
	for (size_t i = 0; i < 4096; i++) {
		world->near.end.buffer[i] = (unsigned char)draw(world, 256);
		world->far.end.buffer[i] = (unsigned char)draw(world, 256);
	}
	object->cookies = 0;
	trace_ep(world->trace, object->ep);
	for (unsigned i = 0; i < count; i++) {
		unsigned which = draw(world, G_N_ELEMENTS(steps));

		trace_line(world->trace, "step %u", which);
		world_disturb(world, &(struct at_hand){.evd = NULL});
		steps[which](object);
	}
	step_fill(object);
	fail(object);
}

static void
to_reset(struct world *world, void *arg, const void *param)
{
	struct ud_object *object = arg;
	const bool sizes = world->near.end.info->ep_work_queues_resizable;
	const unsigned mask = IT_EP_PARAM_MAX_PAYLOAD | IT_EP_PARAM_MAX_SEND_SEG |
			      IT_EP_PARAM_MAX_RECV_SEG | IT_EP_PARAM_EP_KEY |
			      (sizes ? IT_EP_PARAM_MAX_REQ_DTO | IT_EP_PARAM_MAX_RECV_DTO : 0u);

	world_reset(world, object->ep);
	world_ok(world, it_ep_modify(object->ep, (it_ep_param_mask_t)mask,
				     &((const struct ud_param *)param)->attr));
}

static const struct again ways[] = {
	{"reset", 0, NULL, to_reset},
	{NULL, 0, NULL, NULL},
};

const struct kind kind_ud = {"ud",   NEEDS_UD, sizeof(struct ud_param), ud_draw, ud_make, ud_live,
			     ud_end, ways};
