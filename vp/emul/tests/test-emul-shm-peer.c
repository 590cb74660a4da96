/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Connections by attributes between processes, reliable and not; two adapters with hosts of their own, or a child. */
#include <malloc.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vem_dgram.h"
#include "vem_link.h"
#include "vem_pairs.h"
#include "vem_remote.h"
#include "vem_runtime.h"

#define SIZE    (300u * 1024)
#define ANSWERS 8u

#define LIAR_PORT 4790
#define HANGS_UP  16u /* times that a process which does is dialed again */

static const char *self;

static void
two_open(struct pair *p, enum ri_qp_type type, bool swap)
{
	memset(p, 0, sizeof(*p));
	p->na = node_new(vth_new(true), true, "shm:ib");
	p->nb = node_new(vth_new(true), true, "shm:ib");
	p->a = end_of_type(p->na, type);
	p->b = end_of_type(p->nb, type);
	/* The one with the lower number joins: both have their turn. */
	if ((qpn_of(p->a) < qpn_of(p->b)) == swap) {
		struct node *node = p->na;
		struct end *end = p->a;

		p->na = p->nb;
		p->nb = node;
		p->a = p->b;
		p->b = end;
	}
	p->ma = chunk_new(p->na, SIZE, ALL_RW | RI_ACCESS_REMOTE_ATOMIC);
	p->mb = chunk_new(p->nb, SIZE, ALL_RW | RI_ACCESS_REMOTE_ATOMIC);
	chunk_fill(&p->ma, 3);
	p->to_b = peer_params(p->b, PSN_B, PSN_A);
	p->to_a = peer_params(p->a, PSN_A, PSN_B);
	p->to_a.timeout = p->to_b.timeout = 18; /* 4 s in all: the machine may be busy */
}

static void
two_up(struct pair *p)
{
	g_assert_cmpint(peer_receive(p->a, &p->to_b), ==, RI_SUCCESS);
	g_assert_cmpint(peer_receive(p->b, &p->to_a), ==, RI_SUCCESS);
	g_assert_cmpint(peer_send(p->a, &p->to_b), ==, RI_SUCCESS);
	g_assert_cmpint(peer_send(p->b, &p->to_a), ==, RI_SUCCESS);
}

static void
two_close(struct pair *p)
{
	struct vth *vth[2] = {p->na->vth, p->nb != NULL ? p->nb->vth : NULL};

	end_free(&p->a);
	if (p->b != NULL)
		end_free(&p->b);
	chunk_free(&p->ma);
	if (p->nb != NULL)
		chunk_free(&p->mb);
	node_free(&p->na);
	vth_free(&vth[0]);
	if (p->nb == NULL)
		return;
	node_free(&p->nb);
	vth_free(&vth[1]);
}

static void
talk(struct pair *p, uint64_t id, uint32_t len)
{
	memset(p->mb.at, 0, len);
	g_assert_cmpint(end_recv(p->b, id, &p->mb, 0, len), ==, RI_SUCCESS);
	g_assert_cmpint(end_send(p->a, id, &p->ma, 0, len), ==, RI_SUCCESS);
	poll_wait(p->a->uscq, id, RI_WC_SUCCESS);
	g_assert_cmpuint(poll_wait(p->b->urcq, id, RI_WC_SUCCESS).byte_len, ==, len);
	g_assert_cmpmem(p->mb.at, len, p->ma.at, len);
}

static void
test_data(gconstpointer swap)
{
	static const uint32_t lengths[] = {0, 1, 64, 16384, 16385, SIZE};
	struct pair p RI_AT_END(two_close);
	struct ri_sge from, to;

	two_open(&p, RI_QP_RC, swap != NULL);
	two_up(&p);
	for (unsigned i = 0; i < G_N_ELEMENTS(lengths); i++)
		talk(&p, i, lengths[i]);
	g_assert_cmpint(end_write(p.b, 20, &p.mb, &p.ma, 40000), ==, RI_SUCCESS);
	poll_wait(p.b->uscq, 20, RI_WC_SUCCESS);
	g_assert_cmpint(end_read(p.a, 30, &p.ma, &p.mb, SIZE), ==, RI_SUCCESS);
	poll_wait(p.a->uscq, 30, RI_WC_SUCCESS);
	g_assert_cmpmem(p.mb.at, SIZE, p.ma.at, SIZE);
	from = chunk_sge(&p.ma, 0, 8);
	to = chunk_sge(&p.mb, 0, 8);
	g_assert_cmpint(emul()->qp->modify(p.b->qp,
					   &(struct ri_qp_attr){.access = RI_ACCESS_REMOTE_ATOMIC},
					   RI_QP_ATTR_ACCESS),
			==, RI_SUCCESS);
	post_rdma(p.a, RI_OP_FETCH_ADD, 40, &from, &to);
	poll_wait(p.a->uscq, 40, RI_WC_SUCCESS);
	g_assert_true(end_attr(p.a).quiescent);
}

