/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "lives_access.h"

#include <string.h>

#define LOCAL_COOKIE 1
#define PEER_COOKIE  2
#define BEHIND       3

const char *const access_names[ACCESS_OPS] = {
	"send", "receive", "write", "read", "atomic", "peer-write", "peer-read", "peer-atomic",
};

/* The next event, without a line. */
static it_event_t
next(struct bond *bond, it_evd_handle_t evd)
{
	it_event_t event;

	memset(&event, 0, sizeof(event));
	if (it_evd_wait(evd, patience(), &event, NULL) != IT_SUCCESS)
		world_fail(bond->world, "each event that is due", "has come");
	return event;
}

void
bond_join(struct bond *bond, struct world *world, it_ep_handle_t near)
{
	it_ep_attributes_t attr = world_helper(&world->far);
	struct side *far = &world->far;
	it_event_t event;

	*bond = (struct bond){.world = world, .near = near};
	bond->far = world_ep(far, &attr, "far ep", world->trace);
	world_ok(world, it_ep_connect(bond->far, &far->dial.path, NULL, &far->dial.qual,
				      IT_CONNECT_FLAG_TWO_WAY, NULL, 0));
	event = next(bond, world->near.end.cm_req);
	world_ok(world, it_ep_accept(bond->near, event.conn_req.cn_est_id, NULL, 0));
	event = next(bond, far->end.cm_msg);
	g_assert_cmphex(event.event_number, ==, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	event = next(bond, world->near.end.cm_msg);
	g_assert_cmphex(event.event_number, ==, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
}

void
bond_open(struct bond *bond, struct world *world, it_pz_handle_t pz, const it_ep_attributes_t *attr)
{
	const struct end *end = &world->near.end;
	it_ep_handle_t near = NULL;

	world_ok(world, it_ep_rc_create(pz, end->request, end->recv, end->cm_msg,
					attr->srv.rc.srq != NULL ? IT_EP_SRQ : IT_EP_NO_FLAG, attr,
					&near));
	trace_name(world->trace, near, "bond");
	bond_join(bond, world, near);
}

/* The events of both ends after the end of the connection; nothing else comes. */
static void
ended(struct bond *bond)
{
	(void)next(bond, bond->world->near.end.cm_msg);
	(void)next(bond, bond->world->far.end.cm_msg);
	world_forget(bond->world);
	bond->over = true;
}

void
bond_end(struct bond *bond)
{
	if (!bond->over) {
		world_ok(bond->world, it_ep_disconnect(bond->near, NULL, 0));
		ended(bond);
	}
	trace_name(bond->world->trace, bond->far, NULL);
	world_ok(bond->world, it_ep_free(bond->far));
}

void
bond_close(struct bond *bond)
{
	bond_end(bond);
	trace_name(bond->world->trace, bond->near, NULL);
	world_ok(bond->world, it_ep_free(bond->near));
}

/* What the near endpoint posts. */
static it_status_t
post_local(struct bond *bond, enum access_op op, const it_lmr_triplet_t *segment)
{
	const struct end *far = &bond->world->far.end;
	it_rdma_addr_t there = it_make_rdma_addr_absolute(far->buffer + END_BUFFER / 2);

	if (op == ACCESS_RECEIVE)
		return it_post_recv((it_handle_t)bond->near, segment, 1, LOCAL_COOKIE, 0);
	if (op == ACCESS_SEND)
		return it_post_send(bond->near, segment, 1, LOCAL_COOKIE, SIGNALED);
	if (op == ACCESS_WRITE)
		return it_post_rdma_write(bond->near, segment, 1, LOCAL_COOKIE, SIGNALED, there,
					  far->context);
	if (op == ACCESS_READ)
		return it_post_rdma_read(bond->near, segment, 1, LOCAL_COOKIE, SIGNALED, there,
					 far->context);
	return it_post_atomic(bond->near, IT_FETCH_AND_ADD, 1, 0, segment, LOCAL_COOKIE, SIGNALED,
			      there, far->context);
}

static it_status_t
post_peer(struct bond *bond, enum access_op op, const struct place *place)
{
	it_lmr_triplet_t local = segment(&bond->world->far, 0, place->length);

	if (op == ACCESS_PEER_WRITE)
		return it_post_rdma_write(bond->far, &local, 1, PEER_COOKIE, SIGNALED, place->addr,
					  place->context);
	if (op == ACCESS_PEER_READ)
		return it_post_rdma_read(bond->far, &local, 1, PEER_COOKIE, SIGNALED, place->addr,
					 place->context);
	local.length = 8;
	return it_post_atomic(bond->far, IT_FETCH_AND_ADD, 1, 0, &local, PEER_COOKIE, SIGNALED,
			      place->addr, place->context);
}

static it_dto_status_t
try_local(struct bond *bond, enum access_op op, const struct place *place)
{
	const struct side *near = &bond->world->near, *far = &bond->world->far;
	it_lmr_triplet_t from = segment(far, 0, place->length), to = segment(far, 0, END_BUFFER);
	it_lmr_triplet_t local = {.lmr = place->lmr, .length = place->length};
	it_event_t event;

	local.addr.rel = place->addr;
	if (op == ACCESS_ATOMIC)
		local.length = 8;
	if (op == ACCESS_SEND)
		world_ok(bond->world, it_post_recv((it_handle_t)bond->far, &to, 1, PEER_COOKIE, 0));
	world_ok(bond->world, post_local(bond, op, &local));
	if (op == ACCESS_RECEIVE)
		world_ok(bond->world, it_post_send(bond->far, &from, 1, PEER_COOKIE, SIGNALED));
	event = next(bond, op == ACCESS_RECEIVE ? near->end.recv : near->end.request);
	if (event.dto_cmpl.dto_status != IT_DTO_SUCCESS)
		ended(bond);
	else if (op == ACCESS_SEND)
		(void)next(bond, far->end.recv);
	else if (op == ACCESS_RECEIVE)
		(void)next(bond, far->end.request);
	return event.dto_cmpl.dto_status;
}

/* The receive behind what the peer posted. */
static it_dto_status_t
behind(struct bond *bond, unsigned requests)
{
	it_event_t event = next(bond, bond->world->near.end.recv);

	if (event.dto_cmpl.dto_status != IT_DTO_SUCCESS) {
		ended(bond);
		return event.dto_cmpl.dto_status;
	}
	while (requests-- > 0) {
		it_event_t done = next(bond, bond->world->far.end.request);

		g_assert_cmpint(done.dto_cmpl.dto_status, ==, IT_DTO_SUCCESS);
	}
	return IT_DTO_SUCCESS;
}

it_dto_status_t
access_try(struct bond *bond, enum access_op op, const struct place *place)
{
	if (op < ACCESS_LOCAL_OPS)
		return try_local(bond, op, place);
	world_ok(bond->world, it_post_recv((it_handle_t)bond->near, NULL, 0, LOCAL_COOKIE, 0));
	world_ok(bond->world, post_peer(bond, op, place));
	/* If the first has failed already, this one is flushed. */
	world_ok(bond->world, it_post_send(bond->far, NULL, 0, BEHIND, SIGNALED));
	return behind(bond, 2);
}

it_dto_status_t
access_unlink(struct bond *bond, it_rmr_context_t context)
{
	world_ok(bond->world, it_post_recv((it_handle_t)bond->near, NULL, 0, LOCAL_COOKIE, 0));
	world_ok(bond->world,
		 it_post_send_and_unlink(bond->far, NULL, 0, PEER_COOKIE, SIGNALED, context));
	return behind(bond, 1);
}
