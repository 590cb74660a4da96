/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Makes a program from a seed. A model runs beside the generator, so that most steps are useful: it connects
 * endpoints that are unconnected, sends where a receive is posted, and stays within regions. About one step in ten
 * is chosen without regard to that. The generator's model assumes an adapter with every ability, so programs do not
 * depend on adapters.
 */
#include "df_generate.h"

#include "df_pick.h"

#define STEPS_LEAST 12
#define STEPS_MOST  60

/* --- kinds of steps -------------------------------------------------------------------------- */

static void
make_ep_create(struct maker *maker, struct df_step *step)
{
	step->ep = pick_ep(maker, -1);
	step->pz = df_node(step->ep) + (pick_once_in(maker, 8) ? DF_NODES : 0);
	if (maker->wide)
		step->srq = pick_srq(maker, step->ep);
	step->sq = 2 + pick_below(maker, 7);
	step->rq = 1 + pick_below(maker, 8);
	step->ird = pick_once_in(maker, 16) ? 0 : 1 + pick_below(maker, 4);
	step->ord = pick_once_in(maker, 16) ? 0 : 1 + pick_below(maker, 4);
	step->enable = pick_once_in(maker, 8) ? pick_below(maker, 8) : DF_ENABLE_ALL;
	step->payload = pick_once_in(maker, 10) ? 50 + pick_below(maker, 1000) : 0;
	if (maker->privileged)
		step->priv = pick_once_in(maker, 8) ? 0 : 1;
	if (maker->watermarks && pick_once_in(maker, 2)) {
		pick_limits(maker, step);
		step->soft = pick_once_in(maker, 4) ? step->soft : 0; /* many adapters lack it */
	}
}

/* An endpoint that can connect: a new one, or one that is reset first. */
static void
make_ready(struct maker *maker, int ep)
{
	const struct model_ep *end = &maker->model->ep[ep];
	struct df_step step = {.kind = DF_EP_CREATE, .ep = ep};

	if (!end->alive) {
		make_ep_create(maker, &step);
		step.ep = ep;
		step.pz = df_node(ep);
		pick_add(maker, &step);
	} else if (end->state == IT_EP_STATE_NONOPERATIONAL) {
		step.kind = DF_RESET;
		pick_add(maker, &step);
	}
}

static void
make_connect(struct maker *maker, struct df_step *step)
{
	if (!maker->wild && pick_once_in(maker, 2)) {
		make_ready(maker, pick_below(maker, DF_EPS));
		make_ready(maker, pick_below(maker, DF_EPS));
	}
	step->ep = pick_ep(maker, IT_EP_STATE_UNCONNECTED);
	for (int i = 0; i < DF_EPS; i++) {
		step->peer = pick_ep(maker, IT_EP_STATE_UNCONNECTED);
		if (step->peer != step->ep)
			break;
	}
	step->how = pick_once_in(maker, 12) ? DF_REJECT : DF_ACCEPT;
	if (maker->wide && pick_once_in(maker, 5))
		step->how =
			pick_once_in(maker, 2) ? DF_THREE_WAY : DF_THREE_WAY + pick_below(maker, 3);
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
	step->ep = pick_ep(maker, pick_once_in(maker, 3) ? IT_EP_STATE_CONNECTED
							 : IT_EP_STATE_NONOPERATIONAL);
}

/* Any endpoint that takes work; mostly a connected one. */
static int
pick_worker(struct maker *maker)
{
	return pick_ep(maker, pick_once_in(maker, 15) ? IT_EP_STATE_NONOPERATIONAL
						      : IT_EP_STATE_CONNECTED);
}

static void
make_srq_create(struct maker *maker, struct df_step *step)
{
	step->obj = pick_below(maker, DF_SRQS);
	step->pz = df_node(step->obj) + (pick_once_in(maker, 8) ? DF_NODES : 0);
	step->rq = (maker->watermarks ? 5 : 1) + pick_below(maker, 8);
}

static void
make_srq_free(struct maker *maker, struct df_step *step)
{
	step->obj = pick_below(maker, DF_SRQS);
}

/* The most places there are; a receive of any zone is wrong now and then. */
static void
make_srq_recv(struct maker *maker, struct df_step *step)
{
	step->obj = pick_live_srq(maker);
	pick_receive(maker, step);
}

