/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Queues: notification, slots, segments, fences, resizing, and the events of queues. */
#include "defect.h"

/* --- notification ----------------------------------------------------------------------------- */

static unsigned
event_misses(struct wrap_rnic *rnic, uint64_t ctx)
{
	(void)ctx;
	return defect_each(&rnic->count[0], 2) ? 0 : 1;
}

static unsigned
event_never(struct wrap_rnic *rnic, uint64_t ctx)
{
	(void)rnic;
	(void)ctx;
	return 0;
}

static unsigned
event_twice(struct wrap_rnic *rnic, uint64_t ctx)
{
	(void)rnic;
	(void)ctx;
	return 2;
}

static void
wrong_cq_event(void *self, uint64_t ctx)
{
	struct wrap_obj *cq = wrap_find(self, WRAP_CQ, ctx);
	struct wrap_obj *other = cq != NULL ? wrap_find_other(cq) : NULL;

	wrap_plain_upcalls.cq_event(self, other != NULL ? other->ctx : ctx);
}

/* The condition holds already, and the caller hears that the queue is armed. */
static enum ri_status
arm_blind_cq(struct ri_ucq *cq, enum ri_arm how, uint32_t count)
{
	enum ri_status status = wrap_plain_fast_ops.arm_cq(cq, how, count);

	return status == RI_ERR_NOT_EMPTY ? RI_SUCCESS : status;
}

static enum ri_status
arm_refuses_cq(struct ri_ucq *cq, enum ri_arm how, uint32_t count)
{
	enum ri_status status = wrap_plain_fast_ops.arm_cq(cq, how, count);

	if (how == RI_ARM_NONE || status != RI_SUCCESS)
		return status;
	(void)!wrap_plain_fast_ops.arm_cq(cq, RI_ARM_NONE, 1);
	return RI_ERR_NOT_EMPTY;
}

static enum ri_status
arm_solicited_cq(struct ri_ucq *cq, enum ri_arm how, uint32_t count)
{
	return wrap_plain_fast_ops.arm_cq(cq, how == RI_ARM_NEXT ? RI_ARM_SOLICITED : how, count);
}

static enum ri_status
arm_any_cq(struct ri_ucq *cq, enum ri_arm how, uint32_t count)
{
	return wrap_plain_fast_ops.arm_cq(cq, how == RI_ARM_SOLICITED ? RI_ARM_NEXT : how, count);
}

static enum ri_status
arm_count_cq(struct ri_ucq *cq, enum ri_arm how, uint32_t count)
{
	return wrap_plain_fast_ops.arm_cq(cq, how, how == RI_ARM_COUNT ? count + 1 : count);
}

static enum ri_status
arm_unchecked_cq(struct ri_ucq *cq, enum ri_arm how, uint32_t count)
{
	enum ri_status status = wrap_plain_fast_ops.arm_cq(cq, how, count);

	return status == RI_ERR_INVALID_ARG ? RI_SUCCESS : status;
}

static uint32_t
depth_zero_cq(struct ri_ucq *cq)
{
	(void)cq;
	return 0;
}

static uint32_t
depth_more_cq(struct ri_ucq *cq)
{
	return wrap_plain_fast_ops.cq_depth(cq) + 1;
}

/* --- slots ------------------------------------------------------------------------------------ */

static enum ri_status
hidden(enum ri_status status, enum ri_status which)
{
	return status == which ? RI_SUCCESS : status;
}

static enum ri_status
full_hidden_post(struct ri_uqp *qp, const struct ri_wr *wr)
{
	return hidden(wrap_plain_fast_ops.post_sq(qp, wr), RI_ERR_QUEUE_FULL);
}

static enum ri_status
full_hidden_receive_post(struct ri_uqp *qp, const struct ri_recv_wr *wr)
{
	return hidden(wrap_plain_fast_ops.post_rq(qp, wr), RI_ERR_QUEUE_FULL);
}

static enum ri_status
full_hidden_shared_post(struct ri_usrq *srq, const struct ri_recv_wr *wr)
{
	return hidden(wrap_plain_fast_ops.post_srq(srq, wr), RI_ERR_QUEUE_FULL);
}

static enum ri_status
full_early_post(struct ri_uqp *qp, const struct ri_wr *wr)
{
	if (defect_each(&wrap_of(qp)->count[0], 3))
		return RI_ERR_QUEUE_FULL;
	return wrap_plain_fast_ops.post_sq(qp, wr);
}

