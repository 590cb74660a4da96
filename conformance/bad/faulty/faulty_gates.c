/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The entries of an adapter with faults on demand: each checks whether a fault is due for this
 * call, and passes the call on if no fault is. Entries that destroy objects never fail. A verb of a
 * queue pair waits while a fault has another verb of it in progress, since no two verbs may run at
 * once on one object.
 */
#include "faulty.h"

/* The entry NAME of a table: the fault that is due for this call of an object, if there is one, or else the call. */
#define GATE(table, name, verb, handle, params, args)                                \
	static enum ri_status table##_##name params                                  \
	{                                                                            \
		enum ri_status due = faulty_due(wrap_of(handle), FAULTY_##verb);     \
                                                                                     \
		return due != RI_SUCCESS ? due : wrap_plain_##table##_ops.name args; \
	}
/* Likewise, for a verb of a queue pair that a fault must not end meanwhile. */
#define GATE_ALONE(table, name, verb, qp, params, args)                         \
	static enum ri_status table##_##name params                             \
	{                                                                       \
		enum ri_status status = faulty_due(wrap_of(qp), FAULTY_##verb); \
                                                                                \
		if (status != RI_SUCCESS)                                       \
			return status;                                          \
		faulty_begin(wrap_rnic_of(qp));                                 \
		status = wrap_plain_##table##_ops.name args;                    \
		faulty_end(wrap_rnic_of(qp));                                   \
		return status;                                                  \
	}

/* --- adapters ----------------------------------------------------------------------------------- */

GATE(device, query_port, QUERY_PORT, rnic,
     (struct ri_rnic * rnic, uint32_t port, struct ri_port_attr *attr), (rnic, port, attr))
GATE(device, route, ROUTE, rnic,
     (struct ri_rnic * rnic, const struct ri_addr *peer, struct ri_addr *local, uint32_t *port),
     (rnic, peer, local, port))

static void
context_destroy(struct ri_context *context)
{
	const struct wrap_rnic *rnic = wrap_rnic_of(context);

	faulty_begin(rnic);
	wrap_plain_device_ops.context_destroy(context);
	faulty_end(rnic);
}

/* --- protection domains ------------------------------------------------------------------------- */

GATE(pd, create, PD_CREATE, context, (struct ri_context * context, struct ri_pd **out),
     (context, out))

/* --- completion queues -------------------------------------------------------------------------- */

GATE(cq, create, CQ_CREATE, context,
     (struct ri_context * context, uint64_t ctx, uint32_t *entries, struct ri_cq **out,
      struct ri_map *map),
     (context, ctx, entries, out, map))
GATE(cq, resize, CQ_RESIZE, cq, (struct ri_cq * cq, uint32_t *entries, struct ri_map *map),
     (cq, entries, map))

/* --- shared receive queues ---------------------------------------------------------------------- */

GATE(srq, create, SRQ_CREATE, pd,
     (struct ri_pd * pd, struct ri_srq_attr *attr, struct ri_srq **out, struct ri_map *map),
     (pd, attr, out, map))
GATE(srq, modify, SRQ_MODIFY, srq,
     (struct ri_srq * srq, struct ri_srq_attr *attr, bool resize, struct ri_map *map),
     (srq, attr, resize, map))
GATE(srq, query, SRQ_QUERY, srq, (struct ri_srq * srq, struct ri_srq_attr *attr), (srq, attr))

/* --- queue pairs -------------------------------------------------------------------------------- */

GATE(qp, create, QP_CREATE, pd,
     (struct ri_pd * pd, struct ri_qp_init *init, struct ri_cq *send_cq, struct ri_cq *recv_cq,
      struct ri_srq *srq, struct ri_qp **out, struct ri_map *map),
     (pd, init, send_cq, recv_cq, srq, out, map))
GATE_ALONE(qp, modify, QP_MODIFY, qp,
	   (struct ri_qp * qp, const struct ri_qp_attr *attr, uint32_t mask), (qp, attr, mask))
GATE_ALONE(qp, query, QP_QUERY, qp, (struct ri_qp * qp, struct ri_qp_attr *attr), (qp, attr))
GATE_ALONE(qp, resize, QP_RESIZE, qp,
	   (struct ri_qp * qp, struct ri_qp_attr *attr, struct ri_map *map), (qp, attr, map))

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

GATE(mem, mr_reg, MR_REG, pd,
     (struct ri_pd * pd, const struct ri_mr_init *init, struct ri_mr **out, uint32_t *stag),
     (pd, init, out, stag))
GATE(mem, mr_reg_dmabuf, MR_REG, pd,
     (struct ri_pd * pd, const struct ri_mr_init *init, const struct ri_dmabuf *from,
      struct ri_mr **out, uint32_t *stag),
     (pd, init, from, out, stag))
GATE(mem, mr_rereg, MR_REREG, mr,
     (struct ri_mr * mr, struct ri_pd *pd, const struct ri_mr_init *init, uint32_t *stag),
     (mr, pd, init, stag))
GATE(mem, mr_query, MR_QUERY, mr, (struct ri_mr * mr, struct ri_mr_attr *attr), (mr, attr))
GATE(mem, mw_alloc, MW_ALLOC, pd,
     (struct ri_pd * pd, enum ri_mw_type type, struct ri_mw **out, uint32_t *stag),
     (pd, type, out, stag))
GATE(mem, mw_query, MW_QUERY, mw, (struct ri_mw * mw, struct ri_mr_attr *attr), (mw, attr))

/* --- address handles ---------------------------------------------------------------------------- */

GATE(ah, create, AH_CREATE, pd,
     (struct ri_pd * pd, const struct ri_ah_init *init, struct ri_ah **out, uint32_t *id),
     (pd, init, out, id))
GATE(ah, modify, AH_MODIFY, ah, (struct ri_ah * ah, const struct ri_ah_init *init), (ah, init))

/* --- connections by address --------------------------------------------------------------------- */

GATE(cm, listen, LISTEN, context,
     (struct ri_context * context, uint64_t ctx, uint32_t port, struct ri_service *service,
      uint32_t backlog, struct ri_listen **out),
     (context, ctx, port, service, backlog, out))
GATE_ALONE(cm, connect, CONNECT, qp, (struct ri_qp * qp, const struct ri_cm_params *params),
	   (qp, params))
GATE_ALONE(cm, accept, ACCEPT, qp,
	   (struct ri_request * request, struct ri_qp *qp, const struct ri_cm_params *params),
	   (request, qp, params))
GATE_ALONE(cm, confirm, CONFIRM, qp,
	   (struct ri_qp * qp, bool accept, const void *pdata, uint16_t len),
	   (qp, accept, pdata, len))
GATE_ALONE(cm, disconnect, DISCONNECT, qp, (struct ri_qp * qp, const void *pdata, uint16_t len),
	   (qp, pdata, len))
GATE(cm, resolve, RESOLVE, context,
     (struct ri_context * context, uint64_t ctx, const struct ri_cm_params *params),
     (context, ctx, params))

/* --- connections over a stream ------------------------------------------------------------------ */

GATE_ALONE(llp, reserve, RESERVE, qp, (struct ri_qp * qp), (qp))
GATE_ALONE(llp, attach_stream, ATTACH_STREAM, qp,
	   (struct ri_qp * qp, const struct ri_stream *stream), (qp, stream))

/* --- connections by attributes, groups ------------------------------------------------------------ */

GATE(peer, receive, PEER_RECEIVE, qp, (struct ri_qp * qp, const struct ri_peer *peer), (qp, peer))
GATE(peer, send, PEER_SEND, qp, (struct ri_qp * qp, const struct ri_peer *peer), (qp, peer))
GATE(qp, mcast_attach, MCAST_ATTACH, qp, (struct ri_qp * qp, const struct ri_addr *group),
     (qp, group))

/* --- user halves -------------------------------------------------------------------------------- */

GATE(user, cq_open, CQ_OPEN, wrap_mapped(map),
     (struct ri_urnic * rnic, const struct ri_map *map, struct ri_ucq **out), (rnic, map, out))
GATE(user, qp_open, QP_OPEN, wrap_mapped(map),
     (struct ri_urnic * rnic, const struct ri_map *map, struct ri_ucq *send_cq,
      struct ri_ucq *recv_cq, struct ri_usrq *srq, struct ri_uqp **out),
     (rnic, map, send_cq, recv_cq, srq, out))
GATE(user, srq_open, SRQ_OPEN, wrap_mapped(map),
     (struct ri_urnic * rnic, const struct ri_map *map, struct ri_usrq **out), (rnic, map, out))

/* --- the fast path ------------------------------------------------------------------------------ */

GATE(fast, post_sq, POST_SQ, qp, (struct ri_uqp * qp, const struct ri_wr *wr), (qp, wr))
GATE(fast, post_rq, POST_RQ, qp, (struct ri_uqp * qp, const struct ri_recv_wr *wr), (qp, wr))
GATE(fast, post_srq, POST_SRQ, srq, (struct ri_usrq * srq, const struct ri_recv_wr *wr), (srq, wr))

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
	ops->device.query_port = device_query_port;
	ops->device.route = device_route;
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
	ops->mem.mr_reg = mem_mr_reg;
	ops->mem.mr_reg_dmabuf = mem_mr_reg_dmabuf;
	ops->mem.mr_rereg = mem_mr_rereg;
	ops->mem.mr_query = mem_mr_query;
	ops->mem.mw_alloc = mem_mw_alloc;
	ops->mem.mw_query = mem_mw_query;
	ops->ah.create = ah_create;
	ops->ah.modify = ah_modify;
	ops->cm.listen = cm_listen;
	ops->cm.connect = cm_connect;
	ops->cm.accept = cm_accept;
	ops->cm.confirm = cm_confirm;
	ops->cm.disconnect = cm_disconnect;
	ops->cm.resolve = cm_resolve;
	ops->llp.reserve = llp_reserve;
	ops->llp.attach_stream = llp_attach_stream;
	ops->peer.receive = peer_receive;
	ops->peer.send = peer_send;
	ops->qp.mcast_attach = qp_mcast_attach;
	ops->user.cq_open = user_cq_open;
	ops->user.qp_open = user_qp_open;
	ops->user.srq_open = user_srq_open;
	ops->fast.post_sq = fast_post_sq;
	ops->fast.post_rq = fast_post_rq;
	ops->fast.post_srq = fast_post_srq;
	ops->qp.destroy = qp_destroy;
	ops->fast.poll_cq = poll_cq;
}
