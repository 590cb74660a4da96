/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Finds the known name that a misspelt one probably means. */
#ifndef KAL_NEAR_H
#define KAL_NEAR_H

#include <stddef.h>

struct kal_near {
	const char *word;  /* what was written */
	const char *best;  /* the nearest name so far; NULL: none is near */
	unsigned distance; /* of that */
};

/* Look at one name. It must live as long as `near`. */
void kal_near_try(struct kal_near *near, const char *name);

#endif /* KAL_NEAR_H */
