/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/**
 * @file kal_call.h
 * @brief The boundary of the kernel access layer: calls with flat requests, one queue of events.
 *
 * Everything privileged goes through here: a call number, a flat request, a flat reply, at most one
 * descriptor each way. Objects are 32-bit ids in a table per client; 0 is no object. No pointer
 * crosses (addresses are numbers in the client's address space). The same dispatcher, with the same
 * checks, serves a kAL in the process (a call is a function call) and, later, a daemon.
 *
 * Events come back through one queue per client. A client either watches kal_client_fd() or passes
 * a `kick` function to kal_client_open(); then it takes events with kal_next_event() until there are none.
 *
 * Connections look the same for both forms of provider: the kAL converts CM events and stream events of the provider
 * (RI_EVENT_QP_STREAM_UP, the ends) to KAL_EVENT_CM.
 */
#ifndef KAL_CALL_H
#define KAL_CALL_H

#include "rnicpi_fast.h"
#include "rnicpi_host.h"
#include "rnicpi_types.h"

/** Call numbers; the comment names request and reply. */
enum kal_call_number {
	KAL_NONE = 0,
	KAL_ADAPTER_LIST,   /* kal_adapter_list_req   -> kal_adapter[] */
	KAL_RNIC_OPEN,      /* kal_rnic_open_req      -> kal_rnic_open_rep */
	KAL_RNIC_CLOSE,     /* kal_id_req             -> none */
	KAL_PORT_QUERY,     /* kal_port_query_req     -> ri_port_attr */
	KAL_PATH_QUERY,     /* kal_path_query_req     -> kal_path_query_rep */
	KAL_PD_CREATE,      /* kal_id_req (rnic)      -> kal_id_rep */
	KAL_PD_DESTROY,     /* kal_id_req             -> none */
	KAL_CQ_CREATE,      /* kal_cq_create_req      -> kal_cq_rep */
	KAL_CQ_RESIZE,      /* kal_cq_resize_req      -> kal_cq_rep */
	KAL_CQ_DESTROY,     /* kal_id_req             -> none */
	KAL_SRQ_CREATE,     /* kal_srq_req            -> kal_srq_rep */
	KAL_SRQ_MODIFY,     /* kal_srq_req            -> kal_srq_rep */
	KAL_SRQ_QUERY,      /* kal_id_req             -> kal_srq_rep */
	KAL_SRQ_DESTROY,    /* kal_id_req             -> none */
	KAL_QP_CREATE,      /* kal_qp_create_req      -> kal_qp_create_rep */
	KAL_QP_MODIFY,      /* kal_qp_modify_req      -> none */
	KAL_QP_RESIZE,      /* kal_qp_modify_req      -> kal_qp_resize_rep */
	KAL_QP_QUERY,       /* kal_id_req             -> ri_qp_attr */
	KAL_QP_DESTROY,     /* kal_id_req             -> none */
	KAL_MR_REG,         /* kal_mr_req (+ list)    -> kal_mr_rep */
	KAL_MR_REREG,       /* kal_mr_req             -> kal_mr_rep */
	KAL_MR_QUERY,       /* kal_id_req             -> ri_mr_attr */
	KAL_MR_DEREG,       /* kal_id_req             -> none */
	KAL_MW_ALLOC,       /* kal_mw_req             -> kal_mr_rep */
	KAL_MW_QUERY,       /* kal_id_req             -> ri_mr_attr */
	KAL_MW_FREE,        /* kal_id_req             -> none */
	KAL_AH_CREATE,      /* kal_ah_req             -> kal_ah_rep */
	KAL_AH_MODIFY,      /* kal_ah_req             -> none */
	KAL_AH_DESTROY,     /* kal_id_req             -> none */
	KAL_LISTEN,         /* kal_listen_req         -> kal_listen_rep */
	KAL_LISTEN_DESTROY, /* kal_id_req             -> none */
	KAL_CONNECT,        /* kal_cm_req             -> none */
	KAL_ACCEPT,         /* kal_cm_req             -> kal_accept_rep */
	KAL_REJECT,         /* kal_cm_req             -> none */
	KAL_CONFIRM,        /* kal_cm_req             -> none */
	KAL_DISCONNECT,     /* kal_cm_req             -> none */
	KAL_HANDOFF,        /* kal_handoff_req        -> none */
	KAL_CONVERT,        /* kal_convert_req (+ message) + descriptor -> kal_convert_rep */
	KAL_MEM_MAP,        /* kal_mem_map_req        -> kal_mem_map_rep */
	KAL_MEM_UNMAP,      /* kal_mem_map_req        -> none */
	KAL_RESOLVE,        /* kal_resolve_req        -> none */
	KAL_RESOLVE_END,    /* kal_resolve_end_req    -> none */
	KAL_RESOLVE_ANSWER, /* kal_resolve_answer_req -> none */
	KAL_MR_REG_DMABUF,  /* kal_dmabuf_req + descriptor -> kal_mr_rep */
	KAL_PEER,           /* kal_peer_req           -> none */
	KAL_MCAST,          /* kal_mcast_req          -> none */
	KAL_CALL_COUNT
};

