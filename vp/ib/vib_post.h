/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The fast entries that post; vib_post.c. */
#ifndef VIB_POST_H
#define VIB_POST_H

#include "vib.h"

enum ri_status vib_post_sq(struct ri_uqp *qp, const struct ri_wr *wr);
enum ri_status vib_post_rq(struct ri_uqp *qp, const struct ri_recv_wr *wr);
enum ri_status vib_post_srq(struct ri_usrq *srq, const struct ri_recv_wr *wr);
void vib_flush_sq(struct ri_uqp *qp);

#endif /* VIB_POST_H */