static void
make_recv(struct maker *maker, struct df_step *step)
{
	step->ep = pick_once_in(maker, 6) ? pick_ep(maker, IT_EP_STATE_UNCONNECTED)
					  : pick_worker(maker);
	if (maker->model->ep[step->ep].srq >= 0 && !pick_once_in(maker, 10)) {
		step->kind = DF_SRQ_RECV;
		step->obj = maker->model->ep[step->ep].srq;
		step->ep = 0;
	}
	pick_receive(maker, step);
}

/* A message for a posted receive; if there is none, the receive is posted first. */
static void
make_send(struct maker *maker, struct df_step *step)
{
	int peer, room = 100;

	step->ep = pick_worker(maker);
	step->flags = pick_flags(maker, ~0);
	peer = maker->model->ep[step->ep].peer;
	if (peer >= 0)
		room = pick_room(maker, peer);
	if (!pick_once_in(maker, 40))
		room = pick_below(maker, room + 1);
	else
		room = MIN(room + 1 + pick_below(maker, 100), 4000);
	pick_segments(maker, step, room, 3, IT_PRIV_LOCAL_READ);
	if (step->kind == DF_SEND_UNLINK)
		pick_unlinkable(maker, step);
}

static void
make_write(struct maker *maker, struct df_step *step)
{
	step->ep = pick_worker(maker);
	step->flags = pick_flags(maker, ~IT_SOLICITED_WAIT_FLAG);
	pick_segments(maker, step, pick_len(maker), 3, IT_PRIV_LOCAL_READ);
	pick_target(maker, step, IT_PRIV_REMOTE_WRITE);
}

static void
make_read(struct maker *maker, struct df_step *step)
{
	step->ep = pick_worker(maker);
	step->flags = pick_flags(maker, ~IT_SOLICITED_WAIT_FLAG);
	pick_segments(maker, step, pick_len(maker), 1, IT_PRIV_LOCAL_WRITE | IT_PRIV_REMOTE_WRITE);
	pick_target(maker, step, IT_PRIV_REMOTE_READ);
	if (step->segs == 1 && pick_once_in(maker, 4) &&
	    (!maker->model->lmr[step->seg[0].lmr].shareable || pick_once_in(maker, 10)))
		step->flags |= IT_UNLINK_LOCAL_SINK;
}

static void
make_atomic(struct maker *maker, struct df_step *step)
{
	step->ep = pick_worker(maker);
	step->how = pick_below(maker, 2);
	step->flags = pick_flags(maker, ~IT_SOLICITED_WAIT_FLAG);
	step->a = pick_below(maker, 30000);
	step->b = pick_below(maker, 30000);
	pick_segment(maker, step, pick_once_in(maker, 60) ? 7 : 8, IT_PRIV_LOCAL_WRITE);
	pick_target(maker, step, IT_PRIV_ATOMIC);
	if (!pick_once_in(maker, 40))
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
	int start = pick_below(maker, DF_LMRS);

	step->obj = start;
	for (int i = 0; i < DF_LMRS && maker->model->lmr[step->obj].alive; i++)
		step->obj = (start + i) % DF_LMRS;
	step->pz = df_node(step->obj) + (pick_once_in(maker, 10) ? DF_NODES : 0);
	step->off = 8 * pick_below(maker, DF_ARENA / 8 / 2);
	step->len = pick_once_in(maker, 20) ? 0 : 1 + pick_below(maker, DF_ARENA / 2);
	step->privs = pick_once_in(maker, 12) ? pick_below(maker, 32)
					      : privs[pick_below(maker, (int)G_N_ELEMENTS(privs))];
	step->mode = pick_once_in(maker, 4) ? IT_ADDR_MODE_RELATIVE : IT_ADDR_MODE_ABSOLUTE;
	step->how = pick_once_in(maker, 2) ? 1 : 0;
	if (maker->privileged && pick_once_in(maker, 3))
		pick_listed(maker, step);
}

static void
make_lmr(struct maker *maker, struct df_step *step)
{
	step->obj = pick_below(maker, DF_LMRS);
	step->privs = pick_once_in(maker, 6) ? pick_below(maker, 32) : IT_PRIV_ALL;
}

