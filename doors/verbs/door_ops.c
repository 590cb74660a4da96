/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The operations of contexts, which the inline functions of verbs.h call. Where an operation is
 * NULL, verbs.h itself returns EOPNOTSUPP. The functions that cannot be supported are in
 * door_refuse.c.
 */
#include <errno.h>

#include "door_cq.h"
#include "door_export.h"
#include "door_memory.h"
#include "door_post.h"
#include "door_qp.h"
#include "door_refuse.h"
#include "door_wr.h"

/* The clock of completions, in its ticks. */
static int
query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
	const uint64_t ns_per_s = 1000000000;
	uint32_t wanted = values->comp_mask;
	uint64_t now;

	if ((wanted & ~(uint32_t)IBV_VALUES_MASK_RAW_CLOCK) != 0)
		return EINVAL;
	values->comp_mask = 0;
	if ((wanted & IBV_VALUES_MASK_RAW_CLOCK) == 0)
		return 0;
	now = session_now(door_session_of(context));
	values->raw_clock.tv_sec = (time_t)(now / ns_per_s);
	values->raw_clock.tv_nsec = (long)(now % ns_per_s);
	values->comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
	return 0;
}

static void
old_ops(struct ibv_context_ops *ops, bool thread_safe)
{
	ops->alloc_mw = door_mw_alloc;
	ops->bind_mw = door_post_bind;
	ops->dealloc_mw = door_mw_free;
	ops->poll_cq = door_cq_poll;
	ops->req_notify_cq = door_cq_notify;
	ops->post_srq_recv = thread_safe ? door_post_srq : door_post_srq_locked;
	ops->post_send = thread_safe ? door_post_send : door_post_send_locked;
	ops->post_recv = thread_safe ? door_post_recv : door_post_recv_locked;
}

void
door_context_ops(struct door_context *context)
{
	struct verbs_context *verbs = &context->verbs;

	old_ops(&verbs->context.ops, context->adapter->session.attr.thread_safe_queues);
	verbs->query_port = door_query_port;
	verbs->query_device_ex = door_query_device_ex;
	verbs->query_rt_values = query_rt_values;
	verbs->create_cq_ex = door_cqx_create;
	verbs->create_qp_ex = door_qp_create_ex;
	verbs->create_srq_ex = door_srq_create_ex;
	verbs->alloc_td = door_td_alloc;
	verbs->dealloc_td = door_td_free;
	verbs->alloc_parent_domain = door_parent_alloc;
	door_refuse_ops(verbs);
}

/* --- in the child of a fork ------------------------------------------------------------------------------- */

static int
inherited_poll(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc)
{
	(void)cq;
	(void)num_entries;
	(void)wc;
	errno = EIO;
	return -1;
}

static int
inherited_notify(struct ibv_cq *cq, int solicited_only)
{
	(void)cq;
	(void)solicited_only;
	return EIO;
}

static int
inherited_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)qp;
	*bad = wr;
	return EIO;
}

static int
inherited_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)qp;
	*bad = wr;
	return EIO;
}

static int
inherited_srq(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)srq;
	*bad = wr;
	return EIO;
}

static int
inherited_bind(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	(void)qp;
	(void)mw;
	(void)bind;
	return EIO;
}

static void
inherit_slot(struct door_slot *slot)
{
	struct door_cq *cq = (struct door_cq *)slot->object;

	if (slot->kind == DOOR_CQ && cq->ex.start_poll != NULL)
		cq->ex.start_poll = door_cqx_inherited;
	else if (slot->kind == DOOR_QP)
		door_wr_inherited((struct door_qp *)slot->object);
}

/*
 * In the child of a fork. No lock is taken, because a thread of the parent may have owned it at the
 * fork; and no other thread of the child can use these objects yet.
 */
void
door_inherit(struct door_adapter *adapter)
{
	struct door_slots *slots = &adapter->slots;

	adapter->inherited = true;
	for (struct door_context *context = adapter->contexts; context != NULL;
	     context = context->next) {
		struct ibv_context_ops *ops = &context->verbs.context.ops;

		ops->poll_cq = inherited_poll;
		ops->req_notify_cq = inherited_notify;
		ops->post_send = inherited_send;
		ops->post_recv = inherited_recv;
		ops->post_srq_recv = inherited_srq;
		ops->bind_mw = inherited_bind;
	}
	for (uint32_t i = 0; i < slots->used; i++)
		inherit_slot(&slots->first[i]);
}
