/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The libibverbs of vib_device.h, the parts of the provider that a data path does without, and what a test does with it. */
#include "vib_device.h"

#include <errno.h>
#include <net/if.h>
#include <stdatomic.h>
#include <string.h>

#include "vib_profile.h"
#include "vib_qp_end.h"

#define INIT_FAILURES_MOST 100 /* after so many somebody tries for ever */

struct device *device_of_process;

static const uint8_t own_gid[16] = {[10] = 0xff, 0xff, 192, 0, 2, 1};

/* --- libibverbs -------------------------------------------------------------------------------- */

int
device_verb(void)
{
	struct device *d = device_of_process;

	return atomic_fetch_add(&d->verbs_made, 1) + 1 == d->verb_refused ? ENOMEM : 0;
}

/* Of what is made: the error that the test has set, or that of its turn. */
static int
create_verb(void)
{
	int turn = device_verb();

	return device_of_process->create_error != 0 ? device_of_process->create_error : turn;
}

static void
post_happens(struct device *d)
{
	void (*in_post)(struct device * device) = d->in_post;

	d->in_post = NULL;
	if (in_post != NULL)
		in_post(d);
}

static void
inline_copy(struct device_wr *to, const struct ibv_send_wr *wr)
{
	to->inlined_length = 0;
	for (int i = 0; (wr->send_flags & IBV_SEND_INLINE) != 0 && i < wr->num_sge; i++) {
		uint32_t length = wr->sg_list[i].length;

		g_assert_cmpuint(to->inlined_length + length, <=, sizeof(to->inlined));
		if (length != 0)
			memcpy(to->inlined + to->inlined_length,
			       (const void *)(uintptr_t)wr->sg_list[i].addr, length);
		to->inlined_length += length;
	}
}

static int
post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct device *d = device_of_process;

	int turn = device_verb();

	(void)qp;
	d->calls++;
	post_happens(d);
	*bad = wr;
	if (turn != 0)
		return turn;
	for (; wr != NULL; wr = wr->next) {
		struct device_wr *to = &d->sent[d->sends % DEVICE_ROOM];

		if (d->refuse != 0 && d->sends + 1 >= d->refuse && !d->queues) {
			*bad = d->unsaid ? NULL : wr;
			return d->error;
		}
		to->wr = *wr;
		if (wr->num_sge > 0)
			to->sge = wr->sg_list[0];
		if (d->copies)
			inline_copy(to, wr);
		if (wr->opcode == IBV_WR_BIND_MW)
			to->mw_rkey = wr->bind_mw.mw->rkey;
		d->sends++;
	}
	*bad = NULL;
	return d->queues ? d->error : 0;
}

static int
post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct device *d = device_of_process;

	int turn = device_verb();

	(void)qp;
	post_happens(d);
	if (d->recv_error != 0 || turn != 0) {
		*bad = wr;
		return d->recv_error != 0 ? d->recv_error : turn;
	}
	d->received[d->recvs++ % DEVICE_ROOM] = wr->wr_id;
	d->received_sges = wr->num_sge;
	return 0;
}

static int
poll_cq(struct ibv_cq *cq, int room, struct ibv_wc *wc)
{
	struct device *d = device_of_process;
	unsigned count = d->completions < (unsigned)room ? d->completions : (unsigned)room;

	(void)cq;
	memcpy(wc, d->wc, count * sizeof(*wc));
	d->completions -= count;
	memmove(d->wc, d->wc + count, d->completions * sizeof(*wc));
	return (int)count;
}

static int
req_notify_cq(struct ibv_cq *cq, int solicited)
{
	struct device *d = device_of_process;
	void (*in_notify)(struct device * device) = d->in_notify;

	(void)cq;
	d->in_notify = NULL;
	d->watched = d->watched || solicited != 0;
	if (in_notify != NULL)
		in_notify(d);
	return 0;
}

