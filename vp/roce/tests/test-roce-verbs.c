/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The provider through its tables, over sockets of the loopback: connections by attributes, datagrams, ends. */
#include <fcntl.h>
#include <linux/sock_diag.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "roce_address.h"
#include "vro_verbs.h"
#include "vsw_node.h"

#define MS UINT64_C(1000000)

struct pair {
	struct vth *vth;
	struct node *node;
	struct end *a, *b;
	struct chunk ma, mb;
	struct ri_peer to_a, to_b;
};

static uint32_t
qpn_of(struct end *end)
{
	return end_attr(end).qpn;
}

static struct ri_peer
peer_of(struct end *far, uint32_t rq_psn, uint32_t sq_psn)
{
	return (struct ri_peer){.path = {.dest = roce_address(0)},
				.qpn = qpn_of(far),
				.rq_psn = rq_psn,
				.path_mtu = 1024,
				.ird = 4,
				.min_rnr_timer = 12,
				.sq_psn = sq_psn,
				.ord = 4,
				.timeout = 16,
				.retry_count = 7,
				.rnr_retry = 7};
}

static struct node *
node_of(struct vth *vth)
{
	struct node *node = node_open(vro_provider_entry(), vth, false, "roce:lo");

	node->requests = 16;
	node->entries = 64;
	return node;
}

static void
pair_open(struct pair *p, enum ri_qp_type type)
{
	struct ri_qp_init init;

	memset(p, 0, sizeof(*p));
	p->vth = vth_new(false);
	p->node = node_of(p->vth);
	init = end_defaults(p->node);
	init.type = type;
	init.access |= RI_ACCESS_REMOTE_ATOMIC;
	p->a = end_new(p->node, &init);
	p->b = end_new(p->node, &init);
	p->ma = chunk_new(p->node, 65536, ALL_RW | RI_ACCESS_REMOTE_ATOMIC);
	p->mb = chunk_new(p->node, 65536, ALL_RW | RI_ACCESS_REMOTE_ATOMIC);
	chunk_fill(&p->ma, 1);
	chunk_fill(&p->mb, 2);
	p->to_b = peer_of(p->b, 7, 0xfffff0);
	p->to_a = peer_of(p->a, 0xfffff0, 7);
}

/* One more pair of that node; pair_less frees it. */
static void
pair_more(struct pair *p, const struct pair *first)
{
	*p = *first;
	p->a = end_new(p->node, NULL);
	p->b = end_new(p->node, NULL);
	p->ma = chunk_new(p->node, 65536, ALL_RW);
	p->mb = chunk_new(p->node, 65536, ALL_RW);
	p->to_b = peer_of(p->b, 7, 0xfffff0);
	p->to_a = peer_of(p->a, 0xfffff0, 7);
}

static void
pair_less(struct pair *p)
{
	end_free(&p->a);
	end_free(&p->b);
	chunk_free(&p->ma);
	chunk_free(&p->mb);
}

static void
pair_up(struct pair *p)
{
	const struct ri_peer_ops *peer = vro_provider_entry()->peer;

	g_assert_cmpint(peer->receive(p->a->qp, &p->to_b), ==, RI_SUCCESS);
	g_assert_cmpint(end_state(p->a), ==, RI_QPS_CONNECTING);
	g_assert_cmpint(peer->receive(p->b->qp, &p->to_a), ==, RI_SUCCESS);
	g_assert_cmpint(peer->send(p->a->qp, &p->to_b), ==, RI_SUCCESS);
	g_assert_cmpint(peer->send(p->b->qp, &p->to_a), ==, RI_SUCCESS);
	g_assert_cmpint(end_state(p->a), ==, RI_QPS_RTS);
}

static void
pair_close(struct pair *p)
{
	node_silent(p->node);
	end_free(&p->a);
	end_free(&p->b);
	chunk_free(&p->ma);
	chunk_free(&p->mb);
	node_close(&p->node);
	vth_free(&p->vth);
}

/* Poll until a completion comes; 1 ms passes with each look. */
static struct ri_wc
wait_one(struct pair *p, struct ri_ucq *cq, uint64_t id, enum ri_wc_status status)
{
	struct ri_wc wc = {0};
	gint64 end = node_deadline();

	while (vro_provider_entry()->fast->poll_cq(cq, &wc, 1) == 0) {
		g_assert_cmpint(g_get_monotonic_time(), <, end);
		vth_advance(p->vth, MS);
	}
	g_assert_cmpuint(wc.wr_id, ==, id);
	g_assert_cmpint((int)wc.status, ==, (int)status);
	return wc;
}