/* The receiver answers some messages, so that it is expected to answer the next one. */
static void
answers(struct pair *p)
{
	struct ri_wc wc;

	for (uint64_t id = 0; id < ANSWERS; id++) {
		g_assert_cmpint(end_recv(p->a, id, &p->ma, 64, 64), ==, RI_SUCCESS);
		g_assert_cmpint(end_recv(p->b, id, &p->mb, 64, 64), ==, RI_SUCCESS);
		g_assert_cmpint(end_send(p->a, id, &p->ma, 0, 64), ==, RI_SUCCESS);
		while (p->nb->p->fast->poll_cq(p->b->urcq, &wc, 1) == 0)
			continue;
		g_assert_cmpint(end_send(p->b, id, &p->mb, 0, 64), ==, RI_SUCCESS);
		poll_wait(p->a->urcq, id, RI_WC_SUCCESS);
		poll_wait(p->a->uscq, id, RI_WC_SUCCESS);
		poll_wait(p->b->uscq, id, RI_WC_SUCCESS);
	}
}

/* The receiver's queue pair is destroyed before it polls again: what it has received is acknowledged. */
static void
test_left(gconstpointer swap)
{
	for (unsigned round = 0; round < 10; round++) {
		struct pair p RI_AT_END(two_close);
		struct ri_wc wc;

		two_open(&p, RI_QP_RC, swap != NULL);
		two_up(&p);
		answers(&p);
		g_assert_cmpint(end_recv(p.b, 2, &p.mb, 0, 64), ==, RI_SUCCESS);
		g_assert_cmpint(end_send(p.a, 3, &p.ma, 0, 64), ==, RI_SUCCESS);
		while (p.nb->p->fast->poll_cq(p.b->urcq, &wc, 1) == 0)
			continue;
		end_free(&p.b);
		p.b = NULL;
		poll_wait(p.a->uscq, 3, RI_WC_SUCCESS);
	}
}

/* The sender is there long before the other one: its requests are kept. The event of the first message comes once. */
static void
test_order(gconstpointer swap)
{
	struct pair p RI_AT_END(two_close);

	two_open(&p, RI_QP_RC, swap != NULL);
	p.to_b.timeout = 0;
	g_assert_cmpint(peer_receive(p.a, &p.to_b), ==, RI_SUCCESS);
	g_assert_cmpint(peer_send(p.a, &p.to_b), ==, RI_SUCCESS);
	for (unsigned i = 0; i < 3; i++) {
		g_assert_cmpint(end_send(p.a, i, &p.ma, i, 100 + i), ==, RI_SUCCESS);
		g_assert_cmpint(end_recv(p.b, i, &p.mb, 200 * i, 200), ==, RI_SUCCESS);
	}
	g_usleep(5000);
	poll_none(p.a->uscq);
	g_assert_cmpint(peer_receive(p.b, &p.to_a), ==, RI_SUCCESS);
	for (unsigned i = 0; i < 3; i++) {
		poll_wait(p.b->urcq, i, RI_WC_SUCCESS);
		poll_wait(p.a->uscq, i, RI_WC_SUCCESS);
		g_assert_cmpmem(p.mb.at + 200 * i, 100 + i, p.ma.at + i, 100 + i);
	}
	node_async(p.nb, RI_EVENT_QP_COMM_EST, p.b);
	g_assert_cmpint(end_recv(p.a, 9, &p.ma, 0, 10), ==, RI_SUCCESS);
	g_assert_cmpint(end_send(p.b, 9, &p.mb, 0, 10), ==, RI_SUCCESS);
	g_usleep(5000);
	poll_none(p.a->urcq);
	g_assert_cmpint(peer_send(p.b, &p.to_a), ==, RI_SUCCESS);
	poll_wait(p.a->urcq, 9, RI_WC_SUCCESS);
	poll_wait(p.b->uscq, 9, RI_WC_SUCCESS);
}

