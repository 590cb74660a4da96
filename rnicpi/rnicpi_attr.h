/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/**
 * @file rnicpi_attr.h
 * @brief The semantic profile and the attributes of all objects.
 *
 * Plain data; C99, no GLib. Include rnicpi_types.h, which includes this.
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

/** Transport below a provider. */
enum ri_transport {
	RI_TRANSPORT_NONE = 0, /**< Not set. */
	RI_TRANSPORT_IB,       /**< InfiniBand semantics. */
	RI_TRANSPORT_IWARP     /**< iWARP semantics. */
};

/** Rights on memory and on queue pairs. */
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
	RI_ADDR_IPV4,     /**< First 4 octets, network order. */
	RI_ADDR_IPV6,     /**< 16 octets, with scope. */
	RI_ADDR_GID       /**< 16 octets, InfiniBand global identifier. */
};

/** A network address. */
struct ri_addr {
	uint8_t family;      /**< An enum ri_addr_family. */
	uint8_t reserved[3]; /**< 0. */
	uint32_t scope_id;   /**< IPv6 link-local: interface index, host order. */
	uint8_t octets[16];  /**< As the family says. */
};

/** Kinds of ri_service. */
enum ri_service_kind {
	RI_SERVICE_NONE = 0, /**< Not set. */
	RI_SERVICE_PORT,     /**< A TCP port of the IANA space, 0 = any. */
	RI_SERVICE_IB        /**< A 64-bit InfiniBand service id. */
};

/** What is listened on or connected to. Ids are in network order, as in IT-API. */
struct ri_service {
	uint8_t kind;        /**< An enum ri_service_kind. */
	uint8_t reserved;    /**< 0. */
	uint16_t port;       /**< RI_SERVICE_PORT: the port, network order. */
	uint16_t local_port; /**< Connect only: local port, network order, 0 = any. */
	uint16_t reserved2;  /**< 0. */
	uint64_t id;         /**< RI_SERVICE_IB: the service id, network order. */
};

/** Who picks the 8-bit key of an STag [RI 10.9]. */
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

/** How connections come about (one bit each; [RI 10], [RI 11.6]). */
enum ri_cm_form {
	RI_CM_ADDRESS = 1u << 0, /**< ri_cm_ops: the provider listens and connects. */
	RI_CM_STREAM = 1u << 1   /**< ri_llp_ops: the provider takes over a connected stream. */
};

/** What precedes RDMA mode on a stream. */
enum ri_llp_startup {
	RI_LLP_STARTUP_NONE = 0, /**< Nothing. */
	RI_LLP_STARTUP_MPA       /**< MPA Request and Reply (RFC 5044, 6581), made by the kAL. */
};

/**
 * @brief The semantic profile: what an RNIC can do and how it means it.
 *
 * One attribute for each point on which iWARP and IB differ. The layers above branch on these,
 * never on a provider's name. Filled by ri_device_ops::query; constant while the RNIC is open.
 * What each one settles is said in [RI 10].
 */
struct ri_rnic_attr {
	uint32_t size;        /**< sizeof this struct as the provider knows it. */
	uint32_t transport;   /**< enum ri_transport. */
	char name[64];        /**< Adapter name, such as "iwarp:eth0". */
	char vendor[64];      /**< For people. */
	uint32_t vendor_id;   /**< For people. */
	uint32_t vendor_part; /**< For people. */
	uint32_t hw_version;  /**< For people. */
	uint32_t fw_version;  /**< For people. */
	uint32_t num_ports;   /**< Spigots; ports count from 0. */

