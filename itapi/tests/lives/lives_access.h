/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * One access to memory of the near side, over a connection of its own. Exactly one completion
 * reports whether it was allowed, so a caller can wait for the outcome without knowing it in
 * advance.
 */
#ifndef LIVES_ACCESS_H
#define LIVES_ACCESS_H

#include "lives.h"

enum access_op {
	ACCESS_SEND = 0, /* from the region */
	ACCESS_RECEIVE,  /* into it, as in the next but one and its next */
	ACCESS_WRITE,    /* from it */
	ACCESS_READ,
	ACCESS_ATOMIC,     /* the word that was there comes into it */
	ACCESS_PEER_WRITE, /* by its context, as the next two */
	ACCESS_PEER_READ,
	ACCESS_PEER_ATOMIC,
	ACCESS_OPS
};

#define ACCESS_LOCAL_OPS ACCESS_PEER_WRITE

extern const char *const access_names[ACCESS_OPS];

/* A connection. `near` has the attributes that were asked for, the helper every right. */
struct bond {
	struct world *world;
	it_ep_handle_t near, far;
	bool over;
};

/* Connect new endpoints; that of the near side is in the zone and may have a shared receive queue. */
void bond_open(struct bond *bond, struct world *world, it_pz_handle_t pz,
	       const it_ep_attributes_t *attr);
/* Disconnect if connected, take all events, and free both endpoints. */
void bond_close(struct bond *bond);
/* The near endpoint only, after it was connected: both end, and the far one is freed. */
void bond_end(struct bond *bond);
/* As bond_open, with a near endpoint that exists and is not connected. */
void bond_join(struct bond *bond, struct world *world, it_ep_handle_t near);

/* Memory: by the handle for local operations, by the context for those of the peer. */
struct place {
	it_lmr_handle_t lmr;
	it_rmr_context_t context;
	uint64_t addr; /* of the first octet, as its addressing mode says */
	size_t length; /* of the access; a multiple of 8 for atomics */
};

/*
 * Make the access. Returns the status of its completion, if it is an operation of the near side.
 * For an operation of the peer, returns the status of a receive after it: IT_DTO_ERR_FLUSHED if it
 * was refused. After a failure the connection has ended, and its events were taken.
 */
it_dto_status_t access_try(struct bond *bond, enum access_op op, const struct place *place);
/* A message of the peer that unlinks the region of that context; status of the receive that it fills. */
it_dto_status_t access_unlink(struct bond *bond, it_rmr_context_t context);

#endif /* LIVES_ACCESS_H */