/** Most bytes of a request or reply, variable parts included. */
#define KAL_MESSAGE_MAX (128 * 1024)

/** One call. */
struct kal_msg {
	uint32_t call;   /**< enum kal_call_number. */
	int fd;          /**< Descriptor that goes with the request, or -1; stays the caller's. */
	const void *req; /**< Request, borrowed. */
	size_t req_len;  /**< Bytes of the request, variable part included. */
	void *rep;       /**< Where the reply goes. */
	size_t rep_len;  /**< In: room; out: bytes of the reply. */
};

/** Names an object. */
struct kal_id_req {
	uint32_t id; /**< The object. */
};

/** A new object. */
struct kal_id_rep {
	uint32_t id; /**< The object. */
};

/** KAL_ADAPTER_LIST. */
struct kal_adapter_list_req {
	uint32_t max; /**< Room of the reply, in entries. */
};

/** One adapter. */
struct kal_adapter {
	char name[64];        /**< Adapter, or alias. */
	char description[96]; /**< For people. */
	uint32_t transport;   /**< enum ri_transport. */
	uint32_t num_ports;   /**< Spigots. */
};

/** Reply of KAL_ADAPTER_LIST; `filled` of struct kal_adapter follow. */
struct kal_adapter_list_rep {
	uint32_t total;  /**< Number of adapters. */
	uint32_t filled; /**< Entries that follow. */
};

/** KAL_RNIC_OPEN. */
struct kal_rnic_open_req {
	char name[64]; /**< Adapter or alias. */
};

/** An open adapter. */
struct kal_rnic_open_rep {
	uint32_t id;         /**< The RNIC of this client. */
	uint32_t privileged; /**< 1: privileged operations are allowed (R-27). */
	uint32_t
		drop_disconnect_data; /**< 1: private data of a disconnect is dropped, not refused (R-29). */
	uint32_t
		drop_broken_events; /**< 1: no asynchronous event of a failure that ends a connection. */
	struct ri_rnic_attr attr; /**< Semantic profile. */
	struct ri_map map;        /**< For ri_user_ops::rnic_open. */
};

/** KAL_PORT_QUERY. */
struct kal_port_query_req {
	uint32_t rnic; /**< The RNIC. */
	uint32_t port; /**< Spigot, from 0. */
};

/** KAL_PATH_QUERY: the local addresses from which a peer can be reached. */
struct kal_path_query_req {
	uint32_t rnic;        /**< The RNIC. */
	uint32_t port;        /**< Spigot. */
	struct ri_addr peer;  /**< Destination. */
	struct ri_addr local; /**< Return this address only; none: all. */
};

/** Reply: usable source addresses, best first; none if there is no route. */
struct kal_path_query_rep {
	uint32_t count;                         /**< Entries in use. */
	struct ri_addr local[RI_PORT_ADDR_MAX]; /**< Source addresses. */
};

/** KAL_CQ_CREATE. */
struct kal_cq_create_req {
	uint32_t rnic;    /**< The RNIC. */
	uint32_t entries; /**< At least. */
	uint64_t ctx;     /**< Comes back in KAL_EVENT_CQ. */
};

/** KAL_CQ_RESIZE. */
struct kal_cq_resize_req {
	uint32_t id;      /**< The CQ. */
	uint32_t entries; /**< At least. */
};

