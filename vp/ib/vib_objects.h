/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The tables of control verbs of each kind of object, and what one kind asks of another. */
#ifndef VIB_OBJECTS_H
#define VIB_OBJECTS_H

#include "vib.h"

extern const struct ri_pd_ops vib_pd_ops;
extern const struct ri_mem_ops vib_mem_ops;
extern const struct ri_cq_ops vib_cq_ops;
extern const struct ri_srq_ops vib_srq_ops;
extern const struct ri_qp_ops vib_qp_ops;
extern const struct ri_user_ops vib_user_ops;
extern const struct ri_fast_ops vib_fast_ops;

/* Enter an object into a list of its context, or take it out. */
void vib_enlist(struct ri_context *context, struct vib_item *head, struct vib_item *item);
void vib_delist(struct ri_context *context, struct vib_item *item);
/* The map of an object whose user half is at `half`. */
void vib_map(struct ri_map *map, const void *half);
/* RI_ERR_FATAL if the device has failed, else RI_SUCCESS. */
enum ri_status vib_alive(const struct ri_rnic *rnic) RI_MUST_CHECK;
/* What a call of libibverbs failed with: the adapter's failure counts first. */
enum ri_status vib_failure(const struct ri_rnic *rnic, int error) RI_MUST_CHECK;
/*
 * The status for an errno of a call that creates or enlarges an object, with arguments that were
 * checked before. If the call pins memory, @p what names the memory in the log, which mentions the
 * limit of locked memory if that may be the cause; otherwise it is NULL.
 */
enum ri_status vib_create_failure(const struct ri_rnic *rnic, const char *what,
				  int error) RI_MUST_CHECK;

/* Raise the event of the limit of an SRQ, which is off then. On the service thread. */
static inline void
vib_srq_low(struct ri_srq *srq)
{
	atomic_store(&srq->limit, 0);
	vib_raise(srq->pd->context->rnic, RI_EVENT_SRQ_LIMIT, RI_OBJECT_SRQ, srq->ctx);
}

/* vib_qp.c: destroy a queue pair in whatever state. */
void vib_qp_destroy(struct vib_qp *qp);

#endif /* VIB_OBJECTS_H */
