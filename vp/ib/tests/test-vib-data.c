/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The data path over a device that the test plays (vib_device.h): chains of requests in one call, copied payload,
 * datagrams, and connections that end while requests are held back.
 */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "vib_chain.h"
#include "vib_cq.h"
#include "vib_data.h"
#include "vib_objects.h"
#include "vib_post.h"
#include "vib_profile.h"

/* --- chains ---------------------------------------------------------------------------------- */

/* Kept requests go out with the first one that may not wait, in order and by one call. */
static void
test_chain(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct data_region region RI_AT_END(data_region_free);
	struct vib_qp *qp RI_AT_END(data_qp_end) = device_qp(d, false);

	data_region_new(d, &region, 1000);
	for (uint64_t i = 1; i <= 3; i++) {
		g_assert_cmpint(data_post(qp, &region, i, RI_WR_COALESCE), ==, RI_SUCCESS);
		g_assert_cmpuint(d->calls, ==, 0);
	}
	region.sge.length = 7; /* segments are not looked at after the post */
	g_assert_cmpint(data_post(qp, &region, 4, RI_WR_SIGNALED), ==, RI_SUCCESS);
	g_assert_cmpuint(d->calls, ==, 1);
	g_assert_cmpuint(d->sends, ==, 4);
	for (unsigned i = 0; i < 4; i++) {
		g_assert_cmpuint(d->sent[i].wr.wr.rdma.remote_addr, ==, 0x1001 + i);
		g_assert_cmpuint(d->sent[i].sge.length, ==, i < 3 ? 1000 : 7);
		device_complete(d, IBV_WC_SUCCESS);
	}
	data_poll(d, 4, RI_WC_SUCCESS);
	g_assert_cmpint(data_post(qp, &region, 5, 0), ==, RI_SUCCESS); /* the short way again */
	g_assert_cmpuint(d->calls, ==, 2);
}

/* A full chain, an empty poll, flush_sq and a full queue release it, too. */
static void
test_release(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct data_region region RI_AT_END(data_region_free);
	struct vib_qp *qp RI_AT_END(data_qp_end) = device_qp(d, false);
	unsigned posted = 0;

	data_region_new(d, &region, 1000);
	while (d->calls == 0) {
		g_assert_cmpint(data_post(qp, &region, posted++, RI_WR_COALESCE), ==, RI_SUCCESS);
		g_assert_cmpuint(posted, <=, 32);
	}
	g_assert_cmpuint(d->sends, ==, posted);
	g_assert_cmpint(data_post(qp, &region, posted++, RI_WR_COALESCE), ==, RI_SUCCESS);
	g_assert_cmpuint(d->calls, ==, 1);
	data_poll_none(d);
	g_assert_cmpuint(d->calls, ==, 2);
	g_assert_cmpint(data_post(qp, &region, posted++, RI_WR_COALESCE), ==, RI_SUCCESS);
	vib_flush_sq(&qp->user);
	g_assert_cmpuint(d->sends, ==, posted);
	while (posted < 32)
		g_assert_cmpint(data_post(qp, &region, posted++, RI_WR_COALESCE), ==, RI_SUCCESS);
	g_assert_cmpint(data_post(qp, &region, posted, RI_WR_COALESCE), ==, RI_ERR_QUEUE_FULL);
	g_assert_cmpuint(d->sends, ==, 32);
}

