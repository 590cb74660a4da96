/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Entry points: calls that existing applications use besides the standard [IT 15.11], implemented with calls of the
 * standard.
 */

#include <string.h>

#include "it_answer.h"
#include "it_check.h"
#include "it_ext.h"
#include "ual.h"
#include "ual_dto.h"
#include "ual_log.h"

_Static_assert(ITX_LOG_ERROR == 0 && ITX_LOG_DEBUG == 3, "the levels of ual_log_set_writer");

/* Lengths of private data that describes regions; its numbers are in network byte order. */
#define CONNECT_TAIL (4u + 8u + 8u)
#define ACCEPT_DATA  (8u + 8u + 8u)

static unsigned char *
put_number(unsigned char *at, uint64_t number, unsigned int octets)
{
	for (unsigned int i = 0; i < octets; i++)
		at[i] = (unsigned char)(number >> 8 * (octets - 1 - i));
	return at + octets;
}

/* A segment as its peer needs it. */
struct region {
	it_rmr_context_t context;
	uint64_t addr;
};

/* Describe a triplet of the endpoint's adapter; IT_SUCCESS, or why that fails. */
static it_status_t
region_of(const struct ual_ep *ep, const it_lmr_triplet_t *segment, struct region *out)
{
	SESSION_SECTION;
	const struct ual_lmr *lmr;

	if (segment == NULL)
		return IT_ERR_FAULT;
	lmr = ual_lmr_at(segment->lmr);
	if (lmr == NULL || ual_ia_under(lmr) != ual_ia_under(ep) || ual_lmr_is_direct(lmr))
		return IT_ERR_INVALID_LMR;
	out->context = ual_lmr_context(lmr);
	out->addr = ual_lmr_is_relative(lmr) ? it_make_rdma_addr_relative(segment->addr.rel)
					     : it_make_rdma_addr_absolute(segment->addr.abs);
	return IT_SUCCESS;
}

it_status_t
itx_ep_accept_with_rmr(IN it_ep_handle_t ep_handle, IN it_cn_est_identifier_t cn_est_id,
		       IN it_lmr_triplet_t *lmr, OUT it_rmr_context_t *rmr_context)
{
	UAL_VISIT struct ual_ep *ep = ual_ep_of(ep_handle);
	unsigned char data[ACCEPT_DATA];
	unsigned char *at = data;
	struct region region;
	it_status_t status;

	if (ep == NULL)
		return IT_ANSWER(ep_handle, IT_ERR_INVALID_EP);
	status = region_of(ep, lmr, &region);
	if (status != IT_SUCCESS)
		return IT_ANSWER(ep_handle, status);
	if (rmr_context == NULL)
		return IT_ANSWER(ep_handle, IT_ERR_FAULT);
	/* In the order of it_rmr_triplet_t, into which the peer reads it. */
	at = put_number(at, region.context, 8);
	at = put_number(at, region.addr, 8);
	(void)put_number(at, lmr->length, 8);
	status = it_ep_accept(ep_handle, cn_est_id, data, sizeof(data));
	if (status == IT_SUCCESS)
		*rmr_context = region.context;
	return IT_ANSWER(ep_handle, status);
}

it_status_t
itx_ep_connect_with_rmr(IN it_ep_handle_t ep_handle, IN const it_path_t *path,
			IN const it_conn_attributes_t *conn_attr,
			IN const it_conn_qual_t *connect_qual, IN it_cn_est_flags_t cn_est_flags,
			IN const unsigned char *private_data, IN size_t private_data_length,
			IN it_lmr_triplet_t *lmr, OUT it_rmr_context_t *rmr_context)
{
	UAL_VISIT struct ual_ep *ep = ual_ep_of(ep_handle);
	unsigned char data[IT_MAX_PRIV_DATA];
	struct region region;
	unsigned char *at;
	it_status_t status;

	if (ep == NULL)
		return IT_ANSWER(ep_handle, IT_ERR_INVALID_EP);
	status = region_of(ep, lmr, &region);
	if (status != IT_SUCCESS)
		return IT_ANSWER(ep_handle, status);
	if (rmr_context == NULL || pointer_missing(private_data, private_data_length))
		return IT_ANSWER(ep_handle, IT_ERR_FAULT);
	if (private_data_length > sizeof(data) - CONNECT_TAIL)
		return IT_ANSWER(ep_handle, IT_ERR_INVALID_PDATA_LENGTH);
	if (lmr->length > UINT32_MAX)
		return IT_ANSWER(
			ep_handle,
			IT_ERR_INVALID_LENGTH); /* the length has 32 bits in private data */
	if (private_data_length > 0)
		memcpy(data, private_data, private_data_length);
	at = put_number(data + private_data_length, lmr->length, 4);
	at = put_number(at, region.context, 8);
	(void)put_number(at, region.addr, 8);
	status = it_ep_connect(ep_handle, path, conn_attr, connect_qual, cn_est_flags, data,
			       private_data_length + CONNECT_TAIL);
	if (status == IT_SUCCESS)
		*rmr_context = region.context;
	return IT_ANSWER(ep_handle, status);
}

