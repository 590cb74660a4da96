/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Checked calls of ri_call.h: adapters, domains, queues, queue pairs, memory, address handles. Each
 * has the same three steps: check the arguments, make the call, check its result. Outputs reach the
 * caller only after a success that passed the check.
 *
 * Any thread; the caller makes only one call on an object at a time, as rnicpi.h requires.
 */

#include "ri_call.h"
#include "ri_log.h"

#include <stdio.h>
#include <string.h>

#define NO_OBJECT "succeeded without an object"
#define TOO_SMALL "granted less than was asked for"

#define FIRST_CLAIM_OF_1_7 offsetof(struct ri_rnic_attr, inline_data)

enum ri_status
ri_call_judge(const struct ri_caller *c, const char *verb, enum ri_status status, bool sane,
	      const char *what)
{
	if ((unsigned)status < RI_STATUS_COUNT && (status != RI_SUCCESS || sane))
		return status;
	if ((unsigned)status >= RI_STATUS_COUNT)
		what = "answered a status that does not exist";
	ri_log(c->host, RI_LOG_ERROR, &(struct ri_log_about){.layer = "kal", .adapter = c->name},
	       "the verb %s of the provider %s %s", verb, c->provider->name, what);
	return RI_ERR_PROVIDER;
}

/* --- adapters ------------------------------------------------------------------------------- */

enum ri_status
ri_call_probe(const struct ri_caller *c, struct ri_device_desc *descs, uint32_t *count)
{
	uint32_t room = *count;
	enum ri_status status = c->provider->device->probe(c->host, descs, count);

	for (uint32_t i = 0; i < room && i < *count; i++) {
		descs[i].name[sizeof(descs[i].name) - 1] = '\0';
		descs[i].description[sizeof(descs[i].description) - 1] = '\0';
	}
	return ri_call_judge(c, "device.probe", status, true, NULL);
}

enum ri_status
ri_call_open(const struct ri_caller *c, const struct ri_open *open, struct ri_rnic **out)
{
	struct ri_rnic *made = NULL;
	enum ri_status status = c->provider->device->open(open, &made);

	status = ri_call_judge(c, "device.open", status, made != NULL, NO_OBJECT);
	if (status == RI_SUCCESS)
		*out = made;
	return status;
}

void
ri_call_close(const struct ri_caller *c, struct ri_rnic *rnic)
{
	c->provider->device->close(rnic);
}

enum ri_status
ri_call_query(const struct ri_caller *c, struct ri_rnic *rnic, struct ri_rnic_attr *attr)
{
	uint32_t size = attr->size;
	enum ri_status status = c->provider->device->query(rnic, attr);

	attr->size = size;
	/* What comes here since 1.7 was padding before, which nobody sets. */
	if (c->provider->abi_minor < 7)
		memset((char *)attr + FIRST_CLAIM_OF_1_7, 0, sizeof(*attr) - FIRST_CLAIM_OF_1_7);
	return ri_call_judge(c, "device.query", status, true, NULL);
}

enum ri_status
ri_call_query_port(const struct ri_caller *c, struct ri_rnic *rnic, uint32_t port,
		   struct ri_port_attr *attr)
{
	uint32_t size = attr->size;
	enum ri_status status = c->provider->device->query_port(rnic, port, attr);

	attr->size = size;
	attr->if_name[sizeof(attr->if_name) - 1] = '\0';
	return ri_call_judge(c, "device.query_port", status, attr->num_addrs <= RI_PORT_ADDR_MAX,
			     "told more addresses than there is room for");
}

enum ri_status
ri_call_context_create(const struct ri_caller *c, struct ri_rnic *rnic,
		       const struct ri_owner *owner, struct ri_context **out, struct ri_map *map)
{
	struct ri_context *made = NULL;
	struct ri_map told = {.fd = -1};
	enum ri_status status = c->provider->device->context_create(rnic, owner, &made, &told);

	status = ri_call_judge(c, "device.context_create", status, made != NULL, NO_OBJECT);
	if (status == RI_SUCCESS) {
		*out = made;
		*map = told;
	}
	return status;
}

void
ri_call_context_destroy(const struct ri_caller *c, struct ri_context *context)
{
	c->provider->device->context_destroy(context);
}

enum ri_status
ri_call_route(const struct ri_caller *c, struct ri_rnic *rnic, const struct ri_addr *peer,
	      struct ri_addr *local, uint32_t *port)
{
	enum ri_status status;

	status = c->provider->device->route(rnic, peer, local, port);
	return ri_call_judge(c, "device.route", status, local->family != RI_ADDR_NONE,
			     "found a way without an address");
}

