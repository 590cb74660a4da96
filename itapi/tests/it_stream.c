/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "it_stream.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The key, then the flags (CRC), the revision and the length of the private data. */
const char stream_request[STREAM_FRAME] = "MPA ID Req Frame\x40\x01\0";
const char stream_reply[STREAM_FRAME] = "MPA ID Rep Frame\x40\x01\0";

#define NARROW 4096

/* Set before the connection is made, so that TCP never offers a larger window; 0: the kernel's default. */
static void
limit_buffers(int sd, int octets)
{
	if (octets == 0)
		return;
	g_assert_cmpint(setsockopt(sd, SOL_SOCKET, SO_RCVBUF, &octets, sizeof(octets)), ==, 0);
	g_assert_cmpint(setsockopt(sd, SOL_SOCKET, SO_SNDBUF, &octets, sizeof(octets)), ==, 0);
}

static void
open_ends(int ends[2], struct sockaddr_storage sa, int buffer)
{
	socklen_t len = sizeof(sa);
	int listener = socket(sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	g_assert_cmpint(listener, >=, 0);
	limit_buffers(listener, buffer); /* the accepted socket inherits it */
	g_assert_cmpint(bind(listener, (struct sockaddr *)&sa, sizeof(sa)), ==, 0);
	g_assert_cmpint(listen(listener, 1), ==, 0);
	g_assert_cmpint(getsockname(listener, (struct sockaddr *)&sa, &len), ==, 0);
	ends[0] = socket(sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	limit_buffers(ends[0], buffer);
	g_assert_cmpint(connect(ends[0], (struct sockaddr *)&sa, len), ==, 0);
	ends[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	g_assert_cmpint(ends[1], >=, 0);
	close(listener);
}

void
stream_open(int ends[2], int family)
{
	struct sockaddr_storage sa = {.ss_family = (sa_family_t)family};

	if (family == AF_INET)
		((struct sockaddr_in *)&sa)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		((struct sockaddr_in6 *)&sa)->sin6_addr = in6addr_loopback;
	open_ends(ends, sa, 0);
}

static struct sockaddr_storage
ipv4(const char *address)
{
	struct sockaddr_storage sa = {.ss_family = AF_INET};

	g_assert_cmpint(inet_pton(AF_INET, address, &((struct sockaddr_in *)&sa)->sin_addr), ==, 1);
	return sa;
}

void
stream_open_at(int ends[2], const char *address)
{
	open_ends(ends, ipv4(address), 0);
}

void
stream_open_narrow(int ends[2])
{
	open_ends(ends, ipv4("127.0.0.1"), NARROW);
}

it_status_t
stream_convert(struct end *end, int sd, it_sc_flags_t flags, const char *msg)
{
	return it_socket_convert(sd, end->ep, flags, (const unsigned char *)msg,
				 msg != NULL ? strlen(msg) : 0);
}

void
stream_say(int sd, const void *octets, size_t length)
{
	g_assert_cmpint(send(sd, octets, length, MSG_NOSIGNAL), ==, (ssize_t)length);
}

void
stream_hear(int sd, const void *octets, size_t length)
{
	g_autofree char *heard = g_malloc(length + 1);

	if (length > 0)
		g_assert_cmpint(recv(sd, heard, length, MSG_WAITALL), ==, (ssize_t)length);
	g_assert_cmpmem(heard, length, octets, length);
}

bool
stream_drain(int sd)
{
	char octets[256];
	ssize_t n;

	do
		n = recv(sd, octets, sizeof(octets), 0);
	while (n > 0);
	if (n < 0)
		g_assert_cmpint(errno, ==, ECONNRESET);
	return n == 0;
}

void
stream_reset(int sd)
{
	struct linger at_once = {.l_onoff = 1, .l_linger = 0};

	g_assert_cmpint(setsockopt(sd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), ==, 0);
	close(sd);
}

void
stream_await_reset(int sd)
{
	struct pollfd polled = {.fd = sd}; /* errors are always reported */

	g_assert_cmpint(poll(&polled, 1, PAIR_SURELY), ==, 1);
	g_assert_cmpint(polled.revents & POLLERR, !=, 0);
}
