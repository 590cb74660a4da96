/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Spigots that go down and up, and adapters that fail beyond repair [IT 14.3], [IT 14.6], [IT 14.7], on an adapter with the
 * fault door.
 *
 * A spigot raises one unaffiliated event for each change. The events are queued in the IA's dispatcher in order, and
 * are lost if it is full or absent [IT 6.1.4], [IT 6.7.3]. A spigot that is down ends no connection: posted requests
 * wait, so the settlement of such a group begins when the spigot goes up. A datagram may or may not be lost, so none is
 * sent meanwhile.
 *
 * The failure of an adapter raises no event. Its connections break; then each call whose first
 * handle is valid reports the failure by its status [IT 1.6], except calls that free. A status for
 * an invalid argument may be returned instead [IT 1.2].
 *
 * The spigots of an adapter without the fault door are left out. They are interfaces of the host, which a program
 * cannot change; the test `spigot` of itapi/tests does so in a network namespace. No adapter raises
 * IT_ASYNC_UNAFF_SEVD_ENQUEUE_FAILURE [IT 14.4].
 */
#include "df_model.h"

#define BROKEN MODEL_BIT(IT_CM_MSG_CONN_BROKEN_EVENT & 0xf)

static bool
any_down(const struct df_model *model)
{
	for (int i = 0; i < DF_NODES; i++) {
		if (model->adapter[i].down)
			return true;
	}
	return false;
}

/* --- unaffiliated events --------------------------------------------------------------------- */

static void
unaff_expect(struct df_model *model, int node, it_event_type_t event)
{
	GArray *all = DF_SETTLEMENT(model->expected, model->settle)->unaff;
	struct df_unaff unaff = {.event = event, .node = node};
	int queued = 0;

	for (unsigned i = 0; i < all->len; i++)
		queued += g_array_index(all, struct df_unaff, i).node == node;
	if (queued < model->adapter[node].room)
		g_array_append_val(all, unaff);
}

static void
unaff_create(struct df_model *model, const struct df_step *step)
{
	struct model_adapter *adapter = &model->adapter[step->obj];

	if (adapter->dead) {
		model_answer(model, IT_ERR_IA_CATASTROPHE);
	} else if (adapter->room > 0) {
		model_answer(model, IT_ERR_ASYNC_UNAFF_EVD_EXISTS);
	} else {
		model_answer(model, IT_SUCCESS);
		adapter->room = model->profile->unaff[step->rq];
	}
}

/* What is queued is lost with it. */
static void
unaff_free(struct df_model *model, const struct df_step *step)
{
	GArray *all = DF_SETTLEMENT(model->expected, model->settle)->unaff;

	if (model->adapter[step->obj].room == 0) {
		model_answer(model, IT_ERR_INVALID_EVD);
		return;
	}
	model_answer(model, IT_SUCCESS);
	model->adapter[step->obj].room = 0;
	for (unsigned i = all->len; i > 0; i--) {
		if (g_array_index(all, struct df_unaff, i - 1).node == step->obj)
			g_array_remove_index(all, i - 1);
	}
}

/* --- faults ---------------------------------------------------------------------------------- */

/* No settlement belongs to it, so that several changes may find a dispatcher full. */
static void
spigot(struct df_model *model, const struct df_step *step)
{
	struct model_adapter *adapter = &model->adapter[step->obj];
	bool down = step->how == 0;

	if (adapter->dead) {
		model_skip(model);
		return;
	}
	/* What was posted before is not paused. */
	if (down && !adapter->down)
		model_settle_before(model);
	model_answer(model, IT_SUCCESS);
	if (adapter->down != down)
		unaff_expect(model, step->obj,
			     down ? IT_ASYNC_UNAFF_SPIGOT_OFFLINE : IT_ASYNC_UNAFF_SPIGOT_ONLINE);
	adapter->down = down;
}

