/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Regions and windows. Their life consists of accesses of both sides, at and beyond their limits,
 * with and without the right, and through invalid contexts. For the next life a region is modified;
 * a window is unlinked or linked again, or its endpoint is reset.
 */
#include <string.h>

#include "lives_access.h"

#define AREA  8192 /* of the buffer, in which regions lie */
#define START 65536
#define WORD  8

/* Memory as its user describes it. */
struct span {
	unsigned char *start;
	size_t length;
	it_mem_priv_t privs;
	it_addr_mode_t mode;
};

/* An access of a drawn sort somewhere about the span; `bond` is renewed by `join` if it is over. */
static void
access_drawn(struct bond *bond, const struct span *span, struct place place, unsigned first_op)
{
	struct world *world = bond->world;
	enum access_op op = (enum access_op)(first_op + draw(world, ACCESS_OPS - first_op));
	const gssize offsets[] = {0,
				  (gssize)span->length / 2 / WORD * WORD,
				  (gssize)span->length - WORD,
				  (gssize)span->length - WORD + 1,
				  (gssize)span->length,
				  -1};
	gssize at = offsets[draw(world, G_N_ELEMENTS(offsets))];
	it_dto_status_t status;

	if ((op == ACCESS_ATOMIC || op == ACCESS_PEER_ATOMIC) &&
	    (!world->near.end.info->atomic_support || at % WORD != 0))
		return;
	place.addr = span->mode == IT_ADDR_MODE_ABSOLUTE ? (uintptr_t)span->start : 0;
	place.addr += (uint64_t)at;
	place.length = WORD;
	status = access_try(bond, op, &place);
	trace_line(world->trace, "%s at %zd: %s", access_names[op], at, it_dto_status_name(status));
	trace_octets(world->trace, "  area", world->near.end.buffer + START, AREA);
}

static void
span_draw(struct world *world, struct span *span)
{
	static const unsigned sets[] = {0x1f, 0x1f, 0x0f, 0x07, 0x0b, 0x13,
					0x03, 0x01, 0x02, 0x05, 0x0a};

	span->start = world->near.end.buffer + START + WORD * draw(world, AREA / 2 / WORD);
	span->length = WORD * (2 + draw(world, AREA / 2 / WORD - 2));
	span->privs = (it_mem_priv_t)sets[draw(world, G_N_ELEMENTS(sets))];
	span->mode = world->near.end.info->addr_mode_relative_support && draw_bool(world)
			     ? IT_ADDR_MODE_RELATIVE
			     : IT_ADDR_MODE_ABSOLUTE;
}

static void
area_fill(struct world *world)
{
	memset(world->far.end.buffer, 0, END_BUFFER);
	for (size_t i = 0; i < AREA; i++)
		world->near.end.buffer[START + i] = (unsigned char)draw(world, 256);
	for (size_t i = 0; i < AREA; i++)
		world->far.end.buffer[i] = (unsigned char)draw(world, 256);
}

/* --- regions ------------------------------------------------------------------------------- */

struct lmr_param {
	struct span span;
	bool zone;
};

struct lmr_object {
	it_lmr_handle_t lmr;
	it_rmr_context_t dead; /* the context of a life before, or of another region that is gone */
};

static void
lmr_draw(struct world *world, void *param)
{
	struct lmr_param *p = param;

	span_draw(world, &p->span);
	p->zone = draw_bool(world);
}

static it_pz_handle_t
zone_of(const struct world *world, bool zone)
{
	return zone ? world->near.zone : world->near.end.pz;
}

static it_lmr_handle_t
lmr_new(struct world *world, const struct lmr_param *p, it_rmr_context_t *context)
{
	it_lmr_handle_t lmr = NULL;

	world_ok(world, it_lmr_create21(zone_of(world, p->zone), p->span.start, NULL,
					p->span.length, p->span.mode, p->span.privs,
					world->seed % 2 == 0 ? IT_LMR_FLAG_NONE
							     : IT_LMR_FLAG_NON_SHAREABLE,
					0, &lmr, context));
	return lmr;
}

static void *
lmr_make(struct world *world, const void *param)
{
	struct lmr_object *object = g_new0(struct lmr_object, 1);

	world_ok(world, it_lmr_free(lmr_new(world, param, &object->dead)));
	object->lmr = lmr_new(world, param, NULL);
	trace_name(world->trace, object->lmr, "region");
	return object;
}