/* The device refuses the third of five: two are done, three are flushed, and the connection is broken, once. */
static void
test_refused(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qp = device_qp(d, false);
	struct data_region region RI_AT_END(data_region_free);

	data_region_new(d, &region, 1000);
	d->refuse = 3;
	d->error = EINVAL;
	for (uint64_t i = 1; i <= 5; i++)
		g_assert_cmpint(
			data_post(qp, &region, i, RI_WR_SIGNALED | (i < 5 ? RI_WR_COALESCE : 0)),
			==, RI_SUCCESS);
	g_assert_cmpuint(d->sends, ==, 2);
	device_complete(d, IBV_WC_SUCCESS);
	device_complete(d, IBV_WC_SUCCESS);
	vth_run(d->vth);
	for (uint64_t i = 1; i <= 5; i++)
		data_poll(d, i, i <= 2 ? RI_WC_SUCCESS : RI_WC_FLUSHED);
	data_poll_none(d);
	g_assert_cmpuint(d->cm_events->len, ==, 1);
	g_assert_cmpint(g_array_index(d->cm_events, struct ri_cm_event, 0).kind, ==, RI_CM_BROKEN);
	/* A request alone is refused to the caller. */
	data_qp_end(&qp);
	qp = device_qp(d, false);
	g_assert_cmpint(data_post(qp, &region, 6, RI_WR_SIGNALED), ==, RI_ERR_UNSUPPORTED);
	g_assert_cmpuint(d->cm_events->len, ==, 0);
	data_qp_end(&qp);
}

/* It refuses a chain and does not say which request. */
static void
test_refused_unsaid(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct data_region region RI_AT_END(data_region_free);
	struct vib_qp *qp RI_AT_END(data_qp_end) = device_qp(d, false);

	data_region_new(d, &region, 1000);
	d->refuse = 1;
	d->error = EIO;
	d->unsaid = true;
	for (uint64_t i = 1; i <= 3; i++)
		g_assert_cmpint(
			data_post(qp, &region, i, RI_WR_SIGNALED | (i < 3 ? RI_WR_COALESCE : 0)),
			==, RI_SUCCESS);
	vth_run(d->vth);
	for (uint64_t i = 1; i <= 3; i++)
		data_poll(d, i, RI_WC_FLUSHED);
	data_poll_none(d);
	g_assert_cmpuint(d->cm_events->len, ==, 1);
}

/* A request that the device fails is the end of the connection, once; the device was asked to report it. */
static void
test_failed(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct data_region region RI_AT_END(data_region_free);
	struct vib_qp *qp RI_AT_END(data_qp_end) = device_qp(d, false);

	g_assert_true(d->watched);
	data_region_new(d, &region, 1000);
	for (uint64_t i = 1; i <= 3; i++)
		g_assert_cmpint(data_post(qp, &region, i, 0), ==, RI_SUCCESS);
	device_complete(d, IBV_WC_REM_ACCESS_ERR);
	data_poll(d, 1, RI_WC_REMOTE_ACCESS);
	data_poll(d, 2, RI_WC_FLUSHED);
	g_assert_cmpuint(d->cm_events->len, ==, 0);
	vth_run(d->vth);
	g_assert_cmpuint(d->cm_events->len, ==, 1);
	g_assert_cmpint(g_array_index(d->cm_events, struct ri_cm_event, 0).kind, ==, RI_CM_BROKEN);
	g_assert_cmpuint(d->aborts, ==, 1);
	data_poll(d, 3, RI_WC_FLUSHED);
	g_assert_true(vth_logged(d->vth,
				 "ib QP 256: the connection has ended: an RDMA Write of this "
				 "end failed: remote access error (status 10, vendor error 0)"));
}

/* An end flushes what is kept back at once: it does not wait for what the device never gets. */
static void
test_end_of_kept(void)
{
	const struct ri_cm_event broken = {.kind = RI_CM_BROKEN};
	struct device *d RI_AT_END(device_free) = device_new();
	struct data_region region RI_AT_END(data_region_free);
	struct vib_qp *qp RI_AT_END(data_qp_end) = device_qp(d, false);

	data_region_new(d, &region, 1000);
	g_assert_cmpint(data_post(qp, &region, 1, RI_WR_SIGNALED), ==, RI_SUCCESS);
	g_assert_cmpint(data_post(qp, &region, 2, RI_WR_COALESCE), ==, RI_SUCCESS);
	vib_qp_end(qp, &broken, RI_EVENT_NONE);
	vth_run(d->vth); /* no time passes */
	g_assert_cmpuint(d->cm_events->len, ==, 1);
	data_poll(d, 1, RI_WC_FLUSHED);
	data_poll(d, 2, RI_WC_FLUSHED);
	data_poll_none(d);
	g_assert_cmpuint(d->sends, ==, 1);
	g_assert_cmpint(data_post(qp, &region, 3, RI_WR_COALESCE), ==, RI_SUCCESS);
	data_poll(d, 3, RI_WC_FLUSHED);
}

