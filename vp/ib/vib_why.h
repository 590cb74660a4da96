/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* One line of the log for each connection that has ended, with what is known of the cause; vib_why.c. */
#ifndef VIB_WHY_H
#define VIB_WHY_H

#include "vib.h"

/* The end that has begun, and why; vib_qp_end has returned true. Any thread that may use the queue pair. */
void vib_why_ended(const struct vib_qp *qp, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The same where the cause is ri_uqp::fault, or, if it is empty, a request that the device has refused. */
void vib_why_fault(const struct vib_qp *qp);

#endif /* VIB_WHY_H */
