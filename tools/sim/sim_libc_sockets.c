/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * TCP sockets between nodes. Programs exchange there what their queue pairs need. A node's address leads to the node, loopback to
 * itself. A connected socket is one end of a local pair: octets arrive at once, and nothing of a scenario cuts or delays
 * them. A socket that listens is a counter of the connections that wait; so poll() is right for both. Descriptors keep their numbers.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sim/sim.h"
#include "sim/sim_libc.h"
#include "sim/sim_real.h"

#define PORT_FIRST 32768       /* that is drawn for a socket without one */
#define NODES_NET  0x7f4d0000u /* 127.77.0.0, of sim_node_address() */

struct tcp {
	int fd;
	int family;
	struct sim_node *node;
	uint16_t port, peer_port;
	struct sim_node *peer;
	bool listens, connected;
	unsigned backlog;
	GQueue *waiting; /* of struct tcp: ends that nobody has accepted, with descriptors of their own */
};

static GPtrArray *sockets; /* of struct tcp */
static uint16_t next_port = PORT_FIRST;

static struct tcp *
tcp_of(int fd)
{
	for (guint i = 0; sockets != NULL && i < sockets->len; i++)
		if (((struct tcp *)sockets->pdata[i])->fd == fd)
			return sockets->pdata[i];
	return NULL;
}

/* NULL: the real call. */
static struct tcp *
own_of(const char *call, int fd)
{
	if (!sim_applies())
		return NULL;
	sim_chance(call);
	return tcp_of(fd);
}

static struct tcp *
tcp_listener(const struct sim_node *node, uint16_t port)
{
	for (guint i = 0; sockets != NULL && i < sockets->len; i++) {
		struct tcp *tcp = sockets->pdata[i];

		if (tcp->listens && tcp->node == node && tcp->port == port)
			return tcp;
	}
	return NULL;
}

static bool
port_is_taken(const struct tcp *but, uint16_t port)
{
	for (guint i = 0; i < sockets->len; i++) {
		const struct tcp *tcp = sockets->pdata[i];

		if (tcp != but && tcp->node == but->node && tcp->port == port && !tcp->connected)
			return true;
	}
	return false;
}

static void
tcp_free(struct tcp *tcp)
{
	struct tcp *end;

	while (tcp->waiting != NULL && (end = g_queue_pop_head(tcp->waiting)) != NULL) {
		(void)SIM_REAL(close)(end->fd);
		tcp_free(end);
	}
	if (tcp->waiting != NULL)
		g_queue_free(tcp->waiting);
	g_free(tcp);
}

static int
failed(int error)
{
	errno = error;
	return -1;
}

/* --- addresses ---------------------------------------------------------------------------------- */

/* The node and the port of an address; an errno. */
static int
address_read(const struct tcp *tcp, const struct sockaddr *address, socklen_t len,
	     struct sim_node **node, uint16_t *port)
{
	const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)address;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)address;
	uint32_t number;

	if (len < sizeof(sa_family_t) || address->sa_family != tcp->family)
		return EAFNOSUPPORT;
	if (len < (tcp->family == AF_INET ? sizeof(*four) : sizeof(*six)))
		return EINVAL;
	*port = ntohs(tcp->family == AF_INET ? four->sin_port : six->sin6_port);
	*node = tcp->node;
	if (tcp->family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
		return IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr) ||
				       IN6_IS_ADDR_LOOPBACK(&six->sin6_addr)
			       ? 0
			       : ENETUNREACH;
	if (tcp->family == AF_INET)
		number = ntohl(four->sin_addr.s_addr);
	else
		number = (uint32_t)six->sin6_addr.s6_addr[12] << 24 |
			 (uint32_t)six->sin6_addr.s6_addr[13] << 16 |
			 (uint32_t)six->sin6_addr.s6_addr[14] << 8 | six->sin6_addr.s6_addr[15];
	if (number == INADDR_ANY || number == INADDR_LOOPBACK)
		return 0;
	if (number <= NODES_NET || number > NODES_NET + sim_node_count())
		return ENETUNREACH;
	*node = sim_node_of(number - NODES_NET - 1);
	return 0;
}

