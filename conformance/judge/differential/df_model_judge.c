/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The result of a work request [IT 7.2] to [IT 7.4], [IT 8], [IT 15.7]: is the post refused, and if not, which error
 * does the request meet, here or at the peer, when it runs? If there are several reasons to refuse a post, the model
 * accepts any of them: their order [IT 1.2] has tests of its own.
 */
#include "df_model.h"

#define ALWAYS_FLAGS \
	(IT_COMPLETION_FLAG | IT_NOTIFY_FLAG | IT_BARRIER_FENCE_FLAG | IT_COALESCE_WR_FLAG)

#define PROTECT MODEL_BIT(IT_DTO_ERR_LOCAL_PROTECTION)

static struct model_ep *
end_of(struct df_model *model, const struct df_step *step)
{
	return &model->ep[step->ep];
}

/* --- refusals -------------------------------------------------------------------------------- */

static int
flags_of(const struct df_model *model, const struct df_step *step)
{
	switch ((int)step->kind) {
	case DF_RECV:
		return IT_COMPLETION_FLAG | IT_NOTIFY_FLAG | IT_COALESCE_WR_FLAG;
	case DF_SEND:
	case DF_SEND_UNLINK:
		return ALWAYS_FLAGS | IT_SOLICITED_WAIT_FLAG;
	case DF_READ:
		return ALWAYS_FLAGS |
		       (model->profile->local_extensions && step->segs == 1 ? IT_UNLINK_LOCAL_SINK
									    : 0);
	case DF_READ_RMR:
		return ALWAYS_FLAGS | (model->profile->local_extensions ? IT_UNLINK_LOCAL_SINK : 0);
	case DF_RMR_UNLINK:
	case DF_LMR_UNLINK:
		return ALWAYS_FLAGS | (model->profile->unlink_fence ? IT_UNLINK_FENCE_FLAG : 0);
	default:
		return ALWAYS_FLAGS;
	}
}

static int
segs_of(const struct df_profile *profile, enum df_kind kind)
{
	switch ((int)kind) {
	case DF_RECV:
		return profile->recv_segs;
	case DF_WRITE:
		return profile->write_segs;
	case DF_READ:
		return profile->read_segs;
	case DF_ATOMIC:
		return DF_SEGS;
	default:
		return profile->send_segs;
	}
}

void
model_refuse_segments(struct df_model *model, const struct df_step *step, int node, int most,
		      bool priv)
{
	for (int i = 0; i < step->segs; i++) {
		const struct df_seg *seg = &step->seg[i];

		if (seg->len > 0 && (!model->lmr[seg->lmr].alive || df_node(seg->lmr) != node))
			model_answer(model, IT_ERR_INVALID_LMR);
		if (seg->len > 0 && model->lmr[seg->lmr].direct && !priv)
			model_answer(model, IT_ERR_PRIV_OPS_UNAVAILABLE);
	}
	if (step->segs > most)
		model_answer(model, IT_ERR_INVALID_NUM_SEGMENTS);
}

static void
refuse_segments(struct df_model *model, const struct df_step *step)
{
	model_refuse_segments(model, step, df_node(step->ep), segs_of(model->profile, step->kind),
			      end_of(model, step)->priv);
	if (step->kind == DF_RECV && end_of(model, step)->srq >= 0)
		model_answer(model, IT_ERR_INVALID_EP); /* */
	if (step->kind != DF_RECV && model_seg_sum(step) > end_of(model, step)->payload)
		model_answer(model, IT_ERR_PAYLOAD_SIZE);
}

static void
refuse_atomic(struct df_model *model, const struct df_step *step)
{
	if (step->kind != DF_ATOMIC)
		return;
	if (!model->profile->atomics)
		model_answer(model, IT_ERR_OP_NOT_SUPPORTED);
	if (step->how != IT_FETCH_AND_ADD && step->how != IT_COMPARE_AND_SWAP)
		model_answer(model, IT_ERR_INVALID_ATOMIC_OP);
	if (step->segs != 1 || step->seg[0].len != 8)
		model_answer(model, IT_ERR_INVALID_LENGTH);
	/* Here a segment of no octets is looked at. */
	if (step->segs == 0 || (step->seg[0].len == 0 && !model->lmr[step->seg[0].lmr].alive))
		model_answer(model, IT_ERR_INVALID_LMR);
	/*
	 * The addresses of regions are multiples of 8, as the arena is; programs with other addresses avoid this
	 * operation.
	 */
	if (step->off % 8 != 0)
		model_answer(model, IT_ERR_INVALID_ADDRESS);
}

