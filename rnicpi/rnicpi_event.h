/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/**
 * @file rnicpi_event.h
 * @brief Asynchronous events, one value for each cause; events of connections.
 *
 * Plain data; C99, no GLib. Include rnicpi_types.h, which includes this.
 */
#ifndef RNICPI_EVENT_H
#define RNICPI_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "rnicpi_attr.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @addtogroup rnicpi
 * @{
 */

/**
 * @defgroup rnicpi_events Events
 * @{
 */

/** One value for each cause, so that each can be mapped and tested by itself [RI 8]. */
enum ri_event {
	RI_EVENT_NONE = 0, /**< Never raised. */
	/* The end of a stream: exactly one of these per connection, after all completions. */
	RI_EVENT_QP_LLP_CLOSE_COMPLETE, /**< Orderly end, either side. */
	RI_EVENT_QP_TERMINATE_RECEIVED, /**< Terminate arrived; detail = layer, type, code. */
	RI_EVENT_QP_LLP_RESET,          /**< TCP reset. */
	RI_EVENT_QP_LLP_LOST,      /**< TCP timed out, or the stream was lost in another way. */
	RI_EVENT_QP_BAD_CLOSE,     /**< The end did not come in time. */
	RI_EVENT_QP_BAD_LLP_CLOSE, /**< FIN in the middle of an FPDU. */
	/* Errors that this side found; each also ends the stream. */
	RI_EVENT_QP_LLP_SEGMENT_SIZE, /**< FPDU too small or large for its header. */
	RI_EVENT_QP_LLP_CRC,          /**< CRC mismatch. */
	RI_EVENT_QP_LLP_FPDU,         /**< Marker and length disagree. */
	RI_EVENT_QP_DDP_VERSION,      /**< Invalid DDP version. */
	RI_EVENT_QP_RDMAP_VERSION,    /**< Invalid RDMAP version. */
	RI_EVENT_QP_OPCODE,           /**< Unexpected opcode. */
	RI_EVENT_QP_QN,               /**< Invalid queue number. */
	RI_EVENT_QP_READ_DISABLED,    /**< Read Request although not enabled. */
	RI_EVENT_QP_WRITE_DISABLED,   /**< Write although not enabled. */
	RI_EVENT_QP_READ_MALFORMED,   /**< Read Request with a bad length. */
	RI_EVENT_QP_NO_L_BIT,         /**< Last-segment bit missing. */
	RI_EVENT_QP_STAG,             /**< Tagged message: invalid STag. */
	RI_EVENT_QP_BOUNDS,           /**< Tagged message: out of bounds. */
	RI_EVENT_QP_ACCESS,           /**< Tagged message: right missing. */
	RI_EVENT_QP_PD,               /**< Tagged message: STag of another PD or QP. */
	RI_EVENT_QP_WRAP,             /**< Tagged message: offset wraps. */
	RI_EVENT_QP_RQ_MSN_RANGE,     /**< Send without a receive. */
	RI_EVENT_QP_RQ_MSN_GAP,       /**< Send out of sequence. */
	RI_EVENT_QP_RQ_MO,            /**< Send with a bad message offset. */
	RI_EVENT_QP_IRRQ_OVERFLOW,    /**< More Reads than IRD. */
	RI_EVENT_QP_IRRQ_MSN_GAP,     /**< Read Request out of sequence. */
	RI_EVENT_QP_IRRQ_MSN_RANGE,   /**< Read Request beyond the window. */
	RI_EVENT_QP_IRRQ_STAG,        /**< Read source: invalid STag. */
	RI_EVENT_QP_IRRQ_BOUNDS,      /**< Read source: out of bounds. */
	RI_EVENT_QP_IRRQ_ACCESS,      /**< Read source: right missing. */
	RI_EVENT_QP_IRRQ_PD,          /**< Read source: another PD or QP. */
	RI_EVENT_QP_IRRQ_WRAP,        /**< Read source: wraps. */
	RI_EVENT_QP_CQ_SQ_ERROR,      /**< The send CQ was full. */
	RI_EVENT_QP_CQ_RQ_ERROR,      /**< The receive CQ was full. */
	RI_EVENT_QP_SRQ_ERROR,        /**< The SRQ failed. */
	RI_EVENT_QP_RQ_HARD_LIMIT,    /**< Hard high watermark exceeded. */
	RI_EVENT_QP_WR_ERROR,         /**< A local request failed; its completion says why. */
	RI_EVENT_QP_CATASTROPHIC,     /**< The QP failed for an internal reason. */
	/* These do not end a connection. */
	RI_EVENT_QP_STREAM_UP,  /**< The RTR was sent or has come: the connection is established. */
	RI_EVENT_QP_RQ_LIMIT,   /**< Soft high watermark exceeded. */
	RI_EVENT_QP_LAST_WQE,   /**< IB: no more receives will be taken from the SRQ. */
	RI_EVENT_QP_COMM_EST,   /**< IB: the first message came before the set-up was over. */
	RI_EVENT_QP_SQ_DRAINED, /**< IB: the send queue has drained. */
	RI_EVENT_QP_PATH_MIGRATED,   /**< IB: the alternate path is in use. */
	RI_EVENT_QP_PATH_MIG_FAILED, /**< IB: the alternate path cannot be used. */
	RI_EVENT_CQ_OVERFLOW,        /**< The CQ was full, and no single QP caused it. */
	RI_EVENT_CQ_OP_ERROR,        /**< The CQ failed. */
	RI_EVENT_SRQ_LIMIT,          /**< Fewer receives than the limit are available. */
	RI_EVENT_SRQ_CATASTROPHIC,   /**< The SRQ failed. */
	/** The adapter failed. Raised after the ends of its connections; verbs return RI_ERR_FATAL [RI 8.5]. */
	RI_EVENT_DEVICE_CATASTROPHIC,
	RI_EVENT_PORT_ACTIVE, /**< A spigot is up. */
	RI_EVENT_PORT_ERROR,  /**< A spigot is down. */
	RI_EVENT_PORT_CHANGE, /**< Addresses or attributes of a spigot changed. */
	RI_EVENT_COUNT        /**< Number of values. */
};

/** Name of an event; never NULL. @param event any value @return text */
const char *ri_event_name(enum ri_event event);

/** Does the event end a connection as an orderly close does? @param event any value @return true or false */
bool ri_event_is_close(enum ri_event event);
/** Does the event end a connection? @param event any value @return true or false */
bool ri_event_is_end(enum ri_event event);

/** Kinds of object that an event names. */
enum ri_object {
	RI_OBJECT_NONE = 0, /**< Not set. */
	RI_OBJECT_RNIC,     /**< The adapter; its context is not used. */
	RI_OBJECT_PORT,     /**< A spigot; ctx is its number. */
	RI_OBJECT_PD,       /**< Protection domain. */
	RI_OBJECT_CQ,       /**< Completion queue. */
	RI_OBJECT_SRQ,      /**< Shared receive queue. */
	RI_OBJECT_QP,       /**< Queue pair. */
	RI_OBJECT_MR,       /**< Memory region. */
	RI_OBJECT_MW,       /**< Memory window. */
	RI_OBJECT_AH,       /**< Address handle. */
	RI_OBJECT_LISTEN,   /**< Listener. */
	RI_OBJECT_REQUEST,  /**< Connection request. */
	RI_OBJECT_CLIENT,   /**< A client of the kAL. */
	RI_OBJECT_COUNT     /**< Number of values. */
};

/** An asynchronous event. Borrowed for the upcall. */
struct ri_async_event {
	uint32_t event;    /**< enum ri_event. */
	uint32_t object;   /**< enum ri_object. */
	uint64_t ctx;      /**< Context of that object, as given to its creation. */
	uint32_t detail;   /**< Code of a Terminate (16 bits), or an errno; 0 = none. */
	uint32_t reserved; /**< 0. */
};

struct ri_request;

/** Kinds of ri_cm_event [RI 11.6.2]. */
enum ri_cm_event_kind {
	RI_CM_NONE = 0,        /**< Never raised. */
	RI_CM_REQUEST,         /**< A peer connects to a listener; ctx is the listener's. */
	RI_CM_REPLY,           /**< Three-way: the peer has accepted; ri_cm_ops::confirm is due. */
	RI_CM_ESTABLISHED,     /**< The connection is established. */
	RI_CM_REJECTED,        /**< The peer's application rejected the request. */
	RI_CM_FAILED,          /**< The attempt failed otherwise; see ri_cm_event::reason. */
	RI_CM_REQUEST_GONE,    /**< The peer of an unanswered request, of either kind, gave up. */
	RI_CM_DISCONNECTED,    /**< Orderly end of a connection (see ri_upcalls::cm_event). */
	RI_CM_BROKEN,          /**< Any other end of a connection. */
	RI_CM_TIME_WAIT_OVER,  /**< The time-wait of the QP is over: it may be used again. */
	RI_CM_SERVICE_REQUEST, /**< A peer asks a listener for a datagram service; as REQUEST. */
	RI_CM_SERVICE_REPLY,   /**< Its answer; ctx is that of ri_cm_ops::resolve. */
	RI_CM_KIND_COUNT       /**< Number of values. */
};

/** Why an attempt to connect failed. */
enum ri_cm_reason {
	RI_CM_REASON_OTHER = 0,  /**< Reset, and everything else; before 1.7 refused, too. */
	RI_CM_REASON_TIMEOUT,    /**< No answer came in time. */
	RI_CM_REASON_BAD_PATH,   /**< The peer cannot be reached. */
	RI_CM_REASON_STALE,      /**< The peer remembers an older connection (IB). */
	RI_CM_REASON_BAD_ORD,    /**< IRD and ORD cannot be agreed on. */
	RI_CM_REASON_RESOURCES,  /**< Backlog, descriptors or memory ran out. */
	RI_CM_REASON_BAD_PARAMS, /**< A frame, its revision, CRC or markers do not fit. */
	RI_CM_REASON_CONSUMER,   /**< ri_cm_ops::reject only: the application rejects. */
	RI_CM_REASON_REFUSED     /**< Nobody listens there. */
};

/** How a datagram service answers. */
enum ri_service_status {
	RI_SERVICE_FOUND = 0,   /**< The answer has qpn and qkey. */
	RI_SERVICE_UNKNOWN,     /**< There is no such service. */
	RI_SERVICE_REJECTED,    /**< Refused, or no answer came in time. */
	RI_SERVICE_NO_QP,       /**< The service has no queue pair to spare. */
	RI_SERVICE_REDIRECTED,  /**< The service is elsewhere. */
	RI_SERVICE_STATUS_COUNT /**< Number of values. */
};

/** A connection event. Borrowed for the upcall. */
struct ri_cm_event {
	uint32_t kind;   /**< enum ri_cm_event_kind. */
	uint32_t reason; /**< enum ri_cm_reason with RI_CM_FAILED. */
	uint64_t ctx;    /**< Of the QP or listener; REQUEST_GONE: 0 if that is destroyed. */
	struct ri_request *request; /**< REQUEST, REQUEST_GONE: the request. */
	struct ri_addr peer;  /**< REQUEST: the active side. SERVICE_REPLY: the answering side. */
	struct ri_addr local; /**< REQUEST: the local address. SERVICE_REPLY: the source address. */
	struct ri_service service; /**< REQUEST: the listener's; local_port: the peer's. */
	uint32_t port;             /**< REQUEST: spigot, from 0. */
	uint32_t ird;              /**< IRD that the peer sent, with @ref ird_ord_valid. */
	uint32_t ord;              /**< ORD that the peer sent, with @ref ird_ord_valid. */
	bool ird_ord_valid;        /**< The peer sent its IRD and ORD. */
	bool pdata_present;        /**< The message had a field for private data. */
	/**
	 * Octets in @ref pdata, 0 to RI_PDATA_MAX. A message of InfiniBand does not say how many were sent: it may be the whole field,
	 * zeros behind them.
	 */
	uint16_t pdata_len;
	uint8_t pdata[RI_PDATA_MAX]; /**< Private data. */
	uint32_t service_status;     /**< SERVICE_REPLY: enum ri_service_status. */
	uint32_t qpn;  /**< SERVICE_REPLY with RI_SERVICE_FOUND: queue pair to send to. */
	uint32_t qkey; /**< SERVICE_REPLY with RI_SERVICE_FOUND: its Q_Key. */
	/**
	 * REQUEST, REPLY and ESTABLISHED with ri_rnic_attr::cm_number: what the queue pair of the application needs for
	 * ri_peer_ops. ird and ord are what the peer tells, from the view of this side. Else 0.
	 */
	struct ri_peer reach;
};

/** @} */

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* RNICPI_EVENT_H */