static void
make_fill(struct maker *maker, struct df_step *step)
{
	step->obj = pick_below(maker, DF_NODES);
	step->len = 1 + pick_below(maker, DF_ARENA);
	step->off = pick_below(maker, DF_ARENA - step->len + 1);
	step->a = pick_below(maker, 30000);
}

static void
make_rmr_create(struct maker *maker, struct df_step *step)
{
	step->obj = pick_below(maker, DF_RMRS);
	step->pz = df_node(step->obj) + (pick_once_in(maker, 10) ? DF_NODES : 0);
	step->how = pick_once_in(maker, 4) ? pick_below(maker, 4) : IT_RMR_TYPE_NARROW;
}

/* A new window of an endpoint's zone, in place of one whose state is not known. */
static int
fresh_rmr(struct maker *maker, int ep)
{
	int place = df_node(ep) + (pick_once_in(maker, 2) ? DF_NODES : 0);
	struct df_step step = {.kind = DF_RMR_FREE, .obj = place};

	if (maker->model->rmr[place].alive)
		pick_add(maker, &step);
	step.kind = DF_RMR_CREATE;
	step.pz = maker->model->ep[ep].pz;
	step.how = pick_once_in(maker, 4) ? IT_RMR_TYPE_WIDE : IT_RMR_TYPE_NARROW;
	pick_add(maker, &step);
	return place;
}

/* A connected endpoint, and a window that it may link or unlink. */
static void
pick_rmr(struct maker *maker, struct df_step *step, enum model_link linked)
{
	step->ep = pick_worker(maker);
	step->obj = pick_below(maker, DF_RMRS);
	if (maker->wild || !maker->model->ep[step->ep].alive || pick_once_in(maker, 10))
		return;
	for (int i = 0; i < DF_RMRS; i++) {
		const struct model_rmr *rmr = &maker->model->rmr[i];

		if (rmr->alive && rmr->linked == linked &&
		    rmr->pz == maker->model->ep[step->ep].pz) {
			step->obj = i;
			return;
		}
	}
	if (linked == MODEL_UNLINKED)
		step->obj = fresh_rmr(maker, step->ep);
}

static void
make_rmr_link(struct maker *maker, struct df_step *step)
{
	int size;

	pick_rmr(maker, step, MODEL_UNLINKED);
	for (int i = 0; i < DF_LMRS; i++) {
		step->lmr = pick_lmr(maker, df_node(step->ep), maker->model->ep[step->ep].pz,
				     IT_PRIV_LOCAL);
		if (maker->model->lmr[step->lmr].mode == IT_ADDR_MODE_ABSOLUTE)
			break;
	}
	size = maker->model->lmr[step->lmr].alive ? maker->model->lmr[step->lmr].len : 100;
	step->len = pick_once_in(maker, 40) ? 0 : 1 + pick_below(maker, MAX(size, 1));
	step->off = pick_off(maker, size, step->len) & ~7;
	step->privs = pick_once_in(maker, 15) ? pick_below(maker, 32)
					      : (int)(IT_PRIV_REMOTE | IT_PRIV_ATOMIC);
	step->mode = pick_once_in(maker, 4) ? IT_ADDR_MODE_RELATIVE : IT_ADDR_MODE_ABSOLUTE;
	step->flags = pick_flags(maker, ~IT_SOLICITED_WAIT_FLAG);
}

static void
make_rmr_unlink(struct maker *maker, struct df_step *step)
{
	pick_rmr(maker, step, MODEL_LINKED);
	if (maker->model->rmr[step->obj].linked == MODEL_LINKED && !maker->wild)
		step->ep = maker->model->rmr[step->obj].ep;
	step->flags = pick_flags(maker, ~IT_SOLICITED_WAIT_FLAG);
	if (pick_once_in(maker, 3))
		step->flags |= IT_UNLINK_FENCE_FLAG;
}

