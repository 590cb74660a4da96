/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* RNIC-PI 1.6. The semantic profile of an adapter, and the attributes of all objects. */
#ifndef RNICPI_ATTR_H
#define RNICPI_ATTR_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum ri_transport {
	RI_TRANSPORT_NONE = 0,
	RI_TRANSPORT_IB,
	RI_TRANSPORT_IWARP
};

enum ri_access {
	RI_ACCESS_LOCAL_READ = 1u << 0,
	RI_ACCESS_LOCAL_WRITE = 1u << 1,
	RI_ACCESS_REMOTE_READ = 1u << 2,
	RI_ACCESS_REMOTE_WRITE = 1u << 3,
	RI_ACCESS_REMOTE_ATOMIC = 1u << 4,
	RI_ACCESS_BIND = 1u << 5
};

enum ri_addr_family {
	RI_ADDR_NONE = 0,
	RI_ADDR_IPV4,
	RI_ADDR_IPV6,
	RI_ADDR_GID
};

struct ri_addr {
	uint8_t family;
	uint8_t reserved[3];
	uint32_t scope_id;
	uint8_t octets[16];
};

enum ri_service_kind {
	RI_SERVICE_NONE = 0,
	RI_SERVICE_PORT,
	RI_SERVICE_IB
};

struct ri_service {
	uint8_t kind;
	uint8_t reserved;
	uint16_t port;
	uint16_t local_port;
	uint16_t reserved2;
	uint64_t id;
};

enum ri_key_owner {
	RI_KEY_PROVIDER = 0,
	RI_KEY_CONSUMER
};

enum ri_rnr_mode {
	RI_RNR_TERMINATE = 0,
	RI_RNR_RETRY,
	RI_RNR_HOLD
};

enum ri_cm_form {
	RI_CM_ADDRESS = 1u << 0,
	RI_CM_STREAM = 1u << 1
};

enum ri_llp_startup {
	RI_LLP_STARTUP_NONE = 0,
	RI_LLP_STARTUP_MPA
};

struct ri_rnic_attr {
	uint32_t size;
	uint32_t transport;
	char name[64];
	char vendor[64];
	uint32_t vendor_id;
	uint32_t vendor_part;
	uint32_t hw_version;
	uint32_t fw_version;
	uint32_t num_ports;

	uint32_t max_pd;
	uint32_t max_qp;
	uint32_t max_cq;
	uint32_t max_cqe;
	uint32_t max_srq;
	uint32_t max_srq_wr;
	uint32_t max_mr;
	uint32_t max_mw;
	uint32_t max_ah;
	uint64_t max_mr_length;
	uint32_t max_sq_wr;
	uint32_t max_rq_wr;
	uint32_t max_send_sge;
	uint32_t max_recv_sge;
	uint32_t max_write_sge;
	uint32_t max_read_sge;
	uint32_t max_ird;
	uint32_t max_ord;
	uint32_t max_rnic_ird;
	uint32_t max_rnic_ord;
	uint64_t max_message_size;
	uint32_t max_ud_message;
	uint32_t max_inline;
	uint32_t max_pbl;
	uint32_t num_completion_handlers;

	bool read_sink_needs_remote_write;
	bool read_local_extensions;
	uint8_t immediate_size;
	bool immediate_separate;
	bool atomics;
	bool masked_atomics;
	bool send_invalidate;
	bool mw_narrow;
	bool mw_wide;
	bool mw_narrow_unbind;
	bool mw_wide_unbind;
	bool mw_on_zero_based;
	uint8_t mr_key_owner;
	uint8_t mw_key_owner;
	bool zero_based;
	bool local_read_revocable;
	bool privileged_ops;
	bool fast_register;
	bool direct_stag;
	bool local_fence;
	bool reregister;
	bool shared_mr;
	bool reg_page_list;
	bool reg_block_list;
	bool reg_ve_list;

	bool enables_modifiable;
	bool ord_increasable;
	bool ird_modifiable;
	bool wq_resizable;
	bool srq_resizable;
	bool cq_resizable;
	bool srq;
	bool srq_limit;
	bool rq_soft_limit;
	bool rq_hard_limit;
	uint8_t rnr_mode;
	bool completion_acked;
	bool in_order_completion;
	bool in_order_placement;
	bool remote_status;
	bool terminate_info;
	bool cq_overflow_detect;
	bool cq_notify_flag;
	bool cq_arm_count;
	bool thread_safe_queues;
	bool solicited_works;