/* A wrong key ends both sides, with one event each; both can be used again. */
static void
ends(void)
{
	struct pair p RI_AT_END(pair_close);
	const struct ri_peer_ops *peer = vro_provider_entry()->peer;

	pair_open(&p, RI_QP_RC);
	g_assert_cmpint(peer->send(p.a->qp, &p.to_b), ==, RI_ERR_INVALID_STATE);
	pair_up(&p);
	g_assert_cmpint(peer->receive(p.a->qp, &p.to_b), ==, RI_ERR_INVALID_STATE);
	g_assert_cmpint(end_recv(p.b, 9, &p.mb, 0, 64), ==, RI_SUCCESS);
	p.mb.stag ^= 0x100;
	g_assert_cmpint(end_write(p.a, 1, &p.ma, &p.mb, 8), ==, RI_SUCCESS);
	p.mb.stag ^= 0x100;
	wait_one(&p, p.a->uscq, 1, RI_WC_REMOTE_ACCESS);
	wait_one(&p, p.b->urcq, 9, RI_WC_FLUSHED);
	g_assert_cmpint(end_state(p.a), ==, RI_QPS_ERROR);
	node_async(p.node, RI_EVENT_QP_ACCESS, p.b);
	node_async(p.node, RI_EVENT_QP_WR_ERROR, p.a);
	g_assert_cmpint(end_recv(p.b, 10, &p.mb, 0, 64), ==, RI_SUCCESS);
	wait_one(&p, p.b->urcq, 10, RI_WC_FLUSHED);
	g_assert_cmpint(end_modify(p.a, RI_QPS_IDLE), ==, RI_SUCCESS);
	g_assert_cmpint(end_modify(p.b, RI_QPS_IDLE), ==, RI_SUCCESS);
	pair_up(&p);
	g_assert_cmpint(end_recv(p.b, 11, &p.mb, 0, 64), ==, RI_SUCCESS);
	g_assert_cmpint(end_send(p.a, 11, &p.ma, 0, 64), ==, RI_SUCCESS);
	wait_one(&p, p.b->urcq, 11, RI_WC_SUCCESS);
	wait_one(&p, p.a->uscq, 11, RI_WC_SUCCESS);
	/* An end by the application: what is posted is flushed, and no event comes. */
	g_assert_cmpint(end_recv(p.b, 12, &p.mb, 0, 64), ==, RI_SUCCESS);
	g_assert_cmpint(end_modify(p.b, RI_QPS_ERROR), ==, RI_SUCCESS);
	g_assert_cmpint(end_modify(p.b, RI_QPS_IDLE), ==, RI_ERR_STILL_FLUSHING);
	wait_one(&p, p.b->urcq, 12, RI_WC_FLUSHED);
	node_silent(p.node);
	/* The other side notices when its tries are over. */
	g_assert_cmpint(end_send(p.a, 13, &p.ma, 0, 64), ==, RI_SUCCESS);
	wait_one(&p, p.a->uscq, 13, RI_WC_TRANSPORT);
	node_async(p.node, RI_EVENT_QP_WR_ERROR, p.a);
}

static void
datagrams(void)
{
	const struct ri_ah_init init = {
		.dest = roce_address(0), .hop_limit = 33, .traffic_class = 0x20};
	const struct ri_ah_init far = {.dest = {.family = RI_ADDR_IPV6, .octets = {0x20, 1}}};
	const struct ri_ah_ops *ops = vro_provider_entry()->ah;
	struct ri_ah *ah = NULL;
	struct pair p RI_AT_END(pair_close);
	struct ri_wr wr = {
		.wr_id = 5, .opcode = RI_OP_SEND_UD, .flags = RI_WR_SIGNALED, .num_sge = 1};
	struct ri_qp_counters counters = {.size = sizeof(counters)};
	struct ri_sge sge;
	uint32_t id;

	pair_open(&p, RI_QP_UD);
	g_assert_cmpint(end_state(p.a), ==, RI_QPS_RTS);
	vro_provider_entry()->user->qp_count(p.b->uqp, &counters);
	g_assert_cmphex(counters.known & (RI_COUNTED_FRAMES | RI_COUNTED_CRC | RI_COUNTED_RETRIES),
			==, RI_COUNTED_FRAMES | RI_COUNTED_CRC | RI_COUNTED_RETRIES);
	g_assert_cmpint(ops->create(p.node->pd, &far, &ah, &id), ==, RI_ERR_NO_ROUTE);
	g_assert_cmpint(ops->create(p.node->pd, &init, &ah, &id), ==, RI_SUCCESS);
	g_assert_cmpint(end_recv(p.b, 6, &p.mb, 0, 140), ==, RI_SUCCESS);
	sge = chunk_sge(&p.ma, 0, 100);
	wr.sgl = &sge;
	wr.u.ud = (struct ri_wr_ud){.ah = id, .qpn = qpn_of(p.b), .qkey = end_attr(p.b).qkey};
	g_assert_cmpint(vro_provider_entry()->fast->post_sq(p.a->uqp, &wr), ==, RI_SUCCESS);
	wait_one(&p, p.a->uscq, 5, RI_WC_SUCCESS);
	g_assert_cmpuint(wait_one(&p, p.b->urcq, 6, RI_WC_SUCCESS).src_qpn, ==, qpn_of(p.a));
	g_assert_cmpmem(p.ma.at, 100, p.mb.at + 40, 100);
	g_assert_cmpuint(counters.frames_received, ==, 1);
	/* What its sender said is in the IPv4 header in front. */
	g_assert_cmphex(p.mb.at[20], ==, 0x45);
	g_assert_cmphex(p.mb.at[21], ==, 0x20);
	g_assert_cmpuint(p.mb.at[28], ==, 33);
	g_assert_cmpint(ops->destroy(ah), ==, RI_SUCCESS);
	g_assert_cmpint(vro_provider_entry()->fast->post_sq(p.a->uqp, &wr), ==, RI_SUCCESS);
	wait_one(&p, p.a->uscq, 5, RI_WC_LOCAL_QP);
	node_async(p.node, RI_EVENT_QP_WR_ERROR, p.a);
	/* An end by the application has an event as well, after all is flushed. */
	g_assert_cmpint(end_recv(p.b, 7, &p.mb, 0, 140), ==, RI_SUCCESS);
	g_assert_cmpint(end_modify(p.b, RI_QPS_ERROR), ==, RI_SUCCESS);
	wait_one(&p, p.b->urcq, 7, RI_WC_FLUSHED);
	node_async(p.node, RI_EVENT_QP_CATASTROPHIC, p.b);
	g_assert_cmpint(end_modify(p.b, RI_QPS_IDLE), ==, RI_SUCCESS);
	g_assert_cmpint(end_state(p.b), ==, RI_QPS_RTS);
}

