/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* [fast path] Binds; vib_bind.c. */
#ifndef VIB_BIND_H
#define VIB_BIND_H

#include "vib.h"

/* Find window and region, and keep both for the post. False: they are not there, or may not be bound so. */
bool vib_bind_fill(struct ri_uqp *qp, const struct ri_wr *wr, struct vib_wr *out);
/* Is it of a wide window? Then it has got an STag, which counts unless the device's library chooses one. */
bool vib_bind_is_wide(const struct ri_uqp *qp, const struct ri_wr *wr);
/* Give the device what is kept; false: posts do not reach it any more. */
bool vib_bind_opens(struct ri_uqp *qp);
/* Post the bind of a wide window, whose slot is filled. Returns 0 or an errno. */
int vib_bind_wide(struct ri_uqp *qp, const struct ri_wr *wr, const struct vib_wr *made);

#endif /* VIB_BIND_H */
