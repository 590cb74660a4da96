/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/**
 * @file rnicpi_types.h
 * @brief Values that cross the provider interface: status, work requests, completions.
 *
 * Plain data only, no entry points. It includes rnicpi_attr.h (the profile and
 * all attributes) and rnicpi_event.h. The access layers, providers and tests of providers use it. C99, no
 * GLib.
 *
 * Sources: RDMAC verbs (draft-hilland-rddp-verbs-00) and the verbs of InfiniBand 1.2 ("IB"). [RI 2.1] is
 * a paragraph of the book on this interface, in doc/spec.
 */
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

/**
 * @defgroup rnicpi RNIC-PI
 * @brief The interface between the access layers and verbs providers.
 *
 * The page of an entry says what is special about it. What holds for all entries is said here.
 *
 * @section rnicpi_calling Calls of control verbs
 *
 * A control verb is an entry of a table of ri_provider, except those of ri_fast_ops [RI 2.1].
 * - Threads: any thread, the service thread of ri_host among them. The access layer never makes two
 *   calls on one object at once, and none on an object while its parent is being destroyed. Calls on
 *   different objects do run at once. A verb that creates an object is a call on the new object, not on
 *   its parents: registrations in one PD run at once, beside other verbs of the same context.
 * - Upcalls: a control verb makes no upcall, and the access layer calls no control verb inside an upcall.
 *   What a verb causes is raised later, on the service thread or inside a fast entry.
 *   While it calls a verb, the access layer owns no lock that its upcall handlers take. So a verb may wait
 *   for an upcall that is under way.
 * - Blocks: for local work (memory, kernel calls, a turn of the engine), never for a peer.
 * - All or nothing: a verb that does not return RI_SUCCESS has changed nothing, and the caller looks at
 *   none of its outputs [RI 2.1.1].
 * - Memory: pointers to inputs are borrowed for the call. An object that a verb creates belongs to the
 *   provider; the caller names it until the verb that destroys it returns RI_SUCCESS. Pointers given as
 *   outputs are never NULL.
 * - Parents: @p pd, queues and SRQ of one call belong to one ri_context.
 *
 * @section rnicpi_results Results of every verb
 *
 * A page lists the results of its entry. These are not repeated there [RI 11.5.2]:
 * - RI_SUCCESS: done; all outputs are valid.
 * - RI_ERR_FATAL: the adapter has failed (RI_EVENT_DEVICE_CATASTROPHIC was raised or is about to be).
 *   Every control verb but a destroying one may return it [RI 8.5]. A destroying verb works to the end:
 *   destroying verbs are named destroy, free, dereg, close and cancel.
 *
 * The access layer itself answers RI_ERR_UNSUPPORTED where an optional entry is NULL [RI 11.1.3]. It turns
 * a value that is not of ri_status, or a success without what the entry promises, into RI_ERR_PROVIDER, and
 * logs the name of the entry [RI 2.1.6]. A provider returns neither RI_ERR_PROVIDER nor RI_ERR_VERSION,
 * RI_ERR_TIMEOUT, RI_ERR_INTERRUPTED or RI_ERR_PROTOCOL.
 *
 * @section rnicpi_units Units
 *
 * Lengths of memory are in bytes, lengths of messages and private data in octets of the wire, times in
 * nanoseconds of ri_host::now unless a member says otherwise. Members named `reserved` are 0. A member
 * that is not listed as in network order is in host order.
 * @{
 */

#if defined(__GNUC__)
/** Marks a function whose result the caller must use. */
#define RI_MUST_CHECK __attribute__((warn_unused_result))
#else
#define RI_MUST_CHECK
#endif

/**
 * @defgroup rnicpi_status Status and text
 * @{
 */

