/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Objects go: by a call, or because their adapter does (kal_adapters.c). One with children stays, and
 * one that the provider still needs; on failure nothing has changed.
 */
#include "kal_objects.h"

static enum ri_status
destroy_qp(struct kal_qp *qp)
{
	enum ri_status status;

	kal_conn_retire(qp->conn);
	status = ri_call_qp_destroy(&qp->pd->rnic->caller, qp->qp);
	if (status != RI_SUCCESS) {
		kal_conn_restore(qp->conn);
		return status;
	}
	kal_conn_free(qp->conn);
	kal_news_forget_ctx(qp->pd->rnic->client, RI_OBJECT_QP, qp->ctx);
	qp->pd->object.children--;
	qp->send_cq->object.children--;
	qp->recv_cq->object.children--;
	if (qp->srq != NULL)
		qp->srq->object.children--;
	return RI_SUCCESS;
}

static enum ri_status
destroy_in_pd(struct kal_pd *pd, enum ri_status status)
{
	if (status == RI_SUCCESS)
		pd->object.children--;
	return status;
}

static enum ri_status
destroy_cq(struct kal_client *client, struct kal_cq *cq)
{
	enum ri_status status = ri_call_cq_destroy(&cq->rnic->caller, cq->cq);

	if (status == RI_SUCCESS)
		kal_news_forget(client, &cq->fired);
	return status;
}

static enum ri_status
destroy_mr(struct kal_client *client, struct kal_mr *mr)
{
	enum ri_status status = ri_call_mr_dereg(&mr->pd->rnic->caller, mr->mr);

	if (status == RI_SUCCESS)
		kal_account_give(&client->account, KAL_RESOURCE_MEMORY, mr->length);
	return destroy_in_pd(mr->pd, status);
}

static enum ri_status
destroy_srq(struct kal_client *client, struct kal_srq *srq)
{
	enum ri_status status = ri_call_srq_destroy(&srq->pd->rnic->caller, srq->srq);

	if (status == RI_SUCCESS)
		kal_news_forget_ctx(client, RI_OBJECT_SRQ, srq->ctx);
	return destroy_in_pd(srq->pd, status);
}

static enum ri_status
unmake(struct kal_client *client, struct kal_object *object)
{
	struct kal_pd *pd;

	switch (object->type) {
	case RI_OBJECT_QP:
		return destroy_qp((struct kal_qp *)object);
	case RI_OBJECT_CQ:
		return destroy_cq(client, (struct kal_cq *)object);
	case RI_OBJECT_SRQ:
		return destroy_srq(client, (struct kal_srq *)object);
	case RI_OBJECT_PD:
		pd = (struct kal_pd *)object;
		return ri_call_pd_destroy(&pd->rnic->caller, pd->pd);
	case RI_OBJECT_MR:
		return destroy_mr(client, (struct kal_mr *)object);
	case RI_OBJECT_MW:
		pd = ((struct kal_mw *)object)->pd;
		return destroy_in_pd(
			pd, ri_call_mw_free(&pd->rnic->caller, ((struct kal_mw *)object)->mw));
	case RI_OBJECT_AH:
		pd = ((struct kal_ah *)object)->pd;
		return destroy_in_pd(
			pd, ri_call_ah_destroy(&pd->rnic->caller, ((struct kal_ah *)object)->ah));
	case RI_OBJECT_LISTEN:
		kal_listen_destroy(((struct kal_listen *)object)->listener);
		return RI_SUCCESS;
	case RI_OBJECT_NONE:
	case RI_OBJECT_RNIC:
	case RI_OBJECT_PORT:
	case RI_OBJECT_REQUEST:
	case RI_OBJECT_CLIENT:
	case RI_OBJECT_COUNT:
	default:
		return RI_ERR_INVALID_HANDLE;
	}
}

enum ri_status
kal_object_destroy(struct kal_client *client, struct kal_object *object)
{
	enum ri_status status = object->children > 0 ? RI_ERR_BUSY : unmake(client, object);

	if (status == RI_SUCCESS) {
		kal_object_remove(client, object);
		g_free(object);
	}
	return status;
}

/* The type of what each call unmakes. */
static const uint8_t types[KAL_CALL_COUNT] = {
	[KAL_PD_DESTROY] = RI_OBJECT_PD,   [KAL_CQ_DESTROY] = RI_OBJECT_CQ,
	[KAL_SRQ_DESTROY] = RI_OBJECT_SRQ, [KAL_QP_DESTROY] = RI_OBJECT_QP,
	[KAL_MR_DEREG] = RI_OBJECT_MR,     [KAL_MW_FREE] = RI_OBJECT_MW,
	[KAL_AH_DESTROY] = RI_OBJECT_AH,   [KAL_LISTEN_DESTROY] = RI_OBJECT_LISTEN,
};

static enum ri_status
destroy(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	struct kal_object *object = kal_object_get(client, ((const struct kal_id_req *)req)->id,
						   (enum ri_object)types[msg->call]);

	(void)rep;
	return object != NULL ? kal_object_destroy(client, object) : RI_ERR_INVALID_HANDLE;
}

#define DESTROY                                              \
	{                                                    \
		destroy, sizeof(struct kal_id_req), 0, false \
	}
const struct kal_handler kal_unmake_handlers[KAL_CALL_COUNT] = {
	[KAL_PD_DESTROY] = DESTROY, [KAL_CQ_DESTROY] = DESTROY,     [KAL_SRQ_DESTROY] = DESTROY,
	[KAL_QP_DESTROY] = DESTROY, [KAL_MR_DEREG] = DESTROY,       [KAL_MW_FREE] = DESTROY,
	[KAL_AH_DESTROY] = DESTROY, [KAL_LISTEN_DESTROY] = DESTROY,
};
