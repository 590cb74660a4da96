/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Which thread runs a software engine: a polling thread, a sleeping leader, or the host's service thread.
 *
 * A thread that polls runs the engine itself. A thread that waits sleeps on the engine's descriptor; the
 * first such thread is the leader. The service thread watches the descriptor only while no thread does
 * either. It watches again at most 1 ms after the last poll if threads had polled for less than 4 ms; after longer polling
 * that is half a millisecond more than an eighth of the time, but 5.5 ms at most; and at once when the engine requests a
 * run (requests held back while no thread polls). Requests held back leave within 1 ms. The table in vsw_leader.c is the
 * protocol; vsw_leader.pml is its model.
 *
 * A program may poll only for its own completion, and then wait for each message by reading its memory. While it reads,
 * no thread polls, so the next message waits for a tick. If VSW_LEADER_LATE ticks found such a message, the service
 * thread watches beside the threads that poll, on trial, for VSW_LEADER_TRIAL ns. If a message waits again soon after
 * that, the next trial is twice as long; if none does, it takes twice as many ticks until the next trial.
 */
#ifndef VSW_LEADER_H
#define VSW_LEADER_H

#include <stdatomic.h>

#include "rnicpi_host.h"
#include "vsw_lock.h"

enum vsw_leader_state {
	VSW_LEADER_NONE = 0, /* not a state */
	VSW_LEADER_WATCHING, /* the service thread watches the descriptor */
	VSW_LEADER_TICKING,  /* a thread polls; a timer, the tick, checks whether it still does */
	VSW_LEADER_PARKED,   /* a leader sleeps on the descriptor; no timer runs */
	VSW_LEADER_STATE_COUNT
};

/* Events of the table; the tests walk every pair of state and event. */
enum vsw_leader_event {
	VSW_LEADER_EV_POLLED = 0,    /* a thread polls while the service thread watches */
	VSW_LEADER_EV_ENTERED,       /* a leader is about to sleep */
	VSW_LEADER_EV_LEFT,          /* it is the leader no longer */
	VSW_LEADER_EV_TICK_BUSY,     /* the timer fired: a thread has polled since it fired last */
	VSW_LEADER_EV_TICK_IDLE,     /* the timer fired: no thread has */
	VSW_LEADER_EV_RUN_REQUESTED, /* the engine requested a run; on the service thread */
	VSW_LEADER_EV_COUNT
};

struct vsw_leader {
	const struct ri_host *host;
	struct ri_watch watch;
	struct ri_timer timer;
	struct ri_task task;
	uint32_t (*progress)(void *arg, uint32_t budget); /* the engine; on the service thread */
	void *arg;
	int fd;                    /* readable when the engine has work */
	atomic_uint state;         /* enum vsw_leader_state; only leader_step writes it */
	atomic_uint leader_inside; /* there is a leader */
	atomic_uint run_requested; /* the task is queued */
	atomic_uint timer_on;      /* the timer will fire */
	struct vsw_role
		role;       /* the right to change the watch and the timer to what the state says */
	bool watch_on;      /* the watch is not paused; protected by the role */
	atomic_ulong polls; /* counts calls of vsw_leader_polled, relaxed */
	unsigned long seen; /* value of `polls` when the tick fired last */
	_Atomic uint64_t
		since; /* when threads began to poll; ns of the host's clock, as the next three */
	_Atomic uint64_t tick;      /* length of the tick that was started last */
	_Atomic uint64_t postponed; /* when a poll last postponed it */
	_Atomic uint64_t looked;    /* when a poll last read the clock */
	atomic_bool polls_slow;     /* the polls between its last two looks took long */
	atomic_bool holds;      /* work was held back since a poll chose the length of the tick */
	atomic_bool postponing; /* a poll is about to start it */
	atomic_uint futile;     /* runs in a row that found the engine's role taken */
	/* Of the service thread: */
	unsigned late;        /* ticks that found a message, each soon after the one before */
	unsigned late_needed; /* a trial begins when `late` is as many */
	uint64_t late_at;     /* when the last one did, ns */
	uint64_t trial;       /* length of the last trial, ns */
	_Atomic uint64_t trial_end;
	atomic_bool beside; /* a trial: the service thread watches in TICKING, too */
};

