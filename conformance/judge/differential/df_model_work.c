/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Work requests of the model [IT 7], [IT 8]. A request that was not refused is flushed at once if its endpoint's
 * connection has ended; otherwise it runs, and either works or breaks the connection. An error at the near end
 * completes the request with its status. An error at the far end does so only if the transport acknowledges each
 * request (IB). On iWARP the request may have completed successfully before, so success and flush are correct, too,
 * even for requests posted after it. Freedoms: early.
 */
#include <string.h>

#include "df_model.h"

#define BROKEN  MODEL_BIT(IT_CM_MSG_CONN_BROKEN_EVENT & 0xf)
#define SUCCESS MODEL_BIT(IT_DTO_SUCCESS)
#define FLUSHED MODEL_BIT(IT_DTO_ERR_FLUSHED)

static it_event_type_t
event_of(const struct df_step *step)
{
	switch ((int)step->kind) {
	case DF_RECV:
		return IT_DTO_RC_RECV_CMPL_EVENT;
	case DF_WRITE:
		return IT_DTO_RDMA_WRITE_CMPL_EVENT;
	case DF_READ:
	case DF_READ_RMR:
		return IT_DTO_RDMA_READ_CMPL_EVENT;
	case DF_ATOMIC:
		return step->how == IT_FETCH_AND_ADD ? IT_DTO_FETCH_ADD_CMPL_EVENT
						     : IT_DTO_CMP_SWAP_CMPL_EVENT;
	case DF_RMR_LINK:
	case DF_RMR_UNLINK:
		return IT_RMR_LINK_CMPL_EVENT;
	case DF_LMR_LINK:
	case DF_LMR_UNLINK:
		return IT_LMR_LINK_CMPL_EVENT;
	default:
		return IT_DTO_SEND_CMPL_EVENT;
	}
}

static bool
unlinks_sink(const struct df_step *step)
{
	return model_reads(step->kind) && (step->flags & IT_UNLINK_LOCAL_SINK) != 0;
}

static bool
unlinks_window(const struct df_step *step)
{
	return step->kind == DF_RMR_UNLINK || (step->kind == DF_READ_RMR && unlinks_sink(step));
}

/* A Read without a completion does not tell the library that its sink is unlinked. */
static enum model_link
after_unlink(const struct df_step *step)
{
	bool told = step->kind == DF_RMR_UNLINK || (step->flags & IT_COMPLETION_FLAG) != 0;

	return told ? MODEL_UNLINKED : MODEL_UNKNOWN;
}

void
model_keep(struct df_model *model, unsigned index, const struct df_step *step)
{
	struct model_posted posted = {.step = *step, .touched = DF_NEVER};

	for (int i = 0; i < step->segs; i++) {
		posted.made[i] = model->lmr[step->seg[i].lmr].made;
		posted.rights[i] = model->lmr[step->seg[i].lmr].rights;
	}
	g_array_set_size(model->work, index);
	g_array_append_val(model->work, posted);
}

static struct df_wr *
post(struct df_model *model, const struct df_step *step, unsigned statuses)
{
	unsigned index = model_wr_new(model, step->ep, step->kind != DF_RECV, event_of(step));
	struct df_wr *wr = DF_WR(model->expected, index);

	model_keep(model, index, step);
	wr->statuses = statuses;
	wr->length = (uint32_t)model_seg_sum(step);
	if (unlinks_sink(step))
		wr->unlinked = step->kind == DF_READ ? step->seg[0].lmr + 1 : -(step->obj + 1);
	wr->notify = (step->flags & IT_NOTIFY_FLAG) != 0;
	/* A success without the completion flag has no event; a failure always has one. */
	wr->silent = step->kind != DF_RECV && (step->flags & IT_COMPLETION_FLAG) == 0 &&
		     (statuses & SUCCESS) != 0;
	return wr;
}

void
model_probe(struct df_model *model, int ep)
{
	struct df_settle *settle = DF_SETTLEMENT(model->expected, model->settle);
	const struct df_step read = {.kind = DF_READ, .ep = ep, .flags = IT_COMPLETION_FLAG};
	struct df_wr *wr = post(model, &read, SUCCESS);

	wr->step = -1;
	wr->length = model->expected->probe;
	settle->source[ep] = model->ep[ep].peer;
	wr->cookie = DF_PROBE + (uint64_t)model->settle * DF_EPS + (uint64_t)ep;
	g_array_append_val(settle->probes, ep);
}

/* --- effects --------------------------------------------------------------------------------- */

