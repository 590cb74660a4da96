/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Every value of every code that crosses the border, compared with lists written from [IT 7.7], [IT 9.7] and [IT 14].
 */

#include <glib.h>

#include "kal_call.h"
#include "ual_status.h"

/* One value of an enumeration below, its name, and the code that it becomes. */
struct row {
	unsigned int from;
	const char *name;
	int to;
};

#define ROW(from, to)           \
	{                       \
		from, #from, to \
	}

static void
begin_row(const struct row *row, unsigned int number)
{
	g_test_message("%s", row->name);
	g_assert_cmpuint(row->from, ==, number);
}

static void
test_common(void)
{
	static const struct row wanted[] = {
		ROW(RI_SUCCESS, IT_SUCCESS),
		ROW(RI_ERR_INVALID_ARG, IT_ERR_ABORT),
		ROW(RI_ERR_INVALID_HANDLE, IT_ERR_ABORT),
		ROW(RI_ERR_INVALID_STATE, IT_ERR_INVALID_EP_STATE),
		ROW(RI_ERR_RESOURCES, IT_ERR_RESOURCES),
		ROW(RI_ERR_LIMIT, IT_ERR_RESOURCES),
		ROW(RI_ERR_BUSY, IT_ERR_ABORT),
		ROW(RI_ERR_UNSUPPORTED, IT_ERR_OP_NOT_SUPPORTED),
		ROW(RI_ERR_QUEUE_FULL, IT_ERR_TOO_MANY_POSTS),
		ROW(RI_ERR_NOT_EMPTY, IT_ERR_ABORT),
		ROW(RI_ERR_ACCESS, IT_ERR_ACCESS),
		ROW(RI_ERR_ADDRESS, IT_ERR_ADDRESS),
		ROW(RI_ERR_PERMISSION, IT_ERR_NO_PERMISSION),
		ROW(RI_ERR_IN_USE, IT_ERR_CONN_QUAL_BUSY),
		ROW(RI_ERR_NO_ROUTE, IT_ERR_INVALID_SOURCE_PATH),
		ROW(RI_ERR_STILL_FLUSHING, IT_ERR_CANNOT_RESET),
		ROW(RI_ERR_TIME_WAIT, IT_ERR_EP_TIMEWAIT),
		ROW(RI_ERR_TIMEOUT, IT_ERR_TIMEOUT_EXPIRED),
		ROW(RI_ERR_INTERRUPTED, IT_ERR_INTERRUPT),
		ROW(RI_ERR_PROTOCOL, IT_ERR_ABORT),
		ROW(RI_ERR_NO_DEVICE, IT_ERR_INVALID_NAME),
		ROW(RI_ERR_VERSION, IT_ERR_ABORT),
		ROW(RI_ERR_PROVIDER, IT_ERR_ABORT),
		ROW(RI_ERR_FATAL, IT_ERR_IA_CATASTROPHE),
	};

	g_assert_cmpuint(G_N_ELEMENTS(wanted), ==, RI_STATUS_COUNT);
	for (unsigned int i = 0; i < RI_STATUS_COUNT; i++) {
		begin_row(&wanted[i], i);
		g_assert_cmpint(ual_status(UAL_CALL_OTHER, (enum ri_status)i), ==, wanted[i].to);
	}
	g_assert_cmpint(ual_status(UAL_CALL_OTHER, RI_STATUS_COUNT), ==, IT_ERR_ABORT);
	g_assert_cmpint(ual_status(UAL_CALL_OTHER, (enum ri_status) - 1), ==, IT_ERR_ABORT);
}

struct special {
	enum ual_call call;
	enum ri_status from;
	it_status_t to;
};

