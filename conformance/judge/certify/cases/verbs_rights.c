/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Rights by use: each set of the three remote rights, given to a region, a window or a queue pair
 * that had other sets before, and each operation that needs one of them. Operations with rights in
 * the set must be granted, all others refused, whatever the former sets were and whatever a query
 * reports.
 */

#include <string.h>

#include "verbs_reach.h"
#include "verbs_reset.h"
#include "verbs_window.h"

#define SETS  8u
#define OPS   3u
#define ROOM  512u
#define START 64u /* of what is tried, in the memory */
/* Of a window that was larger. */
#define PART        (START + 64u)
#define PART_LENGTH 64u
#define REMOTE      (RI_ACCESS_REMOTE_READ | RI_ACCESS_REMOTE_WRITE | RI_ACCESS_REMOTE_ATOMIC)

static const struct {
	enum reach_subject subject;
	uint32_t needs;
} ops[OPS] = {{REACH_WRITE, RI_ACCESS_REMOTE_WRITE},
	      {REACH_READ, RI_ACCESS_REMOTE_READ},
	      {REACH_ADD, RI_ACCESS_REMOTE_ATOMIC}};

/* A set by its number; of an adapter without atomics the upper half is the lower one. */
static uint32_t
set_of(const struct cert *cert, unsigned set)
{
	return ((set & 1) != 0 ? RI_ACCESS_REMOTE_READ : 0u) |
	       ((set & 2) != 0 ? RI_ACCESS_REMOTE_WRITE : 0u) |
	       ((set & 4) != 0 && cert_attr(cert)->atomics ? (uint32_t)RI_ACCESS_REMOTE_ATOMIC
							   : 0u);
}

static unsigned
sets(const struct cert *cert)
{
	return cert_attr(cert)->atomics ? SETS : SETS / 2;
}

/* Has the adapter the operation, and is it refused by that set? */
static bool
refuses(const struct cert *cert, unsigned op, uint32_t set)
{
	return reach_can(cert, ops[op].subject) && (set & ops[op].needs) == 0;
}

/* All that the set has, over the connection that there is. */
static void
grants(struct reach *reach, const struct ri_sge *range, size_t at, uint32_t set)
{
	for (unsigned op = 0; op < OPS; op++) {
		reach->subject = ops[op].subject;
		if ((set & ops[op].needs) != 0 && reach_can(reach->cert, reach->subject))
			reach_granted(reach, range, at);
	}
}

static void
refusal(struct reach *reach, const struct ri_sge *range, unsigned op)
{
	reach->subject = ops[op].subject;
	reach_refused(reach, range);
}

/* --- regions ----------------------------------------------------------------------------------- */

struct region {
	struct reach reach;
	const struct ri_mem_ops *mem;
	struct ri_mr_init init;
	struct ri_mr *mr;
	struct ri_sge range;
};

static uint8_t memory[ROOM] __attribute__((aligned(16)));
static uint8_t expected[ROOM];

static void
region_open(struct region *region, struct cert *cert)
{
	*region = (struct region){.mr = NULL};
	reach_open(&region->reach, cert, REACH_WRITE);
	reach_over(&region->reach, memory, expected, ROOM);
	region->mem = region->reach.far->p->mem;
	region->init = (struct ri_mr_init){.addr = (uintptr_t)memory + START, .length = 64};
	region->range = (struct ri_sge){.addr = region->init.addr + 16, .length = 8};
}

/* What the set has, and each operation that it has not, which ends a connection. */
static void
region_try(struct region *region, uint32_t set)
{
	struct reach *reach = &region->reach;

	reach_connect(reach);
	grants(reach, &region->range, START + 16, set);
	for (unsigned op = 0; op < OPS; op++) {
		if (!refuses(reach->cert, op, set))
			continue;
		refusal(reach, &region->range, op);
		reach_disconnected(reach);
		reach_connect(reach);
	}
	reach_disconnected(reach);
}

static void
region_sets(struct cert *cert)
{
	struct region region;

	region_open(&region, cert);
	for (unsigned i = 0; i < 2 * sets(cert); i++) {
		uint32_t set = set_of(cert, i / 2);

		region.init.access = CERT_LOCAL | set | (i % 2 != 0 ? RI_ACCESS_BIND : 0u);
		cert_note(cert, "a region with the rights %#x", region.init.access);
		CERT_VERB(cert, RI_SUCCESS,
			  region.mem->mr_reg(region.reach.far->pd, &region.init, &region.mr,
					     &region.range.stag));
		region_try(&region, set);
		CERT_VERB(cert, RI_SUCCESS, region.mem->mr_dereg(region.mr));
	}
}