static struct model_touch
touch_of(const struct df_step *step, bool remote, bool write)
{
	return (struct model_touch){
		.kind = step->kind,
		.ep = step->ep,
		.remote = remote,
		.write = write,
		.fenced = (step->flags & IT_BARRIER_FENCE_FLAG) != 0,
	};
}

static void
through_target(struct df_model *model, const struct model_target *target, struct model_touch touch,
	       struct model_octets *octets)
{
	touch.node = target->node;
	touch.off = target->off;
	touch.len = target->len;
	if (touch.write)
		model_write(model, &touch, octets->value, octets->vague);
	else
		model_read(model, &touch, octets->value, octets->vague);
}

static void
through_window(struct df_model *model, const struct df_step *step, struct model_octets *octets)
{
	struct model_touch touch = touch_of(step, false, true);
	struct df_range sink = model_window(model, step);

	touch.node = sink.node;
	touch.off = sink.off;
	touch.len = sink.len;
	model_write(model, &touch, octets->value, octets->vague);
}

static void
run_send(struct df_model *model, const struct df_step *step, const struct model_verdict *verdict,
	 struct model_octets *octets)
{
	int len = model_seg_sum(step);

	model_through_segments(model, step, touch_of(step, false, false), octets, len);
	if (verdict->takers.count == 1)
		model_through_segments(model, model_work_of(model, verdict->takers.wr[0]),
				       touch_of(step, true, true), octets, len);
}

static void
run_atomic(struct df_model *model, const struct df_step *step, const struct model_target *target,
	   struct model_octets *octets)
{
	struct model_touch touch = touch_of(step, true, true);
	uint64_t old, new;

	memcpy(octets->value, model->memory[target->node] + target->off, sizeof(old));
	memcpy(octets->vague, model->vague[target->node] + target->off, sizeof(old));
	memcpy(&old, octets->value, sizeof(old));
	if (step->how == IT_FETCH_AND_ADD)
		new = old + (uint64_t)(int64_t)step->a;
	else
		new = old == (uint64_t)(int64_t)step->b ? (uint64_t)(int64_t)step->a : old;
	/* One undefined octet makes the whole word undefined: a sum carries, a comparison decides. */
	if (memchr(octets->vague, 1, sizeof(old)) != NULL)
		memset(octets->vague, 1, sizeof(old));
	memcpy(octets->value, &new, sizeof(new));
	through_target(model, target, touch, octets);
	memcpy(octets->value, &old, sizeof(old));
	model_through_segments(model, step, touch_of(step, false, true), octets, sizeof(old));
}

/* The octets of a request that succeeds. */
static void
run(struct df_model *model, const struct df_step *step, const struct model_verdict *verdict)
{
	g_autofree struct model_octets *octets = g_new(struct model_octets, 1);
	int len = model_seg_sum(step);

	switch ((int)step->kind) {
	case DF_SEND:
	case DF_SEND_UNLINK:
		run_send(model, step, verdict, octets);
		break;
	case DF_WRITE:
		model_through_segments(model, step, touch_of(step, false, false), octets, len);
		through_target(model, &verdict->target, touch_of(step, true, true), octets);
		break;
	case DF_READ:
		through_target(model, &verdict->target, touch_of(step, true, false), octets);
		model_through_segments(model, step, touch_of(step, false, true), octets, len);
		break;
	case DF_READ_RMR:
		through_target(model, &verdict->target, touch_of(step, true, false), octets);
		through_window(model, step, octets);
		break;
	case DF_ATOMIC:
		run_atomic(model, step, &verdict->target, octets);
		break;
	default:
		break;
	}
}

static void
blur_segments(struct df_model *model, struct model_touch touch, const struct df_step *where)
{
	for (int i = 0; i < where->segs; i++) {
		struct df_range range = {.node = df_node(where->seg[i].lmr),
					 .off = model_seg_off(model, &where->seg[i]),
					 .len = where->seg[i].len};

		model_blur_at(model, touch, &range);
	}
}

/* The octets of a request that fails, or may fail: all that it could have written. Freedoms: lost. */
static void
blur(struct df_model *model, const struct df_step *step, const struct model_verdict *verdict)
{
	const struct df_range target = {verdict->target.node, verdict->target.off,
					verdict->target.len};
	const struct df_range sink = model_window(model, step);

	if (step->kind == DF_READ || step->kind == DF_ATOMIC)
		blur_segments(model, touch_of(step, false, true), step);
	if (step->kind == DF_READ_RMR)
		model_blur_at(model, touch_of(step, false, true), &sink);
	if (step->kind == DF_WRITE || step->kind == DF_ATOMIC)
		model_blur_at(model, touch_of(step, true, true), &target);
	/* If there are several, model_srq_take() does it. */
	if (verdict->takers.count == 1)
		blur_segments(model, touch_of(step, true, true),
			      model_work_of(model, verdict->takers.wr[0]));
}