/* --- protection domains and queues ---------------------------------------------------------- */

enum ri_status
ri_call_pd_create(const struct ri_caller *c, struct ri_context *context, struct ri_pd **out)
{
	struct ri_pd *made = NULL;
	enum ri_status status = c->provider->pd->create(context, &made);

	status = ri_call_judge(c, "pd.create", status, made != NULL, NO_OBJECT);
	if (status == RI_SUCCESS)
		*out = made;
	return status;
}

enum ri_status
ri_call_pd_destroy(const struct ri_caller *c, struct ri_pd *pd)
{
	return ri_call_judge(c, "pd.destroy", c->provider->pd->destroy(pd), true, NULL);
}

enum ri_status
ri_call_cq_create(const struct ri_caller *c, struct ri_context *context, uint64_t ctx,
		  uint32_t *entries, struct ri_cq **out, struct ri_map *map)
{
	uint32_t granted = *entries;
	struct ri_cq *made = NULL;
	struct ri_map told = {.fd = -1};
	enum ri_status status = c->provider->cq->create(context, ctx, &granted, &made, &told);
	bool enough = granted >= *entries;

	status = ri_call_judge(c, "cq.create", status, made != NULL && enough,
			       made == NULL ? NO_OBJECT : TOO_SMALL);
	if (status == RI_SUCCESS) {
		*entries = granted;
		*out = made;
		*map = told;
	} else if (status == RI_ERR_PROVIDER && made != NULL) {
		(void)!c->provider->cq->destroy(made);
	}
	return status;
}

enum ri_status
ri_call_cq_resize(const struct ri_caller *c, struct ri_cq *cq, uint32_t *entries,
		  struct ri_map *map)
{
	uint32_t granted = *entries;
	struct ri_map told = {.fd = -1};
	enum ri_status status;

	status = c->provider->cq->resize(cq, &granted, &told);
	status = ri_call_judge(c, "cq.resize", status, granted >= *entries, TOO_SMALL);
	if (status == RI_SUCCESS) {
		*entries = granted;
		*map = told;
	}
	return status;
}

enum ri_status
ri_call_cq_destroy(const struct ri_caller *c, struct ri_cq *cq)
{
	return ri_call_judge(c, "cq.destroy", c->provider->cq->destroy(cq), true, NULL);
}

enum ri_status
ri_call_srq_create(const struct ri_caller *c, struct ri_pd *pd, struct ri_srq_attr *attr,
		   struct ri_srq **out, struct ri_map *map)
{
	struct ri_srq_attr granted = *attr;
	struct ri_srq *made = NULL;
	struct ri_map told = {.fd = -1};
	enum ri_status status;
	bool enough;

	status = c->provider->srq->create(pd, &granted, &made, &told);
	enough = granted.max_wr >= attr->max_wr && granted.max_sge >= attr->max_sge;
	status = ri_call_judge(c, "srq.create", status, made != NULL && enough,
			       made == NULL ? NO_OBJECT : TOO_SMALL);
	if (status == RI_SUCCESS) {
		*attr = granted;
		*out = made;
		*map = told;
	} else if (status == RI_ERR_PROVIDER && made != NULL) {
		(void)!c->provider->srq->destroy(made);
	}
	return status;
}

enum ri_status
ri_call_srq_modify(const struct ri_caller *c, struct ri_srq *srq, struct ri_srq_attr *attr,
		   bool resize, struct ri_map *map)
{
	struct ri_srq_attr granted = *attr;
	struct ri_map told = {.fd = -1};
	enum ri_status status = c->provider->srq->modify(srq, &granted, resize, &told);

	status = ri_call_judge(c, "srq.modify", status, !resize || granted.max_wr >= attr->max_wr,
			       TOO_SMALL);
	if (status == RI_SUCCESS) {
		*attr = granted;
		*map = told;
	}
	return status;
}

enum ri_status
ri_call_srq_query(const struct ri_caller *c, struct ri_srq *srq, struct ri_srq_attr *attr)
{
	return ri_call_judge(c, "srq.query", c->provider->srq->query(srq, attr), true, NULL);
}

enum ri_status
ri_call_srq_destroy(const struct ri_caller *c, struct ri_srq *srq)
{
	return ri_call_judge(c, "srq.destroy", c->provider->srq->destroy(srq), true, NULL);
}

/* --- queue pairs ------------------------------------------------------------------------------ */

enum ri_status
ri_call_qp_make(const struct ri_caller *c, const struct ri_qp_parents *parents,
		struct ri_qp_init *init, struct ri_qp **out, struct ri_map *map)
{
	struct ri_qp_init granted = *init;
	struct ri_qp *made = NULL;
	struct ri_map told = {.fd = -1};
	enum ri_status status;
	bool enough;