static it_rmr_context_t
context_of(it_lmr_handle_t lmr)
{
	it_lmr_param_t p;

	memset(&p, 0, sizeof(p));
	pair_ok(it_lmr_query(lmr, IT_LMR_PARAM_RMR_CONTEXT, &p));
	return p.rmr_context;
}

/* Groups of sharing regions are of one adapter: the same number means another group there. */
static void
share(struct world *world)
{
	struct side *const sides[] = {&world->near, &world->near, &world->far, &world->near};
	it_lmr_handle_t lmrs[G_N_ELEMENTS(sides)] = {NULL};

	for (unsigned i = 0; i < G_N_ELEMENTS(sides); i++)
		trace_call(world->trace, "a shared region",
			   it_lmr_create21(sides[i]->end.pz, sides[i]->end.buffer, NULL,
					   i == 3 ? 8192 : 4096, IT_ADDR_MODE_ABSOLUTE,
					   IT_PRIV_LOCAL, IT_LMR_FLAG_SHARED, 7, &lmrs[i], NULL));
	for (unsigned i = 0; i < G_N_ELEMENTS(sides); i++) {
		if (lmrs[i] != NULL)
			trace_call(world->trace, "it_lmr_free", it_lmr_free(lmrs[i]));
	}
}

/* A privileged process unlinks the region and links it again, as it was; it has as much room for pieces as before. */
static void
relink(struct world *world, it_lmr_handle_t lmr, const struct lmr_param *p)
{
	it_ep_attributes_t attr = world_helper(&world->near);
	it_iobl_ve_elt_t piece = {.io_addr = (it_io_addr_t)(void *)p->span.start,
				  .elt_len = p->span.length};
	it_iobl_t list = {.iobl_type = IT_IOBL_VE_PAGE_LIST, .num_elts = 1};
	it_rmr_context_t context = 0;
	struct bond bond;

	list.list.ve_list.list_elt = &piece;
	if (!world->near.end.info->lmr_link_support || world->seed % 2 == 0)
		return;
	attr.priv_ops_enable = IT_TRUE;
	bond_open(&bond, world, zone_of(world, p->zone), &attr);
	trace_call(world->trace, "it_lmr_unlink", it_lmr_unlink(lmr, bond.near, 3, SIGNALED));
	world_take(world, world->near.end.request);
	trace_lmr(world->trace, lmr);
	world_ok(world, it_lmr_link(lmr, p->span.start, &list, p->span.length, p->span.mode,
				    p->span.privs, bond.near, 4, SIGNALED, &context));
	world_take(world, world->near.end.request);
	trace_lmr(world->trace, lmr);
	trace_line(world->trace, "context known: %d", context == context_of(lmr));
	bond_close(&bond);
}

static void
lmr_live(struct world *world, void *arg, const void *param)
{
	const struct lmr_param *p = param;
	struct lmr_object *object = arg;
	it_ep_attributes_t attr = world_helper(&world->near);
	struct bond bond = {.near = NULL};
	unsigned count = 6 + draw(world, 8);

	area_fill(world);
	trace_lmr(world->trace, object->lmr);
	for (unsigned i = 0; i < count; i++) {
		bool dead = draw(world, 8) == 0;
		struct place place = {object->lmr, dead ? object->dead : context_of(object->lmr), 0,
				      0};

		world_disturb(world, &(struct at_hand){.ep = bond.over ? NULL : bond.near});
		if (bond.near != NULL && bond.over)
			bond_close(&bond);
		if (bond.near == NULL || bond.over)
			bond_open(&bond, world, zone_of(world, p->zone), &attr);
		access_drawn(&bond, &p->span, place, dead ? ACCESS_LOCAL_OPS : 0);
	}
	bond_close(&bond);
	share(world);
	/* A region with a list cannot be changed. */
	if (world->last)
		relink(world, object->lmr, p);
	trace_lmr(world->trace, object->lmr);
}

static void
lmr_end(struct world *world, void *arg)
{
	struct lmr_object *object = arg;

	world_ok(world, it_lmr_free(object->lmr));
	trace_name(world->trace, object->lmr, NULL);
	g_free(object);
}

