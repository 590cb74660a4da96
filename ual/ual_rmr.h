/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Windows, seen from inside ual/.
 */
#ifndef UAL_RMR_H
#define UAL_RMR_H

#include "ual_ia.h"
#include "ual_key.h"

/* The last link that was requested. */
struct ual_rmr_link {
	bool linked; /* by the requests so far */
	it_lmr_handle_t lmr;
	it_ep_handle_t ep; /* through which it was posted; compared only */
	void *addr;
	it_length_t length;
	it_mem_priv_t privs;
	it_addr_mode_t addr_mode;
};

struct ual_rmr {
	struct ual_object object;
	struct ual_key key; /* key.stag: of the last link posted, or as made */
	struct ual_pz *pz;
	it_rmr_type_t type; /* narrow or wide */

	pthread_mutex_t lock;     /* protects what follows; owned for a few instructions */
	uint32_t mw_id;           /* kAL id */
	struct ual_octets octets; /* fixed at creation */
	struct ual_rmr_link link;
};

_Static_assert(sizeof(struct ual_rmr) <= UAL_SLOT_SIZE, "an RMR fits its slot");

struct ual_ep;

/*
 * The endpoint is about to be reset, which unlinks its narrow windows: allocate windows that replace them. Then
 * replace them, which cannot fail, or drop the new ones. NULL: there are none.
 */
struct ual_rmr_renewal;
it_status_t ual_rmr_renewal_make(struct ual_ep *ep, struct ual_rmr_renewal **out);
void ual_rmr_renewal_end(struct ual_rmr_renewal *renewal, bool replace);

/* A narrow window is linked through the endpoint, which therefore cannot be freed. */
bool ual_rmr_blocks(struct ual_ep *ep);

#endif /* UAL_RMR_H */
