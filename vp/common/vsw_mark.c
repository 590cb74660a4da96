/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The marks of all threads, and the wait for them. */
#include "vsw_mark.h"

#include "ri_relax.h"

#define THREADS 512u /* that can have marks at the same time; the others count their uses */

_Thread_local struct vsw_marks *vsw_marks_mine;

/* The thread ends: another one may have its marks. */
static void
marks_release(void *slot)
{
	vsw_marks_mine = NULL;
	ri_slot_give(slot);
}

static struct vsw_marks marks[THREADS];
static struct ri_slots slots = RI_SLOTS_INIT(marks, slot, marks_release);
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* In a forked child: accesses of threads that do not exist here are over. */
static void
marks_forked(void)
{
	for (unsigned i = 0; i < THREADS; i++) {
		for (unsigned m = 0; m < VSW_MARKS_EACH && &marks[i] != vsw_marks_mine; m++)
			atomic_store(&marks[i].entry[m], NULL);
	}
	ri_slots_forked(&slots, vsw_marks_mine != NULL ? &vsw_marks_mine->slot : NULL);
}

static void
setup(void)
{
	vsw_order_setup();
	(void)pthread_atfork(NULL, NULL, marks_forked);
}

void
vsw_marks_setup(void)
{
	(void)pthread_once(&once, setup);
}

void
vsw_marks_take(void)
{
	int place = vsw_marks_mine == NULL ? ri_slot_take(&slots) : -1;

	if (place >= 0)
		vsw_marks_mine = &marks[place];
}

void
vsw_marks_wait(const struct vsw_mem_entry *entry)
{
	unsigned used;

	ri_order_others(&vsw_order_light);
	used = atomic_load(&slots.used);
	for (unsigned i = 0; i < used * VSW_MARKS_EACH; i++) {
		vsw_mark *mark = &marks[i / VSW_MARKS_EACH].entry[i % VSW_MARKS_EACH];

		for (unsigned round = 0; atomic_load(mark) == entry; round++)
			ri_relax(round);
	}
}
