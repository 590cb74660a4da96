/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Atomics, both directions; viw_atomic.c. */
#ifndef VIW_ATOMIC_H
#define VIW_ATOMIC_H

#include "rdmap_check.h"
#include "rnicpi_fast.h"

struct viw_qp;
struct rdmap_atomic_request;
struct vsw_wqe;

/* tx: may this request run? Its result must be writable. */
enum ri_wc_status viw_atomic_check(struct viw_qp *qp, const struct vsw_wqe *wqe);
/* tx: build the request in tx.wqe; false: no room. */
bool viw_atomic_build(struct viw_qp *qp, uint32_t *number);
/* tx: execute the peer's request and build the answer; false: no room, or it cannot be executed. */
bool viw_atomic_respond(struct viw_qp *qp, const struct rdmap_atomic_request *request,
			enum rdmap_fault *fault);
/* rx: check the Atomic Request, or the answer, in rx.seg. */
enum rdmap_fault viw_atomic_request_check(struct viw_qp *qp);
enum rdmap_fault viw_atomic_response_check(struct viw_qp *qp);
/* rx: an answer has arrived: store the old value in the result segment. */
void viw_atomic_finish(struct viw_qp *qp);

#endif /* VIW_ATOMIC_H */
