/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The verbs that pass every call on: adapters, domains, queues, queue pairs. Optional ones may be absent behind them. */
#include "wrap.h"

#include <stddef.h>
#include <string.h>

/* --- adapters ------------------------------------------------------------------------------- */

static void
device_close(struct ri_rnic *rnic)
{
	wrap_in(rnic)->device.close(wrap_inner(rnic));
}

static enum ri_status
device_query(struct ri_rnic *rnic, struct ri_rnic_attr *attr)
{
	enum ri_status status = wrap_in(rnic)->device.query(wrap_inner(rnic), attr);
	const size_t known = offsetof(struct ri_rnic_attr, inline_data);

	/* Before 1.7 there was padding, which an older provider leaves as it is. */
	if (wrap_in(rnic)->provider.abi_minor < 7 && attr->size > known)
		memset((char *)attr + known, 0, attr->size - known);
	/* The first version had the name already. */
	if (status == RI_SUCCESS)
		memcpy(attr->name, wrap_rnic_of(rnic)->name, sizeof(attr->name));
	return status;
}

WRAP_PASS(enum ri_status, device, query_port, rnic,
	  (struct ri_rnic * rnic, uint32_t port, struct ri_port_attr *attr),
	  (wrap_inner(rnic), port, attr))

static enum ri_status
context_create(struct ri_rnic *rnic, const struct ri_owner *owner, struct ri_context **out,
	       struct ri_map *map)
{
	struct wrap_obj *context;
	struct ri_context *inner = NULL;
	enum ri_status status;

	if (owner->shared)
		return RI_ERR_UNSUPPORTED;
	context = wrap_new(rnic, WRAP_CONTEXT);
	if (context == NULL)
		return RI_ERR_RESOURCES;
	status = wrap_in(rnic)->device.context_create(wrap_inner(rnic), owner, &inner,
						      &context->map);
	if (status != RI_SUCCESS) {
		wrap_free(context);
		return status;
	}
	wrap_map(map, context);
	*out = wrap_ready(context, inner);
	return RI_SUCCESS;
}

static void
context_destroy(struct ri_context *context)
{
	wrap_in(context)->device.context_destroy(wrap_inner(context));
	wrap_free_context(wrap_of(context));
}

WRAP_PASS(enum ri_status, device, route, rnic,
	  (struct ri_rnic * rnic, const struct ri_addr *peer, struct ri_addr *local,
	   uint32_t *port),
	  (wrap_inner(rnic), peer, local, port))

WRAP_PASS(size_t, device, dump, rnic, (struct ri_rnic * rnic, char *text, size_t room),
	  (wrap_inner(rnic), text, room))

/* --- domains and completion queues ------------------------------------------------------------ */

static enum ri_status
pd_create(struct ri_context *context, struct ri_pd **out)
{
	struct wrap_obj *pd = wrap_new(context, WRAP_PD);
	struct ri_pd *inner = NULL;
	enum ri_status status = RI_ERR_RESOURCES;

	if (pd != NULL)
		status = wrap_in(context)->pd.create(wrap_inner(context), &inner);
	if (status == RI_SUCCESS)
		*out = wrap_ready(pd, inner);
	else
		wrap_free(pd);
	return status;
}

WRAP_PASS_END(pd, destroy, ri_pd)

static enum ri_status
cq_create(struct ri_context *context, uint64_t ctx, uint32_t *entries, struct ri_cq **out,
	  struct ri_map *map)
{
	struct wrap_obj *cq = wrap_new(context, WRAP_CQ);
	struct ri_cq *inner = NULL;
	enum ri_status status = RI_ERR_RESOURCES;

	if (cq != NULL)
		status = wrap_in(context)->cq.create(wrap_inner(context), ctx, entries, &inner,
						     &cq->map);
	if (status != RI_SUCCESS) {
		wrap_free(cq);
		return status;
	}
	cq->ctx = ctx;
	cq->entries = *entries;
	wrap_map(map, cq);
	*out = wrap_ready(cq, inner);
	return RI_SUCCESS;
}

static enum ri_status
cq_resize(struct ri_cq *cq, uint32_t *entries, struct ri_map *map)
{
	const struct ri_cq_ops *in = &wrap_in(cq)->cq;
	struct wrap_obj *obj = wrap_of(cq);
	struct ri_map changed = {.fd = -1};
	enum ri_status status = in->resize(wrap_inner(cq), entries, &changed);

	if (status != RI_SUCCESS)
		return status;
	obj->map = changed;
	obj->entries = *entries;
	wrap_map(map, obj);
	return RI_SUCCESS;
}

WRAP_PASS_END(cq, destroy, ri_cq)

/* --- shared receive queues -------------------------------------------------------------------- */

