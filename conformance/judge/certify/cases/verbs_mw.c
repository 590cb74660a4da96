/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Memory windows of both kinds: binding, access, invalidation, and objects that a bound window keeps busy. */

#include "verbs_window.h"

/* Both kinds of window. */
#define BOTH(name)                                   \
	static void narrow_##name(struct cert *cert) \
	{                                            \
		name(cert, RI_MW_NARROW);            \
	}                                            \
	static void wide_##name(struct cert *cert)   \
	{                                            \
		name(cert, RI_MW_WIDE);              \
	}

/* --- binding ------------------------------------------------------------------------------- */

static void
bound(struct cert *cert, enum ri_mw_type type)
{
	struct mw_scene scene RI_AT_END(mw_scene_end);
	struct ri_mr_attr attr;

	mw_scene_open(&scene, cert, type);
	CERT_TRUE(cert, !mw_attr(&scene).valid);
	mw_bind(&scene, 100, 200, MW_RIGHTS);
	attr = mw_attr(&scene);
	CERT_TRUE(cert, attr.valid);
	CERT_UINT(cert, attr.stag, ==, scene.stag);
	CERT_UINT(cert, attr.addr, ==, (uintptr_t)scene.pair.into->at + 100);
	CERT_UINT(cert, attr.length, ==, 200);
	CERT_UINT(cert, attr.access, ==, MW_RIGHTS);
	mw_write(&scene, 100, true);
	mw_write(&scene, 284, true);
	cert_note(cert, "one byte behind the window");
	mw_write(&scene, 285, false);
}

BOTH(bound)

static void
before_the_window(struct cert *cert, enum ri_mw_type type)
{
	struct mw_scene scene RI_AT_END(mw_scene_end);

	mw_scene_open(&scene, cert, type);
	mw_bind(&scene, 100, 200, MW_RIGHTS);
	mw_write(&scene, 99, false);
}

BOTH(before_the_window)

/* The region has the right, and the window has not. */
static void
rights_of_the_window(struct cert *cert, enum ri_mw_type type)
{
	struct mw_scene scene RI_AT_END(mw_scene_end);

	mw_scene_open(&scene, cert, type);
	mw_bind(&scene, 100, 200, RI_ACCESS_REMOTE_READ);
	mw_write(&scene, 100, false);
}

BOTH(rights_of_the_window)

static void
not_bound(struct cert *cert, enum ri_mw_type type)
{
	struct mw_scene scene RI_AT_END(mw_scene_end);

	mw_scene_open(&scene, cert, type);
	mw_write(&scene, 0, false);
}

BOTH(not_bound)

/* --- binds that fail ----------------------------------------------------------------------- */

static void
bind_fails(struct mw_scene *scene, const struct ri_wr *wr, const char *why)
{
	cert_note(scene->cert, "%s", why);
	mw_post(scene, wr);
	cert_wc_is(scene->pair.b, false, 50, RI_WC_MW_BIND);
	cert_wait_end(scene->pair.a);
	cert_wait_end(scene->pair.b);
	CERT_TRUE(scene->cert, !mw_attr(scene).valid);
}

