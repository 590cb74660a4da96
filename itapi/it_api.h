/*
 * SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 * SPDX-FileCopyrightText: the itapi authors
 */
#ifndef IT_API_H
#define IT_API_H

/**
 * @file
 * @brief The Interconnect Transport API, Issue 2.1: the whole application interface of itapi.
 * @defgroup itapi IT-API 2.1
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
 * link together. Clause: itapi-semantics 15.12.
 *
 * | defined before inclusion     | it_lmr_create   | it_rmr_create   | it_rmr_bind   | member of it_rmr_param_t |
 * |------------------------------|-----------------|-----------------|---------------|--------------------------|
 * | nothing                      | it_lmr_create10 | it_rmr_create10 | it_rmr_bind10 | `bound`                  |
 * | ITAPI_ENABLE_V20_BINDINGS    | it_lmr_create20 | it_rmr_create20 | it_rmr_link   | `linked`                 |
 * | ITAPI_ENABLE_V21_BINDINGS    | it_lmr_create21 | it_rmr_create20 | it_rmr_link   | `linked`                 |
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
/** Makes an RMR, as the chosen issue declares it. */
#define it_rmr_create it_rmr_create20
/** Links an RMR to memory, as the chosen issue declares it. */
#define it_rmr_bind it_rmr_link
#elif defined(ITAPI_ENABLE_V21_BINDINGS)
#define it_lmr_create it_lmr_create21
#define it_rmr_create it_rmr_create20
#define it_rmr_bind   it_rmr_link
#else
#define it_lmr_create it_lmr_create10
#define it_rmr_create it_rmr_create10
#define it_rmr_bind   it_rmr_bind10
#endif
/** @} */

/**
 * @name Names of Issue 1.0
 *
 * Spellings of Issue 1.0 that later issues changed without changing the meaning. They work in
 * every mode. They are plain macros, so they also rewrite any identifier of the application that is
 * spelt the same way. Clause: itapi-semantics 15.12.
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
 * The ABI is network order. Clause: itapi-semantics 9.1, R-22.
 */
#if defined(ITAPI_IANA_PORT_HOST_BYTE_ORDER)
#error "itapi takes ports in network byte order: remove ITAPI_IANA_PORT_HOST_BYTE_ORDER, use htons()"
#endif
#if defined(ITAPI_SERVICE_ID_HOST_BYTE_ORDER)
#error "itapi takes service ids in network byte order: remove ITAPI_SERVICE_ID_HOST_BYTE_ORDER, use it_hton64()"
#endif

