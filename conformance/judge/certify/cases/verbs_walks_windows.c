/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Random sequences of operations on several windows, compared with a model: windows of two queue
 * pairs on parts of two regions, with every set of rights, are bound, invalidated by their owner or
 * its peer, freed and bound again. After each step each window and region is queried, and each
 * bound window is accessed. A sequence ends with an access that no window allows.
 */

#include <string.h>

#include "verbs_pair.h"

#define WINDOWS 5u
#define WALKS   14u
#define STEPS   30u
#define SPAN    256u /* octets of a region */
#define PART    16u  /* octets of an access */
#define REMOTE  (RI_ACCESS_REMOTE_READ | RI_ACCESS_REMOTE_WRITE | RI_ACCESS_REMOTE_ATOMIC)

struct window {
	struct ri_mw *mw;
	uint32_t stag;
	bool wide, bound;
	unsigned owner, region; /* of a bound one */
	uint32_t access;
	size_t at, length; /* what it opens */
};

struct scene {
	struct cert *cert;
	struct cert_node *near, *far;
	struct cert_end *a[2], *b[2];
	struct cert_region *from, *regions[2];
	uint8_t is[2][SPAN]; /* what the regions must hold */
	struct window windows[WINDOWS];
};

static void
window_new(struct scene *scene, struct window *window)
{
	const struct ri_rnic_attr *attr = cert_attr(scene->cert);

	memset(window, 0, sizeof(*window));
	window->wide =
		attr->mw_wide && (!attr->mw_narrow || cert_random_below(scene->cert, 3) == 0);
	CERT_VERB(scene->cert, RI_SUCCESS,
		  scene->far->p->mem->mw_alloc(scene->far->pd,
					       window->wide ? RI_MW_WIDE : RI_MW_NARROW,
					       &window->mw, &window->stag));
}

static struct ri_mr_attr
window_attr(struct scene *scene, const struct window *window)
{
	struct ri_mr_attr attr = {0};

	CERT_VERB(scene->cert, RI_SUCCESS, scene->far->p->mem->mw_query(window->mw, &attr));
	return attr;
}

/* --- steps ------------------------------------------------------------------------------------- */

/* A window that is free, or a wide one, gets a part of a region. */
static void
step_bind(struct scene *scene, struct window *window)
{
	bool returned = window->wide && scene->far->attr.mw_wide_stag_returned;
	struct cert *cert = scene->cert;
	uint32_t stag = 0;

	if (window->bound && !window->wide)
		return;
	window->owner = cert_random_below(cert, 2);
	window->region = cert_random_below(cert, 2);
	window->access = (cert_random_below(cert, 3) > 0 ? RI_ACCESS_REMOTE_READ : 0u) |
			 (cert_random_below(cert, 3) > 0 ? RI_ACCESS_REMOTE_WRITE : 0u);
	window->at = PART * cert_random_below(cert, SPAN / PART);
	window->length = PART * (1 + cert_random_below(cert, (uint32_t)(SPAN - window->at) / PART));
	window->stag = (window->stag & ~0xffu) | ((window->stag + 1) & 0xff);
	cert_post(scene->b[window->owner],
		  &(struct ri_wr){
			  .wr_id = 7,
			  .opcode = RI_OP_BIND_MW,
			  .flags = RI_WR_SIGNALED,
			  .u.returning = {
				  .bind = {.mw_stag = window->stag,
					   .mr_stag = scene->regions[window->region]->stag,
					   .addr = (uintptr_t)scene->regions[window->region]->at +
						   window->at,
					   .length = window->length,
					   .access = window->access},
				  .stag = returned ? &stag : NULL}});
	cert_wc_is(scene->b[window->owner], false, 7, RI_WC_SUCCESS);
	window->bound = true;
	window->stag = window_attr(scene, window).stag;
	if (returned)
		CERT_UINT(cert, stag, ==, window->stag);
}

/* Its owner takes it away, or the owner's peer, who may if it has a right. */
static void
step_take(struct scene *scene, struct window *window)
{
	const struct ri_rnic_attr *attr = &scene->far->attr;
	struct ri_wr wr = {.wr_id = 8, .flags = RI_WR_SIGNALED, .inv_stag = window->stag};
	struct cert_end *a = scene->a[window->owner], *b = scene->b[window->owner];
	bool by_peer = attr->send_invalidate && window->access != 0 &&
		       cert_random_below(scene->cert, 2) == 0;
	struct ri_wc wc;

	if (!window->bound || window->wide || (!by_peer && !attr->mw_narrow_unbind))
		return;
	if (by_peer) {
		wr.opcode = RI_OP_SEND;
		wr.flags |= RI_WR_INVALIDATE;
		cert_post_recv(b, 9, NULL, 0);
		cert_post(a, &wr);
		wc = cert_wc_is(b, true, 9, RI_WC_SUCCESS);
		CERT_TRUE(scene->cert, (wc.flags & RI_WC_INVALIDATED) != 0);
		CERT_UINT(scene->cert, wc.inv_stag, ==, window->stag);
	} else {
		wr.opcode = RI_OP_LOCAL_INV;
		cert_post(b, &wr);
	}
	cert_wc_is(by_peer ? a : b, false, 8, RI_WC_SUCCESS);
	window->bound = false;
}

