/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Multicast groups are the kernel's. For each group to which a queue pair of the station is
 * attached there is a socket, bound to the group's address. Processes share that address; the
 * kernel gives each socket a copy of a packet. These sockets only receive: packets to a group are
 * sent by the socket of the sender's address.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "ri_calls.h"
#include "vro_address.h"
#include "vro_tap.h"
#include "vro_verbs.h"

#define GROUPS_MAX 256u /* of a station: each has a socket and room for a batch of packets */

struct vro_group {
	struct vro_group *next;
	struct vro_udp udp;
	struct vro_verbs_qp **members;
	uint32_t count;
	uint32_t room;
};

/* Where the group is in the list, or the end of it. */
static struct vro_group **
group_find(struct vro_station *station, const uint8_t gid[16])
{
	struct vro_group **at = &station->groups;

	while (*at != NULL && memcmp((*at)->udp.gid, gid, sizeof((*at)->udp.gid)) != 0)
		at = &(*at)->next;
	return at;
}

static void
group_close(struct vro_group **at)
{
	struct vro_group *group = *at;

	*at = group->next;
	vro_udp_close(&group->udp);
	free(group->members);
	free(group);
}

/* A new one at the end of the list; false: no memory, no descriptor, or the kernel joins no more groups. */
static bool
group_open(struct vro_station *station, struct vro_group **at, const uint8_t gid[16])
{
	struct epoll_event event = {.events = EPOLLIN};
	struct vro_group *group;
	uint32_t count = 0;

	for (group = station->groups; group != NULL; group = group->next)
		count++;
	group = count < GROUPS_MAX ? calloc(1, sizeof(*group)) : NULL;
	if (group == NULL)
		return false;
	if (vro_udp_open_group(&group->udp, gid, station->port.index) != RI_SUCCESS) {
		free(group);
		return false;
	}
	group->udp.denied = vro_station_denied;
	group->udp.owner = station;
	vro_tap_open(station, &group->udp);
	*at = group;
	if (epoll_ctl(station->epfd, EPOLL_CTL_ADD, group->udp.fd, &event) == 0)
		return true;
	group_close(at);
	return false;
}

/* The place of a member, or `count`. */
static uint32_t
member_find(const struct vro_group *group, const struct vro_verbs_qp *qp)
{
	uint32_t i = 0;

	while (i < group->count && group->members[i] != qp)
		i++;
	return i;
}

static bool
member_add(struct vro_group *group, struct vro_verbs_qp *qp)
{
	uint32_t room = group->room != 0 ? 2 * group->room : 4;

	if (group->count == group->room) {
		struct vro_verbs_qp **more =
			realloc(group->members, room * sizeof(group->members[0]));

		if (more == NULL)
			return false;
		group->members = more;
		group->room = room;
	}
	group->members[group->count++] = qp;
	return true;
}

/* False: it is not attached. */
static bool
member_remove(struct vro_group **at, const struct vro_verbs_qp *qp)
{
	struct vro_group *group = *at;
	uint32_t i = member_find(group, qp);

	if (i == group->count)
		return false;
	group->members[i] = group->members[--group->count];
	if (group->count == 0)
		group_close(at);
	return true;
}

static enum ri_status
group_gid(const struct vro_verbs_qp *qp, const struct ri_addr *addr, uint8_t gid[16])
{
	if (qp->qp.transport != ROCE_UD)
		return RI_ERR_UNSUPPORTED;
	if (addr->family == RI_ADDR_NONE)
		return RI_ERR_INVALID_ARG;
	vro_gid_of_addr(gid, addr);
	return vro_gid_is_group(gid) ? RI_SUCCESS : RI_ERR_INVALID_ARG;
}

enum ri_status
vro_mcast_attach(struct ri_qp *ri, const struct ri_addr *addr)
{
	struct vro_verbs_qp *qp = (struct vro_verbs_qp *)ri;
	struct vro_station *station = qp->rnic->station;
	uint8_t gid[16];
	enum ri_status status = group_gid(qp, addr, gid);
	struct vro_group **at;

	if (status != RI_SUCCESS)
		return status;
	vro_station_enter(station);
	at = group_find(station, gid);
	if (*at == NULL && !group_open(station, at, gid))
		status = RI_ERR_RESOURCES;
	if (status == RI_SUCCESS && member_find(*at, qp) == (*at)->count && !member_add(*at, qp)) {
		status = RI_ERR_RESOURCES;
		if ((*at)->count == 0)
			group_close(at);
	}
	vro_station_leave(station);
	return status;
}

enum ri_status
vro_mcast_detach(struct ri_qp *ri, const struct ri_addr *addr)
{
	struct vro_verbs_qp *qp = (struct vro_verbs_qp *)ri;
	struct vro_station *station = qp->rnic->station;
	uint8_t gid[16];
	enum ri_status status = group_gid(qp, addr, gid);
	struct vro_group **at;

	if (status != RI_SUCCESS)
		return status;
	vro_station_enter(station);
	at = group_find(station, gid);
	if (*at == NULL || !member_remove(at, qp))
		status = RI_ERR_INVALID_ARG;
	vro_station_leave(station);
	return status;
}

void
vro_groups_leave(struct vro_verbs_qp *qp)
{
	struct vro_group **at = &qp->rnic->station->groups;

	while (*at != NULL) {
		const struct vro_group *group = *at;

		(void)member_remove(at, qp);
		if (*at == group)
			at = &(*at)->next;
	}
}

struct vro_qp *
vro_group_member(struct vro_engine *engine, const uint8_t gid[16], uint32_t i)
{
	struct vro_station *station = (struct vro_station *)(void *)engine;
	const struct vro_group *group = *group_find(station, gid);

	return group != NULL && i < group->count ? &group->members[i]->qp : NULL;
}

uint32_t
vro_groups_receive(struct vro_station *station)
{
	uint32_t count = 0;

	for (struct vro_group *group = station->groups; group != NULL; group = group->next)
		count += group->udp.receive(&group->udp, &station->engine);
	return count;
}

void
vro_groups_forget(const struct vro_station *station)
{
	for (const struct vro_group *group = station->groups; group != NULL; group = group->next)
		ri_close(group->udp.fd);
}