it_status_t
itx_get_rmr_context_for_ep(IN it_ep_handle_t ep_handle, IN it_lmr_handle_t lmr,
			   OUT it_rmr_context_t *rmr_context)
{
	const it_lmr_triplet_t segment = {.lmr = lmr};
	UAL_VISIT struct ual_ep *ep = ual_ep_of(ep_handle);
	struct region region;
	it_status_t status;

	if (ep == NULL)
		return IT_ANSWER(ep_handle, IT_ERR_INVALID_EP);
	status = region_of(ep, &segment, &region);
	if (status != IT_SUCCESS)
		return IT_ANSWER(ep_handle, status);
	if (rmr_context == NULL)
		return IT_ANSWER(ep_handle, IT_ERR_FAULT);
	*rmr_context = region.context;
	return IT_ANSWER(ep_handle, IT_SUCCESS);
}

it_status_t
itx_bind_ep_to_device(IN it_ep_handle_t ep_handle, IN it_cn_est_identifier_t cn_id)
{
	UAL_VISIT struct ual_ep *ep = ual_ep_of(ep_handle);

	return IT_ANSWER(ep_handle,
			 ep != NULL ? ual_cm_same_adapter(ep, cn_id) : IT_ERR_INVALID_EP);
}

it_status_t
itx_aevd_wait(IN it_evd_handle_t evd_handle, IN uint64_t timeout, IN size_t max_event_count,
	      OUT it_event_t *events, OUT size_t *events_count)
{
	UAL_ENTERED struct ual_evd *evd = ual_evd_of(evd_handle);
	size_t count = 0;
	it_status_t status;

	if (evd == NULL)
		return IT_ANSWER(evd_handle, IT_ERR_INVALID_EVD);
	if (max_event_count == 0)
		return IT_ANSWER(evd_handle, IT_ERR_INVALID_LENGTH);
	if (events == NULL || events_count == NULL)
		return IT_ANSWER(evd_handle, IT_ERR_FAULT);
	/* Milliseconds; a value that is too large means infinite. */
	timeout = timeout < IT_TIMEOUT_INFINITE / 1000 ? timeout * 1000 : IT_TIMEOUT_INFINITE;
	status = ual_evd_wait_n(evd, timeout, max_event_count, events, &count);
	*events_count = count;
	return IT_ANSWER(evd_handle, status);
}

it_status_t
itx_lmr_create_dmabuf(IN it_pz_handle_t pz_handle, IN int fd, IN uint64_t offset,
		      IN it_length_t length, IN void *addr, IN it_mem_priv_t privs,
		      IN it_lmr_flag_t flags, OUT it_lmr_handle_t *lmr_handle,
		      OUT it_rmr_context_t *rmr_context)
{
	const struct ual_dmabuf dmabuf = {.fd = fd, .offset = offset};
	const struct ual_lmr_wanted wanted = {
		.addr = addr,
		.dmabuf = &dmabuf,
		.length = length,
		.addr_mode = IT_ADDR_MODE_ABSOLUTE,
		.privs = privs,
		.flags = flags,
	};

	return IT_ANSWER(pz_handle, it_lmr_make(pz_handle, &wanted, lmr_handle, rmr_context));
}

it_status_t
itx_ia_query_support(IN it_ia_handle_t ia_handle, OUT uint64_t *support)
{
	UAL_VISIT struct ual_ia *ia = ual_ia_of(ia_handle);
	struct ual_support can;
	unsigned int bits = 0;

	if (ia == NULL)
		return IT_ERR_INVALID_IA;
	if (support == NULL)
		return IT_ERR_FAULT;
	can = ual_ia_support(ia);
	bits |= can.lmr_modify ? ITX_SUPPORT_LMR_MODIFY : 0;
	bits |= can.dto_evd_resize ? ITX_SUPPORT_DTO_EVD_RESIZE : 0;
	bits |= can.srq_low_watermark ? ITX_SUPPORT_SRQ_LOW_WATERMARK : 0;
	bits |= can.local_read_check ? ITX_SUPPORT_LOCAL_READ_CHECK : 0;
	bits |= can.remote_status ? ITX_SUPPORT_REMOTE_STATUS : 0;
	bits |= can.dmabuf ? ITX_SUPPORT_DMABUF : 0;
	bits |= can.ep_reuse ? ITX_SUPPORT_EP_REUSE : 0;
	*support = bits;
	return IT_SUCCESS;
}

it_status_t
itx_init_tracing(IN const char *aContextName, IN int aTraceRank)
{
	SESSION_DEFER;

	return IT_ANSWER(NULL, aContextName != NULL ? ual_trace_begin(aContextName, aTraceRank)
						    : IT_ERR_FAULT);
}

void
itx_log_set_writer(IN itx_log_writer_t writer, IN void *context)
{
	SESSION_DEFER;

	ual_log_set_writer(writer, context);
}
