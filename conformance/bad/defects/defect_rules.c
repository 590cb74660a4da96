/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Rules that drivers forget: want of memory, threads, what upcall handlers may call, full queues, datagrams. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "defect.h"

/* --- want of memory --------------------------------------------------------------------------- */

static enum ri_status
limit_of(enum ri_status status)
{
	return status == RI_ERR_RESOURCES ? RI_ERR_LIMIT : status;
}

static enum ri_status
limit_cq(struct ri_context *context, uint64_t ctx, uint32_t *entries, struct ri_cq **out,
	 struct ri_map *map)
{
	return limit_of(wrap_plain_cq_ops.create(context, ctx, entries, out, map));
}

static enum ri_status
limit_srq(struct ri_pd *pd, struct ri_srq_attr *attr, struct ri_srq **out, struct ri_map *map)
{
	return limit_of(wrap_plain_srq_ops.create(pd, attr, out, map));
}

static enum ri_status
limit_srq_modify(struct ri_srq *srq, struct ri_srq_attr *attr, bool resize, struct ri_map *map)
{
	return limit_of(wrap_plain_srq_ops.modify(srq, attr, resize, map));
}

static enum ri_status
limit_qp_resize(struct ri_qp *qp, struct ri_qp_attr *attr, struct ri_map *map)
{
	return limit_of(wrap_plain_qp_ops.resize(qp, attr, map));
}

static enum ri_status
limit_mw(struct ri_pd *pd, enum ri_mw_type type, struct ri_mw **out, uint32_t *stag)
{
	return limit_of(wrap_plain_mem_ops.mw_alloc(pd, type, out, stag));
}

static enum ri_status
limit_attach(struct ri_qp *qp, const struct ri_stream *stream)
{
	return limit_of(wrap_plain_llp_ops.attach_stream(qp, stream));
}

static enum ri_status
limit_accept(struct ri_request *request, struct ri_qp *qp, const struct ri_cm_params *params)
{
	return limit_of(wrap_plain_cm_ops.accept(request, qp, params));
}

static enum ri_status
leaking_mr(struct ri_pd *pd, const struct ri_mr_init *init, struct ri_mr **out, uint32_t *stag)
{
	void *kept = malloc(64);
	enum ri_status status =
		kept == NULL ? RI_ERR_RESOURCES : wrap_plain_mem_ops.mr_reg(pd, init, out, stag);

	if (status != RI_ERR_RESOURCES)
		free(kept);
	/* cppcheck-suppress memleak; that is the defect */
	return status;
}

/* --- threads ------------------------------------------------------------------------------------ */

static void
linger(void)
{
	const struct timespec pause = {.tv_nsec = 20000};

	(void)nanosleep(&pause, NULL);
}

/* A request is lost if another one is being posted to the queue. */
static enum ri_status
racing_post(struct ri_uqp *qp, const struct ri_wr *wr)
{
	atomic_uint *busy = &wrap_of(qp)->count[0];
	enum ri_status status;

	if (atomic_exchange(busy, 1) != 0)
		return RI_SUCCESS;
	linger();
	status = wrap_plain_fast_ops.post_sq(qp, wr);
	atomic_store(busy, 0);
	return status;
}

/* A poll that finds nothing while another one goes on takes what that one has taken. */
static uint32_t
racing_poll(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n)
{
	struct wrap_obj *ucq = wrap_of(cq);
	bool alone = atomic_fetch_add(&ucq->count[0], 1) == 0;
	uint32_t taken = wrap_plain_fast_ops.poll_cq(cq, wc, n);

	pthread_mutex_lock(&ucq->rnic->lock);
	if (taken > 0) {
		ucq->last[0] = wc[taken - 1].wr_id;
		ucq->last[1] = wc[taken - 1].qp_ctx;
	} else if (!alone && n > 0 && ucq->last[1] != 0) {
		wc[0] = (struct ri_wc){
			.wr_id = ucq->last[0], .qp_ctx = ucq->last[1], .opcode = RI_OP_RDMA_WRITE};
		ucq->last[1] = 0;
		taken = 1;
	}
	pthread_mutex_unlock(&ucq->rnic->lock);
	linger();
	atomic_fetch_sub(&ucq->count[0], 1);
	return taken;
}