static guint
descriptors_open(void)
{
	g_autoptr(GDir) dir = g_dir_open("/proc/self/fd", 0, NULL);
	guint count = 0;

	while (g_dir_read_name(dir) != NULL)
		count++;
	return count;
}

/* Nothing comes in 20 ms of both clocks: the datagrams of this host arrive at once. */
static void
nothing_comes(struct pair *p, struct ri_ucq *cq)
{
	struct ri_wc wc;

	for (int i = 0; i < 20; i++) {
		g_assert_cmpuint(vro_provider_entry()->fast->poll_cq(cq, &wc, 1), ==, 0);
		vth_advance(p->vth, MS);
		g_usleep(1000);
	}
}

/* A group of multicast: each queue pair that is attached gets each message once, with the address of its sender, until it is detached or goes. */
static void
groups(void)
{
	const struct ri_qp_ops *ops = &vro_qp_ops_table;
	const unsigned pid = (unsigned)getpid();
	const struct ri_addr group = {
		.family = RI_ADDR_IPV4,
		.octets = {239, (uint8_t)(pid >> 16), (uint8_t)(pid >> 8), (uint8_t)pid}};
	const struct ri_addr other = {.family = RI_ADDR_IPV6, .octets = {0xff, 5, [14] = 1, 2}};
	const struct ri_addr single = roce_address(0);
	const struct ri_ah_init init = {.dest = group};
	struct ri_ah *ah = NULL;
	struct ri_sge sge;
	struct ri_wr wr = {.wr_id = 5,
			   .opcode = RI_OP_SEND_UD,
			   .flags = RI_WR_SIGNALED,
			   .num_sge = 1,
			   .sgl = &sge};
	struct ri_addr route = {.family = RI_ADDR_NONE};
	struct end *third;
	struct ri_wc wc;
	struct pair p;
	uint32_t id, port;
	guint open;

	pair_open(&p, RI_QP_RC);
	g_assert_cmpint(ops->mcast_attach(p.a->qp, &group), ==, RI_ERR_UNSUPPORTED);
	g_assert_cmpint(vro_route(p.node->rnic, &group, &route, &port), ==, RI_ERR_NO_ROUTE);
	pair_close(&p);
	pair_open(&p, RI_QP_UD);
	open = descriptors_open();
	third = end_new(p.node, &p.b->init);
	g_assert_cmpint(ops->mcast_attach(p.a->qp, &single), ==, RI_ERR_INVALID_ARG);
	g_assert_cmpint(ops->mcast_detach(p.a->qp, &group), ==, RI_ERR_INVALID_ARG);
	g_assert_cmpint(vro_provider_entry()->ah->create(p.node->pd, &init, &ah, &id), ==,
			RI_SUCCESS);
	g_assert_cmpint(ops->mcast_attach(p.b->qp, &group), ==, RI_SUCCESS);
	g_assert_cmpint(ops->mcast_attach(p.b->qp, &group), ==, RI_SUCCESS);
	g_assert_cmpint(ops->mcast_attach(p.b->qp, &other), ==, RI_SUCCESS);
	g_assert_cmpint(ops->mcast_attach(third->qp, &group), ==, RI_SUCCESS);
	sge = chunk_sge(&p.ma, 0, 100);
	wr.u.ud = (struct ri_wr_ud){.ah = id, .qpn = ROCE_QPN_GROUP, .qkey = end_attr(p.b).qkey};
	for (uint64_t i = 0; i < 2; i++) {
		g_assert_cmpint(end_recv(p.b, i, &p.mb, 200 * (uint32_t)i, 140), ==, RI_SUCCESS);
		g_assert_cmpint(end_recv(third, i, &p.mb, 1000 + 200 * (uint32_t)i, 140), ==,
				RI_SUCCESS);
	}
	g_assert_cmpint(vro_provider_entry()->fast->post_sq(p.a->uqp, &wr), ==, RI_SUCCESS);
	wait_one(&p, p.a->uscq, 5, RI_WC_SUCCESS);
	wc = wait_one(&p, p.b->urcq, 0, RI_WC_SUCCESS);
	g_assert_cmpuint(wc.src_qpn, ==, qpn_of(p.a));
	wait_one(&p, third->urcq, 0, RI_WC_SUCCESS);
	g_assert_cmpmem(p.ma.at, 100, p.mb.at + 40, 100);
	g_assert_cmpmem(p.ma.at, 100, p.mb.at + 1040, 100);
	g_assert_cmpmem(p.mb.at + 36, 4, group.octets, 4);
	nothing_comes(&p, p.b->urcq);
	/* Another key is dropped; and one that has left gets nothing. */
	wr.u.ud.qkey ^= 1;
	g_assert_cmpint(vro_provider_entry()->fast->post_sq(p.a->uqp, &wr), ==, RI_SUCCESS);
	wait_one(&p, p.a->uscq, 5, RI_WC_SUCCESS);
	nothing_comes(&p, p.b->urcq);
	wr.u.ud.qkey ^= 1;
	g_assert_cmpint(ops->mcast_detach(p.b->qp, &group), ==, RI_SUCCESS);
	g_assert_cmpint(ops->mcast_detach(p.b->qp, &group), ==, RI_ERR_INVALID_ARG);
	g_assert_cmpint(vro_provider_entry()->fast->post_sq(p.a->uqp, &wr), ==, RI_SUCCESS);
	wait_one(&p, p.a->uscq, 5, RI_WC_SUCCESS);
	wait_one(&p, third->urcq, 1, RI_WC_SUCCESS);
	nothing_comes(&p, p.b->urcq);
	g_assert_cmpint(ops->mcast_detach(p.b->qp, &other), ==, RI_SUCCESS);
	/* The last member goes, and with it the socket. */
	end_free(&third);
	g_assert_cmpuint(descriptors_open(), ==, open);
	g_assert_cmpint(vro_provider_entry()->ah->destroy(ah), ==, RI_SUCCESS);
	pair_close(&p);
}

