/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "vro_sim.h"

#include <stdlib.h>
#include <string.h>

#define LATENCY 10000u /* ns of a packet that is not delayed */

struct sim_packet {
	uint64_t due;
	guint64 order;
	int to;
	bool counted; /* of the limit of its side */
	struct roce_flow flow;
	size_t len;
	uint8_t octets[];
};

/* --- the wire ----------------------------------------------------------------------------- */

static uint32_t
draw(struct sim *sim)
{
	sim->seed ^= sim->seed << 13;
	sim->seed ^= sim->seed >> 17;
	sim->seed ^= sim->seed << 5;
	return sim->seed;
}

static bool
happens(struct sim *sim, uint32_t parts)
{
	return parts != 0 && draw(sim) % 1000 < parts;
}

static uint64_t
now_of(const struct sim *sim)
{
	return sim->host->now(sim->host->self);
}

static void
timer_set(struct sim *sim)
{
	uint64_t first = RI_NEVER;

	for (guint i = 0; i < sim->packets->len; i++)
		first = MIN(first, ((struct sim_packet *)sim->packets->pdata[i])->due);
	for (int i = 0; i < 2; i++)
		if (sim->sides[i].engine.later != NULL)
			first = MIN(first, now_of(sim) + LATENCY);
	sim->host->timer_start(sim->host->self, &sim->timer, first);
}

static void
capture_write(struct sim *sim, const struct roce_flow *flow, const uint8_t *octets, size_t len)
{
	uint8_t head[ROCE_IP_MAX];
	uint32_t size = roce_ip_write(head, flow, len);
	uint64_t at = now_of(sim);
	uint32_t record[4] = {(uint32_t)(at / 1000000000), (uint32_t)(at % 1000000000 / 1000),
			      size + (uint32_t)len, size + (uint32_t)len};

	g_assert_cmpuint(fwrite(record, sizeof(record), 1, sim->capture), ==, 1);
	g_assert_cmpuint(fwrite(head, size, 1, sim->capture), ==, 1);
	g_assert_cmpuint(fwrite(octets, len, 1, sim->capture), ==, 1);
}

/* The packet that `side` has built arrives at the other side after that number of ns. */
static void
packet_add(struct sim_side *side, const struct roce_flow *flow, size_t len, bool counted,
	   uint64_t wait)
{
	struct sim *sim = side->sim;
	struct sim_packet *p = g_malloc(sizeof(*p) + len);

	*p = (struct sim_packet){.due = now_of(sim) + sim->wire.distance + wait,
				 .order = sim->order++,
				 .to = side == &sim->sides[0],
				 .counted = counted,
				 .flow = *flow,
				 .len = len};
	memcpy(p->octets, side->octets, len);
	if (happens(sim, sim->wire.damage))
		p->octets[draw(sim) % len] ^= (uint8_t)(1u << draw(sim) % 8);
	g_ptr_array_add(sim->packets, p);
}

static uint64_t
far_away(struct sim *sim)
{
	return LATENCY + draw(sim) % (uint32_t)MAX(sim->wire.far, 1);
}

static uint8_t *
link_room(struct vro_link *link)
{
	struct sim_side *side =
		(struct sim_side *)(void *)((char *)link - offsetof(struct sim_side, link));

	if (side->sim->wire.limit != 0 && side->in_flight >= side->sim->wire.limit)
		return NULL;
	return side->octets;
}

static void
link_send(struct vro_link *link, const struct roce_flow *flow, size_t len)
{
	struct sim_side *side =
		(struct sim_side *)(void *)((char *)link - offsetof(struct sim_side, link));
	struct sim *sim = side->sim;
	int from = side == &sim->sides[1];
	gint number = (gint)sim->sent++;
	struct roce_packet p;
	bool lost = number == sim->drop[0] || number == sim->drop[1];

	len = roce_icrc_seal(flow, side->octets, len);
	g_assert_cmpint(roce_packet_read(side->octets, len, &p), ==, ROCE_OK);
	g_assert_cmpint(memcmp(flow->source, side->gid, 16), ==, 0);
	if (sim->capture != NULL)
		capture_write(sim, flow, side->octets, len);
	if (sim->filter != NULL && !sim->filter(sim, from, &p))
		lost = true;
	if (happens(sim, sim->wire.duplicate))
		packet_add(side, flow, len, false, far_away(sim));
	if (!lost && !happens(sim, sim->wire.lose)) {
		side->in_flight++;
		packet_add(side, flow, len, true,
			   happens(sim, sim->wire.delay) ? far_away(sim) : LATENCY);
	}
	timer_set(sim);
}

