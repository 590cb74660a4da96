/*
 * SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 * SPDX-FileCopyrightText: the itapi authors
 */
#ifndef IT_EXT_H
#define IT_EXT_H

/**
 * @file
 * @brief Extensions of IT-API that existing applications use.
 */

#include "it_api.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/**
 * @defgroup itapi_ext Extensions
 * @ingroup itapi
 * @brief Calls beyond the standard that existing applications use.
 *
 * All rules of IT-API hold. The names, and their spelling, are those that existing applications use.
 * Clause: [IT 15.10], [IT 15.11].
 * @{
 */

/**
 * @brief Takes up to a number of events at once.
 *
 * It does what it_evd_dequeue() does, up to that many times, at the cost of one call. An empty EVD is not an
 * error.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - Events: none.
 * - Clause: [IT 15.10.1].
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] evd_handle the EVD
 * @param[in] deque_count most events to take; at least 1
 * @param[out] events room for @p deque_count events
 * @param[out] dequed_count events taken, 0 if there were none
 * @retval IT_SUCCESS The events that were there were taken, perhaps none.
 * @retval IT_ERR_INVALID_EVD Not the handle of an EVD.
 * @retval IT_ERR_INVALID_LENGTH @p deque_count is below 1.
 * @retval IT_ERR_FAULT @p events or @p dequed_count is NULL.
 *
 * @par Example
 * @snippet calls_event.c it_evd_dequeue_n
 *
 * @see it_evd_dequeue(), it_evd_wait(), itx_aevd_wait()
 */
it_status_t it_evd_dequeue_n(IN it_evd_handle_t evd_handle, IN int deque_count,
			     OUT it_event_t *events, OUT int *dequed_count);

/**
 * @brief Accepts a request and hands the peer a memory region in the private data.
 *
 * As it_ep_accept(), with private data that is one triplet of context, address and length of the
 * region, 64 bits each in network byte order: the order of it_rmr_triplet_t.
 *
 * - Thread: any, several at once.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events here: as it_ep_accept().
 * - Events at the peer: as it_ep_accept().
 * - Clause: [IT 15.11.2].
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] ep_handle the endpoint
 * @param[in] cn_est_id identifier of the request event; used up by success
 * @param[in] lmr the region and the range that the message describes
 * @param[out] rmr_context the context in the message, host byte order
 * @retval IT_SUCCESS As it_ep_accept(); the message describes the region.
 * @retval IT_ERR_INVALID_EP Not the handle of a connected endpoint's kind.
 * @retval IT_ERR_INVALID_LMR The region is of another adapter than the endpoint, or it is the direct one.
 * @retval IT_ERR_FAULT @p lmr or @p rmr_context is NULL.
 * @retval IT_ERR_INVALID_CN_EST_ID As it_ep_accept(), with all its other statuses.
 * @see it_ep_accept(), itx_ep_connect_with_rmr(), itx_get_rmr_context_for_ep()
 */
it_status_t itx_ep_accept_with_rmr(IN it_ep_handle_t ep_handle, IN it_cn_est_identifier_t cn_est_id,
				   IN it_lmr_triplet_t *lmr, OUT it_rmr_context_t *rmr_context);

/**
 * @brief Starts a connection and hands the peer a memory region in the private data.
 *
 * As it_ep_connect(), with private data to which the region is appended: its length (32 bits),
 * context and address (64 bits each), in network byte order.
 *
 * - Thread: any, several at once.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events here: as it_ep_connect().
 * - Events at the peer: as it_ep_connect().
 * - Clause: [IT 15.11.1].
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] ep_handle the endpoint
 * @param[in] path path to the peer; copied before return
 * @param[in] conn_attr fine tuning, or NULL for the defaults
 * @param[in] connect_qual service of the peer; ports and service ids in network byte order
 * @param[in] cn_est_flags bits of it_cn_est_flags_t
 * @param[in] private_data private data in front of the region's; may be NULL with length 0
 * @param[in] private_data_length its length (octets)
 * @param[in] lmr the region and the range that the message describes
 * @param[out] rmr_context the context in the message, host byte order
 * @retval IT_SUCCESS As it_ep_connect(); the message describes the region.
 * @retval IT_ERR_INVALID_EP Not the handle of an endpoint.
 * @retval IT_ERR_INVALID_LMR The region is of another adapter than the endpoint, or it is the direct one.
 * @retval IT_ERR_INVALID_LENGTH The range is longer than 2^32 - 1 bytes.
 * @retval IT_ERR_INVALID_PDATA_LENGTH With the region the private data is too long; and all other
 *     statuses of it_ep_connect().
 * @retval IT_ERR_FAULT @p lmr, @p rmr_context or private data with a length is NULL.
 * @see it_ep_connect(), itx_ep_accept_with_rmr(), itx_get_rmr_context_for_ep()
 */
it_status_t itx_ep_connect_with_rmr(IN it_ep_handle_t ep_handle, IN const it_path_t *path,
				    IN const it_conn_attributes_t *conn_attr,
				    IN const it_conn_qual_t *connect_qual,
				    IN it_cn_est_flags_t cn_est_flags,
				    IN const unsigned char *private_data,
				    IN size_t private_data_length, IN it_lmr_triplet_t *lmr,
				    OUT it_rmr_context_t *rmr_context);

/**
 * @brief Queries the context of an LMR on the adapter of an endpoint.
 *
 * In this library it is the context of the region itself.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - Events: none.
 * - Clause: [IT 15.11.3]; [IT 8.1].
 * - Also: IT_ERR_ABORT; see @ref itapi_results.
 *
 * @param[in] ep_handle the endpoint
 * @param[in] lmr the region
 * @param[out] rmr_context its context, host byte order
 * @retval IT_SUCCESS @p rmr_context holds it.
 * @retval IT_ERR_INVALID_EP Not the handle of an endpoint.
 * @retval IT_ERR_INVALID_LMR Not an LMR of the endpoint's adapter, or the direct one.
 * @retval IT_ERR_FAULT @p rmr_context is NULL.
 * @see it_lmr_query(), itx_ep_connect_with_rmr(), itx_ep_accept_with_rmr()
 */
it_status_t itx_get_rmr_context_for_ep(IN it_ep_handle_t ep_handle, IN it_lmr_handle_t lmr,
				       OUT it_rmr_context_t *rmr_context);

/**
 * @brief Binds an endpoint to the adapter at which a connection request arrived.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - Events: none.
 * - Clause: [IT 15.11.4].
 * - Also: IT_ERR_ABORT; see @ref itapi_results.
 *
 * @param[in] ep_handle the endpoint, unconnected
 * @param[in] cn_id identifier of the request event; not used up
 * @retval IT_SUCCESS The endpoint belongs to that adapter; its creation has decided that.
 * @retval IT_ERR_INVALID_EP Not the handle of an endpoint.
 * @retval IT_ERR_INVALID_CN_EST_ID Unknown, used or dead, or of another adapter than the endpoint.
 * @retval IT_ERR_INVALID_EP_STATE The endpoint is not unconnected.
 * @see it_ep_accept(), it_ep_rc_create()
 */
it_status_t itx_bind_ep_to_device(IN it_ep_handle_t ep_handle, IN it_cn_est_identifier_t cn_id);

/**
 * @brief Waits on an aggregate and takes several events of its members at once.
 *
 * Unlike every other time of this interface, @p timeout is in milliseconds. If the time is over without an event,
 * the call succeeds with none. As it_evd_wait() it is a cancellation point while it sleeps.
 *
 * - Thread: any, several at once.
 * - Blocks: may sleep (class W); not allowed in an EVD callback.
 * - Events: none.
 * - Clause: [IT 15.11.5]; [IT 6.5], [IT 1.19].
 * - Also: IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] evd_handle the aggregate, created without #IT_EVD_DEQUEUE_NOTIFICATIONS; one created with
 *     it gives notification events, and a simple EVD its own events
 * @param[in] timeout time limit (milliseconds); 0 = do not sleep; more than 2^64 - 1 microseconds is for
 *     ever
 * @param[in] max_event_count most events to take; at least 1
 * @param[out] events room for @p max_event_count events
 * @param[out] events_count events taken, 0 if none came in time
 * @retval IT_SUCCESS So many events were taken, perhaps none.
 * @retval IT_ERR_INVALID_EVD Not the handle of an EVD.
 * @retval IT_ERR_INVALID_LENGTH @p max_event_count is 0.
 * @retval IT_ERR_INVALID_EVD_STATE The EVD is disabled, or a member of an aggregate.
 * @retval IT_ERR_CALLBACK_EXISTS A callback is attached.
 * @retval IT_ERR_WAITER_LIMIT 64 threads wait already.
 * @retval IT_ERR_INTERRUPT A signal handler without SA_RESTART ran during the wait; see it_evd_wait().
 * @retval IT_ERR_FAULT @p events or @p events_count is NULL.
 * @retval IT_ERR_RESOURCES Memory ran out.
 * @retval IT_ERR_ABORT The EVD or its adapter was freed before or during the wait.
 * @see it_evd_wait(), it_evd_dequeue_n(), it_evd_create()
 */
it_status_t itx_aevd_wait(IN it_evd_handle_t evd_handle, IN uint64_t timeout,
			  IN size_t max_event_count, OUT it_event_t *events,
			  OUT size_t *events_count);

/**
 * What an adapter can do beyond what it_ia_info_t has a member for. Bits.
 *
 * it_ia_info_t has the rest, and the addresses of its spigots show which kinds an adapter has. New versions of the
 * library may add bits.
 */
typedef enum {
	/** it_lmr_modify() works; otherwise it gives IT_ERR_OP_NOT_SUPPORTED. */
	ITX_SUPPORT_LMR_MODIFY = 0x0001,
	/**
	 * it_evd_modify() may make an EVD of data transfers larger than it was made; otherwise that gives
	 * IT_ERR_RESOURCE_QUEUE_SIZE.
	 */
	ITX_SUPPORT_DTO_EVD_RESIZE = 0x0002,
	/** The low watermark of an S-RQ works; otherwise it gives IT_ERR_SRQ_LOW_WATERMARK. */
	ITX_SUPPORT_SRQ_LOW_WATERMARK = 0x0004,
	/** A request whose source lacks #IT_PRIV_LOCAL_READ fails; otherwise that right is always there. */
	ITX_SUPPORT_LOCAL_READ_CHECK = 0x0008,
	/**
	 * What the peer refuses completes the request that caused it, with a status of its own; otherwise
	 * the request may have completed before and only the end of the connection tells.
	 */
	ITX_SUPPORT_REMOTE_STATUS = 0x0010,
	/** itx_lmr_create_dmabuf() works; otherwise it gives IT_ERR_OP_NOT_SUPPORTED. */
	ITX_SUPPORT_DMABUF = 0x0020,
	/**
	 * it_ep_reset() makes an endpoint usable again; otherwise it gives IT_ERR_CANNOT_RESET for good after a
	 * connection, and the application creates another endpoint.
	 */
	ITX_SUPPORT_EP_REUSE = 0x0040
} itx_support_t;

/**
 * @brief Queries what an adapter can do, where it_ia_query() has no member for it.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - Events: none.
 * - Clause: [IT 15.11.8]; [IT 8.8].
 * - Also: IT_ERR_ABORT; see @ref itapi_results.
 *
 * @param[in] ia_handle the adapter
 * @param[out] support bits of itx_support_t; fixed for the life of the adapter
 * @retval IT_SUCCESS @p support holds them.
 * @retval IT_ERR_INVALID_IA Not the handle of an IA.
 * @retval IT_ERR_FAULT @p support is NULL.
 * @see it_ia_query(), it_ep_reset(), it_lmr_modify(), itx_lmr_create_dmabuf()
 */
it_status_t itx_ia_query_support(IN it_ia_handle_t ia_handle, OUT uint64_t *support);

/**
 * @brief Registers memory that another device has exported as a dmabuf, such as that of an accelerator.
 *
 * The adapter then moves data from and to that memory without a copy in the memory of the process. Such a region has no
 * address in the process: requests here and those of peers name its first byte by @p addr, the bytes behind it by the
 * numbers that follow, and the library never loads from or stores to these addresses. If the application has mapped
 * the dmabuf, it may choose that address.
 *
 * The region keeps the memory until it_lmr_free(): @p fd stays the application's, which may close it when the call has returned.
 * It cannot be modified or linked (it_lmr_modify(), it_lmr_link()) and joins no sharing group; all other calls work with it.
 *
 * An adapter of this library that is software and claims the ability maps the memory, so its driver must allow a mapping. It
 * takes a memfd, too, that is sealed with F_SEAL_SHRINK, so that a program can be tried without a device.
 *
 * - Thread: any, several at once.
 * - Blocks: for a provider or kAL round trip at most (class M).
 * - Events: none.
 * - Clause: [IT 15.11.11]; [IT 8.10], [IT 8.2].
 * - Also: IT_ERR_ABORT and IT_ERR_IA_CATASTROPHE; see @ref itapi_results.
 *
 * @param[in] pz_handle the protection zone
 * @param[in] fd descriptor of the dmabuf
 * @param[in] offset of the first byte of the region in the dmabuf (bytes)
 * @param[in] length length of the region (bytes), at least 1
 * @param[in] addr names the first byte; any number that is at the same place of a page as @p offset, so NULL
 *     goes with whole pages
 * @param[in] privs privileges, as with it_lmr_create21()
 * @param[in] flags kind of the region; bits of it_lmr_flag_t but #IT_LMR_FLAG_SHARED
 * @param[out] lmr_handle the new region
 * @param[out] rmr_context context for peers, host byte order; may be NULL
 * @retval IT_SUCCESS Done.
 * @retval IT_ERR_INVALID_PZ Not the handle of a protection zone.
 * @retval IT_ERR_INVALID_HANDLE @p fd is no open descriptor, or of no dmabuf.
 * @retval IT_ERR_OP_NOT_SUPPORTED The adapter cannot do it (itx_ia_query_support()), or not with this dmabuf.
 * @retval IT_ERR_INVALID_LENGTH @p length is 0.
 * @retval IT_ERR_ADDRESS @p addr and @p length wrap around.
 * @retval IT_ERR_INVALID_ADDRESS @p addr and @p offset are not at the same place of a page.
 * @retval IT_ERR_RANGE @p offset and @p length are not inside the dmabuf.
 * @retval IT_ERR_INVALID_PRIVS No local privilege, or a remote one without the local one it builds on.
 * @retval IT_ERR_INVALID_FLAGS Unknown bits, or #IT_LMR_FLAG_SHARED.
 * @retval IT_ERR_RESOURCE_LMR_LENGTH Longer than the adapter can register.
 * @retval IT_ERR_ACCESS The descriptor does not allow these privileges.
 * @retval IT_ERR_RESOURCES Keys, memory or the limit on registered memory ran out.
 * @retval IT_ERR_FAULT @p lmr_handle is NULL.
 *
 * @par Example
 * @snippet calls_dmabuf.c itx_lmr_create_dmabuf
 *
 * @see itx_ia_query_support(), it_lmr_create21(), it_lmr_free(), it_lmr_query(), it_rmr_link()
 */
it_status_t itx_lmr_create_dmabuf(IN it_pz_handle_t pz_handle, IN int fd, IN uint64_t offset,
				  IN it_length_t length, IN void *addr, IN it_mem_priv_t privs,
				  IN it_lmr_flag_t flags, OUT it_lmr_handle_t *lmr_handle,
				  OUT it_rmr_context_t *rmr_context);

/** Severity of a line of the log, the most severe first. */
typedef enum {
	/** Something failed for good. */
	ITX_LOG_ERROR = 0,
	/** Lasting damage: a provider was refused, events were lost. */
	ITX_LOG_WARNING = 1,
	/** Why a connection ended or an attempt failed. */
	ITX_LOG_INFO = 2,
	/** Every call that was refused. */
	ITX_LOG_DEBUG = 3
} itx_log_level_t;

/**
 * @brief A function of the application that writes a line of the log.
 *
 * Any thread calls it, also inside calls of this library, one line at a time for the process. It must not block.
 * What it calls of the library is not logged; it may call nothing that waits for another thread.
 *
 * @param[in] context as given to itx_log_set_writer()
 * @param[in] level severity of the line, an itx_log_level_t
 * @param[in] where what the line is about: the layer, then what is known of adapter, endpoint ("EP" and its handle), queue
 *     pair ("QP" and its number) and peer ("peer" and its address); zero-terminated
 * @param[in] text the line, without an end of line; zero-terminated. It may contain text of a provider or a peer,
 *     so do not send it to a terminal as it is
 */
typedef void (*itx_log_writer_t)(void *context, int level, const char *where, const char *text);

/**
 * @brief Sends the log of the process to a function of the application instead of stderr.
 *
 * The environment variable ITAPI_LOG chooses the lines. After the return no thread is inside the old writer, unless
 * the old writer itself makes the call.
 *
 * - Thread: any, several at once.
 * - Blocks: until another thread has finished the line that it is writing (class M).
 * - Events: none.
 * - Clause: [IT 15.11.9].
 *
 * @param[in] writer called for each line from now on; NULL: the library writes to stderr again, without ever blocking,
 *     to the file to which descriptor 2 refers during this call
 * @param[in] context handed to @p writer as it is
 * @see itx_init_tracing(), it_status_name()
 */
void itx_log_set_writer(IN itx_log_writer_t writer, IN void *context);

/**
 * @brief Names the trace of this process.
 *
 * The trace has the state changes of endpoints, with the call or event that caused each, and the events of adapters.
 * Calls that change no state are not traced. A second call changes the file, for all threads at once.
 *
 * - Thread: any, several at once.
 * - Blocks: as long as opening a file takes (class M).
 * - Events: none.
 * - Clause: [IT 15.11.6].
 *
 * @param[in] aContextName name of the program in the trace; copied before return
 * @param[in] aTraceRank number of this process among those of the program
 * @retval IT_SUCCESS The trace goes to a new file NAME.RANK.PID.trace, in the folder that the environment
 *     variable ITAPI_TRACE names; without it, or in a program with more rights than its caller, in the current
 *     folder. Further files of a process are NAME.RANK.PID.2.trace and so on. Only the owner can read them; an
 *     existing file is not written to, and a symbolic link is not followed. A line has the time in seconds,
 *     process and thread, the object, the event, and the state or number that followed. A process with
 *     ITAPI_TRACE in its environment is traced without this call, under its program name and rank 0.
 * @retval IT_ERR_INVALID_NAME The name is empty, too long, or has a slash.
 * @retval IT_ERR_NO_PERMISSION The process may not create the file there.
 * @retval IT_ERR_RESOURCES The file cannot be created.
 * @retval IT_ERR_FAULT @p aContextName is NULL.
 * @see it_ia_create()
 */
it_status_t itx_init_tracing(IN const char *aContextName, IN int aTraceRank);

/** A setting of the library or of a provider, as it is now. All texts end with a zero octet. */
typedef struct {
	/** The variable of the environment, or "[group] key" of the administrator's file. */
	char name[136];
	/** The reader of it: "itapi", the name of a provider, or "" if there is none. */
	char owner[32];
	/** What it is for, in one sentence; "" if it has no reader. */
	char meaning[256];
	/** What it may be, such as "a number from 0 to 1000000 (us)". */
	char range[128];
	/** The value that holds if it is not set; "" if there is none. */
	char preset[64];
	/** The value that holds now, cut to the room; "" if there is none. */
	char value[256];
	/** Where that comes from: "default", "environment", what in the environment, or FILE:LINE. */
	char origin[512];
	/** What is wrong with it, and "" if nothing is. */
	char trouble[512];
	/** IT_TRUE: a program with more rights than its caller (set-uid) reads the caller's variable too. */
	it_boolean_t set_uid;
} itx_setting_t;

/**
 * @brief Lists all settings: variables of the environment and keys of the administrator's file.
 *
 * The list has the settings of the library, those that providers state, and variables with the library's prefix that have
 * no reader. It has the values that an adapter would get if it were opened now. The call loads the providers.
 *
 * - Thread: any, several at once; no thread may change the environment meanwhile.
 * - Blocks: may sleep (class W); not allowed in an EVD callback.
 * - Events: none.
 * - Clause: [IT 15.11.10].
 *
 * @param[out] settings room for *@p num_settings settings; may be NULL with 0
 * @param[in,out] num_settings room; on return the settings that were written
 * @param[out] total_settings the settings that there are
 * @retval IT_SUCCESS The list is complete as far as there was room.
 * @retval IT_ERR_FAULT @p num_settings or @p total_settings is NULL, or @p settings is with room above 0.
 * @retval IT_ERR_RESOURCES Memory or descriptors ran out; nothing is listed.
 * @see it_ia_create(), it_interface_list(), itx_log_set_writer()
 */
it_status_t itx_settings_list(OUT itx_setting_t *settings, IN OUT size_t *num_settings,
			      OUT size_t *total_settings);

/** Kinds of objects of a process that itx_live_list() lists. */
typedef enum {
	/** An open adapter: waits and wake-ups. */
	ITX_LIVE_IA = 1,
	/** An endpoint, or a queue pair of a program of verbs: posts, octets, frames. */
	ITX_LIVE_EP = 2,
	/** A completion queue, of an EVD for DTOs or of a program of verbs: completions, armings, events. */
	ITX_LIVE_EVD = 3,
	/** A listener. */
	ITX_LIVE_LISTEN = 4,
	/** An S-RQ: receives that were posted. */
	ITX_LIVE_SRQ = 5
} itx_live_kind_t;

/** Counters of itx_live_t. More may follow; itx_counter_name() knows those of the library. */
typedef enum {
	/** EP: Sends that were posted. */
	ITX_COUNTER_SENDS = 0,
	/** EP: RDMA Writes. */
	ITX_COUNTER_WRITES,
	/** EP: RDMA Reads. */
	ITX_COUNTER_READS,
	/** EP, SRQ: receives. An EP counts none that it takes from an S-RQ. */
	ITX_COUNTER_RECEIVES,
	/** EP: datagrams. */
	ITX_COUNTER_DATAGRAMS,
	/** EP: atomic operations. */
	ITX_COUNTER_ATOMICS,
	/** EP: links of RMRs and LMRs. */
	ITX_COUNTER_LINKS,
	/** EP: unlinks of RMRs and LMRs. */
	ITX_COUNTER_UNLINKS,
	/** EP: octets of the segments of posted requests, receives left out. */
	ITX_COUNTER_OCTETS_POSTED,
	/** EP: frames or packets to the peer. */
	ITX_COUNTER_FRAMES_SENT,
	/** EP: frames or packets of the peer. */
	ITX_COUNTER_FRAMES_RECEIVED,
	/** EP: repetitions, and waits for a receive that is not posted. */
	ITX_COUNTER_RETRIES,
	/** EP: frames whose CRC was wrong. */
	ITX_COUNTER_CRC_ERRORS,
	/** EVD: completions that were dequeued, with success. */
	ITX_COUNTER_SUCCESSES,
	/** EVD: flushed. */
	ITX_COUNTER_FLUSHED,
	/** EVD: a receive was too short, or a request too long. */
	ITX_COUNTER_LOCAL_LENGTH,
	/** EVD: a malformed request, or the endpoint failed. */
	ITX_COUNTER_LOCAL_EP,
	/** EVD: a local segment is out of bounds, or lacks a right. */
	ITX_COUNTER_LOCAL_PROTECTION,
	/** EVD: an arriving Send named what cannot be unlinked. */
	ITX_COUNTER_LOCAL_UNLINK,
	/** EVD: a link or unlink of an RMR failed. */
	ITX_COUNTER_RMR_OPERATION,
	/** EVD: a link or unlink of an LMR failed. */
	ITX_COUNTER_LMR_OPERATION,
	/** EVD: the peer's answer was malformed. */
	ITX_COUNTER_BAD_RESPONSE,
	/** EVD: the peer refused the access. */
	ITX_COUNTER_REMOTE_ACCESS,
	/** EVD: the peer cannot do such a request. */
	ITX_COUNTER_REMOTE_REQUEST,
	/** EVD: the peer failed while it did it. */
	ITX_COUNTER_REMOTE_OPERATION,
	/** EVD: the connection was lost. */
	ITX_COUNTER_TRANSPORT,
	/** EVD: the peer had no receive posted for too long. */
	ITX_COUNTER_RNR,
	/** EVD: octets of the completions. */
	ITX_COUNTER_OCTETS_COMPLETED,
	/** EVD: how often it was armed, so that its next completion wakes a thread or a descriptor. */
	ITX_COUNTER_ARMINGS,
	/** EVD: how often such a completion came. */
	ITX_COUNTER_EVENTS,
	/** IA: threads that fell asleep for an event. */
	ITX_COUNTER_WAITS,
	/** IA: of them, those that an event woke. */
	ITX_COUNTER_WAKE_UPS,
	/** Number of values; not a counter. */
	ITX_COUNTER_COUNT
} itx_counter_t;

/** Room for counters of later versions. */
#define ITX_COUNTERS 48

/** An object of a process, as it was when it was read. All texts end with a zero octet; "" is a text that is unknown or absent. */
typedef struct {
	/** What it is. */
	itx_live_kind_t kind;
	/** Which one: no two objects of a process have the same. */
	uint32_t serial;
	/** EP: the number of its queue pair; LISTEN: the TCP port, or 0. */
	uint32_t number;
	/** 0. */
	uint32_t reserved;
	/** LISTEN: the service id of InfiniBand, or 0. */
	uint64_t service;
	/** The adapter, and of an IA its own name. */
	char adapter[64];
	/** EP: "RC", "UD" or "UC". */
	char type[8];
	/** EP: the state of its connection. */
	char state[24];
	/** EP: own address and port. */
	char local[64];
	/** EP: the peer's address and port. */
	char peer[64];
	/** Bit n is set: counter n is counted for this object, on this adapter. */
	uint64_t known;
	/** By itx_counter_t; 0 where nothing is counted. They start with the object, never fall, and change at any time. */
	uint64_t counters[ITX_COUNTERS];
} itx_live_t;

/**
 * @brief Lists the open adapters, endpoints, event dispatchers, S-RQs and listeners of a process, with their states, peers and counters.
 *
 * The process is not asked and not stopped: it may be any that the caller may look at (the same user's, or all for root), may hang
 * or be stopped, and notices nothing. Adapters come first. A process with ITAPI_LIVE=off in its environment shows itself to
 * nobody else. An object that changes while it is read is read again; one that does not stand still is left out.
 *
 * - Thread: any, several at once.
 * - Blocks: as long as reading files of the kernel takes (class M).
 * - Events: none.
 * - Clause: [IT 15.11.12].
 *
 * @param[in] pid the process; 0: this one
 * @param[out] objects room for *@p num_objects objects; may be NULL with 0
 * @param[in,out] num_objects room; on return the objects that were written
 * @param[out] total_objects the objects that there are; 0: the process has no adapter open, or does not show it
 * @retval IT_SUCCESS The list is complete as far as there was room.
 * @retval IT_ERR_FAULT @p num_objects or @p total_objects is NULL, or @p objects is with room above 0.
 * @retval IT_ERR_INVALID_NAME There is no such process.
 * @retval IT_ERR_NO_PERMISSION It is another user's, or has more rights than the caller.
 * @retval IT_ERR_OP_NOT_SUPPORTED It has a library of another version, or lies.
 * @retval IT_ERR_RESOURCES Memory or descriptors ran out.
 * @see itx_counter_name(), itx_settings_list()
 */
it_status_t itx_live_list(IN int pid, OUT itx_live_t *objects, IN OUT size_t *num_objects,
			  OUT size_t *total_objects);

/**
 * @brief Names a counter, as it-info does.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class H).
 * - Events: none.
 * - Clause: [IT 15.11.12].
 *
 * @param[in] counter any value
 * @return a constant text such as "sends"; NULL: this version has no such counter
 * @see itx_live_list()
 */
const char *itx_counter_name(IN itx_counter_t counter);

/**
 * @brief Names a status, for logs and messages.
 *
 * The text is the name of the constant, such as "IT_ERR_INVALID_EP". It lives as long as the process
 * and must not be freed. If two constants have the same number, the name is that of the newer standard. The name of
 * a number that no constant of the type has is "(unknown)". The same holds for the other calls of this kind.
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - Events: none.
 * - Clause: [IT 15.11.7].
 *
 * @param[in] status the status
 * @return its name, never NULL
 * @see it_event_name(), it_dto_status_name()
 */
const char *it_status_name(IN it_status_t status);

/**
 * @brief Names an event, or of a stream, such as "IT_CM_MSG_CONN_BROKEN_EVENT".
 *
 * As it_status_name().
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - Events: none.
 * - Clause: [IT 15.11.7].
 *
 * @param[in] event_number the number
 * @return its name, never NULL; "(unknown)" for an unknown number
 * @see it_status_name(), it_dto_status_name()
 */
const char *it_event_name(IN it_event_type_t event_number);

/**
 * @brief Names the status of a completion, such as "IT_DTO_ERR_FLUSHED".
 *
 * As it_status_name().
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - Events: none.
 * - Clause: [IT 15.11.7].
 *
 * @param[in] dto_status the number
 * @return its name, never NULL; "(unknown)" for an unknown number
 * @see it_status_name(), it_event_name()
 */
const char *it_dto_status_name(IN it_dto_status_t dto_status);

/**
 * @brief Names the reason of #IT_CM_MSG_CONN_NONPEER_REJECT_EVENT, such as "IT_CN_REJ_TIMEOUT".
 *
 * As it_status_name().
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - Events: none.
 * - Clause: [IT 15.11.7].
 *
 * @param[in] reject_reason_code the number
 * @return its name, never NULL; "(unknown)" for an unknown number
 * @see it_ep_connect(), #IT_CM_MSG_CONN_NONPEER_REJECT_EVENT
 */
const char *it_reject_name(IN it_conn_reject_code_t reject_reason_code);

/**
 * @brief Names the state of a connected endpoint, such as "IT_EP_STATE_CONNECTED".
 *
 * As it_status_name().
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - Events: none.
 * - Clause: [IT 15.11.7].
 *
 * @param[in] state the number
 * @return its name, never NULL; "(unknown)" for an unknown number
 * @see it_ep_query()
 */
const char *it_ep_state_name(IN it_ep_state_rc_t state);

/**
 * @brief Names the state of an endpoint for datagrams, such as "IT_EP_STATE_UD_OPERATIONAL".
 *
 * As it_status_name().
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - Events: none.
 * - Clause: [IT 15.11.7].
 *
 * @param[in] state the number
 * @return its name, never NULL; "(unknown)" for an unknown number
 * @see it_ep_query(), it_ep_ud_create()
 */
const char *it_ud_state_name(IN it_ep_state_ud_t state);

/**
 * @brief Names the answer to a datagram service request, such as "IT_UD_SVC_REQ_REJECTED".
 *
 * As it_status_name().
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - Events: none.
 * - Clause: [IT 15.11.7].
 *
 * @param[in] status the number
 * @return its name, never NULL; "(unknown)" for an unknown number
 * @see it_ud_service_request(), #IT_CM_MSG_UD_SERVICE_REPLY_EVENT
 */
const char *it_ud_answer_name(IN it_ud_svc_req_status_t status);

/**
 * @brief Names a type of handle, such as "IT_HANDLE_TYPE_EP".
 *
 * As it_status_name().
 *
 * - Thread: any, several at once.
 * - Blocks: no (class F).
 * - Events: none.
 * - Clause: [IT 15.11.7].
 *
 * @param[in] type the number
 * @return its name, never NULL; "(unknown)" for an unknown number
 * @see it_get_handle_type()
 */
const char *it_handle_type_name(IN it_handle_type_enum_t type);

/** @} */

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

/** @cond */
#ifdef __cplusplus
extern "C++" {

/* As at the end of it_api.h. */
inline it_status_t
itx_ep_connect_with_rmr(it_ep_handle_t ep_handle, const it_path_t *path,
			const it_conn_attributes_t *conn_attr, const it_conn_qual_t *connect_qual,
			int cn_est_flags, const unsigned char *private_data,
			size_t private_data_length, it_lmr_triplet_t *lmr,
			it_rmr_context_t *rmr_context)
{
	return itx_ep_connect_with_rmr(ep_handle, path, conn_attr, connect_qual,
				       static_cast<it_cn_est_flags_t>(cn_est_flags), private_data,
				       private_data_length, lmr, rmr_context);
}

inline it_status_t
itx_lmr_create_dmabuf(it_pz_handle_t pz_handle, int fd, uint64_t offset, it_length_t length,
		      void *addr, int privs, int flags, it_lmr_handle_t *lmr_handle,
		      it_rmr_context_t *rmr_context)
{
	return itx_lmr_create_dmabuf(pz_handle, fd, offset, length, addr,
				     static_cast<it_mem_priv_t>(privs),
				     static_cast<it_lmr_flag_t>(flags), lmr_handle, rmr_context);
}

} /* extern "C++" */
#endif
/** @endcond */

#endif /* IT_EXT_H */
