/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The sockets of an address that processes of one user share: a group with SO_REUSEPORT, one socket for each slot. Each member has
 * duplicates of all, and of the memory of the table, so that the group does not need kald to live.
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
	uint64_t cookies[KALD_SLOTS]; /* of the sockets: the kernel gives none twice */
	struct kald_session *members[KALD_SLOTS];
	uint64_t kept;  /* slots of members of an earlier kald that have not come back */
	unsigned timer; /* until then */
	struct kald_steer steer;
};

/* Open one. NULL: *error is an errno; EADDRINUSE: somebody has the port, or what is left of another group. */
struct kald_group *kald_group_new(const struct kald_addr *at, uint32_t uid, int *error);
/*
 * Go on with one that an earlier kald has opened, by its descriptors. NULL: *why says what is wrong with them. With success they are
 * taken over.
 */
struct kald_group *kald_group_claim(const struct kald_addr *at, uint32_t uid, struct kald_fds *got,
				    const char **why);
/* Are these its descriptors? */
bool kald_group_is(const struct kald_group *group, const struct kald_fds *got, const char **why);
struct kald_group *kald_group_ref(struct kald_group *group);
/* The last one closes its descriptors. */
void kald_group_unref(struct kald_group *group);
/* Have the kernel steer by the table, and members keep it. 0, or an errno: nothing has changed. */
int kald_group_steer(struct kald_group *group, const struct kald_steer *steer);
/* Nobody reads this slot: what has come is dropped, and little is kept of what comes. */
void kald_group_drain(const struct kald_group *group, uint32_t slot);

/* Is it a UDP socket of kald's own network namespace? */
bool kald_fd_is_here(int fd);
/* May a client send descriptors? Not while too many are being closed. */
bool kald_fd_may_come(void);
/* Close a descriptor of somebody else, without waiting for what it refers to. */
void kald_fd_discard(int fd);

#endif /* KALD_GROUP_H */
