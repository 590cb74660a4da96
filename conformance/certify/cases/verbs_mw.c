/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Memory windows of both kinds: binding, access, invalidation, and objects that a bound window keeps busy. */

#include "verbs_pair.h"

#define RIGHTS (RI_ACCESS_REMOTE_READ | RI_ACCESS_REMOTE_WRITE)

/* A connected pair with a window of the far side, and the key that it was bound with last. */
struct scene {
	struct pair pair;
	struct cert *cert;
	struct ri_mw *mw;
	uint32_t index; /* the STag of the allocation */
	uint32_t stag;
};

static void
scene_open(struct scene *scene, struct cert *cert, enum ri_mw_type type)
{
	pair_connected(&scene->pair, cert);
	scene->cert = cert;
	CERT_VERB(cert, RI_SUCCESS,
		  scene->pair.far->p->mem->mw_alloc(scene->pair.far->pd, type, &scene->mw,
						    &scene->index));
	CERT_UINT(cert, scene->index, !=, 0);
	scene->stag = scene->index;
}

/* A bind of `length` bytes from byte `at` of the far side's memory, with another key each time. */
static struct ri_wr
bind_of(struct scene *scene, size_t at, uint64_t length, uint32_t access)
{
	const struct cert_region *into = scene->pair.into;

	scene->stag = (scene->stag & ~0xffu) | ((scene->stag + 1) & 0xff);
	return (struct ri_wr){.wr_id = 50,
			      .opcode = RI_OP_BIND_MW,
			      .flags = RI_WR_SIGNALED,
			      .u.bind = {.mw_stag = scene->stag,
					 .mr_stag = into->stag,
					 .addr = (uintptr_t)into->at + at,
					 .length = length,
					 .access = access}};
}

static void
bind(struct scene *scene, size_t at, uint64_t length, uint32_t access)
{
	struct ri_wr wr = bind_of(scene, at, length, access);
	struct ri_wc wc;

	cert_post(scene->pair.b, &wr);
	wc = cert_wc_is(scene->pair.b, false, 50, RI_WC_SUCCESS);
	CERT_UINT(scene->cert, wc.opcode, ==, RI_OP_BIND_MW);
}

/* Writes 16 bytes from the near side through the window; `at` is a byte of the far side's memory. */
static void
write_through(struct scene *scene, size_t at, bool granted)
{
	struct pair *pair = &scene->pair;
	struct ri_sge source = cert_sge(pair->from, 0, 16);
	struct ri_sge target = {
		.addr = (uintptr_t)pair->into->at + at, .length = 16, .stag = scene->stag};
	struct ri_sge back = cert_sge(pair->from, 64, 0);

	cert_fill(pair->from->at, 16, 1);
	cert_fill(pair->into->at, VERBS_MEMORY, 2);
	cert_post_rdma(pair->a, RI_OP_RDMA_WRITE, 1, &source, &target);
	if (granted) {
		cert_post_rdma(pair->a, RI_OP_RDMA_READ, 2, &back, &target);
		cert_wc_is(pair->a, false, 1, RI_WC_SUCCESS);
		cert_wc_is(pair->a, false, 2, RI_WC_SUCCESS);
		cert_expect_fill(scene->cert, "what was written through the window",
				 pair->into->at + at, 16, 1);
		return;
	}
	cert_wait_end(pair->a);
	cert_wait_end(pair->b);
	cert_expect_fill(scene->cert, "memory that is not written", pair->into->at, VERBS_MEMORY,
			 2);
}

static struct ri_mr_attr
window_attr(const struct scene *scene)
{
	struct ri_mr_attr attr = {0};

	CERT_VERB(scene->cert, RI_SUCCESS, scene->pair.far->p->mem->mw_query(scene->mw, &attr));
	return attr;
}

static void
window_free(const struct scene *scene)
{
	CERT_VERB(scene->cert, RI_SUCCESS, scene->pair.far->p->mem->mw_free(scene->mw));
}

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
	struct scene scene;
	struct ri_mr_attr attr;

	scene_open(&scene, cert, type);
	CERT_TRUE(cert, !window_attr(&scene).valid);
	bind(&scene, 100, 200, RIGHTS);
	attr = window_attr(&scene);
	CERT_TRUE(cert, attr.valid);
	CERT_UINT(cert, attr.stag, ==, scene.stag);
	CERT_UINT(cert, attr.addr, ==, (uintptr_t)scene.pair.into->at + 100);
	CERT_UINT(cert, attr.length, ==, 200);
	CERT_UINT(cert, attr.access, ==, RIGHTS);
	write_through(&scene, 100, true);
	write_through(&scene, 284, true);
	cert_note(cert, "one byte behind the window");
	write_through(&scene, 285, false);
	window_free(&scene);
}

BOTH(bound)

