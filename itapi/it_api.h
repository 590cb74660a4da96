/*
 * SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 * SPDX-FileCopyrightText: the itapi authors
 */
#ifndef IT_API_H
#define IT_API_H

/**
 * @file
 * @brief The Interconnect Transport API, Issue 2.1: the whole application interface of itapi.
 */

/**
 * @defgroup itapi IT-API 2.1
 * @brief The application interface: adapters, endpoints, events, memory, data transfer.
 *
 * The page of a call says what is special about it. What holds for all calls is said here. "Clause" cites the
 * book on IT-API: [IT 4] is a chapter, [IT 4.1] a section, R-nn a ruling where the standard leaves room.
 *
 * @section itapi_objects Objects
 *
 * An adapter (IA) has protection zones, event dispatchers and listens; a protection zone has endpoints, memory
 * and shared receive queues. it_ia_free() frees them all. A program that frees them one by one frees RMRs first,
 * then endpoints (disconnected, their completions taken), S-RQs, LMRs, listens, EVDs and zones.
 *
 * @section itapi_results Results of every call
 *
 * A call that does not return #IT_SUCCESS has changed nothing visible; handles that it was to create are
 * #IT_NULL_HANDLE, and other outputs are not specified. it_lmr_modify() alone may leave a change.
 *
 * The "Also" line of a page names those of these results that the call may give, besides the ones that it lists:
 * - #IT_ERR_IA_CATASTROPHE: the adapter has failed and will not recover [IT 1.6]. Every call on it says so, except
 *   those that free, detach a callback, set or get a consumer context, or query what the library itself knows.
 *   Events that were queued before can still be dequeued; then free the objects.
 * - #IT_ERR_ABORT: another thread is freeing the object or its adapter, or the provider failed in a way that no
 *   other status describes [IT 1.7].
 *
 * Arguments are checked from left to right, and the first failure is the result (it_status_t). A handle that was
 * never one, is freed, or is of another kind gives the IT_ERR_INVALID_ status of the expected kind; so does one of
 * another adapter, since objects that are used together belong to one adapter. What the transport of an adapter
 * cannot do gives #IT_ERR_OP_NOT_SUPPORTED; it_ia_query() and itx_ia_query_support() report that beforehand.
 *
 * @section itapi_masks Masks
 *
 * A query takes any union of its bits, or the ALL bit alone, and does not write the members that were not asked
 * for. A change takes modifiable bits only and makes all changes or none.
 *
 * @section itapi_threads Threads
 *
 * Every call may run in several threads at once, also on one object [IT 1.11]. To free an object that another call
 * uses is an error of the application; it gives a status, not a crash. No call is safe in a signal handler, and
 * the library installs no signal handler; its own threads have all signals blocked [IT 1.12]. After fork() every
 * handle that the child inherited is invalid there; it may open adapters of its own [IT 1.13].
 *
 * A thread can be cancelled only while it_evd_wait() or itx_aevd_wait() sleeps, and then nothing of the wait remains. Every
 * other call runs to its end first. The type of cancellation must be deferred, which is the default [IT 1.19]. Each call
 * works on a thread with a stack of 32 KiB [IT 1.20].
 *
 * @section itapi_blocking Blocking
 *
 * - Class F: normally no system call; it never sleeps.
 * - Class M: at most a bounded round trip to the provider or the kAL.
 * - Class W: it may sleep for the network, or for a time that the application has set.
 *
 * A callback of an EVD may make calls of classes F and M, and those of class W with a timeout of 0.
 *
 * @section itapi_memory Memory and units
 *
 * What a pointer argument points to is copied before the call returns. Only the memory that segments describe
 * stays in use, until its completion. Times are microseconds, unsigned, 64 bits; #IT_TIMEOUT_INFINITE has no end.
 * Ports and service ids are in network byte order; contexts, RDMA addresses and all other integers in host order.
 * Lengths of memory are in bytes, lengths of messages and private data in octets of the wire.
 *
 * Clause: [IT 1], [IT 2].
 * @{
 */

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

/**
 * @name Choice of bindings
 *
 * Three names changed their parameters over the issues of the standard: it_lmr_create(),
 * it_rmr_create() and it_rmr_bind(). A source file picks the issue it was written for *before* it
 * includes this header; without a choice it gets Issue 1.0. With both macros Issue 2.0 wins. The
 * suffixed functions behind the names are always there, so objects built with different choices
 * link together. Clause: [IT 15.12].
 *
 * | defined                   | it_lmr_create   | it_rmr_create   | it_rmr_bind   | member   |
 * |---------------------------|-----------------|-----------------|---------------|----------|
 * | nothing                   | it_lmr_create10 | it_rmr_create10 | it_rmr_bind10 | `bound`  |
 * | ITAPI_ENABLE_V20_BINDINGS | it_lmr_create20 | it_rmr_create20 | it_rmr_link   | `linked` |
 * | ITAPI_ENABLE_V21_BINDINGS | it_lmr_create21 | it_rmr_create20 | it_rmr_link   | `linked` |
 * @{
 */
#if defined(ITAPI_ENABLE_V20_BINDINGS) || defined(ITAPI_ENABLE_V21_BINDINGS)
#undef ITAPI_ENABLE_V10_BINDINGS
#elif !defined(ITAPI_ENABLE_V10_BINDINGS)
/** Issue 1.0 is in force: nothing newer was asked for. The header sets and clears this itself. */
#define ITAPI_ENABLE_V10_BINDINGS
#endif

#if defined(ITAPI_ENABLE_V20_BINDINGS)
/** Registers memory, as the chosen issue declares it. */
#define it_lmr_create it_lmr_create20
/** Creates an RMR, as the chosen issue declares it. */
#define it_rmr_create it_rmr_create20
/** Links an RMR to memory, as the chosen issue declares it. */
#define it_rmr_bind it_rmr_link
#elif defined(ITAPI_ENABLE_V21_BINDINGS)
/** Registers memory, as the chosen issue declares it. */
#define it_lmr_create it_lmr_create21
/** Creates an RMR, as the chosen issue declares it. */
#define it_rmr_create it_rmr_create20
/** Links an RMR to memory, as the chosen issue declares it. */
#define it_rmr_bind   it_rmr_link
#else
/** Registers memory, as the chosen issue declares it. */
#define it_lmr_create it_lmr_create10
/** Creates an RMR, as the chosen issue declares it. */
#define it_rmr_create it_rmr_create10
/** Links an RMR to memory, as the chosen issue declares it. */
#define it_rmr_bind   it_rmr_bind10
#endif
/** @} */

/**
 * @name Names of Issue 1.0
 *
 * Spellings of Issue 1.0 that later issues changed without changing the meaning. They work in
 * every mode. They are plain macros, so they also rewrite any identifier of the application that is
 * spelt the same way. Clause: [IT 15.12].
 * @{
 */
/** Member rdma_read_ird of it_rc_only_attributes_t. */
#define rdma_read_inflight_incoming rdma_read_ird
/** Member rdma_read_ord of it_rc_only_attributes_t. */
#define rdma_read_inflight_outgoing rdma_read_ord
/** Member ird_ord_ia_support of it_ia_info_t. */
#define ird_support ird_ord_ia_support
/** Member ird_ord_ia_support of it_ia_info_t. */
#define ord_support ird_ord_ia_support
/** Function it_make_rdma_addr_absolute(). */
#define it_make_rdma_addr it_make_rdma_addr_absolute
/** Function it_lmr_flush_to_mem(). */
#define it_lmr_sync_rdma_read it_lmr_flush_to_mem
/** Function it_lmr_refresh_from_mem(). */
#define it_lmr_sync_rdma_write it_lmr_refresh_from_mem
/** Function it_rmr_unlink(). */
#define it_rmr_unbind it_rmr_unlink
/** @} */

/*
 * Byte order of ports and service ids. Two macros of the standard would let a source file say "host
 * order", but no macro can change what a compiled library does, so asking for it is an error here.
 * The ABI is network order. Clause: [IT 9.1], R-22.
 */
#if defined(ITAPI_IANA_PORT_HOST_BYTE_ORDER)
#error "ports are in network byte order: remove ITAPI_IANA_PORT_HOST_BYTE_ORDER, use htons()"
#endif
#if defined(ITAPI_SERVICE_ID_HOST_BYTE_ORDER)
#error "ids are in network byte order: remove ITAPI_SERVICE_ID_HOST_BYTE_ORDER, use it_hton64()"
#endif

/**
 * @name Platform
 *
 * What the standard leaves to it_api_os_specific.h. IT_32BIT, when defined, makes it_length_t 32
 * bits wide. The library and everything that calls it must agree on it, since segments and parameters
 * have another shape then: build the library with it too (`meson setup -Dc_args=-DIT_32BIT`). The linker
 * checks that they do: the name under which it_ia_create() is called differs by width.
 * @{
 */
#ifndef _IT_API_OS_SPECIFIC_H_
/** Says that the platform part is present; it needs no header of its own here. */
#define _IT_API_OS_SPECIFIC_H_
/** No address. */
#define IT_NO_ADDR NULL
/** Room for the name of an adapter, the terminating zero included (bytes). */
#define IT_INTERFACE_NAME_SIZE 128
#endif

#ifndef IN
/** Marks a parameter that the function reads. */
#define IN
#endif
#ifndef OUT
/** Marks a parameter through which the function answers. */
#define OUT
#endif

#if defined(__GNUC__)
/** Lets C99 have a union without a name, as C11 and C++ do by themselves; for it_path_t only. */
#define ITX_EXTENSION __extension__
#else
/** Lets C99 have a union without a name, as C11 and C++ do by themselves; for it_path_t only. */
#define ITX_EXTENSION
#endif
/** @} */

/**
 * @name Limits
 * @{
 */
/** Room for private data in a connection event (bytes). Adapters carry less: see it_ia_info_t. */
#define IT_MAX_PRIV_DATA 256
/** Longest VIA discriminator (bytes). */
#define IT_MAX_VIA_DISC_LEN 64
/** Longest VIA host address (bytes). */
#define IT_MAX_VIA_ADDR_LEN 64
/** Waits without a limit (a time in microseconds, as all times of this interface). */
#define IT_TIMEOUT_INFINITE ((uint64_t)(-1))
/** Threshold of an EVD that notifies by the flags of each request instead of by count. */
#define IT_THRESHOLD_DISABLE 0
/** Hard high watermark of an endpoint that has none. */
#define IT_HARD_HI_WATERMARK_DISABLE ((size_t)-1)
/** The bits of an event number that name its stream. */
#define IT_EVENT_STREAM_MASK 0xff000
/** @} */

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/**
 * @defgroup itapi_util Common things and helpers
 * @ingroup itapi
 * @brief Status codes, handles, and small helpers that every program needs.
 * @{
 */
/**
 * Result of a call.
 *
 * #IT_SUCCESS means done, or accepted where the work goes on in the background; then an event reports the end. Every
 * other value means that nothing visible has changed, see @ref itapi_results. A call checks its arguments from left
 * to right, handles first, then flags and masks, then the state of the object, then limits and resources, and
 * returns the first failure. The numbers are those of Issue 2.1. Clause: [IT 1.1] to [IT 1.8], [IT 18].
 */
typedef enum {
	/** Done, or accepted. */
	IT_SUCCESS = 0,
	/**
	 * Another thread is freeing the object or its adapter, or the provider failed in a way that no other
	 * status describes.
	 */
	IT_ERR_ABORT = 1,
	/** The process itself may not read or write the pages as the asked privileges would. */
	IT_ERR_ACCESS = 2,
	/** The address range wraps around or is not mapped. */
	IT_ERR_ADDRESS = 3,
	/** An aggregate EVD is given where only a simple one is allowed, or as member of another. */
	IT_ERR_AEVD_NOT_ALLOWED = 4,
	/** The adapter has its EVD for affiliated asynchronous events already. */
	IT_ERR_ASYNC_AFF_EVD_EXISTS = 5,
	/** The adapter has its EVD for unaffiliated asynchronous events already. */
	IT_ERR_ASYNC_UNAFF_EVD_EXISTS = 6,
	/** A callback is attached to the EVD. */
	IT_ERR_CALLBACK_EXISTS = 7,
	/**
	 * The transport is not yet finished with the endpoint, or the adapter's endpoints serve one connection only.
	 */
	IT_ERR_CANNOT_RESET = 8,
	/** The connection qualifier has a listen already. */
	IT_ERR_CONN_QUAL_BUSY = 9,
	/** A narrow RMR is linked through the endpoint. */
	IT_ERR_EP_BUSY = 10,
	/** The transport keeps the last connection in time-wait. */
	IT_ERR_EP_TIMEWAIT = 11,
	/** Something still feeds the EVD. */
	IT_ERR_EVD_BUSY = 12,
	/** A thread waits on the EVD. */
	IT_ERR_EVD_WAIT = 13,
	/** The EVD has no room for a software event. */
	IT_ERR_EVD_QUEUE_FULL = 14,
	/** A pointer that must not be NULL is NULL. */
	IT_ERR_FAULT = 15,
	/** The hard high watermark is not supported or cannot work. */
	IT_ERR_HARD_HI_WATERMARK = 16,
	/** The adapter failed beyond recovery; only freeing works from here on. */
	IT_ERR_IA_CATASTROPHE = 17,
	/** A signal handler ran during the wait; nothing was taken. */
	IT_ERR_INTERRUPT = 18,
	/** The addressing mode is unknown or not supported here. */
	IT_ERR_INVALID_ADDR_MODE = 19,
	/** The address does not fit: the sharing group, the mapping or the alignment. */
	IT_ERR_INVALID_ADDRESS = 20,
	/** Not the handle of an aggregate EVD of this adapter. */
	IT_ERR_INVALID_AEVD = 21,
	/** Not the handle of an address handle, or of another protection zone. */
	IT_ERR_INVALID_AH = 22,
	/** Connection attribute local_ack_timeout is out of range. */
	IT_ERR_INVALID_ATIMEOUT = 23,
	/** No such atomic operation. */
	IT_ERR_INVALID_ATOMIC_OP = 24,
	/** Connection attribute max_cm_retries is out of range. */
	IT_ERR_INVALID_CM_RETRY = 25,
	/** The connection flags are unknown, contradict each other or are not supported. */
	IT_ERR_INVALID_CN_EST_FLAGS = 26,
	/** The identifier of a connection request is dead, used up, or another endpoint's. */
	IT_ERR_INVALID_CN_EST_ID = 27,
	/** Not an EVD of the stream that connection events need, or of another adapter. */
	IT_ERR_INVALID_CONN_EVD = 28,
	/** The connection qualifier is malformed or of a kind not supported here. */
	IT_ERR_INVALID_CONN_QUAL = 29,
	/** No rule leads from what is given to what is wanted. */
	IT_ERR_INVALID_CONVERSION = 30,
	/** A flag is unknown or not allowed for the operation. */
	IT_ERR_INVALID_DTO_FLAGS = 31,
	/** Not the handle of an endpoint of this adapter. */
	IT_ERR_INVALID_EP = 32,
	/** An endpoint attribute is out of range or contradicts another. */
	IT_ERR_INVALID_EP_ATTR = 33,
	/** The datagram key is not allowed. */
	IT_ERR_INVALID_EP_KEY = 34,
	/** The endpoint is in a state that does not allow the call. */
	IT_ERR_INVALID_EP_STATE = 35,
	/** The endpoint is of the other kind (connected or datagram). */
	IT_ERR_INVALID_EP_TYPE = 36,
	/** Not the handle of an EVD. */
	IT_ERR_INVALID_EVD = 37,
	/** The EVD is in use in a way that excludes the call. */
	IT_ERR_INVALID_EVD_STATE = 38,
	/** No event stream has this number, or the EVD is of the wrong stream. */
	IT_ERR_INVALID_EVD_TYPE = 39,
	/** A flag is unknown or contradicts another. */
	IT_ERR_INVALID_FLAGS = 40,
	/** Not the handle of any object of this interface. */
	IT_ERR_INVALID_HANDLE = 41,
	/** Not the handle of an open adapter. */
	IT_ERR_INVALID_IA = 42,
	/** The I/O buffer list is malformed, too long or of a kind not supported here. */
	IT_ERR_INVALID_IOBL = 43,
	/** The length is zero or does not fit. */
	IT_ERR_INVALID_LENGTH = 44,
	/** Not the handle of a listen. */
	IT_ERR_INVALID_LISTEN = 45,
	/** Not the handle of an LMR of this adapter. */
	IT_ERR_INVALID_LMR = 46,
	/** Connection attribute local_cm_timeout is out of range. */
	IT_ERR_INVALID_LTIMEOUT = 47,
	/** The interface version asked for is not one that the library knows. */
	IT_ERR_INVALID_MAJOR_VERSION = 48,
	/** The mask has a bit that the call does not allow. */
	IT_ERR_INVALID_MASK = 49,
	/** The library knows the major version, but not this minor one. */
	IT_ERR_INVALID_MINOR_VERSION = 50,
	/** No adapter has this name. */
	IT_ERR_INVALID_NAME = 51,
	/** The network address is malformed or of a kind not usable here. */
	IT_ERR_INVALID_NETADDR = 52,
	/** More segments than the endpoint or S-RQ allows, or none where one is needed. */
	IT_ERR_INVALID_NUM_SEGMENTS = 53,
	/** The private data is longer than the adapter carries with this message. */
	IT_ERR_INVALID_PDATA_LENGTH = 54,
	/** The privileges contradict each other or what the memory allows. */
	IT_ERR_INVALID_PRIVS = 55,
	/** Not the handle of a protection zone, or not the one that the objects share. */
	IT_ERR_INVALID_PZ = 56,
	/** The queue size is zero or below what is queued. */
	IT_ERR_INVALID_QUEUE_SIZE = 57,
	/** The number of receives is below what is outstanding. */
	IT_ERR_INVALID_RECV_DTO = 58,
	/** Not an EVD of the data transfer stream of this adapter (receive side). */
	IT_ERR_INVALID_RECV_EVD = 59,
	/** The receive EVD has overflowed. */
	IT_ERR_INVALID_RECV_EVD_STATE = 60,
	/** Not an EVD of the data transfer stream of this adapter (request side). */
	IT_ERR_INVALID_REQ_EVD = 61,
	/** The request EVD has overflowed. */
	IT_ERR_INVALID_REQ_EVD_STATE = 62,
	/** Connection attribute retry_count is out of range. */
	IT_ERR_INVALID_RETRY = 63,
	/** Not the handle of an RMR of this adapter. */
	IT_ERR_INVALID_RMR = 64,
	/** Connection attribute rnr_retry_count is out of range. */
	IT_ERR_INVALID_RNR_RETRY = 65,
	/** The RMR type is unknown or not supported here. */
	IT_ERR_INVALID_RMR_TYPE = 66,
	/** Connection attribute remote_cm_timeout is out of range. */
	IT_ERR_INVALID_RTIMEOUT = 67,
	/** The EVD is not of the software event stream. */
	IT_ERR_INVALID_SOFT_EVD = 68,
	/** The local half of the path does not belong to this adapter. */
	IT_ERR_INVALID_SOURCE_PATH = 69,
	/** The adapter has no spigot with this number. */
	IT_ERR_INVALID_SPIGOT = 70,
	/** Not the handle of a shared receive queue of this adapter. */
	IT_ERR_INVALID_SRQ = 71,
	/** The size of the shared receive queue is zero or below what is outstanding. */
	IT_ERR_INVALID_SRQ_SIZE = 72,
	/** The threshold is above the queue size. */
	IT_ERR_INVALID_THRESHOLD = 73,
	/** No such status of a datagram service reply. */
	IT_ERR_INVALID_UD_STATUS = 74,
	/** Not the handle of a datagram service request, or one whose answer is outstanding. */
	IT_ERR_INVALID_UD_SVC = 75,
	/** The identifier of a datagram service request is dead or used up. */
	IT_ERR_INVALID_UD_SVC_REQ_ID = 76,
	/** The watermarks contradict each other or the size of the S-RQ. */
	IT_ERR_INVALID_WATERMARK = 77,
	/** An RMR is linked to the LMR. */
	IT_ERR_LMR_BUSY = 78,
	/** A file descriptor was asked for without a place to put it. */
	IT_ERR_MISMATCH_FD = 79,
	/** The consumer context was never set. */
	IT_ERR_NO_CONTEXT = 80,
	/** The process lacks the privilege. */
	IT_ERR_NO_PERMISSION = 81,
	/** The adapter, or this release, does not support the operation. */
	IT_ERR_OP_NOT_SUPPORTED = 82,
	/** More octets than one transfer may carry. */
	IT_ERR_PAYLOAD_SIZE = 83,
	/** The adapter carries no private data with this message. */
	IT_ERR_PDATA_NOT_SUPPORTED = 84,
	/** Privileged operations are not open to this process or endpoint. */
	IT_ERR_PRIV_OPS_UNAVAILABLE = 85,
	/** Something still lives in the protection zone. */
	IT_ERR_PZ_BUSY = 86,
	/** The EVD holds no event. */
	IT_ERR_QUEUE_EMPTY = 87,
	/** The range is not inside the memory region. */
	IT_ERR_RANGE = 88,
	/** Memory, descriptors, keys or provider objects ran out; a later try may succeed. */
	IT_ERR_RESOURCES = 89,
	/** Beyond the adapter: inbound RDMA Reads. */
	IT_ERR_RESOURCE_IRD = 90,
	/** Beyond the adapter: length of a memory region. */
	IT_ERR_RESOURCE_LMR_LENGTH = 91,
	/** Beyond the adapter: outbound RDMA Reads. */
	IT_ERR_RESOURCE_ORD = 92,
	/** Beyond the adapter: events in one EVD. */
	IT_ERR_RESOURCE_QUEUE_SIZE = 93,
	/** Beyond the adapter: outstanding receives. */
	IT_ERR_RESOURCE_RECV_DTO = 94,
	/** Beyond the adapter: outstanding requests. */
	IT_ERR_RESOURCE_REQ_DTO = 95,
	/** Beyond the adapter: segments of one RDMA Read. */
	IT_ERR_RESOURCE_RRSEG = 96,
	/** Beyond the adapter: segments of one receive. */
	IT_ERR_RESOURCE_RSEG = 97,
	/** Beyond the adapter: segments of one RDMA Write. */
	IT_ERR_RESOURCE_RWSEG = 98,
	/** Beyond the adapter: segments of one Send. */
	IT_ERR_RESOURCE_SSEG = 99,
	/** The soft high watermark is not supported or cannot work. */
	IT_ERR_SOFT_HI_WATERMARK = 100,
	/** An endpoint uses the shared receive queue. */
	IT_ERR_SRQ_BUSY = 101,
	/** The low watermark is above the size of the shared receive queue. */
	IT_ERR_SRQ_LOW_WATERMARK = 102,
	/** The adapter has no shared receive queues. */
	IT_ERR_SRQ_NOT_SUPPORTED = 103,
	/** The time ran out before the EVD notified; nothing was taken. */
	IT_ERR_TIMEOUT_EXPIRED = 104,
	/** The queue holds as many requests as it may; take a completion first. */
	IT_ERR_TOO_MANY_POSTS = 105,
	/** As many threads wait on the EVD as may (64). */
	IT_ERR_WAITER_LIMIT = 106
} it_status_t;

/** A boolean value. */
typedef enum {
	IT_FALSE = 0, /**< No. */
	IT_TRUE = 1   /**< Yes. */
} it_boolean_t;

#ifdef IT_32BIT
/** Length of memory, or offset into it (bytes). */
typedef uint32_t it_length_t;
/** Makes linking with a library for lengths of 64 bits fail. */
#define it_ia_create itx_ia_create_32bit
#else
/** Length of memory, or offset into it (bytes). */
typedef uint64_t it_length_t;
#endif

/**
 * Handle of any object; every typed handle converts to it.
 *
 * A handle is valid from the return of the call that made it to the entry of the call that frees
 * it, in this process only. The library never dereferences it as given: a stale, foreign or invented handle
 * gives the INVALID status of the expected kind. Clause: [IT 2.3].
 */
typedef void *it_handle_t;

/** Handle of an interface adapter (IA): an adapter opened by it_ia_create(). */
typedef struct it_ia_handle_s *it_ia_handle_t;

/** Handle of a protection zone (PZ): objects of one zone may be used together. */
typedef struct it_pz_handle_s *it_pz_handle_t;

/** Handle of an event dispatcher (EVD): a queue of events and the ways to be notified. */
typedef struct it_evd_handle_s *it_evd_handle_t;

/** Handle of an endpoint (EP): one end of a connection, or a place for datagrams. */
typedef struct it_ep_handle_s *it_ep_handle_t;

/** Handle of a listen: a connection qualifier at which requests arrive. */
typedef struct it_listen_handle_s *it_listen_handle_t;

/** Handle of a local memory region (LMR): registered memory of this process. */
typedef struct it_lmr_handle_s *it_lmr_handle_t;

/** Handle of a remote memory region (RMR): a revocable window onto an LMR. */
typedef struct it_rmr_handle_s *it_rmr_handle_t;

/** Handle of a shared receive queue (S-RQ). */
typedef struct it_srq_handle_s *it_srq_handle_t;

/** Handle of an address handle (AH): where a datagram goes. */
typedef struct it_addr_handle_s *it_addr_handle_t;

/** Handle of a datagram service request: asks where a service lives. */
typedef struct it_ud_svc_req_handle_s *it_ud_svc_req_handle_t;

/** No object: never a valid handle. */
#if defined(__cplusplus) && __cplusplus >= 201103L
#define IT_NULL_HANDLE nullptr
#else
#define IT_NULL_HANDLE ((it_handle_t)NULL)
#endif

/** Kind of object behind a handle, as it_get_handle_type() returns it. */
typedef enum {
	IT_HANDLE_TYPE_ADDR = 0,       /**< it_addr_handle_t */
	IT_HANDLE_TYPE_EP = 1,         /**< it_ep_handle_t */
	IT_HANDLE_TYPE_EVD = 2,        /**< it_evd_handle_t */
	IT_HANDLE_TYPE_IA = 3,         /**< it_ia_handle_t */
	IT_HANDLE_TYPE_LISTEN = 4,     /**< it_listen_handle_t */
	IT_HANDLE_TYPE_LMR = 5,        /**< it_lmr_handle_t */
	IT_HANDLE_TYPE_PZ = 6,         /**< it_pz_handle_t */
	IT_HANDLE_TYPE_RMR = 7,        /**< it_rmr_handle_t */
	IT_HANDLE_TYPE_UD_SVC_REQ = 8, /**< it_ud_svc_req_handle_t */
	IT_HANDLE_TYPE_SRQ = 9         /**< it_srq_handle_t */
} it_handle_type_enum_t;

/** What the application attaches to an object; the library does not look into it. */
typedef union {
	/** As a pointer. */
	void *ptr;
	/** As a number. */
	uint64_t index;
} it_context_t;

/**
 * Address of remote memory: virtual address or offset, as the region's mode says.
 *
 * An integer in host byte order. Exchange it with a peer in network order: it_hton64() before
 * sending, it_ntoh64() after receiving. Clause: [IT 8.1], R-25.
 */
typedef uint64_t it_rdma_addr_t;

/**
 * @brief Queries the kind of object that a handle names.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - Events: none.
 * - Clause: [IT 15.1.6]; [IT 2.3].
 *
 * @param[in] handle any handle
 * @param[out] type_of_handle the kind
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_HANDLE @p handle is NULL, freed, or never was a handle.
 * @retval IT_ERR_FAULT @p type_of_handle is NULL.
 * @see it_handle_type_name(), it_set_consumer_context()
 */
it_status_t it_get_handle_type(IN it_handle_t handle, OUT it_handle_type_enum_t *type_of_handle);

/**
 * @brief Attaches a pointer or a number to an object, in place of what was there.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - Events: none.
 * - Clause: [IT 15.1.7]; [IT 2.3].
 *
 * @param[in] handle any handle
 * @param[in] context what to attach; the library never looks into it
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_HANDLE @p handle is NULL, freed, or never was a handle.
 * @see it_get_consumer_context()
 */
it_status_t it_set_consumer_context(IN it_handle_t handle, IN it_context_t context);

/**
 * @brief Reads what it_set_consumer_context() attached.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - Events: none.
 * - Clause: [IT 15.1.8]; [IT 2.3].
 *
 * @param[in] handle any handle
 * @param[out] context what was attached
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_HANDLE @p handle is NULL, freed, or never was a handle.
 * @retval IT_ERR_NO_CONTEXT Nothing was ever attached to this object.
 * @retval IT_ERR_FAULT @p context is NULL.
 * @see it_set_consumer_context()
 */
it_status_t it_get_consumer_context(IN it_handle_t handle, OUT it_context_t *context);

/**
 * @brief Turns a 64-bit integer from host to network byte order.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - Events: none.
 * - Clause: [IT 15.1.9]; [IT 8.1].
 *
 * @param[in] hostint number in host order
 * @return The same number in network order.
 * @see it_ntoh64()
 */
uint64_t it_hton64(IN uint64_t hostint);

/**
 * @brief Turns a 64-bit integer from network to host byte order.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - Events: none.
 * - Clause: [IT 15.1.9]; [IT 8.1].
 *
 * @param[in] netint number in network order
 * @return The same number in host order.
 * @see it_hton64()
 */
uint64_t it_ntoh64(IN uint64_t netint);

/**
 * @brief Computes the remote address of a byte in a region of absolute mode.
 *
 * The peer that gets it reaches the byte through the region's context. Issue 1.0 called it
 * `it_make_rdma_addr`.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - Events: none.
 * - Clause: [IT 15.1.10]; [IT 8.1].
 *
 * @param[in] addr virtual address of the byte
 * @return The address as 64-bit integer in host byte order.
 * @see it_make_rdma_addr_relative(), it_hton64(), it_post_rdma_write(), it_post_rdma_read()
 */
it_rdma_addr_t it_make_rdma_addr_absolute(IN void *addr);

/**
 * @brief Computes the remote address of a byte in a region of relative mode.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - Events: none.
 * - Clause: [IT 15.1.10]; [IT 8.1].
 *
 * @param[in] offset distance from the region's start (bytes)
 * @return The address as 64-bit integer in host byte order.
 * @see it_make_rdma_addr_absolute(), it_hton64(), it_post_rdma_write(), it_post_rdma_read()
 */
it_rdma_addr_t it_make_rdma_addr_relative(IN it_length_t offset);

/** @} */

/**
 * @defgroup itapi_dto Data transfer
 * @ingroup itapi
 * @brief Requests and receives: messages, reading and writing the peer's memory.
 *
 * A request is posted to the request queue of an endpoint, a receive to its receive queue or to a
 * shared one; the call returns at once and a completion follows on an EVD. Requests start and
 * complete in the order of posting. Handles, flags and counts are checked as they are posted;
 * bounds, rights and protection zones when the request runs; the completion reports what is wrong (R-19).
 * A buffer belongs to the transport until its completion has been taken; the array of segments is copied
 * before the call returns.
 *
 * What a completion proves differs by transport. On every transport an answer of the peer, or the completion of
 * a later RDMA Read, proves that the peer has the data. Memory that the peer writes may be read after a later
 * message of the same endpoint has been received. Clause: [IT 7].
 * @{
 */
/** What the application attaches to a request; its completion brings it back. */
typedef uint64_t it_dto_cookie_t;

/**
 * How a request is to run and to report. Bits; a flag that is not allowed for the operation gives
 * IT_ERR_INVALID_DTO_FLAGS. Clause: [IT 7.2].
 */
typedef enum {
	/**
	 * The request makes an event on success too. Without the flag it makes one on failure only; a
	 * receive always makes one. A request without an event frees its slot when the event of a later
	 * request of the queue is dequeued, so at least one in every max_request_dtos needs the flag.
	 */
	IT_COMPLETION_FLAG = 0x01,
	/**
	 * The completion makes the EVD on this side notify (when the EVD has no threshold).
	 */
	IT_NOTIFY_FLAG = 0x02,
	/** The matching receive notifies at the peer (Sends only). */
	IT_SOLICITED_WAIT_FLAG = 0x04,
	/**
	 * Starts only after all earlier RDMA Reads and atomics of this endpoint (send queue only).
	 */
	IT_BARRIER_FENCE_FLAG = 0x08,
	/**
	 * The unlink waits for all earlier requests of this queue (unlinks only; needs
	 * it_ia_info_t.unlink_fence_support).
	 */
	IT_UNLINK_FENCE_FLAG = 0x10,
	/**
	 * The sink of the RDMA Read is unlinked as it completes (Reads only; needs
	 * it_ia_info_t.rdma_read_local_extensions, one segment, and a sink that can be unlinked).
	 */
	IT_UNLINK_LOCAL_SINK = 0x20,
	/**
	 * The request may be kept back, to leave with later ones. It leaves at the latest with a request
	 * without the flag, when the queue is full, when its EVD is found empty or waited on, and at a
	 * disconnect. Clause: R-18.
	 */
	IT_COALESCE_WR_FLAG = 0x40
} it_dto_flags_t;