/* A window that is linked through a connected endpoint; if there is none it is linked first. */
static void
make_read_rmr(struct maker *maker, struct df_step *step)
{
	struct df_step link = {.kind = DF_RMR_LINK};
	const struct model_rmr *rmr;

	pick_rmr(maker, step, MODEL_LINKED);
	if (!maker->wild && maker->model->rmr[step->obj].linked != MODEL_LINKED) {
		make_rmr_link(maker, &link);
		pick_add(maker, &link);
		step->obj = link.obj;
	}
	rmr = &maker->model->rmr[step->obj];
	if (rmr->linked == MODEL_LINKED && !maker->wild && !pick_once_in(maker, 20))
		step->ep = rmr->ep;
	step->len = MIN(pick_len(maker), MAX(rmr->len, 1));
	step->a = pick_off(maker, rmr->len, step->len);
	step->flags = pick_flags(maker, ~IT_SOLICITED_WAIT_FLAG);
	if (pick_once_in(maker, 4))
		step->flags |= IT_UNLINK_LOCAL_SINK;
	pick_target(maker, step, IT_PRIV_REMOTE_READ);
}

static void
make_rmr_free(struct maker *maker, struct df_step *step)
{
	step->obj = pick_below(maker, DF_RMRS);
}

static void
make_threshold(struct maker *maker, struct df_step *step)
{
	step->obj = pick_below(maker, DF_NODES);
	step->how = pick_below(maker, 2);
	step->a = pick_once_in(maker, 3) ? 1 : 0;
}

static void
make_settle(struct maker *maker, struct df_step *step)
{
	(void)maker;
	(void)step;
}

/* The relative frequency of each kind of step. */
static const struct {
	int weight;
	void (*make)(struct maker *, struct df_step *);
	unsigned draw; /* programs that have it; 0: all */
} kinds[DF_KIND_COUNT] = {
	[DF_SETTLE] = {10, make_settle, 0},
	[DF_FILL] = {3, make_fill, 0},
	[DF_THRESHOLD] = {3, make_threshold, DF_DRAW_WIDE},
	[DF_SPIGOT] = {6, pick_spigot, DF_DRAW_FAULTS},
	[DF_FAIL] = {0, pick_fail, DF_DRAW_FAULTS},
	[DF_UNAFF_CREATE] = {2, pick_unaff, DF_DRAW_FAULTS},
	[DF_UNAFF_FREE] = {1, pick_unaff, DF_DRAW_FAULTS},
	[DF_EP_CREATE] = {4, make_ep_create, 0},
	[DF_EP_FREE] = {2, make_ep_free, 0},
	[DF_CONNECT] = {8, make_connect, 0},
	[DF_DISCONNECT] = {2, make_ending, 0},
	[DF_RESET] = {5, make_reset, 0},
	[DF_EP_MODIFY] = {10, pick_ep_change, DF_DRAW_CHANGES},
	[DF_LISTEN] = {5, pick_listen, DF_DRAW_CHANGES},
	[DF_EVD_SIZE] = {5, pick_evd_size, DF_DRAW_CHANGES},
	[DF_EVD_WAY] = {12, pick_evd_way, DF_DRAW_WAYS},
	[DF_RECV] = {10, make_recv, 0},
	[DF_SRQ_RECV] = {5, make_srq_recv, DF_DRAW_WIDE},
	[DF_SEND] = {18, make_send, 0},
	[DF_WRITE] = {14, make_write, 0},
	[DF_READ] = {12, make_read, 0},
	[DF_READ_RMR] = {8, make_read_rmr, DF_DRAW_WIDE},
	[DF_ATOMIC] = {6, make_atomic, 0},
	[DF_SEND_UNLINK] = {5, make_send, 0},
	[DF_AH_CREATE] = {1, pick_datagram, DF_DRAW_WIDE},
	[DF_AH_FREE] = {1, pick_datagram, DF_DRAW_WIDE},
	[DF_UD_CREATE] = {4, pick_datagram, DF_DRAW_WIDE},
	[DF_UD_FREE] = {1, pick_datagram, DF_DRAW_WIDE},
	[DF_UD_RESET] = {2, pick_datagram, DF_DRAW_WIDE},
	[DF_UD_RECV] = {3, pick_datagram, DF_DRAW_WIDE},
	[DF_UD_SEND] = {12, pick_datagram, DF_DRAW_WIDE},
	[DF_LMR_CREATE] = {4, make_lmr_create, 0},
	[DF_LMR_FREE] = {1, make_lmr, 0},
	[DF_LMR_MODIFY] = {1, make_lmr, 0},
	[DF_SRQ_CREATE] = {2, make_srq_create, DF_DRAW_WIDE},
	[DF_SRQ_FREE] = {1, make_srq_free, DF_DRAW_WIDE},
	[DF_SRQ_LIMIT] = {5, pick_srq_limit, DF_DRAW_WATERMARKS},
	[DF_SRQ_SIZE] = {6, pick_srq_size, DF_DRAW_CHANGES},
	[DF_EP_LIMIT] = {5, pick_ep_limit, DF_DRAW_WATERMARKS},
	[DF_LMR_RESERVE] = {3, pick_reserved, DF_DRAW_PRIVILEGED},
	[DF_RMR_CREATE] = {4, make_rmr_create, 0},
	[DF_RMR_FREE] = {1, make_rmr_free, 0},
	[DF_RMR_LINK] = {7, make_rmr_link, 0},
	[DF_RMR_UNLINK] = {3, make_rmr_unlink, 0},
	[DF_LMR_LINK] = {14, pick_lmr_link, DF_DRAW_PRIVILEGED},
	[DF_LMR_UNLINK] = {5, pick_lmr_link, DF_DRAW_PRIVILEGED},
};