/** A CQ. */
struct kal_cq_rep {
	uint32_t id;       /**< The CQ. */
	uint32_t entries;  /**< Granted. */
	struct ri_map map; /**< For ri_user_ops::cq_open or cq_remap. */
};

/** KAL_SRQ_CREATE (id is the PD) and KAL_SRQ_MODIFY (id is the SRQ). */
struct kal_srq_req {
	uint32_t id;             /**< PD or SRQ. */
	uint32_t resize;         /**< Modify: change max_wr too. */
	struct ri_srq_attr attr; /**< As in RNIC-PI. */
};

/** An SRQ. */
struct kal_srq_rep {
	uint32_t id;             /**< The SRQ. */
	struct ri_srq_attr attr; /**< Granted values. */
	struct ri_map map;       /**< For ri_user_ops::srq_open, or srq_remap after a resize. */
};

/** KAL_QP_CREATE. */
struct kal_qp_create_req {
	uint32_t pd;            /**< Protection domain. */
	uint32_t send_cq;       /**< CQ of the send queue; RI_QP_NUMBER: 0. */
	uint32_t recv_cq;       /**< CQ of the receive queue; RI_QP_NUMBER: 0. */
	uint32_t srq;           /**< SRQ or 0. */
	struct ri_qp_init init; /**< ctx comes back in events and completions. */
};

/** KAL_PEER: bring a queue pair up by attributes, see ri_peer_ops. */
struct kal_peer_req {
	uint32_t qp;         /**< An RC or UC one. */
	uint32_t send;       /**< 0: begin to receive; 1: to send, too. */
	struct ri_peer peer; /**< As in RNIC-PI. */
};

/** KAL_MCAST: what is sent to a multicast group, to a queue pair for datagrams. */
struct kal_mcast_req {
	uint32_t qp;          /**< A UD one. */
	uint32_t detach;      /**< 1: not any more. */
	struct ri_addr group; /**< Multicast GID or address. */
};

/** A QP. */
struct kal_qp_create_rep {
	uint32_t id;            /**< The QP. */
	uint32_t qpn;           /**< Its number. */
	struct ri_qp_init init; /**< Granted values. */
	struct ri_map map;      /**< For ri_user_ops::qp_open. */
};

/** KAL_QP_MODIFY; KAL_QP_RESIZE uses the sizes, with mask 0. */
struct kal_qp_modify_req {
	uint32_t id;            /**< The QP. */
	uint32_t mask;          /**< RI_QP_ATTR_* bits. */
	struct ri_qp_attr attr; /**< New values. */
};

/** Reply of KAL_QP_RESIZE. */
struct kal_qp_resize_rep {
	struct ri_qp_attr attr; /**< Granted sizes. */
	struct ri_map map;      /**< For ri_user_ops::qp_remap. */
};

/** KAL_MR_REG (id is the PD) and KAL_MR_REREG (id is the region). A list follows the struct. */
struct kal_mr_req {
	uint32_t id;          /**< PD or region. */
	uint32_t pd;          /**< Rereg: PD, or 0 to keep it. */
	uint64_t addr;        /**< First byte, in the client's address space. */
	uint64_t length;      /**< Bytes. */
	uint32_t access;      /**< RI_ACCESS_* bits. */
	uint8_t zero_based;   /**< See ri_mr_init. */
	uint8_t key;          /**< See ri_mr_init. */
	uint8_t shareable;    /**< See ri_mr_init. */
	uint8_t unlinked;     /**< See ri_mr_init. */
	uint32_t max_pages;   /**< See ri_mr_init. */
	uint32_t page_size;   /**< See ri_mr_init. */
	uint32_t fbo;         /**< See ri_mr_init. */
	uint32_t num_pages;   /**< uint64_t addresses that follow this struct. */
	uint32_t has_lengths; /**< 1: as many uint32_t lengths follow those. */
	uint32_t iova_given;  /**< 1: @ref iova counts. */
	uint64_t iova;        /**< See ri_mr_init. */
	uint32_t keep_stag;   /**< 1: see ri_mr_init; KAL_MR_REREG only. */
	uint32_t reserved;    /**< 0. */
};

