/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Who drives a software engine: a polling caller, a sleeping leader, or the host's service thread.
 *
 * Whoever polls drives. Whoever waits sleeps on the engine's descriptor: the first is the leader.
 * The service thread watches the descriptor only while neither happens; it comes back at most 1 ms
 * after the last poll, or at once when kicked (a transmit that would block, requests held back with
 * nobody polling). The protocol is the table in vsw_lead.c; doc/vsw_lead.pml models it.
 */
#ifndef VSW_LEAD_H
#define VSW_LEAD_H

#include <stdatomic.h>

#include "rnicpi_host.h"

enum vsw_lead_state {
	VSW_LEAD_NONE = 0, /* not a state */
	VSW_LEAD_WATCHING, /* the service thread watches the descriptor */
	VSW_LEAD_TICKING,  /* somebody polls; a timer looks every 500 us whether that is still so */
	VSW_LEAD_PARKED,   /* a leader sleeps on the descriptor; no timer runs */
	VSW_LEAD_STATE_COUNT
};

struct vsw_lead {
	const struct ri_host *host;
	struct ri_watch watch;
	struct ri_timer timer;
	struct ri_task task;
	uint32_t (*progress)(void *arg, uint32_t budget); /* the engine; on the service thread */
	void *arg;
	int fd;              /* what the engine wants to be run for */
	atomic_uint state;   /* enum vsw_lead_state; one function writes it */
	atomic_uint leading; /* a leader is inside */
	atomic_uint kicked;  /* run soon */
	atomic_ulong polls;  /* counts calls of vsw_lead_polled, relaxed */
	unsigned long seen;  /* value of polls at the last tick */
};

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