static int
address_tell(const struct tcp *tcp, const struct sim_node *node, uint16_t port,
	     struct sockaddr *address, socklen_t *room)
{
	const uint32_t number = htonl(NODES_NET + node->index + 1);
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	const bool short_one = tcp->family == AF_INET;
	socklen_t len = short_one ? sizeof(four) : sizeof(six);

	four.sin_addr.s_addr = number;
	six.sin6_addr.s6_addr[10] = six.sin6_addr.s6_addr[11] = 0xff;
	memcpy(&six.sin6_addr.s6_addr[12], &number, sizeof(number));
	memcpy(address, short_one ? (const void *)&four : (const void *)&six, MIN(*room, len));
	*room = len;
	return 0;
}

/* --- calls ----------------------------------------------------------------------------------------- */

int
socket(int domain, int type, int protocol)
{
	struct tcp *tcp;
	int fd;

	if (!sim_applies())
		return SIM_REAL(socket)(domain, type, protocol);
	if ((domain != AF_INET && domain != AF_INET6) ||
	    (type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) != SOCK_STREAM)
		sim_refuse("socket");
	sim_chance("socket");
	fd = SIM_REAL(socket)(AF_UNIX, type, 0);
	if (fd < 0)
		return -1;
	if (sockets == NULL)
		sockets = g_ptr_array_new();
	tcp = g_new0(struct tcp, 1);
	tcp->fd = fd;
	tcp->family = domain;
	tcp->node = sim_me->node;
	g_ptr_array_add(sockets, tcp);
	return fd;
}

int
bind(int fd, __CONST_SOCKADDR_ARG address, socklen_t len)
{
	struct tcp *tcp = own_of("bind", fd);
	struct sim_node *node;
	uint16_t port;
	int error;

	if (tcp == NULL)
		return SIM_REAL(bind)(fd, address, len);
	error = address_read(tcp, address.__sockaddr__, len, &node, &port);
	if (error != 0)
		return failed(error);
	if (node != tcp->node)
		return failed(EADDRNOTAVAIL);
	if (tcp->port != 0 || tcp->connected)
		return failed(EINVAL);
	if (port != 0 && port_is_taken(tcp, port))
		return failed(EADDRINUSE);
	tcp->port = port != 0 ? port : next_port++;
	return 0;
}

/* Another descriptor in the place of a socket's own; its flags stay. */
static int
replace(int fd, int other)
{
	int flags = fcntl(fd, F_GETFL);
	int done = other >= 0 && flags >= 0 ? dup2(other, fd) : -1;

	if (other >= 0)
		(void)SIM_REAL(close)(other);
	return done < 0 ? -1 : fcntl(fd, F_SETFL, flags & O_NONBLOCK);
}

int
listen(int fd, int backlog)
{
	struct tcp *tcp = own_of("listen", fd);

	if (tcp == NULL)
		return SIM_REAL(listen)(fd, backlog);
	if (tcp->connected)
		return failed(EINVAL);
	tcp->backlog = (unsigned)CLAMP(backlog, 1, SOMAXCONN);
	if (tcp->listens)
		return 0;
	if (replace(fd, eventfd(0, EFD_SEMAPHORE)) != 0)
		return -1;
	if (tcp->port == 0)
		tcp->port = next_port++;
	tcp->listens = true;
	tcp->waiting = g_queue_new();
	sim_progress();
	return 0;
}

int
connect(int fd, __CONST_SOCKADDR_ARG address, socklen_t len)
{
	struct tcp *tcp = own_of("connect", fd), *listener, *end;
	struct sim_node *node;
	uint16_t port;
	uint64_t one = 1;
	int error, pair[2];

	if (tcp == NULL)
		return SIM_REAL(connect)(fd, address, len);
	if (tcp->connected || tcp->listens)
		return failed(EISCONN);
	error = address_read(tcp, address.__sockaddr__, len, &node, &port);
	if (error != 0)
		return failed(error);
	listener = tcp_listener(node, port);
	if (listener == NULL || g_queue_get_length(listener->waiting) > listener->backlog)
		return failed(ECONNREFUSED);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		return -1;
	if (replace(fd, pair[0]) != 0) {
		(void)SIM_REAL(close)(pair[1]);
		return -1;
	}
	tcp->port = tcp->port != 0 ? tcp->port : next_port++;
	tcp->peer = node;
	tcp->peer_port = port;
	tcp->connected = true;
	end = g_new0(struct tcp, 1);
	*end = (struct tcp){.fd = pair[1],
			    .family = listener->family,
			    .node = node,
			    .port = port,
			    .peer = tcp->node,
			    .peer_port = tcp->port,
			    .connected = true};
	g_queue_push_tail(listener->waiting, end);
	(void)!SIM_REAL(write)(listener->fd, &one, sizeof(one));
	sim_progress();
	return 0;
}

