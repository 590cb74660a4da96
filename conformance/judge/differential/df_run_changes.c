/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Performs changes of what lives on. */
#include "df_run.h"

#include <string.h>

static it_status_t
ep_modify(const struct df_run *run, const struct df_step *step)
{
	static const struct {
		int bit;
		unsigned mask;
	} rows[] = {
		{DF_CHANGE_SQ, IT_EP_PARAM_MAX_REQ_DTO},
		{DF_CHANGE_RQ, IT_EP_PARAM_MAX_RECV_DTO},
		{DF_CHANGE_ENABLE, IT_EP_PARAM_RDMA_RD_ENABLE | IT_EP_PARAM_RDMA_WR_ENABLE |
					   IT_EP_PARAM_ATOMICS_ENABLE},
		{DF_CHANGE_IRD, IT_EP_PARAM_MAX_IRD},
		{DF_CHANGE_ORD, IT_EP_PARAM_MAX_ORD},
		{DF_CHANGE_PAYLOAD, IT_EP_PARAM_MAX_PAYLOAD},
	};
	const struct world_node *node = &run->world->node[df_node(step->ep)];
	it_ep_attributes_t attr = world_attributes(node, step);
	unsigned mask = 0;

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
		mask |= (step->flags & rows[i].bit) != 0 ? rows[i].mask : 0;
	return it_ep_modify(run->world->ep[step->ep].handle, (it_ep_param_mask_t)mask, &attr);
}

static it_status_t
evd_size(const struct df_run *run, const struct df_step *step)
{
	it_evd_param_t params;

	memset(&params, 0, sizeof(params));
	params.sevd_queue_size = (size_t)step->a;
	return it_evd_modify(run->world->node[step->obj].evd[step->how], IT_EVD_PARAM_QUEUE_SIZE,
			     &params);
}

static it_status_t
srq_size(const struct df_run *run, const struct df_step *step)
{
	it_srq_param_t params;

	memset(&params, 0, sizeof(params));
	params.max_recv_dtos = (size_t)step->rq;
	return it_srq_modify(run->world->srq[step->obj], IT_SRQ_PARAM_MAX_RECV_DTO, &params);
}

/* A listener that comes back has the port of the one before, unless somebody else has taken it meanwhile. */
static it_status_t
listen_change(struct df_run *run, const struct df_step *step)
{
	struct world_node *node = &run->world->node[step->obj];
	it_conn_qual_t any = {.type = node->qual.type};
	it_status_t status;

	if (step->how == 0) {
		status = it_listen_free(node->listen);
		if (status == IT_SUCCESS)
			node->listen = NULL;
		return status;
	}
	status = it_listen_create(node->ia, node->spigot, node->evd[WORLD_CM_REQUEST],
				  IT_LISTEN_CONN_QUAL_INPUT, &node->qual, &node->listen);
	if (status != IT_ERR_CONN_QUAL_BUSY)
		return status;
	status = it_listen_create(node->ia, node->spigot, node->evd[WORLD_CM_REQUEST],
				  IT_LISTEN_NO_FLAG, &any, &node->listen);
	if (status == IT_SUCCESS)
		node->qual = any;
	return status;
}

it_status_t
run_change(struct df_run *run, const struct df_step *step)
{
	switch ((int)step->kind) {
	case DF_EP_MODIFY:
		return ep_modify(run, step);
	case DF_EVD_SIZE:
		return evd_size(run, step);
	case DF_EVD_WAY:
		return ways_go(&run->world->node[step->obj].ways, (unsigned)step->how,
			       (enum df_way)step->a);
	case DF_SRQ_SIZE:
		return srq_size(run, step);
	default:
		return listen_change(run, step);
	}
}
