/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The ibv_wr_* calls of an extended queue pair: requests are built one by one, and posted together. */
#ifndef DOOR_WR_H
#define DOOR_WR_H

#include "door_qp.h"

/*
 * Give a new queue pair the calls for these operations, IBV_QP_EX_WITH_* bits. EOPNOTSUPP: its type or the adapter lacks one;
 * ENOMEM.
 */
int door_wr_init(struct door_qp *qp, uint64_t operations);
void door_wr_fini(struct door_qp *qp);
/* In the child of a fork: every list fails with EIO. */
void door_wr_inherited(struct door_qp *qp);

#endif /* DOOR_WR_H */