/* The sender alone notices that nobody hears it: no partner, another packet number, one that is gone, a port that is down. */
static void
test_lost(gconstpointer swap)
{
	for (unsigned how = 0; how < 4; how++) {
		struct pair p RI_AT_END(two_close);

		two_open(&p, RI_QP_RC, swap != NULL);
		/* 134 ms in all; the first message of a busy machine gets four times that. */
		p.to_b.timeout = how > 1 ? 15 : 13;
		if (how == 1)
			p.to_a.rq_psn++;
		g_assert_cmpint(peer_receive(p.a, &p.to_b), ==, RI_SUCCESS);
		if (how != 0)
			g_assert_cmpint(peer_receive(p.b, &p.to_a), ==, RI_SUCCESS);
		g_assert_cmpint(peer_send(p.a, &p.to_b), ==, RI_SUCCESS);
		if (how > 1) {
			talk(&p, 7, 64);
			node_async(p.nb, RI_EVENT_QP_COMM_EST, p.b);
		}
		if (how == 2)
			g_assert_cmpint(end_modify(p.b, RI_QPS_ERROR), ==, RI_SUCCESS);
		if (how == 3) {
			atomic_store(&p.nb->rnic->faults.offline, true);
			atomic_store(&p.nb->rnic->faults.apart, true);
		}
		gint64 start = g_get_monotonic_time();
		g_assert_cmpint(end_write(p.a, 1, &p.ma, &p.mb, 8), ==, RI_SUCCESS);
		g_assert_cmpint(end_write(p.a, 2, &p.ma, &p.mb, 8), ==, RI_SUCCESS);
		poll_wait(p.a->uscq, 1, RI_WC_TRANSPORT);
		g_assert_cmpint(g_get_monotonic_time() - start, >=, how > 1 ? 67000 : 134000);
		poll_wait(p.a->uscq, 2, RI_WC_FLUSHED);
		node_async(p.na, RI_EVENT_QP_WR_ERROR, p.a);
	}
}

/* The process of the partner gets no processor for longer than the sender tries: the partner is found when it does, and nothing is lost. */
static void
test_found_late(gconstpointer swap)
{
	struct pair p RI_AT_END(two_close);

	two_open(&p, RI_QP_RC, swap != NULL);
	p.to_b.timeout = 13; /* 34 ms, four times */
	g_assert_cmpint(peer_receive(p.b, &p.to_a), ==, RI_SUCCESS);
	pthread_mutex_lock(&p.nb->rnic->fabric->lock);
	g_assert_cmpint(peer_receive(p.a, &p.to_b), ==, RI_SUCCESS);
	g_assert_cmpint(peer_send(p.a, &p.to_b), ==, RI_SUCCESS);
	g_assert_cmpint(end_recv(p.b, 1, &p.mb, 0, 100), ==, RI_SUCCESS);
	g_assert_cmpint(end_send(p.a, 1, &p.ma, 0, 100), ==, RI_SUCCESS);
	g_usleep(600000);
	poll_none(p.a->uscq);
	pthread_mutex_unlock(&p.nb->rnic->fabric->lock);
	poll_wait(p.a->uscq, 1, RI_WC_SUCCESS);
	poll_wait(p.b->urcq, 1, RI_WC_SUCCESS);
	node_async(p.nb, RI_EVENT_QP_COMM_EST, p.b);
}

/* No receive: it is waited as long as both say; the peer goes on. */
static void
test_rnr(gconstpointer swap)
{
	for (unsigned retry = 0; retry < 3; retry++) {
		struct pair p RI_AT_END(two_close);

		two_open(&p, RI_QP_RC, swap != NULL);
		p.to_b.rnr_retry = (uint8_t)(retry == 2 ? 7 : retry);
		p.to_a.min_rnr_timer = 20; /* 10.24 ms */
		two_up(&p);
		talk(&p, 5, 8);
		gint64 start = g_get_monotonic_time();
		g_assert_cmpint(end_send(p.a, 1, &p.ma, 0, 8), ==, RI_SUCCESS);
		if (retry == 2) {
			g_usleep(30000);
			poll_none(p.a->uscq);
			g_assert_cmpint(end_recv(p.b, 1, &p.mb, 0, 8), ==, RI_SUCCESS);
			poll_wait(p.b->urcq, 1, RI_WC_SUCCESS);
			poll_wait(p.a->uscq, 1, RI_WC_SUCCESS);
		} else {
			poll_wait(p.a->uscq, 1, RI_WC_RNR);
			g_assert_cmpint(g_get_monotonic_time() - start, >=, retry * 10240);
			node_async(p.na, RI_EVENT_QP_WR_ERROR, p.a);
			g_assert_cmpint(end_state(p.b), ==, RI_QPS_RTS);
		}
		node_silent(p.nb);
	}
}

/* To the state of a new queue pair. */
static void
back_to_idle(struct end *end)
{
	gint64 deadline = node_deadline();

	g_assert_cmpint(end_modify(end, RI_QPS_ERROR), ==, RI_SUCCESS);
	while (end_modify(end, RI_QPS_IDLE) == RI_ERR_STILL_FLUSHING)
		g_assert_cmpint(g_get_monotonic_time(), <, deadline);
	g_assert_cmpint(end_state(end), ==, RI_QPS_IDLE);
}

