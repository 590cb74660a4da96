/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Control verbs of memory, shared receive queues and address handles when memory runs out; all that destroys. */

#include <malloc.h>

#include "verbs_scarce.h"

/* Two adapters, and what the verbs create in the first. */
struct scene {
	struct cert *cert;
	struct cert_node *node, *far;
	const struct ri_provider *p;
	uint64_t ctx;
	uint8_t memory[4096];
	struct ri_mr_init init;
	struct cert_region *region;
	uint32_t stag, id;
	struct ri_mr *mr;
	struct ri_mr_attr before;
	struct ri_mw *mw;
	enum ri_mw_type type;
	struct ri_srq *srq;
	struct ri_usrq *usrq;
	struct ri_srq_attr attr;
	struct ri_ah *ah;
	struct ri_ah_init way;
	struct ri_map map;
	struct cert_end *a, *b;
	unsigned turn;
};

static struct scene *
scene_open(struct cert *cert)
{
	struct scene *scene;

	if (!scarce_can(cert))
		return NULL;
	scene = g_new0(struct scene, 1);
	scene->cert = cert;
	scene->node = cert_node_open(cert);
	scene->far = cert_node_open(cert);
	scene->p = scene->node->p;
	scene->ctx = cert_ctx_new(scene->node, RI_OBJECT_SRQ);
	scene->init = (struct ri_mr_init){.addr = (uintptr_t)scene->memory,
					  .length = sizeof(scene->memory),
					  .access = CERT_LOCAL | RI_ACCESS_REMOTE_READ};
	return scene;
}

#define VERB(scene, call) CERT_VERB((scene)->cert, RI_SUCCESS, call)
#define GONE(scene, call) CERT_VERB_VOID((scene)->cert, call)

/* Nothing that failed keeps the domain busy. */
static void
scene_close(struct scene *scene)
{
	VERB(scene, scene->p->pd->destroy(scene->node->pd));
	cert_node_close(scene->node);
	cert_node_close(scene->far);
	g_free(scene);
}

/* --- memory -------------------------------------------------------------------------------- */

static enum ri_status
mr_try(struct scene *scene)
{
	return scene->p->mem->mr_reg(scene->node->pd, &scene->init, &scene->mr, &scene->stag);
}

static void
mr_undo(struct scene *scene)
{
	VERB(scene, scene->p->mem->mr_dereg(scene->mr));
}

static void
regions(struct cert *cert)
{
	static const struct scarce reg = {"ri_mem_ops::mr_reg", NULL, mr_try, mr_undo, NULL};
	struct scene *scene = scene_open(cert);

	if (scene == NULL)
		return;
	scarce_sweep(cert, &reg, scene);
	scene_close(scene);
}

static enum ri_status
rereg_try(struct scene *scene)
{
	return scene->p->mem->mr_rereg(scene->mr, scene->node->pd, &scene->init, &scene->stag);
}

static void
rereg_prepare(struct scene *scene)
{
	VERB(scene, scene->p->mem->mr_query(scene->mr, &scene->before));
	scene->turn++;
	scene->init.length = scene->turn % 2 == 0 ? 4096 : 1000;
}

static void
rereg_undo(struct scene *scene)
{
	struct ri_mr_attr attr;

	VERB(scene, scene->p->mem->mr_query(scene->mr, &attr));
	CERT_UINT(scene->cert, attr.stag, ==, scene->stag);
	CERT_UINT(scene->cert, attr.length, ==, scene->init.length);
}

/* The old key is good for the old memory. */
static void
rereg_check(struct scene *scene)
{
	struct ri_mr_attr attr;

	VERB(scene, scene->p->mem->mr_query(scene->mr, &attr));
	CERT_TRUE(scene->cert, attr.valid);
	CERT_UINT(scene->cert, attr.stag, ==, scene->before.stag);
	CERT_UINT(scene->cert, attr.length, ==, scene->before.length);
	CERT_UINT(scene->cert, attr.access, ==, scene->before.access);
}

