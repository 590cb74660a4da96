/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * TCP sockets between nodes, over which programs exchange what their queue pairs need. The address of a node leads to that node,
 * loopback to the node itself. A socket is one end of a local socket pair from its creation on, so that it stays in the epoll sets
 * to which the program adds it. The peer gets the other end from accept(). Into the other end of a listening socket an octet is
 * written for each connection that waits, so poll() reports both kinds correctly. Octets arrive at once; the faults of a scenario
 * do not affect them.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "sim/sim.h"
#include "sim/sim_libc.h"
#include "sim/sim_real.h"

#define PORT_FIRST 32768       /* that is drawn for a socket without one */
#define NODES_NET  0x7f4d0000u /* 127.77.0.0, of sim_node_address() */

struct tcp {
	unsigned names; /* descriptors that lead to it */
	int family;
	struct sim_node *node;
	int far; /* the other end of the pair; -1: a peer has it */
	uint16_t port, peer_port;
	struct sim_node *peer;
	bool listens, connected;
	unsigned backlog;
	GQueue *waiting;      /* of struct name: ends that nobody has accepted */
	uint64_t patience[2]; /* ns, of calls that receive and that send; 0: without a limit */
};

/* A descriptor of a socket. The C library may have closed it without a word, as fclose() does. */
struct name {
	int fd;
	ino_t file;
	struct tcp *tcp;
};

static GPtrArray *names; /* of struct name */
static uint16_t next_port = PORT_FIRST;

static ino_t
file_of(int fd)
{
	struct stat file;

	return fstat(fd, &file) == 0 ? file.st_ino : 0;
}

static struct name *
name_new(int fd, struct tcp *tcp)
{
	struct name *name = g_new0(struct name, 1);

	*name = (struct name){.fd = fd, .file = file_of(fd), .tcp = tcp};
	tcp->names++;
	return name;
}

static void
name_drop(struct name *name)
{
	struct tcp *tcp = name->tcp;
	struct name *end;

	g_free(name);
	if (--tcp->names > 0)
		return;
	while (tcp->waiting != NULL && (end = g_queue_pop_head(tcp->waiting)) != NULL) {
		(void)SIM_REAL(close)(end->fd);
		name_drop(end);
	}
	if (tcp->waiting != NULL)
		g_queue_free(tcp->waiting);
	if (tcp->far >= 0)
		(void)SIM_REAL(close)(tcp->far);
	g_free(tcp);
}

/* Forget descriptors that were closed past close(). */
static void
names_look(void)
{
	for (guint i = names != NULL ? names->len : 0; i > 0; i--) {
		struct name *name = names->pdata[i - 1];

		if (file_of(name->fd) != name->file) {
			g_ptr_array_remove_index(names, i - 1);
			name_drop(name);
		}
	}
}

static void
name_add(struct name *name)
{
	if (names == NULL)
		names = g_ptr_array_new();
	g_ptr_array_add(names, name);
}

static struct name *
name_of(int fd)
{
	for (guint i = 0; names != NULL && i < names->len; i++) {
		struct name *name = names->pdata[i];

		if (name->fd == fd)
			return file_of(fd) == name->file ? name : NULL;
	}
	return NULL;
}

static struct tcp *
tcp_of(int fd)
{
	struct name *name = name_of(fd);

	return name != NULL ? name->tcp : NULL;
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
	names_look();
	for (guint i = 0; names != NULL && i < names->len; i++) {
		struct tcp *tcp = ((struct name *)names->pdata[i])->tcp;

		if (tcp->listens && tcp->node == node && tcp->port == port)
			return tcp;
	}
	return NULL;
}

static bool
port_is_taken(const struct tcp *but, uint16_t port)
{
	names_look();
	for (guint i = 0; i < names->len; i++) {
		const struct tcp *tcp = ((struct name *)names->pdata[i])->tcp;

		if (tcp != but && tcp->node == but->node && tcp->port == port && !tcp->connected)
			return true;
	}
	return false;
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
	int pair[2];

	if (!sim_applies())
		return SIM_REAL(socket)(domain, type, protocol);
	if ((domain != AF_INET && domain != AF_INET6) ||
	    (type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) != SOCK_STREAM)
		sim_refuse("socket");
	sim_chance("socket");
	if (socketpair(AF_UNIX, type, 0, pair) != 0)
		return -1;
	(void)SIM_REAL(fcntl)(pair[1], F_SETFL, 0);
	names_look();
	tcp = g_new0(struct tcp, 1);
	tcp->far = pair[1];
	tcp->family = domain;
	tcp->node = sim_me->node;
	name_add(name_new(pair[0], tcp));
	return pair[0];
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
	if (tcp->port == 0)
		tcp->port = next_port++;
	tcp->listens = true;
	tcp->waiting = g_queue_new();
	sim_progress();
	return 0;
}

