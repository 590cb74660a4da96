/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Destruction of objects, by a call or because their adapter is closed (kal_adapters.c). An object with children
 * cannot be destroyed, nor one that the provider still needs; on failure nothing has changed.
 */
#include <stdlib.h>

#include "kal_objects.h"

/* The object is destroyed or abandoned: its parents lose a child, and its memory leaves the account. */
static void
parents_release(struct kal_client *client, struct kal_object *object)
{
	const struct kal_qp *qp = (const struct kal_qp *)object;

	switch (object->type) {
	case RI_OBJECT_QP:
		qp->pd->object.children--;
		if (qp->send_cq != NULL) {
			qp->send_cq->object.children--;
			qp->recv_cq->object.children--;
		}
		if (qp->srq != NULL)
			qp->srq->object.children--;
		break;
	case RI_OBJECT_SRQ:
		((struct kal_srq *)object)->pd->object.children--;
		break;
	case RI_OBJECT_MR:
		((struct kal_mr *)object)->pd->object.children--;
		kal_account_give(&client->account, KAL_RESOURCE_MEMORY,
				 ((struct kal_mr *)object)->length);
		break;
	case RI_OBJECT_MW:
		((struct kal_mw *)object)->pd->object.children--;
		break;
	case RI_OBJECT_AH:
		((struct kal_ah *)object)->pd->object.children--;
		break;
	case RI_OBJECT_PD:
	case RI_OBJECT_CQ:
	case RI_OBJECT_LISTEN:
	case RI_OBJECT_NONE:
	case RI_OBJECT_RNIC:
	case RI_OBJECT_PORT:
	case RI_OBJECT_REQUEST:
	case RI_OBJECT_CLIENT:
	case RI_OBJECT_COUNT:
	default:
		break;
	}
}

/* No upcall names the object any more: its connection and its queued events go, and the struct is freed. */
void
kal_object_free(struct kal_client *client, struct kal_object *object)
{
	if (object->type == RI_OBJECT_QP) {
		kal_conn_show(((struct kal_qp *)object)->conn, NULL);
		kal_live_give(((struct kal_qp *)object)->live);
		kal_conn_free(((struct kal_qp *)object)->conn);
		kal_events_forget_ctx(client, RI_OBJECT_QP, ((struct kal_qp *)object)->ctx);
	} else if (object->type == RI_OBJECT_CQ) {
		kal_live_give(((struct kal_cq *)object)->live);
		kal_events_forget(client, &((struct kal_cq *)object)->fired);
		kal_events_forget_ctx(client, RI_OBJECT_CQ, ((struct kal_cq *)object)->ctx);
	} else if (object->type == RI_OBJECT_LISTEN) {
		kal_live_give(((struct kal_listen *)object)->live);
	} else if (object->type == RI_OBJECT_SRQ) {
		kal_live_give(((struct kal_srq *)object)->live);
		kal_events_forget_ctx(client, RI_OBJECT_SRQ, ((struct kal_srq *)object)->ctx);
	}
	free(object);
}

static enum ri_status
destroy_qp(struct kal_qp *qp)
{
	enum ri_status status;

	kal_conn_retire(qp->conn);
	status = ri_call_qp_destroy(&qp->pd->rnic->caller, qp->qp);
	if (status != RI_SUCCESS)
		kal_conn_restore(qp->conn);
	return status;
}

/* Destroy the provider's object. */
static enum ri_status
provider_destroy(struct kal_object *object)
{
	struct kal_pd *pd;
	struct kal_cq *cq;

	switch (object->type) {
	case RI_OBJECT_QP:
		return destroy_qp((struct kal_qp *)object);
	case RI_OBJECT_CQ:
		cq = (struct kal_cq *)object;
		return ri_call_cq_destroy(&cq->rnic->caller, cq->cq);
	case RI_OBJECT_SRQ:
		pd = ((struct kal_srq *)object)->pd;
		return ri_call_srq_destroy(&pd->rnic->caller, ((struct kal_srq *)object)->srq);
	case RI_OBJECT_PD:
		pd = (struct kal_pd *)object;
		return ri_call_pd_destroy(&pd->rnic->caller, pd->pd);
	case RI_OBJECT_MR:
		pd = ((struct kal_mr *)object)->pd;
		return ri_call_mr_dereg(&pd->rnic->caller, ((struct kal_mr *)object)->mr);
	case RI_OBJECT_MW:
		pd = ((struct kal_mw *)object)->pd;
		return ri_call_mw_free(&pd->rnic->caller, ((struct kal_mw *)object)->mw);
	case RI_OBJECT_AH:
		pd = ((struct kal_ah *)object)->pd;
		return ri_call_ah_destroy(&pd->rnic->caller, ((struct kal_ah *)object)->ah);
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
	enum ri_status status = object->children > 0 ? RI_ERR_BUSY : provider_destroy(object);

	if (status != RI_SUCCESS)
		return status;
	parents_release(client, object);
	kal_object_remove(client, object);
	kal_object_free(client, object);
	return RI_SUCCESS;
}

void
kal_object_abandon(struct kal_client *client, struct kal_object *object)
{
	if (object->type == RI_OBJECT_QP)
		kal_conn_retire(((struct kal_qp *)object)->conn);
	parents_release(client, object);
	kal_object_remove(client, object);
}

/* The type of object that each call destroys. */
static const uint8_t types[KAL_CALL_COUNT] = {
	[KAL_PD_DESTROY] = RI_OBJECT_PD,   [KAL_CQ_DESTROY] = RI_OBJECT_CQ,
	[KAL_SRQ_DESTROY] = RI_OBJECT_SRQ, [KAL_QP_DESTROY] = RI_OBJECT_QP,
	[KAL_MR_DEREG] = RI_OBJECT_MR,     [KAL_MW_FREE] = RI_OBJECT_MW,
	[KAL_AH_DESTROY] = RI_OBJECT_AH,   [KAL_LISTEN_DESTROY] = RI_OBJECT_LISTEN,
};

static enum ri_status
handle_destroy(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	struct kal_object *object = kal_object_get(client, ((const struct kal_id_req *)req)->id,
						   (enum ri_object)types[msg->call]);

	(void)rep;
	return object != NULL ? kal_object_destroy(client, object) : RI_ERR_INVALID_HANDLE;
}

#define DESTROY                                                     \
	{                                                           \
		handle_destroy, sizeof(struct kal_id_req), 0, false \
	}
const struct kal_handler kal_destroy_handlers[KAL_CALL_COUNT] = {
	[KAL_PD_DESTROY] = DESTROY, [KAL_CQ_DESTROY] = DESTROY,     [KAL_SRQ_DESTROY] = DESTROY,
	[KAL_QP_DESTROY] = DESTROY, [KAL_MR_DEREG] = DESTROY,       [KAL_MW_FREE] = DESTROY,
	[KAL_AH_DESTROY] = DESTROY, [KAL_LISTEN_DESTROY] = DESTROY,
};
