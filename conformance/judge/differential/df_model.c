/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The model's endpoints and connections, and its settlements [IT 4], [IT 7.3], [IT 7.6]. In the
 * model every request runs at once. That is what the specification lets a consumer see of an
 * established connection, once all completions are there. If a connection ends while requests are
 * outstanding, the specification leaves open which of them ran; then the model expects "done or
 * flushed", and the memory that they write becomes undefined. Other results that the specification
 * leaves open, for example whether a call already sees the end of a connection, are kept out of
 * programs: such a step is left out, or a settlement is made before it.
 */
#include "df_model.h"

#include <string.h>

static struct model_ep *
end_of(struct df_model *model, int ep)
{
	return &model->ep[ep];
}

void
model_answer(struct df_model *model, it_status_t status)
{
	struct df_answer *answer = &model_now(model)->answer;

	for (int i = 0; i < answer->count; i++) {
		if (answer->any[i] == status)
			return;
	}
	g_assert(answer->count < DF_ANSWERS);
	answer->any[answer->count++] = status;
}

void
model_skip(struct df_model *model)
{
	model_now(model)->skip = true;
}

unsigned
model_wr_new(struct df_model *model, int ep, bool request, it_event_type_t event)
{
	struct model_ep *end = end_of(model, ep);
	struct df_wr wr = {
		.cookie = (uint64_t)model->step + 1,
		.step = model->step,
		.ep = ep,
		.life = end->life,
		.request = request,
		.event = event,
		.statuses = MODEL_BIT(IT_DTO_SUCCESS),
		.strict = end->end == MODEL_STANDS,
		.late_flush = request && model->profile->late_flush,
		.settle = model->settle,
	};
	unsigned index = model->expected->wrs->len;

	g_array_append_val(model->expected->wrs, wr);
	g_array_append_val(request ? end->sq : end->rq, index);
	model->dirty = true;
	return index;
}

/* --- ends of connections --------------------------------------------------------------------- */

static bool
is_of(const struct df_model *model, const struct df_wr *wr, int ep)
{
	return wr->ep == ep && wr->life == model->ep[ep].life;
}

/* Outstanding requests may have been flushed; then the memory that they write is undefined. */
static bool
mates_doubted(struct df_model *model, int self)
{
	int peer = model->ep[self].peer;
	bool any = false;

	for (unsigned i = 0; i < model->expected->wrs->len; i++) {
		struct df_wr *wr = DF_WR(model->expected, i);

		if (wr->settle != model->settle ||
		    !(is_of(model, wr, self) || is_of(model, wr, peer)))
			continue;
		any = true;
		wr->statuses |= MODEL_BIT(IT_DTO_ERR_FLUSHED);
	}
	model_blur_ep(model, self);
	model_blur_ep(model, peer);
	return any;
}

void
model_end(struct df_model *model, int self, enum model_end how, unsigned cause)
{
	struct model_ep *near = end_of(model, self), *far = end_of(model, near->peer);
	bool busy = mates_doubted(model, self);
	bool leaves = cause == MODEL_BIT(IT_CM_MSG_CONN_DISCONNECT_EVENT & 0xf);

	model_lmr_ended(model);
	model_rmr_ended(model, self);
	model_rmr_ended(model, near->peer);
	near->end = MAX(near->end, how);
	far->end = MAX(far->end, MODEL_ENDING);
	if (!near->left)
		near->events |= cause;
	if (!far->left)
		far->events |= cause;
	/* iWARP has no orderly end while requests are outstanding. */
	if (leaves && busy && !model->profile->ib && !far->left)
		far->events |= MODEL_BIT(IT_CM_MSG_CONN_BROKEN_EVENT & 0xf);
	if (!leaves && !far->left && model->profile->orderly_end)
		far->events |= MODEL_BIT(IT_CM_MSG_CONN_DISCONNECT_EVENT & 0xf);
	near->left |= leaves;
	model->dirty = true;
}

void
model_cm_expect(struct df_model *model, int ep, unsigned events)
{
	struct df_settle *settle = DF_SETTLEMENT(model->expected, model->settle);
	struct df_cm cm = {.ep = ep, .events = events};

	g_array_append_val(settle->cm, cm);
}

void
model_flush_receives(struct df_model *model, int ep, bool silent)
{
	GArray *rq = model->ep[ep].rq;

	for (unsigned i = 0; i < rq->len; i++) {
		struct df_wr *wr = DF_WR(model->expected, g_array_index(rq, unsigned, i));

		if (wr->settle != DF_NEVER)
			continue;
		wr->statuses = MODEL_BIT(IT_DTO_ERR_FLUSHED);
		wr->silent = silent;
		wr->settle = model->settle;
	}
}

/* --- settlements ----------------------------------------------------------------------------- */