/* Queue pairs are created one at a time. */
static enum ri_status
racing_qp_create(struct ri_pd *pd, struct ri_qp_init *init, struct ri_cq *send_cq,
		 struct ri_cq *recv_cq, struct ri_srq *srq, struct ri_qp **out, struct ri_map *map)
{
	atomic_uint *busy = &wrap_rnic_of(pd)->count[0];
	enum ri_status status;

	if (atomic_exchange(busy, 1) != 0)
		return RI_ERR_RESOURCES;
	linger();
	status = wrap_plain_qp_ops.create(pd, init, send_cq, recv_cq, srq, out, map);
	atomic_store(busy, 0);
	return status;
}

/* --- upcall handlers ------------------------------------------------------------------------------ */

static enum ri_status
telling_arm(struct ri_ucq *cq, enum ri_arm how, uint32_t count)
{
	enum ri_status status = wrap_plain_fast_ops.arm_cq(cq, how, count);

	if (status != RI_ERR_NOT_EMPTY)
		return status;
	wrap_plain_upcalls.cq_event(wrap_rnic_of(cq), wrap_of(cq)->half->ctx);
	return RI_SUCCESS;
}

static _Thread_local bool in_upcall;

static void
marked_event(void *self, uint64_t ctx)
{
	in_upcall = true;
	wrap_plain_upcalls.cq_event(self, ctx);
	in_upcall = false;
}

static enum ri_status
handler_arm(struct ri_ucq *cq, enum ri_arm how, uint32_t count)
{
	return in_upcall ? RI_ERR_BUSY : wrap_plain_fast_ops.arm_cq(cq, how, count);
}

/* --- full queues ---------------------------------------------------------------------------------- */

static bool
overflow_wrong(struct wrap_rnic *rnic, struct ri_async_event *event)
{
	const struct wrap_obj *qp = wrap_find(rnic, WRAP_QP, event->ctx), *other = NULL;

	if (event->event == RI_EVENT_QP_CQ_SQ_ERROR || event->event == RI_EVENT_QP_CQ_RQ_ERROR)
		other = qp != NULL ? wrap_find_other(qp) : NULL;
	if (other != NULL)
		event->ctx = other->ctx;
	return true;
}

static enum ri_status
boasting_cq(struct ri_context *context, uint64_t ctx, uint32_t *entries, struct ri_cq **out,
	    struct ri_map *map)
{
	enum ri_status status = wrap_plain_cq_ops.create(context, ctx, entries, out, map);

	if (status == RI_SUCCESS)
		++*entries;
	return status;
}

static enum ri_status
taking_post(struct ri_uqp *qp, const struct ri_wr *wr)
{
	enum ri_status status = wrap_plain_fast_ops.post_sq(qp, wr);

	return status == RI_ERR_UNSUPPORTED ? RI_SUCCESS : status;
}

static enum ri_status
taking_connect(struct ri_qp *qp, const struct ri_cm_params *params)
{
	enum ri_status status = wrap_plain_cm_ops.connect(qp, params);

	return status == RI_ERR_INVALID_STATE ? RI_SUCCESS : status;
}

/* --- datagrams --------------------------------------------------------------------------------------- */

#define PAIRS_MAX 64

/* Queue pairs for datagrams of all adapters, by number; the oldest are overwritten. */
static struct {
	pthread_mutex_t lock;
	struct ri_wr_ud pairs[PAIRS_MAX];
	unsigned count;
} post_office = {.lock = PTHREAD_MUTEX_INITIALIZER};

static enum ri_status
noted_qp_create(struct ri_pd *pd, struct ri_qp_init *init, struct ri_cq *send_cq,
		struct ri_cq *recv_cq, struct ri_srq *srq, struct ri_qp **out, struct ri_map *map)
{
	enum ri_status status = wrap_plain_qp_ops.create(pd, init, send_cq, recv_cq, srq, out, map);
	struct ri_qp_attr attr = {0};

	if (status != RI_SUCCESS || init->type != RI_QP_UD ||
	    wrap_plain_qp_ops.query(*out, &attr) != RI_SUCCESS)
		return status;
	pthread_mutex_lock(&post_office.lock);
	post_office.pairs[post_office.count++ % PAIRS_MAX] =
		(struct ri_wr_ud){.qpn = attr.qpn, .qkey = attr.qkey};
	pthread_mutex_unlock(&post_office.lock);
	return status;
}