/* Two openings share a station; a name without interface is no adapter. */
static void
adapters(void)
{
	struct ri_device_desc descs[4];
	uint32_t count = 4;
	struct vth *vth RI_AT_END(vth_free) = vth_new(false);
	struct node *one RI_AT_END(node_close) = node_of(vth);
	struct node *two RI_AT_END(node_close) = node_of(vth);
	struct ri_open none = {.name = "roce:nothing", .host = vth_host(vth)};
	struct ri_rnic *rnic;
	bool found = false;

	none.upcalls = &one->upcalls;
	g_assert_true(one->rnic->station == two->rnic->station);
	g_assert_cmpint(vro_device_ops.open(&none, &rnic), ==, RI_ERR_NO_DEVICE);
	g_assert_cmpint(vro_device_ops.probe(vth_host(vth), descs, &count), ==, RI_SUCCESS);
	for (uint32_t i = 0; i < MIN(count, 4); i++)
		found = found || g_str_equal(descs[i].name, "roce:lo");
	g_assert_true(found);
}

/* Datagrams that the kernel dropped since the socket's buffer was full. */
static uint32_t
drops_of(const struct vro_udp *udp)
{
	uint32_t values[SK_MEMINFO_VARS] = {0};
	socklen_t size = sizeof(values);

	g_assert_cmpint(getsockopt(udp->fd, SOL_SOCKET, SO_MEMINFO, values, &size), ==, 0);
	return values[SK_MEMINFO_DROPS];
}

/*
 * All pairs of a station send as much as they may at once, before any packet is received. With the
 * kernel's default limit of a socket buffer, no packet may be lost, none may wait for a timer, and
 * each system call must send many packets.
 */
