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

#define DRAIN_MAX 512 /* packets at once, so that a flood does not keep kald from other work */

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

/* Is it a UDP socket of kald's own network namespace? */
static bool
is_here(int fd)
{
	uint64_t here = 0;
	int own;

	if (!option_is(fd, SO_PROTOCOL, IPPROTO_UDP))
		return false;
	own = ri_fd_socket(AF_INET, SOCK_DGRAM, 0);
	if (own >= 0) {
		here = cookie_of(own, SO_NETNS_COOKIE);
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
	group->control = -1;
	kald_steer_begin(&group->steer);
	return group;
}

/*
 * Open the control socket, which is the last one of the group. When the last socket of a
 * SO_REUSEPORT group closes, the kernel moves no other socket to its index. The kernel lets only
 * sockets of one user share an address in this way: that kald can open this one shows that the
 * sockets at the address belong to a kald of the same user.
 */
static bool
control_open(struct kald_group *group, int *error)
{
	group->control = socket_new(&group->at, false, error);
	return group->control >= 0;
}

struct kald_group *
kald_group_new(const struct kald_addr *at, uint32_t uid, int *error)
{
	struct kald_group *group = group_begin(at, uid);

	group->fds[KALD_SLOTS] = kald_steer_memory();
	if (group->fds[KALD_SLOTS] >= 0)
		group->memory = kald_steer_map(group->fds[KALD_SLOTS]);
	*error = group->memory == NULL ? errno : 0;
	for (unsigned i = 0; i < KALD_SLOTS && *error == 0; i++) {
		group->fds[i] = socket_new(at, i == 0, error);
		group->cookies[i] = cookie_of(group->fds[i], SO_COOKIE);
	}
	if (*error == 0 && control_open(group, error))
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
	/* The one behind all first: then none moves. */
	if (group->control >= 0)
		close(group->control);
	for (unsigned i = 0; i < KALD_SHARE_FDS; i++)
		if (group->fds[i] >= 0)
			close(group->fds[i]);
	if (group->memory != NULL)
		kald_steer_unmap(group->memory);
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
	if (!is_here(fd))
		return "a socket is of another network namespace";
	if (!is_bound_to(fd, at))
		return "a socket has another address";
	if (!option_is(fd, SO_REUSEPORT, 1))
		return "a socket is in no group";
	if (getpeername(fd, (struct sockaddr *)&peer, &len) == 0)
		return "a socket is connected";
	return NULL;
}

/* What is wrong with the descriptors of a claim, or NULL. Their cookies are stored as far as there are any. */
static const char *
claim_wrong(struct kald_group *group, const struct kald_fds *got)
{
	const char *why = NULL;

	if (got->count != KALD_SHARE_FDS)
		return "it has not all descriptors of a group";
	for (unsigned i = 0; i < KALD_SLOTS; i++)
		group->cookies[i] = cookie_of(got->fds[i], SO_COOKIE);
	for (unsigned i = 0; i < KALD_SLOTS && why == NULL; i++) {
		why = socket_wrong(got->fds[i], &group->at);
		for (unsigned j = 0; j < i && why == NULL; j++)
			if (group->cookies[i] == group->cookies[j])
				why = "a socket is there twice";
	}
	if (why != NULL)
		return why;
	group->memory = kald_steer_map(got->fds[KALD_SLOTS]);
	if (group->memory == NULL || !kald_steer_read(&group->steer, group->memory))
		return "the memory of the table is none";
	return NULL;
}

void
kald_group_examine(struct kald_fds *got, const struct kald_share *said)
{
	struct kald_addr at;

	if (said->claim == 0) {
		got->here = got->count == 1 && is_here(got->fds[0]);
		return;
	}
	at = kald_share_address(said);
	got->claimed = group_begin(&at, 0);
	got->why = claim_wrong(got->claimed, got);
}

struct kald_group *
kald_group_claim(const struct kald_fds *got, uint32_t uid, const char **why)
{
	struct kald_group *group = got != NULL ? got->claimed : NULL;
	int error = 0;

	*why = group != NULL ? got->why : "it has not all descriptors of a group";
	if (*why == NULL && !control_open(group, &error))
		*why = error == EADDRINUSE ? "the sockets are of no kald of this user"
					   : g_strerror(error);
	if (*why != NULL)
		return NULL;
	for (unsigned i = 0; i < KALD_SHARE_FDS && error == 0; i++) {
		group->fds[i] = ri_fd_duplicate(got->fds[i]);
		error = group->fds[i] < 0 ? errno : 0;
	}
	group->uid = uid;
	*why = error != 0 ? g_strerror(error) : NULL;
	return error == 0 ? kald_group_ref(group) : NULL;
}

bool
kald_group_is(const struct kald_group *group, const struct kald_fds *got, const char **why)
{
	*why = got == NULL || got->count != KALD_SHARE_FDS ? "it has not all descriptors of a group"
	       : memcmp(got->claimed->cookies, group->cookies, sizeof(group->cookies)) != 0
		       ? "a socket is not of the group that kald has"
		       : NULL;
	return *why == NULL;
}

/* --- steering ------------------------------------------------------------------------------------------- */

int
kald_group_steer(struct kald_group *group, const struct kald_steer *steer)
{
	int error;

	/* First what the next kald would read: it attaches what it finds. */
	kald_steer_write(steer, group->memory);
	error = kald_steer_attach(steer, group->control);
	if (error == 0)
		group->steer = *steer;
	else
		kald_steer_write(&group->steer, group->memory);
	return error;
}

void
kald_group_unsteer(struct kald_group *group, const struct kald_steer *steer)
{
	int error;

	kald_steer_write(steer, group->memory);
	group->steer = *steer;
	error = kald_steer_attach(steer, group->control);
	if (error != 0)
		kald_log("cannot change how packets are steered: %s; the next change of the group "
			 "will do that, too",
			 g_strerror(error));
}

void
kald_group_drain(const struct kald_group *group, uint32_t slot)
{
	uint8_t octet;

	for (unsigned i = 0; i < DRAIN_MAX; i++)
		if (recv(group->fds[slot], &octet, sizeof(octet), MSG_DONTWAIT | MSG_TRUNC) < 0 &&
		    errno == EAGAIN)
			return;
}
