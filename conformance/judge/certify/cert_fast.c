/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The fast path as cases call it: each entry records for its thread which call it is in, and calls
 * the provider's entry. So an upcall can be judged by the call that its thread is in. A process
 * certifies one provider, so there is one table.
 */
#include <string.h>

#include "cert_frame.h"

static const struct ri_fast_ops *real;
static _Thread_local enum cert_fast inside;

enum cert_fast
cert_fast_inside(void)
{
	return inside;
}

/* An upcall handler may call some entries, so there may be one around this one. */
static enum cert_fast
fast_enter(enum cert_fast what)
{
	enum cert_fast before = inside;

	inside = what;
	return before;
}

/*
 * A request, a receive and their segments are valid only during the call. The provider gets a copy,
 * which is overwritten when the call has returned, so a provider that reads them later finds
 * invalid segments.
 */
#define LENT_SEGMENTS 128u
#define SPOILT        0xa5

struct lent {
	union {
		struct ri_wr request;
		struct ri_recv_wr receive;
	} work;
	struct ri_sge sgl[LENT_SEGMENTS];
	bool busy; /* a handler inside the call posts: it passes its own */
};

static _Thread_local struct lent lent;

/* The copy of a list. One that is too long to be copied is passed as it is. */
static const struct ri_sge *
lend(const struct ri_sge *sgl, size_t count)
{
	lent.busy = true;
	if (sgl == NULL || count > LENT_SEGMENTS)
		return sgl;
	memcpy(lent.sgl, sgl, count * sizeof(*sgl));
	return lent.sgl;
}

static void
spoil(size_t count)
{
	memset(&lent.work, SPOILT, sizeof(lent.work));
	if (count <= LENT_SEGMENTS)
		memset(lent.sgl, SPOILT, count * sizeof(lent.sgl[0]));
	lent.busy = false;
}

static enum ri_status
watched_post_sq(struct ri_uqp *qp, const struct ri_wr *wr)
{
	enum cert_fast before = fast_enter(CERT_FAST_ENGINE);
	size_t count = wr->num_sge;
	enum ri_status status;

	if (lent.busy) {
		status = real->post_sq(qp, wr);
	} else {
		lent.work.request = *wr;
		lent.work.request.sgl = lend(wr->sgl, count);
		status = real->post_sq(qp, &lent.work.request);
		spoil(count);
	}
	inside = before;
	return status;
}

/* Either kind of receive queue; the other one is NULL. */
static enum ri_status
post_receive(struct ri_uqp *qp, struct ri_usrq *srq, const struct ri_recv_wr *wr)
{
	enum cert_fast before = fast_enter(CERT_FAST_ENGINE);
	const struct ri_recv_wr *passed = wr;
	size_t count = wr->num_sge;
	bool lends = !lent.busy;
	enum ri_status status;

	if (lends) {
		lent.work.receive = *wr;
		lent.work.receive.sgl = lend(wr->sgl, count);
		passed = &lent.work.receive;
	}
	status = qp != NULL ? real->post_rq(qp, passed) : real->post_srq(srq, passed);
	if (lends)
		spoil(count);
	inside = before;
	return status;
}

static enum ri_status
watched_post_rq(struct ri_uqp *qp, const struct ri_recv_wr *wr)
{
	return post_receive(qp, NULL, wr);
}

static enum ri_status
watched_post_srq(struct ri_usrq *srq, const struct ri_recv_wr *wr)
{
	return post_receive(NULL, srq, wr);
}

static void
watched_flush_sq(struct ri_uqp *qp)
{
	enum cert_fast before = fast_enter(CERT_FAST_ENGINE);

	real->flush_sq(qp);
	inside = before;
}

static uint32_t
watched_poll_cq(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n)
{
	enum cert_fast before = fast_enter(CERT_FAST_ENGINE);
	uint32_t taken = real->poll_cq(cq, wc, n);

	inside = before;
	return taken;
}

static uint32_t
watched_cq_depth(struct ri_ucq *cq)
{
	enum cert_fast before = fast_enter(CERT_FAST_QUIET);
	uint32_t depth = real->cq_depth(cq);

	inside = before;
	return depth;
}

static enum ri_status
watched_arm_cq(struct ri_ucq *cq, enum ri_arm how, uint32_t count)
{
	enum cert_fast before = fast_enter(CERT_FAST_QUIET);
	enum ri_status status = real->arm_cq(cq, how, count);

	inside = before;
	return status;
}

static uint32_t
watched_progress(struct ri_urnic *rnic, uint32_t budget)
{
	enum cert_fast before = fast_enter(CERT_FAST_ENGINE);
	uint32_t done = real->progress(rnic, budget);

	inside = before;
	return done;
}

static bool
watched_leader_enter(struct ri_urnic *rnic, int *fd)
{
	enum cert_fast before = fast_enter(CERT_FAST_ENGINE);
	bool leads = real->leader_enter(rnic, fd);

	inside = before;
	return leads;
}

static void
watched_leader_leave(struct ri_urnic *rnic)
{
	enum cert_fast before = fast_enter(CERT_FAST_ENGINE);

	real->leader_leave(rnic);
	inside = before;
}

/* What is absent stays absent. */
#define WATCH(table, entry)                               \
	do {                                              \
		if ((table)->entry != NULL)               \
			(table)->entry = watched_##entry; \
	} while (0)

const struct ri_provider *
cert_fast_watch(const struct ri_provider *provider)
{
	static struct ri_provider watched;
	static struct ri_fast_ops table;

	real = provider->fast;
	table = *real;
	WATCH(&table, post_sq);
	WATCH(&table, post_rq);
	WATCH(&table, post_srq);
	WATCH(&table, flush_sq);
	WATCH(&table, poll_cq);
	WATCH(&table, cq_depth);
	WATCH(&table, arm_cq);
	WATCH(&table, progress);
	WATCH(&table, leader_enter);
	WATCH(&table, leader_leave);
	watched = *provider;
	watched.fast = &table;
	return &watched;
}
