/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Lines of the log, of the level info, with the cause of a failure and its values. The caller owns the role `tx` of the
 * queue pair whose request fails.
 */
#ifndef VEM_WHY_H
#define VEM_WHY_H

#include "vem.h"
#include "vsw_why.h"

/* A line about a queue pair. */
__attribute__((format(printf, 2, 3))) void vem_say(const struct vem_qp *qp, const char *format,
						   ...);
/* A Send of the peer finds no receive and waits `wait` ns, or RI_NEVER. One line for a connection, since it may happen with every message. */
void vem_say_waits(const struct vem_qp *qp, bool *told, uint64_t wait);
/* The request in tx_wqe fails here; `result` is that of a key that it binds or invalidates. */
void vem_why_here(const struct vem_qp *qp, enum ri_wc_status status, enum vsw_mem_result result);
/* The request in tx_wqe is refused by the peer: a line about each of the two. */
void vem_why_there(const struct vem_qp *qp, const struct vem_qp *peer,
		   const struct vsw_refusal *refusal);

#endif /* VEM_WHY_H */
