/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Entry points: datagrams [IT 13], [IT 15.4], [IT 15.9]. Posts are in it_dto.c. */

#include "it_answer.h"
#include "it_check.h"
#include "ual.h"

#define AH_QUERY_BITS  0xeu
#define SVC_QUERY_BITS 0xfeu

it_status_t
it_ep_ud_create(IN it_pz_handle_t pz_handle, IN it_evd_handle_t request_sevd_handle,
		IN it_evd_handle_t recv_sevd_handle, IN const it_ep_attributes_t *ep_attr,
		IN size_t spigot_id, OUT it_ep_handle_t *ep_handle)
{
	const struct ual_ep_wanted wanted = {
		.request = request_sevd_handle, .recv = recv_sevd_handle, .attr = ep_attr};
	UAL_VISIT struct ual_pz *pz = ual_pz_of(pz_handle);
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
	status = ual_ud_create(pz, &wanted, spigot_id, &made);
	*ep_handle = made;
	return IT_ANSWER(pz_handle, status);
}

/* --- address handles ----------------------------------------------------------------------- */

it_status_t
it_address_handle_create(IN it_pz_handle_t pz_handle, IN const it_path_t *destination_path,
			 IN it_ah_flags_t ah_flags, OUT it_addr_handle_t *addr_handle)
{
	UAL_VISIT struct ual_pz *pz = ual_pz_of(pz_handle);
	it_addr_handle_t made = NULL;
	it_status_t status;

	if (addr_handle != NULL)
		*addr_handle = NULL;
	if (pz == NULL)
		return IT_ANSWER(pz_handle, IT_ERR_INVALID_PZ);
	if (ual_dead(ual_ia_under(pz)))
		return IT_ANSWER(pz_handle, IT_ERR_IA_CATASTROPHE);
	if (destination_path == NULL || addr_handle == NULL)
		return IT_ANSWER(pz_handle, IT_ERR_FAULT);
	status = ual_ah_create(pz, destination_path, ah_flags, &made);
	*addr_handle = made;
	return IT_ANSWER(pz_handle, status);
}

it_status_t
it_address_handle_free(IN it_addr_handle_t addr_handle)
{
	UAL_VISIT struct ual_ah *ah = ual_ah_of(addr_handle);

	return IT_ANSWER(addr_handle, ah != NULL ? ual_ah_free(ah) : IT_ERR_INVALID_AH);
}

it_status_t
it_address_handle_modify(IN it_addr_handle_t addr_handle, IN it_addr_param_mask_t mask,
			 IN const it_addr_param_t *params)
{
	UAL_VISIT struct ual_ah *ah = ual_ah_of(addr_handle);

	if (ah == NULL)
		return IT_ANSWER(addr_handle, IT_ERR_INVALID_AH);
	if (ual_dead(ual_ia_under(ah)))
		return IT_ANSWER(addr_handle, IT_ERR_IA_CATASTROPHE);
	if (mask != IT_ADDR_PARAM_PATH)
		return IT_ANSWER(addr_handle, IT_ERR_INVALID_MASK);
	return IT_ANSWER(addr_handle,
			 params != NULL ? ual_ah_modify(ah, &params->path) : IT_ERR_FAULT);
}

it_status_t
it_address_handle_query(IN it_addr_handle_t addr_handle, IN it_addr_param_mask_t mask,
			OUT it_addr_param_t *params)
{
	UAL_VISIT struct ual_ah *ah = ual_ah_of(addr_handle);

	if (ah == NULL)
		return IT_ANSWER(addr_handle, IT_ERR_INVALID_AH);
	if (!query_mask_valid((unsigned int)mask, IT_ADDR_PARAM_ALL, AH_QUERY_BITS))
		return IT_ANSWER(addr_handle, IT_ERR_INVALID_MASK);
	if (params == NULL)
		return IT_ANSWER(addr_handle, IT_ERR_FAULT);
	ual_ah_query(ah, mask, params);
	return IT_ANSWER(addr_handle, IT_SUCCESS);
}

/* --- service resolution -------------------------------------------------------------------- */

