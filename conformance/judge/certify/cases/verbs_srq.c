/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Shared receive queues: which queue pairs take receives from them, slots, watermarks, and destruction. */

#include "verbs_shared.h"

#define MEMBERS    3u
#define CQ_ENTRIES 64u

/* A shared receive queue with queue pairs, each connected to one of the near side. */
struct scene {
	struct cert *cert;
	struct cert_node *near, *far;
	struct ri_pd *pd; /* of the shared queue, of far */
	struct ri_srq *srq;
	struct ri_usrq *usrq;
	struct ri_srq_attr attr; /* as reported by the creation */
	uint64_t ctx;
	struct cert_end *a[MEMBERS]; /* of near */
	struct cert_end b[MEMBERS];  /* of far, with the shared queue */
	struct cert_region *from, *into;
};

static void
queue_create(struct scene *scene, uint32_t slots)
{
	const struct ri_provider *p = scene->far->p;
	struct ri_map map;

	scene->ctx = cert_ctx_new(scene->far, RI_OBJECT_SRQ);
	scene->attr = (struct ri_srq_attr){.ctx = scene->ctx, .max_wr = slots, .max_sge = 1};
	CERT_VERB(scene->cert, RI_SUCCESS,
		  p->srq->create(scene->pd, &scene->attr, &scene->srq, &map));
	CERT_UINT(scene->cert, scene->attr.max_wr, >=, slots);
	CERT_UINT(scene->cert, scene->attr.max_sge, >=, 1);
	CERT_VERB(scene->cert, RI_SUCCESS,
		  p->user->srq_open(scene->far->urnic, &map, &scene->usrq));
}

/* A queue pair of the shared queue; the frame knows nothing of it. */
static void
member_create(struct scene *scene, struct cert_end *end)
{
	const struct ri_qp_init init = cert_end_defaults(scene->far);

	shared_end_new(end, scene->far, &init, CQ_ENTRIES, scene->srq, scene->usrq);
	CERT_UINT(scene->cert, end->init.max_rq_wr, ==, 0);
}

/* The queue pairs are of the far side's domain, the shared queue is of that or of another one. */
static void
scene_open_in(struct scene *scene, struct cert *cert, uint32_t slots, bool other)
{
	scene->cert = cert;
	scene->near = cert_node_open(cert);
	scene->far = cert_node_open(cert);
	scene->pd = scene->far->pd;
	if (other)
		CERT_VERB(cert, RI_SUCCESS,
			  scene->far->p->pd->create(scene->far->context, &scene->pd));
	scene->from = cert_region_new(scene->near, VERBS_MEMORY, CERT_ALL);
	scene->into = cert_region_new(scene->far, VERBS_MEMORY, CERT_ALL);
	queue_create(scene, slots);
	for (unsigned i = 0; i < MEMBERS; i++) {
		scene->a[i] = cert_end_new(scene->near, NULL);
		member_create(scene, &scene->b[i]);
		cert_connect(scene->a[i], &scene->b[i]);
	}
}

static void
scene_open(struct scene *scene, struct cert *cert, uint32_t slots)
{
	scene_open_in(scene, cert, slots, false);
}

static void
scene_close(struct scene *scene)
{
	for (unsigned i = 0; i < MEMBERS; i++)
		shared_end_free(&scene->b[i]);
	CERT_VERB_VOID(scene->cert, scene->far->p->user->srq_close(scene->usrq));
	CERT_VERB(scene->cert, RI_SUCCESS, scene->far->p->srq->destroy(scene->srq));
	cert_ctx_gone(scene->far, scene->ctx);
}

static enum ri_status
post(struct scene *scene, uint64_t id)
{
	struct ri_sge sink = cert_sge(scene->into, (id % 64) * 64, 64);

	return scene->far->p->fast->post_srq(
		scene->usrq, &(struct ri_recv_wr){.wr_id = id, .sgl = &sink, .num_sge = 1});
}

static void
send(struct scene *scene, unsigned member, uint64_t id)
{
	struct ri_sge source = cert_sge(scene->from, 0, 64);

	cert_fill(scene->from->at, 64, (uint32_t)id);
	cert_post_send(scene->a[member], id, &source, 1, 0);
	cert_wc_is(scene->a[member], false, id, RI_WC_SUCCESS);
}

static uint32_t
available(struct scene *scene)
{
	struct ri_srq_attr attr = {0};

	CERT_VERB(scene->cert, RI_SUCCESS, scene->far->p->srq->query(scene->srq, &attr));
	return attr.available;
}

/* --- taking -------------------------------------------------------------------------------- */