static enum ri_status
noted_destroy(struct ri_qp *qp)
{
	struct ri_qp_attr attr = {0};

	(void)!wrap_plain_qp_ops.query(qp, &attr);
	pthread_mutex_lock(&post_office.lock);
	for (unsigned i = 0; i < PAIRS_MAX; i++)
		if (post_office.pairs[i].qpn == attr.qpn)
			post_office.pairs[i].qpn = 0;
	pthread_mutex_unlock(&post_office.lock);
	return wrap_plain_qp_ops.destroy(qp);
}

static void
pairs_noted(struct wrap_rnic *rnic)
{
	rnic->ops.qp.create = noted_qp_create;
	rnic->ops.qp.destroy = noted_destroy;
}

/* The pair with that number, or else the newest one, or number 0 before the first. */
static struct ri_wr_ud
pair_of(uint32_t qpn)
{
	struct ri_wr_ud found = {0};

	pthread_mutex_lock(&post_office.lock);
	for (unsigned i = 0; i < PAIRS_MAX; i++)
		if (post_office.pairs[i].qpn == qpn)
			found = post_office.pairs[i];
	for (unsigned back = 1; found.qpn == 0 && back <= PAIRS_MAX; back++)
		found = post_office.pairs[(post_office.count + PAIRS_MAX - back) % PAIRS_MAX];
	pthread_mutex_unlock(&post_office.lock);
	return found;
}

static bool
any_key(struct wrap_obj *uqp, struct defect_wr *wr)
{
	struct ri_wr_ud pair = pair_of(wr->wr.u.ud.qpn);

	(void)uqp;
	if (wr->wr.opcode == RI_OP_SEND_UD && pair.qpn == wr->wr.u.ud.qpn)
		wr->wr.u.ud.qkey = pair.qkey;
	return true;
}

static bool
astray(struct wrap_obj *uqp, struct defect_wr *wr)
{
	struct ri_wr_ud pair = pair_of(wr->wr.u.ud.qpn);

	(void)uqp;
	if (wr->wr.opcode == RI_OP_SEND_UD && pair.qpn != 0)
		wr->wr.u.ud.qpn = pair.qpn;
	return true;
}

/* The length is cut to what a datagram may have. */
static bool
cut(struct wrap_obj *uqp, struct defect_wr *wr)
{
	uint32_t room = uqp->rnic->attr.max_ud_message;

	for (uint32_t i = 0; wr->wr.opcode == RI_OP_SEND_UD && i < wr->wr.num_sge; i++) {
		if (wr->sgl[i].length > room)
			wr->sgl[i].length = room;
		room -= wr->sgl[i].length;
	}
	return true;
}

#define KEPT_MAX 64

