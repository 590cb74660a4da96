/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The entries that are registered with the access layer: each calls the entry of its adapter,
 * wrap_rnic::ops. So one process can open several adapters with different defects.
 */
#include "wrap.h"

static const struct wrap_ops *
ops_of(const void *handle)
{
	return &wrap_of(handle)->rnic->ops;
}

/* The entry NAME of a table, which calls the same entry of the adapter to which the handle belongs. */
#define ENTRY(type, table, name, handle, params, args)  \
	static type table##_##name params               \
	{                                               \
		return ops_of(handle)->table.name args; \
	}
#define ENTRY_VOID(table, name, handle, params, args) \
	static void table##_##name params             \
	{                                             \
		ops_of(handle)->table.name args;      \
	}

/* --- adapters ----------------------------------------------------------------------------------- */

ENTRY_VOID(device, close, rnic, (struct ri_rnic * rnic), (rnic))
ENTRY(enum ri_status, device, query, rnic, (struct ri_rnic * rnic, struct ri_rnic_attr *attr),
      (rnic, attr))
ENTRY(enum ri_status, device, query_port, rnic,
      (struct ri_rnic * rnic, uint32_t port, struct ri_port_attr *attr), (rnic, port, attr))
ENTRY(enum ri_status, device, context_create, rnic,
      (struct ri_rnic * rnic, const struct ri_owner *owner, struct ri_context **out,
       struct ri_map *map),
      (rnic, owner, out, map))
ENTRY_VOID(device, context_destroy, context, (struct ri_context * context), (context))
ENTRY(enum ri_status, device, route, rnic,
      (struct ri_rnic * rnic, const struct ri_addr *peer, struct ri_addr *local, uint32_t *port),
      (rnic, peer, local, port))
ENTRY(size_t, device, dump, rnic, (struct ri_rnic * rnic, char *text, size_t room),
      (rnic, text, room))

/* --- protection domains ------------------------------------------------------------------------- */

ENTRY(enum ri_status, pd, create, context, (struct ri_context * context, struct ri_pd **out),
      (context, out))
ENTRY(enum ri_status, pd, destroy, pd, (struct ri_pd * pd), (pd))

/* --- completion queues -------------------------------------------------------------------------- */

ENTRY(enum ri_status, cq, create, context,
      (struct ri_context * context, uint64_t ctx, uint32_t *entries, struct ri_cq **out,
       struct ri_map *map),
      (context, ctx, entries, out, map))
ENTRY(enum ri_status, cq, resize, cq, (struct ri_cq * cq, uint32_t *entries, struct ri_map *map),
      (cq, entries, map))
ENTRY(enum ri_status, cq, destroy, cq, (struct ri_cq * cq), (cq))

/* --- shared receive queues ---------------------------------------------------------------------- */

ENTRY(enum ri_status, srq, create, pd,
      (struct ri_pd * pd, struct ri_srq_attr *attr, struct ri_srq **out, struct ri_map *map),
      (pd, attr, out, map))
ENTRY(enum ri_status, srq, modify, srq,
      (struct ri_srq * srq, struct ri_srq_attr *attr, bool resize, struct ri_map *map),
      (srq, attr, resize, map))
ENTRY(enum ri_status, srq, query, srq, (struct ri_srq * srq, struct ri_srq_attr *attr), (srq, attr))
ENTRY(enum ri_status, srq, destroy, srq, (struct ri_srq * srq), (srq))

/* --- queue pairs -------------------------------------------------------------------------------- */

ENTRY(enum ri_status, qp, create, pd,
      (struct ri_pd * pd, struct ri_qp_init *init, struct ri_cq *send_cq, struct ri_cq *recv_cq,
       struct ri_srq *srq, struct ri_qp **out, struct ri_map *map),
      (pd, init, send_cq, recv_cq, srq, out, map))
ENTRY(enum ri_status, qp, modify, qp,
      (struct ri_qp * qp, const struct ri_qp_attr *attr, uint32_t mask), (qp, attr, mask))
ENTRY(enum ri_status, qp, query, qp, (struct ri_qp * qp, struct ri_qp_attr *attr), (qp, attr))
ENTRY(enum ri_status, qp, destroy, qp, (struct ri_qp * qp), (qp))
ENTRY(enum ri_status, qp, resize, qp,
      (struct ri_qp * qp, struct ri_qp_attr *attr, struct ri_map *map), (qp, attr, map))
ENTRY(enum ri_status, qp, mcast_attach, qp, (struct ri_qp * qp, const struct ri_addr *group),
      (qp, group))
ENTRY(enum ri_status, qp, mcast_detach, qp, (struct ri_qp * qp, const struct ri_addr *group),
      (qp, group))

