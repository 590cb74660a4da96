/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Address handles, seen from inside ual/. What itapi/ calls is in ual.h. */
#ifndef UAL_AH_H
#define UAL_AH_H

#include <pthread.h>

#include "ual_ia.h"

struct ual_ah {
	struct ual_object object;
	struct ual_pz *pz; /* fixed, as the next three */
	uint32_t wire;     /* its number in posts */
	uint32_t kal_id;
	it_ah_flags_t flags; /* as created: whether a path is completed */

	pthread_mutex_t control; /* control lock: modify */
	pthread_mutex_t lock;    /* of the path */
	it_path_t path;
};

_Static_assert(sizeof(struct ual_ah) <= UAL_SLOT_SIZE, "an address handle fits its slot");

#endif /* UAL_AH_H */
