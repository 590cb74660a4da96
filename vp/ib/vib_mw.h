/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The control verbs of windows; vib_mw.c. */
#ifndef VIB_MW_H
#define VIB_MW_H

#include "vib.h"

enum ri_status vib_mw_alloc(struct ri_pd *pd, enum ri_mw_type type, struct ri_mw **out,
			    uint32_t *stag);
enum ri_status vib_mw_query(struct ri_mw *mw, struct ri_mr_attr *attr);
enum ri_status vib_mw_free(struct ri_mw *mw);

/* Does the device have wide windows? */
bool vib_mw_wide_works(struct ibv_context *verbs);
/* Free what a protection domain has for its wide windows; none is left. */
void vib_mw_pd_end(struct ri_pd *pd);
/* [fast path] The STag of a bind of this wide window that never reaches the device. */
uint32_t vib_mw_next(struct ri_mw *mw);
/* [fast path] The device has a bind of this wide window, which had that STag. The caller owns its lock. */
void vib_mw_bound(struct ri_mw *mw, uint32_t before, const struct ibv_mw_bind_info *info);

#endif /* VIB_MW_H */
