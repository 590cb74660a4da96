/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Entry points: memory of privileged consumers [IT 8.9], [IT 15.6]. */

#include "it_answer.h"
#include "ual.h"
#include "ual_dto.h"

it_status_t
it_lmr_create_unlinked(IN it_pz_handle_t pz_handle, IN size_t iobl_num_elts, IN it_lmr_flag_t flags,
		       IN uint32_t shared_id, OUT it_lmr_handle_t *lmr_handle)
{
	UAL_VISIT struct ual_pz *pz = ual_pz_of(pz_handle);
	it_lmr_handle_t made = NULL;
	it_status_t status;

	if (lmr_handle != NULL)
		*lmr_handle = NULL;
	if (pz == NULL)
		return IT_ANSWER(pz_handle, IT_ERR_INVALID_PZ);
	if (ual_dead(ual_ia_under(pz)))
		return IT_ANSWER(pz_handle, IT_ERR_IA_CATASTROPHE);
	if (lmr_handle == NULL)
		return IT_ANSWER(pz_handle, IT_ERR_FAULT);
	status = ual_lmr_create_unlinked(pz, iobl_num_elts, flags, shared_id, &made);
	*lmr_handle = made;
	return IT_ANSWER(pz_handle, status);
}

it_status_t
it_lmr_link(IN it_lmr_handle_t lmr_handle, IN const void *addr, IN const it_iobl_t *iobl,
	    IN it_length_t length, IN it_addr_mode_t addr_mode, IN it_mem_priv_t privs,
	    IN it_ep_handle_t ep_handle, IN it_dto_cookie_t cookie, IN it_dto_flags_t dto_flags,
	    OUT it_rmr_context_t *rmr_context)
{
	SESSION_SECTION;
	const struct ual_lmr_link link = {.addr = addr,
					  .iobl = iobl,
					  .length = length,
					  .addr_mode = addr_mode,
					  .privs = privs,
					  .cookie = cookie,
					  .flags = dto_flags};
	struct ual_lmr *lmr = ual_lmr_at(lmr_handle);
	struct ual_ep *ep = ual_ep_at(ep_handle);

	if (lmr == NULL)
		return IT_ANSWER(lmr_handle, IT_ERR_INVALID_LMR);
	if (ep == NULL)
		return IT_ANSWER(lmr_handle, IT_ERR_INVALID_EP);
	if (ual_dead(ual_ia_under(lmr)))
		return IT_ANSWER(lmr_handle, IT_ERR_IA_CATASTROPHE);
	if (iobl == NULL || rmr_context == NULL)
		return IT_ANSWER(lmr_handle, IT_ERR_FAULT);
	return IT_ANSWER(lmr_handle, ual_lmr_link(lmr, ep, &link, rmr_context));
}

it_status_t
it_lmr_unlink(IN it_lmr_handle_t lmr_handle, IN it_ep_handle_t ep_handle, IN it_dto_cookie_t cookie,
	      IN it_dto_flags_t dto_flags)
{
	SESSION_SECTION;
	struct ual_lmr *lmr = ual_lmr_at(lmr_handle);
	struct ual_ep *ep = ual_ep_at(ep_handle);

	if (lmr == NULL)
		return IT_ANSWER(lmr_handle, IT_ERR_INVALID_LMR);
	if (ep == NULL)
		return IT_ANSWER(lmr_handle, IT_ERR_INVALID_EP);
	if (ual_dead(ual_ia_under(lmr)))
		return IT_ANSWER(lmr_handle, IT_ERR_IA_CATASTROPHE);
	return IT_ANSWER(lmr_handle, ual_lmr_unlink(lmr, ep, cookie, dto_flags));
}

it_status_t
it_mem_map(IN it_ia_handle_t ia_handle, IN void *vaddr, IN uint64_t aspace_id, IN size_t len,
	   OUT it_io_addr_t *io_addr, OUT size_t *mapped_len)
{
	UAL_VISIT struct ual_ia *ia = ual_ia_of(ia_handle);

	if (ia == NULL)
		return IT_ANSWER(ia_handle, IT_ERR_INVALID_IA);
	if (ual_dead(ia))
		return IT_ANSWER(ia_handle, IT_ERR_IA_CATASTROPHE);
	if (io_addr == NULL || mapped_len == NULL)
		return IT_ANSWER(ia_handle, IT_ERR_FAULT);
	return IT_ANSWER(ia_handle, ual_mem_map(ia, vaddr, aspace_id, len, io_addr, mapped_len));
}

it_status_t
it_mem_unmap(IN it_ia_handle_t ia_handle, IN it_io_addr_t io_addr, IN size_t mapped_len)
{
	UAL_VISIT struct ual_ia *ia = ual_ia_of(ia_handle);

	if (ia == NULL)
		return IT_ANSWER(ia_handle, IT_ERR_INVALID_IA);
	return IT_ANSWER(ia_handle, !ual_dead(ia) ? ual_mem_unmap(ia, io_addr, mapped_len)
						  : IT_ERR_IA_CATASTROPHE);
}
