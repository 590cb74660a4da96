/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "kald_group.h"

#include <errno.h>
#include <glib.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kald_server.h"
#include "ri_fd.h"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif
#ifndef SO_COOKIE
#define SO_COOKIE 57
#endif

#define SLOW_CLOSES_MAX 256  /* then no packet may bring descriptors until some are closed */
#define DRAIN_MAX       4096 /* packets at once: whoever floods does not keep kald */

static bool
option_set(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) == 0;
}

static bool
option_is(int fd, int name, int value)
{
	int has = -1;
	socklen_t len = sizeof(has);

	return getsockopt(fd, SOL_SOCKET, name, &has, &len) == 0 && has == value;
}

static uint64_t
cookie_of(int fd, int name)
{
	uint64_t cookie = 0;
	socklen_t len = sizeof(cookie);

	return getsockopt(fd, SOL_SOCKET, name, &cookie, &len) == 0 ? cookie : 0;
}

/* --- descriptors of a client ---------------------------------------------------------------------------- */

static gint slow_closes; /* threads that close; atomic */

static gpointer
close_slowly(gpointer arg)
{
	close(GPOINTER_TO_INT(arg));
	g_atomic_int_add(&slow_closes, -1);
	return NULL;
}

bool
kald_fd_may_come(void)
{
	return g_atomic_int_get(&slow_closes) < SLOW_CLOSES_MAX;
}

void
kald_fd_discard(int fd)
{
	static const struct linger none = {0};
	GThread *thread;

	if (fd < 0)
		return;
	/* A file system of the client may keep who closes a file of it as long as it likes; a socket that does not linger keeps nobody. */
	if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none)) == 0) {
		close(fd);
		return;
	}
	g_atomic_int_add(&slow_closes, 1);
	thread = g_thread_try_new("close", close_slowly, GINT_TO_POINTER(fd), NULL);
	if (thread != NULL)
		g_thread_unref(thread);
	else
		kald_log("descriptor %d of a client stays open", fd);
}

bool
kald_fd_is_here(int fd)
{
	static uint64_t here;
	int own;

	if (!option_is(fd, SO_PROTOCOL, IPPROTO_UDP))
		return false;
	if (here == 0) {
		own = ri_fd_socket(AF_INET, SOCK_DGRAM, 0);
		here = own >= 0 ? cookie_of(own, SO_NETNS_COOKIE) : 0;
		if (own >= 0)
			close(own);
	}
	return here != 0 && cookie_of(fd, SO_NETNS_COOKIE) == here;
}

/* --- sockets -------------------------------------------------------------------------------------------- */

/* The first one is alone at its address for a moment: the kernel refuses it while any socket has the port. */
static int
socket_new(const struct kald_addr *at, bool first, int *error)
{
	struct sockaddr_storage sa;
	socklen_t len = kald_sockaddr_of(at, &sa);
	int fd = ri_fd_socket(at->family, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	if (fd >= 0 && (at->family != AF_INET6 || option_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1)) &&
	    (first || option_set(fd, SOL_SOCKET, SO_REUSEPORT, 1)) &&
	    bind(fd, (struct sockaddr *)&sa, len) == 0 &&
	    (!first || option_set(fd, SOL_SOCKET, SO_REUSEPORT, 1)) &&
	    option_set(fd, SOL_SOCKET, SO_RCVBUF, 0))
		return fd;
	*error = errno;
	if (fd >= 0)
		close(fd);
	return -1;
}

static struct kald_group *
group_begin(const struct kald_addr *at, uint32_t uid)
{
	struct kald_group *group = g_new0(struct kald_group, 1);

	group->refs = 1;
	group->at = *at;
	group->uid = uid;
	for (unsigned i = 0; i < KALD_SHARE_FDS; i++)
		group->fds[i] = -1;
	kald_steer_begin(&group->steer);
	return group;
}

struct kald_group *
kald_group_new(const struct kald_addr *at, uint32_t uid, int *error)
{
	struct kald_group *group = group_begin(at, uid);

	group->fds[KALD_SLOTS] = kald_steer_memory();
	*error = group->fds[KALD_SLOTS] < 0 ? errno : 0;
	for (unsigned i = 0; i < KALD_SLOTS && *error == 0; i++) {
		group->fds[i] = socket_new(at, i == 0, error);
		group->cookies[i] = cookie_of(group->fds[i], SO_COOKIE);
	}
	if (*error == 0)
		return group;
	kald_group_unref(group);
	return NULL;
}

