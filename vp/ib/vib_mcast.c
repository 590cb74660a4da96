/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Multicast groups over Ethernet [RI 10.52]. Control path; a verb on a queue pair excludes others, so its list needs no lock.
 *
 * The device attaches a queue pair to a group, which it names by a GID. On the wire these are IP packets, and the network
 * interface accepts them only if it is a member of the group. So each attachment has a socket that has joined the group; the
 * socket is bound to no port, and nothing is read from it.
 */
#include "vib_mcast.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ri_calls.h"
#include "ri_fd.h"
#include "vib_ah.h"
#include "vib_objects.h"
#include "vib_profile.h"

struct group {
	struct vib_item item; /* in vib_qp::groups */
	union ibv_gid gid;
	int fd; /* its socket */
};

static bool
is_mapped(const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(gid->raw, mapped, sizeof(mapped)) == 0;
}

/* False: it is no multicast address. */
static bool
gid_of_group(union ibv_gid *gid, const struct ri_addr *group)
{
	if (group->family == RI_ADDR_NONE)
		return false;
	vib_gid_of(gid, group);
	return is_mapped(gid) ? (gid->raw[12] & 0xf0) == 0xe0 : gid->raw[0] == 0xff;
}

static struct group *
group_find(struct vib_qp *qp, const union ibv_gid *gid)
{
	for (struct vib_item *i = qp->groups.next; i != &qp->groups; i = i->next) {
		struct group *group = vib_of(i, struct group, item);

		if (memcmp(group->gid.raw, gid->raw, sizeof(gid->raw)) == 0)
			return group;
	}
	return NULL;
}

/* Have an interface be a member, as long as the socket is open. Returns 0 or an errno. */
static int
socket_join(int fd, const union ibv_gid *gid, uint32_t interface)
{
	struct ip_mreqn four = {.imr_ifindex = (int)interface};
	struct ipv6_mreq six = {.ipv6mr_interface = interface};
	int result;

	if (is_mapped(gid)) {
		memcpy(&four.imr_multiaddr, gid->raw + 12, sizeof(four.imr_multiaddr));
		result = setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &four, sizeof(four));
	} else {
		memcpy(&six.ipv6mr_multiaddr, gid->raw, sizeof(six.ipv6mr_multiaddr));
		result = setsockopt(fd, IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, &six, sizeof(six));
	}
	return result == 0 ? 0 : errno;
}

/* A descriptor, or -1 and errno. */
static int
socket_new(const struct vib_qp *qp, const union ibv_gid *gid)
{
	uint32_t interface = vib_port_interface(qp->pd->context->rnic, qp->init.port);
	int fd = ri_fd_socket(is_mapped(gid) ? AF_INET : AF_INET6, SOCK_DGRAM, 0);
	int error;

	if (fd < 0)
		return -1;
	error = interface != 0 ? socket_join(fd, gid, interface) : ENODEV;
	if (error == 0)
		return fd;
	ri_close(fd);
	errno = error;
	return -1;
}

static enum ri_status
attach_failure(const struct vib_qp *qp, const char *what, int error)
{
	vib_log_qp(qp, RI_LOG_WARNING, "cannot join a multicast group: %s refuses: %s", what,
		   ri_errno_text(error));
	return atomic_load(&qp->pd->context->rnic->failed) ? RI_ERR_FATAL : RI_ERR_RESOURCES;
}

enum ri_status
vib_mcast_attach(struct ri_qp *ri, const struct ri_addr *addr)
{
	struct vib_qp *qp = (struct vib_qp *)ri;
	const struct ri_rnic *rnic = qp->pd->context->rnic;
	union ibv_gid gid;
	struct group *group;
	int error;

	if (!qp->user.ud || !rnic->attr.multicast)
		return RI_ERR_UNSUPPORTED;
	if (!gid_of_group(&gid, addr))
		return RI_ERR_INVALID_ARG;
	if (group_find(qp, &gid) != NULL)
		return vib_alive(rnic);
	group = (struct group *)calloc(1, sizeof(*group));
	if (group == NULL)
		return RI_ERR_RESOURCES;
	group->gid = gid;
	group->fd = socket_new(qp, &gid);
	if (group->fd < 0) {
		error = errno;
		free(group);
		return attach_failure(qp, "the interface", error);
	}
	error = ibv_attach_mcast(qp->user.qp, &gid, 0);
	if (error != 0) {
		ri_close(group->fd);
		free(group);
		return attach_failure(qp, "the device", error);
	}
	vib_list_add(&qp->groups, &group->item);
	return RI_SUCCESS;
}

static void
group_leave(struct vib_qp *qp, struct group *group)
{
	int error = ibv_detach_mcast(qp->user.qp, &group->gid, 0);

	if (error != 0)
		vib_log_qp(qp, RI_LOG_WARNING, "ibv_detach_mcast: %s", ri_errno_text(error));
	ri_close(group->fd);
	vib_list_remove(&group->item);
	free(group);
}

enum ri_status
vib_mcast_detach(struct ri_qp *ri, const struct ri_addr *addr)
{
	struct vib_qp *qp = (struct vib_qp *)ri;
	union ibv_gid gid;
	struct group *group;

	if (!qp->user.ud || !qp->pd->context->rnic->attr.multicast)
		return RI_ERR_UNSUPPORTED;
	group = gid_of_group(&gid, addr) ? group_find(qp, &gid) : NULL;
	if (group == NULL)
		return RI_ERR_INVALID_ARG;
	group_leave(qp, group);
	return RI_SUCCESS;
}

void
vib_mcast_leave(struct vib_qp *qp)
{
	while (!vib_list_empty(&qp->groups))
		group_leave(qp, vib_of(qp->groups.next, struct group, item));
}
