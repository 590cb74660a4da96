/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The short paths of a post and of a poll, which use prepared data, must not change the result:
 * each field of a request and of a completion, every refusal, the order over many wraps of the
 * queue, and reuse of a queue pair. Also tested is what the fast path leaves to the service thread:
 * ends of connections, and requests that wait while the consumer does not poll.
 */
#include <errno.h>
#include <string.h>

#include "vib_cq.h"
#include "vib_device.h"
#include "vib_post.h"
#include "vib_profile.h"

static uint8_t memory[4096];

struct setting {
	struct device *d;
	struct vib_qp *qp;
	struct ri_mr *mr;
	struct ri_mw *mw;
	uint32_t window; /* its STag */
	struct ri_sge pieces[3];
};

static void
setting_new(struct setting *s, uint32_t room)
{
	const struct ri_mr_init init = {.addr = (uintptr_t)memory,
					.length = sizeof(memory),
					.access = RI_ACCESS_LOCAL_READ | RI_ACCESS_LOCAL_WRITE |
						  RI_ACCESS_BIND};
	uint32_t stag;

	s->d = device_new();
	g_assert_cmpint(vib_mem_ops.mr_reg(s->d->pd, &init, &s->mr, &stag), ==, RI_SUCCESS);
	g_assert_cmpint(vib_mem_ops.mw_alloc(s->d->pd, RI_MW_NARROW, &s->mw, &s->window), ==,
			RI_SUCCESS);
	s->qp = device_qp_of(s->d, false, room);
	for (unsigned i = 0; i < G_N_ELEMENTS(s->pieces); i++)
		s->pieces[i] = (struct ri_sge){
			.addr = (uintptr_t)memory + i, .length = 1000 + i, .stag = stag};
}

static void
setting_free(struct setting *s)
{
	g_assert_cmpint(vib_mem_ops.mw_free(s->mw), ==, RI_SUCCESS);
	g_assert_cmpint(vib_qp_ops.destroy((struct ri_qp *)s->qp), ==, RI_SUCCESS);
	g_assert_cmpint(vib_mem_ops.mr_dereg(s->mr), ==, RI_SUCCESS);
	device_free(&s->d);
}

static struct ri_wr
wr_of(const struct setting *s, uint8_t opcode, uint32_t flags, uint64_t id)
{
	return (struct ri_wr){
		.wr_id = id,
		.sgl = s->pieces,
		.num_sge = 1,
		.opcode = opcode,
		.flags = flags,
		.u.remote = {.addr = 0x123456789000 + id, .stag = 0xabc00 + (uint32_t)id}};
}

/* A bind, which takes the odd way and the long one back. */
static struct ri_wr
bind_of(const struct setting *s, uint64_t id)
{
	return (struct ri_wr){.wr_id = id,
			      .opcode = RI_OP_BIND_MW,
			      .flags = RI_WR_SIGNALED,
			      .u.bind = {.mw_stag = s->window + (uint8_t)id,
					 .mr_stag = s->pieces[0].stag,
					 .addr = (uintptr_t)memory,
					 .length = 8,
					 .access = RI_ACCESS_REMOTE_READ}};
}

/* A write, posted by the flags. */
static enum ri_status
write_post(const struct setting *s, uint32_t flags, uint64_t id)
{
	const struct ri_wr wr = wr_of(s, RI_OP_RDMA_WRITE, flags, id);

	return vib_post_sq(&s->qp->user, &wr);
}

static struct ri_wc
poll_one(const struct setting *s)
{
	struct ri_wc wc;

	memset(&wc, 0xa5, sizeof(wc));
	g_assert_cmpuint(vib_poll_cq(&s->d->cq->user, &wc, 1), ==, 1);
	return wc;
}

/* --- fields -------------------------------------------------------------------------------------- */

static unsigned
device_flags(uint32_t flags)
{
	unsigned expected = 0;

	if ((flags & RI_WR_SIGNALED) != 0)
		expected |= IBV_SEND_SIGNALED;
	if ((flags & RI_WR_SOLICITED) != 0)
		expected |= IBV_SEND_SOLICITED;
	if ((flags & RI_WR_READ_FENCE) != 0)
		expected |= IBV_SEND_FENCE;
	return expected;
}