/*
 * Refuses a post if its queue has no slot. Some slots are certainly in use, others possibly: those
 * of requests whose events may have come or not.
 */
static void
refuse_slots(struct df_model *model, const struct df_step *step)
{
	const struct model_ep *end = end_of(model, step);
	const GArray *queue = step->kind == DF_RECV ? end->rq : end->sq;
	unsigned size = (unsigned)(step->kind == DF_RECV ? end->rq_size : end->sq_size);
	unsigned sure = queue->len, silent = 0, early = 0;
	/* A callback takes events as they come, so of this settlement, too. */
	bool taken = model->way[df_node(step->ep)][step->kind == DF_RECV] == DF_WAY_CALLBACK;

	for (unsigned i = 0; i < queue->len; i++) {
		const struct df_wr *wr = DF_WR(model->expected, g_array_index(queue, unsigned, i));

		silent = wr->silent ? silent + 1 : 0;
		early += wr->silent;
		if (wr->settle == model->settle && !taken)
			continue;
		/* Its event may have come. */
		if (wr->silent ? wr->late_flush || wr->statuses != MODEL_BIT(IT_DTO_SUCCESS)
			       : taken) {
			sure = queue->len - i - 1;
			early = 0;
		}
	}
	if (model->profile->early_slots)
		sure -= early;
	if (sure >= size)
		model_answer(model, IT_ERR_TOO_MANY_POSTS);
	else if (queue->len >= size)
		model_skip(model);
	/* A queue full of requests without completions would stay full for ever. */
	if (step->kind != DF_RECV && (step->flags & IT_COMPLETION_FLAG) == 0 && silent + 1 >= size)
		model_skip(model);
}

static void
refuse_link(struct df_model *model, const struct df_step *step)
{
	const struct model_rmr *rmr = &model->rmr[step->obj];
	const struct model_lmr *lmr = &model->lmr[step->lmr];

	if (!rmr->alive)
		model_answer(model, IT_ERR_INVALID_RMR);
	if (!lmr->alive || df_node(step->lmr) != df_node(step->ep))
		model_answer(model, IT_ERR_INVALID_LMR);
	if (df_node(step->obj) != df_node(step->ep))
		model_skip(model); /* the order of checks, for which [IT 1.2] has tests */
	if (model_now(model)->answer.count > 0)
		return;
	if (!lmr->linked || lmr->stale)
		model_skip(model);
	if (step->len == 0)
		model_answer(model, IT_ERR_INVALID_LENGTH);
	if (step->off < 0 || step->off + step->len > lmr->len)
		model_answer(model, IT_ERR_RANGE);
	if (lmr->mode == IT_ADDR_MODE_RELATIVE ||
	    (step->mode == IT_ADDR_MODE_RELATIVE && !model->profile->relative))
		model_answer(model, IT_ERR_INVALID_ADDR_MODE);
	if (!model_rmr_privs_good(model_privs(model, step->privs), lmr->privs))
		model_answer(model, IT_ERR_INVALID_PRIVS);
	if (rmr->pz != lmr->pz || rmr->pz != end_of(model, step)->pz)
		model_answer(model, IT_ERR_INVALID_PZ);
}

static void
refuse_unlink(struct df_model *model, const struct df_step *step)
{
	const struct model_rmr *rmr = &model->rmr[step->obj];
	bool can = rmr->type == IT_RMR_TYPE_WIDE ? model->profile->wide_unlink
						 : model->profile->narrow_unlink;

	if (!rmr->alive) {
		model_answer(model, IT_ERR_INVALID_RMR);
		return;
	}
	if (!can)
		model_answer(model, IT_ERR_OP_NOT_SUPPORTED);
	if (df_node(step->obj) != df_node(step->ep) || rmr->pz != end_of(model, step)->pz)
		model_skip(model);
	else if (rmr->linked == MODEL_LINKED && rmr->type == IT_RMR_TYPE_NARROW &&
		 rmr->ep != step->ep)
		model_answer(model, IT_ERR_INVALID_EP);
}

