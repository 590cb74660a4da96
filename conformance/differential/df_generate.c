/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * From a seed to a program. A model runs along, so that most steps can be made to make sense: to
 * connect what is unconnected, to send where a receive waits, to stay within regions. With a chance of
 * about one in ten a step is made without regard to that. The model of the generator believes in an
 * adapter that can do everything, so programs do not depend on adapters.
 */
#include "df_generate.h"

#include "df_model.h"

#define STEPS_LEAST 12
#define STEPS_MOST  60

struct maker {
	GRand *rand;
	struct df_model *model;
	struct df_program *program;
	bool wild; /* the present step is made without regard */
};

static int
below(struct maker *maker, int limit)
{
	return g_rand_int_range(maker->rand, 0, limit);
}

/* True once in so many times. */
static bool
once_in(struct maker *maker, int times)
{
	return below(maker, times) == 0;
}

static void
add(struct maker *maker, const struct df_step *step)
{
	g_array_append_val(maker->program->steps, *step);
	df_model_step(maker->model, step);
}

/* --- choices --------------------------------------------------------------------------------- */

/* An endpoint in such a state (or none there: -1), any if there is none or the step is wild. */
static int
pick_ep(struct maker *maker, int state)
{
	int start = below(maker, DF_EPS);

	for (int i = 0; i < DF_EPS && !maker->wild; i++) {
		int ep = (start + i) % DF_EPS;
		const struct model_ep *end = &maker->model->ep[ep];

		if ((end->alive ? end->state : -1) == state)
			return ep;
	}
	return start;
}

/* A live LMR of a node, if possible one that the endpoint may use so. */
static int
pick_lmr(struct maker *maker, int ep, int right)
{
	int start = below(maker, DF_LMRS);

	for (int i = 0; i < DF_LMRS && !maker->wild; i++) {
		int place = (start + i) % DF_LMRS;
		const struct model_lmr *lmr = &maker->model->lmr[place];

		if (lmr->alive && lmr->linked && df_node(place) == df_node(ep) &&
		    (once_in(maker, 20) ||
		     (lmr->pz == maker->model->ep[ep].pz && (lmr->privs & right) == right)))
			return place;
	}
	return start;
}

static int
pick_len(struct maker *maker)
{
	switch (below(maker, 8)) {
	case 0:
		return 0;
	case 1:
		return below(maker, 3000);
	default:
		return 1 + below(maker, 200);
	}
}

/* Where `len` octets begin within `size`; now and then they do not fit. */
static int
pick_off(struct maker *maker, int size, int len)
{
	if (once_in(maker, 60))
		return size - len + 1 + below(maker, 50);
	if (once_in(maker, 200))
		return -1 - below(maker, 50);
	return size > len ? below(maker, size - len + 1) : 0;
}

static int
pick_flags(struct maker *maker, int allowed)
{
	static const int flags[] = {IT_NOTIFY_FLAG, IT_SOLICITED_WAIT_FLAG, IT_BARRIER_FENCE_FLAG,
				    IT_COALESCE_WR_FLAG};
	int value = once_in(maker, 3) ? 0 : IT_COMPLETION_FLAG;

	for (size_t i = 0; i < G_N_ELEMENTS(flags); i++) {
		if ((allowed & flags[i]) != 0 && once_in(maker, 4))
			value |= flags[i];
	}
	if (once_in(maker, 120))
		value |= 1 << below(maker, 8);
	return value;
}

static void
add_segment(struct maker *maker, struct df_step *step, int len, int right)
{
	int place = pick_lmr(maker, step->ep, right);
	const struct model_lmr *lmr = &maker->model->lmr[place];
	struct df_seg *seg = &step->seg[step->segs++];

	if (lmr->alive && len > lmr->len && !once_in(maker, 40))
		len = lmr->len;
	*seg = (struct df_seg){.lmr = place, .len = len};
	seg->off = pick_off(maker, lmr->alive ? lmr->len : 100, len);
}

/* Segments that hold `len` octets together. */
static void
add_segments(struct maker *maker, struct df_step *step, int len, int most, int right)
{
	int count = len == 0 && once_in(maker, 2) ? 0 : 1 + below(maker, most);

	if (once_in(maker, 150))
		count = DF_SEGS;
	for (int i = 0; i < count; i++) {
		int part = i == count - 1 || len == 0 ? len : below(maker, len + 1);

		add_segment(maker, step, part, right);
		len -= step->seg[i].len;
		len = MAX(len, 0);
	}
}