static struct ibv_mw *
alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ibv_mw *mw;

	errno = create_verb();
	if (errno != 0)
		return NULL;
	mw = g_new0(struct ibv_mw, 1);
	mw->context = pd->context;
	mw->pd = pd;
	mw->type = type;
	mw->rkey = ++device_of_process->last_key << 8;
	device_of_process->windows++;
	return mw;
}

/* As the libraries have it: the STag is the next one, and noted when the bind is posted. */
static int
bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct ibv_send_wr *bad, wr = {.wr_id = bind->wr_id,
				       .opcode = IBV_WR_BIND_MW,
				       .send_flags = bind->send_flags,
				       .bind_mw = {.mw = mw,
						   .rkey = ibv_inc_rkey(mw->rkey),
						   .bind_info = bind->bind_info}};
	int error = post_send(qp, &wr, &bad);

	g_assert_nonnull(bind->bind_info.mr); /* some would follow the pointer */
	if (error == 0)
		mw->rkey = wr.bind_mw.rkey;
	return error;
}

static int
dealloc_mw(struct ibv_mw *mw)
{
	device_of_process->windows--;
	g_free(mw);
	return 0;
}

struct ibv_pd *
ibv_alloc_pd(struct ibv_context *context)
{
	struct ibv_pd *pd;

	errno = create_verb();
	if (errno != 0)
		return NULL;
	pd = g_new0(struct ibv_pd, 1);
	pd->context = context;
	device_of_process->pds++;
	return pd;
}

int
ibv_dealloc_pd(struct ibv_pd *pd)
{
	device_of_process->pds--;
	g_free(pd);
	return 0;
}

struct ibv_cq *
ibv_create_cq(struct ibv_context *context, int cqe, void *ctx, struct ibv_comp_channel *channel,
	      int vector)
{
	struct ibv_cq *cq;

	(void)channel;
	(void)vector;
	g_assert_cmpint(cqe, >, 0);
	errno = create_verb();
	if (errno != 0)
		return NULL;
	cq = g_new0(struct ibv_cq, 1);
	device_of_process->cqe = cqe;
	cq->cqe = cqe - device_of_process->cqe_less;
	cq->context = context;
	cq->cq_context = ctx;
	device_of_process->cqs++;
	return cq;
}

int
ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	int turn = device_verb(), error = device_of_process->resize_error;

	(void)cq;
	if (error == 0 && turn == 0)
		device_of_process->cqe = cqe;
	return error != 0 ? error : turn;
}

int
ibv_destroy_cq(struct ibv_cq *cq)
{
	if (device_verb() != 0)
		return EBUSY;
	if (device_of_process->in_cq_destroy != NULL)
		device_of_process->in_cq_destroy();
	device_of_process->cqs--;
	g_free(cq);
	return 0;
}

struct ibv_qp *
ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct ibv_qp *qp;

	errno = init->cap.max_inline_data > device_of_process->inline_most ? EINVAL : create_verb();
	if (errno != 0)
		return NULL;
	qp = g_new0(struct ibv_qp, 1);
	qp->context = pd->context;
	qp->pd = pd;
	qp->qp_context = init->qp_context;
	qp->qp_type = device_of_process->type = init->qp_type;
	qp->qp_num = device_of_process->next_qpn++;
	if (device_of_process->inline_lies)
		init->cap.max_inline_data = UINT32_MAX;
	if (device_of_process->inline_short)
		init->cap.max_inline_data /= 2;
	device_of_process->qps++;
	return qp;
}

