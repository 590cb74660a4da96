/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "viw_node.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* --- nodes --------------------------------------------------------------------------------- */

static struct node *
node_of(bool threaded)
{
	struct node *node = node_open(viw_provider_entry(), vth_new(threaded), threaded, "iwarp");

	node->requests = 64;
	node->entries = 512;
	return node;
}

struct node *
node_new(void)
{
	return node_of(true);
}

struct node *
node_new_by_hand(void)
{
	return node_of(false);
}

void
node_free(struct node **freed)
{
	struct node *node = *freed;
	struct vth *vth = node->vth;

	g_assert_cmpint(node->p->pd->destroy(node->pd), ==, RI_SUCCESS);
	node_close(freed);
	vth_free(&vth);
}

void
ends_open(struct ends *ends)
{
	memset(ends, 0, sizeof(*ends));
	ends->na = node_new();
	ends->nb = node_new();
}

void
ends_close(struct ends *ends)
{
	if (ends->mw != NULL)
		g_assert_cmpint(ends->nb->p->mem->mw_free(ends->mw), ==, RI_SUCCESS);
	if (ends->a != NULL)
		end_free(&ends->a);
	if (ends->b != NULL)
		end_free(&ends->b);
	chunk_free(&ends->ma);
	chunk_free(&ends->mb);
	if (ends->nb->srq != NULL)
		node_unshare(ends->nb);
	node_free(&ends->na);
	node_free(&ends->nb);
}

/* Events of an end; `event` NONE: those that end a connection. */
struct wanted {
	const struct end *end;
	enum ri_event event;
};

static bool
is_wanted(const struct ri_async_event *event, const void *arg)
{
	const struct wanted *wanted = arg;
	enum ri_event kind = (enum ri_event)event->event;

	return event->ctx == (uintptr_t)wanted->end &&
	       (wanted->event == RI_EVENT_NONE ? ri_event_is_end(kind) : kind == wanted->event);
}

unsigned
node_count(struct end *end, enum ri_event event)
{
	return node_count_if(end->node, is_wanted, &(struct wanted){end, event});
}

unsigned
node_ends(struct end *end)
{
	return node_count(end, RI_EVENT_NONE);
}

/* --- streams ------------------------------------------------------------------------------- */

static void
mss_limit(int fd, int mss)
{
	if (mss > 0)
		g_assert_cmpint(setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &mss, sizeof(mss)), ==, 0);
}

int
tcp_emss(int fd)
{
	int emss = 0;
	socklen_t len = sizeof(emss);

	g_assert_cmpint(getsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &emss, &len), ==, 0);
	return emss;
}

void
tcp_pair(int fd[2])
{
	tcp_pair_mss(fd, 0);
}

void
tcp_pair_mss(int fd[2], int mss)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(addr);
	int listener RI_AT_END(ri_at_end_close) = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	g_assert_cmpint(listener, >=, 0);
	mss_limit(listener, mss);
	g_assert_cmpint(bind(listener, (struct sockaddr *)&addr, len), ==, 0);
	g_assert_cmpint(listen(listener, 1), ==, 0);
	g_assert_cmpint(getsockname(listener, (struct sockaddr *)&addr, &len), ==, 0);
	fd[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	mss_limit(fd[0], mss);
	g_assert_cmpint(connect(fd[0], (struct sockaddr *)&addr, len), ==, 0);
	fd[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	g_assert_cmpint(fd[1], >=, 0);
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
ends_connect_like(struct end *a, struct end *b, const struct ri_stream *like, int mss)
{
	int fd[2];
	struct ri_stream sa = *like, sb = *like;

	tcp_pair_mss(fd, mss);
	sa.fd = fd[0];
	sa.initiator = true;
	sb.fd = fd[1];
	sb.initiator = false;
	sb.markers_tx = like->markers_rx;
	sb.markers_rx = like->markers_tx;
	g_assert_cmpint(end_attach(b, &sb), ==, RI_SUCCESS);
	g_assert_cmpint(end_attach(a, &sa), ==, RI_SUCCESS);
	end_wait_event(a, RI_EVENT_QP_STREAM_UP, b);
	end_wait_event(b, RI_EVENT_QP_STREAM_UP, a);
}

void
ends_connect(struct end *a, struct end *b, bool crc)
{
	struct ri_stream like = end_stream(-1, true);

	like.crc = crc;
	ends_connect_like(a, b, &like, 0);
}

/* --- waiting ------------------------------------------------------------------------------- */

void
end_to_idle(struct end *end)
{
	gint64 until = node_deadline();
	enum ri_status status;

	while ((status = end_modify(end, RI_QPS_IDLE)) == RI_ERR_STILL_FLUSHING) {
		g_assert_cmpint(g_get_monotonic_time(), <, until);
		g_usleep(100);
	}
	g_assert_cmpint(status, ==, RI_SUCCESS);
}

bool
end_poll(struct end *end, bool recv, struct ri_wc *wc)
{
	return end->node->p->fast->poll_cq(recv ? end->urcq : end->uscq, wc, 1) == 1;
}

static void
drive(struct end *end)
{
	if (end == NULL)
		return;
	if (!end->node->threaded)
		node_run(end->node);
	(void)end->node->p->fast->progress(end->node->urnic, 64);
}

struct ri_wc
end_wait(struct end *end, bool recv, struct end *other)
{
	gint64 until = node_deadline();
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

/* For the message about a failure. */
static bool
tell(const struct ri_async_event *event, const void *end)
{
	if (event->ctx == (uintptr_t)end)
		g_test_message("event %s %x", ri_event_name((enum ri_event)event->event),
			       event->detail);
	return false;
}

void
end_wait_event(struct end *end, enum ri_event event, struct end *other)
{
	gint64 until = node_deadline();

	while (node_count(end, event) == 0) {
		drive(end);
		drive(other);
		if (g_get_monotonic_time() > until) {
			g_test_message("state %s", ri_qp_state_name(end_state(end)));
			(void)node_count_if(end->node, tell, end);
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
