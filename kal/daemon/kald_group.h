/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The sockets of an address that processes of one user share: a group with SO_REUSEPORT, one socket for each slot. Each member has
 * duplicates of all sockets and of the memory of the table, so the group works without kald. A member may keep the lock of a socket
 * locked. So kald calls nothing that takes the lock of a member's socket: it sets the steering program on a socket of its own, and
 * receives packets by recv() alone.
 */
#ifndef KALD_GROUP_H
#define KALD_GROUP_H

#include "kald_steer.h"

struct kald_session;
struct kald_fds;

struct kald_group {
	unsigned refs;
	struct kald_addr at;
	uint32_t uid;
	int fds[KALD_SHARE_FDS];
	int control; /* a socket behind them all, which kald alone has: no system call of a member keeps its lock */
	struct kald_memory *memory;   /* of the table, mapped */
	uint64_t cookies[KALD_SLOTS]; /* of the sockets: the kernel gives none twice */
	struct kald_session *members[KALD_SLOTS];
	uint64_t kept;  /* slots of members of an earlier kald that have not come back */
	unsigned timer; /* until then */
	struct kald_steer steer;
};

/* Open one. NULL: *error is an errno; EADDRINUSE: somebody has the port, or what is left of another group. */
struct kald_group *kald_group_new(const struct kald_addr *at, uint32_t uid, int *error);
/* The address with its unused members 0, so that equal addresses are equal octet by octet. */
struct kald_addr kald_share_address(const struct kald_share *said);
/* Look at what came with a request: kald_fds::here, or claimed and why. May wait for the client, so it is called apart from the main loop. */
void kald_group_examine(struct kald_fds *got, const struct kald_share *said);
/*
 * Continue a group that an earlier kald has opened. `got` has duplicates of its descriptors, which
 * were examined; NULL if none came. Returns NULL if they cannot be used, and then *why says why.
 */
struct kald_group *kald_group_claim(const struct kald_fds *got, uint32_t uid, const char **why);
/* Are these its descriptors? */
bool kald_group_is(const struct kald_group *group, const struct kald_fds *got, const char **why);
struct kald_group *kald_group_ref(struct kald_group *group);
/* The last one closes its descriptors. */
void kald_group_unref(struct kald_group *group);
/* Have the kernel steer by the table, and members keep it. Returns 0 or an errno: nothing has changed. */
int kald_group_steer(struct kald_group *group, const struct kald_steer *steer);
/*
 * The same where the table has less: a slot or a service that is given up. That holds even if the
 * kernel keeps its program. Then packets still go to a slot that nobody reads, until the next change.
 */
void kald_group_unsteer(struct kald_group *group, const struct kald_steer *steer);
/* Drop the packets that have come to a slot that no process reads. */
void kald_group_drain(const struct kald_group *group, uint32_t slot);

#endif /* KALD_GROUP_H */