/**
 * How a data transfer ended.
 *
 * Any error but #IT_DTO_ERR_FLUSHED means that the endpoint is going to its non-operational state.
 * Clause: [IT 7.7].
 */
typedef enum {
	/** Done. */
	IT_DTO_SUCCESS = 0,
	/** The message did not fit the receive buffer, or the segments exceed the limit. */
	IT_DTO_ERR_LOCAL_LENGTH = 1,
	/** The endpoint could not run the request (an RDMA Read with ORD zero, for one). */
	IT_DTO_ERR_LOCAL_EP = 2,
	/** A local segment is outside its region, lacks the right, or is of another zone. */
	IT_DTO_ERR_LOCAL_PROTECTION = 3,
	/** Not done: the endpoint had become non-operational. */
	IT_DTO_ERR_FLUSHED = 4,
	/** The link or unlink of an RMR failed. */
	IT_RMR_OPERATION_FAILED = 5,
	/** The peer's adapter sent a malformed answer (InfiniBand). */
	IT_DTO_ERR_BAD_RESPONSE = 6,
	/** The peer's adapter refused the access to its memory. */
	IT_DTO_ERR_REMOTE_ACCESS = 7,
	/** The peer's adapter could not serve the request for another reason. */
	IT_DTO_ERR_REMOTE_RESPONDER = 8,
	/** The transport gave up after retries. */
	IT_DTO_ERR_TRANSPORT = 9,
	/** The peer had no receive posted, for too long (InfiniBand). */
	IT_DTO_ERR_RECEIVER_NOT_READY = 10,
	/** Part of a packet arrived (VIA only; never here). */
	IT_DTO_ERR_PARTIAL_PACKET = 11,
	/** The link or unlink of an LMR failed. */
	IT_DTO_ERR_LOCAL_MM_OPERATION = 12
} it_dto_status_t;

/** What the completion of a datagram receive carries. Bits. */
typedef enum {
	/** The first 40 bytes of the buffer hold the InfiniBand global route header. */
	IT_UD_IB_GRH_PRESENT = 0x01
} it_dto_ud_flags_t;

/** What it_post_atomic() does with the 64-bit word. */
typedef enum {
	IT_COMPARE_AND_SWAP = 0, /**< Replaces it if it equals what was expected. */
	IT_FETCH_AND_ADD = 1     /**< Adds to it. */
} it_atomic_op_t;

/** @} */

/**
 * @defgroup itapi_mem Protection zones and memory
 * @ingroup itapi
 * @brief Protection zones, registered memory, and windows onto it.
 *
 * An LMR is registered memory of this process: what requests and receives name as their segments,
 * and what peers reach if its privileges allow. An RMR is a window onto an LMR that can be opened
 * and closed on the data path. A peer needs the context of a region and an address in it; both are
 * integers in host byte order that programs exchange in network order. Clause: [IT 8].
 * @{
 */
/** Parameters of a protection zone. */
typedef struct {
	/** Its adapter. */
	it_ia_handle_t ia;
} it_pz_param_t;

/** Which members of it_pz_param_t are wanted. Bits. */
typedef enum {
	IT_PZ_PARAM_ALL = 0x01, /**< All. */
	IT_PZ_PARAM_IA = 0x02   /**< it_pz_param_t.ia */
} it_pz_param_mask_t;

/**
 * What a peer needs, with an address, to reach a region: the region's key.
 *
 * An integer in host byte order; a 32-bit STag or R_Key sits in the low half, the upper half is 0.
 * Exchange it with a peer in network order. It means something only to a peer connected to the
 * adapter that made it. No value is reserved for "none". Clause: [IT 8.1], R-25.
 */
typedef uint64_t it_rmr_context_t;

/** Address of memory as the adapter sees it. The layout is the platform's own. */
typedef struct it_io_addr_s *it_io_addr_t;

/** What may be done with memory, and by whom. Bits. Clause: [IT 8.2]. */
typedef enum {
	/** Nothing; refused, since an RMR needs local rights, too. */
	IT_PRIV_NONE = 0x00,
	/** Local requests may read it (source of Sends and RDMA Writes). */
	IT_PRIV_LOCAL_READ = 0x01,
	/** Local requests may write it (receives, sink of RDMA Reads). */
	IT_PRIV_LOCAL_WRITE = 0x02,
	/** Both local rights. */
	IT_PRIV_LOCAL = 0x03,
	/** Name of Issue 1.0 for #IT_PRIV_LOCAL. */
	IT_PRIV_DEFAULT = 0x03,
	/** A peer may read it; needs local read. */
	IT_PRIV_REMOTE_READ = 0x04,
	/** A peer may write it; needs local write. */
	IT_PRIV_REMOTE_WRITE = 0x08,
	/** Both remote rights. */
	IT_PRIV_REMOTE = 0x0c,
	/** A peer may run atomics on it; needs local write; ignored where there are no atomics. */
	IT_PRIV_ATOMIC = 0x10,
	/** Everything. */
	IT_PRIV_ALL = 0x1f
} it_mem_priv_t;

/**
 * Kind of a local memory region. Bits; 0 is taken as #IT_LMR_FLAG_NONE. Clause: [IT 8.4].
 */
typedef enum {
	/** Nothing special. */
	IT_LMR_FLAG_NONE = 0x01,
	/**
	 * Joins the sharing group `shared_id`: regions over the same pages may share what the
	 * adapter needs to translate them; rights, zone and context stay their own. On group 0 a
	 * mismatch silently means no sharing (R-26).
	 */
	IT_LMR_FLAG_SHARED = 0x02,
	/** The application promises to call it_lmr_flush_to_mem() and it_lmr_refresh_from_mem(). */
	IT_LMR_FLAG_NONCOHERENT = 0x04,
	/**
	 * Never joins a group; the only kind that can be unlinked. Not with #IT_LMR_FLAG_SHARED.
	 */
	IT_LMR_FLAG_NON_SHAREABLE = 0x08
} it_lmr_flag_t;

/** How the bytes of a region are addressed. */
typedef enum {
	IT_ADDR_MODE_ABSOLUTE = 0, /**< By their virtual address. */
	IT_ADDR_MODE_RELATIVE = 1  /**< By their distance from the region's start. */
} it_addr_mode_t;

/** Reach of an RMR; a set of types in it_ia_info_t. Bits. Clause: [IT 8.5]. */
typedef enum {
	/** Narrow if the adapter has it, else wide. */
	IT_RMR_TYPE_DEFAULT = 0x00,
	/** Reachable only through the endpoint it was linked through. */
	IT_RMR_TYPE_NARROW = 0x01,
	/** Reachable through every endpoint of the protection zone. */
	IT_RMR_TYPE_WIDE = 0x02
} it_rmr_type_t;

/**
 * Shape of an I/O buffer list; a set of shapes in it_ia_info_t. Bits. Clause: [IT 8.9].
 */
typedef enum {
	IT_IOBL_PAGE_LIST = 0x01,   /**< Pages of one size, a power of two, each aligned to it. */
	IT_IOBL_BLOCK_LIST = 0x02,  /**< Blocks of one size at any address. */
	IT_IOBL_VE_PAGE_LIST = 0x04 /**< Pages of different sizes. */
} it_iobl_type_t;

/** One piece of a list whose pieces differ in size. */
typedef struct {
	/** Where it starts, as the adapter sees it. */
	it_io_addr_t io_addr;
	/** How long it is (bytes). */
	it_length_t elt_len;
} it_iobl_ve_elt_t;

/**
 * I/O buffer list: memory described by what the adapter sees. Privileged. Clause: [IT 8.9].
 *
 * The region is the content of the pieces one after the other, from `fbo` on. A piece has 1 to 2^32 - 1
 * bytes; `fbo` lies in the first. In absolute mode, with pieces of one size, the region's address
 * modulo that size must be `fbo`. The addresses are not checked: the caller is responsible for them.
 */
typedef struct {
	/** Shape of the list, one bit of it_iobl_type_t; selects the member of `list`. */
	it_iobl_type_t iobl_type;
	/** The pieces. */
	union {
		/** Page and block lists. */
		struct {
			/** Start of each piece. */
			it_io_addr_t *list_elt;
			/** Length of every piece (bytes). */
			it_length_t elt_len;
		} ce_list;
		/** Lists whose pieces differ in size. */
		struct {
			/** Start and length of each piece. */
			it_iobl_ve_elt_t *list_elt;
		} ve_list;
	} list;
	/** Pieces in the list. */
	size_t num_elts;
	/** Offset of the first byte of the region in the first piece (bytes). */
	it_length_t fbo;
} it_iobl_t;

/** A segment of local memory: where data comes from or goes to. */
typedef struct {
	/** The region; it_ia_info_t.direct_lmr_handle for I/O addresses. */
	it_lmr_handle_t lmr;
	/** Its first byte, in the region's addressing mode. */
	union {
		/** Virtual address, in a region of absolute mode. */
		void *abs;
		/** Offset from the region's start, in a region of relative mode. */
		it_length_t rel;
		/** Address as the adapter sees it, with the direct LMR. */
		it_io_addr_t io;
	} addr;
	/** Its length (bytes); with 0 the other members are not used. */
	it_length_t length;
} it_lmr_triplet_t;

/** A segment of a linked RMR as sink of it_post_rdma_read_to_rmr(). */
typedef struct {
	/** The RMR, linked through the endpoint of the request. */
	it_rmr_handle_t rmr;
	/** Its first byte, in the RMR's addressing mode. */
	union {
		/** Virtual address, absolute mode. */
		void *abs;
		/** Offset from the window's start, relative mode. */
		it_length_t rel;
	} addr;
	/** Its length (bytes). */
	it_length_t length;
} it_rmr_triplet_t;

/** Parameters of a local memory region. */
typedef struct {
	/** Its adapter. */
	it_ia_handle_t ia;
	/** Its protection zone. */
	it_pz_handle_t pz;
	/** Start of the range that was registered. */
	void *addr;
	/** Its length (bytes). */
	it_length_t length;
	/** What may be done with it. */
	it_mem_priv_t privs;
	/** Its kind. */
	it_lmr_flag_t flags;
	/** Its sharing group, if it has one. */
	uint32_t shared_id;
	/** Its key for peers. */
	it_rmr_context_t rmr_context;
	/**
	 * Start of the range that is really covered, rounded to pages. Access is checked to the
	 * byte all the same.
	 */
	void *actual_addr;
	/** Length of that range (bytes). */
	it_length_t actual_length;
	/** How its bytes are addressed. */
	it_addr_mode_t addr_mode;
	/** #IT_TRUE while it has memory, as one of it_lmr_create() always has. */
	it_boolean_t linked;
	/** Pieces that its I/O buffer list has or may have; 0 without one. */
	size_t iobl_num_elts;
	/** Shape of its I/O buffer list. */
	it_iobl_type_t iobl_type;
} it_lmr_param_t;

/** Which members of it_lmr_param_t are wanted or to be changed. Bits. */
typedef enum {
	IT_LMR_PARAM_ALL = 0x0001,           /**< All (queries only). */
	IT_LMR_PARAM_IA = 0x0002,            /**< it_lmr_param_t.ia */
	IT_LMR_PARAM_PZ = 0x0004,            /**< it_lmr_param_t.pz; modifiable */
	IT_LMR_PARAM_ADDR = 0x0008,          /**< it_lmr_param_t.addr; modifiable */
	IT_LMR_PARAM_LENGTH = 0x0010,        /**< it_lmr_param_t.length; modifiable */
	IT_LMR_PARAM_MEM_PRIV = 0x0020,      /**< it_lmr_param_t.privs; modifiable */
	IT_LMR_PARAM_FLAG = 0x0040,          /**< it_lmr_param_t.flags */
	IT_LMR_PARAM_SHARED_ID = 0x0080,     /**< it_lmr_param_t.shared_id */
	IT_LMR_PARAM_RMR_CONTEXT = 0x0100,   /**< it_lmr_param_t.rmr_context */
	IT_LMR_PARAM_ACTUAL_ADDR = 0x0200,   /**< it_lmr_param_t.actual_addr */
	IT_LMR_PARAM_ACTUAL_LENGTH = 0x0400, /**< it_lmr_param_t.actual_length */
	IT_LMR_PARAM_ADDR_MODE = 0x0800,     /**< it_lmr_param_t.addr_mode; modifiable */
	IT_LMR_PARAM_LINKED = 0x1000,        /**< it_lmr_param_t.linked */
	IT_LMR_PARAM_IOBL_NUM_ELTS = 0x2000, /**< it_lmr_param_t.iobl_num_elts */
	IT_LMR_PARAM_IOBL_TYPE = 0x4000      /**< it_lmr_param_t.iobl_type */
} it_lmr_param_mask_t;

/** Parameters of a remote memory region. */
typedef struct {
	/** Its adapter. */
	it_ia_handle_t ia;
	/** Its protection zone. */
	it_pz_handle_t pz;
#ifdef ITAPI_ENABLE_V10_BINDINGS
	/** #IT_TRUE while it is linked, as far as the library knows. Name of Issue 1.0. */
	it_boolean_t bound;
#else
	/**
	 * #IT_TRUE while it is linked, as far as the library knows: a remote unlink shows once the
	 * receive that reports it was dequeued.
	 */
	it_boolean_t linked;
#endif
	/** The LMR it is linked to. */
	it_lmr_handle_t lmr;
	/** Local start of the window. */
	void *addr;
	/** Length of the window (bytes). */
	it_length_t length;
	/** What peers may do with it. */
	it_mem_priv_t privs;
	/** Its key for peers. */
	it_rmr_context_t rmr_context;
	/** Its reach. */
	it_rmr_type_t type;
	/** How peers address it. */
	it_addr_mode_t addr_mode;
} it_rmr_param_t;

/** Which members of it_rmr_param_t are wanted. Bits. */
typedef enum {
	IT_RMR_PARAM_ALL = 0x0001,         /**< All. */
	IT_RMR_PARAM_IA = 0x0002,          /**< it_rmr_param_t.ia */
	IT_RMR_PARAM_PZ = 0x0004,          /**< it_rmr_param_t.pz */
	IT_RMR_PARAM_LINKED = 0x0008,      /**< Member `linked` (`bound` in Issue 1.0). */
	IT_RMR_PARAM_BOUND = 0x0008,       /**< Name of Issue 1.0 for #IT_RMR_PARAM_LINKED. */
	IT_RMR_PARAM_LMR = 0x0010,         /**< it_rmr_param_t.lmr */
	IT_RMR_PARAM_ADDR = 0x0020,        /**< it_rmr_param_t.addr */
	IT_RMR_PARAM_LENGTH = 0x0040,      /**< it_rmr_param_t.length */
	IT_RMR_PARAM_MEM_PRIV = 0x0080,    /**< it_rmr_param_t.privs */
	IT_RMR_PARAM_RMR_CONTEXT = 0x0100, /**< it_rmr_param_t.rmr_context */
	IT_RMR_PARAM_TYPE = 0x0200,        /**< it_rmr_param_t.type */
	IT_RMR_PARAM_ADDR_MODE = 0x0400    /**< it_rmr_param_t.addr_mode */
} it_rmr_param_mask_t;

/**
 * @brief Creates a protection zone.
 *
 * Endpoints, memory and receive queues of one zone may be used together.
 *
 * - Thread: any, several at once.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events: none.
 * - Clause: [IT 15.2.1]; [IT 2.1].
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] ia_handle the adapter
 * @param[out] pz_handle the new zone
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_IA Not the handle of an open adapter.
 * @retval IT_ERR_RESOURCES Memory or protection domains of the adapter ran out.
 * @retval IT_ERR_FAULT @p pz_handle is NULL.
 *
 * @par Example
 * @snippet calls.c it_ia_create
 *
 * @see it_pz_free(), it_pz_query(), it_lmr_create21(), it_ep_rc_create(), it_srq_create()
 */
it_status_t it_pz_create(IN it_ia_handle_t ia_handle, OUT it_pz_handle_t *pz_handle);

/**
 * @brief Frees a protection zone.
 *
 * - Thread: any; no other call may still use the object.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events: none.
 * - Clause: [IT 15.2.2]; [IT 2.2].
 * - Also: IT_ERR_ABORT; see @ref itapi_results.
 *
 * @param[in] pz_handle the protection zone
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_PZ Not the handle of a protection zone, or not the one that the objects
 *     share.
 * @retval IT_ERR_PZ_BUSY An endpoint, LMR, RMR, S-RQ or address handle still lives in it.
 * @see it_pz_create(), it_ia_free()
 */
it_status_t it_pz_free(IN it_pz_handle_t pz_handle);

/**
 * @brief Queries the parameters of a protection zone.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - Events: none.
 * - Clause: [IT 15.2.3]; [IT 1.9].
 * - Also: IT_ERR_ABORT; see @ref itapi_results.
 *
 * @param[in] pz_handle the protection zone
 * @param[in] mask which members of @p params to write: any union of the bits, or the ALL bit
 *     alone
 * @param[out] params where the values go; members that were not asked for are not written
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_PZ Not the handle of a protection zone, or not the one that the objects
 *     share.
 * @retval IT_ERR_INVALID_MASK The mask has a bit that the call does not allow.
 * @retval IT_ERR_FAULT @p params is NULL.
 * @see it_pz_create()
 */
it_status_t it_pz_query(IN it_pz_handle_t pz_handle, IN it_pz_param_mask_t mask,
			OUT it_pz_param_t *params);

/**
 * @brief Registers memory, as Issue 1.0 declares it.
 *
 * The same as it_lmr_create20() in absolute mode. Without a choice of bindings `it_lmr_create`
 * means this.
 *
 * - Thread: any, several at once.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events: none.
 * - Clause: [IT 15.6.3]; [IT 8.1] to [IT 8.4].
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] pz_handle the protection zone
 * @param[in] addr first byte of the memory
 * @param[in] length length (bytes)
 * @param[in] privs what may be done with the memory; bits of it_mem_priv_t
 * @param[in] flags kind of the region; bits of it_lmr_flag_t
 * @param[in] shared_id sharing group; counts only with #IT_LMR_FLAG_SHARED
 * @param[out] lmr_handle the new region
 * @param[in,out] rmr_context its key for peers; NULL if none is wanted. What it holds on entry is
 *     ignored
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_PZ Not the handle of a protection zone, or not the one that the objects
 *     share.
 * @retval IT_ERR_ADDRESS The range wraps around, is not mapped, or has a page without memory: behind
 *     the end of its file, or in a file system that is full.
 * @retval IT_ERR_INVALID_ADDRESS The range does not fit the sharing group.
 * @retval IT_ERR_INVALID_LENGTH 0, or not the length of the sharing group.
 * @retval IT_ERR_RESOURCE_LMR_LENGTH Longer than the adapter can register.
 * @retval IT_ERR_INVALID_PRIVS #IT_PRIV_NONE; remote read without local read; remote write or
 *     atomic without local write; unknown bits.
 * @retval IT_ERR_ACCESS The process itself may not read or write the pages so.
 * @retval IT_ERR_INVALID_FLAGS Unknown bits, or shared and non-shareable at once.
 * @retval IT_ERR_NO_PERMISSION Policy forbids this process to pin memory.
 * @retval IT_ERR_RESOURCES Keys, memory or the limit on pinned memory ran out.
 * @retval IT_ERR_FAULT @p addr or @p lmr_handle is NULL.
 * @see it_lmr_create21(), it_lmr_free(), it_lmr_query()
 */
it_status_t it_lmr_create10(IN it_pz_handle_t pz_handle, IN void *addr, IN it_length_t length,
			    IN it_mem_priv_t privs, IN it_lmr_flag_t flags, IN uint32_t shared_id,
			    OUT it_lmr_handle_t *lmr_handle, IN OUT it_rmr_context_t *rmr_context);

/**
 * @brief Registers memory, as Issue 2.0 declares it.
 *
 * The same as it_lmr_create21() without an I/O buffer list.
 *
 * - Thread: any, several at once.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events: none.
 * - Clause: [IT 15.6.2]; [IT 8.1] to [IT 8.4].
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] pz_handle the protection zone
 * @param[in] addr first byte of the memory
 * @param[in] length length (bytes)
 * @param[in] addr_mode how the bytes are addressed
 * @param[in] privs what may be done with the memory; bits of it_mem_priv_t
 * @param[in] flags kind of the region; bits of it_lmr_flag_t
 * @param[in] shared_id sharing group; counts only with #IT_LMR_FLAG_SHARED
 * @param[out] lmr_handle the new region
 * @param[in,out] rmr_context its key for peers; NULL if none is wanted. What it holds on entry is
 *     ignored
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_PZ Not the handle of a protection zone, or not the one that the objects
 *     share.
 * @retval IT_ERR_ADDRESS The range wraps around, is not mapped, or has a page without memory: behind
 *     the end of its file, or in a file system that is full.
 * @retval IT_ERR_INVALID_ADDRESS The range does not fit the sharing group.
 * @retval IT_ERR_INVALID_LENGTH 0, or not the length of the sharing group.
 * @retval IT_ERR_RESOURCE_LMR_LENGTH Longer than the adapter can register.
 * @retval IT_ERR_INVALID_ADDR_MODE Unknown, or relative where
 *     it_ia_info_t.addr_mode_relative_support says no.
 * @retval IT_ERR_INVALID_PRIVS #IT_PRIV_NONE; remote read without local read; remote write or
 *     atomic without local write; unknown bits.
 * @retval IT_ERR_ACCESS The process itself may not read or write the pages so.
 * @retval IT_ERR_INVALID_FLAGS Unknown bits, or shared and non-shareable at once.
 * @retval IT_ERR_NO_PERMISSION Policy forbids this process to pin memory.
 * @retval IT_ERR_RESOURCES Keys, memory or the limit on pinned memory ran out.
 * @retval IT_ERR_FAULT @p addr or @p lmr_handle is NULL.
 * @see it_lmr_create21(), it_lmr_free(), it_lmr_query()
 */
it_status_t it_lmr_create20(IN it_pz_handle_t pz_handle, IN void *addr, IN it_length_t length,
			    IN it_addr_mode_t addr_mode, IN it_mem_priv_t privs,
			    IN it_lmr_flag_t flags, IN uint32_t shared_id,
			    OUT it_lmr_handle_t *lmr_handle, IN OUT it_rmr_context_t *rmr_context);

/**
 * @brief Registers memory, as Issue 2.1 declares it.
 *
 * Without @p iobl the range of this process is registered: [@p addr, @p addr + @p length). With
 * one, which is a privileged operation, the listed pieces are, and @p addr is the address the
 * region has in absolute mode. The memory stays registered until it_lmr_free(); it must stay mapped
 * that long.
 *
 * An adapter in software pins nothing, but makes every page present, as pinning does: pages that were
 * never touched take memory then, and pages of a private mapping that may be written are copied. The
 * call takes the longer the larger the region is, while other calls on the IA go on. If a page is
 * lost later, because the application unmaps or protects it or any process truncates its file, an
 * access to it ends its connection; on x86-64 the process lives. For that a software adapter handles
 * SIGBUS and SIGSEGV while it is open, and passes other faults to the handler that was there before.
 * A thread that calls the library must not block these signals.
 *
 * A context is never 0 on iWARP. Access is checked to the byte. The sink of an RDMA Read needs
 * #IT_PRIV_REMOTE_WRITE where it_ia_info_t.rdma_read_requires_remote_write says so, and its endpoint
 * it_rc_only_attributes_t.rdma_write_enable; the library never adds rights by itself.
 *
 * - Thread: any, several at once.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events: none.
 * - Clause: [IT 15.6.1]; [IT 8.1] to [IT 8.4], [IT 8.9]; R-26.
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] pz_handle the protection zone
 * @param[in] addr first byte of the memory
 * @param[in] iobl I/O buffer list, or NULL
 * @param[in] length length (bytes)
 * @param[in] addr_mode how the bytes are addressed
 * @param[in] privs what may be done with the memory; bits of it_mem_priv_t
 * @param[in] flags kind of the region; bits of it_lmr_flag_t
 * @param[in] shared_id sharing group; counts only with #IT_LMR_FLAG_SHARED
 * @param[out] lmr_handle the new region
 * @param[in,out] rmr_context its key for peers; NULL if none is wanted. What it holds on entry is
 *     ignored
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_PZ Not the handle of a protection zone, or not the one that the objects
 *     share.
 * @retval IT_ERR_ADDRESS The range wraps around, is not mapped, or has a page without memory: behind
 *     the end of its file, or in a file system that is full.
 * @retval IT_ERR_INVALID_ADDRESS The range does not fit the sharing group.
 * @retval IT_ERR_INVALID_IOBL The list is malformed or of a shape the adapter does not take.
 * @retval IT_ERR_PRIV_OPS_UNAVAILABLE A list is given without the privilege.
 * @retval IT_ERR_INVALID_LENGTH 0, or not the length of the sharing group.
 * @retval IT_ERR_RESOURCE_LMR_LENGTH Longer than the adapter can register.
 * @retval IT_ERR_INVALID_ADDR_MODE Unknown, or relative where
 *     it_ia_info_t.addr_mode_relative_support says no.
 * @retval IT_ERR_INVALID_PRIVS #IT_PRIV_NONE; remote read without local read; remote write or
 *     atomic without local write; unknown bits.
 * @retval IT_ERR_ACCESS The process itself may not read or write the pages so.
 * @retval IT_ERR_INVALID_FLAGS Unknown bits, or shared and non-shareable at once.
 * @retval IT_ERR_NO_PERMISSION Policy forbids this process to pin memory.
 * @retval IT_ERR_RESOURCES Keys, memory or the limit on pinned memory ran out.
 * @retval IT_ERR_FAULT @p addr or @p lmr_handle is NULL.
 *
 * @par Example
 * @snippet calls.c it_lmr_create21
 *
 * @see it_lmr_free(), it_lmr_query(), it_lmr_modify(), it_rmr_link(), it_post_send(),
 *     it_post_rdma_write(), itx_lmr_create_dmabuf()
 */
it_status_t it_lmr_create21(IN it_pz_handle_t pz_handle, IN void *addr, IN it_iobl_t *iobl,
			    IN it_length_t length, IN it_addr_mode_t addr_mode,
			    IN it_mem_priv_t privs, IN it_lmr_flag_t flags, IN uint32_t shared_id,
			    OUT it_lmr_handle_t *lmr_handle, IN OUT it_rmr_context_t *rmr_context);

/**
 * @brief Reserves a key, and room for a list of pages, for a later it_lmr_link().
 *
 * Privileged: the process has CAP_NET_ADMIN in effect, or policy allows it, when the adapter is
 * opened. Until the region is linked, requests that name it fail when they run.
 *
 * - Thread: any, several at once.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events: none.
 * - Clause: [IT 15.6.4]; [IT 8.9]; R-27.
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] pz_handle the protection zone
 * @param[in] iobl_num_elts most pieces that a link may list
 * @param[in] flags kind of the region; bits of it_lmr_flag_t
 * @param[in] shared_id sharing group; counts only with #IT_LMR_FLAG_SHARED
 * @param[out] lmr_handle the new region, without memory
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_PZ Not the handle of a protection zone, or not the one that the objects
 *     share.
 * @retval IT_ERR_OP_NOT_SUPPORTED it_ia_info_t.lmr_link_support says no.
 * @retval IT_ERR_PRIV_OPS_UNAVAILABLE The process lacks the privilege.
 * @retval IT_ERR_INVALID_IOBL 0 pieces, or more than the adapter can list.
 * @retval IT_ERR_INVALID_FLAGS Unknown bits, or #IT_LMR_FLAG_SHARED.
 * @retval IT_ERR_RESOURCES Keys or memory ran out.
 * @retval IT_ERR_FAULT @p lmr_handle is NULL.
 * @see it_lmr_link(), it_lmr_free()
 */
it_status_t it_lmr_create_unlinked(IN it_pz_handle_t pz_handle, IN size_t iobl_num_elts,
				   IN it_lmr_flag_t flags, IN uint32_t shared_id,
				   OUT it_lmr_handle_t *lmr_handle);

/**
 * @brief Ends the registration of memory.
 *
 * From its return no request and no peer reaches the memory through it. Local requests that still
 * name it end with #IT_DTO_ERR_LOCAL_PROTECTION; a peer that uses its context breaks its
 * connection. Works on an unlinked LMR too.
 *
 * - Thread: any; no other call may still use the object.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events: none.
 * - Clause: [IT 15.6.5]; [IT 2.2].
 * - Also: IT_ERR_ABORT; see @ref itapi_results.
 *
 * @param[in] lmr_handle the LMR
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_LMR Not the handle of an LMR of this adapter.
 * @retval IT_ERR_LMR_BUSY An RMR is linked to it.
 * @see it_lmr_create21(), it_lmr_create_unlinked(), it_rmr_unlink()
 */
it_status_t it_lmr_free(IN it_lmr_handle_t lmr_handle);

/**
 * @brief Queries the parameters of a memory region.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - Events: none.
 * - Clause: [IT 15.6.6]; [IT 8.4].
 * - Also: IT_ERR_ABORT; see @ref itapi_results.
 *
 * @param[in] lmr_handle the LMR
 * @param[in] mask which members of @p params to write: any union of the bits, or the ALL bit
 *     alone
 * @param[out] params where the values go; members that were not asked for are not written
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_LMR Not the handle of an LMR of this adapter.
 * @retval IT_ERR_INVALID_MASK The mask has a bit that the call does not allow.
 * @retval IT_ERR_FAULT @p params is NULL.
 * @see it_lmr_create21(), it_lmr_modify()
 */
it_status_t it_lmr_query(IN it_lmr_handle_t lmr_handle, IN it_lmr_param_mask_t mask,
			 OUT it_lmr_param_t *params);

/**
 * @brief Changes a region under the same handle: zone, range, privileges or addressing mode.
 *
 * The context may change: query it. Whether requests that use the region meanwhile succeed is
 * undefined. This is the only call that may change something when it fails: after IT_ERR_RESOURCES or
 * IT_ERR_ABORT the region may be revoked, and then it can only be modified or freed.
 *
 * - Thread: any, several at once.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events: none.
 * - Clause: [IT 15.6.7]; [IT 8.8], [IT 1.1].
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] lmr_handle the LMR
 * @param[in] mask what to change: pz, mem_priv, addr_mode, addr together with length. All or
 *     nothing
 * @param[in] params the new values
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_LMR Not the handle of an LMR of this adapter.
 * @retval IT_ERR_INVALID_MASK No bit, a bit that cannot be changed, or addr without length.
 * @retval IT_ERR_LMR_BUSY An RMR is linked to it.
 * @retval IT_ERR_INVALID_PZ The new zone is not one of this adapter.
 * @retval IT_ERR_ADDRESS The range wraps around, is not mapped, or has a page without memory: behind
 *     the end of its file, or in a file system that is full.
 * @retval IT_ERR_INVALID_LENGTH 0.
 * @retval IT_ERR_RESOURCE_LMR_LENGTH Longer than the adapter can register.
 * @retval IT_ERR_INVALID_ADDR_MODE Unknown or not supported.
 * @retval IT_ERR_INVALID_PRIVS As with it_lmr_create21().
 * @retval IT_ERR_ACCESS The process itself may not read or write the pages so.
 * @retval IT_ERR_OP_NOT_SUPPORTED The region is of a sharing group or of a dmabuf, or the direct LMR; or the
 *     adapter cannot do it (itx_ia_query_support()).
 * @retval IT_ERR_RESOURCES Keys, memory or the limit on pinned memory ran out.
 * @retval IT_ERR_FAULT @p params is NULL.
 * @see it_lmr_create21(), it_lmr_query(), itx_ia_query_support()
 */
