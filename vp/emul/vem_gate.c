/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The control verbs as they are registered: each checks whether a fault is due for this call, and then calls
 * the verb. Verbs that destroy have no gate, so that the objects of a failed adapter can be destroyed.
 */
#include "vem_dmabuf.h"
#include "vem_fault.h"
#include "vem_peer.h"
#include "vem_provider.h"
#include "vem_ud.h"

/* Return the fault that is due for this call, if there is one. */
#define GATE(rnic_, call_)                                                      \
	do {                                                                    \
		enum ri_status due_ = vem_fault_due((rnic_), VEM_CALL_##call_); \
		if (due_ != RI_SUCCESS)                                         \
			return due_;                                            \
	} while (0)

/* The adapter of a process, of a protection domain, of a queue pair. */
static struct ri_rnic *
of_context(const struct vsw_context *context)
{
	return ((const struct ri_context *)context)->rnic;
}

static struct ri_rnic *
of_pd(const struct vsw_pd *pd)
{
	return of_context(pd->context);
}

static struct ri_rnic *
of_qp(const struct ri_qp *qp)
{
	return ((const struct vem_qp *)qp)->rnic;
}

static enum ri_status
pd_create(struct ri_context *context, struct ri_pd **out)
{
	GATE(context->rnic, PD_CREATE);
	return vsw_pd_ops.create(context, out);
}

/* --- completion queues -------------------------------------------------------------------- */

static enum ri_status
cq_create(struct ri_context *context, uint64_t ctx, uint32_t *entries, struct ri_cq **out,
	  struct ri_map *map)
{
	GATE(context->rnic, CQ_CREATE);
	return vsw_cq_ops.create(context, ctx, entries, out, map);
}

static enum ri_status
cq_resize(struct ri_cq *cq, uint32_t *entries, struct ri_map *map)
{
	GATE(of_context(((struct vsw_cq_object *)cq)->context), CQ_RESIZE);
	return vsw_cq_ops.resize(cq, entries, map);
}

/* --- shared receive queues ---------------------------------------------------------------- */

static enum ri_status
srq_create(struct ri_pd *pd, struct ri_srq_attr *attr, struct ri_srq **out, struct ri_map *map)
{
	GATE(of_pd((struct vsw_pd *)pd), SRQ_CREATE);
	return vsw_srq_ops.create(pd, attr, out, map);
}

static enum ri_status
srq_modify(struct ri_srq *srq, struct ri_srq_attr *attr, bool resize, struct ri_map *map)
{
	GATE(of_pd(((struct vsw_srq_object *)srq)->pd), SRQ_MODIFY);
	return vsw_srq_ops.modify(srq, attr, resize, map);
}

static enum ri_status
srq_query(struct ri_srq *srq, struct ri_srq_attr *attr)
{
	GATE(of_pd(((struct vsw_srq_object *)srq)->pd), SRQ_QUERY);
	return vsw_srq_ops.query(srq, attr);
}

/* --- queue pairs -------------------------------------------------------------------------- */

static enum ri_status
qp_create(struct ri_pd *pd, struct ri_qp_init *init, struct ri_cq *send_cq, struct ri_cq *recv_cq,
	  struct ri_srq *srq, struct ri_qp **out, struct ri_map *map)
{
	GATE(of_pd((struct vsw_pd *)pd), QP_CREATE);
	return vem_qp_ops.create(pd, init, send_cq, recv_cq, srq, out, map);
}

static enum ri_status
qp_modify(struct ri_qp *qp, const struct ri_qp_attr *attr, uint32_t mask)
{
	GATE(of_qp(qp), QP_MODIFY);
	return vem_qp_ops.modify(qp, attr, mask);
}

static enum ri_status
qp_query(struct ri_qp *qp, struct ri_qp_attr *attr)
{
	GATE(of_qp(qp), QP_QUERY);
	return vem_qp_ops.query(qp, attr);
}

static enum ri_status
qp_resize(struct ri_qp *qp, struct ri_qp_attr *attr, struct ri_map *map)
{
	GATE(of_qp(qp), QP_RESIZE);
	return vem_qp_ops.resize(qp, attr, map);
}

static enum ri_status
peer_receive(struct ri_qp *qp, const struct ri_peer *peer)
{
	GATE(of_qp(qp), PEER_RECEIVE);
	return vem_peer_ops.receive(qp, peer);
}

static enum ri_status
peer_send(struct ri_qp *qp, const struct ri_peer *peer)
{
	GATE(of_qp(qp), PEER_SEND);
	return vem_peer_ops.send(qp, peer);
}

static enum ri_status
mcast_attach(struct ri_qp *qp, const struct ri_addr *group)
{
	GATE(of_qp(qp), MCAST_ATTACH);
	return vem_qp_ops.mcast_attach(qp, group);
}

static enum ri_status
mcast_detach(struct ri_qp *qp, const struct ri_addr *group)
{
	GATE(of_qp(qp), MCAST_DETACH);
	return vem_qp_ops.mcast_detach(qp, group);
}

/* --- memory ------------------------------------------------------------------------------- */

static enum ri_status
mr_reg(struct ri_pd *pd, const struct ri_mr_init *init, struct ri_mr **out, uint32_t *stag)
{
	GATE(of_pd((struct vsw_pd *)pd), MR_REG);
	return vsw_mem_ops.mr_reg(pd, init, out, stag);
}

/* A registration, too. */
static enum ri_status
mr_reg_dmabuf(struct ri_pd *pd, const struct ri_mr_init *init, const struct ri_dmabuf *from,
	      struct ri_mr **out, uint32_t *stag)
{
	GATE(of_pd((struct vsw_pd *)pd), MR_REG);
	return vem_dmabuf_reg(pd, init, from, out, stag);
}

static enum ri_status
mr_rereg(struct ri_mr *mr, struct ri_pd *pd, const struct ri_mr_init *init, uint32_t *stag)
{
	GATE(of_pd(((struct vsw_key *)mr)->pd), MR_REREG);
	return vsw_mem_ops.mr_rereg(mr, pd, init, stag);
}

static enum ri_status
mr_query(struct ri_mr *mr, struct ri_mr_attr *attr)
{
	GATE(of_pd(((struct vsw_key *)mr)->pd), MR_QUERY);
	return vsw_mem_ops.mr_query(mr, attr);
}

static enum ri_status
mw_alloc(struct ri_pd *pd, enum ri_mw_type type, struct ri_mw **out, uint32_t *stag)
{
	GATE(of_pd((struct vsw_pd *)pd), MW_ALLOC);
	return vsw_mem_ops.mw_alloc(pd, type, out, stag);
}

static enum ri_status
mw_query(struct ri_mw *mw, struct ri_mr_attr *attr)
{
	GATE(of_pd(((struct vsw_key *)mw)->pd), MW_QUERY);
	return vsw_mem_ops.mw_query(mw, attr);
}

/* --- address handles ---------------------------------------------------------------------- */

static enum ri_status
ah_create(struct ri_pd *pd, const struct ri_ah_init *init, struct ri_ah **out, uint32_t *id)
{
	GATE(of_pd((struct vsw_pd *)pd), AH_CREATE);
	return vem_ah_ops.create(pd, init, out, id);
}

static enum ri_status
ah_modify(struct ri_ah *ah, const struct ri_ah_init *init)
{
	GATE(of_pd(ah->pd), AH_MODIFY);
	return vem_ah_ops.modify(ah, init);
}

/* --- connections -------------------------------------------------------------------------- */

static enum ri_status
cm_listen(struct ri_context *context, uint64_t ctx, uint32_t port, struct ri_service *service,
	  uint32_t backlog, struct ri_listen **out)
{
	GATE(context->rnic, LISTEN);
	return vem_cm_ops.listen(context, ctx, port, service, backlog, out);
}

static enum ri_status
cm_connect(struct ri_qp *qp, const struct ri_cm_params *params)
{
	GATE(of_qp(qp), CONNECT);
	return vem_cm_ops.connect(qp, params);
}

static enum ri_status
cm_accept(struct ri_request *request, struct ri_qp *qp, const struct ri_cm_params *params)
{
	GATE(of_qp(qp), ACCEPT);
	return vem_cm_ops.accept(request, qp, params);
}

static enum ri_status
cm_confirm(struct ri_qp *qp, bool accept, const void *pdata, uint16_t len)
{
	GATE(of_qp(qp), CONFIRM);
	return vem_cm_ops.confirm(qp, accept, pdata, len);
}

static enum ri_status
cm_disconnect(struct ri_qp *qp, const void *pdata, uint16_t len)
{
	GATE(of_qp(qp), DISCONNECT);
	return vem_cm_ops.disconnect(qp, pdata, len);
}

static enum ri_status
cm_resolve(struct ri_context *context, uint64_t ctx, const struct ri_cm_params *params)
{
	GATE(context->rnic, RESOLVE);
	return vem_cm_ops.resolve(context, ctx, params);
}

/* --- the tables --------------------------------------------------------------------------- */

static struct ri_provider gated;
static struct ri_pd_ops pd_ops;
static struct ri_cq_ops cq_ops;
static struct ri_srq_ops srq_ops;
static struct ri_qp_ops qp_ops;
static struct ri_mem_ops mem_ops;
static struct ri_ah_ops ah_ops;
static struct ri_cm_ops cm_ops;
static struct ri_peer_ops peer_ops;

static void
queues_fill(void)
{
	pd_ops = vsw_pd_ops;
	pd_ops.create = pd_create;
	cq_ops = vsw_cq_ops;
	cq_ops.create = cq_create;
	cq_ops.resize = cq_resize;
	srq_ops = vsw_srq_ops;
	srq_ops.create = srq_create;
	srq_ops.modify = srq_modify;
	srq_ops.query = srq_query;
	qp_ops = vem_qp_ops;
	qp_ops.create = qp_create;
	qp_ops.modify = qp_modify;
	qp_ops.query = qp_query;
	qp_ops.resize = qp_resize;
	qp_ops.mcast_attach = mcast_attach;
	qp_ops.mcast_detach = mcast_detach;
}

static void
others_fill(void)
{
	mem_ops = vsw_mem_ops;
	mem_ops.mr_reg = mr_reg;
	mem_ops.mr_reg_dmabuf = mr_reg_dmabuf;
	mem_ops.mr_rereg = mr_rereg;
	mem_ops.mr_query = mr_query;
	mem_ops.mw_alloc = mw_alloc;
	mem_ops.mw_query = mw_query;
	ah_ops = vem_ah_ops;
	ah_ops.create = ah_create;
	ah_ops.modify = ah_modify;
	peer_ops = vem_peer_ops;
	peer_ops.receive = peer_receive;
	peer_ops.send = peer_send;
	cm_ops = vem_cm_ops;
	cm_ops.listen = cm_listen;
	cm_ops.connect = cm_connect;
	cm_ops.accept = cm_accept;
	cm_ops.confirm = cm_confirm;
	cm_ops.disconnect = cm_disconnect;
	cm_ops.resolve = cm_resolve;
}

static void
provider_fill(void)
{
	queues_fill();
	others_fill();
	gated = vem_plain_provider;
	gated.pd = &pd_ops;
	gated.cq = &cq_ops;
	gated.srq = &srq_ops;
	gated.qp = &qp_ops;
	gated.mem = &mem_ops;
	gated.ah = &ah_ops;
	gated.cm = &cm_ops;
	gated.peer = &peer_ops;
}

const struct ri_provider *
vem_provider_entry(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, provider_fill);
	return &gated;
}
