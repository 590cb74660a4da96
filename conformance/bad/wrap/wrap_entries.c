/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The entries that are registered: each calls the adapter's own entry, wrap_rnic::ops. So one process can have
 * several adapters open, each with another defect.
 */
#include "wrap.h"

static const struct wrap_ops *
ops_of(const void *handle)
{
	return &wrap_of(handle)->rnic->ops;
}

/* --- adapters ----------------------------------------------------------------------------------- */

static void
device_close(struct ri_rnic *rnic)
{
	ops_of(rnic)->device.close(rnic);
}

static enum ri_status
device_query(struct ri_rnic *rnic, struct ri_rnic_attr *attr)
{
	return ops_of(rnic)->device.query(rnic, attr);
}

static enum ri_status
device_query_port(struct ri_rnic *rnic, uint32_t port, struct ri_port_attr *attr)
{
	return ops_of(rnic)->device.query_port(rnic, port, attr);
}

static enum ri_status
device_context_create(struct ri_rnic *rnic, const struct ri_owner *owner, struct ri_context **out,
		      struct ri_map *map)
{
	return ops_of(rnic)->device.context_create(rnic, owner, out, map);
}

static void
device_context_destroy(struct ri_context *context)
{
	ops_of(context)->device.context_destroy(context);
}

static enum ri_status
device_route(struct ri_rnic *rnic, const struct ri_addr *peer, struct ri_addr *local,
	     uint32_t *port)
{
	return ops_of(rnic)->device.route(rnic, peer, local, port);
}

static size_t
device_dump(struct ri_rnic *rnic, char *text, size_t room)
{
	return ops_of(rnic)->device.dump(rnic, text, room);
}

/* --- protection domains ------------------------------------------------------------------------- */

static enum ri_status
pd_create(struct ri_context *context, struct ri_pd **out)
{
	return ops_of(context)->pd.create(context, out);
}

static enum ri_status
pd_destroy(struct ri_pd *pd)
{
	return ops_of(pd)->pd.destroy(pd);
}

/* --- completion queues -------------------------------------------------------------------------- */

static enum ri_status
cq_create(struct ri_context *context, uint64_t ctx, uint32_t *entries, struct ri_cq **out,
	  struct ri_map *map)
{
	return ops_of(context)->cq.create(context, ctx, entries, out, map);
}

static enum ri_status
cq_resize(struct ri_cq *cq, uint32_t *entries, struct ri_map *map)
{
	return ops_of(cq)->cq.resize(cq, entries, map);
}

static enum ri_status
cq_destroy(struct ri_cq *cq)
{
	return ops_of(cq)->cq.destroy(cq);
}

/* --- shared receive queues ---------------------------------------------------------------------- */

static enum ri_status
srq_create(struct ri_pd *pd, struct ri_srq_attr *attr, struct ri_srq **out, struct ri_map *map)
{
	return ops_of(pd)->srq.create(pd, attr, out, map);
}

static enum ri_status
srq_modify(struct ri_srq *srq, struct ri_srq_attr *attr, bool resize, struct ri_map *map)
{
	return ops_of(srq)->srq.modify(srq, attr, resize, map);
}

static enum ri_status
srq_query(struct ri_srq *srq, struct ri_srq_attr *attr)
{
	return ops_of(srq)->srq.query(srq, attr);
}

static enum ri_status
srq_destroy(struct ri_srq *srq)
{
	return ops_of(srq)->srq.destroy(srq);
}

/* --- queue pairs -------------------------------------------------------------------------------- */

static enum ri_status
qp_create(struct ri_pd *pd, struct ri_qp_init *init, struct ri_cq *send_cq, struct ri_cq *recv_cq,
	  struct ri_srq *srq, struct ri_qp **out, struct ri_map *map)
{
	return ops_of(pd)->qp.create(pd, init, send_cq, recv_cq, srq, out, map);
}

static enum ri_status
qp_modify(struct ri_qp *qp, const struct ri_qp_attr *attr, uint32_t mask)
{
	return ops_of(qp)->qp.modify(qp, attr, mask);
}

static enum ri_status
qp_query(struct ri_qp *qp, struct ri_qp_attr *attr)
{
	return ops_of(qp)->qp.query(qp, attr);
}

