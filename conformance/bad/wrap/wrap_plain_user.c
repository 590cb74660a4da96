/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The user half that passes every call on. */
#include "wrap.h"

#include <stdlib.h>

static enum ri_status
rnic_open(const struct ri_host *host, const struct ri_map *map, struct ri_urnic **out)
{
	struct wrap_obj *context = wrap_mapped(map);
	struct wrap_obj *user = wrap_new(context, WRAP_URNIC);
	struct ri_urnic *inner = NULL;
	enum ri_status status = RI_ERR_RESOURCES;

	if (user != NULL)
		status = wrap_in(context)->user.rnic_open(host, &context->map, &inner);
	if (status != RI_SUCCESS) {
		wrap_free(user);
		return status;
	}
	user->half = context;
	user->inner = inner;
	*out = (struct ri_urnic *)user;
	return RI_SUCCESS;
}

static void
rnic_close(struct ri_urnic *rnic)
{
	wrap_in(rnic)->user.rnic_close(wrap_inner(rnic));
	wrap_free(wrap_of(rnic));
}

/* The user half of an object that the map names; NULL: no memory. */
static struct wrap_obj *
half_new(const struct ri_map *map, enum wrap_kind kind)
{
	struct wrap_obj *whole = wrap_mapped(map);
	struct wrap_obj *user = wrap_new(whole, kind);

	if (user != NULL) {
		user->half = whole;
		user->ctx = whole->ctx;
	}
	return user;
}

/* It is open, or not. */
static enum ri_status
half_ready(struct wrap_obj *user, void *inner, enum ri_status status)
{
	if (status != RI_SUCCESS) {
		wrap_free(user);
		return status;
	}
	user->inner = inner;
	user->half->half = user;
	return RI_SUCCESS;
}

static void
half_free(void *handle)
{
	struct wrap_obj *user = wrap_of(handle);

	user->half->half = NULL;
	wrap_free(user);
}

static enum ri_status
cq_open(struct ri_urnic *rnic, const struct ri_map *map, struct ri_ucq **out)
{
	struct wrap_obj *user = half_new(map, WRAP_UCQ);
	struct ri_ucq *inner = NULL;
	enum ri_status status = RI_ERR_RESOURCES;

	if (user != NULL)
		status = wrap_in(rnic)->user.cq_open(wrap_inner(rnic), &user->half->map, &inner);
	*out = (struct ri_ucq *)user;
	return half_ready(user, inner, status);
}

WRAP_PASS(enum ri_status, user, cq_remap, cq, (struct ri_ucq * cq, const struct ri_map *map),
	  (wrap_inner(cq), &wrap_mapped(map)->map))

static void
cq_close(struct ri_ucq *cq)
{
	wrap_in(cq)->user.cq_close(wrap_inner(cq));
	half_free(cq);
}

static enum ri_status
qp_open(struct ri_urnic *rnic, const struct ri_map *map, struct ri_ucq *send_cq,
	struct ri_ucq *recv_cq, struct ri_usrq *srq, struct ri_uqp **out)
{
	struct wrap_obj *user = half_new(map, WRAP_UQP);
	struct ri_uqp *inner = NULL;
	enum ri_status status = RI_ERR_RESOURCES;

	if (user != NULL) {
		user->cqs[0] = wrap_of(send_cq);
		user->cqs[1] = wrap_of(recv_cq);
		user->srq = wrap_of(srq);
		status = wrap_in(rnic)->user.qp_open(wrap_inner(rnic), &user->half->map,
						     wrap_inner(send_cq), wrap_inner(recv_cq),
						     wrap_inner(srq), &inner);
	}
	*out = (struct ri_uqp *)user;
	return half_ready(user, inner, status);
}

static void
qp_close(struct ri_uqp *qp)
{
	wrap_in(qp)->user.qp_close(wrap_inner(qp));
	half_free(qp);
}

static enum ri_status
srq_open(struct ri_urnic *rnic, const struct ri_map *map, struct ri_usrq **out)
{
	struct wrap_obj *user = half_new(map, WRAP_USRQ);
	struct ri_usrq *inner = NULL;
	enum ri_status status = RI_ERR_RESOURCES;

	if (user != NULL)
		status = wrap_in(rnic)->user.srq_open(wrap_inner(rnic), &user->half->map, &inner);
	*out = (struct ri_usrq *)user;
	return half_ready(user, inner, status);
}