static enum ri_status
srq_create(struct ri_pd *pd, struct ri_srq_attr *attr, struct ri_srq **out, struct ri_map *map)
{
	const struct ri_srq_ops *in = &wrap_in(pd)->srq;
	struct wrap_obj *srq = wrap_new(pd, WRAP_SRQ);
	struct ri_srq *inner = NULL;
	enum ri_status status = RI_ERR_RESOURCES;

	if (srq != NULL)
		status = in->create(wrap_inner(pd), attr, &inner, &srq->map);
	if (status != RI_SUCCESS) {
		wrap_free(srq);
		return status;
	}
	srq->pd = wrap_of(pd);
	srq->ctx = attr->ctx;
	wrap_map(map, srq);
	*out = wrap_ready(srq, inner);
	return RI_SUCCESS;
}

static enum ri_status
srq_modify(struct ri_srq *srq, struct ri_srq_attr *attr, bool resize, struct ri_map *map)
{
	struct wrap_obj *obj = wrap_of(srq);
	struct ri_map changed = {.fd = -1};
	enum ri_status status = wrap_in(srq)->srq.modify(wrap_inner(srq), attr, resize, &changed);

	if (status == RI_SUCCESS && resize) {
		obj->map = changed;
		wrap_map(map, obj);
	}
	return status;
}

WRAP_PASS(enum ri_status, srq, query, srq, (struct ri_srq * srq, struct ri_srq_attr *attr),
	  (wrap_inner(srq), attr))
WRAP_PASS_END(srq, destroy, ri_srq)

/* --- queue pairs ------------------------------------------------------------------------------ */

static enum ri_status
qp_create(struct ri_pd *pd, struct ri_qp_init *init, struct ri_cq *send_cq, struct ri_cq *recv_cq,
	  struct ri_srq *srq, struct ri_qp **out, struct ri_map *map)
{
	struct wrap_obj *qp = wrap_new(pd, WRAP_QP);
	struct ri_qp *inner = NULL;
	enum ri_status status = RI_ERR_RESOURCES;

	if (qp != NULL)
		status = wrap_in(pd)->qp.create(wrap_inner(pd), init, wrap_inner(send_cq),
						wrap_inner(recv_cq), wrap_inner(srq), &inner,
						&qp->map);
	if (status != RI_SUCCESS) {
		wrap_free(qp);
		return status;
	}
	qp->pd = wrap_of(pd);
	qp->cqs[0] = wrap_of(send_cq);
	qp->cqs[1] = wrap_of(recv_cq);
	qp->srq = wrap_of(srq);
	qp->ctx = init->ctx;
	qp->qp = *init;
	wrap_map(map, qp);
	*out = wrap_ready(qp, inner);
	return RI_SUCCESS;
}

WRAP_PASS(enum ri_status, qp, modify, qp,
	  (struct ri_qp * qp, const struct ri_qp_attr *attr, uint32_t mask),
	  (wrap_inner(qp), attr, mask))
WRAP_PASS(enum ri_status, qp, query, qp, (struct ri_qp * qp, struct ri_qp_attr *attr),
	  (wrap_inner(qp), attr))
WRAP_PASS_END(qp, destroy, ri_qp)

static enum ri_status
qp_resize(struct ri_qp *qp, struct ri_qp_attr *attr, struct ri_map *map)
{
	const struct ri_qp_ops *in = &wrap_in(qp)->qp;
	struct wrap_obj *obj = wrap_of(qp);
	struct ri_map changed = {.fd = -1};
	enum ri_status status = in->resize(wrap_inner(qp), attr, &changed);

	if (status != RI_SUCCESS)
		return status;
	obj->map = changed;
	wrap_map(map, obj);
	return RI_SUCCESS;
}

WRAP_PASS(enum ri_status, qp, mcast_attach, qp, (struct ri_qp * qp, const struct ri_addr *group),
	  (wrap_inner(qp), group))
WRAP_PASS(enum ri_status, qp, mcast_detach, qp, (struct ri_qp * qp, const struct ri_addr *group),
	  (wrap_inner(qp), group))

/* --- the tables ------------------------------------------------------------------------------- */

const struct ri_device_ops wrap_plain_device_ops = {
	.size = sizeof(struct ri_device_ops),
	.close = device_close,
	.query = device_query,
	.query_port = device_query_port,
	.context_create = context_create,
	.context_destroy = context_destroy,
	.route = device_route,
	.dump = device_dump,
};

const struct ri_pd_ops wrap_plain_pd_ops = {
	.size = sizeof(struct ri_pd_ops),
	.create = pd_create,
	.destroy = pd_destroy,
};

const struct ri_cq_ops wrap_plain_cq_ops = {
	.size = sizeof(struct ri_cq_ops),
	.create = cq_create,
	.resize = cq_resize,
	.destroy = cq_destroy,
};

const struct ri_srq_ops wrap_plain_srq_ops = {
	.size = sizeof(struct ri_srq_ops),
	.create = srq_create,
	.modify = srq_modify,
	.query = srq_query,
	.destroy = srq_destroy,
};

const struct ri_qp_ops wrap_plain_qp_ops = {
	.size = sizeof(struct ri_qp_ops),
	.create = qp_create,
	.modify = qp_modify,
	.query = qp_query,
	.destroy = qp_destroy,
	.resize = qp_resize,
	.mcast_attach = qp_mcast_attach,
	.mcast_detach = qp_mcast_detach,
};
