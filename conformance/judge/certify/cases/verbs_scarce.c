/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Control verbs of adapters, queues and queue pairs when memory runs out. */

#include <unistd.h>

#include "verbs_scarce.h"

#define MEMORY 4096u

/* A node, and what the verbs create in it. */
struct scene {
	struct cert *cert;
	struct cert_node *node;
	const struct ri_provider *p;
	struct cert_end *end; /* with queues that others may use */
	struct cert_region *region;
	struct ri_open open;
	struct ri_owner owner;
	uint64_t ctx; /* of what is created */
	struct ri_rnic *rnic;
	struct ri_context *context;
	struct ri_pd *pd;
	struct ri_cq *cq;
	struct ri_srq *srq;
	struct ri_usrq *usrq;
	struct ri_qp *qp;
	struct ri_qp_init init;
	struct ri_urnic *urnic;
	struct ri_ucq *ucq;
	struct ri_uqp *uqp;
	struct ri_map map, node_map;
	struct ri_qp_attr attr;
	uint32_t entries;
	unsigned turn;
};

/* NULL: the case is skipped. It is freed by scene_close. */
static struct scene *
scene_open(struct cert *cert)
{
	struct scene *scene;

	if (!scarce_can(cert))
		return NULL;
	scene = g_new0(struct scene, 1);
	scene->cert = cert;
	scene->node = cert_node_open(cert);
	scene->p = scene->node->p;
	scene->end = cert_end_new(scene->node, NULL);
	scene->region = cert_region_new(scene->node, MEMORY, CERT_ALL);
	scene->ctx = cert_ctx_new(scene->node, RI_OBJECT_QP);
	scene->owner = (struct ri_owner){.mem_owner = cert_host_owner(),
					 .pid = (uint32_t)getpid(),
					 .uid = (uint32_t)getuid(),
					 .privileged = true};
	return scene;
}

/* What failed has left nothing that keeps the domain and the queues busy. */
static void
scene_close(struct scene *scene)
{
	struct cert *cert = scene->cert;
	struct cert_node *node = scene->node;

	cert_end_free(scene->end);
	cert_region_free(scene->region);
	CERT_VERB(cert, RI_SUCCESS, node->p->pd->destroy(node->pd));
	g_free(scene);
}

#define VERB(scene, call) CERT_VERB((scene)->cert, RI_SUCCESS, call)
#define GONE(scene, call) CERT_VERB_VOID((scene)->cert, call)

/* --- adapters ------------------------------------------------------------------------------ */

static void
deaf_cq(void *self, uint64_t ctx)
{
	(void)self;
	(void)ctx;
}

static void
deaf_async(void *self, const struct ri_async_event *event)
{
	(void)self;
	(void)event;
}

static void
deaf_cm(void *self, const struct ri_cm_event *event)
{
	(void)self;
	(void)event;
}

static const struct ri_upcalls deaf = {
	.size = sizeof(deaf), .cq_event = deaf_cq, .async_event = deaf_async, .cm_event = deaf_cm};

static enum ri_status
device_try(struct scene *scene)
{
	return scene->p->device->open(&scene->open, &scene->rnic);
}

static void
device_undo(struct scene *scene)
{
	GONE(scene, scene->p->device->close(scene->rnic));
}

static enum ri_status
context_try(struct scene *scene)
{
	return scene->p->device->context_create(scene->node->rnic, &scene->owner, &scene->context,
						&scene->map);
}

static void
context_undo(struct scene *scene)
{
	GONE(scene, scene->p->device->context_destroy(scene->context));
}

static enum ri_status
urnic_try(struct scene *scene)
{
	return scene->p->user->rnic_open(scene->open.host, &scene->node_map, &scene->urnic);
}

static void
urnic_undo(struct scene *scene)
{
	GONE(scene, scene->p->user->rnic_close(scene->urnic));
}

