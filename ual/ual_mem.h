/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Registered memory, seen from inside ual/.
 */
#ifndef UAL_MEM_H
#define UAL_MEM_H

#include "ual_ia.h"
#include "ual_key.h"

struct ual_lmr {
	struct ual_object object;

	/* Fast path. */
	struct ual_key key;    /* key.stag is its STag */
	atomic_uint addr_mode; /* it_addr_mode_t */
	bool direct;           /* all memory, by I/O address: no zone, nothing registered */

	/* Fixed at creation. */
	uint32_t mr_id; /* kAL id */
	struct ual_pz *pz;
	it_lmr_flag_t flags;
	uint32_t shared_id;
	struct ual_octets octets; /* of a region that can be linked */
	size_t iobl_room;         /* most pieces of a link; 0: it cannot be linked */
	atomic_bool listed; /* created with a list, or without memory, or linked to a list later */
	bool dmabuf;        /* its bytes are not memory of this process */
	struct ual_share *share; /* its sharing group, or NULL; ual_mem.c */

	pthread_mutex_t modify; /* one change at a time; owned across the kAL call */
	pthread_mutex_t
		lock; /* protects what links and changes of the region write, with the two above */
	unsigned char *addr;
	it_length_t length;
	it_mem_priv_t privs;
	it_iobl_type_t iobl_type; /* of its list, or 0 */
};

_Static_assert(sizeof(struct ual_lmr) <= UAL_SLOT_SIZE, "an LMR fits its slot");

/* The STag for posts and peers. */
static inline uint32_t
ual_lmr_stag(const struct ual_lmr *lmr)
{
	/* Relaxed: a key that changes meanwhile is checked when the request runs. */
	return atomic_load_explicit(&lmr->key.stag, memory_order_relaxed);
}

struct ual_lmr_wanted;

/* The checks of a registration that need no kAL call. */
it_status_t ual_lmr_check(const struct ual_ia *ia, const struct ual_lmr_wanted *wanted);
/* Rights as RI_ACCESS_* bits. */
uint32_t ual_lmr_access(const struct ual_ia *ia, it_mem_priv_t privs);
bool ual_lmr_privs_valid(it_mem_priv_t privs);
bool ual_lmr_mode_valid(const struct ual_ia *ia, it_addr_mode_t mode);

#endif /* UAL_MEM_H */
