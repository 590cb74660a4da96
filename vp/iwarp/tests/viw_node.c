/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "viw_node.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE (60 * G_TIME_SPAN_SECOND)

/* --- nodes --------------------------------------------------------------------------------- */

static void
on_cq(void *self, uint64_t ctx)
{
	(void)self;
	(void)ctx;
}

static void
on_async(void *self, const struct ri_async_event *event)
{
	struct node *node = self;

	pthread_mutex_lock(&node->lock);
	g_assert_cmpuint(node->num_events, <, NODE_EVENTS);
	node->events[node->num_events++] = *event;
	pthread_mutex_unlock(&node->lock);
}

struct node *
node_new(void)
{
	struct node *node = g_new0(struct node, 1);
	struct ri_owner owner = {.pid = (uint32_t)getpid()};
	struct ri_open open = {.name = "iwarp"};
	struct ri_map map;

	pthread_mutex_init(&node->lock, NULL);
	node->vth = vth_new(true);
	node->p = viw_provider_entry();
	node->upcalls = (struct ri_upcalls){.size = sizeof(node->upcalls),
					    .self = node,
					    .cq_event = on_cq,
					    .async_event = on_async};
	open.host = vth_host(node->vth);
	open.upcalls = &node->upcalls;
	g_assert_cmpint(node->p->device->open(&open, &node->rnic), ==, RI_SUCCESS);
	g_assert_cmpint(node->p->device->context_create(node->rnic, &owner, &node->context, &map),
			==, RI_SUCCESS);
	g_assert_cmpint(node->p->user->rnic_open(vth_host(node->vth), &map, &node->urnic), ==,
			RI_SUCCESS);
	g_assert_cmpint(node->p->pd->create(node->context, &node->pd), ==, RI_SUCCESS);
	return node;
}

void
node_free(struct node *node)
{
	g_assert_cmpint(node->p->pd->destroy(node->pd), ==, RI_SUCCESS);
	node->p->user->rnic_close(node->urnic);
	node->p->device->context_destroy(node->context);
	node->p->device->close(node->rnic);
	vth_free(node->vth);
	pthread_mutex_destroy(&node->lock);
	g_free(node);
}

unsigned
node_count(struct end *end, enum ri_event event)
{
	struct node *node = end->node;
	unsigned count = 0;

	pthread_mutex_lock(&node->lock);
	for (unsigned i = 0; i < node->num_events; i++)
		count += node->events[i].event == (uint32_t)event &&
			 node->events[i].ctx == (uintptr_t)end;
	pthread_mutex_unlock(&node->lock);
	return count;
}

unsigned
node_ends(struct end *end)
{
	struct node *node = end->node;
	unsigned count = 0;

	pthread_mutex_lock(&node->lock);
	for (unsigned i = 0; i < node->num_events; i++)
		count += ri_event_is_end((enum ri_event)node->events[i].event) &&
			 node->events[i].ctx == (uintptr_t)end;
	pthread_mutex_unlock(&node->lock);
	return count;
}

/* --- ends ---------------------------------------------------------------------------------- */

void
end_defaults(struct ri_qp_init *init)
{
	memset(init, 0, sizeof(*init));
	init->max_sq_wr = 64;
	init->max_rq_wr = 64;
	init->max_send_sge = 4;
	init->max_recv_sge = 4;
	init->max_write_sge = 4;
	init->max_read_sge = 1;
	init->ird = 4;
	init->ord = 4;
	init->access = RI_ACCESS_REMOTE_READ | RI_ACCESS_REMOTE_WRITE | RI_ACCESS_BIND;
	init->hard_limit = UINT32_MAX;
}

static void
cq_new(struct node *node, struct ri_cq **cq, struct ri_ucq **ucq)
{
	uint32_t entries = 512;
	struct ri_map map;

	g_assert_cmpint(node->p->cq->create(node->context, 0, &entries, cq, &map), ==, RI_SUCCESS);
	g_assert_cmpint(node->p->user->cq_open(node->urnic, &map, ucq), ==, RI_SUCCESS);
}

void
node_share(struct node *node, uint32_t size)
{
	struct ri_srq_attr attr = {.ctx = (uintptr_t)node, .max_wr = size, .max_sge = 1};
	struct ri_map map;

	g_assert_cmpint(node->p->srq->create(node->pd, &attr, &node->srq, &map), ==, RI_SUCCESS);
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
	struct ri_sge sge = {
		.addr = (uintptr_t)(c->at + at), .length = (uint32_t)len, .stag = c->stag};
	struct ri_recv_wr wr = {.wr_id = id, .sgl = &sge, .num_sge = 1};

	g_assert_cmpint(node->p->fast->post_srq(node->usrq, &wr), ==, RI_SUCCESS);
}

