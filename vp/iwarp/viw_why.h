/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Lines of the log, of the level info, with the cause of a failure and its values: key, address,
 * length, bounds, rights. After them viw_end_log.c logs how the stream ends. The caller owns the
 * vsw_role (vsw_lock.h) of the direction that each comment names: rx, for received frames, or tx,
 * for requests and answers.
 */
#ifndef VIW_WHY_H
#define VIW_WHY_H

#include "viw_qp.h"
#include "vsw_why.h"

/* A line about the queue pair. */
__attribute__((format(printf, 2, 3))) void viw_say(const struct viw_qp *qp, const char *format,
						   ...);
/* What the peer has sent that takes a receive: the message in `rx`; rx. */
const char *viw_why_taker(const struct viw_qp *qp);
/* The frame in `rx` is refused; rx. */
void viw_why_frame(struct viw_qp *qp, enum rdmap_fault fault);
/* A request of the peer that was accepted cannot be answered any more; tx. */
void viw_why_answer(struct viw_qp *qp, const struct vsw_mem_access *wanted);
/* The request in tx.wqe fails; tx. */
void viw_why_request(struct viw_qp *qp, enum ri_wc_status status, enum vsw_mem_result result);
/* Are lines of the level info wanted? */
static inline bool
viw_why_wanted(const struct viw_qp *qp)
{
	return qp->rnic->host->log_level >= RI_LOG_INFO;
}

#endif /* VIW_WHY_H */