it_status_t it_lmr_modify(IN it_lmr_handle_t lmr_handle, IN it_lmr_param_mask_t mask,
			  IN const it_lmr_param_t *params);

/**
 * @brief Makes stores of this process visible to the adapter and to peers.
 *
 * Call it after storing and before the adapter or a peer reads. Segments may be of several regions
 * and zones. Where memory is coherent it only checks its arguments. Issue 1.0 called it
 * `it_lmr_sync_rdma_read`.
 *
 * - Thread: any, several at once.
 * - Blocks: for a pass over the memory at most (class M).
 * - Events: none.
 * - Clause: [IT 15.6.8]; [IT 8.7].
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] local_segments what to flush
 * @param[in] num_segments entries of @p local_segments, at least 1
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_NUM_SEGMENTS 0.
 * @retval IT_ERR_INVALID_LMR A segment does not name an LMR.
 * @retval IT_ERR_RANGE A segment is not inside its region.
 * @retval IT_ERR_FAULT @p local_segments is NULL.
 * @see it_lmr_refresh_from_mem(), it_post_rdma_read()
 */
it_status_t it_lmr_flush_to_mem(IN const it_lmr_triplet_t *local_segments, IN size_t num_segments);

/**
 * @brief Makes what the adapter or a peer wrote visible to this process.
 *
 * Call it after the write and before loading. Where memory is coherent it only checks its
 * arguments. Issue 1.0 called it `it_lmr_sync_rdma_write`.
 *
 * - Thread: any, several at once.
 * - Blocks: for a pass over the memory at most (class M).
 * - Events: none.
 * - Clause: [IT 15.6.8]; [IT 8.7].
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] local_segments what to refresh
 * @param[in] num_segments entries of @p local_segments, at least 1
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_NUM_SEGMENTS 0.
 * @retval IT_ERR_INVALID_LMR A segment does not name an LMR.
 * @retval IT_ERR_RANGE A segment is not inside its region.
 * @retval IT_ERR_FAULT @p local_segments is NULL.
 * @see it_lmr_flush_to_mem(), it_post_rdma_write()
 */
it_status_t it_lmr_refresh_from_mem(IN const it_lmr_triplet_t *local_segments,
				    IN size_t num_segments);

/**
 * @brief Posts a fast registration: gives memory to an unlinked region.
 *
 * Privileged. The new context is known at once and may be used on the same endpoint at once, since
 * later requests wait for the link; elsewhere once the link has completed. Regions of
 * it_lmr_create_unlinked() can be linked, and registered ones of #IT_LMR_FLAG_NON_SHAREABLE of a
 * privileged process after it_lmr_unlink(). Linking a linked region, or one of another zone than the
 * endpoint's, fails in its completion (#IT_DTO_ERR_LOCAL_MM_OPERATION) and breaks the connection.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - States: connected or non-operational; in the latter the request is flushed.
 * - Events here: #IT_LMR_LINK_CMPL_EVENT on the request EVD; on an error the end of the connection
 *   too.
 * - Clause: [IT 15.6.9]; [IT 8.9]; R-17.
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] lmr_handle the region, without memory
 * @param[in] addr address the region has in absolute mode
 * @param[in] iobl the memory
 * @param[in] length length of the region (bytes)
 * @param[in] addr_mode how the bytes are addressed
 * @param[in] privs what may be done with the memory; bits of it_mem_priv_t
 * @param[in] ep_handle endpoint whose request queue carries the link
 * @param[in] cookie comes back in the completion
 * @param[in] dto_flags how to run and report; bits of it_dto_flags_t
 * @param[out] rmr_context the new key for peers
 * @retval IT_SUCCESS Posted.
 * @retval IT_ERR_INVALID_LMR Not the handle of an LMR of this adapter.
 * @retval IT_ERR_OP_NOT_SUPPORTED it_ia_info_t.lmr_link_support says no, or the region cannot be
 *     linked.
 * @retval IT_ERR_INVALID_IOBL The list is malformed, too long for the region, or its first offset
 *     does not match @p addr.
 * @retval IT_ERR_INVALID_LENGTH 0, or more than the list holds.
 * @retval IT_ERR_INVALID_ADDR_MODE The addressing mode is unknown or not supported here.
 * @retval IT_ERR_INVALID_PRIVS The privileges contradict each other or what the memory allows.
 * @retval IT_ERR_INVALID_EP Not the handle of an endpoint of this adapter.
 * @retval IT_ERR_INVALID_EP_TYPE The endpoint is of the other kind (connected or datagram).
 * @retval IT_ERR_PRIV_OPS_UNAVAILABLE The endpoint was made without priv_ops_enable.
 * @retval IT_ERR_INVALID_DTO_FLAGS A flag is unknown or not allowed for the operation.
 * @retval IT_ERR_INVALID_EP_STATE The endpoint is in a state that does not allow the call.
 * @retval IT_ERR_TOO_MANY_POSTS The queue holds as many requests as it may; take a completion
 *     first.
 * @retval IT_ERR_FAULT @p iobl or @p rmr_context is NULL.
 * @see it_lmr_create_unlinked(), it_lmr_unlink(), #IT_LMR_LINK_CMPL_EVENT
 */
it_status_t it_lmr_link(IN it_lmr_handle_t lmr_handle, IN const void *addr,
			IN const it_iobl_t *iobl, IN it_length_t length,
			IN it_addr_mode_t addr_mode, IN it_mem_priv_t privs,
			IN it_ep_handle_t ep_handle, IN it_dto_cookie_t cookie,
			IN it_dto_flags_t dto_flags, OUT it_rmr_context_t *rmr_context);

/**
 * @brief Posts the end of a region's link: takes its memory away.
 *
 * Privileged. From the completion on no access through the old context succeeds. Unlinking a region
 * without memory succeeds. #IT_UNLINK_FENCE_FLAG lets earlier requests of the queue end first.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - States: connected or non-operational; in the latter the request is flushed.
 * - Events here: #IT_LMR_LINK_CMPL_EVENT on the request EVD.
 * - Clause: [IT 15.6.10]; [IT 8.6], [IT 8.9]; R-17.
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] lmr_handle the LMR
 * @param[in] ep_handle endpoint whose request queue carries the unlink
 * @param[in] cookie comes back in the completion
 * @param[in] dto_flags how to run and report; bits of it_dto_flags_t
 * @retval IT_SUCCESS Posted.
 * @retval IT_ERR_INVALID_LMR Not the handle of an LMR of this adapter.
 * @retval IT_ERR_OP_NOT_SUPPORTED it_ia_info_t.lmr_link_support says no, or the region is a
 *     shareable one.
 * @retval IT_ERR_LMR_BUSY An RMR is linked to it.
 * @retval IT_ERR_INVALID_EP Not the handle of an endpoint of this adapter.
 * @retval IT_ERR_INVALID_EP_TYPE The endpoint is of the other kind (connected or datagram).
 * @retval IT_ERR_PRIV_OPS_UNAVAILABLE The endpoint was made without priv_ops_enable.
 * @retval IT_ERR_INVALID_DTO_FLAGS A flag is unknown or not allowed for the operation.
 * @retval IT_ERR_INVALID_EP_STATE The endpoint is in a state that does not allow the call.
 * @retval IT_ERR_TOO_MANY_POSTS The queue holds as many requests as it may; take a completion
 *     first.
 * @see it_lmr_link(), it_post_send_and_unlink(), #IT_LMR_LINK_CMPL_EVENT
 */
it_status_t it_lmr_unlink(IN it_lmr_handle_t lmr_handle, IN it_ep_handle_t ep_handle,
			  IN it_dto_cookie_t cookie, IN it_dto_flags_t dto_flags);

/**
 * @brief Creates an unlinked RMR, as Issue 1.0 declares it.
 *
 * The same as it_rmr_create20() with #IT_RMR_TYPE_DEFAULT.
 *
 * - Thread: any, several at once.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events: none.
 * - Clause: [IT 15.6.12]; [IT 8.5].
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] pz_handle the protection zone
 * @param[out] rmr_handle the new RMR
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_PZ Not the handle of a protection zone, or not the one that the objects
 *     share.
 * @retval IT_ERR_INVALID_RMR_TYPE The adapter has neither reach.
 * @retval IT_ERR_OP_NOT_SUPPORTED The adapter has no RMRs.
 * @retval IT_ERR_RESOURCES Keys or memory ran out.
 * @retval IT_ERR_FAULT @p rmr_handle is NULL.
 * @see it_rmr_create20(), it_rmr_bind10(), it_rmr_free()
 */
it_status_t it_rmr_create10(IN it_pz_handle_t pz_handle, OUT it_rmr_handle_t *rmr_handle);

/**
 * @brief Creates an unlinked RMR of a given reach.
 *
 * - Thread: any, several at once.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events: none.
 * - Clause: [IT 15.6.11]; [IT 8.5].
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] pz_handle the protection zone
 * @param[in] rmr_type its reach
 * @param[out] rmr_handle the new RMR
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_PZ Not the handle of a protection zone, or not the one that the objects
 *     share.
 * @retval IT_ERR_INVALID_RMR_TYPE Unknown, or not in it_ia_info_t.rmr_types_supported.
 * @retval IT_ERR_OP_NOT_SUPPORTED The adapter has no RMRs.
 * @retval IT_ERR_RESOURCES Keys or memory ran out.
 * @retval IT_ERR_FAULT @p rmr_handle is NULL.
 *
 * @par Example
 * @snippet calls_data.c it_rmr_link
 *
 * @see it_rmr_link(), it_rmr_free(), it_rmr_query()
 */
it_status_t it_rmr_create20(IN it_pz_handle_t pz_handle, IN it_rmr_type_t rmr_type,
			    OUT it_rmr_handle_t *rmr_handle);

/**
 * @brief Frees an RMR; a link is revoked, even one through a broken endpoint.
 *
 * - Thread: any; no other call may still use the object.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events: none.
 * - Clause: [IT 15.6.13]; [IT 2.2].
 * - Also: IT_ERR_ABORT; see @ref itapi_results.
 *
 * @param[in] rmr_handle the RMR
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_RMR Not the handle of an RMR of this adapter.
 * @see it_rmr_create20(), it_rmr_unlink()
 */
it_status_t it_rmr_free(IN it_rmr_handle_t rmr_handle);

/**
 * @brief Queries the parameters of an RMR.
 *
 * `linked` (`bound` in Issue 1.0) is what the library knows from requests posted and completed; a
 * remote unlink shows once the receive that reports it was dequeued.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - Events: none.
 * - Clause: [IT 15.6.14].
 * - Also: IT_ERR_ABORT; see @ref itapi_results.
 *
 * @param[in] rmr_handle the RMR
 * @param[in] mask which members of @p params to write: any union of the bits, or the ALL bit
 *     alone
 * @param[out] params where the values go; members that were not asked for are not written
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_RMR Not the handle of an RMR of this adapter.
 * @retval IT_ERR_INVALID_MASK The mask has a bit that the call does not allow.
 * @retval IT_ERR_FAULT @p params is NULL.
 * @see it_rmr_create20(), it_rmr_link()
 */
it_status_t it_rmr_query(IN it_rmr_handle_t rmr_handle, IN it_rmr_param_mask_t mask,
			 OUT it_rmr_param_t *params);

/**
 * @brief Posts a link: opens a window onto an LMR to peers.
 *
 * The context is known at once and may be sent on the same endpoint at once, since later requests wait for the
 * link; on other endpoints only after the completion. Each link has a context of its own. A link that fails
 * breaks the connection.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - States: connected or non-operational; in the latter the request is flushed.
 * - Events here: #IT_RMR_LINK_CMPL_EVENT on the request EVD; on an error the end of the connection
 *   too.
 * - Clause: [IT 15.6.15]; [IT 8.2], [IT 8.5]; R-37.
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] rmr_handle the RMR
 * @param[in] lmr_handle region the window opens onto, linked and of absolute mode
 * @param[in] addr first byte of the window
 * @param[in] length length of the window (bytes)
 * @param[in] addr_mode how peers address the window
 * @param[in] privs what peers may do; remote and atomic bits only
 * @param[in] ep_handle endpoint whose request queue carries the link; a narrow RMR is reachable
 *     through it alone
 * @param[in] cookie comes back in the completion
 * @param[in] dto_flags how to run and report; bits of it_dto_flags_t
 * @param[out] rmr_context the new key for peers
 * @retval IT_SUCCESS Posted.
 * @retval IT_ERR_INVALID_RMR Not the handle of an RMR of this adapter.
 * @retval IT_ERR_INVALID_LMR Not the handle of an LMR of this adapter.
 * @retval IT_ERR_RANGE The window is not inside the region.
 * @retval IT_ERR_INVALID_LENGTH 0; use it_rmr_unlink().
 * @retval IT_ERR_INVALID_ADDR_MODE Relative where not supported, or the region is of relative mode.
 * @retval IT_ERR_INVALID_PRIVS No remote right, or one whose local counterpart the region lacks.
 * @retval IT_ERR_INVALID_EP Not the handle of an endpoint of this adapter.
 * @retval IT_ERR_INVALID_EP_TYPE The endpoint is of the other kind (connected or datagram).
 * @retval IT_ERR_INVALID_PZ RMR, LMR and endpoint are not of one zone.
 * @retval IT_ERR_INVALID_DTO_FLAGS A flag is unknown or not allowed for the operation.
 * @retval IT_ERR_INVALID_EP_STATE The endpoint is in a state that does not allow the call.
 * @retval IT_ERR_TOO_MANY_POSTS The queue holds as many requests as it may; take a completion
 *     first.
 * @retval IT_ERR_FAULT @p rmr_context is NULL.
 *
 * @par Example
 * @snippet calls_data.c it_rmr_link
 *
 * @see it_rmr_create20(), it_rmr_unlink(), it_lmr_create21(), it_post_rdma_write(),
 *     it_post_send_and_unlink(), #IT_RMR_LINK_CMPL_EVENT
 */
it_status_t it_rmr_link(IN it_rmr_handle_t rmr_handle, IN it_lmr_handle_t lmr_handle, IN void *addr,
			IN it_length_t length, IN it_addr_mode_t addr_mode, IN it_mem_priv_t privs,
			IN it_ep_handle_t ep_handle, IN it_dto_cookie_t cookie,
			IN it_dto_flags_t dto_flags, OUT it_rmr_context_t *rmr_context);

/**
 * @brief Posts a link, as Issue 1.0 declares it.
 *
 * The same as it_rmr_link() in absolute mode. Without a choice of bindings `it_rmr_bind` means
 * this.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - States: connected or non-operational; in the latter the request is flushed.
 * - Events here: #IT_RMR_BIND_CMPL_EVENT on the request EVD; on an error the end of the connection
 *   too.
 * - Clause: [IT 15.6.16]; [IT 8.2], [IT 8.5]; R-37.
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] rmr_handle the RMR
 * @param[in] lmr_handle region the window opens onto, linked and of absolute mode
 * @param[in] addr first byte of the window
 * @param[in] length length of the window (bytes)
 * @param[in] privs what peers may do; remote and atomic bits only
 * @param[in] ep_handle endpoint whose request queue carries the link; a narrow RMR is reachable
 *     through it alone
 * @param[in] cookie comes back in the completion
 * @param[in] dto_flags how to run and report; bits of it_dto_flags_t
 * @param[out] rmr_context the new key for peers
 * @retval IT_SUCCESS Posted.
 * @retval IT_ERR_INVALID_RMR Not the handle of an RMR of this adapter.
 * @retval IT_ERR_INVALID_LMR Not the handle of an LMR of this adapter.
 * @retval IT_ERR_RANGE The window is not inside the region.
 * @retval IT_ERR_INVALID_LENGTH 0; use it_rmr_unlink().
 * @retval IT_ERR_INVALID_ADDR_MODE The region is of relative mode.
 * @retval IT_ERR_INVALID_PRIVS No remote right, or one whose local counterpart the region lacks.
 * @retval IT_ERR_INVALID_EP Not the handle of an endpoint of this adapter.
 * @retval IT_ERR_INVALID_EP_TYPE The endpoint is of the other kind (connected or datagram).
 * @retval IT_ERR_INVALID_PZ RMR, LMR and endpoint are not of one zone.
 * @retval IT_ERR_INVALID_DTO_FLAGS A flag is unknown or not allowed for the operation.
 * @retval IT_ERR_INVALID_EP_STATE The endpoint is in a state that does not allow the call.
 * @retval IT_ERR_TOO_MANY_POSTS The queue holds as many requests as it may; take a completion
 *     first.
 * @retval IT_ERR_FAULT @p rmr_context is NULL.
 * @see it_rmr_link(), it_rmr_create10(), it_rmr_unlink(), #IT_RMR_BIND_CMPL_EVENT
 */
it_status_t it_rmr_bind10(IN it_rmr_handle_t rmr_handle, IN it_lmr_handle_t lmr_handle,
			  IN void *addr, IN it_length_t length, IN it_mem_priv_t privs,
			  IN it_ep_handle_t ep_handle, IN it_dto_cookie_t cookie,
			  IN it_dto_flags_t dto_flags, OUT it_rmr_context_t *rmr_context);

/**
 * @brief Posts the end of a link: closes the window.
 *
 * From the completion on no access through the old context succeeds; accesses under way fail. On an
 * unlinked RMR it succeeds. Issue 1.0 called it `it_rmr_unbind`.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - States: connected or non-operational; in the latter the request is flushed.
 * - Events here: #IT_RMR_LINK_CMPL_EVENT on the request EVD.
 * - Clause: [IT 15.6.17]; [IT 8.6]; R-17.
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] rmr_handle the RMR
 * @param[in] ep_handle the endpoint of the link (narrow), or any of the zone (wide)
 * @param[in] cookie comes back in the completion
 * @param[in] dto_flags how to run and report; bits of it_dto_flags_t
 * @retval IT_SUCCESS Posted.
 * @retval IT_ERR_INVALID_RMR Not the handle of an RMR of this adapter.
 * @retval IT_ERR_OP_NOT_SUPPORTED RMRs of this reach cannot be unlinked here.
 * @retval IT_ERR_INVALID_EP Not an endpoint, or not the one that a narrow RMR was linked through.
 * @retval IT_ERR_INVALID_EP_TYPE The endpoint is of the other kind (connected or datagram).
 * @retval IT_ERR_INVALID_DTO_FLAGS A flag is unknown or not allowed for the operation.
 * @retval IT_ERR_INVALID_EP_STATE The endpoint is in a state that does not allow the call.
 * @retval IT_ERR_TOO_MANY_POSTS The queue holds as many requests as it may; take a completion
 *     first.
 *
 * @par Example
 * @snippet calls_data.c it_rmr_unlink
 *
 * @see it_rmr_link(), it_rmr_free(), it_post_send_and_unlink(), #IT_RMR_LINK_CMPL_EVENT
 */
it_status_t it_rmr_unlink(IN it_rmr_handle_t rmr_handle, IN it_ep_handle_t ep_handle,
			  IN it_dto_cookie_t cookie, IN it_dto_flags_t dto_flags);

/**
 * @brief Tells the address that the adapter sees for memory. Privileged.
 *
 * Maps as long a piece from the start as is contiguous for the adapter and says how long it is;
 * call again for the rest. Such addresses go into I/O buffer lists and into segments of
 * it_ia_info_t.direct_lmr_handle. A mapping counts like registered memory until it_mem_unmap() or the
 * end of the adapter.
 *
 * - Thread: any, several at once.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events: none.
 * - Clause: [IT 15.6.18]; [IT 8.9]; R-27.
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] ia_handle the adapter
 * @param[in] vaddr first byte of the memory
 * @param[in] aspace_id address space of the memory; 0 = the caller's
 * @param[in] len length of the memory (bytes)
 * @param[out] io_addr the address
 * @param[out] mapped_len bytes mapped, at least 1
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_IA Not the handle of an open adapter.
 * @retval IT_ERR_NO_PERMISSION The process lacks the privilege.
 * @retval IT_ERR_ADDRESS The memory is not mapped in that address space.
 * @retval IT_ERR_INVALID_LENGTH 0.
 * @retval IT_ERR_OP_NOT_SUPPORTED The adapter has no such addresses.
 * @retval IT_ERR_RESOURCES Memory ran out.
 * @retval IT_ERR_FAULT @p io_addr or @p mapped_len is NULL.
 * @see it_mem_unmap(), it_lmr_link()
 */
it_status_t it_mem_map(IN it_ia_handle_t ia_handle, IN void *vaddr, IN uint64_t aspace_id,
		       IN size_t len, OUT it_io_addr_t *io_addr, OUT size_t *mapped_len);

/**
 * @brief Undoes one mapping of it_mem_map(), exactly as it was returned. Privileged.
 *
 * A process without the privilege has no mappings.
 *
 * - Thread: any, several at once.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events: none.
 * - Clause: [IT 15.6.19]; [IT 8.9].
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] ia_handle the adapter
 * @param[in] io_addr the address
 * @param[in] mapped_len its length (bytes)
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_IA Not the handle of an open adapter.
 * @retval IT_ERR_INVALID_ADDRESS No mapping starts there.
 * @retval IT_ERR_INVALID_LENGTH The mapping there has another length.
 * @see it_mem_map()
 */
it_status_t it_mem_unmap(IN it_ia_handle_t ia_handle, IN it_io_addr_t io_addr,
			 IN size_t mapped_len);

/** @} */

/**
 * @defgroup itapi_cm Connections
 * @ingroup itapi
 * @brief Listening, connecting, accepting, rejecting, disconnecting.
 *
 * One side listens on a connection qualifier and gets an event for each request; it accepts the request with an
 * endpoint, rejects it or moves it to another listen. The other side connects an endpoint along a path. Each
 * attempt ends with exactly one event, and each connection with exactly one: disconnected or broken (R-01).
 * Clause: [IT 4], [IT 9].
 * @{
 */
/**
 * Kind of connection qualifier; a set of kinds in it_spigot_info_t. Bits. Clause: [IT 9.1].
 */
typedef enum {
	IT_IANA_PORT = 0x01,         /**< A TCP port; the library chooses the local one. */
	IT_IB_SERVICEID = 0x02,      /**< An InfiniBand service id. */
	IT_VIA_DISCRIMINATOR = 0x04, /**< A VIA discriminator; never supported here. */
	IT_IANA_LR_PORT = 0x08       /**< A local and a remote TCP port. */
} it_conn_qual_type_t;

/** InfiniBand service id, network byte order. */
typedef uint64_t it_ib_serviceid_t;

/** VIA discriminator; never supported here. */
typedef struct {
	/** Octets used of `discriminator`. */
	uint16_t len;
	/** The octets. */
	unsigned char discriminator[IT_MAX_VIA_DISC_LEN];
} it_via_discriminator_t;

/** A pair of TCP ports, both in network byte order. */
typedef struct {
	/** Local port. Listening: the service. Connecting: 0 lets the library choose. */
	uint16_t local;
	/** Port of the peer's service; ignored when listening. */
	uint16_t remote;
} it_iana_lr_port_t;

/** Connection qualifier: names a service of a host. */
typedef struct {
	/** Says which member of `conn_qual` is used. */
	it_conn_qual_type_t type;
	/** The qualifier. */
	union {
		/** Port, network byte order. */
		uint16_t port;
		/** InfiniBand service id, network byte order. */
		it_ib_serviceid_t serviceid;
		/** VIA discriminator. */
		it_via_discriminator_t discriminator;
		/** Pair of ports. */
		it_iana_lr_port_t lr_port;
	} conn_qual;
} it_conn_qual_t;

/**
 * Names a connection request until it is accepted, rejected or handed off.
 *
 * Unique in the process for its lifetime, never 0, never used again. Clause: [IT 2.3],
 * [IT 9.4].
 */
typedef uint64_t it_cn_est_identifier_t;

/** @} */

/**
 * @defgroup itapi_ia Adapters and addresses
 * @ingroup itapi
 * @brief Finding, opening and describing adapters; network addresses and paths.
 *
 * An adapter has spigots (ports), each with network addresses. All other objects belong to an adapter and are
 * freed with it. Clause: [IT 2], [IT 10].
 * @{
 */
/** Transport under an adapter. */
typedef enum {
	IT_IB_TRANSPORT = 1,        /**< InfiniBand, or an emulation of it. */
	IT_VIA_IP_TRANSPORT = 2,    /**< VIA over IP; never here. */
	IT_VIA_FC_TRANSPORT = 3,    /**< VIA over Fibre Channel; never here. */
	IT_IWARP_TCP_TRANSPORT = 4, /**< iWARP over TCP, or an emulation of it. */
	IT_VENDOR_TRANSPORT = 1000  /**< First number for transports of vendors. */
} it_transport_type_t;

/** Services of an adapter or endpoint. Bits. */
typedef enum {
	IT_RC_SERVICE = 0x01, /**< Reliable connections. */
	IT_UD_SERVICE = 0x02  /**< Unreliable datagrams. */
} it_transport_service_type_t;

/** Kind of network address. */
typedef enum {
	IT_IPV4 = 1,        /**< IPv4. */
	IT_IPV6 = 2,        /**< IPv6. */
	IT_IB_GID = 3,      /**< InfiniBand global identifier. */
	IT_VIA_HOSTADDR = 4 /**< VIA host address; never supported here. */
} it_net_addr_type_t;

/** Which of two IP addresses is used. */
typedef enum {
	IT_IP_VERS_IPV4 = 1, /**< IPv4. */
	IT_IP_VERS_IPV6 = 2  /**< IPv6. */
} it_ip_vers_t;

/** InfiniBand global identifier; laid out as an IPv6 address. */
typedef struct in6_addr it_ib_gid_t;

/** VIA host address; never supported here. */
typedef struct {
	/** Octets used of `hostaddr`. */
	uint16_t len;
	/** The octets. */
	unsigned char hostaddr[IT_MAX_VIA_ADDR_LEN];
} it_via_net_addr_t;

/** A network address. */
typedef struct {
	/** Says which member of `addr` is used. */
	it_net_addr_type_t addr_type;
	/** The address, network byte order. */
	union {
		/** IPv4 address. */
		struct in_addr ipv4;
		/** IPv6 address. */
		struct in6_addr ipv6;
		/** InfiniBand global identifier. */
		it_ib_gid_t gid;
		/** VIA host address. */
		it_via_net_addr_t via;
	} addr;
} it_net_addr_t;

/** IP address of either version, network byte order. An extension. */
typedef union {
	/** IPv4 address. */
	struct in_addr ipv4;
	/** IPv6 address. */
	struct in6_addr ipv6;
} it_in_addr_t;

/** The two ends of a path over InfiniBand. */
typedef struct {
	/** Key of the partition that has both ends. */
	uint16_t partition_key;
	/** Largest packet, as InfiniBand codes it. */
	uint8_t path_mtu : 4;
	/** Longest lifetime of a packet, as InfiniBand codes it. */
	uint8_t packet_lifetime : 6;
	/** LID of the local port. */
	uint16_t local_port_lid;
	/** LID of the peer's port. */
	uint16_t remote_port_lid;
	/** GID of the local port. */
	it_ib_gid_t local_port_gid;
	/** GID of the peer's port. */
	it_ib_gid_t remote_port_gid;
	/** Highest rate, as InfiniBand codes it. */
	uint8_t packet_rate : 6;
	/** Service level. */
	uint8_t sl : 4;
	/** 1 if both ends are in one subnet. */
	uint8_t subnet_local : 1;
	/** Flow label of the global route. */
	uint32_t flow_label : 20;
	/** Traffic class of the global route. */
	uint8_t traffic_class;
	/** Hop limit of the global route. */
	uint8_t hop_limit;
} it_ib_net_endpoint_t;

/** The other end of a path over VIA; never here. */
typedef it_via_net_addr_t it_via_net_endpoint_t;

/** The two ends of a path over iWARP. */
typedef struct {
	/** Says which member of both addresses is used. */
	it_ip_vers_t ip_vers;
	/** Local address; all zero lets the route decide. */
	it_in_addr_t laddr;
	/** Address of the peer. */
	it_in_addr_t raddr;
} it_iwarp_net_endpoint_t;

/** The two ends of a path; the adapter's transport says which member is used. */
union itx_path_ends {
	/** InfiniBand. */
	it_ib_net_endpoint_t ib;
	/** VIA. */
	it_via_net_endpoint_t via;
	/** iWARP. */
	it_iwarp_net_endpoint_t iwarp;
};

/**
 * A path from a spigot of this adapter to a peer.
 *
 * Plain data: the application may copy it, keep it, or fill one in. Its third member is one union with two names,
 * `remote` (of the standard) and `u` (an extension). Clause: [IT 10].
 */
typedef struct {
	/** Spigot it starts from. */
	size_t spigot_id;
	/**
	 * Time limit of an attempt to connect (microseconds), up to the established connection; 0 =
	 * 20 s. Also of a datagram service request.
	 */
	uint64_t timeout;
	/** Both names reach the same union; portable source says `remote`. */
	ITX_EXTENSION union {
		/** The two ends, as the standard names them. */
		union itx_path_ends remote;
		/** The same, as older sources name them. */
		union itx_path_ends u;
	};
} it_path_t;

/** An adapter that can be opened. */
typedef struct {
	/** Version of the interface it serves, major part. */
	uint32_t major_version;
	/** Version of the interface it serves, minor part. */
	uint32_t minor_version;
	/** Its transport. */
	it_transport_type_t transport_type;
	/** Its name, for it_ia_create(). Zero-terminated. */
	char name[IT_INTERFACE_NAME_SIZE];
} it_interface_t;

/** A spigot: one port of an adapter. */
typedef struct {
	/** Its number: the index in it_ia_info_t.spigot_info. */
	size_t spigot_id;
	/** Longest Send on a connection (octets). */
	size_t max_rc_send_len;
	/** Longest RDMA Write or Read (octets). */
	size_t max_rc_rdma_len;
	/** Longest datagram (octets); 0 without datagrams. */
	size_t max_ud_send_len;
	/** #IT_TRUE while its link is up. */
	it_boolean_t spigot_online;
	/** Qualifiers that it_ep_connect() takes; bits of it_conn_qual_type_t. */
	it_conn_qual_type_t active_side_conn_qual;
	/** Qualifiers that it_listen_create() takes; bits of it_conn_qual_type_t. */
	it_conn_qual_type_t passive_side_conn_qual;
	/** Entries of `net_addr`. */
	size_t num_net_addr;
	/** Its network addresses. */
	it_net_addr_t *net_addr;
} it_spigot_info_t;

/** Maker of an InfiniBand adapter. */
typedef struct {
	/** Vendor id (an OUI). */
	uint32_t vendor : 24;
	/** Device id. */
	uint16_t device;
	/** Revision of the device. */
	uint32_t revision;
} it_vendor_ib_t;

/** Maker of a VIA adapter; never here. */
typedef struct {
	/** Name of the device. */
	char name[64];
	/** Version of the hardware. */
	unsigned long hardware;
	/** Version of the provider. */
	unsigned long provider;
} it_vendor_via_t;

/** Maker of an iWARP adapter. */
typedef struct {
	/** #IT_TRUE if `vid` is valid. */
	it_boolean_t valid_vid;
	/** Text for vendor and device, zero-terminated if it is shorter than its room. */
	unsigned char vid[64];
} it_vendor_iwarp_tcp_t;

/**
 * Description of an open adapter.
 *
 * it_ia_query() makes one and it_ia_info_free() frees it. Its values are fixed for the life of the adapter, except
 * whether spigots are online and the two EVD handles. Where transports differ, a member says what this adapter
 * does; programs branch on it and not on the name of the adapter.
 * Clause: [IT 15.1], [IT 16].
 */