static enum ri_status
full_but_posted_post(struct ri_uqp *qp, const struct ri_wr *wr)
{
	enum ri_status status = wrap_plain_fast_ops.post_sq(qp, wr);

	return defect_each(&wrap_of(qp)->count[0], 2) ? RI_ERR_QUEUE_FULL : status;
}

static enum ri_status
limit_hidden_post(struct ri_uqp *qp, const struct ri_wr *wr)
{
	return hidden(wrap_plain_fast_ops.post_sq(qp, wr), RI_ERR_LIMIT);
}

static enum ri_status
receive_forgotten_post(struct ri_uqp *qp, const struct ri_recv_wr *wr)
{
	if (defect_each(&wrap_of(qp)->count[1], 3))
		return RI_SUCCESS;
	return wrap_plain_fast_ops.post_rq(qp, wr);
}

static bool
request_forgotten(struct wrap_obj *uqp, struct defect_wr *wr)
{
	(void)wr;
	return !defect_each(&uqp->count[0], 3);
}

static void
flush_nothing(struct ri_uqp *qp)
{
	(void)qp;
}

/* Adapters may ignore the hint, so the request stays here, and is never posted. */
static bool
coalesce_kept(struct wrap_obj *uqp, struct defect_wr *wr)
{
	(void)uqp;
	return (wr->wr.flags & RI_WR_COALESCE) == 0;
}

/* --- requests --------------------------------------------------------------------------------- */

static bool
fence_ignored(struct wrap_obj *uqp, struct defect_wr *wr)
{
	(void)uqp;
	wr->wr.flags &= ~(uint32_t)(RI_WR_READ_FENCE | RI_WR_LOCAL_FENCE);
	return true;
}

static bool
solicited_unsent(struct wrap_obj *uqp, struct defect_wr *wr)
{
	(void)uqp;
	wr->wr.flags &= ~(uint32_t)RI_WR_SOLICITED;
	return true;
}

static bool
notify_ignored(struct wrap_obj *uqp, struct defect_wr *wr)
{
	(void)uqp;
	wr->wr.flags &= ~(uint32_t)RI_WR_NOTIFY;
	return true;
}

static bool
segments_reversed(struct wrap_obj *uqp, struct defect_wr *wr)
{
	(void)uqp;
	for (unsigned i = 0; i < wr->wr.num_sge / 2u; i++) {
		struct ri_sge *other = &wr->sgl[wr->wr.num_sge - 1 - i];
		struct ri_sge first = wr->sgl[i];

		wr->sgl[i] = *other;
		*other = first;
	}
	return true;
}

static bool
send_twice(struct wrap_obj *uqp, struct defect_wr *wr)
{
	struct ri_wr copy = wr->wr;

	copy.flags &= ~(uint32_t)(RI_WR_SIGNALED | RI_WR_NOTIFY);
	if (wr->wr.opcode == RI_OP_SEND && defect_each(&uqp->count[0], 2))
		(void)!wrap_plain_fast_ops.post_sq((struct ri_uqp *)uqp, &copy);
	return true;
}

/* --- sizes ------------------------------------------------------------------------------------ */

static enum ri_status
resize_nothing_cq(struct ri_cq *cq, uint32_t *entries, struct ri_map *map)
{
	(void)entries;
	wrap_map(map, wrap_of(cq));
	return RI_SUCCESS;
}

static enum ri_status
resize_nothing_remap(struct ri_ucq *cq, const struct ri_map *map)
{
	(void)cq;
	(void)map;
	return RI_SUCCESS;
}

static enum ri_status
resize_loses_remap(struct ri_ucq *cq, const struct ri_map *map)
{
	struct ri_wc wc;
	enum ri_status status = wrap_plain_user_ops.cq_remap(cq, map);

	while (wrap_plain_fast_ops.cq_depth(cq) > 0)
		(void)wrap_plain_fast_ops.poll_cq(cq, &wc, 1);
	return status;
}

static enum ri_status
resize_ignored_qp(struct ri_qp *qp, struct ri_qp_attr *attr, struct ri_map *map)
{
	(void)attr;
	wrap_map(map, wrap_of(qp));
	return RI_SUCCESS;
}