/* The first packet that is due, or NULL. */
static struct sim_packet *
packet_take(struct sim *sim, int to, uint64_t now)
{
	struct sim_packet *first = NULL;

	for (guint i = 0; i < sim->packets->len; i++) {
		struct sim_packet *p = sim->packets->pdata[i];

		if (p->due <= now && p->to == to &&
		    (first == NULL || p->due < first->due ||
		     (p->due == first->due && p->order < first->order)))
			first = p;
	}
	if (first != NULL)
		g_ptr_array_remove_fast(sim->packets, first);
	return first;
}

/* What is true of a requester whenever the engine rests. Returns its part of the budget. */
static uint32_t
requester_check(const struct vro_qp *qp)
{
	const struct vro_requester *tx = &qp->tx;
	const struct vro_request *r =
		(const void *)(tx->requests + (size_t)(tx->current & tx->mask) * tx->stride);
	uint32_t position = tx->current == tx->taken ? tx->psn : roce_add(r->first, tx->at);

	g_assert_cmpuint(tx->current - tx->oldest, <=, tx->taken - tx->oldest);
	g_assert_cmpuint(tx->taken - tx->oldest, <=, tx->mask + 1);
	if (qp->state != VRO_RTS || qp->transport != ROCE_RC)
		return tx->counted;
	g_assert_true(tx->current == tx->taken ? tx->at == 0
					       : r->packets == 0 || tx->at < r->packets);
	g_assert_cmpint(roce_diff(position, tx->una), >=, 0);
	g_assert_cmpint(roce_diff(tx->end, position), >=, 0);
	g_assert_cmpint(roce_diff(tx->asked, position), <=, 0);
	g_assert_cmpuint(tx->window, >=, VRO_WINDOW_MIN);
	g_assert_cmpuint(tx->window, <=, VRO_WINDOW_MAX);
	return tx->counted;
}

static void
side_check(const struct sim_side *side)
{
	uint32_t counted = 0, sent = 0;

	for (guint i = 0; i < SIM_QPS; i++)
		if (side->qps[i] != NULL)
			counted += requester_check(&side->qps[i]->qp);
	for (guint i = 0; i < VRO_PEERS; i++)
		sent += side->engine.sent[i];
	g_assert_cmpuint(sent, ==, counted);
	g_assert_null(side->engine.dirty);
}

/* All packets that are due come as one batch, as a socket gives them. */
static void
deliver(void *arg)
{
	struct sim *sim = arg;
	uint64_t now = now_of(sim);

	for (int to = 0; to < 2; to++) {
		struct sim_packet *p;

		while ((p = packet_take(sim, to, now)) != NULL) {
			if (p->counted)
				sim->sides[!to].in_flight--;
			sim->received++;
			vro_engine_packet(&sim->sides[to].engine, &p->flow, false, p->octets,
					  p->len);
			g_free(p);
		}
		vro_engine_flush(&sim->sides[to].engine);
	}
	for (int side = 0; side < 2; side++)
		vro_engine_ready(&sim->sides[side].engine);
	for (int side = 0; side < 2; side++)
		side_check(&sim->sides[side]);
	timer_set(sim);
}

/* --- sides -------------------------------------------------------------------------------- */

static struct vro_qp *
engine_find(struct vro_engine *engine, uint32_t qpn)
{
	struct sim_side *side = (struct sim_side *)(void *)engine;

	for (guint i = 0; i < SIM_QPS; i++)
		if (side->qps[i] != NULL && side->qps[i]->qp.qpn == qpn)
			return &side->qps[i]->qp;
	return NULL;
}

static void
bell_sq(void *engine_qp)
{
	vro_qp_kick(&((struct sim_qp *)engine_qp)->qp);
}

static void
bell_rq(void *engine_qp)
{
	struct sim_qp *q = engine_qp;

	if (q->qp.state == VRO_ERROR)
		vro_qp_kick(&q->qp);
}

static uint32_t
bell_poll(void *engine)
{
	(void)engine;
	return 0;
}

static void
cq_event(void *self, uint64_t ctx)
{
	(void)self;
	(void)ctx;
}

static const struct vsw_cq_upcall upcall = {.cq_event = cq_event};