/*
 * After a disconnect the device's queue pair still runs until the peer has answered. Requests that
 * are posted then must not reach the device, and the end must not wait for them.
 */
static void
test_closing(void)
{
	const struct ri_cm_event left = {.kind = RI_CM_DISCONNECTED};
	struct device *d RI_AT_END(device_free) = device_new();
	struct data_region region RI_AT_END(data_region_free);
	struct vib_qp *qp RI_AT_END(data_qp_end) = device_qp(d, false);
	struct ri_recv_wr receive = {.wr_id = 10, .num_sge = 1};

	data_region_new(d, &region, 1000);
	receive.sgl = &region.sge;
	g_assert_cmpint(data_post(qp, &region, 1, RI_WR_SIGNALED | RI_WR_COALESCE), ==, RI_SUCCESS);
	vib_chain_finish(&qp->user); /* a disconnect does this first */
	g_assert_cmpuint(d->sends, ==, 1);
	device_complete(d, IBV_WC_SUCCESS);
	data_poll(d, 1, RI_WC_SUCCESS);
	pthread_mutex_lock(&qp->lock);
	g_assert_true(vib_qp_closing(qp));
	g_assert_false(vib_qp_closing(qp));
	pthread_mutex_unlock(&qp->lock);
	for (uint64_t i = 2; i <= 4; i++) {
		g_assert_cmpint(data_post(qp, &region, i, i == 3 ? RI_WR_COALESCE : 0), ==,
				RI_SUCCESS);
		data_poll(d, i, RI_WC_FLUSHED);
	}
	g_assert_cmpint(vib_post_rq(&qp->user, &receive), ==, RI_SUCCESS);
	data_poll(d, 10, RI_WC_FLUSHED);
	g_assert_cmpuint(d->sends, ==, 1);
	g_assert_cmpuint(d->recvs, ==, 0);
	g_assert_cmpuint(d->cm_events->len, ==, 0);
	vib_qp_end(qp, &left, RI_EVENT_NONE);
	vth_run(d->vth); /* no time passes */
	g_assert_cmpuint(d->cm_events->len, ==, 1);
	g_assert_cmpint(g_array_index(d->cm_events, struct ri_cm_event, 0).kind, ==,
			RI_CM_DISCONNECTED);
	data_poll_none(d);
}

/* What is posted then waits for its turn behind what the device has. */
static void
test_closing_behind(void)
{
	const struct ri_cm_event left = {.kind = RI_CM_DISCONNECTED};
	struct device *d RI_AT_END(device_free) = device_new();
	struct data_region region RI_AT_END(data_region_free);
	struct vib_qp *qp RI_AT_END(data_qp_end) = device_qp(d, false);
	struct ri_recv_wr receive = {.wr_id = 10, .num_sge = 1};

	data_region_new(d, &region, 1000);
	receive.sgl = &region.sge;
	g_assert_cmpint(data_post(qp, &region, 1, RI_WR_SIGNALED), ==, RI_SUCCESS);
	g_assert_cmpint(data_post(qp, &region, 2, RI_WR_SIGNALED), ==, RI_SUCCESS);
	g_assert_cmpint(vib_post_rq(&qp->user, &receive), ==, RI_SUCCESS);
	pthread_mutex_lock(&qp->lock);
	g_assert_true(vib_qp_closing(qp));
	pthread_mutex_unlock(&qp->lock);
	g_assert_cmpint(data_post(qp, &region, 3, RI_WR_SIGNALED), ==, RI_SUCCESS);
	data_poll_none(d);
	device_complete(d, IBV_WC_SUCCESS);
	data_poll(d, 1, RI_WC_SUCCESS);
	data_poll_none(d);
	vib_qp_end(qp, &left,
		   RI_EVENT_NONE); /* the device flushes its second request, not its receive */
	vth_run(d->vth);
	data_poll(d, 2, RI_WC_FLUSHED);
	data_poll_none(d);
	g_assert_cmpuint(d->cm_events->len, ==, 0); /* the device has a receive */
	device_receive(d, 0, &(struct ibv_wc){.status = IBV_WC_WR_FLUSH_ERR});
	vth_advance(d->vth, UINT64_C(1000) * 1000); /* much less than the longest drain */
	data_poll(d, 10, RI_WC_FLUSHED);
	data_poll(d, 3, RI_WC_FLUSHED);
	data_poll_none(d);
	g_assert_cmpuint(d->cm_events->len, ==, 1);
	g_assert_cmpuint(d->sends, ==, 2);
}