struct end *
end_new(struct node *node, const struct ri_qp_init *init)
{
	struct end *end = g_new0(struct end, 1);
	struct ri_map map;

	end->node = node;
	if (init != NULL)
		end->init = *init;
	else
		end_defaults(&end->init);
	end->init.ctx = (uintptr_t)end;
	cq_new(node, &end->scq, &end->uscq);
	cq_new(node, &end->rcq, &end->urcq);
	g_assert_cmpint(node->p->qp->create(node->pd, &end->init, end->scq, end->rcq, node->srq,
					    &end->qp, &map),
			==, RI_SUCCESS);
	g_assert_cmpint(node->p->user->qp_open(node->urnic, &map, end->uscq, end->urcq, node->usrq,
					       &end->uqp),
			==, RI_SUCCESS);
	return end;
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

enum ri_qp_state
end_state(struct end *end)
{
	struct ri_qp_attr attr;

	g_assert_cmpint(end->node->p->qp->query(end->qp, &attr), ==, RI_SUCCESS);
	return (enum ri_qp_state)attr.state;
}

enum ri_status
end_modify(struct end *end, enum ri_qp_state state)
{
	struct ri_qp_attr attr = {.state = state};

	return end->node->p->qp->modify(end->qp, &attr, RI_QP_ATTR_STATE);
}

/* --- streams ------------------------------------------------------------------------------- */

void
tcp_pair(int fd[2])
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	g_assert_cmpint(listener, >=, 0);
	g_assert_cmpint(bind(listener, (struct sockaddr *)&addr, len), ==, 0);
	g_assert_cmpint(listen(listener, 1), ==, 0);
	g_assert_cmpint(getsockname(listener, (struct sockaddr *)&addr, &len), ==, 0);
	fd[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	g_assert_cmpint(connect(fd[0], (struct sockaddr *)&addr, len), ==, 0);
	fd[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	g_assert_cmpint(fd[1], >=, 0);
	close(listener);
}

struct ri_stream
end_stream(int fd, bool initiator)
{
	return (struct ri_stream){.fd = fd,
				  .initiator = initiator,
				  .crc = true,
				  .peer_local = true,
				  .ird = 4,
				  .ord = 4};
}

enum ri_status
end_attach(struct end *end, const struct ri_stream *stream)
{
	const struct ri_llp_ops *llp = end->node->p->llp;

	g_assert_cmpint(llp->reserve(end->qp), ==, RI_SUCCESS);
	return llp->attach_stream(end->qp, stream);
}

void
ends_connect(struct end *a, struct end *b, bool crc)
{
	int fd[2];
	struct ri_stream sa, sb;

	tcp_pair(fd);
	sa = end_stream(fd[0], true);
	sb = end_stream(fd[1], false);
	sa.crc = sb.crc = crc;
	g_assert_cmpint(end_attach(b, &sb), ==, RI_SUCCESS);
	g_assert_cmpint(end_attach(a, &sa), ==, RI_SUCCESS);
	end_wait_event(a, RI_EVENT_QP_STREAM_UP, b);
	end_wait_event(b, RI_EVENT_QP_STREAM_UP, a);
}

/* --- memory -------------------------------------------------------------------------------- */

struct chunk
chunk_new(struct node *node, size_t len)
{
	struct chunk c = {.node = node, .len = len, .at = g_malloc0(len)};
	struct ri_mr_init init = {.addr = (uintptr_t)c.at,
				  .length = len,
				  .access = RI_ACCESS_LOCAL_READ | RI_ACCESS_LOCAL_WRITE |
					    RI_ACCESS_REMOTE_READ | RI_ACCESS_REMOTE_WRITE |
					    RI_ACCESS_BIND};

	g_assert_cmpint(node->p->mem->mr_reg(node->pd, &init, &c.mr, &c.stag), ==, RI_SUCCESS);
	return c;
}

void
chunk_free(struct chunk *chunk)
{
	if (chunk->mr != NULL)
		g_assert_cmpint(chunk->node->p->mem->mr_dereg(chunk->mr), ==, RI_SUCCESS);
	g_free(chunk->at);
}

void
chunk_fill(struct chunk *chunk, unsigned seed)
{
	for (size_t i = 0; i < chunk->len; i++)
		chunk->at[i] = (uint8_t)(i * 7 + (i >> 8) * 13 + seed);
}

/* --- requests ------------------------------------------------------------------------------ */

static struct ri_sge
sge_of(const struct chunk *c, size_t at, size_t len)
{
	return (struct ri_sge){
		.addr = (uintptr_t)c->at + at, .length = (uint32_t)len, .stag = c->stag};
}

enum ri_status
end_recv(struct end *end, uint64_t id, const struct chunk *c, size_t at, size_t len)
{
	struct ri_sge sge = sge_of(c, at, len);
	struct ri_recv_wr wr = {.wr_id = id, .sgl = &sge, .num_sge = 1};

	return end->node->p->fast->post_rq(end->uqp, &wr);
}

enum ri_status
end_send(struct end *end, uint64_t id, const struct chunk *c, size_t at, size_t len)
{
	struct ri_sge sge = sge_of(c, at, len);
	struct ri_wr wr = {.wr_id = id,
			   .sgl = &sge,
			   .num_sge = 1,
			   .opcode = RI_OP_SEND,
			   .flags = RI_WR_SIGNALED};

	return end->node->p->fast->post_sq(end->uqp, &wr);
}

enum ri_status
end_write(struct end *end, uint64_t id, const struct chunk *from, const struct chunk *to,
	  size_t len)
{
	struct ri_sge sge = sge_of(from, 0, len);
	struct ri_wr wr = {.wr_id = id,
			   .sgl = &sge,
			   .num_sge = 1,
			   .opcode = RI_OP_RDMA_WRITE,
			   .flags = RI_WR_SIGNALED};

	wr.u.remote.addr = (uintptr_t)to->at;
	wr.u.remote.stag = to->stag;
	return end->node->p->fast->post_sq(end->uqp, &wr);
}

enum ri_status
end_read(struct end *end, uint64_t id, const struct chunk *into, const struct chunk *from,
	 size_t len)
{
	struct ri_sge sge = sge_of(into, 0, len);
	struct ri_wr wr = {.wr_id = id,
			   .sgl = &sge,
			   .num_sge = 1,
			   .opcode = RI_OP_RDMA_READ,
			   .flags = RI_WR_SIGNALED};

	wr.u.remote.addr = (uintptr_t)from->at;
	wr.u.remote.stag = from->stag;
	return end->node->p->fast->post_sq(end->uqp, &wr);
}

/* --- waiting ------------------------------------------------------------------------------- */

bool
end_poll(struct end *end, bool recv, struct ri_wc *wc)
{
	return end->node->p->fast->poll_cq(recv ? end->urcq : end->uscq, wc, 1) == 1;
}

static void
drive(struct end *end)
{
	if (end != NULL)
		(void)end->node->p->fast->progress(end->node->urnic, 64);
}

struct ri_wc
end_wait(struct end *end, bool recv, struct end *other)
{
	gint64 until = g_get_monotonic_time() + PATIENCE;
	struct ri_wc wc;

	while (!end_poll(end, recv, &wc)) {
		drive(other);
		g_assert_cmpint(g_get_monotonic_time(), <, until);
	}
	return wc;
}

struct ri_wc
end_wait_ok(struct end *end, bool recv, uint64_t id, struct end *other)
{
	struct ri_wc wc = end_wait(end, recv, other);

	g_assert_cmpuint(wc.status, ==, RI_WC_SUCCESS);
	g_assert_cmpuint(wc.wr_id, ==, id);
	g_assert_cmpuint(wc.qp_ctx, ==, (uintptr_t)end);
	return wc;
}

/* For who looks for the cause of a failure. */
static void
tell_events(struct end *end)
{
	g_test_message("state %s", ri_qp_state_name(end_state(end)));
	for (unsigned i = 0; i < end->node->num_events; i++) {
		const struct ri_async_event *e = &end->node->events[i];

		if (e->ctx == (uintptr_t)end)
			g_test_message("event %s %x", ri_event_name((enum ri_event)e->event),
				       e->detail);
	}
}

void
end_wait_event(struct end *end, enum ri_event event, struct end *other)
{
	gint64 until = g_get_monotonic_time() + PATIENCE;

	while (node_count(end, event) == 0) {
		drive(end);
		drive(other);
		if (g_get_monotonic_time() > until) {
			tell_events(end);
			g_error("%s did not come", ri_event_name(event));
		}
		g_usleep(50);
	}
}

void
ends_run(struct end *a, struct end *b, unsigned ms)
{
	gint64 until = g_get_monotonic_time() + ms * 1000;

	while (g_get_monotonic_time() < until) {
		drive(a);
		drive(b);
		g_usleep(100);
	}
}
