/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Receives, of the queue pair's own queue or of an SRQ; viw_srq.c. */
#ifndef VIW_RECEIVE_H
#define VIW_RECEIVE_H

#include <stdbool.h>

struct viw_qp;

/* Take a receive into rx.wqe. False: none is posted yet (*wait), or none may be taken; then rx.refused says why. Owner of rx.role. */
bool viw_receive_take(struct viw_qp *qp, bool *wait);
/* A Send waits: is there a receive, or a reason to wait no longer? Owner of rx.role. */
bool viw_receive_ready(struct viw_qp *qp);
/* The stream ends: the queue pair waits for no receive any more. Owner of rx.role. */
void viw_receive_leave(struct viw_qp *qp);
/* Are more receives in progress than the watermarks allow? Raises the event, or ends the stream. */
void viw_receive_limits(struct viw_qp *qp);
/* Doorbell of the user half. */
void viw_doorbell_srq(void *srq);

#endif /* VIW_RECEIVE_H */