/**
 * @name Platform
 *
 * What the standard leaves to it_api_os_specific.h. IT_32BIT, when defined, makes it_length_t 32
 * bits wide; the library and everything that calls it must agree on it.
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
/** Lets C99 have a union without a name; C11 and C++ have it anyway. For it_path_t only. */
#define ITX_EXTENSION __extension__
#else
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
/** Waits for ever (a time in microseconds, as all times of this interface). */
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
 * @{
 */
/** it_status_t. */
typedef enum {
	IT_SUCCESS = 0,                     /**< IT_SUCCESS. */
	IT_ERR_ABORT = 1,                   /**< IT_ERR_ABORT. */
	IT_ERR_ACCESS = 2,                  /**< IT_ERR_ACCESS. */
	IT_ERR_ADDRESS = 3,                 /**< IT_ERR_ADDRESS. */
	IT_ERR_AEVD_NOT_ALLOWED = 4,        /**< IT_ERR_AEVD_NOT_ALLOWED. */
	IT_ERR_ASYNC_AFF_EVD_EXISTS = 5,    /**< IT_ERR_ASYNC_AFF_EVD_EXISTS. */
	IT_ERR_ASYNC_UNAFF_EVD_EXISTS = 6,  /**< IT_ERR_ASYNC_UNAFF_EVD_EXISTS. */
	IT_ERR_CALLBACK_EXISTS = 7,         /**< IT_ERR_CALLBACK_EXISTS. */
	IT_ERR_CANNOT_RESET = 8,            /**< IT_ERR_CANNOT_RESET. */
	IT_ERR_CONN_QUAL_BUSY = 9,          /**< IT_ERR_CONN_QUAL_BUSY. */
	IT_ERR_EP_BUSY = 10,                /**< IT_ERR_EP_BUSY. */
	IT_ERR_EP_TIMEWAIT = 11,            /**< IT_ERR_EP_TIMEWAIT. */
	IT_ERR_EVD_BUSY = 12,               /**< IT_ERR_EVD_BUSY. */
	IT_ERR_EVD_WAIT = 13,               /**< IT_ERR_EVD_WAIT. */
	IT_ERR_EVD_QUEUE_FULL = 14,         /**< IT_ERR_EVD_QUEUE_FULL. */
	IT_ERR_FAULT = 15,                  /**< IT_ERR_FAULT. */
	IT_ERR_HARD_HI_WATERMARK = 16,      /**< IT_ERR_HARD_HI_WATERMARK. */
	IT_ERR_IA_CATASTROPHE = 17,         /**< IT_ERR_IA_CATASTROPHE. */
	IT_ERR_INTERRUPT = 18,              /**< IT_ERR_INTERRUPT. */
	IT_ERR_INVALID_ADDR_MODE = 19,      /**< IT_ERR_INVALID_ADDR_MODE. */
	IT_ERR_INVALID_ADDRESS = 20,        /**< IT_ERR_INVALID_ADDRESS. */
	IT_ERR_INVALID_AEVD = 21,           /**< IT_ERR_INVALID_AEVD. */
	IT_ERR_INVALID_AH = 22,             /**< IT_ERR_INVALID_AH. */
	IT_ERR_INVALID_ATIMEOUT = 23,       /**< IT_ERR_INVALID_ATIMEOUT. */
	IT_ERR_INVALID_ATOMIC_OP = 24,      /**< IT_ERR_INVALID_ATOMIC_OP. */
	IT_ERR_INVALID_CM_RETRY = 25,       /**< IT_ERR_INVALID_CM_RETRY. */
	IT_ERR_INVALID_CN_EST_FLAGS = 26,   /**< IT_ERR_INVALID_CN_EST_FLAGS. */
	IT_ERR_INVALID_CN_EST_ID = 27,      /**< IT_ERR_INVALID_CN_EST_ID. */
	IT_ERR_INVALID_CONN_EVD = 28,       /**< IT_ERR_INVALID_CONN_EVD. */
	IT_ERR_INVALID_CONN_QUAL = 29,      /**< IT_ERR_INVALID_CONN_QUAL. */
	IT_ERR_INVALID_CONVERSION = 30,     /**< IT_ERR_INVALID_CONVERSION. */
	IT_ERR_INVALID_DTO_FLAGS = 31,      /**< IT_ERR_INVALID_DTO_FLAGS. */
	IT_ERR_INVALID_EP = 32,             /**< IT_ERR_INVALID_EP. */
	IT_ERR_INVALID_EP_ATTR = 33,        /**< IT_ERR_INVALID_EP_ATTR. */
	IT_ERR_INVALID_EP_KEY = 34,         /**< IT_ERR_INVALID_EP_KEY. */
	IT_ERR_INVALID_EP_STATE = 35,       /**< IT_ERR_INVALID_EP_STATE. */
	IT_ERR_INVALID_EP_TYPE = 36,        /**< IT_ERR_INVALID_EP_TYPE. */
	IT_ERR_INVALID_EVD = 37,            /**< IT_ERR_INVALID_EVD. */
	IT_ERR_INVALID_EVD_STATE = 38,      /**< IT_ERR_INVALID_EVD_STATE. */
	IT_ERR_INVALID_EVD_TYPE = 39,       /**< IT_ERR_INVALID_EVD_TYPE. */
	IT_ERR_INVALID_FLAGS = 40,          /**< IT_ERR_INVALID_FLAGS. */
	IT_ERR_INVALID_HANDLE = 41,         /**< IT_ERR_INVALID_HANDLE. */
	IT_ERR_INVALID_IA = 42,             /**< IT_ERR_INVALID_IA. */
	IT_ERR_INVALID_IOBL = 43,           /**< IT_ERR_INVALID_IOBL. */
	IT_ERR_INVALID_LENGTH = 44,         /**< IT_ERR_INVALID_LENGTH. */
	IT_ERR_INVALID_LISTEN = 45,         /**< IT_ERR_INVALID_LISTEN. */
	IT_ERR_INVALID_LMR = 46,            /**< IT_ERR_INVALID_LMR. */
	IT_ERR_INVALID_LTIMEOUT = 47,       /**< IT_ERR_INVALID_LTIMEOUT. */
	IT_ERR_INVALID_MAJOR_VERSION = 48,  /**< IT_ERR_INVALID_MAJOR_VERSION. */
	IT_ERR_INVALID_MASK = 49,           /**< IT_ERR_INVALID_MASK. */
	IT_ERR_INVALID_MINOR_VERSION = 50,  /**< IT_ERR_INVALID_MINOR_VERSION. */
	IT_ERR_INVALID_NAME = 51,           /**< IT_ERR_INVALID_NAME. */
	IT_ERR_INVALID_NETADDR = 52,        /**< IT_ERR_INVALID_NETADDR. */
	IT_ERR_INVALID_NUM_SEGMENTS = 53,   /**< IT_ERR_INVALID_NUM_SEGMENTS. */
	IT_ERR_INVALID_PDATA_LENGTH = 54,   /**< IT_ERR_INVALID_PDATA_LENGTH. */
	IT_ERR_INVALID_PRIVS = 55,          /**< IT_ERR_INVALID_PRIVS. */
	IT_ERR_INVALID_PZ = 56,             /**< IT_ERR_INVALID_PZ. */
	IT_ERR_INVALID_QUEUE_SIZE = 57,     /**< IT_ERR_INVALID_QUEUE_SIZE. */
	IT_ERR_INVALID_RECV_DTO = 58,       /**< IT_ERR_INVALID_RECV_DTO. */
	IT_ERR_INVALID_RECV_EVD = 59,       /**< IT_ERR_INVALID_RECV_EVD. */
	IT_ERR_INVALID_RECV_EVD_STATE = 60, /**< IT_ERR_INVALID_RECV_EVD_STATE. */
	IT_ERR_INVALID_REQ_EVD = 61,        /**< IT_ERR_INVALID_REQ_EVD. */
	IT_ERR_INVALID_REQ_EVD_STATE = 62,  /**< IT_ERR_INVALID_REQ_EVD_STATE. */
	IT_ERR_INVALID_RETRY = 63,          /**< IT_ERR_INVALID_RETRY. */
	IT_ERR_INVALID_RMR = 64,            /**< IT_ERR_INVALID_RMR. */
	IT_ERR_INVALID_RNR_RETRY = 65,      /**< IT_ERR_INVALID_RNR_RETRY. */
	IT_ERR_INVALID_RMR_TYPE = 66,       /**< IT_ERR_INVALID_RMR_TYPE. */
	IT_ERR_INVALID_RTIMEOUT = 67,       /**< IT_ERR_INVALID_RTIMEOUT. */
	IT_ERR_INVALID_SOFT_EVD = 68,       /**< IT_ERR_INVALID_SOFT_EVD. */
	IT_ERR_INVALID_SOURCE_PATH = 69,    /**< IT_ERR_INVALID_SOURCE_PATH. */
	IT_ERR_INVALID_SPIGOT = 70,         /**< IT_ERR_INVALID_SPIGOT. */
	IT_ERR_INVALID_SRQ = 71,            /**< IT_ERR_INVALID_SRQ. */
	IT_ERR_INVALID_SRQ_SIZE = 72,       /**< IT_ERR_INVALID_SRQ_SIZE. */
	IT_ERR_INVALID_THRESHOLD = 73,      /**< IT_ERR_INVALID_THRESHOLD. */
	IT_ERR_INVALID_UD_STATUS = 74,      /**< IT_ERR_INVALID_UD_STATUS. */
	IT_ERR_INVALID_UD_SVC = 75,         /**< IT_ERR_INVALID_UD_SVC. */
	IT_ERR_INVALID_UD_SVC_REQ_ID = 76,  /**< IT_ERR_INVALID_UD_SVC_REQ_ID. */
	IT_ERR_INVALID_WATERMARK = 77,      /**< IT_ERR_INVALID_WATERMARK. */
	IT_ERR_LMR_BUSY = 78,               /**< IT_ERR_LMR_BUSY. */
	IT_ERR_MISMATCH_FD = 79,            /**< IT_ERR_MISMATCH_FD. */
	IT_ERR_NO_CONTEXT = 80,             /**< IT_ERR_NO_CONTEXT. */
	IT_ERR_NO_PERMISSION = 81,          /**< IT_ERR_NO_PERMISSION. */
	IT_ERR_OP_NOT_SUPPORTED = 82,       /**< IT_ERR_OP_NOT_SUPPORTED. */
	IT_ERR_PAYLOAD_SIZE = 83,           /**< IT_ERR_PAYLOAD_SIZE. */
	IT_ERR_PDATA_NOT_SUPPORTED = 84,    /**< IT_ERR_PDATA_NOT_SUPPORTED. */
	IT_ERR_PRIV_OPS_UNAVAILABLE = 85,   /**< IT_ERR_PRIV_OPS_UNAVAILABLE. */
	IT_ERR_PZ_BUSY = 86,                /**< IT_ERR_PZ_BUSY. */
	IT_ERR_QUEUE_EMPTY = 87,            /**< IT_ERR_QUEUE_EMPTY. */
	IT_ERR_RANGE = 88,                  /**< IT_ERR_RANGE. */
	IT_ERR_RESOURCES = 89,              /**< IT_ERR_RESOURCES. */
	IT_ERR_RESOURCE_IRD = 90,           /**< IT_ERR_RESOURCE_IRD. */
	IT_ERR_RESOURCE_LMR_LENGTH = 91,    /**< IT_ERR_RESOURCE_LMR_LENGTH. */
	IT_ERR_RESOURCE_ORD = 92,           /**< IT_ERR_RESOURCE_ORD. */
	IT_ERR_RESOURCE_QUEUE_SIZE = 93,    /**< IT_ERR_RESOURCE_QUEUE_SIZE. */
	IT_ERR_RESOURCE_RECV_DTO = 94,      /**< IT_ERR_RESOURCE_RECV_DTO. */
	IT_ERR_RESOURCE_REQ_DTO = 95,       /**< IT_ERR_RESOURCE_REQ_DTO. */
	IT_ERR_RESOURCE_RRSEG = 96,         /**< IT_ERR_RESOURCE_RRSEG. */
	IT_ERR_RESOURCE_RSEG = 97,          /**< IT_ERR_RESOURCE_RSEG. */
	IT_ERR_RESOURCE_RWSEG = 98,         /**< IT_ERR_RESOURCE_RWSEG. */
	IT_ERR_RESOURCE_SSEG = 99,          /**< IT_ERR_RESOURCE_SSEG. */
	IT_ERR_SOFT_HI_WATERMARK = 100,     /**< IT_ERR_SOFT_HI_WATERMARK. */
	IT_ERR_SRQ_BUSY = 101,              /**< IT_ERR_SRQ_BUSY. */
	IT_ERR_SRQ_LOW_WATERMARK = 102,     /**< IT_ERR_SRQ_LOW_WATERMARK. */
	IT_ERR_SRQ_NOT_SUPPORTED = 103,     /**< IT_ERR_SRQ_NOT_SUPPORTED. */
	IT_ERR_TIMEOUT_EXPIRED = 104,       /**< IT_ERR_TIMEOUT_EXPIRED. */
	IT_ERR_TOO_MANY_POSTS = 105,        /**< IT_ERR_TOO_MANY_POSTS. */
	IT_ERR_WAITER_LIMIT = 106           /**< IT_ERR_WAITER_LIMIT. */
} it_status_t;

/** it_boolean_t. */
typedef enum {
	IT_FALSE = 0, /**< IT_FALSE. */
	IT_TRUE = 1   /**< IT_TRUE. */
} it_boolean_t;

#ifdef IT_32BIT
/** it_length_t. */
typedef uint32_t it_length_t;
#else
/** it_length_t. */
typedef uint64_t it_length_t;
#endif

/** it_handle_t. */
typedef void *it_handle_t;

/** it_ia_handle_t. */
typedef struct it_ia_handle_s *it_ia_handle_t;

/** it_pz_handle_t. */
typedef struct it_pz_handle_s *it_pz_handle_t;

/** it_evd_handle_t. */
typedef struct it_evd_handle_s *it_evd_handle_t;

/** it_ep_handle_t. */
typedef struct it_ep_handle_s *it_ep_handle_t;

/** it_listen_handle_t. */
typedef struct it_listen_handle_s *it_listen_handle_t;

/** it_lmr_handle_t. */
typedef struct it_lmr_handle_s *it_lmr_handle_t;

/** it_rmr_handle_t. */
typedef struct it_rmr_handle_s *it_rmr_handle_t;

/** it_srq_handle_t. */
typedef struct it_srq_handle_s *it_srq_handle_t;

/** it_addr_handle_t. */
typedef struct it_addr_handle_s *it_addr_handle_t;

/** it_ud_svc_req_handle_t. */
typedef struct it_ud_svc_req_handle_s *it_ud_svc_req_handle_t;

/** No object: never a valid handle. */
#define IT_NULL_HANDLE ((it_handle_t)NULL)

/** it_handle_type_enum_t. */
typedef enum {
	IT_HANDLE_TYPE_ADDR = 0,       /**< IT_HANDLE_TYPE_ADDR. */
	IT_HANDLE_TYPE_EP = 1,         /**< IT_HANDLE_TYPE_EP. */
	IT_HANDLE_TYPE_EVD = 2,        /**< IT_HANDLE_TYPE_EVD. */
	IT_HANDLE_TYPE_IA = 3,         /**< IT_HANDLE_TYPE_IA. */
	IT_HANDLE_TYPE_LISTEN = 4,     /**< IT_HANDLE_TYPE_LISTEN. */
	IT_HANDLE_TYPE_LMR = 5,        /**< IT_HANDLE_TYPE_LMR. */
	IT_HANDLE_TYPE_PZ = 6,         /**< IT_HANDLE_TYPE_PZ. */
	IT_HANDLE_TYPE_RMR = 7,        /**< IT_HANDLE_TYPE_RMR. */
	IT_HANDLE_TYPE_UD_SVC_REQ = 8, /**< IT_HANDLE_TYPE_UD_SVC_REQ. */
	IT_HANDLE_TYPE_SRQ = 9         /**< IT_HANDLE_TYPE_SRQ. */
} it_handle_type_enum_t;

/** it_context_t. */
typedef union {
	/** it_context_t.ptr. */
	void *ptr;
	/** it_context_t.index. */
	uint64_t index;
} it_context_t;

/** it_rdma_addr_t. */
typedef uint64_t it_rdma_addr_t;

/** it_get_handle_type(), see itapi-semantics chapter 15. */
it_status_t it_get_handle_type(IN it_handle_t handle, OUT it_handle_type_enum_t *type_of_handle);

/** it_set_consumer_context(), see itapi-semantics chapter 15. */
it_status_t it_set_consumer_context(IN it_handle_t handle, IN it_context_t context);

/** it_get_consumer_context(), see itapi-semantics chapter 15. */
it_status_t it_get_consumer_context(IN it_handle_t handle, OUT it_context_t *context);

/** it_hton64(), see itapi-semantics chapter 15. */
uint64_t it_hton64(IN uint64_t hostint);

/** it_ntoh64(), see itapi-semantics chapter 15. */
uint64_t it_ntoh64(IN uint64_t netint);

/** it_make_rdma_addr_absolute(), see itapi-semantics chapter 15. */
it_rdma_addr_t it_make_rdma_addr_absolute(IN void *addr);

/** it_make_rdma_addr_relative(), see itapi-semantics chapter 15. */
it_rdma_addr_t it_make_rdma_addr_relative(IN it_length_t offset);

/** @} */

/**
 * @defgroup itapi_dto Data transfer
 * @ingroup itapi
 * @{
 */
/** it_dto_cookie_t. */
typedef uint64_t it_dto_cookie_t;

/** it_dto_flags_t. */
typedef enum {
	IT_COMPLETION_FLAG = 0x01,     /**< IT_COMPLETION_FLAG. */
	IT_NOTIFY_FLAG = 0x02,         /**< IT_NOTIFY_FLAG. */
	IT_SOLICITED_WAIT_FLAG = 0x04, /**< IT_SOLICITED_WAIT_FLAG. */
	IT_BARRIER_FENCE_FLAG = 0x08,  /**< IT_BARRIER_FENCE_FLAG. */
	IT_UNLINK_FENCE_FLAG = 0x10,   /**< IT_UNLINK_FENCE_FLAG. */
	IT_UNLINK_LOCAL_SINK = 0x20,   /**< IT_UNLINK_LOCAL_SINK. */
	IT_COALESCE_WR_FLAG = 0x40     /**< IT_COALESCE_WR_FLAG. */
} it_dto_flags_t;

/** it_dto_status_t. */
typedef enum {
	IT_DTO_SUCCESS = 0,                 /**< IT_DTO_SUCCESS. */
	IT_DTO_ERR_LOCAL_LENGTH = 1,        /**< IT_DTO_ERR_LOCAL_LENGTH. */
	IT_DTO_ERR_LOCAL_EP = 2,            /**< IT_DTO_ERR_LOCAL_EP. */
	IT_DTO_ERR_LOCAL_PROTECTION = 3,    /**< IT_DTO_ERR_LOCAL_PROTECTION. */
	IT_DTO_ERR_FLUSHED = 4,             /**< IT_DTO_ERR_FLUSHED. */
	IT_RMR_OPERATION_FAILED = 5,        /**< IT_RMR_OPERATION_FAILED. */
	IT_DTO_ERR_BAD_RESPONSE = 6,        /**< IT_DTO_ERR_BAD_RESPONSE. */
	IT_DTO_ERR_REMOTE_ACCESS = 7,       /**< IT_DTO_ERR_REMOTE_ACCESS. */
	IT_DTO_ERR_REMOTE_RESPONDER = 8,    /**< IT_DTO_ERR_REMOTE_RESPONDER. */
	IT_DTO_ERR_TRANSPORT = 9,           /**< IT_DTO_ERR_TRANSPORT. */
	IT_DTO_ERR_RECEIVER_NOT_READY = 10, /**< IT_DTO_ERR_RECEIVER_NOT_READY. */
	IT_DTO_ERR_PARTIAL_PACKET = 11,     /**< IT_DTO_ERR_PARTIAL_PACKET. */
	IT_DTO_ERR_LOCAL_MM_OPERATION = 12  /**< IT_DTO_ERR_LOCAL_MM_OPERATION. */
} it_dto_status_t;

/** it_dto_ud_flags_t. */
typedef enum {
	IT_UD_IB_GRH_PRESENT = 0x01 /**< IT_UD_IB_GRH_PRESENT. */
} it_dto_ud_flags_t;

/** it_atomic_op_t. */
typedef enum {
	IT_COMPARE_AND_SWAP = 0, /**< IT_COMPARE_AND_SWAP. */
	IT_FETCH_AND_ADD = 1     /**< IT_FETCH_AND_ADD. */
} it_atomic_op_t;

/** @} */

/**
 * @defgroup itapi_mem Protection zones and memory
 * @ingroup itapi
 * @{
 */
/** it_pz_param_t. */
typedef struct {
	/** it_pz_param_t.ia. */
	it_ia_handle_t ia;
} it_pz_param_t;

/** it_pz_param_mask_t. */
typedef enum {
	IT_PZ_PARAM_ALL = 0x01, /**< IT_PZ_PARAM_ALL. */
	IT_PZ_PARAM_IA = 0x02   /**< IT_PZ_PARAM_IA. */
} it_pz_param_mask_t;

/** it_rmr_context_t. */
typedef uint64_t it_rmr_context_t;

/** it_io_addr_t. */
typedef struct it_io_addr_s *it_io_addr_t;

/** it_mem_priv_t. */
typedef enum {
	IT_PRIV_NONE = 0x00,         /**< IT_PRIV_NONE. */
	IT_PRIV_LOCAL_READ = 0x01,   /**< IT_PRIV_LOCAL_READ. */
	IT_PRIV_LOCAL_WRITE = 0x02,  /**< IT_PRIV_LOCAL_WRITE. */
	IT_PRIV_LOCAL = 0x03,        /**< IT_PRIV_LOCAL. */
	IT_PRIV_DEFAULT = 0x03,      /**< IT_PRIV_DEFAULT. */
	IT_PRIV_REMOTE_READ = 0x04,  /**< IT_PRIV_REMOTE_READ. */
	IT_PRIV_REMOTE_WRITE = 0x08, /**< IT_PRIV_REMOTE_WRITE. */
	IT_PRIV_REMOTE = 0x0c,       /**< IT_PRIV_REMOTE. */
	IT_PRIV_ATOMIC = 0x10,       /**< IT_PRIV_ATOMIC. */
	IT_PRIV_ALL = 0x1f           /**< IT_PRIV_ALL. */
} it_mem_priv_t;

/** it_lmr_flag_t. */
typedef enum {
	IT_LMR_FLAG_NONE = 0x01,         /**< IT_LMR_FLAG_NONE. */
	IT_LMR_FLAG_SHARED = 0x02,       /**< IT_LMR_FLAG_SHARED. */
	IT_LMR_FLAG_NONCOHERENT = 0x04,  /**< IT_LMR_FLAG_NONCOHERENT. */
	IT_LMR_FLAG_NON_SHAREABLE = 0x08 /**< IT_LMR_FLAG_NON_SHAREABLE. */
} it_lmr_flag_t;

/** it_addr_mode_t. */
typedef enum {
	IT_ADDR_MODE_ABSOLUTE = 0, /**< IT_ADDR_MODE_ABSOLUTE. */
	IT_ADDR_MODE_RELATIVE = 1  /**< IT_ADDR_MODE_RELATIVE. */
} it_addr_mode_t;

/** it_rmr_type_t. */
typedef enum {
	IT_RMR_TYPE_DEFAULT = 0x00, /**< IT_RMR_TYPE_DEFAULT. */
	IT_RMR_TYPE_NARROW = 0x01,  /**< IT_RMR_TYPE_NARROW. */
	IT_RMR_TYPE_WIDE = 0x02     /**< IT_RMR_TYPE_WIDE. */
} it_rmr_type_t;

/** it_iobl_type_t. */
typedef enum {
	IT_IOBL_PAGE_LIST = 0x01,   /**< IT_IOBL_PAGE_LIST. */
	IT_IOBL_BLOCK_LIST = 0x02,  /**< IT_IOBL_BLOCK_LIST. */
	IT_IOBL_VE_PAGE_LIST = 0x04 /**< IT_IOBL_VE_PAGE_LIST. */
} it_iobl_type_t;

/** it_iobl_ve_elt_t. */
typedef struct {
	/** it_iobl_ve_elt_t.io_addr. */
	it_io_addr_t io_addr;
	/** it_iobl_ve_elt_t.elt_len. */
	it_length_t elt_len;
} it_iobl_ve_elt_t;

/** it_iobl_t. */
typedef struct {
	/** it_iobl_t.iobl_type. */
	it_iobl_type_t iobl_type;
	/** it_iobl_t.list. */
	union {
		/** it_iobl_t.list.ce_list. */
		struct {
			/** it_iobl_t.list.ce_list.list_elt. */
			it_io_addr_t *list_elt;
			/** it_iobl_t.list.ce_list.elt_len. */
			it_length_t elt_len;
		} ce_list;
		/** it_iobl_t.list.ve_list. */
		struct {
			/** it_iobl_t.list.ve_list.list_elt. */
			it_iobl_ve_elt_t *list_elt;
		} ve_list;
	} list;
	/** it_iobl_t.num_elts. */
	size_t num_elts;
	/** it_iobl_t.fbo. */
	it_length_t fbo;
} it_iobl_t;

/** it_lmr_triplet_t. */
typedef struct {
	/** it_lmr_triplet_t.lmr. */
	it_lmr_handle_t lmr;
	/** it_lmr_triplet_t.addr. */
	union {
		/** it_lmr_triplet_t.addr.abs. */
		void *abs;
		/** it_lmr_triplet_t.addr.rel. */
		it_length_t rel;
		/** it_lmr_triplet_t.addr.io. */
		it_io_addr_t io;
	} addr;
	/** it_lmr_triplet_t.length. */
	it_length_t length;
} it_lmr_triplet_t;

/** it_rmr_triplet_t. */
typedef struct {
	/** it_rmr_triplet_t.rmr. */
	it_rmr_handle_t rmr;
	/** it_rmr_triplet_t.addr. */
	union {
		/** it_rmr_triplet_t.addr.abs. */
		void *abs;
		/** it_rmr_triplet_t.addr.rel. */
		it_length_t rel;
	} addr;
	/** it_rmr_triplet_t.length. */
	it_length_t length;
} it_rmr_triplet_t;

/** it_lmr_param_t. */
typedef struct {
	/** it_lmr_param_t.ia. */
	it_ia_handle_t ia;
	/** it_lmr_param_t.pz. */
	it_pz_handle_t pz;
	/** it_lmr_param_t.addr. */
	void *addr;
	/** it_lmr_param_t.length. */
	it_length_t length;
	/** it_lmr_param_t.privs. */
	it_mem_priv_t privs;
	/** it_lmr_param_t.flags. */
	it_lmr_flag_t flags;
	/** it_lmr_param_t.shared_id. */
	uint32_t shared_id;
	/** it_lmr_param_t.rmr_context. */
	it_rmr_context_t rmr_context;
	/** it_lmr_param_t.actual_addr. */
	void *actual_addr;
	/** it_lmr_param_t.actual_length. */
	it_length_t actual_length;
	/** it_lmr_param_t.addr_mode. */
	it_addr_mode_t addr_mode;
	/** it_lmr_param_t.linked. */
	it_boolean_t linked;
	/** it_lmr_param_t.iobl_num_elts. */
	size_t iobl_num_elts;
	/** it_lmr_param_t.iobl_type. */
	it_iobl_type_t iobl_type;
} it_lmr_param_t;

/** it_lmr_param_mask_t. */
typedef enum {
	IT_LMR_PARAM_ALL = 0x0001,           /**< IT_LMR_PARAM_ALL. */
	IT_LMR_PARAM_IA = 0x0002,            /**< IT_LMR_PARAM_IA. */
	IT_LMR_PARAM_PZ = 0x0004,            /**< IT_LMR_PARAM_PZ. */
	IT_LMR_PARAM_ADDR = 0x0008,          /**< IT_LMR_PARAM_ADDR. */
	IT_LMR_PARAM_LENGTH = 0x0010,        /**< IT_LMR_PARAM_LENGTH. */
	IT_LMR_PARAM_MEM_PRIV = 0x0020,      /**< IT_LMR_PARAM_MEM_PRIV. */
	IT_LMR_PARAM_FLAG = 0x0040,          /**< IT_LMR_PARAM_FLAG. */
	IT_LMR_PARAM_SHARED_ID = 0x0080,     /**< IT_LMR_PARAM_SHARED_ID. */
	IT_LMR_PARAM_RMR_CONTEXT = 0x0100,   /**< IT_LMR_PARAM_RMR_CONTEXT. */
	IT_LMR_PARAM_ACTUAL_ADDR = 0x0200,   /**< IT_LMR_PARAM_ACTUAL_ADDR. */
	IT_LMR_PARAM_ACTUAL_LENGTH = 0x0400, /**< IT_LMR_PARAM_ACTUAL_LENGTH. */
	IT_LMR_PARAM_ADDR_MODE = 0x0800,     /**< IT_LMR_PARAM_ADDR_MODE. */
	IT_LMR_PARAM_LINKED = 0x1000,        /**< IT_LMR_PARAM_LINKED. */
	IT_LMR_PARAM_IOBL_NUM_ELTS = 0x2000, /**< IT_LMR_PARAM_IOBL_NUM_ELTS. */
	IT_LMR_PARAM_IOBL_TYPE = 0x4000      /**< IT_LMR_PARAM_IOBL_TYPE. */
} it_lmr_param_mask_t;

/** it_rmr_param_t. */
typedef struct {
	/** it_rmr_param_t.ia. */
	it_ia_handle_t ia;
	/** it_rmr_param_t.pz. */
	it_pz_handle_t pz;
#ifdef ITAPI_ENABLE_V10_BINDINGS
	/** it_rmr_param_t.bound. */
	it_boolean_t bound;
#else
	/** it_rmr_param_t.linked. */
	it_boolean_t linked;
#endif
	/** it_rmr_param_t.lmr. */
	it_lmr_handle_t lmr;
	/** it_rmr_param_t.addr. */
	void *addr;
	/** it_rmr_param_t.length. */
	it_length_t length;
	/** it_rmr_param_t.privs. */
	it_mem_priv_t privs;
	/** it_rmr_param_t.rmr_context. */
	it_rmr_context_t rmr_context;
	/** it_rmr_param_t.type. */
	it_rmr_type_t type;
	/** it_rmr_param_t.addr_mode. */
	it_addr_mode_t addr_mode;
} it_rmr_param_t;

/** it_rmr_param_mask_t. */
typedef enum {
	IT_RMR_PARAM_ALL = 0x0001,         /**< IT_RMR_PARAM_ALL. */
	IT_RMR_PARAM_IA = 0x0002,          /**< IT_RMR_PARAM_IA. */
	IT_RMR_PARAM_PZ = 0x0004,          /**< IT_RMR_PARAM_PZ. */
	IT_RMR_PARAM_LINKED = 0x0008,      /**< IT_RMR_PARAM_LINKED. */
	IT_RMR_PARAM_BOUND = 0x0008,       /**< IT_RMR_PARAM_BOUND. */
	IT_RMR_PARAM_LMR = 0x0010,         /**< IT_RMR_PARAM_LMR. */
	IT_RMR_PARAM_ADDR = 0x0020,        /**< IT_RMR_PARAM_ADDR. */
	IT_RMR_PARAM_LENGTH = 0x0040,      /**< IT_RMR_PARAM_LENGTH. */
	IT_RMR_PARAM_MEM_PRIV = 0x0080,    /**< IT_RMR_PARAM_MEM_PRIV. */
	IT_RMR_PARAM_RMR_CONTEXT = 0x0100, /**< IT_RMR_PARAM_RMR_CONTEXT. */
	IT_RMR_PARAM_TYPE = 0x0200,        /**< IT_RMR_PARAM_TYPE. */
	IT_RMR_PARAM_ADDR_MODE = 0x0400    /**< IT_RMR_PARAM_ADDR_MODE. */
} it_rmr_param_mask_t;

/** it_pz_create(), see itapi-semantics chapter 15. */
it_status_t it_pz_create(IN it_ia_handle_t ia_handle, OUT it_pz_handle_t *pz_handle);

/** it_pz_free(), see itapi-semantics chapter 15. */
it_status_t it_pz_free(IN it_pz_handle_t pz_handle);

/** it_pz_query(), see itapi-semantics chapter 15. */
it_status_t it_pz_query(IN it_pz_handle_t pz_handle, IN it_pz_param_mask_t mask,
			OUT it_pz_param_t *params);

/** it_lmr_create10(), see itapi-semantics chapter 15. */
it_status_t it_lmr_create10(IN it_pz_handle_t pz_handle, IN void *addr, IN it_length_t length,
			    IN it_mem_priv_t privs, IN it_lmr_flag_t flags, IN uint32_t shared_id,
			    OUT it_lmr_handle_t *lmr_handle, IN OUT it_rmr_context_t *rmr_context);

/** it_lmr_create20(), see itapi-semantics chapter 15. */
it_status_t it_lmr_create20(IN it_pz_handle_t pz_handle, IN void *addr, IN it_length_t length,
			    IN it_addr_mode_t addr_mode, IN it_mem_priv_t privs,
			    IN it_lmr_flag_t flags, IN uint32_t shared_id,
			    OUT it_lmr_handle_t *lmr_handle, IN OUT it_rmr_context_t *rmr_context);

/** it_lmr_create21(), see itapi-semantics chapter 15. */
it_status_t it_lmr_create21(IN it_pz_handle_t pz_handle, IN void *addr, IN it_iobl_t *iobl,
			    IN it_length_t length, IN it_addr_mode_t addr_mode,
			    IN it_mem_priv_t privs, IN it_lmr_flag_t flags, IN uint32_t shared_id,
			    OUT it_lmr_handle_t *lmr_handle, IN OUT it_rmr_context_t *rmr_context);

/** it_lmr_create_unlinked(), see itapi-semantics chapter 15. */
it_status_t it_lmr_create_unlinked(IN it_pz_handle_t pz_handle, IN size_t iobl_num_elts,
				   IN it_lmr_flag_t flags, IN uint32_t shared_id,
				   OUT it_lmr_handle_t *lmr_handle);

/** it_lmr_free(), see itapi-semantics chapter 15. */
it_status_t it_lmr_free(IN it_lmr_handle_t lmr_handle);

/** it_lmr_query(), see itapi-semantics chapter 15. */
it_status_t it_lmr_query(IN it_lmr_handle_t lmr_handle, IN it_lmr_param_mask_t mask,
			 OUT it_lmr_param_t *params);

/** it_lmr_modify(), see itapi-semantics chapter 15. */
it_status_t it_lmr_modify(IN it_lmr_handle_t lmr_handle, IN it_lmr_param_mask_t mask,
			  IN const it_lmr_param_t *params);

/** it_lmr_flush_to_mem(), see itapi-semantics chapter 15. */
it_status_t it_lmr_flush_to_mem(IN const it_lmr_triplet_t *local_segments, IN size_t num_segments);

/** it_lmr_refresh_from_mem(), see itapi-semantics chapter 15. */
it_status_t it_lmr_refresh_from_mem(IN const it_lmr_triplet_t *local_segments,
				    IN size_t num_segments);

/** it_lmr_link(), see itapi-semantics chapter 15. */
it_status_t it_lmr_link(IN it_lmr_handle_t lmr_handle, IN const void *addr,
			IN const it_iobl_t *iobl, IN it_length_t length,
			IN it_addr_mode_t addr_mode, IN it_mem_priv_t privs,
			IN it_ep_handle_t ep_handle, IN it_dto_cookie_t cookie,
			IN it_dto_flags_t dto_flags, OUT it_rmr_context_t *rmr_context);

/** it_lmr_unlink(), see itapi-semantics chapter 15. */
it_status_t it_lmr_unlink(IN it_lmr_handle_t lmr_handle, IN it_ep_handle_t ep_handle,
			  IN it_dto_cookie_t cookie, IN it_dto_flags_t dto_flags);

/** it_rmr_create10(), see itapi-semantics chapter 15. */
it_status_t it_rmr_create10(IN it_pz_handle_t pz_handle, OUT it_rmr_handle_t *rmr_handle);

/** it_rmr_create20(), see itapi-semantics chapter 15. */
it_status_t it_rmr_create20(IN it_pz_handle_t pz_handle, IN it_rmr_type_t rmr_type,
			    OUT it_rmr_handle_t *rmr_handle);

/** it_rmr_free(), see itapi-semantics chapter 15. */
it_status_t it_rmr_free(IN it_rmr_handle_t rmr_handle);

/** it_rmr_query(), see itapi-semantics chapter 15. */
it_status_t it_rmr_query(IN it_rmr_handle_t rmr_handle, IN it_rmr_param_mask_t mask,
			 OUT it_rmr_param_t *params);

/** it_rmr_link(), see itapi-semantics chapter 15. */
it_status_t it_rmr_link(IN it_rmr_handle_t rmr_handle, IN it_lmr_handle_t lmr_handle, IN void *addr,
			IN it_length_t length, IN it_addr_mode_t addr_mode, IN it_mem_priv_t privs,
			IN it_ep_handle_t ep_handle, IN it_dto_cookie_t cookie,
			IN it_dto_flags_t dto_flags, OUT it_rmr_context_t *rmr_context);

/** it_rmr_bind10(), see itapi-semantics chapter 15. */
it_status_t it_rmr_bind10(IN it_rmr_handle_t rmr_handle, IN it_lmr_handle_t lmr_handle,
			  IN void *addr, IN it_length_t length, IN it_mem_priv_t privs,
			  IN it_ep_handle_t ep_handle, IN it_dto_cookie_t cookie,
			  IN it_dto_flags_t dto_flags, OUT it_rmr_context_t *rmr_context);

/** it_rmr_unlink(), see itapi-semantics chapter 15. */
it_status_t it_rmr_unlink(IN it_rmr_handle_t rmr_handle, IN it_ep_handle_t ep_handle,
			  IN it_dto_cookie_t cookie, IN it_dto_flags_t dto_flags);

/** it_mem_map(), see itapi-semantics chapter 15. */
it_status_t it_mem_map(IN it_ia_handle_t ia_handle, IN void *vaddr, IN uint64_t aspace_id,
		       IN size_t len, OUT it_io_addr_t *io_addr, OUT size_t *mapped_len);

/** it_mem_unmap(), see itapi-semantics chapter 15. */
it_status_t it_mem_unmap(IN it_ia_handle_t ia_handle, IN it_io_addr_t io_addr,
			 IN size_t mapped_len);

/** @} */

/**
 * @defgroup itapi_cm Connections
 * @ingroup itapi
 * @{
 */
/** it_conn_qual_type_t. */
typedef enum {
	IT_IANA_PORT = 0x01,         /**< IT_IANA_PORT. */
	IT_IB_SERVICEID = 0x02,      /**< IT_IB_SERVICEID. */
	IT_VIA_DISCRIMINATOR = 0x04, /**< IT_VIA_DISCRIMINATOR. */
	IT_IANA_LR_PORT = 0x08       /**< IT_IANA_LR_PORT. */
} it_conn_qual_type_t;

/** it_ib_serviceid_t. */
typedef uint64_t it_ib_serviceid_t;

/** it_via_discriminator_t. */
typedef struct {
	/** it_via_discriminator_t.len. */
	uint16_t len;
	/** it_via_discriminator_t.discriminator. */
	unsigned char discriminator[IT_MAX_VIA_DISC_LEN];
} it_via_discriminator_t;

/** it_iana_lr_port_t. */
typedef struct {
	/** it_iana_lr_port_t.local. */
	uint16_t local;
	/** it_iana_lr_port_t.remote. */
	uint16_t remote;
} it_iana_lr_port_t;

/** it_conn_qual_t. */
typedef struct {
	/** it_conn_qual_t.type. */
	it_conn_qual_type_t type;
	/** it_conn_qual_t.conn_qual. */
	union {
		/** it_conn_qual_t.conn_qual.port. */
		uint16_t port;
		/** it_conn_qual_t.conn_qual.serviceid. */
		it_ib_serviceid_t serviceid;
		/** it_conn_qual_t.conn_qual.discriminator. */
		it_via_discriminator_t discriminator;
		/** it_conn_qual_t.conn_qual.lr_port. */
		it_iana_lr_port_t lr_port;
	} conn_qual;
} it_conn_qual_t;

/** it_cn_est_identifier_t. */
typedef uint64_t it_cn_est_identifier_t;

/** @} */

/**
 * @defgroup itapi_ia Adapters and addresses
 * @ingroup itapi
 * @{
 */
/** it_transport_type_t. */
typedef enum {
	IT_IB_TRANSPORT = 1,        /**< IT_IB_TRANSPORT. */
	IT_VIA_IP_TRANSPORT = 2,    /**< IT_VIA_IP_TRANSPORT. */
	IT_VIA_FC_TRANSPORT = 3,    /**< IT_VIA_FC_TRANSPORT. */
	IT_IWARP_TCP_TRANSPORT = 4, /**< IT_IWARP_TCP_TRANSPORT. */
	IT_VENDOR_TRANSPORT = 1000  /**< IT_VENDOR_TRANSPORT. */
} it_transport_type_t;

/** it_transport_service_type_t. */
typedef enum {
	IT_RC_SERVICE = 0x01, /**< IT_RC_SERVICE. */
	IT_UD_SERVICE = 0x02  /**< IT_UD_SERVICE. */
} it_transport_service_type_t;

/** it_net_addr_type_t. */
typedef enum {
	IT_IPV4 = 1,        /**< IT_IPV4. */
	IT_IPV6 = 2,        /**< IT_IPV6. */
	IT_IB_GID = 3,      /**< IT_IB_GID. */
	IT_VIA_HOSTADDR = 4 /**< IT_VIA_HOSTADDR. */
} it_net_addr_type_t;

/** it_ip_vers_t. */
typedef enum {
	IT_IP_VERS_IPV4 = 1, /**< IT_IP_VERS_IPV4. */
	IT_IP_VERS_IPV6 = 2  /**< IT_IP_VERS_IPV6. */
} it_ip_vers_t;

/** it_ib_gid_t. */
typedef struct in6_addr it_ib_gid_t;

/** it_via_net_addr_t. */
typedef struct {
	/** it_via_net_addr_t.len. */
	uint16_t len;
	/** it_via_net_addr_t.hostaddr. */
	unsigned char hostaddr[IT_MAX_VIA_ADDR_LEN];
} it_via_net_addr_t;

/** it_net_addr_t. */
typedef struct {
	/** it_net_addr_t.addr_type. */
	it_net_addr_type_t addr_type;
	/** it_net_addr_t.addr. */
	union {
		/** it_net_addr_t.addr.ipv4. */
		struct in_addr ipv4;
		/** it_net_addr_t.addr.ipv6. */
		struct in6_addr ipv6;
		/** it_net_addr_t.addr.gid. */
		it_ib_gid_t gid;
		/** it_net_addr_t.addr.via. */
		it_via_net_addr_t via;
	} addr;
} it_net_addr_t;

/** it_in_addr_t. */
typedef union {
	/** it_in_addr_t.ipv4. */
	struct in_addr ipv4;
	/** it_in_addr_t.ipv6. */
	struct in6_addr ipv6;
} it_in_addr_t;

/** it_ib_net_endpoint_t. */
typedef struct {
	/** it_ib_net_endpoint_t.partition_key. */
	uint16_t partition_key;
	/** it_ib_net_endpoint_t.path_mtu. */
	uint8_t path_mtu : 4;
	/** it_ib_net_endpoint_t.packet_lifetime. */
	uint8_t packet_lifetime : 6;
	/** it_ib_net_endpoint_t.local_port_lid. */
	uint16_t local_port_lid;
	/** it_ib_net_endpoint_t.remote_port_lid. */
	uint16_t remote_port_lid;
	/** it_ib_net_endpoint_t.local_port_gid. */
	it_ib_gid_t local_port_gid;
	/** it_ib_net_endpoint_t.remote_port_gid. */
	it_ib_gid_t remote_port_gid;
	/** it_ib_net_endpoint_t.packet_rate. */
	uint8_t packet_rate : 6;
	/** it_ib_net_endpoint_t.sl. */
	uint8_t sl : 4;
	/** it_ib_net_endpoint_t.subnet_local. */
	uint8_t subnet_local : 1;
	/** it_ib_net_endpoint_t.flow_label. */
	uint32_t flow_label : 20;
	/** it_ib_net_endpoint_t.traffic_class. */
	uint8_t traffic_class;
	/** it_ib_net_endpoint_t.hop_limit. */
	uint8_t hop_limit;
} it_ib_net_endpoint_t;

/** it_via_net_endpoint_t. */
typedef it_via_net_addr_t it_via_net_endpoint_t;

/** it_iwarp_net_endpoint_t. */
typedef struct {
	/** it_iwarp_net_endpoint_t.ip_vers. */
	it_ip_vers_t ip_vers;
	/** it_iwarp_net_endpoint_t.laddr. */
	it_in_addr_t laddr;
	/** it_iwarp_net_endpoint_t.raddr. */
	it_in_addr_t raddr;
} it_iwarp_net_endpoint_t;

/** itx_path_ends. */
union itx_path_ends {
	/** itx_path_ends.ib. */
	it_ib_net_endpoint_t ib;
	/** itx_path_ends.via. */
	it_via_net_endpoint_t via;
	/** itx_path_ends.iwarp. */
	it_iwarp_net_endpoint_t iwarp;
};

/** it_path_t. */
typedef struct {
	/** it_path_t.spigot_id. */
	size_t spigot_id;
	/** it_path_t.timeout. */
	uint64_t timeout;
	/** Both names reach the same union; portable source says `remote`. */
	ITX_EXTENSION union {
		/** The two ends, as the standard names them. */
		union itx_path_ends remote;
		/** The same, as older sources name them. */
		union itx_path_ends u;
	};
} it_path_t;

/** it_interface_t. */
typedef struct {
	/** it_interface_t.major_version. */
	uint32_t major_version;
	/** it_interface_t.minor_version. */
	uint32_t minor_version;
	/** it_interface_t.transport_type. */
	it_transport_type_t transport_type;
	/** it_interface_t.name. */
	char name[IT_INTERFACE_NAME_SIZE];
} it_interface_t;

/** it_spigot_info_t. */
typedef struct {
	/** it_spigot_info_t.spigot_id. */
	size_t spigot_id;
	/** it_spigot_info_t.max_rc_send_len. */
	size_t max_rc_send_len;
	/** it_spigot_info_t.max_rc_rdma_len. */
	size_t max_rc_rdma_len;
	/** it_spigot_info_t.max_ud_send_len. */
	size_t max_ud_send_len;
	/** it_spigot_info_t.spigot_online. */
	it_boolean_t spigot_online;
	/** it_spigot_info_t.active_side_conn_qual. */
	it_conn_qual_type_t active_side_conn_qual;
	/** it_spigot_info_t.passive_side_conn_qual. */
	it_conn_qual_type_t passive_side_conn_qual;
	/** it_spigot_info_t.num_net_addr. */
	size_t num_net_addr;
	/** it_spigot_info_t.net_addr. */
	it_net_addr_t *net_addr;
} it_spigot_info_t;

/** it_vendor_ib_t. */
typedef struct {
	/** it_vendor_ib_t.vendor. */
	uint32_t vendor : 24;
	/** it_vendor_ib_t.device. */
	uint16_t device;
	/** it_vendor_ib_t.revision. */
	uint32_t revision;
} it_vendor_ib_t;

/** it_vendor_via_t. */
typedef struct {
	/** it_vendor_via_t.name. */
	char name[64];
	/** it_vendor_via_t.hardware. */
	unsigned long hardware;
	/** it_vendor_via_t.provider. */
	unsigned long provider;
} it_vendor_via_t;

/** it_vendor_iwarp_tcp_t. */
typedef struct {
	/** it_vendor_iwarp_tcp_t.valid_vid. */
	it_boolean_t valid_vid;
	/** it_vendor_iwarp_tcp_t.vid. */
	unsigned char vid[64];
} it_vendor_iwarp_tcp_t;

/** it_ia_info_t. */
typedef struct {
	/** it_ia_info_t.ia_name. */
	char *ia_name;
	/** it_ia_info_t.api_major_version. */
	uint32_t api_major_version;
	/** it_ia_info_t.api_minor_version. */
	uint32_t api_minor_version;
	/** it_ia_info_t.sw_major_version. */
	uint32_t sw_major_version;
	/** it_ia_info_t.sw_minor_version. */
	uint32_t sw_minor_version;
	/** it_ia_info_t.vendor. */
	union {
		/** it_ia_info_t.vendor.ib. */
		it_vendor_ib_t ib;
		/** it_ia_info_t.vendor.via. */
		it_vendor_via_t via;
		/** it_ia_info_t.vendor.iwarp. */
		it_vendor_iwarp_tcp_t iwarp;
	} vendor;
	/** it_ia_info_t.dto_alignment_hint. */
	uint32_t dto_alignment_hint;
	/** it_ia_info_t.transport_type. */
	it_transport_type_t transport_type;
	/** it_ia_info_t.supported_service_types. */
	it_transport_service_type_t supported_service_types;
	/** it_ia_info_t.ep_work_queues_resizable. */
	it_boolean_t ep_work_queues_resizable;
	/** it_ia_info_t.three_way_handshake_support. */
	it_boolean_t three_way_handshake_support;
	/** it_ia_info_t.private_data_support. */
	it_boolean_t private_data_support;
	/** it_ia_info_t.max_message_size_support. */
	it_boolean_t max_message_size_support;
	/** it_ia_info_t.ird_ord_ia_support. */
	it_boolean_t ird_ord_ia_support;
	/** it_ia_info_t.ird_ord_suppressible. */
	it_boolean_t ird_ord_suppressible;
	/** it_ia_info_t.spigot_online_support. */
	it_boolean_t spigot_online_support;
	/** it_ia_info_t.spigot_offline_support. */
	it_boolean_t spigot_offline_support;
	/** it_ia_info_t.connect_private_data_len. */
	size_t connect_private_data_len;
	/** it_ia_info_t.accept_private_data_len. */
	size_t accept_private_data_len;
	/** it_ia_info_t.reject_private_data_len. */
	size_t reject_private_data_len;
	/** it_ia_info_t.disconnect_private_data_len. */
	size_t disconnect_private_data_len;
	/** it_ia_info_t.ud_req_private_data_len. */
	size_t ud_req_private_data_len;
	/** it_ia_info_t.ud_rep_private_data_len. */
	size_t ud_rep_private_data_len;
	/** it_ia_info_t.num_spigots. */
	size_t num_spigots;
	/** it_ia_info_t.spigot_info. */
	it_spigot_info_t *spigot_info;
	/** it_ia_info_t.affiliated_err_evd. */
	it_evd_handle_t affiliated_err_evd;
	/** it_ia_info_t.unaffiliated_err_evd. */
	it_evd_handle_t unaffiliated_err_evd;
	/** it_ia_info_t.srq_support. */
	it_boolean_t srq_support;
	/** it_ia_info_t.hard_hi_watermark_support. */
	it_boolean_t hard_hi_watermark_support;
	/** it_ia_info_t.soft_hi_watermark_support. */
	it_boolean_t soft_hi_watermark_support;
	/** it_ia_info_t.srq_resizable. */
	it_boolean_t srq_resizable;
	/** it_ia_info_t.extended_iwarp_qp_states. */
	it_boolean_t extended_iwarp_qp_states;
	/** it_ia_info_t.socket_conversion_support. */
	it_boolean_t socket_conversion_support;
	/** it_ia_info_t.rdma_read_ord_increasable. */
	it_boolean_t rdma_read_ord_increasable;
	/** it_ia_info_t.rdma_read_ird_modifiable. */
	it_boolean_t rdma_read_ird_modifiable;
	/** it_ia_info_t.rmr_types_supported. */
	it_rmr_type_t rmr_types_supported;
	/** it_ia_info_t.addr_mode_relative_support. */
	it_boolean_t addr_mode_relative_support;
	/** it_ia_info_t.rdma_read_requires_remote_write. */
	it_boolean_t rdma_read_requires_remote_write;
	/** it_ia_info_t.ep_rdma_enables_modifiable. */
	it_boolean_t ep_rdma_enables_modifiable;
	/** it_ia_info_t.rdma_read_local_extensions. */
	it_boolean_t rdma_read_local_extensions;
	/** it_ia_info_t.dto_evd_overflow_detection. */
	it_boolean_t dto_evd_overflow_detection;
	/** it_ia_info_t.atomic_support. */
	it_boolean_t atomic_support;
	/** it_ia_info_t.lmr_link_support. */
	it_boolean_t lmr_link_support;
	/** it_ia_info_t.direct_lmr_handle_support. */
	it_boolean_t direct_lmr_handle_support;
	/** it_ia_info_t.direct_lmr_handle. */
	it_lmr_handle_t direct_lmr_handle;
	/** it_ia_info_t.post_send_unlink_remote_support. */
	it_boolean_t post_send_unlink_remote_support;
	/** it_ia_info_t.narrow_rmr_unlink_support. */
	it_boolean_t narrow_rmr_unlink_support;
	/** it_ia_info_t.wide_rmr_unlink_support. */
	it_boolean_t wide_rmr_unlink_support;
	/** it_ia_info_t.unlink_fence_support. */
	it_boolean_t unlink_fence_support;
	/** it_ia_info_t.iobl_types_supported. */
	it_iobl_type_t iobl_types_supported;
} it_ia_info_t;

/** it_interface_list(), see itapi-semantics chapter 15. */
void it_interface_list(OUT it_interface_t *interfaces, IN OUT size_t *num_interfaces,
		       IN OUT size_t *total_interfaces);

/** it_ia_create(), see itapi-semantics chapter 15. */
it_status_t it_ia_create(IN const char *name, IN uint32_t major_version, IN uint32_t minor_version,
			 OUT it_ia_handle_t *ia_handle);

/** it_ia_free(), see itapi-semantics chapter 15. */
it_status_t it_ia_free(IN it_ia_handle_t ia_handle);

/** it_ia_query(), see itapi-semantics chapter 15. */
it_status_t it_ia_query(IN it_ia_handle_t ia_handle, OUT it_ia_info_t **ia_info);

/** it_ia_info_free(), see itapi-semantics chapter 15. */
void it_ia_info_free(IN it_ia_info_t *ia_info);

/** it_get_pathinfo(), see itapi-semantics chapter 15. */
it_status_t it_get_pathinfo(IN it_ia_handle_t ia_handle, IN size_t spigot_id,
			    IN const it_net_addr_t *net_addr, IN OUT size_t *num_paths,
			    OUT size_t *total_paths, OUT it_path_t *paths);

/** it_convert_net_addr(), see itapi-semantics chapter 15. */
it_status_t it_convert_net_addr(IN const it_net_addr_t *source_addr,
				IN it_net_addr_type_t addr_type,
				OUT it_net_addr_t *destination_addr);

/** @} */

/**
 * @defgroup itapi_srq Shared receive queues
 * @ingroup itapi
 * @{
 */
/** it_srq_param_t. */
typedef struct {
	/** it_srq_param_t.ia. */
	it_ia_handle_t ia;
	/** it_srq_param_t.pz. */
	it_pz_handle_t pz;
	/** it_srq_param_t.max_recv_dtos. */
	size_t max_recv_dtos;
	/** it_srq_param_t.max_recv_segs. */
	size_t max_recv_segs;
	/** it_srq_param_t.low_watermark. */
	size_t low_watermark;
} it_srq_param_t;

/** it_srq_param_mask_t. */
typedef enum {
	IT_SRQ_PARAM_ALL = 0x01,          /**< IT_SRQ_PARAM_ALL. */
	IT_SRQ_PARAM_IA = 0x02,           /**< IT_SRQ_PARAM_IA. */
	IT_SRQ_PARAM_PZ = 0x04,           /**< IT_SRQ_PARAM_PZ. */
	IT_SRQ_PARAM_MAX_RECV_DTO = 0x08, /**< IT_SRQ_PARAM_MAX_RECV_DTO. */
	IT_SRQ_PARAM_MAX_RECV_SEG = 0x10, /**< IT_SRQ_PARAM_MAX_RECV_SEG. */
	IT_SRQ_PARAM_LOW_WATERMARK = 0x20 /**< IT_SRQ_PARAM_LOW_WATERMARK. */
} it_srq_param_mask_t;

/** it_srq_create(), see itapi-semantics chapter 15. */
it_status_t it_srq_create(IN it_pz_handle_t pz_handle, IN size_t max_recv_segments,
			  IN size_t max_recv_dtos, OUT it_srq_handle_t *srq_handle);

/** it_srq_free(), see itapi-semantics chapter 15. */
it_status_t it_srq_free(IN it_srq_handle_t srq_handle);

/** it_srq_modify(), see itapi-semantics chapter 15. */
it_status_t it_srq_modify(IN it_srq_handle_t srq_handle, IN it_srq_param_mask_t mask,
			  IN const it_srq_param_t *params);

/** it_srq_query(), see itapi-semantics chapter 15. */
it_status_t it_srq_query(IN it_srq_handle_t srq_handle, IN it_srq_param_mask_t mask,
			 OUT it_srq_param_t *params);

/** @} */

/**
 * @defgroup itapi_ep Endpoints
 * @ingroup itapi
 * @{
 */
/** it_ep_state_rc_t. */
typedef enum {
	/** IT_EP_STATE_UNCONNECTED. */
	IT_EP_STATE_UNCONNECTED = 0,
	/** IT_EP_STATE_ACTIVE1_CONNECTION_PENDING. */
	IT_EP_STATE_ACTIVE1_CONNECTION_PENDING = 1,
	/** IT_EP_STATE_ACTIVE2_CONNECTION_PENDING. */
	IT_EP_STATE_ACTIVE2_CONNECTION_PENDING = 2,
	/** IT_EP_STATE_PASSIVE_CONNECTION_PENDING. */
	IT_EP_STATE_PASSIVE_CONNECTION_PENDING = 3,
	/** IT_EP_STATE_CONNECTED. */
	IT_EP_STATE_CONNECTED = 4,
	/** IT_EP_STATE_NONOPERATIONAL. */
	IT_EP_STATE_NONOPERATIONAL = 5,
	/** IT_EP_STATE_PASSIVE_WAIT_RDMA_TRANS_REQ. */
	IT_EP_STATE_PASSIVE_WAIT_RDMA_TRANS_REQ = 6
} it_ep_state_rc_t;

/** it_ep_state_ud_t. */
typedef enum {
	IT_EP_STATE_UD_NONOPERATIONAL = 0, /**< IT_EP_STATE_UD_NONOPERATIONAL. */
	IT_EP_STATE_UD_OPERATIONAL = 1     /**< IT_EP_STATE_UD_OPERATIONAL. */
} it_ep_state_ud_t;

/** it_ep_state_t. */
typedef union {
	/** it_ep_state_t.rc. */
	it_ep_state_rc_t rc;
	/** it_ep_state_t.ud. */
	it_ep_state_ud_t ud;
} it_ep_state_t;

/** it_ep_rc_creation_flags_t. */
typedef enum {
	IT_EP_NO_FLAG = 0x00,   /**< IT_EP_NO_FLAG. */
	IT_EP_REUSEADDR = 0x01, /**< IT_EP_REUSEADDR. */
	IT_EP_SRQ = 0x02        /**< IT_EP_SRQ. */
} it_ep_rc_creation_flags_t;

/** it_rc_only_attributes_t. */
typedef struct {
	/** it_rc_only_attributes_t.rdma_read_enable. */
	it_boolean_t rdma_read_enable;
	/** it_rc_only_attributes_t.rdma_write_enable. */
	it_boolean_t rdma_write_enable;
	/** it_rc_only_attributes_t.max_rdma_read_segments. */
	size_t max_rdma_read_segments;
	/** it_rc_only_attributes_t.max_rdma_write_segments. */
	size_t max_rdma_write_segments;
	/** it_rc_only_attributes_t.rdma_read_ird. */
	uint32_t rdma_read_ird;
	/** it_rc_only_attributes_t.rdma_read_ord. */
	uint32_t rdma_read_ord;
	/** it_rc_only_attributes_t.srq. */
	it_srq_handle_t srq;
	/** it_rc_only_attributes_t.soft_hi_watermark. */
	size_t soft_hi_watermark;
	/** it_rc_only_attributes_t.hard_hi_watermark. */
	size_t hard_hi_watermark;
	/** it_rc_only_attributes_t.atomics_enable. */
	it_boolean_t atomics_enable;
} it_rc_only_attributes_t;

/** it_ud_ep_id_t. */
typedef uint32_t it_ud_ep_id_t;

/** it_ud_ep_key_t. */
typedef uint32_t it_ud_ep_key_t;

/** it_remote_ep_info_t. */
typedef struct {
	/** it_remote_ep_info_t.ud_ep_id. */
	it_ud_ep_id_t ud_ep_id;
	/** it_remote_ep_info_t.ud_ep_key. */
	it_ud_ep_key_t ud_ep_key;
} it_remote_ep_info_t;

/** it_ud_only_attributes_t. */
typedef struct {
	/** it_ud_only_attributes_t.ep_info. */
	it_remote_ep_info_t ep_info;
} it_ud_only_attributes_t;

/** it_service_attributes_t. */
typedef union {
	/** it_service_attributes_t.rc. */
	it_rc_only_attributes_t rc;
	/** it_service_attributes_t.ud. */
	it_ud_only_attributes_t ud;
} it_service_attributes_t;

/** it_ep_attributes_t. */
typedef struct {
	/** it_ep_attributes_t.max_dto_payload_size. */
	size_t max_dto_payload_size;
	/** it_ep_attributes_t.max_request_dtos. */
	size_t max_request_dtos;
	/** it_ep_attributes_t.max_recv_dtos. */
	size_t max_recv_dtos;
	/** it_ep_attributes_t.max_send_segments. */
	size_t max_send_segments;
	/** it_ep_attributes_t.max_recv_segments. */
	size_t max_recv_segments;
	/** it_ep_attributes_t.srv. */
	it_service_attributes_t srv;
	/** it_ep_attributes_t.priv_ops_enable. */
	it_boolean_t priv_ops_enable;
} it_ep_attributes_t;

/** it_ep_param_t. */
typedef struct {
	/** it_ep_param_t.ia. */
	it_ia_handle_t ia;
	/** it_ep_param_t.spigot_id. */
	size_t spigot_id;
	/** it_ep_param_t.ep_state. */
	it_ep_state_t ep_state;
	/** it_ep_param_t.service_type. */
	it_transport_service_type_t service_type;
	/** it_ep_param_t.dst_path. */
	it_path_t dst_path;
	/** it_ep_param_t.pz. */
	it_pz_handle_t pz;
	/** it_ep_param_t.request_sevd. */
	it_evd_handle_t request_sevd;
	/** it_ep_param_t.recv_sevd. */
	it_evd_handle_t recv_sevd;
	/** it_ep_param_t.connect_sevd. */
	it_evd_handle_t connect_sevd;
	/** it_ep_param_t.attr. */
	it_ep_attributes_t attr;
} it_ep_param_t;

/** it_ep_param_mask_t. */
typedef enum {
	IT_EP_PARAM_ALL = 0x00000001,                /**< IT_EP_PARAM_ALL. */
	IT_EP_PARAM_IA = 0x00000002,                 /**< IT_EP_PARAM_IA. */
	IT_EP_PARAM_SPIGOT = 0x00000004,             /**< IT_EP_PARAM_SPIGOT. */
	IT_EP_PARAM_STATE = 0x00000008,              /**< IT_EP_PARAM_STATE. */
	IT_EP_PARAM_SERV_TYPE = 0x00000010,          /**< IT_EP_PARAM_SERV_TYPE. */
	IT_EP_PARAM_PATH = 0x00000020,               /**< IT_EP_PARAM_PATH. */
	IT_EP_PARAM_PZ = 0x00000040,                 /**< IT_EP_PARAM_PZ. */
	IT_EP_PARAM_REQ_SEVD = 0x00000080,           /**< IT_EP_PARAM_REQ_SEVD. */
	IT_EP_PARAM_RECV_SEVD = 0x00000100,          /**< IT_EP_PARAM_RECV_SEVD. */
	IT_EP_PARAM_CONN_SEVD = 0x00000200,          /**< IT_EP_PARAM_CONN_SEVD. */
	IT_EP_PARAM_RDMA_RD_ENABLE = 0x00000400,     /**< IT_EP_PARAM_RDMA_RD_ENABLE. */
	IT_EP_PARAM_RDMA_WR_ENABLE = 0x00000800,     /**< IT_EP_PARAM_RDMA_WR_ENABLE. */
	IT_EP_PARAM_MAX_RDMA_READ_SEG = 0x00001000,  /**< IT_EP_PARAM_MAX_RDMA_READ_SEG. */
	IT_EP_PARAM_MAX_RDMA_WRITE_SEG = 0x00002000, /**< IT_EP_PARAM_MAX_RDMA_WRITE_SEG. */
	IT_EP_PARAM_MAX_IRD = 0x00004000,            /**< IT_EP_PARAM_MAX_IRD. */
	IT_EP_PARAM_MAX_ORD = 0x00008000,            /**< IT_EP_PARAM_MAX_ORD. */
	IT_EP_PARAM_EP_ID = 0x00010000,              /**< IT_EP_PARAM_EP_ID. */
	IT_EP_PARAM_EP_KEY = 0x00020000,             /**< IT_EP_PARAM_EP_KEY. */
	IT_EP_PARAM_MAX_PAYLOAD = 0x00040000,        /**< IT_EP_PARAM_MAX_PAYLOAD. */
	IT_EP_PARAM_MAX_REQ_DTO = 0x00080000,        /**< IT_EP_PARAM_MAX_REQ_DTO. */
	IT_EP_PARAM_MAX_RECV_DTO = 0x00100000,       /**< IT_EP_PARAM_MAX_RECV_DTO. */
	IT_EP_PARAM_MAX_SEND_SEG = 0x00200000,       /**< IT_EP_PARAM_MAX_SEND_SEG. */
	IT_EP_PARAM_MAX_RECV_SEG = 0x00400000,       /**< IT_EP_PARAM_MAX_RECV_SEG. */
	IT_EP_PARAM_SRQ = 0x00800000,                /**< IT_EP_PARAM_SRQ. */
	IT_EP_PARAM_SOFT_HI_WATERMARK = 0x01000000,  /**< IT_EP_PARAM_SOFT_HI_WATERMARK. */
	IT_EP_PARAM_HARD_HI_WATERMARK = 0x02000000,  /**< IT_EP_PARAM_HARD_HI_WATERMARK. */
	IT_EP_PARAM_ATOMICS_ENABLE = 0x04000000,     /**< IT_EP_PARAM_ATOMICS_ENABLE. */
	IT_EP_PARAM_PRIV_OPS_ENABLE = 0x08000000     /**< IT_EP_PARAM_PRIV_OPS_ENABLE. */
} it_ep_param_mask_t;

/** it_ep_rc_create(), see itapi-semantics chapter 15. */
it_status_t it_ep_rc_create(IN it_pz_handle_t pz_handle, IN it_evd_handle_t request_sevd_handle,
			    IN it_evd_handle_t recv_sevd_handle,
			    IN it_evd_handle_t connect_sevd_handle,
			    IN it_ep_rc_creation_flags_t flags,
			    IN const it_ep_attributes_t *ep_attr, OUT it_ep_handle_t *ep_handle);

/** it_ep_ud_create(), see itapi-semantics chapter 15. */
it_status_t it_ep_ud_create(IN it_pz_handle_t pz_handle, IN it_evd_handle_t request_sevd_handle,
			    IN it_evd_handle_t recv_sevd_handle,
			    IN const it_ep_attributes_t *ep_attr, IN size_t spigot_id,
			    OUT it_ep_handle_t *ep_handle);

/** it_ep_query(), see itapi-semantics chapter 15. */
it_status_t it_ep_query(IN it_ep_handle_t ep_handle, IN it_ep_param_mask_t mask,
			OUT it_ep_param_t *params);

/** it_ep_modify(), see itapi-semantics chapter 15. */
it_status_t it_ep_modify(IN it_ep_handle_t ep_handle, IN it_ep_param_mask_t mask,
			 IN const it_ep_attributes_t *ep_attr);

/** it_ep_reset(), see itapi-semantics chapter 15. */
it_status_t it_ep_reset(IN it_ep_handle_t ep_handle);

/** it_ep_free(), see itapi-semantics chapter 15. */
it_status_t it_ep_free(IN it_ep_handle_t ep_handle);

/** @} */

/**
 * @addtogroup itapi_cm
 * @{
 */
/** it_cn_est_flags_t. */
typedef enum {
	IT_CONNECT_FLAG_TWO_WAY = 0x01,    /**< IT_CONNECT_FLAG_TWO_WAY. */
	IT_CONNECT_FLAG_THREE_WAY = 0x02,  /**< IT_CONNECT_FLAG_THREE_WAY. */
	IT_CONNECT_SUPPRESS_IRD_ORD = 0x04 /**< IT_CONNECT_SUPPRESS_IRD_ORD. */
} it_cn_est_flags_t;

/** it_conn_reject_code_t. */
typedef enum {
	IT_CN_REJ_OTHER = 0,         /**< IT_CN_REJ_OTHER. */
	IT_CN_REJ_TIMEOUT = 1,       /**< IT_CN_REJ_TIMEOUT. */
	IT_CN_REJ_BAD_PATH = 2,      /**< IT_CN_REJ_BAD_PATH. */
	IT_CN_REJ_STALE_CONN = 3,    /**< IT_CN_REJ_STALE_CONN. */
	IT_CN_REJ_BAD_ORD = 4,       /**< IT_CN_REJ_BAD_ORD. */
	IT_CN_REJ_RESOURCES = 5,     /**< IT_CN_REJ_RESOURCES. */
	IT_CN_REJ_BAD_CONN_PARMS = 6 /**< IT_CN_REJ_BAD_CONN_PARMS. */
} it_conn_reject_code_t;

/** it_ib_conn_attributes_t. */
typedef struct {
	/** it_ib_conn_attributes_t.remote_cm_timeout. */
	uint8_t remote_cm_timeout : 5;
	/** it_ib_conn_attributes_t.local_cm_timeout. */
	uint8_t local_cm_timeout : 5;
	/** it_ib_conn_attributes_t.retry_count. */
	uint8_t retry_count : 3;
	/** it_ib_conn_attributes_t.rnr_retry_count. */
	uint8_t rnr_retry_count : 3;
	/** it_ib_conn_attributes_t.max_cm_retries. */
	uint8_t max_cm_retries : 4;
	/** it_ib_conn_attributes_t.local_ack_timeout. */
	uint8_t local_ack_timeout : 5;
} it_ib_conn_attributes_t;

/** it_via_conn_attributes_t. */
typedef struct {
	/** it_via_conn_attributes_t.unused. */
	void *unused;
} it_via_conn_attributes_t;

/** it_iwarp_conn_attributes_t. */
typedef struct {
	/** it_iwarp_conn_attributes_t.unused. */
	void *unused;
} it_iwarp_conn_attributes_t;

/** it_conn_attributes_t. */
typedef union {
	/** it_conn_attributes_t.ib. */
	it_ib_conn_attributes_t ib;
	/** it_conn_attributes_t.via. */
	it_via_conn_attributes_t via;
	/** it_conn_attributes_t.iwarp. */
	it_iwarp_conn_attributes_t iwarp;
} it_conn_attributes_t;

/** it_listen_flags_t. */
typedef enum {
	IT_LISTEN_NO_FLAG = 0x00,         /**< IT_LISTEN_NO_FLAG. */
	IT_LISTEN_CONN_QUAL_INPUT = 0x01, /**< IT_LISTEN_CONN_QUAL_INPUT. */
	IT_LISTEN_SUPPRESS_IRD_ORD = 0x02 /**< IT_LISTEN_SUPPRESS_IRD_ORD. */
} it_listen_flags_t;

/** it_listen_param_t. */
typedef struct {
	/** it_listen_param_t.ia_handle. */
	it_ia_handle_t ia_handle;
	/** it_listen_param_t.spigot_id. */
	size_t spigot_id;
	/** it_listen_param_t.connect_evd. */
	it_evd_handle_t connect_evd;
	/** it_listen_param_t.connect_qual. */
	it_conn_qual_t connect_qual;
} it_listen_param_t;

/** it_listen_param_mask_t. */
typedef enum {
	IT_LISTEN_PARAM_ALL = 0x01,         /**< IT_LISTEN_PARAM_ALL. */
	IT_LISTEN_PARAM_IA_HANDLE = 0x02,   /**< IT_LISTEN_PARAM_IA_HANDLE. */
	IT_LISTEN_PARAM_SPIGOT_ID = 0x04,   /**< IT_LISTEN_PARAM_SPIGOT_ID. */
	IT_LISTEN_PARAM_CONNECT_EVD = 0x08, /**< IT_LISTEN_PARAM_CONNECT_EVD. */
	IT_LISTEN_PARAM_CONN_QUAL = 0x10    /**< IT_LISTEN_PARAM_CONN_QUAL. */
} it_listen_param_mask_t;

/** it_listen_create(), see itapi-semantics chapter 15. */
it_status_t it_listen_create(IN it_ia_handle_t ia_handle, IN size_t spigot_id,
			     IN it_evd_handle_t connect_evd, IN it_listen_flags_t flags,
			     IN OUT it_conn_qual_t *conn_qual,
			     OUT it_listen_handle_t *listen_handle);

/** it_listen_free(), see itapi-semantics chapter 15. */
it_status_t it_listen_free(IN it_listen_handle_t listen_handle);

/** it_listen_query(), see itapi-semantics chapter 15. */
it_status_t it_listen_query(IN it_listen_handle_t listen_handle, IN it_listen_param_mask_t mask,
			    OUT it_listen_param_t *params);

/** it_ep_connect(), see itapi-semantics chapter 15. */
it_status_t it_ep_connect(IN it_ep_handle_t ep_handle, IN const it_path_t *path,
			  IN const it_conn_attributes_t *conn_attr,
			  IN const it_conn_qual_t *connect_qual, IN it_cn_est_flags_t cn_est_flags,
			  IN const unsigned char *private_data, IN size_t private_data_length);

/** it_ep_accept(), see itapi-semantics chapter 15. */
it_status_t it_ep_accept(IN it_ep_handle_t ep_handle, IN it_cn_est_identifier_t cn_est_id,
			 IN const unsigned char *private_data, IN size_t private_data_length);

/** it_reject(), see itapi-semantics chapter 15. */
it_status_t it_reject(IN it_cn_est_identifier_t cn_est_id, IN const unsigned char *private_data,
		      IN size_t private_data_length);

/** it_handoff(), see itapi-semantics chapter 15. */
it_status_t it_handoff(IN const it_conn_qual_t *conn_qual, IN size_t spigot_id,
		       IN it_cn_est_identifier_t cn_est_id);

/** it_ep_disconnect(), see itapi-semantics chapter 15. */
it_status_t it_ep_disconnect(IN it_ep_handle_t ep_handle, IN const unsigned char *private_data,
			     IN size_t private_data_length);

/** @} */

/**
 * @defgroup itapi_socket Socket conversion
 * @ingroup itapi
 * @{
 */
/** it_sc_flags_t. */
typedef enum {
	IT_SC_DEFAULT = 0x00,   /**< IT_SC_DEFAULT. */
	IT_SC_NO_REQ_REP = 0x01 /**< IT_SC_NO_REQ_REP. */
} it_sc_flags_t;

/** it_socket_convert(), see itapi-semantics chapter 15. */
it_status_t it_socket_convert(IN int sd, IN it_ep_handle_t ep_handle, IN it_sc_flags_t flags,
			      IN const unsigned char *msg, IN size_t len);

/** @} */

/**
 * @defgroup itapi_ud Datagrams
 * @ingroup itapi
 * @{
 */
/** it_ah_flags_t. */
typedef enum {
	IT_AH_PATH_COMPLETE = 0x01 /**< IT_AH_PATH_COMPLETE. */
} it_ah_flags_t;

/** it_addr_param_t. */
typedef struct {
	/** it_addr_param_t.ia. */
	it_ia_handle_t ia;
	/** it_addr_param_t.pz. */
	it_pz_handle_t pz;
	/** it_addr_param_t.path. */
	it_path_t path;
} it_addr_param_t;

/** it_addr_param_mask_t. */
typedef enum {
	IT_ADDR_PARAM_ALL = 0x01, /**< IT_ADDR_PARAM_ALL. */
	IT_ADDR_PARAM_IA = 0x02,  /**< IT_ADDR_PARAM_IA. */
	IT_ADDR_PARAM_PZ = 0x04,  /**< IT_ADDR_PARAM_PZ. */
	IT_ADDR_PARAM_PATH = 0x08 /**< IT_ADDR_PARAM_PATH. */
} it_addr_param_mask_t;

/** it_dg_type_t. */
typedef enum {
	IT_DG_TYPE_IB_UD = 0 /**< IT_DG_TYPE_IB_UD. */
} it_dg_type_t;

/** it_ib_ud_addr_t. */
typedef struct {
	/** it_ib_ud_addr_t.addr. */
	it_addr_handle_t addr;
	/** it_ib_ud_addr_t.ep_info. */
	it_remote_ep_info_t ep_info;
} it_ib_ud_addr_t;

/** it_dg_remote_ep_addr_t. */
typedef struct {
	/** it_dg_remote_ep_addr_t.type. */
	it_dg_type_t type;
	/** it_dg_remote_ep_addr_t.addr. */
	union {
		/** it_dg_remote_ep_addr_t.addr.ud. */
		it_ib_ud_addr_t ud;
	} addr;
} it_dg_remote_ep_addr_t;

/** it_ud_svc_req_identifier_t. */
typedef uint64_t it_ud_svc_req_identifier_t;

/** it_ud_svc_req_status_t. */
typedef enum {
	IT_UD_SVC_EP_INFO_VALID = 0,    /**< IT_UD_SVC_EP_INFO_VALID. */
	IT_UD_SVC_ID_NOT_SUPPORTED = 1, /**< IT_UD_SVC_ID_NOT_SUPPORTED. */
	IT_UD_SVC_REQ_REJECTED = 2,     /**< IT_UD_SVC_REQ_REJECTED. */
	IT_UD_NO_EP_AVAILABLE = 3,      /**< IT_UD_NO_EP_AVAILABLE. */
	IT_UD_REQ_REDIRECTED = 4        /**< IT_UD_REQ_REDIRECTED. */
} it_ud_svc_req_status_t;

/** it_ud_svc_req_param_t. */
typedef struct {
	/** it_ud_svc_req_param_t.ia. */
	it_ia_handle_t ia;
	/** it_ud_svc_req_param_t.request_id. */
	uint32_t request_id;
	/** it_ud_svc_req_param_t.reply_evd. */
	it_evd_handle_t reply_evd;
	/** it_ud_svc_req_param_t.conn_qual. */
	it_conn_qual_t conn_qual;
	/** it_ud_svc_req_param_t.destination_path. */
	it_path_t destination_path;
	/** it_ud_svc_req_param_t.private_data. */
	unsigned char private_data[IT_MAX_PRIV_DATA];
	/** it_ud_svc_req_param_t.private_data_length. */
	size_t private_data_length;
} it_ud_svc_req_param_t;

/** it_ud_svc_req_param_mask_t. */
typedef enum {
	IT_UD_PARAM_ALL = 0x01,             /**< IT_UD_PARAM_ALL. */
	IT_UD_PARAM_IA_HANDLE = 0x02,       /**< IT_UD_PARAM_IA_HANDLE. */
	IT_UD_PARAM_REQ_ID = 0x04,          /**< IT_UD_PARAM_REQ_ID. */
	IT_UD_PARAM_REPLY_EVD = 0x08,       /**< IT_UD_PARAM_REPLY_EVD. */
	IT_UD_PARAM_CONN_QUAL = 0x10,       /**< IT_UD_PARAM_CONN_QUAL. */
	IT_UD_PARAM_DEST_PATH = 0x20,       /**< IT_UD_PARAM_DEST_PATH. */
	IT_UD_PARAM_PRIV_DATA = 0x40,       /**< IT_UD_PARAM_PRIV_DATA. */
	IT_UD_PARAM_PRIV_DATA_LENGTH = 0x80 /**< IT_UD_PARAM_PRIV_DATA_LENGTH. */
} it_ud_svc_req_param_mask_t;

/** it_address_handle_create(), see itapi-semantics chapter 15. */
it_status_t it_address_handle_create(IN it_pz_handle_t pz_handle,
				     IN const it_path_t *destination_path,
				     IN it_ah_flags_t ah_flags, OUT it_addr_handle_t *addr_handle);

/** it_address_handle_free(), see itapi-semantics chapter 15. */
it_status_t it_address_handle_free(IN it_addr_handle_t addr_handle);

/** it_address_handle_modify(), see itapi-semantics chapter 15. */
it_status_t it_address_handle_modify(IN it_addr_handle_t addr_handle, IN it_addr_param_mask_t mask,
				     IN const it_addr_param_t *params);

/** it_address_handle_query(), see itapi-semantics chapter 15. */
it_status_t it_address_handle_query(IN it_addr_handle_t addr_handle, IN it_addr_param_mask_t mask,
				    OUT it_addr_param_t *params);

/** it_ud_service_request_handle_create(), see itapi-semantics chapter 15. */
it_status_t it_ud_service_request_handle_create(IN const it_conn_qual_t *conn_qual,
						IN it_evd_handle_t reply_evd,
						IN const it_path_t *destination_path,
						IN const unsigned char *private_data,
						IN size_t private_data_length,
						OUT it_ud_svc_req_handle_t *ud_svc_handle);

/** it_ud_service_request(), see itapi-semantics chapter 15. */
it_status_t it_ud_service_request(IN it_ud_svc_req_handle_t ud_svc_handle);

/** it_ud_service_request_handle_query(), see itapi-semantics chapter 15. */
it_status_t it_ud_service_request_handle_query(IN it_ud_svc_req_handle_t ud_svc_handle,
					       IN it_ud_svc_req_param_mask_t mask,
					       OUT it_ud_svc_req_param_t *ud_svc_handle_info);

/** it_ud_service_request_handle_free(), see itapi-semantics chapter 15. */
it_status_t it_ud_service_request_handle_free(IN it_ud_svc_req_handle_t ud_svc_handle);

/** it_ud_service_reply(), see itapi-semantics chapter 15. */
it_status_t it_ud_service_reply(IN it_ud_svc_req_identifier_t ud_svc_req_id,
				IN it_ud_svc_req_status_t status, IN it_remote_ep_info_t ep_info,
				IN const unsigned char *private_data,
				IN size_t private_data_length);

/** @} */

/**
 * @defgroup itapi_evd Events and dispatchers
 * @ingroup itapi
 * @{
 */
/** it_event_type_t. */
typedef enum {
	/** IT_DTO_EVENT_STREAM. */
	IT_DTO_EVENT_STREAM = 0x00000,
	/** IT_DTO_SEND_CMPL_EVENT. */
	IT_DTO_SEND_CMPL_EVENT = 0x00001,
	/** IT_DTO_RC_RECV_CMPL_EVENT. */
	IT_DTO_RC_RECV_CMPL_EVENT = 0x00002,
	/** IT_DTO_UD_RECV_CMPL_EVENT. */
	IT_DTO_UD_RECV_CMPL_EVENT = 0x00003,
	/** IT_DTO_RDMA_WRITE_CMPL_EVENT. */
	IT_DTO_RDMA_WRITE_CMPL_EVENT = 0x00004,
	/** IT_DTO_RDMA_READ_CMPL_EVENT. */
	IT_DTO_RDMA_READ_CMPL_EVENT = 0x00005,
	/** IT_RMR_BIND_CMPL_EVENT. */
	IT_RMR_BIND_CMPL_EVENT = 0x00006,
	/** IT_RMR_LINK_CMPL_EVENT. */
	IT_RMR_LINK_CMPL_EVENT = 0x00006,
	/** IT_DTO_FETCH_ADD_CMPL_EVENT. */
	IT_DTO_FETCH_ADD_CMPL_EVENT = 0x00007,
	/** IT_DTO_CMP_SWAP_CMPL_EVENT. */
	IT_DTO_CMP_SWAP_CMPL_EVENT = 0x00008,
	/** IT_LMR_LINK_CMPL_EVENT. */
	IT_LMR_LINK_CMPL_EVENT = 0x00009,

	/** IT_CM_REQ_EVENT_STREAM. */
	IT_CM_REQ_EVENT_STREAM = 0x01000,
	/** IT_CM_REQ_CONN_REQUEST_EVENT. */
	IT_CM_REQ_CONN_REQUEST_EVENT = 0x01001,
	/** IT_CM_REQ_UD_SERVICE_REQUEST_EVENT. */
	IT_CM_REQ_UD_SERVICE_REQUEST_EVENT = 0x01002,

	/** IT_CM_MSG_EVENT_STREAM. */
	IT_CM_MSG_EVENT_STREAM = 0x02000,
	/** IT_CM_MSG_CONN_ACCEPT_ARRIVAL_EVENT. */
	IT_CM_MSG_CONN_ACCEPT_ARRIVAL_EVENT = 0x02001,
	/** IT_CM_MSG_CONN_ESTABLISHED_EVENT. */
	IT_CM_MSG_CONN_ESTABLISHED_EVENT = 0x02002,
	/** IT_CM_MSG_CONN_DISCONNECT_EVENT. */
	IT_CM_MSG_CONN_DISCONNECT_EVENT = 0x02003,
	/** IT_CM_MSG_CONN_PEER_REJECT_EVENT. */
	IT_CM_MSG_CONN_PEER_REJECT_EVENT = 0x02004,
	/** IT_CM_MSG_CONN_NONPEER_REJECT_EVENT. */
	IT_CM_MSG_CONN_NONPEER_REJECT_EVENT = 0x02005,
	/** IT_CM_MSG_CONN_BROKEN_EVENT. */
	IT_CM_MSG_CONN_BROKEN_EVENT = 0x02006,
	/** IT_CM_MSG_UD_SERVICE_REPLY_EVENT. */
	IT_CM_MSG_UD_SERVICE_REPLY_EVENT = 0x02007,

	/** IT_ASYNC_AFF_EVENT_STREAM. */
	IT_ASYNC_AFF_EVENT_STREAM = 0x04000,
	/** IT_ASYNC_AFF_SEVD_ENQUEUE_FAILURE. */
	IT_ASYNC_AFF_SEVD_ENQUEUE_FAILURE = 0x04001,
	/** IT_ASYNC_AFF_EP_SEVD_FULL_ERROR. */
	IT_ASYNC_AFF_EP_SEVD_FULL_ERROR = 0x04001,
	/** IT_ASYNC_AFF_EP_FAILURE. */
	IT_ASYNC_AFF_EP_FAILURE = 0x04002,
	/** IT_ASYNC_AFF_EP_BAD_TRANSPORT_OPCODE. */
	IT_ASYNC_AFF_EP_BAD_TRANSPORT_OPCODE = 0x04003,
	/** IT_ASYNC_AFF_EP_REQ_DROPPED. */
	IT_ASYNC_AFF_EP_REQ_DROPPED = 0x04005,
	/** IT_ASYNC_AFF_EP_RDMAW_ACCESS_VIOLATION. */
	IT_ASYNC_AFF_EP_RDMAW_ACCESS_VIOLATION = 0x04006,
	/** IT_ASYNC_AFF_EP_RDMAW_CORRUPT_DATA. */
	IT_ASYNC_AFF_EP_RDMAW_CORRUPT_DATA = 0x04007,
	/** IT_ASYNC_AFF_EP_RDMAR_ACCESS_VIOLATION. */
	IT_ASYNC_AFF_EP_RDMAR_ACCESS_VIOLATION = 0x04008,
	/** IT_ASYNC_AFF_EP_LOCAL_ACCESS_VIOLATION. */
	IT_ASYNC_AFF_EP_LOCAL_ACCESS_VIOLATION = 0x04020,
	/** IT_ASYNC_AFF_EP_L_ACCESS_VIOLATION. */
	IT_ASYNC_AFF_EP_L_ACCESS_VIOLATION = 0x04020,
	/** IT_ASYNC_AFF_EP_L_RECV_ACCESS_VIOLATION. */
	IT_ASYNC_AFF_EP_L_RECV_ACCESS_VIOLATION = 0x04021,
	/** IT_ASYNC_AFF_EP_L_IRRQ_ACCESS_VIOLATION. */
	IT_ASYNC_AFF_EP_L_IRRQ_ACCESS_VIOLATION = 0x04022,
	/** IT_ASYNC_AFF_EP_L_TRANSPORT_ERROR. */
	IT_ASYNC_AFF_EP_L_TRANSPORT_ERROR = 0x04023,
	/** IT_ASYNC_AFF_EP_L_LLP_ERROR. */
	IT_ASYNC_AFF_EP_L_LLP_ERROR = 0x04024,
	/** IT_ASYNC_AFF_EP_R_ERROR. */
	IT_ASYNC_AFF_EP_R_ERROR = 0x04040,
	/** IT_ASYNC_AFF_EP_R_ACCESS_VIOLATION. */
	IT_ASYNC_AFF_EP_R_ACCESS_VIOLATION = 0x04041,
	/** IT_ASYNC_AFF_EP_R_RECV_ACCESS_VIOLATION. */
	IT_ASYNC_AFF_EP_R_RECV_ACCESS_VIOLATION = 0x04042,
	/** IT_ASYNC_AFF_EP_R_RECV_LENGTH_ERROR. */
	IT_ASYNC_AFF_EP_R_RECV_LENGTH_ERROR = 0x04043,
	/** IT_ASYNC_AFF_EP_SOFT_HI_WATERMARK. */
	IT_ASYNC_AFF_EP_SOFT_HI_WATERMARK = 0x04060,
	/** IT_ASYNC_AFF_EP_SRQ_ERROR. */
	IT_ASYNC_AFF_EP_SRQ_ERROR = 0x04061,
	/** IT_ASYNC_AFF_SRQ_LOW_WATERMARK. */
	IT_ASYNC_AFF_SRQ_LOW_WATERMARK = 0x04100,
	/** IT_ASYNC_AFF_SRQ_CATASTROPHIC. */
	IT_ASYNC_AFF_SRQ_CATASTROPHIC = 0x04101,
	/** IT_ASYNC_AFF_SEVD_FULL_ERROR. */
	IT_ASYNC_AFF_SEVD_FULL_ERROR = 0x04200,
	/** IT_ASYNC_AFF_SEVD_OP_ERROR. */
	IT_ASYNC_AFF_SEVD_OP_ERROR = 0x04201,

	/** IT_ASYNC_UNAFF_EVENT_STREAM. */
	IT_ASYNC_UNAFF_EVENT_STREAM = 0x08000,
	/** IT_ASYNC_UNAFF_SPIGOT_ONLINE. */
	IT_ASYNC_UNAFF_SPIGOT_ONLINE = 0x08002,
	/** IT_ASYNC_UNAFF_SPIGOT_OFFLINE. */
	IT_ASYNC_UNAFF_SPIGOT_OFFLINE = 0x08003,
	/** IT_ASYNC_UNAFF_SEVD_ENQUEUE_FAILURE. */
	IT_ASYNC_UNAFF_SEVD_ENQUEUE_FAILURE = 0x08004,

	/** IT_SOFTWARE_EVENT_STREAM. */
	IT_SOFTWARE_EVENT_STREAM = 0x10000,
	/** IT_SOFTWARE_EVENT. */
	IT_SOFTWARE_EVENT = 0x10001,

	/** IT_AEVD_NOTIFICATION_EVENT_STREAM. */
	IT_AEVD_NOTIFICATION_EVENT_STREAM = 0x20000,
	/** IT_AEVD_NOTIFICATION_EVENT. */
	IT_AEVD_NOTIFICATION_EVENT = 0x20001
} it_event_type_t;

/** it_any_event_t. */
typedef struct {
	/** it_any_event_t.event_number. */
	it_event_type_t event_number;
	/** it_any_event_t.evd. */
	it_evd_handle_t evd;
} it_any_event_t;

/** it_event_cm_any_t. */
typedef struct {
	/** it_event_cm_any_t.event_number. */
	it_event_type_t event_number;
	/** it_event_cm_any_t.evd. */
	it_evd_handle_t evd;
	/** it_event_cm_any_t.private_data. */
	unsigned char private_data[IT_MAX_PRIV_DATA];
	/** it_event_cm_any_t.private_data_present. */
	it_boolean_t private_data_present;
} it_event_cm_any_t;

/** it_dto_cmpl_event_t. */
typedef struct {
	/** it_dto_cmpl_event_t.event_number. */
	it_event_type_t event_number;
	/** it_dto_cmpl_event_t.evd. */
	it_evd_handle_t evd;
	/** it_dto_cmpl_event_t.ep. */
	it_ep_handle_t ep;
	/** it_dto_cmpl_event_t.cookie. */
	it_dto_cookie_t cookie;
	/** it_dto_cmpl_event_t.dto_status. */
	it_dto_status_t dto_status;
	/** it_dto_cmpl_event_t.transferred_length. */
	uint32_t transferred_length;
	/** it_dto_cmpl_event_t.unlinked_mr_handle. */
	it_handle_t unlinked_mr_handle;
} it_dto_cmpl_event_t;

/** it_all_dto_cmpl_event_t. */
typedef struct {
	/** it_all_dto_cmpl_event_t.event_number. */
	it_event_type_t event_number;
	/** it_all_dto_cmpl_event_t.evd. */
	it_evd_handle_t evd;
	/** it_all_dto_cmpl_event_t.ep. */
	it_ep_handle_t ep;
	/** it_all_dto_cmpl_event_t.cookie. */
	it_dto_cookie_t cookie;
	/** it_all_dto_cmpl_event_t.dto_status. */
	it_dto_status_t dto_status;
	/** it_all_dto_cmpl_event_t.transferred_length. */
	uint32_t transferred_length;
	/** it_all_dto_cmpl_event_t.unlinked_mr_handle. */
	it_handle_t unlinked_mr_handle;
	/** it_all_dto_cmpl_event_t.flags. */
	it_dto_ud_flags_t flags;
	/** it_all_dto_cmpl_event_t.ud_ep_id. */
	it_ud_ep_id_t ud_ep_id;
	/** it_all_dto_cmpl_event_t.src_path. */
	it_path_t src_path;
} it_all_dto_cmpl_event_t;

/** it_conn_request_event_t. */
typedef struct {
	/** it_conn_request_event_t.event_number. */
	it_event_type_t event_number;
	/** it_conn_request_event_t.evd. */
	it_evd_handle_t evd;
	/** it_conn_request_event_t.private_data. */
	unsigned char private_data[IT_MAX_PRIV_DATA];
	/** it_conn_request_event_t.private_data_present. */
	it_boolean_t private_data_present;
	/** it_conn_request_event_t.cn_est_id. */
	it_cn_est_identifier_t cn_est_id;
	/** it_conn_request_event_t.conn_qual. */
	it_conn_qual_t conn_qual;
	/** it_conn_request_event_t.source_addr. */
	it_net_addr_t source_addr;
	/** it_conn_request_event_t.spigot_id. */
	size_t spigot_id;
	/** it_conn_request_event_t.max_message_size. */
	uint32_t max_message_size;
	/** it_conn_request_event_t.rdma_read_ird. */
	uint32_t rdma_read_ird;
	/** it_conn_request_event_t.rdma_read_ord. */
	uint32_t rdma_read_ord;
} it_conn_request_event_t;

/** it_connection_event_t. */
typedef struct {
	/** it_connection_event_t.event_number. */
	it_event_type_t event_number;
	/** it_connection_event_t.evd. */
	it_evd_handle_t evd;
	/** it_connection_event_t.private_data. */
	unsigned char private_data[IT_MAX_PRIV_DATA];
	/** it_connection_event_t.private_data_present. */
	it_boolean_t private_data_present;
	/** it_connection_event_t.cn_est_id. */
	it_cn_est_identifier_t cn_est_id;
	/** it_connection_event_t.ep. */
	it_ep_handle_t ep;
	/** it_connection_event_t.rdma_read_ird. */
	uint32_t rdma_read_ird;
	/** it_connection_event_t.rdma_read_ord. */
	uint32_t rdma_read_ord;
	/** it_connection_event_t.dst_path. */
	it_path_t dst_path;
	/** it_connection_event_t.reject_reason_code. */
	it_conn_reject_code_t reject_reason_code;
} it_connection_event_t;

/** it_ud_svc_request_event_t. */
typedef struct {
	/** it_ud_svc_request_event_t.event_number. */
	it_event_type_t event_number;
	/** it_ud_svc_request_event_t.evd. */
	it_evd_handle_t evd;
	/** it_ud_svc_request_event_t.private_data. */
	unsigned char private_data[IT_MAX_PRIV_DATA];
	/** it_ud_svc_request_event_t.private_data_present. */
	it_boolean_t private_data_present;
	/** it_ud_svc_request_event_t.ud_svc_req_id. */
	it_ud_svc_req_identifier_t ud_svc_req_id;
	/** it_ud_svc_request_event_t.conn_qual. */
	it_conn_qual_t conn_qual;
	/** it_ud_svc_request_event_t.source_addr. */
	it_net_addr_t source_addr;
	/** it_ud_svc_request_event_t.spigot_id. */
	size_t spigot_id;
} it_ud_svc_request_event_t;

/** it_ud_svc_reply_event_t. */
typedef struct {
	/** it_ud_svc_reply_event_t.event_number. */
	it_event_type_t event_number;
	/** it_ud_svc_reply_event_t.evd. */
	it_evd_handle_t evd;
	/** it_ud_svc_reply_event_t.private_data. */
	unsigned char private_data[IT_MAX_PRIV_DATA];
	/** it_ud_svc_reply_event_t.private_data_present. */
	it_boolean_t private_data_present;
	/** it_ud_svc_reply_event_t.ud_svc. */
	it_ud_svc_req_handle_t ud_svc;
	/** it_ud_svc_reply_event_t.status. */
	it_ud_svc_req_status_t status;
	/** it_ud_svc_reply_event_t.ep_info. */
	it_remote_ep_info_t ep_info;
	/** it_ud_svc_reply_event_t.dst_path. */
	it_path_t dst_path;
} it_ud_svc_reply_event_t;

/** it_affiliated_event_t. */
typedef struct {
	/** it_affiliated_event_t.event_number. */
	it_event_type_t event_number;
	/** it_affiliated_event_t.evd. */
	it_evd_handle_t evd;
	/** it_affiliated_event_t.cause. */
	union {
		/** it_affiliated_event_t.cause.sevd. */
		it_evd_handle_t sevd;
		/** it_affiliated_event_t.cause.ep. */
		it_ep_handle_t ep;
		/** it_affiliated_event_t.cause.srq. */
		it_srq_handle_t srq;
	} cause;
} it_affiliated_event_t;

/** it_unaffiliated_event_t. */
typedef struct {
	/** it_unaffiliated_event_t.event_number. */
	it_event_type_t event_number;
	/** it_unaffiliated_event_t.evd. */
	it_evd_handle_t evd;
	/** it_unaffiliated_event_t.ia. */
	it_ia_handle_t ia;
	/** it_unaffiliated_event_t.spigot_id. */
	size_t spigot_id;
} it_unaffiliated_event_t;

/** it_software_event_t. */
typedef struct {
	/** it_software_event_t.event_number. */
	it_event_type_t event_number;
	/** it_software_event_t.evd. */
	it_evd_handle_t evd;
	/** it_software_event_t.data. */
	void *data;
} it_software_event_t;

/** it_aevd_notification_event_t. */
typedef struct {
	/** it_aevd_notification_event_t.event_number. */
	it_event_type_t event_number;
	/** it_aevd_notification_event_t.aevd. */
	it_evd_handle_t aevd;
	/** it_aevd_notification_event_t.sevd. */
	it_evd_handle_t sevd;
} it_aevd_notification_event_t;

/** it_event_t. */
typedef union {
	/** it_event_t.event_number. */
	it_event_type_t event_number;
	/** it_event_t.any. */
	it_any_event_t any;
	/** it_event_t.cm_any. */
	it_event_cm_any_t cm_any;
	/** it_event_t.dto_cmpl. */
	it_dto_cmpl_event_t dto_cmpl;
	/** it_event_t.all_dto_cmpl. */
	it_all_dto_cmpl_event_t all_dto_cmpl;
	/** it_event_t.conn_req. */
	it_conn_request_event_t conn_req;
	/** it_event_t.ud_svc_request. */
	it_ud_svc_request_event_t ud_svc_request;
	/** it_event_t.conn. */
	it_connection_event_t conn;
	/** it_event_t.ud_svc_reply. */
	it_ud_svc_reply_event_t ud_svc_reply;
	/** it_event_t.aff_async. */
	it_affiliated_event_t aff_async;
	/** it_event_t.unaff_async. */
	it_unaffiliated_event_t unaff_async;
	/** it_event_t.sw. */
	it_software_event_t sw;
	/** it_event_t.aevd_notify. */
	it_aevd_notification_event_t aevd_notify;
} it_event_t;

/** it_evd_flags_t. */
typedef enum {
	IT_EVD_DEQUEUE_NOTIFICATIONS = 0x01, /**< IT_EVD_DEQUEUE_NOTIFICATIONS. */
	IT_EVD_CREATE_FD = 0x02,             /**< IT_EVD_CREATE_FD. */
	IT_EVD_OVERFLOW_DEFAULT = 0x04,      /**< IT_EVD_OVERFLOW_DEFAULT. */
	IT_EVD_OVERFLOW_NOTIFY = 0x08,       /**< IT_EVD_OVERFLOW_NOTIFY. */
	IT_EVD_OVERFLOW_AUTO_RESET = 0x10    /**< IT_EVD_OVERFLOW_AUTO_RESET. */
} it_evd_flags_t;

/** it_evd_param_t. */
typedef struct {
	/** it_evd_param_t.ia. */
	it_ia_handle_t ia;
	/** it_evd_param_t.event_number. */
	it_event_type_t event_number;
	/** it_evd_param_t.evd_flag. */
	it_evd_flags_t evd_flag;
	/** it_evd_param_t.sevd_queue_size. */
	size_t sevd_queue_size;
	/** it_evd_param_t.sevd_threshold. */
	size_t sevd_threshold;
	/** it_evd_param_t.aevd. */
	it_evd_handle_t aevd;
	/** it_evd_param_t.fd. */
	int fd;
	/** it_evd_param_t.evd_bound. */
	it_boolean_t evd_bound;
	/** it_evd_param_t.evd_enabled. */
	it_boolean_t evd_enabled;
	/** it_evd_param_t.evd_overflowed. */
	it_boolean_t evd_overflowed;
	/** it_evd_param_t.evd_callback. */
	it_boolean_t evd_callback;
} it_evd_param_t;

/** it_evd_param_mask_t. */
typedef enum {
	IT_EVD_PARAM_ALL = 0x0001,          /**< IT_EVD_PARAM_ALL. */
	IT_EVD_PARAM_IA = 0x0002,           /**< IT_EVD_PARAM_IA. */
	IT_EVD_PARAM_EVENT_NUMBER = 0x0004, /**< IT_EVD_PARAM_EVENT_NUMBER. */
	IT_EVD_PARAM_FLAG = 0x0008,         /**< IT_EVD_PARAM_FLAG. */
	IT_EVD_PARAM_QUEUE_SIZE = 0x0010,   /**< IT_EVD_PARAM_QUEUE_SIZE. */
	IT_EVD_PARAM_THRESHOLD = 0x0020,    /**< IT_EVD_PARAM_THRESHOLD. */
	IT_EVD_PARAM_AEVD_HANDLE = 0x0040,  /**< IT_EVD_PARAM_AEVD_HANDLE. */
	IT_EVD_PARAM_FD = 0x0080,           /**< IT_EVD_PARAM_FD. */
	IT_EVD_PARAM_BOUND = 0x0100,        /**< IT_EVD_PARAM_BOUND. */
	IT_EVD_PARAM_ENABLED = 0x0200,      /**< IT_EVD_PARAM_ENABLED. */
	IT_EVD_PARAM_OVERFLOWED = 0x0400,   /**< IT_EVD_PARAM_OVERFLOWED. */
	IT_EVD_PARAM_CALLBACK = 0x0800      /**< IT_EVD_PARAM_CALLBACK. */
} it_evd_param_mask_t;

/** it_evd_callback_rtn_t. */
typedef void (*it_evd_callback_rtn_t)(IN it_evd_handle_t evd, IN void *arg);

/** it_evd_create(), see itapi-semantics chapter 15. */
it_status_t it_evd_create(IN it_ia_handle_t ia_handle, IN it_event_type_t event_number,
			  IN it_evd_flags_t evd_flag, IN size_t sevd_queue_size,
			  IN size_t sevd_threshold, IN it_evd_handle_t aevd_handle,
			  OUT it_evd_handle_t *evd_handle, OUT int *fd);

/** it_evd_free(), see itapi-semantics chapter 15. */
it_status_t it_evd_free(IN it_evd_handle_t evd_handle);

/** it_evd_query(), see itapi-semantics chapter 15. */
it_status_t it_evd_query(IN it_evd_handle_t evd_handle, IN it_evd_param_mask_t mask,
			 OUT it_evd_param_t *params);

/** it_evd_modify(), see itapi-semantics chapter 15. */
it_status_t it_evd_modify(IN it_evd_handle_t evd_handle, IN it_evd_param_mask_t mask,
			  IN const it_evd_param_t *params);

/** it_evd_dequeue(), see itapi-semantics chapter 15. */
it_status_t it_evd_dequeue(IN it_evd_handle_t evd_handle, OUT it_event_t *event);

/** it_evd_wait(), see itapi-semantics chapter 15. */
it_status_t it_evd_wait(IN it_evd_handle_t evd_handle, IN uint64_t timeout, OUT it_event_t *event,
			OUT size_t *nmore);

/** it_evd_post_se(), see itapi-semantics chapter 15. */
it_status_t it_evd_post_se(IN it_evd_handle_t evd_handle, IN const void *event);

/** it_evd_callback_attach(), see itapi-semantics chapter 15. */
it_status_t it_evd_callback_attach(IN it_evd_handle_t evd_handle, IN it_evd_callback_rtn_t callback,
				   IN void *arg);

/** it_evd_callback_detach(), see itapi-semantics chapter 15. */
it_status_t it_evd_callback_detach(IN it_evd_handle_t evd_handle);

/** @} */

/**
 * @addtogroup itapi_dto
 * @{
 */
/** it_post_send(), see itapi-semantics chapter 15. */
it_status_t it_post_send(IN it_ep_handle_t ep_handle, IN const it_lmr_triplet_t *local_segments,
			 IN size_t num_segments, IN it_dto_cookie_t cookie,
			 IN it_dto_flags_t dto_flags);

/** it_post_send_and_unlink(), see itapi-semantics chapter 15. */
it_status_t it_post_send_and_unlink(IN it_ep_handle_t ep_handle,
				    IN const it_lmr_triplet_t *local_segments,
				    IN size_t num_segments, IN it_dto_cookie_t cookie,
				    IN it_dto_flags_t dto_flags, IN it_rmr_context_t rmr_context);

/** it_post_recv(), see itapi-semantics chapter 15. */
it_status_t it_post_recv(IN it_handle_t handle, IN const it_lmr_triplet_t *local_segments,
			 IN size_t num_segments, IN it_dto_cookie_t cookie,
			 IN it_dto_flags_t dto_flags);

/** it_post_rdma_write(), see itapi-semantics chapter 15. */
it_status_t it_post_rdma_write(IN it_ep_handle_t ep_handle,
			       IN const it_lmr_triplet_t *local_segments, IN size_t num_segments,
			       IN it_dto_cookie_t cookie, IN it_dto_flags_t dto_flags,
			       IN it_rdma_addr_t rdma_addr, IN it_rmr_context_t rmr_context);

/** it_post_rdma_read(), see itapi-semantics chapter 15. */
it_status_t it_post_rdma_read(IN it_ep_handle_t ep_handle,
			      IN const it_lmr_triplet_t *local_segments, IN size_t num_segments,
			      IN it_dto_cookie_t cookie, IN it_dto_flags_t dto_flags,
			      IN it_rdma_addr_t rdma_addr, IN it_rmr_context_t rmr_context);

/** it_post_rdma_read_to_rmr(), see itapi-semantics chapter 15. */
it_status_t it_post_rdma_read_to_rmr(IN it_ep_handle_t ep_handle,
				     IN const it_rmr_triplet_t *local_segments,
				     IN size_t num_segments, IN it_dto_cookie_t cookie,
				     IN it_dto_flags_t dto_flags, IN it_rdma_addr_t rdma_addr,
				     IN it_rmr_context_t rmr_context);

/** it_post_atomic(), see itapi-semantics chapter 15. */
it_status_t it_post_atomic(IN it_ep_handle_t ep_handle, IN it_atomic_op_t op,
			   IN uint64_t swap_or_add, IN uint64_t compare,
			   IN const it_lmr_triplet_t *result, IN it_dto_cookie_t cookie,
			   IN it_dto_flags_t dto_flags, IN it_rdma_addr_t rdma_addr,
			   IN it_rmr_context_t rmr_context);

/** it_post_sendto(), see itapi-semantics chapter 15. */
it_status_t it_post_sendto(IN it_ep_handle_t ep_handle, IN const it_lmr_triplet_t *local_segments,
			   IN size_t num_segments, IN it_dto_cookie_t cookie,
			   IN it_dto_flags_t dto_flags,
			   IN const it_dg_remote_ep_addr_t *remote_ep_addr);

/** it_post_recvfrom(), see itapi-semantics chapter 15. */
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

/** @} */

#endif /* IT_API_H */
