/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/**
 * @file rnicpi_types.h
 * @brief Values that cross the provider interface: status, work requests, completions.
 *
 * Plain data only: no entry points, no pointers to objects. With rnicpi_attr.h (the profile and all
 * attributes) and rnicpi_event.h, which it includes, it may be used by the access layers, by providers and by what certifies providers. C99, no GLib.
 *
 * References: RDMAC verbs (draft-hilland-rddp-verbs-00), InfiniBand 1.2 verbs ("IB"); [RI 2.1] and
 * the like are paragraphs of the book on this interface, in doc/spec.
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
 * @{
 */

#if defined(__GNUC__)
/** A result that the caller must look at. */
#define RI_MUST_CHECK __attribute__((warn_unused_result))
#else
#define RI_MUST_CHECK
#endif

/**
 * @defgroup rnicpi_status Status and text
 * @{
 */

/** What a call of the interface answers. A call that fails has changed nothing [RI 2.1.1]. */
enum ri_status {
	RI_SUCCESS = 0,        /**< Done. */
	RI_ERR_INVALID_ARG,    /**< A value is malformed or outside its range. */
	RI_ERR_INVALID_HANDLE, /**< An object or id is not there, or of another kind. */
	RI_ERR_INVALID_STATE,  /**< The state table has no such move. */
	RI_ERR_RESOURCES,      /**< Memory, descriptors or keys ran out; may succeed later. */
	RI_ERR_LIMIT,          /**< Beyond what the profile announces. */
	RI_ERR_BUSY,           /**< Other objects still depend on this one. */
	RI_ERR_UNSUPPORTED,    /**< The profile does not claim this. */
	RI_ERR_QUEUE_FULL,     /**< No free slot in the work queue. */
	RI_ERR_NOT_EMPTY,      /**< ri_fast_ops::arm_cq: entries are present, nothing was armed. */
	RI_ERR_ACCESS,         /**< The process lacks the right to that memory. */
	RI_ERR_ADDRESS,        /**< The memory range wraps or is not mapped. */
	RI_ERR_PERMISSION,     /**< Policy or privilege forbids it. */
	RI_ERR_IN_USE,         /**< Port or service id is taken. */
	RI_ERR_NO_ROUTE,       /**< No way to that address from here. */
	RI_ERR_STILL_FLUSHING, /**< Error to Idle before the flush is finished. */
	RI_ERR_TIME_WAIT,      /**< The transport still remembers the old connection. */
	RI_ERR_TIMEOUT,        /**< The time allowed has passed. */
	RI_ERR_INTERRUPTED,    /**< A signal handler ran while parked. */
	RI_ERR_PROTOCOL,       /**< The peer broke the protocol. */
	RI_ERR_NO_DEVICE,      /**< No adapter of that name. */
	RI_ERR_VERSION,        /**< Major versions of the interface differ. */
	RI_ERR_PROVIDER,       /**< Claims and entry points of a provider disagree. */
	RI_ERR_FATAL,          /**< The adapter failed beyond repair. */
	RI_STATUS_COUNT        /**< Number of values; not a status. */
};

/** How a work request ended [RI 3.3]. */
enum ri_wc_status {
	RI_WC_SUCCESS = 0,        /**< Done. */
	RI_WC_FLUSHED,            /**< The QP left RTS before the request was done. */
	RI_WC_LOCAL_LENGTH,       /**< Receive too small, or the sum of lengths too large. */
	RI_WC_LOCAL_QP,           /**< Malformed request, ORD 0, queue pair failed. */
	RI_WC_LOCAL_PROTECTION,   /**< STag, bounds, rights, PD or wrap of a local segment. */
	RI_WC_LOCAL_INVALIDATE,   /**< An arriving Send named an STag that cannot be invalidated. */
	RI_WC_MW_BIND,            /**< Bind, or invalidation of a window, failed. */
	RI_WC_LOCAL_MM,           /**< Fast registration, or invalidation of a region, failed. */
	RI_WC_BAD_RESPONSE,       /**< The responder answered nonsense (IB). */
	RI_WC_REMOTE_ACCESS,      /**< The responder refused the access. */
	RI_WC_REMOTE_INVALID_REQ, /**< The responder cannot do such a request. */
	RI_WC_REMOTE_OPERATION,   /**< The responder failed while doing it. */
	RI_WC_TRANSPORT,          /**< Retries exhausted, or the stream was lost. */
	RI_WC_RNR,                /**< The receiver never had a buffer (IB). */
	RI_WC_STATUS_COUNT        /**< Number of values; not a status. */
};