static enum ri_status
qp_destroy(struct ri_qp *qp)
{
	return ops_of(qp)->qp.destroy(qp);
}

static enum ri_status
qp_resize(struct ri_qp *qp, struct ri_qp_attr *attr, struct ri_map *map)
{
	return ops_of(qp)->qp.resize(qp, attr, map);
}

static enum ri_status
qp_mcast_attach(struct ri_qp *qp, const struct ri_addr *group)
{
	return ops_of(qp)->qp.mcast_attach(qp, group);
}

static enum ri_status
qp_mcast_detach(struct ri_qp *qp, const struct ri_addr *group)
{
	return ops_of(qp)->qp.mcast_detach(qp, group);
}

/* --- memory ------------------------------------------------------------------------------------- */

static enum ri_status
mr_reg(struct ri_pd *pd, const struct ri_mr_init *init, struct ri_mr **out, uint32_t *stag)
{
	return ops_of(pd)->mem.mr_reg(pd, init, out, stag);
}

static enum ri_status
mr_reg_dmabuf(struct ri_pd *pd, const struct ri_mr_init *init, const struct ri_dmabuf *from,
	      struct ri_mr **out, uint32_t *stag)
{
	return ops_of(pd)->mem.mr_reg_dmabuf(pd, init, from, out, stag);
}

static enum ri_status
mr_rereg(struct ri_mr *mr, struct ri_pd *pd, const struct ri_mr_init *init, uint32_t *stag)
{
	return ops_of(mr)->mem.mr_rereg(mr, pd, init, stag);
}

static enum ri_status
mr_query(struct ri_mr *mr, struct ri_mr_attr *attr)
{
	return ops_of(mr)->mem.mr_query(mr, attr);
}

static enum ri_status
mr_dereg(struct ri_mr *mr)
{
	return ops_of(mr)->mem.mr_dereg(mr);
}

static enum ri_status
mw_alloc(struct ri_pd *pd, enum ri_mw_type type, struct ri_mw **out, uint32_t *stag)
{
	return ops_of(pd)->mem.mw_alloc(pd, type, out, stag);
}

static enum ri_status
mw_query(struct ri_mw *mw, struct ri_mr_attr *attr)
{
	return ops_of(mw)->mem.mw_query(mw, attr);
}

static enum ri_status
mw_free(struct ri_mw *mw)
{
	return ops_of(mw)->mem.mw_free(mw);
}

/* --- address handles ---------------------------------------------------------------------------- */

static enum ri_status
ah_create(struct ri_pd *pd, const struct ri_ah_init *init, struct ri_ah **out, uint32_t *id)
{
	return ops_of(pd)->ah.create(pd, init, out, id);
}

static enum ri_status
ah_modify(struct ri_ah *ah, const struct ri_ah_init *init)
{
	return ops_of(ah)->ah.modify(ah, init);
}

static enum ri_status
ah_destroy(struct ri_ah *ah)
{
	return ops_of(ah)->ah.destroy(ah);
}

/* --- connections by address --------------------------------------------------------------------- */

static enum ri_status
cm_listen(struct ri_context *context, uint64_t ctx, uint32_t port, struct ri_service *service,
	  uint32_t backlog, struct ri_listen **out)
{
	return ops_of(context)->cm.listen(context, ctx, port, service, backlog, out);
}

static void
cm_listen_destroy(struct ri_listen *listen)
{
	ops_of(listen)->cm.listen_destroy(listen);
}

static enum ri_status
cm_connect(struct ri_qp *qp, const struct ri_cm_params *params)
{
	return ops_of(qp)->cm.connect(qp, params);
}

static enum ri_status
cm_accept(struct ri_request *request, struct ri_qp *qp, const struct ri_cm_params *params)
{
	return ops_of(request)->cm.accept(request, qp, params);
}

static enum ri_status
cm_reject(struct ri_request *request, enum ri_cm_reason reason, const void *pdata, uint16_t len)
{
	return ops_of(request)->cm.reject(request, reason, pdata, len);
}

static enum ri_status
cm_confirm(struct ri_qp *qp, bool accept, const void *pdata, uint16_t len)
{
	return ops_of(qp)->cm.confirm(qp, accept, pdata, len);
}