/* Is there a connection? */
static bool
any_connected(const struct df_model *model)
{
	for (int i = 0; i < DF_EPS; i++) {
		if (model->ep[i].alive && model->ep[i].state == IT_EP_STATE_CONNECTED)
			return true;
	}
	return false;
}

/* Requests are mostly posted when there is a connection. */
static bool
is_idle_work(const struct maker *maker, enum df_kind kind)
{
	bool work = (kind >= DF_RECV && kind <= DF_SEND_UNLINK) || kind >= DF_RMR_LINK;

	return work && !maker->wild && !any_connected(maker->model);
}

static int
weight_of(const struct maker *maker, int kind)
{
	unsigned draw = (maker->wide ? DF_DRAW_WIDE : 0) |
			(maker->privileged ? DF_DRAW_PRIVILEGED : 0) |
			(maker->watermarks ? DF_DRAW_WATERMARKS : 0) |
			(maker->faults ? DF_DRAW_FAULTS : 0) |
			(maker->changes ? DF_DRAW_CHANGES : 0) | (maker->ways ? DF_DRAW_WAYS : 0);

	return (kinds[kind].draw & ~draw) != 0 ? 0 : kinds[kind].weight;
}

static enum df_kind
pick_kind(struct maker *maker)
{
	int total = 0, at;

	for (int i = 0; i < DF_KIND_COUNT; i++)
		total += weight_of(maker, i);
	at = pick_below(maker, total);
	for (int i = 0; i < DF_KIND_COUNT; i++) {
		at -= weight_of(maker, i);
		if (at < 0)
			return (enum df_kind)i;
	}
	return DF_SETTLE;
}

/* So many of them are left out at first. */
static int
first_srq(struct maker *maker)
{
	if (maker->watermarks)
		return 0;
	return maker->wide ? pick_below(maker, DF_SRQS + 1) : DF_SRQS;
}

/* The first objects: two regions on each node, and a few endpoints, most of them connected. */
static void
make_prelude(struct maker *maker)
{
	int pairs = 1 + pick_below(maker, DF_EPS / 2);

	for (int i = 0; i < 2 * DF_NODES; i++) {
		struct df_step step = {.kind = DF_LMR_CREATE, .obj = i, .pz = df_node(i)};

		step.privs = IT_PRIV_ALL;
		step.off = i < DF_NODES ? 0 : DF_ARENA / 2;
		step.len = DF_ARENA / 2;
		step.how = i < DF_NODES ? 0 : 1;
		pick_add(maker, &step);
	}
	for (int i = first_srq(maker); i < DF_SRQS; i++) {
		struct df_step step = {.kind = DF_SRQ_CREATE};

		make_srq_create(maker, &step);
		if (maker->watermarks) {
			step.obj = i;
			step.pz = df_node(i);
		}
		pick_add(maker, &step);
	}
	for (int i = maker->wide ? 0 : 2 * DF_NODES; i < 2 * DF_NODES; i++) {
		struct df_step step = {.kind = DF_THRESHOLD, .obj = i / 2, .how = i % 2};

		if (pick_once_in(maker, 2))
			pick_add(maker, &step);
	}
	for (int i = maker->faults ? 0 : DF_NODES; i < DF_NODES; i++) {
		struct df_step step = {.kind = DF_UNAFF_CREATE, .obj = i};

		step.rq = 1 + pick_below(maker, DF_DEPTH);
		if (!pick_once_in(maker, 4))
			pick_add(maker, &step);
	}
	for (int i = 0; i < 2 * pairs; i++) {
		struct df_step step = {.kind = DF_EP_CREATE};

		make_ep_create(maker, &step);
		pick_add(maker, &step);
	}
	for (int i = 0; i < pairs; i++) {
		struct df_step step = {.kind = DF_CONNECT};

		make_connect(maker, &step);
		pick_add(maker, &step);
	}
}