static const struct special specials[] = {
	{UAL_CALL_IA_CREATE, RI_ERR_INVALID_ARG, IT_ERR_INVALID_NAME},
	{UAL_CALL_IA_CREATE, RI_ERR_INVALID_HANDLE, IT_ERR_INVALID_NAME},
	{UAL_CALL_IA_CREATE, RI_ERR_ACCESS, IT_ERR_NO_PERMISSION},
	{UAL_CALL_PZ_FREE, RI_ERR_BUSY, IT_ERR_PZ_BUSY},
	{UAL_CALL_EVD_CREATE, RI_ERR_LIMIT, IT_ERR_RESOURCE_QUEUE_SIZE},
	{UAL_CALL_EVD_CREATE, RI_ERR_BUSY, IT_ERR_INVALID_QUEUE_SIZE},
	{UAL_CALL_EVD_FREE, RI_ERR_BUSY, IT_ERR_EVD_BUSY},
	{UAL_CALL_SRQ_CREATE, RI_ERR_UNSUPPORTED, IT_ERR_SRQ_NOT_SUPPORTED},
	{UAL_CALL_SRQ_CREATE, RI_ERR_LIMIT, IT_ERR_RESOURCE_RECV_DTO},
	{UAL_CALL_SRQ_CREATE, RI_ERR_INVALID_ARG, IT_ERR_INVALID_SRQ_SIZE},
	{UAL_CALL_SRQ_MODIFY, RI_ERR_INVALID_ARG, IT_ERR_SRQ_LOW_WATERMARK},
	{UAL_CALL_SRQ_MODIFY, RI_ERR_LIMIT, IT_ERR_RESOURCE_RECV_DTO},
	{UAL_CALL_SRQ_MODIFY, RI_ERR_BUSY, IT_ERR_INVALID_SRQ_SIZE},
	{UAL_CALL_EP_CREATE, RI_ERR_INVALID_ARG, IT_ERR_INVALID_EP_ATTR},
	{UAL_CALL_EP_CREATE, RI_ERR_LIMIT, IT_ERR_INVALID_EP_ATTR},
	{UAL_CALL_EP_CREATE, RI_ERR_PERMISSION, IT_ERR_PRIV_OPS_UNAVAILABLE},
	{UAL_CALL_EP_MODIFY, RI_ERR_INVALID_ARG, IT_ERR_INVALID_EP_ATTR},
	{UAL_CALL_EP_MODIFY, RI_ERR_LIMIT, IT_ERR_INVALID_EP_ATTR},
	{UAL_CALL_EP_RESET, RI_ERR_INVALID_STATE, IT_ERR_CANNOT_RESET},
	{UAL_CALL_EP_FREE, RI_ERR_BUSY, IT_ERR_EP_BUSY},
	{UAL_CALL_LISTEN, RI_ERR_INVALID_ARG, IT_ERR_INVALID_CONN_QUAL},
	{UAL_CALL_LISTEN, RI_ERR_UNSUPPORTED, IT_ERR_INVALID_CONN_QUAL},
	{UAL_CALL_LISTEN, RI_ERR_ACCESS, IT_ERR_NO_PERMISSION},
	{UAL_CALL_CONNECT, RI_ERR_INVALID_ARG, IT_ERR_INVALID_CONN_QUAL},
	{UAL_CALL_CONNECT, RI_ERR_ADDRESS, IT_ERR_INVALID_SOURCE_PATH},
	{UAL_CALL_CONNECT, RI_ERR_IN_USE, IT_ERR_EP_TIMEWAIT},
	{UAL_CALL_ACCEPT, RI_ERR_INVALID_HANDLE, IT_ERR_INVALID_CN_EST_ID},
	{UAL_CALL_ACCEPT, RI_ERR_NO_DEVICE, IT_ERR_INVALID_CN_EST_ID},
	{UAL_CALL_CONFIRM, RI_ERR_INVALID_HANDLE, IT_ERR_INVALID_CN_EST_ID},
	{UAL_CALL_CONFIRM, RI_ERR_INVALID_STATE, IT_ERR_INVALID_CN_EST_ID},
	{UAL_CALL_REJECT, RI_ERR_INVALID_HANDLE, IT_ERR_INVALID_CN_EST_ID},
	{UAL_CALL_REJECT, RI_ERR_INVALID_STATE, IT_ERR_INVALID_CN_EST_ID},
	{UAL_CALL_REJECT, RI_ERR_INVALID_ARG, IT_ERR_INVALID_PDATA_LENGTH},
	{UAL_CALL_HANDOFF, RI_ERR_INVALID_HANDLE, IT_ERR_INVALID_CN_EST_ID},
	{UAL_CALL_HANDOFF, RI_ERR_INVALID_ARG, IT_ERR_INVALID_CONN_QUAL},
	{UAL_CALL_CONVERT, RI_ERR_INVALID_ARG, IT_ERR_INVALID_CONVERSION},
	{UAL_CALL_DISCONNECT, RI_ERR_INVALID_ARG, IT_ERR_INVALID_PDATA_LENGTH},
	{UAL_CALL_LMR_CREATE, RI_ERR_INVALID_ARG, IT_ERR_INVALID_PRIVS},
	{UAL_CALL_LMR_CREATE, RI_ERR_LIMIT, IT_ERR_RESOURCE_LMR_LENGTH},
	{UAL_CALL_LMR_DMABUF, RI_ERR_INVALID_ARG, IT_ERR_INVALID_HANDLE},
	{UAL_CALL_LMR_DMABUF, RI_ERR_ADDRESS, IT_ERR_RANGE},
	{UAL_CALL_LMR_DMABUF, RI_ERR_LIMIT, IT_ERR_RESOURCE_LMR_LENGTH},
	{UAL_CALL_LMR_MODIFY, RI_ERR_INVALID_ARG, IT_ERR_INVALID_PRIVS},
	{UAL_CALL_LMR_MODIFY, RI_ERR_LIMIT, IT_ERR_RESOURCE_LMR_LENGTH},
	{UAL_CALL_LMR_MODIFY, RI_ERR_BUSY, IT_ERR_LMR_BUSY},
	{UAL_CALL_LMR_FREE, RI_ERR_BUSY, IT_ERR_LMR_BUSY},
	{UAL_CALL_MEM_MAP, RI_ERR_INVALID_ARG, IT_ERR_INVALID_LENGTH},
	{UAL_CALL_MEM_MAP, RI_ERR_ACCESS, IT_ERR_ADDRESS},
	{UAL_CALL_AH, RI_ERR_INVALID_ARG, IT_ERR_INVALID_SPIGOT},
	{UAL_CALL_UD_REPLY, RI_ERR_INVALID_HANDLE, IT_ERR_INVALID_UD_SVC_REQ_ID},
	{UAL_CALL_MEM_UNMAP, RI_ERR_INVALID_ARG, IT_ERR_INVALID_LENGTH},
	{UAL_CALL_MEM_UNMAP, RI_ERR_ADDRESS, IT_ERR_INVALID_ADDRESS},
	{UAL_CALL_POST_SEND, RI_ERR_LIMIT, IT_ERR_INVALID_NUM_SEGMENTS},
	{UAL_CALL_POST_RECV, RI_ERR_LIMIT, IT_ERR_INVALID_NUM_SEGMENTS},
	{UAL_CALL_POST_RECV, RI_ERR_INVALID_STATE, IT_ERR_INVALID_EP},
};

