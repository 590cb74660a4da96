/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The access layers of the tests; see vem_node.h. */
#include "vem_node.h"

#include <string.h>

#define PATIENCE (60 * G_USEC_PER_SEC)

/* --- upcalls ------------------------------------------------------------------------------ */

static void
cq_event(void *self, uint64_t ctx)
{
	struct node *node = self;

	(void)ctx;
	pthread_mutex_lock(&node->lock);
	node->cq_events++;
	pthread_mutex_unlock(&node->lock);
}

static void
async_event(void *self, const struct ri_async_event *event)
{
	struct node *node = self;

	pthread_mutex_lock(&node->lock);
	g_queue_push_tail(node->async, g_memdup2(event, sizeof(*event)));
	pthread_mutex_unlock(&node->lock);
}

static void
cm_event(void *self, const struct ri_cm_event *event)
{
	struct node *node = self;

	pthread_mutex_lock(&node->lock);
	g_queue_push_tail(node->cm, g_memdup2(event, sizeof(*event)));
	pthread_mutex_unlock(&node->lock);
}

void
node_run(struct node *node)
{
	if (node->threaded)
		g_usleep(200);
	else
		vth_run(node->vth);
}

static void *
take(struct node *node, GQueue *queue)
{
	gint64 end = g_get_monotonic_time() + PATIENCE;
	void *item = NULL;

	do {
		node_run(node);
		pthread_mutex_lock(&node->lock);
		item = g_queue_pop_head(queue);
		pthread_mutex_unlock(&node->lock);
	} while (item == NULL && node->threaded && g_get_monotonic_time() < end);
	g_assert_nonnull(item);
	return item;
}

struct ri_cm_event
node_cm(struct node *node, enum ri_cm_event_kind kind, const void *ctx)
{
	struct ri_cm_event *event = take(node, node->cm);
	struct ri_cm_event copy = *event;

	g_free(event);
	g_assert_cmpuint(copy.kind, ==, kind);
	g_assert_cmpuint(copy.ctx, ==, (uint64_t)(uintptr_t)ctx);
	return copy;
}

struct ri_async_event
node_async(struct node *node, enum ri_event event, const void *ctx)
{
	struct ri_async_event *raised = take(node, node->async);
	struct ri_async_event copy = *raised;

	g_free(raised);
	g_assert_cmpuint(copy.event, ==, event);
	g_assert_cmpuint(copy.object, >, RI_OBJECT_NONE);
	g_assert_cmpuint(copy.ctx, ==, (uint64_t)(uintptr_t)ctx);
	return copy;
}

void
node_silent(struct node *node)
{
	node_run(node);
	pthread_mutex_lock(&node->lock);
	struct ri_cm_event *cm = g_queue_peek_head(node->cm);
	struct ri_async_event *async = g_queue_peek_head(node->async);
	g_assert_cmpuint(cm != NULL ? cm->kind : RI_CM_NONE, ==, RI_CM_NONE);
	g_assert_cmpuint(async != NULL ? async->event : RI_EVENT_NONE, ==, RI_EVENT_NONE);
	pthread_mutex_unlock(&node->lock);
}

/* --- adapters ----------------------------------------------------------------------------- */

struct node *
node_new(struct vth *vth, bool threaded, const char *adapter)
{
	struct node *node = g_new0(struct node, 1);
	struct ri_open open = {.host = vth_host(vth), .upcalls = &node->upcalls};
	struct ri_owner owner = {.mem_owner = 1};
	struct ri_map map;

	node->vth = vth;
	node->threaded = threaded;
	node->p = vem_provider_entry();
	node->cm = g_queue_new();
	node->async = g_queue_new();
	pthread_mutex_init(&node->lock, NULL);
	node->upcalls = (struct ri_upcalls){.size = sizeof(node->upcalls),
					    .self = node,
					    .cq_event = cq_event,
					    .async_event = async_event,
					    .cm_event = cm_event};
	g_strlcpy(open.name, adapter, sizeof(open.name));
	g_assert_cmpint(node->p->device->open(&open, &node->rnic), ==, RI_SUCCESS);
	node->attr.size = sizeof(node->attr);
	g_assert_cmpint(node->p->device->query(node->rnic, &node->attr), ==, RI_SUCCESS);
	g_assert_cmpint(node->p->device->context_create(node->rnic, &owner, &node->context, &map),
			==, RI_SUCCESS);
	g_assert_cmpint(node->p->user->rnic_open(vth_host(vth), &map, &node->urnic), ==,
			RI_SUCCESS);
	g_assert_cmpint(node->p->pd->create(node->context, &node->pd), ==, RI_SUCCESS);
	return node;
}