/* What the memory of a side has in the beginning. Fuzzers make many simulations, so it is computed once. */
static const uint8_t *
memory_at_first(int i)
{
	static uint8_t octets[2][SIM_ROOM];

	if (octets[i][0] == octets[i][1])
		for (guint k = 0; k < SIM_ROOM; k++)
			octets[i][k] = (uint8_t)(k * 7 + k / 256 + (guint)i * 13);
	return octets[i];
}

static void
side_open(struct sim *sim, int i, bool v6)
{
	struct sim_side *side = &sim->sides[i];
	const uint8_t v4[4] = {192, 0, 2, (uint8_t)(i + 1)};
	struct ri_map map;

	side->sim = sim;
	side->link = (struct vro_link){.room = link_room, .send = link_send};
	side->engine = (struct vro_engine){.host = sim->host,
					   .link = &side->link,
					   .find = engine_find,
					   .probe = 1000000,
					   .name = "roce:sim"};
	g_assert_cmpint(vsw_mem_table_create(sim->host, 64, RI_KEY_CONSUMER, &side->mem), ==,
			RI_SUCCESS);
	if (v6) {
		side->gid[0] = 0x20;
		side->gid[1] = 1;
		side->gid[15] = (uint8_t)(i + 1);
	} else {
		roce_gid_of_v4(side->gid, v4);
	}
	side->bell = (struct vsw_doorbell){.engine = side,
					   .sq = bell_sq,
					   .rq = bell_rq,
					   .poll = bell_poll,
					   .immediate_with = RI_IMMEDIATE_SEND |
							     RI_IMMEDIATE_WRITE | RI_IMMEDIATE_UD,
					   .max_inline = 64};
	vsw_map_rnic(&map, &side->bell);
	g_assert_cmpint(vsw_user_ops.rnic_open(NULL, &map, &side->rnic), ==, RI_SUCCESS);

	const struct ri_mr_init init = {.addr = (uint64_t)(uintptr_t)side->memory,
					.length = SIM_ROOM,
					.access = SIM_ALL,
					.key = 0x5a};

	g_assert_cmpint(vsw_mr_reg(side->mem, &sim->pd, 1, &init, &side->mr, &side->stag), ==,
			RI_SUCCESS);
	memcpy(side->memory, memory_at_first(i), SIM_ROOM);
}

struct sim *
sim_new(uint32_t seed, bool v6)
{
	struct sim *sim = g_new0(struct sim, 1);

	sim->vth = vth_new(false);
	sim->host = vth_host(sim->vth);
	sim->seed = seed != 0 ? seed : 1;
	sim->drop[0] = sim->drop[1] = -1;
	sim->packets = g_ptr_array_new();
	sim->timer.fire = deliver;
	sim->timer.arg = sim;
	for (int i = 0; i < 2; i++)
		side_open(sim, i, v6);
	return sim;
}

static void
qp_free(struct sim_qp *q)
{
	vro_qp_leave(&q->qp);
	vro_qp_destroy(&q->qp);
	vsw_user_ops.qp_close(q->uqp);
	vsw_user_ops.cq_close(q->uscq);
	vsw_user_ops.cq_close(q->urcq);
	vsw_wq_destroy(&q->qp.tx.sq);
	vsw_wq_destroy(&q->qp.in.rq);
	vsw_cq_destroy(&q->scq);
	vsw_cq_destroy(&q->rcq);
	g_free(q->qp.in.wqe);
	g_string_free(q->sent, TRUE);
	g_string_free(q->received, TRUE);
	free(q);
}

void
sim_free(struct sim **freed)
{
	struct sim *sim = *freed;

	for (int i = 0; i < 2; i++) {
		struct sim_side *side = &sim->sides[i];

		for (guint k = 0; k < SIM_QPS; k++)
			if (side->qps[k] != NULL)
				qp_free(side->qps[k]);
		g_assert_cmpint(vsw_mr_dereg(side->mr), ==, RI_SUCCESS);
		vsw_user_ops.rnic_close(side->rnic);
		vsw_mem_table_destroy(side->mem);
	}
	sim->host->timer_stop(sim->host->self, &sim->timer);
	for (guint i = 0; i < sim->packets->len; i++)
		g_free(sim->packets->pdata[i]);
	g_ptr_array_unref(sim->packets);
	vth_free(&sim->vth);
	g_free(sim);
}

void
sim_run(struct sim *sim, uint64_t ns)
{
	vth_advance(sim->vth, ns);
}

/* --- queue pairs -------------------------------------------------------------------------- */

static void
qp_failed(struct vro_qp *qp, uint32_t event)
{
	struct sim_qp *q = (struct sim_qp *)(void *)qp;

	q->failures++;
	q->event = event;
}

