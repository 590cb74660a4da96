/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The pairing heap of kal_timers.h. A timer's link holds: first child, next sibling, previous
 * sibling (of a first child: its parent), and the deadline. All walks are loops: a heap of a million
 * timers does not grow the stack.
 */

#include "kal_timers.h"

#define CHILD(t)    (*(struct ri_timer **)&(t)->link.p[0])
#define NEXT(t)     (*(struct ri_timer **)&(t)->link.p[1])
#define PREV(t)     (*(struct ri_timer **)&(t)->link.p[2])
#define DEADLINE(t) ((t)->link.n[0])

/* Join two heaps; the later root becomes the first child of the earlier. Either may be NULL. */
static struct ri_timer *
heap_meld(struct ri_timer *a, struct ri_timer *b)
{
	struct ri_timer *first = a, *second = b;

	if (a == NULL || b == NULL)
		return a != NULL ? a : b;
	if (DEADLINE(b) < DEADLINE(a)) {
		first = b;
		second = a;
	}
	NEXT(second) = CHILD(first);
	if (NEXT(second) != NULL)
		PREV(NEXT(second)) = second;
	PREV(second) = first;
	CHILD(first) = second;
	return first;
}

/* Make one heap of a list of siblings: pair them from the left, then join the pairs from the right. */
static struct ri_timer *
heap_meld_siblings(struct ri_timer *list)
{
	struct ri_timer *pairs = NULL, *root = NULL;

	while (list != NULL) {
		struct ri_timer *a = list, *b = NEXT(a);

		list = b != NULL ? NEXT(b) : NULL;
		NEXT(a) = NULL;
		if (b != NULL)
			NEXT(b) = NULL;
		a = heap_meld(a, b);
		NEXT(a) = pairs;
		pairs = a;
	}
	while (pairs != NULL) {
		struct ri_timer *next = NEXT(pairs);

		NEXT(pairs) = NULL;
		root = heap_meld(root, pairs);
		pairs = next;
	}
	if (root != NULL)
		PREV(root) = NULL;
	return root;
}

void
kal_timers_insert(struct kal_timers *timers, struct ri_timer *timer, uint64_t deadline)
{
	CHILD(timer) = NULL;
	NEXT(timer) = NULL;
	PREV(timer) = NULL;
	DEADLINE(timer) = deadline;
	timer->link.n[1] |= KAL_LINK_QUEUED;
	timers->root = heap_meld(timers->root, timer);
}

void
kal_timers_remove(struct kal_timers *timers, struct ri_timer *timer)
{
	struct ri_timer *prev = PREV(timer), *next = NEXT(timer), *children;

	if (!kal_timer_queued(timer))
		return;
	timer->link.n[1] &= ~(uint64_t)KAL_LINK_QUEUED;
	children = heap_meld_siblings(CHILD(timer));
	if (timers->root == timer) {
		timers->root = children;
		return;
	}
	if (CHILD(prev) == timer)
		CHILD(prev) = next;
	else
		NEXT(prev) = next;
	if (next != NULL)
		PREV(next) = prev;
	timers->root = heap_meld(timers->root, children);
}

uint64_t
kal_timers_next(const struct kal_timers *timers)
{
	return timers->root != NULL ? DEADLINE(timers->root) : RI_NEVER;
}