void
node_free(struct node *node)
{
	node_silent(node);
	node->p->user->rnic_close(node->urnic);
	node->p->device->context_destroy(node->context);
	node->p->device->close(node->rnic);
	g_queue_free_full(node->cm, g_free);
	g_queue_free_full(node->async, g_free);
	pthread_mutex_destroy(&node->lock);
	g_free(node);
}

/* --- queue pairs -------------------------------------------------------------------------- */

struct ri_qp_init
end_defaults(const struct node *node)
{
	return (struct ri_qp_init){
		.max_sq_wr = 16,
		.max_rq_wr = 16,
		.max_send_sge = 4,
		.max_recv_sge = 4,
		.max_write_sge = 4,
		.max_read_sge = MIN(4, node->attr.max_read_sge),
		.ird = 4,
		.ord = 4,
		.access = RI_ACCESS_REMOTE_READ | RI_ACCESS_REMOTE_WRITE | RI_ACCESS_BIND,
		.hard_limit = UINT32_MAX,
	};
}

static void
cq_new(struct node *node, uint32_t entries, struct ri_cq **cq, struct ri_ucq **ucq)
{
	struct ri_map map;

	g_assert_cmpint(node->p->cq->create(node->context, 0, &entries, cq, &map), ==, RI_SUCCESS);
	g_assert_cmpint(node->p->user->cq_open(node->urnic, &map, ucq), ==, RI_SUCCESS);
}

void
node_share(struct node *node, uint32_t size)
{
	struct ri_srq_attr attr = {.ctx = (uint64_t)(uintptr_t)node, .max_wr = size, .max_sge = 2};
	struct ri_map map;

	g_assert_cmpint(node->p->srq->create(node->pd, &attr, &node->srq, &map), ==, RI_SUCCESS);
	g_assert_cmpuint(attr.max_wr, >=, size);
	g_assert_cmpint(node->p->user->srq_open(node->urnic, &map, &node->usrq), ==, RI_SUCCESS);
}

void
node_unshare(struct node *node)
{
	node->p->user->srq_close(node->usrq);
	g_assert_cmpint(node->p->srq->destroy(node->srq), ==, RI_SUCCESS);
	node->srq = NULL;
	node->usrq = NULL;
}

void
node_post(struct node *node, uint64_t id, const struct ri_sge *sge)
{
	struct ri_recv_wr wr = {.wr_id = id, .sgl = sge, .num_sge = sge != NULL};

	g_assert_cmpint(node->p->fast->post_srq(node->usrq, &wr), ==, RI_SUCCESS);
}

struct end *
end_new_cq(struct node *node, const struct ri_qp_init *init, uint32_t entries)
{
	struct end *end = g_new0(struct end, 1);
	struct ri_map map;

	end->node = node;
	end->init = init != NULL ? *init : end_defaults(node);
	end->init.ctx = (uint64_t)(uintptr_t)end;
	cq_new(node, entries, &end->scq, &end->uscq);
	cq_new(node, entries, &end->rcq, &end->urcq);
	g_assert_cmpint(node->p->qp->create(node->pd, &end->init, end->scq, end->rcq, node->srq,
					    &end->qp, &map),
			==, RI_SUCCESS);
	g_assert_cmpint(node->p->user->qp_open(node->urnic, &map, end->uscq, end->urcq, node->usrq,
					       &end->uqp),
			==, RI_SUCCESS);
	return end;
}

struct end *
end_new(struct node *node, const struct ri_qp_init *init)
{
	return end_new_cq(node, init, 64);
}

void
end_free(struct end *end)
{
	const struct ri_provider *p = end->node->p;

	p->user->qp_close(end->uqp);
	g_assert_cmpint(p->qp->destroy(end->qp), ==, RI_SUCCESS);
	p->user->cq_close(end->uscq);
	p->user->cq_close(end->urcq);
	g_assert_cmpint(p->cq->destroy(end->scq), ==, RI_SUCCESS);
	g_assert_cmpint(p->cq->destroy(end->rcq), ==, RI_SUCCESS);
	g_free(end);
}

struct ri_qp_attr
end_attr(struct end *end)
{
	struct ri_qp_attr attr;

	g_assert_cmpint(end->node->p->qp->query(end->qp, &attr), ==, RI_SUCCESS);
	return attr;
}

enum ri_qp_state
end_state(struct end *end)
{
	return (enum ri_qp_state)end_attr(end).state;
}

enum ri_status
end_modify(struct end *end, enum ri_qp_state state)
{
	struct ri_qp_attr attr = {.state = state};

	return end->node->p->qp->modify(end->qp, &attr, RI_QP_ATTR_STATE);
}

struct ri_cm_params
node_params(const struct ri_service *service)
{
	return (struct ri_cm_params){
		.peer = {.family = RI_ADDR_IPV4, .octets = {127, 0, 0, 1}},
		.service = service != NULL ? *service : (struct ri_service){0},
		.ird = 4,
		.ord = 4,
		.ird_ord = true,
		.deadline = RI_NEVER,
	};
}

