/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Entry points: windows (itapi-semantics 15.6). Of this release no adapter offers them: none can be
 * made, so no handle of one is valid; what else a call is given is checked in its turn.
 */

#include "it_check.h"
#include "ual.h"

static bool
is_rmr(it_rmr_handle_t handle)
{
	return ual_object_get(handle, UAL_RMR) != NULL;
}

it_status_t
it_rmr_create20(IN it_pz_handle_t pz_handle, IN it_rmr_type_t rmr_type,
		OUT it_rmr_handle_t *rmr_handle)
{
	(void)rmr_type;
	if (rmr_handle != NULL)
		*rmr_handle = NULL;
	if (ual_pz_of(pz_handle) == NULL)
		return IT_ERR_INVALID_PZ;
	return rmr_handle != NULL ? IT_ERR_OP_NOT_SUPPORTED : IT_ERR_FAULT;
}

it_status_t
it_rmr_create10(IN it_pz_handle_t pz_handle, OUT it_rmr_handle_t *rmr_handle)
{
	return it_rmr_create20(pz_handle, IT_RMR_TYPE_DEFAULT, rmr_handle);
}

it_status_t
it_rmr_free(IN it_rmr_handle_t rmr_handle)
{
	return is_rmr(rmr_handle) ? IT_ERR_OP_NOT_SUPPORTED : IT_ERR_INVALID_RMR;
}

it_status_t
it_rmr_query(IN it_rmr_handle_t rmr_handle, IN it_rmr_param_mask_t mask, OUT it_rmr_param_t *params)
{
	(void)mask;
	(void)params;
	return is_rmr(rmr_handle) ? IT_ERR_OP_NOT_SUPPORTED : IT_ERR_INVALID_RMR;
}

it_status_t
it_rmr_link(IN it_rmr_handle_t rmr_handle, IN it_lmr_handle_t lmr_handle, IN void *addr,
	    IN it_length_t length, IN it_addr_mode_t addr_mode, IN it_mem_priv_t privs,
	    IN it_ep_handle_t ep_handle, IN it_dto_cookie_t cookie, IN it_dto_flags_t dto_flags,
	    OUT it_rmr_context_t *rmr_context)
{
	(void)addr;
	(void)length;
	(void)addr_mode;
	(void)privs;
	(void)cookie;
	(void)dto_flags;
	(void)rmr_context;
	if (!is_rmr(rmr_handle))
		return IT_ERR_INVALID_RMR;
	if (ual_lmr_of(lmr_handle) == NULL)
		return IT_ERR_INVALID_LMR;
	return ual_ep_of(ep_handle) != NULL ? IT_ERR_OP_NOT_SUPPORTED : IT_ERR_INVALID_EP;
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
	(void)cookie;
	(void)dto_flags;
	if (!is_rmr(rmr_handle))
		return IT_ERR_INVALID_RMR;
	return ual_ep_of(ep_handle) != NULL ? IT_ERR_OP_NOT_SUPPORTED : IT_ERR_INVALID_EP;
}