/* The sink of a Read into a window. */
static void
refuse_window(struct df_model *model, const struct df_step *step)
{
	const struct model_rmr *rmr;

	if (step->kind != DF_READ_RMR)
		return;
	rmr = &model->rmr[step->obj];
	if (!model->profile->local_extensions)
		model_answer(model, IT_ERR_OP_NOT_SUPPORTED);
	if (!rmr->alive || df_node(step->obj) != df_node(step->ep))
		model_answer(model, IT_ERR_INVALID_RMR);
	else if (rmr->linked == MODEL_UNKNOWN || rmr->type == IT_RMR_TYPE_WIDE || step->len == 0)
		model_skip(model); /* what is not checked, or an adapter need not offer */
}

/* Add every status with which the post is refused. Is there one, or is the step to be left out? */
bool
model_refused(struct df_model *model, const struct df_step *step)
{
	const struct model_ep *end = end_of(model, step);

	if (!end->alive) {
		model_answer(model,
			     step->kind == DF_RECV ? IT_ERR_INVALID_HANDLE : IT_ERR_INVALID_EP);
		/* The call takes the window before the endpoint. */
		if (step->kind >= DF_RMR_LINK)
			model_skip(model);
		return true;
	}
	if (df_links_lmr(step->kind))
		model_refuse_lmr(model, step);
	else if (step->kind == DF_RMR_LINK)
		refuse_link(model, step);
	else if (step->kind == DF_RMR_UNLINK)
		refuse_unlink(model, step);
	else
		refuse_segments(model, step);
	if (df_links_rmr(step->kind) && model->rmr[step->obj].linked == MODEL_UNKNOWN)
		model_skip(model);
	if (step->kind == DF_SEND_UNLINK && !model->profile->send_unlink)
		model_answer(model, IT_ERR_OP_NOT_SUPPORTED);
	refuse_atomic(model, step);
	refuse_window(model, step);
	if ((step->flags & ~flags_of(model, step)) != 0)
		model_answer(model, IT_ERR_INVALID_DTO_FLAGS);
	if (step->kind != DF_RECV && end->state == IT_EP_STATE_UNCONNECTED)
		model_answer(model, IT_ERR_INVALID_EP_STATE);
	refuse_slots(model, step);
	return model_now(model)->answer.count > 0 || model_now(model)->skip;
}

/* --- faults ---------------------------------------------------------------------------------- */

struct model_takers
model_takers(const struct df_model *model, int ep)
{
	const GArray *rq = model->ep[ep].rq;

	if (model->ep[ep].srq >= 0)
		return model_srq_takers(&model->srq[model->ep[ep].srq]);

	for (unsigned i = 0; i < rq->len; i++) {
		unsigned wr = g_array_index(rq, unsigned, i);

		if (DF_WR(model->expected, wr)->settle == DF_NEVER)
			return (struct model_takers){.count = 1, .wr = {(int)wr}};
	}
	return (struct model_takers){0};
}

/* Can the sink of a Read be unlinked when the Read is done [IT 7.2]? */
static unsigned
judge_sink(struct df_model *model, const struct df_step *step)
{
	const struct df_seg *sink = &step->seg[0];

	if (step->kind != DF_READ || (step->flags & IT_UNLINK_LOCAL_SINK) == 0)
		return 0; /* a narrow window can be unlinked */
	if (sink->len == 0 || model_rmr_onto(model, sink->lmr, MODEL_UNKNOWN))
		model_skip(model);
	if (model->lmr[sink->lmr].shareable || model_rmr_onto(model, sink->lmr, MODEL_LINKED))
		return MODEL_BIT(IT_DTO_ERR_LOCAL_MM_OPERATION);
	return 0;
}

