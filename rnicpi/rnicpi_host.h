/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/**
 * @file rnicpi_host.h
 * @brief Services for providers: clock, timers, random numbers, descriptors, sleep, memory, log.
 *
 * A provider or an access layer has no clock, timer, random source, thread or descriptor loop of its own. It
 * receives this table. In production the table represents the real machine (kal/host/kal_host.c). A test may
 * pass one with virtual time, a seeded random source and one thread, and then a run repeats exactly [RI 11.3].
 */
#ifndef RNICPI_HOST_H
#define RNICPI_HOST_H

#include "rnicpi_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @addtogroup rnicpi
 * @{
 * @defgroup rnicpi_host Host services
 *
 * @section rnicpi_host_calling Calls of the host
 *
 * These rules hold for every entry of ri_host [RI 11.3].
 * - Threads: any, several at once, on one item too unless its page says otherwise. Upcalls and the
 *   functions of timers, tasks and watches may call every entry.
 * - Blocks: only ri_host::park, ri_host::parker_close and the stop functions, and ri_host::log for the
 *   writer of the application. No entry is called with a lock that such a function takes.
 * - Memory: timers, tasks, watches and parkers are members of the caller's structs. To start one allocates
 *   nothing and cannot fail for want of memory, except a watch. The caller zeroes the struct, sets `fire`,
 *   `arg` and `fd`, and keeps it until it is stopped.
 * - The service thread: it runs the functions of timers, tasks and watches, one at a time, with no lock
 *   owned. A function may start, stop or free its own item.
 * - Stop: a stop function that another thread calls returns when the function of the item is not running and
 *   will not run again. On the service thread it returns at once; the function is not called again. To stop
 *   what is not started does nothing.
 * - Child of a fork: entries that return a status return RI_ERR_FATAL, except ri_host::mem_copy; the others do
 *   nothing, except ri_host::now, ri_host::random and ri_host::mem_detach.
 * @{
 */

/** A deadline that never comes. */
#define RI_NEVER UINT64_MAX

/** Storage of the host inside the caller's structs. */
struct ri_host_link {
	void *p[4];    /**< The host's own. */
	uint64_t n[2]; /**< The host's own. */
};

/** A one-shot timer. */
struct ri_timer {
	void (*fire)(void *arg);  /**< Runs on the service thread. */
	void *arg;                /**< For @ref fire. */
	struct ri_host_link link; /**< Zero before first use. */
};

/** A function to run once, soon, on the service thread. Queued at most once at a time. */
struct ri_task {
	void (*fire)(void *arg);  /**< Runs on the service thread. */
	void *arg;                /**< For @ref fire. */
	struct ri_host_link link; /**< Zero before first use. */
};

/** Conditions of a watched descriptor, level-triggered; bits. */
enum ri_watch_events {
	RI_WATCH_IN = 1u << 0,  /**< Readable, or at its end. */
	RI_WATCH_OUT = 1u << 1, /**< Writable. */
	RI_WATCH_ERR = 1u << 2  /**< Reported only: error or hang-up. */
};

/** A watched descriptor. */
struct ri_watch {
	void (*fire)(void *arg, uint32_t events); /**< Runs on the service thread. */
	void *arg;                                /**< For @ref fire. */
	int fd;                                   /**< Descriptor; it stays the caller's. */
	uint32_t events;                          /**< RI_WATCH_IN, RI_WATCH_OUT; 0 = paused. */
	struct ri_host_link link;                 /**< Zero before first use. */
};

/** A place where one thread sleeps. Zero before first use; ri_host::parker_close ends it. */
struct ri_parker {
	uint32_t word;            /**< The host's own: an atomic word. */
	int fd;                   /**< The host's own: wakes a thread that sleeps on descriptors. */
	struct ri_host_link link; /**< The host's own. */
};

/** Levels of ri_host::log. */
enum ri_log_level {
	RI_LOG_ERROR = 0, /**< Work or an object is lost. */
	RI_LOG_WARNING,   /**< An unexpected condition that was handled. */
	RI_LOG_INFO,      /**< Life cycle of adapters and connections. */
	RI_LOG_DEBUG      /**< Everything else. */
};

/** Registered memory of an owner, which the engine reads and writes. */
struct ri_mem {
	uint8_t *base;   /**< The first byte in this address space; NULL: use ri_host::mem_copy. */
	uint64_t addr;   /**< Address in the owner's address space. */
	uint64_t length; /**< Bytes. */
	struct ri_host_link link; /**< The host's own. */
};

/** What a capture shows; ri_captured::kind [RI 11.3.7]. */
enum ri_captured_kind {
	RI_CAPTURED_OCTETS = 0, /**< Octets of a TCP connection, in their order. */
	RI_CAPTURED_FIN,        /**< No more of them follow. */
	RI_CAPTURED_RESET,      /**< The connection is reset, or its octets are lost. */
	RI_CAPTURED_NOTE,       /**< Only ri_captured::text, about a TCP connection. */
	RI_CAPTURED_ADAPTER, /**< The calling thread opens the adapter; comes before all else of it. */
	RI_CAPTURED_PACKET /**< A whole IP packet; the addresses and ports are not used. */
};

/** Something that went over the wire, or an event there, for ri_host::capture. All of it is borrowed. */
struct ri_captured {
	uint32_t kind; /**< enum ri_captured_kind. */
	bool received; /**< By the adapter that captures; else it has sent it, or done it. */
	/** Received, and its sender captures in this process, too: a capture of the whole process has it already. */
	bool twin;
	const char *adapter; /**< Name of the adapter. */
	const void *
		which; /**< Distinguishes adapters; NULL: what the kAL itself sends and receives. */
	const char *text;      /**< A sentence about it for people, or NULL. */
	struct ri_addr local;  /**< IP address of this end of the connection. */
	struct ri_addr remote; /**< IP address of the other end. */
	uint16_t local_port;   /**< TCP port of this end, in network order. */
	uint16_t remote_port;  /**< TCP port of the other end, in network order. */
	const void *octets;    /**< Octets, or the packet; NULL with @ref length 0. */
	uint64_t length;       /**< Octets there. */
};

/** A UDP port of an address that the processes of one user share [RI 11.3.8]. Zero before first use. */
struct ri_share {
	struct ri_addr addr; /**< IP address of this host. */
	uint16_t port;       /**< UDP port, in host order. */
	uint16_t reserved;   /**< 0. */
	uint32_t scope;      /**< IPv6 address that is local to a link: index of the interface. */
	int fd; /**< Set: the bound socket of this process; it is the caller's, and to be closed. */
	uint32_t slot; /**< Set: the number of this process, the same at all its addresses. */
	struct ri_host_link link; /**< The host's own. */
};

/** The host table [RI 11.3]. Each entry gets ri_host::self first. @ref rnicpi_host_calling holds for every entry. */
struct ri_host {
	uint32_t size;      /**< sizeof this struct as the host knows it. */
	uint32_t log_level; /**< Highest enum ri_log_level wanted; test it before formatting. */
	void *self;         /**< First argument of every entry. */

	/**
	 * Tells the monotonic time.
	 * - Results: nanoseconds since some fixed moment. Clause: [RI 11.3.1].
	 */
	uint64_t (*now)(void *self);
	/**
	 * Fills @p len bytes at @p buf with random numbers that cannot be predicted (in a test, that repeat).
	 * - Results: none; it does not fail. Clause: [RI 11.3.1].
	 */
	void (*random)(void *self, void *buf, size_t len);

	/**
	 * Starts a timer, or moves a started one to another time. @p deadline is in ns of ri_host::now; one in the
	 * past fires at once, RI_NEVER stops the timer without waiting for its function. Resolution about 50 us.
	 * - Results: none; it does not fail. Clause: [RI 11.3.2].
	 */
	void (*timer_start)(void *self, struct ri_timer *timer, uint64_t deadline);
	/**
	 * Stops a timer. Blocks while its function runs on the service thread.
	 * - Results: none. Clause: [RI 11.3.2].
	 */
	void (*timer_stop)(void *self, struct ri_timer *timer);
	/**
	 * Queues a task. Does nothing if it is queued already; a task that runs can be queued again.
	 * - Results: none; it does not fail. Clause: [RI 11.3.2].
	 */
	void (*task_run)(void *self, struct ri_task *task);
	/**
	 * Takes a task back. Blocks while its function runs on the service thread.
	 * - Results: none. Clause: [RI 11.3.2].
	 */
	void (*task_stop)(void *self, struct ri_task *task);
	/**
	 * Begins to watch a descriptor for ri_watch::events. The descriptor stays the caller's and open until
	 * ri_host::watch_stop returned.
	 * - Results: RI_ERR_RESOURCES: the kernel refuses, or another thread is just stopping the watch;
	 *   RI_ERR_FATAL: child of a fork. Clause: [RI 11.3.2].
	 */
	enum ri_status (*watch_start)(void *self, struct ri_watch *watch);
	/**
	 * Changes the wanted conditions of a started watch to @p events, at once; 0 pauses it.
	 * - Results: none; it does not fail. Clause: [RI 11.3.2].
	 */
	void (*watch_change)(void *self, struct ri_watch *watch, uint32_t events);
	/**
	 * Ends a watch, before its descriptor is closed. Blocks while its function runs on the service thread.
	 * - Results: none. Clause: [RI 11.3.2].
	 */
	void (*watch_stop)(void *self, struct ri_watch *watch);

	/**
	 * Puts the calling thread to sleep until it is woken, until one of the @p nfds descriptors at @p fds (at
	 * most 16) is readable, or until @p deadline (ns of ri_host::now, or RI_NEVER). A wake that came before the
	 * call is not lost: the call returns at once and consumes it. One thread at a time parks on a parker. The call is
	 * a cancellation point if the thread's state allows that; the parker can be used again afterwards.
	 * - Results: RI_SUCCESS: woken, or a descriptor is readable; RI_ERR_TIMEOUT: the deadline has passed;
	 *   RI_ERR_INTERRUPTED: a signal handler without SA_RESTART may have run; RI_ERR_INVALID_ARG: @p nfds is too
	 *   large; RI_ERR_FATAL: child of a fork. Clause: [RI 11.3.1].
	 */
	enum ri_status (*park)(void *self, struct ri_parker *parker, const int *fds, uint32_t nfds,
			       uint64_t deadline);
	/**
	 * Wakes the thread that is parked there, or the next one to park. Makes no system call if none sleeps.
	 * - Results: none; it does not fail. Clause: [RI 11.3.1].
	 */
	void (*wake)(void *self, struct ri_parker *parker);
	/**
	 * Releases what a parker holds. No thread is parked on it, and no wake follows; the call waits for wakes that
	 * are under way. The parker can be used again.
	 * - Results: none. Clause: [RI 11.3.1].
	 */
	void (*parker_close)(void *self, struct ri_parker *parker);

	/**
	 * Writes one line to the log. @p where names the object, such as "iwarp qp 17"; @p text has no newline. Both
	 * are borrowed. Lines above ri_host::log_level are dropped.
	 * - Results: none. Clause: [RI 11.3.1].
	 */
	void (*log)(void *self, enum ri_log_level level, const char *where, const char *text);

	/**
	 * Makes @p mem, of which the caller has set addr and length, reachable, and sets its base. @p owner is
	 * ri_owner::mem_owner. It checks that the range is mapped with the rights in @p access (RI_ACCESS_* bits), and
	 * makes all of its pages present, which takes the longer the larger it is; later they may be lost [RI 5.9]. The
	 * caller keeps @p mem until ri_host::mem_detach, and owns no lock.
	 * - Results: RI_ERR_ADDRESS: the range wraps, is not mapped, has a page without memory, or @p owner is
	 *   unknown; RI_ERR_ACCESS: mapped without a right, or memory of a device; RI_ERR_RESOURCES: memory ran out;
	 *   RI_ERR_FATAL: child of a fork. Clause: [RI 11.3.1], [RI 11.3.3].
	 */
	enum ri_status (*mem_attach)(void *self, uint64_t owner, struct ri_mem *mem,
				     uint32_t access);
	/**
	 * Gives memory back. After it returned the host does not touch the range.
	 * - Results: none. Clause: [RI 11.3.1].
	 */
	void (*mem_detach)(void *self, struct ri_mem *mem);
	/**
	 * Copies @p len bytes between @p buf and attached memory, @p offset bytes from its start: into the memory with
	 * @p write, else out of it. For memory without a base.
	 * - Results: RI_ERR_ADDRESS: outside of the memory, or it is not attached; RI_ERR_FATAL: the owner has died.
	 *   Clause: [RI 11.3.1].
	 */
	enum ri_status (*mem_copy)(void *self, struct ri_mem *mem, uint64_t offset, void *buf,
				   size_t len, bool write);
	/**
	 * Says that the calling thread waits for another one, which is about to do its part: gives the processor away, for the
	 * longer the larger @p round is, the number of calls before in this wait. The caller owns no lock that the other needs.
	 * Since 1.7: a provider that also serves older hosts looks at ri_host::size first.
	 * - Results: none. Clause: [RI 11.3.6].
	 */
	void (*relax)(void *self, uint32_t round);
	/**
	 * Adds what went over the wire to a capture. NULL if nobody wants one: a provider looks once, when an adapter is opened.
	 * The host copies what it keeps, and drops what it cannot write in time. Since 1.7: a provider that also serves older
	 * hosts looks at ri_host::size first.
	 * - Results: none; it does not fail. Clause: [RI 11.3.7].
	 */
	void (*capture)(void *self, const struct ri_captured *what);
	/**
	 * Shares UDP port 4791 of an address with other processes of the user. The caller has set ri_share::addr, port and scope. The kernel
	 * gives a packet of RoCE to the process whose slot is in bits 23 to 18 of the queue pair number, or in the upper 6 bits of the
	 * communication id that it chose; a request of connection management to the one that has named its service. The sockets live as
	 * long as any process has the share. May wait for the daemon for 5 s. NULL: nobody shares here. Since 1.7: a provider that also
	 * serves older hosts looks at ri_host::size first.
	 * - Results: RI_ERR_UNSUPPORTED: there is no daemon that shares; RI_ERR_IN_USE: another user, or a socket that is not shared, has
	 *   the port; RI_ERR_RESOURCES: all slots are taken, or memory ran out; RI_ERR_PERMISSION: the daemon forbids it;
	 *   RI_ERR_FATAL: child of a fork. Clause: [RI 11.3.8].
	 */
	enum ri_status (*share)(void *self, struct ri_share *share);
	/**
	 * Gives the share back, after ri_share::fd was closed. What the process has named is forgotten.
	 * - Results: none. Clause: [RI 11.3.8].
	 */
	void (*share_over)(void *self, struct ri_share *share);
	/**
	 * Names a service of this process, by the lower half of its id, or with @p over none any more. May wait for the daemon for 5 s, if
	 * @p over is not set.
	 * - Results: RI_ERR_IN_USE: another process has it; RI_ERR_RESOURCES: too many are named, or no daemon answers. Clause: [RI 11.3.8].
	 */
	enum ri_status (*share_service)(void *self, struct ri_share *share, uint32_t service,
					bool over);
};

/** @} */
/** @} */

#ifdef __cplusplus
}
#endif

#endif /* RNICPI_HOST_H */