/** KAL_MR_REG_DMABUF: the dmabuf is the call's descriptor. */
struct kal_dmabuf_req {
	uint32_t pd;        /**< Protection domain. */
	uint32_t access;    /**< RI_ACCESS_* bits. */
	uint64_t addr;      /**< Names the first byte; nothing need be mapped there. */
	uint64_t length;    /**< Bytes. */
	uint64_t offset;    /**< Of the first byte in the dmabuf. */
	uint8_t key;        /**< See ri_mr_init. */
	uint8_t shareable;  /**< See ri_mr_init. */
	uint16_t reserved;  /**< 0. */
	uint32_t reserved2; /**< 0. */
};

/** A region or window. */
struct kal_mr_rep {
	uint32_t id;   /**< The object. */
	uint32_t stag; /**< Its STag. */
};

/** KAL_MW_ALLOC. */
struct kal_mw_req {
	uint32_t pd;   /**< Protection domain. */
	uint32_t type; /**< enum ri_mw_type. */
};

/** KAL_AH_CREATE (id is the PD) and KAL_AH_MODIFY (id is the handle). */
struct kal_ah_req {
	uint32_t id;            /**< PD or address handle. */
	uint32_t reserved;      /**< 0. */
	struct ri_ah_init init; /**< Destination. */
};

/** An address handle. */
struct kal_ah_rep {
	uint32_t id; /**< The object. */
	uint32_t ah; /**< For ri_wr_ud::ah. */
};

/** KAL_LISTEN. */
struct kal_listen_req {
	uint32_t rnic;             /**< The RNIC. */
	uint32_t port;             /**< Spigot. */
	uint32_t backlog;          /**< Requests that may wait unanswered. */
	uint32_t suppress_ird_ord; /**< 1: plain MPA, IRD and ORD are not exchanged. */
	uint64_t ctx;              /**< Comes back in KAL_CM_REQUEST. */
	struct ri_service service; /**< TCP port or service id; 0: chosen by the call. */
};

/** A listener. */
struct kal_listen_rep {
	uint32_t id;               /**< The listener. */
	uint32_t reserved;         /**< 0. */
	struct ri_service service; /**< Completed. */
};

/** Greatest kal_cm_req::refused_ms. */
#define KAL_REFUSED_MS_MAX 60000
/** Greatest kal_cm_req::ack_timeout. */
#define KAL_ACK_TIMEOUT_MAX 31
/** Greatest kal_cm_req::retry_count and rnr_retry. */
#define KAL_RETRIES_MAX 7

/**
 * KAL_CONNECT, _ACCEPT, _REJECT, _CONFIRM, _DISCONNECT; unused members are 0.
 *
 * refused_ms is for programs that connect to a listener that does not exist yet. With providers of
 * RI_CM_STREAM, whose streams the kAL connects, an attempt that the peer's host refuses, or that
 * the peer ends before its Reply, begins again after a pause. The queue pair waits meanwhile, and
 * nothing of it is flushed. Only the last outcome is reported. For other providers it has to be 0.
 */
struct kal_cm_req {
	uint32_t qp;              /**< All but REJECT of a request. */
	uint32_t request;         /**< ACCEPT, REJECT: id of the request. */
	uint32_t ird;             /**< CONNECT, ACCEPT: own value. */
	uint32_t ord;             /**< CONNECT, ACCEPT: own value. */
	uint32_t port;            /**< CONNECT: spigot. */
	uint8_t suppress_ird_ord; /**< CONNECT: do not exchange them. */
	uint8_t three_way;        /**< CONNECT. */
	uint8_t refuse;           /**< CONFIRM: refuse. */
	uint8_t reuse_addr;       /**< CONNECT: a local TCP port in time-wait may be used again. */
	uint32_t reason;          /**< REJECT: enum kal_cm_reason. */
	uint32_t refused_ms;  /**< CONNECT: how long a refused attempt is made again; 0: once. */
	uint8_t ack_timeout;  /**< CONNECT, ACCEPT: as ri_cm_params::ack_timeout. */
	uint8_t retries;      /**< CONNECT, ACCEPT: 1: the next two count. */
	uint8_t retry_count;  /**< CONNECT: as ri_cm_params::retry_count. */
	uint8_t rnr_retry;    /**< CONNECT, ACCEPT: as ri_cm_params::rnr_retry. */
	uint64_t timeout_us;  /**< CONNECT: 0 = default; UINT64_MAX = none. */
	struct ri_addr local; /**< CONNECT: source, or none. */
	struct ri_addr peer;  /**< CONNECT: destination. */
	struct ri_service service;   /**< CONNECT: destination. */
	uint32_t pdata_len;          /**< Bytes of private data. */
	uint8_t pdata[RI_PDATA_MAX]; /**< Private data. */
};