/* The runner waits until the calls tell it, so that no call comes before. */
static void
fail(struct df_model *model, const struct df_step *step)
{
	if (model->adapter[step->obj].dead || any_down(model)) {
		model_skip(model);
		return;
	}
	model_settle_before(model);
	model_answer(model, IT_ERR_IA_CATASTROPHE);
	for (int i = step->obj; i < DF_EPS; i += DF_NODES) {
		const struct model_ep *end = &model->ep[i];

		if (end->alive && end->state == IT_EP_STATE_CONNECTED && end->end == MODEL_STANDS)
			model_end(model, i, MODEL_SHUT, BROKEN);
	}
	for (int i = step->obj; i < DF_UDS; i += DF_NODES)
		model_datagram_lost(model, i);
	model->adapter[step->obj].dead = true;
	model_settle_after(model);
}

static void
fault(struct df_model *model, const struct df_step *step)
{
	if (!model->profile->faults)
		model_skip(model);
	else if (step->kind == DF_SPIGOT)
		spigot(model, step);
	else if (step->kind == DF_FAIL)
		fail(model, step);
	else if (step->kind == DF_UNAFF_CREATE)
		unaff_create(model, step);
	else
		unaff_free(model, step);
}

/* --- calls of a failed adapter --------------------------------------------------------------- */

enum first {
	FIRST_NONE, /* the step is no call, or one that frees */
	FIRST_ZONE, /* it creates the object of its place */
	FIRST_EP,
	FIRST_LMR,
	FIRST_SRQ,
	FIRST_UD,
	FIRST_EVD,
	FIRST_POST, /* to an endpoint */
	FIRST_SRQ_POST,
	FIRST_UD_POST,
};

/* What the first handle of a step's call is. */
static const enum first firsts[DF_KIND_COUNT] = {
	[DF_THRESHOLD] = FIRST_EVD,     [DF_EP_CREATE] = FIRST_ZONE,  [DF_CONNECT] = FIRST_EP,
	[DF_DISCONNECT] = FIRST_EP,     [DF_RESET] = FIRST_EP,        [DF_RECV] = FIRST_POST,
	[DF_SRQ_RECV] = FIRST_SRQ_POST, [DF_SEND] = FIRST_POST,       [DF_WRITE] = FIRST_POST,
	[DF_READ] = FIRST_POST,         [DF_READ_RMR] = FIRST_POST,   [DF_ATOMIC] = FIRST_POST,
	[DF_SEND_UNLINK] = FIRST_POST,  [DF_AH_CREATE] = FIRST_ZONE,  [DF_UD_CREATE] = FIRST_ZONE,
	[DF_UD_RESET] = FIRST_UD,       [DF_UD_RECV] = FIRST_UD_POST, [DF_UD_SEND] = FIRST_UD_POST,
	[DF_LMR_CREATE] = FIRST_ZONE,   [DF_LMR_MODIFY] = FIRST_LMR,  [DF_SRQ_CREATE] = FIRST_ZONE,
	[DF_SRQ_LIMIT] = FIRST_SRQ,     [DF_EP_LIMIT] = FIRST_EP,     [DF_LMR_RESERVE] = FIRST_ZONE,
	[DF_RMR_CREATE] = FIRST_ZONE,   [DF_RMR_LINK] = FIRST_POST,   [DF_RMR_UNLINK] = FIRST_POST,
	[DF_LMR_LINK] = FIRST_POST,     [DF_LMR_UNLINK] = FIRST_POST,
};

static int
node_of(const struct df_step *step)
{
	enum first first = firsts[step->kind];

	if (first == FIRST_EVD)
		return step->obj;
	if (first == FIRST_EP || first == FIRST_POST || step->kind == DF_EP_CREATE)
		return df_node(step->ep);
	return df_node(step->obj);
}

static bool
is_taken(const struct df_model *model, const struct df_step *step)
{
	switch ((int)step->kind) {
	case DF_EP_CREATE:
		return model->ep[step->ep].alive;
	case DF_AH_CREATE:
		return model->ah[step->obj].alive;
	case DF_UD_CREATE:
		return model->ud[step->obj].alive;
	case DF_SRQ_CREATE:
		return model->srq[step->obj].alive;
	case DF_RMR_CREATE:
		return model->rmr[step->obj].alive;
	default:
		return model->lmr[step->obj].alive;
	}
}

