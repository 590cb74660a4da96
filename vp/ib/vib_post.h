/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The fast entries that post; vib_post.c. */
#ifndef VIB_POST_H
#define VIB_POST_H

#include <errno.h>

#include "vib.h"

/* The errno of a post that has failed. What siw's library returns is negative: an errno, or -1 and errno is set [RI 12.3.3]. */
static inline int
vib_post_errno(int returned)
{
	if (returned == -1)
		return errno;
	return returned < 0 ? -returned : returned;
}

/* Why the device refuses a post. */
static inline enum ri_status
vib_post_refused(int error)
{
	return error == ENOMEM ? RI_ERR_QUEUE_FULL : RI_ERR_UNSUPPORTED;
}

/* Complete what was just posted as flushed, if all before it is completed; else the drain does. The thread that posts. */
void vib_post_flush_here(struct ri_uqp *qp, const struct vib_ring *ring, bool send);
/*
 * The device has refused the request or receive that was just posted; `returned` is the result of
 * its library. A post is entered into its ring before the device gets it, because its completion
 * may be polled at once; so it is removed again. But if the end of the connection has begun
 * meanwhile, the end flushes it: RI_SUCCESS. The same applies if the device refuses it because the
 * connection has ended (vib_qp_lost). Called by the thread that posts.
 */
enum ri_status vib_post_undo(struct ri_uqp *qp, bool send, int returned);

/* Fill in what short posts find prepared; the limits of the queue pair are known. */
void vib_post_prepare(struct ri_uqp *qp);
enum ri_status vib_post_sq(struct ri_uqp *qp, const struct ri_wr *wr);
enum ri_status vib_post_rq(struct ri_uqp *qp, const struct ri_recv_wr *wr);
enum ri_status vib_post_srq(struct ri_usrq *srq, const struct ri_recv_wr *wr);
void vib_flush_sq(struct ri_uqp *qp);

#endif /* VIB_POST_H */
