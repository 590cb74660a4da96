/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Queue pairs that an application brings up itself (vib_peer.c), reliable and unreliable, over a device that the test simulates (vib_device.h).
 */
#include <errno.h>
#include <string.h>

#include "vib_chain.h"
#include "vib_cq.h"
#include "vib_data.h"
#include "vib_peer.h"
#include "vib_post.h"
#include "vib_profile.h"

#define RTR_ANY (IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define RTR_RC  (RTR_ANY | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTS_ANY (IBV_QP_STATE | IBV_QP_SQ_PSN)
#define RTS_RC \
	(RTS_ANY | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)

static const struct ri_peer usual = {
	.path = {.dest = {.family = RI_ADDR_IPV4, .octets = {192, 0, 2, 9}}, .traffic_class = 7},
	.qpn = 0xabcdef,
	.rq_psn = 0x123456,
	.path_mtu = 1024,
	.ird = 3,
	.min_rnr_timer = 12,
	.sq_psn = 0x654321,
	.ord = 5,
	.timeout = 14,
	.retry_count = 6,
	.rnr_retry = 7,
};

static struct vib_qp *
qp_new(struct device *d, enum ri_qp_type type)
{
	struct ri_qp_init init = device_qp_init(false, 8);
	struct vib_qp *qp;

	init.type = type;
	init.access = RI_ACCESS_REMOTE_READ | RI_ACCESS_REMOTE_WRITE | RI_ACCESS_REMOTE_ATOMIC |
		      RI_ACCESS_BIND;
	g_assert_cmpint(
		vib_qp_ops.create(d->pd, &init, d->cq, d->cq, NULL, (struct ri_qp **)&qp, &d->map),
		==, RI_SUCCESS);
	return qp;
}

static struct ri_qp_attr
query(struct vib_qp *qp)
{
	struct ri_qp_attr attr;

	g_assert_cmpint(vib_qp_ops.query((struct ri_qp *)qp, &attr), ==, RI_SUCCESS);
	return attr;
}

static enum ri_status
move(struct vib_qp *qp, enum ri_qp_state state)
{
	const struct ri_qp_attr attr = {.state = state};

	return vib_qp_ops.modify((struct ri_qp *)qp, &attr, RI_QP_ATTR_STATE);
}

static void
up(struct vib_qp *qp)
{
	g_assert_cmpint(vib_peer_ops.receive((struct ri_qp *)qp, &usual), ==, RI_SUCCESS);
	g_assert_cmpint(vib_peer_ops.send((struct ri_qp *)qp, &usual), ==, RI_SUCCESS);
}

/* The one end, as it is raised: asynchronous, and of no connection. */
static void
end_is(struct device *d, enum ri_event event)
{
	const struct ri_async_event *told;

	vth_run(d->vth);
	g_assert_cmpuint(d->cm_events->len, ==, 0);
	g_assert_cmpuint(d->async_events->len, ==, 1);
	told = &g_array_index(d->async_events, struct ri_async_event, 0);
	g_assert_cmpint(told->event, ==, event);
	g_assert_cmpint(told->object, ==, RI_OBJECT_QP);
	g_assert_cmpuint(told->ctx, ==, 7);
	g_array_set_size(d->async_events, 0);
	g_assert_cmpuint(d->aborts, ==, 0); /* there is no connection manager to tell */
}

static enum ri_status
post(struct vib_qp *qp, uint8_t opcode, uint32_t flags)
{
	const struct ri_wr wr = {.wr_id = 4, .opcode = opcode, .flags = flags};

	return vib_post_sq(&qp->user, &wr);
}

static void
recv_post(struct vib_qp *qp, uint64_t id)
{
	const struct ri_recv_wr wr = {.wr_id = id};

	g_assert_cmpint(vib_post_rq(&qp->user, &wr), ==, RI_SUCCESS);
}

