/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Queue pairs that their device breaks with the interface, though they are not connected [RI 12.3.16]. */
#include <errno.h>

#include "vib_cq.h"
#include "vib_data.h"
#include "vib_post.h"
#include "vib_profile.h"
#include "vib_qp_end.h"
#include "vib_ring.h"

static const struct vib_quirk breaks = {.driver = "breaks", .no_reuse = true, .down_breaks = true};
static const struct ibv_wc flushed = {.status = IBV_WC_WR_FLUSH_ERR};

static struct device *
setting_new(void)
{
	struct device *d = device_new();

	d->rnic.quirk = &breaks;
	return d;
}

static struct vib_qp *
idle_qp(struct device *d)
{
	struct ri_qp_init init = {.ctx = 7,
				  .type = RI_QP_RC,
				  .max_sq_wr = 8,
				  .max_rq_wr = 8,
				  .max_send_sge = 2,
				  .max_recv_sge = 2};
	struct vib_qp *qp;

	g_assert_cmpint(
		vib_qp_ops.create(d->pd, &init, d->cq, d->cq, NULL, (struct ri_qp **)&qp, &d->map),
		==, RI_SUCCESS);
	return qp;
}

static void
receive_post(struct vib_qp *qp, uint64_t id)
{
	g_assert_cmpint(vib_post_rq(&qp->user, &(struct ri_recv_wr){.wr_id = id}), ==, RI_SUCCESS);
}

static void
state_set(struct vib_qp *qp, uint32_t state)
{
	const struct ri_qp_attr attr = {.state = state};

	g_assert_cmpint(vib_qp_ops.modify((struct ri_qp *)qp, &attr, RI_QP_ATTR_STATE), ==,
			RI_SUCCESS);
}

static void
down(struct device *d)
{
	vib_qp_port_event(&d->rnic, RI_EVENT_PORT_ERROR);
	vth_run(d->vth);
}

static void
up(struct device *d)
{
	vib_qp_port_event(&d->rnic, RI_EVENT_PORT_ACTIVE);
	vth_run(d->vth);
}

/* Receives are flushed, those that the device has flushed once; what is posted when the port is active is not. */
static void
test_down_and_up(void)
{
	const struct ibv_wc success = {.status = IBV_WC_SUCCESS, .byte_len = 5};
	struct device *d RI_AT_END(device_free) = setting_new();
	struct vib_qp *first RI_AT_END(data_qp_end) = idle_qp(d),
			     *qp RI_AT_END(data_qp_end) = idle_qp(d);
	uint32_t qpn = qp->user.qpn, other = first->user.qpn;

	receive_post(qp, 1);
	receive_post(qp, 2);
	receive_post(qp, 3);
	device_receive(d, 0, &flushed);
	device_receive(d, 1, &flushed);
	down(d);
	receive_post(qp, 4);
	for (uint64_t id = 1; id <= 4; id++)
		data_poll(d, id, RI_WC_FLUSHED);
	down(d); /* another event changes nothing */
	data_poll_none(d);
	g_assert_cmpuint(d->recvs, ==, 3);
	up(d);
	g_assert_cmpuint(qp->user.qpn, !=, qpn);
	g_assert_cmpuint(first->user.qpn, !=, other);
	g_assert_cmpint(d->qps, ==, 2);
	qpn = qp->user.qpn;
	up(d);
	g_assert_cmpuint(qp->user.qpn, ==, qpn);
	receive_post(qp, 5);
	data_poll_none(d);
	device_receive(d, 3, &success);
	data_poll(d, 5, RI_WC_SUCCESS);
	g_assert_cmpuint(d->cm_events->len, ==, 0);
	g_assert_cmpuint(d->async_events->len, ==, 0);
}

/* A thread that waits for a completion is woken. */
static void
test_told(void)
{
	struct device *d RI_AT_END(device_free) = setting_new();
	struct vib_qp *qp RI_AT_END(data_qp_end) = idle_qp(d);

	receive_post(qp, 1);
	g_assert_cmpint(vib_arm_cq(&d->cq->user, RI_ARM_NEXT, 0), ==, RI_SUCCESS);
	down(d);
	g_assert_cmpuint(d->cq->user.armed, ==, RI_ARM_NONE);
	data_poll(d, 1, RI_WC_FLUSHED);
}

