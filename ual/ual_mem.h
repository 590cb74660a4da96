/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Registered memory, seen from inside ual/.
 */
#ifndef UAL_MEM_H
#define UAL_MEM_H

#include "ual_ia.h"

struct ual_lmr {
	struct ual_object object;

	uint32_t stag; /* fast path */

	uint32_t mr_id; /* kAL id */
	struct ual_pz *pz;
	unsigned char *addr;
	it_length_t length;
	it_addr_mode_t addr_mode;
	it_mem_priv_t privs;
	it_lmr_flag_t flags;
	uint32_t shared_id;
	struct ual_share *share; /* its sharing group, or NULL; ual_mem.c */
};

_Static_assert(sizeof(struct ual_lmr) <= UAL_SLOT_SIZE, "an LMR fits its slot");

#endif /* UAL_MEM_H */
