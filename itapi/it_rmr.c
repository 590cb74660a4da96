/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Entry points: windows [IT 15.6]. Linking and unlinking are [fast path]. */

#include "it_answer.h"
#include "it_check.h"
#include "ual.h"
#include "ual_dto.h"

#define QUERY_BITS 0x7feu

it_status_t
it_rmr_create20(IN it_pz_handle_t pz_handle, IN it_rmr_type_t rmr_type,
		OUT it_rmr_handle_t *rmr_handle)
{
	UAL_VISIT struct ual_pz *pz = ual_pz_of(pz_handle);
	it_rmr_handle_t made = NULL;
	it_status_t status;

	if (rmr_handle != NULL)
		*rmr_handle = NULL;
	if (pz == NULL)
		return IT_ANSWER(pz_handle, IT_ERR_INVALID_PZ);
	if (ual_dead(ual_ia_under(pz)))
		return IT_ANSWER(pz_handle, IT_ERR_IA_CATASTROPHE);
	if (rmr_handle == NULL)
		return IT_ANSWER(pz_handle, IT_ERR_FAULT);
	status = ual_rmr_create(pz, rmr_type, &made);
	*rmr_handle = made;
	return IT_ANSWER(pz_handle, status);
}

it_status_t
it_rmr_create10(IN it_pz_handle_t pz_handle, OUT it_rmr_handle_t *rmr_handle)
{
	return it_rmr_create20(pz_handle, IT_RMR_TYPE_DEFAULT, rmr_handle);
}

it_status_t
it_rmr_free(IN it_rmr_handle_t rmr_handle)
{
	UAL_VISIT struct ual_rmr *rmr = ual_rmr_of(rmr_handle);

	return IT_ANSWER(rmr_handle, rmr != NULL ? ual_rmr_free(rmr) : IT_ERR_INVALID_RMR);
}

it_status_t
it_rmr_query(IN it_rmr_handle_t rmr_handle, IN it_rmr_param_mask_t mask, OUT it_rmr_param_t *params)
{
	UAL_VISIT struct ual_rmr *rmr = ual_rmr_of(rmr_handle);

	if (rmr == NULL)
		return IT_ANSWER(rmr_handle, IT_ERR_INVALID_RMR);
	if (!query_mask_valid((unsigned int)mask, IT_RMR_PARAM_ALL, QUERY_BITS))
		return IT_ANSWER(rmr_handle, IT_ERR_INVALID_MASK);
	if (params == NULL)
		return IT_ANSWER(rmr_handle, IT_ERR_FAULT);
	ual_rmr_query(rmr, mask, params);
	return IT_ANSWER(rmr_handle, IT_SUCCESS);
}

it_status_t
it_rmr_link(IN it_rmr_handle_t rmr_handle, IN it_lmr_handle_t lmr_handle, IN void *addr,
	    IN it_length_t length, IN it_addr_mode_t addr_mode, IN it_mem_priv_t privs,
	    IN it_ep_handle_t ep_handle, IN it_dto_cookie_t cookie, IN it_dto_flags_t dto_flags,
	    OUT it_rmr_context_t *rmr_context)
{
	SESSION_SECTION;
	const struct ual_rmr_wanted wanted = {
		.addr = addr,
		.length = length,
		.addr_mode = addr_mode,
		.privs = privs,
		.cookie = cookie,
		.flags = dto_flags,
	};
	struct ual_rmr *rmr = ual_rmr_at(rmr_handle);
	struct ual_lmr *lmr = ual_lmr_at(lmr_handle);
	struct ual_ep *ep = ual_ep_at(ep_handle);

	if (rmr == NULL)
		return IT_ANSWER(rmr_handle, IT_ERR_INVALID_RMR);
	if (lmr == NULL)
		return IT_ANSWER(rmr_handle, IT_ERR_INVALID_LMR);
	if (ep == NULL)
		return IT_ANSWER(rmr_handle, IT_ERR_INVALID_EP);
	if (rmr_context == NULL)
		return IT_ANSWER(rmr_handle, IT_ERR_FAULT);
	return IT_ANSWER(rmr_handle, ual_rmr_link(rmr, lmr, ep, &wanted, rmr_context));
}

it_status_t
it_rmr_bind10(IN it_rmr_handle_t rmr_handle, IN it_lmr_handle_t lmr_handle, IN void *addr,
	      IN it_length_t length, IN it_mem_priv_t privs, IN it_ep_handle_t ep_handle,
	      IN it_dto_cookie_t cookie, IN it_dto_flags_t dto_flags,
	      OUT it_rmr_context_t *rmr_context)
{
	return it_rmr_link(rmr_handle, lmr_handle, addr, length, IT_ADDR_MODE_ABSOLUTE, privs,
			   ep_handle, cookie, dto_flags, rmr_context);
}

it_status_t
it_rmr_unlink(IN it_rmr_handle_t rmr_handle, IN it_ep_handle_t ep_handle, IN it_dto_cookie_t cookie,
	      IN it_dto_flags_t dto_flags)
{
	SESSION_SECTION;
	struct ual_rmr *rmr = ual_rmr_at(rmr_handle);
	struct ual_ep *ep = ual_ep_at(ep_handle);

	if (rmr == NULL)
		return IT_ANSWER(rmr_handle, IT_ERR_INVALID_RMR);
	return IT_ANSWER(rmr_handle, ep != NULL ? ual_rmr_unlink(rmr, ep, cookie, dto_flags)
						: IT_ERR_INVALID_EP);
}
