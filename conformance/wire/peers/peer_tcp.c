/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "peer_tcp.h"
#include "tool_error.h"
#include "tool_signal.h"

#define BACKLOG      16
#define COMPLAINT    "?"
#define REASON_SIZE  256 /* octets of a reason that are read */
#define GOODBYE_S    2
#define SOCKET_FLAGS (SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK)

struct peer_limit
peer_limit_of(unsigned seconds)
{
	return (struct peer_limit){.seconds = seconds,
				   .until = g_get_monotonic_time() +
					    (gint64)seconds * G_USEC_PER_SEC};
}

bool
peer_limit_stands(const struct peer_limit *limit, const char *late, GError **error)
{
	if (tool_stopped())
		return tool_fail(error, TOOL_ERROR_INTERRUPTED, "interrupted");
	if (limit->seconds != 0 && g_get_monotonic_time() >= limit->until)
		return tool_fail(error, TOOL_ERROR_TIMEOUT, "%s within %u seconds", late,
				 limit->seconds);
	return true;
}

bool
peer_limit_poll(const struct peer_limit *limit, struct pollfd *fd, const char *late, GError **error)
{
	struct pollfd fds[] = {*fd, {.fd = tool_stop_fd(), .events = POLLIN}};
	gint64 left = (limit->until - g_get_monotonic_time()) / 1000 + 1;

	fd->revents = 0;
	if (!peer_limit_stands(limit, late, error))
		return false;
	if (poll(fds, G_N_ELEMENTS(fds), limit->seconds == 0 ? -1 : (int)left) > 0)
		fd->revents = fds[0].revents;
	return true;
}

static bool
fail_errno(const char *what, GError **error)
{
	int number = errno;

	return tool_fail(error, TOOL_ERROR_FAILED, "%s: %s", what, g_strerror(number));
}

bool
peer_tcp_listen(struct peer_tcp *tcp, uint16_t *port, unsigned seconds, GError **error)
{
	struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(*port)};
	socklen_t len = sizeof(address);
	int on = 1;
	int off = 0;

	tcp->seconds = seconds;
	tcp->fd = socket(AF_INET6, SOCKET_FLAGS, 0);
	if (tcp->fd < 0)
		return fail_errno("socket", error);
	if (setsockopt(tcp->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
	    setsockopt(tcp->fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) != 0)
		return fail_errno("setsockopt", error);
	if (bind(tcp->fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
	    listen(tcp->fd, BACKLOG) != 0 ||
	    getsockname(tcp->fd, (struct sockaddr *)&address, &len) != 0)
		return fail_errno("cannot listen on the TCP port", error);
	*port = ntohs(address.sin6_port);
	return true;
}

bool
peer_tcp_accept(const struct peer_tcp *listener, struct peer_tcp *tcp, GError **error)
{
	struct peer_limit limit = peer_limit_of(listener->seconds);
	struct pollfd fd = {.fd = listener->fd, .events = POLLIN};

	tcp->seconds = listener->seconds;
	do {
		if (!peer_limit_poll(&limit, &fd, "nobody connected", error))
			return false;
		tcp->fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	} while (tcp->fd < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED));
	return tcp->fd >= 0 || fail_errno("accept", error);
}

static bool
connect_to(struct peer_tcp *tcp, const struct addrinfo *info, GError **error)
{
	struct peer_limit limit = peer_limit_of(tcp->seconds);
	struct pollfd fd = {.events = POLLOUT};
	int number = 0;
	socklen_t len = sizeof(number);

	tcp->fd = socket(info->ai_family, SOCKET_FLAGS, 0);
	if (tcp->fd < 0)
		return fail_errno("socket", error);
	if (connect(tcp->fd, info->ai_addr, info->ai_addrlen) == 0)
		return true;
	if (errno != EINPROGRESS)
		return fail_errno("connect", error);
	fd.fd = tcp->fd;
	while (fd.revents == 0) {
		if (!peer_limit_poll(&limit, &fd, "no answer", error))
			return false;
	}
	if (getsockopt(tcp->fd, SOL_SOCKET, SO_ERROR, &number, &len) != 0)
		return fail_errno("getsockopt", error);
	errno = number;
	return number == 0 || fail_errno("connect", error);
}

bool
peer_tcp_connect(struct peer_tcp *tcp, const char *host, uint16_t port, unsigned seconds,
		 GError **error)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	g_autofree char *service = g_strdup_printf("%u", port);
	struct addrinfo *list = NULL;
	int status = getaddrinfo(host, service, &hints, &list);
	bool good = false;

	*tcp = (struct peer_tcp){.fd = -1, .seconds = seconds};
	if (status != 0)
		return tool_fail(error, TOOL_ERROR_FAILED, "%s: %s", host, gai_strerror(status));
	for (const struct addrinfo *info = list; info != NULL && !good; info = info->ai_next) {
		peer_tcp_close(tcp);
		g_clear_error(error);
		good = connect_to(tcp, info, error);
	}
	freeaddrinfo(list);
	if (!good)
		g_prefix_error(error, "TCP port %u of %s: ", port,
			       host != NULL ? host : "this host");
	return good;
}