static enum ri_status
resize_ignored_remap(struct ri_uqp *qp, const struct ri_qp_attr *real, const struct ri_map *map)
{
	(void)qp;
	(void)real;
	(void)map;
	return RI_SUCCESS;
}

/* The size stays, and the size that was asked for is reported. */
static enum ri_status
resize_busy_hidden_cq(struct ri_cq *cq, uint32_t *entries, struct ri_map *map)
{
	enum ri_status status = wrap_plain_cq_ops.resize(cq, entries, map);
	uint32_t now = wrap_of(cq)->entries;

	if (status != RI_ERR_BUSY)
		return status;
	return wrap_plain_cq_ops.resize(cq, &now, map);
}

/* --- events ----------------------------------------------------------------------------------- */

static bool
limit_lost(struct wrap_rnic *rnic, struct ri_async_event *event)
{
	(void)rnic;
	return event->event != RI_EVENT_SRQ_LIMIT;
}

static bool
limit_twice(struct wrap_rnic *rnic, struct ri_async_event *event)
{
	if (event->event == RI_EVENT_SRQ_LIMIT)
		wrap_plain_upcalls.async_event(rnic, event);
	return true;
}

static bool
soft_limit_lost(struct wrap_rnic *rnic, struct ri_async_event *event)
{
	(void)rnic;
	return event->event != RI_EVENT_QP_RQ_LIMIT;
}

static bool
overflow_lost(struct wrap_rnic *rnic, struct ri_async_event *event)
{
	(void)rnic;
	return event->event != RI_EVENT_CQ_OVERFLOW && event->event != RI_EVENT_QP_CQ_SQ_ERROR &&
	       event->event != RI_EVENT_QP_CQ_RQ_ERROR;
}