/* Both come back with other packet numbers. */
static void
test_again(gconstpointer swap)
{
	struct pair p RI_AT_END(two_close);

	two_open(&p, RI_QP_RC, swap != NULL);
	for (unsigned life = 0; life < 3; life++) {
		two_up(&p);
		talk(&p, 1, 100);
		back_to_idle(p.a);
		back_to_idle(p.b);
		p.to_b.sq_psn = p.to_a.rq_psn = 100 + life;
		p.to_a.sq_psn = p.to_b.rq_psn = 200 + life;
	}
}

/* Two of one process: one comes back, and then the other one, which begins while the link of their earlier lives ends. */
static void
test_in_turn(gconstpointer swap)
{
	struct pair p = {.na = node_new(vth_new(true), true, "shm:ib")};
	struct vth *vth = p.na->vth;

	p.nb = p.na;
	p.a = end_of_type(p.na, RI_QP_RC);
	p.b = end_of_type(p.na, RI_QP_RC);
	if ((qpn_of(p.a) < qpn_of(p.b)) == (swap != NULL)) {
		struct end *end = p.a;

		p.a = p.b;
		p.b = end;
	}
	p.ma = chunk_new(p.na, SIZE, ALL_RW);
	p.mb = chunk_new(p.na, SIZE, ALL_RW);
	chunk_fill(&p.ma, 3);
	p.to_b = peer_params(p.b, PSN_B, PSN_A);
	p.to_a = peer_params(p.a, PSN_A, PSN_B);
	p.to_a.timeout = p.to_b.timeout = 18;
	two_up(&p);
	for (unsigned life = 0; life < 30; life++) {
		talk(&p, 1, 100);
		p.to_b.sq_psn = p.to_a.rq_psn = 100 + life;
		p.to_a.sq_psn = p.to_b.rq_psn = 200 + life;
		back_to_idle(p.b);
		g_assert_cmpint(peer_receive(p.b, &p.to_a), ==, RI_SUCCESS);
		g_assert_cmpint(peer_send(p.b, &p.to_a), ==, RI_SUCCESS);
		back_to_idle(p.a);
		g_assert_cmpint(peer_receive(p.a, &p.to_b), ==, RI_SUCCESS);
		g_assert_cmpint(peer_send(p.a, &p.to_b), ==, RI_SUCCESS);
	}
	end_free(&p.a);
	end_free(&p.b);
	chunk_free(&p.ma);
	chunk_free(&p.mb);
	node_free(&p.na);
	vth_free(&vth);
}

/* A queue pair that leaves before the other end has come leaves nothing behind. */
static void
test_alone(gconstpointer swap)
{
	struct pair p RI_AT_END(two_close);
	size_t before = 0;

	two_open(&p, RI_QP_RC, swap != NULL);
	for (unsigned i = 0; i < 600; i++) {
		if (i == 100)
			before = mallinfo2().uordblks;
		g_assert_cmpint(peer_receive(p.a, &p.to_b), ==, RI_SUCCESS);
		g_assert_cmpint(peer_send(p.a, &p.to_b), ==, RI_SUCCESS);
		back_to_idle(p.a);
	}
	g_assert_cmpuint(mallinfo2().uordblks, <, before + 500 * 64);
	two_up(&p);
	talk(&p, 1, 100);
}

/* Unreliable: long messages arrive, what finds no receive or too short a one is dropped as a whole, and neither end fails. */
static void
test_unreliable(gconstpointer swap)
{
	static const uint32_t lengths[] = {0, 1, 64, 16384, 16385, SIZE};
	struct pair p RI_AT_END(two_close);

	two_open(&p, RI_QP_UC, swap != NULL);
	two_up(&p);
	for (unsigned i = 0; i < G_N_ELEMENTS(lengths); i++)
		talk(&p, i, lengths[i]);
	g_assert_cmpint(end_send(p.a, 10, &p.ma, 0, 40000), ==, RI_SUCCESS);
	poll_wait(p.a->uscq, 10, RI_WC_SUCCESS);
	g_usleep(20000); /* the service thread drops it */
	memset(p.mb.at, 0, SIZE);
	g_assert_cmpint(end_recv(p.b, 11, &p.mb, 0, 30000), ==, RI_SUCCESS);
	g_assert_cmpint(end_send(p.a, 11, &p.ma, 0, 30001), ==, RI_SUCCESS); /* too long */
	poll_wait(p.a->uscq, 11, RI_WC_SUCCESS);
	g_usleep(20000);
	for (uint32_t i = 0; i < 30000; i++)
		g_assert_cmpint(p.mb.at[i], ==, 0); /* nor is its front placed */
	g_assert_cmpint(end_send(p.a, 12, &p.ma, 0, 20000), ==, RI_SUCCESS);
	poll_wait(p.a->uscq, 12, RI_WC_SUCCESS);
	g_assert_cmpuint(poll_wait(p.b->urcq, 11, RI_WC_SUCCESS).byte_len, ==, 20000);
	g_assert_cmpmem(p.mb.at, 20000, p.ma.at, 20000);
	for (uint32_t i = 20000; i < SIZE; i++)
		g_assert_cmpint(p.mb.at[i], ==, 0);
	p.mb.stag ^= 0xff00;
	g_assert_cmpint(end_write(p.a, 13, &p.ma, &p.mb, 40000), ==, RI_SUCCESS);
	p.mb.stag ^= 0xff00;
	poll_wait(p.a->uscq, 13, RI_WC_SUCCESS);
	talk(&p, 14, 100);
	for (uint32_t i = 20000; i < 40000; i++)
		g_assert_cmpint(p.mb.at[i], ==, 0); /* the key was wrong */
	/* The peer has gone: messages have left and are lost. */
	end_free(&p.b);
	p.b = NULL;
	for (unsigned i = 0; i < 5; i++) {
		g_assert_cmpint(end_write(p.a, i, &p.ma, &p.mb, 40000), ==, RI_SUCCESS);
		poll_wait(p.a->uscq, i, RI_WC_SUCCESS);
	}
	g_assert_cmpint(end_state(p.a), ==, RI_QPS_RTS);
}