/** What a call of the interface returns; @ref rnicpi_results says what holds for all [RI 11.5]. */
enum ri_status {
	RI_SUCCESS = 0,        /**< Done. */
	RI_ERR_INVALID_ARG,    /**< A value is malformed or outside its range. */
	RI_ERR_INVALID_HANDLE, /**< An object or id does not exist, or is of another kind. */
	RI_ERR_INVALID_STATE,  /**< The object's state does not allow the call. */
	RI_ERR_RESOURCES,   /**< Memory, descriptors or keys ran out; a later call may succeed. */
	RI_ERR_LIMIT,       /**< A value is above what the profile announces. */
	RI_ERR_BUSY,        /**< Other objects still depend on this one. */
	RI_ERR_UNSUPPORTED, /**< The profile does not claim this. */
	RI_ERR_QUEUE_FULL,  /**< The work queue has no free slot. */
	RI_ERR_NOT_EMPTY, /**< ri_fast_ops::arm_cq: the condition holds already; nothing was armed. */
	RI_ERR_ACCESS,    /**< The process itself lacks the right to that memory. */
	RI_ERR_ADDRESS,   /**< The memory range wraps or is not mapped. */
	RI_ERR_PERMISSION,     /**< Policy or a missing privilege forbids it. */
	RI_ERR_IN_USE,         /**< The port or service id has a listener. */
	RI_ERR_NO_ROUTE,       /**< The address cannot be reached from here. */
	RI_ERR_STILL_FLUSHING, /**< ri_qp_ops::modify to IDLE before all work is completed. */
	RI_ERR_TIME_WAIT, /**< The transport still waits for late packets of the old connection. */
	RI_ERR_TIMEOUT,   /**< ri_host::park: the deadline has passed. */
	RI_ERR_INTERRUPTED, /**< ri_host::park: a signal handler ran. */
	RI_ERR_PROTOCOL,    /**< The peer broke the protocol. Inside the access layer only. */
	RI_ERR_NO_DEVICE,   /**< No adapter has that name. */
	RI_ERR_VERSION,     /**< Major versions of the interface differ. From the registry only. */
	RI_ERR_PROVIDER,    /**< The provider broke this interface. From the access layer only. */
	RI_ERR_FATAL,   /**< The adapter failed beyond repair, or this is the child of a fork. */
	RI_STATUS_COUNT /**< Number of values; not a status. */
};

/** How a work request ended [RI 3.3]. */
enum ri_wc_status {
	RI_WC_SUCCESS = 0, /**< Done. */
	RI_WC_FLUSHED, /**< The QP left RTS, or never reached it, before the request was done. */
	RI_WC_LOCAL_LENGTH,     /**< Receive too small, or the sum of lengths too large. */
	RI_WC_LOCAL_QP,         /**< Malformed request, ORD 0, queue pair failed. */
	RI_WC_LOCAL_PROTECTION, /**< A local segment has a bad STag, bounds, rights or PD, or wraps. */
	RI_WC_LOCAL_INVALIDATE,   /**< An arriving Send named an STag that cannot be invalidated. */
	RI_WC_MW_BIND,            /**< Bind, or invalidation of a window, failed. */
	RI_WC_LOCAL_MM,           /**< Fast registration, or invalidation of a region, failed. */
	RI_WC_BAD_RESPONSE,       /**< The responder sent a malformed answer (IB). */
	RI_WC_REMOTE_ACCESS,      /**< The responder refused the access. */
	RI_WC_REMOTE_INVALID_REQ, /**< The responder cannot do such a request. */
	RI_WC_REMOTE_OPERATION,   /**< The responder failed while doing it. */
	RI_WC_TRANSPORT,          /**< Retries exhausted, or the stream was lost. */
	RI_WC_RNR, /**< The receiver had no receive posted, for as long as the sender tried (IB). */
	RI_WC_STATUS_COUNT /**< Number of values; not a status. */
};

/*
 * libitapi exports the functions below. A provider in a shared object of its own links with libitapi (-litapi)
 * only if it calls one of them.
 */

/** Name of a status, such as "RI_ERR_BUSY"; never NULL. @param status any value @return text */
const char *ri_status_name(enum ri_status status);
/** Name of a completion status; never NULL. @param status any value @return text */
const char *ri_wc_status_name(enum ri_wc_status status);

/** @} */

/**
 * @defgroup rnicpi_work Work requests and completions
 * @{
 */

/**
 * Kind of work [RI 3.1]. The same value comes back in ri_wc::opcode.
 *
 * Two rulings hold on every adapter:
 * - A Read of length 0 names no memory, so its keys are not checked. The right of the peer's queue pair
 *   (RI_ACCESS_REMOTE_READ) is checked, and without it the Read fails as a longer one does.
 * - A Send with RI_WR_INVALIDATE is refused as if its key were wrong, unless the peer's queue pair has
 *   RI_ACCESS_REMOTE_READ or RI_ACCESS_REMOTE_WRITE. RI_ACCESS_REMOTE_ATOMIC alone is not enough.
 */