static const struct special *
find_special(unsigned int call, unsigned int from)
{
	for (gsize i = 0; i < G_N_ELEMENTS(specials); i++) {
		if (specials[i].call == call && specials[i].from == from)
			return &specials[i];
	}
	return NULL;
}

/* In every call each status is either special or common. */
static void
test_calls(void)
{
	for (unsigned int call = 0; call < UAL_CALL_COUNT; call++) {
		for (unsigned int from = 0; from < RI_STATUS_COUNT; from++) {
			const struct special *special = find_special(call, from);
			it_status_t to =
				special != NULL ? special->to : ual_status(UAL_CALL_OTHER, from);

			g_assert_cmpint(ual_status(call, from), ==, to);
		}
	}
}

static void
test_completions(void)
{
	static const struct row statuses[] = {
		ROW(RI_WC_SUCCESS, IT_DTO_SUCCESS),
		ROW(RI_WC_FLUSHED, IT_DTO_ERR_FLUSHED),
		ROW(RI_WC_LOCAL_LENGTH, IT_DTO_ERR_LOCAL_LENGTH),
		ROW(RI_WC_LOCAL_QP, IT_DTO_ERR_LOCAL_EP),
		ROW(RI_WC_LOCAL_PROTECTION, IT_DTO_ERR_LOCAL_PROTECTION),
		ROW(RI_WC_LOCAL_INVALIDATE, IT_DTO_ERR_LOCAL_PROTECTION),
		ROW(RI_WC_MW_BIND, IT_RMR_OPERATION_FAILED),
		ROW(RI_WC_LOCAL_MM, IT_DTO_ERR_LOCAL_MM_OPERATION),
		ROW(RI_WC_BAD_RESPONSE, IT_DTO_ERR_BAD_RESPONSE),
		ROW(RI_WC_REMOTE_ACCESS, IT_DTO_ERR_REMOTE_ACCESS),
		ROW(RI_WC_REMOTE_INVALID_REQ, IT_DTO_ERR_REMOTE_RESPONDER),
		ROW(RI_WC_REMOTE_OPERATION, IT_DTO_ERR_REMOTE_RESPONDER),
		ROW(RI_WC_TRANSPORT, IT_DTO_ERR_TRANSPORT),
		ROW(RI_WC_RNR, IT_DTO_ERR_RECEIVER_NOT_READY),
	};
	static const struct row events[] = {
		ROW(RI_OP_NONE, IT_DTO_EVENT_STREAM),
		ROW(RI_OP_SEND, IT_DTO_SEND_CMPL_EVENT),
		ROW(RI_OP_RDMA_WRITE, IT_DTO_RDMA_WRITE_CMPL_EVENT),
		ROW(RI_OP_RDMA_READ, IT_DTO_RDMA_READ_CMPL_EVENT),
		ROW(RI_OP_FETCH_ADD, IT_DTO_FETCH_ADD_CMPL_EVENT),
		ROW(RI_OP_CMP_SWAP, IT_DTO_CMP_SWAP_CMPL_EVENT),
		ROW(RI_OP_BIND_MW, IT_RMR_LINK_CMPL_EVENT),
		ROW(RI_OP_FAST_REG, IT_LMR_LINK_CMPL_EVENT),
		ROW(RI_OP_LOCAL_INV, IT_RMR_LINK_CMPL_EVENT),
		ROW(RI_OP_INV_MR, IT_LMR_LINK_CMPL_EVENT),
		ROW(RI_OP_SEND_UD, IT_DTO_SEND_CMPL_EVENT),
		ROW(RI_OP_RECV, IT_DTO_RC_RECV_CMPL_EVENT),
		ROW(RI_OP_RECV_UD, IT_DTO_UD_RECV_CMPL_EVENT),
		ROW(RI_OP_RECV_WRITE, IT_DTO_RC_RECV_CMPL_EVENT),
	};

	g_assert_cmpuint(G_N_ELEMENTS(statuses), ==, RI_WC_STATUS_COUNT);
	g_assert_cmpuint(G_N_ELEMENTS(events), ==, RI_OP_COUNT);
	for (unsigned int i = 0; i < RI_WC_STATUS_COUNT; i++) {
		begin_row(&statuses[i], i);
		g_assert_cmpint(ual_status_of_wc(i), ==, statuses[i].to);
	}
	g_assert_cmpint(ual_status_of_wc(RI_WC_STATUS_COUNT), ==, IT_DTO_ERR_LOCAL_EP);
	g_assert_cmpint(ual_status_of_wc(255), ==, IT_DTO_ERR_LOCAL_EP);
	for (unsigned int i = 0; i < RI_OP_COUNT; i++) {
		begin_row(&events[i], i);
		g_assert_cmpint(ual_status_wc_event(i), ==, events[i].to);
	}
	g_assert_cmpint(ual_status_wc_event(RI_OP_COUNT), ==, IT_DTO_EVENT_STREAM);
}