static void
check_request(const struct setting *s, const struct ri_wr *wr, enum ibv_wr_opcode opcode)
{
	const struct device_wr *sent = &s->d->sent[(s->d->sends - 1) % DEVICE_ROOM];

	g_assert_cmpint(sent->wr.opcode, ==, opcode);
	g_assert_cmpuint(sent->wr.send_flags, ==, device_flags(wr->flags));
	g_assert_cmpint(sent->wr.num_sge, ==, 1);
	g_assert_null(sent->wr.next);
	g_assert_cmpuint(sent->sge.addr, ==, s->pieces[0].addr);
	g_assert_cmpuint(sent->sge.length, ==, s->pieces[0].length);
	g_assert_cmpuint(sent->sge.lkey, ==, s->pieces[0].stag);
	if (opcode == IBV_WR_SEND)
		return;
	g_assert_cmpuint(sent->wr.wr.rdma.remote_addr, ==, wr->u.remote.addr);
	g_assert_cmpuint(sent->wr.wr.rdma.rkey, ==, wr->u.remote.stag);
}

static void
check_completion(const struct setting *s, const struct ri_wr *wr)
{
	struct ri_wc wc = poll_one(s);

	g_assert_cmpuint(wc.wr_id, ==, wr->wr_id);
	g_assert_cmpuint(wc.qp_ctx, ==, 7);
	g_assert_cmpuint(wc.byte_len, ==, s->pieces[0].length);
	g_assert_cmpuint(wc.inv_stag, ==, 0);
	g_assert_cmpint(wc.status, ==, RI_WC_SUCCESS);
	g_assert_cmpint(wc.opcode, ==, wr->opcode);
	g_assert_cmpint(wc.flags, ==, (wr->flags & RI_WR_NOTIFY) != 0 ? RI_WC_SOLICITED : 0);
	g_assert_cmpint(wc.reserved, ==, 0);
	g_assert_cmpuint(wc.detail, ==, 0);
}

/* Each opcode with each combination of flags, of a long and of a copied payload. */
static void
test_fields(void)
{
	static const struct {
		uint8_t ours;
		enum ibv_wr_opcode theirs;
	} opcodes[] = {{RI_OP_SEND, IBV_WR_SEND},
		       {RI_OP_RDMA_WRITE, IBV_WR_RDMA_WRITE},
		       {RI_OP_RDMA_READ, IBV_WR_RDMA_READ}};
	struct setting s RI_AT_END(setting_free);
	uint64_t id = 1;

	setting_new(&s, 32);
	for (unsigned i = 0; i < G_N_ELEMENTS(opcodes); i++) {
		for (uint32_t flags = 0; flags < 16; flags++, id++) {
			struct ri_wr wr = wr_of(&s, opcodes[i].ours, flags, id);

			g_assert_cmpint(vib_post_sq(&s.qp->user, &wr), ==, RI_SUCCESS);
			check_request(&s, &wr, opcodes[i].theirs);
			device_complete(s.d, IBV_WC_SUCCESS);
			if ((flags & RI_WR_SIGNALED) != 0)
				check_completion(&s, &wr);
		}
	}
}

/* What the device says of a request's flags means nothing: it may be of an earlier use of that memory. */
static void
test_flags_of_request(void)
{
	struct setting s RI_AT_END(setting_free);
	struct ri_wc wc;

	setting_new(&s, 32);
	g_assert_cmpint(write_post(&s, RI_WR_SIGNALED, 1), ==, RI_SUCCESS);
	device_complete(s.d, IBV_WC_SUCCESS);
	s.d->wc[0].wc_flags = IBV_WC_WITH_INV;
	s.d->wc[0].invalidated_rkey = 0x4455;
	wc = poll_one(&s);
	g_assert_cmpint(wc.flags, ==, 0);
	g_assert_cmpuint(wc.inv_stag, ==, 0);
}

static void
test_receive(void)
{
	const struct ibv_wc how = {.byte_len = 345};
	struct setting s RI_AT_END(setting_free);
	struct ri_wc wc;

	setting_new(&s, 32);
	/* Three times around the queue. */
	for (uint64_t i = 0; i < 24; i++) {
		const struct ri_recv_wr wr = {.wr_id = i + 1, .sgl = s.pieces, .num_sge = 1};

		g_assert_cmpint(vib_post_rq(&s.qp->user, &wr), ==, RI_SUCCESS);
		device_receive(s.d, (unsigned)i, &how);
		wc = poll_one(&s);
		g_assert_cmpuint(wc.wr_id, ==, i + 1);
		g_assert_cmpuint(wc.byte_len, ==, 345);
		g_assert_cmpint(wc.opcode, ==, RI_OP_RECV);
		g_assert_cmpint(wc.flags, ==, RI_WC_RECEIVE | RI_WC_SOLICITED);
	}
}

