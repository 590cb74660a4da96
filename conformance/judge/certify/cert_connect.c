/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Connections between two ends of a case, in the form that the adapter has: by address, or over a TCP stream on the
 * loopback interface, of which the case makes both ends itself, so that no start-up frames are exchanged.
 */

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cert_frame.h"

/* --- over a stream --------------------------------------------------------------------------- */

void
cert_tcp_pair(struct cert *cert, int fds[2])
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool good = listener >= 0 && bind(listener, (struct sockaddr *)&addr, length) == 0 &&
		    listen(listener, 1) == 0 &&
		    getsockname(listener, (struct sockaddr *)&addr, &length) == 0;

	fds[0] = good ? socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
	good = fds[0] >= 0 && connect(fds[0], (struct sockaddr *)&addr, length) == 0;
	fds[1] = good ? accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;
	if (fds[1] < 0 || fcntl(fds[0], F_SETFL, O_NONBLOCK) != 0)
		cert_failed(cert, CERT_WHERE, "a TCP connection on the loopback interface",
			    "it is made", g_strerror(errno));
	close(listener);
}

/* ORD is at most what the other side serves, as if the two had been agreed on. */
static void
stream_attach(struct cert_end *end, const struct cert_end *peer, int fd, bool initiator)
{
	struct ri_stream stream = {
		.fd = fd,
		.initiator = initiator,
		.crc = true,
		.peer_local = true,
		.ird = end->init.ird,
		.ord = MIN(end->init.ord, peer->init.ird),
	};

	CERT_VERB(end->node->cert, RI_SUCCESS, end->node->p->llp->attach_stream(end->qp, &stream));
}

static void
stream_connect(struct cert_end *a, struct cert_end *b)
{
	struct cert *cert = a->node->cert;
	int fds[2];

	cert_tcp_pair(cert, fds);
	CERT_VERB(cert, RI_SUCCESS, b->node->p->llp->reserve(b->qp));
	CERT_VERB(cert, RI_SUCCESS, a->node->p->llp->reserve(a->qp));
	stream_attach(b, a, fds[1], false);
	stream_attach(a, b, fds[0], true);
	cert_async(a->node, RI_EVENT_QP_STREAM_UP, a->ctx);
	cert_async(b->node, RI_EVENT_QP_STREAM_UP, b->ctx);
}

/* --- by address ------------------------------------------------------------------------------ */

struct ri_addr
cert_address(struct cert_node *node)
{
	struct ri_port_attr port = {.size = sizeof(port)};

	CERT_VERB(node->cert, RI_SUCCESS, node->p->device->query_port(node->rnic, 0, &port));
	CERT_UINT(node->cert, port.num_addrs, <=, RI_PORT_ADDR_MAX);
	if (port.num_addrs > 0)
		return port.addrs[0];
	return (struct ri_addr){.family = RI_ADDR_IPV4, .octets = {127, 0, 0, 1}};
}

struct ri_service
cert_service(const struct cert_node *node)
{
	return (struct ri_service){.kind = node->attr.addr_ip ? RI_SERVICE_PORT : RI_SERVICE_IB};
}

struct ri_cm_params
cert_params(struct cert_end *end, struct cert_node *peer, const struct ri_service *service)
{
	return (struct ri_cm_params){
		.peer = cert_address(peer),
		.service = *service,
		.ird = end->init.ird,
		.ord = end->init.ord,
		.ird_ord = end->node->attr.ird_ord_exchange,
		.deadline = RI_NEVER,
	};
}

void
cert_private_length(struct cert *cert, const struct ri_cm_event *event, uint32_t length)
{
	CERT_UINT(cert, event->pdata_len, >=, length);
	if (cert_attr(cert)->transport != RI_TRANSPORT_IB) {
		CERT_UINT(cert, event->pdata_len, ==, length);
		return;
	}
	for (uint32_t i = length; i < event->pdata_len; i++)
		CERT_UINT(cert, event->pdata[i], ==, 0);
}

static void
address_connect(struct cert_end *a, struct cert_end *b)
{
	struct cert *cert = a->node->cert;
	const struct ri_cm_ops *cm = a->node->p->cm;
	struct ri_service service = cert_service(b->node);
	uint64_t ctx = cert_ctx_new(b->node, RI_OBJECT_LISTEN);
	struct ri_listen *listen = NULL;
	struct ri_cm_params params;
	struct ri_cm_event request;

	CERT_VERB(cert, RI_SUCCESS, cm->listen(b->node->context, ctx, 0, &service, 4, &listen));
	params = cert_params(a, b->node, &service);
	CERT_VERB(cert, RI_SUCCESS, cm->connect(a->qp, &params));
	request = cert_cm(b->node, RI_CM_REQUEST, ctx);
	params = cert_params(b, a->node, &service);
	params.ord = MIN(params.ord, a->init.ird);
	CERT_VERB(cert, RI_SUCCESS, cm->accept(request.request, b->qp, &params));
	cert_cm(a->node, RI_CM_ESTABLISHED, a->ctx);
	cert_cm(b->node, RI_CM_ESTABLISHED, b->ctx);
	CERT_VERB_VOID(cert, cm->listen_destroy(listen));
	cert_ctx_gone(b->node, ctx);
}

/* --- either ---------------------------------------------------------------------------------- */

static bool
by_address(const struct cert_end *end)
{
	return (end->node->attr.cm_forms & RI_CM_ADDRESS) != 0;
}

void
cert_connect(struct cert_end *a, struct cert_end *b)
{
	if (by_address(a))
		address_connect(a, b);
	else
		stream_connect(a, b);
	CERT_UINT(a->node->cert, cert_end_attr(a).state, ==, RI_QPS_RTS);
	CERT_UINT(a->node->cert, cert_end_attr(b).state, ==, RI_QPS_RTS);
}

static bool
is_over(struct cert_end *end)
{
	if (!by_address(end))
		return cert_async_ends(end->node, end->ctx) > 0;
	return cert_cm_count(end->node, RI_CM_DISCONNECTED, end->ctx) > 0 ||
	       cert_cm_count(end->node, RI_CM_BROKEN, end->ctx) > 0;
}

void
cert_wait_end(struct cert_end *end)
{
	gint64 until = 0;

	while (!is_over(end)) {
		if (!cert_patience(end->node->cert, &until))
			cert_failed(end->node->cert, CERT_WHERE, "the end of a connection",
				    "it is told", "it was not told");
	}
}

void
cert_wait_quiescent(struct cert_end *end)
{
	gint64 until = 0;

	while (!cert_end_attr(end).quiescent) {
		if (!cert_patience(end->node->cert, &until))
			cert_failed(end->node->cert, CERT_WHERE, "a queue pair without work",
				    "it is quiescent", "it is not");
	}
}

void
cert_disconnect(struct cert_end *a, struct cert_end *b)
{
	struct cert *cert = a->node->cert;

	if (by_address(a))
		CERT_VERB(cert, RI_SUCCESS, a->node->p->cm->disconnect(a->qp, NULL, 0));
	else
		CERT_UINT(cert, cert_end_move(a, RI_QPS_CLOSING), ==, RI_SUCCESS);
	cert_wait_end(a);
	cert_wait_end(b);
}