static enum ri_status
cm_disconnect(struct ri_qp *qp, const void *pdata, uint16_t len)
{
	return ops_of(qp)->cm.disconnect(qp, pdata, len);
}

static enum ri_status
cm_resolve(struct ri_context *context, uint64_t ctx, const struct ri_cm_params *params)
{
	return ops_of(context)->cm.resolve(context, ctx, params);
}

static void
cm_resolve_cancel(struct ri_context *context, uint64_t ctx)
{
	ops_of(context)->cm.resolve_cancel(context, ctx);
}

static enum ri_status
cm_resolve_answer(struct ri_request *request, const struct ri_service_answer *answer)
{
	return ops_of(request)->cm.resolve_answer(request, answer);
}

/* --- connections over a stream ------------------------------------------------------------------ */

static enum ri_status
llp_reserve(struct ri_qp *qp)
{
	return ops_of(qp)->llp.reserve(qp);
}

static enum ri_status
llp_attach_stream(struct ri_qp *qp, const struct ri_stream *stream)
{
	return ops_of(qp)->llp.attach_stream(qp, stream);
}

/* --- connections by attributes -------------------------------------------------------------------- */

static enum ri_status
peer_receive(struct ri_qp *qp, const struct ri_peer *peer)
{
	return ops_of(qp)->peer.receive(qp, peer);
}

static enum ri_status
peer_send(struct ri_qp *qp, const struct ri_peer *peer)
{
	return ops_of(qp)->peer.send(qp, peer);
}

/* --- user halves -------------------------------------------------------------------------------- */

static enum ri_status
user_rnic_open(const struct ri_host *host, const struct ri_map *map, struct ri_urnic **out)
{
	return ops_of(wrap_mapped(map))->user.rnic_open(host, map, out);
}

static void
user_rnic_close(struct ri_urnic *rnic)
{
	ops_of(rnic)->user.rnic_close(rnic);
}

static enum ri_status
user_cq_open(struct ri_urnic *rnic, const struct ri_map *map, struct ri_ucq **out)
{
	return ops_of(rnic)->user.cq_open(rnic, map, out);
}

static enum ri_status
user_cq_remap(struct ri_ucq *cq, const struct ri_map *map)
{
	return ops_of(cq)->user.cq_remap(cq, map);
}

static void
user_cq_close(struct ri_ucq *cq)
{
	ops_of(cq)->user.cq_close(cq);
}

static enum ri_status
user_qp_open(struct ri_urnic *rnic, const struct ri_map *map, struct ri_ucq *send_cq,
	     struct ri_ucq *recv_cq, struct ri_usrq *srq, struct ri_uqp **out)
{
	return ops_of(rnic)->user.qp_open(rnic, map, send_cq, recv_cq, srq, out);
}

static void
user_qp_close(struct ri_uqp *qp)
{
	ops_of(qp)->user.qp_close(qp);
}

static enum ri_status
user_srq_open(struct ri_urnic *rnic, const struct ri_map *map, struct ri_usrq **out)
{
	return ops_of(rnic)->user.srq_open(rnic, map, out);
}

static void
user_srq_close(struct ri_usrq *srq)
{
	ops_of(srq)->user.srq_close(srq);
}

static enum ri_status
user_srq_remap(struct ri_usrq *srq, const struct ri_map *map)
{
	return ops_of(srq)->user.srq_remap(srq, map);
}

static enum ri_status
user_qp_remap(struct ri_uqp *qp, const struct ri_qp_attr *real, const struct ri_map *map)
{
	return ops_of(qp)->user.qp_remap(qp, real, map);
}

/* --- the fast path ------------------------------------------------------------------------------ */

static enum ri_status
post_sq(struct ri_uqp *qp, const struct ri_wr *wr)
{
	return ops_of(qp)->fast.post_sq(qp, wr);
}

static enum ri_status
post_rq(struct ri_uqp *qp, const struct ri_recv_wr *wr)
{
	return ops_of(qp)->fast.post_rq(qp, wr);
}

static enum ri_status
post_srq(struct ri_usrq *srq, const struct ri_recv_wr *wr)
{
	return ops_of(srq)->fast.post_srq(srq, wr);
}

static void
flush_sq(struct ri_uqp *qp)
{
	ops_of(qp)->fast.flush_sq(qp);
}