/* Each message takes the oldest receive; its completion goes to the queue of the queue pair that it came to. */
static void
takes_the_oldest(struct cert *cert)
{
	struct scene scene RI_AT_END(scene_close);

	scene_open(&scene, cert, 16);
	for (uint64_t id = 0; id < 9; id++)
		CERT_FAST(cert, RI_SUCCESS, post(&scene, id));
	CERT_UINT(cert, available(&scene), ==, 9);
	for (uint64_t id = 0; id < 9; id++) {
		unsigned member = (unsigned)(id * 2 % MEMBERS);
		struct ri_wc wc;

		send(&scene, member, id);
		wc = cert_wc_is(&scene.b[member], true, id, RI_WC_SUCCESS);
		CERT_UINT(cert, wc.byte_len, ==, 64);
		cert_expect_fill(cert, "what arrived", scene.into->at + id * 64, 64, (uint32_t)id);
	}
	CERT_UINT(cert, available(&scene), ==, 0);
	for (unsigned i = 0; i < MEMBERS; i++)
		cert_wc_none(&scene.b[i], true);
}

static void
own_queue_is_closed(struct cert *cert)
{
	struct scene scene RI_AT_END(scene_close);
	struct ri_recv_wr wr = {.wr_id = 1};

	scene_open(&scene, cert, 4);
	CERT_FAST(cert, RI_ERR_INVALID_STATE, scene.far->p->fast->post_rq(scene.b[0].uqp, &wr));
}

static void
slots(struct cert *cert)
{
	struct scene scene RI_AT_END(scene_close);
	uint32_t count;

	scene_open(&scene, cert, 8);
	count = scene.attr.max_wr;
	for (uint32_t i = 0; i < count; i++)
		CERT_FAST(cert, RI_SUCCESS, post(&scene, i));
	CERT_FAST(cert, RI_ERR_QUEUE_FULL, post(&scene, count));
	send(&scene, 1, 0);
	cert_wc_is(&scene.b[1], true, 0, RI_WC_SUCCESS);
	CERT_FAST(cert, RI_SUCCESS, post(&scene, count));
	CERT_FAST(cert, RI_ERR_QUEUE_FULL, post(&scene, count));
}

/* The end of one queue pair leaves the receives to the others. */
static void
one_member_ends(struct cert *cert)
{
	struct scene scene RI_AT_END(scene_close);

	scene_open(&scene, cert, 8);
	for (uint64_t id = 0; id < 4; id++)
		CERT_FAST(cert, RI_SUCCESS, post(&scene, id));
	CERT_UINT(cert, cert_end_move(scene.a[0], RI_QPS_ERROR), ==, RI_SUCCESS);
	cert_wait_end(&scene.b[0]);
	cert_wc_none(&scene.b[0], true);
	CERT_UINT(cert, available(&scene), ==, 4);
	send(&scene, 1, 0);
	cert_wc_is(&scene.b[1], true, 0, RI_WC_SUCCESS);
}

/* --- lifetimes ------------------------------------------------------------------------------ */

static void
busy(struct cert *cert)
{
	struct scene scene RI_AT_END(scene_close);

	scene_open(&scene, cert, 4);
	CERT_VERB(cert, RI_ERR_BUSY, scene.far->p->srq->destroy(scene.srq));
	CERT_FAST(cert, RI_SUCCESS, post(&scene, 1));
	send(&scene, 2, 1);
	cert_wc_is(&scene.b[2], true, 1, RI_WC_SUCCESS);
	cert_note(cert, "receives that no queue pair took end without completions");
	CERT_FAST(cert, RI_SUCCESS, post(&scene, 2));
}

/* --- domains ------------------------------------------------------------------------------- */

/* A window of that domain, which the far queue pair binds to 64 bytes of a region of the same domain. */
static uint32_t
window_bound(struct scene *scene, struct ri_pd *pd, struct ri_mw **mw)
{
	struct cert_region *region = cert_region_new_in(scene->far, pd, 64, CERT_ALL);
	struct ri_wr wr = {.wr_id = 50, .opcode = RI_OP_BIND_MW, .flags = RI_WR_SIGNALED};
	uint32_t stag;

	CERT_VERB(scene->cert, RI_SUCCESS,
		  scene->far->p->mem->mw_alloc(pd, RI_MW_NARROW, mw, &stag));
	wr.u.bind.mw_stag = (stag & ~0xffu) | ((stag + 1) & 0xff);
	wr.u.bind.mr_stag = region->stag;
	wr.u.bind.addr = (uintptr_t)region->at;
	wr.u.bind.length = 64;
	wr.u.bind.access = RI_ACCESS_REMOTE_READ | RI_ACCESS_REMOTE_WRITE;
	cert_post(&scene->b[0], &wr);
	cert_wc_is(&scene->b[0], false, 50, RI_WC_SUCCESS);
	return wr.u.bind.mw_stag;
}