/** Reply of KAL_ACCEPT: the values that the peer gets. */
struct kal_accept_rep {
	uint32_t ird; /**< Now in force. */
	uint32_t ord; /**< Now in force. */
};

/** KAL_HANDOFF: move a request to the listener of another service of the same RNIC. */
struct kal_handoff_req {
	uint32_t request;          /**< The request; consumed on success. */
	uint32_t port;             /**< Spigot of the target listener. */
	struct ri_service service; /**< Service of the target listener. */
};

/** KAL_CONVERT: the connected socket is the call's descriptor; the message follows. */
struct kal_convert_req {
	uint32_t qp;        /**< IDLE QP. */
	uint8_t initiator;  /**< 1: this end sends the MPA Request. */
	uint8_t no_startup; /**< No MPA frames. */
	uint16_t reserved;  /**< 0. */
	uint32_t msg_len;   /**< Bytes of the last streaming message, which follows. */
};

/** Reply of KAL_CONVERT. */
struct kal_convert_rep {
	uint32_t
		connected; /**< 1: the QP is in RTS already, without MPA frames; else an event will say so. */
	uint32_t port;        /**< Spigot that the socket is on; the event has it, too. */
	struct ri_addr peer;  /**< Address of the peer; the event has it, too. */
	struct ri_addr local; /**< Its own address; the event has it, too. */
};

/** KAL_MEM_MAP, KAL_MEM_UNMAP. */
struct kal_mem_map_req {
	uint32_t rnic;     /**< The RNIC. */
	uint32_t reserved; /**< 0. */
	uint64_t aspace;   /**< Address space, 0 = the caller's. */
	uint64_t addr;     /**< Map: virtual address; unmap: I/O address. */
	uint64_t length;   /**< Bytes. */
};

/** Reply of KAL_MEM_MAP. */
struct kal_mem_map_rep {
	uint64_t io_addr; /**< I/O address. */
	uint64_t length;  /**< Contiguous bytes there. */
};

/** KAL_RESOLVE: find the endpoint of a datagram service. Each query gets one answer. */
struct kal_resolve_req {
	uint32_t rnic;             /**< The RNIC. */
	uint32_t port;             /**< Spigot. */
	uint64_t ctx;              /**< Comes back in KAL_CM_SERVICE_REPLY; one query at a time. */
	uint64_t timeout_us;       /**< 0 = default; UINT64_MAX = none. */
	struct ri_addr local;      /**< Source, or none. */
	struct ri_addr peer;       /**< Destination. */
	struct ri_service service; /**< The service. */
	uint32_t pdata_len;        /**< Bytes of private data. */
	uint32_t reserved;         /**< 0. */
	uint8_t pdata[RI_PDATA_MAX]; /**< Private data. */
};

/** KAL_RESOLVE_END: end a query; no answer comes afterwards. */
struct kal_resolve_end_req {
	uint32_t rnic;     /**< The RNIC. */
	uint32_t reserved; /**< 0. */
	uint64_t ctx;      /**< Of the query. */
};

/** KAL_RESOLVE_ANSWER: answer a KAL_CM_SERVICE_REQUEST; consumes it. */
struct kal_resolve_answer_req {
	uint32_t request;            /**< The request. */
	uint32_t status;             /**< enum ri_service_status of rnicpi.h. */
	uint32_t qpn;                /**< With status 0 (found): the number of the endpoint. */
	uint32_t qkey;               /**< With status 0: its Q_Key. */
	uint32_t pdata_len;          /**< Bytes of private data. */
	uint32_t reserved;           /**< 0. */
	uint8_t pdata[RI_PDATA_MAX]; /**< Private data. */
};