/*
 * The functions below are exported by libitapi, so a provider that is a shared object of its own links with it
 * (-litapi) if it calls one of them, and needs nothing else of it.
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
 * Two rulings that hold on every adapter:
 * - A Read of no octets names no memory, so no key is checked; the right of the peer's queue pair is
 *   (RI_ACCESS_REMOTE_READ). While it is missing, the Read fails as one of more octets does.
 * - A Send with RI_WR_INVALIDATE is refused, as one that names a wrong key, unless the peer's queue pair has
 *   RI_ACCESS_REMOTE_READ or RI_ACCESS_REMOTE_WRITE. RI_ACCESS_REMOTE_ATOMIC alone does not suffice.
 */
enum ri_opcode {
	RI_OP_NONE = 0,   /**< Never posted. */
	RI_OP_SEND,       /**< Send; with invalidate if RI_WR_INVALIDATE, see above. */
	RI_OP_RDMA_WRITE, /**< RDMA Write. */
	RI_OP_RDMA_READ,  /**< RDMA Read; invalidates its sink at the end if RI_WR_INVALIDATE. */
	RI_OP_FETCH_ADD,  /**< Atomic fetch and add, 64 bits. */
	RI_OP_CMP_SWAP,   /**< Atomic compare and swap, 64 bits. */
	RI_OP_BIND_MW, /**< Bind a memory window. One that is bound must be unbound first: RI_WC_MW_BIND. */
	RI_OP_FAST_REG, /**< Fast registration of an allocated STag (privileged). */
	RI_OP_LOCAL_INV, /**< Invalidate the STag of a window of ours. One that is not bound: success, no change. */
	RI_OP_INV_MR,  /**< Invalidate the STag of a region of ours (privileged). */
	RI_OP_SEND_UD, /**< Datagram. */
	RI_OP_RECV,    /**< Receive, RC. */
	RI_OP_RECV_UD, /**< Receive, UD. */
	RI_OP_COUNT    /**< Number of values; not an opcode. */
};

/** Name of an opcode; never NULL. @param opcode any value @return text */
const char *ri_opcode_name(enum ri_opcode opcode);

/** Flags of a work request. */
enum ri_wr_flag {
	RI_WR_SIGNALED = 1u << 0,   /**< Success makes a completion. */
	RI_WR_NOTIFY = 1u << 1,     /**< Its completion counts as solicited here. */
	RI_WR_SOLICITED = 1u << 2,  /**< Send: the matching receive counts as solicited there. */
	RI_WR_READ_FENCE = 1u << 3, /**< Start only after all earlier Reads and atomics ended. */
	RI_WR_LOCAL_FENCE =
		1u << 4,            /**< Invalidate: start only after all earlier requests ended. */
	RI_WR_INVALIDATE = 1u << 5, /**< Send, Read: see RI_OP_SEND, RI_OP_RDMA_READ. */
	RI_WR_COALESCE = 1u << 6,   /**< Hint: may be held back until a request without it. */
	RI_WR_BIND_RELATIVE = 1u << 7 /**< Bind, fast register: the peer counts from 0. */
};

/** A piece of local memory. */
struct ri_sge {
	uint64_t addr;   /**< Virtual address; offset from 0 in a zero-based region. */
	uint32_t length; /**< Octets; 0 is not validated. */
	uint32_t stag;   /**< STag (L_Key); 0 is the direct STag where claimed. */
};

/** Far end of an RDMA Write, Read or atomic. */
struct ri_wr_remote {
	uint64_t addr;     /**< Tagged offset (virtual address or offset from 0). */
	uint32_t stag;     /**< STag (R_Key) of the peer. */
	uint32_t reserved; /**< 0. */
	uint64_t operand;  /**< FetchAdd: addend. CmpSwap: the value compared with. */
	uint64_t swap;     /**< CmpSwap: the new value. */
};

/** Input of RI_OP_BIND_MW. */
struct ri_wr_bind {
	uint32_t mw_stag;  /**< Window: index in the high 24 bits, new key in the low 8. */
	uint32_t mr_stag;  /**< Region it opens. */
	uint64_t addr;     /**< First octet, virtual address. */
	uint64_t length;   /**< Octets, at least 1. */
	uint32_t access;   /**< RI_ACCESS_REMOTE_* bits, at least one. */
	uint32_t reserved; /**< 0. */
};

