/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Multicast groups [RI 10.52] and their members, which are queue pairs for datagrams.
 *
 * A member is numbered as it joins. A sender goes through the members of a group in that order, up to
 * the last one that was there when it began, and has a use of each for its delivery only. It can stop
 * anywhere and continue with the next number; members that have left meanwhile are not found any more.
 * The lock is that of the table of queue pairs for datagrams. Between processes the first member of
 * this process makes the process known, and the last one that leaves ends that (shm/vem_remote_ud.c).
 */
#include <stdlib.h>
#include <string.h>

#include "vem_remote.h"
#include "vem_ud.h"

#define GID 16

/* A queue pair in a group. */
struct vem_member {
	struct vsw_item item;  /* in a row of the fabric */
	struct vsw_item in_qp; /* among the groups of its queue pair */
	struct vem_qp *qp;
	uint64_t number;
	uint8_t gid[GID];
};

bool
vem_gid_is_group(const uint8_t gid[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return gid[0] == 0xff || (memcmp(gid, mapped, sizeof(mapped)) == 0 && gid[12] >> 4 == 0xe);
}

static struct vsw_item *
row_of(struct vem_fabric *fabric, const uint8_t gid[GID])
{
	unsigned sum = 0;

	for (unsigned i = 0; i < GID; i++)
		sum += gid[i];
	return &fabric->groups[sum % VEM_UD_ROWS];
}

/* With the lock. */
static struct vem_member *
member_find(const struct vem_qp *qp, const uint8_t gid[GID])
{
	for (struct vsw_item *i = qp->groups.next; i != &qp->groups; i = i->next) {
		struct vem_member *member = vsw_of(i, struct vem_member, in_qp);
		if (memcmp(member->gid, gid, GID) == 0)
			return member;
	}
	return NULL;
}

uint64_t
vem_mcast_last(struct vem_fabric *fabric)
{
	vsw_lock(&fabric->ud_lock);
	uint64_t last = fabric->last_member;
	vsw_unlock(&fabric->ud_lock);
	return last;
}

struct vem_qp *
vem_mcast_next(struct vem_fabric *fabric, const uint8_t gid[16], uint64_t *after, uint64_t last)
{
	struct vsw_item *row = row_of(fabric, gid);
	struct vem_qp *found = NULL;

	vsw_lock(&fabric->ud_lock);
	for (struct vsw_item *i = row->next; i != row && found == NULL; i = i->next) {
		const struct vem_member *member = vsw_of(i, struct vem_member, item);
		if (member->number <= *after || member->number > last ||
		    memcmp(member->gid, gid, GID) != 0)
			continue;
		found = member->qp;
		*after = member->number;
		atomic_fetch_add(&found->inside, 1);
	}
	vsw_unlock(&fabric->ud_lock);
	return found;
}

/* It is in no list. */
static void
member_free(struct vem_fabric *fabric, struct vem_member *member)
{
	if (member != NULL && fabric->shm != NULL)
		vem_remote_ud_part(fabric, member->gid);
	free(member);
}

enum ri_status
vem_mcast_attach(struct ri_qp *ri, const struct ri_addr *group)
{
	struct vem_qp *qp = (struct vem_qp *)ri;
	struct vem_fabric *fabric = qp->rnic->fabric;
	struct vem_member *member;
	uint8_t gid[GID];

	if (!qp->ud)
		return RI_ERR_UNSUPPORTED;
	if (!vem_gid_of(gid, group) || !vem_gid_is_group(gid))
		return RI_ERR_INVALID_ARG;
	member = calloc(1, sizeof(*member));
	if (member == NULL)
		return RI_ERR_RESOURCES;
	if (fabric->shm != NULL && vem_remote_ud_join(fabric, gid) != RI_SUCCESS) {
		free(member);
		return RI_ERR_RESOURCES;
	}
	member->qp = qp;
	memcpy(member->gid, gid, GID);
	vsw_lock(&fabric->ud_lock);
	bool twice = member_find(qp, gid) != NULL;
	if (!twice) {
		member->number = ++fabric->last_member;
		vsw_list_add(row_of(fabric, gid), &member->item);
		vsw_list_add(&qp->groups, &member->in_qp);
	}
	vsw_unlock(&fabric->ud_lock);
	if (twice)
		member_free(fabric, member);
	return RI_SUCCESS;
}

/* With the lock. */
static void
member_remove(struct vem_member *member)
{
	vsw_list_remove(&member->item);
	vsw_list_remove(&member->in_qp);
}

enum ri_status
vem_mcast_detach(struct ri_qp *ri, const struct ri_addr *group)
{
	struct vem_qp *qp = (struct vem_qp *)ri;
	struct vem_fabric *fabric = qp->rnic->fabric;
	struct vem_member *member = NULL;
	uint8_t gid[GID];

	if (!qp->ud)
		return RI_ERR_UNSUPPORTED;
	if (!vem_gid_of(gid, group))
		return RI_ERR_INVALID_ARG;
	vsw_lock(&fabric->ud_lock);
	member = member_find(qp, gid);
	if (member != NULL)
		member_remove(member);
	vsw_unlock(&fabric->ud_lock);
	bool found = member != NULL;
	member_free(fabric, member);
	return found ? RI_SUCCESS : RI_ERR_INVALID_ARG;
}

void
vem_mcast_leave(struct vem_qp *qp)
{
	struct vem_fabric *fabric = qp->rnic->fabric;
	struct vem_member *member = NULL;

	do {
		member_free(fabric, member);
		member = NULL;
		vsw_lock(&fabric->ud_lock);
		if (!vsw_list_empty(&qp->groups)) {
			member = vsw_of(qp->groups.next, struct vem_member, in_qp);
			member_remove(member);
		}
		vsw_unlock(&fabric->ud_lock);
	} while (member != NULL);
}