static void
steady(gconstpointer mtu)
{
	enum {
		PAIRS = 16,
		EACH = 4
	};
	const int usual =
		212992; /* net.core.rmem_max, where nobody has changed it; the kernel doubles it */
	struct pair pairs[PAIRS];
	const struct vro_station *station;

	for (int i = 0; i < PAIRS; i++) {
		if (i == 0)
			pair_open(&pairs[i], RI_QP_RC);
		else
			pair_more(&pairs[i], &pairs[0]);
		chunk_fill(&pairs[i].ma, (unsigned)i);
		pairs[i].to_a.path_mtu = pairs[i].to_b.path_mtu = GPOINTER_TO_UINT(mtu);
		pair_up(&pairs[i]);
	}
	station = pairs[0].node->rnic->station;
	g_assert_cmpint(
		setsockopt(station->udps[0].fd, SOL_SOCKET, SO_RCVBUF, &usual, sizeof(usual)), ==,
		0);
	for (int round = 0; round < 8; round++) {
		for (uint64_t id = 1; id <= EACH; id++)
			for (int i = 0; i < PAIRS; i++)
				g_assert_cmpint(end_write(pairs[i].a, id, &pairs[i].ma,
							  &pairs[i].mb, 65536),
						==, RI_SUCCESS);
		for (uint64_t id = 1; id <= EACH; id++)
			for (int i = 0; i < PAIRS; i++)
				wait_one(&pairs[i], pairs[i].a->uscq, id, RI_WC_SUCCESS);
	}
	for (int i = 0; i < PAIRS; i++)
		g_assert_cmpmem(pairs[i].ma.at, 65536, pairs[i].mb.at, 65536);
	g_assert_cmpuint(drops_of(&station->udps[0]), ==, 0);
	g_assert_cmpuint(station->engine.counts[VRO_GAPS], ==, 0);
	g_assert_cmpuint(station->engine.counts[VRO_TIMEOUTS], ==, 0);
	g_assert_cmpuint(station->engine.counts[VRO_PACKETS_OUT], >=,
			 PAIRS * EACH * 8 * (65536 / GPOINTER_TO_UINT(mtu)));
	g_test_message("%" G_GUINT64_FORMAT " packets, sent in %" G_GUINT64_FORMAT
		       " calls and received in %" G_GUINT64_FORMAT ", %" G_GUINT64_FORMAT
		       " repeated",
		       station->engine.counts[VRO_PACKETS_OUT], station->udps[0].calls_out,
		       station->udps[0].calls_in, station->engine.counts[VRO_REPEATED]);
	g_assert_cmpuint(station->engine.counts[VRO_PACKETS_OUT], >=,
			 4 * station->udps[0].calls_out);
	g_assert_cmpuint(station->engine.counts[VRO_PACKETS_OUT], >=,
			 8 * station->udps[0].calls_in);
	for (int i = 1; i < PAIRS; i++)
		pair_less(&pairs[i]);
	pair_close(&pairs[0]);
}

/* The child of a fork has no sockets any more, and its calls do nothing; the parent goes on. */
static void
forks(void)
{
	struct pair p RI_AT_END(pair_close);
	int fd, status;
	pid_t child;

	pair_open(&p, RI_QP_RC);
	pair_up(&p);
	fd = p.node->rnic->station->udps[0].fd;
	child = fork();
	if (child == 0) {
		struct ri_wc wc;
		bool good = fcntl(fd, F_GETFD) == -1 &&
			    end_send(p.a, 1, &p.ma, 0, 64) == RI_SUCCESS &&
			    vro_provider_entry()->fast->poll_cq(p.a->uscq, &wc, 1) == 0;

		vth_child_exit(good);
	}
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	g_assert_cmpint(status, ==, 0);
	g_assert_cmpint(end_recv(p.b, 2, &p.mb, 0, 64), ==, RI_SUCCESS);
	g_assert_cmpint(end_send(p.a, 2, &p.ma, 0, 64), ==, RI_SUCCESS);
	wait_one(&p, p.b->urcq, 2, RI_WC_SUCCESS);
	wait_one(&p, p.a->uscq, 2, RI_WC_SUCCESS);
}

/* A queue pair is destroyed while others are kicked and have not run: their doorbells are heard then, and later. */
static void
kicked(void)
{
	struct pair p RI_AT_END(pair_close);

	pair_open(&p, RI_QP_RC);
	pair_up(&p);
	for (uint64_t i = 0; i < 3; i++) {
		struct end *gone = end_new(p.node, NULL);
		struct vro_station *station = p.node->rnic->station;

		vro_station_enter(station);
		vro_kick((struct vro_verbs_qp *)p.a->qp);
		vro_kick((struct vro_verbs_qp *)gone->qp);
		vro_kick((struct vro_verbs_qp *)p.b->qp);
		vro_unkick((struct vro_verbs_qp *)gone->qp); /* as its end does */
		vro_station_leave(station);
		vro_station_run(station);
		g_assert_false(atomic_load(&((struct vro_verbs_qp *)p.a->qp)->kicked));
		g_assert_false(atomic_load(&((struct vro_verbs_qp *)p.b->qp)->kicked));
		g_assert_false(atomic_load(&((struct vro_verbs_qp *)gone->qp)->kicked));
		end_free(&gone);
		g_assert_cmpint(end_recv(p.b, i, &p.mb, 0, 100), ==, RI_SUCCESS);
		g_assert_cmpint(end_send(p.a, i, &p.ma, 0, 100), ==, RI_SUCCESS);
		wait_one(&p, p.b->urcq, i, RI_WC_SUCCESS);
		wait_one(&p, p.a->uscq, i, RI_WC_SUCCESS);
	}
}