static void
reregistered(struct cert *cert)
{
	static const struct scarce rereg = {"ri_mem_ops::mr_rereg", rereg_prepare, rereg_try,
					    rereg_undo, rereg_check};
	struct scene *scene = scene_open(cert);

	if (scene == NULL)
		return;
	VERB(scene, mr_try(scene));
	scarce_sweep(cert, &rereg, scene);
	mr_undo(scene);
	scene_close(scene);
}

static enum ri_status
mw_try(struct scene *scene)
{
	return scene->p->mem->mw_alloc(scene->node->pd, scene->type, &scene->mw, &scene->stag);
}

static void
mw_undo(struct scene *scene)
{
	VERB(scene, scene->p->mem->mw_free(scene->mw));
}

static void
windows(struct cert *cert)
{
	static const struct scarce mw = {"ri_mem_ops::mw_alloc", NULL, mw_try, mw_undo, NULL};
	struct scene *scene = scene_open(cert);

	if (scene == NULL)
		return;
	for (unsigned i = 0; i < 2; i++) {
		scene->type = i == 0 ? RI_MW_NARROW : RI_MW_WIDE;
		if (i == 0 ? scene->node->attr.mw_narrow : scene->node->attr.mw_wide)
			scarce_sweep(cert, &mw, scene);
	}
	scene_close(scene);
}

/* --- shared receive queues, address handles ------------------------------------------------- */

static enum ri_status
srq_try(struct scene *scene)
{
	scene->attr = (struct ri_srq_attr){.ctx = scene->ctx, .max_wr = 40, .max_sge = 1};
	return scene->p->srq->create(scene->node->pd, &scene->attr, &scene->srq, &scene->map);
}

static void
srq_undo(struct scene *scene)
{
	VERB(scene, scene->p->srq->destroy(scene->srq));
}

static enum ri_status
usrq_try(struct scene *scene)
{
	return scene->p->user->srq_open(scene->node->urnic, &scene->map, &scene->usrq);
}

static void
usrq_undo(struct scene *scene)
{
	GONE(scene, scene->p->user->srq_close(scene->usrq));
}

static void
shared_queues(struct cert *cert)
{
	static const struct scarce srq = {"ri_srq_ops::create", NULL, srq_try, srq_undo, NULL};
	static const struct scarce usrq = {"ri_user_ops::srq_open", NULL, usrq_try, usrq_undo,
					   NULL};
	struct scene *scene = scene_open(cert);

	if (scene == NULL)
		return;
	scarce_sweep(cert, &srq, scene);
	VERB(scene, srq_try(scene));
	scarce_sweep(cert, &usrq, scene);
	srq_undo(scene);
	scene_close(scene);
}

static enum ri_status
srq_resize_try(struct scene *scene)
{
	scene->attr = (struct ri_srq_attr){.max_wr = 300, .limit = RI_SRQ_LIMIT_KEEP};
	return scene->p->srq->modify(scene->srq, &scene->attr, true, &scene->map);
}

static void
srq_resize_check(struct scene *scene)
{
	struct ri_srq_attr attr = {0};

	VERB(scene, scene->p->srq->query(scene->srq, &attr));
	CERT_UINT(scene->cert, attr.available, ==, 5);
	CERT_UINT(scene->cert, attr.limit, ==, 2);
}

/* A small queue for each call, so that each has work to do. */
static void
srq_resize_prepare(struct scene *scene)
{
	struct ri_srq_attr limit = {.limit = 2};
	struct ri_recv_wr wr = {.wr_id = 1};

	VERB(scene, srq_try(scene));
	VERB(scene, usrq_try(scene));
	for (unsigned i = 0; i < 5; i++)
		CERT_FAST(scene->cert, RI_SUCCESS, scene->p->fast->post_srq(scene->usrq, &wr));
	VERB(scene, scene->p->srq->modify(scene->srq, &limit, false, &scene->map));
}

static void
srq_resize_undo(struct scene *scene)
{
	VERB(scene, scene->p->user->srq_remap(scene->usrq, &scene->map));
	srq_resize_check(scene);
	usrq_undo(scene);
	srq_undo(scene);
}

static void
srq_remap_prepare(struct scene *scene)
{
	srq_resize_prepare(scene);
	VERB(scene, srq_resize_try(scene));
}

static enum ri_status
srq_remap_try(struct scene *scene)
{
	return scene->p->user->srq_remap(scene->usrq, &scene->map);
}