typedef struct {
	/** Name it was opened by. */
	char *ia_name;
	/** Version of the interface, major part. */
	uint32_t api_major_version;
	/** Version of the interface, minor part. */
	uint32_t api_minor_version;
	/** Version of the provider, major part. */
	uint32_t sw_major_version;
	/** Version of the provider, minor part. */
	uint32_t sw_minor_version;
	/** Maker; `transport_type` says which member is used. */
	union {
		/** InfiniBand. */
		it_vendor_ib_t ib;
		/** VIA. */
		it_vendor_via_t via;
		/** iWARP. */
		it_vendor_iwarp_tcp_t iwarp;
	} vendor;
	/** Buffers aligned to this move fastest (bytes). */
	uint32_t dto_alignment_hint;
	/** Its transport. */
	it_transport_type_t transport_type;
	/** Its services; bits of it_transport_service_type_t. */
	it_transport_service_type_t supported_service_types;
	/** it_ep_modify() may change the sizes of an endpoint's queues. */
	it_boolean_t ep_work_queues_resizable;
	/** #IT_CONNECT_FLAG_THREE_WAY works. */
	it_boolean_t three_way_handshake_support;
	/** Some connection message carries private data. */
	it_boolean_t private_data_support;
	/** Connection requests report the peer's largest message. */
	it_boolean_t max_message_size_support;
	/**
	 * Connection messages exchange IRD and ORD. Replaces two members of Issue 1.0, whose names
	 * still work.
	 */
	it_boolean_t ird_ord_ia_support;
	/** That exchange can be left out. */
	it_boolean_t ird_ord_suppressible;
	/** #IT_ASYNC_UNAFF_SPIGOT_ONLINE is raised. */
	it_boolean_t spigot_online_support;
	/** #IT_ASYNC_UNAFF_SPIGOT_OFFLINE is raised. */
	it_boolean_t spigot_offline_support;
	/** Most private data of it_ep_connect() (octets). */
	size_t connect_private_data_len;
	/** Most private data of it_ep_accept() (octets). */
	size_t accept_private_data_len;
	/** Most private data of it_reject() (octets). */
	size_t reject_private_data_len;
	/** Most private data of it_ep_disconnect() (octets). */
	size_t disconnect_private_data_len;
	/** Most private data of a datagram service request (octets). */
	size_t ud_req_private_data_len;
	/** Most private data of a datagram service reply (octets). */
	size_t ud_rep_private_data_len;
	/** Entries of `spigot_info`. */
	size_t num_spigots;
	/** Its spigots; the index is the spigot's number. */
	it_spigot_info_t *spigot_info;
	/** EVD of the affiliated asynchronous events now; #IT_NULL_HANDLE if none. */
	it_evd_handle_t affiliated_err_evd;
	/** EVD of the unaffiliated asynchronous events now; #IT_NULL_HANDLE if none. */
	it_evd_handle_t unaffiliated_err_evd;
	/** Shared receive queues work. */
	it_boolean_t srq_support;
	/** The hard high watermark works. */
	it_boolean_t hard_hi_watermark_support;
	/** The soft high watermark works. */
	it_boolean_t soft_hi_watermark_support;
	/** it_srq_modify() may change the size. */
	it_boolean_t srq_resizable;
	/** The provider itself holds an endpoint through the start-up of RDMA mode. */
	it_boolean_t extended_iwarp_qp_states;
	/** it_socket_convert() works. */
	it_boolean_t socket_conversion_support;
	/** it_ep_modify() may raise ORD (lowering it always works). */
	it_boolean_t rdma_read_ord_increasable;
	/** it_ep_modify() may change IRD. */
	it_boolean_t rdma_read_ird_modifiable;
	/** Reaches that RMRs can have; bits of it_rmr_type_t. */
	it_rmr_type_t rmr_types_supported;
	/** Regions of relative mode work. */
	it_boolean_t addr_mode_relative_support;
	/**
	 * The sink of an RDMA Read needs #IT_PRIV_REMOTE_WRITE and the endpoint rdma_write_enable.
	 */
	it_boolean_t rdma_read_requires_remote_write;
	/** it_ep_modify() may change what peers may do. */
	it_boolean_t ep_rdma_enables_modifiable;
	/** it_post_rdma_read_to_rmr() and #IT_UNLINK_LOCAL_SINK work. */
	it_boolean_t rdma_read_local_extensions;
	/** An overflow of a data transfer EVD is noticed. */
	it_boolean_t dto_evd_overflow_detection;
	/** it_post_atomic() works. */
	it_boolean_t atomic_support;
	/**
	 * it_lmr_create_unlinked(), it_lmr_link() and it_lmr_unlink() work, given the privilege.
	 */
	it_boolean_t lmr_link_support;
	/** `direct_lmr_handle` is valid, given the privilege. */
	it_boolean_t direct_lmr_handle_support;
	/** LMR for segments given by I/O address. */
	it_lmr_handle_t direct_lmr_handle;
	/** it_post_send_and_unlink() works. */
	it_boolean_t post_send_unlink_remote_support;
	/** it_rmr_unlink() works on narrow RMRs. */
	it_boolean_t narrow_rmr_unlink_support;
	/** it_rmr_unlink() works on wide RMRs. */
	it_boolean_t wide_rmr_unlink_support;
	/** #IT_UNLINK_FENCE_FLAG works. */
	it_boolean_t unlink_fence_support;
	/** Shapes of I/O buffer lists it takes; bits of it_iobl_type_t. */
	it_iobl_type_t iobl_types_supported;
} it_ia_info_t;

/**
 * @brief Lists the adapters that can be opened.
 *
 * Fills as many records as there is room for and says how many there are. It is a snapshot, since adapters may
 * come and go. It cannot fail; without adapters both numbers are 0.
 *
 * - Thread: any, several at once.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events: none.
 * - Clause: [IT 15.1.1].
 *
 * @param[out] interfaces the records; may be NULL with room for none
 * @param[in,out] num_interfaces in: records there is room for; out: records filled. NULL counts as
 *     room for none
 * @param[in,out] total_interfaces adapters present; may be NULL
 *
 * @par Example
 * @snippet calls.c it_interface_list
 *
 * @see it_ia_create(), it_ia_query()
 */
void it_interface_list(OUT it_interface_t *interfaces, IN OUT size_t *num_interfaces,
		       IN OUT size_t *total_interfaces);

/**
 * @brief Opens an adapter.
 *
 * Every call creates a new IA, for the same name too. The library serves versions 1.0, 2.0 and 2.1 of the
 * interface, with whatever bindings the program was compiled.
 *
 * Names: `iwarp` covers every network interface, with a spigot for each; `iwarp:<interface>` is one of them;
 * `ib:<device>` is an RDMA device of the kernel, where that provider is installed; `emul:ib` and `emul:iwarp` are the
 * emulated fabric of this process. Other providers have names of their own, and a configuration file may add aliases.
 *
 * - Thread: any, several at once.
 * - Blocks: may sleep (class W); not allowed in an EVD callback.
 * - Events: none.
 * - Clause: [IT 15.1.2].
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] name name of the adapter, as it_interface_list() returns it; zero-terminated
 * @param[in] major_version version of the interface the program was written for, major part
 * @param[in] minor_version its minor part
 * @param[out] ia_handle the open adapter
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_NAME No adapter has this name, or it is too long. The log says whether its provider is missing or was
 *     refused, or which name is near.
 * @retval IT_ERR_INVALID_MAJOR_VERSION Neither 1 nor 2.
 * @retval IT_ERR_INVALID_MINOR_VERSION Not 0 with major version 1; neither 0 nor 1 with major
 *     version 2.
 * @retval IT_ERR_NO_PERMISSION The kAL does not admit this process.
 * @retval IT_ERR_RESOURCES Memory or descriptors ran out, or the provider could not open its
 *     device.
 * @retval IT_ERR_FAULT @p name or @p ia_handle is NULL.
 *
 * @par Example
 * @snippet calls.c it_ia_create
 *
 * @see it_interface_list(), it_ia_query(), it_ia_free(), it_pz_create(), it_evd_create()
 */
it_status_t it_ia_create(IN const char *name, IN uint32_t major_version, IN uint32_t minor_version,
			 OUT it_ia_handle_t *ia_handle);

/**
 * @brief Closes an adapter and frees everything that belongs to it.
 *
 * In this order: new calls are refused; waiters return IT_ERR_ABORT, callbacks are detached,
 * descriptors closed; unanswered requests are rejected, attempts and connections aborted; all
 * objects are destroyed without events. It does not wait for peers. It works after a catastrophe too. Do not
 * call it from an EVD callback.
 *
 * - Thread: any; no other call may still use the object.
 * - Blocks: may sleep (class W); not allowed in an EVD callback.
 * - Events at the peer: #IT_CM_MSG_CONN_BROKEN_EVENT or #IT_CM_MSG_CONN_DISCONNECT_EVENT on
 *   connections, #IT_CM_MSG_CONN_NONPEER_REJECT_EVENT on attempts.
 * - Clause: [IT 15.1.3]; [IT 2.2], [IT 2.4].
 * - Also: IT_ERR_ABORT; see @ref itapi_results.
 *
 * @param[in] ia_handle the adapter
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_IA Not the handle of an open adapter, such as that of a closed one.
 *
 * @par Example
 * @snippet calls.c it_ia_free
 *
 * @see it_ia_create(), it_pz_free(), it_evd_free()
 */
it_status_t it_ia_free(IN it_ia_handle_t ia_handle);

/**
 * @brief Describes an adapter.
 *
 * The record and its arrays are one allocation of the library; free it with it_ia_info_free(). Values are fixed
 * for the adapter's life, except whether spigots are online and the two EVD handles.
 *
 * - Thread: any, several at once.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events: none.
 * - Clause: [IT 15.1.4].
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] ia_handle the adapter
 * @param[out] ia_info the record
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_IA Not the handle of an open adapter.
 * @retval IT_ERR_RESOURCES No memory for the record.
 * @retval IT_ERR_FAULT @p ia_info is NULL.
 *
 * @par Example
 * @snippet calls.c it_ia_query
 *
 * @see it_ia_info_free(), it_ia_create(), itx_ia_query_support()
 */
it_status_t it_ia_query(IN it_ia_handle_t ia_handle, OUT it_ia_info_t **ia_info);

/**
 * @brief Frees a record of it_ia_query().
 *
 * The adapter may be closed already.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - Events: none.
 * - Clause: [IT 15.1.5].
 *
 * @param[in] ia_info the record; NULL is allowed
 *
 * @par Example
 * @snippet calls.c it_ia_query
 *
 * @see it_ia_query()
 */
void it_ia_info_free(IN it_ia_info_t *ia_info);

/**
 * @brief Finds the paths from a spigot to a network address.
 *
 * Over iWARP the host's routing decides: there are paths if the route to the peer leads through the spigot's interface.
 * The first has the source address that the host would take, the others have further addresses of the spigot. Over
 * InfiniBand the call queries the fabric and may sleep. Without a route the call succeeds with no path, so a program that
 * only wants to reach the peer tries one spigot after another. A path is plain data, and is valid as long as the network
 * does not change.
 *
 * - Thread: any, several at once.
 * - Blocks: may sleep (class W); not allowed in an EVD callback.
 * - Events: none.
 * - Clause: [IT 15.1.11]; [IT 10].
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] ia_handle the adapter
 * @param[in] spigot_id number of the spigot
 * @param[in] net_addr address of the peer
 * @param[in,out] num_paths in: paths there is room for; out: paths filled
 * @param[out] total_paths paths there are
 * @param[out] paths the paths; may be NULL with room for none
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_IA Not the handle of an open adapter.
 * @retval IT_ERR_INVALID_SPIGOT The adapter has no spigot with this number.
 * @retval IT_ERR_INVALID_NETADDR The address is malformed or of a kind this adapter cannot use.
 * @retval IT_ERR_RESOURCES Memory ran out.
 * @retval IT_ERR_FAULT @p net_addr, @p num_paths or @p total_paths is NULL, or @p paths is NULL
 *     with room for some.
 *
 * @par Example
 * @snippet calls.c it_get_pathinfo
 *
 * @see it_ep_connect(), it_address_handle_create(), it_ia_query(), it_convert_net_addr()
 */
it_status_t it_get_pathinfo(IN it_ia_handle_t ia_handle, IN size_t spigot_id,
			    IN const it_net_addr_t *net_addr, IN OUT size_t *num_paths,
			    OUT size_t *total_paths, OUT it_path_t *paths);

/**
 * @brief Converts a network address to another kind.
 *
 * Between IPv4 and IPv4-mapped IPv6, and between these and the InfiniBand identifier that embeds
 * them. It uses no network.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - Events: none.
 * - Clause: [IT 15.1.12]; [IT 10].
 *
 * @param[in] source_addr the address
 * @param[in] addr_type kind wanted
 * @param[out] destination_addr the address of that kind
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_NETADDR The source is of no known kind.
 * @retval IT_ERR_INVALID_CONVERSION No rule leads from this address to that kind, or the kind is
 *     unknown.
 * @retval IT_ERR_FAULT @p source_addr or @p destination_addr is NULL.
 *
 * @par Example
 * @snippet calls.c it_convert_net_addr
 *
 * @see it_get_pathinfo(), it_ia_query()
 */
it_status_t it_convert_net_addr(IN const it_net_addr_t *source_addr,
				IN it_net_addr_type_t addr_type,
				OUT it_net_addr_t *destination_addr);

/** @} */

/**
 * @defgroup itapi_srq Shared receive queues
 * @ingroup itapi
 * @brief Receives that several endpoints take from.
 *
 * Clause: [IT 12].
 * @{
 */
/** Parameters of a shared receive queue. */
typedef struct {
	/** Its adapter. */
	it_ia_handle_t ia;
	/** Its protection zone; buffers posted to it must be of this zone. */
	it_pz_handle_t pz;
	/** Most receives outstanding. */
	size_t max_recv_dtos;
	/** Most segments of one receive. */
	size_t max_recv_segs;
	/**
	 * Raises #IT_ASYNC_AFF_SRQ_LOW_WATERMARK once when fewer receives are left; 0 = off, also
	 * once it was raised.
	 */
	size_t low_watermark;
} it_srq_param_t;

/** Which members of it_srq_param_t are wanted or to be changed. Bits. */
typedef enum {
	IT_SRQ_PARAM_ALL = 0x01,          /**< All (queries only). */
	IT_SRQ_PARAM_IA = 0x02,           /**< it_srq_param_t.ia */
	IT_SRQ_PARAM_PZ = 0x04,           /**< it_srq_param_t.pz */
	IT_SRQ_PARAM_MAX_RECV_DTO = 0x08, /**< it_srq_param_t.max_recv_dtos; modifiable */
	IT_SRQ_PARAM_MAX_RECV_SEG = 0x10, /**< it_srq_param_t.max_recv_segs */
	IT_SRQ_PARAM_LOW_WATERMARK = 0x20 /**< it_srq_param_t.low_watermark; modifiable */
} it_srq_param_mask_t;

/**
 * @brief Creates a shared receive queue.
 *
 * An endpoint is tied to it at its creation, with #IT_EP_SRQ, for life. Its low watermark is off.
 * it_post_recv() with its handle posts receives; their buffers are of the queue's zone, whatever zone
 * the endpoints are of. Each message takes one receive, no matter which; the completion names the
 * endpoint that it came through and the receive's cookie. A receive counts as outstanding until its
 * completion has been dequeued.
 *
 * A message that finds the queue empty waits for a bounded time, without delaying other connections; a new
 * receive goes to the connection that has waited longest. When the time is over, the connection breaks (R-34).
 *
 * - Thread: any, several at once.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events: none.
 * - Clause: [IT 15.8.1]; [IT 12].
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] pz_handle the protection zone
 * @param[in] max_recv_segments most segments of one receive
 * @param[in] max_recv_dtos most receives outstanding; at least so many are granted
 * @param[out] srq_handle the new queue
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_PZ Not the handle of a protection zone, or not the one that the objects
 *     share.
 * @retval IT_ERR_SRQ_NOT_SUPPORTED it_ia_info_t.srq_support says no.
 * @retval IT_ERR_RESOURCE_RSEG More segments than the adapter allows.
 * @retval IT_ERR_INVALID_SRQ_SIZE 0 receives.
 * @retval IT_ERR_RESOURCE_RECV_DTO More receives than the adapter allows.
 * @retval IT_ERR_RESOURCES Memory or queues of the adapter ran out.
 * @retval IT_ERR_FAULT @p srq_handle is NULL.
 *
 * @par Example
 * @snippet calls_data.c it_srq_create
 *
 * @see it_srq_free(), it_srq_modify(), it_srq_query(), it_ep_rc_create(), it_post_recv(),
 *     #IT_ASYNC_AFF_SRQ_LOW_WATERMARK
 */
it_status_t it_srq_create(IN it_pz_handle_t pz_handle, IN size_t max_recv_segments,
			  IN size_t max_recv_dtos, OUT it_srq_handle_t *srq_handle);

/**
 * @brief Frees a shared receive queue; unused receives get no completions.
 *
 * When a connection ends, the receives that its messages have not taken stay in the queue.
 *
 * - Thread: any; no other call may still use the object.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events: none.
 * - Clause: [IT 15.8.2]; [IT 2.2].
 * - Also: IT_ERR_ABORT; see @ref itapi_results.
 *
 * @param[in] srq_handle the S-RQ
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_SRQ Not the handle of a shared receive queue of this adapter.
 * @retval IT_ERR_SRQ_BUSY An endpoint is tied to it.
 * @see it_srq_create(), it_ep_free()
 */
it_status_t it_srq_free(IN it_srq_handle_t srq_handle);

/**
 * @brief Changes the size or arms the low watermark.
 *
 * An armed watermark raises one event when fewer receives than it are available, at once if that is so already;
 * then it is off until it is armed again. 0 turns it off. A new size keeps the receives that are posted; at
 * least that size is granted, and an armed watermark must fit it.
 *
 * - Thread: any, several at once.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events here: #IT_ASYNC_AFF_SRQ_LOW_WATERMARK, possibly at once.
 * - Clause: [IT 15.8.3]; [IT 12].
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] srq_handle the S-RQ
 * @param[in] mask what to change: max_recv_dtos, low_watermark. All or nothing
 * @param[in] params the new values
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_SRQ Not the handle of a shared receive queue of this adapter.
 * @retval IT_ERR_INVALID_MASK No bit, or one that cannot be changed.
 * @retval IT_ERR_OP_NOT_SUPPORTED A new size where it_ia_info_t.srq_resizable says no.
 * @retval IT_ERR_INVALID_SRQ_SIZE Below what is outstanding.
 * @retval IT_ERR_RESOURCE_RECV_DTO More receives than the adapter allows.
 * @retval IT_ERR_SRQ_LOW_WATERMARK The watermark is above the size.
 * @retval IT_ERR_RESOURCES Memory ran out.
 * @retval IT_ERR_FAULT @p params is NULL.
 * @see it_srq_create(), it_srq_query(), #IT_ASYNC_AFF_SRQ_LOW_WATERMARK
 */
it_status_t it_srq_modify(IN it_srq_handle_t srq_handle, IN it_srq_param_mask_t mask,
			  IN const it_srq_param_t *params);

/**
 * @brief Queries the parameters of a shared receive queue.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F); for the low watermark for a provider or kAL round trip (class M).
 * - Events: none.
 * - Clause: [IT 15.8.4]; [IT 12].
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] srq_handle the S-RQ
 * @param[in] mask which members of @p params to write: any union of the bits, or the ALL bit
 *     alone
 * @param[out] params where the values go; members that were not asked for are not written
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_SRQ Not the handle of a shared receive queue of this adapter.
 * @retval IT_ERR_INVALID_MASK The mask has a bit that the call does not allow.
 * @retval IT_ERR_FAULT @p params is NULL.
 * @see it_srq_create(), it_srq_modify()
 */
it_status_t it_srq_query(IN it_srq_handle_t srq_handle, IN it_srq_param_mask_t mask,
			 OUT it_srq_param_t *params);

/** @} */

/**
 * @defgroup itapi_ep Endpoints
 * @ingroup itapi
 * @brief Creating, changing, resetting and freeing endpoints; their states.
 *
 * | state           | connect | accept      | disconnect | reset          | request | receive |
 * |-----------------|---------|-------------|------------|----------------|---------|---------|
 * | unconnected     | yes     | a request   | bad        | nothing        | bad     | kept    |
 * | active-1        | bad     | bad         | aborts     | bad            | bad     | kept    |
 * | active-2        | bad     | its arrival | aborts     | bad            | bad     | kept    |
 * | passive pending | bad     | bad         | aborts     | bad            | bad     | kept    |
 * | passive wait    | bad     | bad         | aborts     | bad            | bad     | kept    |
 * | connected       | bad     | bad         | yes        | bad            | runs    | runs    |
 * | non-operational | bad     | bad         | nothing    | when quiescent | flushed | flushed |
 *
 * "Bad" is IT_ERR_INVALID_EP_STATE, "nothing" succeeds without effect. Freeing works in every
 * state. Clause: [IT 3], [IT 4], [IT 5].
 * @{
 */
/**
 * State of a connected endpoint. Clause: [IT 4].
 *
 * There is no state for disconnecting: from it_ep_disconnect() on the endpoint is non-operational
 * (R-02).
 */
typedef enum {
	/** New or reset: may connect, accept or convert. Receives may be posted. */
	IT_EP_STATE_UNCONNECTED = 0,
	/** The request is sent; the answer is awaited. */
	IT_EP_STATE_ACTIVE1_CONNECTION_PENDING = 1,
	/** The peer accepted; the application must accept or reject that (three-way). */
	IT_EP_STATE_ACTIVE2_CONNECTION_PENDING = 2,
	/** A request is accepted; the connection is not yet established. */
	IT_EP_STATE_PASSIVE_CONNECTION_PENDING = 3,
	/** Data flows. */
	IT_EP_STATE_CONNECTED = 4,
	/** Ended, or ending: posts are taken and flushed. it_ep_reset() makes it unconnected. */
	IT_EP_STATE_NONOPERATIONAL = 5,
	/** A converted socket waits for the peer's request to enter RDMA mode. */
	IT_EP_STATE_PASSIVE_WAIT_RDMA_TRANS_REQ = 6
} it_ep_state_rc_t;

/** State of a datagram endpoint. Clause: [IT 5], R-24. */
typedef enum {
	IT_EP_STATE_UD_NONOPERATIONAL = 0, /**< Failed: posts are taken and flushed. */
	IT_EP_STATE_UD_OPERATIONAL = 1     /**< Datagrams flow; so it is created. */
} it_ep_state_ud_t;

/** State of an endpoint; it_ep_param_t.service_type says which member is used. */
typedef union {
	/** Connected endpoint. */
	it_ep_state_rc_t rc;
	/** Datagram endpoint. */
	it_ep_state_ud_t ud;
} it_ep_state_t;

/** Kind of a connected endpoint. Bits. */
typedef enum {
	/** Nothing special. */
	IT_EP_NO_FLAG = 0x00,
	/** May be used again, or its local port bound again, during time-wait. */
	IT_EP_REUSEADDR = 0x01,
	/** Takes its receives from the S-RQ of its attributes, for life. */
	IT_EP_SRQ = 0x02
} it_ep_rc_creation_flags_t;

/** Attributes of connected endpoints alone. Clause: [IT 3]. */
typedef struct {
	/** Whether the peer may read. */
	it_boolean_t rdma_read_enable;
	/**
	 * Whether the peer may write. The endpoint that posts RDMA Reads needs it as well where
	 * it_ia_info_t.rdma_read_requires_remote_write says so.
	 */
	it_boolean_t rdma_write_enable;
	/** Most segments of one RDMA Read. */
	size_t max_rdma_read_segments;
	/** Most segments of one RDMA Write. */
	size_t max_rdma_write_segments;
	/** RDMA Reads and atomics of the peer served at once (IRD). Granted exactly; 0 = the peer can run none. */
	uint32_t rdma_read_ird;
	/**
	 * RDMA Reads and atomics outstanding at once (ORD); more wait. Granted exactly, and lowered to the
	 * peer's IRD when the connection is made. With 0 each Read and atomic fails with #IT_DTO_ERR_LOCAL_EP.
	 */
	uint32_t rdma_read_ord;
	/** S-RQ for receives, with #IT_EP_SRQ; else ignored. */
	it_srq_handle_t srq;
	/**
	 * Raises #IT_ASYNC_AFF_EP_SOFT_HI_WATERMARK once when more receives are in progress; 0 =
	 * off. Ignored without an S-RQ. In progress is a receive that a message of this endpoint has taken
	 * and whose completion has not been dequeued.
	 */
	size_t soft_hi_watermark;
	/**
	 * Breaks the connection when more receives are in progress; #IT_HARD_HI_WATERMARK_DISABLE =
	 * off. Ignored without an S-RQ. With one, 0 is refused, so a program that wants no limit sets the
	 * constant.
	 */
	size_t hard_hi_watermark;
	/** Whether the peer may run atomics. */
	it_boolean_t atomics_enable;
} it_rc_only_attributes_t;

/** Number of a datagram endpoint on its spigot. */
typedef uint32_t it_ud_ep_id_t;

/**
 * Key that a datagram must carry to be received. Those with the highest bit are for privileged
 * processes (it_ep_ud_create()).
 */
typedef uint32_t it_ud_ep_key_t;

/** What a sender needs to reach a datagram endpoint. */
typedef struct {
	/** Its number. */
	it_ud_ep_id_t ud_ep_id;
	/** Its key. */
	it_ud_ep_key_t ud_ep_key;
} it_remote_ep_info_t;

/** Attributes of datagram endpoints alone. */
typedef struct {
	/** Number (an output) and key of the endpoint. */
	it_remote_ep_info_t ep_info;
} it_ud_only_attributes_t;

/** Attributes by kind of endpoint. */
typedef union {
	/** Connected endpoint. */
	it_rc_only_attributes_t rc;
	/** Datagram endpoint. */
	it_ud_only_attributes_t ud;
} it_service_attributes_t;

/**
 * Attributes of an endpoint. Clause: [IT 3].
 *
 * Queues and segments are granted at least as asked for; it_ep_query() returns the real numbers.
 */
typedef struct {
	/** Longest transfer (octets); 0 = as long as the spigot allows. */
	size_t max_dto_payload_size;
	/** Most requests outstanding. */
	size_t max_request_dtos;
	/** Most receives outstanding; ignored with an S-RQ. */
	size_t max_recv_dtos;
	/** Most segments of one Send. */
	size_t max_send_segments;
	/** Most segments of one receive. */
	size_t max_recv_segments;
	/** Attributes by kind of endpoint. */
	it_service_attributes_t srv;
	/** Opens privileged operations on this endpoint; needs the privilege. */
	it_boolean_t priv_ops_enable;
} it_ep_attributes_t;

/** Parameters of an endpoint. */
typedef struct {
	/** Its adapter. */
	it_ia_handle_t ia;
	/** Spigot of its datagrams, or of its connection from connecting or accepting to reset. */
	size_t spigot_id;
	/** Its state at the instant of the call. */
	it_ep_state_t ep_state;
	/** Its kind. */
	it_transport_service_type_t service_type;
	/** Path to the peer; valid from connecting or accepting to reset. */
	it_path_t dst_path;
	/** Its protection zone. */
	it_pz_handle_t pz;
	/** EVD of its requests. */
	it_evd_handle_t request_sevd;
	/** EVD of its receives. */
	it_evd_handle_t recv_sevd;
	/** EVD of its connection events; NULL for datagrams. */
	it_evd_handle_t connect_sevd;
	/** Its attributes as they are. */
	it_ep_attributes_t attr;
} it_ep_param_t;

/** Which members of it_ep_param_t are wanted or to be changed. Bits. Clause: [IT 3]. */
typedef enum {
	/** All (queries only). */
	IT_EP_PARAM_ALL = 0x00000001,
	/** it_ep_param_t.ia */
	IT_EP_PARAM_IA = 0x00000002,
	/** it_ep_param_t.spigot_id */
	IT_EP_PARAM_SPIGOT = 0x00000004,
	/** it_ep_param_t.ep_state */
	IT_EP_PARAM_STATE = 0x00000008,
	/** it_ep_param_t.service_type */
	IT_EP_PARAM_SERV_TYPE = 0x00000010,
	/** it_ep_param_t.dst_path */
	IT_EP_PARAM_PATH = 0x00000020,
	/** it_ep_param_t.pz */
	IT_EP_PARAM_PZ = 0x00000040,
	/** it_ep_param_t.request_sevd */
	IT_EP_PARAM_REQ_SEVD = 0x00000080,
	/** it_ep_param_t.recv_sevd */
	IT_EP_PARAM_RECV_SEVD = 0x00000100,
	/** it_ep_param_t.connect_sevd */
	IT_EP_PARAM_CONN_SEVD = 0x00000200,
	/** it_rc_only_attributes_t.rdma_read_enable; modifiable */
	IT_EP_PARAM_RDMA_RD_ENABLE = 0x00000400,
	/** it_rc_only_attributes_t.rdma_write_enable; modifiable */
	IT_EP_PARAM_RDMA_WR_ENABLE = 0x00000800,
	/** it_rc_only_attributes_t.max_rdma_read_segments; modifiable */
	IT_EP_PARAM_MAX_RDMA_READ_SEG = 0x00001000,
	/** it_rc_only_attributes_t.max_rdma_write_segments; modifiable */
	IT_EP_PARAM_MAX_RDMA_WRITE_SEG = 0x00002000,
	/** it_rc_only_attributes_t.rdma_read_ird; modifiable */
	IT_EP_PARAM_MAX_IRD = 0x00004000,
	/** it_rc_only_attributes_t.rdma_read_ord; modifiable */
	IT_EP_PARAM_MAX_ORD = 0x00008000,
	/** it_remote_ep_info_t.ud_ep_id */
	IT_EP_PARAM_EP_ID = 0x00010000,
	/** it_remote_ep_info_t.ud_ep_key; modifiable */
	IT_EP_PARAM_EP_KEY = 0x00020000,
	/** it_ep_attributes_t.max_dto_payload_size; modifiable */
	IT_EP_PARAM_MAX_PAYLOAD = 0x00040000,
	/** it_ep_attributes_t.max_request_dtos; modifiable */
	IT_EP_PARAM_MAX_REQ_DTO = 0x00080000,
	/** it_ep_attributes_t.max_recv_dtos; modifiable */
	IT_EP_PARAM_MAX_RECV_DTO = 0x00100000,
	/** it_ep_attributes_t.max_send_segments; modifiable */
	IT_EP_PARAM_MAX_SEND_SEG = 0x00200000,
	/** it_ep_attributes_t.max_recv_segments; modifiable */
	IT_EP_PARAM_MAX_RECV_SEG = 0x00400000,
	/** it_rc_only_attributes_t.srq */
	IT_EP_PARAM_SRQ = 0x00800000,
	/** it_rc_only_attributes_t.soft_hi_watermark; modifiable */
	IT_EP_PARAM_SOFT_HI_WATERMARK = 0x01000000,
	/** it_rc_only_attributes_t.hard_hi_watermark; modifiable */
	IT_EP_PARAM_HARD_HI_WATERMARK = 0x02000000,
	/** it_rc_only_attributes_t.atomics_enable; modifiable */
	IT_EP_PARAM_ATOMICS_ENABLE = 0x04000000,
	/** it_ep_attributes_t.priv_ops_enable */
	IT_EP_PARAM_PRIV_OPS_ENABLE = 0x08000000
} it_ep_param_mask_t;

