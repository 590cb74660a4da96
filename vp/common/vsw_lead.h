/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Who drives a software engine: a polling caller, a sleeping leader, or the host's service thread.
 *
 * Whoever polls drives. Whoever waits sleeps on the engine's descriptor: the first is the leader.
 * The service thread watches the descriptor only while neither happens; it comes back at most 1 ms
 * after the last poll, or at once when kicked (a transmit that would block, requests held back with
 * nobody polling). The protocol is the table in vsw_lead.c; vsw_lead.pml models it.
 */
#ifndef VSW_LEAD_H
#define VSW_LEAD_H

#include <stdatomic.h>

#include "rnicpi_host.h"
#include "vsw_lock.h"

enum vsw_lead_state {
	VSW_LEAD_NONE = 0, /* not a state */
	VSW_LEAD_WATCHING, /* the service thread watches the descriptor */
	VSW_LEAD_TICKING,  /* somebody polls; a timer looks 500 us later whether that is still so */
	VSW_LEAD_PARKED,   /* a leader sleeps on the descriptor; no timer runs */
	VSW_LEAD_STATE_COUNT
};

/* What happens to the hand-over; the tests walk every pair of state and event. */
enum vsw_lead_event {
	VSW_LEAD_EV_POLLED = 0, /* somebody polls while the service thread watches */
	VSW_LEAD_EV_ENTERED,    /* a leader is about to sleep */
	VSW_LEAD_EV_LEFT,       /* it has stopped leading */
	VSW_LEAD_EV_TICK_BUSY,  /* the timer: somebody polled since the last one */
	VSW_LEAD_EV_TICK_IDLE,  /* the timer: nobody did */
	VSW_LEAD_EV_KICKED,     /* the engine asked to be run, on the service thread */
	VSW_LEAD_EV_COUNT
};

struct vsw_lead {
	const struct ri_host *host;
	struct ri_watch watch;
	struct ri_timer timer;
	struct ri_task task;
	uint32_t (*progress)(void *arg, uint32_t budget); /* the engine; on the service thread */
	void *arg;
	int fd;                   /* what the engine wants to be run for */
	atomic_uint state;        /* enum vsw_lead_state; one function writes it */
	atomic_uint leading;      /* a leader is inside */
	atomic_uint kicked;       /* run soon */
	atomic_uint timer_on;     /* the timer will fire */
	atomic_ulong polls;       /* counts calls of vsw_lead_polled, relaxed */
	unsigned long seen;       /* value of polls at the last tick */
	_Atomic uint64_t put_off; /* when a poller last put the tick off, ns of the host's clock */
	struct vsw_role role;     /* who makes watch and timer follow the state */
	bool watch_on;            /* the watch is not paused; the role's */
};

/* How long a tick is, in ns: the service thread is back two ticks after the last poll at the latest. */
#define VSW_LEAD_TICK 500000

/* Pollers put the tick off when so much of it has passed, ns; they look at the clock every so many polls. */
#define VSW_LEAD_PUT_OFF 300000
#define VSW_LEAD_LOOK    8

/* Budget of one run on the service thread. */
#define VSW_LEAD_BUDGET 256

/* The table: state after an event, or VSW_LEAD_NONE where it cannot happen; *run: run the engine. */
enum vsw_lead_state vsw_lead_rule(enum vsw_lead_state state, enum vsw_lead_event event, bool *run);

/* `fd` -1: the engine needs nobody to sleep for it. RI_ERR_RESOURCES: the host cannot watch. */
enum ri_status vsw_lead_start(struct vsw_lead *lead, const struct ri_host *host, int fd,
			      uint32_t (*progress)(void *arg, uint32_t budget),
			      void *arg) RI_MUST_CHECK;
void vsw_lead_stop(struct vsw_lead *lead);

/* A caller polls: it drives now. Fast path, no system call except on the first poll after a pause. */
void vsw_lead_polled(struct vsw_lead *lead);
/* Entries of the same names of ri_fast_ops. */
bool vsw_lead_enter(struct vsw_lead *lead, int *fd);
void vsw_lead_leave(struct vsw_lead *lead);
/* The engine must be run soon even if nobody polls: wakes whoever drives. */
void vsw_lead_kick(struct vsw_lead *lead);
/* True while somebody polls or the timer will look within 500 us: held-back work is safe. */
bool vsw_lead_attended(struct vsw_lead *lead);

#endif /* VSW_LEAD_H */
