/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/**
 * @file rnicpi.h
 * @brief What a verbs provider registers, and the control verbs of its privileged half (kVP).
 *
 * A provider is a shared object that exports `ri_provider_entry`, or code built into libitapi, or
 * a struct that a host program registers. It hands over a ri_provider: version and size first, then
 * small tables by object. An entry that is NULL is absent; what may be absent is tied to an
 * attribute of the semantic profile (ri_rnic_attr), and the registry refuses a provider whose claims
 * and entries disagree.
 *
 * Rules for all control verbs:
 * - They may block for local work (memory, kernel calls), never for a peer.
 * - The kAL never overlaps two calls on one object, nor a call with the destruction of a parent.
 * - A call that fails has changed nothing [RI 2.1.1].
 * - No upcall is made inside a control verb; what a verb causes is raised later, from the service
 *   thread (ri_host::task_run) or from inside a fast-path call.
 * - After a destroy returned, no upcall for the object comes. The kAL holds no lock that its upcall
 *   handlers take while it calls a verb.
 *
 * This is our own design after what is known of the 2005 interface of that name; it claims no
 * binary or source compatibility with it.
 */
#ifndef RNICPI_H
#define RNICPI_H

#include "rnicpi_fast.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @addtogroup rnicpi
 * @{
 * @defgroup rnicpi_provider Provider and control verbs (kVP)
 * @{
 */

/** Major version: must be equal on both sides. */
#define RI_ABI_MAJOR 1
/** Minor version: grows when members are added at the ends of structs. */
#define RI_ABI_MINOR 1
/** Name of the function that a provider's shared object exports. */
#define RI_PROVIDER_ENTRY_NAME "ri_provider_entry"

struct ri_rnic;
struct ri_context;
struct ri_pd;
struct ri_cq;
struct ri_srq;
struct ri_qp;
struct ri_mr;
struct ri_mw;
struct ri_ah;
struct ri_listen;
struct ri_request;

/** An adapter that a provider found. */
struct ri_device_desc {
	char name[64];        /**< Adapter name; unique among all providers. */
	char description[96]; /**< For people. */
	uint32_t transport;   /**< enum ri_transport. */
	uint32_t num_ports;   /**< Spigots. */
};

/** Kinds of ri_cm_event. */
enum ri_cm_event_kind {
	RI_CM_NONE = 0,    /**< Never raised. */
	RI_CM_REQUEST,     /**< Somebody connects to a listener; ctx is the listener's. */
	RI_CM_REPLY,       /**< Three-way: accepted by the peer, awaits confirm. */
	RI_CM_ESTABLISHED, /**< The connection stands. */
	RI_CM_REJECTED,    /**< The peer's consumer said no. */
	RI_CM_FAILED,      /**< Anything else went wrong before it stood; see status. */
	RI_CM_REQUEST_GONE, /**< The peer of an unanswered request of either kind gave up; names @ref ri_cm_event::request. */
	RI_CM_DISCONNECTED,    /**< Orderly end of a connection (see ri_upcalls::cm_event). */
	RI_CM_BROKEN,          /**< Any other end of a connection. */
	RI_CM_TIME_WAIT_OVER,  /**< The QP may be reused. */
	RI_CM_SERVICE_REQUEST, /**< Somebody asks a listener for datagrams; as REQUEST. */
	RI_CM_SERVICE_REPLY,   /**< The answer; ctx is that of ri_cm_ops::resolve. */
	RI_CM_KIND_COUNT       /**< Number of values. */
};

/** Why a connection attempt failed. */
enum ri_cm_reason {
	RI_CM_REASON_OTHER = 0,  /**< Refused, reset, everything else. */
	RI_CM_REASON_TIMEOUT,    /**< Nobody answered in time. */
	RI_CM_REASON_BAD_PATH,   /**< Unreachable. */
	RI_CM_REASON_STALE,      /**< The peer remembers an older connection (IB). */
	RI_CM_REASON_BAD_ORD,    /**< IRD and ORD cannot be matched. */
	RI_CM_REASON_RESOURCES,  /**< Backlog, descriptors or memory. */
	RI_CM_REASON_BAD_PARAMS, /**< Frame, revision, CRC or marker disagreement. */
	RI_CM_REASON_CONSUMER    /**< ri_cm_ops::reject only: the consumer says no. */
};

/** How a datagram service answers. */
enum ri_service_status {
	RI_SERVICE_FOUND = 0,   /**< Here it is: qpn and qkey are told. */
	RI_SERVICE_UNKNOWN,     /**< There is no such service. */
	RI_SERVICE_REJECTED,    /**< Refused; or nobody answered in time. */
	RI_SERVICE_NO_QP,       /**< It has no queue pair to spare. */
	RI_SERVICE_REDIRECTED,  /**< To be asked for elsewhere. */
	RI_SERVICE_STATUS_COUNT /**< Number of values. */
};

/** A connection event. Borrowed for the upcall. */
struct ri_cm_event {
	uint32_t kind;   /**< enum ri_cm_event_kind. */
	uint32_t reason; /**< enum ri_cm_reason with RI_CM_FAILED. */
	/**
	 * Context of the QP, or of the listener (REQUEST, REQUEST_GONE). REQUEST_GONE: 0 if the listener is
	 * gone too.
	 */
	uint64_t ctx;
	struct ri_request *request; /**< REQUEST, REQUEST_GONE: the request. */
	struct ri_addr peer;        /**< REQUEST: who connects. SERVICE_REPLY: who was asked. */
	struct ri_addr local; /**< REQUEST: to which of our addresses. SERVICE_REPLY: by which. */
	struct ri_service service;   /**< REQUEST: what was hit; port of the peer in local_port. */
	uint32_t port;               /**< REQUEST: spigot. */
	uint32_t ird;                /**< The peer's own value, if ird_ord_valid. */
	uint32_t ord;                /**< The peer's own value, if ird_ord_valid. */
	bool ird_ord_valid;          /**< The peer told its IRD and ORD. */
	bool pdata_present;          /**< The message carried private data. */
	uint16_t pdata_len;          /**< Octets in @ref pdata. */
	uint8_t pdata[RI_PDATA_MAX]; /**< Private data. */
	uint32_t service_status;     /**< SERVICE_REPLY: enum ri_service_status. */
	uint32_t qpn;                /**< SERVICE_REPLY with RI_SERVICE_FOUND: who to send to. */
	uint32_t qkey;               /**< The same: its Q_Key. */
};

/**
 * Upcalls of the access layer. Callable from any thread; they never block. They may come from the
 * beginning of ri_device_ops::open until its close returned, during close too. An upcall that names an object
 * comes only while that object exists; one for a context or a request that is gone is dropped.
 */
struct ri_upcalls {
	uint32_t size; /**< sizeof this struct as the access layer knows it. */
	void *self;    /**< First argument of every upcall. */
	/** An armed CQ fired; @p ctx as given to its creation. May come inside fast-path calls. */
	void (*cq_event)(void *self, uint64_t ctx);
	/**
	 * Something of enum ri_event happened. May come inside fast-path calls; for the adapter and its
	 * spigots also before ri_device_ops::open returned, and until close returned.
	 */
	void (*async_event)(void *self, const struct ri_async_event *event);
	/**
	 * A connection moved (ri_cm_ops only). Which upcall ends a connection depends on its form:
	 * - by address (ri_cm_ops): exactly one RI_CM_DISCONNECTED or RI_CM_BROKEN here, after all completions of
	 *   the QP have been made. An asynchronous event may say before what went wrong; it ends nothing, not
	 *   even one that ri_event_is_end() knows.
	 * - over a stream (ri_llp_ops): exactly one @ref async_event that ri_event_is_end() knows, after all
	 *   completions; nothing comes here.
	 * An attempt that never stood ends with RI_CM_REJECTED or RI_CM_FAILED instead; after
	 * ri_cm_ops::disconnect any of the four may be its end.
	 */
	void (*cm_event)(void *self, const struct ri_cm_event *event);
};

/** Input of ri_device_ops::open. */
struct ri_open {
	char name[64];                    /**< Adapter. */
	const struct ri_host *host;       /**< Services; outlives the RNIC. */
	const struct ri_upcalls *upcalls; /**< Upcalls; outlive the RNIC. */
};

/** Who owns a context: a process. */
struct ri_owner {
	uint64_t mem_owner; /**< For ri_host::mem_attach. */
	uint32_t pid;       /**< Process id. */
	uint32_t uid;       /**< User id. */
	bool privileged;    /**< May make privileged QPs. */
	bool shared;        /**< In another process: queue pages must be mappable by descriptor. */
};

/** Devices and processes [RI 2.2]. */
struct ri_device_ops {
	uint32_t size; /**< sizeof this struct as the provider knows it. */
	/**
	 * List adapters. *@p count in: room in @p descs, out: adapters there are; may exceed the room.
	 */
	enum ri_status (*probe)(const struct ri_host *host, struct ri_device_desc *descs,
				uint32_t *count);
	/** Open an adapter. RI_ERR_NO_DEVICE, RI_ERR_RESOURCES. */
	enum ri_status (*open)(const struct ri_open *open, struct ri_rnic **out);
	/**
	 * Close it; no objects are left. When it returns no upcall is under way on any thread, and none comes
	 * after: what the access layer keeps for upcalls is freed then.
	 */
	void (*close)(struct ri_rnic *rnic);
	/** Fill the semantic profile. @p attr::size is set by the caller; only that much is written. */
	enum ri_status (*query)(struct ri_rnic *rnic, struct ri_rnic_attr *attr);
	/** Describe a spigot as it is now. RI_ERR_INVALID_ARG: no such port. */
	enum ri_status (*query_port)(struct ri_rnic *rnic, uint32_t port,
				     struct ri_port_attr *attr);
	/** Begin to serve a process. */
	enum ri_status (*context_create)(struct ri_rnic *rnic, const struct ri_owner *owner,
					 struct ri_context **out, struct ri_map *map);
	/** End it and take back everything it still holds, without events for its own objects. */
	void (*context_destroy)(struct ri_context *context);
	/**
	 * Is @p local usable as source towards @p peer? Fills source and port. Optional: without it
	 * the kAL asks the host's routing.
	 */
	enum ri_status (*route)(struct ri_rnic *rnic, const struct ri_addr *peer,
				struct ri_addr *local, uint32_t *port);
	/** One line of text per internal fact, for people; returns octets wanted. Optional. */
	size_t (*dump)(struct ri_rnic *rnic, char *text, size_t room);
};

/** Protection domains [RI 2.2]. */
struct ri_pd_ops {
	uint32_t size; /**< sizeof this struct as the provider knows it. */
	/** Make one. RI_ERR_RESOURCES. */
	enum ri_status (*create)(struct ri_context *context, struct ri_pd **out);
	/** Unmake it. RI_ERR_BUSY while a QP, region, window, SRQ or address handle uses it. */
	enum ri_status (*destroy)(struct ri_pd *pd);
};

/** Completion queues [RI 2.2], [RI 7]. */
struct ri_cq_ops {
	uint32_t size; /**< sizeof this struct as the provider knows it. */
	/** Make one. *@p entries in: minimum, out: real. RI_ERR_LIMIT, RI_ERR_RESOURCES. */
	enum ri_status (*create)(struct ri_context *context, uint64_t ctx, uint32_t *entries,
				 struct ri_cq **out, struct ri_map *map);
	/** Resize with entries present. RI_ERR_BUSY: more are present than asked for. With cq_resizable. */
	enum ri_status (*resize)(struct ri_cq *cq, uint32_t *entries, struct ri_map *map);
	/** Unmake it. RI_ERR_BUSY while a work queue is attached. */
	enum ri_status (*destroy)(struct ri_cq *cq);
};

/** Shared receive queues [RI 6]; the whole table is absent without ri_rnic_attr::srq. */
struct ri_srq_ops {
	uint32_t size; /**< sizeof this struct as the provider knows it. */
	/** Make one; @p attr reports real sizes. RI_ERR_LIMIT, RI_ERR_RESOURCES. */
	enum ri_status (*create)(struct ri_pd *pd, struct ri_srq_attr *attr, struct ri_srq **out,
				 struct ri_map *map);
	/**
	 * Set the limit (arms it; 0 = off; RI_SRQ_LIMIT_KEEP: stays as it is), and max_wr too if
	 * @p resize and srq_resizable: then @p map tells what ri_user_ops::srq_remap is to follow. All or
	 * nothing; @p attr reports the real max_wr. RI_ERR_INVALID_ARG: the limit is above max_wr;
	 * RI_ERR_LIMIT; RI_ERR_BUSY: more than max_wr is outstanding; RI_ERR_RESOURCES.
	 */
	enum ri_status (*modify)(struct ri_srq *srq, struct ri_srq_attr *attr, bool resize,
				 struct ri_map *map);
	/** Read the attributes. */
	enum ri_status (*query)(struct ri_srq *srq, struct ri_srq_attr *attr);
	/** Unmake it; posted receives vanish. RI_ERR_BUSY while a QP uses it. */
	enum ri_status (*destroy)(struct ri_srq *srq);
};

/** Queue pairs [RI 4]. */
struct ri_qp_ops {
	uint32_t size; /**< sizeof this struct as the provider knows it. */
	/**
	 * Make one, in IDLE. @p init reports real sizes (at least what was asked), ird and ord.
	 * One for datagrams is in RTS from the start, and ERROR to IDLE brings it back there at once; it ends
	 * with an event that ri_event_is_end() knows, after all completions.
	 * @p srq NULL or of the same context. RI_ERR_LIMIT, RI_ERR_RESOURCES, RI_ERR_UNSUPPORTED (type),
	 * RI_ERR_PERMISSION (privileged without the right).
	 */
	enum ri_status (*create)(struct ri_pd *pd, struct ri_qp_init *init, struct ri_cq *send_cq,
				 struct ri_cq *recv_cq, struct ri_srq *srq, struct ri_qp **out,
				 struct ri_map *map);
	/**
	 * Change state and attributes, all or nothing. Legal moves of state by the caller: IDLE to IDLE,
	 * IDLE to ERROR, RTS to CLOSING, RTS to TERMINATE, any but IDLE to ERROR, ERROR to IDLE
	 * (RI_ERR_STILL_FLUSHING until everything is completed; RI_ERR_TIME_WAIT). Entering CONNECTING
	 * and RTS is the business of ri_cm_ops and ri_llp_ops. RI_ERR_INVALID_STATE, RI_ERR_LIMIT.
	 */
	enum ri_status (*modify)(struct ri_qp *qp, const struct ri_qp_attr *attr, uint32_t mask);
	/** Read everything. */
	enum ri_status (*query)(struct ri_qp *qp, struct ri_qp_attr *attr);
	/**
	 * Unmake it in any state; a live stream is reset. RI_ERR_BUSY while windows are bound to it.
	 * After return nothing touches the buffers of its requests.
	 */
	enum ri_status (*destroy)(struct ri_qp *qp);
	/**
	 * Other sizes of the queues, with requests in them: max_sq_wr, max_rq_wr and the segment limits of
	 * @p attr, in: minima, out: real. @p map tells what ri_user_ops::qp_remap is to follow. With an SRQ
	 * the receive queue stays as it is. RI_ERR_BUSY: more is outstanding; RI_ERR_LIMIT,
	 * RI_ERR_RESOURCES. With wq_resizable.
	 */
	enum ri_status (*resize)(struct ri_qp *qp, struct ri_qp_attr *attr, struct ri_map *map);
};

/** Memory [RI 5]. */
struct ri_mem_ops {
	uint32_t size; /**< sizeof this struct as the provider knows it. */
	/** Register, or reserve an STag (ri_mr_init::unlinked). RI_ERR_ADDRESS, _ACCESS, _LIMIT, _RESOURCES. */
	enum ri_status (*mr_reg)(struct ri_pd *pd, const struct ri_mr_init *init,
				 struct ri_mr **out, uint32_t *stag);
	/** Register anew under the same object; the STag may change. RI_ERR_BUSY: windows bound. With reregister. */
	enum ri_status (*mr_rereg)(struct ri_mr *mr, struct ri_pd *pd,
				   const struct ri_mr_init *init, uint32_t *stag);
	/** Describe a region. */
	enum ri_status (*mr_query)(struct ri_mr *mr, struct ri_mr_attr *attr);
	/**
	 * Take it away in any state. RI_ERR_BUSY while windows are bound. After return no octet of the
	 * range is read or written by anybody (RFC 5042).
	 */
	enum ri_status (*mr_dereg)(struct ri_mr *mr);
	/** Make an unbound window. RI_ERR_UNSUPPORTED: type. With mw_narrow or mw_wide. */
	enum ri_status (*mw_alloc)(struct ri_pd *pd, enum ri_mw_type type, struct ri_mw **out,
				   uint32_t *stag);
	/** Describe a window. */
	enum ri_status (*mw_query)(struct ri_mw *mw, struct ri_mr_attr *attr);
	/** Take it away, bound or not. */
	enum ri_status (*mw_free)(struct ri_mw *mw);
};

/** Address handles; absent without ud. */
struct ri_ah_ops {
	uint32_t size; /**< sizeof this struct as the provider knows it. */
	/**
	 * Make one; *@p id goes into ri_wr_ud::ah. RI_ERR_INVALID_ARG: no such port; RI_ERR_NO_ROUTE: not
	 * reachable, or not from that source; RI_ERR_RESOURCES.
	 */
	enum ri_status (*create)(struct ri_pd *pd, const struct ri_ah_init *init,
				 struct ri_ah **out, uint32_t *id);
	/** Point it elsewhere; results as of create. */
	enum ri_status (*modify)(struct ri_ah *ah, const struct ri_ah_init *init);
	/** Unmake it; datagrams posted with it still go. */
	enum ri_status (*destroy)(struct ri_ah *ah);
};

/** What either side says when it connects or accepts. */
struct ri_cm_params {
	struct ri_addr local;      /**< Connect: source, or RI_ADDR_NONE. */
	struct ri_addr peer;       /**< Connect: destination. */
	struct ri_service service; /**< Connect: destination service. */
	uint32_t port;             /**< Connect: spigot. */
	uint32_t ird;              /**< Own value to tell. */
	uint32_t ord;              /**< Own value to tell; after accept the lowered one. */
	bool ird_ord;              /**< Exchange the two. */
	bool three_way;            /**< Connect: the reply waits for confirm. */
	uint16_t pdata_len;        /**< Octets of @ref pdata. */
	const void *pdata;         /**< Private data, borrowed. */
	uint64_t deadline; /**< It stands by then, or fails: ns of ri_host::now; RI_NEVER. */
};

/** Answer to a SERVICE_REQUEST. */
struct ri_service_answer {
	uint32_t status;    /**< enum ri_service_status. */
	uint32_t qpn;       /**< With RI_SERVICE_FOUND. */
	uint32_t qkey;      /**< With RI_SERVICE_FOUND. */
	uint16_t pdata_len; /**< Octets of @ref pdata. */
	const void *pdata;  /**< Private data, borrowed. */
};

/** First optional form of connection management: by address [RI 11.6.1]. With RI_CM_ADDRESS. */
struct ri_cm_ops {
	uint32_t size; /**< sizeof this struct as the provider knows it. */
	/**
	 * Listen. @p service port or id 0 = choose one, written back. RI_ERR_IN_USE, RI_ERR_PERMISSION.
	 */
	enum ri_status (*listen)(struct ri_context *context, uint64_t ctx, uint32_t port,
				 struct ri_service *service, uint32_t backlog,
				 struct ri_listen **out);
	/** Stop listening; requests already raised stay. */
	void (*listen_destroy)(struct ri_listen *listen);
	/** Begin; IDLE to CONNECTING. Ends with REPLY, ESTABLISHED, REJECTED or FAILED. */
	enum ri_status (*connect)(struct ri_qp *qp, const struct ri_cm_params *params);
	/** Accept with an IDLE QP; consumes the request on success. Ends with ESTABLISHED or FAILED. */
	enum ri_status (*accept)(struct ri_request *request, struct ri_qp *qp,
				 const struct ri_cm_params *params);
	/**
	 * Refuse a request; consumes it. With RI_CM_REASON_CONSUMER the peer gets REJECTED and the private
	 * data, else FAILED with that reason.
	 */
	enum ri_status (*reject)(struct ri_request *request, enum ri_cm_reason reason,
				 const void *pdata, uint16_t len);
	/**
	 * Three-way: finish (@p accept) or refuse after REPLY; a refusal carries as much private data as
	 * reject. Optional with three_way_handshake.
	 */
	enum ri_status (*confirm)(struct ri_qp *qp, bool accept, const void *pdata, uint16_t len);
	/** End an attempt or a connection in an orderly way; later DISCONNECTED. */
	enum ri_status (*disconnect)(struct ri_qp *qp, const void *pdata, uint16_t len);
	/**
	 * Ask who serves datagrams behind a service; ird, ord and three_way do not count. Ends with one
	 * SERVICE_REPLY that names @p ctx, at the deadline with RI_SERVICE_REJECTED. RI_ERR_BUSY: that of
	 * this context is outstanding; RI_ERR_INVALID_ARG; RI_ERR_RESOURCES. With ud.
	 */
	enum ri_status (*resolve)(struct ri_context *context, uint64_t ctx,
				  const struct ri_cm_params *params);
	/** Ask no more: after return no SERVICE_REPLY names @p ctx. Whether or not one is outstanding. With ud. */
	void (*resolve_cancel)(struct ri_context *context, uint64_t ctx);
	/** Answer a SERVICE_REQUEST; consumes it. RI_ERR_INVALID_ARG, RI_ERR_INVALID_HANDLE. With ud. */
	enum ri_status (*resolve_answer)(struct ri_request *request,
					 const struct ri_service_answer *answer);
};

/** How ri_llp_ops::attach_stream starts RDMA mode. */
struct ri_stream {
	int fd;          /**< Connected TCP socket, non-blocking; the provider's from success on. */
	bool initiator;  /**< We sent the MPA Request: we may speak first. */
	bool crc;        /**< CRC32C is sent and checked, both directions. */
	bool markers_tx; /**< The peer wants markers. */
	bool markers_rx; /**< We asked for markers. */
	bool peer_local; /**< Both addresses are of this machine: large FPDUs are welcome. */
	uint8_t rtr_send;    /**< One RI_RTR_* to send first, or 0. */
	uint8_t rtr_expect;  /**< One RI_RTR_* that must come first, or 0. */
	bool hold_sq;        /**< Send nothing until the first FPDU has come. */
	uint16_t abort_code; /**< Not 0: send this Terminate (layer, type, code) and close. */
	uint32_t ird;        /**< Negotiated. */
	uint32_t ord;        /**< Negotiated. */
	const void *early;   /**< Octets that were read behind the start-up frame, borrowed. */
	uint32_t early_len;  /**< Octets in @ref early. */
};

/** Second optional form: take over a connected stream [RI 11.6.3]. With RI_CM_STREAM. */
struct ri_llp_ops {
	uint32_t size; /**< sizeof this struct as the provider knows it. */
	/**
	 * CONNECTING is entered from IDLE by the kAL when it begins to set up, so that posts and queries
	 * see it; leave it again with modify to ERROR.
	 */
	enum ri_status (*reserve)(struct ri_qp *qp);
	/**
	 * CONNECTING to RTS over this stream. The provider raises RI_EVENT_QP_STREAM_UP once the RTR has
	 * gone or come, at once if there is none, and delivers nothing before that upcall returned.
	 * On failure the descriptor is still the caller's. RI_ERR_INVALID_STATE, RI_ERR_RESOURCES,
	 * RI_ERR_UNSUPPORTED (markers), RI_ERR_INVALID_ARG (not such a socket).
	 */
	enum ri_status (*attach_stream)(struct ri_qp *qp, const struct ri_stream *stream);
};

/** A provider. Constant while registered. */
struct ri_provider {
	uint16_t abi_major;                 /**< RI_ABI_MAJOR at compile time. */
	uint16_t abi_minor;                 /**< RI_ABI_MINOR at compile time. */
	uint32_t size;                      /**< sizeof this struct at compile time. */
	const char *name;                   /**< Short, such as "iwarp"; unique. */
	const char *description;            /**< For people. */
	const struct ri_device_ops *device; /**< Required. */
	const struct ri_pd_ops *pd;         /**< Required. */
	const struct ri_cq_ops *cq;         /**< Required. */
	const struct ri_qp_ops *qp;         /**< Required. */
	const struct ri_mem_ops *mem;       /**< Required; windows with mw_narrow or mw_wide. */
	const struct ri_srq_ops *srq;       /**< With srq. */
	const struct ri_ah_ops *ah;         /**< With ud. */
	const struct ri_cm_ops *cm;         /**< With RI_CM_ADDRESS. */
	const struct ri_llp_ops *llp;       /**< With RI_CM_STREAM. */
	const struct ri_user_ops *user;     /**< Required. */
	const struct ri_fast_ops *fast;     /**< Required. */
};

/** Type of the exported function: gives the provider, or NULL if it cannot run here. */
typedef const struct ri_provider *(*ri_provider_entry_fn)(void);

/** @} */
/** @} */

#ifdef __cplusplus
}
#endif

#endif /* RNICPI_H */