/** Kinds of kal_event. */
enum kal_event_kind {
	KAL_EVENT_NONE = 0,
	KAL_EVENT_CQ,    /**< An armed CQ fired; only ctx is valid. */
	KAL_EVENT_ASYNC, /**< ri_async_event in u.async; ctx as given to the object's creation. */
	KAL_EVENT_CM     /**< kal_cm_event in u.cm. */
};

/** An event of a connection; kind and reason are those of rnicpi.h, repeated for users of this header. */
struct kal_cm_event {
	uint32_t kind;   /**< enum kal_cm_kind. */
	uint32_t reason; /**< enum kal_cm_reason with KAL_CM_FAILED. */
	uint32_t
		request; /**< KAL_CM_REQUEST, _SERVICE_REQUEST, _REQUEST_GONE: id of the request. */
	uint32_t port;   /**< KAL_CM_REQUEST, and of a converted socket: spigot. */
	uint32_t ird;    /**< Peer's own value if ird_ord_valid. */
	uint32_t ord;    /**< Peer's own value if ird_ord_valid. */
	uint32_t own_ird;      /**< ESTABLISHED, REPLY: in force here. */
	uint32_t own_ord;      /**< ESTABLISHED, REPLY: in force here. */
	uint8_t ird_ord_valid; /**< 1: the peer's frame had them. */
	uint8_t pdata_present; /**< 1: the message carried private data. */
	uint16_t pdata_len;    /**< Octets of @ref pdata. */
	struct ri_addr peer;   /**< Address of the peer. */
	struct ri_addr local;  /**< Local address. */
	struct ri_service
		service;         /**< REQUEST: the listener's; the peer's TCP port in local_port. */
	uint32_t service_status; /**< SERVICE_REPLY: as in kal_resolve_answer_req. */
	uint32_t qpn;            /**< SERVICE_REPLY, found: the number of the endpoint. */
	uint32_t qkey;           /**< SERVICE_REPLY, found: its Q_Key. */
	uint32_t reserved;       /**< 0. */
	uint8_t pdata[RI_PDATA_MAX]; /**< Private data, zero-padded. */
	struct ri_peer reach;        /**< REQUEST, REPLY, ESTABLISHED: as in ri_cm_event. */
};

/** Values of kal_cm_event::kind. */
enum kal_cm_kind {
	KAL_CM_NONE = 0,
	KAL_CM_REQUEST,         /**< ctx = listener's. */
	KAL_CM_REPLY,           /**< Three-way; ctx = QP's, as for all that follow. */
	KAL_CM_ESTABLISHED,     /**< The connection is established. */
	KAL_CM_REJECTED,        /**< The peer's consumer refused. */
	KAL_CM_FAILED,          /**< Any other failure before it was established. */
	KAL_CM_REQUEST_GONE,    /**< An unanswered request has ended; ctx = listener's. */
	KAL_CM_DISCONNECTED,    /**< Orderly end, after all completions. */
	KAL_CM_BROKEN,          /**< Any other end, after all completions. */
	KAL_CM_SERVICE_REQUEST, /**< As REQUEST, for datagrams; GONE may follow, too. */
	KAL_CM_SERVICE_REPLY,   /**< The answer to a query; ctx = the query's. */
	KAL_CM_TIME_WAIT_OVER,  /**< The time-wait after the connection is over. */
	KAL_CM_COUNT
};

/** Values of kal_cm_event::reason; numbers of enum ri_cm_reason. */
enum kal_cm_reason {
	KAL_REASON_OTHER = 0,
	KAL_REASON_TIMEOUT,
	KAL_REASON_BAD_PATH,
	KAL_REASON_STALE,
	KAL_REASON_BAD_ORD,
	KAL_REASON_RESOURCES,
	KAL_REASON_BAD_PARAMS,
	KAL_REASON_CONSUMER, /**< KAL_REJECT only: the application refuses. */
	KAL_REASON_REFUSED   /**< Nobody listens there. */
};

/** One event. */
struct kal_event {
	uint32_t kind;     /**< enum kal_event_kind. */
	uint32_t reserved; /**< 0. */
	uint64_t ctx;      /**< Context of the object. */
	union {
		struct ri_async_event async; /**< KAL_EVENT_ASYNC. */
		struct kal_cm_event cm;      /**< KAL_EVENT_CM. */
	} u;                                 /**< By kind. */
};