const struct defect defects_queues[] = {
	DEFECT("arm-misses", "every second event of a queue is lost",
	       "The upcall of every second arming does not come.", 0, .cq_event = event_misses),
	DEFECT("arm-never", "an armed queue never fires", "No upcall comes for an armed queue.", 0,
	       .cq_event = event_never),
	DEFECT("arm-twice", "an armed queue fires twice", "Each arming is answered by two upcalls.",
	       0, .cq_event = event_twice),
	DEFECT("arm-wrong-queue", "another queue fires",
	       "The upcall names another completion queue of the adapter.", 0,
	       ENTRIES(.up.cq_event = wrong_cq_event)),
	DEFECT("arm-blind", "completions before the arming are missed",
	       "Arming a queue that has completions succeeds, and no upcall comes for them.", 0,
	       ENTRIES(.fast.arm_cq = arm_blind_cq)),
	DEFECT("arm-refuses", "a queue cannot be armed",
	       "Arming says RI_ERR_NOT_EMPTY although the condition does not hold.", 0,
	       ENTRIES(.fast.arm_cq = arm_refuses_cq)),
	DEFECT("arm-solicited-only", "only solicited completions fire",
	       "RI_ARM_NEXT is taken for RI_ARM_SOLICITED.", 0,
	       ENTRIES(.fast.arm_cq = arm_solicited_cq)),
	DEFECT("arm-any", "each completion counts as solicited",
	       "RI_ARM_SOLICITED is taken for RI_ARM_NEXT.", 0, ENTRIES(.fast.arm_cq = arm_any_cq)),
	DEFECT("arm-count-more", "one completion too many is awaited",
	       "RI_ARM_COUNT waits for one completion more than its count.", 0,
	       ENTRIES(.fast.arm_cq = arm_count_cq)),
	DEFECT("arm-unchecked", "arguments of an arming are not checked",
	       "Arming with a count or a condition that cannot be succeeds.", 0,
	       ENTRIES(.fast.arm_cq = arm_unchecked_cq)),
	DEFECT("depth-zero", "a queue seems empty", "cq_depth always says 0.", 0,
	       ENTRIES(.fast.cq_depth = depth_zero_cq)),
	DEFECT("depth-more", "a queue seems fuller", "cq_depth says one more than there are.", 0,
	       ENTRIES(.fast.cq_depth = depth_more_cq)),
	DEFECT("full-hidden", "a full send queue is not reported",
	       "A request for a full send queue is accepted and forgotten.", 0,
	       ENTRIES(.fast.post_sq = full_hidden_post)),
	DEFECT("full-hidden-receive", "a full receive queue is not reported",
	       "A receive for a full queue is accepted and forgotten.", 0,
	       ENTRIES(.fast.post_rq = full_hidden_receive_post)),
	DEFECT("full-hidden-shared", "a full shared receive queue is not reported",
	       "A receive for a full shared queue is accepted and forgotten.", NEED_SRQ,
	       ENTRIES(.fast.post_srq = full_hidden_shared_post)),
	DEFECT("full-early", "a send queue seems full",
	       "Every third request is refused with RI_ERR_QUEUE_FULL.", 0,
	       ENTRIES(.fast.post_sq = full_early_post)),
	DEFECT("full-but-posted", "a request that was refused is done",
	       "Every second request is posted and then refused with RI_ERR_QUEUE_FULL.", 0,
	       ENTRIES(.fast.post_sq = full_but_posted_post)),
	DEFECT("limit-hidden", "too many segments are accepted",
	       "A request with too many segments is accepted and forgotten.", 0,
	       ENTRIES(.fast.post_sq = limit_hidden_post)),
	DEFECT("receive-forgotten", "receives are forgotten",
	       "Every third receive is accepted and forgotten.", 0,
	       ENTRIES(.fast.post_rq = receive_forgotten_post)),
	DEFECT("request-forgotten", "requests are forgotten",
	       "Every third request is accepted and forgotten.", 0, .wr = request_forgotten),
	DEFECT("coalesce-forever", "the doorbell is not rung",
	       "Requests that may wait do so, and flush_sq does nothing.", 0, .wr = coalesce_kept,
	       ENTRIES(.fast.flush_sq = flush_nothing)),
	DEFECT("fence-ignored", "fences are ignored",
	       "RI_WR_READ_FENCE and RI_WR_LOCAL_FENCE have no effect.", 0, .wr = fence_ignored),
	DEFECT("solicited-unsent", "Sends are never solicited",
	       "RI_WR_SOLICITED does not reach the peer.", 0, .wr = solicited_unsent),
	DEFECT("notify-ignored", "a request for an event is forgotten",
	       "RI_WR_NOTIFY of requests has no effect.", 0, .wr = notify_ignored),
	DEFECT("segments-reversed", "segments in reverse order",
	       "The last segment of a request is sent first.", 0, .wr = segments_reversed),
	DEFECT("send-twice", "messages arrive twice",
	       "Every second Send is sent twice, as by a retransmission that is not recognized.", 0,
	       .wr = send_twice),
	DEFECT("resize-nothing", "a completion queue keeps its size",
	       "The resizing of a completion queue succeeds and changes nothing.", NEED_RESIZE,
	       ENTRIES(.cq.resize = resize_nothing_cq, .user.cq_remap = resize_nothing_remap)),
	DEFECT("resize-loses", "resizing drops completions",
	       "Completions that are present are lost when their queue is resized.", NEED_RESIZE,
	       ENTRIES(.user.cq_remap = resize_loses_remap)),
	DEFECT("resize-ignored", "work queues keep their size",
	       "The resizing of a queue pair succeeds and changes nothing.", NEED_RESIZE,
	       ENTRIES(.qp.resize = resize_ignored_qp, .user.qp_remap = resize_ignored_remap)),
	DEFECT("resize-busy-hidden", "a completion queue is too small for its contents",
	       "Resizing below the number of completions present succeeds.", NEED_RESIZE,
	       ENTRIES(.cq.resize = resize_busy_hidden_cq)),
	DEFECT("srq-limit-lost", "the low watermark is not reported",
	       "RI_EVENT_SRQ_LIMIT is not raised.", NEED_SRQ, .async = limit_lost),
	DEFECT("srq-limit-twice", "the low watermark is reported twice",
	       "RI_EVENT_SRQ_LIMIT is raised twice.", NEED_SRQ, .async = limit_twice),
	DEFECT("soft-limit-lost", "the soft high watermark is not reported",
	       "RI_EVENT_QP_RQ_LIMIT is not raised.", NEED_SOFT_LIMIT, .async = soft_limit_lost),
	DEFECT("overflow-lost", "an overflow is not reported",
	       "No event says that a completion queue was full.", 0, .async = overflow_lost),
};

const size_t defects_queues_count = sizeof(defects_queues) / sizeof(defects_queues[0]);