/* The lines of the ring that the process has read, of its only link. */
static uint64_t
lines_read(const struct node *node)
{
	const struct vem_shm *shm = node->rnic->fabric->shm;
	uint64_t read = 0;

	pthread_mutex_lock(&node->rnic->fabric->lock);
	for (unsigned i = 0; i < atomic_load(&shm->linked); i++) {
		struct vem_link *link = atomic_load(&shm->links[i]);

		if (link != NULL)
			read += atomic_load(&link->in.page->read);
	}
	pthread_mutex_unlock(&node->rnic->fabric->lock);
	return read;
}

/* A receive that comes in the middle of a message without one is not for its rest. */
static void
test_unreliable_rest(gconstpointer swap)
{
	struct pair p RI_AT_END(two_close);
	struct ri_wc wc;

	two_open(&p, RI_QP_UC, swap != NULL);
	two_up(&p);
	talk(&p, 1, 100);
	memset(p.mb.at, 0, SIZE);
	g_assert_null(node_path(p.nb, "path all delay 20000 20000"));
	uint64_t before = lines_read(p.nb);
	g_assert_cmpint(end_send(p.a, 2, &p.ma, 0, SIZE), ==, RI_SUCCESS);
	for (gint64 deadline = node_deadline(); lines_read(p.nb) < before + 600;
	     g_usleep(100)) /* its front was read */
		g_assert_cmpint(g_get_monotonic_time(), <, deadline);
	g_assert_cmpint(end_recv(p.b, 3, &p.mb, 0, SIZE), ==, RI_SUCCESS);
	poll_wait(p.a->uscq, 2, RI_WC_SUCCESS);
	for (gint64 until = g_get_monotonic_time() + 60000; g_get_monotonic_time() < until;)
		g_assert_cmpint(emul()->fast->poll_cq(p.b->urcq, &wc, 1), ==, 0);
	for (uint32_t i = 0; i < SIZE; i++)
		g_assert_cmpint(p.mb.at[i], ==, 0);
	g_assert_cmpint(end_send(p.a, 4, &p.ma, 0, 100), ==, RI_SUCCESS);
	poll_wait(p.a->uscq, 4, RI_WC_SUCCESS);
	g_assert_cmpuint(poll_wait(p.b->urcq, 3, RI_WC_SUCCESS).byte_len, ==, 100);
}

/* --- a process that dies ------------------------------------------------------------------ */

static int
child_main(void)
{
	struct node *node = node_new(vth_new(true), true, "shm:ib");
	struct end *end = end_of_type(node, RI_QP_RC);
	uint32_t mine = qpn_of(end), far;
	struct ri_peer to = peer_params(end, PSN_B, PSN_A);

	if (write(1, &mine, sizeof(mine)) != sizeof(mine) || read(0, &far, sizeof(far)) != 4)
		return 1;
	to.qpn = far;
	/* With the number 0 it never names its partner. */
	if (far != 0)
		g_assert_cmpint(peer_receive(end, &to), ==, RI_SUCCESS);
	/* Until the other side closes the pipe, if it does not kill. */
	while (read(0, &far, sizeof(far)) > 0)
		;
	end_free(&end);
	struct vth *vth = node->vth;
	node_free(&node);
	vth_free(&vth);
	return 0;
}

/* Say that the queue pair numbers of this process are others; returns those before. */
static uint32_t
block_change(const struct node *node, uint32_t block)
{
	struct vem_fabric *fabric = node->rnic->fabric;

	pthread_mutex_lock(&fabric->lock);
	uint32_t before = fabric->shm->block;
	fabric->shm->block = block;
	pthread_mutex_unlock(&fabric->lock);
	return before;
}