/* The attributes that the device gets for each half, and what it may do then. */
static void
test_reliable(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qp RI_AT_END(data_qp_end) = qp_new(d, RI_QP_RC);
	struct ri_wc wc;

	g_assert_cmpint(d->type, ==, IBV_QPT_RC);
	recv_post(qp, 1);
	g_assert_cmpint(vib_peer_ops.receive((struct ri_qp *)qp, &usual), ==, RI_SUCCESS);
	g_assert_cmpint(d->moved.qp_state, ==, IBV_QPS_RTR);
	g_assert_cmpint(d->moved_mask, ==, RTR_RC);
	g_assert_cmpint(d->moved.path_mtu, ==, IBV_MTU_1024);
	g_assert_cmpuint(d->moved.dest_qp_num, ==, 0xabcdef);
	g_assert_cmpuint(d->moved.rq_psn, ==, 0x123456);
	g_assert_cmpuint(d->moved.max_dest_rd_atomic, ==, 3);
	g_assert_cmpuint(d->moved.min_rnr_timer, ==, 12);
	g_assert_cmpuint(d->moved.ah_attr.is_global, ==, 1);
	g_assert_cmpuint(d->moved.ah_attr.port_num, ==, 1);
	g_assert_cmpuint(d->moved.ah_attr.grh.sgid_index, ==, 1);
	g_assert_cmpuint(d->moved.ah_attr.grh.traffic_class, ==, 7);
	g_assert_cmpuint(d->moved.ah_attr.grh.dgid.raw[11], ==, 0xff);
	g_assert_cmpuint(d->moved.ah_attr.grh.dgid.raw[15], ==, 9);
	g_assert_cmpint(query(qp).state, ==, RI_QPS_CONNECTING);
	g_assert_cmpuint(query(qp).ird, ==, 3);
	/* Receives complete already, requests are not taken yet [RI 10.46]. */
	device_receive(d, 0, &(struct ibv_wc){.byte_len = 5});
	g_assert_cmpuint(vib_poll_cq(&d->cq->user, &wc, 1), ==, 1);
	g_assert_cmpuint(wc.byte_len, ==, 5);
	g_assert_cmpint(post(qp, RI_OP_SEND, 0), ==, RI_ERR_INVALID_STATE);

	g_assert_cmpint(vib_peer_ops.send((struct ri_qp *)qp, &usual), ==, RI_SUCCESS);
	g_assert_cmpint(d->moved.qp_state, ==, IBV_QPS_RTS);
	g_assert_cmpint(d->moved_mask, ==, RTS_RC);
	g_assert_cmpuint(d->moved.sq_psn, ==, 0x654321);
	g_assert_cmpuint(d->moved.timeout, ==, 14);
	g_assert_cmpuint(d->moved.retry_cnt, ==, 6);
	g_assert_cmpuint(d->moved.rnr_retry, ==, 7);
	g_assert_cmpuint(d->moved.max_rd_atomic, ==, 5);
	g_assert_cmpint(query(qp).state, ==, RI_QPS_RTS);
	g_assert_cmpuint(query(qp).ord, ==, 5);
	g_assert_cmpint(post(qp, RI_OP_SEND, 0), ==, RI_SUCCESS);
	vth_run(d->vth);
	g_assert_cmpuint(d->cm_events->len + d->async_events->len, ==, 0);
	device_complete(d, IBV_WC_SUCCESS);
}

/* In order, and once. */
static void
test_order(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qp = qp_new(d, RI_QP_RC);

	g_assert_cmpint(vib_peer_ops.send((struct ri_qp *)qp, &usual), ==, RI_ERR_INVALID_STATE);
	g_assert_cmpint(vib_peer_ops.receive((struct ri_qp *)qp, &usual), ==, RI_SUCCESS);
	g_assert_cmpint(vib_peer_ops.receive((struct ri_qp *)qp, &usual), ==, RI_ERR_INVALID_STATE);
	g_assert_cmpint(vib_peer_ops.send((struct ri_qp *)qp, &usual), ==, RI_SUCCESS);
	g_assert_cmpint(vib_peer_ops.send((struct ri_qp *)qp, &usual), ==, RI_ERR_INVALID_STATE);
	g_assert_cmpint(vib_peer_ops.receive((struct ri_qp *)qp, &usual), ==, RI_ERR_INVALID_STATE);
	g_assert_cmpint(move(qp, RI_QPS_CLOSING), ==, RI_ERR_INVALID_STATE);
	g_assert_cmpint(move(qp, RI_QPS_TERMINATE), ==, RI_ERR_INVALID_STATE);
	data_qp_end(&qp);
	/* One whose set-up the connection manager does is in CONNECTING, too. */
	qp = qp_new(d, RI_QP_RC);
	pthread_mutex_lock(&qp->lock);
	g_assert_cmpint(vib_qp_begin(qp), ==, RI_SUCCESS);
	pthread_mutex_unlock(&qp->lock);
	g_assert_cmpint(vib_peer_ops.send((struct ri_qp *)qp, &usual), ==, RI_ERR_INVALID_STATE);
	data_qp_end(&qp);
	qp = device_qp(d, true);
	g_assert_cmpint(vib_peer_ops.receive((struct ri_qp *)qp, &usual), ==, RI_ERR_UNSUPPORTED);
	g_assert_cmpint(vib_peer_ops.send((struct ri_qp *)qp, &usual), ==, RI_ERR_INVALID_STATE);
	data_qp_end(&qp);
}

