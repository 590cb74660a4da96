/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * What the files of the production host table share. Others call kal_host_default() of kal_call.h; tests create hosts
 * of their own with kal_host_create().
 */
#ifndef KAL_HOST_H
#define KAL_HOST_H

#include <pthread.h>
#include <stdatomic.h>

#include "kal_call.h"
#include "kal_capture.h"
#include "kal_fds.h"
#include "kal_random.h"
#include "kal_spin.h"
#include "kal_timers.h"

/* Owner of memory in this process, for ri_host::mem_attach and ri_owner::mem_owner. */
#define KAL_MEM_OWNER_SELF 0

#define KAL_HOST_BATCH 64 /* events taken from the kernel at once */
#define KAL_HOST_STOPS 16 /* watches stopped while the service thread slept that are remembered */

/* System calls that a sandbox may refuse at any time, and that are done without then. */
enum kal_refused {
	KAL_REFUSED_EPOLL_WAIT = 0,
	KAL_REFUSED_CLOSED, /* the same: not by a sandbox, but since the program has closed the descriptor */
	KAL_REFUSED_EPOLL_CTL,
	KAL_REFUSED_TIMER,
	KAL_REFUSED_POLL,
	KAL_REFUSED_FUTEX,
	KAL_REFUSED_COUNT
};

struct kal_host {
	struct ri_host table;
	pthread_t thread;
	struct kal_fd epoll, timer, poke;
	/*
	 * Keeps a thread asleep although the program closes all descriptors, as daemons do. A thread that
	 * sleeps for long sleeps in ppoll on `guard`, too: the sleeping ppoll keeps that end open, and it
	 * hangs up when the program closes the other end, `guard_end`.
	 */
	struct kal_fd guard, guard_end;
	atomic_bool guard_lost; /* the pair could not be made, or the program has closed an end */
	atomic_bool lost; /* the program has closed `epoll`: none of the numbers is used again */
	uint64_t mark;    /* of what `epoll` returns; ri_set.h */
	bool log_wanted;
	atomic_bool dead; /* in a forked child: the host must not be used */
	struct kal_random random;
	struct kal_spin spin;        /* service thread */
	struct kal_capture *capture; /* NULL: nobody wants one */

	pthread_mutex_t lock; /* guards everything below; never held across a system call */
	pthread_cond_t idle;  /* `running` changed */
	bool quit;
	bool asleep;       /* the service thread is in epoll_wait, or about to be */
	bool poked;        /* a thread is about to wake it */
	unsigned stoppers; /* threads that wait for `running` to change */
	void *running;     /* timer, task or watch whose function runs now */
	struct kal_timers timers;
	bool refused[KAL_REFUSED_COUNT]; /* and said so in the log */
	uint64_t armed; /* the deadline that the timer descriptor has, or is about to get */
	struct ri_task *first_task, *last_task;
	unsigned tasks;

	/* Watches that are ready and not called yet. A watch that is stopped is removed from them. */
	struct ri_watch *batch[KAL_HOST_BATCH];
	uint32_t batch_events[KAL_HOST_BATCH];
	unsigned batch_count;
	struct ri_watch *stopped[KAL_HOST_STOPS];
	unsigned stops; /* stopped since the service thread went to sleep; may exceed the array */

	pthread_mutex_t
		watch_lock; /* keeps ri_watch::events and the kernel's mask equal; held across epoll_ctl */
	atomic_uint arming,
		arm_again; /* role of setting the timer descriptor, and its retry flag; kal_host_arm() */
};

/* A host with a service thread. NULL: no resources. */
struct kal_host *kal_host_create(void);
/* Destroy it. No timer, task or watch may be in use. */
void kal_host_destroy(struct kal_host *host);

/* A sleep that takes longer goes on in ppoll with the guard, ns: so one that is short costs no more. */
#define KAL_HOST_QUIET 1000000000u

/* kal_host_here.c: the table that the calling thread was given, or NULL. */
const struct ri_host *kal_host_own(void);

/* Register the handler for forks, which kal_host_default() does too, without making the host. */
void kal_host_watch_forks(void);

/* kal_host_loop.c */
/* Start a service thread. False: no thread could be created. */
bool kal_host_start_thread(struct kal_host *host);
void kal_host_poke(struct kal_host *host);
void kal_host_timer_start(void *self, struct ri_timer *timer, uint64_t deadline);
void kal_host_timer_stop(void *self, struct ri_timer *timer);
void kal_host_task_run(void *self, struct ri_task *task);
void kal_host_task_stop(void *self, struct ri_task *task);

/* kal_host_watch.c */
enum ri_status kal_host_watch_start(void *self, struct ri_watch *watch) RI_MUST_CHECK;
void kal_host_watch_change(void *self, struct ri_watch *watch, uint32_t events);
void kal_host_watch_stop(void *self, struct ri_watch *watch);
/* For the service thread: sleep, then call what is ready. The lock is held before and after. */
void kal_host_watch_round(struct kal_host *host, bool sleep);

/* For both, with the lock held: before and after a function runs; wait until an item is not running. */
void kal_host_enter(struct kal_host *host, void *item);
void kal_host_leave(struct kal_host *host);
bool kal_host_wait_for(struct kal_host *host, const void *item, struct ri_host_link *link);
bool kal_host_on_service_thread(const struct kal_host *host);
void kal_host_arm(struct kal_host *host);

/* kal_host_park.c */
enum ri_status kal_host_park(void *self, struct ri_parker *parker, const int *fds, uint32_t nfds,
			     uint64_t deadline) RI_MUST_CHECK;
void kal_host_wake(void *self, struct ri_parker *parker);
void kal_host_parker_close(void *self, struct ri_parker *parker);

/* kal_host_mem.c */
enum ri_status kal_host_mem_attach(void *self, uint64_t owner, struct ri_mem *mem,
				   uint32_t access) RI_MUST_CHECK;
void kal_host_mem_detach(void *self, struct ri_mem *mem);
enum ri_status kal_host_mem_copy(void *self, struct ri_mem *mem, uint64_t offset, void *buf,
				 size_t len, bool write) RI_MUST_CHECK;

/* kal_host_capture.c */
/* Begin a capture if ITAPI_PCAP names a file; before the table is used. */
void kal_host_capture_begin(struct kal_host *host);
void kal_host_capture_end(struct kal_host *host);
void kal_host_capture_forked(struct kal_host *host);

/* kal_host_log.c */
void kal_host_log(void *self, enum ri_log_level level, const char *where, const char *text);
/* The host cannot exist, for want of `what`, perhaps because a sandbox refuses the system call: log that. False. */
bool kal_host_lacks(const struct kal_host *host, const char *what, int error);
/* A system call failed: log that once, with the consequence. Without the lock. */
void kal_host_refused(struct kal_host *host, enum kal_refused which, int error);
/* Write to what descriptor 2 is now, until the application sets a writer. */
void kal_host_log_begin(void);
/* In a forked child: no thread is inside the writer. */
void kal_host_log_forked(void);
/* Level chosen by ITAPI_LOG, RI_LOG_WARNING without a choice, or -1: nothing. */
int kal_host_log_level(void);

#endif /* KAL_HOST_H */
