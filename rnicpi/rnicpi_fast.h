/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/**
 * @file rnicpi_fast.h
 * @brief The user half of a provider (uVP): post, poll, arm, progress.
 *
 * The uAL calls these entries directly, in the application's process; nothing lies between. The
 * rings behind them belong to the provider. For a software provider they are *queue pages* shared
 * with its privileged half: entries of fixed size, indices, no pointers.
 *
 * Rules for every entry of ri_fast_ops:
 * - It never blocks, allocates or waits for a lock that can be held across a system call; the only
 *   system call it makes is one that moves data (or yields the processor).
 * - With ri_rnic_attr::thread_safe_queues any threads may call it on one object at a time;
 *   otherwise the caller serialises calls on one object.
 * - It may run an engine inline, so upcalls (ri_upcalls::cq_event, ri_upcalls::async_event) for any object can
 *   come inside it. The caller therefore holds no lock that its upcall handlers take.
 * - Arguments are trusted (the uAL has checked handles, flags and counts); keys, bounds, rights and
 *   protection domains are checked by the provider when the request runs, on its own copy of the
 *   request, and reported in the completion.
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
 * @{
 */

struct ri_urnic;
struct ri_ucq;
struct ri_uqp;
struct ri_usrq;

/**
 * What the privileged half tells its user half about one object. Flat: it crosses the kAL boundary.
 * In one process `addr` is where the queue pages are; across processes `fd`, `offset` and `length`
 * name them. The words are the provider's own.
 */
struct ri_map {
	uint64_t addr;     /**< Address in this process, 0 if mapped by descriptor. */
	uint64_t length;   /**< Octets. */
	uint64_t offset;   /**< In the file behind @ref fd. */
	int32_t fd;        /**< Memory descriptor, or -1. */
	uint32_t shared;   /**< 1: the halves are in different processes. */
	uint64_t words[6]; /**< Provider's own. */
};

/** When ri_fast_ops::arm_cq fires. One shot; a later call replaces an earlier one. */
enum ri_arm {
	RI_ARM_NONE = 0,  /**< Disarm. */
	RI_ARM_NEXT,      /**< An entry is present. */
	RI_ARM_SOLICITED, /**< A solicited entry (ri_wc_flag) is present. */
	RI_ARM_COUNT      /**< At least `count` entries are present. */
};

/** Makes and unmakes user halves; control path, may block and allocate. */
struct ri_user_ops {
	uint32_t size; /**< sizeof this struct as the provider knows it. */

	/** Open the user half of an RNIC. @p host is the process's own table. */
	enum ri_status (*rnic_open)(const struct ri_host *host, const struct ri_map *map,
				    struct ri_urnic **out);
	/** Close it; all its objects are closed. */
	void (*rnic_close)(struct ri_urnic *rnic);
	/** Open the user half of a completion queue. */
	enum ri_status (*cq_open)(struct ri_urnic *rnic, const struct ri_map *map,
				  struct ri_ucq **out);
	/** Follow a resize: entries present move along, none is lost. Required with cq_resizable. */
	enum ri_status (*cq_remap)(struct ri_ucq *cq, const struct ri_map *map);
	/** Close it. */
	void (*cq_close)(struct ri_ucq *cq);
	/** Open the user half of a queue pair; its queues are @p send_cq, @p recv_cq, @p srq (or NULL). */
	enum ri_status (*qp_open)(struct ri_urnic *rnic, const struct ri_map *map,
				  struct ri_ucq *send_cq, struct ri_ucq *recv_cq,
				  struct ri_usrq *srq, struct ri_uqp **out);
	/** Close it, before the queue pair is destroyed. Completions already in a CQ stay there. */
	void (*qp_close)(struct ri_uqp *qp);
	/** Open the user half of a shared receive queue. Required with srq. */
	enum ri_status (*srq_open)(struct ri_urnic *rnic, const struct ri_map *map,
				   struct ri_usrq **out);
	/** Close it. */
	void (*srq_close)(struct ri_usrq *srq);
	/** Follow a resize: receives posted stay posted. Required with srq_resizable. */
	enum ri_status (*srq_remap)(struct ri_usrq *srq, const struct ri_map *map);
	/** Follow ri_qp_ops::resize: requests posted stay posted. Required with wq_resizable. */
	enum ri_status (*qp_remap)(struct ri_uqp *qp, const struct ri_qp_attr *real,
				   const struct ri_map *map);
};

/** The fast path proper [RI 2.3]. */
struct ri_fast_ops {
	uint32_t size; /**< sizeof this struct as the provider knows it. */

	/**
	 * Post one request to a send queue. Borrowed for the call.
	 * RI_ERR_QUEUE_FULL: no slot. A slot is free again when its completion, or that of a later
	 * request of the queue, has been polled. RI_ERR_LIMIT: too many segments for the opcode.
	 * In IDLE and CONNECTING the provider keeps requests; in ERROR it flushes them.
	 */
	enum ri_status (*post_sq)(struct ri_uqp *qp, const struct ri_wr *wr);
	/** Post one receive. As post_sq. RI_ERR_INVALID_STATE: the QP uses an SRQ. */
	enum ri_status (*post_rq)(struct ri_uqp *qp, const struct ri_recv_wr *wr);
	/** Post one receive to an SRQ; the slot is free when its completion has been polled. */
	enum ri_status (*post_srq)(struct ri_usrq *srq, const struct ri_recv_wr *wr);
	/** Let requests held back for batching go now. */
	void (*flush_sq)(struct ri_uqp *qp);
	/**
	 * Take up to @p n completions, oldest first; returns how many. On an empty queue a software
	 * provider first makes progress for the whole RNIC, once, without waiting for anything.
	 */
	uint32_t (*poll_cq)(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n);
	/** Completions present now. No progress is made. */
	uint32_t (*cq_depth)(struct ri_ucq *cq);
	/**
	 * Arm the queue: one ri_upcalls::cq_event when the condition of @p how becomes true.
	 * RI_ERR_NOT_EMPTY: it is true already; nothing is armed and no upcall will come.
	 * No entry that comes between this check and the arming is missed. @p count >= 1 counts only
	 * with RI_ARM_COUNT. A provider without cq_notify_flag, cq_arm_count or solicited_works may
	 * fire early, never late.
	 */
	enum ri_status (*arm_cq)(struct ri_ucq *cq, enum ri_arm how, uint32_t count);
	/**
	 * Run the engine: at most about @p budget messages. Returns how much was done, 0 = idle.
	 * NULL without ri_rnic_attr::software.
	 */
	uint32_t (*progress)(struct ri_urnic *rnic, uint32_t budget);
	/**
	 * Become the thread that sleeps for the engine. False: another thread is. True: *@p fd is what
	 * to sleep on (level-triggered; call progress when it is readable), or -1 if this engine needs
	 * nobody. While somebody leads, the engine uses no other thread. NULL without software.
	 */
	bool (*lead_enter)(struct ri_urnic *rnic, int *fd);
	/** Stop leading; the engine looks after itself within 1 ms. NULL without software. */
	void (*lead_leave)(struct ri_urnic *rnic);
	/**
	 * True if spinning is pointless because what is awaited must run on this processor.
	 * A hint, cheap. NULL = never.
	 */
	bool (*spin_futile)(struct ri_urnic *rnic);
};

/** @} */
/** @} */

#ifdef __cplusplus
}
#endif

#endif /* RNICPI_FAST_H */
