/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "fuzz_calls.h"

#define SERVICE_PORT 0x0700u /* 7 in network order */

#define ID(kind_, type_, member_)                                      \
	{                                                              \
		.kind = (kind_), .at = offsetof(struct type_, member_) \
	}
#define BY_ID(kind_) .request = sizeof(struct kal_id_req), .ids = {ID(kind_, kal_id_req, id)}
#define DESTROYS(kind_)                           \
	{                                         \
		BY_ID(kind_), .destroys = (kind_) \
	}

static const struct fuzz_call calls[KAL_CALL_COUNT] = {
	[KAL_ADAPTER_LIST] = {.request = sizeof(struct kal_adapter_list_req),
			      .reply = sizeof(struct kal_adapter_list_rep)},
	[KAL_RNIC_OPEN] = {.request = sizeof(struct kal_rnic_open_req),
			   .reply = sizeof(struct kal_rnic_open_rep),
			   .makes = FUZZ_RNIC},
	[KAL_RNIC_CLOSE] = DESTROYS(FUZZ_RNIC),
	[KAL_PORT_QUERY] = {.request = sizeof(struct kal_port_query_req),
			    .reply = sizeof(struct ri_port_attr),
			    .ids = {ID(FUZZ_RNIC, kal_port_query_req, rnic)}},
	[KAL_PATH_QUERY] = {.request = sizeof(struct kal_path_query_req),
			    .reply = sizeof(struct kal_path_query_rep),
			    .ids = {ID(FUZZ_RNIC, kal_path_query_req, rnic)}},
	[KAL_PD_CREATE] = {BY_ID(FUZZ_RNIC), .reply = sizeof(struct kal_id_rep), .makes = FUZZ_PD},
	[KAL_PD_DESTROY] = DESTROYS(FUZZ_PD),
	[KAL_CQ_CREATE] = {.request = sizeof(struct kal_cq_create_req),
			   .reply = sizeof(struct kal_cq_rep),
			   .ids = {ID(FUZZ_RNIC, kal_cq_create_req, rnic)},
			   .makes = FUZZ_CQ},
	[KAL_CQ_RESIZE] = {.request = sizeof(struct kal_cq_resize_req),
			   .reply = sizeof(struct kal_cq_rep),
			   .ids = {ID(FUZZ_CQ, kal_cq_resize_req, id)}},
	[KAL_CQ_DESTROY] = DESTROYS(FUZZ_CQ),
	[KAL_SRQ_CREATE] = {.request = sizeof(struct kal_srq_req),
			    .reply = sizeof(struct kal_srq_rep),
			    .ids = {ID(FUZZ_PD, kal_srq_req, id)},
			    .makes = FUZZ_SRQ},
	[KAL_SRQ_MODIFY] = {.request = sizeof(struct kal_srq_req),
			    .reply = sizeof(struct kal_srq_rep),
			    .ids = {ID(FUZZ_SRQ, kal_srq_req, id)}},
	[KAL_SRQ_QUERY] = {BY_ID(FUZZ_SRQ), .reply = sizeof(struct kal_srq_rep)},
	[KAL_SRQ_DESTROY] = DESTROYS(FUZZ_SRQ),
	[KAL_QP_CREATE] = {.request = sizeof(struct kal_qp_create_req),
			   .reply = sizeof(struct kal_qp_create_rep),
			   .ids = {ID(FUZZ_PD, kal_qp_create_req, pd),
				   ID(FUZZ_CQ, kal_qp_create_req, send_cq),
				   ID(FUZZ_CQ, kal_qp_create_req, recv_cq),
				   ID(FUZZ_SRQ, kal_qp_create_req, srq)},
			   .makes = FUZZ_QP},
	[KAL_QP_MODIFY] = {.request = sizeof(struct kal_qp_modify_req),
			   .ids = {ID(FUZZ_QP, kal_qp_modify_req, id)}},
	[KAL_QP_RESIZE] = {.request = sizeof(struct kal_qp_modify_req),
			   .reply = sizeof(struct kal_qp_resize_rep),
			   .ids = {ID(FUZZ_QP, kal_qp_modify_req, id)}},
	[KAL_QP_QUERY] = {BY_ID(FUZZ_QP), .reply = sizeof(struct ri_qp_attr)},
	[KAL_QP_DESTROY] = DESTROYS(FUZZ_QP),
	[KAL_MR_REG] = {.request = sizeof(struct kal_mr_req),
			.reply = sizeof(struct kal_mr_rep),
			.ids = {ID(FUZZ_PD, kal_mr_req, id)},
			.makes = FUZZ_MR},
	[KAL_MR_REREG] = {.request = sizeof(struct kal_mr_req),
			  .reply = sizeof(struct kal_mr_rep),
			  .ids = {ID(FUZZ_MR, kal_mr_req, id), ID(FUZZ_PD, kal_mr_req, pd)}},
	[KAL_MR_QUERY] = {BY_ID(FUZZ_MR), .reply = sizeof(struct ri_mr_attr)},
	[KAL_MR_DEREG] = DESTROYS(FUZZ_MR),
	[KAL_MW_ALLOC] = {.request = sizeof(struct kal_mw_req),
			  .reply = sizeof(struct kal_mr_rep),
			  .ids = {ID(FUZZ_PD, kal_mw_req, pd)},
			  .makes = FUZZ_MW},
	[KAL_MW_QUERY] = {BY_ID(FUZZ_MW), .reply = sizeof(struct ri_mr_attr)},
	[KAL_MW_FREE] = DESTROYS(FUZZ_MW),
	[KAL_AH_CREATE] = {.request = sizeof(struct kal_ah_req),
			   .reply = sizeof(struct kal_ah_rep),
			   .ids = {ID(FUZZ_PD, kal_ah_req, id)},
			   .makes = FUZZ_AH},
	[KAL_AH_MODIFY] = {.request = sizeof(struct kal_ah_req),
			   .ids = {ID(FUZZ_AH, kal_ah_req, id)}},
	[KAL_AH_DESTROY] = DESTROYS(FUZZ_AH),
	[KAL_LISTEN] = {.request = sizeof(struct kal_listen_req),
			.reply = sizeof(struct kal_listen_rep),
			.ids = {ID(FUZZ_RNIC, kal_listen_req, rnic)},
			.makes = FUZZ_LISTEN},
	[KAL_LISTEN_DESTROY] = DESTROYS(FUZZ_LISTEN),
	[KAL_CONNECT] = {.request = sizeof(struct kal_cm_req),
			 .ids = {ID(FUZZ_QP, kal_cm_req, qp)}},
	[KAL_ACCEPT] = {.request = sizeof(struct kal_cm_req),
			.reply = sizeof(struct kal_accept_rep),
			.ids = {ID(FUZZ_QP, kal_cm_req, qp),
				ID(FUZZ_REQUEST, kal_cm_req, request)}},
	[KAL_REJECT] = {.request = sizeof(struct kal_cm_req),
			.ids = {ID(FUZZ_REQUEST, kal_cm_req, request)}},
	[KAL_CONFIRM] = {.request = sizeof(struct kal_cm_req),
			 .ids = {ID(FUZZ_QP, kal_cm_req, qp)}},
	[KAL_DISCONNECT] = {.request = sizeof(struct kal_cm_req),
			    .ids = {ID(FUZZ_QP, kal_cm_req, qp)}},
	[KAL_HANDOFF] = {.request = sizeof(struct kal_handoff_req),
			 .ids = {ID(FUZZ_REQUEST, kal_handoff_req, request)}},
	[KAL_CONVERT] = {.request = sizeof(struct kal_convert_req),
			 .reply = sizeof(struct kal_convert_rep),
			 .ids = {ID(FUZZ_QP, kal_convert_req, qp)}},
	[KAL_MEM_MAP] = {.request = sizeof(struct kal_mem_map_req),
			 .reply = sizeof(struct kal_mem_map_rep),
			 .ids = {ID(FUZZ_RNIC, kal_mem_map_req, rnic)}},
	[KAL_MEM_UNMAP] = {.request = sizeof(struct kal_mem_map_req),
			   .ids = {ID(FUZZ_RNIC, kal_mem_map_req, rnic)}},
	[KAL_RESOLVE] = {.request = sizeof(struct kal_resolve_req),
			 .ids = {ID(FUZZ_RNIC, kal_resolve_req, rnic)}},
	[KAL_RESOLVE_END] = {.request = sizeof(struct kal_resolve_end_req),
			     .ids = {ID(FUZZ_RNIC, kal_resolve_end_req, rnic)}},
	[KAL_RESOLVE_ANSWER] = {.request = sizeof(struct kal_resolve_answer_req),
				.ids = {ID(FUZZ_REQUEST, kal_resolve_answer_req, request)}},
	[KAL_MR_REG_DMABUF] = {.request = sizeof(struct kal_dmabuf_req),
			       .reply = sizeof(struct kal_mr_rep),
			       .ids = {ID(FUZZ_PD, kal_dmabuf_req, pd)},
			       .makes = FUZZ_MR},
};

