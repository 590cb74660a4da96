/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Addresses that this process shares, with what the daemon gave for them; the caller serializes. Nothing here sleeps. */
#ifndef KAL_REMOTE_SHARE_H
#define KAL_REMOTE_SHARE_H

#include "kal_fds.h"
#include "kald_wire.h"
#include "rnicpi_host.h"

#define KAL_SERVICES_OVER 64

struct kal_sharing {
	struct kal_sharing *next;
	const struct ri_share *share;
	struct kald_addr at;
	uint32_t slot;
	bool claimed;                      /* the daemon knows it */
	struct kal_fd fds[KALD_SHARE_FDS]; /* for the next daemon */
	uint32_t over[KAL_SERVICES_OVER];  /* services that ended while the daemon was away */
	uint32_t num_over;
};

/*
 * The slot was given: keep all descriptors, and give the caller its own. False: no memory, or not all have come; they are closed.
 */
bool kal_sharing_begin(struct kal_sharing **list, struct ri_share *share,
		       const struct kald_addr *at, uint32_t slot,
		       struct kal_fd got[KALD_SHARE_FDS]);
/* Where it is in the list, or the end of it. */
struct kal_sharing **kal_sharing_find(struct kal_sharing **list, const struct ri_share *share);
/* Remove it, and close its descriptors. */
void kal_sharing_free(struct kal_sharing **link);
/*
 * Tell a daemon that was started anew, if it does not know of it, and of services that are over; `message` is overwritten. False: not
 * now.
 */
bool kal_sharing_claim(struct kal_sharing *one, const struct kal_fd *fd,
		       struct kald_message *message, uint32_t *last_id);
/* Tell it that a service is over. False: not now. */
bool kal_sharing_service_over(const struct kal_sharing *one, const struct kal_fd *fd,
			      struct kald_message *message, uint32_t service);

#endif /* KAL_REMOTE_SHARE_H */
