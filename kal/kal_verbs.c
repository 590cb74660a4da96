/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Calls on adapters, protection domains, completion queues, shared receive queues. */
#include <stdlib.h>
#include <string.h>

#include "kal_check.h"
#include "kal_objects.h"

/* --- adapters ------------------------------------------------------------------------------- */

static enum ri_status
adapter_list(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	(void)req;
	(void)rep;
	return kal_adapters_list(client, msg);
}

static enum ri_status
rnic_open(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	const struct kal_rnic_open_req *in = req;
	struct kal_rnic_open_rep *out = rep;
	struct kal_rnic *rnic;
	enum ri_status status;

	(void)msg;
	if (memchr(in->name, '\0', sizeof(in->name)) == NULL)
		return RI_ERR_NO_DEVICE;
	status = kal_rnic_open(client, in->name, &rnic);
	if (status != RI_SUCCESS)
		return status;
	out->id = rnic->object.id;
	out->privileged = client->privileged;
	out->drop_disconnect_data = client->config->drop_disconnect_data;
	out->drop_broken_events = client->config->drop_broken_events;
	out->attr = rnic->attr;
	out->map = rnic->map;
	return RI_SUCCESS;
}

static enum ri_status
rnic_close(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	struct kal_rnic *rnic;

	(void)rep;
	(void)msg;
	while (client->apart > 0)
		kal_apart_wait(client);
	rnic = kal_object_get(client, ((const struct kal_id_req *)req)->id, RI_OBJECT_RNIC);
	if (rnic == NULL)
		return RI_ERR_INVALID_HANDLE;
	kal_rnic_close(rnic);
	return RI_SUCCESS;
}

static enum ri_status
port_query(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	const struct kal_port_query_req *in = req;
	struct kal_rnic *rnic = kal_object_get(client, in->rnic, RI_OBJECT_RNIC);
	struct ri_port_attr *attr = rep;

	(void)msg;
	if (rnic == NULL)
		return RI_ERR_INVALID_HANDLE;
	attr->size = sizeof(*attr);
	return ri_call_query_port(&rnic->caller, rnic->rnic, in->port, attr);
}

static enum ri_status
path_query(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	const struct kal_path_query_req *in = req;
	struct kal_rnic *rnic = kal_object_get(client, in->rnic, RI_OBJECT_RNIC);

	(void)msg;
	if (kal_addr_is_invalid(&in->peer) || kal_addr_is_invalid(&in->local))
		return RI_ERR_INVALID_ARG;
	return rnic != NULL ? kal_path_query(rnic, in, rep) : RI_ERR_INVALID_HANDLE;
}

/* --- protection domains and queues ---------------------------------------------------------- */

static enum ri_status
pd_create(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	struct kal_rnic *rnic =
		kal_object_get(client, ((const struct kal_id_req *)req)->id, RI_OBJECT_RNIC);
	g_autofree struct kal_pd *pd = calloc(1, sizeof(*pd));
	enum ri_status status;

	(void)msg;
	if (rnic == NULL)
		return RI_ERR_INVALID_HANDLE;
	if (pd == NULL)
		return RI_ERR_RESOURCES;
	pd->rnic = rnic;
	status = ri_call_pd_create(&rnic->caller, rnic->context, &pd->pd);
	if (status != RI_SUCCESS)
		return status;
	status = kal_object_enter(client, RI_OBJECT_PD, &pd->object);
	if (status != RI_SUCCESS) {
		(void)!ri_call_pd_destroy(&rnic->caller, pd->pd);
		return status;
	}
	((struct kal_id_rep *)rep)->id = g_steal_pointer(&pd)->object.id;
	return RI_SUCCESS;
}

static enum ri_status
cq_create(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	const struct kal_cq_create_req *in = req;
	struct kal_cq_rep *out = rep;
	struct kal_rnic *rnic = kal_object_get(client, in->rnic, RI_OBJECT_RNIC);
	g_autofree struct kal_cq *cq = calloc(1, sizeof(*cq));
	enum ri_status status;

	(void)msg;
	if (rnic == NULL)
		return RI_ERR_INVALID_HANDLE;
	if (in->entries == 0)
		return RI_ERR_INVALID_ARG;
	if (in->entries > rnic->attr.max_cqe)
		return RI_ERR_LIMIT;
	if (cq == NULL)
		return RI_ERR_RESOURCES;
	cq->rnic = rnic;
	cq->ctx = in->ctx;
	cq->fired.home = KAL_NODE_OWN;
	cq->fired.kind = KAL_EVENT_CQ;
	cq->fired.ctx = in->ctx;
	out->entries = in->entries;
	status = ri_call_cq_create(&rnic->caller, rnic->context, (uint64_t)(uintptr_t)cq,
				   &out->entries, &cq->cq, &out->map);
	if (status != RI_SUCCESS)
		return status;
	status = kal_object_enter(client, RI_OBJECT_CQ, &cq->object);
	if (status != RI_SUCCESS) {
		(void)!ri_call_cq_destroy(&rnic->caller, cq->cq);
		return status;
	}
	cq->live = kal_live_take(KAL_LIVE_CQ, rnic->live);
	out->id = g_steal_pointer(&cq)->object.id;
	return RI_SUCCESS;
}

