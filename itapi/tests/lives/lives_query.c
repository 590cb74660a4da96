/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Queries as lines of text. Contexts and addresses differ between runs, so only their relations are written. */
#include <string.h>

#include "lives.h"

void
trace_ep(struct trace *trace, it_ep_handle_t ep)
{
	const it_rc_only_attributes_t *rc;
	it_path_t none;
	it_ep_param_t p;

	memset(&none, 0, sizeof(none));
	memset(&p, 0, sizeof(p));
	if (trace_call(trace, "it_ep_query", it_ep_query(ep, IT_EP_PARAM_ALL, &p)) != IT_SUCCESS)
		return;
	trace_line(trace, "  ia %s, pz %s, request %s, recv %s, connect %s, service %d",
		   trace_handle(trace, p.ia), trace_handle(trace, p.pz),
		   trace_handle(trace, p.request_sevd), trace_handle(trace, p.recv_sevd),
		   trace_handle(trace, p.connect_sevd), (int)p.service_type);
	trace_line(trace, "  payload %zu, dtos %zu %zu, segments %zu %zu, privileged %d",
		   p.attr.max_dto_payload_size, p.attr.max_request_dtos, p.attr.max_recv_dtos,
		   p.attr.max_send_segments, p.attr.max_recv_segments, (int)p.attr.priv_ops_enable);
	if (p.service_type == IT_UD_SERVICE) {
		trace_line(trace, "  state %s, key %#x", it_ud_state_name(p.ep_state.ud),
			   p.attr.srv.ud.ep_info.ud_ep_key);
		return;
	}
	rc = &p.attr.srv.rc;
	trace_line(trace, "  state %s", it_ep_state_name(p.ep_state.rc));
	trace_line(trace, "  spigot %zu, path over %zu, %s", p.spigot_id, p.dst_path.spigot_id,
		   memcmp((const void *)&p.dst_path, (const void *)&none, sizeof(none)) == 0
			   ? "none"
			   : "one");
	trace_line(trace, "  enables %d %d %d, segments %zu %zu, ird %u, ord %u",
		   (int)rc->rdma_read_enable, (int)rc->rdma_write_enable, (int)rc->atomics_enable,
		   rc->max_rdma_read_segments, rc->max_rdma_write_segments, rc->rdma_read_ird,
		   rc->rdma_read_ord);
	trace_line(trace, "  srq %s, watermarks %zu %zd", trace_handle(trace, rc->srq),
		   rc->soft_hi_watermark, (ssize_t)rc->hard_hi_watermark);
}

void
trace_evd(struct trace *trace, it_evd_handle_t evd)
{
	it_evd_param_t p;

	memset(&p, 0, sizeof(p));
	if (trace_call(trace, "it_evd_query", it_evd_query(evd, IT_EVD_PARAM_ALL, &p)) !=
	    IT_SUCCESS)
		return;
	trace_line(trace, "  ia %s, stream %#x, flags %#x, size %zu, threshold %zu, aevd %s",
		   trace_handle(trace, p.ia), (unsigned)p.event_number, (unsigned)p.evd_flag,
		   p.sevd_queue_size, p.sevd_threshold, trace_handle(trace, p.aevd));
	trace_line(trace, "  fd %d, bound %d, enabled %d, overflowed %d, callback %d", p.fd >= 0,
		   (int)p.evd_bound, (int)p.evd_enabled, (int)p.evd_overflowed,
		   (int)p.evd_callback);
}

void
trace_srq(struct trace *trace, it_srq_handle_t srq)
{
	it_srq_param_t p;

	memset(&p, 0, sizeof(p));
	if (trace_call(trace, "it_srq_query", it_srq_query(srq, IT_SRQ_PARAM_ALL, &p)) !=
	    IT_SUCCESS)
		return;
	trace_line(trace, "  ia %s, pz %s, dtos %zu, segments %zu, watermark %zu",
		   trace_handle(trace, p.ia), trace_handle(trace, p.pz), p.max_recv_dtos,
		   p.max_recv_segs, p.low_watermark);
}

void
trace_lmr(struct trace *trace, it_lmr_handle_t lmr)
{
	it_lmr_param_t p;

	memset(&p, 0, sizeof(p));
	if (trace_call(trace, "it_lmr_query", it_lmr_query(lmr, IT_LMR_PARAM_ALL, &p)) !=
	    IT_SUCCESS)
		return;
	trace_line(trace, "  ia %s, pz %s, length %llu, privs %#x, flags %#x, shared %u",
		   trace_handle(trace, p.ia), trace_handle(trace, p.pz),
		   (unsigned long long)p.length, (unsigned)p.privs, (unsigned)p.flags, p.shared_id);
	trace_line(trace, "  linked %d, mode %d, address %zd, actual %d, context %d", (int)p.linked,
		   (int)p.addr_mode, trace_offset(trace, p.addr),
		   p.actual_addr <= p.addr && p.actual_length >= p.length, p.rmr_context != 0);
	trace_line(trace, "  elements %zu, list %d", p.iobl_num_elts, (int)p.iobl_type);
}

void
trace_rmr(struct trace *trace, it_rmr_handle_t rmr)
{
	it_rmr_param_t p;

	memset(&p, 0, sizeof(p));
	if (trace_call(trace, "it_rmr_query", it_rmr_query(rmr, IT_RMR_PARAM_ALL, &p)) !=
	    IT_SUCCESS)
		return;
	trace_line(trace, "  ia %s, pz %s, type %d, linked %d", trace_handle(trace, p.ia),
		   trace_handle(trace, p.pz), (int)p.type, (int)p.bound);
	if (!p.bound)
		return;
	trace_line(trace, "  lmr %s, address %zd, length %llu, privs %#x, mode %d, context %d",
		   trace_handle(trace, p.lmr), trace_offset(trace, p.addr),
		   (unsigned long long)p.length, (unsigned)p.privs, (int)p.addr_mode,
		   p.rmr_context != 0);
}

void
trace_listen(struct trace *trace, it_listen_handle_t listen)
{
	it_listen_param_t p;

	memset(&p, 0, sizeof(p));
	if (trace_call(trace, "it_listen_query",
		       it_listen_query(listen, IT_LISTEN_PARAM_ALL, &p)) != IT_SUCCESS)
		return;
	trace_line(trace, "  ia %s, spigot %zu, evd %s, qualifier %d",
		   trace_handle(trace, p.ia_handle), p.spigot_id,
		   trace_handle(trace, p.connect_evd), (int)p.connect_qual.type);
}
