/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Address handles; vib_ah.c. */
#ifndef VIB_AH_H
#define VIB_AH_H

#include "vib.h"

struct ri_ah {
	struct vib_item item; /* of its context */
	struct ri_pd *pd;
	_Atomic(struct ibv_ah *) ah; /* a modification puts another one there */
	struct vib_key *key;
};

extern const struct ri_ah_ops vib_ah_ops;

/* [fast path] The device's own, for the use that the caller has of the row. */
static inline struct ibv_ah *
vib_ah_of(const struct vib_key *key)
{
	return atomic_load(&((struct ri_ah *)key->object)->ah);
}

/* Destroy those that no posted datagram names any more, and all of this domain, whose queue pairs are gone; NULL: of none. */
void vib_ah_sweep(struct ri_context *context, const struct ibv_pd *pd);

#endif /* VIB_AH_H */
