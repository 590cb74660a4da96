/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Descriptors of clients: threads outside of the main loop receive, examine and close them
 * (kald_apart.h). They also close the socket of a client that still contains packets with
 * descriptors. While a thread receives a packet of a session, the main loop does not read that
 * session.
 */
#include <string.h>
#include <unistd.h>

#include "kald_drop.h"
#include "kald_group.h"
#include "kald_server.h"

#define PACKETS_MAX 64u /* that the main loop drops at the end of a session */

struct kald_taking {
	struct kald_session *session; /* NULL: it has ended */
	struct kald_server *server;
	uint32_t uid;
	int from;        /* the session's socket */
	uint32_t unread; /* its, if it has ended */
	int64_t took;    /* processor time, in microseconds */
	bool fine;
	struct kald_message request;
	struct kald_fds got;
};

struct closing {
	struct kald_server *server;
	uint32_t uid;
	bool session; /* one of them is a session's */
	uint32_t count;
	int fds[KALD_FDS_MAX + 1];
};

/* Take the packet that was looked at. False: descriptors are missing. */
static bool
packet_take(int from, struct kald_fds *got)
{
	union {
		struct cmsghdr head;
		uint8_t room[CMSG_SPACE(KALD_FDS_MAX * sizeof(int))];
	} control;
	uint8_t octet;
	struct iovec part = {.iov_base = &octet, .iov_len = sizeof(octet)};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = CMSG_LEN(sizeof(got->fds))};
	struct cmsghdr *c;

	if (recvmsg(from, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0)
		return false;
	c = CMSG_FIRSTHDR(&message);
	if (c != NULL && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
		got->count = (uint32_t)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(got->fds, CMSG_DATA(c), got->count * sizeof(int));
	}
	return (message.msg_flags & MSG_CTRUNC) == 0;
}

static void
take_work(void *arg)
{
	struct kald_taking *taking = arg;
	int64_t begin = kald_cpu_us();

	taking->fine =
		packet_take(taking->from, &taking->got) && taking->got.count <= KALD_SHARE_FDS;
	if (taking->fine)
		kald_group_examine(&taking->got, &taking->request.body.share);
	taking->took = kald_cpu_us() - begin;
}

static void
close_work(void *arg)
{
	const struct closing *closing = arg;

	for (uint32_t i = 0; i < closing->count; i++)
		close(closing->fds[i]);
}

static void
close_done(void *arg)
{
	struct closing *closing = arg;

	if (closing->session)
		kald_session_closed(closing->server, closing->uid);
	g_free(closing);
}

static void
close_all(struct kald_server *server, uint32_t uid, const struct kald_fds *fds, int session)
{
	struct closing *closing;

	if (fds->count == 0 && session < 0)
		return;
	closing = g_new(struct closing, 1);
	closing->server = server;
	closing->uid = uid;
	closing->session = session >= 0;
	closing->count = fds->count;
	memcpy(closing->fds, fds->fds, fds->count * sizeof(int));
	if (session >= 0)
		closing->fds[closing->count++] = session;
	kald_apart_do(server->apart, uid, close_work, close_done, closing);
}

/*
 * Drop the packets that are left in a socket that was shut down and gets no more. False: one has
 * descriptors, or there are too many. A packet of 0 octets is distinguished from the end of the
 * stream by its credentials.
 */
static bool
packets_drop(int fd)
{
	const int on = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0)
		return false;
	for (unsigned i = 0; i < PACKETS_MAX; i++) {
		union {
			struct cmsghdr head;
			uint8_t room[CMSG_SPACE(sizeof(struct ucred))];
		} control;
		uint8_t octet;
		struct iovec part = {.iov_base = &octet, .iov_len = sizeof(octet)};
		struct msghdr message = {.msg_iov = &part,
					 .msg_iovlen = 1,
					 .msg_control = &control,
					 .msg_controllen = sizeof(control)};

		if (recvmsg(fd, &message, MSG_DONTWAIT | MSG_PEEK) < 0)
			continue; /* the client has closed its end with packets unread: said once */
		if ((message.msg_flags & MSG_CTRUNC) != 0)
			return false;
		if (CMSG_FIRSTHDR(&message) == NULL)
			return true;
		(void)!recv(fd, &octet, sizeof(octet), MSG_DONTWAIT);
	}
	return false;
}

void
kald_session_close(struct kald_server *server, uint32_t uid, int fd)
{
	static const struct kald_fds none = {.count = 0};

	(void)shutdown(fd, SHUT_RDWR); /* the client hears of it at once */
	if (!packets_drop(fd)) {
		/* Those that wait to be closed have descriptors of kald. */
		if (kald_session_many_closing(server, uid) && kald_drop(server->low, fd)) {
			kald_session_closed(server, uid);
			return;
		}
		close_all(server, uid, &none, fd);
		return;
	}
	close(fd);
	kald_session_closed(server, uid);
}

static void
take_done(void *arg)
{
	struct kald_taking *taking = arg;
	struct kald_session *session = taking->session;
	int64_t begin = kald_cpu_us();

	if (session != NULL) {
		session->taking = NULL;
		session->got = &taking->got;
		taking->fine = taking->fine && kald_request(session, &taking->request, KALD_READ);
		session->got = NULL;
	}
	if (taking->got.claimed != NULL)
		kald_group_unref(taking->got.claimed);
	close_all(taking->server, taking->uid, &taking->got, -1);
	if (session == NULL)
		kald_unread_close(taking->server, taking->uid, taking->from, taking->unread);
	else
		kald_session_taken(session, &taking->request, taking->fine,
				   taking->took + kald_cpu_us() - begin);
	g_free(taking);
}

void
kald_take(struct kald_session *session, const struct kald_message *request)
{
	struct kald_taking *taking = g_new0(struct kald_taking, 1);

	taking->session = session;
	taking->server = session->server;
	taking->uid = session->uid;
	taking->from = session->fd;
	taking->request = *request;
	session->taking = taking;
	kald_apart_do(session->server->apart, session->uid, take_work, take_done, taking);
}

void
kald_take_forget(struct kald_session *session)
{
	if (session->taking == NULL) {
		kald_unread_close(session->server, session->uid, session->fd, session->unread);
		return;
	}
	(void)shutdown(session->fd, SHUT_RDWR);
	session->taking->session = NULL;
	session->taking->unread = session->unread;
}