/* --- links and unlinks ----------------------------------------------------------------------- */

static void
run_link(struct df_model *model, const struct df_step *step)
{
	struct model_rmr *rmr = &model->rmr[step->obj];

	rmr->linked = MODEL_LINKED;
	rmr->ep = step->ep;
	rmr->lmr = step->lmr;
	rmr->off = model->lmr[step->lmr].off + step->off;
	rmr->len = step->len;
	rmr->privs = model_privs(model, step->privs);
	rmr->mode = step->mode;
}

/* It may not have run: [IT 8.5] and [IT 15.6] leave open the state of a window or a sink then. */
static void
link_doubted(struct df_model *model, const struct df_step *step)
{
	struct model_rmr *rmr;

	if (unlinks_sink(step) && step->kind == DF_READ)
		model->lmr[step->seg[0].lmr].doubt = true;
	if (df_links_lmr(step->kind))
		model->lmr[step->obj].doubt = model->lmr[step->obj].stale = true;
	if (!df_links_rmr(step->kind) && !unlinks_window(step))
		return;
	rmr = &model->rmr[step->obj];
	rmr->linked = MODEL_UNKNOWN;
	rmr->changed = model->settle;
	rmr->ep = -1;
	rmr->lmr = -1;
}

/* The key that the message invalidates at the peer, and that its receive names. */
static void
run_remote_unlink(struct df_model *model, const struct df_step *step, struct df_wr *taker)
{
	if (step->key.kind == 'l') {
		model->lmr[step->key.slot].linked = false;
		model->lmr[step->key.slot].changed = model->settle;
		taker->unlinked = step->key.slot + 1;
	} else {
		model->rmr[step->key.slot].linked = MODEL_UNLINKED;
		model->rmr[step->key.slot].changed = model->settle;
		taker->unlinked = -(step->key.slot + 1);
	}
}

/* --- proof --------------------------------------------------------------------------------- */

/*
 * Does only a further request prove that this one has ended? A completion proves that its request,
 * and all requests before it, are done at this side. The completion of a Read, and that of a Send
 * whose receive has completed, also prove it for the peer.
 */
static bool
needs_proof(const struct df_step *step)
{
	if (step->kind == DF_SEND || step->kind == DF_SEND_UNLINK)
		return false;
	return step->kind == DF_WRITE || (step->flags & IT_COMPLETION_FLAG) == 0;
}

/* A Read of the runner shows it, if one is possible; the sink of one with octets may have to be open to the peer. */
static bool
can_prove(const struct df_model *model, int ep)
{
	return model->ep[ep].ord > 0 &&
	       (model->ep[model->ep[ep].peer].enable & DF_ENABLE_READ) != 0 &&
	       (model->expected->probe == 0 || (model->ep[ep].enable & DF_ENABLE_WRITE) != 0);
}

/* --- outcomes -------------------------------------------------------------------------------- */

static bool
is_message(const struct df_step *step)
{
	return step->kind == DF_SEND || step->kind == DF_SEND_UNLINK;
}

/* The completion of the message at the peer. */
static struct df_wr *
taken(struct df_model *model, const struct df_step *step, const struct model_verdict *verdict,
      bool good)
{
	const struct model_ep *peer = &model->ep[model->ep[step->ep].peer];
	struct df_wr *taker = peer->srq >= 0 ? model_srq_take(model, step, &verdict->takers, good)
					     : DF_WR(model->expected, verdict->takers.wr[0]);

	taker->settle = model->settle;
	taker->length = (uint32_t)model_seg_sum(step);
	taker->solicited = (step->flags & IT_SOLICITED_WAIT_FLAG) != 0;
	return taker;
}