it_status_t
it_ud_service_request_handle_create(IN const it_conn_qual_t *conn_qual,
				    IN it_evd_handle_t reply_evd,
				    IN const it_path_t *destination_path,
				    IN const unsigned char *private_data,
				    IN size_t private_data_length,
				    OUT it_ud_svc_req_handle_t *ud_svc_handle)
{
	const struct ual_ud_svc_wanted wanted = {
		.qual = conn_qual, .reply = reply_evd, .path = destination_path};
	const struct ual_pdata pdata = {private_data, private_data_length};
	UAL_VISIT struct ual_evd *evd = ual_evd_of(reply_evd);
	it_ud_svc_req_handle_t made = NULL;
	it_status_t status;

	if (ud_svc_handle != NULL)
		*ud_svc_handle = NULL;
	if (evd == NULL)
		return IT_ANSWER(reply_evd, IT_ERR_INVALID_EVD);
	if (ual_dead(ual_ia_under(evd)))
		return IT_ANSWER(reply_evd, IT_ERR_IA_CATASTROPHE);
	if (conn_qual == NULL || destination_path == NULL || ud_svc_handle == NULL ||
	    pointer_missing(private_data, private_data_length))
		return IT_ANSWER(reply_evd, IT_ERR_FAULT);
	status = ual_ud_svc_create(&wanted, &pdata, &made);
	*ud_svc_handle = made;
	return IT_ANSWER(reply_evd, status);
}

it_status_t
it_ud_service_request(IN it_ud_svc_req_handle_t ud_svc_handle)
{
	UAL_VISIT struct ual_ud_svc *svc = ual_ud_svc_of(ud_svc_handle);

	if (svc == NULL)
		return IT_ANSWER(ud_svc_handle, IT_ERR_INVALID_UD_SVC);
	return IT_ANSWER(ud_svc_handle, !ual_dead(ual_ia_under(svc)) ? ual_ud_svc_request(svc)
								     : IT_ERR_IA_CATASTROPHE);
}

it_status_t
it_ud_service_request_handle_query(IN it_ud_svc_req_handle_t ud_svc_handle,
				   IN it_ud_svc_req_param_mask_t mask,
				   OUT it_ud_svc_req_param_t *ud_svc_handle_info)
{
	UAL_VISIT struct ual_ud_svc *svc = ual_ud_svc_of(ud_svc_handle);

	if (svc == NULL)
		return IT_ANSWER(ud_svc_handle, IT_ERR_INVALID_UD_SVC);
	if (!query_mask_valid((unsigned int)mask, IT_UD_PARAM_ALL, SVC_QUERY_BITS))
		return IT_ANSWER(ud_svc_handle, IT_ERR_INVALID_MASK);
	if (ud_svc_handle_info == NULL)
		return IT_ANSWER(ud_svc_handle, IT_ERR_FAULT);
	ual_ud_svc_query(svc, mask, ud_svc_handle_info);
	return IT_ANSWER(ud_svc_handle, IT_SUCCESS);
}

it_status_t
it_ud_service_request_handle_free(IN it_ud_svc_req_handle_t ud_svc_handle)
{
	UAL_VISIT struct ual_ud_svc *svc = ual_ud_svc_of(ud_svc_handle);

	return IT_ANSWER(ud_svc_handle, svc != NULL ? ual_ud_svc_free(svc) : IT_ERR_INVALID_UD_SVC);
}

it_status_t
it_ud_service_reply(IN it_ud_svc_req_identifier_t ud_svc_req_id, IN it_ud_svc_req_status_t status,
		    IN it_remote_ep_info_t ep_info, IN const unsigned char *private_data,
		    IN size_t private_data_length)
{
	SESSION_DEFER;
	const struct ual_ud_answer answer = {.status = status, .info = ep_info};
	const struct ual_pdata pdata = {private_data, private_data_length};

	if (pointer_missing(private_data, private_data_length))
		return IT_ANSWER(NULL, IT_ERR_FAULT);
	return IT_ANSWER(NULL, ual_ud_reply(ud_svc_req_id, &answer, &pdata));
}