/* The error state flushes what is not completed. */
int
ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct device *d = device_of_process;

	int turn = device_verb();

	(void)qp;
	if (d->gone || turn != 0)
		return d->gone ? EIO : turn;
	if ((mask & IBV_QP_STATE) != 0 && attr->qp_state == IBV_QPS_INIT && d->init_error != 0) {
		g_assert_cmpuint(d->init_failures++, <, INIT_FAILURES_MOST);
		return d->init_error;
	}
	if ((mask & IBV_QP_STATE) != 0 && attr->qp_state == IBV_QPS_INIT) {
		d->inits++;
		d->init_port = attr->port_num;
	}
	d->moved = *attr;
	d->moved_mask = mask;
	if ((mask & IBV_QP_STATE) != 0 &&
	    (attr->qp_state == IBV_QPS_RTR || attr->qp_state == IBV_QPS_RTS)) {
		void (*in_move)(struct device * device) = d->in_move;

		d->in_move = NULL;
		if (in_move != NULL)
			in_move(d);
		return attr->qp_state == IBV_QPS_RTR ? d->rtr_error : d->rts_error;
	}
	if ((mask & IBV_QP_STATE) == 0 || attr->qp_state != IBV_QPS_ERR)
		return 0;
	while (d->done < d->sends)
		device_complete(d, IBV_WC_WR_FLUSH_ERR);
	for (unsigned i = 0; d->flushes_receives && i < d->recvs; i++)
		device_receive(d, i, &(struct ibv_wc){.status = IBV_WC_WR_FLUSH_ERR});
	return 0;
}

int
ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init)
{
	(void)qp;
	(void)mask;
	(void)init;
	attr->qp_state = device_of_process->in_error ? IBV_QPS_ERR : IBV_QPS_RTS;
	return 0;
}

/* The library waits here until events are acknowledged, whose handlers take the lock of the queue pair. */
int
ibv_destroy_qp(struct ibv_qp *qp)
{
	struct vib_qp *owner = qp->qp_context;

	if (qp->qp_type == IBV_QPT_UD)
		g_assert_cmpint(device_of_process->groups, ==, 0); /* the kernel would refuse it */
	g_assert_cmpint(pthread_mutex_trylock(&owner->lock), ==, 0);
	g_assert_cmpint(pthread_mutex_unlock(&owner->lock), ==, 0);
	if (device_of_process->in_qp_destroy != NULL)
		device_of_process->in_qp_destroy(device_of_process);
	device_of_process->in_qp_destroy = NULL;
	device_of_process->qps--;
	g_free(qp);
	return 0;
}

const char *
ibv_wc_status_str(enum ibv_wc_status status)
{
	return status == IBV_WC_RETRY_EXC_ERR    ? "the retries are over"
	       : status == IBV_WC_REM_ACCESS_ERR ? "remote access error"
						 : "another error";
}

int
ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	struct device *d = device_of_process;

	g_assert_cmpint(qp->qp_type, ==, IBV_QPT_UD);
	g_assert_cmpuint(lid, ==, 0);
	int turn = device_verb();

	if (d->mcast_error != 0 || turn != 0)
		return d->mcast_error != 0 ? d->mcast_error : turn;
	d->groups++;
	d->group = *gid;
	return 0;
}

int
ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	struct device *d = device_of_process;

	g_assert_cmpint(qp->qp_type, ==, IBV_QPT_UD);
	g_assert_cmpuint(lid, ==, 0);
	d->groups--;
	d->group = *gid;
	return d->mcast_error;
}

/* The loopback interface: it exists on every host, and multicast groups can be joined there. */
uint32_t
vib_port_interface(const struct ri_rnic *rnic, uint32_t port)
{
	(void)rnic;
	g_assert_cmpuint(port, ==, 0);
	return device_of_process->no_interface ? 0 : if_nametoindex("lo");
}

struct ibv_ah *
ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct device *d = device_of_process;
	struct device_ah *ah;
	bool own = attr->grh.dgid.raw[15] == own_gid[15];
	int error;

	g_assert_cmpint(attr->is_global, ==, 1);
	g_assert_cmpint(attr->grh.sgid_index, ==, 1);
	pthread_mutex_lock(&d->ah_lock);
	while (d->ah_held != 0 && attr->grh.dgid.raw[15] == d->ah_held)
		pthread_cond_wait(&d->ah_told, &d->ah_lock);
	error = own ? 0 : d->ah_error;
	pthread_mutex_unlock(&d->ah_lock);
	if (error == 0)
		error = device_verb();
	errno = error;
	if (error != 0)
		return NULL;
	ah = g_new0(struct device_ah, 1);
	ah->ah.context = pd->context;
	ah->ah.pd = pd;
	ah->dest = attr->grh.dgid;
	d->ahs++;
	return &ah->ah;
}