	if (parents->pd == NULL ||
	    (init->type != RI_QP_NUMBER && (parents->send_cq == NULL || parents->recv_cq == NULL)))
		return RI_ERR_INVALID_ARG;
	status = c->provider->qp->create(parents->pd, &granted, parents->send_cq, parents->recv_cq,
					 parents->srq, &made, &told);
	bool srq = parents->srq != NULL;
	/* Sizes are minima (that of a receive queue only without an SRQ), and a depth that is wanted is at least 1. */
	enough = granted.ctx == init->ctx && granted.max_sq_wr >= init->max_sq_wr &&
		 (srq || granted.max_rq_wr >= init->max_rq_wr) &&
		 granted.max_send_sge >= init->max_send_sge &&
		 granted.max_recv_sge >= init->max_recv_sge &&
		 granted.max_write_sge >= init->max_write_sge &&
		 granted.max_read_sge >= init->max_read_sge &&
		 granted.max_inline >= init->max_inline && (init->ird == 0 || granted.ird > 0) &&
		 (init->ord == 0 || granted.ord > 0);
	status = ri_call_judge(c, "qp.create", status, made != NULL && enough,
			       made == NULL ? NO_OBJECT : TOO_SMALL);
	if (status == RI_SUCCESS) {
		*init = granted;
		*out = made;
		*map = told;
	} else if (status == RI_ERR_PROVIDER && made != NULL) {
		(void)!c->provider->qp->destroy(made);
	}
	return status;
}

enum ri_status
ri_call_qp_modify(const struct ri_caller *c, struct ri_qp *qp, const struct ri_qp_attr *attr,
		  uint32_t mask)
{
	if ((mask & RI_QP_ATTR_STATE) != 0 &&
	    (attr->state == RI_QPS_NONE || attr->state >= RI_QPS_COUNT))
		return RI_ERR_INVALID_ARG;
	return ri_call_judge(c, "qp.modify", c->provider->qp->modify(qp, attr, mask), true, NULL);
}

enum ri_status
ri_call_qp_resize(const struct ri_caller *c, struct ri_qp *qp, struct ri_qp_attr *attr,
		  struct ri_map *map)
{
	struct ri_qp_attr granted = *attr;
	struct ri_map told = {.fd = -1};
	enum ri_status status;

	status = c->provider->qp->resize(qp, &granted, &told);
	status = ri_call_judge(c, "qp.resize", status,
			       granted.max_sq_wr >= attr->max_sq_wr &&
				       granted.max_send_sge >= attr->max_send_sge &&
				       granted.max_recv_sge >= attr->max_recv_sge &&
				       granted.max_write_sge >= attr->max_write_sge &&
				       granted.max_read_sge >= attr->max_read_sge,
			       TOO_SMALL);
	if (status == RI_SUCCESS) {
		*attr = granted;
		*map = told;
	}
	return status;
}

enum ri_status
ri_call_qp_query(const struct ri_caller *c, struct ri_qp *qp, struct ri_qp_attr *attr)
{
	enum ri_status status;
	bool sane;

	memset(attr, 0, sizeof(*attr));
	status = c->provider->qp->query(qp, attr);
	sane = attr->state > RI_QPS_NONE && attr->state < RI_QPS_COUNT &&
	       attr->terminate_len <= RI_TERMINATE_MAX;
	return ri_call_judge(c, "qp.query", status, sane, "told a state that does not exist");
}

enum ri_status
ri_call_qp_destroy(const struct ri_caller *c, struct ri_qp *qp)
{
	return ri_call_judge(c, "qp.destroy", c->provider->qp->destroy(qp), true, NULL);
}

enum ri_status
ri_call_mcast_attach(const struct ri_caller *c, struct ri_qp *qp, const struct ri_addr *group)
{
	return ri_call_judge(c, "qp.mcast_attach", c->provider->qp->mcast_attach(qp, group), true,
			     NULL);
}

enum ri_status
ri_call_mcast_detach(const struct ri_caller *c, struct ri_qp *qp, const struct ri_addr *group)
{
	return ri_call_judge(c, "qp.mcast_detach", c->provider->qp->mcast_detach(qp, group), true,
			     NULL);
}

/* --- memory ----------------------------------------------------------------------------------- */

/* A region as a provider has made it. */
struct made_mr {
	struct ri_mr *mr;
	uint32_t stag;
};