static void
srq_remap_undo(struct scene *scene)
{
	srq_resize_check(scene);
	usrq_undo(scene);
	srq_undo(scene);
}

static void
resized_shared_queue(struct cert *cert)
{
	static const struct scarce resize = {"ri_srq_ops::modify", srq_resize_prepare,
					     srq_resize_try, srq_resize_undo, srq_resize_check};
	static const struct scarce remap = {"ri_user_ops::srq_remap", srq_remap_prepare,
					    srq_remap_try, srq_remap_undo, srq_resize_check};
	struct scene *scene = scene_open(cert);

	if (scene == NULL)
		return;
	scarce_sweep(cert, &resize, scene);
	usrq_undo(scene);
	srq_undo(scene);
	scarce_sweep(cert, &remap, scene);
	VERB(scene, srq_remap_try(scene));
	usrq_undo(scene);
	srq_undo(scene);
	scene_close(scene);
}

static enum ri_status
ah_try(struct scene *scene)
{
	return scene->p->ah->create(scene->node->pd, &scene->way, &scene->ah, &scene->id);
}

static void
ah_undo(struct scene *scene)
{
	VERB(scene, scene->p->ah->destroy(scene->ah));
}

static void
handles(struct cert *cert)
{
	static const struct scarce ah = {"ri_ah_ops::create", NULL, ah_try, ah_undo, NULL};
	struct scene *scene = scene_open(cert);

	if (scene == NULL)
		return;
	scene->way.dest = cert_address(scene->node);
	scarce_sweep(cert, &ah, scene);
	scene_close(scene);
}

/* --- lifetimes ------------------------------------------------------------------------------ */

#define LIVES 40u
#define KEPT_MAX \
	(LIVES * 8192u) /* bytes: tables and pools may grow, but not by what an object has */

/* One object of each kind is created and destroyed. */
static void
live_once(struct scene *scene)
{
	const struct ri_rnic_attr *attr = &scene->node->attr;
	struct cert_end *end = cert_end_new(scene->node, NULL);

	cert_end_free(end);
	VERB(scene, mr_try(scene));
	mr_undo(scene);
	if (attr->mw_narrow || attr->mw_wide) {
		scene->type = attr->mw_narrow ? RI_MW_NARROW : RI_MW_WIDE;
		VERB(scene, mw_try(scene));
		mw_undo(scene);
	}
	if (attr->srq) {
		VERB(scene, srq_try(scene));
		VERB(scene, usrq_try(scene));
		usrq_undo(scene);
		srq_undo(scene);
	}
	if (attr->ud) {
		scene->way.dest = cert_address(scene->node);
		VERB(scene, ah_try(scene));
		ah_undo(scene);
	}
}