void
device_neighbour(struct device *d, int error)
{
	pthread_mutex_lock(&d->ah_lock);
	d->ah_error = error;
	d->ah_held = 0;
	pthread_cond_broadcast(&d->ah_told);
	pthread_mutex_unlock(&d->ah_lock);
}

struct start {
	void (*run)(void *arg);
	void *arg;
};

static void *
start_run(void *arg)
{
	struct start start = *(struct start *)arg;

	g_free(arg);
	start.run(start.arg);
	return NULL;
}

int
vib_call_start(void (*run)(void *arg), void *arg)
{
	struct start *start;
	pthread_t thread;

	if (device_of_process->thread_error != 0)
		return device_of_process->thread_error;
	if (!device_of_process->threads) {
		run(arg);
		return 0;
	}
	start = g_new(struct start, 1);
	*start = (struct start){.run = run, .arg = arg};
	g_assert_cmpint(pthread_create(&thread, NULL, start_run, start), ==, 0);
	return pthread_detach(thread);
}

int
ibv_destroy_ah(struct ibv_ah *ah)
{
	device_of_process->ahs--;
	g_free(ah);
	return 0;
}

#undef ibv_query_port
int
ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	struct ibv_port_attr own = {.gid_tbl_len = 2,
				    .link_layer = device_of_process->ethernet
							  ? IBV_LINK_LAYER_ETHERNET
							  : IBV_LINK_LAYER_INFINIBAND};

	(void)context;
	(void)port;
	memcpy(attr, &own, offsetof(struct ibv_port_attr, port_cap_flags2));
	return 0;
}

/* Two GIDs: the address 192.0.2.1, first of version 1 of RoCE, then of version 2. */
int
_ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index,
		  struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
	(void)context;
	(void)flags;
	g_assert_cmpuint(port, >=, 1);
	g_assert_cmpuint(port, <=, device_of_process->rnic.attr.num_ports);
	memset(entry, 0, size);
	memcpy(entry->gid.raw, own_gid, sizeof(own_gid));
	entry->gid_type = index == 1 ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1;
	return 0;
}

/* --- the rest of the provider -------------------------------------------------------------------- */

enum ri_status
vib_cm_close_qp(struct vib_qp *qp)
{
	(void)qp;
	return RI_SUCCESS;
}

void
vib_cm_abort(struct vib_qp *qp)
{
	(void)qp;
	device_of_process->aborts++;
}

void
vib_cm_forget(struct vib_qp *qp)
{
	(void)qp;
}

bool
vib_cm_in_time_wait(struct vib_qp *qp)
{
	(void)qp;
	return false;
}

/* Unless a test has vib_events.c. */
__attribute__((weak)) void
vib_raise(struct ri_rnic *rnic, uint32_t event, uint32_t object, uint64_t ctx)
{
	const struct ri_async_event out = {.event = event, .object = object, .ctx = ctx};

	rnic->upcalls->async_event(rnic->upcalls->self, &out);
}

/* --- for tests ------------------------------------------------------------------------------------- */

static void
on_cq_event(void *self, uint64_t ctx)
{
	(void)ctx;
	((struct device *)self)->cq_events++;
}

static void
on_cm_event(void *self, const struct ri_cm_event *event)
{
	g_array_append_vals(((struct device *)self)->cm_events, event, 1);
}

static void
on_async_event(void *self, const struct ri_async_event *event)
{
	g_array_append_vals(((struct device *)self)->async_events, event, 1);
}

