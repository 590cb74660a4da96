/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Whether the service thread looks again before it sleeps.
 *
 * An application that polls its memory, or only serves one-sided requests of its peers, does not
 * run the engine: each message of a peer wakes the service thread, which takes longer than the
 * message itself. If messages follow each other closely, the service thread can spin for the next
 * one instead. On a processor that another thread needs, spinning would cost that thread
 * milliseconds. So the service thread spins only under these conditions:
 *
 * - the runnable threads of the whole system are not more than the processors that this thread may
 *   use. They are counted every KAL_SPIN_LOOK, and only while messages follow each other closely;
 * - the thread was not preempted lately. If two turns of the spin are far apart, another thread had
 *   the processor, or the control group had used its share. Then the thread does not spin for
 *   KAL_SPIN_PAUSE, and for twice as long each further time.
 *
 * Threads: the service thread.
 */
#ifndef KAL_SPIN_H
#define KAL_SPIN_H

#include <stdbool.h>
#include <stdint.h>

#define KAL_SPIN_LOOK      UINT64_C(1000000)  /* 1 ms: processors are counted again */
#define KAL_SPIN_LOOK_BUSY UINT64_C(10000000) /* 10 ms: the same, if none was idle */
#define KAL_SPIN_LATE      UINT64_C(500000)   /* 0.5 ms between two looks: the thread did not run */
#define KAL_SPIN_PAUSE     UINT64_C(1000000000)  /* 1 s */
#define KAL_SPIN_PAUSE_MAX UINT64_C(64000000000) /* 64 s */

/* Times are those of ri_host::now. */
struct kal_spin {
	uint64_t length;   /* how long it looks for the next message; 0: not at all */
	uint64_t came;     /* when the last messages came */
	uint64_t until;    /* it looks until then; 0: it sleeps */
	uint64_t looked;   /* when it looked last */
	uint64_t count_at; /* processors are counted again from then on */
	uint64_t pause;    /* length of the last pause */
	bool idle;         /* what the last count said */
};

/* Threads that run or want to run, and processors that this thread may use. False: that cannot be known. */
bool kal_spin_count(unsigned *running, unsigned *processors);

/* Messages were there at `now`. */
void kal_spin_came(struct kal_spin *spin, uint64_t now);

/* Does the thread look again at `now`, instead of sleeping? */
bool kal_spin_goes_on(struct kal_spin *spin, uint64_t now);

#endif /* KAL_SPIN_H */