static void
binds_that_fail(struct cert *cert, enum ri_mw_type type)
{
	struct mw_scene scene;
	struct ri_wr wr;

	for (unsigned row = 0; row < 6; row++) {
		struct cert_region *closed;
		const char *why = "";

		mw_scene_open(&scene, cert, type);
		closed = cert_region_new(scene.pair.far, 64, CERT_ALL & ~(uint32_t)RI_ACCESS_BIND);
		wr = mw_bind_of(&scene, 0, 64, MW_RIGHTS);
		switch (row) {
		case 0:
			why = "a region without the right to bind";
			wr.u.bind.mr_stag = closed->stag;
			wr.u.bind.addr = (uintptr_t)closed->at;
			break;
		case 1:
			why = "one byte more than the region has";
			wr.u.bind.length = VERBS_MEMORY + 1;
			break;
		case 2:
			why = "one byte before the region";
			wr.u.bind.addr--;
			break;
		case 3:
			why = "a key of no region";
			wr.u.bind.mr_stag ^= 1u << 20;
			break;
		case 4:
			why = "a region that is deregistered";
			wr.u.bind.mr_stag = closed->stag;
			cert_region_free(closed);
			break;
		default:
			why = "a right to write, where the region has no local right to";
			closed = cert_region_new(scene.pair.far, 64,
						 RI_ACCESS_LOCAL_READ | RI_ACCESS_BIND);
			wr.u.bind.mr_stag = closed->stag;
			wr.u.bind.addr = (uintptr_t)closed->at;
			break;
		}
		bind_fails(&scene, &wr, why);
		mw_scene_end(&scene);
	}
}

BOTH(binds_that_fail)

/* A window and a region of two domains. */
static void
bind_across_domains(struct cert *cert)
{
	struct mw_scene scene RI_AT_END(mw_scene_end);
	struct ri_pd *other = NULL;
	struct cert_region *region;
	struct ri_wr wr;

	mw_scene_open(&scene, cert, RI_MW_NARROW);
	CERT_VERB(cert, RI_SUCCESS, scene.pair.far->p->pd->create(scene.pair.far->context, &other));
	region = cert_region_new_in(scene.pair.far, other, 64, CERT_ALL);
	wr = mw_bind_of(&scene, 0, 64, MW_RIGHTS);
	wr.u.bind.mr_stag = region->stag;
	wr.u.bind.addr = (uintptr_t)region->at;
	bind_fails(&scene, &wr, "a region of another protection domain");
}

static void
narrow_bound_twice(struct cert *cert)
{
	struct mw_scene scene RI_AT_END(mw_scene_end);
	struct ri_wr wr;

	mw_scene_open(&scene, cert, RI_MW_NARROW);
	mw_bind(&scene, 0, 64, MW_RIGHTS);
	wr = mw_bind_of(&scene, 64, 64, MW_RIGHTS);
	cert_post(scene.pair.b, &wr);
	cert_wc_is(scene.pair.b, false, 50, RI_WC_MW_BIND);
	cert_wait_end(scene.pair.b);
}

static void
wide_bound_twice(struct cert *cert)
{
	struct mw_scene scene RI_AT_END(mw_scene_end);
	uint32_t old;

	mw_scene_open(&scene, cert, RI_MW_WIDE);
	mw_bind(&scene, 0, 64, MW_RIGHTS);
	old = scene.stag;
	mw_bind(&scene, 64, 64, MW_RIGHTS);
	mw_write(&scene, 64, true);
	cert_note(cert, "the key of the first bind");
	scene.stag = old;
	mw_write(&scene, 0, false);
}

/*
 * Each bind returns a new key as soon as it is posted, even if it fails later; if it fails, the
 * former key stays valid.
 */
static void
keys_returned(struct cert *cert)
{
	struct mw_scene scene RI_AT_END(mw_scene_end);
	struct ri_wr wr;
	uint32_t first;

	mw_scene_open(&scene, cert, RI_MW_WIDE);
	mw_bind(&scene, 0, 64, MW_RIGHTS);
	first = scene.stag;
	mw_write(&scene, 0, true);
	mw_bind(&scene, 64, 64, MW_RIGHTS);
	CERT_UINT(cert, scene.stag, !=, first);
	CERT_UINT(cert, mw_attr(&scene).stag, ==, scene.stag);
	first = scene.stag;
	wr = mw_bind_of(&scene, 0, VERBS_MEMORY + 1, MW_RIGHTS);
	mw_post(&scene, &wr);
	CERT_UINT(cert, scene.stag, !=, first);
	cert_wc_is(scene.pair.b, false, 50, RI_WC_MW_BIND);
	cert_wait_end(scene.pair.a);
	cert_wait_end(scene.pair.b);
	cert_note(cert, "the window is as it was before the bind that failed");
	CERT_UINT(cert, mw_attr(&scene).stag, ==, first);
	CERT_VERB(cert, RI_ERR_BUSY, scene.pair.far->p->mem->mr_dereg(scene.pair.into->mr));
	scene.stag = first;
	scene.pair.a = cert_end_new(scene.pair.near, NULL);
	scene.pair.b = cert_end_new(scene.pair.far, NULL);
	cert_connect(scene.pair.a, scene.pair.b);
	mw_write(&scene, 64, true);
	mw_bind(&scene, 0, 64, MW_RIGHTS);
	mw_write(&scene, 0, true);
}