void
ends_connect(struct end *a, struct end *b)
{
	const struct ri_cm_ops *cm = a->node->p->cm;
	struct ri_service service = {.kind = RI_SERVICE_PORT};
	struct ri_listen *listen = NULL;

	g_assert_cmpint(cm->listen(b->node->context, 42, 0, &service, 4, &listen), ==, RI_SUCCESS);
	struct ri_cm_params params = node_params(&service);
	g_assert_cmpint(cm->connect(a->qp, &params), ==, RI_SUCCESS);
	struct ri_cm_event request = node_cm(b->node, RI_CM_REQUEST, (const void *)(uintptr_t)42);
	g_assert_cmpint(cm->accept(request.request, b->qp, &params), ==, RI_SUCCESS);
	if (a->node != b->node) {
		node_cm(a->node, RI_CM_ESTABLISHED, a);
		node_cm(b->node, RI_CM_ESTABLISHED, b);
	} else {
		bool ib = a->node->attr.transport == RI_TRANSPORT_IB;
		node_cm(a->node, RI_CM_ESTABLISHED, ib ? a : b);
		node_cm(a->node, RI_CM_ESTABLISHED, ib ? b : a);
	}
	cm->listen_destroy(listen);
	node_run(a->node);
	g_assert_cmpint(end_state(a), ==, RI_QPS_RTS);
	g_assert_cmpint(end_state(b), ==, RI_QPS_RTS);
}

/* --- memory and posts --------------------------------------------------------------------- */

struct chunk
chunk_new(struct node *node, uint32_t len, uint32_t access)
{
	struct chunk chunk = {.node = node, .len = len, .at = g_malloc0(len)};
	struct ri_mr_init init = {
		.addr = (uint64_t)(uintptr_t)chunk.at, .length = len, .access = access, .key = 7};

	g_assert_cmpint(node->p->mem->mr_reg(node->pd, &init, &chunk.mr, &chunk.stag), ==,
			RI_SUCCESS);
	return chunk;
}

void
chunk_free(struct chunk *chunk)
{
	g_assert_cmpint(chunk->node->p->mem->mr_dereg(chunk->mr), ==, RI_SUCCESS);
	g_free(chunk->at);
}

void
chunk_fill(struct chunk *chunk, unsigned seed)
{
	for (uint32_t i = 0; i < chunk->len; i++)
		chunk->at[i] = (uint8_t)(seed + i * 7 + (i >> 8));
}

struct ri_sge
chunk_sge(const struct chunk *chunk, uint32_t at, uint32_t len)
{
	return (struct ri_sge){
		.addr = (uint64_t)(uintptr_t)chunk->at + at, .length = len, .stag = chunk->stag};
}

void
post_send(struct end *end, uint64_t id, const struct ri_sge *sge, uint32_t flags)
{
	struct ri_wr wr = {.wr_id = id,
			   .sgl = sge,
			   .num_sge = sge != NULL,
			   .opcode = RI_OP_SEND,
			   .flags = RI_WR_SIGNALED | flags};

	g_assert_cmpint(end->node->p->fast->post_sq(end->uqp, &wr), ==, RI_SUCCESS);
}

void
post_recv(struct end *end, uint64_t id, const struct ri_sge *sge)
{
	struct ri_recv_wr wr = {.wr_id = id, .sgl = sge, .num_sge = sge != NULL};

	g_assert_cmpint(end->node->p->fast->post_rq(end->uqp, &wr), ==, RI_SUCCESS);
}

void
post_rdma(struct end *end, enum ri_opcode opcode, uint64_t id, const struct ri_sge *local,
	  const struct ri_sge *remote)
{
	struct ri_wr wr = {.wr_id = id,
			   .sgl = local,
			   .num_sge = local != NULL,
			   .opcode = (uint8_t)opcode,
			   .flags = RI_WR_SIGNALED,
			   .u.remote = {.addr = remote->addr, .stag = remote->stag}};

	g_assert_cmpint(end->node->p->fast->post_sq(end->uqp, &wr), ==, RI_SUCCESS);
}

struct ri_wc
poll_one(struct ri_ucq *cq, uint64_t id, enum ri_wc_status status)
{
	struct ri_wc wc = {0};

	g_assert_cmpuint(vem_provider_entry()->fast->poll_cq(cq, &wc, 1), ==, 1);
	g_assert_cmpuint(wc.wr_id, ==, id);
	g_assert_cmpuint(wc.status, ==, status);
	return wc;
}

void
poll_none(struct ri_ucq *cq)
{
	struct ri_wc wc;

	g_assert_cmpuint(vem_provider_entry()->fast->poll_cq(cq, &wc, 1), ==, 0);
}