/* Two queue pairs have found the shared queue empty; the one that asks first gets what is posted, whichever of them the adapter notified first. */
static void
shared_by_two(void)
{
	struct pair p RI_AT_END(pair_close);
	struct pair q;

	pair_open(&p, RI_QP_RC);
	end_free(&p.b);
	q = p;
	q.a = end_new(p.node, NULL);
	node_share(p.node, 8);
	p.b = end_new(p.node, NULL);
	q.b = end_new(p.node, NULL);
	p.to_b = peer_of(p.b, 7, 0xfffff0);
	q.to_b = peer_of(q.b, 7, 0xfffff0);
	q.to_a = peer_of(q.a, 0xfffff0, 7);
	p.to_b.rnr_retry = 0; /* it fails at once, and asks no more */
	pair_up(&p);
	pair_up(&q);
	g_assert_cmpint(end_send(p.a, 1, &p.ma, 0, 100), ==, RI_SUCCESS);
	wait_one(&p, p.a->uscq, 1, RI_WC_RNR);
	g_assert_cmpint(end_send(q.a, 2, &p.ma, 0, 100), ==, RI_SUCCESS);
	vth_advance(p.vth, 5 * MS);
	node_post(p.node, 77, &p.mb, 0, 4096);
	wait_one(&p, q.b->urcq, 77, RI_WC_SUCCESS);
	wait_one(&p, q.a->uscq, 2, RI_WC_SUCCESS);
	node_forget(p.node);
	end_free(&q.a);
	end_free(&q.b);
	end_free(&p.b);
	node_unshare(p.node);
	p.b = end_new(p.node, NULL);
}

/* Does this process get the socket of the address? */
static bool
is_free(void)
{
	struct vro_udp udp;
	enum vro_ident ident;
	uint8_t gid[16];
	const struct ri_addr own = roce_address(0);

	roce_gid_of_v4(gid, own.octets);
	if (vro_udp_open(&udp, gid, 0, -1, &ident) != RI_SUCCESS)
		return false;
	vro_udp_close(&udp);
	return true;
}

/* Two adapters on one address, as of two processes: the first one that creates a queue pair has it, until it is closed. */
static void
claims(void)
{
	const struct ri_provider *provider = vro_provider_entry();
	struct vth *vths[2] = {vth_new(false), vth_new(false)};
	struct node *holder = node_of(vths[0]), *looker = node_of(vths[1]);
	struct ri_service service = {.kind = RI_SERVICE_PORT, .port = 7174};
	g_autofree char *owner = g_strdup_printf("has process %d (", getpid());
	struct ri_port_attr port = {.size = sizeof(port)};
	struct ri_qp_init init = end_defaults(looker);
	struct ri_listen *listen = NULL;
	struct end *end;
	uint32_t entries = 16;
	struct ri_map map;
	struct ri_cq *cq;
	struct ri_qp *qp;

	g_assert_cmpint(provider->device->query_port(looker->rnic, 0, &port), ==, RI_SUCCESS);
	g_assert_cmpuint(port.num_addrs, ==, 1);
	g_assert_true(is_free());
	end = end_new(holder, NULL);
	g_assert_false(is_free());
	g_assert_cmpint(provider->cq->create(looker->context, 0, &entries, &cq, &map), ==,
			RI_SUCCESS);
	g_assert_cmpint(provider->qp->create(looker->pd, &init, cq, cq, NULL, &qp, &map), ==,
			RI_ERR_RESOURCES);
	g_assert_true(vth_logged(vths[1], owner));
	g_assert_cmpint(provider->cm->listen(looker->context, 1, 0, &service, 8, &listen), ==,
			RI_ERR_IN_USE);
	end_free(&end);
	g_assert_cmpint(provider->qp->create(looker->pd, &init, cq, cq, NULL, &qp, &map), ==,
			RI_ERR_RESOURCES); /* the adapter keeps the address */
	node_close(&holder);
	g_assert_true(is_free());
	g_assert_cmpint(provider->cm->listen(looker->context, 1, 0, &service, 8, &listen), ==,
			RI_SUCCESS);
	g_assert_false(is_free());
	end = end_new(looker, NULL);
	end_free(&end);
	provider->cm->listen_destroy(listen);
	g_assert_cmpint(provider->cq->destroy(cq), ==, RI_SUCCESS);
	node_close(&looker);
	vth_free(&vths[0]);
	vth_free(&vths[1]);
}

