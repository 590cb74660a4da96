/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The life of a connection, between an endpoint of the near side and a helper of the far side. Each step writes what both ends observe,
 * and leaves no request and no event outstanding.
 */
#ifndef LIVES_LINK_H
#define LIVES_LINK_H

#include "lives.h"

struct link {
	struct world *world;
	it_ep_handle_t near, far;
	bool over;               /* the connection has ended, and both ends have said so */
	unsigned receives;       /* receives that wait at the near end */
	it_dto_cookie_t cookies; /* the last that was used */
	uint32_t ord; /* of the near endpoint, as created or modified: a reset restores it */
};

/* Parts of the buffer of each side, of PART octets. */
#define PART   (END_BUFFER / 4)
#define SOURCE 0          /* what is sent and written from, and read by the peer */
#define INBOX  PART       /* receives */
#define TARGET (2 * PART) /* what the peer writes to */
#define SINK   (3 * PART) /* of Reads */

uint32_t link_ord(it_ep_handle_t near);
/* Fill SOURCE of both sides from the seed, and clear the rest. */
void link_buffers(struct world *world);
/* Connect `near`, unconnected, with a new helper; either may be the active side. The attributes of both are drawn or the helper's. */
void link_open(struct link *link, struct world *world, it_ep_handle_t near);
/* As link_open, up to the request, which `id` then is. */
bool link_request(struct link *link, bool near_is_active, it_cn_est_identifier_t *id);
/* One step, drawn. */
void link_step(struct link *link);
/* End the connection in a drawn way if it has not ended, post to the ended endpoint, and take all completions. Frees the helper. */
void link_close(struct link *link);
/* End it in the way of that number, below LINK_ENDS. */
#define LINK_ENDS 6u
void link_end(struct link *link, unsigned how);
/* Take the events of both ends after the connection has broken or was closed. */
void link_ended(struct link *link);

/* A message of the near end, or to it, of `length` octets in as many segments as `segments`. */
void link_send(struct link *link, unsigned segments, size_t length);
void link_receive(struct link *link, unsigned segments, size_t length);
/* A Send of the near end for which the far end has posted no receive yet. */
void link_send_early(struct link *link);
/* An attempt that fails, of a drawn sort; leaves the endpoint as one that can be reset. */
#define LINK_FAILURES 9u
void link_fail(struct world *world, it_ep_handle_t near, unsigned how);

#endif /* LIVES_LINK_H */
