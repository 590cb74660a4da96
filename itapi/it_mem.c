/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Entry points: registered memory [IT 15.6]. Windows are in it_rmr.c. */

#include "it_answer.h"
#include "it_check.h"
#include "ual.h"

#define QUERY_BITS 0x7ffeu
#define MODIFY_BITS                                                                 \
	((unsigned int)(IT_LMR_PARAM_PZ | IT_LMR_PARAM_ADDR | IT_LMR_PARAM_LENGTH | \
			IT_LMR_PARAM_MEM_PRIV | IT_LMR_PARAM_ADDR_MODE))

it_status_t
it_lmr_make(it_pz_handle_t pz_handle, const struct ual_lmr_wanted *wanted,
	    it_lmr_handle_t *lmr_handle, it_rmr_context_t *rmr_context)
{
	UAL_VISIT struct ual_pz *pz = ual_pz_of(pz_handle);
	it_lmr_handle_t made = NULL;
	it_status_t status;

	if (lmr_handle != NULL)
		*lmr_handle = NULL;
	if (pz == NULL)
		return IT_ERR_INVALID_PZ;
	if (ual_dead(ual_ia_under(pz)))
		return IT_ERR_IA_CATASTROPHE;
	if (lmr_handle == NULL ||
	    (wanted->addr == NULL && wanted->iobl == NULL && wanted->dmabuf == NULL))
		return IT_ERR_FAULT;
	status = ual_lmr_create(pz, wanted, &made, rmr_context);
	*lmr_handle = made;
	return status;
}

it_status_t
it_lmr_create21(IN it_pz_handle_t pz_handle, IN void *addr, IN it_iobl_t *iobl,
		IN it_length_t length, IN it_addr_mode_t addr_mode, IN it_mem_priv_t privs,
		IN it_lmr_flag_t flags, IN uint32_t shared_id, OUT it_lmr_handle_t *lmr_handle,
		IN OUT it_rmr_context_t *rmr_context)
{
	const struct ual_lmr_wanted wanted = {
		.addr = addr,
		.iobl = iobl,
		.length = length,
		.addr_mode = addr_mode,
		.privs = privs,
		.flags = flags,
		.shared_id = shared_id,
	};

	return IT_ANSWER(pz_handle, it_lmr_make(pz_handle, &wanted, lmr_handle, rmr_context));
}

it_status_t
it_lmr_create20(IN it_pz_handle_t pz_handle, IN void *addr, IN it_length_t length,
		IN it_addr_mode_t addr_mode, IN it_mem_priv_t privs, IN it_lmr_flag_t flags,
		IN uint32_t shared_id, OUT it_lmr_handle_t *lmr_handle,
		IN OUT it_rmr_context_t *rmr_context)
{
	return it_lmr_create21(pz_handle, addr, NULL, length, addr_mode, privs, flags, shared_id,
			       lmr_handle, rmr_context);
}

it_status_t
it_lmr_create10(IN it_pz_handle_t pz_handle, IN void *addr, IN it_length_t length,
		IN it_mem_priv_t privs, IN it_lmr_flag_t flags, IN uint32_t shared_id,
		OUT it_lmr_handle_t *lmr_handle, IN OUT it_rmr_context_t *rmr_context)
{
	return it_lmr_create21(pz_handle, addr, NULL, length, IT_ADDR_MODE_ABSOLUTE, privs, flags,
			       shared_id, lmr_handle, rmr_context);
}

it_status_t
it_lmr_free(IN it_lmr_handle_t lmr_handle)
{
	UAL_VISIT struct ual_lmr *lmr = ual_lmr_of(lmr_handle);

	return IT_ANSWER(lmr_handle, lmr != NULL ? ual_lmr_free(lmr) : IT_ERR_INVALID_LMR);
}

it_status_t
it_lmr_query(IN it_lmr_handle_t lmr_handle, IN it_lmr_param_mask_t mask, OUT it_lmr_param_t *params)
{
	UAL_VISIT struct ual_lmr *lmr = ual_lmr_of(lmr_handle);

	if (lmr == NULL)
		return IT_ANSWER(lmr_handle, IT_ERR_INVALID_LMR);
	if (!query_mask_valid((unsigned int)mask, IT_LMR_PARAM_ALL, QUERY_BITS))
		return IT_ANSWER(lmr_handle, IT_ERR_INVALID_MASK);
	if (params == NULL)
		return IT_ANSWER(lmr_handle, IT_ERR_FAULT);
	ual_lmr_query(lmr, mask, params);
	return IT_ANSWER(lmr_handle, IT_SUCCESS);
}

static it_status_t
sync_segments(const it_lmr_triplet_t *local_segments, size_t num_segments)
{
	if (num_segments == 0)
		return IT_ERR_INVALID_NUM_SEGMENTS;
	return local_segments != NULL ? ual_lmr_sync(local_segments, num_segments) : IT_ERR_FAULT;
}

it_status_t
it_lmr_flush_to_mem(IN const it_lmr_triplet_t *local_segments, IN size_t num_segments)
{
	return IT_ANSWER(NULL, sync_segments(local_segments, num_segments));
}

it_status_t
it_lmr_refresh_from_mem(IN const it_lmr_triplet_t *local_segments, IN size_t num_segments)
{
	return IT_ANSWER(NULL, sync_segments(local_segments, num_segments));
}

it_status_t
it_lmr_modify(IN it_lmr_handle_t lmr_handle, IN it_lmr_param_mask_t mask,
	      IN const it_lmr_param_t *params)
{
	UAL_VISIT struct ual_lmr *lmr = ual_lmr_of(lmr_handle);

	if (lmr == NULL)
		return IT_ANSWER(lmr_handle, IT_ERR_INVALID_LMR);
	if (ual_dead(ual_ia_under(lmr)))
		return IT_ANSWER(lmr_handle, IT_ERR_IA_CATASTROPHE);
	if (mask == 0 || ((unsigned int)mask & ~MODIFY_BITS) != 0)
		return IT_ANSWER(lmr_handle, IT_ERR_INVALID_MASK);
	if (params == NULL)
		return IT_ANSWER(lmr_handle, IT_ERR_FAULT);
	return IT_ANSWER(lmr_handle, ual_lmr_modify(lmr, mask, params));
}