/* A process that links itself with the listener, and says that the block of another process is its own. */
static int
liar_main(uint32_t block)
{
	struct vth *vth = vth_new(true);
	struct node *node = node_new(vth, true, "shm:ib");
	struct end *end = end_new(node, NULL);
	struct ri_service service = {.kind = RI_SERVICE_PORT, .port = GUINT16_TO_BE(LIAR_PORT)};
	struct ri_cm_params params = node_params(&service);
	uint32_t own = block_change(node, block), told;

	g_assert_cmpint(emul()->cm->connect(end->qp, &params), ==, RI_SUCCESS);
	while (read(0, &told, sizeof(told)) > 0)
		;
	(void)block_change(node, own); /* whose name is removed */
	end_free(&end);
	node_free(&node);
	vth_free(&vth);
	return 0;
}

/* A process with a queue pair. */
struct child {
	pid_t pid;
	int pipe;
	uint32_t qpn;
};

/* This program again, as what the arguments say; *answer: where what it writes can be read. */
static struct child
child_start(const char *what, const char *number, int *answer)
{
	struct child child = {0};
	int in[2], out[2];

	g_assert_cmpint(pipe(in), ==, 0);
	g_assert_cmpint(pipe(out), ==, 0);
	child.pid = fork();
	if (child.pid == 0) {
		dup2(out[0], 0);
		dup2(in[1], 1);
		close(out[1]);
		execl(self, self, what, number, (char *)NULL);
		_exit(127);
	}
	close(in[1]);
	close(out[0]);
	child.pipe = out[1];
	*answer = in[0];
	return child;
}

/* The partner of its queue pair is `mine`; 0: nobody. */
static struct child
child_begin(uint32_t mine)
{
	int answer;
	struct child child = child_start("child", "", &answer);

	g_assert_cmpint(write(child.pipe, &mine, sizeof(mine)), ==, sizeof(mine));
	g_assert_cmpint(read(answer, &child.qpn, sizeof(child.qpn)), ==, sizeof(child.qpn));
	close(answer);
	return child;
}

static void
child_end(const struct child *child)
{
	int status;

	close(child->pipe);
	g_assert_cmpint(waitpid(child->pid, &status, 0), ==, child->pid);
}

/* What it leaves is taken away by those that were linked with it. */
static void
child_kill(const struct child *child)
{
	g_autofree char *name =
		g_strdup_printf("%s/itapi/fabric/default/ib.block-%03x",
				g_getenv("XDG_RUNTIME_DIR"), child->qpn >> VEM_BLOCK_BITS);

	g_assert_true(g_file_test(name, G_FILE_TEST_EXISTS));
	g_assert_cmpint(kill(child->pid, SIGKILL), ==, 0);
	child_end(child);
	for (gint64 until = node_deadline(); g_file_test(name, G_FILE_TEST_EXISTS); g_usleep(1000))
		g_assert_cmpint(g_get_monotonic_time(), <, until);
}

/*
 * A process ends: requests of its partner must fail at once, although they would be retried without
 * limit. The cases are: the partner was named, it was to join, or it had knocked.
 */
enum before {
	NAMED,
	TO_JOIN,
	HAS_KNOCKED
};

static void
test_killed(gconstpointer arg)
{
	enum before before = (enum before)GPOINTER_TO_UINT(arg);
	struct node *node = node_new(vth_new(true), true, "shm:ib");
	struct vth *vth = node->vth;
	struct end *end = end_of_type(node, RI_QP_RC);
	struct chunk c = chunk_new(node, 4096, ALL_RW);
	struct ri_peer to = peer_params(end, PSN_A, PSN_B);
	uint32_t mine = before == NAMED ? qpn_of(end) : 0;
	struct child child = child_begin(mine);

	/* Each process draws its numbers; the lower one joins. */
	while (before != NAMED && (qpn_of(end) < child.qpn) != (before == TO_JOIN)) {
		child_end(&child);
		child = child_begin(mine);
	}
	to.qpn = child.qpn;
	to.timeout = 0;
	g_assert_cmpint(peer_receive(end, &to), ==, RI_SUCCESS);
	g_assert_cmpint(peer_send(end, &to), ==, RI_SUCCESS);
	g_assert_cmpint(end_send(end, 1, &c, 0, 0), ==, RI_SUCCESS);
	g_usleep(50000);
	poll_none(end->uscq); /* it waits for a receive, or for its partner */
	gint64 start = g_get_monotonic_time();
	child_kill(&child);
	poll_wait(end->uscq, 1, RI_WC_TRANSPORT);
	g_test_message("%.1f ms", (double)(g_get_monotonic_time() - start) / 1000);
	node_async(node, RI_EVENT_QP_WR_ERROR, end);
	end_free(&end);
	chunk_free(&c);
	node_free(&node);
	vth_free(&vth);
}

