/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Lines of the log, of the level info, with the cause of a failure and its values. Texts are made
 * only if the log will write them. The caller owns the role of the engine.
 */
#ifndef VRO_WHY_H
#define VRO_WHY_H

#include "vro_qp.h"
#include "vsw_why.h"

/* A line about a queue pair. */
__attribute__((format(printf, 2, 3))) void vro_say(const struct vro_qp *qp, const char *format,
						   ...);
/* A request of this end fails, before it is completed. `result`: of a key that it binds or invalidates. */
void vro_why_request(const struct vro_qp *qp, const struct vsw_wqe *wqe, enum ri_wc_status status,
		     enum vsw_mem_result result);
/* The peer may not access this memory: `access`, RI_ACCESS_REMOTE_*. */
void vro_why_access(const struct vro_qp *qp, const struct ri_wr_remote *remote, uint32_t length,
		    uint32_t access);
/* A Send of the peer cannot be written to the receive that it took. */
void vro_why_receive(const struct vro_qp *qp);

#endif /* VRO_WHY_H */