/** Input of RI_OP_FAST_REG. */
struct ri_wr_fast_reg {
	uint32_t stag;           /**< Region: index and new key. */
	uint32_t access;         /**< RI_ACCESS_* bits. */
	uint64_t addr;           /**< Virtual base; ignored if RI_WR_BIND_RELATIVE. */
	uint64_t length;         /**< Octets. */
	const uint64_t *pages;   /**< Element addresses, borrowed for the call. */
	uint32_t num_pages;      /**< Elements in @ref pages. */
	uint32_t page_size;      /**< Size of each element, octets. */
	uint32_t fbo;            /**< Offset of the first octet in the first element. */
	uint32_t reserved;       /**< 0. */
	const uint32_t *lengths; /**< Sizes of the elements where they vary, borrowed; or NULL. */
};

/** Input of RI_OP_SEND_UD. */
struct ri_wr_ud {
	uint32_t ah;   /**< Address handle id given by its creation. */
	uint32_t qpn;  /**< Queue pair number of the receiver. */
	uint32_t qkey; /**< Q_Key. */
};

/** One request for a send queue. Borrowed for the call of post_sq; nothing in it is kept. */
struct ri_wr {
	uint64_t wr_id;           /**< Comes back in ri_wc::wr_id. */
	const struct ri_sge *sgl; /**< Local segments, in order; NULL if num_sge is 0. */
	uint16_t num_sge;         /**< Segments in @ref sgl. */
	uint8_t opcode;           /**< An enum ri_opcode that a send queue takes. */
	uint8_t reserved;         /**< 0. */
	uint32_t flags;           /**< RI_WR_* bits. */
	uint32_t inv_stag; /**< Send + INVALIDATE: the peer's STag. LOCAL_INV, INV_MR: our own. */
	/** What only some opcodes have. */
	union {
		struct ri_wr_remote remote;     /**< RDMA_WRITE, RDMA_READ, FETCH_ADD, CMP_SWAP. */
		struct ri_wr_bind bind;         /**< BIND_MW. */
		struct ri_wr_fast_reg fast_reg; /**< FAST_REG. */
		struct ri_wr_ud ud;             /**< SEND_UD. */
	} u;                                    /**< By opcode. */
};

/** One request for a receive queue. Borrowed for the call; nothing in it is kept. */
struct ri_recv_wr {
	uint64_t wr_id;           /**< Comes back in ri_wc::wr_id. */
	const struct ri_sge *sgl; /**< Local segments, in order; NULL if num_sge is 0. */
	uint16_t num_sge;         /**< Segments in @ref sgl. */
	uint16_t reserved;        /**< 0. */
	uint32_t flags;           /**< RI_WR_NOTIFY or 0. */
};

/** Flags of a completion. */
enum ri_wc_flag {
	RI_WC_SOLICITED =
		1u << 0, /**< Counts as solicited (request or message said so, or error). */
	RI_WC_INVALIDATED = 1u << 1, /**< ri_wc::inv_stag was invalidated by this request. */
	RI_WC_RECEIVE = 1u << 2,     /**< From a receive queue. */
	RI_WC_GRH = 1u << 3          /**< UD: the first 40 octets hold a routing header. */
};

/** One completion. With a status other than success only wr_id, qp_ctx, opcode and status count. */
struct ri_wc {
	uint64_t wr_id;    /**< From the request. */
	uint64_t qp_ctx;   /**< Context of the queue pair, as given to its creation. */
	uint32_t byte_len; /**< Octets received; for send queue work the posted total. */
	uint32_t inv_stag; /**< With RI_WC_INVALIDATED. */
	uint8_t status;    /**< An enum ri_wc_status. */
	uint8_t opcode;    /**< An enum ri_opcode. */
	uint8_t flags;     /**< RI_WC_* flags. */
	uint8_t reserved;  /**< 0. */
	uint32_t detail;  /**< Provider's own code for people (Terminate code, errno); 0 if none. */
	uint32_t src_qpn; /**< UD: queue pair number of the sender. */
	uint32_t reserved2;   /**< 0. */
	uint8_t src_addr[16]; /**< UD: address (GID) of the sender. */
};

/** @} */

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* RNICPI_TYPES_H */
