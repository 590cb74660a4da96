/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Connection management for a number [RI 10.54]: two programs connect, and bring up queue pairs of
 * their own with the numbers and addresses in the events.
 */
#include "vem_pairs.h"

/* An RI_QP_NUMBER; its context is its own address. */
struct number {
	struct ri_qp *qp;
};

static enum ri_status
number_try(struct node *node, uint32_t value, struct number *number)
{
	struct ri_qp_init init = {.ctx = (uint64_t)(uintptr_t)number,
				  .type = RI_QP_NUMBER,
				  .qkey = value,
				  .hard_limit = UINT32_MAX};
	struct ri_map map = {.addr = 1};
	enum ri_status status =
		emul()->qp->create(node->pd, &init, NULL, NULL, NULL, &number->qp, &map);

	if (status == RI_SUCCESS) {
		g_assert_cmpuint(map.addr, ==, 0);
		g_assert_cmpint(map.fd, ==, -1);
	}
	return status;
}

static uint32_t
state_of(const struct number *number)
{
	struct ri_qp_attr attr;

	g_assert_cmpint(emul()->qp->query(number->qp, &attr), ==, RI_SUCCESS);
	return attr.state;
}

struct scene {
	struct pair p;
	struct number a, b;
	struct ri_service service;
	struct ri_listen *listen;
};

static void
scene_open(struct scene *s)
{
	memset(s, 0, sizeof(*s));
	pair_open(&s->p, RI_QP_RC, false);
	g_assert_true(s->p.na->attr.cm_number);
	g_assert_cmpint(number_try(s->p.na, qpn_of(s->p.a), &s->a), ==, RI_SUCCESS);
	g_assert_cmpint(number_try(s->p.nb, qpn_of(s->p.b), &s->b), ==, RI_SUCCESS);
	s->service.kind = RI_SERVICE_PORT;
	g_assert_cmpint(emul()->cm->listen(s->p.nb->context, 42, 0, &s->service, 4, &s->listen), ==,
			RI_SUCCESS);
}

static void
scene_close(struct scene *s)
{
	emul()->cm->listen_destroy(s->listen);
	g_assert_cmpint(emul()->qp->destroy(s->a.qp), ==, RI_SUCCESS);
	g_assert_cmpint(emul()->qp->destroy(s->b.qp), ==, RI_SUCCESS);
	pair_close(&s->p);
}

static void
expect_reach(const struct ri_peer *reach, struct end *far, uint32_t ird, uint32_t ord)
{
	g_assert_cmpuint(reach->qpn, ==, qpn_of(far));
	g_assert_cmpuint(reach->rq_psn, <=, 0xffffff);
	g_assert_cmpuint(reach->sq_psn, <=, 0xffffff);
	g_assert_cmpuint(reach->path.dest.family, ==, RI_ADDR_IPV4);
	g_assert_cmpuint(reach->path.source.family, ==, RI_ADDR_IPV4);
	g_assert_cmpuint(reach->ird, ==, ird);
	g_assert_cmpuint(reach->ord, ==, ord);
	g_assert_cmpuint(reach->path_mtu, ==, 4096);
	g_assert_cmpuint(reach->reserved2, ==, 0);
}

/* With two messages or three: each event tells enough, and the end of the connection leaves the queue pairs alone. */
static void
test_connects(gconstpointer three_way)
{
	struct scene s RI_AT_END(scene_close);

	scene_open(&s);
	for (guint life = 0; life < 2; life++) {
		struct ri_cm_params params = node_params(&s.service);
		struct ri_cm_event event, up;

		params.ird = 2;
		params.ord = 3;
		params.three_way = three_way != NULL;
		g_assert_cmpint(emul()->cm->connect(s.a.qp, &params), ==, RI_SUCCESS);
		event = node_cm(s.p.nb, RI_CM_REQUEST, (const void *)(uintptr_t)42);
		expect_reach(&event.reach, s.p.a, 3, 2);
		g_assert_cmpuint(event.reach.rq_psn, !=, event.reach.sq_psn);
		g_assert_cmpint(peer_receive(s.p.b, &event.reach), ==, RI_SUCCESS);
		g_assert_cmpint(peer_send(s.p.b, &event.reach), ==, RI_SUCCESS);
		params.ird = 3;
		params.ord = 1;
		g_assert_cmpint(emul()->cm->accept(event.request, s.b.qp, &params), ==, RI_SUCCESS);
		if (three_way != NULL) {
			up = node_cm(s.p.na, RI_CM_REPLY, &s.a);
			g_assert_cmpint(emul()->cm->confirm(s.a.qp, true, NULL, 0), ==, RI_SUCCESS);
			expect_reach(&up.reach, s.p.b, 1, 3);
		}
		up = node_cm(s.p.na, RI_CM_ESTABLISHED, &s.a);
		expect_reach(&up.reach, s.p.b, 1, 3);
		g_assert_cmpuint(up.reach.rq_psn, ==, event.reach.sq_psn);
		g_assert_cmpuint(up.reach.sq_psn, ==, event.reach.rq_psn);
		g_assert_cmpint(peer_receive(s.p.a, &up.reach), ==, RI_SUCCESS);
		g_assert_cmpint(peer_send(s.p.a, &up.reach), ==, RI_SUCCESS);
		up = node_cm(s.p.nb, RI_CM_ESTABLISHED, &s.b);
		g_assert_cmpmem(&up.reach, sizeof(up.reach), &event.reach, sizeof(up.reach));
		g_assert_cmpuint(state_of(&s.a), ==, RI_QPS_RTS);
		g_assert_cmpuint(state_of(&s.b), ==, RI_QPS_RTS);
		pair_talk(&s.p, 1, 100);
		g_assert_cmpint(emul()->cm->disconnect(s.a.qp, NULL, 0), ==, RI_SUCCESS);
		node_cm(s.p.na, RI_CM_DISCONNECTED, &s.a);
		node_cm(s.p.nb, RI_CM_DISCONNECTED, &s.b);
		pair_talk(&s.p, 2, 100);
		for (guint side = 0; side < 2; side++) {
			const struct ri_qp_attr idle = {.state = RI_QPS_IDLE};
			struct end *end = side == 0 ? s.p.a : s.p.b;

			g_assert_cmpint(emul()->qp->modify(side == 0 ? s.a.qp : s.b.qp, &idle,
							   RI_QP_ATTR_STATE),
					==, RI_SUCCESS);
			g_assert_cmpint(end_modify(end, RI_QPS_ERROR), ==, RI_SUCCESS);
			vth_run(s.p.vth);
			g_assert_cmpint(end_modify(end, RI_QPS_IDLE), ==, RI_SUCCESS);
		}
	}
}

