/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Entry points: calls that applications of the field brought along (itapi-semantics 15.11). This
 * release declares and exports them, so that such programs build and link; it carries none of them.
 */

#include "it_ext.h"
#include "ual.h"

it_status_t
itx_ep_accept_with_rmr(IN it_ep_handle_t ep_handle, IN it_cn_est_identifier_t cn_est_id,
		       IN it_lmr_triplet_t *lmr, OUT it_rmr_context_t *rmr_context)
{
	(void)ep_handle;
	(void)cn_est_id;
	(void)lmr;
	(void)rmr_context;
	return IT_ERR_OP_NOT_SUPPORTED;
}

it_status_t
itx_ep_connect_with_rmr(IN it_ep_handle_t ep_handle, IN const it_path_t *path,
			IN const it_conn_attributes_t *conn_attr,
			IN const it_conn_qual_t *connect_qual, IN it_cn_est_flags_t cn_est_flags,
			IN const unsigned char *private_data, IN size_t private_data_length,
			IN it_lmr_triplet_t *lmr, OUT it_rmr_context_t *rmr_context)
{
	(void)ep_handle;
	(void)path;
	(void)conn_attr;
	(void)connect_qual;
	(void)cn_est_flags;
	(void)private_data;
	(void)private_data_length;
	(void)lmr;
	(void)rmr_context;
	return IT_ERR_OP_NOT_SUPPORTED;
}

it_status_t
itx_get_rmr_context_for_ep(IN it_ep_handle_t ep_handle, IN it_lmr_handle_t lmr,
			   OUT it_rmr_context_t *rmr_context)
{
	(void)ep_handle;
	(void)lmr;
	(void)rmr_context;
	return IT_ERR_OP_NOT_SUPPORTED;
}

it_status_t
itx_bind_ep_to_device(IN it_ep_handle_t ep_handle, IN it_cn_est_identifier_t cn_id)
{
	(void)ep_handle;
	(void)cn_id;
	return IT_ERR_OP_NOT_SUPPORTED;
}

it_status_t
itx_aevd_wait(IN it_evd_handle_t evd_handle, IN uint64_t timeout, IN size_t max_event_count,
	      OUT it_event_t *events, OUT size_t *events_count)
{
	struct ual_evd *evd = ual_evd_of(evd_handle);
	size_t count = 0;
	it_status_t status;

	if (evd == NULL)
		return IT_ERR_INVALID_EVD;
	if (max_event_count == 0)
		return IT_ERR_INVALID_LENGTH;
	if (events == NULL || events_count == NULL)
		return IT_ERR_FAULT;
	/* Milliseconds; what does not fit is for ever. */
	timeout = timeout < IT_TIMEOUT_INFINITE / 1000 ? timeout * 1000 : IT_TIMEOUT_INFINITE;
	status = ual_evd_wait_n(evd, timeout, max_event_count, events, &count);
	*events_count = count;
	return status;
}

it_status_t
itx_init_tracing(IN const char *aContextName, IN int aTraceRank)
{
	(void)aContextName;
	(void)aTraceRank;
	return IT_ERR_OP_NOT_SUPPORTED;
}
