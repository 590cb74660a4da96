/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Entry points: endpoints [IT 15.4]. */

#include "it_answer.h"
#include "it_check.h"
#include "ual.h"

#define QUERY_BITS 0x0ffffffeu

it_status_t
it_ep_rc_create(IN it_pz_handle_t pz_handle, IN it_evd_handle_t request_sevd_handle,
		IN it_evd_handle_t recv_sevd_handle, IN it_evd_handle_t connect_sevd_handle,
		IN it_ep_rc_creation_flags_t flags, IN const it_ep_attributes_t *ep_attr,
		OUT it_ep_handle_t *ep_handle)
{
	UAL_VISIT struct ual_pz *pz = ual_pz_of(pz_handle);
	const struct ual_ep_wanted wanted = {
		.request = request_sevd_handle,
		.recv = recv_sevd_handle,
		.connect = connect_sevd_handle,
		.flags = flags,
		.attr = ep_attr,
	};
	it_ep_handle_t made = NULL;
	it_status_t status;

	if (ep_handle != NULL)
		*ep_handle = NULL;
	if (pz == NULL)
		return IT_ANSWER(pz_handle, IT_ERR_INVALID_PZ);
	if (ual_dead(ual_ia_under(pz)))
		return IT_ANSWER(pz_handle, IT_ERR_IA_CATASTROPHE);
	if (ep_attr == NULL || ep_handle == NULL)
		return IT_ANSWER(pz_handle, IT_ERR_FAULT);
	status = ual_ep_create(pz, &wanted, &made);
	*ep_handle = made;
	return IT_ANSWER(pz_handle, status);
}

it_status_t
it_ep_query(IN it_ep_handle_t ep_handle, IN it_ep_param_mask_t mask, OUT it_ep_param_t *params)
{
	UAL_VISIT struct ual_ep *ep = ual_ep_of(ep_handle);

	if (ep == NULL)
		return IT_ANSWER(ep_handle, IT_ERR_INVALID_EP);
	if (!query_mask_valid((unsigned int)mask, IT_EP_PARAM_ALL, QUERY_BITS))
		return IT_ANSWER(ep_handle, IT_ERR_INVALID_MASK);
	if (params == NULL)
		return IT_ANSWER(ep_handle, IT_ERR_FAULT);
	ual_ep_query(ep, mask, params);
	return IT_ANSWER(ep_handle, IT_SUCCESS);
}

it_status_t
it_ep_modify(IN it_ep_handle_t ep_handle, IN it_ep_param_mask_t mask,
	     IN const it_ep_attributes_t *ep_attr)
{
	UAL_VISIT struct ual_ep *ep = ual_ep_of(ep_handle);

	if (ep == NULL)
		return IT_ANSWER(ep_handle, IT_ERR_INVALID_EP);
	if (ual_dead(ual_ia_under(ep)))
		return IT_ANSWER(ep_handle, IT_ERR_IA_CATASTROPHE);
	return IT_ANSWER(ep_handle, ual_ep_modify(ep, mask, ep_attr));
}

it_status_t
it_ep_reset(IN it_ep_handle_t ep_handle)
{
	UAL_VISIT struct ual_ep *ep = ual_ep_of(ep_handle);

	if (ep == NULL)
		return IT_ANSWER(ep_handle, IT_ERR_INVALID_EP);
	if (ual_dead(ual_ia_under(ep)))
		return IT_ANSWER(ep_handle, IT_ERR_IA_CATASTROPHE);
	return IT_ANSWER(ep_handle, ual_ep_reset(ep));
}

it_status_t
it_ep_free(IN it_ep_handle_t ep_handle)
{
	UAL_VISIT struct ual_ep *ep = ual_ep_of(ep_handle);

	return IT_ANSWER(ep_handle, ep != NULL ? ual_ep_free(ep) : IT_ERR_INVALID_EP);
}
