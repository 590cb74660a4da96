/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Sections: how a free call knows that no fast call is inside an object any more.
 *
 * A fast call (post, dequeue, link, unlink) marks its thread as inside before it looks a handle up,
 * and as outside when it is done. A free call hides its object first and then waits until every
 * thread that was inside has left once: afterwards no fast call can hold the object. A section never
 * waits for another thread's free call, and no function of the application runs in it. Control calls
 * and waits count themselves at the object instead (ual_object_enter), since they may block.
 *
 * The mark costs two plain stores where the kernel has membarrier(2): the free call pays for the
 * order. Elsewhere, and under ThreadSanitizer, which does not know membarrier, the first store is
 * sequentially consistent.
 */
#ifndef UAL_SECTION_H
#define UAL_SECTION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* One thread's mark, in a cache line of its own. */
struct ual_section {
	_Alignas(64) atomic_uint laps; /* odd: inside; written by the owner only */
	unsigned depth;                /* the owner's; above 1: a signal handler's call in a call */
	atomic_bool owned;
};

/*
 * Of this thread; NULL until its first section. One pointer of static thread storage, which also a
 * library that is opened later gets: so finding it is one load, not a call.
 */
extern _Thread_local struct ual_section *ual_section_mine
	__attribute__((tls_model("initial-exec")));
/* membarrier(2) orders for us. Changes to false at most once. */
extern atomic_bool ual_section_light;

/* This thread's first section, or one of a thread that found no place for a mark. */
void ual_section_begin_slow(void);
void ual_section_end_slow(void);
/* Wait until every other thread's section that was under way has ended. Not from inside one. */
void ual_section_wait(void);
/* Make membarrier(2) work for this process; once, and again in a forked child. */
void ual_section_setup(void);
/* In a forked child: no thread but this one exists. */
void ual_section_forked(void);

static inline int
ual_section_begin(void)
{
	struct ual_section *mine = ual_section_mine;

	if (__builtin_expect(mine == NULL, 0)) {
		ual_section_begin_slow();
		return 0;
	}
	if (mine->depth++ != 0)
		return 0;
	if (atomic_load_explicit(&ual_section_light, memory_order_relaxed)) {
		/* Relaxed: ual_section_wait's membarrier orders it before the look-up that follows. */
		atomic_store_explicit(&mine->laps,
				      atomic_load_explicit(&mine->laps, memory_order_relaxed) + 1,
				      memory_order_relaxed);
		atomic_signal_fence(memory_order_seq_cst);
	} else {
		atomic_store(&mine->laps,
			     atomic_load_explicit(&mine->laps, memory_order_relaxed) + 1);
	}
	return 0;
}

static inline void
ual_section_end(const int *unused)
{
	struct ual_section *mine = ual_section_mine;

	(void)unused;
	if (__builtin_expect(mine == NULL, 0)) {
		ual_section_end_slow();
		return;
	}
	if (mine->depth == 1)
		/* Release: who sees it sees that all uses are over. */
		atomic_store_explicit(&mine->laps,
				      atomic_load_explicit(&mine->laps, memory_order_relaxed) + 1,
				      memory_order_release);
	mine->depth--;
}

/* Begin a section that ends with the block. */
#define UAL_SECTION                                                                     \
	__attribute__((cleanup(ual_section_end), unused)) const int ual_section_guard = \
		ual_section_begin()

#endif /* UAL_SECTION_H */