static void
srq_close(struct ri_usrq *srq)
{
	wrap_in(srq)->user.srq_close(wrap_inner(srq));
	half_free(srq);
}

WRAP_PASS(enum ri_status, user, srq_remap, srq, (struct ri_usrq * srq, const struct ri_map *map),
	  (wrap_inner(srq), &wrap_mapped(map)->map))
WRAP_PASS(enum ri_status, user, qp_remap, qp,
	  (struct ri_uqp * qp, const struct ri_qp_attr *real, const struct ri_map *map),
	  (wrap_inner(qp), real, &wrap_mapped(map)->map))
WRAP_PASS_VOID(user, qp_count, qp, (struct ri_uqp * qp, struct ri_qp_counters *counters),
	       (wrap_inner(qp), counters))
WRAP_PASS_VOID(user, cq_count, cq, (struct ri_ucq * cq, struct ri_cq_counters *counters),
	       (wrap_inner(cq), counters))
WRAP_PASS_VOID(user, srq_count, srq, (struct ri_usrq * srq, struct ri_qp_counters *counters),
	       (wrap_inner(srq), counters))

/* --- the fast path ------------------------------------------------------------------------------ */

WRAP_PASS(enum ri_status, fast, post_sq, qp, (struct ri_uqp * qp, const struct ri_wr *wr),
	  (wrap_inner(qp), wr))
WRAP_PASS(enum ri_status, fast, post_rq, qp, (struct ri_uqp * qp, const struct ri_recv_wr *wr),
	  (wrap_inner(qp), wr))
WRAP_PASS(enum ri_status, fast, post_srq, srq, (struct ri_usrq * srq, const struct ri_recv_wr *wr),
	  (wrap_inner(srq), wr))
WRAP_PASS_VOID(fast, flush_sq, qp, (struct ri_uqp * qp), (wrap_inner(qp)))
WRAP_PASS(uint32_t, fast, poll_cq, cq, (struct ri_ucq * cq, struct ri_wc *wc, uint32_t n),
	  (wrap_inner(cq), wc, n))
WRAP_PASS(uint32_t, fast, cq_depth, cq, (struct ri_ucq * cq), (wrap_inner(cq)))
WRAP_PASS(enum ri_status, fast, arm_cq, cq, (struct ri_ucq * cq, enum ri_arm how, uint32_t count),
	  (wrap_inner(cq), how, count))

WRAP_PASS(uint32_t, fast, progress, rnic, (struct ri_urnic * rnic, uint32_t budget),
	  (wrap_inner(rnic), budget))
WRAP_PASS(bool, fast, leader_enter, rnic, (struct ri_urnic * rnic, int *fd), (wrap_inner(rnic), fd))
WRAP_PASS_VOID(fast, leader_leave, rnic, (struct ri_urnic * rnic), (wrap_inner(rnic)))
WRAP_PASS(bool, fast, spin_futile, rnic, (struct ri_urnic * rnic), (wrap_inner(rnic)))

const struct ri_user_ops wrap_plain_user_ops = {
	.size = sizeof(struct ri_user_ops),
	.rnic_open = rnic_open,
	.rnic_close = rnic_close,
	.cq_open = cq_open,
	.cq_remap = user_cq_remap,
	.cq_close = cq_close,
	.qp_open = qp_open,
	.qp_close = qp_close,
	.srq_open = srq_open,
	.srq_close = srq_close,
	.srq_remap = user_srq_remap,
	.qp_remap = user_qp_remap,
	.qp_count = user_qp_count,
	.cq_count = user_cq_count,
	.srq_count = user_srq_count,
};

const struct ri_fast_ops wrap_plain_fast_ops = {
	.size = sizeof(struct ri_fast_ops),
	.post_sq = fast_post_sq,
	.post_rq = fast_post_rq,
	.post_srq = fast_post_srq,
	.flush_sq = fast_flush_sq,
	.poll_cq = fast_poll_cq,
	.cq_depth = fast_cq_depth,
	.arm_cq = fast_arm_cq,
	.progress = fast_progress,
	.leader_enter = fast_leader_enter,
	.leader_leave = fast_leader_leave,
	.spin_futile = fast_spin_futile,
};