struct kal_client;

/** Parameters of kal_client_open. */
struct kal_client_params {
	const struct ri_host *host; /**< NULL: the table of the calling thread (kal_host_here). */
	/**
	 * Called after an event was queued, on whatever thread queued it, possibly inside a fast-path
	 * call of this client; it must not block. NULL: the descriptor becomes readable instead.
	 */
	void (*kick)(void *arg);
	void *arg; /**< For @ref kick. */
};

/**
 * Create a client. In this release the kAL is always in the process.
 * @return RI_SUCCESS, RI_ERR_RESOURCES, RI_ERR_INVALID_ARG: the file that ITAPI_CONFIG names is invalid, and the log
 * has the reason
 */
enum ri_status kal_client_open(const struct kal_client_params *params,
			       struct kal_client **out) RI_MUST_CHECK;
/** Close the client; everything that it still has is destroyed, without events. */
void kal_client_close(struct kal_client *client);
/** Make one call. Thread-safe. @return status of the call; RI_ERR_INVALID_ARG for bad sizes */
enum ri_status kal_call(struct kal_client *client, struct kal_msg *msg) RI_MUST_CHECK;
/** Take the oldest event. @return false if there is none */
bool kal_next_event(struct kal_client *client, struct kal_event *event);
/** Descriptor that is readable while events wait (only without a kick function). */
int kal_client_fd(struct kal_client *client);
/** The client's host table; client NULL: the calling thread's. NULL if it cannot be made. */
const struct ri_host *kal_client_host(struct kal_client *client);
/** Writes a line of the log; level is an enum ri_log_level. Called by any thread, one line at a time. */
typedef void kal_log_writer(void *context, int level, const char *where, const char *text);
/**
 * Where the lines of the log go from now on, for the process. Waits for a line that is being written.
 * @param writer NULL: stderr
 * @param context for @p writer
 */
void kal_log_set_writer(kal_log_writer *writer, void *context);
/**
 * Write a sentence for the user of a program to stderr, in the form "itapi: TEXT", whatever
 * ITAPI_LOG says. Never blocks, keeps errno, is not a cancellation point; any thread. Nothing is
 * written before a host table was created, or if descriptor 2 is not the file any more that it was
 * then.
 */
void kal_log_tell(const char *text);
/** The user half of the provider behind an RNIC of this client, which is loaded here. */
enum ri_status kal_user_half(struct kal_client *client, uint32_t rnic,
			     const struct ri_user_ops **user,
			     const struct ri_fast_ops **fast) RI_MUST_CHECK;
/** How threads have waited for events of an adapter; added to by atomic operations. */
struct kal_waits {
	uint64_t waits;    /**< Threads that fell asleep. */
	uint64_t wake_ups; /**< Of them, those that an event woke. */
};
/**
 * The counters that a provider increments for a queue pair, a completion queue, a shared receive
 * queue, or for the waits of an adapter of this client. The caller passes them to
 * ri_user_ops::qp_count, cq_count and srq_count; they exist until the object is destroyed. NULL:
 * the object is not counted.
 */
struct ri_qp_counters *kal_count_qp(struct kal_client *client, uint32_t qp);
struct ri_cq_counters *kal_count_cq(struct kal_client *client, uint32_t cq);
struct ri_qp_counters *kal_count_srq(struct kal_client *client, uint32_t srq);
struct kal_waits *kal_count_waits(struct kal_client *client, uint32_t rnic);
/** The production host table, made at first use; lives until the process ends. NULL: no resources. */
const struct ri_host *kal_host_default(void);
/** The host table of the calling thread: the one that it was given (kal_host_use.h), else kal_host_default(). */
const struct ri_host *kal_host_here(void);
/** Is that the table which the calling thread was given? Then nothing is asked of the real machine. */
bool kal_host_is_own(const struct ri_host *host);
/** ri_host::now of the calling thread's table, which is not made for this: in production it is CLOCK_MONOTONIC. */
uint64_t kal_host_time(void);

#endif /* KAL_CALL_H */
