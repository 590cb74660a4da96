/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The entries of an adapter with faults on demand: each checks whether a fault is due for this call, and passes the
 * call on if there is none. Entries that destroy have no gate. Verbs of queue pairs wait for one that a fault has
 * under way, since two of them never run at once on one object.
 */
#include "faulty.h"

/* Return the fault that is due for this call of an object, if there is one. */
#define GATE(handle_, verb_)                                                        \
	do {                                                                        \
		enum ri_status due_ = faulty_due(wrap_of(handle_), FAULTY_##verb_); \
		if (due_ != RI_SUCCESS)                                             \
			return due_;                                                \
	} while (0)

/* --- adapters ----------------------------------------------------------------------------------- */

static enum ri_status
query_port(struct ri_rnic *rnic, uint32_t port, struct ri_port_attr *attr)
{
	GATE(rnic, QUERY_PORT);
	return wrap_plain_device_ops.query_port(rnic, port, attr);
}

static enum ri_status
route(struct ri_rnic *rnic, const struct ri_addr *peer, struct ri_addr *local, uint32_t *port)
{
	GATE(rnic, ROUTE);
	return wrap_plain_device_ops.route(rnic, peer, local, port);
}

static void
context_destroy(struct ri_context *context)
{
	const struct wrap_rnic *rnic = wrap_rnic_of(context);

	faulty_begin(rnic);
	wrap_plain_device_ops.context_destroy(context);
	faulty_end(rnic);
}

/* --- protection domains ------------------------------------------------------------------------- */

static enum ri_status
pd_create(struct ri_context *context, struct ri_pd **out)
{
	GATE(context, PD_CREATE);
	return wrap_plain_pd_ops.create(context, out);
}

/* --- completion queues -------------------------------------------------------------------------- */

static enum ri_status
cq_create(struct ri_context *context, uint64_t ctx, uint32_t *entries, struct ri_cq **out,
	  struct ri_map *map)
{
	GATE(context, CQ_CREATE);
	return wrap_plain_cq_ops.create(context, ctx, entries, out, map);
}

static enum ri_status
cq_resize(struct ri_cq *cq, uint32_t *entries, struct ri_map *map)
{
	GATE(cq, CQ_RESIZE);
	return wrap_plain_cq_ops.resize(cq, entries, map);
}

/* --- shared receive queues ---------------------------------------------------------------------- */

static enum ri_status
srq_create(struct ri_pd *pd, struct ri_srq_attr *attr, struct ri_srq **out, struct ri_map *map)
{
	GATE(pd, SRQ_CREATE);
	return wrap_plain_srq_ops.create(pd, attr, out, map);
}

static enum ri_status
srq_modify(struct ri_srq *srq, struct ri_srq_attr *attr, bool resize, struct ri_map *map)
{
	GATE(srq, SRQ_MODIFY);
	return wrap_plain_srq_ops.modify(srq, attr, resize, map);
}

static enum ri_status
srq_query(struct ri_srq *srq, struct ri_srq_attr *attr)
{
	GATE(srq, SRQ_QUERY);
	return wrap_plain_srq_ops.query(srq, attr);
}

/* --- queue pairs -------------------------------------------------------------------------------- */

static enum ri_status
qp_create(struct ri_pd *pd, struct ri_qp_init *init, struct ri_cq *send_cq, struct ri_cq *recv_cq,
	  struct ri_srq *srq, struct ri_qp **out, struct ri_map *map)
{
	GATE(pd, QP_CREATE);
	return wrap_plain_qp_ops.create(pd, init, send_cq, recv_cq, srq, out, map);
}

static enum ri_status
qp_modify(struct ri_qp *qp, const struct ri_qp_attr *attr, uint32_t mask)
{
	enum ri_status status;

	GATE(qp, QP_MODIFY);
	faulty_begin(wrap_rnic_of(qp));
	status = wrap_plain_qp_ops.modify(qp, attr, mask);
	faulty_end(wrap_rnic_of(qp));
	return status;
}

static enum ri_status
qp_query(struct ri_qp *qp, struct ri_qp_attr *attr)
{
	enum ri_status status;

	GATE(qp, QP_QUERY);
	faulty_begin(wrap_rnic_of(qp));
	status = wrap_plain_qp_ops.query(qp, attr);
	faulty_end(wrap_rnic_of(qp));
	return status;
}

static enum ri_status
qp_resize(struct ri_qp *qp, struct ri_qp_attr *attr, struct ri_map *map)
{
	enum ri_status status;

	GATE(qp, QP_RESIZE);
	faulty_begin(wrap_rnic_of(qp));
	status = wrap_plain_qp_ops.resize(qp, attr, map);
	faulty_end(wrap_rnic_of(qp));
	return status;
}

static enum ri_status
qp_destroy(struct ri_qp *qp)
{
	const struct wrap_rnic *rnic = wrap_rnic_of(qp);
	enum ri_status status;

	faulty_begin(rnic);
	status = wrap_plain_qp_ops.destroy(qp);
	faulty_end(rnic);
	return status;
}

/* --- memory ------------------------------------------------------------------------------------- */

static enum ri_status
mr_reg(struct ri_pd *pd, const struct ri_mr_init *init, struct ri_mr **out, uint32_t *stag)
{
	GATE(pd, MR_REG);
	return wrap_plain_mem_ops.mr_reg(pd, init, out, stag);
}

/* A registration, too. */
static enum ri_status
mr_reg_dmabuf(struct ri_pd *pd, const struct ri_mr_init *init, const struct ri_dmabuf *from,
	      struct ri_mr **out, uint32_t *stag)
{
	GATE(pd, MR_REG);
	return wrap_plain_mem_ops.mr_reg_dmabuf(pd, init, from, out, stag);
}

static enum ri_status
mr_rereg(struct ri_mr *mr, struct ri_pd *pd, const struct ri_mr_init *init, uint32_t *stag)
{
	GATE(mr, MR_REREG);
	return wrap_plain_mem_ops.mr_rereg(mr, pd, init, stag);
}

static enum ri_status
mr_query(struct ri_mr *mr, struct ri_mr_attr *attr)
{
	GATE(mr, MR_QUERY);
	return wrap_plain_mem_ops.mr_query(mr, attr);
}

static enum ri_status
mw_alloc(struct ri_pd *pd, enum ri_mw_type type, struct ri_mw **out, uint32_t *stag)
{
	GATE(pd, MW_ALLOC);
	return wrap_plain_mem_ops.mw_alloc(pd, type, out, stag);
}

static enum ri_status
mw_query(struct ri_mw *mw, struct ri_mr_attr *attr)
{
	GATE(mw, MW_QUERY);
	return wrap_plain_mem_ops.mw_query(mw, attr);
}

/* --- address handles ---------------------------------------------------------------------------- */

static enum ri_status
ah_create(struct ri_pd *pd, const struct ri_ah_init *init, struct ri_ah **out, uint32_t *id)
{
	GATE(pd, AH_CREATE);
	return wrap_plain_ah_ops.create(pd, init, out, id);
}

static enum ri_status
ah_modify(struct ri_ah *ah, const struct ri_ah_init *init)
{
	GATE(ah, AH_MODIFY);
	return wrap_plain_ah_ops.modify(ah, init);
}

/* --- connections by address --------------------------------------------------------------------- */

static enum ri_status
listen(struct ri_context *context, uint64_t ctx, uint32_t port, struct ri_service *service,
       uint32_t backlog, struct ri_listen **out)
{
	GATE(context, LISTEN);
	return wrap_plain_cm_ops.listen(context, ctx, port, service, backlog, out);
}

static enum ri_status
connect(struct ri_qp *qp, const struct ri_cm_params *params)
{
	enum ri_status status;

	GATE(qp, CONNECT);
	faulty_begin(wrap_rnic_of(qp));
	status = wrap_plain_cm_ops.connect(qp, params);
	faulty_end(wrap_rnic_of(qp));
	return status;
}

static enum ri_status
accept(struct ri_request *request, struct ri_qp *qp, const struct ri_cm_params *params)
{
	enum ri_status status;

	GATE(qp, ACCEPT);
	faulty_begin(wrap_rnic_of(qp));
	status = wrap_plain_cm_ops.accept(request, qp, params);
	faulty_end(wrap_rnic_of(qp));
	return status;
}

static enum ri_status
confirm(struct ri_qp *qp, bool accept, const void *pdata, uint16_t len)
{
	enum ri_status status;

	GATE(qp, CONFIRM);
	faulty_begin(wrap_rnic_of(qp));
	status = wrap_plain_cm_ops.confirm(qp, accept, pdata, len);
	faulty_end(wrap_rnic_of(qp));
	return status;
}

static enum ri_status
disconnect(struct ri_qp *qp, const void *pdata, uint16_t len)
{
	enum ri_status status;

	GATE(qp, DISCONNECT);
	faulty_begin(wrap_rnic_of(qp));
	status = wrap_plain_cm_ops.disconnect(qp, pdata, len);
	faulty_end(wrap_rnic_of(qp));
	return status;
}

static enum ri_status
resolve(struct ri_context *context, uint64_t ctx, const struct ri_cm_params *params)
{
	GATE(context, RESOLVE);
	return wrap_plain_cm_ops.resolve(context, ctx, params);
}

/* --- connections over a stream ------------------------------------------------------------------ */

static enum ri_status
reserve(struct ri_qp *qp)
{
	enum ri_status status;

	GATE(qp, RESERVE);
	faulty_begin(wrap_rnic_of(qp));
	status = wrap_plain_llp_ops.reserve(qp);
	faulty_end(wrap_rnic_of(qp));
	return status;
}

static enum ri_status
attach_stream(struct ri_qp *qp, const struct ri_stream *stream)
{
	enum ri_status status;

	GATE(qp, ATTACH_STREAM);
	faulty_begin(wrap_rnic_of(qp));
	status = wrap_plain_llp_ops.attach_stream(qp, stream);
	faulty_end(wrap_rnic_of(qp));
	return status;
}

/* --- connections by attributes, groups ------------------------------------------------------------ */

static enum ri_status
peer_receive(struct ri_qp *qp, const struct ri_peer *peer)
{
	GATE(qp, PEER_RECEIVE);
	return wrap_plain_peer_ops.receive(qp, peer);
}

static enum ri_status
peer_send(struct ri_qp *qp, const struct ri_peer *peer)
{
	GATE(qp, PEER_SEND);
	return wrap_plain_peer_ops.send(qp, peer);
}

static enum ri_status
mcast_attach(struct ri_qp *qp, const struct ri_addr *group)
{
	GATE(qp, MCAST_ATTACH);
	return wrap_plain_qp_ops.mcast_attach(qp, group);
}

/* --- user halves -------------------------------------------------------------------------------- */

static enum ri_status
cq_open(struct ri_urnic *rnic, const struct ri_map *map, struct ri_ucq **out)
{
	GATE(wrap_mapped(map), CQ_OPEN);
	return wrap_plain_user_ops.cq_open(rnic, map, out);
}

static enum ri_status
qp_open(struct ri_urnic *rnic, const struct ri_map *map, struct ri_ucq *send_cq,
	struct ri_ucq *recv_cq, struct ri_usrq *srq, struct ri_uqp **out)
{
	GATE(wrap_mapped(map), QP_OPEN);
	return wrap_plain_user_ops.qp_open(rnic, map, send_cq, recv_cq, srq, out);
}

static enum ri_status
srq_open(struct ri_urnic *rnic, const struct ri_map *map, struct ri_usrq **out)
{
	GATE(wrap_mapped(map), SRQ_OPEN);
	return wrap_plain_user_ops.srq_open(rnic, map, out);
}

/* --- the fast path ------------------------------------------------------------------------------ */

static enum ri_status
post_sq(struct ri_uqp *qp, const struct ri_wr *wr)
{
	GATE(qp, POST_SQ);
	return wrap_plain_fast_ops.post_sq(qp, wr);
}

static enum ri_status
post_rq(struct ri_uqp *qp, const struct ri_recv_wr *wr)
{
	GATE(qp, POST_RQ);
	return wrap_plain_fast_ops.post_rq(qp, wr);
}

static enum ri_status
post_srq(struct ri_usrq *srq, const struct ri_recv_wr *wr)
{
	GATE(srq, POST_SRQ);
	return wrap_plain_fast_ops.post_srq(srq, wr);
}

static uint32_t
poll_cq(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n)
{
	uint32_t count = wrap_plain_fast_ops.poll_cq(cq, wc, n);

	for (uint32_t i = 0; i < count; i++)
		faulty_complete(wrap_rnic_of(cq), &wc[i]);
	return count;
}

/* --- the tables ------------------------------------------------------------------------------- */

void
faulty_gates(struct wrap_ops *ops)
{
	ops->device.query_port = query_port;
	ops->device.route = route;
	ops->device.context_destroy = context_destroy;
	ops->pd.create = pd_create;
	ops->cq.create = cq_create;
	ops->cq.resize = cq_resize;
	ops->srq.create = srq_create;
	ops->srq.modify = srq_modify;
	ops->srq.query = srq_query;
	ops->qp.create = qp_create;
	ops->qp.modify = qp_modify;
	ops->qp.query = qp_query;
	ops->qp.resize = qp_resize;
	ops->mem.mr_reg = mr_reg;
	ops->mem.mr_reg_dmabuf = mr_reg_dmabuf;
	ops->mem.mr_rereg = mr_rereg;
	ops->mem.mr_query = mr_query;
	ops->mem.mw_alloc = mw_alloc;
	ops->mem.mw_query = mw_query;
	ops->ah.create = ah_create;
	ops->ah.modify = ah_modify;
	ops->cm.listen = listen;
	ops->cm.connect = connect;
	ops->cm.accept = accept;
	ops->cm.confirm = confirm;
	ops->cm.disconnect = disconnect;
	ops->cm.resolve = resolve;
	ops->llp.reserve = reserve;
	ops->llp.attach_stream = attach_stream;
	ops->peer.receive = peer_receive;
	ops->peer.send = peer_send;
	ops->qp.mcast_attach = mcast_attach;
	ops->user.cq_open = cq_open;
	ops->user.qp_open = qp_open;
	ops->user.srq_open = srq_open;
	ops->fast.post_sq = post_sq;
	ops->fast.post_rq = post_rq;
	ops->fast.post_srq = post_srq;
	ops->qp.destroy = qp_destroy;
	ops->fast.poll_cq = poll_cq;
}