/* Address handle 1 is the other side. */
static bool
qp_address(struct vro_qp *qp, uint32_t ah, struct roce_flow *flow)
{
	const struct sim_qp *q = (struct sim_qp *)(void *)qp;
	const struct sim *sim = q->side->sim;
	const struct sim_side *other = &sim->sides[q->side == &sim->sides[0]];

	*flow = (struct roce_flow){
		.source_port = ROCE_UDP_PORT, .destination_port = ROCE_UDP_PORT, .hop_limit = 64};
	memcpy(flow->source, q->side->gid, 16);
	memcpy(flow->destination, other->gid, 16);
	return ah == 1;
}

static void
qp_limits(struct vro_qp *qp)
{
	(void)qp;
}

static void
qp_flushed(struct vro_qp *qp)
{
	(void)qp;
}

static const struct vro_qp_ops qp_ops = {
	.failed = qp_failed, .flushed = qp_flushed, .address = qp_address, .limits = qp_limits};

struct sim_qp *
sim_qp_new(struct sim *sim, int i, enum roce_transport transport)
{
	struct sim_side *side = &sim->sides[i];
	struct sim_qp *q = aligned_alloc(alignof(struct sim_qp), sizeof(struct sim_qp));
	struct ri_qp_init init = {.type = transport == ROCE_UD ? RI_QP_UD : RI_QP_RC,
				  .max_send_sge = 4,
				  .max_recv_sge = 4,
				  .max_write_sge = 4,
				  .max_read_sge = 4,
				  .max_inline = 64};
	uint32_t sq = SIM_DEPTH, rq = SIM_DEPTH, entries = 2 * SIM_DEPTH;
	struct ri_map map;
	guint slot = 0;

	g_assert_nonnull(q);
	memset(q, 0, sizeof(*q));
	while (side->qps[slot] != NULL)
		g_assert_cmpuint(++slot, <, SIM_QPS);
	side->qps[slot] = q;
	q->side = side;
	q->sent = g_string_new(NULL);
	q->received = g_string_new(NULL);
	g_assert_cmpint(vsw_cq_create(&q->scq, 1, &entries, &upcall), ==, RI_SUCCESS);
	g_assert_cmpint(vsw_cq_create(&q->rcq, 2, &entries, &upcall), ==, RI_SUCCESS);
	g_assert_cmpint(vsw_wq_create(&q->qp.tx.sq, &sq, 4, 64), ==, RI_SUCCESS);
	g_assert_cmpint(vsw_rq_create(&q->qp.in.rq, &rq, 4), ==, RI_SUCCESS);
	vsw_map_cq(&map, &q->scq);
	g_assert_cmpint(vsw_user_ops.cq_open(side->rnic, &map, &q->uscq), ==, RI_SUCCESS);
	vsw_map_cq(&map, &q->rcq);
	g_assert_cmpint(vsw_user_ops.cq_open(side->rnic, &map, &q->urcq), ==, RI_SUCCESS);
	vsw_map_qp(&map, &q->qp.tx.sq, &q->qp.in.rq, q, &init);
	g_assert_cmpint(vsw_user_ops.qp_open(side->rnic, &map, q->uscq, q->urcq, NULL, &q->uqp), ==,
			RI_SUCCESS);
	q->qp.engine = &side->engine;
	q->qp.ops = &qp_ops;
	q->qp.transport = (uint8_t)transport;
	q->qp.qpn = 0x11 + slot + 0x20000 * (guint)i;
	q->qp.qkey = 0x11111111;
	q->qp.in.mem = side->mem;
	q->qp.in.who = (struct vsw_mem_who){.pd = &sim->pd, .qpn = q->qp.qpn};
	q->qp.in.receiver = q->qp.in.who;
	q->qp.in.ctx = 0x100 + slot;
	q->qp.in.cq = &q->rcq;
	q->qp.tx.cq = &q->scq;
	q->qp.in.wqe = g_malloc0(sizeof(struct vsw_wqe) + 16 * sizeof(struct ri_sge));
	atomic_store(&q->qp.in.access, SIM_RIGHTS | RI_ACCESS_BIND);
	atomic_store(&q->qp.in.ird, 4);
	g_assert_cmpint(vro_qp_create(&q->qp), ==, RI_SUCCESS);
	q->qp.state = VRO_INIT;
	return q;
}