static it_lmr_param_t
wanted(const struct world *world, const struct lmr_param *p)
{
	return (it_lmr_param_t){
		.pz = zone_of(world, p->zone),
		.addr = p->span.start,
		.length = p->span.length,
		.privs = p->span.privs,
		.addr_mode = p->span.mode,
	};
}

static void
lmr_modify(struct world *world, it_lmr_handle_t lmr, unsigned mask, const it_lmr_param_t *params)
{
	world_ok(world, it_lmr_modify(lmr, (it_lmr_param_mask_t)mask, params));
}

static void
to_at_once(struct world *world, void *arg, const void *param)
{
	struct lmr_object *object = arg;
	it_lmr_param_t p = wanted(world, param);

	object->dead = context_of(object->lmr);
	lmr_modify(world, object->lmr,
		   IT_LMR_PARAM_PZ | IT_LMR_PARAM_ADDR | IT_LMR_PARAM_LENGTH |
			   IT_LMR_PARAM_MEM_PRIV | IT_LMR_PARAM_ADDR_MODE,
		   &p);
}

static void
to_singly(struct world *world, void *arg, const void *param)
{
	struct lmr_object *object = arg;
	it_lmr_param_t p = wanted(world, param);

	lmr_modify(world, object->lmr, IT_LMR_PARAM_ADDR_MODE, &p);
	lmr_modify(world, object->lmr, IT_LMR_PARAM_PZ, &p);
	object->dead = context_of(object->lmr);
	lmr_modify(world, object->lmr, IT_LMR_PARAM_ADDR | IT_LMR_PARAM_LENGTH, &p);
	lmr_modify(world, object->lmr, IT_LMR_PARAM_MEM_PRIV, &p);
}

/* Changes that are refused leave the region as it is. */
static void
first_refused(struct world *world, void *arg, const void *param)
{
	struct lmr_object *object = arg;
	it_lmr_param_t p = wanted(world, param), before, after;

	memset(&before, 0, sizeof(before));
	memset(&after, 0, sizeof(after));
	pair_ok(it_lmr_query(object->lmr, IT_LMR_PARAM_ALL, &before));
	p.pz = (it_pz_handle_t)(void *)world->far.end.pz;
	g_assert_cmpint(it_lmr_modify(object->lmr, IT_LMR_PARAM_PZ, &p), ==, IT_ERR_INVALID_PZ);
	p.privs = IT_PRIV_REMOTE;
	g_assert_cmpint(it_lmr_modify(object->lmr, IT_LMR_PARAM_MEM_PRIV, &p), ==,
			IT_ERR_INVALID_PRIVS);
	p.addr = (void *)(uintptr_t)4096;
	g_assert_cmpint(
		it_lmr_modify(object->lmr,
			      (it_lmr_param_mask_t)(IT_LMR_PARAM_ADDR | IT_LMR_PARAM_LENGTH), &p),
		!=, IT_SUCCESS);
	pair_ok(it_lmr_query(object->lmr, IT_LMR_PARAM_ALL, &after));
	g_assert_true(after.pz == before.pz && after.addr == before.addr &&
		      after.length == before.length && after.privs == before.privs &&
		      after.rmr_context == before.rmr_context);
	lmr_live(world, arg, param);
}

static const struct again lmr_ways[] = {
	{"at-once", NEEDS_LMR_MODIFY, NULL, to_at_once},
	{"singly", NEEDS_LMR_MODIFY, NULL, to_singly},
	{"refused", NEEDS_LMR_MODIFY, first_refused, to_at_once},
	{NULL, 0, NULL, NULL},
};

const struct kind kind_lmr = {
	"lmr", 0, sizeof(struct lmr_param), lmr_draw, lmr_make, lmr_live, lmr_end, lmr_ways};

/* --- windows ------------------------------------------------------------------------------- */

struct rmr_param {
	struct span span;
	unsigned lmr;  /* which of the two */
	unsigned ends; /* how a life ends */
};

struct rmr_object {
	it_rmr_handle_t rmr;
	it_lmr_handle_t lmrs[2];
	it_ep_handle_t ep;
	it_rmr_context_t dead;
	bool wide;
};

