/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Sockets and addresses of the host, as connection management needs them. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <glib.h>

#include "kal_cm_internal.h"
#include "kal_sock.h"
#include "ri_calls.h"
#include "ri_capture.h"
#include "ri_fd.h"

socklen_t
kal_sock_addr(struct sockaddr_storage *out, const struct ri_addr *addr, uint16_t port)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	bool is_mapped =
		addr->family == RI_ADDR_IPV6 && memcmp(addr->octets, mapped, sizeof(mapped)) == 0;

	memset(out, 0, sizeof(*out));
	if (addr->family == RI_ADDR_IPV4 || is_mapped) {
		struct sockaddr_in *in = (struct sockaddr_in *)out;

		in->sin_family = AF_INET;
		in->sin_port = port;
		memcpy(&in->sin_addr, addr->octets + (is_mapped ? sizeof(mapped) : 0),
		       sizeof(in->sin_addr));
		return sizeof(*in);
	}
	if (addr->family == RI_ADDR_IPV6) {
		struct sockaddr_in6 *in = (struct sockaddr_in6 *)out;

		in->sin6_family = AF_INET6;
		in->sin6_port = port;
		in->sin6_scope_id = addr->scope_id;
		memcpy(&in->sin6_addr, addr->octets, sizeof(in->sin6_addr));
		return sizeof(*in);
	}
	return 0;
}

void
kal_sock_addr_back(const struct sockaddr_storage *in, struct ri_addr *addr, uint16_t *port)
{
	memset(addr, 0, sizeof(*addr));
	*port = 0;
	if (in->ss_family == AF_INET) {
		const struct sockaddr_in *in4 = (const struct sockaddr_in *)in;

		addr->family = RI_ADDR_IPV4;
		memcpy(addr->octets, &in4->sin_addr, sizeof(in4->sin_addr));
		*port = in4->sin_port;
	} else if (in->ss_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)in;

		addr->family = RI_ADDR_IPV6;
		memcpy(addr->octets, &in6->sin6_addr, sizeof(in6->sin6_addr));
		addr->scope_id = in6->sin6_scope_id;
		*port = in6->sin6_port;
	}
}