enum ri_opcode {
	RI_OP_NONE = 0,   /**< Never posted. */
	RI_OP_SEND,       /**< Send; with invalidate if RI_WR_INVALIDATE, see above. */
	RI_OP_RDMA_WRITE, /**< RDMA Write. */
	RI_OP_RDMA_READ,  /**< RDMA Read; with RI_WR_INVALIDATE its end invalidates the sink. */
	RI_OP_FETCH_ADD,  /**< Atomic fetch and add, 64 bits. */
	RI_OP_CMP_SWAP,   /**< Atomic compare and swap, 64 bits. */
	RI_OP_BIND_MW,   /**< Bind a window. A narrow one that is bound fails with RI_WC_MW_BIND. */
	RI_OP_FAST_REG,  /**< Fast registration of a reserved STag (privileged). */
	RI_OP_LOCAL_INV, /**< Invalidate the STag of a local window; succeeds if it is not bound. */
	RI_OP_INV_MR,    /**< Invalidate the STag of a local region (privileged). */
	RI_OP_SEND_UD,   /**< Datagram. */
	RI_OP_RECV,      /**< Receive, RC. */
	RI_OP_RECV_UD,   /**< Receive, UD. */
	RI_OP_RECV_WRITE, /**< Completion only: a receive taken by the immediate data of an RDMA Write. */
	RI_OP_COUNT       /**< Number of values; not an opcode. */
};

/** Name of an opcode; never NULL. @param opcode any value @return text */
const char *ri_opcode_name(enum ri_opcode opcode);

/** Flags of a work request [RI 3.1], [RI 3.2]. */
enum ri_wr_flag {
	RI_WR_SIGNALED = 1u << 0,   /**< Success makes a completion. */
	RI_WR_NOTIFY = 1u << 1,     /**< Its completion counts as solicited on this side. */
	RI_WR_SOLICITED = 1u << 2,  /**< Send: the peer's receive completes as solicited. */
	RI_WR_READ_FENCE = 1u << 3, /**< Start only after all earlier Reads and atomics ended. */
	RI_WR_LOCAL_FENCE =
		1u << 4,            /**< Invalidate: start only after all earlier requests ended. */
	RI_WR_INVALIDATE = 1u << 5, /**< Send, Read: see RI_OP_SEND, RI_OP_RDMA_READ. */
	RI_WR_COALESCE = 1u << 6,   /**< Hint: may wait until a request without it, or flush_sq. */
	RI_WR_BIND_RELATIVE = 1u << 7, /**< Bind, fast register: the peer addresses it from 0. */
	/**
	 * Send, Write, datagram: the post itself reads the segments, by address; their STags and rights are not looked at,
	 * and the memory is free when the post returns. Their sum is at most ri_qp_init::max_inline [RI 10.49].
	 */
	RI_WR_INLINE = 1u << 8,
	/** Send, Write, datagram: ri_wr::imm goes with it; not with RI_WR_INVALIDATE [RI 10.50]. */
	RI_WR_IMMEDIATE = 1u << 9
};

/** A segment: a piece of local memory. */
struct ri_sge {
	uint64_t addr;   /**< Virtual address; in a zero-based region, bytes from its start. */
	uint32_t length; /**< Bytes; with 0 neither address nor STag is checked. */
	uint32_t stag;   /**< STag (L_Key); 0 is the direct STag where claimed. */
};

/** Far end of an RDMA Write, Read or atomic. */
struct ri_wr_remote {
	uint64_t addr;     /**< Tagged offset: a virtual address of the peer, or octets from 0. */
	uint32_t stag;     /**< STag (R_Key) of the peer. */
	uint32_t reserved; /**< 0. */
	uint64_t operand;  /**< FetchAdd: addend. CmpSwap: the value compared with. */
	uint64_t swap;     /**< CmpSwap: the new value. */
};

/** Input of RI_OP_BIND_MW. */
struct ri_wr_bind {
	uint32_t mw_stag;  /**< Window: index in the high 24 bits, new key in the low 8. */
	uint32_t mr_stag;  /**< Region it opens. */
	uint64_t addr;     /**< Virtual address of the first byte. */
	uint64_t length;   /**< Bytes, at least 1; 0 unbinds a wide window. */
	uint32_t access;   /**< RI_ACCESS_REMOTE_* bits; none opens it to no peer. */
	uint32_t reserved; /**< 0. */
};

/** Input of RI_OP_BIND_MW of a wide window, where ri_rnic_attr::mw_wide_stag_returned is claimed [RI 5.6.5]. */
struct ri_wr_bind_returning {
	struct ri_wr_bind
		bind;   /**< As ri_wr::u.bind; the low 8 bits of mw_stag count for nothing. */
	uint32_t *stag; /**< Where a post that succeeds stores the STag of the window; not NULL. */
};

