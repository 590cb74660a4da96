/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Descriptors that kald has sent and clients have not received yet. The kernel limits them, over
 * all clients together, to the number of descriptors that kald may have open. So each user has a
 * share of that number, and a client that does not read its socket cannot prevent other users from
 * getting sockets. Descriptors stay unread even when kald closes its end of the socket. So kald
 * keeps the socket of an ended session, and counts its descriptors, until its client has read or
 * closed it.
 */
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include "kald_server.h"

#define UNREAD_MAX   8192u /* of one user: all processes of a group may begin at once */
#define UNREAD_SHARE 4     /* of what kald may have open, if that is less */
#define LOOK_MS      500   /* at the sockets of those that have ended */

/* The socket of a session that has ended. */
struct ended {
	uint32_t uid, unread;
	int fd;
};

/* Has the client packets to read? */
static bool
is_unread(int fd)
{
	int octets = 0;

	return ioctl(fd, SIOCOUTQ, &octets) == 0 && octets > 0;
}

static uint32_t
unread_of(const struct kald_server *server, uint32_t uid)
{
	return GPOINTER_TO_UINT(g_hash_table_lookup(server->unread, GUINT_TO_POINTER(uid)));
}

static void
unread_set(struct kald_server *server, uint32_t uid, uint32_t count)
{
	if (count > 0)
		g_hash_table_insert(server->unread, GUINT_TO_POINTER(uid), GUINT_TO_POINTER(count));
	else
		g_hash_table_remove(server->unread, GUINT_TO_POINTER(uid));
}

static void
unread_less(struct kald_server *server, uint32_t uid, uint32_t count)
{
	uint32_t had = unread_of(server, uid);

	unread_set(server, uid, had - MIN(had, count));
}

/* What the user has read is known only when its sockets are asked. */
static uint32_t
unread_again(struct kald_server *server, uint32_t uid)
{
	uint32_t count = 0;

	for (GList *at = server->sessions.head; at != NULL; at = at->next) {
		struct kald_session *session = at->data;

		if (session->uid != uid || session->unread == 0)
			continue;
		if (!is_unread(session->fd))
			session->unread = 0;
		count += session->unread;
	}
	for (GList *at = server->ended.head; at != NULL; at = at->next)
		count += ((const struct ended *)at->data)->uid == uid
				 ? ((const struct ended *)at->data)->unread
				 : 0;
	unread_set(server, uid, count);
	return count;
}

bool
kald_unread_room(const struct kald_session *session, uint32_t fds)
{
	struct kald_server *server = session->server;
	struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
	uint64_t most = UNREAD_MAX;

	(void)getrlimit(RLIMIT_NOFILE, &limit);
	most = MIN(most, limit.rlim_cur / UNREAD_SHARE);
	return unread_of(server, session->uid) + fds <= most ||
	       unread_again(server, session->uid) + fds <= most;
}

void
kald_unread_add(struct kald_session *session, uint32_t fds)
{
	session->unread += fds;
	unread_set(session->server, session->uid, unread_of(session->server, session->uid) + fds);
}

static gboolean
look(gpointer arg)
{
	struct kald_server *server = arg;
	GList *next;

	for (GList *at = server->ended.head; at != NULL; at = next) {
		struct ended *ended = at->data;

		next = at->next;
		if (is_unread(ended->fd))
			continue;
		g_queue_delete_link(&server->ended, at);
		unread_less(server, ended->uid, ended->unread);
		kald_session_close(server, ended->uid, ended->fd);
		g_free(ended);
	}
	if (server->ended.head != NULL)
		return G_SOURCE_CONTINUE;
	server->ended_look = 0;
	return G_SOURCE_REMOVE;
}

void
kald_unread_close(struct kald_server *server, uint32_t uid, int fd, uint32_t unread)
{
	struct ended *ended;

	(void)shutdown(fd, SHUT_RDWR); /* the client hears of it at once */
	if (unread == 0 || !is_unread(fd)) {
		unread_less(server, uid, unread);
		kald_session_close(server, uid, fd);
		return;
	}
	ended = g_new(struct ended, 1);
	*ended = (struct ended){.uid = uid, .unread = unread, .fd = fd};
	g_queue_push_tail(&server->ended, ended);
	if (server->ended_look == 0)
		server->ended_look = g_timeout_add(LOOK_MS, look, server);
}

void
kald_unread_free(struct kald_server *server)
{
	if (server->ended_look != 0)
		g_source_remove(server->ended_look);
	g_queue_clear_full(&server->ended, g_free);
	g_hash_table_destroy(server->unread);
}
