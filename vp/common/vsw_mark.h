/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Marks: which entries of the memory table each thread is accessing.
 *
 * A thread stores the entry into one of its marks before it checks that the entry is valid, and
 * clears the mark after the access. So an access costs no locked instruction, and threads that use
 * the same region do not write the same line. The cost is on the side of a thread that revokes a
 * key: it orders all threads by membarrier(2) (ri_order.h), and searches the marks of all of them.
 * That takes a microsecond or more, so entries that requests revoke, in the time of a message, are
 * counted (vsw_mem_entry::uses), and so are uses of a thread that has no free mark.
 */
#ifndef VSW_MARK_H
#define VSW_MARK_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>

#include "ri_slot.h"
#include "vsw_order.h"

struct vsw_mem_entry;

/* A request over emul accesses one region at each side. */
#define VSW_MARKS_EACH 2

typedef _Atomic(struct vsw_mem_entry *) vsw_mark;

/* The marks of one thread, in a cache line of their own. */
struct vsw_marks {
	alignas(64) vsw_mark entry[VSW_MARKS_EACH];
	struct ri_slot slot;
};

/* Of this thread; NULL until its first access. See session_section_mine. */
extern _Thread_local struct vsw_marks *vsw_marks_mine __attribute__((tls_model("initial-exec")));

/* Before the first mark of the process. */
void vsw_marks_setup(void);
/* Give this thread its marks, if it has none and there is a place for them. */
void vsw_marks_take(void);
/* Wait until no mark names the entry. The caller has made it impossible that one is set for long: the entry is not live. */
void vsw_marks_wait(const struct vsw_mem_entry *entry);

/*
 * Mark the entry. What the caller loads after this is loaded after the mark is visible to vsw_marks_wait. NULL: this thread has
 * no free mark, or has none yet. Release: a thread that sees this mark sees that the uses under the earlier ones are over.
 */
static inline vsw_mark *
vsw_mark_set(struct vsw_mem_entry *entry)
{
	struct vsw_marks *mine = vsw_marks_mine;
	vsw_mark *mark;

	if (__builtin_expect(mine == NULL, 0))
		return NULL;
	mark = &mine->entry[0];
	if (atomic_load_explicit(mark, memory_order_relaxed) != NULL)
		mark = &mine->entry[1];
	if (__builtin_expect(atomic_load_explicit(mark, memory_order_relaxed) != NULL, 0))
		return NULL;
	if (ri_order_is_light(&vsw_order_light)) {
		atomic_store_explicit(mark, entry, memory_order_release);
		atomic_signal_fence(memory_order_seq_cst);
	} else {
		atomic_store(mark, entry);
	}
	return mark;
}

/* Release: what was done with the memory comes before. */
static inline void
vsw_mark_clear(vsw_mark *mark)
{
	atomic_store_explicit(mark, NULL, memory_order_release);
}

#endif /* VSW_MARK_H */