/* Statuses of the kernel's rxe that are others than libibverbs defines. */
static void
test_vague(void)
{
	static const struct vib_quirk rxe = {.driver = "rxe", .vague_statuses = true};
	static const struct {
		bool receive;
		enum ibv_wc_status theirs;
		enum ri_wc_status ours; /* of rxe */
		enum ri_wc_status usual;
	} rows[] = {
		{true, IBV_WC_REM_INV_REQ_ERR, RI_WC_LOCAL_PROTECTION, RI_WC_REMOTE_INVALID_REQ},
		{true, IBV_WC_LOC_QP_OP_ERR, RI_WC_LOCAL_PROTECTION, RI_WC_LOCAL_QP},
		{true, IBV_WC_WR_FLUSH_ERR, RI_WC_FLUSHED, RI_WC_FLUSHED},
		{false, IBV_WC_REM_INV_REQ_ERR, RI_WC_REMOTE_INVALID_REQ, RI_WC_REMOTE_INVALID_REQ},
		{false, IBV_WC_LOC_QP_OP_ERR, RI_WC_LOCAL_PROTECTION, RI_WC_LOCAL_QP},
		{false, IBV_WC_RNR_RETRY_EXC_ERR, RI_WC_RNR, RI_WC_RNR},
	};

	for (unsigned i = 0; i < 2 * G_N_ELEMENTS(rows); i++) {
		bool vague = i >= G_N_ELEMENTS(rows);
		unsigned row = i % G_N_ELEMENTS(rows);
		const struct ri_recv_wr receive = {.wr_id = 1};
		struct device *d RI_AT_END(device_free) = device_new();
		struct data_region region RI_AT_END(data_region_free);

		if (vague)
			d->rnic.quirk = &rxe;
		struct vib_qp *qp RI_AT_END(data_qp_end) = device_qp(d, false);
		data_region_new(d, &region, 1000);
		if (rows[row].receive) {
			g_assert_cmpint(vib_post_rq(&qp->user, &receive), ==, RI_SUCCESS);
			device_receive(d, 0, &(struct ibv_wc){.status = rows[row].theirs});
		} else {
			g_assert_cmpint(data_post(qp, &region, 1, 0), ==, RI_SUCCESS);
			device_complete(d, rows[row].theirs);
		}
		data_poll(d, 1, vague ? rows[row].ours : rows[row].usual);
	}
}

/* --- copied payload ------------------------------------------------------------------------------ */