/* --- refusals ------------------------------------------------------------------------------------- */

static void
test_refusals(void)
{
	struct setting s RI_AT_END(setting_free);

	setting_new(&s, 4);
	const struct {
		uint8_t opcode;
		uint16_t num_sge;
		uint32_t flags;
		enum ri_status status;
	} rows[] = {{RI_OP_NONE, 1, 0, RI_ERR_UNSUPPORTED},
		    {RI_OP_RECV, 1, 0, RI_ERR_UNSUPPORTED},
		    {RI_OP_SEND_UD, 1, 0, RI_ERR_UNSUPPORTED},
		    {RI_OP_COUNT, 1, 0, RI_ERR_UNSUPPORTED},
		    {0x11, 1, 0, RI_ERR_UNSUPPORTED}, /* its low bits are those of a Send */
		    {0xff, 1, 0, RI_ERR_UNSUPPORTED},
		    {RI_OP_RDMA_WRITE, 3, 0, RI_ERR_LIMIT},
		    {RI_OP_RDMA_READ, 2, 0, RI_ERR_LIMIT},
		    {RI_OP_RDMA_WRITE, 0x101, 0, RI_ERR_LIMIT},
		    {RI_OP_RDMA_WRITE, 1, RI_WR_LOCAL_FENCE, RI_ERR_UNSUPPORTED},
		    {RI_OP_RDMA_WRITE, 1, RI_WR_INVALIDATE, RI_ERR_UNSUPPORTED}};

	for (unsigned round = 0; round < 8; round++) {
		for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
			struct ri_wr wr = wr_of(&s, rows[i].opcode, rows[i].flags, 99);

			wr.num_sge = rows[i].num_sge;
			g_assert_cmpint(vib_post_sq(&s.qp->user, &wr), ==, rows[i].status);
		}
		/* They have taken no room. */
		for (uint64_t id = 1; id <= 4; id++)
			g_assert_cmpint(write_post(&s, RI_WR_SIGNALED, id), ==, RI_SUCCESS);
		g_assert_cmpint(write_post(&s, RI_WR_SIGNALED, 5), ==, RI_ERR_QUEUE_FULL);
		for (uint64_t id = 1; id <= 4; id++) {
			device_complete(s.d, IBV_WC_SUCCESS);
			g_assert_cmpuint(poll_one(&s).wr_id, ==, id);
		}
	}
	g_assert_cmpuint(s.d->sends, ==, 32);
}

/* The device refuses one: its slot is free again, and the next request takes it. */
static void
test_device_refuses(void)
{
	struct setting s RI_AT_END(setting_free);

	setting_new(&s, 4);
	for (uint64_t round = 0; round < 6; round++) {
		g_assert_cmpint(write_post(&s, RI_WR_SIGNALED, 3 * round), ==, RI_SUCCESS);
		s.d->refuse = s.d->sends + 1;
		s.d->error = ENOMEM;
		g_assert_cmpint(write_post(&s, RI_WR_SIGNALED, 3 * round + 1), ==,
				RI_ERR_QUEUE_FULL);
		s.d->error = EINVAL;
		g_assert_cmpint(write_post(&s, RI_WR_SIGNALED, 3 * round + 1), ==,
				RI_ERR_UNSUPPORTED);
		s.d->refuse = 0;
		g_assert_cmpint(write_post(&s, RI_WR_SIGNALED, 3 * round + 2), ==, RI_SUCCESS);
		device_complete(s.d, IBV_WC_SUCCESS);
		device_complete(s.d, IBV_WC_SUCCESS);
		g_assert_cmpuint(poll_one(&s).wr_id, ==, 3 * round);
		g_assert_cmpuint(poll_one(&s).wr_id, ==, 3 * round + 2);
	}
}

/* --- wraps -------------------------------------------------------------------------------------------- */

/* Post something by chance; true: it was taken. */
static bool
post_by_chance(const struct setting *s, GRand *rand, uint64_t id)
{
	struct ri_wr wr = wr_of(s, RI_OP_RDMA_WRITE, RI_WR_SIGNALED, id);

	switch (g_rand_int_range(rand, 0, 8)) {
	case 0:
		wr.flags |= RI_WR_COALESCE;
		break;
	case 1:
		wr.num_sge = 2;
		break;
	case 2:
		wr.num_sge = 0;
		break;
	case 3:
		wr = bind_of(s, id);
		break;
	default:
		break;
	}
	return vib_post_sq(&s->qp->user, &wr) == RI_SUCCESS;
}