/* What is out of range changes nothing. */
static void
test_ranges(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qp RI_AT_END(data_qp_end) = qp_new(d, RI_QP_RC);

#define REFUSED(member_, value_, entry_, status_)                                             \
	do {                                                                                  \
		struct ri_peer odd_ = usual;                                                  \
		odd_.member_ = value_;                                                        \
		d->moved_mask = 0;                                                            \
		g_assert_cmpint(vib_peer_ops.entry_((struct ri_qp *)qp, &odd_), ==, status_); \
		g_assert_cmpint(d->moved_mask, ==, 0);                                        \
	} while (0)
	REFUSED(qpn, 0x1000000, receive, RI_ERR_INVALID_ARG);
	REFUSED(rq_psn, 0x1000000, receive, RI_ERR_INVALID_ARG);
	REFUSED(min_rnr_timer, 32, receive, RI_ERR_INVALID_ARG);
	REFUSED(path_mtu, 0, receive, RI_ERR_INVALID_ARG);
	REFUSED(path_mtu, 1500, receive, RI_ERR_INVALID_ARG);
	REFUSED(path_mtu, 8192, receive, RI_ERR_INVALID_ARG);
	REFUSED(path.port, 1, receive, RI_ERR_INVALID_ARG);
	REFUSED(path.dest.family, RI_ADDR_NONE, receive, RI_ERR_NO_ROUTE);
	REFUSED(path.source, ((struct ri_addr){.family = RI_ADDR_IPV4, .octets = {10, 0, 0, 1}}),
		receive, RI_ERR_NO_ROUTE);
	REFUSED(ird, 17, receive, RI_ERR_LIMIT);
	g_assert_cmpint(query(qp).state, ==, RI_QPS_IDLE);
	g_assert_cmpint(vib_peer_ops.receive((struct ri_qp *)qp, &usual), ==, RI_SUCCESS);
	REFUSED(sq_psn, 0x1000000, send, RI_ERR_INVALID_ARG);
	REFUSED(timeout, 32, send, RI_ERR_INVALID_ARG);
	REFUSED(retry_count, 8, send, RI_ERR_INVALID_ARG);
	REFUSED(rnr_retry, 8, send, RI_ERR_INVALID_ARG);
	REFUSED(ord, 17, send, RI_ERR_LIMIT);
	g_assert_cmpint(query(qp).state, ==, RI_QPS_CONNECTING);
	g_assert_cmpint(vib_peer_ops.send((struct ri_qp *)qp, &usual), ==, RI_SUCCESS);
}