	/* Limits. */
	uint32_t max_pd;           /**< Protection domains. */
	uint32_t max_qp;           /**< Queue pairs. */
	uint32_t max_cq;           /**< Completion queues. */
	uint32_t max_cqe;          /**< Entries of one CQ. */
	uint32_t max_srq;          /**< Shared receive queues; 0 = none [RI 10.17]. */
	uint32_t max_srq_wr;       /**< Entries of one SRQ. */
	uint32_t max_mr;           /**< Regions. */
	uint32_t max_mw;           /**< Windows. */
	uint32_t max_ah;           /**< Address handles. */
	uint64_t max_mr_length;    /**< Octets of one region. */
	uint32_t max_sq_wr;        /**< Requests of one send queue. */
	uint32_t max_rq_wr;        /**< Requests of one receive queue. */
	uint32_t max_send_sge;     /**< Segments of a Send. */
	uint32_t max_recv_sge;     /**< Segments of a receive. */
	uint32_t max_write_sge;    /**< Segments of an RDMA Write. */
	uint32_t max_read_sge;     /**< Segments of an RDMA Read sink [RI 10.2]. */
	uint32_t max_ird;          /**< Inbound Reads per QP. */
	uint32_t max_ord;          /**< Outbound Reads per QP. */
	uint32_t max_rnic_ird;     /**< Shared pool; 0 = none. */
	uint32_t max_rnic_ord;     /**< Shared pool; 0 = none. */
	uint64_t max_message_size; /**< Octets of one message [RI 10.36]. */
	uint32_t max_ud_message;   /**< Octets of a datagram; 0 without UD. */
	uint32_t max_inline; /**< Octets a provider copies at post; for information [RI 10.42]. */
	uint32_t max_pbl;    /**< Elements of a page list; 0 without lists. */
	uint32_t num_completion_handlers; /**< [RI 10.38]. */

	/* RDMA Read and memory. */
	bool read_sink_needs_remote_write; /**< [RI 10.1]. */
	bool read_local_extensions;        /**< Read into a window, sink invalidation [RI 10.3]. */
	uint8_t immediate_size;            /**< 0, 4 or 8 octets [RI 10.4]. */
	bool immediate_separate;           /**< Immediate data is a message of its own [RI 10.4]. */
	bool atomics;                      /**< [RI 10.5]. */
	bool masked_atomics;               /**< [RI 10.5]. */
	bool send_invalidate;              /**< [RI 10.6]. */
	bool mw_narrow;                    /**< Windows of one QP [RI 10.7]. */
	bool mw_wide;                      /**< Windows of a PD [RI 10.7]. */
	bool mw_narrow_unbind;             /**< Local invalidation of a narrow window [RI 10.7]. */
	bool mw_wide_unbind;               /**< Zero-length bind of a wide window [RI 10.7]. */
	bool mw_on_zero_based;             /**< Windows on zero-based regions [RI 10.8]. */
	uint8_t mr_key_owner;              /**< enum ri_key_owner [RI 10.9]. */
	uint8_t mw_key_owner;              /**< enum ri_key_owner [RI 10.9]. */
	bool zero_based;                   /**< Relative addressing [RI 10.10]. */
	bool local_read_revocable; /**< Regions without local read are enforced [RI 10.11]. */
	bool privileged_ops;       /**< Privileged QPs can exist at all [RI 10.12]. */
	bool fast_register;        /**< [RI 10.12]. */
	bool direct_stag;          /**< STag 0 on privileged QPs [RI 10.12]. */
	bool local_fence;          /**< [RI 10.13]. */
	bool reregister;           /**< ri_mem_ops::mr_rereg. */
	bool shared_mr;            /**< [RI 10.41]. */
	bool reg_page_list;        /**< [RI 10.40]. */
	bool reg_block_list;       /**< [RI 10.40]. */
	bool reg_ve_list;          /**< [RI 10.40]. */

