/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Entry points: connections [IT 15.5]. */

#include "it_answer.h"
#include "it_check.h"
#include "ual.h"

#define LISTEN_QUERY_BITS 0x1eu

it_status_t
it_listen_create(IN it_ia_handle_t ia_handle, IN size_t spigot_id, IN it_evd_handle_t connect_evd,
		 IN it_listen_flags_t flags, IN OUT it_conn_qual_t *conn_qual,
		 OUT it_listen_handle_t *listen_handle)
{
	UAL_VISIT struct ual_ia *ia = ual_ia_of(ia_handle);
	it_listen_handle_t made = NULL;
	it_status_t status;

	if (listen_handle != NULL)
		*listen_handle = NULL;
	if (ia == NULL)
		return IT_ANSWER(ia_handle, IT_ERR_INVALID_IA);
	if (ual_dead(ia))
		return IT_ANSWER(ia_handle, IT_ERR_IA_CATASTROPHE);
	if (conn_qual == NULL || listen_handle == NULL)
		return IT_ANSWER(ia_handle, IT_ERR_FAULT);
	status = ual_listen_create(ia, spigot_id, connect_evd, flags, conn_qual, &made);
	*listen_handle = made;
	return IT_ANSWER(ia_handle, status);
}

it_status_t
it_listen_free(IN it_listen_handle_t listen_handle)
{
	UAL_VISIT struct ual_listen *listen = ual_listen_of(listen_handle);

	return IT_ANSWER(listen_handle,
			 listen != NULL ? ual_listen_free(listen) : IT_ERR_INVALID_LISTEN);
}

it_status_t
it_listen_query(IN it_listen_handle_t listen_handle, IN it_listen_param_mask_t mask,
		OUT it_listen_param_t *params)
{
	UAL_VISIT struct ual_listen *listen = ual_listen_of(listen_handle);

	if (listen == NULL)
		return IT_ANSWER(listen_handle, IT_ERR_INVALID_LISTEN);
	if (!query_mask_valid((unsigned int)mask, IT_LISTEN_PARAM_ALL, LISTEN_QUERY_BITS))
		return IT_ANSWER(listen_handle, IT_ERR_INVALID_MASK);
	if (params == NULL)
		return IT_ANSWER(listen_handle, IT_ERR_FAULT);
	ual_listen_query(listen, mask, params);
	return IT_ANSWER(listen_handle, IT_SUCCESS);
}

it_status_t
it_ep_connect(IN it_ep_handle_t ep_handle, IN const it_path_t *path,
	      IN const it_conn_attributes_t *conn_attr, IN const it_conn_qual_t *connect_qual,
	      IN it_cn_est_flags_t cn_est_flags, IN const unsigned char *private_data,
	      IN size_t private_data_length)
{
	const struct ual_pdata pdata = {private_data, private_data_length};
	UAL_VISIT struct ual_ep *ep = ual_ep_of(ep_handle);

	if (ep == NULL)
		return IT_ANSWER(ep_handle, IT_ERR_INVALID_EP);
	if (ual_dead(ual_ia_under(ep)))
		return IT_ANSWER(ep_handle, IT_ERR_IA_CATASTROPHE);
	if (path == NULL || connect_qual == NULL ||
	    pointer_missing(private_data, private_data_length))
		return IT_ANSWER(ep_handle, IT_ERR_FAULT);
	return IT_ANSWER(ep_handle,
			 ual_cm_connect(ep, path, conn_attr, connect_qual, cn_est_flags, &pdata));
}

it_status_t
it_ep_accept(IN it_ep_handle_t ep_handle, IN it_cn_est_identifier_t cn_est_id,
	     IN const unsigned char *private_data, IN size_t private_data_length)
{
	const struct ual_pdata pdata = {private_data, private_data_length};
	UAL_VISIT struct ual_ep *ep = ual_ep_of(ep_handle);

	if (ep == NULL)
		return IT_ANSWER(ep_handle, IT_ERR_INVALID_EP);
	if (ual_dead(ual_ia_under(ep)))
		return IT_ANSWER(ep_handle, IT_ERR_IA_CATASTROPHE);
	if (pointer_missing(private_data, private_data_length))
		return IT_ANSWER(ep_handle, IT_ERR_FAULT);
	return IT_ANSWER(ep_handle, ual_cm_accept(ep, cn_est_id, &pdata));
}

it_status_t
it_reject(IN it_cn_est_identifier_t cn_est_id, IN const unsigned char *private_data,
	  IN size_t private_data_length)
{
	SESSION_DEFER;
	const struct ual_pdata pdata = {private_data, private_data_length};

	if (pointer_missing(private_data, private_data_length))
		return IT_ANSWER(NULL, IT_ERR_FAULT);
	return IT_ANSWER(NULL, ual_cm_reject(cn_est_id, &pdata));
}

it_status_t
it_ep_disconnect(IN it_ep_handle_t ep_handle, IN const unsigned char *private_data,
		 IN size_t private_data_length)
{
	const struct ual_pdata pdata = {private_data, private_data_length};
	UAL_VISIT struct ual_ep *ep = ual_ep_of(ep_handle);

	if (ep == NULL)
		return IT_ANSWER(ep_handle, IT_ERR_INVALID_EP);
	if (ual_dead(ual_ia_under(ep)))
		return IT_ANSWER(ep_handle, IT_ERR_IA_CATASTROPHE);
	if (pointer_missing(private_data, private_data_length))
		return IT_ANSWER(ep_handle, IT_ERR_FAULT);
	return IT_ANSWER(ep_handle, ual_cm_disconnect(ep, &pdata));
}

it_status_t
it_handoff(IN const it_conn_qual_t *conn_qual, IN size_t spigot_id,
	   IN it_cn_est_identifier_t cn_est_id)
{
	SESSION_DEFER;

	if (conn_qual == NULL)
		return IT_ANSWER(NULL, IT_ERR_FAULT);
	return IT_ANSWER(NULL, ual_cm_handoff(cn_est_id, spigot_id, conn_qual));
}