/*
 * Length of a tick, ns: an eighth of the time for which threads have polled, within these limits. The maximum is longer
 * than the kernel's own tick of 4 ms, so setting it costs no interrupt. After a tick that has fired the next one is
 * short: so the service thread watches again at the latest one long and one short tick after the last poll.
 */
#define VSW_LEADER_TICK       500000
#define VSW_LEADER_TICK_MAX   5000000
#define VSW_LEADER_TICK_SHARE 8

/*
 * A poll postpones a tick when three fifths of it are over. Only every VSW_LEADER_CLOCK_POLLSth poll reads the clock;
 * but polls that send or receive much take long, so each poll reads it if the last two readings were more than
 * VSW_LEADER_SLOW ns apart.
 */
#define VSW_LEADER_CLOCK_POLLS 8
#define VSW_LEADER_SLOW        50000

/* For messages that find nobody polling: see above. Lengths are in ns. */
#define VSW_LEADER_LATE        4u
#define VSW_LEADER_LATE_MAX    1024u
#define VSW_LEADER_LATE_WITHIN 10000000 /* from one such tick to the next */
#define VSW_LEADER_AGAIN       8000000  /* from a trial to the next such tick */
#define VSW_LEADER_TRIAL       UINT64_C(10000000)
#define VSW_LEADER_TRIAL_MAX   UINT64_C(1000000000)

/* Budget of one run on the service thread. */
#define VSW_LEADER_BUDGET 256

/* The table: the state after an event, or VSW_LEADER_NONE if it is impossible. *run: the engine must run. */
enum vsw_leader_state vsw_leader_rule(enum vsw_leader_state state, enum vsw_leader_event event,
				      bool *run);

/* `fd` -1: the engine has no descriptor to sleep on. RI_ERR_RESOURCES: the host cannot watch. */
enum ri_status vsw_leader_start(struct vsw_leader *leader, const struct ri_host *host, int fd,
				uint32_t (*progress)(void *arg, uint32_t budget),
				void *arg) RI_MUST_CHECK;
void vsw_leader_stop(struct vsw_leader *leader);

/* A thread polls and runs the engine. Fast path: no system call but in the first poll after a pause. */
void vsw_leader_polled(struct vsw_leader *leader);
/* Does the service thread watch beside threads that poll? */
static inline bool
vsw_leader_beside(struct vsw_leader *leader)
{
	return atomic_load_explicit(&leader->beside, memory_order_relaxed);
}

/* As ri_fast_ops::leader_enter and leader_leave. */
bool vsw_leader_enter(struct vsw_leader *leader, int *fd);
void vsw_leader_leave(struct vsw_leader *leader);
/* Have the service thread run the engine soon, whether a thread polls or not. */
void vsw_leader_request_run(struct vsw_leader *leader);
/*
 * For progress(), not for a poll: try to take the role of the engine. If another thread has the
 * role, that thread does one more round. This thread yields its processor, because the other may
 * need it, and because the descriptor would wake this thread again until then.
 */
bool vsw_leader_take(struct vsw_leader *leader, struct vsw_role *role);
/*
 * True while a thread polls, or has polled since the last tick. The engine then runs again within
 * 5.5 ms of the last poll, so a reply that a peer waits for can be left to the next poll.
 */
bool vsw_leader_attended(struct vsw_leader *leader);
/* As vsw_leader_attended, for work that the caller has queued and would hold back: if true, it is done within 1 ms. */
bool vsw_leader_hold(struct vsw_leader *leader);

#endif /* VSW_LEADER_H */