/* Only what lies in a region of the domain is copied; the rest the device judges. */
static void
test_inline(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qp = device_qp(d, false);
	struct data_region region RI_AT_END(data_region_free);
	static const struct {
		uint32_t length;
		uint64_t offset;
		uint32_t stag; /* added to the right one */
		bool copied;
	} rows[] = {{64, 0, 0, true},       {65, 0, 0, false},   {0, 0, 0, false},
		    {1, 4095, 0, true},     {2, 4095, 0, false}, {8, 4096, 0, false},
		    {8, 1 << 20, 0, false}, {8, 0, 1, false}};

	data_region_new(d, &region, 0);
	for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
		for (unsigned kept = 0; kept < 2; kept++) {
			region.sge =
				(struct ri_sge){.addr = (uintptr_t)data_memory + rows[i].offset,
						.length = rows[i].length,
						.stag = region.stag + rows[i].stag};
			g_assert_cmpint(
				data_post(qp, &region, i,
					  RI_WR_SIGNALED | (kept != 0 ? RI_WR_COALESCE : 0)),
				==, RI_SUCCESS);
			vib_flush_sq(&qp->user);
			g_assert_cmpint((d->sent[d->sends - 1].wr.send_flags & IBV_SEND_INLINE) !=
						0,
					==, rows[i].copied);
			device_complete(d, IBV_WC_SUCCESS);
			data_poll(d, i, RI_WC_SUCCESS);
		}
	}
	data_qp_end(&qp);
	/* Of a device that has no room, nothing is asked. */
	d->inline_most = 0;
	qp = device_qp(d, false);
	g_assert_cmpuint(qp->user.max_inline, ==, 0);
	data_qp_end(&qp);
}

/* --- datagrams --------------------------------------------------------------------------------------- */

static void
test_datagram(void)
{
	static const uint8_t sender[16] = {[10] = 0xff, 0xff, 192, 0, 2, 9};
	const struct ibv_wc how = {.wc_flags = IBV_WC_GRH, .src_qp = 0x55, .byte_len = 50};
	const struct ri_ah_init init = {.dest = {.family = RI_ADDR_IPV4, .octets = {192, 0, 2, 2}}};
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qp RI_AT_END(data_qp_end) = device_qp(d, true);
	struct ri_wr send = {.wr_id = 1,
			     .opcode = RI_OP_SEND_UD,
			     .flags = RI_WR_SIGNALED,
			     .u.ud = {.qpn = 0x66, .qkey = 0x77}};
	struct ri_recv_wr receive = {.wr_id = 2, .num_sge = 1};
	struct data_region region RI_AT_END(data_region_free);
	struct ri_ah *ah;
	struct ri_wc wc;

	data_region_new(d, &region, 100);
	receive.sgl = &region.sge;
	g_assert_cmpint(vib_ah_ops.create(d->pd, &init, &ah, &send.u.ud.ah), ==, RI_SUCCESS);
	g_assert_cmpint(vib_post_sq(&qp->user, &send), ==, RI_SUCCESS);
	g_assert_cmpuint(d->sent[0].wr.wr.ud.remote_qpn, ==, 0x66);
	g_assert_cmpuint(d->sent[0].wr.wr.ud.remote_qkey, ==, 0x77);
	g_assert_true(d->sent[0].wr.wr.ud.ah == atomic_load(&ah->path)->ah);
	/* It stays for the device until the datagram is gone. */
	g_assert_cmpint(vib_ah_ops.modify(ah, &init), ==, RI_SUCCESS);
	g_assert_cmpint(d->ahs, ==, 2);
	device_complete(d, IBV_WC_SUCCESS);
	data_poll(d, 1, RI_WC_SUCCESS);
	g_assert_cmpint(vib_ah_ops.destroy(ah), ==, RI_SUCCESS);
	g_assert_cmpint(d->ahs, ==, 0);

	g_assert_cmpint(vib_post_rq(&qp->user, &receive), ==, RI_SUCCESS);
	data_memory[20] = 0x45; /* an IPv4 header in the last 20 bytes */
	memcpy(data_memory + 32, sender + 12, 4);
	device_receive(d, 0, &how);
	g_assert_cmpuint(vib_poll_cq(&d->cq->user, &wc, 1), ==, 1);
	g_assert_cmpint(wc.opcode, ==, RI_OP_RECV_UD);
	g_assert_cmpint(wc.flags & RI_WC_GRH, !=, 0);
	g_assert_cmpuint(wc.src_qpn, ==, 0x55);
	g_assert_cmpuint(wc.byte_len, ==, 50);
	g_assert_cmpint(memcmp(wc.src_addr, sender, sizeof(sender)), ==, 0);
	memset(data_memory, 0, sizeof(data_memory));

	/* A handle that is gone: the datagram fails, and the queue pair ends with an event. */
	g_assert_cmpint(vib_post_sq(&qp->user, &send), ==, RI_SUCCESS);
	vth_run(d->vth);
	data_poll(d, 1, RI_WC_LOCAL_QP);
	g_assert_cmpuint(d->cm_events->len, ==, 0);
	g_assert_cmpuint(d->async_events->len, ==, 1);
	g_assert_cmpint(g_array_index(d->async_events, struct ri_async_event, 0).event, ==,
			RI_EVENT_QP_CATASTROPHIC);
}