static void
work_done(struct df_model *model, const struct df_step *step, const struct model_verdict *verdict)
{
	struct model_ep *end = &model->ep[step->ep];

	run(model, step, verdict);
	if (needs_proof(step))
		end->unproven = true;
	else if ((step->flags & IT_COMPLETION_FLAG) != 0)
		end->unproven = false;
	if (verdict->takers.count > 0) {
		struct df_wr *taker = taken(model, step, verdict, true);

		if (step->kind == DF_SEND_UNLINK)
			run_remote_unlink(model, step, taker);
	}
	if (unlinks_sink(step) && step->kind == DF_READ) {
		model->lmr[step->seg[0].lmr].linked = false;
		model->lmr[step->seg[0].lmr].changed = model->settle;
	}
	if (step->kind == DF_RMR_LINK)
		run_link(model, step);
	else if (unlinks_window(step))
		model->rmr[step->obj].linked = after_unlink(step);
	else if (df_links_lmr(step->kind))
		model_run_lmr(model, step);
	if (df_links_rmr(step->kind) || unlinks_window(step))
		model->rmr[step->obj].changed = model->settle;
	post(model, step, SUCCESS);
}

/* It breaks a connection that exists, or was about to end. */
static void
work_fails(struct df_model *model, const struct df_step *step, const struct model_verdict *verdict)
{
	bool doubt = model->ep[step->ep].end != MODEL_STANDS;
	bool exact = model->profile->remote_status;
	/* An error that is found when a response comes lets requests behind it reach the peer [IT 7.5]. */
	bool answered = model_reads(step->kind) || step->kind == DF_ATOMIC;
	bool shuts = verdict->near != 0 ? !answered : exact && !doubt;
	unsigned statuses = verdict->near;

	blur(model, step, verdict);
	if (verdict->near == 0) {
		statuses = verdict->far;
		if (!exact)
			statuses |= FLUSHED;
		/* These need a response. */
		if (!exact && !answered)
			statuses |= SUCCESS;
	} else {
		statuses |= verdict->far;
	}
	if (doubt)
		statuses |= FLUSHED | (verdict->near == 0 ? SUCCESS : 0);
	if (model->ep[step->ep].failed)
		statuses &= ~SUCCESS;
	model_end(model, step->ep, shuts ? MODEL_SHUT : MODEL_ENDING, BROKEN);
	if (verdict->near != 0)
		model->ep[step->ep].failed = true;
	if (verdict->takers.count > 0 && verdict->near == 0)
		taken(model, step, verdict, false)->statuses =
			verdict->taker | (doubt ? FLUSHED | SUCCESS : 0);
	link_doubted(model, step);
	post(model, step, statuses);
}

/* The connection is about to end: done or flushed. */
static void
work_doubted(struct df_model *model, const struct df_step *step,
	     const struct model_verdict *verdict)
{
	blur(model, step, verdict);
	if (verdict->takers.count > 0)
		taken(model, step, verdict, false)->statuses = SUCCESS | FLUSHED | verdict->taker;
	link_doubted(model, step);
	post(model, step, model->ep[step->ep].failed ? FLUSHED : SUCCESS | FLUSHED);
}

static void
receive(struct df_model *model, const struct df_step *step)
{
	const struct model_ep *end = &model->ep[step->ep];
	struct df_wr *wr;

	model_answer(model, IT_SUCCESS);
	wr = post(model, step, SUCCESS);
	if (end->state == IT_EP_STATE_NONOPERATIONAL)
		wr->statuses = FLUSHED;
	else
		wr->settle = DF_NEVER;
}

/*
 * A message that exceeds the hard watermark of its receiver [IT 12.9]: it takes no receive, and the
 * messages before it were delivered. Only the end of its group shows that, since completions that
 * are taken no longer count.
 */
static void
work_beyond(struct df_model *model, const struct df_step *step, struct model_verdict *verdict)
{
	verdict->takers.count = 0;
	verdict->far = MODEL_BIT(IT_DTO_ERR_REMOTE_RESPONDER);
	model_answer(model, IT_SUCCESS);
	work_fails(model, step, verdict);
	model_settle_after(model);
}