void
model_slots_return(struct df_model *model, GArray *queue)
{
	unsigned gone = 0;

	for (unsigned i = 0; i < queue->len; i++) {
		const struct df_wr *wr = DF_WR(model->expected, g_array_index(queue, unsigned, i));

		if (wr->settle != DF_NEVER && !wr->silent)
			gone = i + 1;
	}
	g_array_remove_range(queue, 0, gone);
}

static void
ep_settle(struct df_model *model, int ep)
{
	struct model_ep *end = end_of(model, ep);

	if (end->end != MODEL_STANDS) {
		model_flush_receives(model, ep, false);
		model_cm_expect(model, ep, end->events);
		end->ends = true;
		end->state = IT_EP_STATE_NONOPERATIONAL;
		end->peer = -1;
		end->end = MODEL_STANDS;
		end->left = false;
		end->failed = false;
		end->events = 0;
		end->unproven = false;
	}
	if (end->unproven) {
		model_probe(model, ep);
		end->unproven = false;
	}
	model_slots_return(model, end->sq);
	model_slots_return(model, end->rq);
}

/* The settlement that takes the event of a request that is posted now. */
static void
settle_open(struct df_model *model)
{
	GArray *settles = model->expected->settles;
	struct df_settle *settle;

	model->settle = (int)settles->len;
	g_array_set_size(settles, settles->len + 1);
	settle = DF_SETTLEMENT(model->expected, model->settle);
	settle->step = model->step;
	settle->cm = g_array_new(FALSE, TRUE, sizeof(struct df_cm));
	settle->probes = g_array_new(FALSE, TRUE, sizeof(int));
	settle->async = g_array_new(FALSE, TRUE, sizeof(struct df_async));
	settle->unaff = g_array_new(FALSE, TRUE, sizeof(struct df_unaff));
}

/*
 * Sets for each dispatcher with threshold 0 [IT 6.2.4] whether its completions are known. They are
 * not if a connection ends, because its completions must be taken at once then.
 */
static void
settle_watch(const struct df_model *model, struct df_settle *now)
{
	for (int i = 0; i < 2 * DF_NODES; i++)
		now->watch[i / 2][i % 2] =
			model->threshold[i / 2][i % 2] == 0 &&
			model->way[i / 2][i % 2] == DF_WAY_WAIT && !now->dead[i / 2] &&
			(i % 2 == 0 || !(now->hold[i / 2] || model->profile->all_solicited));
	for (unsigned i = 0; i < now->cm->len; i++) {
		const unsigned ends = ~MODEL_BIT(IT_CM_MSG_CONN_ESTABLISHED_EVENT & 0xf);

		if ((g_array_index(now->cm, struct df_cm, i).events & ends) != 0)
			memset(now->watch, 0, sizeof(now->watch));
	}
	for (unsigned i = 0; i < model->expected->wrs->len; i++) {
		const struct df_wr *wr = DF_WR(model->expected, i);

		if (wr->settle == model->settle && wr->silent &&
		    wr->statuses != MODEL_BIT(IT_DTO_SUCCESS))
			now->watch[df_node(wr->ep)][wr->request ? 0 : 1] = false;
	}
}

static void
settle(struct df_model *model)
{
	struct df_settle *now = DF_SETTLEMENT(model->expected, model->settle);

	model_faults_settle(model, now);
	for (int i = 0; i < DF_EPS; i++) {
		if (model->ep[i].alive)
			ep_settle(model, i);
		now->ep[i].state = model->ep[i].alive ? model->ep[i].state : -1;
		now->ep[i].ord = model->ep[i].ord;
	}
	if (model->poisoned)
		model_blur_ep(model, -1);
	model_limits_settle(model, now);
	model_srq_settle(model);
	model_datagram_settle(model, now->ud);
	for (int i = 0; i < DF_NODES; i++) {
		now->memory[i] = g_memdup2(model->memory[i], DF_MEMORY);
		now->vague[i] = g_memdup2(model->vague[i], DF_MEMORY);
	}
	settle_watch(model, now);
	now->step = model->step;
	g_array_set_size(model->touches, 0);
	model->poisoned = false;
	model->dirty = false;
	settle_open(model);
}

void
model_settle_before(struct df_model *model)
{
	if (!model->dirty)
		return;
	model_now(model)->settle_before = true;
	settle(model);
}

void
model_settle_after(struct df_model *model)
{
	model_now(model)->settle_after = true;
	settle(model);
}

/* --- steps ----------------------------------------------------------------------------------- */

