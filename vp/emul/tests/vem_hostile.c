/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "vem_hostile.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

const char *hostile_adapter;
char *hostile_runtime;

struct server
server_new(void)
{
	struct server s = {
		.service = {.kind = RI_SERVICE_PORT, .port = GUINT16_TO_BE(HOSTILE_PORT)}};

	s.vth = vth_new(true);
	s.node = node_new_patient(s.vth, hostile_adapter, "60000");
	g_assert_cmpint(s.node->p->cm->listen(s.node->context, 42, 0, &s.service, 8, &s.listen), ==,
			RI_SUCCESS);
	s.params = node_params(&s.service);
	return s;
}

void
server_free(struct server *s)
{
	s->node->p->cm->listen_destroy(s->listen);
	node_forget(s->node);
	node_free(&s->node);
	vth_free(&s->vth);
}

bool
hostile_try(struct hostile *h)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	const char *why = NULL;
	unsigned count = 0;

	*h = (struct hostile){.sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
	struct pollfd ready = {.fd = h->sock, .events = POLLIN};
	(void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/itapi/fabric/default/%s.port-%u",
		       hostile_runtime, strchr(hostile_adapter, ':') + 1, HOSTILE_PORT);
	g_assert_cmpint(connect(h->sock, (struct sockaddr *)&addr, sizeof(addr)), ==, 0);
	g_assert_cmpint(poll(&ready, 1, 10000), ==, 1);
	if (vem_packet_receive(h->sock, &h->hello, h->fds, &count, &why) != VEM_PACKET_GOT) {
		close(h->sock);
		return false;
	}
	g_assert_cmpuint(count, ==, VEM_PACKET_FDS);
	h->ring = vem_ring_attach(h->fds[0], &why);
	g_assert_nonnull(h->ring);
	return true;
}

struct hostile
hostile_new(void)
{
	struct hostile h;

	g_assert_true(hostile_try(&h));
	return h;
}

void
hostile_expect_end(struct hostile *h)
{
	struct pollfd ready = {.fd = h->sock, .events = 0};

	g_assert_cmpint(poll(&ready, 1, 10000), ==, 1);
	g_assert_true((ready.revents & POLLHUP) != 0);
}

void
hostile_free(struct hostile *h)
{
	close(h->sock);
	close(h->fds[0]);
	close(h->fds[1]);
	vem_ring_unmap(h->ring);
}

void
send_fds(int sock, const void *octets, size_t len, const int *fds, unsigned count)
{
	char control[CMSG_SPACE(16 * sizeof(int))] = {0};
	struct iovec part = {.iov_base = (void *)(uintptr_t)octets, .iov_len = len};
	struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};

	if (count != 0) {
		msg.msg_control = control;
		msg.msg_controllen = CMSG_SPACE(count * sizeof(int));
		struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(c), fds, count * sizeof(int));
	}
	(void)!sendmsg(sock, &msg, MSG_NOSIGNAL);
}

void
server_works(struct server *s)
{
	struct vth *vth RI_AT_END(vth_free) = vth_new(true);
	struct node *node RI_AT_END(node_free) = node_new_patient(vth, hostile_adapter, "60000");
	struct end *a = end_new(node, NULL), *b = end_new(s->node, NULL);
	struct chunk ca = chunk_new(node, 4096, ALL_RW), cb = chunk_new(s->node, 4096, ALL_RW);
	gint64 deadline = node_deadline();
	struct ri_wc wc = {0};

	g_assert_cmpint(node->p->cm->connect(a->qp, &s->params), ==, RI_SUCCESS);
	struct ri_cm_event request = node_cm(s->node, RI_CM_REQUEST, (const void *)(uintptr_t)42);
	g_assert_cmpint(node->p->cm->accept(request.request, b->qp, &s->params), ==, RI_SUCCESS);
	node_cm(node, RI_CM_ESTABLISHED, a);
	node_cm(s->node, RI_CM_ESTABLISHED, b);
	chunk_fill(&ca, 5);
	g_assert_cmpint(end_write(a, 1, &ca, &cb, 4096), ==, RI_SUCCESS);
	while (node->p->fast->poll_cq(a->uscq, &wc, 1) == 0)
		g_assert_cmpint(g_get_monotonic_time(), <, deadline);
	g_assert_cmpuint(wc.status, ==, RI_WC_SUCCESS);
	g_assert_cmpmem(ca.at, 4096, cb.at, 4096);
	end_free(&a);
	end_free(&b);
	chunk_free(&ca);
	chunk_free(&cb);
	node_forget(s->node);
	node_forget(node);
}

struct vem_packet
good_hello(const struct hostile *h)
{
	struct vem_packet hello = h->hello; /* of the same personality */

	hello.from = 77;
	return hello;
}