const struct fuzz_call *
fuzz_call_row(uint32_t call)
{
	return &calls[call];
}

static const struct ri_addr loopback = {.family = RI_ADDR_IPV4, .octets = {127, 0, 0, 1}};
static const struct ri_service service = {.kind = RI_SERVICE_PORT, .port = SERVICE_PORT};

static void
queues_fill(uint32_t call, void *request)
{
	struct kal_qp_create_req *qp = request;
	struct kal_qp_modify_req *modify = request;
	struct kal_srq_req *srq = request;

	if (call == KAL_QP_CREATE) {
		qp->init = (struct ri_qp_init){.max_sq_wr = 8,
					       .max_rq_wr = 8,
					       .max_send_sge = 2,
					       .max_recv_sge = 2,
					       .max_write_sge = 2,
					       .max_read_sge = 1,
					       .ird = 4,
					       .ord = 4,
					       .access = RI_ACCESS_REMOTE_READ |
							 RI_ACCESS_REMOTE_WRITE | RI_ACCESS_BIND,
					       .hard_limit = UINT32_MAX};
	} else if (call == KAL_QP_MODIFY || call == KAL_QP_RESIZE) {
		modify->mask = call == KAL_QP_MODIFY ? RI_QP_ATTR_STATE : 0;
		modify->attr =
			(struct ri_qp_attr){.state = RI_QPS_IDLE, .max_sq_wr = 16, .max_rq_wr = 16};
	} else if (call == KAL_SRQ_CREATE || call == KAL_SRQ_MODIFY) {
		srq->attr = (struct ri_srq_attr){.max_wr = 8, .max_sge = 2};
	} else if (call == KAL_CQ_CREATE) {
		((struct kal_cq_create_req *)request)->entries = 16;
	} else if (call == KAL_CQ_RESIZE) {
		((struct kal_cq_resize_req *)request)->entries = 32;
	}
}

