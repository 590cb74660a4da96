/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Multicast groups of a queue pair for datagrams; vib_mcast.c. */
#ifndef VIB_MCAST_H
#define VIB_MCAST_H

#include "vib.h"

/* ri_qp_ops::mcast_attach and mcast_detach. */
enum ri_status vib_mcast_attach(struct ri_qp *qp, const struct ri_addr *group) RI_MUST_CHECK;
enum ri_status vib_mcast_detach(struct ri_qp *qp, const struct ri_addr *group) RI_MUST_CHECK;
/* Leave all groups, before the queue pair is destroyed: the kernel refuses that while it has one. */
void vib_mcast_leave(struct vib_qp *qp);

#endif /* VIB_MCAST_H */
