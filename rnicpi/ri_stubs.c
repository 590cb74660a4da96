/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Functions in place of entries that a provider lacks: they return RI_ERR_UNSUPPORTED, or do nothing if the entry has no
 * result. So a caller of a provider never tests an entry for NULL.
 *
 * The stub of a creating verb never succeeds, so those of the verbs that destroy or modify what it creates are never called
 * with an object.
 */
#include "ri_registry.h"

/* The parameters have the types that the tables give them; none is used. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define REFUSE(name, ...)                       \
	static enum ri_status name(__VA_ARGS__) \
	{                                       \
		return RI_ERR_UNSUPPORTED;      \
	}

REFUSE(route, struct ri_rnic *rnic, const struct ri_addr *peer, struct ri_addr *local,
       uint32_t *port)

static size_t
dump(struct ri_rnic *rnic, char *text, size_t room)
{
	if (room > 0)
		text[0] = '\0';
	return 0;
}

REFUSE(cq_resize, struct ri_cq *cq, uint32_t *entries, struct ri_map *map)

REFUSE(srq_create, struct ri_pd *pd, struct ri_srq_attr *attr, struct ri_srq **out,
       struct ri_map *map)
REFUSE(srq_modify, struct ri_srq *srq, struct ri_srq_attr *attr, bool resize, struct ri_map *map)
REFUSE(srq_query, struct ri_srq *srq, struct ri_srq_attr *attr)
REFUSE(srq_destroy, struct ri_srq *srq)

REFUSE(qp_resize, struct ri_qp *qp, struct ri_qp_attr *attr, struct ri_map *map)
REFUSE(mcast, struct ri_qp *qp, const struct ri_addr *group)

REFUSE(mr_rereg, struct ri_mr *mr, struct ri_pd *pd, const struct ri_mr_init *init, uint32_t *stag)
REFUSE(mr_reg_dmabuf, struct ri_pd *pd, const struct ri_mr_init *init, const struct ri_dmabuf *from,
       struct ri_mr **out, uint32_t *stag)
REFUSE(mw_alloc, struct ri_pd *pd, enum ri_mw_type type, struct ri_mw **out, uint32_t *stag)
REFUSE(mw_query, struct ri_mw *mw, struct ri_mr_attr *attr)
REFUSE(mw_free, struct ri_mw *mw)

REFUSE(ah_create, struct ri_pd *pd, const struct ri_ah_init *init, struct ri_ah **out, uint32_t *id)
REFUSE(ah_modify, struct ri_ah *ah, const struct ri_ah_init *init)
REFUSE(ah_destroy, struct ri_ah *ah)

REFUSE(listen, struct ri_context *context, uint64_t ctx, uint32_t port, struct ri_service *service,
       uint32_t backlog, struct ri_listen **out)

static void
listen_destroy(struct ri_listen *listen)
{
}

REFUSE(cm_connect, struct ri_qp *qp, const struct ri_cm_params *params)
REFUSE(cm_accept, struct ri_request *request, struct ri_qp *qp, const struct ri_cm_params *params)
REFUSE(reject, struct ri_request *request, enum ri_cm_reason reason, const void *pdata,
       uint16_t len)
REFUSE(confirm, struct ri_qp *qp, bool accept, const void *pdata, uint16_t len)
REFUSE(disconnect, struct ri_qp *qp, const void *pdata, uint16_t len)
REFUSE(resolve, struct ri_context *context, uint64_t ctx, const struct ri_cm_params *params)

static void
resolve_cancel(struct ri_context *context, uint64_t ctx)
{
}

REFUSE(resolve_answer, struct ri_request *request, const struct ri_service_answer *answer)

REFUSE(reserve, struct ri_qp *qp)
REFUSE(attach_stream, struct ri_qp *qp, const struct ri_stream *stream)

REFUSE(peer, struct ri_qp *qp, const struct ri_peer *peer)

REFUSE(cq_remap, struct ri_ucq *cq, const struct ri_map *map)
REFUSE(srq_open, struct ri_urnic *rnic, const struct ri_map *map, struct ri_usrq **out)

static void
srq_close(struct ri_usrq *srq)
{
}

REFUSE(srq_remap, struct ri_usrq *srq, const struct ri_map *map)
REFUSE(qp_remap, struct ri_uqp *qp, const struct ri_qp_attr *real, const struct ri_map *map)

static void
qp_count(struct ri_uqp *qp, struct ri_qp_counters *counters)
{
}

static void
cq_count(struct ri_ucq *cq, struct ri_cq_counters *counters)
{
}

static void
srq_count(struct ri_usrq *srq, struct ri_qp_counters *counters)
{
}

REFUSE(post_srq, struct ri_usrq *srq, const struct ri_recv_wr *wr)

static uint32_t
progress(struct ri_urnic *rnic, uint32_t budget)
{
	return 0;
}

static bool
leader_enter(struct ri_urnic *rnic, int *fd)
{
	return false;
}

static void
leader_leave(struct ri_urnic *rnic)
{
}

static bool
spin_futile(struct ri_urnic *rnic)
{
	return false;
}

const struct ri_loaded ri_stubs = {
	.device = {.route = route, .dump = dump},
	.cq = {.resize = cq_resize},
	.srq = {.create = srq_create,
		.modify = srq_modify,
		.query = srq_query,
		.destroy = srq_destroy},
	.qp = {.resize = qp_resize, .mcast_attach = mcast, .mcast_detach = mcast},
	.mem = {.mr_rereg = mr_rereg,
		.mr_reg_dmabuf = mr_reg_dmabuf,
		.mw_alloc = mw_alloc,
		.mw_query = mw_query,
		.mw_free = mw_free},
	.ah = {.create = ah_create, .modify = ah_modify, .destroy = ah_destroy},
	.cm = {.listen = listen,
	       .listen_destroy = listen_destroy,
	       .connect = cm_connect,
	       .accept = cm_accept,
	       .reject = reject,
	       .confirm = confirm,
	       .disconnect = disconnect,
	       .resolve = resolve,
	       .resolve_cancel = resolve_cancel,
	       .resolve_answer = resolve_answer},
	.llp = {.reserve = reserve, .attach_stream = attach_stream},
	.peer = {.receive = peer, .send = peer},
	.user = {.cq_remap = cq_remap,
		 .srq_open = srq_open,
		 .srq_close = srq_close,
		 .srq_remap = srq_remap,
		 .qp_remap = qp_remap,
		 .qp_count = qp_count,
		 .cq_count = cq_count,
		 .srq_count = srq_count},
	.fast = {.post_srq = post_srq,
		 .progress = progress,
		 .leader_enter = leader_enter,
		 .leader_leave = leader_leave,
		 .spin_futile = spin_futile},
};