static void
ep_create(struct df_model *model, const struct df_step *step)
{
	struct model_ep *end = end_of(model, step->ep);

	if (end->alive || df_node(step->pz) != df_node(step->ep)) {
		model_skip(model);
		return;
	}
	if ((step->enable & DF_ENABLE_ATOMIC) != 0 && !model->profile->atomics)
		model_answer(model, IT_ERR_INVALID_EP_ATTR);
	if (step->priv != 0 && !model->profile->privileged)
		model_answer(model, IT_ERR_PRIV_OPS_UNAVAILABLE);
	if (step->srq > 0 && !model->profile->has_srq)
		model_answer(model, IT_ERR_SRQ_NOT_SUPPORTED);
	if (step->srq > 0 &&
	    (!model->srq[step->srq - 1].alive || df_node(step->srq - 1) != df_node(step->ep)))
		model_answer(model, IT_ERR_INVALID_SRQ);
	else if (step->srq > 0)
		model_refuse_limits(model, step, step->srq - 1, 3);
	if (step->srq > 0 && model->profile->srq_of_zone && model->srq[step->srq - 1].alive &&
	    model->srq[step->srq - 1].pz != step->pz)
		model_answer(model, IT_ERR_OP_NOT_SUPPORTED);
	if (model_now(model)->answer.count > 0)
		return;
	model_answer(model, IT_SUCCESS);
	end->alive = true;
	end->life++;
	end->pz = step->pz;
	end->srq = step->srq - 1;
	end->state = IT_EP_STATE_UNCONNECTED;
	end->sq_size = model->profile->sq[step->sq];
	end->rq_size = model->profile->rq[step->rq];
	end->ird = model->profile->ird_ord ? MIN(step->ird, model->profile->most_ird)
					   : model->profile->most_ird;
	end->ord = MIN(step->ord, model->profile->most_ord);
	if (!model->profile->ird_ord)
		end->ord = MIN(end->ord, end->ird);
	end->ord_asked = end->ord;
	end->enable = step->enable != DF_ENABLE_ALL
			      ? step->enable
			      : DF_ENABLE_READ | DF_ENABLE_WRITE |
					(model->profile->atomics ? DF_ENABLE_ATOMIC : 0);
	end->payload = step->payload != 0 ? step->payload : INT_MAX;
	end->peer = -1;
	end->end = MODEL_STANDS;
	end->unproven = false;
	end->ends = false;
	end->priv = step->priv != 0;
	end->soft = end->soft_set = step->srq > 0 ? step->soft : 0;
	end->hard = step->srq > 0 ? step->hard : 0;
	end->soft_doubt = false;
	g_array_set_size(end->sq, 0);
	g_array_set_size(end->rq, 0);
}

static void
ep_free(struct df_model *model, const struct df_step *step)
{
	struct model_ep *end = end_of(model, step->ep);

	if (!end->alive) {
		model_answer(model, IT_ERR_INVALID_EP);
	} else if (model_rmr_through(model, step->ep, MODEL_UNKNOWN)) {
		model_skip(model);
	} else if (model_rmr_through(model, step->ep, MODEL_LINKED)) {
		model_answer(model, IT_ERR_EP_BUSY);
	} else {
		model_answer(model, IT_SUCCESS);
		model_flush_receives(model, step->ep,
				     true); /* queued before the free, or not there */
		if (end->peer >= 0) {
			struct model_ep *far = end_of(model, end->peer);

			far->end = MODEL_ENDING;
			far->events = MODEL_BIT(IT_CM_MSG_CONN_BROKEN_EVENT & 0xf) |
				      MODEL_BIT(IT_CM_MSG_CONN_DISCONNECT_EVENT & 0xf);
			model->dirty = true;
		}
		end->alive = false;
		model_settle_after(model);
	}
}

static void
reset(struct df_model *model, const struct df_step *step)
{
	struct model_ep *end = end_of(model, step->ep);

	if (!end->alive) {
		model_answer(model, IT_ERR_INVALID_EP);
	} else if (end->state == IT_EP_STATE_CONNECTED) {
		model_answer(model, IT_ERR_INVALID_EP_STATE);
	} else if (end->state == IT_EP_STATE_NONOPERATIONAL && model->profile->once) {
		model_answer(model, IT_ERR_CANNOT_RESET);
		model_settle_after(model);
	} else {
		model_answer(model, IT_SUCCESS);
		if (end->state == IT_EP_STATE_NONOPERATIONAL) {
			model_rmr_reset(model, step->ep);
			end->ord = end->ord_asked;
			g_array_set_size(end->sq, 0);
		}
		end->state = IT_EP_STATE_UNCONNECTED;
		model_settle_after(model);
	}
}

static void
disconnect(struct df_model *model, const struct df_step *step)
{
	const struct model_ep *end = end_of(model, step->ep);

	if (!end->alive) {
		model_answer(model, IT_ERR_INVALID_EP);
	} else if (end->state == IT_EP_STATE_UNCONNECTED) {
		model_answer(model, IT_ERR_INVALID_EP_STATE);
	} else {
		model_answer(model, IT_SUCCESS);
		if (model_srq_busy(model, step->ep))
			model_settle_before(model);
		if (end->state == IT_EP_STATE_CONNECTED && !end->left)
			model_end(model, step->ep, MODEL_SHUT,
				  MODEL_BIT(IT_CM_MSG_CONN_DISCONNECT_EVENT & 0xf));
	}
}