static void
adapters(struct cert *cert)
{
	static const struct scarce device = {"ri_device_ops::open", NULL, device_try, device_undo,
					     NULL};
	static const struct scarce context = {"ri_device_ops::context_create", NULL, context_try,
					      context_undo, NULL};
	static const struct scarce user = {"ri_user_ops::rnic_open", NULL, urnic_try, urnic_undo,
					   NULL};
	struct scene *scene = scene_open(cert);
	struct ri_context *other = NULL;

	if (scene == NULL)
		return;
	scene->open.host = cert_host_table(cert_host(cert));
	scene->open.upcalls = &deaf;
	g_strlcpy(scene->open.name, cert_adapter(cert), sizeof(scene->open.name));
	scarce_sweep(cert, &device, scene);
	scarce_sweep(cert, &context, scene);
	VERB(scene, scene->p->device->context_create(scene->node->rnic, &scene->owner, &other,
						     &scene->node_map));
	scarce_sweep(cert, &user, scene);
	GONE(scene, scene->p->device->context_destroy(other));
	scene_close(scene);
}

/* --- domains and completion queues ------------------------------------------------------------ */

static enum ri_status
pd_try(struct scene *scene)
{
	return scene->p->pd->create(scene->node->context, &scene->pd);
}

static void
pd_undo(struct scene *scene)
{
	VERB(scene, scene->p->pd->destroy(scene->pd));
}

static enum ri_status
cq_try(struct scene *scene)
{
	scene->entries = 100;
	return scene->p->cq->create(scene->node->context, scene->ctx, &scene->entries, &scene->cq,
				    &scene->map);
}

static void
cq_undo(struct scene *scene)
{
	VERB(scene, scene->p->cq->destroy(scene->cq));
}

static enum ri_status
ucq_try(struct scene *scene)
{
	return scene->p->user->cq_open(scene->node->urnic, &scene->map, &scene->ucq);
}

static void
ucq_undo(struct scene *scene)
{
	GONE(scene, scene->p->user->cq_close(scene->ucq));
}

static void
completion_queues(struct cert *cert)
{
	static const struct scarce pd = {"ri_pd_ops::create", NULL, pd_try, pd_undo, NULL};
	static const struct scarce cq = {"ri_cq_ops::create", NULL, cq_try, cq_undo, NULL};
	static const struct scarce ucq = {"ri_user_ops::cq_open", NULL, ucq_try, ucq_undo, NULL};
	struct scene *scene = scene_open(cert);

	if (scene == NULL)
		return;
	scarce_sweep(cert, &pd, scene);
	scarce_sweep(cert, &cq, scene);
	VERB(scene, cq_try(scene));
	scarce_sweep(cert, &ucq, scene);
	cq_undo(scene);
	scene_close(scene);
}

/* Two sizes in turn: a resize to the present size would allocate nothing. */
static enum ri_status
resize_try(struct scene *scene)
{
	scene->entries = scene->turn % 2 == 0 ? 300 : 100;
	return scene->p->cq->resize(scene->end->rcq, &scene->entries, &scene->map);
}

static void
resize_undo(struct scene *scene)
{
	VERB(scene, scene->p->user->cq_remap(scene->end->urcq, &scene->map));
	scene->turn++;
}

static void
resize_check(struct scene *scene)
{
	CERT_UINT(scene->cert, scene->p->fast->cq_depth(scene->end->urcq), ==, 8);
}

static void
remap_prepare(struct scene *scene)
{
	VERB(scene, resize_try(scene));
}

static enum ri_status
remap_try(struct scene *scene)
{
	return scene->p->user->cq_remap(scene->end->urcq, &scene->map);
}

static void
remap_undo(struct scene *scene)
{
	resize_check(scene);
	scene->turn++;
}

/* The queue has completions, which stay, in their order. */
static void
resized_queue(struct cert *cert)
{
	static const struct scarce resize = {"ri_cq_ops::resize", NULL, resize_try, resize_undo,
					     resize_check};
	static const struct scarce remap = {"ri_user_ops::cq_remap", remap_prepare, remap_try,
					    remap_undo, resize_check};
	struct scene *scene = scene_open(cert);
	struct ri_sge sge;
	gint64 until = 0;

	if (scene == NULL)
		return;
	sge = cert_sge(scene->region, 0, 64);
	for (uint64_t id = 0; id < 8; id++)
		cert_post_recv(scene->end, id, &sge, 1);
	CERT_UINT(cert, cert_end_move(scene->end, RI_QPS_ERROR), ==, RI_SUCCESS);
	while (scene->p->fast->cq_depth(scene->end->urcq) < 8)
		CERT_TRUE(cert, cert_patience(cert, &until));
	scarce_sweep(cert, &resize, scene);
	scarce_sweep(cert, &remap, scene);
	VERB(scene, remap_try(scene));
	for (uint64_t id = 0; id < 8; id++)
		cert_wc_is(scene->end, true, id, RI_WC_FLUSHED);
	scene_close(scene);
}