/* The device refuses a move: it can be made again. */
static void
test_refused(void)
{
	static const struct {
		int error;
		enum ri_status status;
	} rows[] = {{EINVAL, RI_ERR_INVALID_ARG},    {ETIMEDOUT, RI_ERR_NO_ROUTE},
		    {EHOSTUNREACH, RI_ERR_NO_ROUTE}, {ENETUNREACH, RI_ERR_NO_ROUTE},
		    {ENODATA, RI_ERR_NO_ROUTE},      {ENOMEM, RI_ERR_RESOURCES},
		    {EAGAIN, RI_ERR_RESOURCES},      {EIO, RI_ERR_FATAL}};
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qp = qp_new(d, RI_QP_RC);

	for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
		d->rtr_error = rows[i].error;
		g_assert_cmpint(vib_peer_ops.receive((struct ri_qp *)qp, &usual), ==,
				rows[i].status);
		g_assert_cmpint(query(qp).state, ==, RI_QPS_IDLE);
		g_assert_false(qp->user.bare);
	}
	d->rtr_error = 0;
	g_assert_cmpint(vib_peer_ops.receive((struct ri_qp *)qp, &usual), ==, RI_SUCCESS);
	for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
		d->rts_error = rows[i].error;
		g_assert_cmpint(vib_peer_ops.send((struct ri_qp *)qp, &usual), ==, rows[i].status);
		g_assert_cmpint(query(qp).state, ==, RI_QPS_CONNECTING);
	}
	d->rts_error = 0;
	g_assert_cmpint(vib_peer_ops.send((struct ri_qp *)qp, &usual), ==, RI_SUCCESS);
	g_assert_true(vth_logged(d->vth, "RTR"));
	data_qp_end(&qp);
	atomic_store(&d->rnic.failed, true);
}

/* A device for which seven tries are without end gets six; the others what was asked for. */
static void
test_retries(void)
{
	static const struct vib_quirk endless = {.driver = "", .endless_retries = true};
	const struct vib_quirk *quirk;
	struct device *d RI_AT_END(device_free) = device_new();
	struct ri_peer peer = usual;

	quirk = d->rnic.quirk;
	for (uint8_t tries = 5; tries <= 7; tries++) {
		for (int i = 0; i < 2; i++) {
			struct vib_qp *qp RI_AT_END(data_qp_end) = qp_new(d, RI_QP_RC);

			d->rnic.quirk = i != 0 ? &endless : quirk;
			peer.retry_count = tries;
			g_assert_cmpint(vib_peer_ops.receive((struct ri_qp *)qp, &peer), ==,
					RI_SUCCESS);
			g_assert_cmpint(vib_peer_ops.send((struct ri_qp *)qp, &peer), ==,
					RI_SUCCESS);
			g_assert_cmpuint(d->moved.retry_cnt, ==, i != 0 ? MIN(tries, 6) : tries);
		}
	}
}

/* It ends by a request that fails, by ERROR, or by the device; it can be used again, also by a connection. */
static void
test_ends(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qp RI_AT_END(data_qp_end) = qp_new(d, RI_QP_RC);
	struct ri_wc wc[3];

	up(qp);
	recv_post(qp, 1);
	g_assert_cmpint(post(qp, RI_OP_SEND, 0), ==, RI_SUCCESS);
	device_complete(d, IBV_WC_RETRY_EXC_ERR);
	g_assert_cmpuint(vib_poll_cq(&d->cq->user, wc, 1), ==, 1);
	g_assert_cmpint(wc[0].status, ==, RI_WC_TRANSPORT);
	g_assert_cmpint(query(qp).state, ==,
			RI_QPS_ERROR); /* at once, as programs of verbs expect */
	g_assert_cmpint(move(qp, RI_QPS_IDLE), ==, RI_ERR_STILL_FLUSHING);
	vth_advance(d->vth, UINT64_C(1100000000)); /* the device does not flush the receive */
	g_assert_cmpuint(vib_poll_cq(&d->cq->user, wc, 1), ==, 1);
	g_assert_cmpint(wc[0].status, ==, RI_WC_FLUSHED);
	end_is(d, RI_EVENT_QP_CATASTROPHIC);
	g_assert_true(vth_logged(d->vth,
				 "QP 256 peer 192.0.2.9: the connection has ended: a Send of "
				 "this end failed: the retries are over (status 12"));
	g_assert_cmpint(move(qp, RI_QPS_IDLE), ==, RI_SUCCESS);
	g_assert_false(qp->user.bare);
	g_assert_cmpint(query(qp).state, ==, RI_QPS_IDLE);
	/* Again, and by the application. */
	up(qp);
	g_assert_cmpint(move(qp, RI_QPS_ERROR), ==, RI_SUCCESS);
	end_is(d, RI_EVENT_QP_CATASTROPHIC);
	g_assert_cmpint(move(qp, RI_QPS_IDLE), ==, RI_SUCCESS);
	g_assert_true(
		vth_logged(d->vth, "peer 192.0.2.9: the connection has ended: aborted by this"));
	/* Before it sends. */
	g_assert_cmpint(vib_peer_ops.receive((struct ri_qp *)qp, &usual), ==, RI_SUCCESS);
	g_assert_cmpint(move(qp, RI_QPS_ERROR), ==, RI_SUCCESS);
	end_is(d, RI_EVENT_QP_CATASTROPHIC);
	g_assert_cmpint(vib_peer_ops.send((struct ri_qp *)qp, &usual), ==, RI_ERR_INVALID_STATE);
	g_assert_cmpint(move(qp, RI_QPS_IDLE), ==, RI_SUCCESS);
	/* A connection of this queue pair has its events again. */
	pthread_mutex_lock(&qp->lock);
	g_assert_cmpint(vib_qp_begin(qp), ==, RI_SUCCESS);
	pthread_mutex_unlock(&qp->lock);
	g_assert_cmpint(move(qp, RI_QPS_ERROR), ==, RI_SUCCESS);
	vth_run(d->vth);
	g_assert_cmpuint(d->async_events->len, ==, 0);
	g_assert_cmpuint(d->cm_events->len, ==, 1);
}

