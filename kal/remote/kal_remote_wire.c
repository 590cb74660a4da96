/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "kal_remote_wire.h"

#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "ri_calls.h"
#include "ri_setting.h"

_Static_assert(KALD_SHARE_FDS <= KAL_FDS_MAX, "a whole group comes with one packet");

static const struct ri_setting runtime_dir = {.name = "XDG_RUNTIME_DIR"};

/* Returns 0 or an errno. `believed`: the path itself proves which user serves it. */
static int
connect_to(const char *path, bool believed, struct kal_fd *fd)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	size_t length = strlen(path);
	bool abstract = path[0] == '@';
	int error = 0;

	if (length >= sizeof(addr.sun_path))
		return ENAMETOOLONG;
	memcpy(addr.sun_path, path, length);
	if (abstract)
		addr.sun_path[0] = '\0';
	if (!kal_fd_socket(fd, AF_UNIX, SOCK_SEQPACKET))
		return errno;
	length += offsetof(struct sockaddr_un, sun_path) + !abstract;
	if (ri_connect(kal_fd_get(fd), (struct sockaddr *)&addr, (socklen_t)length) != 0)
		error = errno;
	else if ((abstract || !believed) && !kald_is_trusted(kal_fd_get(fd)))
		error = EPERM;
	if (error != 0)
		kal_fd_close(fd);
	return error;
}

int
kal_remote_connect(const struct kal_remote_place *place, struct kal_fd *fd,
		   char found[KAL_REMOTE_PATH])
{
	const char *folder = ri_setting_text(&runtime_dir);
	char own[KAL_REMOTE_PATH] = "", abstract[24];
	const char *first = place->path != NULL ? place->path : KALD_SYSTEM_SOCKET;
	int error;

	(void)snprintf(found, KAL_REMOTE_PATH, "%s", first);
	error = connect_to(first, true, fd); /* not what is cut: that may be another one */
	if (error == 0 || place->path != NULL || place->system_only)
		return error;
	if (folder != NULL &&
	    (size_t)snprintf(own, sizeof(own), "%s/%s", folder, KALD_USER_SOCKET) < sizeof(own)) {
		(void)snprintf(found, KAL_REMOTE_PATH, "%s", own);
		if (connect_to(own, false, fd) == 0)
			return 0;
	}
	(void)snprintf(abstract, sizeof(abstract), "@itapi/kald/%u", (unsigned)geteuid());
	error = connect_to(abstract, false, fd);
	if (error == 0)
		(void)snprintf(found, KAL_REMOTE_PATH, "%s", abstract);
	else
		(void)snprintf(found, KAL_REMOTE_PATH, "%s%s%.56s or %s", KALD_SYSTEM_SOCKET,
			       folder != NULL ? ", " : "", own, abstract);
	return error;
}

int
kal_remote_send(const struct kal_fd *fd, const struct kald_message *message)
{
	ssize_t n =
		ri_send(kal_fd_get(fd), message, message->head.length, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n >= 0)
		return 0;
	return errno == EWOULDBLOCK || errno == ENOBUFS ? EAGAIN : errno;
}

int
kal_remote_send_with(const struct kal_fd *fd, const struct kald_message *message, const int *fds,
		     size_t count)
{
	union {
		struct cmsghdr head;
		uint8_t room[CMSG_SPACE(KALD_SHARE_FDS * sizeof(int))];
	} control = {{0}};
	struct iovec part = {.iov_base = (void *)(uintptr_t)message,
			     .iov_len = message->head.length};
	struct msghdr packet = {.msg_iov = &part,
				.msg_iovlen = 1,
				.msg_control = &control,
				.msg_controllen = CMSG_SPACE(count * sizeof(int))};

	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(&control.head), fds, count * sizeof(int));
	if (ri_sendmsg(kal_fd_get(fd), &packet, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return 0;
	return errno == EWOULDBLOCK || errno == ENOBUFS ? EAGAIN : errno;
}

void
kal_remote_close_all(struct kal_fd got[KALD_SHARE_FDS])
{
	for (unsigned i = 0; i < KALD_SHARE_FDS; i++)
		kal_fd_close(&got[i]);
}

int
kal_remote_receive(const struct kal_fd *fd, struct kald_message *message,
		   struct kal_fd got[KALD_SHARE_FDS])
{
	_Alignas(8) uint8_t octets[KALD_MESSAGE_MAX];
	struct iovec part = {.iov_base = octets, .iov_len = sizeof(octets)};
	struct msghdr packet = {.msg_iov = &part, .msg_iovlen = 1};
	ssize_t n = kal_fd_receive(got, KALD_SHARE_FDS, kal_fd_get(fd), &packet);

	if (n < 0)
		return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? 0 : -1;
	if (n == 0 || (packet.msg_flags & MSG_TRUNC) != 0 ||
	    kald_message_read(octets, (size_t)n, message) == KALD_WRONG) {
		kal_remote_close_all(got);
		return -1;
	}
	return 1;
}

void
kal_remote_addr_of(const struct sockaddr_storage *sa, struct kald_addr *addr)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)sa;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)sa;

	memset(addr, 0, sizeof(*addr));
	addr->family = sa->ss_family;
	if (sa->ss_family == AF_INET) {
		addr->port = ntohs(in->sin_port);
		memcpy(addr->octets, &in->sin_addr, sizeof(in->sin_addr));
	} else {
		addr->port = ntohs(in6->sin6_port);
		addr->scope = in6->sin6_scope_id;
		memcpy(addr->octets, &in6->sin6_addr, sizeof(in6->sin6_addr));
	}
}