void
peer_tcp_close(struct peer_tcp *tcp)
{
	if (tcp->fd >= 0)
		close(tcp->fd);
	tcp->fd = -1;
}

bool
peer_tcp_send(const struct peer_tcp *tcp, const void *octets, size_t len, const char *what,
	      GError **error)
{
	struct peer_limit limit = peer_limit_of(tcp->seconds);
	struct pollfd fd = {.fd = tcp->fd, .events = POLLOUT};
	const uint8_t *at = octets;

	while (len > 0) {
		ssize_t sent = send(tcp->fd, at, len, MSG_NOSIGNAL);

		if (sent < 0 && errno != EAGAIN && errno != EINTR)
			return fail_errno(what, error);
		if (sent > 0) {
			at += sent;
			len -= (size_t)sent;
		} else if (!peer_limit_poll(&limit, &fd, "the peer took nothing", error)) {
			return false;
		}
	}
	return true;
}

/* Fails with the text behind the mark of the urgent data, whose octet was already read. */
static bool
fail_as_told(const struct peer_tcp *tcp, GError **error)
{
	struct peer_limit limit = peer_limit_of(GOODBYE_S);
	struct pollfd fd = {.fd = tcp->fd, .events = POLLIN};
	char text[REASON_SIZE] = "";
	size_t len = 0;
	bool behind = false;
	ssize_t got = 1;

	while (got != 0 && len < sizeof(text) - 1 && peer_limit_poll(&limit, &fd, "", NULL)) {
		behind = behind || sockatmark(tcp->fd) == 1;
		got = recv(tcp->fd, text + len, sizeof(text) - 1 - len, 0);
		if (got < 0 && errno != EAGAIN && errno != EINTR)
			break;
		if (got > 0 && behind)
			len += (size_t)got;
	}
	for (size_t i = 0; i < len; i++)
		text[i] = g_ascii_isprint(text[i]) ? text[i] : ' ';
	text[len] = '\0';
	return tool_fail(error, TOOL_ERROR_PEER, "the peer gave up: %s",
			 len > 0 ? g_strstrip(text) : "it does not say why");
}

static bool
is_complaint(const struct peer_tcp *tcp)
{
	char octet;

	return recv(tcp->fd, &octet, 1, MSG_OOB) == 1 && octet == COMPLAINT[0];
}

bool
peer_tcp_receive(const struct peer_tcp *tcp, void *octets, size_t len, const char *what,
		 GError **error)
{
	struct peer_limit limit = peer_limit_of(tcp->seconds);
	struct pollfd fd = {.fd = tcp->fd, .events = POLLIN | POLLPRI};
	uint8_t *at = octets;

	while (len > 0) {
		ssize_t got;

		if (!peer_limit_poll(&limit, &fd, "the peer sent too little", error)) {
			g_prefix_error(error, "waiting for %s: ", what);
			return false;
		}
		if ((fd.revents & POLLPRI) != 0 && is_complaint(tcp))
			return fail_as_told(tcp, error);
		got = recv(tcp->fd, at, len, 0);
		if (got == 0)
			return tool_fail(error, TOOL_ERROR_PEER,
					 "the peer ended the TCP connection instead of sending %s",
					 what);
		if (got < 0 && errno != EAGAIN && errno != EINTR)
			return fail_errno(what, error);
		if (got > 0) {
			at += got;
			len -= (size_t)got;
		}
	}
	return true;
}

void
peer_tcp_complain(const struct peer_tcp *tcp, const char *reason)
{
	struct peer_limit limit = peer_limit_of(GOODBYE_S);
	struct pollfd fd = {.fd = tcp->fd, .events = POLLIN};
	char unread[REASON_SIZE];
	ssize_t got = 1;

	if (send(tcp->fd, COMPLAINT, 1, MSG_OOB | MSG_NOSIGNAL) != 1 ||
	    !peer_tcp_send(tcp, reason, strlen(reason), "the reason", NULL) ||
	    shutdown(tcp->fd, SHUT_WR) != 0)
		return;
	while (got != 0 && peer_limit_poll(&limit, &fd, "", NULL)) {
		got = recv(tcp->fd, unread, sizeof(unread), 0);
		if (got < 0 && errno != EAGAIN && errno != EINTR)
			return;
	}
}