static void
rmr_draw(struct world *world, void *param)
{
	static const unsigned sets[] = {0x04, 0x08, 0x0c, 0x10, 0x1c};
	struct rmr_param *p = param;

	span_draw(world, &p->span);
	p->span.privs = (it_mem_priv_t)sets[draw(world, G_N_ELEMENTS(sets))];
	if (!world->near.end.info->atomic_support && (p->span.privs & IT_PRIV_REMOTE) == 0)
		p->span.privs = IT_PRIV_REMOTE;
	p->lmr = draw(world, 2);
	p->ends = draw(world, 3);
}

static void *
rmr_make(struct world *world, bool wide)
{
	static const char *const names[] = {"first region", "second region"};
	it_ep_attributes_t attr = world_helper(&world->near);
	struct rmr_object *object = g_new0(struct rmr_object, 1);

	object->wide = wide;
	for (unsigned i = 0; i < 2; i++) {
		world_ok(world,
			 it_lmr_create21(world->near.end.pz, world->near.end.buffer, NULL,
					 END_BUFFER, IT_ADDR_MODE_ABSOLUTE,
					 i == 0 ? IT_PRIV_ALL : IT_PRIV_LOCAL, IT_LMR_FLAG_NONE, 0,
					 &object->lmrs[i], &object->dead));
		trace_name(world->trace, object->lmrs[i], names[i]);
	}
	world_ok(world,
		 it_rmr_create20(world->near.end.pz, wide ? IT_RMR_TYPE_WIDE : IT_RMR_TYPE_NARROW,
				 &object->rmr));
	trace_name(world->trace, object->rmr, "window");
	object->ep = world_ep(&world->near, &attr, "ep", world->trace);
	return object;
}

static void *
narrow_make(struct world *world, const void *param)
{
	(void)param;
	return rmr_make(world, false);
}

static void *
wide_make(struct world *world, const void *param)
{
	(void)param;
	return rmr_make(world, true);
}

static it_dto_status_t
done(struct bond *bond)
{
	it_event_t event;

	memset(&event, 0, sizeof(event));
	world_ok(bond->world, it_evd_wait(bond->world->near.end.request, patience(), &event, NULL));
	trace_event(bond->world->trace, &event);
	return event.dto_cmpl.dto_status;
}

/* Link it through a connection of the object's endpoint; returns the context. */
static it_rmr_context_t
rmr_link(struct bond *bond, const struct rmr_object *object, const struct rmr_param *p)
{
	it_rmr_context_t context = 0;

	trace_call(bond->world->trace, "it_rmr_link",
		   it_rmr_link(object->rmr, object->lmrs[p->lmr], p->span.start, p->span.length,
			       p->span.mode, p->span.privs, bond->near, 5, SIGNALED, &context));
	(void)done(bond);
	trace_rmr(bond->world->trace, object->rmr);
	return context;
}

/* A window by itself, linked or not, at the end of a connection. */
static void
rmr_leave(struct bond *bond, const struct rmr_object *object, const struct rmr_param *p,
	  it_rmr_context_t context)
{
	struct world *world = bond->world;

	if (bond->over)
		return;
	if (p->ends == 0 || (p->ends == 1 && object->wide)) {
		trace_call(world->trace, "it_rmr_unlink",
			   it_rmr_unlink(object->rmr, bond->near, 6, SIGNALED));
		(void)done(bond);
	} else if (p->ends == 1) {
		trace_line(world->trace, "the peer unlinks: %s",
			   it_dto_status_name(access_unlink(bond, context)));
	}
	if (!object->wide || p->ends < 2)
		trace_rmr(world->trace, object->rmr);
}

static void
rmr_live(struct world *world, void *arg, const void *param)
{
	const struct rmr_param *p = param;
	struct rmr_object *object = arg;
	unsigned connections = 2 + draw(world, 2);

	area_fill(world);
	for (unsigned i = 0; i < connections; i++) {
		it_rmr_context_t context;
		struct bond bond;

		bond_join(&bond, world, object->ep);
		context = rmr_link(&bond, object, p);
		world_disturb(world, &(struct at_hand){.ep = bond.near});
		for (unsigned k = 1 + draw(world, 5); k > 0 && !bond.over; k--) {
			struct place place = {NULL, draw(world, 8) == 0 ? object->dead : context, 0,
					      0};

			access_drawn(&bond, &p->span, place, ACCESS_LOCAL_OPS);
		}
		rmr_leave(&bond, object, p, context);
		object->dead = context;
		bond_end(&bond);
		world_reset(world, object->ep);
		/* A wide window stays linked. */
		if (!object->wide)
			trace_rmr(world->trace, object->rmr);
		if (object->wide)
			break;
	}
}