	/* Queues and completions. */
	bool enables_modifiable; /**< QP access rights after creation [RI 10.14]. */
	bool ord_increasable;    /**< [RI 10.15]. */
	bool ird_modifiable;     /**< [RI 10.15]. */
	bool wq_resizable;       /**< [RI 10.16]. */
	bool srq_resizable;      /**< [RI 10.16]. */
	bool cq_resizable;       /**< [RI 10.16]. */
	bool srq;                /**< [RI 10.17]. */
	bool srq_limit;          /**< Low watermark event [RI 10.17]. */
	bool rq_soft_limit;      /**< Soft high watermark event [RI 10.18]. */
	bool rq_hard_limit;      /**< Hard high watermark [RI 10.18]. */
	uint8_t rnr_mode;        /**< enum ri_rnr_mode [RI 10.19]. */
	bool completion_acked;   /**< Write/Send completion = the peer adapter has it [RI 10.20]. */
	bool in_order_completion; /**< Completions of a queue in posting order [RI 10.21]. */
	bool in_order_placement;  /**< Octets land in ascending order (R-21) [RI 10.22]. */
	bool remote_status;       /**< Remote errors complete the guilty request [RI 10.23]. */
	bool terminate_info;      /**< Terminate message kept for query [RI 10.24]. */
	bool cq_overflow_detect;  /**< Overflow ends only the QP that caused it [RI 10.37]. */
	bool cq_notify_flag;      /**< RI_WR_NOTIFY is honoured. */
	bool cq_arm_count;        /**< RI_ARM_COUNT is honoured. */
	bool thread_safe_queues;  /**< Fast entries may run on one object from several threads. */
	bool solicited_works;     /**< RI_ARM_SOLICITED can be relied on. */

	/* States and connections. */
	bool extended_qp_states; /**< QP can hold between Idle and RTS during start-up [RI 10.25]. */
	bool qp_reusable;        /**< Error to Idle works [RI 10.26]. */
	bool last_wqe_event;     /**< [RI 10.27]. */
	bool has_time_wait;      /**< RI_ERR_TIME_WAIT can come on reuse. */
	uint8_t cm_forms;        /**< RI_CM_* bits. */
	uint8_t llp_startup;     /**< enum ri_llp_startup. */
	bool three_way_handshake;  /**< [RI 10.28]. */
	bool initiator_first;      /**< The passive side may not speak first [RI 10.29]. */
	uint8_t rtr_types;         /**< RI_RTR_* bits offered and understood [RI 10.29]. */
	bool ird_ord_exchange;     /**< [RI 10.32]. */
	bool ird_ord_suppressible; /**< [RI 10.32]. */
	uint16_t connect_pdata;    /**< Octets of private data of a request [RI 10.30]. */
	uint16_t accept_pdata;     /**< [RI 10.30]. */
	uint16_t reject_pdata;     /**< [RI 10.30]. */
	uint16_t confirm_pdata;    /**< Third message [RI 10.30]. */
	uint16_t disconnect_pdata; /**< [RI 10.30]. */
	bool socket_conversion;    /**< [RI 10.31]. */
	bool addr_ip;              /**< Peers are named by IP address and port [RI 10.33]. */
	bool addr_gid;             /**< Peers can be named by GID and service id [RI 10.33]. */
	bool ud;                   /**< [RI 10.34]. */
	bool ib_path;              /**< Paths carry InfiniBand attributes [RI 10.35]. */
	bool port_events;          /**< Spigots announce up and down [RI 10.39]. */
	bool one_address_space;    /**< Peers live in this process (or daemon): `emul`. */
	bool software;             /**< The engine is software: progress and wait_fd exist. */
	bool kvp_in_process;       /**< Has its own kernel below; a shared kAL only accounts. */
	uint16_t ud_request_pdata; /**< Octets of private data of a datagram service request. */
	uint16_t ud_reply_pdata;   /**< The same of its answer. */
};

/** Ready-to-receive messages of enhanced MPA (RFC 6581). */
enum ri_rtr {
	RI_RTR_WRITE = 1u << 0, /**< Zero-length RDMA Write. */
	RI_RTR_READ = 1u << 1,  /**< Zero-length RDMA Read. */
	RI_RTR_SEND = 1u << 2   /**< Zero-length FPDU; never offered by us. */
};

/** Most private data that any message carries, octets. */
#define RI_PDATA_MAX 256

/** Most addresses that ri_port_attr lists. */
#define RI_PORT_ADDR_MAX 16