/* --- memory ------------------------------------------------------------------------------------- */

ENTRY(enum ri_status, mem, mr_reg, pd,
      (struct ri_pd * pd, const struct ri_mr_init *init, struct ri_mr **out, uint32_t *stag),
      (pd, init, out, stag))
ENTRY(enum ri_status, mem, mr_reg_dmabuf, pd,
      (struct ri_pd * pd, const struct ri_mr_init *init, const struct ri_dmabuf *from,
       struct ri_mr **out, uint32_t *stag),
      (pd, init, from, out, stag))
ENTRY(enum ri_status, mem, mr_rereg, mr,
      (struct ri_mr * mr, struct ri_pd *pd, const struct ri_mr_init *init, uint32_t *stag),
      (mr, pd, init, stag))
ENTRY(enum ri_status, mem, mr_query, mr, (struct ri_mr * mr, struct ri_mr_attr *attr), (mr, attr))
ENTRY(enum ri_status, mem, mr_dereg, mr, (struct ri_mr * mr), (mr))
ENTRY(enum ri_status, mem, mw_alloc, pd,
      (struct ri_pd * pd, enum ri_mw_type type, struct ri_mw **out, uint32_t *stag),
      (pd, type, out, stag))
ENTRY(enum ri_status, mem, mw_query, mw, (struct ri_mw * mw, struct ri_mr_attr *attr), (mw, attr))
ENTRY(enum ri_status, mem, mw_free, mw, (struct ri_mw * mw), (mw))

/* --- address handles ---------------------------------------------------------------------------- */

ENTRY(enum ri_status, ah, create, pd,
      (struct ri_pd * pd, const struct ri_ah_init *init, struct ri_ah **out, uint32_t *id),
      (pd, init, out, id))
ENTRY(enum ri_status, ah, modify, ah, (struct ri_ah * ah, const struct ri_ah_init *init),
      (ah, init))
ENTRY(enum ri_status, ah, destroy, ah, (struct ri_ah * ah), (ah))

/* --- connections by address --------------------------------------------------------------------- */

ENTRY(enum ri_status, cm, listen, context,
      (struct ri_context * context, uint64_t ctx, uint32_t port, struct ri_service *service,
       uint32_t backlog, struct ri_listen **out),
      (context, ctx, port, service, backlog, out))
ENTRY_VOID(cm, listen_destroy, listen, (struct ri_listen * listen), (listen))
ENTRY(enum ri_status, cm, connect, qp, (struct ri_qp * qp, const struct ri_cm_params *params),
      (qp, params))
ENTRY(enum ri_status, cm, accept, request,
      (struct ri_request * request, struct ri_qp *qp, const struct ri_cm_params *params),
      (request, qp, params))
ENTRY(enum ri_status, cm, reject, request,
      (struct ri_request * request, enum ri_cm_reason reason, const void *pdata, uint16_t len),
      (request, reason, pdata, len))
ENTRY(enum ri_status, cm, confirm, qp,
      (struct ri_qp * qp, bool accept, const void *pdata, uint16_t len), (qp, accept, pdata, len))
ENTRY(enum ri_status, cm, disconnect, qp, (struct ri_qp * qp, const void *pdata, uint16_t len),
      (qp, pdata, len))
ENTRY(enum ri_status, cm, resolve, context,
      (struct ri_context * context, uint64_t ctx, const struct ri_cm_params *params),
      (context, ctx, params))
ENTRY_VOID(cm, resolve_cancel, context, (struct ri_context * context, uint64_t ctx), (context, ctx))
ENTRY(enum ri_status, cm, resolve_answer, request,
      (struct ri_request * request, const struct ri_service_answer *answer), (request, answer))

/* --- connections over a stream ------------------------------------------------------------------ */

ENTRY(enum ri_status, llp, reserve, qp, (struct ri_qp * qp), (qp))
ENTRY(enum ri_status, llp, attach_stream, qp, (struct ri_qp * qp, const struct ri_stream *stream),
      (qp, stream))

/* --- connections by attributes -------------------------------------------------------------------- */

ENTRY(enum ri_status, peer, receive, qp, (struct ri_qp * qp, const struct ri_peer *peer),
      (qp, peer))
ENTRY(enum ri_status, peer, send, qp, (struct ri_qp * qp, const struct ri_peer *peer), (qp, peer))

/* --- user halves -------------------------------------------------------------------------------- */

ENTRY(enum ri_status, user, rnic_open, wrap_mapped(map),
      (const struct ri_host *host, const struct ri_map *map, struct ri_urnic **out),
      (host, map, out))