static void
judge_near(struct df_model *model, const struct df_step *step, struct model_verdict *verdict)
{
	const struct model_ep *end = end_of(model, step);
	int right = IT_PRIV_LOCAL_READ;

	if (model_reads(step->kind) || step->kind == DF_ATOMIC) {
		right = IT_PRIV_LOCAL_WRITE;
		if (end->ord == 0)
			verdict->near |= MODEL_BIT(IT_DTO_ERR_LOCAL_EP);
	}
	for (int i = 0; i < step->segs; i++)
		verdict->near |= model_seg_fault(model, end->pz, &step->seg[i], right);
	verdict->near |= judge_sink(model, step);
	if (step->kind == DF_READ_RMR)
		verdict->near |= model_window_fault(model, step);
	if (df_links_lmr(step->kind))
		verdict->near |= model_lmr_fault(model, step);
	if (right != IT_PRIV_LOCAL_WRITE || !model->profile->sink_remote_write)
		return;
	for (int i = 0; i < step->segs && step->kind == DF_READ; i++) {
		if (step->seg[i].len > 0 &&
		    ((model->lmr[step->seg[i].lmr].privs & IT_PRIV_REMOTE_WRITE) == 0 ||
		     (end->enable & DF_ENABLE_WRITE) == 0))
			verdict->near |= PROTECT;
	}
	/* Checked before the request is sent, or when its response comes [IT 8.3]. */
	if ((verdict->near & PROTECT) != 0)
		verdict->near |= MODEL_BIT(IT_DTO_ERR_FLUSHED);
}

static void
judge_target(struct df_model *model, const struct df_step *step, struct model_verdict *verdict)
{
	int enable = model->ep[end_of(model, step)->peer].enable;
	int right = IT_PRIV_REMOTE_WRITE, need = DF_ENABLE_WRITE, len = model_seg_sum(step);

	if (model_reads(step->kind)) {
		right = IT_PRIV_REMOTE_READ;
		need = DF_ENABLE_READ;
	} else if (step->kind == DF_ATOMIC) {
		right = IT_PRIV_ATOMIC;
		need = DF_ENABLE_ATOMIC;
	}
	if (len == 0) { /* the memory is not checked; a Read needs its right all the same */
		verdict->target = (struct model_target){.good = true};
		if ((enable & need) == 0 && model_reads(step->kind))
			verdict->far |= MODEL_BIT(IT_DTO_ERR_REMOTE_ACCESS);
		else if ((enable & need) == 0)
			model_skip(model); /* not determined for Writes */
		return;
	}
	verdict->target = model_target(model, step, right, len);
	if ((enable & need) == 0)
		verdict->target.len = 0;
	if (!verdict->target.good || (enable & need) == 0)
		verdict->far |= MODEL_BIT(IT_DTO_ERR_REMOTE_ACCESS);
}

/* The segment of a receive, up to some length. Its region may have changed since the post. */
static unsigned
receive_fault(struct df_model *model, int pz, int wr, int i, int len)
{
	const struct model_posted *posted = model_posted_of(model, wr);
	struct df_seg seg = posted->step.seg[i];
	const struct model_lmr *lmr = &model->lmr[seg.lmr];

	seg.len = len;
	if (len == 0)
		return 0;
	if (!lmr->alive || lmr->made != posted->made[i])
		return PROTECT;
	if (lmr->rights != posted->rights[i])
		model_skip(model); /* not determined, [IT 8.8] */
	return model_seg_fault(model, pz, &seg, IT_PRIV_LOCAL_WRITE);
}

/* The receive is too small for the message, or not writable with objects of the zone. */
static unsigned
judge_taker(struct df_model *model, const struct df_step *step, int pz, int receive)
{
	const struct df_step *taker = model_work_of(model, receive);
	int left = model_seg_sum(step);
	unsigned faults = 0;

	if (left > model_seg_sum(taker))
		faults |= MODEL_BIT(IT_DTO_ERR_LOCAL_LENGTH);
	for (int i = 0; i < taker->segs; i++) {
		struct df_seg used = taker->seg[i];
		unsigned fault = receive_fault(model, pz, receive, i, used.len);

		/* It is not determined whether memory that the message does not reach is checked. */
		used.len = CLAMP(left, 0, used.len);
		if (fault != receive_fault(model, pz, receive, i, used.len))
			model_skip(model);
		faults |= fault;
		left -= used.len;
	}
	return faults;
}