/**
 * @brief Creates an endpoint for connections, unconnected.
 *
 * All three EVDs are mandatory; one EVD may serve several endpoints, and both requests and
 * receives. Queues and segments are granted at least as asked, IRD and ORD exactly.
 *
 * - Thread: any, several at once.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events: none.
 * - Clause: [IT 15.4.1]; [IT 3]; R-20.
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] pz_handle the protection zone
 * @param[in] request_sevd_handle simple EVD of the data transfer stream for requests
 * @param[in] recv_sevd_handle simple EVD of the data transfer stream for receives
 * @param[in] connect_sevd_handle simple EVD of the connection message stream
 * @param[in] flags bits of it_ep_rc_creation_flags_t
 * @param[in] ep_attr attributes; it_service_attributes_t.rc counts
 * @param[out] ep_handle the new endpoint
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_PZ Not the handle of a protection zone, or not the one that the objects
 *     share.
 * @retval IT_ERR_INVALID_REQ_EVD Not an EVD of the data transfer stream of this adapter (request
 *     side).
 * @retval IT_ERR_INVALID_RECV_EVD Not an EVD of the data transfer stream of this adapter (receive
 *     side).
 * @retval IT_ERR_INVALID_CONN_EVD Not a simple EVD of the connection message stream of this
 *     adapter.
 * @retval IT_ERR_INVALID_REQ_EVD_STATE The request EVD has overflowed.
 * @retval IT_ERR_INVALID_RECV_EVD_STATE The receive EVD has overflowed.
 * @retval IT_ERR_INVALID_FLAGS Unknown bits.
 * @retval IT_ERR_INVALID_EP_ATTR An attribute is out of range, or the provider cannot enable what
 *     is asked.
 * @retval IT_ERR_INVALID_SRQ #IT_EP_SRQ without a valid S-RQ of this adapter in the attributes.
 * @retval IT_ERR_SRQ_NOT_SUPPORTED #IT_EP_SRQ where it_ia_info_t.srq_support says no.
 * @retval IT_ERR_INVALID_WATERMARK The soft watermark is above the hard one or above the size of
 *     the S-RQ.
 * @retval IT_ERR_SOFT_HI_WATERMARK Asked for where it_ia_info_t.soft_hi_watermark_support says no.
 * @retval IT_ERR_HARD_HI_WATERMARK Asked for where it_ia_info_t.hard_hi_watermark_support says no,
 *     or 0.
 * @retval IT_ERR_PAYLOAD_SIZE Longer than every spigot allows.
 * @retval IT_ERR_RESOURCE_REQ_DTO Beyond the adapter: outstanding requests.
 * @retval IT_ERR_RESOURCE_RECV_DTO Beyond the adapter: outstanding receives.
 * @retval IT_ERR_RESOURCE_SSEG Beyond the adapter: segments of one Send.
 * @retval IT_ERR_RESOURCE_RSEG Beyond the adapter: segments of one receive.
 * @retval IT_ERR_RESOURCE_RRSEG More segments of one RDMA Read than the adapter allows.
 * @retval IT_ERR_RESOURCE_RWSEG Beyond the adapter: segments of one RDMA Write.
 * @retval IT_ERR_RESOURCE_IRD Beyond the adapter: inbound RDMA Reads.
 * @retval IT_ERR_RESOURCE_ORD Beyond the adapter: outbound RDMA Reads.
 * @retval IT_ERR_PRIV_OPS_UNAVAILABLE priv_ops_enable without the privilege.
 * @retval IT_ERR_RESOURCES Memory or queue pairs of the adapter ran out.
 * @retval IT_ERR_FAULT @p ep_attr or @p ep_handle is NULL.
 *
 * @par Example
 * @snippet calls.c it_ep_rc_create
 *
 * @see it_ep_connect(), it_ep_accept(), it_ep_query(), it_ep_modify(), it_ep_free(),
 *     it_srq_create()
 */
it_status_t it_ep_rc_create(IN it_pz_handle_t pz_handle, IN it_evd_handle_t request_sevd_handle,
			    IN it_evd_handle_t recv_sevd_handle,
			    IN it_evd_handle_t connect_sevd_handle,
			    IN it_ep_rc_creation_flags_t flags,
			    IN const it_ep_attributes_t *ep_attr, OUT it_ep_handle_t *ep_handle);

/**
 * @brief Creates an endpoint for datagrams, operational.
 *
 * It sends and receives at once, without a connection, until it fails or is freed. it_ep_query() tells its
 * number on the spigot. One EVD may serve several endpoints, and both requests and receives. Queues and segments
 * are granted at least as asked. A key with the highest bit set is a controlled one: it needs the privilege,
 * here and wherever it is used.
 *
 * A datagram may be lost without notice. A request or receive that fails on this side, or an EVD that overflows,
 * makes the endpoint non-operational: after the completions an affiliated event says so, and it_ep_reset() makes
 * it operational again.
 *
 * - Thread: any, several at once.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events here, later: #IT_ASYNC_AFF_EP_L_ACCESS_VIOLATION, #IT_ASYNC_AFF_EP_SEVD_FULL_ERROR,
 *   #IT_ASYNC_AFF_EP_FAILURE.
 * - Clause: [IT 15.4.2]; [IT 3], [IT 5]; R-24, R-27.
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] pz_handle the protection zone
 * @param[in] request_sevd_handle simple EVD of the data transfer stream for requests
 * @param[in] recv_sevd_handle simple EVD of the data transfer stream for receives
 * @param[in] ep_attr attributes; it_service_attributes_t.ud counts, with the key to start with; the
 *     number in it is ignored, and so is the S-RQ of connected endpoints
 * @param[in] spigot_id number of the spigot
 * @param[out] ep_handle the new endpoint
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_OP_NOT_SUPPORTED The adapter has no datagrams (iWARP never has).
 * @retval IT_ERR_INVALID_PZ Not the handle of a protection zone, or not the one that the objects
 *     share.
 * @retval IT_ERR_INVALID_REQ_EVD Not an EVD of the data transfer stream of this adapter (request
 *     side).
 * @retval IT_ERR_INVALID_RECV_EVD Not an EVD of the data transfer stream of this adapter (receive
 *     side).
 * @retval IT_ERR_INVALID_REQ_EVD_STATE The request EVD has overflowed.
 * @retval IT_ERR_INVALID_RECV_EVD_STATE The receive EVD has overflowed.
 * @retval IT_ERR_INVALID_EP_ATTR An endpoint attribute is out of range or contradicts another.
 * @retval IT_ERR_INVALID_EP_KEY A controlled key without the privilege.
 * @retval IT_ERR_INVALID_SPIGOT The adapter has no spigot with this number.
 * @retval IT_ERR_PAYLOAD_SIZE Longer than the spigot's datagrams.
 * @retval IT_ERR_RESOURCE_REQ_DTO Beyond the adapter: outstanding requests.
 * @retval IT_ERR_RESOURCE_RECV_DTO Beyond the adapter: outstanding receives.
 * @retval IT_ERR_RESOURCE_SSEG Beyond the adapter: segments of one Send.
 * @retval IT_ERR_RESOURCE_RSEG Beyond the adapter: segments of one receive.
 * @retval IT_ERR_PRIV_OPS_UNAVAILABLE priv_ops_enable without the privilege.
 * @retval IT_ERR_RESOURCES Memory or queue pairs of the adapter ran out.
 * @retval IT_ERR_FAULT @p ep_attr or @p ep_handle is NULL.
 *
 * @par Example
 * @snippet calls_datagram.c it_ep_ud_create
 *
 * @see it_post_sendto(), it_post_recvfrom(), it_address_handle_create(), it_ud_service_reply(),
 *     it_ep_free()
 */
it_status_t it_ep_ud_create(IN it_pz_handle_t pz_handle, IN it_evd_handle_t request_sevd_handle,
			    IN it_evd_handle_t recv_sevd_handle,
			    IN const it_ep_attributes_t *ep_attr, IN size_t spigot_id,
			    OUT it_ep_handle_t *ep_handle);

/**
 * @brief Queries the state and the parameters of an endpoint.
 *
 * Spigot and path are valid from connecting or accepting to reset, with datagrams the spigot alone
 * and always; the state is that of the instant of the call. Attributes that only the other kind of
 * endpoint has are not written, even if the mask names them.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - Events: none.
 * - Clause: [IT 15.4.3]; [IT 3].
 * - Also: IT_ERR_ABORT; see @ref itapi_results.
 *
 * @param[in] ep_handle the endpoint
 * @param[in] mask which members of @p params to write: any union of the bits, or the ALL bit
 *     alone
 * @param[out] params where the values go; members that were not asked for are not written
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_EP Not the handle of an endpoint of this adapter.
 * @retval IT_ERR_INVALID_MASK The mask has a bit that the call does not allow.
 * @retval IT_ERR_FAULT @p params is NULL.
 *
 * @par Example
 * @snippet calls.c it_ep_query
 *
 * @see it_ep_modify(), it_ep_rc_create(), it_ep_state_name()
 */
it_status_t it_ep_query(IN it_ep_handle_t ep_handle, IN it_ep_param_mask_t mask,
			OUT it_ep_param_t *params);

/**
 * @brief Changes attributes of an endpoint, all or nothing.
 *
 * Possible while unconnected: payload, segments, key, queue sizes, enables, IRD and ORD. While
 * connected: queue sizes, enables, IRD, and raising ORD where it_ia_info_t says so; lowering ORD
 * always; watermarks in every state. Changing enables, IRD or ORD while RDMA Reads are outstanding
 * is an error of the application. On a datagram endpoint: payload, segments, key and queue sizes while it
 * is operational; a key counts for what arrives from then on.
 *
 * A queue gets as many slots as asked for or more, and it_ep_query() returns how many; requests and
 * receives in it stay where they are. A slot counts as outstanding until the completion of its
 * request, or of a later one, was dequeued. Segment limits of the queues count by direction; a
 * limit within what the adapter has is granted exactly.
 *
 * - Thread: any, several at once.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events here: #IT_ASYNC_AFF_EP_SOFT_HI_WATERMARK at once, if that watermark is already exceeded.
 * - Clause: [IT 15.4.4]; [IT 3].
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] ep_handle the endpoint
 * @param[in] mask what to change: the bits that it_ep_param_mask_t calls modifiable
 * @param[in] ep_attr the new values
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_EP Not the handle of an endpoint of this adapter.
 * @retval IT_ERR_INVALID_MASK No bit, or one that cannot be changed.
 * @retval IT_ERR_INVALID_EP_STATE The endpoint is in a state that does not allow the call.
 * @retval IT_ERR_INVALID_EP_TYPE A bit of connected endpoints on a datagram endpoint, or the
 *     reverse.
 * @retval IT_ERR_INVALID_EP_ATTR A value is out of range, or fewer requests than are outstanding.
 * @retval IT_ERR_INVALID_EP_KEY A controlled datagram key without the privilege.
 * @retval IT_ERR_INVALID_RECV_DTO Fewer receives than are outstanding.
 * @retval IT_ERR_INVALID_WATERMARK The watermarks contradict each other or the size of the S-RQ.
 * @retval IT_ERR_SOFT_HI_WATERMARK The soft high watermark is not supported or cannot work.
 * @retval IT_ERR_HARD_HI_WATERMARK The hard high watermark is not supported or cannot work.
 * @retval IT_ERR_PAYLOAD_SIZE Longer than the spigot allows.
 * @retval IT_ERR_RESOURCE_REQ_DTO Beyond the adapter: outstanding requests.
 * @retval IT_ERR_RESOURCE_RECV_DTO Beyond the adapter: outstanding receives.
 * @retval IT_ERR_RESOURCE_SSEG Beyond the adapter: segments of one Send.
 * @retval IT_ERR_RESOURCE_RSEG Beyond the adapter: segments of one receive.
 * @retval IT_ERR_RESOURCE_RRSEG Beyond the adapter: segments of one RDMA Read.
 * @retval IT_ERR_RESOURCE_RWSEG Beyond the adapter: segments of one RDMA Write.
 * @retval IT_ERR_RESOURCE_IRD Beyond the adapter: inbound RDMA Reads.
 * @retval IT_ERR_RESOURCE_ORD Beyond the adapter: outbound RDMA Reads.
 * @retval IT_ERR_OP_NOT_SUPPORTED The adapter says in it_ia_info_t that this cannot be changed.
 * @retval IT_ERR_RESOURCES Memory ran out.
 * @retval IT_ERR_FAULT @p ep_attr is NULL.
 * @see it_ep_query(), it_ep_rc_create(), itx_ia_query_support()
 */
it_status_t it_ep_modify(IN it_ep_handle_t ep_handle, IN it_ep_param_mask_t mask,
			 IN const it_ep_attributes_t *ep_attr);

/**
 * @brief Resets a non-operational endpoint, so that it can be used again.
 *
 * It fails until the transport is finished with the endpoint and every request and receive has its completion in
 * its EVD; none is lost. It unlinks the narrow RMRs of the endpoint. Zone, EVDs, S-RQ, attributes and consumer
 * context stay; path and negotiated ORD are forgotten. An adapter without #ITX_SUPPORT_EP_REUSE
 * (itx_ia_query_support()) cannot do it: its endpoints serve one connection. On an unconnected endpoint, or an operational datagram
 * endpoint, it does nothing and succeeds.
 *
 * - Thread: any, several at once.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - States: non-operational to unconnected (datagram: to operational).
 * - Events: none.
 * - Clause: [IT 15.4.5]; [IT 4.1], [IT 4.6]; R-07, R-37.
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] ep_handle the endpoint
 * @retval IT_SUCCESS The endpoint is unconnected (datagram: operational).
 * @retval IT_ERR_INVALID_EP Not the handle of an endpoint of this adapter.
 * @retval IT_ERR_INVALID_EP_STATE It is connecting or connected; disconnect first.
 * @retval IT_ERR_CANNOT_RESET The transport is not finished with it, or completions are still to
 *     come (datagram: or the event that says it failed); try again later. Or the adapter lacks
 *     #ITX_SUPPORT_EP_REUSE, and it will never succeed after a connection.
 * @retval IT_ERR_EP_TIMEWAIT The transport keeps the last connection in time-wait (InfiniBand,
 *     without #IT_EP_REUSEADDR).
 * @retval IT_ERR_RESOURCES The adapter could not create a new queue pair.
 *
 * @par Example
 * @snippet calls.c it_ep_reset
 *
 * @see it_ep_disconnect(), it_ep_free(), #IT_CM_MSG_CONN_DISCONNECT_EVENT,
 *     #IT_CM_MSG_CONN_BROKEN_EVENT
 */
it_status_t it_ep_reset(IN it_ep_handle_t ep_handle);

/**
 * @brief Frees an endpoint in any state.
 *
 * It aborts a connection or an attempt. After its return the library does not touch the buffers, and no new event
 * names the endpoint. Events that were queued before stay; completions that were not queued yet may be lost.
 *
 * - Thread: any; no other call may still use the object.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - States: any.
 * - Events at the peer: #IT_CM_MSG_CONN_BROKEN_EVENT or #IT_CM_MSG_CONN_DISCONNECT_EVENT on a
 *   connection, #IT_CM_MSG_CONN_NONPEER_REJECT_EVENT on an attempt.
 * - Clause: [IT 15.4.6]; [IT 2.2], [IT 4.6]; R-03, R-08.
 * - Also: IT_ERR_ABORT; see @ref itapi_results.
 *
 * @param[in] ep_handle the endpoint
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_EP Not the handle of an endpoint of this adapter.
 * @retval IT_ERR_EP_BUSY A narrow RMR is linked through it; free or unlink that first.
 * @see it_ep_rc_create(), it_ep_ud_create(), it_ep_disconnect(), it_ep_reset()
 */
it_status_t it_ep_free(IN it_ep_handle_t ep_handle);

/** @} */

/**
 * @addtogroup itapi_cm
 * @{
 */
/**
 * How a connection is made. Bits; neither way given means two-way. Clause: [IT 4.3],
 * [IT 4.4], [IT 9.6].
 */
typedef enum {
	IT_CONNECT_FLAG_TWO_WAY = 0x01,    /**< The passive side's accept makes the connection. */
	IT_CONNECT_FLAG_THREE_WAY = 0x02,  /**< The active side must accept the accept. */
	IT_CONNECT_SUPPRESS_IRD_ORD = 0x04 /**< IRD and ORD are not exchanged. */
} it_cn_est_flags_t;

/**
 * Why a connection was refused by something other than the peer's application. Clause: [IT 9.7].
 */
typedef enum {
	/** The service has no listen, the stream broke, or any other cause. */
	IT_CN_REJ_OTHER = 0,
	/** No answer in time. */
	IT_CN_REJ_TIMEOUT = 1,
	/** No route to the peer. */
	IT_CN_REJ_BAD_PATH = 2,
	/** The peer believes that an old connection still exists (InfiniBand). */
	IT_CN_REJ_STALE_CONN = 3,
	/** The peer cannot serve so many RDMA Reads. */
	IT_CN_REJ_BAD_ORD = 4,
	/** The peer or this side ran out of resources. */
	IT_CN_REJ_RESOURCES = 5,
	/** The two sides cannot agree on the protocol. */
	IT_CN_REJ_BAD_CONN_PARMS = 6
} it_conn_reject_code_t;

/**
 * Tuning of a connection over InfiniBand; a field is encoded as in InfiniBand's connection messages. The provider times these
 * messages itself, so three fields are ignored, and an attempt fails after it_path_t::timeout.
 */
typedef struct {
	/** Time limit of the peer's connection manager; ignored. */
	uint8_t remote_cm_timeout : 5;
	/** Time limit of the local connection manager; ignored. */
	uint8_t local_cm_timeout : 5;
	/** Retries of an unanswered packet, by either side, 0 to 7. */
	uint8_t retry_count : 3;
	/** Retries by the peer while this side has no receive, 0 to 6; 7: without end. The provider chooses the count of the accepting side. */
	uint8_t rnr_retry_count : 3;
	/** Retries of a connection message; ignored. */
	uint8_t max_cm_retries : 4;
	/** Time without an acknowledgement until a packet is sent again: 4.096 us * 2^this, 1 to 31; 0: the provider chooses. */
	uint8_t local_ack_timeout : 5;
} it_ib_conn_attributes_t;

/** Nothing to tune over VIA. */
typedef struct {
	/** Ignored. */
	void *unused;
} it_via_conn_attributes_t;

/** Nothing to tune over iWARP. */
typedef struct {
	/** Ignored. */
	void *unused;
} it_iwarp_conn_attributes_t;

/** Fine tuning of a connection; the adapter's transport says which member is used. */
typedef union {
	/** InfiniBand. */
	it_ib_conn_attributes_t ib;
	/** VIA. */
	it_via_conn_attributes_t via;
	/** iWARP. */
	it_iwarp_conn_attributes_t iwarp;
} it_conn_attributes_t;

/** How to listen. Bits. */
typedef enum {
	IT_LISTEN_NO_FLAG = 0x00,         /**< The library chooses the qualifier. */
	IT_LISTEN_CONN_QUAL_INPUT = 0x01, /**< The application names the qualifier. */
	IT_LISTEN_SUPPRESS_IRD_ORD = 0x02 /**< IRD and ORD are not exchanged. */
} it_listen_flags_t;

/** Parameters of a listen. */
typedef struct {
	/** Its adapter. */
	it_ia_handle_t ia_handle;
	/** Its spigot. */
	size_t spigot_id;
	/** EVD of its requests. */
	it_evd_handle_t connect_evd;
	/** Its qualifier. */
	it_conn_qual_t connect_qual;
} it_listen_param_t;

/** Which members of it_listen_param_t are wanted. Bits. */
typedef enum {
	IT_LISTEN_PARAM_ALL = 0x01,         /**< All. */
	IT_LISTEN_PARAM_IA_HANDLE = 0x02,   /**< it_listen_param_t.ia_handle */
	IT_LISTEN_PARAM_SPIGOT_ID = 0x04,   /**< it_listen_param_t.spigot_id */
	IT_LISTEN_PARAM_CONNECT_EVD = 0x08, /**< it_listen_param_t.connect_evd */
	IT_LISTEN_PARAM_CONN_QUAL = 0x10    /**< it_listen_param_t.connect_qual */
} it_listen_param_mask_t;

/**
 * @brief Listens for requests on a connection qualifier.
 *
 * Each request makes one event with an identifier of its own. With #IT_LISTEN_CONN_QUAL_INPUT the application
 * names the qualifier; without it the library chooses one of the given type and writes it back. The room of the
 * EVD is the backlog: a request that finds it full is refused, and its peer gets
 * #IT_CM_MSG_CONN_NONPEER_REJECT_EVENT with #IT_CN_REJ_RESOURCES (from an iWARP peer that suppresses
 * IRD and ORD: #IT_CN_REJ_OTHER). It listens at all addresses of its spigot, and follows them when they
 * change.
 *
 * - Thread: any, several at once.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events here: #IT_CM_REQ_CONN_REQUEST_EVENT, #IT_CM_REQ_UD_SERVICE_REQUEST_EVENT.
 * - Clause: [IT 15.5.1]; [IT 9.1], [IT 9.4]; R-22.
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] ia_handle the adapter
 * @param[in] spigot_id number of the spigot
 * @param[in] connect_evd simple EVD of the connection request stream
 * @param[in] flags bits of it_listen_flags_t
 * @param[in,out] conn_qual in: the qualifier, or its type alone; out: the qualifier. Ports and
 *     service ids in network byte order
 * @param[out] listen_handle the new listen
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_IA Not the handle of an open adapter.
 * @retval IT_ERR_INVALID_SPIGOT The adapter has no spigot with this number.
 * @retval IT_ERR_INVALID_CONN_EVD Not a simple EVD of the connection request stream of this
 *     adapter.
 * @retval IT_ERR_INVALID_FLAGS Unknown bits, or suppression where it_ia_info_t.ird_ord_suppressible
 *     says no.
 * @retval IT_ERR_INVALID_CONN_QUAL The connection qualifier is malformed or of a kind not supported
 *     here.
 * @retval IT_ERR_CONN_QUAL_BUSY The connection qualifier has a listen already.
 * @retval IT_ERR_NO_PERMISSION The port is reserved.
 * @retval IT_ERR_RESOURCES Descriptors or memory ran out.
 * @retval IT_ERR_FAULT @p conn_qual or @p listen_handle is NULL.
 *
 * @par Example
 * @snippet calls.c it_listen_create
 *
 * @see it_listen_free(), it_ep_accept(), it_reject(), it_handoff(),
 *     #IT_CM_REQ_CONN_REQUEST_EVENT, #IT_CM_REQ_UD_SERVICE_REQUEST_EVENT
 */
it_status_t it_listen_create(IN it_ia_handle_t ia_handle, IN size_t spigot_id,
			     IN it_evd_handle_t connect_evd, IN it_listen_flags_t flags,
			     IN OUT it_conn_qual_t *conn_qual,
			     OUT it_listen_handle_t *listen_handle);

/**
 * @brief Ends a listen.
 *
 * No new requests come; identifiers that were delivered or queued stay valid.
 *
 * - Thread: any; no other call may still use the object.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events: none.
 * - Clause: [IT 15.5.2]; [IT 9.4].
 * - Also: IT_ERR_ABORT; see @ref itapi_results.
 *
 * @param[in] listen_handle the listen
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_LISTEN Not the handle of a listen.
 * @see it_listen_create(), it_reject()
 */
it_status_t it_listen_free(IN it_listen_handle_t listen_handle);

/**
 * @brief Queries the parameters of a listen.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - Events: none.
 * - Clause: [IT 15.5.3].
 * - Also: IT_ERR_ABORT; see @ref itapi_results.
 *
 * @param[in] listen_handle the listen
 * @param[in] mask which members of @p params to write: any union of the bits, or the ALL bit
 *     alone
 * @param[out] params where the values go; members that were not asked for are not written
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_LISTEN Not the handle of a listen.
 * @retval IT_ERR_INVALID_MASK The mask has a bit that the call does not allow.
 * @retval IT_ERR_FAULT @p params is NULL.
 * @see it_listen_create()
 */
it_status_t it_listen_query(IN it_listen_handle_t listen_handle, IN it_listen_param_mask_t mask,
			    OUT it_listen_param_t *params);

/**
 * @brief Starts to connect; an event reports the outcome.
 *
 * The endpoint leaves the unconnected state at once; the call does not wait for the peer. it_path_t.timeout limits
 * the time to the established connection, or in a three-way handshake to the arrival of the accept. Exactly one of the
 * events below ends the attempt; it_ep_disconnect() and it_ep_free() abort it.
 *
 * - Thread: any, several at once.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - States: unconnected to active-1 pending.
 * - Events here: #IT_CM_MSG_CONN_ESTABLISHED_EVENT, #IT_CM_MSG_CONN_ACCEPT_ARRIVAL_EVENT
 *   (three-way), #IT_CM_MSG_CONN_PEER_REJECT_EVENT or #IT_CM_MSG_CONN_NONPEER_REJECT_EVENT.
 * - Events at the peer: #IT_CM_REQ_CONN_REQUEST_EVENT.
 * - Clause: [IT 15.5.4]; [IT 4], [IT 9]; R-01, R-30.
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] ep_handle the endpoint
 * @param[in] path path to the peer; copied before return
 * @param[in] conn_attr fine tuning, or NULL for the defaults. Its bit-fields are as wide as
 *     InfiniBand's, so none of the codes about them can come today
 * @param[in] connect_qual service of the peer; ports and service ids in network byte order
 * @param[in] cn_est_flags bits of it_cn_est_flags_t; neither way given means two-way
 * @param[in] private_data private data for the peer; may be NULL with length 0. Copied before
 *     return
 * @param[in] private_data_length its length (octets), at most it_ia_info_t.connect_private_data_len
 * @retval IT_SUCCESS The attempt is under way.
 * @retval IT_ERR_INVALID_EP Not the handle of an endpoint of this adapter.
 * @retval IT_ERR_INVALID_EP_TYPE The endpoint is of the other kind (connected or datagram).
 * @retval IT_ERR_INVALID_SPIGOT The path names a spigot that the adapter does not have.
 * @retval IT_ERR_INVALID_SOURCE_PATH The local half of the path does not belong to this adapter.
 * @retval IT_ERR_INVALID_ATIMEOUT Connection attribute local_ack_timeout is out of range.
 * @retval IT_ERR_INVALID_LTIMEOUT Connection attribute local_cm_timeout is out of range.
 * @retval IT_ERR_INVALID_RTIMEOUT Connection attribute remote_cm_timeout is out of range.
 * @retval IT_ERR_INVALID_RETRY Connection attribute retry_count is out of range.
 * @retval IT_ERR_INVALID_RNR_RETRY Connection attribute rnr_retry_count is out of range.
 * @retval IT_ERR_INVALID_CM_RETRY Connection attribute max_cm_retries is out of range.
 * @retval IT_ERR_INVALID_CONN_QUAL The connection qualifier is malformed or of a kind not supported
 *     here.
 * @retval IT_ERR_INVALID_CN_EST_FLAGS Unknown bits, both ways at once, or three-way or suppression
 *     where the adapter says no.
 * @retval IT_ERR_INVALID_PDATA_LENGTH The private data is longer than the adapter carries with this
 *     message.
 * @retval IT_ERR_PDATA_NOT_SUPPORTED The adapter carries no private data with this message.
 * @retval IT_ERR_INVALID_EP_STATE Not unconnected.
 * @retval IT_ERR_EP_TIMEWAIT The local port that was chosen is in TCP's time-wait and the endpoint
 *     has no #IT_EP_REUSEADDR.
 * @retval IT_ERR_RESOURCES Ports, descriptors or memory ran out.
 * @retval IT_ERR_FAULT @p path or @p connect_qual is NULL, or @p private_data with a length.
 *
 * @par Example
 * @snippet calls.c it_ep_connect
 *
 * @see it_get_pathinfo(), it_ep_accept(), it_ep_disconnect(), it_reject(),
 *     #IT_CM_MSG_CONN_ESTABLISHED_EVENT, #IT_CM_MSG_CONN_PEER_REJECT_EVENT,
 *     #IT_CM_MSG_CONN_NONPEER_REJECT_EVENT
 */
it_status_t it_ep_connect(IN it_ep_handle_t ep_handle, IN const it_path_t *path,
			  IN const it_conn_attributes_t *conn_attr,
			  IN const it_conn_qual_t *connect_qual, IN it_cn_est_flags_t cn_est_flags,
			  IN const unsigned char *private_data, IN size_t private_data_length);

/**
 * @brief Accepts a request with an endpoint, or the peer's accept in a three-way handshake.
 *
 * Passive side: any unconnected endpoint of the adapter at which the request arrived. Active side: the endpoint of
 * the arrival event, without private data. A failed call changes neither identifier nor endpoint. A request dies if
 * its peer gives up or, over iWARP, if it is not answered within 120 seconds; then the result is
 * IT_ERR_INVALID_CN_EST_ID, which is no fault of the server.
 *
 * Unless a ready-to-receive message was negotiated (`peer-to-peer` in @ref configuration), iWARP lets the passive side
 * send only after the active side has sent: requests of the passive side are held until then. So let the active side
 * send first.
 *
 * - Thread: any, several at once.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - States: unconnected to passive pending; active-2 pending to connected.
 * - Events here: #IT_CM_MSG_CONN_ESTABLISHED_EVENT, #IT_CM_MSG_CONN_PEER_REJECT_EVENT or
 *   #IT_CM_MSG_CONN_NONPEER_REJECT_EVENT.
 * - Events at the peer: #IT_CM_MSG_CONN_ESTABLISHED_EVENT or #IT_CM_MSG_CONN_ACCEPT_ARRIVAL_EVENT.
 * - Clause: [IT 15.5.5]; [IT 4], [IT 9.2], [IT 9.4]; R-28.
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] ep_handle the endpoint
 * @param[in] cn_est_id identifier of the request event or of the arrival event; used up by success
 * @param[in] private_data private data for the peer; may be NULL with length 0. Copied before
 *     return
 * @param[in] private_data_length its length (octets), at most it_ia_info_t.accept_private_data_len
 * @retval IT_SUCCESS The answer is under way.
 * @retval IT_ERR_INVALID_EP Not the handle of an endpoint of this adapter.
 * @retval IT_ERR_INVALID_EP_TYPE The endpoint is of the other kind (connected or datagram).
 * @retval IT_ERR_INVALID_CN_EST_ID The request is dead, or its identifier is used up or another endpoint's.
 * @retval IT_ERR_INVALID_EP_STATE Neither unconnected with a request nor active-2 pending with its
 *     arrival.
 * @retval IT_ERR_INVALID_PDATA_LENGTH The private data is longer than the adapter carries with this
 *     message.
 * @retval IT_ERR_PDATA_NOT_SUPPORTED Private data where the adapter carries none, and always on the
 *     active side.
 * @retval IT_ERR_RESOURCE_IRD Beyond the adapter: inbound RDMA Reads.
 * @retval IT_ERR_RESOURCE_ORD Beyond the adapter: outbound RDMA Reads.
 * @retval IT_ERR_RESOURCES Memory ran out.
 * @retval IT_ERR_FAULT @p private_data is NULL with a length.
 *
 * @par Example
 * @snippet calls.c it_ep_accept
 *
 * @see it_listen_create(), it_reject(), it_ep_connect(), #IT_CM_REQ_CONN_REQUEST_EVENT,
 *     #IT_CM_MSG_CONN_ESTABLISHED_EVENT
 */
it_status_t it_ep_accept(IN it_ep_handle_t ep_handle, IN it_cn_est_identifier_t cn_est_id,
			 IN const unsigned char *private_data, IN size_t private_data_length);

/**
 * @brief Rejects a request, or the peer's accept in a three-way handshake.
 *
 * On the active side of a three-way handshake the endpoint becomes non-operational, without an event here; the private
 * data reaches the passive side. The peer finds the private data in it_connection_event_t.private_data of its event.
 *
 * - Thread: any, several at once.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events at the peer: #IT_CM_MSG_CONN_PEER_REJECT_EVENT.
 * - Clause: [IT 15.5.6]; [IT 4.1], [IT 9.4].
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] cn_est_id identifier of the request event or of the arrival event; used up by success
 * @param[in] private_data private data for the peer; may be NULL with length 0. Copied before
 *     return
 * @param[in] private_data_length its length (octets), at most it_ia_info_t.reject_private_data_len
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_CN_EST_ID Dead or used up.
 * @retval IT_ERR_INVALID_PDATA_LENGTH The private data is longer than the adapter carries with this
 *     message.
 * @retval IT_ERR_PDATA_NOT_SUPPORTED The adapter carries no private data with this message.
 * @retval IT_ERR_FAULT @p private_data is NULL with a length.
 *
 * @par Example
 * @snippet calls.c it_reject
 *
 * @see it_ep_accept(), it_listen_create(), it_handoff(), #IT_CM_REQ_CONN_REQUEST_EVENT,
 *     #IT_CM_MSG_CONN_PEER_REJECT_EVENT
 */
it_status_t it_reject(IN it_cn_est_identifier_t cn_est_id, IN const unsigned char *private_data,
		      IN size_t private_data_length);