/** A spigot. */
struct ri_port_attr {
	uint32_t size;                          /**< sizeof this struct as the provider knows it. */
	bool online;                            /**< Usable now. */
	uint32_t mtu;                           /**< Octets; 0 = not known. */
	uint32_t speed_mbps;                    /**< 0 = not known. */
	uint64_t max_message;                   /**< Octets of a message through this port. */
	char if_name[32];                       /**< Network interface, or "". */
	uint32_t num_addrs;                     /**< Entries of @ref addrs in use. */
	struct ri_addr addrs[RI_PORT_ADDR_MAX]; /**< Addresses of the port. */
};

/** Service type of a queue pair. */
enum ri_qp_type {
	RI_QP_RC = 0, /**< Reliable connected. */
	RI_QP_UD      /**< Datagram. */
};

/** Common queue pair states [RI 4.3]. NONE is no state: an empty cell of a table. */
enum ri_qp_state {
	RI_QPS_NONE = 0,   /**< Not a state. */
	RI_QPS_IDLE,       /**< Posts are kept, nothing runs. */
	RI_QPS_CONNECTING, /**< Set-up under way, stream attached or request sent. */
	RI_QPS_RTS,        /**< Runs. */
	RI_QPS_CLOSING,    /**< Orderly end under way. */
	RI_QPS_TERMINATE,  /**< Terminate sent or received, stream not closed yet. */
	RI_QPS_ERROR,      /**< Ended; posts are flushed. */
	RI_QPS_COUNT       /**< Number of values. */
};

/** Name of a queue pair state; never NULL. @param state any value @return text */
const char *ri_qp_state_name(enum ri_qp_state state);

/** Attributes that make a queue pair; the counts are minima, creation reports the real ones. */
struct ri_qp_init {
	uint64_t ctx;           /**< Access layer's context: comes back in ri_wc and events. */
	uint32_t type;          /**< enum ri_qp_type. */
	uint32_t port;          /**< UD: spigot. */
	uint32_t max_sq_wr;     /**< Send queue slots. */
	uint32_t max_rq_wr;     /**< Receive queue slots; ignored with an SRQ. */
	uint32_t max_send_sge;  /**< Segments of a Send. */
	uint32_t max_recv_sge;  /**< Segments of a receive. */
	uint32_t max_write_sge; /**< Segments of an RDMA Write. */
	uint32_t max_read_sge;  /**< Segments of an RDMA Read sink. */
	uint32_t ird;           /**< Inbound Reads. */
	uint32_t ord;           /**< Outbound Reads. */
	uint32_t access;        /**< RI_ACCESS_REMOTE_* the peer may use; RI_ACCESS_BIND. */
	uint32_t qkey;          /**< UD. */
	uint32_t soft_limit;    /**< SRQ only: more receives in progress raise RQ_LIMIT; 0 = off. */
	uint32_t hard_limit; /**< SRQ only: more receives in progress end it; UINT32_MAX = off. */
	bool privileged;     /**< May fast-register and use STag 0. */
};

/** Bits for ri_qp_ops::modify and query. */
enum ri_qp_attr_mask {
	RI_QP_ATTR_STATE = 1u << 0,  /**< ri_qp_attr::state. */
	RI_QP_ATTR_ACCESS = 1u << 1, /**< ri_qp_attr::access. */
	RI_QP_ATTR_IRD = 1u << 2,    /**< ri_qp_attr::ird. */
	RI_QP_ATTR_ORD = 1u << 3,    /**< ri_qp_attr::ord. */
	RI_QP_ATTR_SOFT = 1u << 5,   /**< soft_limit: arms it; due at once if it is exceeded. */
	RI_QP_ATTR_QKEY = 1u << 6,   /**< ri_qp_attr::qkey. */
	RI_QP_ATTR_HARD = 1u << 7    /**< hard_limit. */
};

/** Octets of a Terminate message that ri_qp_attr keeps (RFC 5040 4.8: 4 + 18 + 28 and slack). */
#define RI_TERMINATE_MAX 64