static void
judge_receive(struct df_model *model, const struct df_step *step, struct model_verdict *verdict)
{
	const struct model_ep *peer = &model->ep[end_of(model, step)->peer];
	int pz = peer->srq >= 0 ? model->srq[peer->srq].pz : peer->pz;

	verdict->takers = model_takers(model, end_of(model, step)->peer);
	for (int i = 0; i < verdict->takers.count; i++) {
		unsigned faults = judge_taker(model, step, pz, verdict->takers.wr[i]);

		if (i > 0 && faults != verdict->taker)
			model_skip(model); /* which of them takes the message is open */
		verdict->taker = faults;
	}
	if (verdict->taker != 0)
		verdict->far |= MODEL_BIT(IT_DTO_ERR_REMOTE_RESPONDER);
}

/* A former key of an object that is not linked: it need not be told from the last one, so the unlink may succeed. */
static bool
names_unlinked(const struct df_model *model, const struct df_key *key)
{
	if (key->kind == 'L')
		return model->lmr[key->slot].alive && !model->lmr[key->slot].linked;
	return key->kind == 'R' && model->rmr[key->slot].alive &&
	       model->rmr[key->slot].linked != MODEL_LINKED;
}

/* Does the key exist that a Send invalidates at the peer, and may this connection do it [IT 8.6]? */
static void
judge_unlink(struct df_model *model, const struct df_step *step, struct model_verdict *verdict)
{
	int place = end_of(model, step)->peer;
	const struct model_ep *peer = &model->ep[place];
	/* atomics alone do not permit it. */
	bool good = (peer->enable & (DF_ENABLE_READ | DF_ENABLE_WRITE)) != 0 &&
		    df_node(step->key.slot) == df_node(place);

	if (step->key.kind == 'l') {
		const struct model_lmr *lmr = &model->lmr[step->key.slot];

		if (good && lmr->alive &&
		    (!lmr->linked || model_rmr_onto(model, step->key.slot, MODEL_UNKNOWN)))
			model_skip(model);
		good = good && lmr->alive && !lmr->shareable && lmr->pz == peer->pz &&
		       (lmr->privs & ~IT_PRIV_LOCAL) != 0 &&
		       !model_rmr_onto(model, step->key.slot, MODEL_LINKED);
	} else if (step->key.kind == 'r') {
		const struct model_rmr *rmr = &model->rmr[step->key.slot];

		if (good && rmr->alive && rmr->linked != MODEL_LINKED)
			model_skip(model);
		good = good && rmr->alive && rmr->type == IT_RMR_TYPE_NARROW && rmr->ep == place;
	} else {
		good = false;
		if (names_unlinked(model, &step->key) && !model->profile->imagined)
			model_skip(model);
	}
	if (!good) {
		verdict->taker |= PROTECT;
		verdict->far |= MODEL_BIT(IT_DTO_ERR_REMOTE_ACCESS) |
				MODEL_BIT(IT_DTO_ERR_REMOTE_RESPONDER);
	}
}

struct model_verdict
model_judge(struct df_model *model, const struct df_step *step)
{
	struct model_verdict verdict = {0};

	judge_near(model, step, &verdict);
	if (step->kind == DF_SEND || step->kind == DF_SEND_UNLINK)
		judge_receive(model, step, &verdict);
	else if (step->kind < DF_RMR_LINK)
		judge_target(model, step, &verdict);
	if (step->kind == DF_SEND_UNLINK)
		judge_unlink(model, step, &verdict);
	if (step->kind == DF_RMR_LINK && model->rmr[step->obj].linked == MODEL_LINKED &&
	    model->rmr[step->obj].type == IT_RMR_TYPE_NARROW)
		verdict.near |= MODEL_BIT(IT_RMR_OPERATION_FAILED);
	/* A sink is unlinked last, so errors at the peer come first. */
	if ((verdict.near & MODEL_BIT(IT_DTO_ERR_LOCAL_MM_OPERATION)) != 0 && verdict.far != 0)
		verdict.near |= MODEL_BIT(IT_DTO_ERR_FLUSHED);
	return verdict;
}
