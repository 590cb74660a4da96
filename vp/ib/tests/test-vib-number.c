/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* A number in place of a queue pair (vib_number.c): no call of it reaches the device or a queue. */
#include "vib_data.h"
#include "vib_peer.h"

#define NUMBER 0xabcdef

static struct vib_qp *
number_new(struct device *d)
{
	struct ri_qp_init init = {
		.ctx = 7, .type = RI_QP_NUMBER, .qkey = NUMBER, .ird = 2, .ord = 3};
	struct vib_qp *qp;

	g_assert_cmpint(
		vib_qp_ops.create(d->pd, &init, NULL, NULL, NULL, (struct ri_qp **)&qp, &d->map),
		==, RI_SUCCESS);
	g_assert_cmpuint(init.qkey, ==, NUMBER);
	g_assert_cmpint(d->map.fd, ==, -1);
	return qp;
}

static enum ri_status
move(struct vib_qp *qp, enum ri_qp_state state)
{
	const struct ri_qp_attr attr = {.state = state};

	return vib_qp_ops.modify((struct ri_qp *)qp, &attr, RI_QP_ATTR_STATE);
}

static struct ri_qp_attr
query(struct vib_qp *qp)
{
	struct ri_qp_attr attr;

	g_assert_cmpint(vib_qp_ops.query((struct ri_qp *)qp, &attr), ==, RI_SUCCESS);
	return attr;
}

static void
begin(struct vib_qp *qp)
{
	pthread_mutex_lock(&qp->lock);
	g_assert_cmpint(vib_qp_begin(qp), ==, RI_SUCCESS);
	pthread_mutex_unlock(&qp->lock);
}

/* Its states are those of the connection, whose moves of a queue pair the application makes. */
static void
test_life(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qp = number_new(d);
	struct ri_cm_event up = {.kind = RI_CM_ESTABLISHED};
	const struct ri_qp_attr depths = {.ird = 9, .ord = 10, .access = RI_ACCESS_REMOTE_READ};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR};

	g_assert_cmpuint(query(qp).qpn, ==, NUMBER);
	g_assert_cmpint(query(qp).state, ==, RI_QPS_IDLE);
	g_assert_true(query(qp).quiescent);
	g_assert_cmpint(
		vib_qp_ops.modify((struct ri_qp *)qp, &depths, RI_QP_ATTR_IRD | RI_QP_ATTR_ORD), ==,
		RI_SUCCESS);
	g_assert_cmpuint(query(qp).ird, ==, 9);
	for (int round = 0; round < 2; round++) {
		begin(qp);
		g_assert_cmpint(vib_qp_device_modify(qp, &attr, IBV_QP_STATE), ==, RI_SUCCESS);
		g_assert_true(vib_qp_established(qp, &up));
		g_assert_cmpint(query(qp).state, ==, RI_QPS_RTS);
		g_assert_false(vib_qp_device_failed(qp));
		g_assert_cmpuint(d->cm_events->len, ==, 1);
		g_assert_cmpint(move(qp, RI_QPS_IDLE), ==, RI_ERR_INVALID_STATE);
		g_assert_cmpint(move(qp, RI_QPS_ERROR), ==, RI_SUCCESS);
		g_assert_cmpint(move(qp, RI_QPS_IDLE), ==, RI_ERR_STILL_FLUSHING);
		vth_run(d->vth); /* no time passes: there is nothing to flush */
		g_assert_cmpuint(d->cm_events->len, ==, 2);
		g_assert_cmpint(g_array_index(d->cm_events, struct ri_cm_event, 1).kind, ==,
				RI_CM_BROKEN);
		g_array_set_size(d->cm_events, 0);
		g_assert_cmpint(move(qp, RI_QPS_IDLE), ==, RI_SUCCESS);
	}
	g_assert_cmpuint(d->async_events->len, ==, 0);
	g_assert_cmpint(move(qp, RI_QPS_ERROR), ==, RI_SUCCESS);
	vth_run(d->vth);
	g_assert_cmpuint(d->cm_events->len, ==, 0);
	g_assert_cmpint(d->qps, ==, 0);
	g_assert_cmpint(d->moved_mask, ==, 0);
	data_qp_end(&qp);
	/* In the middle of an attempt. */
	qp = number_new(d);
	begin(qp);
	g_assert_cmpint(vib_pd_ops.destroy(d->pd), ==, RI_ERR_BUSY);
	data_qp_end(&qp);
}

/* What it is not. */
static void
test_refused(void)
{
	static const struct ri_addr group = {.family = RI_ADDR_IPV4, .octets = {239, 1, 1, 1}};
	const struct ri_peer peer = {
		.path = {.dest = {.family = RI_ADDR_IPV4, .octets = {192, 0, 2, 9}}},
		.path_mtu = 1024};
	const struct ri_qp_attr qkey = {.qkey = 1};
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qp = number_new(d);
	struct ri_qp_init init = {.type = RI_QP_NUMBER, .qkey = 0x1000000};

	g_assert_cmpint(vib_peer_ops.receive((struct ri_qp *)qp, &peer), ==, RI_ERR_UNSUPPORTED);
	g_assert_cmpint(vib_peer_ops.send((struct ri_qp *)qp, &peer), ==, RI_ERR_INVALID_STATE);
	g_assert_cmpint(vib_qp_ops.mcast_attach((struct ri_qp *)qp, &group), ==,
			RI_ERR_UNSUPPORTED);
	g_assert_cmpint(vib_qp_ops.modify((struct ri_qp *)qp, &qkey, RI_QP_ATTR_QKEY), ==,
			RI_ERR_UNSUPPORTED);
	data_qp_end(&qp);
	g_assert_cmpint(
		vib_qp_ops.create(d->pd, &init, NULL, NULL, NULL, (struct ri_qp **)&qp, &d->map),
		==, RI_ERR_INVALID_ARG);
	init.qkey = 1;
	d->rnic.attr.cm_number = false;
	g_assert_cmpint(
		vib_qp_ops.create(d->pd, &init, NULL, NULL, NULL, (struct ri_qp **)&qp, &d->map),
		==, RI_ERR_UNSUPPORTED);
	d->rnic.attr.cm_number = true;
	atomic_store(&d->rnic.failed, true);
	g_assert_cmpint(
		vib_qp_ops.create(d->pd, &init, NULL, NULL, NULL, (struct ri_qp **)&qp, &d->map),
		==, RI_ERR_FATAL);
	atomic_store(&d->rnic.failed, false);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ib/number/life", test_life);
	g_test_add_func("/ib/number/refused", test_refused);
	return g_test_run();
}
