/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Properties that no attribute of a device has, found out with objects that are made for it; vib_probe.c. */
#ifndef VIB_PROBE_H
#define VIB_PROBE_H

#include "vib.h"

/* Fill in that part of rnic->attr; what cannot be tried, for want of memory for example, is not claimed. */
void vib_probe(struct ri_rnic *rnic);

#endif /* VIB_PROBE_H */