/* Every way of a post in turn, at each place of the queue: all complete, in order, and a full queue is found full. */
static void
test_wraps(gconstpointer data)
{
	uint32_t room = GPOINTER_TO_UINT(data);
	g_autoptr(GRand) rand = g_rand_new_with_seed(room);
	uint64_t posted = 0, polled = 0;
	struct setting s;

	setting_new(&s, room);
	while (polled < 2000) {
		bool taken;

		if (g_rand_int_range(rand, 0, 5) < 3) {
			taken = post_by_chance(&s, rand, posted);
			g_assert_cmpint(taken, ==, posted - polled < room);
			posted += taken;
			continue;
		}
		vib_flush_sq(&s.qp->user);
		g_assert_cmpuint(s.d->sends, ==, posted);
		for (int i = g_rand_int_range(rand, 0, 4); i > 0 && polled < posted; i--) {
			device_complete(s.d, IBV_WC_SUCCESS);
			g_assert_cmpuint(poll_one(&s).wr_id, ==, polled++);
		}
	}
	while (polled < posted) {
		vib_flush_sq(&s.qp->user);
		device_complete(s.d, IBV_WC_SUCCESS);
		g_assert_cmpuint(poll_one(&s).wr_id, ==, polled++);
	}
	setting_free(&s);
}

/* Several completions in one poll, some of them of the long way, and a poll for more than the device is asked for. */
static void
test_many(void)
{
	struct ri_wc wc[40];
	struct setting s RI_AT_END(setting_free);

	setting_new(&s, 32);
	for (unsigned asked = 1; asked <= G_N_ELEMENTS(wc); asked++) {
		unsigned got = 0;

		for (uint64_t id = 0; id < 32; id++) {
			struct ri_wr wr = wr_of(&s, RI_OP_RDMA_WRITE, RI_WR_SIGNALED, id);

			if (id % 5 == 0)
				wr = bind_of(&s, id);
			g_assert_cmpint(vib_post_sq(&s.qp->user, &wr), ==, RI_SUCCESS);
			device_complete(s.d, IBV_WC_SUCCESS);
		}
		while (got < 32) {
			uint32_t n = vib_poll_cq(&s.d->cq->user, wc, asked);

			g_assert_cmpuint(n, >, 0);
			g_assert_cmpuint(n, <=, asked);
			for (uint32_t i = 0; i < n; i++)
				g_assert_cmpuint(wc[i].wr_id, ==, got++);
			/* What a count has staged comes in its turn. */
			if (got % 3 == 0)
				g_assert_cmpuint(vib_cq_depth(&s.d->cq->user), ==, 32 - got);
		}
		g_assert_cmpuint(vib_poll_cq(&s.d->cq->user, wc, asked), ==, 0);
	}
}

/* --- a larger queue --------------------------------------------------------------------------------- */

/* What is staged moves along, in order; what fails changes nothing; a queue gets no smaller. */
static void
test_resize(void)
{
	uint64_t posted = 0, polled = 0;
	uint32_t entries;
	struct ri_map map;
	struct setting s RI_AT_END(setting_free);

	setting_new(&s, 32);
	/* Stage and poll once, so that what is staged does not begin at the ring's. */
	for (uint32_t size = 64; size < 1024; size *= 2) {
		for (unsigned i = 0; i < 20; i++, posted++) {
			g_assert_cmpint(write_post(&s, RI_WR_SIGNALED, posted), ==, RI_SUCCESS);
			device_complete(s.d, IBV_WC_SUCCESS);
		}
		g_assert_cmpuint(vib_cq_depth(&s.d->cq->user), ==, 20);
		for (unsigned i = 0; i < 7; i++)
			g_assert_cmpuint(poll_one(&s).wr_id, ==, polled++);
		entries = 12;
		g_assert_cmpint(vib_cq_ops.resize(s.d->cq, &entries, &map), ==, RI_ERR_BUSY);
		entries = 13;
		g_assert_cmpint(vib_cq_ops.resize(s.d->cq, &entries, &map), ==, RI_SUCCESS);
		g_assert_cmpuint(entries, ==, size);
		entries = 2 * size;
		s.d->resize_error = ENOMEM;
		g_assert_cmpint(vib_cq_ops.resize(s.d->cq, &entries, &map), ==, RI_ERR_RESOURCES);
		s.d->resize_error = 0;
		g_assert_cmpint(s.d->cqe, ==, size);
		g_assert_cmpint(vib_cq_ops.resize(s.d->cq, &entries, &map), ==, RI_SUCCESS);
		g_assert_cmpint(s.d->cqe, ==, 2 * size);
		g_assert_true(map.addr == (uintptr_t)&s.d->cq->user);
		while (polled < posted)
			g_assert_cmpuint(poll_one(&s).wr_id, ==, polled++);
	}
	entries = 1025;
	g_assert_cmpint(vib_cq_ops.resize(s.d->cq, &entries, &map), ==, RI_ERR_LIMIT);
}