/* The same region has each set after all rights, and after all that the set lacks. */
static void
region_again(struct cert *cert)
{
	struct region region;

	region_open(&region, cert);
	region.init.access = CERT_LOCAL;
	CERT_VERB(cert, RI_SUCCESS,
		  region.mem->mr_reg(region.reach.far->pd, &region.init, &region.mr,
				     &region.range.stag));
	for (unsigned i = 0; i < 2 * sets(cert); i++) {
		uint32_t set = set_of(cert, i / 2), before = set_of(cert, SETS - 1);

		if (i % 2 != 0)
			before &= ~set;
		region.init.keep_stag = (i / 2) % 2 != 0;
		region.init.access = CERT_LOCAL | before;
		CERT_VERB(cert, RI_SUCCESS,
			  region.mem->mr_rereg(region.mr, region.reach.far->pd, &region.init,
					       &region.range.stag));
		reach_connect(&region.reach);
		grants(&region.reach, &region.range, START + 16, before);
		reach_disconnected(&region.reach);
		cert_note(cert, "the rights %#x after %#x", set, before);
		region.init.access = CERT_LOCAL | set;
		CERT_VERB(cert, RI_SUCCESS,
			  region.mem->mr_rereg(region.mr, region.reach.far->pd, &region.init,
					       &region.range.stag));
		region_try(&region, set);
	}
	CERT_VERB(cert, RI_SUCCESS, region.mem->mr_dereg(region.mr));
}

/* --- windows ----------------------------------------------------------------------------------- */

struct window {
	struct mw_scene scene;
	struct reach reach;
	uint8_t expected[VERBS_MEMORY];
	bool narrow;
	bool bound;
};

static void
window_open(struct window *window, struct cert *cert, enum ri_mw_type type)
{
	struct pair *pair = &window->scene.pair;

	memset(window, 0, sizeof(*window));
	window->narrow = type == RI_MW_NARROW;
	mw_scene_open(&window->scene, cert, type);
	window->reach = (struct reach){.cert = cert,
				       .near = pair->near,
				       .far = pair->far,
				       .a = pair->a,
				       .b = pair->b,
				       .here = pair->from,
				       .owner = pair->far,
				       .most = REACH_MOST};
	window->reach.there = cert_region_new(pair->far, REACH_MOST, CERT_ALL);
	reach_over(&window->reach, pair->into->at, window->expected, VERBS_MEMORY);
}

/* Another bind, of `length` octets from `at` on, and what it grants. */
static void
window_bind_at(struct window *window, uint32_t set, size_t at, size_t length, struct ri_sge *range)
{
	struct mw_scene *scene = &window->scene;

	if (window->narrow && window->bound) {
		cert_post(scene->pair.b, &(struct ri_wr){.wr_id = 51,
							 .opcode = RI_OP_LOCAL_INV,
							 .flags = RI_WR_SIGNALED,
							 .inv_stag = scene->stag});
		cert_wc_is(scene->pair.b, false, 51, RI_WC_SUCCESS);
	}
	mw_bind(scene, at, length, set);
	window->bound = true;
	CERT_UINT(scene->cert, mw_attr(scene).access & REMOTE, ==, set);
	*range = (struct ri_sge){.addr = (uintptr_t)scene->pair.into->at + at + 16,
				 .length = 8,
				 .stag = scene->stag};
	grants(&window->reach, range, at + 16, set);
}

/* All but the first octets of the region. */
static void
window_bind(struct window *window, uint32_t set, struct ri_sge *range)
{
	window_bind_at(window, set, START, VERBS_MEMORY - START, range);
}

/* The last of three binds has the set, and `op` is tried if the set lacks it. */
static void
window_try(struct window *window, struct cert *cert, enum ri_mw_type type, unsigned i)
{
	uint32_t set = set_of(cert, i / OPS), all = set_of(cert, SETS - 1);
	unsigned op = i % OPS;
	struct ri_sge range;

	if (!refuses(cert, op, set))
		return;
	cert_note(cert, "a window with the rights %#x, which had others", set);
	window_open(window, cert, type);
	window_bind(window, all, &range);
	window_bind(window, all & ~set, &range);
	window_bind(window, set, &range);
	refusal(&window->reach, &range, op);
	mw_scene_end(&window->scene);
	cert_node_close(window->scene.pair.near);
	cert_node_close(window->scene.pair.far);
}

static void
window_sets(struct cert *cert, enum ri_mw_type type)
{
	struct window *window = g_new0(struct window, 1);

	for (unsigned i = 0; i < OPS * sets(cert); i++)
		window_try(window, cert, type, i);
	g_free(window);
}