/* One letter for each enum ri_event, in its order; see letter_event. */
static const char async_wanted[] =
	".."    /* NONE, CLOSE_COMPLETE */
	"E"     /* TERMINATE_RECEIVED, detail 0 */
	"PPTP"  /* LLP_RESET, LLP_LOST, BAD_CLOSE, BAD_LLP_CLOSE */
	"PPP"   /* SEGMENT_SIZE, CRC, FPDU */
	"TTOT"  /* DDP_VERSION, RDMAP_VERSION, OPCODE, QN */
	"IATT"  /* READ_DISABLED, WRITE_DISABLED, READ_MALFORMED, NO_L_BIT */
	"AAAAA" /* STAG, BOUNDS, ACCESS, PD, WRAP */
	"RRR"   /* RQ_MSN_RANGE, RQ_MSN_GAP, RQ_MO */
	"III"   /* IRRQ_OVERFLOW, IRRQ_MSN_GAP, IRRQ_MSN_RANGE */
	"IIIII" /* IRRQ_STAG, _BOUNDS, _ACCESS, _PD, _WRAP */
	"FFS"   /* CQ_SQ_ERROR, CQ_RQ_ERROR, SRQ_ERROR */
	"..X"   /* RQ_HARD_LIMIT, WR_ERROR, CATASTROPHIC */
	".H"    /* STREAM_UP, RQ_LIMIT */
	"....." /* LAST_WQE, COMM_EST, SQ_DRAINED, PATH_MIG, _FAILED */
	"fo"    /* CQ_OVERFLOW, CQ_OP_ERROR */
	"lc"    /* SRQ_LIMIT, SRQ_CATASTROPHIC */
	"."     /* DEVICE_CATASTROPHIC */
	"+-.";  /* PORT_ACTIVE, PORT_ERROR, PORT_CHANGE */