/* --- reuse -------------------------------------------------------------------------------------------- */

static const struct ri_qp_attr idle = {.state = RI_QPS_IDLE};

static void
again(const struct setting *s)
{
	struct ri_cm_event up = {.kind = RI_CM_ESTABLISHED};

	g_assert_cmpint(vib_qp_ops.modify((struct ri_qp *)s->qp, &idle, RI_QP_ATTR_STATE), ==,
			RI_SUCCESS);
	g_assert_cmpint(write_post(s, 0, 0), ==, RI_ERR_INVALID_STATE);
	pthread_mutex_lock(&s->qp->lock);
	g_assert_cmpint(vib_qp_begin(s->qp), ==, RI_SUCCESS);
	pthread_mutex_unlock(&s->qp->lock);
	g_assert_cmpint(write_post(s, 0, 0), ==, RI_ERR_INVALID_STATE);
	g_assert_true(vib_qp_established(s->qp, &up));
}

/*
 * The connection ends with requests at every position of the queue: all must complete as flushed,
 * in order, and the next connection continues at that position. A device whose queue pairs cannot
 * be reused gives a new one for each connection.
 */
static void
reuse(const struct vib_quirk *quirk)
{
	const struct ri_qp_attr error = {.state = RI_QPS_ERROR};
	struct setting s RI_AT_END(setting_free);

	setting_new(&s, 6);
	s.d->rnic.quirk = quirk;
	for (unsigned life = 0; life < 12; life++) {
		uint32_t former;

		for (uint64_t id = 0; id < life % 7; id++)
			g_assert_cmpint(write_post(&s, id % 3 == 2 ? RI_WR_COALESCE : 0, id), ==,
					RI_SUCCESS);
		g_assert_cmpint(vib_qp_ops.modify((struct ri_qp *)s.qp, &error, RI_QP_ATTR_STATE),
				==, RI_SUCCESS);
		vth_run(s.d->vth);
		for (uint64_t id = 0; id < life % 7; id++) {
			struct ri_wc wc = poll_one(&s);

			g_assert_cmpuint(wc.wr_id, ==, id);
			g_assert_cmpint(wc.status, ==, RI_WC_FLUSHED);
		}
		g_assert_cmpint(write_post(&s, RI_WR_SIGNALED, 77), ==, RI_SUCCESS);
		g_assert_cmpint(poll_one(&s).status, ==, RI_WC_FLUSHED);
		former = s.qp->user.qpn;
		again(&s);
		g_assert_cmpint(s.qp->user.qpn == former, ==, !quirk->no_reuse);
		g_assert_cmpuint(s.qp->user.qpn, ==, s.qp->user.qp->qp_num);
	}
	g_assert_cmpint(s.d->qps, ==, 1);
	g_assert_cmpint(vib_qp_ops.modify((struct ri_qp *)s.qp, &error, RI_QP_ATTR_STATE), ==,
			RI_SUCCESS);
	vth_run(s.d->vth);
	if (quirk->no_reuse) {
		s.d->create_error = ENOMEM;
		g_assert_cmpint(vib_qp_ops.modify((struct ri_qp *)s.qp, &idle, RI_QP_ATTR_STATE),
				==, RI_ERR_RESOURCES);
		g_assert_cmpint(s.qp->state, ==, RI_QPS_ERROR);
		s.d->create_error = 0;
		again(&s);
	}
}

static void
test_reuse(void)
{
	reuse(&(const struct vib_quirk){.driver = ""});
	reuse(&(const struct vib_quirk){.driver = "siw", .no_reuse = true});
}

/* --- what the service thread does ---------------------------------------------------------------------- */

static struct device *watched;
static unsigned told;

/* The host may make a system call here, so the lock of a queue is not owned: its waiters spin. */
static void
task_run(void *self, struct ri_task *task)
{
	g_assert_false(vsw_lock_is_owned(&watched->cq->user.lock));
	told++;
	vth_host(watched->vth)->task_run(self, task);
}