/* A part of what the window had, and an operation before that part or behind it. */
static void
window_shrinks(struct cert *cert, enum ri_mw_type type)
{
	static const size_t outside[] = {START + 16, PART - 8, PART + PART_LENGTH,
					 VERBS_MEMORY - 8};
	struct window *window = g_new0(struct window, 1);
	uint32_t all = set_of(cert, SETS - 1);
	struct ri_sge range;

	for (size_t i = 0; i < G_N_ELEMENTS(outside) * OPS; i++) {
		if (!reach_can(cert, ops[i % OPS].subject))
			continue;
		cert_note(cert, "octet %zu, which the window had before", outside[i / OPS]);
		window_open(window, cert, type);
		window_bind(window, all, &range);
		window_bind_at(window, all, PART, PART_LENGTH, &range);
		range.addr = (uintptr_t)window->scene.pair.into->at + outside[i / OPS];
		refusal(&window->reach, &range, i % OPS);
		mw_scene_end(&window->scene);
		cert_node_close(window->scene.pair.near);
		cert_node_close(window->scene.pair.far);
	}
	g_free(window);
}

static void
narrow_shrinks(struct cert *cert)
{
	window_shrinks(cert, RI_MW_NARROW);
}

static void
wide_shrinks(struct cert *cert)
{
	window_shrinks(cert, RI_MW_WIDE);
}

static void
narrow_sets(struct cert *cert)
{
	window_sets(cert, RI_MW_NARROW);
}

static void
wide_sets(struct cert *cert)
{
	window_sets(cert, RI_MW_WIDE);
}

/* --- queue pairs --------------------------------------------------------------------------------- */

struct end {
	struct region region;
	struct ri_qp_init init;
};

/* A region with all rights, and what the queue pair is created with. */
static void
end_open(struct end *end, struct cert *cert)
{
	region_open(&end->region, cert);
	end->region.init.access = reach_rights(cert);
	CERT_VERB(cert, RI_SUCCESS,
		  end->region.mem->mr_reg(end->region.reach.far->pd, &end->region.init,
					  &end->region.mr, &end->region.range.stag));
	end->init = cert_end_defaults(end->region.reach.far);
}

static void
end_close(struct end *end)
{
	CERT_VERB(end->region.reach.cert, RI_SUCCESS, end->region.mem->mr_dereg(end->region.mr));
}

static void
end_new(struct end *end, uint32_t set)
{
	struct reach *reach = &end->region.reach;

	end->init.access = set | RI_ACCESS_BIND;
	reach->a = cert_end_new(reach->near, NULL);
	reach->b = cert_end_new(reach->far, &end->init);
}

static void
end_modify(struct end *end, uint32_t set)
{
	const struct ri_qp_attr attr = {.access = set | RI_ACCESS_BIND};
	struct reach *reach = &end->region.reach;

	CERT_VERB(reach->cert, RI_SUCCESS,
		  reach->far->p->qp->modify(reach->b->qp, &attr, RI_QP_ATTR_ACCESS));
	CERT_UINT(reach->cert, cert_end_attr(reach->b).access & REMOTE, ==, set);
}

static void
end_created(struct cert *cert)
{
	struct end end;

	end_open(&end, cert);
	for (unsigned i = 0; i < OPS * sets(cert); i++) {
		uint32_t set = set_of(cert, i / OPS);

		if (!refuses(cert, i % OPS, set))
			continue;
		cert_note(cert, "a queue pair with the rights %#x", set);
		end_new(&end, set);
		cert_connect(end.region.reach.a, end.region.reach.b);
		grants(&end.region.reach, &end.region.range, START + 16, set);
		refusal(&end.region.reach, &end.region.range, i % OPS);
		reach_disconnected(&end.region.reach);
	}
	end_close(&end);
}

static void
end_modified(struct cert *cert)
{
	uint32_t all = set_of(cert, SETS - 1);
	struct end end;

	end_open(&end, cert);
	for (unsigned i = 0; i < OPS * sets(cert); i++) {
		uint32_t set = set_of(cert, i / OPS), steps[] = {all, all & ~set, set};

		if (!refuses(cert, i % OPS, set))
			continue;
		cert_note(cert, "a queue pair that gets the rights %#x", set);
		end_new(&end, all);
		cert_connect(end.region.reach.a, end.region.reach.b);
		for (size_t step = 0; step < G_N_ELEMENTS(steps); step++) {
			end_modify(&end, steps[step]);
			grants(&end.region.reach, &end.region.range, START + 16, steps[step]);
		}
		refusal(&end.region.reach, &end.region.range, i % OPS);
		reach_disconnected(&end.region.reach);
	}
	end_close(&end);
}