/* An error that the device found as a responder shows only in what it flushes, even before the queue pair sends. */
static void
test_responder(void)
{
	struct device *d RI_AT_END(device_free) = device_new();

	for (int sends = 0; sends < 2; sends++) {
		struct vib_qp *qp RI_AT_END(data_qp_end) = qp_new(d, RI_QP_RC);
		struct ri_wc wc;

		recv_post(qp, 1);
		g_assert_cmpint(vib_peer_ops.receive((struct ri_qp *)qp, &usual), ==, RI_SUCCESS);
		if (sends != 0)
			g_assert_cmpint(vib_peer_ops.send((struct ri_qp *)qp, &usual), ==,
					RI_SUCCESS);
		device_receive(d, d->recvs - 1, &(struct ibv_wc){.status = IBV_WC_WR_FLUSH_ERR});
		g_assert_cmpuint(vib_poll_cq(&d->cq->user, &wc, 1), ==, 1);
		g_assert_cmpint(wc.status, ==, RI_WC_FLUSHED);
		g_assert_cmpint(query(qp).state, ==, RI_QPS_ERROR);
		end_is(d, RI_EVENT_QP_CATASTROPHIC);
		g_assert_true(vth_logged(d->vth, "the device flushes what is posted"));
	}
}

static void
receive_fails(struct device *d)
{
	struct ri_wc wc;

	device_receive(d, 0, &(struct ibv_wc){.status = IBV_WC_LOC_QP_OP_ERR});
	g_assert_cmpuint(vib_poll_cq(&d->cq->user, &wc, 1), ==, 1);
}

/* A receive fails while the queue pair is moved to RTS: posts do not reach the device then. */
static void
test_raced(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qp RI_AT_END(data_qp_end) = qp_new(d, RI_QP_RC);

	recv_post(qp, 1);
	g_assert_cmpint(vib_peer_ops.receive((struct ri_qp *)qp, &usual), ==, RI_SUCCESS);
	d->in_move = receive_fails;
	g_assert_cmpint(vib_peer_ops.send((struct ri_qp *)qp, &usual), ==, RI_SUCCESS);
	g_assert_cmpint(query(qp).state, ==, RI_QPS_ERROR);
	g_assert_cmpint(post(qp, RI_OP_SEND, 0), ==, RI_SUCCESS);
	g_assert_cmpuint(d->sends, ==, 0);
	data_poll(d, 4, RI_WC_FLUSHED);
	end_is(d, RI_EVENT_QP_CATASTROPHIC);
}