/* A number refuses and is refused, is lost with its peer, and has no queues. */
static void
test_ends(void)
{
	struct scene s RI_AT_END(scene_close);
	struct ri_qp_attr attr = {.max_sq_wr = 4};
	struct ri_map map;

	scene_open(&s);
	struct ri_cm_params params = node_params(&s.service);
	struct ri_cm_event event;

	g_assert_cmpint(emul()->qp->resize(s.a.qp, &attr, &map), ==, RI_ERR_UNSUPPORTED);
	g_assert_cmpint(peer_receive(s.p.a, &s.p.to_b), ==, RI_SUCCESS);
	g_assert_cmpint(emul()->peer->receive(s.a.qp, &s.p.to_b), ==, RI_ERR_UNSUPPORTED);
	g_assert_cmpint(emul()->cm->connect(s.a.qp, &params), ==, RI_SUCCESS);
	event = node_cm(s.p.nb, RI_CM_REQUEST, (const void *)(uintptr_t)42);
	/* One with queues would send to nobody. */
	g_assert_cmpint(emul()->cm->accept(event.request, s.p.b->qp, &params), ==,
			RI_ERR_UNSUPPORTED);
	g_assert_cmpint(emul()->cm->reject(event.request, RI_CM_REASON_CONSUMER, "no", 2), ==,
			RI_SUCCESS);
	g_assert_cmpuint(node_cm(s.p.na, RI_CM_REJECTED, &s.a).pdata_len, ==, 2);
	g_assert_cmpint(emul()->qp->modify(s.a.qp, &(struct ri_qp_attr){.state = RI_QPS_IDLE},
					   RI_QP_ATTR_STATE),
			==, RI_SUCCESS);
	g_assert_cmpint(emul()->cm->connect(s.a.qp, &params), ==, RI_SUCCESS);
	event = node_cm(s.p.nb, RI_CM_REQUEST, (const void *)(uintptr_t)42);
	g_assert_cmpint(emul()->cm->accept(event.request, s.b.qp, &params), ==, RI_SUCCESS);
	node_cm(s.p.na, RI_CM_ESTABLISHED, &s.a);
	node_cm(s.p.nb, RI_CM_ESTABLISHED, &s.b);
	g_assert_cmpint(emul()->qp->destroy(s.b.qp), ==, RI_SUCCESS);
	node_cm(s.p.na, RI_CM_BROKEN, &s.a);
	g_assert_cmpint(number_try(s.p.nb, 5, &s.b), ==, RI_SUCCESS);
}

static void
test_refused(void)
{
	struct vth *vth RI_AT_END(vth_free) = vth_new(false);
	struct node *ib RI_AT_END(node_free) = node_new(vth, false, "emul:ib");
	struct node *iw RI_AT_END(node_free) = node_new(vth, false, "emul:iwarp");
	struct number number;

	g_assert_cmpint(number_try(iw, 5, &number), ==, RI_ERR_UNSUPPORTED);
	g_assert_cmpint(number_try(ib, 0x1000000, &number), ==, RI_ERR_INVALID_ARG);
	g_assert_cmpint(number_try(ib, 0xffffff, &number), ==, RI_SUCCESS);
	g_assert_cmpint(emul()->qp->destroy(number.qp), ==, RI_SUCCESS);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/emul/cm-number/two-way", NULL, test_connects);
	g_test_add_data_func("/emul/cm-number/three-way", "three", test_connects);
	g_test_add_func("/emul/cm-number/ends", test_ends);
	g_test_add_func("/emul/cm-number/refused", test_refused);
	return g_test_run();
}
