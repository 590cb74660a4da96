/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/**
 * @file rnicpi_fast.h
 * @brief The user half of a provider (uVP): post, poll, arm, progress.
 *
 * The uAL calls these entries directly, in the application's process. The rings behind them belong to the
 * provider. A software provider shares them between its two halves as *queue pages*: entries of fixed size
 * and indices, no pointers [RI 11.2].
 */
#ifndef RNICPI_FAST_H
#define RNICPI_FAST_H

#include "rnicpi_host.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @addtogroup rnicpi
 * @{
 * @defgroup rnicpi_fast Fast path (uVP)
 *
 * @section rnicpi_fast_calling Calls of fast entries
 *
 * These rules hold for every entry of ri_fast_ops [RI 2.1.5], [RI 2.3].
 * - Threads: any. With ri_rnic_attr::thread_safe_queues several at once, on one object too; without it the
 *   caller makes one post at a time on an object, and polls, counts and arms as it likes. No call is under way
 *   when the object is closed.
 * - Blocks: never. An entry allocates nothing and waits for no lock that another thread may hold across a
 *   system call. Its system calls move data, ask what is ready, or yield the processor.
 * - Upcalls: an entry may run the engine, so upcalls of ri_upcalls for any object of the adapter may come
 *   inside it. The caller owns no lock that its upcall handlers take. ri_fast_ops::cq_depth and
 *   ri_fast_ops::arm_cq run no engine and make no upcall; they are the only entries of a provider that an
 *   upcall handler calls.
 * - Arguments: trusted; the uAL has checked handles, flags and counts. Keys, bounds, rights and protection
 *   domains are checked when the request runs, on the provider's own copy of the request. A completion
 *   reports what is wrong with them.
 * - All or nothing: an entry that does not return RI_SUCCESS has posted or armed nothing.
 * - Memory: requests, receives and their lists are borrowed for the call. The memory that segments name is
 *   in use until the completion.
 * - A failed adapter is not an error here: posts are flushed, polls find what was completed.
 * @{
 */

struct ri_urnic;
struct ri_ucq;
struct ri_uqp;
struct ri_usrq;

/**
 * How the privileged half describes one object to its user half [RI 11.2]. It is flat, since it crosses the
 * boundary of the kAL. In one process @ref addr is where the queue pages are; across processes @ref fd,
 * @ref offset and @ref length name them. The access layer passes it on and does not look into it.
 */
struct ri_map {
	uint64_t addr;     /**< Address in this process, 0 if mapped by descriptor. */
	uint64_t length;   /**< Bytes. */
	uint64_t offset;   /**< Bytes from the start of the file behind @ref fd. */
	int32_t fd;        /**< Memory descriptor, or -1. */
	uint32_t shared;   /**< 1: the halves are in different processes. */
	uint64_t words[6]; /**< Contents are the provider's own. */
};

/** What ri_fast_ops::arm_cq waits for [RI 7.1]. */
enum ri_arm {
	RI_ARM_NONE = 0,  /**< Nothing: disarm. */
	RI_ARM_NEXT,      /**< An entry is present. */
	RI_ARM_SOLICITED, /**< A solicited entry (ri_wc_flag) is present. */
	RI_ARM_COUNT,     /**< At least `count` entries are present. */
	RI_ARM_UNREPORTED =
		16 /**< An entry is present that came after the last upcall, and after the last RI_ERR_NOT_EMPTY
			of this value. Optional: a provider without it answers RI_ERR_INVALID_ARG. */
};

/** What a provider counts, as bits of ri_qp_counters::known and ri_cq_counters::known. */
enum ri_counted {
	RI_COUNTED_POSTS = 1,    /**< Requests and receives that were posted, by kind. */
	RI_COUNTED_OCTETS = 2,   /**< Octets of those requests; of a CQ: of its completions. */
	RI_COUNTED_FRAMES = 4,   /**< Frames or packets. */
	RI_COUNTED_RETRIES = 8,  /**< Repetitions, and waits for a receive of the peer. */
	RI_COUNTED_CRC = 16,     /**< Frames whose check sum was wrong. */
	RI_COUNTED_DONE = 32,    /**< Completions that were polled, by status. */
	RI_COUNTED_ARMINGS = 64, /**< Calls of ri_fast_ops::arm_cq that armed the queue. */
};

/** Number of counters by kind or by status. */
#define RI_COUNTERS 16

/**
 * What a queue pair has done. The access layer owns the struct, zeroes it, sets `size`, and gives it to
 * ri_user_ops::qp_count; the provider sets `known` and then only adds. Other threads and processes read it at any
 * time, so each counter is a word of its own, and no two of them need to agree.
 */
struct ri_qp_counters {
	uint32_t size;               /**< sizeof this struct as the access layer knows it. */
	uint32_t known;              /**< RI_COUNTED_* bits. */
	uint64_t posts[RI_COUNTERS]; /**< By ri_opcode; what an SRQ gets is counted there. */
	uint64_t octets;             /**< Of the segments of requests. */
	uint64_t frames_sent;        /**< Frames or packets to the peer. */
	uint64_t frames_received;    /**< Frames or packets of the peer. */
	uint64_t retries;            /**< Repetitions, and waits for a receive of the peer. */
	uint64_t crc_errors;         /**< Frames whose check sum was wrong. */
};

/** What a completion queue has done; the rules are those of ri_qp_counters. */
struct ri_cq_counters {
	uint32_t size;              /**< sizeof this struct as the access layer knows it. */
	uint32_t known;             /**< RI_COUNTED_* bits. */
	uint64_t done[RI_COUNTERS]; /**< By ri_wc_status; polled, not only written. */
	uint64_t octets;            /**< Sum of ri_wc::byte_len. */
	uint64_t armings;           /**< Successes of ri_fast_ops::arm_cq. */
};

/**
 * Opens and closes user halves [RI 11.2]. The rules of @ref rnicpi_calling hold, so these entries may block and
 * allocate. @p map is borrowed. An object is opened after the privileged half created it, and closed before the
 * privileged half destroys it. A close ends calls of fast entries on the object: none is under way, none comes.
 */
struct ri_user_ops {
	uint32_t size; /**< sizeof this struct as the provider knows it. */

	/**
	 * Opens the user half of an adapter. @p host is the process's own table and outlives the user half.
	 * @p map is that of ri_device_ops::context_create.
	 * - Results: RI_ERR_RESOURCES. Clause: [RI 11.2.1].
	 */
	enum ri_status (*rnic_open)(const struct ri_host *host, const struct ri_map *map,
				    struct ri_urnic **out);
	/**
	 * Closes it. All its objects are closed already.
	 * - Results: none. Clause: [RI 11.2.1].
	 */
	void (*rnic_close)(struct ri_urnic *rnic);
	/**
	 * Opens the user half of a completion queue. @p map is that of ri_cq_ops::create.
	 * - Results: RI_ERR_RESOURCES. Clause: [RI 11.2.1].
	 */
	enum ri_status (*cq_open)(struct ri_urnic *rnic, const struct ri_map *map,
				  struct ri_ucq **out);
	/**
	 * Follows ri_cq_ops::resize with its map. No completion is lost or comes twice; fast entries may run
	 * meanwhile. Required with ri_rnic_attr::cq_resizable.
	 * - Results: RI_ERR_RESOURCES. Clause: [RI 10.16].
	 */
	enum ri_status (*cq_remap)(struct ri_ucq *cq, const struct ri_map *map);
	/**
	 * Closes it. Its completions are dropped.
	 * - Results: none. Clause: [RI 11.2.1].
	 */
	void (*cq_close)(struct ri_ucq *cq);
	/**
	 * Opens the user half of a queue pair. @p send_cq, @p recv_cq and @p srq (NULL = none) are the user halves
	 * of what ri_qp_ops::create was given, and @p map is its map.
	 * - Results: RI_ERR_RESOURCES. Clause: [RI 11.2.1].
	 */
	enum ri_status (*qp_open)(struct ri_urnic *rnic, const struct ri_map *map,
				  struct ri_ucq *send_cq, struct ri_ucq *recv_cq,
				  struct ri_usrq *srq, struct ri_uqp **out);
	/**
	 * Closes it, before ri_qp_ops::destroy. Completions that are in a CQ already stay there.
	 * - Results: none. Clause: [RI 11.2.1].
	 */
	void (*qp_close)(struct ri_uqp *qp);
	/**
	 * Opens the user half of a shared receive queue. @p map is that of ri_srq_ops::create. Required with
	 * ri_rnic_attr::srq.
	 * - Results: RI_ERR_RESOURCES. Clause: [RI 6].
	 */
	enum ri_status (*srq_open)(struct ri_urnic *rnic, const struct ri_map *map,
				   struct ri_usrq **out);
	/**
	 * Closes it, before ri_srq_ops::destroy. Required with ri_rnic_attr::srq.
	 * - Results: none. Clause: [RI 6].
	 */
	void (*srq_close)(struct ri_usrq *srq);
	/**
	 * Follows a resize by ri_srq_ops::modify with its map. Receives that are posted stay posted; fast entries
	 * may run meanwhile. Required with ri_rnic_attr::srq_resizable.
	 * - Results: RI_ERR_RESOURCES. Clause: [RI 10.16].
	 */
	enum ri_status (*srq_remap)(struct ri_usrq *srq, const struct ri_map *map);
	/**
	 * Follows ri_qp_ops::resize; @p real and @p map are its outputs. Requests and receives that are posted
	 * stay posted; fast entries may run meanwhile. Required with ri_rnic_attr::wq_resizable.
	 * - Results: RI_ERR_RESOURCES. Clause: [RI 10.16].
	 */
	enum ri_status (*qp_remap)(struct ri_uqp *qp, const struct ri_qp_attr *real,
				   const struct ri_map *map);
	/**
	 * Counts into @p counters from now on, until ri_qp_ops::destroy has returned. Called once, before the first
	 * fast entry of the queue pair. Optional: a provider that counts nothing leaves it out. It counts no more than
	 * RI_COUNTERS kinds, and nothing behind ri_qp_counters::size.
	 * - Results: none. Clause: [RI 11.2.1].
	 */
	void (*qp_count)(struct ri_uqp *qp, struct ri_qp_counters *counters);
	/**
	 * Counts into @p counters from now on, until ri_cq_ops::destroy has returned. As ri_user_ops::qp_count.
	 * - Results: none. Clause: [RI 11.2.1].
	 */
	void (*cq_count)(struct ri_ucq *cq, struct ri_cq_counters *counters);
	/**
	 * Counts into @p counters from now on, until ri_srq_ops::destroy has returned: the receives that are posted. As
	 * ri_user_ops::qp_count.
	 * - Results: none. Clause: [RI 11.2.1].
	 */
	void (*srq_count)(struct ri_usrq *srq, struct ri_qp_counters *counters);
};

/** The fast path [RI 2.3]. @ref rnicpi_fast_calling holds for every entry. */
struct ri_fast_ops {
	uint32_t size; /**< sizeof this struct as the provider knows it. */

	/**
	 * Posts one request to a send queue. In IDLE and CONNECTING it is kept, in ERROR it is flushed [RI 4.1.1].
	 * A slot is free again when its completion, or that of a later request of the queue, has been polled.
	 * - Results: RI_ERR_UNSUPPORTED: the opcode is unknown, or the queue pair may not use it; RI_ERR_LIMIT: too
	 *   many segments for the opcode, or too long a list; RI_ERR_QUEUE_FULL: no slot is free; RI_ERR_INVALID_STATE:
	 *   in IDLE or CONNECTING, with RI_REFUSES_UNCONNECTED_REQUESTS.
	 * - Clause: [RI 3.1], [RI 3.2.7], [RI 10.46].
	 */
	enum ri_status (*post_sq)(struct ri_uqp *qp, const struct ri_wr *wr);
	/**
	 * Posts one receive to a receive queue, in every state as ri_fast_ops::post_sq does.
	 * - Results: RI_ERR_INVALID_STATE: the queue pair uses an SRQ; RI_ERR_LIMIT: too many segments;
	 *   RI_ERR_QUEUE_FULL: no slot is free.
	 * - Clause: [RI 3.1], [RI 3.2.7], [RI 6.1].
	 */
	enum ri_status (*post_rq)(struct ri_uqp *qp, const struct ri_recv_wr *wr);
	/**
	 * Posts one receive to an SRQ. Its slot is free again when its completion has been polled. Required with
	 * ri_rnic_attr::srq.
	 * - Results: RI_ERR_LIMIT: too many segments; RI_ERR_QUEUE_FULL: no slot is free.
	 * - Clause: [RI 6.1], [RI 6.3].
	 */
	enum ri_status (*post_srq)(struct ri_usrq *srq, const struct ri_recv_wr *wr);
	/**
	 * Starts the requests of a send queue that RI_WR_COALESCE has kept back.
	 * - Results: none. Clause: [RI 2.3.2].
	 */
	void (*flush_sq)(struct ri_uqp *qp);
	/**
	 * Takes up to @p n completions, oldest first, into @p wc. If there is none, a software provider first makes
	 * progress for the whole adapter, once, without waiting for anything.
	 * - Results: how many were taken, 0 to @p n. Clause: [RI 2.3.1].
	 */
	uint32_t (*poll_cq)(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n);
	/**
	 * Counts the completions that are present. Makes no progress.
	 * - Results: the count, 0 to the size of the queue. Clause: [RI 2.3.2].
	 */
	uint32_t (*cq_depth)(struct ri_ucq *cq);
	/**
	 * Arms the queue: one ri_upcalls::cq_event comes when the condition of @p how holds. It replaces an earlier
	 * arming. @p count, at least 1, is used with RI_ARM_COUNT only. No completion
	 * that comes during the call is missed. Without cq_notify_flag, cq_arm_count or solicited_works the
	 * upcall may come early, never late.
	 * - Results: RI_ERR_NOT_EMPTY: the condition holds already, nothing is armed and no upcall comes;
	 *   RI_ERR_INVALID_ARG: @p how is no value of ri_arm that the provider knows, or @p count is 0 or above 2^24 - 1.
	 * - Clause: [RI 7.1] to [RI 7.5].
	 */
	enum ri_status (*arm_cq)(struct ri_ucq *cq, enum ri_arm how, uint32_t count);
	/**
	 * Runs the engine for at most about @p budget messages. NULL without ri_rnic_attr::software.
	 * - Results: how much was done, in the engine's own measure; 0 = nothing was to do. Clause: [RI 2.3.2].
	 */
	uint32_t (*progress)(struct ri_urnic *rnic, uint32_t budget);
	/**
	 * Makes the calling thread the leader, which sleeps for the engine. The leader sleeps on *@p fd
	 * (level-triggered) and calls ri_fast_ops::progress when it is readable; -1 = the engine needs no sleeper.
	 * While there is a leader, the engine uses no other thread. NULL without ri_rnic_attr::software.
	 * - Results: true: this thread leads; false: another one does, and *@p fd is not set. Clause: [RI 2.3.2].
	 */
	bool (*leader_enter)(struct ri_urnic *rnic, int *fd);
	/**
	 * Ends the leadership of the calling thread; within 1 ms the service thread drives the engine, unless there is
	 * a new leader. NULL without ri_rnic_attr::software.
	 * - Results: none. Clause: [RI 2.3.2].
	 */
	void (*leader_leave)(struct ri_urnic *rnic);
	/**
	 * Says whether a spinning thread would keep its peer from this processor. It is cheap. NULL = never so.
	 * - Results: true: spinning is pointless; a hint. Clause: [RI 2.3.2].
	 */
	bool (*spin_futile)(struct ri_urnic *rnic);
};

/** @} */
/** @} */

#ifdef __cplusplus
}
#endif

#endif /* RNICPI_FAST_H */