static void
fill(struct df_model *model, const struct df_step *step)
{
	model_fill(model, step->obj, step->off, step->len, step->a);
}

static void
threshold(struct df_model *model, const struct df_step *step)
{
	model_answer(model, IT_SUCCESS);
	model->threshold[step->obj][step->how] = step->a;
}

static void
control(struct df_model *model, const struct df_step *step)
{
	static void (*const steps[DF_KIND_COUNT])(struct df_model *, const struct df_step *) = {
		[DF_FILL] = fill,       [DF_EP_CREATE] = ep_create,
		[DF_EP_FREE] = ep_free, [DF_CONNECT] = model_connect,
		[DF_RESET] = reset,     [DF_THRESHOLD] = threshold,
	};

	model_settle_before(model);
	steps[step->kind](model, step);
}

void
df_model_step(struct df_model *model, const struct df_step *step)
{
	struct df_step_expect expect = {0};

	model->step = (int)model->expected->steps->len;
	g_array_append_val(model->expected->steps, expect);
	if (model_fault(model, step))
		return;
	if (step->kind == DF_SETTLE)
		model_settle_after(model);
	else if (df_is_change(step->kind))
		model_change(model, step);
	else if (df_is_datagram(step->kind))
		model_datagram(model, step);
	else if (step->kind == DF_DISCONNECT)
		disconnect(model, step);
	else if (step->kind < DF_DISCONNECT || step->kind == DF_RESET)
		control(model, step);
	else if (step->kind <= DF_SEND_UNLINK || step->kind >= DF_RMR_LINK)
		model_work(model, step);
	else
		model_objects(model, step);
}

/* --- the world ------------------------------------------------------------------------------- */

struct df_model *
df_model_new(const struct df_profile *profile)
{
	struct df_model *model = g_new0(struct df_model, 1);

	model->profile = profile;
	model->expected = df_expected_new();
	model->expected->probe = profile->no_empty_read ? 1 : 0;
	model->touches = g_array_new(FALSE, TRUE, sizeof(struct model_touch));
	model->work = g_array_new(FALSE, TRUE, sizeof(struct model_posted));
	for (int i = 0; i < DF_EPS; i++) {
		model->ep[i].peer = -1;
		model->ep[i].srq = -1;
		model->ep[i].sq = g_array_new(FALSE, TRUE, sizeof(unsigned));
		model->ep[i].rq = g_array_new(FALSE, TRUE, sizeof(unsigned));
	}
	for (int i = 0; i < DF_UDS; i++) {
		model->ud[i].sq = g_array_new(FALSE, TRUE, sizeof(unsigned));
		model->ud[i].rq = g_array_new(FALSE, TRUE, sizeof(unsigned));
		model->ud[i].receiving = DF_NEVER;
	}
	for (int i = 0; i < 2 * DF_NODES; i++)
		model->threshold[i / 2][i % 2] = 1;
	for (int i = 0; i < DF_SRQS; i++)
		model->srq[i].receives = g_array_new(FALSE, TRUE, sizeof(unsigned));
	for (int i = 0; i < DF_NODES; i++)
		model_fill(model, i, 0, DF_MEMORY, i + 1);
	model_direct(model);
	settle_open(model);
	return model;
}

void
df_model_free(struct df_model *model)
{
	for (int i = 0; i < DF_EPS; i++) {
		g_array_unref(model->ep[i].sq);
		g_array_unref(model->ep[i].rq);
	}
	for (int i = 0; i < DF_UDS; i++) {
		g_array_unref(model->ud[i].sq);
		g_array_unref(model->ud[i].rq);
	}
	for (int i = 0; i < DF_SRQS; i++)
		g_array_unref(model->srq[i].receives);
	g_array_unref(model->touches);
	g_array_unref(model->work);
	if (model->expected != NULL)
		df_expected_free(model->expected);
	g_free(model);
}

struct df_expected *
df_model_end(struct df_model *model)
{
	struct df_expected *expected = model->expected;

	model->step = (int)expected->steps->len;
	settle(model);
	/* The settlement that was opened for further events. */
	g_array_set_size(expected->settles, expected->settles->len - 1);
	model->expected = NULL;
	return expected;
}

struct df_expected *
df_model_run(const struct df_program *program, const struct df_profile *profile)
{
	struct df_model *model = df_model_new(profile);
	struct df_expected *expected;

	for (unsigned i = 0; i < program->steps->len; i++)
		df_model_step(model, df_program_step(program, i));
	expected = df_model_end(model);
	df_model_free(model);
	return expected;
}