/* A region or window of the peer that grants the right, if there is one. */
static void
pick_target(struct maker *maker, struct df_step *step, int right)
{
	int peer = maker->model->ep[step->ep].peer;
	int len = model_seg_sum(step), size = 100;

	step->key = (struct df_key){.kind = 'l', .slot = below(maker, DF_LMRS)};
	if (peer >= 0 && !maker->wild)
		step->key.slot = pick_lmr(maker, peer, right);
	if (maker->model->lmr[step->key.slot].alive)
		size = maker->model->lmr[step->key.slot].len;
	for (int i = 0; i < DF_RMRS && once_in(maker, 2); i++) {
		const struct model_rmr *rmr = &maker->model->rmr[i];

		if (!rmr->alive || rmr->linked != MODEL_LINKED || rmr->ep != peer)
			continue;
		step->key = (struct df_key){.kind = 'r', .slot = i};
		size = rmr->len;
	}
	step->off = pick_off(maker, size, len);
	if (once_in(maker, 60))
		step->key.kind = "LRx"[below(maker, 3)];
	if (step->key.kind == 'R')
		step->key.slot %= DF_RMRS;
}

/* --- kinds of steps -------------------------------------------------------------------------- */

static void
make_ep_create(struct maker *maker, struct df_step *step)
{
	step->ep = pick_ep(maker, -1);
	step->pz = df_node(step->ep) + (once_in(maker, 8) ? DF_NODES : 0);
	step->sq = 2 + below(maker, 7);
	step->rq = 1 + below(maker, 8);
	step->ird = once_in(maker, 8) ? 0 : 1 + below(maker, 4);
	step->ord = once_in(maker, 8) ? 0 : 1 + below(maker, 4);
	step->enable = once_in(maker, 6) ? below(maker, 8) : 7;
	step->payload = once_in(maker, 10) ? 50 + below(maker, 1000) : 0;
}

static void
make_connect(struct maker *maker, struct df_step *step)
{
	step->ep = pick_ep(maker, IT_EP_STATE_UNCONNECTED);
	for (int i = 0; i < DF_EPS; i++) {
		step->peer = pick_ep(maker, IT_EP_STATE_UNCONNECTED);
		if (step->peer != step->ep)
			break;
	}
	step->how = once_in(maker, 12) ? DF_REJECT : DF_ACCEPT;
}

static void
make_ending(struct maker *maker, struct df_step *step)
{
	step->ep = pick_ep(maker, IT_EP_STATE_CONNECTED);
}

static void
make_reset(struct maker *maker, struct df_step *step)
{
	step->ep = pick_ep(maker, IT_EP_STATE_NONOPERATIONAL);
}

static void
make_ep_free(struct maker *maker, struct df_step *step)
{
	step->ep = pick_ep(maker,
			   once_in(maker, 3) ? IT_EP_STATE_CONNECTED : IT_EP_STATE_NONOPERATIONAL);
}

/* Any endpoint that takes work, connected for the most part. */
static int
pick_worker(struct maker *maker)
{
	return pick_ep(maker,
		       once_in(maker, 15) ? IT_EP_STATE_NONOPERATIONAL : IT_EP_STATE_CONNECTED);
}

static void
make_recv(struct maker *maker, struct df_step *step)
{
	step->ep = once_in(maker, 6) ? pick_ep(maker, IT_EP_STATE_UNCONNECTED) : pick_worker(maker);
	step->flags = pick_flags(maker, IT_NOTIFY_FLAG);
	add_segments(maker, step, pick_len(maker), 3, IT_PRIV_LOCAL_WRITE);
}

/* A message for a receive that waits; if none does, the receive comes first. */
static void
make_send(struct maker *maker, struct df_step *step)
{
	int peer, room, receive;

	step->ep = pick_worker(maker);
	step->flags = pick_flags(maker, ~0);
	peer = maker->model->ep[step->ep].peer;
	if (peer >= 0 && !maker->wild && model_first_receive(maker->model, peer) < 0) {
		struct df_step recv = {.kind = DF_RECV, .ep = peer};

		add_segments(maker, &recv, pick_len(maker), 3, IT_PRIV_LOCAL_WRITE);
		add(maker, &recv);
	}
	receive = peer >= 0 ? model_first_receive(maker->model, peer) : -1;
	room = receive >= 0 ? model_seg_sum(model_work_of(maker->model, receive)) : 100;
	if (!once_in(maker, 40))
		room = below(maker, room + 1);
	else
		room = MIN(room + 1 + below(maker, 100), 4000);
	add_segments(maker, step, room, 3, IT_PRIV_LOCAL_READ);
	if (step->kind == DF_SEND_UNLINK)
		pick_target(maker, step, IT_PRIV_NONE);
	step->off = 0;
}

static void
make_write(struct maker *maker, struct df_step *step)
{
	step->ep = pick_worker(maker);
	step->flags = pick_flags(maker, ~IT_SOLICITED_WAIT_FLAG);
	add_segments(maker, step, pick_len(maker), 3, IT_PRIV_LOCAL_READ);
	pick_target(maker, step, IT_PRIV_REMOTE_WRITE);
}