/* --- queue pairs ------------------------------------------------------------------------------ */

static enum ri_status
qp_try(struct scene *scene)
{
	struct ri_qp_init init = scene->init;

	return scene->p->qp->create(scene->node->pd, &init, scene->end->scq, scene->end->rcq,
				    scene->srq, &scene->qp, &scene->map);
}

static void
qp_undo(struct scene *scene)
{
	VERB(scene, scene->p->qp->destroy(scene->qp));
}

static enum ri_status
uqp_try(struct scene *scene)
{
	return scene->p->user->qp_open(scene->node->urnic, &scene->map, scene->end->uscq,
				       scene->end->urcq, scene->usrq, &scene->uqp);
}

static void
uqp_undo(struct scene *scene)
{
	GONE(scene, scene->p->user->qp_close(scene->uqp));
}

static void
both_halves(struct scene *scene)
{
	static const struct scarce qp = {"ri_qp_ops::create", NULL, qp_try, qp_undo, NULL};
	static const struct scarce uqp = {"ri_user_ops::qp_open", NULL, uqp_try, uqp_undo, NULL};

	scene->init.ctx = scene->ctx;
	scarce_sweep(scene->cert, &qp, scene);
	VERB(scene, qp_try(scene));
	scarce_sweep(scene->cert, &uqp, scene);
	qp_undo(scene);
}

static void
queue_pairs(struct cert *cert)
{
	struct scene *scene = scene_open(cert);

	if (scene == NULL)
		return;
	scene->init = cert_end_defaults(scene->node);
	both_halves(scene);
	scene_close(scene);
}

static void
datagram_pairs(struct cert *cert)
{
	struct scene *scene = scene_open(cert);

	if (scene == NULL)
		return;
	scene->init = cert_end_defaults(scene->node);
	scene->init.type = RI_QP_UD;
	scene->init.max_write_sge = scene->init.max_read_sge = 0;
	scene->init.ird = scene->init.ord = 0;
	scene->init.access = 0;
	both_halves(scene);
	scene_close(scene);
}

/* Reads and requests outstanding: more, and less again. */
static enum ri_status
depths_try(struct scene *scene)
{
	struct ri_qp_attr attr = {.ird = scene->attr.ird + (scene->turn % 2 == 0 ? 1 : 0)};

	return scene->p->qp->modify(scene->end->qp, &attr, RI_QP_ATTR_IRD);
}

static void
depths_undo(struct scene *scene)
{
	CERT_UINT(scene->cert, cert_end_attr(scene->end).ird, ==,
		  scene->attr.ird + (scene->turn % 2 == 0 ? 1 : 0));
	scene->turn++;
}

static void
depths_check(struct scene *scene)
{
	CERT_UINT(scene->cert, cert_end_attr(scene->end).ird, ==,
		  scene->attr.ird + (scene->turn % 2 == 0 ? 0 : 1));
}

static void
deeper_pairs(struct cert *cert)
{
	static const struct scarce depths = {"ri_qp_ops::modify", NULL, depths_try, depths_undo,
					     depths_check};
	struct scene *scene = scene_open(cert);

	if (scene == NULL)
		return;
	scene->attr = cert_end_attr(scene->end);
	scene->attr.ird = MIN(scene->attr.ird, scene->node->attr.max_ird - 1);
	scene->turn = 1;
	scarce_sweep(cert, &depths, scene);
	scene_close(scene);
}

static enum ri_status
slots_try(struct scene *scene)
{
	scene->attr = (struct ri_qp_attr){
		.max_sq_wr = 300, .max_rq_wr = 300, .max_send_sge = 1, .max_recv_sge = 1};
	return scene->p->qp->resize(scene->end->qp, &scene->attr, &scene->map);
}

