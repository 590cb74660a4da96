/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Entry points: shared receive queues (itapi-semantics 15.8). Of this release no adapter offers
 * them: none can be made, so no handle of one is valid.
 */

#include "ual.h"

static it_status_t
no_srq(it_srq_handle_t handle)
{
	return ual_object_get(handle, UAL_SRQ) != NULL ? IT_ERR_OP_NOT_SUPPORTED
						       : IT_ERR_INVALID_SRQ;
}

it_status_t
it_srq_create(IN it_pz_handle_t pz_handle, IN size_t max_recv_segments, IN size_t max_recv_dtos,
	      OUT it_srq_handle_t *srq_handle)
{
	(void)max_recv_segments;
	(void)max_recv_dtos;
	if (srq_handle != NULL)
		*srq_handle = NULL;
	if (ual_pz_of(pz_handle) == NULL)
		return IT_ERR_INVALID_PZ;
	return srq_handle != NULL ? IT_ERR_SRQ_NOT_SUPPORTED : IT_ERR_FAULT;
}

it_status_t
it_srq_free(IN it_srq_handle_t srq_handle)
{
	return no_srq(srq_handle);
}

it_status_t
it_srq_modify(IN it_srq_handle_t srq_handle, IN it_srq_param_mask_t mask,
	      IN const it_srq_param_t *params)
{
	(void)mask;
	(void)params;
	return no_srq(srq_handle);
}

it_status_t
it_srq_query(IN it_srq_handle_t srq_handle, IN it_srq_param_mask_t mask, OUT it_srq_param_t *params)
{
	(void)mask;
	(void)params;
	return no_srq(srq_handle);
}