/* What a registration has made, if that can be. */
static enum ri_status
mr_judge(const struct ri_caller *c, const char *verb, enum ri_status status,
	 const struct made_mr *made)
{
	status = ri_call_judge(c, verb, status, made->mr != NULL && made->stag != 0,
			       made->mr == NULL ? NO_OBJECT : "gave STag 0 away");
	if (status == RI_ERR_PROVIDER && made->mr != NULL)
		(void)!c->provider->mem->mr_dereg(made->mr);
	return status;
}

enum ri_status
ri_call_mr_reg(const struct ri_caller *c, struct ri_pd *pd, const struct ri_mr_init *init,
	       struct ri_mr **out, uint32_t *stag)
{
	struct made_mr made = {0};
	enum ri_status status = c->provider->mem->mr_reg(pd, init, &made.mr, &made.stag);

	status = mr_judge(c, "mem.mr_reg", status, &made);
	if (status == RI_SUCCESS) {
		*out = made.mr;
		*stag = made.stag;
	}
	return status;
}

enum ri_status
ri_call_mr_reg_dmabuf(const struct ri_caller *c, struct ri_pd *pd, const struct ri_mr_init *init,
		      const struct ri_dmabuf *from, struct ri_mr **out, uint32_t *stag)
{
	struct made_mr made = {0};
	enum ri_status status;

	status = c->provider->mem->mr_reg_dmabuf(pd, init, from, &made.mr, &made.stag);
	status = mr_judge(c, "mem.mr_reg_dmabuf", status, &made);
	if (status == RI_SUCCESS) {
		*out = made.mr;
		*stag = made.stag;
	}
	return status;
}

enum ri_status
ri_call_mr_rereg(const struct ri_caller *c, struct ri_mr *mr, struct ri_pd *pd,
		 const struct ri_mr_init *init, uint32_t *stag)
{
	uint32_t told = 0;
	enum ri_status status;

	status = c->provider->mem->mr_rereg(mr, pd, init, &told);
	status = ri_call_judge(c, "mem.mr_rereg", status, told != 0, "gave STag 0 away");
	if (status == RI_SUCCESS)
		*stag = told;
	return status;
}

enum ri_status
ri_call_mr_query(const struct ri_caller *c, struct ri_mr *mr, struct ri_mr_attr *attr)
{
	return ri_call_judge(c, "mem.mr_query", c->provider->mem->mr_query(mr, attr), true, NULL);
}

enum ri_status
ri_call_mr_dereg(const struct ri_caller *c, struct ri_mr *mr)
{
	return ri_call_judge(c, "mem.mr_dereg", c->provider->mem->mr_dereg(mr), true, NULL);
}

enum ri_status
ri_call_mw_alloc(const struct ri_caller *c, struct ri_pd *pd, enum ri_mw_type type,
		 struct ri_mw **out, uint32_t *stag)
{
	struct ri_mw *made = NULL;
	uint32_t told = 0;
	enum ri_status status;

	status = c->provider->mem->mw_alloc(pd, type, &made, &told);
	status = ri_call_judge(c, "mem.mw_alloc", status, made != NULL, NO_OBJECT);
	if (status == RI_SUCCESS) {
		*out = made;
		*stag = told;
	}
	return status;
}

enum ri_status
ri_call_mw_query(const struct ri_caller *c, struct ri_mw *mw, struct ri_mr_attr *attr)
{
	return ri_call_judge(c, "mem.mw_query", c->provider->mem->mw_query(mw, attr), true, NULL);
}

enum ri_status
ri_call_mw_free(const struct ri_caller *c, struct ri_mw *mw)
{
	return ri_call_judge(c, "mem.mw_free", c->provider->mem->mw_free(mw), true, NULL);
}

/* --- address handles -------------------------------------------------------------------------- */

enum ri_status
ri_call_ah_create(const struct ri_caller *c, struct ri_pd *pd, const struct ri_ah_init *init,
		  struct ri_ah **out, uint32_t *id)
{
	struct ri_ah *made = NULL;
	uint32_t told = 0;
	enum ri_status status;

	status = c->provider->ah->create(pd, init, &made, &told);
	status = ri_call_judge(c, "ah.create", status, made != NULL, NO_OBJECT);
	if (status == RI_SUCCESS) {
		*out = made;
		*id = told;
	}
	return status;
}

enum ri_status
ri_call_ah_modify(const struct ri_caller *c, struct ri_ah *ah, const struct ri_ah_init *init)
{
	return ri_call_judge(c, "ah.modify", c->provider->ah->modify(ah, init), true, NULL);
}

enum ri_status
ri_call_ah_destroy(const struct ri_caller *c, struct ri_ah *ah)
{
	return ri_call_judge(c, "ah.destroy", c->provider->ah->destroy(ah), true, NULL);
}