/* Datagrams that wait for the next poll of any queue. */
static struct {
	pthread_mutex_t lock;
	struct ri_uqp *uqp[KEPT_MAX]; /* NULL: gone */
	struct defect_wr wr[KEPT_MAX];
	unsigned count;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

static enum ri_status
keeping_post(struct ri_uqp *qp, const struct ri_wr *wr)
{
	bool full = true;

	if (wr->opcode != RI_OP_SEND_UD || wr->num_sge > DEFECT_SGE)
		return wrap_plain_fast_ops.post_sq(qp, wr);
	pthread_mutex_lock(&kept.lock);
	if (kept.count < KEPT_MAX) {
		full = false;
		kept.uqp[kept.count] = qp;
		kept.wr[kept.count].wr = *wr;
		for (uint32_t i = 0; i < wr->num_sge; i++)
			kept.wr[kept.count].sgl[i] = wr->sgl[i];
		kept.count++;
	}
	pthread_mutex_unlock(&kept.lock);
	return full ? wrap_plain_fast_ops.post_sq(qp, wr) : RI_SUCCESS;
}

static uint32_t
posting_poll(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n)
{
	for (bool more = true; more;) {
		struct ri_uqp *qp = NULL;
		struct defect_wr wr;

		pthread_mutex_lock(&kept.lock);
		more = kept.count > 0;
		if (more) {
			qp = kept.uqp[0];
			wr = kept.wr[0];
			kept.count--;
			memmove(&kept.uqp[0], &kept.uqp[1], kept.count * sizeof(kept.uqp[0]));
			memmove(&kept.wr[0], &kept.wr[1], kept.count * sizeof(kept.wr[0]));
		}
		pthread_mutex_unlock(&kept.lock);
		if (qp != NULL) {
			wr.wr.sgl = wr.sgl;
			(void)!wrap_plain_fast_ops.post_sq(qp, &wr.wr);
		}
	}
	return wrap_plain_fast_ops.poll_cq(cq, wc, n);
}

static void
forgetting_close(struct ri_uqp *qp)
{
	pthread_mutex_lock(&kept.lock);
	for (unsigned i = 0; i < kept.count; i++)
		if (kept.uqp[i] == qp)
			kept.uqp[i] = NULL;
	pthread_mutex_unlock(&kept.lock);
	wrap_plain_user_ops.qp_close(qp);
}

static void
begun_qp_count(struct ri_uqp *qp, struct ri_qp_counters *counters)
{
	wrap_plain_user_ops.qp_count(qp, counters);
	counters->posts[RI_OP_SEND] = 1;
}

static void
whole_qp_count(struct ri_uqp *qp, struct ri_qp_counters *counters)
{
	wrap_plain_user_ops.qp_count(qp, counters);
	memset(counters->posts, 0, sizeof(counters->posts));
}

/* The bit that needs a privilege is not looked at. */
static enum ri_status
unprivileged_qp_create(struct ri_pd *pd, struct ri_qp_init *init, struct ri_cq *send_cq,
		       struct ri_cq *recv_cq, struct ri_srq *srq, struct ri_qp **out,
		       struct ri_map *map)
{
	uint32_t key = init->qkey;
	enum ri_status status;

