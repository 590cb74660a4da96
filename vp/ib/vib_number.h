/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Connection management for a number in place of a queue pair; vib_number.c. */
#ifndef VIB_NUMBER_H
#define VIB_NUMBER_H

#include "vib.h"

#define VIB_NUMBER_MAX 0xffffffu /* queue pair numbers and packet numbers have 24 bits */

/* ri_qp_ops::create of RI_QP_NUMBER. */
enum ri_status vib_number_create(struct ri_pd *pd, struct ri_qp_init *init, struct ri_qp **out,
				 struct ri_map *map) RI_MUST_CHECK;
/* Destroy it in whatever state. */
void vib_number_destroy(struct vib_qp *qp);

#endif /* VIB_NUMBER_H */