static void
before_the_window(struct cert *cert, enum ri_mw_type type)
{
	struct scene scene;

	scene_open(&scene, cert, type);
	bind(&scene, 100, 200, RIGHTS);
	write_through(&scene, 99, false);
	window_free(&scene);
}

BOTH(before_the_window)

/* The region has the right, and the window has not. */
static void
rights_of_the_window(struct cert *cert, enum ri_mw_type type)
{
	struct scene scene;

	scene_open(&scene, cert, type);
	bind(&scene, 100, 200, RI_ACCESS_REMOTE_READ);
	write_through(&scene, 100, false);
	window_free(&scene);
}

BOTH(rights_of_the_window)

static void
not_bound(struct cert *cert, enum ri_mw_type type)
{
	struct scene scene;

	scene_open(&scene, cert, type);
	write_through(&scene, 0, false);
	window_free(&scene);
}

BOTH(not_bound)

/* --- binds that fail ----------------------------------------------------------------------- */

static void
bind_fails(struct scene *scene, const struct ri_wr *wr, const char *why)
{
	cert_note(scene->cert, "%s", why);
	cert_post(scene->pair.b, wr);
	cert_wc_is(scene->pair.b, false, 50, RI_WC_MW_BIND);
	cert_wait_end(scene->pair.a);
	cert_wait_end(scene->pair.b);
	CERT_TRUE(scene->cert, !window_attr(scene).valid);
}

static void
binds_that_fail(struct cert *cert, enum ri_mw_type type)
{
	struct scene scene;
	struct ri_wr wr;

	for (unsigned row = 0; row < 6; row++) {
		struct cert_region *closed;
		const char *why = "";

		scene_open(&scene, cert, type);
		closed = cert_region_new(scene.pair.far, 64, CERT_ALL & ~(uint32_t)RI_ACCESS_BIND);
		wr = bind_of(&scene, 0, 64, RIGHTS);
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
		window_free(&scene);
	}
}

BOTH(binds_that_fail)

/* A window and a region of two domains. */
static void
bind_across_domains(struct cert *cert)
{
	struct scene scene;
	struct ri_pd *other = NULL;
	struct cert_region *region;
	struct ri_wr wr;

	scene_open(&scene, cert, RI_MW_NARROW);
	CERT_VERB(cert, RI_SUCCESS, scene.pair.far->p->pd->create(scene.pair.far->context, &other));
	region = cert_region_new_in(scene.pair.far, other, 64, CERT_ALL);
	wr = bind_of(&scene, 0, 64, RIGHTS);
	wr.u.bind.mr_stag = region->stag;
	wr.u.bind.addr = (uintptr_t)region->at;
	bind_fails(&scene, &wr, "a region of another protection domain");
	window_free(&scene);
}

static void
narrow_bound_twice(struct cert *cert)
{
	struct scene scene;
	struct ri_wr wr;

	scene_open(&scene, cert, RI_MW_NARROW);
	bind(&scene, 0, 64, RIGHTS);
	wr = bind_of(&scene, 64, 64, RIGHTS);
	cert_post(scene.pair.b, &wr);
	cert_wc_is(scene.pair.b, false, 50, RI_WC_MW_BIND);
	cert_wait_end(scene.pair.b);
	window_free(&scene);
}

static void
wide_bound_twice(struct cert *cert)
{
	struct scene scene;
	uint32_t old;

	scene_open(&scene, cert, RI_MW_WIDE);
	bind(&scene, 0, 64, RIGHTS);
	old = scene.stag;
	bind(&scene, 64, 64, RIGHTS);
	write_through(&scene, 64, true);
	cert_note(cert, "the key of the first bind");
	scene.stag = old;
	write_through(&scene, 0, false);
	window_free(&scene);
}

/* --- invalidation -------------------------------------------------------------------------- */

static void
invalidated_here(struct cert *cert)
{
	struct scene scene;
	struct ri_wr wr = {.wr_id = 51, .opcode = RI_OP_LOCAL_INV, .flags = RI_WR_SIGNALED};

	scene_open(&scene, cert, RI_MW_NARROW);
	bind(&scene, 0, 64, RIGHTS);
	write_through(&scene, 0, true);
	wr.inv_stag = scene.stag;
	cert_post(scene.pair.b, &wr);
	cert_wc_is(scene.pair.b, false, 51, RI_WC_SUCCESS);
	CERT_TRUE(cert, !window_attr(&scene).valid);
	cert_note(cert, "it can be bound again");
	bind(&scene, 64, 64, RIGHTS);
	write_through(&scene, 64, true);
	cert_note(cert, "the key of the first bind");
	scene.stag = wr.inv_stag;
	write_through(&scene, 0, false);
	window_free(&scene);
}

