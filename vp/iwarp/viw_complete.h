/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Completions of both queues; viw_complete.c. */
#ifndef VIW_COMPLETE_H
#define VIW_COMPLETE_H

#include "rnicpi_fast.h"

struct viw_qp;
struct viw_sent;

/* Record that the request in tx.wqe was started in full, or failed with `status`. Owner of tx.role. */
void viw_sq_started(struct viw_qp *qp, uint32_t read_seq, enum ri_wc_status status);
/* Is a started request done: sent, or its answer has arrived? Owner of tx.role. */
bool viw_sent_is_done(const struct viw_qp *qp, const struct viw_sent *s);
/* Complete the requests that are done, in order. Owner of tx.role. */
void viw_sq_complete(struct viw_qp *qp);
/* The same, and complete all others as flushed. Owner of tx.role. */
void viw_sq_flush(struct viw_qp *qp);
/* Complete all receives as flushed. Owner of rx.role. */
void viw_rq_flush(struct viw_qp *qp);
/* Complete the receive in rx.wqe. Owner of rx.role. */
void viw_rq_complete(struct viw_qp *qp, enum ri_wc_status status, uint32_t length);
/* Complete it because of immediate data behind a Write of `written` octets. Owner of rx.role. */
void viw_rq_complete_immediate(struct viw_qp *qp, uint32_t imm, uint32_t written);

#endif /* VIW_COMPLETE_H */