/* A thread that waits for room among the connections that a socket has not accepted. */
struct caller {
	const struct sim_node *node;
	uint16_t port;
};

static bool
has_room(void *arg)
{
	const struct caller *caller = (const struct caller *)arg;
	const struct tcp *listener = tcp_listener(caller->node, caller->port);

	return listener == NULL || g_queue_get_length(listener->waiting) <= listener->backlog;
}

static bool
does_not_wait(int fd)
{
	return (SIM_REAL(fcntl)(fd, F_GETFL) & O_NONBLOCK) != 0;
}

int
connect(int fd, __CONST_SOCKADDR_ARG address, socklen_t len)
{
	struct tcp *tcp = own_of("connect", fd), *listener, *end;
	struct sim_node *node;
	struct caller caller;
	uint16_t port;
	int error;

	if (tcp == NULL)
		return SIM_REAL(connect)(fd, address, len);
	if (tcp->connected || tcp->listens)
		return failed(EISCONN);
	error = address_read(tcp, address.__sockaddr__, len, &node, &port);
	if (error != 0)
		return failed(error);
	caller = (struct caller){node, port};
	if (!has_room(&caller) && does_not_wait(fd))
		return failed(EAGAIN);
	if (!has_room(&caller))
		(void)sim_block("connect", has_room, &caller, RI_NEVER);
	listener = tcp_listener(node, port);
	if (listener == NULL)
		return failed(ECONNREFUSED);
	tcp->port = tcp->port != 0 ? tcp->port : next_port++;
	tcp->peer = node;
	tcp->peer_port = port;
	tcp->connected = true;
	end = g_new0(struct tcp, 1);
	*end = (struct tcp){.far = -1,
			    .family = listener->family,
			    .node = node,
			    .port = port,
			    .peer = tcp->node,
			    .peer_port = tcp->port,
			    .connected = true};
	g_queue_push_tail(listener->waiting, name_new(tcp->far, end));
	tcp->far = -1;
	(void)!SIM_REAL(write)(listener->far, "", 1);
	sim_progress();
	return 0;
}