/* The peer's Send takes the window away, and the receive tells which one. */
static void
invalidated_by_peer(struct cert *cert)
{
	struct scene scene;
	struct ri_wr wr = {
		.wr_id = 1, .opcode = RI_OP_SEND, .flags = RI_WR_SIGNALED | RI_WR_INVALIDATE};
	struct ri_wc wc;

	scene_open(&scene, cert, RI_MW_NARROW);
	bind(&scene, 0, 64, RIGHTS);
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
	CERT_TRUE(cert, !window_attr(&scene).valid);
	write_through(&scene, 0, false);
	window_free(&scene);
}

/* The peer names a key that is not one: nothing is invalidated. */
static void
wrong_key_of_peer(struct cert *cert)
{
	struct scene scene;
	struct ri_wr wr = {
		.wr_id = 1, .opcode = RI_OP_SEND, .flags = RI_WR_SIGNALED | RI_WR_INVALIDATE};

	scene_open(&scene, cert, RI_MW_NARROW);
	bind(&scene, 0, 64, RIGHTS);
	wr.inv_stag = scene.stag ^ 1;
	wr.sgl = &scene.pair.source;
	wr.num_sge = 1;
	cert_post_recv(scene.pair.b, 2, &scene.pair.sink, 1);
	cert_post(scene.pair.a, &wr);
	CERT_UINT(cert, cert_wc(scene.pair.b, true).status, !=, RI_WC_SUCCESS);
	cert_wait_end(scene.pair.a);
	cert_wait_end(scene.pair.b);
	CERT_UINT(cert, window_attr(&scene).stag, ==, scene.stag);
	window_free(&scene);
}

/* --- reach --------------------------------------------------------------------------------- */

/* Another queue pair of the same domain. */
static void
reach(struct cert *cert, enum ri_mw_type type)
{
	struct scene scene;

	scene_open(&scene, cert, type);
	bind(&scene, 0, 64, RIGHTS);
	scene.pair.a = cert_end_new(scene.pair.near, NULL);
	scene.pair.b = cert_end_new(scene.pair.far, NULL);
	cert_connect(scene.pair.a, scene.pair.b);
	write_through(&scene, 0, type == RI_MW_WIDE);
	window_free(&scene);
}

BOTH(reach)

/* --- lifetimes ------------------------------------------------------------------------------ */

static void
bound_is_busy(struct cert *cert, enum ri_mw_type type)
{
	struct scene scene;
	const struct ri_provider *p;
	struct ri_mr_attr attr;
	struct ri_mr_init init = {.access = CERT_ALL};
	uint32_t stag = 0;

	scene_open(&scene, cert, type);
	p = scene.pair.far->p;
	init.addr = (uintptr_t)scene.pair.into->at;
	init.length = scene.pair.into->length;
	CERT_VERB(cert, RI_ERR_BUSY, p->pd->destroy(scene.pair.far->pd));
	bind(&scene, 0, 64, RIGHTS);
	CERT_VERB(cert, RI_SUCCESS, p->mem->mr_query(scene.pair.into->mr, &attr));
	CERT_UINT(cert, attr.bound, ==, 1);
	CERT_VERB(cert, RI_ERR_BUSY, p->mem->mr_dereg(scene.pair.into->mr));
	if (scene.pair.far->attr.reregister)
		CERT_VERB(cert, RI_ERR_BUSY,
			  p->mem->mr_rereg(scene.pair.into->mr, scene.pair.far->pd, &init, &stag));
	if (type == RI_MW_NARROW)
		CERT_VERB(cert, RI_ERR_BUSY, p->qp->destroy(scene.pair.b->qp));
	cert_note(cert, "all is as before");
	write_through(&scene, 0, true);
	window_free(&scene);
	CERT_VERB(cert, RI_SUCCESS, p->mem->mr_query(scene.pair.into->mr, &attr));
	CERT_UINT(cert, attr.bound, ==, 0);
	cert_note(cert, "the key of a window that is freed");
	write_through(&scene, 0, false);
}

BOTH(bound_is_busy)

static void
type_refused(struct cert *cert, enum ri_mw_type type)
{
	struct cert_node *node = cert_node_open(cert);
	struct ri_mw *mw = NULL;
	uint32_t stag;

	if (node->p->mem->mw_alloc != NULL)
		CERT_VERB(cert, RI_ERR_UNSUPPORTED,
			  node->p->mem->mw_alloc(node->pd, type, &mw, &stag));
}

BOTH(type_refused)

static void
wide_unbound(struct cert *cert)
{
	struct scene scene;

	scene_open(&scene, cert, RI_MW_WIDE);
	bind(&scene, 0, 64, RIGHTS);
	uint32_t old = scene.stag;
	bind(&scene, 0, 0, RIGHTS);
	CERT_TRUE(cert, !window_attr(&scene).valid);
	scene.stag = old;
	write_through(&scene, 0, false);
	window_free(&scene);
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
	 .settles = "mw_wide mw_key_owner max_mw",
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
	 .settles = "mw_wide",
	 .run = wide_type_refused},
};

CERT_SET(verbs_mw, cases);