static enum ri_status
cq_resize(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	const struct kal_cq_resize_req *in = req;
	struct kal_cq_rep *out = rep;
	struct kal_cq *cq = kal_object_get(client, in->id, RI_OBJECT_CQ);

	(void)msg;
	if (cq == NULL)
		return RI_ERR_INVALID_HANDLE;
	if (!cq->rnic->attr.cq_resizable)
		return RI_ERR_UNSUPPORTED;
	if (in->entries == 0)
		return RI_ERR_INVALID_ARG;
	if (in->entries > cq->rnic->attr.max_cqe)
		return RI_ERR_LIMIT;
	out->id = in->id;
	out->entries = in->entries;
	return ri_call_cq_resize(&cq->rnic->caller, cq->cq, &out->entries, &out->map);
}

static enum ri_status
srq_create(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	const struct kal_srq_req *in = req;
	struct kal_srq_rep *out = rep;
	struct kal_pd *pd = kal_object_get(client, in->id, RI_OBJECT_PD);
	g_autofree struct kal_srq *srq = calloc(1, sizeof(*srq));
	const struct ri_caller *caller;
	enum ri_status status;

	(void)msg;
	if (pd == NULL)
		return RI_ERR_INVALID_HANDLE;
	if (!pd->rnic->attr.srq)
		return RI_ERR_UNSUPPORTED;
	if (in->attr.max_wr == 0 || in->resize != 0)
		return RI_ERR_INVALID_ARG;
	if (srq == NULL)
		return RI_ERR_RESOURCES;
	caller = &pd->rnic->caller;
	srq->pd = pd;
	srq->ctx = in->attr.ctx;
	out->attr = in->attr;
	out->attr.ctx = (uint64_t)(uintptr_t)srq;
	status = ri_call_srq_create(caller, pd->pd, &out->attr, &srq->srq, &out->map);
	out->attr.ctx = in->attr.ctx;
	if (status != RI_SUCCESS)
		return status;
	status = kal_object_enter(client, RI_OBJECT_SRQ, &srq->object);
	if (status != RI_SUCCESS) {
		(void)!ri_call_srq_destroy(caller, srq->srq);
		return status;
	}
	pd->object.children++;
	srq->live = kal_live_take(KAL_LIVE_SRQ, pd->rnic->live);
	out->id = g_steal_pointer(&srq)->object.id;
	return RI_SUCCESS;
}

static enum ri_status
srq_modify(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	const struct kal_srq_req *in = req;
	struct kal_srq_rep *out = rep;
	struct kal_srq *srq = kal_object_get(client, in->id, RI_OBJECT_SRQ);

	(void)msg;
	if (srq == NULL)
		return RI_ERR_INVALID_HANDLE;
	if (kal_flag_is_invalid(in->resize))
		return RI_ERR_INVALID_ARG;
	if (in->resize && !srq->pd->rnic->attr.srq_resizable)
		return RI_ERR_UNSUPPORTED;
	if (in->resize && in->attr.max_wr == 0)
		return RI_ERR_INVALID_ARG;
	out->id = in->id;
	out->attr = in->attr;
	return ri_call_srq_modify(&srq->pd->rnic->caller, srq->srq, &out->attr, in->resize != 0,
				  &out->map);
}

static enum ri_status
srq_query(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	struct kal_srq_rep *out = rep;
	struct kal_srq *srq =
		kal_object_get(client, ((const struct kal_id_req *)req)->id, RI_OBJECT_SRQ);

	(void)msg;
	if (srq == NULL)
		return RI_ERR_INVALID_HANDLE;
	out->id = srq->object.id;
	return ri_call_srq_query(&srq->pd->rnic->caller, srq->srq, &out->attr);
}

const struct kal_handler kal_verbs_handlers[KAL_CALL_COUNT] = {
	[KAL_ADAPTER_LIST] = {adapter_list, sizeof(struct kal_adapter_list_req),
			      sizeof(struct kal_adapter_list_rep), false},
	[KAL_RNIC_OPEN] = {rnic_open, sizeof(struct kal_rnic_open_req),
			   sizeof(struct kal_rnic_open_rep), false},
	[KAL_RNIC_CLOSE] = {rnic_close, sizeof(struct kal_id_req), 0, false},
	[KAL_PORT_QUERY] = {port_query, sizeof(struct kal_port_query_req),
			    sizeof(struct ri_port_attr), false},
	[KAL_PATH_QUERY] = {path_query, sizeof(struct kal_path_query_req),
			    sizeof(struct kal_path_query_rep), false},
	[KAL_PD_CREATE] = {pd_create, sizeof(struct kal_id_req), sizeof(struct kal_id_rep), false},
	[KAL_CQ_CREATE] = {cq_create, sizeof(struct kal_cq_create_req), sizeof(struct kal_cq_rep),
			   false},
	[KAL_CQ_RESIZE] = {cq_resize, sizeof(struct kal_cq_resize_req), sizeof(struct kal_cq_rep),
			   false},
	[KAL_SRQ_CREATE] = {srq_create, sizeof(struct kal_srq_req), sizeof(struct kal_srq_rep),
			    false},
	[KAL_SRQ_MODIFY] = {srq_modify, sizeof(struct kal_srq_req), sizeof(struct kal_srq_rep),
			    false},
	[KAL_SRQ_QUERY] = {srq_query, sizeof(struct kal_id_req), sizeof(struct kal_srq_rep), false},
};
