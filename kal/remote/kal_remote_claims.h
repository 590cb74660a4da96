/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Reports to a daemon that was started anew what this process has: adapters, listening sockets,
 * shared addresses. The socket to the daemon may be full for a moment, or the kernel may take no
 * more descriptors of this user. So each object records whether it was reported, and the rest is
 * sent later. The caller owns the lock of the connection.
 */
#ifndef KAL_REMOTE_CLAIMS_H
#define KAL_REMOTE_CLAIMS_H

#include "kal_remote_share.h"

#define KAL_NAMES_MAX 64 /* adapters that are claimed */

/* A socket that listens. */
struct kal_listening {
	struct kal_listening *next;
	struct kald_addr at;
	bool claimed;
};

/* A message that says that something has ended, while the socket takes nothing. */
struct kal_ending {
	struct kal_ending *next;
	size_t length;
	uint8_t octets[]; /* of a struct kald_message */
};

struct kal_claims {
	char names[KAL_NAMES_MAX][KALD_NAME]; /* open adapters; "" is a free place */
	bool claimed[KAL_NAMES_MAX];
	struct kal_listening *listening;
	struct kal_sharing *sharings;
	struct kal_ending *endings; /* oldest first */
};

/* The daemon knows nothing, nor of what has ended. */
void kal_claims_again(struct kal_claims *claims);
/* The daemon has answered a request, so it has read everything that was posted before. */
void kal_claims_answered(struct kal_claims *claims, uint32_t id);
/* Post what is not claimed; `message` is overwritten. False: not all of it could be posted now. */
bool kal_claims_post(struct kal_claims *claims, const struct kal_fd *fd,
		     struct kald_message *message, uint32_t *last_id);
/* Post that message before what is asked or claimed later; an ending of nothing does no harm. False: no memory. */
bool kal_claims_end(struct kal_claims *claims, const struct kald_message *message);
/* An adapter was opened, or closed. */
void kal_claims_name(struct kal_claims *claims, const char *adapter, bool open);
/* Without memory for it the daemon does not know of it after a restart. */
void kal_claims_listen(struct kal_claims *claims, const struct kald_addr *at);
void kal_claims_listen_over(struct kal_claims *claims, const struct kald_addr *at);
void kal_claims_free(struct kal_claims *claims);

#endif /* KAL_REMOTE_CLAIMS_H */