/* --- invalidation -------------------------------------------------------------------------- */

static void
invalidated_here(struct cert *cert)
{
	struct mw_scene scene RI_AT_END(mw_scene_end);
	struct ri_wr wr = {.wr_id = 51, .opcode = RI_OP_LOCAL_INV, .flags = RI_WR_SIGNALED};

	mw_scene_open(&scene, cert, RI_MW_NARROW);
	mw_bind(&scene, 0, 64, MW_RIGHTS);
	mw_write(&scene, 0, true);
	wr.inv_stag = scene.stag;
	cert_post(scene.pair.b, &wr);
	cert_wc_is(scene.pair.b, false, 51, RI_WC_SUCCESS);
	CERT_TRUE(cert, !mw_attr(&scene).valid);
	cert_note(cert, "it can be bound again");
	mw_bind(&scene, 64, 64, MW_RIGHTS);
	mw_write(&scene, 64, true);
	cert_note(cert, "the key of the first bind");
	scene.stag = wr.inv_stag;
	mw_write(&scene, 0, false);
}

/* The peer's Send takes the window away, and the receive tells which one. */
static void
invalidated_by_peer(struct cert *cert)
{
	struct mw_scene scene RI_AT_END(mw_scene_end);
	struct ri_wr wr = {
		.wr_id = 1, .opcode = RI_OP_SEND, .flags = RI_WR_SIGNALED | RI_WR_INVALIDATE};
	struct ri_mr_attr attr = {0};
	struct ri_wc wc;

	mw_scene_open(&scene, cert, RI_MW_NARROW);
	mw_bind(&scene, 0, 64, MW_RIGHTS);
	wr.inv_stag = scene.stag;
	wr.sgl = &scene.pair.source;
	wr.num_sge = 1;
	cert_post_recv(scene.pair.b, 2, &scene.pair.sink, 1);
	cert_post(scene.pair.a, &wr);
	wc = cert_wc_is(scene.pair.b, true, 2, RI_WC_SUCCESS);
	CERT_UINT(cert, wc.flags & RI_WC_INVALIDATED, ==, RI_WC_INVALIDATED);
	CERT_UINT(cert, wc.inv_stag, ==, scene.stag);
	CERT_UINT(cert, wc.byte_len, ==, 64);
	cert_wc_is(scene.pair.a, false, 1, RI_WC_SUCCESS);
	CERT_TRUE(cert, !mw_attr(&scene).valid);
	CERT_VERB(cert, RI_SUCCESS, scene.pair.far->p->mem->mr_query(scene.pair.into->mr, &attr));
	CERT_UINT(cert, attr.bound, ==, 0);
	mw_write(&scene, 0, false);
}

/* The peer names a key that is not one: nothing is invalidated. */
static void
wrong_key_of_peer(struct cert *cert)
{
	struct mw_scene scene RI_AT_END(mw_scene_end);
	struct ri_wr wr = {
		.wr_id = 1, .opcode = RI_OP_SEND, .flags = RI_WR_SIGNALED | RI_WR_INVALIDATE};

	mw_scene_open(&scene, cert, RI_MW_NARROW);
	mw_bind(&scene, 0, 64, MW_RIGHTS);
	wr.inv_stag = scene.stag ^ 1;
	wr.sgl = &scene.pair.source;
	wr.num_sge = 1;
	cert_post_recv(scene.pair.b, 2, &scene.pair.sink, 1);
	cert_post(scene.pair.a, &wr);
	CERT_UINT(cert, cert_wc(scene.pair.b, true).status, !=, RI_WC_SUCCESS);
	cert_wait_end(scene.pair.a);
	cert_wait_end(scene.pair.b);
	CERT_UINT(cert, mw_attr(&scene).stag, ==, scene.stag);
}

