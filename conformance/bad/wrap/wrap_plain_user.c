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

static enum ri_status
cq_remap(struct ri_ucq *cq, const struct ri_map *map)
{
	return wrap_in(cq)->user.cq_remap(wrap_inner(cq), &wrap_mapped(map)->map);
}

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

static enum ri_status
srq_remap(struct ri_usrq *srq, const struct ri_map *map)
{
	return wrap_in(srq)->user.srq_remap(wrap_inner(srq), &wrap_mapped(map)->map);
}

static enum ri_status
qp_remap(struct ri_uqp *qp, const struct ri_qp_attr *real, const struct ri_map *map)
{
	return wrap_in(qp)->user.qp_remap(wrap_inner(qp), real, &wrap_mapped(map)->map);
}

static void
qp_count(struct ri_uqp *qp, struct ri_qp_counters *counters)
{
	wrap_in(qp)->user.qp_count(wrap_inner(qp), counters);
}

static void
cq_count(struct ri_ucq *cq, struct ri_cq_counters *counters)
{
	wrap_in(cq)->user.cq_count(wrap_inner(cq), counters);
}

static void
srq_count(struct ri_usrq *srq, struct ri_qp_counters *counters)
{
	wrap_in(srq)->user.srq_count(wrap_inner(srq), counters);
}

/* --- the fast path ------------------------------------------------------------------------------ */

static enum ri_status
post_sq(struct ri_uqp *qp, const struct ri_wr *wr)
{
	return wrap_in(qp)->fast.post_sq(wrap_inner(qp), wr);
}

static enum ri_status
post_rq(struct ri_uqp *qp, const struct ri_recv_wr *wr)
{
	return wrap_in(qp)->fast.post_rq(wrap_inner(qp), wr);
}

static enum ri_status
post_srq(struct ri_usrq *srq, const struct ri_recv_wr *wr)
{
	return wrap_in(srq)->fast.post_srq(wrap_inner(srq), wr);
}

static void
flush_sq(struct ri_uqp *qp)
{
	wrap_in(qp)->fast.flush_sq(wrap_inner(qp));
}

static uint32_t
poll_cq(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n)
{
	return wrap_in(cq)->fast.poll_cq(wrap_inner(cq), wc, n);
}

static uint32_t
cq_depth(struct ri_ucq *cq)
{
	return wrap_in(cq)->fast.cq_depth(wrap_inner(cq));
}

static enum ri_status
arm_cq(struct ri_ucq *cq, enum ri_arm how, uint32_t count)
{
	return wrap_in(cq)->fast.arm_cq(wrap_inner(cq), how, count);
}

static uint32_t
progress(struct ri_urnic *rnic, uint32_t budget)
{
	const struct ri_fast_ops *in = &wrap_in(rnic)->fast;

	return in->progress != NULL ? in->progress(wrap_inner(rnic), budget) : 0;
}

/* An engine without these entries needs no sleeper. */
static bool
leader_enter(struct ri_urnic *rnic, int *fd)
{
	const struct ri_fast_ops *in = &wrap_in(rnic)->fast;

	if (in->leader_enter != NULL)
		return in->leader_enter(wrap_inner(rnic), fd);
	*fd = -1;
	return true;
}

static void
leader_leave(struct ri_urnic *rnic)
{
	const struct ri_fast_ops *in = &wrap_in(rnic)->fast;

	if (in->leader_leave != NULL)
		in->leader_leave(wrap_inner(rnic));
}

static bool
spin_futile(struct ri_urnic *rnic)
{
	const struct ri_fast_ops *in = &wrap_in(rnic)->fast;

	return in->spin_futile != NULL && in->spin_futile(wrap_inner(rnic));
}

const struct ri_user_ops wrap_plain_user_ops = {
	.size = sizeof(struct ri_user_ops),
	.rnic_open = rnic_open,
	.rnic_close = rnic_close,
	.cq_open = cq_open,
	.cq_remap = cq_remap,
	.cq_close = cq_close,
	.qp_open = qp_open,
	.qp_close = qp_close,
	.srq_open = srq_open,
	.srq_close = srq_close,
	.srq_remap = srq_remap,
	.qp_remap = qp_remap,
	.qp_count = qp_count,
	.cq_count = cq_count,
	.srq_count = srq_count,
};

const struct ri_fast_ops wrap_plain_fast_ops = {
	.size = sizeof(struct ri_fast_ops),
	.post_sq = post_sq,
	.post_rq = post_rq,
	.post_srq = post_srq,
	.flush_sq = flush_sq,
	.poll_cq = poll_cq,
	.cq_depth = cq_depth,
	.arm_cq = arm_cq,
	.progress = progress,
	.leader_enter = leader_enter,
	.leader_leave = leader_leave,
	.spin_futile = spin_futile,
};