/* However a failed completion is found, the end of its connection is begun once, and without the lock. */
static void
test_fault_unlocked(gconstpointer data)
{
	const char *how = data;
	struct ri_host host;
	struct setting s RI_AT_END(setting_free);

	setting_new(&s, 8);
	host = *vth_host(s.d->vth);
	host.task_run = task_run;
	s.qp->user.host = &host;
	s.d->cq->user.host = &host;
	watched = s.d;
	told = 0;
	g_assert_cmpint(write_post(&s, RI_WR_SIGNALED, 1), ==, RI_SUCCESS);
	g_assert_cmpint(write_post(&s, RI_WR_SIGNALED, 2), ==, RI_SUCCESS);
	device_complete(s.d, IBV_WC_REM_ACCESS_ERR);
	if (strcmp(how, "poll") == 0)
		g_assert_cmpint(poll_one(&s).status, ==, RI_WC_REMOTE_ACCESS);
	else if (strcmp(how, "depth") == 0)
		g_assert_cmpuint(vib_cq_depth(&s.d->cq->user), ==, 2);
	else if (strcmp(how, "arm") == 0)
		g_assert_cmpint(vib_arm_cq(&s.d->cq->user, RI_ARM_NEXT, 0), ==, RI_ERR_NOT_EMPTY);
	else
		vib_cq_tell(s.d->cq);
	g_assert_cmpuint(told, ==, 1);
	g_assert_cmpuint(atomic_load(&s.qp->user.inside), ==, 0);
	vth_run(s.d->vth);
	g_assert_cmpuint(s.d->cm_events->len, ==, 1);
	s.qp->user.host = vth_host(s.d->vth);
	s.d->cq->user.host = vth_host(s.d->vth);
}

/* A request that is kept back leaves after 500 microseconds, without any further post or poll [IT 7.2.2]. */
static void
test_late(void)
{
	struct setting s RI_AT_END(setting_free);

	setting_new(&s, 8);
	for (unsigned round = 0; round < 3; round++) {
		g_assert_cmpint(write_post(&s, RI_WR_COALESCE, 1), ==, RI_SUCCESS);
		vth_advance(s.d->vth, 100 * 1000);
		g_assert_cmpint(write_post(&s, RI_WR_SIGNALED | RI_WR_COALESCE, 2), ==, RI_SUCCESS);
		vth_advance(s.d->vth, 300 * 1000);
		g_assert_cmpuint(s.d->sends, ==, 2 * round);
		vth_advance(s.d->vth, 100 * 1000);
		g_assert_cmpuint(s.d->sends, ==, 2 * round + 2);
		g_assert_cmpuint(s.d->calls, ==, round + 1);
		device_complete(s.d, IBV_WC_SUCCESS);
		device_complete(s.d, IBV_WC_SUCCESS);
		g_assert_cmpuint(poll_one(&s).wr_id, ==, 2);
	}
	/* A timer may run while the queue pair and the queue are destroyed. */
	g_assert_cmpint(write_post(&s, RI_WR_COALESCE, 3), ==, RI_SUCCESS);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ib/short/fields", test_fields);
	g_test_add_func("/ib/short/flags-of-request", test_flags_of_request);
	g_test_add_func("/ib/short/receive", test_receive);
	g_test_add_func("/ib/short/refusals", test_refusals);
	g_test_add_func("/ib/short/device-refuses", test_device_refuses);
	g_test_add_data_func("/ib/short/wraps/1", GUINT_TO_POINTER(1), test_wraps);
	g_test_add_data_func("/ib/short/wraps/5", GUINT_TO_POINTER(5), test_wraps);
	g_test_add_data_func("/ib/short/wraps/32", GUINT_TO_POINTER(32), test_wraps);
	g_test_add_func("/ib/short/many", test_many);
	g_test_add_func("/ib/short/resize", test_resize);
	g_test_add_func("/ib/short/reuse", test_reuse);
	g_test_add_data_func("/ib/short/fault-unlocked/poll", "poll", test_fault_unlocked);
	g_test_add_data_func("/ib/short/fault-unlocked/depth", "depth", test_fault_unlocked);
	g_test_add_data_func("/ib/short/fault-unlocked/arm", "arm", test_fault_unlocked);
	g_test_add_data_func("/ib/short/fault-unlocked/tell", "tell", test_fault_unlocked);
	g_test_add_func("/ib/short/late", test_late);
	return g_test_run();
}