/* Is the first handle of the call good? */
static bool
is_there(const struct df_model *model, const struct df_step *step)
{
	switch (firsts[step->kind]) {
	case FIRST_EP:
	case FIRST_POST:
		return model->ep[step->ep].alive;
	case FIRST_LMR:
		return model->lmr[step->obj].alive;
	case FIRST_SRQ:
	case FIRST_SRQ_POST:
		return model->srq[step->obj].alive;
	case FIRST_UD:
	case FIRST_UD_POST:
		return model->ud[step->obj].alive;
	case FIRST_NONE:
	case FIRST_ZONE:
	case FIRST_EVD:
	default:
		return true;
	}
}

/* Is there nothing else wrong with the post? */
static bool
is_plain(const struct df_model *model, const struct df_step *step)
{
	const struct model_ah *ah = &model->ah[step->lmr];

	if (step->segs > 1 || (step->flags & ~(IT_COMPLETION_FLAG | IT_NOTIFY_FLAG)) != 0)
		return false;
	return step->kind != DF_UD_SEND ||
	       (ah->alive && ah->pz == model->ud[step->obj].pz && model->ud[step->peer].life > 0);
}

/* The call tells that its adapter has failed; false: it is made as ever. */
static bool
is_told(struct df_model *model, const struct df_step *step)
{
	enum first first = firsts[step->kind];

	if (first == FIRST_NONE || !model->adapter[node_of(step)].dead || !is_there(model, step))
		return false;
	if (first == FIRST_ZONE && (is_taken(model, step) || df_node(step->pz) != node_of(step)))
		model_skip(model);
	if ((first == FIRST_SRQ_POST || first == FIRST_UD_POST) && !is_plain(model, step))
		model_skip(model);
	if (first == FIRST_POST)
		(void)model_refused(model, step);
	if (!model_now(model)->skip)
		model_answer(model, IT_ERR_IA_CATASTROPHE);
	return true;
}

/* --- all of them ----------------------------------------------------------------------------- */

/* Does the step's request, or what it does to the peer, wait for the spigots? */
static bool
waits(const struct df_step *step)
{
	return firsts[step->kind] == FIRST_POST || step->kind == DF_DISCONNECT ||
	       step->kind == DF_EP_FREE;
}

bool
model_fault(struct df_model *model, const struct df_step *step)
{
	if (df_is_fault(step->kind)) {
		fault(model, step);
		return true;
	}
	if (is_told(model, step))
		return true;
	if (!any_down(model))
		return false;
	/* Also where nothing comes of the step: no spigot goes up in the settlement of an attempt that it is to refuse. */
	if (waits(step))
		model->paused = model->dirty = true;
	if (step->kind == DF_UD_SEND)
		model_skip(model);
	return step->kind == DF_UD_SEND;
}

bool
model_out_of_reach(const struct df_model *model, const struct df_step *step)
{
	const struct model_adapter *near = &model->adapter[df_node(step->ep)];
	const struct model_adapter *far = &model->adapter[df_node(step->peer)];

	return near->down || far->down || far->dead || model->deaf[df_node(step->peer)];
}

void
model_faults_settle(struct df_model *model, struct df_settle *now)
{
	for (int i = 0; i < DF_NODES; i++) {
		struct model_adapter *adapter = &model->adapter[i];

		now->raise[i] = model->paused && adapter->down;
		if (now->raise[i]) {
			adapter->down = false;
			unaff_expect(model, i, IT_ASYNC_UNAFF_SPIGOT_ONLINE);
		}
		now->dead[i] = adapter->dead;
		now->online[i] = adapter->dead ? DF_DEAD : !adapter->down;
		if (!model->profile->faults)
			now->online[i] = DF_NEVER;
	}
	model->paused = false;
}