static void
memory_fill(uint32_t call, const uint8_t *arena, void *request)
{
	struct kal_mr_req *mr = request;
	struct kal_mem_map_req *map = request;

	if (call == KAL_MR_REG || call == KAL_MR_REREG) {
		mr->addr = (uintptr_t)arena;
		mr->length = 256;
		mr->access = RI_ACCESS_LOCAL_READ | RI_ACCESS_LOCAL_WRITE | RI_ACCESS_REMOTE_READ |
			     RI_ACCESS_REMOTE_WRITE | RI_ACCESS_BIND;
	} else if (call == KAL_MEM_MAP || call == KAL_MEM_UNMAP) {
		map->addr = (uintptr_t)arena;
		map->length = 64;
	}
}

static void
connection_fill(uint32_t call, void *request)
{
	struct kal_listen_req *listen = request;
	struct kal_cm_req *cm = request;
	struct kal_resolve_req *resolve = request;

	if (call == KAL_LISTEN) {
		listen->backlog = 4;
		listen->service = service;
	} else if (call >= KAL_CONNECT && call <= KAL_DISCONNECT) {
		cm->ird = cm->ord = 2;
		cm->reason = call == KAL_REJECT ? KAL_REASON_CONSUMER : 0;
		if (call == KAL_CONNECT) {
			cm->peer = loopback;
			cm->service = service;
		}
	} else if (call == KAL_HANDOFF) {
		((struct kal_handoff_req *)request)->service = service;
	} else if (call == KAL_RESOLVE) {
		resolve->peer = loopback;
		resolve->service = service;
	} else if (call == KAL_AH_CREATE || call == KAL_AH_MODIFY) {
		((struct kal_ah_req *)request)->init.dest = loopback;
	} else if (call == KAL_PATH_QUERY) {
		((struct kal_path_query_req *)request)->peer = loopback;
	}
}

void
fuzz_call_fill(uint32_t call, bool infiniband, const uint8_t *arena, void *request)
{
	memset(request, 0, calls[call].request);
	if (call == KAL_RNIC_OPEN)
		snprintf(((struct kal_rnic_open_req *)request)->name, 64, "%s",
			 infiniband ? "emul:ib" : "emul:iwarp");
	if (call == KAL_ADAPTER_LIST)
		((struct kal_adapter_list_req *)request)->max = 4;
	queues_fill(call, request);
	memory_fill(call, arena, request);
	connection_fill(call, request);
}
