/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Checks and steps that entry points share. */
#ifndef IT_CHECK_H
#define IT_CHECK_H

#include <stdbool.h>

#include "it_api.h"

struct ual_lmr_wanted;

/* A query mask: a union of the object's bits, or the ALL bit alone [IT 1.9]. */
static inline bool
query_mask_valid(unsigned int mask, unsigned int all, unsigned int bits)
{
	return mask == all || (mask & ~bits) == 0;
}

/* Memory that must be there if there is a length. */
static inline bool
pointer_missing(const void *pointer, size_t length)
{
	return pointer == NULL && length > 0;
}

/* it_mem.c: the entry points that register memory. */
it_status_t it_lmr_make(it_pz_handle_t pz_handle, const struct ual_lmr_wanted *wanted,
			it_lmr_handle_t *lmr_handle, it_rmr_context_t *rmr_context);

#endif /* IT_CHECK_H */
