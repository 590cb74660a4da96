/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Which request the peer's Terminate is about; viw_refused.c. */
#ifndef VIW_REFUSED_H
#define VIW_REFUSED_H

#include "rnicpi_fast.h"

struct viw_qp;

/*
 * The stream is closed, and its queues are about to be flushed. If the peer's Terminate names a request that is not
 * done, that request gets the status of its refusal. Returns the status of the request in tx.wqe: that, or
 * RI_WC_FLUSHED. Owner of tx.role.
 */
enum ri_wc_status viw_refused_mark(struct viw_qp *qp);

#endif /* VIW_REFUSED_H */
