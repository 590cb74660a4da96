/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "vem_packet.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "ri_calls.h"
#include "ri_fd.h"
#include "vem.h"

/* Room for exactly the descriptors of a packet. The kernel closes any others, and reports that by MSG_CTRUNC. */
union control {
	struct cmsghdr head;
	char octets[CMSG_SPACE(VEM_PACKET_FDS * sizeof(int))];
};

_Static_assert(CMSG_SPACE(VEM_PACKET_FDS * sizeof(int)) == CMSG_LEN(VEM_PACKET_FDS * sizeof(int)),
	       "the control data has no room for one descriptor more");

int
vem_packet_send(int fd, const struct vem_packet *packet, const int *fds, unsigned count)
{
	union control control;
	struct iovec part = {.iov_base = (void *)(uintptr_t)packet, .iov_len = sizeof(*packet)};
	struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};

	if (count != 0) {
		memset(&control, 0, sizeof(control));
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_LEN(count * sizeof(int));
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(&control.head), fds, count * sizeof(int));
	}
	if (ri_sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return 0;
	return errno == EWOULDBLOCK ? EAGAIN : errno;
}

static void
fds_close(int *fds, unsigned *count)
{
	for (unsigned i = 0; i < *count; i++)
		ri_close(fds[i]);
	*count = 0;
}

/* The descriptors of a message, with numbers that they keep. False: one could not get such a number. */
static bool
fds_take(struct msghdr *msg, int fds[VEM_PACKET_FDS], unsigned *count)
{
	bool good = true;

	*count = 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c != NULL; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		unsigned n = (unsigned)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));

		for (unsigned i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			fd = ri_fd_lift(fd);
			if (fd >= 0 && *count < VEM_PACKET_FDS)
				fds[(*count)++] = fd;
			else if (fd >= 0)
				ri_close(fd);
			good = good && fd >= 0;
		}
	}
	return good;
}

enum vem_packet_result
vem_packet_receive(int fd, struct vem_packet *packet, int fds[VEM_PACKET_FDS], unsigned *count,
		   const char **why)
{
	union control control;
	struct iovec part = {.iov_base = packet, .iov_len = sizeof(*packet)};
	struct msghdr msg = {.msg_iov = &part,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	ssize_t len = ri_recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	/* If a peer ended with packets unread, Linux reports a reset once, and only then the packets that the peer has sent. */
	if (len < 0 && errno == ECONNRESET)
		len = ri_recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	*count = 0;
	if (len < 0)
		return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? VEM_PACKET_NONE
										 : VEM_PACKET_END;

	bool lifted = fds_take(&msg, fds, count);

	*why = NULL;
	if (len == 0 && *count == 0) {
		errno = 0;
		return VEM_PACKET_END;
	}
	if ((msg.msg_flags & MSG_CTRUNC) != 0)
		*why = "it sends too many descriptors, or this process has no number for them";
	else if (!lifted)
		*why = "this process has no number for a descriptor";
	else if ((msg.msg_flags & MSG_TRUNC) != 0 || (size_t)len != sizeof(*packet))
		*why = "a packet has another size, as of another version";
	else if (packet->magic != VEM_PACKET_MAGIC)
		*why = "its packets are of another version";
	else if (packet->kind == 0 || packet->kind >= VEM_PACKET_KINDS)
		*why = "a packet is of an unknown kind";
	else if (packet->pdata_len > RI_PDATA_MAX || packet->ird_ord > 1 || packet->field > 1 ||
		 packet->retries > 1 || packet->retry_count > VEM_RETRIES_MAX ||
		 packet->rnr_retry > VEM_RETRIES_MAX || packet->reserved != 0)
		*why = "a packet has a member that cannot be";
	else if (*count != (packet->kind == VEM_PACKET_HELLO ? VEM_PACKET_FDS : 0))
		*why = "a packet has too few descriptors, or too many";
	if (*why == NULL)
		return VEM_PACKET_GOT;
	fds_close(fds, count);
	return VEM_PACKET_BAD;
}
