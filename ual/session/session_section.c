/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Sections: the marks of all threads, and the wait for them.
 *
 * Marks lie in a fixed array (ri_slot.h). Threads that find it full share a count instead, in two
 * halves: a waiter turns new comers to the other half, so that the half it waits for can only run
 * empty.
 */
#include "session_section.h"

#include <pthread.h>

#include "ri_order.h"
#include "ri_slot.h"
#include "session.h"

#ifndef MARKS /* the test has fewer */
#define MARKS 512u
#endif

_Thread_local struct session_section *session_section_mine;
atomic_bool session_section_light;

/* The thread ends: its mark is free. */
static void
mark_release(void *slot)
{
	session_section_mine = NULL;
	ri_slot_give(slot);
}

static struct session_section marks[MARKS];
static struct ri_slots mark_slots = RI_SLOTS_INIT(marks, slot, mark_release);

/* Threads without a mark. */
static atomic_uint crowd[2];
static atomic_uint crowd_half;
static _Thread_local unsigned crowd_mine[2]; /* how often this thread is counted */

static pthread_mutex_t wait_lock =
	PTHREAD_MUTEX_INITIALIZER; /* one waiter turns the crowd at a time */

struct session_section_guard
session_section_begin_slow(void)
{
	int mark = ri_slot_take(&mark_slots);
	unsigned half;

	if (mark >= 0) {
		session_section_mine = &marks[mark];
		return session_section_begin();
	}
	half = atomic_load(&crowd_half);
	crowd_mine[half]++;
	atomic_fetch_add(&crowd[half], 1);
	return (struct session_section_guard){NULL, half};
}

void
session_section_end_slow(unsigned half)
{
	atomic_fetch_sub(&crowd[half], 1);
	crowd_mine[half]--;
}

static void
wait_for_marks(const struct session *session)
{
	unsigned used = atomic_load(&mark_slots.used);

	for (unsigned i = 0; i < used; i++) {
		unsigned seen = atomic_load(&marks[i].phase);

		if (&marks[i] == session_section_mine || seen % 2 == 0)
			continue;
		for (unsigned round = 0; atomic_load(&marks[i].phase) == seen; round++)
			session_relax(session, round);
	}
}

/*
 * Twice, because a thread may have read the half before it was turned and count itself in it after
 * it was found empty; at the second turn that thread is waited for.
 */
static void
wait_for_crowd(const struct session *session)
{
	pthread_mutex_lock(&wait_lock);
	for (unsigned turn = 0; turn < 2; turn++) {
		unsigned half = atomic_fetch_xor(&crowd_half, 1);

		for (unsigned round = 0; atomic_load(&crowd[half]) != 0; round++)
			session_relax(session, round);
	}
	pthread_mutex_unlock(&wait_lock);
}

void
session_section_wait(const struct session *session)
{
	ri_order_others(&session_section_light);
	wait_for_marks(session);
	wait_for_crowd(session);
}

/* In a forked child: no thread but this one exists. */
static void
sections_forked(void)
{
	for (unsigned i = 0; i < MARKS; i++) {
		if (&marks[i] != session_section_mine)
			atomic_store(&marks[i].phase, 0);
	}
	ri_slots_forked(&mark_slots,
			session_section_mine != NULL ? &session_section_mine->slot : NULL);
	for (unsigned half = 0; half < 2; half++)
		atomic_store(&crowd[half], crowd_mine[half]);
	pthread_mutex_init(&wait_lock, NULL);
	ri_order_setup(&session_section_light);
}

/*
 * Runs when the library is loaded, because then the process usually has one thread, and the kernel
 * registers it for membarrier(2) at once. With other threads, as after the first search for
 * adapters, that waits for all processors, which takes 10 ms or more. And a thread may be in a
 * section at a fork before any adapter was opened.
 */
__attribute__((constructor)) static void
sections_setup(void)
{
	(void)pthread_atfork(NULL, NULL, sections_forked);
	ri_order_setup(&session_section_light);
}