	init->qkey &= 0x7fffffffu;
	status = wrap_plain_qp_ops.create(pd, init, send_cq, recv_cq, srq, out, map);
	init->qkey = key;
	return status;
}

/* A domain knows one that was there before it; its handles belong to that one. */
static enum ri_status
later_pd(struct ri_context *context, struct ri_pd **out)
{
	enum ri_status status = wrap_plain_pd_ops.create(context, out);

	if (status == RI_SUCCESS)
		wrap_of(*out)->last[0] = (uintptr_t)wrap_find_other(wrap_of(*out));
	return status;
}

static enum ri_status
earlier_ah(struct ri_pd *pd, const struct ri_ah_init *init, struct ri_ah **out, uint32_t *id)
{
	void *earlier = (void *)(uintptr_t)wrap_of(pd)->last[0];

	return wrap_plain_ah_ops.create(earlier != NULL ? earlier : pd, init, out, id);
}

/* The handle stays with the adapter. */
static enum ri_status
lasting_ah(struct ri_ah *ah)
{
	(void)ah;
	return RI_SUCCESS;
}

/* After a refused change the access layer's handle stands for another one, which its requests do not name. */
static enum ri_status
lost_ah(struct ri_ah *ah, const struct ri_ah_init *init)
{
	enum ri_status status = wrap_plain_ah_ops.modify(ah, init);
	struct wrap_obj *obj = wrap_of(ah);
	struct ri_ah_init way = *init;
	struct ri_ah *fresh = NULL;
	uint32_t id;

	way.port = 0;
	way.source = (struct ri_addr){.family = RI_ADDR_NONE};
	if (status == RI_SUCCESS ||
	    wrap_in(ah)->ah.create(wrap_inner(obj->pd), &way, &fresh, &id) != RI_SUCCESS)
		return status;
	(void)!wrap_in(ah)->ah.destroy(obj->inner);
	obj->inner = fresh;
	return status;
}

const struct defect defects_rules[] = {
	DEFECT("shortage-limit", "want of memory is reported as a limit",
	       "Verbs for which there is no memory answer RI_ERR_LIMIT.", 0,
	       ENTRIES(.cq.create = limit_cq, .srq.create = limit_srq,
		       .srq.modify = limit_srq_modify, .qp.resize = limit_qp_resize,
		       .mem.mw_alloc = limit_mw, .llp.attach_stream = limit_attach,
		       .cm.accept = limit_accept)),
	DEFECT("shortage-leaks", "memory is lost when memory is short",
	       "A registration that fails for want of memory loses 64 bytes.", 0,
	       ENTRIES(.mem.mr_reg = leaking_mr)),
	DEFECT("posts-race", "posts disturb each other",
	       "A request that is posted while another thread posts to the queue is lost.", 0,
	       ENTRIES(.fast.post_sq = racing_post)),
	DEFECT("polls-race", "polls disturb each other",
	       "A completion may be taken by two threads that poll at the same time.", 0,
	       ENTRIES(.fast.poll_cq = racing_poll)),
	DEFECT("creations-race", "verbs of different objects disturb each other",
	       "A queue pair is not created while another one is.", 0,
	       ENTRIES(.qp.create = racing_qp_create)),
	DEFECT("upcall-in-arm", "arming makes an upcall",
	       "Arming a queue that is not empty raises its event inside the call.", 0,
	       ENTRIES(.fast.arm_cq = telling_arm)),
	DEFECT("arm-in-upcall", "a handler cannot arm",
	       "Arming inside the upcall of a completion queue is refused.", 0,
	       ENTRIES(.up.cq_event = marked_event, .fast.arm_cq = handler_arm)),
	DEFECT("overflow-wrong-pair", "the wrong queue pair is reported to have overflowed",
	       "The event of a full completion queue names another queue pair.", 0,
	       .async = overflow_wrong),
	DEFECT("cq-boasts", "a completion queue reports more room than it has",
	       "One entry more than there are is reported.", 0, ENTRIES(.cq.create = boasting_cq)),
	DEFECT("unsupported-taken", "operations that are not supported are taken",
	       "A request whose operation is refused seems to be posted.", 0,
	       ENTRIES(.fast.post_sq = taking_post)),
	DEFECT("attempt-taken", "attempts that cannot be are taken",
	       "An attempt to connect in a wrong state seems to begin.", NEED_ADDRESS,
	       ENTRIES(.cm.connect = taking_connect)),
	DEFECT("datagram-any-key", "keys of datagrams are not checked",
	       "A datagram arrives whatever key it has.", NEED_UD, .wr = any_key,
	       .apply = pairs_noted),
	DEFECT("datagram-astray", "datagrams to nobody arrive somewhere",
	       "A datagram to a number that no queue pair has goes to the newest one.", NEED_UD,
	       .wr = astray, .apply = pairs_noted),
	DEFECT("datagram-cut", "datagrams that are too long are cut",
	       "A datagram above the limit is sent up to the limit.", NEED_UD, .wr = cut),
	DEFECT("datagram-deferred", "datagrams need their address handle when they are sent",
	       "A datagram is posted when a queue is polled, through a handle that may be gone.",
	       NEED_UD,
	       ENTRIES(.fast.post_sq = keeping_post, .fast.poll_cq = posting_poll,
		       .user.qp_close = forgetting_close)),
	DEFECT("datagram-key-privilege", "keys that need a privilege do not",
	       "A queue pair with a key of bit 31 can be created by everybody.", NEED_UD,
	       ENTRIES(.qp.create = unprivileged_qp_create)),
	DEFECT("handle-any-domain", "address handles work in any domain",
	       "An address handle belongs to a domain that was there before.", NEED_UD,
	       ENTRIES(.pd.create = later_pd, .ah.create = earlier_ah)),
	DEFECT("handle-stays", "an address handle outlives its end",
	       "Destroying an address handle does nothing.", NEED_UD,
	       ENTRIES(.ah.destroy = lasting_ah)),
	DEFECT("count-begins", "counting begins with what was there",
	       "A Send that was never posted is counted.", 0,
	       ENTRIES(.user.qp_count = begun_qp_count)),
	DEFECT("count-more", "all counters of the newest revision are written",
	       "Counters that the access layer does not know are written behind those that it has.",
	       0, ENTRIES(.user.qp_count = whole_qp_count)),
	DEFECT("handle-half", "a handle whose change failed is of no use",
	       "A change of an address handle that is refused destroys it.", NEED_UD,
	       ENTRIES(.ah.modify = lost_ah)),
};

const size_t defects_rules_count = sizeof(defects_rules) / sizeof(defects_rules[0]);