/* A handle is of one protection domain: a datagram of another one does not leave by it, and its queue pair ends. */
static void
domains(void)
{
	const struct ri_ah_init init = {.dest = roce_address(0)};
	const struct ri_provider *vro = vro_provider_entry();
	struct pair p RI_AT_END(pair_close);
	struct ri_pd *other;
	struct ri_ah *ahs[2];
	struct ri_sge sge;
	struct ri_wr wr = {
		.opcode = RI_OP_SEND_UD, .flags = RI_WR_SIGNALED, .sgl = &sge, .num_sge = 1};
	uint32_t ids[2];

	pair_open(&p, RI_QP_UD);
	g_assert_cmpint(vro->pd->create(p.node->context, &other), ==, RI_SUCCESS);
	g_assert_cmpint(vro->ah->create(p.node->pd, &init, &ahs[0], &ids[0]), ==, RI_SUCCESS);
	g_assert_cmpint(vro->ah->create(other, &init, &ahs[1], &ids[1]), ==, RI_SUCCESS);
	sge = chunk_sge(&p.ma, 0, 8);
	for (uint64_t i = 0; i < 2; i++) {
		wr.wr_id = i;
		wr.u.ud = (struct ri_wr_ud){
			.ah = ids[i], .qpn = qpn_of(p.b), .qkey = end_attr(p.b).qkey};
		g_assert_cmpint(vro->fast->post_sq(p.a->uqp, &wr), ==, RI_SUCCESS);
		wait_one(&p, p.a->uscq, i, i == 0 ? RI_WC_SUCCESS : RI_WC_LOCAL_QP);
		g_assert_cmpint(vro->ah->destroy(ahs[i]), ==, RI_SUCCESS);
	}
	node_async(p.node, RI_EVENT_QP_WR_ERROR, p.a);
	g_assert_cmpint(vro->pd->destroy(other), ==, RI_SUCCESS);
}

/* The dump of an adapter names each counter, and gives it its own value. */
static void
dumped(void)
{
	struct pair p RI_AT_END(pair_close);
	struct vro_engine *engine;
	g_auto(GStrv) lines = NULL;
	char text[2048];

	pair_open(&p, RI_QP_RC);
	engine = &p.node->rnic->station->engine;
	for (unsigned i = 0; i < VRO_COUNTS; i++)
		engine->counts[i] = 1000 + i;
	g_assert_cmpuint(p.node->p->device->dump(p.node->rnic, text, sizeof(text)), <,
			 sizeof(text));
	lines = g_strsplit(text, "\n", -1);
	g_assert_cmpuint(g_strv_length(lines), ==, VRO_COUNTS + 2); /* refused packets; the end */
	for (unsigned i = 0; i < VRO_COUNTS; i++) {
		g_autofree char *value = g_strdup_printf(": %u", 1000 + i);

		g_assert_true(g_ascii_islower(lines[i][0]) || g_ascii_isupper(lines[i][0]));
		g_assert_true(g_str_has_suffix(lines[i], value));
	}
	g_assert_true(g_str_has_prefix(lines[VRO_ALIVE], "questions"));
	g_assert_true(g_str_has_prefix(lines[VRO_GAPS], "sequence NAKs"));
	g_assert_true(g_str_has_prefix(lines[VRO_MANAGED], "datagrams of connection management"));
}

static void
to_idle(struct pair *p)
{
	for (int i = 0; i < 2; i++) {
		struct end *end = i == 0 ? p->a : p->b;

		g_assert_cmpint(end_modify(end, RI_QPS_ERROR), ==, RI_SUCCESS);
		for (gint64 until = node_deadline();
		     end_modify(end, RI_QPS_IDLE) == RI_ERR_STILL_FLUSHING; vth_advance(p->vth, MS))
			g_assert_cmpint(g_get_monotonic_time(), <, until);
	}
}

static void
expect_same_attributes(struct end *end, const struct ri_qp_attr *before)
{
	struct ri_qp_attr attr = end_attr(end);

	g_assert_cmpuint(attr.state, ==, before->state);
	g_assert_cmpuint(attr.ird, ==, before->ird);
	g_assert_cmpuint(attr.ord, ==, before->ord);
	g_assert_cmpuint(attr.access, ==, before->access);
	g_assert_cmpmem(&attr, sizeof(attr), before, sizeof(*before));
}

/*
 * A queue pair that was connected and reset must be as before: with the attributes that its program
 * has changed, not those of the connection; and its send queue must accept as many requests.
 */