/* --- reach --------------------------------------------------------------------------------- */

/* Another queue pair of the same domain. */
static void
reach(struct cert *cert, enum ri_mw_type type)
{
	struct mw_scene scene RI_AT_END(mw_scene_end);

	mw_scene_open(&scene, cert, type);
	mw_bind(&scene, 0, 64, MW_RIGHTS);
	scene.pair.a = cert_end_new(scene.pair.near, NULL);
	scene.pair.b = cert_end_new(scene.pair.far, NULL);
	cert_connect(scene.pair.a, scene.pair.b);
	mw_write(&scene, 0, type == RI_MW_WIDE);
}

BOTH(reach)

/* --- lifetimes ------------------------------------------------------------------------------ */

static void
bound_is_busy(struct cert *cert, enum ri_mw_type type)
{
	struct mw_scene scene;
	const struct ri_provider *p;
	struct ri_mr_attr attr;
	struct ri_mr_init init = {.access = CERT_ALL};
	uint32_t stag = 0;

	mw_scene_open(&scene, cert, type);
	p = scene.pair.far->p;
	init.addr = (uintptr_t)scene.pair.into->at;
	init.length = scene.pair.into->length;
	CERT_VERB(cert, RI_ERR_BUSY, p->pd->destroy(scene.pair.far->pd));
	mw_bind(&scene, 0, 64, MW_RIGHTS);
	CERT_VERB(cert, RI_SUCCESS, p->mem->mr_query(scene.pair.into->mr, &attr));
	CERT_UINT(cert, attr.bound, ==, 1);
	CERT_VERB(cert, RI_ERR_BUSY, p->mem->mr_dereg(scene.pair.into->mr));
	if (scene.pair.far->attr.reregister)
		CERT_VERB(cert, RI_ERR_BUSY,
			  p->mem->mr_rereg(scene.pair.into->mr, scene.pair.far->pd, &init, &stag));
	if (type == RI_MW_NARROW)
		CERT_VERB(cert, RI_ERR_BUSY, p->qp->destroy(scene.pair.b->qp));
	cert_note(cert, "all is as before");
	mw_write(&scene, 0, true);
	mw_scene_end(&scene);
	CERT_VERB(cert, RI_SUCCESS, p->mem->mr_query(scene.pair.into->mr, &attr));
	CERT_UINT(cert, attr.bound, ==, 0);
	cert_note(cert, "the key of a window that is freed");
	mw_write(&scene, 0, false);
}

BOTH(bound_is_busy)

static void
type_refused(struct cert *cert, enum ri_mw_type type)
{
	struct cert_node *node = cert_node_open(cert);
	struct ri_mw *mw = NULL;
	uint32_t stag;

	CERT_VERB(cert, RI_ERR_UNSUPPORTED, node->p->mem->mw_alloc(node->pd, type, &mw, &stag));
}

BOTH(type_refused)

static void
wide_unbound(struct cert *cert)
{
	struct mw_scene scene RI_AT_END(mw_scene_end);

	mw_scene_open(&scene, cert, RI_MW_WIDE);
	mw_bind(&scene, 0, 64, MW_RIGHTS);
	uint32_t old = scene.stag;
	mw_bind(&scene, 0, 0, MW_RIGHTS);
	CERT_TRUE(cert, !mw_attr(&scene).valid);
	scene.stag = old;
	mw_write(&scene, 0, false);
}