/**
 * @brief Moves a request to another listen of the same adapter.
 *
 * The request appears there as a new event with a new identifier and otherwise the same content; its qualifier
 * is the one that the peer asked for. Target and source may be the same listen. If the EVD of the target is
 * full, the request is refused as any other would be, and the call succeeds. Arrivals of the three-way handshake
 * belong to their endpoints and cannot be moved.
 *
 * - Thread: any, several at once.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events here: #IT_CM_REQ_CONN_REQUEST_EVENT on the EVD of the other listen.
 * - Clause: [IT 15.5.7]; [IT 9.5].
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] conn_qual qualifier of the other listen
 * @param[in] spigot_id spigot of the other listen
 * @param[in] cn_est_id identifier of the request event; used up by success, still valid after a
 *     failure
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_CONN_QUAL The qualifier has no listen.
 * @retval IT_ERR_INVALID_SPIGOT The adapter has no spigot with this number.
 * @retval IT_ERR_INVALID_CN_EST_ID Dead or used up.
 * @retval IT_ERR_OP_NOT_SUPPORTED The provider cannot move requests.
 * @retval IT_ERR_RESOURCES Memory ran out.
 * @retval IT_ERR_FAULT @p conn_qual is NULL.
 * @see it_listen_create(), it_ep_accept(), it_reject(), #IT_CM_REQ_CONN_REQUEST_EVENT
 */
it_status_t it_handoff(IN const it_conn_qual_t *conn_qual, IN size_t spigot_id,
		       IN it_cn_est_identifier_t cn_est_id);

/**
 * @brief Ends a connection, or aborts an attempt.
 *
 * The endpoint is non-operational before the call returns. Requests not yet started are flushed; a
 * program that wants its Sends delivered waits for an answer of the peer first. All completions of
 * the endpoint are in their EVDs before the event that ends the connection. On a non-operational
 * endpoint it does nothing and succeeds.
 *
 * No adapter of this library carries data with a disconnect, so private data is an error. With `disconnect-data =
 * drop` in the group `compat` of the configuration, or `ITAPI_DISCONNECT_DATA=drop` in the environment when the
 * adapter is opened, the library drops the data instead, for programs that rely on that.
 *
 * - Thread: any, several at once.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - States: any but unconnected, to non-operational.
 * - Events here: flushed completions, then #IT_CM_MSG_CONN_DISCONNECT_EVENT.
 * - Events at the peer: #IT_CM_MSG_CONN_DISCONNECT_EVENT on a connection,
 *   #IT_CM_MSG_CONN_NONPEER_REJECT_EVENT on an attempt.
 * - Clause: [IT 15.5.8]; [IT 4.5]; R-01, R-02, R-05, R-06, R-29.
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] ep_handle the endpoint
 * @param[in] private_data private data for the peer; may be NULL with length 0. Copied before
 *     return
 * @param[in] private_data_length its length (octets), at most
 *     it_ia_info_t.disconnect_private_data_len
 * @retval IT_SUCCESS The end is under way.
 * @retval IT_ERR_INVALID_EP Not the handle of an endpoint of this adapter.
 * @retval IT_ERR_INVALID_EP_TYPE The endpoint is of the other kind (connected or datagram).
 * @retval IT_ERR_INVALID_EP_STATE Unconnected.
 * @retval IT_ERR_INVALID_PDATA_LENGTH The private data is longer than the adapter carries with this
 *     message.
 * @retval IT_ERR_PDATA_NOT_SUPPORTED The adapter carries no private data with this message.
 * @retval IT_ERR_FAULT @p private_data is NULL with a length.
 *
 * @par Example
 * @snippet calls.c it_ep_disconnect
 *
 * @see it_ep_connect(), it_ep_reset(), it_ep_free(), #IT_CM_MSG_CONN_DISCONNECT_EVENT,
 *     #IT_CM_MSG_CONN_BROKEN_EVENT
 */
it_status_t it_ep_disconnect(IN it_ep_handle_t ep_handle, IN const unsigned char *private_data,
			     IN size_t private_data_length);

/** @} */

/**
 * @defgroup itapi_socket Socket conversion
 * @ingroup itapi
 * @brief Converting a connected TCP socket to an RDMA connection.
 *
 * Clause: [IT 11].
 * @{
 */
/** How a socket is converted. Bits. Clause: [IT 11.2]. */
typedef enum {
	IT_SC_DEFAULT = 0x00,   /**< The two sides exchange the request and reply of MPA. */
	IT_SC_NO_REQ_REP = 0x01 /**< They do not; both enter RDMA mode by their own agreement. */
} it_sc_flags_t;

/**
 * @brief Converts a connected TCP socket to the connection of an endpoint.
 *
 * The socket is IPv4 or IPv6. The application has read exactly what was meant for it, and does not use the socket
 * from the call on. Octets that are not sent yet are sent first; octets that are not read yet are the beginning
 * of RDMA mode. On success the library uses a duplicate of the socket and sets its options; @p sd stays open,
 * and the application may only close it. An asynchronous failure resets the TCP connection. The peer has 120
 * seconds to finish the start-up, or `convert-timeout` of the group `mpa` of the configuration. Without MPA
 * frames the endpoint is connected when the call returns, unless TCP takes the message only later.
 *
 * The local address of the socket must belong to a spigot of the adapter; all of 127/8 belongs to the loopback
 * interface.
 *
 * | @p msg   | @p flags          | what this side does                                        |
 * |----------|-------------------|------------------------------------------------------------|
 * | NULL     | #IT_SC_DEFAULT    | asks for RDMA mode by an MPA request; active-1 pending     |
 * | not NULL | #IT_SC_DEFAULT    | sends the message, waits for the request; passive wait     |
 * | NULL     | #IT_SC_NO_REQ_REP | enters RDMA mode at once and must send first; connected    |
 * | not NULL | #IT_SC_NO_REQ_REP | sends the message, enters, must not send first; connected  |
 *
 * - Thread: any, several at once.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - States: unconnected to active-1 pending, passive wait or connected.
 * - Events here: #IT_CM_MSG_CONN_ESTABLISHED_EVENT or #IT_CM_MSG_CONN_NONPEER_REJECT_EVENT.
 * - Events at the peer: the same, on a side that converts too.
 * - Clause: [IT 15.5.9]; [IT 11]; R-31, R-32.
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] sd the socket
 * @param[in] ep_handle the endpoint
 * @param[in] flags bits of it_sc_flags_t
 * @param[in] msg last message in streaming mode; whether there is one decides the role. Copied before
 *     return
 * @param[in] len its length (octets, at most 65536); 0 sends nothing
 * @retval IT_SUCCESS Accepted; the outcome is an event.
 * @retval IT_ERR_OP_NOT_SUPPORTED it_ia_info_t.socket_conversion_support says no.
 * @retval IT_ERR_INVALID_CONVERSION Not a connected TCP socket, or not on a spigot of this adapter.
 * @retval IT_ERR_INVALID_EP Not the handle of an endpoint of this adapter.
 * @retval IT_ERR_INVALID_EP_TYPE The endpoint is of the other kind (connected or datagram).
 * @retval IT_ERR_INVALID_FLAGS Unknown bits.
 * @retval IT_ERR_INVALID_LENGTH The message is longer than 64 KiB.
 * @retval IT_ERR_INVALID_EP_STATE Not unconnected.
 * @retval IT_ERR_RESOURCES Descriptors or memory ran out.
 * @retval IT_ERR_FAULT @p msg is NULL with a length.
 * @see it_ep_rc_create(), it_ep_connect(), it_ep_disconnect(),
 *     #IT_CM_MSG_CONN_ESTABLISHED_EVENT, #IT_CM_MSG_CONN_NONPEER_REJECT_EVENT
 */
it_status_t it_socket_convert(IN int sd, IN it_ep_handle_t ep_handle, IN it_sc_flags_t flags,
			      IN const unsigned char *msg, IN size_t len);

/** @} */

/**
 * @defgroup itapi_ud Datagrams
 * @ingroup itapi
 * @brief Address handles and datagram services. Only where it_ia_info_t.supported_service_types has
 * #IT_UD_SERVICE.
 *
 * Clause: [IT 5], [IT 13].
 * @{
 */
/** How an address handle is made. Bits. */
typedef enum {
	IT_AH_PATH_COMPLETE = 0x01 /**< The path is used as given; nothing is looked up. */
} it_ah_flags_t;

/** Parameters of an address handle. */
typedef struct {
	/** Its adapter. */
	it_ia_handle_t ia;
	/** Its protection zone. */
	it_pz_handle_t pz;
	/** Its destination. */
	it_path_t path;
} it_addr_param_t;

/** Which members of it_addr_param_t are wanted or to be changed. Bits. */
typedef enum {
	IT_ADDR_PARAM_ALL = 0x01, /**< All (queries only). */
	IT_ADDR_PARAM_IA = 0x02,  /**< it_addr_param_t.ia */
	IT_ADDR_PARAM_PZ = 0x04,  /**< it_addr_param_t.pz */
	IT_ADDR_PARAM_PATH = 0x08 /**< it_addr_param_t.path; modifiable */
} it_addr_param_mask_t;

/** Kind of datagram. */
typedef enum {
	IT_DG_TYPE_IB_UD = 0 /**< InfiniBand unreliable datagram. */
} it_dg_type_t;

/** Where an InfiniBand datagram goes. */
typedef struct {
	/** The path to it. */
	it_addr_handle_t addr;
	/** The endpoint at its end. */
	it_remote_ep_info_t ep_info;
} it_ib_ud_addr_t;

/** Where a datagram goes. */
typedef struct {
	/** Says which member of `addr` is used. */
	it_dg_type_t type;
	/** The target. */
	union {
		/** InfiniBand. */
		it_ib_ud_addr_t ud;
	} addr;
} it_dg_remote_ep_addr_t;

/** Names a datagram service request until it is answered. As it_cn_est_identifier_t. */
typedef uint64_t it_ud_svc_req_identifier_t;

/** Answer to a datagram service request. Clause: [IT 13]. */
typedef enum {
	IT_UD_SVC_EP_INFO_VALID = 0,    /**< The service exists; the answer names its endpoint. */
	IT_UD_SVC_ID_NOT_SUPPORTED = 1, /**< No such service. */
	IT_UD_SVC_REQ_REJECTED = 2,     /**< Refused, or no answer in time (R-35). */
	IT_UD_NO_EP_AVAILABLE = 3,      /**< The service has no endpoint to spare. */
	IT_UD_REQ_REDIRECTED = 4        /**< Send the request along the path in the answer. */
} it_ud_svc_req_status_t;

/** Parameters of a datagram service request. */
typedef struct {
	/** Its adapter. */
	it_ia_handle_t ia;
	/** Number of the request on the wire. */
	uint32_t request_id;
	/** EVD of the answer. */
	it_evd_handle_t reply_evd;
	/** Service asked for. */
	it_conn_qual_t conn_qual;
	/** Where it is asked for. */
	it_path_t destination_path;
	/** Private data of the request. */
	unsigned char private_data[IT_MAX_PRIV_DATA];
	/** Its length (octets). */
	size_t private_data_length;
} it_ud_svc_req_param_t;

/** Which members of it_ud_svc_req_param_t are wanted. Bits. */
typedef enum {
	IT_UD_PARAM_ALL = 0x01,             /**< All. */
	IT_UD_PARAM_IA_HANDLE = 0x02,       /**< it_ud_svc_req_param_t.ia */
	IT_UD_PARAM_REQ_ID = 0x04,          /**< it_ud_svc_req_param_t.request_id */
	IT_UD_PARAM_REPLY_EVD = 0x08,       /**< it_ud_svc_req_param_t.reply_evd */
	IT_UD_PARAM_CONN_QUAL = 0x10,       /**< it_ud_svc_req_param_t.conn_qual */
	IT_UD_PARAM_DEST_PATH = 0x20,       /**< it_ud_svc_req_param_t.destination_path */
	IT_UD_PARAM_PRIV_DATA = 0x40,       /**< it_ud_svc_req_param_t.private_data */
	IT_UD_PARAM_PRIV_DATA_LENGTH = 0x80 /**< it_ud_svc_req_param_t.private_data_length */
} it_ud_svc_req_param_mask_t;

/**
 * @brief Creates an address handle, the target of datagrams, from a path.
 *
 * Any number of endpoints of the same zone may use it. If the path has no local end, the call looks one up, and
 * it_address_handle_query() returns it; with #IT_AH_PATH_COMPLETE the path stays as given and the adapter chooses.
 * While the handle exists, its zone cannot be freed (#IT_ERR_PZ_BUSY).
 *
 * - Thread: any, several at once.
 * - Blocks: for a round trip with #IT_AH_PATH_COMPLETE (class M), else may sleep (class W).
 * - Events: none.
 * - Clause: [IT 15.9.1]; [IT 10].
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] pz_handle the protection zone
 * @param[in] destination_path path to the peer; copied before return
 * @param[in] ah_flags bits of it_ah_flags_t
 * @param[out] addr_handle the new address handle
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_OP_NOT_SUPPORTED The adapter has no datagrams.
 * @retval IT_ERR_INVALID_PZ Not the handle of a protection zone, or not the one that the objects
 *     share.
 * @retval IT_ERR_INVALID_SPIGOT The path names a spigot that the adapter does not have.
 * @retval IT_ERR_INVALID_SOURCE_PATH The local half of the path does not belong to this adapter, or
 *     the other half is empty or cannot be reached from it.
 * @retval IT_ERR_INVALID_FLAGS Unknown bits.
 * @retval IT_ERR_RESOURCES Memory, or address handles of the adapter, ran out.
 * @retval IT_ERR_FAULT @p destination_path or @p addr_handle is NULL.
 *
 * @par Example
 * @snippet calls_datagram.c it_address_handle_create
 *
 * @see it_get_pathinfo(), it_post_sendto(), it_address_handle_free(), it_ud_service_request()
 */
it_status_t it_address_handle_create(IN it_pz_handle_t pz_handle,
				     IN const it_path_t *destination_path,
				     IN it_ah_flags_t ah_flags, OUT it_addr_handle_t *addr_handle);

/**
 * @brief Frees an address handle; datagrams that are already posted with it are still sent.
 *
 * - Thread: any; no other call may still use the object.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events: none.
 * - Clause: [IT 15.9.2]; [IT 2.2].
 * - Also: IT_ERR_ABORT; see @ref itapi_results.
 *
 * @param[in] addr_handle the address handle
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_AH Not the handle of an address handle, or of another protection zone.
 * @see it_address_handle_create()
 */
it_status_t it_address_handle_free(IN it_addr_handle_t addr_handle);

/**
 * @brief Changes the destination of an address handle.
 *
 * Datagrams that are posted from now on go there; some that are posted but not yet sent may go there too. A path
 * without a local end is treated as at the creation of the handle.
 *
 * - Thread: any, several at once.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events: none.
 * - Clause: [IT 15.9.3].
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] addr_handle the address handle
 * @param[in] mask #IT_ADDR_PARAM_PATH
 * @param[in] params the new path
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_AH Not the handle of an address handle, or of another protection zone.
 * @retval IT_ERR_INVALID_MASK Not just the path.
 * @retval IT_ERR_INVALID_SPIGOT The path names a spigot that the adapter does not have.
 * @retval IT_ERR_INVALID_SOURCE_PATH The local half of the path does not belong to this adapter, or
 *     the other half is empty or cannot be reached from it.
 * @retval IT_ERR_FAULT @p params is NULL.
 * @see it_address_handle_create(), it_address_handle_query()
 */
it_status_t it_address_handle_modify(IN it_addr_handle_t addr_handle, IN it_addr_param_mask_t mask,
				     IN const it_addr_param_t *params);

/**
 * @brief Queries the parameters of an address handle.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - Events: none.
 * - Clause: [IT 15.9.4].
 * - Also: IT_ERR_ABORT; see @ref itapi_results.
 *
 * @param[in] addr_handle the address handle
 * @param[in] mask which members of @p params to write: any union of the bits, or the ALL bit
 *     alone
 * @param[out] params where the values go; members that were not asked for are not written
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_AH Not the handle of an address handle, or of another protection zone.
 * @retval IT_ERR_INVALID_MASK The mask has a bit that the call does not allow.
 * @retval IT_ERR_FAULT @p params is NULL.
 * @see it_address_handle_create(), it_address_handle_modify()
 */
it_status_t it_address_handle_query(IN it_addr_handle_t addr_handle, IN it_addr_param_mask_t mask,
				    OUT it_addr_param_t *params);

/**
 * @brief Creates a datagram service request, which is not sent yet.
 *
 * it_ud_service_request() sends it, any number of times. While the handle exists, its EVD cannot be freed.
 *
 * - Thread: any, several at once.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events: none.
 * - Clause: [IT 15.9.5]; [IT 13].
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] conn_qual the service; ports and service ids in network byte order, as for
 *     it_ep_connect()
 * @param[in] reply_evd simple EVD of the connection message stream for the answer
 * @param[in] destination_path path to the host of the service, with the time limit
 *     (it_path_t.timeout); copied before return
 * @param[in] private_data private data for the peer; may be NULL with length 0. Copied before
 *     return
 * @param[in] private_data_length its length (octets), at most it_ia_info_t.ud_req_private_data_len
 * @param[out] ud_svc_handle the new request, not yet sent
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_OP_NOT_SUPPORTED The adapter has no datagrams.
 * @retval IT_ERR_INVALID_CONN_QUAL The connection qualifier is malformed or of a kind not supported
 *     here.
 * @retval IT_ERR_INVALID_EVD Not the handle of a simple EVD.
 * @retval IT_ERR_INVALID_EVD_TYPE The EVD is not of the connection message stream.
 * @retval IT_ERR_INVALID_SPIGOT The path names a spigot that the adapter does not have.
 * @retval IT_ERR_INVALID_SOURCE_PATH The local half of the path does not belong to this adapter, or
 *     the other half is empty.
 * @retval IT_ERR_INVALID_PDATA_LENGTH The private data is longer than the adapter carries with this
 *     message.
 * @retval IT_ERR_PDATA_NOT_SUPPORTED The adapter carries no private data with this message.
 * @retval IT_ERR_RESOURCES Memory ran out.
 * @retval IT_ERR_FAULT @p conn_qual, @p destination_path or @p ud_svc_handle is NULL, or @p
 *     private_data with a length.
 *
 * @par Example
 * @snippet calls_datagram.c it_ud_service_request
 *
 * @see it_ud_service_request(), it_ud_service_request_handle_free(), it_get_pathinfo()
 */
it_status_t it_ud_service_request_handle_create(IN const it_conn_qual_t *conn_qual,
						IN it_evd_handle_t reply_evd,
						IN const it_path_t *destination_path,
						IN const unsigned char *private_data,
						IN size_t private_data_length,
						OUT it_ud_svc_req_handle_t *ud_svc_handle);

/**
 * @brief Asks a datagram service for its endpoint.
 *
 * Each request makes exactly one event here. Without an answer in the time limit of the path (0 = 20 s) the event
 * has #IT_UD_SVC_REQ_REJECTED and no private data. If the service has no listen, it has
 * #IT_UD_SVC_ID_NOT_SUPPORTED. With #IT_UD_SVC_EP_INFO_VALID it has number and key of the endpoint and a path for
 * it_address_handle_create(). After the event has been taken, the request may be sent again.
 *
 * - Thread: any, several at once.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events here: #IT_CM_MSG_UD_SERVICE_REPLY_EVENT.
 * - Events at the peer: #IT_CM_REQ_UD_SERVICE_REQUEST_EVENT.
 * - Clause: [IT 15.9.6]; [IT 13]; R-35.
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] ud_svc_handle the request
 * @retval IT_SUCCESS Sent.
 * @retval IT_ERR_INVALID_UD_SVC Not the handle of a request, or its answer is outstanding.
 * @retval IT_ERR_RESOURCES Memory ran out, or too many queries are outstanding.
 *
 * @par Example
 * @snippet calls_datagram.c it_ud_service_request
 *
 * @see it_ud_service_request_handle_create(), it_ud_service_reply(), it_address_handle_create(),
 *     #IT_CM_MSG_UD_SERVICE_REPLY_EVENT
 */
it_status_t it_ud_service_request(IN it_ud_svc_req_handle_t ud_svc_handle);

/**
 * @brief Queries the parameters of a datagram service request.
 *
 * The private data is padded with zeros. The number is that of the handle and stays.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - Events: none.
 * - Clause: [IT 15.9.7].
 * - Also: IT_ERR_ABORT; see @ref itapi_results.
 *
 * @param[in] ud_svc_handle the request
 * @param[in] mask which members of @p ud_svc_handle_info are wanted: any union of the bits, or the
 *     ALL bit alone
 * @param[out] ud_svc_handle_info where the values go; members that were not asked for are not written
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_UD_SVC Not the handle of a request.
 * @retval IT_ERR_INVALID_MASK The mask has a bit that the call does not allow.
 * @retval IT_ERR_FAULT @p ud_svc_handle_info is NULL.
 * @see it_ud_service_request_handle_create()
 */
it_status_t it_ud_service_request_handle_query(IN it_ud_svc_req_handle_t ud_svc_handle,
					       IN it_ud_svc_req_param_mask_t mask,
					       OUT it_ud_svc_req_param_t *ud_svc_handle_info);

/**
 * @brief Frees a datagram service request; an answer still under way is dropped.
 *
 * - Thread: any; no other call may still use the object.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events: none.
 * - Clause: [IT 15.9.8]; [IT 2.2].
 * - Also: IT_ERR_ABORT; see @ref itapi_results.
 *
 * @param[in] ud_svc_handle the request
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_UD_SVC Not the handle of a request.
 * @see it_ud_service_request_handle_create(), it_ud_service_request()
 */
it_status_t it_ud_service_request_handle_free(IN it_ud_svc_req_handle_t ud_svc_handle);

/**
 * @brief Answers a datagram service request.
 *
 * The identifier is valid until it is answered, the time limit of the requester is over, the requester or the
 * adapter is closed; it stays valid when the listen is freed. There is no argument for another path, so
 * #IT_UD_REQ_REDIRECTED names the path of the request.
 *
 * - Thread: any, several at once.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events at the peer: #IT_CM_MSG_UD_SERVICE_REPLY_EVENT.
 * - Clause: [IT 15.9.9]; [IT 13].
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] ud_svc_req_id identifier of the request event; used up by success
 * @param[in] status the answer
 * @param[in] ep_info the endpoint of the service; used only with #IT_UD_SVC_EP_INFO_VALID
 * @param[in] private_data private data for the peer; may be NULL with length 0. Copied before
 *     return
 * @param[in] private_data_length its length (octets), at most it_ia_info_t.ud_rep_private_data_len
 * @retval IT_SUCCESS Sent.
 * @retval IT_ERR_INVALID_UD_SVC_REQ_ID The identifier of a datagram service request is dead or used
 *     up.
 * @retval IT_ERR_INVALID_UD_STATUS No such status of a datagram service reply.
 * @retval IT_ERR_INVALID_PDATA_LENGTH The private data is longer than the adapter carries with this
 *     message.
 * @retval IT_ERR_PDATA_NOT_SUPPORTED The adapter carries no private data with this message.
 * @retval IT_ERR_FAULT @p private_data is NULL with a length.
 *
 * @par Example
 * @snippet calls_datagram.c it_ud_service_reply
 *
 * @see it_ud_service_request(), it_listen_create(), it_ep_ud_create(), it_reject(),
 *     #IT_CM_REQ_UD_SERVICE_REQUEST_EVENT
 */
it_status_t it_ud_service_reply(IN it_ud_svc_req_identifier_t ud_svc_req_id,
				IN it_ud_svc_req_status_t status, IN it_remote_ep_info_t ep_info,
				IN const unsigned char *private_data,
				IN size_t private_data_length);

/** @} */

/**
 * @defgroup itapi_evd Events and dispatchers
 * @ingroup itapi
 * @brief Events, and the queues from which a program takes them.
 *
 * A simple EVD queues the events of one stream, from any number of sources; an aggregate gathers
 * simple ones. A program takes events without waiting (it_evd_dequeue()), waits (it_evd_wait()),
 * watches a descriptor (#IT_EVD_CREATE_FD) or attaches a callback (it_evd_callback_attach()). All
 * completions of an endpoint are in their EVDs before the event that ends its connection, and the event that
 * says that the connection is established comes before its first receive (R-05). Clause: [IT 6].
 * @{
 */
/**
 * Streams of events, and the events of each.
 *
 * An EVD is made for one stream; the stream of an event is its number under #IT_EVENT_STREAM_MASK.
 * Errors of EVDs have a second name that existing applications use; names of one number
 * mean the same. Clause: [IT 6.1], [IT 14].
 */
typedef enum {
	/** Stream: completions of requests and receives. */
	IT_DTO_EVENT_STREAM = 0x00000,
	/** A Send, on a connection or as a datagram, is done. */
	IT_DTO_SEND_CMPL_EVENT = 0x00001,
	/** A message arrived on a connection. */
	IT_DTO_RC_RECV_CMPL_EVENT = 0x00002,
	/** A datagram arrived. */
	IT_DTO_UD_RECV_CMPL_EVENT = 0x00003,
	/** An RDMA Write is done. */
	IT_DTO_RDMA_WRITE_CMPL_EVENT = 0x00004,
	/** An RDMA Read is done: its data is here. */
	IT_DTO_RDMA_READ_CMPL_EVENT = 0x00005,
	/** Name of Issue 1.0 for #IT_RMR_LINK_CMPL_EVENT. */
	IT_RMR_BIND_CMPL_EVENT = 0x00006,
	/** A link or unlink of an RMR is done; the cookie identifies it (R-17). */
	IT_RMR_LINK_CMPL_EVENT = 0x00006,
	/** A fetch-and-add is done. */
	IT_DTO_FETCH_ADD_CMPL_EVENT = 0x00007,
	/** A compare-and-swap is done. */
	IT_DTO_CMP_SWAP_CMPL_EVENT = 0x00008,
	/** A link or unlink of an LMR is done; the cookie identifies it (R-17). */
	IT_LMR_LINK_CMPL_EVENT = 0x00009,

	/** Stream: requests of peers to a listen. */
	IT_CM_REQ_EVENT_STREAM = 0x01000,
	/** A peer wants to connect. */
	IT_CM_REQ_CONN_REQUEST_EVENT = 0x01001,
	/** A peer asks for a datagram service. */
	IT_CM_REQ_UD_SERVICE_REQUEST_EVENT = 0x01002,

	/** Stream: the progress of connections. */
	IT_CM_MSG_EVENT_STREAM = 0x02000,
	/** The peer accepted; accept or reject that (three-way). */
	IT_CM_MSG_CONN_ACCEPT_ARRIVAL_EVENT = 0x02001,
	/** The connection is established. */
	IT_CM_MSG_CONN_ESTABLISHED_EVENT = 0x02002,
	/** The connection ended in an orderly way, by either side. */
	IT_CM_MSG_CONN_DISCONNECT_EVENT = 0x02003,
	/** The peer's application rejected the request. */
	IT_CM_MSG_CONN_PEER_REJECT_EVENT = 0x02004,
	/** The attempt failed otherwise: see the reason code. */
	IT_CM_MSG_CONN_NONPEER_REJECT_EVENT = 0x02005,
	/** The connection broke. */
	IT_CM_MSG_CONN_BROKEN_EVENT = 0x02006,
	/** The answer to a datagram service request. */
	IT_CM_MSG_UD_SERVICE_REPLY_EVENT = 0x02007,

	/** Stream: errors of one object. */
	IT_ASYNC_AFF_EVENT_STREAM = 0x04000,
	/** A completion found its EVD full; its endpoint broke. */
	IT_ASYNC_AFF_SEVD_ENQUEUE_FAILURE = 0x04001,
	/** Second name of #IT_ASYNC_AFF_SEVD_ENQUEUE_FAILURE. */
	IT_ASYNC_AFF_EP_SEVD_FULL_ERROR = 0x04001,
	/** The endpoint failed in the adapter. */
	IT_ASYNC_AFF_EP_FAILURE = 0x04002,
	/** The peer sent an operation that is not allowed then. */
	IT_ASYNC_AFF_EP_BAD_TRANSPORT_OPCODE = 0x04003,
	/** Never raised (VIA). */
	IT_ASYNC_AFF_EP_REQ_DROPPED = 0x04005,
	/** Never raised (VIA). */
	IT_ASYNC_AFF_EP_RDMAW_ACCESS_VIOLATION = 0x04006,
	/** Never raised (VIA). */
	IT_ASYNC_AFF_EP_RDMAW_CORRUPT_DATA = 0x04007,
	/** Never raised (VIA). */
	IT_ASYNC_AFF_EP_RDMAR_ACCESS_VIOLATION = 0x04008,
	/** Name of Issue 1.0 for the next one. */
	IT_ASYNC_AFF_EP_LOCAL_ACCESS_VIOLATION = 0x04020,
	/** The peer tried to write memory that it may not write. */
	IT_ASYNC_AFF_EP_L_ACCESS_VIOLATION = 0x04020,
	/** The peer sent a message out of order, or without a receive. */
	IT_ASYNC_AFF_EP_L_RECV_ACCESS_VIOLATION = 0x04021,
	/** The peer tried to read memory that it may not read, or too much at once. */
	IT_ASYNC_AFF_EP_L_IRRQ_ACCESS_VIOLATION = 0x04022,
	/** The peer broke the rules of DDP or RDMAP. */
	IT_ASYNC_AFF_EP_L_TRANSPORT_ERROR = 0x04023,
	/** The stream below was lost, or its framing or CRC was wrong. */
	IT_ASYNC_AFF_EP_L_LLP_ERROR = 0x04024,
	/** The peer ended the connection because of an error on this side. */
	IT_ASYNC_AFF_EP_R_ERROR = 0x04040,
	/** The peer reports an access to memory that this side may not use. */
	IT_ASYNC_AFF_EP_R_ACCESS_VIOLATION = 0x04041,
	/** The peer reports a message without a receive. */
	IT_ASYNC_AFF_EP_R_RECV_ACCESS_VIOLATION = 0x04042,
	/** The peer reports a message that was too long for its receive. */
	IT_ASYNC_AFF_EP_R_RECV_LENGTH_ERROR = 0x04043,
	/** More receives in progress than the soft high watermark. */
	IT_ASYNC_AFF_EP_SOFT_HI_WATERMARK = 0x04060,
	/** The endpoint broke because its S-RQ failed. */
	IT_ASYNC_AFF_EP_SRQ_ERROR = 0x04061,
	/** Fewer receives left than the low watermark. */
	IT_ASYNC_AFF_SRQ_LOW_WATERMARK = 0x04100,
	/** The S-RQ failed. An extension. */
	IT_ASYNC_AFF_SRQ_CATASTROPHIC = 0x04101,
	/** An event found its EVD full. An extension. */
	IT_ASYNC_AFF_SEVD_FULL_ERROR = 0x04200,
	/** The EVD failed in the adapter. An extension. */
	IT_ASYNC_AFF_SEVD_OP_ERROR = 0x04201,

	/** Stream: events of spigots. */
	IT_ASYNC_UNAFF_EVENT_STREAM = 0x08000,
	/** The spigot came up. */
	IT_ASYNC_UNAFF_SPIGOT_ONLINE = 0x08002,
	/** The spigot went down. That does not end its connections. */
	IT_ASYNC_UNAFF_SPIGOT_OFFLINE = 0x08003,
	/** An event found no room. Never raised: overflow is an affiliated event here. */
	IT_ASYNC_UNAFF_SEVD_ENQUEUE_FAILURE = 0x08004,

	/** Stream: events of the application itself. */
	IT_SOFTWARE_EVENT_STREAM = 0x10000,
	/** Posted by it_evd_post_se(). */
	IT_SOFTWARE_EVENT = 0x10001,

	/** Stream: notifications of members; makes the EVD an aggregate. */
	IT_AEVD_NOTIFICATION_EVENT_STREAM = 0x20000,
	/** A member has notified: take its events. */
	IT_AEVD_NOTIFICATION_EVENT = 0x20001
} it_event_type_t;

/** The common beginning of all events. */
typedef struct {
	/** What happened. */
	it_event_type_t event_number;
	/** EVD it was queued on. */
	it_evd_handle_t evd;
} it_any_event_t;

/** The common beginning of all events of connection management. An extension. */
typedef struct {
	/** What happened. */
	it_event_type_t event_number;
	/** EVD it was queued on. */
	it_evd_handle_t evd;
	/** Private data of the peer, padded with zeros; its length is not known. */
	unsigned char private_data[IT_MAX_PRIV_DATA];
	/** #IT_TRUE if the peer's message carried some. */
	it_boolean_t private_data_present;
} it_event_cm_any_t;