int
kal_sock_new(struct kal_fd *fd, int family)
{
	int one = 1;

	if (!kal_fd_socket(fd, family, SOCK_STREAM))
		return errno;
	if (family == AF_INET6)
		setsockopt(kal_fd_get(fd), IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	return 0;
}

bool
kal_sock_is_own_peer(int fd)
{
	struct sockaddr_storage here = {0}, there = {0};
	socklen_t here_len = sizeof(here), there_len = sizeof(there);
	struct ri_addr local, peer;
	uint16_t local_port, peer_port;

	if (getsockname(fd, (struct sockaddr *)&here, &here_len) != 0 ||
	    getpeername(fd, (struct sockaddr *)&there, &there_len) != 0)
		return false;
	kal_sock_addr_back(&here, &local, &local_port);
	kal_sock_addr_back(&there, &peer, &peer_port);
	return local_port == peer_port && memcmp(&local, &peer, sizeof(local)) == 0;
}

void
kal_sock_prepare(int fd)
{
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static void
set_tcp(int fd, int option, uint64_t value)
{
	int number = (int)value;

	(void)setsockopt(fd, IPPROTO_TCP, option, &number, sizeof(number));
}

static bool
is_zero(int fd, int level, int option)
{
	int number = -1;
	socklen_t len = sizeof(number);

	return getsockopt(fd, level, option, &number, &len) == 0 && number == 0;
}

/*
 * Probes notice a peer that vanishes while nothing is sent. While something is sent there are no probes; then, and
 * while the peer's window is closed, the user time-out holds. If both are set, the kernel does not count the probes:
 * the connection ends with the first unanswered probe after the user time-out.
 */
void
kal_sock_watch_peer(int fd, const struct kal_keep_alive *keep_alive)
{
	int one = 1;

	if (keep_alive->idle_s > 0 && is_zero(fd, SOL_SOCKET, SO_KEEPALIVE)) {
		set_tcp(fd, TCP_KEEPIDLE, keep_alive->idle_s);
		set_tcp(fd, TCP_KEEPINTVL, keep_alive->interval_s);
		set_tcp(fd, TCP_KEEPCNT, keep_alive->count);
		(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	}
	if (keep_alive->user_s > 0 && is_zero(fd, IPPROTO_TCP, TCP_USER_TIMEOUT))
		set_tcp(fd, TCP_USER_TIMEOUT, keep_alive->user_s * 1000);
}

void
kal_sock_rdma_mode(int fd)
{
	struct linger at_once = {.l_onoff = 1, .l_linger = 0};

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

void
kal_sock_abort(int fd)
{
	struct sockaddr none = {.sa_family = AF_UNSPEC};

	(void)!ri_connect(fd, &none, sizeof(none));
}

void
kal_sock_addr_text(const struct ri_addr *addr, char *text, size_t room)
{
	bool six = addr->family == RI_ADDR_IPV6;

	if ((!six && addr->family != RI_ADDR_IPV4) ||
	    inet_ntop(six ? AF_INET6 : AF_INET, addr->octets, text, (socklen_t)room) == NULL)
		(void)snprintf(text, room, "an unknown address");
}

/* An address is this machine's if a socket can be bound to it. */
bool
kal_sock_is_local(const struct ri_addr *addr)
{
	struct sockaddr_storage sa;
	socklen_t len = kal_sock_addr(&sa, addr, 0);
	int fd, error;

	errno = EAFNOSUPPORT;
	fd = len > 0 ? ri_fd_socket(sa.ss_family, SOCK_DGRAM, 0) : -1;
	if (fd < 0)
		return false;
	error = bind(fd, (struct sockaddr *)&sa, len) == 0 ? 0 : errno;
	ri_close(fd);
	errno = error;
	return error == 0;
}

bool
kal_sock_may_serve(uint16_t port)
{
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = port};
	bool forbidden;
	int fd;

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fd = ri_fd_socket(AF_INET, SOCK_DGRAM, 0);
	if (fd < 0)
		return true;
	forbidden = bind(fd, (struct sockaddr *)&sin, sizeof(sin)) != 0 && errno == EACCES;
	ri_close(fd);
	return !forbidden;
}

enum kal_cm_reason
kal_sock_reason(int error)
{
	switch (error) {
	case ETIMEDOUT:
		return KAL_REASON_TIMEOUT;
	case ENETUNREACH:
	case EHOSTUNREACH:
	case ENETDOWN:
	case EHOSTDOWN:
	case EAFNOSUPPORT:
	case EINVAL: /* an address of another scope */
		return KAL_REASON_BAD_PATH;
	case EMFILE:
	case ENFILE:
	case ENOBUFS:
	case ENOMEM:
	case EADDRNOTAVAIL:
		return KAL_REASON_RESOURCES;
	case ECONNREFUSED:
		return KAL_REASON_REFUSED;
	default:
		return KAL_REASON_OTHER;
	}
}

static void
capture(const struct kal_cm *cm, int fd, struct ri_captured *what)
{
	what->adapter = cm->attr->name;
	if (ri_capture_ends(fd, what))
		ri_capture(cm->host, what);
}

void
kal_sock_capture(const struct kal_cm *cm, int fd, const void *octets, ssize_t len, bool received)
{
	struct ri_captured what = {.kind = RI_CAPTURED_OCTETS, .received = received};

	if (len <= 0 || !ri_capture_wanted(cm->host))
		return;
	what.octets = octets;
	what.length = (uint64_t)len;
	capture(cm, fd, &what);
}

void
kal_sock_capture_end(const struct kal_cm *cm, int fd, bool fin)
{
	struct ri_captured what = {.kind = fin ? RI_CAPTURED_FIN : RI_CAPTURED_RESET};

	if (ri_capture_wanted(cm->host))
		capture(cm, fd, &what);
}