/* Bytes that this process has allocated, on whatever thread. */
static size_t
in_use(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

static void
lives_keep_nothing(struct cert *cert)
{
	struct scene *scene = scene_open(cert);
	gint64 until = 0;
	size_t before;

	if (scene == NULL)
		return;
	live_once(scene);
	before = in_use();
	for (unsigned i = 0; i < LIVES; i++)
		live_once(scene);
	/* Another thread may free what was destroyed. */
	while (in_use() > before + KEPT_MAX)
		CERT_TRUE(cert, cert_patience(cert, &until));
	scene_close(scene);
}

/* --- the ends ----------------------------------------------------------------------------------- */

/* A verb that destroys, when no allocation at all succeeds. */
#define STARVED(scene, call)                                                               \
	do {                                                                               \
		enum ri_status status_;                                                    \
		cert_verb_begin((scene)->cert);                                            \
		cert_host_starve(1, true);                                                 \
		status_ = (call);                                                          \
		(void)cert_host_feed();                                                    \
		cert_verb_end((scene)->cert, CERT_WHERE, #call);                           \
		cert_expect_status((scene)->cert, CERT_WHERE, #call, status_, RI_SUCCESS); \
	} while (0)
#define STARVED_VOID(scene, call) STARVED(scene, ((call), RI_SUCCESS))

static void
end_starved(struct scene *scene, struct cert_end *end)
{
	const struct ri_provider *p = scene->p;

	STARVED_VOID(scene, p->user->qp_close(end->uqp));
	STARVED(scene, p->qp->destroy(end->qp));
	STARVED_VOID(scene, p->user->cq_close(end->uscq));
	STARVED_VOID(scene, p->user->cq_close(end->urcq));
	STARVED(scene, p->cq->destroy(end->scq));
	STARVED(scene, p->cq->destroy(end->rcq));
	g_ptr_array_remove(end->node->ends, end);
	g_free(end);
}

static void
objects_starved(struct scene *scene)
{
	const struct ri_rnic_attr *attr = &scene->node->attr;

	VERB(scene, mr_try(scene));
	STARVED(scene, scene->p->mem->mr_dereg(scene->mr));
	if (attr->mw_narrow || attr->mw_wide) {
		scene->type = attr->mw_narrow ? RI_MW_NARROW : RI_MW_WIDE;
		VERB(scene, mw_try(scene));
		STARVED(scene, scene->p->mem->mw_free(scene->mw));
	}
	if (attr->srq) {
		VERB(scene, srq_try(scene));
		VERB(scene, usrq_try(scene));
		STARVED_VOID(scene, scene->p->user->srq_close(scene->usrq));
		STARVED(scene, scene->p->srq->destroy(scene->srq));
	}
	if (attr->ud) {
		scene->way.dest = cert_address(scene->node);
		VERB(scene, ah_try(scene));
		STARVED(scene, scene->p->ah->destroy(scene->ah));
	}
}

/* A connected queue pair with work, objects of each kind, the domain; the peer is told. */
static void
destroyed_starved(struct cert *cert)
{
	struct scene *scene = scene_open(cert);

	if (scene == NULL)
		return;
	scene->a = cert_end_new(scene->node, NULL);
	scene->b = cert_end_new(scene->far, NULL);
	cert_connect(scene->a, scene->b);
	objects_starved(scene);
	end_starved(scene, scene->a);
	cert_wait_end(scene->b);
	STARVED(scene, scene->p->pd->destroy(scene->node->pd));
	VERB(scene, scene->p->pd->create(scene->node->context, &scene->node->pd));
	scene_close(scene);
}

static const struct cert_case cases[] = {
	{.id = "verbs.scarce.mr.0001",
	 .title = "Registering memory while memory for it runs out fails whole",
	 .rule = "[RI 2.1.1] [RI 5.1]",
	 .run = regions},
	{.id = "verbs.scarce.mr.0002",
	 .title = "Reregistering without memory leaves the region and its key as they are",
	 .rule = "[RI 2.1.1] [RI 5.2.1]",
	 .needs = "reregister",
	 .run = reregistered},
	{.id = "verbs.scarce.mw.0001",
	 .title = "Allocating windows without memory fails whole",
	 .rule = "[RI 2.1.1] [RI 5.6]",
	 .needs = "max_mw",
	 .run = windows},
	{.id = "verbs.scarce.srq.0001",
	 .title = "Creating shared receive queues without memory fails whole",
	 .rule = "[RI 2.1.1] [RI 6.1]",
	 .needs = "srq",
	 .run = shared_queues},
	{.id = "verbs.scarce.srq.0002",
	 .title = "Resizing a shared receive queue without memory keeps its receives and its limit",
	 .rule = "[RI 2.1.1] [RI 10.16]",
	 .needs = "srq srq_resizable srq_limit",
	 .run = resized_shared_queue},
	{.id = "verbs.scarce.handle.0001",
	 .title = "Creating address handles without memory fails whole",
	 .rule = "[RI 2.1.1] [RI 10.34]",
	 .needs = "ud",
	 .run = handles},
	{.id = "verbs.scarce.lives.0001",
	 .title = "Objects that were created and destroyed keep no memory",
	 .rule = "[RI 2.2.1] [RI 2.1.4]",
	 .run = lives_keep_nothing},
	{.id = "verbs.scarce.destroy.0001",
	 .title = "Everything can be destroyed without memory",
	 .rule = "[RI 2.2.3] [RI 8.5]",
	 .run = destroyed_starved},
};

CERT_SET(verbs_scarce_memory, cases);
