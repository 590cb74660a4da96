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

#endif /* VIB_MW_H */