/* --- too small a limit ------------------------------------------------------------------------------- */

/* A device pins the memory of its queues, too. */
static void
queues_scarce(struct device *d)
{
	struct ri_qp_init init = {.type = RI_QP_RC, .max_sq_wr = 4, .max_rq_wr = 4};
	uint32_t entries = 8, more = 128, stag;
	struct ri_pd *pd;
	struct ri_mw *mw;
	struct ri_cq *cq;
	struct vib_qp *qp;

	d->create_error = d->resize_error = ENOMEM;
	g_assert_cmpint(vib_cq_ops.create(d->context, 2, &entries, &cq, &d->map), ==,
			RI_ERR_RESOURCES);
	g_assert_true(vth_logged(d->vth, "a completion queue cannot be pinned: the limit"));
	g_assert_cmpint(vib_cq_ops.resize(d->cq, &more, &d->map), ==, RI_ERR_RESOURCES);
	g_assert_true(vth_logged(d->vth, "a larger completion queue cannot be pinned"));
	g_assert_cmpint(
		vib_qp_ops.create(d->pd, &init, d->cq, d->cq, NULL, (struct ri_qp **)&qp, &d->map),
		==, RI_ERR_RESOURCES);
	g_assert_true(vth_logged(d->vth, "a queue pair cannot be pinned"));
	/* As many as the device can have. */
	d->create_error = EINVAL;
	g_assert_cmpint(vib_cq_ops.create(d->context, 2, &entries, &cq, &d->map), ==,
			RI_ERR_RESOURCES);
	g_assert_cmpint(vib_pd_ops.create(d->context, &pd), ==, RI_ERR_RESOURCES);
	g_assert_cmpint(vib_mem_ops.mw_alloc(d->pd, RI_MW_NARROW, &mw, &stag), ==,
			RI_ERR_RESOURCES);
	atomic_store(&d->rnic.failed, true);
	g_assert_cmpint(vib_cq_ops.create(d->context, 2, &entries, &cq, &d->map), ==, RI_ERR_FATAL);
	atomic_store(&d->rnic.failed, false);
	d->create_error = d->resize_error = 0;
}

/* What the log says when memory cannot be pinned, and which status the application gets. */
static void
test_pinning(void)
{
	static const struct {
		int error;
		enum ri_status status;
	} rows[] = {{ENOMEM, RI_ERR_RESOURCES},
		    {EPERM, RI_ERR_RESOURCES},
		    {EINVAL, RI_ERR_RESOURCES},
		    {EACCES, RI_ERR_ACCESS},
		    {EFAULT, RI_ERR_ACCESS}};
	const struct ri_mr_init init = {
		.addr = (uintptr_t)data_memory, .length = 64, .access = RI_ACCESS_LOCAL_READ};
	struct device *d RI_AT_END(device_free) = device_new();
	struct rlimit limit;
	struct ri_mr *mr;
	uint32_t stag;

	/* A limit of this process alone, in case there is none. */
	g_assert_cmpint(getrlimit(RLIMIT_MEMLOCK, &limit), ==, 0);
	limit.rlim_cur = MIN(limit.rlim_cur, 8192);
	g_assert_cmpint(setrlimit(RLIMIT_MEMLOCK, &limit), ==, 0);
	for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
		d->reg_error = rows[i].error;
		g_assert_cmpint(vib_mem_ops.mr_reg(d->pd, &init, &mr, &stag), ==, rows[i].status);
	}
	g_assert_true(vth_logged(d->vth, "64 bytes cannot be pinned: the limit of locked memory"));
	d->reg_error = 0;
	queues_scarce(d);
}