static uint32_t
poll_cq(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n)
{
	return ops_of(cq)->fast.poll_cq(cq, wc, n);
}

static uint32_t
cq_depth(struct ri_ucq *cq)
{
	return ops_of(cq)->fast.cq_depth(cq);
}

static enum ri_status
arm_cq(struct ri_ucq *cq, enum ri_arm how, uint32_t count)
{
	return ops_of(cq)->fast.arm_cq(cq, how, count);
}

static uint32_t
progress(struct ri_urnic *rnic, uint32_t budget)
{
	return ops_of(rnic)->fast.progress(rnic, budget);
}

static bool
leader_enter(struct ri_urnic *rnic, int *fd)
{
	return ops_of(rnic)->fast.leader_enter(rnic, fd);
}

static void
leader_leave(struct ri_urnic *rnic)
{
	ops_of(rnic)->fast.leader_leave(rnic);
}

static bool
spin_futile(struct ri_urnic *rnic)
{
	return ops_of(rnic)->fast.spin_futile(rnic);
}

/* --- the tables ------------------------------------------------------------------------------- */

void
wrap_entries(struct wrap_tables *out)
{
	out->device = (struct ri_device_ops){.close = device_close,
					     .query = device_query,
					     .query_port = device_query_port,
					     .context_create = device_context_create,
					     .context_destroy = device_context_destroy,
					     .route = device_route,
					     .dump = device_dump};
	out->pd = (struct ri_pd_ops){.create = pd_create, .destroy = pd_destroy};
	out->cq =
		(struct ri_cq_ops){.create = cq_create, .resize = cq_resize, .destroy = cq_destroy};
	out->srq = (struct ri_srq_ops){.create = srq_create,
				       .modify = srq_modify,
				       .query = srq_query,
				       .destroy = srq_destroy};
	out->qp = (struct ri_qp_ops){.create = qp_create,
				     .modify = qp_modify,
				     .query = qp_query,
				     .destroy = qp_destroy,
				     .resize = qp_resize,
				     .mcast_attach = qp_mcast_attach,
				     .mcast_detach = qp_mcast_detach};
	out->mem = (struct ri_mem_ops){.mr_reg = mr_reg,
				       .mr_rereg = mr_rereg,
				       .mr_query = mr_query,
				       .mr_dereg = mr_dereg,
				       .mw_alloc = mw_alloc,
				       .mw_query = mw_query,
				       .mw_free = mw_free,
				       .mr_reg_dmabuf = mr_reg_dmabuf};
	out->ah =
		(struct ri_ah_ops){.create = ah_create, .modify = ah_modify, .destroy = ah_destroy};
	out->cm = (struct ri_cm_ops){.listen = cm_listen,
				     .listen_destroy = cm_listen_destroy,
				     .connect = cm_connect,
				     .accept = cm_accept,
				     .reject = cm_reject,
				     .confirm = cm_confirm,
				     .disconnect = cm_disconnect,
				     .resolve = cm_resolve,
				     .resolve_cancel = cm_resolve_cancel,
				     .resolve_answer = cm_resolve_answer};
	out->llp = (struct ri_llp_ops){.reserve = llp_reserve, .attach_stream = llp_attach_stream};
	out->peer = (struct ri_peer_ops){.receive = peer_receive, .send = peer_send};
	out->user = (struct ri_user_ops){.rnic_open = user_rnic_open,
					 .rnic_close = user_rnic_close,
					 .cq_open = user_cq_open,
					 .cq_remap = user_cq_remap,
					 .cq_close = user_cq_close,
					 .qp_open = user_qp_open,
					 .qp_close = user_qp_close,
					 .srq_open = user_srq_open,
					 .srq_close = user_srq_close,
					 .srq_remap = user_srq_remap,
					 .qp_remap = user_qp_remap};
	out->fast = (struct ri_fast_ops){.post_sq = post_sq,
					 .post_rq = post_rq,
					 .post_srq = post_srq,
					 .flush_sq = flush_sq,
					 .poll_cq = poll_cq,
					 .cq_depth = cq_depth,
					 .arm_cq = arm_cq,
					 .progress = progress,
					 .leader_enter = leader_enter,
					 .leader_leave = leader_leave,
					 .spin_futile = spin_futile};
}