int
accept4(int fd, __SOCKADDR_ARG address, socklen_t *restrict len, int flags)
{
	struct tcp *tcp = own_of("accept", fd), *end;
	uint64_t one;

	if (tcp == NULL)
		return SIM_REAL(accept4)(fd, address, len, flags);
	if (!tcp->listens)
		return failed(EINVAL);
	sim_fd_wait("accept", fd);
	if (SIM_REAL(read)(fd, &one, sizeof(one)) != (ssize_t)sizeof(one))
		return -1;
	end = g_queue_pop_head(tcp->waiting);
	if ((flags & SOCK_NONBLOCK) != 0)
		(void)fcntl(end->fd, F_SETFL, O_NONBLOCK);
	if ((flags & SOCK_CLOEXEC) != 0)
		(void)fcntl(end->fd, F_SETFD, FD_CLOEXEC);
	g_ptr_array_add(sockets, end);
	if (address.__sockaddr__ != NULL && len != NULL)
		(void)address_tell(end, end->peer, end->peer_port, address.__sockaddr__, len);
	return end->fd;
}

int
accept(int fd, __SOCKADDR_ARG address, socklen_t *restrict len)
{
	if (!sim_applies())
		return SIM_REAL(accept)(fd, address, len);
	return accept4(fd, address, len, 0);
}

int
getsockname(int fd, __SOCKADDR_ARG address, socklen_t *restrict len)
{
	struct tcp *tcp = own_of("getsockname", fd);

	return tcp != NULL ? address_tell(tcp, tcp->node, tcp->port, address.__sockaddr__, len)
			   : SIM_REAL(getsockname)(fd, address, len);
}

int
getpeername(int fd, __SOCKADDR_ARG address, socklen_t *restrict len)
{
	struct tcp *tcp = own_of("getpeername", fd);

	if (tcp == NULL)
		return SIM_REAL(getpeername)(fd, address, len);
	return tcp->connected
		       ? address_tell(tcp, tcp->peer, tcp->peer_port, address.__sockaddr__, len)
		       : failed(ENOTCONN);
}

/* Options change nothing of what these sockets do. */
int
setsockopt(int fd, int level, int option, const void *value, socklen_t len)
{
	return own_of("setsockopt", fd) != NULL
		       ? 0
		       : SIM_REAL(setsockopt)(fd, level, option, value, len);
}

int
getsockopt(int fd, int level, int option, void *restrict value, socklen_t *restrict len)
{
	if (own_of("getsockopt", fd) == NULL)
		return SIM_REAL(getsockopt)(fd, level, option, value, len);
	memset(value, 0, *len); /* SO_ERROR: none */
	return 0;
}

/* --- ends --------------------------------------------------------------------------------------------- */

int
close(int fd)
{
	struct tcp *tcp = own_of("close", fd);

	if (tcp != NULL) {
		g_ptr_array_remove(sockets, tcp);
		tcp_free(tcp);
		sim_progress();
	}
	return SIM_REAL(close)(fd);
}

void
sim_sockets_end(const struct sim_node *node)
{
	for (guint i = sockets != NULL ? sockets->len : 0; i > 0; i--) {
		struct tcp *tcp = sockets->pdata[i - 1];

		if (tcp->node != node)
			continue;
		g_ptr_array_remove_index(sockets, i - 1);
		(void)SIM_REAL(close)(tcp->fd);
		tcp_free(tcp);
	}
}
