/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/**
 * @file rnicpi_host.h
 * @brief The services that come from above: clock, timers, chance, descriptors, sleep, memory, log.
 *
 * Providers and access layers own no clock, no timer, no random source, no thread and no descriptor
 * loop. They receive this table. In production it is the real machine (kal/kal_host.c); a test may
 * hand in virtual time, a seeded source and one thread, and the whole stack repeats exactly.
 *
 * Timers, tasks and watches are structs of the caller ("intrusive"): starting one allocates nothing
 * and cannot fail for want of memory. The caller zeroes the struct, sets `fire` and `arg`, and keeps
 * it alive until it is stopped. Their functions run one at a time on the host's service thread.
 * A stop function, called on another thread, returns only when the function is not running and
 * will not run again; called on the service thread it takes effect at once.
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
 * @{
 */

/** No deadline. */
#define RI_NEVER UINT64_MAX

/** Private storage of the host inside the caller's structs. */
struct ri_host_link {
	void *p[4];    /**< Host's own. */
	uint64_t n[2]; /**< Host's own. */
};

/** A one-shot timer. */
struct ri_timer {
	void (*fire)(void *arg);  /**< Runs on the service thread. */
	void *arg;                /**< For @ref fire. */
	struct ri_host_link link; /**< Zero before first use. */
};

/** Something to run once, soon, on the service thread. Queued at most once at a time. */
struct ri_task {
	void (*fire)(void *arg);  /**< Runs on the service thread, no lock held. */
	void *arg;                /**< For @ref fire. */
	struct ri_host_link link; /**< Zero before first use. */
};

/** Conditions of a watched descriptor (level-triggered). */
enum ri_watch_events {
	RI_WATCH_IN = 1u << 0,  /**< Readable, or at its end. */
	RI_WATCH_OUT = 1u << 1, /**< Writable. */
	RI_WATCH_ERR = 1u << 2  /**< Reported only: error or hang-up. */
};

/** A watched descriptor. */
struct ri_watch {
	void (*fire)(void *arg, uint32_t events); /**< Runs on the service thread. */
	void *arg;                                /**< For @ref fire. */
	int fd;                                   /**< Descriptor; stays the caller's. */
	uint32_t events;                          /**< RI_WATCH_IN, RI_WATCH_OUT; 0 = paused. */
	struct ri_host_link link;                 /**< Zero before first use. */
};

/** A place where one thread sleeps. Zeroed before first use, closed by ri_host::parker_close. */
struct ri_parker {
	uint32_t word;            /**< Host's own: an atomic word. */
	int fd;                   /**< Host's own: wakes a sleeper on descriptors. */
	struct ri_host_link link; /**< Host's own. */
};

/** Levels of ri_host::log. */
enum ri_log_level {
	RI_LOG_ERROR = 0, /**< Something is lost. */
	RI_LOG_WARNING,   /**< Something unexpected that was dealt with. */
	RI_LOG_INFO,      /**< Life cycle of adapters and connections. */
	RI_LOG_DEBUG      /**< Everything else. */
};

/** Registered memory of an owner, reached by the engine. */
struct ri_mem {
	uint8_t *base;   /**< Where the first octet is in this address space; NULL: use copy. */
	uint64_t addr;   /**< Address in the owner's address space. */
	uint64_t length; /**< Octets. */
	struct ri_host_link link; /**< Host's own. */
};

/** The host table [RI 11.3]. Each entry gets ri_host::self first. All entries may be called by any thread. */
struct ri_host {
	uint32_t size;      /**< sizeof this struct as the host knows it. */
	uint32_t log_level; /**< Highest enum ri_log_level wanted; test it before formatting. */
	void *self;         /**< First argument of every entry. */

	/** Monotonic time in nanoseconds. */
	uint64_t (*now)(void *self);
	/** Fill with octets that cannot be guessed (or, in a test, that repeat). */
	void (*random)(void *self, void *buf, size_t len);

	/** Start or restart a timer. @p deadline in ns of now(). Resolution about 50 us. */
	void (*timer_start)(void *self, struct ri_timer *timer, uint64_t deadline);
	/** Stop a timer; see the rule in the file comment. */
	void (*timer_stop)(void *self, struct ri_timer *timer);
	/** Queue a task; does nothing if it is queued already. */
	void (*task_run)(void *self, struct ri_task *task);
	/** Take a task back; see the rule in the file comment. */
	void (*task_stop)(void *self, struct ri_task *task);
	/** Begin to watch. RI_ERR_RESOURCES if the kernel refuses. */
	enum ri_status (*watch_start)(void *self, struct ri_watch *watch);
	/** Change the wanted conditions to @p events; cheap, takes effect at once. */
	void (*watch_change)(void *self, struct ri_watch *watch, uint32_t events);
	/** End a watch before its descriptor is closed; see the rule in the file comment. */
	void (*watch_stop)(void *self, struct ri_watch *watch);

	/**
	 * Sleep until woken, until one of @p nfds descriptors is readable, or until @p deadline.
	 * RI_SUCCESS: woken or readable. RI_ERR_TIMEOUT, RI_ERR_INTERRUPTED (a signal handler ran).
	 * A wake that came before the call is not lost: the call returns at once and consumes it.
	 */
	enum ri_status (*park)(void *self, struct ri_parker *parker, const int *fds, uint32_t nfds,
			       uint64_t deadline);
	/** Wake the thread parked there, or the next one to park. No system call if none sleeps. */
	void (*wake)(void *self, struct ri_parker *parker);
	/** Release what a parker holds; nobody may be parked on it. */
	void (*parker_close)(void *self, struct ri_parker *parker);

	/** One line for people; no newline. @p where names the object, such as "iwarp qp 17". */
	void (*log)(void *self, enum ri_log_level level, const char *where, const char *text);

	/**
	 * Make a range of an owner's memory reachable. @p owner as in ri_owner. Checks that the range
	 * is mapped with the local rights in @p access. RI_ERR_ADDRESS, RI_ERR_ACCESS, RI_ERR_RESOURCES.
	 */
	enum ri_status (*mem_attach)(void *self, uint64_t owner, struct ri_mem *mem,
				     uint32_t access);
	/** Give it back. After return nothing of the host touches the range. */
	void (*mem_detach)(void *self, struct ri_mem *mem);
	/** Copy out of (@p write false) or into memory without a base. RI_ERR_FATAL if the owner died. */
	enum ri_status (*mem_copy)(void *self, struct ri_mem *mem, uint64_t offset, void *buf,
				   size_t len, bool write);
};

/** @} */
/** @} */

#ifdef __cplusplus
}
#endif

#endif /* RNICPI_HOST_H */