/** Completion of a request or receive. Clause: [IT 7.8]. */
typedef struct {
	/** What was done. */
	it_event_type_t event_number;
	/** EVD it was queued on. */
	it_evd_handle_t evd;
	/** Endpoint of the request; for a receive of an S-RQ the endpoint that took it. */
	it_ep_handle_t ep;
	/** Cookie of the request. */
	it_dto_cookie_t cookie;
	/** How it ended. */
	it_dto_status_t dto_status;
	/** Octets received or moved; valid on success only. */
	uint32_t transferred_length;
	/**
	 * LMR or RMR unlinked by this request or by the Send that arrived; else #IT_NULL_HANDLE.
	 */
	it_handle_t unlinked_mr_handle;
} it_dto_cmpl_event_t;

/** Completion of a request or receive, with what datagrams bring along. */
typedef struct {
	/** What was done. */
	it_event_type_t event_number;
	/** EVD it was queued on. */
	it_evd_handle_t evd;
	/** Endpoint of the request. */
	it_ep_handle_t ep;
	/** Cookie of the request. */
	it_dto_cookie_t cookie;
	/** How it ended. */
	it_dto_status_t dto_status;
	/** Octets received or moved, for a datagram the 40 octets of the header area included. */
	uint32_t transferred_length;
	/** As in it_dto_cmpl_event_t. */
	it_handle_t unlinked_mr_handle;
	/** Which of the following members are valid; bits of it_dto_ud_flags_t. */
	it_dto_ud_flags_t flags;
	/** Sender's endpoint. */
	it_ud_ep_id_t ud_ep_id;
	/** Path back to the sender, for an address handle; its own end is left to be chosen. */
	it_path_t src_path;
} it_all_dto_cmpl_event_t;

/** A peer wants to connect. Clause: [IT 9.4]. */
typedef struct {
	/** #IT_CM_REQ_CONN_REQUEST_EVENT */
	it_event_type_t event_number;
	/** EVD it was queued on. */
	it_evd_handle_t evd;
	/** Private data of the peer, padded with zeros; its length is not known. */
	unsigned char private_data[IT_MAX_PRIV_DATA];
	/** #IT_TRUE if the peer's message carried some. */
	it_boolean_t private_data_present;
	/** Names the request, for it_ep_accept(), it_reject() and it_handoff(). */
	it_cn_est_identifier_t cn_est_id;
	/** Qualifier that was asked for. */
	it_conn_qual_t conn_qual;
	/** Address of the peer. */
	it_net_addr_t source_addr;
	/** Spigot it came in on. */
	size_t spigot_id;
	/** Largest message of the peer (octets); 0 if it does not say. */
	uint32_t max_message_size;
	/** RDMA Reads that the peer serves at once; 0 if not exchanged. */
	uint32_t rdma_read_ird;
	/** RDMA Reads that the peer wants to run at once; 0 if not exchanged. */
	uint32_t rdma_read_ord;
} it_conn_request_event_t;

/** An event of a connection. Clause: [IT 4.2], [IT 9.3], [IT 9.6]. */
typedef struct {
	/** What happened. */
	it_event_type_t event_number;
	/** EVD it was queued on. */
	it_evd_handle_t evd;
	/** Private data of the peer, padded with zeros; its length is not known. */
	unsigned char private_data[IT_MAX_PRIV_DATA];
	/** #IT_TRUE if the peer's message carried some. */
	it_boolean_t private_data_present;
	/** Names the arrival (#IT_CM_MSG_CONN_ACCEPT_ARRIVAL_EVENT only). */
	it_cn_est_identifier_t cn_est_id;
	/** The endpoint. */
	it_ep_handle_t ep;
	/** RDMA Reads that the peer serves at once; 0 if not exchanged (R-30). */
	uint32_t rdma_read_ird;
	/** RDMA Reads that the peer wants to run at once; 0 if not exchanged (R-30). */
	uint32_t rdma_read_ord;
	/** Path to the peer. */
	it_path_t dst_path;
	/** Why (#IT_CM_MSG_CONN_NONPEER_REJECT_EVENT only). */
	it_conn_reject_code_t reject_reason_code;
} it_connection_event_t;

/** A peer asks for a datagram service. Clause: [IT 13]. */
typedef struct {
	/** #IT_CM_REQ_UD_SERVICE_REQUEST_EVENT */
	it_event_type_t event_number;
	/** EVD it was queued on. */
	it_evd_handle_t evd;
	/** Private data of the peer, padded with zeros; its length is not known. */
	unsigned char private_data[IT_MAX_PRIV_DATA];
	/** #IT_TRUE if the peer's message carried some. */
	it_boolean_t private_data_present;
	/** Names the request, for it_ud_service_reply(). */
	it_ud_svc_req_identifier_t ud_svc_req_id;
	/** Service that was asked for. */
	it_conn_qual_t conn_qual;
	/** Address of the peer. */
	it_net_addr_t source_addr;
	/** Spigot it came in on. */
	size_t spigot_id;
} it_ud_svc_request_event_t;

/** The answer to a datagram service request. Clause: [IT 13]. */
typedef struct {
	/** #IT_CM_MSG_UD_SERVICE_REPLY_EVENT */
	it_event_type_t event_number;
	/** EVD it was queued on. */
	it_evd_handle_t evd;
	/** Private data of the peer, padded with zeros; its length is not known. */
	unsigned char private_data[IT_MAX_PRIV_DATA];
	/** #IT_TRUE if the peer's message carried some. */
	it_boolean_t private_data_present;
	/** The request. */
	it_ud_svc_req_handle_t ud_svc;
	/** The answer. */
	it_ud_svc_req_status_t status;
	/** The service's endpoint (#IT_UD_SVC_EP_INFO_VALID only). */
	it_remote_ep_info_t ep_info;
	/** Path to that endpoint, or to the host to ask next (#IT_UD_REQ_REDIRECTED). */
	it_path_t dst_path;
} it_ud_svc_reply_event_t;

/** An error of one object. Clause: [IT 14]. */
typedef struct {
	/** What happened. */
	it_event_type_t event_number;
	/** EVD it was queued on. */
	it_evd_handle_t evd;
	/** The object; the event's number says of which kind it is. */
	union {
		/** An EVD (the extended IT_ASYNC_AFF_SEVD_ events). */
		it_evd_handle_t sevd;
		/** An endpoint (IT_ASYNC_AFF_EP_ events and #IT_ASYNC_AFF_SEVD_ENQUEUE_FAILURE). */
		it_ep_handle_t ep;
		/** An S-RQ (IT_ASYNC_AFF_SRQ_ events). */
		it_srq_handle_t srq;
	} cause;
} it_affiliated_event_t;

/** An event of a spigot. Clause: [IT 14]. */
typedef struct {
	/** What happened. */
	it_event_type_t event_number;
	/** EVD it was queued on. */
	it_evd_handle_t evd;
	/** The adapter. */
	it_ia_handle_t ia;
	/** The spigot. */
	size_t spigot_id;
} it_unaffiliated_event_t;

/** An event of the application itself. */
typedef struct {
	/** #IT_SOFTWARE_EVENT */
	it_event_type_t event_number;
	/** EVD it was queued on. */
	it_evd_handle_t evd;
	/** The pointer that was posted. */
	void *data;
} it_software_event_t;

/** A member of an aggregate notified. Clause: [IT 6.5]. */
typedef struct {
	/** #IT_AEVD_NOTIFICATION_EVENT */
	it_event_type_t event_number;
	/** The aggregate. */
	it_evd_handle_t aevd;
	/** The member that has notified. */
	it_evd_handle_t sevd;
} it_aevd_notification_event_t;

/** Any event; its number says which member is used. */
typedef union {
	/** What happened. */
	it_event_type_t event_number;
	/** Common beginning. */
	it_any_event_t any;
	/** Common beginning of the events of connection management. */
	it_event_cm_any_t cm_any;
	/** Completions. */
	it_dto_cmpl_event_t dto_cmpl;
	/** Completions, datagrams included. */
	it_all_dto_cmpl_event_t all_dto_cmpl;
	/** #IT_CM_REQ_CONN_REQUEST_EVENT */
	it_conn_request_event_t conn_req;
	/** #IT_CM_REQ_UD_SERVICE_REQUEST_EVENT */
	it_ud_svc_request_event_t ud_svc_request;
	/** IT_CM_MSG_CONN_ events */
	it_connection_event_t conn;
	/** #IT_CM_MSG_UD_SERVICE_REPLY_EVENT */
	it_ud_svc_reply_event_t ud_svc_reply;
	/** IT_ASYNC_AFF_ events */
	it_affiliated_event_t aff_async;
	/** IT_ASYNC_UNAFF_ events */
	it_unaffiliated_event_t unaff_async;
	/** #IT_SOFTWARE_EVENT */
	it_software_event_t sw;
	/** #IT_AEVD_NOTIFICATION_EVENT */
	it_aevd_notification_event_t aevd_notify;
} it_event_t;

/** Kind of an EVD. Bits. Clause: [IT 6.3], [IT 6.5], [IT 6.7]. */
typedef enum {
	/** The aggregate returns notifications of its members instead of their events. */
	IT_EVD_DEQUEUE_NOTIFICATIONS = 0x01,
	/**
	 * Makes a file descriptor that is readable while the EVD notifies, for poll() and its like. It becomes
	 * unreadable when a dequeue finds the EVD empty, not when it is read.
	 */
	IT_EVD_CREATE_FD = 0x02,
	/** An overflow sets it_evd_param_t.evd_overflowed only. Not with other bits; 0 means the same. */
	IT_EVD_OVERFLOW_DEFAULT = 0x04,
	/** An overflow raises an affiliated event too. */
	IT_EVD_OVERFLOW_NOTIFY = 0x08,
	/** The overflowed state ends by itself when the EVD is empty. */
	IT_EVD_OVERFLOW_AUTO_RESET = 0x10
} it_evd_flags_t;

/** Parameters of an EVD. */
typedef struct {
	/** Its adapter. */
	it_ia_handle_t ia;
	/** Its stream. */
	it_event_type_t event_number;
	/** Its kind. */
	it_evd_flags_t evd_flag;
	/** Events it has room for (simple EVDs). */
	size_t sevd_queue_size;
	/**
	 * Events that must be queued before it notifies; #IT_THRESHOLD_DISABLE: the flags of each
	 * request decide (simple EVDs).
	 */
	size_t sevd_threshold;
	/** Aggregate it is a member of; #IT_NULL_HANDLE if none. */
	it_evd_handle_t aevd;
	/** Its file descriptor; -1 if none. */
	int fd;
	/** #IT_TRUE while something feeds it. */
	it_boolean_t evd_bound;
	/** #IT_FALSE: it collects but does not notify. */
	it_boolean_t evd_enabled;
	/** #IT_TRUE after an event found no room. */
	it_boolean_t evd_overflowed;
	/** #IT_TRUE while a callback is attached. */
	it_boolean_t evd_callback;
} it_evd_param_t;

/** Which members of it_evd_param_t are wanted or to be changed. Bits. */
typedef enum {
	/** All (queries only). */
	IT_EVD_PARAM_ALL = 0x0001,
	/** it_evd_param_t.ia */
	IT_EVD_PARAM_IA = 0x0002,
	/** it_evd_param_t.event_number */
	IT_EVD_PARAM_EVENT_NUMBER = 0x0004,
	/** it_evd_param_t.evd_flag; its overflow bits are modifiable */
	IT_EVD_PARAM_FLAG = 0x0008,
	/** it_evd_param_t.sevd_queue_size; modifiable */
	IT_EVD_PARAM_QUEUE_SIZE = 0x0010,
	/** it_evd_param_t.sevd_threshold; modifiable */
	IT_EVD_PARAM_THRESHOLD = 0x0020,
	/** it_evd_param_t.aevd; modifiable */
	IT_EVD_PARAM_AEVD_HANDLE = 0x0040,
	/** it_evd_param_t.fd */
	IT_EVD_PARAM_FD = 0x0080,
	/** it_evd_param_t.evd_bound */
	IT_EVD_PARAM_BOUND = 0x0100,
	/** it_evd_param_t.evd_enabled; modifiable */
	IT_EVD_PARAM_ENABLED = 0x0200,
	/** it_evd_param_t.evd_overflowed; may be set to #IT_FALSE */
	IT_EVD_PARAM_OVERFLOWED = 0x0400,
	/** it_evd_param_t.evd_callback */
	IT_EVD_PARAM_CALLBACK = 0x0800
} it_evd_param_mask_t;

/**
 * Callback of an EVD, with the EVD and the pointer it was attached with.
 *
 * It runs on a thread of the library, one call at a time for each EVD, with signals blocked and without a lock of
 * the library. It should take events until IT_ERR_QUEUE_EMPTY; events that it leaves stay until the next
 * notification. It may not make calls that may sleep. Clause: [IT 6.6].
 */
typedef void (*it_evd_callback_rtn_t)(IN it_evd_handle_t evd, IN void *arg);

/**
 * @brief Creates an event dispatcher, simple or aggregate.
 *
 * The stream decides: #IT_AEVD_NOTIFICATION_EVENT_STREAM makes an aggregate, any other a simple EVD
 * of that stream. An adapter has at most one EVD for each of the two asynchronous streams. A simple EVD may be a
 * member of an aggregate; then it has neither waiters nor descriptor nor callback of its own.
 *
 * It notifies when as many events are queued as the threshold says or, with #IT_THRESHOLD_DISABLE,
 * when an event is queued that is not a completion, that failed, or that #IT_NOTIFY_FLAG or the
 * peer's #IT_SOLICITED_WAIT_FLAG marks. Then it does not notify again until it was empty (with a threshold:
 * below it). Taking events until IT_ERR_QUEUE_EMPTY and then waiting misses none.
 *
 * With #IT_EVD_CREATE_FD a program waits by poll() or epoll for events and for its own descriptors at once. An aggregate
 * brings the streams of a program together behind one descriptor; create it first, with flags of 0 or
 * #IT_EVD_CREATE_FD, and name it when its members are created. An aggregate without #IT_EVD_DEQUEUE_NOTIFICATIONS
 * gives all events of one member, then those of the next. So it may give the end of a connection before completions of
 * that connection, which are queued at another member by then: before a program frees what belongs to the
 * endpoint, it dequeues from that member directly until IT_ERR_QUEUE_EMPTY, as in the last example.
 *
 * - Thread: any, several at once.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events: none.
 * - Clause: [IT 15.3.1]; [IT 6], [IT 6.5]; R-05, R-10, R-11, R-13, R-14, R-16.
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] ia_handle the adapter
 * @param[in] event_number the stream
 * @param[in] evd_flag bits of it_evd_flags_t; 0 is allowed
 * @param[in] sevd_queue_size events to have room for, at least 1; ignored for an aggregate. There may
 *     be room for more, as it_evd_query() returns: at least for 64 completions, or 128 events of
 *     connections or errors
 * @param[in] sevd_threshold events that must be queued before it notifies; ignored for an aggregate
 * @param[in] aevd_handle aggregate to be a member of, or #IT_NULL_HANDLE
 * @param[out] evd_handle the new EVD
 * @param[out] fd its descriptor, readable while it notifies; never read, write or close it. -1
 *     without #IT_EVD_CREATE_FD; may be NULL then
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_IA Not the handle of an open adapter.
 * @retval IT_ERR_INVALID_EVD_TYPE Not the number of a stream.
 * @retval IT_ERR_INVALID_FLAGS Unknown bits, the default overflow mode beside another,
 *     #IT_EVD_DEQUEUE_NOTIFICATIONS on a simple EVD, or any overflow mode on an aggregate, which has no
 *     queue that could overflow: #IT_EVD_OVERFLOW_DEFAULT included. 0 is right there.
 * @retval IT_ERR_INVALID_QUEUE_SIZE 0.
 * @retval IT_ERR_RESOURCE_QUEUE_SIZE Beyond the adapter: events in one EVD.
 * @retval IT_ERR_INVALID_THRESHOLD The threshold is above the queue size.
 * @retval IT_ERR_INVALID_AEVD Not an aggregate of this adapter.
 * @retval IT_ERR_AEVD_NOT_ALLOWED An aggregate as member of another.
 * @retval IT_ERR_ASYNC_AFF_EVD_EXISTS The adapter has its EVD for affiliated asynchronous events
 *     already.
 * @retval IT_ERR_ASYNC_UNAFF_EVD_EXISTS The adapter has its EVD for unaffiliated asynchronous
 *     events already.
 * @retval IT_ERR_MISMATCH_FD #IT_EVD_CREATE_FD, but @p fd is NULL.
 * @retval IT_ERR_INVALID_EVD_STATE A descriptor for a member of an aggregate.
 * @retval IT_ERR_RESOURCES Memory or descriptors ran out.
 * @retval IT_ERR_FAULT @p evd_handle is NULL.
 *
 * @par Example
 * @snippet calls.c it_evd_create
 * @snippet kv.c events
 * @snippet kv.c end
 *
 * @see it_evd_dequeue(), it_evd_wait(), it_evd_modify(), it_evd_callback_attach(),
 *     it_evd_free(), #IT_AEVD_NOTIFICATION_EVENT
 */
it_status_t it_evd_create(IN it_ia_handle_t ia_handle, IN it_event_type_t event_number,
			  IN it_evd_flags_t evd_flag, IN size_t sevd_queue_size,
			  IN size_t sevd_threshold, IN it_evd_handle_t aevd_handle,
			  OUT it_evd_handle_t *evd_handle, OUT int *fd);

/**
 * @brief Frees an EVD; queued events are lost, its descriptor is closed, a callback detached.
 *
 * - Thread: any; no other call may still use the object.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events: none.
 * - Clause: [IT 15.3.2]; [IT 2.2].
 * - Also: IT_ERR_ABORT; see @ref itapi_results.
 *
 * @param[in] evd_handle the EVD
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_EVD Not the handle of an EVD.
 * @retval IT_ERR_EVD_BUSY An endpoint, listen, datagram service request or member EVD feeds it.
 * @retval IT_ERR_EVD_WAIT A thread waits on the EVD.
 * @see it_evd_create(), it_evd_callback_detach()
 */
it_status_t it_evd_free(IN it_evd_handle_t evd_handle);

/**
 * @brief Queries the parameters of an EVD.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - Events: none.
 * - Clause: [IT 15.3.3].
 * - Also: IT_ERR_ABORT; see @ref itapi_results.
 *
 * @param[in] evd_handle the EVD
 * @param[in] mask which members of @p params to write: any union of the bits, or the ALL bit
 *     alone
 * @param[out] params where the values go; members that were not asked for are not written
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_EVD Not the handle of an EVD.
 * @retval IT_ERR_INVALID_MASK The mask has a bit that the call does not allow.
 * @retval IT_ERR_FAULT @p params is NULL.
 * @see it_evd_create(), it_evd_modify()
 */
it_status_t it_evd_query(IN it_evd_handle_t evd_handle, IN it_evd_param_mask_t mask,
			 OUT it_evd_param_t *params);

/**
 * @brief Changes an EVD: size, threshold, aggregate, whether it notifies, overflow.
 *
 * After the change the EVD notifies if its condition holds. A disabled EVD (`evd_enabled` #IT_FALSE) queues events
 * without notifying, and its waiters return IT_ERR_INVALID_EVD_STATE. The overflowed state can
 * only be cleared.
 *
 * - Thread: any, several at once.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events: none.
 * - Clause: [IT 15.3.4]; [IT 6.5], [IT 6.7]; R-15, R-16.
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] evd_handle the EVD
 * @param[in] mask what to change: the bits that it_evd_param_mask_t calls modifiable. All or
 *     nothing
 * @param[in] params the new values
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_EVD Not the handle of an EVD.
 * @retval IT_ERR_INVALID_MASK No bit, or one that cannot be changed.
 * @retval IT_ERR_INVALID_QUEUE_SIZE 0, or below what is queued.
 * @retval IT_ERR_RESOURCE_QUEUE_SIZE Beyond the adapter: events in one EVD.
 * @retval IT_ERR_INVALID_THRESHOLD The threshold is above the queue size.
 * @retval IT_ERR_INVALID_AEVD Not an aggregate of this adapter.
 * @retval IT_ERR_AEVD_NOT_ALLOWED Size, threshold or membership of an aggregate.
 * @retval IT_ERR_INVALID_FLAGS Other than overflow bits, or the default mode beside another.
 * @retval IT_ERR_CALLBACK_EXISTS To become a member while a callback is attached.
 * @retval IT_ERR_EVD_WAIT To become a member while a thread waits.
 * @retval IT_ERR_INVALID_EVD_STATE To become a member with a descriptor; to set overflowed, or to
 *     clear it while full.
 * @retval IT_ERR_RESOURCES Memory ran out.
 * @retval IT_ERR_FAULT @p params is NULL.
 * @see it_evd_create(), it_evd_query(), itx_ia_query_support()
 */
it_status_t it_evd_modify(IN it_evd_handle_t evd_handle, IN it_evd_param_mask_t mask,
			  IN const it_evd_param_t *params);

/**
 * @brief Takes the first event, if there is one.
 *
 * Threshold and notification do not matter. Each event is taken once, in the order of queueing; of
 * an aggregate, the events or notifications of its members.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - Events: none.
 * - Clause: [IT 15.3.5]; [IT 6.2], [IT 6.4]; R-14.
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] evd_handle the EVD
 * @param[out] event the event
 * @retval IT_SUCCESS An event was taken.
 * @retval IT_ERR_INVALID_EVD Not the handle of an EVD.
 * @retval IT_ERR_QUEUE_EMPTY The EVD holds no event.
 * @retval IT_ERR_FAULT @p event is NULL.
 *
 * @par Example
 * @snippet calls_event.c it_evd_dequeue
 *
 * @see it_evd_wait(), it_evd_dequeue_n(), it_evd_create(), it_event_name()
 */
it_status_t it_evd_dequeue(IN it_evd_handle_t evd_handle, OUT it_event_t *event);

/**
 * @brief Waits until the EVD notifies and takes the first event.
 *
 * The thread that has waited longest is released first; each thread gets one event. With a timeout of 0 the call
 * does not sleep. While it sleeps the call is a cancellation point; a thread that is cancelled there takes no event.
 *
 * - Thread: any, several at once.
 * - Blocks: may sleep (class W); not allowed in an EVD callback.
 * - Events: none.
 * - Clause: [IT 15.3.6]; [IT 6.3], [IT 6.4], [IT 1.16], [IT 1.19]; R-12, R-15.
 * - Also: IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] evd_handle the EVD
 * @param[in] timeout time limit (microseconds), or #IT_TIMEOUT_INFINITE
 * @param[out] event the event
 * @param[out] nmore events still queued at that instant; may be NULL. Valid after a timeout too
 * @retval IT_SUCCESS An event was taken.
 * @retval IT_ERR_INVALID_EVD Not the handle of an EVD.
 * @retval IT_ERR_INVALID_EVD_STATE The EVD is a member of an aggregate, or does not notify
 *     (disabled), from the start or meanwhile.
 * @retval IT_ERR_CALLBACK_EXISTS A callback is attached to the EVD.
 * @retval IT_ERR_WAITER_LIMIT As many threads wait on the EVD as may (64).
 * @retval IT_ERR_TIMEOUT_EXPIRED The time ran out before the EVD notified; nothing was taken.
 * @retval IT_ERR_INTERRUPT A signal handler without SA_RESTART ran during the wait; no event was
 *     taken. After a handler with SA_RESTART the wait goes on, unless this thread has an unblocked signal
 *     whose handler lacks it.
 * @retval IT_ERR_FAULT @p event is NULL.
 * @retval IT_ERR_ABORT The EVD or its adapter was freed during the wait.
 *
 * @par Example
 * @snippet calls.c it_evd_wait
 *
 * @see it_evd_dequeue(), it_evd_create(), it_evd_callback_attach(), itx_aevd_wait()
 */
it_status_t it_evd_wait(IN it_evd_handle_t evd_handle, IN uint64_t timeout, OUT it_event_t *event,
			OUT size_t *nmore);

/**
 * @brief Queues an event of the application.
 *
 * The pointer itself is carried, not what it points to.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - Events here: #IT_SOFTWARE_EVENT.
 * - Clause: [IT 15.3.7].
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] evd_handle simple EVD of the software stream
 * @param[in] event the pointer to carry; NULL is allowed
 * @retval IT_SUCCESS Queued.
 * @retval IT_ERR_INVALID_EVD Not the handle of an EVD.
 * @retval IT_ERR_AEVD_NOT_ALLOWED An aggregate.
 * @retval IT_ERR_INVALID_SOFT_EVD An EVD of another stream.
 * @retval IT_ERR_EVD_QUEUE_FULL The EVD has no room for a software event.
 *
 * @par Example
 * @snippet calls_event.c it_evd_post_se
 *
 * @see it_evd_create(), it_evd_wait(), #IT_SOFTWARE_EVENT
 */
it_status_t it_evd_post_se(IN it_evd_handle_t evd_handle, IN const void *event);

/**
 * @brief Attaches a function that is called whenever the EVD notifies.
 *
 * If the EVD would notify now, the function is called at once.
 *
 * - Thread: any, several at once.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events: none.
 * - Clause: [IT 15.3.8]; [IT 6.3], [IT 6.6].
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] evd_handle the EVD
 * @param[in] callback the function
 * @param[in] arg handed to it
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_EVD Not the handle of an EVD.
 * @retval IT_ERR_CALLBACK_EXISTS A callback is attached to the EVD.
 * @retval IT_ERR_EVD_WAIT A thread waits on the EVD.
 * @retval IT_ERR_INVALID_EVD_STATE The EVD is a member of an aggregate or has a descriptor.
 * @retval IT_ERR_RESOURCES No thread to call it on.
 * @retval IT_ERR_FAULT @p callback is NULL.
 *
 * @par Example
 * @snippet calls_event.c it_evd_callback_attach
 *
 * @see it_evd_callback_detach(), it_evd_create(), it_evd_wait()
 */
it_status_t it_evd_callback_attach(IN it_evd_handle_t evd_handle, IN it_evd_callback_rtn_t callback,
				   IN void *arg);

/**
 * @brief Detaches a callback.
 *
 * When the call returns, the callback does not run and will not run again; if the callback itself makes the
 * call, it takes effect when the callback returns. Without a callback it succeeds.
 *
 * - Thread: any, several at once.
 * - Blocks: waits for a running call of the callback (class W), except from inside it (class M).
 * - Events: none.
 * - Clause: [IT 15.3.9]; [IT 6.6].
 * - Also: IT_ERR_ABORT; see @ref itapi_results.
 *
 * @param[in] evd_handle the EVD
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_EVD Not the handle of an EVD.
 *
 * @par Example
 * @snippet calls_event.c it_evd_callback_attach
 *
 * @see it_evd_callback_attach(), it_evd_free()
 */
it_status_t it_evd_callback_detach(IN it_evd_handle_t evd_handle);

/** @} */

/**
 * @addtogroup itapi_dto
 * @{
 */
/**
 * @brief Sends a message.
 *
 * The message fills the receive that the peer posted first. The completion says that the buffer is free; over
 * iWARP it says nothing about the peer. If the peer has no receive, the message waits for a limited time, one second
 * by default (`ITAPI_IWARP_RNR_MS`, `ITAPI_EMUL_RNR_MS`; @ref configuration), or as long as the peer's
 * it_ib_conn_attributes_t::rnr_retry_count says; then the connection breaks.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - States: connected (runs) or non-operational (is flushed).
 * - Events here: #IT_DTO_SEND_CMPL_EVENT on the request EVD.
 * - Events at the peer: #IT_DTO_RC_RECV_CMPL_EVENT.
 * - Clause: [IT 15.7.1]; [IT 7]; R-04, R-19, R-34.
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] ep_handle the endpoint
 * @param[in] local_segments the segments in order; may be NULL with no segments. Copied before
 *     return
 * @param[in] num_segments entries of @p local_segments; 0 = a transfer of length 0
 * @param[in] cookie comes back in the completion
 * @param[in] dto_flags how to run and report; bits of it_dto_flags_t
 * @retval IT_SUCCESS Posted.
 * @retval IT_ERR_INVALID_EP Not the handle of an endpoint of this adapter.
 * @retval IT_ERR_INVALID_EP_TYPE The endpoint is of the other kind (connected or datagram).
 * @retval IT_ERR_INVALID_LMR Not the handle of an LMR of this adapter.
 * @retval IT_ERR_INVALID_NUM_SEGMENTS More segments than the endpoint or S-RQ allows, or none where
 *     one is needed.
 * @retval IT_ERR_INVALID_DTO_FLAGS A flag is unknown or not allowed for the operation.
 * @retval IT_ERR_INVALID_EP_STATE The endpoint is in a state that does not allow the call.
 * @retval IT_ERR_TOO_MANY_POSTS The queue holds as many requests as it may; take a completion
 *     first.
 * @retval IT_ERR_PRIV_OPS_UNAVAILABLE Privileged operations are not open to this process or
 *     endpoint.
 * @retval IT_ERR_PAYLOAD_SIZE Longer than the endpoint's max_dto_payload_size.
 * @retval IT_ERR_FAULT @p local_segments is NULL with segments.
 *
 * @par Example
 * @snippet calls_data.c it_post_send
 *
 * @see it_post_recv(), it_lmr_create21(), it_post_send_and_unlink(), it_post_sendto(),
 *     #IT_DTO_SEND_CMPL_EVENT
 */
it_status_t it_post_send(IN it_ep_handle_t ep_handle, IN const it_lmr_triplet_t *local_segments,
			 IN size_t num_segments, IN it_dto_cookie_t cookie,
			 IN it_dto_flags_t dto_flags);

/**
 * @brief Sends a message and has the peer's adapter revoke a region of the peer.
 *
 * The completion of the peer's receive names the region. With #IT_BARRIER_FENCE_FLAG earlier RDMA Reads end before
 * it is revoked. If it cannot be revoked, the connection breaks.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - States: connected (runs) or non-operational (is flushed).
 * - Events here: #IT_DTO_SEND_CMPL_EVENT on the request EVD.
 * - Events at the peer: #IT_DTO_RC_RECV_CMPL_EVENT with `unlinked_mr_handle`, or
 *   #IT_CM_MSG_CONN_BROKEN_EVENT.
 * - Clause: [IT 15.7.2]; [IT 8.6].
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] ep_handle the endpoint
 * @param[in] local_segments the segments in order; may be NULL with no segments. Copied before
 *     return
 * @param[in] num_segments entries of @p local_segments; 0 = a transfer of length 0
 * @param[in] cookie comes back in the completion
 * @param[in] dto_flags how to run and report; bits of it_dto_flags_t
 * @param[in] rmr_context key of the remote region, host byte order
 * @retval IT_SUCCESS Posted.
 * @retval IT_ERR_INVALID_EP Not the handle of an endpoint of this adapter.
 * @retval IT_ERR_INVALID_EP_TYPE The endpoint is of the other kind (connected or datagram).
 * @retval IT_ERR_INVALID_LMR Not the handle of an LMR of this adapter.
 * @retval IT_ERR_INVALID_NUM_SEGMENTS More segments than the endpoint or S-RQ allows, or none where
 *     one is needed.
 * @retval IT_ERR_INVALID_DTO_FLAGS A flag is unknown or not allowed for the operation.
 * @retval IT_ERR_INVALID_EP_STATE The endpoint is in a state that does not allow the call.
 * @retval IT_ERR_TOO_MANY_POSTS The queue holds as many requests as it may; take a completion
 *     first.
 * @retval IT_ERR_PRIV_OPS_UNAVAILABLE Privileged operations are not open to this process or
 *     endpoint.
 * @retval IT_ERR_PAYLOAD_SIZE Longer than the endpoint's max_dto_payload_size.
 * @retval IT_ERR_OP_NOT_SUPPORTED it_ia_info_t.post_send_unlink_remote_support says no.
 * @retval IT_ERR_FAULT @p local_segments is NULL with segments.
 * @see it_post_send(), it_rmr_link(), it_lmr_link(), #IT_DTO_SEND_CMPL_EVENT
 */
it_status_t it_post_send_and_unlink(IN it_ep_handle_t ep_handle,
				    IN const it_lmr_triplet_t *local_segments,
				    IN size_t num_segments, IN it_dto_cookie_t cookie,
				    IN it_dto_flags_t dto_flags, IN it_rmr_context_t rmr_context);