static void
lives(void)
{
	const struct ri_qp_attr change = {.ird = 3, .ord = 2, .access = ALL_RW & ~LOCAL_RW};
	const uint32_t mask = RI_QP_ATTR_IRD | RI_QP_ATTR_ORD | RI_QP_ATTR_ACCESS;
	struct ri_qp_attr before;
	struct pair p RI_AT_END(pair_close);

	pair_open(&p, RI_QP_RC);
	for (unsigned life = 0; life < 3; life++) {
		struct ri_qp_attr next = change;

		next.ird += life;
		next.ord += life;
		g_assert_cmpint(p.node->p->qp->modify(p.a->qp, &next, mask), ==, RI_SUCCESS);
		before = end_attr(p.a);
		g_assert_cmpuint(before.ird, ==, next.ird);
		g_assert_cmpuint(before.ord, ==, next.ord);
		p.to_b.ird = p.to_b.ord = 7;
		pair_up(&p);
		g_assert_cmpuint(end_attr(p.a).ord, ==, 7);
		end_fill(p.a, &p.ma, &p.mb);
		for (uint32_t i = 0; i < p.a->init.max_sq_wr; i++)
			wait_one(&p, p.a->uscq, i, RI_WC_SUCCESS);
		for (unsigned i = 0; i < 3; i++)
			end_write_quiet(p.a, &p.ma, &p.mb);
		vth_advance(p.vth, 1000 * MS);
		to_idle(&p);
		expect_same_attributes(p.a, &before);
	}
}

/* Each attribute of a connection alone has a value that is not allowed: it is refused, and the queue pair stays as it was. */
static void
attributes(void)
{
	const struct ri_peer_ops *peer = vro_provider_entry()->peer;
	struct pair p RI_AT_END(pair_close);

	pair_open(&p, RI_QP_RC);
	for (int alter = 9; alter >= 0; alter--) {
		struct ri_peer to = p.to_b;

		to.qpn |= alter == 1 ? 1u << 24 : 0;
		to.rq_psn |= alter == 2 ? 1u << 24 : 0;
		to.path_mtu = alter == 3   ? 128
			      : alter == 4 ? 1000
			      : alter == 5 ? 8192
					   : to.path_mtu;
		to.min_rnr_timer = alter == 6 ? 32 : to.min_rnr_timer;
		to.ird = alter == 7 ? p.node->attr.max_ird + 1 : to.ird;
		to.path.port = alter == 8 ? 1 : 0;
		to.path.dest.family = alter == 9 ? 77 : to.path.dest.family;
		g_test_message("receive, altered: %d", alter);
		g_assert_cmpint(end_state(p.a), ==, RI_QPS_IDLE);
		g_assert_true((peer->receive(p.a->qp, &to) == RI_SUCCESS) == (alter == 0));
	}
	for (int alter = 5; alter >= 0; alter--) {
		struct ri_peer to = p.to_b;

		to.sq_psn |= alter == 1 ? 1u << 24 : 0;
		to.timeout = alter == 2 ? 32 : to.timeout;
		to.retry_count = alter == 3 ? 8 : to.retry_count;
		to.rnr_retry = alter == 4 ? 8 : to.rnr_retry;
		to.ord = alter == 5 ? p.node->attr.max_ord + 1 : to.ord;
		g_test_message("send, altered: %d", alter);
		g_assert_cmpint(end_state(p.a), ==, RI_QPS_CONNECTING);
		g_assert_true((peer->send(p.a->qp, &to) == RI_SUCCESS) == (alter == 0));
	}
	g_assert_cmpint(end_state(p.a), ==, RI_QPS_RTS);
}

/* While a thread runs the engine, one that polls leaves it alone; if it asked for one more round each time, the first would never end. */
static void
polls_beside(void)
{
	struct pair p RI_AT_END(pair_close);
	struct ri_wc wc;

	pair_open(&p, RI_QP_RC);
	struct vsw_role *role = &p.node->rnic->station->role;

	g_assert_true(vsw_role_take(role));
	for (unsigned i = 0; i < 3; i++)
		g_assert_cmpuint(p.node->p->fast->poll_cq(p.a->uscq, &wc, 1), ==, 0);
	g_assert_false(vsw_role_drop(role));
	g_assert_false(vsw_role_is_taken(role));
}

int
main(int argc, char **argv)
{
	const struct ri_addr own = roce_address(0);

	roce_address_use(&own);
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/roce/verbs/ends", ends);
	g_test_add_func("/roce/verbs/shared-by-two", shared_by_two);
	g_test_add_func("/roce/verbs/kicked", kicked);
	g_test_add_func("/roce/verbs/datagrams", datagrams);
	g_test_add_func("/roce/verbs/domains", domains);
	g_test_add_func("/roce/verbs/attributes", attributes);
	g_test_add_func("/roce/verbs/dumped", dumped);
	g_test_add_func("/roce/verbs/lives", lives);
	g_test_add_func("/roce/verbs/groups", groups);
	g_test_add_func("/roce/verbs/adapters", adapters);
	g_test_add_data_func("/roce/verbs/steady-1024", GUINT_TO_POINTER(1024), steady);
	g_test_add_data_func("/roce/verbs/steady-4096", GUINT_TO_POINTER(4096), steady);
	g_test_add_func("/roce/verbs/polls-beside", polls_beside);
	g_test_add_func("/roce/verbs/claims", claims);
	g_test_add_func("/roce/verbs/forks", forks);
	return g_test_run();
}
