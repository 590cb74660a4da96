/*
 * SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 * SPDX-FileCopyrightText: the itapi authors
 */
#ifndef IT_EXT_H
#define IT_EXT_H

/**
 * @file
 * @brief What the field added to IT-API and this library keeps.
 */

#include "it_api.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/** Takes up to @p deque_count events at once. */
it_status_t it_evd_dequeue_n(IN it_evd_handle_t evd_handle, IN int deque_count,
			     OUT it_event_t *events, OUT int *dequed_count);

/** Accepts a connection and hands the peer a memory region with it. */
it_status_t itx_ep_accept_with_rmr(IN it_ep_handle_t ep_handle, IN it_cn_est_identifier_t cn_est_id,
				   IN it_lmr_triplet_t *lmr, OUT it_rmr_context_t *rmr_context);

/** Starts a connection and hands the peer a memory region with it. */
it_status_t itx_ep_connect_with_rmr(IN it_ep_handle_t ep_handle, IN const it_path_t *path,
				    IN const it_conn_attributes_t *conn_attr,
				    IN const it_conn_qual_t *connect_qual,
				    IN it_cn_est_flags_t cn_est_flags,
				    IN const unsigned char *private_data,
				    IN size_t private_data_length, IN it_lmr_triplet_t *lmr,
				    OUT it_rmr_context_t *rmr_context);

/** Tells the context of an LMR on the adapter under an endpoint. */
it_status_t itx_get_rmr_context_for_ep(IN it_ep_handle_t ep_handle, IN it_lmr_handle_t lmr,
				       OUT it_rmr_context_t *rmr_context);

/** Ties an endpoint to the adapter that a connection request came in on. */
it_status_t itx_bind_ep_to_device(IN it_ep_handle_t ep_handle, IN it_cn_est_identifier_t cn_id);

/** Waits on a merging aggregate and takes several events at once. */
it_status_t itx_aevd_wait(IN it_evd_handle_t evd_handle, IN uint64_t timeout,
			  IN size_t max_event_count, OUT it_event_t *events,
			  OUT size_t *events_count);

/** Names the trace of this process. */
it_status_t itx_init_tracing(IN const char *aContextName, IN int aTraceRank);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif /* IT_EXT_H */