static void
make_read(struct maker *maker, struct df_step *step)
{
	step->ep = pick_worker(maker);
	step->flags = pick_flags(maker, ~IT_SOLICITED_WAIT_FLAG);
	add_segments(maker, step, pick_len(maker), 1, IT_PRIV_LOCAL_WRITE | IT_PRIV_REMOTE_WRITE);
	pick_target(maker, step, IT_PRIV_REMOTE_READ);
}

static void
make_atomic(struct maker *maker, struct df_step *step)
{
	step->ep = pick_worker(maker);
	step->how = below(maker, 2);
	step->flags = pick_flags(maker, ~IT_SOLICITED_WAIT_FLAG);
	step->a = below(maker, 30000);
	step->b = below(maker, 30000);
	add_segment(maker, step, once_in(maker, 60) ? 7 : 8, IT_PRIV_LOCAL_WRITE);
	pick_target(maker, step, IT_PRIV_ATOMIC);
	if (!once_in(maker, 40))
		step->off &= ~7;
}

static void
make_lmr_create(struct maker *maker, struct df_step *step)
{
	static const int privs[] = {IT_PRIV_ALL,
				    IT_PRIV_ALL,
				    IT_PRIV_ALL,
				    IT_PRIV_LOCAL,
				    IT_PRIV_REMOTE,
				    IT_PRIV_LOCAL_READ,
				    IT_PRIV_LOCAL | IT_PRIV_REMOTE_READ,
				    IT_PRIV_LOCAL | IT_PRIV_REMOTE_WRITE};
	int start = below(maker, DF_LMRS);

	step->obj = start;
	for (int i = 0; i < DF_LMRS && maker->model->lmr[step->obj].alive; i++)
		step->obj = (start + i) % DF_LMRS;
	step->pz = df_node(step->obj) + (once_in(maker, 10) ? DF_NODES : 0);
	step->off = 8 * below(maker, DF_ARENA / 8 / 2);
	step->len = once_in(maker, 20) ? 0 : 1 + below(maker, DF_ARENA / 2);
	step->privs = once_in(maker, 12) ? below(maker, 32)
					 : privs[below(maker, (int)G_N_ELEMENTS(privs))];
	step->mode = once_in(maker, 4) ? IT_ADDR_MODE_RELATIVE : IT_ADDR_MODE_ABSOLUTE;
	step->how = once_in(maker, 2) ? 1 : 0;
}

static void
make_lmr(struct maker *maker, struct df_step *step)
{
	step->obj = below(maker, DF_LMRS);
	step->privs = once_in(maker, 6) ? below(maker, 32) : IT_PRIV_ALL;
}

static void
make_fill(struct maker *maker, struct df_step *step)
{
	step->obj = below(maker, DF_NODES);
	step->len = 1 + below(maker, DF_ARENA);
	step->off = below(maker, DF_ARENA - step->len + 1);
	step->a = below(maker, 30000);
}

static void
make_rmr_create(struct maker *maker, struct df_step *step)
{
	step->obj = below(maker, DF_RMRS);
	step->pz = df_node(step->obj) + (once_in(maker, 10) ? DF_NODES : 0);
	step->how = once_in(maker, 4) ? below(maker, 4) : IT_RMR_TYPE_NARROW;
}

/* A window that is there, of the node of a connected endpoint. */
static void
pick_rmr(struct maker *maker, struct df_step *step)
{
	int start = below(maker, DF_RMRS);

	step->obj = start;
	for (int i = 0; i < DF_RMRS && !maker->model->rmr[step->obj].alive; i++)
		step->obj = (start + i) % DF_RMRS;
	for (int i = 0; i < DF_EPS; i++) {
		step->ep = pick_worker(maker);
		if (maker->wild || df_node(step->ep) == df_node(step->obj))
			break;
	}
	if (once_in(maker, 20))
		step->obj = start;
}

static void
make_rmr_link(struct maker *maker, struct df_step *step)
{
	int size;

	pick_rmr(maker, step);
	step->lmr = pick_lmr(maker, step->ep, IT_PRIV_LOCAL);
	size = maker->model->lmr[step->lmr].alive ? maker->model->lmr[step->lmr].len : 100;
	step->len = once_in(maker, 40) ? 0 : 1 + below(maker, size);
	step->off = pick_off(maker, size, step->len) & ~7;
	step->privs =
		once_in(maker, 15) ? below(maker, 32) : (int)(IT_PRIV_REMOTE | IT_PRIV_ATOMIC);
	step->mode = once_in(maker, 4) ? IT_ADDR_MODE_RELATIVE : IT_ADDR_MODE_ABSOLUTE;
	step->flags = pick_flags(maker, ~IT_SOLICITED_WAIT_FLAG);
}