static void
request(struct df_model *model, const struct df_step *step)
{
	const struct model_ep *end = &model->ep[step->ep];
	struct model_verdict verdict;
	bool stands = end->end == MODEL_STANDS;

	if (end->state != IT_EP_STATE_CONNECTED || end->end == MODEL_SHUT) {
		model_answer(model, IT_SUCCESS);
		link_doubted(model, step);
		post(model, step, FLUSHED);
		return;
	}
	verdict = model_judge(model, step);
	bool beyond = is_message(step) && stands && verdict.near == 0 &&
		      model_beyond_hard(model, end->peer);

	if (model->profile->no_errors && ((verdict.near | verdict.far) != 0 || beyond))
		model_skip(model);
	if (model->profile->no_empty_read && model_reads(step->kind) && model_seg_sum(step) == 0)
		model_skip(model);
	/* A message to this end may be on its way; it need not arrive any more. */
	if (beyond && verdict.takers.count > 0 && model_hard_settled(model, end->peer) &&
	    !model_srq_arrives(model, step->ep) && !model_now(model)->skip) {
		work_beyond(model, step, &verdict);
		return;
	}
	if (!model_now(model)->skip && ((verdict.near | verdict.far) != 0 || beyond) &&
	    model_srq_busy(model, step->ep)) {
		model_settle_before(model);
		request(model, step);
		return;
	}
	/*
	 * A message without a receive would wait, with all requests behind it, so the end of requests
	 * without completions could not be observed. Or it ends the connection; Freedoms: unready
	 */
	if (is_message(step) && verdict.near == 0 && verdict.takers.count == 0)
		model_skip(model);
	if (is_message(step) && model->ep[end->peer].srq >= 0 && (!stands || verdict.near != 0))
		model_skip(model); /* it may take a receive of the S-RQ, or not */
	if (stands && needs_proof(step) && (verdict.near | verdict.far) == 0 &&
	    !can_prove(model, step->ep))
		model_skip(model);
	if (model_now(model)->skip)
		return;
	model_answer(model, IT_SUCCESS);
	if ((verdict.near | verdict.far) != 0)
		work_fails(model, step, &verdict);
	else if (!stands)
		work_doubted(model, step, &verdict);
	else
		work_done(model, step, &verdict);
}

/* Is this true of a region that the step, or the receive of its message, names? */
static bool
any_region(const struct df_model *model, const struct df_step *step,
	   bool (*holds)(const struct df_model *, const struct model_lmr *))
{
	for (int i = 0; i < step->segs; i++) {
		if (holds(model, &model->lmr[step->seg[i].lmr]))
			return true;
	}
	return (step->key.kind == 'l' || step->key.kind == 'L') &&
	       holds(model, &model->lmr[step->key.slot]);
}

static bool
named_region(const struct df_model *model, const struct df_step *step,
	     bool (*holds)(const struct df_model *, const struct model_lmr *))
{
	int peer = model->ep[step->ep].alive ? model->ep[step->ep].peer : -1;
	struct model_takers takers = {0};

	if (is_message(step) && peer >= 0)
		takers = model_takers(model, peer);
	for (int i = 0; i < takers.count; i++) {
		if (any_region(model, model_work_of(model, takers.wr[i]), holds))
			return true;
	}
	return any_region(model, step, holds);
}

static bool
changes_now(const struct df_model *model, const struct model_lmr *lmr)
{
	return lmr->changed == model->settle;
}

static bool
is_doubtful(const struct df_model *model, const struct model_lmr *lmr)
{
	(void)model;
	return lmr->alive && lmr->doubt;
}

/* A former key stays in effect where the link that replaced it did not run. */
static bool
names_former_window(const struct df_model *model, const struct df_step *step)
{
	return step->key.kind == 'R' && model->rmr[step->key.slot].alive &&
	       model->rmr[step->key.slot].linked == MODEL_UNKNOWN;
}

/* Does the step use anything that changes within the present group? */
static bool
uses_change(const struct df_model *model, const struct df_step *step)
{
	if (step->kind >= DF_RMR_LINK || step->kind == DF_SEND_UNLINK || unlinks_sink(step))
		return true;
	if (step->key.kind == 'r' && model->rmr[step->key.slot].changed == model->settle)
		return true;
	if (step->kind == DF_READ_RMR && model->rmr[step->obj].changed == model->settle)
		return true;
	return named_region(model, step, changes_now);
}

static bool
unlinks_region(const struct df_step *step)
{
	return step->kind == DF_SEND_UNLINK && (step->key.kind == 'l' || step->key.kind == 'L');
}

void
model_work(struct df_model *model, const struct df_step *step)
{
	if (uses_change(model, step))
		model_settle_before(model);
	if (named_region(model, step, is_doubtful) || names_former_window(model, step) ||
	    (model->profile->no_lmr_unlink && unlinks_region(step)))
		model_skip(model);
	if (step->kind == DF_SRQ_RECV && !model_now(model)->skip)
		model_srq_receive(model, step);
	if (step->kind == DF_SRQ_RECV || model_now(model)->skip || model_refused(model, step))
		return;
	if (step->kind == DF_RECV)
		receive(model, step);
	else
		request(model, step);
}