void
sim_path(struct sim_qp *q, const struct sim_qp *peer, uint32_t mtu)
{
	struct vro_path *path = &q->qp.path;

	g_assert_true(qp_address(&q->qp, 1, &path->flow));
	path->qpn = peer->qp.qpn;
	path->pkey = ROCE_PKEY;
	path->mtu = mtu;
	path->timeout = SIM_TIMEOUT;
	path->retries = 7;
	path->rnr_retries = VRO_RNR_FOR_EVER;
	path->rnr_timer = 12;
	path->ord = 4;
}

void
sim_pair(struct sim *sim, enum roce_transport transport, uint32_t mtu, uint32_t psn0, uint32_t psn1,
	 struct sim_qp *pair[2])
{
	for (int i = 0; i < 2; i++)
		pair[i] = sim_qp_new(sim, i, transport);
	for (int i = 0; i < 2; i++)
		sim_path(pair[i], pair[!i], mtu);
	vro_qp_to_rtr(&pair[0]->qp, psn1);
	vro_qp_to_rtr(&pair[1]->qp, psn0);
	vro_qp_to_rts(&pair[0]->qp, psn0);
	vro_qp_to_rts(&pair[1]->qp, psn1);
}

struct ri_sge
sim_sge(const struct sim_qp *q, uint32_t at, uint32_t len)
{
	return (struct ri_sge){.addr = (uint64_t)(uintptr_t)(q->side->memory + at),
			       .length = len,
			       .stag = q->side->stag};
}

void
sim_post(struct sim_qp *q, const struct ri_wr *wr)
{
	g_assert_cmpint(vsw_post_sq(q->uqp, wr), ==, RI_SUCCESS);
}

void
sim_receive(struct sim_qp *q, uint64_t id, uint32_t at, uint32_t len)
{
	const struct ri_sge sge = sim_sge(q, at, len);
	const struct ri_recv_wr wr = {.wr_id = id, .sgl = &sge, .num_sge = 1};

	g_assert_cmpint(vsw_post_rq(q->uqp, &wr), ==, RI_SUCCESS);
}

struct ri_wr
sim_request(const struct sim_qp *q, uint64_t id, uint8_t opcode, const struct ri_sge *sge,
	    uint32_t to)
{
	struct sim *sim = q->side->sim;
	struct sim_side *other = &sim->sides[q->side == &sim->sides[0]];
	struct ri_wr wr = {.wr_id = id,
			   .sgl = sge,
			   .num_sge = sge != NULL,
			   .opcode = opcode,
			   .flags = RI_WR_SIGNALED};

	if (opcode != RI_OP_SEND)
		wr.u.remote = (struct ri_wr_remote){
			.addr = (uint64_t)(uintptr_t)(other->memory + to), .stag = other->stag};
	return wr;
}

static void
completions(struct ri_ucq *cq, GString *to)
{
	struct ri_wc wc;

	while (vsw_poll_cq(cq, &wc, 1) == 1) {
		g_string_append_printf(to, "%" G_GUINT64_FORMAT " %s %s", wc.wr_id,
				       ri_opcode_name(wc.opcode), ri_wc_status_name(wc.status));
		if (wc.status == RI_WC_SUCCESS && (wc.flags & RI_WC_RECEIVE) != 0)
			g_string_append_printf(to, " %u %x", wc.byte_len, wc.flags);
		if (wc.status == RI_WC_SUCCESS && (wc.flags & RI_WC_IMMEDIATE) != 0)
			g_string_append_printf(to, " imm %x", wc.imm);
		if (wc.status == RI_WC_SUCCESS && (wc.flags & RI_WC_INVALIDATED) != 0)
			g_string_append(to, " inv");
		g_string_append_c(to, '\n');
	}
}

void
sim_poll(struct sim_qp *q)
{
	completions(q->uscq, q->sent);
	completions(q->urcq, q->received);
}

char *
sim_state(struct sim *sim)
{
	GString *state = g_string_new(NULL);

	for (int i = 0; i < 2; i++) {
		struct sim_side *side = &sim->sides[i];
		g_autofree char *sum =
			g_compute_checksum_for_data(G_CHECKSUM_SHA256, side->memory, SIM_ROOM);

		for (guint k = 0; k < SIM_QPS && side->qps[k] != NULL; k++) {
			sim_poll(side->qps[k]);
			g_string_append_printf(state, "side %d qp %u sent:\n%sreceived:\n%s", i, k,
					       side->qps[k]->sent->str,
					       side->qps[k]->received->str);
		}
		g_string_append_printf(state, "side %d memory %s\n", i, sum);
	}
	return g_string_free(state, FALSE);
}