/**
 * @brief Posts a receive, a buffer for a message, to an endpoint or a shared receive queue.
 *
 * A message fills the segments in order. The buffer belongs to the transport until the completion, and its content
 * is valid only if the completion is a success. Post receives before the connection is made.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - States: any; non-operational flushes it.
 * - Events here: #IT_DTO_RC_RECV_CMPL_EVENT on the receive EVD of the endpoint that takes it.
 * - Clause: [IT 15.7.3]; [IT 4.1], [IT 7], [IT 12]; R-33.
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] handle a connected endpoint without S-RQ, or an S-RQ
 * @param[in] local_segments the segments in order; may be NULL with no segments. Copied before
 *     return
 * @param[in] num_segments entries of @p local_segments; 0 = a transfer of length 0
 * @param[in] cookie comes back in the completion
 * @param[in] dto_flags how to run and report; bits of it_dto_flags_t
 * @retval IT_SUCCESS Posted.
 * @retval IT_ERR_INVALID_HANDLE Neither an endpoint nor an S-RQ.
 * @retval IT_ERR_INVALID_EP The endpoint takes its receives from an S-RQ.
 * @retval IT_ERR_INVALID_EP_TYPE A datagram endpoint.
 * @retval IT_ERR_INVALID_SRQ Not the handle of a shared receive queue of this adapter.
 * @retval IT_ERR_INVALID_LMR Not the handle of an LMR of this adapter.
 * @retval IT_ERR_INVALID_NUM_SEGMENTS More segments than the endpoint or S-RQ allows, or none where
 *     one is needed.
 * @retval IT_ERR_INVALID_DTO_FLAGS A flag is unknown or not allowed for the operation.
 * @retval IT_ERR_TOO_MANY_POSTS The queue holds as many requests as it may; take a completion
 *     first.
 * @retval IT_ERR_PRIV_OPS_UNAVAILABLE A segment of the direct LMR on an endpoint without
 *     priv_ops_enable, or on an S-RQ.
 * @retval IT_ERR_FAULT @p local_segments is NULL with segments.
 *
 * @par Example
 * @snippet calls_data.c it_post_recv
 *
 * @see it_post_send(), it_srq_create(), it_lmr_create21(), #IT_DTO_RC_RECV_CMPL_EVENT
 */
it_status_t it_post_recv(IN it_handle_t handle, IN const it_lmr_triplet_t *local_segments,
			 IN size_t num_segments, IN it_dto_cookie_t cookie,
			 IN it_dto_flags_t dto_flags);

/**
 * @brief Writes into the peer's memory.
 *
 * The peer may read the data after it has received a later message of this endpoint. A refused write breaks the
 * connection; over iWARP the request may have completed with success before.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - States: connected (runs) or non-operational (is flushed).
 * - Events here: #IT_DTO_RDMA_WRITE_CMPL_EVENT on the request EVD.
 * - Events at the peer: none; #IT_CM_MSG_CONN_BROKEN_EVENT if refused.
 * - Clause: [IT 15.7.4]; [IT 7.5], [IT 8]; R-19, R-21, R-25.
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] ep_handle the endpoint
 * @param[in] local_segments the segments in order; may be NULL with no segments. Copied before
 *     return
 * @param[in] num_segments entries of @p local_segments; 0 = a transfer of length 0
 * @param[in] cookie comes back in the completion
 * @param[in] dto_flags how to run and report; bits of it_dto_flags_t
 * @param[in] rdma_addr remote address, in the remote region's mode, host byte order
 * @param[in] rmr_context key of the remote region, host byte order
 * @retval IT_SUCCESS Posted.
 * @retval IT_ERR_INVALID_EP Not the handle of an endpoint of this adapter.
 * @retval IT_ERR_INVALID_EP_TYPE The endpoint is of the other kind (connected or datagram).
 * @retval IT_ERR_INVALID_LMR Not the handle of an LMR of this adapter.
 * @retval IT_ERR_INVALID_NUM_SEGMENTS More segments than the endpoint or S-RQ allows, or none where
 *     one is needed.
 * @retval IT_ERR_INVALID_DTO_FLAGS A flag is unknown or not allowed for the operation.
 * @retval IT_ERR_INVALID_EP_STATE The endpoint is in a state that does not allow the call.
 * @retval IT_ERR_TOO_MANY_POSTS The queue holds as many requests as it may; take a completion
 *     first.
 * @retval IT_ERR_PRIV_OPS_UNAVAILABLE Privileged operations are not open to this process or
 *     endpoint.
 * @retval IT_ERR_PAYLOAD_SIZE Longer than the endpoint's max_dto_payload_size.
 * @retval IT_ERR_FAULT @p local_segments is NULL with segments.
 *
 * @par Example
 * @snippet calls_data.c it_post_rdma_write
 *
 * @see it_post_rdma_read(), it_rmr_link(), it_make_rdma_addr_absolute(), it_lmr_create21(),
 *     #IT_DTO_RDMA_WRITE_CMPL_EVENT
 */
it_status_t it_post_rdma_write(IN it_ep_handle_t ep_handle,
			       IN const it_lmr_triplet_t *local_segments, IN size_t num_segments,
			       IN it_dto_cookie_t cookie, IN it_dto_flags_t dto_flags,
			       IN it_rdma_addr_t rdma_addr, IN it_rmr_context_t rmr_context);

/**
 * @brief Reads from the peer's memory.
 *
 * Later requests may overtake it unless #IT_BARRIER_FENCE_FLAG holds them. Where
 * it_ia_info_t.rdma_read_requires_remote_write says so, as on iWARP, the sink needs
 * #IT_PRIV_REMOTE_WRITE and the endpoint it_rc_only_attributes_t.rdma_write_enable; without one of
 * them the completion has #IT_DTO_ERR_LOCAL_PROTECTION, and the connection ends. A read of length 0
 * proves that all earlier requests have reached the peer.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - States: connected (runs) or non-operational (is flushed).
 * - Events here: #IT_DTO_RDMA_READ_CMPL_EVENT on the request EVD.
 * - Events at the peer: none; #IT_CM_MSG_CONN_BROKEN_EVENT if refused.
 * - Clause: [IT 15.7.5]; [IT 7.5], [IT 8.3]; R-19, R-20, R-25.
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] ep_handle the endpoint
 * @param[in] local_segments the segments in order; may be NULL with no segments. Copied before
 *     return
 * @param[in] num_segments entries of @p local_segments; 0 = a transfer of length 0
 * @param[in] cookie comes back in the completion
 * @param[in] dto_flags how to run and report; bits of it_dto_flags_t
 * @param[in] rdma_addr remote address, in the remote region's mode, host byte order
 * @param[in] rmr_context key of the remote region, host byte order
 * @retval IT_SUCCESS Posted.
 * @retval IT_ERR_INVALID_EP Not the handle of an endpoint of this adapter.
 * @retval IT_ERR_INVALID_EP_TYPE The endpoint is of the other kind (connected or datagram).
 * @retval IT_ERR_INVALID_LMR Not the handle of an LMR of this adapter.
 * @retval IT_ERR_INVALID_NUM_SEGMENTS More segments than the endpoint or S-RQ allows, or none where
 *     one is needed.
 * @retval IT_ERR_INVALID_DTO_FLAGS A flag is unknown or not allowed for the operation.
 * @retval IT_ERR_INVALID_EP_STATE The endpoint is in a state that does not allow the call.
 * @retval IT_ERR_TOO_MANY_POSTS The queue holds as many requests as it may; take a completion
 *     first.
 * @retval IT_ERR_PRIV_OPS_UNAVAILABLE Privileged operations are not open to this process or
 *     endpoint.
 * @retval IT_ERR_PAYLOAD_SIZE Longer than the endpoint's max_dto_payload_size.
 * @retval IT_ERR_FAULT @p local_segments is NULL with segments.
 *
 * @par Example
 * @snippet calls_data.c it_post_rdma_read
 *
 * @see it_post_rdma_write(), it_post_rdma_read_to_rmr(), it_rmr_link(),
 *     it_make_rdma_addr_absolute(), #IT_DTO_RDMA_READ_CMPL_EVENT
 */
it_status_t it_post_rdma_read(IN it_ep_handle_t ep_handle,
			      IN const it_lmr_triplet_t *local_segments, IN size_t num_segments,
			      IN it_dto_cookie_t cookie, IN it_dto_flags_t dto_flags,
			      IN it_rdma_addr_t rdma_addr, IN it_rmr_context_t rmr_context);

/**
 * @brief Reads from the peer's memory into a window.
 *
 * The RMR must be linked through this endpoint, with remote write.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - States: connected (runs) or non-operational (is flushed).
 * - Events here: #IT_DTO_RDMA_READ_CMPL_EVENT on the request EVD.
 * - Events at the peer: none; #IT_CM_MSG_CONN_BROKEN_EVENT if refused.
 * - Clause: [IT 15.7.6]; [IT 8.3].
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] ep_handle the endpoint
 * @param[in] local_segments the segments in order; may be NULL with no segments. Copied before
 *     return
 * @param[in] num_segments entries of @p local_segments; 0 = a transfer of length 0
 * @param[in] cookie comes back in the completion
 * @param[in] dto_flags how to run and report; bits of it_dto_flags_t
 * @param[in] rdma_addr remote address, in the remote region's mode, host byte order
 * @param[in] rmr_context key of the remote region, host byte order
 * @retval IT_SUCCESS Posted.
 * @retval IT_ERR_OP_NOT_SUPPORTED it_ia_info_t.rdma_read_local_extensions says no.
 * @retval IT_ERR_INVALID_EP Not the handle of an endpoint of this adapter.
 * @retval IT_ERR_INVALID_EP_TYPE The endpoint is of the other kind (connected or datagram).
 * @retval IT_ERR_INVALID_RMR Not the handle of an RMR of this adapter.
 * @retval IT_ERR_INVALID_NUM_SEGMENTS More segments than the endpoint or S-RQ allows, or none where
 *     one is needed.
 * @retval IT_ERR_INVALID_DTO_FLAGS A flag is unknown or not allowed for the operation.
 * @retval IT_ERR_INVALID_EP_STATE The endpoint is in a state that does not allow the call.
 * @retval IT_ERR_TOO_MANY_POSTS The queue holds as many requests as it may; take a completion
 *     first.
 * @retval IT_ERR_PRIV_OPS_UNAVAILABLE Privileged operations are not open to this process or
 *     endpoint.
 * @retval IT_ERR_PAYLOAD_SIZE Longer than the endpoint's max_dto_payload_size.
 * @retval IT_ERR_FAULT @p local_segments is NULL with segments.
 * @see it_post_rdma_read(), it_rmr_link(), #IT_DTO_RDMA_READ_CMPL_EVENT
 */
it_status_t it_post_rdma_read_to_rmr(IN it_ep_handle_t ep_handle,
				     IN const it_rmr_triplet_t *local_segments,
				     IN size_t num_segments, IN it_dto_cookie_t cookie,
				     IN it_dto_flags_t dto_flags, IN it_rdma_addr_t rdma_addr,
				     IN it_rmr_context_t rmr_context);

/**
 * @brief Runs an atomic operation on 64 bits of the peer's memory.
 *
 * The peer's region needs #IT_PRIV_ATOMIC and the peer's endpoint it_rc_only_attributes_t.atomics_enable; the region
 * of @p result needs #IT_PRIV_LOCAL_WRITE alone, on every transport. The operation counts as an RDMA Read against ORD
 * here, against IRD at the peer, and for fences, so neither may be 0.
 *
 * It is atomic with regard to other requests of the same adapter. `iwarp` and `emul` run it as an atomic operation of the
 * processor, so the program that owns the word may change it with C11 atomics meanwhile.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - States: connected (runs) or non-operational (is flushed).
 * - Events here: #IT_DTO_FETCH_ADD_CMPL_EVENT or #IT_DTO_CMP_SWAP_CMPL_EVENT on the request EVD.
 * - Events at the peer: none; #IT_CM_MSG_CONN_BROKEN_EVENT if refused.
 * - Clause: [IT 15.7.7].
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] ep_handle the endpoint
 * @param[in] op the operation
 * @param[in] swap_or_add value to store or to add
 * @param[in] compare value that is expected; only for compare-and-swap
 * @param[in] result one segment of 8 bytes for the old value, host byte order
 * @param[in] cookie comes back in the completion
 * @param[in] dto_flags how to run and report; bits of it_dto_flags_t
 * @param[in] rdma_addr remote address, a multiple of 8
 * @param[in] rmr_context key of the remote region, host byte order
 * @retval IT_SUCCESS Posted.
 * @retval IT_ERR_OP_NOT_SUPPORTED it_ia_info_t.atomic_support says no.
 * @retval IT_ERR_INVALID_EP Not the handle of an endpoint of this adapter.
 * @retval IT_ERR_INVALID_EP_TYPE The endpoint is of the other kind (connected or datagram).
 * @retval IT_ERR_INVALID_ATOMIC_OP No such atomic operation.
 * @retval IT_ERR_INVALID_LMR Not the handle of an LMR of this adapter.
 * @retval IT_ERR_INVALID_LENGTH The result is not 8 bytes long.
 * @retval IT_ERR_INVALID_ADDRESS The remote address is not a multiple of 8.
 * @retval IT_ERR_INVALID_NUM_SEGMENTS More segments than the endpoint or S-RQ allows, or none where
 *     one is needed.
 * @retval IT_ERR_INVALID_DTO_FLAGS A flag is unknown or not allowed for the operation.
 * @retval IT_ERR_INVALID_EP_STATE The endpoint is in a state that does not allow the call.
 * @retval IT_ERR_TOO_MANY_POSTS The queue holds as many requests as it may; take a completion
 *     first.
 * @retval IT_ERR_PRIV_OPS_UNAVAILABLE Privileged operations are not open to this process or
 *     endpoint.
 * @retval IT_ERR_FAULT @p result is NULL.
 *
 * @par Example
 * @snippet calls_data.c it_post_atomic
 *
 * @see it_post_rdma_read(), it_make_rdma_addr_absolute(), #IT_DTO_FETCH_ADD_CMPL_EVENT,
 *     #IT_DTO_CMP_SWAP_CMPL_EVENT
 */
it_status_t it_post_atomic(IN it_ep_handle_t ep_handle, IN it_atomic_op_t op,
			   IN uint64_t swap_or_add, IN uint64_t compare,
			   IN const it_lmr_triplet_t *result, IN it_dto_cookie_t cookie,
			   IN it_dto_flags_t dto_flags, IN it_rdma_addr_t rdma_addr,
			   IN it_rmr_context_t rmr_context);

/**
 * @brief Sends a datagram.
 *
 * No event says whether it arrived: it is lost if no endpoint of that number is operational, the key is wrong,
 * no receive is posted, or the first one is too small for it and the 40 octets in front. The completion says
 * that the buffer is free. An endpoint may send to itself.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - States: operational (runs) or non-operational (is flushed).
 * - Events here: #IT_DTO_SEND_CMPL_EVENT on the request EVD.
 * - Events at the peer: #IT_DTO_UD_RECV_CMPL_EVENT, if it arrives.
 * - Clause: [IT 15.7.8]; [IT 5].
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] ep_handle the endpoint
 * @param[in] local_segments the segments in order; may be NULL with no segments. Copied before
 *     return
 * @param[in] num_segments entries of @p local_segments; 0 = a transfer of length 0
 * @param[in] cookie comes back in the completion
 * @param[in] dto_flags how to run and report; bits of it_dto_flags_t
 * @param[in] remote_ep_addr destination; copied before return
 * @retval IT_SUCCESS Posted.
 * @retval IT_ERR_INVALID_EP Not the handle of an endpoint of this adapter.
 * @retval IT_ERR_INVALID_EP_TYPE The endpoint is of the other kind (connected or datagram).
 * @retval IT_ERR_INVALID_LMR Not the handle of an LMR of this adapter.
 * @retval IT_ERR_INVALID_NUM_SEGMENTS More segments than the endpoint or S-RQ allows, or none where
 *     one is needed.
 * @retval IT_ERR_INVALID_DTO_FLAGS A flag is unknown or not allowed for the operation.
 * @retval IT_ERR_INVALID_EP_STATE The endpoint is in a state that does not allow the call.
 * @retval IT_ERR_TOO_MANY_POSTS The queue holds as many requests as it may; take a completion
 *     first.
 * @retval IT_ERR_PRIV_OPS_UNAVAILABLE Privileged operations are not open to this process or
 *     endpoint.
 * @retval IT_ERR_INVALID_AH NULL, freed, of another zone, or the kind of address is unknown.
 * @retval IT_ERR_PAYLOAD_SIZE Longer than the endpoint's, and so the spigot's, datagrams.
 * @retval IT_ERR_INVALID_EP_KEY A controlled key without the privilege.
 * @retval IT_ERR_FAULT @p remote_ep_addr is NULL, or @p local_segments with segments.
 *
 * @par Example
 * @snippet calls_datagram.c it_post_sendto
 *
 * @see it_post_recvfrom(), it_address_handle_create(), it_ud_service_request(),
 *     #IT_DTO_SEND_CMPL_EVENT
 */
it_status_t it_post_sendto(IN it_ep_handle_t ep_handle, IN const it_lmr_triplet_t *local_segments,
			   IN size_t num_segments, IN it_dto_cookie_t cookie,
			   IN it_dto_flags_t dto_flags,
			   IN const it_dg_remote_ep_addr_t *remote_ep_addr);

/**
 * @brief Posts a receive, a buffer for a datagram.
 *
 * The first 40 bytes are for the route header of InfiniBand; the data follows, even if the event says that there
 * is no header. A datagram that does not fit into the first receive of the queue is lost, and the receive stays.
 * The event is an it_all_dto_cmpl_event_t.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - States: operational (waits) or non-operational (is flushed).
 * - Events here: #IT_DTO_UD_RECV_CMPL_EVENT on the receive EVD.
 * - Clause: [IT 15.7.9]; [IT 5], [IT 7.8].
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] ep_handle the endpoint
 * @param[in] local_segments the segments in order; may be NULL with no segments. Copied before
 *     return
 * @param[in] num_segments entries of @p local_segments; 0 = a transfer of length 0
 * @param[in] cookie comes back in the completion
 * @param[in] dto_flags how to run and report; bits of it_dto_flags_t
 * @retval IT_SUCCESS Posted.
 * @retval IT_ERR_INVALID_EP Not the handle of an endpoint of this adapter.
 * @retval IT_ERR_INVALID_EP_TYPE The endpoint is of the other kind (connected or datagram).
 * @retval IT_ERR_INVALID_LMR Not the handle of an LMR of this adapter.
 * @retval IT_ERR_INVALID_NUM_SEGMENTS More segments than the endpoint or S-RQ allows, or none where
 *     one is needed.
 * @retval IT_ERR_INVALID_DTO_FLAGS A flag is unknown or not allowed for the operation.
 * @retval IT_ERR_INVALID_EP_STATE The endpoint is in a state that does not allow the call.
 * @retval IT_ERR_TOO_MANY_POSTS The queue holds as many requests as it may; take a completion
 *     first.
 * @retval IT_ERR_PRIV_OPS_UNAVAILABLE Privileged operations are not open to this process or
 *     endpoint.
 * @retval IT_ERR_FAULT @p local_segments is NULL with segments.
 *
 * @par Example
 * @snippet calls_datagram.c it_post_recvfrom
 *
 * @see it_post_sendto(), it_ep_ud_create(), #IT_DTO_UD_RECV_CMPL_EVENT
 */
it_status_t it_post_recvfrom(IN it_ep_handle_t ep_handle, IN const it_lmr_triplet_t *local_segments,
			     IN size_t num_segments, IN it_dto_cookie_t cookie,
			     IN it_dto_flags_t dto_flags);

/** @} */

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

/**
 * @cond
 *
 * In C++ an enumeration is no integer: bits of one joined by | are one again here, and where a call takes
 * flags it takes their union as an integer, too, of which 0 is the usual one. The functions
 * above stay what they are; these add ways to call them. Nothing of it is in the library.
 */
#if defined(__cplusplus) && __cplusplus >= 201103L
extern "C++" {

#define ITX_FLAGS(type)                                                                        \
	constexpr type operator|(type a, type b)                                               \
	{                                                                                      \
		return static_cast<type>(static_cast<unsigned>(a) | static_cast<unsigned>(b)); \
	}                                                                                      \
	constexpr type operator&(type a, type b)                                               \
	{                                                                                      \
		return static_cast<type>(static_cast<unsigned>(a) & static_cast<unsigned>(b)); \
	}                                                                                      \
	inline type &operator|=(type &a, type b)                                               \
	{                                                                                      \
		return a = a | b;                                                              \
	}

ITX_FLAGS(it_ah_flags_t)
ITX_FLAGS(it_cn_est_flags_t)
ITX_FLAGS(it_dto_flags_t)
ITX_FLAGS(it_ep_rc_creation_flags_t)
ITX_FLAGS(it_evd_flags_t)
ITX_FLAGS(it_listen_flags_t)
ITX_FLAGS(it_lmr_flag_t)
ITX_FLAGS(it_mem_priv_t)
ITX_FLAGS(it_sc_flags_t)
ITX_FLAGS(it_addr_param_mask_t)
ITX_FLAGS(it_ep_param_mask_t)
ITX_FLAGS(it_evd_param_mask_t)
ITX_FLAGS(it_listen_param_mask_t)
ITX_FLAGS(it_lmr_param_mask_t)
ITX_FLAGS(it_pz_param_mask_t)
ITX_FLAGS(it_rmr_param_mask_t)
ITX_FLAGS(it_srq_param_mask_t)
ITX_FLAGS(it_ud_svc_req_param_mask_t)

#undef ITX_FLAGS

inline it_status_t
it_address_handle_create(it_pz_handle_t pz_handle, const it_path_t *destination_path, int ah_flags,
			 it_addr_handle_t *addr_handle)
{
	return it_address_handle_create(pz_handle, destination_path,
					static_cast<it_ah_flags_t>(ah_flags), addr_handle);
}

inline it_status_t
it_ep_connect(it_ep_handle_t ep_handle, const it_path_t *path,
	      const it_conn_attributes_t *conn_attr, const it_conn_qual_t *connect_qual,
	      int cn_est_flags, const unsigned char *private_data, size_t private_data_length)
{
	return it_ep_connect(ep_handle, path, conn_attr, connect_qual,
			     static_cast<it_cn_est_flags_t>(cn_est_flags), private_data,
			     private_data_length);
}

inline it_status_t
it_ep_rc_create(it_pz_handle_t pz_handle, it_evd_handle_t request_sevd_handle,
		it_evd_handle_t recv_sevd_handle, it_evd_handle_t connect_sevd_handle, int flags,
		const it_ep_attributes_t *ep_attr, it_ep_handle_t *ep_handle)
{
	return it_ep_rc_create(pz_handle, request_sevd_handle, recv_sevd_handle,
			       connect_sevd_handle, static_cast<it_ep_rc_creation_flags_t>(flags),
			       ep_attr, ep_handle);
}

inline it_status_t
it_evd_create(it_ia_handle_t ia_handle, it_event_type_t event_number, int evd_flag,
	      size_t sevd_queue_size, size_t sevd_threshold, it_evd_handle_t aevd_handle,
	      it_evd_handle_t *evd_handle, int *fd)
{
	return it_evd_create(ia_handle, event_number, static_cast<it_evd_flags_t>(evd_flag),
			     sevd_queue_size, sevd_threshold, aevd_handle, evd_handle, fd);
}

inline it_status_t
it_listen_create(it_ia_handle_t ia_handle, size_t spigot_id, it_evd_handle_t connect_evd, int flags,
		 it_conn_qual_t *conn_qual, it_listen_handle_t *listen_handle)
{
	return it_listen_create(ia_handle, spigot_id, connect_evd,
				static_cast<it_listen_flags_t>(flags), conn_qual, listen_handle);
}

inline it_status_t
it_lmr_create10(it_pz_handle_t pz_handle, void *addr, it_length_t length, int privs, int flags,
		uint32_t shared_id, it_lmr_handle_t *lmr_handle, it_rmr_context_t *rmr_context)
{
	return it_lmr_create10(pz_handle, addr, length, static_cast<it_mem_priv_t>(privs),
			       static_cast<it_lmr_flag_t>(flags), shared_id, lmr_handle,
			       rmr_context);
}

inline it_status_t
it_lmr_create20(it_pz_handle_t pz_handle, void *addr, it_length_t length, it_addr_mode_t addr_mode,
		int privs, int flags, uint32_t shared_id, it_lmr_handle_t *lmr_handle,
		it_rmr_context_t *rmr_context)
{
	return it_lmr_create20(pz_handle, addr, length, addr_mode,
			       static_cast<it_mem_priv_t>(privs), static_cast<it_lmr_flag_t>(flags),
			       shared_id, lmr_handle, rmr_context);
}

inline it_status_t
it_lmr_create21(it_pz_handle_t pz_handle, void *addr, it_iobl_t *iobl, it_length_t length,
		it_addr_mode_t addr_mode, int privs, int flags, uint32_t shared_id,
		it_lmr_handle_t *lmr_handle, it_rmr_context_t *rmr_context)
{
	return it_lmr_create21(pz_handle, addr, iobl, length, addr_mode,
			       static_cast<it_mem_priv_t>(privs), static_cast<it_lmr_flag_t>(flags),
			       shared_id, lmr_handle, rmr_context);
}

inline it_status_t
it_lmr_create_unlinked(it_pz_handle_t pz_handle, size_t iobl_num_elts, int flags,
		       uint32_t shared_id, it_lmr_handle_t *lmr_handle)
{
	return it_lmr_create_unlinked(pz_handle, iobl_num_elts, static_cast<it_lmr_flag_t>(flags),
				      shared_id, lmr_handle);
}

inline it_status_t
it_lmr_link(it_lmr_handle_t lmr_handle, const void *addr, const it_iobl_t *iobl, it_length_t length,
	    it_addr_mode_t addr_mode, int privs, it_ep_handle_t ep_handle, it_dto_cookie_t cookie,
	    int dto_flags, it_rmr_context_t *rmr_context)
{
	return it_lmr_link(lmr_handle, addr, iobl, length, addr_mode,
			   static_cast<it_mem_priv_t>(privs), ep_handle, cookie,
			   static_cast<it_dto_flags_t>(dto_flags), rmr_context);
}

inline it_status_t
it_lmr_unlink(it_lmr_handle_t lmr_handle, it_ep_handle_t ep_handle, it_dto_cookie_t cookie,
	      int dto_flags)
{
	return it_lmr_unlink(lmr_handle, ep_handle, cookie, static_cast<it_dto_flags_t>(dto_flags));
}

inline it_status_t
it_post_atomic(it_ep_handle_t ep_handle, it_atomic_op_t op, uint64_t swap_or_add, uint64_t compare,
	       const it_lmr_triplet_t *result, it_dto_cookie_t cookie, int dto_flags,
	       it_rdma_addr_t rdma_addr, it_rmr_context_t rmr_context)
{
	return it_post_atomic(ep_handle, op, swap_or_add, compare, result, cookie,
			      static_cast<it_dto_flags_t>(dto_flags), rdma_addr, rmr_context);
}

inline it_status_t
it_post_rdma_read(it_ep_handle_t ep_handle, const it_lmr_triplet_t *local_segments,
		  size_t num_segments, it_dto_cookie_t cookie, int dto_flags,
		  it_rdma_addr_t rdma_addr, it_rmr_context_t rmr_context)
{
	return it_post_rdma_read(ep_handle, local_segments, num_segments, cookie,
				 static_cast<it_dto_flags_t>(dto_flags), rdma_addr, rmr_context);
}

inline it_status_t
it_post_rdma_read_to_rmr(it_ep_handle_t ep_handle, const it_rmr_triplet_t *local_segments,
			 size_t num_segments, it_dto_cookie_t cookie, int dto_flags,
			 it_rdma_addr_t rdma_addr, it_rmr_context_t rmr_context)
{
	return it_post_rdma_read_to_rmr(ep_handle, local_segments, num_segments, cookie,
					static_cast<it_dto_flags_t>(dto_flags), rdma_addr,
					rmr_context);
}

inline it_status_t
it_post_rdma_write(it_ep_handle_t ep_handle, const it_lmr_triplet_t *local_segments,
		   size_t num_segments, it_dto_cookie_t cookie, int dto_flags,
		   it_rdma_addr_t rdma_addr, it_rmr_context_t rmr_context)
{
	return it_post_rdma_write(ep_handle, local_segments, num_segments, cookie,
				  static_cast<it_dto_flags_t>(dto_flags), rdma_addr, rmr_context);
}

inline it_status_t
it_post_recv(it_handle_t handle, const it_lmr_triplet_t *local_segments, size_t num_segments,
	     it_dto_cookie_t cookie, int dto_flags)
{
	return it_post_recv(handle, local_segments, num_segments, cookie,
			    static_cast<it_dto_flags_t>(dto_flags));
}

inline it_status_t
it_post_recvfrom(it_ep_handle_t ep_handle, const it_lmr_triplet_t *local_segments,
		 size_t num_segments, it_dto_cookie_t cookie, int dto_flags)
{
	return it_post_recvfrom(ep_handle, local_segments, num_segments, cookie,
				static_cast<it_dto_flags_t>(dto_flags));
}

inline it_status_t
it_post_send(it_ep_handle_t ep_handle, const it_lmr_triplet_t *local_segments, size_t num_segments,
	     it_dto_cookie_t cookie, int dto_flags)
{
	return it_post_send(ep_handle, local_segments, num_segments, cookie,
			    static_cast<it_dto_flags_t>(dto_flags));
}

inline it_status_t
it_post_send_and_unlink(it_ep_handle_t ep_handle, const it_lmr_triplet_t *local_segments,
			size_t num_segments, it_dto_cookie_t cookie, int dto_flags,
			it_rmr_context_t rmr_context)
{
	return it_post_send_and_unlink(ep_handle, local_segments, num_segments, cookie,
				       static_cast<it_dto_flags_t>(dto_flags), rmr_context);
}

inline it_status_t
it_post_sendto(it_ep_handle_t ep_handle, const it_lmr_triplet_t *local_segments,
	       size_t num_segments, it_dto_cookie_t cookie, int dto_flags,
	       const it_dg_remote_ep_addr_t *remote_ep_addr)
{
	return it_post_sendto(ep_handle, local_segments, num_segments, cookie,
			      static_cast<it_dto_flags_t>(dto_flags), remote_ep_addr);
}

inline it_status_t
it_rmr_bind10(it_rmr_handle_t rmr_handle, it_lmr_handle_t lmr_handle, void *addr,
	      it_length_t length, int privs, it_ep_handle_t ep_handle, it_dto_cookie_t cookie,
	      int dto_flags, it_rmr_context_t *rmr_context)
{
	return it_rmr_bind10(rmr_handle, lmr_handle, addr, length,
			     static_cast<it_mem_priv_t>(privs), ep_handle, cookie,
			     static_cast<it_dto_flags_t>(dto_flags), rmr_context);
}

inline it_status_t
it_rmr_link(it_rmr_handle_t rmr_handle, it_lmr_handle_t lmr_handle, void *addr, it_length_t length,
	    it_addr_mode_t addr_mode, int privs, it_ep_handle_t ep_handle, it_dto_cookie_t cookie,
	    int dto_flags, it_rmr_context_t *rmr_context)
{
	return it_rmr_link(rmr_handle, lmr_handle, addr, length, addr_mode,
			   static_cast<it_mem_priv_t>(privs), ep_handle, cookie,
			   static_cast<it_dto_flags_t>(dto_flags), rmr_context);
}

inline it_status_t
it_rmr_unlink(it_rmr_handle_t rmr_handle, it_ep_handle_t ep_handle, it_dto_cookie_t cookie,
	      int dto_flags)
{
	return it_rmr_unlink(rmr_handle, ep_handle, cookie, static_cast<it_dto_flags_t>(dto_flags));
}

inline it_status_t
it_socket_convert(int sd, it_ep_handle_t ep_handle, int flags, const unsigned char *msg, size_t len)
{
	return it_socket_convert(sd, ep_handle, static_cast<it_sc_flags_t>(flags), msg, len);
}

} /* extern "C++" */
#endif
/** @endcond */

/** @} */

#endif /* IT_API_H */
