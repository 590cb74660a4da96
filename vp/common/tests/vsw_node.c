/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "vsw_node.h"

#include <string.h>
#include <unistd.h>

#define PATIENCE 60 /* s */

/* --- how long tests wait ------------------------------------------------------------------ */

gint64
node_patience(void)
{
	const char *text = g_getenv("ITAPI_TEST_PATIENCE");
	guint64 seconds = PATIENCE;

	if (text != NULL)
		g_assert_true(g_ascii_string_to_unsigned(text, 10, 1, 3600, &seconds, NULL));
	return (gint64)seconds * G_USEC_PER_SEC;
}

gint64
node_deadline(void)
{
	return g_get_monotonic_time() + node_patience();
}

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
	g_array_append_vals(node->async, event, 1);
	pthread_mutex_unlock(&node->lock);
}

static void
cm_event(void *self, const struct ri_cm_event *event)
{
	struct node *node = self;

	pthread_mutex_lock(&node->lock);
	g_array_append_vals(node->cm, event, 1);
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

/* The first recorded event, moved to `event`. */
static void
take(struct node *node, GArray *raised, void *event)
{
	gint64 end = node_deadline();
	guint size = g_array_get_element_size(raised);
	bool some;

	do {
		node_run(node);
		pthread_mutex_lock(&node->lock);
		some = raised->len > 0;
		if (some) {
			memcpy(event, raised->data, size);
			g_array_remove_index(raised, 0);
		}
		pthread_mutex_unlock(&node->lock);
	} while (!some && node->threaded && g_get_monotonic_time() < end);
	g_assert_true(some);
}

struct ri_cm_event
node_cm(struct node *node, enum ri_cm_event_kind kind, const void *ctx)
{
	struct ri_cm_event event;

	take(node, node->cm, &event);
	g_assert_cmpuint(event.kind, ==, kind);
	g_assert_cmpuint(event.ctx, ==, (uint64_t)(uintptr_t)ctx);
	return event;
}

struct ri_async_event
node_async(struct node *node, enum ri_event event, const void *ctx)
{
	struct ri_async_event raised;

	take(node, node->async, &raised);
	g_assert_cmpuint(raised.event, ==, event);
	g_assert_cmpuint(raised.object, >, RI_OBJECT_NONE);
	g_assert_cmpuint(raised.ctx, ==, (uint64_t)(uintptr_t)ctx);
	return raised;
}

void
node_fault(struct node *node, enum ri_event event, const void *ctx)
{
	bool tagged = event >= RI_EVENT_QP_STAG && event <= RI_EVENT_QP_WRAP;
	bool read = event >= RI_EVENT_QP_IRRQ_STAG && event <= RI_EVENT_QP_IRRQ_WRAP;

	/* InfiniBand distinguishes an access violation and an invalid request, nothing finer [RI 10]. */
	if (node->attr.transport != RI_TRANSPORT_IB)
		node_async(node, event, ctx);
	else if (tagged || read || event == RI_EVENT_QP_READ_DISABLED ||
		 event == RI_EVENT_QP_WRITE_DISABLED)
		node_async(node, RI_EVENT_QP_ACCESS, ctx);
	else if (event == RI_EVENT_QP_IRRQ_OVERFLOW)
		node_async(node, RI_EVENT_QP_OPCODE, ctx);
}

void
node_lost(struct node *node, const void *ctx)
{
	if (node->attr.transport == RI_TRANSPORT_IWARP)
		node_async(node, RI_EVENT_QP_LLP_RESET, ctx);
	node_cm(node, RI_CM_BROKEN, ctx);
}

void
node_silent(struct node *node)
{
	node_run(node);
	pthread_mutex_lock(&node->lock);
	if (node->cm->len > 0)
		g_assert_cmpuint(g_array_index(node->cm, struct ri_cm_event, 0).kind, ==,
				 RI_CM_NONE);
	if (node->async->len > 0)
		g_assert_cmpuint(g_array_index(node->async, struct ri_async_event, 0).event, ==,
				 RI_EVENT_NONE);
	pthread_mutex_unlock(&node->lock);
}

void
node_forget(struct node *node)
{
	pthread_mutex_lock(&node->lock);
	g_array_set_size(node->cm, 0);
	g_array_set_size(node->async, 0);
	pthread_mutex_unlock(&node->lock);
}

unsigned
node_count_if(struct node *node, bool (*is)(const struct ri_async_event *, const void *),
	      const void *arg)
{
	unsigned count = 0;

	pthread_mutex_lock(&node->lock);
	for (guint i = 0; i < node->async->len; i++)
		count += is(&g_array_index(node->async, struct ri_async_event, i), arg);
	pthread_mutex_unlock(&node->lock);
	return count;
}

/* --- adapters ----------------------------------------------------------------------------- */

struct node *
node_open(const struct ri_provider *p, struct vth *vth, bool threaded, const char *adapter)
{
	struct node *node = g_new0(struct node, 1);
	struct ri_open open = {.host = vth_host(vth), .upcalls = &node->upcalls};
	struct ri_owner owner = {.pid = (uint32_t)getpid(), .mem_owner = 1};
	struct ri_map map;

	*node = (struct node){.vth = vth, .threaded = threaded, .p = p};
	node->cm = g_array_new(FALSE, FALSE, sizeof(struct ri_cm_event));
	node->async = g_array_new(FALSE, FALSE, sizeof(struct ri_async_event));
	node->gone = g_ptr_array_new_with_free_func(g_free);
	pthread_mutex_init(&node->lock, NULL);
	node->upcalls = (struct ri_upcalls){.size = sizeof(node->upcalls),
					    .self = node,
					    .cq_event = cq_event,
					    .async_event = async_event,
					    .cm_event = cm_event};
	g_strlcpy(open.name, adapter, sizeof(open.name));
	g_assert_cmpint(p->device->open(&open, &node->rnic), ==, RI_SUCCESS);
	node->attr.size = sizeof(node->attr);
	g_assert_cmpint(p->device->query(node->rnic, &node->attr), ==, RI_SUCCESS);
	g_assert_cmpint(p->device->context_create(node->rnic, &owner, &node->context, &map), ==,
			RI_SUCCESS);
	g_assert_cmpint(p->user->rnic_open(vth_host(vth), &map, &node->urnic), ==, RI_SUCCESS);
	g_assert_cmpint(p->pd->create(node->context, &node->pd), ==, RI_SUCCESS);
	return node;
}

void
node_close(struct node **closed)
{
	struct node *node = *closed;

	node->p->user->rnic_close(node->urnic);
	node->p->device->context_destroy(node->context);
	node->p->device->close(node->rnic);
	g_array_unref(node->cm);
	g_array_unref(node->async);
	g_ptr_array_unref(node->gone);
	pthread_mutex_destroy(&node->lock);
	g_free(node);
}

/* --- queue pairs -------------------------------------------------------------------------- */

struct ri_qp_init
end_defaults(const struct node *node)
{
	return (struct ri_qp_init){
		.max_sq_wr = node->requests,
		.max_rq_wr = node->requests,
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
node_post(struct node *node, uint64_t id, const struct chunk *c, size_t at, size_t len)
{
	struct ri_sge sge = chunk_sge(c, at, len);
	struct ri_recv_wr wr = {.wr_id = id, .sgl = &sge, .num_sge = 1};

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
	return end_new_cq(node, init, node->entries);
}

void
end_free(struct end **freed)
{
	struct end *end = *freed;
	const struct ri_provider *p = end->node->p;

	p->user->qp_close(end->uqp);
	g_assert_cmpint(p->qp->destroy(end->qp), ==, RI_SUCCESS);
	p->user->cq_close(end->uscq);
	p->user->cq_close(end->urcq);
	g_assert_cmpint(p->cq->destroy(end->scq), ==, RI_SUCCESS);
	g_assert_cmpint(p->cq->destroy(end->rcq), ==, RI_SUCCESS);
	pthread_mutex_lock(&end->node->lock);
	g_ptr_array_add(end->node->gone, end);
	pthread_mutex_unlock(&end->node->lock);
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

/* --- memory ------------------------------------------------------------------------------ */

struct chunk
chunk_new(struct node *node, size_t len, uint32_t access)
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
	if (chunk->mr != NULL)
		g_assert_cmpint(chunk->node->p->mem->mr_dereg(chunk->mr), ==, RI_SUCCESS);
	g_free(chunk->at);
}

void
ends_fill(struct ends *ends, const struct ri_qp_init *a, const struct ri_qp_init *b, size_t len,
	  uint32_t access)
{
	ends->ib = ends->na->attr.transport == RI_TRANSPORT_IB;
	ends->a = end_new(ends->na, a);
	ends->b = end_new(ends->nb, b);
	ends->ma = chunk_new(ends->na, len, ALL_RW | access);
	ends->mb = chunk_new(ends->nb, len, access);
}

void
chunk_fill(struct chunk *chunk, unsigned seed)
{
	/* The pattern repeats after 65,536 bytes; copies of it are much faster than single bytes under a sanitizer. */
	size_t period = MIN(chunk->len, 65536);

	for (size_t i = 0; i < period; i++)
		chunk->at[i] = (uint8_t)(i * 7 + (i >> 8) * 13 + seed);
	for (size_t at = period; at < chunk->len; at += period)
		memcpy(chunk->at + at, chunk->at, MIN(period, chunk->len - at));
}

struct ri_sge
chunk_sge(const struct chunk *chunk, size_t at, size_t len)
{
	return (struct ri_sge){
		.addr = (uintptr_t)chunk->at + at, .length = (uint32_t)len, .stag = chunk->stag};
}

/* --- posts -------------------------------------------------------------------------------- */

static enum ri_status
sq_post(struct end *end, const struct ri_wr *what, uint64_t id, const struct ri_sge *sge)
{
	struct ri_wr wr = *what;

	wr.wr_id = id;
	wr.sgl = sge;
	wr.num_sge = sge != NULL;
	wr.flags |= RI_WR_SIGNALED;
	return end->node->p->fast->post_sq(end->uqp, &wr);
}

static enum ri_status
rq_post(struct end *end, uint64_t id, const struct ri_sge *sge)
{
	struct ri_recv_wr wr = {.wr_id = id, .sgl = sge, .num_sge = sge != NULL};

	return end->node->p->fast->post_rq(end->uqp, &wr);
}

/* A Write or a Read; only address and key of the remote segment are used. */
static struct ri_wr
rdma(enum ri_opcode opcode, struct ri_sge remote)
{
	return (struct ri_wr){.opcode = (uint8_t)opcode,
			      .u.remote = {.addr = remote.addr, .stag = remote.stag}};
}

void
post_send(struct end *end, uint64_t id, const struct ri_sge *sge, uint32_t flags)
{
	struct ri_wr wr = {.opcode = RI_OP_SEND, .flags = flags};

	g_assert_cmpint(sq_post(end, &wr, id, sge), ==, RI_SUCCESS);
}

void
post_recv(struct end *end, uint64_t id, const struct ri_sge *sge)
{
	g_assert_cmpint(rq_post(end, id, sge), ==, RI_SUCCESS);
}

void
post_rdma(struct end *end, enum ri_opcode opcode, uint64_t id, const struct ri_sge *local,
	  const struct ri_sge *remote)
{
	struct ri_wr wr = rdma(opcode, *remote);

	g_assert_cmpint(sq_post(end, &wr, id, local), ==, RI_SUCCESS);
}

enum ri_status
end_send(struct end *end, uint64_t id, const struct chunk *c, size_t at, size_t len)
{
	struct ri_sge sge = chunk_sge(c, at, len);

	return sq_post(end, &(struct ri_wr){.opcode = RI_OP_SEND}, id, &sge);
}

enum ri_status
end_recv(struct end *end, uint64_t id, const struct chunk *c, size_t at, size_t len)
{
	struct ri_sge sge = chunk_sge(c, at, len);

	return rq_post(end, id, &sge);
}

enum ri_status
end_write(struct end *end, uint64_t id, const struct chunk *from, const struct chunk *to,
	  size_t len)
{
	struct ri_wr wr = rdma(RI_OP_RDMA_WRITE, chunk_sge(to, 0, len));
	struct ri_sge sge = chunk_sge(from, 0, len);

	return sq_post(end, &wr, id, &sge);
}

void
end_write_quiet(struct end *end, const struct chunk *from, const struct chunk *to)
{
	struct ri_wr wr = rdma(RI_OP_RDMA_WRITE, chunk_sge(to, 0, 8));
	struct ri_sge sge = chunk_sge(from, 0, 8);

	wr.sgl = &sge;
	wr.num_sge = 1;
	wr.flags = 0;
	g_assert_cmpint(end->node->p->fast->post_sq(end->uqp, &wr), ==, RI_SUCCESS);
}

void
end_fill(struct end *end, const struct chunk *from, const struct chunk *to)
{
	for (uint32_t i = 0; i < end->init.max_sq_wr; i++)
		g_assert_cmpint(end_write(end, i, from, to, 8), ==, RI_SUCCESS);
}

enum ri_status
end_read(struct end *end, uint64_t id, const struct chunk *into, const struct chunk *from,
	 size_t len)
{
	struct ri_wr wr = rdma(RI_OP_RDMA_READ, chunk_sge(from, 0, len));
	struct ri_sge sge = chunk_sge(into, 0, len);

	return sq_post(end, &wr, id, &sge);
}