/* The receive's buffer is checked against the shared queue's domain, the key to invalidate against the queue pair's. */
static void
two_domains(struct cert *cert)
{
	struct scene scene RI_AT_END(scene_close);
	struct cert_region *buffer;
	struct ri_sge sink, source;
	struct ri_recv_wr recv = {.wr_id = 7, .num_sge = 1};
	struct ri_wr wr = {.wr_id = 1,
			   .opcode = RI_OP_SEND,
			   .num_sge = 1,
			   .flags = RI_WR_SIGNALED | RI_WR_INVALIDATE};
	struct ri_mw *mw = NULL;
	struct ri_wc wc;

	scene_open_in(&scene, cert, 4, true);
	buffer = cert_region_new_in(scene.far, scene.pd, 64, CERT_ALL);
	sink = cert_sge(buffer, 0, 64);
	source = cert_sge(scene.from, 0, 64);
	wr.inv_stag = window_bound(&scene, scene.far->pd, &mw);
	wr.sgl = &source;
	recv.sgl = &sink;
	CERT_FAST(cert, RI_SUCCESS, scene.far->p->fast->post_srq(scene.usrq, &recv));
	cert_fill(scene.from->at, 64, 1);
	cert_post(scene.a[0], &wr);
	wc = cert_wc_is(&scene.b[0], true, 7, RI_WC_SUCCESS);
	CERT_UINT(cert, wc.flags & RI_WC_INVALIDATED, ==, RI_WC_INVALIDATED);
	CERT_UINT(cert, wc.inv_stag, ==, wr.inv_stag);
	cert_expect_fill(cert, "what arrived", buffer->at, 64, 1);
	cert_wc_is(scene.a[0], false, 1, RI_WC_SUCCESS);
	CERT_VERB(cert, RI_SUCCESS, scene.far->p->mem->mw_free(mw));
}

/* --- watermarks ---------------------------------------------------------------------------- */

/* One event when fewer receives than the limit are left; the next one needs a new limit. */
static void
low_watermark(struct cert *cert)
{
	struct scene scene RI_AT_END(scene_close);
	struct ri_srq_attr attr = {.limit = 3};
	struct ri_map map;

	scene_open(&scene, cert, 8);
	for (uint64_t id = 0; id < 6; id++)
		CERT_FAST(cert, RI_SUCCESS, post(&scene, id));
	CERT_VERB(cert, RI_SUCCESS, scene.far->p->srq->modify(scene.srq, &attr, false, &map));
	for (uint64_t id = 0; id < 3; id++) {
		send(&scene, 0, id);
		cert_wc_is(&scene.b[0], true, id, RI_WC_SUCCESS);
	}
	for (unsigned i = 0; i < 50; i++)
		cert_progress(cert);
	CERT_UINT(cert, cert_async_count(scene.far, RI_EVENT_SRQ_LIMIT, scene.ctx), ==, 0);
	send(&scene, 0, 3);
	cert_async(scene.far, RI_EVENT_SRQ_LIMIT, scene.ctx);
	send(&scene, 1, 4);
	for (unsigned i = 0; i < 50; i++)
		cert_progress(cert);
	CERT_UINT(cert, cert_async_count(scene.far, RI_EVENT_SRQ_LIMIT, scene.ctx), ==, 0);
	CERT_VERB(cert, RI_SUCCESS, scene.far->p->srq->query(scene.srq, &attr));
	CERT_UINT(cert, attr.limit, ==, 0);
}

/* Its soft limit is 1. More receives of the queue pair wait to be polled: one event. */
static void
soft_limit_passed(struct scene *scene)
{
	struct cert *cert = scene->cert;

	for (uint64_t id = 0; id < 4; id++)
		send(scene, 0, id);
	cert_async(scene->far, RI_EVENT_QP_RQ_LIMIT, scene->b[0].ctx);
	for (uint64_t id = 0; id < 4; id++)
		cert_wc_is(&scene->b[0], true, id, RI_WC_SUCCESS);
	for (unsigned i = 0; i < 50; i++)
		cert_progress(cert);
	CERT_UINT(cert, cert_async_count(scene->far, RI_EVENT_QP_RQ_LIMIT, scene->b[0].ctx), ==, 0);
}