/* Its partner's requests are tried as long as that one has said: what it has earned before can be seen before one of them fails. */
static void
test_killed_in_time(void)
{
	struct vth *vth RI_AT_END(vth_free) = vth_new(true);
	struct node *node RI_AT_END(node_free) = node_new(vth, true, "shm:ib");
	struct end *end RI_AT_END(end_free) = end_of_type(node, RI_QP_RC);
	struct chunk c RI_AT_END(chunk_free) = chunk_new(node, 4096, ALL_RW);
	struct ri_peer to = peer_params(end, PSN_A, PSN_B);
	struct child child = child_begin(qpn_of(end));

	to.qpn = child.qpn;
	to.timeout = 17; /* 537 ms, four times */
	to.retry_count = 3;
	g_assert_cmpint(peer_receive(end, &to), ==, RI_SUCCESS);
	g_assert_cmpint(peer_send(end, &to), ==, RI_SUCCESS);
	for (gint64 until = node_deadline(); atomic_load(&end_qp(end)->remote) == NULL;
	     g_usleep(500))
		g_assert_cmpint(g_get_monotonic_time(), <, until);
	gint64 start = g_get_monotonic_time();
	g_assert_cmpint(end_send(end, 1, &c, 0, 0), ==, RI_SUCCESS);
	child_kill(&child);
	poll_wait(end->uscq, 1, RI_WC_TRANSPORT);
	g_assert_cmpint(g_get_monotonic_time() - start, >=, 2147000);
	node_async(node, RI_EVENT_QP_WR_ERROR, end);
}

/* Its link with the first end, and what it could send as soon as that waits for its partner. */
static void
liar_speaks(const struct pair *p, pid_t pid)
{
	static const enum vem_packet_kind kinds[] = {VEM_PACKET_KNOCK, VEM_PACKET_JOIN};
	struct vem_fabric *fabric = p->na->rnic->fabric;
	const struct vem_qp *qp = end_qp(p->a);
	gint64 deadline = node_deadline();
	struct vem_link *link = NULL;

	pthread_mutex_lock(&fabric->lock);
	/* If the partner is to join, it has knocked. */
	while (qpn_of(p->a) > qpn_of(p->b) && qp->join->knock == 0) {
		pthread_mutex_unlock(&fabric->lock);
		g_usleep(500);
		g_assert_cmpint(g_get_monotonic_time(), <, deadline);
		pthread_mutex_lock(&fabric->lock);
	}
	for (unsigned i = 0; i < VEM_LINKS_MAX && link == NULL; i++) {
		link = atomic_load(&fabric->shm->links[i]);
		if (link != NULL && link->far_pid != pid)
			link = NULL;
	}
	g_assert_nonnull(link);
	g_assert_cmpuint(link->block, ==, qpn_of(p->b) >> VEM_BLOCK_BITS);
	for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++) {
		struct vem_packet packet = {.magic = VEM_PACKET_MAGIC,
					    .kind = kinds[i],
					    .from_life = 1,
					    .qpn = qpn_of(p->b),
					    .code = qpn_of(p->a),
					    .type = RI_QP_RC};

		if (kinds[i] == VEM_PACKET_JOIN)
			packet.to_life = qp->join->knock;
		memcpy(packet.local.octets, qp->far.target.grh + 24, 16);
		memcpy(packet.peer.octets, qp->far.target.grh + 8, 16);
		g_assert_null(vem_remote_packet(link, &packet));
	}
	pthread_mutex_unlock(&fabric->lock);
}

static void
liar_end(const struct pair *p, const struct child *liar, int answer)
{
	close(answer);
	child_end(liar);
	node_cm(p->na, RI_CM_REQUEST_GONE, (const void *)(uintptr_t)42);
}

/*
 * A third process claims, to one end, to be the process of the other end. The two must find each
 * other nevertheless, whether the first joins or is joined.
 */