ENTRY_VOID(user, rnic_close, rnic, (struct ri_urnic * rnic), (rnic))
ENTRY(enum ri_status, user, cq_open, rnic,
      (struct ri_urnic * rnic, const struct ri_map *map, struct ri_ucq **out), (rnic, map, out))
ENTRY(enum ri_status, user, cq_remap, cq, (struct ri_ucq * cq, const struct ri_map *map), (cq, map))
ENTRY_VOID(user, cq_close, cq, (struct ri_ucq * cq), (cq))
ENTRY(enum ri_status, user, qp_open, rnic,
      (struct ri_urnic * rnic, const struct ri_map *map, struct ri_ucq *send_cq,
       struct ri_ucq *recv_cq, struct ri_usrq *srq, struct ri_uqp **out),
      (rnic, map, send_cq, recv_cq, srq, out))
ENTRY_VOID(user, qp_close, qp, (struct ri_uqp * qp), (qp))
ENTRY(enum ri_status, user, srq_open, rnic,
      (struct ri_urnic * rnic, const struct ri_map *map, struct ri_usrq **out), (rnic, map, out))
ENTRY_VOID(user, srq_close, srq, (struct ri_usrq * srq), (srq))
ENTRY(enum ri_status, user, srq_remap, srq, (struct ri_usrq * srq, const struct ri_map *map),
      (srq, map))
ENTRY(enum ri_status, user, qp_remap, qp,
      (struct ri_uqp * qp, const struct ri_qp_attr *real, const struct ri_map *map),
      (qp, real, map))
ENTRY_VOID(user, qp_count, qp, (struct ri_uqp * qp, struct ri_qp_counters *counters),
	   (qp, counters))
ENTRY_VOID(user, cq_count, cq, (struct ri_ucq * cq, struct ri_cq_counters *counters),
	   (cq, counters))
ENTRY_VOID(user, srq_count, srq, (struct ri_usrq * srq, struct ri_qp_counters *counters),
	   (srq, counters))

/* --- the fast path ------------------------------------------------------------------------------ */

ENTRY(enum ri_status, fast, post_sq, qp, (struct ri_uqp * qp, const struct ri_wr *wr), (qp, wr))
ENTRY(enum ri_status, fast, post_rq, qp, (struct ri_uqp * qp, const struct ri_recv_wr *wr),
      (qp, wr))
ENTRY(enum ri_status, fast, post_srq, srq, (struct ri_usrq * srq, const struct ri_recv_wr *wr),
      (srq, wr))
ENTRY_VOID(fast, flush_sq, qp, (struct ri_uqp * qp), (qp))
ENTRY(uint32_t, fast, poll_cq, cq, (struct ri_ucq * cq, struct ri_wc *wc, uint32_t n), (cq, wc, n))
ENTRY(uint32_t, fast, cq_depth, cq, (struct ri_ucq * cq), (cq))
ENTRY(enum ri_status, fast, arm_cq, cq, (struct ri_ucq * cq, enum ri_arm how, uint32_t count),
      (cq, how, count))
ENTRY(uint32_t, fast, progress, rnic, (struct ri_urnic * rnic, uint32_t budget), (rnic, budget))
ENTRY(bool, fast, leader_enter, rnic, (struct ri_urnic * rnic, int *fd), (rnic, fd))
ENTRY_VOID(fast, leader_leave, rnic, (struct ri_urnic * rnic), (rnic))
ENTRY(bool, fast, spin_futile, rnic, (struct ri_urnic * rnic), (rnic))

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
	out->mem = (struct ri_mem_ops){.mr_reg = mem_mr_reg,
				       .mr_rereg = mem_mr_rereg,
				       .mr_query = mem_mr_query,
				       .mr_dereg = mem_mr_dereg,
				       .mw_alloc = mem_mw_alloc,
				       .mw_query = mem_mw_query,
				       .mw_free = mem_mw_free,
				       .mr_reg_dmabuf = mem_mr_reg_dmabuf};
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
					 .qp_remap = user_qp_remap,
					 .qp_count = user_qp_count,
					 .cq_count = user_cq_count,
					 .srq_count = user_srq_count};
	out->fast = (struct ri_fast_ops){.post_sq = fast_post_sq,
					 .post_rq = fast_post_rq,
					 .post_srq = fast_post_srq,
					 .flush_sq = fast_flush_sq,
					 .poll_cq = fast_poll_cq,
					 .cq_depth = fast_cq_depth,
					 .arm_cq = fast_arm_cq,
					 .progress = fast_progress,
					 .leader_enter = fast_leader_enter,
					 .leader_leave = fast_leader_leave,
					 .spin_futile = fast_spin_futile};
}
