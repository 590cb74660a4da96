/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "kal_near.h"
#include "ri_near.h"

void
kal_near_try(struct kal_near *near, const char *name)
{
	unsigned found;

	if (!ri_near(near->word, name, &found) || (near->best != NULL && found >= near->distance))
		return;
	near->best = name;
	near->distance = found;
}