static const struct cert_case cases[] = {
	{.id = "verbs.mw.bind.0001",
	 .title = "A narrow window opens exactly its range",
	 .rule = "[RI 5.6.1] [RI 5.6.3]",
	 .needs = "mw_narrow mw_key_owner:RI_KEY_CONSUMER max_ord max_ird",
	 .settles = "mw_narrow mw_key_owner max_mw",
	 .run = narrow_bound},
	{.id = "verbs.mw.bind.0002",
	 .title = "A wide window opens exactly its range",
	 .rule = "[RI 5.6.1] [RI 5.6.3]",
	 .needs = "mw_wide mw_key_owner:RI_KEY_CONSUMER max_ord max_ird",
	 .settles = "mw_wide mw_key_owner mw_wide_stag_returned max_mw",
	 .run = wide_bound},
	{.id = "verbs.mw.bind.0003",
	 .title = "A narrow window opens nothing before its range",
	 .rule = "[RI 5.6.3]",
	 .needs = "mw_narrow mw_key_owner:RI_KEY_CONSUMER",
	 .run = narrow_before_the_window},
	{.id = "verbs.mw.bind.0004",
	 .title = "A wide window opens nothing before its range",
	 .rule = "[RI 5.6.3]",
	 .needs = "mw_wide mw_key_owner:RI_KEY_CONSUMER",
	 .run = wide_before_the_window},
	{.id = "verbs.mw.bind.0005",
	 .title = "The rights of a narrow window count, not those of its region",
	 .rule = "[RI 5.6.3]",
	 .needs = "mw_narrow mw_key_owner:RI_KEY_CONSUMER",
	 .run = narrow_rights_of_the_window},
	{.id = "verbs.mw.bind.0006",
	 .title = "The rights of a wide window count, not those of its region",
	 .rule = "[RI 5.6.3]",
	 .needs = "mw_wide mw_key_owner:RI_KEY_CONSUMER",
	 .run = wide_rights_of_the_window},
	{.id = "verbs.mw.bind.0007",
	 .title = "A narrow window that is not bound opens nothing",
	 .rule = "[RI 5.2.1]",
	 .needs = "mw_narrow mw_key_owner:RI_KEY_CONSUMER",
	 .run = narrow_not_bound},
	{.id = "verbs.mw.bind.0008",
	 .title = "A wide window that is not bound opens nothing",
	 .rule = "[RI 5.2.1]",
	 .needs = "mw_wide mw_key_owner:RI_KEY_CONSUMER",
	 .run = wide_not_bound},
	{.id = "verbs.mw.bind.0009",
	 .title = "A bind of a narrow window that breaks a rule fails and ends the connection",
	 .rule = "[RI 5.6.2] [RI 5.6.4]",
	 .needs = "mw_narrow mw_key_owner:RI_KEY_CONSUMER",
	 .run = narrow_binds_that_fail},
	{.id = "verbs.mw.bind.0010",
	 .title = "A bind of a wide window that breaks a rule fails and ends the connection",
	 .rule = "[RI 5.6.2] [RI 5.6.4]",
	 .needs = "mw_wide mw_key_owner:RI_KEY_CONSUMER",
	 .run = wide_binds_that_fail},
	{.id = "verbs.mw.bind.0011",
	 .title = "A window is not bound to a region of another protection domain",
	 .rule = "[RI 5.6.2]",
	 .needs = "mw_narrow mw_key_owner:RI_KEY_CONSUMER",
	 .run = bind_across_domains},
	{.id = "verbs.mw.bind.0012",
	 .title = "A narrow window that is bound cannot be bound again",
	 .rule = "[RI 5.6.1]",
	 .needs = "mw_narrow mw_key_owner:RI_KEY_CONSUMER",
	 .run = narrow_bound_twice},
	{.id = "verbs.mw.bind.0013",
	 .title = "A wide window can be bound again, and the old key is revoked",
	 .rule = "[RI 5.6.1] [RI 5.7.1]",
	 .needs = "mw_wide mw_key_owner:RI_KEY_CONSUMER max_ord max_ird",
	 .run = wide_bound_twice},
	{.id = "verbs.mw.bind.0014",
	 .title = "A bind of no bytes unbinds a wide window",
	 .rule = "[RI 5.6.1]",
	 .needs = "mw_wide mw_key_owner:RI_KEY_CONSUMER mw_wide_unbind",
	 .settles = "mw_wide_unbind",
	 .run = wide_unbound},
	{.id = "verbs.mw.bind.0015",
	 .title = "The post of a bind of a wide window returns its key",
	 .rule = "[RI 5.6.4] [RI 5.6.5]",
	 .needs = "mw_wide mw_wide_stag_returned max_ord max_ird",
	 .settles = "mw_wide_stag_returned",
	 .run = keys_returned},
	{.id = "verbs.mw.invalidate.0001",
	 .title = "A narrow window that is invalidated opens nothing and can be bound again",
	 .rule = "[RI 5.2.1] [RI 5.7.1]",
	 .needs = "mw_narrow mw_key_owner:RI_KEY_CONSUMER mw_narrow_unbind max_ord max_ird",
	 .settles = "mw_narrow_unbind",
	 .run = invalidated_here},
	{.id = "verbs.mw.invalidate.0002",
	 .title = "A Send of the peer can invalidate a narrow window",
	 .rule = "[RI 5.4.1] [RI 5.4.2]",
	 .needs = "mw_narrow mw_key_owner:RI_KEY_CONSUMER send_invalidate",
	 .settles = "send_invalidate",
	 .run = invalidated_by_peer},
	{.id = "verbs.mw.invalidate.0003",
	 .title = "A Send with a wrong key invalidates nothing and ends the connection",
	 .rule = "[RI 5.4.1]",
	 .needs = "mw_narrow mw_key_owner:RI_KEY_CONSUMER send_invalidate",
	 .run = wrong_key_of_peer},
	{.id = "verbs.mw.reach.0001",
	 .title = "A narrow window belongs to the queue pair that bound it",
	 .rule = "[RI 5.6.1] [RI 5.6.3]",
	 .needs = "mw_narrow mw_key_owner:RI_KEY_CONSUMER",
	 .run = narrow_reach},
	{.id = "verbs.mw.reach.0002",
	 .title = "A wide window belongs to its protection domain",
	 .rule = "[RI 5.6.1] [RI 5.6.3]",
	 .needs = "mw_wide mw_key_owner:RI_KEY_CONSUMER max_ord max_ird",
	 .run = wide_reach},
	{.id = "verbs.mw.life.0001",
	 .title = "A bound narrow window keeps its region, its domain and its queue pair",
	 .rule = "[RI 2.2.3] [RI 5.7.1]",
	 .needs = "mw_narrow mw_key_owner:RI_KEY_CONSUMER max_ord max_ird",
	 .run = narrow_bound_is_busy},
	{.id = "verbs.mw.life.0002",
	 .title = "A bound wide window keeps its region and its domain",
	 .rule = "[RI 2.2.3] [RI 5.7.1]",
	 .needs = "mw_wide mw_key_owner:RI_KEY_CONSUMER max_ord max_ird",
	 .run = wide_bound_is_busy},
	{.id = "verbs.mw.type.0001",
	 .title = "A narrow window is refused where none is claimed",
	 .rule = "[RI 10.7]",
	 .needs = "!mw_narrow",
	 .settles = "mw_narrow max_mw",
	 .run = narrow_type_refused},
	{.id = "verbs.mw.type.0002",
	 .title = "A wide window is refused where none is claimed",
	 .rule = "[RI 10.7]",
	 .needs = "!mw_wide",
	 .settles = "mw_wide mw_wide_stag_returned",
	 .run = wide_type_refused},
};

CERT_SET(verbs_mw, cases);