/** Input of RI_OP_FAST_REG. */
struct ri_wr_fast_reg {
	uint32_t stag;           /**< Region: index and new key. */
	uint32_t access;         /**< RI_ACCESS_* bits. */
	uint64_t addr;           /**< Virtual base; ignored if RI_WR_BIND_RELATIVE. */
	uint64_t length;         /**< Bytes of the region. */
	const uint64_t *pages;   /**< Addresses of the elements, borrowed for the call. */
	uint32_t num_pages;      /**< Elements in @ref pages, 1 to ri_rnic_attr::max_pbl. */
	uint32_t page_size;      /**< Bytes of each element; not used with @ref lengths. */
	uint32_t fbo;            /**< Offset of the first byte in the first element, bytes. */
	uint32_t reserved;       /**< 0. */
	const uint32_t *lengths; /**< Bytes of each element where they vary, borrowed; or NULL. */
};

/** Input of RI_OP_SEND_UD. */
struct ri_wr_ud {
	uint32_t ah;   /**< Id of the address handle, as ri_ah_ops::create gave it. */
	uint32_t qpn;  /**< Queue pair number of the receiver, 24 bits. */
	uint32_t qkey; /**< Q_Key of the receiver. */
};

/** One request for a send queue. Borrowed for the call of ri_fast_ops::post_sq; nothing in it is kept. */
struct ri_wr {
	uint64_t wr_id;           /**< Comes back in ri_wc::wr_id. */
	const struct ri_sge *sgl; /**< Local segments, in order; NULL if num_sge is 0. */
	uint16_t num_sge; /**< Segments in @ref sgl, up to the queue pair's limit for the opcode. */
	uint8_t opcode;   /**< An enum ri_opcode that a send queue takes. */
	uint8_t reserved; /**< 0. */
	uint32_t flags;   /**< RI_WR_* bits. */
	uint32_t inv_stag; /**< INVALIDATE: STag of the peer. LOCAL_INV, INV_MR: a local STag. */
	uint32_t imm;      /**< IMMEDIATE: four octets for the peer, as they are in memory. */
	/** What only some opcodes have. */
	union {
		struct ri_wr_remote remote;     /**< RDMA_WRITE, RDMA_READ, FETCH_ADD, CMP_SWAP. */
		struct ri_wr_bind bind;         /**< BIND_MW. */
		struct ri_wr_fast_reg fast_reg; /**< FAST_REG. */
		struct ri_wr_ud ud;             /**< SEND_UD. */
		struct ri_wr_bind_returning returning; /**< BIND_MW of a wide window, see there. */
	} u;                                           /**< By opcode. */
};

/** One request for a receive queue. Borrowed for the call; nothing in it is kept. */
struct ri_recv_wr {
	uint64_t wr_id;           /**< Comes back in ri_wc::wr_id. */
	const struct ri_sge *sgl; /**< Local segments, in order; NULL if num_sge is 0. */
	uint16_t num_sge;         /**< Segments in @ref sgl, up to ri_qp_init::max_recv_sge. */
	uint16_t reserved;        /**< 0. */
	uint32_t flags;           /**< RI_WR_NOTIFY or 0. */
};

/** Flags of a completion. */
enum ri_wc_flag {
	RI_WC_SOLICITED =
		1u
		<< 0, /**< Solicited: its request or message said so, or it is an error [RI 7.3]. */
	RI_WC_INVALIDATED = 1u << 1, /**< This request invalidated ri_wc::inv_stag. */
	RI_WC_RECEIVE = 1u << 2,     /**< It is of a receive. */
	RI_WC_GRH = 1u << 3,         /**< UD: the first 40 bytes hold a routing header. */
	RI_WC_IMMEDIATE = 1u << 4    /**< A receive: ri_wc::imm came with the message. */
};

/** One completion. With a status other than success only wr_id, qp_ctx, opcode and status are valid [RI 3.3.2]. */
struct ri_wc {
	uint64_t wr_id;  /**< From the request. */
	uint64_t qp_ctx; /**< Context of the queue pair, as given to its creation. */
	uint32_t
		byte_len; /**< Bytes received, or written (RECV_WRITE); of a request, the sum of its segments. */
	uint32_t inv_stag;    /**< With RI_WC_INVALIDATED: that STag. */
	uint8_t status;       /**< An enum ri_wc_status. */
	uint8_t opcode;       /**< An enum ri_opcode. */
	uint8_t flags;        /**< RI_WC_* flags. */
	uint8_t reserved;     /**< 0. */
	uint32_t detail;      /**< For logs: a Terminate code, an errno or the like; 0 = none. */
	uint32_t src_qpn;     /**< UD: queue pair number of the sender. */
	uint32_t imm;         /**< With RI_WC_IMMEDIATE: the four octets, as the peer gave them. */
	uint8_t src_addr[16]; /**< UD: address (GID) of the sender. */
};

/** @} */

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* RNICPI_TYPES_H */
