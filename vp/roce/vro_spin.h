/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Is it worth continuing to poll when nothing has arrived? Not if the peer runs on this processor: then a polling
 * thread keeps it from sending for the rest of a time slice, which is milliseconds. The kernel does not say which
 * processor a datagram came from on a socket that is not connected (SO_INCOMING_CPU), so this is found out by trial, in
 * both directions:
 *
 * - A thread that has polled for long without a packet yields the processor once. If another thread ran then, and packets are there
 *   afterwards, that thread may have been the peer. The second time in a row polling counts as futile, and each poll without a packet
 *   yields the processor.
 * - Packets that arrive while a thread polls and no other thread has run come from another processor: polling is
 *   worthwhile. While polling counts as futile, some waits begin with polls, to notice that; fewer of them, the more
 *   found no packet.
 *
 * Any threads. If two of them write at once, only an estimate is delayed.
 */
#ifndef VRO_SPIN_H
#define VRO_SPIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define VRO_SPIN_POLLS     256u /* without a packet, until the thread yields ... */
#define VRO_SPIN_LONGER    6u   /* ... doubled that often at most */
#define VRO_SPIN_TRIAL     64u /* polls at the beginning of a wait while polling counts as futile */
#define VRO_SPIN_TRIAL_MAX 64u /* one wait in that many begins like that, at least */
#define VRO_SPIN_RAN       5000u   /* ns that a yield took: another thread ran ... */
#define VRO_SPIN_SLICE     400000u /* ... and used its whole time slice, unlike most peers */

struct vro_spin {
	atomic_bool futile;
	atomic_bool ran;      /* another thread did, just before this poll */
	atomic_bool trial;    /* this wait begins with polls */
	atomic_uint polls;    /* without a packet, in a row: the length of this wait */
	atomic_uint longer;   /* the thread yields after VRO_SPIN_POLLS << this */
	atomic_uint guesses;  /* waits in a row that ended when another thread had run */
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
	/* No empty poll came before these packets, so they say nothing about waits. */
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

/* A poll has found none. True: yield the processor, measure how long that takes, and call vro_spin_gave. */
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

/* The yield took that many ns. */
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