/* --- counters -------------------------------------------------------------------------------- */

/* Each post that was taken and each completion that was polled is counted once, whichever way it went. */
static void
test_counters(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qp RI_AT_END(data_qp_end) = device_qp(d, false);
	struct ri_qp_counters posts = {.size = sizeof(posts)}, fewer = {.size = 24};
	struct ri_cq_counters done = {.size = sizeof(done)};
	struct ri_recv_wr receive = {.wr_id = 9};
	struct data_region region RI_AT_END(data_region_free);
	struct ri_wc wc[4];

	vib_user_ops.qp_count(&qp->user, &posts);
	vib_user_ops.qp_count(&qp->user, &fewer);
	vib_user_ops.cq_count(&d->cq->user, &done);
	g_assert_cmpuint(posts.known, ==, RI_COUNTED_POSTS | RI_COUNTED_OCTETS);
	g_assert_cmpuint(fewer.known, ==, 0);
	g_assert_cmpuint(done.known, ==, RI_COUNTED_DONE | RI_COUNTED_OCTETS | RI_COUNTED_ARMINGS);
	data_region_new(d, &region, 1000);
	/* The short way, one that is kept, the one that takes it along, and one that the device refuses. */
	g_assert_cmpint(data_post(qp, &region, 1, RI_WR_SIGNALED), ==, RI_SUCCESS);
	g_assert_cmpint(data_post(qp, &region, 2, RI_WR_SIGNALED | RI_WR_COALESCE), ==, RI_SUCCESS);
	g_assert_cmpint(data_post(qp, &region, 3, RI_WR_SIGNALED), ==, RI_SUCCESS);
	d->refuse = d->sends + 1;
	d->error = EINVAL;
	g_assert_cmpint(data_post(qp, &region, 4, RI_WR_SIGNALED), ==, RI_ERR_UNSUPPORTED);
	g_assert_cmpuint(posts.posts[RI_OP_RDMA_WRITE], ==, 3);
	g_assert_cmpuint(posts.octets, ==, 3000);
	g_assert_cmpint(vib_post_rq(&qp->user, &receive), ==, RI_SUCCESS);
	g_assert_cmpuint(posts.posts[RI_OP_RECV], ==, 1);

	/* One, then two at once. */
	for (int i = 0; i < 3; i++)
		device_complete(d, IBV_WC_SUCCESS);
	data_poll(d, 1, RI_WC_SUCCESS);
	g_assert_cmpuint(vib_poll_cq(&d->cq->user, wc, 4), ==, 2);
	data_poll_none(d);
	g_assert_cmpuint(done.done[RI_WC_SUCCESS], ==, 3);
	g_assert_cmpuint(done.octets, ==, 3000);
	g_assert_cmpint(vib_arm_cq(&d->cq->user, RI_ARM_NEXT, 0), ==, RI_SUCCESS);
	g_assert_cmpuint(done.armings, ==, 1);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ib/data/chain", test_chain);
	g_test_add_func("/ib/data/release", test_release);
	g_test_add_func("/ib/data/refused", test_refused);
	g_test_add_func("/ib/data/refused-unsaid", test_refused_unsaid);
	g_test_add_func("/ib/data/failed", test_failed);
	g_test_add_func("/ib/data/end-of-kept", test_end_of_kept);
	g_test_add_func("/ib/data/closing", test_closing);
	g_test_add_func("/ib/data/closing-behind", test_closing_behind);
	g_test_add_func("/ib/data/vague", test_vague);
	g_test_add_func("/ib/data/inline", test_inline);
	g_test_add_func("/ib/data/datagram", test_datagram);
	g_test_add_func("/ib/data/pinning", test_pinning);
	g_test_add_func("/ib/data/counters", test_counters);
	return g_test_run();
}