/* Another one comes in its place. */
static void
step_free(struct scene *scene, struct window *window)
{
	CERT_VERB(scene->cert, RI_SUCCESS, scene->far->p->mem->mw_free(window->mw));
	window_new(scene, window);
}

/* --- what must hold ------------------------------------------------------------------------------- */

static struct ri_sge
through(struct scene *scene, const struct window *window, size_t at)
{
	return (struct ri_sge){.addr = (uintptr_t)scene->regions[window->region]->at + at,
			       .length = PART,
			       .stag = window->stag};
}

/* The peer of its owner writes into the window, or reads, at a random place of it. */
static void
used(struct scene *scene, const struct window *window)
{
	size_t parts = window->length / PART;
	size_t at = window->at + PART * cert_random_below(scene->cert, (uint32_t)parts);
	struct ri_sge local = cert_sge(scene->from, 0, PART), far = through(scene, window, at);
	struct ri_sge none = cert_sge(scene->from, 0, 0);
	struct cert_end *end = scene->a[window->owner];
	bool reads = end->init.ord > 0 && scene->b[window->owner]->init.ird > 0;

	if ((window->access & RI_ACCESS_REMOTE_WRITE) != 0) {
		for (size_t i = 0; i < PART; i++)
			scene->from->at[i] = (uint8_t)cert_random(scene->cert);
		cert_post_rdma(end, RI_OP_RDMA_WRITE, 1, &local, &far);
		cert_wc_is(end, false, 1, RI_WC_SUCCESS);
		memcpy(scene->is[window->region] + at, scene->from->at, PART);
		if (reads) { /* placed when the Read is answered */
			far.length = 0;
			cert_post_rdma(end, RI_OP_RDMA_READ, 2, &none, &far);
			cert_wc_is(end, false, 2, RI_WC_SUCCESS);
		}
	} else if (reads && (window->access & RI_ACCESS_REMOTE_READ) != 0) {
		cert_post_rdma(end, RI_OP_RDMA_READ, 3, &local, &far);
		cert_wc_is(end, false, 3, RI_WC_SUCCESS);
		CERT_BYTES(scene->cert, scene->from->at, scene->is[window->region] + at, PART);
	}
}

static void
all_hold(struct scene *scene)
{
	uint32_t bound[2] = {0, 0};
	gint64 until = 0;

	for (unsigned i = 0; i < WINDOWS; i++) {
		const struct window *window = &scene->windows[i];
		struct ri_mr_attr seen = window_attr(scene, window);

		CERT_UINT(scene->cert, seen.valid, ==, window->bound);
		if (!window->bound)
			continue;
		bound[window->region]++;
		CERT_UINT(scene->cert, seen.stag, ==, window->stag);
		CERT_UINT(scene->cert, seen.access & REMOTE, ==, window->access);
		CERT_UINT(scene->cert, seen.length, ==, window->length);
		used(scene, window);
	}
	for (unsigned i = 0; i < 2; i++) {
		struct ri_mr_attr seen = {0};

		CERT_VERB(scene->cert, RI_SUCCESS,
			  scene->far->p->mem->mr_query(scene->regions[i]->mr, &seen));
		CERT_UINT(scene->cert, seen.bound, ==, bound[i]);
		while (memcmp(scene->regions[i]->at, scene->is[i], SPAN) != 0 &&
		       cert_patience(scene->cert, &until))
			;
		CERT_BYTES(scene->cert, scene->regions[i]->at, scene->is[i], SPAN);
	}
}

/* --- the end of a walk --------------------------------------------------------------------------------- */

/*
 * Finds a Write or a Read that a window must refuse: because the window is not bound, lacks the
 * right, ends before that place, or is a narrow one of the other queue pair. False: the window
 * allows everything.
 */