/* Sends and Writes only, of the device and of rights; everything else is refused at the post, whatever way it takes. */
static void
test_unreliable(void)
{
	static const uint8_t none[] = {RI_OP_RDMA_READ, RI_OP_FETCH_ADD, RI_OP_CMP_SWAP,
				       RI_OP_BIND_MW, RI_OP_LOCAL_INV};
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qp = qp_new(d, RI_QP_UC);
	struct data_region region;
	struct ri_wr wr;

	g_assert_cmpint(d->type, ==, IBV_QPT_UC);
	g_assert_cmpuint(d->moved.qp_access_flags, ==, IBV_ACCESS_REMOTE_WRITE);
	g_assert_cmpint(vib_peer_ops.receive((struct ri_qp *)qp, &usual), ==, RI_SUCCESS);
	g_assert_cmpint(d->moved_mask, ==, RTR_ANY);
	g_assert_cmpint(vib_peer_ops.send((struct ri_qp *)qp, &usual), ==, RI_SUCCESS);
	g_assert_cmpint(d->moved_mask, ==, RTS_ANY);
	data_region_new(d, &region, 1000);
	for (unsigned i = 0; i < 2 * G_N_ELEMENTS(none); i++) {
		wr = (struct ri_wr){
			.sgl = &region.sge, .num_sge = (uint16_t)(i % 2), .opcode = none[i / 2]};
		g_assert_cmpint(vib_post_sq(&qp->user, &wr), ==, RI_ERR_UNSUPPORTED);
	}
	g_assert_cmpint(post(qp, RI_OP_SEND, RI_WR_INVALIDATE), ==, RI_ERR_UNSUPPORTED);
	g_assert_cmpuint(d->sends, ==, 0);
	g_assert_cmpint(data_post(qp, &region, 1, RI_WR_SIGNALED), ==, RI_SUCCESS);
	g_assert_cmpint(post(qp, RI_OP_SEND, RI_WR_IMMEDIATE), ==, RI_SUCCESS);
	g_assert_cmpint(post(qp, RI_OP_RDMA_WRITE, RI_WR_IMMEDIATE), ==, RI_SUCCESS);
	g_assert_cmpuint(d->sends, ==, 3);
	for (unsigned i = 0; i < 3; i++)
		device_complete(d, IBV_WC_SUCCESS);
	data_poll(d, 1, RI_WC_SUCCESS);
	data_qp_end(&qp);
	data_region_free(&region);
	d->rnic.attr.uc = false;
	{
		struct ri_qp_init init = device_qp_init(false, 4);

		init.type = RI_QP_UC;
		g_assert_cmpint(vib_qp_ops.create(d->pd, &init, d->cq, d->cq, NULL,
						  (struct ri_qp **)&qp, &d->map),
				==, RI_ERR_UNSUPPORTED);
	}
}

/* Another port than the first one needs INIT again; the log names queue pair and peer. */
static void
test_port(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct ri_peer second = usual;
	struct vib_qp *qp RI_AT_END(data_qp_end) = qp_new(d, RI_QP_RC);

	d->rnic.attr.num_ports = 2;
	d->rtr_error = EINVAL;
	g_strlcpy(d->rnic.name, "ib:fake0", sizeof(d->rnic.name));
	second.path.port = 1;
	d->inits = 0;
	g_assert_cmpint(vib_peer_ops.receive((struct ri_qp *)qp, &second), ==, RI_ERR_INVALID_ARG);
	g_assert_cmpuint(d->inits, ==, 1);
	g_assert_cmpuint(d->init_port, ==, 2);
	g_assert_cmpuint(d->moved.ah_attr.port_num, ==, 2);
	g_assert_cmpstr(qp->peer, ==, "192.0.2.9");
	d->rtr_error = 0;
	up(qp);
	g_assert_cmpuint(d->inits, ==, 2); /* back to the first one */
	g_assert_cmpuint(d->init_port, ==, 1);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ib/peer/reliable", test_reliable);
	g_test_add_func("/ib/peer/order", test_order);
	g_test_add_func("/ib/peer/ranges", test_ranges);
	g_test_add_func("/ib/peer/refused", test_refused);
	g_test_add_func("/ib/peer/retries", test_retries);
	g_test_add_func("/ib/peer/ends", test_ends);
	g_test_add_func("/ib/peer/responder", test_responder);
	g_test_add_func("/ib/peer/raced", test_raced);
	g_test_add_func("/ib/peer/unreliable", test_unreliable);
	g_test_add_func("/ib/peer/port", test_port);
	return g_test_run();
}
