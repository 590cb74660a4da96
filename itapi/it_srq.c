/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Entry points: shared receive queues [IT 15.8]. */

#include "it_answer.h"
#include "it_check.h"
#include "ual.h"

#define QUERY_BITS  0x3eu
#define MODIFY_BITS ((unsigned int)(IT_SRQ_PARAM_MAX_RECV_DTO | IT_SRQ_PARAM_LOW_WATERMARK))

it_status_t
it_srq_create(IN it_pz_handle_t pz_handle, IN size_t max_recv_segments, IN size_t max_recv_dtos,
	      OUT it_srq_handle_t *srq_handle)
{
	UAL_VISIT struct ual_pz *pz = ual_pz_of(pz_handle);
	it_srq_handle_t made = NULL;
	it_status_t status;

	if (srq_handle != NULL)
		*srq_handle = NULL;
	if (pz == NULL)
		return IT_ANSWER(pz_handle, IT_ERR_INVALID_PZ);
	if (ual_dead(ual_ia_under(pz)))
		return IT_ANSWER(pz_handle, IT_ERR_IA_CATASTROPHE);
	if (srq_handle == NULL)
		return IT_ANSWER(pz_handle, IT_ERR_FAULT);
	status = ual_srq_create(pz, max_recv_segments, max_recv_dtos, &made);
	*srq_handle = made;
	return IT_ANSWER(pz_handle, status);
}

it_status_t
it_srq_free(IN it_srq_handle_t srq_handle)
{
	UAL_VISIT struct ual_srq *srq = ual_srq_of(srq_handle);

	return IT_ANSWER(srq_handle, srq != NULL ? ual_srq_free(srq) : IT_ERR_INVALID_SRQ);
}

it_status_t
it_srq_modify(IN it_srq_handle_t srq_handle, IN it_srq_param_mask_t mask,
	      IN const it_srq_param_t *params)
{
	UAL_VISIT struct ual_srq *srq = ual_srq_of(srq_handle);

	if (srq == NULL)
		return IT_ANSWER(srq_handle, IT_ERR_INVALID_SRQ);
	if (ual_dead(ual_ia_under(srq)))
		return IT_ANSWER(srq_handle, IT_ERR_IA_CATASTROPHE);
	if (mask == 0 || ((unsigned int)mask & ~MODIFY_BITS) != 0)
		return IT_ANSWER(srq_handle, IT_ERR_INVALID_MASK);
	if (params == NULL)
		return IT_ANSWER(srq_handle, IT_ERR_FAULT);
	return IT_ANSWER(srq_handle, ual_srq_modify(srq, mask, params));
}

it_status_t
it_srq_query(IN it_srq_handle_t srq_handle, IN it_srq_param_mask_t mask, OUT it_srq_param_t *params)
{
	UAL_VISIT struct ual_srq *srq = ual_srq_of(srq_handle);

	if (srq == NULL)
		return IT_ANSWER(srq_handle, IT_ERR_INVALID_SRQ);
	if (!query_mask_valid((unsigned int)mask, IT_SRQ_PARAM_ALL, QUERY_BITS))
		return IT_ANSWER(srq_handle, IT_ERR_INVALID_MASK);
	if (params == NULL)
		return IT_ANSWER(srq_handle, IT_ERR_FAULT);
	return IT_ANSWER(srq_handle, ual_srq_query(srq, mask, params));
}