/* A connection, and datagrams, end by other events; and other devices break nothing. */
static void
test_others(void)
{
	static const struct vib_quirk none = {.driver = ""};
	struct device *d RI_AT_END(device_free) = setting_new();
	struct vib_qp *qps[3] = {device_qp(d, false), device_qp(d, true), NULL};
	uint32_t qpns[3];

	down(d);
	qps[2] = idle_qp(d);
	d->rnic.quirk = &none;
	down(d);
	d->rnic.quirk = &breaks;
	for (unsigned i = 0; i < 3; i++) {
		qpns[i] = qps[i]->user.qpn;
		receive_post(qps[i], i);
	}
	vib_qp_port_event(&d->rnic, RI_EVENT_PORT_CHANGE);
	up(d);
	data_poll_none(d);
	for (unsigned i = 0; i < 3; i++) {
		g_assert_cmpuint(qps[i]->user.qpn, ==, qpns[i]);
		data_qp_end(&qps[i]);
	}
}

/* An attempt that begins before the event of the port has come. */
static void
test_attempt(void)
{
	struct device *d RI_AT_END(device_free) = setting_new();
	struct vib_qp *qp RI_AT_END(data_qp_end) = idle_qp(d);
	uint32_t qpn = qp->user.qpn;

	g_assert_cmpint(vib_qp_heal(qp), ==, RI_SUCCESS);
	g_assert_cmpuint(qp->user.qpn, ==, qpn);
	down(d);
	g_assert_cmpint(vib_qp_heal(qp), ==, RI_SUCCESS);
	g_assert_cmpuint(qp->user.qpn, !=, qpn);
	qpn = qp->user.qpn;
	receive_post(qp, 1);
	up(d);
	g_assert_cmpuint(qp->user.qpn, ==, qpn);
	data_poll_none(d);
}

/* Without memory, or if the device refuses the new one, the attempt says so, and a later one works. */
static void
test_fails(void)
{
	for (int i = 0; i < 2; i++) {
		struct device *d RI_AT_END(device_free) = setting_new();
		struct vib_qp *qp = idle_qp(d), *other = idle_qp(d);

		down(d);
		*(i == 0 ? &d->create_error : &d->init_error) = ENOMEM;
		up(d);
		g_assert_true(vth_logged(
			d->vth, "a queue pair that its device has broken cannot be replaced"));
		g_assert_cmpint(vib_qp_heal(qp), !=, RI_SUCCESS);
		receive_post(qp, 1);
		data_poll(d, 1, RI_WC_FLUSHED);
		d->create_error = d->init_error = 0;
		g_assert_cmpint(vib_qp_heal(qp), ==, RI_SUCCESS);
		receive_post(qp, 2);
		data_poll_none(d);
		g_assert_cmpuint(d->qps, ==, 2);
		data_qp_end(&qp);
		data_qp_end(&other);
	}
}

/* A reset renews it as well. */
static void
test_reset(void)
{
	struct device *d RI_AT_END(device_free) = setting_new();
	struct vib_qp *qp RI_AT_END(data_qp_end) = idle_qp(d);
	uint32_t qpn;

	down(d);
	state_set(qp, RI_QPS_ERROR);
	vth_advance(d->vth, UINT64_C(2000) * 1000 * 1000);
	state_set(qp, RI_QPS_IDLE);
	qpn = qp->user.qpn;
	receive_post(qp, 1);
	up(d);
	g_assert_cmpuint(qp->user.qpn, ==, qpn);
	data_poll_none(d);
}

int
main(int argc, char **argv)
{
	g_setenv("LC_ALL", "C", TRUE);
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ib/renew/down-and-up", test_down_and_up);
	g_test_add_func("/ib/renew/told", test_told);
	g_test_add_func("/ib/renew/others", test_others);
	g_test_add_func("/ib/renew/attempt", test_attempt);
	g_test_add_func("/ib/renew/fails", test_fails);
	g_test_add_func("/ib/renew/reset", test_reset);
	return g_test_run();
}