/* An adapter with every ability, whose transport alternates. */
static struct df_profile
profile_of(uint32_t seed, unsigned draw)
{
	struct df_profile all = {
		.imagined = true,
		.ib = seed % 2 == 0,
		.remote_status = seed % 2 == 0,
		.local_read = seed % 2 != 0,
		.atomics = true,
		.relative = true,
		.sink_remote_write = true,
		.local_extensions = true,
		.send_unlink = true,
		.narrow = true,
		.wide = true,
		.narrow_unlink = true,
		.wide_unlink = true,
		.unlink_fence = true,
		.lmr_modify = true,
		.ird_ord = true,
		.most_ird = DF_DEPTH,
		.most_ord = DF_DEPTH,
		.has_srq = true,
		.three_way = true,
		.datagrams = true,
		.privileged = (draw & DF_DRAW_PRIVILEGED) != 0,
		.lmr_link = true,
		.direct = true,
		.wq_resizable = true,
		.srq_resizable = true,
		.enables_modifiable = true,
		.ird_modifiable = true,
		.ord_increasable = true,
		.low_watermark = true,
		.soft_watermark = true,
		.hard_watermark = true,
		.faults = true,
		.lists = ~0u,
		.ud_send_segs = 4,
		.ud_recv_segs = 4,
		.ud_payload = 2048,
		.send_segs = 4,
		.recv_segs = 4,
		.srq_segs = 4,
		.write_segs = 4,
		.read_segs = 1,
	};

	for (int i = 0; i <= DF_DEPTH; i++)
		all.sq[i] = all.rq[i] = all.srq[i] = all.ud_sq[i] = all.ud_rq[i] = all.unaff[i] = i;
	return all;
}

struct df_program *
df_generate(uint32_t seed, unsigned draw)
{
	const struct df_profile all = profile_of(seed, draw);
	struct maker maker = {.rand = g_rand_new_with_seed(seed),
			      .wide = (draw & DF_DRAW_WIDE) != 0,
			      .privileged = (draw & DF_DRAW_PRIVILEGED) != 0,
			      .watermarks = (draw & DF_DRAW_WATERMARKS) != 0,
			      .faults = (draw & DF_DRAW_FAULTS) != 0,
			      .changes = (draw & DF_DRAW_CHANGES) != 0,
			      .ways = (draw & DF_DRAW_WAYS) != 0};
	int steps, last = -1;

	maker.model = df_model_new(&all);
	maker.program = df_program_new();
	make_prelude(&maker);
	steps = STEPS_LEAST + pick_below(&maker, STEPS_MOST - STEPS_LEAST);
	/* An adapter that has failed is seen for a few steps. */
	if (maker.faults && pick_once_in(&maker, 3))
		last = steps - 1 - pick_below(&maker, STEPS_LEAST);
	for (int i = 0; i < steps; i++) {
		struct df_step step = {.kind = pick_kind(&maker)};

		maker.wild = pick_once_in(&maker, 12);
		if (is_idle_work(&maker, step.kind) && !pick_once_in(&maker, 10))
			step.kind = DF_CONNECT;
		if (maker.faults)
			pick_repair(&maker);
		if (i == last)
			pick_fail(&maker, &step);
		else
			kinds[step.kind].make(&maker, &step);
		pick_add(&maker, &step);
		if (maker.watermarks && pick_once_in(&maker, 5)) {
			pick_burst(&maker, &step);
			pick_add(&maker, &step);
		}
	}
	df_model_free(maker.model);
	g_rand_free(maker.rand);
	return maker.program;
}