static void
rnic_fill(struct device *d)
{
	static const struct vib_quirk no_quirk = {.driver = ""};
	struct ri_rnic_attr *attr = &d->rnic.attr;

	d->rnic.host = vth_host(d->vth);
	d->rnic.upcalls = &d->upcalls;
	d->rnic.verbs = &d->verbs;
	d->rnic.quirk = &no_quirk;
	pthread_mutex_init(&d->rnic.lock, NULL);
	pthread_mutex_init(&d->rnic.ah_lock, NULL);
	pthread_cond_init(&d->rnic.ah_idle, NULL);
	vib_list_init(&d->rnic.contexts);
	vib_keys_init(&d->rnic.keys);
	attr->num_ports = 1;
	attr->max_cqe = 1024;
	attr->max_sq_wr = attr->max_rq_wr = 64;
	attr->max_send_sge = attr->max_recv_sge = attr->max_write_sge = attr->max_read_sge = 4;
	attr->max_mr_length = 1 << 30;
	attr->dmabuf = true;
	attr->inline_data = true;
	attr->max_inline = 64;
	attr->immediate_size = 4;
	attr->multicast = true;
	attr->cm_number = true;
	attr->iova = true;
	attr->cm_forms = RI_CM_ADDRESS | RI_CM_PEER;
	attr->uc = true;
	attr->max_ird = attr->max_ord = 16;
	attr->immediate_with = RI_IMMEDIATE_SEND | RI_IMMEDIATE_WRITE | RI_IMMEDIATE_UD;
	attr->ud = attr->mw_narrow = attr->send_invalidate = attr->qp_reusable = true;
}

static struct ri_context *
context_new(struct ri_rnic *rnic)
{
	struct ri_context *context = g_new0(struct ri_context, 1);

	context->rnic = rnic;
	pthread_mutex_init(&context->lock, NULL);
	vib_list_init(&context->pds);
	vib_list_init(&context->cqs);
	vib_list_init(&context->srqs);
	vib_list_init(&context->qps);
	vib_list_init(&context->mrs);
	vib_list_init(&context->mws);
	vib_list_init(&context->ahs);
	vib_list_init(&context->ahs_gone);
	vib_list_add(&rnic->contexts, &context->item);
	return context;
}

struct device *
device_new(void)
{
	struct device *d = g_new0(struct device, 1);
	uint32_t entries = 64;

	device_of_process = d;
	d->next_qpn = 0x100;
	d->vth = vth_new(false);
	d->inline_most = 64;
	pthread_mutex_init(&d->ah_lock, NULL);
	pthread_cond_init(&d->ah_told, NULL);
	d->cm_events = g_array_new(FALSE, TRUE, sizeof(struct ri_cm_event));
	d->async_events = g_array_new(FALSE, TRUE, sizeof(struct ri_async_event));
	d->upcalls = (struct ri_upcalls){.size = sizeof(d->upcalls),
					 .self = d,
					 .cq_event = on_cq_event,
					 .cm_event = on_cm_event,
					 .async_event = on_async_event};
	d->verbs.device = &d->device;
	d->verbs.ops.post_send = post_send;
	d->verbs.ops.post_recv = post_recv;
	d->verbs.ops.poll_cq = poll_cq;
	d->verbs.ops.req_notify_cq = req_notify_cq;
	d->verbs.ops.alloc_mw = alloc_mw;
	d->verbs.ops.bind_mw = bind_mw;
	d->verbs.ops.dealloc_mw = dealloc_mw;
	rnic_fill(d);
	d->context = context_new(&d->rnic);
	g_assert_cmpint(vib_pd_ops.create(d->context, &d->pd), ==, RI_SUCCESS);
	g_assert_cmpint(vib_cq_ops.create(d->context, 1, &entries, &d->cq, &d->map), ==,
			RI_SUCCESS);
	return d;
}

