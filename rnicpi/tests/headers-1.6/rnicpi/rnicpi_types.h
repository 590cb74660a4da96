/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* RNIC-PI 1.6. Statuses, work requests, completions. */
#ifndef RNICPI_TYPES_H
#define RNICPI_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rnicpi_attr.h"
#include "rnicpi_event.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define RI_MUST_CHECK __attribute__((warn_unused_result))
#else
#define RI_MUST_CHECK
#endif

enum ri_status {
	RI_SUCCESS = 0,
	RI_ERR_INVALID_ARG,
	RI_ERR_INVALID_HANDLE,
	RI_ERR_INVALID_STATE,
	RI_ERR_RESOURCES,
	RI_ERR_LIMIT,
	RI_ERR_BUSY,
	RI_ERR_UNSUPPORTED,
	RI_ERR_QUEUE_FULL,
	RI_ERR_NOT_EMPTY,
	RI_ERR_ACCESS,
	RI_ERR_ADDRESS,
	RI_ERR_PERMISSION,
	RI_ERR_IN_USE,
	RI_ERR_NO_ROUTE,
	RI_ERR_STILL_FLUSHING,
	RI_ERR_TIME_WAIT,
	RI_ERR_TIMEOUT,
	RI_ERR_INTERRUPTED,
	RI_ERR_PROTOCOL,
	RI_ERR_NO_DEVICE,
	RI_ERR_VERSION,
	RI_ERR_PROVIDER,
	RI_ERR_FATAL,
	RI_STATUS_COUNT
};

enum ri_wc_status {
	RI_WC_SUCCESS = 0,
	RI_WC_FLUSHED,
	RI_WC_LOCAL_LENGTH,
	RI_WC_LOCAL_QP,
	RI_WC_LOCAL_PROTECTION,
	RI_WC_LOCAL_INVALIDATE,
	RI_WC_MW_BIND,
	RI_WC_LOCAL_MM,
	RI_WC_BAD_RESPONSE,
	RI_WC_REMOTE_ACCESS,
	RI_WC_REMOTE_INVALID_REQ,
	RI_WC_REMOTE_OPERATION,
	RI_WC_TRANSPORT,
	RI_WC_RNR,
	RI_WC_STATUS_COUNT
};

const char *ri_status_name(enum ri_status status);
const char *ri_wc_status_name(enum ri_wc_status status);

enum ri_opcode {
	RI_OP_NONE = 0,
	RI_OP_SEND,
	RI_OP_RDMA_WRITE,
	RI_OP_RDMA_READ,
	RI_OP_FETCH_ADD,
	RI_OP_CMP_SWAP,
	RI_OP_BIND_MW,
	RI_OP_FAST_REG,
	RI_OP_LOCAL_INV,
	RI_OP_INV_MR,
	RI_OP_SEND_UD,
	RI_OP_RECV,
	RI_OP_RECV_UD,
	RI_OP_COUNT
};

const char *ri_opcode_name(enum ri_opcode opcode);

enum ri_wr_flag {
	RI_WR_SIGNALED = 1u << 0,
	RI_WR_NOTIFY = 1u << 1,
	RI_WR_SOLICITED = 1u << 2,
	RI_WR_READ_FENCE = 1u << 3,
	RI_WR_LOCAL_FENCE = 1u << 4,
	RI_WR_INVALIDATE = 1u << 5,
	RI_WR_COALESCE = 1u << 6,
	RI_WR_BIND_RELATIVE = 1u << 7
};

struct ri_sge {
	uint64_t addr;
	uint32_t length;
	uint32_t stag;
};

struct ri_wr_remote {
	uint64_t addr;
	uint32_t stag;
	uint32_t reserved;
	uint64_t operand;
	uint64_t swap;
};

struct ri_wr_bind {
	uint32_t mw_stag;
	uint32_t mr_stag;
	uint64_t addr;
	uint64_t length;
	uint32_t access;
	uint32_t reserved;
};

struct ri_wr_bind_returning {
	struct ri_wr_bind bind;
	uint32_t *stag;
};

struct ri_wr_fast_reg {
	uint32_t stag;
	uint32_t access;
	uint64_t addr;
	uint64_t length;
	const uint64_t *pages;
	uint32_t num_pages;
	uint32_t page_size;
	uint32_t fbo;
	uint32_t reserved;
	const uint32_t *lengths;
};

struct ri_wr_ud {
	uint32_t ah;
	uint32_t qpn;
	uint32_t qkey;
};

struct ri_wr {
	uint64_t wr_id;
	const struct ri_sge *sgl;
	uint16_t num_sge;
	uint8_t opcode;
	uint8_t reserved;
	uint32_t flags;
	uint32_t inv_stag;
	union {
		struct ri_wr_remote remote;
		struct ri_wr_bind bind;
		struct ri_wr_fast_reg fast_reg;
		struct ri_wr_ud ud;
		struct ri_wr_bind_returning returning;
	} u;
};

struct ri_recv_wr {
	uint64_t wr_id;
	const struct ri_sge *sgl;
	uint16_t num_sge;
	uint16_t reserved;
	uint32_t flags;
};

enum ri_wc_flag {
	RI_WC_SOLICITED = 1u << 0,
	RI_WC_INVALIDATED = 1u << 1,
	RI_WC_RECEIVE = 1u << 2,
	RI_WC_GRH = 1u << 3
};

struct ri_wc {
	uint64_t wr_id;
	uint64_t qp_ctx;
	uint32_t byte_len;
	uint32_t inv_stag;
	uint8_t status;
	uint8_t opcode;
	uint8_t flags;
	uint8_t reserved;
	uint32_t detail;
	uint32_t src_qpn;
	uint32_t reserved2;
	uint8_t src_addr[16];
};

#ifdef __cplusplus
}
#endif

#endif