static bool
refused_of(struct scene *scene, const struct window *window, enum ri_opcode *opcode, size_t *at,
	   unsigned *who)
{
	const uint32_t right =
		*opcode == RI_OP_RDMA_READ ? RI_ACCESS_REMOTE_READ : RI_ACCESS_REMOTE_WRITE;

	*who = window->owner;
	*at = window->at;
	if (!window->bound || (window->access & right) == 0)
		return true;
	if (!window->wide && cert_random_below(scene->cert, 2) == 0) {
		*who = 1 - window->owner;
		return true;
	}
	*at = window->at + window->length;
	if (*at < SPAN)
		return true;
	*at = window->at - PART;
	return window->at >= PART;
}

static void
refused(struct scene *scene, const struct window *window)
{
	bool reads = scene->a[0]->init.ord > 0 && scene->b[0]->init.ird > 0 &&
		     cert_random_below(scene->cert, 2) == 0;
	enum ri_opcode opcode = reads ? RI_OP_RDMA_READ : RI_OP_RDMA_WRITE;
	struct ri_sge local = cert_sge(scene->from, 0, PART), far;
	uint8_t before[PART];
	unsigned who;
	size_t at;

	if (!refused_of(scene, window, &opcode, &at, &who))
		return;
	cert_note(scene->cert, "%s at %zu of a %s window with rights %#x of %zu octets at %zu%s",
		  ri_opcode_name(opcode), at, window->wide ? "wide" : "narrow", window->access,
		  window->length, window->at, window->bound ? "" : ", not bound");
	memset(before, 0xa5, sizeof(before));
	memcpy(scene->from->at, before, PART);
	far = through(scene, window, at);
	cert_post_rdma(scene->a[who], opcode, 4, &local, &far);
	cert_wait_end(scene->a[who]);
	cert_wait_end(scene->b[who]);
	CERT_BYTES(scene->cert, scene->from->at, before, PART);
	for (unsigned i = 0; i < 2; i++)
		CERT_BYTES(scene->cert, scene->regions[i]->at, scene->is[i], SPAN);
}

/* --- walks --------------------------------------------------------------------------------------------- */

static void
scene_open(struct scene *scene, struct cert *cert)
{
	memset(scene, 0, sizeof(*scene));
	scene->cert = cert;
	scene->near = cert_node_open(cert);
	scene->far = cert_node_open(cert);
	scene->from = cert_region_new(scene->near, PART, CERT_ALL);
	for (unsigned i = 0; i < 2; i++) {
		scene->regions[i] = cert_region_new(scene->far, SPAN, CERT_LOCAL | RI_ACCESS_BIND);
		cert_fill(scene->is[i], SPAN, i);
		memcpy(scene->regions[i]->at, scene->is[i], SPAN);
		scene->a[i] = cert_end_new(scene->near, NULL);
		scene->b[i] = cert_end_new(scene->far, NULL);
		cert_connect(scene->a[i], scene->b[i]);
	}
	for (unsigned i = 0; i < WINDOWS; i++)
		window_new(scene, &scene->windows[i]);
}

static void
scene_close(struct scene *scene)
{
	for (unsigned i = 0; i < WINDOWS; i++)
		CERT_VERB(scene->cert, RI_SUCCESS,
			  scene->far->p->mem->mw_free(scene->windows[i].mw));
	cert_node_close(scene->near);
	cert_node_close(scene->far);
}

static void
window_walk(struct cert *cert)
{
	for (unsigned walk = 0; walk < WALKS; walk++) {
		struct scene scene;

		scene_open(&scene, cert);
		for (unsigned step = 0; step < STEPS; step++) {
			struct window *window = &scene.windows[cert_random_below(cert, WINDOWS)];

			switch (cert_random_below(cert, 8)) {
			case 0:
				step_free(&scene, window);
				break;
			case 1:
			case 2:
				step_take(&scene, window);
				break;
			default:
				step_bind(&scene, window);
				break;
			}
			all_hold(&scene);
		}
		refused(&scene, &scene.windows[cert_random_below(cert, WINDOWS)]);
		scene_close(&scene);
	}
}

static const struct cert_case cases[] = {
	{.id = "verbs.walk.window.0001",
	 .title = "Narrow windows open what they were bound to, whatever becomes of the others",
	 .rule = "[RI 5.6.1] [RI 5.6.3] [RI 5.4.1] [RI 5.7.1]",
	 .needs = "mw_narrow",
	 .run = window_walk},
	{.id = "verbs.walk.window.0002",
	 .title = "Wide windows open what they were bound to, whatever becomes of the others",
	 .rule = "[RI 5.6.1] [RI 5.6.3] [RI 5.7.1]",
	 .needs = "mw_wide !mw_narrow",
	 .run = window_walk},
};

CERT_SET(verbs_walks_windows, cases);