struct kald_group *
kald_group_ref(struct kald_group *group)
{
	group->refs++;
	return group;
}

void
kald_group_unref(struct kald_group *group)
{
	if (--group->refs > 0)
		return;
	for (unsigned i = 0; i < KALD_SHARE_FDS; i++)
		if (group->fds[i] >= 0)
			close(group->fds[i]);
	g_free(group);
}

/* --- claims --------------------------------------------------------------------------------------------- */

static bool
is_bound_to(int fd, const struct kald_addr *at)
{
	struct sockaddr_storage wanted, sa;
	socklen_t len = sizeof(sa), expected = kald_sockaddr_of(at, &wanted);
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&sa;
	struct sockaddr_in6 *wanted_v6 = (struct sockaddr_in6 *)&wanted;

	memset(&sa, 0, sizeof(sa));
	if (getsockname(fd, (struct sockaddr *)&sa, &len) != 0 || len != expected)
		return false;
	/* The kernel knows a scope only for addresses that are local to a link. */
	if (at->family == AF_INET6)
		wanted_v6->sin6_scope_id = v6->sin6_scope_id == 0 ? 0 : at->scope;
	return memcmp(&sa, &wanted, len) == 0;
}

/* What is wrong with a socket, or NULL. */
static const char *
socket_wrong(int fd, const struct kald_addr *at)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof(peer);

	if (!option_is(fd, SO_PROTOCOL, IPPROTO_UDP) || !option_is(fd, SO_DOMAIN, at->family))
		return "a descriptor is no UDP socket of that family";
	if (!kald_fd_is_here(fd))
		return "a socket is of another network namespace";
	if (!is_bound_to(fd, at))
		return "a socket has another address";
	if (!option_is(fd, SO_REUSEPORT, 1))
		return "a socket is in no group";
	if (getpeername(fd, (struct sockaddr *)&peer, &len) == 0)
		return "a socket is connected";
	return NULL;
}

struct kald_group *
kald_group_claim(const struct kald_addr *at, uint32_t uid, struct kald_fds *got, const char **why)
{
	struct kald_group *group = group_begin(at, uid);

	*why = got->count == KALD_SHARE_FDS ? NULL : "it has not all descriptors of a group";
	for (unsigned i = 0; i < KALD_SLOTS && *why == NULL; i++) {
		*why = socket_wrong(got->fds[i], at);
		group->cookies[i] = cookie_of(got->fds[i], SO_COOKIE);
		for (unsigned j = 0; j < i && *why == NULL; j++)
			if (group->cookies[i] == group->cookies[j])
				*why = "a socket is there twice";
	}
	if (*why == NULL && !kald_steer_read(&group->steer, got->fds[KALD_SLOTS]))
		*why = "the memory of the table is none";
	if (*why != NULL) {
		kald_group_unref(group);
		return NULL;
	}
	memcpy(group->fds, got->fds, sizeof(group->fds));
	got->count = 0;
	return group;
}

bool
kald_group_is(const struct kald_group *group, const struct kald_fds *got, const char **why)
{
	*why = got->count == KALD_SHARE_FDS ? NULL : "it has not all descriptors of a group";
	for (unsigned i = 0; i < KALD_SLOTS && *why == NULL; i++)
		if (cookie_of(got->fds[i], SO_COOKIE) != group->cookies[i])
			*why = "a socket is not of the group that kald has";
	return *why == NULL;
}

/* --- steering ------------------------------------------------------------------------------------------- */

int
kald_group_steer(struct kald_group *group, const struct kald_steer *steer)
{
	/* First what the next kald would read: it attaches what it finds. */
	int error = kald_steer_write(steer, group->fds[KALD_SLOTS]) ? 0 : errno;

	if (error == 0)
		error = kald_steer_attach(steer, group->fds[0]);
	if (error == 0)
		group->steer = *steer;
	else
		(void)kald_steer_write(&group->steer, group->fds[KALD_SLOTS]);
	return error;
}

void
kald_group_drain(const struct kald_group *group, uint32_t slot)
{
	uint8_t octet;

	(void)option_set(group->fds[slot], SOL_SOCKET, SO_RCVBUF, 0);
	for (unsigned i = 0; i < DRAIN_MAX; i++)
		if (recv(group->fds[slot], &octet, sizeof(octet), MSG_DONTWAIT | MSG_TRUNC) < 0 &&
		    errno == EAGAIN)
			return;
}
