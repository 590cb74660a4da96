/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Does it pay to poll on when nothing has come? Not if the peer runs on this processor: then a polling thread keeps it from sending
 * for the rest of its time slice, which is milliseconds. The kernel does not tell the processor of a datagram on a socket that is not
 * connected (SO_INCOMING_CPU), so it is tried out, both ways:
 *
 * - A thread that has polled in vain for long gives the processor away once. If somebody ran then, and packets are there afterwards,
 *   it may have been the peer; the second time in a row polling counts as futile, and each poll in vain gives the processor away.
 * - Packets that come while a thread polls, and nobody else has run, come from elsewhere: polling pays. While it counts as
 *   futile, some waits begin with polls to see that; the more of them were in vain, the fewer.
 *
 * Any threads; what two of them write at once is a guess that is late.
 */
#ifndef VRO_SPIN_H
#define VRO_SPIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define VRO_SPIN_POLLS     256u /* in vain, until the processor is given away ... */
#define VRO_SPIN_LONGER    6u   /* ... doubled so often at most */
#define VRO_SPIN_TRIAL     64u /* polls at the beginning of a wait while polling counts as futile */
#define VRO_SPIN_TRIAL_MAX 64u /* waits, of which one begins like that at least */
#define VRO_SPIN_RAN       5000u   /* ns that the processor was away: somebody ran ... */
#define VRO_SPIN_SLICE     400000u /* ... and used up a time slice, unlike most peers */

struct vro_spin {
	atomic_bool futile;
	atomic_bool ran;      /* somebody, just before this poll */
	atomic_bool trial;    /* this wait begins with polls */
	atomic_uint polls;    /* in vain, in a row: the length of this wait */
	atomic_uint longer;   /* the processor is given away after VRO_SPIN_POLLS << this */
	atomic_uint guesses;  /* waits in a row that ended when somebody had run */
	atomic_uint waits;    /* until the next trial ... */
	atomic_uint interval; /* ... and between it and the one behind it */
};

#define VRO_SPIN_GET(member) atomic_load_explicit(&spin->member, memory_order_relaxed)
#define VRO_SPIN_SET(member, value) \
	atomic_store_explicit(&spin->member, value, memory_order_relaxed)

/* A poll has found packets. */
static inline void
vro_spin_found(struct vro_spin *spin)
{
	/* Packets that come one behind the other tell nothing. */
	if (VRO_SPIN_GET(polls) == 0)
		return;
	VRO_SPIN_SET(polls, 0);
	if (!VRO_SPIN_GET(ran)) {
		VRO_SPIN_SET(guesses, 0);
		VRO_SPIN_SET(futile, false);
		return;
	}
	VRO_SPIN_SET(ran, false);
	if (!VRO_SPIN_GET(futile)) {
		VRO_SPIN_SET(guesses, VRO_SPIN_GET(guesses) + 1);
		VRO_SPIN_SET(futile, VRO_SPIN_GET(guesses) >= 2);
		VRO_SPIN_SET(interval, 1);
		VRO_SPIN_SET(waits, 1);
	} else if (VRO_SPIN_GET(waits) != 0) {
		VRO_SPIN_SET(waits, VRO_SPIN_GET(waits) - 1);
		VRO_SPIN_SET(trial, VRO_SPIN_GET(waits) == 0);
	}
}

/* A poll has found none. True: give the processor away, measure that, and call vro_spin_gave. */
static inline bool
vro_spin_vain(struct vro_spin *spin)
{
	unsigned polls = VRO_SPIN_GET(polls) + 1;

	VRO_SPIN_SET(polls, polls);
	if (VRO_SPIN_GET(ran))
		VRO_SPIN_SET(ran, false);
	if (!VRO_SPIN_GET(futile))
		return polls % (VRO_SPIN_POLLS << VRO_SPIN_GET(longer)) == 0;
	if (!VRO_SPIN_GET(trial))
		return true;
	if (polls < VRO_SPIN_TRIAL)
		return false;
	VRO_SPIN_SET(trial, false);
	if (VRO_SPIN_GET(interval) < VRO_SPIN_TRIAL_MAX)
		VRO_SPIN_SET(interval, 2 * VRO_SPIN_GET(interval));
	VRO_SPIN_SET(waits, VRO_SPIN_GET(interval));
	return true;
}

/* The processor was away for so many ns. */
static inline void
vro_spin_gave(struct vro_spin *spin, uint64_t ns)
{
	unsigned longer = VRO_SPIN_GET(longer);

	VRO_SPIN_SET(ran, ns > VRO_SPIN_RAN);
	if (VRO_SPIN_GET(futile))
		return;
	VRO_SPIN_SET(longer, ns < VRO_SPIN_SLICE        ? 0
			     : longer < VRO_SPIN_LONGER ? longer + 1
							: longer);
}

#undef VRO_SPIN_GET
#undef VRO_SPIN_SET

#endif /* VRO_SPIN_H */