/* A small queue pair with receives for each call, so that each has work to do. */
static void
slots_prepare(struct scene *scene)
{
	struct ri_sge sge = cert_sge(scene->region, 0, 64);

	scene->end = cert_end_new(scene->node, NULL);
	for (uint64_t id = 0; id < 8; id++)
		cert_post_recv(scene->end, id, &sge, 1);
}

static void
slots_end(struct scene *scene)
{
	CERT_UINT(scene->cert, cert_end_move(scene->end, RI_QPS_ERROR), ==, RI_SUCCESS);
	for (uint64_t id = 0; id < 8; id++)
		cert_wc_is(scene->end, true, id, RI_WC_FLUSHED);
	cert_end_free(scene->end);
}

static void
slots_undo(struct scene *scene)
{
	VERB(scene, scene->p->user->qp_remap(scene->end->uqp, &scene->attr, &scene->map));
	CERT_UINT(scene->cert, cert_end_attr(scene->end).max_rq_wr, >=, 300);
	slots_end(scene);
}

static void
slots_remap_prepare(struct scene *scene)
{
	slots_prepare(scene);
	VERB(scene, slots_try(scene));
}

static enum ri_status
slots_remap_try(struct scene *scene)
{
	return scene->p->user->qp_remap(scene->end->uqp, &scene->attr, &scene->map);
}

static void
slots_check(struct scene *scene)
{
	struct ri_qp_attr attr = cert_end_attr(scene->end);

	CERT_UINT(scene->cert, attr.max_sq_wr, ==, scene->end->init.max_sq_wr);
	CERT_UINT(scene->cert, attr.max_rq_wr, ==, scene->end->init.max_rq_wr);
}

static void
resized_pairs(struct cert *cert)
{
	static const struct scarce slots = {"ri_qp_ops::resize", slots_prepare, slots_try,
					    slots_undo, slots_check};
	static const struct scarce remap = {"ri_user_ops::qp_remap", slots_remap_prepare,
					    slots_remap_try, slots_end, NULL};
	struct scene *scene = scene_open(cert);

	if (scene == NULL)
		return;
	cert_end_free(scene->end);
	scarce_sweep(cert, &slots, scene);
	cert_end_free(scene->end);
	scarce_sweep(cert, &remap, scene);
	VERB(scene, slots_remap_try(scene));
	scene_close(scene);
}

static const struct cert_case cases[] = {
	{.id = "verbs.scarce.device.0001",
	 .title = "Opening an adapter and its contexts without memory fails whole",
	 .rule = "[RI 2.1.1] [RI 2.2.1]",
	 .run = adapters},
	{.id = "verbs.scarce.cq.0001",
	 .title = "Creating domains and completion queues without memory fails whole",
	 .rule = "[RI 2.1.1] [RI 2.2.2]",
	 .run = completion_queues},
	{.id = "verbs.scarce.cq.0002",
	 .title = "Resizing a completion queue without memory keeps its size and its completions",
	 .rule = "[RI 2.1.1] [RI 10.16]",
	 .needs = "cq_resizable",
	 .run = resized_queue},
	{.id = "verbs.scarce.qp.0001",
	 .title = "Creating queue pairs without memory fails whole",
	 .rule = "[RI 2.1.1] [RI 2.2.2]",
	 .run = queue_pairs},
	{.id = "verbs.scarce.qp.0002",
	 .title = "Creating queue pairs for datagrams without memory fails whole",
	 .rule = "[RI 2.1.1] [RI 10.34]",
	 .needs = "ud",
	 .run = datagram_pairs},
	{.id = "verbs.scarce.qp.0003",
	 .title = "Raising the IRD of a queue pair without memory keeps it",
	 .rule = "[RI 2.1.1] [RI 10.15]",
	 .needs = "ird_modifiable max_ird",
	 .run = deeper_pairs},
	{.id = "verbs.scarce.qp.0004",
	 .title = "Resizing a queue pair without memory keeps its sizes and its receives",
	 .rule = "[RI 2.1.1] [RI 10.16]",
	 .needs = "wq_resizable",
	 .run = resized_pairs},
};

CERT_SET(verbs_scarce, cases);