static void
test_claimed(gconstpointer swap)
{
	struct ri_service service = {.kind = RI_SERVICE_PORT, .port = GUINT16_TO_BE(LIAR_PORT)};
	struct ri_listen *listen;
	struct pair p;
	char block[16];
	int answer;

	two_open(&p, RI_QP_RC, swap != NULL);
	bool joins = qpn_of(p.a) < qpn_of(p.b);
	g_assert_cmpint(emul()->cm->listen(p.na->context, 42, 0, &service, 4, &listen), ==,
			RI_SUCCESS);
	(void)g_snprintf(block, sizeof(block), "%u", qpn_of(p.b) >> VEM_BLOCK_BITS);
	struct child liar = child_start("liar", block, &answer);
	node_cm(p.na, RI_CM_REQUEST, (const void *)(uintptr_t)42);
	g_assert_cmpint(peer_receive(p.a, &p.to_b), ==, RI_SUCCESS);
	liar_speaks(&p, liar.pid);
	if (!joins) {
		liar_end(&p, &liar, answer);
		/* It was no link of the partner that has ended, and the partner has not joined. */
		g_assert_nonnull(end_qp(p.a)->join);
		g_assert_cmpuint(end_qp(p.a)->join->tries, ==, 0);
	}
	g_assert_cmpint(peer_receive(p.b, &p.to_a), ==, RI_SUCCESS);
	g_assert_cmpint(peer_send(p.a, &p.to_b), ==, RI_SUCCESS);
	g_assert_cmpint(peer_send(p.b, &p.to_a), ==, RI_SUCCESS);
	talk(&p, 1, 100);
	if (joins)
		liar_end(&p, &liar, answer);
	emul()->cm->listen_destroy(listen);
	two_close(&p);
}

/* The process that has the partner's number hangs up each time: it is dialed so often, and not without end. */
static void
test_hangs_up(void)
{
	struct node *node = node_new(vth_new(true), true, "shm:ib");
	struct vem_fabric *fabric = node->rnic->fabric;
	struct vth *vth = node->vth;
	struct end *end = end_of_type(node, RI_QP_RC);
	struct ri_peer to = peer_params(end, PSN_A, PSN_B);
	uint32_t block = fabric->shm->block ^ 1, dials = 0, tries = 0;
	char name[VEM_PLACE_NAME];
	int fd;

	vem_shm_name_of_block(fabric->shm, block, name);
	fd = vem_place_listen(&fabric->shm->place, name, &(const char *){NULL});
	g_assert_cmpint(fd, >=, 0);
	to.qpn = block << VEM_BLOCK_BITS | 5;
	g_assert_cmpint(peer_receive(end, &to), ==, RI_SUCCESS);
	for (gint64 deadline = node_deadline(), quiet = 0;
	     quiet == 0 || g_get_monotonic_time() < quiet; g_usleep(500)) {
		int dialed = accept(fd, NULL, NULL);

		dials += dialed >= 0;
		if (dialed >= 0)
			close(dialed);
		/* A process that looks for names that are left dials, too, at most three times for each process that ends. */
		g_assert_cmpuint(dials, <=, 4 * HANGS_UP);
		g_assert_cmpint(g_get_monotonic_time(), <, deadline);
		pthread_mutex_lock(&fabric->lock);
		tries = end_qp(end)->join->tries;
		pthread_mutex_unlock(&fabric->lock);
		if (tries == HANGS_UP && quiet == 0)
			quiet = g_get_monotonic_time() + 200000;
	}
	vem_place_leave(&fabric->shm->place, name, fd);
	end_free(&end);
	node_free(&node);
	vth_free(&vth);
}

static void
add(const char *name, GTestDataFunc run)
{
	for (unsigned swap = 0; swap < 2; swap++) {
		char *path = g_strdup_printf("/emul/shm-peer/%s/%s", name,
					     swap != 0 ? "is-joined" : "joins");

		g_test_add_data_func(path, GUINT_TO_POINTER(swap), run);
		g_free(path);
	}
}

int
main(int argc, char **argv)
{
	self = argv[0];
	if (argc > 1 && strcmp(argv[1], "child") == 0)
		return child_main();
	if (argc > 2 && strcmp(argv[1], "liar") == 0)
		return liar_main((uint32_t)g_ascii_strtoull(argv[2], NULL, 10));

	char *runtime = vem_runtime_begin();
	g_test_init(&argc, &argv, NULL);
	add("data", test_data);
	add("order", test_order);
	add("left", test_left);
	add("lost", test_lost);
	add("found-late", test_found_late);
	add("rnr", test_rnr);
	add("again", test_again);
	add("in-turn", test_in_turn);
	add("alone", test_alone);
	add("unreliable", test_unreliable);
	add("unreliable-rest", test_unreliable_rest);
	add("claimed", test_claimed);
	g_test_add_func("/emul/shm-peer/hangs-up", test_hangs_up);
	g_test_add_data_func("/emul/shm-peer/killed", GUINT_TO_POINTER(NAMED), test_killed);
	g_test_add_data_func("/emul/shm-peer/killed-to-join", GUINT_TO_POINTER(TO_JOIN),
			     test_killed);
	g_test_add_data_func("/emul/shm-peer/killed-knocked", GUINT_TO_POINTER(HAS_KNOCKED),
			     test_killed);
	g_test_add_func("/emul/shm-peer/killed-in-time", test_killed_in_time);
	int failed = g_test_run();
	return vem_runtime_end(runtime) ? failed : 1;
}