static it_event_type_t
letter_event(char letter)
{
	switch (letter) {
	case 'E':
		return IT_ASYNC_AFF_EP_R_ERROR;
	case 'P':
		return IT_ASYNC_AFF_EP_L_LLP_ERROR;
	case 'T':
		return IT_ASYNC_AFF_EP_L_TRANSPORT_ERROR;
	case 'O':
		return IT_ASYNC_AFF_EP_BAD_TRANSPORT_OPCODE;
	case 'I':
		return IT_ASYNC_AFF_EP_L_IRRQ_ACCESS_VIOLATION;
	case 'A':
		return IT_ASYNC_AFF_EP_L_ACCESS_VIOLATION;
	case 'R':
		return IT_ASYNC_AFF_EP_L_RECV_ACCESS_VIOLATION;
	case 'F':
		return IT_ASYNC_AFF_EP_SEVD_FULL_ERROR;
	case 'S':
		return IT_ASYNC_AFF_EP_SRQ_ERROR;
	case 'X':
		return IT_ASYNC_AFF_EP_FAILURE;
	case 'H':
		return IT_ASYNC_AFF_EP_SOFT_HI_WATERMARK;
	case 'f':
		return IT_ASYNC_AFF_SEVD_FULL_ERROR;
	case 'o':
		return IT_ASYNC_AFF_SEVD_OP_ERROR;
	case 'l':
		return IT_ASYNC_AFF_SRQ_LOW_WATERMARK;
	case 'c':
		return IT_ASYNC_AFF_SRQ_CATASTROPHIC;
	case '+':
		return IT_ASYNC_UNAFF_SPIGOT_ONLINE;
	case '-':
		return IT_ASYNC_UNAFF_SPIGOT_OFFLINE;
	default:
		return (it_event_type_t)0;
	}
}

static void
test_async(void)
{
	g_assert_cmpuint(strlen(async_wanted), ==, RI_EVENT_COUNT);
	for (unsigned int i = 0; i < RI_EVENT_COUNT; i++) {
		g_test_message("event %u", i);
		g_assert_cmpint(ual_status_of_event(i, 0), ==, letter_event(async_wanted[i]));
	}
	g_assert_cmpint(ual_status_of_event(RI_EVENT_COUNT, 0), ==, 0);
}

/* Terminate codes of RFC 5040 4.8, RFC 5041 and RFC 5044. */
static void
test_terminate(void)
{
	for (uint32_t detail = 0; detail <= 0xffff; detail++) {
		it_event_type_t wanted = IT_ASYNC_AFF_EP_R_ERROR;

		if (detail >> 8 == 0x01 || detail >> 8 == 0x11)
			wanted = IT_ASYNC_AFF_EP_R_ACCESS_VIOLATION;
		else if (detail == 0x1202 || detail == 0x1203 || detail == 0x1204)
			wanted = IT_ASYNC_AFF_EP_R_RECV_ACCESS_VIOLATION;
		else if (detail == 0x1205)
			wanted = IT_ASYNC_AFF_EP_R_RECV_LENGTH_ERROR;
		g_assert_cmpint(ual_status_of_event(RI_EVENT_QP_TERMINATE_RECEIVED, detail), ==,
				wanted);
	}
}

static void
test_reasons(void)
{
	g_assert_cmpint(ual_status_of_reason(KAL_REASON_OTHER), ==, IT_CN_REJ_OTHER);
	g_assert_cmpint(ual_status_of_reason(KAL_REASON_TIMEOUT), ==, IT_CN_REJ_TIMEOUT);
	g_assert_cmpint(ual_status_of_reason(KAL_REASON_BAD_PATH), ==, IT_CN_REJ_BAD_PATH);
	g_assert_cmpint(ual_status_of_reason(KAL_REASON_STALE), ==, IT_CN_REJ_STALE_CONN);
	g_assert_cmpint(ual_status_of_reason(KAL_REASON_CONSUMER), ==, IT_CN_REJ_OTHER);
	g_assert_cmpint(ual_status_of_reason(KAL_REASON_BAD_ORD), ==, IT_CN_REJ_BAD_ORD);
	g_assert_cmpint(ual_status_of_reason(KAL_REASON_RESOURCES), ==, IT_CN_REJ_RESOURCES);
	g_assert_cmpint(ual_status_of_reason(KAL_REASON_BAD_PARAMS), ==, IT_CN_REJ_BAD_CONN_PARMS);
	g_assert_cmpint(ual_status_of_reason(99), ==, IT_CN_REJ_OTHER);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ual/status/common", test_common);
	g_test_add_func("/ual/status/calls", test_calls);
	g_test_add_func("/ual/status/completions", test_completions);
	g_test_add_func("/ual/status/async", test_async);
	g_test_add_func("/ual/status/terminate", test_terminate);
	g_test_add_func("/ual/status/reasons", test_reasons);
	return g_test_run();
}