	bool extended_qp_states;
	bool qp_reusable;
	bool last_wqe_event;
	bool has_time_wait;
	uint8_t cm_forms;
	uint8_t llp_startup;
	bool three_way_handshake;
	bool initiator_first;
	uint8_t rtr_types;
	bool ird_ord_exchange;
	bool ird_ord_suppressible;
	uint16_t connect_pdata;
	uint16_t accept_pdata;
	uint16_t reject_pdata;
	uint16_t confirm_pdata;
	uint16_t disconnect_pdata;
	bool socket_conversion;
	bool addr_ip;
	bool addr_gid;
	bool ud;
	bool ib_path;
	bool port_events;
	bool one_address_space;
	bool software;
	bool kvp_in_process;
	uint16_t ud_request_pdata;
	uint16_t ud_reply_pdata;
	uint64_t refuses;
	bool dmabuf;
	bool mw_wide_stag_returned;
};

enum ri_refusal {
	RI_REFUSES_UNCONNECTED_REQUESTS = 1u << 0
};

enum ri_rtr {
	RI_RTR_WRITE = 1u << 0,
	RI_RTR_READ = 1u << 1,
	RI_RTR_SEND = 1u << 2
};

#define RI_PDATA_MAX 256

#define RI_PORT_ADDR_MAX 16

struct ri_port_attr {
	uint32_t size;
	bool online;
	uint32_t mtu;
	uint32_t speed_mbps;
	uint64_t max_message;
	char if_name[32];
	uint32_t num_addrs;
	struct ri_addr addrs[RI_PORT_ADDR_MAX];
};

enum ri_qp_type {
	RI_QP_RC = 0,
	RI_QP_UD
};

enum ri_qp_state {
	RI_QPS_NONE = 0,
	RI_QPS_IDLE,
	RI_QPS_CONNECTING,
	RI_QPS_RTS,
	RI_QPS_CLOSING,
	RI_QPS_TERMINATE,
	RI_QPS_ERROR,
	RI_QPS_COUNT
};

const char *ri_qp_state_name(enum ri_qp_state state);

struct ri_qp_init {
	uint64_t ctx;
	uint32_t type;
	uint32_t port;
	uint32_t max_sq_wr;
	uint32_t max_rq_wr;
	uint32_t max_send_sge;
	uint32_t max_recv_sge;
	uint32_t max_write_sge;
	uint32_t max_read_sge;
	uint32_t ird;
	uint32_t ord;
	uint32_t access;
	uint32_t qkey;
	uint32_t soft_limit;
	uint32_t hard_limit;
	bool privileged;
};

enum ri_qp_attr_mask {
	RI_QP_ATTR_STATE = 1u << 0,
	RI_QP_ATTR_ACCESS = 1u << 1,
	RI_QP_ATTR_IRD = 1u << 2,
	RI_QP_ATTR_ORD = 1u << 3,
	RI_QP_ATTR_SOFT = 1u << 5,
	RI_QP_ATTR_QKEY = 1u << 6,
	RI_QP_ATTR_HARD = 1u << 7
};

#define RI_TERMINATE_MAX 64

struct ri_qp_attr {
	uint32_t state;
	uint32_t qpn;
	uint32_t access;
	uint32_t ird;
	uint32_t ord;
	uint32_t max_sq_wr;
	uint32_t max_rq_wr;
	uint32_t max_send_sge;
	uint32_t max_recv_sge;
	uint32_t max_write_sge;
	uint32_t max_read_sge;
	uint32_t soft_limit;
	uint32_t hard_limit;
	uint32_t qkey;
	bool quiescent;
	bool terminate_sent;
	uint8_t terminate_len;
	uint8_t terminate[RI_TERMINATE_MAX];
	bool skip_time_wait;
};

#define RI_SRQ_LIMIT_KEEP UINT32_MAX

struct ri_srq_attr {
	uint64_t ctx;
	uint32_t max_wr;
	uint32_t max_sge;
	uint32_t limit;
	uint32_t available;
};

struct ri_mr_init {
	uint64_t addr;
	uint64_t length;
	uint32_t access;
	bool zero_based;
	uint8_t key;
	bool shareable;
	bool unlinked;
	uint32_t max_pages;
	const uint64_t *pages;
	uint32_t page_size;
	uint32_t fbo;
	const uint32_t *lengths;
};

struct ri_mr_attr {
	uint32_t stag;
	uint32_t access;
	uint64_t addr;
	uint64_t length;
	bool valid;
	bool shared;
	bool zero_based;
	uint32_t bound;
};

enum ri_mw_type {
	RI_MW_NARROW = 0,
	RI_MW_WIDE
};

struct ri_ah_init {
	uint32_t port;
	struct ri_addr dest;
	uint16_t dlid;
	uint8_t sl;
	uint8_t path_bits;
	uint8_t hop_limit;
	uint8_t traffic_class;
	uint32_t flow_label;
	struct ri_addr source;
};

#ifdef __cplusplus
}
#endif

#endif