static void
rmr_end(struct world *world, void *arg)
{
	struct rmr_object *object = arg;

	world_ok(world, it_rmr_free(object->rmr));
	world_ok(world, it_ep_free(object->ep));
	for (unsigned i = 0; i < 2; i++) {
		world_ok(world, it_lmr_free(object->lmrs[i]));
		trace_name(world->trace, object->lmrs[i], NULL);
	}
	trace_name(world->trace, object->rmr, NULL);
	trace_name(world->trace, object->ep, NULL);
	g_free(object);
}

/* A narrow window is unlinked by the reset; a wide one is replaced. */
static void
to_next(struct world *world, void *arg, const void *param)
{
	(void)world;
	(void)arg;
	(void)param;
}

static bool
linked(it_rmr_handle_t rmr)
{
	it_rmr_param_t p;

	memset(&p, 0, sizeof(p));
	pair_ok(it_rmr_query(rmr, IT_RMR_PARAM_BOUND, &p));
	return p.bound;
}

/* Links and unlinks that are refused for want of a slot leave the window linked, or as its peer left it. */
static void
first_link_refused(struct world *world, void *arg, const void *param)
{
	const struct rmr_param *p = param;
	struct rmr_object *object = arg;
	it_rmr_context_t context = 0;
	it_ep_param_t ep;
	struct bond bond;
	bool before = true;

	bond_join(&bond, world, object->ep);
	memset(&ep, 0, sizeof(ep));
	pair_ok(it_ep_query(object->ep, IT_EP_PARAM_MAX_REQ_DTO, &ep));
	context = rmr_link(&bond, object, p);
	if (!object->wide && world->seed % 2 == 1) {
		trace_line(world->trace, "the peer unlinks: %s",
			   it_dto_status_name(access_unlink(&bond, context)));
		before = linked(object->rmr);
		g_assert_false(before);
	}
	for (size_t i = 0; i < ep.attr.max_request_dtos; i++)
		world_ok(world, it_post_send(bond.near, NULL, 0, i, (it_dto_flags_t)0));
	g_assert_cmpint(it_rmr_link(object->rmr, object->lmrs[1 - p->lmr], world->near.end.buffer,
				    64, IT_ADDR_MODE_ABSOLUTE, IT_PRIV_REMOTE_WRITE, bond.near, 1,
				    SIGNALED, &context),
			==, IT_ERR_TOO_MANY_POSTS);
	g_assert_true(linked(object->rmr) == before);
	if (before)
		g_assert_cmpint(it_rmr_unlink(object->rmr, bond.near, 1, SIGNALED), ==,
				IT_ERR_TOO_MANY_POSTS);
	g_assert_true(linked(object->rmr) == before);
	world_ok(world, it_ep_disconnect(bond.far, NULL, 0));
	world_ok(world, it_evd_wait(world->near.end.cm_msg, patience(), &(it_event_t){0}, NULL));
	world_ok(world, it_evd_wait(world->far.end.cm_msg, patience(), &(it_event_t){0}, NULL));
	bond.over = true;
	world_forget(world);
	bond_end(&bond);
	world_reset(world, object->ep);
}

static const struct again rmr_ways[] = {
	{"again", 0, NULL, to_next},
	{"link-refused", 0, first_link_refused, to_next},
	{NULL, 0, NULL, NULL},
};

const struct kind kind_narrow = {"narrow",
				 NEEDS_NARROW | NEEDS_UNLINK | NEEDS_REMOTE_UNLINK,
				 sizeof(struct rmr_param),
				 rmr_draw,
				 narrow_make,
				 rmr_live,
				 rmr_end,
				 rmr_ways};
const struct kind kind_wide = {"wide",
			       NEEDS_WIDE | NEEDS_UNLINK,
			       sizeof(struct rmr_param),
			       rmr_draw,
			       wide_make,
			       rmr_live,
			       rmr_end,
			       rmr_ways};