void
device_free(struct device **device)
{
	struct device *d = *device;

	g_assert_cmpint(vib_cq_ops.destroy(d->cq), ==, RI_SUCCESS);
	g_assert_cmpint(vib_pd_ops.destroy(d->pd), ==, RI_SUCCESS);
	g_assert_cmpint(d->regions, ==, 0);
	g_assert_cmpint(d->windows, ==, 0);
	g_assert_cmpint(d->ahs, ==, 0);
	g_assert_cmpint(d->pds, ==, 0);
	g_assert_cmpint(d->qps, ==, 0);
	g_assert_cmpint(d->cqs, ==, 0);
	g_assert_cmpint(d->srqs, ==, 0);
	vib_keys_destroy(&d->rnic.keys);
	pthread_mutex_destroy(&d->rnic.lock);
	pthread_mutex_destroy(&d->rnic.ah_lock);
	pthread_cond_destroy(&d->rnic.ah_idle);
	pthread_mutex_destroy(&d->ah_lock);
	pthread_cond_destroy(&d->ah_told);
	pthread_mutex_destroy(&d->context->lock);
	g_free(d->context);
	g_array_free(d->cm_events, TRUE);
	g_array_free(d->async_events, TRUE);
	vth_free(&d->vth);
	g_free(d);
}

struct vib_qp *
device_qp(struct device *d, bool ud)
{
	return device_qp_of(d, ud, 32);
}

struct vib_qp *
device_qp_of(struct device *d, bool ud, uint32_t room)
{
	struct ri_qp_init init = device_qp_init(ud, room);

	return device_qp_made(d, &init);
}

struct ri_qp_init
device_qp_init(bool ud, uint32_t room)
{
	return (struct ri_qp_init){.ctx = 7,
				   .type = ud ? RI_QP_UD : RI_QP_RC,
				   .max_sq_wr = room,
				   .max_rq_wr = 8,
				   .max_send_sge = 2,
				   .max_recv_sge = 2,
				   .max_write_sge = 2,
				   .max_read_sge = 1,
				   .qkey = ud ? 0x1234 : 0};
}

struct vib_qp *
device_qp_made(struct device *d, struct ri_qp_init *init)
{
	struct ri_cm_event up = {.kind = RI_CM_ESTABLISHED};
	struct vib_qp *qp;

	g_assert_cmpint(
		vib_qp_ops.create(d->pd, init, d->cq, d->cq, NULL, (struct ri_qp **)&qp, &d->map),
		==, RI_SUCCESS);
	if (init->type != RI_QP_RC)
		return qp;
	pthread_mutex_lock(&qp->lock);
	g_assert_cmpint(vib_qp_begin(qp), ==, RI_SUCCESS);
	pthread_mutex_unlock(&qp->lock);
	g_assert_true(vib_qp_established(qp, &up));
	g_array_set_size(d->cm_events, 0);
	return qp;
}

static void
completion_add(struct device *d, const struct ibv_wc *wc)
{
	g_assert_cmpuint(d->completions, <, DEVICE_ROOM);
	d->wc[d->completions++] = *wc;
}

void
device_complete(struct device *d, enum ibv_wc_status status)
{
	struct ibv_wc wc = {.status = status};
	const struct device_wr *next;

	g_assert_cmpuint(d->done, <, d->sends);
	next = &d->sent[d->done++ % DEVICE_ROOM];
	wc.wr_id = next->wr.wr_id;
	if (status != IBV_WC_SUCCESS || (next->wr.send_flags & IBV_SEND_SIGNALED) != 0)
		completion_add(d, &wc);
	while (status != IBV_WC_SUCCESS && d->done < d->sends)
		device_complete(d, IBV_WC_WR_FLUSH_ERR);
}

void
device_receive(struct device *d, unsigned index, const struct ibv_wc *how)
{
	struct ibv_wc wc = *how;

	wc.wr_id = d->received[index];
	completion_add(d, &wc);
}
