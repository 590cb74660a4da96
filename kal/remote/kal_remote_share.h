/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Addresses that this process shares, with what the daemon gave for them; the caller serializes. Nothing here sleeps. */
#ifndef KAL_REMOTE_SHARE_H
#define KAL_REMOTE_SHARE_H

#include "kal_fds.h"
#include "kald_wire.h"
#include "rnicpi_host.h"

/*
 * The message that a service has ended. kald keeps its services in memory that the next kald reads.
 * So the client keeps this message, and sends it to each new kald, until an answer to a later
 * request shows that kald has read it.
 */
struct kal_service_over {
	uint32_t service;
	bool told;      /* the message was sent to this kald ... */
	uint32_t after; /* ... behind the request with this id */
};

struct kal_sharing {
	struct kal_sharing *next;
	const struct ri_share *share;
	struct kald_addr at;
	uint32_t slot;
	bool claimed;                      /* the daemon knows it */
	struct kal_fd fds[KALD_SHARE_FDS]; /* for the next daemon */
	struct kal_service_over *over;
	uint32_t num_over, room_over;
};

/*
 * The daemon granted the slot: keep all descriptors, and give the caller its own. False: there is
 * no memory, or descriptors are missing; all are closed then.
 */
bool kal_sharing_begin(struct kal_sharing **list, struct ri_share *share,
		       const struct kald_addr *at, uint32_t slot,
		       struct kal_fd got[KALD_SHARE_FDS]);
/* Where it is in the list, or the end of it. */
struct kal_sharing **kal_sharing_find(struct kal_sharing **list, const struct ri_share *share);
/* Remove it, and close its descriptors. */
void kal_sharing_free(struct kal_sharing **link);
/* A daemon that was started anew knows nothing. */
void kal_sharing_again(struct kal_sharing *one);
/* A service is over. Without memory for it the daemon ends it with the address. */
void kal_sharing_service_over(struct kal_sharing *one, uint32_t service);
/* Tell the daemon of the address and of services that are over, where it does not know; `message` is overwritten. False: not now. */
bool kal_sharing_claim(struct kal_sharing *one, const struct kal_fd *fd,
		       struct kald_message *message, uint32_t *last_id);
/* The daemon has answered a request, so it has read everything that was sent before. */
void kal_sharing_answered(struct kal_sharing *one, uint32_t id);

#endif /* KAL_REMOTE_SHARE_H */