int
accept4(int fd, __SOCKADDR_ARG address, socklen_t *restrict len, int flags)
{
	struct tcp *tcp = own_of("accept", fd);
	struct name *end;
	ssize_t got;
	char octet;

	if (tcp == NULL)
		return SIM_REAL(accept4)(fd, address, len, flags);
	if (!tcp->listens)
		return failed(EINVAL);
	if (!sim_fd_wait("accept", fd, tcp->patience[0]))
		return failed(EAGAIN);
	got = SIM_REAL(recv)(fd, &octet, 1, MSG_DONTWAIT);
	if (got != 1)
		return got == 0 ? failed(EINVAL) : -1; /* 0: it was shut down */
	end = g_queue_pop_head(tcp->waiting);
	if ((flags & SOCK_NONBLOCK) != 0)
		(void)SIM_REAL(fcntl)(end->fd, F_SETFL, O_NONBLOCK);
	(void)SIM_REAL(fcntl)(end->fd, F_SETFD, (flags & SOCK_CLOEXEC) != 0 ? FD_CLOEXEC : 0);
	name_add(end);
	if (address.__sockaddr__ != NULL && len != NULL)
		(void)address_tell(end->tcp, end->tcp->peer, end->tcp->peer_port,
				   address.__sockaddr__, len);
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

/* --- options -------------------------------------------------------------------------------------- */

static bool
is_span(int level, int option)
{
	return level == SOL_SOCKET && (option == SO_RCVTIMEO || option == SO_SNDTIMEO);
}

/* Only the times change what these sockets do. */
int
setsockopt(int fd, int level, int option, const void *value, socklen_t len)
{
	struct tcp *tcp = own_of("setsockopt", fd);
	struct timeval span;

	if (tcp == NULL)
		return SIM_REAL(setsockopt)(fd, level, option, value, len);
	if (value == NULL || len < sizeof(int))
		return failed(value == NULL ? EFAULT : EINVAL);
	if (!is_span(level, option))
		return level == SOL_SOCKET || level == IPPROTO_TCP || level == IPPROTO_IP ||
				       level == IPPROTO_IPV6
			       ? 0
			       : failed(ENOPROTOOPT);
	if (len < sizeof(span))
		return failed(EINVAL);
	memcpy(&span, value, sizeof(span));
	if (span.tv_usec < 0 || span.tv_usec >= 1000000)
		return failed(EDOM);
	tcp->patience[option == SO_SNDTIMEO] =
		span.tv_sec < 0 ? 0
				: (uint64_t)span.tv_sec * UINT64_C(1000000000) +
					  (uint64_t)span.tv_usec * 1000;
	return 0;
}

int
getsockopt(int fd, int level, int option, void *restrict value, socklen_t *restrict len)
{
	const struct tcp *tcp = own_of("getsockopt", fd);
	int answer = 0; /* SO_ERROR: none */

	if (tcp == NULL)
		return SIM_REAL(getsockopt)(fd, level, option, value, len);
	if (is_span(level, option)) {
		const uint64_t ns = tcp->patience[option == SO_SNDTIMEO];
		const struct timeval span = {.tv_sec = (time_t)(ns / UINT64_C(1000000000)),
					     .tv_usec =
						     (suseconds_t)(ns / 1000 % UINT64_C(1000000))};

		*len = MIN(*len, (socklen_t)sizeof(span));
		memcpy(value, &span, *len);
		return 0;
	}
	if (level == SOL_SOCKET && option == SO_TYPE)
		answer = SOCK_STREAM;
	if (level == SOL_SOCKET && option == SO_DOMAIN)
		answer = tcp->family;
	if (level == SOL_SOCKET && option == SO_PROTOCOL)
		answer = IPPROTO_TCP;
	if (level == SOL_SOCKET && option == SO_ACCEPTCONN)
		answer = tcp->listens;
	*len = MIN(*len, (socklen_t)sizeof(answer));
	memcpy(value, &answer, *len);
	return 0;
}

uint64_t
sim_socket_patience(int fd, bool sends)
{
	const struct tcp *tcp = tcp_of(fd);

	return tcp != NULL ? tcp->patience[sends] : 0;
}

bool
sim_socket_is_open(int fd)
{
	const struct tcp *tcp = tcp_of(fd);

	return tcp == NULL || tcp->connected;
}

/* --- other descriptors ------------------------------------------------------------------------------- */

/* A copy leads to the same socket. */
static int
name_copy(int fd, int other)
{
	struct tcp *tcp = tcp_of(fd);

	names_look(); /* what `other` was before */
	if (tcp != NULL && other >= 0)
		name_add(name_new(other, tcp));
	return other;
}

int
dup(int fd)
{
	if (!sim_applies())
		return SIM_REAL(dup)(fd);
	return name_copy(fd, SIM_REAL(dup)(fd));
}

int
dup3(int fd, int other, int flags)
{
	struct name *name;

	if (!sim_applies())
		return SIM_REAL(dup3)(fd, other, flags);
	if (other >= 0 && other <= STDERR_FILENO)
		sim_refuse(
			"dup2"); /* all nodes have one stdout, and print through streams of their own */
	name = file_of(fd) != 0 ? name_of(other) : NULL;
	if (name != NULL && name->tcp->node != sim_me->node)
		return failed(EBADF);
	if (name != NULL) {
		g_ptr_array_remove(names, name);
		name_drop(name);
	}
	if (file_of(fd) != 0)
		sim_clock_closed(other);
	return name_copy(fd, SIM_REAL(dup3)(fd, other, flags));
}

int
dup2(int fd, int other)
{
	if (!sim_applies() || fd == other)
		return SIM_REAL(dup2)(fd, other);
	return dup3(fd, other, 0);
}

/* The last argument is a number, or a pointer, which is passed on as what it is. */
int
fcntl(int fd, int command, ...)
{
	va_list list;
	void *arg;

	va_start(list, command);
	arg = va_arg(list, void *);
	va_end(list);
	if (!sim_applies())
		return SIM_REAL(fcntl)(fd, command, arg);
	if (command == F_SETLKW || command == F_OFD_SETLKW) {
		int done = SIM_REAL(fcntl)(fd, command == F_SETLKW ? F_SETLK : F_OFD_SETLK, arg);

		if (done == 0 || (errno != EAGAIN && errno != EACCES))
			return done;
		sim_refuse("fcntl");
	}
	if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)
		return name_copy(fd, SIM_REAL(fcntl)(fd, command, arg));
	return SIM_REAL(fcntl)(fd, command, arg);
}

SIM_ALSO_SHORT(fcntl);

/* --- ends --------------------------------------------------------------------------------------------- */

/* A node closes what is its own: a program may close all numbers, and has none of the descriptors of other nodes. */
int
close(int fd)
{
	struct name *name;

	if (!sim_applies())
		return SIM_REAL(close)(fd);
	sim_chance("close");
	if (fd >= 0 && fd <= STDERR_FILENO)
		return 0;
	name = name_of(fd);
	if (name != NULL && name->tcp->node != sim_me->node)
		return failed(EBADF);
	if (name != NULL) {
		g_ptr_array_remove(names, name);
		name_drop(name);
		sim_progress();
	}
	sim_clock_closed(fd);
	return SIM_REAL(close)(fd);
}

void
sim_sockets_end(const struct sim_node *node)
{
	for (guint i = names != NULL ? names->len : 0; i > 0; i--) {
		struct name *name = names->pdata[i - 1];

		if (name->tcp->node != node)
			continue;
		g_ptr_array_remove_index(names, i - 1);
		(void)SIM_REAL(close)(name->fd);
		name_drop(name);
	}
}