/* A life with that set: what it has, and one operation that it lacks, or an orderly end. */
static void
life(struct end *end, uint32_t set, unsigned op)
{
	struct reach *reach = &end->region.reach;

	grants(reach, &end->region.range, START + 16, set);
	if (refuses(reach->cert, op, set))
		refusal(reach, &end->region.range, op);
	else
		cert_disconnect(reach->a, reach->b);
	cert_wait_end(reach->a);
	cert_wait_end(reach->b);
	cert_wait_quiescent(reach->a);
	cert_wait_quiescent(reach->b);
	cert_events_forget(reach->near);
	cert_events_forget(reach->far);
	reset_end(reach->a);
	reset_end(reach->b);
}

/* Rights that were changed before a connection or during one are those of all lives that follow. */
static void
end_lives(struct cert *cert)
{
	uint32_t all = set_of(cert, SETS - 1);
	struct end end;

	end_open(&end, cert);
	for (unsigned i = 0; i < 2 * sets(cert); i++) {
		uint32_t set = set_of(cert, i / 2), first = i % 2 != 0 ? all & ~set : all;
		struct reach *reach = &end.region.reach;

		cert_note(cert, "a queue pair that was created with the rights %#x and gets %#x",
			  first, set);
		end_new(&end, first);
		if (i % 2 == 0)
			end_modify(&end, set);
		for (unsigned op = 0; op < OPS; op++) {
			cert_connect(reach->a, reach->b);
			if (i % 2 != 0 && op == 0) {
				grants(reach, &end.region.range, START + 16, first);
				end_modify(&end, set);
			}
			CERT_UINT(cert, cert_end_attr(reach->b).access & REMOTE, ==, set);
			life(&end, set, op);
		}
		reach_disconnected(reach);
	}
	end_close(&end);
}

static const struct cert_case cases[] = {
	{.id = "verbs.right.region.0001",
	 .title = "A region grants each operation of the peer that it has the right for, of all "
		  "sets of rights, and no other",
	 .rule = "[RI 5.3.2]",
	 .run = region_sets},
	{.id = "verbs.right.region.0002",
	 .title = "A region that is registered anew has its new rights, of all sets, and none of "
		  "the old ones",
	 .rule = "[RI 5.3.2] [RI 5.2.3]",
	 .needs = "reregister",
	 .settles = "reregister",
	 .run = region_again},
	{.id = "verbs.right.window.0001",
	 .title =
		 "A narrow window that is bound again has its new rights, of all sets, and none of "
		 "the old ones",
	 .rule = "[RI 5.6.3] [RI 5.6.1]",
	 .needs = "mw_narrow mw_narrow_unbind mw_key_owner:RI_KEY_CONSUMER",
	 .run = narrow_sets},
	{.id = "verbs.right.window.0002",
	 .title = "A wide window that is bound again has its new rights, of all sets, and none of "
		  "the old ones",
	 .rule = "[RI 5.6.3] [RI 5.6.1]",
	 .needs = "mw_wide mw_key_owner:RI_KEY_CONSUMER",
	 .run = wide_sets},
	{.id = "verbs.right.window.0003",
	 .title = "A narrow window that is bound again to a part of its range has that part only",
	 .rule = "[RI 5.6.3] [RI 5.6.1]",
	 .needs = "mw_narrow mw_narrow_unbind mw_key_owner:RI_KEY_CONSUMER",
	 .run = narrow_shrinks},
	{.id = "verbs.right.window.0004",
	 .title = "A wide window that is bound again to a part of its range has that part only",
	 .rule = "[RI 5.6.3] [RI 5.6.1]",
	 .needs = "mw_wide mw_key_owner:RI_KEY_CONSUMER",
	 .run = wide_shrinks},
	{.id = "verbs.right.pair.0001",
	 .title =
		 "A queue pair grants each operation of the peer that it has the right for, of all "
		 "sets of rights, and no other",
	 .rule = "[RI 5.3.2]",
	 .run = end_created},
	{.id = "verbs.right.pair.0002",
	 .title = "Rights of a queue pair count as they were last set, of all sets",
	 .rule = "[RI 10.14] [RI 5.3.2]",
	 .needs = "enables_modifiable",
	 .settles = "enables_modifiable",
	 .run = end_modified},
	{.id = "verbs.right.pair.0003",
	 .title = "Rights of a queue pair that were set count in each later connection",
	 .rule = "[RI 10.14] [RI 10.26] [RI 5.3.2]",
	 .needs = "enables_modifiable qp_reusable",
	 .settles = "enables_modifiable",
	 .run = end_lives},
};

CERT_SET(verbs_rights, cases);