/** A queue pair, as modified or queried. */
struct ri_qp_attr {
	uint32_t state;         /**< enum ri_qp_state. */
	uint32_t qpn;           /**< Number, unique in the RNIC; query only. */
	uint32_t access;        /**< RI_ACCESS_REMOTE_* and RI_ACCESS_BIND. */
	uint32_t ird;           /**< Inbound Reads. */
	uint32_t ord;           /**< Outbound Reads. */
	uint32_t max_sq_wr;     /**< Send queue slots. */
	uint32_t max_rq_wr;     /**< Receive queue slots. */
	uint32_t max_send_sge;  /**< Segments of a Send. */
	uint32_t max_recv_sge;  /**< Segments of a receive. */
	uint32_t max_write_sge; /**< Segments of an RDMA Write. */
	uint32_t max_read_sge;  /**< Segments of an RDMA Read sink. */
	uint32_t soft_limit;    /**< See ri_qp_init. */
	uint32_t hard_limit;    /**< See ri_qp_init. */
	uint32_t qkey;          /**< UD. */
	bool quiet;             /**< Query: every request posted so far is completed. */
	bool terminate_sent;    /**< Query: the message below was ours. */
	uint8_t terminate_len;  /**< Query: octets valid in @ref terminate. */
	uint8_t terminate[RI_TERMINATE_MAX]; /**< Query: from the layer octet on; never trusted. */
	bool skip_time_wait; /**< Modify to IDLE: as a fresh queue pair would, without RI_ERR_TIME_WAIT. */
};

/** Value of ri_srq_attr::limit for modify: leave it as it is. */
#define RI_SRQ_LIMIT_KEEP UINT32_MAX

/** Attributes of a shared receive queue. */
struct ri_srq_attr {
	uint64_t ctx;     /**< Creation only: context for events. */
	uint32_t max_wr;  /**< Slots. */
	uint32_t max_sge; /**< Segments; creation only. */
	uint32_t limit; /**< Low watermark, armed by modify; 0 = off, so also once it was raised. */
	uint32_t available; /**< Query: receives not taken yet. */
};

/** Input of a registration. */
struct ri_mr_init {
	uint64_t addr;           /**< Virtual address of the first octet. */
	uint64_t length;         /**< Octets, at least 1. */
	uint32_t access;         /**< RI_ACCESS_* bits. */
	bool zero_based;         /**< The region is addressed from 0. */
	uint8_t key;             /**< Key octet where the access layer owns it. */
	bool shareable;          /**< May become shared; such a region cannot be invalidated. */
	bool unlinked;           /**< Only reserve an STag for fast registration. */
	uint32_t max_pages;      /**< With @ref unlinked, or a page list: elements. */
	const uint64_t *pages;   /**< Page or block list, or NULL for a virtual range. */
	uint32_t page_size;      /**< Element size; 0 with elements of varying length. */
	uint32_t fbo;            /**< Offset of the first octet in the first element. */
	const uint32_t *lengths; /**< Element lengths where they vary. */
};

/** A region or window, as queried. */
struct ri_mr_attr {
	uint32_t stag;   /**< Current STag. */
	uint32_t access; /**< RI_ACCESS_* bits. */
	uint64_t addr;   /**< First octet. */
	uint64_t length; /**< Octets. */
	bool valid;      /**< Not invalidated. */
	bool shared;     /**< Part of a shared registration. */
	bool zero_based; /**< Addressed from 0. */
	uint32_t bound;  /**< Windows bound to it. */
};

/** Kinds of memory window [RI 5.6]. */
enum ri_mw_type {
	RI_MW_NARROW = 0, /**< Belongs to the QP that bound it. */
	RI_MW_WIDE        /**< Belongs to the PD. */
};

/** Destination of datagrams. */
struct ri_ah_init {
	uint32_t port;         /**< Local spigot. */
	struct ri_addr dest;   /**< Peer. */
	uint16_t dlid;         /**< InfiniBand, else 0. */
	uint8_t sl;            /**< InfiniBand service level. */
	uint8_t path_bits;     /**< InfiniBand. */
	uint8_t hop_limit;     /**< InfiniBand. */
	uint8_t traffic_class; /**< InfiniBand. */
	uint32_t flow_label;   /**< InfiniBand. */
	struct ri_addr source; /**< Own address; none: the provider chooses. */
};

/** @} */

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* RNICPI_ATTR_H */