static enum ri_status
soft_limit_set(struct scene *scene)
{
	struct ri_qp_attr attr = {.soft_limit = 1};
	enum ri_status status;

	for (uint64_t id = 0; id < 6; id++)
		CERT_FAST(scene->cert, RI_SUCCESS, post(scene, id));
	cert_verb_begin(scene->cert);
	status = scene->far->p->qp->modify(scene->b[0].qp, &attr, RI_QP_ATTR_SOFT);
	cert_verb_end(scene->cert, CERT_WHERE, "modify");
	return status;
}

static void
soft_limit(struct cert *cert)
{
	struct scene scene RI_AT_END(scene_close);

	scene_open(&scene, cert, 8);
	cert_expect_status(cert, CERT_WHERE, "a soft limit", soft_limit_set(&scene), RI_SUCCESS);
	soft_limit_passed(&scene);
}

/* An adapter may do more than it claims, but it may not take a limit and then forget it. */
static void
no_soft_limit(struct cert *cert)
{
	enum ri_status status;
	struct scene scene RI_AT_END(scene_close);

	scene_open(&scene, cert, 8);
	status = soft_limit_set(&scene);
	CERT_TRUE(cert, status == RI_SUCCESS || status == RI_ERR_UNSUPPORTED);
	if (status == RI_SUCCESS)
		soft_limit_passed(&scene);
}

static void
resized(struct cert *cert)
{
	struct scene scene RI_AT_END(scene_close);
	struct ri_srq_attr attr = {.max_wr = 100, .limit = RI_SRQ_LIMIT_KEEP};
	enum ri_status status;
	struct ri_map map;

	scene_open(&scene, cert, 4);
	for (uint64_t id = 0; id < 4; id++)
		CERT_FAST(cert, RI_SUCCESS, post(&scene, id));
	CERT_VERB(cert, RI_SUCCESS, scene.far->p->srq->modify(scene.srq, &attr, true, &map));
	CERT_UINT(cert, attr.max_wr, >=, 100);
	CERT_VERB(cert, RI_SUCCESS, scene.far->p->user->srq_remap(scene.usrq, &map));
	for (uint64_t id = 4; id < 60; id++)
		CERT_FAST(cert, RI_SUCCESS, post(&scene, id));
	CERT_UINT(cert, available(&scene), ==, 60);
	for (uint64_t id = 0; id < 20; id++) {
		send(&scene, 0, id);
		cert_wc_is(&scene.b[0], true, id, RI_WC_SUCCESS);
	}
	attr = (struct ri_srq_attr){.max_wr = 8, .limit = RI_SRQ_LIMIT_KEEP};
	cert_verb_begin(cert);
	status = scene.far->p->srq->modify(scene.srq, &attr, true, &map);
	cert_verb_end(cert, CERT_WHERE, "modify");
	if (status == RI_SUCCESS) { /* a queue has a least size */
		CERT_UINT(cert, attr.max_wr, >=, 40);
		CERT_VERB(cert, RI_SUCCESS, scene.far->p->user->srq_remap(scene.usrq, &map));
	} else {
		CERT_UINT(cert, status, ==, RI_ERR_BUSY);
	}
	send(&scene, 1, 20);
	cert_wc_is(&scene.b[1], true, 20, RI_WC_SUCCESS);
}

/* A change that cannot be leaves the limit, the size and the receives. */
static void
modify_refused(struct cert *cert)
{
	struct scene scene RI_AT_END(scene_close);
	struct ri_srq_attr attr = {.limit = 2}, after = {0};
	struct ri_map map;

	scene_open(&scene, cert, 8);
	CERT_FAST(cert, RI_SUCCESS, post(&scene, 1));
	CERT_FAST(cert, RI_SUCCESS, post(&scene, 2));
	CERT_VERB(cert, RI_SUCCESS, scene.far->p->srq->modify(scene.srq, &attr, false, &map));
	attr.limit = scene.attr.max_wr + 1;
	CERT_VERB(cert, RI_ERR_INVALID_ARG,
		  scene.far->p->srq->modify(scene.srq, &attr, false, &map));
	if (scene.far->attr.srq_resizable) {
		attr = (struct ri_srq_attr){.max_wr = 0, .limit = RI_SRQ_LIMIT_KEEP};
		CERT_VERB(cert, RI_ERR_INVALID_ARG,
			  scene.far->p->srq->modify(scene.srq, &attr, true, &map));
		attr = (struct ri_srq_attr){.max_wr = scene.far->attr.max_srq_wr + 1,
					    .limit = RI_SRQ_LIMIT_KEEP};
		CERT_VERB(cert, RI_ERR_LIMIT,
			  scene.far->p->srq->modify(scene.srq, &attr, true, &map));
	}
	CERT_VERB(cert, RI_SUCCESS, scene.far->p->srq->query(scene.srq, &after));
	CERT_UINT(cert, after.limit, ==, 2);
	CERT_UINT(cert, after.max_wr, ==, scene.attr.max_wr);
	CERT_UINT(cert, after.available, ==, 2);
}

