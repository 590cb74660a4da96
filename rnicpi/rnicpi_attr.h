/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/**
 * @file rnicpi_attr.h
 * @brief The semantic profile and the attributes of all objects.
 *
 * Plain data; C99, no GLib. Include rnicpi_types.h, which includes this file. @ref rnicpi_units says in what
 * units members are.
 */
#ifndef RNICPI_ATTR_H
#define RNICPI_ATTR_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @addtogroup rnicpi
 * @{
 */

/**
 * @defgroup rnicpi_attr Attributes
 * @{
 */

/** Transport below an adapter. */
enum ri_transport {
	RI_TRANSPORT_NONE = 0, /**< Not set. */
	RI_TRANSPORT_IB,       /**< InfiniBand semantics. */
	RI_TRANSPORT_IWARP     /**< iWARP semantics. */
};

/** Rights on memory and on queue pairs; bits [RI 5.3]. */
enum ri_access {
	RI_ACCESS_LOCAL_READ = 1u << 0,    /**< Source of Send and Write. */
	RI_ACCESS_LOCAL_WRITE = 1u << 1,   /**< Target of receives. */
	RI_ACCESS_REMOTE_READ = 1u << 2,   /**< Source of the peer's Reads. */
	RI_ACCESS_REMOTE_WRITE = 1u << 3,  /**< Target of the peer's Writes. */
	RI_ACCESS_REMOTE_ATOMIC = 1u << 4, /**< Target of the peer's atomics. */
	RI_ACCESS_BIND = 1u << 5           /**< Region: windows may be bound to it. */
};

/** Families of ri_addr. */
enum ri_addr_family {
	RI_ADDR_NONE = 0, /**< No address ("any"). */
	RI_ADDR_IPV4,     /**< IPv4: the first 4 of ri_addr::octets. */
	RI_ADDR_IPV6,     /**< IPv6: all 16, and the scope. */
	RI_ADDR_GID       /**< InfiniBand global identifier: all 16. */
};

/** A network address. */
struct ri_addr {
	uint8_t family;      /**< An enum ri_addr_family. */
	uint8_t reserved[3]; /**< 0. */
	uint32_t scope_id;   /**< IPv6 link-local: interface index; else 0. */
	uint8_t octets[16];  /**< Network order; unused ones are 0. */
};

/** Kinds of ri_service. */
enum ri_service_kind {
	RI_SERVICE_NONE = 0, /**< Not set. */
	RI_SERVICE_PORT,     /**< A TCP port. */
	RI_SERVICE_IB        /**< A 64-bit InfiniBand service id. */
};

/** What is listened on or connected to. Ports and ids are in network order, as in IT-API. */
struct ri_service {
	uint8_t kind;        /**< An enum ri_service_kind. */
	uint8_t reserved;    /**< 0. */
	uint16_t port;       /**< RI_SERVICE_PORT: the TCP port; 0 = any, to listen only. */
	uint16_t local_port; /**< Connect: local TCP port, 0 = any. RI_CM_REQUEST: the peer's. */
	uint16_t reserved2;  /**< 0. */
	uint64_t id;         /**< RI_SERVICE_IB: the service id; 0 = any, to listen only. */
};

/** Who chooses the 8-bit key of an STag [RI 10.9]. */
enum ri_key_owner {
	RI_KEY_PROVIDER = 0, /**< The provider, anew at each registration or bind. */
	RI_KEY_CONSUMER      /**< The access layer hands it in. */
};

/** What happens to a message that finds no receive [RI 10.19]. */
enum ri_rnr_mode {
	RI_RNR_TERMINATE = 0, /**< The stream ends at once. */
	RI_RNR_RETRY,         /**< The sender retries, then fails (IB). */
	RI_RNR_HOLD           /**< The stream waits a bounded time, then ends. */
};

/** How connections are made; bits [RI 11.6]. */
enum ri_cm_form {
	RI_CM_ADDRESS = 1u << 0, /**< ri_cm_ops: the provider listens and connects. */
	RI_CM_STREAM = 1u << 1,  /**< ri_llp_ops: the provider takes over a connected stream. */
	RI_CM_PEER =
		1u << 2 /**< ri_peer_ops: the application has exchanged all attributes itself. */
};

/** What precedes RDMA mode on a stream, with RI_CM_STREAM. */
enum ri_llp_startup {
	RI_LLP_STARTUP_NONE = 0, /**< Nothing. */
	RI_LLP_STARTUP_MPA       /**< MPA Request and Reply (RFC 5044, 6581), made by the kAL. */
};

/**
 * @brief The semantic profile: what an adapter can do, and which of two behaviours it has.
 *
 * One attribute for each point on which iWARP and InfiniBand differ; [RI 10] says what each one settles. The
 * layers above branch on attributes, never on a provider's name. ri_device_ops::query fills them in, and they
 * are constant while the adapter is open. A limit is the largest value that a verb accepts. "Not 0" marks
 * limits that the registry refuses when they are 0 [RI 11.1.3]. Private data has at most RI_PDATA_MAX octets.
 */
struct ri_rnic_attr {
	uint32_t size;      /**< sizeof this struct as the provider knows it. */
	uint32_t transport; /**< The transport: enum ri_transport. */
	char name[64];      /**< Adapter name, such as "iwarp:eth0"; zero-terminated, not empty. */
	char vendor[64];    /**< Text for people, zero-terminated. */
	uint32_t vendor_id; /**< Vendor id of the hardware; 0 = none. */
	uint32_t vendor_part; /**< Part number of the hardware; 0 = none. */
	uint32_t hw_version;  /**< Version of the hardware; 0 = none. */
	uint32_t fw_version;  /**< Version of the firmware; 0 = none. */
	uint32_t num_ports;   /**< Spigots, numbered from 0. Not 0. */

	/* Limits. */
	uint32_t max_pd;           /**< Protection domains. Not 0. */
	uint32_t max_qp;           /**< Queue pairs. Not 0. */
	uint32_t max_cq;           /**< Completion queues. Not 0. */
	uint32_t max_cqe;          /**< Completions of one CQ. Not 0. */
	uint32_t max_srq;          /**< Shared receive queues. Not 0 with srq [RI 10.17]. */
	uint32_t max_srq_wr;       /**< Receives of one SRQ. Not 0 with srq. */
	uint32_t max_mr;           /**< Regions. Not 0. */
	uint32_t max_mw;           /**< Windows. Not 0 with mw_narrow or mw_wide. */
	uint32_t max_ah;           /**< Address handles. Not 0 with ud. */
	uint64_t max_mr_length;    /**< Bytes of one region. Not 0. */
	uint32_t max_sq_wr;        /**< Requests of one send queue. Not 0. */
	uint32_t max_rq_wr;        /**< Receives of one receive queue. Not 0. */
	uint32_t max_send_sge;     /**< Segments of a Send. Not 0. */
	uint32_t max_recv_sge;     /**< Segments of a receive. Not 0. */
	uint32_t max_write_sge;    /**< Segments of an RDMA Write. Not 0. */
	uint32_t max_read_sge;     /**< Segments of the sink of an RDMA Read. Not 0 [RI 10.2]. */
	uint32_t max_ird;          /**< Reads and atomics that a QP serves at once. */
	uint32_t max_ord;          /**< Reads and atomics that a QP has outstanding at once. */
	uint32_t max_rnic_ird;     /**< IRD of all QPs together; 0 = no common limit. */
	uint32_t max_rnic_ord;     /**< ORD of all QPs together; 0 = no common limit. */
	uint64_t max_message_size; /**< Octets of one message. Not 0 [RI 10.36]. */
	uint32_t max_ud_message;   /**< Octets of a datagram. Not 0 with ud. */
	uint32_t
		max_inline; /**< Bytes that a post copies; the limit of RI_WR_INLINE with inline_data [RI 10.49]. */
	uint32_t max_pbl;                 /**< Elements of a page or block list; 0 without lists. */
	uint32_t num_completion_handlers; /**< Completion vectors; for information [RI 10.38]. */

	/* RDMA Read and memory. */
	bool read_sink_needs_remote_write; /**< The sink of a Read needs remote write access, too [RI 10.1]. */
	bool read_local_extensions; /**< Read into a window, sink invalidation [RI 10.3]. */
	uint8_t immediate_size;     /**< Immediate data: 0, 4 or 8 octets [RI 10.4]. */
	bool immediate_separate;    /**< Immediate data is a message of its own [RI 10.4]. */
	bool atomics;               /**< Fetch-and-add and compare-and-swap of 64 bits [RI 10.5]. */
	bool masked_atomics;        /**< Atomics with masks; for information [RI 10.5]. */
	bool send_invalidate;       /**< A Send can invalidate an STag of the peer [RI 10.6]. */
	bool mw_narrow;             /**< Windows of one QP [RI 10.7]. */
	bool mw_wide;               /**< Windows of a PD [RI 10.7]. */
	bool mw_narrow_unbind;      /**< Local invalidation of a narrow window [RI 10.7]. */
	bool mw_wide_unbind;        /**< Zero-length bind of a wide window [RI 10.7]. */
	bool mw_on_zero_based;      /**< Windows on zero-based regions [RI 10.8]. */
	uint8_t mr_key_owner; /**< Who chooses the key of a region: enum ri_key_owner [RI 10.9]. */
	uint8_t mw_key_owner; /**< Who chooses the key of a window: enum ri_key_owner [RI 10.9]. */
	bool zero_based;      /**< Regions and windows that peers address from 0 [RI 10.10]. */
	bool local_read_revocable; /**< Local reads of a region without local read fail [RI 10.11]. */
	bool privileged_ops;       /**< QPs can be privileged [RI 10.12]. */
	bool fast_register; /**< RI_OP_FAST_REG and RI_OP_INV_MR; needs privileged_ops [RI 10.12]. */
	bool direct_stag;   /**< STag 0 on privileged QPs; needs privileged_ops [RI 10.12]. */
	bool local_fence;   /**< RI_WR_LOCAL_FENCE works [RI 10.13]. */
	bool reregister;    /**< ri_mem_ops::mr_rereg works. */
	bool shared_mr;     /**< Shared registration [RI 10.41]. */
	bool reg_page_list;  /**< Registration of pages of one size [RI 10.40]. */
	bool reg_block_list; /**< Registration of blocks of one size with any offset [RI 10.40]. */
	bool reg_ve_list;    /**< Registration of elements of varying length [RI 10.40]. */

	/* Queues and completions. */
	bool enables_modifiable; /**< Rights of a QP can change after its creation [RI 10.14]. */
	bool ord_increasable;    /**< ORD of a QP can be raised [RI 10.15]. */
	bool ird_modifiable;     /**< IRD of a QP can be changed [RI 10.15]. */
	bool wq_resizable;       /**< ri_qp_ops::resize works [RI 10.16]. */
	bool srq_resizable;      /**< ri_srq_ops::modify can resize [RI 10.16]. */
	bool cq_resizable;       /**< ri_cq_ops::resize works [RI 10.16]. */
	bool srq;                /**< ri_srq_ops works [RI 10.17]. */
	bool srq_limit; /**< The low watermark of an SRQ raises RI_EVENT_SRQ_LIMIT [RI 10.17]. */
	bool rq_soft_limit; /**< The soft high watermark of a QP raises RI_EVENT_QP_RQ_LIMIT [RI 10.18]. */
	bool rq_hard_limit; /**< The hard high watermark of a QP ends it [RI 10.18]. */
	uint8_t rnr_mode; /**< What becomes of a message that finds no receive: enum ri_rnr_mode [RI 10.19]. */
	bool completion_acked; /**< A completed Send or Write is at the peer's adapter [RI 10.20]. */
	bool in_order_completion; /**< Completions of a queue in posting order [RI 10.21]. */
	bool in_order_placement;  /**< Payload is placed in ascending order (R-21) [RI 10.22]. */
	bool remote_status; /**< An error at the peer completes the request that caused it [RI 10.23]. */
	bool terminate_info;     /**< The Terminate message is kept for a query [RI 10.24]. */
	bool cq_overflow_detect; /**< An overflow ends only the QP that caused it [RI 10.37]. */
	bool cq_notify_flag;     /**< RI_WR_NOTIFY works [RI 7.3]. */
	bool cq_arm_count;       /**< RI_ARM_COUNT works [RI 7.3]. */
	bool thread_safe_queues; /**< Several threads may call fast entries on one object at once [RI 2.3.3]. */
	bool solicited_works; /**< RI_ARM_SOLICITED is reliable [RI 7.4]. */

	/* States and connections. */
	bool extended_qp_states; /**< A QP can be in CONNECTING during the start-up [RI 10.25]. */
	bool qp_reusable;        /**< A QP can go from ERROR back to IDLE [RI 10.26]. */
	bool last_wqe_event;     /**< RI_EVENT_QP_LAST_WQE comes [RI 10.27]. */
	bool has_time_wait;      /**< ri_qp_ops::modify can return RI_ERR_TIME_WAIT [RI 10.45]. */
	uint8_t cm_forms;        /**< RI_CM_* bits, at least one [RI 11.6]. */
	uint8_t llp_startup;     /**< What precedes RDMA mode on a stream: enum ri_llp_startup. */
	bool three_way_handshake; /**< ri_cm_params::three_way and ri_cm_ops::confirm work [RI 10.28]. */
	bool initiator_first; /**< The passive side may not send first [RI 10.29]. */
	uint8_t rtr_types; /**< RI_RTR_WRITE, RI_RTR_READ: what it can send and expect [RI 10.29]. */
	bool ird_ord_exchange;     /**< The set-up can exchange IRD and ORD [RI 10.32]. */
	bool ird_ord_suppressible; /**< The set-up can leave that exchange out [RI 10.32]. */
	uint16_t connect_pdata;    /**< Octets of private data of a request [RI 10.30]. */
	uint16_t accept_pdata;     /**< Octets of private data of an acceptance [RI 10.30]. */
	uint16_t reject_pdata;     /**< Octets of private data of a rejection [RI 10.30]. */
	uint16_t confirm_pdata;    /**< Octets of private data of the third message [RI 10.30]. */
	uint16_t disconnect_pdata; /**< Octets of private data of a disconnect [RI 10.30]. */
	bool socket_conversion; /**< A connected socket of the application can be taken over [RI 10.31]. */
	bool addr_ip;           /**< Peers are named by IP address and port [RI 10.33]. */
	bool addr_gid;          /**< Peers can be named by GID and service id [RI 10.33]. */
	bool ud;          /**< Datagrams: RI_QP_UD, ri_ah_ops, ri_cm_ops::resolve [RI 10.34]. */
	bool ib_path;     /**< Paths carry InfiniBand attributes [RI 10.35]. */
	bool port_events; /**< Spigots raise RI_EVENT_PORT_* [RI 10.39]. */
	bool one_address_space; /**< Peers live in this process, as those of `emul` do. */
	bool software; /**< The engine is software: ri_fast_ops::progress and leader_enter exist. */
	bool kvp_in_process; /**< It has a kernel driver of its own, which does what the kAL would. */
	uint16_t ud_request_pdata; /**< Octets of private data of a service request. */
	uint16_t ud_reply_pdata;   /**< The same of its answer. */
	uint64_t refuses;          /**< RI_REFUSES_* bits: what it refuses where others do not. */
	bool dmabuf;               /**< ri_mem_ops::mr_reg_dmabuf works [RI 10.47]. */
	bool mw_wide_stag_returned; /**< The post of a bind of a wide window chooses its STag [RI 10.48]. */
	bool inline_data;           /**< RI_WR_INLINE works; needs max_inline [RI 10.49]. */
	uint8_t immediate_with; /**< RI_IMMEDIATE_* bits: what takes RI_WR_IMMEDIATE; needs immediate_size [RI 10.50]. */
	bool uc; /**< RI_QP_UC; needs RI_CM_PEER [RI 10.51]. */
	bool multicast; /**< ri_qp_ops::mcast_attach works, and address handles name groups; needs ud [RI 10.52]. */
	bool iova;      /**< ri_mr_init::iova works [RI 10.53]. */
	bool cm_number; /**< RI_QP_NUMBER; needs RI_CM_ADDRESS and RI_CM_PEER [RI 10.54]. */
};

/** Requests that can carry immediate data; bits of ri_rnic_attr::immediate_with. */
enum ri_immediate {
	RI_IMMEDIATE_SEND = 1u << 0,  /**< RI_OP_SEND. */
	RI_IMMEDIATE_WRITE = 1u << 1, /**< RI_OP_RDMA_WRITE. */
	RI_IMMEDIATE_UD = 1u << 2     /**< RI_OP_SEND_UD. */
};

/** Calls that real devices refuse; bits of ri_rnic_attr::refuses. */
enum ri_refusal {
	/** Requests posted in IDLE or CONNECTING are refused with RI_ERR_INVALID_STATE, not kept [RI 10.46]. */
	RI_REFUSES_UNCONNECTED_REQUESTS = 1u << 0
};

/** Ready-to-receive messages of enhanced MPA (RFC 6581); bits. */
enum ri_rtr {
	RI_RTR_WRITE = 1u << 0, /**< Zero-length RDMA Write. */
	RI_RTR_READ = 1u << 1,  /**< Zero-length RDMA Read. */
	RI_RTR_SEND =
		1u
		<< 2 /**< Zero-length Send, which takes a receive; chosen if nothing else was offered. */
};

/** Room for the private data of any message (octets). */
#define RI_PDATA_MAX 256

/** Most addresses that ri_port_attr lists. */
#define RI_PORT_ADDR_MAX 16

/** A spigot, as ri_device_ops::query_port returns it. */
struct ri_port_attr {
	uint32_t size;        /**< sizeof this struct as the provider knows it. */
	bool online;          /**< Usable now. */
	uint32_t mtu;         /**< MTU of the interface (octets); 0 = not known. */
	uint32_t speed_mbps;  /**< Megabits per second; 0 = not known. */
	uint64_t max_message; /**< Octets of a message through this spigot. */
	char if_name[32];     /**< Name of the network interface, zero-terminated, or "". */
	uint32_t num_addrs;   /**< Entries of @ref addrs in use, 0 to RI_PORT_ADDR_MAX. */
	struct ri_addr addrs[RI_PORT_ADDR_MAX]; /**< Addresses of the spigot. */
};

/** Service type of a queue pair. */
enum ri_qp_type {
	RI_QP_RC = 0, /**< Reliable connected. */
	RI_QP_UD,     /**< Datagram. */
	/**
	 * Unreliable connected: Sends and Writes, which complete when they have left. A message that is lost, that finds no
	 * receive, or that the peer may not place, is dropped without a trace at the sender [RI 10.51].
	 */
	RI_QP_UC,
	/**
	 * No queue pair but its number: connection management for a queue pair that the application brings up itself by
	 * ri_peer_ops. It has no queues, no completions and no user half [RI 10.54].
	 */
	RI_QP_NUMBER
};

/** Common queue pair states [RI 4.3]. */
enum ri_qp_state {
	RI_QPS_NONE = 0,   /**< Not a state: an empty cell of a table. */
	RI_QPS_IDLE,       /**< Requests and receives are kept; nothing runs. */
	RI_QPS_CONNECTING, /**< The connection is being made. */
	RI_QPS_RTS,        /**< Ready to send: requests run. */
	RI_QPS_CLOSING,    /**< An orderly end is under way. */
	RI_QPS_TERMINATE,  /**< A Terminate was sent or received; the stream is not closed yet. */
	RI_QPS_ERROR,      /**< The connection is over; requests and receives are flushed. */
	RI_QPS_COUNT       /**< Number of values. */
};

/** Name of a queue pair state; never NULL. @param state any value @return text */
const char *ri_qp_state_name(enum ri_qp_state state);

/**
 * Attributes of a new queue pair. Slots and segments are minima up to the limits of ri_rnic_attr; the
 * creation reports the real ones. IRD and ORD are exact [RI 2.2.2].
 */
struct ri_qp_init {
	uint64_t ctx;  /**< Context of the access layer: comes back in completions and events. */
	uint32_t type; /**< enum ri_qp_type. */
	uint32_t port; /**< UD: the spigot, from 0. RC: not used. */
	uint32_t max_sq_wr;     /**< Slots of the send queue; 0 = none. */
	uint32_t max_rq_wr;     /**< Slots of the receive queue; with an SRQ reported as 0. */
	uint32_t max_send_sge;  /**< Segments of a Send. */
	uint32_t max_recv_sge;  /**< Segments of a receive. */
	uint32_t max_write_sge; /**< Segments of an RDMA Write. */
	uint32_t max_read_sge;  /**< Segments of an RDMA Read sink. */
	uint32_t ird;           /**< Reads and atomics that it serves at once. */
	uint32_t ord;           /**< Reads and atomics that it has outstanding at once. */
	uint32_t access; /**< RI_ACCESS_REMOTE_* bits that the peer may use; RI_ACCESS_BIND. */
	uint32_t
		qkey; /**< UD: its Q_Key, with bit 31 only for privileged owners. NUMBER: the number, 24 bits. */
	uint32_t soft_limit; /**< With an SRQ: soft high watermark; 0 = off [RI 6.5]. */
	uint32_t hard_limit; /**< With an SRQ: hard high watermark; UINT32_MAX = off. */
	bool privileged;     /**< May use RI_OP_FAST_REG, RI_OP_INV_MR and STag 0. */
	uint32_t
		max_inline; /**< Bytes of a request with RI_WR_INLINE, 0 to ri_rnic_attr::max_inline; 0 = none. */
};

/** What ri_qp_ops::modify is to change; bits. */
enum ri_qp_attr_mask {
	RI_QP_ATTR_STATE = 1u << 0,  /**< ri_qp_attr::state. */
	RI_QP_ATTR_ACCESS = 1u << 1, /**< ri_qp_attr::access. */
	RI_QP_ATTR_IRD = 1u << 2,    /**< ri_qp_attr::ird. */
	RI_QP_ATTR_ORD = 1u << 3,    /**< ri_qp_attr::ord. */
	RI_QP_ATTR_SOFT =
		1u
		<< 5, /**< ri_qp_attr::soft_limit: arms it; the event is due at once if it is exceeded. */
	RI_QP_ATTR_QKEY = 1u << 6, /**< ri_qp_attr::qkey. */
	RI_QP_ATTR_HARD = 1u << 7  /**< ri_qp_attr::hard_limit. */
};

/** Octets of a Terminate message that ri_qp_attr keeps (RFC 5040 section 4.8 allows 4 + 18 + 28). */
#define RI_TERMINATE_MAX 64

/** A queue pair, as modified, resized or queried. */
struct ri_qp_attr {
	uint32_t state;         /**< enum ri_qp_state. */
	uint32_t qpn;           /**< Query: its number, 24 bits, unique in the adapter. */
	uint32_t access;        /**< RI_ACCESS_REMOTE_* bits and RI_ACCESS_BIND. */
	uint32_t ird;           /**< Reads and atomics that it serves at once. */
	uint32_t ord;           /**< Reads and atomics that it has outstanding at once. */
	uint32_t max_sq_wr;     /**< Slots of the send queue. */
	uint32_t max_rq_wr;     /**< Slots of the receive queue. */
	uint32_t max_send_sge;  /**< Segments of a Send. */
	uint32_t max_recv_sge;  /**< Segments of a receive. */
	uint32_t max_write_sge; /**< Segments of an RDMA Write. */
	uint32_t max_read_sge;  /**< Segments of an RDMA Read sink. */
	uint32_t soft_limit;    /**< See ri_qp_init. */
	uint32_t hard_limit;    /**< See ri_qp_init. */
	uint32_t qkey;          /**< UD: its Q_Key. */
	bool quiescent;         /**< Query: every request and receive posted so far is completed. */
	bool terminate_sent;    /**< Query: @ref terminate was sent, not received. */
	uint8_t terminate_len; /**< Query: octets valid in @ref terminate, 0 to RI_TERMINATE_MAX. */
	uint8_t terminate[RI_TERMINATE_MAX]; /**< Query: the message, layer field first. */
	bool skip_time_wait; /**< Modify to IDLE: do not wait out the time-wait, as a new QP would not. */
};

/** Value of ri_srq_attr::limit for ri_srq_ops::modify: the limit stays as it is. */
#define RI_SRQ_LIMIT_KEEP UINT32_MAX

/** Attributes of a shared receive queue [RI 6]. */
struct ri_srq_attr {
	uint64_t ctx;     /**< Creation only: context for events. */
	uint32_t max_wr;  /**< Slots, 1 to ri_rnic_attr::max_srq_wr. */
	uint32_t max_sge; /**< Creation: segments of a receive, up to max_recv_sge. */
	uint32_t limit;   /**< Low watermark, 0 to max_wr; 0 = off, as also after it was raised. */
	uint32_t available; /**< Query: receives that no QP has taken yet. */
};

/** Input of a registration [RI 5]. */
struct ri_mr_init {
	uint64_t addr;      /**< Virtual address of the first byte. */
	uint64_t length;    /**< Bytes, 1 to ri_rnic_attr::max_mr_length. */
	uint32_t access;    /**< RI_ACCESS_* bits, at least one local one [RI 5.3.1]. */
	bool zero_based;    /**< The region is addressed from 0. */
	uint8_t key;        /**< The 8-bit key, where the access layer chooses it. */
	bool shareable;     /**< It may become shared, so it cannot be invalidated. */
	bool unlinked;      /**< Only reserve an STag for fast registration; no memory. */
	uint32_t max_pages; /**< Room for a list: elements, 0 to max_pbl. */
	bool iova_given; /**< @ref iova counts; with ri_rnic_attr::iova, not with @ref zero_based [RI 10.53]. */
	bool keep_stag; /**< mr_rereg: the STag stays, if the provider can do that; it tells by the STag that it returns. */
	const uint64_t
		*pages; /**< Addresses of pages or blocks, borrowed; NULL for a virtual range. */
	uint32_t page_size;      /**< Bytes of each element; 0 with @ref lengths. */
	uint32_t fbo;            /**< Offset of the first byte in the first element (bytes). */
	const uint32_t *lengths; /**< Bytes of each element where they vary, borrowed; or NULL. */
	uint64_t
		iova; /**< I/O address: what segments and peers name the first byte by; at the same place of a page. */
};

/** A region or window, as queried. */
struct ri_mr_attr {
	uint32_t stag;   /**< Current STag. */
	uint32_t access; /**< RI_ACCESS_* bits. */
	uint64_t addr;   /**< What names the first byte: its virtual address, or the I/O address. */
	uint64_t length; /**< Bytes. */
	bool valid;      /**< It has memory and was not invalidated. */
	bool shared;     /**< Part of a shared registration. */
	bool zero_based; /**< Addressed from 0. */
	uint32_t bound;  /**< Region: windows bound to it. */
};

/** Kinds of memory window [RI 5.6]. */
enum ri_mw_type {
	RI_MW_NARROW = 0, /**< A bound one belongs to the QP that bound it. */
	RI_MW_WIDE        /**< It belongs to the PD. */
};

/** Destination of datagrams [RI 10.34]. */
struct ri_ah_init {
	uint32_t port;         /**< Local spigot, from 0. */
	struct ri_addr dest;   /**< Address of the peer. */
	uint16_t dlid;         /**< InfiniBand: destination LID; else 0. */
	uint8_t sl;            /**< InfiniBand: service level, 0 to 15. */
	uint8_t path_bits;     /**< InfiniBand: low bits of the source LID, 0 to 127. */
	uint8_t hop_limit;     /**< InfiniBand: hops; 0 = the default. */
	uint8_t traffic_class; /**< InfiniBand: traffic class. */
	uint32_t flow_label;   /**< InfiniBand: flow label, 20 bits. */
	struct ri_addr source; /**< Source address; RI_ADDR_NONE: the provider chooses. */
};

/**
 * All that one side of a connection must know of the other, where the application has exchanged it by means of its own [RI 11.6.4].
 * ri_peer_ops::receive uses the first part, ri_peer_ops::send both. Codes are those of InfiniBand.
 */
struct ri_peer {
	struct ri_ah_init path; /**< The way to the peer. */
	uint32_t qpn;           /**< Queue pair number of the peer, 24 bits. */
	uint32_t rq_psn;        /**< Number of the first packet from the peer, 24 bits. */
	uint32_t path_mtu;      /**< Octets of a packet: 256, 512, 1024, 2048 or 4096. */
	uint32_t ird;           /**< RC: Reads and atomics that this side serves at once. */
	uint8_t min_rnr_timer; /**< RC: wait for a peer that finds no receive here, code 0 to 31. */
	uint8_t reserved[3];   /**< 0. */
	/* For ri_peer_ops::send. */
	uint32_t sq_psn; /**< Number of the first packet to the peer, 24 bits. */
	uint32_t ord;    /**< RC: Reads and atomics that this side has outstanding at once. */
	uint8_t timeout; /**< RC: wait for an acknowledgement: 4.096 us times 2 to this power; 0 = no end; to 31. */
	uint8_t retry_count; /**< RC: tries after a timeout, 0 to 7. */
	uint8_t rnr_retry;   /**< RC: tries without a receive at the peer, 0 to 7; 7 = no end. */
	uint8_t reserved2;   /**< 0. */
};

/** @} */

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* RNICPI_ATTR_H */