static void
make_rmr_unlink(struct maker *maker, struct df_step *step)
{
	pick_rmr(maker, step);
	if (maker->model->rmr[step->obj].linked == MODEL_LINKED && !maker->wild)
		step->ep = maker->model->rmr[step->obj].ep;
	step->flags = pick_flags(maker, ~IT_SOLICITED_WAIT_FLAG);
	if (once_in(maker, 3))
		step->flags |= IT_UNLINK_FENCE_FLAG;
}

static void
make_rmr_free(struct maker *maker, struct df_step *step)
{
	step->obj = below(maker, DF_RMRS);
}

static void
make_settle(struct maker *maker, struct df_step *step)
{
	(void)maker;
	(void)step;
}

/* How often each kind of step is made. */
static const struct {
	int weight;
	void (*make)(struct maker *, struct df_step *);
} kinds[DF_KIND_COUNT] = {
	[DF_SETTLE] = {10, make_settle},
	[DF_FILL] = {3, make_fill},
	[DF_EP_CREATE] = {4, make_ep_create},
	[DF_EP_FREE] = {2, make_ep_free},
	[DF_CONNECT] = {8, make_connect},
	[DF_DISCONNECT] = {2, make_ending},
	[DF_RESET] = {5, make_reset},
	[DF_RECV] = {10, make_recv},
	[DF_SEND] = {18, make_send},
	[DF_WRITE] = {14, make_write},
	[DF_READ] = {12, make_read},
	[DF_ATOMIC] = {6, make_atomic},
	[DF_SEND_UNLINK] = {5, make_send},
	[DF_LMR_CREATE] = {4, make_lmr_create},
	[DF_LMR_FREE] = {1, make_lmr},
	[DF_LMR_MODIFY] = {1, make_lmr},
	[DF_RMR_CREATE] = {4, make_rmr_create},
	[DF_RMR_FREE] = {1, make_rmr_free},
	[DF_RMR_LINK] = {7, make_rmr_link},
	[DF_RMR_UNLINK] = {3, make_rmr_unlink},
};

static enum df_kind
pick_kind(struct maker *maker)
{
	int total = 0, at;

	for (int i = 0; i < DF_KIND_COUNT; i++)
		total += kinds[i].weight;
	at = below(maker, total);
	for (int i = 0; i < DF_KIND_COUNT; i++) {
		at -= kinds[i].weight;
		if (at < 0)
			return (enum df_kind)i;
	}
	return DF_SETTLE;
}

/* Something to work with: two regions on each node, and a few endpoints, most of them connected. */
static void
make_prelude(struct maker *maker)
{
	int pairs = 1 + below(maker, DF_EPS / 2);

	for (int i = 0; i < 2 * DF_NODES; i++) {
		struct df_step step = {.kind = DF_LMR_CREATE, .obj = i, .pz = df_node(i)};

		step.privs = IT_PRIV_ALL;
		step.off = i < DF_NODES ? 0 : DF_ARENA / 2;
		step.len = DF_ARENA / 2;
		step.how = i < DF_NODES ? 0 : 1;
		add(maker, &step);
	}
	for (int i = 0; i < 2 * pairs; i++) {
		struct df_step step = {.kind = DF_EP_CREATE};

		make_ep_create(maker, &step);
		add(maker, &step);
	}
	for (int i = 0; i < pairs; i++) {
		struct df_step step = {.kind = DF_CONNECT};

		make_connect(maker, &step);
		add(maker, &step);
	}
}

struct df_program *
df_generate(uint32_t seed)
{
	struct df_profile all = {
		.ib = seed % 2 == 0,
		.atomics = true,
		.relative = true,
		.sink_remote_write = true,
		.send_unlink = true,
		.narrow = true,
		.wide = true,
		.narrow_unlink = true,
		.wide_unlink = true,
		.unlink_fence = true,
		.ird_ord = true,
		.send_segs = 4,
		.recv_segs = 4,
		.write_segs = 4,
		.read_segs = 1,
	};
	struct maker maker = {.rand = g_rand_new_with_seed(seed)};
	int steps;

	for (int i = 0; i <= DF_DEPTH; i++)
		all.sq[i] = all.rq[i] = i;
	maker.model = df_model_new(&all);
	maker.program = df_program_new();
	make_prelude(&maker);
	steps = STEPS_LEAST + below(&maker, STEPS_MOST - STEPS_LEAST);
	for (int i = 0; i < steps; i++) {
		struct df_step step = {.kind = pick_kind(&maker)};

		maker.wild = once_in(&maker, 12);
		kinds[step.kind].make(&maker, &step);
		add(&maker, &step);
	}
	df_model_free(maker.model);
	g_rand_free(maker.rand);
	return maker.program;
}