static void
too_many_segments(struct cert *cert)
{
	struct scene scene RI_AT_END(scene_close);
	struct ri_sge sgl[300];
	struct ri_recv_wr wr = {.wr_id = 1, .sgl = sgl};

	scene_open(&scene, cert, 4);
	for (size_t i = 0; i < G_N_ELEMENTS(sgl); i++)
		sgl[i] = cert_sge(scene.into, i, 1);
	if (scene.attr.max_sge >= G_N_ELEMENTS(sgl)) {
		cert_skip(cert, "a receive of %u segments is out of reach", scene.attr.max_sge + 1);
	} else {
		wr.num_sge = (uint16_t)(scene.attr.max_sge + 1);
		CERT_FAST(cert, RI_ERR_LIMIT, scene.far->p->fast->post_srq(scene.usrq, &wr));
		CERT_UINT(cert, available(&scene), ==, 0);
	}
}

static const struct cert_case cases[] = {
	{.id = "verbs.srq.take.0001",
	 .title = "Each message takes the oldest receive, and its own queue pair completes it",
	 .rule = "[RI 6.1] [RI 6.2]",
	 .needs = "srq",
	 .settles = "srq",
	 .run = takes_the_oldest},
	{.id = "verbs.srq.take.0002",
	 .title = "A queue pair of a shared receive queue has no receive queue of its own",
	 .rule = "[RI 6.1]",
	 .needs = "srq",
	 .run = own_queue_is_closed},
	{.id = "verbs.srq.take.0003",
	 .title = "A slot is used until its completion was polled",
	 .rule = "[RI 6.3]",
	 .needs = "srq",
	 .run = slots},
	{.id = "verbs.srq.take.0004",
	 .title = "The end of one queue pair leaves the receives to the others",
	 .rule = "[RI 6.6]",
	 .needs = "srq",
	 .run = one_member_ends},
	{.id = "verbs.srq.life.0001",
	 .title = "A shared receive queue with queue pairs is busy; its destruction raises nothing",
	 .rule = "[RI 2.2.3] [RI 6.6]",
	 .needs = "srq",
	 .run = busy},
	{.id = "verbs.srq.size.0002",
	 .title = "A shared receive queue that is resized keeps its receives",
	 .rule = "[RI 10.16]",
	 .needs = "srq srq_resizable",
	 .settles = "srq_resizable",
	 .run = resized},
	{.id = "verbs.srq.domain.0001",
	 .title = "The domain of a shared receive queue plays no part in an invalidation by the "
		  "peer",
	 .rule = "[RI 5.4.3] [RI 6.1]",
	 .needs = "srq send_invalidate mw_narrow mw_key_owner:RI_KEY_CONSUMER",
	 .settles = "srq send_invalidate",
	 .run = two_domains},
	{.id = "verbs.srq.size.0003",
	 .title = "A change of a shared queue that cannot be is refused and changes nothing",
	 .rule = "[RI 10.16] [RI 2.1.1]",
	 .needs = "srq srq_limit",
	 .run = modify_refused},
	{.id = "verbs.srq.post.0001",
	 .title = "A receive with more segments than the shared queue takes is refused",
	 .rule = "[RI 6.1]",
	 .needs = "srq",
	 .run = too_many_segments},
	{.id = "verbs.srq.limit.0001",
	 .title = "The low watermark raises one event when it is passed",
	 .rule = "[RI 6.4] [RI 8.4]",
	 .needs = "srq srq_limit",
	 .settles = "srq_limit",
	 .run = low_watermark},
	{.id = "verbs.srq.limit.0002",
	 .title = "The soft high watermark of a queue pair raises one event when it is passed",
	 .rule = "[RI 6.5] [RI 10.18]",
	 .needs = "srq rq_soft_limit",
	 .settles = "rq_soft_limit",
	 .run = soft_limit},
	{.id = "verbs.srq.limit.0003",
	 .title = "Without the claim a soft high watermark is refused, or works all the same",
	 .rule = "[RI 6.5] [RI 10.18]",
	 .needs = "srq !rq_soft_limit",
	 .settles = "rq_soft_limit",
	 .run = no_soft_limit},
};

CERT_SET(verbs_srq, cases);
